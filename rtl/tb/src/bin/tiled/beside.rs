//! The comparison: one design, its model, and the packets in front of both.
//!
//! **Law.** Of every pass, the model is told what the tiles did as they were written back: who was served until when, and which streams took a
//! packet. Then:
//! 1. deadlines, windows, violation bits, counters, packets and their arrivals are those of the model, for every stream;
//! 2. every stream is written back once per pass, and one of them was being served: the one that the model has named;
//! 3. a stream that wants a packet takes one if one has lain in its queue since the pass before, and packets are taken in the order in which
//!    they came;
//! 4. the records are those of the model: who was dropped, then who is served, and when; a record that the host does not take stays as it is;
//! 5. the answers to questions are those of the model, met and late services among them.
//!
//! Up to 32 streams are compared with the device model, more with the scan, and then with periods at least as long as the ticks between two
//! passes, until a denominator comes close to 255.

use crate::design::Design;
use crate::layout::{bit, field};
use crate::pins::{flag, get, set};
use crate::ports::Ports;
use std::collections::VecDeque;
use tidegate_core::dwcs::{CLAMP, Choice, Dwcs, Stream};
use tidegate_core::packet::Flow;
use tidegate_rtl_model::MOST_STREAMS;

/// What a check returns.
pub type Checked<T> = Result<T, String>;

/// Bits of `step_t`: popped, droppable, state, missed, violations.
const STEP: usize = 2 + 50 + 32;

/// What the host reads, or should.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Record {
    /// Bit per lane.
    Drops(usize, Vec<bool>),
    Decision(usize, u16),
}

/// Records that are still to come: drops of a pass in any order, then its decision.
#[derive(Clone, Debug)]
struct Expected {
    drops: Vec<Record>,
    decision: Option<Record>,
}

#[derive(Clone, Debug, Default)]
struct Kept {
    head: Option<u64>,
    queue: VecDeque<u64>,
    /// Packets that have come since it was loaded, and of those so many before the last pass but one began, so that they lie in the queue but
    /// for the one that waits at the lane's door.
    came: u64,
    taken: u64,
}

/// The bench.
pub struct Bench {
    pub design: Design,
    pub ports: Ports,
    lanes: usize,
    rounds: usize,
    model: Box<dyn Dwcs>,
    streams: Vec<Stream>,
    kept: Vec<Kept>,
    /// How many packets of each stream the engine had taken in when the pass before, and this one, were under way.
    settled: [Vec<u64>; 3],
    /// The model's clock.
    pub now: u64,
    /// The model's last answer.
    choice: Choice,
    /// The tiles of the pass under way.
    seen: Vec<bool>,
    popped: Vec<bool>,
    steps: Vec<Vec<u8>>,
    served: Option<usize>,
    finish: Option<u16>,
    expected: VecDeque<Expected>,
    records: VecDeque<Record>,
    held: Option<Vec<u8>>,
    /// A packet at the design's door.
    pub offered: Option<(usize, u64)>,
    pub cycle: u64,
    pub decisions: u64,
    pub passes: u64,
}

impl Bench {
    /// A design before its reset, beside a model whose clock stands at `start`.
    ///
    /// # Errors
    /// If the design lacks a port.
    pub fn new(design: Design, lanes: usize, rounds: usize, model: Box<dyn Dwcs>, streams: Vec<Stream>, start: u64) -> Checked<Bench> {
        let total = lanes * rounds;
        Ok(Bench {
            ports: Ports::new(&design)?,
            design,
            lanes,
            rounds,
            model,
            kept: vec![Kept::default(); total],
            settled: [vec![0; total], vec![0; total], vec![0; total]],
            streams,
            now: start,
            choice: Choice::Idle,
            seen: vec![false; rounds],
            popped: vec![false; total],
            steps: vec![Vec::new(); rounds],
            served: None,
            finish: None,
            expected: VecDeque::new(),
            records: VecDeque::new(),
            held: None,
            offered: None,
            cycle: 0,
            decisions: 0,
            passes: 0,
        })
    }

