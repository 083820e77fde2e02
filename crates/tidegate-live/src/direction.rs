//! One direction of a bridge: frames in, through a port, frames out. It is told the time and never waits.

use crate::counters::DirectionCounters;
use crate::ingress::{self, Arrived, Checksums};
use crate::io::{Outgoing, Receive, SendError, Transmit};
use crate::offload::Segmentation;
use crate::pool::FramePool;
use std::collections::VecDeque;
use std::io;
use tidegate_core::observer::Observer;
use tidegate_core::packet::{Colour, DropReason, Packet};
use tidegate_core::port::{Port, PortSetup, Volume};
use tidegate_core::queue::Occupancy;
use tidegate_core::units::{Duration, Time};
use tidegate_statistics::{Delays, PortRecorder};

/// What a packet of a live port carries: the place of its bytes, and its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame {
    slot: u32,
    number: u64,
}

impl Frame {
    /// Stands for a packet whose bytes were not kept.
    const NOWHERE: u32 = u32::MAX;

    /// How many packets were offered to the port before this one.
    pub fn number(&self) -> u64 {
        self.number
    }
}

/// The most packets taken in at one instant; what a super-frame holds beyond it still is.
const BURST: u64 = 128;

/// For how long a frame is tried again while the kernel has no room for it.
const PATIENCE: Duration = Duration::from_milliseconds(20);

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
    /// Sent by the port, not yet taken by the kernel.
    outbox: VecDeque<Outgoing>,
    blocked_since: Option<Time>,
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
}

/// How a direction treats frames and time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Treatment {
    pub(crate) checksums: Checksums,
    pub(crate) catch_up: Duration,
    pub(crate) slots: u32,
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
            port: Port::new(now, setup),
            pool,
            observer,
            checksums: treatment.checksums,
            catch_up: treatment.catch_up,
            // Every frame in it has a slot, so it never grows beyond this.
            outbox: VecDeque::with_capacity(treatment.slots as usize),
            blocked_since: None,
            worked: now,
            counters: DirectionCounters { receiving: connected[0], sending: connected[1], ..DirectionCounters::default() },
            lateness: Delays::default(),
            busy: 0,
        })
    }

    /// Sends what is due at `now` and, if `reading`, takes in what has been received.
    pub(crate) fn turn(&mut self, now: Time, reading: bool) -> Next {
        // What is due up to now starts before what arrives now.
        let next = self.start_due(now);
        if reading && self.take_in(now) { if self.start_due(now) == Next::Blocked { Next::Blocked } else { Next::Again } } else { next }
    }

    /// Looks after both interfaces. True if one of them went down or came back.
    pub(crate) fn attend(&mut self, now: Time) -> bool {
        let (receiving, sending) = (self.receiver.attend(), self.transmitter.attend());
        let counters = &mut self.counters;
        counters.outages += u64::from(counters.receiving && !receiving) + u64::from(counters.sending && !sending);
        let changed = (counters.receiving, counters.sending) != (receiving, sending);
        (counters.receiving, counters.sending) = (receiving, sending);
        counters.kernel = self.receiver.kernel_counters();
        // The record goes on while nothing happens.
        self.recorder.advance(now);
        changed
    }

    /// The counters as they stand.
    pub(crate) fn counters(&self) -> DirectionCounters {
        let occupancy = self.port.occupancy();
        let mut queued = Volume { packets: u64::from(occupancy.packets()), bytes: occupancy.bytes() };
        for outgoing in &self.outbox {
            queued.add(outgoing.length);
        }
        DirectionCounters { port: *self.port.counters(), queued, ..self.counters }
    }

    pub(crate) fn recorder(&self) -> &PortRecorder {
        &self.recorder
    }

    pub(crate) fn receiver(&self) -> &R {
        &self.receiver
    }

    /// Ends the direction. What it still holds stays counted as queued.
    pub(crate) fn finish(mut self, now: Time) -> Remains<O> {
        self.attend(now);
        let counters = self.counters();
        Remains { counters, recorder: self.recorder, lateness: self.lateness, busy: self.busy, observer: self.observer }
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
        let mut watch = Watch { recorder: &mut self.recorder, pool: &mut self.pool, observer: &mut self.observer };
        let wake = start(&mut self.port, now, &mut watch, &mut self.outbox, &mut self.lateness, &mut self.busy);
        self.worked = now;
        match (self.flush(now), wake) {
            (false, _) => Next::Blocked,
            (true, Some(time)) => Next::At(time),
            (true, None) => Next::Idle,
        }
    }

    /// Takes in frames that have been received; true if there were any.
    fn take_in(&mut self, now: Time) -> bool {
        let before = self.counters.received.packets;
        let Direction { receiver, port, pool, recorder, observer, counters, checksums, outbox, lateness, busy, blocked_since, .. } = self;
        let mut any = false;
        while counters.received.packets - before < BURST {
            let taken = receiver.receive(|received| {
                counters.frames += 1;
                counters.super_frames += u64::from(received.offload.segmentation != Segmentation::None);
                let DirectionCounters { received: volume, refused, .. } = &mut *counters;
                let refused_before = refused.total();
                ingress::packets(received, *checksums, pool, refused, |pool, header, Arrived { slot, length }| {
                    volume.add(length);
                    let frame = Frame { slot: slot.unwrap_or(Frame::NOWHERE), number: port.counters().offered.packets };
                    let flow = port.classifier().classify(header);
                    let mut watch = Watch { recorder, pool, observer };
                    port.offer(now, flow, length, Colour::of(header), frame, &mut watch);
                    // On an idle link the first packet of a burst starts before the next one is looked at, as in every other world; a link
                    // that the kernel blocks is not idle.
                    if blocked_since.is_none() && port.busy_until(now).is_none() {
                        start(port, now, &mut watch, outbox, lateness, busy);
                    }
                });
                let refused_now = refused.total();
                volume.packets += refused_now.packets - refused_before.packets;
                volume.bytes += refused_now.bytes - refused_before.bytes;
            });
            if !taken {
                break;
            }
            any = true;
        }
        any
    }

    /// Gives the kernel what it has room for; false if something is left.
    fn flush(&mut self, now: Time) -> bool {
        while !self.outbox.is_empty() {
            match self.transmitter.send(&self.pool, self.outbox.as_slices().0) {
                Ok(sent) => {
                    self.blocked_since = None;
                    for outgoing in self.outbox.drain(..sent) {
                        self.pool.release(outgoing.slot);
                        self.counters.delivered.add(outgoing.length);
                    }
                }
                Err(SendError::Busy) => {
                    let since = *self.blocked_since.get_or_insert(now);
                    if now.since(since) < PATIENCE {
                        return false;
                    }
                    self.blocked_since = None;
                    self.give_up(self.outbox.len(), SendError::Busy);
                }
                Err(SendError::Down) => self.give_up(self.outbox.len(), SendError::Down),
                Err(reason) => self.give_up(1, reason),
            }
        }
        true
    }

    #[cold]
    fn give_up(&mut self, frames: usize, reason: SendError) {
        let unsent = &mut self.counters.unsent;
        let volume = match reason {
            SendError::Busy => &mut unsent.no_room,
            SendError::Down => &mut unsent.interface_down,
            SendError::TooLong => &mut unsent.too_long,
            SendError::Rejected => &mut unsent.rejected,
        };
        for outgoing in self.outbox.drain(..frames) {
            self.pool.release(outgoing.slot);
            volume.add(outgoing.length);
        }
    }
}

