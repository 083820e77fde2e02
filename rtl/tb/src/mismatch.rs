//! A difference between a design and its model: which check found it, where, and both values.

use std::fmt;

pub type Checked<T> = Result<T, Box<Mismatch>>;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mismatch {
    pub check: &'static str,
    /// The field that differs, or the difference in words.
    pub field: String,
    /// The stream, if it is about one.
    pub stream: Option<usize>,
    pub design: String,
    pub model: String,
    /// The clock cycle since the design was made, and the number of the decision.
    pub at: (u64, u64),
    /// What helps to understand it: one line each.
    pub context: Vec<String>,
}

impl Mismatch {
    /// A difference that is said in words, in a cycle and decision.
    pub fn of(check: &'static str, what: String, at: (u64, u64)) -> Box<Mismatch> {
        Box::new(Mismatch { check, field: what, stream: None, design: String::new(), model: String::new(), at, context: Vec::new() })
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "check \"{}\" failed in cycle {}, decision {}", self.check, self.at.0, self.at.1)?;
        if let Some(stream) = self.stream {
            write!(f, ", stream {stream}")?;
        }
        write!(f, "\n  {}", self.field)?;
        if !self.design.is_empty() || !self.model.is_empty() {
            write!(f, ": the design has {}, the model {}", self.design, self.model)?;
        }
        self.context.iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}
