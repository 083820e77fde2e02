//! The model of a live direction: against itself, and against recordings of a machine.

use tidegate_core::buffer::BufferParameters;
use tidegate_core::classifier::{ClassRules, Classifier};
use tidegate_core::port::{Port, PortSetup};
use tidegate_core::registry::{BufferKind, SchedulerKind};
use tidegate_core::scheduler::{FlowParameters, Setup};
use tidegate_core::units::{Overhead, Rate, Time};
use tidegate_router::compare::{self, Comparison, Verdict};
use tidegate_router::direction::{self, Arrival, CostRow, CostRows, State};
use tidegate_router::fit;
use tidegate_sim::random::Stream;
use tidegate_statistics::{StageRecord, StageTrace};

/// The port of the recordings: first in, first out, at 10 Gbit/s.
fn port() -> Port<usize> {
    let rate = Rate::new(10_000_000_000).unwrap();
    let rules = ClassRules { name: "all".into(), queues: 1, rules: Vec::new() };
    let buffer = BufferParameters { flows: 1, packets: Some(1000), ..BufferParameters::default() };
    let setup = PortSetup {
        rate,
        overhead: Overhead::default(),
        classifier: Classifier::new(vec![rules], 0).unwrap(),
        policers: vec![None],
        aqms: Vec::new(),
        seed: 0,
        buffer: BufferKind::TailDrop.build(&buffer).unwrap(),
        scheduler: SchedulerKind::Fifo.build(&Setup::new(rate, 1518), &[FlowParameters::default()]).unwrap(),
        packet_limit: 1000,
        longest_frame: 1518,
        remarks: Default::default(),
    };
    Port::new(Time::ZERO, setup)
}

/// Correlated costs of a packet, about 17 us of work, 8 us after an arrival that wakes the thread.
fn cost(state: State, stream: &mut Stream) -> CostRow {
    let common = 0.15 * stream.normal();
    let mut around = |mean: f64| (mean * (common + 0.10 * stream.normal()).exp()) as u64;
    let lead = around(if state == State::Busy { 400.0 } else { 8000.0 });
    CostRow { idle: 0, lead, intake: around(5000.0), start: around(2000.0), hand: around(10_000.0) }
}

/// A recording of the model itself, under Poisson traffic.
fn recorded(packets_per_second: f64, packets: usize, seed: u64) -> StageTrace {
    let mut stream = Stream::new(seed, 0, "arrivals");
    let mut at = 2e9;
    let arrivals: Vec<Arrival> = (0..packets)
        .map(|_| {
            at += stream.exponential() * 1e9 / packets_per_second;
            Arrival { at: at as u64, flow: 0, length: 200 }
        })
        .collect();
    let mut costs = Stream::new(seed, 0, "costs");
    let passages = direction::run(port(), &arrivals, &mut |state| cost(state, &mut costs));
    let record = |(number, (arrival, passage)): (usize, (&Arrival, &direction::Passage))| StageRecord {
        number: number as u64,
        length: u64::from(arrival.length),
        flow: u64::from(arrival.flow),
        arrived: arrival.at,
        wake: passage.wake,
        read: passage.read,
        offered: passage.offered,
        started: passage.started,
        handed: passage.handed,
    };
    let records = arrivals.iter().zip(&passages).enumerate().map(record).collect();
    StageTrace { ticks_per_second: 1_000_000_000, records, ..StageTrace::default() }
}

#[test]
fn the_model_recovers_itself() {
    let fitted = StageTrace::from_bytes(&recorded(20_000.0, 6000, 1).to_bytes().unwrap()).unwrap();
    let rows = fit::rows(&fitted);
    for packets_per_second in [5_000.0, 20_000.0, 35_000.0] {
        let found = compare::across(&rows, &recorded(packets_per_second, 6000, 2), &port, 3).unwrap();
        assert!(found.model.levy <= 0.03, "{packets_per_second}: {:?} beside {:?}", found.model, found.single_queue);
        assert!(found.single_queue.levy > 2.0 * found.model.levy, "{packets_per_second}: {:?}", found.single_queue);
        assert_eq!(found.verdict, Verdict::Accepted);
    }
    let within = compare::within(&fitted, &port, 1).unwrap();
    assert!(within.model.levy <= 0.03, "{:?}", within.model);
    assert_eq!(within, compare::within(&fitted, &port, 1).unwrap());
}

