//! The report as `summary.json`: everything but the time series and distributions, which the Parquet tables hold.

use serde::Serialize;

use crate::model::{Report, Run};

/// Version of the layout of `summary.json`. It rises when a field changes its meaning or goes; a new field leaves it.
pub const SUMMARY_SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Summary<'a> {
    schema: u32,
    #[serde(flatten)]
    report: &'a Report,
    promises_kept: bool,
    runs: Vec<RunSummary<'a>>,
}

#[derive(Serialize)]
struct RunSummary<'a> {
    name: &'a str,
    promises_kept: bool,
    #[serde(flatten)]
    run: &'a Run,
    #[serde(skip_serializing_if = "Option::is_none")]
    tcp_fairness: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tcp_fairness_half_width: Option<f64>,
}

/// `summary.json` as text: indented, fields always present and in the order of the model, ending with a line feed.
///
/// A number that is not finite, which [`Report::validate`] would refuse, becomes `null`.
pub fn summary_json(report: &Report) -> String {
    let run = |run| {
        let &Run { ref name, tcp_fairness, .. } = run;
        RunSummary {
            name,
            promises_kept: run.promises_kept(),
            run,
            tcp_fairness: tcp_fairness.map(|index| index.mean),
            tcp_fairness_half_width: tcp_fairness.and_then(|index| index.half_width),
        }
    };
    let runs = report.runs.iter().map(run).collect();
    let summary = Summary { schema: SUMMARY_SCHEMA, report, promises_kept: report.promises_kept(), runs };
    let mut text = serde_json::to_string_pretty(&summary).expect("the summary has only string keys, and writing to a string does not fail");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::sample::sample_report;

    fn parsed(report: &Report) -> Value {
        serde_json::from_str(&summary_json(report)).unwrap()
    }

    /// The paths of all fields, array positions left out.
    fn paths(value: &Value, path: &str, found: &mut std::collections::BTreeSet<String>) {
        match value {
            Value::Object(fields) => {
                for (name, field) in fields {
                    paths(field, &format!("{path}.{name}"), found);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| paths(item, path, found)),
            _ => {
                found.insert(path.trim_start_matches('.').to_owned());
            }
        }
    }

    #[test]
    fn the_layout_is_the_one_that_schema_1_stands_for() {
        let mut found = std::collections::BTreeSet::new();
        paths(&parsed(&sample_report()), "", &mut found);
        let expected = include_str!("../tests/summary_schema_1.txt");
        let found: Vec<String> = found.into_iter().collect();
        assert_eq!(found.join("\n"), expected.trim_end());
    }

    #[test]
    fn figures_come_through_unchanged() {
        let report = sample_report();
        let json = parsed(&report);
        let flow = &json["runs"][1]["flows"][0];
        let expected = &report.runs[1].flows[0];
        assert_eq!(flow["offered"]["packets"], expected.offered.packets);
        assert_eq!(flow["throughput_bps"]["mean"], expected.throughput_bps.mean);
        assert_eq!(json["promises_kept"], false);
        assert_eq!(json["runs"][0]["promises_kept"], true);
        assert_eq!(json["runs"][1]["promises"][0]["kept"], false);
    }

    #[test]
    fn what_is_not_finite_becomes_null() {
        let mut report = sample_report();
        report.runs[0].flows[0].loss.mean = f64::NAN;
        report.runs[0].flows[0].throughput_bps.mean = f64::INFINITY;
        let json = parsed(&report);
        assert!(json["runs"][0]["flows"][0]["loss"]["mean"].is_null());
        assert!(json["runs"][0]["flows"][0]["throughput_bps"]["mean"].is_null());
    }

    #[test]
    fn the_same_report_gives_the_same_bytes() {
        assert_eq!(summary_json(&sample_report()), summary_json(&sample_report()));
    }
}
