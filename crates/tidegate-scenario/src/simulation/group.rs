//! The flows that one table of a file makes.

use crate::promise::Promise;

/// The flows of one table: one, or `count` equal ones.
#[derive(Clone, Debug)]
pub struct FlowGroup {
    /// The name in the file.
    pub name: String,
    /// The index of its first flow in [`Network::flows`](tidegate_sim::Network::flows); the others follow.
    pub first: usize,
    /// How many flows it has.
    pub count: usize,
    /// The end-to-end promise of each.
    pub promise: Option<Promise>,
}
