//! Keeps flows in the exact order of their keys: the nearest in a short sorted run, the others in wheels of logs, finer and finer towards
//! the run, with find-first-set bitmaps over them.
//!
//! **Law**: the laws of [`ReadyList`], for every sequence of keys that lie within 2^63 of each other: far in the future, in the past,
//! across the wrap.
//!
//! **Source**: the levels are those of a radix heap, Ahuja, Mehlhorn, Orlin and Tarjan, "Faster algorithms for the shortest path problem",
//! JACM 37(2), 1990, with 64 buckets per level, which makes them the hierarchical timing wheels of Varghese and Lauck, SOSP 1987; bitmaps
//! over the buckets as in Saeed et al., "Eiffel", NSDI 2019.
//!
//! **State**: a generation of 4 bytes and 19 bytes of log space per flow (an eighth of it for entries that were removed), 22 kB for the
//! buckets, 16 kB for the run. Up to 64 flows need the run alone, of 32 bytes per flow.
//!
//! **Cost**: O(1) amortised whatever the number of flows. An entry is appended to a log, copied once or twice to a log of a finer level,
//! and sorted together with at most 254 others, by counting: all in sequence, so memory keeps pace. A bucket that is entered is
//! distributed as a whole, so single calls can cost more. Keys that come before those taken out cost a shift within the run; thousands of them at a time, one step
//! closer to the front again and again, make the entries behind them move again and again.
//!
//! **RTL twin**: none yet; the bitmaps are 64-bit priority encoders.
//!
//! **Deviations**: a radix heap is monotone, this list takes keys before those taken out.
//!
//! * The run holds every key before `open`, in order. Whatever comes before `open` later is sorted in; a run that overflows gives its
//!   second half back to the logs.
//! * Keys in the logs are at or after `pivot`. A key that differs from the pivot in the 6-bit digit `d` and none above is in level `d`, in
//!   the bucket of that digit. So the lowest level that is not empty comes first, and in it the first bucket.
//! * When the run gets short, the first bucket is appended to it, sorted, if it holds little, together with those that follow if it holds too
//!   little; otherwise the bucket is distributed over the level below.
//! * What an overflowing run gives back goes to levels of its own, the near ones, before the far ones that were there. If there are near
//!   ones already, their pivot moves down: all levels below the digit in which the new one differs from the old one, and at level 0 the old
//!   one's own bucket, then belong in one bucket. Their logs are strung together, no entry is touched.
//! * At equal keys the run's entries are older than those in the logs, those in the near levels older than those in the far ones, and a
//!   log is in order of insertion.
//! * An entry that is removed from a log stays until it is read; the flow's generation tells it from a later one.

use super::logs::{Entry, Log, Pool, Rest};
use super::run::{BATCH, Run};
use super::{ReadyList, is_before};
use crate::packet::Flow;
use alloc::vec;
use alloc::vec::Vec;

/// A find-first-set wheel of logs.
///
/// ```
/// use tidegate_core::packet::Flow;
/// use tidegate_core::ready::{ReadyList, Wheel};
/// let mut list = Wheel::new(3);
/// list.insert(Flow(0), 700);
/// list.insert(Flow(1), 513);
/// list.insert(Flow(2), 1_000_000_000_000);
/// assert_eq!(list.pop_first(), Some((513, Flow(1))));
/// assert_eq!(list.pop_due(699), None);
/// assert_eq!(list.pop_due(700), Some(Flow(0)));
/// assert_eq!(list.first(), Some((1_000_000_000_000, Flow(2))));
/// ```
#[derive(Clone, Debug)]
pub struct Wheel {
    run: Run,
    /// The length below which the run is extended.
    low: usize,
    /// A bucket of at most so many entries is sorted into the run.
    batch: usize,
    near: Levels,
    /// In use only while the near levels are not empty and `divided` is set.
    far: Levels,
    divided: bool,
    pool: Pool,
    /// Entries in the logs that have been removed.
    removed: usize,
    /// Chunks within logs that strings have left partly filled, at most.
    gaps: usize,
    /// The number of flows in the list.
    flows: usize,
    generations: Vec<u32>,
    /// True if a generation may differ from 0.
    aged: bool,
}

