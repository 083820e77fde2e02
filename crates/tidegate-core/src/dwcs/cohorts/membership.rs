//! Who belongs to a cohort: founding, joining and leaving it, uniting two, and what its members do together.

use super::{Cohorts, Item, Place, Record};
use crate::dwcs::contest::Contest;
use crate::dwcs::radix_heap::{Entry, RadixHeap};
use crate::dwcs::tournament::{Claim, Contender, MOST_MISSES};
use crate::dwcs::{Tally, Tolerance};
use crate::prefetch::prefetch;
use crate::ready::ReadyList;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cmp::Reverse;

#[derive(Clone, Debug)]
pub(super) struct Cohort {
    pub deadline: u64,
    pub period: u64,
    pub kind: u32,
    /// How many deadlines it has missed since it was formed.
    pub misses: u64,
    /// Changes whenever a member leaves, so that an item at the front is recognised as outdated.
    pub stamp: u32,
    /// How many services its members have had since it missed the last.
    services: usize,
    /// Members that need not compete.
    queues: Queues,
    /// All others.
    pub contest: Contest,
    /// The member that was served last, if its deadline is the next one now; it still has its leaf, if it had one.
    pub served: Option<u32>,
    /// Members that have been served and whose deadline is the next one. They stay behind those that have not been served.
    pub ahead: Vec<u32>,
}

/// Members whose order is known for as long as they wait.
#[derive(Clone, Default, Debug)]
struct Queues {
    /// What violations cost the member that the cohort was founded by.
    penalty: u32,
    /// None before the first of them.
    heaps: Option<Box<Heaps>>,
}

#[derive(Clone, Default, Debug)]
struct Heaps {
    /// Those that tolerate nothing and whose violations cost what the cohort's do: what they miss together does not change their order. And
    /// behind the first of them some that will be such when it is their turn, or so it seems.
    closed: RadixHeap,
    /// Those that tolerate something and joined while others tolerated nothing, by the count of misses at which they tolerate nothing:
    /// until then, or until `closed` is empty, their order does not matter.
    open: RadixHeap,
}

/// In place of a leaf: the member is in the queue of those that tolerate nothing, or nowhere.
const QUEUED: u32 = u32::MAX;
/// It is in the other queue.
const QUEUED_OPEN: u32 = QUEUED - 1;

/// True if nothing has happened to a stream since it was queued.
fn holds(records: &[Record]) -> impl Fn(&Entry) -> bool {
    |entry| records[entry.stream() as usize].stamp == entry.stamp()
}

/// Asks the processor for what is kept of a stream, if it is one.
#[inline]
fn fetch(stream: u32, records: &[Record], tallies: &[Tally]) {
    if let (Some(record), Some(tally)) = (records.get(stream as usize), tallies.get(stream as usize)) {
        prefetch(record);
        prefetch(tally);
    }
}

impl Queues {
    fn len(&self) -> usize {
        self.heaps.as_ref().map_or(0, |heaps| heaps.closed.len() + heaps.open.len())
    }

    /// The first of those that tolerate nothing.
    #[inline]
    fn closed(&self) -> Option<&Entry> {
        self.heaps.as_ref()?.closed.first()
    }

    /// True if there is one for such as it, in a cohort where many compete or few.
    #[inline]
    fn is_for(&self, record: &Record, contender: &Contender, is_large: bool) -> bool {
        match contender.claim.until() {
            None => record.penalty == self.penalty && (is_large || self.closed().is_some()),
            Some(_) => self.closed().is_some(),
        }
    }

