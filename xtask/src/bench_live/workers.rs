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

impl Place {
    /// Measures and prints the rows.
    pub(super) fn measure_workers(&self, (lengths, rounds, seconds): (&[u32], u32, f64)) -> Result<(), Failure> {
        println!(
            "{:<24}{:>12}{:>12}{:>10}   kframes/s that arrive, medians of {rounds} turns",
            "each feeding itself", "one worker", "two", "ratio"
        );
        for &length in lengths {
            let mut rates = [Vec::new(), Vec::new()];
            for _ in 0..rounds {
                for (workers, rates) in (1..).zip(&mut rates) {
                    rates.push(self.rate_of_workers(workers, length, seconds)?);
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
    fn rate_of_workers(&self, workers: usize, length: u32, seconds: f64) -> Result<f64, Failure> {
        let policy = POLICY.replace("scheduler", &format!("workers = {workers}\nscheduler"));
        fs::write(&self.policy, policy).map_err(Failure::cannot("write", &self.policy))?;
        let cores = ["0", "0,1"][workers - 1];
        let running = self.start_on(Contestant::Ours("--io packet"), cores)?;
        let sources = (0..workers).map(|worker| self.source(&running, workers, worker)).collect::<Result<Vec<u16>, _>>()?;
        let before = self.arrived()?;
        let feeders: Vec<Child> =
            sources.iter().enumerate().map(|(core, &from)| self.feed(core, length, from, seconds)).collect::<Result<_, _>>()?;
        for mut feeder in feeders {
            feeder.wait().map_err(|error| Failure::Environment(error.to_string()))?;
        }
        Ok((self.arrived()? - before) as f64 / seconds)
    }

    /// A source port whose packets come to the worker of their class.
    fn source(&self, running: &Running<'_>, workers: usize, worker: usize) -> Result<u16, Failure> {
        if workers == 1 {
            return Ok(TRIED.start);
        }
        for from in TRIED {
            let before = [0, 1].map(|other| running.thread_time(&format!("tidegate-0.{other}")));
            self.feed(worker, 60, from, 0.05)?.wait().map_err(|error| Failure::Environment(error.to_string()))?;
            let after = [0, 1].map(|other| running.thread_time(&format!("tidegate-0.{other}")));
            let [own, other] = [worker, 1 - worker].map(|number| after[number].saturating_sub(before[number]));
            // The class of the first port is assigned first, to the first worker.
            if other * 20 < own {
                return Ok(from);
            }
        }
        Err(Failure::Check(format!("no flow of {TRIED:?} comes to worker {worker} alone")))
    }

    fn feed(&self, core: usize, length: u32, from: u16, seconds: f64) -> Result<Child, Failure> {
        let to = PORTS[core];
        let line = format!("taskset -c {core} {} feed ba {length} {from}:{to} {seconds}", self.load.display());
        let child = self.command("a", &line).stdout(Stdio::null()).spawn();
        child.map_err(|error| Failure::Environment(format!("cannot start `{line}`: {error}")))
    }
}