/// Logs by the digits of their keys.
#[derive(Clone, Debug)]
struct Levels {
    /// The first key that goes here.
    open: u64,
    /// What the levels of keys are measured from.
    pivot: u64,
    /// A bit per level that is not empty.
    occupied: u32,
    /// A bit per bucket of each level that is not empty.
    buckets: [u64; LEVELS],
    /// The logs of all levels, 64 each; none if the run has room for all flows.
    logs: Vec<Log>,
}

const DIGIT: usize = 6;
const LEVELS: usize = 64_usize.div_ceil(DIGIT);
/// The digit of the highest level has 4 bits, and its order is circular.
const TOP: usize = LEVELS - 1;
/// A list of at most so many flows needs a run alone.
const SHORT: usize = 64;
/// The most flows in a run.
const LONG: usize = 512;
/// The run is extended when it is shorter than this: long enough to tell who comes soon, if that is worth knowing ...
const LOW: usize = 16;
/// ... and as short as possible where all is in the cache anyway.
const LOWEST: usize = 4;
/// So many flows are not.
const WORTH_TELLING: usize = 4096;
/// A batch is at most this part of all flows, so that few keys come to lie among those that are in the run ...
const PART: usize = 64;
/// ... but at least of so many.
const LEAST_BATCH: usize = 64;
/// A log of more entries than this is searched for its smallest key before it is distributed: if most keys are equal, all the levels
/// between are skipped.
const MANY: usize = 8192;

/// The level of a key at this distance, in the sense of exclusive or, from the pivot.
#[inline]
const fn level_of(difference: u64) -> usize {
    (63 - (difference | 1).leading_zeros()) as usize / DIGIT
}

/// A key's digit at this level.
#[inline]
const fn digit(key: u64, level: usize) -> usize {
    (key >> (DIGIT * level)) as usize & 63
}

impl Levels {
    fn new(logs: usize) -> Levels {
        Levels { open: 0, pivot: 0, occupied: 0, buckets: [0; LEVELS], logs: vec![Log::EMPTY; logs] }
    }

    /// Starts afresh, empty, with keys from `key` on.
    #[inline]
    fn begin(&mut self, key: u64) {
        (self.pivot, self.open) = (key, key);
    }

    /// Adds an entry at or after `open` to the log where it belongs.
    #[inline]
    fn file(&mut self, pool: &mut Pool, entry: Entry) {
        let level = level_of(entry.key ^ self.pivot);
        self.file_at(pool, level, digit(entry.key, level), entry);
    }

    #[inline]
    fn file_at(&mut self, pool: &mut Pool, level: usize, at: usize, entry: Entry) {
        let index = level * 64 + at;
        let log = &mut self.logs[index];
        if log.has_room() {
            pool.append(log, entry);
        } else {
            self.file_in_chunk(pool, index, entry.key, entry.flow, entry.generation);
        }
    }

    /// The same where a log needs another chunk, and perhaps was empty.
    // By parts: handed over in memory, an entry would be written there on the way that does not lead here, too.
    #[inline(never)]
    fn file_in_chunk(&mut self, pool: &mut Pool, index: usize, key: u64, flow: u32, generation: u32) {
        self.occupy(index / 64, index % 64);
        pool.append_in_chunk(&mut self.logs[index], key, flow, generation);
    }

    /// Notes that a bucket is not empty.
    #[inline]
    fn occupy(&mut self, level: usize, at: usize) {
        self.occupied |= 1 << level;
        self.buckets[level] |= 1 << at;
    }

    /// The lowest level that is not empty, and its first bucket. There must be one.
    #[inline]
    fn first(&self) -> (usize, usize) {
        let level = self.occupied.trailing_zeros() as usize;
        let buckets = self.buckets[level];
        if level < TOP {
            return (level, buckets.trailing_zeros() as usize);
        }
        // The buckets behind the pivot's, and after the wrap those before it.
        let own = digit(self.pivot, TOP) as u32;
        let around = (buckets | buckets << 16) >> own;
        (TOP, (around.trailing_zeros() + own) as usize & 15)
    }

