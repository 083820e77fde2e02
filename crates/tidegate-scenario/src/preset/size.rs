//! The sizes of buffers that presets write.

use crate::document::PolicyTable;
use crate::policy::USUAL_LONGEST_FRAME;
use tidegate_core::units::Rate;

/// The default size of a buffer of fair queueing: four times the usual interval of CoDel, and a number of longest frames.
pub const FAIR_BUFFER: (u64, u64) = (400, 64);

/// The longest frame of a policy.
pub fn longest_frame(policy: &PolicyTable) -> u64 {
    policy.longest_frame.as_ref().map_or(USUAL_LONGEST_FRAME, |at| at.value.0)
}

/// What the link sends in some milliseconds, at least a number of longest frames.
pub fn size(rate: Rate, longest_frame: u64, (milliseconds, frames): (u64, u64)) -> u64 {
    let bytes = u128::from(rate.bits_per_second()) * u128::from(milliseconds) / 8000;
    (bytes as u64).max(frames.saturating_mul(longest_frame))
}
