//! What a check finds.

use std::fmt;
use std::path::{Path, PathBuf};

/// Something that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Path relative to the repository's root.
    pub path: PathBuf,
    /// Line from 1.
    pub line: usize,
    pub problem: String,
    /// What would be right.
    pub remedy: String,
}

impl Finding {
    pub fn new(path: impl AsRef<Path>, line: usize, problem: impl Into<String>, remedy: impl Into<String>) -> Finding {
        Finding { path: path.as_ref().to_path_buf(), line, problem: problem.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}; {}", self.path.display(), self.line, self.problem, self.remedy)
    }
}
