//! The role of active queue management (AQM): is this packet to tell its sender of congestion, by a mark or by its loss?
//!
//! An AQM is asked at two moments: when a packet arrives ([`Aqm::admit`]) and when its transmission would start ([`Aqm::depart`]). It manages the
//! queues of one class, which it numbers from 0.
//!
//! **Laws** that the port keeps:
//! * A1: `depart` is asked exactly once per packet that the scheduler serves, at the instant of its turn, while it is still queued. After a drop the
//!   scheduler is told that the packet is lost, which charges no flow, and selects again. A6 is the exception.
//! * A2: a drop may empty the queue. The scheduler and the AQM hear of that before they are asked anything else.
//! * A3: `admit` is asked before the buffer manager, so that nothing is pushed out for a packet that is then dropped. If the buffer refuses the
//!   packet, the AQM hears `refused`.
//! * A4: drops have the reason [`DropReason::Congestion`](crate::packet::DropReason::Congestion). The port counts as marked the packets whose code
//!   point it has changed; a packet that was marked upstream passes a mark unchanged and uncounted.
//! * A5: a port has one stream of random numbers, and its AQMs draw from it in the order in which they are asked.
//! * A6: if the AQM accounts for ingress ([`Aqm::charges_drops`]), a drop at its turn takes the service that the packet would have taken. That is its
//!   flow's share, the tokens of its shapers and its time on the link. Drops have at most a third of what the class is served; beyond that A1 holds.
//!
//! A port need not ask at a moment at which none of its AQMs ever judges ([`Aqm::judges_arrivals`], [`Aqm::judges_departures`]). Nor need it tell of
//! packets that join queues which are not empty, or of those that leave others behind unless [`Aqm::hears_departures`] is true.
//!
//! **Laws** that every registered AQM keeps, checked by the conformance suite:
//! 1. [`Judgement::Mark`] is said only of a packet whose transport understands it ([`Ecn::is_capable`](crate::packet::Ecn::is_capable));
//! 2. the answer depends on what the AQM was told and on the draws alone, and periodic work is made up for at the next call;
//! 3. a queue that is forgotten leaves nothing behind;
//! 4. an AQM that adopts another of the same parameters continues as the other would have.
//!
//! **Source.** RFC 7567 (recommendations), RFC 3168 (ECN). T. Høiland-Jørgensen, D. Täht and J. Morton, "Piece of CAKE", LANMAN 2018 (ingress accounting;
//! its limit of a third is that of Linux's CAKE).

use crate::buffer::Arrival;
use crate::packet::{Flow, Packet};
use crate::queue::Backlog;
use crate::random::SplitMix64;
use crate::scheduler::Kept;
use crate::units::Time;

mod ce_threshold;
mod cobalt;
mod codel;
mod control_law;
mod dual_pi2;
mod parameters;
mod pie;
mod probability;
mod proportional_integral;
mod red;
mod red_curve;
mod step;

pub use cobalt::Cobalt;
pub use codel::CoDel;
pub use dual_pi2::DualPi2;
pub use parameters::{AqmError, AqmField, AqmParameters, AqmSetup, Gain, QueueManagement};
pub use pie::Pie;
pub use probability::Probability;
pub use red::{AdaptiveRed, Red, WeightedRed};
pub use red_curve::RedCurve;
pub use step::Step;

/// What an AQM says of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Judgement {
    /// Leave it as it is.
    Pass,
    /// Set its code point to CE.
    Mark,
    /// Drop it.
    Drop,
}

/// What an AQM shows of one of its queues.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AqmState {
    /// True if it drops or marks because delays have stayed above its target, or the queue is beyond its threshold.
    pub is_signalling: bool,
    /// The probability with which it drops or marks a packet, in units of 2^-32; `None` if it has none. With a curve for each colour it is the highest.
    pub probability: Option<u64>,
}

/// Keeps the queues of a class short. `flow` numbers the queues of the class from 0, and `backlog` shows those queues alone.
pub trait Aqm {
    /// The port starts at `now`, with empty queues.
    fn start(&mut self, now: Time) {
        let _ = now;
    }

    /// False if [`Aqm::admit`] always passes: a port need not ask.
    fn judges_arrivals(&self) -> bool {
        true
    }

    /// False if [`Aqm::depart`] always passes and changes nothing: a port need not ask.
    fn judges_departures(&self) -> bool {
        true
    }

    /// False if [`Aqm::left`] does nothing while the queue holds another packet: a port need not say it then.
    fn hears_departures(&self) -> bool {
        true
    }

    /// True if packets that it drops at their turn count as served, because they have crossed the bottleneck already (CAKE's `ingress` mode).
    fn charges_drops(&self) -> bool {
        false
    }

    /// True if no queue has a state other than that of a new one: there is nothing to take over ([`Aqm::adopt`]).
    fn is_fresh(&self) -> bool {
        false
    }

    /// Judges a packet that arrives; `backlog` does not include it.
    #[inline]
    fn admit<B: Backlog>(&mut self, arrival: &Arrival, backlog: &B, draws: &mut SplitMix64) -> Judgement {
        let _ = (arrival, backlog, draws);
        Judgement::Pass
    }

    /// Judges the oldest packet of its queue, whose transmission would start at `now`; `backlog` includes it.
    #[inline]
    fn depart<B: Backlog>(&mut self, now: Time, head: &Packet<()>, backlog: &B, draws: &mut SplitMix64) -> Judgement {
        let _ = (now, head, backlog, draws);
        Judgement::Pass
    }

    /// A packet has joined the queue of `flow`; `backlog` includes it. Only the first packet of a queue may matter.
    #[inline]
    fn joined<B: Backlog>(&mut self, now: Time, flow: Flow, backlog: &B) {
        let _ = (now, flow, backlog);
    }

    /// A packet has left the queue of `flow` for whatever reason; `backlog` no longer includes it.
    #[inline]
    fn left<B: Backlog>(&mut self, now: Time, flow: Flow, backlog: &B) {
        let _ = (now, flow, backlog);
    }

    /// The buffer manager has pushed a packet out of the queue of `flow`; `left` follows.
    fn pushed_out(&mut self, now: Time, flow: Flow) {
        let _ = (now, flow);
    }

    /// The buffer manager has refused a packet of `flow` that this AQM let pass.
    fn refused(&mut self, now: Time, flow: Flow) {
        let _ = (now, flow);
    }

    /// Fetches the state of a queue that is likely to be asked about in some turns.
    #[inline]
    fn prefetch(&self, flow: Flow) {
        let _ = flow;
    }

    /// `flow`, whose queue is empty, leaves: nothing of it is remembered.
    fn forget(&mut self, flow: Flow);

    /// Takes over from `old` the state of the flows that have a place in both. The queues hold what they held there; this AQM was not told of the
    /// packets one by one.
    fn adopt(&mut self, now: Time, old: &Self, kept: &[Kept])
    where
        Self: Sized;

    /// What it shows of the queue of `flow`: as of the last packet, but thresholds as of `now`.
    fn state<B: Backlog>(&self, now: Time, flow: Flow, backlog: &B) -> AqmState;

    /// Moves the instants that it keeps up to where they still compare correctly.
    fn refresh(&mut self, now: Time) {
        let _ = now;
    }
}
