//! Shapers: schedulers that hold packets back until their contract allows them.
//!
//! [`Shaped`] wraps any scheduler and delays each flow. [`Allowance`] computes when a contract allows the next packet; schedulers that shape
//! by themselves (rate-controlled service, a hierarchy) use it as well.

mod allowance;
mod shaped;

pub use allowance::{Allowance, Bucket, ShapingContract};
pub use shaped::Shaped;
pub(crate) use shaped::refused;
