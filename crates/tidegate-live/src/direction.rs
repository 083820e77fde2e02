//! One direction of a bridge: frames in, through a port, along a link, frames out. It is told the time and never waits.

use crate::counters::{DirectionCounters, Unsent};
use crate::end_system::EngineRecord;
use crate::ingress::{self, Arrived, Checksums};
use crate::io::{Receive, Transmit};
use crate::outbox::{self, Outbox, Outcome, Owner};
use crate::pool::FramePool;
use crate::watch::{Frame, Watch, remark};
use std::io;
use std::os::fd::BorrowedFd;
use tidegate_core::observer::Observer;
use tidegate_core::packet::Colour;
use tidegate_core::port::{Port, PortSetup, Volume};
use tidegate_core::units::{Duration, Time};
use tidegate_link::Link;
use tidegate_statistics::{Delays, PortRecorder};

/// What to do next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// There may be more frames: take another turn at once.
    Again,
    /// Nothing is due before this instant.
    At(Time),
    /// The kernel has no room: try again soon.
    Blocked,
    /// Nothing is held.
    Idle,
}

/// One direction.
pub(crate) struct Direction<R, T, O> {
    receiver: R,
    transmitter: T,
    port: Port<Frame>,
    pool: FramePool,
    recorder: PortRecorder,
    observer: O,
    checksums: Checksums,
    catch_up: Duration,
    /// Sent by the port, not yet taken by the kernel: on the link, and at its end. By slot.
    outbox: Outbox<u32>,
    /// The last instant up to which the port has done what was due.
    worked: Time,
    counters: DirectionCounters,
    /// How long after its instant a packet was given to the kernel.
    lateness: Delays,
    /// For how long the link has been transmitting.
    busy: u128,
}

/// What is left of a direction when it has ended.
pub(crate) struct Remains<O> {
    pub(crate) counters: DirectionCounters,
    pub(crate) recorder: PortRecorder,
    pub(crate) lateness: Delays,
    pub(crate) busy: u128,
    pub(crate) observer: O,
    /// If it was one in three threads.
    pub(crate) engine: Option<EngineRecord>,
}

/// What a direction's thread does again and again.
pub(crate) trait Carry<O> {
    /// Takes in what has been received, if `reading`, and does what else is due at `now`.
    fn turn(&mut self, now: Time, reading: bool) -> Next;

    /// Looks after both interfaces. True if one of them went down or came back.
    fn attend(&mut self, now: Time) -> bool;

    /// The counters as they stand.
    fn counters(&self) -> DirectionCounters;

    /// What has been recorded so far.
    fn recorder(&self) -> &PortRecorder;

    /// What to wait on for frames.
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;

    /// True if it cannot go on.
    fn is_broken(&self) -> bool;

    /// Ends it. What it still holds stays counted as queued or in flight.
    fn finish(self, now: Time) -> Remains<O>;
}

/// How a direction treats frames and time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Treatment {
    pub(crate) checksums: Checksums,
    pub(crate) catch_up: Duration,
    /// How long before an instant threads watch the clock.
    pub(crate) spin: Duration,
    pub(crate) slots: u32,
    pub(crate) link: Link,
    /// The number of the direction, from 0: its losses are its own.
    pub(crate) number: u64,
}

impl<R: Receive, T: Transmit, O: Observer<Frame>> Direction<R, T, O> {
    /// A direction whose interfaces, the incoming and the outgoing one, are `connected` or not at `now`.
    pub(crate) fn new(
        now: Time,
        setup: PortSetup,
        treatment: Treatment,
        receiver: R,
        transmitter: T,
        connected: [bool; 2],
        observer: O,
    ) -> io::Result<Direction<R, T, O>> {
        let pool = FramePool::new(treatment.slots, setup.longest_frame)?;
        Ok(Direction {
            receiver,
            transmitter,
            recorder: PortRecorder::new(now, &setup.classifier),
            // Every frame in it has a slot, so it never grows beyond this.
            outbox: Outbox::new(&treatment.link, treatment.number, setup.rate, setup.overhead, treatment.slots as usize),
            port: Port::new(now, setup),
            pool,
            observer,
            checksums: treatment.checksums,
            catch_up: treatment.catch_up,
            worked: now,
            counters: DirectionCounters { receiving: connected[0], sending: connected[1], ..DirectionCounters::default() },
            lateness: Delays::default(),
            busy: 0,
        })
    }

