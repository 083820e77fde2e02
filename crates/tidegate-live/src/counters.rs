//! The counters of one direction, and their conservation law.

use crate::io::KernelCounters;
use thiserror::Error;
use tidegate_core::packet::DropReason;
use tidegate_core::port::{Counters, Volume};
use tidegate_core::units::Duration;

/// Packets that were dropped before they reached the port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Refused {
    /// No frame slot was free.
    pub no_memory: Volume,
    /// The kernel kept only part of the frame.
    pub cut_short: Volume,
    /// A super-frame that cannot be cut: one of a tunnel, or of more than 64 kB over IPv6.
    pub not_segmentable: Volume,
    /// The position of the requested checksum is outside the frame.
    pub bad_checksum: Volume,
    /// The ring to the worker of its class was full ([`Workers`](tidegate_core::exchange::Workers)).
    pub ring_full: Volume,
}

impl Refused {
    /// The sum over all reasons.
    pub fn total(&self) -> Volume {
        self.by_reason().into_iter().map(|(_, volume)| volume).sum()
    }

    /// The volume of each reason, by name.
    pub fn by_reason(&self) -> [(&'static str, Volume); 5] {
        [
            ("no-memory", self.no_memory),
            ("cut-short", self.cut_short),
            ("not-segmentable", self.not_segmentable),
            ("bad-checksum", self.bad_checksum),
            ("ring-full", self.ring_full),
        ]
    }
}

/// Packets that the port sent and that did not leave: lost on the link, or not taken by the outgoing interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Unsent {
    /// Random losses of the policy's link.
    pub lost: Volume,
    /// The interface was down or gone.
    pub interface_down: Volume,
    /// The frame was longer than the interface's MTU allows.
    pub too_long: Volume,
    /// The kernel had no room for it for 20 ms.
    pub no_room: Volume,
    /// The kernel refused it for another reason.
    pub rejected: Volume,
}

impl Unsent {
    /// The volume of each reason, by name.
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
    /// Packets received.
    pub received: Volume,
    /// Packets dropped before the port.
    pub refused: Refused,
    /// The counters of the port.
    pub port: Counters,
    /// Packets that the outgoing interface took.
    pub delivered: Volume,
    /// Packets that the port sent and that did not leave.
    pub unsent: Unsent,
    /// Copies of packets that the link passed twice.
    pub duplicated: Volume,
    /// Packets that came later than the delay of the link, copies included.
    pub late: Volume,
    /// Packets in the queues of the port.
    pub queued: Volume,
    /// Packets that workers received and passed on to the worker of their class.
    pub passed_on: Volume,
    /// Packets that workers took over from others.
    pub passed_in: Volume,
    /// Packets in the rings between workers.
    pub in_rings: Volume,
    /// Packets that the port has sent and that are on the link or wait for room in the kernel.
    pub in_flight: Volume,
    /// Frames read from the kernel, a super-frame counting once.
    pub frames: u64,
    /// The super-frames among them.
    pub super_frames: u64,
    /// Packets that left unchanged although the policy sets code points, because they have no field for them.
    pub without_fields: u64,
    /// Packets in which rules saw no IP header, such as ARP.
    pub unseen: u64,
    /// The kernel's counters. Frames that it dropped are not in `received`.
    pub kernel: KernelCounters,
    /// True if the incoming interface is up and connected.
    pub receiving: bool,
    /// True if the outgoing interface is up and connected.
    pub sending: bool,
    /// How often either interface went down.
    pub outages: u64,
    /// Link time given up because a thread woke later than [`Options::catch_up`](crate::Options::catch_up).
    pub forgone: Duration,
}

impl DirectionCounters {
    /// Updates the state of both interfaces and counts outages. True if a state has changed.
    pub(crate) fn update_interfaces(&mut self, receiving: bool, sending: bool) -> bool {
        self.outages += u64::from(self.receiving && !receiving) + u64::from(self.sending && !sending);
        let changed = (self.receiving, self.sending) != (receiving, sending);
        (self.receiving, self.sending) = (receiving, sending);
        changed
    }

    /// The volume dropped before, by and behind the port, by name of the reason. Reasons without packets are left out.
    pub fn dropped(&self) -> impl Iterator<Item = (&'static str, Volume)> {
        let port = DropReason::ALL.iter().zip(self.port.dropped).map(|(reason, volume)| (reason.name(), volume));
        let all = self.refused.by_reason().into_iter().chain(port).chain(self.unsent.by_reason());
        all.filter(|(_, volume)| volume.packets > 0)
    }

    /// The counters of all workers of a direction together. They are looked at one after the other: what one has passed on since it was looked at counts as
    /// received and passed on.
    pub(crate) fn of_workers(workers: impl IntoIterator<Item = DirectionCounters>) -> DirectionCounters {
        let mut all = workers.into_iter().reduce(DirectionCounters::plus).unwrap_or_default();
        let [packets, bytes] = [|volume: Volume| volume.packets, |volume: Volume| volume.bytes].map(|part| {
            let (on, into) = (part(all.passed_on), part(all.passed_in));
            (into.saturating_sub(on), on.saturating_sub(into))
        });
        let later = Volume { packets: packets.0, bytes: bytes.0 };
        all.received += later;
        all.passed_on += later;
        all.in_rings = Volume { packets: packets.1, bytes: bytes.1 };
        all
    }

