//! The frame pool of one direction: a fixed number of equal slots, allocated once.
//!
//! A slot has a frame behind its virtio-net header, so a send needs one piece of memory per frame. The slots of some pools are chunks of memory that
//! the kernel shares ([`Chunks`]): it receives into them and sends from them.

use crate::memory::{Piece, Pieces};
use crate::offload::{Offload, PartialChecksum, VIRTIO_HEADER};
use std::io;
use std::ptr::NonNull;

/// The bytes before a frame, which is aligned; the virtio-net header is at their end.
const HEADROOM: usize = 16;
/// The same in a chunk, as the kernel leaves them before a frame that it receives.
const HEADROOM_OF_CHUNK: u16 = 256;

/// Frames in memory, by slot number.
#[derive(Debug)]
pub(crate) struct FramePool {
    /// Those of slots that have been in use; `None` where the frame is lent ([`FramePool::lend`]).
    frames: Vec<Option<Piece>>,
    /// Those of the slots behind them: a pool that is never full needs no list of all.
    unused: Pieces,
    longest: usize,
    /// Slots that have been in use.
    free: Vec<u32>,
    chunks: Option<Chunks>,
}

/// What is known of slots that are chunks of memory that the kernel shares.
#[derive(Debug)]
struct Chunks {
    /// Where the memory begins, and the bytes of a chunk.
    memory: usize,
    length: usize,
    /// By chunk of the memory the slot that it is; [`ELSEWHERE`] for one of another pool.
    slots: Vec<u32>,
    /// Where the frame in each slot begins.
    starts: Vec<u16>,
    /// For each slot [`FILLED`], [`OWNED`], and in the other bits how often the kernel has still to send the frame. A slot with 0 is free.
    states: Vec<u8>,
}

/// A chunk that is no slot of this pool.
const ELSEWHERE: u32 = u32::MAX;

impl Chunks {
    /// The number of the chunk that is this piece.
    #[inline]
    fn number(&self, piece: &Piece) -> usize {
        (piece.start().addr().get() - self.memory) >> self.length.trailing_zeros()
    }
}

/// The kernel may receive into the slot.
const FILLED: u8 = 0x80;
/// The slot was taken, and has not been released.
const OWNED: u8 = 0x40;

/// The bytes before a frame in a chunk that asks the kernel for its checksum (`struct xsk_tx_metadata`): eight of flags, two numbers of two bytes, and
/// twelve that are not used. The virtio-net header is in the last ten.
pub(crate) const SEND_METADATA: usize = 24;
/// `XDP_TXMD_FLAGS_CHECKSUM`.
const COMPLETE_CHECKSUM: u64 = libc::XDP_TXMD_FLAGS_CHECKSUM as u64;

/// A frame lent to another thread.
#[derive(Debug)]
pub(crate) struct Lent {
    slot: u32,
    /// Where the frame begins.
    start: u16,
    piece: Piece,
}

impl Lent {
    /// As [`FramePool::message`].
    #[inline]
    pub(crate) fn message(&self, length: u32) -> &[u8] {
        let start = usize::from(self.start);
        &self.piece.bytes()[start - VIRTIO_HEADER..start + length as usize]
    }

    /// The frame of `length` bytes, to be changed.
    pub(crate) fn packet_mut(&mut self, length: u32) -> &mut [u8] {
        let start = usize::from(self.start);
        &mut self.piece.bytes_mut()[start..start + length as usize]
    }

    pub(crate) fn slot(&self) -> u32 {
        self.slot
    }
}

impl FramePool {
    /// A pool of `slots` frames of at most `longest` bytes.
    pub(crate) fn new(slots: u32, longest: u32) -> io::Result<FramePool> {
        let stride = (HEADROOM + longest as usize).next_multiple_of(64);
        let (mut free, mut frames) = (Vec::new(), Vec::new());
        // Reserved, so that packets allocate nothing.
        free.try_reserve_exact(slots as usize)?;
        frames.try_reserve_exact(slots as usize)?;
        Ok(FramePool { frames, unused: Piece::several(slots as usize, stride)?, longest: longest as usize, free, chunks: None })
    }

