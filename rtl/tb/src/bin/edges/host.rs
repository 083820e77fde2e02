//! A host at the AXI4-Streams of an engine: words that it sends, words that it takes, and how long it waits.

use crate::design::{Design, PortNumber};
use crate::layout::{self, Record, bit, field};
use crate::pins::{flag, named, set};
use crate::random::Random;
use std::collections::VecDeque;
use tidegate_core::dwcs::{Standing, Stream};

/// What a check returns.
pub type Checked<T> = Result<T, String>;

/// The most cycles that anything takes, for each stream, and besides.
const PATIENCE: (u64, u64) = (400, 10_000);

/// Whose words these are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Engine {
    /// `sharestreams_axis`: one word tells who is served and who was dropped before.
    ShareStreams,
    /// `tiled_axis`: a word of drops for every tile that has some. Bits of the number of a tile, and lanes.
    Tiled { round: usize, lanes: usize },
    /// `heap_axis`: a word for every drop.
    Heap,
}

impl Engine {
    /// The engine of this name, of so many streams on so many lanes.
    pub fn named(name: &str, streams: usize, lanes: usize) -> Option<Engine> {
        match name {
            "sharestreams" => Some(Engine::ShareStreams),
            "tiled" => Some(Engine::Tiled { round: (streams / lanes).trailing_zeros() as usize, lanes }),
            "heap" => Some(Engine::Heap),
            _ => None,
        }
    }

    /// Whose heads were dropped before, and who is served, by the word at its output.
    fn decode(self, bits: &[u8]) -> (Vec<usize>, Option<Word>) {
        match self {
            Engine::ShareStreams => {
                let record = Record::decode(bits);
                let winner = record.winner.map(|stream| Word { stream: stream as usize, timestamp: record.timestamp });
                ((0..32).filter(|stream| record.drops >> stream & 1 == 1).collect(), winner)
            }
            Engine::Tiled { round, lanes } => {
                let id = round + lanes.trailing_zeros() as usize;
                if bit(bits, (round + lanes).max(id + 16)) {
                    let tile = if round == 0 { 0 } else { field(bits, lanes, round) as usize };
                    ((0..lanes).filter(|&lane| bit(bits, lane)).map(|lane| tile * lanes + lane).collect(), None)
                } else {
                    (Vec::new(), Some(Word { stream: field(bits, 0, id) as usize, timestamp: field(bits, id, 16) as u16 }))
                }
            }
            Engine::Heap => {
                let stream = field(bits, 0, 14) as usize;
                if bit(bits, 31) {
                    (vec![stream], None)
                } else {
                    (Vec::new(), Some(Word { stream, timestamp: field(bits, 14, 16) as u16 }))
                }
            }
        }
    }

    /// How many packets it takes while nothing is decided, of one stream in each of so many groups that follow each other in turn; if it does not matter
    /// which, none.
    pub fn boxes(self) -> Option<usize> {
        match self {
            // They wait in the letter boxes of lanes for tiles to come by.
            Engine::Tiled { lanes, .. } => Some(lanes),
            _ => None,
        }
    }

    /// What its output of decisions is called.
    fn output(self) -> &'static str {
        if self == Engine::ShareStreams { "m_axis_winner" } else { "m_axis_record" }
    }
}

/// A decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Word {
    pub stream: usize,
    pub timestamp: u16,
}

/// One AXI4-Stream: its `tvalid`, `tready` and `tdata`.
type Wires = [PortNumber; 3];

/// The host.
pub struct Host {
    design: Design,
    engine: Engine,
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
    /// Of 16 cycles, in so many a word is taken.
    eager: u64,
    /// The word that was offered and not taken.
    held: Option<Vec<u8>>,
    /// What has been taken and not yet looked at.
    drops: Vec<usize>,
    words: VecDeque<(Vec<usize>, Word)>,
    pub cycle: u64,
}

