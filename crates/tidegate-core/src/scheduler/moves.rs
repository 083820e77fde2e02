//! Where the flows of a scheduler go that another one takes over from ([`Scheduler::adopt`]).

use super::{Kept, Scheduler, activate_in_order};
use crate::packet::Flow;
use crate::ready::ReadyList;
use crate::units::Time;
use alloc::vec::Vec;

/// The new place of every backlogged flow that stays, by its old place.
pub(super) struct Moves {
    to: Vec<u32>,
}

/// In place of a place: the flow is gone, not backlogged, or has been taken.
const NOWHERE: u32 = u32::MAX;

impl Moves {
    /// The moves of the backlogged among the flows that stay; the old scheduler has this number of places.
    pub(super) fn new(places: usize, kept: &[Kept]) -> Moves {
        let mut to = alloc::vec![NOWHERE; places];
        for kept in kept.iter().filter(|kept| kept.head.is_some()) {
            to[kept.from.index()] = kept.to.0;
        }
        Moves { to }
    }

    /// The new place of a flow, if it stays and is backlogged.
    pub(super) fn to(&self, flow: Flow) -> Option<Flow> {
        let to = self.to[flow.index()];
        (to != NOWHERE).then_some(Flow(to))
    }

    /// The new place of a flow, if it stays and is backlogged; the flow counts as taken over from now on.
    pub(super) fn take(&mut self, flow: Flow) -> Option<Flow> {
        let to = self.to(flow);
        self.to[flow.index()] = NOWHERE;
        to
    }

    /// Moves the entries of one ready list to another, in order and with their keys.
    pub(super) fn take_list<R: ReadyList>(&mut self, from: &mut R, to: &mut R) {
        while let Some((key, flow)) = from.pop_first() {
            if let Some(flow) = self.take(flow) {
                to.insert(flow, key);
            }
        }
    }

    /// Activates the flows that are backlogged now and were not in the old scheduler.
    pub(super) fn activate_others<S: Scheduler>(&self, scheduler: &mut S, now: Time, kept: &[Kept]) {
        let others: Vec<Kept> = kept.iter().filter(|kept| self.to(kept.from).is_some()).copied().collect();
        activate_in_order(scheduler, now, &others);
    }
}
