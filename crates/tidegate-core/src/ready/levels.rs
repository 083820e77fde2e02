//! Logs of entries by the digits of their keys: narrow levels of 64 buckets each, and across them a wide one where most entries belong.

use super::bitmap::Bitmap;
use super::log;
use super::run::Entry;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

/// Logs by the digits of their keys.
///
/// The highest bit in which a key differs from the pivot says where it belongs: in the wide level, if that is cut across this bit, otherwise
/// in the narrow one whose digit it lies in; there in the bucket of the key's digit. So the lowest level that is not empty comes first, and in
/// it the first bucket. The wide level stands below the narrow one in which it ends, above the one in which it begins, and leaves those between empty.
#[derive(Clone, Debug)]
pub(super) struct Levels {
    /// The first key that goes here.
    pub(super) open: u64,
    /// What the levels of keys are measured from.
    pub(super) pivot: u64,
    /// A bit per level that is not empty, lowest first: those of narrow ones have odd places, that of the wide one lies between.
    occupied: u32,
    cut: Cut,
    /// The width of a cut in bits.
    wide: usize,
    /// A bit per bucket that is not empty: a word for each narrow level, then those of the wide one.
    bitmap: Bitmap,
    /// The logs of all buckets in the same order; none if the run has room for all flows.
    logs: Vec<Log>,
}

/// Entries in a chunk of a log: eight cache lines, which are read in sequence.
pub(super) const CHUNK: usize = 32;

pub(super) type Log = log::Log<CHUNK>;
pub(super) type Pool = log::Pool<Entry, CHUNK>;

/// The number of a bucket among all of one wheel's levels.
pub(super) type Bucket = usize;

/// Which bits are the digit of the wide level.
#[derive(Clone, Copy, Debug)]
struct Cut {
    /// The first bit, not 0.
    shift: usize,
    /// The largest digit; 0 if the wide level is not in use.
    last: u64,
}

const DIGIT: usize = 6;
const LEVELS: usize = 64_usize.div_ceil(DIGIT);
/// The digit of the highest level has 4 bits, and its order is circular. The wide level ends below.
const TOP: usize = LEVELS - 1;
/// The first bucket of the wide level.
const WIDE: Bucket = LEVELS * 64;
/// The width of the wide level is at least that of a narrow one, and at most this.
const WIDEST: usize = 12;
/// A bucket of it is cut to hold half of what is sorted at a time, or down to a quarter, on average over the keys that are there. Then few hold more
/// than all of it ...
const PART: usize = 2;
/// ... and the whole level all flows up to so many times, as far as it is wide enough: nearly all entries that come later belong there from the
/// beginning, and processors learn that they do.
const SPANS: usize = 32;
/// A log of more entries than this is searched for its smallest key before it is distributed: if most keys are equal, all the levels
/// between are skipped.
const MANY: usize = 8192;

/// The narrow level of a key at this distance, in the sense of exclusive or, from the pivot.
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
    const NONE: Cut = Cut { shift: 1, last: 0 };

    /// The place of the wide level among all of them: above every narrow one that begins below the cut.
    #[inline]
    const fn order(self) -> u32 {
        2 * self.shift.div_ceil(DIGIT) as u32
    }
}

impl Levels {
    /// Empty levels for so many flows, of which up to `batch` entries are sorted at a time; without logs for none.
    pub(super) fn new(flows: usize, batch: usize) -> Levels {
        let wide = (SPANS * PART * flows / batch).max(1).ilog2().clamp(DIGIT as u32, WIDEST as u32) as usize;
        let logs = if flows > 0 { WIDE + (1 << wide) } else { 0 };
        Levels { open: 0, pivot: 0, occupied: 0, cut: Cut::NONE, wide, bitmap: Bitmap::new(logs), logs: vec![Log::default(); logs] }
    }

    /// The number of logs.
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

    /// Where a key belongs, as seen from a pivot.
    #[inline]
    fn seen_from(&self, pivot: u64, key: u64) -> Bucket {
        let Cut { shift, last } = self.cut;
        let difference = key ^ pivot;
        if (difference >> shift).wrapping_sub(1) < last {
            WIDE + ((key >> shift) & last) as usize
        } else {
            let level = level_of(difference);
            level * 64 + digit(key, level)
        }
    }

