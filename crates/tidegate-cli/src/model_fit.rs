//! `tidegate model fit`: recordings of a live path become a machine file, with the tables that it names.

use crate::failure::Failure;
use crate::log;
use crate::model_rows::{self, ROWS, bad, beside, policies, port, recording, write};
use crate::present::print;
use clap::Args;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use tidegate_report::format_count;
use tidegate_router::compare;
use tidegate_router::direction::{CostRow, CostRows, INTAKE_LIMIT};
use tidegate_router::fit::{self, DroppedTerm, Observation, StageFit};
use tidegate_statistics::StageTrace;

/// What `tidegate model fit` takes.
#[derive(Args)]
pub struct Arguments {
    /// Recordings of `tidegate live --probe`; those of packets of several lengths together tell what a byte costs
    #[arg(required = true, value_name = "TRACE")]
    traces: Vec<PathBuf>,
    /// Write the machine here; its tables are written beside it
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// The policy file that the recordings were made with [default: a link that holds nothing back]
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Which policy of that file
    #[arg(long, value_name = "NAME", requires = "policy")]
    policy_name: Option<String>,
    /// The seed of the comparisons
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// A cost of a row, in nanoseconds.
type CostOf = fn(&CostRow) -> u64;

/// The stages of a direction, in path order: their names, and what a packet costs there.
const STAGES: [(&str, CostOf); 3] = [("receive", |row| row.intake), ("select", |row| row.start), ("hand-over", |row| row.hand)];

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if arguments.out.extension().is_none_or(|ending| ending != "toml") {
        return Err(bad(&arguments.out, "the name of a machine file ends in .toml"));
    }
    let scenario = policies(arguments.policy.as_deref())?;
    let policy = crate::check::choose(&scenario, arguments.policy_name.as_deref(), "--policy-name")?;
    let (mut by_block, mut observations, mut text) = (Vec::new(), [const { Vec::new() }; STAGES.len()], String::new());
    let clock_hz = clock();
    for path in &arguments.traces {
        let trace = recording(path, policy)?;
        by_block.extend(compare::rows_by_block(&trace).map_err(|error| bad(path, &error.to_string()))?);
        observe(&trace, clock_hz, &mut observations);
        let found = compare::within(&trace, &|| port(policy), arguments.seed).map_err(|error| bad(path, &error.to_string()))?;
        let name = path.display().to_string();
        let _ = writeln!(text, "{}: half of it fitted, the other half judged: {}", log::printable(&name), model_rows::sentence(&found));
        text += &model_rows::table(&found, &[]);
    }
    let rows = CostRows::together(by_block.iter().cloned());
    let fits = observations.each_ref().map(|observations| fit::stage(observations));
    for ((name, _), fit) in STAGES.iter().zip(&fits) {
        text += &stage_line(name, fit.as_ref());
    }
    text += &dropped_line(fits[0].as_ref());
    write(&arguments.out, &machine(arguments, &rows, &fits, clock_hz))?;
    write(&beside(&arguments.out, ROWS), &model_rows::written(&by_block))?;
    let wake: String = rows.woken().iter().map(|row| format!("{} ns\n", row.lead)).collect();
    write(&beside(&arguments.out, WAKE), &wake)?;
    for (rows, ending) in [(rows.woken(), WOKEN), (rows.batched(), BATCHED)] {
        write(&beside(&arguments.out, ending), &factors(rows, &means(&fits)))?;
    }
    let name = arguments.out.display().to_string();
    let _ = writeln!(text, "wrote {} from {} packets, and its tables beside it", log::printable(&name), format_count(rows.len() as u64));
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The endings of the tables that the machine file names: times to wake up, and rows of factors.
const WAKE: &str = "wake.txt";
const WOKEN: &str = "woken.txt";
const BATCHED: &str = "batched.txt";

/// Cycles per second of this machine's processor, as it says; 1 GHz if it does not.
fn clock() -> f64 {
    let facts = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let megahertz = facts.lines().find_map(|line| line.strip_prefix("cpu MHz")?.trim_start_matches(['\t', ' ', ':']).parse::<f64>().ok());
    megahertz.filter(|megahertz| *megahertz > 0.0).map_or(1e9, |megahertz| megahertz * 1e6)
}

/// Adds what each packet of a recording took at each stage. The gap before a packet of a batch is part of receiving it.
fn observe(trace: &StageTrace, clock_hz: f64, observations: &mut [Vec<Observation>; STAGES.len()]) {
    // One by one, so that each row keeps the length of its packet.
    let mut by_length: std::collections::BTreeMap<u64, Vec<_>> = std::collections::BTreeMap::new();
    for (record, row) in fit::costs(trace) {
        by_length.entry(record.length).or_default().push(row);
    }
    for (length, rows) in by_length {
        for (stage, (_, of)) in observations.iter_mut().zip(STAGES) {
            stage.extend(rows.iter().map(|row| Observation { time: of(row) as f64 / 1e9, clock_hz, length: length as f64, routes: 1.0 }));
        }
    }
}

fn means(fits: &[Option<StageFit>; STAGES.len()]) -> [f64; STAGES.len()] {
    fits.each_ref().map(|fit| fit.as_ref().map_or(0.0, |fit| fit.mean))
}

fn stage_line(name: &str, fit: Option<&StageFit>) -> String {
    let Some(StageFit { memory, per_byte, dropped, times, .. }) = fit else { return String::new() };
    let bytes = if is_dropped(dropped, "per_byte") { String::new() } else { format!(" + {:.3} ns per byte", 1e9 * per_byte) };
    let negative: String = dropped
        .iter()
        .filter(|dropped| dropped.distinct >= 3)
        .map(|dropped| format!("; {} left out, because it would be negative: the recordings differ in something else", dropped.term))
        .collect();
    let (outliers, packets) = (format_count(fit::outliers(times) as u64), format_count(times.len() as u64));
    format!("{name}: {:.0} ns{bytes}; {outliers} of {packets} packets are outliers{negative}\n", 1e9 * memory)
}

/// Which terms the recordings say nothing about. They are the same for every stage.
fn dropped_line(fit: Option<&StageFit>) -> String {
    let few = fit.iter().flat_map(|fit| &fit.dropped).filter(|dropped| dropped.distinct < 3);
    let dropped: Vec<String> = few.map(|DroppedTerm { term, distinct }| format!("{term} ({distinct})")).collect();
    if dropped.is_empty() {
        return String::new();
    }
    format!("not fitted, because fewer than three values were recorded: {}\n", dropped.join(", "))
}

fn is_dropped(dropped: &[DroppedTerm], name: &str) -> bool {
    dropped.iter().any(|dropped| dropped.term == name)
}

/// Rows of factors on the mean of each stage.
fn factors(rows: &[CostRow], means: &[f64; STAGES.len()]) -> String {
    let mut text = "# receive select hand-over\n".to_owned();
    for row in rows {
        let words: Vec<String> = STAGES
            .iter()
            .zip(means)
            .map(|((_, of), mean)| if *mean > 0.0 { format!("{:.4}", (of(row) as f64 / 1e9 / mean).min(1e6)) } else { "1".to_owned() })
            .collect();
        let _ = writeln!(text, "{}", words.join(" "));
    }
    text
}

/// The machine file.
fn machine(arguments: &Arguments, rows: &CostRows, fits: &[Option<StageFit>; STAGES.len()], clock_hz: f64) -> String {
    let name = |ending: &str| beside(&arguments.out, ending).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let traces: Vec<String> = arguments.traces.iter().map(|path| log::printable(&path.display().to_string()).into_owned()).collect();
    let mut text = format!(
        "# Written by `tidegate model fit` from {} ({} packets). Interfaces and bus are not measured: give those of the machine.\n[machine]\ncores = 1\n\
         clock = \"{:.3} GHz\"\n\n[machine.bus]\nkind = \"pcie\"\ngeneration = 5\nlanes = 16\n\n",
        traces.join(", "),
        rows.len(),
        clock_hz / 1e9
    );
    for nic in ["in", "out"] {
        let _ = write!(text, "[[machine.nic]]\nname = \"{nic}\"\nrate = \"10 Gbit/s\"\nring = 4096\nreceive_fifo = \"512 kB\"\n\n");
    }
    let _ = write!(
        text,
        "[machine.kernel]\nkind = \"polling\"\nbatch = {INTAKE_LIMIT}\nloop = \"{} ns\"\n",
        median(rows.batched().iter().map(|row| row.lead))
    );
    if !rows.woken().is_empty() {
        let _ = writeln!(text, "wake = {{ table = \"{}\" }}", name(WAKE));
    }
    let table = if rows.batched().is_empty() { WOKEN } else { BATCHED };
    let _ = write!(text, "\n[machine.variation]\nkind = \"rows\"\ntable = \"{}\"\n", name(table));
    if !rows.woken().is_empty() && !rows.batched().is_empty() {
        let _ = writeln!(text, "woken = \"{}\"", name(WOKEN));
    }
    for ((stage, _), fit) in STAGES.iter().zip(fits) {
        if let Some(fit) = fit {
            let _ = write!(
                text,
                "\n[[machine.stage]]\nname = \"{stage}\"\nlevel = \"thread\"\nmemory = \"{:.0} ns\"\nper_byte = \"{:.3} ns\"\n",
                1e9 * fit.memory,
                1e9 * fit.per_byte
            );
        }
    }
    text
}

fn median(values: impl Iterator<Item = u64>) -> u64 {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}
