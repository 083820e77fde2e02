//! Step marking: marks every packet beyond a threshold of bytes or of delay, and drops none.
//!
//! **Law.** A packet that can be marked is marked if it finds `mark_above` bytes in its queue, or if it has waited longer than `ce_threshold`.
//! **Source.** S. Bensley et al., "Data center TCP (DCTCP)", RFC 8257, section 3.1 (bytes). RFC 8290, section 5.2.7 (delay).
//! **State.** None.
//! **Cost.** Two comparisons per packet.
//! **RTL twin.** None.
//! **Deviations.** None.

use super::ce_threshold::CeThreshold;
use super::parameters::{AqmError, AqmField, AqmParameters, AqmSetup, QueueManagement};
use super::{Aqm, AqmState, Judgement};
use crate::algorithm::Algorithm;
use crate::buffer::Arrival;
use crate::packet::{Flow, Packet};
use crate::queue::Backlog;
use crate::random::SplitMix64;
use crate::scheduler::Kept;
use crate::units::Time;

/// Marks beyond thresholds.
#[derive(Clone, Debug)]
pub struct Step {
    mark_above: u64,
    ce_threshold: CeThreshold,
}

impl Algorithm<QueueManagement> for Step {
    const NAME: &'static str = "step";
    const SUMMARY: &'static str =
        "Marks every packet beyond a threshold of bytes or delay, for senders that count marks (RFC 8257); drops none.";
    const ACCEPTS: &'static [AqmField] = &[AqmField::MarkAbove, AqmField::CeThreshold, AqmField::Ect1Only];

    fn build((_, given): (&AqmSetup, &AqmParameters)) -> Result<Step, AqmError> {
        if given.mark_above.is_none() && given.ce_threshold.is_none() {
            return Err(AqmField::MarkAbove.wrong("this AQM needs a threshold: mark_above in bytes, or ce_threshold as a delay"));
        }
        if given.mark_above == Some(0) {
            return Err(AqmField::MarkAbove.wrong("must be at least 1 byte: packets that find an empty queue are not marked"));
        }
        Ok(Step { mark_above: given.mark_above.unwrap_or(u64::MAX), ce_threshold: CeThreshold::of(given)? })
    }
}

impl Aqm for Step {
    fn hears_departures(&self) -> bool {
        false
    }

    #[inline]
    fn admit<B: Backlog>(&mut self, arrival: &Arrival, backlog: &B, _: &mut SplitMix64) -> Judgement {
        let own = if fault!(StepIncludesTheArrival) { arrival.length } else { 0 };
        let is_above = u64::from(backlog.flow_bytes(arrival.flow) + own) >= self.mark_above;
        if is_above { self.ce_threshold.mark(arrival.ecn) } else { Judgement::Pass }
    }

    #[inline]
    fn depart<B: Backlog>(&mut self, now: Time, head: &Packet<()>, _: &B, _: &mut SplitMix64) -> Judgement {
        self.ce_threshold.judge(now.since(head.arrival), head.ecn)
    }

    fn state<B: Backlog>(&self, now: Time, flow: Flow, backlog: &B) -> AqmState {
        let is_long = u64::from(backlog.flow_bytes(flow)) >= self.mark_above;
        let is_late = backlog.waiting_since(flow).is_some_and(|since| self.ce_threshold.is_exceeded(now.since(since)));
        AqmState { is_signalling: is_long || is_late, probability: None }
    }

    fn forget(&mut self, _: Flow) {}

    fn adopt(&mut self, _: Time, _: &Step, _: &[Kept]) {}
}
