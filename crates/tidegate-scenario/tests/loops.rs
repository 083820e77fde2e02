//! Tables that stand for many: `for`, and holes with arithmetic.

use tidegate_scenario::{Simulation, parse_str, parse_text};

const POLICY: &str =
    "[simulation]\nduration = \"1 s\"\n[policy.p]\nrate = \"1 Gbit/s\"\nbuffer = { manager = \"tail-drop\", limit = \"100 kB\" }\n";

fn load(text: &str, overrides: &[&str]) -> Result<Simulation, String> {
    let overrides: Vec<String> = overrides.iter().map(|&change| change.to_owned()).collect();
    let loaded = parse_text("test", text, &overrides).map_err(|problems| problems.render(false))?;
    Ok(loaded.variants.into_iter().next().unwrap().simulation.unwrap())
}

fn ring(keys: &str) -> String {
    format!(
        "{POLICY}[[policy.p.class]]\nname = \"all\"\n[[link]]\n{keys}\npolicy = \"p\"\n[[flow]]\nfor = {{ i = \"1..4\" }}\nname = \"flow {{i}}\"\nfrom = \"n{{i}}\"\nto = \"n{{i%4+1}}\"\nsource = {{ kind = \"greedy\", packet = \"{{100*i}} B\" }}\n"
    )
}

const LINKS: &str =
    "for = { i = \"1..4\" }\nname = \"l{i}\"\nfrom = \"n{i}\"\nto = \"n{i%4+1}\"\nweight = \"{i*2}\"\ndelay = \"{(i-1)/2} ms\"";

#[test]
fn a_loop_writes_a_table_for_each_value() {
    let simulation = load(&ring(LINKS), &["link.l3.delay=7 ms"]).unwrap();
    let network = &simulation.network;
    assert_eq!(network.links.iter().map(|link| link.name.as_str()).collect::<Vec<_>>(), ["l1", "l2", "l3", "l4"]);
    assert_eq!(network.weights, [2, 4, 6, 8]);
    let delays: Vec<u64> = network.links.iter().map(|link| link.propagation.picoseconds() / 1_000_000_000).collect();
    assert_eq!(delays, [0, 0, 7, 1]);
    let flows: Vec<(&str, usize)> = network.flows.iter().map(|flow| (flow.name.as_str(), flow.path[0].0)).collect();
    assert_eq!(flows, [("flow 1", 0), ("flow 2", 1), ("flow 3", 2), ("flow 4", 3)]);
}

#[test]
fn several_variables_and_lists_are_nested_and_the_first_is_the_outermost() {
    let text = format!(
        "{POLICY}[[policy.p.class]]\nfor = {{ s = [\"tcp\", \"udp\"], q = [46, 10] }}\nname = \"{{s}}{{q}}\"\nmatch = [{{ dscp = \"{{q}}\", protocol = \"{{s}}\", source = \"10.0.0.{{q+1}}\" }}]\n[[policy.p.class]]\nname = \"rest\"\n\
         [[link]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\npolicy = \"p\"\nduplex = true\n[[flow]]\nname = \"f\"\npath = [\"l\"]\nsource = {{ kind = \"greedy\", packet = \"100 B\" }}\n"
    );
    let scenario = parse_str("test", &text).unwrap_or_else(|problems| panic!("{}", problems.render(false)));
    let names: Vec<String> = scenario.variants[0].policies[0].classes.iter().map(|class| class.name.clone()).collect();
    assert_eq!(names, ["tcp46", "tcp10", "udp46", "udp10", "rest"]);
}

