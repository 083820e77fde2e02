//! The folder of a reproduction: `summary.json`, `series.parquet` and `report.html`.

use super::{Reproduction, reproduction_html};
use crate::bound::FlowBound;
use crate::columnar::{Column, Values};
use crate::error::ReportError;
use crate::figure::{Departure, Figure, Gate, Table, Verdict};
use crate::folder::OutputFolder;
use serde::Serialize;
use std::path::PathBuf;

/// Version of the layout of a reproduction's `summary.json`. It rises when a field changes its meaning or goes; a new field leaves it.
pub const REPRODUCTION_SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Summary<'a> {
    schema: u32,
    tidegate_version: &'a str,
    passed: bool,
    experiments: Vec<ExperimentSummary<'a>>,
    /// Figures of which a number is not the paper's, as stated beside it.
    not_reproduced: usize,
}

#[derive(Serialize)]
struct ExperimentSummary<'a> {
    id: &'a str,
    title: &'a str,
    source: &'a str,
    figures: Vec<FigureSummary<'a>>,
}

#[derive(Serialize)]
struct FigureSummary<'a> {
    id: &'a str,
    title: &'a str,
    source: &'a str,
    passed: bool,
    verdict: Verdict,
    paper: &'a [String],
    notes: &'a [String],
    gates: Vec<GateSummary<'a>>,
    tables: &'a [Table],
    bounds: &'a [FlowBound],
}

#[derive(Serialize)]
struct GateSummary<'a> {
    #[serde(flatten)]
    gate: &'a Gate,
    passed: bool,
    verdict: Verdict,
    published: &'a Option<Departure>,
}

impl<'a> FigureSummary<'a> {
    fn new(figure: &'a Figure) -> Self {
        let Figure { id, title, source, paper, notes, gates, tables, bounds, charts: _ } = figure;
        let summary = |gate: &'a Gate| GateSummary { gate, passed: gate.passed(), verdict: gate.verdict(), published: &gate.departure };
        let gates = gates.iter().map(summary).collect();
        Self { id, title, source, passed: figure.passed(), verdict: figure.verdict(), paper, notes, gates, tables, bounds }
    }
}

/// `summary.json` as text, ending with a line feed.
pub fn reproduction_json(reproduction: &Reproduction) -> String {
    let experiments = reproduction.experiments.iter().map(|experiment| ExperimentSummary {
        id: &experiment.id,
        title: &experiment.title,
        source: &experiment.source,
        figures: experiment.figures.iter().map(FigureSummary::new).collect(),
    });
    let summary = Summary {
        schema: REPRODUCTION_SCHEMA,
        tidegate_version: &reproduction.tidegate_version,
        passed: reproduction.passed(),
        experiments: experiments.collect(),
        not_reproduced: reproduction.tally().not_reproduced,
    };
    let mut text = serde_json::to_string_pretty(&summary).expect("the summary has only string keys, and writing to a string does not fail");
    text.push('\n');
    text
}

/// Every point of every curve: one row per experiment, figure, chart, panel, curve and point.
fn series(reproduction: &Reproduction) -> Vec<Column<'_>> {
    let (mut names, mut x, mut y) = ([const { Vec::new() }; 5], Vec::new(), Vec::new());
    for (experiment, figure) in reproduction.figures() {
        for chart in &figure.charts {
            for panel in &chart.panels {
                for curve in &panel.curves {
                    let keys = [experiment.id.as_str(), figure.id, chart.id, &panel.name, &curve.name];
                    for (names, key) in names.iter_mut().zip(keys) {
                        names.extend(std::iter::repeat_n(key, curve.x.len()));
                    }
                    x.extend_from_slice(&curve.x);
                    y.extend_from_slice(&curve.y);
                }
            }
        }
    }
    let text = ["experiment", "figure", "chart", "panel", "curve"].into_iter().zip(names);
    let mut columns: Vec<Column<'_>> = text.map(|(name, values)| Column { name, values: Values::Text(values) }).collect();
    columns.extend([Column { name: "x", values: Values::Number(x) }, Column { name: "y", values: Values::Number(y) }]);
    columns
}

