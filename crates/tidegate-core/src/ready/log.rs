//! Logs over one pool of chunks: queues that grow at the end and are emptied from the front, a chunk at a time.
//!
//! An item is written once and read once, in sequence: sorting into buckets needs no other memory traffic. A log takes 8 bytes. Its chunks
//! form a ring, so that the last one names the first. [`super::Wheel`] and the cell scheduler keep their buckets in such logs.

use crate::prefetch::{prefetch, prefetch_in};
use alloc::vec::Vec;

/// Bytes in a cache line.
const LINE: usize = 64;

/// Items in the order in which they came, in chunks of `N`, a power of two.
#[derive(Clone, Copy, Debug, Default)]
pub struct Log<const N: usize> {
    /// The place of the next item, counted through the chunks of the pool. Where a chunk begins, the log's last chunk is full or it has none.
    end: u32,
    chunks: u32,
}

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Chunk<T, const N: usize>([T; N]);

/// The chunks of all logs. [`Pool::reserve`] allocates room for all of them; each is touched when it is first needed.
#[derive(Debug)]
pub struct Pool<T, const N: usize> {
    chunks: Vec<Chunk<T, N>>,
    /// The chunk after each: in a log the first follows the last; among the vacant ones, the next.
    after: Vec<u32>,
    vacant: u32,
}

/// No chunk.
const NONE: u32 = u32::MAX;

/// Reads the items of a log and leaves them there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reader {
    chunk: u32,
    /// The number of chunks from there to the end.
    chunks: u32,
}

impl<const N: usize> Log<N> {
    /// The number of items.
    #[inline]
    pub const fn len(&self) -> u32 {
        self.chunks * N as u32 - self.end.wrapping_neg() % N as u32
    }

    /// True without items.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.chunks == 0
    }

    /// True if the next item begins a chunk.
    #[inline]
    pub const fn is_at_edge(&self) -> bool {
        self.end.is_multiple_of(N as u32)
    }

    /// The last chunk, if there are items.
    #[inline]
    const fn tail(&self) -> u32 {
        self.end.wrapping_sub(1) / N as u32
    }

    /// The number of items in the first chunk of a log that is not empty.
    #[inline]
    pub const fn first_len(&self) -> usize {
        if self.chunks == 1 { self.len() as usize } else { N }
    }
}

impl<T: Copy + Default, const N: usize> Default for Pool<T, N> {
    fn default() -> Pool<T, N> {
        Pool::new()
    }
}

impl<T: Copy + Default, const N: usize> Pool<T, N> {
    /// The bytes that a chunk takes.
    pub const CHUNK_BYTES: usize = size_of::<Chunk<T, N>>() + size_of::<u32>();

    /// A pool without room.
    pub const fn new() -> Pool<T, N> {
        const { assert!(N.is_power_of_two(), "places are counted modulo 2^32") };
        Pool { chunks: Vec::new(), after: Vec::new(), vacant: NONE }
    }

    /// Makes room for this many chunks in all. No other call allocates as long as they suffice.
    ///
    /// # Panics
    /// If the places of their items do not fit in 32 bits.
    pub fn reserve(&mut self, chunks: usize) {
        assert!(chunks < u32::MAX as usize / N, "a pool holds less than 2^32 items");
        self.chunks.reserve_exact(chunks.saturating_sub(self.chunks.len()));
        self.after.reserve_exact(chunks.saturating_sub(self.after.len()));
    }

    /// Adds an item to a log that is not [at an edge](Log::is_at_edge).
    #[inline]
    pub fn push(&mut self, log: &mut Log<N>, item: T) {
        let place = log.end as usize;
        let chunk = &mut self.chunks[place / N];
        if size_of::<[T; N]>() > LINE {
            // Many other logs grow before this one reaches its next line.
            prefetch_in(&chunk.0, place % N + LINE / size_of::<T>());
        } else {
            // The store waits for its line behind all others, in order, and the line can come before.
            prefetch(chunk);
        }
        chunk.0[place % N] = item;
        log.end += 1;
    }

