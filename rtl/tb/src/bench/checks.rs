//! The checks of every cycle beside the winner: the state of all streams, the decision port, the cycles, the network.

use super::snapshot::{Deadline, Expected, PATIENCE, Snapshot};
use super::{Bench, Drive};
use crate::layout::{self, Record, Status};
use crate::mismatch::{Checked, Mismatch};
use crate::timing::Kind;
use tidegate_core::dwcs::{Dwcs, NEVER};
use tidegate_core::packet::Flow;
use tidegate_rtl_model::{Attributes, Routing};

/// Cycles from a question to its answer.
const LAG_OF_ANSWERS: usize = 13;

impl Bench {
    /// Notes what `status_o` has to show after the lag.
    pub(super) fn expect_status(&mut self) {
        let Some(lag) = self.timing.status_lag else { return };
        let mut streams = self.spare.pop().unwrap_or_default();
        streams.clear();
        for index in 0..self.kept.len() {
            streams.push(self.expected(index));
        }
        // A LOAD shows when its cycle is over, or two cycles after its last word in a pipelined engine.
        let due = self.cycle + if self.runs { lag } else { 2 * u64::from(self.timing.is_pipelined()) };
        self.snapshots.push_back(Snapshot { due, decision: self.decisions, now: self.told as u16, streams });
    }

    /// What the model says of a stream now.
    fn expected(&self, index: usize) -> Expected {
        let standing = self.golden.standing(Flow(index as u32));
        let head = self.kept[index].head;
        let (tolerance, tally) = (standing.tolerance, standing.tally);
        let deadline = match standing.deadline {
            NEVER => Deadline::Never,
            deadline if head.is_none() && deadline <= self.told => Deadline::Past,
            _ => Deadline::Exact,
        };
        let status = Status {
            valid: head.is_some(),
            arrival: head.unwrap_or(0) as u16,
            deadline: standing.deadline as u16,
            violation: tolerance.in_violation,
            numerator: tolerance.numerator as u8,
            denominator: tolerance.denominator.min(255) as u8,
            counters: [tally.met, tally.late, tally.missed, tally.violations, tally.dropped].map(|counter| counter as u16),
        };
        Expected { status, deadline }
    }

    /// What the design shows of a stream at `status_o`, or what the model says where the design has no such port.
    fn shown(&self, stream: usize) -> Status {
        match self.timing.status_lag {
            Some(_) => Status::decode(self.design.bits(self.ports.status_o), stream),
            None => self.expected(stream).status,
        }
    }

    /// Law 2.
    pub(super) fn check_status(&mut self) -> Checked<()> {
        let Some(snapshot) = self.snapshots.pop_front() else { return Ok(()) };
        let bits = self.design.bits(self.ports.status_o);
        for (stream, expected) in snapshot.streams.iter().enumerate() {
            let found = Status::decode(bits, stream);
            let same_deadline = match expected.deadline {
                Deadline::Exact => found.deadline == expected.status.deadline,
                Deadline::Past => found.deadline.wrapping_sub(snapshot.now) as i16 <= 0,
                Deadline::Never => true,
            };
            let arrival = if expected.status.valid { expected.status.arrival } else { found.arrival };
            let model =
                Status { arrival, deadline: if same_deadline { found.deadline } else { expected.status.deadline }, ..expected.status };
            if found != model {
                return Err(self.status_differs(stream, found, model, snapshot.decision));
            }
        }
        if let Some(stream) = (snapshot.streams.len()..self.places).find(|&stream| Status::decode(bits, stream).valid) {
            return Err(self.differs("status", "valid", Some(stream), "true".into(), "false: it has not been loaded".into()));
        }
        self.spare.push(snapshot.streams);
        Ok(())
    }

