//! Which machines, flows and trials can be run: every value outside its range is named.

use crate::machine::{
    Bus, BusGuard, Distribution, Kernel, Level, Machine, Nic, Noise, NoiseArrivals, Pci, PcieLink, RouterFlow, Stage, Variation, Wake, Work,
};
use crate::outcome::Trial;
use std::fmt;
use tidegate_core::units::Duration;
use tidegate_sim::time::LONGEST_DURATION;

/// One value that cannot be simulated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Invalid {
    /// What has it: "the bus", "stage 2 (ip_input)".
    pub subject: String,
    /// The key.
    pub key: &'static str,
    /// What is wrong with it.
    pub problem: String,
    /// What would be right.
    pub expected: String,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Invalid { subject, key, problem, expected } = self;
        write!(f, "{subject}: {key}: {problem}; expected {expected}")
    }
}

impl std::error::Error for Invalid {}

/// The subject of the values that are looked at.
struct Subject<'a>(&'a str);

impl Subject<'_> {
    fn fails(&self, key: &'static str, problem: impl fmt::Display, expected: impl Into<String>) -> Result<(), Invalid> {
        Err(Invalid { subject: self.0.to_owned(), key, problem: problem.to_string(), expected: expected.into() })
    }

    fn range(&self, key: &'static str, value: u64, least: u64, most: u64) -> Result<(), Invalid> {
        if (least..=most).contains(&value) {
            Ok(())
        } else {
            self.fails(key, format_args!("{value} is out of range"), format!("{least} to {most}"))
        }
    }

    fn real(&self, key: &'static str, value: f64, least: f64, most: f64) -> Result<(), Invalid> {
        if value >= least && value <= most {
            Ok(())
        } else {
            self.fails(key, format_args!("{value} is out of range"), format!("{least} to {most}"))
        }
    }

    fn time(&self, key: &'static str, value: Duration, least: u64) -> Result<(), Invalid> {
        let most = LONGEST_DURATION.picoseconds();
        if (least..=most).contains(&value.picoseconds()) {
            return Ok(());
        }
        self.fails(key, format_args!("{} ps", value.picoseconds()), format!("a time of at least {least} ps, at most 26 days"))
    }

    fn work(&self, key: &'static str, work: Work) -> Result<(), Invalid> {
        self.real(key, work.cycles, 0.0, 1e12)?;
        self.time(key, work.memory, 0)
    }

    fn distribution(&self, key: &'static str, distribution: &Distribution) -> Result<(), Invalid> {
        match distribution {
            Distribution::Constant(time) => self.time(key, *time, 0),
            Distribution::Exponential { least, beyond } => {
                self.time(key, *least, 0)?;
                self.time(key, *beyond, 0)
            }
            Distribution::Table(times) if times.is_empty() => self.fails(key, "an empty table", "at least one time"),
            Distribution::Table(times) => times.iter().try_for_each(|&time| self.time(key, time, 0)),
        }
    }
}

/// The most of anything that is counted: cores, interfaces, channels, copies.
const MOST: u64 = 1 << 16;
/// The largest queue, ring or quota, in packets.
const LARGEST_QUEUE: u64 = 1 << 24;

/// Checks what [`run`](crate::run) is given.
///
/// # Errors
/// The first [`Invalid`].
pub fn check(machine: &Machine, flows: &[RouterFlow], trial: &Trial) -> Result<(), Invalid> {
    check_machine(machine)?;
    for flow in flows {
        check_flow(machine, flow, &Subject(&format!("flow {}", flow.name)))?;
    }
    let the_flows = Subject("the flows");
    the_flows.range("number", flows.len() as u64, 1, MOST)?;
    let names: std::collections::BTreeSet<&str> = flows.iter().map(|flow| flow.name.as_str()).collect();
    if names.len() < flows.len() {
        return the_flows.fails("name", "two flows have the same name", "a name for each: its random numbers follow from it");
    }
    let of_trial = Subject("the trial");
    of_trial.time("warm_up", trial.warm_up, 0)?;
    of_trial.time("duration", trial.duration, 1)?;
    of_trial.time("tail", trial.tail, 0)
}

