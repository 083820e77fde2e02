//! The two systems under four kernels: Figures 3.17, 3.19, 3.21 and 4.12, and the parameters around them.

use super::trials::{Case, Extent, by_point, constant, figure, forwarded, kept, mean, quantile, run_all, total};
use crate::figure::{Axis, Chart, Curve, Figure, Gate, Panel, Table};
use tidegate_router::{BusGuard, Kernel, Machine, RouterOutcome};

/// One of the two systems.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum System {
    /// 233 MHz: the processor limits it.
    One,
    /// 1400 MHz: the bus limits it.
    Two,
}

impl System {
    fn machine(self) -> Machine {
        match self {
            System::One => Machine::system_one(),
            System::Two => Machine::system_two(),
        }
    }

    /// Its nominal capacity, packets of 512 bytes per second.
    fn capacity(self) -> f64 {
        match self {
            System::One => 60e3,
            System::Two => 120e3,
        }
    }

    /// The loads of the third flow, packets per second.
    fn loads(self) -> [f64; 9] {
        match self {
            System::One => [5e3, 15e3, 30e3, 45e3, 60e3, 90e3, 120e3, 160e3, 200e3],
            System::Two => [10e3, 30e3, 50e3, 60e3, 80e3, 100e3, 120e3, 140e3, 170e3],
        }
    }
}

/// How the kernel is built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Build {
    Bsd,
    Polling,
    Shares,
    Guarded,
}

/// All of them, with the names of curves.
pub const BUILDS: [(Build, &str); 4] =
    [(Build::Bsd, "interrupts"), (Build::Polling, "polling"), (Build::Shares, "shares"), (Build::Guarded, "shares and guard")];

/// Processor shares in batches, with a weight of the input process.
pub fn shares(batch: u32, input_weight: f64) -> Kernel {
    let Kernel::Shares { estimate, .. } = Kernel::SHARES else { return Kernel::SHARES };
    Kernel::Shares { batch, input_weight, estimate }
}

impl Build {
    /// The system with this kernel.
    pub fn machine(self, system: System) -> Machine {
        let machine = system.machine();
        match self {
            Build::Bsd => machine,
            Build::Polling => Machine { kernel: Kernel::POLLING, ..machine },
            Build::Shares => Machine { kernel: shares(8, 2.0), ..machine },
            Build::Guarded => Machine { kernel: shares(8, 1.0), guard: Some(BusGuard::FORWARDING), ..machine },
        }
    }
}

/// The cases of one point: two flows at a quarter of the capacity, a third at a load of its own.
pub fn point(machine: &Machine, system: System, third: f64, extent: Extent) -> Vec<Case> {
    let quarter = system.capacity() / 4.0;
    let flow = |name, rate| constant(name, rate, 512, 0, Some(1));
    let flows = vec![flow("flow 1", quarter), flow("flow 2", quarter), flow("flow 3", third)];
    let case = |seed| Case { machine: machine.clone(), flows: flows.clone(), trial: extent.trial(seed) };
    (1..=extent.seeds).map(case).collect()
}

/// What a sweep of the third flow measured for one kernel.
pub struct Sweep {
    /// The third flow's loads.
    pub loads: Vec<f64>,
    points: Vec<Vec<RouterOutcome>>,
}

impl Sweep {
    fn mean(&self, index: usize, of: impl Fn(&RouterOutcome) -> f64) -> f64 {
        mean(&self.points[index], of)
    }

    fn last(&self) -> usize {
        self.points.len() - 1
    }

    fn total_at_end(&self) -> f64 {
        self.mean(self.last(), total)
    }

    /// The total at the end of the sweep, of its peak.
    fn of_peak(&self) -> f64 {
        let peak = (0..self.points.len()).map(|index| self.mean(index, total)).fold(0.0, f64::max);
        self.total_at_end() / peak
    }

    /// What flow 1 keeps at a load.
    fn kept(&self, index: usize) -> f64 {
        self.mean(index, |outcome| kept(outcome, 0))
    }

    fn kept_at_end(&self) -> f64 {
        self.kept(self.last())
    }

    /// The 99 % quantile of flow 1's delay at the end, in periods of the guard.
    fn periods(&self) -> f64 {
        self.mean(self.last(), |outcome| quantile(outcome, 0, 0.99)) / 200.0
    }
}

