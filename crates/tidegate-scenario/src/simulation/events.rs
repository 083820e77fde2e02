//! How many events the sources of a simulation make.

use super::group::FlowGroup;
use crate::diagnostic::Diagnostic;
use crate::document::File;
use tidegate_sim::{Experiment, Network};

/// The most events of a source in all replications, which take hours.
pub(crate) const MOST_EVENTS: f64 = 1e11;

/// Reports sources with more than [`MOST_EVENTS`].
pub(super) fn judge(file: &File, groups: &[FlowGroup], network: &Network, experiment: &Experiment, findings: &mut Vec<Diagnostic>) {
    for (group, table) in groups.iter().zip(&file.flow) {
        let Some(flow) = network.flows.get(group.first) else { continue };
        let end = flow.stop.unwrap_or(experiment.duration).min(experiment.duration);
        let seconds = end.saturating_sub(flow.start).picoseconds() as f64 / 1e12;
        let flows = group.count as f64 * f64::from(experiment.replications);
        let events = flow.source.events_per_second() * seconds * flows;
        if events > MOST_EVENTS {
            let problem =
                format!("flow `{}` would make about {events:.0e} events, and at most {MOST_EVENTS:.0e} can be simulated", group.name);
            let finding = table.source.error(problem);
            findings.push(finding.help("write longer times between its packets or periods, or simulate a shorter time"));
        }
    }
}
