//! The tables of a machine file, exactly as they are written; see [`crate::document`].

use super::value::{Amount, Bandwidth, Frequency, PacketRate, Part, Wake};
use crate::choice::{ArbiterName, BusName, KernelName, LevelName, NoiseName, VariationName};
use crate::document::SourceTable;
use crate::value::{At, Block, Bytes, Decimal, Name, Or, Percentile, Text, Title, Whole};
use schemars::JsonSchema;
use serde::Deserialize;
use tidegate_core::units::{Duration, Rate};

/// A machine file: a machine that forwards frames, the flows through it, and what is asked of both.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Tidegate machine")]
pub struct MachineFileTable {
    /// What the file shows, in a few words; reports carry it.
    #[schemars(extend("default" = "the file's name", "examples" = ["A PC of 2002"]))]
    pub title: Option<At<Title>>,
    /// What to look for in the results, in a few sentences; reports carry it.
    pub description: Option<At<Text>>,
    /// The machine, or the name of another machine file, relative to this one, whose `[machine]` is taken.
    #[schemars(extend("examples" = ["measured.toml"]))]
    pub machine: Block<Or<Text, MachineTable>>,
    /// The flows: sources of frames, the interface at which each arrives and the one by which it leaves.
    #[serde(default)]
    pub flow: Vec<Block<MachineFlowTable>>,
    /// What is asked: loads, quantiles, the loss that counts as none, a promise.
    pub question: Option<Block<QuestionTable>>,
}

/// A machine that forwards frames.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MachineTable {
    /// Processor cores. A receive channel belongs to the core `channel % cores`.
    #[schemars(extend("default" = 1, "examples" = [4]))]
    pub cores: Option<At<Whole<1, 65_536>>>,
    /// Cycles per second of a core.
    #[schemars(extend("examples" = ["3 GHz"]))]
    pub clock: At<Frequency>,
    /// Routes in the forwarding table; stages have a cost `per_route_bit` of its base-2 logarithm.
    #[schemars(extend("default" = 1, "examples" = [100000]))]
    pub routes: Option<At<Whole<1, { u32::MAX as u64 }>>>,
    /// Memory bandwidth. It is a ceiling only: the trials do not queue for memory.
    #[schemars(extend("default" = "memory does not limit", "examples" = ["40 GB/s"]))]
    pub memory_bandwidth: Option<At<Bandwidth>>,
    /// With `memory_bandwidth`: the part of transfers by devices that stays in the cache (direct data I/O).
    #[schemars(extend("default" = 0, "examples" = [0.9]))]
    pub ddio: Option<At<Part>>,
    /// With `memory_bandwidth`: copies of the frame that the path makes.
    #[schemars(extend("default" = 0, "examples" = [1]))]
    pub copies: Option<At<Amount>>,
    /// With `memory_bandwidth`: cache lines of 64 bytes that a packet misses.
    #[schemars(extend("default" = 0, "examples" = [2]))]
    pub missed_lines: Option<At<Amount>>,
    /// The largest part of packets that one core has, times the number of cores; 1 if they are spread evenly. It is a ceiling only: in trials
    /// each flow has its channel, and the ceiling is the lower of both.
    #[schemars(extend("default" = 1, "examples" = [1.1]))]
    pub imbalance: Option<At<Decimal>>,
    /// The bus between interfaces and memory.
    pub bus: Block<BusTable>,
    /// The network interfaces.
    pub nic: Vec<Block<NicTable>>,
    /// How the kernel schedules the path.
    pub kernel: Block<KernelTable>,
    /// What the kernel spends besides the path.
    #[schemars(extend("default" = "all cost nothing", "examples" = [{ "interrupt": { "cycles": 1200, "memory": "1.6 us" } }]))]
    pub overheads: Option<Block<OverheadsTable>>,
    /// The functions of the forwarding path, in the order in which a packet passes them.
    pub stage: Vec<Block<StageTable>>,
    /// How the costs of the path vary from packet to packet.
    #[schemars(extend("default" = "every packet costs the mean", "examples" = [{ "kind": "lognormal", "common": 0.15, "own": 0.1 }]))]
    pub variation: Option<Block<VariationTable>>,
    /// Work that has nothing to do with packets, and preempts everything.
    #[serde(default)]
    pub noise: Vec<Block<NoiseTable>>,
    /// The I/O bus utilization guard: each flow has a receive channel of its own, whose vacancies the guard sets.
    #[schemars(extend("default" = "none", "examples" = [{ "period": "200 us" }]))]
    pub guard: Option<Block<GuardTable>>,
}

