//! Goyal, Jain, Fahmy, Vandalore and Kalyanaraman: minimum rates for TCP over ATM's unspecified bit rate service (GFR).
//!
//! TCP connections of `tidegate-sim` send over AAL5 to one port at which their cells contend. The port is the core's, with the core's policers, buffer
//! managers and schedulers: the eight options of the paper's Table 1 are eight settings of one policy. Everything is run for 20 s with eight seeds, and
//! stands with its 95 % confidence interval.
//!
//! | module | holds |
//! |---|---|
//! | `network` | the network of Figure 2, and what the sources got in it |

use crate::figure::{Axis, Chart, Curve, Figure, Gate, Panel, Table};
use crate::{Experiment, Plan};
use network::{Case, Hosts, Mechanisms, Results, SEEDS, Sends, TCP_SHARE};
use std::cell::RefCell;
use tidegate_sim::Estimate;

mod network;

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    id: "gfr",
    title: "minimum rates for TCP over ATM: policing, buffer management, scheduling",
    source: "R. Goyal, R. Jain, S. Fahmy, B. Vandalore, S. Kalyanaraman, Design Issues for providing Minimum Rate Guarantees to the ATM Unspecified \
             Bit Rate Service, 1998",
    figures: &[
        Plan { id: "figure-3", effort: 32, run: figure_3 },
        Plan { id: "figure-4", effort: 16, run: figure_4 },
        Plan { id: "figure-5", effort: 16, run: figure_5 },
        Plan { id: "table-1", effort: 64, run: table_1 },
        Plan { id: "clp0", effort: 96, run: clp0 },
        Plan { id: "today", effort: 64, run: today },
        Plan { id: "round-trips", effort: 64, run: round_trips },
        Plan { id: "short-flows", effort: 64, run: short_flows },
    ],
};

/// What the five categories of sources are to get, in Mbit/s of TCP data.
const CATEGORIES: [f64; 5] = [2.6, 5.3, 8.0, 10.7, 13.5];

/// What the paper gives a source of 15, and of 50, at most, in Mbit/s.
const EXPECTED: [(usize, f64); 2] = [(15, 8.2), (50, 2.5)];

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

