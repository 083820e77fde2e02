//! The scheduler's role: whose packet is next, and not before when?
//!
//! A scheduler names flows, never packets. It learns of a flow when the flow's queue gets a head, and knows the length, arrival, number and
//! colour of that head, nothing else.
//!
//! **Laws** that every registered scheduler keeps, checked by the conformance suite:
//! 1. only backlogged flows are named: a flow is backlogged from `activate` until a `served` or `lost` with no next head;
//! 2. `select` is idempotent: without another call in between, asking again at the same instant gives the same answer;
//! 3. a work-conserving scheduler never waits while a flow is backlogged. One that waits names an instant after `now`, at which it names a
//!    flow. A hierarchy may then find that another of its contracts forbids the packet and wait again, at most once per shaped member; it
//!    never waits too long;
//! 4. a lost head is not charged. Two calls in a row that activate a flow and lose its only packet, or resume a flow and suspend it again,
//!    change nothing;
//! 5. ties break by the order of activation; in shaped virtual clocks, whose source says so, by the order of flows;
//! 6. a flow that its contract suspends keeps the rest of its turn, and at most one more turn that passed meanwhile;
//! 7. flows change while packets are queued. `change` touches one flow: its stamps and turns already granted stay, and the new parameters hold
//!    from its next head on. `forget` leaves nothing behind: the next flow in that place is served as on a new scheduler. Neither changes the
//!    order of other flows beyond what their shares demand;
//! 8. a scheduler that adopts another of the same parameters continues as the other would have.

use crate::algorithm::{Algorithm, Role};
use crate::classifier::FlowKey;
use crate::contract_state::ContractState;
use crate::dwcs::Request;
use crate::packet::{Colour, Flow, Head};
use crate::shaper::ShapingContract;
use crate::units::{Duration, Rate, Time};
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;

mod active_list;
mod deficit_round_robin;
mod deficit_tree;
mod deficit_turns;
mod dual_queue;
mod dwcs;
mod dwcs_options;
mod edf;
mod eligible;
mod eligible_heads;
mod eligible_tree;
mod exact_rate;
mod fifo;
mod guaranteed_rates;
mod hierarchy;
mod host_round_robin;
mod intserv;
mod intserv_options;
mod least;
mod moves;
mod pausable;
mod queue_options;
mod quick_fair;
mod rate_controlled;
mod self_clocked;
mod shaped_clock;
mod sparse_round_robin;
mod sparse_turns;
mod strict_priority;
mod svc;
#[cfg(test)]
mod tests;
mod tree_matches;
mod virtual_clock;
mod weighted_round_robin;
mod wf2q_plus;

pub use deficit_round_robin::DeficitRoundRobin;
pub use deficit_tree::DeficitTree;
pub use dual_queue::DualQueue;
pub use dwcs::Dwcs;
pub use dwcs_options::{DwcsOptions, Shares};
pub use edf::EarliestDeadlineFirst;
pub use eligible::{Calendar, EligibleList};
pub use eligible_tree::EligibleTree;
pub use fifo::Fifo;
pub use hierarchy::{Hierarchy, HierarchyError, LeafSpec, Member, NodeSpec};
pub use host_round_robin::HostRoundRobin;
pub use intserv::IntegratedServices;
pub use intserv_options::{IntServOptions, Marks, OutOfProfile, Profile, ServiceClass, Stamping};
pub use pausable::Pausable;
pub use queue_options::{ClassicShare, HostFairness, Quantum, QueueOptions};
pub use quick_fair::QuickFair;
pub use rate_controlled::RateControlled;
pub use self_clocked::SelfClocked;
pub use sparse_round_robin::SparseRoundRobin;
pub use strict_priority::StrictPriority;
pub use svc::ShapedVirtualClock;
pub(crate) use tree_matches::adopt_tokens;
pub use virtual_clock::VirtualClock;
pub use weighted_round_robin::WeightedRoundRobin;
pub use wf2q_plus::Wf2qPlus;

