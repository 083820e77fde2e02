//! The overhead of a link as files write it.

use crate::choice::MEANINGS;
use crate::units;
use crate::value::{Leaf, Scalar, expect_text, one_of};
use serde_json::{Value, json};
use tidegate_core::units::Overhead as Core;

/// The largest overhead per frame, and the largest minimum packet unit, in bytes.
pub const MOST_OVERHEAD: u16 = 1000;

/// The bytes that a link adds to every frame.
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

#[cfg(test)]
mod tests;
