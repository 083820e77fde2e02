//! Ways for a command to end badly, and the exit code of each.

use std::fmt;
use std::process::ExitCode;

/// Why a command did not do what it was asked to.
#[derive(Debug)]
pub enum Failure {
    /// What the user gave cannot be used: the message says where, what, and what would be right. Exit code 2.
    BadInput(String),
    /// The machine lacks something: the message says what, and how to get it. Exit code 3.
    Environment(String),
    /// Tidegate contradicts itself. Exit code 101, as for a panic.
    Defect(String),
}

impl Failure {
    /// The exit code.
    pub fn code(&self) -> ExitCode {
        ExitCode::from(match self {
            Failure::BadInput(_) => 2,
            Failure::Environment(_) => 3,
            Failure::Defect(_) => 101,
        })
    }

    /// A file that cannot be read or written.
    pub fn file(path: &std::path::Path, doing: &str, error: &std::io::Error) -> Failure {
        Failure::BadInput(format!("error: {}: cannot be {doing}: {error}", path.display()))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::BadInput(message) | Failure::Environment(message) => f.write_str(message),
            Failure::Defect(message) => write!(f, "defect in tidegate, please report it: {message}"),
        }
    }
}
