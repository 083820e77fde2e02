//! The incoming side: from received frames to the rings of their streams, and the account of what became of them.

use super::{Flags, Follower, Outlet, Report};
use crate::counters::DirectionCounters;
use crate::direction::{Carry, Next, Remains};
use crate::ingress::{self, Arrived, Checksums, NoMemory};
use crate::io::{Receive, Transmit};
use crate::outbox;
use crate::pool::{FramePool, Lent};
use crate::watch::{Frame, Watch, remark};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::ScopedJoinHandle;
use tidegate_core::observer::Observer;
use tidegate_core::packet::Colour;
use tidegate_core::port::{Next as PortNext, Port, Volume};
use tidegate_core::scheduler::Decision;
use tidegate_core::units::{Duration, Time};
use tidegate_endsystem::{EngineCounters, Fate, Grain, Producer, Transfers};
use tidegate_statistics::{Delays, PortRecorder};

/// How often what became of frames is looked at while any are held: the record is behind by at most this, and memory comes back as late.
const SETTLE: Duration = Duration::from_milliseconds(1);

/// Polices and admits what is received, and keeps the account.
pub(crate) struct Intake<R, O> {
    pub(super) receiver: R,
    pub(super) port: Port<Frame, Follower>,
    pub(super) pool: FramePool,
    pub(super) recorder: PortRecorder,
    pub(super) observer: O,
    pub(super) checksums: Checksums,
    pub(super) grain: Grain,
    /// The frames that a ring holds.
    pub(super) ring: u32,
    /// `None` when nothing will be received any more.
    pub(super) producer: Option<Producer<Lent>>,
    pub(super) reports: rtrb::Consumer<Report>,
    pub(super) flags: Arc<Flags>,
    pub(super) counters: DirectionCounters,
    pub(super) lateness: Delays,
    pub(super) busy: u128,
}

impl<R: Receive, O: Observer<Frame>> Intake<R, O> {
    /// Takes in what has been received, if `reading`, and settles what has left.
    pub(super) fn turn(&mut self, now: Time, reading: bool) -> Next {
        self.settle();
        if reading && self.take_in(self.grain.floor(now)) {
            Next::Again
        } else if self.port.occupancy().packets() > 0 || self.counters.in_flight.packets > 0 {
            Next::At(now + SETTLE)
        } else {
            Next::Idle
        }
    }

    pub(super) fn attend(&mut self, now: Time) -> bool {
        let (receiving, sending) = (self.receiver.attend(), self.flags.sending.load(Ordering::Relaxed));
        let changed = self.counters.note(receiving, sending);
        self.counters.kernel = self.receiver.kernel_counters();
        self.counters.forgone = Duration::from_picoseconds(self.flags.forgone.load(Ordering::Relaxed));
        self.recorder.advance(now);
        changed
    }

    pub(crate) fn counters(&self) -> DirectionCounters {
        let occupancy = self.port.occupancy();
        let queued = Volume { packets: u64::from(occupancy.packets()), bytes: occupancy.bytes() };
        DirectionCounters { port: *self.port.counters(), queued, ..self.counters }
    }

    pub(crate) fn recorder(&self) -> &PortRecorder {
        &self.recorder
    }

    /// Takes in frames that have been received; true if there were any. `now` is an instant of the end system.
    fn take_in(&mut self, now: Time) -> bool {
        let Intake { receiver, port, pool, recorder, observer, counters, checksums, ring, producer, .. } = self;
        let Some(producer) = producer else { return false };
        let mut without_fields = 0;
        let any = ingress::take_in(receiver, *checksums, pool, counters, |pool, header, Arrived { slot, length }| {
            let flow = port.classifier().classify(header);
            // The port's queue loses a frame no earlier than the ring: if there is room here, there is room there.
            if port.occupancy().flow_packets(flow) >= *ring {
                return Err(NoMemory);
            }
            let frame = Frame::new(slot, port.counters().offered.packets);
            let mut watch = Watch::new(recorder, pool, observer);
            port.offer(now, flow, length, Colour::of(header), frame, &mut watch);
            if let Some(colour) = watch.queued() {
                let slot = frame.slot();
                without_fields += u64::from(!remark(port, flow, colour, pool.packet_mut(slot, length)));
                if producer.offer(flow, now, length, colour, pool.lend(slot)).is_err() {
                    unreachable!("the ring of a flow holds more than its queue");
                }
            }
            Ok(())
        });
        counters.without_fields += without_fields;
        producer.flush();
        any
    }

