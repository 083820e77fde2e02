//! A group whose members are all sorted when the first is asked for, at most once per missed deadline.
//!
//! Between two misses no constraint of a waiting member changes, so one order holds for all services until the next miss. Where many of the
//! streams are served in every period, sorting them takes less than keeping a tree up to date after every change.
//!
//! **Law**: the first is that of a [`KineticTournament`](super::kinetic_tournament::KineticTournament), by [`Rank::compare_tied`].
//!
//! **Source**: ours.
//!
//! **State**: 48 bytes per stream.
//!
//! **Cost**: O(n) per miss at which a key expires, O(n log n) per count of misses at which the first is asked for, and O(1) per service.
//!
//! **RTL twin**: none.
//!
//! **Deviations**: none.

use crate::dwcs::kinetic_key::{KineticKey, Member, NO_STREAM};
use crate::dwcs::radix_heap::Entry;
#[cfg(doc)]
use crate::dwcs::rank::Rank;
use crate::prefetch::prefetch;
use alloc::vec::Vec;

/// In place of a count of misses: none.
const NO_COUNT: u64 = u64::MAX;

#[derive(Clone, Debug)]
pub(super) struct SortedGroup {
    /// By place, which is the slot of the member.
    keys: Vec<KineticKey>,
    /// Places that are not in use.
    free: Vec<u32>,
    /// All of them as of the count of misses `sorted_at`, the first at the end, and `stale` that have left. The stamp is the place.
    order: Vec<Entry>,
    stale: usize,
    sorted_at: u64,
    /// No key expires before this count of misses.
    expires: u64,
}

impl Default for SortedGroup {
    fn default() -> SortedGroup {
        SortedGroup { keys: Vec::new(), free: Vec::new(), order: Vec::new(), stale: 0, sorted_at: NO_COUNT, expires: NO_COUNT }
    }
}

/// The most cache lines that are prefetched together.
const PREFETCHED_LINES: usize = 32;

