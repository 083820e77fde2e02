//! Weighted buffer allocation (WBA): below a threshold all frames are accepted. Above it each flow has a part of the threshold to itself,
//! by its minimum rate, and the room above the threshold is shared equally.
//!
//! **Law.** X, Yi, Li (the untagged part) and Na are occupancies as in [`super::FrameContext`]; Wi is the flow's minimum rate as a part of the
//! link's. While there is room, a frame is accepted if one of three tests holds when it begins. They are `X < R`; untagged and `Li < R * Wi`; and
//! `(Yi - R * Wi) * Na < Z * (X - R)`. So no untagged frame of a flow below its share is refused while there is room.
//! **Source.** R. Goyal, R. Jain, S. Fahmy, B. Vandalore and S. Kalyanaraman, "Design issues for providing minimum rate guarantees to the ATM
//! unspecified bit rate service", 1998, section 3.2.
//! **State.** As [`super::FrameDiscard`], and the minimum rate, 8 bytes per flow.
//! **Cost.** Seven multiplications per frame that begins above the threshold, no division.
//! **RTL twin.** None yet.
//! **Deviations.** `X = R`, which the source leaves open, counts as above. Wi is never formed: both sides are multiplied by the link's rate,
//! which makes the comparisons exact. The sum of Wi may reach 1, which the source excludes.
//!
//! **Two readings.** By the source's prose a tagged frame of a flow below its share is dropped. By its pseudo-code the third test follows,
//! which such a frame always passes while the whole queue is below the share. The pseudo-code is the rule unless
//! [`super::Reading::Prose`] is chosen.

use super::frame_discard::{FrameContext, FrameDiscard, FrameDiscarding, FrameRule, threshold};
use super::{BufferError, BufferField, BufferParameters, FlowShare, Reading, Scaling};
use crate::algorithm::Algorithm;
use crate::packet::Flow;
use crate::units::Rate;
use alloc::vec::Vec;

/// Refuses the frames of flows that exceed their part of the buffer.
///
/// ```
/// use tidegate_core::buffer::{BufferParameters, Guarantee};
/// use tidegate_core::packet::Flow;
/// use tidegate_core::registry::BufferKind;
/// use tidegate_core::units::Rate;
///
/// // The first of two flows has 6 of 10 Mbit/s.
/// let guarantee = Guarantee { first_flow: Flow(0), flows: 1, rate: Rate::new(6_000_000).unwrap() };
/// let capacity = Rate::new(10_000_000).ok();
/// let parameters = BufferParameters { flows: 2, bytes: Some(500_000), guarantees: vec![guarantee], capacity, ..BufferParameters::default() };
/// assert!(BufferKind::WeightedBufferAllocation.build(&parameters).is_ok());
/// ```
pub type WeightedBufferAllocation = FrameDiscard<AboveWeightedShare>;

/// Refuses above a weighted share.
#[derive(Clone, Debug)]
pub struct AboveWeightedShare {
    threshold: u64,
    scaling: Scaling,
    reading: Reading,
    /// The link's rate, in bit/s.
    capacity: u64,
    /// The flows' minimum rates, in bit/s, and their sum.
    rates: Vec<u64>,
    sum: u64,
}

const TOO_MUCH: &str = "sums up to more than the rate of the link: lower it";

impl Algorithm<FrameDiscarding> for AboveWeightedShare {
    const NAME: &'static str = "weighted-buffer-allocation";
    const SUMMARY: &'static str = "each flow has a part of the buffer by its minimum rate; what is left is shared equally (WBA)";
    const ACCEPTS: &'static [BufferField] = &[BufferField::Threshold, BufferField::Scaling, BufferField::Guarantees, BufferField::Reading];

    fn build((parameters, size): (&BufferParameters, u64)) -> Result<AboveWeightedShare, BufferError> {
        let threshold = threshold(parameters.threshold, size, 5, BufferField::Threshold)?;
        if parameters.capacity.is_none() && !parameters.guarantees.is_empty() {
            return Err(BufferField::Guarantees.wrong("is a part of the link's rate, which must be given"));
        }
        let mut rates = alloc::vec![0; parameters.flows];
        for guarantee in &parameters.guarantees {
            let first = guarantee.first_flow.index();
            let Some(flows) = first.checked_add(guarantee.flows as usize).and_then(|end| rates.get_mut(first..end)) else {
                return Err(BufferField::Guarantees.wrong("names a flow that the port does not have"));
            };
            if flows.iter().any(|&rate| rate != 0) {
                return Err(BufferField::Guarantees.wrong("must be given once for a flow"));
            }
            flows.fill(guarantee.rate.bits_per_second());
        }
        // Without guarantees all shares are 0, parts of whatever rate.
        let capacity = parameters.capacity.unwrap_or(Rate::MIN).bits_per_second();
        let sum = rates.iter().fold(0u64, |sum, rate| sum.saturating_add(*rate));
        if sum > capacity {
            return Err(BufferField::Guarantees.wrong(TOO_MUCH));
        }
        let scaling = parameters.scaling.unwrap_or_default();
        Ok(AboveWeightedShare { threshold, scaling, reading: parameters.reading.unwrap_or_default(), capacity, rates, sum })
    }
}