    /// Notes that a bucket is empty now.
    #[inline]
    fn vacate(&mut self, level: usize, at: usize) {
        self.buckets[level] &= !(1 << at);
        if self.buckets[level] == 0 {
            self.occupied &= !(1 << level);
        }
    }

    /// Takes a whole log out of a level.
    #[inline]
    fn detach(&mut self, level: usize, at: usize) -> Log {
        self.vacate(level, at);
        core::mem::replace(&mut self.logs[level * 64 + at], Log::EMPTY)
    }

    /// Takes out all logs of keys that a lower pivot, different in `level`, sees in one bucket, strung together.
    fn detach_below(&mut self, level: usize, pool: &mut Pool, gaps: &mut usize) -> Log {
        let mut strung = Log::EMPTY;
        if level == 0 {
            let own = digit(self.pivot, 0);
            if self.buckets[0] >> own & 1 == 1 {
                strung = self.detach(0, own);
            }
        }
        while self.occupied & ((1 << level) - 1) != 0 {
            let (below, at) = self.first();
            let log = self.detach(below, at);
            *gaps += usize::from(pool.concatenate(&mut strung, log));
        }
        strung
    }

    /// Adds a whole log to the end of a bucket.
    fn attach(&mut self, level: usize, at: usize, log: Log, pool: &mut Pool, gaps: &mut usize) {
        if log.len() > 0 {
            self.occupy(level, at);
            *gaps += usize::from(pool.concatenate(&mut self.logs[level * 64 + at], log));
        }
    }

    /// The smallest key that may be in a bucket.
    fn start_of(&self, level: usize, at: usize) -> u64 {
        let width = DIGIT * level;
        let above = if level == TOP { 0 } else { self.pivot >> width >> DIGIT << DIGIT };
        (above | at as u64) << width
    }
}

impl Wheel {
    /// True if this entry has been removed.
    #[inline]
    fn is_removed(&self, entry: Entry) -> bool {
        self.removed > 0 && self.generations[entry.flow as usize] != entry.generation
    }

    #[inline]
    fn generation(&self, flow: u32) -> u32 {
        if self.aged { self.generations[flow as usize] } else { 0 }
    }

    /// Extends a short run from the logs.
    #[inline]
    fn settle(&mut self) {
        if self.run.len() < self.low && self.near.occupied != 0 {
            self.extend();
        }
    }

    #[inline(never)]
    fn extend(&mut self) {
        let enough = self.low + self.batch / 2;
        while self.run.len() < enough && self.near.occupied != 0 {
            let (level, at) = self.near.first();
            if level == 0 {
                self.take_equals(at);
            } else if level < TOP && self.near.logs[level * 64 + at].len() <= self.batch {
                self.take_buckets(level, at, enough);
            } else {
                self.distribute(level, at);
            }
            self.unite();
        }
        // The bucket that is likely to be next.
        if self.near.occupied != 0 {
            let (level, at) = self.near.first();
            self.pool.fetch(&self.near.logs[level * 64 + at]);
        }
    }

    /// Goes on with the far levels when the near ones are empty.
    #[inline]
    fn unite(&mut self) {
        if self.divided && self.near.occupied == 0 {
            self.divided = false;
            core::mem::swap(&mut self.near, &mut self.far);
        }
    }

    /// Moves entries of one key to the run, in order of insertion, and perhaps not all of them.
    fn take_equals(&mut self, at: usize) {
        for _ in 0..BATCH {
            let log = &mut self.near.logs[at];
            let entry = self.pool.take(log);
            let is_last = log.len() == 0;
            self.near.begin(entry.key);
            if self.is_removed(entry) {
                self.removed -= 1;
            } else {
                self.run.push(entry.key, entry.flow);
            }
            if is_last {
                self.near.vacate(0, at);
                self.near.open = entry.key.wrapping_add(1);
                break;
            }
        }
    }

