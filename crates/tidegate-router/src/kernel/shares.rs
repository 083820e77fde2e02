//! A kernel that shares the processor among processes: one for input, one per flow, one for output.
//!
//! **Law.** A process is chosen by WF2Q+ over the time that each used, and takes up to a batch of packets before the next choice. Its switch counts as
//! its time.
//!
//! **Source.** Qie, Bavier, Peterson, Karlin, "Scheduling computations on a software-based router", SIGMETRICS 2001, reconstructed from its abstract.
//!
//! **State.** A queue per flow, and the stamps of the scheduler.
//!
//! **Cost.** A choice looks at every process of the core.
//!
//! **RTL twin.** None.
//!
//! **Deviations.** Where each flow has a receive channel of its own there is no input process: a flow's process takes from its ring and runs the whole
//! path.

use super::path::Path;
use crate::cpu::{Job, Then};
use crate::fair::Fair;
use crate::machine::{self, Machine, RouterFlow, Stage};
use crate::node::Node;
use crate::outcome::Loss;
use crate::packet::Packet;
use std::collections::VecDeque;
use tidegate_core::fault;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Process {
    Input,
    /// The flow at this place among the core's.
    Flow(usize),
    Output,
}

/// A process that was chosen.
#[derive(Clone, Copy, Debug)]
struct Turn {
    process: usize,
    left: u32,
    used: u64,
}

#[derive(Clone, Debug)]
struct FlowQueue {
    flow: usize,
    packets: VecDeque<Packet>,
}

#[derive(Clone, Debug)]
pub(crate) struct SharesKernel {
    core: usize,
    path: Path,
    devices: usize,
    device: usize,
    processes: Vec<Process>,
    fair: Fair,
    queues: Vec<FlowQueue>,
    /// The place of each flow of the machine among the core's.
    place: Vec<usize>,
    queue_limit: usize,
    has_channels: bool,
    batch: u32,
    estimate: u64,
    is_awake: bool,
    is_first: bool,
    interrupt_pending: bool,
    turn: Option<Turn>,
}

impl SharesKernel {
    /// A kernel for those of the flows that have this core. Batch, weight and estimate are those of [`machine::Kernel::Shares`].
    pub(crate) fn new(machine: &Machine, flows: &[RouterFlow], cores: &[usize], core: usize) -> SharesKernel {
        let (batch, input_weight, estimate) = match machine.kernel {
            machine::Kernel::Shares { batch, input_weight, estimate } => (batch, input_weight, estimate.picoseconds()),
            _ => (1, 1.0, 0),
        };
        let has_channels = machine.guard.is_some();
        let mut processes = Vec::new();
        let mut weights = Vec::new();
        if !has_channels {
            processes.push(Process::Input);
            weights.push(if fault!(RouterIgnoresWeights) { 1.0 } else { input_weight });
        }
        let (mut queues, mut place) = (Vec::new(), vec![usize::MAX; flows.len()]);
        for (flow, _) in cores.iter().enumerate().filter(|&(_, &its)| its == core) {
            place[flow] = queues.len();
            processes.push(Process::Flow(queues.len()));
            weights.push(f64::from(flows[flow].weight));
            queues.push(FlowQueue { flow, packets: VecDeque::new() });
        }
        processes.push(Process::Output);
        weights.push(1.0);
        let path = Path::new(machine);
        SharesKernel {
            core,
            queue_limit: path.protocol_limit(machine, Stage::DEFAULT_FLOW_QUEUE),
            path,
            devices: machine.nics.len(),
            device: 0,
            processes,
            fair: Fair::new(&weights),
            queues,
            place,
            has_channels,
            batch: if fault!(RouterIgnoresBatch) { 1 } else { batch },
            estimate: estimate * u64::from(batch),
            is_awake: false,
            is_first: false,
            interrupt_pending: false,
            turn: None,
        }
    }

    pub(crate) fn path_mut(&mut self) -> &mut Path {
        &mut self.path
    }

    /// A device has work.
    pub(crate) fn raise(&mut self) {
        self.interrupt_pending |= !self.is_awake;
    }

    /// The processes run.
    pub(crate) fn run(&mut self) {
        self.interrupt_pending = false;
        self.is_awake = true;
        self.is_first = true;
    }

