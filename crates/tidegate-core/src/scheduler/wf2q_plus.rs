//! Worst-case fair weighted fair queueing plus (WF2Q+): of the heads that a fluid server would have begun to serve, the one that it would
//! finish first leaves first.
//!
//! **Law**: flow `i` has a guaranteed rate `r_i`, the sum of which is at most the link's rate `C`.
//! 1. A flow's packets leave by the time that a fluid server of rate `r_i` would have finished them, plus `longest packet / C`. So a flow
//!    within a token bucket of rate `r_i` is delayed by at most `burst / r_i + longest packet / C`.
//! 2. No packet starts before its virtual start (worst-case fairness). Let `L_i` be the flow's own longest packet. Backlogged from t1 to t2, when
//!    one of its packets departs, it gets at least `r_i * (t2 - t1) - L_i - (longest packet - L_i) * r_i / C`.
//! 3. Flows that were idle have no claim to what they did not use.
//! 4. When parameters change, heads keep their stamps, and the new rates hold from each flow's next head on. While the rates that stamps were
//!    made at sum up to at most `C`, laws 1 and 2 hold for every flow that is not changed.
//!
//! **Source**: Bennett and Zhang, "Hierarchical packet fair queueing algorithms", IEEE/ACM ToN 5(5), 1997.
//!
//! **State**: 49 bytes per flow and two ready lists.
//!
//! **Cost**: at most two insertions and two removals of a ready list per packet, two multiplications, no division. A flow whose rate follows
//! from a weight costs two divisions at its first head after the sums of rates and weights have changed.
//!
//! **RTL twin**: none yet.
//!
//! **Deviations**: virtual time has 128 bits of picoseconds, of which the lists compare the low 64. A slow flow alone on a fast link drives
//! virtual time around 64 bits within milliseconds. The stamps of flows that were idle meanwhile must not seem to be in the future. The
//! maximum with the smallest virtual start is taken when the link asks for a packet, not continuously. When the last packet has left, virtual
//! time jumps to the latest finish, which forgives all flows alike (the paper restarts at zero).

use super::guaranteed_rates::{GuaranteedRates, STALE};
use super::moves::Moves;
use super::{BuildError, Decision, FlowParameters, Kept, PREFETCH_DISTANCE, Parameter, Scheduler, Scheduling, Setup};
use crate::algorithm::Algorithm;
use crate::packet::{Flow, Head};
use crate::prefetch::prefetch_in;
use crate::ready::{ReadyList, Wheel};
use crate::units::{Duration, Time, TimePerByte};
use alloc::vec::Vec;

/// WF2Q+.
///
/// A flow's guaranteed rate is its `rate`; flows without one share what the others leave in proportion to their `weight` (1 unless
/// given). Capacity that is not used is shared among backlogged flows in proportion to their guaranteed rates.
///
/// ```
/// use tidegate_core::packet::{Colour, Flow, Head};
/// use tidegate_core::scheduler::{Decision, FlowParameters, Scheduler, Setup, Wf2qPlus};
/// use tidegate_core::units::{Rate, Time};
/// let setup = Setup::new(Rate::new(10_000_000).unwrap(), 1500);
/// let weight = |weight| FlowParameters { weight: Some(weight), ..FlowParameters::default() };
/// let mut wf2q: Wf2qPlus = setup.build(&[weight(1), weight(2)]).unwrap();
/// let head = |number| Head { length: 1500, number, arrival: Time::ZERO, colour: Colour::Green };
/// wf2q.activate(Time::ZERO, Flow(0), head(0));
/// wf2q.activate(Time::ZERO, Flow(1), head(1));
/// assert_eq!(wf2q.select(Time::ZERO), Decision::Serve(Flow(1)));
/// ```
#[derive(Clone, Debug)]
pub struct Wf2qPlus<R = Wheel> {
    shares: Vec<Share>,
    /// Heads that have started in virtual time, by their virtual finish.
    eligible: R,
    /// Heads that have not, by their virtual start.
    pending: R,
    rates: GuaranteedRates,
    link: TimePerByte,
    /// Virtual time when the latest service began ...
    virtual_time: u128,
    /// ... which was at this instant ...
    service_start: Time,
    /// ... and by how much that service advances it in all.
    service_span: Duration,
    /// The latest virtual finish of all packets served.
    latest_finish: u128,
    /// The flow served last.
    in_service: Flow,
}

