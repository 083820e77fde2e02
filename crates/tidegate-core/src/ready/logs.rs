//! Append-only logs of entries over one pool of chunks, allocated once.

use crate::prefetch::prefetch_in;
use alloc::vec::Vec;
use core::ops::Range;

/// Entries in a chunk, of which the last is kept for the link to the next: eight cache lines, which are read in sequence.
const CHUNK: u32 = 32;
/// Entries in a cache line.
const LINE: usize = 4;

/// One flow in a log.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Entry {
    pub(super) key: u64,
    pub(super) flow: u32,
    /// The flow's generation when it was entered.
    pub(super) generation: u32,
}

/// Entries in the order in which they came.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
pub(super) struct Log {
    /// Where the first entry stands in the pool.
    read: u32,
    /// Where the next one will stand, if not in another chunk.
    write: u32,
    /// The number of entries, less `write` modulo a chunk: while entries are added to a chunk only `write` changes.
    before: i32,
}

impl Log {
    /// No entries, and no room for one.
    pub(super) const EMPTY: Log = Log { read: 0, write: CHUNK - 1, before: 1 - CHUNK as i32 };

    /// True if the last chunk has room for an entry.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        self.write % CHUNK != CHUNK - 1
    }

    /// The number of entries, not counting links.
    #[inline]
    pub(super) fn len(&self) -> usize {
        (self.before + (self.write % CHUNK) as i32) as usize
    }
}

/// What is left of a log that is being emptied.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rest {
    read: u32,
    write: u32,
    /// Where it has been read and may be given up.
    done: u32,
}

/// In place of where to read, when all has been read.
const NOWHERE: u32 = u32::MAX;

impl From<Log> for Rest {
    #[inline]
    fn from(log: Log) -> Rest {
        Rest { read: if log.len() == 0 { NOWHERE } else { log.read }, write: log.write, done: NOWHERE }
    }
}

/// The memory of all logs of one wheel.
#[derive(Debug)]
pub(super) struct Pool {
    entries: Vec<Entry>,
    free: Vec<u32>,
    chunks: usize,
}

impl Pool {
    /// Room for `entries` entries in logs of which at most `partial` chunks are not full.
    pub(super) fn new(entries: usize, partial: usize) -> Pool {
        let chunks = entries.div_ceil(CHUNK as usize - 1) + partial;
        assert!(chunks < (u32::MAX / CHUNK) as usize, "flows are numbered below 2^31");
        Pool { entries: Vec::with_capacity(chunks * CHUNK as usize), free: Vec::with_capacity(chunks), chunks }
    }

    #[inline]
    fn allocate(&mut self) -> u32 {
        match self.free.pop() {
            Some(chunk) => chunk,
            None => self.grow(),
        }
    }

    /// Takes a chunk for the first time, within the capacity reserved by `new`: the packet path never allocates.
    #[cold]
    fn grow(&mut self) -> u32 {
        let start = self.entries.len();
        debug_assert!(start < self.chunks * CHUNK as usize, "the pool is exhausted");
        self.entries.resize(start + CHUNK as usize, Entry::default());
        start as u32
    }

    #[inline]
    fn release(&mut self, at: u32) {
        self.free.push(at & !(CHUNK - 1));
    }

    /// Adds an entry to the end of a log that has room.
    #[inline]
    pub(super) fn append(&mut self, log: &mut Log, entry: Entry) {
        // By the time this log is extended again, many others will have been.
        prefetch_in(&self.entries, log.write as usize + LINE);
        self.entries[log.write as usize] = entry;
        log.write += 1;
    }

    /// Adds an entry to the end of a log whose last chunk is full, or that is empty.
    // By parts: handed over in memory, an entry would be written there on the way that does not come here, too.
    #[inline(never)]
    pub(super) fn append_in_chunk(&mut self, log: &mut Log, key: u64, flow: u32, generation: u32) {
        let next = self.allocate();
        if log.len() == 0 {
            log.read = next;
        } else {
            self.link(log.write, next);
        }
        log.write = next;
        log.before += CHUNK as i32 - 1;
        self.append(log, Entry { key, flow, generation });
    }

