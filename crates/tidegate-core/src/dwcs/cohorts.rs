//! DWCS that does not look at every stream: decisions in logarithmic time, and one step for all streams that miss a deadline together.
//!
//! A stream that waits changes only by missing deadlines, and what that does to it is known in advance, so its record is left alone until
//! it is served. Streams of one deadline and one period form a cohort: their deadlines pass together from then on. Those of them that
//! tolerate nothing keep their order while they wait, so that where they are many a [queue](super::radix_heap) has the first of them; the others
//! [compete](super::contest): they are sorted once per period, or a tournament keeps the first. Cohorts, and streams that are alone with their
//! deadline, wait in a ready list in the order of their deadlines; those that are first there stand at the front, a heap in the order of [`Rank`].
//! When a deadline passes, the cohort moves on by a period as a whole.
//!
//! **Law**: the laws of [`super`]; decides exactly as [`Scan`](super::Scan).
//!
//! **Source**: ours; the discipline is West and Poellabauer's, RTSS 2000.
//!
//! **State**: 136 bytes per stream, and its place in a ready list and in a queue or a tree.
//!
//! **Cost** per decision: O(log n), and O(1) amortised for every cohort or lone stream whose deadline passes. A cohort that is joined by
//! others takes the smaller of the two in one by one. Streams whose late packets are dropped stay alone: each miss costs them a packet anyway.
//!
//! **RTL twin**: none.
//!
//! **Deviations**: only the order of 2000 and since, deadlines first.

use super::tournament::{Contender, Tournament};
use super::{CLAMP, Choice, Dwcs, Early, NEVER, Order, Rank, Rules, Standing, Stream, StreamError, Tally, Tolerance};
use crate::packet::Flow;
use crate::ready::{ReadyList, Wheel};
use alloc::collections::{BTreeMap, BinaryHeap};
use alloc::vec::Vec;
use core::cmp::{Ordering, Reverse};

mod membership;
mod record;

use membership::Cohort;
use record::{Place, Record};

/// The engine for many streams.
///
/// ```
/// use tidegate_core::dwcs::{Choice, Cohorts, Dwcs, Rules, Stream, Window};
/// use tidegate_core::packet::Flow;
/// let share = Stream::windowed(Window::new(99_999, 100_000), 1);
/// let mut engine: Cohorts = Cohorts::new(Rules::default(), &vec![share; 100_000]).unwrap();
/// (0..100_000).for_each(|stream| engine.activate(0, Flow(stream), 0));
/// assert_eq!(engine.select(0), Choice::Serve(Flow(0)));
/// engine.served(Flow(0), 1, Some(1));
/// assert_eq!(engine.select(1), Choice::Serve(Flow(1))); // all others have missed a deadline
/// ```
#[derive(Clone, Debug)]
pub struct Cohorts<R = Wheel> {
    rules: Rules,
    now: u64,
    records: Vec<Record>,
    tallies: Vec<Tally>,
    contenders: Vec<Contender>,
    cohorts: Vec<Cohort>,
    spare: Vec<u32>,
    /// Whatever comes first of all that waits, or nothing; `waiting` holds the rest. Items are streams, and from the number of streams on
    /// cohorts.
    nearest: Option<(u64, u32)>,
    waiting: R,
    /// Streams that may not be served yet, by the tick from which on they may.
    held: R,
    /// What has the earliest deadline, and perhaps more.
    front: BinaryHeap<Reverse<Item>>,
    /// The cohort one of whose streams was served last. What stands for it at the front, still before all others, is outdated.
    current: Option<u32>,
    /// Streams without deadlines.
    background: Tournament,
    /// Streams whose head is to be discarded, the lowest number first; and some whose head has gone otherwise.
    late: BinaryHeap<Reverse<u32>>,
    /// Items of equal deadline on their way to the front, and by period where among them a stream or cohort with that period stands.
    staged: Vec<u32>,
    homes: Vec<u32>,
    /// Members on their way from one cohort to another; empty otherwise.
    moving: Vec<u32>,
}