/// The number of turns by which a flow is hinted to the port in advance: enough to outlast two fetches from main memory, of a queue and of
/// its packets.
pub(crate) const PREFETCH_DISTANCE: usize = 24;

/// What a scheduler wants done now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decision {
    /// Transmit the head of this flow, then call [`Scheduler::served`].
    Serve(Flow),
    /// The same; the packet leaves in this colour.
    ServeAs(Flow, Colour),
    /// Drop the head of this flow because it is late, then call [`Scheduler::lost`].
    Discard(Flow),
    /// Nothing may leave before this instant, which is after `now`.
    WaitUntil(Time),
    /// No flow is backlogged.
    Idle,
}

/// Decides the order of service among flows.
///
/// Calls come with non-decreasing `now`.
pub trait Scheduler {
    /// True if it never waits while a flow is backlogged, whatever the flows.
    const WORK_CONSERVING: bool = false;
    /// True if it keeps the flows' contracts ([`FlowParameters::shape`]) itself.
    const SHAPES: bool = false;

    /// Starts at `now` with no flow backlogged. A port calls this when it is created; a scheduler that was never started behaves as if started at
    /// [`Time::ZERO`].
    fn start(&mut self, now: Time) {
        let _ = now;
    }

    /// The queue for a packet with this key, which the classifier has put into the queue `flow`: that one, unless the scheduler assigns queues itself.
    fn assign(&mut self, flow: Flow, key: FlowKey) -> Flow {
        let _ = key;
        flow
    }

    /// An empty queue has got a head.
    fn activate(&mut self, now: Time, flow: Flow, head: Head);

    /// Decides what to do at `now`. Takes `&mut self` because a scheduler may update its lists; the answer stays the same until the next
    /// `activate`, `served` or `lost`.
    fn select(&mut self, now: Time) -> Decision;

    /// The head of `flow`, which `select` has just named, is being transmitted; `next` is the head that follows it.
    fn served(&mut self, now: Time, flow: Flow, next: Option<Head>);

    /// The head of `flow` has gone without being transmitted (pushed out, dropped late, or replaced by another); it must not be
    /// charged. `next` is the head in its place.
    fn lost(&mut self, now: Time, flow: Flow, next: Option<Head>);

    /// The head of `flow`, which `select` has just named, is being transmitted; `next` follows it, but its contract does not allow it to leave
    /// yet. The flow is not backlogged until [`Scheduler::resume`]; it does not forfeit a turn that this interrupts.
    fn served_and_suspended(&mut self, now: Time, flow: Flow, next: Head) {
        let _ = next;
        self.served(now, flow, None);
    }

    /// The head of `flow`, which is backlogged, may not leave for a while: as in [`Scheduler::served_and_suspended`], with nothing sent.
    /// Directly after [`Scheduler::resume`] of the same flow it takes that back.
    fn suspend(&mut self, now: Time, flow: Flow) {
        self.lost(now, flow, None);
    }

    /// A suspended flow may send again, `head` first. A flow whose queue has run empty meanwhile is activated instead, and forfeits its turn.
    fn resume(&mut self, now: Time, flow: Flow, head: Head) {
        self.activate(now, flow, head);
    }

    /// The parameters of `flow`, backlogged or not, are these from now on. A vacant place below [`Setup::capacity`] is filled with this call.
    /// Stamps made stay; the new parameters hold from the next head on. An error changes nothing.
    ///
    /// # Errors
    /// [`BuildError`] for a parameter that is missing or out of range, as when the scheduler is built.
    fn change(&mut self, now: Time, flow: Flow, parameters: &FlowParameters) -> Result<(), BuildError>;

    /// `flow`, which is not backlogged, leaves: its place is vacant until [`Scheduler::change`] fills it, and nothing of the flow is remembered.
    fn forget(&mut self, now: Time, flow: Flow);

    /// Takes over from `old`, which serves no more. This scheduler has just been built and started; each of its backlogged flows is in `kept`
    /// with its head. A flow with a place in both keeps its stamps, turns and tokens, and its head counts as the same.
    fn adopt(&mut self, now: Time, old: &mut Self, kept: &[Kept])
    where
        Self: Sized,
    {
        let _ = old;
        activate_in_order(self, now, kept);
    }

