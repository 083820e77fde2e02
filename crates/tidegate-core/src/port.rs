//! The path of a packet through a port, and the law that nothing is lost on it.
//!
//! ```text
//! classify -> police -> AQM -> admit -> queue of its flow -> select -> AQM -> remark -> transmit
//! ```
//!
//! A port is driven by three calls: [`Port::offer`] a packet, [`Port::poll`] for the next transmission, and [`Port::advance`], which
//! polls at every instant at which something is due up to `now`. All three are handed the time and an observer.
//!
//! **Law.** At every instant `offered = sent + dropped (by reason) + queued`, in packets and in bytes ([`Port::check`]).
//!
//! **Changes.** Single flows come, change and leave by [`Port::change_flow`] and [`Port::remove_flow`]; a whole new policy takes over by
//! [`Port::switch`], or by [`Port::amend`] where only parameters differ. None of them loses or reorders a packet.
//!
//! **Lengths.** Policers, shapers, schedulers and the link count a packet's length on the wire, that is with the port's [`Overhead`],
//! because rates are promised there. Buffers and counters count the frame itself.
//!
//! **Ties.** A transmission due at the instant of an arrival starts before the arrival is looked at.

mod accounting;
mod amendment;
mod change;
mod class_aqms;
mod continuation;
mod datapath;
mod places;
mod transition;
mod varying_rate;

pub use accounting::{Counters, Unbalanced, Volume};
pub use amendment::{AmendError, Amendment};
pub use class_aqms::ClassAqms;
pub use continuation::{ContinueError, PortState};
pub use datapath::{Next, Transmission};
pub use places::Leaving;
pub use transition::{Retired, Switched, Transition};
pub use varying_rate::{RateStep, RateStepError, VaryingRate};

use crate::aqm::{AqmState, Judgement};
use crate::buffer::{Admission, Arrival, BufferManager, Change, Victim};
use crate::classifier::{Classifier, FlowKey};
use crate::observer::Observer;
use crate::packet::{Colour, DropReason, Ecn, Flow, LONGEST_FRAME, Packet, Part};
use crate::policer::{Policer, Verdict};
use crate::queue::{Occupancy, Queues};
use crate::registry::{AnyAqm, AnyBufferManager, AnyPolicer, AnyScheduler};
use crate::remark::{Remark, Remarks};
use crate::scheduler::Scheduler;
use crate::units::{Overhead, Rate, SERIAL_HORIZON, Time};

use alloc::boxed::Box;
use alloc::vec::Vec;
use datapath::{AdvanceTask, Datapath, PollTask};
use places::Places;
use varying_rate::RateCursor;

/// All that a port is made of.
#[derive(Clone, Debug)]
pub struct PortSetup<S = AnyScheduler, B = AnyBufferManager> {
    /// The link's rate.
    pub rate: Rate,
    /// What the link adds to every frame.
    pub overhead: Overhead,
    /// Names a packet's flow, and every flow's class.
    pub classifier: Classifier,
    /// One policer, or none, per class; an empty list if no class has one.
    pub policers: Vec<Option<AnyPolicer>>,
    /// One AQM, or none, per class; an empty list if no class has one. Each is built for the queues of its class.
    pub aqms: Vec<Option<AnyAqm>>,
    /// The seed of the random numbers that AQMs draw.
    pub seed: u64,
    /// Admits packets to the buffer.
    pub buffer: B,
    /// The order of service among the classifier's flows.
    pub scheduler: S,
    /// The most packets the port can hold, whatever the buffer manager says: memory is allocated for them.
    pub packet_limit: u32,
    /// The longest frame accepted, in bytes.
    pub longest_frame: u32,
    /// The code points that packets leave with.
    pub remarks: Remarks,
}

/// An output port: classifier, policers, buffer manager, queues, scheduler and link.
#[derive(Clone, Debug)]
pub struct Port<P, S = AnyScheduler, B = AnyBufferManager> {
    rate: Rate,
    classifier: Classifier,
    /// By class; empty if no class has had one.
    policers: Vec<Option<AnyPolicer>>,
    policing: bool,
    scheduler: S,
    datapath: Datapath<P, B>,
    longest_frame: u32,
    remarks: Remarks,
    /// The last instant the port was told of; the time up to which it has done all there was to do.
    clock: Time,
    next_refresh: Time,
    /// How often it has been switched to another policy.
    switches: u32,
}

