//! The packets of a capture, once, at their offsets from the flow's start.

use super::role::{Emission, Generator, TrafficSource, equally_likely};
use crate::fault::{Fault, check_length};
use crate::random::Stream;
use crate::time::{NEVER, divided, seconds};
use std::sync::Arc;
use tidegate_core::classifier::Header;
use tidegate_core::units::Duration;

/// A source driven by a capture.
#[derive(Clone, PartialEq, Debug)]
pub struct Capture {
    /// The packets, in order of their offsets.
    pub packets: Arc<[CapturePacket]>,
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

impl TrafficSource for Capture {
    const NAME: &'static str = "capture";
    const SUMMARY: &'static str = "the packets of a capture file, once, at their own times and with their own headers";

    fn lengths(&self) -> Vec<(f64, f64)> {
        equally_likely(self.packets.iter().map(|packet| packet.length).collect())
    }

    fn play_faster(&mut self, factor: f64) -> Option<()> {
        let packet = |packet: &CapturePacket| Some(CapturePacket { offset: divided(packet.offset, factor)?, ..*packet });
        self.packets = self.packets.iter().map(packet).collect::<Option<Vec<_>>>()?.into();
        Some(())
    }

    fn check(&self) -> Result<(), Fault> {
        for (index, packet) in self.packets.iter().enumerate() {
            if index > 0 && packet.offset < self.packets[index - 1].offset {
                let problem = format!("packet {} comes before packet {index}", index + 1);
                return Err(Fault::new("packets", problem, "packets in the order of their offsets"));
            }
            check_length("packets", packet.length)?;
        }
        Ok(())
    }

    fn mean_bits_per_second(&self) -> Option<f64> {
        let duration = seconds(self.packets.last()?.offset);
        let bytes: u64 = self.packets.iter().map(|packet| u64::from(packet.length)).sum();
        (duration > 0.0).then(|| bytes as f64 * 8.0 / duration)
    }

    fn start(&self, headers: &Arc<[u32]>) -> Option<Box<dyn Generator>> {
        Some(Box::new(CaptureGenerator { packets: self.packets.clone(), headers: headers.clone(), position: 0, start: 0 }))
    }
}

#[derive(Clone, Debug)]
pub(crate) struct CaptureGenerator {
    packets: Arc<[CapturePacket]>,
    /// The header of each packet, as an index into the flow's distinct headers.
    headers: Arc<[u32]>,
    position: usize,
    start: u64,
}

impl CaptureGenerator {
    fn due(&self) -> u64 {
        self.packets.get(self.position).map_or(NEVER, |packet| self.start.saturating_add(packet.offset.picoseconds()))
    }
}

impl Generator for CaptureGenerator {
    fn first(&mut self, start: u64, _stream: &mut Stream) -> u64 {
        self.start = start;
        self.due()
    }

    #[inline]
    fn emit(&mut self, _now: u64, _stream: &mut Stream) -> Emission {
        let length = self.packets[self.position].length;
        let variant = self.headers[self.position];
        self.position += 1;
        Emission { length, variant, next: self.due() }
    }
}

#[cfg(test)]
mod tests;