impl SortedGroup {
    /// Removes all streams, and keeps the memory.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.free.clear();
        self.order.clear();
        (self.sorted_at, self.expires) = (NO_COUNT, NO_COUNT);
    }

    pub const fn len(&self) -> usize {
        self.keys.len() - self.free.len()
    }

    /// All streams, in no particular order.
    pub fn streams(&self) -> impl Iterator<Item = u32> {
        self.keys.iter().map(KineticKey::stream).filter(|&stream| stream != NO_STREAM)
    }

    /// Prefetches the first [`PREFETCHED_LINES`] lines of what is sorted next.
    pub fn prefetch(&self) {
        self.keys.chunks(2).take(PREFETCHED_LINES).for_each(|keys| prefetch(&keys[0]));
    }

    /// Adds a stream whose key is as of the present count of misses.
    pub fn insert(&mut self, stream: u32, members: &mut [Member]) {
        let place = self.free.pop().unwrap_or(self.keys.len() as u32);
        let member = &mut members[stream as usize];
        member.slot = place;
        if place as usize == self.keys.len() {
            self.keys.push(KineticKey::VACANT);
        }
        self.put(place as usize, member.key);
    }

    fn put(&mut self, place: usize, key: KineticKey) {
        self.keys[place] = key;
        self.expires = self.expires.min(key.expires());
        self.sorted_at = NO_COUNT;
    }

    /// Takes a stream out.
    #[inline]
    pub fn remove(&mut self, stream: u32, members: &[Member]) {
        self.vacate(members[stream as usize].slot);
        if self.order.last().is_some_and(|first| first.stream() == stream) {
            self.order.pop();
        } else {
            self.stale += 1;
        }
        while self.stale > 0 && self.order.last().is_some_and(|first| self.keys[first.stamp() as usize].stream() != first.stream()) {
            self.order.pop();
            self.stale -= 1;
        }
    }

    fn vacate(&mut self, place: u32) {
        self.keys[place as usize] = KineticKey::VACANT;
        self.free.push(place);
    }

    /// The key of a stream has changed.
    #[inline]
    pub fn update(&mut self, stream: u32, members: &[Member]) {
        let Member { key, slot, .. } = members[stream as usize];
        self.put(slot as usize, key);
    }

    /// True if a key expires at the count `misses` or before.
    #[inline]
    pub const fn has_expired(&self, misses: u64) -> bool {
        self.expires <= misses
    }

    /// Renews the keys that have expired at the count `misses`. `renew` sets the key of a stream as of this count; it returns false if it has
    /// put the stream elsewhere.
    pub fn renew_expired(&mut self, misses: u64, members: &mut [Member], renew: &mut impl FnMut(u32, &mut Member) -> bool) {
        self.expires = NO_COUNT;
        self.sorted_at = NO_COUNT;
        for place in 0..self.keys.len() {
            let key = &mut self.keys[place];
            if key.expires() <= misses {
                let member = &mut members[key.stream() as usize];
                if !renew(key.stream(), member) {
                    self.vacate(place as u32);
                    continue;
                }
                *key = member.key;
            }
            self.expires = self.expires.min(key.expires());
        }
    }

    /// Sorts at the count `misses`, for [`SortedGroup::first`]. [`SortedGroup::renew_expired`] has been called with that count.
    #[inline]
    pub fn sort_at(&mut self, misses: u64) {
        if self.sorted_at == misses {
            return;
        }
        self.sorted_at = misses;
        self.stale = 0;
        self.order.clear();
        let mut is_exact = true;
        for (place, key) in self.keys.iter().enumerate().filter(|(_, key)| key.stream() != NO_STREAM) {
            let order = key.number(misses);
            is_exact &= order.is_some();
            let order = order.unwrap_or_default();
            self.order.push(Entry::new(order, key.arrival, key.stream(), place as u32));
        }
        if is_exact {
            self.order.sort_unstable_by(|a, b| b.cmp(a));
        } else {
            let keys = &self.keys;
            self.order.sort_unstable_by(|a, b| keys[b.stamp() as usize].compare(&keys[a.stamp() as usize], misses));
        }
    }

    /// The key of the first. [`SortedGroup::sort_at`] has been called.
    #[inline]
    pub fn first(&self) -> Option<&KineticKey> {
        self.order.last().map(|first| &self.keys[first.stamp() as usize])
    }

    /// The three streams after the first; [`NO_STREAM`] for those that are missing.
    #[inline]
    pub fn following(&self) -> [u32; 3] {
        [2, 3, 4].map(|back| self.order.len().checked_sub(back).map_or(NO_STREAM, |at| self.order[at].stream()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dwcs::rank::Rank;
    use crate::dwcs::rules::NEVER;
    use crate::dwcs::stream::Window;
    use crate::dwcs::tolerance::Tolerance;
    use proptest::prelude::*;

    /// Tolerance, penalty and arrival of the head of each stream; in some cases with windows that 64 bits do not order.
    fn streams() -> impl Strategy<Value = Vec<(Tolerance, u32, u64)>> {
        let widths = prop_oneof![Just(3u32), Just(300), Just(30_000), Just(1 << 22), Just(u32::MAX)];
        let stream = (any::<u32>(), any::<u32>(), 0u32..3, 0u64..3);
        (widths.clone(), widths, prop::collection::vec(stream, 1..40)).prop_map(|(width, slack, streams)| {
            let tolerance =
                |x: u32, more: u32| Tolerance { numerator: x, in_violation: false, denominator: u64::from(x.saturating_add(more)) };
            let stream = |(x, more, penalty, arrival)| (tolerance(x % width, more % slack), penalty, arrival);
            streams.into_iter().map(stream).collect()
        })
    }

    proptest! {
        /// Streams leave in the order of rank, whatever was missed before and whichever left before.
        #[test]
        fn they_come_in_the_order_of_rank(streams in streams(), counts in (0u64..1000, 0u64..1000), leaves in any::<u64>()) {
            let (mut group, mut members) = (SortedGroup::default(), Vec::new());
            for (index, &(tolerance, penalty, arrival)) in streams.iter().enumerate() {
                let mut member = Member::new(index as u32);
                member.key.arrival = arrival;
                member.key.set(tolerance, penalty, counts.0);
                members.push(member);
                group.insert(index as u32, &mut members);
            }
            let open = streams.iter().map(|stream| u64::from(stream.0.numerator)).filter(|&numerator| numerator > 0);
            let missed = counts.1.min(open.min().unwrap_or(u64::MAX) - 1);
            prop_assert!(!group.has_expired(counts.0 + missed));
            let mut ranks: Vec<Rank> = streams.iter().enumerate().map(|(index, &(mut tolerance, penalty, arrival))| {
                tolerance.miss(Window::TIGHTEST, penalty, missed);
                Rank { deadline: NEVER, tolerance, arrival, stream: index as u32 }
            }).collect();
            ranks.sort_by(Rank::compare_tied);
            group.sort_at(counts.0 + missed);
            ranks.retain(|rank| {
                let leaves = leaves >> (rank.stream % 64) & 1 == 1;
                if leaves {
                    group.remove(rank.stream, &members);
                }
                !leaves
            });
            for (gone, rank) in ranks.iter().enumerate() {
                group.sort_at(counts.0 + missed);
                prop_assert_eq!(group.first().map(KineticKey::stream), Some(rank.stream));
                prop_assert_eq!(group.len(), ranks.len() - gone);
                group.remove(rank.stream, &members);
            }
            group.sort_at(counts.0 + missed);
            prop_assert_eq!(group.first().map(KineticKey::stream), None);
        }
    }
}
