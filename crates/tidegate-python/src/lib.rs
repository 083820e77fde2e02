//! The extension module `tidegate._tidegate`: translates between Python and the crates, and decides nothing.
//!
//! Its stubs, `python/tidegate/_tidegate.pyi`, say what each function takes and returns.

mod control;
mod report;
mod scenario;
mod simulation;
mod table;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::ffi::OsString;
use tidegate_scenario::Problems;

pyo3::create_exception!(
    _tidegate,
    ScenarioError,
    PyValueError,
    "A scenario or policy file that cannot be used.\n\nThe text is that of the command. `file`, `line` and `column` (both from 1) are those of the \
     first error, or None."
);

/// The exception for what is wrong with a file.
fn scenario_error(py: Python<'_>, problems: &Problems) -> PyErr {
    let error = ScenarioError::new_err(problems.render(false));
    let first = problems.diagnostics.iter().find(|finding| finding.severity == tidegate_scenario::diagnostic::Severity::Error);
    let place = first.and_then(|finding| problems.sources.position(finding.span.as_ref()?));
    placed(py, error, place)
}

/// The exception for what has no place in a file.
fn refused(py: Python<'_>, text: String) -> PyErr {
    placed(py, ScenarioError::new_err(text), None)
}

fn placed(py: Python<'_>, error: PyErr, place: Option<(&str, usize, usize)>) -> PyErr {
    let value = error.value(py);
    let set = value
        .setattr("file", place.map(|place| place.0))
        .and_then(|()| value.setattr("line", place.map(|place| place.1)))
        .and_then(|()| value.setattr("column", place.map(|place| place.2)));
    match set {
        Ok(()) => error,
        Err(other) => other,
    }
}

/// Runs the command `tidegate` with these arguments, the first of which is the program's name, and returns its exit code.
#[pyfunction]
fn run_command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| tidegate_cli::run(arguments))
}

/// The JSON Schema of scenario and policy files, as JSON.
#[pyfunction]
fn schema_json() -> String {
    tidegate_scenario::schema().to_string()
}

/// What Python imports.
#[pymodule]
fn _tidegate(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("ScenarioError", module.py().get_type::<ScenarioError>())?;
    module.add_class::<scenario::Scenario>()?;
    module.add_class::<report::Report>()?;
    module.add_class::<table::Table>()?;
    module.add_function(wrap_pyfunction!(control::ask_json, module)?)?;
    module.add_function(wrap_pyfunction!(run_command, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::toml_of_json, module)?)?;
    module.add_function(wrap_pyfunction!(schema_json, module)?)
}
