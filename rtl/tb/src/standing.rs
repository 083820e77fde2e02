//! What a design shows of a stream, against the model.

use crate::layout::Status;
use std::ops::Range;
use tidegate_core::dwcs::Standing;

/// Which fields count, and what the model does not know of them.
pub struct Shown {
    pub has_packet: bool,
    /// When it arrived, if the design shows that.
    pub arrival: Option<u64>,
    /// The deadline, if it counts.
    pub deadline: Option<u64>,
    /// The counters that the design shows, as numbered in [`Status::counters`].
    pub counters: Range<usize>,
}

/// The first field that differs, if any does: its name, what the design shows, what the model has.
pub fn difference(seen: &Status, standing: &Standing, shown: &Shown) -> Option<(&'static str, u64, u64)> {
    const COUNTERS: [&str; 5] = ["met", "late", "missed", "violations", "dropped"];
    let (tolerance, tally) = (standing.tolerance, standing.tally);
    let tallies = [tally.met, tally.late, tally.missed, tally.violations, tally.dropped];
    let mut fields = vec![
        ("has a packet", u64::from(seen.valid), u64::from(shown.has_packet)),
        ("violation", seen.violation.into(), tolerance.in_violation.into()),
        ("x'", seen.numerator.into(), tolerance.numerator.into()),
        ("y'", seen.denominator.into(), tolerance.denominator),
    ];
    fields.extend(shown.deadline.map(|deadline| ("deadline", seen.deadline.into(), deadline & 0xffff)));
    fields.extend(shown.arrival.map(|arrival| ("arrival", seen.arrival.into(), arrival & 0xffff)));
    fields.extend(shown.counters.clone().map(|at| (COUNTERS[at], seen.counters[at].into(), tallies[at] & 0xffff)));
    fields.into_iter().find(|(_, found, wanted)| found != wanted)
}
