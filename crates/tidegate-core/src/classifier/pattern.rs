//! What a rule can ask of one field: prefixes, ranges, masks and sets.

use super::header::Network;
use super::problem::RuleProblem;

/// All addresses that agree with this one in the first `length` bits. The rest of the address is zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Prefix {
    /// IPv4.
    V4 {
        /// The address.
        address: u32,
        /// The number of bits that count, 0 to 32.
        length: u8,
    },
    /// IPv6.
    V6 {
        /// The address.
        address: u128,
        /// The number of bits that count, 0 to 128.
        length: u8,
    },
}

impl Prefix {
    pub(super) fn contains_source(self, network: &Network) -> bool {
        match (self, network) {
            (Prefix::V4 { address, length }, Network::V4 { source, .. }) => (source ^ address) & mask_v4(length) == 0,
            (Prefix::V6 { address, length }, Network::V6 { source, .. }) => (source ^ address) & mask_v6(length) == 0,
            _ => false,
        }
    }

    pub(super) fn contains_destination(self, network: &Network) -> bool {
        match (self, network) {
            (Prefix::V4 { address, length }, Network::V4 { destination, .. }) => (destination ^ address) & mask_v4(length) == 0,
            (Prefix::V6 { address, length }, Network::V6 { destination, .. }) => (destination ^ address) & mask_v6(length) == 0,
            _ => false,
        }
    }

    /// True if every address of `other` is one of these.
    pub(super) fn covers(self, other: Prefix) -> bool {
        match (self, other) {
            (Prefix::V4 { address, length }, Prefix::V4 { address: a, length: l }) => length <= l && (a ^ address) & mask_v4(length) == 0,
            (Prefix::V6 { address, length }, Prefix::V6 { address: a, length: l }) => length <= l && (a ^ address) & mask_v6(length) == 0,
            _ => false,
        }
    }

    /// True for IPv4.
    pub(super) const fn is_v4(self) -> bool {
        matches!(self, Prefix::V4 { .. })
    }

    pub(super) fn check(self) -> Result<(), RuleProblem> {
        let (fits, is_clean) = match self {
            Prefix::V4 { address, length } => (length <= 32, address & !mask_v4(length.min(32)) == 0),
            Prefix::V6 { address, length } => (length <= 128, address & !mask_v6(length.min(128)) == 0),
        };
        match (fits, is_clean) {
            (false, _) => Err(RuleProblem::PrefixTooLong),
            (_, false) => Err(RuleProblem::PrefixHasHostBits),
            _ => Ok(()),
        }
    }
}

/// The network mask of an IPv4 prefix length up to 32.
pub(super) const fn mask_v4(length: u8) -> u32 {
    if length == 0 { 0 } else { u32::MAX << (32 - length) }
}

/// The network mask of an IPv6 prefix length up to 128.
pub(super) const fn mask_v6(length: u8) -> u128 {
    if length == 0 { 0 } else { u128::MAX << (128 - length) }
}

/// A set of differentiated services code points: bit n stands for code point n.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CodePoints(pub u64);

impl CodePoints {
    /// The set of this code point alone, of which the lowest six bits count.
    pub const fn one(dscp: u8) -> CodePoints {
        CodePoints(1 << (dscp & 63))
    }

    /// True if the code point is in the set.
    pub const fn contains(self, dscp: u8) -> bool {
        self.0 >> (dscp & 63) & 1 != 0
    }
}

/// Ports from `first` to `last`, both included.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PortRange {
    /// The lowest port.
    pub first: u16,
    /// The highest port, at least `first`.
    pub last: u16,
}

impl PortRange {
    /// One port alone.
    pub const fn one(port: u16) -> PortRange {
        PortRange { first: port, last: port }
    }

    /// True if the port is in the range.
    pub const fn contains(self, port: u16) -> bool {
        self.first <= port && port <= self.last
    }
}

/// Lengths of frames from `first` to `last` bytes, both included.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LengthRange {
    /// The least length.
    pub first: u32,
    /// The greatest length, at least `first`.
    pub last: u32,
}

impl LengthRange {
    /// Every length.
    pub const ALL: LengthRange = LengthRange { first: 0, last: u32::MAX };

    /// True if the length is in the range.
    pub const fn contains(self, length: u32) -> bool {
        self.first <= length && length <= self.last
    }
}

/// All Ethernet addresses that agree with this one in the bits of a mask. The first byte on the wire is the highest of the lower six.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MacPattern {
    /// The address, zero in the bits that do not count.
    pub address: u64,
    /// The bits that count, at least one, below 2^48.
    pub mask: u64,
}

impl MacPattern {
    /// The number that an address is compared as.
    pub(super) fn number(mac: [u8; 6]) -> u64 {
        let [a, b, c, d, e, f] = mac;
        u64::from_be_bytes([0, 0, a, b, c, d, e, f])
    }

    /// True if the address agrees.
    pub fn contains(self, mac: [u8; 6]) -> bool {
        (MacPattern::number(mac) ^ self.address) & self.mask == 0
    }

    pub(super) fn covers(self, other: MacPattern) -> bool {
        self.mask & !other.mask == 0 && (self.address ^ other.address) & self.mask == 0
    }

    /// True if no address agrees with both.
    pub(super) fn is_apart_from(self, other: MacPattern) -> bool {
        (self.address ^ other.address) & self.mask & other.mask != 0
    }

    pub(super) fn check(self) -> Result<(), RuleProblem> {
        let is_good = self.mask != 0 && self.mask >> 48 == 0 && self.address & !self.mask == 0;
        if is_good { Ok(()) } else { Err(RuleProblem::MacMask) }
    }
}

/// TCP flags that have to be set, and others that have to be clear; see [`tcp_flags`](super::Transport::tcp_flags).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FlagPattern {
    /// The flags that are set.
    pub set: u16,
    /// The flags that are clear.
    pub clear: u16,
}

impl FlagPattern {
    /// The bits of a TCP header that are flags.
    pub const ALL: u16 = 0x1ff;

    /// True if the flags agree.
    pub const fn contains(self, flags: u16) -> bool {
        flags & (self.set | self.clear) == self.set
    }

    pub(super) const fn covers(self, other: FlagPattern) -> bool {
        self.set & !other.set == 0 && self.clear & !other.clear == 0
    }

    /// True if no flags agree with both.
    pub(super) const fn is_apart_from(self, other: FlagPattern) -> bool {
        self.set & other.clear != 0 || self.clear & other.set != 0
    }

    pub(super) const fn check(self) -> Result<(), RuleProblem> {
        let asked = self.set | self.clear;
        if asked == 0 || asked & !FlagPattern::ALL != 0 || self.set & self.clear != 0 { Err(RuleProblem::TcpFlags) } else { Ok(()) }
    }
}
