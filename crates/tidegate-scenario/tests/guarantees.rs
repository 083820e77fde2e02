//! Printed guarantees are kept by the port itself, in random small policies.
//!
//! A class that is always backlogged gets at least its guarantee, whatever the others send: long or short packets, steadily or in bursts,
//! within their contracts or not. The test can fail: it detects guarantees that ignore a shape, a marking policer or the link's rate.

use tidegate_core::packet::{Colour, Flow};
use tidegate_core::port::Port;
use tidegate_core::shaper::Bucket;
use tidegate_core::units::{Duration, Time};
use tidegate_scenario::policy::Class;
use tidegate_scenario::{Policy, parse_str};

/// Any numbers, the same every time.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len() as u64) as usize]
    }
}

const SCHEDULERS: [&str; 13] =
    ["strict-priority", "drr", "wf2q+", "scfq", "qfq", "virtual-clock", "rate-controlled", "fifo", "edf", "wrr", "dwcs", "svc", "intserv"];

/// What the scheduler above needs of a member, or may use.
fn parameters(random: &mut Random, scheduler: &str) -> String {
    let rate = |random: &mut Random| format!("rate = \"{} kbit/s\"\n", 200 + random.below(30) * 100);
    match scheduler {
        "strict-priority" => format!("priority = {}\n", random.below(3)),
        "rate-controlled" => {
            let reserved = if random.below(2) == 0 { rate(random) } else { String::new() };
            format!("priority = {}\n{reserved}", random.below(3))
        }
        "drr" | "wrr" => format!("weight = {}\n", 1 + random.below(5)),
        "wf2q+" | "scfq" | "qfq" if random.below(2) == 0 => rate(random),
        "wf2q+" | "scfq" | "qfq" => format!("weight = {}\n", 1 + random.below(5)),
        "virtual-clock" => rate(random),
        "svc" => format!("{}tolerance = \"{} ms\"\n", rate(random), random.below(5)),
        "intserv" if random.below(3) > 0 => {
            let class = random.of(&["guaranteed", "controlled-load"]);
            format!("service_class = \"{class}\"\n{}tolerance = \"{} ms\"\n", rate(random), random.below(5))
        }
        "edf" => format!("delay = \"{} ms\"\n", 2 + random.below(50)),
        "dwcs" if random.below(2) == 0 => format!("service = \"window {} of 8\"\n", 4 + random.below(4)),
        "dwcs" => format!("weight = {}\n", 1 + random.below(3)),
        _ => String::new(),
    }
}

fn shape(random: &mut Random) -> String {
    if random.below(2) == 0 {
        return String::new();
    }
    let burst = random.of(&["", ", burst = \"3 kB\"", ", burst = \"8 kB\"", ", burst = \"60 kB\""]);
    let peak = if random.below(4) == 0 { ", peak_rate = \"8 Mbit/s\"" } else { "" };
    format!("shape = {{ rate = \"{} kbit/s\"{burst}{peak} }}\n", 500 + random.below(60) * 100)
}

fn police(random: &mut Random) -> String {
    if random.below(3) > 0 {
        return String::new();
    }
    let violation = random.of(&["", "", ", violation = \"yellow\""]);
    format!("police = {{ policer = \"gcra\", rate = \"{} kbit/s\", burst = \"6 kB\"{violation} }}\n", 300 + random.below(40) * 100)
}

/// A policy of up to three levels and seven classes.
fn policy_text(random: &mut Random) -> String {
    let root = random.of(&SCHEDULERS);
    let mut text = format!("[policy.p]\nrate = \"10 Mbit/s\"\nscheduler = \"{root}\"\nbuffer = {{ limit = \"4000 packets\" }}\n");
    let mut nodes = vec![(None, root)];
    for group in 0..random.below(4) {
        let (parent, above) = nodes[random.below(nodes.len() as u64) as usize];
        let scheduler = random.of(&SCHEDULERS);
        let (parameters, shape) = (parameters(random, above), shape(random));
        let parent = parent.map_or(String::new(), |parent| format!("parent = \"g{parent}\"\n"));
        text += &format!("[[policy.p.group]]\nname = \"g{group}\"\n{parent}scheduler = \"{scheduler}\"\n{parameters}{shape}");
        nodes.push((Some(group), scheduler));
    }
    let mut class = 0;
    for (node, scheduler) in nodes {
        for _ in 0..1 + random.below(3) {
            let parent = node.map_or(String::new(), |group| format!("parent = \"g{group}\"\n"));
            let rest = parameters(random, scheduler) + &shape(random) + &police(random);
            let queues = if random.below(6) == 0 { "queues = 2\n" } else { "" };
            text += &format!("[[policy.p.class]]\nname = \"c{class}\"\n{parent}match = [{{ dscp = {class} }}]\n{rest}{queues}");
            class += 1;
        }
    }
    let last = parameters(random, root);
    text + &format!("[[policy.p.class]]\nname = \"rest\"\n{last}")
}

