//! Loops: a table with `for = { i = "1..8" }` stands for one table for each value of its variables, with the holes of its texts filled.

use crate::diagnostic::{Diagnostic, Span};
use crate::directions::visit;
use crate::holes::{Filler, number};
use crate::structure::scalar;
use std::collections::BTreeSet;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// The key of a loop.
pub(crate) const FOR: &str = "for";
/// The most tables that one table stands for.
const MOST: usize = 100_000;
/// The lists of policies whose elements may be loops.
const LISTS_OF_POLICIES: [&str; 5] = ["class", "group", "subscriber", "plan", "site"];

/// Writes all loops of a tree out.
pub(crate) fn expand(root: &mut DeTable<'_>, findings: &mut Vec<Diagnostic>) {
    write_policies_out(root, findings);
    for list in ["link", "flow", "workload", "failure"] {
        write_out(root, list, findings);
    }
    visit(root, |policy| LISTS_OF_POLICIES.iter().for_each(|list| write_out(policy, list, findings)));
}

fn write_out(table: &mut DeTable<'_>, list: &str, findings: &mut Vec<Diagnostic>) {
    let Some(DeValue::Array(elements)) = table.get_mut(list).map(Spanned::get_mut) else { return };
    let has_loop = |element: &Spanned<DeValue<'_>>| element.get_ref().as_table().is_some_and(|table| table.contains_key(FOR));
    if !elements.iter().any(has_loop) {
        return;
    }
    for element in std::mem::replace(elements, DeArray::new()) {
        let span = element.span();
        match element.into_inner() {
            DeValue::Table(mut table) if table.contains_key(FOR) => {
                let Some((key, variables)) = table.remove_entry(FOR) else { continue };
                match repeated(&table, key.span(), &variables) {
                    Ok(tables) => tables.into_iter().for_each(|table| elements.push(Spanned::new(span.clone(), DeValue::Table(table)))),
                    Err(finding) => findings.push(finding),
                }
            }
            other => elements.push(Spanned::new(span, other)),
        }
    }
}

/// The policies that are loops: their names have holes, too.
fn write_policies_out(root: &mut DeTable<'_>, findings: &mut Vec<Diagnostic>) {
    let Some(DeValue::Table(policies)) = root.get_mut("policy").map(Spanned::get_mut) else { return };
    let has_loop = |policy: &Spanned<DeValue<'_>>| policy.get_ref().as_table().is_some_and(|table| table.contains_key(FOR));
    if !policies.values().any(has_loop) {
        return;
    }
    for (name, value) in std::mem::replace(policies, DeTable::new()) {
        let (at, span) = (name.span(), value.span());
        let (mut written, mut made) = (Vec::new(), Vec::new());
        match value.into_inner() {
            DeValue::Table(mut table) if table.contains_key(FOR) => {
                let Some((key, variables)) = table.remove_entry(FOR) else { continue };
                let text = Spanned::new(at.clone(), DeValue::String(name.get_ref().clone()));
                let whole = [("name", text), ("policy", Spanned::new(span.clone(), DeValue::Table(table)))];
                let whole = whole.into_iter().map(|(key, value)| (Spanned::new(at.clone(), key.into()), value)).collect();
                match repeated(&whole, key.span(), &variables) {
                    Ok(tables) => made = tables,
                    Err(finding) => findings.push(finding),
                }
            }
            other => written.push((name, Spanned::new(span, other))),
        }
        for mut table in made {
            let (Some(name), Some(policy)) = (table.remove("name"), table.remove("policy")) else { continue };
            let name = match name.into_inner() {
                DeValue::String(name) => name,
                // A name that is one hole becomes a number.
                other => scalar(&other).to_string().into(),
            };
            written.push((Spanned::new(at.clone(), name), policy));
        }
        for (name, policy) in written {
            let text = name.get_ref().to_string();
            if policies.insert(name, policy).is_some() {
                let finding = Diagnostic::error(at.clone(), format!("another policy is named `{text}` already"));
                findings.push(finding.help("write a name with a hole for each variable of the loop"));
            }
        }
    }
}

