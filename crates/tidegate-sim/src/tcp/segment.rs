//! What goes to and fro between the ends of a connection.

/// The most blocks of a selective acknowledgement. Four would fit where no timestamps are sent; three are what is usual.
pub(crate) const BLOCKS: usize = 3;

/// Bits of a segment's number that a packet carries.
pub(crate) const NUMBER_BITS: u32 = 28;

/// A segment that the sender lets go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Segment {
    /// Its number in the connection, from 1.
    pub number: u64,
    /// Bytes of data.
    pub length: u32,
    /// True if it carries the word that the window has been reduced (CWR, RFC 3168).
    pub reduced: bool,
}

/// An acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Ack {
    /// The segment that is due next.
    pub next: u64,
    /// What has come beyond it (RFC 2018): from a segment to the one behind the last.
    pub blocks: [(u64, u64); BLOCKS],
    /// How many blocks there are.
    pub count: u32,
    /// True if the network marked a segment (ECE, RFC 3168).
    pub echo: bool,
}

impl Ack {
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
mod tests {
    use super::*;

    #[test]
    fn options_fill_whole_words() {
        let bytes = |count| Ack { count, ..Ack::default() }.option_bytes();
        assert_eq!([bytes(0), bytes(1), bytes(3)], [0, 12, 28]);
    }
}
