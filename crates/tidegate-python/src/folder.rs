//! Folders of results.

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use tidegate_report::{OutputFolder, ReportError};

/// Writes a folder of results.
pub fn saved(
    py: Python<'_>,
    folder: &Path,
    write: impl FnOnce(OutputFolder) -> Result<Vec<PathBuf>, ReportError> + Send,
) -> PyResult<Vec<PathBuf>> {
    let failed = |error: &dyn Display| PyOSError::new_err(format!("the results cannot be written to {}: {error}", folder.display()));
    py.detach(|| {
        let place = OutputFolder::create(folder).map_err(|error| failed(&error))?;
        write(place).map_err(|error| failed(&error))
    })
}
