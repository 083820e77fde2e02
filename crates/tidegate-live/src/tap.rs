//! Copies of the packets of one class, for a capture.
//!
//! The packets' thread writes into a ring of fixed size and never waits: what finds no room is counted as lost. Another thread reads.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tidegate_core::packet::DropReason;
use tidegate_core::units::{Duration, Time};

/// The bytes of a ring.
const RING: usize = 8 << 20;
/// The bytes before those of a packet: its instant, its length, the length of the copy, and its fate.
const HEADER: usize = 8 + 4 + 4 + 1;
/// The fate of a packet that was sent; others are the index of the reason among [`DropReason::ALL`].
const SENT: u8 = u8::MAX;

/// The packets' end.
#[derive(Debug)]
pub(crate) struct Tap {
    class: u32,
    longest: usize,
    began: Time,
    ring: rtrb::Producer<u8>,
    lost: Arc<AtomicU64>,
}

/// The readers' end.
#[derive(Debug)]
pub(crate) struct Copies {
    ring: rtrb::Consumer<u8>,
    lost: Arc<AtomicU64>,
}

/// A running capture of one direction, which ends when this is dropped.
pub struct Capture {
    copies: Copies,
    end: Box<dyn FnMut() + Send>,
}

impl fmt::Debug for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Capture").field("copies", &self.copies).finish_non_exhaustive()
    }
}

/// A packet of a capture.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Captured {
    /// When its transmission started or it was dropped, since the start of the capture.
    pub at: Duration,
    /// Its length in bytes.
    pub length: u32,
    /// Why it was dropped; `None` if it was sent.
    pub dropped: Option<DropReason>,
    /// Its first bytes as it left, or as it was when it was dropped.
    pub bytes: Vec<u8>,
}

/// Both ends of a capture of a class, of at most `longest` bytes of each packet.
pub(crate) fn open(class: u32, longest: u32) -> (Tap, Copies) {
    let (producer, consumer) = rtrb::RingBuffer::new(RING);
    let lost = Arc::new(AtomicU64::new(0));
    (Tap { class, longest: longest as usize, began: Time::ZERO, ring: producer, lost: lost.clone() }, Copies { ring: consumer, lost })
}

impl Tap {
    /// The capture begins at `now`.
    pub(crate) fn begin(&mut self, now: Time) {
        self.began = now;
    }

    /// Copies a packet if it is of the class. `bytes` is empty if they were not kept.
    #[inline]
    pub(crate) fn copy(&mut self, now: Time, class: u32, length: u32, dropped: Option<DropReason>, bytes: &[u8]) {
        if class != self.class {
            return;
        }
        let bytes = &bytes[..bytes.len().min(self.longest)];
        let Ok(mut chunk) = self.ring.write_chunk(HEADER + bytes.len()) else {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let mut header = [0; HEADER];
        header[..8].copy_from_slice(&now.since(self.began).picoseconds().to_le_bytes());
        header[8..12].copy_from_slice(&length.to_le_bytes());
        header[12..16].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
        header[16] = dropped.map_or(SENT, |reason| reason as u8);
        let (first, second) = chunk.as_mut_slices();
        put(first, second, 0, &header);
        put(first, second, HEADER, bytes);
        chunk.commit_all();
    }
}

/// Writes `bytes` at `at` of two slices that follow each other.
fn put(first: &mut [u8], second: &mut [u8], at: usize, bytes: &[u8]) {
    let split = first.len().saturating_sub(at).min(bytes.len());
    let (head, tail) = bytes.split_at(split);
    if !head.is_empty() {
        first[at..at + split].copy_from_slice(head);
    }
    if !tail.is_empty() {
        let at = (at + split) - first.len();
        second[at..at + tail.len()].copy_from_slice(tail);
    }
}

impl Capture {
    /// A capture that `end` ends.
    pub(crate) fn new(copies: Copies, end: impl FnMut() + Send + 'static) -> Capture {
        Capture { copies, end: Box::new(end) }
    }

    /// Packets that were lost because the ring was full.
    pub fn lost(&self) -> u64 {
        self.copies.lost.load(Ordering::Relaxed)
    }

    /// The next packet, if there is one.
    pub fn next_packet(&mut self) -> Option<Captured> {
        self.copies.next_packet()
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        (self.end)();
    }
}

impl Copies {
    fn next_packet(&mut self) -> Option<Captured> {
        let header = self.take(HEADER)?;
        let word = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let at = u64::from(word(0)) | u64::from(word(4)) << 32;
        let dropped = (header[16] != SENT).then(|| DropReason::ALL[usize::from(header[16])]);
        // A packet is committed as a whole.
        let bytes = self.take(word(12) as usize)?;
        Some(Captured { at: Duration::from_picoseconds(at), length: word(8), dropped, bytes })
    }

    fn take(&mut self, count: usize) -> Option<Vec<u8>> {
        let chunk = self.ring.read_chunk(count).ok()?;
        let (first, second) = chunk.as_slices();
        let bytes = [first, second].concat();
        chunk.commit_all();
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_come_out_as_they_went_in_and_losses_are_counted() {
        let at = |nanoseconds| Time::ZERO + Duration::from_nanoseconds(nanoseconds);
        let (mut tap, mut capture) = open(3, 100);
        tap.begin(at(5));
        let frame: Vec<u8> = (0..200).collect();
        tap.copy(at(6), 2, 200, None, &frame);
        assert_eq!(capture.next_packet(), None, "another class");
        // Ten times around the ring, so that packets cross its end.
        for number in 0..10 * (RING / 100) as u64 {
            let length = (number % 200) as usize;
            let dropped = (number % 7 == 0).then_some(DropReason::ALL[number as usize % DropReason::ALL.len()]);
            tap.copy(at(10 + number), 3, length as u32, dropped, &frame[..length]);
            let expected = Captured {
                at: Duration::from_nanoseconds(5 + number),
                length: length as u32,
                dropped,
                bytes: frame[..length.min(100)].to_vec(),
            };
            assert_eq!(capture.next_packet(), Some(expected));
        }
        let lost = |copies: &Copies| copies.lost.load(Ordering::Relaxed);
        assert_eq!((lost(&capture), capture.next_packet()), (0, None));
        for _ in 0..RING / 50 {
            tap.copy(at(1), 3, 200, None, &frame);
        }
        let read = std::iter::from_fn(|| capture.next_packet()).count();
        assert_eq!(read as u64 + lost(&capture), (RING / 50) as u64);
        assert!(lost(&capture) > 0);
    }
}
