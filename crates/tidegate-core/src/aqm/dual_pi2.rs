//! DualPI2: one controller for a classic and a low-latency queue, whose signals are coupled so that both kinds of senders get the same rate.
//!
//! **Law.** A controller turns the larger delay of the two queues into `p`. Classic packets are marked or dropped with probability `p^2`, low-latency
//! packets are marked with `max(k p, step)`, where the step marks what waited longer than a threshold. From `k p = 1` on no mark replaces a drop: both
//! queues drop with probability `p^2`, and all other low-latency packets are marked.
//! **Source.** K. De Schepper, B. Briscoe and G. White, "Dual-queue coupled active queue management", RFC 9332, appendix A; the credit of its scheduler
//! and the step are Linux's.
//! **State.** 80 bytes per pair of queues.
//! **Cost.** A multiplication and a few comparisons per packet; four multiplications per update.
//! **RTL twin.** None.
//! **Deviations.** Even queues of a class are classic, and each odd one is the low-latency queue beside the one before it. The first packet of a
//! low-latency backlog is exempt from the step: the source looks at the queue's length when a packet arrives. The update that is due is made up for before
//! a queue changes. While less than two of the longest frames wait behind a packet, the controller says nothing (as in Linux).

use super::parameters::{AqmError, AqmField, AqmParameters, AqmSetup, Gain, QueueManagement};
use super::proportional_integral::{Controller, ONE, Ticks, changed};
use super::{Aqm, AqmState, Judgement};
use crate::algorithm::Algorithm;
use crate::buffer::Arrival;
use crate::packet::{Flow, Packet};
use crate::prefetch::prefetch_in;
use crate::queue::Backlog;
use crate::random::SplitMix64;
use crate::scheduler::Kept;
use crate::units::{Duration, SERIAL_HORIZON, Time};
use alloc::vec::Vec;

/// DualPI2, with a controller per pair of queues.
#[derive(Clone, Debug)]
pub struct DualPi2 {
    rule: Rule,
    ingress: bool,
    pairs: Vec<Pair>,
}

#[derive(Clone, Copy, Debug)]
struct Rule {
    controller: Controller,
    period: Duration,
    /// The largest `p`.
    most: u64,
    /// The coupling factor `k`.
    coupling: u64,
    step: Duration,
    ramp: Duration,
    /// The probability of the ramp per tick, in units of 2^-16 of a decision's.
    slope: u64,
    /// The controller is silent while fewer bytes wait.
    small: u64,
    ecn: bool,
    draws: bool,
}

/// The state of two queues.
#[derive(Clone, Copy, Debug)]
struct Pair {
    /// `p`, a 56-bit fraction.
    probability: u64,
    last_delay: Ticks,
    /// When the next update is due; `None` at rest, until a packet arrives.
    next: Option<Time>,
    /// When the oldest packet of each queue arrived.
    heads: [Option<Time>; 2],
    /// What has been added up towards the next signal of each queue.
    sums: [u64; 2],
    /// True if the low-latency queue was empty when its oldest packet arrived.
    is_first: bool,
}

/// What the controller says now, in units of 2^-32.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Probabilities {
    base: u64,
    low_latency: u64,
    classic: u64,
    is_overload: bool,
}

/// The probability 1 of a decision.
const CERTAIN: u64 = 1 << 32;

/// The place of a queue in its pair.
const CLASSIC: usize = 0;
const LOW_LATENCY: usize = 1;

const fn side(flow: Flow) -> usize {
    flow.index() & 1
}

impl Pair {
    const NEW: Pair = Pair { probability: 0, last_delay: Ticks::ZERO, next: None, heads: [None; 2], sums: [0; 2], is_first: false };

    /// Makes the updates that are due, each with the ages of the oldest packets at its instant.
    #[inline]
    fn catch_up(&mut self, rule: &Rule, now: Time) {
        while let Some(due) = self.next.filter(|&due| !now.is_before(due)) {
            let age = |head: Time| if due.is_before(head) { Duration::ZERO } else { due.since(head) };
            let delay = self.heads.iter().flatten().map(|&head| age(head)).max().unwrap_or(Duration::ZERO);
            self.update(rule, delay);
            let is_at_rest = self.probability == 0 && self.last_delay == Ticks::ZERO && self.heads == [None; 2];
            self.next = if is_at_rest { None } else { Some(due + rule.period) };
        }
    }

    fn update(&mut self, rule: &Rule, delay: Duration) {
        let delay = Ticks::of(delay);
        self.probability = changed(self.probability, rule.controller.change(delay, self.last_delay), rule.most);
        self.last_delay = delay;
    }

