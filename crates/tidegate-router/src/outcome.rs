//! One trial of a machine: what is asked, and what it measured.
//!
//! **Conservation.** Of each flow, at every instant, `arrived = left + dropped (by reason) + held`, in packets. Frames arrive with their last bit and
//! leave with their last bit.

use tidegate_core::units::Duration;
use tidegate_statistics::Histogram;

/// How much of the machine is modelled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fidelity {
    /// A station per function of the path.
    Function,
    /// A station per level: the functions of one level are one service, of the same total.
    Level,
    /// One first-in first-out queue with one server, for the whole machine: no levels, no bus, no limits.
    SingleQueue {
        /// Adds the entries of an isolated packet to its service: two interrupts, the software interrupt, a reclaim.
        entries: bool,
    },
}

/// One trial. It lasts for `warm_up + duration + tail`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trial {
    /// The time before measurement begins.
    pub warm_up: Duration,
    /// The measured time. Packets that arrive in it count as offered, those that leave in it as forwarded.
    pub duration: Duration,
    /// The time after it, in which packets that arrived in the measured time may still leave: their delays count.
    pub tail: Duration,
    /// The same seed gives the same bytes.
    pub seed: u64,
    /// How much of the machine is modelled.
    pub fidelity: Fidelity,
    /// Ends the trial as soon as this many packets that arrived in the measured time are lost.
    pub stop_at_loss: Option<u64>,
}

impl Trial {
    /// The measured time: from its first instant to the first after it, in picoseconds.
    pub(crate) fn window(&self) -> (u64, u64) {
        let begin = self.warm_up.picoseconds();
        (begin, begin + self.duration.picoseconds())
    }

    /// A trial of this length after 50 ms of warm-up and before a tail of 20 ms, per function, without a limit of losses.
    pub const fn new(duration: Duration, seed: u64) -> Trial {
        Trial {
            warm_up: Duration::from_milliseconds(50),
            duration,
            tail: Duration::from_milliseconds(20),
            seed,
            fidelity: Fidelity::Function,
            stop_at_loss: None,
        }
    }
}

/// Why a packet is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loss {
    /// The receive FIFO was full, while the ring had free descriptors: the bus was late.
    Fifo,
    /// The receive FIFO was full, and all descriptors were taken: the processor was late.
    Ring,
    /// The protocol queue was full.
    ProtocolQueue,
    /// The queue of a flow or of the user process was full.
    FlowQueue,
    /// The interface queue was full.
    InterfaceQueue,
}

/// Packets lost, by reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Losses {
    /// [`Loss::Fifo`].
    pub fifo: u64,
    /// [`Loss::Ring`].
    pub ring: u64,
    /// [`Loss::ProtocolQueue`].
    pub protocol_queue: u64,
    /// [`Loss::FlowQueue`].
    pub flow_queue: u64,
    /// [`Loss::InterfaceQueue`].
    pub interface_queue: u64,
}

impl Losses {
    pub(crate) fn count(&mut self, loss: Loss) {
        let counter = match loss {
            Loss::Fifo => &mut self.fifo,
            Loss::Ring => &mut self.ring,
            Loss::ProtocolQueue => &mut self.protocol_queue,
            Loss::FlowQueue => &mut self.flow_queue,
            Loss::InterfaceQueue => &mut self.interface_queue,
        };
        *counter += 1;
    }

    /// Adds those of another flow.
    pub fn add(&mut self, other: &Losses) {
        self.fifo += other.fifo;
        self.ring += other.ring;
        self.protocol_queue += other.protocol_queue;
        self.flow_queue += other.flow_queue;
        self.interface_queue += other.interface_queue;
    }

    /// All of them.
    pub const fn total(&self) -> u64 {
        self.fifo + self.ring + self.protocol_queue + self.flow_queue + self.interface_queue
    }
}

