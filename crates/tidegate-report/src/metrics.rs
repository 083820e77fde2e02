//! The figures of single replications by name.

use crate::model::{ReplicationRow, RowScope};

/// The names of the figures, in the order of their columns; the unit is in the name.
pub const METRICS: [&str; 22] = [
    "throughput_bps",
    "loss",
    "delay_mean_s",
    "delay_p50_s",
    "delay_p99_s",
    "delay_p999_s",
    "delay_max_s",
    "jitter_s",
    "goodput_bps",
    "segments",
    "retransmissions",
    "timeouts",
    "recoveries",
    "utilisation",
    "occupancy_mean_bytes",
    "occupancy_max_bytes",
    "paused_s",
    "pauses",
    "completion_mean_s",
    "completion_p99_s",
    "slowdown_mean",
    "slowdown_p99",
];

/// What the metrics are called, in the order of [`METRICS`].
pub(crate) const METRIC_WORDS: [&str; METRICS.len()] = [
    "throughput",
    "loss",
    "mean delay",
    "median delay",
    "99 % delay",
    "99.9 % delay",
    "largest delay",
    "jitter",
    "goodput",
    "segments",
    "retransmissions",
    "timeouts",
    "recoveries",
    "utilisation",
    "mean occupancy",
    "largest occupancy",
    "time paused",
    "pauses",
    "mean completion time",
    "99 % completion time",
    "mean slowdown",
    "99 % slowdown",
];

impl RowScope {
    /// True if rows of this scope can have the metric at this index of [`METRICS`]. Flows without TCP and ports without pauses have fewer.
    pub const fn has(self, metric: usize) -> bool {
        match self {
            RowScope::Flow => matches!(metric, 0..=12),
            RowScope::Port => matches!(metric, 0..=1 | 13..=17),
            RowScope::Workload => matches!(metric, 0 | 18..=21),
        }
    }
}

/// The unit of a metric, as an axis has it; empty for plain numbers.
pub(crate) fn unit_of(metric: &str) -> &'static str {
    match metric.rsplit('_').next() {
        Some("bps") => "bps",
        Some("s") => "s",
        Some("bytes") => "bytes",
        _ if metric == "loss" || metric == "utilisation" => "share",
        _ => "",
    }
}

impl ReplicationRow {
    /// Its figures, in the order of [`METRICS`].
    pub fn figures(&self) -> [Option<f64>; METRICS.len()] {
        let delay = |index: usize| self.delay_s.map(|delay| delay[index]);
        let completion = |index: usize| self.completions.map(|figures| figures[index]);
        let count = |index: usize| self.segments.map(|counts| counts[index] as f64);
        [
            Some(self.throughput_bps),
            self.loss,
            delay(0),
            delay(1),
            delay(2),
            delay(3),
            delay(4),
            self.jitter_s,
            self.goodput_bps,
            count(0),
            count(1),
            count(2),
            count(3),
            self.port.map(|port| port.0),
            self.port.map(|port| port.1),
            self.port.map(|port| port.2 as f64),
            self.pauses.map(|pauses| pauses.0),
            self.pauses.map(|pauses| pauses.1 as f64),
            completion(0),
            completion(1),
            completion(2),
            completion(3),
        ]
    }
}

/// A figure with the unit of its metric, such as "12.4 ms".
pub fn shown_figure(metric: &str, value: f64) -> String {
    let sign = if value < 0.0 { "−" } else { "" };
    let size = value.abs();
    let text = match unit_of(metric) {
        "bps" => crate::format_rate(size),
        "s" => crate::format_time(size),
        "bytes" => crate::format_bytes(size),
        "share" => crate::format_ratio(size),
        _ => format!("{}", (size * 100.0).round() / 100.0),
    };
    format!("{sign}{text}")
}
