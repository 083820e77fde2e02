//! The conservation law of an end system.

use std::fmt;
use tidegate_core::port::Volume;

/// What has become of everything that producers offered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Account {
    /// Everything offered; a frame that its producer was told to bring again counts when it is taken.
    pub offered: Volume,
    /// Everything handed to the transmitter.
    pub sent: Volume,
    /// What found its ring full and was dropped, as its stream's descriptor says.
    pub ring_full: Volume,
    /// What the scheduler discarded because it was late.
    pub late: Volume,
    /// What is in rings, or won and waits for its time on the link.
    pub queued: Volume,
}

impl Account {
    /// Checks that nothing got lost uncounted: offered = sent + dropped + queued.
    ///
    /// # Errors
    /// [`Leak`] with all the figures: a defect of this crate.
    pub fn check(&self) -> Result<(), Leak> {
        let mut accounted = Volume::default();
        for part in [self.sent, self.ring_full, self.late, self.queued] {
            accounted.packets += part.packets;
            accounted.bytes += part.bytes;
        }
        if accounted == self.offered { Ok(()) } else { Err(Leak(*self)) }
    }
}

/// A violation of the conservation law.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leak(pub Account);

impl fmt::Display for Leak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "offered differs from sent + dropped + queued: {:?}", self.0)
    }
}

impl std::error::Error for Leak {}
