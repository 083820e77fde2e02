//! The event loop of a trial: sources, wires, bus and cores in one order of events.
//!
//! **Law.** At every instant every packet that arrived is in one place, or has left, or was lost. [`Account`](crate::outcome::Account) is checked at
//! the end of every trial; with debug assertions the packets are also counted after each of the first events.
//!
//! Events of one instant come in the order of the agenda: what leaves before what arrives. After each event the cores that it touched choose their work,
//! and the bus starts its next transfer.

use crate::agenda::{Agenda, Counts, Due};
use crate::arrivals::Emitter;
use crate::bus::{Agent, Bus};
use crate::check::Invalid;
use crate::cost::Costs;
use crate::cpu::{Cpu, INTERRUPT, Job, LEVELS, NOISE, Then, USER};
use crate::guarding::Guarding;
use crate::kernel::Kernel;
use crate::machine::{Machine, RouterFlow};
use crate::measure::Measures;
use crate::nic::Nic;
use crate::node::{Node, Port, Way};
use crate::noise::NoiseSource;
use crate::outcome::{Batches, CoreUse, Fidelity, RouterOutcome, Trial};
use crate::packet::Packet;
use crate::ready_set::ReadySet;
use crate::traffic;
use std::collections::VecDeque;
use tidegate_core::fault;
use tidegate_core::units::Duration;
use tidegate_sim::random::Stream;
use tidegate_sim::time::NEVER;

/// With debug assertions the packets are counted after each of this many events, and after every one of that many later.
const COUNTED_EVENTS: u64 = 1 << 14;

/// One core with its kernel.
struct Core {
    cpu: Cpu,
    kernel: Kernel,
    noise: VecDeque<u64>,
    /// Activations of the guard that wait for the core.
    activations: u32,
}

/// What had been used when measurement began.
#[derive(Default)]
struct Before {
    at: u64,
    cores: Vec<[u64; LEVELS]>,
    lanes: Vec<u64>,
    batches: Vec<Batches>,
}

struct Engine {
    node: Node,
    cores: Vec<Core>,
    /// Cores that an event gave something to do.
    touched: ReadySet,
    emitters: Vec<Emitter>,
    noise: Vec<NoiseSource>,
    guarding: Option<Guarding>,
    per_function: bool,
    before: Before,
}

/// Runs one trial of a machine that has been checked.
///
/// # Errors
/// A setting that the guard refuses.
pub(crate) fn run(machine: &Machine, flows: &[RouterFlow], trial: &Trial) -> Result<RouterOutcome, Invalid> {
    let mut engine = Engine::new(machine, flows, trial)?;
    let (begin, end) = trial.window();
    let last = end + trial.tail.picoseconds();
    let limit = trial.stop_at_loss.unwrap_or(u64::MAX);
    let (mut events, mut now) = (0, 0);
    let mut measured = None;
    engine.node.agenda.set(Due::Measure, begin);
    loop {
        let (at, due) = engine.node.agenda.first();
        if at > last {
            break;
        }
        now = at;
        events += 1;
        if due == Due::Measure {
            if measured.is_none() && now < end {
                engine.begin_measuring(now);
                engine.node.agenda.set(Due::Measure, end);
            } else {
                measured = Some(engine.usage(now));
                engine.node.agenda.set(Due::Measure, NEVER);
            }
            continue;
        }
        engine.event(due, now);
        engine.settle(now);
        if cfg!(debug_assertions) && (events < COUNTED_EVENTS || events % COUNTED_EVENTS == 0) {
            assert_eq!(engine.packets().count() as u64, engine.node.measures.held(), "every packet is in one place");
        }
        if engine.node.measures.lost() >= limit {
            break;
        }
    }
    let measured = measured.unwrap_or_else(|| engine.usage(now.max(begin)));
    Ok(engine.finish(measured, events))
}

/// What was used in the measured time.
struct Usage {
    measured: u64,
    cores: Vec<CoreUse>,
    bus: Vec<f64>,
    batches: Batches,
}

