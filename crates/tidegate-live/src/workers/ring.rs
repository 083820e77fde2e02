//! The ring from one worker to another: packets go there, and memory comes back.
//!
//! A packet is not copied. Its memory goes along, and the worker that takes it gives memory of its own in exchange. Both pools keep their sizes. Memory
//! that the kernel shares is the same for all workers.
//! A ring that is full drops what is pushed, which is counted by the worker that pushed it.

use crate::ingress::{Arrived, Refusal};
use crate::pool::{FramePool, Lent};
use rtrb::{Consumer, Producer, RingBuffer};
use tidegate_core::classifier::Header;
use tidegate_core::packet::Flow;
use tidegate_core::port::Volume;

/// The packets that a ring holds: eight batches.
pub(crate) const CAPACITY: usize = 1024;

/// What a worker has passed on to others, and what others have passed in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Passed {
    pub(crate) on: Volume,
    pub(crate) into: Volume,
}

/// The flow of a packet, and the rule that named it.
pub(crate) type Found = (Flow, Option<u32>);

/// A packet that was classified.
#[derive(Debug)]
struct Classified {
    /// `None` if it is longer than any slot.
    lent: Option<Lent>,
    header: Header,
    flow: Flow,
    rule: Option<u32>,
    length: u32,
    /// How often the policy had changed when it was classified.
    switches: u32,
}

/// The end of the worker that receives packets.
#[derive(Debug)]
pub(crate) struct Outgoing {
    packets: Producer<Classified>,
    memory: Consumer<Lent>,
    /// The frames whose memory has not come back, at most [`CAPACITY`], so that the way back is never full.
    lent: usize,
    has_news: bool,
}

/// The end of the worker that has the class.
#[derive(Debug)]
pub(crate) struct Incoming {
    packets: Consumer<Classified>,
    memory: Producer<Lent>,
}

/// Both ends of an empty ring.
pub(super) fn open() -> (Outgoing, Incoming) {
    let (pushing, popping) = RingBuffer::new(CAPACITY);
    let (returning, returned) = RingBuffer::new(CAPACITY);
    (Outgoing { packets: pushing, memory: returned, lent: 0, has_news: false }, Incoming { packets: popping, memory: returning })
}

impl Outgoing {
    /// Takes back memory that the other worker has given in exchange.
    #[inline]
    pub(crate) fn collect(&mut self, pool: &mut FramePool) {
        while let Ok(lent) = self.memory.pop() {
            let slot = lent.slot();
            pool.take_back(lent);
            pool.release(slot);
            self.lent -= 1;
        }
    }

    /// Passes a packet on, whose slot then belongs to the ring.
    #[inline]
    pub(crate) fn pass(
        &mut self,
        pool: &mut FramePool,
        header: &Header,
        ((flow, rule), switches): (Found, u32),
        Arrived { slot, length }: Arrived,
        volume: &mut Passed,
    ) -> Result<(), Refusal> {
        if self.packets.is_full() || self.lent == CAPACITY {
            self.collect(pool);
            if self.packets.is_full() || self.lent == CAPACITY {
                return Err(Refusal::RingFull);
            }
        }
        let lent = slot.map(|slot| pool.lend(slot));
        self.lent += usize::from(lent.is_some());
        if self.packets.push(Classified { lent, header: *header, flow, rule, length, switches }).is_err() {
            unreachable!("the ring has just had room, and has one producer");
        }
        volume.on.add(length);
        self.has_news = true;
        Ok(())
    }

    /// True if packets have been passed on since the last call.
    #[inline]
    pub(super) fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.has_news)
    }
}