    /// A pool whose slots are these pieces, chunks of memory that the kernel shares. That memory begins at `memory`, and has `chunks` chunks.
    pub(crate) fn of_chunks(pieces: Vec<Piece>, (memory, chunks): (NonNull<u8>, usize), longest: u32) -> FramePool {
        let length = pieces.first().map_or(0, |piece| piece.bytes().len());
        let (slots, memory) = (pieces.len(), memory.addr().get());
        let mut chunks = Chunks { memory, length, slots: vec![ELSEWHERE; chunks], starts: vec![0; slots], states: vec![0; slots] };
        for (slot, piece) in (0..).zip(&pieces) {
            let number = chunks.number(piece);
            chunks.slots[number] = slot;
        }
        let frames = pieces.into_iter().map(Some).collect();
        let free = (0..slots as u32).rev().collect();
        FramePool { frames, unused: Pieces::default(), longest: longest as usize, free, chunks: Some(chunks) }
    }

    /// The number of slots.
    pub(crate) fn slots(&self) -> u32 {
        (self.frames.len() + self.unused.len()) as u32
    }

    /// The bytes that a pool of this size maps.
    pub(crate) fn size(slots: u32, longest: u32) -> u128 {
        u128::from(slots) * (HEADROOM as u128 + u128::from(longest)).next_multiple_of(64)
    }

