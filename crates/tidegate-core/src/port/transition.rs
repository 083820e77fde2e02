//! A whole new policy for a running port: prepared beside it, switched to at one instant.
//!
//! [`Transition::prepare`] builds a port of the new policy and finds which classes continue: those of the same name. [`Port::switch`] then moves
//! what continues: queues as records, not packet by packet; what the scheduler and the buffer manager know of them; what the policers have
//! charged; the counters. Packets in classes whose rules may have changed are classified anew.
//!
//! **Law.** A switch loses no packet that has a class, and drops the others as [`DropReason::Removed`]. Packets of one transport flow stay in
//! order. A transmission in progress goes on. A switch to the same policy changes nothing.
//! **Cost.** Per flow that continues a record of some 50 bytes; per packet of a class that is examined one call of `reclassify`. The packets
//! themselves stay where they are, unless their flow changes.

use super::accounting::Volume;
use super::{Port, PortSetup};
use crate::buffer::{BufferManager, Change};
use crate::classifier::Classifier;
use crate::observer::Observer;
use crate::packet::{DropReason, Flow, Packet};
use crate::policer::Policer;
use crate::queue::Numbered;
use crate::registry::{AnyBufferManager, AnyScheduler};
use crate::scheduler::{Kept, Scheduler};
use crate::units::Time;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::AddAssign;

/// A new policy, ready for one port.
#[derive(Clone, Debug)]
pub struct Transition<P, S = AnyScheduler, B = AnyBufferManager> {
    port: Port<P, S, B>,
    continuity: Continuity,
    /// How often the port had been switched when this was prepared.
    switches: u32,
}

/// What of the old policy continues in the new one.
#[derive(Clone, Debug)]
struct Continuity {
    /// The new place of each old flow.
    places: Vec<Option<Flow>>,
    /// The old class of each new class.
    classes: Vec<Option<usize>>,
    /// The flows that continue, in the order of their new places.
    kept: Vec<Kept>,
    /// The old flows whose packets are classified anew.
    examined: Vec<Flow>,
}

/// What a switch did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Switched {
    /// Classes that continue.
    pub classes_kept: u32,
    /// Classes that are new.
    pub classes_added: u32,
    /// Classes that are gone.
    pub classes_removed: u32,
    /// What is queued where it was.
    pub kept: Volume,
    /// What has moved to another queue, because its class is gone or rules have changed.
    pub moved: Volume,
    /// What has been dropped, because no class takes it.
    pub dropped: Volume,
}

impl AddAssign for Switched {
    fn add_assign(&mut self, more: Switched) {
        self.classes_kept += more.classes_kept;
        self.classes_added += more.classes_added;
        self.classes_removed += more.classes_removed;
        self.kept += more.kept;
        self.moved += more.moved;
        self.dropped += more.dropped;
    }
}

/// What is left of the old policy. Dropping it frees the memory, which may take longer than the switch itself.
#[derive(Debug)]
pub struct Retired<P, S, B> {
    _port: Port<P, S, B>,
    _continuity: Continuity,
}

impl<P, S: Scheduler, B: BufferManager> Transition<P, S, B> {
    /// Builds the new policy beside the port. All allocation happens here.
    ///
    /// # Panics
    /// As [`Port::new`].
    pub fn prepare(port: &Port<P, S, B>, setup: PortSetup<S, B>) -> Transition<P, S, B> {
        Transition::after(&port.classifier, port.switches, setup)
    }

    /// The same away from the port, which has this classifier and has been switched this often ([`Port::switches`]).
    ///
    /// # Panics
    /// As [`Port::new`].
    pub fn after(classifier: &Classifier, switches: u32, setup: PortSetup<S, B>) -> Transition<P, S, B> {
        let new = Port::new(Time::ZERO, setup);
        let continuity = Continuity::new(classifier, &new.classifier);
        Transition { port: new, continuity, switches }
    }