    /// Puts a stream that is nowhere into the queue for such as it; false if there is none and it has to compete.
    #[inline]
    fn enqueue(&mut self, record: &mut Record, contender: &mut Contender, is_large: bool) -> bool {
        if !self.is_for(record, contender, is_large) {
            return false;
        }
        let Heaps { closed, open } = &mut **self.heaps.get_or_insert_with(Box::default);
        let claim = &contender.claim;
        record.stamp = record.stamp.wrapping_add(1);
        let entry = |order, arrival| Entry::new(order, arrival, claim.stream(), record.stamp);
        let (is_open, entry) = match (claim.until(), claim.order_to_be(record.penalty)) {
            (None, _) => (false, entry(claim.order(), claim.arrival)),
            (_, Some(order)) if record.penalty == self.penalty && closed.first().is_some_and(|first| first.order < order) => {
                (false, entry(order, claim.arrival))
            }
            (Some(count), _) => (true, entry(count, 0)),
        };
        contender.leaf = if is_open { QUEUED_OPEN } else { QUEUED };
        (if is_open { open } else { closed }).insert(entry);
        true
    }

    /// The first is taken out, or one that holds no more: lets the first be one that tolerates nothing.
    #[inline]
    fn expose(&mut self, misses: u64, records: &[Record], contenders: &mut [Contender]) {
        let Some(Heaps { closed, open }) = self.heaps.as_deref_mut() else { return };
        while let Some(&first) = closed.first()
            && let contender = &mut contenders[first.stream() as usize]
            && let Some(count) = contender.claim.until()
            && count > misses
        {
            closed.pop(holds(records));
            open.insert(Entry::new(count, 0, first.stream(), first.stamp()));
            contender.leaf = QUEUED_OPEN;
        }
    }
}

impl Cohort {
    /// How many members wait.
    pub fn len(&self) -> usize {
        self.contest.len() + self.queues.len()
    }

    /// The claim of the first of all, who are in order.
    #[inline]
    fn first(&self) -> Option<Claim> {
        let Some(entry) = self.queues.closed() else { return self.contest.first().copied() };
        let queued = Claim::queued(entry, self.queues.penalty);
        Some(self.contest.first().map_or(queued, |&claim| queued.first(claim, self.misses)))
    }

    /// Puts a stream that is nowhere, and whose contender stands as of the present count, in its place.
    #[inline]
    fn seat(&mut self, stream: u32, records: &mut [Record], contenders: &mut [Contender]) {
        if !self.queues.enqueue(&mut records[stream as usize], &mut contenders[stream as usize], self.contest.is_large()) {
            self.contest.insert(stream, self.misses, contenders);
        }
    }

    /// The first, which is this stream, is served: it is in no queue any more.
    #[inline]
    pub fn serve(&mut self, stream: u32, contenders: &mut [Contender], records: &[Record]) {
        self.services += 1;
        if contenders[stream as usize].leaf == QUEUED {
            if let Some(heaps) = &mut self.queues.heaps {
                heaps.closed.pop(holds(records));
            }
            self.queues.expose(self.misses, records, contenders);
        } else if self.contest.release(stream, self.misses, contenders) {
            contenders[stream as usize].leaf = QUEUED;
        }
    }

    /// Takes the leaf of a stream that has been served, if it still has it.
    #[inline]
    pub fn unseat(&mut self, stream: u32, contenders: &[Contender]) {
        if contenders[stream as usize].leaf != QUEUED {
            self.contest.remove_released(stream, self.misses, contenders);
        }
    }

    /// Lets all compete if nobody tolerates nothing.
    #[inline]
    fn compete(&mut self, records: &[Record], contenders: &mut [Contender], moving: &mut Vec<u32>) {
        if let Some(Heaps { closed, open }) = self.queues.heaps.as_deref_mut()
            && closed.first().is_none()
            && open.first().is_some()
        {
            moving.extend(open.entries().filter(|entry| holds(records)(entry)).map(Entry::stream));
            open.clear();
            self.contest.insert_all(moving, self.misses, contenders);
            moving.clear();
        }
    }

    /// All who wait, in no particular order.
    fn members(&self, records: &[Record], contenders: &[Contender]) -> impl Iterator<Item = u32> {
        let queued = self.queues.heaps.iter().flat_map(|heaps| heaps.closed.entries().chain(heaps.open.entries()));
        let queued = queued.filter(|entry| holds(records)(entry));
        self.contest.members(contenders).chain(queued.map(Entry::stream))
    }

