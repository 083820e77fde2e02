//! PIE: a controller turns the delay of a queue into the probability at which arriving packets are dropped or marked.
//!
//! **Law.** Every `update_period` the probability changes by `alpha (delay - target) + beta (delay - last delay)`, both scaled down while it is
//! small. Nothing is dropped in the first `max_burst` after a quiet time, nor from a queue of less than two of the longest frames.
//! **Source.** R. Pan, P. Natarajan, F. Baker and G. White, "Proportional integral controller enhanced (PIE)", RFC 8033, sections 4 and 5.
//! **State.** 48 bytes per queue.
//! **Cost.** A few comparisons per packet, and at most one random number; six multiplications per update.
//! **RTL twin.** None.
//! **Deviations.** The delay is the age of the oldest packet, so that no departure rate is estimated (sections 4.3 and 5.2). An update that is due
//! is made up for when the queue changes or is joined. A queue at rest starts its periods afresh when it is joined (in place of section 5.3).
//! The size of a packet does not change its probability (RFC 7141). `steep` is Linux's and not in RFC 8033.

use super::parameters::{AqmError, AqmField, AqmParameters, AqmSetup, Gain, QueueManagement};
use super::proportional_integral::{Controller, LONGEST_DELAY, ONE, Ticks, changed};
use super::{Aqm, AqmState, Judgement};
use crate::algorithm::Algorithm;
use crate::buffer::Arrival;
use crate::packet::{Ecn, Flow};
use crate::prefetch::prefetch_in;
use crate::queue::Backlog;
use crate::random::SplitMix64;
use crate::scheduler::Kept;
use crate::units::{Duration, SERIAL_HORIZON, Time};
use alloc::vec::Vec;

/// The probabilities below which a change is scaled down, and the shift (RFC 8033, section 4.2).
const SCALING: [(u64, u32); 6] =
    [(ONE / 1_000_000, 11), (ONE / 100_000, 9), (ONE / 10_000, 7), (ONE / 1000, 5), (ONE / 100, 3), (ONE / 10, 1)];
/// The delay above which a steep controller adds to the probability.
const STEEP_DELAY: Ticks = Ticks::of(Duration::from_milliseconds(250));
/// The sum of probabilities since the last drop below which none follows (RFC 8033, section 5.4).
const LEAST_SUM: u64 = ONE / 100 * 85 + ONE % 100 * 85 / 100;
/// The sum of probabilities since the last drop from which one follows without a draw (RFC 8033, section 5.4).
const CERTAIN_SUM: u64 = ONE / 2 * 17;

/// PIE, with a state per queue.
#[derive(Clone, Debug)]
pub struct Pie {
    rule: Rule,
    flows: Vec<Control>,
}

#[derive(Clone, Copy, Debug)]
struct Rule {
    controller: Controller,
    half_target: Ticks,
    period: Duration,
    max_burst: Duration,
    /// Queues of fewer bytes pass.
    small: u64,
    ecn: bool,
    ecn_limit: u64,
    derandomise: bool,
    steep: bool,
}

/// Whether a queue is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// It was never joined: its periods begin when it is.
    New,
    Empty,
    Backlogged,
}

/// The state of one queue.
#[derive(Clone, Copy, Debug)]
struct Control {
    probability: u64,
    /// The probabilities of the packets since the last drop or mark, added up.
    accumulated: u64,
    /// When the next update is due.
    next: Time,
    /// When its oldest packet arrived, while it is backlogged.
    head: Time,
    /// What is left of the time in which nothing is dropped.
    burst: Duration,
    /// The delay at the last update.
    last_delay: Ticks,
    phase: Phase,
}