    /// Shows what the contracts of flows and nodes have granted, number by number. A scheduler of the same parameters that gets these numbers before its
    /// first flow is activated grants nothing again.
    fn visit_contracts(&mut self, state: &mut dyn ContractState) {
        let _ = state;
    }

    /// The flow that is likely to be named up to 24 turns from now, for prefetching; the caller asks once per turn, after
    /// [`Scheduler::served`]. The scheduler itself fetches its state of that flow, as [`Scheduler::prefetch`] does. A hint may be wrong or
    /// absent.
    #[inline]
    fn prefetch_hint(&mut self) -> Option<Flow> {
        None
    }

    /// Fetches the state of a flow that is likely to be activated or named in some turns.
    #[inline]
    fn prefetch(&self, flow: Flow) {
        let _ = flow;
    }

    /// Runs `task` on this scheduler. [`AnyScheduler`](crate::registry::AnyScheduler) runs it on the scheduler inside, which resolves several
    /// calls with one `match`.
    #[inline]
    fn drive<T: Task>(&mut self, task: T) -> T::Output
    where
        Self: Sized,
    {
        task.run(self)
    }

    /// Moves instants far in the past up to where they still compare correctly; called at least every 2^61 ps.
    fn refresh(&mut self, now: Time) {
        let _ = now;
    }
}

/// A flow that stays when one scheduler takes over from another ([`Scheduler::adopt`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kept {
    /// Its place in the old scheduler.
    pub from: Flow,
    /// Its place in the new one.
    pub to: Flow,
    /// Its head, if it is backlogged.
    pub head: Option<Head>,
}

/// Activates the flows that are backlogged, in the order in which their heads were queued.
pub fn activate_in_order<S: Scheduler>(scheduler: &mut S, now: Time, kept: &[Kept]) {
    let mut heads: Vec<(Flow, Head)> = kept.iter().filter_map(|kept| Some((kept.to, kept.head?))).collect();
    heads.sort_unstable_by(|(_, one), (_, other)| serial_order(one.number, other.number));
    for (flow, head) in heads {
        scheduler.activate(now, flow, head);
    }
}

/// The order of two numbers that wrap and are less than 2^31 apart.
fn serial_order(one: u32, other: u32) -> Ordering {
    (one.wrapping_sub(other) as i32).cmp(&0)
}

/// A task for a scheduler of any type ([`Scheduler::drive`]).
pub trait Task {
    /// Its result.
    type Output;

    /// Does it.
    fn run<S: Scheduler>(self, scheduler: &mut S) -> Self::Output;
}

/// The parameters of one flow, or of one child of a hierarchy. A scheduler declares which of them it uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FlowParameters {
    /// Rank under strict priority; 0 is served first.
    pub priority: Option<u32>,
    /// Share relative to the siblings, at least 1.
    pub weight: Option<u32>,
    /// Guaranteed (reserved) rate on the wire.
    pub rate: Option<Rate>,
    /// Largest tolerable time from arrival to start of transmission.
    pub delay: Option<Duration>,
    /// The contract it is shaped to, for schedulers that shape ([`Scheduler::SHAPES`]).
    pub shape: Option<ShapingContract>,
    /// The service asked of [`Dwcs`].
    pub service: Option<Request>,
    /// The service that it gets of [`IntegratedServices`].
    pub class: Option<ServiceClass>,
    /// How long before its virtual start a head counts as in profile (the literature's CDVT), for [`ShapedVirtualClock`] and
    /// [`IntegratedServices`].
    pub tolerance: Option<Duration>,
    /// The traffic that it has declared, for [`IntegratedServices`] with [`Marks::Profile`].
    pub profile: Option<Profile>,
}