/// Starts what is due up to `now` and returns when the port is to be asked again.
fn start<O: Observer<Frame>>(
    port: &mut Port<Frame>,
    now: Time,
    watch: &mut Watch<'_, O>,
    outbox: &mut VecDeque<Outgoing>,
    lateness: &mut Delays,
    busy: &mut u128,
) -> Option<Time> {
    port.advance(now, watch, |transmission| {
        lateness.record(now.since(transmission.start));
        *busy += u128::from(transmission.finish.since(transmission.start).picoseconds());
        outbox.push_back(Outgoing { slot: transmission.packet.payload.slot, length: transmission.packet.length });
    })
}

/// Watches the port: records, frees the frames that it drops, and lets the user's observer watch too.
struct Watch<'a, O> {
    recorder: &'a mut PortRecorder,
    pool: &'a mut FramePool,
    observer: &'a mut O,
}

impl<O: Observer<Frame>> Observer<Frame> for Watch<'_, O> {
    #[inline]
    fn offered(&mut self, now: Time, packet: &Packet<Frame>) {
        self.recorder.offered(now, packet);
        self.observer.offered(now, packet);
    }

    #[inline]
    fn marked(&mut self, now: Time, packet: &Packet<Frame>, from: Colour) {
        self.recorder.marked(now, packet, from);
        self.observer.marked(now, packet, from);
    }

    #[inline]
    fn queued(&mut self, now: Time, packet: &Packet<()>, occupancy: &Occupancy) {
        Observer::<Frame>::queued(self.recorder, now, packet, occupancy);
        self.observer.queued(now, packet, occupancy);
    }

    #[inline]
    fn dropped(&mut self, now: Time, packet: Packet<Frame>, reason: DropReason, occupancy: &Occupancy) {
        if packet.payload.slot != Frame::NOWHERE {
            self.pool.release(packet.payload.slot);
        }
        self.recorder.dropped(now, packet, reason, occupancy);
        self.observer.dropped(now, packet, reason, occupancy);
    }

    #[inline]
    fn sent(&mut self, now: Time, packet: &Packet<Frame>, finish: Time, occupancy: &Occupancy) {
        self.recorder.sent(now, packet, finish, occupancy);
        self.observer.sent(now, packet, finish, occupancy);
    }
}

#[cfg(test)]
mod tests;
