//! Video from a trace of frame sizes: one frame per interval, cut into packets that are emitted at the frame's instant.

use super::Emission;
use crate::random::Stream;
use std::sync::Arc;
use tidegate_core::units::Duration;

/// A source driven by a trace of frame sizes.
#[derive(Clone, Debug)]
pub(crate) struct FrameTrace {
    frames: Arc<[u32]>,
    interval: u64,
    packet_length: u32,
    random_start: bool,
    frame: usize,
    left: u32,
}

impl FrameTrace {
    pub(super) fn new(frames: Arc<[u32]>, interval: Duration, packet_length: u32, random_start: bool) -> FrameTrace {
        FrameTrace { frames, interval: interval.picoseconds(), packet_length, random_start, frame: 0, left: 0 }
    }

    pub(super) fn first(&mut self, start: u64, stream: &mut Stream) -> u64 {
        let mut at = start;
        if self.random_start {
            self.frame = stream.below(self.frames.len() as u64) as usize;
            at += stream.below(self.interval);
        }
        self.left = self.frames[self.frame];
        self.skip_empty(at)
    }

    #[inline]
    pub(super) fn emit(&mut self, now: u64) -> Emission {
        let length = self.left.min(self.packet_length);
        self.left -= length;
        Emission { length, variant: 0, next: self.skip_empty(now) }
    }

    /// Moves on from `at` to the next frame that has bytes left. One exists: the source was checked.
    fn skip_empty(&mut self, mut at: u64) -> u64 {
        while self.left == 0 {
            self.frame = if self.frame + 1 == self.frames.len() { 0 } else { self.frame + 1 };
            self.left = self.frames[self.frame];
            at = at.saturating_add(self.interval);
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use crate::random::Stream;
    use crate::source::{Source, transcripts};
    use tidegate_core::units::Duration;

    fn source(random_start: bool) -> Source {
        let interval = Duration::from_microseconds(40);
        Source::FrameTrace { frames: [2500, 0, 1000].into(), interval, packet_length: 1000, random_start }
    }

    #[test]
    fn frames_become_packets_at_their_instant_and_the_trace_repeats() {
        let packets = transcripts::packets(&source(false), 5, 7, &mut Stream::new(1, 0, "video"));
        assert_eq!(
            packets,
            [(5, 1000), (5, 1000), (5, 500), (80_000_005, 1000), (120_000_005, 1000), (120_000_005, 1000), (120_000_005, 500)]
        );
        assert_eq!(source(false).mean_bits_per_second(), Some(3500.0 * 8.0 / 120e-6));
    }

    #[test]
    fn copies_with_a_random_start_are_out_of_step() {
        let starts: Vec<u64> =
            (0..20).map(|replication| transcripts::packets(&source(true), 0, 1, &mut Stream::new(1, replication, "video"))[0].0).collect();
        assert!(starts.iter().all(|&at| at < 80_000_000), "{starts:?}");
        assert!(
            starts.iter().any(|&at| at < 40_000_000) && starts.iter().any(|&at| at >= 40_000_000) && starts[0] != starts[1],
            "{starts:?}"
        );
    }
}
