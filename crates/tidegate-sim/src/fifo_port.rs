//! A FIFO port that drops nothing it has let in: the departure of a packet is known on its arrival, and nothing in between takes an event.
//!
//! **Law.** It does to every packet what a [`Port`](tidegate_core::port::Port) with the same setup does, to the picosecond, and its meter ends up with
//! the same figures.
//!
//! **Source.** Lindley's recursion: a transmission starts at the packet's arrival or at the end of the transmission before, whichever is later.
//!
//! **State.** 24 bytes per queued packet, and the occupancy that the buffer manager reads.
//!
//! **Cost.** Two comparisons and two additions for a packet that finds the port empty and resembles the one before: such packets are counted together.
//!
//! **RTL twin.** None.
//!
//! **Deviations.** The queue is brought up to date when it is read, up to and including the present instant.

use crate::statistics::port::PortMeter;
use std::collections::VecDeque;
use tidegate_core::buffer::{Admission, Arrival, BufferManager, TailDrop};
use tidegate_core::packet::{Colour, DropReason, Ecn, Flow, Part};
use tidegate_core::port::{Counters, PortSetup, Volume};
use tidegate_core::queue::Occupancy;
use tidegate_core::registry::{AnyBufferManager, AnyScheduler};
use tidegate_core::units::{Overhead, Time, TimePerByte};

/// The port: what is needed of it by a packet that finds it empty and resembles the one before.
#[derive(Clone, Debug)]
pub(crate) struct FifoPort {
    busy_until: u64,
    /// The queue and length of the latest packets that found the port empty; [`NO_FLOW`] after a packet that had to wait.
    flow: Flow,
    length: u32,
    /// The transmission time of each in picoseconds, and their number.
    time: u64,
    count: u64,
    rest: Box<Rest>,
}

#[derive(Clone, Debug)]
struct Rest {
    waiting: VecDeque<Waiting>,
    link: TimePerByte,
    overhead: Overhead,
    longest_frame: u32,
    packet_limit: u32,
    buffer: TailDrop,
    occupancy: Occupancy,
    counters: Counters,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    start: u64,
    arrival: u64,
    length: u32,
    flow: Flow,
}

/// The flow of no packet.
const NO_FLOW: Flow = Flow(u32::MAX);

impl FifoPort {
    /// The port of this setup, if it is first in, first out, with tail drop, without policers and without remarks.
    pub(crate) fn of(setup: &PortSetup) -> Option<FifoPort> {
        let AnyBufferManager::TailDrop(buffer) = &setup.buffer else { return None };
        let decides = setup.policers.iter().any(Option::is_some) || setup.aqms.iter().any(Option::is_some) || !setup.remarks.is_empty();
        if decides || !matches!(setup.scheduler, AnyScheduler::Fifo(_)) {
            return None;
        }
        let rest = Rest {
            waiting: VecDeque::new(),
            link: setup.rate.time_per_byte(),
            overhead: setup.overhead,
            longest_frame: setup.longest_frame,
            packet_limit: setup.packet_limit,
            buffer: buffer.clone(),
            occupancy: Occupancy::new(setup.classifier.flows()),
            counters: Counters::default(),
        };
        Some(FifoPort { busy_until: 0, flow: NO_FLOW, length: 0, time: 0, count: 0, rest: Box::new(rest) })
    }

    /// A packet arrives. Returns the start and end of its transmission, or why it is dropped.
    #[inline]
    pub(crate) fn enqueue(
        &mut self,
        now: u64,
        flow: Flow,
        length: u32,
        colour: Colour,
        meter: &mut PortMeter,
    ) -> Result<(u64, u64), DropReason> {
        if self.busy_until <= now && self.flow == flow && self.length == length {
            self.count += 1;
            self.busy_until = now + self.time;
            return Ok((now, self.busy_until));
        }
        self.enter(now, flow, length, colour, meter)
    }

    fn enter(&mut self, now: u64, flow: Flow, length: u32, colour: Colour, meter: &mut PortMeter) -> Result<(u64, u64), DropReason> {
        self.drain_until(now, meter);
        let rest = &mut *self.rest;
        let arrival = Arrival { ecn: Ecn::NotEct, flow, length, colour, part: Part::Whole, now: Time::from_picoseconds(now) };
        let refusal = if length > rest.longest_frame {
            Some(DropReason::Oversize)
        } else {
            match rest.buffer.admit(&arrival, &rest.occupancy) {
                Admission::Refuse(reason) => Some(reason),
                _ => (rest.occupancy.packets() == rest.packet_limit).then_some(DropReason::SharedLimit),
            }
        };
        if let Some(reason) = refusal {
            rest.counters.offered.add(length);
            rest.counters.dropped[reason as usize].add(length);
            meter.offered(flow, length);
            meter.dropped(now, flow, length, colour, reason, rest.occupancy.bytes());
            return Err(reason);
        }
        let time = rest.link.ceil(rest.overhead.wire_length(length)).picoseconds();
        if self.busy_until <= now {
            self.count_passed(meter);
            (self.flow, self.length, self.time, self.count) = (flow, length, time, 1);
            self.busy_until = now + time;
            return Ok((now, self.busy_until));
        }
        rest.counters.offered.add(length);
        rest.occupancy.join(flow, length);
        meter.offered(flow, length);
        meter.queued(now, flow, length);
        let start = self.busy_until;
        rest.waiting.push_back(Waiting { start, arrival: now, length, flow });
        self.busy_until += time;
        self.count_passed(meter);
        Ok((start, self.busy_until))
    }

    /// Removes the packets whose transmission starts up to and including `now`.
    #[inline]
    fn drain_until(&mut self, now: u64, meter: &mut PortMeter) {
        let Rest { waiting, occupancy, counters, .. } = &mut *self.rest;
        while let Some(&Waiting { start, arrival, length, flow }) = waiting.front()
            && start <= now
        {
            waiting.pop_front();
            occupancy.leave(flow, length);
            counters.sent.add(length);
            let finish = waiting.front().map_or(self.busy_until, |next| next.start);
            meter.sent(start, flow, length, arrival, finish);
        }
    }

    /// Counts the packets that have passed through the empty port.
    #[inline]
    fn count_passed(&mut self, meter: &mut PortMeter) {
        if self.count > 0 {
            let passed = Volume { packets: self.count, bytes: self.count * u64::from(self.length) };
            let counters = &mut self.rest.counters;
            for volume in [&mut counters.offered, &mut counters.sent] {
                *volume += passed;
            }
            meter.passed(self.flow, self.length, passed, self.time);
        }
        (self.flow, self.count) = (NO_FLOW, 0);
    }

    /// Brings everything up to date, up to and including `now`.
    pub(crate) fn advance(&mut self, now: u64, meter: &mut PortMeter) {
        self.drain_until(now, meter);
        self.count_passed(meter);
        meter.transmits_until(self.rest.waiting.front().map_or(self.busy_until, |next| next.start));
    }

    /// Everything counted, and what waits, as of the last [`FifoPort::advance`].
    pub(crate) fn accounts(&self) -> (Counters, Volume) {
        let Rest { occupancy, counters, .. } = &*self.rest;
        (*counters, Volume { packets: u64::from(occupancy.packets()), bytes: occupancy.bytes() })
    }

    /// When all packets that have arrived so far are transmitted.
    pub(crate) fn busy_until(&self) -> u64 {
        self.busy_until
    }

    pub(crate) fn backlog(&mut self, now: u64, meter: &mut PortMeter) -> u64 {
        self.drain_until(now, meter);
        self.rest.occupancy.bytes()
    }
}

#[cfg(test)]
mod tests;
