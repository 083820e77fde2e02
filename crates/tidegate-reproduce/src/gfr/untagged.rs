//! The notes of Table 1: guarantees for untagged frames.

use super::network::{CATEGORIES, Case, Mechanisms, Results, Sends};
use super::report::{KEPT, add_bounds, categories_chart, category_heads, kept, means, notes, run_all, verdict, with_interval};
use crate::figure::{Axis, Figure, Gate, Table};
use crate::prose;
use tidegate_sim::Estimate;

/// Two of the three sources of a category tag frames beyond their minimum rate.
pub(super) fn is_tagging(source: usize) -> bool {
    source % 3 != 2
}

/// The third source of each category sends as `others` says, untagged.
pub(super) fn beside(others: Sends, mechanisms: Mechanisms) -> Case {
    let case = Case::unequal(mechanisms, 24_000);
    let sends = (0..case.targets.len()).map(|source| if is_tagging(source) { Sends::Tagged } else { others });
    Case { sends: sends.collect(), ..case }
}

/// The paper's verdicts on guarantees for untagged frames; `None` for the option under study.
const UNTAGGED_VERDICTS: [Option<bool>; 8] =
    [Some(false), Some(false), Some(false), Some(false), Some(false), Some(true), None, Some(true)];

/// In every category, enough of the frames that tagging sources left untagged was delivered.
fn kept_untagged(name: &str, tagging: &Results) -> Gate {
    Gate::all_at_least(format!("{name}: every category"), "of its target untagged", means(&tagging.untagged().categories()), KEPT.0)
}

pub(super) fn clp0(progress: &dyn Fn(f64)) -> Figure {
    let mut figure = prose::figure(prose::GFR, "clp0");
    figure.notes = notes();
    figure.note(&[&format!(
        "Two of the three sources of each category tag: endless TCP whose host marks what is beyond its minimum rate, with the tolerance of the network's \
         policer. The third tags nothing. In the first table it sends twice its target whatever is lost, in the second it is endless TCP. Of the sources \
         that tag it counts what arrived of frames that they had left untagged, in 1024 bytes of data per frame. They never leave more than their minimum \
         rate untagged, so a guarantee counts as kept from {} of the target on, without an upper limit. K is 24,000 cells.",
        KEPT.0
    )]);
    figure.note(&[
        "The paper's column is read off Table 1 and section 5.2: no guarantee at all is none for untagged frames, and scheduling with accounting, which has \
         no note there, is what section 6 asks for.",
    ]);
    figure.note(&[
        "The gates are on the first table, the case of section 3.2. What section 6 calls a guarantee for both kinds together but not for untagged frames \
         does not come out as such: scheduling alone keeps both beside TCP, and neither beside sources that do not back off.",
    ]);
    figure.note(&[
        "Tagging with scheduling, which the paper expects to suffice, delivers nearly all untagged frames, and yet not the rate: TCP backs off for a tagged \
         frame that is lost as for any other, and then does not send as many untagged ones as it may. As a promise about frames that were sent it holds, \
         as one of throughput to TCP it does not.",
    ]);
    let scheduled: Vec<Mechanisms> = Mechanisms::ALL.into_iter().filter(|mechanisms| mechanisms.queueing).collect();
    let cases = Mechanisms::ALL.iter().map(|&mechanisms| beside(Sends::Regardless, mechanisms));
    let cases: Vec<Case> = cases.chain(scheduled.iter().map(|&mechanisms| beside(Sends::Endless, mechanisms))).collect();
    let results = run_all(&cases, progress);
    for (number, results) in results.iter().enumerate() {
        let beside = if number < Mechanisms::ALL.len() { "sources that overload" } else { "TCP" };
        let option = results.case.mechanisms.map(Mechanisms::name).unwrap_or_default();
        add_bounds(&mut figure, &format!("{option} beside {beside}"), results);
    }
    let results: Vec<(Results, Estimate)> = results.into_iter().map(|results| (results.of(is_tagging), results.total())).collect();
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
    let untagged: Vec<Results> = overloaded.iter().map(|(tagging, _)| tagging.untagged()).collect();
    let names = Mechanisms::ALL.map(Mechanisms::name);
    figure.charts.push(categories_chart(&names, &untagged, Axis::linear("target (Mbit/s)"), &CATEGORIES));
    figure
}
