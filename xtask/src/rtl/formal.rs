//! The formal properties.

use super::Options;
use crate::Failure;

/// Runs them.
///
/// # Errors
/// [`Failure::Check`], always.
pub fn run(_options: &Options) -> Result<(), Failure> {
    Err(Failure::Check("the formal properties are not there yet".to_owned()))
}
