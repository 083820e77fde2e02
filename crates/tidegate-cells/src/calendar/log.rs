//! Logs of 64-bit words that only grow at the end and are taken away from the front, in chunks of one cache line from a common pool.
//!
//! A word is written once and read once, in sequence: that is all the memory traffic that sorting into buckets needs. A log is 8 bytes: the
//! chunks form a ring, so the last one names the first.

use alloc::vec::Vec;
use tidegate_core::prefetch::prefetch;

/// Words in a chunk: one cache line.
pub(crate) const CHUNK: usize = 8;

/// Words in the order in which they came.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Log {
    /// The place of the next word, counted through the chunks of the pool; where a chunk begins, the last one of the log is full, or there is none.
    end: u32,
    chunks: u32,
}

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Chunk([u64; CHUNK]);

/// The chunks of all logs. Room for the most is reserved at the beginning, and touched as it is needed.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    chunks: Vec<Chunk>,
    /// The chunk after each: in a log the first follows the last; of the vacant ones the next.
    after: Vec<u32>,
    vacant: u32,
    /// Chunks that were taken away so far.
    #[cfg(test)]
    pops: u64,
}

/// No chunk.
const NONE: u32 = u32::MAX;

/// Reads the words of a log without taking them away, chunk by chunk.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reader {
    chunk: u32,
    /// Chunks from there to the end.
    chunks: u32,
}

impl Log {
    pub(crate) const fn words(&self) -> u32 {
        self.chunks * CHUNK as u32 - self.end.wrapping_neg() % CHUNK as u32
    }

    /// True if the next word begins a chunk.
    #[inline]
    pub(crate) const fn is_at_edge(&self) -> bool {
        self.end.is_multiple_of(CHUNK as u32)
    }

    /// The last chunk, if there are words.
    #[inline]
    const fn tail(&self) -> u32 {
        self.end.wrapping_sub(1) / CHUNK as u32
    }
}

impl Pool {
    pub(crate) fn new() -> Pool {
        Pool {
            chunks: Vec::new(),
            after: Vec::new(),
            vacant: NONE,
            #[cfg(test)]
            pops: 0,
        }
    }

    /// Room for so many chunks in all.
    pub(crate) fn reserve(&mut self, chunks: usize) {
        self.chunks.reserve_exact(chunks.saturating_sub(self.chunks.len()));
        self.after.reserve_exact(chunks.saturating_sub(self.after.len()));
    }

    /// Adds a word to a log that is not [at an edge](Log::is_at_edge).
    #[inline]
    pub(crate) fn push(&mut self, log: &mut Log, word: u64) {
        let place = log.end as usize;
        let chunk = &mut self.chunks[place / CHUNK];
        // The store waits for its line behind all others, in order, and the line can come before.
        prefetch(chunk);
        chunk.0[place % CHUNK] = word;
        log.end += 1;
    }

    /// One more vacant chunk.
    #[cold]
    fn grow(&mut self) {
        debug_assert!(self.chunks.len() < self.chunks.capacity(), "there is room for the most chunks");
        self.chunks.push(Chunk([0; CHUNK]));
        self.after.push(self.vacant);
        self.vacant = self.chunks.len() as u32 - 1;
    }

    /// True if a chunk is vacant.
    #[inline]
    pub(crate) const fn has_vacant(&self) -> bool {
        self.vacant != NONE
    }

    /// A chunk that is in no log.
    #[inline]
    pub(crate) fn take_chunk(&mut self) -> u32 {
        if self.vacant == NONE {
            self.grow();
        }
        let chunk = self.vacant;
        self.vacant = self.after[chunk as usize];
        chunk
    }

    pub(crate) fn give_back(&mut self, chunk: u32) {
        self.after[chunk as usize] = self.vacant;
        self.vacant = chunk;
    }

    /// The words of a chunk that is in no log.
    pub(crate) fn words(&self, chunk: u32) -> &[u64; CHUNK] {
        &self.chunks[chunk as usize].0
    }

    pub(crate) fn words_mut(&mut self, chunk: u32) -> &mut [u64; CHUNK] {
        &mut self.chunks[chunk as usize].0
    }

    /// Adds a word to a log that is [at an edge](Log::is_at_edge), with another chunk.
    #[inline(always)]
    pub(crate) fn extend(&mut self, log: &mut Log, word: u64) {
        let chunk = self.take_chunk();
        let first = if log.chunks == 0 { chunk } else { core::mem::replace(&mut self.after[log.tail() as usize], chunk) };
        self.after[chunk as usize] = first;
        self.chunks[chunk as usize].0[0] = word;
        *log = Log { end: chunk * CHUNK as u32 + 1, chunks: log.chunks + 1 };
    }

