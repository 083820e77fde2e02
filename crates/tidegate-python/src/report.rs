//! What a simulation measured.

use crate::folder::saved;
use crate::table::Table;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use std::path::PathBuf;
use tidegate_report::{TABLES, TerminalOptions, report_html, summary_json, terminal, write_all};

/// What a simulation measured.
#[pyclass(frozen, module = "tidegate._tidegate")]
pub struct Report(tidegate_report::Report);

impl Report {
    /// The report as Python has it.
    pub fn new(report: tidegate_report::Report) -> Report {
        Report(report)
    }
}

#[pymethods]
impl Report {
    /// The names of the tables.
    #[getter]
    fn tables(&self) -> Vec<&'static str> {
        TABLES.iter().map(|&(name, _)| stem(name)).collect()
    }

    /// The table of this name.
    fn table(&self, name: &str) -> PyResult<Table> {
        let Some((_, columns)) = TABLES.iter().find(|&&(file, _)| stem(file) == name) else {
            return Err(PyKeyError::new_err(format!("there is no table \"{name}\"; there are {}", self.tables().join(", "))));
        };
        Table::new(&columns(&self.0))
    }

    /// The summary, as JSON.
    fn summary_json(&self) -> String {
        summary_json(&self.0)
    }

    /// The page, as HTML.
    fn html(&self) -> String {
        report_html(&self.0)
    }

    /// The tables of the command, for a terminal of this number of columns.
    fn text(&self, width: u16) -> String {
        terminal(&self.0, TerminalOptions { width, colour: false })
    }

    /// True if every promise of the first variant was kept.
    #[getter]
    fn promises_kept(&self) -> bool {
        self.0.runs.first().is_none_or(tidegate_report::Run::promises_kept)
    }

    /// Writes the folder that `tidegate run --out` writes, and returns the paths of its files.
    fn save(&self, py: Python<'_>, folder: PathBuf) -> PyResult<Vec<PathBuf>> {
        saved(py, &folder, |place| write_all(&self.0, place))
    }
}

fn stem(file: &'static str) -> &'static str {
    file.strip_suffix(".parquet").unwrap_or(file)
}
