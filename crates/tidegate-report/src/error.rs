//! What can be wrong with a report, or go wrong while it is written.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A report that contradicts itself, or a file that could not be written.
#[derive(Debug)]
pub enum ReportError {
    /// It contradicts itself.
    Contradiction {
        /// The place, such as "run `a`, flow `voice`, loss".
        place: String,
        /// What is found there, and what was expected.
        problem: String,
    },
    /// The folder of results is refused, or cannot be put in place.
    Output(OutputError),
    /// A file or directory could not be made, written or renamed.
    Io {
        /// What was being done, such as "create".
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A Parquet table could not be encoded or written.
    Parquet {
        /// The file.
        path: PathBuf,
        /// The encoder's answer.
        source: parquet::errors::ParquetError,
    },
}

impl fmt::Display for ReportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Contradiction { place, problem } => write!(f, "{place}: {problem}"),
            Self::Output(error) => error.fmt(f),
            Self::Io { action, path, source } => write!(f, "cannot {action} {}: {source}", shown(path)),
            Self::Parquet { path, source } => write!(f, "cannot write {}: {source}", shown(path)),
        }
    }
}

impl Error for ReportError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Output(error) => Some(error),
            Self::Io { source, .. } => Some(source),
            Self::Parquet { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl From<OutputError> for ReportError {
    fn from(error: OutputError) -> ReportError {
        ReportError::Output(error)
    }
}

/// An output that is refused or cannot be written: which, and what is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
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

impl fmt::Display for OutputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", shown(&self.path), self.problem)
    }
}

impl Error for OutputError {}

/// A path for a message: as it is, or with escapes if it holds control characters.
pub(crate) fn shown(path: &Path) -> String {
    let text = path.display().to_string();
    if text.contains(char::is_control) { format!("{text:?}") } else { text }
}
