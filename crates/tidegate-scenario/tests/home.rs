//! The presets of access networks, `home` and `subscribers`, are the policies that a user could have written.

use tidegate_scenario::summary::{Detail, summary};
use tidegate_scenario::{Scenario, parse_str};
use tidegate_sim::{Control, run};

const HOME: &str = r#"
    [policy.home]
    kind = "home"
    down = "95 Mbit/s"
    up = "19 Mbit/s"
    overhead = "ethernet"
"#;

const HOME_WRITTEN: &str = r#"
    [policy.down]
    rate = "95 Mbit/s"
    overhead = "ethernet"
    buffer = { manager = "fattest-flow", limit = "4750 kB" }
    packet_limit = "9277 packets"
    class = [{ name = "all", queues = 1024, queue_scheduler = "sparse-round-robin", aqm = "codel" }]
    [policy.up]
    rate = "19 Mbit/s"
    overhead = "ethernet"
    buffer = { manager = "fattest-flow", limit = "950 kB" }
    packet_limit = "1855 packets"
    class = [{ name = "all", queues = 1024, queue_scheduler = "sparse-round-robin", aqm = "codel" }]
"#;

const TINS: &str = r#"
    [policy.home]
    kind = "home"
    tins = "diffserv4"
    rate = "20 Mbit/s"
    class = [
        { name = "games", match = [{ protocol = "udp", destination_port = 3074 }], weight = 4, aqm = "fq-pie" },
        { name = "bulk", match = [{ dscp = "cs1" }, { destination = "198.51.100.0/24" }] },
    ]
"#;

/// The classes of the file come first, and `bulk` has the rules that the file gives it.
const TINS_WRITTEN: &str = r#"
    [policy.home]
    rate = "20 Mbit/s"
    scheduler = "wf2q+"
    buffer = { manager = "fattest-flow", limit = "1 MB" }
    packet_limit = "1953 packets"
    class = [
        { name = "games", match = [{ protocol = "udp", destination_port = 3074 }], weight = 4, queues = 1024, queue_scheduler = "sparse-round-robin", aqm = "pie" },
        { name = "bulk", match = [{ dscp = "cs1" }, { destination = "198.51.100.0/24" }], weight = 1, aqm = "fq-codel" },
        { name = "voice", weight = 4, aqm = "fq-codel", match = [
            { dscp = "cs7" }, { dscp = "cs6" }, { dscp = "ef" }, { dscp = "voice-admit" }, { dscp = "cs5" }, { dscp = "cs4" }
        ] },
        { name = "video", weight = 8, aqm = "fq-codel", match = [
            { dscp = "af41" }, { dscp = "af42" }, { dscp = "af43" }, { dscp = "af31" }, { dscp = "af32" }, { dscp = "af33" }, { dscp = "cs3" },
            { dscp = "af21" }, { dscp = "af22" }, { dscp = "af23" }, { dscp = "cs2" }
        ] },
        { name = "best-effort", weight = 16, aqm = "fq-codel" },
    ]
"#;

const SUBSCRIBERS: &str = r#"
    [policy.isp]
    kind = "subscribers"
    down = "1 Gbit/s"
    up = "500 Mbit/s"
    subscriber = [
        { name = "anna", addresses = ["192.0.2.1", "2001:db8:1::/48"], down = "100 Mbit/s", up = "20 Mbit/s" },
        { name = "bert", addresses = ["192.0.2.2"], down = "500 Mbit/s", up = "50 Mbit/s" },
    ]
    [[policy.isp.class]]
    name = "bert"
    queues = 64
"#;

const SUBSCRIBERS_WRITTEN: &str = r#"
    [policy.down]
    rate = "1 Gbit/s"
    scheduler = "wf2q+"
    buffer = { manager = "fattest-flow", limit = "50 MB" }
    packet_limit = "97656 packets"
    class = [
        { name = "anna", match = [{ destination = "192.0.2.1" }, { destination = "2001:db8:1::/48" }], weight = 100000, queues = 256, aqm = "fq-codel", limit = "5 MB", shape = { rate = "100 Mbit/s", burst = "6072 B" } },
        { name = "bert", match = [{ destination = "192.0.2.2" }], weight = 500000, queues = 64, aqm = "fq-codel", limit = "25 MB", shape = { rate = "500 Mbit/s", burst = "6072 B" } },
        { name = "others", weight = 6000, aqm = "fq-codel" },
    ]
    [policy.up]
    rate = "500 Mbit/s"
    scheduler = "wf2q+"
    buffer = { manager = "fattest-flow", limit = "25 MB" }
    packet_limit = "48828 packets"
    class = [
        { name = "anna", match = [{ source = "192.0.2.1" }, { source = "2001:db8:1::/48" }], weight = 20000, queues = 256, aqm = "fq-codel", limit = "1 MB", shape = { rate = "20 Mbit/s", burst = "6072 B" } },
        { name = "bert", match = [{ source = "192.0.2.2" }], weight = 50000, queues = 64, aqm = "fq-codel", limit = "2500 kB", shape = { rate = "50 Mbit/s", burst = "6072 B" } },
        { name = "others", weight = 700, aqm = "fq-codel" },
    ]