/// The tables that one stands for, the last variable first.
fn repeated<'i>(table: &DeTable<'i>, at: Span, variables: &Spanned<DeValue<'i>>) -> Result<Vec<DeTable<'i>>, Diagnostic> {
    let DeValue::Table(written) = variables.get_ref() else {
        let problem = format!("`for` gives variables their values, and is a table, not {}", scalar(variables.get_ref()));
        return Err(Diagnostic::error(variables.span(), problem).help("write for = { i = \"1..8\" }"));
    };
    let mut rounds: Vec<DeTable<'i>> = vec![DeTable::new()];
    for (name, value) in written {
        let values = values(value)?;
        if rounds.len().saturating_mul(values.len()) > MOST {
            let finding = Diagnostic::error(value.span(), format!("the loop makes more than {MOST} tables"));
            return Err(finding.help("write shorter ranges; a flow has a `count` for equal ones"));
        }
        let with = |round: &DeTable<'i>, value: &Spanned<DeValue<'i>>| {
            let mut round = round.clone();
            round.insert(name.clone(), value.clone());
            round
        };
        rounds = rounds.iter().flat_map(|round| values.iter().map(|value| with(round, value)).collect::<Vec<_>>()).collect();
    }
    let mut used = BTreeSet::new();
    let mut tables = Vec::with_capacity(rounds.len());
    for round in &rounds {
        let remedy = |hole: &str| format!("give it values: for = {{ {hole} = \"1..8\" }}");
        let said: Vec<String> = round.iter().map(|(name, value)| format!("{} = {}", name.get_ref(), scalar(value.get_ref()))).collect();
        let owner = format!("the loop with {}", said.join(", "));
        let mut filler = Filler { owner, used_at: at.clone(), remedy, values: round, used: BTreeSet::new() };
        tables.push(filler.table(table)?);
        used.extend(filler.used);
    }
    if let Some(name) = written.keys().find(|name| !used.contains(name.get_ref().as_ref())) {
        let finding =
            Diagnostic::error(name.span(), format!("the table has no hole `{{{}}}`: all its copies would be the same", name.get_ref()));
        return Err(finding.help(format!("use it, like name = \"leaf-{{{}}}\"", name.get_ref())));
    }
    Ok(tables)
}

/// The values of a variable: a list, or a range with both ends.
fn values<'i>(value: &Spanned<DeValue<'i>>) -> Result<Vec<Spanned<DeValue<'i>>>, Diagnostic> {
    let refuse = |problem: String| {
        Err(Diagnostic::error(value.span(), problem)
            .help("write a range like \"1..8\", which has both ends, or a list like [\"a\", \"b\"]"))
    };
    match value.get_ref() {
        DeValue::Array(array) if array.is_empty() => refuse("the list is empty".to_owned()),
        DeValue::Array(array) => {
            let other =
                array.iter().find(|element| !matches!(element.get_ref(), DeValue::String(_) | DeValue::Integer(_) | DeValue::Float(_)));
            match other {
                Some(other) => refuse(format!("a list of a loop has texts and numbers, not {}", scalar(other.get_ref()))),
                None => Ok(array.iter().cloned().collect()),
            }
        }
        DeValue::String(text) => {
            let ends =
                text.split_once("..").and_then(|(first, last)| Some((first.trim().parse::<i64>().ok()?, last.trim().parse::<i64>().ok()?)));
            match ends {
                Some((first, last)) if first > last => refuse(format!("the range \"{text}\" is empty")),
                Some((first, last)) if last.saturating_sub(first) >= MOST as i64 => {
                    refuse(format!("the range \"{text}\" has more than {MOST} numbers"))
                }
                Some((first, last)) => Ok((first..=last).map(|value_of| number(value_of, value.span())).collect()),
                None => refuse(format!("\"{text}\" is no range of whole numbers")),
            }
        }
        other => refuse(format!("a variable of a loop has several values, not {}", scalar(other))),
    }
}
