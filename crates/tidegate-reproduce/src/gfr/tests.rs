//! Short forms of the gates, which whole take minutes.

use super::beyond::with_short;
use super::decisions;
use super::network::{Case, Mechanisms, Results, Sends};
use super::report::{DONE, add_bounds, means, run_all, tagged_share};
use super::untagged::{beside, is_tagging};

/// Four seconds suffice to tell the options apart, though not for the paper's figures.
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
    assert!(buffer[0] > buffer[4], "one queue favours sources with low targets: {buffer:?}");
}

#[test]
fn accounting_protects_sources_that_tag_from_those_that_overload() {
    let run = |mechanisms| Case { seconds: 4, seeds: 1, ..beside(Sends::Regardless, mechanisms) }.run();
    let (alone, accounted) = (run(Mechanisms::new(false, false, true)), run(Mechanisms::new(true, false, true)));
    let untagged = |results: &Results| means(&results.of(is_tagging).untagged().categories());
    assert!(untagged(&alone).iter().zip(untagged(&accounted)).all(|(alone, accounted)| *alone < accounted));
    // A host leaves at most its minimum rate untagged, and a tolerance of about two frames.
    assert!(untagged(&accounted).iter().all(|&part| part > 0.5 && part < 1.01), "{:?}", untagged(&accounted));
    // Sources that tag nothing send untagged frames only.
    let others = accounted.of(|source| !is_tagging(source));
    assert_eq!(means(&others.untagged().categories()), means(&others.categories()));
}

/// One queue for all, and a queue for each: the buffer bounds what overloads.
#[test]
fn no_frame_of_a_source_that_overloads_is_later_than_a_full_buffer_allows() {
    for (mechanisms, least) in [(Mechanisms::new(false, false, false), 0.9), (Mechanisms::new(false, false, true), 0.2)] {
        let results = Case { seconds: 4, seeds: 1, ..beside(Sends::Regardless, mechanisms) }.run();
        let mut figure = crate::figure::Figure::new("test", "", "");
        add_bounds(&mut figure, "", &results);
        let (constant, tcp): (Vec<_>, Vec<_>) = figure.bounds.iter().partition(|row| row.flow.starts_with("constant"));
        assert_eq!((constant.len(), tcp.len()), (5, 1));
        assert_eq!(tcp[0].bound.reason.as_deref(), Some("source `tcp` is not limited"));
        let largest = constant.iter().map(|row| row.bound.ratio.unwrap()).fold(0.0, f64::max);
        assert!((least..=1.0).contains(&largest), "{constant:?}");
    }
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
