//! A host at the AXI4-Streams of an engine: the words that it sends and takes.

use crate::design::{Design, PortNumber};
use crate::layout::{self, Status};
use crate::mismatch::{Checked, Mismatch};
use crate::parameters::Parameters;
use crate::pins::{flag, named, set};
use crate::random::Random;
use crate::reports::{Reports, Served};
use crate::standing::{Shown, difference};
use std::collections::VecDeque;
use tidegate_core::dwcs::{Standing, Stream};

pub use traffic::random;

mod traffic;

/// The most cycles that anything takes: for each stream, and besides.
const MOST_CYCLES: (u64, u64) = (400, 10_000);

/// An engine between AXI4-Streams, as its host has to know it.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// The name of its output of reports.
    output: &'static str,
    reports: Reports,
    /// Lanes, if each takes one packet while nothing is decided; stream i is on lane i modulo their number.
    pub lanes: Option<usize>,
}

impl Edge {
    /// `sharestreams_axis`.
    pub fn sharestreams() -> Edge {
        Edge { output: "m_axis_winner", reports: Reports::Mask, lanes: None }
    }

    /// `tiled_axis`.
    pub fn tiled(parameters: &Parameters) -> Result<Edge, String> {
        let (lanes, rounds) = (parameters.get("N")?, parameters.get("Rounds")?);
        let round_bits = rounds.trailing_zeros() as usize;
        Ok(Edge { output: "m_axis_record", reports: Reports::Tiles { round_bits, lanes }, lanes: Some(lanes) })
    }

    /// `heap_axis`.
    pub fn heap() -> Edge {
        Edge { output: "m_axis_record", reports: Reports::Events { id_bits: 14, drop_bit: 31 }, lanes: None }
    }
}

/// One AXI4-Stream: its `tvalid`, `tready` and `tdata`.
type Wires = [PortNumber; 3];

pub struct Host {
    design: Design,
    edge: Edge,
    random: Random,
    rst: PortNumber,
    enable: PortNumber,
    outside: PortNumber,
    time: PortNumber,
    loads: Wires,
    arrivals: Wires,
    questions: Wires,
    answers: Wires,
    records: Wires,
    /// Cycles of 16 in which a report is taken, on average.
    eager: u64,
    /// The word that was offered and not taken.
    held: Option<Vec<u8>>,
    /// Reports that were taken and not yet compared.
    drops: Vec<usize>,
    words: VecDeque<(Vec<usize>, Served)>,
    pub cycle: u64,
    pub decisions: u64,
}

impl Host {
    /// A host of this design, before its reset.
    ///
    /// # Errors
    /// The name of a port that the design lacks.
    pub fn new(design: Design, edge: Edge, seed: u64) -> Result<Host, String> {
        let port = |name: &str| named(&design, name);
        let wires = |name: &str, is_input: bool| -> Result<Wires, String> {
            let [valid, ready, data] = if is_input { ["tvalid_i", "tready_o", "tdata_i"] } else { ["tvalid_o", "tready_i", "tdata_o"] };
            Ok([port(&format!("{name}_{valid}"))?, port(&format!("{name}_{ready}"))?, port(&format!("{name}_{data}"))?])
        };
        let mut random = Random::new(seed);
        let mut host = Host {
            rst: port("rst_ni")?,
            enable: port("enable_i")?,
            outside: port("outside_i")?,
            time: port("time_i")?,
            loads: wires("s_axis_load", true)?,
            arrivals: wires("s_axis_arrival", true)?,
            questions: wires("s_axis_query", true)?,
            answers: wires("m_axis_status", false)?,
            records: wires(edge.output, false)?,
            eager: random.pick(&[16, 16, 8, 1]),
            edge,
            random,
            held: None,
            drops: Vec::new(),
            words: VecDeque::new(),
            cycle: 0,
            decisions: 0,
            design,
        };
        // The host ignores requests for packets and sends what it likes.
        if let Some(pull) = host.design.port("m_axis_pull_tready_i") {
            set(&mut host.design, pull, 1);
        }
        Ok(host)
    }

    pub fn fail<T>(&self, check: &'static str, what: String) -> Checked<T> {
        Err(Mismatch::of(check, what, (self.cycle, self.decisions)))
    }

