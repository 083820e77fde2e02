//! The comparison: one design, its model, and the packets in front of both.
//!
//! **Law.** The design tells what happens to streams, one after the other: a packet comes, a deadline is missed, somebody is served. Then:
//! 1. before every decision the model, told of the packets that came, misses the same deadlines and drops the same heads, stream by stream,
//!    and it names the same winner;
//! 2. after every decision the streams that something happened to are those of the model: deadline, window, violation bit, arrival of the head
//!    and counters; and so are all streams whenever it is asked about them;
//! 3. packets become heads in the order in which they came, each once, and no more than one waits at the door;
//! 4. the records are what happened, in that order; a record that the host does not take stays as it is.
//!
//! Up to 32 streams are compared with the device model while the clock counts decisions, otherwise with the scan, until a denominator comes
//! close to 255, which the scan does not know.

use crate::design::{Design, PortNumber};
use crate::layout::{Status, bit, field};
use crate::pins::{Pins, flag, get, named, set};
use std::collections::VecDeque;
use std::ops::Deref;
use tidegate_core::dwcs::{Choice, Dwcs, Stream};
use tidegate_core::packet::Flow;

/// What a check returns.
pub type Checked<T> = Result<T, String>;

/// What has happened to a stream since the last decision, as far as the model has to be told.
#[derive(Clone, Copy, Debug)]
enum Event {
    Came { now: u64, arrival: u64 },
    Dropped { next: Option<u64> },
}

/// What the host reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Record {
    Drop(usize),
    Decision(usize, u16),
}

#[derive(Clone, Debug, Default)]
struct Kept {
    head: Option<u64>,
    waiting: VecDeque<u64>,
    log: VecDeque<Event>,
    seen: Option<Status>,
}

/// The ports, those that only this engine has besides.
pub struct Ports {
    pins: Pins,
    now: PortNumber,
    /// What happened, to whom, and whether it went on to its next packet.
    event: [PortNumber; 3],
    queued: [PortNumber; 2],
}

impl Ports {
    fn new(design: &Design) -> Checked<Ports> {
        let port = |name: &str| named(design, name);
        Ok(Ports {
            pins: Pins::new(design)?,
            now: port("now_o")?,
            event: [port("update_kind_o")?, port("update_id_o")?, port("update_popped_o")?],
            queued: [port("queued_o")?, port("queued_id_o")?],
        })
    }
}

impl Deref for Ports {
    type Target = Pins;

    fn deref(&self) -> &Pins {
        &self.pins
    }
}

/// The bench.
pub struct Bench {
    pub design: Design,
    pub ports: Ports,
    model: Box<dyn Dwcs>,
    /// The model saturates denominators, and shows no deadline that has come while a stream is idle.
    is_device: bool,
    pub streams: Vec<Stream>,
    kept: Vec<Kept>,
    /// Streams that something has happened to since the last decision.
    touched: Vec<usize>,
    /// The clock of the last event.
    pub now: u64,
    expected: VecDeque<Record>,
    held: Option<Vec<u8>>,
    /// A packet in front of the design, and one that it has taken and not yet put anywhere.
    pub offered: Option<(usize, u64)>,
    door: Option<(usize, u64)>,
    pub cycle: u64,
    pub decisions: u64,
    pub misses: u64,
    pub winner: Option<usize>,
    /// Cycles since anything has happened.
    pub quiet: u64,
    /// A denominator comes close to 255, which the scan does not know.
    pub is_worn: bool,
}

impl Bench {
    /// A design before its reset, beside a model whose clock stands at `start`.
    ///
    /// # Errors
    /// If the design lacks a port.
    pub fn new(design: Design, model: Box<dyn Dwcs>, is_device: bool, streams: Vec<Stream>, start: u64) -> Checked<Bench> {
        Ok(Bench {
            ports: Ports::new(&design)?,
            design,
            model,
            is_device,
            kept: vec![Kept::default(); streams.len()],
            streams,
            touched: Vec::new(),
            now: start,
            expected: VecDeque::new(),
            held: None,
            offered: None,
            door: None,
            cycle: 0,
            decisions: 0,
            misses: 0,
            winner: None,
            quiet: 0,
            is_worn: false,
        })
    }

    fn fail<T>(&self, what: String) -> Checked<T> {
        Err(format!("cycle {}, decision {}: {what}", self.cycle, self.decisions))
    }

    /// One clock cycle with the inputs that are set. True if somebody was served in it.
    pub fn cycle(&mut self, ready: bool) -> Checked<bool> {
        set(&mut self.design, self.ports.record[1], u64::from(ready));
        self.design.settle();
        self.record(ready)?;
        let before = self.decisions;
        self.queued()?;
        self.update()?;
        let taken = self.offered.take_if(|_| flag(&self.design, self.ports.arrival[1]));
        self.design.edge();
        if let Some(packet) = taken {
            if self.door.replace(packet).is_some() {
                return self.fail("two packets wait at the door".to_owned());
            }
            set(&mut self.design, self.ports.arrival[0], 0);
        }
        self.cycle += 1;
        self.quiet += 1;
        Ok(self.decisions > before)
    }