    /// Adds an entry at or after `open` to the log where it belongs.
    #[inline]
    pub(super) fn file(&mut self, pool: &mut Pool, entry: Entry) {
        self.file_in(pool, self.seen_from(self.pivot, entry.key), entry);
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

    /// The same where a log needs another chunk, and perhaps was empty.
    // By parts: handed over in memory, an entry would be written there on the way that does not lead here, too.
    #[inline(never)]
    fn file_in_chunk(&mut self, pool: &mut Pool, bucket: Bucket, key: u64, flow: u32, generation: u32) {
        self.occupy(bucket);
        extend(pool, &mut self.logs[bucket], key, flow, generation);
    }

    /// Notes that a bucket is not empty.
    #[inline]
    fn occupy(&mut self, bucket: Bucket) {
        self.bitmap.set(bucket);
        self.occupied |= 1 << self.order(bucket);
    }

    /// Notes that a bucket is empty now.
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
        // The buckets behind the pivot's, and after the wrap those before it.
        let own = digit(self.pivot, TOP) as u32;
        let around = (buckets | buckets << 16) >> own;
        TOP * 64 + ((around.trailing_zeros() + own) as usize & 15)
    }

    #[inline]
    pub(super) fn log(&self, bucket: Bucket) -> &Log {
        &self.logs[bucket]
    }

    /// True if all keys in a bucket are equal.
    #[inline]
    pub(super) fn holds_equals(&self, bucket: Bucket) -> bool {
        bucket < 64
    }

    /// True if the pivot may move into this bucket, the first one, when it is emptied, and all others are still where they belong.
    // Where the wide level ends in a narrow one, several buckets of that are one for the wide level, and move there together.
    #[inline]
    pub(super) fn stands_alone(&self, bucket: Bucket) -> bool {
        bucket >= WIDE || bucket < TOP * 64 && !self.is_end_of_wide(bucket / 64)
    }

    /// True if the wide level ends in the digit of this one.
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

    /// Takes out all logs of keys that a lower pivot sees in the same bucket as the present one, strung together, and returns that bucket. Others
    /// that it sees elsewhere move there.
    pub(super) fn detach_below(&mut self, pivot: u64, pool: &mut Pool) -> (Bucket, Log) {
        let own = self.seen_from(pivot, self.pivot);
        let mut strung = Log::default();
        if self.holds_equals(own) && !self.logs[own].is_empty() {
            strung = self.detach(own);
        }
        while self.occupied & ((1 << self.order(own)) - 1) != 0 {
            let bucket = self.first();
            let seen = self.seen_from(pivot, self.start_of(bucket));
            let log = self.detach(bucket);
            if seen == own {
                pool.concatenate(&mut strung, log);
            } else {
                self.attach(seen, log, pool);
            }
        }
        (own, strung)
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

    /// Distributes the first bucket over the level below, or over the first one that does not put all entries in one bucket again. Where the wide
    /// level is empty it is cut anew, such that a bucket holds some part of `batch`. What is not `current` is left out.
    // Keys in the pivot's own bucket belong further below, but the first bucket will be in the run before another key is entered.
    pub(super) fn distribute(&mut self, bucket: Bucket, batch: usize, pool: &mut Pool, mut current: impl FnMut(&Entry) -> bool) {
        let start = self.start_of(bucket);
        let log = self.detach(bucket);
        let (mut below, mut pivot) =
            if bucket >= WIDE { ((self.cut.shift - 1) / DIGIT, start) } else { ((bucket / 64).saturating_sub(1), start) };
        let count = log.len() as usize;
        let is_cut = self.occupied >> self.cut.order() & 1 == 0 && count > batch;
        if is_cut || count > MANY {
            let keys = || pool.iter(&log).flatten().map(|entry| entry.key);
            let (least, most) = keys().fold((u64::MAX, 0), |(least, most), key| (least.min(key), most.max(key)));
            (below, pivot) = (level_of(least ^ most), least);
            if is_cut {
                self.cut = self.cut_for(bucket, least, most, count, batch / PART);
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
        // All that the wide level spans.
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

    /// The cut of buckets for up to `share` entries, for `count` of them with keys from `least` to `most` that stand in a bucket; or none if the
    /// wide level does not span them all, or they differ too little. Only what was in that bucket, and in those around it that would be in the same one of
    /// the next level, may come to lie in the wide level.
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
// By parts: handed over in memory, an entry would be written there on the way that does not lead here, too.
#[inline(never)]
fn extend(pool: &mut Pool, log: &mut Log, key: u64, flow: u32, generation: u32) {
    pool.extend(log, Entry { key, flow, generation });
}
