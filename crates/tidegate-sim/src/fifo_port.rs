//! A FIFO port that drops nothing it has let in: the departure of a packet is known on its arrival, and nothing in between takes an event.
//!
//! **Law.** It does to every packet what a [`Port`](tidegate_core::port::Port) with the same setup does, to the picosecond, and its meter ends up with
//! the same figures.
//!
//! **Source.** Lindley's recursion: a transmission starts at the packet's arrival or at the end of the transmission before, whichever is later.
//!
//! **State.** 24 bytes per packet that is queued or not counted yet, and the occupancy that the buffer manager reads.
//!
//! **Cost.** A comparison and an addition, and the limits of the buffer, which are compared with an upper bound of what is queued. Statistics follow for
//! [`BATCH`] packets at a time, so that a network of thousands of ports does not wait for the memory of each port's statistics at each packet.
//!
//! **RTL twin.** None.
//!
//! **Deviations.** What is counted is brought up to date when it is read, up to and including the present instant.

use crate::statistics::port::PortMeter;
use tidegate_core::buffer::{Admission, Arrival, BufferManager, TailDrop};
use tidegate_core::packet::{Colour, DropReason, Ecn, Flow, Part};
use tidegate_core::port::{Counters, PortSetup, Volume};
use tidegate_core::queue::{Backlog, Occupancy};
use tidegate_core::registry::{AnyBufferManager, AnyScheduler};
use tidegate_core::units::{Overhead, Time, TimePerByte};

/// Packets that are counted together, unless the queue is read before.
const BATCH: usize = 32;

/// The port.
#[derive(Clone, Debug)]
pub(crate) struct FifoPort {
    busy_until: u64,
    /// In order: packets that are counted (those before `sent` need no more), then those that wait for that.
    log: Vec<Logged>,
    rest: Box<Rest>,
}

/// A packet that the port has let in.
#[derive(Clone, Copy, Debug)]
struct Logged {
    arrival: u64,
    start: u64,
    length: u32,
    flow: Flow,
}

// What every packet needs comes first, in one cache line.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
struct Rest {
    link: TimePerByte,
    /// How many of the log are counted as arrived, and how many as transmitted.
    arrived: usize,
    sent: usize,
    bound: Bound,
    overhead: Overhead,
    longest_frame: u32,
    packet_limit: u32,
    buffer: TailDrop,
    occupancy: Occupancy,
    counters: Counters,
}

/// At least what is queued.
#[derive(Clone, Copy, Debug, Default)]
struct Bound {
    bytes: u64,
    packets: u32,
}

/// The same for the buffer manager, as if all of it were in one queue.
struct AtMost<'a>(Bound, &'a Occupancy);

impl Backlog for AtMost<'_> {
    fn packets(&self) -> u32 {
        self.0.packets
    }

    fn bytes(&self) -> u64 {
        self.0.bytes
    }

    fn flow_packets(&self, _flow: Flow) -> u32 {
        self.0.packets
    }

    fn flow_bytes(&self, _flow: Flow) -> u32 {
        self.0.bytes.min(u32::MAX.into()) as u32
    }

    fn waiting_since(&self, flow: Flow) -> Option<Time> {
        self.1.waiting_since(flow)
    }

    fn port(&self) -> &Occupancy {
        self.1
    }
}

impl FifoPort {
    /// The port of this setup, if it is first in, first out, with tail drop, without policers and without remarks.
    pub(crate) fn of(setup: &PortSetup) -> Option<FifoPort> {
        let AnyBufferManager::TailDrop(buffer) = &setup.buffer else { return None };
        let decides = setup.policers.iter().any(Option::is_some) || setup.aqms.iter().any(Option::is_some) || !setup.remarks.is_empty();
        if decides || !matches!(setup.scheduler, AnyScheduler::Fifo(_)) {
            return None;
        }
        let rest = Rest {
            link: setup.rate.time_per_byte(),
            arrived: 0,
            sent: 0,
            bound: Bound::default(),
            overhead: setup.overhead,
            longest_frame: setup.longest_frame,
            packet_limit: setup.packet_limit,
            buffer: buffer.clone(),
            occupancy: Occupancy::new(setup.classifier.flows()),
            counters: Counters::default(),
        };
        Some(FifoPort { busy_until: 0, log: Vec::new(), rest: Box::new(rest) })
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
        if self.log.len() - self.rest.arrived >= BATCH {
            self.count_until(now, meter);
        }
        let arrival = Arrival { ecn: Ecn::NotEct, flow, length, colour, part: Part::Whole, now: Time::from_picoseconds(now) };
        if !self.rest.fits(&arrival) {
            self.count_until(now, meter);
            if let Some(reason) = self.rest.refusal(&arrival) {
                let rest = &mut *self.rest;
                rest.counters.offered.add(length);
                rest.counters.dropped[reason as usize].add(length);
                meter.offered(flow, length);
                meter.dropped(now, flow, length, colour, reason, rest.occupancy.bytes());
                return Err(reason);
            }
        }
        let rest = &mut *self.rest;
        rest.bound.packets += 1;
        rest.bound.bytes += u64::from(length);
        let start = now.max(self.busy_until);
        self.busy_until = start + rest.time(length);
        self.log.push(Logged { arrival: now, start, length, flow });
        Ok((start, self.busy_until))
    }

