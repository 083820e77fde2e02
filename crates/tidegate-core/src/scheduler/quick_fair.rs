//! Quick fair queueing (QFQ): worst-case fair shares in constant time, by stamps that are rounded to slots.
//!
//! **Law**: flow `i` has a guaranteed rate `r_i`, the sum of which is at most the link's rate `C`. Its slot `s_i` is the time of the longest
//! packet at rate `r_i`, rounded up to a power of two of picoseconds: less than two such times.
//! 1. A flow's packets leave at most `3 s_i + 2 * longest packet / C` after a fluid server of rate `r_i` would have finished them, for any
//!    number of other flows.
//! 2. A flow backlogged from t1 to t2, when one of its packets departs, gets at least `r_i * (t2 - t1 - 3 s_i) - 2 r_i / C * longest packet`.
//!    So it waits only briefly for having been served early.
//! 3. Flows that were idle have no claim to what they did not use.
//! 4. When parameters change, heads keep their stamps and slots, and the new rates hold from each flow's next head on. A flow whose slots change
//!    in length then joins at virtual time, or up to a slot later if it has been served ahead.
//!
//! **Source**: Checconi, Rizzo and Valente, "QFQ: Efficient packet scheduling with tight guarantees", IEEE/ACM ToN 21(3), 2013.
//!
//! **State**: 81 bytes per flow, and 3 kB for the groups.
//!
//! **Cost**: O(1) in the worst case, two multiplications, no division. Nothing is sorted. A flow whose rate follows
//! from a weight costs two divisions at its first head after the sums of rates and weights have changed.
//!
//! **RTL twin**: none yet; four words of 64 bits with a priority encoder hold all order among groups.
//!
//! **Deviations**: slots are powers of two of picoseconds at the flow's rate. A flow takes turns with the others of its slot even where several
//! of its packets fit. A slot is a ring of flows, linked so that a flow that loses its only packet leaves it without a search. A flow whose last packet is being sent is backlogged, as in [`super::Wf2qPlus`]. Virtual time jumps to the smallest virtual start when
//! the link asks for a packet, not before. When the last packet has left, it jumps by two of the longest slots, which forgives all flows alike.
//! A packet longer than the longest that was announced is charged one slot.
//!
//! * Flows of one slot length form a group. Within it they are in slots by their virtual start, and in each slot they take turns.
//! * The start of a group is that of its first slot, and it is finished two slots later. A group is early until virtual time has reached its
//!   start. A ready group of longer slots that is finished before it blocks it; groups of shorter slots never do.
//! * So among ready groups those of shorter slots are finished first, and the lowest bit is the group to serve. When virtual time passes the
//!   bounds of slots of some length, all early groups of such slots become eligible, because they begin at these bounds.

use super::active_list::{ActiveList, Links, PrefetchPredictor, linked};
use super::guaranteed_rates::{GuaranteedRates, STALE};
use super::moves::Moves;
use super::{BuildError, Decision, FlowParameters, Kept, Parameter, Scheduler, Scheduling, Setup};
use crate::algorithm::Algorithm;
use crate::packet::{Flow, Head};
use crate::prefetch::prefetch_in;
use crate::serial::is_before;
use crate::units::{Duration, Time, TimePerByte};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// QFQ. Rates and weights are those of [`super::Wf2qPlus`].
///
/// ```
/// use tidegate_core::packet::{Colour, Flow, Head};
/// use tidegate_core::scheduler::{Decision, FlowParameters, QuickFair, Scheduler, Setup};
/// use tidegate_core::units::{Rate, Time};
/// let setup = Setup::new(Rate::new(10_000_000).unwrap(), 1500);
/// let weight = |weight| FlowParameters { weight: Some(weight), ..FlowParameters::default() };
/// let mut qfq = setup.build::<QuickFair>(&[weight(1), weight(8)]).unwrap();
/// let head = |number| Head { length: 1500, number, arrival: Time::ZERO, colour: Colour::Green };
/// qfq.activate(Time::ZERO, Flow(0), head(0));
/// qfq.activate(Time::ZERO, Flow(1), head(1));
/// assert_eq!(qfq.select(Time::ZERO), Decision::Serve(Flow(1)));
/// ```
#[derive(Clone, Debug)]
pub struct QuickFair {
    shares: Vec<Share>,
    /// By the binary logarithm of their slots' length in picoseconds.
    groups: Box<[Group; GROUP_COUNT]>,
    rates: GuaranteedRates,
    longest_packet: u32,
    /// ER of the paper, one bit per backlogged group, as in the three sets below: eligible and ready, so it may be served.
    ready: u64,
    /// EB: eligible, but blocked by a group that finishes first.
    blocked: u64,
    /// IR: ineligible, because virtual time has not reached its start; otherwise ready.
    early: u64,
    /// IB: ineligible and blocked.
    early_blocked: u64,
    link: TimePerByte,
    /// Virtual time: the work of the link up to the end of the service in progress.
    virtual_time: Stamp,
    /// The latest service: when it began, and how long it takes.
    service_start: Time,
    service_span: Duration,
    /// The flow in service. It is still the first one of the first slot of its group, also if it is due in another one next, or nowhere.
    in_service: Option<Flow>,
    /// It has a packet behind that.
    goes_on: bool,
    predictor: PrefetchPredictor,
}