    fn clear(&mut self) {
        (self.misses, self.services) = (0, 0);
        self.queues.heaps = None;
        self.contest.clear();
    }
}

impl<R: ReadyList> Cohorts<R> {
    /// The deadline of a cohort counts as missed at `now`. True if it goes on as a cohort and has to be put where it belongs.
    #[inline]
    pub(super) fn miss_together(&mut self, number: u32, now: u64) -> bool {
        let cohort = &mut self.cohorts[number as usize];
        let times = self.rules.missed.count(cohort.deadline, cohort.period, now);
        let (misses, served) = (cohort.misses + times, cohort.served.take());
        if let Some(stream) = served
            && (misses > MOST_MISSES || cohort.contest.has_expired(misses))
        {
            cohort.unseat(stream, &self.contenders);
            self.contenders[stream as usize].leaf = QUEUED;
        }
        cohort.misses = misses;
        cohort.deadline += times * cohort.period;
        if misses > MOST_MISSES {
            self.count_anew(number);
        }
        self.settle(number);
        if let Some(stream) = served {
            self.stand(number, stream);
            let cohort = &mut self.cohorts[number as usize];
            let (record, contender) = (&self.records[stream as usize], &self.contenders[stream as usize]);
            if contender.leaf == QUEUED || cohort.queues.is_for(record, contender, cohort.contest.is_large()) {
                cohort.unseat(stream, &self.contenders);
                cohort.seat(stream, &mut self.records, &mut self.contenders);
            } else {
                cohort.contest.update(stream, misses, &mut self.contenders);
            }
        }
        let cohort = &mut self.cohorts[number as usize];
        let ahead = cohort.ahead.len();
        let services = core::mem::take(&mut cohort.services);
        if cohort.contest.may_suit_better(services) {
            cohort.contest.suit(services, cohort.len() + ahead, cohort.misses, &mut self.contenders);
        }
        cohort.contest.shrink(ahead, cohort.misses, &mut self.contenders);
        self.rally(number)
    }

    /// Lets those that are ahead compete again, their deadline being the cohort's. True if it goes on as a cohort and has to be put where it
    /// belongs.
    #[inline]
    fn rally(&mut self, number: u32) -> bool {
        if !self.cohorts[number as usize].ahead.is_empty() {
            let mut ahead = core::mem::take(&mut self.cohorts[number as usize].ahead);
            ahead.retain(|&stream| {
                self.stand(number, stream);
                let (record, contender) = (&mut self.records[stream as usize], &mut self.contenders[stream as usize]);
                let Cohort { contest, queues, .. } = &mut self.cohorts[number as usize];
                !queues.enqueue(record, contender, contest.is_large())
            });
            let cohort = &mut self.cohorts[number as usize];
            cohort.contest.insert_all(&ahead, cohort.misses, &mut self.contenders);
            ahead.clear();
            cohort.ahead = ahead;
        }
        let members = self.cohorts[number as usize].len();
        match members {
            0 => self.spare.push(number),
            1 => self.dissolve(number),
            _ => {}
        }
        members > 1
    }

    /// A cohort all of whose members are ahead moves on to their deadline.
    #[inline]
    pub(super) fn move_on(&mut self, number: u32) {
        let cohort = &mut self.cohorts[number as usize];
        if !cohort.ahead.is_empty() {
            cohort.deadline += cohort.period;
        }
        let deadline = cohort.deadline;
        if self.rally(number) {
            self.wait(self.item_of(number), deadline);
        }
    }

    /// Begins a cohort's count of misses at 0 again.
    #[cold]
    pub(super) fn count_anew(&mut self, number: u32) {
        let cohort = &self.cohorts[number as usize];
        let members: Vec<u32> = cohort.members(&self.records, &self.contenders).collect();
        self.cohorts[number as usize].clear();
        for stream in members {
            self.stand(number, stream);
            self.cohorts[number as usize].seat(stream, &mut self.records, &mut self.contenders);
        }
    }

