//! A policy of two directions is the two policies that a user could have written.

use proptest::prelude::*;
use tidegate_core::classifier::{Header, Network, Transport};
use tidegate_scenario::summary::{Detail, summary};
use tidegate_scenario::{Policy, Scenario, parse_str};

const BOTH: &str = r#"
    [policy.home]
    overhead = "ethernet"
    scheduler = "wf2q+"
    buffer = { manager = "longest-queue-push-out", limit = "300 kB" }
    down = { rate = "95 Mbit/s", buffer = { limit = "1 MB" } }

    [[policy.home.class]]
    name = "names"
    match = [{ protocol = "udp", destination_port = 53, source = "10.0.0.0/8" }, { destination = "2001:db8::/32", source_port = "1-9" }]
    rate = "500 kbit/s"
    [[policy.home.class]]
    name = "rest"

    [policy.home.up]
    rate = "19 Mbit/s"
    [[policy.home.up.class]]
    name = "names"
    rate = "1 Mbit/s"
    [[policy.home.up.class]]
    name = "backup"
    match = [{ destination = "192.0.2.1" }]
"#;

const WRITTEN: &str = r#"
    [policy.down]
    rate = "95 Mbit/s"
    overhead = "ethernet"
    scheduler = "wf2q+"
    buffer = { manager = "longest-queue-push-out", limit = "1 MB" }
    class = [
        { name = "names", rate = "500 kbit/s", match = [
            { protocol = "udp", source_port = 53, destination = "10.0.0.0/8" }, { source = "2001:db8::/32", destination_port = "1-9" }
        ] },
        { name = "rest" },
    ]
    [policy.up]
    rate = "19 Mbit/s"
    overhead = "ethernet"
    scheduler = "wf2q+"
    buffer = { manager = "longest-queue-push-out", limit = "300 kB" }
    class = [
        { name = "names", rate = "1 Mbit/s", match = [
            { protocol = "udp", destination_port = 53, source = "10.0.0.0/8" }, { destination = "2001:db8::/32", source_port = "1-9" }
        ] },
        { name = "backup", match = [{ destination = "192.0.2.1" }] },
        { name = "rest" },
    ]
"#;

fn load(text: &str) -> Scenario {
    parse_str("home.toml", text).unwrap_or_else(|problems| panic!("{problems}"))
}

fn ports(scenario: &Scenario) -> Vec<String> {
    scenario.variants[0].policies.iter().map(|policy| format!("{:?}", policy.setup())).collect()
}

#[test]
fn each_direction_is_the_policy_written_out() {
    let both = load(BOTH);
    assert_eq!(ports(&both), ports(&load(WRITTEN)), "the ports are equal to the last field");
    let names: Vec<&str> = both.variants[0].policies.iter().map(|policy| policy.name.as_str()).collect();
    assert_eq!(names, ["home.down", "home.up"]);
    assert!(summary(&both, Detail::All).contains("policy `home.up`: 19 Mbit/s"));
}

#[test]
fn a_rate_may_stand_for_its_direction() {
    let short = "[policy.home]\ndown = \"95 Mbit/s\"\nup = \"19 Mbit/s\"\n";
    let long = "[policy.home.up]\nrate = \"19 Mbit/s\"\n[policy.home.down]\nrate = \"95 Mbit/s\"\n";
    assert_eq!(ports(&load(short)), ports(&load(long)));
    let equal = "[policy.home]\nrate = \"50 Mbit/s\"\n[policy.home.down]\nlongest_frame = \"9 kB\"\n[policy.home.up]\n";
    let rates: Vec<u64> = load(equal).variants[0].policies.iter().map(|policy| policy.rate.bits_per_second()).collect();
    assert_eq!(rates, [50_000_000; 2], "both have the rate of the whole");
}