/// A virtual time, in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Stamp {
    /// How often `time` has wrapped.
    lap: u32,
    time: u64,
}

impl Stamp {
    const ZERO: Stamp = Stamp { lap: 0, time: 0 };

    #[inline]
    const fn after(self, picoseconds: u64) -> Stamp {
        let (time, wraps) = self.time.overflowing_add(picoseconds);
        Stamp { lap: self.lap.wrapping_add(wraps as u32), time }
    }
}

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Share {
    /// Virtual start of the head; without one, virtual finish of the last packet served.
    time: u64,
    lap: u32,
    /// Length of the head.
    length: u32,
    rate: TimePerByte,
    /// The version of `rate` and `group`.
    version: u32,
    group: u8,
    links: Links,
}

linked!(Share);

/// Slots of a group. Flows are in slots from four before virtual time up to two after it.
const SLOTS_PER_GROUP: usize = 8;

/// Groups: one for each bit of a time.
const GROUP_COUNT: usize = 64;

/// The longest slots, in picoseconds: a group's slots span 2^62 ps, half of the times that compare.
const LONGEST_SLOT: u64 = 1 << 59;

#[derive(Clone, Copy, Debug)]
struct Group {
    /// Where its first slot begins, and which of the slots that is.
    start: u64,
    first: usize,
    /// Slots that are not empty, a bit each.
    filled: u8,
    slots: [ActiveList; SLOTS_PER_GROUP],
}

impl Group {
    const EMPTY: Group = Group { start: 0, first: 0, filled: 0, slots: [ActiveList::EMPTY; SLOTS_PER_GROUP] };

    /// Takes a flow out of this slot; true if that is empty now.
    #[inline]
    fn leave(&mut self, shares: &mut [Share], slot: usize, flow: Flow) -> bool {
        let members = &mut self.slots[slot];
        members.leave(shares, flow.0);
        let is_empty = members.front().is_none();
        self.filled &= !(u8::from(is_empty) << slot);
        is_empty
    }
}

/// The slot of a group that `time` lies in.
#[inline]
fn slot_of(time: u64, group: u8) -> usize {
    (time >> group) as usize % SLOTS_PER_GROUP
}

/// The slot for packets that take up to this long.
fn slot_of_packets(longest: Duration) -> u64 {
    longest.picoseconds().max(1).next_power_of_two()
}

/// Moves those of a set of groups that are among `which` to another set.
#[inline]
fn hand_over(from: &mut u64, to: &mut u64, which: u64) {
    *to |= *from & which;
    *from &= !which;
}

impl QuickFair {
    #[inline]
    fn group(&self, group: u8) -> &Group {
        &self.groups[usize::from(group) % GROUP_COUNT]
    }

    #[inline]
    fn group_mut(&mut self, group: u8) -> &mut Group {
        &mut self.groups[usize::from(group) % GROUP_COUNT]
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.ready | self.early | self.blocked | self.early_blocked == 0
    }