/// The bus between interfaces and memory.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BusTable {
    /// The kind of bus, on which the other keys depend.
    pub kind: At<BusName>,
    /// For `pci`: clocks per second.
    #[schemars(extend("default" = "33 MHz", "examples" = ["66 MHz"]))]
    pub clock: Option<At<Frequency>>,
    /// For `pci`: bytes per clock.
    #[schemars(extend("default" = "4 B", "examples" = ["8 B"]))]
    pub width: Option<At<Bytes>>,
    /// For `pci`: clocks per grant for arbitration, address and turnaround.
    #[schemars(extend("default" = 8, "examples" = [8]))]
    pub overhead: Option<At<Whole<0, 65_536>>>,
    /// For `pci`: the longest grant.
    #[schemars(extend("default" = "a whole frame", "examples" = ["256 B"]))]
    pub burst: Option<At<Bytes>>,
    /// Which transfer is next.
    #[schemars(extend("default" = "round-robin"))]
    pub arbiter: Option<At<ArbiterName>>,
    /// For `pcie`: the generation: 2.5, 5, 8, 16 or 32 GT/s per lane.
    #[schemars(extend("examples" = [3]))]
    pub generation: Option<At<Whole<1, 5>>>,
    /// For `pcie`: lanes.
    #[schemars(extend("examples" = [8]))]
    pub lanes: Option<At<Whole<1, 32>>>,
    /// For `pcie`: the maximum payload size in bytes.
    #[schemars(extend("default" = 256, "examples" = [128]))]
    pub max_payload: Option<At<Whole<64, 4096>>>,
    /// For `pcie`: the maximum read request size in bytes.
    #[schemars(extend("default" = 512, "examples" = [4096]))]
    pub max_read_request: Option<At<Whole<64, 4096>>>,
    /// For `pcie`: packets per doorbell, per fetch of descriptors and per interrupt.
    #[schemars(extend("default" = 1, "examples" = [32]))]
    pub descriptor_batch: Option<At<Whole<1, 65_536>>>,
    /// For `pcie`: descriptors per write-back.
    #[schemars(extend("default" = 1, "examples" = [8]))]
    pub write_back: Option<At<Whole<1, 65_536>>>,
    /// For `pcie`: true if the device raises interrupts and its driver reads head pointers; false in poll mode.
    #[schemars(extend("default" = "false for a kernel that never sleeps, otherwise true", "examples" = [false]))]
    pub interrupts: Option<At<bool>>,
}

/// A network interface.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NicTable {
    /// A name that no other interface has.
    #[schemars(extend("default" = "nic0 for the first, nic1 for the second and so on", "examples" = ["east"]))]
    pub name: Option<At<Name>>,
    /// Bits per second on the wire, each way.
    #[schemars(extend("examples" = ["25 Gbit/s"]))]
    pub rate: At<Rate>,
    /// What a frame takes on the wire beyond its length: preamble and gap of Ethernet.
    #[schemars(extend("default" = "20 B"))]
    pub frame_overhead: Option<At<Bytes>>,
    /// Receive descriptors of each channel.
    #[schemars(extend("default" = 64, "examples" = [1024]))]
    pub ring: Option<At<Whole<1, 16_777_216>>>,
    /// The receive FIFO of each channel.
    #[schemars(extend("default" = "48 kB", "examples" = ["512 kB"]))]
    pub receive_fifo: Option<At<Bytes>>,
    /// Receive channels, also called queues. Flows take them in turn unless they name theirs.
    #[schemars(extend("default" = 1, "examples" = [4]))]
    pub channels: Option<At<Whole<1, 65_536>>>,
    /// Transmit descriptors of each core.
    #[schemars(extend("default" = 64, "examples" = [1024]))]
    pub transmit_ring: Option<At<Whole<1, 16_777_216>>>,
    /// Packets in the queue before the transmit ring.
    #[schemars(extend("default" = 50, "examples" = [1000]))]
    pub transmit_queue: Option<At<Whole<0, 16_777_216>>>,
    /// The transmit FIFO of each core.
    #[schemars(extend("default" = "16 kB", "examples" = ["64 kB"]))]
    pub transmit_fifo: Option<At<Bytes>>,
    /// Completed transmissions per interrupt.
    #[schemars(extend("default" = 8, "examples" = [32]))]
    pub coalescing: Option<At<Whole<1, 16_777_216>>>,
}

