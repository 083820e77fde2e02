//! The preset `kind = "intserv"` is the policy that a user could have written.

use tidegate_scenario::parse_str;
use tidegate_scenario::summary::{Detail, summary};

const PRESET: &str = r#"
    [policy.node]
    kind = "intserv"
    rate = "10 Mbit/s"
    class = [
        { name = "voice", match = [{ dscp = "af41" }], service_class = "guaranteed", rate = "1500 kbit/s" },
        { name = "studio", match = [{ source = "10.1.0.0/16" }], service_class = "guaranteed", rate = "1 Mbit/s" },
        { name = "video", match = [{ dscp = "af31", protocol = "udp" }], service_class = "controlled-load", rate = "2 Mbit/s" },
    ]
"#;

/// The same, written out: 1518 B last 8.096 ms at 1.5 Mbit/s, and 1.2144 ms on the link.
const WRITTEN: &str = r#"
    [policy.node]
    rate = "10 Mbit/s"
    scheduler = "intserv"
    buffer = { manager = "dynamic-threshold", limit = "125 kB" }
    [policy.node.partition]
    guaranteed = { manager = "selective-pushout", limit = "62.5 kB" }
    controlled-load = { manager = "selective-pushout-plus", limit = "62.5 kB" }
    [[policy.node.class]]
    name = "voice"
    match = [{ dscp = "af41" }, { dscp = "af42" }, { dscp = "af43" }]
    service_class = "guaranteed"
    rate = "1500 kbit/s"
    tolerance = "9.3104 ms"
    partition = "guaranteed"
    reserve = "37.5 kB"
    set = { dscp = "by-colour" }
    [[policy.node.class]]
    name = "studio"
    match = [{ source = "10.1.0.0/16" }]
    service_class = "guaranteed"
    rate = "1 Mbit/s"
    tolerance = "13.3584 ms"
    partition = "guaranteed"
    reserve = "25 kB"
    set = { dscp = "af41", yellow = { dscp = "af42" }, red = { dscp = "af43" } }
    [[policy.node.class]]
    name = "video"
    match = [{ dscp = "af31", protocol = "udp" }, { dscp = "af32", protocol = "udp" }, { dscp = "af33", protocol = "udp" }]
    service_class = "controlled-load"
    rate = "2 Mbit/s"
    tolerance = "7.2864 ms"
    partition = "controlled-load"
    set = { dscp = "by-colour" }
"#;

