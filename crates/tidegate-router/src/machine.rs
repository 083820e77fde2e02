//! What describes a machine that forwards frames, and the flows through it.
//!
//! Times are [`Duration`]s, integer picoseconds. Work on the processor is cycles, which scale with its clock, plus time in memory, which does not.
//! Sizes are bytes of frames with their check sequence, or frames. Nothing here runs; the engine rounds each product to the nearest picosecond.
//!
//! **Source.** The network of queues is that of a BSD kernel's forwarding path: device interrupt, protocol queue, software interrupt, interface
//! queue. Polling is Mogul and Ramakrishnan, ACM TOCS 15(3), 1997; processor shares are Qie et al., SIGMETRICS 2001.

use std::sync::Arc;
use tidegate_core::units::{Duration, Rate};
use tidegate_sim::Source;

/// A machine.
#[derive(Clone, PartialEq, Debug)]
pub struct Machine {
    /// Processor cores, at least 1. A receive channel belongs to the core `channel % cores`; each core runs the same kernel.
    pub cores: u32,
    /// Cycles per second of a core.
    pub clock_hz: u64,
    /// A factor on every [`Work::memory`] and [`Stage::memory`]; 1 for the machine as described.
    pub memory_scale: f64,
    /// Routes in the forwarding table, at least 1: [`Stage::per_route_bit`] counts `log2(routes)`.
    pub routes: u64,
    /// Memory bandwidth, for ceilings only: the engine does not queue for memory. `None` if it does not limit.
    pub memory: Option<MemorySystem>,
    /// The largest share of the load that one core has, times the number of cores: 1 if channels spread it evenly. For ceilings only; the engine
    /// has the channels themselves.
    pub imbalance: f64,
    /// The bus that all network interfaces share.
    pub bus: Bus,
    /// The network interfaces.
    pub nics: Vec<Nic>,
    /// How the kernel schedules the path.
    pub kernel: Kernel,
    /// What the kernel spends besides the path.
    pub overheads: Overheads,
    /// The functions of the forwarding path, in the order in which a packet passes them.
    pub stages: Vec<Stage>,
    /// How the cost of a stage varies from packet to packet.
    pub variation: Variation,
    /// Other work, which preempts the path at any level.
    pub noise: Vec<Noise>,
    /// The guard of the bus: a receive channel per flow, whose vacancies it sets.
    pub guard: Option<BusGuard>,
}

/// Work of a fixed cost: `cycles / clock + memory * scale`.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Work {
    /// Cycles of the core.
    pub cycles: f64,
    /// Time in memory, which does not scale with the clock.
    pub memory: Duration,
}

impl Work {
    /// No work.
    pub const NONE: Work = Work { cycles: 0.0, memory: Duration::ZERO };
}

/// One function of the forwarding path, at
/// `cycles / clock + memory * scale + per_byte * length + per_route_bit * log2(routes)` per packet.
#[derive(Clone, PartialEq, Debug)]
pub struct Stage {
    /// Its name.
    pub name: String,
    /// Cycles of the core per packet.
    pub cycles: f64,
    /// Time in memory per packet.
    pub memory: Duration,
    /// Time per byte of the frame.
    pub per_byte: Duration,
    /// Time per bit of the table's size.
    pub per_route_bit: Duration,
    /// The level it runs at.
    pub level: Level,
    /// The limit in packets of the queue before it, where its level differs from the stage's before; `None` for the kernel's default
    /// ([`Stage::DEFAULT_PROTOCOL_QUEUE`], [`Stage::DEFAULT_FLOW_QUEUE`], [`Stage::DEFAULT_USER_QUEUE`]).
    pub queue: Option<u32>,
}

impl Stage {
    /// ipintrq of 4.4BSD.
    pub const DEFAULT_PROTOCOL_QUEUE: u32 = 50;
    /// A flow's queue under processor shares.
    pub const DEFAULT_FLOW_QUEUE: u32 = 64;
    /// The queue before a user process.
    pub const DEFAULT_USER_QUEUE: u32 = 32;
}

/// The priority of work on a core, from the lowest: preemptive, resumed where it was left. Noise is above all of them.
///
/// Along the path a level may only fall, with `Soft` and `Thread` on one step. A polling kernel runs every stage but those of `User` to completion
/// in its thread; processor shares run `Interrupt` stages in the input process and the others in the flow's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// A user process.
    User,
    /// A kernel thread.
    Thread,
    /// The software interrupt.
    Soft,
    /// The device interrupt.
    Interrupt,
}

