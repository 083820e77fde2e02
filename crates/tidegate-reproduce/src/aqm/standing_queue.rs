//! One connection, and ten: how well the link is used for the queue that stands.

use super::bottleneck::Discipline;
use super::network::{Case, Results, Sender, run_all};
use super::report::{figure, table};
use crate::figure::{Figure, Gate};
use tidegate_core::aqm::{AqmParameters, Probability, RedCurve};
use tidegate_core::registry::AqmKind;
use tidegate_sim::tcp::CongestionKind;

/// The round-trip time in milliseconds.
const ROUND_TRIP: u64 = 100;
/// CoDel's target as a part of it.
const STANDING: f64 = 0.05;

/// The utilisation that RFC 8289, section 3.2 gives one Reno connection with a standing queue of this part of the round-trip time.
fn published_utilisation(standing: f64) -> f64 {
    (3.0 + 6.0 * standing - standing * standing) / (4.0 * (1.0 + standing))
}

/// The place of CoDel among the disciplines.
const CODEL: usize = 0;
/// That of PIE.
const PIE: usize = 1;
/// That of PIE with the model's lots.
const DRAWN: usize = 2;
/// That of adaptive RED with the model's curve.
const RED: usize = 4;
/// That of tail drop.
const TAIL_DROP: usize = 5;

/// What both figures compare.
fn disciplines() -> [Discipline; 6] {
    let drawn = AqmParameters { derandomise: Some(false), ..AqmParameters::default() };
    let curve = RedCurve { min: 12_500, max: 37_500, max_probability: Probability::from_millionths(100_000).unwrap_or_default() };
    let curve = AqmParameters { curve: Some(curve), ..AqmParameters::default() };
    let (pie, red) = (Discipline::one("pie", AqmKind::Pie), Discipline::one("adaptive-red", AqmKind::AdaptiveRed));
    [
        Discipline::one("codel", AqmKind::CoDel),
        pie.clone(),
        pie.with(drawn).named("pie, lots drawn one by one"),
        red.clone(),
        red.with(curve).named("adaptive-red from 12.5 kB"),
        // One product of rate and round-trip time.
        Discipline::tail_drop("tail drop, 83 packets", 83),
    ]
}

fn one_cases() -> Vec<Case> {
    let senders = [CongestionKind::Reno, CongestionKind::Cubic];
    let case = |discipline: &Discipline, congestion| Case::new(discipline, 10, vec![Sender::new(congestion, ROUND_TRIP)]);
    let mut cases: Vec<Case> =
        senders.iter().flat_map(|&congestion| disciplines().map(|discipline| case(&discipline, congestion))).collect();
    // Twenty drops a minute come whenever the lots say: three seeds differ by a fiftieth of the utilisation.
    cases[disciplines().len() + DRAWN].seeds = 24;
    cases
}

/// Utilisation within 0.04 of the model's, delays within a fifth.
fn model_gates(name: &str, result: &Results, utilisation: f64, delays: [(f64, f64); 2]) -> [Gate; 2] {
    let (parts, expected): (Vec<f64>, Vec<f64>) = delays.into_iter().unzip();
    let measured = parts.iter().map(|&part| result.delay(part)).collect();
    let percent: Vec<String> = parts.iter().map(|part| format!("{} %", 100.0 * part)).collect();
    [
        Gate::within(format!("{name}: utilisation"), "of the link", vec![result.utilisation], &[utilisation], 0.04),
        Gate::near(format!("{name}: {} of the delay", percent.join(" and ")), "ms", measured, &expected, 0.2),
    ]
}

fn one_gates(results: &[Results]) -> Vec<Gate> {
    let (reno, cubic) = results.split_at(results.len() / 2);
    let used = |result: &Results| vec![result.utilisation];
    let mut gates = vec![
        Gate::within("Reno, codel: utilisation", "of the link", used(&reno[CODEL]), &[published_utilisation(STANDING)], 0.02),
        Gate::between("CUBIC, codel: utilisation", "of the link", used(&cubic[CODEL]), Some(vec![0.89]), Some(vec![0.95])),
        Gate::near(
            "Reno and CUBIC, codel: 99 % of the delay",
            "ms",
            vec![reno[CODEL].delay(0.99), cubic[CODEL].delay(0.99)],
            &[5.6; 2],
            0.2,
        ),
        Gate::at_least("Reno, tail drop: utilisation", "of the link", reno[TAIL_DROP].utilisation, 0.99),
    ];
    gates.extend(model_gates("Reno, pie, drawn", &reno[DRAWN], 0.91, [(0.95, 27.2), (0.99, 30.8)]));
    gates.extend(model_gates("CUBIC, pie, drawn", &cubic[DRAWN], 0.986, [(0.95, 21.2), (0.99, 24.8)]));
    gates.extend(model_gates("Reno, adaptive-red", &reno[RED], 0.88, [(0.95, 18.8), (0.99, 20.0)]));
    gates.extend(model_gates("CUBIC, adaptive-red", &cubic[RED], 0.97, [(0.95, 14.0), (0.99, 15.2)]));
    gates
}

