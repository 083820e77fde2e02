//! What an operator may say of the schedulers below an AQM: the quantum of [`SparseRoundRobin`](super::SparseRoundRobin), the hosts among which
//! [`HostRoundRobin`](super::HostRoundRobin) shares, and what [`DualQueue`](super::DualQueue) keeps for classic traffic.

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

/// What the classic side gets while both sides are backlogged.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ClassicShare(u8);

impl ClassicShare {
    /// This many percent; `None` unless from 1 to 50.
    pub const fn new(percent: u8) -> Option<ClassicShare> {
        if percent == 0 || percent > 50 { None } else { Some(ClassicShare(percent)) }
    }

    /// The percent.
    pub const fn percent(self) -> u8 {
        self.0
    }
}

impl Default for ClassicShare {
    /// 10 %.
    fn default() -> ClassicShare {
        ClassicShare(10)
    }
}

crate::fields! {
    /// The hosts that get equal shares while they are backlogged, whatever the number of their flows.
    #[derive(Default)]
    pub enum HostFairness {
        /// None: flows share.
        Off = "off",
        /// Those that packets come from.
        Source = "source",
        /// Those that packets go to.
        Destination = "destination",
        /// Both: a flow has the share of the busier of its two hosts.
        #[default]
        Both = "both",
    }
}

/// The options of a scheduler below an AQM.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct QueueOptions {
    /// What a flow may send per turn; the longest packet unless given.
    pub quantum: Option<Quantum>,
    /// The share of the classic side.
    pub classic_share: ClassicShare,
    /// The hosts that share.
    pub hosts: HostFairness,
}
