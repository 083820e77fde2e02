//! The ready list's role: flows in the order of a key.
//!
//! A key is a point on a wrapping 64-bit axis, compared serially: picoseconds, virtual time or an arrival number. All keys in a list at
//! one time lie within 2^63 of each other. A ready list knows no policy.
//!
//! **Laws**, checked by differential tests of every implementation against a sorted list:
//! 1. `first` and `pop_first` name a flow of the smallest key; ties leave in order of insertion;
//! 2. a flow is in the list at most once;
//! 3. nothing is due before its key: `pop_due(now)` names a flow only if its key is at or before `now`.
//!
//! [`Wheel`] keeps them in O(1) amortised; the tests compare it with a heap.

use crate::packet::Flow;
use crate::serial::is_before;

pub mod bitmap;
pub mod counting_sort;
mod levels;
pub mod log;
mod run;
mod wheel;

pub use wheel::Wheel;

/// Flows ordered by a key.
pub trait ReadyList {
    /// An empty list for flows below `flows`.
    fn new(flows: usize) -> Self
    where
        Self: Sized;

    /// Adds a flow that is not in the list.
    fn insert(&mut self, flow: Flow, key: u64);

    /// Takes out a flow that is in the list.
    fn remove(&mut self, flow: Flow);

    /// The flow of the smallest key, and that key.
    fn first(&self) -> Option<(u64, Flow)>;

    /// Takes out the flow that [`ReadyList::first`] names.
    #[inline]
    fn pop_first(&mut self) -> Option<(u64, Flow)> {
        let first = self.first()?;
        self.remove(first.1);
        Some(first)
    }

    /// The same for a list that is not empty.
    #[inline]
    fn drop_first(&mut self) {
        self.pop_first();
    }

    /// Takes out the flow of the smallest key if that key is at or before `now`.
    #[inline]
    fn pop_due(&mut self, now: u64) -> Option<Flow> {
        let (key, flow) = self.first()?;
        if is_before(now, key) {
            return None;
        }
        self.pop_first();
        Some(flow)
    }

    /// The flow that will be first after `places` flows have been taken, unless another comes before it: a hint for prefetching that may be
    /// absent.
    #[inline]
    fn ahead(&self, places: usize) -> Option<Flow> {
        let _ = places;
        None
    }

    /// The number of flows in the list.
    fn len(&self) -> usize;

    /// True if the list holds no flow.
    #[inline]
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Moves every key before `oldest` up to it, in order. The key of a flow that is not served for months would otherwise no longer compare
    /// serially.
    fn raise(&mut self, oldest: u64) {
        while let Some((key, flow)) = self.first() {
            if !is_before(key, oldest) {
                break;
            }
            self.remove(flow);
            self.insert(flow, oldest);
        }
    }
}