    /// True if the port has not been switched since this was prepared.
    pub fn fits(&self, port: &Port<P, S, B>) -> bool {
        self.switches == port.switches
    }

    /// The new classifier.
    pub fn classifier(&self) -> &Classifier {
        &self.port.classifier
    }

    /// The new place of a flow of the port, if its class continues.
    pub fn place(&self, flow: Flow) -> Option<Flow> {
        self.continuity.places[flow.index()]
    }
}

impl Continuity {
    /// Classes of the same name continue.
    fn new(old: &Classifier, new: &Classifier) -> Continuity {
        let by_name: BTreeMap<&str, usize> = old.classes().iter().enumerate().map(|(index, class)| (&*class.name, index)).collect();
        let classes: Vec<Option<usize>> = new.classes().iter().map(|class| by_name.get(&*class.name).copied()).collect();
        let mut places = alloc::vec![None; old.flows()];
        let mut kept = Vec::with_capacity(new.flows());
        for (class, from) in new.classes().iter().zip(&classes) {
            let Some(from) = *from else { continue };
            let from = &old.classes()[from];
            for queue in 0..class.queues.min(from.queues) {
                let (from, to) = (Flow(from.first_flow.0 + queue), Flow(class.first_flow.0 + queue));
                places[from.index()] = Some(to);
                kept.push(Kept { from, to, head: None });
            }
        }
        // A class before the first difference gets the packets that it got before.
        let alike = old.first_difference(new);
        let examined = (0..old.flows() as u32).map(Flow).filter(|&flow| places[flow.index()].is_none() || old.class_of(flow) >= alike);
        Continuity { examined: examined.collect(), places, classes, kept }
    }
}

impl<P, S: Scheduler, B: BufferManager> Port<P, S, B> {
    /// Continues with the policy that `transition` has prepared, from `now` on. Everything due before `now` must have been polled before
    /// ([`Port::advance`] does).
    ///
    /// `reclassify` names the new flow of a packet, whose flow is the old one; it is asked for packets of classes that are gone or whose rules may have
    /// changed. It is what the new classifier says of the packet; the new place of the old flow is [`Transition::place`]. The observer learns of
    /// packets that are dropped and moved, in the numbers of the old flows.
    ///
    /// # Panics
    /// If the port has been switched since the transition was prepared.
    pub fn switch<O: Observer<P>>(
        &mut self,
        now: Time,
        transition: Transition<P, S, B>,
        mut reclassify: impl FnMut(&Packet<()>, &P) -> Option<Flow>,
        observer: &mut O,
    ) -> (Switched, Retired<P, S, B>) {
        let Transition { port: mut new, mut continuity, switches } = transition;
        assert_eq!(switches, self.switches, "the port has been switched since the transition was prepared");
        self.refresh_if_due(now);
        self.clock = now;
        let mut switched = Switched::default();
        let mut moving = self.take_moving(now, &continuity, &new.classifier, &mut reclassify, observer, &mut switched);
        let Continuity { classes, kept, .. } = &mut continuity;
        switched.classes_kept = classes.iter().flatten().count() as u32;
        switched.classes_added = classes.len() as u32 - switched.classes_kept;
        switched.classes_removed = self.classifier.classes().len() as u32 - switched.classes_kept;
        let longest = new.datapath.overhead.wire_length(new.longest_frame);
        for (policer, class) in new.policers.iter_mut().zip(&*classes) {
            let Some(policer) = policer else { continue };
            policer.start(now);
            if let Some(old) = class.and_then(|class| self.policers.get(class)?.as_ref())
                && !fault!(SwitchForgetsTokens)
            {
                policer.adopt(now, old, longest);
            }
        }
        let (from, to) = (&mut self.datapath, &mut new.datapath);
        to.queues.take_over(&mut from.queues, kept);
        for flow in &mut *kept {
            flow.head = to.queues.head(flow.to);
            if from.places.is_closed(flow.from) {
                to.places.close(flow.to, flow.head.is_some());
            }
        }
        for flow in kept.iter().filter(|flow| flow.head.is_some()) {
            let (queues, buffer) = (&to.queues, &mut to.buffer);
            buffer.restore(flow.to, queues.marked(flow.to), queues.occupancy());
        }
        to.buffer.adopt(&from.buffer, kept);
        to.aqms.adopt(now, &from.aqms, classes, kept, to.queues.occupancy());
        new.scheduler.start(now);
        new.scheduler.adopt(now, &mut self.scheduler, kept);
        (to.busy_until, to.counters) = (from.busy_until, from.counters);
        to.rates = from.rates.take();
        (new.clock, new.next_refresh, new.switches) = (self.clock, self.next_refresh, switches.wrapping_add(1));
        let queued = to.queues.occupancy();
        switched.kept = Volume { packets: queued.packets().into(), bytes: queued.bytes() };

        // Later arrivals come behind, so the order of a transport flow is kept.
        moving.sort_unstable_by_key(|packet: &Numbered<P>| packet.number.wrapping_sub(from.queues.next_number()));
        if fault!(SwitchReordersMoved) {
            moving.reverse();
        }
        for packet in moving {
            let seen = packet.packet.seen();
            if to.places.is_closed(seen.flow) {
                switched.dropped.add(seen.length);
                to.drop_packet(now, packet.packet, DropReason::Removed, observer);
                continue;
            }
            switched.moved.add(seen.length);
            let became_head = to.queues.push_numbered(packet);
            to.buffer.changed(Change::joined(&seen), to.queues.occupancy());
            to.aqms.joined(now, seen.flow, seen.length, to.queues.occupancy());
            if let Some(head) = became_head {
                new.scheduler.activate(now, seen.flow, head);
            }
        }
        core::mem::swap(self, &mut new);
        debug_assert!(self.check().is_ok(), "{:?}", self.check());
        (switched, Retired { _port: new, _continuity: continuity })
    }

