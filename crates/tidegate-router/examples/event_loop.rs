//! How fast a machine is simulated: events per second of CPU time, beside the simulator's own event loop on an M/M/1 queue.
//!
//! `cargo run --release -p tidegate-router --example event_loop [-- ROUNDS]`
//!
//! The contestants take turns, a round of about half a second each; medians are printed. CPU time is that of the process, in ticks of 10 ms.

use tidegate_core::buffer::BufferParameters;
use tidegate_core::classifier::{ClassRules, Classifier, Header};
use tidegate_core::port::PortSetup;
use tidegate_core::registry::{BufferKind, SchedulerKind};
use tidegate_core::scheduler::{FlowParameters, Setup};
use tidegate_core::units::{Duration, Overhead, Rate};
use tidegate_router::{BusGuard, Fidelity, Kernel, Machine, RouterFlow, Trial, run};
use tidegate_sim::source::{Cbr, LengthDistribution, Poisson};
use tidegate_sim::{Control, Experiment, FlowSpec, Impairment, Link, LinkId, Network, NodeId, Source};

/// User and system time of this process in seconds.
fn cpu_seconds() -> f64 {
    let status = std::fs::read_to_string("/proc/self/stat").expect("Linux has /proc");
    let after_name = status.rsplit(") ").next().unwrap_or_default();
    let ticks = |field: usize| after_name.split(' ').nth(field).and_then(|ticks| ticks.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

/// Three flows through a machine: events of some trials.
fn machine(machine: &Machine, fidelity: Fidelity) -> u64 {
    let flow = |(index, kpps): (usize, u64)| {
        let source = Source::Cbr(Cbr { rate: Rate::new(kpps * 512 * 8000).unwrap(), length: 512, random_phase: true });
        RouterFlow { jitter: 0.05, ..RouterFlow::new(format!("flow {index}"), source, 0, Some(1)) }
    };
    let flows: Vec<RouterFlow> = [15, 15, 60].into_iter().enumerate().map(flow).collect();
    let trial = Trial { fidelity, ..Trial::new(Duration::from_seconds(5), 1) };
    run(machine, &flows, &trial).unwrap().events
}

/// M/M/1 at a load of 0.8: one link of 10 Mbit/s, exponential lengths of 1000 bytes on average.
fn queue() -> u64 {
    let rate = Rate::new(10_000_000).unwrap();
    let class = ClassRules { name: "all".into(), queues: 1, rules: vec![] };
    let port = PortSetup {
        rate,
        overhead: Overhead::None,
        classifier: Classifier::new(vec![class], 1).unwrap(),
        policers: vec![None],
        aqms: Vec::new(),
        seed: 0,
        buffer: BufferKind::TailDrop.build(&BufferParameters { flows: 1, ..BufferParameters::default() }).unwrap(),
        // Strict priority is driven by events; a FIFO would be worked out on arrival.
        scheduler: SchedulerKind::StrictPriority
            .build(&Setup::new(rate, 65_000), &[FlowParameters { priority: Some(0), ..FlowParameters::default() }])
            .unwrap(),
        packet_limit: 100_000,
        longest_frame: 65_000,
        remarks: Default::default(),
    };
    let link = Link {
        name: "link".into(),
        from: NodeId(0),
        to: NodeId(1),
        propagation: Duration::from_milliseconds(1),
        port,
        impairment: Impairment::default(),
        cells: false,
        adapter: None,
        admission: None,
        workers: None,
    };
    let source = Source::Poisson(Poisson { packets_per_second: 1000.0, length: LengthDistribution::Exponential { mean: 1000.0 } });
    let (header, path, start) = (Header::default(), vec![LinkId(0)], Duration::ZERO);
    let flow = FlowSpec { name: "flow".into(), source, header, path, start, stop: None, tagging: None, shaping: None };
    let network = Network { nodes: vec!["here".into(), "there".into()], links: vec![link], flows: vec![flow], ..Network::default() };
    let experiment = Experiment { duration: Duration::from_seconds(1500), ..Experiment::default() };
    let control = Control { threads: std::num::NonZeroUsize::new(1), ..Control::default() };
    tidegate_sim::run(&network, &experiment, &control).unwrap().replications[0].events
}

/// Runs some trials and returns their events.
type Contestant = Box<dyn Fn() -> u64>;

fn main() {
    let rounds = std::env::args().nth(1).map_or(5, |argument| argument.parse().expect("a number of rounds"));
    let one = Machine::system_one;
    let guarded = Machine { kernel: Kernel::SHARES, guard: Some(BusGuard::FORWARDING), ..one() };
    let polling = Machine { kernel: Kernel::POLLING, ..one() };
    let contestants: [(&str, Contestant); 5] = [
        ("interrupts, per function", Box::new(move || machine(&one(), Fidelity::Function))),
        ("interrupts, per level", Box::new(move || machine(&one(), Fidelity::Level))),
        ("polling, per level", Box::new(move || machine(&polling, Fidelity::Level))),
        ("shares and guard, per level", Box::new(move || machine(&guarded, Fidelity::Level))),
        ("M/M/1 in the simulator", Box::new(queue)),
    ];
    let mut rates = vec![Vec::new(); contestants.len()];
    for _ in 0..rounds {
        for ((_, events), rates) in contestants.iter().zip(&mut rates) {
            let before = cpu_seconds();
            let mut count = 0;
            while cpu_seconds() - before < 0.5 {
                count += events();
            }
            rates.push(count as f64 / (cpu_seconds() - before) / 1e6);
        }
    }
    for ((name, _), mut rates) in contestants.iter().zip(rates) {
        rates.sort_by(f64::total_cmp);
        println!("{name:28} {:6.2} M events per CPU second ({:.2} to {:.2})", rates[rates.len() / 2], rates[0], rates[rates.len() - 1]);
    }
}