/// How the kernel schedules the path.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KernelTable {
    /// The kind of kernel, on which the other keys depend.
    pub kind: At<KernelName>,
    /// For `polling`: the most packets of a device's turn, those that come meanwhile included.
    #[schemars(extend("default" = "no limit", "examples" = [8]))]
    pub quota: Option<At<Whole<1, 16_777_216>>>,
    /// For `polling` in place of `quota`: the most packets of a device's turn, of those there when it begins. For `shares`: the most packets that a
    /// process takes in its turn, 8 by default.
    #[schemars(extend("examples" = [64]))]
    pub batch: Option<At<Whole<1, 16_777_216>>>,
    /// For `polling`: the time of a turn at one device, in place of `poll` in `overheads`.
    #[serde(rename = "loop")]
    #[schemars(extend("examples" = ["80 ns"]))]
    pub turn: Option<At<Duration>>,
    /// For `polling`: how a thread that found nothing learns of the next frame: by an `interrupt`, at once because it is `busy` looking, or by a wake-up
    /// that takes this time.
    #[schemars(extend("default" = "interrupt", "examples" = ["busy"]))]
    pub wake: Option<Block<Or<Wake, DistributionTable>>>,
    /// For `polling`: holds reception off while the queue of the user process is long.
    #[schemars(extend("default" = "none", "examples" = [{ "high": 24, "low": 8, "timeout": "10 ms" }]))]
    pub feedback: Option<Block<FeedbackTable>>,
    /// For `shares`: the weight of the input process; flows have theirs, output has 1.
    #[schemars(extend("default" = 2))]
    pub input_weight: Option<At<Decimal>>,
    /// For `shares`: the time per packet that the scheduler expects before it knows.
    #[schemars(extend("default" = "5 us"))]
    pub estimate: Option<At<Duration>>,
}

/// When reception stops and resumes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FeedbackTable {
    /// It stops when the queue reaches this many packets.
    #[schemars(extend("examples" = [24]))]
    pub high: At<Whole<1, 16_777_216>>,
    /// It resumes when the queue falls to this many.
    #[schemars(extend("examples" = [8]))]
    pub low: At<Whole<0, 16_777_216>>,
    /// It resumes after this time at the latest.
    #[schemars(extend("examples" = ["10 ms"]))]
    pub timeout: At<Duration>,
}

/// What the kernel spends besides the path.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OverheadsTable {
    /// Entry and exit of a device interrupt.
    #[schemars(extend("default" = "nothing", "examples" = [{ "cycles": 1200, "memory": "1.6 us" }]))]
    pub interrupt: Option<Block<WorkTable>>,
    /// Entry of the software interrupt when it was idle.
    #[schemars(extend("default" = "nothing", "examples" = [{ "cycles": 300, "memory": "200 ns" }]))]
    pub soft: Option<Block<WorkTable>>,
    /// One completed transmission: its descriptor and its buffer.
    #[schemars(extend("default" = "nothing", "examples" = [{ "cycles": 200, "memory": "250 ns" }]))]
    pub reclaim: Option<Block<WorkTable>>,
    /// The interrupt that only wakes a thread, beyond `interrupt`.
    #[schemars(extend("default" = "nothing", "examples" = [{ "cycles": 100, "memory": "100 ns" }]))]
    pub stub: Option<Block<WorkTable>>,
    /// A polling thread's turn at one device.
    #[schemars(extend("default" = "nothing", "examples" = [{ "cycles": 150, "memory": "50 ns" }]))]
    pub poll: Option<Block<WorkTable>>,
    /// A switch to another process.
    #[schemars(extend("default" = "nothing", "examples" = [{ "cycles": 300, "memory": "100 ns" }]))]
    pub switch: Option<Block<WorkTable>>,
    /// Finding a packet's flow, in the input process.
    #[schemars(extend("default" = "nothing", "examples" = [{ "cycles": 150, "memory": "100 ns" }]))]
    pub classify: Option<Block<WorkTable>>,
}

/// Work of a fixed cost: `cycles / clock + memory`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WorkTable {
    /// Cycles of the core.
    #[schemars(extend("default" = 0, "examples" = [1200]))]
    pub cycles: Option<At<Amount>>,
    /// Time in memory, which does not scale with the clock.
    #[schemars(extend("default" = "0 s", "examples" = ["1.6 us"]))]
    pub memory: Option<At<Duration>>,
}

