//! The scenario files that come with the project: each loads, is valid by the schema, and shows what it says.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use tidegate_scenario::promise::Measured;
use tidegate_scenario::{Scenario, Simulation, editor_schema, load, parse_str};
use tidegate_sim::{Control, Outcome, Source, run};

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new("../../scenarios").join(folder);
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    files
}

fn read(path: &Path) -> Scenario {
    let scenario = load(path, &[]).unwrap_or_else(|problems| panic!("{problems}"));
    assert!(scenario.warnings.is_none(), "{}", scenario.warnings.unwrap());
    scenario
}

fn as_json(path: &Path) -> Value {
    let table: toml::Table = fs::read_to_string(path).unwrap().parse().unwrap();
    serde_json::to_value(table).unwrap()
}

#[test]
fn there_are_scenarios_and_they_begin_with_a_comment() {
    let (scenarios, policies) = (files(""), files("policies"));
    assert!(scenarios.len() >= 8 && !policies.is_empty());
    for path in scenarios.iter().chain(&policies) {
        assert!(fs::read_to_string(path).unwrap().starts_with("# "), "{}: a newcomer is told what it shows", path.display());
    }
}

#[test]
fn every_scenario_is_valid_by_the_schema() {
    let validator = jsonschema::validator_for(&editor_schema()).unwrap();
    for path in files("").iter().chain(&files("policies")) {
        let errors: Vec<String> =
            validator.iter_errors(&as_json(path)).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(errors.is_empty(), "{}: {errors:?}", path.display());
    }
}

#[test]
fn what_is_wrong_in_form_is_invalid_by_the_schema() {
    let validator = jsonschema::validator_for(&editor_schema()).unwrap();
    let wrong = [
        "double-brackets",
        "dscp-out-of-range",
        "missing-key",
        "number-without-unit",
        "period-without-unit",
        "replications-zero",
        "service-unknown",
        "service-window-misspelt",
        "several-at-once",
        "single-brackets",
        "unknown-key",
        "unknown-scheduler",
        "unknown-section",
        "weight-zero",
        "wrong-units",
    ];
    for name in wrong {
        assert!(!validator.is_valid(&as_json(&Path::new("tests/errors").join(name).with_extension("toml"))), "{name}");
    }
}

#[test]
fn policy_files_are_policies_and_nothing_else() {
    for path in files("policies") {
        let scenario = read(&path);
        assert!(scenario.variants.iter().all(|variant| variant.simulation.is_none()), "{}", path.display());
        for setup in scenario.variants[0].policies.iter().map(tidegate_scenario::Policy::setup) {
            assert!(setup.policers.is_empty() || setup.policers.len() == setup.classifier.classes().len(), "{}", path.display());
        }
    }
}

/// The promises of one variant that were not kept.
fn broken(simulation: &Simulation, outcome: &Outcome) -> Vec<String> {
    let mut broken = Vec::new();
    for group in &simulation.groups {
        for flow in &outcome.flows[group.first..group.first + group.count] {
            let delay_quantile_s = |part| flow.delay.as_ref().and_then(|delay| delay.histogram.quantile(part));
            let measured = Measured { delay_quantile_s: &delay_quantile_s, loss: Some(flow.loss.mean), rate_bps: flow.throughput_bps.mean };
            let judged = group.promise.iter().flat_map(|promise| promise.judge(&measured));
            broken.extend(judged.filter(|row| !row.kept).map(|row| format!("{}: {}, but {}", flow.name, row.promise, row.measured)));
        }
    }
    broken
}

