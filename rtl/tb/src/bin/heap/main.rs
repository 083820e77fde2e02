//! The bench of the engine on a heap: a Verilated `heap` beside the golden models of `tidegate-core`, event by event.
//!
//! | file | holds |
//! |---|---|
//! | `beside.rs` | the comparison, cycle by cycle |

use beside::{Bench, Checked};
use design::Design;
use golden::golden;
use pins::set;
use random::Random;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;
use tidegate_core::dwcs::{CLAMP, Stream, Window};
use tidegate_rtl_model::MOST_STREAMS;

mod beside;
#[path = "../../design.rs"]
mod design;
#[path = "../../golden.rs"]
mod golden;
#[allow(dead_code, reason = "the other engines have more ports")]
#[path = "../../layout.rs"]
mod layout;
#[path = "../../pins.rs"]
mod pins;
#[allow(dead_code, reason = "the other engines need more")]
#[path = "../../random.rs"]
mod random;
#[path = "../../seeds.rs"]
mod seeds;

const HELP: &str = "\
A Verilated engine on a heap beside its golden model, event by event.

Usage: heap LIBRARY --streams N [--decisions N] [--seed N] [--cycles DECISIONS]

LIBRARY is a design as `cargo xtask rtl` builds it. With --cycles it says how many cycles a decision takes under several loads.

Exit codes: 0 the design does as the model, 1 it does not, 2 bad input
";

struct Options {
    design: PathBuf,
    streams: usize,
    decisions: u64,
    seed: u64,
    cycles: Option<u64>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(options) = options(&arguments) else {
        print!("{HELP}");
        return ExitCode::from(2);
    };
    let begun = Instant::now();
    if let Some(decisions) = options.cycles {
        for load in LOADS {
            match measure(&options, load, decisions) {
                Ok((cycles, misses)) => {
                    println!("streams={} load={} cycles_per_decision={cycles:.2} misses_per_decision={misses:.2}", options.streams, load.0)
                }
                Err(problem) => {
                    println!("load {}: {problem}", load.0);
                    return ExitCode::from(1);
                }
            }
        }
        return ExitCode::SUCCESS;
    }
    let outcome = seeds::until(options.decisions, options.seed, |seed, left| run(&options.design, options.streams, seed, left));
    let (done, misses, cycles) = match outcome {
        Ok(done) => done,
        Err(problem) => {
            println!("{problem}");
            return ExitCode::from(1);
        }
    };
    let seconds = begun.elapsed().as_secs_f64();
    println!("streams={} decisions={done} misses={misses} cycles={cycles} seconds={seconds:.2}", options.streams);
    ExitCode::SUCCESS
}

fn options(arguments: &[String]) -> Option<Options> {
    let (mut library, mut streams, mut decisions, mut seed, mut cycles) = (None, None, 100_000, 1, None);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if !argument.starts_with("--") {
            library = Some(PathBuf::from(argument));
            continue;
        }
        let value = rest.next()?.parse::<u64>().ok()?;
        match argument.as_str() {
            "--streams" => streams = Some(value as usize),
            "--decisions" => decisions = value,
            "--seed" => seed = value,
            "--cycles" => cycles = Some(value),
            _ => return None,
        }
    }
    Some(Options { design: library?, streams: streams?, decisions, seed, cycles })
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
    /// Packets come for very few streams, which are served again and again.
    Hot,
    /// One packet at a time: streams come and go.
    Churn,
}

const TRAFFIC: &[Traffic] =
    &[Traffic::Random, Traffic::Random, Traffic::AllDrop, Traffic::AllMiss, Traffic::Alike, Traffic::Hot, Traffic::Churn];

