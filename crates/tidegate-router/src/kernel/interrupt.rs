//! An interrupt-driven kernel: device interrupts receive and reclaim, a software interrupt forwards.
//!
//! **Law.** A device interrupt serves its device until its rings are empty and nothing is left to reclaim; then the device may raise it again. Frames
//! go before reclaims.
//!
//! **Source.** 4.4BSD; Mogul and Ramakrishnan, "Eliminating receive livelock in an interrupt-driven kernel", ACM TOCS 15(3), 1997.
//!
//! **State.** The protocol queue, and a flag per device.
//!
//! **Cost.** Constant per packet.
//!
//! **RTL twin.** None.
//!
//! **Deviations.** None.

use super::path::Path;
use crate::cpu::{Job, Then};
use crate::machine::{Machine, Stage};
use crate::node::Node;
use crate::outcome::Loss;
use crate::packet::Packet;
use std::collections::VecDeque;

#[derive(Clone, Debug)]
pub(crate) struct InterruptKernel {
    core: usize,
    path: Path,
    protocol_queue: VecDeque<Packet>,
    protocol_limit: usize,
    /// Devices whose interrupts are pending or served.
    is_pending: Vec<bool>,
    pending: VecDeque<usize>,
    serving: Option<usize>,
    /// True until the first frame of an interrupt has been taken.
    is_first: bool,
    soft_runs: bool,
}

impl InterruptKernel {
    pub(crate) fn new(machine: &Machine, core: usize) -> InterruptKernel {
        let path = Path::new(machine);
        InterruptKernel {
            core,
            protocol_limit: path.protocol_limit(machine, Stage::DEFAULT_PROTOCOL_QUEUE),
            path,
            protocol_queue: VecDeque::new(),
            is_pending: vec![false; machine.nics.len()],
            pending: VecDeque::new(),
            serving: None,
            is_first: false,
            soft_runs: false,
        }
    }

    pub(crate) fn path_mut(&mut self) -> &mut Path {
        &mut self.path
    }

    /// A device raises its interrupt.
    pub(crate) fn raise(&mut self, nic: usize) {
        if !std::mem::replace(&mut self.is_pending[nic], true) {
            self.pending.push_back(nic);
        }
    }

    /// The next work of device interrupts.
    #[inline]
    pub(crate) fn interrupt(&mut self, node: &mut Node) -> Option<Job> {
        loop {
            let Some(nic) = self.serving else {
                self.serving = Some(self.pending.pop_front()?);
                self.is_first = true;
                return Some(Job::Fixed { work: self.path.entries.interrupt, then: Then::Nothing });
            };
            if let Some(mut packet) = node.take(nic, self.core) {
                packet.woken = std::mem::take(&mut self.is_first);
                return Some(Job::Path { packet, stages: self.path.input.clone(), extra: 0, then: Then::ToProtocol });
            }
            if node.completed(nic, self.core) > 0 {
                return Some(Job::Fixed { work: self.path.entries.reclaim, then: Then::Reclaim { nic: nic as u32 } });
            }
            self.is_pending[nic] = false;
            self.serving = None;
        }
    }

    /// The next work of the software interrupt.
    #[inline]
    pub(crate) fn soft(&mut self) -> Option<Job> {
        if self.protocol_queue.is_empty() {
            self.soft_runs = false;
            return None;
        }
        if !std::mem::replace(&mut self.soft_runs, true) {
            return Some(Job::Fixed { work: self.path.entries.soft, then: Then::Nothing });
        }
        let packet = self.protocol_queue.pop_front()?;
        Some(Job::Path { packet, stages: self.path.protocol.clone(), extra: 0, then: self.path.end_of_kernel() })
    }

    /// The device interrupt is done with a packet.
    #[inline]
    pub(crate) fn queue_for_protocol(&mut self, packet: Packet, node: &mut Node) {
        if self.protocol_queue.len() < self.protocol_limit {
            self.protocol_queue.push_back(packet);
        } else {
            node.measures.lose(&packet, Loss::ProtocolQueue);
        }
    }

    pub(crate) fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.protocol_queue.iter().chain(self.path.packets())
    }
}
