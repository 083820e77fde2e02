//! Keeps flows in the exact order of their keys: the nearest in a short sorted run, the others in wheels of logs with bitmaps over them.
//!
//! **Law**: the laws of [`ReadyList`], for every sequence of keys that lie within 2^63 of each other: far in the future, in the past,
//! across the wrap.
//!
//! **Source**: the levels are those of a radix heap, Ahuja, Mehlhorn, Orlin and Tarjan, "Faster algorithms for the shortest path problem",
//! JACM 37(2), 1990. With 64 buckets per level or more they are also the hierarchical timing wheels of Varghese and Lauck, SOSP 1987.
//! Bitmaps over the buckets as in Saeed et al., "Eiffel", NSDI 2019.
//!
//! **State**: a generation of 4 bytes and 18 bytes of log space per flow, an eighth of it for entries that were removed. 16 kB for the run.
//! For the buckets 20 kB with a thousand flows, 78 kB with 65,536 or more. Up to 64 flows need only the run, of 32 bytes per flow.
//!
//! **Cost**: O(1) amortised, whatever the number of flows. An entry is appended to a log, most often of the wide level, and otherwise copied
//! there once or twice. It is sorted together with at most 254 others, by counting. All memory is accessed in sequence. A bucket is
//! distributed as a whole, so single calls can cost more. A key before those taken out costs a shift within the run. Thousands of them at a
//! time, each closer to the front, move the entries behind them repeatedly.
//!
//! **RTL twin**: none yet; the bitmaps are 64-bit priority encoders.
//!
//! **Deviations**: a radix heap is monotone; this list takes keys before those taken out. The calendar of the cell scheduler shares its
//! logs, bitmaps and counting sort. It does not share its levels: it bounds every call, keeps 8 bytes per entry, and its caller recognises
//! removed entries.
//!
//! * The run holds every key before `open`, in order. A key before `open` that comes later is sorted in. A run that overflows returns its
//!   second half to the logs.
//! * Keys in the logs are at or after `pivot`. A key that differs from the pivot in the 6-bit digit `d`, and in none above, is in level `d`,
//!   in the bucket of that digit. So the lowest level that is not empty comes first, and in it the first bucket.
//! * One level has a wider digit, cut where the keys are when they are distributed. Its buckets are small enough to be sorted, and together
//!   they hold more than all flows. A key that differs in this digit, and in none above, is there instead.
//! * When the run is short, the first bucket is sorted and appended to it, with those that follow if it holds too little. A bucket that
//!   holds too much is distributed over the level below.
//! * What an overflowing run returns goes to levels of its own, the near ones, before the far ones. If there are near ones already, their
//!   pivot moves down. All levels below the digit in which the two pivots differ then belong in one bucket, and at level 0 the old pivot's
//!   own bucket too. (They belong in several, where the wide level ends within that digit.) Their logs are concatenated.
//! * At equal keys the run's entries are older than those in the logs, and the near levels' entries older than those in the far ones. A log
//!   is in order of insertion.
//! * An entry that is removed from a log stays until it is read; the flow's generation tells it from a later one.

use super::ReadyList;
use super::levels::{Bucket, CHUNK, Levels, Pool};
use super::run::{BATCH, Entry, Run};
use crate::packet::Flow;
use crate::serial::is_before;
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
    /// The most entries of a bucket that are sorted into the run.
    batch: usize,
    near: Levels,
    /// In use only while the near levels are not empty and `divided` is set.
    far: Levels,
    divided: bool,
    pool: Pool,
    /// Entries in the logs that have been removed.
    removed: usize,
    /// The number of flows in the logs.
    logged: usize,
    generations: Vec<u32>,
    /// True if a generation may differ from 0.
    aged: bool,
    /// True if keys after those in the run go to the near levels, which are not empty, with a generation of 0.
    is_plain: bool,
}

/// Up to this many flows, the run alone holds the list.
const RUN_ONLY_FLOWS: usize = 64;
/// The most flows in a run.
const RUN_CAPACITY: usize = 512;
/// The run is extended when it is shorter than this: long enough to prefetch flows by [`ReadyList::ahead`].
const LOW: usize = 28;
/// The same for fewer than [`CACHED_FLOWS`], which need no prefetching.
const LOW_IF_CACHED: usize = 4;
/// Fewer flows than this stay in the cache.
const CACHED_FLOWS: usize = 4096;
/// A batch is at most this fraction of all flows, so that few later keys fall within the run.
const BATCH_DIVISOR: usize = 64;
/// The smallest limit of a batch.
const MINIMUM_BATCH: usize = 64;

