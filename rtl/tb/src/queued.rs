//! The bench of engines that hold the queues of arrivals themselves: one design, its golden model, and the packets in front of both.
//!
//! An [`Engine`] adapts the bench to a design: it tells the model what the design does, and compares what the design shows.
//!
//! **Law.** For every engine:
//! 1. winners, drops and clock are those of the model; so is every stream that the design shows, and every answer to a question;
//! 2. packets become heads in the order in which they came, each once;
//! 3. the reports to the host are what happened, in that order; a report that the host does not take stays as it is.
//!
//! The model is the device model for up to 32 streams where the clock counts decisions, otherwise the scan. The scan does not saturate
//! denominators, so a run with it ends when one comes close to 255.

use crate::contracts::Traffic;
use crate::design::{Design, PortNumber};
use crate::layout::Status;
use crate::mismatch::{Checked, Mismatch};
use crate::parameters::Parameters;
use crate::pins::{Pins, flag, set};
use crate::random::Random;
use crate::reports::{Report, Reports};
use crate::standing::{Shown, difference};
use std::collections::VecDeque;
use tidegate_core::dwcs::{Dwcs, Stream};
use tidegate_core::packet::Flow;

pub use heap::Heap;
pub use loads::loads;
pub use tiled::Tiled;
pub use traffic::random;

mod heap;
mod loads;
mod tiled;
mod traffic;

/// A denominator from which on the scan is not compared any more: the design saturates at 255.
const SCAN_DENOMINATORS: u64 = 250;

/// An engine as the bench knows it.
pub trait Engine: Sized {
    /// The traffic of a run is one of these.
    const TRAFFIC: &'static [Traffic];
    /// A decision is a pass over all streams, which the bench sees when it is over: reports may come before, and no time passes idle.
    /// Otherwise the bench sees events one after the other.
    const HAS_PASSES: bool;
    /// Cycles without an event after which nothing is under way.
    const REST: u64;
    /// Answers to questions have the arrival of the head.
    const ANSWERS_HAVE_ARRIVALS: bool;

    /// The engine of a design with these parameters.
    ///
    /// # Errors
    /// A port or a parameter that is missing.
    fn new(design: &Design, parameters: &Parameters) -> Result<Self, String>;

    fn reports(&self) -> Reports;

    /// How the clock goes in traffic of this kind.
    fn pace(&self, traffic: Traffic, streams: usize, random: &mut Random) -> Pace;

    /// Reads what the settled design shows of events. True if a decision or a pass ended.
    fn observe(bench: &mut Bench<Self>) -> Checked<bool>;

    /// The design has taken the packet that was offered.
    fn accept(bench: &mut Bench<Self>, stream: usize, arrival: u64) -> Checked<()>;

    /// Follows a cycle in which [`Engine::observe`] returned true.
    fn advance(bench: &mut Bench<Self>) -> Checked<()>;

    /// Nothing is under way any more: tells the model what it does not know yet.
    fn rest(bench: &mut Bench<Self>) -> Checked<()>;

    /// Decisions are switched on, with the clock at `timestamp`.
    fn resume(bench: &mut Bench<Self>, timestamp: u64);
}

/// How the clock goes in a run, and what contracts follow from it.
pub struct Pace {
    /// The clock is given from outside, and goes on by up to `step` ticks per decision; otherwise it counts decisions.
    pub outside: bool,
    pub step: u64,
    /// The shortest period, where not all streams ask for every slot.
    pub least: u64,
    pub penalties: &'static [u32],
    /// Ports of the device model; none if the scan is the model.
    pub model_ports: Option<usize>,
}

/// A stream's packets in the design.
#[derive(Clone, Debug, Default)]
pub struct Packets {
    pub head: Option<u64>,
    pub waiting: VecDeque<u64>,
}

/// Reports that are still to come: drops in any order, then the decision.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    pub drops: Vec<Report>,
    pub decision: Option<Report>,
}

