//! Templates: tables with holes, from which classes and groups are filled.
//!
//! `[template.shop]` has `rate = "{rate}"`, and a class `use = "shop"` and `with = { rate = "5 Mbit/s" }`. A text that is one hole becomes the value as it
//! is; elsewhere the value is put into the text. Keys of the class itself come on top, as those of a direction do.

use crate::diagnostic::{Diagnostic, Span, suggest};
use crate::directions::{elements, merge, visit};
use crate::holes::Filler;
use crate::structure::scalar;
use std::collections::BTreeSet;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The lists whose elements are filled.
const LISTS: [&str; 2] = ["class", "group"];

/// Fills the classes and groups of all policies, and removes the templates.
pub(crate) fn expand(root: &mut DeTable<'_>, findings: &mut Vec<Diagnostic>) {
    let templates = match root.get("template").map(Spanned::get_ref) {
        Some(DeValue::Table(_)) => root.remove("template").map(Spanned::into_inner),
        _ => None,
    };
    let none = DeTable::new();
    let templates = match &templates {
        Some(DeValue::Table(templates)) => templates,
        _ => &none,
    };
    visit(root, |policy| {
        for list in LISTS {
            for element in elements(policy, list) {
                match (element.remove("use"), element.remove("with")) {
                    (Some(name), with) => findings.extend(fill_element(element, &name, with, templates).err()),
                    (None, Some(with)) => {
                        let finding = Diagnostic::error(with.span(), "`with` has no effect without `use`");
                        findings.push(finding.help("name a template, like use = \"shop\""));
                    }
                    (None, None) => {}
                }
            }
        }
    });
}

/// Puts what the template says below the keys of the element itself.
fn fill_element<'i>(
    element: &mut DeTable<'i>,
    name: &Spanned<DeValue<'i>>,
    with: Option<Spanned<DeValue<'i>>>,
    templates: &DeTable<'i>,
) -> Result<(), Diagnostic> {
    let Some(text) = name.get_ref().as_str() else {
        return Err(Diagnostic::error(name.span(), format!("expected the name of a template in quotes, not {}", scalar(name.get_ref()))));
    };
    let Some(template) = templates.get(text) else {
        let finding = Diagnostic::error(name.span(), format!("there is no template `{text}`"));
        if templates.is_empty() {
            return Err(finding.help(format!("add it: [template.{text}]")));
        }
        return Err(suggest(finding, text, templates.keys().map(|key| key.get_ref().as_ref()), "templates"));
    };
    let DeValue::Table(table) = template.get_ref() else {
        return Err(Diagnostic::error(template.span(), format!("template.{text}: expected a table, not {}", scalar(template.get_ref()))));
    };
    let none = DeTable::new();
    let values = match with.as_ref().map(Spanned::get_ref) {
        None => &none,
        Some(DeValue::Table(values)) => values,
        Some(other) => {
            let span = with.as_ref().map_or(name.span(), Spanned::span);
            return Err(Diagnostic::error(span, format!("`with` gives values to holes by name, and is a table, not {}", scalar(other))));
        }
    };
    if let Some(key) = table.iter().flat_map(|(key, value)| nested_use(key, value)).next() {
        let finding = Diagnostic::error(key, format!("template `{text}` uses another template"));
        return Err(finding.help("write its keys out"));
    }
    let remedy = |hole: &str| format!("give it one: with = {{ {hole} = ... }}");
    let mut filler = Filler { owner: format!("template `{text}`"), used_at: name.span(), remedy, values, used: BTreeSet::new() };
    let mut filled = filler.table(table)?;
    if let Some(key) = values.keys().find(|key| !filler.used.contains(key.get_ref().as_ref())) {
        let finding = Diagnostic::error(key.span(), format!("template `{text}` has no hole `{{{}}}`", key.get_ref()));
        let finding = finding.context(template.span(), "the template");
        return Err(suggest(finding, key.get_ref(), filler.used.iter().map(String::as_str), "holes"));
    }
    merge(&mut filled, std::mem::replace(element, DeTable::new()));
    *element = filled;
    Ok(())
}

/// The places of the key `use` in an entry of a template, outside lists.
fn nested_use(key: &Spanned<std::borrow::Cow<'_, str>>, value: &Spanned<DeValue<'_>>) -> Vec<Span> {
    let below = value.get_ref().as_table().into_iter().flatten().flat_map(|(key, value)| nested_use(key, value));
    (key.get_ref() == "use").then(|| key.span()).into_iter().chain(below).collect()
}
