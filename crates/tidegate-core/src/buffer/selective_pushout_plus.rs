//! Selective pushout plus: when no marked packets are left to give way, a quasi-longest queue does.
//!
//! **Law.** A packet that fits, a marked one, and an unmarked one for which the marked packets suffice are treated as by selective pushout. Another
//! unmarked packet is refused if its flow is LQ, the register of the quasi-longest queue. Otherwise all marked packets are dropped, and then heads
//! of the queue LQ until the packet fits. If that queue runs empty, LQ becomes the longest queue, the lowest number among equals. If that is
//! the packet's own, the packet is refused. After an arrival, and after a departure, LQ becomes the flow of that packet if its queue is longer than
//! that of LQ. Lengths are in bytes.
//! **Source.** J. Wu, Y. Hou, D. Zhang, H. Chao and T. Hamada, "Per flow based scheduling and buffer management for IntServ networks", Figure 5;
//! H. Chao's quasi-pushout for the register.
//! **State.** As selective pushout, the register, and a tree of maxima, 4.3 bytes per flow.
//! **Cost.** O(1) per packet, and per push-out; per change of a queue one node of sixteen lengths, rarely more. Each packet is dropped once, so
//! dropping all marked ones is paid for by their arrivals.
//! **RTL twin.** None yet.
//! **Deviations.** The source does not say what becomes of LQ when its queue is empty; here it is found exactly. A packet for which others have been
//! dropped is not refused: its own queue then gives way. Both need packets of very different lengths.
//!
//! **The register** is an estimate. It starts with the first flow that queues a packet, and names none after that flow has been removed.

use super::longest::Longest;
use super::selective_pushout::{Pushing, accept};
use super::{Admission, Arrival, BufferError, BufferField, BufferManager, BufferParameters, Buffering, Change, FlowShare, Victim};
use crate::algorithm::Algorithm;
use crate::packet::{DropReason, Flow};
use crate::queue::{Backlog, Marked};
use crate::scheduler::Kept;

/// Makes room for unmarked packets at the expense of marked ones, and then of a long queue.
///
/// ```
/// use tidegate_core::buffer::BufferParameters;
/// use tidegate_core::registry::BufferKind;
///
/// let parameters = BufferParameters { flows: 64, packets: Some(500), bytes: Some(250_000), ..BufferParameters::default() };
/// assert!(BufferKind::SelectivePushoutPlus.build(&parameters).is_ok());
/// ```
#[derive(Clone, Debug)]
pub struct SelectivePushoutPlus {
    pushing: Pushing,
    queues: Longest,
    /// The quasi-longest queue (LQ).
    register: Option<Flow>,
    follows_departures: bool,
    room: Room,
}

/// How room is being made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Room {
    /// It is not.
    Idle,
    /// At the expense of the marked packets of one flow after the other.
    Marked(Option<Flow>),
    /// At the expense of all marked packets, and then of the quasi-longest queue.
    Longest {
        /// True if something has been dropped.
        has_begun: bool,
    },
}

impl SelectivePushoutPlus {
    /// The register, for tests and reports.
    pub fn quasi_longest(&self) -> Option<Flow> {
        self.register
    }

    #[inline]
    fn register_bytes(&self, backlog: &impl Backlog) -> u32 {
        self.register.map_or(0, |flow| backlog.flow_bytes(flow))
    }

    /// Decides how to make room for the packet; `None` if it is refused.
    #[inline]
    fn plan(&self, arrival: &Arrival, is_marked: bool, backlog: &impl Backlog) -> Option<Room> {
        if fault!(SelectivePushoutPlusIsDynamicThreshold) {
            return None;
        }
        if fault!(SelectivePushoutPlusTailDrops) {
            return None;
        }
        if is_marked && !fault!(SelectivePushoutForMarked) {
            None
        } else if self.pushing.marked_suffice(arrival, backlog) {
            Some(Room::Marked(None))
        } else if self.register == Some(arrival.flow) || fault!(SelectivePushoutPlusWithoutLongest) {
            None
        } else if fault!(SelectivePushoutPlusFixed) && self.register_bytes(backlog) < arrival.length {
            // No other queue becomes the longest.
            None
        } else {
            let everything = (backlog.packets(), backlog.bytes());
            let could_fit = self.pushing.limits.buffer_would_have_room(arrival, backlog, everything.0, everything.1);
            could_fit.then_some(Room::Longest { has_begun: false })
        }
    }

