//! `cargo xtask reproduce-mutants`: every seeded fault of the core must fail a gate of `tidegate reproduce` or a test.
//!
//! One build holds all faults; the environment variable of `tidegate-core/src/mutants.rs` chooses one per run. Each fault names the figures and tests
//! that should catch it, the quickest first. Figures are run in their short forms. The build without a fault must pass all of them before.

use crate::cargo::{cargo, output, target_directory};
use crate::failure::Failure;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

mod aqm;
mod mutant;

use mutant::Catcher::{self, Figure, Gate, Tests};
use mutant::Mutant;

/// The variable that chooses a fault.
const VARIABLE: &str = "TIDEGATE_MUTANT";

/// Targets of tests that are not the core's, and their packages.
const ELSEWHERE: &[(&str, &str)] = &[("brokered", "tidegate-scenario")];

const DECISIONS: Catcher = Figure("gfr/decisions");

const MUTANTS: &[Mutant] = &[
    Mutant { name: "fgcra-never-tags", fault: "the policer for frames tags nothing", catchers: &[DECISIONS] },
    Mutant { name: "fgcra-full-tolerance", fault: "the bucket for frames has the limit BT in place of BT/2", catchers: &[DECISIONS] },
    Mutant { name: "fgcra-tags-last-cells", fault: "the last cell of a frame is tagged too", catchers: &[DECISIONS] },
    Mutant {
        name: "gcra-charges-violations",
        fault: "a packet that violates is charged",
        catchers: &[Tests("lib", "policer::gcra"), Tests("conformance_policer", "")],
    },
    Mutant {
        name: "sr-tcm-colour-blind",
        fault: "a colour-aware marker ignores the colour",
        catchers: &[Tests("lib", "policer::sr_tcm"), Tests("conformance_policer", "")],
    },
    Mutant { name: "wba-ignores-tags", fault: "weighted buffer allocation takes tagged frames for untagged ones", catchers: &[DECISIONS] },
    Mutant { name: "wba-equal-weights", fault: "weighted buffer allocation gives all flows the same share", catchers: &[DECISIONS] },
    Mutant { name: "wba-without-third-test", fault: "weighted buffer allocation refuses all beyond the share", catchers: &[DECISIONS] },
    Mutant { name: "selective-drop-other-z", fault: "selective drop has half its Z", catchers: &[DECISIONS] },
    Mutant { name: "frames-lose-their-ends", fault: "the last cell of a refused frame is refused", catchers: &[DECISIONS] },
    Mutant {
        name: "push-out-of-the-wrong-queue",
        fault: "the arriving flow gives way in place of the longest",
        catchers: &[Tests("lib", "buffer::longest_queue_push_out"), Tests("conformance_buffer", "")],
    },
    Mutant {
        name: "scfq-forgets-its-clock",
        fault: "a flow that becomes backlogged keeps its old stamp",
        catchers: &[Tests("lib", "scheduler::self_clocked"), Tests("guarantees", ""), Tests("textbooks", "")],
    },
    Mutant {
        name: "wf2q-plus-adds-work-at-the-start",
        fault: "virtual time counts a packet when its service starts",
        catchers: &[Tests("guarantees", "wf2q_plus_counts"), Tests("guarantees", "")],
    },
    Mutant {
        name: "drr-keeps-deficits",
        fault: "an empty queue keeps its deficit",
        catchers: &[Tests("lib", "scheduler::deficit_round_robin"), Tests("textbooks", "")],
    },
    Mutant {
        name: "priority-without-turns",
        fault: "equal priorities do not take turns",
        catchers: &[Tests("lib", "scheduler::strict_priority"), Tests("textbooks", "")],
    },
    Mutant {
        name: "dwcs-zero-windows-reversed",
        fault: "of two zero windows the smaller denominator goes first",
        catchers: &[Figure("sharestreams/figure-15"), Tests("lib", "dwcs::rank")],
    },
    Mutant {
        name: "switch-forgets-tokens",
        fault: "policers start with full buckets when a port switches to another policy",
        catchers: &[Tests("changing_port", "")],
    },
    Mutant {
        name: "switch-reorders-moved",
        fault: "packets that move to another queue are appended in reverse order",
        catchers: &[Tests("changing_port", "")],
    },
    Mutant {
        name: "guard-ignores-room",
        fault: "a flow without room earns credit for what it cannot move",
        catchers: &[Tests("guard", "a_flow_within_its_share")],
    },
    Mutant { name: "guard-without-clamp", fault: "credit has no limit", catchers: &[Tests("guard", "the_laws_hold")] },
    Mutant {
        name: "guard-remembers-credit",
        fault: "the fluid server remembers credit beyond the clamp",
        catchers: &[Tests("guard", "it_decides_as_exact_fractions"), Tests("guard", "a_burst_of_one_flow")],
    },
    Mutant {
        name: "guard-without-counterbalance",
        fault: "credit and debt do not count",
        catchers: &[Tests("guard", "a_burst_of_one_flow")],
    },
    Mutant { name: "guard-forgets-residues", fault: "parts of a frame are lost", catchers: &[Tests("guard", "parts_of_a_frame")] },
    Mutant { name: "guard-wastes-spare", fault: "nothing is granted in advance", catchers: &[Tests("guard", "a_burst_of_one_flow")] },
    Mutant {
        name: "guard-ignores-weights",
        fault: "all weights are 1",
        catchers: &[Tests("guard", "a_flow_within_its_share"), Tests("guard", "it_decides_as_exact_fractions")],
    },
    Mutant {
        name: "budgets-released-at-once",
        fault: "a call by budgets is released while its burst waits",
        catchers: &[Tests("brokered", "a_burst_counts")],
    },
    Mutant { name: "cells-without-stretch", fault: "an overload stretches no interval", catchers: &[Figure("schiller/figure-4")] },
];

