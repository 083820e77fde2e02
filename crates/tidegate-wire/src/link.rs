//! What a frame begins with, down to its network layer: link types of captures, VLAN tags, LLC, SNAP, PPP and 802.11.
//!
//! `docs/classifier.md` lists what is looked into. Every step takes bytes off the front of a slice, so no step reads outside the frame. Encapsulations
//! that could hold each other without end are followed [`DEPTH`] times.

use crate::found::{Found, read_u16};
use crate::network::{IPV4, IPV6, from_ip, from_ip_payload, from_labels};

/// What a frame begins with. Numbers are those of capture files (the LINKTYPE registry of tcpdump.org).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LinkType {
    /// Ethernet II or IEEE 802.3, without the frame check sequence (1).
    Ethernet,
    /// An IP packet with nothing before it (12, 14, 101, 106, 228, 229).
    Ip,
    /// BSD loopback: a 4-byte address family in either byte order (0, 108).
    Loopback,
    /// PPP with an optional address and control field, or Cisco HDLC in its place (9, 50).
    Ppp,
    /// A byte that tells the direction, then PPP (204).
    PppWithDirection,
    /// PPP whose address byte tells the direction (166).
    PppOfDaemon,
    /// A PPPoE session header, without Ethernet before it (51).
    PppOverEthernet,
    /// Cisco HDLC (104).
    CiscoHdlc,
    /// Frame Relay (107).
    FrameRelay,
    /// LLC on ATM, of RFC 1483 and RFC 2684 (100).
    Llc,
    /// SunATM: four bytes, then LLC or an emulated LAN's frame (123).
    SunAtm,
    /// IEEE 802.11 without anything before it (105).
    Wifi,
    /// IEEE 802.11 behind a radiotap header (127).
    Radiotap,
    /// IEEE 802.11 behind a Prism or AVS header (119, 163).
    Prism,
    /// Per-packet information: a header that names the link type of what follows (192).
    PerPacketInformation,
    /// Packets of Linux's netfilter log, in attributes (239).
    NetfilterLog,
    /// A label stack (219).
    Mpls,
    /// Linux cooked capture, version 1 (113).
    LinuxCooked,
    /// Linux cooked capture, version 2 (276).
    LinuxCooked2,
    /// Anything else: frames are carried, but no rule sees into them.
    Opaque(u32),
}

impl LinkType {
    /// The link type of a number found in a capture file.
    pub const fn from_number(number: u32) -> LinkType {
        match number {
            1 => LinkType::Ethernet,
            12 | 14 | 101 | 106 | 228 | 229 => LinkType::Ip,
            0 | 108 => LinkType::Loopback,
            9 | 50 => LinkType::Ppp,
            51 => LinkType::PppOverEthernet,
            100 => LinkType::Llc,
            104 => LinkType::CiscoHdlc,
            105 => LinkType::Wifi,
            107 => LinkType::FrameRelay,
            113 => LinkType::LinuxCooked,
            119 | 163 => LinkType::Prism,
            123 => LinkType::SunAtm,
            127 => LinkType::Radiotap,
            166 => LinkType::PppOfDaemon,
            192 => LinkType::PerPacketInformation,
            204 => LinkType::PppWithDirection,
            219 => LinkType::Mpls,
            239 => LinkType::NetfilterLog,
            276 => LinkType::LinuxCooked2,
            other => LinkType::Opaque(other),
        }
    }
}

/// How often an LLC header is followed in one frame: once in real traffic, twice where Ethernet is bridged over ATM.
pub(crate) const DEPTH: u8 = 4;

const MPLS_UNICAST: u16 = 0x8847;
const MPLS_MULTICAST: u16 = 0x8848;
const PPPOE_SESSION: u16 = 0x8864;
/// LLC in an Ethernet II frame, for frames longer than an 802.3 length can tell.
const LONG_LLC: u16 = 0x8870;
/// Below this an Ethernet type is the length of an 802.3 frame.
const LEAST_TYPE: u16 = 0x0600;