/// The first variant keeps what it promises, so that the command succeeds; every other one, if anything is promised, shows what happens otherwise.
#[test]
fn every_scenario_shows_what_it_says() {
    for path in files("") {
        let scenario = read(&path);
        for (index, variant) in scenario.variants.iter().enumerate() {
            let simulation = variant.simulation.as_ref().unwrap_or_else(|| panic!("{} simulates nothing", path.display()));
            let outcome = run(&simulation.network, &simulation.experiment, &Control::default()).unwrap();
            let broken = broken(simulation, &outcome);
            let delivered: u64 = outcome.flows.iter().map(|flow| flow.delivered.packets).sum();
            let connections: u64 = outcome.workloads.iter().map(|workload| workload.arrivals - workload.unfinished).sum();
            assert!(delivered + connections > 50, "{}, {}: hardly anything is delivered", path.display(), variant.name);
            if index == 0 {
                assert!(broken.is_empty(), "{}, {}: {broken:?}", path.display(), variant.name);
            } else if simulation.groups.iter().any(|group| group.promise.is_some()) && !path.ends_with("mm1-validation.toml") {
                assert!(!broken.is_empty(), "{}, {}: every promise is kept, so what does it show?", path.display(), variant.name);
            }
        }
    }
}

#[test]
fn paths_that_are_one_of_several_with_as_few_links_are_named() {
    let link = |from: &str, to: &str| format!("[[link]]\nname = \"{from}{to}\"\nfrom = \"{from}\"\nto = \"{to}\"\npolicy = \"p\"\n");
    let file = |links: &[&str], flow: &str| {
        let links: String = links.iter().map(|ends| link(&ends[..1], &ends[1..])).collect();
        format!("[simulation]\nduration = \"1 s\"\n[policy.p]\nrate = \"1 Mbit/s\"\n{links}[[flow]]\nname = \"f\"\n{flow}\n")
    };
    let warnings = |text: &str| parse_str("file.toml", text).unwrap().warnings.map_or(String::new(), |warnings| warnings.to_string());
    let diamond = ["ab", "bd", "ac", "cd", "da"];
    let cbr = "source = { kind = \"cbr\", rate = \"1 kbit/s\", packet = \"100 B\" }";
    let found = warnings(&file(&diamond, &format!("from = \"a\"\nto = \"d\"\n{cbr}")));
    assert!(
        found.contains("packets could take another path of the same weight, over `ac`") && found.contains("path = [\"ab\", \"bd\"]"),
        "{found}"
    );
    // Written out, or longer: no doubt.
    assert_eq!(warnings(&file(&diamond, &format!("path = [\"ac\", \"cd\"]\n{cbr}"))), "");
    assert_eq!(warnings(&file(&["ab", "bd", "ac", "ce", "ed"], &format!("from = \"a\"\nto = \"d\"\n{cbr}"))), "");
    let found = warnings(&file(&diamond, "from = \"d\"\nto = \"a\"\nsource = { kind = \"tcp\" }"));
    assert!(found.contains("acknowledgements could take another path") && found.contains("back = [\"ab\", \"bd\"]"), "{found}");
}

#[test]
fn connections_recover_as_they_do_today_unless_a_file_says_otherwise() {
    let recovery = |source: &str| {
        let text = format!(
            "[simulation]\nduration = \"1 s\"\n[policy.p]\nrate = \"1 Mbit/s\"\n[[link]]\nname = \"x\"\nfrom = \"a\"\nto = \"b\"\npolicy = \"p\"\n\
             [[link]]\nname = \"y\"\nfrom = \"b\"\nto = \"a\"\npolicy = \"p\"\n[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\nsource = {{ kind = \"tcp\"{source} }}\n"
        );
        let scenario = parse_str("file.toml", &text).unwrap();
        let network = &scenario.variants[0].simulation.as_ref().unwrap().network;
        let Source::Tcp(tcp) = &network.flows[0].source else { panic!("no connection") };
        assert_eq!(tcp.dsack, tcp.recovery.name() == "rack" && !source.contains("dsack = false"));
        let aids = [tcp.prr, tcp.hystart, tcp.tail_loss_probe];
        (tcp.recovery.name(), tcp.timer.kind.name(), tcp.after_idle.name(), tcp.growth.name(), aids)
    };
    assert_eq!(recovery(""), ("rack", "linux", "linux", "rfc5681", [true, true, true]));
    assert_eq!(recovery(", congestion = \"reno\"").4, [true, false, true]);
    assert_eq!(recovery(", congestion = \"reno\", hystart = true, prr = false, tail_loss_probe = false").4, [false, true, false]);
    assert_eq!(recovery(", congestion = \"bbr\""), ("rack", "linux", "linux", "rfc5681", [false, false, true]));
    assert_eq!(recovery(", congestion = \"bbr\", recovery = \"sack\"").4, [false, false, false]);
    assert_eq!(recovery(", recovery = \"sack\", timer = \"rfc6298\""), ("sack", "rfc6298", "linux", "rfc5681", [true, false, false]));
    recovery(", dsack = false");
    assert_eq!(recovery(", recovery = \"newreno\"").4, [false, false, false]);
    assert_eq!(recovery(", after_idle = \"keep\", growth = \"per-ack\"").2, "keep");
}