    /// The number of a stream is its round above its lane.
    fn width(count: usize) -> usize {
        count.next_power_of_two().trailing_zeros() as usize
    }

    fn id(&self, stream: usize) -> u64 {
        (((stream / self.lanes) << Bench::width(self.lanes)) | (stream % self.lanes)) as u64
    }

    fn stream(&self, id: usize) -> usize {
        (id >> Bench::width(self.lanes)) * self.lanes + (id & ((1 << Bench::width(self.lanes)) - 1))
    }

    /// How many streams it has.
    pub fn total(&self) -> usize {
        self.lanes * self.rounds
    }

    /// One clock cycle with the inputs that are set. True if a pass ended in it.
    pub fn cycle(&mut self, ready: bool) -> Checked<bool> {
        set(&mut self.design, self.ports.record[1], u64::from(ready));
        self.design.settle();
        self.record(ready)?;
        let ended = self.observe()?;
        let taken = self.offered.take_if(|_| flag(&self.design, self.ports.arrival[1]));
        self.design.edge();
        if let Some((stream, arrival)) = taken {
            self.kept[stream].queue.push_back(arrival);
            self.kept[stream].came += 1;
            set(&mut self.design, self.ports.arrival[0], 0);
        }
        self.cycle += 1;
        if ended {
            self.pass()?;
            self.passes += 1;
        }
        self.match_records()?;
        Ok(ended)
    }

    fn record(&mut self, ready: bool) -> Checked<()> {
        let design = &self.design;
        if !flag(design, self.ports.record[0]) {
            return if self.held.is_some() { Err(format!("cycle {}: a record that was offered is gone", self.cycle)) } else { Ok(()) };
        }
        let bits = design.bits(self.ports.record[2]).to_vec();
        if self.held.as_ref().is_some_and(|held| *held != bits) {
            return Err(format!("cycle {}: a record that was offered has changed", self.cycle));
        }
        self.held = (!ready).then(|| bits.clone());
        if ready {
            let round = Bench::width(self.rounds);
            let id = round + Bench::width(self.lanes);
            let record = if bit(&bits, (round + self.lanes).max(id + 16)) {
                Record::Drops(field(&bits, self.lanes, round) as usize, (0..self.lanes).map(|lane| bit(&bits, lane)).collect())
            } else {
                Record::Decision(self.stream(field(&bits, 0, id) as usize), field(&bits, id, 16) as u16)
            };
            self.records.push_back(record);
        }
        Ok(())
    }

    /// A tile is written back.
    fn observe(&mut self) -> Checked<bool> {
        let (design, ports) = (&self.design, &self.ports);
        if !flag(design, ports.update) {
            return Ok(false);
        }
        let round = get(design, ports.round) as usize;
        if round >= self.rounds || self.seen[round] {
            return Err(format!("cycle {}: tile {round} is written back again", self.cycle));
        }
        self.seen[round] = true;
        let finish = get(design, ports.finish) as u16;
        if *self.finish.get_or_insert(finish) != finish {
            return Err(format!("cycle {}: the clock of a pass has changed", self.cycle));
        }
        if flag(design, ports.served) {
            let winner = self.stream(get(design, ports.winner) as usize);
            if let Some(before) = self.served.replace(winner) {
                return Err(format!("cycle {}: {before} and {winner} are served at once", self.cycle));
            }
        }
        self.steps[round] = design.bits(ports.observed).to_vec();
        for lane in 0..self.lanes {
            self.popped[round * self.lanes + lane] = bit(&self.steps[round], lane * STEP + STEP - 1);
        }
        Ok(self.seen.iter().all(|&seen| seen))
    }

    /// The stream takes a packet.
    fn take(&mut self, stream: usize) -> Checked<Option<u64>> {
        let kept = &mut self.kept[stream];
        if !self.popped[stream] {
            // One at the door of the engine, and one at that of the lane.
            if self.settled[0][stream] > kept.taken + 2 {
                return Err(format!("pass {}: stream {stream} takes no packet though one lies in its queue", self.passes));
            }
            return Ok(None);
        }
        self.popped[stream] = false;
        let next = kept.queue.pop_front();
        kept.taken += 1;
        next.map(Some).ok_or_else(|| format!("pass {}: stream {stream} takes a packet that never came", self.passes))
    }