impl Algorithm<QueueManagement> for Pie {
    const NAME: &'static str = "pie";
    const SUMMARY: &'static str =
        "Proportional integral controller enhanced: drops or marks arrivals with a probability that keeps delays at 15 ms (RFC 8033).";
    const ACCEPTS: &'static [AqmField] = &[
        AqmField::Target,
        AqmField::Ecn,
        AqmField::UpdatePeriod,
        AqmField::Alpha,
        AqmField::Beta,
        AqmField::MaxBurst,
        AqmField::EcnLimit,
        AqmField::Derandomise,
        AqmField::Steep,
    ];

    fn build((setup, given): (&AqmSetup, &AqmParameters)) -> Result<Pie, AqmError> {
        let target = given.target.unwrap_or_else(|| setup.usual_target(Duration::from_milliseconds(15)));
        // Delays beyond 8.8 s are not told apart. At rates at which frames take that long, none is to be dropped for it.
        if target < Duration::from_microseconds(1) || (given.target.is_some() && target > Duration::from_seconds(4)) {
            return Err(AqmField::Target.wrong("must be from 1 us to 4 s"));
        }
        let period = given.update_period.unwrap_or(Duration::from_milliseconds(15));
        if !(Duration::from_microseconds(100)..=Duration::from_seconds(1)).contains(&period) {
            return Err(AqmField::UpdatePeriod.wrong("must be from 100 us to 1 s"));
        }
        let max_burst = given.max_burst.unwrap_or(Duration::from_milliseconds(150));
        if max_burst > Duration::from_seconds(4) {
            return Err(AqmField::MaxBurst.wrong("must be at most 4 s"));
        }
        let gain = |given: Option<Gain>, usual| given.or(Gain::from_millihertz(usual));
        let (Some(alpha), Some(beta)) = (gain(given.alpha, 125), gain(given.beta, 1250)) else { unreachable!("both are below 1000 Hz") };
        if alpha.millihertz() == 0 {
            return Err(AqmField::Alpha.wrong("must be at least 0.001 Hz: without it nothing leads to the target"));
        }
        let ecn_limit = given.ecn_limit.map_or(ONE / 10, |limit| limit.units() << 24);
        let controller = Controller::new(target, alpha, beta);
        let rule = Rule {
            controller,
            half_target: Ticks(controller.target.0 / 2),
            period,
            max_burst,
            small: 2 * u64::from(setup.longest_frame),
            ecn: given.ecn.unwrap_or(true),
            ecn_limit,
            derandomise: given.derandomise.unwrap_or(true),
            steep: given.steep.unwrap_or(false),
        };
        Ok(Pie { rule, flows: alloc::vec![Control::new(max_burst); setup.flows] })
    }
}

impl Aqm for Pie {
    fn judges_departures(&self) -> bool {
        false
    }

    #[inline]
    fn admit<B: Backlog>(&mut self, arrival: &Arrival, backlog: &B, draws: &mut SplitMix64) -> Judgement {
        let control = &mut self.flows[arrival.flow.index()];
        control.catch_up(&self.rule, arrival.now);
        if control.burst > Duration::ZERO && !fault!(PieWithoutBurst) {
            return Judgement::Pass;
        }
        control.judge(&self.rule, arrival.ecn, u64::from(backlog.flow_bytes(arrival.flow)), draws)
    }

    #[inline]
    fn joined<B: Backlog>(&mut self, _: Time, flow: Flow, backlog: &B) {
        let control = &mut self.flows[flow.index()];
        if control.phase != Phase::Backlogged {
            control.look(flow, backlog);
        }
    }

    #[inline]
    fn left<B: Backlog>(&mut self, now: Time, flow: Flow, backlog: &B) {
        let control = &mut self.flows[flow.index()];
        control.catch_up(&self.rule, now);
        control.look(flow, backlog);
    }

    /// The packet did not join: it counts as a signal.
    fn refused(&mut self, _: Time, flow: Flow) {
        self.flows[flow.index()].accumulated = 0;
    }

    fn state<B: Backlog>(&self, _: Time, flow: Flow, _: &B) -> AqmState {
        AqmState { is_signalling: false, probability: Some(self.flows[flow.index()].probability >> 24) }
    }

    #[inline]
    fn prefetch(&self, flow: Flow) {
        prefetch_in(&self.flows, flow.index());
    }

    fn forget(&mut self, flow: Flow) {
        self.flows[flow.index()] = Control::new(self.rule.max_burst);
    }

    fn adopt(&mut self, _: Time, old: &Pie, kept: &[Kept]) {
        for flow in kept {
            self.flows[flow.to.index()] = old.flows[flow.from.index()];
        }
    }

