//! What single replications measured, as figures with names: written with every run and every point of a sweep, read back to compare them.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

use crate::columnar::{self, Column, Values};
use crate::error::{OutputError, ReportError};
use crate::metrics::METRICS;
use crate::model::Report;
use crate::output::OutputFile;
use crate::parameter::Parameter;
use crate::parquet_tables::replications;

/// The table of replications in a folder of results.
pub const REPLICATIONS: &str = "replications.parquet";

/// One flow, port or workload in one replication, as it was written.
#[derive(Clone, PartialEq, Debug)]
pub struct Measurement {
    /// The point of a sweep, from 1; 0 for a run.
    pub point: u64,
    /// The run, which is the variant's name.
    pub run: String,
    /// The number of the replication, from 1.
    pub replication: u64,
    /// The seed of all random streams.
    pub seed: u64,
    /// `flow`, `port` or `workload`.
    pub scope: String,
    /// The name of that.
    pub name: String,
    /// The figures, in the order of [`METRICS`].
    pub figures: [Option<f64>; METRICS.len()],
}

/// Reads a table of replications. Columns that it does not know are ignored.
///
/// # Errors
/// [`ReportError::Output`] if it cannot be read, is no such table, or lacks a column.
pub fn read_measurements(path: &Path) -> Result<Vec<Measurement>, ReportError> {
    let refused = |problem: String| ReportError::Output(OutputError::refused(path, problem));
    let no_table = |error: parquet::errors::ParquetError| refused(format!("is no table of results: {error}"));
    let file = File::open(path).map_err(|error| OutputError::system(path, "read", &error))?;
    let reader = SerializedFileReader::new(file).map_err(no_table)?;
    let names: Vec<String> = reader.metadata().file_metadata().schema().get_fields().iter().map(|field| field.name().to_owned()).collect();
    let place = |name: &str| {
        let found = names.iter().position(|known| known == name);
        found.ok_or_else(|| refused(format!("has no column `{name}`; name a folder that `tidegate run --out` or `tidegate sweep` wrote")))
    };
    let [run, scope, name] = ["run", "scope", "name"].map(place);
    let (run, scope, name) = (run?, scope?, name?);
    let (replication, seed) = (place("replication")?, place("seed")?);
    let point = place("point").ok();
    let figures = METRICS.map(|metric| place(metric).ok());
    let mut rows = Vec::new();
    for row in reader.get_row_iter(None).map_err(no_table)? {
        let fields: Vec<Field> = row.map_err(no_table)?.into_columns().into_iter().map(|(_, field)| field).collect();
        let text = |index: usize| if let Some(Field::Str(text)) = fields.get(index) { text.clone() } else { String::new() };
        let number = |index: usize| if let Some(Field::ULong(number)) = fields.get(index) { *number } else { 0 };
        let figure = |index: Option<usize>| match fields.get(index?) {
            Some(Field::Double(value)) => Some(*value),
            _ => None,
        };
        rows.push(Measurement {
            point: point.map_or(0, number),
            run: text(run),
            replication: number(replication),
            seed: number(seed),
            scope: text(scope),
            name: text(name),
            figures: figures.map(figure),
        });
    }
    Ok(rows)
}

/// Writes what one point of a sweep measured: the table of replications, with the point's number, from 1, and its parameters before it. The file comes to
/// its place complete.
///
/// # Errors
/// The system refuses.
pub fn write_point(report: &Report, point: usize, parameters: &[Parameter], place: &Path) -> Result<(), ReportError> {
    let mut columns = replications(report);
    let rows = report.runs.iter().map(|run| run.replications.len()).sum();
    let mut own = vec![Column { name: "point", values: Values::Count(vec![point as u64; rows]) }];
    own.extend(parameters.iter().flat_map(|parameter| parameter.columns(std::iter::repeat_n(point - 1, rows))));
    columns.splice(0..0, own);
    write_table_file(&columns, place)
}

