//! The queues of a shaped virtual clock: heads wait until they are eligible. Of the eligible ones the smallest virtual finish of the most
//! urgent class leaves first; ties leave in the order of flows.
//!
//! | list | cost | choose it for |
//! |---|---|---|
//! | [`Calendar`] | O(1) amortised, and O(log e) with e heads eligible | everything on the packet path |
//! | [`EligibleTree`](super::EligibleTree) | O(log n), no heads in bursts | the oracle of tests |
//!
//! Both are exact: they keep whole picoseconds, so there are no slots that would add to a delay bound.

use super::PREFETCH_DISTANCE;
use super::eligible_heads::{EligibleHeads, Entry};
use crate::packet::Flow;
use crate::ready::{ReadyList, Wheel};
use crate::units::Time;

pub use super::eligible_heads::Stamp;

/// Heads that become eligible. A flow has one head at most.
pub trait EligibleList {
    /// An empty list for flows below `flows`.
    fn new(flows: usize) -> Self
    where
        Self: Sized;

    /// Adds the head of a flow that has none in the list.
    fn insert(&mut self, now: Time, flow: Flow, stamp: Stamp);

    /// Takes out the head of a flow, which has this stamp.
    fn remove(&mut self, flow: Flow, stamp: Stamp);

    /// The head of a flow, which is not eligible and has this stamp, is gone, and the next one is likely to be eligible from the same instant on.
    /// True if the flow stays in the list, as one that has no stamp.
    fn make_dormant(&mut self, flow: Flow, stamp: Stamp) -> bool {
        self.remove(flow, stamp);
        false
    }

    /// Takes out the head that [`EligibleList::first`] has just named.
    fn drop_first(&mut self, flow: Flow);

    /// The head of `flow`, which has the stamp `old`, has another virtual finish or class, and is eligible from the same instant on.
    fn replace(&mut self, flow: Flow, old: Stamp, new: Stamp);

    /// The flow that leaves first of those that are eligible at `now`. `stamp` knows the stamps of the heads in the list; a flow without one leaves
    /// the list. It prefetches what it keeps of its second flow.
    fn first(&mut self, now: Time, stamp: impl FnMut(Flow, Option<Flow>) -> Option<Stamp>) -> Option<Flow>;

    /// When the next head becomes eligible, if none is: to be asked after [`EligibleList::first`].
    fn earliest(&self) -> Option<Time>;

    /// A flow that is likely to be named in some turns; each is hinted once.
    fn hint(&mut self) -> Option<Flow> {
        None
    }

    /// Moves every stamp before `oldest` up to it.
    fn raise(&mut self, oldest: Time);
}

/// The shaper's queue is a wheel of eligible times; the scheduler's queue holds the heads in order.
#[derive(Clone, Debug)]
pub struct Calendar {
    waiting: Wheel,
    eligible: EligibleHeads,
}

impl EligibleList for Calendar {
    fn new(flows: usize) -> Calendar {
        Calendar { waiting: Wheel::new(flows), eligible: EligibleHeads::new(flows) }
    }

    #[inline]
    fn insert(&mut self, now: Time, flow: Flow, stamp: Stamp) {
        if stamp.eligible.is_after(now) {
            self.waiting.insert(flow, stamp.eligible.picoseconds());
        } else {
            self.eligible.insert(Entry::new(flow, stamp));
        }
    }

    #[inline]
    fn remove(&mut self, flow: Flow, stamp: Stamp) {
        if !self.eligible.remove(Entry::new(flow, stamp)) {
            self.waiting.remove(flow);
        }
    }

    #[inline]
    fn make_dormant(&mut self, _flow: Flow, _stamp: Stamp) -> bool {
        true
    }

    #[inline]
    fn drop_first(&mut self, flow: Flow) {
        debug_assert_eq!(self.eligible.first(), Some(flow), "another head leaves first");
        self.eligible.drop_first();
    }

    #[inline]
    fn replace(&mut self, flow: Flow, old: Stamp, new: Stamp) {
        if self.eligible.remove(Entry::new(flow, old)) {
            self.eligible.insert(Entry::new(flow, new));
        }
    }

    #[inline]
    fn first(&mut self, now: Time, mut stamp: impl FnMut(Flow, Option<Flow>) -> Option<Stamp>) -> Option<Flow> {
        while let Some(flow) = self.waiting.pop_due(now.picoseconds()) {
            // Flows of one rate that began together become eligible together, too many to have been hinted one per turn.
            if let Some(stamp) = stamp(flow, self.waiting.ahead(PREFETCH_DISTANCE)) {
                self.eligible.insert(Entry::new(flow, stamp));
            }
        }
        if fault!(SvcVirtualTime)
            && self.eligible.first().is_none()
            && let Some((_, flow)) = self.waiting.pop_first()
            && let Some(stamp) = stamp(flow, None)
        {
            self.eligible.insert(Entry::new(flow, stamp));
        }
        self.eligible.first()
    }

    #[inline]
    fn earliest(&self) -> Option<Time> {
        self.waiting.first().map(|(key, _)| Time::from_picoseconds(key))
    }

    #[inline]
    fn hint(&mut self) -> Option<Flow> {
        let later = PREFETCH_DISTANCE.saturating_sub(self.eligible.sorted());
        self.eligible.ahead(PREFETCH_DISTANCE).or_else(|| self.waiting.ahead(later))
    }

    fn raise(&mut self, oldest: Time) {
        self.waiting.raise(oldest.picoseconds());
        self.eligible.raise(oldest);
    }
}