    /// Adds an item to a log that is [at an edge](Log::is_at_edge), with another chunk.
    #[inline(always)]
    pub fn extend(&mut self, log: &mut Log<N>, item: T) {
        let chunk = self.take_chunk();
        let first = if log.is_empty() { chunk } else { core::mem::replace(&mut self.after[log.tail() as usize], chunk) };
        self.after[chunk as usize] = first;
        self.chunks[chunk as usize].0[0] = item;
        *log = Log { end: chunk * N as u32 + 1, chunks: log.chunks + 1 };
    }

    /// Adds an item to any log.
    #[inline]
    pub fn append(&mut self, log: &mut Log<N>, item: T) {
        if log.is_at_edge() {
            self.extend(log, item);
        } else {
            self.push(log, item);
        }
    }

    /// Moves all of `more` to the end of `log`: O(1) if that ends with a full chunk, otherwise a copy of every item.
    pub fn concatenate(&mut self, log: &mut Log<N>, mut more: Log<N>) {
        if log.is_empty() {
            *log = more;
        } else if log.is_at_edge() && !more.is_empty() {
            // Each last chunk names the first of the other log.
            self.after.swap(log.tail() as usize, more.tail() as usize);
            *log = Log { end: more.end, chunks: log.chunks + more.chunks };
        } else {
            while let Some((chunk, count)) = self.detach_first(&mut more) {
                (0..count).for_each(|at| self.append(log, self.chunks[chunk as usize].0[at]));
                self.give_back(chunk);
            }
        }
    }

    /// One more vacant chunk.
    #[cold]
    fn grow(&mut self) {
        debug_assert!(self.chunks.len() < self.chunks.capacity(), "there is room for the most chunks");
        self.chunks.push(Chunk([T::default(); N]));
        self.after.push(self.vacant);
        self.vacant = self.chunks.len() as u32 - 1;
    }

    /// True if a chunk is vacant that has been used before.
    #[inline]
    pub const fn has_vacant(&self) -> bool {
        self.vacant != NONE
    }

    /// A chunk that is in no log.
    #[inline]
    pub fn take_chunk(&mut self) -> u32 {
        if self.vacant == NONE {
            self.grow();
        }
        let chunk = self.vacant;
        self.vacant = self.after[chunk as usize];
        chunk
    }

    /// A chunk that is in no log is vacant again.
    #[inline]
    pub fn give_back(&mut self, chunk: u32) {
        self.after[chunk as usize] = self.vacant;
        self.vacant = chunk;
    }

    /// The items of a chunk.
    #[inline]
    pub fn items(&self, chunk: u32) -> &[T; N] {
        &self.chunks[chunk as usize].0
    }

    /// The items of a chunk.
    #[inline]
    pub fn items_mut(&mut self, chunk: u32) -> &mut [T; N] {
        &mut self.chunks[chunk as usize].0
    }

    /// The items of the first chunk; after its [`Log::first_len`] there may be old ones.
    pub fn first(&self, log: &Log<N>) -> Option<&[T; N]> {
        (!log.is_empty()).then(|| self.items(self.after[log.tail() as usize]))
    }

    /// Takes the first chunk out of a log, for the caller to read and give back, and the number of its items.
    #[inline]
    pub fn detach_first(&mut self, log: &mut Log<N>) -> Option<(u32, usize)> {
        if log.is_empty() {
            return None;
        }
        let count = log.first_len();
        let tail = log.tail();
        let first = self.after[tail as usize];
        if first == tail {
            *log = Log::default();
        } else {
            self.after[tail as usize] = self.after[first as usize];
            log.chunks -= 1;
        }
        Some((first, count))
    }

    /// The same with a copy of the items; the chunk is vacant.
    #[inline]
    pub fn pop(&mut self, log: &mut Log<N>) -> Option<([T; N], usize)> {
        let (chunk, count) = self.detach_first(log)?;
        self.give_back(chunk);
        Some((self.chunks[chunk as usize].0, count))
    }

    /// All items of a log, chunk by chunk.
    pub fn iter(&self, log: &Log<N>) -> impl Iterator<Item = &[T]> {
        let (mut reader, mut left) = (self.begin(log), log.len() as usize);
        core::iter::from_fn(move || {
            let items = self.read(&mut reader)?;
            let count = left.min(N);
            left -= count;
            Some(&items[..count])
        })
    }

