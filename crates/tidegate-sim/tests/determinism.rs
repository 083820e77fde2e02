//! The same seed gives the same outcome, bit for bit, whatever the number of threads, and flows do not disturb each other's packets.

mod networks;

use networks::{fifo, flow, link, port, rate};
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use tidegate_core::registry::SchedulerKind;
use tidegate_core::scheduler::FlowParameters;
use tidegate_core::units::Duration;
use tidegate_sim::source::{Cbr, FrameTrace, Greedy, OnOff, Poisson};
use tidegate_sim::{Control, Experiment, FlowSpec, Holding, LengthDistribution, Network, Outcome, Remainder, SimulationError, Source, run};

fn poisson(packets_per_second: f64) -> Source {
    Source::Poisson(Poisson { packets_per_second, length: LengthDistribution::Uniform { shortest: 64, longest: 1500 } })
}

fn bursts() -> Source {
    let on = Holding::Exponential { mean: Duration::from_milliseconds(20) };
    let off = Holding::Pareto { mean: Duration::from_milliseconds(30), shape: 1.5 };
    Source::OnOff(OnOff { peak: rate(20_000_000), length: 1000, on, off, remainder: Remainder::Carried })
}

/// Three links in a row, the first two overloaded now and then, and a link apart from them.
fn network() -> Network {
    let fair = [FlowParameters { weight: Some(1), ..FlowParameters::default() }; 2];
    let apart = [FlowParameters::default()];
    let delay = Duration::from_milliseconds(2);
    let links = vec![
        link("1-2", 0, 1, delay, port(10_000_000, SchedulerKind::DeficitRoundRobin, &fair, 40)),
        link("2-3", 1, 2, delay, port(9_000_000, SchedulerKind::DeficitRoundRobin, &fair, 20)),
        link("3-4", 2, 3, Duration::ZERO, fifo(100_000_000, 40)),
        link("5-6", 4, 5, delay, port(5_000_000, SchedulerKind::Fifo, &apart, 10)),
    ];
    let video = Source::FrameTrace(FrameTrace {
        frames: [9_000, 3_000, 4_500, 0, 2_000].into(),
        interval: Duration::from_milliseconds(40),
        packet_length: 1400,
        random_start: true,
    });
    let flows = vec![
        flow("bursts", bursts(), 0, &[0, 1, 2]),
        flow("poisson", poisson(300.0), 1, &[0, 1]),
        flow("greedy", Source::Greedy(Greedy { length: 900, window: 5 }), 1, &[1, 2]),
        flow("voice", Source::Cbr(Cbr { rate: rate(64_000), length: 200, random_phase: true }), 0, &[0, 1, 2]),
        flow("video", video, 1, &[0]),
    ];
    Network { nodes: (1..=6).map(|node| node.to_string()).collect(), links, flows, ..Network::default() }
}

fn experiment(seed: u64) -> Experiment {
    Experiment {
        duration: Duration::from_seconds(3),
        warm_up: Duration::from_milliseconds(300),
        seed,
        replications: 5,
        sample_interval: Some(Duration::from_milliseconds(100)),
        flow_series: true,
    }
}

fn outcome(network: &Network, seed: u64, threads: usize) -> Outcome {
    run(network, &experiment(seed), &Control { threads: NonZeroUsize::new(threads), ..Control::default() }).unwrap()
}

/// Every figure of an outcome, floating-point numbers to the last digit.
fn bytes(outcome: &Outcome) -> String {
    format!("{outcome:?}")
}

#[test]
fn the_same_seed_gives_the_same_bytes_on_any_number_of_threads() {
    let network = network();
    let one = outcome(&network, 1, 1);
    assert!(one.flows.iter().any(|flow| !flow.drops.is_empty()), "the network is busy enough to lose packets");
    assert_eq!(bytes(&one), bytes(&outcome(&network, 1, 1)));
    assert_eq!(bytes(&one), bytes(&outcome(&network, 1, 2)));
    assert_eq!(bytes(&one), bytes(&outcome(&network, 1, 7)));
}

#[test]
fn seeds_and_replications_differ() {
    let network = network();
    let (one, two) = (outcome(&network, 1, 2), outcome(&network, 2, 2));
    let emitted = |outcome: &Outcome| outcome.replications.iter().map(|run| run.flows[1].offered).collect::<Vec<_>>();
    let mut all = [emitted(&one), emitted(&two)].concat();
    all.sort_by_key(|volume| volume.bytes);
    assert!(all.windows(2).all(|pair| pair[0] != pair[1]), "{all:?}");
}