    /// The last cycle in which an awaited event may come.
    fn deadline(&self, streams: usize) -> u64 {
        self.cycle + MOST_CYCLES.1 + MOST_CYCLES.0 * streams as u64
    }

    /// One clock cycle, in which a report may be taken.
    fn cycle(&mut self) -> Checked<()> {
        let ready = self.random.below(16) < self.eager;
        set(&mut self.design, self.records[1], ready.into());
        self.design.settle();
        if flag(&self.design, self.records[0]) {
            let bits = self.design.bits(self.records[2]).to_vec();
            if self.held.as_ref().is_some_and(|held| *held != bits) {
                return self.fail("stability", "a word that was offered has changed".to_owned());
            }
            if ready {
                let report = self.edge.reports.decode(&bits);
                self.drops.extend(report.drops);
                if let Some(served) = report.served {
                    self.words.push_back((std::mem::take(&mut self.drops), served));
                }
            }
            self.held = (!ready).then_some(bits);
        } else if self.held.is_some() {
            return self.fail("stability", "a word that was offered is gone".to_owned());
        }
        self.design.edge();
        self.cycle += 1;
        Ok(())
    }

    /// A reset of two cycles, after which the clock is at `start`.
    pub fn reset(&mut self, start: u64) -> Checked<()> {
        for port in [self.rst, self.enable, self.loads[0], self.arrivals[0], self.questions[0], self.answers[1], self.records[1]] {
            set(&mut self.design, port, 0);
        }
        for _ in 0..2 {
            self.design.settle();
            self.design.edge();
        }
        set(&mut self.design, self.rst, 1);
        set(&mut self.design, self.outside, 1);
        set(&mut self.design, self.time, start & 0xffff);
        self.cycle()
    }

    /// Sends a word, now or a little later.
    fn send(&mut self, wires: Wires, word: u128) -> Checked<()> {
        while self.random.once_in(4) {
            self.cycle()?;
        }
        let bytes = word.to_le_bytes();
        let bits = self.design.bits_mut(wires[2]);
        bits.fill(0);
        let length = bits.len().min(bytes.len());
        bits[..length].copy_from_slice(&bytes[..length]);
        set(&mut self.design, wires[0], 1);
        let limit = self.deadline(1024);
        loop {
            self.design.settle();
            let taken = flag(&self.design, wires[1]);
            self.cycle()?;
            if taken {
                break;
            }
            if self.cycle > limit {
                return self.fail("handshake", format!("the word {word:#x} is not taken"));
            }
        }
        set(&mut self.design, wires[0], 0);
        // An invalid word differs from the last one.
        self.design.bits_mut(wires[2])[0] ^= 0xff;
        Ok(())
    }

    /// LOAD.
    pub fn contract(&mut self, stream: usize, contract: &Stream, start: u64) -> Checked<()> {
        let deadline = contract.first_deadline.unwrap_or(start) as u16;
        self.send(self.loads, (stream as u128) << 58 | u128::from(layout::load(0, contract, deadline)))
    }

    /// Lets the clock count decisions.
    pub fn count(&mut self) -> Checked<()> {
        self.idle(20)?;
        set(&mut self.design, self.outside, 0);
        self.idle(20)
    }

    fn idle(&mut self, cycles: u64) -> Checked<()> {
        (0..cycles).try_for_each(|_| self.cycle())
    }

    pub fn packet(&mut self, stream: usize, arrival: u64) -> Checked<()> {
        self.send(self.arrivals, (stream as u128) << 16 | u128::from(arrival & 0xffff))
    }

    /// Switches decisions on.
    pub fn decide(&mut self) -> Checked<()> {
        self.idle(20)?;
        set(&mut self.design, self.enable, 1);
        Ok(())
    }

