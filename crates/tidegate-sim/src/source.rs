//! Where packets come from: what an operator can ask for, and the running form of each.
//!
//! Lengths are frame lengths and rates count frames as they are, without any link's overhead. To add a source: write its file, add its
//! variant here.

use crate::network::LONGEST;
use crate::random::Stream;
use crate::tcp::Tcp;
use std::sync::Arc;
use tidegate_core::classifier::Header;
use tidegate_core::packet::LONGEST_FRAME;
use tidegate_core::units::{Duration, Rate};

mod capture;
mod cbr;
mod frame_trace;
pub(crate) mod greedy;
mod holding;
mod length;
mod on_off;
mod poisson;
mod spacing;

pub use holding::Holding;
pub use length::LengthDistribution;

/// What a flow's source emits, and when.
#[derive(Clone, PartialEq, Debug)]
pub enum Source {
    /// Constant bit rate: packets of one length, evenly spaced.
    Cbr {
        /// Bits of frames per second.
        rate: Rate,
        /// Frame length in bytes.
        length: u32,
        /// True to draw the first packet's instant uniformly from the first interval, so that several sources are not in step; false
        /// to emit it at the start.
        random_phase: bool,
    },
    /// Packets at independent, exponentially distributed intervals.
    Poisson {
        /// The mean number of packets per second, above 0.
        packets_per_second: f64,
        /// Their lengths.
        length: LengthDistribution,
    },
    /// A source that alternates between sending at its peak rate and silence.
    OnOff {
        /// Bits of frames per second while it is on.
        peak: Rate,
        /// Frame length in bytes.
        length: u32,
        /// How long it stays on.
        on: Holding,
        /// How long it stays off.
        off: Holding,
        /// What an on period that ends between two packets comes to.
        remainder: Remainder,
    },
    /// Video: one frame per interval, cut into packets that are emitted together; the trace repeats.
    FrameTrace {
        /// Frame sizes in bytes, at least one of them above 0; a frame of 0 bytes is skipped.
        frames: Arc<[u32]>,
        /// Time from frame to frame.
        interval: Duration,
        /// The longest packet in bytes: a frame becomes packets of this length and a shorter last one.
        packet_length: u32,
        /// True to start at a random frame and within a random part of the interval; false to start with the first at once.
        random_start: bool,
    },
    /// The packets of a capture, once, at their offsets from the flow's start.
    Capture {
        /// The packets, in order of their offsets.
        packets: Arc<[CapturePacket]>,
    },
    /// A source that always has more to send: it keeps a number of packets in the first queue of its path.
    ///
    /// A packet whose transmission starts is replaced at that instant. After a loss at the first port the source makes do with what it has
    /// queued there and tries for one more after each `window` transmissions; with nothing queued it tries again after the time that one
    /// packet takes on the link.
    Greedy {
        /// Frame length in bytes.
        length: u32,
        /// The number of packets kept in the first queue, at least 1.
        window: u32,
    },
    /// The sending end of a TCP connection.
    Tcp(Box<Tcp>),
}

/// What becomes of the part of an on period that is too short for another packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Remainder {
    /// It counts towards the first packet of the next on period: a packet leaves each time the accumulated on time reaches a packet's
    /// worth, and the mean rate is exactly `peak * on / (on + off)`.
    #[default]
    Carried,
    /// The on period is lengthened to whole packets, the first of them at its beginning, and the off period follows the last packet's
    /// interval. The mean rate is above `peak * on / (on + off)`.
    Completed,
}

/// A packet of a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CapturePacket {
    /// Time since the first packet.
    pub offset: Duration,
    /// Frame length in bytes, as it was on the wire.
    pub length: u32,
    /// What classifiers see.
    pub header: Header,
}

/// What is wrong with a source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The field.
    pub key: &'static str,
    /// What is wrong with it.
    pub problem: String,
    /// What would be right.
    pub expected: String,
}

impl Fault {
    pub(crate) fn new(key: &'static str, problem: impl Into<String>, expected: impl Into<String>) -> Fault {
        Fault { key, problem: problem.into(), expected: expected.into() }
    }
}

