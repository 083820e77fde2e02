//! Times the ready lists: nanoseconds per extract-min and insert, with every flow in the list and random keys.
//!
//! `cargo run --release -p tidegate-core --example ready`
//!
//! A popped flow is inserted again at a random distance ahead, the same sequence of distances for every list. The median of the rounds
//! is shown; rounds of the two lists alternate, so that their ratio holds on a noisy machine.

#[path = "../tests/heap/mod.rs"]
mod heap;

use heap::Heap;
use std::time::Instant;
use tidegate_core::packet::Flow;
use tidegate_core::ready::{ReadyList, Wheel};

/// Pairs of insertion and removal in a round.
const PAIRS: usize = 1 << 21;
/// Rounds of the measurement.
const ROUNDS: usize = 5;
/// How many places ahead a scheduler prefetches.
const PREFETCH_DISTANCE: usize = 12;

fn main() {
    println!("{:>9}  {:>8}  {:>8}   ns per pop + insert", "flows", "wheel", "heap");
    for flows in [1usize, 100, 1 << 10, 1 << 16, 1 << 20] {
        // Two microseconds between one flow's turn and the next, as at a busy port.
        let span = (flows as u64 * 2).max(64) << 20;
        let (mut wheel, mut heap): (Wheel, Heap) = (filled(flows, span), filled(flows, span));
        let (mut of_wheel, mut of_heap) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS as u64 {
            of_wheel.push(time(&mut wheel, round, span));
            of_heap.push(time(&mut heap, round, span));
        }
        println!("{flows:>9}  {:>8.1}  {:>8.1}", median(of_wheel), median(of_heap));
    }
}

/// A list with every flow in it, in an order that has nothing to do with the flows' numbers.
fn filled<R: ReadyList>(flows: usize, span: u64) -> R {
    let (mut list, mut random) = (R::new(flows), 1);
    for flow in 0..flows {
        list.insert(Flow(flow as u32), next(&mut random) % span);
    }
    list
}

fn time<R: ReadyList>(list: &mut R, round: u64, span: u64) -> f64 {
    let mut random = round + 1;
    let start = Instant::now();
    for _ in 0..PAIRS {
        let Some((key, flow)) = list.pop_first() else { unreachable!("the list is never empty") };
        // As a scheduler would: fetch what the flows after this one will touch.
        std::hint::black_box(list.ahead(PREFETCH_DISTANCE));
        // Every flow comes back once per turn, at a random place of it.
        list.insert(flow, key + ((u128::from(next(&mut random)) * u128::from(span)) >> 64) as u64);
    }
    start.elapsed().as_nanos() as f64 / PAIRS as f64
}

/// The linear congruential generator of Knuth's MMIX, high bits mixed into the low ones.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state ^ (*state >> 32)
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}
