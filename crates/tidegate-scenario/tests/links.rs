//! From the text of a link to the losses and rates that it has.

use tidegate_core::port::{RateStep, VaryingRate};
use tidegate_core::units::{Duration, Rate};
use tidegate_link::{Disturbance, GilbertElliott, Link, Loss};
use tidegate_scenario::summary::{Detail, summary};
use tidegate_scenario::{Policy, parse_str};

fn policy(text: &str) -> Policy {
    let scenario = parse_str("policy.toml", text).unwrap_or_else(|problems| panic!("{problems}"));
    scenario.policy(None).unwrap().clone()
}

#[test]
fn the_link_behind_a_port_reaches_the_policy_and_the_summary() {
    let text = "[policy.wan]\nrate = \"20 Mbit/s\"\nlink = { delay = \"15 ms\", loss = \"0.1 %\", seed = 7 }\n";
    let link = policy(text).link;
    assert_eq!((link.delay, link.loss), (Duration::from_milliseconds(15), Loss::new(1_000_000, 7)));
    let described = summary(&parse_str("wan.toml", text).unwrap(), Detail::All);
    assert!(described.contains("delay 15 ms, up to 626 packets (39.018 kB) on the way; random loss of 0.1 %, seed 7"), "{described}");

    let usual = policy("[policy.wan]\nrate = \"20 Mbit/s\"\nlink = { loss = \"2 %\" }\n").link;
    assert_eq!((usual.delay, usual.loss), (Duration::ZERO, Loss::new(20_000_000, 1)));
    assert_eq!(policy("[policy.wan]\nrate = \"20 Mbit/s\"\n").link, Link::default());

    let bursts = "{ good_to_bad = \"0.2 %\", bad_to_good = \"20 %\", loss_in_bad = \"50 %\" }";
    let text = format!("[policy.wan]\nrate = \"20 Mbit/s\"\nlink = {{ gilbert_elliott = {bursts}, seed = 7 }}\n");
    let chances = GilbertElliott { good_to_bad: 2_000_000, bad_to_good: 200_000_000, loss_in_good: 0, loss_in_bad: 500_000_000 };
    assert_eq!(policy(&text).link.loss, Loss::in_bursts(chances, 7));
    let shown = summary(&parse_str("wan.toml", &text).unwrap(), Detail::All);
    let words =
        "losses in bursts (Gilbert-Elliott): 0.495 % in all, good to bad 0.2 %, bad to good 20 %, lost in bad 50 %, in good 0 %, seed 7";
    assert!(shown.contains(words), "{shown}");

    let changed = "policy.wan.link.delay=\"20 ms\"";
    let file = std::env::temp_dir().join(format!("tidegate-link-{}.toml", std::process::id()));
    std::fs::write(&file, text).unwrap();
    let overridden = tidegate_scenario::load(&file, &[changed.to_owned()]);
    std::fs::remove_file(&file).unwrap();
    assert_eq!(overridden.unwrap().policy(None).unwrap().link.delay, Duration::from_milliseconds(20));
}

