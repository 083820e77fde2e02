//! The incoming side puts received frames into the rings of their streams, and counts what became of them.

use super::replay_scheduler::ReplayScheduler;
use super::reports::{Flags, Report};
use crate::counters::DirectionCounters;
use crate::direction_loop::{DirectionReport, Next};
use crate::ingress::{self, Arrived, Checksums, Refusal};
use crate::io::Receive;
use crate::outbox;
use crate::pool::{FramePool, Lent};
use crate::record::DirectionRecord;
use crate::watch::{Frame, Watch, ecn_of, remark};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tidegate_core::aqm::Judgement;
use tidegate_core::observer::Observer;
use tidegate_core::packet::{Colour, Packet, Part};
use tidegate_core::port::{Next as PortNext, Port, Volume};
use tidegate_core::scheduler::Decision;
use tidegate_core::units::{Duration, Time};
use tidegate_endsystem::{Disposition, Grain, Producer};
use tidegate_statistics::Delays;

/// How often reports are read while frames are held: the record is late by at most this, and so is the return of memory.
const SETTLE_INTERVAL: Duration = Duration::from_milliseconds(1);

/// Polices and admits received frames, and counts what became of them.
pub(crate) struct Intake<R, O> {
    pub(super) receiver: R,
    pub(super) port: Port<Frame, ReplayScheduler>,
    pub(super) pool: FramePool,
    pub(super) record: DirectionRecord,
    pub(super) observer: O,
    pub(super) checksums: Checksums,
    pub(super) batch: u32,
    pub(super) grain: Grain,
    /// The capacity of a ring in frames.
    pub(super) ring: u32,
    /// `None` once no more frames will be received.
    pub(super) producer: Option<Producer<Lent>>,
    pub(super) reports: rtrb::Consumer<Report>,
    pub(super) flags: Arc<Flags>,
    pub(super) counters: DirectionCounters,
    pub(super) lateness: Delays,
    pub(super) busy: u128,
}

impl<R: Receive, O: Observer<Frame>> Intake<R, O> {
    /// Takes in received frames, if `reading`, and reads the reports about frames that have left.
    pub(super) fn poll(&mut self, now: Time, reading: bool) -> Next {
        self.settle();
        if reading && self.take_in(self.grain.floor(now)) {
            Next::Again
        } else if self.port.occupancy().packets() > 0 || self.counters.in_flight.packets > 0 {
            Next::At(now + SETTLE_INTERVAL)
        } else {
            Next::Idle
        }
    }

    pub(super) fn maintain(&mut self, now: Time) -> bool {
        let (receiving, sending) = (self.receiver.maintain(), self.flags.sending.load(Ordering::Relaxed));
        let changed = self.counters.update_interfaces(receiving, sending);
        self.counters.kernel = self.receiver.kernel_counters();
        self.counters.forgone = Duration::from_picoseconds(self.flags.forgone.load(Ordering::Relaxed));
        self.record.maintain(now);
        changed
    }

    pub(crate) fn counters(&self) -> DirectionCounters {
        let occupancy = self.port.occupancy();
        let queued = Volume { packets: u64::from(occupancy.packets()), bytes: occupancy.bytes() };
        DirectionCounters { port: *self.port.counters(), queued, ..self.counters }
    }

    /// Takes in received frames; true if there were any. `now` is a whole number of grains.
    fn take_in(&mut self, now: Time) -> bool {
        let Intake { receiver, port, pool, record, observer, counters, checksums, batch, ring, producer, .. } = self;
        let Some(producer) = producer else { return false };
        let mut without_fields = 0;
        let any = ingress::take_in(receiver, *checksums, *batch, pool, counters, |pool, header, Arrived { slot, length }| {
            let (flow, rule) = port.classifier().classify_by(header);
            // A frame leaves the port's queue no earlier than its ring, so room in the queue means room in the ring.
            if port.occupancy().flow_packets(flow) >= *ring {
                return Err(Refusal::NoMemory);
            }
            let frame = Frame::new(slot, port.counters().offered.packets);
            record.came(header, (flow, rule), length);
            let mut watch = Watch::new(record, pool, observer);
            let ecn = ecn_of(port, header);
            port.offer_packet(
                Packet { flow, length, arrival: now, colour: Colour::of(header), part: Part::Whole, ecn, payload: frame },
                &mut watch,
            );
            if let Some((colour, ecn)) = watch.queued() {
                let slot = frame.slot();
                without_fields += u64::from(!remark(port, flow, colour, pool.packet_mut(slot, length)));
                if producer.offer_markable(flow, now, length, colour, ecn, pool.lend(slot)).is_err() {
                    unreachable!("the ring of a flow holds more than its queue");
                }
            }
            Ok(())
        });
        counters.without_fields += without_fields;
        producer.flush();
        any
    }

    /// Replays the engine's decisions at the port, and counts the outcomes of sent frames.
    fn settle(&mut self) {
        let Intake { port, pool, record, observer, reports, counters, lateness, busy, .. } = self;
        while let Ok(report) = reports.pop() {
            match report {
                Report::Decided { stream, slot, length, disposition, at } => {
                    let (decision, judgement) = match disposition {
                        Disposition::Sent => (Decision::Serve(stream), Judgement::Pass),
                        Disposition::Marked => (Decision::Serve(stream), Judgement::Mark),
                        Disposition::Congested => (Decision::Serve(stream), Judgement::Drop),
                        Disposition::Late => (Decision::Discard(stream), Judgement::Pass),
                    };
                    port.scheduler_mut().set_next(decision);
                    port.judge_next(judgement);
                    // A frame may be discarded while another is on the link; the port decides once the link is free.
                    let at = at.later(port.busy_until(at).unwrap_or(at));
                    if let PortNext::Transmit(sent) = port.poll(at, &mut Watch::replaying(record, pool, observer)) {
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
                Report::Copied { length, outcome } => {
                    counters.duplicated.add(length);
                    outbox::count(outcome, length, &mut counters.delivered, &mut counters.unsent, lateness);
                }
            }
        }
    }

    /// Lets the engine and the outlet end when they have nothing left to do.
    pub(super) fn close(&mut self) {
        self.producer = None;
    }

    /// Ends it. `queued` is the content of the rings, which stays counted as queued.
    pub(super) fn finish(mut self, now: Time, queued: Volume) -> DirectionReport<O> {
        self.settle();
        self.maintain(now);
        let counters = DirectionCounters { queued, ..self.counters() };
        DirectionReport {
            counters,
            recorder: self.record.port,
            lateness: self.lateness,
            busy: self.busy,
            observer: self.observer,
            engine: None,
            changes: Vec::new(),
            worker: None,
        }
    }
}
