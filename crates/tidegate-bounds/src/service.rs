//! What each scheduler guarantees each of its children: one row for every registered scheduler.
//!
//! Two kinds of guarantees are kept apart; confusing them is the classic error.
//! * **Guaranteed rate** `(r, e)`: packet k leaves by `F_k + e`, with `F_k = max(a_k, F_{k-1}) + L_k / r`. The delay is the distance of the
//!   arrivals from the rate-latency curve `(r, e)`.
//! * **Strict**: in every interval within a backlogged period at least the curve is served. Nodes below, blind multiplexing inside, and
//!   bounds by a full buffer need it. A guaranteed rate does not imply it: a virtual clock may starve a child that used idle capacity.
//!
//! A scheduler divides the work of its node, whose strict curve is known. A link is `C t`.
//!
//! Source: the table of network calculus for packet schedulers. First in first out and strict priority are in Le Boudec and Thiran, *Network
//! Calculus*, 2001. Deficit round robin is Boyer, Stea and Sofack, "Deficit round robin with network calculus", VALUETOOLS 2012, with the second piece
//! of Tabatabaee and Le Boudec, 2021. Fair queueing is Bennett and Zhang, IEEE/ACM ToN 5(5), 1997; Golestani, INFOCOM 1994; Checconi, Rizzo and Valente,
//! IEEE/ACM ToN 21(3), 2013. Strict latencies of fair queueing, `edf` with unmet deadlines, and what guaranteed service leaves are derived here;
//! packet-level searches found no excess.

use crate::aggregate::Aggregate;
use crate::curve::{Arrival, Service, TokenBucket};
use crate::quantity::{NoBound, Picoseconds, as_bound, bits, plus, times, up};
use tidegate_core::registry::SchedulerKind;

mod parameters;
mod rows;

pub use parameters::{Child, KnownRows, Node, Row, Windows};
pub use rows::shaping_delay;

/// What child `index` of a node is guaranteed, if the node has this strict curve.
///
/// Every registered scheduler has its arm: a new one does not compile until it has its row, or a sentence that says why it has none.
///
/// ```
/// use tidegate_bounds::curve::{Arrival, RateLatency, Service};
/// use tidegate_bounds::service::{Child, Node, row};
/// use tidegate_core::registry::SchedulerKind;
///
/// // Eight flows of 1000-bit packets at 10 Mbit/s; the first has 1.5 Mbit/s.
/// let flow = |rate| Child { rate, ..Child::new(1_000) };
/// let node = Node::new(SchedulerKind::Wf2qPlus, 10_000_000, vec![flow(1_500_000), flow(8_500_000)]);
/// let first = row(&node, &Service::link(10_000_000), 0);
/// // The rate after one packet of the link: 0.1 ms.
/// assert_eq!(first.guaranteed.unwrap().pieces(), [RateLatency { rate: 1_500_000, latency: 100_000_000 }]);
/// ```
///
/// # Panics
/// If there is no such child.
pub fn row(node: &Node, parent: &Service, index: usize) -> Row {
    let of = rows::Rows { node, parent, index };
    match node.kind {
        SchedulerKind::Fifo => of.fifo(),
        SchedulerKind::StrictPriority => of.strict_priority(),
        SchedulerKind::WeightedRoundRobin => of.weighted_round_robin(),
        SchedulerKind::DeficitRoundRobin => of.deficit_round_robin(),
        SchedulerKind::Wf2qPlus => of.wf2q_plus(),
        SchedulerKind::QuickFair => of.quick_fair(),
        SchedulerKind::SelfClocked => of.self_clocked(),
        SchedulerKind::VirtualClock => of.virtual_clock(),
        SchedulerKind::ShapedVirtualClock => of.shaped_virtual_clock(),
        SchedulerKind::IntegratedServices => of.integrated_services(),
        SchedulerKind::EarliestDeadlineFirst => of.earliest_deadline_first(),
        SchedulerKind::Dwcs => of.dwcs(),
        SchedulerKind::RateControlled => of.rate_controlled(),
        SchedulerKind::HostRoundRobin => Row::none(NoBound::Because("shares depend on how many flows other hosts have")),
        SchedulerKind::DualQueue => Row::none(NoBound::Because("low-latency packets go first, and their lead varies")),
        SchedulerKind::SparseRoundRobin => Row::none(NoBound::Because("queues that have just become backlogged go first")),
    }
}

/// The bound on the delay of connections at a link of the cell scheduler, if the contracts fit. All contracts together pass the link, which may
/// begin a cell one slot after it came.
///
/// # Errors
/// [`NoBound::Overloaded`] if the contracts exceed the link, and out of range.
pub fn cell_scheduler(contracts: &[Arrival], rate: u64, cell: u64) -> Result<Picoseconds, NoBound> {
    Aggregate::of(contracts)?.delay(&Service::rate_latency(rate, up(bits(cell), rate.into())))
}

/// The bound for packets that leave a class whose queue holds at most `limit` bits: the time to serve them by the strict curve. It holds
/// for any source, with losses possible.
///
/// # Errors
/// The reason why there is no strict curve.
pub fn behind_limit(strict: &Result<Service, NoBound>, limit: u64) -> Result<Picoseconds, NoBound> {
    as_bound(strict.clone()?.time_for(bits(limit))?)
}

/// The bound for conforming flows that share a first-in first-out queue with window-limited sources: `(sum b + sum W + L) / (R - sum r)`.
/// Sums of `b` and `r` are over the conforming flows, `W` is what the windows of the others hold at most here, and `L` the longest packet.
///
/// # Errors
/// [`NoBound::Overloaded`] if the conforming flows need the whole rate, and out of range.
pub fn beside_windows(conforming: &Arrival, windows: u64, longest: u64, service: &Service) -> Result<Picoseconds, NoBound> {
    let TokenBucket { burst, rate } = conforming.sustained();
    let mut least = None;
    for piece in service.pieces().iter().filter(|piece| piece.rate > rate) {
        let work = plus(plus(burst, bits(windows))?, bits(longest))?;
        let work = plus(work, times(piece.rate.into(), piece.latency)?)?;
        let delay = up(work, (piece.rate - rate).into());
        least = Some(least.map_or(delay, |least: Picoseconds| least.min(delay)));
    }
    as_bound(least.ok_or(NoBound::Overloaded { offered: rate.into(), served: service.rate() })?)
}

/// The bound on the delay under earliest deadline first of class `index`. A class is its delay, its arrivals and its longest packet in bits.
pub(crate) fn latest_under_deadlines(due: &[(Picoseconds, Arrival, u64)], parent: &Service, index: usize) -> Result<Picoseconds, NoBound> {
    rows::lateness(due, parent, index)
}

#[cfg(test)]
mod tests;
