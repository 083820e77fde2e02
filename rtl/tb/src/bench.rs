//! The bench: one design, its golden model, and the queues of arrivals in front of both.
//!
//! **Law.** Events drive it, not a count of cycles. In a cycle with `update_o` set the model is told what the design does. Stream `winner_o`
//! is served until `finish_o`; packets are taken as `pop_o` says, or `take_o` if they are fetched ahead. Then:
//! 1. the winner, the clock and the finish are those of the model, and the engine takes exactly the packets that it must take;
//! 2. `Timing::status_lag` cycles later deadlines, windows, violation bits, counters and packets of every stream are those of the model;
//! 3. `decision_o` brings every decision and its drops once, in order; it stays unchanged until the host takes it;
//! 4. the words at the network's ports are those of the model's network, and no stream is there twice;
//! 5. updates follow the timeline of the architecture, but for cycles in which the host kept a decision waiting;
//! 6. arrivals = served + dropped + queued for every stream, by the design's own counters;
//! 7. the answer to a question about a stream is what `status_o` shows. A design without `status_o`, as it is synthesised, is compared with
//!    the model instead, and law 2 does not apply.
//!
//! Laws 4 and 5 concern engines in steps, law 7 those that have a port for questions.

use crate::design::{Design, PortNumber};
use crate::layout::{self, Record, bit};
use crate::mismatch::{Checked, Mismatch};
use crate::pins::{get, set};
use crate::timing::{Kind, Timing};
use crate::trace::Trace;
use ports::Ports;
use snapshot::{Expected, PATIENCE, Snapshot};
use std::collections::VecDeque;
use std::path::Path;
use tidegate_core::dwcs::{CLAMP, Choice, Dwcs, NEVER, Stream, Tally};
use tidegate_core::packet::Flow;
use tidegate_rtl_model::{Attributes, Device, Update as UpdateStyle};

mod checks;
mod ports;
mod snapshot;

/// The inputs of one cycle that do not follow from the queues.
#[derive(Clone, Copy, Debug)]
pub struct Drive {
    pub enable: bool,
    /// The clock is `time`; otherwise it counts winners.
    pub outside: bool,
    /// At most 2^14 ticks after the last update, never going back.
    pub time: u64,
    /// The host takes a decision.
    pub ready: bool,
    /// The load port: valid, and the word.
    pub load: Option<u64>,
}

/// What a cycle with an update did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Update {
    pub served: Option<usize>,
}

/// One stream as the bench keeps it.
struct Kept {
    contract: Stream,
    head: Option<u64>,
    /// The cycle of the update that left it without a packet.
    emptied: Option<u64>,
    /// Arrivals behind the head, inside the design, with the cycles in which it took them.
    fetched: VecDeque<(u64, u64)>,
    /// Arrivals behind those, outside.
    queue: VecDeque<u64>,
    /// The cycle in which the front of the queue was first shown to the design.
    shown: u64,
    /// Packets since it was loaded, and those that were queued then.
    arrived: u64,
}

pub struct Bench {
    design: Design,
    trace: Option<Trace>,
    ports: Ports,
    timing: Timing,
    /// Streams of the design.
    places: usize,
    golden: Device,
    kept: Vec<Kept>,
    /// Cycles, and decisions that found a winner, since the design was made.
    cycle: u64,
    decisions: u64,
    /// The clock of the design, now and at the last update.
    now: u64,
    told: u64,
    /// The choice of the model; `None` if it has not been asked since the last event.
    choice: Option<Choice>,
    /// Streams with a drop in the last update, one bit each.
    drops: u32,
    /// Packets that the design takes in this update and that are not accounted for yet, one bit per stream.
    pops: Vec<u8>,
    /// Streams whose queues have a new front.
    popped: Vec<usize>,
    /// Decisions that the host has not taken.
    records: VecDeque<Record>,
    /// `decision_o`, as long as it is valid and not taken.
    waiting: Option<u64>,
    /// The first cycle of the decision under way.
    start: u64,
    /// The cycle of the last update.
    updated: u64,
    /// The time that an engine in steps has sampled.
    seen: u64,
    /// The times that the clock of a pipelined engine may take.
    times: VecDeque<u64>,
    /// Cycles of the decision under way in which the host kept it waiting.
    stalls: u64,
    snapshots: VecDeque<Snapshot>,
    spare: Vec<Vec<Expected>>,
    /// What the network's ports held in the last update.
    home: Vec<Attributes>,
    /// It decides, or is about to.
    runs: bool,
}