/// Reads a frame that begins with `link`.
#[inline]
pub(crate) fn read(found: &mut Found, link: LinkType, frame: &[u8]) {
    match link {
        LinkType::Ethernet => from_ethernet(found, frame),
        _ => from_other_link(found, link, frame),
    }
}

#[inline(never)]
fn from_other_link(found: &mut Found, link: LinkType, frame: &[u8]) {
    let after = |bytes: usize| frame.get(bytes..).unwrap_or_default();
    match link {
        LinkType::Ethernet => from_ethernet(found, frame),
        // Values below 0x600 are Linux's own here; 4 announces LLC.
        LinkType::LinuxCooked => match read_u16(frame, 14) {
            Some(4) => from_llc(found, after(16)),
            Some(kind) if kind < LEAST_TYPE => found.header.ethernet_type = kind,
            Some(kind) => from_type(found, kind, after(16)),
            None => {}
        },
        // The protocol comes first; the fields between it and the payload do not matter here.
        LinkType::LinuxCooked2 => match (read_u16(frame, 0), frame.get(20..)) {
            (Some(4), Some(rest)) => from_llc(found, rest),
            (Some(kind), Some(_)) if kind < LEAST_TYPE => found.header.ethernet_type = kind,
            (Some(kind), Some(rest)) => from_type(found, kind, rest),
            _ => {}
        },
        LinkType::Ip => from_ip(found, frame),
        LinkType::Loopback => from_ip(found, after(4)),
        LinkType::Ppp => from_ppp(found, frame),
        LinkType::PppWithDirection => from_ppp(found, after(1)),
        LinkType::PppOfDaemon => from_ppp(found, if frame.get(1) == Some(&0x03) { after(2) } else { after(1) }),
        LinkType::PppOverEthernet => from_pppoe(found, frame),
        LinkType::CiscoHdlc => from_ethernet_type(found, after(2)),
        LinkType::FrameRelay => from_frame_relay(found, frame),
        LinkType::Llc => from_llc(found, frame),
        LinkType::SunAtm => match frame.first().map(|kind| kind & 0x0f) {
            // An emulated LAN's frame begins with the number of the client that sent it.
            Some(1) => from_ethernet(found, after(6)),
            Some(2) => from_llc(found, after(4)),
            _ => {}
        },
        LinkType::Wifi => from_wifi(found, frame, false),
        LinkType::Radiotap => from_radiotap(found, frame),
        LinkType::Prism => from_prism(found, frame),
        LinkType::PerPacketInformation => {
            if let [_, _, low, high, a, b, c, d, ..] = *frame {
                let inner = LinkType::from_number(u32::from_le_bytes([a, b, c, d]));
                if inner != LinkType::PerPacketInformation {
                    read(found, inner, after(usize::from(u16::from_le_bytes([low, high]))));
                }
            }
        }
        LinkType::NetfilterLog => from_netfilter_log(found, after(4)),
        LinkType::Mpls => from_type(found, MPLS_UNICAST, frame),
        LinkType::Opaque(_) => {}
    }
}

#[inline]
fn from_ethernet(found: &mut Found, frame: &[u8]) {
    let Some((destination, rest)) = frame.split_first_chunk::<6>() else { return };
    let Some((source, rest)) = rest.split_first_chunk::<6>() else { return };
    // Of a frame within another, the outer addresses count.
    if found.header.source_mac.is_none() {
        (found.header.destination_mac, found.header.source_mac) = (Some(*destination), Some(*source));
    }
    from_ethernet_type(found, rest);
}

/// Reads an Ethernet type and what follows it.
#[inline]
fn from_ethernet_type(found: &mut Found, bytes: &[u8]) {
    if let [high, low, rest @ ..] = bytes {
        from_type(found, u16::from_be_bytes([*high, *low]), rest);
    }
}

