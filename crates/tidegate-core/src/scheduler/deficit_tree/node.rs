//! The record of a node of the tree: two cache lines.

use super::ring::Ring;

/// An inner node: the ring of its members. What a packet needs of it most often is in the first line.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct Node {
    /// The number of members in the ring.
    pub(super) backlogged: u32,
    /// The number of suspended members.
    pub(super) suspended: u32,
    /// A packet from below is being transmitted.
    pub(super) in_service: bool,
    /// The front of its ring may have changed since the node was presented.
    pub(super) is_unsettled: bool,
    pub(super) ring: Ring,
}

impl Node {
    /// A node without members.
    pub(super) const fn new(ring: Ring) -> Node {
        Node { backlogged: 0, suspended: 0, in_service: false, is_unsettled: false, ring }
    }
}