#[test]
fn commands_find_both_directions() {
    let one = load(BOTH);
    let named = |[down, up]: [&Policy; 2]| [down.name.clone(), up.name.clone()];
    assert_eq!(one.directions(None).map(named), Some(["home.down".into(), "home.up".into()]));
    assert_eq!(one.directions(Some("home")).map(named), one.directions(None).map(named));
    assert!(one.directions(Some("home.up")).is_none() && one.policy(Some("home.up")).is_ok());
    let problem = one.policy(Some("home")).unwrap_err();
    assert_eq!(problem, "policy `home` of home.toml has two directions; name `home.down` or `home.up`");
    let more = load(&format!("{BOTH}\n[policy.other]\nrate = \"1 Mbit/s\"\n"));
    assert!(more.directions(None).is_none() && more.directions(Some("home")).is_some());
    assert!(load(WRITTEN).directions(None).is_none(), "two policies are not two directions");
}

/// A change of the whole changes both directions, one of a direction that alone.
#[test]
fn changes_reach_the_directions_that_they_are_about() {
    let changed = |what: &str| {
        let scenario = load(&format!("{BOTH}\n[[change]]\nat = \"1 s\"\n{what}\n"));
        let change = &scenario.variants[0].changes[0];
        change.policies.iter().map(|policy| (policy.name.clone(), policy.rate.bits_per_second(), policy.classes.len())).collect::<Vec<_>>()
    };
    assert_eq!(changed(r#"set = { "policy.home.down.rate" = "50 Mbit/s" }"#), [("home.down".into(), 50_000_000, 2)]);
    let class = r#"[[change.add.policy.home.class]]
        name = "call"
        match = [{ dscp = "ef" }]"#;
    assert_eq!(changed(class), [("home.down".into(), 95_000_000, 3), ("home.up".into(), 19_000_000, 4)]);
    assert_eq!(changed(&class.replace("home.", "home.up.")), [("home.up".into(), 19_000_000, 4)]);
    assert_eq!(changed(r#"remove = ["policy.home.up.class.backup"]"#), [("home.up".into(), 19_000_000, 2)]);
}

#[test]
fn links_of_a_simulation_name_a_direction() {
    let file = |down: &str| {
        format!(
            r#"
            simulation = {{ duration = "1 s" }}
            {BOTH}
            [[link]]
            name = "to the home"
            from = "provider"
            to = "home"
            policy = "{down}"
            [[link]]
            name = "from the home"
            from = "home"
            to = "provider"
            policy = "home.up"
            [[flow]]
            name = "call"
            from = "home"
            to = "provider"
            source = {{ kind = "cbr", rate = "100 kbit/s", packet = "250 B" }}
            "#
        )
    };
    let network = load(&file("home.down")).variants[0].simulation.clone().unwrap().network;
    let rates: Vec<u64> = network.links.iter().map(|link| link.port.rate.bits_per_second()).collect();
    assert_eq!(rates, [95_000_000, 19_000_000]);
    let refused = parse_str("home.toml", &file("home")).unwrap_err().to_string();
    assert!(refused.contains("policy `home` has two directions, and a link has one"), "{refused}");
    assert!(refused.contains("write `home.down` or `home.up`"), "{refused}");
}

/// Editors know the two directions, and miss a rate where there is none.
#[test]
fn the_schema_asks_for_a_rate_or_two_directions() {
    let validator = jsonschema::validator_for(tidegate_scenario::schema()).unwrap();
    let is_valid = |text: &str| validator.is_valid(&serde_json::to_value(text.parse::<toml::Table>().unwrap()).unwrap());
    assert!(is_valid(BOTH) && is_valid(WRITTEN) && is_valid("[policy.home]\ndown = \"2 Mbit/s\"\nup = \"1 Mbit/s\"\n"));
    for wrong in ["scheduler = \"drr\"", "down = \"2 Mbit/s\"", "down = 5\nup = \"1 Mbit/s\"", "down = { color = 3 }\nup = \"1 Mbit/s\""] {
        assert!(!is_valid(&format!("[policy.home]\n{wrong}\n")), "{wrong}");
    }
}

/// One end of a packet: an address and a port, of few.
fn end() -> impl Strategy<Value = (u32, u16)> {
    (0u32..4, 0u16..3).prop_map(|(host, port)| (0x0a00_0000 | host, 50 + port))
}

fn header((source, source_port): (u32, u16), (destination, destination_port): (u32, u16), dscp: u8) -> Header {
    let transport = Transport { dscp, protocol: 17, ports: Some((source_port, destination_port)), ..Transport::default() };
    let [source_mac, destination_mac] = [source, destination].map(|address| Some([2, 0, 0, 0, 0, address as u8]));
    let network = Network::V4 { source, destination, transport };
    Header { source_mac, destination_mac, ethernet_type: 0x0800, network, ..Header::default() }
}

/// A rule of conditions, with an exception at times.
fn rule() -> impl Strategy<Value = String> {
    (conditions(), proptest::option::of(conditions())).prop_map(|(conditions, exception)| match exception {
        None => format!("{{ {conditions} }}"),
        Some(exception) => format!("{{ {conditions}, not = [{{ {exception} }}] }}"),
    })
}

/// Conditions that hold for some packets: any of source, destination, ports and code point.
fn conditions() -> impl Strategy<Value = String> {
    let prefix = (0u32..4, 30u8..=32).prop_map(|(host, length)| format!("\"10.0.0.{}/{length}\"", host & (0xff << (32 - length))));
    let port = (50u16..53, 0u16..2).prop_map(|(first, more)| format!("\"{first}-{}\"", first + more));
    let condition = prop_oneof![
        prefix.clone().prop_map(|prefix| ("source", prefix)),
        prefix.prop_map(|prefix| ("destination", prefix)),
        port.clone().prop_map(|ports| ("source_port", ports)),
        port.prop_map(|ports| ("destination_port", ports)),
        (0u32..4).prop_map(|host| ("source_mac", format!("\"02:00:00:00:00:0{host}\""))),
        (0u32..4).prop_map(|host| ("destination_mac", format!("\"02:00:00:00:00:0{host}\""))),
        (0u8..2).prop_map(|code| ("dscp", code.to_string())),
    ];
    proptest::collection::btree_map("[a-e]", condition, 1..4).prop_map(|conditions| {
        let by_key: std::collections::BTreeMap<_, _> = conditions.into_values().collect();
        let written: Vec<String> = by_key.into_iter().map(|(key, value)| format!("{key} = {value}")).collect();
        written.join(", ")
    })
}

proptest! {
    /// **Law.** An answer comes down in the class in which its question went up.
    #[test]
    fn an_answer_is_in_the_class_of_its_question(
        rules in proptest::collection::vec(rule(), 1..5),
        packets in proptest::collection::vec((end(), end(), 0u8..2), 1..20),
    ) {
        let classes: Vec<String> =
            rules.iter().enumerate().map(|(index, rule)| format!("{{ name = \"c{index}\", match = [{rule}] }}")).collect();
        let text = format!("[policy.home]\ndown = \"2 Mbit/s\"\nup = \"1 Mbit/s\"\nscheduler = \"drr\"\nclass = [{}]\n", classes.join(", "));
        let loaded = parse_str("home.toml", &text);
        // A rule that an earlier one covers is refused, and one of which the exception leaves nothing.
        let is_known = |text: String| text.contains("never") || text.contains("nothing is left");
        prop_assume!(loaded.as_ref().map_err(|problems| assert!(is_known(problems.to_string()), "{problems}")).is_ok());
        let scenario = loaded.unwrap();
        let [down, up] = scenario.directions(None).unwrap().map(|policy| policy.setup().classifier);
        for (home, provider, dscp) in packets {
            let question = up.class_of(up.classify(&header(home, provider, dscp)));
            let answer = down.class_of(down.classify(&header(provider, home, dscp)));
            prop_assert_eq!(question, answer, "{:?} to {:?} in {}", home, provider, text);
        }
    }
}
