//! Target: the header fields of a frame. The first byte of an input names the link type, the rest is the frame.

use tidegate_core::classifier::{Header, Network};
use tidegate_wire::{LinkType, parse};

/// The link types that the first byte chooses from, modulo their number.
const LINKS: [LinkType; 7] = [
    LinkType::Ethernet,
    LinkType::Ip,
    LinkType::Loopback,
    LinkType::Ppp,
    LinkType::LinuxCooked,
    LinkType::LinuxCooked2,
    LinkType::Opaque(147),
];

/// Parses one frame; true if anything in it was recognised.
pub fn run(input: &[u8]) -> bool {
    let Some((&link, frame)) = input.split_first() else { return false };
    let header = parse(LINKS[usize::from(link) % LINKS.len()], frame);
    check_ranges(&header);
    header != Header::default()
}

/// What every header promises, however damaged the frame.
fn check_ranges(header: &Header) {
    assert!(header.vlan.is_none_or(|vlan| vlan < 1 << 12));
    assert!(header.vlan_priority.is_none_or(|priority| priority < 8));
    assert!(header.mpls_label.is_none_or(|label| label < 1 << 20));
    assert!(header.mpls_traffic_class.is_none_or(|class| class < 8));
    let transport = match header.network {
        Network::Other => return,
        Network::V4 { transport, .. } | Network::V6 { transport, .. } => transport,
    };
    assert!(transport.dscp < 64);
    assert!(transport.ports.is_none() || matches!(transport.protocol, 6 | 17 | 33 | 132 | 136), "ports of a protocol without any");
}
