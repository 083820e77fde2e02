//! What both formats read: interfaces, packets, and why there is no next packet.

use std::io;
use tidegate_wire::LinkType;

/// One interface of a capture.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interface {
    /// Its name, if the file tells.
    pub name: Option<String>,
    /// The number of its link type in the file.
    pub link_type: u32,
    /// What its frames begin with.
    pub link: LinkType,
}

/// What was passed over or changed in reading.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Oddities {
    /// Blocks with an option that makes no sense; it was ignored, with those behind it.
    pub options: u64,
    /// Blocks of an unknown kind.
    pub blocks: u64,
    /// Time stamps more than 285 years from 1970; they count as 285 years.
    pub stamps: u64,
    /// Frames of ATM cells that did not come whole: a cell of them was lost or damaged.
    pub broken_frames: u64,
    /// ATM cells that do not have 53 bytes, or whose header is damaged.
    pub damaged_cells: u64,
    /// ATM cells without user data: idle, operation and maintenance.
    pub other_cells: u64,
}

/// A packet as a format frames it.
pub(super) struct Framed {
    pub(super) interface: usize,
    /// The instant, and whether it was out of range; `None` if the file does not tell.
    pub(super) instant: Option<(i64, bool)>,
    pub(super) original: u32,
    pub(super) data: Vec<u8>,
}

/// Why there is no next packet.
pub(super) enum Fault {
    Cut,
    Damaged(String),
    Version { major: u32, minor: u32 },
    Io(io::Error),
}

impl Interface {
    pub(super) fn new(link_type: u32, name: Option<String>) -> Interface {
        Interface { name, link_type, link: LinkType::from_number(link_type) }
    }
}

/// The longest packet of a link type: as in Wireshark, 256 KiB, and more for buses that carry files.
pub(super) const fn longest(link_type: u32) -> u32 {
    match link_type {
        231 | 249 => 128 << 20,
        279 => 32 << 20,
        _ => 256 << 10,
    }
}
