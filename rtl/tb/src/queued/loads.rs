//! Cycles that a decision of the engine on a heap takes under several loads.

use super::{Bench, Engine, Heap, Pace};
use crate::mismatch::Checked;
use crate::pins::set;
use crate::queued::traffic::begin;
use crate::random::Random;
use crate::setup::{Done, Failure, Setup};
use std::collections::VecDeque;
use tidegate_core::dwcs::{CLAMP, Stream, Window};
use tidegate_rtl_model::MOST_STREAMS;

/// A load of streams that are all backlogged, or have a packet at a time.
struct Load {
    name: &'static str,
    /// The sum of 1/T over all streams; without it every period is one.
    sum: Option<f64>,
    is_backlogged: bool,
}

const fn backlogged(name: &'static str, sum: Option<f64>) -> Load {
    Load { name, sum, is_backlogged: true }
}

const LOADS: &[Load] = &[
    backlogged("0.5", Some(0.5)),
    backlogged("1", Some(1.0)),
    backlogged("2", Some(2.0)),
    backlogged("4", Some(4.0)),
    backlogged("all-periods-one", None),
    Load { name: "1-one-packet-at-a-time", sum: Some(1.0), is_backlogged: false },
];

/// Measures all loads, in this many decisions each.
pub fn loads(setup: &Setup, seed: u64, decisions: u64) -> Result<Done, Failure> {
    let mut done = Done::default();
    for load in LOADS {
        let mut random = Random::new(seed);
        let design = setup.design(seed)?;
        let engine = Heap::new(&design, &setup.parameters)?;
        let pace = Pace {
            outside: false,
            step: 1,
            least: 1,
            penalties: &[],
            model_ports: (setup.streams <= MOST_STREAMS).then_some(setup.streams),
        };
        let streams = (0..setup.streams).map(|stream| load.contract(stream, setup.streams, &mut random)).collect();
        let mut bench = begin((design, engine, seed), &pace, streams, 0, &mut random)?;
        let (measured, misses) = load.measure(&mut bench, decisions).map_err(Failure::of(seed))?;
        let per_decision = |number: u64| number as f64 / measured.decisions.max(1) as f64;
        println!(
            "load={} cycles_per_decision={:.2} misses_per_decision={:.2}",
            load.name,
            per_decision(measured.cycles),
            per_decision(misses)
        );
        done.add(measured);
    }
    Ok(done)
}

impl Load {
    /// Periods a factor of two apart: each third of the streams has half the middle one, the middle one, or twice that.
    fn contract(&self, stream: usize, total: usize, random: &mut Random) -> Stream {
        let period = self.sum.map_or(1, |sum| {
            let middle = 3.5 / 3.0 * total as f64 / sum;
            ((middle * [0.5, 1.0, 2.0][stream % 3]).round() as u64).clamp(1, CLAMP)
        });
        Stream { first_deadline: Some(1 + random.below(period)), penalty: 0, ..Stream::windowed(Window::new(1, 2), period) }
    }

    /// What was done once the load is what it is in the long run, and the misses.
    fn measure(&self, bench: &mut Bench<Heap>, decisions: u64) -> Checked<(Done, u64)> {
        let total = bench.streams.len();
        let packets = if self.is_backlogged { 3 } else { 1 };
        let mut due: VecDeque<usize> = (0..packets * total).map(|packet| packet % total).collect();
        while !due.is_empty() || bench.offered.is_some() {
            offer(bench, &mut due, 0);
            bench.cycle(true)?;
        }
        set(&mut bench.design, bench.pins.enable, 1);
        let (settled, most) = if self.sum.is_some() { (3 * total as u64, decisions) } else { (3, 10) };
        let mut begun = (Done::default(), 0);
        while bench.decisions < settled + most {
            if bench.cycle(true)? {
                if bench.decisions == settled {
                    begun = (Done { decisions: bench.decisions, cycles: bench.cycle, unhindered: (0, 0) }, bench.misses);
                }
                due.extend(bench.winner);
            }
            offer(bench, &mut due, bench.now);
        }
        let (before, misses) = begun;
        let done = Done { decisions: bench.decisions - before.decisions, cycles: bench.cycle - before.cycles, unhindered: (0, 0) };
        Ok((done, bench.misses - misses))
    }
}

fn offer(bench: &mut Bench<Heap>, due: &mut VecDeque<usize>, arrival: u64) {
    if bench.offered.is_none()
        && let Some(stream) = due.pop_front()
    {
        bench.offer(stream, arrival);
    }
}
