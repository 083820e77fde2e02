//! Files whose links fail, and whose packets take several paths.

use tidegate_core::units::Duration;
use tidegate_scenario::summary::{Detail, summary};
use tidegate_scenario::{PolicyChange, Scenario, Simulation, parse_text};
use tidegate_sim::{Control, Experiment, LinkId, Network, Source, run, run_with_changes};

const POLICY: &str =
    "[policy.p]\nrate = \"100 Mbit/s\"\nbuffer = { manager = \"tail-drop\", limit = \"100 kB\" }\n[[policy.p.class]]\nname = \"all\"\n";
const FABRIC: &str = "[topology.dc]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts = 2\npolicy = \"p\"\ndelay = \"10 us\"\n";

fn load(rest: &str, overrides: &[&str]) -> Scenario {
    let overrides: Vec<String> = overrides.iter().map(|&change| change.to_owned()).collect();
    let text = format!("[simulation]\nduration = \"1 s\"\n{POLICY}{rest}");
    parse_text("test", &text, &overrides).unwrap_or_else(|problems| panic!("{}", problems.render(false)))
}

fn simulation(rest: &str, overrides: &[&str]) -> Simulation {
    load(rest, overrides).variants.remove(0).simulation.unwrap()
}

fn flow(keys: &str) -> String {
    format!("[[flow]]\nname = \"f\"\n{keys}\nsource = {{ kind = \"cbr\", rate = \"8 Mbit/s\", packet = \"1 kB\" }}\n")
}

fn names(network: &Network, links: &[LinkId]) -> Vec<String> {
    links.iter().map(|link| network.links[link.0].name.clone()).collect()
}

const ACROSS: &str = "from = \"dc-host-1\"\nto = \"dc-host-3\"";

#[test]
fn a_link_fails_in_both_directions_and_a_node_with_all_its_links() {
    let duplex = "[[link]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\npolicy = \"p\"\nduplex = true\n";
    let failing = |text: String| {
        let simulation = simulation(&text, &[]);
        let network = &simulation.network;
        network.failures.iter().map(|failure| (failure.name.clone(), names(network, &failure.links))).collect::<Vec<_>>()
    };
    for name in ["l", "l-back"] {
        let text = format!("{duplex}{}[[failure]]\nlink = \"{name}\"\nat = \"100 ms\"\n", flow("from = \"a\"\nto = \"b\""));
        let mut found = failing(text);
        found[0].1.sort();
        assert_eq!(found, [(name.to_owned(), vec!["l".to_owned(), "l-back".to_owned()])]);
    }
    let text = format!("{FABRIC}{}[[failure]]\nname = \"dark\"\nnode = \"dc-spine-2\"\nat = \"100 ms\"\n", flow(ACROSS));
    let dark = failing(text).remove(0);
    assert_eq!((dark.0.as_str(), dark.1.len()), ("dark", 4));
    assert!(dark.1.iter().all(|link| link.contains("dc-spine-2")), "{dark:?}");
}

#[test]
fn failures_are_repeated_by_loops_and_set_by_name() {
    let text = format!(
        "{FABRIC}{}[[failure]]\nfor = {{ i = \"1..2\" }}\nname = \"cut {{i}}\"\nlink = \"dc-leaf-1:dc-spine-{{i}}\"\nat = \"{{i}} ms\"\nuntil = \"500 ms\"\n",
        flow(ACROSS)
    );
    let simulation = simulation(&text, &["failure.cut {i}.detection=\"2 ms\""]);
    let failures = &simulation.network.failures;
    assert_eq!(failures.iter().map(|failure| failure.name.as_str()).collect::<Vec<_>>(), ["cut 1", "cut 2"]);
    assert!(failures.iter().all(|failure| failure.detection == Duration::from_milliseconds(2) && failure.links.len() == 2));
}

#[test]
fn many_failures_have_few_notes() {
    let text = format!(
        "{FABRIC}{}[[failure]]\nfor = {{ i = \"1..50\" }}\nname = \"flap {{i}}\"\nlink = \"dc-leaf-1:dc-spine-1\"\nat = \"{{i*10}} ms\"\nuntil = \"{{i*10+5}} ms\"\n",
        flow(ACROSS)
    );
    let notes = simulation(&text, &[]).notes_of_failures();
    assert_eq!(notes.len(), 9);
    assert!(notes[7].starts_with("Failure flap 8: "), "{}", notes[7]);
    assert_eq!(notes[8], "42 failures more; `tidegate check --all` tells of each.");
}

