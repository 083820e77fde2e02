//! Decides when cells are fetched from host memory, and how many at once: just in time, and never more than the adapter has buffers for.
//!
//! **Law.** Cells on the adapter, cells under way and free buffers sum up to the budget. With
//! [`Prefetch::JustInTime`], a connection that is alone and has enough posted never underruns after its first transfer, if transfers take
//! no longer than La plus the time of their cells. No transfer starts earlier than at the last cell at which it is not too late.
//!
//! **Source.** Schiller and Gunningberg, section 4.4, which gives the aims; the low-water rule is derived from them.
//!
//! **State.** The budget and the ends of one queue; per connection the counters of the line and the PDU list.
//!
//! **Cost.** A decrement per cell; it reaches 0 when a transfer may be due, or the adapter has no cell left. Then two multiplications, a
//! division for intervals shorter than a transfer, and the entry of a PDU when a transfer starts.
//!
//! **RTL twin.** None yet.
//!
//! **Deviations.** A transfer is decided when a cell is sent. The next decision is at the next cell, in the slot at or after `next`. The
//! first missing cell, if k are on the adapter or under way, leaves at `next + k * T`. So waiting is too late if and only if
//! `k * T < La + xfer(n)`, plus the rounding up to the slot, or if k is 0. Here n is the largest transfer, even where less is left of the
//! PDU: the transfer after a short one would come too late. After a pause T is the peak interval, because no decision is between. A
//! connection that finds no free buffer waits in a queue.

use crate::time::Ticks;
use tidegate_core::sharing::SLOT;

/// When cells are fetched.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Prefetch {
    /// At the low-water mark, as late as is safe.
    JustInTime,
    /// When none of the connection's cells is on the adapter or under way.
    Demand,
    /// Whole PDUs as soon as they are posted and buffers are free.
    WholePdu,
}

/// How cells come from host memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TransferSetup {
    /// When cells are fetched.
    pub prefetch: Prefetch,
    /// La: the longest time until a transfer's first cell moves, in slots, at most 2^20.
    pub access_latency: u32,
    /// The time a cell takes on the bus, at most 2^20 slots.
    pub cell_time: Ticks,
    /// The most cells in one transfer, 1 to 2^16 - 1: what the bus moves best. Not for [`Prefetch::WholePdu`].
    pub burst: u32,
    /// B: cell buffers on the adapter.
    pub buffer: u32,
}

/// The transfer rules of one adapter, and its free buffers.
///
/// ```
/// use tidegate_cells::{Prefetch, SLOT, Ticks, TransferSetup, Transfers};
/// let setup = TransferSetup { prefetch: Prefetch::JustInTime, access_latency: 4, cell_time: Ticks(SLOT / 4), burst: 32, buffer: 100 };
/// let transfers = Transfers::new(setup);
/// assert_eq!([1, 4, 20].map(|interval| transfers.low_water(Ticks::slots(interval), 32)), [12, 3, 1]);
/// ```
#[derive(Clone, Debug)]
pub struct Transfers {
    setup: TransferSetup,
    /// The duration of the largest transfer, in ticks.
    longest: u64,
    /// No transfer starts while cells on the adapter and under way last for this many ticks at the peak interval.
    pub(crate) low: u64,
    pub(crate) free: u32,
    /// Buffers of transfers under way to removed connections.
    pub(crate) orphaned: u32,
    /// The ends of the queue of connections that wait for a buffer.
    pub(crate) first: u32,
    pub(crate) last: u32,
}

/// The most cells of one connection on the adapter and under way.
pub(crate) const MOST_AHEAD: u32 = u16::MAX as u32;

/// No connection, no PDU.
pub(crate) const NONE: u32 = u32::MAX;

/// The longest access latency, and the longest time of a cell on the bus, in slots.
const MOST_SLOTS: u32 = 1 << 20;

impl TransferSetup {
    /// Whether all fields are within their ranges.
    pub(crate) const fn problem(&self) -> Option<(&'static str, &'static str)> {
        if self.access_latency > MOST_SLOTS {
            Some(("access latency", "must be at most 2^20 slots"))
        } else if self.cell_time.0 > MOST_SLOTS as u64 * SLOT {
            Some(("cell time", "must be at most 2^20 slots"))
        } else if self.burst == 0 || self.burst > MOST_AHEAD {
            Some(("burst", "must be 1 to 65,535 cells"))
        } else if self.buffer == 0 {
            Some(("buffer", "must hold at least one cell"))
        } else {
            None
        }
    }
}

impl Transfers {
    /// All buffers free. A value outside its range is clamped ([`crate::scheduler::CellSetup::check`] reports it).
    pub const fn new(setup: TransferSetup) -> Transfers {
        let mut setup = setup;
        if setup.access_latency > MOST_SLOTS {
            setup.access_latency = MOST_SLOTS;
        }
        if setup.cell_time.0 > MOST_SLOTS as u64 * SLOT {
            setup.cell_time = Ticks(MOST_SLOTS as u64 * SLOT);
        }
        let mut transfers = Transfers { setup, longest: 0, low: 0, free: setup.buffer, orphaned: 0, first: NONE, last: NONE };
        let duration = transfers.duration(transfers.burst());
        transfers.longest = duration * SLOT;
        transfers.low = match setup.prefetch {
            // No interval is shorter than the peak interval, and the rounding to the slot is less than a slot.
            Prefetch::JustInTime => transfers.longest + SLOT,
            Prefetch::Demand => 1,
            Prefetch::WholePdu => u64::MAX,
        };
        transfers
    }

    /// The rules.
    pub const fn setup(&self) -> &TransferSetup {
        &self.setup
    }

    #[inline]
    pub(crate) const fn burst(&self) -> u32 {
        match self.setup.prefetch {
            Prefetch::WholePdu => MOST_AHEAD,
            _ if self.setup.burst == 0 => 1,
            _ if self.setup.burst > MOST_AHEAD => MOST_AHEAD,
            _ => self.setup.burst,
        }
    }

    /// From a request to the arrival of its last cell, if the engine is idle, in slots: `La + ceil(n * cell time)`.
    #[inline]
    pub const fn duration(&self, cells: u32) -> u64 {
        self.setup.access_latency as u64 + (cells as u64 * self.setup.cell_time.0).div_ceil(SLOT)
    }

    /// The low-water mark of a connection at this spacing: with fewer cells on the adapter or under way a transfer of `cells` must start.
    pub const fn low_water(&self, spacing: Ticks, cells: u32) -> u64 {
        (self.duration(cells) * SLOT).div_ceil(if spacing.0 == 0 { 1 } else { spacing.0 })
    }

    /// True if the next cells of a connection must be requested now, `ahead` being on the adapter or under way, the next of them due at
    /// `due`.
    #[inline]
    pub(crate) const fn is_time(&self, ahead: u32, spacing: u64, due: u64) -> bool {
        match self.setup.prefetch {
            // The next decision is in the slot at or after `due`. Both sides are below 2^63: spacing is at most 2^45, ahead less than
            // 2^16, and the duration less than 2^37 slots.
            Prefetch::JustInTime => ahead == 0 || ahead as u64 * spacing < self.longest + (due.wrapping_neg() & (SLOT - 1)),
            Prefetch::Demand => ahead == 0,
            Prefetch::WholePdu => true,
        }
    }
}