/// Sweeps the third flow's load under every kernel.
pub fn sweep(system: System, loads: &[f64], extent: Extent, progress: &dyn Fn(f64)) -> [Sweep; 4] {
    let cases: Vec<Case> = BUILDS
        .iter()
        .flat_map(|(build, _)| loads.iter().flat_map(|&third| point(&build.machine(system), system, third, extent)).collect::<Vec<_>>())
        .collect();
    let mut points = by_point(run_all(&cases, progress), extent.seeds).into_iter();
    [(); 4].map(|()| Sweep { loads: loads.to_vec(), points: points.by_ref().take(loads.len()).collect() })
}

/// R1 to R4.
pub fn gates_of_one(sweeps: &[Sweep; 4]) -> Vec<Gate> {
    let [bsd, polling, shares, guarded] = sweeps;
    let middle = shares.loads.iter().position(|&load| load == 60e3).unwrap_or(0);
    vec![
        Gate::at_most("R1, interrupts: total in overload", "of its peak", bsd.of_peak(), 0.15),
        Gate::at_most("R1, interrupts: flow 1 keeps", "of its packets", bsd.kept_at_end(), 0.05),
        Gate::at_least("R2, polling: total in overload", "of its peak", polling.of_peak(), 0.98),
        Gate::at_most("R2, polling: flow 1 keeps", "of its packets", polling.kept_at_end(), 0.45),
        between("R3, shares: total in overload", "of its peak", shares.of_peak(), 0.60, 0.85),
        between("R3, shares: flow 1 keeps", "of its packets", shares.kept_at_end(), 0.35, 0.70),
        Gate::at_least("R3, shares: flow 1 keeps at 1.5 times the capacity", "of its packets", shares.kept(middle), 0.80),
        Gate::at_least("R4, guard: total in overload", "of its peak", guarded.of_peak(), 0.98),
        Gate::at_least("R4, guard: flow 1 keeps", "of its packets", guarded.kept_at_end(), 0.99),
        Gate::at_most("R4, guard: 99 % of flow 1 within", "periods", guarded.periods(), 1.6),
    ]
}

/// R5 and R6.
pub fn gates_of_two(sweeps: &[Sweep; 4]) -> Vec<Gate> {
    let [_, polling, shares, guarded] = sweeps;
    let kept = vec![polling.kept_at_end(), shares.kept_at_end()];
    let totals = vec![polling.total_at_end(), shares.total_at_end()];
    let apart = (kept[0] - kept[1]).abs();
    vec![
        Gate::between("R5, polling and shares: flow 1 keeps", "of its packets", kept, Some(vec![0.40; 2]), Some(vec![0.70; 2])),
        Gate::at_most("R5, polling and shares: what flow 1 keeps apart", "of its packets", apart, 0.05),
        Gate::near("R5, polling and shares: totals as under the guard", "kpps", totals, &[guarded.total_at_end(); 2], 0.02),
        Gate::at_least("R6, guard: total in overload", "of its peak", guarded.of_peak(), 0.98),
        Gate::at_least("R6, guard: flow 1 keeps", "of its packets", guarded.kept_at_end(), 0.99),
        Gate::at_most("R6, guard: 99 % of flow 1 within", "periods", guarded.periods(), 2.6),
    ]
}

/// One number from `low` to `high`.
pub fn between(name: &str, unit: &'static str, measured: f64, low: f64, high: f64) -> Gate {
    Gate::between(name, unit, vec![measured], Some(vec![low]), Some(vec![high]))
}

/// The note that every figure of this experiment has.
pub const OURS: &str =
    "The figure is our experiment on the thesis' question: its captions and first chapter are known, its text and its numbers are not.";

/// Systems one and two under four kernels.
pub fn two_systems(progress: &dyn Fn(f64)) -> Figure {
    let mut figure = figure("two-systems", "Three flows through two systems under four kernels", "Figures 3.17, 3.19, 3.21 and 4.12");
    figure.paper_says(&[
        "A router limited by its processor is protected by shares of the processor, one limited by its bus by the guard of the bus.",
    ]);
    figure.note(&[
        OURS,
        "Flows 1 and 2 send a quarter of the capacity each, in frames of 512 bytes; the load of flow 3 is swept. All arrive at one interface and leave by another.",
        "System one has 233 MHz, system two 1400; both have a PCI bus of 32 bits and 33 MHz with a round robin of whole frames.",
        "Interrupts on system two are shown and not gated: a processor 20 % slower limits it there.",
        "Means of three seeds. Shares have an input weight of 2; the guard has a period of 200 us and gives out half of the bus.",
    ]);
    for (system, name, part) in [(System::One, "system one", 0.0), (System::Two, "system two", 0.5)] {
        let sweeps = sweep(system, &system.loads(), Extent::FULL, &|done| progress(part + done / 2.0));
        figure.gates.extend(if system == System::One { gates_of_one(&sweeps) } else { gates_of_two(&sweeps) });
        figure.tables.push(table(name, system, &sweeps));
        figure.charts.push(chart(system, name, &sweeps));
    }
    figure
}

