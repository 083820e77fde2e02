//! Random early detection (RED): the longer the queue is on average, the likelier an arriving packet is marked or dropped.
//!
//! **Law.** Let `a` be the moving average of the queue's length in bytes. Packets pass while `a < min`. From there to `max` the probability rises
//! linearly to `max_probability`; gentle RED then raises it to 1 at twice `max`, plain RED at once. At a constant probability `p` the gaps between
//! signals are uniform from 1 to `1/p`. From `max` on packets are dropped, even those that could be marked.
//! **Source.** S. Floyd and V. Jacobson, "Random early detection gateways for congestion avoidance", IEEE/ACM Transactions on Networking 1(4), 1993,
//! method 2; S. Floyd, "Recommendation on using the gentle variant of RED", 2000; RFC 3168, section 7.
//! **State.** 32 bytes per queue.
//! **Cost.** Two additions, two shifts and a multiplication per packet; a draw per signal; a few multiplications for the first packet after a pause.
//! **RTL twin.** None.
//! **Deviations.** Lengths are in bytes, and all packets are equally likely to be signalled (RFC 7141). The average ends at most `2^(w - 16)` bytes below
//! a constant length, because shifts round down.

mod adaptive;
mod average;
mod curve;
mod weighted;

pub use adaptive::AdaptiveRed;
pub use weighted::WeightedRed;

use super::parameters::{AqmError, AqmField, AqmParameters, AqmSetup, QueueManagement};
use super::probability::Probability;
use super::red_curve::RedCurve;
use super::{Aqm, AqmState, Judgement};
use crate::algorithm::Algorithm;
use crate::buffer::Arrival;
use crate::packet::Flow;
use crate::prefetch::prefetch_in;
use crate::queue::Backlog;
use crate::random::SplitMix64;
use crate::scheduler::Kept;
use crate::units::{Duration, Time};
use alloc::vec::Vec;
use average::{Average, Averaging};
use curve::{Curve, Lots};

/// RED, with an average per queue.
#[derive(Clone, Debug)]
pub struct Red {
    averaging: Averaging,
    curve: Curve,
    answer: Answer,
    queues: Vec<Queue>,
}

/// The state of one queue.
#[derive(Clone, Copy, Debug)]
struct Queue {
    average: Average,
    lots: Lots,
}

impl Queue {
    const NEW: Queue = Queue { average: Average::NEW, lots: Lots::NEW };
}

/// What is said of a packet that is to be signalled.
#[derive(Clone, Copy, Debug)]
struct Answer {
    ecn: bool,
    /// Packets that can be marked are marked beyond the upper threshold, too.
    marks_above_max: bool,
}

impl Answer {
    fn of(given: &AqmParameters) -> Answer {
        Answer { ecn: given.ecn.unwrap_or(true), marks_above_max: given.mark_above_max.unwrap_or(false) }
    }

    #[inline]
    fn signal(self, arrival: &Arrival, is_above_max: bool) -> Judgement {
        let marks = self.ecn && arrival.ecn.is_capable() && (!is_above_max || self.marks_above_max);
        if marks { Judgement::Mark } else { Judgement::Drop }
    }
}

/// The weight of a packet in the average is 2^-9 unless given.
const SHIFT: u8 = 9;
/// The least weight is 2^-20.
const MOST_SHIFT: u8 = 20;

/// The averaging that is given, or with a weight of two to the power of minus `usual`.
fn averaging(setup: &AqmSetup, given: &AqmParameters, usual: u8) -> Result<Averaging, AqmError> {
    let shift = given.averaging.unwrap_or(usual);
    if shift == 0 || shift > MOST_SHIFT {
        return Err(AqmField::Averaging.wrong("must be from 1 to 20: a packet has this negative power of two as its weight"));
    }
    Ok(Averaging::new(shift.into(), typical_time(setup)))
}

/// The time that a typical packet takes, which is a longest frame.
fn typical_time(setup: &AqmSetup) -> Duration {
    setup.rate.time_per_byte().ceil(setup.longest_frame.max(1))
}

/// The curve unless one is given: 5 and 15 typical packets, 2 %.
fn usual_curve(setup: &AqmSetup) -> RedCurve {
    let packet = u64::from(setup.longest_frame.max(1));
    let Some(max_probability) = Probability::from_millionths(20_000) else { unreachable!("it is below a million") };
    RedCurve { min: 5 * packet, max: 15 * packet, max_probability }
}

fn checked(curve: RedCurve, field: AqmField) -> Result<RedCurve, AqmError> {
    curve.problem().map_or(Ok(curve), |problem| Err(field.wrong(problem)))
}

impl Algorithm<QueueManagement> for Red {
    const NAME: &'static str = "red";
    const SUMMARY: &'static str = "Random early detection: drops or marks the likelier, the longer the queue is on average.";
    const ACCEPTS: &'static [AqmField] = &[AqmField::Curve, AqmField::Averaging, AqmField::Gentle, AqmField::Ecn, AqmField::MarkAboveMax];

    fn build((setup, given): (&AqmSetup, &AqmParameters)) -> Result<Red, AqmError> {
        let curve = checked(given.curve.unwrap_or_else(|| usual_curve(setup)), AqmField::Curve)?;
        Ok(Red {
            averaging: averaging(setup, given, SHIFT)?,
            curve: Curve::new(&curve, given.gentle.unwrap_or(true)),
            answer: Answer::of(given),
            queues: alloc::vec![Queue::NEW; setup.flows],
        })
    }
}

impl Aqm for Red {
    fn hears_departures(&self) -> bool {
        false
    }

    #[inline]
    fn admit<B: Backlog>(&mut self, arrival: &Arrival, backlog: &B, draws: &mut SplitMix64) -> Judgement {
        let Queue { average, lots } = &mut self.queues[arrival.flow.index()];
        self.averaging.update(average, arrival.now, backlog.flow_bytes(arrival.flow));
        if !lots.hits(self.curve.probability(average.length), draws) {
            return Judgement::Pass;
        }
        self.answer.signal(arrival, average.length >= self.curve.max && !fault!(RedMarksAboveMax))
    }

    #[inline]
    fn left<B: Backlog>(&mut self, now: Time, flow: Flow, backlog: &B) {
        if backlog.flow_packets(flow) == 0 {
            self.queues[flow.index()].average.emptied(now);
        }
    }

    fn state<B: Backlog>(&self, _: Time, flow: Flow, _: &B) -> AqmState {
        let average = self.queues[flow.index()].average.length;
        AqmState { is_signalling: false, probability: Some(self.curve.probability(average)) }
    }

    #[inline]
    fn prefetch(&self, flow: Flow) {
        prefetch_in(&self.queues, flow.index());
    }

    fn forget(&mut self, flow: Flow) {
        self.queues[flow.index()] = Queue::NEW;
    }

    fn adopt(&mut self, _: Time, old: &Red, kept: &[Kept]) {
        for flow in kept {
            self.queues[flow.to.index()] = old.queues[flow.from.index()];
        }
    }

    fn refresh(&mut self, now: Time) {
        self.queues.iter_mut().for_each(|queue| queue.average.refresh(now));
    }
}

#[cfg(test)]
mod tests;
