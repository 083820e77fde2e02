//! Sweeps: points, which of them are missing, and their table.

use crate::table::Table;
use crate::watched::{exception, watched};
use pyo3::prelude::*;
use std::ffi::OsString;
use tidegate_cli::Study;
use tidegate_report::{SweepResult, TerminalOptions, sweep_columns, sweep_html, sweep_terminal};

/// A sweep, ready to run.
#[pyclass(frozen, module = "tidegate._tidegate")]
pub struct Sweep(Study);

#[pymethods]
impl Sweep {
    /// The sweep that the command runs with these arguments.
    #[new]
    fn new(py: Python<'_>, arguments: Vec<OsString>) -> PyResult<Sweep> {
        py.detach(|| Study::read(arguments)).map(Sweep).map_err(|failure| exception(py, failure))
    }

    /// The number of points.
    #[getter]
    fn points(&self) -> usize {
        self.0.points()
    }

    /// The points, from 1, whose table is not there.
    fn missing(&self, py: Python<'_>) -> Vec<usize> {
        py.detach(|| self.0.missing())
    }

    /// Checks these points and begins the folder.
    fn begin(&self, py: Python<'_>, points: Vec<usize>) -> PyResult<()> {
        py.detach(|| self.0.begin(&points)).map_err(|failure| exception(py, failure))
    }

    /// Runs these points in a folder that was begun.
    #[pyo3(signature = (points, progress))]
    fn run(&self, py: Python<'_>, points: Vec<usize>, progress: Option<Bound<'_, PyAny>>) -> PyResult<()> {
        watched(py, progress.as_ref(), |note, cancel| self.0.run(&points, note, cancel))
    }

    /// Reads the tables of all points, and writes table and page.
    fn finish(&self, py: Python<'_>) -> PyResult<SweepReport> {
        py.detach(|| self.0.finish()).map(SweepReport).map_err(|failure| exception(py, failure))
    }
}

/// An axis: its key, and the unit and the values of its numbers, if it has some.
type Axis<'a> = (&'a str, Option<&'static str>, Option<Vec<f64>>);

/// What a sweep measured.
#[pyclass(frozen, module = "tidegate._tidegate")]
pub struct SweepReport(SweepResult);

#[pymethods]
impl SweepReport {
    /// The title of the scenario.
    #[getter]
    fn title(&self) -> &str {
        &self.0.title
    }

    /// Of each axis its key, and the unit and the values of its numbers, one per point; None for both if it has no numbers.
    #[getter]
    fn axes(&self) -> Vec<Axis<'_>> {
        let numbers = self.0.parameters.iter().map(|parameter| parameter.numbers.as_ref());
        let keys = self.0.parameters.iter().map(|parameter| parameter.key.as_str());
        keys.zip(numbers).map(|(key, numbers)| (key, numbers.map(|n| n.unit), numbers.map(|n| n.values.clone()))).collect()
    }

    /// The table, as `table.parquet` has it.
    fn table(&self) -> PyResult<Table> {
        Table::new(&sweep_columns(&self.0))
    }

    /// The page, as HTML.
    fn html(&self, py: Python<'_>) -> String {
        py.detach(|| sweep_html(&self.0))
    }

    /// The table of the command, for a terminal of this number of columns.
    fn text(&self, width: u16) -> String {
        sweep_terminal(&self.0, TerminalOptions { width, colour: false })
    }
}
