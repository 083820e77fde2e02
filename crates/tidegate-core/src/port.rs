//! The path of a packet through a port, and the law that nothing is lost on it.
//!
//! ```text
//! classify -> police -> admit -> queue of its flow -> select -> transmit
//! ```
//!
//! A port is driven by three calls: [`Port::offer`] a packet, [`Port::poll`] for the next transmission, and [`Port::advance`], which
//! polls at every instant at which something is due up to `now`. All three are handed the time and an observer.
//!
//! **Law.** At every instant `offered = sent + dropped (by reason) + queued`, in packets and in bytes ([`Port::check`]).
//!
//! **Lengths.** Policers, shapers, schedulers and the link count a packet's length on the wire, that is with the port's [`Overhead`],
//! because rates are promised there. Buffers and counters count the frame itself.
//!
//! **Ties.** A transmission due at the instant of an arrival starts before the arrival is looked at.

use crate::buffer::{Admission, Arrival, BufferManager, Victim};
use crate::classifier::Classifier;
use crate::observer::Observer;
use crate::packet::{Colour, DropReason, Flow, Packet};
use crate::policer::{Policer, Verdict};
use crate::queue::{Occupancy, Queues};
use crate::registry::{AnyBufferManager, AnyPolicer, AnyScheduler};
use crate::scheduler::{Decision, Scheduler};
use crate::units::{Duration, MAX_BYTES, Rate, Time, TimePerByte};
use alloc::vec::Vec;
use core::fmt;

/// How long an instant may be kept without a refresh: 2^61 ps, 26 days.
pub const MEMORY: Duration = Duration::from_picoseconds(1 << 61);

/// What a link adds to every frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Overhead {
    /// Nothing: rates count frames as they are.
    #[default]
    None,
    /// A fixed number of bytes per frame; Ethernet adds preamble (8), frame check sequence (4) and inter-frame gap (12).
    PerPacket(u32),
    /// Frames are carried as AAL5 over ATM: an 8-byte trailer, padding to whole cells, 53 bytes per 48 of payload.
    Aal5,
}

impl Overhead {
    /// Ethernet as captured (no frame check sequence): 24 bytes.
    pub const ETHERNET: Overhead = Overhead::PerPacket(24);

    /// The bytes that a frame of `length` bytes takes on the wire.
    #[inline]
    pub const fn wire_length(self, length: u32) -> u32 {
        match self {
            Overhead::None => length,
            Overhead::PerPacket(bytes) => length + bytes,
            Overhead::Aal5 => (length + 8).div_ceil(48) * 53,
        }
    }
}

/// All that a port is made of.
#[derive(Clone, Debug)]
pub struct PortSetup<S = AnyScheduler, B = AnyBufferManager> {
    /// The link's rate.
    pub rate: Rate,
    /// What the link adds to every frame.
    pub overhead: Overhead,
    /// Names a packet's flow, and every flow's class.
    pub classifier: Classifier,
    /// One policer, or none, per class.
    pub policers: Vec<Option<AnyPolicer>>,
    /// Who may use the buffer.
    pub buffer: B,
    /// The order of service among the classifier's flows.
    pub scheduler: S,
    /// The most packets the port can hold, whatever the buffer manager says: memory is allocated for them.
    pub packet_limit: u32,
    /// The longest frame accepted, in bytes.
    pub longest_frame: u32,
}

/// A number of packets and the bytes in them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Volume {
    /// Packets.
    pub packets: u64,
    /// Bytes, without link overhead.
    pub bytes: u64,
}

impl Volume {
    /// Counts one packet of `length` bytes.
    #[inline]
    pub fn add(&mut self, length: u32) {
        self.packets += 1;
        self.bytes += u64::from(length);
    }
}

/// What has become of everything a port was offered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Everything offered.
    pub offered: Volume,
    /// Everything whose transmission has started.
    pub sent: Volume,
    /// Everything dropped, by [`DropReason`] in the order of [`DropReason::ALL`].
    pub dropped: [Volume; DropReason::ALL.len()],
}

/// A violation of the conservation law: a defect of the port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unbalanced {
    /// The counters.
    pub counters: Counters,
    /// What the queues hold.
    pub queued: Volume,
}

impl fmt::Display for Unbalanced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "offered differs from sent + dropped + queued: {:?}, queued {:?}", self.counters, self.queued)
    }
}

impl core::error::Error for Unbalanced {}

/// What a port does when polled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next<P> {
    /// This packet's transmission starts now.
    Transmit(Transmission<P>),
    /// Nothing can start before this instant, which lies after `now`.
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

