//! Lists and ranges in rules: `source = ["10.0.0.0/8", "192.0.2.1-192.0.2.9"]` is written out as rules of single values, of which a packet meets any.
//!
//! A rule with several lists becomes one for each choice of a value from each list. A range of addresses becomes the fewest prefixes that make it up.

use crate::diagnostic::Diagnostic;
use crate::directions::{elements, visit};
use crate::header::range;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// The most rules that one becomes.
const MOST_RULES: usize = 4096;
/// The key of exceptions, which are rules: a list in one of them makes several exceptions, and none of them is to match.
const EXCEPTIONS: &str = "not";
/// The keys whose values may be ranges of addresses.
const ADDRESSES: [&str; 2] = ["source", "destination"];

/// Writes out the lists and ranges of all policies.
pub(crate) fn expand(root: &mut DeTable<'_>, findings: &mut Vec<Diagnostic>) {
    visit(root, |policy| {
        for class in elements(policy, "class") {
            if let Some(DeValue::Array(rules)) = class.get_mut("match").map(Spanned::get_mut) {
                write_out(rules, findings);
            }
        }
        for subscriber in elements(policy, "subscriber") {
            if let Some(DeValue::Array(addresses)) = subscriber.get_mut("addresses").map(Spanned::get_mut)
                && addresses.iter().any(|address| address.get_ref().as_str().is_some_and(|text| text.contains('-')))
            {
                let written = std::mem::replace(addresses, DeArray::new());
                *addresses = written.into_iter().flat_map(prefixes).collect();
            }
        }
    });
}

/// Writes out a list of rules.
fn write_out(rules: &mut DeArray<'_>, findings: &mut Vec<Diagnostic>) {
    if rules.iter().any(|rule| rule.get_ref().as_table().is_some_and(is_short)) {
        let written = std::mem::replace(rules, DeArray::new());
        *rules = written.into_iter().flat_map(|rule| alternatives(rule, findings)).collect();
    }
}

/// True if a rule, or an exception of it, has a list or a range of addresses.
fn is_short(rule: &DeTable<'_>) -> bool {
    let is_range = |key: &str, value: &DeValue<'_>| ADDRESSES.contains(&key) && value.as_str().is_some_and(|text| text.contains('-'));
    let is_list = |key: &str, value: &DeValue<'_>| match value {
        DeValue::Array(exceptions) if key == EXCEPTIONS => exceptions.iter().any(|rule| rule.get_ref().as_table().is_some_and(is_short)),
        value => value.is_array(),
    };
    rule.iter().any(|(key, value)| is_list(key.get_ref(), value.get_ref()) || is_range(key.get_ref(), value.get_ref()))
}

/// The rules of single values that a rule stands for.
fn alternatives<'i>(rule: Spanned<DeValue<'i>>, findings: &mut Vec<Diagnostic>) -> Vec<Spanned<DeValue<'i>>> {
    let span = rule.span();
    let table = match rule.into_inner() {
        DeValue::Table(table) if is_short(&table) => table,
        other => return vec![Spanned::new(span, other)],
    };
    let mut rules = vec![(None, DeTable::new())];
    for (key, value) in table {
        let place = value.span();
        let is_address = ADDRESSES.contains(&key.get_ref().as_ref());
        let values: Vec<Spanned<DeValue<'i>>> = match value.into_inner() {
            DeValue::Array(mut exceptions) if key.get_ref() == EXCEPTIONS => {
                write_out(&mut exceptions, findings);
                vec![Spanned::new(place.clone(), DeValue::Array(exceptions))]
            }
            DeValue::Array(values) if is_address => values.into_iter().flat_map(prefixes).collect(),
            DeValue::Array(values) => values.into_iter().collect(),
            single if is_address => prefixes(Spanned::new(place.clone(), single)),
            single => vec![Spanned::new(place.clone(), single)],
        };
        if values.is_empty() {
            let finding = Diagnostic::error(place, format!("an empty list of `{}` matches no packet", key.get_ref()));
            findings.push(finding.help("give it a value, or remove the key"));
            return Vec::new();
        }
        if values.len() * rules.len() > MOST_RULES {
            let count = values.len() * rules.len();
            let finding =
                Diagnostic::error(place, format!("the lists of this rule make {count} rules, and at most {MOST_RULES} are possible"));
            findings.push(finding.help("shorten the lists, or write prefixes and ranges in place of single values"));
            return Vec::new();
        }
        let with = |(at, rule): &(Option<_>, DeTable<'i>), value: &Spanned<DeValue<'i>>| {
            let mut rule = rule.clone();
            rule.insert(key.clone(), value.clone());
            // A rule is where the value is that only it has.
            (at.clone().or((values.len() > 1).then(|| value.span())), rule)
        };
        rules = rules.iter().flat_map(|rule| values.iter().map(move |value| with(rule, value))).collect();
    }
    rules.into_iter().map(|(at, rule)| Spanned::new(at.unwrap_or(span.clone()), DeValue::Table(rule))).collect()
}

/// The prefixes that a range of addresses is made of; anything else as it is.
fn prefixes(value: Spanned<DeValue<'_>>) -> Vec<Spanned<DeValue<'_>>> {
    let Some(Ok(prefixes)) = value.get_ref().as_str().and_then(range) else { return vec![value] };
    prefixes.iter().map(|prefix| Spanned::new(value.span(), DeValue::String(prefix.to_string().into()))).collect()
}
