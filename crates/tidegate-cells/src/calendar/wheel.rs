//! The ready list of one class: connections in the exact order of their planned times, in buckets of 64 slots.
//!
//! **Law.** The first has the smallest key; equal keys leave in the order in which they came. This holds in the future, in the past and
//! across the wrap, for keys within 2^63 of each other. Every call takes bounded time, except those that skip slots and those that remove:
//! per 64 slots at most [`BUCKET_CAPACITY`] entries are sorted, and [`STEP`](crate::calendar::levels::STEP) chunks of every level moved.
//!
//! **Source.** Hashed and hierarchical timing wheels, Varghese and Lauck, SOSP 1987. A bucket is a log that is sorted when its time comes,
//! as in a radix sort. The bitmap over the buckets is that of Saeed et al., "Eiffel", NSDI 2019.
//!
//! **State.** One word in a log for a connection whose time is near, two for one whose time is far. With the logs' chunks that is 20 bytes,
//! or 35 if all eight classes are in use. 16 kB for run, table and levels.
//!
//! **Cost.** O(1): an entry is appended to the log of its 64 slots, and sorted with it when they begin. The near logs span one and a half
//! times as many slots as there are connections. An entry farther away is copied once more for every 16-fold distance.
//!
//! **RTL twin.** None yet.
//!
//! **Deviations.** A level's bucket is moved down a few entries per 64 slots, while the level below still has a quarter of its span to go.
//! Until it is empty, entries that come for it are appended to it, so that ties keep their order. An entry of a removed connection (a
//! tombstone) stays until it comes up, or until tombstones are a 32nd of all entries of the pool. The caller recognises tombstones by its
//! own state. Entries without room in the log or the table, or for a slot before them, go to the [`OverflowQueue`].

use crate::calendar::levels::{Entry, Levels, Log, Pool};
use crate::calendar::overflow_queue::OverflowQueue;
use crate::calendar::run::{AT_ONCE, LONGEST_RUN, LOW, LOWEST, SlotRun};
use crate::calendar::table::SlotTable;
use crate::connection::Connection;
use alloc::vec;
use alloc::vec::Vec;
use tidegate_core::ready::bitmap::Bitmap;
use tidegate_core::ready::log::Reader;
use tidegate_core::serial::is_before;

/// The ticks of a near bucket: 64 slots.
const BUCKET: u64 = 1 << BITS;
/// The bits of an instant below its bucket.
const BITS: u32 = 22;

/// The most entries in the log of a near bucket.
const BUCKET_CAPACITY: u32 = LONGEST_RUN as u32;

/// Up to this many connections, their state (a quarter of a megabyte) stays in the cache without prefetching.
const CACHED_CONNECTIONS: usize = 1 << 12;

/// Fewer tombstones than this start no sweep: it has to visit every log.
const SWEEP_MINIMUM: usize = 2 * BUCKET_CAPACITY as usize;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    Run,
    Table,
    Overflow,
}

#[derive(Clone, Debug)]
pub(crate) struct SlotWheel {
    /// The first tick of the 64 slots in the table.
    base: u64,
    /// The distance from `base` at which the levels begin.
    reach: u64,
    /// The end of the 64 slots of the table, and the ticks of the near buckets after it.
    near_start: u64,
    near_span: u64,
    /// What [`SlotWheel::take`] takes out is at or before this instant.
    until: u64,
    /// Words of run and table below this one are due by then; 0 while an entry of the overflow queue may come before them.
    due: u64,
    /// Words of the run below this one are due and come before all of the table.
    limit: u64,
    /// The remaining entries of the log of these 64 slots.
    run: SlotRun,
    /// Entries that came since the log was sorted.
    table: SlotTable,
    has_overflow: bool,
    /// A log for each of the next buckets, circular, and a bit for each that is not empty.
    near: Vec<Log>,
    /// The place of the bucket at `base`, and of the one after it.
    base_at: usize,
    near_at: usize,
    bitmap: Bitmap,
    levels: Levels,
    overflow: OverflowQueue,
    /// True if the state of all connections does not stay in the cache.
    is_large: bool,
    /// Reads the connections to be prefetched in the log of the next bucket.
    soon: Reader,
    /// Connections in the list, and entries of removed ones.
    listed: usize,
    tombstones: usize,
}