    /// Repeats at the port what was decided elsewhere, and counts what has become of what it sent.
    fn settle(&mut self) {
        let Intake { port, pool, recorder, observer, reports, counters, lateness, busy, .. } = self;
        while let Ok(report) = reports.pop() {
            match report {
                Report::Decided { stream, slot, length, fate, at } => {
                    port.scheduler_mut().tell(match fate {
                        Fate::Sent => Decision::Serve(stream),
                        Fate::Late => Decision::Discard(stream),
                    });
                    // A frame may be discarded while another is on the link; the port looks at it when the link is free.
                    let at = at.later(port.busy_until(at).unwrap_or(at));
                    if let PortNext::Transmit(sent) = port.poll(at, &mut Watch::new(recorder, pool, observer)) {
                        debug_assert_eq!((sent.packet.payload.slot(), sent.packet.length), (slot, length));
                        *busy += u128::from(sent.finish.since(sent.start).picoseconds());
                        counters.in_flight.add(length);
                    }
                }
                Report::Back { lent, sent } => {
                    let slot = lent.slot();
                    pool.take_back(lent);
                    if let Some((length, outcome)) = sent {
                        pool.release(slot);
                        counters.in_flight.packets -= 1;
                        counters.in_flight.bytes -= u64::from(length);
                        outbox::count(outcome, length, &mut counters.delivered, &mut counters.unsent, lateness);
                    }
                }
            }
        }
    }

    /// Lets the parts behind it end when they have nothing left to do.
    pub(super) fn close(&mut self) {
        self.producer = None;
    }

    /// Ends it. `queued` is what was found in the rings, and stays counted as queued.
    pub(super) fn finish(mut self, now: Time, queued: Volume) -> Remains<O> {
        self.settle();
        self.attend(now);
        let counters = DirectionCounters { queued, ..self.counters() };
        Remains { counters, recorder: self.recorder, lateness: self.lateness, busy: self.busy, observer: self.observer, engine: None }
    }
}

/// An intake, and the threads of the two other parts.
pub(crate) struct Split<'scope, R, T, O> {
    pub(crate) intake: Intake<R, O>,
    pub(crate) engine: ScopedJoinHandle<'scope, EngineCounters>,
    pub(crate) outlet: ScopedJoinHandle<'scope, Outlet<T>>,
}

/// What an engine in a thread of its own has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EngineRecord {
    /// Decisions, and the arrivals they were made from.
    pub engine: EngineCounters,
    /// Winners as they came to the Transmission Engine.
    pub winners: Transfers,
}

impl<R: Receive, T: Transmit, O: Observer<Frame>> Carry<O> for Split<'_, R, T, O> {
    fn turn(&mut self, now: Time, reading: bool) -> Next {
        self.intake.turn(now, reading)
    }

    fn attend(&mut self, now: Time) -> bool {
        self.intake.attend(now)
    }

    fn counters(&self) -> DirectionCounters {
        self.intake.counters()
    }

    fn recorder(&self) -> &PortRecorder {
        &self.intake.recorder
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.intake.receiver.descriptor()
    }

    fn is_broken(&self) -> bool {
        self.engine.is_finished() || self.outlet.is_finished()
    }

    fn finish(mut self, now: Time) -> Remains<O> {
        self.intake.close();
        self.intake.flags.halt.store(true, Ordering::Relaxed);
        self.engine.thread().unpark();
        self.outlet.thread().unpark();
        // A panic in a part is a defect: it goes on in the caller.
        let engine = self.engine.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let mut outlet = self.outlet.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let remains = self.intake.finish(now, outlet.queued());
        Remains { engine: Some(EngineRecord { engine, winners: outlet.winners() }), ..remains }
    }
}