    /// Makes a member's contender stand as of its cohort's present count.
    #[inline]
    pub(super) fn stand(&mut self, number: u32, stream: u32) {
        let cohort = &self.cohorts[number as usize];
        let record = &mut self.records[stream as usize];
        record.touch(cohort.deadline, &mut self.tallies[stream as usize]);
        self.contenders[stream as usize].claim.stand(record.tolerance, record.penalty, cohort.misses);
    }

    /// Lets the last member of a cohort go its own way.
    pub(super) fn dissolve(&mut self, number: u32) {
        let cohort = &mut self.cohorts[number as usize];
        let (last, deadline) = (cohort.members(&self.records, &self.contenders).next(), cohort.deadline);
        self.spare.push(number);
        if let Some(stream) = last {
            self.records[stream as usize].touch(deadline, &mut self.tallies[stream as usize]);
            self.enter(stream);
        }
    }

    /// Takes a member, which is touched by this, out of its cohort.
    pub(super) fn leave(&mut self, number: u32, stream: u32) {
        let cohort = &mut self.cohorts[number as usize];
        cohort.stamp = cohort.stamp.wrapping_add(1);
        let place = self.contenders[stream as usize].leaf as usize;
        if cohort.served == Some(stream) {
            cohort.served = None;
            return cohort.unseat(stream, &self.contenders);
        }
        if cohort.ahead.get(place) == Some(&stream) {
            cohort.ahead.swap_remove(place);
            if let Some(&moved) = cohort.ahead.get(place) {
                self.contenders[moved as usize].leaf = place as u32;
            }
            return;
        }
        let (record, contender) = (&mut self.records[stream as usize], &self.contenders[stream as usize]);
        record.touch(cohort.deadline, &mut self.tallies[stream as usize]);
        if contender.leaf >= QUEUED_OPEN {
            record.stamp = record.stamp.wrapping_add(1);
            if let Some(Heaps { closed, open }) = cohort.queues.heaps.as_deref_mut() {
                (if contender.leaf == QUEUED { closed } else { open }).lose(holds(&self.records));
            }
            cohort.queues.expose(cohort.misses, &self.records, &mut self.contenders);
            return cohort.compete(&self.records, &mut self.contenders, &mut self.moving);
        }
        cohort.contest.remove(stream, cohort.misses, &mut self.contenders);
        cohort.contest.shrink(cohort.ahead.len(), cohort.misses, &mut self.contenders);
    }

    /// Adds a touched stream with the cohort's deadline and period.
    #[inline]
    pub(super) fn join(&mut self, number: u32, stream: u32) {
        self.records[stream as usize].place = Place::Member(number);
        self.stand(number, stream);
        self.cohorts[number as usize].seat(stream, &mut self.records, &mut self.contenders);
    }

    /// A spare cohort, or a new one, without members, that has this stream's deadline and period.
    pub(super) fn found(&mut self, stream: u32) -> u32 {
        let number = self.spare.pop().unwrap_or(self.cohorts.len() as u32);
        if number as usize == self.cohorts.len() {
            self.cohorts.push(Cohort {
                deadline: 0,
                period: 0,
                kind: 0,
                misses: 0,
                stamp: 0,
                services: 0,
                queues: Queues::default(),
                contest: Contest::default(),
                served: None,
                ahead: Vec::new(),
            });
        }
        let record = &self.records[stream as usize];
        let cohort = &mut self.cohorts[number as usize];
        (cohort.deadline, cohort.period, cohort.kind) = (record.deadline, record.period, record.kind);
        cohort.queues.penalty = record.penalty;
        cohort.clear();
        number
    }