pub(crate) fn write_table_file(columns: &[Column<'_>], place: &Path) -> Result<(), ReportError> {
    let failed = |source| ReportError::Parquet { path: place.to_owned(), source };
    let mut sink = columnar::write(columns, BufWriter::new(OutputFile::create(place)?)).map_err(failed)?;
    sink.flush().map_err(|error| OutputError::system(place, "written", &error))?;
    let file = sink.into_inner().map_err(|error| OutputError::system(place, "written", error.error()))?;
    Ok(file.finish()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::shown_figure;
    use crate::model::{ReplicationRow, RowScope};
    use crate::sample::sample_report;

    #[test]
    fn a_point_is_read_back_as_it_was_measured() {
        let mut report = sample_report();
        report.seed = Some(7);
        let flow =
            ReplicationRow { replication: 3, name: "voice".into(), throughput_bps: 5.0, loss: Some(0.25), ..ReplicationRow::default() };
        let (of_port, pauses) = (Some((0.5, 7.0, 9)), Some((0.25, 3)));
        let port = ReplicationRow { scope: RowScope::Port, name: "uplink".into(), port: of_port, pauses, ..flow.clone() };
        let delayed = ReplicationRow { delay_s: Some([1.0, 2.0, 3.0, 4.0, 5.0]), ..flow.clone() };
        report.runs[0].replications = vec![delayed.clone(), port.clone()];
        report.runs[1].replications = vec![flow];
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("point.parquet");
        let rate = Parameter::new("link.a.rate".into(), vec!["5 Mbit/s".into(); 4], Some(("bps", vec![5e6; 4])));
        write_point(&report, 4, &[rate], &place).unwrap();
        let rows = read_measurements(&place).unwrap();
        assert_eq!(rows.len(), 3);
        assert_eq!((rows[0].point, rows[0].replication, rows[0].seed), (4, 3, 7));
        assert_eq!(rows[0].figures, delayed.figures());
        assert_eq!((rows[1].scope.as_str(), rows[1].figures), ("port", port.figures()));
        let figure = |row: &Measurement, name| row.figures[METRICS.iter().position(|metric| *metric == name).unwrap()];
        assert_eq!((figure(&rows[1], "paused_s"), figure(&rows[1], "pauses"), figure(&rows[0], "pauses")), (Some(0.25), Some(3.0), None));
        assert_eq!(rows[2].run, report.runs[1].name);
        let names: Vec<String> =
            std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        assert_eq!(names, ["point.parquet"], "nothing unfinished is left");
        let whole = std::fs::read(&place).unwrap();
        for length in [0, 3, whole.len() / 2, whole.len() - 1] {
            std::fs::write(&place, &whole[..length]).unwrap();
            assert!(read_measurements(&place).unwrap_err().to_string().contains("is no table of results"), "{length} bytes");
        }
    }

    #[test]
    fn a_scope_has_the_metrics_that_its_rows_can_have() {
        let flow = ReplicationRow {
            loss: Some(0.5),
            delay_s: Some([1.0; 5]),
            jitter_s: Some(1.0),
            goodput_bps: Some(1.0),
            segments: Some([1; 4]),
            ..ReplicationRow::default()
        };
        let (loss, port, pauses) = (Some(0.5), Some((0.5, 1.0, 1)), Some((1.0, 1)));
        let port = ReplicationRow { scope: RowScope::Port, loss, port, pauses, ..ReplicationRow::default() };
        let workload = ReplicationRow { scope: RowScope::Workload, completions: Some([1.0; 4]), ..ReplicationRow::default() };
        for row in [flow, port, workload] {
            assert_eq!(
                row.figures().map(|figure| figure.is_some()),
                std::array::from_fn(|metric| row.scope.has(metric)),
                "{:?}",
                row.scope
            );
        }
    }

    #[test]
    fn figures_carry_their_units() {
        assert_eq!(shown_figure("delay_p99_s", -0.0124), "−12.4 ms");
        assert_eq!(shown_figure("timeouts", 2.5), "2.5");
    }
}
