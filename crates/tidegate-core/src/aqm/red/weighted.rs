//! Weighted RED (WRED): one average per queue, and a curve for each colour, so that packets outside their contract are signalled first.
//!
//! **Law.** As RED, by the curve of the packet's colour. Each threshold of a colour is at most that of the colour before it, in the order green, yellow
//! and red. With marking curves a packet that can be marked is judged by that of its colour: it is dropped only from the upper threshold of its
//! dropping curve on.
//! **Source.** As RED; the curves by colour are those of routers (Cisco's WRED; RFC 2597, section 6).
//! **State.** 64 bytes per queue.
//! **Cost.** As RED.
//! **RTL twin.** None.
//! **Deviations.** The average is that of the whole queue for all colours. Counts and lots are kept for each colour, for marks apart from drops.

use super::average::{Average, Averaging};
use super::curve::{Curve, Lots};
use super::{Answer, averaging, checked, usual_curve};
use crate::algorithm::Algorithm;
use crate::aqm::{Aqm, AqmError, AqmField, AqmParameters, AqmSetup, AqmState, Judgement, QueueManagement, RedCurve};
use crate::buffer::Arrival;
use crate::packet::Flow;
use crate::queue::Backlog;
use crate::random::SplitMix64;
use crate::scheduler::Kept;
use crate::units::Time;
use alloc::vec::Vec;

/// WRED, with an average per queue.
#[derive(Clone, Debug)]
pub struct WeightedRed {
    averaging: Averaging,
    /// By colour.
    dropping: [Curve; 3],
    /// For packets that can be marked, by colour; the same curves as the others if there are none.
    marking: Option<[Curve; 3]>,
    answer: Answer,
    queues: Vec<Queue>,
}

/// The state of one queue.
#[derive(Clone, Copy, Debug)]
struct Queue {
    average: Average,
    dropping: [Lots; 3],
    marking: [Lots; 3],
}

impl Queue {
    const NEW: Queue = Queue { average: Average::NEW, dropping: [Lots::NEW; 3], marking: [Lots::NEW; 3] };
}

/// The curves of all colours: one that is not given is that of the colour before it.
fn by_colour(first: RedCurve, given: &[Option<RedCurve>; 3], field: AqmField) -> Result<[RedCurve; 3], AqmError> {
    let mut curves = [first; 3];
    for (colour, given) in given.iter().enumerate() {
        let before = curves[colour.saturating_sub(1)];
        curves[colour] = checked(given.unwrap_or(before), field)?;
        if colour > 0 && (curves[colour].min > before.min || curves[colour].max > before.max) {
            return Err(field.wrong("no threshold may be above that of the same kind for the colour before: green, yellow, red"));
        }
    }
    Ok(curves)
}

impl Algorithm<QueueManagement> for WeightedRed {
    const NAME: &'static str = "wred";
    const SUMMARY: &'static str =
        "Weighted RED: a curve for each colour, so that packets outside their contract are dropped or marked first.";
    const ACCEPTS: &'static [AqmField] =
        &[AqmField::Curves, AqmField::MarkingCurves, AqmField::Averaging, AqmField::Gentle, AqmField::Ecn, AqmField::MarkAboveMax];

    fn build((setup, given): (&AqmSetup, &AqmParameters)) -> Result<WeightedRed, AqmError> {
        let gentle = given.gentle.unwrap_or(true);
        let dropping = by_colour(usual_curve(setup), &given.curves, AqmField::Curves)?;
        let marking = if given.has(AqmField::MarkingCurves) {
            Some(by_colour(dropping[0], &given.marking_curves, AqmField::MarkingCurves)?)
        } else {
            None
        };
        let answer = Answer::of(given);
        if marking.is_some() && !answer.ecn {
            return Err(AqmField::MarkingCurves.wrong("has no effect: `ecn` is false, so that no packet is marked"));
        }
        Ok(WeightedRed {
            averaging: averaging(setup, given, super::SHIFT)?,
            dropping: dropping.map(|curve| Curve::new(&curve, gentle)),
            marking: marking.map(|curves| curves.map(|curve| Curve::new(&curve, gentle))),
            answer,
            queues: alloc::vec![Queue::NEW; setup.flows],
        })
    }
}

