//! How fast TCP is simulated: packet-hops per second of CPU time, acknowledgements included, on a dumbbell of OC-3 links.
//!
//! `cargo run --release -p tidegate-sim --example scenario_a [-- CONNECTIONS [SECONDS [SEEDS [SCHEDULER]]]]`
//!
//! N connections with selective acknowledgements share one link for 20 s; each has a link of its own before and behind it. All links carry
//! 155.52 Mbit/s and take 5 ms, segments are 1024 bytes (1066 on the wire), windows 600,000 bytes, the buffer 636,000 bytes. All ports are FIFOs,
//! whose departures are worked out on arrival; with another scheduler's name every port is driven by events.

#[path = "../tests/networks/mod.rs"]
mod networks;

use networks::dumbbell::{OC_3, dumbbell, scenario_a};
use networks::parameters;
use std::num::NonZeroUsize;
use std::time::Instant;
use tidegate_core::registry::SchedulerKind;
use tidegate_core::scheduler::Setup;
use tidegate_core::units::Duration;
use tidegate_sim::{Control, Experiment, Outcome, run};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |usual| arguments.next().map_or(usual, |argument| argument.parse().expect("a number"));
    let (connections, seconds, seeds) = (number(15) as usize, number(20), number(1));
    let mut network = dumbbell(connections, OC_3, Duration::from_milliseconds(5), 636_000, scenario_a);
    if let Some(name) = arguments.next() {
        let kind = SchedulerKind::from_name(&name).expect("the name of a scheduler");
        for port in network.links.iter_mut().map(|link| &mut link.port) {
            port.scheduler = kind.build(&Setup::new(port.rate, port.longest_frame), &[parameters(kind, 0, OC_3)]).unwrap();
        }
    }
    for seed in 1..=seeds {
        let experiment = Experiment { duration: Duration::from_seconds(seconds), seed, ..Experiment::default() };
        let control = Control { threads: NonZeroUsize::new(1), ..Control::default() };
        let start = Instant::now();
        let outcome = run(&network, &experiment, &control).unwrap();
        report(&outcome, start.elapsed().as_secs_f64());
    }
}

fn report(outcome: &Outcome, elapsed: f64) {
    let run = &outcome.replications[0];
    let tcp = || run.flows.iter().filter_map(|flow| flow.tcp.as_ref());
    let span = outcome.measured.picoseconds() as f64 / 1e12;
    let rates: Vec<f64> = tcp().map(|tcp| tcp.delivered as f64 * 8.0 / span / 1e6).collect();
    let sum: f64 = rates.iter().sum();
    let jain = sum * sum / (rates.len() as f64 * rates.iter().map(|rate| rate * rate).sum::<f64>());
    let drops: u64 = run.ports[0].dropped.iter().map(|volume| volume.packets).sum();
    let hops = run.packet_hops as f64;
    println!(
        "{:.2} M packet-hops/s ({hops} hops in {elapsed:.3} s, {:.1} ns and {:.2} events each); goodput {sum:.3} Mbit/s, {drops} drops, \
         Jain {jain:.3}, {} retransmissions, {} timeouts, {} recoveries",
        hops / elapsed / 1e6,
        elapsed / hops * 1e9,
        run.events as f64 / hops,
        tcp().map(|tcp| tcp.retransmissions).sum::<u64>(),
        tcp().map(|tcp| tcp.timeouts).sum::<u64>(),
        tcp().map(|tcp| tcp.recoveries).sum::<u64>(),
    );
}
