//! Fair buffer allocation: as the buffer fills above a threshold, what a flow may hold shrinks towards a part Z of an equal share.
//!
//! **Law.** A frame is refused if and only if `X > R` and `Yi * Na / X > Z * (K - R) / (X - R)`, or if there is no room. K is the buffer's
//! size; X, Yi and Na are as in [`super::SelectiveDrop`].
//! **Source.** J. Heinanen and K. Kilkki, "A fair buffer allocation scheme", Computer Communications 21(3), 1998, in the form of Goyal et al., "UBR+:
//! improving performance of TCP over ATM-UBR service", ICC 1997.
//! **State.** As [`super::FrameDiscard`].
//! **Cost.** Five multiplications per frame, no division.
//! **RTL twin.** None yet.
//! **Deviations.** None: both quotients are multiplied out, exactly.

use super::frame_discard::{FrameContext, FrameDiscard, FrameDiscarding, FrameRule, threshold};
use super::{BufferError, BufferField, BufferParameters, Scaling};
use crate::algorithm::Algorithm;

/// Refuses the frames of flows that hold more than others, earlier as the buffer fills.
///
/// ```
/// use tidegate_core::buffer::{BufferParameters, Scaling};
/// use tidegate_core::registry::BufferKind;
///
/// let rule = BufferParameters { threshold: Some(900), scaling: Scaling::new(8, 10), ..BufferParameters::default() };
/// assert!(BufferKind::FairBufferAllocation.build(&BufferParameters { flows: 8, packets: Some(1000), ..rule }).is_ok());
/// ```
pub type FairBufferAllocation = FrameDiscard<AboveShrinkingShare>;

/// Refuses above a share that shrinks as the buffer fills.
#[derive(Clone, Debug)]
pub struct AboveShrinkingShare {
    threshold: u64,
    size: u64,
    scaling: Scaling,
}

impl Algorithm<FrameDiscarding> for AboveShrinkingShare {
    const NAME: &'static str = "fair-buffer-allocation";
    const SUMMARY: &'static str = "what a flow may hold shrinks towards an equal share as the buffer fills (Heinanen and Kilkki)";
    const ACCEPTS: &'static [BufferField] = &[BufferField::Threshold, BufferField::Scaling];

    fn build((parameters, size): (&BufferParameters, u64)) -> Result<AboveShrinkingShare, BufferError> {
        let threshold = threshold(parameters.threshold, size, 9, BufferField::Threshold)?;
        Ok(AboveShrinkingShare { threshold, size, scaling: parameters.scaling.unwrap_or_default() })
    }
}

impl FrameRule for AboveShrinkingShare {
    #[inline]
    fn refuses(&self, context: &FrameContext) -> bool {
        let FrameContext { total, queue, active, .. } = *context;
        if total <= self.threshold {
            return false;
        }
        let (numerator, denominator) = (u128::from(self.scaling.numerator()), u128::from(self.scaling.denominator()));
        let taken = u128::from(queue) * u128::from(active) * u128::from(total - self.threshold) * denominator;
        taken > numerator * u128::from(self.size - self.threshold) * u128::from(total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Flow;

    #[test]
    fn ten_flows_of_which_one_holds_a_tenth_of_the_buffer() {
        let parameters = BufferParameters { threshold: Some(900), scaling: Scaling::new(8, 10), ..BufferParameters::default() };
        let rule = AboveShrinkingShare::build((&parameters, 1000)).unwrap();
        let refuses = |total| rule.refuses(&FrameContext { flow: Flow(0), total, queue: 100, untagged: 100, active: 10, is_tagged: false });
        assert_eq!([890, 900, 910, 950, 990].map(refuses), [false, false, false, false, true]);
    }
}
