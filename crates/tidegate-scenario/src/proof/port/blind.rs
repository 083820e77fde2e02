//! What a queue is left whatever the order of service: by a node that is sure to serve all below it, beside all others there.
//!
//! **Law.** A node with a strict curve `beta` works while a queue below it waits that nothing holds back. From the start of a period in which queues wait
//! that nothing holds back, these send at most what comes, and the others what their contracts pass. One packet of these others may be in
//! transmission. So the queue has `beta(t) - sum alpha(t) - L`, in the order of arrival within it, under any schedulers below the node.
//!
//! It holds from the start of such a period only, so that it is not strict. It is the last resort: where no scheduler has a row for the queue, or the row gives
//! less than comes.

use super::described::{Described, Place};
use super::members::{Below, Members, passes};
use tidegate_bounds::aggregate::Aggregate;
use tidegate_bounds::curve::Service;
use tidegate_bounds::network::{Server, Serving};
use tidegate_bounds::quantity::{NoBound, bits, up};
use tidegate_bounds::service::Row;

/// More queues below a node are not followed: each would depend on each.
const MOST_QUEUES: usize = 64;

/// What is below a node: the queues that nothing holds back, each with a leaf of it, and the contracts of the rest.
#[derive(Default)]
struct Others {
    queues: Vec<(usize, usize)>,
    contracts: Aggregate,
}

/// The servers of a leaf by the nodes above it, the nearest first, up to one that holds the leaf back.
pub(super) fn servers(members: &Members<'_>, described: &Described, rows: &[Vec<Row>], leaf: usize) -> Vec<Server> {
    let mut servers = Vec::new();
    let Some(own) = members.number(leaf) else { return servers };
    let mut place = described.places[leaf];
    loop {
        let Place { node, child } = place;
        if described.tree.nodes[node].branches[child].shape.is_some() {
            return servers;
        }
        let Some(number) = described.of[node] else { return servers };
        let mut others = Others::default();
        if members.waits(number) || members.keeps_contracts(number) {
            return servers;
        }
        let strict = described.strict(members, rows, node);
        let known = members.below[number].iter().try_for_each(|&member| others.add(members, member));
        servers.extend(strict.and_then(|port| known.and_then(|()| others.server(members, port, own))));
        let Some(above) = described.above[node] else { return servers };
        place = above;
    }
}

impl Others {
    /// Adds what is below a member.
    fn add(&mut self, members: &Members<'_>, member: Below) -> Result<(), NoBound> {
        if let Some(contract) = members.shape(member) {
            return self.contracts.add(&passes(&contract)?);
        }
        match member {
            Below::Node(node) if members.waits(node) => Err(NoBound::Because("its scheduler holds packets, which then leave together")),
            Below::Node(node) => members.below[node].iter().try_for_each(|&child| self.add(members, child)),
            Below::Leaf(leaf) => {
                let number = members.number(leaf).filter(|&number| self.queues.iter().all(|queue| queue.0 != number));
                self.queues.extend(number.map(|number| (number, leaf)));
                if self.queues.len() > MOST_QUEUES { Err(NoBound::Because("too many queues depend on each other")) } else { Ok(()) }
            }
        }
    }

    /// What they leave the queue `own` of a strict curve.
    fn server(mut self, members: &Members<'_>, port: Service, own: usize) -> Result<Server, NoBound> {
        self.queues.retain(|queue| queue.0 != own);
        let serving = if self.contracts.is_empty() {
            Serving::Below { port, higher: self.queues.into_iter().map(|queue| queue.0).collect(), lower: 0 }
        } else {
            for (_, leaf) in self.queues {
                self.contracts.add(&members.arrival(leaf)?)?;
            }
            Serving::Fixed(port.beside(self.contracts.as_arrival()?.buckets(), bits(members.longest))?)
        };
        let packetiser = up(bits(members.longest), members.traffic.rate.into());
        Ok(Server { serving, is_strict: false, line: None, longest: members.longest, packetiser })
    }
}
