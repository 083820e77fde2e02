//! Policies of two directions: `[policy.home.down]` and `[policy.home.up]` make the policies `home.down` and `home.up` of `[policy.home]`.
//!
//! What `[policy.home]` says holds in both. Its rules are those of packets on the way up; for the way down source and destination change places. A direction's
//! own keys come on top of it: classes and groups of the same name are completed, and other values replaced. Its own rules are taken as they are written.

use crate::diagnostic::Diagnostic;
use crate::document::Direction;
use crate::structure::{insert_class, lacking, name_of};
use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Keys that hold for both directions.
const SHARED: [&str; 3] = ["kind", "down", "up"];
/// The keys of a rule that change places.
const MIRRORED: [(&str, &str); 3] = [("source", "destination"), ("source_port", "destination_port"), ("source_mac", "destination_mac")];

type Entry<'i> = (Spanned<std::borrow::Cow<'i, str>>, Spanned<DeValue<'i>>);

/// Reports policies with one direction only, directions with keys of the whole, and policies without a rate.
pub(crate) fn judge(root: &DeTable<'_>, schema: &Value, findings: &mut Vec<Diagnostic>) {
    let policies = root.get("policy").and_then(|policies| policies.get_ref().as_table());
    for (name, value) in policies.into_iter().flatten() {
        let Some(policy) = value.get_ref().as_table() else { continue };
        let lacks_rate = |place: String, at: &Spanned<DeValue<'_>>| lacking(&place, "rate", at.span(), &schema["$defs"]["PolicyTable"]);
        let place = format!("policy.{}", name.get_ref());
        match Direction::ALL.map(|direction| policy.get_key_value(direction.key())) {
            [None, None] => findings.extend((!policy.contains_key("rate")).then(|| lacks_rate(place, value))),
            [Some(_), Some(_)] => {
                for direction in Direction::ALL {
                    let own = &policy[direction.key()];
                    let Some(table) = own.get_ref().as_table() else { continue };
                    let place = format!("{place}.{}", direction.key());
                    for (key, _) in SHARED.iter().filter_map(|key| table.get_key_value(*key)) {
                        let problem = format!("{place}: `{}` is not for one direction", key.get_ref());
                        findings.push(Diagnostic::error(key.span(), problem).help(format!("write it in [policy.{}]", name.get_ref())));
                    }
                    if !policy.contains_key("rate") && !table.contains_key("rate") {
                        findings.push(lacks_rate(place, own));
                    }
                }
            }
            [Some((key, _)), None] | [None, Some((key, _))] => {
                let other = if key.get_ref() == "up" { "down" } else { "up" };
                let finding = Diagnostic::error(key.span(), format!("{place} has `{}` and lacks `{other}`", key.get_ref()));
                findings.push(
                    finding.help(format!("give it both, like {other} = \"20 Mbit/s\"; a policy of one direction has a `rate` instead")),
                );
            }
        }
    }
}

/// Replaces policies of two directions by those of each.
pub(crate) fn expand(root: &mut DeTable<'_>) {
    let Some(DeValue::Table(policies)) = root.get_mut("policy").map(Spanned::get_mut) else { return };
    for (name, value) in std::mem::replace(policies, DeTable::new()) {
        let span = value.span();
        match value.into_inner() {
            DeValue::Table(shared) if Direction::ALL.iter().all(|direction| shared.contains_key(direction.key())) => {
                for (name, value) in split(name.get_ref(), shared) {
                    policies.insert(name, value);
                }
            }
            other => drop(policies.insert(name, Spanned::new(span, other))),
        }
    }
}

/// A finding without the direction that it was made in: those of both directions at one place are one.
pub(crate) fn of_both(finding: &Diagnostic) -> Diagnostic {
    let [down, up] = Direction::ALL.map(|direction| format!("{}`", direction.policy("")));
    Diagnostic { problem: finding.problem.replace(&up, &down), ..finding.clone() }
}