/// Denominators come to 255 where the model saturates them.
fn contracts(traffic: Traffic, total: usize, start: u64, saturates: bool, random: &mut Random) -> Vec<Stream> {
    // Where the clock goes on by much at a time, penalties would end the run.
    let penalty = if traffic == Traffic::Churn {
        0
    } else if saturates {
        random.pick(&[0, 1, 2, 100])
    } else {
        random.below(3) as u32
    };
    (0..total)
        .map(|_| {
            let most = random.pick(&[4, 4, 100]);
            let x = random.below(most) as u32;
            let window = Window::new(x, x + random.below(most) as u32);
            let span = random.pick(&[4, 2000]);
            let first_deadline = Some(start + random.below(span));
            let all = |droppable| Stream { droppable, penalty, first_deadline: Some(start), ..Stream::windowed(window, 1) };
            match traffic {
                Traffic::AllDrop => all(true),
                Traffic::AllMiss => all(false),
                Traffic::Alike => Stream { first_deadline: Some(start), penalty: 0, ..Stream::windowed(Window::new(1, 2), 3) },
                _ => {
                    let period = match random.below(8) {
                        0 => CLAMP - random.below(2),
                        1 => 1,
                        2 | 3 => 1 + random.below(6),
                        4 => return Stream::without_deadline(window),
                        _ => 1 + random.below(2 * total as u64),
                    };
                    let stream = Stream { first_deadline, penalty, droppable: random.once_in(2), ..Stream::windowed(window, period) };
                    let fixed = random.once_in(8);
                    if fixed { Stream { is_fixed: true, window: Window::new(0, window.deadlines), ..stream } } else { stream }
                }
            }
        })
        .collect()
}

/// A bench after its reset, every stream loaded in any order; the clock counts decisions unless `outside`.
fn begin(library: &Path, streams: Vec<Stream>, start: u64, outside: bool, random: &mut Random) -> Checked<Bench> {
    let design = Design::load(library, random.bits())?;
    let total = streams.len();
    let is_device = total <= MOST_STREAMS && !outside;
    let model = golden(is_device, total, &streams, start)?;
    let mut bench = Bench::new(design, model, is_device, streams, start)?;
    let clock = bench.ports.outside;
    bench.ports.reset(&mut bench.design, start);
    let mut order: Vec<usize> = (0..total).collect();
    random.shuffle(&mut order);
    for stream in order {
        bench.load(stream)?;
    }
    for _ in 0..20 {
        bench.cycle(true)?;
    }
    set(&mut bench.design, clock, u64::from(outside));
    for _ in 0..20 {
        bench.cycle(true)?;
    }
    Ok(bench)
}

/// One run: contracts of one kind, from reset to the questions at the end. Decisions, misses, cycles.
fn run(library: &Path, total: usize, seed: u64, most: u64) -> Checked<(u64, u64, u64)> {
    let mut random = Random::new(seed);
    let traffic = random.pick(TRAFFIC);
    let outside = !matches!(traffic, Traffic::AllDrop | Traffic::AllMiss) && random.once_in(2);
    // So long that deadlines of resting streams come and go, and as short as the engine takes it.
    let step = if traffic == Traffic::Churn { 3.max(12_000 / total as u64).min(600) } else { 1 + random.below(3) };
    let start = random.pick(&[0, 32_700, 65_500, 65_530]) + random.below(30);
    let streams = contracts(traffic, total, start, total <= MOST_STREAMS && !outside, &mut random);
    let mut bench = begin(library, streams, start, outside, &mut random)?;
    let (enable, time) = (bench.ports.enable, bench.ports.time);
    // Short, so that many kinds of traffic are seen; where all miss, a decision takes long.
    let all = matches!(traffic, Traffic::AllDrop | Traffic::AllMiss);
    let decisions = most.min(if all && total > 256 { 100 } else { 1500 });
    let (mut told, mut stop_at, mut stalled, mut burst) = (start, 0, 0, 0);
    let slow_host = random.once_in(4);
    let lazy = random.pick(&[0, 1, 3, 20]);
    let hot = 1 + random.below(3);
    while bench.decisions < decisions && !bench.is_worn {
        let stopping = bench.decisions >= stop_at;
        set(&mut bench.design, enable, u64::from(!stopping));
        if stopping {
            // A packet at the door may wait for a queue that is full.
            bench.quiet = 0;
            bench.stopped()?;
            let asked = random.below(total as u64) as usize;
            for stream in 0..total.min(64) {
                bench.question((asked + stream) % total)?;
            }
            stop_at = bench.decisions + 1 + random.pick(&[3, 1000, 1000]).min(1 + random.below(1000));
            continue;
        }
        if bench.offered.is_none() && (burst > 0 || random.below(lazy + 1) == 0) {
            let longest = if random.once_in(20) { 200 } else { 4 };
            burst = if burst > 0 { burst - 1 } else { random.below(longest) };
            let stream = match traffic {
                Traffic::Hot => random.below(hot.min(total as u64)),
                // Most rest for as long as the clock needs to wrap.
                Traffic::Churn if !random.once_in(30) => random.below((total as u64 / 4).max(1)),
                _ => random.below(total as u64),
            };
            // Few packets at a time: streams run empty.
            if traffic != Traffic::Churn || random.once_in(8) {
                bench.offer(stream as usize, told);
            }
        }
        let host = !slow_host || random.below(100) < 3;
        let cycles_of_a_tick = if traffic == Traffic::Churn { 7 } else { 20 };
        if bench.cycle(host)? {
            stalled = 0;
            if outside {
                told += random.below(step + 1);
            } else {
                told = bench.now;
            }
        } else if outside && bench.quiet > 60 && random.below(cycles_of_a_tick) == 0 {
            // While nobody has packets the clock goes on.
            told += random.pick(&[1, 1, 1, 40]);
        }
        set(&mut bench.design, time, told & 0xffff);
        stalled += 1;
        if stalled > 40_000 + 20 * total as u64 {
            return Err(format!("cycle {}: no decision for a long time", bench.cycle));
        }
    }
    if bench.is_worn {
        return Ok((bench.decisions, bench.misses, bench.cycle));
    }
    set(&mut bench.design, enable, 0);
    bench.quiet = 0;
    bench.stopped()?;
    for stream in 0..total {
        bench.question(stream)?;
    }
    Ok((bench.decisions, bench.misses, bench.cycle))
}

