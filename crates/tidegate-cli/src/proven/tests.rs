//! Tests of [`super`], with proofs made up for them.

use super::*;
use tidegate_bounds::curve::Arrival;
use tidegate_bounds::end_to_end::{Bound, Method};
use tidegate_report::figure::Figure;
use tidegate_report::{ExperimentResult, FlowResult, World};
use tidegate_scenario::proof::ProvenFlow;
use tidegate_sim::Control;

/// Two constant flows of a group and one of its own through a link: 1 ms each on the line.
const FILE: &str = r#"
[simulation]
duration = "1 s"
warm_up = "500 ms"
replications = 2
seed = 1

[policy.port]
rate = "1 Mbit/s"
scheduler = "fifo"

[[link]]
name = "link"
from = "a"
to = "b"
policy = "port"

[[flow]]
name = "pair"
path = ["link"]
count = 2
source = { kind = "cbr", rate = "100 kbit/s", packet = "125 B" }

[[flow]]
name = "single"
path = ["link"]
stop = "400 ms"
source = { kind = "cbr", rate = "100 kbit/s", packet = "125 B" }
"#;

/// A proof of this bound in picoseconds.
fn bound(delay: i128) -> Result<ProvenFlow, String> {
    let nothing = || Err(tidegate_bounds::quantity::NoBound::OutOfRange);
    let all = [Ok(delay), nothing(), nothing(), nothing()];
    let bound = Bound { delay, method: Method::TotalFlow, all, jitter: 0, backlogs: vec![], output: Arrival::token_bucket(1_000, 100_000) };
    Ok(ProvenFlow { bound, queues: vec![], limited: vec![] })
}

/// The run of [`FILE`] beside these bounds.
fn beside(flows: Vec<Result<ProvenFlow, String>>) -> Report {
    let scenario = tidegate_scenario::parse_str("file.toml", FILE).unwrap();
    let simulation = scenario.variants[0].simulation.as_ref().unwrap();
    let mut outcome = tidegate_sim::run(&simulation.network, &simulation.experiment, &Control::default()).unwrap();
    let mut run = crate::simulation_report::run_of("run", &mut outcome, true);
    compare(&mut run, &simulation.groups, &Proof { flows, queues: vec![], is_by_all_methods: true }, &outcome);
    let mut report = Report::new("title", World::Simulation, "file.toml");
    report.runs.push(run);
    report
}

fn unbounded() -> Result<ProvenFlow, String> {
    Err("source `tcp` is not limited".into())
}

#[test]
fn a_bound_is_compared_to_the_picosecond() {
    const GENEROUS: i128 = 1_000_000_000_000;
    let report = beside(vec![bound(GENEROUS), unbounded(), bound(GENEROUS)]);
    let longest = |flow: usize| report.runs[0].flows[flow].bound.as_ref().unwrap().longest.unwrap();
    let [first, last] = [longest(0), longest(2)];
    assert_eq!(first.left_ps - first.came_ps, first.delay_ps);
    // The flow that ends within the warm-up counts all the same: the reported delays do not know it.
    assert!(report.runs[0].flows[2].delay.is_none() && last.left_ps < 500_000_000_000);

    let [tight, short] = [0, 1].map(|less| i128::from(first.delay_ps) - less);
    let mut held = beside(vec![bound(tight), unbounded(), bound(last.delay_ps.into())]);
    assert_eq!(note_excesses(&mut held), Vec::<String>::new());
    let result = held.runs[0].flows[0].bound.clone().unwrap();
    assert_eq!((result.ratio, result.held, result.method.as_deref()), (Some(1.0), Some(true), Some("TFA++")));
    let reason = held.runs[0].flows[1].bound.clone().unwrap();
    assert_eq!((reason.held, reason.ratio, reason.reason.as_deref()), (None, None, Some("source `tcp` is not limited")));
    assert!(reason.longest.is_some());

    let mut exceeded = beside(vec![bound(short), unbounded(), bound(GENEROUS)]);
    let notes = note_excesses(&mut exceeded);
    assert_eq!(notes.len(), 1);
    let told = format!(
        "flow `pair-1`: packet {} of replication {} came at {} and left at {}: it took {}, and at most {} is proven (TFA++).",
        first.number,
        first.replication,
        exact(first.came_ps),
        exact(first.left_ps),
        exact(first.delay_ps),
        exact(first.delay_ps - 1)
    );
    assert_eq!((&notes[0], exceeded.notes.last()), (&told, Some(&told)));
    exceeded.validate().unwrap();
    assert_eq!(format!("{:?}", tell(&notes, "file")), format!("{:?}", ExitCode::from(4)));
}

