//! Section 4, "Scalability and Decision Time": several packets from one sorted list, and relaxed priority updates.

use super::workload::{CLOCK, windows};
use crate::figure::{Figure, Gate, Table, numbers};
use crate::prose;
use tidegate_core::dwcs::{Choice, Dwcs, Stream, Window};
use tidegate_core::packet::Flow;
use tidegate_rtl_model::{Architecture, Cadence, Clock, Device, Routing, Size};

/// Packets of every run.
const PACKETS: u64 = 64_000;

/// A run of a device with four streams that are always backlogged.
struct Run {
    packets: [f64; 4],
    violations: f64,
    /// The most packets by which a stream was ever behind its share.
    behind: f64,
    cycles_per_packet: f64,
}

impl Run {
    fn new(routing: Routing, cadence: Cadence, streams: &[Stream], weights: [f64; 4]) -> Run {
        let architecture = Architecture { routing, ..Architecture::base(Size::Four) };
        let device = Device::new(architecture, Clock::Decisions, 0, streams).expect("the streams fit into the registers");
        let mut device = device.with_cadence(cadence).expect("the cadence fits the architecture");
        (0..4).for_each(|stream| device.activate(0, Flow(stream), 0));
        let total: f64 = weights.iter().sum();
        let (mut packets, mut behind) = ([0.0; 4], f64::MIN);
        for packet in 1..=PACKETS {
            let Choice::Serve(stream) = device.select(0) else { unreachable!("all streams are backlogged") };
            device.served(stream, 0, Some(packet));
            packets[stream.index()] += 1.0;
            let lag = packets.iter().zip(weights).map(|(packets, weight)| packet as f64 * weight / total - packets);
            behind = lag.fold(behind, f64::max);
        }
        let cycles_per_packet = device.cycles() as f64 / PACKETS as f64;
        device.select(0);
        let violations = (0..4).map(|stream| device.standing(Flow(stream)).tally.violations as f64).sum();
        Run { packets, violations, behind, cycles_per_packet }
    }
}

/// Four streams that are always backlogged.
struct Mixture {
    name: &'static str,
    streams: Vec<Stream>,
    /// The shares that the streams are to get.
    weights: [f64; 4],
}

fn mixtures() -> [Mixture; 3] {
    let windowed = |window: (u32, u32), period| Stream::windowed(Window::new(window.0, window.1), period);
    let of_two = [(1, 4), (2, 4), (3, 4), (2, 4)].map(|window| Stream { first_deadline: Some(2), ..windowed(window, 2) });
    let deadline = |first| Stream { first_deadline: Some(first), ..Stream::windowed(Window::NONE, 4) };
    [
        Mixture { name: "1:1:2:4, period 1", streams: windows([(7, 8), (14, 16), (6, 8), (4, 8)]), weights: [1.0, 1.0, 2.0, 4.0] },
        Mixture { name: "3:2:1:2, period 2", streams: of_two.into(), weights: [3.0, 2.0, 1.0, 2.0] },
        Mixture { name: "deadlines, period 4", streams: [4, 3, 2, 1].map(deadline).into(), weights: [1.0; 4] },
    ]
}

/// The settings of the device, and their names.
fn settings() -> [(&'static str, Routing, Cadence); 7] {
    let cadence = |packets_per_decision, packets_per_update| Cadence { packets_per_decision, packets_per_update };
    [
        ("one packet per decision", Routing::Lattice, cadence(1, 1)),
        ("2 packets, exact order", Routing::Exact, cadence(2, 1)),
        ("4 packets, exact order", Routing::Exact, cadence(4, 1)),
        ("4 packets, exact order, one update", Routing::Exact, cadence(4, 4)),
        ("2 packets, order as delivered", Routing::Lattice, cadence(2, 1)),
        ("update after 2 packets", Routing::Lattice, cadence(1, 2)),
        ("update after 4 packets", Routing::Lattice, cadence(1, 4)),
    ]
}

pub(super) fn run(progress: &dyn Fn(f64)) -> Figure {
    let (settings, mixtures) = (settings(), mixtures());
    let mut done = 0;
    let mut play = |mixture: &Mixture| -> Vec<Run> {
        let run = |&(_, routing, cadence): &(&str, Routing, Cadence)| {
            done += 1;
            progress(done as f64 / (settings.len() * mixtures.len()) as f64);
            Run::new(routing, cadence, &mixture.streams, mixture.weights)
        };
        settings.iter().map(run).collect()
    };
    let runs = [play(&mixtures[0]), play(&mixtures[1]), play(&mixtures[2])];
    let mut figure = prose::figure(prose::SHARESTREAMS, "fewer-decisions");
    let names = settings.map(|(name, ..)| name);
    let packets = |mixture: usize, setting: &str| {
        let index = names.iter().position(|name| *name == setting).expect("the setting is in the list");
        &runs[mixture][index]
    };
    let cycles: Vec<f64> = runs[0].iter().map(|run| run.cycles_per_packet).collect();
    let ratios = [numbers([8000, 8000, 16_000, 32_000]), numbers([24_000, 16_000, 8000, 16_000]), [16_000.0; 4]];
    let gate = |mixture: usize, setting: &'static str, expected: &[f64]| {
        let name = format!("{}, {setting}", mixtures[mixture].name);
        Gate::exactly(name, "packets", packets(mixture, setting).packets.into(), expected)
    };
    let kept = |mixture: usize, settings: &[&str]| -> Vec<f64> { settings.iter().map(|name| packets(mixture, name).violations).collect() };
    figure.gates = vec![
        // Cycles: k or k^2 per decision, and one per update.
        Gate::within("cycles per packet, from the top of the table", "cycles", cycles, &[3.0, 3.0, 2.0, 1.25, 2.0, 2.5, 2.25], 0.001),
        gate(0, "one packet per decision", &ratios[0]),
        gate(0, "2 packets, exact order", &ratios[0]),
        gate(0, "4 packets, exact order", &[16_000.0; 4]),
        gate(1, "2 packets, exact order", &ratios[1]),
        gate(1, "update after 2 packets", &ratios[1]),
        gate(1, "update after 4 packets", &[16_000.0; 4]),
        gate(2, "4 packets, exact order, one update", &ratios[2]),
        gate(2, "update after 4 packets", &ratios[2]),
        Gate::exactly("violations where shares are kept", "", kept(0, &names[..2]), &[0.0; 2]),
        Gate::exactly(
            "violations where periods are long enough",
            "",
            [kept(1, &[names[0], names[1], names[5]]), kept(2, &[names[0], names[2], names[3], names[5], names[6]])].concat(),
            &[0.0; 8],
        ),
        Gate::all_at_least(
            "violations where they are not",
            "",
            vec![packets(0, names[2]).violations, packets(0, names[5]).violations, packets(1, names[6]).violations],
            1.0,
        ),
    ];
    for (mixture, runs) in mixtures.iter().zip(&runs) {
        let row = |(name, run): (&&str, &Run)| {
            vec![
                (*name).to_owned(),
                format!("{:.2}", run.cycles_per_packet),
                format!("{:.1}", CLOCK as f64 / 1e6 / run.cycles_per_packet),
                run.packets.map(|packets| packets.to_string()).join(", "),
                format!("{:.2}", run.behind),
                run.violations.to_string(),
            ]
        };
        let head = ["setting", "cycles per packet", "million packets/s at 23 MHz", "packets", "most behind its share", "violations"];
        figure.tables.push(Table::new(format!("Streams {}", mixture.name), &head, names.iter().zip(runs).map(row).collect()));
    }
    figure
}
