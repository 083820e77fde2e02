//! One direction of a bridge: frames pass through a port and along a link. The caller passes the time, and no call waits.

use crate::acks;
use crate::class_queues::ClassQueues;
use crate::counters::{DirectionCounters, Unsent};
use crate::direction_loop::{DirectionLoop, DirectionOptions, DirectionReport, Next};
use crate::error::ControlError;
use crate::ingress::{self, Arrived, Checksums};
use crate::io::{Receive, Transmit};
use crate::outbox::{self, DisturbedVolume, FrameOwner, Outbox, Outcome};
use crate::pool::FramePool;
use crate::port_change::{Asked, ChangeBuilder, Needs, PortChange, PortChanges, Replaced};
use crate::record::DirectionRecord;
use crate::stamped::{Stamped, Stamps};
use crate::take_over::Shown;
use crate::watch::{Frame, StageObserver, TakenIn, Watch, ecn_of, remark};
use crate::workers::Worker;
use crate::workers::ring::Passed;
use std::ops::RangeInclusive;
use std::os::fd::BorrowedFd;
use std::sync::mpsc::Sender;
use tidegate_core::classifier::{Classifier, Header};
use tidegate_core::observer::Observer;
use tidegate_core::packet::{Colour, Flow, Packet, Part};
use tidegate_core::port::{Port, PortSetup, Transmission, Volume};
use tidegate_core::units::{Duration, Time};
use tidegate_link::Link;
use tidegate_statistics::Delays;
use tidegate_wire::AckFilter;

mod continuation;
mod working;

pub(crate) struct Direction<R, T, O> {
    receiver: R,
    transmitter: T,
    port: Port<Frame>,
    pool: FramePool,
    record: DirectionRecord,
    observer: O,
    checksums: Checksums,
    ack_filter: Option<AckFilter>,
    batch: u32,
    catch_up: Duration,
    /// The slots of frames that the port has sent and the kernel has not taken yet.
    outbox: Outbox<u32>,
    /// Everything due up to this instant has been sent.
    served_until: Time,
    counters: DirectionCounters,
    /// How long after its instant a packet was handed to the kernel.
    lateness: Delays,
    /// The total transmission time of the link, in picoseconds.
    busy: u128,
    changes: PortChanges,
    /// The packets that the port may hold, for which there is memory.
    room: u32,
    /// The incoming and the outgoing interface, as users name them.
    pub(crate) ends: [String; 2],
    /// What makes it one of several workers.
    worker: Option<Box<Worker>>,
}

