//! Early packet discard: from a threshold on, no new frame is accepted, so that frames under way find room to their end.
//!
//! **Law.** A frame that begins while the buffer holds at least R is refused; any other is accepted while there is room.
//! **Source.** A. Romanow and S. Floyd, "Dynamics of TCP traffic over ATM networks", IEEE JSAC 13(4), 1995, section V.
//! **State.** As [`super::FrameDiscard`].
//! **Cost.** One comparison per frame.
//! **RTL twin.** None yet.
//! **Deviations.** Partial packet discard is always included, as in the studies that followed the source.

use super::frame_discard::{FrameContext, FrameDiscard, FrameDiscarding, FrameRule, threshold};
use super::{BufferError, BufferField, BufferParameters};
use crate::algorithm::Algorithm;

/// Refuses frames that begin above a threshold.
///
/// ```
/// use tidegate_core::buffer::BufferParameters;
/// use tidegate_core::registry::BufferKind;
///
/// let parameters = BufferParameters { flows: 8, packets: Some(1000), threshold: Some(900), ..BufferParameters::default() };
/// assert!(BufferKind::EarlyPacketDiscard.build(&parameters).is_ok());
/// ```
pub type EarlyPacketDiscard = FrameDiscard<AboveThreshold>;

/// Refuses above a threshold.
#[derive(Clone, Debug)]
pub struct AboveThreshold {
    threshold: u64,
}

impl Algorithm<FrameDiscarding> for AboveThreshold {
    const NAME: &'static str = "early-packet-discard";
    const SUMMARY: &'static str = "from a threshold on no new frame is let in (EPD), and a broken one goes (PPD)";
    const ACCEPTS: &'static [BufferField] = &[BufferField::Threshold];

    fn build((parameters, size): (&BufferParameters, u64)) -> Result<AboveThreshold, BufferError> {
        Ok(AboveThreshold { threshold: threshold(parameters.threshold, size, 9, BufferField::Threshold)? })
    }
}

impl FrameRule for AboveThreshold {
    #[inline]
    fn refuses(&self, context: &FrameContext) -> bool {
        context.total >= self.threshold
    }
}