/// The figures of the gates of the node for integrated services.
const RULES: &str = "intserv/rules";
const BLOCKING: &str = "intserv/blocking";
const LIGHT: &str = "intserv/light-load";
const ROGUE: &str = "intserv/non-conforming";
const MODES: &str = "intserv/flow-modes";
const SCALE: &str = "intserv/at-scale";

/// The faults of the node for integrated services. Everything that is named has to catch the fault, not one of it. Two faults cannot be made: a
/// flow has one queue, so its excess has no other; and no head is eligible when the round robin out of profile is asked, which the scheduler asserts.
const INTSERV: &[Mutant] = &[
    Mutant {
        name: "selective-pushout-lowest-flow",
        fault: "push-out always takes the lowest flow",
        catchers: &[Gate(RULES, "P2"), Gate(RULES, "P3")],
    },
    Mutant { name: "selective-pushout-in-turn", fault: "push-out takes flows in turn", catchers: &[Gate(RULES, "P2")] },
    Mutant {
        name: "selective-pushout-longest",
        fault: "push-out takes the flow with the most marked packets",
        catchers: &[Gate(RULES, "P2"), Gate(RULES, "P3")],
    },
    Mutant { name: "selective-pushout-unmarked-first", fault: "push-out takes unmarked packets first", catchers: &[Gate(RULES, "P1")] },
    Mutant {
        name: "selective-pushout-tail-drops",
        fault: "a full guaranteed partition drops arrivals",
        catchers: &[Gate(RULES, "P1"), Gate(SCALE, "conforming guaranteed packets lost")],
    },
    Mutant {
        name: "selective-pushout-for-marked",
        fault: "marked arrivals push out, too",
        catchers: &[Tests("selective_pushout", "each_rule_once")],
    },
    Mutant {
        name: "selective-pushout-plus-tail-drops",
        fault: "a full partition of controlled load drops arrivals",
        catchers: &[
            Gate(RULES, "Q1"),
            Gate(RULES, "L1"),
            Gate(ROGUE, "R3, tolerance 1 ms: conforming packets lost"),
            Gate(SCALE, "conforming controlled-load packets lost"),
        ],
    },
    Mutant {
        name: "selective-pushout-plus-without-longest",
        fault: "controlled load pushes out marked packets only",
        catchers: &[Gate(RULES, "Q1"), Gate(RULES, "L1"), Gate(ROGUE, "R3, tolerance 1 ms: conforming packets lost")],
    },
    Mutant {
        name: "selective-pushout-plus-is-dynamic-threshold",
        fault: "controlled load has a dynamic threshold",
        catchers: &[Gate(RULES, "Q3")],
    },
    Mutant {
        name: "selective-pushout-plus-fixed",
        fault: "the register of the longest queue never changes",
        catchers: &[Gate(RULES, "L1")],
    },
    Mutant {
        name: "selective-pushout-plus-ignores-arrivals",
        fault: "the register ignores arrivals",
        catchers: &[Gate(RULES, "L1"), Tests("selective_pushout", "the_register_follows_arrivals")],
    },
    Mutant {
        name: "selective-pushout-plus-ignores-departures",
        fault: "the register ignores departures",
        catchers: &[Tests("selective_pushout", "the_register_follows_departures")],
    },
    Mutant {
        name: "selective-pushout-plus-from-tail",
        fault: "the tail of the longest queue gives way",
        catchers: &[Gate(RULES, "Q3"), Gate(ROGUE, "R3: its longest delay"), Tests("selective_pushout", "the_register_follows_arrivals")],
    },
    Mutant {
        name: "svc-keeps-stamp-of-pushed-out",
        fault: "the head behind one that was pushed out keeps its stamp",
        catchers: &[
            Gate(RULES, "P5"),
            Gate(RULES, "Q2"),
            Gate(ROGUE, "R3: TCP, sum"),
            Gate(ROGUE, "R3: longest delay of conforming controlled load"),
        ],
    },
    Mutant {
        name: "intserv-without-marks",
        fault: "nothing is marked",
        catchers: &[Gate(RULES, "M1"), Gate(LIGHT, "R2: controlled load marked"), Gate(ROGUE, "R4")],
    },
    Mutant {
        name: "intserv-keeps-marks",
        fault: "what is in profile keeps its mark",
        catchers: &[Gate(RULES, "M2"), Gate(LIGHT, "R2: controlled load marked")],
    },
    Mutant { name: "svc-literal", fault: "every head starts no earlier than it becomes the head", catchers: &[Gate(RULES, "S1")] },
    Mutant {
        name: "intserv-charges",
        fault: "packets out of profile are charged",
        catchers: &[
            Gate(RULES, "M1"),
            Gate(RULES, "S1"),
            Gate(RULES, "Q2"),
            Gate(RULES, "W2"),
            Gate(RULES, "A1"),
            Gate(LIGHT, "R2: out of profile there"),
            Gate(ROGUE, "R3: TCP, sum"),
            Gate(ROGUE, "R4"),
        ],
    },
    Mutant {
        name: "dynamic-threshold-doubled",
        fault: "a queue may have twice its threshold",
        catchers: &[Gate(RULES, "D1"), Tests("lib", "buffer::dynamic_threshold")],
    },
    Mutant { name: "dynamic-threshold-halved", fault: "a queue may have half its threshold", catchers: &[Gate(RULES, "D1")] },
    Mutant { name: "dynamic-threshold-tail-drops", fault: "a queue may fill the buffer", catchers: &[Gate(RULES, "D1")] },
    Mutant { name: "intserv-swaps-weights", fault: "the weights are exchanged", catchers: &[Gate(RULES, "W1")] },
    Mutant { name: "intserv-ignores-weights", fault: "the weights are equal", catchers: &[Gate(RULES, "W1")] },
    Mutant { name: "intserv-saves-credit", fault: "a side that is alone saves up credit", catchers: &[Gate(RULES, "W4")] },
    Mutant {
        name: "svc-without-shaping",
        fault: "heads are eligible at once",
        catchers: &[
            Gate(RULES, "M1"),
            Gate(RULES, "S1"),
            Gate(RULES, "P5"),
            Gate(RULES, "Q2"),
            Gate(RULES, "Q4"),
            Gate(RULES, "W1"),
            Gate(RULES, "W2"),
            Gate(RULES, "W3"),
        ],
    },
    Mutant {
        name: "svc-virtual-time",
        fault: "eligibility follows a virtual time, as in WF2Q+",
        catchers: &[
            Gate(RULES, "M1"),
            Gate(RULES, "S1"),
            Gate(RULES, "P5"),
            Gate(RULES, "Q2"),
            Gate(RULES, "Q4"),
            Gate(RULES, "W1"),
            Gate(RULES, "W2"),
            Gate(RULES, "W3"),
        ],
    },
    Mutant {
        name: "intserv-controlled-load-first",
        fault: "controlled load goes before guaranteed flows",
        catchers: &[Gate(RULES, "S2"), Gate(LIGHT, "R1: longest delay of guaranteed flows is typical")],
    },
    Mutant { name: "arc-never", fault: "the rates of controlled load never change", catchers: &[Gate(RULES, "A1")] },
    Mutant {
        name: "arc-only-on-controlled-load",
        fault: "guaranteed flows that come and go do not change the rates of controlled load",
        catchers: &[Gate(RULES, "A1")],
    },
    Mutant {
        name: "arc-on-utilisation",
        fault: "controlled load divides what the target utilisation leaves",
        catchers: &[Gate(RULES, "A1")],
    },
    Mutant { name: "cac-always-yes", fault: "admission control admits every flow", catchers: &[Gate(BLOCKING, "E9"), Gate(MODES, "E10")] },
    Mutant { name: "cac-always-no", fault: "admission control admits no flow", catchers: &[Gate(BLOCKING, "E9"), Gate(MODES, "E10")] },
    Mutant {
        name: "cac-leaks-upstream",
        fault: "a refusal leaves the reservations of the hops upstream",
        catchers: &[Gate(BLOCKING, "E9"), Tests("admission", "laws")],
    },
    Mutant {
        name: "cac-full-utilisation",
        fault: "admission control gives away the whole capacity",
        catchers: &[Gate(BLOCKING, "E9, 1 Mbit/s"), Gate(MODES, "E10")],
    },
    Mutant {
        name: "cac-ignores-load",
        fault: "admission control takes the measured load for 0",
        catchers: &[Gate(MODES, "E10"), Tests("admission", "measurement")],
    },
    Mutant {
        name: "cac-sums-peaks",
        fault: "admission control takes the sum of the peak rates for the measured load",
        catchers: &[Gate(MODES, "E10"), Tests("admission", "measurement")],
    },
];

