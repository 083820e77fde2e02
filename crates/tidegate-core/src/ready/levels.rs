//! Logs of entries by the digits of their keys: narrow levels of 64 buckets each, and a wide level across them for most entries.

use super::bitmap::Bitmap;
use super::log;
use super::run::Entry;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

/// Logs by the digits of their keys.
///
/// The level of a key follows from the highest bit in which it differs from the pivot: the wide level if its digit has this bit, otherwise
/// the narrow level whose digit has it. The bucket is the key's digit. So the lowest level that is not empty comes first, and in it the
/// first bucket. The wide level comes before the narrow one in which it ends, after the one in which it begins; those between are empty.
#[derive(Clone, Debug)]
pub(super) struct Levels {
    /// The first key that goes here.
    pub(super) open: u64,
    /// The key from which the levels of all others are measured.
    pub(super) pivot: u64,
    /// A bit per level that is not empty, lowest first: odd places for narrow levels, the even place between them for the wide one.
    occupied: u32,
    cut: Cut,
    /// The width of a cut in bits.
    wide: usize,
    /// A bit per bucket that is not empty: a word for each narrow level, then those of the wide one.
    bitmap: Bitmap,
    /// The logs of all buckets in the same order; no log if the run has room for all flows.
    logs: Vec<Log>,
}

/// Entries in a chunk of a log: eight cache lines, which are read in sequence.
pub(super) const CHUNK: usize = 32;

pub(super) type Log = log::Log<CHUNK>;
pub(super) type Pool = log::Pool<Entry, CHUNK>;

/// The number of a bucket among all of one wheel's levels.
pub(super) type Bucket = usize;

/// The bits that are the digit of the wide level.
#[derive(Clone, Copy, Debug)]
struct Cut {
    /// The first bit, not 0.
    shift: usize,
    /// The largest digit; 0 if the wide level is not in use.
    last: u64,
}

/// Bits of a narrow level's digit.
const DIGIT: usize = 6;
/// The number of narrow levels.
const LEVELS: usize = 64_usize.div_ceil(DIGIT);
/// The digit of the highest level has 4 bits, and its order is circular. The wide level ends below.
const TOP: usize = LEVELS - 1;
/// The first bucket of the wide level.
const WIDE: Bucket = LEVELS * 64;
/// The most bits of the wide level's digit; the least are those of a narrow one.
const WIDEST: usize = 12;
/// The wide level is cut such that a bucket holds a half to a quarter of a batch on average. Then few buckets exceed a batch.
const BATCH_PARTS: usize = 2;
/// The whole wide level holds all flows up to this many times: nearly all later entries go there directly, a branch that processors predict.
const WIDE_SPANS: usize = 32;
/// A log of more entries than this is searched for its smallest key before it is distributed. If most keys are equal, that skips the
/// levels between.
const RANGE_SEARCH_MINIMUM: usize = 8192;

/// The narrow level of a key whose exclusive or with the pivot is `difference`.
#[inline]
const fn level_of(difference: u64) -> usize {
    (63 - (difference | 1).leading_zeros()) as usize / DIGIT
}

/// A key's digit at this level.
#[inline]
const fn digit(key: u64, level: usize) -> usize {
    (key >> (DIGIT * level)) as usize & 63
}

impl Cut {
    /// No wide level.
    const NONE: Cut = Cut { shift: 1, last: 0 };

    /// The place of the wide level among all levels: after every narrow one that begins below the cut.
    #[inline]
    const fn order(self) -> u32 {
        2 * self.shift.div_ceil(DIGIT) as u32
    }
}

impl Levels {
    /// Empty levels for this many flows, of which up to `batch` entries are sorted at a time; without logs for 0 flows.
    pub(super) fn new(flows: usize, batch: usize) -> Levels {
        let wide = (WIDE_SPANS * BATCH_PARTS * flows / batch).max(1).ilog2().clamp(DIGIT as u32, WIDEST as u32) as usize;
        let logs = if flows > 0 { WIDE + (1 << wide) } else { 0 };
        Levels { open: 0, pivot: 0, occupied: 0, cut: Cut::NONE, wide, bitmap: Bitmap::new(logs), logs: vec![Log::default(); logs] }
    }

