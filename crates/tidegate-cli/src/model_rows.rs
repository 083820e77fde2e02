//! What `tidegate model fit` and `tidegate model validate` share: recordings, the port that they are judged through, the file of rows, and the
//! table of a comparison.

use crate::failure::Failure;
use crate::log;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use tidegate_core::port::Port;
use tidegate_core::units::Time;
use tidegate_report::{format_count, format_time};
use tidegate_router::compare::{ACCEPTED, Comparison, Distance, MOST_DRIFT, MOST_STEAL, Verdict};
use tidegate_router::direction::{CostRow, CostRows};
use tidegate_scenario::policy::Policy;
use tidegate_scenario::scenario::Scenario;
use tidegate_statistics::StageTrace;

/// The policy where none is given: a link that holds nothing back.
const WIRE: &str = "[policy.wire]\nrate = \"100 Gbit/s\"\nscheduler = \"fifo\"\n[[policy.wire.class]]\nname = \"all\"\n";

/// The policies of a file, or the one of a wire.
pub fn policies(file: Option<&Path>) -> Result<Scenario, Failure> {
    match file {
        Some(path) => crate::check::load_policies(path, &[]),
        None => tidegate_scenario::parse_str("wire", WIRE).map_err(|problems| Failure::Defect(problems.to_string())),
    }
}

/// A fresh port of a policy.
pub fn port(policy: &Policy) -> Port<usize> {
    Port::new(Time::ZERO, policy.setup())
}

/// A recording whose flows the policy has.
pub fn recording(path: &Path, policy: &Policy) -> Result<StageTrace, Failure> {
    let bytes = std::fs::read(path).map_err(|error| Failure::file(path, "read", &error))?;
    let trace = StageTrace::from_bytes(&bytes).map_err(|error| bad(path, &error.to_string()))?;
    check_flows(path, &trace, policy)?;
    Ok(trace)
}

fn check_flows(path: &Path, trace: &StageTrace, policy: &Policy) -> Result<(), Failure> {
    let flows = policy.setup().classifier.flows() as u64;
    match trace.records.iter().map(|record| record.flow).max() {
        Some(flow) if flow >= flows => Err(bad(
            path,
            &format!(
                "a packet is of flow {flow}, and policy `{}` has {flows} (from 0): give the file it was recorded with (--policy)",
                policy.name
            ),
        )),
        _ => Ok(()),
    }
}

/// Bad input in a file.
pub fn bad(path: &Path, problem: &str) -> Failure {
    Failure::BadInput(format!("error: {}: {problem}", log::printable(&path.display().to_string())))
}

/// A file beside the machine file, of its name and this ending.
pub fn beside(machine: &Path, ending: &str) -> PathBuf {
    machine.with_extension(ending)
}

/// Writes a file that is one.
pub fn write(path: &Path, text: &str) -> Result<(), Failure> {
    if std::fs::metadata(path).is_ok_and(|facts| !facts.is_file()) {
        return Err(bad(path, "this is no file: give the name of a file"));
    }
    std::fs::write(path, text).map_err(|error| Failure::file(path, "written", &error))
}

/// The columns of [`complementary`].
pub const COMPLEMENTARY_COLUMNS: &str = "recording,delay_us,measured,model,single_queue\n";

/// Delays in steps of 2 %.
const DELAY_STEP: f64 = 1.02;

/// The parts of packets beyond each delay, a line for each.
pub fn complementary(name: &str, found: &Comparison) -> String {
    let ends =
        |end: fn(f64, f64) -> f64, of: fn(&[f64]) -> Option<&f64>| found.delays.iter().filter_map(|sorted| of(sorted)).copied().reduce(end);
    let (Some(first), Some(last)) = (ends(f64::min, <[f64]>::first), ends(f64::max, <[f64]>::last)) else { return String::new() };
    let mut text = String::new();
    let mut delay = first.max(1.0);
    while delay <= last * DELAY_STEP {
        let [measured, model, single_queue] = found.above(delay);
        let _ = writeln!(text, "{},{:.3},{measured},{model},{single_queue}", name.replace([',', '"'], "_"), delay / 1e3);
        delay *= DELAY_STEP;
    }
    text
}

/// The ending of the file of rows.
pub const ROWS: &str = "rows.txt";