/// The figures of the gates of the software router.
const CLOSED_FORMS: &str = "router/rules";
const LIVELOCK: &str = "router/livelock";
const BUS: &str = "router/bus";
const SHARES: &str = "router/shares";

/// The faults of the software router. Everything that is named has to catch the fault, not one of it.
const ROUTER: &[Mutant] = &[
    Mutant {
        name: "on-off-starts-afresh",
        fault: "an on/off source starts at the beginning of an on period",
        catchers: &[Gate(CLOSED_FORMS, "stationary start")],
    },
    Mutant {
        name: "router-soft-first",
        fault: "the software interrupt goes before device interrupts",
        catchers: &[Gate(CLOSED_FORMS, "B1, interrupts")],
    },
    Mutant {
        name: "router-noise-last",
        fault: "noise goes after everything else",
        catchers: &[Gate(CLOSED_FORMS, "B6: mean delay at 0.4")],
    },
    Mutant {
        name: "router-restarts-work",
        fault: "work that was preempted begins again",
        catchers: &[Gate(CLOSED_FORMS, "B6: mean delay at 0.4")],
    },
    Mutant {
        name: "router-draws-columns",
        fault: "the costs of a packet are drawn column by column",
        catchers: &[Gate("router/fidelity", "F3.10")],
    },
    Mutant {
        name: "router-never-masks",
        fault: "devices interrupt a polling thread that is awake",
        catchers: &[Gate(LIVELOCK, "livelock, quota 8: peak")],
    },
    Mutant { name: "router-without-quota", fault: "polling ignores its quota", catchers: &[Gate(LIVELOCK, "livelock, quota 8")] },
    Mutant {
        name: "router-without-feedback",
        fault: "the queue of the user process does not stop reception",
        catchers: &[Gate(LIVELOCK, "livelock, screend with feedback")],
    },
    Mutant { name: "router-without-gate", fault: "a batch takes frames that come meanwhile", catchers: &[Gate(CLOSED_FORMS, "B9")] },
    Mutant { name: "router-ignores-weights", fault: "the input process has the weight 1", catchers: &[Gate(SHARES, "balance")] },
    Mutant { name: "router-ignores-batch", fault: "a process takes one packet", catchers: &[Gate(SHARES, "batch: total of the longest")] },
    Mutant {
        name: "router-serves-last-again",
        fault: "the bus serves an agent until it has nothing left",
        catchers: &[Gate(BUS, "bus, flow 1 sends too much: round robin")],
    },
    Mutant {
        name: "router-returns-descriptors",
        fault: "descriptors come back while the guard is active",
        catchers: &[Gate(BUS, "bus, flow 3 sends too much: guard: the others keep")],
    },
    Mutant { name: "router-gives-whole-bus", fault: "the guard gives out all of the bus", catchers: &[Gate("router/efficiency", "eta")] },
    Mutant { name: "router-activates-late", fault: "the guard's period is twice as long", catchers: &[Gate("router/period", "T: 99 %")] },
];