impl FlowParameters {
    /// True if `parameter` is given.
    pub const fn has(&self, parameter: Parameter) -> bool {
        match parameter {
            Parameter::Priority => self.priority.is_some(),
            Parameter::Weight => self.weight.is_some(),
            Parameter::Rate => self.rate.is_some(),
            Parameter::Delay => self.delay.is_some(),
            Parameter::Service => self.service.is_some(),
            Parameter::Class => self.class.is_some(),
            Parameter::Tolerance => self.tolerance.is_some(),
            Parameter::Profile => self.profile.is_some(),
        }
    }
}

fields! {
    /// One of the fields of [`FlowParameters`].
    pub enum Parameter {
        /// [`FlowParameters::priority`].
        Priority = "priority",
        /// [`FlowParameters::weight`].
        Weight = "weight",
        /// [`FlowParameters::rate`].
        Rate = "rate",
        /// [`FlowParameters::delay`].
        Delay = "delay",
        /// [`FlowParameters::service`].
        Service = "service",
        /// [`FlowParameters::class`].
        Class = "service_class",
        /// [`FlowParameters::tolerance`].
        Tolerance = "tolerance",
        /// [`FlowParameters::profile`].
        Profile = "profile",
    }
}

/// What the flows of one scheduler share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Setup {
    /// The rate of the link (or of the node above) that is being shared.
    pub rate: Rate,
    /// The longest packet on the wire, in bytes, overhead included.
    pub longest_packet: u32,
    /// The number of places for flows, if it is more than the flows at first: the others are vacant. Nothing is allocated when they are filled.
    pub capacity: usize,
    /// For [`Dwcs`].
    pub dwcs: DwcsOptions,
    /// For [`IntegratedServices`] and [`ShapedVirtualClock`].
    pub intserv: IntServOptions,
    /// For [`SparseRoundRobin`], [`HostRoundRobin`] and [`DualQueue`].
    pub queue: QueueOptions,
}

impl Setup {
    /// The setup of flows that share `rate`, with default options.
    pub fn new(rate: Rate, longest_packet: u32) -> Setup {
        let (dwcs, intserv, queue) = (DwcsOptions::default(), IntServOptions::default(), QueueOptions::default());
        Setup { rate, longest_packet, capacity: 0, dwcs, intserv, queue }
    }

    /// Builds a scheduler whose type is known; [`crate::registry::SchedulerKind::build`] builds one that is named at run time.
    ///
    /// # Errors
    /// [`BuildError`] for a parameter that is missing or out of range.
    pub fn build<S: Algorithm<Scheduling>>(&self, flows: &[FlowParameters]) -> Result<S, BuildError> {
        S::build((self, flows))
    }

    /// The number of places for these flows.
    pub fn places(&self, flows: &[FlowParameters]) -> usize {
        self.capacity.max(flows.len())
    }

    /// A slot: the time that the longest packet takes.
    pub fn slot(&self) -> Duration {
        self.rate.time_per_byte().ceil(self.longest_packet.max(1))
    }
}

/// Why a scheduler cannot be built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BuildError {
    /// The offending flow; `None` if all of them together are at fault.
    pub flow: Option<Flow>,
    /// The offending parameter.
    pub parameter: Parameter,
    /// What is wrong, and what would be right.
    pub problem: &'static str,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.flow {
            Some(flow) => write!(f, "flow {}: {}: {}", flow.0, self.parameter, self.problem),
            None => write!(f, "{}: {}", self.parameter, self.problem),
        }
    }
}

impl core::error::Error for BuildError {}

/// The role of schedulers: built from what their flows share and from the parameters of each.
#[derive(Debug)]
pub enum Scheduling {}

impl Role for Scheduling {
    type Field = Parameter;
    type Parameters<'a> = (&'a Setup, &'a [FlowParameters]);
    type Error = BuildError;
}

/// The weight of the flow of this index, 1 if none is given.
fn weight_of(index: usize, parameters: &FlowParameters) -> Result<u32, BuildError> {
    match parameters.weight {
        None => Ok(1),
        Some(0) => {
            let flow = Some(Flow(index as u32));
            Err(BuildError { flow, parameter: Parameter::Weight, problem: "a weight of 0 would never be served; at least 1 is right" })
        }
        Some(weight) => Ok(weight),
    }
}
