//! The bench of the AXI4-Stream edges: an engine as its host sees it, beside the golden models of `tidegate-core`.
//!
//! Nothing of the engine is looked at but its streams of words. The host loads contracts, sends packets while nothing is decided, and then takes
//! what the engine says until all queues are empty; several times, so that streams come back. Words come and are taken by chance.
//!
//! **Law.**
//! 1. Decisions, their clock, and the heads that are dropped before each are those of the model, each once.
//! 2. A word that is offered stays as it is until it is taken.
//! 3. Of every stream, packets sent = served + dropped; at the end none is left.
//! 4. Answers to questions are what the model knows of the stream, one for each question.
//!
//! | file | holds |
//! |---|---|
//! | `host.rs` | words and handshakes |

use design::Design;
use golden::golden;
use host::{Checked, Engine, Host, Word};
use random::Random;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;
use tidegate_core::dwcs::{CLAMP, Choice, Stream, Window};
use tidegate_core::packet::Flow;
use tidegate_rtl_model::MOST_STREAMS;

#[path = "../../design.rs"]
mod design;
#[path = "../../golden.rs"]
mod golden;
mod host;
#[allow(dead_code, reason = "the other benches look at more")]
#[path = "../../layout.rs"]
mod layout;
#[allow(dead_code, reason = "the other benches look at more")]
#[path = "../../pins.rs"]
mod pins;
#[allow(dead_code, reason = "the other benches need more")]
#[path = "../../random.rs"]
mod random;
#[path = "../../seeds.rs"]
mod seeds;

const HELP: &str = "\
A Verilated engine with AXI4-Stream edges beside its golden model, as its host sees it.

Usage: edges LIBRARY --engine sharestreams|tiled|heap --streams N --lanes N --depth N [--decisions N] [--seed N]

LIBRARY is a design as `cargo xtask rtl` builds it; --lanes counts for the tiled engine only, --depth is how many packets of a stream can wait.

Exit codes: 0 the design does as the model, 1 it does not, 2 bad input
";

struct Options {
    design: PathBuf,
    engine: Engine,
    streams: usize,
    depth: u64,
    decisions: u64,
    seed: u64,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(options) = options(&arguments) else {
        print!("{HELP}");
        return ExitCode::from(2);
    };
    let begun = Instant::now();
    let (decisions, dropped, cycles) = match seeds::until(options.decisions, options.seed, |seed, _| run(&options, seed)) {
        Ok(done) => done,
        Err(problem) => {
            println!("{problem}");
            return ExitCode::from(1);
        }
    };
    let seconds = begun.elapsed().as_secs_f64();
    println!("streams={} decisions={decisions} dropped={dropped} cycles={cycles} seconds={seconds:.2}", options.streams);
    ExitCode::SUCCESS
}

fn options(arguments: &[String]) -> Option<Options> {
    let (mut library, mut engine, mut streams, mut lanes, mut depth, mut decisions, mut seed) = (None, None, None, 1, None, 100_000, 1);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if !argument.starts_with("--") {
            library = Some(PathBuf::from(argument));
            continue;
        }
        let value = rest.next()?;
        if argument == "--engine" {
            engine = Some(value.clone());
            continue;
        }
        let value = value.parse::<u64>().ok()?;
        match argument.as_str() {
            "--streams" => streams = Some(value as usize),
            "--lanes" => lanes = value as usize,
            "--depth" => depth = Some(value),
            "--decisions" => decisions = value,
            "--seed" => seed = value,
            _ => return None,
        }
    }
    let engine = Engine::named(&engine?, streams?, lanes)?;
    Some(Options { design: library?, engine, streams: streams?, depth: depth?, decisions, seed })
}

