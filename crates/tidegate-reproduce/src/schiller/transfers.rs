//! Transfers from host memory: buffers and underruns under each prefetch policy. The paper states the effect and has no figure of it.

use crate::figure::{Axis, Chart, Curve, Figure, Gate, Panel, Table, numbers};
use crate::prose;
use std::num::NonZeroU32;
use tidegate_cells::{
    Adapter, CellContract, CellScheduler, CellSetup, Conflict, Connection, HeapScheduler, Prefetch, RateScaling, SLOT, Ticks,
    TransferSetup, aal5_cells,
};
use tidegate_sim::host::{Bus, Host, HostCounts, Jitter, Posting};
use tidegate_sim::random::Stream;

/// The policies and their names in the report.
const POLICIES: [(Prefetch, &str); 3] =
    [(Prefetch::JustInTime, "just in time"), (Prefetch::Demand, "on demand"), (Prefetch::WholePdu, "whole PDUs")];

/// The number of connections, the PDUs of each, and the La that the adapter plans with, in slots: the access latency and the wait for
/// transfers of other connections.
const LOADS: [Load; 3] = [
    Load { connections: 1, pdus: 100, planned_latency: 36 },
    Load { connections: 10, pdus: 40, planned_latency: 150 },
    Load { connections: 100, pdus: 10, planned_latency: 600 },
];

#[derive(Clone, Copy)]
struct Load {
    connections: u32,
    pdus: u32,
    planned_latency: u32,
}

/// The longest jitter of an access, in slots. From 32 on the bus hardly keeps up with the link.
const JITTERS: [u64; 8] = [0, 4, 8, 12, 16, 24, 32, 48];

/// Which of [`JITTERS`] the table shows.
const IN_TABLE: usize = 2;

/// The constant part of an access, in slots: 2.7 us on a 622 Mbit/s link.
const ACCESS_LATENCY: u64 = 4;

/// The time of a cell on the bus in slots: 48 bytes at 132 MB/s are 363.6 ns, a slot at 622.08 Mbit/s is 681.6 ns.
const CELL_TIME: Ticks = Ticks(SLOT * 5335 / 10_000);

/// The most cells in a transfer.
const BURST: u32 = 32;

/// The share of the link that is asked for, in percent.
const LINK_LOAD: u64 = 80;

/// Cells of a PDU.
const PDU: u32 = aal5_cells(5000);

/// The seed of phases and jitter.
const SEED: u64 = 1;

/// The most buffers just in time, of those with whole PDUs.
const BUFFER_SHARE: f64 = 0.5;

/// The measurements of one load: by policy, then by jitter.
struct Sweep {
    load: Load,
    policies: [[HostCounts; JITTERS.len()]; POLICIES.len()],
}

/// Positions in [`POLICIES`].
const JUST_IN_TIME: usize = 0;
const ON_DEMAND: usize = 1;
const WHOLE_PDUS: usize = 2;

impl Sweep {
    /// The jitters at which just-in-time fetching saw no latency above the planned one.
    fn within(&self) -> impl Iterator<Item = usize> {
        let limit = u64::from(self.load.planned_latency);
        (0..JITTERS.len()).filter(move |&jitter| self.policies[JUST_IN_TIME][jitter].longest_latency <= limit)
    }

    fn underruns_within(&self, policy: usize) -> u64 {
        self.within().map(|jitter| self.policies[policy][jitter].underruns).sum()
    }

    fn panel(&self, figure: impl Fn(&HostCounts) -> f64) -> Panel {
        let curve = |(policy, (_, name)): (&[HostCounts; JITTERS.len()], (Prefetch, &str))| Curve {
            x: JITTERS.iter().map(|&jitter| jitter as f64).collect(),
            y: policy.iter().map(&figure).collect(),
            ..Curve::new(name)
        };
        let name = match self.load.connections {
            1 => "one connection".into(),
            connections => format!("{connections} connections"),
        };
        Panel { name, curves: self.policies.iter().zip(POLICIES).map(curve).collect() }
    }
}