/// The groups whose faults everything named has to catch, by the names that choose them.
const GROUPS: [(&str, &[Mutant]); 3] = [("aqm", aqm::MUTANTS), ("intserv", INTSERV), ("router", ROUTER)];

/// All faults.
fn all() -> impl Iterator<Item = &'static Mutant> {
    MUTANTS.iter().chain(aqm::MUTANTS).chain(INTSERV).chain(ROUTER)
}

/// The group of a fault.
fn group_of(mutant: &Mutant) -> Option<&'static str> {
    GROUPS.iter().find(|(_, group)| group.iter().any(|other| other.name == mutant.name)).map(|(name, _)| *name)
}

/// A figure that was run with a fault, or with none.
type FigureRun = (Option<String>, &'static str);

/// The gate binary and the test binaries of the build with faults.
struct Build {
    /// The figures that were run, with the fault or without, and what they printed if a gate failed.
    figures: RefCell<HashMap<FigureRun, Option<String>>>,
    gates: PathBuf,
    tests: Vec<(String, PathBuf)>,
}

impl Build {
    fn make() -> Result<Build, Failure> {
        let directory = target_directory()?.join("mutants");
        let build = |arguments: &[&str]| {
            let mut command = cargo();
            command.args(arguments).args(["--profile", "mutants", "--message-format", "json-render-diagnostics", "--target-dir"]);
            command.arg(&directory).env("RUSTFLAGS", "--cfg tidegate_mutants");
            executables(&output(&mut command)?)
        };
        let gates = build(&["build", "--package", "tidegate-reproduce", "--example", "gates"])?;
        let gates = gates.into_iter().find(|(name, _)| name == "gates");
        let gates = gates.ok_or_else(|| Failure::Environment("cargo built no example \"gates\"".to_owned()))?.1;
        let mut arguments = vec!["test", "--no-run", "--package", "tidegate-core", "--lib"];
        for (number, target) in targets().iter().enumerate() {
            debug_assert!(targets()[..number].iter().all(|before| before != target));
            if ELSEWHERE.iter().all(|(elsewhere, _)| elsewhere != target) {
                arguments.extend(["--test", target]);
            }
        }
        let mut tests = build(&arguments)?;
        for (target, package) in ELSEWHERE {
            tests.extend(build(&["test", "--no-run", "--package", package, "--test", target])?);
        }
        Ok(Build { figures: RefCell::default(), gates, tests })
    }

    /// What a catcher finds with this fault, or without any; `None` if nothing.
    fn finds(&self, catcher: Catcher, mutant: Option<&str>) -> Result<Option<String>, Failure> {
        let (program, argument) = match catcher {
            Figure(id) | Gate(id, _) => (&self.gates, id),
            Tests(target, filter) => {
                let target = if target == "lib" { "tidegate_core" } else { target };
                let found = self.tests.iter().find(|(name, _)| name == target);
                (&found.ok_or_else(|| Failure::Environment(format!("cargo built no tests \"{target}\"")))?.1, filter)
            }
        };
        let Gate(id, prefix) = catcher else {
            let arguments: &[&str] = if matches!(catcher, Figure(_)) { &["--short", argument] } else { &[argument] };
            let Some(text) = failures(program, arguments, mutant)? else { return Ok(None) };
            let line = text.lines().find_map(|line| {
                line.strip_prefix("failed: ").map(|gate| format!("gate {argument}: {gate}")).or_else(|| {
                    let test = line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?;
                    Some(format!("test {test}"))
                })
            });
            return Ok(Some(line.unwrap_or_else(|| format!("{argument} failed"))));
        };
        let key = (mutant.map(str::to_owned), id);
        let known = self.figures.borrow().get(&key).cloned();
        let text = match known {
            Some(text) => text,
            None => failures(program, &["--short", argument], mutant)?,
        };
        self.figures.borrow_mut().insert(key, text.clone());
        // A line is "failed: figure: gate".
        let name = |line: &str| line.strip_prefix("failed: ")?.split_once(": ").map(|(_, gate)| gate.to_owned());
        let gate = text.unwrap_or_default().lines().filter_map(name).find(|gate| gate.starts_with(prefix));
        Ok(gate.map(|gate| format!("gate {}", gate.chars().take(120).collect::<String>())))
    }
}

/// What a program prints if it fails with this fault; `None` if it does not fail.
fn failures(program: &Path, arguments: &[&str], mutant: Option<&str>) -> Result<Option<String>, Failure> {
    let mut command = Command::new(program);
    command.args(arguments).env_remove(VARIABLE).env("PROPTEST_FAILURE_PERSISTENCE", "off").current_dir(std::env::temp_dir());
    mutant.map(|name| command.env(VARIABLE, name));
    let output = command.output().map_err(|error| Failure::Environment(format!("cannot start {}: {error}", program.display())))?;
    Ok((!output.status.success()).then(|| String::from_utf8_lossy(&output.stdout).into_owned()))
}

/// The integration tests that any fault names.
fn targets() -> Vec<&'static str> {
    let mut targets: Vec<&str> = all()
        .flat_map(|mutant| mutant.catchers)
        .filter_map(|catcher| match catcher {
            Tests(target, _) if *target != "lib" => Some(*target),
            _ => None,
        })
        .collect();
    targets.sort_unstable();
    targets.dedup();
    targets
}