/// One connection.
pub fn one_connection(progress: &dyn Fn(f64)) -> Figure {
    let results = run_all(&one_cases(), progress);
    let mut figure = figure("one-connection", "One connection, 10 Mbit/s, 100 ms", "RFC 8289, section 3.2");
    figure.paper_says(&[
        "One Reno connection with a standing queue of a part f of the round-trip time uses (3 + 6 f - f^2) / (4 (1 + f)) of the link: 0.785 at \
         5 %.",
        "A CUBIC connection reduces its window by 30 % in place of 50 %, so it uses more: 0.89 where its window grows as Reno's, 0.95 where it \
         grows by its cube.",
    ]);
    figure.note(&[
        "CoDel's target of 5 ms is 5 % of the round-trip time.",
        "All other bands are those of a separately written model of TCP and AQMs: 0.04 of the utilisation, a fifth of delays. It draws PIE's lots one by \
         one, and its adaptive RED begins at 12.5 kB.",
        "Means of three seeds, 60 s each; of 24 where CUBIC meets PIE with lots drawn one by one.",
    ]);
    figure.gates = one_gates(&results);
    figure.tables.push(table("One connection", &results));
    figure
}

fn ten_cases() -> Vec<Case> {
    disciplines().iter().map(|discipline| Case::new(discipline, 10, vec![Sender::new(CongestionKind::Reno, ROUND_TRIP); 10])).collect()
}

fn ten_gates(results: &[Results]) -> Vec<Gate> {
    let (codel, pie) = (&results[CODEL], &results[PIE]);
    let mut gates = vec![
        Gate::at_most("codel: median of the delay", "ms", codel.delay(0.5), 10.0),
        Gate::between(
            "codel: mean and 99 % of the delay",
            "ms",
            vec![codel.mean_delay(), codel.delay(0.99)],
            Some(vec![5.0, 20.0]),
            Some(vec![15.0, 30.0]),
        ),
        Gate::between(
            "pie: mean and 99 % of the delay",
            "ms",
            vec![pie.mean_delay(), pie.delay(0.99)],
            Some(vec![5.0, 20.0]),
            Some(vec![15.0, 30.0]),
        )
        .not_reproduced(
            &[13.0, 32.0],
            &[19.0, 46.0],
            "The target is 15 ms, and ten connections of 8 packets each are more than the statement has in mind.",
        ),
    ];
    gates.extend(model_gates("codel", codel, 0.991, [(0.95, 21.2), (0.99, 24.8)]));
    gates.extend(model_gates("pie", pie, 0.996, [(0.5, 15.2), (0.99, 38.0)]));
    gates.extend(model_gates("adaptive-red", &results[RED], 0.999, [(0.5, 20.0), (0.99, 39.2)]));
    gates
}

/// Ten connections.
pub fn ten_connections(progress: &dyn Fn(f64)) -> Figure {
    let results = run_all(&ten_cases(), progress);
    let source = "RFC 8289, sections 3.2 and 4.3; RFC 9332, section 1.1";
    let mut figure = figure("ten-connections", "Ten Reno connections, 10 Mbit/s, 100 ms", source);
    figure.paper_says(&[
        "Under CoDel the median delay of long-lived connections tends to the target, and is below 10 ms even in congestion.",
        "Classic AQMs keep delays of 5 to 15 ms on average, and of 20 to 30 ms at the 99 % quantile.",
    ]);
    figure.note(&["All other bands are those of the model, as for one connection. Means of three seeds, 60 s each."]);
    figure.gates = ten_gates(&results);
    figure.tables.push(table("Ten connections", &results));
    figure
}
