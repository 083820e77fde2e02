//! Holds entries that are too far in the future for the near buckets of a wheel, in coarser and coarser ones, and moves them down in time.
//!
//! **Law.** Equal keys keep their order: while a bucket is moved, entries that come for it are appended to it. No call moves more than
//! [`STEP`] chunks of a level.
//!
//! **Source.** Hierarchical timing wheels, Varghese and Lauck, SOSP 1987.
//!
//! **State.** Two words per entry; half a kilobyte per level, at most nine levels.
//!
//! **Cost.** An entry is copied once for every 16-fold distance.
//!
//! **RTL twin.** None yet.
//!
//! **Deviations.** A bucket is not moved down at once when its time comes. It moves a part at a time, while the level below still has a quarter
//! of its span to go. This bound on every call is why these are not the levels of [`tidegate_core::ready::Wheel`], which distribute a whole
//! bucket.

use crate::connection::Connection;
use alloc::boxed::Box;
use tidegate_core::ready::log;
use tidegate_core::serial::is_before;

/// Words in a chunk of a log: one cache line.
pub(crate) const CHUNK: usize = 8;

pub(crate) type Log = log::Log<CHUNK>;
pub(crate) type Pool = log::Pool<u64, CHUNK>;

/// The most chunks of a level that are moved at a time.
pub(crate) const STEP: usize = 32;

/// The shift of the coarsest buckets: 64 of them span the axis.
const COARSEST: u32 = 58;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    pub(crate) key: u64,
    /// [`Connection::pack`], in the lowest 38 bits.
    pub(crate) payload: u64,
}

impl Entry {
    #[inline]
    pub(crate) const fn new(key: u64, connection: Connection) -> Entry {
        Entry { key, payload: connection.pack() }
    }

    #[inline]
    pub(crate) const fn connection(&self) -> Connection {
        Connection::unpack(self.payload)
    }

    /// The entries of a log of two words each.
    pub(crate) fn of_words(words: &[u64]) -> impl Iterator<Item = Entry> {
        words.chunks_exact(2).map(|words| Entry { key: words[0], payload: words[1] })
    }
}

#[derive(Clone, Debug)]
struct Level {
    shift: u32,
    occupied: u64,
    /// The start of the first bucket that has not been moved down completely.
    end: u64,
    logs: [Log; 64],
}

impl Level {
    /// The start and the place of the first bucket that is not empty.
    fn first(&self) -> Option<(u64, usize)> {
        if self.occupied == 0 {
            return None;
        }
        let from = (self.end >> self.shift) as u32 % 64;
        let ahead = self.occupied.rotate_right(from).trailing_zeros();
        Some((self.end.wrapping_add(u64::from(ahead) << self.shift), (from + ahead) as usize % 64))
    }

    fn file(&mut self, pool: &mut Pool, entry: Entry) {
        let at = (entry.key >> self.shift) as usize % 64;
        self.occupied |= 1 << at;
        let log = &mut self.logs[at];
        pool.append(log, entry.key);
        pool.push(log, entry.payload);
    }

