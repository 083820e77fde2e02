//! What `cargo xtask rtl` passes to its steps.

use crate::failure::Failure;
use std::sync::Mutex;
use std::thread::JoinHandle;

pub struct Options {
    /// Decisions of every design that are compared with the software.
    pub decisions: u64,
    /// The designs that are compared, or whose faults are seeded, such as `speculative-4`; if there are none, those that run by default.
    pub designs: Vec<String>,
    /// What takes long runs, too.
    pub deep: bool,
    /// The placement, which is under way from the beginning: of one core it takes a minute, and nothing waits for it.
    pub placement: Mutex<Option<JoinHandle<Result<String, Failure>>>>,
}

impl Options {
    /// Whether the design of this name takes part.
    pub fn selects(&self, design: &str, is_deep: bool) -> bool {
        if self.designs.is_empty() { self.deep || !is_deep } else { self.designs.iter().any(|name| name == design) }
    }
}

/// A number of at least 1.
pub fn number(option: &str, text: &str) -> Result<u64, Failure> {
    match text.parse() {
        Ok(value) if value > 0 => Ok(value),
        _ => Err(Failure::Usage(format!("{option} needs a number of at least 1, not \"{text}\""))),
    }
}