    /// Compares the next reports: heads of `drops` in any order, then the decision; `None` if no stream is left to serve.
    pub fn expect(&mut self, drops: &mut Vec<usize>, served: Option<Served>) -> Checked<()> {
        drops.sort_unstable();
        let limit = self.deadline(1024);
        let found = match served {
            Some(served) => {
                while self.words.is_empty() {
                    if self.cycle > limit {
                        return self.fail("report", format!("no decision for a long time; the model has {served:?} after drops {drops:?}"));
                    }
                    self.cycle()?;
                }
                self.words.pop_front().map(|(drops, word)| (drops, Some(word)))
            }
            None => {
                // Only drops are left; `rest` finds those that are too many.
                while self.words.is_empty() && self.drops.len() < drops.len() && self.cycle <= limit {
                    self.cycle()?;
                }
                let word = self.words.pop_front().map(|(drops, word)| (drops, Some(word)));
                Some(word.unwrap_or_else(|| (std::mem::take(&mut self.drops), None)))
            }
        };
        let (mut dropped, word) = found.unwrap_or_default();
        dropped.sort_unstable();
        if (&dropped, word) != (drops, served) {
            return self.fail("report", format!("the engine drops {dropped:?} and serves {word:?}, the model {drops:?} and {served:?}"));
        }
        drops.clear();
        self.decisions += u64::from(served.is_some());
        Ok(())
    }

    /// Switches decisions off, after the last report.
    pub fn rest(&mut self) -> Checked<()> {
        // As long as a pass of the tiled engine and the reports queued for a slow host may take.
        self.idle(500)?;
        set(&mut self.design, self.enable, 0);
        self.idle(200)?;
        if self.words.is_empty() && self.drops.is_empty() { Ok(()) } else { self.fail("report", format!("left over: {:?}", self.words)) }
    }

    /// Asks about streams without packets and compares the answers. A question does not wait until the answer before has been taken.
    pub fn ask(&mut self, questions: &[(usize, Stream, Standing)], now: u64) -> Checked<()> {
        let limit = self.deadline(questions.len());
        let (mut asked, mut answered) = (0, 0);
        let mut held: Option<Vec<u8>> = None;
        while answered < questions.len() {
            if let Some((stream, ..)) = questions.get(asked) {
                set(&mut self.design, self.questions[2], *stream as u64);
            }
            // A word that is offered stays offered.
            set(&mut self.design, self.questions[0], u64::from(asked < questions.len()));
            let ready = self.random.once_in(3);
            set(&mut self.design, self.answers[1], ready.into());
            self.design.settle();
            let is_taken = asked < questions.len() && flag(&self.design, self.questions[1]);
            let answer = flag(&self.design, self.answers[0]).then(|| self.design.bits(self.answers[2]).to_vec());
            self.cycle()?;
            if held.is_some() && held != answer {
                return self.fail("stability", "an answer does not stay until it is taken".to_owned());
            }
            held = answer.clone().filter(|_| !ready);
            if let Some(answer) = answer {
                if answered == asked {
                    return self.fail("question", "an answer without a question".to_owned());
                }
                if ready {
                    let (stream, contract, standing) = &questions[answered];
                    self.answered(*stream, contract, standing, now, &answer)?;
                    answered += 1;
                }
            }
            asked += usize::from(is_taken);
            if self.cycle > limit {
                return self.fail("question", format!("no answer about stream {}", questions[answered].0));
            }
        }
        set(&mut self.design, self.questions[0], 0);
        set(&mut self.design, self.answers[1], 0);
        self.quiet_answers()
    }

    /// Compares the answer about a stream without packets. Deadlines that have come are not told apart.
    fn answered(&self, stream: usize, contract: &Stream, standing: &Standing, now: u64, bits: &[u8]) -> Checked<()> {
        let deadline = contract.period.map(|_| standing.deadline).filter(|&deadline| deadline > now);
        let shown = Shown { has_packet: false, arrival: None, deadline, counters: 0..5 };
        match difference(&Status::of_answer(bits), standing, &shown) {
            Some((name, found, wanted)) => {
                self.fail("status", format!("stream {stream} {contract:?}: {name} is {found}, the model has {wanted}"))
            }
            None => Ok(()),
        }
    }

    /// No answer comes without a question.
    fn quiet_answers(&mut self) -> Checked<()> {
        for _ in 0..3 {
            self.design.settle();
            if flag(&self.design, self.answers[0]) {
                return self.fail("question", "an answer without a question".to_owned());
            }
            self.cycle()?;
        }
        Ok(())
    }
}
