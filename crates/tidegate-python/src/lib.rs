//! The extension module `tidegate._tidegate`: translates between Python and the crates, and decides nothing.
//!
//! Its stubs, `python/tidegate/_tidegate.pyi`, say what each function takes and returns.

mod capacity;
mod control;
mod error;
mod folder;
mod instants;
mod port;
mod python_scheduler;
mod report;
mod scenario;
mod sweep;
mod table;
mod watched;

use error::ScenarioError;
use pyo3::prelude::*;
use std::ffi::OsString;

/// Runs the command `tidegate` with these arguments, the first of which is the program's name, and returns its exit code.
#[pyfunction]
fn run_command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| tidegate_cli::run(arguments))
}

/// The JSON Schema of scenario and policy files, as JSON.
#[pyfunction]
fn schema_json() -> String {
    tidegate_scenario::editor_schema().to_string()
}

/// What Python imports.
#[pymodule]
fn _tidegate(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("ScenarioError", module.py().get_type::<ScenarioError>())?;
    module.add_class::<scenario::Scenario>()?;
    module.add_class::<report::Report>()?;
    module.add_class::<sweep::Sweep>()?;
    module.add_class::<sweep::SweepReport>()?;
    module.add_class::<table::Table>()?;
    module.add_class::<capacity::Capacity>()?;
    module.add_class::<port::Port>()?;
    module.add_class::<port::Departure>()?;
    module.add_class::<python_scheduler::PythonHead>()?;
    module.add_class::<python_scheduler::Wait>()?;
    module.add_function(wrap_pyfunction!(capacity::model, module)?)?;
    module.add_function(wrap_pyfunction!(control::ask_json, module)?)?;
    module.add_function(wrap_pyfunction!(run_command, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::toml_of_json, module)?)?;
    module.add_function(wrap_pyfunction!(schema_json, module)?)
}