fn policy(text: &str) -> Option<Policy> {
    parse_str("policy.toml", text).ok()?.policy(None).ok().cloned()
}

const SECONDS: u64 = 4;

/// How a class sends: the lengths of its packets, and whether it does so all the time.
#[derive(Clone, Copy)]
struct Load {
    shortest: u64,
    longest: u64,
    always: bool,
}

/// Bytes that each class sent, if it was backlogged all the time.
fn sent(policy: &Policy, random: &mut Random) -> Vec<Option<u64>> {
    let setup = policy.setup();
    let classifier = setup.classifier.clone();
    let mut port: Port<()> = Port::new(Time::ZERO, setup);
    let flows = classifier.flows() as u32;
    let class_of = |flow: u32| classifier.class_of(Flow(flow));
    let loads: Vec<Load> = (policy.classes.iter())
        .map(|_| {
            let (shortest, longest) = [(64, 64), (1518, 1518), (64, 1518), (400, 400)][random.below(4) as usize];
            Load { shortest, longest, always: random.below(4) > 0 }
        })
        .collect();
    let mut is_on: Vec<bool> = loads.iter().map(|load| load.always).collect();
    let mut always = vec![true; policy.classes.len()];
    let mut bytes = vec![0; policy.classes.len()];
    // In 200 us the link sends four of the shortest packets.
    for step in 0..SECONDS * 5000 {
        let now = Time::ZERO + Duration::from_microseconds(200 * step);
        port.advance(now, &mut (), |sent| bytes[class_of(sent.packet.flow.0)] += u64::from(sent.packet.length));
        for flow in 0..flows {
            let class = class_of(flow);
            let load = loads[class];
            if !load.always && random.below(100) == 0 {
                is_on[class] = !is_on[class];
            }
            always[class] &= load.always && (step == 0 || port.occupancy().flow_packets(Flow(flow)) > 0);
            for _ in port.occupancy().flow_packets(Flow(flow))..8 {
                if !is_on[class] {
                    break;
                }
                let length = load.shortest + random.below(load.longest - load.shortest + 1);
                port.offer(now, Flow(flow), length as u32, Colour::Green, (), &mut ());
            }
        }
    }
    port.check().unwrap();
    bytes.into_iter().zip(always).map(|(bytes, always)| always.then_some(bytes)).collect()
}

/// What is wrong with `promised`, the policy whose guarantees are believed, when `real` runs; and how many guarantees were put to the test.
fn broken(promised: &Policy, real: &Policy, random: &mut Random) -> (Vec<String>, usize) {
    let mut wrong = Vec::new();
    let mut tested = 0;
    for (class, sent) in promised.classes.iter().zip(sent(real, random)) {
        let (Some(sent), Some(rate)) = (sent, class.guarantee.rate()) else { continue };
        tested += 1;
        // Latencies and bursts: what does not grow with the time that is looked at.
        let least = rate.bits_per_second() / 8.0 * SECONDS as f64 * 0.97 - 70_000.0;
        if (sent as f64) < least {
            wrong.push(format!("class `{}` got {} kbit/s, guaranteed were {rate}", class.name, sent * 8 / SECONDS / 1000));
        }
    }
    (wrong, tested)
}

