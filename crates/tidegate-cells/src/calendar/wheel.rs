//! The ready list of one class: connections in the exact order of their planned times, filed by slots.
//!
//! **Law.** The first is that of the smallest key, and of equal keys the one that came first: in the future, in the past, across the wrap,
//! for keys that lie within 2^63 of each other. Every call takes bounded time, apart from those that skip slots and those that remove:
//! per 64 slots at most [`FULL`] entries are sorted, and a few chunks of every level moved.
//!
//! **Source.** Hashed and hierarchical timing wheels, Varghese and Lauck, SOSP 1987, where a bucket is a log that is sorted when its time
//! comes, as in a radix sort; the marks over the buckets are those of Saeed et al., "Eiffel", NSDI 2019.
//!
//! **State.** One word in a log for a connection whose time is near, two for one whose time is far: with the logs' chunks 20 bytes, 35 if all
//! eight classes are in use; 16 kB for run, table and levels.
//!
//! **Cost.** O(1): an entry is appended to the log of its 64 slots, which lie within reach for one and a half times as many slots as there are
//! connections, and sorted with it when they begin. One that is farther away is copied once more for every 16-fold distance.
//!
//! **RTL twin.** None yet.
//!
//! **Deviations.** A level's bucket is moved down while the level below still has a quarter of its span to go, a few entries per 64 slots
//! and not at once; until it is empty, what comes for it is appended to it, so that equals keep their order. Removed entries stay until they
//! come up, or until they are a 32nd of those in all lists of the pool: who calls knows them by what it keeps, so the list knows nothing.
//! What finds no room in the log or the table, or comes for a slot before them, goes to the [`OverflowQueue`].

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
const BITS: u32 = 22;

/// The most entries in the log of a near bucket.
const FULL: u32 = LONGEST_RUN as u32;

/// The most connections whose state, a quarter of a megabyte then, stays in the cache by itself.
const FEW: usize = 1 << 12;

/// Entries of others that lists may have however few connections there are: so many make it worth while to look at every log.
const SWEEP_MINIMUM: usize = 2 * FULL as usize;

/// The part of a wheel in which its first entry stands.
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
    /// So far from `base` begins what is filed by levels.
    reach: u64,
    /// The end of the 64 slots of the table, and how much of what is near lies behind it.
    near_start: u64,
    near_span: u64,
    /// What [`SlotWheel::take`] takes out is at or before this instant.
    until: u64,
    /// Words of run and table below this one are due by then; none while one of the crowd may come before them.
    due: u64,
    /// Those of the run below this one come before all of the table as well.
    limit: u64,
    /// What is left of the entries that their log held.
    run: SlotRun,
    /// Those that came since.
    table: SlotTable,
    has_overflow: bool,
    /// A log for each of the next buckets, going round, and marks for those that are not empty.
    near: Vec<Log>,
    /// Where the bucket at `base` stands, and the one after it.
    base_at: usize,
    near_at: usize,
    bitmap: Bitmap,
    levels: Levels,
    overflow: OverflowQueue,
    /// So many connections that their state does not stay in the cache.
    is_large: bool,
    /// In the log of the next bucket, the connections to be fetched next.
    soon: Reader,
    /// Connections in the list, and entries of others.
    listed: usize,
    tombstones: usize,
}