    /// All flows that are in slots.
    fn flows(&self) -> Vec<Flow> {
        let slots = self.groups.iter().flat_map(|group| group.slots);
        slots.flat_map(|slot| slot.flows(&self.shares)).map(Flow).collect()
    }

    /// When a group is finished.
    #[inline]
    fn finish(&self, group: u8) -> u64 {
        self.group(group).start.wrapping_add(2 << group)
    }

    /// The group of shortest slots among those of longer slots than `group` that are ready.
    #[inline]
    fn above(&self, group: u8) -> Option<u8> {
        let above = self.ready & (u64::MAX - 1) << group;
        (above != 0).then(|| above.trailing_zeros() as u8)
    }

    /// Puts a group, which is in none of the sets, where it belongs.
    fn classify(&mut self, group: u8) {
        let is_early = is_before(self.virtual_time.time, self.group(group).start);
        let is_blocked = self.above(group).is_some_and(|above| is_before(self.finish(above), self.finish(group)));
        let set = match (is_early, is_blocked) {
            (false, false) => &mut self.ready,
            (false, true) => &mut self.blocked,
            (true, false) => &mut self.early,
            (true, true) => &mut self.early_blocked,
        };
        *set |= 1 << group;
    }

    /// The first slot of a group has become empty: moves on to the next one, and lets those go that the group has blocked.
    fn advance(&mut self, group: u8) {
        let bit = 1 << group;
        let was_ready = self.ready & bit > 0;
        for set in [&mut self.ready, &mut self.blocked, &mut self.early, &mut self.early_blocked] {
            *set &= !bit;
        }
        let finish = self.finish(group);
        let members = self.group_mut(group);
        if members.filled > 0 {
            let ahead = members.filled.rotate_right(members.first as u32).trailing_zeros();
            members.start = members.start.wrapping_add(u64::from(ahead) << group);
            members.first = (members.first + ahead as usize) % SLOTS_PER_GROUP;
            self.classify(group);
        }
        if was_ready && self.above(group).is_none_or(|above| is_before(finish, self.finish(above))) {
            let below = bit - 1;
            hand_over(&mut self.blocked, &mut self.ready, below);
            hand_over(&mut self.early_blocked, &mut self.early, below);
        }
    }

    /// Virtual time advances to `time`: the groups that it comes to are early no longer.
    #[inline]
    fn pass(&mut self, time: Stamp) {
        // The highest bit that changes is the length of the longest slots of which it passes a bound.
        let changed = self.virtual_time.time ^ time.time | 1;
        let reached = u64::MAX >> changed.leading_zeros();
        self.virtual_time = time;
        if (self.early | self.early_blocked) & reached > 0 {
            hand_over(&mut self.early, &mut self.ready, reached);
            hand_over(&mut self.early_blocked, &mut self.blocked, reached);
        }
    }

    /// The group of flows of this rate.
    fn group_of(&self, rate: TimePerByte) -> u8 {
        slot_of_packets(rate.ceil(self.longest_packet)).trailing_zeros() as u8
    }

    /// By how much no flow is ever ahead of virtual time: two of the longest slots.
    fn lead(&self) -> u64 {
        2 * slot_of_packets(self.rates.slowest())
    }

    /// Takes the rate of a flow anew, which is in no slot.
    #[inline(never)]
    fn renew(&mut self, flow: Flow) {
        let rate = self.rates.time_per_byte(flow);
        let group = self.group_of(rate);
        let share = &mut self.shares[flow.index()];
        if group != share.group {
            let (earliest, latest) = (self.virtual_time, self.virtual_time.after(1 << group));
            let start = Stamp { lap: share.lap, time: share.time }.max(earliest).min(latest);
            (share.lap, share.time) = (start.lap, start.time);
        }
        (share.rate, share.group, share.version) = (rate, group, self.rates.version());
    }

    /// A flow that is in no slot is in that of its virtual start from now on, which may come before all others of its group.
    #[inline]
    fn enter(&mut self, flow: Flow) {
        let Share { time, group, .. } = self.shares[flow.index()];
        let members = &mut self.groups[usize::from(group) % GROUP_COUNT];
        let time = time >> group << group;
        if members.filled == 0 || is_before(time, members.start) {
            members.start = time;
            members.first = slot_of(time, group);
            self.early &= !(1 << group);
            self.early_blocked &= !(1 << group);
            self.classify(group);
        }
        self.join(flow);
    }

