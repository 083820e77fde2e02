//! What each resource alone would let through, in packets per second of all flows together.
//!
//! **Law.** No machine forwards more than its least ceiling. The ring's is apart: below it no pause of the processor loses a packet; above it
//! one may.
//!
//! | resource | packets per second |
//! |---|---|
//! | processor | `cores / (imbalance * (c_packet + c_batch / b))`, less noise and the guard |
//! | wire | `rate / (8 * (length + overhead))` of the busiest interface and direction |
//! | bus | 1 / the time of a packet on it, or the bytes of the busier direction of PCI Express |
//! | memory | `bandwidth / (2 * length * ((1 - ddio) + copies) + 64 * missed lines)` |
//! | ring | `(ring + FIFO) / (longest pause + round of the kernel)` of the busiest channel |
//!
//! An interrupt-driven kernel has no limit of its batches: its entries are spread over a full ring.

use crate::bus_timing::Timing;
use crate::cost::Clock;
use crate::machine::{Bus, Distribution, Kernel, Level, Machine, MemorySystem, NoiseArrivals, RouterFlow, Stage, Variation, Wake, Work};
use crate::traffic::{Share, Traffic, channels};
use tidegate_core::units::Duration;

/// What can limit a machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resource {
    /// The processor cores.
    Processor,
    /// A network interface's wire, in or out.
    Wire,
    /// The bus.
    Bus,
    /// Memory bandwidth.
    Memory,
    /// The receive rings with the FIFOs before them.
    Ring,
}

impl Resource {
    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Resource::Processor => "CPU",
            Resource::Wire => "wire",
            Resource::Bus => "bus",
            Resource::Memory => "memory",
            Resource::Ring => "ring",
        }
    }
}

/// The ceiling of one resource.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ceiling {
    /// The resource.
    pub resource: Resource,
    /// Packets per second of all flows together; infinite if it never limits.
    pub packets_per_second: f64,
}

/// The longest pause of the processor in which a ring loses nothing.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pause {
    /// With the descriptors of the ring alone, in seconds.
    pub ring: f64,
    /// With the FIFO before it, in seconds.
    pub with_fifo: f64,
}

/// A machine with its traffic, as resources see them.
#[derive(Debug)]
pub struct Ceilings<'a> {
    machine: &'a Machine,
    flows: &'a [RouterFlow],
    traffic: Traffic,
    channels: Vec<usize>,
}

