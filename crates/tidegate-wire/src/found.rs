//! What reading a frame has found so far.

use tidegate_core::classifier::Header;

/// Where in a frame the fields are that a remark rewrites, in bytes from its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Places {
    /// The control information of the outermost VLAN tag, two bytes.
    pub tag: Option<usize>,
    /// The first byte of the IP header, of which the frame holds the fixed part at least.
    pub ip: Option<usize>,
}

/// What has been read of a frame.
pub(crate) struct Found {
    pub(crate) header: Header,
    /// The address of the frame's first byte. The parts that are read are slices of the frame.
    pub(crate) start: usize,
    pub(crate) places: Places,
    /// How many more LLC headers are followed.
    pub(crate) depth: u8,
}

impl Found {
    /// Where a part of the frame begins.
    pub(crate) fn place_of(&self, part: &[u8]) -> usize {
        part.as_ptr().addr() - self.start
    }
}

pub(crate) fn read_u16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}