    /// The words of the first chunk; behind the last of them there may be old ones.
    pub(crate) fn first(&self, log: &Log) -> Option<&[u64; CHUNK]> {
        (log.chunks > 0).then(|| &self.chunks[self.after[log.tail() as usize] as usize].0)
    }

    /// How many words are in the first chunk of a log that is not empty.
    #[inline]
    pub(crate) const fn first_words(log: &Log) -> usize {
        if log.chunks == 1 { log.words() as usize } else { CHUNK }
    }

    /// Takes the first chunk away: its words, and how many they are.
    #[inline]
    pub(crate) fn pop(&mut self, log: &mut Log) -> Option<([u64; CHUNK], usize)> {
        if log.chunks == 0 {
            return None;
        }
        #[cfg(test)]
        (self.pops += 1);
        let words = Pool::first_words(log);
        let tail = log.tail();
        let first = self.after[tail as usize];
        let next = core::mem::replace(&mut self.after[first as usize], self.vacant);
        self.vacant = first;
        if first == tail {
            *log = Log::default();
        } else {
            self.after[tail as usize] = next;
            log.chunks -= 1;
        }
        Some((self.chunks[first as usize].0, words))
    }

    /// The beginning of a log.
    pub(crate) fn begin(&self, log: &Log) -> Reader {
        match log.chunks {
            0 => Reader::default(),
            chunks => Reader { chunk: self.after[log.tail() as usize], chunks },
        }
    }

    /// Asks for the next chunk, and for what names the one after it.
    #[inline]
    pub(crate) fn fetch(&self, reader: Reader) {
        let chunk = reader.chunk as usize;
        if let (Some(words), Some(after)) = (self.chunks.get(chunk), self.after.get(chunk)) {
            prefetch(words);
            prefetch(after);
        }
    }

    /// The words of the next chunk; the last of them may be old ones. After the log was taken away they may be any
    /// that are in the pool.
    #[inline]
    pub(crate) fn read(&self, reader: &mut Reader) -> Option<&[u64; CHUNK]> {
        if reader.chunks == 0 {
            return None;
        }
        let chunk = reader.chunk as usize;
        *reader = Reader { chunk: self.after[chunk], chunks: reader.chunks - 1 };
        self.fetch(*reader);
        Some(&self.chunks[chunk].0)
    }
}

#[cfg(test)]
impl Pool {
    /// What a chunk takes.
    pub(crate) const BYTES: usize = size_of::<Chunk>() + 4;

    /// Chunks there ever were at one time.
    pub(crate) fn chunks(&self) -> usize {
        self.chunks.len()
    }

    pub(crate) fn pops(&self) -> u64 {
        self.pops
    }

    /// Chunks that are not vacant.
    pub(crate) fn in_use(&self) -> usize {
        let vacant = core::iter::successors(Some(self.vacant), |&chunk| self.after.get(chunk as usize).copied());
        self.chunks.len() - vacant.take_while(|&chunk| chunk != NONE).count()
    }

    pub(crate) fn capacities(&self) -> [usize; 2] {
        [self.chunks.capacity(), self.after.capacity()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;
    use proptest::prelude::*;

    proptest! {
        /// Several logs share the chunks: what was pushed comes out, in order, and no chunk is lost.
        #[test]
        fn logs_are_queues(steps in prop::collection::vec((0usize..4, 0usize..30, 0usize..5), 1..200)) {
            let mut pool = Pool::new();
            pool.reserve(200 * 30 / CHUNK + 4);
            let mut logs = [Log::default(); 4];
            let mut queues: [VecDeque<u64>; 4] = Default::default();
            let mut next = 0;
            for (which, pushes, pops) in steps {
                let (log, queue) = (&mut logs[which], &mut queues[which]);
                for _ in 0..pushes {
                    if log.is_at_edge() {
                        pool.extend(log, next);
                    } else {
                        pool.push(log, next);
                    }
                    queue.push_back(next);
                    next += 1;
                }
                let mut reader = pool.begin(log);
                let read: Vec<u64> = core::iter::from_fn(|| pool.read(&mut reader)).flatten().copied().collect();
                prop_assert!(read.len() < queue.len() + CHUNK && read.iter().zip(queue.iter()).all(|(read, queued)| read == queued));
                for _ in 0..pops {
                    let Some((words, count)) = pool.pop(log) else { break };
                    prop_assert!(words[..count].iter().eq(queue.drain(..count).collect::<Vec<_>>().iter()));
                }
                prop_assert_eq!(log.words() as usize, queue.len());
            }
            let in_use: usize = queues.iter().map(|queue| queue.len().div_ceil(CHUNK)).sum();
            prop_assert_eq!(pool.in_use(), in_use);
        }
    }
}
