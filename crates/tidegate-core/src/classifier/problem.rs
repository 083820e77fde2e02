//! What can be wrong with a rule by itself.

use core::fmt;

/// What is wrong with a rule by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RuleProblem {
    /// A length range whose first length lies above its last.
    LengthsReversed,
    /// A mask of no bits, or a bit of an Ethernet address beyond its mask.
    MacMask,
    /// A VLAN identifier above 4095.
    Vlan,
    /// A VLAN priority above 7.
    VlanPriority,
    /// An MPLS label of more than 20 bits.
    MplsLabel,
    /// An MPLS traffic class above 7.
    MplsTrafficClass,
    /// A prefix longer than an address.
    PrefixTooLong,
    /// An address with bits beyond its prefix length.
    PrefixHasHostBits,
    /// An IPv4 prefix on one side and an IPv6 prefix on the other.
    MixedVersions,
    /// A flow label of more than 20 bits.
    FlowLabel,
    /// A flow label asked of IPv4.
    FlowLabelOfV4,
    /// An empty set of code points.
    NoCodePoint,
    /// A port range whose first port lies above its last.
    PortsReversed,
    /// Ports asked of a protocol that has none.
    ProtocolWithoutPorts,
    /// No TCP flag, one that does not exist, or one that is to be set and clear.
    TcpFlags,
    /// TCP flags asked of another protocol.
    FlagsWithoutTcp,
    /// An exception with exceptions.
    NestedException,
    /// An exception that takes all that the rule matches.
    NothingLeft,
}

impl fmt::Display for RuleProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RuleProblem::LengthsReversed => "the first length of a range must not be above the last",
            RuleProblem::MacMask => "the mask of an Ethernet address has at least one bit, and the address none beyond it",
            RuleProblem::Vlan => "a VLAN identifier is at most 4095",
            RuleProblem::VlanPriority => "a VLAN priority is at most 7",
            RuleProblem::MplsLabel => "an MPLS label is below 1048576",
            RuleProblem::MplsTrafficClass => "an MPLS traffic class is at most 7",
            RuleProblem::PrefixTooLong => "a prefix is at most as long as the address: 32 bits for IPv4, 128 for IPv6",
            RuleProblem::PrefixHasHostBits => "the address has bits set beyond the prefix length: clear them, or lengthen the prefix",
            RuleProblem::MixedVersions => "source and destination are of different IP versions, which no packet is",
            RuleProblem::FlowLabel => "a flow label is below 1048576",
            RuleProblem::FlowLabelOfV4 => "IPv4 has no flow label; IPv6 has",
            RuleProblem::NoCodePoint => "the set of code points is empty, which matches nothing",
            RuleProblem::PortsReversed => "the first port of a range must not be above the last",
            RuleProblem::ProtocolWithoutPorts => "this protocol has no ports; TCP, UDP, DCCP, SCTP and UDP-Lite have",
            RuleProblem::TcpFlags => "at least one of the nine TCP flags is asked for, and none to be both set and clear",
            RuleProblem::FlagsWithoutTcp => "only TCP has these flags",
            RuleProblem::NestedException => "an exception in `not` has no `not` itself",
            RuleProblem::NothingLeft => "`not` takes out every packet that the other conditions match, so nothing is left",
        })
    }
}
