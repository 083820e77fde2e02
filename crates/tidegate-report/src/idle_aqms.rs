//! What a report says of AQMs that never saw a queue.

use crate::model::{ClassResult, PortResult};
use crate::quantity;

/// Classes named in one sentence.
const NAMED: usize = 3;

/// A sentence for each port at which AQMs never saw a queue.
pub(crate) fn idle_aqms(ports: &[PortResult]) -> Vec<String> {
    ports.iter().filter_map(idle_at).collect()
}

fn idle_at(port: &PortResult) -> Option<String> {
    let is_idle = |class: &&ClassResult| class.aqm.as_ref().is_some_and(|aqm| aqm.saw_no_queue);
    let idle: Vec<&ClassResult> = port.classes.iter().filter(is_idle).collect();
    let longest = idle.iter().filter_map(|class| class.sojourn).map(|sojourn| sojourn.max_s).fold(0.0, f64::max);
    let named: Vec<String> = idle.iter().take(NAMED).map(|class| format!("`{}`", class.name)).collect();
    let (named, their) = match idle.len() {
        0 => return None,
        1 => (format!("The AQM of class {}", named[0]), "its"),
        count if count <= NAMED => (format!("The AQMs of classes {} and {}", named[..count - 1].join(", "), named[count - 1]), "their"),
        count => (format!("The AQMs of classes {} and {} others", named.join(", "), quantity::count((count - NAMED) as u64)), "their"),
    };
    Some(format!(
        "{named} at port `{}` never saw a queue: {their} packets waited at most {}, and none was marked or dropped. The bottleneck is elsewhere.",
        port.name,
        quantity::time(longest)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue_management::{AqmResult, SojournSummary};
    use crate::sample::sample_report;

    fn port(classes: &[(&str, Option<bool>)]) -> PortResult {
        let class = |&(name, idle): &(&str, Option<bool>)| ClassResult {
            name: name.into(),
            sojourn: Some(SojournSummary { max_s: 2e-3, ..SojournSummary::default() }),
            aqm: idle.map(|saw_no_queue| AqmResult { kind: "codel".into(), saw_no_queue }),
            ..ClassResult::default()
        };
        let mut port = sample_report().runs.remove(0).ports.remove(0);
        port.classes = classes.iter().map(class).collect();
        port
    }

    #[test]
    fn one_sentence_per_port_names_the_idle_aqms() {
        assert!(idle_aqms(&[port(&[("a", Some(false)), ("b", None)])]).is_empty());
        let one = &idle_aqms(&[port(&[("a", Some(true)), ("b", Some(false))])])[0];
        assert_eq!(
            one.replace('\u{a0}', " "),
            "The AQM of class `a` at port `uplink` never saw a queue: its packets waited at most 2 ms, and none was marked or dropped. The \
             bottleneck is elsewhere."
        );
        let idle = |names: &[&'static str]| port(&names.iter().map(|&name| (name, Some(true))).collect::<Vec<_>>());
        let two = idle_aqms(&[idle(&["a", "b"]), idle(&["c"])]);
        assert_eq!(two.len(), 2);
        assert!(two[0].starts_with("The AQMs of classes `a` and `b` at port"), "{}", two[0]);
        let many = &idle_aqms(&[idle(&["a", "b", "c", "d", "e"])])[0];
        assert!(many.starts_with("The AQMs of classes `a`, `b`, `c` and 2 others at port"), "{many}");
    }
}