    #[inline]
    fn probabilities(&self, rule: &Rule) -> Probabilities {
        let base = self.probability >> 24;
        let coupled = if fault!(DualPi2Uncoupled) { 0 } else { rule.coupling * base };
        let squared = ((u128::from(base) * u128::from(base)) >> 32) as u64;
        let classic = if fault!(DualPi2WithoutSquare) { base } else { squared };
        Probabilities { base, low_latency: coupled.min(CERTAIN), classic, is_overload: coupled >= CERTAIN }
    }

    /// True if a packet of this queue is signalled at this probability.
    #[inline]
    fn hits(&mut self, side: usize, probability: u64, rule: &Rule, draws: &mut SplitMix64) -> bool {
        if rule.draws {
            return u64::from(draws.draw()) < probability;
        }
        let sum = &mut self.sums[side];
        *sum += probability;
        let is_hit = *sum > CERTAIN;
        if is_hit {
            *sum -= CERTAIN;
        }
        is_hit
    }

    /// True if a packet of this queue is signalled at the probability of classic packets.
    #[inline]
    fn hits_squared(&mut self, side: usize, said: Probabilities, rule: &Rule, draws: &mut SplitMix64) -> bool {
        if rule.draws {
            // Both of two lots: the product of their probabilities, and the second is drawn only after the first.
            return u64::from(draws.draw()) < said.base && u64::from(draws.draw()) < said.base;
        }
        self.hits(side, said.classic, rule, draws)
    }

    /// Notes the oldest packet of a queue.
    #[inline]
    fn look<B: Backlog>(&mut self, flow: Flow, backlog: &B) {
        self.heads[side(flow)] = backlog.waiting_since(flow);
    }
}

impl Rule {
    /// The probability at which the step, or its ramp, marks a packet that has waited this long.
    #[inline]
    fn of_step(&self, waited: Duration) -> u64 {
        let beyond = waited.saturating_sub(self.step);
        if beyond == Duration::ZERO {
            0
        } else if beyond >= self.ramp {
            CERTAIN
        } else {
            (u64::from(Ticks::of(beyond).0) * self.slope) >> 16
        }
    }
}

impl Algorithm<QueueManagement> for DualPi2 {
    const NAME: &'static str = "dualpi2";
    const SUMMARY: &'static str = "Dual-queue coupled AQM: L4S and classic traffic get equal rates, L4S without the delay (RFC 9332).";
    const ACCEPTS: &'static [AqmField] = &[
        AqmField::Target,
        AqmField::Ecn,
        AqmField::UpdatePeriod,
        AqmField::Alpha,
        AqmField::Beta,
        AqmField::Derandomise,
        AqmField::Coupling,
        AqmField::Step,
        AqmField::Ramp,
        AqmField::DelayOnSaturation,
        AqmField::Ingress,
    ];

    fn build((setup, given): (&AqmSetup, &AqmParameters)) -> Result<DualPi2, AqmError> {
        let target = given.target.unwrap_or_else(|| setup.usual_target(Duration::from_milliseconds(15)));
        if target < Duration::from_microseconds(1) || given.target.is_some() && target > Duration::from_seconds(4) {
            return Err(AqmField::Target.wrong("must be from 1 us to 4 s: longer delays are not told apart"));
        }
        let period = given.update_period.unwrap_or(Duration::from_milliseconds(16));
        if period < Duration::from_microseconds(100) || period > Duration::from_seconds(1) {
            return Err(AqmField::UpdatePeriod.wrong("must be from 100 us to 1 s: delays change as fast as round-trip times"));
        }
        let gain = |given: Option<Gain>, usual| given.or(Gain::from_millihertz(usual));
        let (Some(alpha), Some(beta)) = (gain(given.alpha, 160), gain(given.beta, 3200)) else { unreachable!("both are below 1000 Hz") };
        let coupling = u64::from(given.coupling.unwrap_or(2));
        if coupling == 0 || coupling > 255 {
            return Err(AqmField::Coupling.wrong("must be from 1 to 255; 2 gives equal rates"));
        }
        let (step, ramp) = (given.step.unwrap_or(Duration::from_milliseconds(1)), given.ramp.unwrap_or(Duration::ZERO));
        if step > Duration::from_seconds(4) {
            return Err(AqmField::Step.wrong("must be at most 4 s"));
        }
        if ramp > Duration::from_seconds(4) || ramp != Duration::ZERO && Ticks::of(ramp) == Ticks::ZERO {
            return Err(AqmField::Ramp.wrong("must be 0, or from 66 ns to 4 s"));
        }
        let rule = Rule {
            controller: Controller::new(target, alpha, beta),
            period,
            most: if given.delay_on_saturation.unwrap_or(false) { ONE / coupling - 1 } else { ONE },
            coupling,
            step,
            ramp,
            slope: (CERTAIN << 16).checked_div(Ticks::of(ramp).0.into()).unwrap_or(0),
            small: 2 * u64::from(setup.longest_frame),
            ecn: given.ecn.unwrap_or(true),
            draws: !given.derandomise.unwrap_or(true),
        };
        let ingress = given.ingress.unwrap_or(false);
        Ok(DualPi2 { rule, ingress, pairs: alloc::vec![Pair::NEW; setup.flows.div_ceil(2)] })
    }
}

