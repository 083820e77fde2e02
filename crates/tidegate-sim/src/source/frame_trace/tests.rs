//! Tests of [`super`].

use super::*;
use crate::source::{Source, transcripts};

fn source(random_start: bool) -> Source {
    let interval = Duration::from_microseconds(40);
    Source::FrameTrace(FrameTrace { frames: [2500, 0, 1000].into(), interval, packet_length: 1000, random_start })
}

#[test]
fn frames_become_packets_at_their_instant_and_the_trace_repeats() {
    let packets = transcripts::packets(&source(false), 5, 7, &mut Stream::new(1, 0, "video"));
    assert_eq!(packets, [(5, 1000), (5, 1000), (5, 500), (80_000_005, 1000), (120_000_005, 1000), (120_000_005, 1000), (120_000_005, 500)]);
    assert_eq!(source(false).mean_bits_per_second(), Some(3500.0 * 8.0 / 120e-6));
}

#[test]
fn copies_with_a_random_start_are_out_of_step() {
    let starts: Vec<u64> =
        (0..20).map(|replication| transcripts::packets(&source(true), 0, 1, &mut Stream::new(1, replication, "video"))[0].0).collect();
    assert!(starts.iter().all(|&at| at < 80_000_000), "{starts:?}");
    assert!(starts.iter().any(|&at| at < 40_000_000) && starts.iter().any(|&at| at >= 40_000_000) && starts[0] != starts[1], "{starts:?}");
}