    fn status_differs(&self, stream: usize, found: Status, model: Status, decision: u64) -> Box<Mismatch> {
        const COUNTERS: [&str; 5] = ["counter met", "counter late", "counter missed", "counter violations", "counter dropped"];
        let mut fields = vec![
            ("deadline", u32::from(found.deadline), u32::from(model.deadline)),
            ("numerator x'", found.numerator.into(), model.numerator.into()),
            ("denominator y'", found.denominator.into(), model.denominator.into()),
            ("violation bit", found.violation.into(), model.violation.into()),
            ("valid", found.valid.into(), model.valid.into()),
            ("arrival", found.arrival.into(), model.arrival.into()),
        ];
        fields.extend(COUNTERS.iter().enumerate().map(|(at, name)| (*name, found.counters[at].into(), model.counters[at].into())));
        let (field, design, golden) = fields.into_iter().find(|(_, design, golden)| design != golden).expect("something differs");
        let mut mismatch = self.differs("status", field, Some(stream), design.to_string(), golden.to_string());
        mismatch.at.1 = decision;
        mismatch.context.push(format!("design {found:?}"));
        mismatch.context.push(format!("model  {model:?}"));
        mismatch
    }

    /// Adds the streams among which the decision was made.
    pub(super) fn with_candidates(&self, mut mismatch: Box<Mismatch>) -> Box<Mismatch> {
        for (stream, kept) in self.kept.iter().enumerate() {
            let status = Status::decode(self.design.bits(self.ports.status_o), stream);
            if kept.head.is_some() {
                let Status { arrival, deadline, numerator, denominator, .. } = status;
                let rank = if kept.contract.period.is_some() { format!("deadline {deadline}") } else { "no deadline".to_owned() };
                mismatch.context.push(format!("stream {stream}: {rank}, window {numerator}/{denominator}, arrival {arrival}"));
            }
        }
        mismatch
    }

    /// Law 3.
    pub(super) fn check_decision(&mut self, valid: bool, ready: bool) -> Checked<()> {
        let bits = self.get(self.ports.decision_o);
        if let Some(waiting) = self.waiting {
            self.same("stability", "decision_valid_o while the host is not ready", None, valid, true)?;
            if bits != waiting {
                let field = "decision_o while the host is not ready";
                return Err(self.differs("stability", field, None, format!("{bits:#x}"), format!("{waiting:#x}")));
            }
        }
        self.waiting = (valid && !ready).then_some(bits);
        self.stalls += u64::from(valid && !ready);
        if valid && ready {
            let found = Record::decode(&bits.to_le_bytes());
            let Some(expected) = self.records.pop_front() else {
                return Err(self.differs("decision", "a decision without an update", None, format!("{found:?}"), "none".into()));
            };
            self.same("decision", "decision_o", None, found, expected)?;
        }
        // An engine in steps updates when the host takes the decision.
        let most = match self.timing.kind {
            Kind::InSteps(..) => 0,
            Kind::Pipelined { records } => records,
        };
        if self.records.len() > most {
            let note = format!("{} wait", self.records.len());
            return Err(self.differs("decision", "decisions that the host was not given", None, note, format!("at most {most}")));
        }
        Ok(())
    }

    /// Streams can be loaded if and only if nothing is decided.
    pub(super) fn check_load(&mut self, enable: bool) -> Checked<()> {
        let ready = self.get(self.ports.load_ready_o) == 1;
        if self.timing.is_pipelined() {
            // It stops when the decisions under way are done, and is busy for a while after every LOAD.
            self.runs &= !ready;
            return Ok(());
        }
        self.same("load", "load_ready_o", None, ready, !self.runs && !enable)
    }

    pub(super) fn check_timeline(&mut self, updated: bool) -> Checked<()> {
        if !self.runs {
            return self.same("timeline", "update_o while nothing is decided", None, updated, false);
        }
        let spent = self.cycle + 1 - self.start - self.stalls;
        match self.timing.architecture(self.places) {
            Some(architecture) => {
                let period = architecture.timeline(self.places).period();
                let waits = self.get(self.ports.decision_valid_o) == 1 && self.get(self.ports.decision_ready_i) == 0;
                self.same("timeline", "update_o in the last cycle of a decision", None, updated, spent == period && !waits)
            }
            None => self.same("timeline", "a decision within 4096 cycles", None, spent <= PATIENCE, true),
        }
    }