/// One function of the forwarding path. It costs `cycles / clock + memory + per_byte * length + per_route_bit * log2(routes)` per packet.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StageTable {
    /// Its name.
    #[schemars(extend("examples" = ["receive"]))]
    pub name: At<Name>,
    /// Cycles of the core per packet.
    #[schemars(extend("default" = 0, "examples" = [120]))]
    pub cycles: Option<At<Amount>>,
    /// Time in memory per packet, which does not scale with the clock.
    #[schemars(extend("default" = "0 s", "examples" = ["15 ns"]))]
    pub memory: Option<At<Duration>>,
    /// Time per byte of the frame.
    #[schemars(extend("default" = "0 s", "examples" = ["0.1 ns"]))]
    pub per_byte: Option<At<Duration>>,
    /// Time per bit of the size of the forwarding table.
    #[schemars(extend("default" = "0 s", "examples" = ["5 ns"]))]
    pub per_route_bit: Option<At<Duration>>,
    /// The level that it runs at. Along the path levels may only fall; `soft` and `thread` are one step.
    pub level: At<LevelName>,
    /// The limit in packets of the queue before it, where the level differs from that of the stage before.
    #[schemars(extend("default" = "50 before a software interrupt, 64 for a flow under `shares`, 32 before a user process", "examples" = [512]))]
    pub queue: Option<At<Whole<1, 16_777_216>>>,
}

/// How the costs of the path vary from packet to packet: a factor for each stage, drawn once per packet as a row.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VariationTable {
    /// Where the factors come from.
    pub kind: At<VariationName>,
    /// For `lognormal`: the standard deviation of the logarithm that all stages of a packet share.
    #[schemars(extend("default" = 0, "examples" = [0.15]))]
    pub common: Option<At<Amount>>,
    /// For `lognormal`: the standard deviation of the logarithm that each stage has for itself.
    #[schemars(extend("default" = 0, "examples" = [0.1]))]
    pub own: Option<At<Amount>>,
    /// For `rows`: a text file, relative to this one, with a line per packet and a factor per stage in it.
    #[schemars(extend("examples" = ["rows.txt"]))]
    pub table: Option<At<Text>>,
    /// For `rows`: the same for packets that were the first after a wake-up.
    #[schemars(extend("default" = "those of `table`", "examples" = ["woken.txt"]))]
    pub woken: Option<At<Text>>,
}

/// Work that has nothing to do with packets, and preempts everything.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoiseTable {
    /// When it comes.
    pub kind: At<NoiseName>,
    /// The interval, or its mean.
    #[schemars(extend("examples" = ["10 ms"]))]
    pub interval: At<Duration>,
    /// How long it holds the core: always the same time, at least one and an exponential part beyond, or one of a table.
    #[schemars(extend("examples" = [{ "least": "30 us", "beyond": "40 us" }]))]
    pub cost: Block<Or<Duration, DistributionTable>>,
    /// The core that it comes to, from 0.
    #[schemars(extend("default" = 0))]
    pub core: Option<At<Whole<0, 65_535>>>,
}

/// A distribution of times: `least` with an exponential part `beyond`, or a `table`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DistributionTable {
    /// The least time.
    #[schemars(extend("default" = "0 s", "examples" = ["30 us"]))]
    pub least: Option<At<Duration>>,
    /// The mean of an exponential part beyond it.
    #[schemars(extend("default" = "0 s", "examples" = ["40 us"]))]
    pub beyond: Option<At<Duration>>,
    /// In place of both: a text file, relative to this one, with a time per line, all equally likely.
    #[schemars(extend("examples" = ["wake.txt"]))]
    pub table: Option<At<Text>>,
}

/// The I/O bus utilization guard, which gives out the bus to flows once in a period.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GuardTable {
    /// The time from one activation to the next.
    #[schemars(extend("examples" = ["200 us"]))]
    pub period: At<Duration>,
    /// The limit of a flow's credit or debt, in its shares of the bus in a period.
    #[schemars(extend("default" = 1))]
    pub clamp: Option<At<Whole<1, 1_048_576>>>,
    /// The guard goes idle when nothing waits and a period moved less than this part of what it could move.
    #[schemars(extend("default" = 1))]
    pub theta: Option<At<Part>>,
    /// The part of the bus that it gives out: 1 where only reception uses the bus, 0.5 where each frame passes a shared bus twice.
    #[schemars(extend("default" = "0.5 for `pci`; **required** for `pcie`, where transmission asks for its data in the same direction", "examples" = [0.7]))]
    pub efficiency: Option<At<Part>>,
    /// What an activation costs the first core; half of it while the guard is idle.
    #[schemars(extend("default" = "0 s", "examples" = ["2 us"]))]
    pub cost: Option<At<Duration>>,
    /// What it costs in addition per flow.
    #[schemars(extend("default" = "0 s", "examples" = ["1.5 us"]))]
    pub cost_per_flow: Option<At<Duration>>,
}

