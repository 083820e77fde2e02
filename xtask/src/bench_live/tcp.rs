//! One TCP connection through every contestant, by iperf3: both of its ends on core 0, what carries the frames on core 1.

use super::{Contestant, Place, median};
use crate::failure::Failure;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

/// The contestants take turns this often.
const TURNS: usize = 10;

impl Place {
    /// Measures and prints the table.
    pub(super) fn measure_tcp(&self, contestants: &[(&str, Contestant)]) -> Result<(), Failure> {
        // With offloads and without, by contestant.
        let mut rates: [Vec<Vec<f64>>; 2] = std::array::from_fn(|_| vec![Vec::new(); contestants.len()]);
        for _ in 0..TURNS {
            for (offloads, rates) in [true, false].into_iter().zip(&mut rates) {
                for ((_, contestant), rates) in contestants.iter().zip(rates) {
                    rates.push(self.tcp(*contestant, offloads)?);
                }
            }
        }
        println!(
            "{:<24}{:>16}{:>10}{:>16}{:>10}   medians of {TURNS} turns, and of the ratios in a turn",
            "TCP, Gbit/s", "offloads on", "/ HTB", "offloads off", "/ HTB"
        );
        let htb = contestants.iter().position(|(_, contestant)| matches!(contestant, Contestant::Bridge { htb: true }));
        for (place, (name, _)) in contestants.iter().enumerate() {
            let mut line = format!("{name:<24}");
            for rates in &rates {
                let ratios = htb.map(|htb| rates[place].iter().zip(&rates[htb]).map(|(own, htb)| own / htb).collect());
                let ratio = ratios.map_or("-".to_owned(), |ratios| format!("{:.2}", median(ratios)));
                line += &format!("{:>16.2}{ratio:>10}", median(rates[place].clone()));
            }
            println!("{line}");
        }
        Ok(())
    }

    /// The rate of one TCP connection, in Gbit/s.
    fn tcp(&self, contestant: Contestant, offloads: bool) -> Result<f64, Failure> {
        let _running = self.start(contestant)?;
        if !offloads {
            for (host, interface) in [("a", "ba"), ("b", "bb")] {
                self.within(host, &format!("ethtool -K {interface} tso off gso off gro off tx off"))?;
            }
        }
        let server = self.command("b", "taskset -c 0 iperf3 --server --one-off").stdout(Stdio::null()).spawn();
        let mut server = server.map_err(|error| Failure::Environment(format!("cannot start iperf3: {error}")))?;
        thread::sleep(Duration::from_millis(300));
        let text = self.within("a", "timeout 20 taskset -c 0 iperf3 --client 10.77.0.2 --time 2 --json");
        let _ = (server.kill(), server.wait());
        let json: serde_json::Value = serde_json::from_str(&text.unwrap_or_default()).unwrap_or_default();
        Ok(json["end"]["sum_received"]["bits_per_second"].as_f64().unwrap_or(0.0) / 1e9)
    }
}