    pub(super) fn logs(&self) -> usize {
        self.logs.len()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.occupied == 0
    }

    /// Starts afresh, empty, with keys from `key` on.
    #[inline]
    pub(super) fn begin(&mut self, key: u64) {
        (self.pivot, self.open) = (key, key);
    }

    /// Starts afresh, empty, with keys after `key`.
    #[inline]
    pub(super) fn begin_after(&mut self, key: u64) {
        (self.pivot, self.open) = (key, key.wrapping_add(1));
    }

    #[inline]
    fn bucket_under(&self, pivot: u64, key: u64) -> Bucket {
        let Cut { shift, last } = self.cut;
        let difference = key ^ pivot;
        if (difference >> shift).wrapping_sub(1) < last {
            WIDE + ((key >> shift) & last) as usize
        } else {
            let level = level_of(difference);
            level * 64 + digit(key, level)
        }
    }

    /// Adds an entry at or after `open` to the log of its bucket.
    #[inline]
    pub(super) fn file(&mut self, pool: &mut Pool, entry: Entry) {
        self.file_in(pool, self.bucket_under(self.pivot, entry.key), entry);
    }

    #[inline]
    pub(super) fn file_in(&mut self, pool: &mut Pool, bucket: Bucket, entry: Entry) {
        let log = &mut self.logs[bucket];
        if log.is_at_edge() {
            self.file_in_chunk(pool, bucket, entry.key, entry.flow, entry.generation);
        } else {
            pool.push(log, entry);
        }
    }

    /// The same where a log needs another chunk, and may have been empty.
    #[inline(never)]
    fn file_in_chunk(&mut self, pool: &mut Pool, bucket: Bucket, key: u64, flow: u32, generation: u32) {
        self.occupy(bucket);
        extend(pool, &mut self.logs[bucket], key, flow, generation);
    }

    /// Marks a bucket as not empty.
    #[inline]
    fn occupy(&mut self, bucket: Bucket) {
        self.bitmap.set(bucket);
        self.occupied |= 1 << self.order(bucket);
    }

    /// Marks a bucket as empty.
    #[inline]
    fn vacate(&mut self, bucket: Bucket) {
        self.bitmap.clear(bucket);
        let is_level_empty = if bucket >= WIDE { self.bitmap.at_or_after(WIDE).is_none() } else { self.bitmap.word(bucket / 64) == 0 };
        if is_level_empty {
            self.occupied &= !(1 << self.order(bucket));
        }
    }

    /// The place of a bucket's level among all of them.
    #[inline]
    fn order(&self, bucket: Bucket) -> u32 {
        if bucket >= WIDE { self.cut.order() } else { 2 * (bucket / 64) as u32 + 1 }
    }

    /// The place of the lowest level that is not empty.
    #[inline]
    pub(super) fn lowest(&self) -> u32 {
        self.occupied.trailing_zeros()
    }

    /// The first bucket of the lowest level that is not empty. There must be one.
    #[inline]
    pub(super) fn first(&self) -> Bucket {
        let order = self.lowest() as usize;
        if order & 1 == 0 {
            return self.bitmap.at_or_after(WIDE).unwrap_or(WIDE);
        }
        let level = order / 2;
        let buckets = self.bitmap.word(level);
        if level < TOP {
            return level * 64 + buckets.trailing_zeros() as usize;
        }
        // From the pivot's bucket on, and after the wrap those before it.
        let own = digit(self.pivot, TOP) as u32;
        let around = (buckets | buckets << 16) >> own;
        TOP * 64 + ((around.trailing_zeros() + own) as usize & 15)
    }

    #[inline]
    pub(super) fn log(&self, bucket: Bucket) -> &Log {
        &self.logs[bucket]
    }