    /// Adds those entries of a stretch that are `current` to logs, a power of two of them, by the bits of their keys from `shift` on; names every
    /// log that may have been empty.
    #[inline(always)]
    pub(super) fn spread(
        &mut self,
        stretch: Range<usize>,
        logs: &mut [Log],
        shift: usize,
        mut current: impl FnMut(&Entry) -> bool,
        mut extended: impl FnMut(usize),
    ) {
        for place in stretch {
            let key = self.entries[place].key;
            if !current(&self.entries[place]) {
                continue;
            }
            let at = (key >> shift) as usize & (logs.len() - 1);
            let log = &mut logs[at];
            if log.has_room() {
                self.entries[log.write as usize] = self.entries[place];
                log.write += 1;
            } else {
                let Entry { flow, generation, .. } = self.entries[place];
                self.append_in_chunk(log, key, flow, generation);
                extended(at);
            }
        }
    }

    /// Adds all of `more` to the end of `log` in constant time; true if that leaves a chunk partly filled within the log.
    pub(super) fn concatenate(&mut self, log: &mut Log, more: Log) -> bool {
        if log.len() == 0 {
            *log = more;
            return false;
        }
        if more.len() == 0 {
            return false;
        }
        self.link(log.write, more.read);
        log.before += (log.write % CHUNK) as i32 + more.before;
        log.write = more.write;
        true
    }

    /// The chunk that is written at `end` ends there and the log goes on at `next`.
    #[inline]
    fn link(&mut self, end: u32, next: u32) {
        self.entries[(end | (CHUNK - 1)) as usize] = Entry { key: u64::from(end), flow: 0, generation: next };
    }

    /// Where the next stretch of a log stands among the entries that is being emptied; the one before is given up.
    #[inline]
    pub(super) fn next(&mut self, rest: &mut Rest) -> Option<Range<usize>> {
        if rest.done != NOWHERE {
            self.release(rest.done);
        }
        rest.done = rest.read;
        self.stretch(rest)
    }

    /// The same without giving anything up.
    #[inline]
    fn stretch(&self, rest: &mut Rest) -> Option<Range<usize>> {
        if rest.read == NOWHERE {
            return None;
        }
        let start = rest.read as usize;
        let last = rest.read | (CHUNK - 1);
        if last == rest.write | (CHUNK - 1) {
            rest.read = NOWHERE;
            return Some(start..rest.write as usize);
        }
        let link = self.entries[last as usize];
        rest.read = link.generation;
        self.prefetch_lines(link.generation);
        Some(start..link.key as usize)
    }

    /// The smallest key of a log and the largest, counted from 0.
    pub(super) fn range(&self, log: Log) -> (u64, u64) {
        let mut rest = Rest::from(log);
        let (mut least, mut most) = (u64::MAX, 0);
        while let Some(stretch) = self.stretch(&mut rest) {
            for entry in &self.entries[stretch] {
                least = least.min(entry.key);
                most = most.max(entry.key);
            }
        }
        (least, most)
    }

    /// The entries in all chunks.
    #[inline]
    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Takes the first entry out of a log that is not empty.
    #[inline]
    pub(super) fn take(&mut self, log: &mut Log) -> Entry {
        loop {
            let last = log.read | (CHUNK - 1);
            if last == log.write | (CHUNK - 1) {
                break;
            }
            let link = self.entries[last as usize];
            if u64::from(log.read) < link.key {
                break;
            }
            self.release(log.read);
            log.read = link.generation;
            self.prefetch_lines(log.read);
        }
        let entry = self.entries[log.read as usize];
        log.read += 1;
        log.before -= 1;
        if log.len() == 0 {
            // The chunk that is being written; its link, if it is full, leads nowhere yet.
            self.release(log.write);
            *log = Log::EMPTY;
        }
        entry
    }

    /// Fetches the beginning of a log, before it is read.
    #[inline]
    pub(super) fn fetch(&self, log: &Log) {
        if log.len() > 0 {
            self.prefetch_lines(log.read);
        }
    }

    #[inline]
    fn prefetch_lines(&self, at: u32) {
        (0..CHUNK as usize).step_by(LINE).for_each(|entry| prefetch_in(&self.entries, at as usize + entry));
    }
}

impl Clone for Pool {
    /// A copy with the same room: that of a plain copy would end with what is in use.
    fn clone(&self) -> Pool {
        let mut entries = Vec::with_capacity(self.chunks * CHUNK as usize);
        entries.extend_from_slice(&self.entries);
        let mut free = Vec::with_capacity(self.chunks);
        free.extend_from_slice(&self.free);
        Pool { entries, free, chunks: self.chunks }
    }
}