/// Reads VLAN tags, and what the Ethernet type behind them announces.
#[inline]
fn from_type(found: &mut Found, mut kind: u16, mut rest: &[u8]) {
    // Customer tag, service tag, and the values of the service tag before it was standardised.
    while matches!(kind, 0x8100 | 0x88a8 | 0x9100 | 0x9200) {
        let [tag_high, tag_low, high, low, below @ ..] = rest else { break };
        if found.header.vlan.is_none() {
            let tag = u16::from_be_bytes([*tag_high, *tag_low]);
            found.header.vlan = Some(tag & 0x0fff);
            found.header.vlan_priority = Some((tag >> 13) as u8);
            found.places.tag = Some(found.place_of(rest));
        } else if found.header.inner_vlan.is_none() {
            found.header.inner_vlan = Some(u16::from_be_bytes([*tag_high, *tag_low]) & 0x0fff);
        }
        kind = u16::from_be_bytes([*high, *low]);
        rest = below;
    }
    found.header.ethernet_type = kind;
    match kind {
        IPV4 | IPV6 => from_ip_payload(found, rest),
        MPLS_UNICAST | MPLS_MULTICAST => from_labels(found, rest),
        PPPOE_SESSION => from_pppoe(found, rest),
        LONG_LLC | 0..LEAST_TYPE => from_llc(found, rest),
        _ => {}
    }
}

/// Reads an LLC header (IEEE 802.2) and what it announces.
#[inline(never)]
fn from_llc(found: &mut Found, llc: &[u8]) {
    if found.depth == 0 {
        return;
    }
    found.depth -= 1;
    match llc {
        [0xaa, 0xaa, 0x03, snap @ ..] => from_snap(found, snap),
        [0x06, 0x06, 0x03, packet @ ..] => from_ip(found, packet),
        [0xfe, 0xfe, 0x03, identifier, rest @ ..] => from_nlpid(found, *identifier, rest),
        _ => {}
    }
}

fn from_snap(found: &mut Found, snap: &[u8]) {
    match snap {
        [0, 0, 0 | 0xf8, high, low, rest @ ..] => from_type(found, u16::from_be_bytes([*high, *low]), rest),
        // Ethernet bridged over ATM or Frame Relay (RFC 2684, RFC 2427), with and without its check sequence; two bytes of padding.
        [0x00, 0x80, 0xc2, 0x00, 0x01 | 0x07, _, _, frame @ ..] => from_ethernet(found, frame),
        _ => {}
    }
}

/// Reads what an OSI network layer protocol identifier announces.
fn from_nlpid(found: &mut Found, identifier: u8, rest: &[u8]) {
    match identifier {
        0x80 => from_snap(found, rest),
        0x8e | 0xcc => from_ip(found, rest),
        _ => {}
    }
}

/// Reads a PPPoE session header (RFC 2516) and the PPP frame behind it. The Ethernet type stays that of PPPoE, as it stays that of MPLS.
#[inline(never)]
fn from_pppoe(found: &mut Found, bytes: &[u8]) {
    if let [_, 0x00, _, _, _, _, ppp @ ..] = bytes {
        from_ppp(found, ppp);
    }
    found.header.ethernet_type = PPPOE_SESSION;
}

/// Reads PPP (RFC 1661, RFC 1662): address and control may be left out, and a protocol below 256 may take one byte.
fn from_ppp(found: &mut Found, frame: &[u8]) {
    let frame = match frame {
        [0x0f | 0x8f, 0x00, ..] => return from_ethernet_type(found, &frame[2..]),
        [0xff, 0x03, rest @ ..] => rest,
        _ => frame,
    };
    let (protocol, rest) = match frame {
        [odd, rest @ ..] if odd & 1 == 1 => (u16::from(*odd), rest),
        [high, low, rest @ ..] => (u16::from_be_bytes([*high, *low]), rest),
        _ => return,
    };
    match protocol {
        0x0021 | 0x0057 => from_ip(found, rest),
        0x0281 => from_type(found, MPLS_UNICAST, rest),
        0x0283 => from_type(found, MPLS_MULTICAST, rest),
        _ => {}
    }
}