#[test]
fn the_single_queue_agrees_with_theory() {
    let scenario = read(Path::new("../../scenarios/mm1-validation.toml"));
    for (variant, expected_s) in scenario.variants.iter().zip([8e-3, 4.4e-3]) {
        let simulation = variant.simulation.as_ref().unwrap();
        let outcome = run(&simulation.network, &simulation.experiment, &Control::default()).unwrap();
        let mean = outcome.flows[0].delay.as_ref().unwrap().mean_s;
        let error = (mean.mean - expected_s).abs();
        assert!(error < 2.0 * mean.half_width.unwrap() && error < 0.03 * expected_s, "{}: {mean:?}, expected {expected_s}", variant.name);
    }
}

/// M/M/1 with room for 4 packets that wait loses (1 - r) r^5 / (1 - r^6) at a load r of 0.9: 12.60 %. A larger `packet_limit` changes nothing,
/// with any buffer manager that takes a packet while there is room.
#[test]
fn the_smaller_of_two_limits_holds() {
    for manager in ["tail-drop", "longest-queue-push-out"] {
        let text = format!(
            "[simulation]\nduration = \"300 s\"\nwarm_up = \"10 s\"\nseed = 7\n\
             [policy.p]\nrate = \"2 Mbit/s\"\nlongest_frame = \"60 kB\"\npacket_limit = \"200000 packets\"\n\
             buffer = {{ manager = \"{manager}\", limit = \"4 packets\" }}\n\
             [[link]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\npolicy = \"p\"\n\
             [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\nsource = {{ kind = \"poisson\", rate = \"1.8 Mbit/s\", mean_packet = \"500 B\" }}\n"
        );
        let scenario = tidegate_scenario::parse_str("mm1.toml", &text).unwrap();
        let warnings = scenario.warnings.as_ref().unwrap().to_string();
        assert!(warnings.contains("`packet_limit` has no effect: the buffer holds at most 4 packets"), "{warnings}");
        let simulation = scenario.variants[0].simulation.as_ref().unwrap();
        assert_eq!(simulation.network.links[0].port.packet_limit, 4);
        let outcome = run(&simulation.network, &simulation.experiment, &Control::default()).unwrap();
        let loss = outcome.flows[0].loss.mean;
        assert!((loss - 0.1260).abs() < 0.004, "{manager}: {loss}");
    }
}

