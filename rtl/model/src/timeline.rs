//! The cycles of SCHEDULE and PRIORITY_UPDATE, and what they mean for a clock and a link.
//!
//! Cycle 0 is LOAD. Decision m then takes SCHEDULE cycles until its winner is known, and one PRIORITY_UPDATE cycle in which every register
//! block adjusts itself. Register blocks that compute ahead need no such cycle: at the end of the last SCHEDULE cycle they choose between
//! results that are ready.

use crate::network::{Routing, Size, ceil_log2};
use core::ops::Range;
use tidegate_core::units::{Duration, Rate};

/// How register blocks are updated.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Update {
    /// In a cycle of its own, when the winner is known.
    #[default]
    InTurn,
    /// At the end of the last SCHEDULE cycle: all outcomes were computed in the meantime, and one is selected.
    Ahead,
}

/// The parts that are built.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Architecture {
    /// The network's ports.
    pub size: Size,
    /// The wiring of the network.
    pub routing: Routing,
    /// How register blocks are updated.
    pub update: Update,
}

impl Architecture {
    /// BA, the paper's base architecture.
    pub const fn base(size: Size) -> Architecture {
        Architecture { size, routing: Routing::Lattice, update: Update::InTurn }
    }

    /// WR, winner-only routing.
    pub const fn winner_only(size: Size) -> Architecture {
        Architecture { size, routing: Routing::Winner, update: Update::InTurn }
    }

    /// CA, compute-ahead register blocks.
    pub const fn compute_ahead(size: Size) -> Architecture {
        Architecture { size, routing: Routing::Lattice, update: Update::Ahead }
    }

    /// The timeline for this many streams.
    pub const fn timeline(self, streams: usize) -> Timeline {
        let rounds = if streams == 0 { 1 } else { streams.div_ceil(self.size.ports()) };
        let merge = ceil_log2(rounds);
        let update = match self.update {
            Update::InTurn => 1,
            Update::Ahead => 0,
        };
        Timeline { schedule: rounds as u64 * self.routing.cycles(self.size) as u64 + merge as u64, update }
    }
}

/// The cycles of an architecture that decides without pause.
///
/// ```
/// use tidegate_rtl_model::{Architecture, Size};
/// let timeline = Architecture::base(Size::Eight).timeline(8);
/// assert_eq!((timeline.schedule(1), timeline.update(1)), (5..8, Some(8)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Timeline {
    schedule: u64,
    update: u64,
}

impl Timeline {
    /// Cycles from one decision to the next.
    pub const fn period(self) -> u64 {
        self.schedule + self.update
    }

    /// The SCHEDULE cycles of decision `number`, counted from 0.
    pub const fn schedule(self, number: u64) -> Range<u64> {
        let start = 1 + number * self.period();
        start..start + self.schedule
    }

    /// The PRIORITY_UPDATE cycle of decision `number`; `None` if register blocks compute ahead.
    pub const fn update(self, number: u64) -> Option<u64> {
        if self.update == 0 { None } else { Some(self.schedule(number).end) }
    }

    /// Decisions per second at `hertz`, rounded down.
    pub const fn decisions_per_second(self, hertz: u64) -> u64 {
        hertz / self.period()
    }

    /// The time from one decision to the next at `hertz`, rounded up to a picosecond.
    ///
    /// # Panics
    /// If `hertz` is 0.
    pub const fn decision_time(self, hertz: u64) -> Duration {
        Duration::from_picoseconds((self.period() * 1_000_000_000_000).div_ceil(hertz))
    }

    /// The slowest clock, in hertz, that decides within the time of a packet of `bytes` on a link, rounded up.
    ///
    /// # Panics
    /// If `bytes` is 0.
    pub const fn least_clock(self, bytes: u32, link: Rate) -> u64 {
        (self.period() * link.bits_per_second()).div_ceil(8 * bytes as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle S8, and the paper's rates at 23 MHz.
    #[test]
    fn clocks_follow_from_cycles() {
        let link = Rate::new(10_000_000_000).unwrap();
        let base = Architecture::base(Size::ThirtyTwo).timeline(32);
        let ahead = Architecture::compute_ahead(Size::ThirtyTwo).timeline(32);
        assert_eq!([base.least_clock(64, link), ahead.least_clock(64, link)], [117_187_500, 97_656_250]);
        assert_eq!([base.least_clock(1500, link), ahead.least_clock(1500, link)], [5_000_000, 4_166_667]);
        let (base, ahead) = (Architecture::base(Size::Four).timeline(4), Architecture::compute_ahead(Size::Four).timeline(4));
        assert_eq!([base, ahead].map(|timeline| timeline.decisions_per_second(23_000_000)), [7_666_666, 11_500_000]);
        assert_eq!(base.decision_time(23_000_000).picoseconds(), 130_435);
    }

    #[test]
    fn tiles_take_a_round_each_and_a_tree_of_winners() {
        let cycles = |size, streams| Architecture::compute_ahead(size).timeline(streams).period();
        assert_eq!([cycles(Size::Eight, 16), cycles(Size::Sixteen, 32), cycles(Size::Eight, 32)], [7, 9, 14]);
        assert_eq!([cycles(Size::Four, 1), cycles(Size::Four, 5), cycles(Size::Four, 13)], [2, 5, 10]);
    }
}
