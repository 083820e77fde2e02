//! What can be wrong with a report, or go wrong while it is written.

use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A report that contradicts itself, or a file that could not be written.
#[derive(Debug, Error)]
pub enum ReportError {
    /// It contradicts itself.
    #[error("{place}: {problem}")]
    Contradiction {
        /// The place, such as "run `a`, flow `voice`, loss".
        place: String,
        /// What is found there, and what was expected.
        problem: String,
    },
    /// The folder of results is refused, or cannot be put in place.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A file or directory could not be made, written or renamed.
    #[error("cannot {action} {}: {source}", shown(path))]
    Io {
        /// What was being done, such as "create".
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A Parquet table could not be encoded or written.
    #[error("cannot write {}: {source}", shown(path))]
    Parquet {
        /// The file.
        path: PathBuf,
        /// The encoder's answer.
        source: parquet::errors::ParquetError,
    },
}

/// An output that is refused or cannot be written: which, and what is wrong.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{}: {problem}", shown(path))]
pub struct OutputError {
    path: PathBuf,
    problem: String,
}

impl OutputError {
    pub(crate) fn refused(path: &Path, problem: impl Into<String>) -> OutputError {
        OutputError { path: path.to_owned(), problem: problem.into() }
    }

    pub(crate) fn system(path: &Path, doing: &str, error: &io::Error) -> OutputError {
        OutputError::refused(path, format!("cannot be {doing}: {error}"))
    }
}

/// A path for a message: as it is, or with escapes if it holds control characters.
pub(crate) fn shown(path: &Path) -> String {
    let text = path.display().to_string();
    if text.contains(char::is_control) { format!("{text:?}") } else { text }
}
