//! The cost of shaping alone: the time at which the next cell of a connection may leave, without a ready list.
//!
//! The connections take turns, one call per cell. A chain of dependent multiplications measures the clock, so that times can be given in cycles:
//! each takes three cycles on x86-64 and AArch64 cores of the last decade.

use crate::figure::Table;
use std::hint::black_box;
use std::time::Instant;
use tidegate_cells::{CellContract, Mode, Shaping, Stretch, Sustained, Ticks};

/// Connections of each measurement.
const CONNECTIONS: [usize; 4] = [1, 100, 1000, 64_167];

/// Cells of one round.
const CELLS: usize = 1 << 18;
/// Rounds of one measurement; the fastest counts.
const ROUNDS: usize = 7;

/// The paper's mean in cycles of a PentiumPro at 200 MHz, for any number of connections.
const PUBLISHED: u32 = 85;

/// Multiplications of the chain, and the cycles of each.
const CHAIN: u32 = 1 << 20;
const CYCLES_PER_LINK: f64 = 3.0;

/// The contracts: CBR, single and dual leaky bucket, in bursts of ten cells.
fn contracts() -> [(&'static str, CellContract); 3] {
    let sustained = Sustained { interval: Ticks::slots(20), maximum_burst_size: 10 };
    let contract = |mode| CellContract { mode, ..CellContract::constant(Ticks::slots(4)) };
    [("CBR", contract(Mode::Constant)), ("SLB", contract(Mode::SingleBucket(sustained))), ("DLB", contract(Mode::DualBucket(sustained)))]
}

/// Nanoseconds per cell of this many connections.
fn measure(contract: &CellContract, connections: usize) -> f64 {
    let mut shapings = vec![Shaping::new(contract); connections];
    shapings.iter_mut().for_each(|shaping| shaping.start(0));
    let round = |shapings: &mut Vec<Shaping>| {
        let started = Instant::now();
        let mut cells = 0;
        while cells < CELLS {
            for shaping in shapings.iter_mut() {
                let next = shaping.next();
                black_box(&mut *shaping).on_sent(next, Stretch::NONE);
            }
            cells += connections;
        }
        started.elapsed().as_nanos() as f64 / cells as f64
    };
    (0..ROUNDS).map(|_| round(&mut shapings)).fold(f64::MAX, f64::min)
}

/// Nanoseconds of a clock cycle.
fn cycle() -> f64 {
    let round = || {
        let started = Instant::now();
        let mut product = black_box(3u64);
        for _ in 0..CHAIN {
            product = product.wrapping_mul(product);
        }
        black_box(product);
        started.elapsed().as_nanos() as f64
    };
    (0..ROUNDS).map(|_| round()).fold(f64::MAX, f64::min) / f64::from(CHAIN) / CYCLES_PER_LINK
}

/// The table: a row per number of connections.
pub(super) fn table() -> Table {
    let cycle = cycle();
    let mut head = vec!["connections".to_owned()];
    head.extend(contracts().map(|(name, _)| name.to_owned()));
    let row = |connections: usize| {
        let mut row = vec![connections.to_string()];
        row.extend(contracts().map(|(_, contract)| {
            let nanoseconds = measure(&contract, connections);
            format!("{nanoseconds:.1} ns, {:.0} cycles", nanoseconds / cycle)
        }));
        row
    };
    let mut rows = vec![vec!["any number, paper".to_owned(), format!("under {PUBLISHED} cycles"), "–".to_owned(), "–".to_owned()]];
    rows.extend(CONNECTIONS.map(row));
    Table { title: "Shaping alone, per cell, in this run".into(), head, rows }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_connections_has_a_row() {
        let table = table();
        assert_eq!(table.rows.len(), 1 + CONNECTIONS.len());
        assert!(table.rows.iter().all(|row| row.len() == table.head.len()));
        for row in &table.rows {
            println!("{}", row.join(" | "));
        }
    }
}