"#;

const SUBSCRIBERS_WITH_TINS: &str = r#"
    [policy.isp]
    kind = "subscribers"
    tins = "diffserv3"
    down = "1 Gbit/s"
    up = "1 Gbit/s"
    subscriber = [{ name = "anna", addresses = ["192.0.2.1", "192.0.2.8"], down = "100 Mbit/s", up = "20 Mbit/s" }]
"#;

const ANNA: &str = r#"
    [policy.NAME]
    rate = "1 Gbit/s"
    scheduler = "wf2q+"
    buffer = { manager = "fattest-flow", limit = "50 MB" }
    packet_limit = "97656 packets"
    group = [{ name = "anna", scheduler = "wf2q+", weight = WEIGHT, shape = { rate = "PLAN", burst = "6072 B" } }]
    class = [
        { name = "anna voice", parent = "anna", weight = 4, queues = 64, limit = "SIZE", aqm = "fq-codel", match = [
            { dscp = "cs7", END = "192.0.2.1" }, { dscp = "cs6", END = "192.0.2.1" }, { dscp = "ef", END = "192.0.2.1" }, { dscp = 44, END = "192.0.2.1" },
            { dscp = "cs7", END = "192.0.2.8" }, { dscp = "cs6", END = "192.0.2.8" }, { dscp = "ef", END = "192.0.2.8" }, { dscp = 44, END = "192.0.2.8" }
        ] },
        { name = "anna bulk", parent = "anna", weight = 1, queues = 64, limit = "SIZE", aqm = "fq-codel", match = [
            { dscp = "cs1", END = "192.0.2.1" }, { dscp = "le", END = "192.0.2.1" }, { dscp = "cs1", END = "192.0.2.8" }, { dscp = "le", END = "192.0.2.8" }
        ] },
        { name = "anna best-effort", parent = "anna", weight = 16, queues = 64, limit = "SIZE", aqm = "fq-codel", match = [
            { END = "192.0.2.1" }, { END = "192.0.2.8" }
        ] },
        { name = "others", weight = OTHERS, aqm = "fq-codel" },
    ]
"#;

fn load(text: &str) -> Scenario {
    let scenario = parse_str("home.toml", text).unwrap_or_else(|problems| panic!("{problems}"));
    assert!(scenario.warnings.is_none(), "{:?}", scenario.warnings);
    scenario
}

fn ports(text: &str) -> Vec<String> {
    load(text).variants[0].policies.iter().map(|policy| format!("{:?}", policy.setup())).collect()
}

#[test]
fn the_presets_are_the_policies_written_out() {
    for (preset, written) in [(HOME, HOME_WRITTEN), (TINS, TINS_WRITTEN), (SUBSCRIBERS, SUBSCRIBERS_WRITTEN)] {
        assert!(ports(preset) == ports(written), "{}\n{}", summary(&load(preset), Detail::All), summary(&load(written), Detail::All));
    }
}

/// A subscriber with tins is a group with a class for each of them.
#[test]
fn subscribers_may_have_tins() {
    let written = |name: &str, end: &str, plan: &str, weight: &str, size: &str, others: &str| {
        let values = [("NAME", name), ("END", end), ("PLAN", plan), ("WEIGHT", weight), ("SIZE", size), ("OTHERS", others)];
        values.iter().fold(ANNA.to_owned(), |text, (key, value)| text.replace(key, value))
    };
    let down = written("down", "destination", "100 Mbit/s", "100000", "5 MB", "1000");
    let up = written("up", "source", "20 Mbit/s", "20000", "1 MB", "200");
    assert!(ports(SUBSCRIBERS_WITH_TINS) == ports(&(down + &up)), "{}", summary(&load(SUBSCRIBERS_WITH_TINS), Detail::All));
    let own = format!("{SUBSCRIBERS_WITH_TINS}\n[[policy.isp.group]]\nname = \"anna\"\nscheduler = \"drr\"\n");
    assert!(summary(&load(&own), Detail::All).contains("anna: drr"));
}

