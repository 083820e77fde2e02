//! The queues behind a scheduler under test, without a port: what a unit test needs to drive one scheduler and a textbook model of it
//! side by side.

pub(super) mod node;

use super::{Decision, Scheduler};
use crate::packet::{Colour, Flow, Head};
use crate::units::Time;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use proptest::prelude::*;

/// A scheduler, or a slow and obvious model of one, together with the queues of its flows.
pub(super) trait Server {
    /// A packet arrives.
    fn arrive(&mut self, flow: usize, length: u32);
    /// The next packet leaves: its flow and length.
    fn send(&mut self) -> Option<(usize, u32)>;
    /// The head of this flow's queue is pushed out, if there is one.
    fn lose_head(&mut self, flow: usize);
    /// The youngest packet of this flow's queue is pushed out, if there is one.
    fn lose_tail(&mut self, flow: usize);
}

/// A real scheduler with its queues.
pub(super) struct Backlog<S> {
    pub(super) scheduler: S,
    pub(super) queues: Vec<VecDeque<Head>>,
    number: u32,
}

impl<S: Scheduler> Backlog<S> {
    pub(super) fn new(scheduler: S, flows: usize) -> Backlog<S> {
        Backlog { scheduler, queues: alloc::vec![VecDeque::new(); flows], number: 0 }
    }
}

impl<S: Scheduler> Server for Backlog<S> {
    fn arrive(&mut self, flow: usize, length: u32) {
        let head = Head { length, number: self.number, arrival: Time::ZERO, colour: Colour::Green };
        self.number += 1;
        self.queues[flow].push_back(head);
        if self.queues[flow].len() == 1 {
            self.scheduler.activate(Time::ZERO, Flow(flow as u32), head);
        }
    }

    fn send(&mut self) -> Option<(usize, u32)> {
        match self.scheduler.select(Time::ZERO) {
            Decision::Serve(flow) => {
                let sent = self.queues[flow.index()].pop_front().expect("only backlogged flows are named");
                self.scheduler.served(Time::ZERO, flow, self.queues[flow.index()].front().copied());
                Some((flow.index(), sent.length))
            }
            Decision::Idle => {
                assert!(self.queues.iter().all(VecDeque::is_empty), "idle while something is queued");
                None
            }
            other => panic!("{other:?} from a work-conserving scheduler"),
        }
    }

    fn lose_head(&mut self, flow: usize) {
        if self.queues[flow].pop_front().is_some() {
            self.scheduler.lost(Time::ZERO, Flow(flow as u32), self.queues[flow].front().copied());
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

/// One step of a random workload.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Arrive { flow: usize, length: u32 },
    Send,
    LoseHead(usize),
    LoseTail(usize),
}

/// Random steps over `flows` flows with packets of 1 to `longest` bytes, kept so close to empty that queues often run dry.
pub(super) fn steps(flows: usize, longest: u32) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..flows, 1..=longest).prop_map(|(flow, length)| Step::Arrive { flow, length }),
        3 => Just(Step::Send),
        1 => (0..flows).prop_map(Step::LoseHead),
        1 => (0..flows).prop_map(Step::LoseTail),
    ];
    proptest::collection::vec(step, 0..300)
}

/// Drives both with the same steps and fails at the first difference; in the end both are emptied.
pub(super) fn assert_same(one: &mut impl Server, other: &mut impl Server, steps: &[Step]) {
    for (index, &step) in steps.iter().enumerate() {
        match step {
            Step::Arrive { flow, length } => {
                one.arrive(flow, length);
                other.arrive(flow, length);
            }
            Step::Send => assert_eq!(one.send(), other.send(), "step {index}"),
            Step::LoseHead(flow) => {
                one.lose_head(flow);
                other.lose_head(flow);
            }
            Step::LoseTail(flow) => {
                one.lose_tail(flow);
                other.lose_tail(flow);
            }
        }
    }
    loop {
        let sent = one.send();
        assert_eq!(sent, other.send(), "while emptying");
        if sent.is_none() {
            return;
        }
    }
}
