//! The exception for files that cannot be used.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tidegate_scenario::Problems;
use tidegate_scenario::diagnostic::Severity;

pyo3::create_exception!(
    tidegate._tidegate,
    ScenarioError,
    PyValueError,
    "A scenario or policy file that cannot be used.\n\nThe text is that of the command. `file`, `line` and `column` (both from 1) are those of the \
     first error, or None."
);

/// The exception for what is wrong with a file.
pub fn scenario_error(py: Python<'_>, problems: &Problems) -> PyErr {
    let error = ScenarioError::new_err(problems.render(false));
    let first = problems.diagnostics.iter().find(|finding| finding.severity == Severity::Error);
    let place = first.and_then(|finding| problems.sources.position(finding.span.as_ref()?));
    placed(py, error, place)
}

/// The exception for what has no place in a file.
pub fn refused(py: Python<'_>, text: String) -> PyErr {
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
