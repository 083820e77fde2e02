//! The state of a spanning node between exchanges.

use super::filling::NO_LEVEL;
use super::units::BYTE;
use super::workers::{SpanningNode, Workers};
use crate::units::{Duration, Rate};

/// The number of intervals over which a difference in service per weight is made up for, at least.
pub(super) const CORRECTION_INTERVALS: u64 = 16;

/// The number of longest packets over whose time it is made up for, at least: the reports count whole packets.
const CORRECTION_PACKETS: u64 = 32;

/// A node without a contract may start this many longest packets ahead of its rate on each worker, and what the link carries in as many intervals. It
/// keeps its turns while siblings have theirs.
const EARLY_PACKETS: u64 = 16;
const EARLY_INTERVALS: u64 = 2;

/// A node that spans workers.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// The node above, by its number.
    pub above: usize,
    pub weight: u64,
    /// The link's rate, or that of its contract.
    pub rate: Option<Rate>,
    /// The bytes that each worker may start ahead of its rate.
    pub depth: u32,
    pub tolerance: Duration,
    workers: u64,
    /// What its rate could have carried so far less what has been started, as work; at most `credit_limit`.
    pub credit: i128,
    pub credit_limit: i128,
    /// The bytes sent below it in the last interval.
    pub sent: u64,
    /// The most that may be granted in all, in bit/s.
    pub budget: u128,
    /// The rate that it needs, in bit/s.
    pub demand: u128,
    /// What it is granted, in bit/s.
    pub supply: u128,
    /// The same without corrections and credit.
    pub share: u128,
    /// The rate per weight that those below it have, in 2^-24 bit/s.
    pub level: u128,
    /// What each worker may use beyond its grant.
    pub spare: u128,
    /// What of that the nodes above leave unused.
    pub unused: u128,
    /// What of its supply is granted to each worker beyond its demand.
    pub surplus: u128,
    /// It needs less than its share.
    pub is_bounded: bool,
    /// Something below it has been backlogged since a packet of it was sent.
    pub is_standing: bool,
    /// As [`Place::service`], of the whole node below the node above.
    pub service: Option<i128>,
}

/// A worker's part of a spanning node: the members directly below the node that the worker has.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    /// Bytes per weight that standing members have been sent beyond the mean, in 2^-24; `None` if there are none.
    pub service: Option<i128>,
    /// The average of the bytes of passing members per interval, shifted.
    pub passing: u64,
    /// The greatest weight of passing members in a report; it fades by a sixteenth per interval.
    pub passing_weight: u64,
    /// The rate that those members need.
    pub passing_rate: u128,
    /// The same of bounded members.
    pub bounded: u64,
    pub bounded_weight: u64,
    pub bounded_rate: u128,
    /// The weights of those that could use more than their shares.
    pub competing: u64,
    /// What these members are granted, in bit/s.
    pub grant: u128,
    /// The same with all that is below the node on this worker.
    pub total: u128,
}

impl Node {
    pub(super) fn new(number: usize, node: &SpanningNode, workers: &Workers, link: Rate, longest: u32) -> Node {
        let count = u64::from(workers.count);
        let interval = |rate: Rate| i128::from(rate.bits_per_second()) * i128::from(workers.exchange_every.picoseconds());
        let rate = if number == 0 { Some(link) } else { node.shape.map(|shape| shape.rate) };
        let longest = u64::from(longest);
        // The link's packets count when they start: one per worker may start before its rate has carried it.
        let depth = match node.shape {
            _ if number == 0 => longest,
            Some(shape) => (u64::from(shape.burst) / count).max(2 * longest),
            None => EARLY_INTERVALS * (interval(link) / BYTE) as u64 + EARLY_PACKETS * longest,
        };
        let credit_limit = rate.map_or(0, |rate| interval(rate).max(if number == 0 { 0 } else { i128::from(longest) * BYTE }));
        Node {
            above: node.above,
            weight: node.weight.into(),
            rate,
            depth: depth.min(crate::units::MAX_BYTES.into()) as u32,
            tolerance: node.shape.map_or(Duration::ZERO, |shape| shape.tolerance),
            workers: count,
            credit: 0,
            credit_limit,
            sent: 0,
            budget: 0,
            demand: 0,
            supply: 0,
            share: 0,
            level: 0,
            spare: 0,
            unused: 0,
            surplus: 0,
            is_bounded: false,
            is_standing: false,
            service: None,
        }
    }

    /// Packets count when they start: the bytes by which that may be before the granted rates have carried them. The rates that forgive lateness are at
    /// most twice the node's.
    pub(super) fn started_early(&self) -> u64 {
        let bits = u128::from(self.rate.map_or(0, Rate::bits_per_second)) * 2 * u128::from(self.tolerance.picoseconds());
        u64::from(self.depth) * self.workers + (bits / BYTE as u128) as u64
    }

    /// The level as meters have it.
    pub(super) fn level(&self) -> u64 {
        self.level.min(u64::MAX.into()) as u64
    }

    /// Finds what may be granted in all: its rate, and the credit spread over the next interval.
    pub(super) fn find_budget(&mut self, elapsed: Duration, interval: Duration) {
        let Some(rate) = self.rate else {
            self.budget = NO_LEVEL;
            return;
        };
        let carried = i128::from(rate.bits_per_second()) * i128::from(elapsed.picoseconds());
        self.credit = (self.credit + carried - i128::from(self.sent) * BYTE).min(self.credit_limit);
        // Late exchanges may have granted credit for too long: that is taken back.
        let overdrawn = (self.credit + i128::from(self.started_early()) * BYTE).min(0);
        let credit = self.credit.max(0) + overdrawn;
        let budget = i128::from(rate.bits_per_second()) + credit / i128::from(interval.picoseconds());
        self.budget = budget.max(0) as u128;
    }

    /// The time over which a difference in service per weight below it is made up for, in picoseconds.
    pub(super) fn correction_time(&self, interval: Duration, longest: u32) -> i128 {
        let packets = i128::from(longest) * i128::from(CORRECTION_PACKETS) * BYTE / (self.supply.max(1) as i128);
        packets.max(i128::from(interval.picoseconds() * CORRECTION_INTERVALS))
    }
}