/// Checks a machine without flows.
///
/// # Errors
/// The first [`Invalid`].
pub fn check_machine(machine: &Machine) -> Result<(), Invalid> {
    let subject = Subject("the machine");
    subject.range("cores", u64::from(machine.cores), 1, MOST)?;
    subject.range("clock", machine.clock_hz, 1_000, 1_000_000_000_000)?;
    subject.real("memory_scale", machine.memory_scale, 0.0, 1e6)?;
    subject.range("routes", machine.routes, 1, u64::MAX)?;
    subject.real("imbalance", machine.imbalance, 1.0, f64::from(machine.cores))?;
    subject.range("nic", machine.nics.len() as u64, 1, MOST)?;
    if let Some(memory) = &machine.memory {
        let subject = Subject("the memory");
        subject.real("bandwidth", memory.bandwidth, 1.0, 1e18)?;
        subject.real("ddio", memory.ddio, 0.0, 1.0)?;
        subject.real("copies", memory.copies, 0.0, 1e6)?;
        subject.real("missed_lines", memory.missed_lines, 0.0, 1e6)?;
    }
    match &machine.bus {
        Bus::Pci(pci) => check_pci(pci)?,
        Bus::Pcie(link) => check_pcie(link)?,
    }
    machine.nics.iter().enumerate().try_for_each(|(index, nic)| check_nic(nic, &Subject(&format!("nic {index}"))))?;
    check_kernel(machine)?;
    check_stages(&machine.stages)?;
    check_variation(machine)?;
    for (index, noise) in machine.noise.iter().enumerate() {
        check_noise(machine, noise, &Subject(&format!("noise {index}")))?;
    }
    machine.guard.as_ref().map_or(Ok(()), check_guard)
}

fn check_pci(pci: &Pci) -> Result<(), Invalid> {
    let subject = Subject("the bus");
    subject.range("clock", pci.clock_hz, 1_000, 1_000_000_000_000)?;
    subject.range("width", u64::from(pci.width), 1, 1 << 16)?;
    subject.range("overhead", u64::from(pci.overhead), 0, 1 << 16)?;
    subject.range("burst", u64::from(pci.burst.unwrap_or(1)), 1, 1 << 30)
}

fn check_pcie(link: &PcieLink) -> Result<(), Invalid> {
    let subject = Subject("the bus");
    subject.range("generation", u64::from(link.generation), 1, 5)?;
    subject.range("lanes", u64::from(link.lanes), 1, 32)?;
    subject.range("max_payload", u64::from(link.max_payload), 64, 4096)?;
    subject.range("max_read_request", u64::from(link.max_read_request), 64, 4096)?;
    subject.range("descriptor_batch", u64::from(link.descriptor_batch), 1, MOST)?;
    subject.range("write_back", u64::from(link.write_back), 1, MOST)
}

fn check_nic(nic: &Nic, subject: &Subject<'_>) -> Result<(), Invalid> {
    subject.range("frame_overhead", u64::from(nic.frame_overhead), 0, 1 << 16)?;
    subject.range("receive_fifo", nic.receive_fifo, 1, 1 << 40)?;
    subject.range("ring", u64::from(nic.ring), 1, LARGEST_QUEUE)?;
    subject.range("channels", u64::from(nic.channels), 1, MOST)?;
    subject.range("transmit_ring", u64::from(nic.transmit_ring), 1, LARGEST_QUEUE)?;
    subject.range("transmit_queue", u64::from(nic.transmit_queue), 0, LARGEST_QUEUE)?;
    subject.range("transmit_fifo", nic.transmit_fifo, 1, 1 << 40)?;
    subject.range("coalescing", u64::from(nic.coalescing), 1, LARGEST_QUEUE)
}

fn check_kernel(machine: &Machine) -> Result<(), Invalid> {
    let subject = Subject("the kernel");
    let overheads = &machine.overheads;
    for (key, work) in [
        ("interrupt", overheads.interrupt),
        ("soft", overheads.soft),
        ("reclaim", overheads.reclaim),
        ("stub", overheads.stub),
        ("poll", overheads.poll),
        ("switch", overheads.switch),
        ("classify", overheads.classify),
    ] {
        subject.work(key, work)?;
    }
    match &machine.kernel {
        Kernel::Interrupt => Ok(()),
        Kernel::Polling { quota, feedback, wake, .. } => {
            subject.range("quota", u64::from(quota.unwrap_or(1)), 1, LARGEST_QUEUE)?;
            if let Some(feedback) = feedback {
                subject.range("feedback high", u64::from(feedback.high), 1, LARGEST_QUEUE)?;
                subject.range("feedback low", u64::from(feedback.low), 0, u64::from(feedback.high) - 1)?;
                subject.time("feedback timeout", feedback.timeout, 1)?;
            }
            match wake {
                Wake::Interrupt | Wake::Busy => Ok(()),
                Wake::After(latency) => subject.distribution("wake", latency),
            }
        }
        Kernel::Shares { batch, input_weight, estimate } => {
            subject.range("batch", u64::from(*batch), 1, LARGEST_QUEUE)?;
            subject.real("input_weight", *input_weight, 1e-3, 1e6)?;
            subject.time("estimate", *estimate, 0)
        }
    }
}

