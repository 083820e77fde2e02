//! The tiled engine beside its model, pass by pass.
//!
//! **Law.** Of every pass, the model is told what the tiles did as they were written back: which stream was served until when, and which
//! streams took a packet. Then:
//! 1. deadlines, windows, violation bits, counters, packets and their arrivals are those of the model, for every stream;
//! 2. every tile is written back once per pass, and one stream was served: the one that the model has named;
//! 3. a stream that wants a packet takes one if one has been in its queue since the pass before.
//!
//! Streams of a scan have periods at least as long as the ticks between two passes.

use super::{Bench, Engine, Expected, Pace};
use crate::contracts::Traffic;
use crate::design::{Design, PortNumber};
use crate::layout::{STEP, Status, bit};
use crate::mismatch::Checked;
use crate::parameters::Parameters;
use crate::pins::{flag, get, named};
use crate::random::Random;
use crate::reports::{Report, Reports};
use crate::standing::Shown;
use tidegate_core::dwcs::{CLAMP, Choice};
use tidegate_core::packet::Flow;
use tidegate_rtl_model::MOST_STREAMS;

/// Packets that can be on their way to a stream's queue: one at the door of the engine, one at that of the lane.
const AT_DOORS: u64 = 2;

/// The engine's own ports, and the pass under way.
pub struct Tiled {
    lanes: usize,
    reports: Reports,
    round: PortNumber,
    is_served: PortNumber,
    winner: PortNumber,
    /// The model's last answer.
    choice: Choice,
    /// What each tile showed when it was written back; empty before.
    steps: Vec<Vec<u8>>,
    popped: Vec<bool>,
    served: Option<usize>,
    finish: Option<u16>,
    came: Vec<u64>,
    taken: Vec<u64>,
    /// [`Tiled::came`] when each of the last three passes ended, the oldest first.
    settled: [Vec<u64>; 3],
}

impl Engine for Tiled {
    const TRAFFIC: &'static [Traffic] = &[Traffic::Random, Traffic::Random, Traffic::AllDrop, Traffic::AllMiss, Traffic::Alike];
    const REST: u64 = 200;
    const ANSWERS_HAVE_ARRIVALS: bool = true;
    const HAS_PASSES: bool = true;

    fn new(design: &Design, parameters: &Parameters) -> Result<Tiled, String> {
        let port = |name: &str| named(design, name);
        let (lanes, rounds) = (parameters.get("N")?, parameters.get("Rounds")?);
        let total = lanes * rounds;
        Ok(Tiled {
            lanes,
            reports: Reports::Tiles { round_bits: rounds.trailing_zeros() as usize, lanes },
            round: port("update_round_o")?,
            is_served: port("served_o")?,
            winner: port("winner_o")?,
            choice: Choice::Idle,
            steps: vec![Vec::new(); rounds],
            popped: vec![false; total],
            served: None,
            finish: None,
            came: vec![0; total],
            taken: vec![0; total],
            settled: [vec![0; total], vec![0; total], vec![0; total]],
        })
    }

    fn reports(&self) -> Reports {
        self.reports
    }

    fn pace(&self, traffic: Traffic, streams: usize, random: &mut Random) -> Pace {
        // The time that the design sees moves on by at most two steps between two passes.
        let outside = traffic == Traffic::Random && random.once_in(2);
        let step = if outside { 1 + random.below(3) } else { 1 };
        let is_device = streams <= MOST_STREAMS;
        let least = if outside && !is_device { 2 * step } else { 1 };
        Pace { outside, step, least, penalties: &[0, 1, 2], model_ports: is_device.then_some(self.lanes) }
    }

    /// A tile is written back.
    fn observe(bench: &mut Bench<Tiled>) -> Checked<bool> {
        let engine = &bench.engine;
        if !flag(&bench.design, bench.pins.update) {
            return Ok(false);
        }
        let round = get(&bench.design, engine.round) as usize;
        if engine.steps.get(round).is_none_or(|step| !step.is_empty()) {
            return bench.fail("pass", format!("tile {round} is written back again"));
        }
        let finish = get(&bench.design, bench.pins.finish) as u16;
        if engine.finish.is_some_and(|before| before != finish) {
            return bench.fail("clock", "the clock of a pass has changed".to_owned());
        }
        if flag(&bench.design, engine.is_served) {
            let winner = get(&bench.design, engine.winner) as usize;
            if let Some(before) = engine.served {
                return bench.fail("winner", format!("{before} and {winner} are served at once"));
            }
            bench.engine.served = Some(winner);
        }
        let engine = &mut bench.engine;
        engine.finish = Some(finish);
        engine.steps[round] = bench.design.bits(bench.pins.observed).to_vec();
        for lane in 0..engine.lanes {
            engine.popped[round * engine.lanes + lane] = bit(&engine.steps[round], lane * STEP + STEP - 1);
        }
        bench.quiet = 0;
        Ok(engine.steps.iter().all(|step| !step.is_empty()))
    }

