//! The bench of the tiled engine: a Verilated `tiled` beside the golden models of `tidegate-core`, stream by stream and decision by decision.
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

use layout::{bit, field};
use random::Random;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;
use tidegate_core::dwcs::device::{Architecture, Clock, Device, MOST_STREAMS, Size};
use tidegate_core::dwcs::{CLAMP, Choice, Dwcs, Early, Missed, Order, Rules, Scan, Stream, Window};
use tidegate_core::packet::Flow;

#[path = "../design.rs"]
mod design;
#[allow(dead_code, reason = "the other engines have more ports")]
#[path = "../layout.rs"]
mod layout;
#[allow(dead_code, reason = "the other engines need more")]
#[path = "../random.rs"]
mod random;

use design::{Design, PortNumber};

const HELP: &str = "\
A Verilated tiled engine beside its golden model, decision by decision.

Usage: tiled LIBRARY --lanes N --rounds R [--decisions N] [--seed N]

LIBRARY is a design as `cargo xtask rtl` builds it.

Exit codes: 0 the design does as the model, 1 it does not, 2 bad input
";

/// Bits of `step_t`: popped, droppable, state, missed, violations.
const STEP: usize = 2 + 50 + 32;

type Checked<T> = Result<T, String>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((library, lanes, rounds, decisions, seed)) = options(&arguments) else {
        print!("{HELP}");
        return ExitCode::from(2);
    };
    let begun = Instant::now();
    let (mut done, mut cycles, mut busy, mut seed) = (0, 0, (0, 0), seed);
    while done < decisions {
        match run(&library, lanes, rounds, seed, decisions - done) {
            Ok(run) => {
                done += run.decisions;
                cycles += run.cycles;
                busy = (busy.0 + run.free_cycles, busy.1 + run.free_passes);
            }
            Err(problem) => {
                println!("seed {seed}: {problem}");
                return ExitCode::from(1);
            }
        }
        seed += 1;
    }
    let seconds = begun.elapsed().as_secs_f64();
    let period = busy.0 as f64 / (busy.1 as f64).max(1.0);
    println!("lanes={lanes} rounds={rounds} decisions={done} cycles={cycles} cycles_per_decision={period:.2} seconds={seconds:.2}");
    ExitCode::SUCCESS
}

fn options(arguments: &[String]) -> Option<(PathBuf, usize, usize, u64, u64)> {
    let (mut library, mut lanes, mut rounds, mut decisions, mut seed) = (None, None, None, 100_000, 1);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if !argument.starts_with("--") {
            library = Some(PathBuf::from(argument));
            continue;
        }
        let value = rest.next()?.parse::<u64>().ok()?;
        match argument.as_str() {
            "--lanes" => lanes = Some(value as usize),
            "--rounds" => rounds = Some(value as usize),
            "--decisions" => decisions = value,
            "--seed" => seed = value,
            _ => return None,
        }
    }
    Some((library?, lanes?, rounds?, decisions, seed))
}

/// What the streams ask for and how packets come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Traffic {
    /// Contracts and arrivals by chance.
    Random,
    /// All ask for every slot and drop what is late, so that all miss and drop at once.
    AllDrop,
    /// All ask for every slot and drop nothing.
    AllMiss,
    /// All alike, so that arrivals and numbers decide.
    Alike,
}

/// The ports that are used in every cycle.
struct Ports {
    rst: PortNumber,
    enable: PortNumber,
    outside: PortNumber,
    time: PortNumber,
    load: [PortNumber; 5],
    arrival: [PortNumber; 4],
    record: [PortNumber; 3],
    query: [PortNumber; 3],
    status: [PortNumber; 2],
    update: PortNumber,
    round: PortNumber,
    served: PortNumber,
    winner: PortNumber,
    finish: PortNumber,
    observed: PortNumber,
}

impl Ports {
    fn new(design: &Design) -> Checked<Ports> {
        let port = |name: &str| design.port(name).ok_or_else(|| format!("the design has no port {name}"));
        Ok(Ports {
            rst: port("rst_ni")?,
            enable: port("enable_i")?,
            outside: port("outside_i")?,
            time: port("time_i")?,
            load: [port("load_valid_i")?, port("load_ready_o")?, port("load_id_i")?, port("load_deadline_i")?, port("load_contract_i")?],
            arrival: [port("arrival_valid_i")?, port("arrival_ready_o")?, port("arrival_id_i")?, port("arrival_i")?],
            record: [port("record_valid_o")?, port("record_ready_i")?, port("record_o")?],
            query: [port("query_valid_i")?, port("query_ready_o")?, port("query_id_i")?],
            status: [port("status_valid_o")?, port("status_o")?],
            update: port("update_o")?,
            round: port("update_round_o")?,
            served: port("served_o")?,
            winner: port("winner_o")?,
            finish: port("finish_o")?,
            observed: port("observed_o")?,
        })
    }
}

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

