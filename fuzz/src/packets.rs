//! Target: the header fields of a frame, its congestion mark, and whether it is a pure acknowledgement. The first byte of an input names the link type, the rest is the frame.

use tidegate_core::classifier::{Header, Network, Transport};
use tidegate_core::packet::Ecn;
use tidegate_wire::{LinkType, PureAck, ecn, locate, mark};

/// The numbers of the link types that the first byte chooses from, modulo their number. New ones go to the end: the kept inputs name them by place.
const LINKS: [u32; 22] = [1, 101, 0, 9, 113, 276, 147, 50, 51, 100, 104, 105, 107, 119, 123, 127, 163, 166, 192, 204, 219, 239];

/// Parses one frame; true if anything in it was recognised.
pub fn run(input: &[u8]) -> bool {
    let Some((&link, frame)) = input.split_first() else { return false };
    let link = LinkType::from_number(LINKS[usize::from(link) % LINKS.len()]);
    let (header, places) = locate(link, frame);
    assert!(places.tag.is_none_or(|at| at + 2 <= frame.len()), "a tag outside the frame");
    assert!(places.ip.is_none_or(|at| at + 20 <= frame.len()), "an IP header outside the frame");
    check_ranges(&header);
    check_mark(link, frame);
    if PureAck::read(link, frame).is_some() {
        assert_eq!(ecn(link, frame), Ecn::NotEct, "an acknowledgement that carries a mark is none");
    }
    header != Header { length: frame.len() as u32, ..Header::default() }
}

/// A mark turns ECT into CE, in at most three bytes, once.
fn check_mark(link: LinkType, frame: &[u8]) {
    let mut marked = frame.to_vec();
    let can_be_marked = matches!(ecn(link, frame), Ecn::Ect0 | Ecn::Ect1);
    assert_eq!(mark(link, &mut marked), can_be_marked);
    assert_eq!(ecn(link, &marked), if can_be_marked { Ecn::Ce } else { ecn(link, frame) });
    assert!(marked.iter().zip(frame).filter(|(now, then)| now != then).count() <= if can_be_marked { 3 } else { 0 });
    assert!(!mark(link, &mut marked));
}

/// What every header promises, however damaged the frame.
fn check_ranges(header: &Header) {
    assert!(header.vlan.is_none_or(|vlan| vlan < 1 << 12));
    assert!(header.inner_vlan.is_none_or(|vlan| vlan < 1 << 12 && header.vlan.is_some()));
    assert!(header.flow_label.is_none_or(|label| label < 1 << 20));
    assert!(header.vlan_priority.is_none_or(|priority| priority < 8));
    assert!(header.mpls_label.is_none_or(|label| label < 1 << 20));
    assert!(header.mpls_traffic_class.is_none_or(|class| class < 8));
    let transport = match header.network {
        Network::Other => return,
        Network::V4 { transport, .. } | Network::V6 { transport, .. } => transport,
    };
    assert!(transport.dscp < 64);
    assert!(transport.ports.is_none() || matches!(transport.protocol, 6 | 17 | 33 | 132 | 136), "ports of a protocol without any");
    assert!(transport.tcp_flags.is_none_or(|flags| flags < 1 << 9 && transport.protocol == Transport::TCP), "flags of another protocol");
}