impl Engine {
    fn new(machine: &Machine, flows: &[RouterFlow], trial: &Trial) -> Result<Engine, Invalid> {
        let cores = machine.cores as usize;
        let ways = ways(machine, flows);
        let channels = |nic: usize| channels(machine, flows, nic);
        let (mut agents, mut ports, mut nics) = (Vec::new(), Vec::new(), Vec::new());
        for (index, nic) in machine.nics.iter().enumerate() {
            let count = channels(index);
            ports.push(Port::new(agents.len(), count, cores));
            agents.extend((0..count as u32).map(|channel| Agent::Receive { nic: index as u32, channel }));
            agents.extend((0..cores as u32).map(|core| Agent::Transmit { nic: index as u32, core }));
            nics.push(Nic::new(nic, count, cores));
        }
        let weights: Vec<f64> = flows.iter().map(|flow| f64::from(flow.weight)).collect();
        let bus = Bus::new(&machine.bus, agents, &weights);
        let costs = Costs::new(machine, &mut Stream::new(trial.seed, 0, Costs::STREAM));
        let (begin, end) = trial.window();
        let mut emitters = Emitter::all(flows, trial.seed);
        let stream = |kind: &str, index: usize| Stream::new(trial.seed, index as u32, kind);
        let mut noise: Vec<NoiseSource> =
            machine.noise.iter().enumerate().map(|(index, noise)| NoiseSource::new(noise, stream("noise", index))).collect();
        let counts = Counts { nics: nics.len(), lanes: bus.lanes(), cores, noise: noise.len(), sources: emitters.len() };
        let mut agenda = Agenda::new(counts);
        emitters.iter_mut().enumerate().for_each(|(index, emitter)| agenda.set(Due::Source(index), emitter.first()));
        noise.iter_mut().enumerate().for_each(|(index, noise)| agenda.set(Due::Noise(index), noise.first()));
        let its_core: Vec<usize> = ways.iter().map(|way| way.core).collect();
        let core = |index: usize| Core {
            cpu: Cpu::default(),
            kernel: Kernel::new(machine, flows, &its_core, index, stream("thread", index)),
            noise: VecDeque::new(),
            activations: 0,
        };
        let node = Node::new(nics, ports, bus, ways, costs, Measures::new(flows.len(), begin..end), agenda);
        let guarding = machine.guard.as_ref().map(|guard| Guarding::new(guard, flows, &node)).transpose()?;
        let mut engine = Engine {
            node,
            cores: (0..cores).map(core).collect(),
            touched: ReadySet::new(cores),
            emitters,
            noise,
            guarding,
            per_function: trial.fidelity == Fidelity::Function,
            before: Before::default(),
        };
        if let Some(guarding) = &engine.guarding {
            engine.node.agenda.set(Due::Guard, guarding.period());
        }
        Ok(engine)
    }

    #[inline]
    fn event(&mut self, due: Due, now: u64) {
        match due {
            Due::Wire(nic) => self.node.left(nic, now),
            Due::Lane(lane) => {
                self.node.agenda.set(due, NEVER);
                if let Some((agent, packet)) = self.node.bus.end(lane, &self.node.nics) {
                    self.node.transferred(agent, packet, now);
                }
            }
            Due::Core(core) => self.complete(core, now),
            Due::Measure => {}
            Due::Noise(index) => {
                let (work, next) = self.noise[index].strike(now);
                self.node.agenda.set(due, next);
                let core = self.noise[index].core();
                self.cores[core].noise.push_back(work);
                self.touched.set(core, true);
            }
            Due::Guard => {
                if let Some(guarding) = &self.guarding {
                    self.node.agenda.set(due, now + guarding.period());
                }
                self.cores[0].activations += 1;
                self.touched.set(0, true);
            }
            Due::Thread(core) => {
                self.cores[core].kernel.wake_up(now, &mut self.node);
                self.touched.set(core, true);
            }
            Due::Feedback(core) => {
                self.cores[core].kernel.time_out(&mut self.node);
                self.touched.set(core, true);
            }
            Due::Incoming(nic) => {
                let incoming = &mut self.node.nics[nic].incoming;
                let Some(packet) = incoming.pop_front() else { return };
                let next = incoming.front().map_or(NEVER, |next| next.arrived);
                self.node.agenda.set(due, next);
                self.node.arrive(packet);
            }
            Due::Source(index) => {
                let (packet, next) = self.emitters[index].emit(now);
                self.node.agenda.set(due, next);
                let nic = self.node.ways[packet.flow as usize].input;
                self.node.nics[nic].emit(now, packet);
                let incoming = &self.node.nics[nic].incoming;
                if incoming.len() == 1 {
                    self.node.agenda.set(Due::Incoming(nic), incoming[0].arrived);
                }
            }
        }
    }

