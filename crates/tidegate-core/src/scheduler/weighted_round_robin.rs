//! Weighted round robin: on every visit a flow sends up to as many packets as its weight.

use super::active_list::{ActiveList, Linked, Links};
use super::{BuildError, Decision, Discipline, FlowParameters, Parameter, Scheduler, Setup, weight_of};
use crate::packet::{Flow, Head};
use crate::prefetch::prefetch;
use crate::units::Time;
use alloc::vec::Vec;

/// Weighted round robin over packets.
#[derive(Clone, Debug)]
pub struct WeightedRoundRobin {
    flows: Vec<Turn>,
    active: ActiveList,
}

#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
struct Turn {
    links: Links,
    /// Packets per visit.
    weight: u32,
    /// Packets that the visit under way, or else the next one, may still send.
    left: u32,
}

impl Linked for Turn {
    #[inline]
    fn links(&self) -> Links {
        self.links
    }

    #[inline]
    fn links_mut(&mut self) -> &mut Links {
        &mut self.links
    }
}

impl WeightedRoundRobin {
    /// Flows with these weights, each at least 1.
    fn new(weights: impl Iterator<Item = u32>) -> WeightedRoundRobin {
        let flows = weights.map(|weight| Turn { links: Links::UNLINKED, weight, left: weight }).collect();
        WeightedRoundRobin { flows, active: ActiveList::EMPTY }
    }
}

impl Scheduler for WeightedRoundRobin {
    #[inline]
    fn activate(&mut self, _now: Time, flow: Flow, _head: Head) {
        self.active.join(&mut self.flows, flow.0);
    }

    #[inline]
    fn select(&mut self, _now: Time) -> Decision {
        match self.active.front() {
            Some(flow) => Decision::Serve(Flow(flow)),
            None => Decision::Idle,
        }
    }

    #[inline]
    fn served(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        debug_assert_eq!(self.active.front(), Some(flow.0), "only the selected flow is served");
        if next.is_none() {
            return self.lost(now, flow, None);
        }
        let turn = &mut self.flows[flow.index()];
        turn.left -= 1;
        if turn.left == 0 {
            turn.left = turn.weight;
            self.active.pass(&self.flows);
            if let Some(second) = self.active.second(&self.flows) {
                prefetch(&self.flows[second as usize]);
            }
        }
    }

    #[inline]
    fn lost(&mut self, _now: Time, flow: Flow, next: Option<Head>) {
        if next.is_none() {
            self.active.leave(&mut self.flows, flow.0);
            let turn = &mut self.flows[flow.index()];
            turn.left = turn.weight;
        }
    }

    #[inline]
    fn upcoming(&self) -> Option<Flow> {
        self.active.front().map(Flow)
    }
}

impl Discipline for WeightedRoundRobin {
    const NAME: &'static str = "wrr";
    const SUMMARY: &'static str = "backlogged flows send packets in proportion to their weights";
    const REQUIRES: &'static [Parameter] = &[];
    const ACCEPTS: &'static [Parameter] = &[Parameter::Weight];
    const WORK_CONSERVING: bool = true;

    fn build(_setup: &Setup, flows: &[FlowParameters]) -> Result<WeightedRoundRobin, BuildError> {
        let mut weights = Vec::with_capacity(flows.len());
        for (index, parameters) in flows.iter().enumerate() {
            weights.push(weight_of(index, parameters)?);
        }
        Ok(WeightedRoundRobin::new(weights.into_iter()))
    }
}