pub(super) fn run(progress: &dyn Fn(f64)) -> Figure {
    let mut done = 0;
    let mut sweeps = Vec::new();
    for load in LOADS {
        let policies = POLICIES.map(|(policy, _)| {
            let sweep = JITTERS.map(|jitter| play(load, policy, jitter));
            done += 1;
            progress(f64::from(done) / (LOADS.len() * POLICIES.len()) as f64);
            sweep
        });
        sweeps.push(Sweep { load, policies });
    }

    let mut figure = prose::figure(prose::SCHILLER, "transfers");
    figure.gates = one_pdu();
    let each = |figure: &dyn Fn(&Sweep) -> f64| sweeps.iter().map(figure).collect::<Vec<f64>>();
    let within = each(&|sweep| sweep.within().count() as f64);
    figure.gates.push(Gate::all_at_least("points of the sweep within La", "points", within, 3.0));
    let underruns = each(&|sweep| sweep.underruns_within(JUST_IN_TIME) as f64);
    figure.gates.push(Gate::exactly("underruns just in time, within La", "underruns", underruns, &[0.0; LOADS.len()]));
    let on_demand = sweeps[0].underruns_within(ON_DEMAND) as f64;
    figure.gates.push(Gate::at_least("one connection: underruns on demand at the same points", "underruns", on_demand, 1.0));
    for (name, buffers) in [("mean", HostCounts::mean_buffers as fn(&HostCounts) -> f64), ("peak", |counts| counts.peak_buffers as f64)] {
        let share = |sweep: &Sweep| {
            let pairs = sweep.policies[JUST_IN_TIME].iter().zip(&sweep.policies[WHOLE_PDUS]);
            pairs.map(|(just_in_time, whole)| buffers(just_in_time) / buffers(whole)).fold(0.0, f64::max)
        };
        let name = format!("{name} buffers, just in time over whole PDUs, at worst");
        figure.gates.push(Gate::all_at_most(name, "", each(&share), BUFFER_SHARE));
    }
    let jitter = Axis::linear("longest jitter (slots)");
    figure.charts.push(Chart::new(
        "buffers",
        "Cell buffers in use",
        jitter.clone(),
        Axis::logarithmic("mean buffers per connection (cells)"),
        sweeps.iter().map(|sweep| sweep.panel(|counts| counts.mean_buffers() / f64::from(sweep.load.connections))).collect(),
    ));
    figure.charts.push(Chart::new(
        "underruns",
        "Underruns",
        jitter,
        Axis::linear("underruns per 1000 cells"),
        sweeps.iter().map(|sweep| sweep.panel(|counts| 1000.0 * counts.underruns as f64 / counts.cells as f64)).collect(),
    ));
    figure.tables.push(table(&sweeps));
    figure
}

fn table(sweeps: &[Sweep]) -> Table {
    let head = ["connections, fetched", "mean buffers", "peak buffers", "underruns", "of cells", "longest latency", "engine load"];
    let rows = sweeps.iter().flat_map(|sweep| {
        sweep.policies.iter().zip(POLICIES).map(|(policy, (_, name))| {
            let counts = &policy[IN_TABLE];
            vec![
                format!("{}, {name}", sweep.load.connections),
                format!("{:.1}", counts.mean_buffers()),
                counts.peak_buffers.to_string(),
                counts.underruns.to_string(),
                counts.cells.to_string(),
                format!("{} slots", counts.longest_latency),
                format!("{:.0} %", 100.0 * counts.engine_load()),
            ]
        })
    });
    Table::new(format!("A jitter of up to {} slots", JITTERS[IN_TABLE]), &head, rows.collect())
}

/// The events of one PDU.
#[derive(Debug)]
struct Transcript {
    cells: Curve,
    requested: Vec<f64>,
    done: Vec<f64>,
}

impl Adapter for Transcript {
    fn cell_sent(&mut self, now: u64, _connection: Connection, _late: Ticks) {
        self.cells.push(now as f64, (self.cells.x.len() + 1) as f64);
    }

    fn transfer_requested(&mut self, now: u64, _connection: Connection, cells: u32) {
        self.requested.extend([now as f64, f64::from(cells)]);
    }

    fn pdu_done(&mut self, now: u64, _connection: Connection) {
        self.done.push(now as f64);
    }
}