#[derive(Clone, Copy, Debug, Default)]
struct Done {
    decisions: u64,
    cycles: u64,
    free_cycles: u64,
    free_passes: u64,
}

struct Bench {
    design: Design,
    ports: Ports,
    lanes: usize,
    rounds: usize,
    model: Box<dyn Dwcs>,
    streams: Vec<Stream>,
    kept: Vec<Kept>,
    /// How many packets of each stream the engine had taken in when the pass before, and this one, were under way.
    settled: [Vec<u64>; 3],
    /// The model's clock.
    now: u64,
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
    offered: Option<(usize, u64)>,
    cycle: u64,
    decisions: u64,
    passes: u64,
}

fn set(design: &mut Design, port: PortNumber, value: u64) {
    let bytes = value.to_le_bytes();
    let bits = design.bits_mut(port);
    let length = bits.len().min(8);
    bits[..length].copy_from_slice(&bytes[..length]);
}

fn get(design: &Design, port: PortNumber) -> u64 {
    design.bits(port).iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

fn flag(design: &Design, port: PortNumber) -> bool {
    design.bits(port)[0] & 1 == 1
}

impl Bench {
    /// The number of a stream is its round above its lane.
    fn width(count: usize) -> usize {
        count.next_power_of_two().trailing_zeros() as usize
    }

    fn id(&self, stream: usize) -> u64 {
        ((stream / self.lanes) << Bench::width(self.lanes) | stream % self.lanes) as u64
    }

    fn stream(&self, id: usize) -> usize {
        (id >> Bench::width(self.lanes)) * self.lanes + (id & ((1 << Bench::width(self.lanes)) - 1))
    }

    fn total(&self) -> usize {
        self.lanes * self.rounds
    }

    /// One clock cycle with the inputs that are set. True if a pass ended in it.
    fn cycle(&mut self, ready: bool) -> Checked<bool> {
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
    fn stopped(&mut self, ready_cycles: usize) -> Checked<()> {
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
    fn offer(&mut self, stream: usize, arrival: u64) {
        self.offered = Some((stream, arrival));
        let number = self.id(stream);
        let [valid, _, id, time] = self.ports.arrival;
        set(&mut self.design, valid, 1);
        set(&mut self.design, id, number);
        set(&mut self.design, time, arrival & 0xffff);
    }

    fn load(&mut self, stream: usize) -> Checked<()> {
        let contract = self.streams[stream];
        let deadline = contract.first_deadline.unwrap_or(self.now) as u16;
        let word = layout::load(0, &contract, deadline);
        let [valid, ready, id, first, bits] = self.ports.load;
        set(&mut self.design, valid, 1);
        let number = self.id(stream);
        set(&mut self.design, id, number);
        set(&mut self.design, first, deadline.into());
        set(&mut self.design, bits, word & ((1 << 42) - 1));
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

    fn question(&mut self, stream: usize) -> Checked<()> {
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

    fn fits(&self) -> bool {
        self.total() <= MOST_STREAMS || (0..self.total()).all(|stream| self.model.standing(Flow(stream as u32)).tolerance.denominator < 250)
    }
}

fn contracts(traffic: Traffic, total: usize, least: u64, start: u64, random: &mut Random) -> Vec<Stream> {
    let penalty = random.below(3) as u32;
    (0..total)
        .map(|_| {
            let x = random.below(4) as u32;
            let window = Window::new(x, x + random.below(4) as u32);
            let span = random.pick(&[4, 2000]);
            let first_deadline = Some(start + random.below(span));
            let all = |droppable| Stream { droppable, penalty, first_deadline: Some(start), ..Stream::windowed(window, 1) };
            match traffic {
                Traffic::AllDrop => all(true),
                Traffic::AllMiss => all(false),
                Traffic::Alike => Stream { first_deadline: Some(start), penalty: 0, ..Stream::windowed(Window::new(1, 2), least) },
                Traffic::Random => {
                    let period = match random.below(8) {
                        0 => CLAMP - random.below(2),
                        1 | 2 => least,
                        3 => least + random.below(3),
                        4 => return Stream::without_deadline(window),
                        _ => least + random.below(2 * total as u64),
                    };
                    let stream = Stream { first_deadline, penalty, droppable: random.once_in(2), ..Stream::windowed(window, period) };
                    let fixed = random.once_in(8);
                    if fixed { Stream { is_fixed: true, window: Window::new(0, window.deadlines), ..stream } } else { stream }
                }
            }
        })
        .collect()
}

/// One run: contracts of one kind, from reset to the questions at the end.
fn run(library: &Path, lanes: usize, rounds: usize, seed: u64, most: u64) -> Checked<Done> {
    let mut random = Random::new(seed);
    let design = Design::load(library, seed)?;
    let ports = Ports::new(&design)?;
    let total = lanes * rounds;
    let traffic = random.pick(&[Traffic::Random, Traffic::Random, Traffic::AllDrop, Traffic::AllMiss, Traffic::Alike]);
    // The time that the design sees moves on by at most two steps between two passes.
    let outside = traffic == Traffic::Random && random.once_in(2);
    let step = if outside { 1 + random.below(3) } else { 1 };
    let least = if outside && total > MOST_STREAMS { 2 * step } else { 1 };
    let start = random.pick(&[0, 32_700, 65_500, 65_530]) + random.below(30);
    let streams = contracts(traffic, total, least, start, &mut random);
    let size = Size::ALL.into_iter().find(|size| size.ports() == lanes.min(32)).ok_or("no such network")?;
    let model: Box<dyn Dwcs> = if total <= MOST_STREAMS {
        let device = Device::new(Architecture::winner_only(size), Clock::Outside, start, &streams);
        Box::new(device.map_err(|error| error.to_string())?)
    } else {
        let rules = Rules { missed: Missed::Complete, early: Early::Clamp };
        Box::new(Scan::new(rules, Order::DeadlineFirst, &streams).map_err(|error| error.to_string())?)
    };
    let mut bench = Bench {
        design,
        ports,
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
    };
    // Reset; then LOAD, in any order.
    let (rst, enable, time, clock) = (bench.ports.rst, bench.ports.enable, bench.ports.time, bench.ports.outside);
    for port in [rst, enable, bench.ports.load[0], bench.ports.arrival[0], bench.ports.query[0]] {
        set(&mut bench.design, port, 0);
    }
    for _ in 0..2 {
        bench.design.settle();
        bench.design.edge();
    }
    set(&mut bench.design, rst, 1);
    set(&mut bench.design, clock, 1);
    set(&mut bench.design, time, start & 0xffff);
    let mut order: Vec<usize> = (0..total).collect();
    random.shuffle(&mut order);
    for stream in order {
        bench.load(stream)?;
    }
    set(&mut bench.design, clock, u64::from(outside));
    let decisions = most.min(if total > 256 { 2000 } else { 20_000 });
    let mut done = Done::default();
    let (mut told, mut stop_at) = (start, 0);
    let slow_host = random.once_in(4);
    let lazy = random.pick(&[0, 1, 3, 20]);
    let mut burst = 0;
    let (mut last_pass, mut last_passes) = (0u64, 0u64);
    let mut stalled = 0;
    while bench.decisions < decisions && bench.fits() {
        // Now and then it is stopped, asked, and goes on.
        let stopping = bench.passes >= stop_at;
        set(&mut bench.design, enable, u64::from(!stopping));
        if stopping {
            let ready = bench.ports.load[1];
            bench.design.settle();
            if flag(&bench.design, ready) {
                bench.stopped(200)?;
                let asked = random.below(total as u64) as usize;
                for stream in 0..total.min(64) {
                    bench.question((asked + stream) % total)?;
                }
                let pause = random.pick(&[3, 1000, 1000]);
                stop_at = bench.passes + 1 + random.below(pause);
                // It goes on with what was decided and not done; a clock from outside has been set meanwhile.
                let stamp = if outside { told } else { bench.now };
                let decision = bench.decision(stamp);
                bench.expected.push_back(Expected { drops: Vec::new(), decision });
                last_pass = bench.cycle;
                last_passes = bench.passes;
                continue;
            }
        }
        // Packets.
        if bench.offered.is_none() && (burst > 0 || random.below(lazy + 1) == 0) {
            let longest = if random.once_in(20) { 200 } else { 4 };
            burst = if burst > 0 { burst - 1 } else { random.below(longest) };
            bench.offer(random.below(total as u64) as usize, told);
        }
        let host = !slow_host || random.below(100) < 3;
        if bench.cycle(host)? {
            stalled = 0;
            if outside {
                told += random.below(step + 1);
                set(&mut bench.design, time, told & 0xffff);
            } else {
                told = bench.now;
            }
        }
        stalled += 1;
        if stalled > 20_000 {
            return Err(format!("cycle {}: no pass for a long time", bench.cycle));
        }
        // How long passes take while nothing holds them up.
        if stopping || slow_host {
            (last_pass, last_passes) = (bench.cycle, bench.passes);
        } else if bench.passes == last_passes + 20 {
            done.free_cycles += bench.cycle - last_pass;
            done.free_passes += 20;
            (last_pass, last_passes) = (bench.cycle, bench.passes);
        }
    }
    set(&mut bench.design, enable, 0);
    let ready = bench.ports.load[1];
    loop {
        bench.design.settle();
        if flag(&bench.design, ready) {
            break;
        }
        bench.cycle(true)?;
    }
    bench.stopped(200)?;
    for stream in 0..total {
        bench.question(stream)?;
    }
    done.decisions = bench.decisions.max(1);
    done.cycles = bench.cycle;
    Ok(done)
}
