//! Measures what policing a packet costs with the dual GCRA, against the number of flows.
//!
//! `cargo run --release -p tidegate-core --example policer_cost`
//!
//! Every flow has a contract of its own; packets of 64 bytes come in random order of flows, with one reading of the clock per 32 of them.
//! Time is virtual, 10 ns per packet, so the mix of verdicts depends only on the contracts. The example measures processor time, which other
//! programs disturb less than elapsed time; the smallest of the rounds is disturbed least.
//!
//! The tables of many flows take thousands of pages. With `GLIBC_TUNABLES=glibc.malloc.hugetlb=1` in the environment glibc requests huge
//! pages.

use std::hint::black_box;
use tidegate_core::algorithm::Algorithm;
use tidegate_core::packet::Colour;
use tidegate_core::policer::{Conformance, Contract, DualGcra, Policer, Query, Verdict, police_burst, police_burst_ahead};
use tidegate_core::units::{Duration, Rate, Time};

/// Packets per reading of the clock.
const BURST_PACKETS: usize = 32;
const PACKETS_PER_ROUND: usize = 1 << 22;
/// Rounds per variant; the smallest and the median are printed.
const ROUNDS: usize = 9;
/// Bytes.
const PACKET_LENGTH: u32 = 64;
const BETWEEN_BURSTS: Duration = Duration::from_nanoseconds(10 * BURST_PACKETS as u64);

fn main() {
    println!("ns per packet, smallest (median) of {ROUNDS} rounds of {PACKETS_PER_ROUND} packets");
    println!("{:>8}  {:>16} {:>16} {:>16}   conform / marked / discarded", "flows", "one by one", "burst", "burst, next ahead");
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
    let mut policers: Vec<DualGcra> = (0..flows)
        .map(|_| {
            // 64 bytes every 10 ns are 51.2 Gbit/s in total. The committed rate is 30 to 60 % of a flow's share, the peak rate 10 to 25 % more.
            let share = 51_200_000_000 / u64::from(flows);
            let committed = share * (3_000 + below(3_001)) / 10_000;
            let peak = Rate::new(committed + share * (1_000 + below(1_501)) / 10_000).expect("a rate within range");
            // A few packets of burst; where few flows share a burst, enough for two bursts.
            let least = if (flows as usize) < BURST_PACKETS { 2 * BURST_PACKETS as u64 } else { 2 };
            let mut packets = || (least + below(8)) as u32;
            let mut contract = Contract::new(Rate::new(committed).expect("a rate within range"), PACKET_LENGTH);
            contract.peak_rate = Some(peak);
            contract.burst = Some(PACKET_LENGTH * packets());
            contract.delay_variation_tolerance = Some(peak.time_per_byte().ceil(PACKET_LENGTH * packets()));
            contract.conformance = Some(Conformance::Vbr3);
            DualGcra::build(&contract).expect("a sound contract")
        })
        .collect();
    let mut queries: Vec<Query> = (0..PACKETS_PER_ROUND)
        .map(|_| {
            let colour = if below(4) == 0 { Colour::Yellow } else { Colour::Green };
            Query { policer: below(u64::from(flows)) as u32, length: PACKET_LENGTH, colour }
        })
        .collect();
    queries.extend_from_within(..BURST_PACKETS);

    let mut now = Time::ZERO;
    let mut counts = [0u64; 3];
    let mut costs = [const { Vec::new() }; 3];
    for round in 0..=ROUNDS {
        for (way, costs) in costs.iter_mut().enumerate() {
            let mut verdicts = [Verdict::Conform; BURST_PACKETS];
            let started = processor_nanoseconds();
            for (burst, next) in queries.chunks_exact(BURST_PACKETS).zip(queries[BURST_PACKETS..].chunks_exact(BURST_PACKETS)) {
                now += BETWEEN_BURSTS;
                match way {
                    0 => {
                        for (query, verdict) in burst.iter().zip(&mut verdicts) {
                            *verdict = policers[query.policer as usize].police(now, query.length, query.colour);
                        }
                    }
                    1 => police_burst(now, burst, &mut policers, &mut verdicts),
                    _ => police_burst_ahead(now, burst, next, &mut policers, &mut verdicts),
                }
                for verdict in black_box(&verdicts) {
                    counts[match verdict {
                        Verdict::Conform => 0,
                        Verdict::Mark(_) => 1,
                        Verdict::Discard => 2,
                    }] += u64::from(round == ROUNDS);
                }
            }
            // The first round warms the caches and brings the buckets to where a long run has them.
            if round > 0 {
                costs.push((processor_nanoseconds() - started) / PACKETS_PER_ROUND as f64);
            }
        }
    }
    let costs = costs.map(|mut costs| {
        costs.sort_by(f64::total_cmp);
        format!("{:.2} ({:.2})", costs[0], costs[costs.len() / 2])
    });
    let percent = counts.map(|count| 100.0 * count as f64 / (3 * PACKETS_PER_ROUND) as f64);
    let [one_by_one, burst, ahead] = costs;
    println!("{flows:>8}  {one_by_one:>16} {burst:>16} {ahead:>16}   {:.0} % / {:.0} % / {:.0} %", percent[0], percent[1], percent[2]);
}

/// Processor time of this thread.
fn processor_nanoseconds() -> f64 {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux, for /proc/thread-self/schedstat");
    statistics.split(' ').next().and_then(|field| field.parse().ok()).expect("schedstat begins with nanoseconds")
}
