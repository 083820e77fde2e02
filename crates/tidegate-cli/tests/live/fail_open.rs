//! A bridge that fails is a cable until it is back: `live --fail-open` under numbered datagrams.

use crate::command::{Live, pings_pass};
use crate::topology::{Place, Topology, eventually};
use std::collections::BTreeMap;
use std::fs;
use std::net::UdpSocket;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const PORT: u16 = 6100;

/// The longest wait for what comes soon.
const LIMIT: Duration = Duration::from_secs(15);

/// Datagrams from host 1 to host 2, one a millisecond, and when host 2 received each number.
struct Stream {
    is_over: Arc<AtomicBool>,
    sender: JoinHandle<u32>,
    receiver: JoinHandle<Vec<(u32, Instant)>>,
}

impl Stream {
    fn start(topology: &Topology) -> Stream {
        let is_over = Arc::new(AtomicBool::new(false));
        let over = is_over.clone();
        let receiver = topology.inside(Place::Host2, move || {
            let socket = UdpSocket::bind(("10.77.0.2", PORT)).unwrap();
            socket.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
            let (mut received, mut number) = (Vec::new(), [0; 4]);
            loop {
                match socket.recv(&mut number) {
                    Ok(_) => received.push((u32::from_be_bytes(number), Instant::now())),
                    Err(_) if over.load(Ordering::Relaxed) => return received,
                    Err(_) => {}
                }
            }
        });
        let over = is_over.clone();
        let sender = topology.inside(Place::Host1, move || {
            let socket = UdpSocket::bind(("10.77.0.1", 0)).unwrap();
            let mut number = 0_u32;
            while !over.load(Ordering::Relaxed) {
                socket.send_to(&number.to_be_bytes(), ("10.77.0.2", PORT)).unwrap();
                number += 1;
                thread::sleep(Duration::from_millis(1));
            }
            number
        });
        Stream { is_over, sender, receiver }
    }

    /// How many were sent, and how often each number came; the longest time without one is printed.
    fn end(self) -> (u32, BTreeMap<u32, u32>) {
        self.is_over.store(true, Ordering::Relaxed);
        let (sent, received) = (self.sender.join().unwrap(), self.receiver.join().unwrap());
        let longest = received.windows(2).map(|pair| pair[1].1 - pair[0].1).max().unwrap_or_default();
        println!("{sent} datagrams sent, {} received, at most {longest:?} without one", received.len());
        let mut times = BTreeMap::new();
        received.iter().for_each(|(number, _)| *times.entry(*number).or_insert(0) += 1);
        (sent, times)
    }
}

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
    let stream = Stream::start(&topology);
    thread::sleep(Duration::from_millis(300));
    guarded.signal_bridge("-9");
    guarded.0.log_until("error: the bridge ended by signal 9: packets pass unshaped, and it is started again in 1 s");
    guarded.0.log_until("tgb -> tgc: the bridge carries packets again; ");
    eventually("another bridge is there", LIMIT, || guarded.bridge().is_some_and(|bridge| bridge != first));
    thread::sleep(Duration::from_millis(300));
    let (sent, times) = stream.end();
    // Those that waited in the bridge went with it, and some came before the guardian noticed.
    let lost = (0..sent).filter(|number| !times.contains_key(number)).count();
    let twice = times.values().filter(|times| **times > 1).count();
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
    let stream = Stream::start(&topology);
    thread::sleep(Duration::from_millis(300));
    guarded.signal_bridge("-STOP");
    guarded.0.log_until("error: tgb -> tgc: the bridge does not answer, and packets pass unshaped");
    thread::sleep(Duration::from_millis(500));
    guarded.signal_bridge("-CONT");
    guarded.0.log_until("tgb -> tgc: the bridge carries packets again; ");
    thread::sleep(Duration::from_millis(300));
    let (sent, times) = stream.end();
    let lost = (0..sent).filter(|number| !times.contains_key(number)).count();
    let twice = times.values().filter(|times| **times > 1).count();
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
