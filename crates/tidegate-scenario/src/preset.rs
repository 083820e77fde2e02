//! Presets: `kind` of a policy, and the AQMs of a class that write its queues, their scheduler and its buffer.
//!
//! They fill in what the file leaves open, before anything is judged or built. So all that reads a policy sees the scheduler, the partitions and the keys of
//! classes as if the file had them. What the file says itself stays.

use crate::choice::{NodeReading, PresetName};
use crate::diagnostic::Diagnostic;
use crate::document::{AdmissionTable, CallsTable, File, PolicyTable};
use crate::texts::Lists;
use crate::value::{At, Block, Given, Name};
use fair::fair_queueing;
use node::Node;
use tidegate_core::admission::Service;
use tidegate_core::units::Duration;

mod classes;
mod coupled;
mod fair;
mod home;
mod node;
mod size;
mod subscribers;
mod tins;

pub(crate) use subscribers::list::names as names_of_list;

/// Replaces the presets of a file by what they write. Unless `whole`, those of subscribers stay for [`complete`], policy by policy: a class of theirs
/// takes some kilobytes.
pub(crate) fn expand(file: &mut File, whole: bool, lists: &mut Lists<'_>, findings: &mut Vec<Diagnostic>) {
    for (name, policy) in &mut file.policy.0 {
        judge_keys(&policy.value, findings);
        if whole || !has_subscribers(policy) {
            complete(name, policy, lists, findings);
        }
    }
    links(file, findings);
    calls(file);
}

/// True if a policy is written by a preset of subscribers.
pub(crate) fn has_subscribers(policy: &PolicyTable) -> bool {
    policy.kind.as_ref().is_some_and(|kind| kind.value == PresetName::Subscribers)
}

/// Replaces the presets of a policy by what they write.
pub(crate) fn complete(name: &At<Name>, policy: &mut Block<PolicyTable>, lists: &mut Lists<'_>, findings: &mut Vec<Diagnostic>) {
    let table = &mut policy.value;
    if let Some(kind) = table.kind.clone() {
        match (kind.value, table.node()) {
            (PresetName::IntegratedServices, Some((reading, utilisation))) => {
                Node { name: &name.value.0, table, at: kind.span, reading, utilisation, findings }.write();
            }
            (PresetName::IntegratedServices, None) => {}
            (PresetName::Home, _) => home::write(table, &kind.span),
            (PresetName::Subscribers, _) => subscribers::write(&name.0, table, &kind.span, lists, findings),
        }
    }
    fair_queueing(table);
    coupled::queues(table);
}

/// Reports keys of presets that the policy does not have.
fn judge_keys(table: &PolicyTable, findings: &mut Vec<Diagnostic>) {
    use PresetName::{Home, IntegratedServices, Subscribers};
    let keys: [(&str, &[PresetName], _); 8] = [
        ("reading", &[IntegratedServices], table.reading.place()),
        ("utilisation", &[IntegratedServices], table.utilisation.place()),
        ("tins", &[Home, Subscribers], table.tins.place()),
        ("ingress", &[Home, Subscribers], table.ingress.place()),
        ("subscriber", &[Subscribers], table.subscriber.first().map(|subscriber| subscriber.span.clone())),
        ("subscribers", &[Subscribers], table.subscribers.place()),
        ("plan", &[Subscribers], table.plan.first().map(|plan| plan.span.clone())),
        ("site", &[Subscribers], table.site.first().map(|site| site.span.clone())),
    ];
    for (key, of, span) in keys {
        if let Some(span) = span.filter(|_| table.kind.as_ref().is_none_or(|kind| !of.contains(&kind.value))) {
            let kinds: Vec<String> = of.iter().map(|kind| format!("kind = \"{}\"", kind.name())).collect();
            let finding = Diagnostic::error(span, format!("`{key}` has no effect without {}", kinds.join(" or ")));
            findings.push(finding.help(format!("remove it, or choose {}", kinds.join(" or "))));
        }
    }
}

/// Gives links before such a node with places its admission control. Reports links with a rate of their own.
fn links(file: &mut File, findings: &mut Vec<Diagnostic>) {
    for link in &mut file.link {
        let Some((_, policy)) = file.policy.0.iter().find(|(name, _)| name.0 == link.policy.0) else { continue };
        let (Some((_, utilisation)), Some(kind)) = (policy.node(), &policy.kind) else { continue };
        if let Some(rate) = &link.rate {
            let problem = format!("link `{}` has another rate than the preset of its policy, which computes by its own", link.name.0);
            let finding = rate.error(problem).context(kind.span.clone(), "the preset");
            findings.push(finding.help("remove the rate, or give the link a policy of its own"));
        }
        if link.admission.is_none() && policy.class.iter().any(|class| class.places.is_some()) {
            let utilisation = Some(At { value: utilisation, span: kind.span.clone() });
            let table = AdmissionTable { utilisation, buffer: None, sample: None, samples: None };
            link.value.admission = Some(Block { value: table, span: kind.span.clone() });
        }
    }
}

/// Gives calls what the reading of the nodes says, if all nodes with places have one reading.
fn calls(file: &mut File) {
    let with_places = file.policy.0.iter().filter(|(_, policy)| policy.class.iter().any(|class| class.places.is_some()));
    let mut readings = with_places.map(|(_, policy)| Some((policy.node()?.0, policy.kind.as_ref()?.span.clone())));
    let Some(Some((reading, at))) = readings.next() else { return };
    if readings.any(|other| other.is_none_or(|(other, _)| other != reading)) {
        return;
    }
    for calls in file.flow.iter_mut().filter_map(|flow| flow.value.calls.as_mut()) {
        let CallsTable { service, tolerance, enforce_reserve, .. } = &mut calls.value;
        match reading {
            NodeReading::Repaired if service.value.0 == Service::Guaranteed => {
                enforce_reserve.get_or_insert(At { value: true, span: at.clone() });
            }
            NodeReading::Repaired => {}
            NodeReading::Paper => {
                tolerance.get_or_insert(At { value: Duration::ZERO, span: at.clone() });
            }
        }
    }
}
