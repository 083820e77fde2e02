//! A port whose packets leave in the order in which they came, and which drops nothing that it has let in: when a packet leaves is known when it
//! comes, so nothing of what happens in between takes an event.
//!
//! **Law.** It does to every packet what a [`Port`](tidegate_core::port::Port) with the same setup does, to the picosecond, and its meter ends up with
//! the same figures.
//! **Source.** Lindley's recursion: a packet's transmission starts when it comes or when the one before it is done, whichever is later.
//! **State.** 24 bytes per queued packet; what the port's buffer manager looks at.
//! **Cost.** A packet that finds the port empty, and is like the one before it, costs two comparisons and two additions: it is counted with its likes.
//! **RTL twin.** None.
//! **Deviations.** The queue is brought up to date when somebody looks at it, up to and including the present instant.

use crate::statistics::port::PortMeter;
use std::collections::VecDeque;
use tidegate_core::buffer::{Admission, Arrival, BufferManager, TailDrop};
use tidegate_core::packet::{Colour, DropReason, Flow, Part};
use tidegate_core::port::{Counters, PortSetup, Volume};
use tidegate_core::queue::Occupancy;
use tidegate_core::registry::{AnyBufferManager, AnyScheduler};
use tidegate_core::units::{Overhead, Time, TimePerByte};

/// The port: what a packet needs that finds it empty, and is like the one before.
#[derive(Clone, Debug)]
pub(crate) struct FifoPort {
    /// When all that was let in has been transmitted.
    busy_until: u64,
    /// The queue and length of the packets that found the port empty, one after the other; no packet's once one has had to wait.
    flow: Flow,
    length: u32,
    /// How long each of them is on the link, in picoseconds, and how many they are.
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

/// A packet that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    start: u64,
    arrival: u64,
    length: u32,
    flow: Flow,
}

const NO_FLOW: Flow = Flow(u32::MAX);