impl<P, S: Scheduler, B: BufferManager> Port<P, S, B> {
    /// A port that is empty and idle at `now`.
    ///
    /// # Panics
    /// If `policers` or `aqms` is not empty and does not hold one entry per class, or `longest_frame` exceeds [`LONGEST_FRAME`]: the caller checks what an
    /// operator wrote before it comes here.
    pub fn new(now: Time, mut setup: PortSetup<S, B>) -> Port<P, S, B> {
        let policing = setup.policers.iter().any(Option::is_some);
        if policing {
            assert_eq!(setup.policers.len(), setup.classifier.classes().len(), "one policer entry per class");
        } else {
            setup.policers = Vec::new();
        }
        assert!(setup.longest_frame <= LONGEST_FRAME, "frames are shorter than 2^26 bytes");
        setup.policers.iter_mut().flatten().for_each(|policer| policer.start(now));
        setup.scheduler.start(now);
        let aqms = ClassAqms::new(now, setup.aqms, setup.seed, &setup.classifier);
        let mut queues = Queues::new(setup.classifier.flows(), setup.packet_limit, setup.overhead);
        if setup.buffer.needs_marked_lists() {
            queues.keep_marked_lists();
        }
        Port {
            rate: setup.rate,
            datapath: Datapath {
                queues,
                aqms,
                buffer: setup.buffer,
                link: setup.rate.time_per_byte(),
                rates: None,
                overhead: setup.overhead,
                busy_until: now,
                counters: Counters::default(),
                places: Places::new(setup.classifier.flows()),
            },
            policing,
            classifier: setup.classifier,
            policers: setup.policers,
            scheduler: setup.scheduler,
            longest_frame: setup.longest_frame,
            remarks: setup.remarks,
            clock: now,
            next_refresh: now + SERIAL_HORIZON,
            switches: 0,
        }
    }

    /// The classifier: which flow a header belongs to, which class a flow belongs to.
    pub fn classifier(&self) -> &Classifier {
        &self.classifier
    }

    /// The remark of a packet of this flow that leaves in this colour; the world that holds its bytes rewrites them. Flow and colour of a packet
    /// are fixed when it joins its queue.
    #[inline]
    pub fn remark(&self, flow: Flow, colour: Colour) -> Remark {
        if self.remarks.is_empty() { Remark::KEEP } else { self.remarks.of(self.classifier.class_of(flow), colour) }
    }

    /// True if a class has an AQM. The world that holds the bytes of packets then reads their code points of congestion notification, and marks them.
    #[inline]
    pub fn has_aqm(&self) -> bool {
        self.datapath.aqms.are_used()
    }

    /// What the AQM of its class shows of the queue of `flow`; `None` if the class has none.
    pub fn aqm_state(&self, now: Time, flow: Flow) -> Option<AqmState> {
        self.datapath.aqms.state(now, flow, self.occupancy())
    }

    /// The link's rate.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// What the link adds to every frame.
    pub fn overhead(&self) -> Overhead {
        self.datapath.overhead
    }

    /// What has become of everything offered so far.
    pub fn counters(&self) -> &Counters {
        &self.datapath.counters
    }

    /// What is queued.
    pub fn occupancy(&self) -> &Occupancy {
        self.datapath.queues.occupancy()
    }

    /// How often the port has been switched to another policy.
    pub fn switches(&self) -> u32 {
        self.switches
    }

    /// AQMs are asked about departures elsewhere: the next packet whose turn comes is judged as said. From the first call on this port's are not asked.
    pub fn judge_next(&mut self, judgement: Judgement) {
        self.datapath.aqms.judge_next(judgement);
    }

    /// The scheduler, for one that has to be told more than a port tells it.
    pub fn scheduler_mut(&mut self) -> &mut S {
        &mut self.scheduler
    }

    /// When the link is free again, if it is transmitting at `now`.
    pub fn busy_until(&self, now: Time) -> Option<Time> {
        self.datapath.busy_until.is_after(now).then_some(self.datapath.busy_until)
    }

    /// Takes a packet of `length` bytes into the port at `now`. The observer learns what becomes of it.
    ///
    /// Transmissions that are due before `now` must have been polled before ([`Port::advance`] does).
    #[inline]
    pub fn offer<O: Observer<P>>(&mut self, now: Time, flow: Flow, length: u32, colour: Colour, payload: P, observer: &mut O) {
        self.offer_packet(Packet { flow, length, arrival: now, colour, part: Part::Whole, ecn: Ecn::NotEct, payload }, observer);
    }