#[test]
fn flows_move_where_routes_avoid_the_link_and_a_listed_path_is_kept() {
    for paths in ["first", "flow", "packet"] {
        let text = format!(
            "{FABRIC}[[flow]]\nname = \"listed\"\npath = [\"dc-host-1:dc-leaf-1\", \"dc-leaf-1:dc-spine-1\", \"dc-spine-1:dc-leaf-2\", \"dc-leaf-2:dc-host-3\"]\n\
             source = {{ kind = \"cbr\", rate = \"8 Mbit/s\", packet = \"1 kB\" }}\n\
             [[flow]]\nname = \"moved\"\n{ACROSS}\ncount = 8\nsource = {{ kind = \"cbr\", rate = \"1 Mbit/s\", packet = \"1 kB\" }}\n\
             [[flow]]\nname = \"tcp\"\n{ACROSS}\nsource = {{ kind = \"tcp\" }}\n\
             [[failure]]\nlink = \"dc-leaf-1:dc-spine-1\"\nat = \"300 ms\"\nuntil = \"600 ms\"\n"
        );
        let scenario = load(&text, &[&format!("simulation.equal_paths=\"{paths}\"")]);
        let shown = summary(&scenario, Detail::All);
        assert!(
            shown.contains(
                "dc-leaf-1:dc-spine-1: 2 links down from 300 ms, recovers at 600 ms; routes avoid it from 350 ms on until 650 ms"
            ),
            "{shown}"
        );
        assert!(shown.contains("the path kept, with its losses: 1 flow (listed)"), "{shown}");
        assert!(shown.contains("moved-"), "few flows are named one by one: {shown}");
        let simulation = scenario.variants[0].simulation.as_ref().unwrap();
        let crosses = |path: &[LinkId]| names(&simulation.network, path).iter().any(|link| link.ends_with("dc-leaf-1:dc-spine-1"));
        for (index, spec) in simulation.network.flows.iter().enumerate() {
            let of_flow = || simulation.network.reroutes.iter().filter(|reroute| reroute.flow == index && !reroute.is_back);
            let moves = of_flow().any(|reroute| reroute.at == Duration::from_milliseconds(350));
            let first = of_flow().find(|reroute| reroute.at == Duration::ZERO).map_or(1, |reroute| reroute.paths.len());
            assert_eq!(first, if paths == "packet" && index > 0 { 2 } else { 1 });
            assert_eq!(moves, index > 0 && (first > 1 || crosses(&spec.path)), "{paths}, {}", spec.name);
            assert!(of_flow().all(|reroute| !reroute.paths.is_empty()));
        }
        let experiment = Experiment { sample_interval: Some(Duration::from_milliseconds(100)), ..simulation.experiment };
        let outcome = run(&simulation.network, &experiment, &Control::default()).unwrap();
        for (flow, spec) in outcome.flows.iter().zip(&simulation.network.flows) {
            let series = &flow.throughput_over_time_bps;
            let is_listed = flow.name == "listed";
            assert!(series[2] > 0.0 && (series[5] > 0.0) != is_listed && series[9] > 0.0, "{paths}, {}: {series:?}", flow.name);
            assert!(matches!(spec.source, Source::Tcp(_)) || flow.unrouted.packets == 0);
        }
        assert!(outcome.failures[0].lost.arrived.packets > 0);
    }
}

#[test]
fn nothing_is_proven_where_links_fail_or_packets_take_several_paths() {
    let text = format!("{FABRIC}{}", flow(ACROSS));
    let plain = summary(&load(&text, &[]), Detail::All);
    assert!(!plain.contains("links fail, or packets"), "{plain}");
    let failing = format!("{text}[[failure]]\nnode = \"dc-spine-1\"\nat = \"300 ms\"\n");
    for (text, change) in [(&text, "simulation.equal_paths=\"packet\""), (&failing, "simulation.seed=1")] {
        let shown = summary(&load(text, &[change]), Detail::All);
        assert!(shown.contains("links fail, or packets of a flow take several paths"), "{shown}");
    }
}

#[test]
fn a_policy_changes_while_packets_take_several_paths() {
    let change = "[[change]]\nat = \"400 ms\"\nset = { \"policy.p.rate\" = \"4 Mbit/s\" }\n";
    let scenario = load(&format!("{FABRIC}{}{change}", flow(ACROSS)), &["simulation.equal_paths=\"packet\""]);
    let variant = &scenario.variants[0];
    let simulation = variant.simulation.as_ref().unwrap();
    let changes: Vec<_> = variant.changes.iter().map(PolicyChange::of_network).collect();
    let experiment = Experiment { sample_interval: Some(Duration::from_milliseconds(100)), ..simulation.experiment };
    let outcome = run_with_changes(&simulation.network, &changes, &experiment, &Control::default()).unwrap();
    let series = &outcome.flows[0].throughput_over_time_bps;
    assert!(series[2] > 7.9e6 && (3.9e6..4.1e6).contains(&series[8]), "{series:?}");
}

#[test]
fn a_load_is_divided_among_equal_paths() {
    let simulation = simulation(&format!("{FABRIC}{}", flow(ACROSS)), &["simulation.equal_paths=\"packet\""]);
    let offered = simulation.offered();
    let of = |name: &str| offered[simulation.network.links.iter().position(|link| link.name == name).unwrap()].0;
    assert_eq!([of("dc-host-1:dc-leaf-1"), of("dc-leaf-1:dc-spine-1"), of("dc-leaf-1:dc-spine-2")], [8e6, 4e6, 4e6]);
}