    #[inline]
    pub(super) fn holds_equals(&self, bucket: Bucket) -> bool {
        bucket < 64
    }

    /// True if the pivot can move into this bucket, the first one, when it is emptied, without moving an entry of another bucket.
    // Where the wide level ends in a narrow one, several narrow buckets would belong in one wide bucket.
    #[inline]
    pub(super) fn stands_alone(&self, bucket: Bucket) -> bool {
        bucket >= WIDE || bucket < TOP * 64 && !self.is_end_of_wide(bucket / 64)
    }

    #[inline]
    fn is_end_of_wide(&self, level: usize) -> bool {
        self.cut.last > 0 && (self.cut.shift..self.cut.shift + self.wide).contains(&(DIGIT * level))
    }

    /// Takes the first chunk out of a bucket, for the caller to read and give back, and the number of its entries.
    #[inline]
    pub(super) fn detach_first(&mut self, pool: &mut Pool, bucket: Bucket) -> Option<(u32, usize)> {
        let chunk = pool.detach_first(&mut self.logs[bucket]);
        if self.logs[bucket].is_empty() {
            self.vacate(bucket);
        }
        chunk
    }

    /// Takes a whole log out of a bucket.
    #[inline]
    pub(super) fn detach(&mut self, bucket: Bucket) -> Log {
        self.vacate(bucket);
        core::mem::take(&mut self.logs[bucket])
    }

    /// Takes out all logs of keys that share a bucket with the present pivot under a lower `pivot`, concatenated, and returns that bucket.
    /// Logs of other buckets move to their place under the lower pivot.
    pub(super) fn detach_below(&mut self, pivot: u64, pool: &mut Pool) -> (Bucket, Log) {
        let own = self.bucket_under(pivot, self.pivot);
        let mut concatenated = Log::default();
        if self.holds_equals(own) && !self.logs[own].is_empty() {
            concatenated = self.detach(own);
        }
        while self.occupied & ((1 << self.order(own)) - 1) != 0 {
            let bucket = self.first();
            let target = self.bucket_under(pivot, self.start_of(bucket));
            let log = self.detach(bucket);
            if target == own {
                pool.concatenate(&mut concatenated, log);
            } else {
                self.attach(target, log, pool);
            }
        }
        (own, concatenated)
    }

    /// Adds a whole log to the end of a bucket.
    pub(super) fn attach(&mut self, bucket: Bucket, log: Log, pool: &mut Pool) {
        if !log.is_empty() {
            self.occupy(bucket);
            pool.concatenate(&mut self.logs[bucket], log);
        }
    }

    /// The smallest key that may be in a bucket.
    #[inline]
    pub(super) fn start_of(&self, bucket: Bucket) -> u64 {
        if bucket >= WIDE {
            let Cut { shift, last } = self.cut;
            return ((self.pivot >> shift) & !last | (bucket - WIDE) as u64) << shift;
        }
        let level = bucket / 64;
        let width = DIGIT * level;
        let above = if level == TOP { 0 } else { self.pivot >> width >> DIGIT << DIGIT };
        (above | (bucket % 64) as u64) << width
    }

