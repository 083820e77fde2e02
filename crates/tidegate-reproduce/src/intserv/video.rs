//! Controlled load from a real video: the packets of a capture in a loop, spaced to a peak rate by their sender.

use tidegate_bounds::curve::Arrival;
use tidegate_bounds::quantity::NoBound;
use tidegate_bounds::source;
use tidegate_core::classifier::Header;
use tidegate_core::units::Duration;
use tidegate_sim::Source;
use tidegate_sim::source::{Capture, CapturePacket};

/// The server's packets of a video over QUIC: microseconds and bytes.
const PACKETS: &str = include_str!("video.txt");
/// The pause between two rounds of the loop, in picoseconds.
const PAUSE: u64 = 300_000_000_000;

/// One round of the loop.
pub struct Video {
    /// When packets leave the sender, in picoseconds, and their bytes.
    packets: Vec<(u64, u32)>,
    /// The length of the loop in picoseconds.
    period: u64,
    /// The bytes that are sent back to back at the peak rate, at most.
    burst: u64,
}

impl Video {
    /// The capture, sent at this peak rate in Mbit/s at most.
    pub fn new(peak: f64) -> Video {
        let read = |line: &str| {
            let (at, length) = line.split_once(' ')?;
            Some((at.parse::<u64>().ok()? * 1_000_000, length.parse::<u32>().ok()?))
        };
        let captured: Vec<(u64, u32)> = PACKETS.lines().filter(|line| !line.starts_with('#')).filter_map(read).collect();
        let (mut free, mut run, mut burst) = (0, 0, 0);
        let mut packets = Vec::new();
        for (at, length) in captured {
            run = if at < free { run + u64::from(length) } else { u64::from(length) };
            burst = run.max(burst);
            let leaves = at.max(free);
            free = leaves + (f64::from(length) * 8e6 / peak).ceil() as u64;
            packets.push((leaves, length));
        }
        Video { packets, period: free + PAUSE, burst }
    }

    /// The bytes that are sent back to back at the peak rate, at most.
    pub fn burst(&self) -> u64 {
        self.burst
    }

    /// What any flow of it sends at most in any time up to a period: what three rounds do.
    pub fn curve(&self) -> Result<Arrival, NoBound> {
        let round = |round: u64| self.packets.iter().map(move |&(at, length)| (at + round * self.period, 8 * u64::from(length)));
        source::capture(&(0..3).flat_map(round).collect::<Vec<_>>())
    }

    /// A flow that begins in this part of the loop, from 0 to 1, and sends until `end` at least.
    pub fn source(&self, part: f64, end: Duration, header: Header) -> Source {
        let begin = (part * self.period as f64) as u64;
        let first = self.packets.partition_point(|packet| packet.0 < begin);
        let packet = |number: usize| {
            let (at, length) = self.packets[number % self.packets.len()];
            let offset = at + (number / self.packets.len()) as u64 * self.period - begin;
            CapturePacket { offset: Duration::from_picoseconds(offset), length, header }
        };
        let packets = (first..).map(packet).take_while(|packet| packet.offset < end).collect();
        Source::Capture(Capture { packets })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean rate in Mbit/s.
    fn mean(video: &Video) -> f64 {
        video.packets.iter().map(|packet| f64::from(packet.1)).sum::<f64>() * 8e6 / video.period as f64
    }

    #[test]
    fn the_loop_keeps_its_peak_rate_and_its_mean() {
        let video = Video::new(0.8);
        assert_eq!(video.packets.len(), 98);
        assert!((0.2..0.8).contains(&mean(&video)), "{}", mean(&video));
        let end = Duration::from_seconds(20);
        let Source::Capture(capture) = video.source(0.37, end, Header::default()) else { panic!("a capture") };
        let gap = |pair: &[CapturePacket]| pair[1].offset.picoseconds() - pair[0].offset.picoseconds();
        assert!(capture.packets.windows(2).all(|pair| gap(pair) * 8 / 10 >= u64::from(pair[0].length) * 8_000_000 - 1));
        let sent: f64 = capture.packets.iter().map(|packet| f64::from(packet.length) * 8e-6).sum();
        assert!((sent / 20.0 / mean(&video) - 1.0).abs() < 0.15, "{sent} {}", mean(&video));
    }
}
