//! Append-only logs of entries over one pool of chunks, allocated once.

use crate::prefetch::prefetch;
use alloc::vec::Vec;

/// No flow, and in its place the mark of an entry that leads on to the next chunk.
const LINK: u32 = u32::MAX;

/// Entries in a chunk, of which the last is kept for the link: eight cache lines, which are read in sequence.
const CHUNK: u32 = 32;

/// One flow in a log.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) key: u64,
    pub(super) flow: u32,
    /// The flow's generation when it was entered; of a link, where the log goes on.
    pub(super) generation: u32,
}

/// Entries in the order in which they came.
#[derive(Clone, Copy, Debug)]
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
    entries: u32,
}

/// In place of where to read, when all has been read.
const NOWHERE: u32 = u32::MAX;

impl From<Log> for Rest {
    #[inline]
    fn from(log: Log) -> Rest {
        let entries = log.len() as u32;
        Rest { read: if entries == 0 { NOWHERE } else { log.read }, entries }
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
        self.entries.resize(start + CHUNK as usize, Entry { key: 0, flow: LINK, generation: start as u32 });
        start as u32
    }

    #[inline]
    fn release(&mut self, at: u32) {
        self.free.push(at & !(CHUNK - 1));
    }

    /// Adds an entry to the end of a log that has room.
    #[inline]
    pub(super) fn append(&mut self, log: &mut Log, entry: Entry) {
        self.entries[log.write as usize] = entry;
        log.write += 1;
    }

    /// Adds a chunk to a log whose last chunk is full, or that is empty.
    #[inline]
    pub(super) fn extend(&mut self, log: &mut Log) {
        let next = self.allocate();
        if log.len() == 0 {
            log.read = next;
        } else {
            self.entries[log.write as usize] = Entry { key: 0, flow: LINK, generation: next };
        }
        log.write = next;
        log.before += CHUNK as i32 - 1;
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
        self.entries[log.write as usize] = Entry { key: 0, flow: LINK, generation: more.read };
        log.before += (log.write % CHUNK) as i32 + more.before;
        log.write = more.write;
        true
    }

    /// Takes the next entry out of a log that is being emptied.
    #[inline]
    pub(super) fn next(&mut self, rest: &mut Rest) -> Option<Entry> {
        if rest.entries == 0 {
            if rest.read != NOWHERE {
                self.release(core::mem::replace(&mut rest.read, NOWHERE) - 1);
            }
            return None;
        }
        let mut read = rest.read;
        if self.entries[read as usize].flow == LINK {
            read = self.follow(read);
        }
        rest.read = read + 1;
        rest.entries -= 1;
        Some(self.entries[read as usize])
    }

    /// Gives up chunks that have been read, from the link at `read` on, and returns where the log goes on.
    #[inline(never)]
    fn follow(&mut self, mut read: u32) -> u32 {
        // A link leads to another where a log was strung behind that had been read up to one.
        while self.entries[read as usize].flow == LINK {
            self.release(read);
            read = self.entries[read as usize].generation;
            self.fetch_next(read);
        }
        read
    }

    /// Takes the first entry out of a log that is not empty.
    #[inline]
    pub(super) fn take(&mut self, log: &mut Log) -> Entry {
        if self.entries[log.read as usize].flow == LINK {
            log.read = self.follow(log.read);
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

    /// Reads the entry `log` begins with and moves on, leaving everything in place; to be used on a copy of the log.
    #[inline]
    pub(super) fn skim(&self, log: &mut Log) -> Entry {
        let mut entry = self.entries[log.read as usize];
        while entry.flow == LINK {
            log.read = entry.generation;
            entry = self.entries[log.read as usize];
            self.fetch_next(log.read);
        }
        log.read += 1;
        log.before -= 1;
        entry
    }

    /// Fetches the beginning of a log, before it is read.
    #[inline]
    pub(super) fn fetch(&self, log: &Log) {
        if log.len() > 0 {
            prefetch(&self.entries[log.read as usize]);
            prefetch(&self.entries[(log.read as usize + 4).min(self.entries.len() - 1)]);
        }
    }

    /// Fetches the chunk after the one that is about to be read: it takes as long to come as this one takes to read.
    #[inline]
    fn fetch_next(&self, read: u32) {
        let link = self.entries[(read | (CHUNK - 1)) as usize];
        if link.flow == LINK {
            self.prefetch_lines(link.generation);
        }
    }

    #[inline]
    fn prefetch_lines(&self, at: u32) {
        let start = at as usize;
        for line in [0, 4, CHUNK as usize - 1] {
            if let Some(entry) = self.entries.get(start + line) {
                prefetch(entry);
            }
        }
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