#[test]
fn a_flow_on_a_disjoint_path_changes_nothing() {
    let alone = network();
    let mut joined = alone.clone();
    // In front of the others, so that every index and slot moves.
    joined.flows.insert(0, flow("stranger", poisson(700.0), 0, &[3]));
    let (before, after) = (outcome(&alone, 3, 2), outcome(&joined, 3, 2));
    assert_eq!(before.flows, after.flows[1..]);
    assert_eq!(before.ports[..3], after.ports[..3]);
    assert!(after.ports[3].sent.packets > 0);
}

#[test]
fn a_flow_on_the_same_path_leaves_the_emissions_of_the_others_alone() {
    let alone = network();
    let mut joined = alone.clone();
    joined.flows.push(flow("rival", poisson(2000.0), 0, &[0, 1]));
    let (before, after) = (outcome(&alone, 3, 2), outcome(&joined, 3, 2));
    for index in [0, 1, 3, 4] {
        assert_eq!(before.flows[index].offered, after.flows[index].offered);
    }
    assert!(after.flows[0].delivered.packets < before.flows[0].delivered.packets);
}

#[test]
fn a_longer_experiment_continues_a_shorter_one() {
    // What happens does not depend on when it ends: the series of the shorter one are the beginning of the longer one's.
    let network = network();
    let short = Experiment { duration: Duration::from_seconds(2), ..experiment(4) };
    let short = run(&network, &short, &Control::default()).unwrap();
    let long = outcome(&network, 4, 1);
    for (short, long) in short.flows.iter().zip(&long.flows) {
        assert_eq!(short.throughput_over_time_bps.len(), 20);
        assert_eq!(short.throughput_over_time_bps, long.throughput_over_time_bps[..20]);
    }
    for (short, long) in short.ports.iter().zip(&long.ports) {
        assert_eq!(short.occupancy_over_time_bytes, long.occupancy_over_time_bytes[..20]);
    }
}

#[test]
fn progress_rises_to_one_and_has_no_bearing_on_the_outcome() {
    let seen = Mutex::new(Vec::new());
    let note = |done: f64| seen.lock().unwrap().push(done);
    let control = Control { threads: NonZeroUsize::new(3), progress: Some(&note), ..Control::default() };
    let network = network();
    let watched = run(&network, &experiment(1), &control).unwrap();
    assert_eq!(bytes(&watched), bytes(&outcome(&network, 1, 1)));
    let seen = seen.into_inner().unwrap();
    assert!(seen.len() >= 5 && seen.windows(2).all(|pair| pair[0] < pair[1]), "{seen:?}");
    assert!((seen.last().unwrap() - 1.0).abs() < 1e-9, "{seen:?}");
}

#[test]
fn cancelling_ends_a_simulation_that_would_take_hours() {
    let cancel = AtomicBool::new(false);
    let stop = |_: f64| cancel.store(true, Ordering::Relaxed);
    let network = network();
    let endless = Experiment { duration: Duration::from_seconds(1_000_000), replications: 4, sample_interval: None, ..experiment(1) };
    let control = Control { threads: NonZeroUsize::new(2), progress: Some(&stop), cancel: Some(&cancel), ..Control::default() };
    assert_eq!(run(&network, &endless, &control), Err(SimulationError::Cancelled));
}

#[test]
fn replications_in_two_parts_are_those_of_the_whole() {
    let network = network();
    let whole = run(&network, &Experiment { replications: 5, ..experiment(3) }, &Control::default()).unwrap();
    let part = |first_replication, replications| {
        let progress = |done: f64| assert!((0.0..=1.0).contains(&done));
        let control = Control { first_replication, progress: Some(&progress), ..Control::default() };
        run(&network, &Experiment { replications, ..experiment(3) }, &control).unwrap().replications
    };
    assert_eq!([part(0, 2), part(2, 3)].concat(), whole.replications);
}

#[test]
fn names_make_the_streams() {
    let with_name = |name: &str| {
        let source = poisson(500.0);
        let flow = FlowSpec { name: name.into(), ..flow("", source, 0, &[0]) };
        let network = Network { flows: vec![flow], ..network() };
        outcome(&network, 1, 1).flows[0].offered
    };
    assert_eq!(with_name("a"), with_name("a"));
    assert_ne!(with_name("a"), with_name("b"));
}
