//! Why a replay stopped.

use crate::capture::CaptureError;
use std::fmt;
use std::io;
use tidegate_core::port::Unbalanced;

/// Why a replay stopped.
#[derive(Debug)]
pub enum ReplayError {
    /// The capture cannot be read.
    Capture(CaptureError),
    /// A result cannot be written.
    Output(io::Error),
    /// The frames cannot be written as cells.
    Cells(String),
    /// The port lost track of a packet: a defect.
    Unbalanced(Box<Unbalanced>),
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReplayError::Capture(error) => write!(f, "the capture {error}"),
            ReplayError::Output(error) => write!(f, "the result cannot be written: {error}"),
            ReplayError::Cells(problem) => write!(f, "the cells cannot be written: {problem}"),
            ReplayError::Unbalanced(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for ReplayError {}

impl From<CaptureError> for ReplayError {
    fn from(error: CaptureError) -> ReplayError {
        ReplayError::Capture(error)
    }
}

impl From<io::Error> for ReplayError {
    fn from(error: io::Error) -> ReplayError {
        ReplayError::Output(error)
    }
}