impl<R: Receive, T: Transmit, O: StageObserver> Direction<R, T, O> {
    /// A direction at `now`, whose frames are in `pool`. `connected` says whether the incoming and the outgoing interface are up.
    // Each belongs to this direction.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn new(
        now: Time,
        setup: PortSetup,
        direction_options: DirectionOptions,
        receiver: R,
        transmitter: T,
        connected: [bool; 2],
        pool: FramePool,
        mut observer: O,
    ) -> Direction<R, T, O> {
        observer.begin(pool.slots());
        Direction {
            receiver,
            transmitter,
            record: DirectionRecord::new(now, &setup.classifier),
            // Every frame in the outbox has a slot.
            outbox: Outbox::new(&direction_options.link, direction_options.number, direction_options.slots as usize),
            port: port_of(now, setup, &direction_options.link),
            pool,
            observer,
            checksums: direction_options.checksums,
            ack_filter: direction_options.ack_filter,
            batch: direction_options.batch,
            catch_up: direction_options.catch_up,
            served_until: now,
            counters: DirectionCounters { receiving: connected[0], sending: connected[1], ..DirectionCounters::default() },
            lateness: Delays::default(),
            busy: 0,
            changes: PortChanges::default(),
            room: direction_options.room,
            ends: Default::default(),
            worker: None,
        }
    }

    /// Gives it policies that follow, from `now` on. What builds them is to run on another thread.
    pub(crate) fn follow(&mut self, now: Time, changes: Vec<PortChange>) -> Option<ChangeBuilder> {
        if changes.is_empty() {
            return None;
        }
        let (changes, builder) = PortChanges::new(now, self.port.classifier().clone(), changes);
        self.changes = changes;
        Some(builder)
    }

    /// Makes the changes that are due, unless the kernel has no room for frames sent before.
    #[cold]
    fn change(&mut self, now: Time) {
        while self.changes.next().is_some_and(|at| !at.is_after(now)) {
            if self.start_due(now) == Next::Blocked {
                return;
            }
            let Direction { port, pool, record, observer, worker, .. } = self;
            if self.changes.make(now, (port, worker.as_deref_mut()), pool, record, observer) {
                return;
            }
        }
    }

    /// Lets the port send what is due, unless the kernel has no room for frames sent before.
    fn start_due(&mut self, now: Time) -> Next {
        if !self.flush(now) {
            return Next::Blocked;
        }
        let horizon = now - self.catch_up;
        if self.port.occupancy().packets() > 0 {
            let free = self.port.busy_until(self.served_until).unwrap_or(self.served_until);
            self.counters.forgone = self.counters.forgone + horizon.since(free);
        }
        self.port.skip_to(horizon);
        let mut watch = Watch::new(&mut self.record, &mut self.pool, &mut self.observer);
        let wake = start(&mut self.port, now, &mut watch, &mut self.outbox, &mut self.busy);
        self.served_until = now;
        if !self.flush(now) {
            return Next::Blocked;
        }
        match (wake, self.outbox.first_due()) {
            (Some(wake), Some(due)) => Next::At(wake.earlier(due)),
            (Some(time), None) | (None, Some(time)) => Next::At(time),
            (None, None) => Next::Idle,
        }
    }

    /// Takes in received frames; true if there were any.
    fn take_in(&mut self, now: Time) -> bool {
        let Direction { receiver, port, pool, record, observer, counters, checksums, ack_filter, batch, outbox, busy, worker, .. } = self;
        let stamps = Stamps::default();
        let mut receiver = Stamped::<_, O>::new(receiver, &stamps);
        let mut offering = Offering { now, port, record, observer, ack_filter: *ack_filter, outbox, busy, without_fields: 0 };
        let any = ingress::take_in(&mut receiver, *checksums, *batch, pool, counters, |pool, header, arrived| {
            let found = offering.port.classifier().classify_by(header);
            if let Some(worker) = worker
                && let Some((ring, volume)) = worker.elsewhere(found.0)
            {
                return ring.pass(pool, header, (found, offering.port.switches()), arrived, volume);
            }
            offering.offer(pool, header, found, arrived, [stamps.arrived.get(), stamps.at.get()]);
            Ok(())
        });
        counters.without_fields += offering.without_fields;
        any
    }

    /// Hands due frames to the kernel; false if some are left.
    fn flush(&mut self, now: Time) -> bool {
        let Direction { outbox, transmitter, pool, lateness, observer, counters: DirectionCounters { delivered, unsent, .. }, .. } = self;
        let stamps = Stamps::default();
        let mut transmitter = Stamped::<_, O>::new(transmitter, &stamps);
        transmitter.settle(pool)
            && outbox.flush(now, &mut transmitter, &mut Leaving { pool, delivered, unsent, lateness, observer, stamps: &stamps })
            && transmitter.settle(pool)
    }
}

impl<R: Receive, T: Transmit, O: StageObserver> DirectionLoop<O> for Direction<R, T, O> {
    fn poll(&mut self, now: Time, reading: bool) -> Next {
        if self.worker.is_some() {
            return self.poll_as_worker(now, reading);
        }
        let change = self.changes.next().filter(|_| reading);
        if change.is_some_and(|at| !at.is_after(now)) {
            self.change(now);
        }
        // Packets due up to now start before the arrivals of now.
        let next = self.start_due(now);
        if reading && self.take_in(now) {
            return if self.start_due(now) == Next::Blocked { Next::Blocked } else { Next::Again };
        }
        match (next, self.changes.next().filter(|_| reading)) {
            (Next::At(time), Some(at)) => Next::At(time.earlier(at)),
            (Next::Idle, Some(at)) => Next::At(at),
            (next, _) => next,
        }
    }

