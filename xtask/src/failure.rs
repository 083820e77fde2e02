//! Why a task ended early.

use std::io;
use std::path::Path;

/// What ends a task early.
pub enum Failure {
    /// Something that is checked is not as it should be.
    Check(String),
    /// The command line asks for what does not exist.
    Usage(String),
    /// The machine lacks something; the text says what, and how to get it.
    Environment(String),
}

impl Failure {
    /// What becomes of an error of the system at a path, for `map_err`.
    pub fn cannot(verb: &str, path: impl AsRef<Path>) -> impl Fn(io::Error) -> Failure {
        let what = format!("cannot {verb} {}", path.as_ref().display());
        move |error| Failure::Environment(format!("{what}: {error}"))
    }
}
