//! Video from a trace of frame sizes: one frame per interval, cut into packets that are emitted at the frame's instant.

use super::role::{Emission, Generator, TrafficSource, equally_likely};
use crate::fault::{Fault, check_length};
use crate::random::Stream;
use crate::time::{LONGEST_DURATION, divided, seconds};
use std::sync::Arc;
use tidegate_core::units::{Duration, Rate};

/// A source driven by a trace of frame sizes, which repeats.
#[derive(Clone, PartialEq, Debug)]
pub struct FrameTrace {
    /// Frame sizes in bytes, at least one of them above 0; a frame of 0 bytes is skipped.
    pub frames: Arc<[u32]>,
    /// Time from frame to frame.
    pub interval: Duration,
    /// The longest packet in bytes: a frame becomes packets of this length and a shorter last one.
    pub packet_length: u32,
    /// True to start at a random frame and within a random part of the interval; false to start with the first at once.
    pub random_start: bool,
}

impl TrafficSource for FrameTrace {
    const NAME: &'static str = "frames";
    const SUMMARY: &'static str = "video: one frame per interval, cut into packets that are sent together; the sizes repeat";

    fn lengths(&self) -> Vec<(f64, f64)> {
        let packets = |&frame: &u32| {
            let rest = frame % self.packet_length;
            std::iter::repeat_n(self.packet_length, (frame / self.packet_length) as usize).chain((rest > 0).then_some(rest))
        };
        equally_likely(self.frames.iter().flat_map(packets).collect())
    }

    fn play_faster(&mut self, factor: f64) -> Option<()> {
        self.interval = divided(self.interval, factor)?;
        Some(())
    }

    fn check(&self) -> Result<(), Fault> {
        if self.frames.iter().all(|&size| size == 0) {
            return Err(Fault::new("frames", "no frame has any bytes", "at least one frame size above 0"));
        }
        if self.interval == Duration::ZERO || self.interval > LONGEST_DURATION {
            return Err(Fault::new("interval", format!("{} ps", self.interval.picoseconds()), "a time above 0, at most 26 days"));
        }
        check_length("packet_length", self.packet_length)?;
        let rate = self.mean_bits_per_second().unwrap_or(0.0);
        if rate > Rate::MAX.bits_per_second() as f64 {
            return Err(Fault::new("interval", format!("frames of {rate:.1e} bit/s"), "at most 400 Gbit/s, as of a link"));
        }
        Ok(())
    }

    fn mean_bits_per_second(&self) -> Option<f64> {
        let bytes: u64 = self.frames.iter().map(|&size| u64::from(size)).sum();
        Some(bytes as f64 * 8.0 / (self.frames.len() as f64 * seconds(self.interval)))
    }

    fn events_per_second(&self) -> f64 {
        1.0 / seconds(self.interval) + self.packets_per_second(self.packet_length)
    }

    fn start(&self, _headers: &Arc<[u32]>) -> Option<Box<dyn Generator>> {
        Some(Box::new(FrameGenerator { trace: self.clone(), frame: 0, left: 0 }))
    }
}

#[derive(Clone, Debug)]
pub(crate) struct FrameGenerator {
    trace: FrameTrace,
    frame: usize,
    /// Bytes of the present frame that have not been emitted.
    left: u32,
}

impl FrameGenerator {
    /// Moves on from `at` to the next frame that has bytes left. One exists: the source was checked.
    fn skip_empty(&mut self, mut at: u64) -> u64 {
        let frames = &self.trace.frames;
        while self.left == 0 {
            self.frame = if self.frame + 1 == frames.len() { 0 } else { self.frame + 1 };
            self.left = frames[self.frame];
            at = at.saturating_add(self.trace.interval.picoseconds());
        }
        at
    }
}

impl Generator for FrameGenerator {
    fn first(&mut self, start: u64, stream: &mut Stream) -> u64 {
        let mut at = start;
        if self.trace.random_start {
            self.frame = stream.below(self.trace.frames.len() as u64) as usize;
            at += stream.below(self.trace.interval.picoseconds());
        }
        self.left = self.trace.frames[self.frame];
        self.skip_empty(at)
    }

    #[inline]
    fn emit(&mut self, now: u64, _stream: &mut Stream) -> Emission {
        let length = self.left.min(self.trace.packet_length);
        self.left -= length;
        Emission { length, variant: 0, next: self.skip_empty(now) }
    }
}

#[cfg(test)]
mod tests;
