//! DWCS that does not look at every stream: decisions in logarithmic time, and one step for all streams that miss a deadline together.
//!
//! A stream that waits changes only by missing deadlines, and the effect is known in advance. So its record is left alone until it is served.
//! Streams of one deadline and one period form a [group](group::DeadlineGroup), and their deadlines pass together from then on:
//!
//! * Members that tolerate nothing keep their order while they wait. Where they are many, a [queue](super::radix_heap) has the first of them.
//! * The others [are compared](super::adaptive_group): they are sorted once per period, or a tournament keeps the first.
//!
//! Groups, and streams that are alone with their deadline, wait in a ready list in the order of their deadlines. Those with the earliest
//! deadline are at the front, a heap in the order of [`Rank`](super::Rank). When a deadline passes, the group moves on by a period as a whole.
//!
//! **Law**: the laws of [`super`]; decides exactly as [`Scan`](super::Scan).
//!
//! **Source**: ours; the discipline is West and Poellabauer's, RTSS 2000.
//!
//! **State**: 184 bytes per stream, and its place in a ready list and in a queue or a tree.
//!
//! **Cost** per decision: O(log n), and O(1) amortised for every group or single stream whose deadline passes. Uniting two groups moves the
//! members of the smaller one. Streams whose late packets are dropped stay single: each miss costs them a packet anyway.
//!
//! **RTL twin**: none.
//!
//! **Deviations**: only the order of 2000 and since, deadlines first.

use crate::dwcs::interface::{Choice, Dwcs, Standing};
use crate::dwcs::kinetic_tournament::KineticTournament;
use crate::dwcs::rank::Rank;
use crate::dwcs::rules::{CLAMP, Early, NEVER, Rules};
use crate::dwcs::stream::{Stream, StreamError};
use crate::dwcs::tolerance::Tolerance;
use crate::packet::Flow;
use crate::ready::{ReadyList, Wheel};
use alloc::collections::{BTreeMap, BinaryHeap};
use alloc::vec::Vec;
use core::cmp::Reverse;

mod changing;
mod front;
mod group;
mod groups;
mod queues;
mod record;
mod waiting;

use front::FrontEntry;
use groups::{Groups, Remaining};
use record::{Place, Record};
use waiting::WaitingItems;

/// The engine for many streams.
///
/// ```
/// use tidegate_core::dwcs::{Choice, GroupedDwcs, Dwcs, Rules, Stream, Window};
/// use tidegate_core::packet::Flow;
/// let share = Stream::windowed(Window::new(99_999, 100_000), 1);
/// let mut engine: GroupedDwcs = GroupedDwcs::new(Rules::default(), &vec![share; 100_000]).unwrap();
/// (0..100_000).for_each(|stream| engine.activate(0, Flow(stream), 0));
/// assert_eq!(engine.select(0), Choice::Serve(Flow(0)));
/// engine.served(Flow(0), 1, Some(1));
/// assert_eq!(engine.select(1), Choice::Serve(Flow(1))); // all others have missed a deadline
/// ```
#[derive(Clone, Debug)]
pub struct GroupedDwcs<R = Wheel> {
    rules: Rules,
    now: u64,
    groups: Groups,
    waiting: WaitingItems<R>,
    /// Streams that may not be served yet, by the tick from which on they may.
    held: R,
    /// All items with the earliest deadline, and perhaps others.
    front: BinaryHeap<Reverse<FrontEntry>>,
    /// The group of the stream that was served last. Its entry is still the first at the front, and outdated.
    served_group: Option<u32>,
    /// Streams without deadlines.
    background: KineticTournament,
    /// Streams whose head is to be discarded, the lowest number first; some entries are outdated.
    late: BinaryHeap<Reverse<u32>>,
    /// Items of equal deadline on their way to the front; empty otherwise.
    staged: Vec<u32>,
    /// By period, the place in `staged` of the item with that period, or [`UNSTAGED`].
    staged_by_period: Vec<u32>,
    /// The index of each period that a stream has had.
    periods: BTreeMap<u64, u32>,
    /// By stream, the attributes that hold from its next head on, if its record says so.
    changes: Vec<Stream>,
}

/// No item of this period is staged.
const UNSTAGED: u32 = u32::MAX;

