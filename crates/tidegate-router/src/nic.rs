//! A network interface: receive FIFOs, rings of descriptors, the interface queue, the transmit FIFO and the wire.
//!
//! **Law.** A descriptor is free, in flight on the bus, or in the ring with its frame: their sum is the size of the ring. A frame counts in its FIFO
//! until its transfer has ended.

use crate::machine;
use crate::packet::Packet;
use std::collections::VecDeque;

/// A receive channel: a FIFO before the bus, a ring of descriptors behind it.
#[derive(Clone, Debug)]
pub(crate) struct Channel {
    /// Frames that wait for the bus.
    pub fifo: VecDeque<Packet>,
    /// Bytes in the FIFO, with those in transfer.
    pub bytes: u64,
    limit: u64,
    /// Descriptors that the interface may use now.
    pub vacancy: u32,
    size: u32,
    in_flight: u32,
    /// Frames in memory that the driver has not taken.
    pub ring: VecDeque<Packet>,
    /// Bus bytes that the FIFO accepted, and that were transferred, since the guard last asked.
    pub accepted: u64,
    pub moved: u64,
}

impl Channel {
    pub(crate) fn new(nic: &machine::Nic) -> Channel {
        Channel {
            fifo: VecDeque::new(),
            bytes: 0,
            limit: nic.receive_fifo,
            vacancy: nic.ring,
            size: nic.ring,
            in_flight: 0,
            ring: VecDeque::new(),
            accepted: 0,
            moved: 0,
        }
    }

    /// Descriptors without a frame.
    #[inline]
    pub(crate) fn free(&self) -> u32 {
        self.size - self.in_flight - self.ring.len() as u32
    }

    /// A frame arrives. False if the FIFO has no room for it.
    #[inline]
    pub(crate) fn accept(&mut self, packet: Packet) -> bool {
        let bytes = self.bytes + u64::from(packet.length);
        let fits = bytes <= self.limit;
        if fits {
            self.bytes = bytes;
            self.fifo.push_back(packet);
        }
        fits
    }

    /// True if a frame waits and has a descriptor.
    #[inline]
    pub(crate) fn is_ready(&self) -> bool {
        self.vacancy > 0 && !self.fifo.is_empty()
    }

    /// The transfer of the frame at the head begins.
    #[inline]
    pub(crate) fn begin(&mut self) -> Packet {
        self.vacancy -= 1;
        self.in_flight += 1;
        self.fifo.pop_front().expect("a ready channel has a frame")
    }

    /// A transfer has ended; the caller gives the frame to the ring or to the host.
    #[inline]
    pub(crate) fn end(&mut self, packet: &Packet, bus_bytes: u64) {
        self.in_flight -= 1;
        self.bytes -= u64::from(packet.length);
        self.moved += bus_bytes;
    }

    /// Frames in the channel, without one in transfer.
    pub(crate) fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.fifo.iter().chain(&self.ring)
    }
}

/// A transmitter: what one core sends on one interface.
#[derive(Clone, Debug)]
pub(crate) struct Transmitter {
    /// if_snd.
    pub queue: VecDeque<Packet>,
    queue_limit: usize,
    /// Frames with a descriptor, which wait for the bus.
    pub ring: VecDeque<Packet>,
    free: u32,
    /// Transferred frames whose descriptors have not been reclaimed.
    pub completed: u32,
    /// Bytes in the FIFO, with those in transfer to it.
    pub bytes: u64,
    limit: u64,
    coalescing: u32,
}

/// What became of a packet that was output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sent {
    Ring,
    Queue,
    Dropped,
}

impl Transmitter {
    pub(crate) fn new(nic: &machine::Nic) -> Transmitter {
        Transmitter {
            queue: VecDeque::new(),
            queue_limit: nic.transmit_queue as usize,
            ring: VecDeque::new(),
            free: nic.transmit_ring,
            completed: 0,
            bytes: 0,
            limit: nic.transmit_fifo,
            coalescing: nic.coalescing,
        }
    }

