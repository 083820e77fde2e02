//! Random runs of an engine with queues inside: contracts of one kind, from reset to the questions at the end.

use super::{Bench, Engine, Pace};
use crate::contracts::{Traffic, contracts};
use crate::design::Design;
use crate::golden::golden;
use crate::mismatch::Checked;
use crate::pins::set;
use crate::random::Random;
use crate::setup::{Done, Failure, Setup, until};
use tidegate_core::dwcs::Stream;

/// Seed after seed, each with a design and traffic of its own.
pub fn random<E: Engine>(setup: &Setup, first: u64, decisions: u64) -> Result<Done, Failure> {
    until(decisions, first, |seed, left| {
        let mut random = Random::new(seed);
        let design = setup.design(random.bits())?;
        let engine = E::new(&design, &setup.parameters)?;
        let traffic = random.pick(E::TRAFFIC);
        let pace = engine.pace(traffic, setup.streams, &mut random);
        let start = random.pick(&[0, 32_700, 65_500, 65_530]) + random.below(30);
        let streams = contracts(traffic, setup.streams, (pace.least, start), pace.penalties, &mut random);
        let mut bench = begin((design, engine, seed), &pace, streams, start, &mut random)?;
        run(&mut bench, traffic, &pace, left, &mut random).map_err(Failure::of(seed))
    })
}

/// An engine after its reset, its streams loaded in any order; the clock counts decisions unless the pace is given from outside.
///
/// # Errors
/// If the design lacks a port, the model does not take the streams, or LOAD fails.
pub fn begin<E: Engine>(
    (design, engine, seed): (Design, E, u64),
    pace: &Pace,
    streams: Vec<Stream>,
    start: u64,
    random: &mut Random,
) -> Result<Bench<E>, Failure> {
    let model = golden(pace.model_ports, &streams, start)?;
    let mut order: Vec<usize> = (0..streams.len()).collect();
    random.shuffle(&mut order);
    let mut bench = Bench::new(design, engine, (model, pace.model_ports.is_some()), streams, start)?;
    bench.pins.reset(&mut bench.design, start);
    let load = || -> Checked<()> {
        for stream in order {
            bench.load(stream)?;
        }
        bench.idle(20)?;
        set(&mut bench.design, bench.pins.outside, u64::from(pace.outside));
        bench.idle(20)
    };
    load().map_err(Failure::of(seed))?;
    Ok(bench)
}

/// How a run goes, apart from its contracts.
struct Course {
    traffic: Traffic,
    /// The host takes a report in 3 of 100 cycles.
    is_slow_host: bool,
    /// A burst begins once in this many cycles, and one more.
    lazy: u64,
    /// The streams that packets come for in hot traffic.
    hot: u64,
    /// Packets of the burst that are still to come.
    burst: u64,
}

impl Course {
    fn new(traffic: Traffic, random: &mut Random) -> Course {
        let is_slow_host = random.once_in(4);
        let lazy = random.pick(&[0, 1, 3, 20]);
        Course { traffic, is_slow_host, lazy, hot: 1 + random.below(3), burst: 0 }
    }

    /// The stream of a packet that comes in this cycle.
    fn packet(&mut self, total: u64, random: &mut Random) -> Option<usize> {
        if self.burst == 0 && random.below(self.lazy + 1) != 0 {
            return None;
        }
        let longest = if random.once_in(20) { 200 } else { 4 };
        self.burst = if self.burst > 0 { self.burst - 1 } else { random.below(longest) };
        let stream = match self.traffic {
            Traffic::Hot => random.below(self.hot.min(total)),
            // Most rest for as long as the clock needs to wrap.
            Traffic::Churn if !random.once_in(30) => random.below((total / 4).max(1)),
            _ => random.below(total),
        };
        // Few packets at a time: streams run empty.
        (self.traffic != Traffic::Churn || random.once_in(8)).then_some(stream as usize)
    }
}

fn run<E: Engine>(bench: &mut Bench<E>, traffic: Traffic, pace: &Pace, most: u64, random: &mut Random) -> Checked<Done> {
    let total = bench.streams.len() as u64;
    let mut course = Course::new(traffic, random);
    // Short, so that many kinds of traffic are seen; where all miss, a decision of the engine by events takes long.
    let decisions = most.min(if traffic.is_overload() && total > 256 && !E::HAS_PASSES { 100 } else { 2000 });
    let mut told = bench.now;
    let (mut stop_at, mut stalled) = (0, 0);
    // The first cycle and step of a stretch that nothing has held up yet.
    let mut stretch = (0, 0);
    let mut unhindered = (0, 0);
    while bench.decisions < decisions && !bench.is_worn {
        if bench.steps >= stop_at {
            bench.stop()?;
            bench.questions(random.below(total) as usize, 64)?;
            let pause = random.pick(&[3, 1000, 1000]);
            stop_at = bench.steps + 1 + random.below(pause);
            // A clock from outside has been set meanwhile.
            E::resume(bench, if pace.outside { told } else { bench.now });
            set(&mut bench.design, bench.pins.enable, 1);
            stretch = (bench.cycle, bench.steps);
            continue;
        }
        if bench.offered.is_none()
            && let Some(stream) = course.packet(total, random)
        {
            bench.offer(stream, told);
        }
        let is_ready = !course.is_slow_host || random.below(100) < 3;
        let cycles_of_a_tick = if traffic == Traffic::Churn { 7 } else { 20 };
        stalled += 1;
        if bench.cycle(is_ready)? {
            stalled = 0;
            told = if pace.outside { told + random.below(pace.step + 1) } else { bench.now };
        } else if pace.outside && !E::HAS_PASSES && bench.quiet > 60 && random.once_in(cycles_of_a_tick) {
            // While no stream has packets the clock goes on.
            told += random.pick(&[1, 1, 1, 40]);
        }
        set(&mut bench.design, bench.pins.time, told & 0xffff);
        if stalled > 40_000 + 20 * total {
            return bench.fail("rest", "no decision for a long time".to_owned());
        }
        if course.is_slow_host {
            stretch = (bench.cycle, bench.steps);
        } else if E::HAS_PASSES && bench.steps == stretch.1 + 20 {
            unhindered = (unhindered.0 + 20, unhindered.1 + bench.cycle - stretch.0);
            stretch = (bench.cycle, bench.steps);
        }
    }
    if !bench.is_worn {
        bench.stop()?;
        bench.questions(0, total as usize)?;
    }
    Ok(Done { decisions: bench.decisions, cycles: bench.cycle, unhindered })
}
