//! Changes of a port's policy while it carries packets.

use crate::error::ControlError;
use crate::pool::FramePool;
use crate::record::{CarriedRules, DirectionRecord};
use crate::watch::Frame;
use crate::workers::{Plan, Worker};
use std::any::Any;
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::Instant;
use tidegate_core::classifier::Classifier;
use tidegate_core::observer::Observer;
use tidegate_core::packet::{DropReason, Flow, Packet};
use tidegate_core::port::{AmendError, Amendment, Port, PortSetup, Switched, Transition, Volume};
use tidegate_core::queue::Occupancy;
use tidegate_core::units::{Duration, Rate, Time};
use tidegate_statistics::ExpectedClasses;
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

impl PortChanged {
    /// The same for all workers of a direction: each has all classes, and some of the packets.
    pub(crate) fn with_another_worker(self, other: PortChanged) -> PortChanged {
        let Switched { kept, moved, dropped, .. } = other.switched;
        let none = Switched { classes_kept: 0, classes_added: 0, classes_removed: 0, kept, moved, dropped };
        let mut switched = self.switched;
        switched += none;
        PortChanged { switched, late: self.late.max(other.late), gap: self.gap.max(other.gap) }
    }
}

/// A new policy whose tables are built.
#[derive(Debug)]
pub(crate) struct PreparedChange {
    transition: Box<Transition<Frame>>,
    classifier: Classifier,
    rules: CarriedRules,
    /// The classes for the recorder, if its present ones are known.
    expected: Option<ExpectedClasses>,
    packet_limit: u32,
    longest_frame: u32,
    rate: Rate,
    /// For one of several workers.
    plan: Option<Plan>,
}

impl PreparedChange {
    /// For a port that has this classifier and has been switched this often.
    pub(crate) fn new(before: &Classifier, switches: u32, setup: PortSetup) -> PreparedChange {
        let PortSetup { packet_limit, longest_frame, rate, .. } = setup;
        let transition = Box::new(Transition::after(before, switches, setup));
        let rules = CarriedRules::new(before, transition.classifier());
        let classifier = transition.classifier().clone();
        PreparedChange { classifier, rules, transition, expected: None, packet_limit, longest_frame, rate, plan: None }
    }

    /// For a recorder that has classes of these names, in its order.
    pub(crate) fn expecting<'a>(self, recorded: impl Iterator<Item = &'a str>) -> PreparedChange {
        PreparedChange { expected: Some(ExpectedClasses::new(recorded, &self.classifier)), ..self }
    }

    /// For one of several workers, which follows this plan then.
    pub(crate) fn planned(self, plan: Plan) -> PreparedChange {
        PreparedChange { plan: Some(plan), ..self }
    }

    pub(crate) fn needs(&self) -> Needs {
        Needs { packets: self.packet_limit, longest_frame: self.longest_frame }
    }
}

/// A change that is asked for.
#[derive(Debug)]
pub(crate) enum Asked {
    /// Another policy.
    Switch(Box<PreparedChange>),
    /// Other parameters of the present one.
    Amend(Box<Amending>),
}

impl Asked {
    /// What memory it needs, if it may need more than there is.
    pub(crate) fn needs(&self) -> Option<Needs> {
        match self {
            Asked::Switch(change) => Some(change.needs()),
            Asked::Amend(_) => None,
        }
    }

    /// The plan that comes with it.
    pub(crate) fn plan(&self) -> Option<&Plan> {
        match self {
            Asked::Switch(change) => change.plan.as_ref(),
            Asked::Amend(_) => None,
        }
    }
}

/// An amendment in parts, between which packets pass.
#[derive(Debug)]
pub(crate) struct Amending {
    parts: std::vec::IntoIter<Amendment>,
    /// Parts that have been made hold what they replaced.
    replaced: Vec<Amendment>,
    cancelled: Vec<PreparedChange>,
    /// How long the port stood still for one of them at most.
    gap: std::time::Duration,
}

/// The most single changes of a part: they take less than a millisecond.
const CHANGES_AT_A_TIME: usize = 128;

impl Amending {
    /// The parts of an amendment, in its order.
    pub(crate) fn new(amendment: Amendment) -> Amending {
        fn split<T>(list: Vec<T>, parts: &mut Vec<Amendment>, part: impl Fn(Vec<T>) -> Amendment) {
            let mut list = list.into_iter();
            while list.len() > 0 {
                parts.push(part(list.by_ref().take(CHANGES_AT_A_TIME).collect()));
            }
        }
        let Amendment { members, shares, policers, aqms, remarks } = amendment;
        let mut parts = Vec::new();
        parts.extend(remarks.map(|remarks| Amendment { remarks: Some(remarks), ..Amendment::default() }));
        split(members, &mut parts, |members| Amendment { members, ..Amendment::default() });
        split(shares, &mut parts, |shares| Amendment { shares, ..Amendment::default() });
        split(policers, &mut parts, |policers| Amendment { policers, ..Amendment::default() });
        split(aqms, &mut parts, |aqms| Amendment { aqms, ..Amendment::default() });
        let replaced = Vec::with_capacity(parts.len());
        Amending { parts: parts.into_iter(), replaced, cancelled: Vec::with_capacity(1), gap: std::time::Duration::ZERO }
    }