impl Aqm for WeightedRed {
    fn hears_departures(&self) -> bool {
        false
    }

    #[inline]
    fn admit<B: Backlog>(&mut self, arrival: &Arrival, backlog: &B, draws: &mut SplitMix64) -> Judgement {
        let colour = arrival.colour as usize;
        let Queue { average, dropping, marking } = &mut self.queues[arrival.flow.index()];
        self.averaging.update(average, arrival.now, backlog.flow_bytes(arrival.flow));
        let length = average.length;
        let is_above_max = length >= self.dropping[colour].max;
        if let Some(curves) = &self.marking
            && arrival.ecn.is_capable()
            && (!is_above_max || self.answer.marks_above_max)
        {
            let is_hit = marking[colour].hits(curves[colour].probability(length), draws);
            return if is_hit { Judgement::Mark } else { Judgement::Pass };
        }
        if !dropping[colour].hits(self.dropping[colour].probability(length), draws) {
            return Judgement::Pass;
        }
        self.answer.signal(arrival, is_above_max)
    }

    #[inline]
    fn left<B: Backlog>(&mut self, now: Time, flow: Flow, backlog: &B) {
        if backlog.flow_packets(flow) == 0 {
            self.queues[flow.index()].average.emptied(now);
        }
    }

    fn state<B: Backlog>(&self, _: Time, flow: Flow, _: &B) -> AqmState {
        let average = self.queues[flow.index()].average.length;
        let curves = self.dropping.iter().chain(self.marking.iter().flatten());
        AqmState { is_signalling: false, probability: curves.map(|curve| curve.probability(average)).max() }
    }

    fn forget(&mut self, flow: Flow) {
        self.queues[flow.index()] = Queue::NEW;
    }

    fn adopt(&mut self, _: Time, old: &WeightedRed, kept: &[Kept]) {
        for flow in kept {
            self.queues[flow.to.index()] = old.queues[flow.from.index()];
        }
    }

    fn refresh(&mut self, now: Time) {
        self.queues.iter_mut().for_each(|queue| queue.average.refresh(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::Probability;
    use crate::aqm::red::curve::FRACTION;
    use crate::units::Rate;

    fn curve(min: u64, max: u64, percent: u32) -> RedCurve {
        RedCurve { min, max, max_probability: Probability::from_millionths(percent * 10_000).unwrap() }
    }

    fn build(given: &AqmParameters) -> Result<WeightedRed, AqmError> {
        WeightedRed::build((&AqmSetup { flows: 1, rate: Rate::new(10_000_000).unwrap(), longest_frame: 1514 }, given))
    }

    #[test]
    fn each_colour_has_its_curve() {
        let curves = [Some(curve(20, 40, 2)), Some(curve(10, 30, 5)), Some(curve(5, 20, 10))];
        let red = build(&AqmParameters { curves, ..AqmParameters::default() }).unwrap();
        // In units of 0.0001 %, rounded.
        let at = |average: u64| red.dropping.map(|curve| (curve.probability(average << FRACTION) * 1_000_000 + (1 << 31)) >> 32);
        assert_eq!(at(15), [0, 12_500, 66_667]);
        assert_eq!(at(25), [5_000, 37_500, 325_000]);
        assert_eq!(at(35), [15_000, 208_333, 775_000]);
        assert_eq!(at(45), [142_500, 525_000, 1_000_000]);
    }

    #[test]
    fn colours_must_be_in_order() {
        let curves = [Some(curve(20, 40, 2)), Some(curve(10, 41, 5)), None];
        assert_eq!(build(&AqmParameters { curves, ..AqmParameters::default() }).unwrap_err().field, AqmField::Curves);
        let marking_curves = [Some(curve(5, 5, 2)), None, None];
        assert_eq!(build(&AqmParameters { marking_curves, ..AqmParameters::default() }).unwrap_err().field, AqmField::MarkingCurves);
        let marking_curves = [Some(curve(5, 6, 2)), None, None];
        let without = AqmParameters { marking_curves, ecn: Some(false), ..AqmParameters::default() };
        assert_eq!(build(&without).unwrap_err().field, AqmField::MarkingCurves);
    }
}
