//! Changes of policies while a file runs: `[[change]]`.
//!
//! Every change is applied to the file's tree as the changes before it have left it. The whole result is judged like a file, so that a mistake is
//! reported when the file is read.

use crate::diagnostic::{Diagnostic, Span};
use crate::document::{Direction, File};
use crate::overrides::Override;
use crate::policy::Policy;
use crate::rows::RowEdit;
use crate::structure::{insert_class, name_of};
use serde_json::Value;
use std::collections::BTreeSet;
use tidegate_core::units::Duration;
use tidegate_sim::{LinkId, NetworkChange};
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// Policies that are others from one instant on.
#[derive(Clone, Debug)]
pub struct PolicyChange {
    /// The instant: since the start, or since the first packet of a capture.
    pub at: Duration,
    /// What changes, one key or one table each, in words of the file.
    pub what: Vec<String>,
    /// The policies that change, whole.
    pub policies: Vec<Policy>,
    /// The links of a simulation whose ports change, and their policies from then on.
    pub ports: Vec<(LinkId, Policy)>,
}

impl PolicyChange {
    /// What a simulation has to know of it.
    pub fn of_network(&self) -> NetworkChange {
        NetworkChange { at: self.at, ports: self.ports.iter().map(|(link, policy)| (*link, policy.setup())).collect() }
    }
}

/// One change as it is written.
pub(crate) struct Written<'i> {
    pub at: Duration,
    pub span: Span,
    pub what: Vec<String>,
    /// The names of the policies that it is about.
    pub policies: BTreeSet<String>,
    set: Vec<Override<'i>>,
    remove: Vec<Override<'i>>,
    add: Option<DeTable<'i>>,
}

/// The changes of a file, in the order of their instants.
pub(crate) fn written<'i>(root: &DeTable<'i>, file: &File, findings: &mut Vec<Diagnostic>) -> Vec<Written<'i>> {
    let tables = root.get("change").and_then(|changes| changes.get_ref().as_array());
    let mut changes = Vec::new();
    for (table, tree) in file.change.iter().zip(tables.into_iter().flatten()) {
        let part = |key| tree.get_ref().get(key).and_then(|value| value.get_ref().as_table());
        let mut change = Written {
            at: table.at.value,
            span: table.at.span.clone(),
            what: Vec::new(),
            policies: BTreeSet::new(),
            set: part("set").map(Override::of_table).unwrap_or_default(),
            remove: table.remove.iter().map(|key| Override::removing(&key.value.0, key.span.clone())).collect(),
            add: part("add").cloned(),
        };
        change.read(file, findings);
        if change.set.is_empty() && change.remove.is_empty() && change.add.is_none() {
            let finding = Diagnostic::error(table.span.clone(), "the change changes nothing");
            findings.push(finding.help("give it `set`, `remove`, or tables below `change.add`"));
        }
        changes.push(change);
    }
    changes.sort_by_key(|change| change.at);
    changes
}

impl<'i> Written<'i> {
    /// Finds what it is about.
    fn read(&mut self, file: &File, findings: &mut Vec<Diagnostic>) {
        for (verb, changes) in [("without", &self.remove), ("set", &self.set)] {
            for change in changes {
                match change.path(3)[..] {
                    ["policy", policy, key] => {
                        self.policies.extend(concerned(policy, key, file));
                        self.what.push(format!("{verb} {change}"));
                    }
                    _ => findings.push(not_of_a_policy(change.span())),
                }
            }
        }
        for (key, value) in self.add.iter().flatten() {
            match value.get_ref() {
                DeValue::Table(policies) if key.get_ref() == "policy" => {
                    for (policy, table) in policies {
                        let keys = table.get_ref().as_table().into_iter().flat_map(|table| table.keys());
                        self.policies.extend(keys.flat_map(|key| concerned(policy.get_ref(), key.get_ref(), file)));
                        name_added(&format!("policy.{}", policy.get_ref()), table.get_ref(), &mut self.what);
                    }
                }
                _ => findings.push(not_of_a_policy(key.span())),
            }
        }
    }

    /// Makes the change; what it changes in rows of lists comes behind `rows`.
    pub(crate) fn apply(&self, root: &mut DeTable<'i>, schema: &Value, rows: &mut Vec<RowEdit<'i>>, findings: &mut Vec<Diagnostic>) {
        for change in &self.remove {
            match change.of_row(root) {
                Some(edit) => rows.push(edit),
                None => findings.extend(change.remove(root).err()),
            }
        }
        if let Some(added) = &self.add {
            add(root, added, "", findings);
        }
        for change in &self.set {
            match change.of_row(root) {
                Some(edit) => rows.push(edit),
                None => findings.extend(change.apply(root, schema).err()),
            }
        }
    }
}

