//! What the figures have in common: cases that are run once, notes, tables, charts and gates.

use super::bounds;
use super::network::{CATEGORIES, Case, Hosts, Mechanisms, Results, SEEDS, TCP_SHARE};
use crate::figure::{Axis, Chart, Curve, Figure, Gate, Panel, Table};
use crate::proven::{beside_delays, join, named};
use std::cell::RefCell;
use tidegate_sim::Estimate;

/// The buffers, in cells.
pub const BUFFERS: [u32; 2] = [12_000, 24_000];

/// A guarantee counts as kept if each category gets this band of its target.
pub const KEPT: (f64, f64) = (0.9, 1.15);

/// The notes of all figures.
pub fn notes() -> Vec<String> {
    vec![
        format!(
            "A segment of 1024 bytes takes 23 cells, so TCP gets at most {TCP_SHARE:.2} of the 149.7 Mbit/s; a source's minimum cell rate is its target \
             times 1219/1024."
        ),
        "The paper does not say how fine TCP's clock is (100 ms here), when sources start (at random within 100 ms), and which order SACK recovery \
         takes (RFC 6675)."
            .into(),
        format!("{SEEDS} seeds; figures are means with 95 % confidence intervals by Student's t."),
    ]
}

pub fn with_interval(estimate: Estimate, decimals: usize) -> String {
    match estimate.half_width {
        Some(half_width) => format!("{:.decimals$} ±{half_width:.decimals$}", estimate.mean),
        None => format!("{:.decimals$}", estimate.mean),
    }
}

pub fn means(estimates: &[Estimate]) -> Vec<f64> {
    estimates.iter().map(|estimate| estimate.mean).collect()
}

thread_local! {
    /// The runs so far: some figures share them.
    pub static DONE: RefCell<Vec<(Case, Results)>> = const { RefCell::new(Vec::new()) };
}

/// Runs the cases in turn, each of them once.
pub fn run_all(cases: &[Case], progress: &dyn Fn(f64)) -> Vec<Results> {
    let run = |(number, case): (usize, &Case)| {
        let known = DONE.with_borrow(|done| done.iter().find(|(known, _)| known == case).map(|(_, results)| results.clone()));
        let results = known.unwrap_or_else(|| {
            let results = case.run();
            DONE.with_borrow_mut(|done| done.push((case.clone(), results.clone())));
            results
        });
        progress((number + 1) as f64 / cases.len() as f64);
        results
    };
    cases.iter().enumerate().map(run).collect()
}

/// Adds what is proven of the sources of a run, beside their largest delays, to those of the runs of this name before.
pub fn add_bounds(figure: &mut Figure, run: &str, results: &Results) {
    let proven = bounds::of(&results.case);
    for (seed, longest) in (1..).zip(&results.longest) {
        let rows = beside_delays(&proven, seed, longest.iter().copied());
        join(&mut figure.bounds, named(run, &rows).collect());
    }
}

/// One curve per run of what the categories got, and the target.
pub fn categories_chart(names: &[String], results: &[Results], x: Axis, places: &[f64; 5]) -> Chart {
    let mut curves = Vec::new();
    for (name, results) in names.iter().zip(results) {
        let mut curve = Curve::new(name.clone());
        results.categories().iter().zip(places).for_each(|(estimate, &place)| curve.push(place, estimate.mean));
        curves.push(curve);
    }
    let mut target = Curve::new("target");
    places.iter().for_each(|&place| target.push(place, 1.0));
    curves.push(target);
    Chart::new("categories", "What each category got of its target", x, Axis::linear("throughput / target"), vec![Panel::new("", curves)])
}

/// The targets of the categories as heads of a table.
pub fn category_heads(first: &str) -> Vec<String> {
    let categories = CATEGORIES.iter().map(|target| format!("{target} Mbit/s"));
    [first.to_owned()].into_iter().chain(categories).chain(["total Mbit/s".to_owned()]).collect()
}

pub fn category_row(name: &str, results: &Results) -> Vec<String> {
    let categories = results.categories().into_iter().map(|estimate| with_interval(estimate, 2));
    [name.to_owned()].into_iter().chain(categories).chain([with_interval(results.total(), 1)]).collect()
}

/// Every category is in the band of a kept guarantee.
pub fn kept(name: &str, results: &Results) -> Gate {
    let measured = means(&results.categories());
    let (low, high) = (Some(vec![KEPT.0; measured.len()]), Some(vec![KEPT.1; measured.len()]));
    Gate::between(format!("{name}: every category"), "of its target", measured, low, high)
}

/// The verdicts of the paper's Table 1; `None` for the one under study.
pub const VERDICTS: [Option<bool>; 8] = [Some(false), Some(false), Some(false), Some(false), Some(true), Some(true), None, Some(true)];

/// The results of the eight options with the same hosts.
pub fn options(hosts: Hosts, progress: &dyn Fn(f64)) -> Vec<Results> {
    run_all(&Mechanisms::ALL.map(|mechanisms| Case { hosts, ..Case::unequal(mechanisms, 24_000) }), progress)
}

pub fn verdict(is_kept: bool) -> &'static str {
    if is_kept { "yes" } else { "no" }
}

pub fn verdict_table(title: &str, results: &[Results], with_paper: bool) -> Table {
    let mut head = category_heads("option");
    head.push("GFR".into());
    if with_paper {
        head.push("paper".into());
    }
    let row = |((mechanisms, results), published): ((Mechanisms, &Results), Option<bool>)| {
        let mut row = category_row(&mechanisms.name(), results);
        row.push(verdict(kept("", results).passed()).into());
        if with_paper {
            row.push(published.map_or("under study", verdict).into());
        }
        row
    };
    let rows = Mechanisms::ALL.into_iter().zip(results).zip(VERDICTS).map(row).collect();
    Table { title: title.into(), head, rows }
}

/// The part of the arrivals that the policer tagged. F-GCRA's arithmetic gives a lower bound for the frames that came. TCP's bursts, of which only
/// two frames pass, add to it, within a band around what is `expected`.
pub fn tagged_share(name: &str, results: &Results, expected: &[f64; 5]) -> Gate {
    let low = results.least_tagged().iter().zip(expected).map(|(least, expected)| (least - 0.002).max(expected - TAGGED_BAND)).collect();
    let high = expected.iter().map(|expected| expected + TAGGED_BAND).collect();
    Gate::between(format!("{name}: part of each category's frames that is tagged"), "", results.tagged(), Some(low), Some(high))
}

/// Half the band.
pub const TAGGED_BAND: f64 = 0.03;