impl Source {
    /// Checks the values.
    ///
    /// # Errors
    /// The first [`Fault`].
    pub fn check(&self) -> Result<(), Fault> {
        match self {
            Source::Cbr { length, .. } => check_length("length", *length),
            Source::Poisson { packets_per_second, length } => {
                if !(packets_per_second.is_finite() && *packets_per_second > 0.0) {
                    return Err(Fault::new("packets_per_second", format!("{packets_per_second}"), "a number above 0"));
                }
                length.check()
            }
            Source::OnOff { length, on, off, .. } => {
                check_length("length", *length)?;
                on.check("on")?;
                off.check("off")
            }
            Source::FrameTrace { frames, interval, packet_length, .. } => {
                if frames.iter().all(|&size| size == 0) {
                    return Err(Fault::new("frames", "no frame has any bytes", "at least one frame size above 0"));
                }
                if *interval == Duration::ZERO || *interval > LONGEST {
                    return Err(Fault::new("interval", format!("{} ps", interval.picoseconds()), "a time above 0, at most 26 days"));
                }
                check_length("packet_length", *packet_length)?;
                let rate = self.mean_bits_per_second().unwrap_or(0.0);
                if rate > Rate::MAX.bits_per_second() as f64 {
                    return Err(Fault::new("interval", format!("frames of {rate:.1e} bit/s"), "at most 400 Gbit/s, as of a link"));
                }
                Ok(())
            }
            Source::Capture { packets } => {
                for (index, packet) in packets.iter().enumerate() {
                    if index > 0 && packet.offset < packets[index - 1].offset {
                        let problem = format!("packet {} comes before packet {index}", index + 1);
                        return Err(Fault::new("packets", problem, "packets in the order of their offsets"));
                    }
                    check_length("packets", packet.length)?;
                }
                Ok(())
            }
            Source::Greedy { length, window } => {
                if *window == 0 {
                    return Err(Fault::new("window", "0 packets", "at least 1"));
                }
                check_length("length", *length)
            }
            Source::Tcp(tcp) => tcp.check(),
        }
    }

    /// About how many events of this source a second takes to simulate, where that does not depend on the network; else 0.
    pub fn events_per_second(&self) -> f64 {
        let packets = |length: f64| self.mean_bits_per_second().unwrap_or(0.0) / (8.0 * length);
        match self {
            Source::Cbr { length, .. } => packets(f64::from(*length)),
            Source::Poisson { packets_per_second, .. } => *packets_per_second,
            Source::OnOff { length, on, off, .. } => {
                // A period costs its draws, with and without a packet in it.
                2.0 / (seconds(on.mean()) + seconds(off.mean())) + packets(f64::from(*length))
            }
            Source::FrameTrace { interval, packet_length, .. } => 1.0 / seconds(*interval) + packets(f64::from(*packet_length)),
            Source::Capture { .. } | Source::Greedy { .. } | Source::Tcp(_) => 0.0,
        }
    }

    /// The mean rate in bits of frames per second, where it does not depend on the network: `None` for [`Source::Greedy`] and [`Source::Tcp`], for
    /// a capture of no duration, and for an on/off source whose periods are completed and not exponential.
    pub fn mean_bits_per_second(&self) -> Option<f64> {
        match self {
            Source::Cbr { rate, .. } => Some(rate.bits_per_second() as f64),
            Source::Poisson { packets_per_second, length } => Some(packets_per_second * length.mean() * 8.0),
            Source::OnOff { peak, length, on, off, remainder } => on_off::mean_bits_per_second(*peak, *length, on, off, *remainder),
            Source::FrameTrace { frames, interval, .. } => {
                let bytes: u64 = frames.iter().map(|&size| u64::from(size)).sum();
                Some(bytes as f64 * 8.0 / (frames.len() as f64 * seconds(*interval)))
            }
            Source::Capture { packets } => {
                let duration = seconds(packets.last()?.offset);
                let bytes: u64 = packets.iter().map(|packet| u64::from(packet.length)).sum();
                (duration > 0.0).then(|| bytes as f64 * 8.0 / duration)
            }
            Source::Greedy { .. } | Source::Tcp(_) => None,
        }
    }
}

fn seconds(duration: Duration) -> f64 {
    duration.picoseconds() as f64 / 1e12
}

fn check_length(key: &'static str, length: u32) -> Result<(), Fault> {
    if length == 0 || length > LONGEST_FRAME {
        return Err(Fault::new(key, format!("a frame of {length} bytes"), format!("1 to {LONGEST_FRAME} bytes")));
    }
    Ok(())
}

/// The key of an instant that never comes: later than all others, and one more does not overflow.
pub(crate) const NEVER: u64 = u64::MAX >> 1;

