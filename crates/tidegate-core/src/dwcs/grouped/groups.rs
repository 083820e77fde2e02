//! All streams and their groups: creating, joining and leaving a group, uniting two, and what the members of one do together.

use super::front::FrontEntry;
use super::group::DeadlineGroup;
use super::queues::{QUEUED, Queues, prefetch_stream};
use super::record::{Place, Record};
use crate::dwcs::interface::Tally;
use crate::dwcs::kinetic_key::{Member, NO_STREAM};
use crate::dwcs::kinetic_tournament::MOST_MISSES;
use crate::dwcs::rules::Missed;
use crate::prefetch::prefetch;
use alloc::vec::Vec;

#[derive(Clone, Debug)]
pub(super) struct Groups {
    /// By stream, and so are tallies and members.
    pub records: Vec<Record>,
    pub tallies: Vec<Tally>,
    pub members: Vec<Member>,
    groups: Vec<DeadlineGroup>,
    /// Groups that are not in use.
    spare: Vec<u32>,
    /// Streams on their way from one group to another; empty otherwise.
    moving: Vec<u32>,
    /// The last stream whose record has been fetched, because its turn comes soon.
    pub soon: u32,
}

/// What is left of a group that has moved on to its next deadline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Remaining {
    Group,
    /// One stream, which is in no group any more and up to date.
    Stream(u32),
    Nothing,
}

impl Groups {
    /// None of the streams is in a group.
    pub fn new(records: Vec<Record>) -> Groups {
        Groups {
            tallies: alloc::vec![Tally::default(); records.len()],
            members: (0..records.len() as u32).map(Member::new).collect(),
            groups: Vec::new(),
            spare: Vec::new(),
            moving: Vec::new(),
            soon: NO_STREAM,
            records,
        }
    }

    /// The group that an item is; `None` if it is a stream.
    #[inline]
    pub fn group_of(&self, item: u32) -> Option<u32> {
        item.checked_sub(self.records.len() as u32)
    }

    #[inline]
    pub fn item_of(&self, group: u32) -> u32 {
        self.records.len() as u32 + group
    }

    #[inline]
    pub fn deadline(&self, number: u32) -> u64 {
        self.groups[number as usize].deadline
    }

    /// The stamp that an entry at the front has if it is up to date.
    #[inline]
    pub fn stamp(&self, number: u32) -> u32 {
        self.groups[number as usize].stamp
    }

    /// The index of an item's period among all periods.
    pub fn period_index(&self, item: u32) -> usize {
        match self.group_of(item) {
            Some(group) => self.groups[group as usize].period_index as usize,
            None => self.records[item as usize].period_index as usize,
        }
    }

    /// Prefetches what the next deadline of an item needs.
    #[inline]
    pub fn prefetch(&self, item: u32) {
        if let Some(group) = self.group_of(item) {
            self.groups[group as usize].compared.prefetch();
        }
    }

    /// The first member, which is this stream, is served; brings it up to date.
    #[inline]
    pub fn serve(&mut self, number: u32, stream: u32) {
        let group = &mut self.groups[number as usize];
        group.serve(stream, &self.records, &mut self.members);
        self.records[stream as usize].catch_up(group.deadline, &mut self.tallies[stream as usize]);
    }

    /// The stream that was served stays a member: its deadline is the group's next one, and its head has this arrival.
    #[inline]
    pub fn keep_served(&mut self, number: u32, stream: u32, arrival: u64) {
        self.members[stream as usize].key.arrival = arrival;
        self.groups[number as usize].served = Some(stream);
    }

    /// The stream that was served leaves.
    #[inline]
    pub fn vacate(&mut self, number: u32, stream: u32) {
        self.groups[number as usize].vacate(stream, &self.members);
    }

    /// Puts the member that was served last among those that are ahead, if it stayed.
    #[inline]
    pub fn put_served_ahead(&mut self, number: u32) {
        let group = &mut self.groups[number as usize];
        if let Some(stream) = group.served.take() {
            group.vacate(stream, &self.members);
            self.members[stream as usize].slot = group.ahead.len() as u32;
            group.ahead.push(stream);
        }
    }