/// A load: its name, the sum of 1/T over all streams, all of them backlogged; 0 where every period is one. The last one has a packet at a time.
type Load = (&'static str, f64, bool);

const LOADS: [Load; 6] = [
    ("0.5", 0.5, true),
    ("1", 1.0, true),
    ("2", 2.0, true),
    ("4", 4.0, true),
    ("all-periods-one", 0.0, true),
    ("1-one-packet-at-a-time", 1.0, false),
];

/// Cycles and misses per decision. Periods lie a factor of four apart: a third each half the middle one, the middle one, and twice that.
fn measure(options: &Options, load: Load, decisions: u64) -> Checked<(f64, f64)> {
    let mut random = Random::new(options.seed);
    let (_, sum, backlogged) = load;
    let total = options.streams;
    let streams = (0..total)
        .map(|stream| {
            let middle = if sum > 0.0 { 3.5 / 3.0 * total as f64 / sum } else { 1.0 };
            let period = ((middle * [0.5, 1.0, 2.0][stream % 3]).round() as u64).clamp(1, CLAMP);
            let period = if sum > 0.0 { period } else { 1 };
            let first_deadline = Some(1 + random.below(period));
            Stream { first_deadline, penalty: 0, ..Stream::windowed(Window::new(1, 2), period) }
        })
        .collect();
    let mut bench = begin(&options.design, streams, 0, false, &mut random)?;
    let mut due: VecDeque<usize> = if backlogged { (0..total).chain(0..total).chain(0..total).collect() } else { (0..total).collect() };
    while !due.is_empty() || bench.offered.is_some() {
        if bench.offered.is_none()
            && let Some(stream) = due.pop_front()
        {
            bench.offer(stream, 0);
        }
        bench.cycle(true)?;
    }
    let enable = bench.ports.enable;
    set(&mut bench.design, enable, 1);
    // Not before the load is what it is in the long run.
    let settled = if sum > 0.0 { 3 * total as u64 } else { 3 };
    let most = if sum > 0.0 { decisions } else { 10 };
    let mut begun = (0, 0, 0);
    while bench.decisions < settled + most {
        if bench.cycle(true)? {
            if bench.decisions == settled {
                begun = (bench.cycle, bench.misses, bench.decisions);
            }
            due.extend(bench.winner);
        }
        if bench.offered.is_none()
            && let Some(stream) = due.pop_front()
        {
            let now = bench.now;
            bench.offer(stream, now);
        }
    }
    let decided = (bench.decisions - begun.2) as f64;
    Ok(((bench.cycle - begun.0) as f64 / decided, (bench.misses - begun.1) as f64 / decided))
}
