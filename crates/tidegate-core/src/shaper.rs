//! Shapers: schedulers that hold packets back until their contract allows them.
//!
//! [`Shaped`] wraps any scheduler and delays per flow; what a contract allows, and when, is [`Allowance`], which schedulers that delay by
//! themselves (rate-controlled service, a hierarchy) use as well.

mod allowance;
mod shaped;

pub use allowance::{Allowance, ShapingContract};
pub use shaped::Shaped;
