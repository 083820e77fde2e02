//! Three interfaces on one bus: round robin, WF2Q+ and the guard: the question of Figures 4.8 to 4.11.

use super::systems::{OURS, between};
use super::trials::{Case, by_point, constant, figure_of_bus, kept, mean, mean_delay, quantile, rate, run_all};
use crate::figure::{Axis, Chart, Curve, Figure, Gate, Panel, Table};
use tidegate_core::units::Duration;
use tidegate_router::{Arbiter, Bus, BusGuard, Machine, Overheads, Pci, RouterFlow, RouterOutcome, Trial};
use tidegate_sim::Holding;
use tidegate_sim::source::{OnOff, Remainder, Source};

/// The frames of the three flows.
const LENGTHS: [u32; 3] = [128, 512, 1514];

/// What divides the bus.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Divider {
    Fair,
    RoundRobin,
    Guard,
}

/// All of them, with the names of curves.
pub const DIVIDERS: [(Divider, &str); 3] = [(Divider::Fair, "WF2Q+"), (Divider::RoundRobin, "round robin"), (Divider::Guard, "guard")];

/// The traffic of the flows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Traffic {
    Constant,
    /// On for 1 ms and off for 2 ms on average: copies, and the shape of Pareto periods or none for exponential ones.
    OnOff(u32, Option<f64>),
}

/// A run of three interfaces that receive only.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BusRun {
    pub divider: Divider,
    /// The flow that sends three times as much; `None` for none.
    pub bad: Option<usize>,
    /// The load of every other flow, of the bus.
    pub load: f64,
    pub period_us: u64,
    pub fifo: u64,
    pub traffic: Traffic,
    pub milliseconds: u64,
    pub seeds: u64,
}

impl BusRun {
    /// A load of 0.3 each and 0.9 of the bad flow, a period of 200 us, three seeds of 200 ms.
    pub const fn new(divider: Divider, bad: usize) -> BusRun {
        BusRun { divider, bad: Some(bad), load: 0.3, period_us: 200, fifo: 48_000, traffic: Traffic::Constant, milliseconds: 200, seeds: 3 }
    }

    fn machine(&self) -> Machine {
        let system = Machine::system_two();
        let mut nic = system.nics[0].clone();
        // The host takes every frame at once.
        (nic.receive_fifo, nic.ring) = (self.fifo, 1 << 20);
        let arbiter = if self.divider == Divider::Fair { Arbiter::Wf2qPlus } else { Arbiter::RoundRobin };
        let guard = BusGuard {
            period: Duration::from_microseconds(self.period_us),
            efficiency: 1.0,
            cost: Duration::ZERO,
            cost_per_flow: Duration::ZERO,
            ..BusGuard::FORWARDING
        };
        Machine {
            bus: Bus::Pci(Pci { arbiter, ..Pci::PCI_32_33 }),
            nics: vec![nic; 3],
            overheads: Overheads::default(),
            noise: Vec::new(),
            guard: (self.divider == Divider::Guard).then_some(guard),
            ..system
        }
    }

    fn flow(&self, index: usize) -> RouterFlow {
        let length = LENGTHS[index];
        let clocks = f64::from(Pci::PCI_32_33.overhead + length.div_ceil(4));
        let over = if self.bad == Some(index) { 3.0 } else { 1.0 };
        let packets = self.load * over * 33e6 / clocks;
        let name = format!("flow {}", index + 1);
        match self.traffic {
            Traffic::Constant => constant(&name, packets, length, index, None),
            Traffic::OnOff(copies, shape) => {
                let holding = |milliseconds| {
                    let mean = Duration::from_milliseconds(milliseconds);
                    shape.map_or(Holding::Exponential { mean }, |shape| Holding::Pareto { mean, shape })
                };
                let (on, off) = (holding(1), holding(2));
                let peak = rate(3.0 * packets / f64::from(copies), length);
                let source = Source::OnOff(OnOff { peak, length, on, off, remainder: Remainder::Carried });
                RouterFlow { copies, ..RouterFlow::new(name, source, index, None) }
            }
        }
    }

    /// One case per seed.
    pub fn cases(&self) -> Vec<Case> {
        let machine = self.machine();
        let flows: Vec<RouterFlow> = (0..3).map(|index| self.flow(index)).collect();
        let case = |seed| Case {
            machine: machine.clone(),
            flows: flows.clone(),
            trial: Trial::new(Duration::from_milliseconds(self.milliseconds), seed),
        };
        (1..=self.seeds).map(case).collect()
    }
}