impl Bench {
    /// The bench of a design with `places` streams, after its reset; it writes a waveform to `trace`.
    ///
    /// # Errors
    /// If the design has other ports, or the waveform cannot be written.
    pub fn new(design: Design, timing: Timing, places: usize, trace: Option<&Path>) -> Result<Bench, String> {
        let ports = Ports::of(&design, places)?;
        let create =
            |path: &Path| Trace::create(path, Ports::lines(&design, places)).map_err(|error| format!("{}: {error}", path.display()));
        let trace = trace.map(create).transpose()?;
        let golden = timing.golden(places, 0, &[]).map_err(|error| error.to_string())?;
        let mut bench = Bench {
            design,
            trace,
            ports,
            timing,
            places,
            golden,
            kept: Vec::new(),
            cycle: 0,
            decisions: 0,
            now: 0,
            told: 0,
            choice: None,
            drops: 0,
            pops: Vec::new(),
            popped: Vec::new(),
            records: VecDeque::new(),
            waiting: None,
            start: 0,
            updated: 0,
            seen: 0,
            times: VecDeque::new(),
            stalls: 0,
            snapshots: VecDeque::new(),
            spare: Vec::new(),
            home: Vec::new(),
            runs: false,
        };
        bench.reset();
        Ok(bench)
    }

    /// Holds the reset for two cycles, whatever is under way.
    pub fn reset(&mut self) {
        self.put(self.ports.rst_ni, 0);
        self.put(self.ports.enable_i, 0);
        self.put(self.ports.load_valid_i, 0);
        if let Some([valid, ..]) = self.ports.query() {
            self.put(valid, 0);
        }
        for _ in 0..2 {
            self.design.settle();
            self.design.edge();
            self.cycle += 1;
        }
        self.put(self.ports.rst_ni, 1);
        self.runs = false;
        self.drops = 0;
        self.records.clear();
        self.waiting = None;
        self.snapshots.clear();
        self.kept.clear();
        self.show();
    }

    fn put(&mut self, port: PortNumber, value: u64) {
        set(&mut self.design, port, value);
    }

    fn get(&self, port: PortNumber) -> u64 {
        get(&self.design, port)
    }

    /// The cycles since the design was made.
    pub fn cycles(&self) -> u64 {
        self.cycle
    }

    /// The decisions that found a winner.
    pub fn decisions(&self) -> u64 {
        self.decisions
    }

    /// The clock at the last update.
    pub fn told(&self) -> u64 {
        self.told
    }

    /// Whether the design can be loaded.
    pub fn is_loading(&self) -> bool {
        !self.runs
    }

    /// Packets that wait behind the head of a stream.
    pub fn queued(&self, stream: usize) -> usize {
        self.kept[stream].queue.len()
    }

    /// The arrival of the oldest packet anywhere.
    pub fn oldest(&self) -> Option<u64> {
        self.kept.iter().filter_map(Kept::oldest).min()
    }

    /// Served and dropped packets, missed deadlines and violations of a stream, by the model.
    pub fn tally(&self, stream: usize) -> Tally {
        self.golden.standing(Flow(stream as u32)).tally
    }

    /// Whether the host has taken all decisions.
    pub fn is_drained(&self) -> bool {
        self.records.is_empty()
    }

    /// How the engine goes about decisions.
    pub fn timing(&self) -> Timing {
        self.timing
    }

    /// Whether the network's ports can be seen.
    pub fn has_network(&self) -> bool {
        self.ports.home_o.is_some()
    }

    /// The network's ports in the last update.
    pub fn home(&self) -> &[Attributes] {
        &self.home
    }

    /// Sets the clock to `start` and loads these streams in the order of numbers given, while nothing is decided. The queues are emptied.
    ///
    /// # Errors
    /// A difference, or a stream that the model refuses.
    pub fn load(&mut self, start: u64, streams: &[Stream], order: &[usize]) -> Checked<()> {
        assert!(streams.len() <= self.places && !self.runs);
        self.cycle(Drive { enable: false, outside: false, time: self.told, ready: false, load: None })?;
        self.loadable(self.told, false)?;
        let golden = self.timing.golden(self.places, start, streams);
        self.golden = golden.map_err(|error| self.differs("load", "contract", None, "nothing".into(), error.to_string()))?;
        self.kept = streams.iter().map(|&contract| Kept::new(contract, self.cycle)).collect();
        self.snapshots.clear();
        self.show();
        (self.told, self.now, self.choice) = (start, start, None);
        self.times.clear();
        for &index in order {
            let word = layout::load(index, &streams[index], self.first_deadline(index));
            self.loadable(start, true)?;
            self.cycle(Drive { enable: false, outside: true, time: start, ready: false, load: Some(word) })?;
        }
        self.cycle(Drive { enable: false, outside: true, time: start, ready: false, load: None })?;
        self.loadable(start, true)?;
        self.expect_status();
        Ok(())
    }