/// A stream or a cohort at the front, with what decides about its rank, or its first member's.
#[derive(Clone, Copy, Debug)]
struct Item {
    deadline: u64,
    denominator: u64,
    arrival: u64,
    /// Two numbers each, see [`Item::new`]: in one word, for what is written in halves is not at hand for whoever reads it whole at once.
    claimant: u64,
    place: u64,
}

impl Item {
    /// With a constraint of `numerator` and `denominator`, the arrival of its head and the number of the stream; the item, and a stamp that
    /// tells whether it is up to date.
    #[inline]
    fn new(deadline: u64, (numerator, denominator): (u32, u64), (arrival, stream): (u64, u32), (item, stamp): (u32, u32)) -> Item {
        let pair = |high, low| u64::from(high) << 32 | u64::from(low);
        Item { deadline, denominator, arrival, claimant: pair(numerator, stream), place: pair(item, stamp) }
    }

    #[inline]
    fn stream(&self) -> u32 {
        self.claimant as u32
    }

    /// The item and its stamp.
    #[inline]
    fn place(&self) -> (u32, u32) {
        ((self.place >> 32) as u32, self.place as u32)
    }

    #[inline]
    fn rank(&self) -> Rank {
        let &Item { deadline, denominator, arrival, claimant, .. } = self;
        let tolerance = Tolerance { numerator: (claimant >> 32) as u32, in_violation: false, denominator };
        Rank { deadline, tolerance, arrival, stream: self.stream() }
    }
}

impl Ord for Item {
    #[inline]
    fn cmp(&self, other: &Item) -> Ordering {
        self.rank().compare(&other.rank(), Order::DeadlineFirst)
    }
}