/// A packet that a source emits, and when it wants to be asked for the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Emission {
    /// Frame length in bytes.
    pub length: u32,
    /// Which of the flow's headers it carries.
    pub variant: u32,
    /// The instant of the next packet, at or after this one's, or [`NEVER`].
    pub next: u64,
}

/// The running form of a source. Instants are picoseconds from the start of the simulation.
#[derive(Clone, Debug)]
pub(crate) enum Generator {
    Cbr(cbr::Cbr),
    Poisson(poisson::Poisson),
    OnOff(on_off::OnOff),
    FrameTrace(frame_trace::FrameTrace),
    Capture(capture::Capture),
    /// Driven by its first queue instead: see [`greedy::Greedy`].
    Greedy,
    /// Driven by acknowledgements instead: see [`crate::tcp::connection::Connection`].
    Tcp,
}

impl Generator {
    /// `variants` are the headers of a capture's packets as indices, one per packet; empty for all other sources.
    pub(crate) fn new(source: &Source, variants: &Arc<[u32]>) -> Generator {
        match source {
            Source::Cbr { rate, length, random_phase } => Generator::Cbr(cbr::Cbr::new(*rate, *length, *random_phase)),
            Source::Poisson { packets_per_second, length } => {
                Generator::Poisson(poisson::Poisson::new(*packets_per_second, length.clone()))
            }
            Source::OnOff { peak, length, on, off, remainder } => {
                Generator::OnOff(on_off::OnOff::new(*peak, *length, *on, *off, *remainder))
            }
            Source::FrameTrace { frames, interval, packet_length, random_start } => {
                let trace = frame_trace::FrameTrace::new(frames.clone(), *interval, *packet_length, *random_start);
                Generator::FrameTrace(trace)
            }
            Source::Capture { packets } => Generator::Capture(capture::Capture::new(packets.clone(), variants.clone())),
            Source::Greedy { .. } => Generator::Greedy,
            Source::Tcp(_) => Generator::Tcp,
        }
    }

    /// The instant of the first packet of a source that starts at `start`, or [`NEVER`].
    pub(crate) fn first(&mut self, start: u64, stream: &mut Stream) -> u64 {
        match self {
            Generator::Cbr(source) => source.first(start, stream),
            Generator::Poisson(source) => source.first(start, stream),
            Generator::OnOff(source) => source.first(start, stream),
            Generator::FrameTrace(source) => source.first(start, stream),
            Generator::Capture(source) => source.first(start),
            Generator::Greedy | Generator::Tcp => start,
        }
    }

    /// The packet that is due at `now`, and when the next one is.
    #[inline]
    pub(crate) fn emit(&mut self, now: u64, stream: &mut Stream) -> Emission {
        match self {
            Generator::Cbr(source) => source.emit(now),
            Generator::Poisson(source) => source.emit(now, stream),
            Generator::OnOff(source) => source.emit(now, stream),
            Generator::FrameTrace(source) => source.emit(now),
            Generator::Capture(source) => source.emit(),
            Generator::Greedy | Generator::Tcp => unreachable!("these are not asked by the clock"),
        }
    }
}

/// A random span of `mean` picoseconds times a draw, rounded to the nearest picosecond; spans beyond 64 bits become the longest.
#[inline]
pub(crate) fn span(mean: f64, draw: f64) -> u64 {
    // The conversion saturates.
    (mean * draw + 0.5) as u64
}

#[cfg(test)]
pub(crate) mod transcripts {
    use super::*;

    /// The instants and lengths of a source's first packets.
    pub(crate) fn packets(source: &Source, start: u64, count: usize, stream: &mut Stream) -> Vec<(u64, u32)> {
        source.check().unwrap();
        let variants: Vec<u32> = match source {
            Source::Capture { packets } => vec![0; packets.len()],
            _ => Vec::new(),
        };
        let mut generator = Generator::new(source, &variants.into());
        let mut now = generator.first(start, stream);
        let mut packets = Vec::new();
        while now != NEVER && packets.len() < count {
            let emission = generator.emit(now, stream);
            packets.push((now, emission.length));
            assert!(emission.next >= now);
            now = emission.next;
        }
        packets
    }

    /// Packets per second over the first `count` packets.
    pub(crate) fn mean_rate(source: &Source, count: usize, stream: &mut Stream) -> f64 {
        let packets = packets(source, 0, count, stream);
        packets.len() as f64 / (packets.last().unwrap().0 as f64 / 1e12)
    }
}