    fn accept(bench: &mut Bench<Tiled>, stream: usize, arrival: u64) -> Checked<()> {
        bench.packets[stream].waiting.push_back(arrival);
        bench.engine.came[stream] += 1;
        Ok(())
    }

    /// All tiles have been written back: the model takes the same step.
    fn advance(bench: &mut Bench<Tiled>) -> Checked<()> {
        bench.served()?;
        let total = bench.streams.len();
        let mut dropped = vec![Vec::new(); bench.engine.steps.len()];
        loop {
            let choice = bench.model.select(bench.now);
            bench.engine.choice = choice;
            let Choice::Discard(stream) = choice else { break };
            let next = bench.take(stream.index())?;
            bench.packets[stream.index()].head = next;
            bench.model.lost(stream, next);
            dropped[stream.index() / bench.engine.lanes].push(stream.index());
        }
        let drops = dropped.into_iter().filter(|drops| !drops.is_empty()).map(|mut drops| {
            drops.sort_unstable();
            Report::dropped(drops)
        });
        let drops = drops.collect();
        let decision = bench.decision(bench.now);
        bench.expected.push_back(Expected { drops, decision });
        if let Some(stream) = bench.engine.popped.iter().position(|&popped| popped) {
            return bench.fail("pop", format!("stream {stream} takes a packet that it does not want"));
        }
        for stream in 0..total {
            let lanes = bench.engine.lanes;
            let seen = Status::of_step(&bench.engine.steps[stream / lanes], stream % lanes);
            let head = bench.packets[stream].head;
            let shown = Shown { has_packet: head.is_some(), arrival: head, deadline: bench.deadline(stream), counters: 2..4 };
            bench.check(stream, &seen, shown)?;
        }
        let engine = &mut bench.engine;
        engine.steps.iter_mut().for_each(Vec::clear);
        engine.settled.rotate_left(1);
        engine.settled[2].clone_from(&engine.came);
        Ok(())
    }

    fn rest(bench: &mut Bench<Tiled>) -> Checked<()> {
        // The decision that was not made.
        if let Some(last) = bench.expected.back_mut() {
            last.decision = None;
        }
        if bench.engine.steps.iter().any(|step| !step.is_empty()) {
            return bench.fail("pass", "it stopped within a pass".to_owned());
        }
        Ok(())
    }

    /// The decision that it stopped before is made now.
    fn resume(bench: &mut Bench<Tiled>, timestamp: u64) {
        let decision = bench.decision(timestamp);
        bench.expected.push_back(Expected { drops: Vec::new(), decision });
    }
}

impl Bench<Tiled> {
    /// Tells the model the stream that was served in the pass, the end of the service, and the idle streams that have packets now.
    fn served(&mut self) -> Checked<()> {
        let expected = if let Choice::Serve(stream) = self.engine.choice { Some(stream.index()) } else { None };
        if self.engine.served != expected {
            return self.fail("winner", format!("{:?} is served, the model has {expected:?}", self.engine.served));
        }
        let finish = self.engine.finish.take().unwrap_or_default();
        let ticks = u64::from(finish.wrapping_sub(self.now as u16));
        if ticks > CLAMP {
            return self.fail("clock", format!("the clock moves on by {ticks} ticks"));
        }
        self.now += ticks;
        let idle: Vec<usize> = (0..self.streams.len()).filter(|&stream| self.packets[stream].head.is_none()).collect();
        if let Some(winner) = self.engine.served.take() {
            let next = self.take(winner)?;
            self.packets[winner].head = next;
            self.model.served(Flow(winner as u32), self.now, next);
            self.decisions += 1;
            self.winner = Some(winner);
        }
        for stream in idle {
            if let Some(arrival) = self.take(stream)? {
                self.packets[stream].head = Some(arrival);
                self.model.activate(self.now, Flow(stream as u32), arrival);
            }
        }
        Ok(())
    }

    /// The packet that the stream takes, if it does.
    fn take(&mut self, stream: usize) -> Checked<Option<u64>> {
        let engine = &mut self.engine;
        if !std::mem::take(&mut engine.popped[stream]) {
            if engine.settled[0][stream] > engine.taken[stream] + AT_DOORS {
                return self.fail("pop", format!("stream {stream} takes no packet though one is in its queue"));
            }
            return Ok(None);
        }
        engine.taken[stream] += 1;
        match self.packets[stream].waiting.pop_front() {
            None => self.fail("pop", format!("stream {stream} takes a packet that never came")),
            next => Ok(next),
        }
    }

    fn decision(&self, timestamp: u64) -> Option<Report> {
        if let Choice::Serve(stream) = self.engine.choice { Some(Report::served(stream.index(), timestamp as u16)) } else { None }
    }
}