    /// Makes one of two items with the same deadline and period.
    pub(super) fn unite(&mut self, one: u32, other: u32) -> u32 {
        match (self.is_cohort(one), self.is_cohort(other)) {
            (None, None) => {
                let cohort = self.found(one);
                self.join(cohort, one);
                self.join(cohort, other);
                self.item_of(cohort)
            }
            (Some(cohort), None) => {
                self.join(cohort, other);
                one
            }
            (None, Some(cohort)) => {
                self.join(cohort, one);
                other
            }
            (Some(a), Some(b)) => {
                let size = |number: u32| self.cohorts[number as usize].len();
                let (large, small) = if size(a) < size(b) { (b, a) } else { (a, b) };
                let mut members = core::mem::take(&mut self.moving);
                members.extend(self.cohorts[small as usize].members(&self.records, &self.contenders));
                let deadline = self.cohorts[small as usize].deadline;
                self.spare.push(small);
                for stream in members.drain(..) {
                    self.records[stream as usize].touch(deadline, &mut self.tallies[stream as usize]);
                    self.join(large, stream);
                }
                self.moving = members;
                self.item_of(large)
            }
        }
    }

    /// Makes stand anew whom the present count of a cohort has changed.
    #[inline]
    fn settle(&mut self, number: u32) {
        let cohort = &mut self.cohorts[number as usize];
        let (deadline, misses) = (cohort.deadline, cohort.misses);
        let (records, tallies) = (&mut self.records, &mut self.tallies);
        if cohort.contest.has_expired(misses) {
            let Cohort { contest, queues, .. } = &mut *cohort;
            contest.settle(misses, &mut self.contenders, &mut |stream, contender| {
                fetch(contender.next, records, tallies);
                let record = &mut records[stream as usize];
                record.touch(deadline, &mut tallies[stream as usize]);
                contender.claim.stand(record.tolerance, record.penalty, misses);
                // Who tolerates nothing from now on goes on competing unless the queue is in use: exact either way, and no slower.
                !queues.enqueue(record, contender, false)
            });
        }
        while let Some(Heaps { open, .. }) = cohort.queues.heaps.as_deref_mut()
            && let Some(entry) = open.first()
            && entry.order <= misses
        {
            let stream = entry.stream();
            open.pop(holds(records));
            if let Some(soon) = open.soon() {
                fetch(soon.stream(), records, tallies);
            }
            let record = &mut records[stream as usize];
            record.touch(deadline, &mut tallies[stream as usize]);
            self.contenders[stream as usize].claim.stand(record.tolerance, record.penalty, misses);
            cohort.seat(stream, records, &mut self.contenders);
        }
    }

    /// Lets the first of a cohort stand at the front for it, in place of another one if that stands first there. A cohort that has none
    /// moves on.
    #[inline]
    pub(super) fn lead(&mut self, number: u32, is_first: bool) {
        let item = self.item_of(number);
        let cohort = &mut self.cohorts[number as usize];
        cohort.compete(&self.records, &mut self.contenders, &mut self.moving);
        let (deadline, misses) = (cohort.deadline, cohort.misses);
        cohort.contest.put_in_order(misses);
        let Some(claim) = cohort.first() else {
            if is_first {
                self.front.pop();
            }
            return self.move_on(number);
        };
        let stream = claim.stream();
        let fetch = |soon| {
            fetch(soon, &self.records, &self.tallies);
            if let Some(contender) = self.contenders.get(soon as usize) {
                prefetch(contender);
            }
        };
        if !is_first {
            fetch(stream);
        }
        cohort.contest.next(stream, &self.contenders).into_iter().for_each(fetch);
        if let Some(soon) = cohort.queues.heaps.as_ref().and_then(|heaps| heaps.closed.soon()) {
            fetch(soon.stream());
        }
        let Tolerance { numerator, denominator, .. } = claim.tolerance(misses);
        let first = Reverse(Item::new(deadline, (numerator, denominator), (claim.arrival, stream), (item, cohort.stamp)));
        if is_first && let Some(mut top) = self.front.peek_mut() {
            *top = first;
            return;
        }
        self.front.push(first);
    }
}
