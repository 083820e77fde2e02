//! The kernel's TCP over a link of 20 Mbit/s, 30 ms of round trip and a FIFO of 81,800 bytes, as a table and as JSON.
//!
//! Example: `cargo run --release -p tidegate-live --example kernel_tcp -- --json kernel.json`, as root.
//!
//! | option | meaning |
//! |---|---|
//! | `--seconds N` | how long the flows run (30) |
//! | `--runs N` | how often each is repeated (1) |
//! | `--only NAME` | a congestion control; may be given several times (reno and cubic) |
//! | `--json FILE` | where the results are written |
//! | `--beside FILE` | results of another TCP, a simulated one for instance, in the same form: a column beside the kernel's |

#[path = "../tests/namespaces/kernel_tcp.rs"]
mod kernel_tcp;
#[path = "../tests/namespaces/topology.rs"]
#[allow(dead_code)]
mod topology;

use kernel_tcp::{BUFFER, DELAY, FLOWS, Measured, RATE, available, measure};
use serde_json::Value;
use std::process::ExitCode;

/// Earlier measurements on the same kind of link: minimum and maximum of several runs.
struct Earlier {
    congestion_control: &'static str,
    /// In Mbit/s.
    rate: [f64; 2],
    /// In 30 s.
    drops: [f64; 2],
    /// Jain's index.
    fairness: Option<[f64; 2]>,
}

const EARLIER: [Earlier; 2] = [
    Earlier { congestion_control: "reno", rate: [19.13, 19.20], drops: [411.0, 449.0], fairness: Some([0.977, 0.993]) },
    Earlier { congestion_control: "cubic", rate: [19.20, 19.20], drops: [312.0, 338.0], fairness: None },
];

struct Options {
    seconds: u64,
    runs: u64,
    only: Vec<String>,
    json: Option<String>,
    beside: Vec<Measured>,
}

fn main() -> ExitCode {
    let options = match options(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(problem) => {
            eprintln!("error: {problem}");
            return ExitCode::from(2);
        }
    };
    if let Some(unknown) = options.only.iter().find(|name| !available().contains(name)) {
        eprintln!("error: this kernel has no congestion control `{unknown}`; it has {}", available().join(", "));
        return ExitCode::from(3);
    }
    let mut measured = Vec::new();
    for name in &options.only {
        for run in 1..=options.runs {
            eprintln!("{name}, run {run} of {}: {} s", options.runs, options.seconds);
            measured.push(measure(name, options.seconds));
        }
    }
    if let Some(path) = &options.json {
        let text = Value::Array(measured.iter().map(Measured::to_json).collect());
        if let Err(problem) = std::fs::write(path, format!("{text:#}\n")) {
            eprintln!("error: {path} cannot be written: {problem}");
            return ExitCode::from(3);
        }
    }
    measured.extend(options.beside);
    print!("{}", table(&options.only, &measured));
    ExitCode::SUCCESS
}

fn options(mut words: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options { seconds: 30, runs: 1, only: Vec::new(), json: None, beside: Vec::new() };
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
        let number = || value.parse().ok().filter(|number| *number > 0).ok_or_else(|| format!("{word} {value}: expected a number above 0"));
        match word.as_str() {
            "--seconds" => options.seconds = number()?,
            "--runs" => options.runs = number()?,
            "--only" => options.only.push(value),
            "--json" => options.json = Some(value),
            "--beside" => options.beside.extend(results(&value)?),
            _ => return Err(format!("there is no option {word}; there are --seconds, --runs, --only, --json and --beside")),
        }
    }
    if options.only.is_empty() {
        options.only = EARLIER.iter().map(|earlier| earlier.congestion_control.to_owned()).collect();
    }
    Ok(options)
}

fn results(path: &str) -> Result<Vec<Measured>, String> {
    let text = std::fs::read_to_string(path).map_err(|problem| format!("{path} cannot be read: {problem}"))?;
    let value: Value = serde_json::from_str(&text).map_err(|problem| format!("{path} is not JSON: {problem}"))?;
    let entries = value.as_array().ok_or_else(|| format!("{path} holds no list of results"))?;
    let entry = |entry| Measured::from_json(entry).ok_or_else(|| format!("{path}: a result lacks a field that --json writes: {entry}"));
    entries.iter().map(entry).collect()
}

/// A row per congestion control and figure. A column per source has the minimum and maximum of its runs; the last one has the earlier figures.
fn table(names: &[String], measured: &[Measured]) -> String {
    let mut sources: Vec<&str> = Vec::new();
    for result in measured {
        if !sources.contains(&result.source.as_str()) {
            sources.push(&result.source);
        }
    }
    let mut text = format!("{} flows, {} Mbit/s, round trip {} ms, FIFO of {BUFFER} bytes\n\n| | |", FLOWS, RATE / 1_000_000, 2 * DELAY);
    sources.iter().for_each(|source| text += &format!(" {source} |"));
    text += " measured before |\n|---|---|";
    text += &"---|".repeat(sources.len() + 1);
    text.push('\n');
    for name in names {
        let earlier = EARLIER.iter().find(|earlier| earlier.congestion_control == name);
        type Figure = (&'static str, usize, fn(&Measured) -> f64, Option<[f64; 2]>);
        let figures: [Figure; 6] = [
            ("goodput, Mbit/s", 2, |result| result.goodput / 1e6, earlier.map(|earlier| earlier.rate)),
            ("sent, Mbit/s", 2, |result| result.sent / 1e6, earlier.map(|earlier| earlier.rate)),
            ("drops in 30 s", 0, |result| result.drops as f64 * 30.0 / result.seconds as f64, earlier.map(|earlier| earlier.drops)),
            ("retransmissions in 30 s", 0, |result| result.retransmissions as f64 * 30.0 / result.seconds as f64, None),
            ("Jain's index", 3, Measured::fairness, earlier.and_then(|earlier| earlier.fairness)),
            ("late at the end of the link, p99, us", 0, |result| result.lateness * 1e6, None),
        ];
        for (what, decimals, figure, before) in figures {
            text += &format!("| {name} | {what} |");
            for source in &sources {
                let of_source = measured.iter().filter(|result| result.source == *source && result.congestion_control == *name);
                let values: Vec<f64> = of_source.map(figure).collect();
                let least = values.iter().copied().fold(f64::INFINITY, f64::min);
                let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                text += &if values.is_empty() { " |".to_owned() } else { format!(" {} |", range([least, most], decimals)) };
            }
            text += &before.map_or_else(|| " |\n".to_owned(), |before| format!(" {} |\n", range(before, decimals)));
        }
    }
    text
}

fn range([least, most]: [f64; 2], decimals: usize) -> String {
    let (least, most) = (format!("{least:.decimals$}"), format!("{most:.decimals$}"));
    if least == most { least } else { format!("{least} to {most}") }
}
