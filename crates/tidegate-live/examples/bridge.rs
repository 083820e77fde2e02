//! Bridges two interfaces through a FIFO and prints its counters: `bridge A B RATE [packet|xdp|auto [SPIN]]`. The rate is in bits per second, and the
//! time of watching in place of sleeping in microseconds.
//!
//! Example: `cargo run --release --example bridge -- veth-a veth-b 20000000`

use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use tidegate_core::buffer::BufferParameters;
use tidegate_core::classifier::{ClassRules, Classifier};
use tidegate_core::port::PortSetup;
use tidegate_core::registry::{BufferKind, SchedulerKind};
use tidegate_core::scheduler::{FlowParameters, Setup};
use tidegate_core::units::{Duration, Overhead, Rate};
use tidegate_live::{Io, LiveConfig, Tick, run};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ([a, b, rate, ..], Some((io, spin))) = (&words[..], options(words.get(3..).unwrap_or_default())) else {
        eprintln!("usage: bridge A B RATE [packet|xdp|auto [SPIN]] (bits per second, microseconds)");
        return ExitCode::from(2);
    };
    let setup = match rate.parse().map_err(|error| format!("{error}")).and_then(setup) {
        Ok(setup) => setup,
        Err(problem) => {
            eprintln!("error: the rate `{rate}` cannot be used: {problem}");
            return ExitCode::from(2);
        }
    };
    let stop = AtomicBool::new(false);
    let mut config = LiveConfig::new(a, b, setup.clone(), setup);
    (config.options.io, config.options.spin) = (io, spin);
    match run(config, &stop, print) {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

fn options(words: &[&str]) -> Option<(Io, Duration)> {
    let (io, spin) = match words {
        [] => ("packet", "0"),
        [io] => (*io, "0"),
        [io, spin] => (*io, *spin),
        _ => return None,
    };
    let io = match io {
        "packet" => Io::Packet,
        "xdp" => Io::Xdp,
        "auto" => Io::Auto,
        _ => return None,
    };
    Some((io, Duration::from_microseconds(spin.parse().ok()?)))
}

/// A FIFO of `rate` bits per second, with a buffer of 100 ms and at least 100 full frames.
fn setup(rate: u64) -> Result<PortSetup, String> {
    let rate = Rate::new(rate).map_err(|error| error.to_string())?;
    let bytes = (rate.bits_per_second() / 80).max(151_400);
    let rules = ClassRules { name: "all".into(), queues: 1, rules: Vec::new() };
    let buffer = BufferParameters { flows: 1, bytes: Some(bytes), ..BufferParameters::default() };
    Ok(PortSetup {
        rate,
        overhead: Overhead::ETHERNET,
        classifier: Classifier::new(vec![rules], 0).map_err(|error| error.to_string())?,
        policers: vec![None],
        aqms: Vec::new(),
        seed: 0,
        buffer: BufferKind::TailDrop.build(&buffer).map_err(|error| error.to_string())?,
        scheduler: SchedulerKind::Fifo.build(&Setup::new(rate, 1542), &[FlowParameters::default()]).map_err(|error| error.to_string())?,
        packet_limit: 20_000,
        longest_frame: 1518,
        remarks: Default::default(),
    })
}

fn print(tick: &Tick) {
    for notice in tick.notices {
        println!("note: {notice}");
    }
    for (way, state) in ["A -> B", "B -> A"].iter().zip(tick.directions) {
        let counters = state;
        let dropped: u64 = counters.dropped().map(|(_, volume)| volume.packets).sum();
        println!(
            "{:4} s  {way}  delivered {} packets, {} bytes; dropped {dropped}; queued {}; lost in the kernel {}",
            tick.elapsed.as_secs(),
            counters.delivered.packets,
            counters.delivered.bytes,
            counters.queued.packets,
            counters.kernel.dropped
        );
    }
}
