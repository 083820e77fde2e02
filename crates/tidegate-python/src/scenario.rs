//! A scenario or policy file that has been read and checked.

use crate::error::{refused, scenario_error};
use crate::report::Report;
use crate::watched::watched;
use pyo3::prelude::*;
use std::path::PathBuf;
use tidegate_cli::ReplayOptions;
use tidegate_scenario::Problems;
use tidegate_scenario::admit::{self, Origin};
use tidegate_scenario::bounds::{self, Question};
use tidegate_scenario::summary::{Detail, summary};

/// A scenario or policy file that has been read and checked.
#[pyclass(frozen, module = "tidegate._tidegate")]
pub struct Scenario {
    checked: tidegate_scenario::Scenario,
    origin: Origin,
    changes: Vec<String>,
}

impl Scenario {
    fn read(
        py: Python<'_>,
        loaded: Result<tidegate_scenario::Scenario, Problems>,
        origin: Origin,
        changes: Vec<String>,
    ) -> PyResult<Scenario> {
        loaded.map(|checked| Scenario { checked, origin, changes }).map_err(|problems| scenario_error(py, &problems))
    }

    /// The scenario as the crates have it.
    pub fn checked(&self) -> &tidegate_scenario::Scenario {
        &self.checked
    }
}

#[pymethods]
impl Scenario {
    /// Reads a file and applies changes of the form "key=value".
    #[staticmethod]
    fn from_file(py: Python<'_>, path: PathBuf, changes: Vec<String>) -> PyResult<Scenario> {
        let loaded = py.detach(|| tidegate_scenario::load(&path, &changes));
        Scenario::read(py, loaded, Origin::Path(path), changes)
    }

    /// Reads a text as a file of this name and applies changes of the form "key=value".
    #[staticmethod]
    fn from_text(py: Python<'_>, name: &str, text: &str, changes: Vec<String>) -> PyResult<Scenario> {
        let loaded = py.detach(|| tidegate_scenario::parse_text(name, text, &changes));
        Scenario::read(py, loaded, Origin::Text { name: name.to_owned(), text: text.to_owned() }, changes)
    }

    /// The title of the file.
    #[getter]
    fn title(&self) -> &str {
        &self.checked.title
    }

    /// The names of the variants, in the order of the file.
    #[getter]
    fn variants(&self) -> Vec<&str> {
        self.checked.variants.iter().map(|variant| variant.name.as_str()).collect()
    }

    /// What is probably not meant, as the command prints it; None if there is nothing.
    #[getter]
    fn warnings(&self) -> Option<String> {
        self.checked.warnings.as_ref().map(|problems| problems.render(false))
    }

    /// Describes what is in the file.
    fn check(&self, py: Python<'_>, everything: bool) -> String {
        let detail = if everything { Detail::All } else { Detail::First };
        py.detach(|| summary(&self.checked, detail))
    }

    /// What is proven before a packet is sent, as JSON.
    fn bounds_json(&self, py: Python<'_>, flow: Option<String>) -> PyResult<String> {
        let question = Question { flow, method: None, detail: Detail::All };
        let proven = py.detach(|| bounds::Report::of(&self.checked, question, &|_| {}).map(|report| report.json().to_string()));
        proven.map_err(|problem| refused(py, format!("error: {problem}")))
    }

    /// Whether a flow, given as TOML, can be proven its promise beside those of the file, as JSON.
    fn admit_json(&self, py: Python<'_>, name: &str, flow: &str, variant: Option<String>) -> PyResult<String> {
        let answer = py.detach(|| admit::admit_text(&self.origin, name, flow, &self.changes, variant.as_deref()));
        answer.map(|answer| admit::json(&answer).to_string()).map_err(|problems| scenario_error(py, &problems))
    }

    /// Simulates every variant.
    #[pyo3(signature = (seed, replications, progress))]
    fn run(&self, py: Python<'_>, seed: Option<u64>, replications: Option<u32>, progress: Option<Bound<'_, PyAny>>) -> PyResult<Report> {
        watched(py, progress.as_ref(), |note, cancel| tidegate_cli::simulate(&self.checked, seed, replications, note, cancel))
            .map(Report::new)
    }

    /// Pushes a capture through a policy.
    #[pyo3(signature = (request, progress))]
    fn replay(&self, py: Python<'_>, request: ReplayRequest, progress: Option<Bound<'_, PyAny>>) -> PyResult<Report> {
        let options = ReplayOptions {
            policy: request.policy.as_deref(),
            interface: request.interface.as_deref(),
            until_damage: request.until_damage,
            ack_filter: request.ack_filter.as_deref(),
            sent: request.sent.as_deref(),
            dropped: request.dropped.as_deref(),
        };
        let capture = &request.capture;
        watched(py, progress.as_ref(), |note, cancel| tidegate_cli::replay_capture(&self.checked, capture, options, note, cancel))
            .map(Report::new)
    }
}

/// Names of files, and what of a capture is replayed.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct ReplayRequest {
    capture: PathBuf,
    policy: Option<String>,
    interface: Option<String>,
    until_damage: bool,
    ack_filter: Option<String>,
    sent: Option<PathBuf>,
    dropped: Option<PathBuf>,
}

/// Python objects, given as JSON, as the text of a scenario file.
#[pyfunction]
pub fn toml_of_json(py: Python<'_>, json: &str) -> PyResult<String> {
    let table: toml::Table = serde_json::from_str(json).map_err(|error| refused(py, format!("error: a file cannot hold this: {error}")))?;
    toml::to_string(&table).map_err(|error| refused(py, format!("error: a file cannot hold this: {error}")))
}
