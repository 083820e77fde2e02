//! A replication on several threads has the outcome of one thread, to the byte.

mod networks;

use networks::any::{any_network, any_tree};
use networks::{fifo, flow, link};
use proptest::prelude::*;
use std::num::NonZeroUsize;
use tidegate_core::units::Duration;
use tidegate_sim::source::Cbr;
use tidegate_sim::{Control, Division, Experiment, Network, Outcome, SimulationError, Source, obstacles_to_division, run};

fn outcome(network: &Network, experiment: &Experiment, threads: usize) -> Outcome {
    let control = Control { threads: NonZeroUsize::new(threads), division: Division::WherePossible, ..Control::default() };
    run(network, experiment, &control).unwrap()
}

/// Every figure of an outcome, floating-point numbers to the last digit.
fn bytes(outcome: &Outcome) -> String {
    format!("{outcome:?}")
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_number_of_threads_changes_no_byte(mut network in prop_oneof![any_network(), any_tree()], disturbs: bool, warm_up in 0u64..400, seed: u64) {
        for link in &mut network.links {
            (link.cells, link.adapter) = (false, None);
            link.impairment.disturbance = link.impairment.disturbance.filter(|_| disturbs);
        }
        prop_assume!(obstacles_to_division(&network, &[], &Control::default()).is_empty());
        let experiment = Experiment {
            duration: Duration::from_milliseconds(500),
            warm_up: Duration::from_milliseconds(warm_up),
            seed,
            replications: 1,
            sample_interval: Some(Duration::from_milliseconds(70)),
            flow_series: true,
        };
        let one = bytes(&outcome(&network, &experiment, 1));
        for threads in 2..=4 {
            prop_assert_eq!(&one, &bytes(&outcome(&network, &experiment, threads)), "{} threads", threads);
        }
    }
}

/// Two nodes with traffic both ways.
fn pair(propagation: Duration) -> Network {
    let links = vec![link("there", 0, 1, propagation, fifo(1_000_000, 50)), link("back", 1, 0, propagation, fifo(1_000_000, 50))];
    let source = || Source::Cbr(Cbr { rate: networks::rate(100_000), length: 100, random_phase: false });
    let flows = vec![flow("there", source(), 0, &[0]), flow("back", source(), 0, &[1])];
    let nodes = vec!["a".into(), "b".into()];
    Network { nodes, links, flows, ..Network::default() }
}

#[test]
fn what_keeps_a_network_on_one_thread_is_named() {
    let network = pair(Duration::from_microseconds(1));
    assert!(obstacles_to_division(&network, &[], &Control::default()).is_empty());
    let near = pair(Duration::ZERO);
    assert_eq!(
        obstacles_to_division(&near, &[], &Control::default()),
        ["no link with a propagation delay, without late packets, divides its traffic"]
    );
    let mut cells = network;
    cells.links[0].cells = true;
    assert_eq!(obstacles_to_division(&cells, &[], &Control::default()), ["cells are played a port ahead"]);
}

#[test]
fn a_cancelled_run_ends_on_all_threads() {
    let network = pair(Duration::from_microseconds(1));
    let cancel = std::sync::atomic::AtomicBool::new(true);
    let control = Control { threads: NonZeroUsize::new(2), division: Division::WherePossible, cancel: Some(&cancel), ..Control::default() };
    let experiment = Experiment { duration: Duration::from_seconds(1000), ..Experiment::default() };
    let result = run(&network, &experiment, &control).map(|_| "an outcome");
    assert!(matches!(result, Err(SimulationError::Cancelled)), "{result:?}");
}
