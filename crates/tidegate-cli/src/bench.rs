//! `tidegate bench`: what a packet, a cell or a decision costs on this machine, against the number of flows.

use crate::failure::Failure;
use crate::present::print;
use crate::progress::Progress;
use clap::{Args, ValueEnum};
use std::fmt::Write;
use std::process::ExitCode;
use std::time::Instant;
use tidegate_bench::cells::{self, Upkeep};
use tidegate_bench::{Benchmark, dwcs, police, schedule};

/// What `tidegate bench` takes.
#[derive(Args)]
#[command(
    after_help = "Times are those of one core of this machine, whatever else it is doing: the median of the rounds, and for cells also \
the 99.9th percentile and the longest of single cells. Compare figures of one run only. `cargo xtask bench` measures beside DPDK."
)]
pub struct Arguments {
    /// What to measure
    #[arg(value_enum)]
    group: Group,
    /// Numbers of flows, connections or streams [default: 1,100,1000,65536,1048576; for dwcs 4,16,256,4096,65536,1048576]
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=4_194_304))]
    flows: Vec<u32>,
    /// Rounds of about a million packets, of which the median counts
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Group {
    /// The cell scheduler's whole cycle: the planner beside the heap of Schiller and Gunningberg
    Cells,
    /// A decision by Dynamic Window-Constrained Scheduling: the engine, the scan of all streams, and EDF on the timing wheel
    Dwcs,
    /// Enqueue and dequeue with every scheduler
    Schedule,
    /// One verdict of every policer
    Police,
}

/// Single cells that are timed.
const TIMED: u64 = 1 << 20;

/// What was measured of one operation: nanoseconds per packet.
struct Row {
    operation: String,
    flows: u32,
    /// The median of the rounds.
    mean: f64,
    /// Median, 99.9th percentile and longest of single cells.
    single: Option<[u32; 3]>,
}

/// What two cores do with the slots of one link.
struct Shards {
    flows: u32,
    /// One shard, two beside each other, two merged into one order.
    times: [f64; 3],
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let flows: &[u32] = match (arguments.flows.as_slice(), arguments.group) {
        ([], Group::Dwcs) => &[4, 16, 256, 4096, 65_536, 1_048_576],
        ([], _) => &[1, 100, 1000, 65_536, 1_048_576],
        (flows, _) => flows,
    };
    let names: Vec<String> = match arguments.group {
        Group::Cells => cells::names().map(str::to_owned).collect(),
        Group::Dwcs => dwcs::names().map(str::to_owned).collect(),
        Group::Schedule => schedule::names().map(str::to_owned).collect(),
        Group::Police => police::names().collect(),
    };
    let beside = if arguments.group == Group::Cells { flows.len() } else { 0 };
    let total = (beside + names.len() * flows.len()) as u64;
    let progress = Progress::new(total, "measuring {wide_bar} {pos}/{len}  {left}");
    let (mut upkeep, mut shards) = (Vec::new(), Vec::new());
    if arguments.group == Group::Cells {
        for &flows in flows {
            upkeep.push((flows, cells::upkeep(flows).map_err(Failure::Defect)?));
            if flows > 1 {
                let [one, two, merged] = [(1, false), (2, false), (2, true)].map(|(count, merged)| cells::shards(count, flows, merged));
                shards.push(Shards {
                    flows,
                    times: [one.map_err(Failure::Defect)?, two.map_err(Failure::Defect)?, merged.map_err(Failure::Defect)?],
                });
            }
            progress.at(upkeep.len() as u64);
        }
    }
    let mut rows = Vec::new();
    for name in &names {
        for &flows in flows {
            rows.push(measure(arguments, name, flows).map_err(Failure::Defect)?);
            progress.at((beside + rows.len()) as u64);
        }
    }
    drop(progress);
    print(&if arguments.json { json(&rows, &upkeep, &shards) } else { table(&rows, &names, flows, &upkeep, &shards) })?;
    Ok(ExitCode::SUCCESS)
}