    /// Adds a flow to the slot of its virtual start.
    #[inline]
    fn join(&mut self, flow: Flow) {
        let Share { time, group, .. } = self.shares[flow.index()];
        let members = &mut self.groups[usize::from(group) % GROUP_COUNT];
        debug_assert!((time >> group).wrapping_sub(members.start >> group) << group >> group < SLOTS_PER_GROUP as u64);
        let slot = slot_of(time, group);
        members.slots[slot].join(&mut self.shares, flow.0);
        members.filled |= 1 << slot;
    }

    /// Takes out a flow that waits.
    #[cold]
    fn leave(&mut self, flow: Flow) {
        let Share { time, group, .. } = self.shares[flow.index()];
        let members = &mut self.groups[usize::from(group) % GROUP_COUNT];
        let slot = slot_of(time, group);
        if members.leave(&mut self.shares, slot, flow) && slot == members.first {
            self.advance(group);
        }
    }

    /// Every rate has to be taken anew, if `all`; that of `flow` in any case.
    fn mark_stale(&mut self, flow: Flow, all: bool) {
        let stale = if all { &mut *self.shares } else { &mut self.shares[flow.index()..=flow.index()] };
        stale.iter_mut().for_each(|share| share.version = STALE);
    }

    /// Whether the latest service is over.
    #[inline]
    fn is_over(&self, now: Time) -> bool {
        now.since(self.service_start) >= self.service_span
    }

    /// The latest service is not counted on any longer: its flow moves to the slot in which its next packet starts, or leaves.
    #[inline]
    fn settle(&mut self) {
        let Some(flow) = self.in_service.take() else { return };
        let group = self.shares[flow.index()].group;
        let members = &mut self.groups[usize::from(group) % GROUP_COUNT];
        let slot = members.first % SLOTS_PER_GROUP;
        let is_empty = members.leave(&mut self.shares, slot, flow);
        if self.goes_on && self.shares[flow.index()].version != self.rates.version() {
            self.renew(flow);
        }
        let Share { time, group: next, .. } = self.shares[flow.index()];
        let stays = self.goes_on && next == group;
        if stays {
            self.join(flow);
        }
        if is_empty && !(stays && slot_of(time, group) == self.group(group).first) {
            self.advance(group);
        }
        if self.goes_on && !stays {
            self.enter(flow);
        }
    }
}

impl Scheduler for QuickFair {
    const WORK_CONSERVING: bool = true;

    fn start(&mut self, now: Time) {
        self.service_start = now;
    }

    #[inline]
    fn activate(&mut self, now: Time, flow: Flow, head: Head) {
        if self.is_over(now) {
            self.settle();
        } else if self.in_service == Some(flow) {
            self.shares[flow.index()].length = head.length;
            self.goes_on = true;
            return;
        }
        if self.is_empty() && self.is_over(now) {
            self.virtual_time = self.virtual_time.after(self.lead());
        }
        if self.shares[flow.index()].version != self.rates.version() {
            self.renew(flow);
        }
        let share = &mut self.shares[flow.index()];
        share.length = head.length;
        let start = self.virtual_time.max(Stamp { lap: share.lap, time: share.time });
        (share.lap, share.time) = (start.lap, start.time);
        self.enter(flow);
    }

    #[inline(always)]
    fn select(&mut self, _now: Time) -> Decision {
        self.settle();
        if self.ready == 0 {
            // Nothing is blocked, and of early groups those of the shortest slots begin first.
            if self.early == 0 {
                return Decision::Idle;
            }
            let start = self.group(self.early.trailing_zeros() as u8).start;
            self.pass(self.virtual_time.after(start.wrapping_sub(self.virtual_time.time)));
        }
        let members = self.group(self.ready.trailing_zeros() as u8);
        match members.slots[members.first % SLOTS_PER_GROUP].front() {
            Some(flow) => Decision::Serve(Flow(flow)),
            None => Decision::Idle,
        }
    }