/// Drops count as sent in one direction, for classes whose AQM the preset writes.
#[test]
fn a_direction_behind_the_bottleneck_accounts_for_ingress() {
    let ingress = |text: &str| text.replace("down = \"95 Mbit/s\"", "down = { rate = \"95 Mbit/s\", ingress = true }");
    let written = HOME_WRITTEN.replacen("aqm = \"codel\"", "aqm = { kind = \"codel\", ingress = true }", 1);
    assert!(ports(&ingress(HOME)) == ports(&written));
    assert!(summary(&load(&written), Detail::All).contains("kept short by codel for 95 Mbit/s, drops count as sent"));
    let own = format!("{}\n[[policy.home.class]]\nname = \"rest\"\naqm = {{ kind = \"fq-codel\", target = \"10 ms\" }}\n", ingress(HOME));
    assert!(!summary(&load(&own), Detail::All).contains("drops count"));
}

/// What the file says itself stays, in one direction or in both.
#[test]
fn keys_of_the_file_stay() {
    let own = format!("{HOME}\n[[policy.home.class]]\nname = \"rest\"\naqm = {{ kind = \"fq-codel\", target = \"10 ms\" }}\nqueues = 64\n");
    let own = own.replace("up = \"19 Mbit/s\"", "up = { rate = \"19 Mbit/s\", buffer = { limit = \"300 kB\" } }");
    let text = summary(&load(&own), Detail::All);
    assert_eq!(text.matches("rest  ").count(), 2, "the class that takes the rest takes all: {text}");
    assert!(text.contains("64 queues") && !text.contains("1024 queues"), "{text}");
    assert!(text.contains("fattest-flow within 300 kB") && text.contains("fattest-flow within 4750 kB"), "{text}");
    let strict = HOME.replace("kind", "scheduler = \"strict-priority\"\n    class = [{ name = \"all\", priority = 0 }]\n    kind");
    assert!(summary(&load(&strict), Detail::All).contains("link: strict-priority"));
}

/// One mistake in what both directions share is one message.
#[test]
fn keys_without_their_preset_are_refused_once() {
    let refused = |text: &str| parse_str("home.toml", text).map(|_| ()).expect_err("a mistake").to_string();
    let cases = [
        (HOME.replace("kind = \"home\"", "tins = \"diffserv3\""), "`tins` has no effect without kind = \"home\" or kind = \"subscribers\""),
        (HOME.replace("kind = \"home\"", "ingress = true"), "`ingress` has no effect without kind = \"home\" or kind = \"subscribers\""),
        (
            HOME.replace("kind = ", "class = [{ name = \"rest\", aqm = { kind = \"pie\", ingress = true } }]\n    kind = "),
            "`ingress` is not used by pie",
        ),
        (SUBSCRIBERS.replace("kind = \"subscribers\"", ""), "`subscriber` has no effect without kind = \"subscribers\""),
        (HOME.replace("home\"", "subscribers\""), "has no subscriber"),
        ("[policy.a]\nkind = \"subscribers\"\nrate = \"1 Mbit/s\"\n".into(), "policy `a` has one direction, and subscribers have two"),
        (
            SUBSCRIBERS.replace("\"bert\", addresses = [\"192.0.2.2\"]", "\"anna\", addresses = [\"192.0.2.3\"]"),
            "another subscriber is named `anna` already",
        ),
        (SUBSCRIBERS.replace("192.0.2.2", "192.0.2.1"), "class `bert` can never be served"),
        (SUBSCRIBERS.replace("[\"192.0.2.2\"]", "[]"), "its `match` is empty"),
    ];
    for (text, problem) in cases {
        let found = refused(&text);
        assert!(found.contains(problem), "{found}");
        assert_eq!(found.matches("error:").count(), 1, "{found}");
    }
}

