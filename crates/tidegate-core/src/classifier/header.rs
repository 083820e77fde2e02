//! The header of a packet: what rules look at, and the colour that a packet brings along.

use crate::packet::{Colour, Ecn};

/// The fields of a frame that rules look at. The parser fills it in, once per packet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Header {
    /// Bytes of the frame, from its first header to the end of its payload: what buffers and counters count.
    pub length: u32,
    /// Source address of the Ethernet frame.
    pub source_mac: Option<[u8; 6]>,
    /// Destination address of the Ethernet frame.
    pub destination_mac: Option<[u8; 6]>,
    /// The Ethernet type of what the frame carries, after any VLAN tags (0x8847 for MPLS); below 0x600 for IEEE 802.3 lengths.
    pub ethernet_type: u16,
    /// VLAN identifier of the outermost tag.
    pub vlan: Option<u16>,
    /// Priority code point of the outermost VLAN tag, 0 to 7.
    pub vlan_priority: Option<u8>,
    /// VLAN identifier of the second tag, counted from outside.
    pub inner_vlan: Option<u16>,
    /// Outermost MPLS label.
    pub mpls_label: Option<u32>,
    /// Traffic class bits of the outermost MPLS label, 0 to 7.
    pub mpls_traffic_class: Option<u8>,
    /// Flow label of IPv6, below 2^20.
    pub flow_label: Option<u32>,
    /// The network layer.
    pub network: Network,
}

impl Colour {
    /// The colour that a packet brings along: the drop precedence of an assured-forwarding code point AFxy, y = 1 green, 2 yellow,
    /// 3 red (RFC 2597); everything else is green.
    pub const fn of(header: &Header) -> Colour {
        let Some(transport) = header.network.transport() else { return Colour::Green };
        match (transport.dscp >> 3, transport.dscp & 0b111) {
            (1..=4, 0b100) => Colour::Yellow,
            (1..=4, 0b110) => Colour::Red,
            _ => Colour::Green,
        }
    }
}

/// The network layer of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Network {
    /// Not IP, or too damaged to tell.
    #[default]
    Other,
    /// IPv4.
    V4 {
        /// Source address.
        source: u32,
        /// Destination address.
        destination: u32,
        /// What the two versions share.
        transport: Transport,
    },
    /// IPv6.
    V6 {
        /// Source address.
        source: u128,
        /// Destination address.
        destination: u128,
        /// What the two versions share.
        transport: Transport,
    },
}

impl Network {
    /// What the two IP versions share; `None` if this is not IP.
    pub const fn transport(&self) -> Option<&Transport> {
        match self {
            Network::Other => None,
            Network::V4 { transport, .. } | Network::V6 { transport, .. } => Some(transport),
        }
    }

    /// The code point of congestion notification; Not-ECT if this is not IP.
    #[inline]
    pub const fn ecn(&self) -> Ecn {
        match self.transport() {
            Some(transport) => transport.ecn,
            None => Ecn::NotEct,
        }
    }

    /// The same with another code point of congestion notification, if this is IP.
    #[inline]
    pub const fn with_ecn(mut self, ecn: Ecn) -> Network {
        match &mut self {
            Network::Other => {}
            Network::V4 { transport, .. } | Network::V6 { transport, .. } => transport.ecn = ecn,
        }
        self
    }
}

/// What the two IP versions have in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Transport {
    /// Differentiated services code point, 0 to 63.
    pub dscp: u8,
    /// Code point of congestion notification.
    pub ecn: Ecn,
    /// Protocol number of the transport layer, past any IPv6 extension headers.
    pub protocol: u8,
    /// True for every fragment of a fragmented datagram, the first included.
    pub fragment: bool,
    /// Source and destination port of TCP, UDP, SCTP, UDP-Lite and DCCP; `None` where the frame holds none (later fragments, other
    /// protocols).
    pub ports: Option<(u16, u16)>,
    /// The flags of TCP from FIN (1) to CWR (128) and AE (256); `None` where the frame holds none.
    pub tcp_flags: Option<u16>,
}
