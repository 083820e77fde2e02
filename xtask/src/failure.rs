//! Why a task ended early.

/// What ends a task early.
pub enum Failure {
    /// Something that is checked is not as it should be.
    Check(String),
    /// The command line asks for what does not exist.
    Usage(String),
    /// The machine lacks something; the text says what, and how to get it.
    Environment(String),
}
