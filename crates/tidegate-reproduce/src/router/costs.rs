//! What the costs of a stage depend on, and which resource limits: Figures 3.12 to 3.15.

use super::systems::{Build, OURS, System};
use super::trials::{constant, figure};
use crate::figure::{Axis, Chart, Curve, Figure, Gate, Panel, Table};
use std::sync::atomic::AtomicBool;
use tidegate_router::capacity::{Question, capacity};
use tidegate_router::ceilings::{Ceilings, Resource};
use tidegate_router::fit::{Observation, StageFit, outliers, stage};
use tidegate_sim::random::Stream;

const CLOCKS: [f64; 4] = [233e6, 500e6, 1000e6, 1400e6];
const LENGTHS: [f64; 4] = [64.0, 256.0, 512.0, 1500.0];
const ROUTES: [f64; 3] = [16.0, 1024.0, 65_536.0];

/// Cycles, seconds in memory, seconds per byte, seconds per bit of the table's size.
const TRUTH: [f64; 4] = [500.0, 0.6e-6, 2e-9, 0.05e-6];

/// Packets observed.
const PACKETS: usize = 4000;
/// The standard deviation of their lognormal factor.
const DEVIATION: f64 = 0.15;

fn mean_cost(clock: f64, length: f64, routes: f64) -> f64 {
    TRUTH[0] / clock + TRUTH[1] + TRUTH[2] * length + TRUTH[3] * routes.log2()
}

/// Packets of every clock, length and table in turn. One in 400 waits for something else for 100 us if `disturbed`.
fn observations(disturbed: bool) -> Vec<Observation> {
    let mut stream = Stream::new(1, 0, "costs of a stage");
    let observation = |number: usize| {
        let clock_hz = CLOCKS[number % 4];
        let (length, routes) = (LENGTHS[number / 4 % 4], ROUTES[number / 16 % 3]);
        let factor = (DEVIATION * stream.normal() - DEVIATION * DEVIATION / 2.0).exp();
        let pause = if disturbed && number % 400 == 399 { 100e-6 } else { 0.0 };
        Observation { time: mean_cost(clock_hz, length, routes) * factor + pause, clock_hz, length, routes }
    };
    (0..PACKETS).map(observation).collect()
}

fn terms(fit: &StageFit) -> [f64; 4] {
    [fit.cycles, fit.memory, fit.per_byte, fit.per_route_bit]
}

/// The gates of the fit, the number of outliers, and the fit.
pub fn fit_gates() -> (Vec<Gate>, StageFit) {
    let fit = stage(&observations(false)).expect("there are observations");
    let of_truth: Vec<f64> = terms(&fit).iter().zip(TRUTH).map(|(fitted, truth)| fitted / truth).collect();
    let disturbed: Vec<f64> = observations(true).iter().map(|observation| observation.time).collect();
    let limits = |part: [f64; 4], sign: f64| Some(part.map(|part| 1.0 + sign * part).to_vec());
    let parts = [0.10, 0.10, 0.05, 0.10];
    let gates = vec![
        Gate::between(
            "F3.12: cycles, memory, per byte, per bit of the table",
            "of the truth",
            of_truth,
            limits(parts, -1.0),
            limits(parts, 1.0),
        ),
        Gate::exactly("F3.13: outliers of ten disturbed packets", "packets", vec![outliers(&disturbed) as f64], &[10.0]),
    ];
    (gates, fit)
}