/// Writes `summary.json`, `series.parquet` and `report.html` into `folder` and puts it in place, as [`write_all`](crate::write_all) does.
/// Returns their paths, the page last.
///
/// # Errors
/// What [`Reproduction::validate`] finds, before anything is written; [`ReportError::Output`], [`ReportError::Io`] or
/// [`ReportError::Parquet`] if the file system refuses.
pub fn write_reproduction(reproduction: &Reproduction, mut folder: OutputFolder) -> Result<Vec<PathBuf>, ReportError> {
    reproduction.validate()?;
    folder.write("summary.json", reproduction_json(reproduction).as_bytes())?;
    folder.write_table("series.parquet", &series(reproduction))?;
    folder.write("report.html", reproduction_html(reproduction).as_bytes())?;
    Ok(folder.finish()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columnar;
    use crate::reproduction::tests::sample;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    #[test]
    fn json_holds_gates_and_verdicts() {
        let json: serde_json::Value = serde_json::from_str(&reproduction_json(&sample())).unwrap();
        assert_eq!(json["passed"], false);
        let figure = &json["experiments"][0]["figures"][0];
        assert_eq!(figure["passed"], true);
        assert_eq!((&figure["verdict"], json["not_reproduced"].as_u64()), (&"passed".into(), Some(1)));
        let stated = &json["experiments"][0]["figures"][2];
        assert_eq!((&stated["passed"], &stated["verdict"]), (&true.into(), &"not reproduced".into()));
        assert_eq!(stated["gates"][1]["published"]["high"][0], 3.0);
        assert_eq!(figure["gates"][0]["measured"][1], 20.0);
        assert!(figure["gates"][1]["low"].is_null());
        assert_eq!(figure["tables"][0]["rows"][1][0], "64 167");
        let bounds = &figure["bounds"];
        assert_eq!((&bounds[0]["ratio"], &bounds[0]["held"], &bounds[0]["count"]), (&0.7.into(), &true.into(), &4.into()));
        assert_eq!((&bounds[1]["reason"], &bounds[1]["held"]), (&"source `tcp` is not limited".into(), &serde_json::Value::Null));
    }

    #[test]
    fn the_layout_is_the_one_that_schema_1_stands_for() {
        fn names(value: &serde_json::Value, found: &mut std::collections::BTreeSet<String>, path: &str) {
            match value {
                serde_json::Value::Object(fields) => fields.iter().for_each(|(name, field)| names(field, found, &format!("{path}.{name}"))),
                serde_json::Value::Array(items) => items.iter().for_each(|item| names(item, found, path)),
                _ => {
                    found.insert(path.trim_start_matches(".experiments").to_owned());
                }
            }
        }
        let mut found = std::collections::BTreeSet::new();
        names(&serde_json::from_str(&reproduction_json(&sample())).unwrap(), &mut found, "");
        let figure = [
            "high",
            "low",
            "measured",
            "name",
            "passed",
            "published",
            "published.high",
            "published.low",
            "published.why",
            "unit",
            "verdict",
        ];
        let figure = figure.map(|name| format!("gates.{name}"));
        let bounds = ["count", "delay_ps", "flow", "held", "method", "ratio", "reason", "run"].map(|name| format!("bounds.{name}"));
        let packet = ["came_ps", "delay_ps", "left_ps", "number", "replication"].map(|name| format!("bounds.longest.{name}"));
        let more = ["id", "notes", "paper", "passed", "source", "tables.head", "tables.rows", "tables.title", "title", "verdict"]
            .map(String::from);
        let head = [".id", ".not_reproduced", ".passed", ".schema", ".source", ".tidegate_version", ".title"];
        let mut expected: Vec<String> = head.map(String::from).into();
        expected.extend(figure.iter().chain(&bounds).chain(&packet).chain(&more).map(|name| format!(".figures.{name}")));
        expected.sort();
        assert_eq!(found.into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn every_point_is_read_back() {
        let reproduction = sample();
        let bytes = columnar::write(&series(&reproduction), Vec::new()).unwrap();
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(|row| row.unwrap().into_columns()).collect();
        assert_eq!(rows.len(), 3 * 2 * 200);
        assert_eq!(rows[201][0], ("experiment".into(), Field::Str("schiller".into())));
        assert_eq!(rows[201][4], ("curve".into(), Field::Str("VC </script>".into())));
        assert_eq!(rows[201][6], ("y".into(), Field::Double(0.25)));
    }
}
