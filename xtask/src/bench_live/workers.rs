//! Two workers against one, each fed by a sender on its own core: the frames per second that arrive.
//!
//! A sender gives way to the worker on its core, so that a core is shared by sending, receiving, carrying and the far host. One worker and its sender have
//! core 0; of two, each has a core. Flows are chosen that the kernel gives to the worker of their class.

use super::{Contestant, Place, Running};
use crate::failure::Failure;
use std::fs;
use std::process::{Child, Stdio};

/// One class per worker, by destination port.
const POLICY: &str = r#"[policy.two]
rate = "100 Gbit/s"
scheduler = "drr"
packet_limit = "20000 packets"
buffer = { limit = "16 MB" }
class = [{ name = "one", match = [{ destination_port = 5001 }] }, { name = "two" }]
"#;

/// The destination ports of both classes.
const PORTS: [u16; 2] = [5001, 5002];
/// The source ports that are tried for each class.
const TRIED: std::ops::Range<u16> = 4000..4032;

/// Measures and prints the rows.
pub fn run(place: &Place, (lengths, rounds, seconds): (&[u32], u32, f64)) -> Result<(), Failure> {
    println!(
        "{:<24}{:>12}{:>12}{:>10}   kframes/s that arrive, medians of {rounds} turns",
        "each feeding itself", "one worker", "two", "ratio"
    );
    for &length in lengths {
        let mut rates = [Vec::new(), Vec::new()];
        for _ in 0..rounds {
            for (workers, rates) in (1..).zip(&mut rates) {
                rates.push(rate(place, workers, length, seconds)?);
            }
        }
        let [one, two] = rates.map(|mut rates| {
            rates.sort_by(f64::total_cmp);
            rates[rates.len() / 2]
        });
        println!("{:<24}{:>12.0}{:>12.0}{:>10.2}", format!("{length} bytes"), one / 1e3, two / 1e3, two / one);
    }
    Ok(())
}

/// The frames per second that this many workers carry.
fn rate(place: &Place, workers: usize, length: u32, seconds: f64) -> Result<f64, Failure> {
    let policy = POLICY.replace("scheduler", &format!("workers = {workers}\nscheduler"));
    fs::write(&place.policy, policy).map_err(Failure::cannot("write", &place.policy))?;
    let cores = ["0", "0,1"][workers - 1];
    let running = place.start_on(Contestant::Ours("--io packet"), cores)?;
    let sources = (0..workers).map(|worker| source(place, &running, workers, worker)).collect::<Result<Vec<u16>, _>>()?;
    let before = place.arrived()?;
    let feeders: Vec<Child> =
        sources.iter().enumerate().map(|(core, &from)| feed(place, core, length, from, seconds)).collect::<Result<_, _>>()?;
    for mut feeder in feeders {
        feeder.wait().map_err(|error| Failure::Environment(error.to_string()))?;
    }
    Ok((place.arrived()? - before) as f64 / seconds)
}

/// A source port whose packets come to the worker of their class.
fn source(place: &Place, running: &Running<'_>, workers: usize, worker: usize) -> Result<u16, Failure> {
    if workers == 1 {
        return Ok(TRIED.start);
    }
    for from in TRIED {
        let before = [0, 1].map(|other| running.thread_time(&format!("tidegate-0.{other}")));
        feed(place, worker, 60, from, 0.05)?.wait().map_err(|error| Failure::Environment(error.to_string()))?;
        let after = [0, 1].map(|other| running.thread_time(&format!("tidegate-0.{other}")));
        let [own, other] = [worker, 1 - worker].map(|number| after[number].saturating_sub(before[number]));
        // The class of the first port is assigned first, to the first worker.
        if other * 20 < own {
            return Ok(from);
        }
    }
    Err(Failure::Check(format!("no flow of {TRIED:?} comes to worker {worker} alone")))
}

fn feed(place: &Place, core: usize, length: u32, from: u16, seconds: f64) -> Result<Child, Failure> {
    let to = PORTS[core];
    let line = format!("taskset -c {core} {} feed ba {length} {from}:{to} {seconds}", place.load.display());
    let child = place.command("a", &line).stdout(Stdio::null()).spawn();
    child.map_err(|error| Failure::Environment(format!("cannot start `{line}`: {error}")))
}