impl SlotWheel {
    pub(crate) fn new(connections: usize) -> SlotWheel {
        let buckets = SlotWheel::buckets(connections);
        SlotWheel {
            base: 0,
            reach: 0,
            near_start: 0,
            near_span: 0,
            until: 0,
            due: 0,
            limit: 0,
            run: SlotRun::new(),
            table: SlotTable::new(),
            has_overflow: false,
            near: vec![Log::default(); buckets],
            base_at: 0,
            near_at: 1,
            bitmap: Bitmap::new(buckets),
            levels: Levels::new(SlotWheel::near(connections)),
            overflow: OverflowQueue::new(SlotWheel::entries(connections)),
            is_large: connections > CACHED_CONNECTIONS,
            soon: Reader::default(),
            listed: 0,
            tombstones: 0,
        }
    }

    /// Two slots or more per connection, a quarter of them for entries that move down: intervals up to 1.5 slots per connection need no level.
    fn buckets(connections: usize) -> usize {
        (2 * connections).div_ceil(64).clamp(64, 1 << 17)
    }

    /// The place of the bucket `ahead` ticks after the one at `from`; within the span of all near buckets.
    #[inline(always)]
    fn place(&self, from: usize, ahead: u64) -> usize {
        let at = from + (ahead >> BITS) as usize;
        if at < self.near.len() { at } else { at - self.near.len() }
    }

    /// The span of all near buckets in ticks.
    fn near(connections: usize) -> u64 {
        (SlotWheel::buckets(connections) as u64) << BITS
    }

    fn span(&self) -> u64 {
        (self.near.len() as u64) << BITS
    }

    /// The most tombstones in all lists of a scheduler with this many connections. With more, one list has to be [swept](SlotWheel::sweep).
    pub(crate) fn most_tombstones(connections: usize) -> usize {
        connections / 32 + SWEEP_MINIMUM
    }

    /// The most entries in all lists of a scheduler with this many connections, just after one has been removed.
    fn entries(connections: usize) -> usize {
        connections + SlotWheel::most_tombstones(connections) + 1
    }

    /// The most chunks that this many lists need, with this many connections in all of them together.
    pub(crate) fn chunks(connections: usize, lists: usize) -> usize {
        let entries = SlotWheel::entries(connections);
        let logs = lists * (SlotWheel::buckets(connections) + Levels::logs(SlotWheel::near(connections)));
        // The worst case: every log has one entry, and all others are in overflow heaps.
        let alone = logs.min(entries);
        let chunks = alone + OverflowQueue::chunks(entries - alone);
        // A list that is swept has two overflow queues.
        chunks + lists * OverflowQueue::chunks(0)
    }

