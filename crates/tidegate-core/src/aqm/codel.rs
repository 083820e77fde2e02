//! CoDel: drops or marks at growing frequency while packets wait longer than a target for longer than an interval.
//!
//! **Law.** A packet that waited less than the target passes, and so does one behind which at most one longest frame waits. Once delays have stayed
//! above the target for an interval, packets are marked or dropped until a delay below the target is seen. The n-th comes `interval / sqrt(n)`
//! after the one before.
//! **Source.** K. Nichols, V. Jacobson, A. McGregor and J. Iyengar, "Controlled delay active queue management", RFC 8289, section 5.
//! **State.** 24 bytes per queue.
//! **Cost.** A few comparisons per packet; one table entry and five multiplications per drop or mark.
//! **RTL twin.** None.
//! **Deviations.** One decision per head in place of the loop of section 5.5: the sequence of drops is the same. A packet that waited longer than the
//! mark limit is dropped even if it could be marked; RFC 8289 has no answer to senders that ignore marks. The packets behind the head are
//! counted over the queues of the class. A queue that becomes empty is no longer above its target. n saturates at 2^29 - 1.

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
use alloc::boxed::Box;
use alloc::sync::Arc;

/// CoDel, with a state per queue.
#[derive(Clone, Debug)]
pub struct CoDel {
    /// Clones share them.
    rule: Arc<Rule>,
    flows: Box<[Control]>,
    /// True if the state of a queue may not be that of a new one.
    is_used: bool,
}

#[derive(Debug)]
struct Rule {
    sojourn: Sojourn,
    ecn: bool,
    mark_limit: Duration,
    ce_threshold: CeThreshold,
    longest_frame: u64,
    ingress: bool,
}

/// The state of one queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Control {
    /// When delays will have been above the target for an interval; meaningless without [`IS_ABOVE`].
    above_until: Time,
    drop_next: Time,
    count: u32,
    /// `count` when the present spell of dropping began, below the flags.
    last_count: u32,
}

/// Delays are above the target.
const IS_ABOVE: u32 = 1 << 31;
const IS_DROPPING: u32 = 1 << 30;
/// `drop_next` moves on when the packet behind the one dropped last is seen.
const OWES_STEP: u32 = 1 << 29;
/// The largest `count`.
const MOST: u32 = OWES_STEP - 1;

impl Control {
    const NEW: Control = Control { above_until: Time::ZERO, drop_next: Time::ZERO, count: 0, last_count: 0 };

    #[inline]
    const fn is(&self, flag: u32) -> bool {
        self.last_count & flag > 0
    }

    #[inline]
    const fn clear(&mut self, flags: u32) {
        self.last_count &= !flags;
    }
}

impl Algorithm<QueueManagement> for CoDel {
    const NAME: &'static str = "codel";
    const SUMMARY: &'static str =
        "Controlled delay: drops or marks ever more often while packets wait longer than 5 ms for longer than 100 ms (RFC 8289).";
    const ACCEPTS: &'static [AqmField] = &[
        AqmField::Target,
        AqmField::Interval,
        AqmField::Ecn,
        AqmField::MarkLimit,
        AqmField::CeThreshold,
        AqmField::Ect1Only,
        AqmField::Ingress,
    ];

    fn build((setup, given): (&AqmSetup, &AqmParameters)) -> Result<CoDel, AqmError> {
        let sojourn = Sojourn::of(setup, given)?;
        let mark_limit = given.mark_limit.unwrap_or(sojourn.interval);
        if mark_limit < sojourn.target {
            return Err(AqmField::MarkLimit.wrong("must be at least the target: packets that waited less are never marked"));
        }
        let rule = Rule {
            sojourn,
            ecn: given.ecn.unwrap_or(true),
            mark_limit,
            ce_threshold: CeThreshold::of(given)?,
            longest_frame: setup.longest_frame.into(),
            ingress: given.ingress.unwrap_or(false),
        };
        Ok(CoDel { rule: Arc::new(rule), flows: alloc::vec![Control::NEW; setup.flows].into(), is_used: false })
    }
}

impl Aqm for CoDel {
    fn judges_arrivals(&self) -> bool {
        false
    }

    fn hears_departures(&self) -> bool {
        false
    }

    fn charges_drops(&self) -> bool {
        self.rule.ingress
    }

