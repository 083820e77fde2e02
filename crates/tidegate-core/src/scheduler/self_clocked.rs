//! Self-clocked fair queueing (SCFQ): packets leave in the order of their virtual finish. The clock is the virtual finish of the packet in
//! service.
//!
//! **Law**: flow `i` has a guaranteed rate `r_i`, the sum of which is at most the link's rate `C`.
//! 1. Over any interval in which flows `i` and `j` are both backlogged, `|W_i / r_i - W_j / r_j|` is at most `L_i / r_i + L_j / r_j`.
//! 2. A flow's packets leave by the time that a fluid server of rate `r_i` would have finished them, plus one longest packet of each other
//!    flow at rate `C`. Unlike in WF2Q+, this grows with the number of flows.
//! 3. Flows that were idle have no claim to what they did not use.
//! 4. A suspended flow keeps its stamp when it resumes, up to `R` behind the clock, where `R` is the time of the longest packet at the lowest
//!    rate. Others wait for at most `r_i R` more bytes of it.
//! 5. When parameters change, heads keep their stamps, and the new rates hold from each flow's next head on.
//!
//! **Source**: Golestani, "A self-clocked fair queueing scheme for broadband applications", INFOCOM 1994; as a latency-rate server Stiliadis and
//! Varma, IEEE/ACM ToN 6(5), 1998.
//!
//! **State**: 49 bytes per flow and one ready list.
//!
//! **Cost**: one insertion and one removal of a ready list per packet, one multiplication, no division. A flow whose rate
//! follows from a weight costs two divisions at its first head after the sums of rates and weights have changed.
//!
//! **RTL twin**: none yet.
//!
//! **Deviations**: a packet is stamped when it becomes the head, and a lost head is not charged. The stamp is that of stamping on arrival,
//! because the packet before it has a later stamp than the packet in service at its arrival. The source sets the clock to zero when all queues
//! are empty; here it stops, which is equivalent, because then no flow's stamp is ahead of it. Virtual time has 128 bits, as in WF2Q+.

use super::guaranteed_rates::{GuaranteedRates, STALE};
use super::moves::Moves;
use super::{BuildError, Decision, FlowParameters, Kept, PREFETCH_DISTANCE, Parameter, Scheduler, Scheduling, Setup};
use crate::algorithm::Algorithm;
use crate::packet::{Flow, Head};
use crate::prefetch::prefetch_in;
use crate::ready::{ReadyList, Wheel};
use crate::units::{Time, TimePerByte};
use alloc::vec::Vec;

/// SCFQ. Rates and weights are those of [`super::Wf2qPlus`].
///
/// ```
/// use tidegate_core::packet::{Colour, Flow, Head};
/// use tidegate_core::scheduler::{Decision, FlowParameters, Scheduler, SelfClocked, Setup};
/// use tidegate_core::units::{Rate, Time};
/// let setup = Setup::new(Rate::new(10_000_000).unwrap(), 1500);
/// let weight = |weight| FlowParameters { weight: Some(weight), ..FlowParameters::default() };
/// let mut scfq: SelfClocked = setup.build(&[weight(1), weight(2)]).unwrap();
/// let head = |number| Head { length: 1500, number, arrival: Time::ZERO, colour: Colour::Green };
/// scfq.activate(Time::ZERO, Flow(0), head(0));
/// scfq.activate(Time::ZERO, Flow(1), head(1));
/// assert_eq!(scfq.select(Time::ZERO), Decision::Serve(Flow(1)));
/// ```
#[derive(Clone, Debug)]
pub struct SelfClocked<R = Wheel> {
    shares: Vec<Share>,
    /// Heads by their stamps, of which the low 64 bits are compared.
    stamps: R,
    /// The stamp of the packet in service, or of the last one that was.
    clock: u128,
    /// The time of the longest packet at the lowest of them is a round: in it every flow has a turn.
    rates: GuaranteedRates,
}

#[derive(Clone, Copy, Debug)]
struct Share {
    /// The stamp of the packet before the head, or the clock when the head came if that is later.
    start: u128,
    rate: TimePerByte,
    /// Length of the head.
    length: u32,
    /// The version of `rate`.
    version: u32,
}

impl Share {
    #[inline]
    fn stamp(&self) -> u128 {
        self.start + u128::from(self.rate.ceil(self.length).picoseconds())
    }
}

impl<R: ReadyList> SelfClocked<R> {
    #[inline]
    fn file(&mut self, flow: Flow, head: Head) {
        let share = &mut self.shares[flow.index()];
        share.length = head.length;
        if share.version == self.rates.version() {
            self.stamps.insert(flow, share.stamp() as u64);
        } else {
            self.file_stale(flow);
        }
    }

    /// The same with a rate that has to be taken anew.
    #[cold]
    #[inline(never)]
    fn file_stale(&mut self, flow: Flow) {
        let share = &mut self.shares[flow.index()];
        (share.rate, share.version) = (self.rates.time_per_byte(flow), self.rates.version());
        self.stamps.insert(flow, share.stamp() as u64);
    }

    /// Every rate has to be taken anew, if `all`; that of `flow` in any case.
    fn mark_stale(&mut self, flow: Flow, all: bool) {
        let stale = if all { &mut *self.shares } else { &mut self.shares[flow.index()..=flow.index()] };
        stale.iter_mut().for_each(|share| share.version = STALE);
    }
}

impl<R: ReadyList> Scheduler for SelfClocked<R> {
    const WORK_CONSERVING: bool = true;

