//! Scenario and policy files.

pub mod choice;
pub mod contract;
pub mod diagnostic;
pub mod document;
pub mod header;
pub mod overrides;
pub mod policy;
pub mod promise;
pub mod rules;
pub mod schema;
pub mod structure;
pub mod tree;
pub mod units;
pub mod value;
