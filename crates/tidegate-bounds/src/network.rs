//! Bounds along paths: a network of first-in first-out servers, one per queue of a class at a port, and flows through them.
//!
//! | module | holds |
//! |---|---|
//! | `model` | servers and flows |
//! | `layout` | which flows come over which edge; the order of the servers |
//! | `total_flow` | TFA++: the delay of each server, also of cycles |
//! | `separated_flow` | SFA: what the others leave, hop by hop |
//! | `blind` | SFA and PMOO for any order of service |
//! | `tandem` | PLP: a linear program of one path |
//! | `descent` | from the fixed point of a cycle on: what programs of the cut cycle improve |
//! | `program` | linear programs whose value is proven |

mod blind;
mod descent;
mod layout;
mod model;
mod program;
mod separated_flow;
mod tandem;
mod total_flow;

pub(crate) use blind::others_enter_fresh;
pub use blind::{pay_multiplexing_once, separated_blind};
pub use descent::descended;
pub use model::{Flow, Network, Server, Serving};
pub use separated_flow::separated_flow;
pub use tandem::tandem;
pub use total_flow::{Rules, TotalFlow, total_flow};

#[cfg(test)]
mod tests;
