//! Receive livelock, polling, quotas and feedback: the question of Figures 3.18 and 3.19.

use super::systems::{Build, OURS, System, between};
use super::trials::{Case, Extent, by_point, constant, figure, mean, run_all, total};
use crate::figure::{Axis, Chart, Curve, Figure, Gate, Panel, Table};
use tidegate_core::units::Duration;
use tidegate_router::{Feedback, Kernel, Level, Machine, RouterOutcome, Stage, Wake};

/// Loads in packets per second.
const LOADS: [f64; 8] = [10e3, 20e3, 30e3, 40e3, 60e3, 80e3, 120e3, 200e3];

/// The kernels, and the names of their curves.
const KERNELS: [&str; 6] =
    ["interrupts", "polling, quota 8", "polling, quota 64", "polling, no quota", "screend, quota 8", "screend, quota 8, feedback"];

fn polling(quota: Option<u32>, feedback: Option<Feedback>) -> Kernel {
    Kernel::Polling { quota, gated: false, feedback, wake: Wake::Interrupt }
}

/// Feedback at three quarters and a quarter of the user process's queue.
const FEEDBACK: Feedback = Feedback { high: 24, low: 8, timeout: Duration::from_milliseconds(10) };

fn machine(kernel: usize) -> Machine {
    let system = Build::Bsd.machine(System::One);
    match kernel {
        0 => system,
        1 => Machine { kernel: polling(Some(8), None), ..system },
        2 => Machine { kernel: polling(Some(64), None), ..system },
        3 => Machine { kernel: polling(None, None), ..system },
        4 => Machine { kernel: polling(Some(8), None), ..screend(system) },
        _ => Machine { kernel: polling(Some(8), Some(FEEDBACK)), ..screend(system) },
    }
}

/// A user process screens every packet behind ip_input for 20 us, and forwards it.
fn screend(mut machine: Machine) -> Machine {
    machine.stages.iter_mut().skip(3).for_each(|stage| stage.level = Level::User);
    let screen = Stage { name: "screend".to_owned(), cycles: 0.0, memory: Duration::from_microseconds(20), ..machine.stages[3].clone() };
    machine.stages.insert(3, screen);
    machine
}

/// Every kernel at every load.
pub fn points(loads: &[f64], extent: Extent, progress: &dyn Fn(f64)) -> Vec<Vec<RouterOutcome>> {
    let cases = |kernel: usize| {
        let machine = machine(kernel);
        let case = move |(load, seed): (f64, u64)| Case {
            machine: machine.clone(),
            flows: vec![constant("flow", load, 512, 0, Some(1))],
            trial: extent.trial(seed),
        };
        loads.iter().flat_map(move |&load| (1..=extent.seeds).map(move |seed| (load, seed))).map(case).collect::<Vec<_>>()
    };
    let cases: Vec<Case> = (0..KERNELS.len()).flat_map(cases).collect();
    by_point(run_all(&cases, progress), extent.seeds)
}

/// Totals of a kernel over the loads.
fn curve(points: &[Vec<RouterOutcome>], kernel: usize, loads: &[f64]) -> Curve {
    let mut curve = Curve::new(KERNELS[kernel]);
    let its = &points[kernel * loads.len()..(kernel + 1) * loads.len()];
    loads.iter().zip(its).for_each(|(load, outcomes)| curve.push(load / 1e3, mean(outcomes, total)));
    curve
}

/// The gates on the curves of all kernels, whose last load is far beyond the capacity.
pub fn gates(points: &[Vec<RouterOutcome>], loads: &[f64]) -> Vec<Gate> {
    let curves: Vec<Curve> = (0..KERNELS.len()).map(|kernel| curve(points, kernel, loads)).collect();
    let end = |kernel: usize| curves[kernel].y.last().copied().unwrap_or(0.0);
    let peak = |kernel: usize| curves[kernel].y.iter().copied().fold(0.0, f64::max);
    vec![
        Gate::at_most("livelock, interrupts: forwarded in overload", "of its peak", end(0) / peak(0), 0.2),
        Gate::at_least("livelock, quota 8: forwarded in overload", "of its peak", end(1) / peak(1), 0.98),
        Gate::at_least("livelock, quota 8: peak", "of that of interrupts", peak(1) / peak(0), 1.6),
        between("livelock, quota 64: peak", "of that with a quota of 8", peak(2) / peak(1), 1.0, 1.05),
        Gate::at_most("livelock, no quota: forwarded in overload", "of its peak", end(3) / peak(3), 0.05),
        Gate::at_most("livelock, screend: forwarded in overload", "of its peak", end(4) / peak(4), 0.1),
        Gate::at_least("livelock, screend with feedback: forwarded in overload", "of its peak", end(5) / peak(5), 0.97),
    ]
}

/// Forwarded over offered, for six kernels.
pub fn livelock(progress: &dyn Fn(f64)) -> Figure {
    let mut figure = figure("livelock", "Receive livelock, and what polling makes of it", "Figures 3.18 and 3.19");
    figure.paper_says(&["An interrupt-driven kernel forwards less the more it is offered; a polling kernel with quotas does not."]);
    figure.note(&[
        OURS,
        "Entry costs are amortised over batches in overload, so the fall is convex and never quite 0.",
        "Without a quota transmitted frames are never reclaimed in overload: the interface queue fills and throughput falls at once.",
        "screend is a user process of 20 us per packet behind a queue of 32; feedback stops reception at 24 and resumes it at 8.",
        "System one, one flow of 512-byte frames, means of three seeds.",
    ]);
    let points = points(&LOADS, Extent::FULL, progress);
    figure.gates = gates(&points, &LOADS);
    let curves: Vec<Curve> = (0..KERNELS.len()).map(|kernel| curve(&points, kernel, &LOADS)).collect();
    let row = |curve: &Curve| {
        let cells = curve.y.iter().map(|total| format!("{total:.1}"));
        std::iter::once(curve.name.clone()).chain(cells).collect()
    };
    let loads: Vec<String> = LOADS.iter().map(|load| format!("{:.0} kpps", load / 1e3)).collect();
    let mut head = vec!["kernel"];
    head.extend(loads.iter().map(String::as_str));
    figure.tables.push(Table::new("Forwarded, kpps", &head, curves.iter().map(row).collect()));
    let (x, y) = (Axis::linear("offered (kpps)"), Axis::linear("forwarded (kpps)"));
    let panels = vec![Panel { name: String::new(), curves }];
    figure.charts.push(Chart { id: "livelock", title: "Forwarded over offered".to_owned(), x, y, steps: false, panels });
    figure
}
