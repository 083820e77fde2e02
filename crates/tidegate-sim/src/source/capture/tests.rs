//! Tests of [`super`].

use super::*;
use crate::random::Stream;
use crate::source::{Source, transcripts};
use tidegate_core::classifier::Header;
use tidegate_core::units::Duration;

fn packet(offset: u64, length: u32) -> CapturePacket {
    CapturePacket { offset: Duration::from_picoseconds(offset), length, header: Header::default() }
}

#[test]
fn packets_leave_at_their_offsets_and_then_no_more() {
    let source = Source::Capture(Capture { packets: [packet(0, 60), packet(30, 70), packet(30, 80)].into() });
    let packets = transcripts::packets(&source, 100, 9, &mut Stream::new(1, 0, "capture"));
    assert_eq!(packets, [(100, 60), (130, 70), (130, 80)]);
    let empty = Source::Capture(Capture { packets: [].into() });
    assert!(transcripts::packets(&empty, 100, 9, &mut Stream::new(1, 0, "capture")).is_empty());
}

#[test]
fn packets_out_of_order_are_refused() {
    let source = Source::Capture(Capture { packets: [packet(5, 60), packet(4, 70)].into() });
    assert_eq!(source.check().unwrap_err().problem, "packet 2 comes before packet 1");
}
