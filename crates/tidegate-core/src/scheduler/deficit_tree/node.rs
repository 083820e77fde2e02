//! The record of a node of the tree: two cache lines.

use super::ring::Ring;

/// A ring of fewer members is served as a whole within few turns.
pub(super) const FEW_MEMBERS: u32 = 8;

/// The number of hints between fetching a node and fetching what its record leads to, a power of two.
pub(super) const HINT_LAG: usize = 4;

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
    /// The turns that its members had in a row when they had some last: a hint.
    pub(super) turns: u16,
    /// It has too few places for a member to come again only after many turns.
    pub(super) has_few: bool,
    pub(super) ring: Ring,
}

impl Node {
    /// A node without members that has this number of places.
    pub(super) const fn new(ring: Ring, places: usize) -> Node {
        Node { backlogged: 0, suspended: 0, in_service: false, is_unsettled: false, turns: 0, has_few: places < FEW_MEMBERS as usize, ring }
    }
}