    /// Pushes out a marked packet, or the head of the quasi-longest queue.
    #[inline]
    fn push_out_longest(&mut self, arrival: &Arrival, has_begun: bool, backlog: &impl Backlog) -> Admission {
        self.room = Room::Longest { has_begun: true };
        if let Some(flow) = self.pushing.marked.any() {
            return Admission::PushOut(Victim::Marked(flow));
        }
        if self.register_bytes(backlog) == 0 {
            let (longest, bytes) = self.queues.first();
            self.register = Some(Flow(longest as u32));
            if !has_begun && (bytes == 0 || self.register == Some(arrival.flow)) {
                self.room = Room::Idle;
                return Admission::Refuse(DropReason::SharedLimit);
            }
        }
        let flow = self.register.unwrap_or(arrival.flow);
        Admission::PushOut(if fault!(SelectivePushoutPlusFromTail) { Victim::Tail(flow) } else { Victim::Head(flow) })
    }
}

impl BufferManager for SelectivePushoutPlus {
    const DROP_REASONS: &'static [DropReason] = &[DropReason::PushedOut];

    fn needs_marked_lists(&self) -> bool {
        true
    }

    #[inline]
    fn admit<O: Backlog>(&mut self, arrival: &Arrival, backlog: &O) -> Admission {
        let Some(is_marked) = self.pushing.judge(arrival, backlog) else { return Admission::Refuse(DropReason::FlowLimit) };
        if fault!(SelectivePushoutPlusIsDynamicThreshold) && self.pushing.is_above_threshold(arrival, backlog) {
            return Admission::Refuse(DropReason::SharedLimit);
        }
        if self.pushing.limits.buffer_has_room(arrival, backlog) {
            self.room = Room::Idle;
            return accept(arrival, is_marked);
        }
        if self.room == Room::Idle {
            match self.plan(arrival, is_marked, backlog) {
                Some(room) => self.room = room,
                None => return Admission::Refuse(DropReason::SharedLimit),
            }
        }
        match &mut self.room {
            Room::Marked(victim) => self.pushing.push_out(victim),
            Room::Longest { has_begun } => {
                let has_begun = *has_begun;
                self.push_out_longest(arrival, has_begun, backlog)
            }
            Room::Idle => unreachable!("there is a plan"),
        }
    }

    #[inline]
    fn changed<O: Backlog>(&mut self, change: Change, backlog: &O) {
        self.pushing.marked.changed(change);
        let bytes = backlog.flow_bytes(change.flow);
        self.queues.set(change.flow.index(), bytes);
        let follows = if change.has_joined {
            !fault!(SelectivePushoutPlusIgnoresArrivals)
        } else {
            // A packet that is pushed out does not depart.
            self.follows_departures && self.room == Room::Idle && !fault!(SelectivePushoutPlusIgnoresDepartures)
        };
        let is_first = self.register.is_none() && change.has_joined;
        if is_first || follows && !fault!(SelectivePushoutPlusFixed) && bytes > self.register_bytes(backlog) {
            self.register = Some(change.flow);
        }
    }

    fn change<O: Backlog>(&mut self, flow: Flow, share: &FlowShare, _backlog: &O) -> Result<(), BufferError> {
        self.pushing.change(flow, share)
    }

    fn forget(&mut self, flow: Flow) {
        self.pushing.forget(flow);
        self.register = self.register.filter(|&register| register != flow);
    }

    fn restore<O: Backlog>(&mut self, flow: Flow, marked: Marked, backlog: &O) {
        self.pushing.marked.restore(flow, marked);
        self.queues.set(flow.index(), backlog.flow_bytes(flow));
    }

    fn adopt(&mut self, old: &SelectivePushoutPlus, kept: &[Kept]) {
        self.pushing.adopt(&old.pushing, kept);
        self.register = kept.iter().find(|kept| Some(kept.from) == old.register).map(|kept| kept.to);
    }
}

impl Algorithm<Buffering> for SelectivePushoutPlus {
    const NAME: &'static str = "selective-pushout-plus";
    const SUMMARY: &'static str = "when no marked packets are left to give way, a quasi-longest queue does (Wu et al.)";
    const ACCEPTS: &'static [BufferField] = &[BufferField::Reserve, BufferField::DepartureUpdating, BufferField::Seed];

    fn build(parameters: &BufferParameters) -> Result<SelectivePushoutPlus, BufferError> {
        let (pushing, queues) = (Pushing::new(parameters)?, Longest::new(parameters.flows));
        let follows_departures = parameters.departure_updating.unwrap_or(true);
        Ok(SelectivePushoutPlus { pushing, queues, register: None, follows_departures, room: Room::Idle })
    }
}
