//! CPU time of a call in the simulator: set-up, release and what follows from them, 100,000 of each per second of simulated time.
//!
//! `cargo xtask bench --only calls` runs it. For each number of flows of controlled load that hold all the time it prints a line
//! `permanent,alone_ns,beside_ns,dropped`. `alone_ns` is nanoseconds per call without packets. `beside_ns` is the same with 10 Gbit/s of 1500-byte packets
//! beside the calls, those packets included. `dropped` is packets lost. A short run is taken off a long one, so that building the network does not count.

#[path = "../tests/networks/mod.rs"]
mod networks;

use networks::speed::Speed;
use std::time::Instant;
use tidegate_core::units::Duration;
use tidegate_sim::{Control, Experiment, run};

/// Nanoseconds, calls and lost packets of a run of this many milliseconds.
fn measured(speed: &Speed, milliseconds: u64) -> (f64, u64, u64) {
    let network = speed.network();
    let experiment = Experiment { duration: Duration::from_milliseconds(milliseconds), ..Experiment::default() };
    let begun = Instant::now();
    let outcome = run(&network, &experiment, &Control::default()).expect("the network is sound");
    let nanoseconds = begun.elapsed().as_secs_f64() * 1e9;
    let calls = outcome.calls.iter().map(|calls| calls.admitted).sum();
    let dropped = outcome.ports[0].dropped.iter().map(|dropped| dropped.packets).sum();
    (nanoseconds, calls, dropped)
}

fn main() {
    for permanent in [0, 1000, 10_000] {
        // Permanent flows of 12 kbit/s: together at most 120 Mbit/s, less than the best effort leaves.
        let beside = Speed { permanent, permanent_rate: 12_000, ..Speed::default() };
        // A packet a second: no call holds that long.
        let alone = Speed { best_effort: 1_000_000, rate: 12_000, ..beside };
        let per_call = |speed: &Speed| {
            let ((short, few, _), (long, many, dropped)) = (measured(speed, 10), measured(speed, 110));
            ((long - short) / (many - few) as f64, dropped)
        };
        let ((alone, _), (beside, dropped)) = (per_call(&alone), per_call(&beside));
        println!("{permanent},{alone:.0},{beside:.0},{dropped}");
    }
}
