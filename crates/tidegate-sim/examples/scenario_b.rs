//! How fast the simulator is: packet-hops per second of CPU time on a chain of five switches, FIFO and deficit round robin.
//!
//! `cargo run --release -p tidegate-sim --example scenario_b [-- SCHEDULER [SECONDS]]`
//!
//! The chain is known from studies of integrated services: five switches, links of 10 Mbit/s and 1 ms, buffers of 100 packets, packets of
//! 1 kbit. Two on/off flows (1.5 Mbit/s peak, 2 ms on and off, exponential, 810.6 packets/s each) and a constant flow of 1.5 Mbit/s cross all
//! links. Every link carries four on/off flows and one constant flow of its own. Two more on/off flows per link replace the TCP flows of the
//! original. The load of each link is 0.9485, so that queues build up and drain all the time.
//!
//! FIFO is one class and one queue. Every other scheduler serves three classes (on/off, constant, the two additional flows) of equal
//! weight or rate, in this order of priority. All statistics are on, at the default settings of an experiment.

#[path = "../tests/networks/mod.rs"]
mod networks;

use networks::{flow, link, parameters, port, rate};
use std::num::NonZeroUsize;
use std::time::Instant;
use tidegate_core::registry::SchedulerKind;
use tidegate_core::units::Duration;
use tidegate_sim::source::{Cbr, OnOff};
use tidegate_sim::{Control, Experiment, Holding, Network, Remainder, Source, run};

/// The links of the chain.
const LINKS: usize = 4;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let kinds = match arguments.next() {
        None => vec![SchedulerKind::Fifo, SchedulerKind::DeficitRoundRobin],
        Some(name) => vec![SchedulerKind::from_name(&name).unwrap_or_else(|| panic!("no scheduler is called {name}"))],
    };
    let seconds = arguments.next().map_or(300, |seconds| seconds.parse().expect("a number of seconds"));
    for kind in kinds {
        measure(kind, seconds);
    }
}

fn measure(kind: SchedulerKind, seconds: u64) {
    let duration = Duration::from_seconds(seconds);
    let warm_up = Duration::from_milliseconds(seconds * 100);
    let experiment = Experiment { duration, warm_up, ..Experiment::default() };
    let control = Control { threads: NonZeroUsize::new(1), ..Control::default() };
    let network = chain(kind);
    let (wall, cpu) = (Instant::now(), cpu_seconds());
    let outcome = run(&network, &experiment, &control).unwrap();
    let elapsed = match (cpu, cpu_seconds()) {
        (Some(before), Some(after)) => after - before,
        _ => wall.elapsed().as_secs_f64(),
    };
    let (hops, events) = (outcome.packet_hops() as f64, outcome.events() as f64);
    println!(
        "{}: {:.2} M packet-hops/s ({hops:.3e} hops in {elapsed:.3} s of CPU time, {:.1} ns and {:.2} events each)",
        kind.name(),
        hops / elapsed / 1e6,
        elapsed / hops * 1e9,
        events / hops
    );
    let delay = outcome.flows[0].delay.as_ref().and_then(|delay| delay.histogram.quantile(0.99));
    println!(
        "  utilisation {:.4}, loss {:.2e}, 99 % of the delays over the chain below {:.2} ms",
        outcome.ports[0].utilisation.mean,
        outcome.flows[0].loss.mean,
        delay.unwrap_or_default() * 1e3
    );
}

fn chain(kind: SchedulerKind) -> Network {
    let classes: &[u8] = if kind == SchedulerKind::Fifo { &[0, 0, 0] } else { &[0, 1, 2] };
    let parameters: Vec<_> = (0..=classes[2]).map(|class| parameters(kind, class.into(), 3_000_000)).collect();
    let links = (0..LINKS).map(|index| {
        let name = format!("{}-{}", index + 1, index + 2);
        link(&name, index, index + 1, Duration::from_milliseconds(1), port(10_000_000, kind, &parameters, 100))
    });
    let chain: Vec<usize> = (0..LINKS).collect();
    let mut flows = Vec::new();
    for number in 0..2 {
        flows.push(flow(&format!("on-off {number}"), on_off(), classes[0], &chain));
    }
    flows.push(flow("constant", constant(), classes[1], &chain));
    for at in 0..LINKS {
        for number in 0..6 {
            let class = if number < 4 { classes[0] } else { classes[2] };
            flows.push(flow(&format!("on-off {number} at {at}"), on_off(), class, &[at]));
        }
        flows.push(flow(&format!("constant at {at}"), constant(), classes[1], &[at]));
    }
    Network { nodes: (0..=LINKS).map(|node| format!("switch {}", node + 1)).collect(), links: links.collect(), flows, ..Network::default() }
}

fn on_off() -> Source {
    let period = Holding::Exponential { mean: Duration::from_milliseconds(2) };
    Source::OnOff(OnOff { peak: rate(1_500_000), length: 125, on: period, off: period, remainder: Remainder::Completed })
}

fn constant() -> Source {
    Source::Cbr(Cbr { rate: rate(1_500_000), length: 125, random_phase: true })
}

/// The CPU time of the main thread, which does all the work here; `None` where the system does not tell.
fn cpu_seconds() -> Option<f64> {
    let statistics = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    Some(statistics.split(' ').next()?.parse::<f64>().ok()? / 1e9)
}
