//! `tidegate doctor`: what this machine lacks for which command, and the line that mends it; which sockets a bridge gets on each interface, and why.
//! With a policy file, whether the queues of each interface suffice for its workers.

use crate::failure::Failure;
use crate::present::print;
use clap::Args;
use serde_json::json;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tidegate_scenario::Policy;

/// What `tidegate doctor` takes.
#[derive(Args)]
#[command(after_help = "Exit codes: 0 every command can run, if not as well as it could; 3 a command cannot run.")]
pub struct Arguments {
    /// The interfaces that `live` is to use
    #[arg(value_name = "INTERFACE")]
    interfaces: Vec<String>,
    /// The file that `live` is to carry out: the queues of each interface are compared with the most `workers` of its policies
    #[arg(long, value_name = "FILE", requires = "interfaces")]
    file: Option<PathBuf>,
    /// Change a value of the file first, such as policy.access.workers=2
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "file")]
    set: Vec<String>,
    /// Compare with this policy of the file alone; may be given several times
    #[arg(long = "policy", value_name = "NAME", requires = "file")]
    policies: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// How much a lack matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Weight {
    /// The commands run, and not as well as they could.
    Limits,
    /// The commands cannot run.
    Prevents,
}

#[derive(PartialEq, Eq, Debug)]
struct Finding {
    commands: &'static str,
    weight: Weight,
    /// What is lacking, and how it is mended.
    text: String,
}

/// The commands that carry packets.
const LIVE: &str = "live, model validate --live";
/// The commands that measure.
const MEASURING: &str = "live, bench, model";

/// The sockets that a bridge gets on an interface, as texts.
#[derive(PartialEq, Eq, Debug)]
struct Sockets {
    interface: String,
    /// With `--io xdp`, and with `--io auto`.
    xdp: String,
    auto: String,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let workers = arguments.file.as_deref().map_or(Ok(1), |file| most_workers(file, &arguments.set, &arguments.policies))?;
    let (mut findings, sockets) = live(&arguments.interfaces, workers);
    findings.extend(machine(Path::new("/sys"), std::thread::available_parallelism().map_or(1, usize::from)));
    let is_prevented = findings.iter().any(|finding| finding.weight == Weight::Prevents);
    print(&if arguments.json { as_json(&findings, &sockets) } else { as_text(&findings, &sockets) })?;
    Ok(ExitCode::from(if is_prevented { 3 } else { 0 }))
}

/// The most workers of these policies of the file, or of all if none is named.
fn most_workers(file: &Path, changes: &[String], names: &[String]) -> Result<u32, Failure> {
    let (scenario, _) = crate::check::read_policies(file, changes)?;
    let mut policies: Vec<&Policy> = Vec::new();
    for name in names {
        match scenario.directions(Some(name)) {
            Some(both) => policies.extend(both),
            None => policies.push(crate::check::choose(&scenario, Some(name), "--policy")?),
        }
    }
    if names.is_empty() {
        policies.extend(&scenario.variants[0].policies);
    }
    Ok(policies.into_iter().filter_map(|policy| policy.workers.as_ref()).map(|workers| workers.count).max().unwrap_or(1))
}

#[cfg(all(feature = "live", target_os = "linux"))]
/// What the checks at the start of a bridge find, and the sockets that it would get.
fn live(interfaces: &[String], workers: u32) -> (Vec<Finding>, Vec<Sockets>) {
    let names: Vec<&str> = interfaces.iter().map(String::as_str).collect();
    let found = tidegate_live::examine(&names, workers);
    let prevented = found.refusals.into_iter().map(|text| (Weight::Prevents, text));
    let confinement = confinement();
    let limited = found.warnings.into_iter().chain(confinement).map(|text| (Weight::Limits, text));
    let finding =
        |(weight, text): (Weight, String)| Finding { commands: LIVE, weight, text: text.trim_start_matches("warning: ").to_owned() };
    let sockets = |of: tidegate_live::InterfaceSockets| Sockets { interface: of.interface, xdp: of.xdp, auto: of.auto };
    (prevented.chain(limited).map(finding).collect(), found.sockets.into_iter().map(sockets).collect())
}

#[cfg(all(feature = "live", target_os = "linux"))]
/// The warning of a bridge that cannot confine itself, tried in a thread of its own, which ends with its rights.
fn confinement() -> Option<String> {
    let paths = crate::confinement::Paths { policy: Path::new("/"), report: None, control: None };
    let tried = std::thread::scope(|scope| {
        let tried =
            scope.spawn(|| tidegate_live::keep_network_rights_only(tidegate_live::Io::Auto).map(|()| crate::confinement::confine(&paths)));
        tried.join()
    });
    match tried {
        Ok(Ok(warning)) => warning,
        Ok(Err(error)) => Some(format!("rights that packets do not need cannot be given up: {error}")),
        Err(_) => None,
    }
}