    fn record(&mut self, ready: bool) -> Checked<()> {
        let design = &self.design;
        if !flag(design, self.ports.record[0]) {
            return if self.held.is_some() { self.fail("a record that was offered is gone".to_owned()) } else { Ok(()) };
        }
        let bits = design.bits(self.ports.record[2]).to_vec();
        if self.held.as_ref().is_some_and(|held| *held != bits) {
            return self.fail("a record that was offered has changed".to_owned());
        }
        self.held = (!ready).then(|| bits.clone());
        if ready {
            let id = self.streams.len().trailing_zeros() as usize;
            let stream = field(&bits, 0, id) as usize;
            let record = if bit(&bits, id + 16) { Record::Drop(stream) } else { Record::Decision(stream, field(&bits, id, 16) as u16) };
            let expected = self.expected.pop_front();
            if expected != Some(record) {
                return self.fail(format!("the record is {record:?}, what happened is {expected:?}"));
            }
        }
        Ok(())
    }

    /// The packet at the door, which has to be one of this stream.
    fn enters(&mut self, stream: usize) -> Checked<u64> {
        match self.door.take() {
            Some((at, arrival)) if at == stream => Ok(arrival),
            other => self.fail(format!("stream {stream} takes a packet, at the door is {other:?}")),
        }
    }

    fn queued(&mut self) -> Checked<()> {
        if flag(&self.design, self.ports.queued[0]) {
            let stream = get(&self.design, self.ports.queued[1]) as usize;
            let arrival = self.enters(stream)?;
            if self.kept[stream].head.is_none() {
                return self.fail(format!("a packet waits in the queue of stream {stream}, which has no head"));
            }
            self.kept[stream].waiting.push_back(arrival);
            self.quiet = 0;
        }
        Ok(())
    }

    /// The head of a stream goes, and the next packet takes its place.
    fn next(&mut self, stream: usize) -> Checked<Option<u64>> {
        let popped = flag(&self.design, self.ports.event[2]);
        let next = self.kept[stream].waiting.pop_front();
        if popped != next.is_some() {
            return self.fail(format!("stream {stream} goes on to a next packet: {popped}, in its queue is {next:?}"));
        }
        self.kept[stream].head = next;
        Ok(next)
    }

    /// The clock in 64 bits.
    fn clock(&self, time: u64) -> u64 {
        self.now + u64::from((time as u16).wrapping_sub(self.now as u16))
    }

    fn update(&mut self) -> Checked<()> {
        let [kind, id, _] = self.ports.event;
        if !flag(&self.design, self.ports.update) {
            return Ok(());
        }
        let stream = get(&self.design, id) as usize;
        let seen = Status::decode(self.design.bits(self.ports.observed), 0);
        let now = self.clock(get(&self.design, self.ports.finish));
        let kind = get(&self.design, kind) & 3;
        if kind == 3 {
            return Ok(());
        }
        self.quiet = 0;
        if (kind == 0) != self.kept[stream].head.is_none() {
            return self.fail(format!("event {kind} of stream {stream}, whose head is {:?}", self.kept[stream].head));
        }
        match kind {
            0 => {
                self.now = now;
                let arrival = self.enters(stream)?;
                self.kept[stream].head = Some(arrival);
                self.kept[stream].log.push_back(Event::Came { now, arrival });
            }
            1 => {
                self.now = now;
                self.misses += 1;
                if self.streams[stream].droppable {
                    let next = self.next(stream)?;
                    self.kept[stream].log.push_back(Event::Dropped { next });
                    self.expected.push_back(Record::Drop(stream));
                }
            }
            _ => {
                let named = self.settle()?;
                if self.is_worn {
                    return Ok(());
                }
                if named != Choice::Serve(Flow(stream as u32)) {
                    return self.fail(format!("stream {stream} is served, the model says {named:?}"));
                }
                self.expected.push_back(Record::Decision(stream, self.now as u16));
                self.now = now;
                let next = self.next(stream)?;
                self.model.served(Flow(stream as u32), now, next);
                self.check(stream, &seen, false)?;
                self.decisions += 1;
                self.winner = Some(stream);
                return Ok(());
            }
        }
        self.kept[stream].seen = Some(seen);
        self.touched.push(stream);
        Ok(())
    }

    fn came(&mut self, stream: usize) {
        while let Some(Event::Came { now, arrival }) = self.kept[stream].log.front().copied() {
            self.kept[stream].log.pop_front();
            self.model.activate(now, Flow(stream as u32), arrival);
        }
    }

