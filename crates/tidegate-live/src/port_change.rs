//! Changes of a port's policy while it carries packets.

use crate::error::ControlError;
use crate::pool::FramePool;
use crate::watch::Frame;
use std::any::Any;
use std::collections::VecDeque;
use std::sync::mpsc::Sender;
use std::time::Instant;
use tidegate_core::classifier::Classifier;
use tidegate_core::observer::Observer;
use tidegate_core::packet::{DropReason, Flow, Packet};
use tidegate_core::port::{Port, PortSetup, Switched, Transition};
use tidegate_core::queue::Occupancy;
use tidegate_core::units::{Duration, Time};
use tidegate_statistics::PortRecorder;
use tidegate_wire::{LinkType, parse};

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

/// A new policy whose tables are built.
#[derive(Debug)]
pub(crate) struct PreparedChange {
    transition: Box<Transition<Frame>>,
    classifier: Classifier,
    packet_limit: u32,
    longest_frame: u32,
}

impl PreparedChange {
    /// For a port that has this classifier and has been switched this often.
    pub(crate) fn new(before: &Classifier, switches: u32, setup: PortSetup) -> PreparedChange {
        let PortSetup { packet_limit, longest_frame, .. } = setup;
        let transition = Box::new(Transition::after(before, switches, setup));
        PreparedChange { classifier: transition.classifier().clone(), transition, packet_limit, longest_frame }
    }

    /// Whether memory for this many packets of this length is enough.
    pub(crate) fn fits(&self, room: u32, longest: u32) -> Result<(), ControlError> {
        if self.longest_frame > longest {
            Err(ControlError::LongerFrames { needed: self.longest_frame, room: longest })
        } else if self.packet_limit > room {
            Err(ControlError::Memory { needed: self.packet_limit, room })
        } else {
            Ok(())
        }
    }
}

/// What became of a change that was asked for, and what is to be freed away from packets.
pub(crate) struct Replaced {
    pub(crate) outcome: Result<PortChanged, ControlError>,
    _left: Box<dyn Any + Send>,
}

impl Replaced {
    /// The change did not take place.
    pub(crate) fn not(why: ControlError, change: PreparedChange) -> Replaced {
        Replaced { outcome: Err(why), _left: Box::new(change) }
    }
}

/// The changes that a direction has before it, the next of them prepared.
#[derive(Default)]
pub(crate) struct PortChanges {
    pending: VecDeque<(Time, PortSetup)>,
    prepared: Option<PreparedChange>,
    /// A change at once, and where its outcome is awaited.
    asked: Option<(Time, PreparedChange, Sender<Replaced>)>,
    /// What those that were known from the start did.
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
        match &self.asked {
            Some((at, ..)) => Some(*at),
            None => self.pending.front().map(|(at, _)| *at),
        }
    }

    /// Makes a change at `now`, in place of all that were to come.
    pub(crate) fn ask(&mut self, now: Time, change: PreparedChange, reply: Sender<Replaced>) {
        if let Some((_, earlier, reply)) = self.asked.replace((now, change, reply)) {
            drop(reply.send(Replaced::not(ControlError::Overtaken, earlier)));
        }
    }

    /// Builds the tables of the next change, if there is one and they have not been built.
    pub(crate) fn prepare(&mut self, port: &Port<Frame>) {
        if let (Some((_, setup)), None) = (self.pending.front(), &self.prepared) {
            self.prepared = Some(PreparedChange::new(port.classifier(), port.switches(), setup.clone()));
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
        let (at, change, reply) = match self.asked.take() {
            Some((_, change, reply)) if !change.transition.fits(port) => {
                return drop(reply.send(Replaced::not(ControlError::Overtaken, change)));
            }
            Some((at, change, reply)) => {
                self.pending.clear();
                self.prepared = None;
                (at, change, Some(reply))
            }
            None => {
                self.prepare(port);
                let (Some((at, _)), Some(change)) = (self.pending.pop_front(), self.prepared.take()) else { return };
                (at, change, None)
            }
        };
        let PreparedChange { transition, classifier, .. } = change;
        let began = Instant::now();
        recorder.expect(&classifier);
        let mut watch = SwitchWatch { recorder, observer, freed: Vec::new() };
        let classify = |packet: &Packet<()>, frame: &Frame| {
            Some(classifier.classify(&parse(LinkType::Ethernet, pool.packet(frame.slot(), packet.length))))
        };
        let (switched, retired) = port.switch(now, *transition, classify, &mut watch);
        watch.freed.iter().for_each(|&slot| pool.release(slot));
        recorder.switched();
        let changed = PortChanged { switched, late: now.since(at), gap: began.elapsed() };
        match reply {
            Some(reply) => drop(reply.send(Replaced { outcome: Ok(changed), _left: Box::new((retired, classifier)) })),
            None => self.done.push(changed),
        }
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
