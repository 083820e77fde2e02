//! Changes a file's tree by dotted key, for `--set key=value` and for the variants of a scenario.
//!
//! In `policy.access.class.voice.weight`, `voice` is the element of that name in the list of classes. An element without a name is
//! addressed by its number, from 1. `key+=table` adds an element to a list, or puts it before the element that the key names; `key-=name` removes one.

use crate::diagnostic::{Diagnostic, Span, alternatives, closest};
use crate::rows::{RowEdit, RowVerb};
use crate::structure::{below, insert_class, items, name_of};
use serde_json::Value;
use std::fmt;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// The key, and the new value if it is single and there is one.
impl fmt::Display for Override<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.key)?;
        match self.value.get_ref() {
            DeValue::String(text) => write!(f, " = {text}"),
            DeValue::Integer(number) => write!(f, " = {number}"),
            DeValue::Float(number) => write!(f, " = {number}"),
            _ => Ok(()),
        }
    }
}

/// What a change does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verb {
    Set,
    Add,
    Remove,
}

/// A change: a dotted key, with its place, and the new value, whose places are those of the change.
#[derive(Clone, Debug)]
pub struct Override<'i> {
    verb: Verb,
    key: String,
    span: Span,
    value: Spanned<DeValue<'i>>,
}

impl<'i> Override<'i> {
    /// Reads `key=value`, with all places shifted by `base`. A value that is not TOML is text, so that a shell needs no second pair of quotes.
    ///
    /// # Errors
    /// A [`Diagnostic`] if there is no `=` or no key.
    pub fn parse(text: &'i str, base: usize) -> Result<Override<'i>, Diagnostic> {
        let Some((key, value)) = text.split_once('=') else {
            let finding = Diagnostic::error(base..base + text.len(), format!("`{text}` sets nothing: it has no `=`"));
            return Err(finding.help("write key=value, like link.access.rate=\"5 Mbit/s\""));
        };
        let (verb, named) = match (key.strip_suffix('+'), key.strip_suffix('-')) {
            (Some(list), _) => (Verb::Add, list),
            (_, Some(list)) => (Verb::Remove, list),
            _ => (Verb::Set, key),
        };
        let at = base + key.len() + 1 + (value.len() - value.trim_start().len());
        let value = value.trim();
        let value = match DeValue::parse(value) {
            Ok(parsed) => shift(parsed, at),
            Err(error) if verb == Verb::Add => {
                let span = error.span().unwrap_or(0..value.len());
                let finding =
                    Diagnostic::error(at + span.start..at + span.end, format!("this is not TOML: {}", error.message().trim_end()));
                return Err(finding.help("write the table as { name = \"guests\", ... }"));
            }
            Err(_) => Spanned::new(at..at + value.len(), DeValue::String(value.into())),
        };
        Ok(Override { verb, key: named.trim().to_owned(), span: base..base + key.len().max(1), value })
    }

    /// Reads the `set` table of a variant. A quoted key with dots names a value; a table below a plain key continues the path.
    pub fn of_table(table: &DeTable<'i>) -> Vec<Override<'i>> {
        let mut overrides = Vec::new();
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            match value.get_ref() {
                DeValue::Table(inner) if !name.contains('.') => {
                    let nested = Override::of_table(inner).into_iter();
                    overrides.extend(nested.map(|change| Override { key: format!("{name}.{}", change.key), ..change }));
                }
                _ => overrides.push(Override { verb: Verb::Set, key: name.to_owned(), span: key.span(), value: value.clone() }),
            }
        }
        overrides
    }

    /// A removal of the value, or of the element of a list, that a dotted key names.
    pub fn removing(key: &str, span: Span) -> Override<'i> {
        Override { verb: Verb::Remove, key: key.to_owned(), value: Spanned::new(span.clone(), DeValue::Boolean(false)), span }
    }

    /// The first `count` parts of its key.
    pub fn path(&self, count: usize) -> Vec<&str> {
        self.key.split('.').map(str::trim).take(count).collect()
    }

    /// True if it sets a value, and neither adds an element nor removes one.
    pub(crate) fn sets(&self) -> bool {
        self.verb == Verb::Set
    }

