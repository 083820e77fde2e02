//! What the keys of a preset mean where they are not given.

use super::PolicyTable;
use crate::choice::NodeReading;
use crate::units::Ratio;

/// 90 %, in billionths.
const USUAL_UTILISATION: u64 = 900_000_000;

impl PolicyTable {
    /// The reading of the preset and the part of the rate that may be reserved; `None` without a preset.
    pub fn preset(&self) -> Option<(NodeReading, Ratio)> {
        self.kind.as_ref()?;
        let utilisation = match &self.utilisation {
            Some(at) => at.value,
            None => Ratio::from_billionths(USUAL_UTILISATION)?,
        };
        Some((self.reading.as_ref().map_or(NodeReading::default(), |at| at.value), utilisation))
    }
}
