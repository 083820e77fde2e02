//! Questions to a running bridge.

use pyo3::exceptions::{PyConnectionError, PyValueError};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::time::Duration;
use tidegate_control::{Client, ClientError};

/// Sends a request of the control protocol, as JSON, to the bridge at this socket, and returns its answer as JSON.
#[pyfunction]
pub fn ask_json(py: Python<'_>, socket: PathBuf, request: &str, timeout_s: f64) -> PyResult<String> {
    let request = serde_json::from_str(request).map_err(|error| PyValueError::new_err(format!("this is no request: {error}")))?;
    let timeout = Duration::try_from_secs_f64(timeout_s).ok().filter(|timeout| !timeout.is_zero());
    let timeout = timeout.ok_or_else(|| PyValueError::new_err(format!("timeout_s is {timeout_s}; it is a number of seconds above 0")))?;
    let answer = py.detach(|| {
        let unreachable = |error| PyConnectionError::new_err(format!("no bridge answers at {}: {error}", socket.display()));
        let mut client = Client::connect(&socket, timeout).map_err(unreachable)?;
        client.ask(request).map_err(|error| match error {
            ClientError::Refused(refusal) => PyValueError::new_err(refusal.text),
            other => PyConnectionError::new_err(other.to_string()),
        })
    })?;
    serde_json::to_string(&answer).map_err(|error| PyValueError::new_err(error.to_string()))
}