    /// All tiles have been written back: the model takes the same step.
    fn pass(&mut self) -> Checked<()> {
        let fail = |bench: &Bench, what: String| Err(format!("cycle {}, pass {}: {what}", bench.cycle, bench.passes));
        let expected = if let Choice::Serve(stream) = self.choice { Some(stream.index()) } else { None };
        if self.served != expected {
            return fail(self, format!("{:?} is served, the model has {expected:?}", self.served));
        }
        let finish = self.finish.take().unwrap_or_default();
        let ticks = u64::from(finish.wrapping_sub(self.now as u16));
        if ticks > CLAMP {
            return fail(self, format!("the clock moves on by {ticks} ticks"));
        }
        self.now += ticks;
        let idle: Vec<usize> = (0..self.total()).filter(|&stream| self.kept[stream].head.is_none()).collect();
        if let Some(winner) = self.served.take() {
            let next = self.take(winner)?;
            self.kept[winner].head = next;
            self.model.served(Flow(winner as u32), self.now, next);
            self.decisions += 1;
        }
        for stream in idle {
            if let Some(arrival) = self.take(stream)? {
                self.kept[stream].head = Some(arrival);
                self.model.activate(self.now, Flow(stream as u32), arrival);
            }
        }
        let mut dropped = vec![vec![false; self.lanes]; self.rounds];
        loop {
            self.choice = self.model.select(self.now);
            let Choice::Discard(stream) = self.choice else { break };
            let next = self.take(stream.index())?;
            self.kept[stream.index()].head = next;
            self.model.lost(stream, next);
            dropped[stream.index() / self.lanes][stream.index() % self.lanes] = true;
        }
        let drops = dropped.into_iter().enumerate().filter(|(_, mask)| mask.contains(&true));
        let drops = drops.map(|(round, mask)| Record::Drops(round, mask)).collect();
        self.expected.push_back(Expected { drops, decision: self.decision(self.now) });
        if let Some(stream) = self.popped.iter().position(|&popped| popped) {
            return fail(self, format!("stream {stream} takes a packet that it does not want"));
        }
        for stream in 0..self.total() {
            if let Some(problem) = self.differs(stream, &self.steps[stream / self.lanes], stream % self.lanes * STEP, None) {
                return fail(self, format!("stream {stream} {:?}: {problem}", self.streams[stream]));
            }
        }
        self.seen.fill(false);
        self.settled.rotate_left(1);
        self.settled[2] = self.kept.iter().map(|kept| kept.came).collect();
        Ok(())
    }

    /// It goes on: the decision that it stopped before is made at this instant.
    pub fn resume(&mut self, stamp: u64) {
        let decision = self.decision(stamp);
        self.expected.push_back(Expected { drops: Vec::new(), decision });
    }

    fn decision(&self, stamp: u64) -> Option<Record> {
        if let Choice::Serve(stream) = self.choice { Some(Record::Decision(stream.index(), stamp as u16)) } else { None }
    }

