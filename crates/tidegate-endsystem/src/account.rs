//! The conservation law of an end system.

use thiserror::Error;
use tidegate_core::port::Volume;

/// What a producer has counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ProducerCounters {
    /// Frames that were queued or dropped.
    pub offered: Volume,
    /// Frames dropped because their ring was full.
    pub ring_full: Volume,
    /// How often a frame was returned to be offered again.
    pub turned_back: u64,
}

/// What became of everything that producers offered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Account {
    /// Frames offered; one that was returned to be offered again counts when it is accepted.
    pub offered: Volume,
    /// Frames handed to the transmitter.
    pub sent: Volume,
    /// Frames dropped because their ring was full and their descriptor says [`WhenFull::Drop`](crate::WhenFull::Drop).
    pub ring_full: Volume,
    /// Frames that the scheduler discarded because they were late.
    pub late: Volume,
    /// Frames that an AQM dropped.
    pub congested: Volume,
    /// Frames in rings, including winners that wait for their time on the link.
    pub queued: Volume,
}

impl Account {
    /// Checks the law: offered = sent + dropped + queued.
    ///
    /// # Errors
    /// [`Leak`] with all the figures: a defect of this crate.
    pub fn check(&self) -> Result<(), Leak> {
        let accounted = self.sent + self.ring_full + self.late + self.congested + self.queued;
        if accounted == self.offered { Ok(()) } else { Err(Leak(*self)) }
    }
}

/// A violation of the conservation law.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("offered differs from sent + dropped + queued: {0:?}")]
pub struct Leak(pub Account);