/// What one flow went through.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FlowOutcome {
    /// Packets that arrived in the measured time.
    pub offered: u64,
    /// Packets that left in the measured time.
    pub forwarded: u64,
    /// Of the packets that arrived in the measured time, those lost until the end of the trial.
    pub lost: Losses,
    /// Bytes of frames that left in the measured time.
    pub forwarded_bytes: u64,
    /// From the last bit in to the last bit out, of the packets that arrived in the measured time and left before the end of the trial.
    pub delays: Histogram,
    /// Packets of the whole trial.
    pub account: Account,
}

/// The packets of one flow from the start of a trial.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Account {
    /// Those whose last bit arrived.
    pub arrived: u64,
    /// Those whose last bit left.
    pub left: u64,
    /// Those lost.
    pub lost: u64,
    /// Those in the machine at the end: in FIFOs, on the bus, in rings, in queues, in service.
    pub held: u64,
}

impl Account {
    /// True if nothing was made or forgotten.
    pub const fn is_conserved(&self) -> bool {
        self.arrived == self.left + self.lost + self.held
    }
}

/// What one trial measured.
#[derive(Clone, PartialEq, Debug)]
pub struct RouterOutcome {
    /// The flows in their order.
    pub flows: Vec<FlowOutcome>,
    /// The measured time: shorter than asked for if the trial ended at its limit of losses.
    pub measured: Duration,
    /// The part of the measured time that each core worked, at each level.
    pub cores: Vec<CoreUse>,
    /// The part of the measured time that the bus was busy: one value for PCI, to the host and from the host for PCI Express.
    pub bus: Vec<f64>,
    /// Packets that a polling thread or a process took in its turn, where it took any. The unit is packets, not picoseconds.
    pub batches: Batches,
    /// What the guard did.
    pub guard: GuardUse,
    /// Events of the whole trial.
    pub events: u64,
}

/// The part of the measured time that a core worked.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct CoreUse {
    /// At noise.
    pub noise: f64,
    /// At device interrupts, with the guard.
    pub interrupt: f64,
    /// At the software interrupt or in kernel threads.
    pub kernel: f64,
    /// In user processes.
    pub user: f64,
}

impl CoreUse {
    /// At anything.
    pub fn total(&self) -> f64 {
        self.noise + self.interrupt + self.kernel + self.user
    }
}

/// The sizes of batches.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Batches {
    /// The number of batches by size; the last entry also holds the larger ones.
    pub counts: Vec<u64>,
    /// Packets in all batches.
    pub packets: u64,
}

impl Batches {
    /// Adds those of a core, less those before measurement began.
    pub(crate) fn add(&mut self, batches: &Batches, before: Option<&Batches>) {
        self.packets += batches.packets - before.map_or(0, |before| before.packets);
        self.counts.resize(self.counts.len().max(batches.counts.len()), 0);
        for (size, count) in batches.counts.iter().enumerate() {
            let before = before.and_then(|before| before.counts.get(size)).copied().unwrap_or_default();
            self.counts[size] += count - before;
        }
    }

    /// The mean size, over turns that found nothing too; `None` without a turn.
    pub fn mean(&self) -> Option<f64> {
        let turns: u64 = self.counts.iter().sum();
        (turns > 0).then(|| self.packets as f64 / turns as f64)
    }

    /// The least size that a part of the turns, from 0 to 1, does not exceed; `None` without a turn.
    pub fn quantile(&self, part: f64) -> Option<usize> {
        let turns: u64 = self.counts.iter().sum();
        let rank = (part * turns as f64).ceil() as u64;
        let mut below = 0;
        (turns > 0).then_some(())?;
        self.counts.iter().position(|count| {
            below += count;
            below >= rank
        })
    }
}

/// What the guard did in the measured time.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct GuardUse {
    /// Activations.
    pub activations: u64,
    /// Those that found it, or left it, idle.
    pub idle: u64,
    /// The mean over activations of the largest credit or debt of a flow, in parts of the capacity of a period.
    pub mean_credit: f64,
    /// The largest of them.
    pub largest_credit: f64,
}