    #[cfg(test)]
    pub(crate) fn bytes(connections: usize, lists: usize) -> usize {
        let own = size_of::<SlotWheel>() + Levels::bytes(SlotWheel::near(connections)) + Bitmap::bytes(SlotWheel::buckets(connections));
        let own = own + SlotWheel::buckets(connections) * size_of::<Log>() + OverflowQueue::bytes(SlotWheel::entries(connections));
        SlotWheel::chunks(connections, lists) * Pool::CHUNK_BYTES + lists * own
    }

    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.overflow.capacity()
    }

    pub(crate) fn add(&mut self, pool: &mut Pool, entry: Entry) {
        if self.listed == 0 && (self.tombstones > 0 || entry.key.wrapping_sub(self.base) >= self.reach) {
            self.begin_at(pool, entry.key);
        }
        self.listed += 1;
        self.insert(pool, entry);
    }

    /// Returns a connection that was taken out with [`SlotWheel::take`] and not [`SlotWheel::dropped`].
    #[inline]
    pub(crate) fn insert(&mut self, pool: &mut Pool, entry: Entry) {
        // Unsigned, an instant before the next 64 slots is beyond the near buckets.
        if entry.key.wrapping_sub(self.near_start) < self.near_span {
            return self.file_near(pool, entry);
        }
        self.insert_outside(pool, entry);
    }

    /// From now on [`SlotWheel::take`] takes out what is at or before this instant.
    pub(crate) fn open(&mut self, until: u64) {
        self.until = until;
        self.update_bounds();
    }

    /// Updates `due` and `limit`, which follow from `until`.
    fn update_bounds(&mut self) {
        let ahead = self.until.wrapping_sub(self.base);
        self.due = if is_before(self.until, self.base) || self.first_overflow().is_some() {
            0
        } else if ahead < BUCKET - 1 {
            (ahead + 1) << LOW
        } else {
            u64::MAX
        };
        self.limit = self.due.min(self.table.first() | LOWEST);
    }

    /// Takes out the connection with the smallest key, if it is due; advances to later slots as needed. For prefetching, it passes some
    /// connections of the next 64 slots to `soon`, and those that come after the next few to `next`.
    #[inline(always)]
    pub(crate) fn take(&mut self, pool: &mut Pool, soon: impl Fn(usize), next: impl Fn(usize)) -> Option<Entry> {
        loop {
            let (word, tabled) = (self.run.first(), self.table.first());
            if word < self.limit {
                if self.is_large && self.run.place().is_multiple_of(AT_ONCE as u8) {
                    self.fetch_ahead(pool, &soon, &next);
                }
                self.run.pop();
                return Some(self.entry(word));
            }
            if tabled < self.due {
                self.table.pop();
                self.limit = self.due.min(self.table.first() | LOWEST);
                return Some(self.entry(tabled));
            }
            if self.has_overflow {
                return self.take_with_overflow(pool);
            }
            // Without a branch: whether these 64 slots have another entry is unpredictable in a class with few cells.
            let is_last = is_before(self.until, self.near_start) & (self.reach > 0);
            if (word.min(tabled) < u64::MAX) | is_last || !self.advance(pool) {
                return None;
            }
        }
    }

    /// True if [`SlotWheel::take`] would take out a connection that is returned for this time next.
    #[inline]
    pub(crate) fn goes_first(&self, key: u64) -> bool {
        let word = key << LOW | LOWEST;
        key.wrapping_sub(self.base) < BUCKET.min(self.reach) && word < self.limit && word < self.run.first()
    }

    /// Takes connections out of the run, one after the other, and returns each for the time that `plan` gives. Stops when `plan` gives none
    /// (the connection stays), or when only [`SlotWheel::take`] can tell what is first. Returns a connection that has to be
    /// [inserted](SlotWheel::insert) because it fits in no near log without a call: the loop makes none, so that its state stays in registers.
    #[inline(always)]
    pub(crate) fn take_run<C>(
        &mut self,
        pool: &mut Pool,
        connections: &mut C,
        soon: impl Fn(&C, usize),
        next: impl Fn(&C, usize),
        mut plan: impl FnMut(&mut C, Entry) -> Option<u64>,
    ) -> Option<Entry> {
        let mut place = self.run.place();
        let unusual = loop {
            let word = self.run.at(place);
            if word >= self.limit {
                break None;
            }
            if self.is_large && place.is_multiple_of(AT_ONCE as u8) {
                self.run.go_to(place);
                self.fetch_ahead(pool, |index| soon(connections, index), |index| next(connections, index));
            }
            let entry = self.entry(word);
            let Some(key) = plan(connections, entry) else { break None };
            place += 1;
            let entry = Entry { key, ..entry };
            let ahead = key.wrapping_sub(self.near_start);
            if ahead >= self.near_span {
                break Some(entry);
            }
            let at = self.place(self.near_at, ahead);
            let log = &mut self.near[at];
            let word = key << LOW | entry.payload;
            if !log.is_at_edge() {
                pool.push(log, word);
            } else if log.len().is_multiple_of(BUCKET_CAPACITY) || !pool.has_vacant() {
                break Some(entry);
            } else {
                pool.extend(log, word);
            }
        };
        self.run.go_to(place);
        unusual
    }

    /// Passes twice as many connections to `soon` as are taken out before the next call, and to `next` those that come after the next few.
    #[inline(always)]
    fn fetch_ahead(&mut self, pool: &Pool, soon: impl Fn(usize), next: impl Fn(usize)) {
        pool.read(&mut self.soon).into_iter().flatten().for_each(|&word| soon(Connection::unpack(word).index()));
        self.run.ahead().iter().for_each(|&word| next(Connection::unpack(word).index()));
    }

    /// [`SlotWheel::take`] while the overflow queue is not empty.
    #[cold]
    fn take_with_overflow(&mut self, pool: &mut Pool) -> Option<Entry> {
        if !self.is_due(pool) {
            return None;
        }
        let (entry, part) = self.find_first()?;
        match part {
            Part::Run => self.run.pop(),
            Part::Table => self.table.pop(),
            Part::Overflow => {
                self.overflow.pop(pool);
                self.has_overflow = !self.overflow.is_empty();
            }
        }
        self.update_bounds();
        Some(entry)
    }

    /// True if a connection is due; advances to later slots as needed.
    pub(crate) fn is_due(&mut self, pool: &mut Pool) -> bool {
        loop {
            match self.first() {
                Some(first) => return !is_before(self.until, first.key),
                None if self.advance(pool) => {}
                None => return false,
            }
        }
    }

    /// The connection with the smallest key, if its slot is among those of the table or before them.
    pub(crate) fn first(&self) -> Option<Entry> {
        self.find_first().map(|(entry, _)| entry)
    }

    /// The same, and its part. Ties came first in the run, then in the table, then in the overflow queue.
    fn find_first(&self) -> Option<(Entry, Part)> {
        let (run, tabled) = (self.run.first(), self.table.first());
        let (word, part) = if tabled | LOWEST < run | LOWEST { (tabled, Part::Table) } else { (run, Part::Run) };
        // The mark of an empty run has the greatest key.
        let (word, part) = if word == u64::MAX { (tabled, Part::Table) } else { (word, part) };
        let first = (word != u64::MAX).then(|| (self.entry(word), part));
        match (first, self.first_overflow()) {
            (Some((entry, _)), Some(overflow)) if !is_before(overflow.key, entry.key) => first,
            (first, overflow) => overflow.map(|overflow| (overflow, Part::Overflow)).or(first),
        }
    }

    /// The first of the overflow queue, if its slot is among those of the table or before them.
    fn first_overflow(&self) -> Option<Entry> {
        if !self.has_overflow {
            return None;
        }
        self.overflow.first().filter(|first| is_before(first.key, self.base.wrapping_add(BUCKET)))
    }

    #[inline]
    const fn entry(&self, word: u64) -> Entry {
        Entry { key: self.base | word >> LOW, payload: word & LOWEST }
    }

    /// A connection that was taken out is not returned.
    #[inline]
    pub(crate) fn dropped(&mut self) {
        self.listed -= 1;
    }

    pub(crate) fn tombstone_taken(&mut self) {
        self.tombstones -= 1;
    }

    /// A connection is removed; its entry stays as a tombstone.
    pub(crate) fn remove(&mut self) {
        self.listed -= 1;
        self.tombstones += 1;
    }

    pub(crate) const fn tombstones(&self) -> usize {
        self.tombstones
    }

    /// When [`SlotWheel::first`] is `None`: advances to the next 64 slots that may have an entry. False if there are none up to the
    /// instant of [`SlotWheel::open`].
    #[inline(never)]
    fn advance(&mut self, pool: &mut Pool) -> bool {
        if self.listed == 0 {
            return false;
        }
        let target = self.until & !(BUCKET - 1);
        let mut is_loaded = false;
        while !is_loaded
            && let Some(next) = self.next_bucket()
            && !is_before(target, next)
        {
            self.go_to(pool, next);
            is_loaded = self.reach > 0;
        }
        if is_loaded {
            self.load(pool);
        } else if is_before(self.base, target) {
            self.go_to(pool, target);
        }
        self.update_bounds();
        is_loaded
    }

    /// An instant at or before the smallest key; `None` if the list is empty.
    pub(crate) fn earliest(&self) -> Option<u64> {
        if self.listed == 0 {
            return None;
        }
        self.first().map(|first| first.key).or_else(|| self.next_bucket())
    }

    /// True if an entry that comes up may be a tombstone.
    #[inline]
    pub(crate) const fn has_tombstones(&self) -> bool {
        self.tombstones > 0
    }

    /// The first 64 slots, not before those of the table, for which there is an entry or a bucket of a level that is not empty.
    fn next_bucket(&self) -> Option<u64> {
        let ahead = self.bitmap.next(self.base_at).map(|ahead| (ahead as u64) << BITS);
        if let Some(ahead) = ahead
            && ahead < self.reach
            && !self.has_overflow
        {
            return Some(self.base.wrapping_add(ahead));
        }
        let overflow = self.overflow.first().map(|first| first.key.wrapping_sub(self.base)).filter(|&ahead| ahead < 1 << 63);
        let far = self.levels.first().map(|start| start.wrapping_sub(self.base));
        let ahead = [ahead, overflow, far].into_iter().flatten().min()?;
        Some(self.base.wrapping_add(ahead) & !(BUCKET - 1))
    }

    /// Advances to 64 slots before which there is no entry.
    fn go_to(&mut self, pool: &mut Pool, base: u64) {
        if base != self.base {
            self.table.clear();
            self.run.clear();
            // After the near buckets all are empty, and any place will do.
            let ahead = base.wrapping_sub(self.base);
            self.base_at = if ahead < self.span() { self.place(self.base_at, ahead) } else { 0 };
        }
        self.base = base;
        self.near_at = self.place(self.base_at, BUCKET);
        if self.levels.may_settle(base) {
            let mut levels = core::mem::take(&mut self.levels);
            levels.settle(pool, base, |pool, entry| self.file_near(pool, entry));
            self.levels = levels;
        }
        self.reach = self.levels.start().wrapping_sub(base);
        self.near_start = base.wrapping_add(BUCKET);
        self.near_span = self.reach.saturating_sub(BUCKET);
    }

    /// Sorts the log of the 64 slots at `base` into the run.
    fn load(&mut self, pool: &mut Pool) {
        let at = self.base_at;
        let mut log = core::mem::take(&mut self.near[at]);
        self.bitmap.clear(at);
        if log.len() == BUCKET_CAPACITY {
            // Later entries of these slots may be in the overflow queue.
            self.table.shut();
        }
        self.run.clear();
        while let Some((words, count)) = pool.pop(&mut log) {
            self.run.append(&words, count);
        }
        self.run.sort();
        // The first chunk of the bucket after the next is read as soon as the next one is loaded.
        let log = |ahead| pool.begin(&self.near[self.place(at, ahead)]);
        if self.is_large {
            pool.fetch(log(2 * BUCKET));
            self.soon = log(BUCKET);
        }
    }

    /// Appends to the log of the entry's 64 slots.
    #[inline]
    fn file_near(&mut self, pool: &mut Pool, entry: Entry) {
        let at = self.place(self.base_at, entry.key.wrapping_sub(self.base));
        let log = &mut self.near[at];
        if log.is_at_edge() {
            return self.file_at_edge(pool, entry);
        }
        pool.push(log, entry.key << LOW | entry.payload);
    }

    /// The same for a log at the edge of a chunk.
    #[inline(never)]
    fn file_at_edge(&mut self, pool: &mut Pool, entry: Entry) {
        let at = self.place(self.base_at, entry.key.wrapping_sub(self.base));
        let log = &mut self.near[at];
        if log.len() == BUCKET_CAPACITY {
            return self.push_overflow(pool, entry);
        }
        if log.is_empty() {
            self.bitmap.set(at);
        }
        pool.extend(log, entry.key << LOW | entry.payload);
    }

    /// Files an entry that belongs to no near bucket: its slot is among those of the table, before them, or after the near buckets.
    #[inline(always)]
    fn insert_outside(&mut self, pool: &mut Pool, entry: Entry) {
        if entry.key.wrapping_sub(self.base) < BUCKET.min(self.reach) {
            let word = entry.key << LOW | entry.payload;
            if self.table.insert(word) {
                self.limit = self.limit.min(word | LOWEST);
                return;
            }
            self.push_overflow(pool, entry);
        } else {
            self.insert_far(pool, entry);
        }
    }

    #[cold]
    fn insert_far(&mut self, pool: &mut Pool, entry: Entry) {
        if is_before(entry.key, self.base) {
            return self.push_overflow(pool, entry);
        }
        self.levels.file(pool, entry);
    }

    #[cold]
    fn push_overflow(&mut self, pool: &mut Pool, entry: Entry) {
        self.overflow.push(pool, entry);
        self.has_overflow = true;
        self.update_bounds();
    }

    fn begin_at(&mut self, pool: &mut Pool, key: u64) {
        if self.tombstones > 0 {
            self.sweep(pool, |_| false);
            self.tombstones = 0;
        }
        self.table.clear();
        self.run.clear();
        self.base = key & !(BUCKET - 1);
        self.levels.restart(self.base);
        self.go_to(pool, self.base);
        self.update_bounds();
    }
}

mod sweep;
#[cfg(test)]
mod tests;