    /// Makes the next part. Returns true if others follow.
    fn step(&mut self, now: Time, port: &mut Port<Frame>) -> Result<bool, AmendError> {
        let Some(mut part) = self.parts.next() else { return Ok(false) };
        let began = Instant::now();
        let made = port.amend(now, &mut part);
        self.gap = self.gap.max(began.elapsed());
        self.replaced.push(part);
        made.map(|()| self.parts.len() > 0)
    }
}

/// What memory a policy needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Needs {
    /// The packets that it may hold.
    pub(crate) packets: u32,
    /// Their greatest length, in bytes.
    pub(crate) longest_frame: u32,
}

impl Needs {
    /// Whether memory for this many packets of this length is enough.
    pub(crate) fn fit(self, room: u32, longest: u32) -> Result<(), ControlError> {
        if self.longest_frame > longest {
            Err(ControlError::LongerFrames { needed: self.longest_frame, room: longest })
        } else if self.packets > room {
            Err(ControlError::Memory { needed: self.packets, room })
        } else {
            Ok(())
        }
    }
}

/// What a change replaced, to be freed away from packets.
type Leftover = Box<dyn Any + Send>;

/// What became of a change that was asked for, and what is to be freed away from packets.
pub(crate) struct Replaced {
    pub(crate) outcome: Result<PortChanged, ControlError>,
    _left: Leftover,
}

impl Replaced {
    /// The change did not take place.
    pub(crate) fn not(why: ControlError, change: Asked) -> Replaced {
        Replaced { outcome: Err(why), _left: Box::new(change) }
    }
}

/// Builds the changes of a file in their order, on a thread of its own, and frees what they replace.
pub(crate) struct ChangeBuilder {
    before: Classifier,
    setups: Vec<PortSetup>,
    built: SyncSender<PreparedChange>,
    retired: Receiver<Leftover>,
}

impl ChangeBuilder {
    /// Builds one change ahead, until the direction has taken all of them or takes no more.
    pub(crate) fn run(self) {
        let ChangeBuilder { mut before, setups, built, retired } = self;
        // The classes of the recorder, in its order.
        let mut recorded: Vec<String> = before.classes().iter().map(|class| class.name.to_string()).collect();
        for (switches, setup) in (0..).zip(setups) {
            let change = PreparedChange::new(&before, switches, setup).expecting(recorded.iter().map(String::as_str));
            recorded.extend(change.expected.iter().flat_map(ExpectedClasses::added).map(str::to_owned));
            before = change.classifier.clone();
            if built.send(change).is_err() {
                return;
            }
            retired.try_iter().for_each(drop);
        }
        retired.iter().for_each(drop);
    }
}

/// The changes that a direction has before it, the next of them built.
#[derive(Default)]
pub(crate) struct PortChanges {
    /// The instants of the changes of a file.
    pending: VecDeque<Time>,
    next: Option<PreparedChange>,
    /// Where the changes of a file come from, and where what they replace goes.
    builder: Option<(Receiver<PreparedChange>, Sender<Leftover>)>,
    /// A change at once, and where its outcome is awaited.
    asked: Option<(Time, Asked, Sender<Replaced>)>,
    /// What those that were known from the start did.
    pub(crate) done: Vec<PortChanged>,
}

impl PortChanges {
    /// The changes of a bridge that starts at `now` with a policy of this classifier, and what builds them.
    pub(crate) fn new(now: Time, before: Classifier, changes: Vec<PortChange>) -> (PortChanges, ChangeBuilder) {
        // A change waits in the builder's hand until the one before has been made.
        let (built, take) = sync_channel(0);
        let (retire, retired) = channel();
        let (pending, setups) = changes.into_iter().map(|change| (now + change.after, change.setup)).unzip();
        (PortChanges { pending, builder: Some((take, retire)), ..PortChanges::default() }, ChangeBuilder { before, setups, built, retired })
    }

    /// The instant of the next change, if that is built: one whose building takes longer comes late, and packets do not wait for it.
    #[inline]
    pub(crate) fn next(&self) -> Option<Time> {
        match (&self.asked, &self.next) {
            (Some((at, ..)), _) => Some(*at),
            (None, Some(_)) => self.pending.front().copied(),
            (None, None) => None,
        }
    }

    /// Makes a change at `now`, in place of all that were to come.
    pub(crate) fn ask(&mut self, now: Time, change: Asked, reply: Sender<Replaced>) {
        if let Some((_, earlier, reply)) = self.asked.replace((now, change, reply)) {
            drop(reply.send(Replaced::not(ControlError::Overtaken, earlier)));
        }
    }

