//! Which AQM a class of a report has, and whether it ever saw a queue.

use std::collections::HashMap;
use tidegate_core::units::Duration;
use tidegate_report::{AqmResult, ClassResult, PortResult};
use tidegate_scenario::{Policy, QueueManagement};

/// A wait that every AQM accepts, unless its target is shorter.
const ACCEPTED_WAIT: Duration = Duration::from_milliseconds(5);

/// Names the AQMs of the classes of a port that had these policies, one after the other.
pub fn add_aqms<'p>(port: &mut PortResult, policies: impl Iterator<Item = &'p Policy>) {
    let mut managed: HashMap<&str, &QueueManagement> = HashMap::new();
    for class in policies.flat_map(|policy| policy.classes.iter()) {
        if let Some(aqm) = &class.aqm {
            managed.entry(&class.name).or_insert(aqm);
        }
    }
    for class in &mut port.classes {
        let aqm = managed.get(&*class.name).copied();
        class.aqm = aqm.map(|aqm| AqmResult { kind: aqm.kind.name().into(), saw_no_queue: saw_no_queue(class, aqm) });
    }
}

/// True if packets were sent, none was marked or dropped, and none waited as long as the AQM accepts.
fn saw_no_queue(class: &ClassResult, aqm: &QueueManagement) -> bool {
    let accepted = aqm.parameters.target.map_or(ACCEPTED_WAIT, |target| target.min(ACCEPTED_WAIT));
    let is_short = class.sojourn.is_some_and(|sojourn| sojourn.max_s * 1e12 < accepted.picoseconds() as f64);
    is_short && class.ce_marked.is_empty() && class.drops.iter().all(|drop| drop.volume.is_empty())
}