impl FifoPort {
    /// The port of this setup, if it can be one of this kind: first in, first out, tail drop, no policers, no remarks.
    pub(crate) fn of(setup: &PortSetup) -> Option<FifoPort> {
        let AnyBufferManager::TailDrop(buffer) = &setup.buffer else { return None };
        let rewrites = setup.policers.iter().any(Option::is_some) || !setup.remarks.is_empty();
        if rewrites || !matches!(setup.scheduler, AnyScheduler::Fifo(_)) {
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

    /// A packet comes. When its transmission starts and ends, or why it is dropped.
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
        let arrival = Arrival { flow, length, colour, part: Part::Whole, now: Time::from_picoseconds(now) };
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

    /// Lets go of what has been waiting and whose transmission starts up to and including `now`.
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

    /// Counts what has passed through the empty port.
    #[inline]
    fn count_passed(&mut self, meter: &mut PortMeter) {
        if self.count > 0 {
            let passed = Volume { packets: self.count, bytes: self.count * u64::from(self.length) };
            let counters = &mut self.rest.counters;
            for volume in [&mut counters.offered, &mut counters.sent] {
                volume.packets += passed.packets;
                volume.bytes += passed.bytes;
            }
            meter.passed(self.flow, self.length, passed, self.time);
        }
        (self.flow, self.count) = (NO_FLOW, 0);
    }

    /// Brings everything up to date: all that happens up to and including `now`.
    pub(crate) fn advance(&mut self, now: u64, meter: &mut PortMeter) {
        self.drain_until(now, meter);
        self.count_passed(meter);
        // When the transmission under way ends, or the latest did.
        meter.transmits_until(self.rest.waiting.front().map_or(self.busy_until, |next| next.start));
    }

    /// What has become of everything that came, and what waits: as of the last [`FifoPort::advance`].
    pub(crate) fn accounts(&self) -> (Counters, Volume) {
        let Rest { occupancy, counters, .. } = &*self.rest;
        (*counters, Volume { packets: u64::from(occupancy.packets()), bytes: occupancy.bytes() })
    }

    /// Bytes that wait at `now`.
    pub(crate) fn backlog(&mut self, now: u64, meter: &mut PortMeter) -> u64 {
        self.drain_until(now, meter);
        self.rest.occupancy.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::port::PortStatistics;
    use proptest::prelude::*;
    use tidegate_core::buffer::{BufferParameters, FlowLimit};
    use tidegate_core::classifier::{ClassRules, Classifier, Rule};
    use tidegate_core::port::Port;
    use tidegate_core::registry::{BufferKind, SchedulerKind};
    use tidegate_core::scheduler::{FlowParameters, Setup};
    use tidegate_core::units::Rate;

    /// Classes of one and of two queues at 8 Gbit/s, a nanosecond per byte.
    fn setup(overhead: Overhead, packet_limit: u32, bytes: Option<u64>, flow: FlowLimit) -> PortSetup {
        let rate = Rate::new(8_000_000_000).unwrap();
        let class = |name: &str, queues, rules| ClassRules { name: name.into(), queues, rules };
        let classes = vec![class("one", 1, vec![Rule { vlan: Some(1), ..Rule::default() }]), class("two", 2, vec![])];
        let buffer = BufferParameters { flows: 3, bytes, flow, ..BufferParameters::default() };
        PortSetup {
            rate,
            overhead,
            classifier: Classifier::new(classes, 1).unwrap(),
            policers: vec![None, None],
            buffer: BufferKind::TailDrop.build(&buffer).unwrap(),
            scheduler: SchedulerKind::Fifo.build(&Setup::new(rate, 1000), &[FlowParameters::default(); 3]).unwrap(),
            packet_limit,
            longest_frame: 90,
            remarks: Default::default(),
        }
    }

    /// What was transmitted from when to when, and the statistics.
    type Played = (Vec<(u64, u64)>, PortStatistics);

    /// The warm-up ends before the packet of this number; the end comes `rest` after the last packet.
    struct Course<'a> {
        packets: &'a [(u64, u32, u32)],
        warm_up: usize,
        rest: u64,
    }

    const SAMPLES: u64 = 100_000;

    fn on_a_port(setup: PortSetup, course: &Course) -> Played {
        let mut meter = PortMeter::new(&setup.classifier, SAMPLES);
        let mut port = Port::new(Time::ZERO, setup);
        let (mut now, mut times) = (0, Vec::new());
        let queued = |port: &Port<()>| Volume { packets: u64::from(port.occupancy().packets()), bytes: port.occupancy().bytes() };
        for (number, &(gap, flow, length)) in course.packets.iter().enumerate() {
            let mut note = |sent: tidegate_core::port::Transmission<()>| times.push((sent.start.picoseconds(), sent.finish.picoseconds()));
            now += gap;
            if number == course.warm_up && now > 0 {
                port.advance(Time::from_picoseconds(now - 1), &mut meter, &mut note);
                meter.restart(now, port.counters(), queued(&port));
            }
            let at = Time::from_picoseconds(now);
            port.advance(at, &mut meter, &mut note);
            port.offer(at, Flow(flow), length, Colour::Green, (), &mut meter);
            port.advance(at, &mut meter, &mut note);
        }
        let end = now + course.rest;
        port.advance(Time::from_picoseconds(end - 1), &mut meter, |sent| {
            times.push((sent.start.picoseconds(), sent.finish.picoseconds()));
        });
        (times, meter.finish(end, port.counters(), queued(&port)))
    }

    fn on_a_lane(setup: &PortSetup, course: &Course) -> Played {
        let mut meter = PortMeter::new(&setup.classifier, SAMPLES);
        let mut port = FifoPort::of(setup).unwrap();
        let (mut now, mut times) = (0, Vec::new());
        for (number, &(gap, flow, length)) in course.packets.iter().enumerate() {
            now += gap;
            if number == course.warm_up && now > 0 {
                port.advance(now - 1, &mut meter);
                let (counters, queued) = port.accounts();
                meter.restart(now, &counters, queued);
            }
            times.extend(port.enqueue(now, Flow(flow), length, Colour::Green, &mut meter));
        }
        let end = now + course.rest;
        port.advance(end - 1, &mut meter);
        let (counters, queued) = port.accounts();
        counters.check(queued).unwrap();
        (times.into_iter().filter(|time| time.0 < end).collect(), meter.finish(end, &counters, queued))
    }

    proptest! {
        #[test]
        fn it_does_what_a_port_does(
            // Gaps of none, of exactly a packet's time, and others; often the same queue and length as before.
            packets in prop::collection::vec(
                (
                    prop_oneof![Just(0), Just(50_000), Just(53_000), 1u64..40_000, 100_000u64..300_000],
                    prop_oneof![2 => Just(0), 1 => 0u32..3],
                    prop_oneof![4 => Just(50u32), 1 => 1u32..100],
                ),
                1..200,
            ),
            overhead in prop_oneof![Just(Overhead::None), Just(Overhead::per_packet(3)), Just(Overhead::ETHERNET), Just(Overhead::Aal5)],
            packet_limit in 1u32..9,
            bytes in prop::option::of(40u64..300),
            flow_packets in prop::option::of(1u32..4),
            warm_up in 0usize..100,
            rest in 1u64..400_000,
        ) {
            let setup = setup(overhead, packet_limit, bytes, FlowLimit { packets: flow_packets, bytes: None });
            let course = Course { packets: &packets, warm_up, rest };
            prop_assert_eq!(on_a_lane(&setup, &course), on_a_port(setup.clone(), &course));
        }
    }

    #[test]
    fn what_takes_a_place_later_or_policing_is_no_lane() {
        let plain = setup(Overhead::None, 9, None, FlowLimit::default());
        assert!(FifoPort::of(&plain).is_some());
        let limits = BufferParameters { flows: 3, packets: Some(9), ..BufferParameters::default() };
        let buffer = BufferKind::LongestQueuePushOut.build(&limits).unwrap();
        assert!(FifoPort::of(&PortSetup { buffer, ..plain.clone() }).is_none());
        let priority = [FlowParameters { priority: Some(0), ..FlowParameters::default() }; 3];
        let scheduler = SchedulerKind::StrictPriority.build(&Setup::new(plain.rate, 1000), &priority).unwrap();
        assert!(FifoPort::of(&PortSetup { scheduler, ..plain.clone() }).is_none());
    }
}
