//! What a port was offered and what became of it: counters, and the law that nothing is lost.

use crate::packet::DropReason;
use core::fmt;
use core::iter::Sum;
use core::ops::{AddAssign, Sub};

/// A number of packets and the bytes in them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Volume {
    /// Packets.
    pub packets: u64,
    /// Bytes, without link overhead.
    pub bytes: u64,
}

impl Volume {
    /// Counts one packet of `length` bytes.
    #[inline]
    pub fn add(&mut self, length: u32) {
        self.packets += 1;
        self.bytes += u64::from(length);
    }
}

impl AddAssign for Volume {
    #[inline]
    fn add_assign(&mut self, more: Volume) {
        self.packets += more.packets;
        self.bytes += more.bytes;
    }
}

impl core::ops::Add for Volume {
    type Output = Volume;
    fn add(mut self, more: Volume) -> Volume {
        self += more;
        self
    }
}

/// What is left without a part.
impl Sub for Volume {
    type Output = Volume;
    fn sub(self, part: Volume) -> Volume {
        Volume { packets: self.packets - part.packets, bytes: self.bytes - part.bytes }
    }
}

impl Sum for Volume {
    fn sum<I: Iterator<Item = Volume>>(volumes: I) -> Volume {
        volumes.fold(Volume::default(), |all, part| all + part)
    }
}

/// Counts what a port was offered, and what became of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Everything offered.
    pub offered: Volume,
    /// Everything whose transmission has started.
    pub sent: Volume,
    /// Everything dropped, by [`DropReason`] in the order of [`DropReason::ALL`].
    pub dropped: [Volume; DropReason::ALL.len()],
    /// The packets among them whose ECN code point an AQM of this port changed to CE; each is also sent, queued or dropped.
    pub marked: Volume,
}

impl Counters {
    /// Checks the conservation law against what is queued.
    ///
    /// # Errors
    /// [`Unbalanced`] with all the figures.
    // The error is large because it holds every figure, and never made unless the port is defective.
    #[allow(clippy::result_large_err)]
    pub fn check(&self, queued: Volume) -> Result<(), Unbalanced> {
        let accounted = queued + self.sent + self.dropped.into_iter().sum();
        if accounted == self.offered { Ok(()) } else { Err(Unbalanced { counters: *self, queued }) }
    }
}

/// A violation of the conservation law: a defect of the port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unbalanced {
    /// The counters.
    pub counters: Counters,
    /// What the queues hold.
    pub queued: Volume,
}

impl fmt::Display for Unbalanced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "offered differs from sent + dropped + queued: {:?}, queued {:?}", self.counters, self.queued)
    }
}

impl core::error::Error for Unbalanced {}