fn figure_3(progress: &dyn Fn(f64)) -> Figure {
    let mut figure = Figure::new("figure-3", "Equal shares by per-VC accounting: selective drop", "Figure 3, section 5.1");
    figure.paper = vec![
        "15 sources get about 8.2 Mbit/s each and 50 about 2.5, with either buffer: nearly all of the link.".into(),
        "All throughputs are within 20 % of the mean, and with 50 sources closer together.".into(),
    ];
    figure.notes = notes();
    figure.notes.push(
        "Throughputs include slow start; single sources exceed the 20 % in a run of 20 s, their standard deviation is what is held.".into(),
    );
    let runs: Vec<(usize, f64, u32)> = EXPECTED.iter().flat_map(|&(sources, rate)| BUFFERS.map(|cells| (sources, rate, cells))).collect();
    let cases: Vec<Case> = runs.iter().map(|&(sources, _, cells)| Case::equal(sources, cells)).collect();
    let results = run_all(&cases, progress);
    let mut rows = Vec::new();
    let mut curves = ["mean", "mean and deviation", "mean less deviation"].map(Curve::new);
    for (number, (&(sources, rate, cells), results)) in runs.iter().zip(&results).enumerate() {
        let (mean, deviation) = (results.mean(rate), results.deviation(rate));
        let most = if sources == 15 { 0.25 } else { 0.15 };
        let name = format!("{sources} sources, {cells} cells");
        figure.gates.push(Gate::within(format!("{name}: mean of what each got, of {rate} Mbit/s"), "", vec![mean.mean], &[1.0], 0.03));
        figure.gates.push(Gate::at_most(format!("{name}: standard deviation of that"), "", deviation.mean, most));
        for (curve, sign) in curves.iter_mut().zip([0.0, 1.0, -1.0]) {
            curve.push(number as f64 + 1.0, mean.mean + sign * deviation.mean);
        }
        let cells =
            [with_interval(results.total(), 1), with_interval(mean, 3), with_interval(deviation, 3), with_interval(results.fairness(), 4)];
        rows.push([vec![name], cells.to_vec()].concat());
    }
    figure.tables.push(table("What the sources got", &["run", "total Mbit/s", "mean", "deviation", "Jain's index"], rows));
    let y = Axis::linear("throughput / 8.2 or 2.5 Mbit/s");
    figure.charts.push(chart(
        "efficiency",
        "Mean and deviation of the four runs of the table, in its order",
        Axis::linear("run"),
        y,
        curves.into(),
    ));
    figure
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

/// Both buffers under one option.
fn unequal(id: &'static str, title: &str, source: &'static str, mechanisms: Mechanisms, progress: &dyn Fn(f64)) -> (Figure, Vec<Results>) {
    let mut figure = Figure::new(id, title, source);
    figure.notes = notes();
    let results = run_all(&BUFFERS.map(|cells| Case::unequal(mechanisms, cells)), progress);
    let names = BUFFERS.map(|cells| format!("{cells} cells"));
    let rows = names.iter().zip(&results).map(|(name, results)| category_row(name, results)).collect();
    let title = "What each category got of its target".into();
    figure.tables.push(Table { title, head: category_heads("buffer"), rows });
    let categories: Vec<_> = results.iter().map(Results::categories).collect();
    figure.charts.push(categories_chart(&names, &categories, Axis::linear("target (Mbit/s)"), &CATEGORIES));
    (figure, results)
}

fn figure_4(progress: &dyn Fn(f64)) -> Figure {
    let title = "Unequal shares by per-VC accounting and tagging: weighted buffer allocation";
    let (mut figure, results) = unequal("figure-4", title, "Figure 4, section 5.2", Mechanisms::new(true, true, false), progress);
    figure.paper = vec![
        "The sources of the lowest category get more than 2.5 times their target, those of the highest 0.8 of it.".into(),
        "Accounting and tagging with one queue cannot isolate TCP streams when the whole link is allocated.".into(),
    ];
    for (cells, results) in BUFFERS.iter().zip(&results) {
        let categories = means(&results.categories());
        figure.gates.push(Gate::at_least(format!("{cells} cells: lowest category"), "of its target", categories[0], 2.3));
        figure.gates.push(Gate::at_most(format!("{cells} cells: highest category"), "of its target", categories[4], 0.85));
        let falls = categories.windows(2).map(|pair| pair[0] - pair[1]).collect();
        figure.gates.push(Gate::all_at_least(
            format!("{cells} cells: each category less than the one before, by"),
            "of its target",
            falls,
            0.0,
        ));
    }
    figure
}

fn figure_5(progress: &dyn Fn(f64)) -> Figure {
    let title = "Unequal shares by per-VC scheduling alone: self-clocked fair queueing";
    let (mut figure, results) = unequal("figure-5", title, "Figure 5, section 5.2", Mechanisms::new(false, false, true), progress);
    figure.paper = vec![
        "Every category gets its target within 10 %.".into(),
        "All sources together get more than 90 % of the link.".into(),
        "The paper does not name the scheduler, nor the buffer of this figure.".into(),
    ];
    figure
        .notes
        .push("With 12,000 cells the lowest category takes more and the highest stays below its target; the gate is on 24,000.".into());
    let large = &results[1];
    figure.gates.push(kept("24000 cells", large));
    for (cells, results) in BUFFERS.iter().zip(&results) {
        figure.gates.push(Gate::at_least(format!("{cells} cells: total"), "of what TCP can get", results.total().mean / TCP_SHARE, 0.9));
    }
    figure
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

fn table_1(progress: &dyn Fn(f64)) -> Figure {
    let mut figure = Figure::new("table-1", "Eight options: accounting (A), tagging (T), queueing (Q)", "Table 1, section 6");
    figure.paper = vec![
        "Without per-VC queueing no option guarantees minimum rates to TCP on a link that is fully allocated.".into(),
        "With it all do; tagging and queueing without accounting is under study.".into(),
    ];
    figure.notes = notes();
    figure.notes.push(
        "The option that the paper leaves under study, tagging and queueing, gives every category nine tenths of its target and more, but not evenly: the lowest \
         takes more than 1.15 times its own. It is a no by the band, and a yes to a customer who asks for his minimum less a tenth."
            .into(),
    );
    figure.notes.push(format!("A guarantee counts as kept if every category gets {} to {} of its target.", KEPT.0, KEPT.1));
    figure.notes.push(
        "Accounting is weighted buffer allocation with R = K/2; tagging alone goes with thresholds for tagged and untagged frames (5 and 9 tenths), nothing with \
         early packet discard (9 tenths). K is 24,000 cells."
            .into(),
    );
    let results = options(Hosts::Paper, progress);
    for ((mechanisms, results), published) in Mechanisms::ALL.into_iter().zip(&results).zip(VERDICTS) {
        if let Some(published) = published {
            let found = f64::from(u8::from(kept("", results).passed()));
            let expected = f64::from(u8::from(published));
            figure.gates.push(Gate::exactly(
                format!("{}: guarantees are kept (1) or not (0)", mechanisms.name()),
                "",
                vec![found],
                &[expected],
            ));
        }
    }
    figure.tables.push(verdict_table("What each category got of its target", &results, true));
    let names = Mechanisms::ALL.map(Mechanisms::name);
    let categories: Vec<_> = results.iter().map(Results::categories).collect();
    figure.charts.push(categories_chart(&names, &categories, Axis::linear("target (Mbit/s)"), &CATEGORIES));
    figure
}

/// Two of the three sources of a category tag what is beyond their minimum rate.
fn is_tagging(source: usize) -> bool {
    source % 3 != 2
}

/// The third of each category sends something else, and nothing of it tagged.
fn beside(others: Sends, mechanisms: Mechanisms) -> Case {
    let case = Case::unequal(mechanisms, 24_000);
    let sends = (0..case.targets.len()).map(|source| if is_tagging(source) { Sends::Tagged } else { others });
    Case { sends: sends.collect(), ..case }
}

/// What the paper says of guarantees for untagged frames; `None` for the option under study.
const UNTAGGED_VERDICTS: [Option<bool>; 8] =
    [Some(false), Some(false), Some(false), Some(false), Some(false), Some(true), None, Some(true)];

/// Of what the sources that tag left untagged, enough was delivered in every category.
fn kept_untagged(name: &str, tagging: &Results) -> Gate {
    Gate::all_at_least(format!("{name}: every category"), "of its target untagged", means(&tagging.untagged().categories()), KEPT.0)
}

fn clp0(progress: &dyn Fn(f64)) -> Figure {
    let mut figure =
        Figure::new("clp0", "Guarantees for untagged frames (CLP0), with senders that tag", "Table 1, notes, sections 3.2 and 5.2");
    figure.paper = vec![
        "Scheduling alone guarantees rates for tagged and untagged frames together only; with accounting and tagging also for those that are untagged."
            .into(),
        "Sources that leave their excess untagged, and that the network does not tag either, take buffer from those that tag theirs; per-VC accounting \
         has to protect these, however frames are scheduled."
            .into(),
        "Network tagging with scheduling should be sufficient without accounting, and is under study. No figures are given, and no sources that tag were \
         simulated."
            .into(),
    ];
    figure.notes = notes();
    figure.notes.push(format!(
        "Two of the three sources of each category tag: endless TCP whose host marks what is beyond its minimum rate, with the tolerance of the network's \
         policer. The third tags nothing. In the first table it sends twice its target whatever is lost, in the second it is endless TCP. Of the sources \
         that tag it counts what arrived of frames that they had left untagged, in 1024 bytes of data per frame. They never leave more than their minimum \
         rate untagged, so a guarantee counts as kept from {} of the target on, without an upper limit. K is 24,000 cells.",
        KEPT.0
    ));
    figure.notes.push(
        "The paper's column is read off Table 1 and section 5.2: no guarantee at all is none for untagged frames, and scheduling with accounting, which has \
         no note there, is what section 6 asks for."
            .into(),
    );
    figure.notes.push(
        "The gates are on the first table, the case of section 3.2. What section 6 calls a guarantee for both kinds together but not for untagged frames \
         does not come out as such: scheduling alone keeps both beside TCP, and neither beside sources that do not back off."
            .into(),
    );
    figure.notes.push(
        "Tagging with scheduling, which the paper expects to suffice, delivers nearly all untagged frames, and yet not the rate: TCP backs off for a tagged \
         frame that is lost as for any other, and then does not send as many untagged ones as it may. As a promise about frames that were sent it holds, \
         as one of throughput to TCP it does not."
            .into(),
    );
    let scheduled: Vec<Mechanisms> = Mechanisms::ALL.into_iter().filter(|mechanisms| mechanisms.queueing).collect();
    let cases = Mechanisms::ALL.iter().map(|&mechanisms| beside(Sends::Regardless, mechanisms));
    let cases: Vec<Case> = cases.chain(scheduled.iter().map(|&mechanisms| beside(Sends::Endless, mechanisms))).collect();
    let results: Vec<(Results, Estimate)> =
        run_all(&cases, progress).into_iter().map(|results| (results.of(is_tagging), results.total())).collect();
    let (overloaded, tcp) = results.split_at(Mechanisms::ALL.len());
    for ((mechanisms, (tagging, _)), published) in Mechanisms::ALL.into_iter().zip(overloaded).zip(UNTAGGED_VERDICTS) {
        if let Some(published) = published {
            let found = f64::from(u8::from(kept_untagged("", tagging).passed()));
            let name = format!("{}: guarantees for untagged frames are kept (1) or not (0)", mechanisms.name());
            figure.gates.push(Gate::exactly(name, "", vec![found], &[f64::from(u8::from(published))]));
        }
    }
    let row = |mechanisms: Mechanisms, (tagging, total): &(Results, Estimate)| {
        let mut row = vec![mechanisms.name()];
        row.extend(tagging.untagged().categories().into_iter().map(|estimate| with_interval(estimate, 2)));
        row.push(with_interval(tagging.untagged_percent(), 2));
        row.push(with_interval(*total, 1));
        row.push(verdict(kept("", tagging).passed()).into());
        row.push(verdict(kept_untagged("", tagging).passed()).into());
        row
    };
    let mut head = category_heads("option");
    head.insert(head.len() - 1, "untagged delivered, %".into());
    head.extend(["GFR 0+1", "GFR CLP0"].map(String::from));
    let rows = scheduled.iter().zip(tcp).map(|(&mechanisms, results)| row(mechanisms, results)).collect();
    let beside_tcp = Table { title: "The same beside sources of endless TCP that do not tag".into(), head: head.clone(), rows };
    head.push("paper, CLP0".into());
    let rows = Mechanisms::ALL.into_iter().zip(overloaded).zip(UNTAGGED_VERDICTS).map(|((mechanisms, results), published)| {
        let mut row = row(mechanisms, results);
        row.push(published.map_or("under study", verdict).into());
        row
    });
    let title = "What each category of sources that tag got of its target in untagged frames, beside sources that overload".into();
    figure.tables.push(Table { title, head, rows: rows.collect() });
    figure.tables.push(beside_tcp);
    let categories: Vec<_> = overloaded.iter().map(|(tagging, _)| tagging.untagged().categories()).collect();
    let names = Mechanisms::ALL.map(Mechanisms::name);
    figure.charts.push(categories_chart(&names, &categories, Axis::linear("target (Mbit/s)"), &CATEGORIES));
    figure
}

fn today(progress: &dyn Fn(f64)) -> Figure {
    let mut figure = Figure::new("today", "The eight options with today's TCP", "not in the paper");
    figure.paper = vec!["The paper studies SACK TCP of 1998. What is below is ours: CUBIC with the timer of RFC 6298, ten segments to begin with and delayed acknowledgements.".into()];
    figure.notes = notes();
    let results = options(Hosts::Cubic, progress);
    figure.notes.push(
        "What suffices for CUBIC is what sufficed for the paper's TCP: scheduling, and accounting evens it out. Tagging with scheduling misses the band by a \
         little at its upper edge, as there: every category gets nine tenths of its target and the lowest more than its part of the rest."
            .into(),
    );
    figure.tables.push(verdict_table("What each category got of its target", &results, false));
    let names = Mechanisms::ALL.map(Mechanisms::name);
    let categories: Vec<_> = results.iter().map(Results::categories).collect();
    figure.charts.push(categories_chart(&names, &categories, Axis::linear("target (Mbit/s)"), &CATEGORIES));
    figure.gates.push(kept("A-Q", &results[5]));
    figure.gates.push(kept("ATQ", &results[7]));
    figure
}

/// Round-trip times of the last figure, in milliseconds.
const ROUND_TRIPS: [f64; 5] = [1.0, 4.0, 14.0, 53.0, 200.0];

fn round_trips(progress: &dyn Fn(f64)) -> Figure {
    let mut figure = Figure::new("round-trips", "Round-trip times from 1 to 200 ms", "not in the paper");
    figure.paper = vec!["All sources of the paper have a round-trip time of 30 ms. Here every three have their own, with targets of 2.6, 8 and 13.5 Mbit/s.".into()];
    figure.notes = notes();
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
    let name = |&(hosts, mechanisms): &(Hosts, Mechanisms)| {
        format!("{}, {}", mechanisms.name(), if hosts == Hosts::Paper { "SACK of 1998" } else { "CUBIC" })
    };
    figure.notes.push(
        "The rates of the link are guaranteed at every round-trip time, but TCP has to ask for them, and at 200 ms its window grows \
         back slowly after a loss. Scheduling alone leaves long round trips less than half of their targets, because the buffer is \
         full of the others' cells; with accounting CUBIC gets nearly nine tenths."
            .into(),
    );
    let names: Vec<String> = runs.iter().map(name).collect();
    let heads = ROUND_TRIPS.iter().map(|milliseconds| format!("{milliseconds} ms"));
    let head = ["option".to_owned()].into_iter().chain(heads).chain(["total Mbit/s".to_owned()]).collect();
    let rows = names.iter().zip(&results).map(|(name, results)| category_row(name, results)).collect();
    figure.tables.push(Table { title: "What the sources of each round-trip time got of their targets".into(), head, rows });
    let categories: Vec<_> = results.iter().map(Results::categories).collect();
    figure.charts.push(categories_chart(&names, &categories, Axis::logarithmic("round-trip time (ms)"), &ROUND_TRIPS));
    figure
}

/// How many sources of short transfers there are, and what each of them is to get, in Mbit/s.
const SHORT: (usize, f64) = (10, 0.25);

/// The fifteen sources of Table 1, and those of short transfers behind them.
fn with_short(mechanisms: Mechanisms) -> Case {
    let mut case = Case::unequal(mechanisms, 24_000);
    let (sources, target) = SHORT;
    case.targets.resize(case.targets.len() + sources, target);
    case.sends.resize(case.targets.len(), Sends::Short);
    case.round_trips.resize(case.targets.len(), 30.0);
    case
}

fn short_flows(progress: &dyn Fn(f64)) -> Figure {
    let mut figure = Figure::new("short-flows", "The eight options with short flows beside endless ones", "not in the paper");
    figure.paper = vec![format!(
        "All sources of the paper are endless. Here {} more send pages of the web beside them: Pareto with a mean of 30 kB and an exponent of 1.3, a new \
         connection for each, 100 ms from one to the next, {} Mbit/s guaranteed to each source, within what the paper's targets leave of the link.",
        SHORT.0, SHORT.1
    )];
    figure.notes = notes();
    figure
        .notes
        .push(format!("A guarantee counts as kept if every category of endless sources gets {} to {} of its target.", KEPT.0, KEPT.1));
    let results = run_all(&Mechanisms::ALL.map(with_short), progress);
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
    let categories: Vec<_> = endless.iter().map(Results::categories).collect();
    figure.charts.push(categories_chart(&names, &categories, Axis::linear("target (Mbit/s)"), &CATEGORIES));
    for option in [4, 5, 7] {
        figure.gates.push(kept(&names[option], &endless[option]));
    }
    figure.notes.push(
        "What suffices beside endless flows suffices beside short ones: scheduling, and accounting evens it out. The same options fail as in Table 1, tagging \
         with scheduling at both edges of the band. With one queue short flows are quick and take about twice what is meant for them; with scheduling a transfer \
         proceeds at about its source's own minimum rate and takes 1.7 to 2.7 times as long."
            .into(),
    );
    figure
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three seconds suffice to tell the options apart, if not for the paper's figures.
    fn short(mechanisms: Mechanisms) -> Vec<f64> {
        means(&Case { seconds: 4, seeds: 1, ..Case::unequal(mechanisms, 12_000) }.run().categories())
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
