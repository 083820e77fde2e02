//! DualPI2: classic and low-latency connections beside each other.

use super::bottleneck::Discipline;
use super::network::{Case, PACKET, Results, Sender, run_all};
use super::report::{figure, table};
use crate::figure::{Axis, Chart, Curve, Figure, Gate, Panel, Table};
use tidegate_sim::tcp::{CongestionKind, EcnMode};

/// A Prague connection, whose packets go to the low-latency queue.
const fn prague(round_trip: u64) -> Sender {
    Sender::new(CongestionKind::Prague, round_trip).marked(EcnMode::L4s)
}

const fn cubic(round_trip: u64) -> Sender {
    Sender::new(CongestionKind::Cubic, round_trip)
}

/// What the low-latency flow of a run saw: the mean and 99 % of its delay, in milliseconds, and its drops.
fn low_latency(result: &Results) -> (f64, f64, f64) {
    (result.mean_delay_of(0), result.delay_of(0, 0.99), result.flows[0].dropped as f64)
}

fn mix_cases() -> Vec<Case> {
    let (low, classic) = (prague(25), cubic(25));
    let reno = Sender::new(CongestionKind::Reno, 25);
    let mixes = [vec![low], vec![classic], vec![low, classic], vec![low, reno], [[low; 5], [classic; 5]].concat()];
    mixes.into_iter().map(|senders| Case::new(&Discipline::dual_pi2(), 40, senders)).collect()
}

/// The ratio of the rates of low-latency and classic connections.
fn ratio(result: &Results) -> f64 {
    let (low, classic) = result.flows.split_at(result.flows.len() / 2);
    low.iter().map(|flow| flow.megabits).sum::<f64>() / classic.iter().map(|flow| flow.megabits).sum::<f64>()
}

fn mix_gates(results: &[Results]) -> Vec<Gate> {
    let [alone, classic, one, reno, five] = results else { return Vec::new() };
    let low: Vec<_> = [alone, one, reno, five].map(low_latency).to_vec();
    let mean_rates = |result: &Results| -> Vec<f64> {
        result.rates().chunks(result.flows.len() / 2).map(|rates| rates.iter().sum::<f64>() / rates.len() as f64).collect()
    };
    let rates =
        |name: &str, result: &Results, model: [f64; 2]| Gate::near(format!("{name}: rates"), "Mbit/s", mean_rates(result), &model, 0.2);
    let near_one = |name: &str, result: &Results| {
        Gate::between(format!("{name}: low latency over classic"), "of the rate", vec![ratio(result)], Some(vec![0.67]), Some(vec![1.5]))
    };
    let why = "The probability follows the window of the one classic connection. The mean of its square, by which that connection is signalled, is \
               above the square of its mean.";
    vec![
        Gate::all_at_most("low latency: mean delay", "ms", low.iter().map(|low| low.0).collect(), 1.0),
        Gate::all_at_most("low latency: 99 % of the delay", "ms", low.iter().map(|low| low.1).collect(), 2.0),
        Gate::all_at_most("low latency: drops", "packets", low.iter().map(|low| low.2).collect(), 0.0),
        Gate::within(
            "Prague and CUBIC alone: utilisation",
            "of the link",
            vec![alone.utilisation, classic.utilisation],
            &[0.977, 1.0],
            0.02,
        ),
        Gate::near("CUBIC alone: 50 % and 99 % of the delay", "ms", vec![classic.delay(0.5), classic.delay(0.99)], &[14.0, 17.9], 0.2),
        rates("Prague, CUBIC", one, [26.51, 13.49]),
        rates("Prague, Reno", reno, [25.07, 14.78]),
        rates("five and five", five, [4.66, 3.34]),
        near_one("five and five", five),
        near_one("one and one", one).not_reproduced(&[1.6], &[2.3], why),
    ]
}

/// Mixes of connections.
pub fn mixes(progress: &dyn Fn(f64)) -> Figure {
    let results = run_all(&mix_cases(), progress);
    let source = "RFC 9332, sections 1.1 and 1.4, appendix C.2";
    let mut figure = figure("dualpi2", "DualPI2, 40 Mbit/s, 25 ms: Prague beside CUBIC and Reno", source);
    figure.paper_says(&[
        "Packets of low latency wait less than 1 ms on average, less than 2 ms at the 99 % quantile, and are not lost.",
        "With k = 2 both kinds of connections get about the same rate over 25 ms.",
    ]);
    figure.note(&[
        "Low-latency connections are Prague with ECT(1), in the second queue; the others cannot be marked.",
        "The bands of rates and of CUBIC's delays are a fifth around those of the model. Means of three seeds, 60 s each.",
    ]);
    figure.gates = mix_gates(&results);
    figure.tables.push(table("Mixes", &results));
    let row = |result: &Results| {
        let (mean, late, dropped) = low_latency(result);
        let last = result.flows.len() - 1;
        let senders = result.case.senders[0].congestion.name();
        vec![
            senders.to_owned(),
            format!("{mean:.2}"),
            format!("{late:.2}"),
            format!("{dropped}"),
            format!("{:.2}", result.delay_of(last, 0.99)),
        ]
    };
    let head = ["first sender", "mean (ms)", "p99", "dropped", "p99 of the last sender"];
    figure.tables.push(Table::new("First and last sender of each mix", &head, results.iter().map(row).collect()));
    figure
}