/// Runs them, and groups the outcomes by run.
pub fn run_buses(runs: &[BusRun], progress: &dyn Fn(f64)) -> Vec<Vec<RouterOutcome>> {
    let cases: Vec<Case> = runs.iter().flat_map(BusRun::cases).collect();
    by_point(run_all(&cases, progress), runs.first().map_or(1, |run| run.seeds))
}

fn kept_of(outcomes: &[RouterOutcome], flow: usize) -> f64 {
    mean(outcomes, |outcome| kept(outcome, flow))
}

fn delay_of(outcomes: &[RouterOutcome], flow: usize) -> f64 {
    mean(outcomes, |outcome| mean_delay(outcome, flow))
}

fn quantile_of(outcomes: &[RouterOutcome], flow: usize, part: f64) -> f64 {
    mean(outcomes, |outcome| quantile(outcome, flow, part))
}

/// The runs in which each flow in turn sends too much, on each bus in the order of [`DIVIDERS`].
pub fn misbehaving(milliseconds: u64, seeds: u64) -> Vec<BusRun> {
    let run = |bad| DIVIDERS.map(|(divider, _)| BusRun { milliseconds, seeds, ..BusRun::new(divider, bad) });
    [2, 1, 0].into_iter().flat_map(run).collect()
}

/// Runs those, and their gates.
pub fn misbehaving_gates(runs: &[BusRun], points: &[Vec<RouterOutcome>]) -> Vec<Gate> {
    let mut gates = Vec::new();
    for (runs, points) in runs.chunks(3).zip(points.chunks(3)) {
        let [fair, robin, guard] = points else { continue };
        let bad = runs[0].bad.unwrap_or(0);
        let good: Vec<usize> = (0..3).filter(|&flow| flow != bad).collect();
        let name = |what: &str| format!("bus, flow {} sends too much: {what}", bad + 1);
        let each = |of: &dyn Fn(usize) -> f64| good.iter().map(|&flow| of(flow)).collect::<Vec<f64>>();
        match bad {
            2 => gates.push(Gate::at_most(name("round robin: flow 1 keeps"), "of its packets", kept_of(robin, 0), 0.45)),
            1 => gates.push(Gate::at_most(name("round robin: flow 1 keeps"), "of its packets", kept_of(robin, 0), 0.85)),
            _ => gates.push(Gate::all_at_least(
                name("round robin: the others keep"),
                "of their packets",
                each(&|flow| kept_of(robin, flow)),
                0.99,
            )),
        }
        let lost = each(&|flow| kept_of(guard, flow) - kept_of(fair, flow));
        gates.push(Gate::all_at_least(name("guard: the others keep, less than under WF2Q+"), "of their packets", lost, -0.02));
        let period = runs[0].period_us as f64;
        let later = |part: Option<f64>, most: f64| {
            let delay = |outcomes: &[RouterOutcome], flow| match part {
                Some(part) => quantile_of(outcomes, flow, part),
                None => delay_of(outcomes, flow),
            };
            let beyond = each(&|flow| (delay(guard, flow) - delay(fair, flow)) / period);
            Gate::between(
                name(if part.is_some() { "guard: 99 % quantile beyond WF2Q+'s" } else { "guard: mean delay beyond WF2Q+'s" }),
                "periods",
                beyond,
                None,
                Some(vec![most; 2]),
            )
        };
        gates.extend([later(None, 1.5), later(Some(0.99), 2.0)]);
        let busy = mean(guard, |outcome| outcome.bus[0]);
        gates.push(Gate::at_least(name("guard: bus busy"), "of the time", busy, 0.98));
    }
    gates
}

