//! Admission by proven delays: with a budget of delay per class and port, or by all bounds of the network.
//!
//! * [`Budgets`] tests only the ports of the newcomer's path, in the time of some additions per hop. No other flow's bound ever changes.
//! * [`Exact`] computes all bounds with the newcomer, and refuses it if a promise breaks. It admits more, and costs a pass over the network.
//! * [`error_terms`] are what a hop under a scheduler adds to guaranteed service (RFC 2212), for the admission control of the core.
//!
//! A request is atomic over its path, a release restores every sum, and an offer holds if nothing changes in between: the laws of the role in
//! `tidegate_core::admission`.

mod budgets;
mod exact;
mod request;
mod terms;

pub use budgets::{Budgets, Discipline, PortSettings};
pub use exact::{Exact, Promise};
pub use request::{Admitted, Constraint, Hop, Offer, Refused, Request};
pub use terms::error_terms;

#[cfg(test)]
mod tests;