impl Wheel {
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
        if self.run.len() < self.low && !self.near.is_empty() {
            self.extend();
        }
    }

    #[inline(never)]
    fn extend(&mut self) {
        let enough = self.low + self.batch / 2;
        while self.run.len() < enough && !self.near.is_empty() {
            let bucket = self.near.first();
            if self.near.holds_equals(bucket) {
                self.take_equals(bucket);
            } else if self.near.stands_alone(bucket) && self.near.log(bucket).len() as usize <= self.batch {
                self.take_buckets(bucket, enough);
            } else if self.removed == 0 {
                self.near.distribute(bucket, self.batch, &mut self.pool, |_| true);
            } else {
                self.near.distribute(bucket, self.batch, &mut self.pool, |entry| {
                    let is_current = self.generations[entry.flow as usize] == entry.generation;
                    self.removed -= usize::from(!is_current);
                    is_current
                });
            }
            self.unite();
        }
        // The bucket that is likely to be next.
        if !self.near.is_empty() {
            self.pool.fetch(self.pool.begin(self.near.log(self.near.first())));
        }
        self.find_plain();
    }

    /// Continues with the far levels when the near ones are empty.
    #[inline]
    fn unite(&mut self) {
        if self.divided && self.near.is_empty() {
            self.divided = false;
            core::mem::swap(&mut self.near, &mut self.far);
        }
    }

    /// Moves entries of one key to the run in order of insertion, at most [`BATCH`] of them.
    fn take_equals(&mut self, bucket: Bucket) {
        let key = self.near.start_of(bucket);
        self.near.begin(key);
        for _ in 0..BATCH / CHUNK {
            let Some((chunk, count)) = self.near.detach_first(&mut self.pool, bucket) else { break };
            self.pool.fetch(self.pool.begin(self.near.log(bucket)));
            for at in 0..count {
                let entry = self.pool.items(chunk)[at];
                if self.is_removed(entry) {
                    self.removed -= 1;
                } else {
                    self.run.push(key, entry.flow);
                    self.logged -= 1;
                }
            }
            self.pool.give_back(chunk);
        }
        if self.near.log(bucket).is_empty() {
            self.near.begin_after(key);
        }
    }

    /// Moves a bucket to the run, then those that follow in its level while the run is shorter than `enough`.
    fn take_buckets(&mut self, first: Bucket, enough: usize) {
        let start = self.near.start_of(first);
        let level = self.near.lowest();
        let missing = enough - self.run.len();
        let Some(gathered) = self.run.room() else { return };
        let (mut bucket, mut count) = (first, 0);
        loop {
            let mut log = self.near.detach(bucket);
            while let Some((chunk, length)) = self.pool.detach_first(&mut log) {
                self.pool.fetch(self.pool.begin(&log));
                let entries = &self.pool.items(chunk)[..length];
                if self.removed == 0 {
                    gathered[count..][..length].copy_from_slice(entries);
                    count += length;
                } else {
                    for &entry in entries {
                        if self.generations[entry.flow as usize] == entry.generation {
                            gathered[count] = entry;
                            count += 1;
                        } else {
                            self.removed -= 1;
                        }
                    }
                }
                self.pool.give_back(chunk);
            }
            if count >= missing || self.near.lowest() != level {
                break;
            }
            bucket = self.near.first();
            if count + self.near.log(bucket).len() as usize > self.batch {
                break;
            }
        }
        if count > 0 {
            self.logged -= count;
            self.near.begin_after(self.run.append(count, start));
        }
    }

    /// Makes room in a full run: its later half returns to the logs.
    #[cold]
    fn give_back(&mut self) {
        let mut keep = self.run.capacity() / 2;
        if self.divided && !is_before(self.run.items()[keep].key, self.near.open) {
            // From here on all keys are equal to `open`. The pivot has to go below it.
            keep = self.run.items().partition_point(|item| is_before(item.key, self.near.open)) / 2;
        }
        let pivot = self.run.items()[keep].key;
        let mut concatenated = None;
        if self.divided {
            concatenated = Some(self.near.detach_below(pivot, &mut self.pool));
        } else if !self.near.is_empty() {
            self.divided = true;
            core::mem::swap(&mut self.near, &mut self.far);
        }
        self.near.begin(pivot);
        for place in keep..self.run.len() {
            let entry = self.run.items()[place];
            let generation = self.generation(entry.flow);
            self.near.file(&mut self.pool, Entry { generation, ..entry });
        }
        self.logged += self.run.len() - keep;
        self.run.truncate(keep);
        if let Some((bucket, log)) = concatenated {
            self.near.attach(bucket, log, &mut self.pool);
        }
        self.settle();
    }

    /// Rewrites the logs without removed entries.
    #[cold]
    fn rewrite(&mut self) {
        for _ in 0..2 {
            core::mem::swap(&mut self.near, &mut self.far);
            let mut from = 0;
            while let Some(bucket) = self.near.next(from) {
                from = bucket + 1;
                let mut log = self.near.detach(bucket);
                while let Some((chunk, count)) = self.pool.detach_first(&mut log) {
                    for at in 0..count {
                        let entry = self.pool.items(chunk)[at];
                        if self.is_removed(entry) {
                            self.removed -= 1;
                        } else {
                            self.near.file_in(&mut self.pool, bucket, entry);
                        }
                    }
                    self.pool.give_back(chunk);
                }
            }
        }
        self.unite();
    }

    /// Adds a flow to the run or to the logs.
    #[inline(never)]
    fn insert_anywhere(&mut self, flow: Flow, key: u64) {
        if self.near.is_empty() {
            match self.run.last_key() {
                // A run that is short takes any key while the logs are empty.
                Some(last) if self.run.len() >= 4 * self.low && self.near.logs() > 0 => self.near.begin_after(last),
                _ => return self.run.insert(key, flow.0),
            }
        }
        if is_before(key, self.near.open) {
            self.run.insert(key, flow.0);
            if self.run.len() == self.run.capacity() {
                self.give_back();
            }
            return self.find_plain();
        }
        self.logged += 1;
        let entry = Entry { key, flow: flow.0, generation: self.generation(flow.0) };
        if self.divided && !is_before(key, self.far.open) {
            self.far.file(&mut self.pool, entry);
        } else {
            self.near.file(&mut self.pool, entry);
        }
        self.find_plain();
    }

    /// Takes out a flow that is not the first.
    #[inline(never)]
    fn remove_within(&mut self, Flow(flow): Flow) {
        if !self.run.remove(flow) {
            self.logged -= 1;
            let generation = &mut self.generations[flow as usize];
            *generation = generation.wrapping_add(1);
            self.aged = true;
            self.removed += 1;
            // A removed key must not stay so long that it no longer compares serially with the others.
            if self.removed > self.generations.len() / 8 || self.logged == 0 {
                self.rewrite();
            }
        }
        self.settle();
        self.find_plain();
    }

    #[inline]
    fn find_plain(&mut self) {
        self.is_plain = !self.aged && !self.divided && !self.near.is_empty();
    }
}