/// A flow through the machine. The question scales the rates of all flows by one factor; what stays is their proportion.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MachineFlowTable {
    /// A name that no other flow has; its random numbers follow from it.
    #[schemars(extend("examples" = ["bulk"]))]
    pub name: At<Name>,
    /// The interface that it arrives at.
    #[schemars(extend("examples" = ["nic0"]))]
    pub input: At<Name>,
    /// The interface that it leaves by.
    #[schemars(extend("default" = "none: it ends in memory", "examples" = ["nic1"]))]
    pub output: Option<At<Name>>,
    /// What is sent, and when. Not `greedy` or `tcp`, which a network drives, and no `capture`, which ends.
    pub source: Block<SourceTable>,
    /// The number of independent sources that the flow is the sum of.
    #[schemars(extend("default" = 1, "examples" = [16]))]
    pub copies: Option<At<Whole<1, 65_536>>>,
    /// Each interval between packets is multiplied by a factor between `1 - jitter` and `1 + jitter`, so that regular flows do not lock into step.
    #[schemars(extend("default" = 0, "examples" = [0.05]))]
    pub jitter: Option<At<Part>>,
    /// Its weight at a fair bus, in the guard and among processes.
    #[schemars(extend("default" = 1))]
    pub weight: Option<At<Whole<1, 1_000_000>>>,
    /// Its receive channel, from 0.
    #[schemars(extend("default" = "the next in turn"))]
    pub channel: Option<At<Whole<0, 65_535>>>,
}

/// What is asked of the machine.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct QuestionTable {
    /// Rates at which delays are measured, as parts of the rate that is forwarded without loss. Above 1 packets are lost.
    #[schemars(extend("default" = [0.5, 0.8, 0.9, 0.95], "examples" = [[0.5, 0.9]]))]
    pub loads: Option<Block<Vec<At<Decimal>>>>,
    /// Quantiles of delays, above 0 and below 1.
    #[schemars(extend("default" = [0.5, 0.99, 0.999], "examples" = [[0.5, 0.99]]))]
    pub quantiles: Option<Block<Vec<At<Decimal>>>>,
    /// The part of packets whose loss counts as none.
    #[schemars(extend("default" = 1e-6, "examples" = [1e-6]))]
    pub loss: Option<At<Part>>,
    /// The least packets of a trial that decides about loss.
    #[schemars(extend("default" = 1_000_000))]
    pub packets: Option<At<Whole<1_000, 1_000_000_000>>>,
    /// The least measured time of such a trial. Noise that is rarer than this is hardly seen.
    #[schemars(extend("default" = "the time that `packets` take", "examples" = ["1 s"]))]
    pub duration: Option<At<Duration>>,
    /// The seed of all random numbers. The same seed gives the same results, bit for bit.
    #[schemars(extend("default" = 1))]
    pub seed: Option<At<Whole<0, { i64::MAX as u64 }>>>,
    /// What the machine is to keep; a promise that is broken is exit code 1.
    #[schemars(extend("default" = "none", "examples" = [{ "rate": "9 Mpps", "delay": "50 us", "percentile": 99.9 }]))]
    pub promise: Option<Block<MachinePromiseTable>>,
}

/// A promise: at this rate no more than this loss, and this percentile of packets within the delay.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MachinePromiseTable {
    /// The rate of all flows together in packets per second.
    #[schemars(extend("examples" = ["9 Mpps"]))]
    pub rate: At<PacketRate>,
    /// The flow that it is made to, whatever becomes of the others.
    #[schemars(extend("default" = "all flows", "examples" = ["voice"]))]
    pub flow: Option<At<Name>>,
    /// The largest part of its packets that may be lost.
    #[schemars(extend("default" = "`loss` of the question", "examples" = [1e-6]))]
    pub loss: Option<At<Part>>,
    /// The delay that the given percentile of its packets, or of those of every flow, stays within, from the last bit in to the last bit out.
    #[schemars(extend("default" = "none", "examples" = ["50 us"]))]
    pub delay: Option<At<Duration>>,
    /// The percentile of packets that `delay` is promised to.
    #[schemars(extend("default" = 99, "examples" = [99.9]))]
    pub percentile: Option<At<Percentile>>,
}