/// The checks at the start of a bridge need one.
#[cfg(not(all(feature = "live", target_os = "linux")))]
fn live(_: &[String], _: u32) -> (Vec<Finding>, Vec<Sockets>) {
    let text = "this build carries no packets: build it for Linux, with the feature `live`".to_owned();
    (vec![Finding { commands: LIVE, weight: Weight::Prevents, text }], Vec::new())
}

/// What of the machine makes packets late, or measurements vary, as the files below `/sys` say.
fn machine(sys: &Path, cores: usize) -> Vec<Finding> {
    let read = |name: &str| std::fs::read_to_string(sys.join(name)).map(|text| text.trim().to_owned()).ok();
    let mut findings = Vec::new();
    let mut limits = |text: String| findings.push(Finding { commands: MEASURING, weight: Weight::Limits, text });
    let clock = "devices/system/clocksource/clocksource0";
    if let Some(source) = read(&format!("{clock}/current_clocksource"))
        && matches!(source.as_str(), "hpet" | "acpi_pm" | "jiffies" | "refined-jiffies" | "pit")
    {
        let available = read(&format!("{clock}/available_clocksource")).unwrap_or_default();
        let better = available.split_whitespace().find(|source| ["tsc", "kvm-clock", "arch_sys_counter"].contains(source));
        let remedy = better.map_or_else(
            || "the kernel offers no better one; look for its reason with `dmesg | grep -i clocksource`".to_owned(),
            |better| format!("`echo {better} > /sys/{clock}/current_clocksource`"),
        );
        limits(format!("the clock source is `{source}`, and reading it costs about a microsecond, several times per packet: {remedy}"));
    }
    let governors = (0..cores).filter_map(|core| read(&format!("devices/system/cpu/cpu{core}/cpufreq/scaling_governor")));
    let slow = governors.filter(|governor| governor != "performance").count();
    if slow > 0 {
        limits(format!(
            "{slow} of {cores} cores change their clock with the load (`scaling_governor`), so that the first packets after a pause are late: \
             `cpupower frequency-set --governor performance`"
        ));
    }
    if read("kernel/mm/transparent_hugepage/enabled").is_some_and(|enabled| enabled.contains("[never]")) {
        limits(
            "large tables get small pages, which makes a million flows several times slower: `echo madvise > \
             /sys/kernel/mm/transparent_hugepage/enabled`"
                .to_owned(),
        );
    }
    if cores < 2 {
        limits("there is one core, and `live` uses one for each direction".to_owned());
    }
    findings
}

fn as_text(findings: &[Finding], sockets: &[Sockets]) -> String {
    let mut text = String::new();
    for Sockets { interface, xdp, auto } in sockets {
        let auto = if auto == xdp { "the same" } else { auto };
        let _infallible = writeln!(text, "{interface}: `live --io xdp` gets {xdp}; `--io auto` gets {auto}");
    }
    for Finding { commands, weight, text: what } in findings {
        let weight = if *weight == Weight::Prevents { "cannot run" } else { "limited" };
        let _infallible = writeln!(text, "{commands}: {weight}\n  {what}");
    }
    let prevented = findings.iter().any(|finding| finding.weight == Weight::Prevents);
    text += match (findings.is_empty(), prevented) {
        (true, _) => "Every command can run, and nothing is lacking.\n",
        (false, true) => "Commands that are not named lack nothing.\n",
        (false, false) => "Every command can run.\n",
    };
    text
}