/// Contracts by chance. What the scan does not know, denominators beyond 255, does not come up.
fn contracts(total: usize, start: u64, random: &mut Random) -> Vec<Stream> {
    // All that ask for every slot miss and drop in every decision.
    let all_miss = random.once_in(4);
    (0..total)
        .map(|_| {
            let most = random.pick(&[4, 4, 100]);
            let x = random.below(most) as u32;
            let window = Window::new(x, x + random.below(most) as u32);
            if !all_miss && random.once_in(8) {
                return Stream::without_deadline(window);
            }
            let usual = 1 + random.below(2 * total as u64);
            let period = if all_miss { 1 } else { random.pick(&[1, 2, usual, CLAMP]) };
            Stream {
                first_deadline: Some(start + random.below(8)),
                penalty: if total <= MOST_STREAMS { random.pick(&[0, 1, 100]) } else { 0 },
                droppable: random.once_in(2),
                ..Stream::windowed(window, period)
            }
        })
        .collect()
}

/// One run: contracts, then several times packets and decisions until none is left. Decisions, drops, cycles.
fn run(options: &Options, seed: u64) -> Checked<(u64, u64, u64)> {
    let mut random = Random::new(seed);
    let total = options.streams;
    let start = random.pick(&[0, 32_700, 65_500, 65_530]) + random.below(30);
    let streams = contracts(total, start, &mut random);
    let mut model = golden(total <= MOST_STREAMS, total.min(MOST_STREAMS), &streams, start)?;
    let mut host = Host::new(Design::load(&options.design, random.bits())?, options.engine, random.bits())?;
    host.reset(start)?;
    let mut order: Vec<usize> = (0..total).collect();
    random.shuffle(&mut order);
    for stream in order {
        host.contract(stream, &streams[stream], start)?;
    }
    host.count()?;

    let (mut now, mut decisions, mut dropped) = (start, 0, 0);
    for _ in 0..if options.engine.boxes().is_some() { 40 } else { 3 } {
        // Packets, of several streams by turns, none of them later than the clock; some streams rest.
        let mut queues = vec![VecDeque::new(); total];
        let mut arrival = now.saturating_sub(random.below(5000));
        let mut due: Vec<usize> = match options.engine.boxes() {
            Some(lanes) => (0..lanes).map(|lane| lane + lanes * random.below((total / lanes) as u64) as usize).collect(),
            None => {
                let most = 1 + random.below(options.depth);
                (0..total).flat_map(|stream| std::iter::repeat_n(stream, random.below(most + 1) as usize)).collect()
            }
        };
        random.shuffle(&mut due);
        for stream in due {
            arrival = (arrival + random.below(3)).min(now);
            host.packet(stream, arrival)?;
            queues[stream].push_back(arrival);
        }
        for (stream, queue) in queues.iter_mut().enumerate() {
            if let Some(first) = queue.pop_front() {
                model.activate(now, Flow(stream as u32), first);
            }
        }
        host.decide()?;
        let mut drops = Vec::new();
        loop {
            match model.select(now) {
                Choice::Discard(stream) => {
                    drops.push(stream.index());
                    dropped += 1;
                    model.lost(stream, queues[stream.index()].pop_front());
                }
                Choice::Serve(stream) => {
                    host.expect(&mut drops, Some(Word { stream: stream.index(), timestamp: now as u16 }))?;
                    now += 1;
                    decisions += 1;
                    model.served(stream, now, queues[stream.index()].pop_front());
                }
                Choice::WaitUntil(_) | Choice::Idle => break,
            }
        }
        host.expect(&mut drops, None)?;
        host.rest()?;
        if let Some(stream) = (0..total).find(|&stream| !queues[stream].is_empty()) {
            return Err(format!("the model has packets of stream {stream} left"));
        }
        let asked = random.below(total as u64) as usize;
        let questions: Vec<_> = (0..total.min(16))
            .map(|stream| (asked + stream) % total)
            .map(|stream| (stream, streams[stream], model.standing(Flow(stream as u32))))
            .collect();
        host.ask(&questions, now)?;
    }
    Ok((decisions, dropped, host.cycle))
}
