//! The order among streams of one deadline and one period, all of them sorted when it matters who is first: at most once per missed deadline.
//!
//! Between two misses nobody's constraint changes, so one order holds for all services until the next. Where a good part of the streams is
//! served in every period, sorting them takes less than a tree that can tell the first after every change.
//!
//! **Law**: the first is that of [`Tournament`](super::tournament::Tournament), by [`Rank::compare_tied`].
//!
//! **Source**: ours.
//!
//! **State**: 48 bytes per stream.
//!
//! **Cost**: O(n) per miss at which somebody begins to tolerate nothing, O(n log n) per count of misses at which the first is asked for, and O(1)
//! per service.
//!
//! **RTL twin**: none.
//!
//! **Deviations**: none.

#[cfg(doc)]
use super::Rank;
use super::radix_heap::Entry;
use super::tournament::{Claim, Contender, NOBODY};
use crate::prefetch::prefetch;
use alloc::vec::Vec;

/// In place of a count of misses: none.
const NEVER: u64 = u64::MAX;

#[derive(Clone, Debug)]
pub(super) struct Lineup {
    /// By place, which their contenders keep as their leaf.
    claims: Vec<Claim>,
    /// Places that are not in use.
    free: Vec<u32>,
    /// All of them as of the count of misses `ordered`, the first at the end, and so many who have gone. The stamp is the place.
    order: Vec<Entry>,
    stale: usize,
    ordered: u64,
    /// No claim expires before this count.
    expires: u64,
}

impl Default for Lineup {
    fn default() -> Lineup {
        Lineup { claims: Vec::new(), free: Vec::new(), order: Vec::new(), stale: 0, ordered: NEVER, expires: NEVER }
    }
}

/// The most lines of memory that are fetched together.
const LINES: usize = 32;

impl Lineup {
    /// Forgets everybody, and keeps the memory.
    pub fn clear(&mut self) {
        self.claims.clear();
        self.free.clear();
        self.order.clear();
        (self.ordered, self.expires) = (NEVER, NEVER);
    }

    pub const fn len(&self) -> usize {
        self.claims.len() - self.free.len()
    }

    /// Everybody, in no particular order.
    pub fn members(&self) -> impl Iterator<Item = u32> {
        self.claims.iter().map(Claim::stream).filter(|&stream| stream != NOBODY)
    }

    /// Asks the processor for what the next order is made of.
    pub fn fetch(&self) {
        self.claims.chunks(2).take(LINES).for_each(|claims| prefetch(&claims[0]));
    }

    /// Adds a stream whose contender stands as of the present count of misses.
    pub fn insert(&mut self, stream: u32, contenders: &mut [Contender]) {
        let place = self.free.pop().unwrap_or(self.claims.len() as u32);
        let contender = &mut contenders[stream as usize];
        contender.leaf = place;
        if place as usize == self.claims.len() {
            self.claims.push(Claim::VACANT);
        }
        self.stand(place as usize, contender.claim);
    }

    fn stand(&mut self, place: usize, claim: Claim) {
        self.claims[place] = claim;
        self.expires = self.expires.min(claim.expires());
        self.ordered = NEVER;
    }

    /// Takes a stream out.
    #[inline]
    pub fn remove(&mut self, stream: u32, contenders: &[Contender]) {
        self.vacate(contenders[stream as usize].leaf);
        if self.order.last().is_some_and(|first| first.stream() == stream) {
            self.order.pop();
        } else {
            self.stale += 1;
        }
        while self.stale > 0 && self.order.last().is_some_and(|first| self.claims[first.stamp() as usize].stream() != first.stream()) {
            self.order.pop();
            self.stale -= 1;
        }
    }

    fn vacate(&mut self, place: u32) {
        self.claims[place as usize] = Claim::VACANT;
        self.free.push(place);
    }

    /// The contender of a stream has changed.
    #[inline]
    pub fn update(&mut self, stream: u32, contenders: &[Contender]) {
        let Contender { claim, leaf, .. } = contenders[stream as usize];
        self.stand(leaf as usize, claim);
    }

    /// True if something expires at the count `misses` or before.
    #[inline]
    pub const fn has_expired(&self, misses: u64) -> bool {
        self.expires <= misses
    }