impl<R: ReadyList> GroupedDwcs<R> {
    /// An engine for these streams, none of them backlogged.
    ///
    /// # Errors
    /// [`StreamError`] names the first stream that cannot be served.
    pub fn new(rules: Rules, streams: &[Stream]) -> Result<GroupedDwcs<R>, StreamError> {
        let mut periods = BTreeMap::new();
        let mut records = Vec::with_capacity(streams.len());
        for (index, stream) in streams.iter().enumerate() {
            stream.check().map_err(|problem| StreamError { stream: Some(Flow(index as u32)), problem })?;
            let unused = periods.len() as u32;
            records.push(Record {
                deadline: if stream.period.is_some() { stream.first_deadline.unwrap_or(0) } else { NEVER },
                tolerance: Tolerance::of(stream.window),
                period: stream.period.unwrap_or(NEVER),
                window: stream.window,
                penalty: if stream.is_fixed || stream.window.deadlines == 0 { 0 } else { stream.penalty },
                period_index: *periods.entry(stream.period.unwrap_or(NEVER)).or_insert(unused),
                stamp: 0,
                place: Place::Idle,
                droppable: stream.droppable,
                is_fixed: stream.is_fixed,
                is_fresh: false,
                changes: false,
            });
        }
        let mut engine = GroupedDwcs {
            rules,
            now: 0,
            groups: Groups::new(records),
            waiting: WaitingItems::new(2 * streams.len()),
            held: R::new(if rules.early == Early::Hold { streams.len() } else { 0 }),
            front: BinaryHeap::new(),
            served_group: None,
            background: KineticTournament::new(),
            late: BinaryHeap::new(),
            staged: Vec::new(),
            staged_by_period: alloc::vec![UNSTAGED; periods.len()],
            periods,
            changes: alloc::vec![Stream::earliest_deadline(1); streams.len()],
        };
        engine.rank_background();
        Ok(engine)
    }

    /// Streams without deadlines never change, so their order is known: the first gets the largest denominator in its key.
    fn rank_background(&mut self) {
        let rank = |stream: u32| {
            let tolerance = self.groups.records[stream as usize].tolerance;
            Rank { deadline: NEVER, tolerance, arrival: 0, stream: 0 }
        };
        let streams = 0..self.groups.records.len() as u32;
        let mut order: Vec<u32> = streams.filter(|&stream| self.groups.records[stream as usize].period == NEVER).collect();
        order.sort_by(|&a, &b| rank(a).compare_tied(&rank(b)));
        let mut denominator = order.len() as u64 + 1;
        for (index, &stream) in order.iter().enumerate() {
            if index == 0 || !rank(order[index - 1]).compare_tied(&rank(stream)).is_eq() {
                denominator -= 1;
            }
            self.groups.members[stream as usize].key.set(Tolerance { numerator: 0, in_violation: false, denominator }, 0, 0);
        }
    }

    /// Puts a backlogged stream, which is up to date, among those that wait.
    /// The first at the front, which is up to date.
    #[inline]
    fn enter(&mut self, stream: u32) {
        let record = &mut self.groups.records[stream as usize];
        record.stamp = record.stamp.wrapping_add(1);
        if record.period == NEVER {
            record.place = Place::Background;
            return self.background.insert(stream, 0, &mut self.groups.members);
        }
        let deadline = record.deadline;
        let eligible = deadline.saturating_sub(record.period);
        if self.rules.early == Early::Hold && eligible > self.now {
            record.place = Place::Held;
            return self.held.insert(Flow(stream), eligible);
        }
        record.place = Place::Waiting;
        self.waiting.insert(stream, deadline);
    }

    /// Accounts for all deadlines that count as missed at `now`.
    fn sweep(&mut self, now: u64) {
        let missed = self.rules.missed;
        while let Some(Reverse(top)) = self.front.peek()
            && missed.is_past(top.deadline, now)
        {
            let (item, stamp) = top.place();
            self.front.pop();
            if self.groups.group_of(item).is_some() || self.is_at_front(item, stamp) {
                self.miss(item, now);
            }
        }
        while self.waiting.earliest().is_some_and(|deadline| missed.is_past(deadline, now))
            && let Some(item) = self.waiting.pop()
        {
            self.miss(item, now);
        }
    }

    fn is_at_front(&self, stream: u32, stamp: u32) -> bool {
        let record = &self.groups.records[stream as usize];
        record.stamp == stamp && record.place == Place::Front
    }

    /// The deadline of an item, which has been taken out of every order, counts as missed at `now`.
    #[inline]
    fn miss(&mut self, item: u32, now: u64) {
        if let Some(group) = self.groups.group_of(item) {
            if self.miss_group(group, now) {
                self.waiting.insert(item, self.groups.deadline(group));
            }
            return;
        }
        let record = &mut self.groups.records[item as usize];
        let tally = &mut self.groups.tallies[item as usize];
        if record.droppable {
            record.miss(1, tally);
            record.deadline += record.period;
            record.place = Place::Late;
            self.late.push(Reverse(item));
        } else {
            let times = self.rules.missed.count(record.deadline, record.period, now);
            record.miss(times, tally);
            record.deadline += times * record.period;
            self.enter(item);
        }
    }