    /// As [`Port::offer_packet`], of a packet whose class may leave the choice of its queue to the scheduler: then it has a key ([`Classifier::key`]).
    /// Returns the queue.
    #[inline]
    pub fn offer_keyed<O: Observer<P>>(&mut self, mut packet: Packet<P>, key: Option<FlowKey>, observer: &mut O) -> Flow {
        if let Some(key) = key {
            packet.flow = self.scheduler.assign(packet.flow, key);
        }
        let flow = packet.flow;
        self.offer_packet(packet, observer);
        flow
    }

    /// Takes in a packet at its arrival: a frame, or a part of one, such as an ATM cell.
    #[inline]
    pub fn offer_packet<O: Observer<P>>(&mut self, mut packet: Packet<P>, observer: &mut O) {
        let Packet { flow, length, arrival: now, colour, part, ecn, .. } = packet;
        self.refresh_if_due(now);
        self.clock = now;
        self.datapath.counters.offered.add(length);
        observer.offered(now, &packet);
        if length > self.longest_frame {
            return self.datapath.drop_packet(now, packet, DropReason::Oversize, observer);
        }
        if self.datapath.places.is_closed(flow) {
            return self.datapath.drop_packet(now, packet, DropReason::Removed, observer);
        }
        if self.policing
            && let Some(policer) = &mut self.policers[self.classifier.class_of(flow)]
        {
            match policer.police_part(now, self.datapath.overhead.wire_length(length), colour, part) {
                Verdict::Conform => {}
                Verdict::Mark(colour) => {
                    let from = packet.colour;
                    packet.colour = colour;
                    observer.marked(now, &packet, from);
                }
                Verdict::Discard => return self.datapath.drop_packet(now, packet, DropReason::Policed, observer),
            }
        }
        let arrival = Arrival { flow, length, colour: packet.colour, part, ecn, now };
        let mut judgement = Judgement::Pass;
        if self.datapath.aqms.judge_arrivals() {
            judgement = self.datapath.aqms.admit(&arrival, self.datapath.queues.occupancy());
            if judgement == Judgement::Drop {
                return self.datapath.drop_packet(now, packet, DropReason::Congestion, observer);
            }
        }
        loop {
            match self.datapath.buffer.admit(&arrival, self.datapath.queues.occupancy()) {
                Admission::Accept | Admission::AcceptAs(_) if self.datapath.queues.is_full() => {
                    return self.datapath.refuse(now, packet, DropReason::SharedLimit, observer);
                }
                Admission::Accept => break,
                Admission::AcceptAs(colour) => {
                    let from = core::mem::replace(&mut packet.colour, colour);
                    observer.marked(now, &packet, from);
                    break;
                }
                Admission::Refuse(reason) => return self.datapath.refuse(now, packet, reason, observer),
                Admission::PushOut(victim) => self.push_out(now, victim, observer),
            }
        }
        if judgement == Judgement::Mark {
            self.datapath.mark(now, &mut packet, observer);
        }
        let seen = packet.seen();
        let became_head = self.datapath.queues.push(packet);
        self.datapath.buffer.changed(Change::joined(&seen), self.datapath.queues.occupancy());
        if self.datapath.aqms.hear_join(became_head.is_some()) {
            self.datapath.aqms.joined(now, flow, length, self.datapath.queues.occupancy());
        }
        observer.queued(now, &seen, self.datapath.queues.occupancy());
        if let Some(head) = became_head {
            self.scheduler.activate(now, flow, head);
        }
        debug_assert!(self.check().is_ok(), "{:?}", self.check());
    }

    /// Starts the next transmission if the link is free and the scheduler allows it at `now`.
    #[inline]
    pub fn poll<O: Observer<P>>(&mut self, now: Time, observer: &mut O) -> Next<P> {
        self.refresh_if_due(now);
        self.clock = now;
        self.scheduler.drive(PollTask { datapath: &mut self.datapath, now, observer })
    }

    /// Starts every transmission that is due up to and including `now`, each at its own instant, and returns when to come back: `None`
    /// if nothing is queued. A silence longer than [`SERIAL_HORIZON`] is crossed in several calls, each at most that far from the one before.
    pub fn advance<O: Observer<P>>(&mut self, now: Time, observer: &mut O, mut transmit: impl FnMut(Transmission<P>)) -> Option<Time> {
        let wake = loop {
            // Everything due before the next refresh, and then the rest.
            let due = now.earlier(self.next_refresh);
            let from = self.clock;
            let wake = self.scheduler.drive(AdvanceTask { datapath: &mut self.datapath, from, to: due, observer, transmit: &mut transmit });
            self.clock = self.clock.later(due);
            self.refresh_if_due(self.clock);
            if !due.is_before(now) {
                break wake;
            }
        };
        self.clock = self.clock.later(now);
        wake
    }

