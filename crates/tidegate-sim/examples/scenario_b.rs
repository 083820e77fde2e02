//! Speed on a chain of five switches (scenario B without TCP), FIFO and DRR.
#[path = "../tests/networks/mod.rs"]
mod networks;

use networks::{flow, link, port, rate};
use std::fs;
use tidegate_core::registry::SchedulerKind;
use tidegate_core::scheduler::FlowParameters;
use tidegate_core::units::Duration;
use tidegate_sim::{Control, Experiment, Holding, Network, Remainder, Source, run};

fn on_off() -> Source {
    let mean = Duration::from_milliseconds(2);
    Source::OnOff { peak: rate(1_500_000), length: 125, on: Holding::Exponential { mean }, off: Holding::Exponential { mean }, remainder: Remainder::Completed }
}

fn network(scheduler: SchedulerKind) -> Network {
    let classes = &[FlowParameters { weight: Some(1), ..FlowParameters::default() }; 3][..if scheduler == SchedulerKind::Fifo { 1 } else { 3 }];
    let links = (0..4).map(|i| link(&format!("{}-{}", i + 1, i + 2), i, i + 1, Duration::from_milliseconds(1), port(10_000_000, scheduler, classes, 100)));
    let mut flows = Vec::new();
    let cbr = || Source::Cbr { rate: rate(1_500_000), length: 125, random_phase: true };
    for i in 0..2 {
        flows.push(flow(&format!("on-off {i}"), on_off(), 0, &[0, 1, 2, 3]));
    }
    flows.push(flow("cbr", cbr(), u8::from(scheduler != SchedulerKind::Fifo), &[0, 1, 2, 3]));
    for l in 0..4 {
        for i in 0..6 {
            flows.push(flow(&format!("on-off {i} on {l}"), on_off(), if scheduler == SchedulerKind::Fifo || i < 4 { 0 } else { 2 }, &[l]));
        }
        flows.push(flow(&format!("cbr on {l}"), cbr(), u8::from(scheduler != SchedulerKind::Fifo), &[l]));
    }
    Network { nodes: (1..=5).map(|i| format!("sw{i}")).collect(), links: links.collect(), flows }
}

fn cpu() -> f64 {
    let stat = fs::read_to_string("/proc/self/schedstat").unwrap();
    stat.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
}

fn main() {
    let only = std::env::args().nth(1);
    for kind in SchedulerKind::ALL.iter().copied().filter(|k| only.as_deref().map_or(k.name() == "fifo" || k.name() == "drr", |o| k.name() == o)) {
        let network = network(kind);
        let experiment = Experiment { duration: Duration::from_seconds(300), warm_up: Duration::from_seconds(20), ..Experiment::default() };
        let control = Control { threads: std::num::NonZero::new(1), ..Control::default() };
        let t = cpu();
        let outcome = run(&network, &experiment, &control).unwrap();
        let t = cpu() - t;
        println!("{}: {:.2} M hops/s, {:.2} M events/s, {:.2} events/hop, {:.1} ns/hop, {:.3} s", kind.name(), outcome.packet_hops() as f64 / t / 1e6, outcome.events() as f64 / t / 1e6,
            outcome.events() as f64 / outcome.packet_hops() as f64, t * 1e9 / outcome.packet_hops() as f64, t);
        println!("  util {:.4} loss {:.4} delay {:?}", outcome.ports[0].utilisation.mean, outcome.flows[0].loss.mean, outcome.flows[0].delay.as_ref().unwrap().mean_s);
    }
}