#[derive(Clone, Copy, Debug)]
struct Share {
    /// Virtual start of the head; the virtual finish of the last packet while there is no head.
    start: u128,
    rate: TimePerByte,
    /// Length of the head.
    length: u32,
    /// The version of `rate`, and in the lowest bit [`ELIGIBLE`].
    version: u32,
}

/// The head is eligible, not pending.
const ELIGIBLE: u32 = 1;

/// In place of a flow: none.
const NO_FLOW: Flow = Flow(u32::MAX);

impl Share {
    #[inline]
    fn finish(&self) -> u128 {
        self.start + u128::from(self.rate.ceil(self.length).picoseconds())
    }
}

/// The part of a virtual time that the lists compare.
#[inline]
const fn low(virtual_time: u128) -> u64 {
    virtual_time as u64
}

impl<R: ReadyList> Wf2qPlus<R> {
    /// Virtual time at `now`. It advances with the work of the service in progress, in which time stands in for work.
    #[inline]
    fn virtual_time(&self, now: Time) -> u128 {
        let work = now.since(self.service_start).min(self.service_span);
        let work = if fault!(Wf2qPlusAddsWorkAtTheStart) { self.service_span } else { work };
        self.virtual_time + u128::from(work.picoseconds())
    }

    /// Files the head of `flow`, whose share is up to date.
    #[inline]
    fn file(&mut self, virtual_time: u128, flow: Flow) {
        if self.shares[flow.index()].version & !ELIGIBLE == self.rates.version() {
            self.file_current(virtual_time, flow);
        } else {
            self.file_stale(virtual_time, flow);
        }
    }

    /// The same with a rate that has to be taken anew.
    #[cold]
    #[inline(never)]
    fn file_stale(&mut self, virtual_time: u128, flow: Flow) {
        let share = &mut self.shares[flow.index()];
        (share.rate, share.version) = (self.rates.time_per_byte(flow), self.rates.version());
        self.file_current(virtual_time, flow);
    }

    #[inline(always)]
    fn file_current(&mut self, virtual_time: u128, flow: Flow) {
        let share = &mut self.shares[flow.index()];
        if share.start <= virtual_time {
            share.version |= ELIGIBLE;
            self.eligible.insert(flow, low(share.finish()));
        } else {
            share.version &= !ELIGIBLE;
            self.pending.insert(flow, low(share.start));
        }
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.eligible.is_empty() && self.pending.is_empty()
    }

    /// Every rate has to be taken anew, if `all`; that of `flow` in any case.
    fn mark_stale(&mut self, flow: Flow, all: bool) {
        let stale = if all { &mut *self.shares } else { &mut self.shares[flow.index()..=flow.index()] };
        stale.iter_mut().for_each(|share| share.version &= ELIGIBLE);
    }
}

impl<R: ReadyList> Scheduler for Wf2qPlus<R> {
    const WORK_CONSERVING: bool = true;

    fn start(&mut self, now: Time) {
        self.service_start = now;
    }

    #[inline]
    fn activate(&mut self, now: Time, flow: Flow, head: Head) {
        if self.is_empty() && now.since(self.service_start) >= self.service_span {
            self.virtual_time = (self.virtual_time + u128::from(self.service_span.picoseconds())).max(self.latest_finish);
            self.service_start = now;
            self.service_span = Duration::ZERO;
        }
        let virtual_time = self.virtual_time(now);
        let share = &mut self.shares[flow.index()];
        // A flow is backlogged until its last packet has left: what comes before follows on that one.
        if flow != self.in_service || now.since(self.service_start) >= self.service_span {
            share.start = share.start.max(virtual_time);
        }
        share.length = head.length;
        self.file(virtual_time, flow);
    }

