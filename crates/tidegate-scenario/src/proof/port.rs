//! What the queues of a port are guaranteed: its scheduling tree, of the same parts that the port is built of, as a tree of the calculus.
//!
//! * Leaves of one first-in first-out scheduler are one queue, if nothing holds them back one by one.
//! * A shape with a peak rate is two in a row: the peak rate with a burst of one packet, then the rate.
//! * A shaped class sends what its contract lets pass, however much waits in it; siblings meet the contract.
//! * Rate-controlled service is a delay: that of the class's own shaper, and that behind the contracts of its priority.
//! * A queue that no row covers has none, with the reason.
//!
//! | part | holds |
//! |---|---|
//! | `members` | what the members of the tree are, one by one |
//! | `described` | the tree of the calculus |
//! | `blind` | what is left in any order of service |
//! | `held` | what a shape lets through without its burst |
//! | `released` | rate-controlled service |
//! | `changing` | policies that follow each other |
//! | `adapter` | the cell scheduler of an ATM adapter |
//! | `traffic` | what is known of the traffic, and of the rates that packets keep |

use crate::tree::Parts;
use described::{Described, Place};
use tidegate_bounds::curve::Service;
use tidegate_bounds::network::{Server, Serving};
use tidegate_bounds::quantity::{NoBound, bits, up};
use tidegate_bounds::service::Row;
use tidegate_core::registry::SchedulerKind;

mod adapter;
mod blind;
mod changing;
mod described;
mod held;
mod members;
mod released;
#[cfg(test)]
mod tests;
mod traffic;

pub(super) use adapter::adapter;
pub(super) use changing::changing;
pub(crate) use members::Members;
pub(crate) use traffic::{Traffic, kept_rate};

/// What a queue is guaranteed.
#[derive(Clone, Debug)]
pub(super) struct PortQueue {
    /// By its scheduler.
    pub row: Row,
    /// As a server of a network; its line and its lengths are the caller's to fill in.
    pub server: Result<Server, NoBound>,
    /// What else holds, which counts if its scheduler has no row for it, or one that is not enough.
    pub left: Vec<Server>,
}

/// The rate of a server that only delays: faster than any link.
const AT_ONCE: u64 = 1 << 55;

/// What each queue of each class is guaranteed; of queues that share their place, the first counts.
pub(super) fn queues(parts: &Parts, traffic: &Traffic<'_>) -> Vec<Vec<PortQueue>> {
    let members = Members::of(parts, traffic);
    let described = Described::of(&members);
    let rows = described.tree.rows(traffic.rate);
    let mut all: Vec<Vec<PortQueue>> = vec![Vec::new(); parts.places.len()];
    let mut last: Option<(Place, PortQueue)> = None;
    for leaf in 0..parts.leaves() {
        let place = described.places[leaf];
        let queue = match last.take() {
            Some((before, queue)) if before == place => queue,
            _ => queue(&members, &described, &rows, leaf),
        };
        all[parts.class(leaf)].push(queue.clone());
        last = Some((place, queue));
    }
    all
}

/// What one queue is guaranteed.
fn queue(members: &Members<'_>, described: &Described, rows: &[Vec<Row>], leaf: usize) -> PortQueue {
    let mut left = blind::servers(members, described, rows, leaf);
    left.extend(held::server(members, described, rows, leaf).and_then(Result::ok));
    PortQueue { left, ..by_row(members, described, rows, leaf) }
}

/// What its scheduler guarantees one queue.
fn by_row(members: &Members<'_>, described: &Described, rows: &[Vec<Row>], leaf: usize) -> PortQueue {
    let none = |reason: NoBound| PortQueue {
        row: Row { guaranteed: Err(reason.clone()), strict: Err(reason.clone()), delay: None },
        server: Err(reason),
        left: Vec::new(),
    };
    if let Some(reason) = &described.reasons[leaf] {
        return none(reason.clone());
    }
    let place = described.places[leaf];
    let row = rows[place.node][place.child].clone();
    let kind = described.tree.nodes[place.node].node.kind;
    if kind == SchedulerKind::RateControlled {
        return match released::delay(members, &described.tree.nodes[place.node].node, place.child, leaf) {
            Ok(delay) => {
                let server = Ok(Server::fluid(Service::rate_latency(AT_ONCE, delay)));
                PortQueue { row: Row { delay: Some(Ok(delay)), ..row }, server, left: Vec::new() }
            }
            Err(reason) => none(reason),
        };
    }
    let longest = members.longest_of_leaf(leaf);
    let serving = described.serving(members, rows, place).unwrap_or_else(|| row.guaranteed.clone().map(Serving::Fixed));
    let server = serving.map(|serving| {
        // What leaves by a curve that is not strict is later by a packet at its rate.
        let (is_strict, rate) = match (&serving, &row.guaranteed) {
            (Serving::Fixed(curve), _) if row.strict.as_ref() == Ok(curve) => (true, members.traffic.rate),
            (Serving::Fixed(curve), _) => (false, curve.pieces()[0].rate),
            // Beside equals it holds from the start of a backlog only.
            (Serving::Below { .. }, _) => (!described.has_equals(place), members.traffic.rate),
            (Serving::Deadline { .. } | Serving::AnyOrder { .. }, _) => (false, members.traffic.rate),
        };
        Server { serving, is_strict, line: None, longest, packetiser: up(bits(longest), rate.into()) }
    });
    PortQueue { row, server, left: Vec::new() }
}
