//! What links do to packets behind their ports, where it can be worked out by hand.

mod networks;

use networks::{fifo, flow, header, one_link, rate};
use tidegate_core::port::{RateStep, VaryingRate};
use tidegate_core::units::Duration;
use tidegate_link::{GilbertElliott, Loss, LossStream};
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
