//! Selective drop: from a threshold on, frames of flows that hold more than Z times an equal share of what is queued are refused.
//!
//! **Law.** A frame is refused if and only if `X > R` and `Yi * Na > Z * X`, or if there is no room. X is the occupancy of the buffer, Yi
//! that of the flow's queue, and Na the number of queues that are not empty.
//! **Source.** R. Goyal, R. Jain, S. Kalyanaraman, S. Fahmy and S. Kim, "UBR+: improving performance of TCP over ATM-UBR service", ICC 1997.
//! **State.** As [`super::FrameDiscard`].
//! **Cost.** Three multiplications per frame, no division.
//! **RTL twin.** None yet.
//! **Deviations.** None: the quotient `Yi / (X / Na)` is compared as a product, exactly.

use super::frame_discard::{FrameContext, FrameDiscard, FrameDiscarding, FrameRule, threshold};
use super::{BufferError, BufferField, BufferParameters, Scaling};
use crate::algorithm::Algorithm;

/// Refuses the frames of flows that hold more than others.
///
/// ```
/// use tidegate_core::buffer::{BufferParameters, Scaling};
/// use tidegate_core::registry::BufferKind;
///
/// let rule = BufferParameters { threshold: Some(900), scaling: Scaling::new(8, 10), ..BufferParameters::default() };
/// assert!(BufferKind::SelectiveDrop.build(&BufferParameters { flows: 8, packets: Some(1000), ..rule }).is_ok());
/// ```
pub type SelectiveDrop = FrameDiscard<AboveShare>;

/// Refuses above a share.
#[derive(Clone, Debug)]
pub struct AboveShare {
    threshold: u64,
    scaling: Scaling,
}

impl Algorithm<FrameDiscarding> for AboveShare {
    const NAME: &'static str = "selective-drop";
    const SUMMARY: &'static str = "from a threshold on frames of flows with more than their part of the queue are refused";
    const ACCEPTS: &'static [BufferField] = &[BufferField::Threshold, BufferField::Scaling];

    fn build((parameters, size): (&BufferParameters, u64)) -> Result<AboveShare, BufferError> {
        let threshold = threshold(parameters.threshold, size, 9, BufferField::Threshold)?;
        Ok(AboveShare { threshold, scaling: parameters.scaling.unwrap_or_default() })
    }
}

impl FrameRule for AboveShare {
    #[inline]
    fn refuses(&self, context: &FrameContext) -> bool {
        let FrameContext { total, queue, active, .. } = *context;
        let (numerator, denominator) = (u128::from(self.scaling.numerator()), u128::from(self.scaling.denominator()));
        let numerator = if fault!(SelectiveDropOtherZ) { numerator / 2 } else { numerator };
        total > self.threshold && u128::from(queue) * u128::from(active) * denominator > numerator * u128::from(total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Flow;

    #[test]
    fn ten_flows_of_which_one_holds_a_tenth_of_the_buffer() {
        let parameters = BufferParameters { threshold: Some(900), scaling: Scaling::new(8, 10), ..BufferParameters::default() };
        let rule = AboveShare::build((&parameters, 1000)).unwrap();
        let refuses = |total| rule.refuses(&FrameContext { flow: Flow(0), total, queue: 100, untagged: 100, active: 10, is_tagged: false });
        assert_eq!([890, 900, 910, 950, 990].map(refuses), [false, false, true, true, true]);
    }
}
