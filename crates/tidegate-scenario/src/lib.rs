//! Scenario and policy files.

pub mod choice;
pub mod diagnostic;
pub mod document;
pub mod header;
pub mod overrides;
pub mod schema;
pub mod structure;
pub mod units;
pub mod value;

#[test]
fn show() {
    println!("{}", serde_json::to_string_pretty(schema::schema()).unwrap());
}