    /// Counts everything up to and including `now`: in the order of the instants, transmissions that start before packets that arrive.
    #[inline(never)]
    fn count_until(&mut self, now: u64, meter: &mut PortMeter) {
        let FifoPort { log, rest, .. } = self;
        let mut run = Run { flow: Flow(0), length: 0, count: 0 };
        while let Some(&packet) = log.get(rest.arrived) {
            rest.send_until(packet.arrival, &log[..rest.arrived], meter);
            let Logged { arrival, start, length, flow } = packet;
            if start == arrival {
                // It found the port empty.
                if (run.flow, run.length) != (flow, length) {
                    rest.pass(&run, meter);
                    run = Run { flow, length, count: 0 };
                }
                run.count += 1;
                rest.sent += 1;
            } else {
                rest.counters.offered.add(length);
                rest.occupancy.join(flow, length);
                meter.offered(flow, length);
                meter.queued(arrival, flow, length);
            }
            rest.arrived += 1;
        }
        rest.pass(&run, meter);
        rest.send_until(now, log, meter);
        rest.bound = Bound { bytes: rest.occupancy.bytes(), packets: rest.occupancy.packets() };
        if rest.sent >= BATCH && 2 * rest.sent >= log.len() || rest.sent == log.len() {
            log.drain(..rest.sent);
            rest.arrived -= rest.sent;
            rest.sent = 0;
        }
    }

    /// When the transmission under way ends, or the latest did, as of the last count.
    fn transmits_until(&self) -> u64 {
        self.log.get(self.rest.sent).map_or(self.busy_until, |next| next.start)
    }

    /// Brings everything up to date, up to and including `now`.
    pub(crate) fn advance(&mut self, now: u64, meter: &mut PortMeter) {
        self.count_until(now, meter);
        meter.transmits_until(self.transmits_until());
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
        self.count_until(now, meter);
        self.rest.occupancy.bytes()
    }
}

/// Packets of one queue and length that found the port empty, one after the other.
#[derive(Clone, Copy, Debug)]
struct Run {
    flow: Flow,
    length: u32,
    count: u64,
}

impl Rest {
    /// How long a packet is transmitted, in picoseconds.
    #[inline]
    fn time(&self, length: u32) -> u64 {
        self.link.ceil(self.overhead.wire_length(length)).picoseconds()
    }

    /// True if a packet is certain to be let in, whatever of the packets before it has left.
    #[inline]
    fn fits(&mut self, arrival: &Arrival) -> bool {
        arrival.length <= self.longest_frame
            && self.bound.packets < self.packet_limit
            && matches!(self.buffer.admit(arrival, &AtMost(self.bound, &self.occupancy)), Admission::Accept)
    }

    /// Why a packet is dropped, if it is; what is queued has been counted.
    fn refusal(&mut self, arrival: &Arrival) -> Option<DropReason> {
        if arrival.length > self.longest_frame {
            return Some(DropReason::Oversize);
        }
        match self.buffer.admit(arrival, &self.occupancy) {
            Admission::Refuse(reason) => Some(reason),
            _ => (self.occupancy.packets() == self.packet_limit).then_some(DropReason::SharedLimit),
        }
    }

    /// Counts the transmissions that start up to and including `now`, of these packets, all of which are counted as arrived.
    fn send_until(&mut self, now: u64, packets: &[Logged], meter: &mut PortMeter) {
        while let Some(&Logged { arrival, start, length, flow }) = packets.get(self.sent).filter(|packet| packet.start <= now) {
            self.sent += 1;
            self.occupancy.leave(flow, length);
            self.counters.sent.add(length);
            meter.sent(start, flow, length, arrival, start + self.time(length));
        }
    }

    fn pass(&mut self, run: &Run, meter: &mut PortMeter) {
        let &Run { flow, length, count } = run;
        if count > 0 {
            let passed = Volume { packets: count, bytes: count * u64::from(length) };
            for volume in [&mut self.counters.offered, &mut self.counters.sent] {
                *volume += passed;
            }
            meter.passed(flow, length, passed, self.time(length));
        }
    }
}

#[cfg(test)]
mod tests;
