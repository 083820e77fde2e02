//! How much of a long list is printed.

/// The detail of long lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Detail {
    /// Of a list of more than 100 the first 20, and the number of the others.
    First,
    /// Everything.
    All,
}

impl Detail {
    /// The number of described entries of `count`.
    pub(crate) fn of(self, count: usize) -> usize {
        if self == Detail::All || count <= 100 { count } else { 20 }
    }

    /// The line about the other entries.
    pub(crate) fn rest(self, count: usize, what: &str) -> String {
        match count - self.of(count) {
            0 => String::new(),
            more => format!("  ... and {more} more {what}: {count} in all; --all prints them\n"),
        }
    }
}
