//! Workloads of files: loads, sizes, hosts, and what is refused.

use std::fs;
use tidegate_scenario::summary::{Detail, summary};
use tidegate_scenario::{PolicyChange, Scenario, Simulation, parse_str, parse_text};
use tidegate_sim::workload::reach::Reach;
use tidegate_sim::{Control, Outcome, Pattern, PortOutcome, Rhythm, run, run_with_changes};

const NETWORK: &str = "[policy.p]\nrate = \"1 Gbit/s\"\noverhead = \"ethernet\"\n[[policy.p.class]]\nname = \"all\"\n\
                       [topology.dc]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts = 4\npolicy = \"p\"\ndelay = \"1 us\"\n";

fn file(rest: &str) -> String {
    format!("[simulation]\nduration = \"100 ms\"\n{NETWORK}{rest}")
}

fn workload(keys: &str) -> String {
    format!("[[workload]]\nname = \"w\"\nfrom = \"dc-host-*\"\n{keys}\n")
}

fn load(rest: &str, overrides: &[&str]) -> Scenario {
    let overrides: Vec<String> = overrides.iter().map(|&change| change.to_owned()).collect();
    parse_text("test", &file(rest), &overrides).unwrap_or_else(|problems| panic!("{}", problems.render(false)))
}

fn simulation(rest: &str) -> Simulation {
    load(rest, &[]).variants.remove(0).simulation.unwrap()
}

fn refusal(rest: &str) -> String {
    parse_str("test", &file(rest)).map(|_| ()).unwrap_err().render(false)
}

/// The greatest load that the workloads of a file bring to links with this part of a name.
fn greatest_load(simulation: &Simulation, part: &str) -> f64 {
    let network = &simulation.network;
    let reach = Reach::of(network).unwrap();
    let loads = reach.loads(network, &network.workloads[0]).unwrap();
    network.links.iter().zip(loads).filter(|(link, _)| link.name.contains(part)).map(|(_, load)| load).fold(0.0, f64::max)
}

#[test]
fn a_load_is_that_of_the_links_of_hosts_or_of_one_link() {
    let of_hosts = simulation(&workload("sizes = \"web-search\"\nload = \"60 %\""));
    assert!((greatest_load(&of_hosts, "host-1:") - 0.6).abs() < 1e-9);
    // 4 hosts at a leaf send 4/7 of their 2.4 Gbit/s to the other leaf, over two spines.
    assert!((greatest_load(&of_hosts, "leaf-1:dc-spine") - 2.4 * 4.0 / 7.0 / 2.0).abs() < 1e-9);
    let of_link = simulation(&workload("sizes = \"web-search\"\nload = \"60 %\"\nlink = \"dc-leaf-1:dc-spine-2\""));
    assert!((greatest_load(&of_link, "leaf-1:dc-spine") - 0.6).abs() < 1e-9);
    // Of many to one, the last link has the load.
    let to_one = simulation(&workload("to = \"dc-host-3\"\npairs = \"all-to-one\"\nsizes = \"10 kB\"\nload = \"50 %\""));
    assert!((greatest_load(&to_one, ":dc-host-3") - 0.5).abs() < 1e-9);
    assert!((greatest_load(&to_one, "dc-host-1:") - 0.5 / 7.0).abs() < 1e-9);
    let rounds = simulation(&workload("pairs = \"incast\"\nsenders = 3\nsizes = \"10 kB\"\nload = \"50 %\""));
    assert!((greatest_load(&rounds, ":dc-host-3") - 0.5).abs() < 1e-9);
}

#[test]
fn arrivals_follow_from_the_mean_on_the_wire() {
    let simulation = simulation(&workload("sizes = \"14.6 kB\"\nload = \"10 %\""));
    let Rhythm::Poisson { per_second } = simulation.network.workloads[0].rhythm else { panic!("a load is a Poisson process") };
    // Ten segments of 1538 bytes each, eight hosts.
    assert!((per_second - 0.1 * 8.0 * 1e9 / (8.0 * 15_380.0)).abs() < 1e-6, "{per_second}");
}