    /// Takes the packets whose flow changes out of their queues, and drops those that no class takes.
    fn take_moving<O: Observer<P>>(
        &mut self,
        now: Time,
        continuity: &Continuity,
        classifier: &Classifier,
        reclassify: &mut impl FnMut(&Packet<()>, &P) -> Option<Flow>,
        observer: &mut O,
        switched: &mut Switched,
    ) -> Vec<Numbered<P>> {
        let mut moving = Vec::new();
        let mut destinations = Vec::new();
        let datapath = &mut self.datapath;
        for &flow in &continuity.examined {
            let place = continuity.places[flow.index()];
            destinations.clear();
            datapath.queues.visit(flow, |packet, payload| {
                let to = reclassify(packet, payload);
                // Where the scheduler assigns queues, what stays in its class keeps the one that it has.
                let stays = to.zip(place).is_some_and(|(to, place)| classifier.keeps_queue(to, place));
                destinations.push(if stays { place } else { to });
            });
            let Some(first) = destinations.iter().position(|&to| to.is_none() || to != place) else { continue };
            let (mut staying, mut dropped) = (Vec::new(), Vec::new());
            for &to in &destinations {
                let Some(mut packet) = datapath.queues.pop_numbered(flow) else { unreachable!("every packet has been visited") };
                match to {
                    None => dropped.push(packet.packet),
                    Some(_) if to == place => staying.push(packet),
                    Some(to) => {
                        observer.moved(now, &packet.packet, to);
                        packet.packet.flow = to;
                        moving.push(packet);
                    }
                }
            }
            for packet in staying {
                datapath.queues.push_numbered(packet);
            }
            if first == 0 {
                self.scheduler.lost(now, flow, datapath.queues.head(flow));
            }
            for packet in dropped {
                switched.dropped.add(packet.length);
                datapath.drop_packet(now, packet, DropReason::Removed, observer);
            }
            if datapath.queues.head(flow).is_none() {
                datapath.emptied(&mut self.scheduler, now, flow);
            }
        }
        moving
    }
}
