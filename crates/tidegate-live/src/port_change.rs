//! Changes of a port's policy while it carries packets.

use std::collections::VecDeque;
use std::time::Instant;
use tidegate_core::classifier::Classifier;
use tidegate_core::observer::Observer;
use tidegate_core::packet::{DropReason, Flow, Packet};
use tidegate_core::port::{Port, PortSetup, Switched, Transition};
use tidegate_core::queue::Occupancy;
use tidegate_core::units::{Duration, Time};
use tidegate_statistics::PortRecorder;
use tidegate_wire::{LinkType, parse};

use crate::pool::FramePool;
use crate::watch::Frame;

/// A new policy for a port.
#[derive(Clone, Debug)]
pub struct PortChange {
    /// When it takes over: since the start of the bridge.
    pub after: Duration,
    /// The policy. Its longest frame is not longer than that of the first.
    pub setup: PortSetup,
}

/// What a change did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortChanged {
    /// What became of the queues.
    pub switched: Switched,
    /// How long after its instant it took place.
    pub late: Duration,
    /// How long the port stood still for it.
    pub gap: std::time::Duration,
}

/// The changes that a direction has before it, the next of them prepared.
#[derive(Default)]
pub(crate) struct PortChanges {
    pending: VecDeque<(Time, PortSetup)>,
    prepared: Option<(Transition<Frame>, Classifier)>,
    pub(crate) done: Vec<PortChanged>,
}

impl PortChanges {
    /// The changes of a bridge that starts at `now`.
    pub(crate) fn new(now: Time, changes: Vec<PortChange>) -> PortChanges {
        PortChanges { pending: changes.into_iter().map(|change| (now + change.after, change.setup)).collect(), ..PortChanges::default() }
    }

    /// The instant of the next change.
    #[inline]
    pub(crate) fn next(&self) -> Option<Time> {
        self.pending.front().map(|(at, _)| *at)
    }

    /// Builds the tables of the next change, if there is one and they have not been built.
    pub(crate) fn prepare(&mut self, port: &Port<Frame>) {
        if let (Some((_, setup)), None) = (self.pending.front(), &self.prepared) {
            let transition = Transition::prepare(port, setup.clone());
            let classifier = transition.classifier().clone();
            self.prepared = Some((transition, classifier));
        }
    }

    /// Makes the next change at `now`. Everything due before has been sent.
    pub(crate) fn make<O: Observer<Frame>>(
        &mut self,
        now: Time,
        port: &mut Port<Frame>,
        pool: &mut FramePool,
        recorder: &mut PortRecorder,
        observer: &mut O,
    ) {
        self.prepare(port);
        let (Some((at, _)), Some((transition, classifier))) = (self.pending.pop_front(), self.prepared.take()) else { return };
        let began = Instant::now();
        recorder.expect(&classifier);
        let mut watch = SwitchWatch { recorder, observer, freed: Vec::new() };
        let classify = |packet: &Packet<()>, frame: &Frame| {
            Some(classifier.classify(&parse(LinkType::Ethernet, pool.packet(frame.slot(), packet.length))))
        };
        let (switched, retired) = port.switch(now, transition, classify, &mut watch);
        watch.freed.iter().for_each(|&slot| pool.release(slot));
        recorder.switched();
        let gap = began.elapsed();
        self.done.push(PortChanged { switched, late: now.since(at), gap });
        drop(retired);
    }
}

/// Observes a switch: records, and keeps the slots of frames that are dropped.
struct SwitchWatch<'a, O> {
    recorder: &'a mut PortRecorder,
    observer: &'a mut O,
    freed: Vec<u32>,
}

impl<O: Observer<Frame>> Observer<Frame> for SwitchWatch<'_, O> {
    fn moved(&mut self, now: Time, packet: &Packet<Frame>, to: Flow) {
        self.recorder.moved(now, packet, to);
        self.observer.moved(now, packet, to);
    }

    fn dropped(&mut self, now: Time, packet: Packet<Frame>, reason: DropReason, occupancy: &Occupancy) {
        self.freed.push(packet.payload.slot());
        self.recorder.dropped(now, packet, reason, occupancy);
        self.observer.dropped(now, packet, reason, occupancy);
    }
}
