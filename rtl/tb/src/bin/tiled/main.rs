//! The bench of the tiled engine: a Verilated `tiled` beside the golden models of `tidegate-core`, stream by stream and decision by decision.
//!
//! | file | holds |
//! |---|---|
//! | `beside.rs` | the comparison, cycle by cycle |
//! | `ports.rs` | the design's ports |

use beside::{Bench, Checked};
use design::Design;
use golden::golden;
use pins::{flag, set};
use random::Random;
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
mod ports;
#[allow(dead_code, reason = "the other engines need more")]
#[path = "../../random.rs"]
mod random;

const HELP: &str = "\
A Verilated tiled engine beside its golden model, decision by decision.

Usage: tiled LIBRARY --lanes N --rounds R [--decisions N] [--seed N]

LIBRARY is a design as `cargo xtask rtl` builds it.

Exit codes: 0 the design does as the model, 1 it does not, 2 bad input
";

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
    // Too few decisions may not hold a stretch without back-pressure.
    let period = if busy.1 > 0 { format!("{:.2}", busy.0 as f64 / busy.1 as f64) } else { "unknown".to_owned() };
    println!("lanes={lanes} rounds={rounds} decisions={done} cycles={cycles} cycles_per_decision={period} seconds={seconds:.2}");
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

#[derive(Clone, Copy, Debug, Default)]
struct Done {
    decisions: u64,
    cycles: u64,
    free_cycles: u64,
    free_passes: u64,
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
    let total = lanes * rounds;
    let traffic = random.pick(&[Traffic::Random, Traffic::Random, Traffic::AllDrop, Traffic::AllMiss, Traffic::Alike]);
    // The time that the design sees moves on by at most two steps between two passes.
    let outside = traffic == Traffic::Random && random.once_in(2);
    let step = if outside { 1 + random.below(3) } else { 1 };
    let least = if outside && total > MOST_STREAMS { 2 * step } else { 1 };
    let start = random.pick(&[0, 32_700, 65_500, 65_530]) + random.below(30);
    let streams = contracts(traffic, total, least, start, &mut random);
    let model = golden(total <= MOST_STREAMS, lanes.min(32), &streams, start)?;
    let mut bench = Bench::new(design, lanes, rounds, model, streams, start)?;
    // Reset; then LOAD, in any order.
    let (enable, time, clock) = (bench.ports.enable, bench.ports.time, bench.ports.outside);
    bench.ports.reset(&mut bench.design, start);
    let mut order: Vec<usize> = (0..total).collect();
    random.shuffle(&mut order);
    for stream in order {
        bench.load(stream)?;
    }
    set(&mut bench.design, clock, u64::from(outside));
    // Short, so that many kinds of traffic are seen.
    let decisions = most.min(if total > 256 { 2000 } else { 4000 });
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
                bench.resume(stamp);
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