    /// if_start: to the ring, else to the queue.
    #[inline]
    pub(crate) fn send(&mut self, packet: Packet) -> Sent {
        if self.queue.is_empty() && self.free > 0 {
            self.free -= 1;
            self.ring.push_back(packet);
            Sent::Ring
        } else if self.queue.len() < self.queue_limit {
            self.queue.push_back(packet);
            Sent::Queue
        } else {
            Sent::Dropped
        }
    }

    /// Reclaims a completed descriptor and refills the ring from the queue.
    #[inline]
    pub(crate) fn reclaim(&mut self) {
        self.completed -= 1;
        match self.queue.pop_front() {
            Some(packet) => self.ring.push_back(packet),
            None => self.free += 1,
        }
    }

    /// True if a frame waits and the FIFO has room for it.
    #[inline]
    pub(crate) fn is_ready(&self) -> bool {
        self.ring.front().is_some_and(|packet| self.bytes + u64::from(packet.length) <= self.limit)
    }

    /// The transfer of the frame at the head begins.
    #[inline]
    pub(crate) fn begin(&mut self) -> Packet {
        let packet = self.ring.pop_front().expect("a ready transmitter has a frame");
        self.bytes += u64::from(packet.length);
        packet
    }

    /// A transfer has ended. True if that raises an interrupt.
    #[inline]
    pub(crate) fn end(&mut self) -> bool {
        self.completed += 1;
        self.completed >= self.coalescing || self.ring.is_empty()
    }

    /// Frames in the transmitter, without one in transfer or behind it.
    pub(crate) fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.queue.iter().chain(&self.ring)
    }
}

/// One direction of a wire: a frame takes its length and the overhead at the rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wire {
    rate: u64,
    overhead: u64,
}

impl Wire {
    pub(crate) fn new(nic: &machine::Nic) -> Wire {
        Wire { rate: nic.rate.bits_per_second(), overhead: u64::from(nic.frame_overhead) }
    }

    /// The time of a frame, rounded up to a picosecond.
    #[inline]
    pub(crate) fn time(&self, length: u32) -> u64 {
        // At most 2^32 bits times 10^12 is above 2^64: the longest frame that a source emits is below 2^28 bytes.
        let bits = (u64::from(length) + self.overhead) * 8;
        match bits.checked_mul(1_000_000_000_000) {
            Some(product) => product.div_ceil(self.rate),
            None => (u128::from(bits) * 1_000_000_000_000).div_ceil(u128::from(self.rate)) as u64,
        }
    }
}

/// A network interface.
#[derive(Clone, Debug)]
pub(crate) struct Nic {
    pub channels: Vec<Channel>,
    /// One per core.
    pub transmitters: Vec<Transmitter>,
    pub wire: Wire,
    /// Frames in the transmit FIFOs in the order of their transfers, with the cores that sent them. The first is on the wire.
    pub leaving: VecDeque<(Packet, usize)>,
    /// Frames on the incoming wire, by the instants of their last bits.
    pub incoming: VecDeque<Packet>,
    /// When the incoming wire becomes free.
    pub link_free: u64,
}

impl Nic {
    pub(crate) fn new(nic: &machine::Nic, channels: usize, cores: usize) -> Nic {
        Nic {
            channels: vec![Channel::new(nic); channels],
            transmitters: vec![Transmitter::new(nic); cores],
            wire: Wire::new(nic),
            leaving: VecDeque::new(),
            incoming: VecDeque::new(),
            link_free: 0,
        }
    }

    /// A source emits a frame at `now`: its last bit arrives when the wire has carried it behind those before.
    #[inline]
    pub(crate) fn emit(&mut self, now: u64, mut packet: Packet) {
        self.link_free = now.max(self.link_free) + self.wire.time(packet.length);
        packet.arrived = self.link_free;
        self.incoming.push_back(packet);
    }
}
