//! Proven bounds hold: no packet that is simulated is later than the bound of its flow.

use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};
use tidegate_core::units::Duration;
use tidegate_scenario::proof::Proof;
use tidegate_scenario::{Scenario, Variant, load, parse_str};
use tidegate_sim::{Control, Experiment, run_with_changes};

mod proofs {
    pub mod random;
}
use proofs::random;

/// The longest delay of each flow in picoseconds, the first packets included; `None` for a flow that delivered nothing.
fn longest(variant: &Variant, experiment: Experiment) -> Vec<Option<i128>> {
    let simulation = variant.simulation.as_ref().unwrap();
    let changes: Vec<_> = variant.changes.iter().map(|change| change.of_network()).collect();
    let experiment = Experiment { warm_up: Duration::ZERO, sample_interval: None, ..experiment };
    let outcome =
        run_with_changes(&simulation.network, &changes, &experiment, &Control::default()).unwrap_or_else(|error| panic!("{error}"));
    let maximum = |flow: &tidegate_sim::FlowOutcome| flow.delay.as_ref()?.histogram.maximum();
    outcome.flows.iter().map(|flow| maximum(flow).map(|seconds| (seconds * 1e12).round() as i128)).collect()
}

/// What is proven and measured of a variant: for each flow that has both, its name, the bound and the longest delay.
fn compared(variant: &Variant, experiment: Experiment) -> Vec<(String, i128, i128)> {
    let proof = Proof::of(variant).unwrap();
    let names = variant.simulation.as_ref().unwrap().network.flows.iter().map(|flow| flow.name.clone());
    let both = names.zip(&proof.flows).zip(longest(variant, experiment));
    both.filter_map(|((name, proven), measured)| Some((name, proven.as_ref().ok()?.bound.delay, measured?))).collect()
}

fn scenarios() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir("../../scenarios").unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    files
}

fn read(path: &Path) -> Scenario {
    load(path, &[]).unwrap_or_else(|problems| panic!("{problems}"))
}

/// A change makes the first link twenty times as fast. What it carries from then on is all that limits the second.
#[test]
fn a_link_that_becomes_faster_brings_more_from_then_on() {
    let text = |rate: &str| {
        let link = |name: &str, from: &str, to: &str| {
            format!("[[link]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\npolicy = \"{name}\"\n")
        };
        let policy = |name: &str, rate: &str| {
            format!("[policy.{name}]\nrate = \"{rate} Mbit/s\"\nscheduler = \"fifo\"\n[[policy.{name}.class]]\nname = \"all\"\n")
        };
        policy("one", "5")
            + &policy("two", "10")
            + "[simulation]\nduration = \"1 s\"\n"
            + &link("one", "a", "b")
            + &link("two", "b", "c")
            + "[[flow]]\nname = \"bulk\"\nfrom = \"a\"\nto = \"c\"\nsource = { kind = \"greedy\", packet = \"1000 B\", window = \"10 packets\" }\n"
            + "[[flow]]\nname = \"call\"\nfrom = \"b\"\nto = \"c\"\nsource = { kind = \"cbr\", packet = \"200 B\", interval = \"20 ms\" }\n"
            + &format!("[[change]]\nat = \"0.5 s\"\nset = {{ \"policy.one.rate\" = \"{rate} Mbit/s\" }}\n")
    };
    let compared = |rate: &str| {
        let scenario = parse_str("change.toml", &text(rate)).unwrap_or_else(|problems| panic!("{problems}"));
        let variant = &scenario.variants[0];
        compared(variant, variant.simulation.as_ref().unwrap().experiment)
    };
    // A slower link still brought 5 Mbit/s before.
    let names = |found: &[(String, i128, i128)]| found.iter().map(|flow| flow.0.clone()).collect::<Vec<_>>();
    for rate in ["2", "9"] {
        let found = compared(rate);
        assert_eq!(names(&found), ["call"], "at {rate} Mbit/s");
        assert!(found.iter().all(|(_, bound, longest)| longest <= bound), "at {rate} Mbit/s: {found:?}");
    }
    for (_, bound, longest) in compared("100") {
        assert!(longest <= bound, "{longest} ps, bound {bound} ps");
    }
}

#[test]
fn no_packet_of_a_scenario_is_later_than_its_bound() {
    for path in scenarios() {
        for variant in &read(&path).variants {
            let Some(simulation) = &variant.simulation else { continue };
            let name = format!("{}, {}", path.display(), variant.name);
            let experiment = Experiment { duration: Duration::from_milliseconds(500), replications: 1, ..simulation.experiment };
            for (flow, bound, longest) in compared(variant, experiment) {
                assert!(longest <= bound, "{name}: a packet of `{flow}` took {longest} ps, and its bound is {bound} ps");
            }
        }
    }
}

proptest! {
    /// Random networks with every scheduler in trees of two levels, and sources that lean towards the worst case.
    #[test]
    fn no_packet_of_a_random_scenario_is_later_than_its_bound(seed in any::<u64>()) {
        let text = random::scenario(seed);
        let parsed = parse_str("random.toml", &text);
        // Some shares come out above those of their group.
        prop_assume!(parsed.is_ok());
        let scenario = parsed.unwrap();
        let variant = &scenario.variants[0];
        for (flow, bound, longest) in compared(variant, variant.simulation.as_ref().unwrap().experiment) {
            prop_assert!(longest <= bound, "a packet of `{flow}` took {longest} ps, and its bound is {bound} ps:\n{text}");
        }
    }
}
