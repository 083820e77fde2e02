//! Ways for a command to end badly, and the exit code of each.

use crate::log;
use std::fmt;
use std::process::ExitCode;
use tidegate_report::OutputError;
use tidegate_scenario::Problems;

/// Why a command did not do what it was asked to.
#[derive(Debug)]
pub enum Failure {
    /// What the user gave cannot be used: the message says where, what, and what would be right. Exit code 2.
    BadInput(String),
    /// The same for a file with findings.
    Findings(Problems),
    /// The machine lacks something: the message says what, and how to get it. Exit code 3.
    Environment(String),
    /// Tidegate contradicts itself. Exit code 101, as for a panic.
    Defect(String),
}

impl Failure {
    /// The exit code.
    pub fn code(&self) -> ExitCode {
        ExitCode::from(match self {
            Failure::BadInput(_) | Failure::Findings(_) => 2,
            Failure::Environment(_) => 3,
            Failure::Defect(_) => 101,
        })
    }

    /// Tells the user.
    pub fn tell(&self) {
        match self {
            Failure::Findings(problems) => log::styled(&format!("{}\n", crate::check::drawn(problems))),
            other => log::line(&other.to_string()),
        }
    }

    /// A file that cannot be read or written.
    pub fn file(path: &std::path::Path, doing: &str, error: &std::io::Error) -> Failure {
        Failure::BadInput(format!("error: {}: cannot be {doing}: {error}", path.display()))
    }
}

#[cfg(all(feature = "live", target_os = "linux"))]
impl From<tidegate_live::LiveError> for Failure {
    fn from(error: tidegate_live::LiveError) -> Failure {
        let message = format!("error: {error}");
        if error.exit_code() == 2 { Failure::BadInput(message) } else { Failure::Environment(message) }
    }
}

impl From<OutputError> for Failure {
    fn from(error: OutputError) -> Failure {
        Failure::BadInput(format!("error: {error}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::BadInput(message) | Failure::Environment(message) => f.write_str(message),
            Failure::Findings(problems) => f.write_str(&problems.render(false)),
            Failure::Defect(message) => write!(f, "defect in tidegate, please report it: {message}"),
        }
    }
}