impl<'a> Ceilings<'a> {
    /// `None` if the flows offer nothing, or if the rate of one is not known beforehand. Machine and flows have been checked.
    pub fn new(machine: &'a Machine, flows: &'a [RouterFlow]) -> Option<Ceilings<'a>> {
        Some(Ceilings { machine, flows, traffic: Traffic::of(flows)?, channels: channels(machine, flows) })
    }

    /// What all flows offer together.
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// The ceilings, in the order of [`Resource`]. `p` is the quantile of pauses that the ring is to survive.
    pub fn all(&self, p: f64) -> [Ceiling; 5] {
        let ceiling = |resource, packets_per_second| Ceiling { resource, packets_per_second };
        [
            ceiling(Resource::Processor, self.processor()),
            ceiling(Resource::Wire, self.wire()),
            ceiling(Resource::Bus, self.bus()),
            ceiling(Resource::Memory, self.memory()),
            ceiling(Resource::Ring, self.ring(p)),
        ]
    }

    /// The least ceiling of what cannot be exceeded: all but the ring.
    pub fn least(&self) -> Ceiling {
        let [first, rest @ ..] = self.all(0.5);
        let limits = rest.into_iter().filter(|ceiling| ceiling.resource != Resource::Ring);
        limits.fold(first, |least, ceiling| if ceiling.packets_per_second < least.packets_per_second { ceiling } else { least })
    }

    fn processor(&self) -> f64 {
        let (machine, cores) = (self.machine, f64::from(self.machine.cores));
        if self.forwarded().next().is_none() {
            return f64::INFINITY;
        }
        let (per_batch, batch) = self.batch();
        let packet = self.packet_seconds() + self.leaving() * per_batch / batch;
        let noise: f64 = machine.noise.iter().map(|noise| mean(&noise.cost) / interval(noise.arrivals)).sum();
        let guard = machine
            .guard
            .map_or(0.0, |guard| (seconds(guard.cost) + seconds(guard.cost_per_flow) * self.flows.len() as f64) / seconds(guard.period));
        let free = (cores - noise - guard).max(0.0) / cores;
        free * cores / (self.imbalance() * packet)
    }

    /// The largest part of packets that one core has, times the number of cores: what the machine says, or what its channels come to if that is more.
    pub fn imbalance(&self) -> f64 {
        let mut parts = vec![0.0; self.machine.cores as usize];
        for share in self.forwarded() {
            let core = self.channels[share.flow] % parts.len();
            parts[core] += share.part;
        }
        let largest = parts.iter().copied().fold(0.0, f64::max) * parts.len() as f64;
        (largest / self.leaving().max(f64::MIN_POSITIVE)).max(self.machine.imbalance)
    }

    /// The mean time of a packet on a core, without what a batch shares, in seconds. Frames that end in memory take none.
    pub fn packet_seconds(&self) -> f64 {
        let overheads = &self.machine.overheads;
        let is_classified = matches!(self.machine.kernel, Kernel::Shares { .. }) && self.machine.guard.is_none();
        let classify = if is_classified { self.work(overheads.classify) } else { 0.0 };
        self.stage_seconds(|_| true) + (classify + self.work(overheads.reclaim)) * self.leaving()
    }

    /// The packets that leave by an interface.
    fn forwarded(&self) -> impl Iterator<Item = &Share> {
        self.traffic.shares.iter().filter(|share| self.flows[share.flow].output.is_some())
    }

    /// The part of packets that leave by an interface.
    fn leaving(&self) -> f64 {
        self.forwarded().map(|share| share.part).sum()
    }

    /// The mean time of a packet in those stages, in seconds.
    fn stage_seconds(&self, is_meant: impl Fn(&Stage) -> bool) -> f64 {
        let machine = self.machine;
        let (leaving, route_bits) = (self.leaving(), libm::log2(machine.routes as f64));
        let bytes: f64 = self.forwarded().map(|share| share.part * share.length).sum();
        let stage = |(index, stage): (usize, &Stage)| {
            let fixed = self.work(Work { cycles: stage.cycles, memory: stage.memory }) + seconds(stage.per_route_bit) * route_bits;
            (fixed * leaving + seconds(stage.per_byte) * bytes) * mean_factor(&machine.variation, index)
        };
        machine.stages.iter().enumerate().filter(|(_, described)| is_meant(described)).map(stage).sum()
    }

    fn work(&self, work: Work) -> f64 {
        Clock::new(self.machine).time(work) as f64 / 1e12
    }

    /// What a batch costs beyond its packets, in seconds, and the most packets in it.
    fn batch(&self) -> (f64, f64) {
        let (machine, overheads) = (self.machine, &self.machine.overheads);
        let ring = f64::from(machine.nics.iter().map(|nic| nic.ring).max().unwrap_or(1));
        match machine.kernel {
            Kernel::Interrupt => (2.0 * self.work(overheads.interrupt) + self.work(overheads.soft), ring),
            Kernel::Polling { quota, .. } => {
                let inputs = (0..machine.nics.len()).filter(|&nic| self.flows.iter().any(|flow| flow.input == nic)).count();
                (self.work(overheads.poll) * machine.nics.len() as f64, quota.map_or(ring, f64::from) * inputs.max(1) as f64)
            }
            Kernel::Shares { batch, .. } => {
                let processes = if machine.guard.is_some() { 2.0 } else { 3.0 };
                (processes * self.work(overheads.switch), f64::from(batch))
            }
        }
    }

    fn wire(&self) -> f64 {
        let direction = |is_used: &dyn Fn(&RouterFlow, usize) -> bool| {
            let nics = self.machine.nics.iter().enumerate().map(|(index, nic)| {
                let bits = |share: &Share| 8.0 * (share.length + f64::from(nic.frame_overhead));
                let its = |share: &Share| if is_used(&self.flows[share.flow], index) { bits(share) } else { 0.0 };
                nic.rate.bits_per_second() as f64 / self.traffic.mean(its)
            });
            nics.fold(f64::INFINITY, f64::min)
        };
        direction(&|flow, nic| flow.input == nic).min(direction(&|flow, nic| flow.output == Some(nic)))
    }

    fn bus(&self) -> f64 {
        let timing = Timing::new(&self.machine.bus);
        let length = |share: &Share| (share.length + 0.5) as u32;
        let leaves = |share: &Share| self.flows[share.flow].output.is_some();
        match &self.machine.bus {
            Bus::Pci(_) => {
                let time = |share: &Share| {
                    let transfer = |is_reception| timing.whole(is_reception, length(share)).time as f64;
                    transfer(true) + if leaves(share) { transfer(false) } else { 0.0 }
                };
                1e12 / self.traffic.mean(time)
            }
            Bus::Pcie(link) => {
                let bytes = |is_to_host: bool| {
                    self.traffic.mean(|share| {
                        let (received, sent) = (link.reception(length(share)), link.transmission(length(share)));
                        let [received, sent] = [received, sent].map(|bytes| if is_to_host { bytes.to_host } else { bytes.from_host });
                        received + if leaves(share) { sent } else { 0.0 }
                    })
                };
                link.bits_per_second() / 8.0 / bytes(true).max(bytes(false))
            }
        }
    }

    fn memory(&self) -> f64 {
        self.machine.memory.map_or(f64::INFINITY, |memory| memory.bandwidth / self.memory_bytes(&memory))
    }

    /// Bytes of memory bandwidth that a packet takes.
    fn memory_bytes(&self, memory: &MemorySystem) -> f64 {
        let transfers = 1.0 + self.leaving();
        self.traffic.mean_length() * (transfers * (1.0 - memory.ddio) + 2.0 * memory.copies) + 64.0 * memory.missed_lines
    }

    /// The part of memory bandwidth in use at a rate; `None` if memory does not limit.
    pub fn memory_use(&self, packets_per_second: f64) -> Option<f64> {
        self.machine.memory.map(|memory| packets_per_second * self.memory_bytes(&memory) / memory.bandwidth)
    }

    fn ring(&self, p: f64) -> f64 {
        let pause = self.longest_pause(p) + self.round_seconds();
        let channels = self.channel_loads().map(|(part, ring, fifo)| (ring + fifo) / (part * pause));
        channels.fold(f64::INFINITY, f64::min)
    }

    /// What pause of the processor the rings survive at a rate.
    pub fn survives(&self, packets_per_second: f64) -> Pause {
        let round = self.round_seconds();
        let least = |frames: &dyn Fn(f64, f64) -> f64| {
            let channels = self.channel_loads().map(|(part, ring, fifo)| frames(ring, fifo) / (part * packets_per_second) - round);
            channels.fold(f64::INFINITY, f64::min).max(0.0)
        };
        Pause { ring: least(&|ring, _| ring), with_fifo: least(&|ring, fifo| ring + fifo) }
    }

    /// The longest of `p` of all pauses: of noise, and of a thread that sleeps.
    pub fn longest_pause(&self, p: f64) -> f64 {
        let noise = self.machine.noise.iter().map(|noise| quantile(&noise.cost, p));
        let wake = match &self.machine.kernel {
            Kernel::Polling { wake: Wake::After(latency), .. } => quantile(latency, p),
            _ => 0.0,
        };
        noise.fold(wake, f64::max)
    }

    /// How long a kernel that keeps up may be busy elsewhere before it takes from a ring.
    fn round_seconds(&self) -> f64 {
        let (per_batch, batch) = self.batch();
        match self.machine.kernel {
            // Reception preempts the rest of the path.
            Kernel::Interrupt => per_batch + self.stage_seconds(|stage| stage.level == Level::Interrupt),
            Kernel::Polling { .. } | Kernel::Shares { .. } => per_batch + batch * self.packet_seconds(),
        }
    }

    /// For each receive channel from which packets are forwarded: its part of all packets, its descriptors, and the frames that its FIFO holds.
    fn channel_loads(&self) -> impl Iterator<Item = (f64, f64, f64)> {
        let mut loads: Vec<(usize, usize, f64, f64)> = Vec::new();
        for share in self.forwarded() {
            let (nic, channel) = (self.flows[share.flow].input, self.channels[share.flow]);
            let index = loads.iter().position(|load| (load.0, load.1) == (nic, channel)).unwrap_or_else(|| {
                loads.push((nic, channel, 0.0, 0.0));
                loads.len() - 1
            });
            loads[index].2 += share.part;
            loads[index].3 += share.part * share.length;
        }
        loads.into_iter().map(|(nic, _, part, bytes)| {
            let nic = &self.machine.nics[nic];
            (part, f64::from(nic.ring), nic.receive_fifo as f64 * part / bytes)
        })
    }
}

