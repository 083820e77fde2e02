//! What a machine forwards.

use crate::error::scenario_error;
use crate::folder::saved;
use crate::table::Table;
use crate::watched::watched;
use pyo3::prelude::*;
use std::path::PathBuf;
use tidegate_report::{CapacityReport, TerminalOptions};

/// What a machine forwards.
#[pyclass(frozen, module = "tidegate._tidegate")]
pub struct Capacity(CapacityReport);

/// Asks how much the machine of a file forwards, after changes of the form "key=value".
#[pyfunction]
#[pyo3(signature = (path, changes, seed, progress))]
pub fn model(
    py: Python<'_>,
    path: PathBuf,
    changes: Vec<String>,
    seed: Option<u64>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Capacity> {
    let file = py.detach(|| tidegate_scenario::machine::load(&path, &changes)).map_err(|problems| scenario_error(py, &problems))?;
    watched(py, progress.as_ref(), |note, cancel| tidegate_cli::model_machine(&file, seed, note, cancel)).map(Capacity)
}

#[pymethods]
impl Capacity {
    /// The answer in one sentence.
    #[getter]
    fn sentence(&self) -> &str {
        &self.0.sentence
    }

    /// True if everything that was promised held.
    #[getter]
    fn promises_kept(&self) -> bool {
        self.0.promises_kept()
    }

    /// The table of delays.
    fn delays(&self) -> PyResult<Table> {
        Table::new(&tidegate_report::capacity_delays(&self.0))
    }

    /// The summary, as JSON.
    fn summary_json(&self) -> String {
        tidegate_report::capacity_json(&self.0)
    }

    /// The page, as HTML.
    fn html(&self) -> String {
        tidegate_report::capacity_html(&self.0)
    }

    /// The tables of the command, for a terminal of this number of columns.
    fn text(&self, width: u16) -> String {
        tidegate_report::capacity_terminal(&self.0, TerminalOptions { width, colour: false })
    }

    /// Writes the folder that `tidegate model --out` writes, and returns the paths of its files.
    fn save(&self, py: Python<'_>, folder: PathBuf) -> PyResult<Vec<PathBuf>> {
        saved(py, &folder, |place| tidegate_report::write_capacity(&self.0, place))
    }
}
