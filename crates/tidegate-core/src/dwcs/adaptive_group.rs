//! The members of a group that have to be compared: a [`SortedGroup`] where many of them are served in every period, otherwise a
//! [`KineticTournament`].

use crate::dwcs::kinetic_key::{KineticKey, Member, NO_STREAM};
use crate::dwcs::kinetic_tournament::KineticTournament;
use crate::dwcs::sorted_group::SortedGroup;
use alloc::vec::Vec;

/// A tournament is replaced by sorting at one service per miss for each 8 members, and sorting by a tournament below one for each 12.
const MEMBERS_PER_SERVICE_TO_SORT: usize = 8;
const MEMBERS_PER_SERVICE_TO_STAY_SORTED: usize = 12;

#[derive(Clone, Default, Debug)]
pub(super) struct AdaptiveGroup {
    sorted: SortedGroup,
    tournament: KineticTournament,
    /// Which of the two is in use.
    is_tournament: bool,
    /// Streams on their way from one to the other; empty otherwise.
    moving: Vec<u32>,
}

impl AdaptiveGroup {
    /// Removes all streams, and keeps the memory.
    pub fn clear(&mut self) {
        self.sorted.clear();
        self.is_tournament = false;
    }

    pub fn len(&self) -> usize {
        if self.is_tournament { self.tournament.len() } else { self.sorted.len() }
    }

    /// True if streams that tolerate nothing are better queued than compared.
    #[inline]
    pub fn is_large(&self) -> bool {
        self.is_tournament && self.tournament.is_large()
    }

    /// All streams, in no particular order.
    pub fn streams(&self, members: &[Member]) -> impl Iterator<Item = u32> {
        let (one, other) = if self.is_tournament { (None, Some(&self.tournament)) } else { (Some(&self.sorted), None) };
        one.into_iter().flat_map(SortedGroup::streams).chain(other.into_iter().flat_map(|tournament| tournament.streams(members)))
    }

    /// Prefetches what the group's next deadline needs.
    pub fn prefetch(&self) {
        if self.is_tournament { self.tournament.prefetch() } else { self.sorted.prefetch() }
    }

    /// False if [`AdaptiveGroup::adapt`] would do nothing.
    #[inline]
    pub const fn may_adapt(&self, services: usize) -> bool {
        services > self.is_tournament as usize
    }

    /// Takes the structure that is faster for `len` members, which had this number of services since the last miss.
    #[inline]
    pub fn adapt(&mut self, services: usize, len: usize, misses: u64, members: &mut [Member]) {
        if self.is_tournament {
            if services * MEMBERS_PER_SERVICE_TO_SORT >= len {
                self.switch_to_sorted(members);
            }
        } else if services * MEMBERS_PER_SERVICE_TO_STAY_SORTED < len {
            self.switch_to_tournament(misses, members);
        }
    }

    #[inline(never)]
    fn switch_to_sorted(&mut self, members: &mut [Member]) {
        self.moving.extend(self.tournament.streams(members));
        self.clear();
        for stream in self.moving.drain(..) {
            self.sorted.insert(stream, members);
        }
    }

    #[inline(never)]
    fn switch_to_tournament(&mut self, misses: u64, members: &mut [Member]) {
        self.moving.extend(self.sorted.streams());
        self.is_tournament = true;
        self.tournament.clear();
        // Inserted in order, runs are as long as possible.
        self.moving.sort_unstable_by_key(|&stream| members[stream as usize].key.place_in_lane());
        self.tournament.insert_all(&self.moving, misses, members);
        self.moving.clear();
    }

    /// Lets [`AdaptiveGroup::first`] be as of the count `misses`.
    #[inline]
    pub fn sort_at(&mut self, misses: u64) {
        if !self.is_tournament {
            self.sorted.sort_at(misses);
        }
    }

    /// The key of the first stream, if there is one.
    #[inline]
    pub fn first(&self) -> Option<&KineticKey> {
        if self.is_tournament { self.tournament.first() } else { self.sorted.first() }
    }

    /// Streams that may come after `first`; [`NO_STREAM`] for those that are missing.
    #[inline]
    pub fn following(&self, first: u32, members: &[Member]) -> [u32; 3] {
        match (self.is_tournament, self.tournament.len()) {
            (false, _) => self.sorted.following(),
            (true, 0) => [NO_STREAM; 3],
            _ => {
                let [one, other] = self.tournament.finalists();
                [one, other, members[first as usize].next]
            }
        }
    }

    /// Adds a stream whose key is as of the count `misses`.
    pub fn insert(&mut self, stream: u32, misses: u64, members: &mut [Member]) {
        if self.is_tournament { self.tournament.insert(stream, misses, members) } else { self.sorted.insert(stream, members) }
    }

    /// Adds several.
    pub fn insert_all(&mut self, streams: &[u32], misses: u64, members: &mut [Member]) {
        if self.is_tournament {
            self.tournament.insert_all(streams, misses, members);
        } else {
            streams.iter().for_each(|&stream| self.sorted.insert(stream, members));
        }
    }

    /// Gives up memory that is not needed for the streams here and `more`.
    #[inline]
    pub fn shrink(&mut self, more: usize, misses: u64, members: &mut [Member]) {
        if self.is_tournament {
            self.tournament.shrink(more, misses, members);
        }
    }

    /// The first is about to change. True if it has lost its slot to the stream that follows it in its run.
    #[inline]
    pub fn release(&mut self, stream: u32, misses: u64, members: &mut [Member]) -> bool {
        self.is_tournament && self.tournament.release(stream, misses, members)
    }

    /// Takes a stream out that has just been [released](Self::release).
    #[inline]
    pub fn remove_released(&mut self, stream: u32, misses: u64, members: &[Member]) {
        if self.is_tournament {
            self.tournament.remove_released(stream, misses, members);
        } else {
            self.sorted.remove(stream, members);
        }
    }

    /// Takes a stream out.
    pub fn remove(&mut self, stream: u32, misses: u64, members: &mut [Member]) {
        if self.is_tournament { self.tournament.remove(stream, misses, members) } else { self.sorted.remove(stream, members) }
    }

    /// The key of a stream that has been [released](Self::release) and still has its slot has changed.
    #[inline]
    pub fn update(&mut self, stream: u32, misses: u64, members: &mut [Member]) {
        if self.is_tournament { self.tournament.update(stream, misses, members) } else { self.sorted.update(stream, members) }
    }

    /// True if a key or a certificate expires at the count `misses` or before.
    #[inline]
    pub fn has_expired(&self, misses: u64) -> bool {
        if self.is_tournament { self.tournament.has_expired(misses) } else { self.sorted.has_expired(misses) }
    }

    /// Renews what has expired at the count `misses`. `renew` sets the key of a stream as of this count; it returns false if it has put the
    /// stream elsewhere.
    #[inline]
    pub fn renew_expired(&mut self, misses: u64, members: &mut [Member], renew: &mut impl FnMut(u32, &mut Member) -> bool) {
        if self.is_tournament {
            self.tournament.replay_expired(misses, members, renew);
        } else {
            self.sorted.renew_expired(misses, members, renew);
        }
    }
}
