//! The published experiments, with their counts, and the cycles of the published timeline.

use super::stop::{begin, done, stop};
use crate::bench::{Bench, Drive};
use crate::mismatch::Checked;
use crate::setup::{Done, Failure, Setup};
use tidegate_core::dwcs::{Stream, Window};

/// Streams that are always backlogged, the n-th packet of each arriving at tick n, served one per tick.
struct Backlogged<'a> {
    bench: &'a mut Bench,
    served: Vec<u64>,
    /// Packets announced so far.
    announced: Vec<u64>,
    start: u64,
}

impl Backlogged<'_> {
    fn new<'a>(bench: &'a mut Bench, start: u64, streams: &[Stream]) -> Checked<Backlogged<'a>> {
        let order: Vec<usize> = (0..streams.len()).collect();
        bench.load(start, streams, &order)?;
        Ok(Backlogged { bench, served: vec![0; streams.len()], announced: vec![0; streams.len()], start })
    }

    /// The winners of this many decisions among the streams that are `awake`, in order.
    fn decide(&mut self, decisions: u64, awake: impl Fn(usize) -> bool) -> Checked<Vec<usize>> {
        let mut winners = Vec::new();
        if self.bench.is_loading() {
            self.announce(&awake);
            for _ in 0..4 {
                self.bench.cycle(Drive { enable: false, outside: false, time: 0, ready: true, load: None })?;
            }
        }
        while (winners.len() as u64) < decisions {
            self.announce(&awake);
            let drive = Drive { enable: true, outside: false, time: 0, ready: true, load: None };
            if let Some(stream) = self.bench.cycle(drive)?.and_then(|update| update.served) {
                self.served[stream] += 1;
                winners.push(stream);
            }
        }
        Ok(winners)
    }

    fn announce(&mut self, awake: &impl Fn(usize) -> bool) {
        for stream in (0..self.served.len()).filter(|&stream| awake(stream)) {
            while self.bench.queued(stream) < 2 {
                self.bench.arrive(stream, self.start + self.announced[stream]);
                self.announced[stream] += 1;
            }
        }
    }
}

/// The tick in which the first packets are heads: a clock that counts all decisions counts the one that took them.
fn first_tick(bench: &Bench) -> u64 {
    u64::from(bench.timing().is_pipelined())
}

/// Compares with a published number.
fn published<T: PartialEq + std::fmt::Debug>(bench: &Bench, field: &str, design: T, model: T) -> Checked<()> {
    bench.same("published", field, None, design, model)
}

/// Oracles S5 and D2: the clock starts at 65500.
pub fn shares(setup: &Setup, seed: u64, _decisions: u64) -> Result<Done, Failure> {
    let mut bench = begin(setup, seed)?;
    fair_shares(&mut bench).map_err(Failure::of(seed))?;
    let done = done(&bench);
    Ok(Done { unhindered: (done.decisions, done.cycles), ..done })
}

fn fair_shares(bench: &mut Bench) -> Checked<()> {
    let windows = [(7, 8), (14, 16), (6, 8), (4, 8)];
    let start = 65_500;
    let streams =
        windows.map(|(x, y)| Stream { first_deadline: Some(start + first_tick(bench) + 1), ..Stream::windowed(Window::new(x, y), 1) });
    let mut traffic = Backlogged::new(bench, start, &streams)?;
    let first: Vec<usize> = traffic.decide(64_000, |_| true)?.into_iter().take(16).map(|stream| stream + 1).collect();
    let served = traffic.served;
    published(bench, "the first winners", first, vec![4, 4, 3, 4, 1, 3, 4, 2, 4, 4, 3, 4, 1, 2, 3, 4])?;
    published(bench, "services of 64000", served, vec![8000, 8000, 16_000, 32_000])?;
    for stream in 0..4 {
        published(bench, "violations", bench.tally(stream).violations, 0)?;
    }
    stop(bench, false, 0)?;
    bench.conserve()
}

/// Oracles D5 and D6, which have four streams: larger designs would show nothing new.
pub fn mixtures(setup: &Setup, seed: u64, _decisions: u64) -> Result<Done, Failure> {
    if setup.streams > 8 {
        return Ok(Done::default());
    }
    let mut bench = begin(setup, seed)?;
    beside_static_priority(&mut bench).map_err(Failure::of(seed))?;
    beside_deadlines(&mut bench, Window::TIGHTEST, [19_113, 9556, 14_335, 14_335]).map_err(Failure::of(seed))?;
    beside_deadlines(&mut bench, Window::NONE, [19_113, 14_334, 9557, 14_335]).map_err(Failure::of(seed))?;
    Ok(done(&bench))
}