    /// Its place.
    pub fn span(&self) -> Span {
        self.span.clone()
    }

    /// Removes what the key names.
    ///
    /// # Errors
    /// A [`Diagnostic`] that names the part of the key that does not exist.
    pub fn remove(&self, root: &mut DeTable<'i>) -> Result<(), Diagnostic> {
        let segments = self.path(usize::MAX);
        let (last, path) = segments.split_last().unwrap_or((&"", &[]));
        let mut done = String::new();
        let mut table = root;
        let mut path = path.iter();
        while let Some(segment) = path.next() {
            let place = if done.is_empty() { "the file".to_owned() } else { format!("`{done}`") };
            if !table.contains_key(*segment) {
                return Err(self.missing(segment, &place, table.keys().map(|key| key.get_ref().as_ref())));
            }
            done = if done.is_empty() { (*segment).to_owned() } else { format!("{done}.{segment}") };
            table = match table.get_mut(*segment).map(Spanned::get_mut) {
                Some(DeValue::Table(inner)) => inner,
                Some(DeValue::Array(array)) => {
                    let next = path.next();
                    let index = self.index(array, next.unwrap_or(last), &done)?;
                    if next.is_none() {
                        remove_at(array, index);
                        return Ok(());
                    }
                    let DeValue::Table(inner) = array.as_mut()[index].get_mut() else {
                        return Err(self.error(format!("`{done}` is a list of single values")));
                    };
                    inner
                }
                _ => return Err(self.error(format!("`{done}` is a single value: nothing hangs below it"))),
            };
        }
        if table.remove(*last).is_none() {
            let place = if done.is_empty() { "the file".to_owned() } else { format!("`{done}`") };
            return Err(self.missing(last, &place, table.keys().map(|key| key.get_ref().as_ref())));
        }
        Ok(())
    }

    /// The change of a row that this is, if its key names a subscriber of a policy that has a list, and the file itself does not have that subscriber.
    pub(crate) fn of_row(&self, root: &DeTable<'_>) -> Option<RowEdit<'i>> {
        let segments = self.path(usize::MAX);
        let ["policy", policy, "subscriber", rest @ ..] = &segments[..] else { return None };
        let table = root.get("policy")?.get_ref().get(*policy)?.get_ref();
        table.get("subscribers")?;
        let (name, verb) = match (self.verb, self.value.get_ref().as_str(), rest) {
            (Verb::Remove, Some(name), []) => (name.to_owned(), RowVerb::Remove),
            (Verb::Remove, None, [_, ..]) => (rest.join("."), RowVerb::Remove),
            (Verb::Set, _, [name @ .., key]) if !name.is_empty() => (name.join("."), RowVerb::Set((*key).to_owned(), self.value.clone())),
            _ => return None,
        };
        let written = table.get("subscriber").and_then(|list| list.get_ref().as_array());
        let is_written = written.is_some_and(|list| self.index(list, &name, "").is_ok());
        (!is_written).then(|| RowEdit { policy: (*policy).to_owned(), name, span: self.span.clone(), verb })
    }

    /// The element of a list that has this name or number.
    fn index(&self, array: &DeArray<'_>, segment: &str, done: &str) -> Result<usize, Diagnostic> {
        let by_name = array.iter().position(|element| name_of(element) == Some(segment));
        let by_number = segment.parse::<usize>().ok().and_then(|number| number.checked_sub(1)).filter(|&index| index < array.len());
        by_name.or(by_number).ok_or_else(|| self.missing(segment, &format!("`{done}`"), array.iter().filter_map(name_of)))
    }

    /// The value that a dotted key names, as far as there is one.
    pub fn find<'a>(key: &str, root: &'a DeTable<'i>) -> Option<&'a DeValue<'i>> {
        let mut segments = key.split('.').map(str::trim);
        let mut value = root.get(segments.next()?)?.get_ref();
        for segment in segments {
            value = match value {
                DeValue::Array(array) => {
                    let by_number = || segment.parse::<usize>().ok()?.checked_sub(1);
                    array.get(array.iter().position(|element| name_of(element) == Some(segment)).or_else(by_number)?)?.get_ref()
                }
                value => value.get(segment)?.get_ref(),
            };
        }
        Some(value)
    }