    #[inline(always)]
    fn select(&mut self, now: Time) -> Decision {
        let mut virtual_time = self.virtual_time(now);
        if self.eligible.is_empty() {
            let Some((earliest, _)) = self.pending.first() else { return Decision::Idle };
            let ahead = earliest.wrapping_sub(low(virtual_time));
            if (ahead as i64) > 0 {
                self.virtual_time += u128::from(ahead);
                virtual_time += u128::from(ahead);
            }
        }
        while let Some(flow) = self.pending.pop_due(low(virtual_time)) {
            // Flows of one rate that began together become eligible together, too many to have been hinted one per turn.
            if let Some(ahead) = self.pending.ahead(PREFETCH_DISTANCE) {
                self.prefetch(ahead);
            }
            let share = &mut self.shares[flow.index()];
            share.version |= ELIGIBLE;
            self.eligible.insert(flow, low(share.finish()));
        }
        match self.eligible.first() {
            Some((_, flow)) => Decision::Serve(flow),
            None => Decision::Idle,
        }
    }

    #[inline(always)]
    fn served(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        let share = &mut self.shares[flow.index()];
        let finish = share.finish();
        let span = self.link.ceil(share.length);
        share.start = finish;
        if finish > self.latest_finish {
            self.latest_finish = finish;
        }
        // The service before this one is complete, however long it took.
        self.virtual_time += u128::from(self.service_span.picoseconds());
        self.service_start = now;
        self.service_span = span;
        self.in_service = flow;
        self.eligible.drop_first();
        if let Some(head) = next {
            self.shares[flow.index()].length = head.length;
            self.file(self.virtual_time, flow);
        }
    }

    #[inline]
    fn lost(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        if self.shares[flow.index()].version & ELIGIBLE > 0 {
            self.eligible.remove(flow);
        } else {
            self.pending.remove(flow);
        }
        if let Some(head) = next {
            self.shares[flow.index()].length = head.length;
            self.file(self.virtual_time(now), flow);
        }
    }

    #[inline]
    fn prefetch_hint(&mut self) -> Option<Flow> {
        // Few flows are eligible; most flows of the next turns are still pending.
        let hint =
            self.eligible.ahead(PREFETCH_DISTANCE).or_else(|| self.pending.ahead(PREFETCH_DISTANCE.saturating_sub(self.eligible.len())))?;
        self.prefetch(hint);
        Some(hint)
    }

    #[inline]
    fn prefetch(&self, flow: Flow) {
        prefetch_in(&self.shares, flow.index());
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
        if self.in_service == flow {
            self.in_service = NO_FLOW;
        }
    }

    fn adopt(&mut self, now: Time, old: &mut Self, kept: &[Kept]) {
        (self.virtual_time, self.latest_finish) = (old.virtual_time, old.latest_finish);
        (self.service_start, self.service_span) = (old.service_start, old.service_span);
        for kept in kept {
            let share = &mut self.shares[kept.to.index()];
            *share = old.shares[kept.from.index()];
            share.version = STALE | share.version & ELIGIBLE;
            if kept.from == old.in_service {
                self.in_service = kept.to;
            }
        }
        let mut moves = Moves::new(old.shares.len(), kept);
        moves.take_list(&mut old.eligible, &mut self.eligible);
        moves.take_list(&mut old.pending, &mut self.pending);
        moves.activate_others(self, now, kept);
    }

    fn refresh(&mut self, now: Time) {
        if now.since(self.service_start) >= self.service_span {
            self.virtual_time += u128::from(self.service_span.picoseconds());
            self.service_start = now;
            self.service_span = Duration::ZERO;
        }
    }
}

impl<R: ReadyList> Algorithm<Scheduling> for Wf2qPlus<R> {
    const NAME: &'static str = "wf2q+";
    const SUMMARY: &'static str = "every flow gets its rate or its weight's share, with the delay bound and the fairness of a fluid server";
    const ACCEPTS: &'static [Parameter] = &[Parameter::Rate, Parameter::Weight];

    fn build((setup, flows): (&Setup, &[FlowParameters])) -> Result<Self, BuildError> {
        let (places, link) = (setup.places(flows), setup.rate.time_per_byte());
        Ok(Wf2qPlus {
            shares: alloc::vec![Share { start: 0, rate: link, length: 0, version: STALE }; places],
            eligible: R::new(places),
            pending: R::new(places),
            rates: GuaranteedRates::new(setup, flows)?,
            link,
            virtual_time: 0,
            service_start: Time::ZERO,
            service_span: Duration::ZERO,
            latest_finish: 0,
            in_service: NO_FLOW,
        })
    }
}