    #[inline]
    fn depart<B: Backlog>(&mut self, now: Time, head: &Packet<()>, backlog: &B, _: &mut SplitMix64) -> Judgement {
        let rule = &*self.rule;
        let Sojourn { target, interval } = rule.sojourn;
        let control = &mut self.flows[head.flow.index()];
        let waited = now.since(head.arrival);
        let own = if fault!(CodelCountsTheHead) { 0 } else { u64::from(head.length) };
        let is_above = if waited < target || backlog.bytes() - own <= rule.longest_frame {
            control.clear(IS_ABOVE);
            false
        } else if control.is(IS_ABOVE) {
            !now.is_before(control.above_until)
        } else {
            control.above_until = if fault!(CodelWithoutInterval) { now } else { now + interval };
            control.last_count |= IS_ABOVE;
            self.is_used = true;
            false
        };
        if !is_above {
            control.clear(IS_DROPPING | OWES_STEP);
            return rule.ce_threshold.judge(waited, head.ecn);
        }
        let can_mark = rule.ecn && head.ecn.is_capable() && (waited <= rule.mark_limit || fault!(CodelMarksWithoutLimit));
        match control.congested(now, interval, can_mark) {
            Judgement::Pass => rule.ce_threshold.judge(waited, head.ecn),
            signal => signal,
        }
    }

    #[inline]
    fn left<B: Backlog>(&mut self, _: Time, flow: Flow, backlog: &B) {
        if backlog.flow_packets(flow) == 0 {
            self.flows[flow.index()].clear(IS_ABOVE | IS_DROPPING | OWES_STEP);
        }
    }

    /// A packet that was pushed out told its sender, as a drop would have (as in Linux's FQ-CoDel).
    fn pushed_out(&mut self, _: Time, flow: Flow) {
        let control = &mut self.flows[flow.index()];
        control.count = MOST.min(control.count + 1);
        self.is_used = true;
    }

    /// It may lie on two lines.
    #[inline]
    fn prefetch(&self, flow: Flow) {
        prefetch_in(&self.flows, flow.index());
        prefetch_in(&self.flows, flow.index() + 1);
    }

    fn state<B: Backlog>(&self, _: Time, flow: Flow, _: &B) -> AqmState {
        AqmState { is_signalling: self.flows[flow.index()].is(IS_DROPPING), probability: None }
    }

    fn forget(&mut self, flow: Flow) {
        self.flows[flow.index()] = Control::NEW;
    }

    fn is_fresh(&self) -> bool {
        !self.is_used
    }

    fn adopt(&mut self, _: Time, old: &CoDel, kept: &[Kept]) {
        self.is_used |= old.is_used;
        for flow in kept {
            self.flows[flow.to.index()] = old.flows[flow.from.index()];
        }
    }

    fn refresh(&mut self, now: Time) {
        for control in &mut self.flows {
            control.drop_next = control.drop_next.later(now - SERIAL_HORIZON);
            control.above_until = control.above_until.later(now - SERIAL_HORIZON);
        }
    }
}

impl Control {
    /// A packet leaves after delays have been above the target for an interval.
    fn congested(&mut self, now: Time, interval: Duration, can_mark: bool) -> Judgement {
        if self.is(OWES_STEP) {
            self.clear(OWES_STEP);
            self.drop_next += spacing(interval, self.count);
        }
        if self.is(IS_DROPPING) {
            if now.is_before(self.drop_next) {
                return Judgement::Pass;
            }
            self.count = MOST.min(self.count + 1);
            if can_mark {
                self.drop_next += spacing(interval, self.count);
                return Judgement::Mark;
            }
            self.last_count |= OWES_STEP;
            return Judgement::Drop;
        }
        // A spell that follows soon continues near the frequency at which the last one ended.
        let recent = self.drop_next.is_after(now) || now.since(self.drop_next).picoseconds() < 16 * interval.picoseconds();
        let delta = self.count as i32 - (self.last_count & MOST) as i32;
        self.count = if delta > 1 && recent && !fault!(CodelStartsAfresh) { delta as u32 } else { 1 };
        self.drop_next = now + spacing(interval, self.count);
        self.last_count = IS_ABOVE | IS_DROPPING | self.count;
        if can_mark { Judgement::Mark } else { Judgement::Drop }
    }
}
