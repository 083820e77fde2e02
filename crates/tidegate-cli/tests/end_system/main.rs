//! `tidegate live` as a user runs it, most of all with `--end-system`: between namespaces, with a policy from the scenarios, until a signal.
//!
//! Needs root, as the tests of `tidegate-live` do.

#[path = "../../../tidegate-live/tests/namespaces/raw.rs"]
#[allow(dead_code)]
mod raw;
#[path = "../../../tidegate-live/tests/namespaces/topology.rs"]
#[allow(dead_code)]
mod topology;

use raw::ping;
use std::net::{IpAddr, Ipv4Addr};
use std::process::Command;
use std::time::Duration;
use topology::{Place, Topology, eventually};

const TIDEGATE: &str = env!("CARGO_BIN_EXE_tidegate");
const POLICY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/policies/home-gateway.toml");
const HOST2: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 77, 0, 2));

#[test]
fn packets_pass_in_both_directions_until_an_interrupt_and_are_all_accounted_for() {
    let report = packets_pass_until("INT", "--end-system --decision-core 0");
    assert!(report.contains("the engine decided"), "{report}");
}

#[test]
fn without_threads_apart_a_request_to_terminate_ends_it_with_a_report_too() {
    packets_pass_until("TERM", "");
}

/// The report of a bridge that is sent this signal while it carries pings.
fn packets_pass_until(signal: &str, options: &str) -> String {
    let topology = Topology::new();
    // The signal comes after six seconds; the exit code is the command's own, and its conservation check is in it.
    let command = format!(
        "timeout --preserve-status --signal={signal} 6 {TIDEGATE} live {POLICY} --in tgb --out tgc {options} --json \
         --set policy.uplink.buffer.manager=\"tail-drop\""
    );
    let running = topology.start(Place::Middle, &command);
    // Until the bridge runs, nobody answers.
    let mut answers = 0;
    eventually("a ping is answered", Duration::from_secs(5), || {
        answers += topology.call(Place::Host1, || ping(HOST2, 2).len());
        answers > 0
    });
    answers += topology.call(Place::Host1, || ping(HOST2, 20).len());
    let report = running.output();
    assert!(answers > 20, "{answers}");
    for said in ["tgb > tgc", "tgc > tgb"] {
        assert!(report.contains(said), "{said}: {report}");
    }
    report
}

#[test]
fn a_policy_that_pushes_out_is_refused_with_a_way_out() {
    let topology = Topology::new();
    let line = format!("{TIDEGATE} live {POLICY} --in tgb --out tgc --end-system");
    let output = topology.call(Place::Middle, move || {
        let mut words = line.split_whitespace();
        Command::new(words.next().expect("a program")).args(words).output().expect("the command starts")
    });
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("tail-drop") && error.contains("tgb -> tgc"), "{error}");
}