impl ReadyList for Wheel {
    fn new(flows: usize) -> Wheel {
        // A list that fits in a short run never uses the logs.
        let is_short = flows <= RUN_ONLY_FLOWS;
        let batch = (flows / BATCH_DIVISOR).clamp(MINIMUM_BATCH, BATCH);
        let levels = Levels::new(if is_short { 0 } else { flows }, batch);
        let entries = if is_short { 0 } else { flows + flows / 8 + 1 };
        let mut pool = Pool::new();
        if !is_short {
            // Every log may have one partly filled chunk, and so may the log that is being distributed, of which one chunk is detached.
            pool.reserve(entries.div_ceil(CHUNK) + (2 * levels.logs() + 1).min(entries) + 1);
        }
        Wheel {
            run: Run::new(if is_short { flows } else { RUN_CAPACITY }),
            low: if flows < CACHED_FLOWS { LOW_IF_CACHED } else { LOW },
            batch,
            near: levels.clone(),
            far: levels,
            divided: false,
            pool,
            removed: 0,
            logged: 0,
            generations: vec![0; flows],
            aged: false,
            is_plain: false,
        }
    }

    // Always inlined up to the branch that almost every call takes.
    #[inline(always)]
    fn insert(&mut self, flow: Flow, key: u64) {
        if self.is_plain && !is_before(key, self.near.open) {
            self.logged += 1;
            self.near.file(&mut self.pool, Entry { key, flow: flow.0, generation: 0 });
        } else {
            self.insert_anywhere(flow, key);
        }
    }

    // Always inlined for the first flow, which almost every call removes.
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
        self.drop_first();
        Some(first)
    }

    #[inline]
    fn drop_first(&mut self) {
        self.run.pop();
        self.settle();
    }

    #[inline]
    fn ahead(&self, places: usize) -> Option<Flow> {
        self.run.get(places).map(|item| Flow(item.flow))
    }

    #[inline]
    fn len(&self) -> usize {
        self.run.len() + self.logged
    }
}