    /// Takes the next change of the file, if it has been built.
    pub(crate) fn take_next(&mut self) {
        if let (None, Some((built, _))) = (&self.next, &self.builder) {
            self.next = built.try_recv().ok();
        }
    }

    /// Makes the next change at `now`, or a part of it. Everything due before has been sent. Returns true if another part follows, before which packets may
    /// pass.
    pub(crate) fn make<O: Observer<Frame>>(
        &mut self,
        now: Time,
        (port, worker): (&mut Port<Frame>, Option<&mut Worker>),
        pool: &mut FramePool,
        record: &mut DirectionRecord,
        observer: &mut O,
    ) -> bool {
        let (at, change, reply) = match self.asked.take() {
            Some((_, Asked::Switch(change), reply)) if !change.transition.fits(port) => {
                drop(reply.send(Replaced::not(ControlError::Overtaken, Asked::Switch(change))));
                return false;
            }
            Some((at, asked, reply)) => {
                self.pending.clear();
                match asked {
                    Asked::Amend(amending) => return self.amend(now, port, (at, amending, reply)),
                    Asked::Switch(change) => (at, *change, Some((reply, self.next.take(), self.builder.take()))),
                }
            }
            None => {
                let (Some(at), Some(change)) = (self.pending.pop_front(), self.next.take()) else { return false };
                self.take_next();
                (at, change, None)
            }
        };
        let PreparedChange { transition, classifier, rules, expected, rate, mut plan, .. } = change;
        let began = Instant::now();
        if !expected.is_some_and(|expected| record.port.expect_classes(expected)) {
            record.port.expect(&classifier);
        }
        let mut watch = SwitchWatch { record, pool, observer, freed: Vec::new() };
        let classify = |packet: &Packet<()>, frame: &Frame| {
            Some(classifier.classify(&parse(LinkType::Ethernet, pool.packet(frame.slot(), packet.length))))
        };
        if plan.is_some() {
            // What is under way is counted at the whole rate of the link, which is the new port's.
            port.change_link_rate(now, rate);
        }
        let (switched, retired) = port.switch(now, *transition, classify, &mut watch);
        let freed = watch.freed;
        freed.iter().for_each(|&slot| pool.release(slot));
        record.port.switched();
        let hits = record.carry_hits(rules);
        if let (Some(plan), Some(worker), Some(meter)) = (&mut plan, worker, &mut record.meter) {
            worker.replan(now, plan, meter, port);
        }
        let changed = PortChanged { switched, late: now.since(at), gap: began.elapsed() };
        match reply {
            Some((reply, cancelled, builder)) => {
                // The builder ends before the thread that asked frees what it has built.
                drop(builder);
                drop(reply.send(Replaced { outcome: Ok(changed), _left: Box::new((retired, classifier, hits, cancelled, plan)) }));
            }
            None => {
                self.done.push(changed);
                if let Some((_, retire)) = &self.builder {
                    drop(retire.send(Box::new((retired, classifier, hits))));
                }
            }
        }
        false
    }

    /// Makes a part of an amendment, which cancels the changes of a file.
    fn amend(&mut self, now: Time, port: &mut Port<Frame>, (at, mut amending, reply): (Time, Box<Amending>, Sender<Replaced>)) -> bool {
        self.builder = None;
        amending.cancelled.extend(self.next.take());
        let outcome = match amending.step(now, port) {
            Ok(true) => {
                self.asked = Some((at, Asked::Amend(amending), reply));
                return true;
            }
            Ok(false) => {
                let queued = port.occupancy();
                let kept = Volume { packets: queued.packets().into(), bytes: queued.bytes() };
                let switched = Switched { classes_kept: port.classifier().classes().len() as u32, kept, ..Switched::default() };
                Ok(PortChanged { switched, late: now.since(at), gap: amending.gap })
            }
            Err(error) => Err(ControlError::Amendment(error)),
        };
        drop(reply.send(Replaced { outcome, _left: amending }));
        false
    }
}

/// Observes a switch: records, and keeps the slots of frames that are dropped.
struct SwitchWatch<'a, O> {
    record: &'a mut DirectionRecord,
    pool: &'a FramePool,
    observer: &'a mut O,
    freed: Vec<u32>,
}

impl<O: Observer<Frame>> Observer<Frame> for SwitchWatch<'_, O> {
    fn moved(&mut self, now: Time, packet: &Packet<Frame>, to: Flow) {
        self.record.port.moved(now, packet, to);
        self.observer.moved(now, packet, to);
    }

    fn dropped(&mut self, now: Time, packet: Packet<Frame>, reason: DropReason, occupancy: &Occupancy) {
        let slot = packet.payload.slot();
        self.record.tapped(now, packet.flow, packet.length, Some(reason), self.pool.packet(slot, packet.length));
        self.freed.push(slot);
        self.record.port.dropped(now, packet, reason, occupancy);
        self.observer.dropped(now, packet, reason, occupancy);
    }
}