/// The minimum rates of 4 and 6 Mbit/s, of which 1072 of 1219 bytes are packets: kept for untagged packets, or half of them, or less.
#[test]
fn accounting_keeps_minimum_rates_for_what_senders_left_untagged() {
    let scenario = read(Path::new("../../scenarios/senders-that-tag.toml"));
    for (variant, bounds) in scenario.variants.iter().zip([(0.97, 1.01), (0.2, 0.6), (0.2, 0.6)]) {
        let simulation = variant.simulation.as_ref().unwrap();
        let outcome = run(&simulation.network, &simulation.experiment, &Control::default()).unwrap();
        for (flow, rate) in outcome.flows.iter().zip([4e6, 6e6]) {
            let part = flow.tagged.unwrap().untagged_bps.mean / (rate * 1072.0 / 1219.0);
            assert!(part > bounds.0 && part < bounds.1, "{}, {}: {part}", variant.name, flow.name);
        }
        assert!(outcome.flows[2].tagged.is_none());
    }
}

#[test]
fn the_summary_tells_what_a_file_contains() {
    let text = tidegate_scenario::summary::check(Path::new("../../scenarios/hierarchical-isp.toml"), &[]).unwrap();
    for part in [
        "│  ├─ mill: strict-priority",
        "20 Mbit/s guaranteed",
        "shaped to 10 Mbit/s, bursts of 20 kB",
        "64 queues (drr)",
        "promised delay p99 at most 10 ms, loss at most 0.1 %",
        "core: access -> internet, 100 Mbit/s, 3 ms, policy `tree`; offered",
        "9 sources that take what they get",
    ] {
        assert!(text.contains(part), "{part:?} is missing in\n{text}");
    }
    let text = tidegate_scenario::summary::check(Path::new("../../scenarios/senders-that-tag.toml"), &[]).unwrap();
    assert!(text.contains("; tags what is beyond 6 Mbit/s (gfr); promised"), "{text}");
}

/// Bounds are printed for every period between two changes, for each link at its own rate.
#[test]
fn bounds_are_those_of_every_period() {
    let text = r#"
        simulation = { duration = "3 s" }
        [policy.p]
        rate = "2 Mbit/s"
        scheduler = "wf2q+"
        class = [{ name = "voice", match = [{ dscp = "ef" }], rate = "1 Mbit/s" }, { name = "rest", weight = 1 }]
        [policy.q]
        rate = "2 Mbit/s"
        [[change]]
        at = "1 s"
        set = { "policy.p.class.voice.rate" = "500 kbit/s" }
        [[change]]
        at = "2 s"
        remove = ["policy.p.class.voice"]
        [[link]]
        name = "slow"
        from = "a"
        to = "b"
        policy = "p"
        rate = "1500 kbit/s"
        [[link]]
        name = "other"
        from = "b"
        to = "c"
        policy = "q"
        [[flow]]
        name = "f"
        from = "a"
        to = "c"
        source = { kind = "cbr", rate = "150 kbit/s", packet = "1000 B" }
    "#;
    let scenario = parse_str("p.toml", text).unwrap_or_else(|problems| panic!("{problems}"));
    let shown = tidegate_scenario::bounds::text(&scenario);
    let parts: Vec<&str> = shown.split("\nfrom ").collect();
    assert!(parts.len() == 3 && parts[0].contains("link `slow`, policy `p` until 1 s: 1.5 Mbit/s"), "{shown}");
    assert!(parts[0].contains("1 Mbit/s guaranteed") && parts[0].contains("link `other`, policy `q`: 2 Mbit/s"), "{shown}");
    assert!(parts[1].contains("link `slow`, policy `p` until 2 s: 1.5 Mbit/s") && parts[1].contains("500 kbit/s guaranteed"), "{shown}");
    assert!(parts[2].contains("link `slow`, policy `p`: 1.5 Mbit/s") && !parts[2].contains("voice "), "{shown}");
    assert!(!parts[1].contains("link `other`"), "{shown}");
    let json = &tidegate_scenario::bounds::json(&scenario)["variants"][0];
    assert_eq!((json["ports"][0]["until_s"].as_f64(), json["ports"][1]["until_s"].as_f64()), (Some(1.0), None));
    let second = &json["changes"][1];
    assert_eq!((second["at_s"].as_f64(), second["ports"][0]["link"].as_str()), (Some(2.0), Some("slow")));
}