impl PartialOrd for Item {
    fn partial_cmp(&self, other: &Item) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Item {
    fn eq(&self, other: &Item) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Item {}

const NOWHERE: u32 = u32::MAX;

impl<R: ReadyList> Cohorts<R> {
    /// An engine for these streams, none of them backlogged.
    ///
    /// # Errors
    /// [`StreamError`] names the first stream that cannot be served.
    pub fn new(rules: Rules, streams: &[Stream]) -> Result<Cohorts<R>, StreamError> {
        let mut kinds = BTreeMap::new();
        let mut records = Vec::with_capacity(streams.len());
        let mut contenders = Vec::with_capacity(streams.len());
        for (index, stream) in streams.iter().enumerate() {
            stream.check().map_err(|problem| StreamError { stream: Some(Flow(index as u32)), problem })?;
            let kind = kinds.len() as u32;
            records.push(Record {
                deadline: if stream.period.is_some() { stream.first_deadline.unwrap_or(0) } else { NEVER },
                tolerance: Tolerance::of(stream.window),
                period: stream.period.unwrap_or(NEVER),
                window: stream.window,
                penalty: if stream.is_fixed || stream.window.deadlines == 0 { 0 } else { stream.penalty },
                kind: *kinds.entry(stream.period).or_insert(kind),
                stamp: 0,
                place: Place::Idle,
                droppable: stream.droppable,
                is_fixed: stream.is_fixed,
                is_fresh: false,
            });
            contenders.push(Contender::new(index as u32));
        }
        let mut engine = Cohorts {
            rules,
            now: 0,
            tallies: alloc::vec![Tally::default(); streams.len()],
            records,
            contenders,
            cohorts: Vec::new(),
            spare: Vec::new(),
            nearest: None,
            waiting: R::new(2 * streams.len()),
            held: R::new(if rules.early == Early::Hold { streams.len() } else { 0 }),
            front: BinaryHeap::new(),
            current: None,
            background: Tournament::new(),
            late: BinaryHeap::new(),
            staged: Vec::new(),
            homes: alloc::vec![NOWHERE; kinds.len()],
            moving: Vec::new(),
        };
        engine.rank_background();
        Ok(engine)
    }

    /// Streams without deadlines never change, so that their order can be settled once: the first gets the largest denominator.
    fn rank_background(&mut self) {
        let rank = |stream: u32| {
            let tolerance = self.records[stream as usize].tolerance;
            Rank { deadline: NEVER, tolerance, arrival: 0, stream: 0 }
        };
        let mut order: Vec<u32> = (0..self.records.len() as u32).filter(|&stream| self.records[stream as usize].period == NEVER).collect();
        order.sort_by(|&a, &b| rank(a).compare_tied(&rank(b)));
        let mut denominator = order.len() as u64 + 1;
        for (index, &stream) in order.iter().enumerate() {
            if index == 0 || !rank(order[index - 1]).compare_tied(&rank(stream)).is_eq() {
                denominator -= 1;
            }
            self.contenders[stream as usize].claim.stand(Tolerance { numerator: 0, in_violation: false, denominator }, 0, 0);
        }
    }

    fn is_cohort(&self, item: u32) -> Option<u32> {
        item.checked_sub(self.records.len() as u32)
    }

    fn item_of(&self, cohort: u32) -> u32 {
        self.records.len() as u32 + cohort
    }

    /// Puts a backlogged stream, touched, among those that wait.
    #[inline]
    fn enter(&mut self, stream: u32) {
        let record = &mut self.records[stream as usize];
        record.stamp = record.stamp.wrapping_add(1);
        if record.period == NEVER {
            record.place = Place::Background;
            return self.background.insert(stream, 0, &mut self.contenders);
        }
        let deadline = record.deadline;
        let opening = deadline.saturating_sub(record.period);
        if self.rules.early == Early::Hold && opening > self.now {
            record.place = Place::Held;
            return self.held.insert(Flow(stream), opening);
        }
        record.place = Place::Waiting;
        self.wait(stream, deadline);
    }

    #[inline]
    fn wait(&mut self, item: u32, deadline: u64) {
        let mut last = (deadline, item);
        match &mut self.nearest {
            nearest @ None => {
                if self.waiting.first().is_none_or(|(first, _)| deadline < first) {
                    *nearest = Some(last);
                    return;
                }
            }
            Some(nearest) => {
                if deadline < nearest.0 {
                    core::mem::swap(nearest, &mut last);
                }
            }
        }
        self.waiting.insert(Flow(last.1), last.0);
    }

    /// The deadline of whatever waits with the earliest.
    #[inline]
    fn earliest(&self) -> Option<u64> {
        match self.nearest {
            Some((deadline, _)) => Some(deadline),
            None => self.waiting.first().map(|(deadline, _)| deadline),
        }
    }

    /// Takes out what waits with the earliest deadline, which there is.
    #[inline]
    fn take_earliest(&mut self) -> u32 {
        match self.nearest.take() {
            Some((_, item)) => item,
            None => self.waiting.pop_first().map_or(NOWHERE, |(_, flow)| flow.0),
        }
    }

    /// Accounts for all deadlines that count as missed at `now`.
    fn sweep(&mut self, now: u64) {
        let missed = self.rules.missed;
        while let Some(Reverse(top)) = self.front.peek()
            && missed.is_past(top.deadline, now)
        {
            let (item, stamp) = top.place();
            self.front.pop();
            if self.is_cohort(item).is_some() || self.is_at_front(item, stamp) {
                self.miss(item, now);
            }
        }
        while let Some(deadline) = self.earliest()
            && missed.is_past(deadline, now)
        {
            let item = self.take_earliest();
            self.miss(item, now);
        }
    }

    fn is_at_front(&self, stream: u32, stamp: u32) -> bool {
        let record = &self.records[stream as usize];
        record.stamp == stamp && record.place == Place::Front
    }

    /// The deadline of this item, which is nowhere in order, counts as missed at `now`.
    #[inline]
    fn miss(&mut self, item: u32, now: u64) {
        if let Some(cohort) = self.is_cohort(item) {
            if self.miss_together(cohort, now) {
                self.wait(item, self.cohorts[cohort as usize].deadline);
            }
            return;
        }
        let record = &mut self.records[item as usize];
        let tally = &mut self.tallies[item as usize];
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

    /// Brings everything to the front that waits with a deadline no later than the earliest there.
    #[inline]
    fn advance_front(&mut self) {
        while let Some(deadline) = self.earliest()
            && self.front.peek().is_none_or(|Reverse(top)| deadline <= top.deadline)
        {
            let first = self.take_earliest();
            // What comes up after this one will be needed then.
            if let Some((_, next)) = self.waiting.first()
                && let Some(cohort) = self.is_cohort(next.0)
            {
                self.cohorts[cohort as usize].contest.fetch();
            }
            if self.earliest() != Some(deadline) {
                self.bring_to_front(first);
                continue;
            }
            self.stage(first);
            while self.earliest() == Some(deadline) {
                let item = self.take_earliest();
                self.stage(item);
            }
            let mut staged = core::mem::take(&mut self.staged);
            for item in staged.drain(..) {
                let kind = self.kind_of(item);
                self.homes[kind] = NOWHERE;
                self.bring_to_front(item);
            }
            self.staged = staged;
        }
    }

    fn kind_of(&self, item: u32) -> usize {
        match self.is_cohort(item) {
            Some(cohort) => self.cohorts[cohort as usize].kind as usize,
            None => self.records[item as usize].kind as usize,
        }
    }

    fn stage(&mut self, item: u32) {
        let is_lonely = self.is_cohort(item).is_none() && self.records[item as usize].droppable;
        let kind = self.kind_of(item);
        let home = self.homes[kind];
        if is_lonely || home == NOWHERE {
            if !is_lonely {
                self.homes[kind] = self.staged.len() as u32;
            }
            self.staged.push(item);
        } else {
            self.staged[home as usize] = self.unite(self.staged[home as usize], item);
        }
    }

    #[inline]
    fn bring_to_front(&mut self, item: u32) {
        if let Some(cohort) = self.is_cohort(item) {
            return self.lead(cohort, false);
        }
        let record = &mut self.records[item as usize];
        record.place = Place::Front;
        let Tolerance { numerator, denominator, .. } = record.tolerance;
        let arrival = self.contenders[item as usize].claim.arrival;
        self.front.push(Reverse(Item::new(record.deadline, (numerator, denominator), (arrival, item), (item, record.stamp))));
    }

    /// Puts the cohort that was served last back into order.
    #[inline]
    fn restore_current(&mut self, now: u64) {
        let Some(number) = self.current.take() else { return };
        let cohort = &self.cohorts[number as usize];
        if self.rules.missed.is_past(cohort.deadline, now) {
            let goes_on = self.miss_together(number, now);
            let deadline = self.cohorts[number as usize].deadline;
            if goes_on && self.earliest().is_none_or(|earliest| deadline < earliest) {
                return self.lead(number, true);
            }
            self.front.pop();
            if goes_on {
                self.wait(self.item_of(number), deadline);
            }
            return;
        }
        let cohort = &mut self.cohorts[number as usize];
        if let Some(stream) = cohort.served.take() {
            cohort.unseat(stream, &self.contenders);
            self.contenders[stream as usize].leaf = cohort.ahead.len() as u32;
            cohort.ahead.push(stream);
        }
        self.lead(number, true);
    }

    /// The first at the front, which is up to date.
    #[inline]
    fn first_at_front(&mut self) -> Option<u32> {
        loop {
            let Reverse(top) = self.front.peek()?;
            let ((item, stamp), stream) = (top.place(), top.stream());
            match self.is_cohort(item) {
                None if self.is_at_front(item, stamp) => return Some(item),
                None => _ = self.front.pop(),
                Some(cohort) if self.cohorts[cohort as usize].stamp == stamp => return Some(stream),
                Some(_) => {
                    self.front.pop();
                    self.bring_to_front(item);
                }
            }
        }
    }
}

impl<R: ReadyList> Dwcs for Cohorts<R> {
    fn activate(&mut self, now: u64, stream: Flow, arrival: u64) {
        let record = &mut self.records[stream.index()];
        self.contenders[stream.index()].claim.arrival = arrival;
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
        self.restore_current(now);
        self.sweep(now);
        while let Some(&Reverse(stream)) = self.late.peek() {
            if self.records[stream as usize].place == Place::Late {
                return Choice::Discard(Flow(stream));
            }
            self.late.pop();
        }
        loop {
            self.advance_front();
            // Whoever stood first may have gone, and then others come to the front.
            let before = self.front.len();
            match self.first_at_front() {
                Some(stream) if before == self.front.len() => return Choice::Serve(Flow(stream)),
                None if self.earliest().is_none() => break,
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
        let place = self.records[index].place;
        if let Place::Member(number) = place {
            self.cohorts[number as usize].serve(stream.0, &mut self.contenders, &self.records);
        }
        let tally = &mut self.tallies[index];
        let record = &mut self.records[index];
        record.is_fresh = false;
        if place == Place::Background {
            tally.met += 1;
            self.background.remove(stream.0, 0, &mut self.contenders);
            return self.follow(stream, next);
        }
        if let Place::Member(number) = place {
            self.current = Some(number);
            record.touch(self.cohorts[number as usize].deadline, tally);
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
        let regular = record.deadline + record.period;
        record.deadline = if self.rules.early == Early::Clamp { regular.min(finish + CLAMP) } else { regular };
        if let Place::Member(number) = place {
            let cohort = &mut self.cohorts[number as usize];
            if let Some(arrival) = next
                && record.deadline == regular
                && self.rules.early != Early::Hold
            {
                self.contenders[index].claim.arrival = arrival;
                cohort.served = Some(stream.0);
                return;
            }
            cohort.unseat(stream.0, &self.contenders);
        }
        self.follow(stream, next);
    }

    fn lost(&mut self, stream: Flow, next: Option<u64>) {
        match self.records[stream.index()].place {
            Place::Late => {
                self.tallies[stream.index()].dropped += 1;
                // An entry elsewhere is seen to be outdated when it comes first.
                if self.late.peek() == Some(&Reverse(stream.0)) {
                    self.late.pop();
                }
            }
            Place::Waiting => {
                if self.nearest.is_some_and(|(_, item)| item == stream.0) {
                    self.nearest = None;
                } else {
                    self.waiting.remove(stream);
                }
            }
            Place::Held => self.held.remove(stream),
            Place::Member(cohort) => self.leave(cohort, stream.0),
            Place::Background => self.background.remove(stream.0, 0, &mut self.contenders),
            Place::Front | Place::Idle => {}
        }
        let record = &mut self.records[stream.index()];
        if next.is_none() && record.is_fresh {
            record.is_fresh = false;
            record.deadline = 0;
        }
        self.follow(stream, next);
    }

    fn standing(&self, stream: Flow) -> Standing {
        let mut record = self.records[stream.index()].clone();
        let mut tally = self.tallies[stream.index()];
        let waits = !matches!(record.place, Place::Idle | Place::Late | Place::Background);
        if waits && !record.droppable {
            let times = self.rules.missed.count(record.deadline, record.period, self.now);
            record.touch(record.deadline + times * record.period, &mut tally);
        }
        Standing { deadline: record.deadline, tolerance: record.tolerance, tally }
    }
}

impl<R: ReadyList> Cohorts<R> {
    /// A stream that is nowhere gets its next head, if there is one.
    #[inline]
    fn follow(&mut self, stream: Flow, next: Option<u64>) {
        match next {
            Some(arrival) => {
                self.contenders[stream.index()].claim.arrival = arrival;
                self.enter(stream.0);
            }
            None => self.records[stream.index()].place = Place::Idle,
        }
    }
}
