//! The fields of packet headers as files write them: code points, protocols, prefixes, port ranges.

use crate::value::{Leaf, Scalar, expect_text, one_of, whole};
use serde_json::{Value, json};
use std::net::IpAddr;

/// A differentiated services code point, as a number or by name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Dscp(pub u8);

/// The names of code points (RFC 2474, 2597, 3246, 5865, 8622).
pub const DSCP_NAMES: &[(&str, u8)] = &[
    ("default", 0),
    ("cs0", 0),
    ("cs1", 8),
    ("cs2", 16),
    ("cs3", 24),
    ("cs4", 32),
    ("cs5", 40),
    ("cs6", 48),
    ("cs7", 56),
    ("af11", 10),
    ("af12", 12),
    ("af13", 14),
    ("af21", 18),
    ("af22", 20),
    ("af23", 22),
    ("af31", 26),
    ("af32", 28),
    ("af33", 30),
    ("af41", 34),
    ("af42", 36),
    ("af43", 38),
    ("ef", 46),
    ("voice-admit", 44),
    ("le", 1),
];

/// A protocol number of the transport layer, or its name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Protocol(pub u8);

/// The names of protocols (IANA protocol numbers).
pub const PROTOCOL_NAMES: &[(&str, u8)] = &[
    ("icmp", 1),
    ("igmp", 2),
    ("tcp", 6),
    ("udp", 17),
    ("dccp", 33),
    ("gre", 47),
    ("esp", 50),
    ("ah", 51),
    ("icmpv6", 58),
    ("ospf", 89),
    ("sctp", 132),
    ("udp-lite", 136),
];

/// The protocols whose packets have ports.
pub const WITH_PORTS: &[u8] = &[6, 17, 33, 132, 136];

/// An Ethernet type, as a number or by name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EthernetType(pub u16);

/// The names of Ethernet types (IANA IEEE 802 numbers).
pub const ETHERNET_TYPE_NAMES: &[(&str, u16)] =
    &[("ipv4", 0x0800), ("arp", 0x0806), ("ipv6", 0x86dd), ("mpls", 0x8847), ("mpls-multicast", 0x8848), ("lldp", 0x88cc), ("ptp", 0x88f7)];

macro_rules! numbers_with_names {
    ($($type:ident, $name:literal, $names:ident, $number:ty, $max:literal, $example:literal;)*) => {$(
        impl Leaf for $type {
            const NAME: &'static str = $name;
            fn schema() -> Value {
                let names: Vec<&str> = $names.iter().map(|known| known.0).collect();
                json!({ "anyOf": [{ "type": "integer", "minimum": 0, "maximum": $max }, { "enum": names }] })
            }
            fn read(scalar: &Scalar<'_>) -> Result<$type, String> {
                match scalar {
                    Scalar::Integer(_) => whole(scalar, 0, $max).map(|number| $type(number as $number)),
                    Scalar::Text(_) => crate::value::one_of(scalar, $example, $names).map($type),
                    other => Err(format!("expected {}, as a number up to {} or a name, not {other}", $example, $max)),
                }
            }
        }
    )*};
}

numbers_with_names! {
    Dscp, "code point", DSCP_NAMES, u8, 63, "a DSCP";
    Protocol, "protocol", PROTOCOL_NAMES, u8, 255, "a protocol";
    EthernetType, "Ethernet type", ETHERNET_TYPE_NAMES, u16, 65535, "an Ethernet type";
}

/// An address prefix: `10.0.0.0/8`, `2001:db8::/32`, or a single address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Prefix {
    pub address: IpAddr,
    /// The number of leading bits that count.
    pub length: u8,
}

impl Prefix {
    /// True if the prefix names one address.
    pub fn is_single(&self) -> bool {
        self.length == if self.address.is_ipv4() { 32 } else { 128 }
    }
}

