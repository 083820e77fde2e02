//! What was read of a capture, and what was left out of it or changed.

use serde::Serialize;

/// The account of one capture: `records = packets + other_interfaces + empty_records`.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct CaptureResult {
    /// The name of the file as the user gave it; `-` is standard input.
    pub name: String,
    /// Records that hold a packet, of all interfaces and lengths.
    pub records: u64,
    /// Packets that arrived.
    pub packets: u64,
    /// Packets of interfaces that were not chosen.
    pub other_interfaces: u64,
    /// Records of length 0 among the chosen interfaces.
    pub empty_records: u64,
    /// Packets whose time stamp is before that of an earlier packet. Each arrived at the latest time before it.
    pub out_of_order_packets: u64,
    /// The largest step backwards of the time stamps, in seconds.
    pub out_of_order_max_s: f64,
    /// Packets in which rules see no IP header, by kind.
    pub unseen: Vec<UnseenPackets>,
    /// How the file ended: `whole`, `cut` in the middle of a record, or `damaged`.
    pub ending: &'static str,
    /// Bytes from the record that is cut or damaged to the end of the file.
    pub unread_bytes: u64,
    /// Blocks of an unknown kind, which were passed over.
    pub unknown_blocks: u64,
    /// Blocks with an option that makes no sense, which was ignored.
    pub damaged_options: u64,
    /// Packets with a time stamp more than 285 years from 1970, which counts as 285 years.
    pub clamped_stamps: u64,
    /// Frames of ATM cells that lack a cell, or hold a damaged one.
    pub broken_frames: u64,
    /// ATM cells with a damaged header or another length than 53 bytes.
    pub damaged_cells: u64,
    /// ATM cells without user data.
    pub other_cells: u64,
}

/// Packets of one kind in which rules see no IP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct UnseenPackets {
    /// The link type of their interface, as capture files number it.
    pub link_type: u32,
    /// Their Ethernet type; 0 if the frame has none.
    pub ethernet_type: u16,
    /// How many they are.
    pub packets: u64,
}
