//! What an operator may say of the schedulers below an AQM: the quantum of [`SparseRoundRobin`](super::SparseRoundRobin).

use crate::units::MAX_BYTES;

/// The bytes that a flow may send per turn.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Quantum(u32);

impl Quantum {
    /// The least quantum in bytes: below it, turns without a packet cost more than small packets gain.
    pub const LEAST: u32 = 256;

    /// A quantum of this many bytes on the wire; `None` below [`Quantum::LEAST`] and above [`MAX_BYTES`].
    pub const fn new(bytes: u32) -> Option<Quantum> {
        if bytes < Quantum::LEAST || bytes > MAX_BYTES { None } else { Some(Quantum(bytes)) }
    }

    /// The bytes.
    pub const fn bytes(self) -> u32 {
        self.0
    }
}

/// The options of a scheduler below an AQM.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct QueueOptions {
    /// What a flow may send per turn; the longest packet unless given.
    pub quantum: Option<Quantum>,
}
