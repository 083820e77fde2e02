//! The path as a kernel sees it: which stages run where, what entries cost, and the queue before the user process.

use crate::cost::Clock;
use crate::cpu::{Job, Then};
use crate::machine::{Level, Machine, Stage};
use crate::node::Node;
use crate::outcome::Loss;
use crate::packet::Packet;
use std::collections::VecDeque;
use std::ops::Range;

/// The costs of entries, in picoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entries {
    pub interrupt: u64,
    pub soft: u64,
    pub reclaim: u64,
    pub stub: u64,
    pub poll: u64,
    pub switch: u64,
    pub classify: u64,
}

impl Entries {
    pub(crate) fn new(machine: &Machine) -> Entries {
        let clock = Clock::new(machine);
        let overheads = &machine.overheads;
        Entries {
            interrupt: clock.time(overheads.interrupt),
            soft: clock.time(overheads.soft),
            reclaim: clock.time(overheads.reclaim),
            stub: clock.time(overheads.stub),
            poll: clock.time(overheads.poll),
            switch: clock.time(overheads.switch),
            classify: clock.time(overheads.classify),
        }
    }
}

/// The stages of the path, cut where the level changes.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    /// Stages of device interrupts.
    pub input: Range<usize>,
    /// Stages of the software interrupt or of a thread.
    pub protocol: Range<usize>,
    /// Stages of the user process.
    user: Range<usize>,
    user_queue: VecDeque<Packet>,
    user_limit: usize,
    pub entries: Entries,
}

impl Path {
    pub(crate) fn new(machine: &Machine) -> Path {
        let stages = &machine.stages;
        let count = |is_before: fn(Level) -> bool| stages.iter().take_while(|stage| is_before(stage.level)).count();
        let input = count(|level| level == Level::Interrupt);
        let protocol = count(|level| level != Level::User);
        let user_limit = queue_limit(stages, protocol, Stage::DEFAULT_USER_QUEUE);
        Path {
            input: 0..input,
            protocol: input..protocol,
            user: protocol..stages.len(),
            user_queue: VecDeque::new(),
            user_limit,
            entries: Entries::new(machine),
        }
    }

    /// The limit of the queue before the protocol's stages.
    pub(crate) fn protocol_limit(&self, machine: &Machine, default: u32) -> usize {
        queue_limit(&machine.stages, self.protocol.start, default)
    }

    /// What follows when the kernel's part of the path is done.
    pub(crate) fn end_of_kernel(&self) -> Then {
        if self.user.is_empty() { Then::Output { by_user: false } } else { Then::ToUser }
    }

    /// A packet comes to the user process.
    pub(crate) fn queue_for_user(&mut self, packet: Packet, node: &mut Node) {
        if self.user_queue.len() < self.user_limit {
            self.user_queue.push_back(packet);
        } else {
            node.measures.lose(&packet, Loss::FlowQueue);
        }
    }

    /// Packets that wait for the user process.
    pub(crate) fn user_backlog(&self) -> usize {
        self.user_queue.len()
    }

    /// The user process's next packet.
    pub(crate) fn user_job(&mut self) -> Option<Job> {
        let packet = self.user_queue.pop_front()?;
        Some(Job::Path { packet, stages: self.user.clone(), extra: 0, then: Then::Output { by_user: true } })
    }

    /// Packets that wait for the user process.
    pub(crate) fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.user_queue.iter()
    }
}

fn queue_limit(stages: &[Stage], stage: usize, default: u32) -> usize {
    stages.get(stage).and_then(|stage| stage.queue).unwrap_or(default) as usize
}