/// What the policies become by a change, given what they were; reports what a running port cannot change.
pub(crate) fn changed_policies(
    change: &Written<'_>,
    before: &[Policy],
    file: &File,
    findings: &mut Vec<Diagnostic>,
) -> Option<Vec<Policy>> {
    let mut policies = before.to_vec();
    for name in &change.policies {
        let Some(index) = before.iter().position(|policy| policy.name == *name) else {
            let finding = Diagnostic::error(change.span.clone(), format!("there is no policy `{name}` to change"));
            findings.push(finding.help("a policy that comes later would have no port"));
            return None;
        };
        let (name, table) = file.policy.0.iter().find(|(found, _)| found.0 == *name)?;
        let (old, mut new) = (&before[index], Policy::resolve(name, table, None, findings)?);
        if let Some((problem, help)) = new.cannot_follow(old) {
            findings.push(Diagnostic::error(change.span.clone(), problem.to_owned()).help(help));
            return None;
        }
        new.continue_from(old);
        policies[index] = new;
    }
    Some(policies)
}

/// The links of a simulation whose ports a change makes others, and their policies from then on.
pub(crate) fn changed_ports(
    change: &Written<'_>,
    before: &[Policy],
    after: &[Policy],
    file: &File,
    findings: &mut Vec<Diagnostic>,
) -> Vec<(LinkId, Policy)> {
    let mut ports = Vec::new();
    for (index, link) in file.link.iter().enumerate().filter(|(_, link)| change.policies.contains(&link.policy.0)) {
        if let Some(at) = link.cells.as_ref().filter(|at| at.value) {
            let finding = Diagnostic::error(change.span.clone(), format!("link `{}` carries cells: its port cannot change", link.name.0));
            findings.push(finding.context(at.span.clone(), "its cells").help("change the policies of ports for packets"));
            continue;
        }
        let policy = match &link.rate {
            None => after.iter().find(|policy| policy.name == link.policy.0).cloned(),
            Some(rate) => {
                let old = before.iter().find(|policy| policy.name == link.policy.0);
                let table = file.policy.0.iter().find(|(name, _)| name.0 == link.policy.0);
                table.zip(old).and_then(|((name, table), old)| {
                    let mut policy = Policy::resolve(name, table, Some(rate), findings)?;
                    policy.continue_from(old);
                    Some(policy)
                })
            }
        };
        ports.extend(policy.map(|policy| (LinkId(index), policy)));
    }
    ports
}

/// The policies that a key below a policy's name is about: those of two directions, one of them, or the policy itself.
fn concerned(policy: &str, key: &str, file: &File) -> Vec<String> {
    let has = |name: &String| file.policy.0.iter().any(|(found, _)| found.0 == *name);
    let of_key = |direction: &Direction| Direction::ALL.iter().all(|other| other.key() != key) || direction.key() == key;
    let directions: Vec<String> =
        Direction::ALL.iter().filter(|direction| of_key(direction)).map(|direction| direction.policy(policy)).collect();
    if directions.iter().all(has) { directions } else { vec![policy.to_owned()] }
}

fn not_of_a_policy(span: Span) -> Diagnostic {
    Diagnostic::error(span, "a change is about policies").help("write a key like policy.access.class.video.rate")
}

/// Names the tables and values that are added.
fn name_added(path: &str, value: &DeValue<'_>, what: &mut Vec<String>) {
    match value {
        DeValue::Table(table) => {
            for (key, value) in table {
                name_added(&format!("{path}.{}", key.get_ref()), value.get_ref(), what);
            }
        }
        DeValue::Array(array) if array.iter().all(|element| element.get_ref().is_table()) => {
            what.extend(array.iter().map(|element| format!("with {path}.{}", name_of(element).unwrap_or("?"))));
        }
        _ => what.push(format!("with {path}")),
    }
}

/// Adds the values of `added` to a table: elements to its lists, the rest where there is nothing yet.
fn add<'i>(table: &mut DeTable<'i>, added: &DeTable<'i>, path: &str, findings: &mut Vec<Diagnostic>) {
    for (key, value) in added {
        let path = if path.is_empty() { key.get_ref().to_string() } else { format!("{path}.{}", key.get_ref()) };
        match (table.get_mut(key.get_ref().as_ref()).map(Spanned::get_mut), value.get_ref()) {
            (None, _) => drop(table.insert(key.clone(), value.clone())),
            (Some(DeValue::Table(inner)), DeValue::Table(value)) => add(inner, value, &path, findings),
            (Some(DeValue::Array(array)), DeValue::Array(value)) => append(array, value, &path, findings),
            _ => findings.push(Diagnostic::error(key.span(), format!("`{path}` is there already")).help("use `set` to change it")),
        }
    }
}

/// Appends elements to a list; before a class without `match`, which is the last.
fn append<'i>(array: &mut DeArray<'i>, added: &DeArray<'i>, path: &str, findings: &mut Vec<Diagnostic>) {
    for element in added.iter() {
        if let Some(name) = name_of(element)
            && array.iter().any(|present| name_of(present) == Some(name))
        {
            let finding = Diagnostic::error(element.span(), format!("`{path}.{name}` is there already"));
            findings.push(finding.help("use `set` to change it, or give the new one another name"));
            continue;
        }
        insert_class(array, element.clone(), path.rsplit('.').next().unwrap_or_default());
    }
}
