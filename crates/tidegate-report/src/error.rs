//! What can be wrong with a report, or go wrong while it is written.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::model::Volume;

/// A report that contradicts itself, or a file that could not be written.
#[derive(Debug)]
pub enum ReportError {
    /// At a port or class, `offered` is not `sent + dropped + queued`.
    Unbalanced {
        /// Name of the run.
        run: String,
        /// Name of the port.
        port: String,
        /// Name of the class; `None` for the port as a whole.
        class: Option<String>,
        /// What arrived.
        offered: Volume,
        /// Sent, dropped and queued together; `None` if the sum leaves the range of `u64`.
        accounted: Option<Volume>,
    },
    /// What was tagged and what was not do not add up to a flow's volume.
    Colours {
        /// The run and the flow.
        place: String,
        /// Which volume.
        what: &'static str,
        /// The whole of it.
        all: Volume,
        /// Tagged and untagged together; `None` if the sum leaves the range of `u64`.
        accounted: Option<Volume>,
    },
    /// A number is not finite, or outside the range its field allows.
    OutOfRange {
        /// Its place, such as "run `a`, flow `voice`, loss".
        place: String,
        /// The number.
        value: f64,
        /// What would be right.
        expected: &'static str,
    },
    /// Two columns that belong together differ in length.
    LengthMismatch {
        /// Where they stand.
        place: String,
        /// Length of the first column.
        first: usize,
        /// Length of the second column.
        second: usize,
    },
    /// Values that must be in order are not.
    OutOfOrder {
        /// Where they stand.
        place: String,
        /// Position of the first offender, from 0.
        index: usize,
    },
    /// Two things of one kind carry the same name.
    DuplicateName {
        /// What kind, and in which run.
        place: String,
        /// The name.
        name: String,
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
            Self::Unbalanced { run, port, class, offered, accounted } => {
                write!(f, "run `{run}`, port `{port}`")?;
                if let Some(class) = class {
                    write!(f, ", class `{class}`")?;
                }
                write!(f, ": offered {} packets and {} bytes, but sent, dropped and queued together are ", offered.packets, offered.bytes)?;
                write_sum(f, accounted)
            }
            Self::Colours { place, what, all, accounted } => {
                write!(f, "{place}: {what} {} packets and {} bytes, but tagged and untagged together are ", all.packets, all.bytes)?;
                write_sum(f, accounted)
            }
            Self::OutOfRange { place, value, expected } => write!(f, "{place}: {value} found, {expected} expected"),
            Self::LengthMismatch { place, first, second } => write!(f, "{place}: {first} and {second} values, expected equally many"),
            Self::OutOfOrder { place, index } => {
                write!(f, "{place}: value {index} is out of order")
            }
            Self::DuplicateName { place, name } => {
                write!(f, "{place}: the name `{name}` stands for two things")
            }
            Self::Output(error) => error.fmt(f),
            Self::Io { action, path, source } => write!(f, "cannot {action} {}: {source}", shown(path)),
            Self::Parquet { path, source } => {
                write!(f, "cannot write {}: {source}", shown(path))
            }
        }
    }
}

fn write_sum(f: &mut fmt::Formatter<'_>, sum: &Option<Volume>) -> fmt::Result {
    match sum {
        Some(sum) => write!(f, "{} packets and {} bytes", sum.packets, sum.bytes),
        None => write!(f, "beyond the range of a 64-bit counter"),
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
