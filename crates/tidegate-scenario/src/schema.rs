//! The JSON Schema of scenario and policy files, derived from the tables of the loader.

use crate::document::File;
use crate::value::{LEAF, Leaf};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;
use std::sync::OnceLock;

/// The schema for editors, which see files as they are written: in place of a value there may be a text with a hole, which a loop or a template fills.
pub fn editor_schema() -> Value {
    let mut schema = schema().clone();
    allow_holes(&mut schema);
    schema
}

/// Allows a text with a hole wherever there is a value.
fn allow_holes(schema: &mut Value) {
    match schema {
        Value::Object(object) if object.contains_key(LEAF) => {
            let keys: Vec<String> = object.keys().filter(|key| !DESCRIBING.contains(&key.as_str())).cloned().collect();
            let value: serde_json::Map<_, _> = keys.into_iter().filter_map(|key| object.remove_entry(&key)).collect();
            let hole = serde_json::json!({ "type": "string", "pattern": "\\{[^{}]+\\}" });
            object.insert("anyOf".to_owned(), serde_json::json!([value, hole]));
        }
        Value::Object(object) => object.values_mut().for_each(allow_holes),
        Value::Array(values) => values.iter_mut().for_each(allow_holes),
        _ => {}
    }
}

/// The JSON Schema (draft 2020-12) of files whose loops and templates are filled. Keys that begin with `x-` are for the reference and the loader.
pub fn schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let mut schema = schema_of::<File>();
        allow_lists(&mut schema["$defs"]["RuleTable"]["properties"]);
        schema
    })
}

/// The schema of a kind of file.
pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>().to_value();
    drop_null(&mut schema);
    schema
}

/// Keys of a value's schema that describe it, and do not say what is allowed.
const DESCRIBING: [&str; 6] = [LEAF, "description", "default", "examples", "x-meanings", "title"];

/// Allows a list of values wherever a rule has a single one.
fn allow_lists(properties: &mut Value) {
    let values = properties.as_object_mut().into_iter().flat_map(|properties| properties.values_mut());
    for value in values.filter(|value| value[LEAF].as_str().is_some_and(|leaf| leaf != <bool as Leaf>::NAME)) {
        let Value::Object(value) = value else { continue };
        let keys: Vec<String> = value.keys().filter(|key| !DESCRIBING.contains(&key.as_str())).cloned().collect();
        let mut single = serde_json::Map::new();
        for key in keys {
            // The loader and the reference read the range beside the description.
            let constraint = if matches!(key.as_str(), "minimum" | "maximum") { value.get(&key).cloned() } else { value.remove(&key) };
            single.extend(constraint.map(|constraint| (key, constraint)));
        }
        let list = serde_json::json!({ "type": "array", "items": single, "minItems": 1 });
        value.insert("anyOf".to_owned(), serde_json::json!([single, list]));
    }
}

/// Removes `null`: TOML has none, and an optional key may be absent.
fn drop_null(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|kind| kind != "null");
                if let [single] = types.as_slice() {
                    let single = single.clone();
                    object.insert("type".to_owned(), single);
                }
            }
            if let Some(Value::Array(options)) = object.get_mut("anyOf") {
                let before = options.len();
                options.retain(|option| option["type"] != "null");
                if let ([single], true) = (options.as_slice(), options.len() < before) {
                    let single = single.clone();
                    object.remove("anyOf");
                    if let Value::Object(single) = single {
                        object.extend(single);
                    }
                }
            }
            if let Some(Value::Array(names)) = object.get_mut("enum") {
                names.retain(|name| !name.is_null());
            }
            object
                .remove("default")
                .filter(|default| !default.is_null() && default != &serde_json::json!([]) && default != &serde_json::json!({}))
                .map(|default| object.insert("default".to_owned(), default));
            object.values_mut().for_each(drop_null);
        }
        Value::Array(values) => values.iter_mut().for_each(drop_null),
        _ => {}
    }
}
