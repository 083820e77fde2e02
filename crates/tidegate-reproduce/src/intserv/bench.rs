//! One output port of the node under streams of packets, without a network around it.
//!
//! Packets have 1 kbit and the link 10 Mbit/s, so a transmission takes 0.1 ms. A port in tandem gets the departures of the one before.

use super::packets::PACKET;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tidegate_core::observer::Observer;
use tidegate_core::packet::{Colour, DropReason, Flow, Packet};
use tidegate_core::port::{Port, PortSetup};
use tidegate_core::queue::Occupancy;
use tidegate_core::units::Time;
use tidegate_sim::random::Stream as Random;

/// Picoseconds in a millisecond.
pub const MILLISECOND: u64 = 1_000_000_000;
/// Picoseconds in a second.
pub const SECOND: u64 = 1000 * MILLISECOND;
/// From the source to the port and from the port to the sink: two transmissions, three propagations and two hops of processing.
const OUTSIDE: u64 = 2 * MILLISECOND / 10 + 3 * MILLISECOND / 200 + 2 * MILLISECOND / 250;

/// When a stream emits.
#[derive(Clone, PartialEq, Debug)]
pub enum Emits {
    /// Packets at this rate in Mbit/s, evenly spaced; intervals are rounded up.
    Constant(f64),
    /// Bursts of packets a microsecond apart; the mean rate in Mbit/s. The gap varies by a tenth to either side.
    Bursts { packets: u32, rate: f64 },
    /// Enough for the queue never to run dry.
    Backlog,
    /// Packets at these instants, in these colours.
    Given(Vec<(u64, Colour)>),
}

/// The packets of one flow.
#[derive(Clone, PartialEq, Debug)]
pub struct Stream {
    pub emits: Emits,
    /// Whether its packets come marked.
    pub is_marked: bool,
    /// Its first packet and the end of its packets, in picoseconds.
    pub start: u64,
    pub stop: u64,
}

impl Stream {
    /// Unmarked packets without an end.
    pub fn new(emits: Emits, start: u64) -> Stream {
        Stream { emits, is_marked: false, start, stop: u64::MAX }
    }

    /// The same, marked.
    pub fn marked(emits: Emits, start: u64) -> Stream {
        Stream { is_marked: true, ..Stream::new(emits, start) }
    }
}

/// What became of one flow's packets after the warm-up.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Record {
    pub offered: u64,
    /// Sent unmarked and marked.
    pub unmarked: u64,
    pub marked: u64,
    /// Lost unmarked and marked.
    pub lost_unmarked: u64,
    pub lost_marked: u64,
    /// The longest time from source to sink, in milliseconds.
    pub longest_ms: f64,
    pub reordered: u64,
    /// The departures, warm-up included.
    pub departures: Vec<(u64, Colour)>,
    last: Option<u64>,
}

/// What became of all packets.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Records {
    pub flows: Vec<Record>,
    /// Packets pushed out, and those of the same flow as the one before.
    pub pushed_out: u64,
    pub same_again: u64,
    /// Unmarked packets pushed out, and those that came from a longest queue.
    pub pushed_unmarked: u64,
    pub from_a_longest: u64,
    /// The mean queue of a flow at departures: the sum, and the number of samples.
    pub queue_sum: f64,
    pub samples: u64,
    last_pushed: Option<Flow>,
}

/// A run: its length, the part that is not counted, and its random numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    pub warm_up: u64,
    pub end: u64,
    pub seed: u64,
}

struct Watch<'a> {
    records: &'a mut Records,
    streams: &'a [Stream],
    from: u64,
}

/// A packet's number in its flow, and when its source emitted it.
pub type Tag = (u64, u64);

impl Watch<'_> {
    fn counts(&self, now: Time) -> bool {
        now.picoseconds() > self.from
    }
}

impl Observer<Tag> for Watch<'_> {
    fn offered(&mut self, now: Time, packet: &Packet<Tag>) {
        self.records.flows[packet.flow.index()].offered += u64::from(self.counts(now));
    }

    fn dropped(&mut self, now: Time, packet: Packet<Tag>, reason: DropReason, occupancy: &Occupancy) {
        if !self.counts(now) {
            return;
        }
        let flow = packet.flow;
        if reason == DropReason::PushedOut {
            self.records.pushed_out += 1;
            self.records.same_again += u64::from(self.records.last_pushed.replace(flow) == Some(flow));
            if packet.colour == Colour::Green {
                // Backlogged flows are in another partition.
                let rivals = self.streams.iter().enumerate().filter(|(_, stream)| stream.emits != Emits::Backlog);
                let longest = rivals.map(|(flow, _)| occupancy.flow_bytes(Flow(flow as u32))).max();
                self.records.pushed_unmarked += 1;
                self.records.from_a_longest += u64::from(Some(occupancy.flow_bytes(flow) + packet.length) >= longest);
            }
        }
        let record = &mut self.records.flows[flow.index()];
        if packet.colour == Colour::Green {
            record.lost_unmarked += 1;
        } else {
            record.lost_marked += 1;
        }
    }

    fn sent(&mut self, now: Time, packet: &Packet<Tag>, finish: Time, occupancy: &Occupancy) {
        let counts = self.counts(now);
        let record = &mut self.records.flows[packet.flow.index()];
        record.departures.push((finish.picoseconds(), packet.colour));
        let (number, born) = packet.payload;
        record.reordered += u64::from(record.last.replace(number).is_some_and(|last| last > number));
        if !counts {
            return;
        }
        if packet.colour == Colour::Green {
            record.unmarked += 1;
        } else {
            record.marked += 1;
        }
        record.longest_ms = record.longest_ms.max((finish.picoseconds() - born + OUTSIDE) as f64 / MILLISECOND as f64);
        self.records.queue_sum += f64::from(occupancy.packets()) / occupancy.flows() as f64;
        self.records.samples += 1;
    }
}