const RATES: [u64; 5] = [4, 12, 40, 120, 200];
const ROUND_TRIPS: [u64; 5] = [5, 10, 20, 50, 100];

fn grid_cases() -> Vec<Case> {
    let case = |rate, round_trip| Case::new(&Discipline::dual_pi2(), rate, vec![prague(round_trip), cubic(round_trip)]);
    let cases = RATES.iter().flat_map(|&rate| ROUND_TRIPS.map(|round_trip| case(rate, round_trip)));
    cases.map(|case| Case { seeds: 1, ..case }).collect()
}

fn grid_gates(results: &[Results]) -> Vec<Gate> {
    // A packet of the link takes longer than the limit where the link is slow.
    let packets = |result: &Results| 2.0 * f64::from(PACKET) * 8e-3 / result.case.rate as f64;
    let over = |delay: f64, limit: f64, result: &Results| delay / limit.max(packets(result));
    let all = |of: &dyn Fn(&Results) -> f64| results.iter().map(of).collect::<Vec<_>>();
    let limit = |value: f64| Some(vec![value; results.len()]);
    vec![
        Gate::all_at_most(
            "low latency: mean delay",
            "of 1 ms or two packets",
            all(&|result| over(low_latency(result).0, 1.0, result)),
            1.0,
        ),
        Gate::all_at_most(
            "low latency: 99 % of the delay",
            "of 2 ms or two packets",
            all(&|result| over(low_latency(result).1, 2.0, result)),
            1.0,
        ),
        Gate::all_at_most("low latency: drops", "packets", all(&|result| low_latency(result).2), 0.0),
        Gate::all_at_most(
            "classic: 99 % of the delay",
            "ms, from 12 Mbit/s on",
            results[ROUND_TRIPS.len()..].iter().map(|result| result.delay_of(1, 0.99)).collect(),
            30.0,
        ),
        Gate::all_at_least("utilisation", "of the link", all(&|result| result.utilisation), 0.97),
        Gate::between("low latency over classic", "of the rate", all(&ratio), limit(0.4), limit(2.3)),
    ]
}

/// All rates and round-trip times.
pub fn grid(progress: &dyn Fn(f64)) -> Figure {
    let results = run_all(&grid_cases(), progress);
    let mut figure =
        figure("dualpi2-grid", "DualPI2 from 4 to 200 Mbit/s and from 5 to 100 ms: one Prague beside one CUBIC", "RFC 9332, section 1.4");
    figure.paper_says(&["Low latency holds up to 200 Mbit/s and 100 ms: less than 1 ms or two packets on average, less than 2 ms at the 99 % quantile, no loss."]);
    figure.note(&["At 4 Mbit/s two packets take 6 ms. One seed, 60 s each."]);
    figure.gates = grid_gates(&results);
    let curves = |of: &dyn Fn(&Results) -> f64| -> Vec<Curve> {
        let curve = |(row, rate): (&[Results], &u64)| {
            let mut curve = Curve::new(format!("{rate} Mbit/s"));
            row.iter().zip(ROUND_TRIPS).for_each(|(result, round_trip)| curve.push(round_trip as f64, of(result)));
            curve
        };
        results.chunks(ROUND_TRIPS.len()).zip(&RATES).map(curve).collect()
    };
    let x = Axis::logarithmic("round-trip time (ms)");
    let panel = |curves| vec![Panel::new("Prague and CUBIC", curves)];
    let rates =
        Chart::new("rates", "Rate of Prague over that of CUBIC", x.clone(), Axis::logarithmic("of the rate"), panel(curves(&ratio)));
    let delays = curves(&|result| low_latency(result).1);
    let delays = Chart::new("delays", "99 % of the delay of low-latency packets", x, Axis::logarithmic("delay (ms)"), panel(delays));
    figure.charts = vec![rates, delays];
    figure
}
