//! Judges a file's tree by the schema: unknown and missing keys, and every value. All errors are reported at once.
//!
//! Editors use the same schema, so an editor and the loader accept the same files.

use crate::diagnostic::{Diagnostic, Span, alternatives, closest};
use crate::leaves::check;
use crate::synonyms::known_elsewhere;
use crate::value::{LEAF, Leaf, Name, Scalar};
use serde_json::Value;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// Reports everything in `root` that the schema does not allow.
pub fn judge(root: &Spanned<DeTable<'_>>, schema: &Value, findings: &mut Vec<Diagnostic>) {
    Judge { definitions: &schema["$defs"], findings }.table(root.get_ref(), root.span(), schema, "");
}

/// The same for a table at `path`.
pub fn judge_below(table: &DeTable<'_>, span: Span, schema: &Value, path: &str, findings: &mut Vec<Diagnostic>) {
    Judge { definitions: &schema["$defs"], findings }.table(table, span, schema, path);
}

/// The schema of the key `segment` below `schema`, if there is one.
pub fn below<'a>(schema: &'a Value, root: &'a Value, segment: &str) -> Option<&'a Value> {
    let schema = table_of(resolve(schema, &root["$defs"]), &root["$defs"]);
    match schema["properties"].get(segment) {
        Some(property) => Some(resolve(property, &root["$defs"])),
        None => schema.get("additionalProperties").filter(|rest| rest.is_object()).map(|rest| resolve(rest, &root["$defs"])),
    }
}

/// The schema of a list's elements.
pub fn items<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    resolve(&schema["items"], &root["$defs"])
}

fn resolve<'a>(schema: &'a Value, definitions: &'a Value) -> &'a Value {
    match schema["$ref"].as_str().and_then(|reference| reference.strip_prefix("#/$defs/")) {
        Some(name) => &definitions[name],
        None => schema,
    }
}

/// The table, where a table may replace a value.
fn table_of<'a>(schema: &'a Value, definitions: &'a Value) -> &'a Value {
    let options = schema["anyOf"].as_array().filter(|_| schema.get(LEAF).is_none());
    let mut options = options.into_iter().flatten().map(|option| resolve(option, definitions));
    options.find(|option| option["type"] == "object").unwrap_or(schema)
}

/// A value of the tree as a scalar.
pub fn scalar<'a>(value: &'a DeValue<'_>) -> Scalar<'a> {
    match value {
        DeValue::String(text) => Scalar::Text(text.as_ref().into()),
        DeValue::Integer(integer) => match i128::from_str_radix(integer.as_str(), integer.radix()) {
            Ok(integer) => Scalar::Integer(integer),
            Err(_) => Scalar::Other("a number of more than 38 digits"),
        },
        DeValue::Float(float) => Scalar::Decimal(float.as_str().into()),
        DeValue::Boolean(boolean) => Scalar::Boolean(*boolean),
        DeValue::Datetime(_) => Scalar::Other("a date or time"),
        DeValue::Array(_) => Scalar::Other("a list"),
        DeValue::Table(_) => Scalar::Other("a table"),
    }
}

struct Judge<'a> {
    definitions: &'a Value,
    findings: &'a mut Vec<Diagnostic>,
}