/// Figures 4.8 and 4.9.
pub fn division(progress: &dyn Fn(f64)) -> Figure {
    let mut figure = figure_of_bus("bus", "One flow sends three times its share of the bus", "Figures 4.8 and 4.9");
    figure.paper_says(&["A round robin of frames does not protect flows of short frames; the guard does, nearly as a fair bus would."]);
    figure.note(&[
        OURS,
        "Three interfaces receive frames of 128, 512 and 1514 bytes, 0.3 of the bus each, the bad one 0.9; whole frames per grant. The lengths are chosen.",
        "Round robin already protects flows of long frames from one of short frames; there the guard only adds a delay of about a period.",
        "Means of three seeds. Delays of the bad flow are those of its full FIFO.",
    ]);
    let runs = misbehaving(200, 3);
    let points = run_buses(&runs, progress);
    figure.gates = misbehaving_gates(&runs, &points);
    let row = |(run, outcomes): (&BusRun, &Vec<RouterOutcome>)| {
        let flow = |flow: usize| {
            let (kept, delay) = (100.0 * kept_of(outcomes, flow), delay_of(outcomes, flow));
            format!("{kept:.1} {delay:.1} {:.0}", quantile_of(outcomes, flow, 0.99))
        };
        let (_, bus) = DIVIDERS.into_iter().find(|(divider, _)| *divider == run.divider).unwrap_or(DIVIDERS[0]);
        let busy = mean(outcomes, |outcome| outcome.bus[0]);
        vec![format!("flow {}", run.bad.unwrap_or(0) + 1), bus.to_owned(), flow(0), flow(1), flow(2), format!("{busy:.3}")]
    };
    let rows = runs.iter().zip(&points).map(row).collect();
    let head = ["sends too much", "bus", "128 B: kept %, mean us, p99 us", "512 B", "1514 B", "busy"];
    figure.tables.push(Table::new("Division of the bus", &head, rows));
    figure
}

const PERIODS: [u64; 8] = [25, 50, 100, 200, 400, 800, 1600, 3200];

/// The gates on the guard's period, from one point per period.
pub fn period_gates(periods: &[u64], points: &[Vec<RouterOutcome>]) -> Vec<Gate> {
    let each = |of: &dyn Fn(f64, &Vec<RouterOutcome>) -> f64| -> Vec<f64> {
        periods.iter().zip(points).map(|(&period, outcomes)| of(period as f64, outcomes)).collect()
    };
    let busy = each(&|_, outcomes| mean(outcomes, |outcome| outcome.bus[0]));
    let delays = each(&|period, outcomes| quantile_of(outcomes, 0, 0.99) / period);
    let idle = each(&|period, outcomes| 1.0 - mean(outcomes, |outcome| outcome.bus[0]) - 3.0 / period);
    let count = periods.len();
    let step = busy.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min);
    vec![
        Gate::between("T: 99 % quantile of flow 1", "periods", delays, Some(vec![1.3; count]), Some(vec![2.2; count])),
        Gate::between("T: bus idle beyond 3 us per period", "of the time", idle, None, Some(vec![0.002; count])),
        Gate::at_least("T: busier from one period to the next, longer one", "of the time", step, 0.0),
    ]
}

/// The runs of a sweep of the guard's period: FIFOs hold two periods of a link of 1 Gbit/s.
pub fn period_runs(periods: &[u64], milliseconds: u64, seeds: u64) -> Vec<BusRun> {
    let run = |&period_us: &u64| {
        let fifo = 48_000.max(2 * period_us * 125);
        BusRun { period_us, fifo, milliseconds, seeds, ..BusRun::new(Divider::Guard, 2) }
    };
    periods.iter().map(run).collect()
}

/// Figure 4.10.
pub fn period(progress: &dyn Fn(f64)) -> Figure {
    let mut figure = figure_of_bus("period", "The period of the guard", "Figure 4.10");
    figure.paper_says(&["The period trades delay for the time that the guard costs."]);
    figure.note(&[
        OURS,
        "Below, frames that do not fill a period idle the bus for about 2 us, and an activation costs the processor 6.5 us; above, delay and FIFOs grow.",
        "The flow of long frames sends too much; FIFOs hold two periods of 1 Gbit/s. Means of three seeds of 300 ms.",
    ]);
    let runs = period_runs(&PERIODS, 300, 3);
    let points = run_buses(&runs, progress);
    figure.gates = period_gates(&PERIODS, &points);
    let guard = BusGuard::FORWARDING;
    let cost = (guard.cost.picoseconds() + 3 * guard.cost_per_flow.picoseconds()) as f64 / 1e6;
    let row = |(&period, outcomes): (&u64, &Vec<RouterOutcome>)| {
        let of_period = |value: f64| format!("{:.2}", value / period as f64);
        vec![
            period.to_string(),
            of_period(delay_of(outcomes, 0)),
            of_period(quantile_of(outcomes, 0, 0.99)),
            of_period(delay_of(outcomes, 1)),
            format!("{:.3}", mean(outcomes, |outcome| outcome.bus[0])),
            format!("{:.1}", 100.0 * cost / period as f64),
            format!("{:.2}", mean(outcomes, |outcome| outcome.guard.mean_credit)),
        ]
    };
    let rows = PERIODS.iter().zip(&points).map(row).collect();
    let head = ["period us", "flow 1 mean / T", "flow 1 p99 / T", "flow 2 mean / T", "busy", "processor %", "mean of max |u| / capacity"];
    figure.tables.push(Table::new("Periods", &head, rows));
    let curve = |name: &str, of: &dyn Fn(&Vec<RouterOutcome>) -> f64| {
        let mut curve = Curve::new(name);
        PERIODS.iter().zip(&points).for_each(|(&period, outcomes)| curve.push(period as f64, of(outcomes)));
        curve
    };
    let curves = vec![
        curve("flow 1, mean", &|outcomes| delay_of(outcomes, 0)),
        curve("flow 1, 99 %", &|outcomes| quantile_of(outcomes, 0, 0.99)),
        curve("flow 2, mean", &|outcomes| delay_of(outcomes, 1)),
    ];
    let (x, y) = (Axis::logarithmic("period (us)"), Axis::logarithmic("delay (us)"));
    figure.charts.push(Chart {
        id: "period",
        title: "Delay over the guard's period".to_owned(),
        x,
        y,
        steps: false,
        panels: vec![Panel { name: String::new(), curves }],
    });
    figure
}