pub struct Bench<E> {
    pub design: Design,
    pub pins: Pins,
    pub engine: E,
    pub model: Box<dyn Dwcs>,
    /// The model saturates denominators, and shows no deadline that has come while a stream is idle.
    pub is_device: bool,
    pub streams: Vec<Stream>,
    pub packets: Vec<Packets>,
    /// The model's clock.
    pub now: u64,
    pub expected: VecDeque<Expected>,
    reported: VecDeque<Report>,
    /// The report that was offered and not taken.
    held: Option<Vec<u8>>,
    /// The packet in front of the design.
    pub offered: Option<(usize, u64)>,
    pub cycle: u64,
    pub decisions: u64,
    /// Decisions, or passes in which the engine may have decided.
    pub steps: u64,
    pub misses: u64,
    pub winner: Option<usize>,
    /// Cycles since the last event.
    pub quiet: u64,
    /// A denominator is too large for the scan.
    pub is_worn: bool,
}

impl<E: Engine> Bench<E> {
    /// A design before its reset, beside a model with its clock at `start`.
    ///
    /// # Errors
    /// If the design lacks a port.
    pub fn new(
        design: Design,
        engine: E,
        (model, is_device): (Box<dyn Dwcs>, bool),
        streams: Vec<Stream>,
        start: u64,
    ) -> Result<Bench<E>, String> {
        Ok(Bench {
            pins: Pins::new(&design)?,
            design,
            engine,
            model,
            is_device,
            packets: vec![Packets::default(); streams.len()],
            streams,
            now: start,
            expected: VecDeque::new(),
            reported: VecDeque::new(),
            held: None,
            offered: None,
            cycle: 0,
            decisions: 0,
            steps: 0,
            misses: 0,
            winner: None,
            quiet: 0,
            is_worn: false,
        })
    }

    pub fn fail<T>(&self, check: &'static str, what: String) -> Checked<T> {
        Err(Mismatch::of(check, what, (self.cycle, self.decisions)))
    }

    /// One clock cycle with the inputs that are set. True if a decision or a pass ended in it.
    pub fn cycle(&mut self, ready: bool) -> Checked<bool> {
        set(&mut self.design, self.pins.record[1], u64::from(ready));
        self.design.settle();
        self.report(ready)?;
        let advances = E::observe(self)?;
        let taken = self.offered.take_if(|_| flag(&self.design, self.pins.arrival[1]));
        self.design.edge();
        if let Some((stream, arrival)) = taken {
            E::accept(self, stream, arrival)?;
            set(&mut self.design, self.pins.arrival[0], 0);
        }
        self.cycle += 1;
        self.quiet += 1;
        if advances {
            E::advance(self)?;
            self.steps += 1;
        }
        self.match_reports()?;
        Ok(advances)
    }

    fn report(&mut self, ready: bool) -> Checked<()> {
        if !flag(&self.design, self.pins.record[0]) {
            return if self.held.is_some() { self.fail("stability", "a report that was offered is gone".to_owned()) } else { Ok(()) };
        }
        let bits = self.design.bits(self.pins.record[2]).to_vec();
        if self.held.as_ref().is_some_and(|held| *held != bits) {
            return self.fail("stability", "a report that was offered has changed".to_owned());
        }
        if ready {
            self.reported.push_back(self.engine.reports().decode(&bits));
        }
        self.held = (!ready).then_some(bits);
        Ok(())
    }

    /// Compares reports with what is expected, as far as both have come.
    ///
    /// # Errors
    /// A report that is not the next one.
    pub fn match_reports(&mut self) -> Checked<()> {
        while let (Some(expected), Some(report)) = (self.expected.front_mut(), self.reported.front()) {
            if let Some(at) = expected.drops.iter().position(|drops| drops == report) {
                expected.drops.swap_remove(at);
            } else if expected.drops.is_empty() && expected.decision.is_none() {
                self.expected.pop_front();
                continue;
            } else if expected.drops.is_empty() && expected.decision.as_ref() == Some(report) {
                expected.decision = None;
            } else {
                let what = format!("the report is {report:?}, the model has {expected:?}");
                return self.fail("report", what);
            }
            self.reported.pop_front();
        }
        match self.reported.front() {
            Some(report) if !E::HAS_PASSES => self.fail("report", format!("{report:?}, of which nothing has happened")),
            _ => Ok(()),
        }
    }