    /// Waits until the design takes a LOAD.
    fn loadable(&mut self, time: u64, outside: bool) -> Checked<()> {
        // The snapshot of the last update is still to be compared.
        for _ in 0..PATIENCE {
            if self.get(self.ports.load_ready_o) == 1 && self.snapshots.is_empty() {
                return Ok(());
            }
            self.cycle(Drive { enable: false, outside, time, ready: false, load: None })?;
        }
        self.same("load", "load_ready_o within 4096 cycles", None, false, true)
    }

    /// Loads one stream anew, between decisions. Its queue stays, its head goes.
    ///
    /// # Errors
    /// A difference, or a stream that the model refuses.
    pub fn reload(&mut self, index: usize, contract: Stream, drive: Drive) -> Checked<()> {
        assert!(!self.runs);
        self.loadable(drive.time, drive.outside)?;
        let outcome = self.golden.load(Flow(index as u32), &contract);
        outcome.map_err(|error| self.differs("load", "contract", None, "nothing".into(), error.to_string()))?;
        let kept = &mut self.kept[index];
        (kept.contract, kept.head, kept.emptied, kept.arrived) = (contract, None, None, kept.queue.len() as u64);
        kept.fetched.clear();
        self.choice = None;
        let word = layout::load(index, &contract, self.first_deadline(index));
        self.cycle(Drive { load: Some(word), ..drive })?;
        self.loadable(drive.time, drive.outside)?;
        self.expect_status();
        self.loadable(drive.time, drive.outside)
    }

    fn first_deadline(&self, index: usize) -> u16 {
        // A deadline that is never read may have any value.
        let deadline = self.golden.standing(Flow(index as u32)).deadline;
        if deadline == NEVER { self.cycle as u16 } else { deadline as u16 }
    }

    /// A packet comes, behind those that wait. Ages of packets differ by less than 2^15.
    pub fn arrive(&mut self, stream: usize, arrival: u64) {
        let kept = &mut self.kept[stream];
        kept.arrived += 1;
        kept.queue.push_back(arrival);
        if kept.queue.len() == 1 {
            kept.shown = self.cycle;
            self.show_one(stream);
        }
    }

    /// Puts the fronts of all queues on the ports.
    fn show(&mut self) {
        self.design.bits_mut(self.ports.next_valid_i).fill(0);
        (0..self.kept.len()).for_each(|stream| self.show_one(stream));
    }

    fn show_one(&mut self, stream: usize) {
        let front = self.kept[stream].queue.front().copied();
        layout::set_bit(self.design.bits_mut(self.ports.next_valid_i), stream, front.is_some());
        // An invalid packet gets an arrival that would be noticed.
        let arrival = front.map_or(!self.cycle as u16, |arrival| arrival as u16);
        self.design.bits_mut(self.ports.next_arrival_i)[2 * stream..][..2].copy_from_slice(&arrival.to_le_bytes());
    }

    pub fn cycle(&mut self, drive: Drive) -> Checked<Option<Update>> {
        debug_assert!(drive.time >= self.told && drive.time - self.told <= CLAMP || !drive.outside || !self.runs);
        self.put(self.ports.enable_i, drive.enable.into());
        self.put(self.ports.outside_i, drive.outside.into());
        self.put(self.ports.time_i, drive.time & 0xffff);
        self.put(self.ports.decision_ready_i, drive.ready.into());
        self.put(self.ports.load_valid_i, drive.load.is_some().into());
        if let Some(word) = drive.load {
            self.put(self.ports.load_i, word);
        }
        if self.cycle <= self.latch() {
            self.seen = drive.time;
        }
        if drive.outside && self.timing.is_pipelined() && self.times.back() != Some(&drive.time) {
            self.times.push_back(drive.time);
        }
        self.design.settle();
        if let Some(trace) = &mut self.trace {
            let written = trace.sample(&self.design, self.cycle);
            written.map_err(|error| self.differs("trace", "the waveform", None, error.to_string(), "written".into()))?;
        }
        if self.snapshots.front().is_some_and(|snapshot| snapshot.due == self.cycle) {
            self.check_status()?;
        }
        self.check_load(drive.enable)?;
        let update = self.get(self.ports.update_o) == 1;
        let valid = self.get(self.ports.decision_valid_o) == 1;
        let outcome = if update {
            self.check_timeline(true)?;
            Some(self.update(drive)?)
        } else {
            self.check_timeline(false)?;
            None
        };
        self.fetch(update, drive.load)?;
        self.check_decision(valid, drive.ready)?;
        self.design.edge();
        // The next packet shows from the next cycle on.
        while let Some(stream) = self.popped.pop() {
            self.show_one(stream);
        }
        if !self.runs {
            // In a pipelined engine only a LOAD or a decision sets the clock.
            if drive.outside && (!self.timing.is_pipelined() || drive.load.is_some()) {
                self.now = drive.time;
            }
            self.runs = drive.enable;
            self.begin();
        } else if outcome.is_some() {
            self.begin();
            // A decision that was begun is finished before streams can be loaded.
            self.runs = drive.enable || self.timing.is_pipelined();
        }
        self.cycle += 1;
        Ok(outcome)
    }

