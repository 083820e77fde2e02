//! How fast, and in how much memory, a large network is simulated: endless TCP connections between random hosts of a fat tree.
//!
//! `cargo run --release -p tidegate-sim --example fabric [-- K [FLOWS [MICROSECONDS [THREADS]]]]`
//!
//! A tree whose switches have `K` ports has `K^3/4` hosts. All links carry 10 Gbit/s and take 1 us, the buffers hold 2 MB, and a hash of the flow chooses
//! among paths of equal length. Connections are those of today's hosts ([`Tcp::modern`]) and start within 200 us. Prints one line of JSON:
//!
//! | field | holds |
//! |---|---|
//! | `network_s` | CPU time that the network and all paths take, in seconds |
//! | `start_up_s` | CPU time from there to the first events |
//! | `cpu_s` | CPU time from there to the results |
//! | `wall_s` | time from the network to the results; with several threads the CPU times are those of the first |
//! | `packet_hops`, `events` | packets that links have transmitted, acknowledgements included, and events played |
//! | `peak_bytes` | the most memory that the process has had, results included |
//! | `goodput_bps`, `drops` | bits of data delivered per second, and packets dropped |

#[path = "../tests/networks/mod.rs"]
mod networks;

use networks::fat_tree::{add_random_flows, fat_tree, hosts};
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::time::Instant;
use tidegate_core::units::Duration;
use tidegate_sim::tcp::Tcp;
use tidegate_sim::{Control, Division, Experiment, run};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |usual: u64| arguments.next().map_or(usual, |argument| argument.parse().expect("a number"));
    let (k, flows, microseconds) = (number(16) as usize, number(100_000) as usize, number(5_000));
    let threads = number(1) as usize;
    let begun = cpu_seconds();
    let mut network = fat_tree(k, 10_000_000_000, Duration::from_microseconds(1), 2_000_000);
    let start_within = Duration::from_microseconds(200);
    add_random_flows(&mut network, hosts(k), flows, |back| Tcp { start_within, ..Tcp::modern(back) });
    let (built, clock) = (cpu_seconds(), Instant::now());
    let experiment = Experiment { duration: Duration::from_microseconds(microseconds), ..Experiment::default() };
    // Progress is reported first after some thousands of events.
    let first = Mutex::new(None);
    let at = |_: f64| {
        first.lock().expect("not poisoned").get_or_insert_with(cpu_seconds);
    };
    let control =
        Control { threads: NonZeroUsize::new(threads), division: Division::WherePossible, progress: Some(&at), ..Control::default() };
    let outcome = run(&network, &experiment, &control).expect("an outcome");
    let (end, wall) = (cpu_seconds(), clock.elapsed().as_secs_f64());
    let started = first.into_inner().expect("not poisoned").unwrap_or(end);
    let run = &outcome.replications[0];
    let delivered: u64 = run.flows.iter().filter_map(|flow| flow.tcp.as_ref()).map(|tcp| tcp.delivered).sum();
    let drops: u64 = run.ports.iter().flat_map(|port| port.dropped).map(|dropped| dropped.packets).sum();
    println!(
        "{{\"hosts\": {}, \"flows\": {flows}, \"microseconds\": {microseconds}, \"network_s\": {:.3}, \"start_up_s\": {:.3}, \"cpu_s\": {:.3}, \"wall_s\": {wall:.3}, \
         \"packet_hops\": {}, \"events\": {}, \"peak_bytes\": {}, \"goodput_bps\": {:.0}, \"drops\": {drops}}}",
        hosts(k),
        built - begun,
        started - built,
        end - started,
        run.packet_hops,
        run.events,
        peak_bytes(),
        delivered as f64 * 8e6 / microseconds as f64,
    );
}

/// CPU time of the process so far, as the kernel schedules it.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").expect("Linux");
    text.split(' ').next().and_then(|word| word.parse::<f64>().ok()).expect("nanoseconds") / 1e9
}

/// The largest resident set so far.
fn peak_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("kilobytes") * 1024
}
