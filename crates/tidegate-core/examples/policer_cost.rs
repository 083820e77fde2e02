//! Measures what policing a packet costs with the dual GCRA, against the number of flows.
//!
//! `cargo run --release -p tidegate-core --example policer_cost`
//!
//! Every flow has a contract of its own; packets of 64 bytes come in random order of flows, with one reading of the clock per 32 of them.
//! Time is virtual, 10 ns per packet, so that the mix of verdicts depends on the contracts alone.

use std::hint::black_box;
use tidegate_core::packet::Colour;
use tidegate_core::policer::{Conformance, Contract, DualGcra, Enforcement, Policer, Query, Verdict, police_burst};
use tidegate_core::units::{Rate, Time};

const BURST: usize = 32;
const PACKETS: usize = 1 << 22;
const BYTES: u32 = 64;

fn main() {
    println!("{:>9} {:>12} {:>12}   conform / marked / discarded", "flows", "ns (median)", "one by one");
    for flows in [1, 1 << 10, 1 << 16, 1 << 20] {
        measure(flows);
    }
}

fn measure(flows: u32) {
    let mut random = 0x9E37_79B9_7F4A_7C15u64;
    let mut below = |limit: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % limit
    };
    // 64 bytes every 10 ns are 51.2 Gbit/s in all; each flow may have 30 to 60 % of its share, and 10 to 25 % more of it at peak.
    let mut policers: Vec<DualGcra> = (0..flows)
        .map(|_| {
            let share = 51_200_000_000 / u64::from(flows);
            let committed = share * (3000 + below(3000)) / 10_000;
            let peak = committed + share * (1000 + below(1500)) / 10_000;
            let least = if flows < 32 { 64 } else { 2 };
            let mut contract = Contract::new(Rate::new(committed).unwrap(), BYTES);
            contract.peak_rate = Some(Rate::new(peak).unwrap());
            contract.burst = Some(BYTES * (least + below(8) as u32));
            contract.delay_variation_tolerance = Some(contract.peak_rate.unwrap().time_per_byte().ceil(BYTES * (least + below(8) as u32)));
            contract.conformance = Some(Conformance::Vbr3);
            DualGcra::build(&contract).unwrap()
        })
        .collect();
    let batch: Vec<Query> = (0..PACKETS)
        .map(|_| {
            let colour = if below(4) == 0 { Colour::Yellow } else { Colour::Green };
            Query { policer: below(u64::from(flows)) as u32, length: BYTES, colour }
        })
        .collect();
    let mut verdicts = [Verdict::Conform; BURST];
    let mut now = Time::ZERO;
    let mut counts = [0u64; 3];
    let mut bursts = Vec::new();
    let mut singles = Vec::new();
    for round in 0..11 {
        let started = cpu_nanoseconds();
        for burst in batch.chunks_exact(BURST) {
            now = now + tidegate_core::units::Duration::from_nanoseconds(10 * BURST as u64);
            police_burst(now, burst, &mut policers, &mut verdicts);
            black_box(&verdicts);
        }
        bursts.push((cpu_nanoseconds() - started) / PACKETS as f64);
        let started = cpu_nanoseconds();
        for burst in batch.chunks_exact(BURST) {
            now = now + tidegate_core::units::Duration::from_nanoseconds(10 * BURST as u64);
            for query in burst {
                let verdict = policers[query.policer as usize].police(now, query.length, query.colour);
                if round == 10 {
                    counts[match verdict {
                        Verdict::Conform => 0,
                        Verdict::Mark(_) => 1,
                        Verdict::Discard => 2,
                    }] += 1;
                }
                black_box(verdict);
            }
        }
        singles.push((cpu_nanoseconds() - started) / PACKETS as f64);
    }
    let median = |figures: &mut Vec<f64>| {
        figures.sort_by(f64::total_cmp);
        figures[figures.len() / 2]
    };
    let share = |count: u64| 100.0 * count as f64 / PACKETS as f64;
    println!(
        "{flows:>9} {:>12.2} {:>12.2}   {:.0} % / {:.0} % / {:.0} %",
        median(&mut bursts),
        median(&mut singles),
        share(counts[0]),
        share(counts[1]),
        share(counts[2])
    );
}

/// Processor time of this thread, so that other programs on the machine disturb the figures less.
fn cpu_nanoseconds() -> f64 {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").expect("needs Linux: /proc/thread-self/schedstat");
    statistics.split(' ').next().and_then(|field| field.parse().ok()).expect("schedstat begins with nanoseconds")
}
