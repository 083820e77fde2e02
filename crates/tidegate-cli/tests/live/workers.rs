//! Several workers per direction, as a user runs them.

use crate::command::{Live, notes, pings_pass};
use crate::control::{refused, told};
use crate::stream::{Stream, lost_and_twice};
use crate::topology::Topology;
use std::fs;
use std::thread;
use std::time::Duration;

const POLICY: &str = r#"
[policy.access]
rate = "200 Mbit/s"
scheduler = "drr"
workers = 2
group = [{ name = "customers", scheduler = "drr", weight = 9, shape = { rate = "180 Mbit/s", burst = "100 kB" } }]
class = [
    { name = "pings", match = [{ protocol = "icmp" }, { protocol = "icmpv6" }] },
    { name = "video", parent = "customers", match = [{ destination_port = "6000-6099" }], weight = 2 },
    { name = "rest", parent = "customers" },
]
"#;

#[test]
fn two_workers_carry_show_their_sum_change_and_report() {
    let folder = tempfile::tempdir().unwrap();
    let [socket, policy] = ["control", "access.toml"].map(|name| folder.path().join(name));
    fs::write(&policy, POLICY).unwrap();
    let topology = Topology::new();
    let options = format!("--in tgb --out tgc --json --control {}", socket.display());
    let live = Live::start_policy(&topology, &policy, &options);
    pings_pass(&topology);
    let stream = Stream::start(&topology, 6001, 8, (1, Duration::from_millis(1)));
    thread::sleep(Duration::from_millis(700));
    let (sent, received) = stream.end();
    let (lost, twice) = lost_and_twice(sent, &received);
    assert!(lost.is_empty() && twice.is_empty(), "{lost:?} {twice:?}");

    let status = told(&socket, &["status"]);
    let there = &status["status"]["directions"][0];
    let packets = |key: &str| there[key]["packets"].as_u64().unwrap();
    assert!(
        packets("received") >= sent as u64 && packets("received") == packets("delivered") + packets("queued") + packets("in_flight"),
        "{status}"
    );
    let shown = told(&socket, &["show", "classes"]);
    let classes = shown["classes"]["directions"][0]["classes"].as_array().unwrap();
    let video = classes.iter().find(|class| class["name"] == "video").unwrap();
    assert!(video["sent"]["packets"].as_u64() >= Some(sent as u64), "{shown}");
    let values = [
        "policy.access.rate=\"190 Mbit/s\"",
        "policy.access.group.customers.shape.rate=\"100 Mbit/s\"",
        "policy.access.class.video.weight=5",
    ];
    let changed = told(&socket, &[&["set"], &values[..]].concat());
    assert_eq!(changed["applied"]["directions"][1]["changed"].as_array().map(Vec::len), Some(1), "{changed}");
    assert_eq!(told(&socket, &["status"])["status"]["directions"][0]["rate_bps"], 190_000_000);
    for (values, why) in [
        (["policy.access.workers=3"], "`workers` and `exchange_every` cannot change while the port runs"),
        (["policy.access.group.customers.scheduler=wrr"], "group `customers` is on all workers, which needs a scheduler"),
    ] {
        let message = refused(&socket, 3, &[&["set"], &values[..]].concat());
        assert!(message.contains(why), "{message}");
    }
    pings_pass(&topology);

    // Another process does not go on from there: the queues are emptied first.
    let mut next = Live::start_policy(&topology, &policy, &format!("{options} --take-over"));
    next.log_until("empties its queues first and ends, because it has several workers");
    next.log_until("carrying packets through");
    let ended = live.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = ended.report();
    assert!(notes(&report).contains("came to another worker than that of their class, and were passed on"), "{report}");
    pings_pass(&topology);
    next.signal(libc::SIGTERM);
    let ended = next.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.report()["world"], "live");
}

#[test]
fn a_guarded_bridge_of_two_workers_is_a_cable_while_it_is_away_and_comes_back() {
    let topology = Topology::new();
    let mut live = Live::start(&topology, "--in tgb --out tgc --fail-open --set policy.uplink.workers=2");
    live.log_until("carrying packets through");
    pings_pass(&topology);
    let bridge = crate::fail_open::bridge_of(&live).expect("a bridge");
    let stream = Stream::start(&topology, 6100, 4, (1, Duration::from_millis(1)));
    thread::sleep(Duration::from_millis(300));
    let signal = |name: &str| assert!(std::process::Command::new("kill").args([name, &bridge.to_string()]).status().unwrap().success());
    // It hangs, and goes on by itself.
    signal("-STOP");
    live.log_until("pass unshaped");
    thread::sleep(Duration::from_millis(200));
    signal("-CONT");
    live.log_until("tgb -> tgc: the bridge carries packets again; ");
    thread::sleep(Duration::from_millis(300));
    let (sent, received) = stream.end();
    let (lost, twice) = lost_and_twice(sent, &received);
    assert!(lost.len() <= 20 && twice.len() <= 10, "{} lost and {} twice of {sent}", lost.len(), twice.len());
    pings_pass(&topology);
    live.signal(libc::SIGTERM);
    assert_eq!(live.wait().code, Some(0));
}

#[test]
fn an_end_system_and_a_probe_need_one_worker() {
    let topology = Topology::new();
    let options = "--in tgb --out tgc --set policy.uplink.workers=2";
    let ended = Live::start(&topology, &format!("{options} --end-system")).wait();
    assert!(ended.code == Some(2) && ended.log.contains("an end system decides in one thread"), "{ended:?}");
    let folder = tempfile::tempdir().unwrap();
    let ended = Live::start(&topology, &format!("{options} --probe {}", folder.path().join("trace").display())).wait();
    assert!(ended.code == Some(2) && ended.log.contains("leave out --probe or the policy's `workers`"), "{ended:?}");
}