    fn refresh(&mut self, now: Time) {
        for control in &mut self.flows {
            control.next = control.next.later(now - SERIAL_HORIZON);
            control.head = control.head.later(now - SERIAL_HORIZON);
        }
    }
}

impl Control {
    const fn new(max_burst: Duration) -> Control {
        let (next, head, last_delay) = (Time::ZERO, Time::ZERO, Ticks::ZERO);
        Control { probability: 0, accumulated: 0, next, head, burst: max_burst, last_delay, phase: Phase::New }
    }

    /// Notes the oldest packet of the queue.
    #[inline]
    fn look<B: Backlog>(&mut self, flow: Flow, backlog: &B) {
        match backlog.waiting_since(flow) {
            Some(arrival) => (self.phase, self.head) = (Phase::Backlogged, arrival),
            None => self.phase = Phase::Empty,
        }
    }

    /// Makes the updates that are due, each with the age of the oldest packet at its instant.
    #[inline]
    fn catch_up(&mut self, rule: &Rule, now: Time) {
        if !self.next.is_after(now) || self.phase == Phase::New {
            self.catch_up_at_length(rule, now);
        }
    }

    #[inline(never)]
    fn catch_up_at_length(&mut self, rule: &Rule, now: Time) {
        if self.phase == Phase::New {
            (self.next, self.phase) = (now + rule.period, Phase::Empty);
        }
        while !self.next.is_after(now) {
            let is_empty = self.phase == Phase::Empty;
            let delay = if is_empty { Ticks::ZERO } else { Ticks::of(self.next.since(self.head)) };
            let last = core::mem::replace(&mut self.last_delay, delay);
            let before = self.probability;
            self.update(rule, delay, last);
            // From here on every further update would change nothing.
            let is_at_rest = is_empty && self.probability == 0 && last == Ticks::ZERO;
            let is_saturated = last == LONGEST_DELAY && delay == last && self.probability == before && self.burst == Duration::ZERO;
            if is_at_rest || is_saturated || fault!(PieUpdatesOnce) {
                self.next = now + rule.period;
                return;
            }
            self.next += rule.period;
        }
    }

    fn update(&mut self, rule: &Rule, delay: Ticks, last: Ticks) {
        self.burst = self.burst.saturating_sub(rule.period);
        let shift = SCALING.iter().find(|(below, _)| self.probability < *below).map_or(0, |&(_, shift)| shift);
        let before = if fault!(PieIgnoresTheTrend) { delay } else { last };
        let mut change = rule.controller.change(delay, before) >> if fault!(PieUnscaled) { 0 } else { shift };
        if self.probability >= ONE / 10 {
            change = change.min(i128::from(ONE / 50));
        }
        if rule.steep && delay > STEEP_DELAY {
            change += i128::from(ONE / 50);
        }
        if delay == Ticks::ZERO && last == Ticks::ZERO {
            change -= i128::from(changed(self.probability, change, u64::MAX) >> 6);
        }
        self.probability = changed(self.probability, change, ONE);
        if self.probability == 0 && delay < rule.half_target && last < rule.half_target {
            (self.burst, self.accumulated) = (rule.max_burst, 0);
        }
    }

    /// Judges an arrival at a queue of this many bytes.
    #[inline]
    fn judge(&mut self, rule: &Rule, ecn: Ecn, bytes: u64, draws: &mut SplitMix64) -> Judgement {
        let is_calm = self.last_delay < rule.half_target && self.probability < ONE / 5;
        if is_calm || bytes < rule.small {
            return Judgement::Pass;
        }
        let mut is_certain = false;
        if rule.derandomise {
            self.accumulated = if self.probability > 0 { self.accumulated + self.probability } else { 0 };
            if self.accumulated < LEAST_SUM {
                return Judgement::Pass;
            }
            is_certain = self.accumulated >= CERTAIN_SUM;
        }
        if !is_certain && u64::from(draws.draw()) >= self.probability >> 24 {
            return Judgement::Pass;
        }
        self.accumulated = 0;
        if rule.ecn && ecn.is_capable() && self.probability <= rule.ecn_limit { Judgement::Mark } else { Judgement::Drop }
    }
}

#[cfg(test)]
mod tests;