/// The description of a file, without the line about the preset.
fn described(text: &str) -> String {
    let scenario = parse_str("node.toml", text).unwrap_or_else(|problems| panic!("{problems}"));
    assert!(scenario.warnings.is_none(), "{:?}", scenario.warnings);
    summary(&scenario, Detail::All).lines().filter(|line| !line.contains("preset:")).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_preset_is_the_policy_written_out() {
    assert_eq!(described(PRESET), described(WRITTEN));
    let port = |text: &str| format!("{:?}", parse_str("node.toml", text).unwrap().policy(None).unwrap().setup());
    assert_eq!(port(PRESET), port(WRITTEN), "the ports are equal to the last field");
}

#[test]
fn the_published_reading_has_neither_tolerance_nor_reserve() {
    let paper = described(&PRESET.replace("kind = \"intserv\"", "kind = \"intserv\"\nreading = \"paper\""));
    let lines = WRITTEN.lines().filter(|line| !line.trim().starts_with("tolerance") && !line.trim().starts_with("reserve"));
    assert_eq!(paper, described(&lines.collect::<Vec<_>>().join("\n")));
}

/// What the file says itself stays.
#[test]
fn keys_of_the_file_stay() {
    let own = r#"
        [policy.node]
        kind = "intserv"
        rate = "10 Mbit/s"
        utilisation = "100 %"
        partition = { guaranteed = { limit = "40 kB" }, other = { limit = "9 packets" } }
        buffer = { manager = "tail-drop", limit = "30 kB" }
        intserv = { out_of_profile_weight = 4 }
        class = [
            { name = "a", match = [{ dscp = 46 }], service_class = "guaranteed", rate = "5 Mbit/s", tolerance = "2 ms", reserve = "30 kB", set = { dscp = "af41" } },
            { name = "b", match = [{ dscp = "af41" }, { dscp = "af42" }], service_class = "guaranteed", rate = "5 Mbit/s" },
            { name = "c", match = [{ dscp = 1 }], partition = "other" },
        ]
    "#;
    let text = described(own);
    let class = |name: &str| text.lines().find(|line| line.contains(&format!("─ {name}"))).unwrap().to_owned();
    assert!(text.contains("tail-drop within 30 kB") && text.contains("partition `guaranteed`: selective-pushout within 40 kB"), "{text}");
    assert!(class("a").contains("tolerance 2 ms") && class("a").contains("30 kB of it reserved; leaves with dscp af41"), "{text}");
    assert!(class("b").contains("3 rules") && class("b").contains("; 10 kB of it reserved; leaves with AFx1"), "{text}");
    assert!(class("c").contains("in partition `other`"), "{text}");
}

/// Calls ask for admission at every such node, and get what the reading says.
#[test]
fn places_bring_admission() {
    let file = |reading: &str| {
        format!(
            r#"
            simulation = {{ duration = "10 s" }}
            [policy.node]
            kind = "intserv"
            rate = "2 Mbit/s"
            reading = "{reading}"
            utilisation = "50 %"
            class = [{{ name = "calls", match = [{{ dscp = "af41" }}], service_class = "guaranteed", places = 4 }}, {{ name = "rest" }}]
            [[link]]
            name = "l"
            from = "a"
            to = "b"
            policy = "node"
            [[flow]]
            name = "call"
            from = "a"
            to = "b"
            header = {{ dscp = "af41" }}
            source = {{ kind = "cbr", rate = "150 kbit/s", packet = "1000 B" }}
            calls = {{ service = "guaranteed", places = 4, interval = "2 s", hold = "9 s", rate = "200 kbit/s" }}
            "#
        )
    };
    let network = |reading: &str| {
        let scenario = parse_str("node.toml", &file(reading)).unwrap_or_else(|problems| panic!("{problems}"));
        scenario.variants[0].simulation.clone().unwrap().network
    };
    let (repaired, paper) = (network("repaired"), network("paper"));
    assert_eq!(repaired.links[0].admission.map(|settings| settings.utilisation), Some(500_000));
    assert!(repaired.calls[0].enforces_reserve && repaired.calls[0].tolerance.is_none());
    assert!(!paper.calls[0].enforces_reserve && paper.calls[0].tolerance.is_some_and(|tolerance| tolerance.picoseconds() == 0));
}

/// Changes in the keys of the preset: a class that comes brings its partition and its code points.
#[test]
fn a_class_comes_and_goes_at_the_last_link_of_a_path() {
    let file = r#"
        simulation = { duration = "3 s" }
        [policy.node]
        kind = "intserv"
        rate = "2 Mbit/s"
        class = [{ name = "rest" }]
        [[change]]
        at = "1 s"
        add = { policy = { node = { class = [
            { name = "voice", match = [{ destination_port = 5000 }], service_class = "guaranteed", rate = "1 Mbit/s" },
        ] } } }
        [[change]]
        at = "2 s"
        remove = ["policy.node.class.voice"]
        [[link]]
        name = "l"
        from = "a"
        to = "b"
        policy = "node"
        [[flow]]
        name = "voice"
        from = "a"
        to = "b"
        source = { kind = "cbr", rate = "150 kbit/s", packet = "1000 B" }
    "#;
    let scenario = parse_str("node.toml", file).unwrap_or_else(|problems| panic!("{problems}"));
    let [first, second] = &scenario.variants[0].changes[..] else { panic!("two changes") };
    assert_eq!(first.policies[0].partitions.len(), 1);
    assert!(second.policies[0].partitions.is_empty());
    // Behind a second link packets would be told apart by code points that those under way do not have.
    let longer = file.replace("[[flow]]", "[[link]]\nname = \"m\"\nfrom = \"b\"\nto = \"c\"\npolicy = \"node\"\n[[flow]]");
    let refused = parse_str("node.toml", &longer.replace("to = \"b\"\n        source", "to = \"c\"\n        source")).unwrap_err();
    assert!(refused.to_string().contains("paths behind it would part"), "{refused}");
}

#[test]
fn a_node_without_best_effort_has_no_shared_buffer() {
    let rest = r#"
        [policy.node]
        kind = "intserv"
        rate = "10 Mbit/s"
        class = [{ name = "all", service_class = "guaranteed", rate = "1 Mbit/s" }]
    "#;
    assert!(described(rest).contains("in partition `guaranteed`"));
}

#[test]
fn contradictory_keys_of_a_class_are_named() {
    let cases = [
        (r#"places = 4, rate = "1 Mbit/s""#, "`rate` has no effect: each call in the places of `voice` has a rate of its own"),
        (r#"rate = "1 Mbit/s", reserve = "1 MB""#, "the reserve of 1 MB is more than the buffer, 62.5 kB"),
    ];
    for (keys, problem) in cases {
        let voice = format!(r#"{{ name = "voice", match = [{{ dscp = "af41" }}], service_class = "guaranteed", {keys} }}"#);
        let text = format!("[policy.node]\nkind = \"intserv\"\nrate = \"10 Mbit/s\"\nclass = [{voice}]\n");
        let found = parse_str("node.toml", &text).expect_err("the keys contradict each other").to_string();
        assert!(found.contains(problem), "{found}");
        assert_eq!(found.matches("error:").count(), 1, "{found}");
    }
}

#[test]
fn a_reserve_for_each_class_keeps_floods_of_controlled_load_out() {
    let node = |reserve: &str| {
        let class = |name: &str, code: &str| {
            format!(
                r#"{{ name = "{name}", match = [{{ dscp = "{code}" }}], service_class = "controlled-load", rate = "1 Mbit/s"{reserve} }}"#
            )
        };
        let (first, second) = (class("first", "af31"), class("second", "af21"));
        described(&format!("[policy.node]\nkind = \"intserv\"\nrate = \"10 Mbit/s\"\nclass = [{first}, {second}]\n"))
    };
    assert!(node("").contains("selective-pushout-plus does not prevent it; a `reserve` for each of its classes does, if they fit"));
    assert!(!node(r#", reserve = "30 kB""#).contains("does not prevent it"));
}