    #[inline]
    fn woken(&mut self) {
        self.observer.woken();
        self.worker.iter().for_each(|worker| worker.woken());
    }

    fn skip(&mut self, span: RangeInclusive<u64>) {
        self.receiver.skip(span);
    }

    fn maintain(&mut self, now: Time) -> bool {
        let changed = self.counters.update_interfaces(self.receiver.maintain(), self.transmitter.maintain());
        self.counters.kernel = self.receiver.kernel_counters();
        self.changes.take_next();
        self.record.maintain(now);
        self.observer.maintained();
        changed
    }

    fn counters(&self) -> DirectionCounters {
        let occupancy = self.port.occupancy();
        let queued = Volume { packets: u64::from(occupancy.packets()), bytes: occupancy.bytes() };
        let DisturbedVolume { late, duplicated } = self.outbox.disturbed();
        let Passed { on: passed_on, into: passed_in } = self.worker.as_ref().map_or_else(Passed::default, |worker| worker.volume);
        let in_flight = self.outbox.held();
        DirectionCounters { port: *self.port.counters(), queued, passed_on, passed_in, in_flight, late, duplicated, ..self.counters }
    }

    fn record(&mut self) -> &mut DirectionRecord {
        &mut self.record
    }

    fn add_queues(&self, now: Time, class: usize, most: u32, queues: &mut ClassQueues) -> bool {
        queues.add(&self.port, now, class, most)
    }

    fn keeps_bytes(&self) -> bool {
        true
    }

    fn classifier(&self) -> &Classifier {
        self.port.classifier()
    }

    fn switches(&self) -> u32 {
        self.port.switches()
    }

    fn fits(&self, needs: Needs) -> Result<(), ControlError> {
        needs.fit(self.room, self.pool.longest())
    }

    fn change(&mut self, change: Asked, reply: Sender<Replaced>) {
        // Workers change together, by a plan.
        let is_apt = if self.worker.is_some() == change.plan().is_some() { Ok(()) } else { Err(ControlError::Workers) };
        match is_apt.and_then(|()| change.needs().map_or(Ok(()), |needs| self.fits(needs))) {
            Ok(()) => self.changes.ask(change.plan().map_or(self.served_until, |plan| plan.at), change, reply),
            Err(why) => drop(reply.send(Replaced::not(why, change))),
        }
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.receiver.descriptor()
    }

    fn waker(&self) -> Option<BorrowedFd<'_>> {
        self.worker.as_ref().map(|worker| worker.descriptor())
    }

    fn stand_still(&mut self, now: Time) -> Option<Shown> {
        if self.worker.is_some() { None } else { self.show(now) }
    }

    fn has_failed(&self) -> bool {
        false
    }

    fn finish(mut self, now: Time) -> DirectionReport<O> {
        self.maintain(now);
        self.follow_rates(now, true);
        self.worker.iter_mut().for_each(|worker| worker.stop_receiving());
        let counters = self.counters();
        DirectionReport {
            counters,
            recorder: self.record.port,
            lateness: self.lateness,
            busy: self.busy,
            observer: self.observer,
            engine: None,
            changes: self.changes.done,
            worker: self.worker,
        }
    }
}

/// Where packets are offered: a port, and what is beside it.
struct Offering<'a, O> {
    now: Time,
    port: &'a mut Port<Frame>,
    record: &'a mut DirectionRecord,
    observer: &'a mut O,
    ack_filter: Option<AckFilter>,
    outbox: &'a mut Outbox<u32>,
    busy: &'a mut u128,
    without_fields: u64,
}

