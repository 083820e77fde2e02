//! The packets on all links: one list per link, all in one pool, so that packets in flight share a cache whatever the number of links.

use tidegate_core::prefetch::prefetch_in;

/// The place of no packet.
const NONE: u32 = u32::MAX;
/// In place of the first packet of a link that ends in another part of the network: `last` is the number of the part, which has the packets.
const ELSEWHERE: u32 = u32::MAX - 1;

/// The packets on one link, in order: the places of the first and the last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flying {
    first: u32,
    last: u32,
}

impl Default for Flying {
    fn default() -> Flying {
        Flying { first: NONE, last: NONE }
    }
}

impl Flying {
    /// The packets of a link that ends in another part.
    pub(super) fn elsewhere(part: u32) -> Flying {
        Flying { first: ELSEWHERE, last: part }
    }

    /// True if no packet of the link is here.
    #[inline]
    pub(super) fn has_none(self) -> bool {
        self.first >= ELSEWHERE
    }

    /// The part that has the packets, if it is another one.
    #[inline]
    pub(super) fn part(self) -> Option<u32> {
        (self.first == ELSEWHERE).then_some(self.last)
    }

    #[inline]
    pub(super) fn is_empty(self) -> bool {
        self.first == NONE
    }
}

#[derive(Clone, Debug)]
#[repr(align(32))]
struct Slot<T> {
    item: T,
    /// The next on the link; of a free slot, the next free one.
    next: u32,
}

/// The pool. It grows to the most packets in flight, and stays.
#[derive(Clone, Debug)]
pub(super) struct Flights<T> {
    slots: Vec<Slot<T>>,
    free: u32,
}

impl<T> Default for Flights<T> {
    fn default() -> Flights<T> {
        Flights { slots: Vec::new(), free: NONE }
    }
}

impl<T: Copy> Flights<T> {
    /// Appends a packet to a link.
    #[inline]
    pub(super) fn push(&mut self, flying: &mut Flying, item: T) {
        let slot = Slot { item, next: NONE };
        let at = self.free;
        let at = if let Some(reused) = self.slots.get_mut(at as usize) {
            self.free = reused.next;
            *reused = slot;
            at
        } else {
            self.slots.push(slot);
            self.slots.len() as u32 - 1
        };
        if flying.is_empty() {
            flying.first = at;
        } else {
            self.slots[flying.last as usize].next = at;
        }
        flying.last = at;
    }

    /// Takes the first from a link.
    #[inline]
    pub(super) fn pop(&mut self, flying: &mut Flying) -> Option<T> {
        let at = flying.first;
        let slot = self.slots.get_mut(at as usize)?;
        let (item, next) = (slot.item, slot.next);
        slot.next = self.free;
        self.free = at;
        flying.first = next;
        Some(item)
    }

    /// The first two on a link. Prefetches the third: in a large network hundreds of events come before it is read.
    #[inline]
    pub(super) fn next_two(&self, flying: Flying) -> Option<(&T, Option<&T>)> {
        let first = self.slots.get(flying.first as usize)?;
        let second = self.slots.get(first.next as usize);
        if let Some(second) = second {
            prefetch_in(&self.slots, second.next as usize);
        }
        Some((&first.item, second.map(|slot| &slot.item)))
    }

    pub(super) fn on(&self, flying: Flying) -> impl Iterator<Item = &T> {
        let mut at = flying.first;
        std::iter::from_fn(move || {
            let slot = self.slots.get(at as usize)?;
            at = slot.next;
            Some(&slot.item)
        })
    }
}

#[cfg(test)]
mod tests;