    /// Distributes the first bucket over the level below, or over the first one that splits it. An empty wide level is cut anew, such that a
    /// bucket holds a part of `batch`. Entries that are not `current` are dropped.
    // Keys in the pivot's own bucket belong further below, but that bucket moves to the run before another key is inserted.
    pub(super) fn distribute(&mut self, bucket: Bucket, batch: usize, pool: &mut Pool, mut current: impl FnMut(&Entry) -> bool) {
        let start = self.start_of(bucket);
        let log = self.detach(bucket);
        let (mut below, mut pivot) =
            if bucket >= WIDE { ((self.cut.shift - 1) / DIGIT, start) } else { ((bucket / 64).saturating_sub(1), start) };
        let count = log.len() as usize;
        let is_cut = self.occupied >> self.cut.order() & 1 == 0 && count > batch;
        if is_cut || count > RANGE_SEARCH_MINIMUM {
            let keys = || pool.iter(&log).flatten().map(|entry| entry.key);
            let (least, most) = keys().fold((u64::MAX, 0), |(least, most), key| (least.min(key), most.max(key)));
            (below, pivot) = (level_of(least ^ most), least);
            if is_cut {
                self.cut = self.cut_for(bucket, least, most, count, batch / BATCH_PARTS);
            }
        }
        let into_wide = if is_cut { self.cut.last > 0 } else { bucket < WIDE && self.is_end_of_wide(bucket / 64) };
        self.begin(pivot);
        if !into_wide {
            return self.spread(below * 64..(below + 1) * 64, DIGIT * below, log, pool, &mut current);
        }
        let Cut { shift, last } = self.cut;
        let logs = WIDE..WIDE + last as usize + 1;
        self.spread(logs.clone(), shift, log, pool, &mut current);
        // The wide level spans these buckets too.
        while bucket < TOP * 64 && self.bitmap.word(bucket / 64) > 0 {
            let next = bucket / 64 * 64 + self.bitmap.word(bucket / 64).trailing_zeros() as usize;
            if (self.start_of(next) ^ pivot) >> shift > last {
                break;
            }
            let log = self.detach(next);
            self.spread(logs.clone(), shift, log, pool, &mut current);
        }
    }

    /// Appends the entries of a log to these logs, a power of two of them, by their digits from bit `shift` on.
    #[inline]
    fn spread(&mut self, to: Range<Bucket>, shift: usize, mut log: Log, pool: &mut Pool, current: &mut impl FnMut(&Entry) -> bool) {
        let first = to.start;
        let order = self.order(first);
        let logs = &mut self.logs[to];
        while let Some((chunk, count)) = pool.detach_first(&mut log) {
            pool.fetch(pool.begin(&log));
            for at in 0..count {
                let Entry { key, flow, generation } = pool.items(chunk)[at];
                if !current(&Entry { key, flow, generation }) {
                    continue;
                }
                let place = (key >> shift) as usize & (logs.len() - 1);
                let log = &mut logs[place];
                if log.is_at_edge() {
                    extend(pool, log, key, flow, generation);
                    self.bitmap.set(first + place);
                    self.occupied |= 1 << order;
                } else {
                    pool.push(log, Entry { key, flow, generation });
                }
            }
            pool.give_back(chunk);
        }
    }

    /// The cut for `count` entries of a bucket with keys from `least` to `most`, such that a wide bucket holds up to `share` of them. None if
    /// the wide level cannot span them all, or they differ too little. The wide level may hold only entries of this bucket and of those
    /// around it in the same bucket of the next level.
    fn cut_for(&self, bucket: Bucket, least: u64, most: u64, count: usize, share: usize) -> Cut {
        let end = if bucket >= WIDE { self.cut.shift + self.wide } else { (DIGIT * (bucket / 64 + 1)).min(DIGIT * TOP) };
        let (keys, count) = (u128::from(most - least) * share as u128, count as u128);
        let mut shift = (keys | 1).ilog2().saturating_sub(count.ilog2()) as usize;
        if count << shift > keys {
            shift = shift.saturating_sub(1);
        }
        shift = shift.min(end.saturating_sub(self.wide));
        let spanned = (u64::BITS - (least ^ most).leading_zeros()) as usize;
        if shift > 0 && spanned <= shift + self.wide { Cut { shift, last: (1 << self.wide) - 1 } } else { Cut::NONE }
    }

    /// The first bucket from this one on that is not empty.
    pub(super) fn next(&self, from: Bucket) -> Option<Bucket> {
        self.bitmap.at_or_after(from)
    }
}

/// Adds an entry to a log that needs another chunk.
// By parts: passed in memory, the entry would be written there on the hot path too.
#[inline(never)]
fn extend(pool: &mut Pool, log: &mut Log, key: u64, flow: u32, generation: u32) {
    pool.extend(log, Entry { key, flow, generation });
}