/// A model with costs of its own is refused.
#[test]
fn other_costs_are_refused() {
    let rows = fit::rows(&recorded(20_000.0, 6000, 1));
    let slower = |rows: &[CostRow]| rows.iter().map(|row| CostRow { hand: row.hand + 4000, ..*row }).collect();
    let rows = CostRows::new(slower(rows.woken()), slower(rows.batched()));
    let found = compare::across(&rows, &recorded(20_000.0, 6000, 2), &port, 3).unwrap();
    assert_eq!(found.verdict, Verdict::Refused, "{:?}", found.model);
}

#[test]
fn a_run_that_changes_is_not_judged() {
    let mut trace = recorded(10_000.0, 4000, 1);
    assert!(matches!(compare::within(&StageTrace { steal: 20_000, ..trace.clone() }, &port, 1).unwrap().verdict, Verdict::Stolen(20_000)));
    // Every other twentieth of it is slow.
    let slow = |number: u64| (number.saturating_sub(200) / 190) % 2 == 1;
    trace.records.iter_mut().filter(|record| slow(record.number)).for_each(|record| record.handed += 30_000);
    assert!(matches!(compare::within(&trace, &port, 1).unwrap().verdict, Verdict::NotStationary(drift) if drift > 0.3));
    trace.records.truncate(500);
    assert!(compare::within(&trace, &port, 1).is_err());
}

#[test]
fn prediction_intervals_hold_what_they_predict() {
    let fitted = recorded(20_000.0, 3000, 1);
    let (arrivals, _) = fit::arrivals(&recorded(20_000.0, 3000, 2), &recorded(20_000.0, 3000, 2).records);
    let intervals = compare::prediction_intervals(&compare::rows_by_block(&fitted).unwrap(), &arrivals, &port, 40, 5);
    let found = compare::across(&fit::rows(&fitted), &recorded(20_000.0, 3000, 2), &port, 3).unwrap();
    for ([low, high], quantile) in intervals.iter().zip(&found.quantiles).take(2) {
        assert!(low <= high && 0.97 * low <= quantile.model && quantile.model <= 1.03 * high, "{low} to {high}: {quantile:?}");
    }
}

fn recording(name: &str) -> StageTrace {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traces").join(name);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    StageTrace::from_bytes(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn line(name: &str, found: &Comparison) -> String {
    let Comparison { packets, rows: [woken, batched], model, single_queue, halves, verdict, quantiles, .. } = found;
    let distance = |distance: &compare::Distance| format!("{:.4}/{:.4}", distance.kolmogorov_smirnov, distance.levy);
    let quantiles: Vec<String> = quantiles
        .iter()
        .map(|quantile| {
            let judged = if quantile.has_samples { "" } else { " (few)" };
            format!("{}: {} {} {}{judged}", quantile.p, quantile.measured, quantile.model, quantile.single_queue)
        })
        .collect();
    format!(
        "{name}: {packets} packets, rows {woken} {batched}, model {}, single queue {}, halves {}, {verdict:?}\n  {}\n",
        distance(model),
        distance(single_queue),
        distance(halves),
        quantiles.join(", ")
    )
}

/// Fits and comparisons of two recorded runs, with a fixed seed: the same numbers on every machine. Distances are KS/Levy, delays nanoseconds:
/// measured, of the model, of the single queue.
#[test]
fn recordings_of_a_bridge_are_judged_as_before() {
    let (slow, fast) = (recording("bridge-10k.trace"), recording("bridge-30k.trace"));
    let sums = |trace: &StageTrace| {
        let rows = fit::rows(trace);
        let sum = |rows: &[CostRow]| {
            rows.iter().fold([0; 4], |sum, row| [sum[0] + row.lead, sum[1] + row.intake, sum[2] + row.start, sum[3] + row.hand])
        };
        format!(
            "{} packets, lost {}, steal {}, rows {:?} {:?}\n",
            trace.records.len(),
            trace.lost,
            trace.steal,
            sum(rows.woken()),
            sum(rows.batched())
        )
    };
    let found = [
        sums(&slow),
        sums(&fast),
        line("10k within", &compare::within(&slow, &port, 1).unwrap()),
        line("30k within", &compare::within(&fast, &port, 1).unwrap()),
        line("30k from 10k", &compare::across(&fit::rows(&slow), &fast, &port, 1).unwrap()),
        line("10k from 30k", &compare::across(&fit::rows(&fast), &slow, &port, 1).unwrap()),
    ]
    .concat();
    let expected = include_str!("traces/expected.txt");
    assert!(found == expected, "expected:\n{expected}\nfound:\n{found}");
}