/// An output port: classifier, policers, buffer manager, queues, scheduler and link.
#[derive(Clone, Debug)]
pub struct Port<P, S = AnyScheduler, B = AnyBufferManager> {
    link: TimePerByte,
    rate: Rate,
    overhead: Overhead,
    classifier: Classifier,
    policers: Vec<Option<AnyPolicer>>,
    policing: bool,
    buffer: B,
    scheduler: S,
    queues: Queues<P>,
    longest_frame: u32,
    /// The last instant the port was told of; the time up to which it has done all there was to do.
    clock: Time,
    busy_until: Time,
    next_refresh: Time,
    counters: Counters,
}

impl<P, S: Scheduler, B: BufferManager> Port<P, S, B> {
    /// A port that is empty and idle at `now`.
    ///
    /// # Panics
    /// If `policers` does not hold one entry per class, or `longest_frame` with overhead exceeds [`MAX_BYTES`]: the caller checks
    /// what an operator wrote before it comes here.
    pub fn new(now: Time, mut setup: PortSetup<S, B>) -> Port<P, S, B> {
        assert_eq!(setup.policers.len(), setup.classifier.classes().len(), "one policer entry per class");
        assert!(setup.longest_frame < MAX_BYTES / 2, "frames are shorter than 2^29 bytes");
        setup.policers.iter_mut().flatten().for_each(|policer| policer.start(now));
        setup.scheduler.start(now);
        Port {
            link: setup.rate.time_per_byte(),
            rate: setup.rate,
            overhead: setup.overhead,
            queues: Queues::new(setup.classifier.flows(), setup.packet_limit, setup.overhead),
            policing: setup.policers.iter().any(Option::is_some),
            classifier: setup.classifier,
            policers: setup.policers,
            buffer: setup.buffer,
            scheduler: setup.scheduler,
            longest_frame: setup.longest_frame,
            clock: now,
            busy_until: now,
            next_refresh: now + MEMORY,
            counters: Counters::default(),
        }
    }

    /// The classifier: which flow a header belongs to, which class a flow belongs to.
    pub fn classifier(&self) -> &Classifier {
        &self.classifier
    }

    /// The link's rate.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// What the link adds to every frame.
    pub fn overhead(&self) -> Overhead {
        self.overhead
    }

    /// What has become of everything offered so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What is queued.
    pub fn occupancy(&self) -> &Occupancy {
        self.queues.occupancy()
    }

    /// When the link is free again, if it is transmitting at `now`.
    pub fn busy_until(&self, now: Time) -> Option<Time> {
        self.busy_until.is_after(now).then_some(self.busy_until)
    }

    /// Takes a packet of `length` bytes into the port at `now`. The observer learns what becomes of it.
    ///
    /// Transmissions that are due before `now` must have been polled before ([`Port::advance`] does).
    #[inline]
    pub fn offer<O: Observer<P>>(&mut self, now: Time, flow: Flow, length: u32, colour: Colour, payload: P, observer: &mut O) {
        self.keep_memory(now);
        self.clock = now;
        let mut packet = Packet { flow, length, arrival: now, colour, payload };
        self.counters.offered.add(length);
        observer.offered(now, &packet);
        if length > self.longest_frame {
            return self.drop_packet(now, packet, DropReason::Oversize, observer);
        }
        if self.policing
            && let Some(policer) = &mut self.policers[self.classifier.class_of(flow)]
        {
            match policer.police(now, self.overhead.wire_length(length), colour) {
                Verdict::Conform => {}
                Verdict::Mark(colour) => {
                    let from = packet.colour;
                    packet.colour = colour;
                    observer.marked(now, &packet, from);
                }
                Verdict::Discard => return self.drop_packet(now, packet, DropReason::Policed, observer),
            }
        }
        let arrival = Arrival { flow, length, colour: packet.colour, now };
        loop {
            match self.buffer.admit(&arrival, self.queues.occupancy()) {
                Admission::Accept if self.queues.is_full() => {
                    return self.drop_packet(now, packet, DropReason::SharedLimit, observer);
                }
                Admission::Accept => break,
                Admission::Refuse(reason) => return self.drop_packet(now, packet, reason, observer),
                Admission::PushOut(victim) => self.push_out(now, victim, observer),
            }
        }
        let seen = Packet { flow, length, arrival: now, colour: packet.colour, payload: () };
        let became_head = self.queues.push(packet);
        self.buffer.changed(flow, self.queues.occupancy());
        observer.queued(now, &seen, self.queues.occupancy());
        if became_head && let Some(head) = self.queues.head(flow) {
            self.scheduler.activate(now, flow, head);
        }
        debug_assert!(self.check().is_ok(), "{:?}", self.check());
    }

