//! The engine on a heap beside its model, event by event.
//!
//! **Law.** The design tells what happens to streams, one after the other: a packet comes, a deadline is missed, a stream is served. Then:
//! 1. before every decision the model, told of the packets that came, misses the same deadlines and drops the same heads, stream by stream,
//!    and it names the same winner;
//! 2. after every decision the streams with an event are those of the model: deadline, window, violation bit, arrival of the head and counters;
//! 3. at most one packet waits at the door.

use super::{Bench, Engine, Expected, Pace};
use crate::contracts::Traffic;
use crate::design::{Design, PortNumber};
use crate::layout::Status;
use crate::mismatch::Checked;
use crate::parameters::Parameters;
use crate::pins::{flag, get, named};
use crate::random::Random;
use crate::reports::{Report, Reports};
use crate::standing::Shown;
use std::collections::VecDeque;
use tidegate_core::dwcs::Choice;
use tidegate_core::packet::Flow;
use tidegate_rtl_model::MOST_STREAMS;

/// What has happened to a stream since the last decision, as far as the model has to be told.
#[derive(Clone, Copy, Debug)]
enum Event {
    Came { now: u64, arrival: u64 },
    Dropped { next: Option<u64> },
}

/// The engine's own ports, and the events since the last decision.
pub struct Heap {
    reports: Reports,
    now: PortNumber,
    /// The event, its stream, and whether that went on to its next packet.
    event: [PortNumber; 3],
    queued: [PortNumber; 2],
    /// A packet that the design has taken and not yet put anywhere.
    door: Option<(usize, u64)>,
    events: Vec<VecDeque<Event>>,
    seen: Vec<Option<Status>>,
    /// Streams with an event since the last decision.
    touched: Vec<usize>,
}

impl Engine for Heap {
    const TRAFFIC: &'static [Traffic] =
        &[Traffic::Random, Traffic::Random, Traffic::AllDrop, Traffic::AllMiss, Traffic::Alike, Traffic::Hot, Traffic::Churn];
    const REST: u64 = 80;
    const ANSWERS_HAVE_ARRIVALS: bool = false;
    const HAS_PASSES: bool = false;

    fn new(design: &Design, parameters: &Parameters) -> Result<Heap, String> {
        let port = |name: &str| named(design, name);
        let streams = parameters.get("Streams")?;
        let id_bits = streams.trailing_zeros() as usize;
        Ok(Heap {
            reports: Reports::Events { id_bits, drop_bit: id_bits + 16 },
            now: port("now_o")?,
            event: [port("update_kind_o")?, port("update_id_o")?, port("update_popped_o")?],
            queued: [port("queued_o")?, port("queued_id_o")?],
            door: None,
            events: vec![VecDeque::new(); streams],
            seen: vec![None; streams],
            touched: Vec::new(),
        })
    }

    fn reports(&self) -> Reports {
        self.reports
    }

    fn pace(&self, traffic: Traffic, streams: usize, random: &mut Random) -> Pace {
        let outside = !traffic.is_overload() && random.once_in(2);
        // Long enough that deadlines of resting streams come and go, and as short as the engine takes it.
        let step = if traffic == Traffic::Churn { 3.max(12_000 / streams as u64).min(600) } else { 1 + random.below(3) };
        let is_device = streams <= MOST_STREAMS && !outside;
        // Where the clock goes on by much at a time, penalties would end the run.
        let penalties: &[u32] = match (traffic, is_device) {
            (Traffic::Churn, _) => &[0],
            (_, true) => &[0, 1, 2, 100],
            (_, false) => &[0, 1, 2],
        };
        Pace { outside, step, least: 1, penalties, model_ports: is_device.then_some(streams) }
    }

    fn observe(bench: &mut Bench<Heap>) -> Checked<bool> {
        bench.queued()?;
        bench.event()
    }

    fn accept(bench: &mut Bench<Heap>, stream: usize, arrival: u64) -> Checked<()> {
        match bench.engine.door.replace((stream, arrival)) {
            Some(_) => bench.fail("arrival", "two packets wait at the door".to_owned()),
            None => Ok(()),
        }
    }

    fn advance(_: &mut Bench<Heap>) -> Checked<()> {
        Ok(())
    }

    fn rest(bench: &mut Bench<Heap>) -> Checked<()> {
        bench.now = bench.clock(get(&bench.design, bench.engine.now));
        bench.settle().map(|_| ())
    }

    fn resume(_: &mut Bench<Heap>, _: u64) {}
}

impl Bench<Heap> {
    /// The packet at the door, which has to be one of this stream.
    fn enters(&mut self, stream: usize) -> Checked<u64> {
        match self.engine.door.take() {
            Some((at, arrival)) if at == stream => Ok(arrival),
            other => self.fail("arrival", format!("stream {stream} takes a packet, at the door is {other:?}")),
        }
    }

