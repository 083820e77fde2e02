//! COBALT: CoDel whose frequency decays while delays are short, beside BLUE, which drops at random after overflows.
//!
//! **Law.** Packets that waited longer than the target, and longer than four of the longest frames take, are dropped or marked `interval / sqrt(n)`
//! apart. While delays are shorter, n falls in the same rhythm. The last packet of a queue is never dropped. With ingress accounting packets also pass
//! that waited no longer than two of the longest frames of each backlogged queue take.
//! **Source.** T. Høiland-Jørgensen, D. Täht and J. Morton, "Piece of CAKE", LANMAN 2018, section III. W. Feng et al., "The BLUE active queue
//! management algorithms", IEEE/ACM Transactions on Networking 10(4), 2002. The constants are those of Linux's CAKE.
//! **State.** 40 bytes per queue.
//! **Cost.** A few comparisons per packet; one table entry and five multiplications per drop, mark or decay; a random number after overflows.
//! **RTL twin.** None.
//! **Deviations.** A queue that becomes empty has an empty turn at once, and more while it stays empty, as fast as they count. After a long good
//! time n falls by more than 1 at once where it is above 256. CAKE counts the queues that are not sparse, not all backlogged ones. A packet that the buffer refuses counts as an overflow, as one that is pushed out.

use super::ce_threshold::CeThreshold;
use super::control_law::spacing;
use super::parameters::{AqmError, AqmField, AqmParameters, AqmSetup, QueueManagement, Sojourn};
use super::{Aqm, AqmState, Judgement};
use crate::algorithm::Algorithm;
use crate::packet::{Flow, Packet};
use crate::prefetch::prefetch_in;
use crate::queue::Backlog;
use crate::random::SplitMix64;
use crate::scheduler::Kept;
use crate::units::{Duration, SERIAL_HORIZON, Time};
use alloc::vec::Vec;

/// What an overflow adds to BLUE's probability, of 2^32: 1/256.
const OVERFLOW: u32 = 1 << 24;
/// What an empty turn takes from it: 1/4096.
const EMPTY_TURN: u32 = 1 << 20;

/// COBALT, with a state per queue.
#[derive(Clone, Debug)]
pub struct Cobalt {
    rule: Rule,
    ce_threshold: CeThreshold,
    ingress: bool,
    /// The queues that have packets. Those that had some before this AQM came count from their next packets on.
    backlogged: u64,
    flows: Vec<Control>,
}

#[derive(Clone, Copy, Debug)]
struct Rule {
    sojourn: Sojourn,
    /// Packets that waited this long or less pass: the target, or four of the longest frames.
    least: Duration,
    /// As much per backlogged queue, with ingress accounting: two of the longest frames.
    per_queue: Duration,
    ecn: bool,
}

/// The state of one queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Control {
    count: u32,
    /// The probability of BLUE, of 2^32.
    probability: u32,
    /// When `count` changes next.
    next: Time,
    /// When the probability changed last.
    changed: Option<Time>,
    is_dropping: bool,
}

impl Algorithm<QueueManagement> for Cobalt {
    const NAME: &'static str = "cobalt";
    const SUMMARY: &'static str =
        "CoDel whose frequency of drops decays gradually, beside BLUE for senders that do not react: the AQM of CAKE.";
    const ACCEPTS: &'static [AqmField] =
        &[AqmField::Target, AqmField::Interval, AqmField::Ecn, AqmField::CeThreshold, AqmField::Ect1Only, AqmField::Ingress];

    fn build((setup, given): (&AqmSetup, &AqmParameters)) -> Result<Cobalt, AqmError> {
        let sojourn = Sojourn::of(setup, given)?;
        let frames = |count| Duration::from_picoseconds(count * setup.rate.time_per_byte().ceil(setup.longest_frame).picoseconds());
        let ingress = given.ingress.unwrap_or(false);
        let per_queue = if ingress { frames(2) } else { Duration::ZERO };
        let rule = Rule { sojourn, least: sojourn.target.max(frames(4)), per_queue, ecn: given.ecn.unwrap_or(true) };
        let flows = alloc::vec![Control::NEW; setup.flows];
        Ok(Cobalt { rule, ce_threshold: CeThreshold::of(given)?, ingress, backlogged: 0, flows })
    }
}