fn seconds(time: Duration) -> f64 {
    time.picoseconds() as f64 / 1e12
}

fn interval(arrivals: NoiseArrivals) -> f64 {
    let (NoiseArrivals::Periodic(interval) | NoiseArrivals::Poisson(interval)) = arrivals;
    seconds(interval)
}

fn mean(distribution: &Distribution) -> f64 {
    match distribution {
        Distribution::Constant(time) => seconds(*time),
        Distribution::Exponential { least, beyond } => seconds(*least) + seconds(*beyond),
        Distribution::Table(times) => times.iter().map(|&time| seconds(time)).sum::<f64>() / times.len() as f64,
    }
}

/// The time that `p` of all do not exceed.
fn quantile(distribution: &Distribution, p: f64) -> f64 {
    match distribution {
        Distribution::Constant(time) => seconds(*time),
        Distribution::Exponential { least, beyond } => seconds(*least) - seconds(*beyond) * libm::log(1.0 - p),
        Distribution::Table(times) => {
            let mut sorted = times.to_vec();
            sorted.sort_unstable();
            let rank = libm::ceil(p * sorted.len() as f64) as usize;
            seconds(sorted[rank.clamp(1, sorted.len()) - 1])
        }
    }
}

/// The mean factor on a stage's cost.
fn mean_factor(variation: &Variation, stage: usize) -> f64 {
    match variation {
        Variation::None | Variation::Lognormal { .. } => 1.0,
        Variation::Rows { batched, .. } => batched.iter().map(|row| row[stage]).sum::<f64>() / batched.len() as f64,
    }
}

#[cfg(test)]
mod tests;