    /// The deadline of a group, which has been taken out of every order, counts as missed at `now`. True if there is still a group to place.
    #[inline]
    fn miss_group(&mut self, number: u32, now: u64) -> bool {
        let remaining = self.groups.miss(number, self.rules.missed, now);
        self.place_single(remaining)
    }

    /// Places the stream that is left of a group, if it is one. True if there is still a group to place.
    #[inline]
    fn place_single(&mut self, remaining: Remaining) -> bool {
        if let Remaining::Stream(stream) = remaining {
            self.enter(stream);
        }
        remaining == Remaining::Group
    }

    /// Brings all waiting items to the front whose deadline is no later than the earliest there.
    #[inline]
    fn advance_front(&mut self) {
        while let Some(deadline) = self.waiting.earliest()
            && self.front.peek().is_none_or(|Reverse(top)| deadline <= top.deadline)
            && let Some(first) = self.waiting.pop()
        {
            if let Some(next) = self.waiting.following() {
                self.groups.prefetch(next);
            }
            let Some(second) = self.waiting.pop_at(deadline) else {
                self.bring_to_front(first);
                continue;
            };
            self.stage(first);
            self.stage(second);
            while let Some(item) = self.waiting.pop_at(deadline) {
                self.stage(item);
            }
            let mut staged = core::mem::take(&mut self.staged);
            for item in staged.drain(..) {
                let period = self.groups.period_index(item);
                self.staged_by_period[period] = UNSTAGED;
                self.bring_to_front(item);
            }
            self.staged = staged;
        }
    }

    /// Collects an item for the front, united with the one of its period if there is one.
    fn stage(&mut self, item: u32) {
        let is_single = self.groups.group_of(item).is_none() && self.groups.records[item as usize].droppable;
        let period = self.groups.period_index(item);
        let staged = self.staged_by_period[period];
        if is_single || staged == UNSTAGED {
            if !is_single {
                self.staged_by_period[period] = self.staged.len() as u32;
            }
            self.staged.push(item);
        } else {
            self.staged[staged as usize] = self.groups.unite(self.staged[staged as usize], item);
        }
    }

    #[inline]
    fn bring_to_front(&mut self, item: u32) {
        if let Some(group) = self.groups.group_of(item) {
            return self.put_leader(group, false);
        }
        let record = &mut self.groups.records[item as usize];
        record.place = Place::Front;
        let arrival = self.groups.members[item as usize].key.arrival;
        self.front.push(Reverse(FrontEntry::new(record.deadline, record.tolerance, (arrival, item), (item, record.stamp))));
    }

    /// Lets the first member of a group represent it at the front, in place of the group's old entry if that is the first there. A group all
    /// of whose members are ahead moves on.
    #[inline]
    fn put_leader(&mut self, number: u32, is_first: bool) {
        let Some(entry) = self.groups.front_entry(number, !is_first) else {
            if is_first {
                self.front.pop();
            }
            let remaining = self.groups.move_on(number);
            if self.place_single(remaining) {
                self.waiting.insert(self.groups.item_of(number), self.groups.deadline(number));
            }
            return;
        };
        if is_first && let Some(mut top) = self.front.peek_mut() {
            *top = Reverse(entry);
            return;
        }
        self.front.push(Reverse(entry));
    }

    /// Puts the group that was served last back into order.
    #[inline]
    fn restore_served_group(&mut self, now: u64) {
        let Some(number) = self.served_group.take() else { return };
        if self.rules.missed.is_past(self.groups.deadline(number), now) {
            let is_group = self.miss_group(number, now);
            let deadline = self.groups.deadline(number);
            if is_group && self.waiting.earliest().is_none_or(|earliest| deadline < earliest) {
                return self.put_leader(number, true);
            }
            self.front.pop();
            if is_group {
                self.waiting.insert(self.groups.item_of(number), deadline);
            }
            return;
        }
        self.groups.put_served_ahead(number);
        self.put_leader(number, true);
    }

    #[inline]
    fn first_at_front(&mut self) -> Option<u32> {
        loop {
            let Reverse(top) = self.front.peek()?;
            let ((item, stamp), stream) = (top.place(), top.stream());
            match self.groups.group_of(item) {
                None if self.is_at_front(item, stamp) => return Some(item),
                None => _ = self.front.pop(),
                Some(group) if self.groups.stamp(group) == stamp => return Some(stream),
                Some(_) => {
                    self.front.pop();
                    self.bring_to_front(item);
                }
            }
        }
    }
}

impl<R: ReadyList> Dwcs for GroupedDwcs<R> {
    fn activate(&mut self, now: u64, stream: Flow, arrival: u64) {
        let record = &mut self.groups.records[stream.index()];
        self.groups.members[stream.index()].key.arrival = arrival;
        if record.deadline <= now {
            record.deadline = now + record.period;
            record.tolerance = Tolerance::of(record.window);
            record.is_fresh = true;
        }
        self.now = self.now.max(now);
        self.enter(stream.0);
    }

