//! The fields of packet headers as files write them: code points, protocols, prefixes, port ranges.

use crate::diagnostic::closest;
use crate::units;
use crate::value::{Leaf, Scalar, expect_text, one_of, whole};
use serde_json::{Value, json};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use tidegate_core::classifier::{FlagPattern, LengthRange, MacPattern};

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

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_single() { write!(f, "{}", self.address) } else { write!(f, "{}/{}", self.address, self.length) }
    }
}

/// The fewest prefixes that make up a range of addresses, such as `10.0.0.1-10.0.0.99`. `None` if the text is no range.
pub fn range(text: &str) -> Option<Result<Vec<Prefix>, String>> {
    let (first, last) = text.split_once('-')?;
    let (first, last) = match (first.trim().parse(), last.trim().parse()) {
        (Ok(first), Ok(last)) => (first, last),
        _ => return Some(Err(format!("`{text}` is not a range of addresses like \"10.0.0.1-10.0.0.99\""))),
    };
    Some(match (first, last) {
        (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => {
            Err(format!("the range {text} has an end of IPv4 and one of IPv6"))
        }
        (first, last) if first > last => Err(format!("the range {text} runs backwards; write \"{last}-{first}\"")),
        (IpAddr::V4(first), IpAddr::V4(last)) => {
            let prefix = |(at, length): (u128, u8)| Prefix { address: Ipv4Addr::from_bits(at as u32).into(), length };
            Ok(blocks(first.to_bits().into(), last.to_bits().into(), 32).into_iter().map(prefix).collect())
        }
        (IpAddr::V6(first), IpAddr::V6(last)) => {
            let prefix = |(at, length): (u128, u8)| Prefix { address: Ipv6Addr::from_bits(at).into(), length };
            Ok(blocks(first.to_bits(), last.to_bits(), 128).into_iter().map(prefix).collect())
        }
    })
}

/// The aligned blocks from `first` to `last`, each the largest that begins there and does not go beyond: address and prefix length.
fn blocks(first: u128, last: u128, width: u32) -> Vec<(u128, u8)> {
    let mut blocks = Vec::new();
    let mut at = first;
    loop {
        let end_of = |free: u32| at | u128::MAX.checked_shr(128 - free).unwrap_or(0);
        let mut free = at.trailing_zeros().min(width);
        while end_of(free) > last {
            free -= 1;
        }
        blocks.push((at, (width - free) as u8));
        if end_of(free) == last {
            return blocks;
        }
        at = end_of(free) + 1;
    }
}

impl Leaf for Prefix {
    const NAME: &'static str = "address or prefix";
    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^[0-9a-fA-F.:]+(/[0-9]{1,3}|-[0-9a-fA-F.:]+)?$" })
    }
    fn read(scalar: &Scalar<'_>) -> Result<Prefix, String> {
        let text = expect_text(scalar, "an address or a prefix in quotes, like \"10.0.0.0/8\"")?;
        if let Some(range) = range(text) {
            return range
                .and_then(|_| Err(format!("expected one address or prefix, not the range {text}, which rules and subscribers take")));
        }
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

impl Leaf for LengthRange {
    const NAME: &'static str = "length or range of lengths";
    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^ *([0-9.]+ *([kMG]i?)?B *- *|[0-9.]+ *- *)?[0-9.]+ *([kMG]i?)?B *$" })
    }
    fn read(scalar: &Scalar<'_>) -> Result<LengthRange, String> {
        if matches!(scalar, Scalar::Integer(_) | Scalar::Decimal(_)) {
            return Err("write a unit, in quotes: \"64 B\" or a range like \"0-128 B\"".to_owned());
        }
        let text = expect_text(scalar, "a length like \"64 B\" or a range like \"0-128 B\"")?;
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        // "0-128 B": the unit behind the range is that of both ends.
        let has_unit = first.contains(|c: char| c.is_alphabetic());
        let unit = last.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.' || c == ' ');
        let first = if has_unit { units::size(first) } else { units::size(&format!("{first} {unit}")) };
        let bytes = |size: Result<u64, String>| size.and_then(|size| u32::try_from(size).map_err(|_| format!("no frame is {size} B long")));
        match (bytes(first)?, bytes(units::size(last))?) {
            (first, last) if first <= last => Ok(LengthRange { first, last }),
            (first, last) => Err(format!("the range {text} runs backwards; write \"{last}-{first} B\"")),
        }
    }
}

/// Lengths as a file writes them.
pub(crate) fn print_lengths(LengthRange { first, last }: LengthRange) -> String {
    if first == last { format!("{first} B") } else { format!("{first}-{last} B") }
}

/// The bits of an Ethernet address.
const MAC_BITS: u32 = 48;
/// All of them.
pub(crate) const WHOLE_MAC: u64 = (1 << MAC_BITS) - 1;

impl Leaf for MacPattern {
    const NAME: &'static str = "Ethernet address, prefix or mask";
    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}(/([0-9]{1,2}|[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}))?$" })
    }
    fn read(scalar: &Scalar<'_>) -> Result<MacPattern, String> {
        const FORMS: &str = "write one like \"02:00:5e:10:00:01\", a prefix like \"02:00:5e:00:00:00/24\" or a mask like \"01:00:00:00:00:00/01:00:00:00:00:00\"";
        let text = expect_text(scalar, "an Ethernet address in quotes, like \"02:00:5e:10:00:01\"")?;
        let (address, mask) = text.split_once('/').map_or((text, None), |(address, mask)| (address, Some(mask)));
        let number = read_mac(address).ok_or_else(|| format!("`{address}` is not an Ethernet address; {FORMS}"))?;
        let mask = match mask.map(|mask| (mask, mask.parse::<u32>())) {
            None => WHOLE_MAC,
            Some((_, Ok(bits @ 1..=MAC_BITS))) => WHOLE_MAC << (MAC_BITS - bits) & WHOLE_MAC,
            Some((mask, _)) => read_mac(mask)
                .filter(|&mask| mask > 0)
                .ok_or_else(|| format!("`{mask}` behind the slash is neither a number of bits from 1 to {MAC_BITS} nor a mask; {FORMS}"))?,
        };
        let pattern = MacPattern { address: number & mask, mask };
        if number & !mask != 0 {
            let (kept, one) = (print_mac_pattern(pattern), print_mac(bytes_of(number)));
            return Err(format!("{text} has bits set beyond its mask; write \"{kept}\" for all that agree or \"{one}\" for the one"));
        }
        Ok(pattern)
    }
}