impl SlotWheel {
    /// An empty list for so many connections.
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
            is_large: connections > FEW,
            soon: Reader::default(),
            listed: 0,
            tombstones: 0,
        }
    }

    /// Two slots and more per connection, a quarter of them for levels to be moved down: an interval of one and a half needs no level.
    fn buckets(connections: usize) -> usize {
        (2 * connections).div_ceil(64).clamp(64, 1 << 17)
    }

    /// Where a bucket stands, so many ticks after one that stands at `from`; within the span of all near buckets.
    #[inline(always)]
    fn place(&self, from: usize, ahead: u64) -> usize {
        let at = from + (ahead >> BITS) as usize;
        if at < self.near.len() { at } else { at - self.near.len() }
    }

    /// The ticks of all near buckets.
    fn near(connections: usize) -> u64 {
        (SlotWheel::buckets(connections) as u64) << BITS
    }

    /// The same of this list.
    fn span(&self) -> u64 {
        (self.near.len() as u64) << BITS
    }

    /// So many entries of others may be in all lists of together so many connections: beyond, one list has to be [swept](SlotWheel::sweep).
    pub(crate) fn most_tombstones(connections: usize) -> usize {
        connections / 32 + SWEEP_MINIMUM
    }

    /// The most entries in all lists of together so many connections, one of which has just been removed.
    fn entries(connections: usize) -> usize {
        connections + SlotWheel::most_tombstones(connections) + 1
    }

    /// The most chunks that so many lists of together so many connections need.
    pub(crate) fn chunks(connections: usize, lists: usize) -> usize {
        let entries = SlotWheel::entries(connections);
        let logs = lists * (SlotWheel::buckets(connections) + Levels::logs(SlotWheel::near(connections)));
        // Every log but one entry, and all others in the heaps of crowds; with less in the heaps or more in a log it is less.
        let alone = logs.min(entries);
        let chunks = alone + OverflowQueue::chunks(entries - alone);
        // Of a list that is written anew there are two crowds.
        chunks + lists * OverflowQueue::chunks(0)
    }

    /// What they take.
    #[cfg(test)]
    pub(crate) fn bytes(connections: usize, lists: usize) -> usize {
        let own = size_of::<SlotWheel>() + Levels::bytes(SlotWheel::near(connections)) + Bitmap::bytes(SlotWheel::buckets(connections));
        let own = own + SlotWheel::buckets(connections) * size_of::<Log>() + OverflowQueue::bytes(SlotWheel::entries(connections));
        SlotWheel::chunks(connections, lists) * Pool::CHUNK_BYTES + lists * own
    }

    /// Entries of the crowd for which there is room.
    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.overflow.capacity()
    }

    /// Adds a connection that is not in the list.
    pub(crate) fn add(&mut self, pool: &mut Pool, entry: Entry) {
        if self.listed == 0 && (self.tombstones > 0 || entry.key.wrapping_sub(self.base) >= self.reach) {
            self.begin_at(pool, entry.key);
        }
        self.listed += 1;
        self.insert(pool, entry);
    }

    /// Adds a connection that was taken out with [`SlotWheel::take`] and not [`SlotWheel::dropped`].
    #[inline]
    pub(crate) fn insert(&mut self, pool: &mut Pool, entry: Entry) {
        // What comes before the next 64 slots is, without a sign, beyond all that are near.
        if entry.key.wrapping_sub(self.near_start) < self.near_span {
            return self.file_near(pool, entry);
        }
        self.insert_apart(pool, entry);
    }

    /// From now on [`SlotWheel::take`] takes out what is at or before this instant.
    pub(crate) fn open(&mut self, until: u64) {
        self.until = until;
        self.bound();
    }

    /// Finds out what `until` means for the words of run and table.
    fn bound(&mut self) {
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

    /// Takes out the connection with the smallest key, if its time has come; goes on to the next 64 slots as need be. Names connections
    /// whose turn comes in the 64 slots after these to `soon`, every time some others, and those that come after a few more to `next`: for
    /// fetching their state.
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
                return self.take_apart(pool);
            }
            // Whether something is left in these 64 slots cannot be foreseen where a class has few cells.
            let is_last = is_before(self.until, self.near_start) & (self.reach > 0);
            if (word.min(tabled) < u64::MAX) | is_last || !self.advance(pool) {
                return None;
            }
        }
    }

    /// True if a connection that was put back for this time would be the next that [`SlotWheel::take`] takes out.
    #[inline]
    pub(crate) fn goes_first(&self, key: u64) -> bool {
        let word = key << LOW | LOWEST;
        key.wrapping_sub(self.base) < BUCKET.min(self.reach) && word < self.limit && word < self.run.first()
    }

    /// Takes connections out of the run and puts each back for the time that `plan` tells, one after the other, until it tells none and the
    /// connection stays, or until [`SlotWheel::take`] has to see what comes first. A connection is returned, for
    /// [`SlotWheel::insert`], that no near log takes as it is: nothing is called here, so that all is kept in registers.
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
            } else if log.len().is_multiple_of(FULL) || !pool.has_vacant() {
                break Some(entry);
            } else {
                pool.extend(log, word);
            }
        };
        self.run.go_to(place);
        unusual
    }

    /// Names to `soon` twice as many connections as are taken out till the next time, and to `next` those that come after a few more.
    #[inline(always)]
    fn fetch_ahead(&mut self, pool: &Pool, soon: impl Fn(usize), next: impl Fn(usize)) {
        pool.read(&mut self.soon).into_iter().flatten().for_each(|&word| soon(Connection::unpack(word).index()));
        self.run.ahead().iter().for_each(|&word| next(Connection::unpack(word).index()));
    }

    /// The same while there is a crowd.
    #[cold]
    fn take_apart(&mut self, pool: &mut Pool) -> Option<Entry> {
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
        self.bound();
        Some(entry)
    }

    /// True if [`SlotWheel::take`] has something to take out.
    pub(crate) fn is_due(&mut self, pool: &mut Pool) -> bool {
        loop {
            match self.first() {
                Some(first) => return !is_before(self.until, first.key),
                None if self.advance(pool) => {}
                None => return false,
            }
        }
    }

    /// The connection with the smallest key, if its slot is in the table or before it.
    pub(crate) fn first(&self) -> Option<Entry> {
        self.find_first().map(|(entry, _)| entry)
    }

    /// The same, and where it stands; equals came first in the run, then in the table, then in the crowd.
    fn find_first(&self) -> Option<(Entry, Part)> {
        let (run, tabled) = (self.run.first(), self.table.first());
        let (word, part) = if tabled | LOWEST < run | LOWEST { (tabled, Part::Table) } else { (run, Part::Run) };
        // The word of nobody has the greatest key there is.
        let (word, part) = if word == u64::MAX { (tabled, Part::Table) } else { (word, part) };
        let first = (word != u64::MAX).then(|| (self.entry(word), part));
        match (first, self.first_overflow()) {
            (Some((entry, _)), Some(crowded)) if !is_before(crowded.key, entry.key) => first,
            (first, crowded) => crowded.map(|crowded| (crowded, Part::Overflow)).or(first),
        }
    }

    /// The first of the crowd, if its slot is in the table or before it.
    fn first_overflow(&self) -> Option<Entry> {
        if !self.has_overflow {
            return None;
        }
        self.overflow.first().filter(|first| is_before(first.key, self.base.wrapping_add(BUCKET)))
    }

    /// The entry of a word in run or table.
    #[inline]
    const fn entry(&self, word: u64) -> Entry {
        Entry { key: self.base | word >> LOW, payload: word & LOWEST }
    }

    /// A connection that was taken out is not put back.
    #[inline]
    pub(crate) fn dropped(&mut self) {
        self.listed -= 1;
    }

    /// What was taken out was no connection of the list any more.
    pub(crate) fn tombstone_taken(&mut self) {
        self.tombstones -= 1;
    }

    /// A connection is in the list no more, but its entry is.
    pub(crate) fn remove(&mut self) {
        self.listed -= 1;
        self.tombstones += 1;
    }

    /// Entries of connections that are in the list no more.
    pub(crate) const fn tombstones(&self) -> usize {
        self.tombstones
    }

    /// When [`SlotWheel::first`] names nobody: goes on to the next 64 slots that may have an entry. False if there are none up to the
    /// instant that is [open](SlotWheel::open).
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
        self.bound();
        is_loaded
    }

    /// An instant at or before the smallest key; `None` if nobody is in the list.
    pub(crate) fn earliest(&self) -> Option<u64> {
        if self.listed == 0 {
            return None;
        }
        self.first().map(|first| first.key).or_else(|| self.next_bucket())
    }

    /// True if an entry that comes up may be one of a connection that is in the list no more.
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
        let crowd = self.overflow.first().map(|first| first.key.wrapping_sub(self.base)).filter(|&ahead| ahead < 1 << 63);
        let far = self.levels.first().map(|start| start.wrapping_sub(self.base));
        let ahead = [ahead, crowd, far].into_iter().flatten().min()?;
        Some(self.base.wrapping_add(ahead) & !(BUCKET - 1))
    }

    /// Goes to 64 slots before which nothing is filed.
    fn go_to(&mut self, pool: &mut Pool, base: u64) {
        if base != self.base {
            self.table.clear();
            self.run.clear();
            // Beyond what is near all is empty, and any place is good.
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

    /// Sorts the log of the 64 slots at `base` into the table.
    fn load(&mut self, pool: &mut Pool) {
        let at = self.base_at;
        let mut log = core::mem::take(&mut self.near[at]);
        self.bitmap.clear(at);
        if log.len() == FULL {
            // Some of those that came later are in the crowd.
            self.table.shut();
        }
        self.run.clear();
        while let Some((words, count)) = pool.pop(&mut log) {
            self.run.append(&words, count);
        }
        self.run.sort();
        // The first chunk of the bucket after the next as well: its turn to be read comes at once when the next is loaded.
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

    /// The same where a chunk begins.
    #[inline(never)]
    fn file_at_edge(&mut self, pool: &mut Pool, entry: Entry) {
        let at = self.place(self.base_at, entry.key.wrapping_sub(self.base));
        let log = &mut self.near[at];
        if log.len() == FULL {
            return self.push_overflow(pool, entry);
        }
        if log.len() == 0 {
            self.bitmap.set(at);
        }
        pool.extend(log, entry.key << LOW | entry.payload);
    }

    /// Files what does not belong to one of the near buckets: it lies in the 64 slots of the table, before them, or in reach of the near
    /// buckets no more or not yet.
    #[inline(always)]
    fn insert_apart(&mut self, pool: &mut Pool, entry: Entry) {
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
        self.bound();
    }

    /// Begins anew, empty, at the 64 slots of `key`.
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
        self.bound();
    }
}

mod sweep;
#[cfg(test)]
mod tests;
