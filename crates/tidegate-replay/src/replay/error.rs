//! Why a replay stopped.

use crate::capture::CaptureError;
use std::io;
use thiserror::Error;
use tidegate_core::port::Unbalanced;

/// Why a replay stopped.
#[derive(Debug, Error)]
pub enum ReplayError {
    /// The capture cannot be read.
    #[error("the capture {0}")]
    Capture(#[from] CaptureError),
    /// A result cannot be written.
    #[error("the result cannot be written: {0}")]
    Output(#[from] io::Error),
    /// The frames cannot be written as cells.
    #[error("the cells cannot be written: {0}")]
    Cells(String),
    /// The port lost track of a packet: a defect.
    #[error("{0}")]
    Unbalanced(Box<Unbalanced>),
}