impl Leaf for Prefix {
    const NAME: &'static str = "address or prefix";
    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^[0-9a-fA-F.:]+(/[0-9]{1,3})?$" })
    }
    fn read(scalar: &Scalar<'_>) -> Result<Prefix, String> {
        let text = expect_text(scalar, "an address or a prefix in quotes, like \"10.0.0.0/8\"")?;
        let (address, length) = text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
        let address: IpAddr = address.parse().map_err(|_| {
            format!("`{address}` is not an IPv4 or IPv6 address; write one like \"10.0.0.1\", \"10.0.0.0/8\" or \"2001:db8::/32\"")
        })?;
        let (bits, width) = match address {
            IpAddr::V4(v4) => (u128::from(v4.to_bits()) << 96, 32),
            IpAddr::V6(v6) => (v6.to_bits(), 128),
        };
        let length = match length.map(str::parse::<u8>) {
            None => width,
            Some(Ok(length)) if length <= width => length,
            Some(_) => return Err(format!("the prefix length of {text} is not a number from 0 to {width}")),
        };
        if bits.checked_shl(u32::from(length)).unwrap_or(0) != 0 {
            let kept = bits & !u128::MAX.checked_shr(u32::from(length)).unwrap_or(0);
            let network = match address {
                IpAddr::V4(_) => IpAddr::from(((kept >> 96) as u32).to_be_bytes()),
                IpAddr::V6(_) => IpAddr::from(kept.to_be_bytes()),
            };
            return Err(format!(
                "{text} has bits set beyond its prefix; write \"{network}/{length}\" for the network or \"{address}\" for the host"
            ));
        }
        Ok(Prefix { address, length })
    }
}

/// A range of ports, both ends included: `443`, `"6000-6999"`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PortRange {
    pub first: u16,
    pub last: u16,
}

impl Leaf for PortRange {
    const NAME: &'static str = "port or range of ports";
    fn schema() -> Value {
        json!({ "anyOf": [{ "type": "integer", "minimum": 0, "maximum": 65535 }, { "type": "string", "pattern": "^ *[0-9]{1,5} *(- *[0-9]{1,5} *)?$" }] })
    }
    fn read(scalar: &Scalar<'_>) -> Result<PortRange, String> {
        if let Scalar::Integer(_) = scalar {
            let port = whole(scalar, 0, 65535)? as u16;
            return Ok(PortRange { first: port, last: port });
        }
        let text = expect_text(scalar, "a port like 443 or a range like \"6000-6999\"")?;
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        match (first.trim().parse(), last.trim().parse()) {
            (Ok(first), Ok(last)) if first <= last => Ok(PortRange { first, last }),
            (Ok(first), Ok(last)) => {
                Err(format!("the range {text} runs backwards; write \"{}-{}\"", u16::min(first, last), u16::max(first, last)))
            }
            _ => Err(format!("`{text}` is not a port from 0 to 65535 or a range like \"6000-6999\"")),
        }
    }
}

/// The new value of a code point: a [`Dscp`], or the drop precedence of the packet's colour.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DscpChange {
    To(Dscp),
    /// The drop precedence of the colour, within the class of assured forwarding.
    ByColour,
}

const BY_COLOUR: &str = "by-colour";

impl Leaf for DscpChange {
    const NAME: &'static str = "code point or by-colour";
    fn schema() -> Value {
        let names: Vec<&str> = [BY_COLOUR].into_iter().chain(DSCP_NAMES.iter().map(|known| known.0)).collect();
        json!({ "anyOf": [{ "type": "integer", "minimum": 0, "maximum": 63 }, { "enum": names }] })
    }
    fn read(scalar: &Scalar<'_>) -> Result<DscpChange, String> {
        match scalar {
            Scalar::Text(text) if text == BY_COLOUR => Ok(DscpChange::ByColour),
            Scalar::Text(_) => {
                let names = DSCP_NAMES.iter().map(|&(name, number)| (name, DscpChange::To(Dscp(number))));
                let names: Vec<_> = names.chain([(BY_COLOUR, DscpChange::ByColour)]).collect();
                one_of(scalar, "a DSCP", &names)
            }
            _ => Dscp::read(scalar).map(DscpChange::To),
        }
    }
}

#[cfg(test)]
mod tests;