/// Reads an address of two to four bytes, then either a control byte and a protocol identifier (RFC 2427) or Cisco's Ethernet type.
fn from_frame_relay(found: &mut Found, frame: &[u8]) {
    // The lowest bit of the last byte of the address is set.
    let Some(last) = frame.iter().take(4).position(|byte| byte & 1 == 1) else { return };
    match &frame[last + 1..] {
        [0x03, 0x00, identifier, rest @ ..] | [0x03, identifier, rest @ ..] => from_nlpid(found, *identifier, rest),
        rest => from_ethernet_type(found, rest),
    }
}

/// Reads a data frame of IEEE 802.11; `padded` if its header is filled up to four bytes. What is encrypted is not looked into, nor is a fragment but the
/// first.
fn from_wifi(found: &mut Found, frame: &[u8], padded: bool) {
    let Some(&[control, flags, ..]) = frame.get(..24) else { return };
    let is_data = control & 0b1111 == 0b1000 && control & 0x40 == 0;
    let is_protected = flags & 0x40 > 0;
    let is_later_fragment = frame[22] & 0x0f > 0;
    if !is_data || is_protected || is_later_fragment {
        return;
    }
    let mut length = if flags & 0b11 == 0b11 { 30 } else { 24 };
    let mut is_aggregate = false;
    if control & 0x80 > 0 {
        is_aggregate = frame.get(length).is_some_and(|quality| quality & 0x80 > 0);
        length += if flags & 0x80 > 0 { 6 } else { 2 };
    }
    if padded {
        length = length.next_multiple_of(4);
    }
    // The first packet of an aggregate has addresses and a length before it.
    length += if is_aggregate { 14 } else { 0 };
    if let Some(llc) = frame.get(length..) {
        from_llc(found, llc);
    }
}

/// Skips a radiotap header; one of its flags tells whether the frame's header is padded.
fn from_radiotap(found: &mut Found, frame: &[u8]) {
    const TIME: u8 = 1 << 0;
    const FLAGS: u8 = 1 << 1;
    let &[_, _, low, high, fields, ..] = frame else { return };
    let Some((header, rest)) = frame.split_at_checked(usize::from(u16::from_le_bytes([low, high]))) else { return };
    // The highest bit of a word of fields announces another.
    let mut at = 4;
    while header.get(at + 3).is_some_and(|highest| highest & 0x80 > 0) {
        at += 4;
    }
    at += 4;
    if fields & TIME > 0 {
        at = at.next_multiple_of(8) + 8;
    }
    let is_padded = fields & FLAGS > 0 && header.get(at).is_some_and(|flags| flags & 0x20 > 0);
    from_wifi(found, rest, is_padded);
}

/// Skips a Prism header, whose length is in the byte order of its host, or an AVS header, whose length is big-endian.
fn from_prism(found: &mut Found, frame: &[u8]) {
    let Some((kind, [a, b, c, d, ..])) = frame.split_first_chunk::<4>() else { return };
    let length = [*a, *b, *c, *d];
    let is_avs = u32::from_be_bytes(*kind) & 0xffff_f000 == 0x8021_1000;
    let length = if is_avs || kind[0] == 0 { u32::from_be_bytes(length) } else { u32::from_le_bytes(length) };
    if let Some(rest) = frame.get(length as usize..) {
        from_wifi(found, rest, false);
    }
}

/// Looks for the packet among the attributes of a message of Linux's netfilter log. Attributes are in the byte order of their host: a length that makes
/// no sense in one is read in the other.
fn from_netfilter_log(found: &mut Found, mut attributes: &[u8]) {
    const PAYLOAD: u16 = 9;
    while let Some((&[a, b, c, d], body)) = attributes.split_first_chunk::<4>() {
        let makes_sense = |length: u16| (4..=attributes.len()).contains(&usize::from(length));
        let mut field = (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]));
        if !makes_sense(field.0) {
            field = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        }
        let (length, kind) = field;
        if !makes_sense(length) {
            return;
        }
        if kind == PAYLOAD {
            return from_ip(found, &body[..usize::from(length) - 4]);
        }
        attributes = attributes.get(usize::from(length).next_multiple_of(4)..).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests;