fn split<'i>(name: &str, mut shared: DeTable<'i>) -> Vec<Entry<'i>> {
    let own = Direction::ALL.map(|direction| shared.remove_entry(direction.key()));
    let directions = Direction::ALL.into_iter().zip(own).filter_map(|(direction, own)| Some((direction, own?)));
    let policy = |(direction, (key, own)): (Direction, Entry<'i>)| {
        let mut table = shared.clone();
        if direction == Direction::Down {
            mirror(&mut table);
        }
        let span = own.span();
        match own.into_inner() {
            DeValue::Table(own) => merge(&mut table, own),
            rate => drop(table.insert(Spanned::new(key.span(), "rate".into()), Spanned::new(span.clone(), rate))),
        }
        (Spanned::new(key.span(), direction.policy(name).into()), Spanned::new(span, DeValue::Table(table)))
    };
    directions.map(policy).collect()
}

/// Exchanges source and destination in the rules of all classes, and in the hosts that share.
fn mirror(policy: &mut DeTable<'_>) {
    for class in elements(policy, "class") {
        if let Some(DeValue::String(hosts)) = class.get_mut("host_fairness").map(Spanned::get_mut) {
            let pair = MIRRORED[0];
            let found = [pair, (pair.1, pair.0)].into_iter().find(|(one, _)| *one == hosts.as_ref());
            if let Some((_, other)) = found {
                *hosts = other.into();
            }
        }
        mirror_rules(class, "match");
    }
}

/// Exchanges source and destination in a list of rules and in their exceptions.
fn mirror_rules(table: &mut DeTable<'_>, list: &str) {
    for rule in elements(table, list) {
        for (one, other) in MIRRORED {
            let (first, second) = (rule.remove_entry(one), rule.remove_entry(other));
            for (name, entry) in [(other, first), (one, second)] {
                entry.and_then(|(key, value)| rule.insert(Spanned::new(key.span(), name.into()), value));
            }
        }
        mirror_rules(rule, "not");
    }
}

/// Visits the tables of all policies, and those of their directions.
pub(crate) fn visit<'i>(root: &mut DeTable<'i>, mut visitor: impl FnMut(&mut DeTable<'i>)) {
    let Some(DeValue::Table(policies)) = root.get_mut("policy").map(Spanned::get_mut) else { return };
    for (_, policy) in policies.iter_mut() {
        let DeValue::Table(policy) = policy.get_mut() else { continue };
        visitor(policy);
        for direction in Direction::ALL {
            if let Some(DeValue::Table(own)) = policy.get_mut(direction.key()).map(Spanned::get_mut) {
                visitor(own);
            }
        }
    }
}

/// The tables in a list of a table.
pub(crate) fn elements<'t, 'i>(table: &'t mut DeTable<'i>, key: &str) -> impl Iterator<Item = &'t mut DeTable<'i>> {
    let list = match table.get_mut(key).map(Spanned::get_mut) {
        Some(DeValue::Array(array)) => array.as_mut(),
        _ => &mut [],
    };
    list.iter_mut().filter_map(|element| match element.get_mut() {
        DeValue::Table(table) => Some(table),
        _ => None,
    })
}

/// Puts the values of `own` into a table: tables are completed, and so are elements of the same name; others replace what is there.
pub(crate) fn merge<'i>(table: &mut DeTable<'i>, own: DeTable<'i>) {
    for (key, value) in own {
        let span = value.span();
        match (table.get_mut(key.get_ref().as_ref()).map(Spanned::get_mut), value.into_inner()) {
            (Some(DeValue::Table(inner)), DeValue::Table(own)) => merge(inner, own),
            (Some(DeValue::Array(array)), DeValue::Array(own)) if own.iter().all(|element| name_of(element).is_some()) => {
                for element in own {
                    let place = array.iter().position(|present| name_of(present) == name_of(&element));
                    match place.map(|place| array.as_mut()[place].get_mut()) {
                        Some(DeValue::Table(inner)) => {
                            if let DeValue::Table(own) = element.into_inner() {
                                merge(inner, own);
                            }
                        }
                        _ => insert_class(array, element, key.get_ref()),
                    }
                }
            }
            (_, value) => {
                table.remove(key.get_ref().as_ref());
                table.insert(key, Spanned::new(span, value));
            }
        }
    }
}