/// Names and paths of the executables in what Cargo tells of a build.
fn executables(messages: &str) -> Result<Vec<(String, PathBuf)>, Failure> {
    let mut found = Vec::new();
    for line in messages.lines() {
        let message: Value = serde_json::from_str(line).map_err(|error| Failure::Environment(format!("cargo wrote no JSON: {error}")))?;
        if let (Some(name), Some(path)) = (message["target"]["name"].as_str(), message["executable"].as_str()) {
            found.push((name.to_owned(), PathBuf::from(path)));
        }
    }
    Ok(found)
}

/// Runs the faults, or those that are named.
///
/// # Errors
/// [`Failure::Usage`] for a name that no fault has; [`Failure::Check`] if a fault is not caught, or the build without a fault does not pass.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    let chosen = selected(arguments)?;
    let build = Build::make()?;
    let mut catchers: Vec<Catcher> = Vec::new();
    for catcher in chosen.iter().flat_map(|mutant| mutant.catchers) {
        if !catchers.contains(catcher) {
            catchers.push(*catcher);
        }
    }
    for &catcher in &catchers {
        if let Some(found) = build.finds(catcher, None)? {
            return Err(Failure::Check(format!("without a fault there is already one: {found}")));
        }
    }
    println!("without a fault: {} figures and groups of tests pass", catchers.len());
    let mut survivors = Vec::new();
    for mutant in &chosen {
        let needs_all = group_of(mutant).is_some();
        let mut caught = None;
        for &catcher in mutant.catchers {
            caught = build.finds(catcher, Some(mutant.name))?;
            if caught.is_some() != needs_all {
                break;
            }
        }
        match caught {
            Some(by) => println!("caught    {}: {}\n          by {by}", mutant.name, mutant.fault),
            None => {
                println!("SURVIVED  {}: {}", mutant.name, mutant.fault);
                survivors.push(mutant.name);
            }
        }
    }
    println!("{} caught, {} survived", chosen.len() - survivors.len(), survivors.len());
    if survivors.is_empty() { Ok(()) } else { Err(Failure::Check(format!("no gate and no test catches: {}", survivors.join(", ")))) }
}

