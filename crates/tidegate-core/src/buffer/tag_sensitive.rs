//! Thresholds by tag: tagged frames are accepted up to a low threshold, untagged ones up to a high one.
//!
//! **Law.** A tagged frame that begins while the buffer holds at least `tagged_threshold` is refused, and any frame that begins while it
//! holds at least `threshold`.
//! **Source.** D. Basak and S. Pappu, "TCP over GFR implementation with different service disciplines: a simulation study", ATM Forum 97-0310;
//! "GFR implementation alternatives with fair buffer allocation schemes", ATM Forum 97-0528, 1997.
//! **State.** As [`super::FrameDiscard`].
//! **Cost.** One comparison per frame.
//! **RTL twin.** None yet.
//! **Deviations.** The contributions are known from papers that cite them. The rule is theirs, the default thresholds (5 and 9 tenths) are ours.

use super::frame_discard::{FrameContext, FrameDiscard, FrameDiscarding, FrameRule, threshold};
use super::{BufferError, BufferField, BufferParameters};
use crate::algorithm::Algorithm;

/// Refuses frames above a threshold for their tag.
///
/// ```
/// use tidegate_core::buffer::BufferParameters;
/// use tidegate_core::registry::BufferKind;
///
/// let thresholds = BufferParameters { threshold: Some(900), tagged_threshold: Some(300), ..BufferParameters::default() };
/// let parameters = BufferParameters { flows: 8, packets: Some(1000), ..thresholds };
/// assert!(BufferKind::TagSensitive.build(&parameters).is_ok());
/// ```
pub type TagSensitive = FrameDiscard<TwoThresholds>;

/// Refuses above one of two thresholds.
#[derive(Clone, Debug)]
pub struct TwoThresholds {
    untagged: u64,
    tagged: u64,
}

impl Algorithm<FrameDiscarding> for TwoThresholds {
    const NAME: &'static str = "tag-sensitive";
    const SUMMARY: &'static str = "tagged frames are let in up to a low threshold, untagged ones up to a high one";
    const ACCEPTS: &'static [BufferField] = &[BufferField::Threshold, BufferField::TaggedThreshold];

    fn build((parameters, size): (&BufferParameters, u64)) -> Result<TwoThresholds, BufferError> {
        let untagged = threshold(parameters.threshold, size, 9, BufferField::Threshold)?;
        let tagged = match parameters.tagged_threshold {
            Some(tagged) if tagged > untagged => {
                return Err(BufferField::TaggedThreshold.wrong("must not be larger than `threshold`, which all frames keep"));
            }
            given => threshold(given, size, 5, BufferField::TaggedThreshold)?.min(untagged),
        };
        Ok(TwoThresholds { untagged, tagged })
    }
}

impl FrameRule for TwoThresholds {
    #[inline]
    fn refuses(&self, context: &FrameContext) -> bool {
        context.total >= if context.is_tagged { self.tagged } else { self.untagged }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Flow;

    #[test]
    fn each_tag_has_its_threshold() {
        let parameters = BufferParameters { threshold: Some(900), tagged_threshold: Some(300), ..BufferParameters::default() };
        let rule = TwoThresholds::build((&parameters, 1000)).unwrap();
        let refuses = |total, is_tagged| rule.refuses(&FrameContext { flow: Flow(0), total, queue: 0, untagged: 0, active: 1, is_tagged });
        assert_eq!([(299, true), (300, true), (899, false), (900, false)].map(|(x, tag)| refuses(x, tag)), [false, true, false, true]);
        let wrong = BufferParameters { tagged_threshold: Some(901), ..parameters.clone() };
        assert_eq!(TwoThresholds::build((&wrong, 1000)).unwrap_err().field, BufferField::TaggedThreshold);
        let wrong = BufferParameters { threshold: Some(1001), ..parameters };
        assert_eq!(TwoThresholds::build((&wrong, 1000)).unwrap_err().field, BufferField::Threshold);
    }
}
