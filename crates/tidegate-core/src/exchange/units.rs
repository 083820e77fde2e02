//! The units in which an exchange computes.

use crate::units::PICOSECONDS_PER_SECOND;

/// A byte in units of work: bits per second times picoseconds.
pub(super) const BYTE: i128 = 8 * PICOSECONDS_PER_SECOND as i128;

/// Fraction bits of service per weight, and of levels.
pub(super) const FRACTION: u32 = 24;