    /// Moves down entries of buckets before `limit`, at most [`STEP`] chunks. False if some are left.
    fn move_down(&mut self, pool: &mut Pool, limit: u64, mut file: impl FnMut(&mut Pool, Entry)) -> bool {
        let mut chunks = STEP;
        while let Some((start, bucket)) = self.first()
            && is_before(start, limit)
        {
            self.end = start;
            while let Some((words, count)) = (chunks > 0).then(|| pool.pop(&mut self.logs[bucket])).flatten() {
                chunks -= 1;
                pool.fetch(pool.begin(&self.logs[bucket]));
                Entry::of_words(&words[..count]).for_each(|entry| file(pool, entry));
            }
            if !self.logs[bucket].is_empty() {
                return false;
            }
            self.occupied &= !(1 << bucket);
            self.end = start.wrapping_add(1 << self.shift);
        }
        if is_before(self.end, limit) {
            self.end = limit;
        }
        true
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Levels {
    levels: Box<[Level]>,
    /// The span of the near buckets.
    near: u64,
    /// The base from which on [`Levels::settle`] may move entries down.
    settled: u64,
}

impl Levels {
    /// Above near buckets that span this many ticks, at least 2^28.
    pub(crate) fn new(near: u64) -> Levels {
        let levels = Levels::shifts(near).map(|shift| Level { shift, occupied: 0, end: 0, logs: [Log::default(); 64] }).collect();
        Levels { levels, near, settled: 0 }
    }

    fn shifts(near: u64) -> impl Iterator<Item = u32> {
        (near.ilog2() - 2..COARSEST).step_by(4).chain([COARSEST])
    }

    /// The number of logs above near buckets that span this many ticks.
    pub(crate) fn logs(near: u64) -> usize {
        64 * Levels::shifts(near).count()
    }

    /// Their bytes beside their chunks.
    #[cfg(test)]
    pub(crate) fn bytes(near: u64) -> usize {
        Levels::shifts(near).count() * size_of::<Level>()
    }

    #[cfg(test)]
    pub(crate) fn words(&self) -> alloc::vec::Vec<u32> {
        self.levels.iter().map(|level| level.logs.iter().map(Log::len).sum()).collect()
    }

    /// Restarts, empty, at an instant.
    pub(crate) fn restart(&mut self, base: u64) {
        for level in &mut self.levels {
            level.end = base >> level.shift << level.shift;
        }
        self.settled = base;
    }

    /// Keys before this instant belong to the near buckets, all others to the levels.
    #[inline]
    pub(crate) fn start(&self) -> u64 {
        self.levels[0].end
    }

    /// The start of the first bucket that is not empty.
    pub(crate) fn first(&self) -> Option<u64> {
        let starts = self.levels.iter().filter_map(Level::first).map(|(start, _)| start);
        starts.reduce(|first, start| if is_before(start, first) { start } else { first })
    }

    /// Adds an entry that is not before [`Levels::start`].
    pub(crate) fn file(&mut self, pool: &mut Pool, entry: Entry) {
        let above = self.levels.iter().position(|level| is_before(entry.key, level.end)).unwrap_or(self.levels.len());
        self.levels[above - 1].file(pool, entry);
    }

    pub(crate) fn places(&self) -> core::ops::Range<usize> {
        0..64 * self.levels.len()
    }

    pub(crate) fn detach(&mut self, at: usize) -> Log {
        let level = &mut self.levels[at / 64];
        level.occupied &= !(1 << (at % 64));
        core::mem::take(&mut level.logs[at % 64])
    }

    /// Returns an entry of a detached log to that log: while a bucket is moved down, its first entries are already in the level below.
    pub(crate) fn put_back(&mut self, pool: &mut Pool, at: usize, entry: Entry) {
        self.levels[at / 64].file(pool, entry);
    }

    #[inline]
    pub(crate) const fn may_settle(&self, base: u64) -> bool {
        !is_before(base, self.settled)
    }

    /// Moves down entries that are within the span of the level below, now that the near buckets begin at `base`. `file_near` takes those
    /// that leave the levels.
    #[inline(never)]
    pub(crate) fn settle(&mut self, pool: &mut Pool, base: u64, mut file_near: impl FnMut(&mut Pool, Entry)) {
        // The base at which the limit of the finest level moves next; those of others move with it.
        let finest = self.levels[0].shift;
        self.settled = (((base.wrapping_add(self.near) >> finest) + 1) << finest).wrapping_sub(self.near);
        for level in &mut self.levels {
            let own = base >> level.shift << level.shift;
            if is_before(level.end, own) {
                level.end = own;
            }
        }
        // From the top: no level below has entries for what is after the end of a level.
        let mut above = base.wrapping_add(1 << 63);
        for at in (0..self.levels.len()).rev() {
            let (finer, level) = self.levels.split_at_mut(at);
            let (level, below) = (&mut level[0], finer.last_mut());
            let span = below.as_ref().map_or(self.near, |below| 64 << below.shift);
            let reached = base.wrapping_add(span) >> level.shift << level.shift;
            let limit = if is_before(above, reached) { above } else { reached };
            let is_settled = match below {
                Some(below) => level.move_down(pool, limit, |pool, entry| below.file(pool, entry)),
                None => level.move_down(pool, limit, &mut file_near),
            };
            if !is_settled {
                self.settled = base;
            }
            above = level.end;
        }
    }
}