    fn queued(&mut self) -> Checked<()> {
        if flag(&self.design, self.engine.queued[0]) {
            let stream = get(&self.design, self.engine.queued[1]) as usize;
            let arrival = self.enters(stream)?;
            if self.packets[stream].head.is_none() {
                return self.fail("arrival", format!("a packet waits in the queue of stream {stream}, which has no head"));
            }
            self.packets[stream].waiting.push_back(arrival);
            self.quiet = 0;
        }
        Ok(())
    }

    /// The head of a stream goes, and the next packet takes its place.
    fn next(&mut self, stream: usize) -> Checked<Option<u64>> {
        let popped = flag(&self.design, self.engine.event[2]);
        let next = self.packets[stream].waiting.pop_front();
        if popped != next.is_some() {
            return self.fail("pop", format!("stream {stream} goes on to a next packet: {popped}, in its queue is {next:?}"));
        }
        self.packets[stream].head = next;
        Ok(next)
    }

    /// The clock in 64 bits.
    fn clock(&self, time: u64) -> u64 {
        self.now + u64::from((time as u16).wrapping_sub(self.now as u16))
    }

    /// True if a stream is served.
    fn event(&mut self) -> Checked<bool> {
        let [kind, id, _] = self.engine.event;
        let kind = get(&self.design, kind) & 3;
        if !flag(&self.design, self.pins.update) || kind == 3 {
            return Ok(false);
        }
        let stream = get(&self.design, id) as usize;
        let seen = Status::decode(self.design.bits(self.pins.observed), 0);
        let now = self.clock(get(&self.design, self.pins.finish));
        self.quiet = 0;
        if (kind == 0) != self.packets[stream].head.is_none() {
            return self.fail("event", format!("event {kind} of stream {stream}, whose head is {:?}", self.packets[stream].head));
        }
        match kind {
            0 => {
                self.now = now;
                let arrival = self.enters(stream)?;
                self.packets[stream].head = Some(arrival);
                self.engine.events[stream].push_back(Event::Came { now, arrival });
            }
            1 => {
                self.now = now;
                self.misses += 1;
                if self.streams[stream].droppable {
                    let next = self.next(stream)?;
                    self.engine.events[stream].push_back(Event::Dropped { next });
                    self.expected.push_back(Expected { drops: vec![Report::dropped(vec![stream])], decision: None });
                }
            }
            _ => return self.served(stream, now, &seen),
        }
        self.engine.seen[stream] = Some(seen);
        self.engine.touched.push(stream);
        Ok(false)
    }

    fn served(&mut self, stream: usize, now: u64, seen: &Status) -> Checked<bool> {
        let named = self.settle()?;
        if self.is_worn {
            return Ok(false);
        }
        if named != Choice::Serve(Flow(stream as u32)) {
            return self.fail("winner", format!("stream {stream} is served, the model says {named:?}"));
        }
        self.expected.push_back(Expected { drops: Vec::new(), decision: Some(Report::served(stream, self.now as u16)) });
        self.now = now;
        let next = self.next(stream)?;
        self.model.served(Flow(stream as u32), now, next);
        self.same(stream, seen)?;
        self.decisions += 1;
        self.winner = Some(stream);
        Ok(true)
    }

    fn came(&mut self, stream: usize) {
        while let Some(Event::Came { now, arrival }) = self.engine.events[stream].front().copied() {
            self.engine.events[stream].pop_front();
            self.model.activate(now, Flow(stream as u32), arrival);
        }
    }

    /// Tells the model what has come since the last decision; it has to make of it what has happened. Its next choice.
    fn settle(&mut self) -> Checked<Choice> {
        let touched = std::mem::take(&mut self.engine.touched);
        for &stream in &touched {
            self.came(stream);
        }
        let choice = loop {
            let choice = self.model.select(self.now);
            let Choice::Discard(stream) = choice else { break choice };
            let Some(Event::Dropped { next }) = self.engine.events[stream.index()].pop_front() else {
                return self.fail("drop", format!("the model drops the head of stream {}, the design does not", stream.0));
            };
            self.model.lost(stream, next);
            self.came(stream.index());
        };
        for stream in touched {
            if let Some(event) = self.engine.events[stream].front() {
                return self.fail("drop", format!("stream {stream} has {event:?}, which the model knows nothing of"));
            }
            if let Some(seen) = self.engine.seen[stream].take() {
                self.same(stream, &seen)?;
            }
        }
        Ok(choice)
    }

    fn same(&mut self, stream: usize, seen: &Status) -> Checked<()> {
        let head = self.packets[stream].head;
        let standing = self.model.standing(Flow(stream as u32));
        let deadline = self.streams[stream].period.filter(|_| head.is_some() || !self.is_device).map(|_| standing.deadline);
        self.check(stream, seen, Shown { has_packet: head.is_some(), arrival: head, deadline, counters: 0..5 })
    }
}
