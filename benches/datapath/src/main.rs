//! One operation and one number of flows, a round at a time.
//!
//! ```text
//! tidegate-bench list                          every operation, one per line
//! tidegate-bench police NAME FLOWS
//! tidegate-bench schedule NAME FLOWS BACKLOG
//! tidegate-bench buffer NAME FLOWS
//! tidegate-bench cells NAME CONNECTIONS
//! tidegate-bench dwcs NAME STREAMS
//! tidegate-bench admission NAME FLOWS
//! tidegate-bench change NAME FLOWS
//! tidegate-bench guard NAME FLOWS
//! tidegate-bench aqm NAME FLOWS
//! tidegate-bench classify NAME CLASSES
//! ```
//!
//! It speaks the line protocol of the programs in `benches/peers/`: it sets itself up, prints one `ready` line, and then performs one
//! round for every line it reads, answering `tidegate,operation,flows,ns_per_packet,allocations`. End of input ends it.

mod allocator;

use std::io::{BufRead, Write};
use std::process::ExitCode;
use std::time::Instant;
use tidegate_bench::{Benchmark, admission, aqm, buffer, cells, change, classify, dwcs, guard, police, schedule, subscribers};

#[global_allocator]
static ALLOCATOR: allocator::Counting = allocator::Counting;

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

const USAGE: &str = "usage: tidegate-bench list | police NAME FLOWS | schedule NAME FLOWS BACKLOG | buffer NAME FLOWS | \
                     cells NAME CONNECTIONS | dwcs NAME STREAMS | admission NAME FLOWS | change NAME FLOWS | guard NAME FLOWS | aqm NAME FLOWS | \
                     classify NAME CLASSES";

fn benchmark(words: &[&str]) -> Result<Option<Benchmark>, String> {
    let count = |text: &str| match text.parse::<u32>() {
        Ok(count) if count > 0 => Ok(count),
        _ => Err(format!("expected a number of at least 1, not \"{text}\"")),
    };
    match words {
        ["list"] => {
            police::names().for_each(|name| println!("police {name}"));
            schedule::names().for_each(|name| println!("schedule {name}"));
            subscribers::names().for_each(|name| println!("schedule {name}"));
            buffer::names().for_each(|name| println!("buffer {name}"));
            cells::names().for_each(|name| println!("cells {name}"));
            dwcs::names().for_each(|name| println!("dwcs {name}"));
            admission::names().for_each(|name| println!("admission {name}"));
            change::names().for_each(|name| println!("change {name}"));
            guard::names().for_each(|name| println!("guard {name}"));
            aqm::names().for_each(|name| println!("aqm {name}"));
            classify::names().for_each(|name| println!("classify {name}"));
            Ok(None)
        }
        ["police", name, flows] => police::set_up(name, count(flows)?).map(Some),
        ["schedule", name, flows, backlog] if name.starts_with(subscribers::PREFIX) => {
            subscribers::set_up(name, count(flows)?, count(backlog)?).map(Some)
        }
        ["schedule", name, flows, backlog] => schedule::set_up(name, count(flows)?, count(backlog)?).map(Some),
        ["buffer", name, flows] => buffer::set_up(name, count(flows)?).map(Some),
        ["cells", name, connections] => cells::set_up(name, count(connections)?).map(Some),
        ["change", name, flows] => change::set_up(name, count(flows)?).map(Some),
        ["dwcs", name, streams] => dwcs::set_up(name, count(streams)?).map(Some),
        ["classify", name, classes] => classify::set_up(name, count(classes)?).map(Some),
        ["aqm", name, flows] => with_aqm(name, count(flows)?).map(Some),
        ["guard", name, flows] => guard::set_up(name, count(flows)?).map(Some),
        ["admission", name, flows] => admission::set_up(name, count(flows)?).map(Some),
        _ => Err(USAGE.to_owned()),
    }
}

/// An AQM, with the bytes that it keeps per queue among the facts.
fn with_aqm(name: &str, flows: u32) -> Result<Benchmark, String> {
    let before = allocator::held();
    let state = aqm::state(name, flows)?;
    let bytes = allocator::held() - before;
    drop(state);
    let mut benchmark = aqm::set_up(name, flows)?;
    benchmark.facts += &format!(",state_bytes={:.1}", bytes as f64 / f64::from(flows));
    Ok(benchmark)
}