    #[inline(always)]
    fn served(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        self.predictor.turn_of(&mut self.shares, flow.0);
        let share = &mut self.shares[flow.index()];
        let span = share.rate.ceil(share.length).picoseconds().min(1 << share.group);
        let finish = Stamp { lap: share.lap, time: share.time }.after(span);
        (share.lap, share.time) = (finish.lap, finish.time);
        self.service_start = now;
        self.service_span = self.link.ceil(share.length);
        self.pass(self.virtual_time.after(self.service_span.picoseconds()));
        self.in_service = Some(flow);
        self.goes_on = next.is_some();
        if let Some(head) = next {
            self.shares[flow.index()].length = head.length;
        }
    }

    #[inline]
    fn lost(&mut self, _now: Time, flow: Flow, next: Option<Head>) {
        match next {
            Some(head) => self.shares[flow.index()].length = head.length,
            None if self.in_service == Some(flow) => self.goes_on = false,
            None => self.leave(flow),
        }
    }

    fn change(&mut self, _now: Time, flow: Flow, parameters: &FlowParameters) -> Result<(), BuildError> {
        let all = self.rates.change(flow, parameters)?;
        self.mark_stale(flow, all);
        Ok(())
    }

    fn forget(&mut self, _now: Time, flow: Flow) {
        if self.in_service == Some(flow) {
            self.settle();
        }
        let all = self.rates.forget(flow);
        self.mark_stale(flow, all);
        let share = &mut self.shares[flow.index()];
        (share.lap, share.time) = (Stamp::ZERO.lap, Stamp::ZERO.time);
    }

    fn adopt(&mut self, now: Time, old: &mut Self, kept: &[Kept]) {
        let mut moves = Moves::new(old.shares.len(), kept);
        if let Some(flow) = old.in_service.filter(|&flow| moves.to(flow).is_none()) {
            old.goes_on = false;
            if !kept.iter().any(|kept| kept.from == flow) {
                old.settle();
            }
        }
        for flow in old.flows() {
            if moves.to(flow).is_none() && old.in_service != Some(flow) {
                old.leave(flow);
            }
        }
        (self.ready, self.blocked, self.early, self.early_blocked) = (old.ready, old.blocked, old.early, old.early_blocked);
        (self.virtual_time, self.service_start, self.service_span) = (old.virtual_time, old.service_start, old.service_span);
        self.goes_on = old.goes_on;
        for kept in kept {
            let links = self.shares[kept.to.index()].links;
            self.shares[kept.to.index()] = Share { version: STALE, links, ..old.shares[kept.from.index()] };
            if old.in_service == Some(kept.from) {
                self.in_service = Some(kept.to);
            }
        }
        for (members, group) in self.groups.iter_mut().zip(old.groups.iter()) {
            (members.start, members.first, members.filled) = (group.start, group.first, group.filled);
            for (slot, other) in members.slots.iter_mut().zip(group.slots) {
                for flow in other.flows(&old.shares) {
                    let is_last = old.in_service == Some(Flow(flow)) && !old.goes_on;
                    if let Some(to) = if is_last { self.in_service } else { moves.take(Flow(flow)) } {
                        slot.join(&mut self.shares, to.0);
                    }
                }
            }
        }
        moves.activate_others(self, now, kept);
    }

    #[inline]
    fn prefetch_hint(&mut self) -> Option<Flow> {
        Some(self.predictor.prefetch_hint())
    }

    #[inline]
    fn prefetch(&self, flow: Flow) {
        prefetch_in(&self.shares, flow.index());
    }

    fn refresh(&mut self, now: Time) {
        if self.is_over(now) {
            self.service_start = now;
            self.service_span = Duration::ZERO;
        }
    }
}

impl Algorithm<Scheduling> for QuickFair {
    const NAME: &'static str = "qfq";
    const SUMMARY: &'static str = "every flow gets its rate or its weight's share, in constant time, within few packets of a fluid server";
    const ACCEPTS: &'static [Parameter] = &[Parameter::Rate, Parameter::Weight];

