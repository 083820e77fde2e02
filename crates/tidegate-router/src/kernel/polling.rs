//! A polling kernel: an interrupt wakes a thread, which serves the devices in turn, each up to its quota, every packet to completion.
//!
//! **Law.** While the thread is awake no device interrupts. It sleeps only after a whole round without work, when nothing has come since.
//!
//! **Source.** Mogul and Ramakrishnan, ACM TOCS 15(3), 1997, sections 6.4 to 6.6.
//!
//! **State.** The thread's place in its round; the queue of the user process.
//!
//! **Cost.** Constant per packet; an idle thread costs no event.
//!
//! **RTL twin.** None.
//!
//! **Deviations.** With gated batches the number of frames is fixed when a device's turn begins, as a driver of DPDK does. A thread that never sleeps is
//! not simulated while it finds nothing: its empty turns follow from the time.

use super::path::Path;
use crate::agenda::Due;
use crate::cpu::{Job, Then};
use crate::machine::{self, Feedback, Machine, Wake};
use crate::node::Node;
use crate::noise::draw;
use crate::outcome::Batches;
use crate::packet::Packet;
use tidegate_core::fault;
use tidegate_sim::random::Stream;
use tidegate_sim::time::NEVER;

/// Where the thread is in a device's turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Enter,
    Look,
    Receive { left: u32, taken: u32 },
    Transmit { left: u32 },
}

#[derive(Debug)]
pub(crate) struct PollingKernel {
    core: usize,
    path: Path,
    devices: usize,
    quota: u32,
    is_gated: bool,
    feedback: Option<Feedback>,
    wake: Wake,
    stream: Stream,
    is_awake: bool,
    is_first: bool,
    interrupt_pending: bool,
    asleep_since: u64,
    device: usize,
    phase: Phase,
    found_work: bool,
    is_inhibited: bool,
    pub batches: Batches,
}

/// Batches of this many packets or more are counted together.
const LONGEST_BATCH: usize = 1024;

impl PollingKernel {
    /// `wake` and the rest are those of [`machine::Kernel::Polling`].
    pub(crate) fn new(machine: &Machine, core: usize, stream: Stream) -> PollingKernel {
        let (quota, is_gated, feedback, wake) = match &machine.kernel {
            machine::Kernel::Polling { quota, gated, feedback, wake } => (*quota, *gated, *feedback, wake.clone()),
            _ => (None, false, None, Wake::Interrupt),
        };
        PollingKernel {
            core,
            path: Path::new(machine),
            devices: machine.nics.len(),
            quota: quota.filter(|_| !fault!(RouterWithoutQuota)).unwrap_or(u32::MAX),
            is_gated: is_gated && !fault!(RouterWithoutGate),
            feedback: feedback.filter(|_| !fault!(RouterWithoutFeedback)),
            wake,
            stream,
            is_awake: false,
            is_first: false,
            interrupt_pending: false,
            asleep_since: 0,
            device: 0,
            phase: Phase::Enter,
            found_work: false,
            is_inhibited: false,
            batches: Batches { counts: vec![0; LONGEST_BATCH + 1], packets: 0 },
        }
    }

    pub(crate) fn path_mut(&mut self) -> &mut Path {
        &mut self.path
    }

    /// A device has work.
    pub(crate) fn raise(&mut self, nic: usize, now: u64, node: &mut Node) {
        if self.is_awake && fault!(RouterNeverMasks) {
            self.interrupt_pending = true;
        }
        if self.is_awake || self.is_inhibited && node.completed(nic, self.core) == 0 {
            return;
        }
        let timer = Due::Thread(self.core);
        match &self.wake {
            Wake::Interrupt => self.interrupt_pending = true,
            Wake::After(latency) => {
                if !node.agenda.is_set(timer) {
                    node.agenda.set(timer, now + draw(latency, &mut self.stream));
                }
            }
            Wake::Busy => {
                // The thread looks at device d at the ends of its turns d + 1, d + 1 + devices, ... since it found nothing.
                let turn = self.path.entries.poll.max(1);
                let least = (now - self.asleep_since).div_ceil(turn).max(1);
                let devices = self.devices as u64;
                let turns = least + (nic as u64 + 1 + devices - least % devices) % devices;
                let at = self.asleep_since + turns * turn;
                if at < node.agenda.at(timer) {
                    node.agenda.set(timer, at);
                    self.device = nic;
                }
            }
        }
    }