impl Aqm for Cobalt {
    fn judges_arrivals(&self) -> bool {
        false
    }

    fn hears_departures(&self) -> bool {
        false
    }

    fn charges_drops(&self) -> bool {
        self.ingress
    }

    #[inline]
    fn depart<B: Backlog>(&mut self, now: Time, head: &Packet<()>, backlog: &B, draws: &mut SplitMix64) -> Judgement {
        let control = &mut self.flows[head.flow.index()];
        let waited = now.since(head.arrival);
        let of_queues = Duration::from_picoseconds(self.rule.per_queue.picoseconds().saturating_mul(self.backlogged));
        let judgement = control.judge(&self.rule, self.rule.least.max(of_queues), now, waited, head, draws);
        let is_last = backlog.flow_packets(head.flow) == 1;
        if judgement == Judgement::Pass || (judgement == Judgement::Drop && is_last) {
            return self.ce_threshold.judge(waited, head.ecn);
        }
        judgement
    }

    #[inline]
    fn joined<B: Backlog>(&mut self, now: Time, flow: Flow, backlog: &B) {
        if backlog.flow_packets(flow) == 1 {
            self.backlogged += 1;
            self.flows[flow.index()].was_empty(&self.rule, now);
        }
    }

    #[inline]
    fn left<B: Backlog>(&mut self, now: Time, flow: Flow, backlog: &B) {
        if backlog.flow_packets(flow) == 0 {
            self.backlogged = self.backlogged.saturating_sub(1);
            self.flows[flow.index()].empty_turn(&self.rule, now);
        }
    }

    fn pushed_out(&mut self, now: Time, flow: Flow) {
        self.flows[flow.index()].overflowed(&self.rule, now);
    }

    fn refused(&mut self, now: Time, flow: Flow) {
        self.flows[flow.index()].overflowed(&self.rule, now);
    }

    fn state<B: Backlog>(&self, _: Time, flow: Flow, _: &B) -> AqmState {
        let Control { is_dropping, probability, .. } = self.flows[flow.index()];
        AqmState { is_signalling: is_dropping, probability: Some(u64::from(probability)) }
    }

    #[inline]
    fn prefetch(&self, flow: Flow) {
        prefetch_in(&self.flows, flow.index());
    }

    fn forget(&mut self, flow: Flow) {
        self.flows[flow.index()] = Control::NEW;
    }

    fn adopt(&mut self, _: Time, old: &Cobalt, kept: &[Kept]) {
        for flow in kept {
            self.flows[flow.to.index()] = old.flows[flow.from.index()];
            self.backlogged += u64::from(flow.head.is_some());
        }
    }

    fn refresh(&mut self, now: Time) {
        for control in &mut self.flows {
            control.next = control.next.later(now - SERIAL_HORIZON);
            control.changed = control.changed.map(|changed| changed.later(now - SERIAL_HORIZON));
        }
    }
}

impl Control {
    const NEW: Control = Control { count: 0, probability: 0, next: Time::ZERO, changed: None, is_dropping: false };

    #[inline]
    fn judge(&mut self, rule: &Rule, least: Duration, now: Time, waited: Duration, head: &Packet<()>, draws: &mut SplitMix64) -> Judgement {
        let interval = rule.sojourn.interval;
        let is_due = self.is_due(now);
        let mut judgement = Judgement::Pass;
        if waited > least {
            if !self.is_dropping {
                self.is_dropping = true;
                self.next = now + spacing(interval, self.count);
            }
            self.count = self.count.max(1);
        } else {
            self.is_dropping = false;
        }
        if is_due && self.is_dropping {
            judgement = if rule.ecn && head.ecn.is_capable() { Judgement::Mark } else { Judgement::Drop };
            self.count = self.count.saturating_add(1);
            self.next += spacing(interval, self.count);
        } else if is_due {
            self.decay(interval, now);
        }
        if self.probability > 0 && draws.draw() < self.probability {
            judgement = Judgement::Drop;
        }
        if self.count == 0 {
            self.next = now + interval;
        } else if now.is_after(self.next) && judgement != Judgement::Drop {
            self.next = now;
        }
        judgement
    }

    #[inline]
    fn is_due(&self, now: Time) -> bool {
        self.count > 0 && !now.is_before(self.next)
    }

