//! Nodes and links by number.

/// A node, by its index in [`Network::nodes`](crate::Network::nodes).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub usize);

/// A link, by its index in [`Network::links`](crate::Network::links).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LinkId(pub usize);
