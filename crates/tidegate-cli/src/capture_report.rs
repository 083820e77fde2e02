//! The account of a capture, as results have it.

use tidegate_replay::{Account, Disorder, Ending, Oddities};
use tidegate_report::{CaptureResult, UnseenPackets};

/// What was read of the capture of this name, and what was left out.
pub fn capture_result(name: &str, account: &Account) -> CaptureResult {
    let Account { records, other_interfaces, empty, disorder, unseen, ending, oddities } = account;
    let Disorder { packets: out_of_order_packets, largest_nanoseconds } = *disorder;
    let Oddities { options, blocks, stamps, broken_frames, damaged_cells, other_cells } = *oddities;
    let (ending, unread_bytes) = match ending {
        Ending::Whole => ("whole", 0),
        Ending::Cut { unread, .. } => ("cut", *unread),
        Ending::Damaged { unread, .. } => ("damaged", *unread),
    };
    let unseen_packets = |(&(link_type, ethernet_type), &packets)| UnseenPackets { link_type, ethernet_type, packets };
    CaptureResult {
        name: name.to_owned(),
        records: *records,
        packets: account.packets(),
        other_interfaces: *other_interfaces,
        empty_records: *empty,
        out_of_order_packets,
        out_of_order_max_s: largest_nanoseconds as f64 / 1e9,
        unseen: unseen.iter().map(unseen_packets).collect(),
        ending,
        unread_bytes,
        unknown_blocks: blocks,
        damaged_options: options,
        clamped_stamps: stamps,
        broken_frames,
        damaged_cells,
        other_cells,
    }
}