/// One PDU of one connection, transfer by transfer.
fn one_pdu() -> Vec<Gate> {
    const CELLS: u32 = 20;
    let transfer = TransferSetup { prefetch: Prefetch::JustInTime, access_latency: 4, cell_time: Ticks(SLOT / 4), burst: 8, buffer: 64 };
    let mut scheduler: HeapScheduler =
        HeapScheduler::new(&CellSetup { connections: 1, pdus: 1, transfer: Some(transfer) }, Conflict::Lazy, RateScaling::strict());
    let connection = scheduler.add(&CellContract::constant(Ticks::slots(4))).expect("the contract can be kept");
    let burst = NonZeroU32::new(transfer.burst).expect("a burst has cells");
    let bus = Bus { access_latency: Ticks::slots(4), jitter: Jitter::None, cell_time: transfer.cell_time, burst };
    let mut host = Host::new(bus, SEED, "bus", Transcript { cells: Curve::new("cells"), requested: Vec::new(), done: Vec::new() });
    host.run(&mut scheduler, &[Posting { slot: 0, connection, cells: CELLS }], 1000).expect("there is room for one PDU");
    let underruns = host.counts().underruns as f64;
    let Transcript { cells, requested, done } = host.observer;
    let slots: Vec<f64> = (0..CELLS).map(|cell| f64::from(6 + 4 * cell)).collect();
    let farthest = cells.x.iter().zip(&slots).map(|(slot, expected)| (slot - expected).abs()).fold(0.0, f64::max);
    vec![
        Gate::exactly("one PDU: transfers, slot and cells", "", requested, &numbers([0, 8, 30, 8, 62, 4])),
        Gate::exactly(
            "one PDU: cells, and farthest of them from 6, 10, ..., 82",
            "slots",
            vec![cells.x.len() as f64, farthest],
            &[20.0, 0.0],
        ),
        Gate::exactly("one PDU: done in slot", "", done, &[82.0]),
        Gate::exactly("one PDU: underruns", "", vec![underruns], &[0.0]),
    ]
}

fn play(load: Load, policy: Prefetch, jitter: u64) -> HostCounts {
    let Load { connections, pdus, planned_latency } = load;
    let transfer = TransferSetup {
        prefetch: policy,
        access_latency: planned_latency,
        cell_time: CELL_TIME,
        burst: BURST,
        buffer: connections * pdus * PDU,
    };
    let setup = CellSetup { connections, pdus: connections * pdus, transfer: Some(transfer) };
    let mut scheduler: HeapScheduler = HeapScheduler::new(&setup, Conflict::Lazy, RateScaling::strict());
    let interval = Ticks::ceil_of_ratio(u64::from(connections) * 100, LINK_LOAD).expect("the load is not zero");
    let period = u64::from(PDU) * interval.0 / SLOT;
    let mut phases = Stream::new(SEED, 0, "phases");
    let mut postings = Vec::new();
    for _ in 0..connections {
        let connection = scheduler.add(&CellContract::constant(interval)).expect("the contract can be kept");
        let start = phases.below(period);
        let post = |pdu: u32| Posting { slot: start + u64::from(pdu.saturating_sub(1)) * period, connection, cells: PDU };
        postings.extend((0..pdus).map(post));
    }
    postings.sort_by_key(|posting| posting.slot);
    let bus = Bus {
        access_latency: Ticks::slots(ACCESS_LATENCY),
        jitter: Jitter::Uniform { most: Ticks::slots(jitter) },
        cell_time: CELL_TIME,
        burst: NonZeroU32::new(BURST).expect("a burst has cells"),
    };
    let mut host = Host::new(bus, SEED, "bus", ());
    host.run(&mut scheduler, &postings, u64::MAX).expect("there is room for every PDU");
    *host.counts()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_is_sent_under_every_policy() {
        for load in LOADS {
            for (policy, name) in POLICIES {
                let counts = play(load, policy, 0);
                assert_eq!(counts.cells, u64::from(load.connections * load.pdus * PDU), "{name}");
            }
        }
    }

    #[test]
    fn a_latency_beyond_what_was_planned_with_is_noticed() {
        // Otherwise the gate on underruns could not fail.
        let counts = play(LOADS[0], Prefetch::JustInTime, 100);
        assert!(counts.underruns > 0);
    }
}