    /// The chunk that a core ran has ended: the next of its job, or what follows the job.
    #[inline]
    fn complete(&mut self, index: usize, now: u64) {
        self.touched.set(index, true);
        self.node.agenda.set(Due::Core(index), NEVER);
        let core = &mut self.cores[index];
        let Some((level, job)) = core.cpu.complete(now) else { return };
        match job {
            Job::Path { packet, stages, extra, then } => {
                if self.per_function && stages.start < stages.end {
                    let rest = Job::Path { packet, stages, extra, then };
                    return Engine::load(core, level, rest, &self.node, true);
                }
                core.kernel.packet_done(then, packet, now, &mut self.node);
            }
            Job::Fixed { then: Then::Reclaim { nic }, .. } => self.node.reclaim(nic as usize, index),
            Job::Fixed { then: Then::WakeThread, .. } => core.kernel.run_thread(),
            Job::Fixed { then: Then::Guard, .. } => {
                if let Some(guarding) = &mut self.guarding {
                    guarding.activate(&mut self.node);
                }
            }
            Job::Fixed { .. } => {}
        }
    }

    /// Gives a level the first chunk of a job: one function, or all of it.
    #[inline]
    fn load(core: &mut Core, level: usize, job: Job, node: &Node, per_function: bool) {
        match job {
            Job::Fixed { work, .. } => core.cpu.load(level, work, job),
            Job::Path { packet, stages, extra, then } if per_function && stages.start < stages.end => {
                let rest = stages.start + 1..stages.end;
                let work = node.costs.stage(&packet, stages.start) + if rest.is_empty() { extra } else { 0 };
                core.cpu.load(level, work, Job::Path { packet, stages: rest, extra, then });
            }
            Job::Path { packet, ref stages, extra, .. } => {
                let work = node.costs.stages(&packet, stages.clone()) + extra;
                core.cpu.load(level, work, job);
            }
        }
    }

    /// Lets the cores and the bus go on after an event.
    #[inline]
    fn settle(&mut self, now: u64) {
        while let Some((core, nic)) = self.node.raised.pop() {
            self.cores[core].kernel.raise(nic, now, &mut self.node);
            self.touched.set(core, true);
        }
        if !self.touched.is_empty() {
            for core in 0..self.cores.len() {
                if self.touched.contains(core) {
                    self.touched.set(core, false);
                    self.dispatch(core, now);
                }
            }
        }
        for lane in 0..self.node.bus.lanes() {
            if let Some(end) = self.node.bus.start(lane, now, &mut self.node.nics) {
                self.node.agenda.set(Due::Lane(lane), end);
            }
        }
    }

    /// Lets a core run the highest level that has work.
    #[inline]
    fn dispatch(&mut self, index: usize, now: u64) {
        let core = &mut self.cores[index];
        for level in (0..LEVELS).rev() {
            if !core.cpu.has(level) {
                let Some(job) = next_job(core, level, now, &mut self.node, self.guarding.as_ref()) else { continue };
                Engine::load(core, level, job, &self.node, self.per_function);
            }
            if let Some(end) = core.cpu.run(level, now) {
                self.node.agenda.set(Due::Core(index), end);
            }
            return;
        }
    }

