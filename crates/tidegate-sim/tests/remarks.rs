//! What a later port sees of the colours and code points that an earlier one gives: those on the wire, and nothing else.

mod networks;

use networks::{fifo, flow, link, rate};
use tidegate_core::classifier::{ClassRules, Classifier, CodePoints, Rule};
use tidegate_core::packet::Colour;
use tidegate_core::policer::{Contract, Violation};
use tidegate_core::port::PortSetup;
use tidegate_core::registry::{PolicerKind, SchedulerKind};
use tidegate_core::remark::{CodePoint, Remark, Remarks};
use tidegate_core::scheduler::FlowParameters;
use tidegate_core::units::{Duration, Overhead};
use tidegate_sim::source::Cbr;
use tidegate_sim::{Control, Experiment, Network, NodeId, Outcome, Source, run};

const AF11: u8 = 10;
const AF12: u8 = 12;
const AF13: u8 = 14;

/// Two packets within the committed burst, three more within the excess burst, and next to no rate.
fn marker() -> PortSetup {
    let contract = Contract {
        burst: Some(2000),
        excess_burst: Some(3000),
        violation: Some(Violation::Mark(Colour::Red)),
        ..Contract::new(rate(1000), 1000)
    };
    PortSetup { policers: vec![Some(PolicerKind::SrTcm.build(&contract).unwrap())], ..fifo(100_000_000, 100) }
}

fn by_colour() -> Remarks {
    let colours = [Colour::Green, Colour::Yellow, Colour::Red];
    Remarks::new(vec![colours.map(|colour| Remark { dscp: CodePoint::DropPrecedence(colour), ..Remark::KEEP })])
}

/// A class for each of AF11, AF12 and AF13, and one for the rest.
fn sorter() -> PortSetup {
    let rules = |dscp: &[u8]| dscp.iter().map(|&dscp| Rule { dscp: Some(CodePoints::one(dscp)), ..Rule::default() }).collect();
    let classes = [&[AF11][..], &[AF12], &[AF13], &[]];
    let classes = classes.iter().map(|dscp| ClassRules { name: format!("{dscp:?}"), queues: 1, rules: rules(dscp) });
    let ports = networks::port(100_000_000, SchedulerKind::Fifo, &[FlowParameters::default(); 4], 100);
    PortSetup { classifier: Classifier::new(classes.collect(), 1).unwrap(), ..ports }
}

/// Drops what comes red.
fn dropper() -> PortSetup {
    let large = Some(1 << 28);
    let contract = Contract {
        burst: large,
        excess_burst: large,
        colour_aware: Some(true),
        violation: Some(Violation::Discard),
        ..Contract::new(rate(100_000_000), 1000)
    };
    PortSetup { policers: vec![Some(PolicerKind::SrTcm.build(&contract).unwrap())], ..fifo(100_000_000, 100) }
}

/// A hundred packets of AF12 through these ports, one after the other.
fn through(ports: Vec<PortSetup>) -> Outcome {
    let path: Vec<usize> = (0..ports.len()).collect();
    let links =
        ports.into_iter().enumerate().map(|(at, port)| link(&format!("link {at}"), at, at + 1, Duration::from_milliseconds(1), port));
    let source = Source::Cbr(Cbr { rate: rate(8_000_000), length: 1000, random_phase: false });
    let mut network = Network {
        nodes: (0..=path.len()).map(|at| format!("node {at}")).collect(),
        links: links.collect(),
        flows: vec![flow("flow", source, AF12, &path)],
        ..Network::default()
    };
    assert_eq!(network.links.last().map(|last| last.to), Some(NodeId(path.len())));
    network.flows[0].stop = Some(Duration::from_microseconds(99_500));
    run(&network, &Experiment { duration: Duration::from_seconds(1), ..Experiment::default() }, &Control::default()).unwrap()
}

fn offered(outcome: &Outcome, port: usize) -> Vec<u64> {
    outcome.ports[port].classes.iter().map(|class| class.offered.packets).collect()
}

fn dropped(outcome: &Outcome, port: usize) -> u64 {
    outcome.ports[port].dropped.iter().map(|volume| volume.packets).sum()
}

#[test]
fn code_points_by_colour_sort_packets_at_the_next_port_and_at_the_one_after() {
    let outcome = through(vec![PortSetup { remarks: by_colour(), ..marker() }, sorter(), sorter()]);
    assert_eq!(offered(&outcome, 1), [2, 3, 95, 0]);
    assert_eq!(offered(&outcome, 2), [2, 3, 95, 0]);
}

#[test]
fn a_second_remark_starts_from_the_first() {
    // What was made red is set to best effort by the class that it comes to be in.
    let best_effort = Remark { dscp: CodePoint::Set(0), ..Remark::KEEP };
    let remarks = Remarks::new(vec![[Remark::KEEP; 3], [Remark::KEEP; 3], [best_effort; 3], [Remark::KEEP; 3]]);
    let outcome = through(vec![PortSetup { remarks: by_colour(), ..marker() }, PortSetup { remarks, ..sorter() }, sorter()]);
    assert_eq!(offered(&outcome, 2), [2, 3, 0, 95]);
}

#[test]
fn colours_cross_a_link_with_the_code_point_that_tells_them() {
    let told = through(vec![PortSetup { remarks: by_colour(), ..marker() }, dropper()]);
    assert_eq!((dropped(&told, 1), told.flows[0].delivered.packets), (95, 5));
    let inside = through(vec![marker(), sorter(), dropper()]);
    assert_eq!((offered(&inside, 1), dropped(&inside, 2)), (vec![0, 100, 0, 0], 0));
    // The bit for cell loss priority goes with the cells.
    let cells = through(vec![PortSetup { overhead: Overhead::Aal5, ..marker() }, dropper()]);
    assert!(dropped(&cells, 1) > 90);
}

#[test]
fn a_colour_can_be_given_any_code_point() {
    let remark = |dscp| Remark { dscp: CodePoint::Set(dscp), ..Remark::KEEP };
    let remarks = Remarks::new(vec![[remark(AF13), remark(0), Remark::KEEP]]);
    let outcome = through(vec![PortSetup { remarks, ..marker() }, sorter()]);
    assert_eq!(offered(&outcome, 1), [0, 95, 2, 3]);
}