#[test]
fn sizes_come_from_files() {
    let folder = std::env::temp_dir().join(format!("tidegate-sizes-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let scenario = folder.join("scenario.toml");
    fs::write(&scenario, file(&workload("sizes = \"my.csv\"\ninterval = \"1 ms\""))).unwrap();
    let load = |points: &str| {
        fs::write(folder.join("my.csv"), points).unwrap();
        tidegate_scenario::load(&scenario, &[])
    };
    let sound = load("bytes,probability\n# a comment\n1000,0.5\n3000,1\n").unwrap();
    assert_eq!(sound.variants[0].simulation.as_ref().unwrap().network.workloads[0].sizes.mean(), 1500.0);
    for (points, problem) in [
        ("1000,0.5\n", "the last probability is 0.5"),
        ("1000,0.5\n500,1\n", "500 bytes and 1 after 1000 bytes and 0.5"),
        ("1000,0.5\nmany,1\n", "line 2: expected a size in bytes and a probability"),
        ("0,1\n", "the point of 0 bytes and 1"),
        ("nan,1\n", "the point of NaN bytes and 1"),
        ("", "no point"),
    ] {
        let text = load(points).map(|_| ()).unwrap_err().render(false);
        assert!(text.contains(problem) && text.contains("my.csv"), "{points}: {text}");
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_is_wrong_is_named_with_its_key() {
    let published = |keys: &str| refusal(&workload(&format!("sizes = \"web-search\"\n{keys}")));
    for (text, problem) in [
        (published(""), "does not say when connections arrive"),
        (published("load = \"10 %\"\ninterval = \"1 ms\""), "`load` and `interval` both say when connections arrive"),
        (published("load = \"0 %\""), "no load, no connection"),
        (published("load = \"10 %\"\nlink = \"nowhere\""), "there is no link `nowhere`"),
        (published("load = \"10 %\"\nto = \"dc-host-1\"\nlink = \"dc-leaf-1:dc-host-2\""), "no data of workload `w` crosses"),
        (published("interval = \"1 ms\"\nlink = \"dc-leaf-1:dc-host-2\""), "`link` says what `load` is of"),
        (published("interval = \"0 s\""), "no time between arrivals"),
        (published("period = \"0 s\""), "no time between arrivals"),
        (published("period = \"2000 h\""), "`period`: none at all, or more than 26 days"),
        (published("interval = \"1 ps\""), "can be simulated"),
        (published("pause = \"1 ms\""), "`pause` is for rounds of connections"),
        (published("load = \"10 %\"\nsenders = 3"), "`senders` is for rounds of connections"),
        (published("load = \"10 %\"\npairs = \"incast\"\nsenders = 8"), "8 senders of 7"),
        (published("load = \"10 %\"\nto = \"dc-host-9\""), "no node matches `dc-host-9`"),
        (published("load = \"10 %\"\npairs = \"all-to-one\""), "`to` names 8 nodes"),
        (
            published("load = \"10 %\"\nsource = { kind = \"tcp\", transfer = \"1 MB\" }"),
            "`transfer` is not for the connections of a workload",
        ),
        (published("load = \"10 %\"\nsource = { kind = \"cbr\", rate = \"1 Mbit/s\", packet = \"100 B\" }"), "not a cbr source"),
        (published("load = \"10 %\"\nsource = { kind = \"tcp\", segment = \"9000 B\" }"), "link"),
        (published("load = \"10 %\"\nheader = { source = \"10.0.0.1\" }"), "`source` is that of the hosts"),
        (published("load = \"10 %\"\nstart = \"1 s\"\nstop = \"1 s\""), "would stop before it starts"),
        (published("load = \"10 %\"\npairs = \"incast\"\nplaces = 3"), "3 places, and a round has 7 connections"),
        (refusal(&workload("sizes = \"weblike\"\nload = \"10 %\"")), "no size, no known distribution and no CSV file"),
        (refusal(&workload("sizes = \"0 B\"\nload = \"10 %\"")), "at least one byte"),
        (refusal(&workload("sizes = \"x.csv\"\nload = \"10 %\"")), "x.csv"),
        (refusal("[[workload]]\nname = \"w\"\nfrom = \"dc-host-1\"\nsizes = \"1 kB\"\nload = \"1 %\"\n"), "ends at another node"),
        (
            refusal(&[workload("sizes = \"1 kB\"\nload = \"1 %\""), workload("sizes = \"1 kB\"\nload = \"1 %\"")].concat()),
            "another workload is named `w`",
        ),
    ] {
        assert!(text.contains(problem), "{problem}:\n{text}");
        assert!(text.contains("--> test:") && text.contains("help"), "{text}");
    }
}

#[test]
fn check_tells_arrivals_and_the_load_of_every_link() {
    let scenario = load(&workload("sizes = \"web-search\"\nload = \"60 %\""), &[]);
    let text = summary(&scenario, Detail::All);
    assert!(text.contains("w: random pairs of 8 senders and 8 receivers"), "{text}");
    assert!(text.contains("sizes of web-search, 1.67 MB on average"), "{text}");
    assert!(text.contains("offered 600 Mbit/s (60 %)"), "{text}");
    assert!(!text.contains("bounds"), "{text}");
    let overload = load(&workload("sizes = \"10 kB\"\ninterval = \"1 us\""), &[]);
    let warnings = overload.warnings.unwrap().render(false);
    assert!(warnings.contains("connections pile up"), "{warnings}");
    let late = load(&workload("sizes = \"10 kB\"\nload = \"60 %\"\nstart = \"1 h\""), &[]);
    assert!(summary(&late, Detail::All).contains("offered 600 Mbit/s (60 %)"));
    let warnings = late.warnings.unwrap().render(false);
    assert!(warnings.contains("workload `w` starts after the end of the simulation"), "{warnings}");
}

#[test]
fn values_are_set_by_the_name_of_the_workload_and_loops_repeat_it() {
    let scenario = load(&workload("sizes = \"web-search\"\nload = \"60 %\""), &["workload.w.load=30 %"]);
    let simulation = scenario.variants[0].simulation.as_ref().unwrap();
    assert!((greatest_load(simulation, "host-1:") - 0.3).abs() < 1e-9);
    let many = self::simulation(
        "[[workload]]\nfor = { i = \"1..3\" }\nname = \"w{i}\"\nfrom = \"dc-host-*\"\nto = \"dc-host-{i}\"\npairs = \"incast\"\nsizes = \"1 kB\"\nperiod = \"{i} ms\"\n",
    );
    assert_eq!(many.network.workloads.len(), 3);
    let outcome = run(&many.network, &many.experiment, &Control::default()).unwrap();
    assert_eq!(outcome.workloads[0].rounds.as_ref().unwrap().arrivals, 100);
    assert!(matches!(&many.network.workloads[2].pattern, Pattern::Incast { senders: 7, .. }));
}

/// What a run of a file with a workload, and more, comes to.
fn played(rest: &str, overrides: &[&str]) -> (String, Outcome) {
    let scenario = load(&[&workload("sizes = \"30 kB\"\nload = \"20 %\"\nstop = \"60 ms\""), rest].concat(), overrides);
    let variant = &scenario.variants[0];
    let simulation = variant.simulation.as_ref().unwrap();
    let changes: Vec<_> = variant.changes.iter().map(PolicyChange::of_network).collect();
    let outcome = run_with_changes(&simulation.network, &changes, &simulation.experiment, &Control::default()).unwrap();
    // What loses its first packet waits for a timer of a second.
    let unfinished = if simulation.network.failures.is_empty() { 0 } else { outcome.failures[0].lost.lost().packets };
    assert!(outcome.workloads[0].arrivals > 300 && outcome.workloads[0].unfinished <= unfinished, "{:?}", outcome.workloads[0]);
    (summary(&scenario, Detail::All), outcome)
}

fn sent(outcome: &Outcome, port: &str) -> u64 {
    outcome.ports.iter().find(|found| found.name == port).unwrap().sent.packets
}

#[test]
fn packets_of_connections_take_several_paths() {
    let (_, spread) = played("", &["simulation.equal_paths=\"packet\""]);
    let (one, other) = (sent(&spread, "dc-leaf-1:dc-spine-1"), sent(&spread, "dc-leaf-1:dc-spine-2"));
    assert!(one.abs_diff(other) < one / 20, "{one} {other}");
    let (_, by_flow) = played("", &[]);
    assert_ne!(spread.workloads[0].all, by_flow.workloads[0].all);
    let (_, first) = played("", &["simulation.equal_paths=\"first\""]);
    assert_eq!(sent(&first, "dc-leaf-1:dc-spine-2"), 0);
}

#[test]
fn connections_take_the_paths_that_failures_leave() {
    let cut = "[[failure]]\nname = \"cut\"\nnode = \"dc-spine-1\"\nat = \"20 ms\"\nuntil = \"40 ms\"\ndetection = \"1 ms\"\n";
    for paths in ["flow", "packet"] {
        let (text, outcome) = played(cut, &[&format!("simulation.equal_paths=\"{paths}\"")]);
        assert!(text.contains("other paths, where any is left: connections of w"), "{text}");
        let lost = outcome.failures[0].lost;
        assert!(lost.arrived.packets > 0, "{lost:?}");
        assert!(sent(&outcome, "dc-leaf-1:dc-spine-1") < sent(&outcome, "dc-leaf-1:dc-spine-2") * 4 / 5);
        assert_eq!(outcome.workloads[0].without_path, 0);
    }
}

#[test]
fn policies_change_under_connections() {
    let change = "[[change]]\nat = \"30 ms\"\n[[change.add.policy.p.class]]\nname = \"web\"\nmatch = [{ protocol = \"tcp\" }]\n";
    let (_, outcome) = played(change, &[]);
    let port = outcome.ports.iter().find(|port| port.name == "dc-host-1:dc-leaf-1").unwrap();
    let shares: Vec<u64> = port.classes.iter().map(|class| class.sent.packets).collect();
    assert!(shares.len() == 2 && shares.iter().all(|&packets| packets > 100), "{shares:?}");
}

#[test]
fn pauses_stop_connections_too() {
    let (text, outcome) =
        played("", &["topology.dc.pause.above=\"4 kB\"", "policy.p.buffer.manager=\"tail-drop\"", "policy.p.buffer.limit=\"400 kB\""]);
    assert!(text.contains("room for") && text.contains("class `all` at port `dc-leaf-1:dc-host-1`"), "{text}");
    assert!(outcome.ports.iter().flat_map(|port| &port.pauses).any(|pause| pause.pauses > 0));
    let of_leaves = |port: &&PortOutcome| !port.name.starts_with("dc-host");
    assert!(outcome.ports.iter().filter(of_leaves).all(|port| port.dropped.iter().all(|volume| volume.packets == 0)));
}

#[test]
fn connections_go_with_calls_that_are_admitted_by_rates_in_other_classes() {
    let read = |name: &str| fs::read_to_string(format!("{}/../../scenarios/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let back = |policy: &str| format!("\n[[link]]\nname = \"back\"\nfrom = \"internet\"\nto = \"office\"\npolicy = \"{policy}\"\n");
    let web = "[[workload]]\nname = \"web\"\nfrom = \"office\"\nto = \"internet\"\nsizes = \"10 kB\"\ninterval = \"2 s\"\n\
               source = { kind = \"tcp\", segment = \"900 B\" }\n";
    let by_rates = format!("{}{}{web}", read("dynamic-flows.toml"), back("node"));
    let short = ["simulation.duration=\"600 s\"", "simulation.replications=1"].map(str::to_owned);
    let scenario = parse_text("test", &by_rates, &short).unwrap_or_else(|problems| panic!("{}", problems.render(false)));
    let simulation = scenario.variants[0].simulation.as_ref().unwrap();
    let outcome = run(&simulation.network, &simulation.experiment, &Control::default()).unwrap();
    assert!(outcome.calls[0].admitted > 0 && outcome.workloads[0].arrivals > 30 && outcome.workloads[0].all.is_some());
    let loss: u64 = outcome.ports[0].classes[0].dropped.iter().map(|volume| volume.packets).sum();
    assert_eq!(loss, 0, "calls lose nothing");
    let refused = |text: &str| parse_str("test", text).map(|_| ()).unwrap_err().render(false);
    let among_calls = refused(&format!("{by_rates}header = {{ dscp = \"af41\" }}\n"));
    assert!(among_calls.contains("may come in class `calls` at link access") && among_calls.contains("dscp = \"af41\""), "{among_calls}");
    let by_budgets = refused(&format!("{}{}{web}", read("calls-by-budgets.toml"), back("router")));
    assert!(by_budgets.contains("budgets promise delays to calls") && by_budgets.contains("name = \"web\""), "{by_budgets}");
}