    /// The thread's timer fires: it runs.
    pub(crate) fn wake_up(&mut self, now: u64, node: &mut Node) {
        node.agenda.set(Due::Thread(self.core), NEVER);
        if matches!(self.wake, Wake::Busy) {
            let turns = (now - self.asleep_since) / self.path.entries.poll.max(1);
            self.batches.counts[0] += turns.saturating_sub(1);
            self.phase = Phase::Look;
        }
        self.run();
    }

    /// The thread runs.
    pub(crate) fn run(&mut self) {
        self.interrupt_pending = false;
        self.is_first |= !self.is_awake;
        self.is_awake = true;
    }

    /// The interrupt that wakes the thread.
    #[inline]
    pub(crate) fn interrupt(&mut self) -> Option<Job> {
        if !std::mem::take(&mut self.interrupt_pending) {
            return None;
        }
        let entries = &self.path.entries;
        Some(Job::Fixed { work: entries.interrupt + entries.stub, then: Then::WakeThread })
    }

    /// The next work of the thread.
    #[inline]
    pub(crate) fn thread(&mut self, now: u64, node: &mut Node) -> Option<Job> {
        if !self.is_awake {
            return None;
        }
        loop {
            match self.phase {
                Phase::Enter => {
                    self.phase = Phase::Look;
                    return Some(Job::Fixed { work: self.path.entries.poll, then: Then::Nothing });
                }
                Phase::Look => {
                    let gate = if self.is_gated { node.frames(self.device, self.core) as u32 } else { u32::MAX };
                    self.phase = Phase::Receive { left: gate.min(self.quota), taken: 0 };
                }
                Phase::Receive { left, taken } => {
                    let next = if left > 0 && !self.is_inhibited { node.take(self.device, self.core) } else { None };
                    if let Some(mut packet) = next {
                        self.phase = Phase::Receive { left: left - 1, taken: taken + 1 };
                        self.found_work = true;
                        packet.woken = std::mem::take(&mut self.is_first);
                        return Some(Job::Path { packet, stages: 0..self.path.protocol.end, extra: 0, then: self.path.end_of_kernel() });
                    }
                    self.batches.counts[(taken as usize).min(LONGEST_BATCH)] += 1;
                    self.batches.packets += u64::from(taken);
                    self.phase = Phase::Transmit { left: self.quota };
                }
                Phase::Transmit { left } => {
                    if left > 0 && node.completed(self.device, self.core) > 0 {
                        self.phase = Phase::Transmit { left: left - 1 };
                        self.found_work = true;
                        let then = Then::Reclaim { nic: self.device as u32 };
                        return Some(Job::Fixed { work: self.path.entries.reclaim, then });
                    }
                    self.phase = Phase::Enter;
                    self.device = (self.device + 1) % self.devices;
                    if self.device == 0 && !std::mem::take(&mut self.found_work) && !self.has_work(node) {
                        self.is_awake = false;
                        self.asleep_since = now;
                        return None;
                    }
                }
            }
        }
    }
}

impl PollingKernel {
    /// True if a device has work, looked at once more before the thread sleeps.
    fn has_work(&self, node: &Node) -> bool {
        let has = |nic| !self.is_inhibited && node.has_frames(nic, self.core) || node.completed(nic, self.core) > 0;
        (0..self.devices).any(has)
    }

    /// The thread is done with a packet that goes on to the user process.
    pub(crate) fn queue_for_user(&mut self, packet: Packet, now: u64, node: &mut Node) {
        self.path.queue_for_user(packet, node);
        let Some(feedback) = self.feedback else { return };
        if self.path.user_backlog() >= feedback.high as usize && !self.is_inhibited {
            self.is_inhibited = true;
            node.agenda.set(Due::Feedback(self.core), now + feedback.timeout.picoseconds());
        }
    }

    /// The user process is done with a packet.
    pub(crate) fn user_done(&mut self, node: &mut Node) {
        let low = self.feedback.map_or(0, |feedback| feedback.low as usize);
        if self.is_inhibited && self.path.user_backlog() <= low {
            self.resume(node);
        }
    }

    /// Reception resumes.
    pub(crate) fn resume(&mut self, node: &mut Node) {
        node.agenda.set(Due::Feedback(self.core), NEVER);
        self.is_inhibited = false;
        self.run();
    }

    pub(crate) fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.path.packets()
    }
}
