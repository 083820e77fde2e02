//! Deficit round robin with one quantum for all, as two rings through one table of flows: packets out of profile, and best effort. A flow is
//! in at most one of them.
//!
//! A turn is granted its quantum when the flow's turn before it ends. So a turn may span any number of decisions of the port, and what is
//! left of it is the deficit.

use super::super::active_list::{ActiveList, Links, PrefetchPredictor, linked};
use super::super::shaped_clock::ShapedClock;
use crate::packet::Flow;
use crate::prefetch::prefetch_in;
use alloc::vec;
use alloc::vec::Vec;

/// The turns of all flows.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    flows: Vec<Turn>,
    /// What a turn grants, in bytes: the longest packet.
    quantum: u32,
    predictor: PrefetchPredictor,
}

#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
struct Turn {
    /// The rest of the turn under way, or the bytes of the next turn: less than two quanta.
    deficit: u32,
    links: Links,
}

linked!(Turn);

/// The flows that take turns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ring(ActiveList);

impl Ring {
    pub(super) const EMPTY: Ring = Ring(ActiveList::EMPTY);

    /// True if no flow waits for a turn.
    #[inline]
    pub(super) fn is_empty(self) -> bool {
        self.0.front().is_none()
    }

    /// The flow whose turn it is, once turns that do not suffice have passed on. `clocks` have the lengths of the heads.
    #[inline]
    pub(super) fn settle(&mut self, turns: &mut Turns, clocks: &[ShapedClock]) -> Option<Flow> {
        loop {
            let front = self.0.front()?;
            let turn = &mut turns.flows[front as usize];
            if turn.deficit >= clocks[front as usize].length {
                return Some(Flow(front));
            }
            turn.deficit += turns.quantum;
            turns.predictor.turn_of(&mut turns.flows, front);
            self.0.pass(&turns.flows);
        }
    }

    /// Adds a flow that is in no ring, behind all others.
    #[inline]
    pub(super) fn join(&mut self, turns: &mut Turns, Flow(flow): Flow) {
        turns.flows[flow as usize].deficit = turns.quantum;
        self.0.join(&mut turns.flows, flow);
    }

    /// Takes a flow out, which loses its place and the rest of its turn.
    #[inline]
    pub(super) fn leave(&mut self, turns: &mut Turns, Flow(flow): Flow) {
        if self.0.front() == Some(flow) {
            turns.predictor.turn_of(&mut turns.flows, flow);
        }
        self.0.leave(&mut turns.flows, flow);
    }

    /// Charges the flow whose turn it is for its head, which has this length.
    #[inline]
    pub(super) fn charge(self, turns: &mut Turns, flow: Flow, length: u32) {
        debug_assert_eq!(self.0.front(), Some(flow.0), "only the flow whose turn it is is served");
        turns.flows[flow.index()].deficit -= length;
    }

    /// The flows in the order of their turns, with their deficits, from `front` on.
    pub(super) fn in_order(self, turns: &Turns) -> impl Iterator<Item = (Flow, u32)> {
        let first = self.0.front();
        let next = move |flow: &u32| self.0.after(&turns.flows, *flow);
        core::iter::successors(first, next).map(|flow| (Flow(flow), turns.flows[flow as usize].deficit))
    }
}

impl Turns {
    pub(super) fn new(flows: usize, quantum: u32) -> Turns {
        Turns { flows: vec![Turn { deficit: 0, links: Links::NONE }; flows], quantum, predictor: PrefetchPredictor::NEW }
    }

    /// What a flow has left, as it had in the scheduler before this one.
    pub(super) fn set_deficit(&mut self, flow: Flow, deficit: u32) {
        self.flows[flow.index()].deficit = deficit.min(2 * self.quantum);
    }

    /// A flow whose turn is likely to come soon.
    #[inline]
    pub(super) fn hint(&self) -> Flow {
        self.predictor.prefetch_hint()
    }

    #[inline]
    pub(super) fn prefetch(&self, flow: Flow) {
        prefetch_in(&self.flows, flow.index());
    }
}
