//! Cost per packet of the policers and schedulers of `tidegate-core`, one operation and one number of flows at a time.
//!
//! ```text
//! tidegate-bench list                          every operation, one per line
//! tidegate-bench police NAME FLOWS
//! tidegate-bench schedule NAME FLOWS BACKLOG
//! ```
//!
//! It speaks the line protocol of the programs in `benches/peers/`: it sets itself up, prints one `ready` line, and then performs one
//! round for every line it reads, answering `tidegate,operation,flows,ns_per_packet,allocations`. End of input ends it.

use std::io::{BufRead, Write};
use std::process::ExitCode;
use std::time::Instant;

mod allocator;
mod flows;
mod police;
mod schedule;

#[global_allocator]
static ALLOCATOR: allocator::Counting = allocator::Counting;

/// Packets that share one reading of the clock, and the burst of every enqueue and dequeue.
const BURST: usize = 32;

/// Length of every packet, in bytes.
const PACKET_BYTES: u32 = 64;

/// Time between two packets, in picoseconds: time is virtual, so the decisions are the same on every machine.
const PICOSECONDS_PER_PACKET: u64 = 10_000;

/// A benchmark that has been set up: `round` performs some packets and returns how many.
struct Benchmark {
    operation: String,
    flows: u32,
    /// Facts for the `ready` line, such as the mix of colours.
    facts: String,
    round: Box<dyn FnMut() -> u64>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match benchmark(&words) {
        Ok(Some(mut benchmark)) => {
            serve(&mut benchmark);
            ExitCode::SUCCESS
        }
        Ok(None) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::from(2)
        }
    }
}

fn benchmark(words: &[&str]) -> Result<Option<Benchmark>, String> {
    let count = |text: &str| match text.parse::<u32>() {
        Ok(count) if count > 0 => Ok(count),
        _ => Err(format!("expected a number of at least 1, not \"{text}\"")),
    };
    match words {
        ["list"] => {
            police::names().for_each(|name| println!("police {name}"));
            schedule::names().for_each(|name| println!("schedule {name}"));
            Ok(None)
        }
        ["police", name, flows] => police::set_up(name, count(flows)?).map(Some),
        ["schedule", name, flows, backlog] => schedule::set_up(name, count(flows)?, count(backlog)?).map(Some),
        _ => Err("usage: tidegate-bench list | police NAME FLOWS | schedule NAME FLOWS BACKLOG".to_owned()),
    }
}

fn serve(benchmark: &mut Benchmark) {
    println!("ready,huge_kib={}{}", allocator::huge_kibibytes(), benchmark.facts);
    let mut output = std::io::stdout();
    let mut line = String::with_capacity(64);
    let mut input = std::io::stdin().lock();
    while output.flush().is_ok() && input.read_line(&mut line).is_ok_and(|length| length > 0) {
        let allocations = allocator::allocations();
        let started = Instant::now();
        let packets = (benchmark.round)();
        let elapsed = started.elapsed();
        let allocations = allocator::allocations() - allocations;
        let nanoseconds = elapsed.as_secs_f64() * 1e9 / packets as f64;
        println!("tidegate,{},{},{nanoseconds:.3},{allocations}", benchmark.operation, benchmark.flows);
        line.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_policer_and_no_scheduler_allocates_per_packet() {
        let policers = police::names().map(|name| police::set_up(&name, 1000));
        let schedulers = schedule::names().flat_map(|name| [1, 3].map(|backlog| schedule::set_up(name, 1000, backlog)));
        for benchmark in policers.chain(schedulers) {
            let mut benchmark = benchmark.unwrap();
            let before = allocator::allocations();
            let packets = (benchmark.round)();
            assert_eq!(allocator::allocations() - before, 0, "{} over {packets} packets", benchmark.operation);
        }
    }

    #[test]
    fn unknown_operations_are_refused() {
        for words in [&["police", "none/plain", "8"][..], &["schedule", "none", "8", "1"], &["police", "gcra/plain", "0"], &["run"]] {
            assert!(benchmark(words).is_err(), "{words:?}");
        }
    }
}