impl FrameRule for AboveWeightedShare {
    #[inline]
    fn refuses(&self, context: &FrameContext) -> bool {
        let FrameContext { flow, total, queue, untagged, active, is_tagged } = *context;
        if total < self.threshold {
            return false;
        }
        let is_tagged = is_tagged && !fault!(WbaIgnoresTags);
        // Both sides are multiplied by the capacity and by Z's denominator: at most 2^40 * 2^39 * 2^23 * 2^20.
        let capacity = i128::from(self.capacity);
        let rate = if fault!(WbaEqualWeights) { self.capacity / self.rates.len() as u64 } else { self.rates[flow.index()] };
        let share = i128::from(self.threshold) * i128::from(rate);
        if i128::from(untagged) * capacity < share && (!is_tagged || self.reading == Reading::Prose) {
            return is_tagged;
        }
        let beyond = (i128::from(queue) * capacity - share) * i128::from(active) * i128::from(self.scaling.denominator());
        fault!(WbaWithoutThirdTest) || beyond >= i128::from(self.scaling.numerator()) * i128::from(total - self.threshold) * capacity
    }

    fn change(&mut self, flow: Flow, share: &FlowShare) -> Result<(), BufferError> {
        let rate = share.guarantee.map_or(0, Rate::bits_per_second);
        let others = self.sum - self.rates[flow.index()];
        if rate > self.capacity - others {
            return Err(BufferField::Guarantees.wrong(TOO_MUCH));
        }
        (self.sum, self.rates[flow.index()]) = (others + rate, rate);
        Ok(())
    }

    fn forget(&mut self, flow: Flow) {
        self.sum -= core::mem::take(&mut self.rates[flow.index()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::Guarantee;

    fn rule(reading: Reading) -> AboveWeightedShare {
        let parameters = BufferParameters {
            flows: 1,
            threshold: Some(6000),
            scaling: Scaling::new(8, 10),
            guarantees: alloc::vec![Guarantee { first_flow: Flow(0), flows: 1, rate: Rate::new(15_000_000).unwrap() }],
            capacity: Rate::new(150_000_000).ok(),
            reading: Some(reading),
            ..BufferParameters::default()
        };
        AboveWeightedShare::build((&parameters, 12_000)).unwrap()
    }

    #[test]
    fn a_flow_with_a_tenth_of_the_link_among_fifteen() {
        for reading in [Reading::PseudoCode, Reading::Prose] {
            let rule = rule(reading);
            for (total, queue, untagged, is_tagged, refused) in [
                (5999, 500, 500, true, false),
                (6500, 590, 590, false, false),
                // The frame on which the two readings differ.
                (6500, 590, 100, true, reading == Reading::Prose),
                (6500, 610, 600, false, false),
                (6500, 640, 600, false, true),
                (9000, 700, 650, true, false),
                (9000, 800, 650, true, true),
                (6000, 600, 600, false, true),
            ] {
                let context = FrameContext { flow: Flow(0), total, queue, untagged, active: 15, is_tagged };
                assert_eq!(rule.refuses(&context), refused, "{reading:?}: {context:?}");
            }
        }
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        let guarantee = Guarantee { first_flow: Flow(0), flows: 1, rate: Rate::MAX };
        let parameters = BufferParameters {
            flows: 1,
            threshold: Some((1 << 40) - 2),
            scaling: Scaling::new(1_000_000, 1_000_000),
            guarantees: alloc::vec![guarantee],
            capacity: Some(Rate::MAX),
            ..BufferParameters::default()
        };
        let rule = AboveWeightedShare::build((&parameters, (1 << 40) - 1)).unwrap();
        for (queue, untagged) in [(0, 0), (u64::from(u32::MAX), 0), (u64::from(u32::MAX), u64::from(u32::MAX))] {
            let context = FrameContext { flow: Flow(0), total: (1 << 40) - 1, queue, untagged, active: 1 << 23, is_tagged: true };
            assert!(!rule.refuses(&context), "a flow that has the link to itself is below its share");
        }
    }

    #[test]
    fn guarantees_fit_on_the_link() {
        let guarantee = |first, flows, mbps: u64| Guarantee { first_flow: Flow(first), flows, rate: Rate::new(mbps * 1_000_000).unwrap() };
        let error = |guarantees: &[Guarantee]| {
            let capacity = Rate::new(10_000_000).ok();
            let parameters = BufferParameters { flows: 4, guarantees: guarantees.to_vec(), capacity, ..BufferParameters::default() };
            AboveWeightedShare::build((&parameters, 100)).err().map(|error| error.problem)
        };
        assert_eq!(error(&[guarantee(0, 2, 3), guarantee(3, 1, 4)]), None);
        assert!(error(&[guarantee(0, 2, 3), guarantee(3, 1, 5)]).is_some_and(|problem| problem.contains("more than the rate")));
        assert!(error(&[guarantee(0, 2, 3), guarantee(1, 1, 1)]).is_some_and(|problem| problem.contains("once")));
        assert!(error(&[guarantee(3, 2, 1)]).is_some_and(|problem| problem.contains("does not have")));
    }
}