    /// Makes stand anew who has expired at the count `misses`. `stand` makes a stream's contender stand as of this count, or takes it out and
    /// returns false.
    pub fn settle(&mut self, misses: u64, contenders: &mut [Contender], stand: &mut impl FnMut(u32, &mut Contender) -> bool) {
        self.expires = NEVER;
        self.ordered = NEVER;
        for place in 0..self.claims.len() {
            let claim = &mut self.claims[place];
            if claim.expires() <= misses {
                let contender = &mut contenders[claim.stream() as usize];
                if !stand(claim.stream(), contender) {
                    self.vacate(place as u32);
                    continue;
                }
                *claim = contender.claim;
            }
            self.expires = self.expires.min(claim.expires());
        }
    }

    /// Settles the order at the count `misses`, after which [`Lineup::first`] knows it. [`Lineup::settle`] has been called with that count.
    #[inline]
    pub fn put_in_order(&mut self, misses: u64) {
        if self.ordered == misses {
            return;
        }
        self.ordered = misses;
        self.stale = 0;
        self.order.clear();
        let mut is_exact = true;
        for (place, claim) in self.claims.iter().enumerate().filter(|(_, claim)| claim.stream() != NOBODY) {
            let order = claim.key(misses);
            is_exact &= order.is_some();
            let order = order.unwrap_or_default();
            self.order.push(Entry::new(order, claim.arrival, claim.stream(), place as u32));
        }
        if is_exact {
            self.order.sort_unstable_by(|a, b| b.cmp(a));
        } else {
            let claims = &self.claims;
            self.order.sort_unstable_by(|a, b| claims[b.stamp() as usize].compare(&claims[a.stamp() as usize], misses));
        }
    }

    /// The claim of the first. [`Lineup::put_in_order`] has been called.
    #[inline]
    pub fn first(&self) -> Option<&Claim> {
        self.order.last().map(|first| &self.claims[first.stamp() as usize])
    }

    /// Those that come next; some may be nobody.
    #[inline]
    pub fn next(&self) -> [u32; 3] {
        [2, 3, 4].map(|back| self.order.len().checked_sub(back).map_or(NOBODY, |at| self.order[at].stream()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dwcs::{NEVER, Rank, Tolerance, Window};
    use proptest::prelude::*;

    /// What each tolerates, what a violation costs it, and when its head arrived; in some cases with windows that 64 bits do not order.
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
        /// One after the other leaves in the order of rank, whatever was missed before, and whoever has left before.
        #[test]
        fn they_come_in_the_order_of_rank(streams in streams(), counts in (0u64..1000, 0u64..1000), leaves in any::<u64>()) {
            let (mut lineup, mut contenders) = (Lineup::default(), Vec::new());
            for (index, &(tolerance, penalty, arrival)) in streams.iter().enumerate() {
                let mut contender = Contender::new(index as u32);
                contender.claim.arrival = arrival;
                contender.claim.stand(tolerance, penalty, counts.0);
                contenders.push(contender);
                lineup.insert(index as u32, &mut contenders);
            }
            let open = streams.iter().map(|stream| u64::from(stream.0.numerator)).filter(|&numerator| numerator > 0);
            let missed = counts.1.min(open.min().unwrap_or(u64::MAX) - 1);
            prop_assert!(!lineup.has_expired(counts.0 + missed));
            let mut ranks: Vec<Rank> = streams.iter().enumerate().map(|(index, &(mut tolerance, penalty, arrival))| {
                tolerance.miss(Window::TIGHTEST, penalty, missed);
                Rank { deadline: NEVER, tolerance, arrival, stream: index as u32 }
            }).collect();
            ranks.sort_by(Rank::compare_tied);
            lineup.put_in_order(counts.0 + missed);
            ranks.retain(|rank| {
                let leaves = leaves >> (rank.stream % 64) & 1 == 1;
                if leaves {
                    lineup.remove(rank.stream, &contenders);
                }
                !leaves
            });
            for (gone, rank) in ranks.iter().enumerate() {
                lineup.put_in_order(counts.0 + missed);
                prop_assert_eq!(lineup.first().map(Claim::stream), Some(rank.stream));
                prop_assert_eq!(lineup.len(), ranks.len() - gone);
                lineup.remove(rank.stream, &contenders);
            }
            lineup.put_in_order(counts.0 + missed);
            prop_assert_eq!(lineup.first().map(Claim::stream), None);
        }
    }
}
