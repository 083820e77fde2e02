//! Two workers against one, each fed by a sender on its own core: the greatest rate without loss.
//!
//! A core is shared by sending, receiving, carrying and the far host. One worker and its sender have core 0; of two, each has a core. Flows are chosen that the
//! kernel gives to the worker of their class.

use super::{Contestant, HALVINGS, LOSS_LIMIT, Place, Running, median};
use crate::failure::Failure;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

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

/// The kinds of sockets that are measured.
const SOCKETS: [&str; 2] = ["packet", "xdp"];

/// More frames per second than a core can send and carry.
const MOST: f64 = 1e6;

impl Place {
    /// Measures and prints the rows.
    pub(super) fn measure_workers(&self, (lengths, rounds, seconds): (&[u32], u32, f64)) -> Result<(), Failure> {
        println!(
            "{:<24}{:>12}{:>12}{:>10}   kframes/s without loss, medians of {rounds} turns",
            "each feeding itself", "one worker", "two", "ratio"
        );
        for &length in lengths {
            // By kind of sockets, and number of workers.
            let mut rates: [[Vec<f64>; 2]; 2] = Default::default();
            for _ in 0..rounds {
                for (io, rates) in SOCKETS.into_iter().zip(&mut rates) {
                    for (workers, rates) in (1..).zip(rates) {
                        rates.push(self.rate_of_workers((io, workers), length, seconds)?);
                    }
                }
            }
            for (io, rates) in SOCKETS.into_iter().zip(rates) {
                let [one, two] = rates.map(median);
                println!("{:<24}{:>12.0}{:>12.0}{:>10.2}", format!("{length} bytes, {io}"), one / 1e3, two / 1e3, two / one);
            }
        }
        Ok(())
    }

    /// The most frames per second that this many workers carry without loss, each as many as the others, found by halves.
    fn rate_of_workers(&self, (io, workers): (&'static str, usize), length: u32, seconds: f64) -> Result<f64, Failure> {
        let policy = POLICY.replace("scheduler", &format!("workers = {workers}\nscheduler"));
        let cores = ["0", "0,1"][workers - 1];
        let options = if io == "xdp" { "--io xdp" } else { "--io packet" };
        // A queue for each worker.
        let running = self.start_on(Contestant::Ours(options), &policy, (cores, workers))?;
        let sources = (0..workers).map(|worker| self.source(&running, workers, worker)).collect::<Result<Vec<u16>, _>>()?;
        let (mut low, mut high) = (0.0, MOST);
        for _ in 0..HALVINGS + 2 {
            let rate = f64::midpoint(low, high);
            // Other work on the machine spoils a trial now and then.
            let is_free = self.is_carried(&sources, length, rate, seconds)? || self.is_carried(&sources, length, rate, seconds)?;
            *if is_free { &mut low } else { &mut high } = rate;
        }
        Ok(low * workers as f64)
    }

    /// True if senders on their cores keep this rate each, and what they send arrives.
    fn is_carried(&self, sources: &[u16], length: u32, rate: f64, seconds: f64) -> Result<bool, Failure> {
        let before = self.arrived()?;
        let feeders =
            sources.iter().enumerate().map(|(core, &from)| self.feed(core, length, from, rate, seconds)).collect::<Result<Vec<_>, _>>()?;
        let mut is_kept = true;
        let mut sent = 0;
        for feeder in feeders {
            let answer = feeder.wait_with_output().map_err(|error| Failure::Environment(error.to_string()))?;
            let frames: u64 = String::from_utf8_lossy(&answer.stdout).trim().parse().unwrap_or(0);
            is_kept &= frames as f64 >= 0.999 * rate * seconds;
            sent += frames;
        }
        thread::sleep(Duration::from_millis(60));
        let arrived = self.arrived()? - before;
        Ok(is_kept && sent.saturating_sub(arrived) as f64 <= LOSS_LIMIT * sent as f64)
    }

    /// A source port whose packets come to the worker of their class.
    fn source(&self, running: &Running<'_>, workers: usize, worker: usize) -> Result<u16, Failure> {
        if workers == 1 {
            return Ok(TRIED.start);
        }
        for from in TRIED {
            let before = [0, 1].map(|other| running.thread_time(&format!("tidegate-0.{other}")));
            self.feed(worker, 60, from, 1e5, 0.05)?.wait_with_output().map_err(|error| Failure::Environment(error.to_string()))?;
            let after = [0, 1].map(|other| running.thread_time(&format!("tidegate-0.{other}")));
            let [own, other] = [worker, 1 - worker].map(|number| after[number].saturating_sub(before[number]));
            // The class of the first port is assigned first, to the first worker.
            if other * 20 < own {
                return Ok(from);
            }
        }
        Err(Failure::Check(format!("no flow of {TRIED:?} comes to worker {worker} alone")))
    }

    fn feed(&self, core: usize, length: u32, from: u16, rate: f64, seconds: f64) -> Result<Child, Failure> {
        let to = PORTS[core];
        let line = format!("taskset -c {core} {} feed ba {length} {from}:{to} {rate} {seconds}", self.load.display());
        let child = self.command("a", &line).stdout(Stdio::piped()).spawn();
        child.map_err(|error| Failure::Environment(format!("cannot start `{line}`: {error}")))
    }
}