fn measure(arguments: &Arguments, name: &str, flows: u32) -> Result<Row, String> {
    let Benchmark { operation, mut round, .. } = match arguments.group {
        Group::Cells => cells::set_up(name, flows)?,
        Group::Dwcs => dwcs::set_up(name, flows)?,
        Group::Schedule => schedule::set_up(name, flows, 1)?,
        Group::Police => police::set_up(name, flows)?,
    };
    let mut times: Vec<f64> = (0..arguments.rounds)
        .map(|_| {
            let started = Instant::now();
            let packets = round();
            started.elapsed().as_secs_f64() * 1e9 / packets as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let single = if arguments.group == Group::Cells {
        let cells = cells::times(name, flows, TIMED)?;
        let at = |part: f64| cells[((cells.len() - 1) as f64 * part) as usize];
        Some([at(0.5), at(0.999), at(1.0)])
    } else {
        None
    };
    Ok(Row { operation, flows, mean: times[times.len() / 2], single })
}

/// One line per operation, one column per number of flows; then, for cells, the percentiles.
fn table(rows: &[Row], names: &[String], flows: &[u32], upkeep: &[(u32, Upkeep)], shards: &[Shards]) -> String {
    let width = names.iter().map(String::len).max().unwrap_or(0).max(12);
    let mut text = format!("{:width$}", "mean ns");
    let of = |name: usize| &rows[name * flows.len()..(name + 1) * flows.len()];
    for flows in flows {
        let _ = write!(text, " {flows:>12}");
    }
    text.push('\n');
    for (index, name) in names.iter().enumerate() {
        let _ = write!(text, "{name:width$}");
        for row in of(index) {
            let _ = write!(text, " {:>12.1}", row.mean);
        }
        text.push('\n');
    }
    if rows.iter().any(|row| row.single.is_some()) {
        let _ = writeln!(text, "\nsingle cells, ns: mean (as above) / median / 99.9th percentile / longest");
        for (index, name) in names.iter().enumerate() {
            let _ = write!(text, "{name:width$}");
            for (mean, [median, high, longest]) in of(index).iter().filter_map(|row| Some((row.mean, row.single?))) {
                let _ = write!(text, " {:>28}", format!("{mean:.1} / {median} / {high} / {longest}"));
            }
            text.push('\n');
        }
        text.push_str(
            "\nThe planner plans up to 64 cells at a time, in the cycle of the first of them; to hand out one of the others may take less\n\
             than can be told from reading the clock, which is 0 here. The longest includes whatever else the machine did meanwhile.\n",
        );
    }
    if !upkeep.is_empty() {
        let _ = writeln!(text, "\nthe planner beside its cells, ns each");
        for (label, index) in ["add a connection", "change a contract", "remove and add", "a slot with nothing due"].into_iter().zip(0..) {
            let _ = write!(text, "{label:<24}");
            for (_, Upkeep { add, change, replace, idle }) in upkeep {
                let _ = write!(text, " {:>12.1}", [add, change, replace, idle][index]);
            }
            text.push('\n');
        }
    }
    if !shards.is_empty() {
        text.push_str("\nthe slots of one link dealt out to planners, one core each, ns per cell (times one planner)\n");
        for Shards { flows, times: [one, two, merged] } in shards {
            let _ = writeln!(
                text,
                "{flows:>8} connections: one {one:.1}, two {two:.1} ({:.2}), two merged into one order {merged:.1} ({:.2})",
                one / two,
                one / merged
            );
        }
    }
    text
}

fn json(rows: &[Row], upkeep: &[(u32, Upkeep)], shards: &[Shards]) -> String {
    let row = |row: &Row| {
        let single = row.single.map_or(String::new(), |[median, high, longest]| {
            format!(", \"median_ns\": {median}, \"p99_9_ns\": {high}, \"longest_ns\": {longest}")
        });
        format!("  {{\"operation\": \"{}\", \"flows\": {}, \"mean_ns\": {:.3}{single}}}", row.operation, row.flows, row.mean)
    };
    let kept = |(flows, upkeep): &(u32, Upkeep)| {
        let Upkeep { add, change, replace, idle } = upkeep;
        format!(
            "  {{\"operation\": \"upkeep-planner\", \"flows\": {flows}, \"add_ns\": {add:.3}, \"change_ns\": {change:.3}, \
             \"replace_ns\": {replace:.3}, \"idle_ns\": {idle:.3}}}"
        )
    };
    let sharded = |Shards { flows, times: [one, two, merged] }: &Shards| {
        format!(
            "  {{\"operation\": \"shards-planner\", \"flows\": {flows}, \"one_ns\": {one:.3}, \"two_ns\": {two:.3}, \"merged_ns\": \
             {merged:.3}}}"
        )
    };
    let lines: Vec<String> = rows.iter().map(row).chain(upkeep.iter().map(kept)).chain(shards.iter().map(sharded)).collect();
    format!("[\n{}\n]", lines.join(",\n"))
}
