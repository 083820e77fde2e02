//! How often each bucket of a histogram was hit: a list while few were, then an array.
//!
//! **Law.** Which form holds the counts changes none of them. What is printed for debugging is the counts alone: it does not tell in which order they came.
//!
//! **State.** A list has 4 bytes per bucket that was hit. It becomes an array when it has half of the array's size, when it has [`MOST_LISTED`]
//! entries, or when one bucket is hit [`MOST_COUNTED`] times. An array has 4 bytes per bucket of its range, then 8 once a count exceeds 32 bits.
//!
//! **Cost.** A list: a binary search, and a move of what follows a new bucket. An array: an increment.

/// Buckets of an array that are allocated at a time.
const BLOCK: usize = 16;
/// A list has no more entries.
const MOST_LISTED: usize = 128;
/// A list of fewer entries does not become an array for its size.
const FEW: usize = 32;
/// No entry of a list counts more.
const MOST_COUNTED: u32 = 16;
/// Bits of an entry that hold its count; the bucket is above.
const COUNT_BITS: u32 = 16;

/// The counts of buckets with numbers below 2^16.
#[derive(Clone)]
pub(super) enum Counts {
    /// The buckets that were hit, in order, each with its count.
    Listed(Vec<u32>),
    /// The counts of a range of buckets.
    Narrow(Range<u32>),
    /// The same after a count has exceeded 32 bits.
    Wide(Range<u64>),
}

/// The counts of the buckets from `base` on.
#[derive(Clone)]
pub(super) struct Range<T> {
    /// A multiple of [`BLOCK`].
    base: usize,
    counts: Vec<T>,
}

impl Default for Counts {
    fn default() -> Counts {
        Counts::Listed(Vec::new())
    }
}

impl std::fmt::Debug for Counts {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_map().entries(self.iter()).finish()
    }
}

impl Counts {
    /// Counts `times` hits of a bucket.
    #[inline]
    pub(super) fn add(&mut self, bucket: usize, times: u64) {
        if let Counts::Narrow(range) = self
            && let Some(count) = range.counts.get_mut(bucket.wrapping_sub(range.base))
            && let Ok(sum) = u32::try_from(u64::from(*count) + times)
        {
            *count = sum;
            return;
        }
        self.add_slowly(bucket, times);
    }

    #[cold]
    #[inline(never)]
    fn add_slowly(&mut self, bucket: usize, times: u64) {
        match self {
            Counts::Listed(entries) => {
                let at = entries.partition_point(|entry| ((entry >> COUNT_BITS) as usize) < bucket);
                let is_known = entries.get(at).is_some_and(|entry| (entry >> COUNT_BITS) as usize == bucket);
                let before = if is_known { entries[at] & ((1 << COUNT_BITS) - 1) } else { 0 };
                if u64::from(before) + times <= u64::from(MOST_COUNTED) && (is_known || !is_crowded(entries)) {
                    if is_known {
                        entries[at] += times as u32;
                    } else {
                        entries.insert(at, (bucket as u32) << COUNT_BITS | times as u32);
                    }
                    return;
                }
                let mut range = Range { base: 0, counts: Vec::new() };
                for (bucket, count) in listed(entries) {
                    *range.of(bucket) = count as u32;
                }
                *self = Counts::Narrow(range);
                self.add(bucket, times);
            }
            Counts::Narrow(range) => {
                let count = range.of(bucket);
                match u32::try_from(u64::from(*count) + times) {
                    Ok(sum) => *count = sum,
                    Err(_) => {
                        let counts = range.counts.iter().map(|&count| count.into()).collect();
                        *self = Counts::Wide(Range { base: range.base, counts });
                        self.add_slowly(bucket, times);
                    }
                }
            }
            Counts::Wide(range) => *range.of(bucket) += times,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Counts::Listed(entries) if entries.is_empty())
    }

