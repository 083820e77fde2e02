//! Adaptive RED: a RED that keeps its average queue near the middle between its thresholds.
//!
//! **Law.** Every half second the probability at the upper threshold grows by at most 1 % if the average is in the upper two fifths between the
//! thresholds, up to 50 %. If the average is in the lower two fifths, it shrinks by a tenth, down to 1 %. Otherwise as RED, which is gentle unless
//! told otherwise.
//! **Source.** S. Floyd, R. Gummadi and S. Shenker, "Adaptive RED: an algorithm for increasing the robustness of RED's active queue management",
//! 2001, sections 3 and 4.
//! **State.** 128 bytes per queue.
//! **Cost.** As RED; a few multiplications per half second.
//! **RTL twin.** None.
//! **Deviations.** The weight of a packet is a power of two near `1 - exp(-1/C)`, with the rate `C` of the link in packets per second. Adaptation is made up
//! for when the next packet comes: the average is the same until then. Once it changes nothing more, it pauses until half a second later.

use super::average::{Average, Averaging};
use super::curve::{Curve, Lots};
use super::{Answer, averaging, checked, typical_time, usual_curve};
use crate::algorithm::Algorithm;
use crate::aqm::{Aqm, AqmError, AqmField, AqmParameters, AqmSetup, AqmState, Judgement, Probability, QueueManagement, RedCurve};
use crate::buffer::Arrival;
use crate::packet::Flow;
use crate::queue::Backlog;
use crate::random::SplitMix64;
use crate::scheduler::Kept;
use crate::units::{Duration, SERIAL_HORIZON, Time};
use alloc::vec::Vec;

/// Adaptive RED, with an average and a curve per queue.
#[derive(Clone, Debug)]
pub struct AdaptiveRed {
    averaging: Averaging,
    answer: Answer,
    usual: Curve,
    queues: Vec<Queue>,
}

/// The state of one queue.
#[derive(Clone, Copy, Debug)]
struct Queue {
    average: Average,
    lots: Lots,
    curve: Curve,
    /// When the curve is adapted next; `None` before the first packet.
    next: Option<Time>,
}

/// The time between adaptations.
const PERIOD: Duration = Duration::from_milliseconds(500);
/// The delay that is aimed at unless given.
const TARGET: Duration = Duration::from_milliseconds(5);
/// 1 %, rounded down, in units of 2^-32.
const HUNDREDTH: u64 = (1 << 32) / 100;
/// 50 %, in the same units.
const HALF: u64 = 1 << 31;
/// The probability at first, in millionths.
const FIRST: u32 = 100_000;

impl Queue {
    const fn new(curve: Curve) -> Queue {
        Queue { average: Average::NEW, lots: Lots::NEW, curve, next: None }
    }

    /// Adapts the curve as often as was due up to `now`.
    #[inline]
    fn catch_up(&mut self, now: Time) {
        let mut next = self.next.unwrap_or(now + PERIOD);
        while !now.is_before(next) {
            next += PERIOD;
            if !self.adapt() && !now.is_before(next) {
                next = now + PERIOD;
            }
        }
        self.next = Some(next);
    }

    /// Adapts the curve; false if it fits.
    fn adapt(&mut self) -> bool {
        let (average, probability) = (self.average.length, self.curve.max_probability);
        let adapted = if fault!(AdaptiveRedNeverAdapts) {
            return false;
        } else if self.curve.is_low(average) && probability > HUNDREDTH {
            probability * 9 / 10
        } else if self.curve.is_high(average) && probability < HALF {
            probability + HUNDREDTH.min(probability >> 2)
        } else {
            return false;
        };
        self.curve = self.curve.with_max_probability(adapted);
        true
    }
}

impl Algorithm<QueueManagement> for AdaptiveRed {
    const NAME: &'static str = "adaptive-red";
    const SUMMARY: &'static str = "RED that adapts its probability, so that the average queue stays between its thresholds.";
    const ACCEPTS: &'static [AqmField] =
        &[AqmField::Target, AqmField::Curve, AqmField::Averaging, AqmField::Gentle, AqmField::Ecn, AqmField::MarkAboveMax];