impl Host {
    /// A host of this design, before its reset.
    ///
    /// # Errors
    /// The name of a port that the design lacks.
    pub fn new(design: Design, engine: Engine, seed: u64) -> Checked<Host> {
        let port = |name: &str| named(&design, name);
        let wires = |name: &str, is_input: bool| -> Checked<Wires> {
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
            records: wires(engine.output(), false)?,
            eager: random.pick(&[16, 16, 8, 1]),
            engine,
            random,
            held: None,
            drops: Vec::new(),
            words: VecDeque::new(),
            cycle: 0,
            design,
        };
        // The host sends packets as it likes: what it is asked for does not matter to it.
        if let Some(pull) = host.design.port("m_axis_pull_tready_i") {
            set(&mut host.design, pull, 1);
        }
        Ok(host)
    }

    fn fail<T>(&self, what: String) -> Checked<T> {
        Err(format!("cycle {}: {what}", self.cycle))
    }

    fn patience(&self, streams: usize) -> u64 {
        self.cycle + PATIENCE.1 + PATIENCE.0 * streams as u64
    }

    /// One clock cycle, in which a record may be taken.
    fn cycle(&mut self) -> Checked<()> {
        let ready = self.random.below(16) < self.eager;
        set(&mut self.design, self.records[1], ready.into());
        self.design.settle();
        if flag(&self.design, self.records[0]) {
            let bits = self.design.bits(self.records[2]).to_vec();
            if self.held.as_ref().is_some_and(|held| *held != bits) {
                return self.fail("a word that was offered has changed".to_owned());
            }
            if ready {
                let (drops, word) = self.engine.decode(&bits);
                self.drops.extend(drops);
                if let Some(word) = word {
                    self.words.push_back((std::mem::take(&mut self.drops), word));
                }
            }
            self.held = (!ready).then_some(bits);
        } else if self.held.is_some() {
            return self.fail("a word that was offered is gone".to_owned());
        }
        self.design.edge();
        self.cycle += 1;
        Ok(())
    }

