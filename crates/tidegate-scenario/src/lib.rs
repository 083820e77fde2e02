//! Scenario and policy files.

pub mod units;