    /// Makes the change.
    ///
    /// # Errors
    /// A [`Diagnostic`] that names the part of the key that does not exist.
    pub fn apply(&self, root: &mut DeTable<'i>, schema: &Value) -> Result<(), Diagnostic> {
        let segments: Vec<&str> = self.key.split('.').map(str::trim).collect();
        if let Some(empty) = segments.iter().position(|segment| segment.is_empty()) {
            let help = "write a dotted key like policy.access.class.voice.weight";
            return Err(self.error(format!("the key `{}` has an empty part at position {}", self.key, empty + 1)).help(help));
        }
        if matches!(segments[0], "variant") {
            return Err(self.error("variants cannot be changed").help("change what the variants have in common, or edit the file"));
        }
        match self.verb {
            Verb::Set => {
                let (last, path) = segments.split_last().unwrap_or((&"", &[]));
                self.descend(root, path, last, schema, schema, "")
            }
            Verb::Add => self.add(root),
            Verb::Remove => {
                let Some(name) = self.value.get_ref().as_str() else {
                    return Err(Diagnostic::error(self.value.span(), "an element is removed by its name").help("write key-=NAME"));
                };
                let array = self.list(root, &segments)?;
                let index = self.index(array, name, &self.key)?;
                remove_at(array, index);
                Ok(())
            }
        }
    }

