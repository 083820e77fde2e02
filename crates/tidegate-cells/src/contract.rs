//! Traffic contracts of cell streams: intervals in ticks instead of rates, rounded so that no stream exceeds its contract.
//!
//! **Rounding.** An interval is rounded up: a stream with at least this spacing never exceeds the rate. The burst tolerance is computed
//! exactly from the rounded intervals. A stream that keeps them is also accepted at the exact rates. In a burst of k cells the exact test
//! allows `(MBS - 1)(Ts - T)`, and the rounded peak interval needs at most as much. After the burst every cell waits for a token at the
//! rounded, longer sustained interval. Rates, which only share an overload, are rounded down.

use crate::time::Ticks;
use tidegate_core::algorithm::FieldError;
use tidegate_core::sharing::{CLASSES, LONGEST_INTERVAL, SLOT};

/// The sustained rate of a connection, and its largest burst.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Sustained {
    /// Ts = 1/SCR, at least the peak interval.
    pub interval: Ticks,
    /// MBS: the most cells at the peak rate, at least 1.
    pub maximum_burst_size: u32,
}

/// How a connection uses its contract.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Mode {
    /// CBR: the peak rate alone.
    Constant,
    /// Single leaky bucket (SLB): a burst at the peak rate until the tokens are used up, then a cell for every token.
    SingleBucket(Sustained),
    /// Dual leaky bucket (DLB): a burst at the peak rate until the tokens are used up, then nothing until all of them are back.
    DualBucket(Sustained),
}

impl Mode {
    /// The sustained part of the contract, if there is one.
    pub const fn sustained(&self) -> Option<Sustained> {
        match self {
            Mode::Constant => None,
            Mode::SingleBucket(sustained) | Mode::DualBucket(sustained) => Some(*sustained),
        }
    }
}

/// The contract of one connection.
///
/// ```
/// use tidegate_cells::{CellContract, Mode, SLOT, Sustained, Ticks};
/// use tidegate_core::units::Rate;
/// // A video stream of 15 Mbit/s at peak and 4 Mbit/s sustained on the 149.76 Mbit/s of an STM-1, in bursts of 100 cells.
/// let rate = |bits_per_second| Rate::new(bits_per_second).unwrap();
/// let link = rate(149_760_000);
/// let interval = Ticks::ceil_of_rate(rate(4_000_000), link);
/// let mut contract = CellContract::constant(Ticks::ceil_of_rate(rate(15_000_000), link));
/// contract.mode = Mode::DualBucket(Sustained { interval, maximum_burst_size: 100 });
/// assert_eq!(contract.check(), Ok(()));
/// assert_eq!(contract.burst_tolerance().0 / SLOT, 2718);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CellContract {
    /// T = 1/PCR, at least a slot.
    pub peak_interval: Ticks,
    /// CDVT, below 65,536 slots: how late a cell may leave without delaying those after it. With less than a slot, a fractional interval
    /// loses rate to rounding.
    pub delay_variation_tolerance: Ticks,
    /// The use of the rate.
    pub mode: Mode,
    /// Priority class, below [`CLASSES`]; 0 is served first.
    pub class: u8,
}

impl CellContract {
    /// Constant bit rate with a CDVT of one slot, in class 0.
    pub const fn constant(peak_interval: Ticks) -> CellContract {
        CellContract { peak_interval, delay_variation_tolerance: Ticks(SLOT), mode: Mode::Constant, class: 0 }
    }

    /// BT = (MBS - 1)(Ts - T), the least tolerance that lets a whole burst pass at the peak rate; zero without a sustained rate.
    pub const fn burst_tolerance(&self) -> Ticks {
        match self.mode.sustained() {
            Some(sustained) => {
                let gap = sustained.interval.0.saturating_sub(self.peak_interval.0);
                Ticks((sustained.maximum_burst_size.saturating_sub(1) as u64).saturating_mul(gap))
            }
            None => Ticks::ZERO,
        }
    }

    /// Whether the contract can be kept.
    ///
    /// # Errors
    /// [`CellContractError`] names the first field that is out of range.
    pub const fn check(&self) -> Result<(), CellContractError> {
        use CellContractField::*;
        if self.peak_interval.0 < SLOT {
            return PeakInterval.wrong("must be at least one slot: a connection cannot send faster than the link");
        }
        if self.peak_interval.0 > LONGEST_INTERVAL {
            return PeakInterval.wrong("must be at most 2^29 slots");
        }
        if self.delay_variation_tolerance.0 > u32::MAX as u64 {
            return DelayVariationTolerance.wrong("must be less than 65,536 slots");
        }
        if self.class as usize >= CLASSES {
            return Class.wrong("must be below 8; 0 is served first");
        }
        let Some(sustained) = self.mode.sustained() else { return Ok(()) };
        if sustained.interval.0 < self.peak_interval.0 {
            return SustainedInterval.wrong("must be at least the peak interval");
        }
        if sustained.interval.0 > LONGEST_INTERVAL {
            return SustainedInterval.wrong("must be at most 2^29 slots");
        }
        if sustained.maximum_burst_size == 0 {
            return MaximumBurstSize.wrong("must be at least one cell");
        }
        if self.burst_tolerance().0 > LONGEST_INTERVAL {
            return MaximumBurstSize.wrong("must be smaller: the tokens of a burst take more than 2^29 slots to come back");
        }
        Ok(())
    }
}

tidegate_core::fields! {
    /// A field of [`CellContract`].
    pub enum CellContractField {
        /// [`CellContract::peak_interval`].
        PeakInterval = "peak interval",
        /// [`CellContract::delay_variation_tolerance`].
        DelayVariationTolerance = "delay variation tolerance",
        /// [`Sustained::interval`].
        SustainedInterval = "sustained interval",
        /// [`Sustained::maximum_burst_size`].
        MaximumBurstSize = "maximum burst size",
        /// [`CellContract::class`].
        Class = "class",
    }
}

impl CellContractField {
    const fn wrong(self, problem: &'static str) -> Result<(), CellContractError> {
        Err(FieldError { field: self, problem })
    }
}

/// Why a contract cannot be kept.
pub type CellContractError = FieldError<CellContractField>;