/// Changes speak of what the file says: tins come, a rate stands for its direction, and a subscriber gets another plan.
#[test]
fn presets_change_while_they_run() {
    let changed = |preset: &str, set: &str| {
        let scenario = load(&format!("{preset}\n[[change]]\nat = \"1 s\"\nset = {{ {set} }}\n"));
        let policies = &scenario.variants[0].changes[0].policies;
        policies.iter().map(|policy| (policy.name.clone(), policy.rate.bits_per_second(), policy.classes.len())).collect::<Vec<_>>()
    };
    let (down, up) = ("home.down".to_owned(), "home.up".to_owned());
    assert_eq!(changed(HOME, r#""policy.home.tins" = "diffserv3""#), [(down, 95_000_000, 3), (up.clone(), 19_000_000, 3)]);
    assert_eq!(changed(HOME, r#""policy.home.up" = "9 Mbit/s""#), [(up, 9_000_000, 1)]);
    assert_eq!(changed(SUBSCRIBERS, r#""policy.isp.subscriber.anna.down" = "50 Mbit/s""#).len(), 2);
}

/// The line of 20 Mbit/s is before the home: with many connections it carries what the home drops, too, and its queue grows unless drops count as sent.
#[test]
fn with_ingress_accounting_the_line_before_the_home_has_no_queue() {
    let waits = |down: &str, count: usize| {
        let scenario = load(&format!(
            r#"
            simulation = {{ duration = "20 s", warm_up = "5 s" }}
            link = [
                {{ name = "line", from = "internet", to = "modem", policy = "line", delay = "5 ms" }},
                {{ name = "down", from = "modem", to = "home", policy = "home.down" }},
                {{ name = "up", from = "home", to = "internet", policy = "home.up", delay = "5 ms" }},
            ]
            flow = [
                {{ name = "download", count = {count}, path = ["line", "down"], source = {{ kind = "tcp", congestion = "cubic" }} }},
                {{ name = "call", path = ["line", "down"], source = {{ kind = "cbr", rate = "100 kbit/s", packet = "250 B" }} }},
            ]
            [policy.line]
            rate = "20 Mbit/s"
            buffer = {{ limit = "500 kB" }}
            [policy.home]
            kind = "home"
            down = {{ rate = "19 Mbit/s"{down} }}
            up = "19 Mbit/s"
            "#
        ));
        let simulation = scenario.variants[0].simulation.as_ref().unwrap();
        let outcome = run(&simulation.network, &simulation.experiment, &Control::default()).unwrap();
        let rate = (0..count).map(|index| outcome.flows[index].throughput_bps.mean / 1e6).sum::<f64>();
        (outcome.flows[count].delay.as_ref().and_then(|delay| delay.histogram.quantile(0.5)).unwrap(), rate)
    };
    let ((egress, all), (ingress, less)) = (waits("", 32), waits(", ingress = true", 32));
    assert!(ingress < 0.015 && egress > 2.5 * ingress, "the call takes {ingress} and {egress} s in the median");
    assert!(less > 0.85 * all, "{less} of {all} Mbit/s");
    let (_, least) = waits(", ingress = true", 100);
    assert!(least > 0.66 * all, "{least} of {all} Mbit/s: drops have at most a third");
}

/// Two subscribers have bought more than the link carries: they share it by their plans, however many flows each has, and the call of one hardly waits.
#[test]
fn subscribers_share_the_link_by_their_plans() {
    let scenario = load(
        r#"
        simulation = { duration = "20 s", warm_up = "5 s" }
        link = [
            { name = "down", from = "internet", to = "homes", policy = "isp.down", delay = "10 ms" },
            { name = "up", from = "homes", to = "internet", policy = "isp.up", delay = "10 ms" },
        ]
        flow = [
            { name = "anna", count = 8, path = ["down"], source = { kind = "tcp", congestion = "cubic" }, header = { destination = "10.1.0.1" } },
            { name = "bert", path = ["down"], source = { kind = "tcp", congestion = "cubic" }, header = { destination = "10.2.0.1" } },
            { name = "call", path = ["down"], source = { kind = "cbr", rate = "100 kbit/s", packet = "250 B" }, header = { destination = "10.1.0.1" } },
        ]
        [policy.isp]
        kind = "subscribers"
        down = "30 Mbit/s"
        up = "10 Mbit/s"
        subscriber = [
            { name = "anna", addresses = ["10.1.0.0/16"], down = "15 Mbit/s", up = "5 Mbit/s" },
            { name = "bert", addresses = ["10.2.0.0/16"], down = "30 Mbit/s", up = "5 Mbit/s" },
        ]
        "#,
    );
    let simulation = scenario.variants[0].simulation.as_ref().unwrap();
    let outcome = run(&simulation.network, &simulation.experiment, &Control::default()).unwrap();
    let rate = |index: usize| outcome.flows[index].throughput_bps.mean / 1e6;
    let (anna, bert): (f64, f64) = ((0..8).map(rate).sum::<f64>() + rate(9), rate(8));
    assert!((anna / 10.0 - 1.0).abs() < 0.05 && (bert / 20.0 - 1.0).abs() < 0.05, "anna {anna}, bert {bert} Mbit/s");
    let call = outcome.flows[9].delay.as_ref().and_then(|delay| delay.histogram.quantile(0.99)).unwrap();
    assert!(call < 0.02, "the call waits {call} s");
}