    /// Lets the port send what is due, unless the kernel still has no room for what it sent before.
    fn start_due(&mut self, now: Time) -> Next {
        if !self.flush(now) {
            return Next::Blocked;
        }
        let horizon = now - self.catch_up;
        if self.port.occupancy().packets() > 0 {
            let free = self.port.busy_until(self.worked).unwrap_or(self.worked);
            self.counters.forgone = self.counters.forgone + horizon.since(free);
        }
        self.port.forgo(horizon);
        let mut watch = Watch::new(&mut self.recorder, &mut self.pool, &mut self.observer);
        let wake = start(&mut self.port, now, &mut watch, &mut self.outbox, &mut self.busy);
        self.worked = now;
        if !self.flush(now) {
            return Next::Blocked;
        }
        match (wake, self.outbox.first_due()) {
            (Some(wake), Some(due)) => Next::At(wake.earlier(due)),
            (Some(time), None) | (None, Some(time)) => Next::At(time),
            (None, None) => Next::Idle,
        }
    }

    /// Takes in frames that have been received; true if there were any.
    fn take_in(&mut self, now: Time) -> bool {
        let Direction { receiver, port, pool, recorder, observer, counters, checksums, outbox, busy, .. } = self;
        let mut without_fields = 0;
        let any = ingress::take_in(receiver, *checksums, pool, counters, |pool, header, Arrived { slot, length }| {
            let frame = Frame::new(slot, port.counters().offered.packets);
            let flow = port.classifier().classify(header);
            let mut watch = Watch::new(recorder, pool, observer);
            port.offer(now, flow, length, Colour::of(header), frame, &mut watch);
            if let (Some(colour), Some(slot)) = (watch.queued(), slot) {
                without_fields += u64::from(!remark(port, flow, colour, pool.packet_mut(slot, length)));
            }
            let mut watch = Watch::new(recorder, pool, observer);
            // On an idle link the first packet of a burst starts before the next one is looked at, as in every other world; a link that the
            // kernel blocks is not idle.
            if !outbox.is_blocked() && port.busy_until(now).is_none() {
                start(port, now, &mut watch, outbox, busy);
            }
            Ok(())
        });
        counters.without_fields += without_fields;
        any
    }

    /// Gives the kernel what it has room for; false if something is left.
    fn flush(&mut self, now: Time) -> bool {
        let Direction { outbox, transmitter, pool, lateness, counters: DirectionCounters { delivered, unsent, .. }, .. } = self;
        outbox.flush(now, transmitter, &mut Leaving { pool, delivered, unsent, lateness })
    }
}

impl<R: Receive, T: Transmit, O: Observer<Frame>> Carry<O> for Direction<R, T, O> {
    fn turn(&mut self, now: Time, reading: bool) -> Next {
        // What is due up to now starts before what arrives now.
        let next = self.start_due(now);
        if reading && self.take_in(now) { if self.start_due(now) == Next::Blocked { Next::Blocked } else { Next::Again } } else { next }
    }

    fn attend(&mut self, now: Time) -> bool {
        let changed = self.counters.note(self.receiver.attend(), self.transmitter.attend());
        self.counters.kernel = self.receiver.kernel_counters();
        // The record goes on while nothing happens.
        self.recorder.advance(now);
        changed
    }

    fn counters(&self) -> DirectionCounters {
        let occupancy = self.port.occupancy();
        let queued = Volume { packets: u64::from(occupancy.packets()), bytes: occupancy.bytes() };
        DirectionCounters { port: *self.port.counters(), queued, in_flight: self.outbox.held(), ..self.counters }
    }

    fn recorder(&self) -> &PortRecorder {
        &self.recorder
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.receiver.descriptor()
    }

    fn is_broken(&self) -> bool {
        false
    }

    fn finish(mut self, now: Time) -> Remains<O> {
        self.attend(now);
        let counters = self.counters();
        Remains { counters, recorder: self.recorder, lateness: self.lateness, busy: self.busy, observer: self.observer, engine: None }
    }
}

/// The slots of frames that leave.
struct Leaving<'a> {
    pool: &'a mut FramePool,
    delivered: &'a mut Volume,
    unsent: &'a mut Unsent,
    lateness: &'a mut Delays,
}

impl Owner<u32> for Leaving<'_> {
    #[inline]
    fn message<'a>(&'a self, &slot: &'a u32, length: u32) -> &'a [u8] {
        self.pool.message(slot, length)
    }

    #[inline]
    fn gone(&mut self, slot: u32, length: u32, outcome: Outcome) {
        self.pool.release(slot);
        outbox::count(outcome, length, self.delivered, self.unsent, self.lateness);
    }
}

/// Starts what is due up to `now` and returns when the port is to be asked again.
fn start<O: Observer<Frame>>(
    port: &mut Port<Frame>,
    now: Time,
    watch: &mut Watch<'_, O>,
    outbox: &mut Outbox<u32>,
    busy: &mut u128,
) -> Option<Time> {
    port.advance(now, watch, |transmission| {
        *busy += u128::from(transmission.finish.since(transmission.start).picoseconds());
        outbox.push(transmission.start, transmission.packet.length, transmission.packet.payload.slot());
    })
}

#[cfg(test)]
pub(crate) mod tests;