    /// The buckets that were hit, in order, each with its count.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, u64)> {
        let (entries, narrow, wide) = match self {
            Counts::Listed(entries) => (Some(listed(entries)), None, None),
            Counts::Narrow(range) => (None, Some(range.iter()), None),
            Counts::Wide(range) => (None, None, Some(range.iter())),
        };
        entries.into_iter().flatten().chain(narrow.into_iter().flatten()).chain(wide.into_iter().flatten())
    }
}

/// True if a list takes no further bucket.
fn is_crowded(entries: &[u32]) -> bool {
    let [first, .., last] = entries else { return false };
    let range = (last >> COUNT_BITS) - (first >> COUNT_BITS);
    entries.len() >= MOST_LISTED || (entries.len() >= FEW && 2 * entries.len() > range as usize)
}

fn listed(entries: &[u32]) -> impl Iterator<Item = (usize, u64)> {
    entries.iter().map(|entry| ((entry >> COUNT_BITS) as usize, u64::from(entry & ((1 << COUNT_BITS) - 1))))
}

impl<T: Copy + Default> Range<T> {
    /// The count of a bucket. Makes room for it, and doubles the memory on that side.
    fn of(&mut self, bucket: usize) -> &mut T {
        let first = bucket / BLOCK * BLOCK;
        if self.counts.is_empty() {
            self.base = first;
        }
        let length = self.counts.len();
        if first < self.base {
            let base = first.min(self.base.saturating_sub(length));
            self.counts.splice(0..0, std::iter::repeat_n(T::default(), self.base - base));
            self.base = base;
        } else if first + BLOCK > self.base + length {
            self.counts.resize((first + BLOCK - self.base).max(2 * length), T::default());
        }
        &mut self.counts[bucket - self.base]
    }

    fn iter(&self) -> impl Iterator<Item = (usize, u64)>
    where
        u64: From<T>,
    {
        (self.base..).zip(self.counts.iter().map(|&count| u64::from(count))).filter(|(_, count)| *count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// Hits of few and of many buckets, once and thousands of times, are counted as a map counts them.
        #[test]
        fn all_forms_count_alike(
            hits in prop::collection::vec((0usize..6144, 0u32..5), 1..1500),
            near in 1usize..6144,
            times in prop::sample::select(vec![1u64, 3, 1000, 1 << 31]),
        ) {
            let (mut counts, mut model) = (Counts::default(), BTreeMap::new());
            for (bucket, often) in hits {
                let (bucket, times) = (bucket % near, if often == 0 { times } else { 1 });
                counts.add(bucket, times);
                *model.entry(bucket).or_insert(0u64) += times;
                prop_assert!(!counts.is_empty());
            }
            prop_assert_eq!(counts.iter().collect::<Vec<_>>(), model.into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_same_hits_in_another_order_are_printed_alike() {
        let hits = [(1800, 40u64), (3000, 1), (1700, 1), (5000, 100)];
        let of = |order: &[usize]| {
            let mut counts = Counts::default();
            order.iter().for_each(|&at| counts.add(hits[at].0, hits[at].1));
            format!("{counts:?}")
        };
        assert_eq!(of(&[0, 1, 2, 3]), "{1700: 1, 1800: 40, 3000: 1, 5000: 100}");
        assert_eq!(of(&[3, 1, 2, 0]), of(&[0, 1, 2, 3]));
    }

    #[test]
    fn few_hits_take_little_memory_and_many_become_an_array() {
        let mut counts = Counts::default();
        (0..100).for_each(|hit| counts.add(hit * 37, 1));
        assert!(matches!(&counts, Counts::Listed(entries) if entries.capacity() <= 256));
        counts.add(37, u64::from(MOST_COUNTED));
        assert!(matches!(counts, Counts::Narrow(_)));
        let mut crowded = Counts::default();
        (0..=FEW).for_each(|bucket| crowded.add(bucket, 1));
        assert!(matches!(crowded, Counts::Narrow(_)));
        crowded.add(1, u64::from(u32::MAX));
        assert!(matches!(crowded, Counts::Wide(_)));
        assert_eq!(crowded.iter().next(), Some((0, 1)));
    }
}
