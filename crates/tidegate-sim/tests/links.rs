//! What links do to packets behind their ports, where it can be worked out by hand.

mod networks;

use networks::dumbbell::{dumbbell, scenario_a};
use networks::{fifo, flow, header, one_link, random_loss, rate};
use tidegate_core::port::{RateStep, VaryingRate};
use tidegate_core::units::Duration;
use tidegate_link::{Disturbance, DisturbanceStream, GilbertElliott, Loss, LossStream};
use tidegate_sim::source::{Capture, Cbr};
use tidegate_sim::{CapturePacket, Control, Experiment, Network, Outcome, Source, run};

fn microseconds(us: u64) -> Duration {
    Duration::from_microseconds(us)
}

/// Packets of 1000 bytes at these microseconds, each a flow of its own, at a link of 8 Mbit/s.
fn packets_at(instants: &[u64]) -> Network {
    let packet = |&us: &u64| CapturePacket { offset: microseconds(us), length: 1000, header: header(0) };
    let source = |us: &u64| Source::Capture(Capture { packets: vec![packet(us)].into() });
    let flows = instants.iter().enumerate().map(|(number, us)| flow(&number.to_string(), source(us), 0, &[0]));
    one_link(fifo(8_000_000, 9), flows.collect())
}

fn simulate(network: &Network) -> Outcome {
    run(network, &Experiment { duration: Duration::from_seconds(10), ..Experiment::default() }, &Control::default()).unwrap()
}

/// The delay of each flow in microseconds.
fn delays(outcome: &Outcome) -> Vec<f64> {
    outcome.flows.iter().map(|flow| (flow.delay.as_ref().unwrap().mean_s.mean * 1e9).round() / 1e3).collect()
}

#[test]
fn a_packet_goes_on_at_the_rate_of_the_next_step() {
    let step = |us, bits: u64| RateStep { at: microseconds(us), rate: (bits > 0).then(|| rate(bits)) };
    let steps = vec![step(0, 8_000_000), step(1_000_000, 0), step(1_500_000, 2_000_000)];
    let mut network = packets_at(&[0, 999_500, 999_600, 1_600_000, 3_000_000]);
    network.links[0].impairment.rates = VaryingRate::new(steps.clone(), None).ok();
    // Half of the second before the outage and half after it at a quarter of the rate; the third waits for it.
    assert_eq!(delays(&simulate(&network)), [1_000.0, 502_500.0, 506_400.0, 4_000.0, 4_000.0]);
    network.links[0].impairment.rates = VaryingRate::new(steps, Some(microseconds(2_000_000))).ok();
    assert_eq!(delays(&simulate(&network)), [1_000.0, 502_500.0, 506_400.0, 4_000.0, 504_000.0]);
}

#[test]
fn a_port_of_cells_has_one_rate() {
    let mut network = packets_at(&[0]);
    let steps = vec![RateStep { at: Duration::ZERO, rate: Some(rate(8_000_000)) }];
    network.links[0].impairment.rates = VaryingRate::new(steps, None).ok();
    network.links[0].cells = true;
    assert_eq!(network.check().unwrap_err().key, "rates");
}

/// All packets come twice, and a tenth of them 2 ms late: the counts agree, and those overtaken are seen.
#[test]
fn late_and_doubled_packets_are_counted() {
    let source = Source::Cbr(Cbr { rate: rate(1_000_000), length: 125, random_phase: false });
    let mut network = one_link(fifo(8_000_000, 9), vec![flow("flow", source, 0, &[0])]);
    let disturbance = Disturbance::new(100_000_000, microseconds(2_500), 1_000_000_000, 1).unwrap();
    network.links[0].impairment.disturbance = Some(disturbance);
    let outcome = simulate(&network);
    let mut stream = DisturbanceStream::new(disturbance, 0);
    let late: Vec<bool> = (0..10_000).map(|_| stream.disturbs_next().is_late).collect();
    let run = &outcome.replications[0];
    let (flow, port) = (&run.flows[0], &run.ports[0]);
    assert_eq!((flow.offered.packets, flow.duplicated.packets, port.duplicated.packets), (10_000, 10_000, 10_000));
    let count = late.iter().filter(|late| **late).count() as u64;
    assert!(count > 800 && port.late.packets == 2 * count, "{count} {:?}", port.late);
    // A late packet, at least one of whose two successors is not late, comes behind one that was emitted later; so does its copy.
    let overtaken = late.windows(3).filter(|next| next[0] && !(next[1] && next[2])).count() as u64;
    assert!(flow.reordered.abs_diff(2 * overtaken) <= 4, "{} of {overtaken}", flow.reordered);
    assert_eq!(flow.delivered.packets + flow.in_network.packets, 20_000);
    assert_eq!(flow.delays.maximum(), Some(125e-6 + 2.5e-3));
}

/// Over two links, with a late list on each, and a connection whose acknowledgements are disturbed too.
#[test]
fn connections_live_with_late_and_doubled_segments() {
    let mut network = dumbbell(2, 20_000_000, Duration::from_milliseconds(10), 60_000, scenario_a);
    for link in &mut network.links {
        link.impairment.disturbance = Disturbance::new(20_000_000, microseconds(3_000), 20_000_000, 1);
        link.impairment.loss = random_loss(0.002);
    }
    let outcome = simulate(&network);
    let flow = &outcome.replications[0].flows[0];
    assert!(flow.duplicated.packets > 50 && flow.reordered > 30, "{:?} {}", flow.duplicated, flow.reordered);
    let tcp = flow.tcp.as_ref().unwrap();
    assert!(tcp.delivered > 500_000, "{}", tcp.delivered);
}

/// Bursts take the packets that the stream of the seed names, by their number on the link.
#[test]
fn losses_in_bursts_are_those_of_the_stream() {
    let chances = GilbertElliott { good_to_bad: 20_000_000, bad_to_good: 250_000_000, loss_in_good: 0, loss_in_bad: 900_000_000 };
    let loss = Loss::in_bursts(chances, 1).unwrap();
    let source = Source::Cbr(Cbr { rate: rate(1_000_000), length: 125, random_phase: false });
    let mut network = one_link(fifo(8_000_000, 9), vec![flow("flow", source, 0, &[0])]);
    network.links[0].impairment.loss = Some(loss);
    let outcome = simulate(&network);
    let mut stream = LossStream::new(loss, 0);
    let lost = (0..10_000).filter(|_| stream.loses_next()).count();
    assert!(lost > 400, "{lost}");
    assert_eq!(outcome.flows[0].delivered.packets, 10_000 - lost as u64);
}
