//! The packets on all links: a list per link through one pool, so that what is in flight anywhere lies together in a cache, however many links
//! there are.

const NONE: u32 = u32::MAX;

/// What is on one link, in order: the first and the last of it.
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
    #[inline]
    pub(super) fn is_empty(self) -> bool {
        self.first == NONE
    }
}

#[derive(Clone, Debug)]
struct Slot<T> {
    item: T,
    /// What follows on the link; of a free slot the next free one.
    next: u32,
}

/// The pool. It grows to what is in flight at most, and stays.
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
    /// Something sets out on a link.
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

    /// Takes the first from a link, and returns with it what comes next there.
    #[inline]
    pub(super) fn pop(&mut self, flying: &mut Flying) -> Option<(T, Option<&T>)> {
        let at = flying.first;
        let slot = self.slots.get_mut(at as usize)?;
        let (item, next) = (slot.item, slot.next);
        slot.next = self.free;
        self.free = at;
        flying.first = next;
        Some((item, self.slots.get(next as usize).map(|slot| &slot.item)))
    }

    /// What is on a link, in order.
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
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn every_link_keeps_its_order(turns in prop::collection::vec((0usize..4, any::<bool>()), 0..300)) {
            let mut flights = Flights::default();
            let mut flying = [Flying::default(); 4];
            let mut model = [const { VecDeque::new() }; 4];
            let mut most = 0;
            for (number, (link, sets_out)) in turns.into_iter().enumerate() {
                if sets_out {
                    flights.push(&mut flying[link], number);
                    model[link].push_back(number);
                } else {
                    let popped = flights.pop(&mut flying[link]).map(|(item, next)| (item, next.copied()));
                    let expected = model[link].pop_front();
                    prop_assert_eq!(popped, expected.map(|item| (item, model[link].front().copied())));
                }
                most = most.max(model.iter().map(VecDeque::len).sum());
                for (flying, model) in flying.iter().zip(&model) {
                    prop_assert_eq!(flying.is_empty(), model.is_empty());
                    prop_assert!(flights.on(*flying).eq(model));
                }
            }
            prop_assert_eq!(flights.slots.len(), most);
        }
    }
}
