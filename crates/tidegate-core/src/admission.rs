//! The role of admission control: may this flow come in, and what does the network promise it.
//!
//! It runs per flow and not per packet. A request names a path and a traffic specification; the answer is an allocation at every hop, or a refusal
//! with its reason and with offers.
//!
//! **Laws**, checked by the tests of this module:
//! 1. a request is atomic over its path: a refusal changes nothing at any port;
//! 2. a release restores every sum exactly, in any order of requests and releases: all sums are integers;
//! 3. what an admitted flow was promised (rate, buffer, delay) never changes by later requests; its rate at a link may rise above that;
//! 4. an offer holds: the request with the offered value in place of its own is admitted, if nothing has changed in between;
//! 5. a delay is printed as a bound only if it is one: [`Method::Measured`] promises none.
//!
//! | module | holds |
//! |---|---|
//! | `flow_spec` | the request: path, traffic specification, target, service |
//! | `answer` | the answer: allocation at each hop, or port, constraint, shortage and offers |
//! | `guaranteed` | the formulae of guaranteed service |
//! | `measurement` | the measured load of controlled load |
//! | `adaptive_rate` | the rates of controlled load |
//! | `link` | one link: tests, sums, reservations |
//! | `path` | a network: the steps of the links, made atomic |
//!
//! `tidegate-bounds` has two more networks that fill the role: by budgets of delay, and by the bounds of all flows.

use crate::units::Time;

mod adaptive_rate;
mod answer;
mod flow_spec;
mod flow_table;
mod guaranteed;
mod link;
mod measurement;
mod path;

pub use answer::{Admitted, Answer, Constraint, Hop, Method, Offer, Offers, Refused, Shortage};
pub use flow_spec::{FlowSpec, MAX_BURST_BITS, RequestError, Service, Target, TrafficError, TrafficSpec};
pub use guaranteed::ErrorTerms;
pub use link::{Demand, Link, LinkSettings, ReserveError, SettingsError, Totals};
pub use path::PathAdmission;

/// Admits flows to the paths of a network.
///
/// Ports are named by numbers that the implementation gives out at set-up: one per link, or one per queue where it knows the classes of a port. Flows
/// are named by the caller.
pub trait AdmissionControl {
    /// Asks for a flow. Either every hop of its path reserves, or none does.
    ///
    /// # Errors
    /// A request that has no meaning, such as an unknown port, or a table that is full.
    fn request(&mut self, spec: &FlowSpec<'_>) -> Result<Answer<'_>, RequestError>;

    /// Gives back all that the flow holds; false if no flow of this name was admitted by [`AdmissionControl::request`].
    fn release(&mut self, id: u64) -> bool;

    /// Tells that a packet of `bits` of the flow left `port` at `now`. Only departures of measured flows count. Calls for one port come with
    /// non-decreasing `now`.
    fn measured(&mut self, port: u32, id: u64, bits: u32, now: Time);
}
