//! Sparse round robin (DRR++): flows that have just become backlogged go before those that have used up a turn, which share by deficits.
//!
//! **Law.** A flow that sends less than a quantum while each of the others has a turn is served before every flow that has used up a turn. Let `Q` be
//! the quantum and `L` the longest packet. Flows that are backlogged throughout an interval in which no new flow comes receive service that differs
//! by at most `Q + 2 L`.
//! **Source.** T. Høiland-Jørgensen et al., "The Flow Queue CoDel packet scheduler", RFC 8290, sections 4.1 and 4.2; DRR++ is from
//! M. MacGregor and W. Shi, "Deficits for bursty latency-critical flows", ICON 2000.
//! **State.** 24 bytes per flow: deficit, length of the head, the links of its list, and two flags.
//! **Cost.** Constant per packet. A flow that has become empty is visited at most twice more, which its own service pays for.
//! **RTL twin.** None.
//! **Deviations.** A new flow that loses its packets before it has sent any is as if it had not come; in the source it would stay in its list.
//! Turns cost wire bytes and are the same for all flows; weights are what a hierarchy above is for.

use super::active_list::{Links, linked};
use super::deficit_turns::flows_take_turns;
use super::sparse_turns::{InLists, SparseTurns};
use super::{BuildError, Decision, FlowParameters, Kept, Scheduler, Scheduling, Setup, activate_in_order};
use crate::algorithm::Algorithm;
use crate::packet::{Flow, Head};
use crate::prefetch::prefetch_in;
use crate::units::Time;
use alloc::vec::Vec;

/// Sparse round robin, the scheduler of FQ-CoDel.
///
/// ```
/// use tidegate_core::packet::{Colour, Flow, Head};
/// use tidegate_core::scheduler::{Decision, FlowParameters, Scheduler, Setup, SparseRoundRobin};
/// use tidegate_core::units::{Rate, Time};
///
/// let head = |number, length| Head { length, number, arrival: Time::ZERO, colour: Colour::Green };
/// let setup = Setup::new(Rate::new(10_000_000).unwrap(), 1514);
/// let mut scheduler: SparseRoundRobin = setup.build(&[FlowParameters::default(); 2]).unwrap();
/// scheduler.activate(Time::ZERO, Flow(0), head(0, 1514));
/// assert_eq!(scheduler.select(Time::ZERO), Decision::Serve(Flow(0)));
/// scheduler.served(Time::ZERO, Flow(0), Some(head(1, 1514)));
/// // Flow 0 has had its turn: flow 1, which is new, goes before it.
/// scheduler.activate(Time::ZERO, Flow(1), head(2, 100));
/// assert_eq!(scheduler.select(Time::ZERO), Decision::Serve(Flow(1)));
/// ```
#[derive(Clone, Debug)]
pub struct SparseRoundRobin {
    flows: Vec<Turn>,
    turns: SparseTurns,
}

/// In place of a flow.
const NO_FLOW: u32 = u32::MAX;

/// A flow's deficit and place.
#[derive(Clone, Copy, Debug)]
struct Turn {
    /// What it may still send, in bytes; not above 0 once its turn is used up. Neither a quantum nor a packet has more than 2^30.
    deficit: i32,
    /// Wire length of its head.
    length: u32,
    links: Links,
    has_head: bool,
    /// True if it is in the list of new flows.
    is_new: bool,
}

linked!(Turn);

impl InLists for Turn {
    #[inline]
    fn credit(&self) -> i64 {
        self.deficit.into()
    }

    #[inline]
    fn set_credit(&mut self, credit: i64) {
        self.deficit = credit as i32;
    }

    #[inline]
    fn length_mut(&mut self) -> &mut u32 {
        &mut self.length
    }

    #[inline]
    fn has_head(&self) -> bool {
        self.has_head
    }

    #[inline]
    fn set_head(&mut self, has_head: bool) {
        self.has_head = has_head;
    }

    #[inline]
    fn is_new(&self) -> bool {
        self.is_new
    }

    #[inline]
    fn set_new(&mut self, is_new: bool) {
        self.is_new = is_new;
    }
}

impl Turn {
    const NONE: Turn = Turn { deficit: 0, length: 0, links: Links::NONE, has_head: false, is_new: false };
}

impl SparseRoundRobin {
    /// True if no flow is backlogged, or was not long ago.
    pub(super) fn is_idle(&self) -> bool {
        self.turns.front().is_none()
    }
}

impl Scheduler for SparseRoundRobin {
    const WORK_CONSERVING: bool = true;

    flows_take_turns!();

    #[inline]
    fn lost(&mut self, _now: Time, flow: Flow, next: Option<Head>) {
        match next {
            Some(head) => self.flows[flow.index()].length = head.length,
            None => self.turns.lost_all(&mut self.flows, flow.0),
        }
    }

    /// A flow has no parameters.
    fn change(&mut self, _now: Time, _flow: Flow, _parameters: &FlowParameters) -> Result<(), BuildError> {
        Ok(())
    }

    fn forget(&mut self, _now: Time, flow: Flow) {
        self.turns.forget(&mut self.flows, flow.0);
        self.flows[flow.index()] = Turn::NONE;
    }