#[test]
fn a_loop_that_cannot_be_written_out_is_refused_with_its_line_and_values() {
    for (keys, problem, line) in [
        (
            "for = { i = \"1..4\" }\nname = \"l{i}\"\nfrom = \"n{j}\"\nto = \"b\"",
            "the loop with i = 1 has a hole `{j}` without a value",
            "test:9:",
        ),
        (
            "for = { i = \"1..4\" }\nname = \"l{i/(i-3)}\"\nfrom = \"a\"\nto = \"b\"",
            "the loop with i = 3: `{i/(i-3)}`: a division by 0",
            "test:10:",
        ),
        ("for = { i = \"1..4\" }\nname = \"l{i+}\"\nfrom = \"a\"\nto = \"b\"", "it ends too early", "test:10:"),
        ("for = { i = \"1..4\" }\nname = \"l{i*9223372036854775807}\"\nfrom = \"a\"\nto = \"b\"", "beyond 64 bits", "test:10:"),
        ("for = { i = \"1..4\" }\nname = \"l\"\nfrom = \"a\"\nto = \"b\"", "no hole `{i}`", "test:9:"),
        ("for = { i = \"4..1\" }\nname = \"l{i}\"\nfrom = \"a\"\nto = \"b\"", "is empty", "test:9:"),
        ("for = { i = \"1..4000000000\" }\nname = \"l{i}\"\nfrom = \"a\"\nto = \"b\"", "more than 100000 numbers", "test:9:"),
        ("for = { i = \"1..1000\", j = \"1..1000\" }\nname = \"l{i}{j}\"\nfrom = \"a\"\nto = \"b\"", "more than 100000 tables", "test:9:"),
        ("for = { i = true }\nname = \"l{i}\"\nfrom = \"a\"\nto = \"b\"", "has several values", "test:9:"),
        ("for = 3\nname = \"l{i}\"\nfrom = \"a\"\nto = \"b\"", "is a table, not", "test:9:"),
        (
            "for = { i = \"1..2\" }\nname = \"l{((((((((((((((((((((((i))))))))))))))))))))))}\"\nfrom = \"a\"\nto = \"b\"",
            "brackets in each other",
            "test:10:",
        ),
    ] {
        let found = load(&ring(keys), &[]).unwrap_err();
        assert!(found.contains(problem) && found.contains(line), "{keys}: {found}");
    }
}

/// Policies that a loop makes, and links that use them.
fn looped(name: &str) -> String {
    format!(
        "[simulation]\nduration = \"1 s\"\n[policy.\"{name}\"]\nfor = {{ i = \"1..3\", kind = [\"drr\", \"fifo\"] }}\nrate = \"{{100*i}} Mbit/s\"\nscheduler = \"{{kind}}\"\n\
         buffer = {{ manager = \"tail-drop\", limit = \"{{i}}00 kB\" }}\n[[policy.\"{name}\".class]]\nname = \"all-{{i}}\"\n\
         [[link]]\nfor = {{ i = \"1..3\" }}\nname = \"l{{i}}\"\nfrom = \"n{{i}}\"\nto = \"n{{i+1}}\"\npolicy = \"drr-{{i}}\"\n\
         [[flow]]\nname = \"f\"\npath = [\"l1\", \"l2\", \"l3\"]\nsource = {{ kind = \"greedy\", packet = \"100 B\" }}\n"
    )
}

#[test]
fn a_policy_is_repeated_with_its_classes() {
    let simulation = load(&looped("{kind}-{i}"), &[]).unwrap_or_else(|problem| panic!("{problem}"));
    let rates: Vec<u64> = simulation.network.links.iter().map(|link| link.port.rate.bits_per_second() / 1_000_000).collect();
    assert_eq!(rates, [100, 200, 300]);
    let classes = simulation.network.links.iter().map(|link| link.port.classifier.classes()[0].name.to_string());
    assert_eq!(classes.collect::<Vec<_>>(), ["all-1", "all-2", "all-3"]);
    // The loop itself is changed by the name with the holes.
    let changed = load(&looped("{kind}-{i}"), &["policy.{kind}-{i}.rate=7 Mbit/s"]).unwrap_or_else(|problem| panic!("{problem}"));
    assert!(changed.network.links.iter().all(|link| link.port.rate.bits_per_second() == 7_000_000));
    let twice = load(&looped("{kind}"), &[]).unwrap_err();
    assert!(twice.contains("another policy is named `drr` already") && twice.contains("test:3:"), "{twice}");
}
