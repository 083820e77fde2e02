//! Beyond the paper: today's TCP, other round-trip times, short flows.

use super::network::{CATEGORIES, Case, Hosts, Mechanisms, Results, Sends};
use super::report::{
    KEPT, add_bounds, categories_chart, category_heads, category_row, kept, notes, options, run_all, verdict, verdict_table, with_interval,
};
use crate::figure::{Axis, Figure, Table};
use crate::prose;

pub(super) fn today(progress: &dyn Fn(f64)) -> Figure {
    let mut figure = prose::figure(prose::GFR, "today");
    figure.notes.splice(0..0, notes());
    let results = options(Hosts::Cubic, progress);
    results.iter().for_each(|results| add_bounds(&mut figure, "", results));
    figure.tables.push(verdict_table("What each category got of its target", &results, false));
    let names = Mechanisms::ALL.map(Mechanisms::name);
    figure.charts.push(categories_chart(&names, &results, Axis::linear("target (Mbit/s)"), &CATEGORIES));
    figure.gates.push(kept("A-Q", &results[5]));
    figure.gates.push(kept("ATQ", &results[7]));
    figure
}

/// Round-trip times of the last figure, in milliseconds.
const ROUND_TRIPS: [f64; 5] = [1.0, 4.0, 14.0, 53.0, 200.0];

pub(super) fn round_trips(progress: &dyn Fn(f64)) -> Figure {
    let mut figure = prose::figure(prose::GFR, "round-trips");
    figure.notes.splice(0..0, notes());
    let options = [
        Mechanisms::new(true, true, false),
        Mechanisms::new(false, false, true),
        Mechanisms::new(true, false, true),
        Mechanisms::new(true, true, true),
    ];
    let runs: Vec<(Hosts, Mechanisms)> =
        [Hosts::Paper, Hosts::Cubic].into_iter().flat_map(|hosts| options.map(|option| (hosts, option))).collect();
    let case = |&(hosts, mechanisms): &(Hosts, Mechanisms)| Case {
        hosts,
        targets: ROUND_TRIPS.iter().flat_map(|_| [2.6, 8.0, 13.5]).collect(),
        round_trips: ROUND_TRIPS.iter().flat_map(|&milliseconds| [milliseconds; 3]).collect(),
        ..Case::unequal(mechanisms, 24_000)
    };
    let results = run_all(&runs.iter().map(case).collect::<Vec<_>>(), progress);
    results.iter().for_each(|results| add_bounds(&mut figure, "", results));
    let name = |&(hosts, mechanisms): &(Hosts, Mechanisms)| {
        format!("{}, {}", mechanisms.name(), if hosts == Hosts::Paper { "SACK of 1998" } else { "CUBIC" })
    };
    let names: Vec<String> = runs.iter().map(name).collect();
    let heads = ROUND_TRIPS.iter().map(|milliseconds| format!("{milliseconds} ms"));
    let head = ["option".to_owned()].into_iter().chain(heads).chain(["total Mbit/s".to_owned()]).collect();
    let rows = names.iter().zip(&results).map(|(name, results)| category_row(name, results)).collect();
    figure.tables.push(Table { title: "What the sources of each round-trip time got of their targets".into(), head, rows });
    figure.charts.push(categories_chart(&names, &results, Axis::logarithmic("round-trip time (ms)"), &ROUND_TRIPS));
    figure
}

/// The number of sources of short transfers, and the target of each, in Mbit/s.
const SHORT: (usize, f64) = (10, 0.25);

/// The fifteen sources of Table 1, then those of short transfers.
pub(super) fn with_short(mechanisms: Mechanisms) -> Case {
    let mut case = Case::unequal(mechanisms, 24_000);
    let (sources, target) = SHORT;
    case.targets.resize(case.targets.len() + sources, target);
    case.sends.resize(case.targets.len(), Sends::Short);
    case.round_trips.resize(case.targets.len(), 30.0);
    case
}

pub(super) fn short_flows(progress: &dyn Fn(f64)) -> Figure {
    let mut figure = prose::figure(prose::GFR, "short-flows");
    figure.paper_says(&[&format!(
        "All sources of the paper are endless. Here {} more send pages of the web beside them: Pareto with a mean of 30 kB and an exponent of 1.3, a new \
         connection for each, 100 ms from one to the next, {} Mbit/s guaranteed to each source, within what the paper's targets leave of the link.",
        SHORT.0, SHORT.1
    )]);
    figure.notes = notes();
    figure
        .note(&[&format!("A guarantee counts as kept if every category of endless sources gets {} to {} of its target.", KEPT.0, KEPT.1)]);
    let results = run_all(&Mechanisms::ALL.map(with_short), progress);
    results.iter().for_each(|results| add_bounds(&mut figure, "", results));
    let is_endless = |source: usize| source < 3 * CATEGORIES.len();
    let endless: Vec<Results> = results.iter().map(|results| results.of(is_endless)).collect();
    let mut head = category_heads("option");
    head.extend(["short, Mbit/s", "transfer, ms", "GFR"].map(String::from));
    let row = |((mechanisms, all), endless): ((Mechanisms, &Results), &Results)| {
        let mut row = category_row(&mechanisms.name(), endless);
        row[CATEGORIES.len() + 1] = with_interval(all.total(), 1);
        row.push(with_interval(all.of(|source| !is_endless(source)).total(), 2));
        row.push(with_interval(all.completion(), 0));
        row.push(verdict(kept("", endless).passed()).into());
        row
    };
    let rows = Mechanisms::ALL.into_iter().zip(&results).zip(&endless).map(row).collect();
    let title = "What each category of endless sources got of its target, and the short flows".into();
    figure.tables.push(Table { title, head, rows });
    let names = Mechanisms::ALL.map(Mechanisms::name);
    figure.charts.push(categories_chart(&names, &endless, Axis::linear("target (Mbit/s)"), &CATEGORIES));
    for option in [4, 5, 7] {
        figure.gates.push(kept(&names[option], &endless[option]));
    }
    figure.note(&[
        "What suffices beside endless flows suffices beside short ones: scheduling, and accounting evens it out. The same options fail as in Table 1, tagging \
         with scheduling at both edges of the band. With one queue short flows are quick and take about twice what is meant for them; with scheduling a transfer \
         proceeds at about its source's own minimum rate and takes 1.7 to 2.7 times as long.",
    ]);
    figure
}
