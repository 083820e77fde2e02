//! Partial packet discard: when a packet of a frame finds the buffer full, what follows of the frame is dropped too.
//!
//! **Law.** As [`super::TailDrop`], and the buffer holds nothing of a frame that came after something of it was lost, except its end.
//! **Source.** G. Armitage and K. Adams, "Packet reassembly during cell loss", IEEE Network 7(5), 1993; Romanow and Floyd, IEEE JSAC 13(4),
//! 1995, section V.
//! **State.** As [`super::FrameDiscard`].
//! **Cost.** As [`super::FrameDiscard`].
//! **RTL twin.** None yet.
//! **Deviations.** None beyond those of [`super::FrameDiscard`].

use super::frame_discard::{FrameContext, FrameDiscard, FrameRule};
use super::{BufferError, BufferField, BufferParameters};

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

impl FrameRule for Always {
    const NAME: &'static str = "partial-packet-discard";
    const SUMMARY: &'static str = "when a packet of a frame finds the buffer full, the rest of the frame is dropped too";
    const ACCEPTS: &'static [BufferField] = &[];

    fn build(_parameters: &BufferParameters, _size: u64) -> Result<Always, BufferError> {
        Ok(Always)
    }

    #[inline]
    fn refuses(&self, _sight: &FrameContext) -> bool {
        false
    }
}
