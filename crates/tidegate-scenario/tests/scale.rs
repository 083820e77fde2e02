//! More subscribers than 16 bits count: each finds its own class, and none is in another's queue. Nothing here takes time that grows with the square.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Instant;
use tidegate_core::classifier::{Header, Network, Transport};
use tidegate_scenario::explain::{difference, met};
use tidegate_scenario::summary::{Detail, summary};
use tidegate_scenario::{FileSet, Scenario, parse_policies};

const SUBSCRIBERS: u32 = 70_000;

const FILE: &str = r#"
[policy.isp]
kind = "subscribers"
down = "100 Gbit/s"
up = "100 Gbit/s"
overhead = "ethernet"
subscribers = "list.csv"
plan = [
    { name = "small", down = "25 Mbit/s", up = "5 Mbit/s" },
    { name = "medium", down = "50 Mbit/s", up = "10 Mbit/s" },
    { name = "large", down = "100 Mbit/s", up = "20 Mbit/s" },
]
"#;

fn address(number: u32) -> u32 {
    0x0a40_0000 + number
}

fn list(subscribers: u32, changed: impl Fn(u32) -> bool) -> String {
    let mut list = "id,addresses,plan\n".to_owned();
    for number in 0..subscribers {
        let place = if changed(number) { number + 1 } else { number };
        let plan = ["small", "medium", "large"][place as usize % 3];
        let v4 = std::net::Ipv4Addr::from(address(number));
        let _infallible = writeln!(list, "sub-{number},{v4} 2001:db8:{:x}:{:x}::/64,{plan}", number >> 16, number & 0xffff);
    }
    list
}

fn read(list: String) -> Scenario {
    let files = BTreeMap::from([("list.csv".to_owned(), list.into())]);
    parse_policies(&FileSet { name: "isp.toml".to_owned(), text: FILE.into(), files }, &[]).unwrap_or_else(|problems| panic!("{problems}"))
}

/// The peak of the resident memory of this process, in MB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) / 1000
}

#[test]
fn ids_are_wider_than_16_bits() {
    let subscribers = std::env::var("TIDEGATE_SUBSCRIBERS").ok().and_then(|count| count.parse().ok()).unwrap_or(SUBSCRIBERS);
    let started = Instant::now();
    let said = |what: &str| println!("{what}: {:.2} s since the start, peak {} MB", started.elapsed().as_secs_f64(), peak());
    let scenario = read(list(subscribers, |_| false));
    said("read");
    let policies = &scenario.variants[0].policies;
    let header = |source, destination| Header {
        ethernet_type: 0x0800,
        network: Network::V4 { source, destination, transport: Transport::default() },
        ..Header::default()
    };
    for number in [0, 1, subscribers / 2, 65_535 % subscribers, 65_536 % subscribers, subscribers - 1] {
        let name = format!("sub-{number}");
        let [down, up] = [met(&policies[0], &header(1, address(number))), met(&policies[1], &header(address(number), 1))];
        assert_eq!((&policies[0].classes[down.class].name, &policies[1].classes[up.class].name), (&name, &name));
        let rates = [("25", "5"), ("50", "10"), ("100", "20")][number as usize % 3];
        assert!(down.text.contains(&format!("shaped to {} Mbit/s", rates.0)) && up.text.contains(&format!("shaped to {} Mbit/s", rates.1)));
    }
    let setup = policies[0].setup();
    assert_eq!(setup.classifier.classes().len(), subscribers as usize + 1);
    assert!(setup.classifier.flows() > subscribers as usize * 7);
    drop(setup);
    said("looked up");
    let text = summary(&scenario, Detail::First);
    assert!(text.len() < 20_000 && text.contains(&format!("{} in all; --all prints them", subscribers + 1)), "{text}");
    said("described");
    let changed = read(list(subscribers, |number| number % 100 == 7));
    for (before, after) in policies.iter().zip(&changed.variants[0].policies) {
        let found = difference(before, after);
        let expected = (0..subscribers).filter(|number| number % 100 == 7).count();
        // The class `others` has a hundredth of the plans, and changes with them.
        let of_subscribers = found.changed.iter().filter(|name| *name != "others").count();
        assert_eq!((found.added.len(), found.removed.len(), of_subscribers), (0, 0, expected));
    }
    said("compared");
    let followed = changed.variants[0].policies[0].clone().following(&policies[0]);
    assert!(followed.is_ok());
    said("followed");
}
