//! Packets, the flows they belong to, their colours, and the reasons for which they are dropped.

use crate::units::Time;

/// A flow: the index of one queue of a port, from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Flow(pub u32);

impl Flow {
    /// The flow as an index into a table.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

fields! {
    /// The drop precedence of a packet. On ATM, green is CLP = 0 and everything else CLP = 1.
    #[derive(PartialOrd, Ord, Default)]
    #[repr(u8)]
    pub enum Colour {
        /// Within the contract.
        #[default]
        Green = "green",
        /// Above the committed part of the contract: the first to be dropped when buffers fill.
        Yellow = "yellow",
        /// Above the whole contract.
        Red = "red",
    }
}

/// The position of a packet in its frame. A plain packet is a whole frame; an ATM cell is a part of one, so that a policy for frames works on
/// both. The parts of a frame come in order, and those of a flow's frames one frame after the other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum Part {
    /// Neither the first nor the last.
    Middle = 0,
    /// The first of several.
    First = 1,
    /// The last of several: on ATM, the cell that ends an AAL5 frame (EOM).
    Last = 2,
    /// First and last at once.
    #[default]
    Whole = 3,
}

impl Part {
    /// The part that is first, or last, or both, or neither.
    #[inline]
    pub const fn of(is_first: bool, is_last: bool) -> Part {
        match (is_first, is_last) {
            (false, false) => Part::Middle,
            (true, false) => Part::First,
            (false, true) => Part::Last,
            (true, true) => Part::Whole,
        }
    }

    /// True if a frame begins with it.
    #[inline]
    pub const fn is_first(self) -> bool {
        self as u8 & Part::First as u8 != 0
    }

    /// True if a frame ends with it.
    #[inline]
    pub const fn is_last(self) -> bool {
        self as u8 & Part::Last as u8 != 0
    }
}

/// A packet's code point of explicit congestion notification (RFC 3168, section 5): the two low bits of the traffic class.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum Ecn {
    /// Its transport does not react to marks.
    #[default]
    NotEct = 0,
    /// ECN-capable, and a sender of L4S if the network has it (RFC 9331).
    Ect1 = 1,
    /// ECN-capable, with the response of RFC 3168.
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

impl Ecn {
    /// The code point in the two low bits of a traffic class; the bits above are not looked at.
    #[inline]
    pub const fn from_bits(bits: u8) -> Ecn {
        match bits & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// The two bits.
    #[inline]
    pub const fn bits(self) -> u8 {
        self as u8
    }

    /// True if a mark is a signal to the packet's transport: ECT(0), ECT(1) and CE.
    #[inline]
    pub const fn is_capable(self) -> bool {
        !matches!(self, Ecn::NotEct)
    }

    /// True if the packet belongs to the low-latency queue of L4S: ECT(1) and CE (RFC 9331, section 5.1).
    #[inline]
    pub const fn is_l4s(self) -> bool {
        self as u8 & 1 > 0
    }
}

/// The most bytes in a frame: 64 MiB, less one byte.
pub const LONGEST_FRAME: u32 = (1 << 26) - 1;

/// A packet as a port sees it. The payload is whatever the surrounding world needs to carry: a frame buffer, an index, nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet<P> {
    /// The queue it belongs to.
    pub flow: Flow,
    /// Frame length in bytes, without the port's per-packet overhead, at most [`LONGEST_FRAME`].
    pub length: u32,
    /// When it was offered to the port.
    pub arrival: Time,
    /// Its colour, after policing.
    pub colour: Colour,
    /// Its position in its frame.
    pub part: Part,
    /// Its code point of congestion notification; a port changes it to [`Ecn::Ce`] and to nothing else.
    pub ecn: Ecn,
    /// The data that the world attached to it.
    pub payload: P,
}

impl<P> Packet<P> {
    /// The packet without its payload.
    #[inline]
    pub const fn seen(&self) -> Packet<()> {
        let Packet { flow, length, arrival, colour, part, ecn, .. } = *self;
        Packet { flow, length, arrival, colour, part, ecn, payload: () }
    }
}

/// All that a scheduler may know of a packet: the head of a flow's queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    /// Length on the wire in bytes, including the port's per-packet overhead: the amount of link that the packet takes.
    pub length: u32,
    /// The packet's number among all those queued at the port, modulo 2^32; two heads never share one while both are queued.
    pub number: u32,
    /// When the packet was offered to the port.
    pub arrival: Time,
    /// Its colour.
    pub colour: Colour,
}

fields! {
    /// Why a packet was dropped.
    #[repr(u8)]
    pub enum DropReason {
        /// The policer found it outside the contract and the contract says discard.
        Policed = "policed",
        /// Its flow's queue is at its own limit.
        FlowLimit = "flow-limit",
        /// The buffer that all flows share is full.
        SharedLimit = "shared-limit",
        /// Its flow's queue is at or above the dynamic threshold.
        Threshold = "dynamic-threshold",
        /// It was queued and gave way to another packet.
        PushedOut = "pushed-out",
        /// Its deadline passed before it could be sent.
        Late = "late",
        /// It is longer than the port's largest packet.
        Oversize = "oversize",
        /// Its frame was refused as a whole, at the first packet, because the buffer is congested.
        EarlyDiscard = "early-discard",
        /// A packet of its frame before it was dropped, which makes the rest useless.
        PartialFrame = "partial-frame",
        /// Its flow was removed while it was queued.
        Removed = "removed",
        /// An AQM dropped it, on arrival or when its turn came, to tell its sender of congestion.
        Congestion = "congestion",
        /// It acknowledged less than a later packet of its connection in the same queue.
        AckFiltered = "ack-filtered",
        /// Its link is down.
        LinkDown = "link-down",
    }
}
