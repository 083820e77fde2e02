//! Selective pushout: when the buffer is full, marked packets give way to an unmarked one.
//!
//! **Law.** Let B be the buffer's size, Q its occupancy, M the marked part of that and `free = B - Q`. A packet that fits is accepted. A marked one
//! that does not is refused. An unmarked one is accepted if and only if `free + M` is at least its length. Then a flow with marked packets is
//! drawn, each with the same probability. Its oldest marked packets are dropped until the packet fits or the flow has none, and so on. Nothing is
//! dropped for a packet that is refused.
//! **Source.** J. Wu, Y. Hou, D. Zhang, H. Chao and T. Hamada, "Per flow based scheduling and buffer management for IntServ networks", Figure 3.
//! **State.** 12 bytes per flow, 4 more if flows have reserves of their own, and the generator of the lots.
//! **Cost.** O(1) per packet and per push-out: lots fall on a dense array of flows, and queues keep lists of their marked packets.
//! **RTL twin.** None yet.
//! **Deviations.** The source asks for a marked occupancy larger than the packet; the test is exact here, so a packet is never refused that could
//! enter. A buffer may be limited in packets, too.
//!
//! **Marked** is every packet that is not green. With reserves, a green packet that would bring its queue beyond its flow's reserve counts as
//! marked, and is queued in yellow. Without them a flood of unmarked packets takes the buffer from flows that keep their contracts.

use super::limits::{Limits, Reserves};
use super::marked_queues::MarkedQueues;
use super::{Admission, Arrival, BufferError, BufferField, BufferManager, BufferParameters, Buffering, Change, FlowShare, Victim};
use crate::algorithm::Algorithm;
use crate::packet::{Colour, DropReason, Flow};
use crate::queue::{Backlog, Marked};
use crate::scheduler::Kept;

/// Makes room for unmarked packets at the expense of marked ones.
///
/// ```
/// use tidegate_core::buffer::BufferParameters;
/// use tidegate_core::registry::BufferKind;
///
/// // Each flow may queue 4000 unmarked bytes.
/// let reserve = Some(4000);
/// let parameters = BufferParameters { flows: 64, packets: Some(500), bytes: Some(250_000), reserve, ..BufferParameters::default() };
/// assert!(BufferKind::SelectivePushout.build(&parameters).is_ok());
/// ```
#[derive(Clone, Debug)]
pub struct SelectivePushout {
    pushing: Pushing,
    /// The flow that gives way to the arrival; `None` unless room is being made.
    victim: Option<Flow>,
}

impl BufferManager for SelectivePushout {
    const DROP_REASONS: &'static [DropReason] = &[DropReason::PushedOut];

    fn needs_marked_lists(&self) -> bool {
        true
    }

    #[inline]
    fn admit<O: Backlog>(&mut self, arrival: &Arrival, backlog: &O) -> Admission {
        let Some(is_marked) = self.pushing.judge(arrival, backlog) else { return Admission::Refuse(DropReason::FlowLimit) };
        if self.pushing.limits.buffer_has_room(arrival, backlog) {
            self.victim = None;
            return accept(arrival, is_marked);
        }
        if fault!(SelectivePushoutTailDrops) {
            return Admission::Refuse(DropReason::SharedLimit);
        }
        let is_marked = is_marked && !fault!(SelectivePushoutForMarked);
        if self.victim.is_none() && (is_marked || !self.pushing.marked_suffice(arrival, backlog)) {
            return Admission::Refuse(DropReason::SharedLimit);
        }
        if fault!(SelectivePushoutUnmarkedFirst)
            && let Some(flow) = self.pushing.unmarked_queue(backlog)
        {
            self.victim = Some(flow);
            return Admission::PushOut(Victim::Head(flow));
        }
        self.pushing.push_out(&mut self.victim)
    }

    #[inline]
    fn changed<O: Backlog>(&mut self, change: Change, _backlog: &O) {
        self.pushing.marked.changed(change);
    }

    fn change<O: Backlog>(&mut self, flow: Flow, share: &FlowShare, _backlog: &O) -> Result<(), BufferError> {
        self.pushing.change(flow, share)
    }

    fn forget(&mut self, flow: Flow) {
        self.pushing.forget(flow);
    }

    fn restore<O: Backlog>(&mut self, flow: Flow, marked: Marked, _backlog: &O) {
        self.pushing.marked.restore(flow, marked);
    }