    fn begin_measuring(&mut self, now: u64) {
        self.before = Before {
            at: now,
            cores: self.cores.iter().map(|core| core.cpu.used(now)).collect(),
            lanes: (0..self.node.bus.lanes()).map(|lane| self.node.bus.busy(lane)).collect(),
            batches: self.cores.iter().map(|core| core.kernel.batches()).collect(),
        };
        if let Some(guarding) = &mut self.guarding {
            guarding.restart();
        }
    }

    /// What has been used since measurement began.
    fn usage(&self, now: u64) -> Usage {
        let measured = now - self.before.at;
        let part = |time: u64| time as f64 / measured.max(1) as f64;
        let core = |(index, core): (usize, &Core)| {
            let before = self.before.cores.get(index).copied().unwrap_or_default();
            let [user, kernel, interrupt, noise] = core.cpu.used(now);
            CoreUse {
                user: part(user - before[0]),
                kernel: part(kernel - before[1]),
                interrupt: part(interrupt - before[2]),
                noise: part(noise - before[3]),
            }
        };
        let mut batches = Batches::default();
        for (index, core) in self.cores.iter().enumerate() {
            batches.add(&core.kernel.batches(), self.before.batches.get(index));
        }
        let lane = |lane| part(self.node.bus.busy(lane) - self.before.lanes.get(lane).copied().unwrap_or_default());
        Usage {
            measured,
            cores: self.cores.iter().enumerate().map(core).collect(),
            bus: (0..self.node.bus.lanes()).map(lane).collect(),
            batches,
        }
    }

    /// All packets in the machine.
    fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.node.packets().chain(self.cores.iter().flat_map(|core| core.kernel.packets().chain(core.cpu.packets())))
    }

    fn finish(self, usage: Usage, events: u64) -> RouterOutcome {
        let mut held = vec![0; self.node.ways.len()];
        self.packets().for_each(|packet| held[packet.flow as usize] += 1);
        let flows = self.node.measures.finish(&held);
        assert!(flows.iter().all(|flow| flow.account.is_conserved()), "packets are conserved");
        RouterOutcome {
            flows,
            measured: Duration::from_picoseconds(usage.measured),
            cores: usage.cores,
            bus: usage.bus,
            batches: usage.batches,
            guard: self.guarding.map(|guarding| guarding.usage()).unwrap_or_default(),
            events,
        }
    }
}

/// The next work of a core at a level.
#[inline]
fn next_job(core: &mut Core, level: usize, now: u64, node: &mut Node, guarding: Option<&Guarding>) -> Option<Job> {
    match level {
        NOISE if fault!(RouterNoiseLast) => None,
        USER if fault!(RouterNoiseLast) => core.noise.pop_front().map(|work| Job::Fixed { work, then: Then::Nothing }),
        NOISE => core.noise.pop_front().map(|work| Job::Fixed { work, then: Then::Nothing }),
        INTERRUPT if core.activations > 0 => {
            core.activations -= 1;
            let work = guarding.map_or(0, Guarding::cost);
            Some(Job::Fixed { work, then: Then::Guard })
        }
        _ => core.kernel.next(level, now, node),
    }
}

/// The number of receive channels of an interface.
fn channels(machine: &Machine, flows: &[RouterFlow], nic: usize) -> usize {
    let own = flows.iter().filter(|flow| flow.input == nic).count();
    if machine.guard.is_some() { own.max(1) } else { machine.nics[nic].channels as usize }
}

/// The way of each flow. Flows take the channels of their interface in turn unless they name theirs.
fn ways(machine: &Machine, flows: &[RouterFlow]) -> Vec<Way> {
    let way = |(flow, channel): (&RouterFlow, usize)| Way {
        input: flow.input,
        channel,
        core: channel % machine.cores as usize,
        output: flow.output,
    };
    flows.iter().zip(traffic::channels(machine, flows)).map(way).collect()
}
