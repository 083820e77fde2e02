//! Ports of a design as numbers.

use crate::design::{Design, PortNumber};

/// Sets an input.
pub fn set(design: &mut Design, port: PortNumber, value: u64) {
    let bytes = value.to_le_bytes();
    let bits = design.bits_mut(port);
    let length = bits.len().min(8);
    bits[..length].copy_from_slice(&bytes[..length]);
}

/// The number at an output.
pub fn get(design: &Design, port: PortNumber) -> u64 {
    design.bits(port).iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

/// The bit at an output.
pub fn flag(design: &Design, port: PortNumber) -> bool {
    design.bits(port)[0] & 1 == 1
}
