//! Both schedulers against their laws, hand-worked oracles, and each other.

mod differential;
pub(crate) mod harness;
mod laws;
mod oracles;