    /// Compares a stream with the model, as the design shows it after an event.
    ///
    /// # Errors
    /// The first field that differs.
    pub fn check(&mut self, stream: usize, seen: &Status, shown: Shown) -> Checked<()> {
        let standing = self.model.standing(Flow(stream as u32));
        if !self.is_device && standing.tolerance.denominator >= SCAN_DENOMINATORS {
            self.is_worn = true;
            return Ok(());
        }
        match difference(seen, &standing, &shown) {
            Some((name, found, wanted)) => {
                let contract = &self.streams[stream];
                self.fail("status", format!("stream {stream} {contract:?}: {name} is {found}, the model has {wanted}"))
            }
            None => Ok(()),
        }
    }

    /// The deadline of a stream, if it has one. While it has no packet, a deadline that has come is the clock.
    pub fn deadline(&self, stream: usize) -> Option<u64> {
        let deadline = self.model.standing(Flow(stream as u32)).deadline;
        self.streams[stream].period.map(|_| if self.packets[stream].head.is_some() { deadline } else { deadline.max(self.now) })
    }

    /// Offers a packet until the design takes it.
    pub fn offer(&mut self, stream: usize, arrival: u64) {
        self.offered = Some((stream, arrival));
        self.pins.offer(&mut self.design, stream as u64, arrival);
    }

    /// LOAD.
    pub fn load(&mut self, stream: usize) -> Checked<()> {
        self.pins.load(&mut self.design, stream as u64, &self.streams[stream], self.now);
        let [valid, ready, ..] = self.pins.load;
        while !self.cycle_until(ready)? {}
        set(&mut self.design, valid, 0);
        Ok(())
    }

    /// One cycle; whether the design was ready in it.
    fn cycle_until(&mut self, ready: PortNumber) -> Checked<bool> {
        self.design.settle();
        let taken = flag(&self.design, ready);
        self.cycle(true)?;
        Ok(taken)
    }

    /// Switches decisions off, and waits until nothing is under way and every report has been read.
    ///
    /// # Errors
    /// A difference, or a report that does not come.
    pub fn stop(&mut self) -> Checked<()> {
        set(&mut self.design, self.pins.enable, 0);
        if E::HAS_PASSES {
            while !self.cycle_until(self.pins.load[1])? {}
        }
        // A packet at the door may wait for a queue that is full.
        self.quiet = 0;
        let begun = self.cycle;
        while self.quiet < E::REST {
            self.cycle(true)?;
            if self.cycle > begun + 1_000_000 {
                return self.fail("rest", "events do not end".to_owned());
            }
        }
        E::rest(self)?;
        self.match_reports()?;
        self.expected.retain(|expected| !expected.drops.is_empty() || expected.decision.is_some());
        if self.expected.is_empty() && self.reported.is_empty() {
            Ok(())
        } else {
            self.fail("report", format!("still to come: {:?}; left over: {:?}", self.expected, self.reported))
        }
    }

    /// Cycles in which the host takes reports.
    pub fn idle(&mut self, cycles: u64) -> Checked<()> {
        (0..cycles).try_for_each(|_| self.cycle(true).map(|_| ()))
    }

    /// Asks about `most` streams from `first` on, each once.
    pub fn questions(&mut self, first: usize, most: usize) -> Checked<()> {
        let total = self.streams.len();
        (0..total.min(most)).try_for_each(|stream| self.question((first + stream) % total))
    }

    /// Asks for a stream's deadline, window and counters.
    ///
    /// # Errors
    /// If the answer is not what the model has, or there is none.
    fn question(&mut self, stream: usize) -> Checked<()> {
        let [valid, ready, id] = self.pins.query;
        set(&mut self.design, id, stream as u64);
        set(&mut self.design, valid, 1);
        for _ in 0..100 {
            if self.cycle_until(ready)? {
                set(&mut self.design, valid, 0);
            }
            self.design.settle();
            if flag(&self.design, self.pins.status[0]) {
                let seen = Status::decode(self.design.bits(self.pins.status[1]), 0);
                let head = self.packets[stream].head;
                let arrival = head.filter(|_| E::ANSWERS_HAVE_ARRIVALS);
                return self.check(
                    stream,
                    &seen,
                    Shown { has_packet: head.is_some(), arrival, deadline: self.deadline(stream), counters: 0..5 },
                );
            }
        }
        self.fail("question", "no answer".to_owned())
    }
}
