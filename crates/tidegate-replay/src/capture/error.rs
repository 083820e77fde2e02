//! Why a capture cannot be read.

use super::input::ReadError;
use std::fmt;
use std::io;

/// Why a capture cannot be read.
#[derive(Debug)]
pub enum CaptureError {
    /// The file cannot be read at all.
    Io(io::Error),
    /// The file is something else; what it is, and the way out.
    NotACapture(String),
    /// The format has a version that is not known here.
    Version {
        /// pcap or pcapng.
        format: &'static str,
        /// The number before the dot.
        major: u32,
        /// The number behind it.
        minor: u32,
        /// What would be right.
        expected: &'static str,
    },
    /// The file is damaged.
    Damaged {
        /// Which record or block it is, counted from 1.
        place: String,
        /// What is wrong with it.
        problem: String,
        /// The bytes from the beginning of that record to the end of the file.
        unread: u64,
    },
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CaptureError::Io(error) => write!(f, "cannot be read: {error}"),
            CaptureError::NotACapture(what) => f.write_str(what),
            CaptureError::Version { format, major, minor, expected } => {
                write!(f, "is {format} of version {major}.{minor}, and {expected} is expected; `editcap -F pcapng IN OUT` may convert it")
            }
            CaptureError::Damaged { place, problem, unread } => {
                write!(f, "is damaged at {place}: {problem}")?;
                if *unread > 0 {
                    write!(f, "; {unread} bytes from there on were not read")?;
                }
                // Several variants of pcap have its first bytes and other records.
                if place.starts_with("record") { f.write_str(" (`editcap -F pcapng IN OUT` converts variants of pcap)") } else { Ok(()) }
            }
        }
    }
}

impl std::error::Error for CaptureError {}

impl From<io::Error> for CaptureError {
    fn from(error: io::Error) -> CaptureError {
        CaptureError::Io(error)
    }
}

impl From<ReadError> for CaptureError {
    fn from(error: ReadError) -> CaptureError {
        match error {
            ReadError::Io(error) => CaptureError::Io(error),
            ReadError::Compression(problem) => CaptureError::Damaged { place: "its beginning".into(), problem, unread: 0 },
        }
    }
}