/// How the kernel schedules the path.
#[derive(Clone, PartialEq, Debug)]
pub enum Kernel {
    /// Device interrupts run the `Interrupt` stages, a software interrupt the rest.
    Interrupt,
    /// Interrupts wake a thread that polls the devices in turn.
    Polling {
        /// The number of frames, and of completed transmissions, taken from a device in its turn; `None` for no limit.
        quota: Option<u32>,
        /// True to fix the number of frames when a device's turn begins; false to also take those that come meanwhile, up to the quota.
        gated: bool,
        /// Holds reception off while the queue of the user process is long.
        feedback: Option<Feedback>,
        /// How the thread learns of frames after it found none.
        wake: Wake,
    },
    /// Processes share the core: input, one per flow, output. Interrupts wake them as under polling.
    Shares {
        /// Packets that a process may take before the next is chosen, at least 1.
        batch: u32,
        /// The weight of the input process; flows have theirs, output has 1.
        input_weight: f64,
        /// The time per packet of a batch that the scheduler expects before it knows.
        estimate: Duration,
    },
}

/// Feedback from the user process's queue to reception.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Feedback {
    /// Reception stops when the queue reaches this many packets.
    pub high: u32,
    /// It resumes when the queue falls to this many.
    pub low: u32,
    /// It resumes after this time at the latest.
    pub timeout: Duration,
}

/// How a polling thread that found no work learns of the next frame.
#[derive(Clone, PartialEq, Debug)]
pub enum Wake {
    /// By an interrupt, at `interrupt + stub` of [`Overheads`].
    Interrupt,
    /// It sleeps in the kernel and runs this time after the frame.
    After(Distribution),
    /// It never sleeps: it finds the frame at the end of its current empty round.
    Busy,
}

/// What the kernel spends besides the path.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Overheads {
    /// Entry and exit of a device interrupt.
    pub interrupt: Work,
    /// Entry of the software interrupt when it was idle.
    pub soft: Work,
    /// One completed transmission: its descriptor and its buffer.
    pub reclaim: Work,
    /// The interrupt that only wakes a thread, beyond `interrupt`.
    pub stub: Work,
    /// A polling thread's turn at one device.
    pub poll: Work,
    /// A switch to another process.
    pub switch: Work,
    /// Finding a packet's flow, in the input process.
    pub classify: Work,
}

/// How the cost of a stage varies from packet to packet: a factor on its mean, drawn once per packet as a row with one factor per stage.
#[derive(Clone, PartialEq, Debug)]
pub enum Variation {
    /// Every packet costs the mean.
    None,
    /// Lognormal with mean 1: `exp(common * Z + own * Z_stage)` over its mean.
    Lognormal {
        /// The standard deviation of the part that all stages share.
        common: f64,
        /// The standard deviation of each stage's own part.
        own: f64,
        /// Draws each stage from another row: the correlation is gone, the distribution of each stage stays.
        independent: bool,
    },
    /// Measured rows.
    Rows {
        /// Rows of packets that were the first after a wake-up; `batched` stands in where there is none.
        woken: Arc<[Vec<f64>]>,
        /// Rows of all other packets; at least one.
        batched: Arc<[Vec<f64>]>,
    },
}

/// Memory bandwidth.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MemorySystem {
    /// Bytes per second.
    pub bandwidth: f64,
    /// The part of transfers by devices that stays in the cache, 0 to 1.
    pub ddio: f64,
    /// Copies of the frame that the path makes.
    pub copies: f64,
    /// Cache lines of 64 bytes that a packet misses.
    pub missed_lines: f64,
}

/// The bus between network interfaces and memory.
#[derive(Clone, PartialEq, Debug)]
pub enum Bus {
    /// A shared parallel bus: one transfer at a time, in either direction.
    Pci(Pci),
    /// A serial link with a direction each way.
    Pcie(PcieLink),
}

/// A shared parallel bus. A grant of `n` bytes takes `overhead + ceil(n / width)` clocks and is not interrupted.
#[derive(Clone, PartialEq, Debug)]
pub struct Pci {
    /// Clocks per second.
    pub clock_hz: u64,
    /// Bytes per clock.
    pub width: u32,
    /// Clocks per grant for arbitration, address and turnaround.
    pub overhead: u32,
    /// The longest grant in bytes; `None` to transfer each frame in one.
    pub burst: Option<u32>,
    /// Which agent is next.
    pub arbiter: Arbiter,
}

/// How a bus chooses among its agents: a receive channel each, a transmitter per network interface and core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arbiter {
    /// In turn, beginning after the agent served last.
    RoundRobin,
    /// WF2Q+ among flows by their weights, one frame per choice.
    Wf2qPlus,
}

/// A PCI Express link of all network interfaces together, in transaction-layer packets.
///
/// Source: Neugebauer et al., "Understanding PCIe performance for end host networking", SIGCOMM 2018.
#[derive(Clone, PartialEq, Debug)]
pub struct PcieLink {
    /// The generation, 1 to 5: 2.5, 5, 8, 16, 32 GT/s per lane.
    pub generation: u32,
    /// Lanes.
    pub lanes: u32,
    /// The maximum payload size in bytes.
    pub max_payload: u32,
    /// The maximum read request size in bytes.
    pub max_read_request: u32,
    /// Packets per doorbell, descriptor fetch and interrupt, at least 1.
    pub descriptor_batch: u32,
    /// Descriptors per write-back, at least 1.
    pub write_back: u32,
    /// True if the device raises interrupts and the driver reads its head pointers; false in poll mode.
    pub interrupts: bool,
}