    /// Lowers `count` as often as it is due.
    #[inline(never)]
    fn decay(&mut self, interval: Duration, now: Time) {
        if fault!(CobaltForgetsItsCount) {
            self.count = 0;
        }
        while self.is_due(now) {
            // As many at once as are due, up to a 256th, so that a long time takes few steps.
            let late = u128::from(now.since(self.next).picoseconds());
            let each = u128::from(spacing(interval, self.count).picoseconds());
            let mut many = (self.count >> 8).max(1);
            while many > 1 && late < each * u128::from(many - 1) {
                many >>= 1;
            }
            self.count -= many;
            let further = u128::from(spacing(interval, self.count).picoseconds()) * u128::from(many);
            self.next += Duration::from_picoseconds(further as u64);
        }
    }

    /// A packet of this queue found the buffer full, or was pushed out.
    fn overflowed(&mut self, rule: &Rule, now: Time) {
        if self.may_change(rule, now) && !fault!(CobaltWithoutBlue) {
            self.probability = self.probability.saturating_add(OVERFLOW);
            self.changed = Some(now);
        }
        (self.is_dropping, self.next, self.count) = (true, now, self.count.max(1));
    }

    /// Its turn comes, and it is empty.
    #[inline]
    fn empty_turn(&mut self, rule: &Rule, now: Time) {
        if self.probability > 0 && self.may_change(rule, now) {
            self.probability = self.probability.saturating_sub(EMPTY_TURN);
            self.changed = Some(now);
        }
        self.is_dropping = false;
        if self.is_due(now) {
            self.count -= 1;
            self.next += spacing(rule.sojourn.interval, self.count);
        }
    }

    /// It has been empty until now: what many empty turns would have done.
    #[inline]
    fn was_empty(&mut self, rule: &Rule, now: Time) {
        while self.probability > 0
            && let Some(changed) = self.changed
            && now.since(changed) > rule.sojourn.target
        {
            self.probability = self.probability.saturating_sub(EMPTY_TURN);
            self.changed = Some(changed + rule.sojourn.target);
        }
        if self.is_due(now) {
            self.decay(rule.sojourn.interval, now);
        }
    }

    /// The probability changes at most once in a target.
    #[inline]
    fn may_change(&self, rule: &Rule, now: Time) -> bool {
        self.changed.is_none_or(|changed| now.since(changed) > rule.sojourn.target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Rate;

    fn rule() -> Rule {
        let setup = AqmSetup { flows: 1, rate: Rate::new(10_000_000).unwrap(), longest_frame: 1514 };
        Cobalt::build((&setup, &AqmParameters::default())).unwrap().rule
    }

    fn milliseconds(ms: u64) -> Time {
        Time::ZERO + Duration::from_milliseconds(ms)
    }

    #[test]
    fn blue_rises_with_overflows_and_falls_with_empty_turns_as_in_the_model() {
        let (rule, mut control) = (rule(), Control::NEW);
        let mut seen = Vec::new();
        for overflow in 0..10 {
            control.overflowed(&rule, milliseconds(3 * overflow));
            seen.push(control.probability >> 20);
        }
        for turn in 0..4 {
            control.empty_turn(&rule, milliseconds(40 + 6 * turn));
            seen.push(control.probability >> 20);
        }
        assert_eq!(seen, [16, 16, 32, 32, 48, 48, 64, 64, 80, 80, 79, 78, 77, 76]);
    }

    #[test]
    fn a_long_idle_time_leaves_nothing_in_few_steps() {
        let (rule, mut control) = (rule(), Control { count: u32::MAX, ..Control::NEW });
        control.overflowed(&rule, milliseconds(0));
        control.was_empty(&rule, Time::from_picoseconds(1 << 62));
        assert_eq!((control.count, control.probability), (0, 0));
    }

    #[test]
    fn a_count_falls_one_by_one_up_to_511() {
        let (rule, mut control) = (rule(), Control { count: 511, ..Control::NEW });
        let mut expected = control;
        for ms in [1, 5, 20, 300, 4000] {
            control.decay(rule.sojourn.interval, milliseconds(ms));
            while expected.is_due(milliseconds(ms)) {
                expected.count -= 1;
                expected.next += spacing(rule.sojourn.interval, expected.count);
            }
            assert_eq!(control, expected);
        }
    }
}
