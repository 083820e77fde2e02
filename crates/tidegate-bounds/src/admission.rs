//! Admission by proven delays: with a budget of delay per class and port, or by all bounds of the network.
//!
//! * [`Budgets`] tests only the ports of the newcomer's path, in the time of some additions per hop. No other flow's bound ever changes.
//! * [`Exact`] computes all bounds with the newcomer, and refuses it if a promise breaks. It admits more, and costs a pass over the network.
//! * [`error_terms`] are what a hop under a scheduler adds to guaranteed service (RFC 2212), for the admission control of the core.
//!
//! Both fill the role of `tidegate_core::admission` with its types and laws.

mod budgets;
mod exact;
mod offers;
mod terms;

pub use budgets::{Budgets, ClassSettings, Discipline, PortSettings};
pub use exact::Exact;
pub use terms::error_terms;

#[cfg(test)]
mod tests;
