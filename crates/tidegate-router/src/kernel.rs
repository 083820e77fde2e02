//! The kernel of one core: what it does next at each level, and what follows when that is done.

mod interrupt;
mod path;
mod polling;
mod shares;

use crate::cpu::{INTERRUPT, Job, KERNEL, Then, USER};
use crate::machine::{self, Machine, RouterFlow};
use crate::node::Node;
use crate::outcome::Batches;
use crate::packet::Packet;
use interrupt::InterruptKernel;
pub(crate) use path::Entries;
use path::Path;
use polling::PollingKernel;
use shares::SharesKernel;
use tidegate_core::fault;
use tidegate_sim::random::Stream;

/// Any kernel.
#[derive(Debug)]
pub(crate) enum Kernel {
    Interrupt(InterruptKernel),
    Polling(Box<PollingKernel>),
    Shares(SharesKernel),
}

impl Kernel {
    /// The kernel of a core; `cores` has the core of each flow.
    pub(crate) fn new(machine: &Machine, flows: &[RouterFlow], cores: &[usize], core: usize, stream: Stream) -> Kernel {
        match machine.kernel {
            machine::Kernel::Interrupt => Kernel::Interrupt(InterruptKernel::new(machine, core)),
            machine::Kernel::Polling { .. } => Kernel::Polling(Box::new(PollingKernel::new(machine, core, stream))),
            machine::Kernel::Shares { .. } => Kernel::Shares(SharesKernel::new(machine, flows, cores, core)),
        }
    }

    fn path_mut(&mut self) -> &mut Path {
        match self {
            Kernel::Interrupt(kernel) => kernel.path_mut(),
            Kernel::Polling(kernel) => kernel.path_mut(),
            Kernel::Shares(kernel) => kernel.path_mut(),
        }
    }

    /// A device has frames in a ring, or completed transmissions.
    #[inline]
    pub(crate) fn raise(&mut self, nic: usize, now: u64, node: &mut Node) {
        match self {
            Kernel::Interrupt(kernel) => kernel.raise(nic),
            Kernel::Polling(kernel) => kernel.raise(nic, now, node),
            Kernel::Shares(kernel) => kernel.raise(),
        }
    }

    /// The next work at a level below noise.
    #[inline]
    pub(crate) fn next(&mut self, level: usize, now: u64, node: &mut Node) -> Option<Job> {
        match (level, self) {
            (INTERRUPT, Kernel::Interrupt(kernel)) if fault!(RouterSoftFirst) => kernel.soft(),
            (KERNEL, Kernel::Interrupt(kernel)) if fault!(RouterSoftFirst) => kernel.interrupt(node),
            (INTERRUPT, Kernel::Interrupt(kernel)) => kernel.interrupt(node),
            (INTERRUPT, Kernel::Polling(kernel)) => kernel.interrupt(),
            (INTERRUPT, Kernel::Shares(kernel)) => kernel.interrupt(),
            (KERNEL, Kernel::Interrupt(kernel)) => kernel.soft(),
            (KERNEL, Kernel::Polling(kernel)) => kernel.thread(now, node),
            (KERNEL, Kernel::Shares(kernel)) => kernel.thread(node),
            (USER, kernel) => kernel.path_mut().user_job(),
            _ => None,
        }
    }

    /// What follows a job for a packet.
    #[inline]
    pub(crate) fn packet_done(&mut self, then: Then, packet: Packet, now: u64, node: &mut Node) {
        match (then, self) {
            (Then::ToProtocol, Kernel::Interrupt(kernel)) => kernel.queue_for_protocol(packet, node),
            (Then::ToFlow, Kernel::Shares(kernel)) => kernel.queue_for_flow(packet, node),
            (Then::ToUser, Kernel::Polling(kernel)) => kernel.queue_for_user(packet, now, node),
            (Then::ToUser, kernel) => kernel.path_mut().queue_for_user(packet, node),
            (Then::Output { by_user }, kernel) => {
                node.output(packet);
                if let (true, Kernel::Polling(kernel)) = (by_user, kernel) {
                    kernel.user_done(node);
                }
            }
            _ => {}
        }
    }

    /// The interrupt that wakes the thread or the processes is done.
    pub(crate) fn run_thread(&mut self) {
        match self {
            Kernel::Interrupt(_) => {}
            Kernel::Polling(kernel) => kernel.run(),
            Kernel::Shares(kernel) => kernel.run(),
        }
    }

    /// The timer of the polling thread fires.
    pub(crate) fn wake_up(&mut self, now: u64, node: &mut Node) {
        if let Kernel::Polling(kernel) = self {
            kernel.wake_up(now, node);
        }
    }

    /// The feedback times out.
    pub(crate) fn time_out(&mut self, node: &mut Node) {
        if let Kernel::Polling(kernel) = self {
            kernel.resume(node);
        }
    }

    /// The batches so far; empty for kernels without them.
    pub(crate) fn batches(&self) -> Batches {
        match self {
            Kernel::Polling(kernel) => kernel.batches.clone(),
            _ => Batches::default(),
        }
    }

    /// Packets in the kernel's queues.
    pub(crate) fn packets(&self) -> Box<dyn Iterator<Item = &Packet> + '_> {
        match self {
            Kernel::Interrupt(kernel) => Box::new(kernel.packets()),
            Kernel::Polling(kernel) => Box::new(kernel.packets()),
            Kernel::Shares(kernel) => Box::new(kernel.packets()),
        }
    }
}
