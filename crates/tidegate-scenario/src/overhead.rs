//! What a link adds to frames, from what a file says to the core.

use crate::choice::MEANINGS;
use crate::diagnostic::Diagnostic;
use crate::document::PolicyTable;
use crate::units::{self, print_size};
use crate::value::{Leaf, Scalar, expect_text, one_of};
use serde_json::{Value, json};
use tidegate_core::units::Overhead as Core;

/// The most bytes that a link adds to a frame, or pads it to.
const MOST_OVERHEAD: u16 = 1000;

/// What a link adds to every frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Overhead(pub Core);

impl Leaf for Overhead {
    const NAME: &'static str = "overhead";
    fn schema() -> Value {
        let meanings = json!({
            "none": "frames count as they are",
            "ethernet": "24 bytes per frame: preamble, frame check sequence and inter-frame gap; short frames are padded, so that none takes less than 84 bytes",
            "aal5": "ATM cells: an 8-byte trailer, padding to whole cells, 53 bytes per 48",
            "24 B": "any other fixed number of bytes per frame, without padding",
        });
        json!({ "anyOf": [{ "enum": ["none", "ethernet", "aal5"] }, { "type": "string", "pattern": units::pattern::SIZE }], MEANINGS: meanings })
    }
    fn read(scalar: &Scalar<'_>) -> Result<Overhead, String> {
        Ok(Overhead(match expect_text(scalar, "\"none\", \"ethernet\", \"aal5\" or a size like \"24 B\"")? {
            "none" => Core::None,
            "ethernet" => Core::ETHERNET,
            "aal5" => Core::Aal5,
            text if text.starts_with(|c: char| c.is_ascii_digit()) => match units::size(text)? {
                bytes if bytes <= MOST_OVERHEAD.into() => Core::per_packet(bytes as u16),
                _ => return Err(format!("an overhead of {text} per frame is more than the {MOST_OVERHEAD} B that any link adds")),
            },
            _ => {
                return one_of(
                    scalar,
                    "an overhead",
                    &[("none", Overhead(Core::None)), ("ethernet", Overhead(Core::ETHERNET)), ("aal5", Overhead(Core::Aal5))],
                );
            }
        }))
    }
}

/// What the link adds to every frame, and the least that a frame takes on it.
pub(crate) fn overhead(table: &PolicyTable, findings: &mut Vec<Diagnostic>) -> Core {
    let usual = if table.cells.is_some() { Core::Aal5 } else { Core::None };
    let overhead = table.overhead.as_ref().map_or(usual, |at| at.value.0);
    let Some(at) = &table.minimum_packet_unit else { return overhead };
    let Some(minimum) = u16::try_from(at.value.0).ok().filter(|&minimum| minimum <= MOST_OVERHEAD) else {
        let problem = format!("no link pads frames to {}: the minimum packet unit is at most {MOST_OVERHEAD} B", print_size(at.value.0));
        findings.push(Diagnostic::error(at.span.clone(), problem).help("Ethernet has 84 B with its overhead"));
        return overhead;
    };
    match overhead {
        Core::None => Core::PerPacket { bytes: 0, minimum },
        Core::PerPacket { bytes, .. } => Core::PerPacket { bytes, minimum },
        Core::Aal5 => {
            let problem = "`minimum_packet_unit` has no effect: AAL5 pads every frame to whole cells";
            findings.push(Diagnostic::error(at.span.clone(), problem).help("remove it, or choose another `overhead`"));
            overhead
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overheads_are_names_or_sizes() {
        let read = |text: &'static str| Overhead::read(&Scalar::Text(text.into()));
        assert_eq!(read("24 B"), Ok(Overhead(Core::per_packet(24))));
        assert_eq!(read("ethernet"), Ok(Overhead(Core::ETHERNET)));
        assert!(read("24").unwrap_err().contains("write a unit"));
        assert!(read("5 kB").is_err());
        assert!(read("ethernot").unwrap_err().contains("did you mean `ethernet`?"));
    }
}
