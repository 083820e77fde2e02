//! What the flows of one [`Dwcs`](super::Dwcs) have in common.

use crate::dwcs::Rules;

/// What windows share out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Shares {
    /// Packets, whatever their length, as in the papers.
    Packets,
    /// Bytes on the wire.
    #[default]
    Bytes,
}

/// What an operator may say about all flows of one [`Dwcs`](super::Dwcs) together.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct DwcsOptions {
    /// Which deadlines count as missed, and whether flows may be served early.
    pub rules: Rules,
    /// What windows share out.
    pub shares: Shares,
}
