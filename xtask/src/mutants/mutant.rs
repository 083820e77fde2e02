//! What a seeded fault is, and what may catch it.

/// What may catch a fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Catcher {
    /// A figure of `tidegate reproduce`.
    Figure(&'static str),
    /// A gate of such a figure, by the beginning of its name.
    Gate(&'static str, &'static str),
    /// Tests of the core, or of the packages that the runner knows besides: the target, and the part of a name that the tests share.
    Tests(&'static str, &'static str),
}

/// A seeded fault.
pub struct Mutant {
    pub name: &'static str,
    /// What is wrong then.
    pub fault: &'static str,
    pub catchers: &'static [Catcher],
}
