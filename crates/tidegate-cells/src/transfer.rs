//! Decides when cells are fetched from host memory, and how many at once, so that they are there just in time and the adapter's cell
//! buffers never overflow.
//!
//! **Law.** Cells on the adapter, cells under way and free buffers sum up to the budget. Just in time, a connection that is alone
//! and has been posted enough never underruns once its first transfer is there, if transfers take no longer than La and their cells'
//! time; and no transfer starts earlier than the last cell at which it is not too late.
//!
//! **Source.** Schiller and Gunningberg, section 4.4, which gives the aims; the low-water rule is derived from them.
//!
//! **State.** The budget and the ends of one queue; per connection the counters of the line and the PDU list.
//!
//! **Cost.** A count per cell, which says when to look: after as many cells as are on the adapter, or after which it may be time for a transfer.
//! Then two multiplications, a division for those whose interval is shorter than a transfer, and a PDU's entry when a transfer starts.
//!
//! **RTL twin.** None yet.
//!
//! **Deviations.** A connection's state is seen when it sends. Its next chance is its next cell, in the slot at or after `next`; the first
//! cell that is missing, if k are on the adapter or under way, leaves at `next + k * T`. So waiting is too late if and only if
//! `k * T < La + xfer(n)`, plus what is rounded up to the slot, or if k is 0 and there is no next cell before it. Here n is the largest
//! transfer, even where less is left of the PDU: the transfer after a short one would come too late. After a pause T is the peak
//! interval, because there is no chance in between. Connections that find no free buffer wait in a queue for the next ones.

use crate::time::Ticks;
use tidegate_core::sharing::SLOT;

/// When cells are fetched.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Prefetch {
    /// As late as is safe: by the low-water mark.
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

/// The rules of one adapter, and its free buffers.
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
    /// With cells on the adapter or under way for so many ticks, at the peak interval, no transfer starts.
    pub(crate) low: u64,
    pub(crate) free: u32,
    /// Buffers under way to connections that were removed.
    pub(crate) orphaned: u32,
    /// Ends of the queue of connections that wait for a buffer.
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
    /// All buffers free. What is outside its range counts as the end of the range ([`crate::scheduler::CellSetup::check`] finds it).
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
            // No interval is shorter than the peak interval, and the rounding to the slot is less than one.
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

    /// The most cells in one transfer.
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
            // The next chance comes with the slot at or after `due`. Both sides stay below 2^63: spacing is at most 2^45 and ahead less
            // than 2^16; the duration less than 2^37 slots.
            Prefetch::JustInTime => ahead == 0 || ahead as u64 * spacing < self.longest + (due.wrapping_neg() & (SLOT - 1)),
            Prefetch::Demand => ahead == 0,
            Prefetch::WholePdu => true,
        }
    }
}
