//! A bridge that fails is a cable until it is back: `live --fail-open` under numbered datagrams.

use crate::command::{Live, pings_pass};
use crate::stream::{Stream, lost_and_twice};
use crate::topology::{Topology, eventually};
use std::fs;
use std::process::Command;
use std::thread;
use std::time::Duration;

const PORT: u16 = 6100;

/// The longest wait for what comes soon.
const LIMIT: Duration = Duration::from_secs(15);

/// The process of the bridge that this guardian has started.
pub fn bridge_of(guardian: &Live) -> Option<u32> {
    let tasks = fs::read_dir(format!("/proc/{}/task", guardian.id())).ok()?.flatten();
    let children = tasks.map(|task| fs::read_to_string(task.path().join("children")).unwrap_or_default()).collect::<String>();
    children.split_whitespace().next()?.parse().ok()
}

/// A guarded bridge. Its process goes when this is dropped, and that of the guardian as well.
struct Guarded(Live);

impl Guarded {
    fn start(topology: &Topology, options: &str) -> Guarded {
        let mut live = Live::start(topology, &format!("--in tgb --out tgc --fail-open {options}"));
        live.log_until("carrying packets through");
        pings_pass(topology);
        Guarded(live)
    }

    fn bridge(&self) -> Option<u32> {
        bridge_of(&self.0)
    }

    fn signal_bridge(&self, signal: &str) {
        let bridge = self.bridge().expect("a bridge");
        assert!(Command::new("kill").args([signal, &bridge.to_string()]).status().unwrap().success());
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        if let Some(bridge) = self.bridge() {
            let _ = Command::new("kill").args(["-9", &bridge.to_string()]).status();
        }
    }
}

#[test]
fn packets_pass_while_a_killed_bridge_is_away_and_it_comes_back() {
    let topology = Topology::new();
    let mut guarded = Guarded::start(&topology, "");
    let first = guarded.bridge().unwrap();
    let stream = Stream::start(&topology, PORT, 4, (1, Duration::from_millis(1)));
    thread::sleep(Duration::from_millis(300));
    guarded.signal_bridge("-9");
    guarded.0.log_until("error: the bridge ended by signal 9: packets pass unshaped, and it is started again in 1 s");
    guarded.0.log_until("tgb -> tgc: the bridge carries packets again; ");
    eventually("another bridge is there", LIMIT, || guarded.bridge().is_some_and(|bridge| bridge != first));
    thread::sleep(Duration::from_millis(300));
    let (sent, received) = stream.end();
    // Those that waited in the bridge went with it, and some came before the guardian noticed.
    let (lost, twice) = lost_and_twice(sent, &received);
    let (lost, twice) = (lost.len(), twice.len());
    assert!(lost < 500 && twice <= 10, "{lost} lost and {twice} twice of {sent}");
    pings_pass(&topology);

    guarded.0.signal(libc::SIGTERM);
    eventually("guardian and bridge end", LIMIT, || !guarded.0.is_running());
}

#[test]
fn packets_pass_while_a_bridge_hangs_and_none_is_lost_when_it_comes_back() {
    let topology = Topology::new();
    let mut guarded = Guarded::start(&topology, "");
    let bridge = guarded.bridge();
    let stream = Stream::start(&topology, PORT, 4, (1, Duration::from_millis(1)));
    thread::sleep(Duration::from_millis(300));
    guarded.signal_bridge("-STOP");
    guarded.0.log_until("error: tgb -> tgc: the bridge does not answer, and packets pass unshaped");
    thread::sleep(Duration::from_millis(500));
    guarded.signal_bridge("-CONT");
    guarded.0.log_until("tgb -> tgc: the bridge carries packets again; ");
    thread::sleep(Duration::from_millis(300));
    let (sent, received) = stream.end();
    let (lost, twice) = lost_and_twice(sent, &received);
    let (lost, twice) = (lost.len(), twice.len());
    assert!(lost <= 5 && twice <= 10, "{lost} lost and {twice} twice of {sent}");
    assert_eq!(guarded.bridge(), bridge, "a bridge that comes back is not ended");
    pings_pass(&topology);
}

/// No other socket gets a frame while those of AF_XDP exist, so the guardian ends the bridge.
#[test]
fn a_bridge_with_af_xdp_sockets_that_hangs_is_ended_and_comes_back() {
    let topology = Topology::new();
    let mut guarded = Guarded::start(&topology, "--io xdp");
    let first = guarded.bridge().unwrap();
    guarded.signal_bridge("-STOP");
    guarded.0.log_until("error: the bridge ended by signal 9: packets pass unshaped");
    pings_pass(&topology);
    guarded.0.log_until("tgb -> tgc: the bridge carries packets again; ");
    eventually("another bridge is there", LIMIT, || guarded.bridge().is_some_and(|bridge| bridge != first));
    pings_pass(&topology);
    guarded.0.signal(libc::SIGTERM);
    eventually("guardian and bridge end", LIMIT, || !guarded.0.is_running());
}

#[test]
fn a_guarded_bridge_ends_as_any_other_does() {
    let topology = Topology::new();
    let wrong = Live::start(&topology, "--in tgb --out tgx --fail-open").wait();
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(wrong.log.contains("tgx"), "{wrong:?}");
    let wrong = Live::start_with(&topology, "--in tgb --out tgc --fail-open", &["--set", "policy.uplink.rate=fast"]).wait();
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    let ended = Live::start(&topology, "--in tgb --out tgc --fail-open --for 500ms").wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.report()["runs"][0]["ports"].as_array().map(Vec::len), Some(2));
    assert!(!ended.log.contains("unshaped"), "{ended:?}");
}