    /// Gives up link time before `time`: transmissions that were due earlier start at `time` or later. A live port that woke up late
    /// limits its catching up with this.
    pub fn skip_to(&mut self, time: Time) {
        self.clock = self.clock.later(time);
        self.datapath.busy_until = self.datapath.busy_until.later(time);
    }

    /// From `now` on the link has rates that vary; their steps count from `now`. Policers, shapers and schedulers keep the rates that they were built
    /// with, and a switch to another policy keeps the link's.
    pub fn vary_rate(&mut self, now: Time, rates: &VaryingRate) {
        self.datapath.rates = Some(Box::new(RateCursor::new(now, rates)));
    }

    /// Checks the conservation law.
    ///
    /// # Errors
    /// [`Unbalanced`] with all the figures.
    #[allow(clippy::result_large_err)]
    pub fn check(&self) -> Result<(), Unbalanced> {
        let occupancy = self.datapath.queues.occupancy();
        self.datapath.counters.check(Volume { packets: u64::from(occupancy.packets()), bytes: occupancy.bytes() })
    }

    /// The packets queued for a flow with their payloads, the oldest first.
    pub fn queued(&self, flow: Flow) -> impl Iterator<Item = (Packet<()>, &P)> {
        self.datapath.queues.walk(flow)
    }

    /// Drops the packet with this many others before it in its flow's queue. False if there is none, or if the buffer manager keeps it in a list.
    pub fn withdraw<O: Observer<P>>(&mut self, now: Time, flow: Flow, before: u32, reason: DropReason, observer: &mut O) -> bool {
        let Some(packet) = self.datapath.queues.pop_at(flow, before) else { return false };
        self.removed(now, flow, packet, before == 0, reason, observer);
        true
    }

    #[cold]
    fn push_out<O: Observer<P>>(&mut self, now: Time, victim: Victim, observer: &mut O) {
        let (flow, packet, was_head) = match victim {
            Victim::Head(flow) => (flow, self.datapath.queues.pop(flow).map(|(packet, _)| packet), true),
            Victim::Marked(flow) => match self.datapath.queues.pop_marked(flow) {
                Some((packet, was_head)) => (flow, Some(packet), was_head),
                None => (flow, None, false),
            },
            Victim::Tail(flow) => {
                let packet = self.datapath.queues.pop_last(flow);
                (flow, packet, self.datapath.queues.occupancy().flow_packets(flow) == 0)
            }
        };
        let Some(packet) = packet else { unreachable!("the buffer manager pushed out a packet that is not queued") };
        if !fault!(AqmMissesPushOuts) {
            self.datapath.aqms.pushed_out(now, flow);
        }
        self.removed(now, flow, packet, was_head, DropReason::PushedOut, observer);
    }

    /// A packet has been taken out of the queue of `flow` before its turn.
    fn removed<O: Observer<P>>(&mut self, now: Time, flow: Flow, packet: Packet<P>, was_head: bool, reason: DropReason, observer: &mut O) {
        if was_head {
            self.scheduler.lost(now, flow, self.datapath.queues.head(flow));
        }
        self.datapath.left(now, &packet);
        if self.datapath.queues.occupancy().flow_packets(flow) == 0 {
            self.datapath.emptied(&mut self.scheduler, now, flow);
        }
        self.datapath.drop_packet(now, packet, reason, observer);
    }

    #[inline]
    fn refresh_if_due(&mut self, now: Time) {
        if !now.is_before(self.next_refresh) {
            self.refresh(now);
        }
    }

    #[cold]
    fn refresh(&mut self, now: Time) {
        for policer in self.policers.iter_mut().flatten() {
            policer.refresh(now);
        }
        self.scheduler.refresh(now);
        self.datapath.aqms.refresh(now);
        self.datapath.queues.refresh(now);
        if let Some(rates) = &mut self.datapath.rates {
            rates.move_to(now);
        }
        self.datapath.busy_until = self.datapath.busy_until.later(now - SERIAL_HORIZON);
        self.next_refresh = now + SERIAL_HORIZON;
    }
}
