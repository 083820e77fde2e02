//! Links at which packets contend as cells: what arrives and when, and that a packet that loses a cell is lost.

mod networks;

use networks::{header, link, port, rate};
use tidegate_core::buffer::BufferParameters;
use tidegate_core::port::PortSetup;
use tidegate_core::registry::{BufferKind, SchedulerKind};
use tidegate_core::scheduler::FlowParameters;
use tidegate_core::units::{Duration, Overhead};
use tidegate_sim::source::Cbr;
use tidegate_sim::{Control, Experiment, FlowSpec, Link, LinkId, Network, Outcome, Source, run};

/// The time of a cell at this rate is 848 ns.
const RATE: u64 = 500_000_000;

/// A port for cells with a class for each flow.
fn cell_port(flows: usize, buffer: u32, kind: BufferKind) -> PortSetup {
    let mut setup = port(RATE, SchedulerKind::Fifo, &vec![FlowParameters::default(); flows], buffer);
    let limits = BufferParameters { flows, packets: Some(buffer), ..BufferParameters::default() };
    setup.buffer = kind.build(&limits).unwrap();
    setup.longest_frame = 53;
    setup
}

/// A port for packets whose link carries them as cells.
fn access() -> PortSetup {
    PortSetup { overhead: Overhead::Aal5, ..port(RATE, SchedulerKind::Fifo, &[FlowParameters::default()], 1000) }
}

/// `flows` flows of packets of 1072 bytes (23 cells) over a link each, one link of cells for all, and a link behind it.
fn network(flows: usize, bits_per_second: u64, buffer: u32, kind: BufferKind) -> Network {
    let propagation = Duration::from_milliseconds(1);
    let mut links = vec![
        Link { cells: true, ..link("cells", flows, flows + 1, propagation, cell_port(flows, buffer, kind)) },
        link("behind", flows + 1, flows + 2, propagation, access()),
    ];
    let mut specs = Vec::new();
    for flow in 0..flows {
        links.push(link(&format!("access {flow}"), flow, flows, propagation, access()));
        specs.push(FlowSpec {
            name: format!("flow {flow}"),
            source: Source::Cbr(Cbr { rate: rate(bits_per_second), length: 1072, random_phase: flow > 0 }),
            header: header(flow as u8),
            path: vec![LinkId(2 + flow), LinkId(0), LinkId(1)],
            start: Duration::ZERO,
            stop: None,
            tagging: None,
            shaping: None,
        });
    }
    Network { nodes: (0..flows + 3).map(|node| node.to_string()).collect(), links, flows: specs, ..Network::default() }
}

fn play(network: &Network) -> Outcome {
    let experiment = Experiment { duration: Duration::from_milliseconds(200), ..Experiment::default() };
    run(network, &experiment, &Control::default()).unwrap()
}

#[test]
fn a_packet_alone_is_a_cell_late_at_the_port_of_cells_and_a_packet_behind_it() {
    let outcome = play(&network(1, 1_000_000, 100, BufferKind::TailDrop));
    let delay = outcome.flows[0].delay.as_ref().unwrap().mean_s.mean;
    // 23 cells on the first link, of which the port of cells adds one, 23 again on the link behind, and three propagation times.
    let cells = |count: f64| count * 848e-9;
    assert!((delay - (cells(23.0) + cells(1.0) + cells(23.0) + 3e-3)).abs() < 1e-9, "{delay}");
}

#[test]
fn a_link_that_suffices_loses_nothing_and_counts_cells() {
    let outcome = play(&network(4, 100_000_000, 1000, BufferKind::TailDrop));
    assert!(outcome.flows.iter().all(|flow| flow.loss.mean == 0.0));
    let flows = &outcome.replications[0].flows;
    let (offered, delivered): (u64, u64) =
        flows.iter().fold((0, 0), |sums, flow| (sums.0 + flow.offered.packets, sums.1 + flow.delivered.packets));
    let cells = outcome.replications[0].ports[0].offered.packets;
    assert!(delivered > 6000 && (23 * delivered..=23 * offered).contains(&cells), "{cells} cells of {delivered} to {offered} packets");
}

/// Six flows of 100 Mbit/s, which take 114 in cells, on a link of 500: a quarter has to go.
#[test]
fn early_packet_discard_saves_frames_that_tail_drop_spoils() {
    let goodput = |kind| {
        let outcome = play(&network(6, 100_000_000, 400, kind));
        outcome.flows.iter().map(|flow| flow.throughput_bps.mean).sum::<f64>() / 1e6
    };
    let (tail, partial, early) =
        (goodput(BufferKind::TailDrop), goodput(BufferKind::PartialPacketDiscard), goodput(BufferKind::EarlyPacketDiscard));
    // The link carries 500 * 1072 / 1219 = 439.7 Mbit/s of packets, less the ends of frames that were refused and what is under way at the end.
    assert!(early > 420.0 && early < 440.0, "{early}");
    assert!(tail < 0.8 * early, "whole frames {early}, frames with gaps {tail}");
    assert!(partial > tail && partial < early, "{tail} {partial} {early}");
}

#[test]
fn a_port_with_overhead_or_short_frames_is_none_for_cells() {
    let mut wrong = network(1, 1_000_000, 100, BufferKind::TailDrop);
    wrong.links[0].port.overhead = Overhead::Aal5;
    assert_eq!(wrong.check().unwrap_err().key, "cells");
    let mut wrong = network(1, 1_000_000, 100, BufferKind::TailDrop);
    wrong.links[0].port.longest_frame = 48;
    assert_eq!(wrong.check().unwrap_err().key, "cells");
}