    /// The cycle in which engines in steps look at the time.
    fn latch(&self) -> u64 {
        match (self.timing.kind, self.timing.architecture(self.places)) {
            (Kind::InSteps(_, UpdateStyle::InTurn), Some(architecture)) => self.start + architecture.timeline(self.places).period() - 2,
            _ => self.start,
        }
    }

    /// The next cycle is the first of a decision.
    fn begin(&mut self) {
        (self.start, self.stalls) = (self.cycle + 1, 0);
    }

    fn differs(&self, check: &'static str, field: &str, stream: Option<usize>, design: String, model: String) -> Box<Mismatch> {
        let mut context = Vec::new();
        if let Some(kept) = stream.and_then(|stream| self.kept.get(stream)) {
            context.push(format!("{:?}, head {:?}, {} behind it", kept.contract, kept.head, kept.queue.len()));
        }
        context.push(format!("clock {} ({:#06x}), last update at {}", self.now, self.now as u16, self.told));
        Box::new(Mismatch { check, field: field.to_owned(), stream, design, model, at: (self.cycle, self.decisions), context })
    }

    /// Compares one value.
    pub fn same<T: PartialEq + std::fmt::Debug>(
        &self,
        check: &'static str,
        field: &str,
        stream: Option<usize>,
        design: T,
        model: T,
    ) -> Checked<()> {
        if design == model { Ok(()) } else { Err(self.differs(check, field, stream, format!("{design:?}"), format!("{model:?}"))) }
    }

    /// The model's choice.
    fn choice(&mut self) -> Choice {
        let told = self.told;
        *self.choice.get_or_insert_with(|| self.golden.select(told))
    }

    fn update(&mut self, drive: Drive) -> Checked<Update> {
        let served = (self.get(self.ports.served_o) == 1).then(|| self.get(self.ports.winner_o) as usize);
        let expected = match self.choice() {
            Choice::Serve(stream) => Some(stream.index()),
            _ => None,
        };
        self.same("winner", "winner", None, served, expected).map_err(|mismatch| self.with_candidates(mismatch))?;
        let finish = self.finish(drive, served.is_some())?;
        // The clock of a pipelined engine is one ahead.
        let now = if self.timing.is_pipelined() { finish } else { self.now };
        self.same("clock", "now_o", None, self.get(self.ports.now_o) as u16, now as u16)?;
        self.check_network()?;
        if served.is_some() || self.drops != 0 {
            let winner = served.map(|stream| stream as u32);
            self.records.push_back(Record { winner, timestamp: self.now as u16, drops: self.drops });
        }

        self.pops.clear();
        self.pops.extend_from_slice(self.design.bits(self.ports.take_o.unwrap_or(self.ports.pop_o)));
        if let Some(stream) = served {
            let next = self.take(stream, true)?;
            self.kept[stream].head = next;
            self.golden.served(Flow(stream as u32), finish, next);
        }
        for stream in (0..self.kept.len()).filter(|&stream| Some(stream) != served) {
            if self.kept[stream].head.is_none() {
                let next = self.take(stream, false)?;
                if let Some(arrival) = next {
                    self.kept[stream].head = next;
                    self.golden.activate(finish, Flow(stream as u32), arrival);
                }
            }
        }
        let mut drops = 0;
        let choice = loop {
            match self.golden.select(finish) {
                Choice::Discard(stream) => {
                    drops |= 1 << stream.0;
                    let next = self.take(stream.index(), true)?;
                    self.kept[stream.index()].head = next;
                    self.golden.lost(stream, next);
                }
                choice => break choice,
            }
        };
        if let Some(stream) = (0..self.places).find(|&stream| bit(&self.pops, stream)) {
            return Err(self.differs(
                "pop",
                "takes the packet behind the head",
                Some(stream),
                "true".into(),
                "false: the head stays".into(),
            ));
        }
        self.decisions += u64::from(served.is_some());
        (self.drops, self.told, self.now, self.choice) = (drops, finish, finish, Some(choice));
        self.expect_status();
        Ok(Update { served })
    }