/// A network interface.
#[derive(Clone, PartialEq, Debug)]
pub struct Nic {
    /// Bits per second on the wire, each way.
    pub rate: Rate,
    /// What a frame takes on the wire beyond its length: preamble and gap, 20 bytes on Ethernet.
    pub frame_overhead: u32,
    /// Bytes of the receive FIFO of each channel.
    pub receive_fifo: u64,
    /// Receive descriptors of each channel.
    pub ring: u32,
    /// Receive channels. Flows take them in turn, unless they name theirs; under the guard each flow has its own.
    pub channels: u32,
    /// Transmit descriptors per core.
    pub transmit_ring: u32,
    /// Packets in the interface queue before the transmit ring, if_snd.
    pub transmit_queue: u32,
    /// Bytes of the transmit FIFO per core.
    pub transmit_fifo: u64,
    /// Completed transmissions per interrupt; it comes earlier when the transmit ring runs empty.
    pub coalescing: u32,
}

impl Nic {
    /// Preamble and interframe gap of Ethernet, in bytes.
    pub const ETHERNET_OVERHEAD: u32 = 20;

    /// An Ethernet interface of `rate` with one channel, a FIFO of 48 kB, 64 descriptors each way, a queue of 50 packets and a transmit FIFO of
    /// 16 kB, which interrupts after 8 transmissions.
    pub const fn ethernet(rate: Rate) -> Nic {
        Nic {
            rate,
            frame_overhead: Nic::ETHERNET_OVERHEAD,
            receive_fifo: 48_000,
            ring: 64,
            channels: 1,
            transmit_ring: 64,
            transmit_queue: 50,
            transmit_fifo: 16_000,
            coalescing: 8,
        }
    }
}

/// A distribution of times.
#[derive(Clone, PartialEq, Debug)]
pub enum Distribution {
    /// Always the same.
    Constant(Duration),
    /// At least `least`, and an exponential part beyond.
    Exponential {
        /// The least time.
        least: Duration,
        /// The mean beyond it.
        beyond: Duration,
    },
    /// One of these times, all equally likely; at least one.
    Table(Arc<[Duration]>),
}

/// Work that has nothing to do with packets: clock interrupts, other devices, the hypervisor.
#[derive(Clone, PartialEq, Debug)]
pub struct Noise {
    /// When it comes.
    pub arrivals: NoiseArrivals,
    /// How long it holds the core.
    pub cost: Distribution,
    /// The core it comes to.
    pub core: u32,
}

/// When noise comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoiseArrivals {
    /// At this interval, from a random phase.
    Periodic(Duration),
    /// As a Poisson process with this mean interval.
    Poisson(Duration),
}

/// The guard of the bus.
///
/// Source: the I/O bus utilization guard of the thesis; its steps are reconstructed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BusGuard {
    /// The time from one activation to the next.
    pub period: Duration,
    /// The limit of a flow's credit or debt, in shares of the bus in a period, at least 1. `None` for no limit.
    pub clamp: Option<u32>,
    /// The guard goes idle when nothing waits and a period moved less than this part of what it could move.
    pub theta: f64,
    /// The part of the bus that it gives out, above 0, at most 1: 1 where only reception uses the bus, 1/2 where each frame passes twice.
    pub efficiency: f64,
    /// What an activation costs the core, at the level of device interrupts; half of it while the guard is idle.
    pub cost: Duration,
    /// What it costs in addition per flow.
    pub cost_per_flow: Duration,
}

/// A flow through the machine.
#[derive(Clone, PartialEq, Debug)]
pub struct RouterFlow {
    /// Its name; its random numbers follow from it.
    pub name: String,
    /// What it emits, and when. Sources that the network drives (greedy, TCP) are refused.
    pub source: Source,
    /// The number of independent copies of the source that it is the sum of, at least 1.
    pub copies: u32,
    /// Each interval between packets is multiplied by a factor drawn uniformly from `1 - jitter` to `1 + jitter`; 0 to 1.
    pub jitter: f64,
    /// The network interface it arrives at.
    pub input: usize,
    /// The network interface it leaves by; `None` if it ends in memory, where the host takes each frame at once.
    pub output: Option<usize>,
    /// Its weight at a fair bus, in the guard and among processes; at least 1.
    pub weight: u32,
    /// Its receive channel; `None` for the next in turn.
    pub channel: Option<u32>,
}

impl RouterFlow {
    /// One copy of a source without jitter, of weight 1.
    pub fn new(name: impl Into<String>, source: Source, input: usize, output: Option<usize>) -> RouterFlow {
        RouterFlow { name: name.into(), source, copies: 1, jitter: 0.0, input, output, weight: 1, channel: None }
    }
}