impl Judge<'_> {
    fn value(&mut self, value: &Spanned<DeValue<'_>>, schema: &Value, path: &str) {
        let schema = resolve(schema, self.definitions);
        let table = table_of(schema, self.definitions);
        if !std::ptr::eq(table, schema) {
            let is_table = value.get_ref().is_table();
            let leaf = schema["anyOf"].as_array().into_iter().flatten().find(|option| option.get(LEAF).is_some());
            return self.value(value, leaf.filter(|_| !is_table).unwrap_or(table), path);
        }
        if schema.get(LEAF).is_some() {
            if let Err(problem) = check(schema, &scalar(value.get_ref())) {
                self.findings.push(Diagnostic::error(value.span(), format!("{path}: {problem}")));
            }
            return;
        }
        match (schema["type"].as_str(), value.get_ref()) {
            (Some("object"), DeValue::Table(table)) => self.table(table, value.span(), schema, path),
            (Some("array"), DeValue::Array(array)) => {
                for (index, element) in array.iter().enumerate() {
                    let name = name_of(element).map_or_else(|| (index + 1).to_string(), str::to_owned);
                    self.value(element, &schema["items"], &format!("{path}.{name}"));
                }
            }
            (Some("object"), found) => {
                let mut finding = Diagnostic::error(value.span(), format!("{path}: expected a table, not {}", scalar(found)));
                if found.is_array() {
                    finding = finding.help(format!("there is only one of it: write [{path}] with single brackets, or {{ ... }}"));
                }
                self.findings.push(finding);
            }
            (Some("array"), found) => {
                let mut finding = Diagnostic::error(value.span(), format!("{path}: expected a list, not {}", scalar(found)));
                let have_names = resolve(&schema["items"], self.definitions)["properties"].get("name").is_some();
                if found.is_table() && have_names {
                    finding =
                        finding.help(format!("there can be several of it: write [[{path}]] with double brackets, and give each a `name`"));
                } else {
                    finding = finding.help("put it in square brackets, even if there is only one");
                }
                self.findings.push(finding);
            }
            _ => {}
        }
    }

    fn table(&mut self, table: &DeTable<'_>, span: Span, schema: &Value, path: &str) {
        let none = serde_json::Map::new();
        let properties = schema["properties"].as_object().unwrap_or(&none);
        let rest = schema.get("additionalProperties").filter(|rest| rest.is_object());
        let open = schema["additionalProperties"] == Value::Bool(true);
        let dotted = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            if let Some(property) = properties.get(name) {
                self.value(value, property, &dotted(name));
            } else if let Some(rest) = rest {
                if let Err(problem) = Name::read(&Scalar::Text(name.into())) {
                    self.findings.push(Diagnostic::error(key.span(), format!("{path}: {problem}")));
                }
                self.value(value, rest, &dotted(name));
            } else if !open {
                self.unknown(name, key.span(), properties, table, path);
            }
        }
        for key in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !table.contains_key(key) {
                let place = if path.is_empty() { "the file" } else { path };
                self.findings.push(lacking(place, key, span.clone(), schema));
            }
        }
    }

    fn unknown(&mut self, name: &str, span: Span, properties: &serde_json::Map<String, Value>, table: &DeTable<'_>, path: &str) {
        let place = if path.is_empty() { "the file's top level".to_owned() } else { path.to_owned() };
        let finding = Diagnostic::error(span, format!("unknown key `{name}` in {place}"));
        let mut keys: Vec<&str> = properties.keys().map(String::as_str).collect();
        keys.sort_unstable();
        // A key that the table has already cannot be meant.
        let free = || keys.iter().copied().filter(|key| !table.contains_key(*key));
        let mut meant = known_elsewhere(name, free());
        if meant.is_empty() {
            meant.extend(closest(name, free()));
        }
        let given = known_elsewhere(name, keys.iter().copied()).into_iter().next();
        let slip = closest(name, keys.iter().copied());
        self.findings.push(match (meant.is_empty(), given, slip) {
            (false, ..) => finding.help(format!("did you mean {}?", alternatives(meant))),
            (true, Some(given), _) => finding.help(format!("`{given}` is given already")),
            (true, None, Some(slip)) => finding.help(format!("did you mean `{slip}`? It is given already")),
            (true, None, None) => finding.help(format!("known here: {}", alternatives(keys).replace(" or ", " and "))),
        });
    }
}

/// A table lacks a key of its schema.
pub fn lacking(place: &str, key: &str, span: Span, schema: &Value) -> Diagnostic {
    let finding = Diagnostic::error(span, format!("{place} lacks `{key}`")).label(format!("`{key}` is missing here"));
    match schema["properties"][key]["description"].as_str() {
        Some(meaning) => finding.help(format!("`{key}`: {}", first_sentence(meaning))),
        None => finding,
    }
}

/// Puts an element behind the others of a list; a class before one without `match`, which is the last. `key` is that of the list.
pub fn insert_class<'i>(array: &mut DeArray<'i>, element: Spanned<DeValue<'i>>, key: &str) {
    let takes_the_rest =
        |element: &Spanned<DeValue<'_>>| key == "class" && element.get_ref().as_table().is_some_and(|table| !table.contains_key("match"));
    let behind = array.iter().last().is_some_and(takes_the_rest) && !takes_the_rest(&element);
    array.push(element);
    if behind {
        let last = array.len() - 1;
        array.as_mut().swap(last - 1, last);
    }
}

/// The `name` of a table in a list.
pub fn name_of<'a>(element: &'a Spanned<DeValue<'_>>) -> Option<&'a str> {
    element.get_ref().as_table()?.get("name")?.get_ref().as_str()
}

fn first_sentence(text: &str) -> String {
    let text = text.replace('\n', " ");
    text.split_once(". ").map_or(text.trim_end_matches('.').to_owned(), |(first, _)| first.to_owned())
}