    /// The list that these parts of the key name.
    fn list<'a>(&self, root: &'a mut DeTable<'i>, segments: &[&str]) -> Result<&'a mut DeArray<'i>, Diagnostic> {
        let (last, path) = segments.split_last().unwrap_or((&"", &[]));
        let mut table = root;
        let mut done = "the file".to_owned();
        for segment in path {
            if !table.contains_key(*segment) {
                return Err(self.missing(segment, &done, table.keys().map(|key| key.get_ref().as_ref())));
            }
            done = format!("`{segment}`");
            let Some(DeValue::Table(inner)) = table.get_mut(*segment).map(Spanned::get_mut) else {
                return Err(self.error(format!("{done} is no table, so no list hangs below it")));
            };
            table = inner;
        }
        if !table.contains_key(*last) {
            table.insert(
                Spanned::new(self.span.clone(), (*last).to_owned().into()),
                Spanned::new(self.span.clone(), DeValue::Array(DeArray::new())),
            );
        }
        match table.get_mut(*last).map(Spanned::get_mut) {
            Some(DeValue::Array(array)) => Ok(array),
            _ => Err(self.error(format!("`{last}` is no list")).help("name a list, like policy.access.class+={ name = \"guests\", ... }")),
        }
    }

    /// Adds the element.
    fn add(&self, root: &mut DeTable<'i>) -> Result<(), Diagnostic> {
        let segments = self.path(usize::MAX);
        let name = name_of(&self.value).map(str::to_owned);
        let Some(name) = name else {
            return Err(
                Diagnostic::error(self.value.span(), "what is added is a table with a name").help("write { name = \"guests\", ... }")
            );
        };
        // A list of a policy, or an element of it.
        let (list, before) = match segments.split_last() {
            Some((element, list)) if Override::find(&list.join("."), root).is_some_and(DeValue::is_array) => (list, Some(*element)),
            _ => (&segments[..], None),
        };
        let array = self.list(root, list)?;
        if array.iter().any(|present| name_of(present) == Some(&name)) {
            let finding = Diagnostic::error(self.value.span(), format!("`{}.{name}` is there already", list.join(".")));
            return Err(finding.help("set its values to change it, or give the new one another name"));
        }
        match before {
            None => insert_class(array, self.value.clone(), list.last().unwrap_or(&"")),
            Some(element) => {
                let index = self.index(array, element, &list.join("."))?;
                array.push(self.value.clone());
                let mut elements: Vec<_> = std::mem::replace(array, DeArray::new()).into_iter().collect();
                elements[index..].rotate_right(1);
                *array = elements.into_iter().collect();
            }
        }
        Ok(())
    }

    fn descend(
        &self,
        table: &mut DeTable<'i>,
        path: &[&str],
        last: &str,
        schema: &Value,
        root: &Value,
        done: &str,
    ) -> Result<(), Diagnostic> {
        let Some((segment, rest)) = path.split_first() else {
            let key = Spanned::new(self.span.clone(), last.to_owned().into());
            // `insert` alone would keep the old key with its place.
            table.remove(last);
            table.insert(key, self.value.clone());
            return Ok(());
        };
        let known = below(schema, root, segment);
        if !table.contains_key(*segment) {
            let is_key = root_has_property(schema, root, segment);
            if !is_key || known.is_none_or(|known| known["type"] != "object") {
                let place = if done.is_empty() { "the file".to_owned() } else { format!("`{done}`") };
                return Err(self.missing(segment, &place, table.keys().map(|key| key.get_ref().as_ref())));
            }
            table.insert(
                Spanned::new(self.span.clone(), (*segment).to_owned().into()),
                Spanned::new(self.span.clone(), DeValue::Table(DeTable::new())),
            );
        }
        let done = if done.is_empty() { (*segment).to_owned() } else { format!("{done}.{segment}") };
        let none = Value::Null;
        let known = known.unwrap_or(&none);
        match table.get_mut(*segment).map(Spanned::get_mut) {
            Some(DeValue::Table(inner)) => self.descend(inner, rest, last, known, root, &done),
            Some(DeValue::Array(array)) => self.element(array, rest, last, items(known, root), root, &done),
            _ => Err(self.error(format!("`{done}` is a single value: nothing hangs below it")).help(format!("set `{done}` itself"))),
        }
    }

    fn element(
        &self,
        array: &mut DeArray<'i>,
        path: &[&str],
        last: &str,
        schema: &Value,
        root: &Value,
        done: &str,
    ) -> Result<(), Diagnostic> {
        let Some((segment, rest)) = path.split_first() else {
            let help = format!("name a key of an element, like `{done}.{last}.weight`, or set the whole of `{done}`");
            return Err(self.error(format!("`{done}` is a list, and `{last}` an element of it")).help(help));
        };
        let index = self.index(array, segment, done)?;
        match array.as_mut()[index].get_mut() {
            DeValue::Table(inner) => self.descend(inner, rest, last, schema, root, &format!("{done}.{segment}")),
            _ => Err(self.error(format!("`{done}.{segment}` is a single value: nothing hangs below it"))),
        }
    }

    fn missing<'a>(&self, segment: &str, place: &str, present: impl Iterator<Item = &'a str>) -> Diagnostic {
        let present: Vec<&str> = present.collect();
        let finding = self.error(format!("there is no `{segment}` in {place}"));
        match closest(segment, present.iter().copied()) {
            Some(name) => finding.help(format!("did you mean `{name}`?")),
            None => finding.help(format!("present: {}", alternatives(present))),
        }
    }

    fn error(&self, problem: impl Into<String>) -> Diagnostic {
        Diagnostic::error(self.span.clone(), problem)
    }
}

fn remove_at(array: &mut DeArray<'_>, index: usize) {
    let elements = std::mem::replace(array, DeArray::new()).into_iter().enumerate();
    *array = elements.filter(|(at, _)| *at != index).map(|(_, element)| element).collect();
}

fn root_has_property(schema: &Value, root: &Value, segment: &str) -> bool {
    below(schema, root, segment).is_some() && schema.get("additionalProperties").is_none_or(|rest| !rest.is_object())
}

/// The same tree with all places moved by `base`.
pub(crate) fn shift(value: Spanned<DeValue<'_>>, base: usize) -> Spanned<DeValue<'_>> {
    let span = value.span().start + base..value.span().end + base;
    Spanned::new(
        span,
        match value.into_inner() {
            DeValue::Array(array) => DeValue::Array(array.into_iter().map(|element| shift(element, base)).collect()),
            DeValue::Table(table) => {
                let mut shifted = DeTable::new();
                for (key, value) in table {
                    let span = key.span().start + base..key.span().end + base;
                    shifted.insert(Spanned::new(span, key.into_inner()), shift(value, base));
                }
                DeValue::Table(shifted)
            }
            scalar => scalar,
        },
    )
}
