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
use crate::packet::Flow;
use crate::prefetch::prefetch_in;
use crate::ready::indexed_heap::{IndexedHeap, Ranked};
use crate::ready::{ReadyList, Wheel};
use crate::units::Time;

/// What decides when a head leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp {
    /// It is eligible from here on.
    pub eligible: Time,
    /// Its virtual finish.
    pub finish: Time,
    /// Its class; 0 is the most urgent.
    pub class: u32,
}

/// Heads that become eligible. A flow has one head at most.
pub trait EligibleList {
    /// An empty list for flows below `flows`.
    fn new(flows: usize) -> Self
    where
        Self: Sized;

    /// Adds the head of a flow that has none in the list.
    fn insert(&mut self, now: Time, flow: Flow, stamp: Stamp);

    /// Takes out the head of a flow.
    fn remove(&mut self, flow: Flow);

    /// Takes out the head that [`EligibleList::first`] has just named.
    fn drop_first(&mut self, flow: Flow) {
        self.remove(flow);
    }

    /// The head of `flow` has another virtual finish or class, and is eligible from the same instant on.
    fn replace(&mut self, flow: Flow, stamp: Stamp);

    /// The flow that leaves first of those that are eligible at `now`; `stamp` knows the stamp of every head in the list.
    /// `fetch` prefetches what the caller keeps of a flow.
    fn first(&mut self, now: Time, stamp: impl Fn(Flow) -> Stamp, fetch: impl Fn(Flow)) -> Option<Flow>;

    /// When the next head becomes eligible, if none is: to be asked after [`EligibleList::first`].
    fn earliest(&self) -> Option<Time>;

    /// A flow that is likely to be named in some turns; each is hinted once.
    fn hint(&mut self) -> Option<Flow> {
        None
    }

    /// Fetches what a change of this flow touches.
    fn prefetch(&self, flow: Flow) {
        let _ = flow;
    }

    /// Moves every stamp before `oldest` up to it.
    fn raise(&mut self, oldest: Time);
}

/// The shaper's queue is a wheel of eligible times, the scheduler's queue a heap of virtual finishes.
#[derive(Clone, Debug)]
pub struct Calendar {
    waiting: Wheel,
    eligible: IndexedHeap<Entry>,
    /// Flows to be hinted, one for every head that became eligible: the one [`PREFETCH_DISTANCE`] behind it.
    hints: [u32; HINTS],
    /// The number of hints made ready so far, and of those given.
    ready: u32,
    given: u32,
}

/// The most hints that wait to be given: a power of two.
const HINTS: usize = 64;

/// An eligible head.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    finish: Time,
    flow: u32,
    class: u32,
}

impl Entry {
    #[inline]
    pub(super) fn new(Flow(flow): Flow, Stamp { finish, class, .. }: Stamp) -> Entry {
        Entry { finish, flow, class }
    }
}

impl Ranked for Entry {
    #[inline]
    fn flow(&self) -> u32 {
        self.flow
    }

    #[inline]
    fn leaves_before(&self, other: &Entry) -> bool {
        if self.class != other.class {
            return (self.class < other.class) ^ fault!(IntservControlledLoadFirst);
        }
        self.finish.is_before(other.finish) || (self.finish == other.finish && self.flow < other.flow)
    }
}

impl EligibleList for Calendar {
    fn new(flows: usize) -> Calendar {
        Calendar { waiting: Wheel::new(flows), eligible: IndexedHeap::new(flows), hints: [0; HINTS], ready: 0, given: 0 }
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
    fn remove(&mut self, flow: Flow) {
        if self.eligible.contains(flow.0) {
            self.eligible.remove(flow.0);
        } else {
            self.waiting.remove(flow);
        }
    }

    #[inline]
    fn drop_first(&mut self, flow: Flow) {
        self.eligible.remove(flow.0);
    }

    #[inline]
    fn replace(&mut self, flow: Flow, stamp: Stamp) {
        if self.eligible.contains(flow.0) {
            self.eligible.replace(Entry::new(flow, stamp));
        }
    }

    #[inline]
    fn first(&mut self, now: Time, stamp: impl Fn(Flow) -> Stamp, fetch: impl Fn(Flow)) -> Option<Flow> {
        while let Some(flow) = self.waiting.pop_due(now.picoseconds()) {
            // Flows of one rate that began together become eligible together, too many to have been hinted one per turn.
            if let Some(ahead) = self.waiting.ahead(PREFETCH_DISTANCE) {
                self.hints[self.ready as usize % HINTS] = ahead.0;
                self.ready = self.ready.wrapping_add(1);
                fetch(ahead);
                self.prefetch(ahead);
            }
            self.eligible.insert(Entry::new(flow, stamp(flow)));
        }
        if fault!(SvcVirtualTime)
            && self.eligible.first().is_none()
            && let Some((_, flow)) = self.waiting.pop_first()
        {
            self.eligible.insert(Entry::new(flow, stamp(flow)));
        }
        self.eligible.first().map(|entry| Flow(entry.flow))
    }

    #[inline]
    fn earliest(&self) -> Option<Time> {
        self.waiting.first().map(|(key, _)| Time::from_picoseconds(key))
    }

    #[inline]
    fn hint(&mut self) -> Option<Flow> {
        let late = self.ready.wrapping_sub(self.given);
        if late == 0 {
            return None;
        }
        if late as usize > HINTS {
            self.given = self.ready.wrapping_sub(HINTS as u32);
        }
        let hint = self.hints[self.given as usize % HINTS];
        self.given = self.given.wrapping_add(1);
        Some(Flow(hint))
    }

    #[inline]
    fn prefetch(&self, flow: Flow) {
        prefetch_in(self.eligible.positions(), flow.index());
    }

    fn raise(&mut self, oldest: Time) {
        self.waiting.raise(oldest.picoseconds());
        let raised = |entry: &mut Entry| entry.finish = entry.finish.later(oldest);
        self.eligible.change_all(raised);
    }
}
