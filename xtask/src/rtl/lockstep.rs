//! The lockstep with the software.

use super::Options;
use crate::Failure;

/// Runs them.
///
/// # Errors
/// [`Failure::Check`], always.
pub fn run(_options: &Options) -> Result<(), Failure> {
    Err(Failure::Check("the lockstep with the software are not there yet".to_owned()))
}
