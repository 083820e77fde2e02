//! The walk of an operator with thousands of subscribers, who lists them and starts a bridge. Under traffic a plan changes and a site comes. The operator asks
//! why a host is slow, and takes a mistake back. No packet is lost. The book tells it in docs/tasks/town.md.
//!
//! `TIDEGATE_SUBSCRIBERS=10000` has as many as the book, which is for a release build. `TIDEGATE_PICTURES=1` takes the book's pictures of the page.

use crate::changes_under_load::{Capture, FLOWS, first_gap, send_numbered};
use crate::command::{Live, pings_pass};
use crate::control::{page, refused, said, told};
use crate::pictures::Pictures;
use crate::topology::{Place, Topology, eventually};
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How many without `TIDEGATE_SUBSCRIBERS`.
const USUAL: usize = 300;
const PORT: u16 = 9100;

const POLICY: &str = "[policy.town]\nkind = \"subscribers\"\ndown = \"1 Gbit/s\"\nup = \"200 Mbit/s\"\nsubscribers = \"town.csv\"\n";

/// The list: the house of host 1 with this plan, the other houses, and what else is given.
fn list(up: &str, more: &str) -> String {
    let mut text = format!("id,addresses,down,up\nhouse-1,10.77.0.1,50 Mbit/s,{up}\n");
    let subscribers = std::env::var("TIDEGATE_SUBSCRIBERS").map_or(USUAL, |text| text.parse().expect("TIDEGATE_SUBSCRIBERS is a number"));
    for number in 2..=subscribers {
        let address = format!("10.{}.{}.{}", 128 + number / 65_536, number / 256 % 256, number % 256);
        let _infallible = writeln!(text, "house-{number},{address},100 Mbit/s,20 Mbit/s");
    }
    text + more
}

#[test]
fn an_operator_changes_plans_adds_a_site_asks_and_takes_a_mistake_back() {
    let folder = tempfile::tempdir().unwrap();
    let [socket, policy, houses] = ["control", "town.toml", "town.csv"].map(|name| folder.path().join(name));
    let path = "town.toml".to_owned();
    fs::write(&policy, POLICY).unwrap();
    fs::write(&houses, list("20 Mbit/s", "")).unwrap();
    let topology = Topology::new();
    topology.within(Place::Middle, "ip link set lo up");
    let options = format!("--in tgb --out tgc --json --control {} --metrics 127.0.0.1:{PORT}", socket.display());
    let mut live = Live::start_policy(&topology, &policy, &options);
    live.log_within(Duration::from_secs(200), "carrying packets");
    pings_pass(&topology);

    let stop = Arc::new(AtomicBool::new(false));
    let capture = Capture::start(&topology);
    let senders = FLOWS.map(|(port, rate)| {
        let until = stop.clone();
        topology.inside(Place::Host1, move || send_numbered(port, rate, &until))
    });

    // The page to watch has what the socket tells.
    let (head, _) = page(&topology, PORT, "/", "Host: 127.0.0.1\r\n");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let house = |key: &str| {
        let classes = told(&socket, &["show", "classes", "house-1"]);
        classes["classes"]["directions"][0]["classes"][0][key].clone()
    };
    eventually("the house is seen to send", Duration::from_secs(10), || house("rate_bps").as_f64() > Some(4e6));

    let pictures = Pictures::start(&topology, PORT);

    // A plan changes in the list, and the change is looked at before it is made. The class of what belongs to no subscriber has a part of all plans.
    fs::write(&houses, list("40 Mbit/s", "")).unwrap();
    let would = told(&socket, &["apply", &path, "--dry-run"]);
    assert_eq!(changed(&would, 0), (vec![], vec!["house-1", "others"]), "{would}");
    told(&socket, &["apply", &path]);

    // A site comes.
    let site = "school,10.200.0.0/24,500 Mbit/s,100 Mbit/s\n";
    fs::write(&houses, list("40 Mbit/s", site)).unwrap();
    let applied = told(&socket, &["apply", &path]);
    assert_eq!(changed(&applied, 1), (vec!["school"], vec!["others"]), "{applied}");

    // Why is a host slow?
    let why = said(&socket, &["why", "10.77.0.1", "--protocol", "17", "--port", "6001"]);
    assert!(why.contains("class `house-1`") && why.contains("40 Mbit/s") && why.contains("waiting now"), "{why}");
    assert!(said(&socket, &["why", "10.200.0.9"]).contains("class `school`"));

    // An older list, without the school, is applied by mistake and taken back; one with an error changes nothing.
    fs::write(&houses, list("40 Mbit/s", "")).unwrap();
    let mistaken = told(&socket, &["apply", &path, "--confirm", "1 h"]);
    assert_eq!(mistaken["applied"]["directions"][0]["removed"], serde_json::json!(["school"]), "{mistaken}");
    assert!(said(&socket, &["why", "10.200.0.9"]).contains("class `others`"));
    said(&socket, &["rollback"]);
    assert!(said(&socket, &["why", "10.200.0.9"]).contains("class `school`"));
    fs::write(&houses, list("40 Mbut/s", site)).unwrap();
    let message = refused(&socket, 2, &["apply", &path]);
    assert!(message.contains("town.csv:2") && message.contains("Mbut/s"), "{message}");
    assert!(said(&socket, &["why", "10.77.0.1"]).contains("40 Mbit/s"));

    if let Some(pictures) = pictures {
        pictures.finish();
    }
    stop.store(true, Ordering::Relaxed);
    let sent = senders.map(|sender| sender.join().expect("a sender ends"));
    eventually("the queues are empty", Duration::from_secs(20), || house("queued")["packets"] == 0);
    let left = capture.stop();
    let status = told(&socket, &["status"]);
    let interfaces = [(Place::Host1, "tga"), (Place::Middle, "tgb"), (Place::Middle, "tgc"), (Place::Host2, "tgd")];
    let interfaces = interfaces.map(|(place, name)| topology.within(place, &format!("ip -s link show {name}")));
    for ((port, _), sent) in FLOWS.into_iter().zip(sent) {
        let numbers: Vec<u32> = left.iter().filter(|packet| packet.port == port).map(|packet| packet.number).collect();
        let gap = first_gap(&numbers);
        assert!(
            numbers.iter().copied().eq(0..sent),
            "port {port}: {sent} were sent, {} left, {gap:?}; {status}; {interfaces:#?}",
            numbers.len()
        );
    }
    assert_eq!(house("dropped"), serde_json::json!({}));
    live.signal(libc::SIGTERM);
    let ended = live.wait();
    assert_eq!(ended.code, Some(0), "{}", ended.log);
    let report = ended.report();
    assert_eq!(report["runs"][0]["ports"][0]["drops"], serde_json::json!([]));
    assert_eq!(report["runs"][0]["changes"].as_array().unwrap().len(), 8, "four in each direction");
}

/// The names of classes that came, and of those that changed.
fn changed(applied: &Value, direction: usize) -> (Vec<&str>, Vec<&str>) {
    let names = |key: &str| {
        applied["applied"]["directions"][direction][key].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect()
    };
    (names("added"), names("changed"))
}
