//! `tidegate live` as a user runs it: between namespaces, with a policy of the scenarios, until a signal or the end of its time.
//!
//! Needs root, as the tests of `tidegate-live` do.

#[path = "../../../tidegate-live/tests/namespaces/raw.rs"]
#[allow(dead_code)]
mod raw;
#[path = "../../../tidegate-live/tests/namespaces/topology.rs"]
#[allow(dead_code)]
mod topology;

#[path = "../../../tidegate-report/tests/browser/chromium.rs"]
#[allow(dead_code)]
mod chromium;

mod changes_under_load;
mod command;
mod control;
mod control_views;
mod exposition;
mod fail_open;
mod hostile_clients;
mod interface_lock;
mod interfaces;
mod kernel_aqm;
mod log;
mod operator_walk;
mod pictures;
mod preset;
mod service;
mod soak;
mod stream;
mod subscribers;
mod take_over;
mod thousand_changes;
mod workers;

use command::{Live, notes, pings_pass};
use raw::RawSocket;
use topology::{Place, Topology, eventually};

#[test]
fn the_end_system_carries_packets_until_an_interrupt_and_reports() {
    let report = carry_until(libc::SIGINT, "--end-system --decision-core 0");
    assert!(notes(&report).contains("the engine decided"), "{report}");
}

#[test]
fn one_thread_per_direction_carries_packets_until_a_request_to_terminate_and_reports() {
    carry_until(libc::SIGTERM, "");
}

#[test]
fn a_probe_records_the_packets_of_one_direction() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stages.trace");
    let report = carry_until(libc::SIGINT, &format!("--probe {} --probe-packets 10", path.display()));
    assert!(notes(&report).contains("probe: the stages of 10 packets were recorded"), "{report}");
    let trace = tidegate_statistics::StageTrace::from_bytes(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(trace.records.len(), 10);
    assert!(trace.lost > 0 && notes(&report).contains(&format!("{} more were not", trace.lost)), "{report}");
    for record in &trace.records {
        let stages = [record.arrived, record.read, record.offered, record.started, record.handed];
        assert!(stages[0] > 0 && stages.is_sorted(), "{record:?}");
    }
    let refused = Live::start(&Topology::new(), &format!("--in tgb --out tgc --probe {}", folder.path().display())).wait();
    assert_eq!(refused.code, Some(2), "{refused:?}");
}

/// The report of a bridge that gets this signal while it carries pings. Its conservation check decides its exit code.
fn carry_until(signal: i32, options: &str) -> serde_json::Value {
    let topology = Topology::new();
    let live = Live::start(&topology, &format!("--in tgb --out tgc {options}"));
    pings_pass(&topology);
    live.signal(signal);
    let ended = live.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = ended.report();
    let ports: Vec<&str> = report["runs"][0]["ports"].as_array().unwrap().iter().map(|port| port["name"].as_str().unwrap()).collect();
    assert_eq!(ports, ["tgb > tgc", "tgc > tgb"]);
    report
}

#[test]
fn a_hang_up_applies_the_file_anew_and_stops_nothing() {
    let topology = Topology::new();
    let mut live = Live::start(&topology, "--in tgb --out tgc");
    pings_pass(&topology);
    live.signal(libc::SIGHUP);
    live.log_until("SIGHUP: tgb -> tgc: 0 classes added, 0 removed, 0 changed");
    pings_pass(&topology);
    assert!(live.is_running());
    live.signal(libc::SIGTERM);
    let ended = live.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = ended.report();
    assert!(notes(&report).contains("applied anew at a hang-up (SIGHUP: 1); packets were carried on"), "{report}");
    assert!(report["runs"][0]["ports"][0]["sent"]["packets"].as_u64() > Some(10), "{report}");
}

/// A stopped process reads no frame, so the ring of 4096 frames runs full and the kernel drops the rest.
#[test]
fn frames_lost_in_the_kernel_are_on_the_ticker_in_a_note_and_in_the_report() {
    const FRAMES: u64 = 12_000;
    let topology = Topology::new();
    let mut live = Live::start(&topology, "--in tgb --out tgc");
    live.log_until("carrying packets through uplink and uplink");
    live.signal(libc::SIGSTOP);
    topology.call(Place::Host1, || {
        let socket = RawSocket::open("tga", false);
        let frame = [&[2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8, 0x88, 0xb5][..], &[7; 86]].concat();
        (0..FRAMES).for_each(|_| socket.send(&frame));
    });
    live.signal(libc::SIGCONT);
    let line = live.log_until("lost in the kernel");
    let on_the_ticker: u64 = line.split(" lost in the kernel").next().and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap();
    live.signal(libc::SIGTERM);
    let ended = live.wait();
    let report = ended.report();
    let port = &report["runs"][0]["ports"][0];
    let count = |key: &str| port["kernel"][key].as_u64().unwrap_or_else(|| panic!("{key}: {port}"));
    let (received, dropped) = (count("received_frames"), count("dropped_frames"));
    assert!(dropped > 1000 && received + dropped >= FRAMES, "{received} and {dropped} of {FRAMES}");
    assert_eq!(on_the_ticker, dropped, "{line}");
    assert_eq!(port["offered"]["packets"].as_u64(), Some(received), "the tables begin behind the kernel");
    let note = format!("the kernel lost {dropped} of {} frames before they were read", received + dropped);
    assert!(notes(&report).contains(&note), "{report}");
    assert_eq!(report["runs"][0]["ports"][1]["kernel"]["dropped_frames"].as_u64(), Some(0));
}

#[test]
fn a_policy_that_pushes_out_is_refused_with_a_way_out() {
    let topology = Topology::new();
    let ended = Live::start_with(&topology, "--in tgb --out tgc --end-system", &[]).wait();
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.log.contains("tail-drop") && ended.log.contains("tgb -> tgc"), "{ended:?}");
}
