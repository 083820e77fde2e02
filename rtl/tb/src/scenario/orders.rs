//! One decision for every order of the network's inputs, and serial comparison around the wrap of the clock.

use super::stop::{begin, done, stop};
use crate::bench::{Bench, Drive};
use crate::mismatch::Checked;
use crate::random::Random;
use crate::setup::{Done, Failure, Setup};
use crate::timing::Kind;
use std::collections::BTreeSet;
use tidegate_core::dwcs::{Stream, Window};
use tidegate_rtl_model::Routing;

/// Oracles S1, S2, S3 and S6, and random orders where there are too many.
pub fn run(setup: &Setup, seed: u64, _decisions: u64) -> Result<Done, Failure> {
    let mut bench = begin(setup, seed)?;
    serial(&mut bench).map_err(Failure::of(seed))?;
    if let Kind::InSteps(routing, _) = bench.timing().kind
        && routing != Routing::Winner
    {
        published(setup, &mut bench, routing).map_err(Failure::of(seed))?;
        all(setup, &mut bench, routing, &mut Random::new(seed)).map_err(Failure::of(seed))?;
    }
    Ok(done(&bench))
}

/// One decision among streams with these deadlines and arrivals: the winner, and the ranks at the network's ports.
fn decide(bench: &mut Bench, ranks: &[u64], arrivals: &[u64]) -> Checked<(Option<usize>, Vec<u64>)> {
    let contract = |&rank: &u64| Stream { first_deadline: Some(100 + rank), ..Stream::windowed(Window::new(1, 2), 1000) };
    let streams: Vec<Stream> = ranks.iter().map(contract).collect();
    let order: Vec<usize> = (0..streams.len()).collect();
    bench.load(0, &streams, &order)?;
    arrivals.iter().enumerate().for_each(|(stream, &arrival)| bench.arrive(stream, arrival));
    // The first decision finds no stream: it takes the packets. In a pipelined engine others follow the one that counts.
    let mut winner = None;
    let mut updates = 0;
    while winner.is_none() || !bench.is_loading() {
        let enable = winner.is_none() && (updates == 0 || bench.timing().is_pipelined());
        if let Some(update) = bench.cycle(Drive { enable, outside: true, time: 0, ready: true, load: None })? {
            updates += 1;
            winner = winner.or(update.served);
        }
    }
    let home: Vec<u64> =
        if bench.has_network() { bench.home().iter().map(|word| u64::from(word.deadline) - 100).collect() } else { Vec::new() };
    stop(bench, true, 0)?;
    Ok((winner, home))
}

/// S6, by arrivals among equals; stream 0 wins among equal arrivals.
fn serial(bench: &mut Bench) -> Checked<()> {
    for (first, second, winner) in [(65_535, 65_536, 0), (65_536, 65_535, 1), (5, 5, 0), (0, 32_767, 0), (32_767, 0, 1)] {
        let (found, _) = decide(bench, &[0, 0], &[first, second])?;
        bench.same("published", "the first of two arrivals", None, found, Some(winner))?;
    }
    Ok(())
}

/// S1 and S2, on the base architecture: output i of the decision blocks goes to port i/2, or N/2 + i/2 if i is odd.
fn published(setup: &Setup, bench: &mut Bench, routing: Routing) -> Checked<()> {
    if routing != Routing::Lattice {
        return Ok(());
    }
    if setup.streams == 4 {
        for (input, output) in [([1, 2, 3, 4], [1, 3, 2, 4]), ([1, 3, 2, 4], [1, 2, 3, 4])] {
            let (_, home) = decide(bench, &input, &[0; 4])?;
            let blocks = [home[0], home[2], home[1], home[3]];
            bench.same("published", "what leaves the decision blocks", None, blocks, output)?;
        }
    }
    if setup.streams == 8 {
        let (_, home) = decide(bench, &[3, 4, 6, 1, 2, 7, 5, 0], &[0; 8])?;
        bench.same("published", "the ports after a decision", None, home.clone(), vec![0, 4, 2, 6, 1, 5, 3, 7])?;
        let (_, again) = decide(bench, &home, &[0; 8])?;
        bench.same("published", "the ports after another one", None, again, home)?;
    }
    Ok(())
}

/// S3: all orders of 4 and 8 streams, some of 16 and 32.
fn all(setup: &Setup, bench: &mut Bench, routing: Routing, random: &mut Random) -> Checked<()> {
    let ports = setup.streams;
    let mut ranks: Vec<u64> = (0..ports as u64).collect();
    let mut ranks_at = vec![BTreeSet::new(); ports];
    let mut sorted = 0;
    let orders = match ports {
        4 => 24,
        8 => 40_320,
        _ => 1000,
    };
    for _ in 0..orders {
        if ports <= 8 {
            next_permutation(&mut ranks)
        } else {
            random.shuffle(&mut ranks)
        }
        let (winner, home) = decide(bench, &ranks, &vec![0; ports])?;
        bench.same("published", "the first", None, winner, ranks.iter().position(|&rank| rank == 0))?;
        let precedes = |i: usize, j: usize| home[i] < home[j];
        let is_lattice = (0..ports).all(|i| (0..ports).all(|j| i & j != i || i == j || precedes(i, j)));
        bench.same("published", "a lattice at the ports", None, is_lattice, true)?;
        let reversed = |index: usize| index.reverse_bits() >> (usize::BITS - ports.trailing_zeros());
        let exact: Vec<u64> = (0..ports).map(|index| home[reversed(index)]).collect();
        if routing == Routing::Exact {
            bench.same("published", "the exact order at the ports", None, exact.is_sorted(), true)?;
        }
        let half = ports / 2;
        let blocks: Vec<u64> = (0..ports).map(|index| home[index / 2 + half * (index % 2)]).collect();
        sorted += u32::from(blocks.is_sorted());
        home.iter().zip(&mut ranks_at).for_each(|(&rank, at)| _ = at.insert(rank + 1));
    }
    if routing == Routing::Lattice && ports == 8 {
        bench.same("published", "orders that come out sorted", None, sorted, 1024)?;
        let expected = [1..=1, 2..=5, 2..=5, 4..=7, 2..=5, 4..=7, 4..=7, 8..=8].map(|ranks| ranks.collect::<BTreeSet<u64>>());
        bench.same("published", "ranks at the ports", None, ranks_at, expected.to_vec())?;
    }
    if routing == Routing::Lattice && ports == 4 {
        bench.same("published", "orders that come out sorted", None, sorted, 16)?;
    }
    Ok(())
}

/// The next in lexical order, the first after the last.
fn next_permutation(items: &mut [u64]) {
    let Some(turn) = (1..items.len()).rev().find(|&index| items[index - 1] < items[index]) else { return items.reverse() };
    let larger = (turn..items.len()).rev().find(|&index| items[index] > items[turn - 1]).unwrap_or(turn);
    items.swap(turn - 1, larger);
    items[turn..].reverse();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_permutations_come_once() {
        let mut items = [0, 1, 2, 3];
        let mut seen = BTreeSet::new();
        for _ in 0..24 {
            next_permutation(&mut items);
            seen.insert(items);
        }
        assert_eq!((seen.len(), items), (24, [0, 1, 2, 3]));
    }
}