    /// The model is told what has come since the last decision; all that has happened is what it makes of it.
    pub fn settle(&mut self) -> Checked<Choice> {
        let touched = std::mem::take(&mut self.touched);
        for &stream in &touched {
            self.came(stream);
        }
        let choice = loop {
            let choice = self.model.select(self.now);
            let Choice::Discard(stream) = choice else { break choice };
            let event = self.kept[stream.index()].log.pop_front();
            let Some(Event::Dropped { next }) = event else {
                return self.fail(format!("the model drops a head of stream {}, which has {event:?}", stream.0));
            };
            self.model.lost(stream, next);
            self.came(stream.index());
        };
        for stream in touched {
            if let Some(event) = self.kept[stream].log.front() {
                return self.fail(format!("stream {stream} has {event:?}, which the model knows nothing of"));
            }
            if let Some(seen) = self.kept[stream].seen.take() {
                self.check(stream, &seen, false)?;
            }
        }
        Ok(choice)
    }

    /// A stream is as the model has it; `asked` is what it says when it is asked.
    fn check(&mut self, stream: usize, seen: &Status, asked: bool) -> Checked<()> {
        let (standing, head, tally) = {
            let standing = self.model.standing(Flow(stream as u32));
            (standing, self.kept[stream].head, standing.tally)
        };
        if !self.is_device && standing.tolerance.denominator >= 250 {
            self.is_worn = true;
            return Ok(());
        }
        let mut pairs = vec![
            ("has a packet", u64::from(seen.valid), u64::from(head.is_some())),
            ("violation", u64::from(seen.violation), u64::from(standing.tolerance.in_violation)),
            ("x'", seen.numerator.into(), standing.tolerance.numerator.into()),
            ("y'", seen.denominator.into(), standing.tolerance.denominator),
        ];
        let deadline = if asked && head.is_none() { standing.deadline.max(self.now) } else { standing.deadline };
        if self.streams[stream].period.is_some() && (asked || head.is_some() || !self.is_device) {
            pairs.push(("deadline", seen.deadline.into(), deadline & 0xffff));
        }
        if let Some(arrival) = head
            && !asked
        {
            pairs.push(("arrival", seen.arrival.into(), arrival & 0xffff));
        }
        let names = ["met", "late", "missed", "violations", "dropped"];
        let tallies = [tally.met, tally.late, tally.missed, tally.violations, tally.dropped];
        for ((name, counter), value) in names.into_iter().zip(seen.counters).zip(tallies) {
            pairs.push((name, counter.into(), value & 0xffff));
        }
        match pairs.into_iter().find(|(_, found, wanted)| found != wanted) {
            Some((name, found, wanted)) => {
                let contract = self.streams[stream];
                self.fail(format!("stream {stream} {contract:?}: {name} is {found}, the model has {wanted}"))
            }
            None => Ok(()),
        }
    }

    /// A packet waits until the design takes it.
    pub fn offer(&mut self, stream: usize, arrival: u64) {
        self.offered = Some((stream, arrival));
        self.ports.offer(&mut self.design, stream as u64, arrival);
    }

    /// LOAD.
    pub fn load(&mut self, stream: usize) -> Checked<()> {
        self.ports.load(&mut self.design, stream as u64, &self.streams[stream], self.now);
        let [valid, ready, ..] = self.ports.load;
        loop {
            self.design.settle();
            let taken = flag(&self.design, ready);
            self.cycle(true)?;
            if taken {
                break;
            }
        }
        set(&mut self.design, valid, 0);
        Ok(())
    }

    /// Nothing happens any more, every record has been read, and the model expects nothing else.
    pub fn stopped(&mut self) -> Checked<()> {
        let begun = self.cycle;
        while self.quiet < 80 {
            self.cycle(true)?;
            if self.cycle > begun + 1_000_000 {
                return self.fail(format!("it does not come to rest, last {:?}", self.touched.last()));
            }
        }
        self.now = self.clock(get(&self.design, self.ports.now));
        self.settle()?;
        if self.expected.is_empty() { Ok(()) } else { self.fail(format!("records to come: {:?}", self.expected)) }
    }

    /// Asks where a stream stands.
    pub fn question(&mut self, stream: usize) -> Checked<()> {
        let [valid, ready, id] = self.ports.query;
        set(&mut self.design, id, stream as u64);
        set(&mut self.design, valid, 1);
        for _ in 0..100 {
            self.design.settle();
            let taken = flag(&self.design, ready);
            self.cycle(true)?;
            if taken {
                set(&mut self.design, valid, 0);
            }
            self.design.settle();
            if flag(&self.design, self.ports.status[0]) {
                let seen = Status::decode(self.design.bits(self.ports.status[1]), 0);
                return self.check(stream, &seen, true);
            }
        }
        self.fail("no answer to a question".to_owned())
    }
}