    /// The deadline of a group counts as missed at `now`.
    #[inline]
    pub fn miss(&mut self, number: u32, missed: Missed, now: u64) -> Remaining {
        let group = &mut self.groups[number as usize];
        let times = missed.count(group.deadline, group.period, now);
        let (misses, served) = (group.misses + times, group.served.take());
        if let Some(stream) = served
            && (misses > MOST_MISSES || group.compared.has_expired(misses))
        {
            group.vacate(stream, &self.members);
            self.members[stream as usize].slot = QUEUED;
        }
        group.misses = misses;
        group.deadline += times * group.period;
        if misses > MOST_MISSES {
            self.count_anew(number);
        }
        self.renew_expired(number);
        if let Some(stream) = served {
            self.set_key(number, stream);
            let group = &mut self.groups[number as usize];
            let (record, member) = (&self.records[stream as usize], &self.members[stream as usize]);
            if member.slot == QUEUED || group.queues.take(record, member, group.compared.is_large()) {
                group.vacate(stream, &self.members);
                group.add(stream, &mut self.records, &mut self.members);
            } else {
                group.compared.update(stream, misses, &mut self.members);
            }
        }
        let group = &mut self.groups[number as usize];
        let ahead = group.ahead.len();
        let services = core::mem::take(&mut group.services);
        if group.compared.may_adapt(services) {
            group.compared.adapt(services, group.len() + ahead, group.misses, &mut self.members);
        }
        group.compared.shrink(ahead, group.misses, &mut self.members);
        self.rejoin_ahead(number)
    }

    /// The members that are ahead wait with the others again, because their deadline has become the group's.
    #[inline]
    fn rejoin_ahead(&mut self, number: u32) -> Remaining {
        if !self.groups[number as usize].ahead.is_empty() {
            let mut ahead = core::mem::take(&mut self.groups[number as usize].ahead);
            ahead.retain(|&stream| {
                self.set_key(number, stream);
                let (record, member) = (&mut self.records[stream as usize], &mut self.members[stream as usize]);
                let DeadlineGroup { compared, queues, .. } = &mut self.groups[number as usize];
                !queues.enqueue(record, member, compared.is_large())
            });
            let group = &mut self.groups[number as usize];
            group.compared.insert_all(&ahead, group.misses, &mut self.members);
            ahead.clear();
            group.ahead = ahead;
        }
        match self.groups[number as usize].len() {
            0 => {
                self.spare.push(number);
                Remaining::Nothing
            }
            1 => self.dissolve(number),
            _ => Remaining::Group,
        }
    }

    /// A group all of whose members are ahead moves on to their deadline.
    #[inline]
    pub fn move_on(&mut self, number: u32) -> Remaining {
        let group = &mut self.groups[number as usize];
        if !group.ahead.is_empty() {
            group.deadline += group.period;
        }
        self.rejoin_ahead(number)
    }

    /// Begins a group's count of misses at 0 again.
    #[cold]
    fn count_anew(&mut self, number: u32) {
        let group = &self.groups[number as usize];
        let streams: Vec<u32> = group.streams(&self.records, &self.members).collect();
        self.groups[number as usize].clear();
        for stream in streams {
            self.set_key(number, stream);
            self.groups[number as usize].add(stream, &mut self.records, &mut self.members);
        }
    }

    /// Brings a member up to date, and sets its key as of the group's count of misses.
    #[inline]
    fn set_key(&mut self, number: u32, stream: u32) {
        let group = &self.groups[number as usize];
        let record = &mut self.records[stream as usize];
        record.catch_up(group.deadline, &mut self.tallies[stream as usize]);
        self.members[stream as usize].key.set(record.tolerance, record.penalty, group.misses);
    }

    /// Takes out the last member.
    fn dissolve(&mut self, number: u32) -> Remaining {
        let group = &mut self.groups[number as usize];
        let (last, deadline) = (group.streams(&self.records, &self.members).next(), group.deadline);
        self.spare.push(number);
        let Some(stream) = last else { return Remaining::Nothing };
        self.records[stream as usize].catch_up(deadline, &mut self.tallies[stream as usize]);
        Remaining::Stream(stream)
    }

    /// Takes out a member, and brings it up to date.
    pub fn leave(&mut self, number: u32, stream: u32) {
        let group = &mut self.groups[number as usize];
        group.stamp = group.stamp.wrapping_add(1);
        let slot = self.members[stream as usize].slot;
        if group.served == Some(stream) {
            group.served = None;
            return group.vacate(stream, &self.members);
        }
        if group.ahead.get(slot as usize) == Some(&stream) {
            group.ahead.swap_remove(slot as usize);
            if let Some(&moved) = group.ahead.get(slot as usize) {
                self.members[moved as usize].slot = slot;
            }
            return;
        }
        let record = &mut self.records[stream as usize];
        record.catch_up(group.deadline, &mut self.tallies[stream as usize]);
        if Queues::has(slot) {
            record.stamp = record.stamp.wrapping_add(1);
            group.queues.lose(slot, group.misses, &self.records, &mut self.members);
            return group.compare_tolerant(&self.records, &mut self.members, &mut self.moving);
        }
        group.compared.remove(stream, group.misses, &mut self.members);
        group.compared.shrink(group.ahead.len(), group.misses, &mut self.members);
    }