    /// Law 4.
    pub(super) fn check_network(&mut self) -> Checked<()> {
        let (Kind::InSteps(routing, _), Some(port)) = (self.timing.kind, self.ports.home_o) else { return Ok(()) };
        if routing == Routing::Winner {
            return Ok(());
        }
        let bits = self.design.bits(port);
        self.home.clear();
        self.home.extend((0..self.places).map(|place| layout::attributes(bits, place)));
        let mut seen = 0u64;
        for (place, (&found, model)) in self.home.iter().zip(self.golden.network().home()).enumerate() {
            seen |= 1 << found.id;
            // Of a stream without a packet only the valid bit counts; of one without a deadline the deadline does not.
            let deadline = if model.infinite { found.deadline } else { model.deadline };
            let model = if model.valid { Attributes { deadline, ..*model } } else { Attributes { valid: false, ..found } };
            if found != model {
                let field = format!("home_o[{place}]");
                return Err(self.differs("home", &field, None, format!("{found:?}"), format!("{model:?}")));
            }
        }
        self.same("home", "streams at the ports, one bit each", None, seen, u64::MAX >> (64 - self.places))
    }

    /// Law 7: one answer per question. Call it while nothing is decided.
    pub fn ask(&mut self, drive: Drive) -> Checked<()> {
        let Some([valid, ready, id, answered, answer]) = self.ports.query() else { return Ok(()) };
        for stream in 0..self.kept.len() {
            self.put(id, stream as u64);
            self.same("question", "query_ready_o while streams can be loaded", Some(stream), self.get(ready), 1)?;
            for cycle in 1..=LAG_OF_ANSWERS {
                self.put(valid, u64::from(cycle == 1));
                self.cycle(drive)?;
                let is_due = u64::from(cycle == LAG_OF_ANSWERS);
                self.same("question", "answer_valid_o, the answer's cycles later", Some(stream), self.get(answered), is_due)?;
            }
            self.answers(stream, Status::decode(self.design.bits(answer), 0))?;
        }
        Ok(())
    }

    /// Compares an answer. Of a stream without a packet whose deadline has come, the window may be the one with which it comes back.
    fn answers(&self, stream: usize, found: Status) -> Checked<()> {
        let shown = self.shown(stream);
        let contract = self.kept[stream].contract;
        let has_come = |deadline: u16| deadline.wrapping_sub(self.now as u16) as i16 <= 0;
        let mut model = shown;
        if !shown.valid {
            model.arrival = found.arrival;
        }
        if contract.period.is_none() || (!shown.valid && has_come(shown.deadline) && has_come(found.deadline)) {
            model.deadline = found.deadline;
        }
        let whole = (false, contract.window.tolerated as u8, contract.window.deadlines as u8);
        if !shown.valid && has_come(shown.deadline) && (found.violation, found.numerator, found.denominator) == whole {
            (model.violation, model.numerator, model.denominator) = whole;
        }
        if found == model { Ok(()) } else { Err(self.status_differs(stream, found, model, self.decisions)) }
    }

    /// Law 6. Call it while nothing is decided, after the lag of the status.
    ///
    /// # Errors
    /// The first stream that has lost or won a packet.
    pub fn conserve(&self) -> Checked<()> {
        for (stream, kept) in self.kept.iter().enumerate() {
            let status = self.shown(stream);
            let [met, late, _, _, dropped] = status.counters;
            let held = (kept.queue.len() + kept.fetched.len()) as u16 + u16::from(status.valid);
            let accounted = met.wrapping_add(late).wrapping_add(dropped).wrapping_add(held);
            self.same("conservation", "served + dropped + queued, against arrivals", Some(stream), accounted, kept.arrived as u16)?;
        }
        Ok(())
    }
}