    /// The interrupt that wakes the processes.
    #[inline]
    pub(crate) fn interrupt(&mut self) -> Option<Job> {
        if !std::mem::take(&mut self.interrupt_pending) {
            return None;
        }
        let entries = &self.path.entries;
        Some(Job::Fixed { work: entries.interrupt + entries.stub, then: Then::WakeThread })
    }

    /// True if a process has work.
    fn has_work(&self, process: usize, node: &Node) -> bool {
        match self.processes[process] {
            Process::Input => (0..self.devices).any(|nic| node.has_frames(nic, self.core)),
            Process::Flow(place) if self.has_channels => {
                let way = node.ways[self.queues[place].flow];
                !node.nics[way.input].channels[way.channel].ring.is_empty()
            }
            Process::Flow(place) => !self.queues[place].packets.is_empty(),
            Process::Output => (0..self.devices).any(|nic| node.completed(nic, self.core) > 0),
        }
    }

    /// The next work of the processes.
    #[inline]
    pub(crate) fn thread(&mut self, node: &mut Node) -> Option<Job> {
        if !self.is_awake {
            return None;
        }
        loop {
            let Some(Turn { process, left, used }) = self.turn else { return self.choose(node) };
            let has_work = self.has_work(process, node);
            if left == 0 || !has_work {
                self.fair.charge(process, used, has_work);
                self.turn = None;
                continue;
            }
            let job = self.job(process, node)?;
            let work = match &job {
                Job::Fixed { work, .. } => *work,
                Job::Path { packet, stages, extra, .. } => node.costs.stages(packet, stages.clone()) + extra,
            };
            self.turn = Some(Turn { process, left: left - 1, used: used + work });
            return Some(job);
        }
    }

    /// Chooses a process and switches to it; the processes sleep if none has work.
    fn choose(&mut self, node: &Node) -> Option<Job> {
        for process in 0..self.processes.len() {
            if self.has_work(process, node) {
                self.fair.ready(process);
            }
        }
        let estimate = self.estimate;
        let Some(process) = self.fair.choose(|_| estimate) else {
            self.is_awake = false;
            return None;
        };
        let switch = self.path.entries.switch;
        self.turn = Some(Turn { process, left: self.batch, used: switch });
        Some(Job::Fixed { work: switch, then: Then::Nothing })
    }

    fn job(&mut self, process: usize, node: &mut Node) -> Option<Job> {
        match self.processes[process] {
            Process::Input => {
                let next = (0..self.devices).map(|step| (self.device + step) % self.devices);
                let nic = next.into_iter().find(|&nic| node.has_frames(nic, self.core))?;
                self.device = (nic + 1) % self.devices;
                let mut packet = node.take(nic, self.core)?;
                packet.woken = std::mem::take(&mut self.is_first);
                let extra = self.path.entries.classify;
                Some(Job::Path { packet, stages: self.path.input.clone(), extra, then: Then::ToFlow })
            }
            Process::Flow(place) if self.has_channels => {
                let way = node.ways[self.queues[place].flow];
                let mut packet = node.take_from(way.input, way.channel, self.core)?;
                packet.woken = std::mem::take(&mut self.is_first);
                Some(Job::Path { packet, stages: 0..self.path.protocol.end, extra: 0, then: self.path.end_of_kernel() })
            }
            Process::Flow(place) => {
                let packet = self.queues[place].packets.pop_front()?;
                Some(Job::Path { packet, stages: self.path.protocol.clone(), extra: 0, then: self.path.end_of_kernel() })
            }
            Process::Output => {
                let nic = (0..self.devices).find(|&nic| node.completed(nic, self.core) > 0)?;
                Some(Job::Fixed { work: self.path.entries.reclaim, then: Then::Reclaim { nic: nic as u32 } })
            }
        }
    }

    /// The input process is done with a packet.
    #[inline]
    pub(crate) fn queue_for_flow(&mut self, packet: Packet, node: &mut Node) {
        let queue = &mut self.queues[self.place[packet.flow as usize]].packets;
        if queue.len() < self.queue_limit {
            queue.push_back(packet);
        } else {
            node.measures.lose(&packet, Loss::FlowQueue);
        }
    }

    pub(crate) fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.queues.iter().flat_map(|queue| &queue.packets).chain(self.path.packets())
    }
}