impl Incoming {
    /// Takes at most `most` packets, passes each to `offer`, and counts those for which there is no memory. True if there were any. With each packet
    /// comes how often the policy had changed when it was classified.
    #[inline]
    pub(crate) fn take(
        &mut self,
        most: u32,
        pool: &mut FramePool,
        volume: &mut Passed,
        no_memory: &mut Volume,
        mut offer: impl FnMut(&mut FramePool, &Header, (Found, u32), Arrived),
    ) -> bool {
        let mut any = false;
        for _ in 0..most {
            let Ok(Classified { lent, header, flow, rule, length, switches }) = self.packets.pop() else { break };
            any = true;
            volume.into.add(length);
            let slot = match lent {
                None => None,
                Some(lent) => {
                    let slot = pool.take();
                    let back = match slot {
                        Some(slot) => pool.exchange(slot, lent),
                        None => lent,
                    };
                    if self.memory.push(back).is_err() {
                        unreachable!("more frames come back than were lent");
                    }
                    if slot.is_none() {
                        no_memory.add(length);
                        continue;
                    }
                    slot
                }
            };
            offer(pool, &header, ((flow, rule), switches), Arrived { slot, length });
        }
        any
    }

    /// True if nothing is in the ring.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Empties the ring, and returns what was in it.
    pub(super) fn left(&mut self) -> Volume {
        let mut left = Volume::default();
        while let Ok(packet) = self.packets.pop() {
            left.add(packet.length);
        }
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pushed(out: &mut Outgoing, pool: &mut FramePool, byte: u8, volume: &mut Passed) -> Result<(), Refusal> {
        let slot = pool.take().unwrap();
        pool.packet_mut(slot, 60).fill(byte);
        let passed = out.pass(pool, &Header::default(), ((Flow(3), Some(7)), 5), Arrived { slot: Some(slot), length: 60 }, volume);
        if passed.is_err() {
            pool.release(slot);
        }
        passed
    }

    #[test]
    fn packets_come_in_order_with_their_bytes_and_no_slot_is_lost() {
        let (mut out, mut into) = open();
        let (mut one, mut other) = (FramePool::new(CAPACITY as u32 + 8, 100).unwrap(), FramePool::new(2 * CAPACITY as u32, 100).unwrap());
        let (mut volume, mut no_memory) = (Passed::default(), Volume::default());
        let mut next = 0u8;
        for round in 0..5 {
            for number in 0..CAPACITY {
                pushed(&mut out, &mut one, (round * CAPACITY + number) as u8, &mut volume).unwrap();
            }
            assert!(matches!(pushed(&mut out, &mut one, 0, &mut volume), Err(Refusal::RingFull)));
            let mut held = Vec::new();
            while into.take(100, &mut other, &mut volume, &mut no_memory, |pool, _, found, arrived| {
                assert_eq!(found, ((Flow(3), Some(7)), 5));
                let slot = arrived.slot.unwrap();
                assert_eq!(pool.packet(slot, 60), [next; 60]);
                next = next.wrapping_add(1);
                held.push(slot);
            }) {}
            assert_eq!(held.len(), CAPACITY);
            held.into_iter().for_each(|slot| other.release(slot));
        }
        out.collect(&mut one);
        assert_eq!((volume.on, volume.into, no_memory), (volume.into, volume.on, Volume::default()));
        assert_eq!((one.in_use(), other.in_use(), out.lent), (0, 0, 0));
    }

    #[test]
    fn a_packet_without_memory_is_counted_and_its_memory_comes_back() {
        let (mut out, mut into) = open();
        let (mut one, mut other) = (FramePool::new(4, 100).unwrap(), FramePool::new(1, 100).unwrap());
        let (mut volume, mut no_memory) = (Passed::default(), Volume::default());
        (0..3).for_each(|byte| pushed(&mut out, &mut one, byte, &mut volume).unwrap());
        // One longer than a slot has no memory to exchange.
        out.pass(&mut one, &Header::default(), ((Flow(0), None), 0), Arrived { slot: None, length: 9000 }, &mut volume).ok().unwrap();
        let mut offered = Vec::new();
        into.take(10, &mut other, &mut volume, &mut no_memory, |_, _, _, arrived| offered.push(arrived.length));
        assert_eq!((offered, no_memory), (vec![60, 9000], Volume { packets: 2, bytes: 120 }));
        out.collect(&mut one);
        assert_eq!((one.in_use(), other.in_use(), into.left()), (0, 1, Volume::default()));
    }
}