/// True for the name of a group.
fn is_group(name: &str) -> bool {
    GROUPS.iter().any(|(group, _)| *group == name)
}

fn selected(arguments: &[String]) -> Result<Vec<&'static Mutant>, Failure> {
    if let Some(unknown) = arguments.iter().find(|name| !is_group(name) && all().all(|mutant| mutant.name != **name)) {
        let names = all().map(|mutant| mutant.name).collect::<Vec<_>>().join(", ");
        return Err(Failure::Usage(format!(
            "there is no seeded fault \"{unknown}\"; there are aqm, intserv and router for all of a group, and {names}"
        )));
    }
    let is_chosen =
        |mutant: &&Mutant| arguments.is_empty() || arguments.iter().any(|name| name == mutant.name || group_of(mutant) == Some(name));
    Ok(all().filter(is_chosen).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_of_the_core_is_in_the_table() {
        let core = std::fs::read_to_string(crate::cargo::root().join("crates/tidegate-core/src/mutants.rs")).unwrap();
        let mut names: Vec<&str> =
            core.lines().filter_map(|line| line.trim().strip_suffix("\",")?.split_once(" = \"")).map(|(_, name)| name).collect();
        let mut table: Vec<&str> = all().map(|mutant| mutant.name).collect();
        names.sort_unstable();
        table.sort_unstable();
        assert_eq!(names, table);
    }

    #[test]
    fn faults_are_selected_by_name() {
        let count =
            |names: &[&str]| selected(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).ok().map(|found| found.len());
        assert_eq!(
            [count(&[]), count(&["wba-ignores-tags"]), count(&["wba"]), count(&["router"]), count(&["aqm"])],
            [Some(all().count()), Some(1), None, Some(ROUTER.len()), Some(aqm::MUTANTS.len())]
        );
    }

    #[test]
    fn executables_are_read_from_what_cargo_tells() {
        let messages = "{\"reason\":\"compiler-artifact\",\"target\":{\"name\":\"gates\"},\"executable\":\"/x/gates\"}\n{\"reason\":\"build-finished\"}";
        assert_eq!(executables(messages).ok(), Some(vec![("gates".to_owned(), PathBuf::from("/x/gates"))]));
        assert!(executables("no JSON").is_err());
    }
}