/// D5: three fair shares, and a stream that tolerates no loss from slot 63810 on.
fn beside_static_priority(bench: &mut Bench) -> Checked<()> {
    for (penalty, then) in [(0, vec![0, 0, 0, 190]), (1, vec![1, 0, 1, 188])] {
        let stream = |x, y| Stream { penalty, first_deadline: Some(first_tick(bench) + 1), ..Stream::windowed(Window::new(x, y), 1) };
        let streams = [stream(2, 4), stream(3, 4), stream(3, 4), stream(0, 255)];
        let mut traffic = Backlogged::new(bench, 0, &streams)?;
        // Its first packet comes in time to be the head after the last decision without it.
        let notice = if traffic.bench.timing().is_pipelined() { 3 } else { 1 };
        traffic.decide(63_810 - notice, |stream| stream < 3)?;
        traffic.decide(notice, |_| true)?;
        let before = std::mem::replace(&mut traffic.served, vec![0; 4]);
        traffic.decide(190, |_| true)?;
        let after = traffic.served;
        published(bench, "services of 63810", before, vec![31_905, 15_953, 15_952, 0])?;
        published(bench, "services of 190 beside a stream that tolerates no loss", after, then)?;
        stop(bench, false, 0)?;
        bench.conserve()?;
    }
    Ok(())
}

/// D6: two fair shares beside two streams with deadlines every fourth slot.
fn beside_deadlines(bench: &mut Bench, window: Window, services: [u64; 4]) -> Checked<()> {
    let begin = first_tick(bench);
    let share = |x, y| Stream { first_deadline: Some(begin + 1), ..Stream::windowed(Window::new(x, y), 1) };
    let deadline = |first| Stream { first_deadline: Some(begin + first), ..Stream::windowed(window, 4) };
    let mut traffic = Backlogged::new(bench, 0, &[share(2, 3), share(5, 6), deadline(2), deadline(1)])?;
    let winners = traffic.decide(57_339, |_| true)?;
    let served = traffic.served;
    published(bench, "services of 57339", served, services.to_vec())?;
    if window == Window::TIGHTEST {
        let first: Vec<usize> = winners.iter().take(12).map(|stream| stream + 1).collect();
        published(bench, "the first winners", first, vec![4, 3, 1, 2, 4, 3, 1, 1, 4, 3, 2, 1])?;
    }
    stop(bench, false, 0)?;
    bench.conserve()
}

/// Oracle S4: the update of decision m comes in the cycle that the timeline says, counted from the last LOAD cycle.
pub fn timeline(setup: &Setup, seed: u64, _decisions: u64) -> Result<Done, Failure> {
    let mut bench = begin(setup, seed)?;
    cycles(setup, &mut bench).map_err(Failure::of(seed))?;
    Ok(done(&bench))
}

fn cycles(setup: &Setup, bench: &mut Bench) -> Checked<()> {
    let streams = vec![Stream::windowed(Window::new(3, 4), 1); setup.streams];
    let order: Vec<usize> = (0..setup.streams).collect();
    bench.load(0, &streams, &order)?;
    // The first decision finds no stream, because packets are taken in an update; nor do those after the last packet.
    for packet in 0..90 / setup.streams as u64 {
        (0..setup.streams).for_each(|stream| bench.arrive(stream, packet));
    }
    let Some(architecture) = bench.timing().architecture(setup.streams) else { return every_cycle(bench) };
    let timeline = architecture.timeline(setup.streams);
    let last = |decision| timeline.update(decision).unwrap_or(timeline.schedule(decision).end - 1);
    let mut decision = 0;
    for cycle in 0.. {
        let updated = bench.cycle(Drive { enable: true, outside: false, time: 0, ready: true, load: None })?.is_some();
        published(bench, "update_o, by the timeline", (cycle, updated), (cycle, cycle == last(decision)))?;
        decision += u64::from(updated);
        if decision == 100 {
            break;
        }
    }
    stop(bench, false, 0)?;
    bench.conserve()
}

/// A pipelined engine decides in every cycle from the first decision on.
fn every_cycle(bench: &mut Bench) -> Checked<()> {
    let drive = Drive { enable: true, outside: false, time: 0, ready: true, load: None };
    let mut filling = 0;
    while bench.cycle(drive)?.is_none() {
        filling += 1;
        published(bench, "cycles to the first decision, at most 16", filling > 16, false)?;
    }
    for _ in 0..100 {
        let updated = bench.cycle(drive)?.is_some();
        published(bench, "update_o, in every cycle", updated, true)?;
    }
    stop(bench, false, 0)?;
    bench.conserve()
}