fn serve(benchmark: &mut Benchmark) {
    println!("ready,huge_kib={}{}", allocator::huge_kibibytes(), benchmark.facts);
    let mut output = std::io::stdout();
    let mut line = String::with_capacity(64);
    let mut input = std::io::stdin().lock();
    while output.flush().is_ok() && input.read_line(&mut line).is_ok_and(|length| length > 0) {
        let (mut allocations, mut started) = (allocator::allocations(), Instant::now());
        let mut packets = (benchmark.round)();
        if packets == 0 {
            (allocations, started) = (allocator::allocations(), Instant::now());
            packets = (benchmark.round)();
        }
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
    use tidegate_cells::{CellContract, CellScheduler, CellSetup, Planner, RateScaling, Ticks};

    #[test]
    fn nothing_allocates_per_packet_request_or_change() {
        let policers = police::names().map(|name| police::set_up(&name, 1000));
        let schedulers = schedule::names().flat_map(|name| [1, 3].map(|backlog| schedule::set_up(name, 1000, backlog)));
        let trees = subscribers::names().map(|name| subscribers::set_up(&name, 1000, 1));
        let buffers = buffer::names().map(|name| buffer::set_up(&name, 1000));
        let cells = cells::names().map(|name| cells::set_up(name, 1000));
        let admissions = admission::names().map(|name| admission::set_up(name, 1000));
        // Groups of streams grow on demand. A transition is no packet path.
        let changes = change::names()
            .filter(|name| !name.starts_with("dwcs") && !name.starts_with("transition"))
            .map(|name| change::set_up(&name, 1000));
        let guards = guard::names().map(|name| guard::set_up(name, 1000));
        let aqms = aqm::names().map(|name| aqm::set_up(&name, 1000));
        let classifiers = classify::names().map(|name| classify::set_up(name, 1000));
        let all = policers
            .chain(schedulers)
            .chain(trees)
            .chain(buffers)
            .chain(cells)
            .chain(admissions)
            .chain(changes)
            .chain(guards)
            .chain(aqms)
            .chain(classifiers);
        for benchmark in all {
            let mut benchmark = benchmark.unwrap();
            let before = allocator::allocations();
            // Rounds are short without optimisation; what grows in steps has to grow within these.
            let packets: u64 = (0..4).map(|_| (benchmark.round)()).sum();
            assert_eq!(allocator::allocations() - before, 0, "{} over {packets} packets", benchmark.operation);
        }
    }

    /// As the allocator counts it, all of it, with a PDU posted on every connection and all of them waiting.
    #[test]
    fn a_connection_of_the_cell_scheduler_takes_128_bytes_at_most() {
        for (connections, classes) in [(1u32 << 16, 1u8), (1 << 20, 1), (1 << 16, 8), (65_568, 8), (100_000, 8), (1 << 20, 8)] {
            let before = allocator::held();
            let setup = CellSetup { connections, pdus: connections, transfer: None };
            let mut planner = Planner::<RateScaling>::new(&setup, RateScaling::strict());
            for index in 0..connections {
                let constant = CellContract::constant(Ticks::slots(4 * u64::from(connections)));
                let contract = CellContract { class: (index % u32::from(classes)) as u8, ..constant };
                let connection = planner.add(&contract).unwrap();
                planner.post(connection, 2, 0, &mut ()).unwrap();
            }
            let sent = (0..u64::from(connections)).filter(|&slot| planner.send(slot, &mut ()).is_some()).count();
            assert_eq!(sent, connections as usize);
            let bytes = (allocator::held() - before) as u64;
            println!("{connections} connections in {classes} classes: {:.1} bytes each", bytes as f64 / f64::from(connections));
            assert!(bytes <= 128 * u64::from(connections), "{connections} in {classes} classes: {bytes} bytes");
        }
    }

    #[test]
    fn unknown_operations_are_refused() {
        for words in [&["police", "none/plain", "8"][..], &["schedule", "none", "8", "1"], &["police", "gcra/plain", "0"], &["run"]] {
            assert!(benchmark(words).is_err(), "{words:?}");
        }
    }
}
