//! Changes of policies while a run lasts: what a world is given, and what a report says of them.

use crate::simulation_report::volume;
use std::iter;
use tidegate_core::port::{PortSetup, Switched};
use tidegate_core::units::Duration;
use tidegate_report::{ChangeDone, ChangeResult};
use tidegate_scenario::units::print_duration;
use tidegate_scenario::{Policy, PolicyChange, Scenario};
use tidegate_sim::Outcome;

/// A change of one port.
pub struct Change<'s> {
    /// When it takes place.
    pub at: Duration,
    /// What changes.
    pub what: &'s [String],
    /// The policy from then on.
    pub policy: &'s Policy,
    /// The port from then on.
    pub setup: PortSetup,
}

/// The changes of one policy of a file, in the order of their instants.
pub fn of_policy<'s>(scenario: &'s Scenario, name: &str) -> Vec<Change<'s>> {
    let change = |change: &'s PolicyChange| {
        let policy = change.policies.iter().find(|policy| policy.name == name)?;
        Some(Change { at: change.at, what: &change.what, policy, setup: policy.setup() })
    };
    scenario.variants[0].changes.iter().filter_map(change).collect()
}

/// A policy, and what its changes make of it, one after the other.
pub fn policies<'s>(first: &'s Policy, changes: &'s [Change<'s>]) -> impl Iterator<Item = &'s Policy> + Clone {
    iter::once(first).chain(changes.iter().map(|change| change.policy))
}

/// One sentence per change of a port: when it took place, what it changed, and what became of the packets that were queued.
pub fn notes(changes: &[Change<'_>], done: impl IntoIterator<Item = Switched>) -> Vec<String> {
    let mut done = done.into_iter();
    changes.iter().map(|change| note(change.at, change.what, done.next())).collect()
}

/// The same for a simulation, over all replications.
pub fn simulated(changes: &[PolicyChange], outcome: &Outcome, variant: Option<&str>) -> Vec<String> {
    let prefix = variant.map_or_else(String::new, |name| format!("{name}: "));
    let note = |(index, change): (usize, &PolicyChange)| prefix.clone() + &note(change.at, &change.what, over_replications(outcome, index));
    changes.iter().enumerate().map(note).collect()
}

/// What the change of this index did in all replications; the classes are those of one. `None` if no replication lasted to it.
fn over_replications(outcome: &Outcome, index: usize) -> Option<Switched> {
    let mut runs = outcome.replications.iter().filter_map(|run| run.changes.get(index).copied());
    let first = runs.next()?;
    let mut all = first;
    runs.for_each(|run| all += run);
    Some(Switched { kept: all.kept, moved: all.moved, dropped: all.dropped, ..first })
}

/// The changes of a port for `summary.json`: what each did, and how long the port stood still for it.
pub fn results(
    changes: &[Change<'_>],
    port: &str,
    done: impl IntoIterator<Item = (Switched, Option<std::time::Duration>)>,
) -> Vec<ChangeResult> {
    let mut done = done.into_iter();
    let result = |change: &Change<'_>| {
        let done = done.next().map(|(switched, gap)| ChangeDone { gap_s: gap.map(|gap| gap.as_secs_f64()), ..what_was_done(switched) });
        ChangeResult { at_s: seconds(change.at), what: change.what.to_vec(), port: Some(port.to_owned()), done }
    };
    changes.iter().map(result).collect()
}

/// The same for a simulation, over all replications and ports.
pub fn simulated_results(changes: &[PolicyChange], outcome: &Outcome) -> Vec<ChangeResult> {
    let result = |(index, change): (usize, &PolicyChange)| {
        let done = over_replications(outcome, index).map(what_was_done);
        ChangeResult { at_s: seconds(change.at), what: change.what.clone(), port: None, done }
    };
    changes.iter().enumerate().map(result).collect()
}

fn seconds(at: Duration) -> f64 {
    at.picoseconds() as f64 / 1e12
}

/// What a change did, for `summary.json`.
pub fn what_was_done(switched: Switched) -> ChangeDone {
    let Switched { classes_kept, classes_added, classes_removed, kept, moved, dropped } = switched;
    let (kept, moved, dropped) = (volume(kept), volume(moved), volume(dropped));
    ChangeDone { classes_kept, classes_added, classes_removed, kept, moved, dropped, gap_s: None }
}

fn note(at: Duration, what: &[String], done: Option<Switched>) -> String {
    let head = format!("Change at {} ({})", print_duration(at), what.join(", "));
    let Some(done) = done else { return format!("{head}: it did not take place, because the run ended before.") };
    let Switched { classes_kept, classes_added, classes_removed, kept, moved, dropped } = done;
    format!(
        "{head}: {classes_kept} classes went on, {classes_added} came, {classes_removed} went; of the packets queued then {} stayed, {} moved, {} were dropped.",
        kept.packets, moved.packets, dropped.packets
    )
}
