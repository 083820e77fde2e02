//! What has become of everything that one direction received.

use crate::io::KernelCounters;
use std::fmt;
use tidegate_core::packet::DropReason;
use tidegate_core::port::{Counters, Volume};
use tidegate_core::units::Duration;

/// What was refused before it became a packet of the port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Refused {
    /// No frame memory was free.
    pub no_memory: Volume,
    /// The kernel kept only part of the frame.
    pub cut_short: Volume,
    /// A super-frame of a kind that cannot be cut: a tunnel's, or one of more than 64 kB over IPv6.
    pub not_segmentable: Volume,
    /// The frame asks for a checksum outside itself.
    pub bad_checksum: Volume,
}

impl Refused {
    /// Everything refused, whatever the reason.
    pub fn total(&self) -> Volume {
        self.by_reason()
            .iter()
            .fold(Volume::default(), |sum, (_, volume)| Volume { packets: sum.packets + volume.packets, bytes: sum.bytes + volume.bytes })
    }

    /// Every reason with its name and what fell to it.
    pub fn by_reason(&self) -> [(&'static str, Volume); 4] {
        [
            ("no-memory", self.no_memory),
            ("cut-short", self.cut_short),
            ("not-segmentable", self.not_segmentable),
            ("bad-checksum", self.bad_checksum),
        ]
    }
}

/// What the port sent but did not come out: it was lost on the link, or the outgoing interface did not take it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Unsent {
    /// It was lost at random, as the policy's link says.
    pub lost: Volume,
    /// The interface was down or gone.
    pub interface_down: Volume,
    /// The frame was longer than the interface's MTU allows.
    pub too_long: Volume,
    /// The kernel had no room for it, although it was tried again and again.
    pub no_room: Volume,
    /// The kernel refused it for another reason.
    pub rejected: Volume,
}

impl Unsent {
    /// Every reason with its name and what fell to it.
    pub fn by_reason(&self) -> [(&'static str, Volume); 5] {
        [
            ("lost-on-link", self.lost),
            ("interface-down", self.interface_down),
            ("too-long-for-interface", self.too_long),
            ("no-room-in-kernel", self.no_room),
            ("rejected-by-kernel", self.rejected),
        ]
    }
}

/// The counters of one direction. Volumes count packets as they go on the wire: a super-frame counts as the packets it was cut into.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DirectionCounters {
    /// Everything received.
    pub received: Volume,
    /// What was refused before it came to the port.
    pub refused: Refused,
    /// What has become of everything offered to the port.
    pub port: Counters,
    /// Everything that the outgoing interface took.
    pub delivered: Volume,
    /// What the port sent but did not come out.
    pub unsent: Unsent,
    /// What the port holds in its queues.
    pub queued: Volume,
    /// What the port has sent and has come to no end yet: on its way along the link, or waiting for room in the kernel.
    pub in_flight: Volume,
    /// Frames read from the kernel, a super-frame counting once.
    pub frames: u64,
    /// Those of them that were super-frames.
    pub super_frames: u64,
    /// Packets that leave as they came although the policy sets code points, because they have no field for any of these.
    pub without_fields: u64,
    /// Packets in which rules saw no IP header, such as ARP.
    pub unseen: u64,
    /// What the kernel counted: frames that it lost never came to be received here.
    pub kernel: KernelCounters,
    /// True if the incoming interface is up and connected.
    pub receiving: bool,
    /// True if the outgoing interface is up and connected.
    pub sending: bool,
    /// How often either of them went down.
    pub outages: u64,
    /// Link time given up because the process was woken later than it may catch up for.
    pub forgone: Duration,
}

impl DirectionCounters {
    /// Notes the state of both interfaces, and an outage of each that was up. True if anything has changed.
    pub(crate) fn note(&mut self, receiving: bool, sending: bool) -> bool {
        self.outages += u64::from(self.receiving && !receiving) + u64::from(self.sending && !sending);
        let changed = (self.receiving, self.sending) != (receiving, sending);
        (self.receiving, self.sending) = (receiving, sending);
        changed
    }

    /// Everything dropped here, by name of the reason: before the port, by the port, behind the port. Reasons that never occurred are
    /// left out.
    pub fn dropped(&self) -> impl Iterator<Item = (&'static str, Volume)> {
        let port = DropReason::ALL.iter().zip(self.port.dropped).map(|(reason, volume)| (reason.name(), volume));
        let all = self.refused.by_reason().into_iter().chain(port).chain(self.unsent.by_reason());
        all.filter(|(_, volume)| volume.packets > 0)
    }

    /// Checks that nothing got lost uncounted: received = delivered + dropped + queued + in flight, in packets and in bytes.
    ///
    /// # Errors
    /// [`Leak`] with both sides of the equation: a defect of this crate or of the port.
    pub fn check(&self) -> Result<(), Leak> {
        let mut accounted = self.delivered;
        for volume in self.dropped().map(|(_, volume)| volume).chain([self.queued, self.in_flight]) {
            accounted.packets += volume.packets;
            accounted.bytes += volume.bytes;
        }
        if accounted == self.received { Ok(()) } else { Err(Leak { received: self.received, accounted }) }
    }
}

/// A violation of the conservation law.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leak {
    /// Everything received.
    pub received: Volume,
    /// Everything that was delivered, dropped or is held.
    pub accounted: Volume,
}

impl fmt::Display for Leak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Leak { received, accounted } = self;
        write!(
            f,
            "received {} packets of {} bytes in all, but {} packets of {} bytes are accounted for",
            received.packets, received.bytes, accounted.packets, accounted.bytes
        )
    }
}

impl std::error::Error for Leak {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_is_part_of_the_balance() {
        let one = Volume { packets: 1, bytes: 100 };
        let mut counters = DirectionCounters::default();
        assert_eq!(counters.check(), Ok(()));
        counters.received = Volume { packets: 10, bytes: 1000 };
        counters.delivered = Volume { packets: 5, bytes: 500 };
        counters.refused.no_memory = one;
        counters.port.dropped[DropReason::Policed as usize] = one;
        counters.unsent.too_long = one;
        assert_eq!(counters.check(), Err(Leak { received: counters.received, accounted: Volume { packets: 8, bytes: 800 } }));
        counters.queued = one;
        counters.in_flight = one;
        assert_eq!(counters.check(), Ok(()));
        counters.unsent.lost = one;
        counters.received.add(100);
        assert_eq!(counters.check(), Ok(()));
        let reasons: Vec<&str> = counters.dropped().map(|(reason, _)| reason).collect();
        assert_eq!(reasons, ["no-memory", "policed", "lost-on-link", "too-long-for-interface"]);
    }
}
