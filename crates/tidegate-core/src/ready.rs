//! The ready list's role: flows in the order of a key.
//!
//! A key is a point on a wrapping 64-bit axis, compared serially: picoseconds, virtual time or an arrival number. A ready list knows
//! no policy.
//!
//! **Laws**, checked by differential tests of every implementation against a sorted list:
//! 1. `first` and `pop_first` name a flow of the smallest key, rounded up to the list's granule; ties leave in order of insertion;
//! 2. a flow is in the list at most once;
//! 3. nothing is due before its key: `pop_due(now)` names a flow only if its key, rounded up, is at or before `now`.

use crate::packet::Flow;

mod heap;

pub use heap::Heap;

/// Flows ordered by a key.
pub trait ReadyList {
    /// Adds a flow that is not in the list.
    fn insert(&mut self, flow: Flow, key: u64);

    /// Takes a flow out, wherever it stands; false if it was not in the list.
    fn remove(&mut self, flow: Flow) -> bool;

    /// The flow of the smallest key, with that key rounded up to the granule.
    fn first(&mut self) -> Option<(u64, Flow)>;

    /// Takes out the flow of the smallest key.
    fn pop_first(&mut self) -> Option<(u64, Flow)> {
        let first = self.first()?;
        self.remove(first.1);
        Some(first)
    }

    /// Takes out the flow of the smallest key if that key, rounded up, is at or before `now`.
    #[inline]
    fn pop_due(&mut self, now: u64) -> Option<Flow> {
        match self.first() {
            Some((key, flow)) if (now.wrapping_sub(key) as i64) >= 0 => {
                self.remove(flow);
                Some(flow)
            }
            _ => None,
        }
    }

    /// The number of flows in the list.
    fn len(&self) -> usize;

    /// True if the list holds no flow.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
