//! The role of a traffic source: what every kind says of itself, and how a running one is asked for packets.

use crate::fault::Fault;
use crate::random::Stream;
use std::sync::Arc;
use tidegate_core::units::Rate;

/// The parameters of one kind of source.
pub(crate) trait TrafficSource {
    /// The name in files.
    const NAME: &'static str;
    /// One sentence.
    const SUMMARY: &'static str;

    /// Checks the values.
    ///
    /// # Errors
    /// The first [`Fault`].
    fn check(&self) -> Result<(), Fault>;

    /// The mean rate in bits of frames per second; `None` if it depends on the network, or if no closed form is known.
    fn mean_bits_per_second(&self) -> Option<f64> {
        None
    }

    /// The lengths of its frames in bytes, with the part of all packets that have them; the mean alone for exponential lengths. Empty if it depends on the
    /// network.
    fn lengths(&self) -> Vec<(f64, f64)> {
        Vec::new()
    }

    /// Divides all its times by `factor`: bursts keep their packets. `None` if the network sets its pace, or if a time or a rate leaves what sources can have.
    fn play_faster(&mut self, factor: f64) -> Option<()> {
        let _ = factor;
        None
    }

    /// About how many events a simulated second takes; 0 if that depends on the network.
    fn events_per_second(&self) -> f64 {
        0.0
    }

    /// Starts the source, if the clock drives it. `None` if the network does: its first queue a greedy source, acknowledgements a TCP connection.
    /// `headers` has one index per packet of a capture, into the flow's distinct headers; it is empty for all other sources.
    fn start(&self, headers: &Arc<[u32]>) -> Option<Box<dyn Generator>> {
        let _ = headers;
        None
    }

    /// Packets of `length` bytes per second.
    fn packets_per_second(&self, length: u32) -> f64 {
        self.mean_bits_per_second().unwrap_or(0.0) / (8.0 * f64::from(length))
    }
}

/// Lengths that are equally likely, one entry per length.
pub(crate) fn equally_likely(mut lengths: Vec<u32>) -> Vec<(f64, f64)> {
    lengths.sort_unstable();
    let total = lengths.len() as f64;
    lengths.chunk_by(|a, b| a == b).map(|same| (f64::from(same[0]), same.len() as f64 / total)).collect()
}

/// A rate times a factor, if rates can be that.
pub(crate) fn multiplied(rate: Rate, factor: f64) -> Option<Rate> {
    Rate::new((rate.bits_per_second() as f64 * factor + 0.5) as u64).ok()
}

/// A running source. Instants are picoseconds from the start of the simulation.
pub trait Generator {
    /// The instant of the first packet of a source that starts at `start`, or [`NEVER`](crate::time::NEVER).
    fn first(&mut self, start: u64, stream: &mut Stream) -> u64;

    /// The packet that is due at `now`.
    fn emit(&mut self, now: u64, stream: &mut Stream) -> Emission;
}

/// A packet that a source emits, and the instant of the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Emission {
    /// Frame length in bytes.
    pub length: u32,
    /// Which of the flow's headers it carries.
    pub variant: u32,
    /// The instant of the next packet, at or after this one's, or [`NEVER`](crate::time::NEVER).
    pub next: u64,
}
