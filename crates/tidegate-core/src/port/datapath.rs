//! The half of a port that carries out the scheduler's decisions: queues, buffer manager and link.

use super::accounting::Counters;
use super::class_aqms::ClassAqms;
use super::places::Places;
use super::varying_rate::RateCursor;
use crate::aqm::Judgement;
use crate::buffer::{BufferManager, Change};
use crate::observer::Observer;
use crate::packet::{DropReason, Ecn, Flow, Packet};
use crate::queue::Queues;
use crate::scheduler::{Decision, Scheduler, Task};
use crate::units::{Overhead, Time, TimePerByte};
use alloc::boxed::Box;

/// What a port does when polled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next<P> {
    /// This packet's transmission starts now.
    Transmit(Transmission<P>),
    /// Nothing can start before this instant, which is after `now`.
    WaitUntil(Time),
    /// Nothing is queued.
    Idle,
}

/// A packet that starts to leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transmission<P> {
    /// The packet.
    pub packet: Packet<P>,
    /// When its first bit leaves.
    pub start: Time,
    /// When its last bit leaves; the link is free again from then on.
    pub finish: Time,
}

/// Carries out the scheduler's decisions: queues, buffer manager and link.
#[derive(Clone, Debug)]
pub(super) struct Datapath<P, B> {
    pub(super) queues: Queues<P>,
    pub(super) aqms: ClassAqms,
    pub(super) buffer: B,
    pub(super) link: TimePerByte,
    /// The rates of the link, if they vary; `link` is not used then.
    pub(super) rates: Option<Box<RateCursor>>,
    pub(super) overhead: Overhead,
    pub(super) busy_until: Time,
    pub(super) counters: Counters,
    pub(super) places: Places,
}

impl<P, B: BufferManager> Datapath<P, B> {
    /// Starts the next transmission if the link is free and the scheduler allows it at `now`.
    #[inline]
    pub(super) fn try_transmit<S: Scheduler, O: Observer<P>>(&mut self, scheduler: &mut S, now: Time, observer: &mut O) -> Next<P> {
        if self.busy_until.is_after(now) {
            return Next::WaitUntil(self.busy_until);
        }
        loop {
            let decision = scheduler.select(now);
            match decision {
                Decision::Serve(flow) | Decision::ServeAs(flow, _) => {
                    let mut judgement = Judgement::Pass;
                    if self.aqms.judge_departures() {
                        judgement = self.aqms.depart(now, flow, self.queues.occupancy());
                        if fault!(AqmAskedTwice) {
                            judgement = self.aqms.depart(now, flow, self.queues.occupancy());
                        }
                        if judgement == Judgement::Drop {
                            self.discard(scheduler, now, flow, DropReason::Congestion, observer);
                            if self.busy_until.is_after(now) {
                                return Next::WaitUntil(self.busy_until);
                            }
                            continue;
                        }
                    }
                    let Some((mut packet, next)) = self.queues.pop(flow) else {
                        unreachable!("the scheduler named a flow that is not backlogged")
                    };
                    scheduler.served(now, flow, next);
                    if let Some(hint) = scheduler.prefetch_hint() {
                        self.queues.prefetch(hint);
                        self.aqms.prefetch(hint);
                    }
                    self.left(now, &packet);
                    if next.is_none() {
                        self.emptied(scheduler, now, flow);
                    }
                    if judgement == Judgement::Mark {
                        self.mark(now, &mut packet, observer);
                    }
                    let finish = self.occupy(now, packet.length);
                    self.aqms.sent(flow, packet.length);
                    self.counters.sent.add(packet.length);
                    if let Decision::ServeAs(_, colour) = decision
                        && colour != packet.colour
                    {
                        let from = core::mem::replace(&mut packet.colour, colour);
                        observer.remarked(now, &packet, from);
                    }
                    observer.sent(now, &packet, finish, self.queues.occupancy());
                    return Next::Transmit(Transmission { packet, start: now, finish });
                }
                Decision::Discard(flow) => self.discard(scheduler, now, flow, DropReason::Late, observer),
                Decision::WaitUntil(time) => return Next::WaitUntil(time),
                Decision::Idle => return Next::Idle,
            }
        }
    }

    /// Occupies the link from `now` on with a packet of this length, and returns when it is free again.
    #[inline]
    fn occupy(&mut self, now: Time, length: u32) -> Time {
        let wire = self.overhead.wire_length(length);
        let finish = match &mut self.rates {
            None => now + self.link.ceil(wire),
            Some(rates) => rates.finish(now, wire),
        };
        self.busy_until = finish;
        finish
    }