    /// The clock at the end of the service, as the model has it.
    fn finish(&mut self, drive: Drive, served: bool) -> Checked<u64> {
        let found = self.get(self.ports.finish_o) as u16;
        let finish = match self.timing.kind {
            Kind::InSteps(..) if !drive.outside => self.now + u64::from(served),
            Kind::InSteps(..) => self.seen,
            Kind::Pipelined { .. } if !drive.outside => self.now + 1,
            Kind::Pipelined { .. } => {
                // One of the times shown, and none before the last update.
                let Some(at) = self.times.iter().position(|&time| time >= self.told && time as u16 == found) else {
                    return Err(self.differs("clock", "finish_o", None, found.to_string(), format!("one of {:?}", self.times)));
                };
                self.times.drain(..at);
                self.times[0]
            }
        };
        self.same("clock", "finish_o", None, found, finish as u16)?;
        Ok(finish)
    }

    /// The packet that becomes the head of `stream` in this update, if the design takes one. It must take one if it has seen one; `always`
    /// means that it looks in this cycle.
    fn take(&mut self, stream: usize, always: bool) -> Checked<Option<u64>> {
        let takes = bit(&self.pops, stream);
        let kept = &self.kept[stream];
        let is_there = !kept.queue.is_empty();
        let expected = match self.timing.kind {
            Kind::InSteps(_, UpdateStyle::InTurn) => is_there,
            Kind::InSteps(_, UpdateStyle::Ahead) => is_there && (always || kept.shown <= self.start),
            // It has seen what was fetched before the last update. A stream that was left without a packet waits for another update.
            Kind::Pipelined { .. } => {
                let may_come_back = always || kept.emptied != Some(self.updated);
                let is_seen = |&(_, cycle): &(u64, u64)| cycle < self.updated || cycle < self.cycle && takes;
                may_come_back && kept.fetched.front().is_some_and(is_seen)
            }
        };
        self.same("pop", "takes the packet behind the head", Some(stream), takes, expected)?;
        layout::set_bit(&mut self.pops, stream, false);
        if !takes {
            if always {
                self.kept[stream].emptied = Some(self.cycle);
            }
            return Ok(None);
        }
        if self.timing.is_pipelined() {
            return Ok(self.kept[stream].fetched.pop_front().map(|(arrival, _)| arrival));
        }
        self.popped.push(stream);
        self.kept[stream].shown = self.cycle + 1;
        Ok(self.kept[stream].queue.pop_front())
    }

    /// Checks the packets that leave their queues before they become heads. A LOAD discards those inside.
    fn fetch(&mut self, update: bool, load: Option<u64>) -> Checked<()> {
        if !self.timing.is_pipelined() {
            let pops = self.design.bits(self.ports.pop_o).iter().any(|&bits| bits != 0);
            return self.same("pop", "packets taken without an update", None, pops && !update, false);
        }
        if update {
            self.updated = self.cycle;
        }
        let loaded = load.filter(|_| self.get(self.ports.load_ready_o) == 1).map(layout::loaded);
        for stream in 0..self.places {
            let pops = bit(self.design.bits(self.ports.pop_o), stream);
            if pops && loaded == Some(stream) {
                return Err(self.differs("pop", "takes a packet while its stream is loaded", Some(stream), "true".into(), "false".into()));
            }
            if pops {
                let Some(arrival) = self.kept.get_mut(stream).and_then(|kept| kept.queue.pop_front()) else {
                    return Err(self.differs("pop", "takes a packet that is not there", Some(stream), "true".into(), "false".into()));
                };
                self.kept[stream].fetched.push_back((arrival, self.cycle));
                self.popped.push(stream);
            }
        }
        Ok(())
    }
}

impl Kept {
    fn oldest(&self) -> Option<u64> {
        let fetched = self.fetched.front().map(|&(arrival, _)| arrival);
        self.head.or(fetched).or(self.queue.front().copied())
    }

    fn new(contract: Stream, cycle: u64) -> Kept {
        Kept { contract, head: None, emptied: None, fetched: VecDeque::new(), queue: VecDeque::new(), shown: cycle, arrived: 0 }
    }
}