/// Figures 3.12 to 3.14.
pub fn regression(progress: &dyn Fn(f64)) -> Figure {
    let mut figure = figure("regression", "What the cost of a stage depends on", "Figures 3.12 to 3.14");
    figure.paper_says(&[
        "Costs grow with the length of packets and the size of the table, and fall with the clock as far as memory lets them.",
    ]);
    figure.note(&[
        OURS,
        "4000 packets on processors of four clocks, with four lengths and three tables, each with a lognormal factor of 15 %; weighted least squares recover \
         the terms.",
        "Outliers are beyond the third quartile by more than three times the distance of the quartiles; ten of 4000 packets were disturbed for 100 us.",
    ]);
    let (gates, fit) = fit_gates();
    figure.gates = gates;
    let row = |((name, fitted), truth): ((&str, f64), f64)| vec![name.to_owned(), format!("{truth:.3e}"), format!("{fitted:.3e}")];
    let names = ["cycles", "memory s", "per byte s", "per bit of the table s"];
    let rows = names.into_iter().zip(terms(&fit)).zip(TRUTH).map(row).collect();
    figure.tables.push(Table::new("One stage", &["term", "truth", "fitted"], rows));
    let fitted =
        |clock: f64, length: f64, routes: f64| fit.cycles / clock + fit.memory + fit.per_byte * length + fit.per_route_bit * routes.log2();
    let panel = |name: &str, at: &dyn Fn(f64) -> (f64, f64, f64), places: &[f64]| {
        let mut curves = [Curve::new("truth"), Curve::new("fitted")];
        for &place in places {
            let (clock, length, routes) = at(place);
            curves[0].push(place, 1e6 * mean_cost(clock, length, routes));
            curves[1].push(place, 1e6 * fitted(clock, length, routes));
        }
        Panel { name: name.to_owned(), curves: curves.to_vec() }
    };
    let panels = vec![
        panel("clock (Hz), 512 bytes, 1024 routes", &|clock| (clock, 512.0, 1024.0), &CLOCKS),
        panel("length (bytes), 1 GHz, 1024 routes", &|length| (1e9, length, 1024.0), &LENGTHS),
        panel("routes, 1 GHz, 512 bytes", &|routes| (1e9, 512.0, routes), &ROUTES),
    ];
    let (x, y) = (Axis::logarithmic("clock, length, routes"), Axis::linear("cost (us)"));
    figure.charts.push(Chart { id: "costs", title: "Costs of the stage".to_owned(), x, y, steps: false, panels });
    progress(1.0);
    figure
}

/// The least ceiling of a system under polling, and what it forwards without loss.
pub fn limit(system: System, packets: u64, progress: &(dyn Fn(f64) + Sync)) -> ((Resource, f64), f64) {
    let machine = Build::Polling.machine(system);
    let flows = [constant("flow", 10e3, 512, 0, Some(1))];
    let least = Ceilings::new(&machine, &flows).expect("the flow's rate is known").least();
    let question = Question { loads: Vec::new(), quantiles: Vec::new(), loss: 1e-4, packets, seed: 1, duration: None, promised_rate: None };
    let answer = capacity(&machine, &flows, &question, progress, &AtomicBool::new(false)).expect("the system can be run");
    ((least.resource, least.packets_per_second / 1e3), answer.forwarding.low.unwrap_or(0.0) / 1e3)
}

/// The gates of both systems.
pub fn limit_gates(limits: &[((Resource, f64), f64); 2]) -> Vec<Gate> {
    let [((first, of_processor), one), ((second, of_bus), two)] = *limits;
    let named = [(first, Resource::Processor), (second, Resource::Bus)].map(|(found, expected)| f64::from(u8::from(found == expected)));
    vec![
        Gate::exactly("F3.15: the processor limits system one, the bus system two", "true", named.to_vec(), &[1.0, 1.0]),
        Gate::near("F3.15: ceiling of the bus", "kpps", vec![of_bus], &[121.324], 0.001),
        Gate::between(
            "F3.15: forwarded without loss",
            "of the least ceiling",
            vec![one / of_processor, two / of_bus],
            Some(vec![0.85; 2]),
            Some(vec![1.0; 2]),
        ),
    ]
}

/// Figure 3.15.
pub fn capacities(progress: &dyn Fn(f64)) -> Figure {
    let mut figure = figure("capacity", "Which resource limits, and what is forwarded without loss", "Figure 3.15");
    figure.note(&[
        OURS,
        "The ceiling of each resource follows from the machine's description; what is forwarded without loss is found by trials, as `tidegate model` does.",
        "One flow of 512-byte frames under polling, at most one packet in 10,000 lost.",
    ]);
    let first = limit(System::One, 100_000, &|_| {});
    progress(0.5);
    let limits = [first, limit(System::Two, 100_000, &|_| {})];
    progress(1.0);
    figure.gates = limit_gates(&limits);
    let row = |(name, ((resource, ceiling), forwarded)): (&str, ((Resource, f64), f64))| {
        vec![name.to_owned(), resource.name().to_owned(), format!("{ceiling:.1}"), format!("{forwarded:.1}")]
    };
    let rows = ["system one", "system two"].into_iter().zip(limits).map(row).collect();
    figure.tables.push(Table::new("Capacity", &["machine", "limited by", "ceiling kpps", "without loss kpps"], rows));
    figure
}
