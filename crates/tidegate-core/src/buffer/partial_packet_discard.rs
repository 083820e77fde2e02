//! Partial packet discard: when a packet of a frame finds the buffer full, the rest of the frame is dropped too.
//!
//! **Law.** As [`super::TailDrop`]; and after a packet of a frame was dropped, no later packet of it is accepted but the last.
//! **Source.** G. Armitage and K. Adams, "Packet reassembly during cell loss", IEEE Network 7(5), 1993; Romanow and Floyd, IEEE JSAC 13(4),
//! 1995, section V.
//! **State.** As [`super::FrameDiscard`].
//! **Cost.** As [`super::FrameDiscard`].
//! **RTL twin.** None yet.
//! **Deviations.** None beyond those of [`super::FrameDiscard`].

use super::frame_discard::{FrameContext, FrameDiscard, FrameDiscarding, FrameRule};
use super::{BufferError, BufferParameters};
use crate::algorithm::Algorithm;
use crate::packet::DropReason;

/// Never refuses a frame; drops the rest of one that has lost a packet.
///
/// ```
/// use tidegate_core::buffer::BufferParameters;
/// use tidegate_core::registry::BufferKind;
///
/// let parameters = BufferParameters { flows: 8, packets: Some(1000), ..BufferParameters::default() };
/// assert!(BufferKind::PartialPacketDiscard.build(&parameters).is_ok());
/// ```
pub type PartialPacketDiscard = FrameDiscard<Always>;

/// Refuses nothing.
#[derive(Clone, Debug)]
pub struct Always;

impl Algorithm<FrameDiscarding> for Always {
    const NAME: &'static str = "partial-packet-discard";
    const SUMMARY: &'static str = "when a packet of a frame finds the buffer full, the rest of the frame is dropped too";

    fn build((_parameters, _size): (&BufferParameters, u64)) -> Result<Always, BufferError> {
        Ok(Always)
    }
}

impl FrameRule for Always {
    const DROP_REASONS: &'static [DropReason] = &[DropReason::PartialFrame];

    #[inline]
    fn refuses(&self, _sight: &FrameContext) -> bool {
        false
    }
}