/// As for the rate: what the policy says holds unless the simulated link says otherwise.
#[test]
fn a_simulated_link_has_delay_and_loss_of_its_policy_unless_it_has_its_own() {
    let text = r#"
        [policy.wan]
        rate = "20 Mbit/s"
        link = { delay = "15 ms", loss = "3 %", reorder = { share = "1 %", by = "5 ms" }, duplicate = "0.1 %", seed = 7 }
        [simulation]
        duration = "1 s"
        [[link]]
        name = "there"
        from = "a"
        to = "b"
        policy = "wan"
        [[link]]
        name = "back"
        from = "b"
        to = "a"
        policy = "wan"
        delay = "4 ms"
        loss = "0 %"
        [[link]]
        name = "bursts"
        from = "b"
        to = "c"
        policy = "wan"
        gilbert_elliott = { good_to_bad = "1 %", bad_to_good = "99 %" }
        duplicate = "2 %"
        [[flow]]
        name = "call"
        path = ["there"]
        source = { kind = "cbr", rate = "64 kbit/s", packet = "200 B" }
    "#;
    let scenario = parse_str("links.toml", text).unwrap_or_else(|problems| panic!("{problems}"));
    let links = &scenario.variants[0].simulation.as_ref().unwrap().network.links;
    assert_eq!(links.iter().map(|link| link.propagation).collect::<Vec<_>>(), [15, 4, 15].map(Duration::from_milliseconds));
    assert_eq!(links.iter().map(|link| link.impairment.loss.map_or(0.0, |loss| loss.probability())).collect::<Vec<_>>(), [0.03, 0.0, 0.01]);
    let disturbance = |twice| Disturbance::new(10_000_000, Duration::from_milliseconds(5), twice, 7);
    assert_eq!(scenario.policy(None).unwrap().link.disturbance, disturbance(1_000_000));
    let disturbances = [1_000_000, 1_000_000, 20_000_000].map(disturbance);
    assert_eq!(links.iter().map(|link| link.impairment.disturbance).collect::<Vec<_>>(), disturbances);
    let described = summary(&scenario, Detail::All);
    assert!(described.contains("; 1 % late by 5 ms, 0.1 % twice, seed 7"), "{described}");
}

/// Steps and traces in time, a policy's own and those of a simulated link; nothing is guaranteed there.
#[test]
fn rates_that_vary_reach_the_link() {
    let text = r#"
        [policy.radio]
        rate = "20 Mbit/s"
        link = { rates = { steps = [{ at = "10 s", rate = "5 Mbit/s" }, { at = "11 s", rate = "0 bit/s" }], repeat = "12 s" } }
        [simulation]
        duration = "1 s"
        [[link]]
        name = "there"
        from = "a"
        to = "b"
        policy = "radio"
        rate = "30 Mbit/s"
        [[link]]
        name = "traced"
        from = "b"
        to = "a"
        policy = "radio"
        rates = { trace = "down.trace", format = "mahimahi" }
        [[flow]]
        name = "call"
        path = ["there"]
        source = { kind = "cbr", rate = "64 kbit/s", packet = "200 B" }
        promise = { delay = "1 s" }
    "#;
    let folder = std::env::temp_dir().join(format!("tidegate-rates-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("radio.toml");
    std::fs::write(&file, text).unwrap();
    std::fs::write(folder.join("down.trace"), "# recorded\n1\n2\n2\n4\n").unwrap();
    let scenario = tidegate_scenario::load(&file, &[]).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(scenario.captures, [folder.join("down.trace")]);
    let shown = |rates: &VaryingRate| {
        let step = |step: &RateStep| {
            format!("{}:{}", step.at.picoseconds() / 1_000_000_000, step.rate.map_or(0, Rate::bits_per_second) / 1_000_000)
        };
        (rates.steps().iter().map(step).collect::<Vec<_>>().join(" "), rates.period().unwrap())
    };
    let policy = scenario.policy(None).unwrap();
    assert_eq!(shown(policy.link.rates.as_ref().unwrap()), ("0:20 10000:5 11000:0".into(), Duration::from_seconds(12)));
    assert_eq!(policy.classes[0].guarantee.rate(), None);
    let links = &scenario.variants[0].simulation.as_ref().unwrap().network.links;
    assert_eq!(shown(links[0].impairment.rates.as_ref().unwrap()), ("0:30 10000:5 11000:0".into(), Duration::from_seconds(12)));
    assert_eq!(shown(links[1].impairment.rates.as_ref().unwrap()), ("0:12 1:24 2:0 3:12".into(), Duration::from_milliseconds(4)));
    let described = summary(&scenario, Detail::All);
    assert!(described.contains("rates from outages to 20 Mbit/s in 3 steps, repeated after 12 s"), "{described}");
    assert!(described.contains("the rate of the link varies and has outages"), "{described}");

    std::fs::write(folder.join("down.trace"), "1\ntwo\n").unwrap();
    let problems = tidegate_scenario::load(&file, &[]).unwrap_err().to_string();
    assert!(problems.contains("the trace down.trace: line 2: expected a whole number of milliseconds, not \"two\""), "{problems}");
    std::fs::remove_dir_all(folder).unwrap();
}