    fn build((setup, given): (&AqmSetup, &AqmParameters)) -> Result<AdaptiveRed, AqmError> {
        let target = given.target.unwrap_or(TARGET);
        if target == Duration::from_picoseconds(0) || target > Duration::from_seconds(3600) {
            return Err(AqmField::Target.wrong("must be above 0 and at most an hour"));
        }
        if given.target.is_some() && given.curve.is_some() {
            return Err(AqmField::Target.wrong("has no effect beside a curve, whose thresholds it would give"));
        }
        // Half of what the link sends in the time that is aimed at, and at least five packets.
        let least = usual_curve(setup).min;
        let sent = u128::from(target.picoseconds()) * u128::from(setup.rate.bits_per_second()) / 16_000_000_000_000;
        let min = least.max(sent.min(1 << 38) as u64);
        let Some(max_probability) = Probability::from_millionths(FIRST) else { unreachable!("it is below a million") };
        let curve = checked(given.curve.unwrap_or(RedCurve { min, max: 3 * min, max_probability }), AqmField::Curve)?;
        // The logarithm of the packets per second, rounded down.
        let packets_per_second = 1_000_000_000_000 / typical_time(setup).picoseconds().max(1);
        let shift = packets_per_second.max(2).ilog2().min(super::MOST_SHIFT.into()) as u8;
        let usual = Curve::new(&curve, given.gentle.unwrap_or(true));
        let (averaging, answer) = (averaging(setup, given, shift)?, Answer::of(given));
        Ok(AdaptiveRed { averaging, answer, usual, queues: alloc::vec![Queue::new(usual); setup.flows] })
    }
}

impl Aqm for AdaptiveRed {
    fn hears_departures(&self) -> bool {
        false
    }

    #[inline]
    fn admit<B: Backlog>(&mut self, arrival: &Arrival, backlog: &B, draws: &mut SplitMix64) -> Judgement {
        let queue = &mut self.queues[arrival.flow.index()];
        queue.catch_up(arrival.now);
        self.averaging.update(&mut queue.average, arrival.now, backlog.flow_bytes(arrival.flow));
        let length = queue.average.length;
        if !queue.lots.hits(queue.curve.probability(length), draws) {
            return Judgement::Pass;
        }
        self.answer.signal(arrival, length >= queue.curve.max)
    }

    #[inline]
    fn left<B: Backlog>(&mut self, now: Time, flow: Flow, backlog: &B) {
        if backlog.flow_packets(flow) == 0 {
            self.queues[flow.index()].average.emptied(now);
        }
    }

    fn state<B: Backlog>(&self, _: Time, flow: Flow, _: &B) -> AqmState {
        let Queue { average, curve, .. } = &self.queues[flow.index()];
        AqmState { is_signalling: false, probability: Some(curve.probability(average.length)) }
    }

    fn forget(&mut self, flow: Flow) {
        self.queues[flow.index()] = Queue::new(self.usual);
    }

    fn adopt(&mut self, _: Time, old: &AdaptiveRed, kept: &[Kept]) {
        for flow in kept {
            let Queue { average, lots, curve, next } = old.queues[flow.from.index()];
            let curve = self.usual.with_max_probability(curve.max_probability);
            self.queues[flow.to.index()] = Queue { average, lots, curve, next };
        }
    }

    fn refresh(&mut self, now: Time) {
        for queue in &mut self.queues {
            queue.average.refresh(now);
            queue.next = queue.next.map(|next| next.later(now - SERIAL_HORIZON));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::red::curve::FRACTION;
    use crate::units::Rate;

    #[test]
    fn the_probability_follows_the_average() {
        let curve = RedCurve { min: 5, max: 15, max_probability: Probability::from_millionths(FIRST).unwrap() };
        let setup = AqmSetup { flows: 1, rate: Rate::new(10_000_000).unwrap(), longest_frame: 1514 };
        let given = AqmParameters { curve: Some(curve), ..AqmParameters::default() };
        let mut red = AdaptiveRed::build((&setup, &given)).unwrap();
        let queue = &mut red.queues[0];
        queue.catch_up(Time::ZERO);
        let trace: Vec<u64> = (1..=12)
            .map(|step| {
                queue.average.length = if step < 7 { 14 } else { 6 } << FRACTION;
                queue.catch_up(Time::from_picoseconds(step * PERIOD.picoseconds()));
                // In units of 0.0001 %, rounded.
                (queue.curve.max_probability * 1_000_000 + (1 << 31)) >> 32
            })
            .collect();
        let grown = [110_000, 120_000, 130_000, 140_000, 150_000, 160_000];
        assert_eq!(trace, [&grown[..], &[144_000, 129_600, 116_640, 104_976, 94_478, 85_031]].concat());
    }

    #[test]
    fn what_a_silence_owes_ends() {
        let setup = AqmSetup { flows: 1, rate: Rate::new(10_000_000).unwrap(), longest_frame: 1514 };
        let mut red = AdaptiveRed::build((&setup, &AqmParameters::default())).unwrap();
        let queue = &mut red.queues[0];
        queue.catch_up(Time::ZERO);
        let now = Time::ZERO + SERIAL_HORIZON;
        queue.catch_up(now);
        assert!(queue.curve.max_probability <= HUNDREDTH);
        assert_eq!(queue.next, Some(now + PERIOD));
    }
}
