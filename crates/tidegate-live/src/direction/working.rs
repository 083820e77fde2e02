//! A direction that is one of several workers.

use super::{Direction, Offering};
use crate::direction_loop::Next;
use crate::io::{Receive, Transmit};
use crate::packet::ReceiveRing;
use crate::watch::StageObserver;
use crate::workers::Worker;
use tidegate_core::exchange::WorkerMeter;
use tidegate_core::units::{Duration, Time};

/// How often a worker that has nothing left looks whether the others still receive.
const END_INTERVAL: Duration = Duration::from_milliseconds(1);

impl<T, O> Direction<ReceiveRing, T, O> {
    /// The workers of the direction are complete: frames may come.
    pub(crate) fn let_in(&self) -> std::io::Result<()> {
        self.receiver.let_in()
    }
}

impl<R: Receive, T: Transmit, O: StageObserver> Direction<R, T, O> {
    /// Makes it one of several workers; its port is new.
    pub(crate) fn work(&mut self, now: Time, worker: Worker, meter: WorkerMeter) {
        let (mut worker, mut meter) = (Box::new(worker), Box::new(meter));
        worker.begin_rates(now, &mut meter, &mut self.port);
        (self.worker, self.record.meter) = (Some(worker), Some(meter));
    }

    /// As [`DirectionLoop::poll`](crate::direction_loop::DirectionLoop::poll).
    pub(super) fn poll_as_worker(&mut self, now: Time, reading: bool) -> Next {
        let Direction { worker: Some(worker), pool, .. } = self else { return Next::Idle };
        worker.begin(pool);
        if !reading {
            worker.stop_receiving();
        }
        let change = self.changes.next().filter(|_| reading);
        if change.is_some_and(|at| !at.is_after(now)) {
            self.change(now);
        }
        self.follow_rates(now, false);
        let next = self.start_due(now);
        let passed_in = self.take_passed(now);
        if (reading && self.take_in(now)) || passed_in {
            self.worker.iter_mut().for_each(|worker| worker.wake_others());
            return if self.start_due(now) == Next::Blocked { Next::Blocked } else { Next::Again };
        }
        self.follow_rates(now, true);
        let is_backlogged = self.port.occupancy().packets() > 0;
        let change = self.changes.next().filter(|_| reading);
        let Some(worker) = &mut self.worker else { return next };
        let next = match next {
            // While packets wait, its rate follows the others.
            Next::At(time) if is_backlogged => Next::At(time.earlier(worker.next_report())),
            Next::Idle if !reading && worker.is_supplied() => Next::At(now + END_INTERVAL),
            next => next,
        };
        let next = match (next, change) {
            (Next::At(time), Some(at)) => Next::At(time.earlier(at)),
            (Next::Idle, Some(at)) => Next::At(at),
            (next, _) => next,
        };
        if worker.may_wait() { next } else { Next::Again }
    }

    /// Reports if that is due, and brings the port to the rates that are granted.
    pub(super) fn follow_rates(&mut self, now: Time, waits: bool) {
        let (counters, occupancy) = (self.port.counters(), self.port.occupancy());
        let packets = [counters.offered.packets, counters.sent.packets, occupancy.packets().into()];
        if let (Some(worker), Some(meter)) = (&mut self.worker, &mut self.record.meter) {
            worker.follow_rates(now, packets, meter, &mut self.port, waits);
        }
    }

    /// Takes the packets that other workers have passed on; true if there were any.
    fn take_passed(&mut self, now: Time) -> bool {
        let Direction { port, pool, record, observer, counters, ack_filter, batch, outbox, busy, worker: Some(worker), .. } = self else {
            return false;
        };
        let mut offering = Offering { now, port, record, observer, ack_filter: *ack_filter, outbox, busy, without_fields: 0 };
        let mut any = false;
        let (rings, volume) = worker.incoming();
        for ring in rings {
            any |= ring.take(*batch, pool, volume, &mut counters.refused.no_memory, |pool, header, (found, switches), arrived| {
                // Flows and rules have other numbers after a change.
                let is_current = switches == offering.port.switches();
                let found = if is_current { found } else { offering.port.classifier().classify_by(header) };
                offering.offer(pool, header, found, arrived, [0; 2]);
            });
        }
        counters.without_fields += offering.without_fields;
        any
    }
}
