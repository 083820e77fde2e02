//! Loads scenario and policy files: TOML to typed configuration to ready objects, with errors that point at the line.
//!
//! ```text
//! text -> tree with fragments -> overrides -> templates, lists -> judged by the schema -> directions -> tables -> presets -> policies, network, experiment
//! ```
//!
//! [`load`] returns a complete, checked scenario that can be run as it is. All errors are reported together as [`Problems`]: file, line,
//! column, the line with the place marked, and what would be right.
//!
//! | module | holds |
//! |---|---|
//! | [`scenario`] | loading; a scenario and its variants |
//! | [`policy`] | what an output port does with its packets |
//! | [`simulation`] | the network and the experiment |
//! | [`promise`] | promises, and whether they were kept |
//! | [`proof`] | what is proven of every flow and queue before it runs |
//! | [`proven`] | every promise beside what is proven of it |
//! | [`admit`] | whether a further flow can be proven its promise, and what it could have instead |
//! | [`plan`] | values of free keys with which every promise is proven |
//! | [`machine`] | machine files: a machine that forwards frames, its flows, and a question |
//! | [`sweep`] | values for several keys of a file: grids, lists, draws |
//! | [`units`] | quantities, read and printed |
//! | [`bounds`] | bounds of every flow and queue; guaranteed rates and longest gaps of every port |
//! | [`guarantee`] | guaranteed rates, or the reason why there is none |
//! | [`diagnostic`] | errors and warnings |
//! | [`edit`] | single edits of a file: elements that come and go |
//! | [`explain`] | what a packet meets at a port; how two policies of a port differ |
//! | [`bufferbloat`] | remarks on long queues of TCP traffic |
//! | [`summary`] | the description of a file as text |
//!
//! ```
//! let text = r#"
//! [policy.access]
//! rate = "10 Mbit/s"
//! scheduler = "strict-priority"
//! [[policy.access.class]]
//! name = "voice"
//! match = [{ dscp = "ef" }]
//! priority = 0
//! "#;
//! let scenario = tidegate_scenario::parse_str("access.toml", text).unwrap();
//! let setup = scenario.policy(None).unwrap().setup();
//! assert_eq!(setup.classifier.classes().len(), 2); // voice, and the rest
//!
//! let problems = tidegate_scenario::parse_str("access.toml", &text.replace("priority = 0", "weight = 3")).unwrap_err();
//! assert!(problems.to_string().contains("--> access.toml:8:10"), "{problems}");
//! ```
#![warn(missing_docs)]

pub mod admit;
mod aqm;
pub mod bounds;
pub mod bufferbloat;
pub mod diagnostic;
pub mod edit;
pub mod explain;
pub mod guarantee;
pub mod machine;
mod partition;
pub mod plan;
pub mod policy;
pub mod promise;
pub mod proof;
pub mod proven;
pub mod scenario;
pub mod simulation;
pub mod summary;
pub mod sweep;
pub mod units;

mod added_flow;
mod broker;
mod budget;
mod buffer;
mod calls;
mod capture;
mod cells;
mod change;
mod choice;
mod contract;
mod detail;
mod directions;
mod document;
mod endpoint;
mod extent;
mod failures;
mod files;
mod flood;
mod fragments;
mod free;
mod generated;
mod graphml;
mod header;
mod holes;
mod leaves;
mod link;
mod lists;
mod loops;
mod overhead;
mod overrides;
mod preset;
mod queues;
mod rate_trace;
mod rates;
mod remark;
mod rows;
mod rules;
mod schema;
mod service;
mod sizes;
mod slots;
mod source;
mod structure;
mod synonyms;
mod tcp;
mod templates;
mod text;
mod texts;
mod topology;
mod tree;
mod value;

pub use aqm::QueueManagement;
pub use change::PolicyChange;
pub use contract::Policing;
pub use diagnostic::Problems;
pub use files::FileSet;
pub use guarantee::{Guarantee, LeastRate};
pub use partition::{Buffer, Owner, Partition};
pub use policy::Policy;
pub use promise::Promise;
pub use scenario::{Scenario, Variant, gather, load, load_policies, parse_policies, parse_str, parse_text, read_policies};
pub use schema::{editor_schema, schema};
pub use simulation::Simulation;
pub use text::matches_pattern;
pub use value::Percentile;