/// The file of rows: of every block of the recordings, in nanoseconds.
pub fn written(by_block: &[CostRows]) -> String {
    let mut text =
        "# What packets cost, in nanoseconds; written by `tidegate model fit`.\n# block state idle lead intake start hand\n".to_owned();
    for (block, rows) in by_block.iter().enumerate() {
        for (state, rows) in [("woken", rows.woken()), ("batched", rows.batched())] {
            for CostRow { idle, lead, intake, start, hand } in rows {
                let _ = writeln!(text, "{block} {state} {idle} {lead} {intake} {start} {hand}");
            }
        }
    }
    text
}

/// The rows of every block in the file beside a machine file.
pub fn read(machine: &Path) -> Result<Vec<CostRows>, Failure> {
    let path = beside(machine, ROWS);
    let text = std::fs::read_to_string(&path).map_err(|error| {
        bad(machine, &format!("its rows, {}, cannot be read ({error}): give a machine that `tidegate model fit` wrote", path.display()))
    })?;
    let mut blocks: Vec<[Vec<CostRow>; 2]> = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
        let problem =
            || bad(&path, &format!("line {}: expected a block from 0, `woken` or `batched`, and five numbers, not \"{line}\"", index + 1));
        let words: Vec<&str> = line.split_whitespace().collect();
        let [block, state, costs @ ..] = words.as_slice() else { return Err(problem()) };
        let costs: Vec<u64> = costs.iter().map_while(|word| word.parse().ok().filter(|cost| *cost < 1 << 50)).collect();
        let (Ok(block), Ok([idle, lead, intake, start, hand]), 5) = (block.parse::<usize>(), <[u64; 5]>::try_from(costs), words.len() - 2)
        else {
            return Err(problem());
        };
        // Blocks are in order, so none is beyond the next.
        if block > blocks.len() || !["woken", "batched"].contains(state) {
            return Err(problem());
        }
        if block == blocks.len() {
            blocks.push(Default::default());
        }
        blocks[block][usize::from(*state == "batched")].push(CostRow { idle, lead, intake, start, hand });
    }
    if blocks.is_empty() {
        return Err(bad(&path, "there is no row in it: write it again with `tidegate model fit`"));
    }
    Ok(blocks.into_iter().map(|[woken, batched]| CostRows::new(woken, batched)).collect())
}

/// The sentence of a verdict.
pub fn sentence(found: &Comparison) -> String {
    let drift = |distance: f64| {
        format!(
            "not judged: even and odd twentieths of the run differ by {distance:.3} (KS), more than {MOST_DRIFT}: it was not stationary"
        )
    };
    match found.verdict {
        Verdict::Accepted => format!("accepted: the Levy distance is {:.3}, at most {ACCEPTED}", found.model.levy),
        Verdict::Refused => format!("refused: the Levy distance is {:.3}, more than {ACCEPTED}", found.model.levy),
        Verdict::NotStationary(distance) => drift(distance),
        Verdict::Stolen(steal) => format!(
            "not judged: a hypervisor took {:.1} % of the processor's time, more than {} %",
            steal as f64 / 1e4,
            MOST_STEAL as f64 / 1e4
        ),
    }
}

/// A comparison as a table; `intervals` are those of the predictions.
pub fn table(found: &Comparison, intervals: &[[f64; 2]]) -> String {
    let Comparison { packets, rows: [woken, batched], single_queue, model, halves, .. } = found;
    let mut text = format!(
        "  {} packets, {:.0} % of which woke the thread; rows of {} packets that did, and of {} that did not\n",
        format_count(*packets as u64),
        100.0 * found.woken,
        format_count(*woken as u64),
        format_count(*batched as u64)
    );
    let distance = |distance: &Distance| format!("{:.3} / {:.3}", distance.kolmogorov_smirnov, distance.levy);
    let _ = writeln!(
        text,
        "  KS / Levy: model {}, single queue {}, even : odd measured {}",
        distance(model),
        distance(single_queue),
        distance(halves)
    );
    let _ = writeln!(
        text,
        "  {:<8} {:>12} {:>12} {:>8} {:>14} {:>27}",
        "quantile", "measured", "model", "error", "single queue", "prediction, 95 %"
    );
    let time = |nanoseconds: f64| format_time(nanoseconds / 1e9);
    for (index, quantile) in found.quantiles.iter().enumerate() {
        let error = if quantile.has_samples { format!("{:.1} %", 100.0 * quantile.error()) } else { "few".to_owned() };
        let interval = intervals.get(index).map_or(String::new(), |[low, high]| format!("{} to {}", time(*low), time(*high)));
        let line = format!(
            "  {:<8} {:>12} {:>12} {error:>8} {:>14} {interval:>27}",
            quantile.p,
            time(quantile.measured),
            time(quantile.model),
            time(quantile.single_queue)
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}
