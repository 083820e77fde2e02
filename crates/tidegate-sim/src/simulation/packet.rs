//! What a packet carries through the simulated network.

use crate::route::Variant;
use crate::tcp::segment::NUMBER_BITS;
use tidegate_core::packet::{Colour, Ecn, Flow, Packet, Part};
use tidegate_core::units::Time;

/// Where its code point of congestion notification begins: the two highest bits.
const ECN_SHIFT: u32 = 30;
/// The code point of a packet that a port has marked.
const CONGESTION_EXPERIENCED: u32 = (Ecn::Ce as u32) << ECN_SHIFT;
/// It says that the sender has reduced its window (CWR).
pub(super) const WINDOW_REDUCED: u32 = 1 << 29;
/// The packet's sender tagged it.
const TAGGED: u32 = 1 << 28;

/// What a packet carries through the ports.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketMeta {
    pub created: u64,
    /// Its hop, as an index into [`Routes::hops`](crate::route::Routes::hops).
    pub cursor: u32,
    /// The bits above, and the low bits of a TCP segment's number. On a reverse path instead an index into the messages of
    /// [`ReversePath`](super::reverse_path::ReversePath).
    pub flags: u32,
}

impl PacketMeta {
    /// The flags of a packet with this code point.
    #[inline]
    pub(super) fn ecn_flags(ecn: Ecn) -> u32 {
        u32::from(ecn.bits()) << ECN_SHIFT
    }

    #[inline]
    pub(super) fn is_ecn_capable(self) -> bool {
        self.flags >> ECN_SHIFT != 0
    }

    /// Marks the packet if it may be marked and `backlog` bytes, of `threshold` or more, are queued where it comes. True if it was not marked before.
    #[inline]
    pub(super) fn mark_if_congested(&mut self, backlog: u64, threshold: u64) -> bool {
        backlog >= threshold && self.mark()
    }

    /// Marks the packet if it may be marked. True if it was not marked before.
    #[inline]
    pub(super) fn mark(&mut self) -> bool {
        let is_new = self.is_ecn_capable() && self.flags & CONGESTION_EXPERIENCED != CONGESTION_EXPERIENCED;
        if is_new {
            self.flags |= CONGESTION_EXPERIENCED;
        }
        is_new
    }

    #[inline]
    pub(super) fn ecn(self) -> Ecn {
        Ecn::from_bits((self.flags >> ECN_SHIFT) as u8)
    }

    #[inline]
    pub(super) fn says_reduced(self) -> bool {
        self.flags & WINDOW_REDUCED != 0
    }

    #[inline]
    pub(super) fn is_tagged(self) -> bool {
        self.flags & TAGGED != 0
    }

    #[inline]
    pub(super) fn segment_number(self) -> u32 {
        self.flags & ((1 << NUMBER_BITS) - 1)
    }
}

/// A packet between two ports, or between a port and an end of its path.
#[derive(Clone, Copy, Debug)]
pub(super) struct InTransit {
    pub meta: PacketMeta,
    pub length: u32,
    pub colour: Colour,
}

impl InTransit {
    /// A packet that leaves its sender now. Any colour but green is the sender's tag.
    #[inline]
    pub(super) fn emitted(now: u64, cursor: u32, flags: u32, length: u32, colour: Colour) -> InTransit {
        let tag = if colour == Colour::Green { 0 } else { TAGGED };
        InTransit { meta: PacketMeta { created: now, cursor, flags: flags | tag }, length, colour }
    }

    /// A packet that sets out on a reverse path; its message is in this place.
    #[inline]
    pub(super) fn returned(now: u64, start: Variant, place: u32, length: u32) -> InTransit {
        InTransit { meta: PacketMeta { created: now, cursor: start.cursor, flags: place }, length, colour: start.colour }
    }

    /// The packet as a port sees it that it reaches now.
    #[inline]
    pub(super) fn at_port(self, now: u64, flow: Flow) -> Packet<PacketMeta> {
        let InTransit { meta, length, colour } = self;
        Packet { flow, length, arrival: Time::from_picoseconds(now), colour, part: Part::Whole, ecn: meta.ecn(), payload: meta }
    }

    /// A packet that leaves a port, which may have marked it.
    #[inline]
    pub(super) fn from_port(packet: &Packet<PacketMeta>) -> InTransit {
        let PacketMeta { flags, .. } = packet.payload;
        // A port only adds bits: it turns ECT(0) or ECT(1) into CE.
        let meta = PacketMeta { flags: flags | PacketMeta::ecn_flags(packet.ecn), ..packet.payload };
        InTransit { meta, length: packet.length, colour: packet.colour }
    }

    /// The same packet at another hop.
    #[inline]
    pub(super) fn at(self, cursor: u32) -> InTransit {
        InTransit { meta: PacketMeta { cursor, ..self.meta }, ..self }
    }
}

/// A packet on a link, in 28 bytes: with the place of the next it has half a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, packed(4))]
pub(super) struct InFlight {
    arrives: u64,
    meta: PacketMeta,
    /// The colour is in the two highest bits.
    length_and_colour: u32,
}

/// Bits of a packet's length in [`InFlight`]; nothing transmits longer packets.
const LENGTH_BITS: u32 = 30;

impl InFlight {
    #[inline]
    pub(super) fn new(arrives: u64, packet: InTransit) -> InFlight {
        let InTransit { meta, length, colour } = packet;
        debug_assert!(length >> LENGTH_BITS == 0, "a packet of {length} bytes");
        InFlight { arrives, meta, length_and_colour: (colour as u32) << LENGTH_BITS | length }
    }

    /// When it reaches the far end.
    #[inline]
    pub(super) fn arrives(&self) -> u64 {
        self.arrives
    }

    /// Where it is on its path.
    #[inline]
    pub(super) fn cursor(&self) -> u32 {
        self.meta.cursor
    }

    #[inline]
    pub(super) fn packet(&self) -> InTransit {
        let colour = match self.length_and_colour >> LENGTH_BITS {
            0 => Colour::Green,
            1 => Colour::Yellow,
            _ => Colour::Red,
        };
        InTransit { meta: self.meta, length: self.length_and_colour & ((1 << LENGTH_BITS) - 1), colour }
    }
}