    /// Moves a bucket to the run, and with it those that follow in its level as long as the run is shorter than `enough`.
    fn take_buckets(&mut self, level: usize, first: usize, enough: usize) {
        let start = self.near.start_of(level, first);
        let missing = enough - self.run.len();
        let Some(gathered) = self.run.room() else { return };
        let (mut at, mut count) = (first, 0);
        loop {
            let mut rest = Rest::from(self.near.detach(level, at));
            while let Some(stretch) = self.pool.next(&mut rest) {
                let entries = &self.pool.entries()[stretch];
                if self.removed == 0 {
                    gathered[count..][..entries.len()].copy_from_slice(entries);
                    count += entries.len();
                    continue;
                }
                for &entry in entries {
                    if self.generations[entry.flow as usize] == entry.generation {
                        gathered[count] = entry;
                        count += 1;
                    } else {
                        self.removed -= 1;
                    }
                }
            }
            let following = self.near.buckets[level];
            at = following.trailing_zeros() as usize;
            if count >= missing || following == 0 || count + self.near.logs[level * 64 + at].len() > self.batch {
                break;
            }
        }
        if count > 0 {
            self.near.pivot = self.run.append(count, start);
            self.near.open = self.near.pivot.wrapping_add(1);
        }
    }

    /// Distributes a bucket over the level below, or over the first one that does not put all entries in one bucket again.
    // Keys in the pivot's own bucket belong further below, but the first bucket will be in the run before another key is entered.
    fn distribute(&mut self, level: usize, at: usize) {
        let log = self.near.detach(level, at);
        let (mut below, mut pivot) = (level - 1, self.near.start_of(level, at));
        if log.len() > MANY {
            let (all, any) = self.pool.bits(log);
            (below, pivot) = (level_of(all ^ any).min(below), all);
        }
        self.near.begin(pivot);
        let Some(logs) = self.near.logs[below * 64..].first_chunk_mut() else { return };
        let mut rest = Rest::from(log);
        while let Some(stretch) = self.pool.next(&mut rest) {
            self.near.buckets[below] |= if self.removed == 0 {
                self.pool.spread(stretch, logs, DIGIT * below, |_| true)
            } else {
                self.pool.spread(stretch, logs, DIGIT * below, |entry| {
                    let is_current = self.generations[entry.flow as usize] == entry.generation;
                    self.removed -= usize::from(!is_current);
                    is_current
                })
            };
        }
        if self.near.buckets[below] != 0 {
            self.near.occupied |= 1 << below;
        }
    }

    /// Makes room in a full run: the later half goes back to the logs.
    #[cold]
    fn give_back(&mut self) {
        let mut keep = self.run.capacity() / 2;
        if self.divided && !is_before(self.run.items()[keep].key, self.near.open) {
            // From here on all keys are equal to `open`. The pivot has to go below it.
            keep = self.run.items().partition_point(|item| is_before(item.key, self.near.open)) / 2;
        }
        let pivot = self.run.items()[keep].key;
        let (mut strung, mut level, mut at) = (Log::EMPTY, 0, 0);
        if self.divided {
            level = level_of(pivot ^ self.near.pivot);
            at = digit(self.near.pivot, level);
            strung = self.near.detach_below(level, &mut self.pool, &mut self.gaps);
        } else if self.near.occupied != 0 {
            self.divided = true;
            core::mem::swap(&mut self.near, &mut self.far);
        }
        self.near.begin(pivot);
        for place in keep..self.run.len() {
            let entry = self.run.items()[place];
            let generation = self.generation(entry.flow);
            self.near.file(&mut self.pool, Entry { generation, ..entry });
        }
        self.run.truncate(keep);
        self.near.attach(level, at, strung, &mut self.pool, &mut self.gaps);
        if self.gaps > Wheel::most_gaps(self.generations.len()) {
            self.rewrite();
        }
        self.settle();
    }