#[test]
fn a_group_of_equal_flows_is_named_and_a_flow_of_its_own_is_not() {
    let report = beside(vec![unbounded(), unbounded(), unbounded()]);
    let groups: Vec<_> = report.runs[0].flows.iter().map(|flow| flow.group.as_deref()).collect();
    assert_eq!(groups, [Some("pair"), Some("pair"), None]);
}

#[test]
fn variants_are_named_and_long_lists_cut() {
    let mut report = beside(vec![bound(1), bound(1), bound(1)]);
    let mut second = report.runs[0].clone();
    second.name = "second".into();
    let template = second.flows[0].clone();
    second.flows = (0..20).map(|number| FlowResult { name: format!("flow {number}"), ..template.clone() }).collect();
    report.runs.push(second);
    let notes = note_excesses(&mut report);
    assert_eq!(notes.len(), TOLD + 1);
    assert!(notes[0].starts_with("run: flow `pair-1`: packet ") && notes[3].starts_with("second: flow `flow 0`: "), "{notes:?}");
    assert_eq!(notes[TOLD], "Packets of 13 more flows took longer than is proven.");
}

#[test]
fn the_figures_of_experiments_are_judged_alike() {
    let packet =
        PacketResult { replication: 3, number: 9, came_ps: 1_000_000_000_000, left_ps: 3_000_000_000_001, delay_ps: 2_000_000_000_001 };
    let row = |run: &str, bound| FlowBound {
        run: run.into(),
        flow: "guaranteed".into(),
        count: 4,
        bound: BoundResult::new(Ok((bound, "SFA")), Some(packet)),
    };
    let (held, exceeded) = (2_000_000_000_001, 2_000_000_000_000);
    let mut figure = Figure::new("light-load", "title", "source");
    figure.bounds = vec![row("as printed", held), row("as printed", exceeded), row("", exceeded)];
    let (id, title, source) = ("paper".into(), "title".into(), "source".into());
    let mut reproduction = Reproduction::new();
    reproduction.experiments.push(ExperimentResult { id, title, source, figures: vec![figure] });
    let told = "flow `guaranteed`: packet 9 of replication 3 came at 1 s and left at 3.000000000001 s: it took 2.000000000001 s, and at most 2 s is \
                proven (SFA).";
    let expected = ["paper/light-load, as printed", "paper/light-load"].map(|place| format!("{place}: {told}"));
    assert_eq!(excesses_of(&reproduction), expected);
}

#[test]
fn times_are_told_to_the_picosecond() {
    assert_eq!([0, 1, 20_000_000_000, 3_000_000_000_001].map(exact), ["0 s", "0.000000000001 s", "0.02 s", "3.000000000001 s"]);
}

#[test]
fn a_class_that_is_later_at_its_port_than_is_proven_is_told() {
    let with = |bound: i128| {
        let scenario = tidegate_scenario::parse_str("file.toml", FILE).unwrap();
        let simulation = scenario.variants[0].simulation.as_ref().unwrap();
        let mut outcome = tidegate_sim::run(&simulation.network, &simulation.experiment, &Control::default()).unwrap();
        let mut run = crate::simulation_report::run_of("run", &mut outcome, true);
        compare_classes(&mut run, &HashMap::from([((LinkId(0), 0), bound)]), &outcome);
        let mut report = Report::new("title", World::Simulation, "file.toml");
        report.runs.push(run);
        let notes = note_excesses(&mut report);
        (report.runs[0].ports[0].classes[0].bound.unwrap(), notes)
    };
    let (bound, notes) = with(1_000_000_000_000);
    let longest = bound.longest_ps.unwrap();
    assert!(bound.held && longest >= 1_000_000_000 && notes.is_empty(), "{bound:?} {notes:?}");
    assert!(with(longest.into()).0.held);
    let (bound, notes) = with(i128::from(longest) - 1);
    assert!(!bound.held && bound.ratio.unwrap() > 1.0, "{bound:?}");
    let (longest, proven) = (exact(longest), exact(longest - 1));
    assert_eq!(notes.len(), 1);
    assert!(notes[0].ends_with(&format!("at link `link`: a packet took {longest} there, and at most {proven} is proven.")), "{notes:?}");
}