    /// A reset of two cycles, after which the clock stands at `start`.
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
        let limit = self.patience(1024);
        loop {
            self.design.settle();
            let taken = flag(&self.design, wires[1]);
            self.cycle()?;
            if taken {
                break;
            }
            if self.cycle > limit {
                return self.fail(format!("the word {word:#x} is not taken"));
            }
        }
        set(&mut self.design, wires[0], 0);
        // Beside an invalid word stands what is none.
        self.design.bits_mut(wires[2])[0] ^= 0xff;
        Ok(())
    }

    /// LOAD.
    pub fn contract(&mut self, stream: usize, contract: &Stream, start: u64) -> Checked<()> {
        let deadline = contract.first_deadline.unwrap_or(start) as u16;
        self.send(self.loads, (stream as u128) << 58 | u128::from(layout::load(0, contract, deadline)))
    }

    /// From now on the clock counts decisions.
    pub fn count(&mut self) -> Checked<()> {
        self.idle(20)?;
        set(&mut self.design, self.outside, 0);
        self.idle(20)
    }

    fn idle(&mut self, cycles: u64) -> Checked<()> {
        (0..cycles).try_for_each(|_| self.cycle())
    }

    /// A packet.
    pub fn packet(&mut self, stream: usize, arrival: u64) -> Checked<()> {
        self.send(self.arrivals, (stream as u128) << 16 | u128::from(arrival & 0xffff))
    }

    /// Decisions begin.
    pub fn decide(&mut self) -> Checked<()> {
        self.idle(20)?;
        set(&mut self.design, self.enable, 1);
        Ok(())
    }

    /// What the engine says next: heads of these streams were dropped, in any order, then this one is served; if none is, nobody.
    pub fn expect(&mut self, drops: &mut Vec<usize>, served: Option<Word>) -> Checked<()> {
        drops.sort_unstable();
        let limit = self.patience(1024);
        let found = match served {
            Some(served) => {
                while self.words.is_empty() {
                    if self.cycle > limit {
                        return self.fail(format!("no decision for a long time; the model has {served:?} after drops {drops:?}"));
                    }
                    self.cycle()?;
                }
                self.words.pop_front().map(|(drops, word)| (drops, Some(word)))
            }
            None => {
                // Nobody is served any more. What is still said are drops; `rest` sees whether there are too many.
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
            return self.fail(format!("the engine drops {dropped:?} and serves {word:?}, the model {drops:?} and {served:?}"));
        }
        drops.clear();
        Ok(())
    }

    /// Decisions end.
    pub fn rest(&mut self) -> Checked<()> {
        // As long as a pass of the tiled engine and the queue of a slow host may take.
        self.idle(500)?;
        set(&mut self.design, self.enable, 0);
        self.idle(200)?;
        if self.words.is_empty() && self.drops.is_empty() { Ok(()) } else { self.fail(format!("more is said: {:?}", self.words)) }
    }

    /// Questions about streams without packets, one after the other whether the answers have been taken or not, and the answers.
    pub fn ask(&mut self, questions: &[(usize, Stream, Standing)], now: u64) -> Checked<()> {
        let limit = self.patience(questions.len());
        let (mut asked, mut answered) = (0, 0);
        let mut held: Option<Vec<u8>> = None;
        while answered < questions.len() {
            if let Some((stream, ..)) = questions.get(asked) {
                set(&mut self.design, self.questions[2], *stream as u64);
            }
            // A word that is offered stays.
            set(&mut self.design, self.questions[0], u64::from(asked < questions.len()));
            let ready = self.random.once_in(3);
            set(&mut self.design, self.answers[1], ready.into());
            self.design.settle();
            let is_taken = asked < questions.len() && flag(&self.design, self.questions[1]);
            let answer = flag(&self.design, self.answers[0]).then(|| self.design.bits(self.answers[2]).to_vec());
            self.cycle()?;
            if held.is_some() && held != answer {
                return self.fail("an answer does not stay until it is taken".to_owned());
            }
            held = answer.clone().filter(|_| !ready);
            if let Some(answer) = answer {
                if answered == asked {
                    return self.fail("an answer that nobody has asked for".to_owned());
                }
                if ready {
                    let (stream, contract, standing) = &questions[answered];
                    self.answered(*stream, contract, standing, now, &answer)?;
                    answered += 1;
                }
            }
            asked += usize::from(is_taken);
            if self.cycle > limit {
                return self.fail(format!("no answer about stream {}", questions[answered].0));
            }
        }
        set(&mut self.design, self.questions[0], 0);
        set(&mut self.design, self.answers[1], 0);
        self.quiet_answers()
    }

    fn answered(&mut self, stream: usize, contract: &Stream, standing: &Standing, now: u64, bits: &[u8]) -> Checked<()> {
        let counter = |number: usize| u64::from(field(bits, 16 * (4 - number), 16));
        let (tolerance, tally) = (standing.tolerance, standing.tally);
        let mut pairs = vec![
            ("met", counter(0), tally.met & 0xffff),
            ("late", counter(1), tally.late & 0xffff),
            ("missed", counter(2), tally.missed & 0xffff),
            ("violations", counter(3), tally.violations & 0xffff),
            ("dropped", counter(4), tally.dropped & 0xffff),
            ("y'", field(bits, 80, 8).into(), tolerance.denominator),
            ("x'", field(bits, 88, 8).into(), tolerance.numerator.into()),
            ("violation", bit(bits, 96).into(), tolerance.in_violation.into()),
            ("has a packet", bit(bits, 113).into(), 0),
        ];
        // Of a stream without packets a deadline that has come counts as any that has.
        if contract.period.is_some() && standing.deadline > now {
            pairs.push(("deadline", field(bits, 97, 16).into(), standing.deadline & 0xffff));
        }
        match pairs.into_iter().find(|(_, found, wanted)| found != wanted) {
            Some((name, found, wanted)) => self.fail(format!("stream {stream} {contract:?}: {name} is {found}, the model has {wanted}")),
            None => Ok(()),
        }
    }

    /// One answer per question.
    fn quiet_answers(&mut self) -> Checked<()> {
        for _ in 0..3 {
            self.design.settle();
            if flag(&self.design, self.answers[0]) {
                return self.fail("an answer that nobody has asked for".to_owned());
            }
            self.cycle()?;
        }
        Ok(())
    }
}
