//! Goyal, Jain, Fahmy, Vandalore and Kalyanaraman: minimum rates for TCP over ATM's unspecified bit rate service (GFR).
//!
//! TCP connections of `tidegate-sim` send over AAL5 to one port at which their cells contend. The port is the core's, with the core's policers, buffer
//! managers and schedulers: the eight options of the paper's Table 1 are eight settings of one policy. Everything is run for 20 s with eight seeds, and
//! stands with its 95 % confidence interval.
//!
//! | module | holds |
//! |---|---|
//! | `network` | the network of Figure 2, and what the sources got in it |
//! | `equal` | Figure 3: equal shares |
//! | `unequal` | Figures 4 and 5, Table 1: unequal shares |
//! | `untagged` | the notes of Table 1: guarantees for untagged frames |
//! | `beyond` | what the paper does not have |
//! | `decisions` | tags and drops, cell by cell, against the paper's pseudo-code |
//! | `sweep` | what the paper leaves open: thresholds, Z, load, timers, start times |

use crate::figure::{Axis, Chart, Curve, Figure, Gate, Panel, Table};
use crate::{Experiment, Plan};
use network::{Case, Hosts, Mechanisms, Results, SEEDS, Sends, TCP_SHARE};
use std::cell::RefCell;
use tidegate_sim::Estimate;

mod beyond;
mod decisions;
mod equal;
mod network;
mod sweep;
mod unequal;
mod untagged;

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    id: "gfr",
    title: "minimum rates for TCP over ATM: policing, buffer management, scheduling",
    source: "R. Goyal, R. Jain, S. Fahmy, B. Vandalore, S. Kalyanaraman, Design Issues for providing Minimum Rate Guarantees to the ATM Unspecified \
             Bit Rate Service, 1998",
    figures: &[
        Plan { id: "decisions", effort: 2, run: decisions::decisions },
        Plan { id: "figure-3", effort: 32, run: equal::figure_3 },
        Plan { id: "figure-3-open", effort: 52, run: equal::open_settings },
        Plan { id: "figure-4", effort: 16, run: unequal::figure_4 },
        Plan { id: "thresholds", effort: 32, run: sweep::thresholds },
        Plan { id: "utilisation", effort: 32, run: sweep::utilisation },
        Plan { id: "figure-5", effort: 16, run: unequal::figure_5 },
        Plan { id: "table-1", effort: 64, run: unequal::table_1 },
        Plan { id: "clp0", effort: 96, run: untagged::clp0 },
        Plan { id: "today", effort: 64, run: beyond::today },
        Plan { id: "round-trips", effort: 64, run: beyond::round_trips },
        Plan { id: "short-flows", effort: 64, run: beyond::short_flows },
    ],
};

/// What the five categories of sources are to get, in Mbit/s of TCP data.
const CATEGORIES: [f64; 5] = [2.6, 5.3, 8.0, 10.7, 13.5];

/// The buffers, in cells.
const BUFFERS: [u32; 2] = [12_000, 24_000];

/// The band of a category whose guarantee counts as kept.
const KEPT: (f64, f64) = (0.9, 1.15);