    fn build((setup, flows): (&Setup, &[FlowParameters])) -> Result<QuickFair, BuildError> {
        let problem = "the longest packet takes more than 6 days at this flow's rate: raise the rate";
        let (link, longest_packet) = (setup.rate.time_per_byte(), setup.longest_packet.max(1));
        let share = Share { time: 0, lap: 0, length: 0, rate: link, version: STALE, group: 0, links: Links::NONE };
        Ok(QuickFair {
            shares: alloc::vec![share; setup.places(flows)],
            groups: Box::new([Group::EMPTY; GROUP_COUNT]),
            rates: GuaranteedRates::within(setup, flows, (Duration::from_picoseconds(LONGEST_SLOT), problem))?,
            longest_packet,
            ready: 0,
            blocked: 0,
            early: 0,
            early_blocked: 0,
            link,
            virtual_time: Stamp::ZERO,
            service_start: Time::ZERO,
            service_span: Duration::ZERO,
            in_service: None,
            goes_on: false,
            predictor: PrefetchPredictor::NEW,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Colour;
    use crate::units::Rate;

    const PACKET: Head = Head { length: 1000, number: 0, arrival: Time::ZERO, colour: Colour::Green };

    fn scheduler(weights: &[u32]) -> QuickFair {
        let flows: Vec<_> = weights.iter().map(|&weight| FlowParameters { weight: Some(weight), ..FlowParameters::default() }).collect();
        Setup::new(Rate::new(10_000_000).unwrap(), 1000).build::<QuickFair>(&flows).unwrap()
    }

    fn activate(scheduler: &mut QuickFair, flows: &[u32]) {
        flows.iter().for_each(|&flow| scheduler.activate(Time::ZERO, Flow(flow), PACKET));
    }

    /// The flows served, all of which stay backlogged.
    fn serve(scheduler: &mut QuickFair, turns: usize) -> Vec<u32> {
        let turn = |_| {
            let Decision::Serve(flow) = scheduler.select(Time::ZERO) else { panic!("all flows are backlogged") };
            scheduler.served(Time::ZERO, flow, Some(PACKET));
            flow.0
        };
        (0..turns).map(turn).collect()
    }

    #[test]
    fn one_part_and_three_with_long_queues() {
        let mut scheduler = scheduler(&[1, 3]);
        activate(&mut scheduler, &[0, 1]);
        let first = serve(&mut scheduler, 4000).into_iter().filter(|&flow| flow == 0).count();
        assert!((998..=1002).contains(&first), "{first} of 4000");
    }

    #[test]
    fn flows_of_one_rate_take_turns_in_the_order_in_which_they_came() {
        let mut scheduler = scheduler(&[1; 4]);
        activate(&mut scheduler, &[2, 0, 3, 1]);
        assert_eq!(serve(&mut scheduler, 12), [2, 0, 3, 1].repeat(3));
    }

    #[test]
    fn who_was_idle_joins_where_virtual_time_stands() {
        let mut scheduler = scheduler(&[1, 1]);
        activate(&mut scheduler, &[0]);
        assert_eq!(serve(&mut scheduler, 100), [0; 100]);
        activate(&mut scheduler, &[1]);
        let second = serve(&mut scheduler, 20).into_iter().filter(|&flow| flow == 1).count();
        assert!((9..=12).contains(&second), "{second} of 20: no credit for the silence");
    }

    #[test]
    fn a_flow_that_loses_its_only_packet_leaves_the_others_where_they_are() {
        let mut scheduler = scheduler(&[1; 4]);
        activate(&mut scheduler, &[0, 1, 2, 3]);
        scheduler.lost(Time::ZERO, Flow(1), None);
        assert_eq!(serve(&mut scheduler, 3), [0, 2, 3]);
        [0, 2, 3].into_iter().for_each(|flow| scheduler.lost(Time::ZERO, Flow(flow), None));
        assert_eq!(scheduler.select(Time::ZERO), Decision::Idle);
    }

    #[test]
    fn a_rate_at_which_a_packet_takes_a_week_is_refused() {
        let flows = [FlowParameters { rate: Some(Rate::MIN), ..FlowParameters::default() }];
        let error = Setup::new(Rate::MAX, 80_000_000).build::<QuickFair>(&flows).unwrap_err();
        assert_eq!((error.flow, error.parameter), (Some(Flow(0)), Parameter::Rate));
    }
}
