//! Refuses files with too many queues or flows before memory is allocated for them.

use crate::diagnostic::Diagnostic;
use crate::document::{ClassTable, File, PolicyTable};

/// The most queues of a file, counting every policy, every link and every variant.
const MOST_QUEUES: u64 = 8_388_608;
/// The most flows of a file, counting every variant.
const MOST_FLOWS: u64 = 1_000_000;

/// Reports more queues or flows than can be held at once.
pub(crate) fn judge_extent(file: &File, variants: usize, findings: &mut Vec<Diagnostic>) {
    let variants = variants.max(1) as u64;
    let mut queues = 0u64;
    for (name, policy) in &file.policy.0 {
        let links = file.link.iter().filter(|link| link.policy.0 == name.0).count() as u64;
        queues = queues.saturating_add(queues_of(policy).saturating_mul((1 + links) * variants));
    }
    if queues > MOST_QUEUES {
        let counts = file.policy.0.iter().flat_map(|(_, policy)| &policy.class).filter_map(|class| class.queues.as_ref());
        let largest = counts.max_by_key(|queues| queues.value.0).map_or(0..0, |queues| queues.span.clone());
        let problem = format!("the file asks for {queues} queues, counting every policy, link and variant");
        findings.push(Diagnostic::error(largest, problem).help(format!("at most {MOST_QUEUES} are possible")));
    }
    let flows: u64 = file.flow.iter().map(|flow| flow.count.as_ref().map_or(1, |count| count.value.0)).sum();
    let flows = flows.saturating_mul(variants);
    if flows > MOST_FLOWS {
        let counts = file.flow.iter().filter_map(|flow| flow.count.as_ref());
        let largest = counts.max_by_key(|count| count.value.0).map_or(0..0, |count| count.span.clone());
        let problem = format!("the file asks for {flows} flows, counting every variant");
        findings.push(Diagnostic::error(largest, problem).help(format!("at most {MOST_FLOWS} are possible")));
    }
}

fn queues_of(policy: &PolicyTable) -> u64 {
    let queues =
        |class: &ClassTable| class.queues.as_ref().map_or(1, |at| at.value.0).max(class.places.as_ref().map_or(1, |at| at.value.0));
    policy.class.iter().map(|class| queues(class)).sum()
}