fn check_stages(stages: &[Stage]) -> Result<(), Invalid> {
    Subject("the path").range("stage", stages.len() as u64, 1, 64)?;
    // Soft interrupt and thread are one step.
    let step = |level| match level {
        Level::Interrupt => 2,
        Level::Soft | Level::Thread => 1,
        Level::User => 0,
    };
    for (index, stage) in stages.iter().enumerate() {
        let name = format!("stage {index} ({})", stage.name);
        let subject = Subject(&name);
        subject.work("cycles and memory", Work { cycles: stage.cycles, memory: stage.memory })?;
        subject.time("per_byte", stage.per_byte, 0)?;
        subject.time("per_route_bit", stage.per_route_bit, 0)?;
        subject.range("queue", u64::from(stage.queue.unwrap_or(1)), 1, LARGEST_QUEUE)?;
        if index > 0 && step(stage.level) > step(stages[index - 1].level) {
            let expected = "a level that is not above the one of the stage before";
            return subject.fails("level", format_args!("{:?} after {:?}", stage.level, stages[index - 1].level), expected);
        }
    }
    Ok(())
}

fn check_variation(machine: &Machine) -> Result<(), Invalid> {
    let subject = Subject("the variation");
    match &machine.variation {
        Variation::None => Ok(()),
        Variation::Lognormal { common, own, .. } => {
            subject.real("common", *common, 0.0, 3.0)?;
            subject.real("own", *own, 0.0, 3.0)
        }
        Variation::Rows { woken, batched } => {
            subject.range("rows", batched.len() as u64, 1, u64::from(u32::MAX))?;
            for row in woken.iter().chain(batched.iter()) {
                subject.range("columns", row.len() as u64, machine.stages.len() as u64, machine.stages.len() as u64)?;
                row.iter().try_for_each(|&factor| subject.real("factor", factor, 0.0, 1e6))?;
            }
            Ok(())
        }
    }
}

fn check_noise(machine: &Machine, noise: &Noise, subject: &Subject<'_>) -> Result<(), Invalid> {
    let (NoiseArrivals::Periodic(interval) | NoiseArrivals::Poisson(interval)) = noise.arrivals;
    subject.time("interval", interval, 1)?;
    subject.distribution("cost", &noise.cost)?;
    subject.range("core", u64::from(noise.core), 0, u64::from(machine.cores) - 1)
}

fn check_guard(guard: &BusGuard) -> Result<(), Invalid> {
    let subject = Subject("the guard");
    subject.time("period", guard.period, 1_000)?;
    subject.range("clamp", u64::from(guard.clamp.unwrap_or(1)), 1, 1 << 20)?;
    subject.real("theta", guard.theta, 0.0, 1.0)?;
    subject.real("efficiency", guard.efficiency, 1e-3, 1.0)?;
    subject.time("cost", guard.cost, 0)?;
    subject.time("cost_per_flow", guard.cost_per_flow, 0)
}

fn check_flow(machine: &Machine, flow: &RouterFlow, subject: &Subject<'_>) -> Result<(), Invalid> {
    if let Err(fault) = flow.source.check() {
        return subject.fails(fault.key, fault.problem, fault.expected);
    }
    if flow.source.generator().is_none() {
        return subject.fails("source", "the network would drive it", "a source that emits by itself");
    }
    let nics = machine.nics.len() as u64;
    subject.range("copies", u64::from(flow.copies), 1, MOST)?;
    subject.real("jitter", flow.jitter, 0.0, 1.0)?;
    subject.range("input", flow.input as u64, 0, nics - 1)?;
    subject.range("output", flow.output.map_or(0, |output| output as u64), 0, nics - 1)?;
    subject.range("weight", u64::from(flow.weight), 1, u64::from(u32::MAX))?;
    let channels = u64::from(machine.nics[flow.input].channels);
    subject.range("channel", flow.channel.map_or(0, u64::from), 0, channels - 1)
}
