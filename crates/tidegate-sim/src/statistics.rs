//! The measurements of a simulation.
//!
//! | module | holds |
//! |---|---|
//! | [`time_weighted`] | a quantity that changes at instants: its mean over time, its maximum, its samples |
//! | [`flow`] | one flow, end to end, in one replication |
//! | [`port`] | one port and its classes in one replication |
//! | [`tcp`] | one TCP connection in one replication |
//! | [`workload`] | the connections of one workload, in one replication and in all |
//! | [`estimate`] | a mean over replications with its confidence interval |
//! | [`difference`] | the difference of two means with its interval, and whether it can be chance |
//! | [`outcome`] | all replications together |
//!
//! **Warm-up.** Counters, delays and means start at the end of the warm-up; time series include it. A delivery counts at the instant at which the
//! last bit reaches the sink, everything else at its instant at the port.

pub mod difference;
pub mod estimate;
pub mod flow;
pub mod outcome;
pub mod port;
pub mod tcp;
pub mod time_weighted;
pub mod workload;

pub use difference::{Difference, adjusted};
pub use estimate::Estimate;
pub use flow::{FlowStatistics, LongestDelay, Tagged};
pub use outcome::{
    CallOutcome, ClassOutcome, DelayOutcome, FailureOutcome, FlowOutcome, Outcome, PortOutcome, QUANTILES, Replication, TaggedOutcome,
    TcpOutcome, jain,
};
pub use port::{ClassStatistics, PauseStatistics, PortStatistics};
pub use tcp::TcpStatistics;
pub use tidegate_statistics::{CoarseHistogram, Histogram};
pub use time_weighted::TimeWeighted;
pub use workload::{COMPLETION_QUANTILES, RoundOutcome, SizeOutcome, WorkloadOutcome, WorkloadStatistics};

use tidegate_core::packet::DropReason;
use tidegate_core::port::Volume;

/// Drops by reason, in the order of [`DropReason::ALL`].
pub type Dropped = [Volume; DropReason::ALL.len()];

/// Bytes or packets counted per sample interval from the start of the simulation.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Bins {
    interval: u64,
    end: u64,
    current: u64,
    full: Vec<u64>,
}

impl Bins {
    /// Bins of `interval` picoseconds; 0 for none.
    pub(crate) fn new(interval: u64) -> Bins {
        Bins { interval, end: if interval == 0 { u64::MAX } else { interval }, current: 0, full: Vec::new() }
    }

    /// Adds to the bin of `at`; instants do not decrease.
    #[inline]
    pub(crate) fn add(&mut self, at: u64, amount: u64) {
        if at >= self.end {
            self.close(at);
        }
        self.current += amount;
    }

    #[cold]
    fn close(&mut self, at: u64) {
        while at >= self.end {
            self.full.push(std::mem::take(&mut self.current));
            self.end += self.interval;
        }
    }

    /// The bins that end at or before `end`.
    pub(crate) fn finish(mut self, end: u64) -> Vec<u64> {
        if self.interval == 0 {
            return Vec::new();
        }
        self.close(end);
        self.full
    }
}

#[cfg(test)]
mod tests;
