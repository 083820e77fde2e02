//! Proven bounds hold: no packet that is simulated is later than the bound of its flow.

use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};
use tidegate_core::units::Duration;
use tidegate_scenario::proof::{Proof, ProvenFlow};
use tidegate_scenario::{Scenario, Variant, load, parse_str};
use tidegate_sim::statistics::Histogram;
use tidegate_sim::{Control, Experiment, FlowOutcome, Outcome, run_with_changes};

mod proofs {
    pub mod random;
}
use proofs::random;

/// What a variant measures, the first packets included.
fn measured(variant: &Variant, experiment: Experiment) -> Outcome {
    let simulation = variant.simulation.as_ref().unwrap();
    let changes: Vec<_> = variant.changes.iter().map(|change| change.of_network()).collect();
    let experiment = Experiment { sample_interval: None, ..experiment };
    run_with_changes(&simulation.network, &changes, &experiment, &Control::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// What is proven and measured of a variant: for each flow that has both, and for each class of a port, the name, the bound and the longest delay.
fn compared(variant: &Variant, experiment: Experiment) -> Vec<(String, i128, i128)> {
    let proof = Proof::of(variant).unwrap();
    let outcome = measured(variant, experiment);
    let longest = |delays: &Histogram| delays.maximum().map(|seconds| (seconds * 1e12).round() as i128);
    let of_flow = |(flow, proven): (&FlowOutcome, &Result<ProvenFlow, String>)| {
        let (_, packet) = flow.longest?;
        Some((flow.name.clone(), proven.as_ref().ok()?.bound.delay, packet.delay.into()))
    };
    let mut both: Vec<_> = outcome.flows.iter().zip(&proof.flows).filter_map(of_flow).collect();
    let mut classes: Vec<_> = proof.delays_of_classes(variant).into_iter().collect();
    classes.sort();
    both.extend(classes.into_iter().filter_map(|((link, class), bound)| {
        let port = &outcome.ports[link.0];
        let name = format!("class {} at {}", port.classes[class].name, port.name);
        Some((name, bound, longest(&port.classes[class].delays)?))
    }));
    both
}

fn scenarios() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir("../../scenarios").unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    files
}

fn read(path: &Path) -> Scenario {
    load(path, &[]).unwrap_or_else(|problems| panic!("{problems}"))
}

/// A change makes the first link twenty times as fast. What it carries from then on is all that limits the second.
#[test]
fn a_link_that_becomes_faster_brings_more_from_then_on() {
    let text = |rate: &str| {
        let link = |name: &str, from: &str, to: &str| {
            format!("[[link]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\npolicy = \"{name}\"\n")
        };
        let policy = |name: &str, rate: &str| {
            format!("[policy.{name}]\nrate = \"{rate} Mbit/s\"\nscheduler = \"fifo\"\n[[policy.{name}.class]]\nname = \"all\"\n")
        };
        policy("one", "5")
            + &policy("two", "10")
            + "[simulation]\nduration = \"1 s\"\n"
            + &link("one", "a", "b")
            + &link("two", "b", "c")
            + "[[flow]]\nname = \"bulk\"\nfrom = \"a\"\nto = \"c\"\nsource = { kind = \"greedy\", packet = \"1000 B\", window = \"10 packets\" }\n"
            + "[[flow]]\nname = \"call\"\nfrom = \"b\"\nto = \"c\"\nsource = { kind = \"cbr\", packet = \"200 B\", interval = \"20 ms\" }\n"
            + &format!("[[change]]\nat = \"0.5 s\"\nset = {{ \"policy.one.rate\" = \"{rate} Mbit/s\" }}\n")
    };
    let compared = |rate: &str| {
        let scenario = parse_str("change.toml", &text(rate)).unwrap_or_else(|problems| panic!("{problems}"));
        let variant = &scenario.variants[0];
        compared(variant, variant.simulation.as_ref().unwrap().experiment)
    };
    // A slower link still brought 5 Mbit/s before.
    let names = |found: &[(String, i128, i128)]| {
        found.iter().map(|flow| flow.0.clone()).filter(|name| !name.starts_with("class ")).collect::<Vec<_>>()
    };
    for rate in ["2", "9"] {
        let found = compared(rate);
        assert_eq!(names(&found), ["bulk", "call"], "at {rate} Mbit/s");
        assert!(found.iter().all(|(_, bound, longest)| longest <= bound), "at {rate} Mbit/s: {found:?}");
    }
    for (_, bound, longest) in compared("100") {
        assert!(longest <= bound, "{longest} ps, bound {bound} ps");
    }
}

#[test]
fn no_packet_of_a_scenario_is_later_than_its_bound() {
    let (mut flows, mut variants) = (0, 0);
    for path in scenarios() {
        for variant in &read(&path).variants {
            let Some(simulation) = &variant.simulation else { continue };
            let name = format!("{}, {}", path.display(), variant.name);
            let duration = Duration::from_milliseconds(500);
            let experiment = Experiment { duration, warm_up: Duration::ZERO, replications: 1, ..simulation.experiment };
            let found = compared(variant, experiment);
            (flows, variants) = (flows + found.len(), variants + usize::from(!found.is_empty()));
            for (flow, bound, longest) in found {
                assert!(longest <= bound, "{name}: a packet of `{flow}` took {longest} ps, and its bound is {bound} ps");
            }
        }
    }
    // Of those that have any bound: a proof that gives up is noticed.
    assert!(flows >= 700 && variants >= 35, "only {flows} flows in {variants} variants were compared");
}

proptest! {
    /// One port: sparse packets meet turns that have just ended.
    #[test]
    fn no_packet_at_a_random_port_is_later_than_its_bound(seed in any::<u64>()) {
        let text = random::turns(seed);
        let scenario = parse_str("random.toml", &text).unwrap_or_else(|problems| panic!("{problems}"));
        let variant = &scenario.variants[0];
        for (flow, bound, longest) in compared(variant, variant.simulation.as_ref().unwrap().experiment) {
            prop_assert!(longest <= bound, "a packet of `{flow}` took {longest} ps, and its bound is {bound} ps:\n{text}");
        }
    }

    /// Random networks with every scheduler in trees of two levels, and sources that lean towards the worst case.
    #[test]
    fn no_packet_of_a_random_scenario_is_later_than_its_bound(seed in any::<u64>()) {
        let text = random::scenario(seed);
        let parsed = parse_str("random.toml", &text);
        // Some shares come out above those of their group.
        prop_assume!(parsed.is_ok());
        let scenario = parsed.unwrap();
        let variant = &scenario.variants[0];
        for (flow, bound, longest) in compared(variant, variant.simulation.as_ref().unwrap().experiment) {
            prop_assert!(longest <= bound, "a packet of `{flow}` took {longest} ps, and its bound is {bound} ps:\n{text}");
        }
    }
}

/// The proof of a text with one variant.
fn proof(text: &str) -> Proof {
    let scenario = parse_str("test.toml", text).unwrap_or_else(|problems| panic!("{problems}"));
    Proof::of(&scenario.variants[0]).unwrap()
}

/// The bound of a flow in microseconds, rounded up, or the reason why there is none.
fn bound(proof: &Proof, flow: usize) -> Result<i128, String> {
    proof.flows[flow].as_ref().map(|flow| (flow.bound.delay + 999_999) / 1_000_000).map_err(Clone::clone)
}

/// Links of 8 Mbit/s in a row, each with a policy: 1000 bytes take 1 ms.
fn row_of_links(policies: &[&str], flows: &str) -> String {
    let mut text = "[simulation]\nduration = \"100 ms\"\n".to_owned();
    for (link, keys) in policies.iter().enumerate() {
        let to = link + 1;
        text += &format!("[policy.p{link}]\nrate = \"8 Mbit/s\"\nlongest_frame = \"1000 B\"\n{keys}\n");
        text += &format!("[[link]]\nname = \"l{link}\"\nfrom = \"n{link}\"\nto = \"n{to}\"\npolicy = \"p{link}\"\n");
    }
    text + flows
}

const FIFO: &str = "buffer = { limit = \"10 kB\" }";

#[test]
fn oracles_of_the_projects_scenarios() {
    for (file, flow, microseconds) in [("parking-lot", "path-constant", 11_741), ("hierarchical-isp", "mill-calls-1", 6_837)] {
        let scenario = read(Path::new(&format!("../../scenarios/{file}.toml")));
        let variant = &scenario.variants[0];
        let index = variant.simulation.as_ref().unwrap().network.flows.iter().position(|spec| spec.name == flow).unwrap();
        let found = bound(&Proof::of(variant).unwrap(), index).unwrap();
        assert!((microseconds - 1..=microseconds + 1).contains(&found), "{flow}: {found} us");
    }
}

#[test]
fn each_packet_counts_with_the_most_bits_that_it_takes_on_its_path() {
    let flow = "[[flow]]\nname = \"f\"\npath = [\"l0\", \"l1\"]\nsource = { kind = \"cbr\", rate = \"80 kbit/s\", packet = \"100 B\" }\n";
    let plain = bound(&proof(&row_of_links(&[FIFO, FIFO], flow)), 0).unwrap();
    assert_eq!(plain, 201);
    for overhead in ["100 B", "aal5"] {
        let heavy = format!("{FIFO}\noverhead = \"{overhead}\"");
        // A hundred bytes more, or three cells, at either of the links.
        for policies in [[FIFO, heavy.as_str()], [heavy.as_str(), FIFO]] {
            let found = bound(&proof(&row_of_links(&policies, flow)), 0).unwrap();
            assert!(found >= 259, "{found}");
        }
    }
}

#[test]
fn a_greedy_source_keeps_its_window_and_others_wait_for_it() {
    let greedy = |name: &str| {
        format!(
            "[[flow]]\nname = \"{name}\"\npath = [\"l0\"]\nsource = {{ kind = \"greedy\", packet = \"1000 B\", window = \"3 packets\" }}\n"
        )
    };
    let calls = "[[flow]]\nname = \"f\"\npath = [\"l0\"]\nsource = { kind = \"cbr\", rate = \"80 kbit/s\", packet = \"100 B\" }\n";
    let wide = "buffer = { limit = \"1 MB\" }";
    let found = proof(&row_of_links(&[wide], &format!("{calls}{}{}", greedy("g"), greedy("h"))));
    // Six packets, the one under way, and its own, at what the calls leave.
    assert!((7_100..7_300).contains(&bound(&found, 0).unwrap()), "{:?}", bound(&found, 0));
    assert!(found.flows[0].as_ref().unwrap().limited.is_empty() && !found.queues[0].is_limited);
    // A smaller buffer is the better bound, for packets that leave.
    let found = proof(&row_of_links(&[FIFO.replace("10 kB", "2 kB").as_str()], &format!("{calls}{}", greedy("g"))));
    assert_eq!((bound(&found, 0), found.flows[0].as_ref().unwrap().limited.clone()), (Ok(3_000), vec![0]));
}

#[test]
fn behind_a_line_and_behind_a_policer_unlimited_traffic_has_a_curve() {
    let flows = |policed: &str| {
        let poisson =
            "[[flow]]\nname = \"p\"\npath = [\"l0\", \"l1\"]\nsource = { kind = \"poisson\", rate = \"1 Mbit/s\", packet = \"500 B\" }\n";
        let wide = "[[policy.p1.class]]\nname = \"all\"\n";
        row_of_links(&[FIFO, &format!("{FIFO}\n{wide}{policed}")], poisson).replace("policy.p1]\nrate = \"8", "policy.p1]\nrate = \"16")
    };
    let found = proof(&flows(""));
    // A buffer of 10 kB and the packet under way, and one packet at twice the rate: what comes over the line is served at once.
    assert_eq!((bound(&found, 0), found.flows[0].as_ref().unwrap().limited.clone()), (Ok(10_750), vec![0]));
    let found = proof(&flows("police = { policer = \"gcra\", rate = \"1 Mbit/s\", burst = \"3 kB\" }\n"));
    assert_eq!((bound(&found, 0), found.queues[1].delay.clone()), (Ok(12_000), Ok(1_500_000_000)));
}

#[test]
fn acknowledgements_count_on_their_way_back() {
    let flows = "[[link]]\nname = \"back\"\nfrom = \"n1\"\nto = \"n0\"\npolicy = \"p0\"\n\
        [[flow]]\nname = \"tcp\"\npath = [\"l0\"]\nback = [\"back\"]\nsource = { kind = \"tcp\", segment = \"900 B\" }\n\
        [[flow]]\nname = \"calls\"\npath = [\"back\"]\nsource = { kind = \"cbr\", rate = \"80 kbit/s\", packet = \"100 B\" }\n";
    let found = proof(&row_of_links(&[FIFO], flows));
    assert_eq!((bound(&found, 1), found.flows[1].as_ref().unwrap().limited.clone()), (Ok(11_000), vec![0]));
}

#[test]
fn packets_that_a_policer_marks_count_where_they_go() {
    // What the first port marks passes the class `marked` of the second, beside a flow of that class.
    let first = "[[policy.p0.class]]\nname = \"af\"\npolice = { policer = \"gcra\", rate = \"100 kbit/s\", burst = \"2 kB\", violation = \"yellow\" }\n\
        set = { dscp = \"by-colour\" }\n";
    let second = "scheduler = \"wf2q+\"\n[[policy.p1.class]]\nname = \"marked\"\nmatch = [{ dscp = \"af12\" }]\nrate = \"3 Mbit/s\"\n\
        [[policy.p1.class]]\nname = \"rest\"\nrate = \"4 Mbit/s\"\n";
    let source = "source = { kind = \"frames\", sizes = [\"8 kB\"], interval = \"40 ms\", packet = \"1000 B\" }";
    let bound_of = |path: &str| {
        let flows = format!(
            "[[flow]]\nname = \"f\"\npath = [{path}]\nheader = {{ dscp = \"af11\" }}\n{source}\n\
             [[flow]]\nname = \"other\"\npath = [\"l1\"]\nheader = {{ dscp = \"af12\" }}\nsource = {{ kind = \"cbr\", rate = \"80 kbit/s\", packet = \"100 B\" }}\n"
        );
        bound(&proof(&row_of_links(&[&format!("{FIFO}\n{first}"), &format!("{FIFO}\n{second}")], &flows)), 1).unwrap()
    };
    assert!(bound_of("\"l0\", \"l1\"") > bound_of("\"l0\"") + 2_000);
}

/// One link of 8 Mbit/s with the classes `a`, `b` and `c`, the last for the rest, and what each sends at most; and a change after 50 ms.
fn changing(keys: [&str; 3], flows: [&str; 3], change: &str) -> String {
    let mut policy = "buffer = { limit = \"100 kB\" }\n".to_owned() + keys[0] + "\n";
    let mut text = String::new();
    for (number, (class, source)) in ["a", "b", "c"].into_iter().zip(flows).enumerate() {
        let matched = if class == "c" { String::new() } else { format!("match = [{{ destination_port = {number} }}]\n") };
        policy += &format!(
            "[[policy.p0.class]]\nname = \"{class}\"\n{matched}{}\n",
            if keys[1].is_empty() { String::new() } else { format!("{} = {number}", keys[1]) }
        );
        text += &format!(
            "[[flow]]\nname = \"{class}\"\npath = [\"l0\"]\nheader = {{ destination_port = {number} }}\nsource = {{ {source} }}\n"
        );
    }
    row_of_links(&[&(policy + keys[2])], &text) + "[[change]]\nat = \"50 ms\"\n" + change
}

/// Ten packets of 1000 bytes every 40 ms.
const BURST: &str = "kind = \"frames\", sizes = [\"10 kB\"], interval = \"40 ms\", packet = \"1000 B\"";
const GREEDY: &str = "kind = \"greedy\", packet = \"1000 B\", window = \"40 packets\"";

/// 200 kbit/s of packets of 500 bytes.
const STEADY: &str = "kind = \"cbr\", rate = \"200 kbit/s\", packet = \"500 B\"";

#[test]
fn what_goes_first_under_every_policy_has_a_bound_across_changes() {
    let strict = ["scheduler = \"strict-priority\"", "priority", ""];
    let of = |flows: [&str; 3], change: &str| {
        let found = proof(&changing(strict, flows, change));
        [0, 1, 2].map(|flow| bound(&found, flow))
    };
    // A packet of 1000 bytes at 8 Mbit/s, and its own. `b` and `c` change places, so that both are one set.
    let swapped = of([STEADY, BURST, STEADY], "set = { \"policy.p0.class.b.priority\" = 2, \"policy.p0.class.c.priority\" = 1 }");
    assert_eq!(swapped[0], Ok(1_501));
    // 88 kbit at what is left of 8 Mbit/s beside 400 kbit/s, and 84 kbit beside 2.2 Mbit/s and then 4 kbit.
    assert!((11_500..11_600).contains(&swapped[1].clone().unwrap()), "{swapped:?}");
    assert!((15_100..15_200).contains(&swapped[2].clone().unwrap()), "{swapped:?}");
    // Half the rate: all of it takes twice as long.
    let slower = of([STEADY, BURST, STEADY], "set = { \"policy.p0.rate\" = \"4 Mbit/s\" }");
    assert_eq!(slower[0], Ok(3_001));
    // What nothing limits spares what is before it, and nothing else.
    let beside = of([STEADY, GREEDY, STEADY], "set = { \"policy.p0.class.b.priority\" = 2, \"policy.p0.class.c.priority\" = 1 }");
    assert_eq!(beside[0], Ok(1_501));
    let reason = beside[2].clone().unwrap_err();
    assert!(reason.ends_with("one of those that may go before it then has no bound"), "{reason}");
}

#[test]
fn a_port_that_shares_its_rate_otherwise_has_sent_all_when_nothing_waits() {
    let shares = ["scheduler = \"drr\"", "", ""];
    let of = |keys, change: &str| {
        let found = proof(&changing(keys, [STEADY, BURST, STEADY], change));
        [0, 1, 2].map(|flow| bound(&found, flow))
    };
    // 4 + 80 + 4 kbit in order at what the others leave, or in any order at what all three leave of 8 Mbit/s.
    let weights = of(shares, "set = { \"policy.p0.class.b.weight\" = 3 }");
    assert!((15_100..15_200).contains(&weights[0].clone().unwrap()), "{weights:?}");
    let gone = of(shares, "remove = [\"policy.p0.class.b\"]");
    assert_eq!(gone[1], gone[2]);
    assert!((15_700..15_800).contains(&gone[1].clone().unwrap()), "{gone:?}");
    // `a` stays, in its order.
    assert_eq!(gone[0], weights[0]);
    // Only the rate is another: turns hold at the lower one.
    let slower = of(shares, "set = { \"policy.p0.rate\" = \"4 Mbit/s\" }");
    assert_eq!(slower[0], Ok(15_001));
    let held = ["scheduler = \"drr\"", "", "shape = { rate = \"1 Mbit/s\", burst = \"2 kB\" }"];
    let reason = of(held, "set = { \"policy.p0.class.b.weight\" = 3 }")[0].clone().unwrap_err();
    assert!(reason.contains("its policy changes while it runs, and holds packets back"), "{reason}");
}

/// An adapter with slots of 10 us, whose class has a peak interval of 10 slots.
fn adapter(keys: &str, contract: &str, packet: u32) -> Result<i128, String> {
    let text = format!(
        "[simulation]\nduration = \"100 ms\"\n[policy.p]\nrate = \"42.4 Mbit/s\"\n[policy.p.cells]\n{keys}\n\
         [[policy.p.class]]\nname = \"c\"\ncontract = {{ peak_cell_rate = \"4.24 Mbit/s\"{contract} }}\n\
         [[link]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\npolicy = \"p\"\n\
         [[flow]]\nname = \"f\"\npath = [\"l\"]\nsource = {{ kind = \"cbr\", packet = \"{packet} B\", interval = \"10 ms\" }}\n"
    );
    bound(&proof(&text), 0)
}

#[test]
fn a_frame_of_an_adapter_waits_for_its_contract_and_for_the_others() {
    // One cell: a slot until it is seen, one of conflicts, one for itself. Ten cells: nine intervals of 100 us before the last.
    assert_eq!((adapter("", "", 40), adapter("", "", 472)), (Ok(31), Ok(931)));
    // The header of LLC takes another cell.
    assert_eq!(adapter("encapsulation = \"llc-snap\"", "", 40), Ok(131));
    // Later than tolerated by a slot, each.
    assert_eq!(adapter("", ", cell_delay_variation_tolerance = \"0 s\"", 472), Ok(931 + 90));
    // A burst of six cells, less the token that is lost when it ends; the other cells come every 200 us.
    let of = |bucket: &str| {
        adapter("", &format!(", sustainable_cell_rate = \"2.12 Mbit/s\", maximum_burst_size = 6, bucket = \"{bucket}\""), 472)
    };
    assert_eq!(of("single"), Ok(30 + 1_800 - 500 + 10 + 100 + 1));
    assert_eq!(of("dual"), Ok(30 + 9 * 210 + 1));
    let late = adapter("transfer = { access_latency = \"11 us\", bus_rate = \"1 Gbit/s\", burst = 8, buffer = 512 }", "", 40);
    assert!(late.unwrap_err().ends_with("its cells are fetched over a bus, and may come late"));
    assert!(adapter("conflict = \"next-free\"", "", 40).is_err());
}

#[test]
fn calls_by_budgets_take_what_the_broker_promises() {
    let of = |from: &str, to: &str| {
        let text = include_str!("budgets.toml").replace(from, to);
        let scenario = parse_str("budgets.toml", &text).unwrap_or_else(|problems| panic!("{problems}"));
        let variant = scenario.variants.into_iter().next().unwrap();
        let found = Proof::of(&variant).unwrap();
        let flows = variant.simulation.as_ref().unwrap().network.flows.iter().map(|flow| flow.name.clone());
        let bounds: Vec<(String, Result<i128, String>)> = flows.enumerate().map(|(flow, name)| (name, bound(&found, flow))).collect();
        (bounds, variant)
    };
    let (bounds, variant) = of("", "");
    let bound_of =
        |bounds: &[(String, Result<i128, String>)], name: &str| bounds.iter().find(|flow| flow.0.starts_with(name)).unwrap().1.clone();
    // Two links of 3 ms together. What comes to the second over one line waits less there than its budget.
    assert_eq!((bound_of(&bounds, "talk"), bound_of(&bounds, "film")), (Ok(9_413), Ok(43_000)));
    assert!(bound_of(&bounds, "bulk").is_err());
    let experiment = Experiment { duration: Duration::from_seconds(12), ..variant.simulation.as_ref().unwrap().experiment };
    let found = compared(&variant, experiment);
    assert!(found.len() >= 8 && found.iter().all(|(_, bound, longest)| longest <= bound), "{found:?}");
    // One source that may exceed what its calls declare takes the promise from all: the buffers of 100 kB remain.
    let (bounds, _) = of("interval = \"40 ms\"", "interval = \"20 ms\"");
    assert_eq!(bound_of(&bounds, "talk"), Ok(95_426));
}

/// A ring of five links of 10 Mbit/s at a load of 80 %: every flow passes four of them, each from its own one on.
#[test]
fn a_cycle_is_improved_from_its_fixed_point() {
    let mut text = "[simulation]\nduration = \"100 ms\"\n[policy.p]\nrate = \"10 Mbit/s\"\nlongest_frame = \"125 B\"\n".to_owned();
    for link in 0..5 {
        let (to, path) = ((link + 1) % 5, (0..4).map(|hop| format!("\"l{}\"", (link + hop) % 5)).collect::<Vec<_>>().join(", "));
        text += &format!("[[link]]\nname = \"l{link}\"\nfrom = \"n{link}\"\nto = \"n{to}\"\npolicy = \"p\"\n");
        let source = "kind = \"cbr\", rate = \"2 Mbit/s\", packet = \"125 B\"";
        text += &format!("[[flow]]\nname = \"f{link}\"\npath = [{path}]\nsource = {{ {source} }}\n");
    }
    let found = proof(&text);
    // 1,520 us by the fixed point alone.
    assert_eq!(bound(&found, 0), Ok(1_407));
}

/// The bounds of a burst of 10 kB in class `a` and of two steady flows in `b` and `c`, under a policy with these keys and those of each class.
fn three(root: &str, classes: [&str; 3]) -> [Result<i128, String>; 3] {
    let mut policy = format!("buffer = {{ limit = \"1 MB\" }}\n{root}\n");
    let mut flows = String::new();
    for (number, ((class, keys), source)) in ["a", "b", "c"].into_iter().zip(classes).zip([BURST, STEADY, STEADY]).enumerate() {
        let matched = if class == "c" { String::new() } else { format!("match = [{{ destination_port = {number} }}]\n") };
        policy += &format!("[[policy.p0.class]]\nname = \"{class}\"\n{matched}{keys}\n");
        flows += &format!(
            "[[flow]]\nname = \"{class}\"\npath = [\"l0\"]\nheader = {{ destination_port = {number} }}\nsource = {{ {source} }}\n"
        );
    }
    let found = proof(&row_of_links(&[&policy], &flows));
    [0, 1, 2].map(|flow| bound(&found, flow))
}

/// In any order: `a` has 80 kbit behind 8 kbit at what 400 kbit/s leave of 8 Mbit/s, and each of the others 4 kbit behind 84 beside 2.2 Mbit/s.
const ANY_ORDER: [Result<i128, String>; 3] = [Ok(11_579), Ok(15_173), Ok(15_173)];

#[test]
fn what_is_left_in_any_order_bounds_queues_without_a_row() {
    // First in, first out among a group and a class.
    let group = "scheduler = \"fifo\"\n[[policy.p0.group]]\nname = \"g\"\nscheduler = \"strict-priority\"";
    assert_eq!(three(group, ["parent = \"g\"\npriority = 1", "parent = \"g\"\npriority = 0", ""]), ANY_ORDER);
    // A group below a virtual clock.
    let group = "scheduler = \"virtual-clock\"\n[[policy.p0.group]]\nname = \"g\"\nscheduler = \"drr\"\nrate = \"7 Mbit/s\"";
    let below = three(group, ["parent = \"g\"", "parent = \"g\"", "rate = \"500 kbit/s\""]);
    assert_eq!(below[..2], ANY_ORDER[..2]);
    assert!(below[2].clone().unwrap() < 11_000, "{below:?}");
    // A class that sends more than it is guaranteed, while the others send less.
    let rates = ["rate = \"1 Mbit/s\"", "rate = \"3 Mbit/s\"", "rate = \"3 Mbit/s\""];
    assert_eq!(three("scheduler = \"wf2q+\"", rates)[0], ANY_ORDER[0]);
}

#[test]
fn beside_a_shape_counts_what_its_contract_passes() {
    // 16 kbit at 1 Mbit/s of `a`, 4 kbit at 200 kbit/s of `c`, and a packet of 8 kbit that may be on its way: 28 kbit before 4.
    let shape = "delay = \"3 ms\"\nshape = { rate = \"1 Mbit/s\", burst = \"2 kB\", delay_variation_tolerance = \"0 s\" }";
    let found = three("scheduler = \"edf\"", [shape, "delay = \"8 ms\"", "delay = \"9 ms\""]);
    assert_eq!((found[0].is_err(), &found[1], &found[2]), (true, &Ok(4_706), &Ok(4_706)), "{found:?}");
}

#[test]
fn a_buffer_that_shrinks_still_holds_what_it_let_in() {
    let flow = "[[flow]]\nname = \"f\"\npath = [\"l0\"]\nsource = { kind = \"poisson\", rate = \"9 Mbit/s\", packet = \"1000 B\" }\n";
    let of = |before: &str, after: &str| {
        let buffer = format!("buffer = {{ limit = \"{before}\" }}");
        let change = format!("[[change]]\nat = \"50 ms\"\nset = {{ \"policy.p0.buffer.limit\" = \"{after}\" }}\n");
        bound(&proof(&(row_of_links(&[&buffer], flow) + &change)), 0)
    };
    assert_eq!((of("10 kB", "5 kB"), of("5 kB", "10 kB")), (Ok(11_000), Ok(11_000)));
}

#[test]
fn what_is_not_proven_says_why() {
    let cells =
        "[[flow]]\nname = \"f\"\npath = [\"l0\", \"l1\"]\nsource = { kind = \"poisson\", rate = \"80 kbit/s\", packet = \"100 B\" }\n";
    let text =
        row_of_links(&["longest_frame = \"53 B\"", FIFO], cells).replace("longest_frame = \"1000 B\"\nlongest_frame", "longest_frame");
    let text = text.replacen("policy = \"p0\"\n", "policy = \"p0\"\ncells = true\n", 1);
    let found = proof(&text);
    assert!(bound(&found, 0).unwrap_err().contains("packets contend there as cells"), "{:?}", bound(&found, 0));
    // Behind cells nothing limits what comes.
    assert!(found.queues[1].is_limited, "{:?}", found.queues[1]);
    let text =
        row_of_links(&["scheduler = \"edf\"\n[[policy.p0.class]]\nname = \"all\"\ndelay = \"5 ms\"\n"], &cells.replace(", \"l1\"", ""));
    assert_eq!(bound(&proof(&text), 0), Err("source `poisson` is not limited".to_owned()));
}

/// Under weighted round robin a class whose queue is empty when its packet starts is back with a new turn before another comes, which waits for both.
#[test]
fn a_packet_may_wait_for_a_packet_and_a_turn_of_the_same_class() {
    let classes = "scheduler = \"wrr\"\n[[policy.p0.class]]\nname = \"big\"\nmatch = [{ destination_port = 1 }]\n\
        [[policy.p0.class]]\nname = \"rest\"\nweight = 2\n";
    let flows = "[[flow]]\nname = \"big\"\npath = [\"l0\"]\nheader = { destination_port = 1 }\nstart = \"10 ms\"\n\
        source = { kind = \"frames\", sizes = [\"3000 B\"], interval = \"50 ms\", packet = \"1000 B\", random_phase = false }\n\
        [[flow]]\nname = \"f\"\npath = [\"l0\"]\nstart = \"10100 us\"\n\
        source = { kind = \"cbr\", rate = \"16 kbit/s\", packet = \"100 B\", random_phase = false }\n";
    let scenario = parse_str("turns.toml", &row_of_links(&[&format!("buffer = {{ limit = \"1 MB\" }}\n{classes}")], flows)).unwrap();
    let variant = &scenario.variants[0];
    let found = compared(variant, variant.simulation.as_ref().unwrap().experiment);
    let (_, bound, longest) = found.iter().find(|found| found.0 == "f").unwrap();
    // It comes 0.1 ms after the first of three packets and leaves behind the second.
    assert_eq!(*longest, 2_000_000_000);
    assert!(longest <= bound, "{bound}");
}