/// What the notes of all figures say.
fn notes() -> Vec<String> {
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

fn with_interval(estimate: Estimate, decimals: usize) -> String {
    match estimate.half_width {
        Some(half_width) => format!("{:.decimals$} ±{half_width:.decimals$}", estimate.mean),
        None => format!("{:.decimals$}", estimate.mean),
    }
}

fn means(estimates: &[Estimate]) -> Vec<f64> {
    estimates.iter().map(|estimate| estimate.mean).collect()
}

thread_local! {
    /// The runs so far: some figures show the same ones.
    static DONE: RefCell<Vec<(Case, Results)>> = const { RefCell::new(Vec::new()) };
}

/// Runs the cases in turn, but none of them a second time.
fn run_all(cases: &[Case], progress: &dyn Fn(f64)) -> Vec<Results> {
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

fn table(title: &str, head: &[&str], rows: Vec<Vec<String>>) -> Table {
    Table { title: title.into(), head: head.iter().map(|&name| name.to_owned()).collect(), rows }
}

fn chart(id: &'static str, title: &str, x: Axis, y: Axis, curves: Vec<Curve>) -> Chart {
    Chart { id, title: title.into(), x, y, steps: false, panels: vec![Panel { name: String::new(), curves }] }
}

/// One curve of what the categories got per run, and the target.
fn categories_chart(names: &[String], results: &[Vec<Estimate>], x: Axis, places: &[f64; 5]) -> Chart {
    let mut curves = Vec::new();
    for (name, categories) in names.iter().zip(results) {
        let mut curve = Curve::new(name.clone());
        categories.iter().zip(places).for_each(|(estimate, &place)| curve.push(place, estimate.mean));
        curves.push(curve);
    }
    let mut target = Curve::new("target");
    places.iter().for_each(|&place| target.push(place, 1.0));
    curves.push(target);
    chart("categories", "What each category got of its target", x, Axis::linear("throughput / target"), curves)
}

/// What a category is to get, as the heads of tables.
fn category_heads(first: &str) -> Vec<String> {
    let categories = CATEGORIES.iter().map(|target| format!("{target} Mbit/s"));
    [first.to_owned()].into_iter().chain(categories).chain(["total Mbit/s".to_owned()]).collect()
}

fn category_row(name: &str, results: &Results) -> Vec<String> {
    let categories = results.categories().into_iter().map(|estimate| with_interval(estimate, 2));
    [name.to_owned()].into_iter().chain(categories).chain([with_interval(results.total(), 1)]).collect()
}

/// Every category within the band of a guarantee that is kept.
fn kept(name: &str, results: &Results) -> Gate {
    let measured = means(&results.categories());
    let (low, high) = (Some(vec![KEPT.0; measured.len()]), Some(vec![KEPT.1; measured.len()]));
    Gate::between(format!("{name}: every category"), "of its target", measured, low, high)
}

/// The verdicts of the paper's Table 1; `None` for the one under study.
const VERDICTS: [Option<bool>; 8] = [Some(false), Some(false), Some(false), Some(false), Some(true), Some(true), None, Some(true)];

/// The eight options with the same hosts; rows of the table, and the results.
fn options(hosts: Hosts, progress: &dyn Fn(f64)) -> Vec<Results> {
    run_all(&Mechanisms::ALL.map(|mechanisms| Case { hosts, ..Case::unequal(mechanisms, 24_000) }), progress)
}

fn verdict(is_kept: bool) -> &'static str {
    if is_kept { "yes" } else { "no" }
}

fn verdict_table(title: &str, results: &[Results], with_paper: bool) -> Table {
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

/// What the policer tagged of what arrived. It is at least what F-GCRA's arithmetic demands for the frames that came; bursts of TCP, of which only two
/// frames pass, make it more, within a band around what is `expected`.
fn tagged_share(name: &str, results: &Results, expected: &[f64; 5]) -> Gate {
    let low = results.least_tagged().iter().zip(expected).map(|(least, expected)| (least - 0.002).max(expected - TAGGED_BAND)).collect();
    let high = expected.iter().map(|expected| expected + TAGGED_BAND).collect();
    Gate::between(format!("{name}: part of each category's frames that is tagged"), "", results.tagged(), Some(low), Some(high))
}

/// Half the band.
const TAGGED_BAND: f64 = 0.03;

#[cfg(test)]
mod tests {
    use super::beyond::with_short;
    use super::untagged::{beside, is_tagging};
    use super::*;

    /// Three seconds suffice to tell the options apart, if not for the paper's figures.
    fn short(mechanisms: Mechanisms) -> Vec<f64> {
        means(&Case { seconds: 4, seeds: 1, ..Case::unequal(mechanisms, 12_000) }.run().categories())
    }

    #[test]
    fn tags_and_drops_are_those_of_the_pseudo_code() {
        let figure = decisions::decisions(&|_| {});
        let failed: Vec<_> = figure.gates.iter().filter(|gate| !gate.passed()).collect();
        assert!(failed.is_empty(), "{failed:#?}");
    }

    /// The short form of the gates of Figure 4.
    #[test]
    fn tagged_shares_follow_f_gcra_and_the_buffer_loses_tagged_frames_first() {
        let run = |tagging| Case { seconds: 6, seeds: 1, ..Case::unequal(Mechanisms::new(true, tagging, false), 12_000) }.run();
        let (with, without) = (run(true), run(false));
        let gate = tagged_share("short", &with, &[0.92, 0.91, 0.90, 0.88, 0.86]);
        assert!(gate.passed(), "{gate:?}");
        assert_eq!(without.tagged(), [0.0; 5]);
        let [tagged, untagged] = with.lost_percent();
        assert!(tagged > 4.0 * untagged, "{tagged} {untagged}");
        assert!(untagged < without.lost_percent()[1], "tags protect what is within the minimum rate");
    }

    #[test]
    fn scheduling_brings_the_categories_closer_to_their_targets_than_accounting_and_tagging() {
        let spread = |categories: &[f64]| categories.iter().map(|part| (part - 1.0).abs()).fold(0.0, f64::max);
        let (queue, buffer) = (short(Mechanisms::new(false, false, true)), short(Mechanisms::new(true, true, false)));
        assert!(spread(&queue) < spread(&buffer), "{queue:?} {buffer:?}");
        assert!(buffer[0] > buffer[4], "one queue favours those who are to get little: {buffer:?}");
    }

    #[test]
    fn accounting_protects_those_who_tag_from_those_who_overload() {
        let run = |mechanisms| Case { seconds: 4, seeds: 1, ..beside(Sends::Regardless, mechanisms) }.run();
        let (alone, accounted) = (run(Mechanisms::new(false, false, true)), run(Mechanisms::new(true, false, true)));
        let untagged = |results: &Results| means(&results.of(is_tagging).untagged().categories());
        assert!(untagged(&alone).iter().zip(untagged(&accounted)).all(|(alone, accounted)| *alone < accounted));
        // A host leaves at most its minimum rate untagged, and the tolerance of two frames or so.
        assert!(untagged(&accounted).iter().all(|&part| part > 0.5 && part < 1.01), "{:?}", untagged(&accounted));
        // Those who tag nothing have all that they send untagged, and of twice their target they cannot get more than is left.
        let others = accounted.of(|source| !is_tagging(source));
        assert_eq!(means(&others.untagged().categories()), means(&others.categories()));
    }

    #[test]
    fn what_has_been_run_is_not_run_again() {
        let case = Case { seconds: 1, seeds: 1, ..with_short(Mechanisms::new(false, false, true)) };
        let other = Case { cells: 12_000, ..case.clone() };
        let steps = std::cell::Cell::new(0);
        let results = run_all(&[case.clone(), other, case], &|_| steps.set(steps.get() + 1));
        assert_eq!((results.len(), steps.get(), DONE.with_borrow(Vec::len)), (3, 3, 2));
        assert_eq!(means(&results[0].categories()), means(&results[2].categories()));
        assert!(results[0].completion().mean > 60.0, "a transfer takes at least two round trips of 30 ms");
    }

    #[test]
    fn options_have_names_of_their_own() {
        assert_eq!(Mechanisms::ALL.map(Mechanisms::name), ["---", "A--", "-T-", "AT-", "--Q", "A-Q", "-TQ", "ATQ"]);
    }
}