    fn adopt(&mut self, now: Time, old: &mut Self, kept: &[Kept]) {
        if kept.is_empty() {
            return;
        }
        let mut places = alloc::vec![NO_FLOW; old.flows.len()];
        for flow in kept {
            places[flow.from.index()] = flow.to.0;
        }
        let place = |flow: u32| Some(places[flow as usize]).filter(|&place| place != NO_FLOW);
        self.turns.adopt(&mut self.flows, &old.turns, &old.flows, place);
        activate_in_order(self, now, kept);
    }

    #[inline]
    fn prefetch_hint(&mut self) -> Option<Flow> {
        Some(self.turns.prefetch_hint())
    }

    #[inline]
    fn prefetch(&self, flow: Flow) {
        prefetch_in(&self.flows, flow.index());
        prefetch_in(&self.flows, flow.index() + 1);
    }
}

impl Algorithm<Scheduling> for SparseRoundRobin {
    const NAME: &'static str = "sparse-round-robin";
    const SUMMARY: &'static str = "flows that send less than their share go first, the others share bytes equally";

    fn build((setup, flows): (&Setup, &[FlowParameters])) -> Result<SparseRoundRobin, BuildError> {
        let quantum = setup.queue.quantum.map_or(setup.longest_packet.max(1), |quantum| quantum.bytes());
        Ok(SparseRoundRobin { flows: alloc::vec![Turn::NONE; setup.places(flows)], turns: SparseTurns::new(quantum) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::tests::{Backlog, Server, assert_same, steps};
    use crate::scheduler::{Quantum, QueueOptions};
    use crate::units::Rate;
    use alloc::collections::VecDeque;
    use proptest::prelude::*;

    const LONGEST: u32 = 1000;

    fn sparse(flows: usize, quantum: u32) -> Backlog<SparseRoundRobin> {
        let queue = QueueOptions { quantum: Some(Quantum::new(quantum).unwrap()), ..QueueOptions::default() };
        let setup = Setup { queue, ..Setup::new(Rate::MAX, LONGEST) };
        Backlog::new(setup.build(&alloc::vec![FlowParameters::default(); flows]).unwrap(), flows)
    }

    #[test]
    fn a_sparse_flow_goes_before_backlog_and_keeps_its_place_while_it_is_listed() {
        let mut server = sparse(3, 1514);
        for flow in [0, 1] {
            (0..4).for_each(|_| server.arrive(flow, 1000));
        }
        let mut order = Vec::new();
        for turn in 0..10 {
            if turn == 3 || turn == 5 {
                server.arrive(2, 100);
            }
            order.push(server.send().unwrap().0);
        }
        // Two packets of flow 1 begin its turn before the second packet of flow 2, which is at the end of the old list.
        assert_eq!(order, [0, 0, 1, 1, 2, 2, 0, 0, 1, 1]);
    }

    #[test]
    fn a_flow_that_comes_and_goes_does_not_interrupt_every_turn() {
        let mut server = sparse(2, 900);
        (0..20).for_each(|_| server.arrive(0, 300));
        let mut order = Vec::new();
        for _ in 0..14 {
            order.push(server.send().unwrap().0);
            if order.last() == Some(&0) && server.queues[1].is_empty() {
                server.arrive(1, 200);
            }
        }
        // Once it has been empty it waits among the old flows for its turn.
        assert_eq!(order, [0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 1, 0]);
    }

    /// RFC 8290 with lists that are searched, and whole queues.
    struct Textbook {
        queues: Vec<VecDeque<u32>>,
        deficits: Vec<i64>,
        new: VecDeque<usize>,
        old: VecDeque<usize>,
        quantum: u32,
    }

    impl Server for Textbook {
        fn arrive(&mut self, flow: usize, length: u32) {
            self.queues[flow].push_back(length);
            let is_listed = self.new.contains(&flow) || self.old.contains(&flow);
            if !is_listed {
                self.new.push_back(flow);
                self.deficits[flow] = self.quantum.into();
            }
        }

        fn send(&mut self) -> Option<(usize, u32)> {
            loop {
                let is_new = !self.new.is_empty();
                let list = if is_new { &mut self.new } else { &mut self.old };
                let flow = *list.front()?;
                if self.deficits[flow] <= 0 {
                    list.pop_front();
                    self.deficits[flow] += i64::from(self.quantum);
                    self.old.push_back(flow);
                } else if let Some(length) = self.queues[flow].pop_front() {
                    self.deficits[flow] -= i64::from(length);
                    return Some((flow, length));
                } else {
                    list.pop_front();
                    if is_new && !self.old.is_empty() {
                        self.old.push_back(flow);
                    }
                }
            }
        }

        fn lose_head(&mut self, flow: usize) {
            if self.queues[flow].pop_front().is_some() && self.queues[flow].is_empty() && self.deficits[flow] == self.quantum.into() {
                self.new.retain(|&new| new != flow);
            }
        }

        fn lose_tail(&mut self, flow: usize) {
            if self.queues[flow].len() == 1 {
                self.lose_head(flow);
            } else {
                self.queues[flow].pop_back();
            }
        }
    }

    proptest! {
        #[test]
        fn it_agrees_with_the_textbook(quantum in 256u32..1500, steps in steps(5, LONGEST)) {
            let queues = alloc::vec![VecDeque::new(); 5];
            let (new, old) = (VecDeque::new(), VecDeque::new());
            let mut textbook = Textbook { queues, deficits: alloc::vec![0; 5], new, old, quantum };
            assert_same(&mut sparse(5, quantum), &mut textbook, &steps);
        }
    }
}
