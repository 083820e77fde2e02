//! The verbs by which single flows of a running port change: none of them allocates, loses a packet unasked, or touches another flow.

use super::Port;
use super::places::Leaving;
use crate::buffer::{BufferError, BufferManager, FlowShare};
use crate::observer::Observer;
use crate::packet::{DropReason, Flow, Packet};
use crate::policer::Policer;
use crate::registry::AnyPolicer;
use crate::scheduler::{BuildError, FlowParameters, Scheduler};
use crate::units::{Duration, Rate, SERIAL_HORIZON, Time};

impl<P, S: Scheduler, B: BufferManager> Port<P, S, B> {
    /// The parameters of `flow` are these from its next head on. A vacant place is filled with this call. A flow that is leaving stays; the
    /// caller who wants the place for another flow waits until [`Port::is_vacant`].
    ///
    /// # Errors
    /// [`BuildError`] of the scheduler. An error changes nothing.
    pub fn change_flow(&mut self, now: Time, flow: Flow, parameters: &FlowParameters) -> Result<(), BuildError> {
        self.scheduler.change(now, flow, parameters)?;
        let is_backlogged = self.is_backlogged(flow);
        self.datapath.places.open(flow, is_backlogged);
        Ok(())
    }

    /// The share of the buffer of `flow` is this from its next arrival on; a flow that fills a vacant place is given one before it comes.
    ///
    /// # Errors
    /// [`BufferError`] of the buffer manager. An error changes nothing.
    pub fn change_share(&mut self, flow: Flow, share: &FlowShare) -> Result<(), BufferError> {
        self.datapath.buffer.change(flow, share, self.datapath.queues.occupancy())
    }

    /// The partition of the buffer that `flow` is in; 0 without partitions.
    pub fn partition_of(&self, flow: Flow) -> u32 {
        self.datapath.buffer.partition_of(flow)
    }

    /// `flow` takes no more packets: those that come are dropped as [`DropReason::Removed`]. Its place is vacant when its queue is empty. A flow that
    /// drains keeps its parameters until then.
    pub fn remove_flow<O: Observer<P>>(&mut self, now: Time, flow: Flow, leaving: Leaving, observer: &mut O) {
        let is_backlogged = self.is_backlogged(flow);
        if !self.datapath.places.is_closed(flow) {
            self.datapath.places.close(flow, is_backlogged);
            if !is_backlogged {
                self.datapath.forget(&mut self.scheduler, now, flow);
            }
        }
        if leaving == Leaving::Drop {
            self.empty(now, flow, DropReason::Removed, observer);
        }
    }

    /// Drops everything that is queued. A packet in transmission has left the port, and the link stays busy with it.
    pub fn drop_queued<O: Observer<P>>(&mut self, now: Time, reason: DropReason, observer: &mut O) {
        self.refresh_if_due(now);
        self.clock = now;
        for flow in (0..self.classifier.flows() as u32).map(Flow) {
            self.empty(now, flow, reason, observer);
        }
    }

    /// Counts a packet as offered and drops it, without asking policer, AQM or buffer manager: its link cannot carry it.
    pub fn refuse<O: Observer<P>>(&mut self, packet: Packet<P>, reason: DropReason, observer: &mut O) {
        let now = packet.arrival;
        self.refresh_if_due(now);
        self.clock = now;
        self.datapath.counters.offered.add(packet.length);
        observer.offered(now, &packet);
        self.datapath.drop_packet(now, packet, reason, observer);
    }

    fn empty<O: Observer<P>>(&mut self, now: Time, flow: Flow, reason: DropReason, observer: &mut O) {
        if !self.is_backlogged(flow) {
            return;
        }
        while let Some((packet, _)) = self.datapath.queues.pop(flow) {
            self.datapath.left(now, &packet);
            self.datapath.drop_packet(now, packet, reason, observer);
        }
        self.scheduler.lost(now, flow, None);
        self.datapath.emptied(&mut self.scheduler, now, flow);
    }

    /// The link has this rate from `now` on. A transmission that is under way goes on at the new rate: what is left of it takes that much less or more
    /// time, rounded up, and at most [`SERIAL_HORIZON`]. Policers, shapers and schedulers keep their rates. A link whose rate varies keeps its steps.
    pub fn change_link_rate(&mut self, now: Time, rate: Rate) {
        let left = u128::from(self.datapath.busy_until.since(now).picoseconds());
        if self.datapath.rates.is_none() && left > 0 {
            let bits = left * u128::from(self.rate.bits_per_second());
            let left = bits.div_ceil(u128::from(rate.bits_per_second())).min(u128::from(SERIAL_HORIZON.picoseconds()));
            self.datapath.busy_until = now + Duration::from_picoseconds(left as u64);
        }
        self.rate = rate;
        self.datapath.link = rate.time_per_byte();
    }

    /// The places from `first` on are vacant until [`Port::change_flow`] fills them. The scheduler was built with that capacity
    /// ([`Setup::capacity`](crate::scheduler::Setup::capacity)), and none of these flows is backlogged.
    pub fn vacate_from(&mut self, first: Flow) {
        for flow in (first.0..self.classifier.flows() as u32).map(Flow) {
            if !self.datapath.places.is_closed(flow) {
                self.datapath.places.close(flow, false);
            }
        }
    }

    /// True if the place of `flow` is vacant: the flow has been removed, or was never there, and nothing of it is queued.
    pub fn is_vacant(&self, flow: Flow) -> bool {
        self.datapath.places.is_closed(flow) && !self.is_backlogged(flow)
    }

    /// Packets of the class of this index meet this policer from now on. One of the same kind as before takes over what was charged
    /// ([`Policer::adopt`]); another starts with full buckets.
    pub fn change_policer(&mut self, now: Time, class: usize, policer: Option<AnyPolicer>) {
        self.replace_policer(now, class, policer);
        self.policing = self.policers.iter().any(Option::is_some);
    }

    /// The same; returns the policer that was there. The port goes on asking for policers after the last has gone.
    pub(super) fn replace_policer(&mut self, now: Time, class: usize, mut policer: Option<AnyPolicer>) -> Option<AnyPolicer> {
        let longest = self.datapath.overhead.wire_length(self.longest_frame);
        if let Some(new) = &mut policer {
            new.start(now);
            if let Some(Some(old)) = self.policers.get(class) {
                new.adopt(now, old, longest);
            }
            self.policers.resize_with(self.classifier.classes().len(), || None);
            self.policing = true;
        }
        self.policers.get_mut(class).and_then(|place| core::mem::replace(place, policer))
    }

    fn is_backlogged(&self, flow: Flow) -> bool {
        self.datapath.queues.occupancy().flow_packets(flow) > 0
    }
}
