//! Why a capture cannot be read.

use super::input::ReadError;
use std::io;
use thiserror::Error;

/// Why a capture cannot be read.
#[derive(Debug, Error)]
pub enum CaptureError {
    /// The file cannot be read at all.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// The file is something else; what it is, and the way out.
    #[error("{0}")]
    NotACapture(String),
    /// The format has a version that is not known here.
    #[error("is {format} of version {major}.{minor}, and {expected} is expected; `editcap -F pcapng IN OUT` may convert it")]
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
    #[error("{}", damage(place, problem, *unread))]
    Damaged {
        /// Which record or block it is, counted from 1.
        place: String,
        /// What is wrong with it.
        problem: String,
        /// The bytes from the beginning of that record to the end of the file.
        unread: u64,
    },
}

fn damage(place: &str, problem: &str, unread: u64) -> String {
    let unread = if unread > 0 { format!("; {unread} bytes from there on were not read") } else { String::new() };
    // Several variants of pcap have its first bytes and other records.
    let way_out = if place.starts_with("record") { " (`editcap -F pcapng IN OUT` converts variants of pcap)" } else { "" };
    format!("is damaged at {place}: {problem}{unread}{way_out}")
}

impl From<ReadError> for CaptureError {
    fn from(error: ReadError) -> CaptureError {
        match error {
            ReadError::Io(error) => CaptureError::Io(error),
            ReadError::Compression(problem) => CaptureError::Damaged { place: "its beginning".into(), problem, unread: 0 },
        }
    }
}
