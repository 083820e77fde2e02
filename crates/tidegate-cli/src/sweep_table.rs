//! The table of a sweep: means, intervals and differences to the first point, from the tables of its points.

use crate::failure::Failure;
use crate::sweep_folder::part;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use tidegate_report::{METRICS, Measurement, Parameter, SweepResult, SweepRow, SweptFigure};
use tidegate_scenario::sweep::Design;
use tidegate_scenario::units;
use tidegate_sim::Estimate;
use tidegate_sim::statistics::Difference;

/// What a sweep varies, and how its results are shown.
pub struct Outline {
    /// The scenario's title.
    pub title: String,
    /// What runs, one sentence.
    pub circumstances: String,
    /// The axes.
    pub parameters: Vec<Parameter>,
    /// The number of points.
    pub points: usize,
    /// The design.
    pub design: Design,
    /// The figures on the terminal: a name, and the index of a metric.
    pub shown: Vec<(String, usize)>,
    /// Whether differences are taken replication by replication.
    pub is_paired: bool,
}

/// Reads the tables of all points.
pub fn result(outline: &Outline, folder: &Path) -> Result<SweepResult, Failure> {
    let mut rows = Vec::new();
    let mut first: HashMap<(String, String, String), Vec<Measurement>> = HashMap::new();
    for point in 1..=outline.points {
        let measurements = tidegate_report::read_measurements(&part(folder, point));
        let measurements = measurements.map_err(|error| Failure::BadInput(format!("error: {error}; remove it to run the point again")))?;
        let mut order: Vec<(String, String, String)> = Vec::new();
        let mut subjects: HashMap<(String, String, String), Vec<Measurement>> = HashMap::new();
        for row in measurements {
            let subject = (row.run.clone(), row.scope.clone(), row.name.clone());
            if !subjects.contains_key(&subject) {
                order.push(subject.clone());
            }
            subjects.entry(subject).or_default().push(row);
        }
        for subject in order {
            let own = &subjects[&subject];
            let base = if point == 1 { None } else { first.get(&subject) };
            let figures = std::array::from_fn(|metric| swept(own, base.map(Vec::as_slice), metric, outline.is_paired));
            let (run, scope, name) = subject;
            rows.push(SweepRow { point, run, scope, name, replications: own.len() as u64, figures });
        }
        if point == 1 {
            first = subjects;
        }
    }
    let curves = (0..outline.points).map(|point| curve(outline, point)).collect();
    let paired = if outline.is_paired {
        "taken replication by replication, which have the same random streams"
    } else {
        "those of independent means"
    };
    let mut notes = vec![format!("Intervals are of 95 %, by Student's t. Differences to the first point are in table.parquet, {paired}.")];
    if rows.iter().any(|row| row.replications < 2) {
        notes.push("One replication has no interval.".to_owned());
    }
    for (name, metric) in &outline.shown {
        if !rows.iter().any(|row| row.name == *name && row.figures[*metric].is_some()) {
            notes.push(format!("{name}.{} has no value at any point: {}.", METRICS[*metric], without_values(*metric)));
        }
    }
    Ok(SweepResult {
        title: outline.title.clone(),
        circumstances: outline.circumstances.clone(),
        notes,
        parameters: outline.parameters.clone(),
        curves,
        shown: outline.shown.clone(),
        rows,
    })
}

/// Why a metric may have no value at any point.
fn without_values(metric: usize) -> &'static str {
    match METRICS[metric] {
        "goodput_bps" | "segments" | "retransmissions" | "timeouts" | "recoveries" => "only flows with TCP have one",
        "paused_s" | "pauses" => "only links whose far end pauses them have one",
        "loss" => "no packet was offered",
        metric if metric.starts_with("completion") || metric.starts_with("slowdown") => "no connection was complete",
        _ => "too few packets were delivered",
    }
}

fn swept(own: &[Measurement], base: Option<&[Measurement]>, metric: usize, is_paired: bool) -> Option<SweptFigure> {
    let values = |rows: &[Measurement]| -> BTreeMap<u64, f64> {
        rows.iter().filter_map(|row| Some((row.replication, row.figures[metric]?))).collect()
    };
    let own = values(own);
    let list: Vec<f64> = own.values().copied().collect();
    let estimate = |estimate: Estimate| tidegate_report::Estimate { mean: estimate.mean, half_width: estimate.half_width };
    let mean = estimate(Estimate::of(&list)?);
    let difference = base.and_then(|base| {
        let base = values(base);
        if is_paired {
            let pairs: Vec<(f64, f64)> = base.iter().filter_map(|(replication, &value)| Some((value, *own.get(replication)?))).collect();
            Difference::paired(&pairs)
        } else {
            Difference::unpaired(&base.into_values().collect::<Vec<_>>(), &list)
        }
    });
    let difference = difference.map(|difference| tidegate_report::Estimate { mean: difference.mean, half_width: difference.half_width });
    debug_assert!(metric < METRICS.len(), "metric {metric} of {}", METRICS.len());
    Some(SweptFigure { mean, difference })
}

/// A value of an axis as a number, if it is of this kind.
type Reading = fn(&str) -> Option<f64>;

/// The values of an axis as numbers, and their unit as names of columns have it, if all are of one kind.
pub fn numbers(values: &[String]) -> Option<(&'static str, Vec<f64>)> {
    let kinds: [(&str, Reading); 5] = [
        ("", |value| value.parse().ok().filter(|number: &f64| number.is_finite())),
        ("bps", |value| units::rate(value).ok().map(|rate| rate.bits_per_second() as f64)),
        ("s", |value| units::duration(value).ok().map(|duration| duration.picoseconds() as f64 / 1e12)),
        ("share", |value| units::ratio(value).ok().map(|share| share.as_f64())),
        ("bytes", |value| units::size(value).ok().map(|bytes| bytes as f64)),
    ];
    kinds.into_iter().find_map(|(unit, number)| Some((unit, values.iter().map(|value| number(value)).collect::<Option<Vec<f64>>>()?)))
}

/// In a grid, points with the same values of all axes but the first are one curve.
fn curve(outline: &Outline, point: usize) -> String {
    if outline.design != Design::Grid {
        return String::new();
    }
    let others = outline.parameters.iter().skip(1);
    let shown = others.map(|parameter| format!("{} {}", parameter.key.rsplit('.').next().unwrap_or_default(), parameter.values[point]));
    shown.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_one_kind_are_numbers_with_its_unit() {
        let read = |values: &[&str]| numbers(&values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>());
        assert_eq!(read(&["1", "2.5"]), Some(("", vec![1.0, 2.5])));
        assert_eq!(read(&["1 ms", "2 s"]), Some(("s", vec![0.001, 2.0])));
        assert_eq!(read(&["1 Mbit/s", "2 kbit/s"]), Some(("bps", vec![1e6, 2e3])));
        assert_eq!(read(&["1 kB", "20 B"]), Some(("bytes", vec![1000.0, 20.0])));
        assert_eq!(read(&["30 %", "0.5 %"]), Some(("share", vec![0.3, 0.005])));
        assert_eq!((read(&["1", "2 ms"]), read(&["fifo"])), (None, None));
    }
}
