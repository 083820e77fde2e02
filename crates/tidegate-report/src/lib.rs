//! Results of a run as a terminal table, JSON, Parquet tables and one self-contained HTML page.
//!
//! The command that ran the traffic fills in a [`Report`]. [`terminal`] shows it as text and [`summary_json`] as JSON. [`write_all`] writes the
//! folder: `summary.json`, `report.html` and the Parquet tables of flows, ports, classes, series, distributions, drops, replications and workloads. A
//! [`Reproduction`] is the same for published experiments, a [`CapacityReport`] for what a machine forwards.
//!
//! Every command writes files through [`OutputFile`] and [`OutputFolder`]: a regular file or a folder of results comes to its place complete and in
//! one step. [`Places`] keeps outputs apart from inputs and from each other.
//!
//! ```
//! use tidegate_report::{PromiseResult, Report, Run, TerminalOptions, World, terminal};
//!
//! let mut run = Run::new("with the policy");
//! run.promises.push(PromiseResult {
//!     flow: "voice".into(),
//!     promise: "delay p99 at most 20 ms".into(),
//!     measured: "12.4 ms".into(),
//!     kept: true,
//! });
//! let mut report = Report::new("Access link", World::Simulation, "quickstart.toml");
//! report.runs.push(run);
//! report.validate().unwrap();
//! let text = terminal(&report, TerminalOptions { width: 80, colour: false });
//! assert!(text.contains("✔ kept 12.4 ms"));
//! ```

mod bound;
mod bounded_flows;
mod capacity;
mod capture;
mod chart;
mod class_pause;
mod columnar;
mod comparison;
mod completion_log;
mod decimate;
mod error;
mod estimate;
mod failure;
pub mod figure;
mod folder;
mod grid;
mod html;
mod idle_aqms;
mod json;
mod layout;
mod measurements;
mod metrics;
mod model;
mod output;
mod packet_trace;
mod parameter;
mod parquet_tables;
mod places;
mod plain;
mod plot;
mod quantity;
mod queue_management;
mod reproduction;
mod sweep;
mod table;
mod unfinished;
mod validate;
mod verdict;
mod volume;
mod workload;
mod workload_views;

pub use bound::{BoundResult, ClassBound, FlowBound, PacketResult};
pub use capacity::{
    CAPACITY_SCHEMA, CapacityReport, CeilingResult, DelayQuantile, FlowLoad, ForwardingResult, LoadResult, LossCount, PauseResult,
    capacity_delays, capacity_html, capacity_json, capacity_terminal, write_capacity,
};
pub use capture::{CaptureResult, UnseenPackets};
pub use class_pause::ClassPause;
pub use columnar::{Column, Values};
pub use comparison::{ComparedFigure, Comparison, Likelihood, comparison_json, comparison_terminal, write_comparison};
pub use completion_log::{CompletedConnection, CompletionLog};
pub use error::{OutputError, ReportError};
pub use failure::FailureResult;
pub use folder::{OutputFolder, write_all};
pub use html::report_html;
pub use json::{SUMMARY_SCHEMA, summary_json};
pub use measurements::{Measurement, REPLICATIONS, read_measurements, write_point};
pub use metrics::{METRICS, shown_figure};
pub use model::{
    CallResult, CellResult, ChangeDone, ChangeResult, ClassResult, DelaySummary, Distribution, DistributionKind, DropCount, Estimate,
    FlowResult, KernelResult, PortResult, PromiseResult, RefusalCount, ReplicationRow, Report, RowScope, Run, Series, SeriesKind,
    TaggingResult, TcpResult, TransferSummary, Volume, World,
};
pub use output::OutputFile;
pub use packet_trace::{PacketStep, PacketTrace};
pub use parameter::{Numbers, Parameter};
pub use parquet_tables::TABLES;
pub use places::Places;
pub use quantity::{format_bytes, format_count, format_packet_rate, format_rate, format_ratio, format_time};
pub use queue_management::{AqmResult, SojournSummary};
pub use reproduction::{
    ExperimentResult, REPRODUCTION_SCHEMA, Reproduction, Tally, reproduction_html, reproduction_json, reproduction_terminal,
    write_reproduction,
};
pub use sweep::{SweepResult, SweepRow, SweptFigure, sweep_columns, sweep_html, sweep_json, sweep_terminal, write_sweep};
pub use table::{TerminalOptions, terminal};
pub use unfinished::remove_unfinished;
pub use workload::{CompletionResult, RoundResult, WorkloadResult};

// The sample report of the tests names this crate by its public name.
#[cfg(test)]
extern crate self as tidegate_report;

#[cfg(test)]
#[path = "../tests/sample/mod.rs"]
mod sample;
