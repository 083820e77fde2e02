//! Segments, acknowledgements and requests between the ends of a connection.

use tidegate_core::packet::Ecn;

/// The most blocks of a selective acknowledgement. Four would fit without timestamps; three are usual.
pub(crate) const MAX_SACK_BLOCKS: usize = 3;

/// Bits of a segment's number that a packet carries.
pub(crate) const NUMBER_BITS: u32 = 28;

/// A segment that the sender sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Segment {
    /// Its number in the connection, from 1.
    pub number: u64,
    /// Bytes of data.
    pub length: u32,
    /// True if it says that the window has been reduced (CWR, RFC 3168).
    pub reduced: bool,
    /// Its code point.
    pub ecn: Ecn,
}

/// An acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Ack {
    /// The segment that the receiver expects next.
    pub next: u64,
    /// Runs of segments received beyond it (RFC 2018), the end exclusive. The first may be a segment that has come twice (RFC 2883).
    pub blocks: [(u64, u64); MAX_SACK_BLOCKS],
    /// The number of blocks.
    pub count: u32,
    /// True if the network marked a segment (ECE, RFC 3168).
    pub echo: bool,
    /// The low three bits of the count of marked segments (ACE, RFC 9768); 0 if the connection has no such count.
    pub ace: u8,
}

impl Ack {
    /// The segment that has come twice, and the one behind it: RFC 2883, section 4, knows it by its place.
    pub(crate) fn duplicate(&self) -> Option<(u64, u64)> {
        let [first, second, _] = self.blocks;
        let is_known = first.0 < self.next || (self.count > 1 && second.0 <= first.0 && first.1 <= second.1);
        (self.count > 0 && is_known).then_some(first)
    }

    /// The runs of segments received beyond the next one.
    pub(crate) fn runs(&self) -> &[(u64, u64)] {
        &self.blocks[usize::from(self.duplicate().is_some())..self.count as usize]
    }

    /// Bytes of TCP options: two of kind and length and eight per block, padded to whole words of four.
    pub(crate) fn option_bytes(&self) -> u32 {
        if self.count == 0 { 0 } else { 4 + 8 * self.count }
    }
}

/// What travels against the data.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Message {
    /// An acknowledgement.
    Ack(Ack),
    /// A request to open the connection.
    Open,
    /// A request, by number.
    Request(u64),
}

#[cfg(test)]
mod tests;
