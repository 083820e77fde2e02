//! The seeded faults.

use super::Options;
use crate::Failure;

/// Runs them.
///
/// # Errors
/// [`Failure::Check`], always.
pub fn run(_options: &Options) -> Result<(), Failure> {
    Err(Failure::Check("the seeded faults are not there yet".to_owned()))
}