/// The packets that a backlogged stream keeps queued.
const BACKLOG: u32 = 40;
/// How often it looks; in that time the link sends ten packets.
const LOOK: u64 = MILLISECOND;

/// Runs one port. Streams are in the order of its flows.
pub fn run(setup: PortSetup, streams: &[Stream], span: Span) -> Records {
    run_with(setup, streams, span, &mut |_, _| None)
}

/// The same; `act` changes the port: it is called first with 0 and then at each instant that it returned.
pub fn run_with(setup: PortSetup, streams: &[Stream], span: Span, act: &mut dyn FnMut(u64, &mut Port<Tag>) -> Option<u64>) -> Records {
    let mut port: Port<Tag> = Port::new(Time::ZERO, setup);
    let mut records = Records { flows: vec![Record::default(); streams.len()], ..Records::default() };
    let mut random: Vec<Random> = (0..streams.len()).map(|flow| Random::new(span.seed, 0, &format!("stream {flow}"))).collect();
    let mut numbers = vec![0u64; streams.len()];
    let mut due: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    for (flow, stream) in streams.iter().enumerate() {
        let first = match &stream.emits {
            Emits::Given(packets) => packets.first().map(|&(at, _)| at),
            _ => Some(stream.start),
        };
        due.extend(first.map(|at| Reverse((at, flow))));
    }
    let mut next_act = act(0, &mut port);
    while let Some(Reverse((at, flow))) = due.pop() {
        if at >= span.end {
            break;
        }
        if at >= streams[flow].stop {
            continue;
        }
        while let Some(now) = next_act.filter(|&now| now <= at) {
            port.advance(Time::from_picoseconds(now), &mut Watch { records: &mut records, streams, from: span.warm_up }, |_| {});
            next_act = act(now, &mut port);
        }
        let now = Time::from_picoseconds(at);
        let mut watch = Watch { records: &mut records, streams, from: span.warm_up };
        port.advance(now, &mut watch, |_| {});
        let stream = &streams[flow];
        let number = numbers[flow];
        let mut offer = |port: &mut Port<Tag>, colour: Colour, watch: &mut Watch<'_>| {
            port.offer(now, Flow(flow as u32), PACKET, colour, (numbers[flow], at), watch);
            numbers[flow] += 1;
        };
        let colour = if stream.is_marked { Colour::Yellow } else { Colour::Green };
        let next = match &stream.emits {
            Emits::Constant(rate) => {
                offer(&mut port, colour, &mut watch);
                Some(at + interval(*rate))
            }
            Emits::Bursts { packets, rate } => {
                // Within a burst the packets come one by one as events of their own.
                let place = number % u64::from(*packets);
                let begun = at - place * (MILLISECOND / 1000);
                offer(&mut port, colour, &mut watch);
                let is_last = place + 1 == u64::from(*packets);
                let gap = || interval(*rate) as f64 * f64::from(*packets) * (0.9 + 0.2 * random[flow].uniform());
                Some(if is_last { begun + { gap }() as u64 } else { at + MILLISECOND / 1000 })
            }
            Emits::Backlog => {
                while port.occupancy().flow_packets(Flow(flow as u32)) < BACKLOG {
                    let before = port.occupancy().flow_packets(Flow(flow as u32));
                    offer(&mut port, colour, &mut watch);
                    if port.occupancy().flow_packets(Flow(flow as u32)) == before {
                        break;
                    }
                }
                Some(at + LOOK)
            }
            Emits::Given(packets) => {
                let (_, colour) = packets[number as usize];
                offer(&mut port, colour, &mut watch);
                packets.get(number as usize + 1).map(|&(at, _)| at)
            }
        };
        // An idle link takes the packet at once.
        port.advance(now, &mut watch, |_| {});
        due.extend(next.map(|at| Reverse((at, flow))));
    }
    port.advance(Time::from_picoseconds(span.end), &mut Watch { records: &mut records, streams, from: span.warm_up }, |_| {});
    assert!(port.check().is_ok(), "the port loses count");
    records
}

/// The time of one packet at a rate in Mbit/s, rounded up.
fn interval(rate: f64) -> u64 {
    (f64::from(PACKET) * 8.0 * 1e6 / rate).ceil() as u64
}

impl Records {
    /// What a flow sent unmarked, in Mbit/s.
    pub fn in_profile(&self, flow: usize, span: Span) -> f64 {
        mbps(self.flows[flow].unmarked, span)
    }

    /// What some flows sent marked, in Mbit/s.
    pub fn sent_marked(&self, flows: std::ops::Range<usize>, span: Span) -> f64 {
        mbps(self.flows[flows].iter().map(|flow| flow.marked).sum(), span)
    }

    /// What a flow sent, in Mbit/s.
    pub fn sent(&self, flow: usize, span: Span) -> f64 {
        mbps(self.flows[flow].unmarked + self.flows[flow].marked, span)
    }

    /// Packets that left before one that had come before them, in any flow.
    pub fn reordered(&self) -> u64 {
        self.flows.iter().map(|flow| flow.reordered).sum()
    }
}

fn mbps(packets: u64, span: Span) -> f64 {
    packets as f64 * f64::from(PACKET) * 8.0 / ((span.end - span.warm_up) as f64 * 1e-6)
}