    fn adopt(&mut self, old: &SelectivePushout, kept: &[Kept]) {
        self.pushing.adopt(&old.pushing, kept);
    }
}

impl Algorithm<Buffering> for SelectivePushout {
    const NAME: &'static str = "selective-pushout";
    const SUMMARY: &'static str = "when the buffer is full, marked packets give way to an unmarked one (Wu et al.)";
    const ACCEPTS: &'static [BufferField] = &[BufferField::Reserve, BufferField::Seed];

    fn build(parameters: &BufferParameters) -> Result<SelectivePushout, BufferError> {
        Ok(SelectivePushout { pushing: Pushing::new(parameters)?, victim: None })
    }
}

/// The packet enters, in yellow if it counts as marked and came in green.
#[inline]
pub(super) fn accept(arrival: &Arrival, is_marked: bool) -> Admission {
    if is_marked && arrival.colour == Colour::Green { Admission::AcceptAs(Colour::Yellow) } else { Admission::Accept }
}

/// What both kinds of selective pushout share.
#[derive(Clone, Debug)]
pub(super) struct Pushing {
    pub(super) limits: Limits,
    reserves: Reserves,
    pub(super) marked: MarkedQueues,
}

impl Pushing {
    pub(super) fn new(parameters: &BufferParameters) -> Result<Pushing, BufferError> {
        if parameters.bytes.is_none() && parameters.packets.is_none() {
            return Err(BufferField::Limit.wrong("this buffer manager needs it, in bytes or in packets"));
        }
        let marked = MarkedQueues::new(parameters.flows, parameters.seed.unwrap_or(1));
        Ok(Pushing { limits: Limits::new(parameters), reserves: Reserves::new(parameters), marked })
    }

    /// True if the packet counts as marked; `None` if its queue is at its limit.
    // A queue shrinks while room is being made, so neither answer can change to the packet's disadvantage.
    #[inline]
    pub(super) fn judge(&self, arrival: &Arrival, backlog: &impl Backlog) -> Option<bool> {
        let has_room = self.limits.flow_has_room(arrival, backlog);
        has_room.then(|| arrival.colour != Colour::Green || self.reserves.is_exceeded(arrival, backlog))
    }

    /// True if the packet would fit in place of all marked ones.
    #[inline]
    pub(super) fn marked_suffice(&self, arrival: &Arrival, backlog: &impl Backlog) -> bool {
        self.limits.buffer_would_have_room(arrival, backlog, self.marked.packets(), self.marked.bytes())
    }

    /// Pushes out of the victim while it has marked packets, and then of another that is drawn. There is one with marked packets.
    #[inline]
    pub(super) fn push_out(&mut self, victim: &mut Option<Flow>) -> Admission {
        let flow = victim.filter(|&flow| self.marked.holds(flow)).or_else(|| self.marked.draw());
        *victim = flow;
        flow.map_or(Admission::Refuse(DropReason::SharedLimit), |flow| Admission::PushOut(Victim::Marked(flow)))
    }

    pub(super) fn change(&mut self, flow: Flow, share: &FlowShare) -> Result<(), BufferError> {
        self.limits.change(flow, share.limit)?;
        self.reserves.change(flow, share.reserve);
        Ok(())
    }

    pub(super) fn forget(&mut self, flow: Flow) {
        self.limits.forget(flow);
        self.reserves.forget(flow);
    }

    pub(super) fn adopt(&mut self, old: &Pushing, kept: &[Kept]) {
        self.marked.adopt(&old.marked, kept);
    }

    /// True if the queue is at least as long as the free space: for a seeded fault.
    pub(super) fn is_above_threshold(&self, arrival: &Arrival, backlog: &impl Backlog) -> bool {
        let in_packets = backlog.flow_packets(arrival.flow) >= self.limits.packets() - backlog.packets();
        in_packets || u64::from(backlog.flow_bytes(arrival.flow)) >= self.limits.bytes() - backlog.bytes()
    }

    /// A flow whose packets are all unmarked, by lot: for a seeded fault.
    fn unmarked_queue(&mut self, backlog: &impl Backlog) -> Option<Flow> {
        let flows = self.marked.flows() as u32;
        let from = self.marked.lot(flows);
        let mut flows = (0..flows).map(|step| Flow((from + step) % flows));
        flows.find(|&flow| backlog.flow_packets(flow) > 0 && !self.marked.holds(flow))
    }
}
