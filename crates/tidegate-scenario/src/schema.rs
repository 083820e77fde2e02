//! The JSON Schema of scenario and policy files, derived from the tables of the loader.

use crate::document::File;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;
use std::sync::OnceLock;

/// The JSON Schema (draft 2020-12) for editors. Keys that begin with `x-` are for the reference and the loader.
pub fn schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(schema_of::<File>)
}

/// The schema of a kind of file.
pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>().to_value();
    drop_null(&mut schema);
    schema
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