    /// With those of another worker. The state of the interfaces is the same for all workers.
    pub(crate) fn plus(self, other: DirectionCounters) -> DirectionCounters {
        let refused = Refused {
            no_memory: self.refused.no_memory + other.refused.no_memory,
            cut_short: self.refused.cut_short + other.refused.cut_short,
            not_segmentable: self.refused.not_segmentable + other.refused.not_segmentable,
            bad_checksum: self.refused.bad_checksum + other.refused.bad_checksum,
            ring_full: self.refused.ring_full + other.refused.ring_full,
        };
        let unsent = Unsent {
            lost: self.unsent.lost + other.unsent.lost,
            interface_down: self.unsent.interface_down + other.unsent.interface_down,
            too_long: self.unsent.too_long + other.unsent.too_long,
            no_room: self.unsent.no_room + other.unsent.no_room,
            rejected: self.unsent.rejected + other.unsent.rejected,
        };
        let mut port = self.port;
        port.offered += other.port.offered;
        port.sent += other.port.sent;
        port.marked += other.port.marked;
        port.dropped.iter_mut().zip(other.port.dropped).for_each(|(all, part)| *all += part);
        let kernel = KernelCounters {
            received: self.kernel.received + other.kernel.received,
            dropped: self.kernel.dropped + other.kernel.dropped,
            carried_past: self.kernel.carried_past + other.kernel.carried_past,
        };
        DirectionCounters {
            received: self.received + other.received,
            refused,
            port,
            delivered: self.delivered + other.delivered,
            unsent,
            duplicated: self.duplicated + other.duplicated,
            late: self.late + other.late,
            queued: self.queued + other.queued,
            passed_on: self.passed_on + other.passed_on,
            passed_in: self.passed_in + other.passed_in,
            in_rings: self.in_rings + other.in_rings,
            in_flight: self.in_flight + other.in_flight,
            frames: self.frames + other.frames,
            super_frames: self.super_frames + other.super_frames,
            without_fields: self.without_fields + other.without_fields,
            unseen: self.unseen + other.unseen,
            kernel,
            receiving: self.receiving && other.receiving,
            sending: self.sending && other.sending,
            outages: self.outages.max(other.outages),
            forgone: self.forgone + other.forgone,
        }
    }

    /// What is queued: in the port, and on the way to it.
    pub fn waiting(&self) -> Volume {
        self.queued + self.in_rings
    }

    /// Checks the law: received + duplicated = delivered + dropped + queued + in rings + in flight, in packets and in bytes.
    ///
    /// # Errors
    /// [`Leak`] with both sides of the equation: a defect of this crate or of the port.
    pub fn check(&self) -> Result<(), Leak> {
        let accounted = self.delivered + self.queued + self.in_rings + self.in_flight + self.dropped().map(|(_, volume)| volume).sum();
        let received = self.received + self.duplicated;
        if accounted == received { Ok(()) } else { Err(Leak { received, accounted }) }
    }

    /// As [`DirectionCounters::check`], for one of several workers: received + duplicated + passed in = accounted for + passed on.
    #[cfg(test)]
    pub(crate) fn check_worker(&self) -> Result<(), Leak> {
        let accounted = self.delivered + self.queued + self.in_flight + self.passed_on + self.dropped().map(|(_, volume)| volume).sum();
        let received = self.received + self.duplicated + self.passed_in;
        if accounted == received { Ok(()) } else { Err(Leak { received, accounted }) }
    }
}

/// A violation of the conservation law.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error(
    "received {} packets of {} bytes in all, copies of the link included, but {} packets of {} bytes are accounted for",
    received.packets, received.bytes, accounted.packets, accounted.bytes
)]
pub struct Leak {
    /// Packets received, and copies.
    pub received: Volume,
    /// Packets delivered, dropped and held.
    pub accounted: Volume,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_in_balance_whichever_is_looked_at_first() {
        let volume = |packets| Volume { packets, bytes: 100 * packets };
        let early = DirectionCounters { received: volume(10), passed_on: volume(4), delivered: volume(6), ..DirectionCounters::default() };
        let taken = |packets| DirectionCounters { passed_in: volume(packets), queued: volume(packets), ..DirectionCounters::default() };
        for (into, received, in_rings) in [(3, 10, 1), (4, 10, 0), (7, 13, 0)] {
            let all = DirectionCounters::of_workers([early, taken(into)]);
            assert_eq!((all.check(), all.received, all.in_rings), (Ok(()), volume(received), volume(in_rings)));
        }
        assert_eq!((early.check_worker(), taken(3).check_worker()), (Ok(()), Ok(())));
        // At the end the rings are counted: one that has lost a packet leaves a gap.
        let lost = DirectionCounters { in_rings: volume(0), ..DirectionCounters::of_workers([early, taken(3)]) };
        assert!(lost.check().is_err());
    }

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
        counters.duplicated = one;
        counters.delivered.add(100);
        assert_eq!(counters.check(), Ok(()));
        let reasons: Vec<&str> = counters.dropped().map(|(reason, _)| reason).collect();
        assert_eq!(reasons, ["no-memory", "policed", "lost-on-link", "too-long-for-interface"]);
    }
}