    /// Adds a stream that is up to date and has the group's deadline and period.
    #[inline]
    fn join(&mut self, number: u32, stream: u32) {
        self.records[stream as usize].place = Place::Member(number);
        self.set_key(number, stream);
        self.groups[number as usize].add(stream, &mut self.records, &mut self.members);
    }

    /// A spare group, or a new one, without members, with the deadline and the period of this stream.
    fn create(&mut self, stream: u32) -> u32 {
        let number = self.spare.pop().unwrap_or(self.groups.len() as u32);
        if number as usize == self.groups.len() {
            self.groups.push(DeadlineGroup::default());
        }
        let record = &self.records[stream as usize];
        let group = &mut self.groups[number as usize];
        (group.deadline, group.period, group.period_index) = (record.deadline, record.period, record.period_index);
        group.queues.penalty = record.penalty;
        group.clear();
        number
    }

    /// One item of two that have the same deadline and period.
    pub fn unite(&mut self, one: u32, other: u32) -> u32 {
        match (self.group_of(one), self.group_of(other)) {
            (None, None) => {
                let group = self.create(one);
                self.join(group, one);
                self.join(group, other);
                self.item_of(group)
            }
            (Some(group), None) => {
                self.join(group, other);
                one
            }
            (None, Some(group)) => {
                self.join(group, one);
                other
            }
            (Some(a), Some(b)) => {
                let size = |number: u32| self.groups[number as usize].len();
                let (large, small) = if size(a) < size(b) { (b, a) } else { (a, b) };
                let mut streams = core::mem::take(&mut self.moving);
                streams.extend(self.groups[small as usize].streams(&self.records, &self.members));
                let deadline = self.groups[small as usize].deadline;
                self.spare.push(small);
                for stream in streams.drain(..) {
                    self.records[stream as usize].catch_up(deadline, &mut self.tallies[stream as usize]);
                    self.join(large, stream);
                }
                self.moving = streams;
                self.item_of(large)
            }
        }
    }

    /// Renews the keys that have expired at the group's count of misses.
    #[inline]
    fn renew_expired(&mut self, number: u32) {
        let group = &mut self.groups[number as usize];
        let (deadline, misses) = (group.deadline, group.misses);
        let (records, tallies) = (&mut self.records, &mut self.tallies);
        if group.compared.has_expired(misses) {
            let DeadlineGroup { compared, queues, .. } = &mut *group;
            compared.renew_expired(misses, &mut self.members, &mut |stream, member| {
                prefetch_stream(member.next, records, tallies);
                let record = &mut records[stream as usize];
                record.catch_up(deadline, &mut tallies[stream as usize]);
                member.key.set(record.tolerance, record.penalty, misses);
                // A stream that tolerates nothing from now on is queued if the queue is in use, and stays compared otherwise: exact either
                // way, and no slower.
                !queues.enqueue(record, member, false)
            });
        }
        while let Some(stream) = group.queues.pop_exhausted(misses, records, tallies) {
            let record = &mut records[stream as usize];
            record.catch_up(deadline, &mut tallies[stream as usize]);
            self.members[stream as usize].key.set(record.tolerance, record.penalty, misses);
            group.add(stream, records, &mut self.members);
        }
    }

    /// The entry that represents a group at the front; `None` if all its members are ahead. `is_new` prefetches the first member.
    #[inline]
    pub fn front_entry(&mut self, number: u32, is_new: bool) -> Option<FrontEntry> {
        let item = self.item_of(number);
        let group = &mut self.groups[number as usize];
        group.compare_tolerant(&self.records, &mut self.members, &mut self.moving);
        group.compared.sort_at(group.misses);
        let first = group.first()?;
        let soon = &mut self.soon;
        let mut prefetch_next = |stream| {
            prefetch_stream(stream, &self.records, &self.tallies);
            if let Some(member) = self.members.get(stream as usize) {
                prefetch(member);
                *soon = stream;
            }
        };
        if is_new {
            prefetch_next(first.stream());
        }
        group.compared.following(first.stream(), &self.members).into_iter().for_each(&mut prefetch_next);
        if let Some(stream) = group.queues.soon() {
            prefetch_next(stream);
        }
        Some(FrontEntry::of_group(group.deadline, &first, group.misses, (item, group.stamp)))
    }
}