    /// Takes a free slot; `None` if all are in use.
    // Last in, first out: a lightly loaded pool stays in the cache.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<u32> {
        let Some(slot) = self.free.pop() else { return self.take_unused() };
        if let Some(chunks) = &mut self.chunks {
            chunks.starts[slot as usize] = HEADROOM_OF_CHUNK;
            chunks.states[slot as usize] = OWNED;
        }
        Some(slot)
    }

    /// Takes a slot that has never been in use; a pool of chunks has none.
    fn take_unused(&mut self) -> Option<u32> {
        let piece = self.unused.next()?;
        self.frames.push(Some(piece));
        Some(self.frames.len() as u32 - 1)
    }

    #[inline]
    pub(crate) fn release(&mut self, slot: u32) {
        if let Some(chunks) = &mut self.chunks {
            let state = &mut chunks.states[slot as usize];
            debug_assert!(*state & OWNED != 0, "slot {slot} was freed twice");
            *state &= !OWNED;
            if *state != 0 {
                // It is free once the kernel has sent the frame.
                return;
            }
        }
        debug_assert!(self.frames[slot as usize].is_some() && self.free.len() < self.frames.len(), "slot {slot} was freed twice");
        self.free.push(slot);
    }

    /// True if no slot is free for a frame that the port may hold: those that the kernel may receive into are not for that.
    #[inline]
    pub(crate) fn is_exhausted(&self) -> bool {
        self.free.is_empty() && self.unused.len() == 0
    }

    /// Takes a free slot for the kernel to receive into, and returns its address in the shared memory.
    #[inline]
    pub(crate) fn fill(&mut self) -> Option<u64> {
        let Some(chunks) = &mut self.chunks else { unreachable!("the kernel shares no memory with this pool") };
        let slot = self.free.pop()?;
        chunks.states[slot as usize] = FILLED;
        let Some(piece) = &self.frames[slot as usize] else { unreachable!("a free slot has memory") };
        Some((piece.start().addr().get() - chunks.memory) as u64)
    }

    /// The kernel has received a frame of `length` bytes at this address. Its slot belongs to the caller.
    #[inline]
    pub(crate) fn received(&mut self, address: u64, length: u32) -> u32 {
        let (slot, start) = self.slot_at(address);
        let Some(chunks) = &mut self.chunks else { unreachable!("the kernel shares no memory with this pool") };
        // Checked nevertheless, because both come from outside.
        assert!(start >= SEND_METADATA as u64 && start + u64::from(length) <= chunks.length as u64, "a frame outside its chunk");
        chunks.states[slot as usize] = OWNED;
        chunks.starts[slot as usize] = start as u16;
        slot
    }

    /// The kernel sends the frame in this slot from its place, or has copied it.
    #[inline]
    pub(crate) fn hand_over(&mut self, slot: u32) {
        if let Some(chunks) = &mut self.chunks {
            chunks.states[slot as usize] += 1;
        }
    }

    /// The kernel has sent the frame at this address.
    #[inline]
    pub(crate) fn sent(&mut self, address: u64) {
        let (slot, _) = self.slot_at(address);
        if let Some(chunks) = &mut self.chunks {
            let state = &mut chunks.states[slot as usize];
            *state -= 1;
            if *state == 0 {
                self.free.push(slot);
            }
        }
    }

    /// Takes the slots back that the kernel was to receive into.
    pub(crate) fn reclaim_filled(&mut self) {
        self.reclaim(FILLED);
    }

    /// Takes the slots back whose frames the kernel was to send.
    pub(crate) fn reclaim_sent(&mut self) {
        self.reclaim(!(FILLED | OWNED));
    }

    fn reclaim(&mut self, bits: u8) {
        let Some(chunks) = &mut self.chunks else { return };
        for (slot, state) in (0..).zip(&mut chunks.states) {
            let was_used = *state & bits != 0;
            *state &= !bits;
            if was_used && *state == 0 {
                self.free.push(slot);
            }
        }
    }

    #[inline]
    fn slot_at(&self, address: u64) -> (u32, u64) {
        let Some(chunks) = &self.chunks else { unreachable!("the kernel shares no memory with this pool") };
        let slot = chunks.slots.get((address >> chunks.length.trailing_zeros()) as usize).copied().unwrap_or(ELSEWHERE);
        assert!(slot != ELSEWHERE, "a frame of another pool");
        (slot, address & (chunks.length as u64 - 1))
    }

    /// Lends the frame in a slot to another thread.
    #[inline]
    pub(crate) fn lend(&mut self, slot: u32) -> Lent {
        let start = self.start(slot) as u16;
        let Some(piece) = self.frames[slot as usize].take() else { unreachable!("slot {slot} was lent twice") };
        if let Some(chunks) = &mut self.chunks {
            let number = chunks.number(&piece);
            chunks.slots[number] = ELSEWHERE;
        }
        Lent { slot, start, piece }
    }

    /// Takes back a lent frame; its slot stays in use until it is released.
    #[inline]
    pub(crate) fn take_back(&mut self, Lent { slot, start, piece }: Lent) {
        self.put(slot, start, piece);
    }

    /// Puts the frame of another pool of this form into a slot, whose memory is lent in exchange.
    #[inline]
    pub(crate) fn exchange(&mut self, slot: u32, lent: Lent) -> Lent {
        let own = self.lend(slot);
        debug_assert_eq!(own.piece.bytes().len(), lent.piece.bytes().len(), "slots of another form");
        self.put(slot, lent.start, lent.piece);
        Lent { slot: lent.slot, ..own }
    }

    /// A piece is the memory of a slot from now on, with a frame that begins there.
    #[inline]
    fn put(&mut self, slot: u32, start: u16, piece: Piece) {
        if let Some(chunks) = &mut self.chunks {
            let number = chunks.number(&piece);
            chunks.slots[number] = slot;
            chunks.starts[slot as usize] = start;
        }
        self.frames[slot as usize] = Some(piece);
    }

    /// The longest frame that a slot holds, in bytes.
    #[inline]
    pub(crate) fn longest(&self) -> u32 {
        self.longest as u32
    }

    /// The number of slots in use.
    #[cfg(test)]
    pub(crate) fn in_use(&self) -> u32 {
        (self.frames.len() - self.free.len()) as u32
    }

    /// The whole room for a frame in a slot.
    #[inline]
    pub(crate) fn frame_mut(&mut self, slot: u32) -> &mut [u8] {
        let (start, longest) = (self.start(slot), self.longest);
        let bytes = self.piece_mut(slot).bytes_mut();
        let end = bytes.len().min(start + longest);
        &mut bytes[start..end]
    }

    /// Where the frame in a slot begins.
    #[inline]
    fn start(&self, slot: u32) -> usize {
        self.chunks.as_ref().map_or(HEADROOM, |chunks| usize::from(chunks.starts[slot as usize]))
    }

    /// The frame of `length` bytes in a slot.
    #[inline]
    pub(crate) fn packet(&self, slot: u32, length: u32) -> &[u8] {
        &self.message(slot, length)[VIRTIO_HEADER..]
    }

    /// The same, to be changed.
    #[inline]
    pub(crate) fn packet_mut(&mut self, slot: u32, length: u32) -> &mut [u8] {
        &mut self.frame_mut(slot)[..length as usize]
    }

    /// Sets the checksum request of the frame in a slot.
    #[inline]
    pub(crate) fn set_checksum(&mut self, slot: u32, checksum: Option<PartialChecksum>) {
        self.set_virtio(slot, Offload::virtio_of(checksum));
        let start = self.start(slot);
        let has_metadata = self.chunks.is_some();
        let bytes = self.piece_mut(slot).bytes_mut();
        if let Some(checksum) = checksum.filter(|_| has_metadata) {
            let metadata = &mut bytes[start - SEND_METADATA..start - VIRTIO_HEADER];
            metadata[..8].copy_from_slice(&COMPLETE_CHECKSUM.to_ne_bytes());
            metadata[8..10].copy_from_slice(&checksum.start.to_ne_bytes());
            metadata[10..12].copy_from_slice(&checksum.offset.to_ne_bytes());
        }
    }

    /// Sets the virtio-net header of the frame in a slot.
    #[inline]
    pub(crate) fn set_virtio(&mut self, slot: u32, header: [u8; VIRTIO_HEADER]) {
        let start = self.start(slot);
        self.piece_mut(slot).bytes_mut()[start - VIRTIO_HEADER..start].copy_from_slice(&header);
    }

    /// The frame of `length` bytes in a slot, behind its virtio-net header.
    #[inline]
    pub(crate) fn message(&self, slot: u32, length: u32) -> &[u8] {
        let Some(piece) = &self.frames[slot as usize] else { unreachable!("the frame in slot {slot} is lent") };
        let start = self.start(slot);
        &piece.bytes()[start - VIRTIO_HEADER..start + length as usize]
    }

    #[inline]
    fn piece_mut(&mut self, slot: u32) -> &mut Piece {
        let Some(piece) = &mut self.frames[slot as usize] else { unreachable!("the frame in slot {slot} is lent") };
        piece
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_lent_once_and_do_not_overlap() {
        let mut pool = FramePool::new(3, 100).unwrap();
        let slots: Vec<u32> = std::iter::from_fn(|| pool.take()).collect();
        assert_eq!(slots, [0, 1, 2]);
        for &slot in &slots {
            pool.frame_mut(slot).fill(slot as u8 + 1);
            pool.set_checksum(slot, None);
        }
        for &slot in &slots {
            let message = pool.message(slot, 100);
            assert_eq!(message.len(), 110);
            assert!(message[..10].iter().all(|&byte| byte == 0) && message[10..].iter().all(|&byte| byte == slot as u8 + 1));
        }
        assert_eq!((pool.in_use(), pool.take()), (3, None));
        pool.release(1);
        assert_eq!((pool.in_use(), pool.take()), (2, Some(1)));
    }

    #[test]
    fn a_lent_frame_comes_back_as_it_was() {
        let mut pool = FramePool::new(2, 100).unwrap();
        let slot = pool.take().unwrap();
        pool.frame_mut(slot).fill(9);
        pool.set_checksum(slot, None);
        let lent = pool.lend(slot);
        assert_eq!(lent.slot(), slot);
        let lent = std::thread::spawn(move || (lent.message(100)[10..] == [9; 100]).then_some(lent)).join().unwrap();
        assert_eq!(pool.in_use(), 1);
        pool.take_back(lent.expect("the frame's bytes"));
        pool.release(slot);
        assert_eq!((pool.in_use(), pool.take()), (0, Some(slot)));
        assert_eq!(pool.message(slot, 100)[10..], [9; 100]);
    }

    /// Pools of three chunks of 2048 bytes each: the first has chunks 0 to 2 of the memory, the second those from 3 on.
    fn two_pools_of_chunks() -> [FramePool; 2] {
        let mut pieces: Vec<Piece> = Piece::several(6, 2048).unwrap().collect();
        let memory = (pieces[0].start(), 6);
        let second = pieces.split_off(3);
        [pieces, second].map(|pieces| FramePool::of_chunks(pieces, memory, 1518))
    }

    fn chunks() -> FramePool {
        let [_, second] = two_pools_of_chunks();
        second
    }

    #[test]
    fn a_chunk_is_free_once_the_kernel_has_sent_it_as_often_as_asked() {
        let mut pool = chunks();
        assert_eq!([pool.fill(), pool.fill()], [Some(3 * 2048), Some(4 * 2048)]);
        assert_eq!(pool.received(4 * 2048 + 256, 100), 1);
        pool.packet_mut(1, 100).fill(9);
        pool.set_checksum(1, Some(PartialChecksum { start: 34, offset: 6 }));
        assert_eq!(pool.message(1, 100)[10..], [9; 100]);
        let metadata = &pool.frames[1].as_ref().unwrap().bytes()[256 - 24..256 - 12];
        assert_eq!(metadata, [&2_u64.to_ne_bytes()[..], &34_u16.to_ne_bytes(), &6_u16.to_ne_bytes()].concat());
        // Twice on the way, and the first is sent before the slot is released.
        pool.hand_over(1);
        pool.sent(4 * 2048 + 256);
        pool.hand_over(1);
        pool.release(1);
        assert_eq!(pool.in_use(), 2);
        pool.sent(4 * 2048 + 256);
        assert_eq!((pool.in_use(), pool.take()), (1, Some(1)));
    }

    #[test]
    fn what_a_socket_had_comes_back_when_it_is_closed() {
        let mut pool = chunks();
        let [filled, received] = [pool.fill(), pool.fill()].map(Option::unwrap);
        let slot = pool.received(received + 256, 60);
        pool.hand_over(slot);
        pool.reclaim_sent();
        assert_eq!((pool.in_use(), pool.slots()), (2, 3));
        pool.reclaim_filled();
        assert_eq!(pool.in_use(), 1);
        pool.release(slot);
        assert_eq!((pool.in_use(), filled), (0, 3 * 2048));
    }

    #[test]
    #[should_panic(expected = "a frame of another pool")]
    fn a_frame_of_another_pool_is_a_defect() {
        chunks().sent(2 * 2048);
    }

    /// The kernel knows memory by its chunk, whichever pool has it.
    #[test]
    fn chunks_that_pools_exchange_go_on_in_the_pool_that_has_them() {
        let [mut one, mut other] = two_pools_of_chunks();
        let address = one.fill().unwrap();
        let slot = one.received(address + 300, 60);
        one.packet_mut(slot, 60).fill(9);
        let lent = one.lend(slot);
        let place = other.take().unwrap();
        assert_eq!(lent.message(60)[10..], [9; 60]);
        let back = other.exchange(place, lent);
        assert_eq!(other.packet(place, 60), [9; 60]);
        one.take_back(back);
        one.release(slot);
        assert_eq!((one.in_use(), other.in_use()), (0, 1));
        // It is sent from the other pool, and comes back to it.
        other.hand_over(place);
        other.release(place);
        other.sent(address + 300);
        assert_eq!(other.in_use(), 0);
        // What each pool fills from now on is what it has.
        let filled = |pool: &mut FramePool| -> Vec<u64> { std::iter::from_fn(|| pool.fill()).map(|address| address / 2048).collect() };
        let (mut of_one, mut of_other) = (filled(&mut one), filled(&mut other));
        of_one.sort_unstable();
        of_other.sort_unstable();
        assert_eq!((of_one, of_other), (vec![1, 2, 3], vec![0, 4, 5]));
    }

    #[test]
    fn a_pool_beyond_memory_is_an_error() {
        assert!(FramePool::new(u32::MAX, u32::MAX).is_err());
    }
}
