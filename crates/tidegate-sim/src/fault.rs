//! One value of a source, a TCP connection or a sender's contract that cannot be simulated.

use tidegate_core::packet::LONGEST_FRAME;

/// What is wrong with one value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The field.
    pub key: &'static str,
    /// What is wrong with it.
    pub problem: String,
    /// What would be right.
    pub expected: String,
}

impl Fault {
    pub(crate) fn new(key: &'static str, problem: impl Into<String>, expected: impl Into<String>) -> Fault {
        Fault { key, problem: problem.into(), expected: expected.into() }
    }
}

pub(crate) fn check_length(key: &'static str, length: u32) -> Result<(), Fault> {
    if length == 0 || length > LONGEST_FRAME {
        return Err(Fault::new(key, format!("a frame of {length} bytes"), format!("1 to {LONGEST_FRAME} bytes")));
    }
    Ok(())
}