    #[inline]
    fn select(&mut self, now: u64) -> Choice {
        self.now = now;
        if self.rules.early == Early::Hold {
            while let Some(stream) = self.held.pop_due(now) {
                self.enter(stream.0);
            }
        }
        self.restore_served_group(now);
        self.sweep(now);
        while let Some(&Reverse(stream)) = self.late.peek() {
            if self.groups.records[stream as usize].place == Place::Late {
                return Choice::Discard(Flow(stream));
            }
            self.late.pop();
        }
        loop {
            self.advance_front();
            // If the first was outdated, others may have to come to the front.
            let before = self.front.len();
            match self.first_at_front() {
                Some(stream) if before == self.front.len() => return Choice::Serve(Flow(stream)),
                None if self.waiting.earliest().is_none() => break,
                _ => {}
            }
        }
        if let Some(stream) = self.background.winner() {
            return Choice::Serve(Flow(stream));
        }
        match self.held.first() {
            Some((tick, _)) => Choice::WaitUntil(tick),
            None => Choice::Idle,
        }
    }

    #[inline]
    fn served(&mut self, stream: Flow, finish: u64, next: Option<u64>) {
        let (index, start) = (stream.index(), self.now);
        let place = self.groups.records[index].place;
        if let Place::Member(number) = place {
            self.groups.serve(number, stream.0);
        }
        let tally = &mut self.groups.tallies[index];
        let record = &mut self.groups.records[index];
        record.is_fresh = false;
        if place == Place::Background {
            tally.met += 1;
            self.background.remove(stream.0, 0, &mut self.groups.members);
            return self.set_head(stream, next);
        }
        if let Place::Member(number) = place {
            self.served_group = Some(number);
        } else {
            self.front.pop();
        }
        if self.rules.missed.is_late(record.deadline, start, finish) {
            tally.late += 1;
            record.miss(1, tally);
        } else {
            tally.met += 1;
            if !record.is_fixed {
                record.tolerance.serve(record.window);
            }
        }
        let changes = record.changes;
        if changes {
            self.renew(stream);
        }
        let record = &mut self.groups.records[index];
        let regular = record.deadline + record.period;
        record.deadline = if self.rules.early == Early::Clamp { regular.min(finish + CLAMP) } else { regular };
        if let Place::Member(number) = place {
            let stays = !changes && record.deadline == regular && self.rules.early != Early::Hold;
            if let Some(arrival) = next.filter(|_| stays) {
                return self.groups.keep_served(number, stream.0, arrival);
            }
            self.groups.vacate(number, stream.0);
        }
        self.set_head(stream, next);
    }

    fn lost(&mut self, stream: Flow, next: Option<u64>) {
        match self.groups.records[stream.index()].place {
            Place::Late => {
                self.groups.tallies[stream.index()].dropped += 1;
                // An entry that is not the first is recognised as outdated later.
                if self.late.peek() == Some(&Reverse(stream.0)) {
                    self.late.pop();
                }
            }
            Place::Waiting => self.waiting.remove(stream),
            Place::Held => self.held.remove(stream),
            Place::Member(group) => self.groups.leave(group, stream.0),
            Place::Background => self.background.remove(stream.0, 0, &mut self.groups.members),
            Place::Front | Place::Idle => {}
        }
        let record = &mut self.groups.records[stream.index()];
        if next.is_none() && record.is_fresh {
            record.is_fresh = false;
            record.deadline = 0;
        }
        if record.changes {
            self.renew(stream);
        }
        self.set_head(stream, next);
    }

    #[inline]
    fn soon(&self) -> Option<Flow> {
        Some(Flow(self.groups.soon)).filter(|soon| soon.index() < self.groups.records.len())
    }

    fn standing(&self, stream: Flow) -> Standing {
        let mut record = self.groups.records[stream.index()].clone();
        let mut tally = self.groups.tallies[stream.index()];
        let waits = !matches!(record.place, Place::Idle | Place::Late | Place::Background);
        if waits && !record.droppable {
            let times = self.rules.missed.count(record.deadline, record.period, self.now);
            record.catch_up(record.deadline + times * record.period, &mut tally);
        }
        Standing { deadline: record.deadline, tolerance: record.tolerance, tally }
    }
}

impl<R: ReadyList> GroupedDwcs<R> {
    /// A stream that has been taken out of every order gets its next head, if there is one.
    #[inline]
    fn set_head(&mut self, stream: Flow, next: Option<u64>) {
        match next {
            Some(arrival) => {
                self.groups.members[stream.index()].key.arrival = arrival;
                self.enter(stream.0);
            }
            None => self.groups.records[stream.index()].place = Place::Idle,
        }
    }
}