    /// The beginning of a log.
    #[inline]
    pub fn begin(&self, log: &Log<N>) -> Reader {
        if log.is_empty() {
            return Reader::default();
        }
        Reader { chunk: self.after[log.tail() as usize], chunks: log.chunks }
    }

    /// Prefetches the next chunk, and the link to the one after it.
    #[inline]
    pub fn fetch(&self, reader: Reader) {
        let chunk = reader.chunk as usize;
        if let (Some(items), Some(after)) = (self.chunks.get(chunk), self.after.get(chunk)) {
            (0..N).step_by(LINE.div_ceil(size_of::<T>())).for_each(|at| prefetch_in(&items.0, at));
            prefetch(after);
        }
    }

    /// The items of the next chunk. The last chunk may have old items at its end; once the log has been emptied, the items may be any of the
    /// pool.
    #[inline]
    pub fn read(&self, reader: &mut Reader) -> Option<&[T; N]> {
        if reader.chunks == 0 {
            return None;
        }
        let chunk = reader.chunk as usize;
        *reader = Reader { chunk: self.after[chunk], chunks: reader.chunks - 1 };
        self.fetch(*reader);
        Some(&self.chunks[chunk].0)
    }

    /// The number of chunks that have ever been in use at one time.
    pub const fn chunks(&self) -> usize {
        self.chunks.len()
    }

    /// The number of chunks that are not vacant. O(n).
    pub fn in_use(&self) -> usize {
        let vacant = core::iter::successors(Some(self.vacant), |&chunk| self.after.get(chunk as usize).copied());
        self.chunks.len() - vacant.take_while(|&chunk| chunk != NONE).count()
    }

    /// The number of chunks for which there is room.
    pub const fn capacity(&self) -> usize {
        let (chunks, after) = (self.chunks.capacity(), self.after.capacity());
        if chunks < after { chunks } else { after }
    }
}

impl<T: Copy + Default, const N: usize> Clone for Pool<T, N> {
    /// A copy with the same room: that of a derived clone would end with what is in use.
    fn clone(&self) -> Pool<T, N> {
        let mut pool = Pool { vacant: self.vacant, ..Pool::new() };
        pool.reserve(self.capacity());
        pool.chunks.extend_from_slice(&self.chunks);
        pool.after.extend_from_slice(&self.after);
        pool
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;
    use proptest::prelude::*;

    proptest! {
        /// Several logs share the chunks: what was added comes out, in order, and no chunk is lost.
        #[test]
        fn logs_are_queues(steps in prop::collection::vec((0usize..4, 0usize..30, 0usize..5, 0usize..8), 1..200)) {
            let mut pool = Pool::<u64, 8>::new();
            pool.reserve(200 * 30 / 8 + 8);
            let mut logs = [Log::default(); 4];
            let mut queues: [VecDeque<u64>; 4] = Default::default();
            let mut next = 0;
            for (which, pushes, pops, other) in steps {
                for _ in 0..pushes {
                    pool.append(&mut logs[which], next);
                    queues[which].push_back(next);
                    next += 1;
                }
                if other < 4 && other != which {
                    let more = core::mem::take(&mut logs[other]);
                    pool.concatenate(&mut logs[which], more);
                    let more = core::mem::take(&mut queues[other]);
                    queues[which].extend(more);
                }
                let (log, queue) = (&mut logs[which], &mut queues[which]);
                prop_assert!(pool.iter(log).flatten().eq(queue.iter()));
                let mut reader = pool.begin(log);
                let read: Vec<u64> = core::iter::from_fn(|| pool.read(&mut reader)).flatten().copied().collect();
                prop_assert!(read.len() < queue.len() + 8 && read.iter().zip(queue.iter()).all(|(read, queued)| read == queued));
                for _ in 0..pops {
                    let Some((items, count)) = pool.pop(log) else { break };
                    prop_assert!(items[..count].iter().eq(queue.drain(..count).collect::<Vec<_>>().iter()));
                }
                prop_assert_eq!(log.len() as usize, queue.len());
            }
            let in_use: usize = queues.iter().map(|queue| queue.len().div_ceil(8)).sum();
            prop_assert_eq!(pool.in_use(), in_use);
            let copy = pool.clone();
            prop_assert!(copy.capacity() >= pool.capacity() && copy.iter(&logs[0]).eq(pool.iter(&logs[0])));
        }
    }
}