    /// Writes the logs anew, without removed entries and gaps.
    #[cold]
    fn rewrite(&mut self) {
        for _ in 0..2 {
            core::mem::swap(&mut self.near, &mut self.far);
            for level in 0..LEVELS {
                let mut buckets = self.near.buckets[level];
                while buckets != 0 {
                    let at = buckets.trailing_zeros() as usize;
                    buckets &= buckets - 1;
                    let mut rest = Rest::from(self.near.detach(level, at));
                    while let Some(stretch) = self.pool.next(&mut rest) {
                        for place in stretch {
                            let entry = self.pool.entries()[place];
                            if self.is_removed(entry) {
                                self.removed -= 1;
                            } else {
                                self.near.file_at(&mut self.pool, level, at, entry);
                            }
                        }
                    }
                }
            }
        }
        self.gaps = 0;
        self.unite();
    }

    /// How many chunks within logs may be partly filled before the logs are written anew.
    const fn most_gaps(flows: usize) -> usize {
        512 + flows / 64
    }

    /// Takes out a flow that is not the first.
    #[inline(never)]
    fn remove_within(&mut self, Flow(flow): Flow) {
        self.flows -= 1;
        if !self.run.remove(flow) {
            let generation = &mut self.generations[flow as usize];
            *generation = generation.wrapping_add(1);
            self.aged = true;
            self.removed += 1;
            // Keys of removed flows must not outlive those with which they were in reach.
            if self.removed > self.generations.len() / 8 || self.flows == self.run.len() {
                self.rewrite();
            }
        }
        self.settle();
    }
}

impl ReadyList for Wheel {
    fn new(flows: usize) -> Wheel {
        // A list that fits in a short run never uses the logs.
        let logs = if flows <= SHORT { 0 } else { LEVELS * 64 };
        let entries = if logs == 0 { 0 } else { flows + flows / 8 + 1 };
        let partial = 3 * (2 * logs).min(entries) + if logs == 0 { 0 } else { 2 * Wheel::most_gaps(flows) };
        Wheel {
            run: Run::new(if logs == 0 { flows } else { LONG }),
            low: if flows < WORTH_TELLING { LOWEST } else { LOW },
            batch: (flows / PART).clamp(LEAST_BATCH, BATCH),
            near: Levels::new(logs),
            far: Levels::new(logs),
            divided: false,
            pool: Pool::new(entries, partial),
            removed: 0,
            gaps: 0,
            flows: 0,
            generations: vec![0; flows],
            aged: false,
        }
    }

    #[inline]
    fn insert(&mut self, flow: Flow, key: u64) {
        self.flows += 1;
        if self.near.occupied == 0 {
            match self.run.last_key() {
                // A run that is short takes any key while the logs are empty.
                Some(last) if self.run.len() >= 4 * self.low && !self.near.logs.is_empty() => {
                    self.near.pivot = last;
                    self.near.open = last.wrapping_add(1);
                }
                _ => return self.run.insert(key, flow.0),
            }
        }
        if is_before(key, self.near.open) {
            self.run.insert(key, flow.0);
            if self.run.len() == self.run.capacity() {
                self.give_back();
            }
            return;
        }
        let entry = Entry { key, flow: flow.0, generation: self.generation(flow.0) };
        if self.divided && !is_before(key, self.far.open) {
            self.far.file(&mut self.pool, entry);
        } else {
            self.near.file(&mut self.pool, entry);
        }
    }

    // Always inlined where the first is taken out, for that is what almost every call does.
    #[inline(always)]
    fn remove(&mut self, flow: Flow) {
        if self.run.get(0).is_some_and(|first| first.flow == flow.0) {
            self.pop_first();
        } else {
            self.remove_within(flow);
        }
    }

    #[inline]
    fn first(&self) -> Option<(u64, Flow)> {
        self.run.get(0).map(|first| (first.key, Flow(first.flow)))
    }

    #[inline]
    fn pop_first(&mut self) -> Option<(u64, Flow)> {
        let first = self.first()?;
        self.run.pop();
        self.flows -= 1;
        self.settle();
        Some(first)
    }

    #[inline]
    fn ahead(&self, places: usize) -> Option<Flow> {
        self.run.get(places).map(|item| Flow(item.flow))
    }

    #[inline]
    fn len(&self) -> usize {
        self.flows
    }
}
