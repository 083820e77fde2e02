//! Who belongs to a cohort: founding, joining and leaving it, uniting two, and what its members do together.

use super::{Cohorts, Place};
use crate::dwcs::Rank;
use crate::dwcs::tournament::{MOST_MISSES, Tournament};
use crate::prefetch::prefetch;
use crate::ready::ReadyList;
use alloc::vec::Vec;

#[derive(Clone, Debug)]
pub(super) struct Cohort {
    pub deadline: u64,
    pub period: u64,
    pub kind: u32,
    /// How many deadlines it has missed since it was formed.
    pub misses: u64,
    pub tournament: Tournament,
    /// The member that was served last, if its deadline is the next one now; it still has its leaf.
    pub served: Option<u32>,
    /// Members that have been served and whose deadline is the next one. They stay behind those that have not been served.
    pub ahead: Vec<u32>,
}

impl<R: ReadyList> Cohorts<R> {
    #[inline]
    pub(super) fn miss_together(&mut self, number: u32, now: u64) {
        let cohort = &mut self.cohorts[number as usize];
        let times = self.rules.missed.count(cohort.deadline, cohort.period, now);
        cohort.misses += times;
        cohort.deadline += times * cohort.period;
        let served = cohort.served.take();
        if cohort.misses > MOST_MISSES {
            self.count_anew(number);
        }
        if let Some(stream) = served {
            self.stand(number, stream);
        }
        self.settle(number);
        if let Some(stream) = served {
            let cohort = &mut self.cohorts[number as usize];
            cohort.tournament.update(stream, cohort.misses, &self.contenders);
        }
        self.rally(number);
    }

    /// Lets those that are ahead compete again, their deadline being the cohort's, and puts the cohort where it belongs.
    #[inline]
    pub(super) fn rally(&mut self, number: u32) {
        if !self.cohorts[number as usize].ahead.is_empty() {
            let mut ahead = core::mem::take(&mut self.cohorts[number as usize].ahead);
            for &stream in &ahead {
                self.stand(number, stream);
            }
            let cohort = &mut self.cohorts[number as usize];
            cohort.tournament.insert_all(&ahead, cohort.misses, &mut self.contenders);
            ahead.clear();
            cohort.ahead = ahead;
        }
        let cohort = &self.cohorts[number as usize];
        match cohort.tournament.len() {
            0 => self.spare.push(number),
            1 => self.dissolve(number),
            _ => self.wait(self.item_of(number), cohort.deadline),
        }
    }

    /// A cohort all of whose members are ahead moves on to their deadline.
    #[inline]
    pub(super) fn move_on(&mut self, number: u32) {
        let cohort = &mut self.cohorts[number as usize];
        if !cohort.ahead.is_empty() {
            cohort.deadline += cohort.period;
        }
        self.rally(number);
    }

    /// Begins a cohort's count of misses at 0 again.
    #[cold]
    pub(super) fn count_anew(&mut self, number: u32) {
        let cohort = &mut self.cohorts[number as usize];
        cohort.misses = 0;
        let members: Vec<u32> = cohort.tournament.members().collect();
        for stream in members {
            self.stand(number, stream);
        }
        self.cohorts[number as usize].tournament.replay(0, &self.contenders);
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
        let (last, deadline) = (cohort.tournament.winner(), cohort.deadline);
        self.spare.push(number);
        if let Some(stream) = last {
            self.records[stream as usize].touch(deadline, &mut self.tallies[stream as usize]);
            self.enter(stream);
        }
    }

    /// Takes a member, which is touched by this, out of its cohort.
    pub(super) fn leave(&mut self, number: u32, stream: u32) {
        let cohort = &mut self.cohorts[number as usize];
        let place = self.contenders[stream as usize].leaf as usize;
        if cohort.served == Some(stream) {
            cohort.served = None;
        } else if cohort.ahead.get(place) == Some(&stream) {
            cohort.ahead.swap_remove(place);
            if let Some(&moved) = cohort.ahead.get(place) {
                self.contenders[moved as usize].leaf = place as u32;
            }
            return;
        } else {
            self.records[stream as usize].touch(cohort.deadline, &mut self.tallies[stream as usize]);
        }
        cohort.tournament.remove(stream, cohort.misses, &self.contenders);
        cohort.tournament.shrink(cohort.tournament.len() + cohort.ahead.len(), cohort.misses, &mut self.contenders);
    }

    /// Adds a touched stream with the cohort's deadline and period.
    #[inline]
    pub(super) fn join(&mut self, number: u32, stream: u32) {
        self.records[stream as usize].place = Place::Member(number);
        self.stand(number, stream);
        let cohort = &mut self.cohorts[number as usize];
        cohort.tournament.insert(stream, cohort.misses, &mut self.contenders);
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
                tournament: Tournament::new(),
                served: None,
                ahead: Vec::new(),
            });
        }
        let record = &self.records[stream as usize];
        let cohort = &mut self.cohorts[number as usize];
        (cohort.deadline, cohort.period, cohort.kind) = (record.deadline, record.period, record.kind);
        cohort.misses = 0;
        cohort.tournament.clear();
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
                let size = |number: u32| self.cohorts[number as usize].tournament.len();
                let (large, small) = if size(a) < size(b) { (b, a) } else { (a, b) };
                let mut members = core::mem::take(&mut self.moving);
                members.extend(self.cohorts[small as usize].tournament.members());
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

    /// Plays again what the present count of a cohort has changed among its members.
    #[inline]
    pub(super) fn settle(&mut self, number: u32) {
        let cohort = &mut self.cohorts[number as usize];
        let (deadline, misses) = (cohort.deadline, cohort.misses);
        let (records, tallies) = (&mut self.records, &mut self.tallies);
        cohort.tournament.settle(misses, &mut self.contenders, &mut |stream, claim| {
            let record = &mut records[stream as usize];
            record.touch(deadline, &mut tallies[stream as usize]);
            claim.stand(record.tolerance, record.penalty, misses);
        });
    }

    /// The rank of a cohort's first.
    #[inline]
    pub(super) fn first_of(&self, number: u32) -> Option<Rank> {
        let cohort = &self.cohorts[number as usize];
        let (deadline, misses) = (cohort.deadline, cohort.misses);
        let claim = cohort.tournament.first()?;
        let stream = claim.stream();
        prefetch(&self.records[stream as usize]);
        prefetch(&self.tallies[stream as usize]);
        for next in cohort.tournament.finalists() {
            if let (Some(record), Some(tally)) = (self.records.get(next as usize), self.tallies.get(next as usize)) {
                prefetch(record);
                prefetch(tally);
            }
        }
        Some(Rank { deadline, tolerance: claim.tolerance(misses), arrival: claim.arrival, stream })
    }
}