    #[inline]
    fn activate(&mut self, _now: Time, flow: Flow, head: Head) {
        let share = &mut self.shares[flow.index()];
        if !fault!(ScfqForgetsItsClock) {
            share.start = share.start.max(self.clock);
        }
        self.file(flow, head);
    }

    #[inline]
    fn select(&mut self, _now: Time) -> Decision {
        match self.stamps.first() {
            Some((_, flow)) => Decision::Serve(flow),
            None => Decision::Idle,
        }
    }

    #[inline(always)]
    fn served(&mut self, _now: Time, flow: Flow, next: Option<Head>) {
        let share = &mut self.shares[flow.index()];
        let stamp = share.stamp();
        share.start = stamp;
        // A head that took the place of a longer, lost one may bear a stamp that the clock has passed.
        self.clock = self.clock.max(stamp);
        self.stamps.drop_first();
        if let Some(head) = next {
            self.file(flow, head);
        }
    }

    #[inline]
    fn lost(&mut self, _now: Time, flow: Flow, next: Option<Head>) {
        self.stamps.remove(flow);
        if let Some(head) = next {
            self.file(flow, head);
        }
    }

    fn resume(&mut self, _now: Time, flow: Flow, head: Head) {
        let share = &mut self.shares[flow.index()];
        share.start = share.start.max(self.clock.saturating_sub(u128::from(self.rates.slowest().picoseconds())));
        self.file(flow, head);
    }

    fn change(&mut self, _now: Time, flow: Flow, parameters: &FlowParameters) -> Result<(), BuildError> {
        let all = self.rates.change(flow, parameters)?;
        self.mark_stale(flow, all);
        Ok(())
    }

    fn forget(&mut self, _now: Time, flow: Flow) {
        let all = self.rates.forget(flow);
        self.mark_stale(flow, all);
        self.shares[flow.index()].start = 0;
    }

    fn adopt(&mut self, now: Time, old: &mut Self, kept: &[Kept]) {
        self.clock = old.clock;
        for kept in kept {
            self.shares[kept.to.index()] = Share { version: STALE, ..old.shares[kept.from.index()] };
        }
        let mut moves = Moves::new(old.shares.len(), kept);
        moves.take_list(&mut old.stamps, &mut self.stamps);
        moves.activate_others(self, now, kept);
    }

    #[inline]
    fn prefetch_hint(&mut self) -> Option<Flow> {
        let hint = self.stamps.ahead(PREFETCH_DISTANCE)?;
        self.prefetch(hint);
        Some(hint)
    }

    #[inline]
    fn prefetch(&self, flow: Flow) {
        prefetch_in(&self.shares, flow.index());
    }
}

impl<R: ReadyList> Algorithm<Scheduling> for SelfClocked<R> {
    const NAME: &'static str = "scfq";
    const SUMMARY: &'static str = "every flow gets its rate or its weight's share; the clock is the packet in service";
    const ACCEPTS: &'static [Parameter] = &[Parameter::Rate, Parameter::Weight];

    fn build((setup, flows): (&Setup, &[FlowParameters])) -> Result<Self, BuildError> {
        let places = setup.places(flows);
        let share = Share { start: 0, rate: setup.rate.time_per_byte(), length: 0, version: STALE };
        Ok(SelfClocked { shares: alloc::vec![share; places], stamps: R::new(places), clock: 0, rates: GuaranteedRates::new(setup, flows)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Colour;
    use crate::units::Rate;

    const CELL: Head = Head { length: 53, number: 0, arrival: Time::ZERO, colour: Colour::Green };

    fn scheduler(weights: &[u32]) -> SelfClocked {
        let flows: Vec<_> = weights.iter().map(|&weight| FlowParameters { weight: Some(weight), ..FlowParameters::default() }).collect();
        Setup::new(Rate::new(149_700_000).unwrap(), 53).build(&flows).unwrap()
    }

    /// The flows served, all of which stay backlogged.
    fn serve(scheduler: &mut SelfClocked, turns: usize) -> Vec<u32> {
        let turn = |_| {
            let Decision::Serve(flow) = scheduler.select(Time::ZERO) else { panic!("all flows are backlogged") };
            scheduler.served(Time::ZERO, flow, Some(CELL));
            flow.0
        };
        (0..turns).map(turn).collect()
    }

    #[test]
    fn a_quarter_and_three_quarters_with_long_queues() {
        let mut scheduler = scheduler(&[1, 3]);
        scheduler.activate(Time::ZERO, Flow(0), CELL);
        scheduler.activate(Time::ZERO, Flow(1), CELL);
        assert_eq!(serve(&mut scheduler, 40), [1, 1, 0, 1].repeat(10));
    }

    #[test]
    fn who_was_idle_joins_where_the_clock_stands() {
        let mut scheduler = scheduler(&[1, 1]);
        scheduler.activate(Time::ZERO, Flow(0), CELL);
        assert_eq!(serve(&mut scheduler, 100), [0; 100]);
        scheduler.activate(Time::ZERO, Flow(1), CELL);
        // Both have the same stamp, and flow 0 was first; from then on they alternate: no credit for the silence.
        assert_eq!(serve(&mut scheduler, 6), [0, 1, 0, 1, 0, 1]);
    }

    #[test]
    fn a_lost_head_is_not_charged() {
        let mut scheduler = scheduler(&[1, 1]);
        scheduler.activate(Time::ZERO, Flow(0), CELL);
        scheduler.activate(Time::ZERO, Flow(1), CELL);
        for _ in 0..10 {
            scheduler.lost(Time::ZERO, Flow(1), Some(CELL));
        }
        assert_eq!(serve(&mut scheduler, 4), [0, 1, 0, 1]);
    }
}