/// The bursty traffic, with names.
const BURSTS: [(&str, Traffic); 4] = [
    ("exponential", Traffic::OnOff(1, None)),
    ("Pareto 1.4, 1 source", Traffic::OnOff(1, Some(1.4))),
    ("Pareto 1.4, 16 sources", Traffic::OnOff(16, Some(1.4))),
    ("Pareto 1.2, 16 sources", Traffic::OnOff(16, Some(1.2))),
];

/// Figure 4.11 and section 4.4.5.
pub fn bursts(progress: &dyn Fn(f64)) -> Figure {
    let mut figure = figure_of_bus("bursts", "On/off traffic on the three buses", "Figure 4.11 and section 4.4.5");
    figure.paper_says(&["With bursty traffic the guard divides the bus as a fair arbiter would."]);
    figure.note(&[
        OURS,
        "Each flow loads the bus to 0.25, on for 1 ms and off for 2 ms on average, FIFOs of 256 kB; means of four seeds of 1 s.",
        "Pareto periods start stationary. No mean of such traffic is gated, and differences of quantiles between buses are within one run's arrivals.",
    ]);
    let run = |traffic| {
        DIVIDERS.map(|(divider, _)| BusRun {
            bad: None,
            load: 0.25,
            fifo: 256_000,
            traffic,
            milliseconds: 1000,
            seeds: 4,
            ..BusRun::new(divider, 0)
        })
    };
    let runs: Vec<BusRun> = BURSTS.into_iter().flat_map(|(_, traffic)| run(traffic)).collect();
    let points = run_buses(&runs, progress);
    let mut rows = Vec::new();
    for ((name, _), points) in BURSTS.into_iter().zip(points.chunks(3)) {
        figure.gates.extend(burst_gates(name, points));
        for (outcomes, (_, bus)) in points.iter().zip(DIVIDERS) {
            let cell = |flow: usize| format!("{:.0} ({:.0})", quantile_of(outcomes, flow, 0.99), quantile_of(outcomes, flow, 0.999));
            rows.push(vec![name.to_owned(), bus.to_owned(), cell(0), cell(1), cell(2)]);
        }
    }
    let head = ["traffic", "bus", "128 B: p99 (p99.9) us", "512 B", "1514 B"];
    figure.tables.push(Table::new("Delays of bursty traffic", &head, rows));
    figure
}

fn burst_gates(name: &str, points: &[Vec<RouterOutcome>]) -> Vec<Gate> {
    let [fair, robin, guard] = points else { return Vec::new() };
    let apart = |part: f64| [0, 2].map(|flow| (quantile_of(guard, flow, part) - quantile_of(fair, flow, part)).abs() / 200.0);
    let ratio = |flow: usize| quantile_of(robin, flow, 0.99) / quantile_of(fair, flow, 0.99);
    let quantiles = [apart(0.99), apart(0.999)].concat();
    vec![
        Gate::between(format!("on-off, {name}: guard and WF2Q+ apart at 99 and 99.9 %"), "periods", quantiles, None, Some(vec![2.0; 4])),
        Gate::at_least(format!("on-off, {name}: round robin, 99 % of short frames"), "of WF2Q+'s", ratio(0), 1.8),
        between(&format!("on-off, {name}: round robin, 99 % of long frames"), "of WF2Q+'s", ratio(2), 0.0, 0.35),
    ]
}