const HEAD: [&str; 6] = ["flow 3 kpps (load)", "kernel", "total kpps", "flow 1 keeps %", "flow 3 kpps", "flow 1 p99 us"];

fn table(name: &str, system: System, sweeps: &[Sweep; 4]) -> Table {
    let mut rows = Vec::new();
    for (index, third) in system.loads().into_iter().enumerate() {
        let load = (third + system.capacity() / 2.0) / system.capacity();
        for (sweep, (_, kernel)) in sweeps.iter().zip(BUILDS) {
            rows.push(vec![
                format!("{:.0} ({load:.2})", third / 1e3),
                kernel.to_owned(),
                format!("{:.1}", sweep.mean(index, total)),
                format!("{:.1}", 100.0 * sweep.kept(index)),
                format!("{:.1}", sweep.mean(index, |outcome| forwarded(outcome, 2))),
                format!("{:.0}", sweep.mean(index, |outcome| quantile(outcome, 0, 0.99))),
            ]);
        }
    }
    Table::new(name, &HEAD, rows)
}

fn chart(system: System, name: &str, sweeps: &[Sweep; 4]) -> Chart {
    let panel = |title: &str, of: &dyn Fn(&Sweep, usize) -> f64| {
        let curve = |(sweep, (_, kernel)): (&Sweep, (Build, &str))| {
            let mut curve = Curve::new(kernel);
            sweep.loads.iter().enumerate().for_each(|(index, load)| curve.push(load / 1e3, of(sweep, index)));
            curve
        };
        Panel { name: title.to_owned(), curves: sweeps.iter().zip(BUILDS).map(curve).collect() }
    };
    let panels = vec![
        panel("forwarded in all (kpps)", &|sweep, index| sweep.mean(index, total)),
        panel("flow 1 forwarded (kpps)", &|sweep, index| sweep.mean(index, |outcome| forwarded(outcome, 0))),
    ];
    let id = if system == System::One { "one" } else { "two" };
    let (x, y) = (Axis::linear("offered by flow 3 (kpps)"), Axis::linear("forwarded (kpps)"));
    Chart { id, title: name.to_owned(), x, y, steps: false, panels }
}

/// The part of the bus that the guard gives out.
pub fn efficiency(progress: &dyn Fn(f64)) -> Figure {
    let mut figure = figure("efficiency", "The part of the bus that the guard gives out", "section 4.5, without a figure in the captions");
    figure.note(&[
        OURS,
        "Each frame crosses the bus twice. Three receive channels are three agents of the round robin beside one transmitter: without the guard they take three \
         quarters of the bus, and packets die in the interface queue after everything was paid.",
        "System two, flow 3 at 170 kpps, means of three seeds.",
    ]);
    let parts = [0.35, 0.5, 0.6, 0.75, 1.0];
    let points = efficiency_points(&parts, Extent::FULL, progress);
    figure.gates.push(efficiency_gate(&points[1], &points[4]));
    let row = |(part, outcomes): (f64, &Vec<RouterOutcome>)| {
        vec![
            format!("{part}"),
            format!("{:.1}", mean(outcomes, total)),
            format!("{:.1}", 100.0 * mean(outcomes, |outcome| kept(outcome, 0))),
            format!("{:.0}", mean(outcomes, |outcome| quantile(outcome, 0, 0.99))),
        ]
    };
    let rows = parts.into_iter().zip(&points).map(row).collect();
    figure.tables.push(Table::new("Efficiency", &["efficiency", "total kpps", "flow 1 keeps %", "flow 1 p99 us"], rows));
    figure
}

/// System two in overload, with these efficiencies.
pub fn efficiency_points(parts: &[f64], extent: Extent, progress: &dyn Fn(f64)) -> Vec<Vec<RouterOutcome>> {
    let machine = |&efficiency: &f64| {
        let guard = Some(BusGuard { efficiency, ..BusGuard::FORWARDING });
        Machine { guard, ..Build::Guarded.machine(System::Two) }
    };
    let cases: Vec<Case> = parts.iter().flat_map(|part| point(&machine(part), System::Two, 170e3, extent)).collect();
    by_point(run_all(&cases, progress), extent.seeds)
}

/// Half of the bus forwards more than all of it.
pub fn efficiency_gate(half: &[RouterOutcome], whole: &[RouterOutcome]) -> Gate {
    let ratio = mean(half, total) / mean(whole, total);
    Gate::at_least("eta: total with half of the bus", "of that with all of it", ratio, 1.15)
}