impl Aqm for DualPi2 {
    fn charges_drops(&self) -> bool {
        self.ingress
    }

    #[inline]
    fn admit<B: Backlog>(&mut self, arrival: &Arrival, _: &B, _: &mut SplitMix64) -> Judgement {
        self.pairs[arrival.flow.index() >> 1].catch_up(&self.rule, arrival.now);
        Judgement::Pass
    }

    #[inline]
    fn depart<B: Backlog>(&mut self, now: Time, head: &Packet<()>, backlog: &B, draws: &mut SplitMix64) -> Judgement {
        let (rule, pair) = (&self.rule, &mut self.pairs[head.flow.index() >> 1]);
        pair.catch_up(rule, now);
        let own = backlog.flow_bytes(head.flow) - head.length;
        let other = if pair.heads[side(head.flow) ^ 1].is_some() { backlog.flow_bytes(Flow(head.flow.0 ^ 1)) } else { 0 };
        let mut said = Probabilities { base: 0, low_latency: 0, classic: 0, is_overload: false };
        if u64::from(own) + u64::from(other) >= rule.small {
            said = pair.probabilities(rule);
        }
        let can_mark = rule.ecn && head.ecn.is_capable();
        if side(head.flow) == CLASSIC {
            return match pair.hits_squared(CLASSIC, said, rule, draws) {
                true if can_mark && !said.is_overload => Judgement::Mark,
                true => Judgement::Drop,
                false => Judgement::Pass,
            };
        }
        if said.is_overload {
            return match pair.hits_squared(LOW_LATENCY, said, rule, draws) {
                true => Judgement::Drop,
                false if can_mark => Judgement::Mark,
                false => Judgement::Pass,
            };
        }
        let of_step = if pair.is_first { 0 } else { rule.of_step(now.since(head.arrival)) };
        match pair.hits(LOW_LATENCY, said.low_latency.max(of_step), rule, draws) {
            true if can_mark => Judgement::Mark,
            true => Judgement::Drop,
            false => Judgement::Pass,
        }
    }

    #[inline]
    fn joined<B: Backlog>(&mut self, now: Time, flow: Flow, backlog: &B) {
        let pair = &mut self.pairs[flow.index() >> 1];
        pair.next = pair.next.or(Some(now + self.rule.period));
        if pair.heads[side(flow)].is_none() {
            pair.look(flow, backlog);
            pair.is_first |= side(flow) == LOW_LATENCY;
        }
    }

    #[inline]
    fn left<B: Backlog>(&mut self, now: Time, flow: Flow, backlog: &B) {
        let pair = &mut self.pairs[flow.index() >> 1];
        pair.catch_up(&self.rule, now);
        pair.look(flow, backlog);
        pair.is_first &= side(flow) == CLASSIC;
    }

    fn state<B: Backlog>(&self, _: Time, flow: Flow, _: &B) -> AqmState {
        AqmState { is_signalling: false, probability: Some(self.pairs[flow.index() >> 1].probability >> 24) }
    }

    #[inline]
    fn prefetch(&self, flow: Flow) {
        prefetch_in(&self.pairs, flow.index() >> 1);
    }

    fn forget(&mut self, flow: Flow) {
        let pair = &mut self.pairs[flow.index() >> 1];
        (pair.heads[side(flow)], pair.sums[side(flow)]) = (None, 0);
        if pair.heads == [None; 2] {
            *pair = Pair::NEW;
        }
    }

    fn adopt(&mut self, _: Time, old: &DualPi2, kept: &[Kept]) {
        for flow in kept.iter().filter(|flow| side(flow.from) == side(flow.to)) {
            self.pairs[flow.to.index() >> 1] = old.pairs[flow.from.index() >> 1];
        }
    }

    fn refresh(&mut self, now: Time) {
        let oldest = now - SERIAL_HORIZON;
        for pair in &mut self.pairs {
            pair.next = pair.next.map(|next| next.later(oldest));
            pair.heads = pair.heads.map(|head| head.map(|head| head.later(oldest)));
        }
    }
}

#[cfg(test)]
mod tests;