fn read_mac(text: &str) -> Option<u64> {
    let parts: Vec<&str> = text.split(':').collect();
    let byte = |number: u64, part: &&str| {
        let is_byte = part.len() == 2 && part.bytes().all(|digit| digit.is_ascii_hexdigit());
        Some(number << 8 | u64::from(u8::from_str_radix(part, 16).ok().filter(|_| is_byte)?))
    };
    if parts.len() == 6 { parts.iter().try_fold(0, byte) } else { None }
}

fn bytes_of(mac: u64) -> [u8; 6] {
    let [_, _, a, b, c, d, e, f] = mac.to_be_bytes();
    [a, b, c, d, e, f]
}

/// The one address of a pattern of all bits.
pub(crate) fn single_mac(MacPattern { address, mask }: MacPattern) -> Option<[u8; 6]> {
    (mask == WHOLE_MAC).then(|| bytes_of(address))
}

/// An Ethernet address as it is written everywhere.
pub(crate) fn print_mac(mac: [u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

/// Ethernet addresses as a file writes them.
pub(crate) fn print_mac_pattern(MacPattern { address, mask }: MacPattern) -> String {
    let (written, bits) = (print_mac(bytes_of(address)), mask.count_ones());
    match mask {
        WHOLE_MAC => written,
        mask if mask == WHOLE_MAC << (MAC_BITS - bits) & WHOLE_MAC => format!("{written}/{bits}"),
        mask => format!("{written}/{}", print_mac(bytes_of(mask))),
    }
}

/// The names of TCP flags (RFC 9293, 3168 and 9768), from the lowest bit on.
const FLAG_NAMES: [&str; 9] = ["fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr", "ae"];

impl Leaf for FlagPattern {
    const NAME: &'static str = "TCP flags";
    fn schema() -> Value {
        let names = FLAG_NAMES.join("|");
        json!({ "type": "string", "pattern": format!("^ *!? *({names}) *(\\+ *!? *({names}) *)*$") })
    }
    fn read(scalar: &Scalar<'_>) -> Result<FlagPattern, String> {
        let text = expect_text(scalar, "TCP flags in quotes, like \"syn\" or \"syn+!ack\"")?;
        let mut pattern = FlagPattern { set: 0, clear: 0 };
        for part in text.split('+').map(str::trim) {
            let (name, side) = match part.strip_prefix('!') {
                None => (part, &mut pattern.set),
                Some(name) => (name.trim(), &mut pattern.clear),
            };
            let Some(bit) = FLAG_NAMES.iter().position(|known| *known == name) else {
                let guess = closest(name, FLAG_NAMES).map(|name| format!("did you mean `{name}`? ")).unwrap_or_default();
                let known = FLAG_NAMES.join(", ");
                return Err(format!(
                    "`{name}` is not a TCP flag; {guess}join flags by +, and write ! before those that are clear; known: {known}"
                ));
            };
            *side |= 1 << bit;
            if pattern.set & pattern.clear != 0 {
                return Err(format!("`{name}` is to be set and clear; name it once"));
            }
        }
        Ok(pattern)
    }
}

/// TCP flags as a file writes them.
pub(crate) fn print_flags(FlagPattern { set, clear }: FlagPattern) -> String {
    let named = |bits: u16, sign: &'static str| {
        FLAG_NAMES.iter().enumerate().filter(move |(bit, _)| bits >> bit & 1 == 1).map(move |(_, name)| format!("{sign}{name}"))
    };
    named(set, "").chain(named(clear, "!")).collect::<Vec<_>>().join("+")
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