fn as_json(findings: &[Finding], sockets: &[Sockets]) -> String {
    let each = |finding: &Finding| {
        let commands: Vec<&str> = finding.commands.split(", ").collect();
        json!({ "commands": commands, "prevents": finding.weight == Weight::Prevents, "text": finding.text })
    };
    let of_interface = |of: &Sockets| json!({ "interface": of.interface, "xdp": of.xdp, "auto": of.auto });
    let (findings, sockets): (Vec<_>, Vec<_>) = (findings.iter().map(each).collect(), sockets.iter().map(of_interface).collect());
    json!({ "version": env!("CARGO_PKG_VERSION"), "findings": findings, "sockets": sockets }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn found(files: &[(&str, &str)], cores: usize) -> Vec<String> {
        let sys = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = sys.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{text}\n")).unwrap();
        }
        machine(sys.path(), cores).into_iter().map(|finding| finding.text).collect()
    }

    #[test]
    fn a_machine_that_lacks_nothing_and_one_that_tells_nothing_have_no_findings() {
        let clock = "devices/system/clocksource/clocksource0/current_clocksource";
        let governor = "devices/system/cpu/cpu1/cpufreq/scaling_governor";
        let pages = "kernel/mm/transparent_hugepage/enabled";
        assert_eq!(found(&[], 2), [""; 0]);
        assert_eq!(found(&[(clock, "tsc"), (governor, "performance"), (pages, "always [madvise] never")], 2), [""; 0]);
    }

    #[test]
    fn every_lack_has_its_remedy() {
        let clock = "devices/system/clocksource/clocksource0";
        let (current, available) = (format!("{clock}/current_clocksource"), format!("{clock}/available_clocksource"));
        let texts = found(
            &[
                (&current, "hpet"),
                (&available, "hpet tsc acpi_pm"),
                ("devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave"),
                ("kernel/mm/transparent_hugepage/enabled", "always madvise [never]"),
            ],
            1,
        );
        for (text, remedy) in texts.iter().zip(["echo tsc > /sys/devices", "cpupower", "echo madvise", "one core"]) {
            assert!(text.contains(remedy), "{text}");
        }
        assert_eq!(texts.len(), 4);
        assert!(found(&[(&current, "acpi_pm"), (&available, "acpi_pm")], 2)[0].contains("dmesg"));
    }

    #[test]
    fn text_and_json_say_which_command_cannot_run() {
        let lacks = [Finding { commands: LIVE, weight: Weight::Prevents, text: "no rights".to_owned() }];
        assert_eq!(
            as_text(&lacks, &[]),
            "live, model validate --live: cannot run\n  no rights\nCommands that are not named lack nothing.\n"
        );
        let json: serde_json::Value = serde_json::from_str(&as_json(&lacks, &[])).unwrap();
        assert_eq!(json["findings"][0]["prevents"], true);
        assert_eq!(json["findings"][0]["commands"][1], "model validate --live");
        assert_eq!(as_text(&[], &[]), "Every command can run, and nothing is lacking.\n");
    }

    #[test]
    fn the_policy_with_the_most_workers_counts() {
        let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let of = |file: &str, changes: &[&str], names: &[&str]| {
            let [changes, names] = [changes, names].map(|texts| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
            most_workers(&scenarios.join(file), &changes, &names).map_err(|_| ())
        };
        let workers = |file: &str| of(file, &[], &[]);
        assert_eq!((workers("policies/two-workers.toml"), workers("quickstart.toml"), workers("no-such.toml")), (Ok(2), Ok(1), Err(())));
        assert_eq!(of("policies/two-workers.toml", &["policy.uplink.workers=3"], &[]), Ok(3));
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("two.toml");
        let other = "\n[policy.other]\nrate = \"1 Mbit/s\"\nscheduler = \"fifo\"\n";
        fs::write(&file, fs::read_to_string(scenarios.join("policies/two-workers.toml")).unwrap() + other).unwrap();
        let named = |names: &[&str]| of(file.to_str().unwrap(), &[], names);
        assert_eq!([named(&["other"]), named(&["uplink"]), named(&["other", "uplink"]), named(&[])], [Ok(1), Ok(2), Ok(2), Ok(2)]);
        assert_eq!(named(&["downlink"]), Err(()));
    }

    #[test]
    fn the_sockets_of_an_interface_come_first() {
        let of = |interface: &str, xdp: &str, auto: &str| Sockets { interface: interface.into(), xdp: xdp.into(), auto: auto.into() };
        let card = of("eth1", "AF_XDP: native, zero-copy, 4 queues", "AF_XDP: native, zero-copy, 4 queues");
        let pair = of("veth0", "AF_XDP: native, copied by the kernel, 1 queue", "packet sockets, because veth0 is no network card");
        let text = as_text(&[], &[card, pair]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "eth1: `live --io xdp` gets AF_XDP: native, zero-copy, 4 queues; `--io auto` gets the same");
        assert!(lines[1].starts_with("veth0: ") && lines[1].ends_with("`--io auto` gets packet sockets, because veth0 is no network card"));
        let json: serde_json::Value = serde_json::from_str(&as_json(&[], &[of("a", "b", "c")])).unwrap();
        assert_eq!(json["sockets"], json!([{ "interface": "a", "xdp": "b", "auto": "c" }]));
    }
}
