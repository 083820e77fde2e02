//! Network calculus for the policies of Tidegate: bounds on delay and backlog that hold for every packet, proven before one is sent.
//!
//! The crate sees parameters and units of the core, and neither simulator nor replay nor live port, so that a bound and a measurement are
//! independent witnesses. All results are integers, rounded to the safe side by named roundings ([`quantity`]).
//!
//! | module | holds |
//! |---|---|
//! | [`quantity`] | units, named roundings, why there is no bound |
//! | [`curve`] | arrival and service curves, and their algebra |
//! | [`aggregate`] | sums of arrival curves; delay and backlog |
//! | [`source`] | sources and contracts as arrival curves |
//! | [`service`] | what each registered scheduler guarantees each child |
//! | [`hierarchy`] | trees of schedulers, from the link down, with shapes |
//! | [`network`] | servers and flows; delays, jitter and backlogs for all at once |
//! | [`end_to_end`] | the least bound of a flow, and the method that gives it |
//! | [`admission`] | flows that come in by proven delays: budgets, the exact network, offers |
#![warn(missing_docs)]

pub mod admission;
pub mod aggregate;
pub mod curve;
pub mod end_to_end;
pub mod hierarchy;
pub mod network;
pub mod quantity;
pub mod service;
pub mod source;