    /// Starts the next transmission if the link is free and the scheduler allows it at `now`.
    #[inline]
    pub fn poll<O: Observer<P>>(&mut self, now: Time, observer: &mut O) -> Next<P> {
        self.keep_memory(now);
        self.clock = now;
        if self.busy_until.is_after(now) {
            return Next::WaitUntil(self.busy_until);
        }
        loop {
            match self.scheduler.select(now) {
                Decision::Serve(flow) => {
                    let Some(packet) = self.queues.pop(flow) else { unreachable!("the scheduler named a flow that is not backlogged") };
                    self.scheduler.served(now, flow, self.queues.head(flow));
                    if let Some(upcoming) = self.scheduler.upcoming() {
                        self.queues.prefetch(upcoming);
                    }
                    self.buffer.changed(flow, self.queues.occupancy());
                    let finish = now + self.link.ceil(self.overhead.wire_length(packet.length));
                    self.busy_until = finish;
                    self.counters.sent.add(packet.length);
                    observer.sent(now, &packet, finish, self.queues.occupancy());
                    return Next::Transmit(Transmission { packet, start: now, finish });
                }
                Decision::Discard(flow) => {
                    if let Some(packet) = self.queues.pop(flow) {
                        self.scheduler.lost(now, flow, self.queues.head(flow));
                        self.buffer.changed(flow, self.queues.occupancy());
                        self.drop_packet(now, packet, DropReason::Late, observer);
                    }
                }
                Decision::WaitUntil(time) => return Next::WaitUntil(time),
                Decision::Idle => return Next::Idle,
            }
        }
    }

    /// Starts every transmission that is due up to and including `now`, each at its own instant, and returns when to come back: `None`
    /// if nothing is queued. A silence longer than [`MEMORY`] is crossed in several calls, each at most that far from the one before.
    pub fn advance<O: Observer<P>>(&mut self, now: Time, observer: &mut O, mut transmit: impl FnMut(Transmission<P>)) -> Option<Time> {
        let mut at = self.clock;
        let wake = loop {
            match self.poll(at, observer) {
                Next::Transmit(transmission) => transmit(transmission),
                Next::WaitUntil(time) if time.is_after(now) => break Some(time),
                Next::WaitUntil(time) => at = time,
                Next::Idle => break None,
            }
        };
        self.clock = self.clock.later(now);
        self.keep_memory(now);
        wake
    }

    /// Gives up link time before `time`: transmissions that were due earlier start at `time` or later. A live port that woke up late
    /// limits its catching up with this.
    pub fn forgo(&mut self, time: Time) {
        self.clock = self.clock.later(time);
        self.busy_until = self.busy_until.later(time);
    }

    /// Checks the conservation law.
    ///
    /// # Errors
    /// [`Unbalanced`] with all the figures.
    // The error is large because it holds every figure, and never made unless the port is defective.
    #[allow(clippy::result_large_err)]
    pub fn check(&self) -> Result<(), Unbalanced> {
        let occupancy = self.queues.occupancy();
        let queued = Volume { packets: u64::from(occupancy.packets()), bytes: occupancy.bytes() };
        let mut accounted = queued;
        for volume in self.counters.dropped.iter().chain([&self.counters.sent]) {
            accounted.packets += volume.packets;
            accounted.bytes += volume.bytes;
        }
        if accounted == self.counters.offered { Ok(()) } else { Err(Unbalanced { counters: self.counters, queued }) }
    }

    #[cold]
    fn push_out<O: Observer<P>>(&mut self, now: Time, victim: Victim, observer: &mut O) {
        let (flow, packet, was_head) = match victim {
            Victim::Head(flow) => (flow, self.queues.pop(flow), true),
            Victim::Tail(flow) => {
                let packet = self.queues.pop_last(flow);
                (flow, packet, self.queues.occupancy().flow_packets(flow) == 0)
            }
        };
        let Some(packet) = packet else { unreachable!("the buffer manager pushed out of an empty queue") };
        if was_head {
            self.scheduler.lost(now, flow, self.queues.head(flow));
        }
        self.buffer.changed(flow, self.queues.occupancy());
        self.drop_packet(now, packet, DropReason::PushedOut, observer);
    }

    #[cold]
    fn drop_packet<O: Observer<P>>(&mut self, now: Time, packet: Packet<P>, reason: DropReason, observer: &mut O) {
        self.counters.dropped[reason as usize].add(packet.length);
        observer.dropped(now, packet, reason, self.queues.occupancy());
    }

    #[inline]
    fn keep_memory(&mut self, now: Time) {
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
        self.queues.refresh(now);
        self.busy_until = self.busy_until.later(now - MEMORY);
        self.next_refresh = now + MEMORY;
    }
}