    /// What of a stream is not as the model has it: from a `step_t` at this bit, or from the five counters and the state of a `status_t`.
    fn differs(&self, stream: usize, bits: &[u8], at: usize, all: Option<usize>) -> Option<String> {
        let (standing, head) = (self.model.standing(Flow(stream as u32)), self.kept[stream].head);
        let state = all.unwrap_or(at + 32);
        let number = |from: usize, width: usize| u64::from(field(bits, from, width));
        let valid = bit(bits, state + 49);
        // A deadline that has come while the stream was idle says no more than that.
        let deadline = if head.is_some() { standing.deadline } else { standing.deadline.max(self.now) } as u16;
        let mut pairs = vec![
            ("has a packet", u64::from(valid), u64::from(head.is_some())),
            ("violation", u64::from(bit(bits, state + 16)), u64::from(standing.tolerance.in_violation)),
            ("x'", number(state + 8, 8), standing.tolerance.numerator.into()),
            ("y'", number(state, 8), standing.tolerance.denominator),
        ];
        let tally = standing.tally;
        if self.streams[stream].period.is_some() {
            pairs.push(("deadline", number(state + 17, 16), deadline.into()));
        }
        if let Some(arrival) = head {
            pairs.push(("arrival", number(state + 33, 16), arrival & 0xffff));
        }
        if all.is_none() {
            pairs.push(("missed", number(at + 16, 16), tally.missed & 0xffff));
            pairs.push(("violations", number(at, 16), tally.violations & 0xffff));
        } else {
            for (counter, value) in [tally.dropped, tally.violations, tally.missed, tally.late, tally.met].into_iter().enumerate() {
                pairs.push(("counter", number(at + 16 * counter, 16), value & 0xffff));
            }
        }
        let (name, found, wanted) = pairs.into_iter().find(|(_, found, wanted)| found != wanted)?;
        Some(format!("{name} is {found}, the model has {wanted}"))
    }

    fn match_records(&mut self) -> Checked<()> {
        while let (Some(expected), Some(record)) = (self.expected.front_mut(), self.records.front()) {
            if let Some(at) = expected.drops.iter().position(|drops| drops == record) {
                expected.drops.swap_remove(at);
            } else if expected.drops.is_empty() && expected.decision.is_none() {
                self.expected.pop_front();
                continue;
            } else if expected.drops.is_empty() && expected.decision.as_ref() == Some(record) {
                expected.decision = None;
            } else {
                return Err(format!("cycle {}: the record is {record:?}, the model has {expected:?}", self.cycle));
            }
            self.records.pop_front();
        }
        Ok(())
    }

    /// Nothing more comes: every expected record has been seen but for the decision that was not made.
    pub fn stopped(&mut self, ready_cycles: usize) -> Checked<()> {
        for _ in 0..ready_cycles {
            self.cycle(true)?;
        }
        if let Some(last) = self.expected.back_mut() {
            last.decision = None;
        }
        self.match_records()?;
        let left = self.expected.iter().any(|expected| !expected.drops.is_empty() || expected.decision.is_some());
        if left || !self.records.is_empty() {
            return Err(format!("cycle {}: still to come: {:?}; left over: {:?}", self.cycle, self.expected, self.records));
        }
        self.expected.clear();
        if self.seen.contains(&true) {
            return Err(format!("cycle {}: it stopped within a pass", self.cycle));
        }
        Ok(())
    }

    /// A packet waits until the design takes it.
    pub fn offer(&mut self, stream: usize, arrival: u64) {
        self.offered = Some((stream, arrival));
        let number = self.id(stream);
        self.ports.offer(&mut self.design, number, arrival);
    }

    /// LOAD.
    pub fn load(&mut self, stream: usize) -> Checked<()> {
        let number = self.id(stream);
        self.ports.load(&mut self.design, number, &self.streams[stream], self.now);
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

    /// Asks where a stream stands.
    pub fn question(&mut self, stream: usize) -> Checked<()> {
        let [valid, ready, id] = self.ports.query;
        let number = self.id(stream);
        set(&mut self.design, id, number);
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
                let bits = self.design.bits(self.ports.status[1]).to_vec();
                return match self.differs(stream, &bits, 0, Some(80)) {
                    Some(problem) => Err(format!("cycle {}: asked for stream {stream}, {problem}", self.cycle)),
                    None => Ok(()),
                };
            }
        }
        Err(format!("cycle {}: no answer to a question", self.cycle))
    }

    /// Whether the model is still one of the design: the scan knows no largest denominator.
    pub fn fits(&self) -> bool {
        self.total() <= MOST_STREAMS || (0..self.total()).all(|stream| self.model.standing(Flow(stream as u32)).tolerance.denominator < 250)
    }
}