impl<O: StageObserver> Offering<'_, O> {
    /// Offers a packet with this header, whose flow and rule were found. `arrived` and `read` are the stamps of its frame.
    #[inline]
    fn offer(
        &mut self,
        pool: &mut FramePool,
        header: &Header,
        (flow, rule): (Flow, Option<u32>),
        Arrived { slot, length }: Arrived,
        [arrived, read]: [u64; 2],
    ) {
        let Offering { now, port, record, observer, ack_filter, outbox, busy, without_fields } = self;
        let now = *now;
        let frame = Frame::new(slot, port.counters().offered.packets);
        record.came(header, (flow, rule), length);
        let mut watch = Watch::new(record, pool, *observer);
        let ecn = ecn_of(port, header);
        let packet = Packet { flow, length, arrival: now, colour: Colour::of(header), part: Part::Whole, ecn, payload: frame };
        let key = port.classifier().key(header, flow);
        let flow = port.offer_keyed(packet, key, &mut watch);
        if let (Some((colour, _)), Some(slot)) = (watch.queued(), slot) {
            if let Some(filter) = *ack_filter {
                acks::filter(filter, now, port, flow, (slot, length), &mut watch);
            }
            *without_fields += u64::from(!remark(port, flow, colour, pool.packet_mut(slot, length)));
        }
        observer.taken_in(TakenIn { slot, number: frame.number(), flow, length, arrived, read });
        let mut watch = Watch::new(record, pool, *observer);
        // On an idle link the first packet of a burst starts before the next one is offered, as in every other world. A link that the kernel
        // blocks is not idle.
        if !outbox.is_blocked() && port.busy_until(now).is_none() {
            start(port, now, &mut watch, outbox, busy);
        }
    }
}

/// The port of a link, whose rates count from `now` if they vary.
fn port_of(now: Time, setup: PortSetup, link: &Link) -> Port<Frame> {
    let mut port = Port::new(now, setup);
    if let Some(rates) = &link.rates {
        port.vary_rate(now, rates);
    }
    port
}

/// Releases the slots of frames that leave, and counts their outcomes.
struct Leaving<'a, O> {
    pool: &'a mut FramePool,
    delivered: &'a mut Volume,
    unsent: &'a mut Unsent,
    lateness: &'a mut Delays,
    observer: &'a mut O,
    /// Of the latest system call.
    stamps: &'a Stamps,
}

impl<O: StageObserver> FrameOwner<u32> for Leaving<'_, O> {
    #[inline]
    fn message<'a>(&'a self, &slot: &'a u32, length: u32) -> &'a [u8] {
        self.pool.message(slot, length)
    }

    #[inline]
    fn finished(&mut self, slot: u32, length: u32, outcome: Outcome) {
        if matches!(outcome, Outcome::Delivered(_)) {
            self.observer.handed(slot, self.stamps.at.get());
            self.pool.hand_over(slot);
        }
        self.pool.release(slot);
        outbox::count(outcome, length, self.delivered, self.unsent, self.lateness);
    }

    fn copied(&mut self, &slot: &u32, length: u32, outcome: Outcome) {
        if matches!(outcome, Outcome::Delivered(_)) {
            self.pool.hand_over(slot);
        }
        outbox::count(outcome, length, self.delivered, self.unsent, self.lateness);
    }
}

/// Starts transmissions due up to `now`, and returns when the port has to be asked again.
fn start<O: Observer<Frame>>(
    port: &mut Port<Frame>,
    now: Time,
    watch: &mut Watch<'_, O>,
    outbox: &mut Outbox<u32>,
    busy: &mut u128,
) -> Option<Time> {
    port.advance(now, watch, |transmission| {
        *busy += u128::from(transmission.finish.since(transmission.start).picoseconds());
        let Transmission { packet, start, finish } = transmission;
        outbox.push(start, finish, packet.length, packet.payload.slot());
    })
}

#[cfg(test)]
pub(crate) mod tests;