    /// Drops the oldest packet of `flow`. The scheduler charges no flow, unless the AQM that drops it accounts for ingress.
    fn discard<S: Scheduler, O: Observer<P>>(&mut self, scheduler: &mut S, now: Time, flow: Flow, reason: DropReason, observer: &mut O) {
        if let Some((packet, next)) = self.queues.pop(flow) {
            if reason == DropReason::Congestion && (self.aqms.charge_drop(flow, packet.length) || fault!(AqmDropsAreCharged)) {
                scheduler.served(now, flow, next);
                if !fault!(IngressDropsLeaveTheLinkFree) {
                    self.occupy(now, packet.length);
                }
            } else {
                scheduler.lost(now, flow, next);
            }
            self.left(now, &packet);
            if next.is_none() {
                self.emptied(scheduler, now, flow);
            }
            self.drop_packet(now, packet, reason, observer);
        }
    }

    /// Tells buffer manager and AQM that the packet has left its queue.
    #[inline]
    pub(super) fn left(&mut self, now: Time, packet: &Packet<P>) {
        self.buffer.changed(Change::left(packet), self.queues.occupancy());
        if self.aqms.are_used() && self.aqms.hear_departure(self.queues.occupancy().flow_packets(packet.flow) == 0) {
            self.aqms.left(now, packet.flow, packet.length, self.queues.occupancy());
        }
    }

    /// Marks a packet, unless it has been marked upstream.
    #[cold]
    pub(super) fn mark<O: Observer<P>>(&mut self, now: Time, packet: &mut Packet<P>, observer: &mut O) {
        debug_assert!(packet.ecn.is_capable(), "the AQM marks a packet whose transport does not understand it");
        if packet.ecn != Ecn::Ce || fault!(AqmCountsMarksFromUpstream) {
            packet.ecn = Ecn::Ce;
            self.counters.marked.add(packet.length);
            observer.congestion_marked(now, packet);
        }
    }

    /// The buffer manager has refused a packet.
    #[cold]
    pub(super) fn refuse<O: Observer<P>>(&mut self, now: Time, packet: Packet<P>, reason: DropReason, observer: &mut O) {
        self.aqms.refused(now, packet.flow);
        self.drop_packet(now, packet, reason, observer);
    }

    /// The queue of `flow` has just become empty; if the flow was leaving, it has left.
    #[inline]
    pub(super) fn emptied<S: Scheduler>(&mut self, scheduler: &mut S, now: Time, flow: Flow) {
        if self.places.has_left(flow) {
            self.forget(scheduler, now, flow);
        }
    }

    /// The place of `flow`, which has no packets, is vacant.
    #[cold]
    pub(super) fn forget<S: Scheduler>(&mut self, scheduler: &mut S, now: Time, flow: Flow) {
        scheduler.forget(now, flow);
        self.buffer.forget(flow);
        self.aqms.forget(flow);
    }

    #[cold]
    pub(super) fn drop_packet<O: Observer<P>>(&mut self, now: Time, packet: Packet<P>, reason: DropReason, observer: &mut O) {
        self.counters.dropped[reason as usize].add(packet.length);
        observer.dropped(now, packet, reason, self.queues.occupancy());
    }
}

/// One [`Port::poll`](super::Port::poll).
pub(super) struct PollTask<'a, P, B, O> {
    pub(super) datapath: &'a mut Datapath<P, B>,
    pub(super) now: Time,
    pub(super) observer: &'a mut O,
}

impl<P, B: BufferManager, O: Observer<P>> Task for PollTask<'_, P, B, O> {
    type Output = Next<P>;

    #[inline]
    fn run<S: Scheduler>(self, scheduler: &mut S) -> Next<P> {
        self.datapath.try_transmit(scheduler, self.now, self.observer)
    }
}

/// The turns of a [`Port::advance`](super::Port::advance), from one instant to another.
pub(super) struct AdvanceTask<'a, P, B, O, F> {
    pub(super) datapath: &'a mut Datapath<P, B>,
    pub(super) from: Time,
    pub(super) to: Time,
    pub(super) observer: &'a mut O,
    pub(super) transmit: &'a mut F,
}

impl<P, B: BufferManager, O: Observer<P>, F: FnMut(Transmission<P>)> Task for AdvanceTask<'_, P, B, O, F> {
    /// When to come back.
    type Output = Option<Time>;

    #[inline]
    fn run<S: Scheduler>(self, scheduler: &mut S) -> Option<Time> {
        let mut at = self.from;
        loop {
            match self.datapath.try_transmit(scheduler, at, self.observer) {
                Next::Transmit(transmission) => (self.transmit)(transmission),
                Next::WaitUntil(time) if time.is_after(self.to) => return Some(time),
                Next::WaitUntil(time) => at = time,
                Next::Idle => return None,
            }
        }
    }
}
