//! The packets of a capture, once, at their offsets from the flow's start.

use super::{CapturePacket, Emission, NEVER};
use std::sync::Arc;

/// A source driven by a capture.
#[derive(Clone, Debug)]
pub(crate) struct Capture {
    packets: Arc<[CapturePacket]>,
    /// The header of each packet, as an index into the flow's distinct headers.
    variants: Arc<[u32]>,
    position: usize,
    start: u64,
}

impl Capture {
    pub(super) fn new(packets: Arc<[CapturePacket]>, variants: Arc<[u32]>) -> Capture {
        Capture { packets, variants, position: 0, start: 0 }
    }

    pub(super) fn first(&mut self, start: u64) -> u64 {
        self.start = start;
        self.due()
    }

    #[inline]
    pub(super) fn emit(&mut self) -> Emission {
        let length = self.packets[self.position].length;
        let variant = self.variants[self.position];
        self.position += 1;
        Emission { length, variant, next: self.due() }
    }

    fn due(&self) -> u64 {
        self.packets.get(self.position).map_or(NEVER, |packet| self.start.saturating_add(packet.offset.picoseconds()))
    }
}

#[cfg(test)]
mod tests {
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
        let source = Source::Capture { packets: [packet(0, 60), packet(30, 70), packet(30, 80)].into() };
        let packets = transcripts::packets(&source, 100, 9, &mut Stream::new(1, 0, "capture"));
        assert_eq!(packets, [(100, 60), (130, 70), (130, 80)]);
        let empty = Source::Capture { packets: [].into() };
        assert!(transcripts::packets(&empty, 100, 9, &mut Stream::new(1, 0, "capture")).is_empty());
    }

    #[test]
    fn packets_out_of_order_are_refused() {
        let source = Source::Capture { packets: [packet(5, 60), packet(4, 70)].into() };
        assert_eq!(source.check().unwrap_err().problem, "packet 2 comes before packet 1");
    }
}