#[test]
fn no_run_is_below_a_guarantee() {
    let mut random = Random(1);
    let (mut policies, mut tested) = (0, 0);
    while policies < 400 {
        let text = policy_text(&mut random);
        let Some(policy) = policy(&text) else { continue };
        policies += 1;
        let (wrong, count) = broken(&policy, &policy, &mut random);
        assert!(wrong.is_empty(), "{wrong:#?}\n{text}");
        tested += count;
    }
    assert!(tested > 300, "only {tested} guarantees were put to the test");
}

/// The policy with a dual bucket in every other shape.
fn with_dual_buckets(text: &str) -> String {
    let shapes = std::cell::Cell::new(0);
    let line = |line: &str| match line.strip_prefix("shape = ").and_then(|shape| shape.strip_suffix(" }")) {
        Some(shape) if shapes.replace(shapes.get() + 1) % 2 == 0 => format!("shape = {shape}, bucket = \"dual\" }}\n"),
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

#[test]
fn no_run_is_below_a_guarantee_beside_or_behind_a_dual_bucket() {
    let mut random = Random(3);
    let (mut policies, mut tested, mut dual) = (0, 0, 0);
    while policies < 150 {
        let text = with_dual_buckets(&policy_text(&mut random));
        let Some(policy) = policy(&text).filter(|_| text.contains("dual")) else { continue };
        policies += 1;
        let (wrong, count) = broken(&policy, &policy, &mut random);
        assert!(wrong.is_empty(), "{wrong:#?}\n{text}");
        tested += count;
        let is_dual = |class: &&Class| class.shape.is_some_and(|shape| shape.bucket == Bucket::Dual && shape.burst > shape.longest_packet);
        dual += policy.classes.iter().filter(is_dual).filter(|class| class.guarantee.rate().is_some()).count();
    }
    assert!(tested > 90 && dual > 12, "only {tested} guarantees were put to the test, and {dual} were of classes with a dual bucket");
}

/// What a dual bucket keeps of its rate: all if its burst is served at once, less by what each burst waits otherwise.
#[test]
fn the_rate_of_a_dual_bucket_falls_by_the_wait_for_each_burst() {
    let of_a = |scheduler: &str, own: &str, shape: &str, rest: &str| {
        let text = format!(
            "[policy.p]\nrate = \"100 Mbit/s\"\noverhead = \"none\"\nlongest_frame = \"1500 B\"\nscheduler = \"{scheduler}\"\n{}{}",
            class("a", &format!("{own}shape = {{ rate = \"10 Mbit/s\", burst = \"15 kB\", {shape}bucket = \"dual\" }}\n")),
            class("rest", rest),
        );
        printed(&text).into_iter().find(|(name, _)| name == "a").unwrap().1
    };
    // Under wf2q+ with a share of 50 Mbit/s the latency is 240 us and 120 us, a frame takes 120 us longer than alone, and 120 us are forgiven.
    // Bursts of at least 9 frames take 10.8 ms at 10 Mbit/s: 10.8 of 11.16 parts are kept.
    let because = "and not more because its dual bucket is full while it waits for its turn under wf2q+, and each burst may start late";
    assert_eq!(of_a("wf2q+", "", "", ""), format!("9.677 Mbit/s guaranteed, {because}"));
    assert_eq!(of_a("wf2q+", "", "delay_variation_tolerance = \"600 us\", ", ""), "10 Mbit/s guaranteed");
    let rate = "rate = \"10 Mbit/s\"\n";
    let because =
        "because its dual bucket is full while it waits for its turn under virtual-clock, and nothing bounds how late each burst starts";
    assert_eq!(of_a("virtual-clock", rate, "", rate), format!("none guaranteed, {because}"));
    let because = "because its dual bucket cannot make good what rate-controlled delays in an overload";
    assert_eq!(of_a("fifo", "", "", "shape = { rate = \"20 Mbit/s\" }\n"), format!("none guaranteed, {because}"));
}

/// Leaves out every line that begins like this.
fn without(text: &str, start: &str) -> String {
    text.lines().filter(|line| !line.starts_with(start)).map(|line| format!("{line}\n")).collect()
}

/// Guarantees worked out from a policy that lacks something are not those of the policy.
#[test]
fn guarantees_that_forget_something_are_found_out() {
    type Fault = (&'static str, fn(&str) -> String);
    let faults: [Fault; 3] = [
        ("shapes", |text| without(text, "shape = ")),
        ("that a policer only marks", |text| text.replace(", violation = \"yellow\"", "")),
        ("the rate of the link", |text| text.replace("rate = \"10 Mbit/s\"", "rate = \"20 Mbit/s\"")),
    ];
    for (what, fault) in faults {
        let mut random = Random(2);
        let is_found = (0..4000).any(|_| {
            let text = policy_text(&mut random);
            match (policy(&text), policy(&fault(&text))) {
                (Some(real), Some(promised)) if fault(&text) != text => !broken(&promised, &real, &mut random).0.is_empty(),
                _ => false,
            }
        });
        assert!(is_found, "guarantees that forget {what} are believed");
    }
}

/// The guarantees of a policy by the names of its classes, as they are printed.
fn printed(text: &str) -> Vec<(String, String)> {
    let policy = policy(text).unwrap_or_else(|| panic!("{}", parse_str("policy.toml", text).unwrap_err()));
    let groups = policy.groups.iter().map(|group| (group.name.clone(), group.guarantee.to_string()));
    groups.chain(policy.classes.iter().map(|class| (class.name.clone(), class.guarantee.to_string()))).collect()
}

fn assert_printed(text: &str, expected: &[(&str, &str)]) {
    let printed = printed(text);
    let printed: Vec<(&str, &str)> = printed.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    assert_eq!(printed, expected, "{text}");
}

fn class(name: &str, rest: &str) -> String {
    let rule = if name == "rest" { "" } else { "match = [{ dscp = " };
    let rule = if rule.is_empty() { String::new() } else { format!("{rule}{} }}]\n", name.bytes().map(u32::from).sum::<u32>() % 60) };
    format!("[[policy.p.class]]\nname = \"{name}\"\n{rule}{rest}")
}

/// Voice before video and bulk: what voice is limited to is taken off; if nothing limits it, nothing is guaranteed, and a warning says so.
#[test]
fn what_goes_first_is_taken_off() {
    let text = |police: &str| {
        "[policy.p]\nrate = \"20 Mbit/s\"\nscheduler = \"strict-priority\"\n".to_owned()
            + "[[policy.p.group]]\nname = \"data\"\npriority = 1\nscheduler = \"wf2q+\"\n"
            + &class("voice", &format!("priority = 0\n{police}"))
            + &class("video", "parent = \"data\"\nrate = \"8 Mbit/s\"\n")
            + &class("rest", "parent = \"data\"\n")
    };
    let policed = text("police = { policer = \"gcra\", rate = \"2 Mbit/s\", burst = \"10 kB\" }\n");
    let left = [
        ("data", "18 Mbit/s guaranteed"),
        ("voice", "2 Mbit/s guaranteed"),
        ("video", "8 Mbit/s guaranteed"),
        ("rest", "10 Mbit/s guaranteed"),
    ];
    assert_printed(&policed, &left);
    assert!(parse_str("p.toml", &policed).unwrap().warnings.is_none());
    let none = "none guaranteed, because class `voice` goes first, and";
    for (police, why) in [
        ("", "nothing limits it"),
        (
            "police = { policer = \"gcra\", rate = \"2 Mbit/s\", burst = \"10 kB\", violation = \"yellow\" }\n",
            "its policer marks and discards nothing",
        ),
    ] {
        let above = "none guaranteed, because group `data` above it has none";
        let text = text(police);
        assert_printed(&text, &[("data", &format!("{none} {why}")), ("voice", "20 Mbit/s guaranteed"), ("video", above), ("rest", above)]);
        let warnings = parse_str("p.toml", &text).unwrap().warnings.unwrap().to_string();
        assert!(warnings.contains("warning: class `voice` goes before group `data`, and nothing limits it"), "{warnings}");
    }
}

#[test]
fn shapes_cap_what_is_below_them() {
    let flat = |burst: &str| {
        "[policy.p]\nrate = \"100 Mbit/s\"\nscheduler = \"drr\"\n".to_owned()
            + &class("a", &format!("shape = {{ rate = \"1 Mbit/s\"{burst} }}\n"))
    };
    // What the shaped class leaves is sure to be left.
    assert_printed(&flat(", burst = \"3 kB\""), &[("a", "1 Mbit/s guaranteed"), ("default", "99 Mbit/s guaranteed")]);
    let site = "[policy.p]\nrate = \"1 Gbit/s\"\nscheduler = \"wf2q+\"\n".to_owned()
        + "[[policy.p.group]]\nname = \"site\"\nrate = \"50 Mbit/s\"\nshape = { rate = \"60 Mbit/s\", burst = \"20 kB\" }\nscheduler = \"wf2q+\"\n"
        + &class("a", "parent = \"site\"\n")
        + &class("b", "parent = \"site\"\nweight = 4\n");
    let left = [
        ("site", "50 Mbit/s guaranteed"),
        ("a", "10 Mbit/s guaranteed"),
        ("b", "40 Mbit/s guaranteed"),
        ("default", "950 Mbit/s guaranteed"),
    ];
    assert_printed(&site, &left);
    let capped = site.replace("rate = \"50 Mbit/s\"\n", "weight = 9\n");
    let left = [
        ("site", "60 Mbit/s guaranteed"),
        ("a", "12 Mbit/s guaranteed"),
        ("b", "48 Mbit/s guaranteed"),
        ("default", "940 Mbit/s guaranteed"),
    ];
    assert_printed(&capped, &left);
}

/// Where a burst is too small for a share, the burst that is named suffices, and nothing is claimed before.
#[test]
fn the_burst_that_would_do_does() {
    for (scheduler, share) in [("drr", "1 Mbit/s"), ("wf2q+", "1 Mbit/s"), ("scfq", "1 Mbit/s"), ("qfq", "1 Mbit/s")] {
        let text = |burst: &str| {
            format!("[policy.p]\nrate = \"100 Mbit/s\"\nscheduler = \"{scheduler}\"\n")
                + &class("a", &format!("shape = {{ rate = \"{share}\"{burst} }}\n"))
                + &class("b", "")
        };
        let short = printed(&text(""))[0].1.clone();
        let wanted =
            short.split("; ").nth(1).and_then(|rest| rest.strip_suffix(" would do")).unwrap_or_else(|| panic!("{scheduler}: {short}"));
        assert!(short.contains(&format!("its burst of 1518 B is too small to wait for its turn under {scheduler}")), "{short}");
        assert_eq!(printed(&text(&format!(", burst = \"{wanted}\"")))[0].1, format!("{share} guaranteed"), "{scheduler}");
    }
}

/// Two classes of a round of 2 quanta wait 3 quanta, and 4 if the other may come back with a turn saved up: because of its shape, or of one below it.
#[test]
fn suspended_siblings_add_a_quantum_to_the_latency_of_drr() {
    let text = |sibling: &str| {
        "[policy.p]\nrate = \"100 Mbit/s\"\noverhead = \"none\"\nlongest_frame = \"1500 B\"\nscheduler = \"drr\"\n".to_owned()
            + &class("a", "shape = { rate = \"20 Mbit/s\" }\n")
            + sibling
    };
    let of_shape = "shape = { rate = \"30 Mbit/s\" }\n";
    let group = |shape: &str| "[[policy.p.group]]\nname = \"g\"\n".to_owned() + &class("rest", &format!("parent = \"g\"\n{shape}"));
    // 360 us or 480 us at 20 Mbit/s are 900 B or 1200 B; the tolerance of 120 us is 300 B of them.
    for (sibling, would_do) in
        [(class("rest", ""), "2100 B"), (class("rest", of_shape), "2400 B"), (group(""), "2100 B"), (group(of_shape), "2400 B")]
    {
        let text = text(&sibling);
        let short = printed(&text);
        let (_, of_a) = short.iter().find(|(name, _)| name == "a").unwrap();
        assert!(of_a.ends_with(&format!("; {would_do} would do")), "{of_a}\n{text}");
    }
}

#[test]
fn shares_below_a_kilobit_are_not_rounded_up() {
    let text =
        "[policy.p]\nrate = \"1 Gbit/s\"\nscheduler = \"drr\"\n".to_owned() + &class("a", "weight = 4294967295\n") + &class("rest", "");
    assert_printed(
        &text,
        &[
            ("a", "999.9 Mbit/s guaranteed"),
            ("rest", "none guaranteed, because its share is less than 1 bit/s, and nothing limits class `a`"),
        ],
    );
    let scenario = parse_str("p.toml", &text).unwrap();
    let json = tidegate_scenario::bounds::json(&scenario);
    let members = &json["variants"][0]["ports"][0]["nodes"][0]["members"];
    assert_eq!((members[0]["rate_at_least_bps"].as_u64(), members[1]["rate_at_least_bps"].as_u64()), (Some(999_999_999), None));
    let warnings = scenario.warnings.unwrap().to_string();
    assert!(
        warnings.contains("a round of drr below the link takes up to 14.49 h") || warnings.contains("4294967296 of the longest frames"),
        "{warnings}"
    );
}

/// Schedulers that guarantee no rate of their own say so, and guarantee what limited neighbours leave.
#[test]
fn other_schedulers_guarantee_what_limited_neighbours_leave() {
    for (scheduler, own, why) in
        [("fifo", "", "fifo serves in the order of arrival"), ("edf", "delay = \"9 ms\"\n", "edf serves by deadlines, not by rates")]
    {
        let text = |limit: &str| {
            format!("[policy.p]\nrate = \"10 Mbit/s\"\nscheduler = \"{scheduler}\"\n")
                + &class("a", own)
                + &class("rest", &format!("{own}{limit}"))
        };
        let guarantee = |text: &str| printed(text)[0].1.clone();
        assert_eq!(guarantee(&text("")), format!("none guaranteed, because {why}, and nothing limits class `rest`"));
        let limit = "police = { policer = \"gcra\", rate = \"4 Mbit/s\", burst = \"9 kB\" }\n";
        assert_eq!(guarantee(&text(limit)), "6 Mbit/s guaranteed");
    }
}

/// Turns of packets are shares of bytes in the worst case only: own packets are the shortest, those of the others the longest.
#[test]
fn turns_guarantee_what_they_give_to_the_shortest_packets() {
    let text = |scheduler: &str, own: &str| {
        format!("[policy.p]\nrate = \"10 Mbit/s\"\noverhead = \"ethernet\"\nscheduler = \"{scheduler}\"\n{}", class("a", own))
            + &class("rest", "")
    };
    // 3 packets of 84 B and 1 of 1542 B; 1 of each.
    let because = "guaranteed, and not more because wrr shares packets, not bytes: 3 of 4 packets are its own";
    assert_eq!(printed(&text("wrr", "weight = 3\n"))[0].1, format!("1.404 Mbit/s {because}"));
    let because =
        "it takes turns packet by packet with others of its priority, whose packets may be longer, and nothing limits class `rest`";
    let text = text("strict-priority", "priority = 1\n").replace("name = \"rest\"\n", "name = \"rest\"\npriority = 1\n");
    assert_eq!(printed(&text)[0].1, format!("516.6 kbit/s guaranteed, and not more because {because}"));
}

/// Weights of thousands make no long rounds of the class that is added; weights far apart are remarked on.
#[test]
fn rounds_are_as_long_as_weights_are_apart() {
    for scheduler in ["drr", "wrr"] {
        let weights = |a: u32, b: u32| {
            format!("[policy.p]\nrate = \"100 Mbit/s\"\nscheduler = \"{scheduler}\"\n")
                + &class("a", &format!("weight = {a}\n"))
                + &class("b", &format!("weight = {b}\n"))
        };
        let remarks = |text: &str| parse_str("p.toml", text).unwrap().warnings.map(|warnings| warnings.to_string());
        assert_eq!(remarks(&weights(20_000, 10_000)), None);
        assert_eq!(policy(&weights(20_000, 10_000)).unwrap().classes[2].parameters.weight, Some(10_000));
        assert_eq!(policy(&weights(2, 1)).unwrap().classes[2].parameters.weight.unwrap_or(1), 1);
        let warning = remarks(&weights(20_000, 1)).unwrap();
        let round = format!("warning: a round of {scheduler} below the link takes up to 2.43 s: 20002 of the longest frames");
        assert!(warning.contains(&round) && warning.contains("--> p.toml:11:10"), "{warning}");
    }
}

/// With the weights of thousands a class waits no longer than with small ones of the same ratio.
#[test]
fn wrr_takes_turns_by_the_ratio_of_its_weights() {
    let order = |a: u32, b: u32| {
        let text = "[policy.p]\nrate = \"10 Mbit/s\"\nscheduler = \"wrr\"\n".to_owned()
            + &class("a", &format!("weight = {a}\n"))
            + &class("rest", &format!("weight = {b}\n"));
        let mut port: Port<()> = Port::new(Time::ZERO, policy(&text).unwrap().setup());
        (0..40).for_each(|packet| port.offer(Time::ZERO, Flow(packet % 2), 1000, Colour::Green, (), &mut ()));
        let mut order = Vec::new();
        port.advance(Time::ZERO + Duration::from_seconds(1), &mut (), |sent| order.push(sent.packet.flow.0));
        order
    };
    assert_eq!(order(20_000, 10_000), order(2, 1));
}

/// A peak rate is blamed for what it costs, and the tolerance that is named suffices.
#[test]
fn the_tolerance_that_a_peak_rate_needs_does() {
    let text = |tolerance: &str| {
        "[policy.p]\nrate = \"10 Mbit/s\"\nlongest_frame = \"1500 B\"\nscheduler = \"drr\"\n".to_owned()
            + &class("a", &format!("shape = {{ rate = \"5 Mbit/s\", peak_rate = \"9 Mbit/s\", burst = \"15 kB\"{tolerance} }}\n"))
    };
    let short = printed(&text(""))[0].1.clone();
    assert!(short.contains("none guaranteed, because its peak rate makes up for no wait"), "{short}");
    let wanted = short.split("a delay_variation_tolerance of ").nth(1).and_then(|rest| rest.strip_suffix(" would")).expect("a remedy");
    assert_eq!(printed(&text(&format!(", delay_variation_tolerance = \"{wanted}\"")))[0].1, "5 Mbit/s guaranteed");
}

/// A buffer that one class may fill puts a condition on every guaranteed rate.
#[test]
fn a_buffer_that_one_class_may_fill_is_told() {
    let told = |buffer: &str, classes: &str| {
        let text = format!("[policy.p]\nrate = \"10 Mbit/s\"\nscheduler = \"drr\"\n{buffer}{classes}");
        tidegate_scenario::bounds::text(&parse_str("p.toml", &text).unwrap()).contains("guarantees hold for queued packets")
    };
    let two = class("a", "") + &class("b", "");
    let limited = class("a", "limit = \"40 packets\"\n") + "[[policy.p.class]]\nname = \"rest\"\nlimit = \"60 packets\"\n";
    assert!(told("", &two));
    assert!(told("buffer = { manager = \"early-packet-discard\", limit = \"100 packets\" }\n", &two));
    assert!(told("buffer = { limit = \"99 packets\" }\n", &limited));
    assert!(!told("buffer = { limit = \"100 packets\" }\n", &limited));
    assert!(!told("buffer = { manager = \"longest-queue-push-out\" }\n", &two));
    // With short frames the packets run out before the bytes, whatever the manager.
    for manager in ["dynamic-threshold", "selective-drop", "fair-buffer-allocation", "weighted-buffer-allocation"] {
        assert!(told(&format!("buffer = {{ manager = \"{manager}\", limit = \"300 kB\" }}\n"), &two), "{manager}");
    }
    assert!(told("buffer = { limit = \"100 kB\" }\n", &limited.replace("packets", "kB")));
    assert!(!told("", ""));
    // A class in a buffer of its own is out of reach for the others.
    let own = "buffer = { limit = \"10 packets\" }\n";
    assert!(!told("", &(class("a", own) + &class("b", own) + "[[policy.p.class]]\nname = \"rest\"\n")));
    assert!(told("", &(class("x", own) + &two)));
    let grouped = |name: &str| class(name, "parent = \"g\"\n");
    let group = |buffer: &str| format!("[[policy.p.group]]\nname = \"g\"\nscheduler = \"drr\"\nbuffer = {{ {buffer} }}\n");
    assert!(told("", &(group("limit = \"10 packets\"") + &grouped("a") + &grouped("b"))));
    assert!(!told("", &(group("manager = \"longest-queue-push-out\"") + &grouped("a") + &grouped("b"))));
}
