//! The LLC/SNAP header of a frame of AAL5, which names its protocol.
//!
//! **Law.** Decapsulating an encapsulated packet returns its protocol and bytes.
//! **Source.** RFC 2684, section 5. Routed packets have an EtherType. Bridged Ethernet frames have an identifier of their own, and two bytes
//! of padding.
//! **State.** None.
//! **Cost.** One copy.
//! **RTL twin.** None.
//! **Deviations.** Ethernet is the only bridged medium. A virtual channel with one protocol needs no header (section 6, VC multiplexing).

/// Bytes before a routed packet.
pub const ROUTED: usize = 8;
/// Bytes before a bridged Ethernet frame.
pub const BRIDGED: usize = 10;

/// AA-AA-03: a SNAP header follows.
const LLC: [u8; 3] = [0xAA, 0xAA, 0x03];
/// The organisation whose identifiers are EtherTypes.
const ETHERTYPES: [u8; 3] = [0, 0, 0];
/// The organisation whose identifiers are bridged media.
const BRIDGED_MEDIA: [u8; 3] = [0x00, 0x80, 0xC2];
/// A bridged Ethernet frame with its frame check sequence.
const ETHERNET_WITH_FCS: u16 = 0x0001;
/// A bridged Ethernet frame without its frame check sequence.
const ETHERNET: u16 = 0x0007;

/// The protocol of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Protocol {
    /// A routed packet of this EtherType: 0x0800 is IPv4, 0x86DD IPv6.
    EtherType(u16),
    /// A bridged Ethernet frame.
    Ethernet {
        /// True if it ends with its frame check sequence.
        has_fcs: bool,
    },
}

impl Protocol {
    /// The length of its header in bytes.
    pub const fn overhead(self) -> usize {
        match self {
            Protocol::EtherType(_) => ROUTED,
            Protocol::Ethernet { .. } => BRIDGED,
        }
    }
}

/// Puts the header before a packet.
pub fn encapsulate(protocol: Protocol, packet: &[u8]) -> Vec<u8> {
    let (organisation, identifier) = match protocol {
        Protocol::EtherType(kind) => (ETHERTYPES, kind),
        Protocol::Ethernet { has_fcs: true } => (BRIDGED_MEDIA, ETHERNET_WITH_FCS),
        Protocol::Ethernet { has_fcs: false } => (BRIDGED_MEDIA, ETHERNET),
    };
    let mut frame = Vec::with_capacity(protocol.overhead() + packet.len());
    frame.extend(LLC);
    frame.extend(organisation);
    frame.extend(identifier.to_be_bytes());
    frame.resize(protocol.overhead(), 0);
    frame.extend(packet);
    frame
}

/// Removes the header; `None` if it is unknown.
pub fn decapsulate(frame: &[u8]) -> Option<(Protocol, &[u8])> {
    let (&[a, b, c, d, e, f, high, low], packet) = frame.split_first_chunk()?;
    if [a, b, c] != LLC {
        return None;
    }
    let identifier = u16::from_be_bytes([high, low]);
    match ([d, e, f], identifier) {
        (ETHERTYPES, kind) => Some((Protocol::EtherType(kind), packet)),
        (BRIDGED_MEDIA, ETHERNET | ETHERNET_WITH_FCS) => {
            Some((Protocol::Ethernet { has_fcs: identifier == ETHERNET_WITH_FCS }, packet.get(BRIDGED - ROUTED..)?))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn decapsulation_inverts_encapsulation(kind: u16, which in 0..3, packet in prop::collection::vec(any::<u8>(), 0..80)) {
            let protocol = [Protocol::EtherType(kind), Protocol::Ethernet { has_fcs: true }, Protocol::Ethernet { has_fcs: false }];
            let protocol = protocol[which as usize];
            let frame = encapsulate(protocol, &packet);
            prop_assert_eq!(frame.len(), protocol.overhead() + packet.len());
            prop_assert_eq!(decapsulate(&frame), Some((protocol, packet.as_slice())));
        }

        #[test]
        fn nothing_panics(frame in prop::collection::vec(any::<u8>(), 0..20)) {
            decapsulate(&frame);
        }
    }

    #[test]
    fn headers_are_those_of_the_rfc() {
        assert_eq!(encapsulate(Protocol::EtherType(0x0800), &[0x45]), [0xAA, 0xAA, 0x03, 0, 0, 0, 0x08, 0x00, 0x45]);
        let bridged = encapsulate(Protocol::Ethernet { has_fcs: false }, &[0xFF]);
        assert_eq!(bridged, [0xAA, 0xAA, 0x03, 0x00, 0x80, 0xC2, 0x00, 0x07, 0, 0, 0xFF]);
        assert_eq!(decapsulate(&bridged[..9]), None, "cut within the padding");
        assert_eq!(decapsulate(&[0xFE, 0xFE, 0x03, 0, 0, 0, 8, 0]), None);
    }
}
