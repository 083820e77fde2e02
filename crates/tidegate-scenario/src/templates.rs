//! Templates: tables with holes, from which classes and groups are filled.
//!
//! `[template.shop]` has `rate = "{rate}"`, and a class `use = "shop"` and `with = { rate = "5 Mbit/s" }`. A text that is one hole becomes the value as it
//! is; elsewhere the value is put into the text. Keys of the class itself come on top, as those of a direction do.

use crate::diagnostic::{Diagnostic, Span, suggest};
use crate::directions::{elements, merge, visit};
use crate::structure::scalar;
use crate::value::Scalar;
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
    let mut filler = Filler { template: text, used_at: name.span(), values, used: BTreeSet::new() };
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

/// Fills the holes of one template for one element.
struct Filler<'a, 'i> {
    template: &'a str,
    used_at: Span,
    values: &'a DeTable<'i>,
    /// The holes that have been filled.
    used: BTreeSet<String>,
}

impl<'i> Filler<'_, 'i> {
    fn table(&mut self, table: &DeTable<'i>) -> Result<DeTable<'i>, Diagnostic> {
        let mut filled = DeTable::new();
        for (key, value) in table {
            if key.get_ref() == "use" {
                let finding = Diagnostic::error(key.span(), format!("template `{}` uses another template", self.template));
                return Err(finding.help("write its keys out"));
            }
            filled.insert(key.clone(), self.value(value)?);
        }
        Ok(filled)
    }

    fn value(&mut self, value: &Spanned<DeValue<'i>>) -> Result<Spanned<DeValue<'i>>, Diagnostic> {
        let filled = match value.get_ref() {
            DeValue::Table(table) => DeValue::Table(self.table(table)?),
            DeValue::Array(array) => DeValue::Array(array.iter().map(|element| self.value(element)).collect::<Result<_, _>>()?),
            DeValue::String(text) if text.contains(['{', '}']) => return self.text(text, value.span()),
            single => single.clone(),
        };
        Ok(Spanned::new(value.span(), filled))
    }

    /// The text with its holes filled; the value itself, if the text is one hole.
    fn text(&mut self, text: &str, span: Span) -> Result<Spanned<DeValue<'i>>, Diagnostic> {
        let mut filled = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let Some((hole, behind)) = rest[at..].strip_prefix('{').and_then(|behind| behind.split_once('}')) else {
                let finding = Diagnostic::error(span, format!("template `{}`: a hole is a name in braces, like {{rate}}", self.template));
                return Err(finding.help("close it, or remove the brace"));
            };
            let Some(value) = self.values.get(hole) else {
                let finding = Diagnostic::error(
                    self.used_at.clone(),
                    format!("template `{}` has a hole `{{{hole}}}` without a value", self.template),
                );
                return Err(finding.context(span, "the hole").help(format!("give it one: with = {{ {hole} = ... }}")));
            };
            self.used.insert(hole.to_owned());
            if hole.len() + 2 == text.len() {
                return Ok(value.clone());
            }
            filled += &rest[..at];
            match scalar(value.get_ref()) {
                Scalar::Text(text) => filled += &text,
                single @ (Scalar::Integer(_) | Scalar::Decimal(_)) => filled += &single.to_string(),
                other => {
                    let problem = format!("`{hole}` is put into a text, and is text or a number, not {other}");
                    return Err(Diagnostic::error(value.span(), problem).context(span, "the text"));
                }
            }
            rest = behind;
        }
        filled += rest;
        Ok(Spanned::new(span, DeValue::String(filled.into())))
    }
}
