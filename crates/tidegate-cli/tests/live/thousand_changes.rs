//! A thousand of some thousand subscribers change at once under traffic: no packet is lost, and every flow keeps its order.
//!
//! `TIDEGATE_SUBSCRIBERS=100000 cargo test --release -p tidegate-cli --test live thousand_subscribers -- --nocapture` does it with 100,000. It prints how
//! long each change took from asking to the answer, and how long the ports stood still.

use crate::changes_under_load::first_gap;
use crate::command::{Live, pings_pass};
use crate::control::told;
use crate::raw::receive_buffer;
use crate::topology::{Place, Topology, eventually};
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const POLICY: &str = r#"
[policy.isp]
kind = "subscribers"
down = "100 Gbit/s"
up = "100 Gbit/s"
subscribers = "list.csv"
plan = [
    { name = "small", down = "25 Mbit/s", up = "5 Mbit/s" },
    { name = "medium", down = "50 Mbit/s", up = "10 Mbit/s" },
    { name = "large", down = "100 Mbit/s", up = "20 Mbit/s" },
]
"#;

/// The subscribers that change at once.
const CHANGED: u32 = 1000;
/// The subscribers that traffic is sent to, and the datagrams of a burst: some of them wait for the contract.
const DESTINATIONS: u32 = 150;
const BURST: u32 = 20;
/// Each destination gets five bursts at least, however quick the changes are.
const BURSTS: u32 = 5 * DESTINATIONS;
const PORT: u16 = 6100;

fn address(number: u32) -> Ipv4Addr {
    Ipv4Addr::from(0x0a80_0000 + number)
}

/// The list, of which `others` have the plan of the subscriber after them.
fn list(numbers: impl Iterator<Item = u32>, others: impl Fn(u32) -> bool) -> String {
    let mut list = "id,addresses,plan\n".to_owned();
    for number in numbers {
        let plan = ["small", "medium", "large"][(number + u32::from(others(number))) as usize % 3];
        let _infallible = writeln!(list, "house-{number},{},{plan}", address(number));
    }
    list
}

/// Applies a file, and says how long that took. The answer.
fn applied(socket: &Path, what: &str, line: &[&str]) -> Value {
    let began = Instant::now();
    let applied = told(socket, line)["applied"].clone();
    let directions = applied["directions"].as_array().unwrap();
    let gaps: Vec<String> =
        directions.iter().map(|direction| format!("{:.3} ms", direction["queues"]["gap_s"].as_f64().unwrap() * 1e3)).collect();
    println!("{what}: answered after {:.2} s; the ports stood still for {}", began.elapsed().as_secs_f64(), gaps.join(" and "));
    assert!(directions.iter().all(|direction| direction["queues"]["dropped"]["packets"] == 0), "{what}: {applied}");
    applied
}

/// How many classes of each direction `key` names.
fn count(applied: &Value, key: &str) -> [usize; 2] {
    [0, 1].map(|direction| applied["directions"][direction][key].as_array().unwrap().len())
}

#[test]
fn thousand_subscribers_change_at_once_and_no_packet_is_lost() {
    let subscribers: u32 =
        std::env::var("TIDEGATE_SUBSCRIBERS").map_or(3000, |text| text.parse().expect("TIDEGATE_SUBSCRIBERS is a number"));
    assert!(subscribers >= 2 * CHANGED, "TIDEGATE_SUBSCRIBERS is at least {}", 2 * CHANGED);
    let folder = tempfile::tempdir().unwrap();
    let [socket, policy, subscribed] = ["control", "isp.toml", "list.csv"].map(|name| folder.path().join(name));
    fs::write(&policy, POLICY).unwrap();
    let write = |text: String| fs::write(&subscribed, text).unwrap();
    write(list(0..subscribers, |_| false));
    let topology = Topology::new();
    topology.within(Place::Host1, "ip route add local 10.128.0.0/9 dev lo");
    topology.within(Place::Host2, "ip route add 10.128.0.0/9 via 10.77.0.1 dev tgd");
    let options = format!("--in tgb --out tgc --json --quiet --control {}", socket.display());
    let mut live = Live::start_policy(&topology, &policy, &options);
    eventually("the bridge answers", Duration::from_secs(300), || socket.exists() && live.is_running());
    pings_pass(&topology);

    let stop = Arc::new(AtomicBool::new(false));
    let (until, after) = (stop.clone(), stop.clone());
    let receiving = topology.call(Place::Host1, || {
        let socket = UdpSocket::bind(("0.0.0.0", PORT)).expect("a port");
        receive_buffer(&socket, 8_000_000);
        socket.set_read_timeout(Some(Duration::from_millis(500))).expect("a time");
        socket
    });
    let receiving = thread::spawn(move || {
        let mut seen = vec![Vec::new(); DESTINATIONS as usize];
        let mut buffer = [0; 2048];
        loop {
            match receiving.recv(&mut buffer) {
                Ok(_) => {
                    let word = |at: usize| u32::from_be_bytes(buffer[at..at + 4].try_into().expect("four bytes"));
                    seen[word(0) as usize].push(word(4));
                }
                Err(_) if after.load(Ordering::Relaxed) => return seen,
                Err(_) => {}
            }
        }
    });
    let sending = topology.inside(Place::Host2, move || send(subscribers / DESTINATIONS, &until));

    // A thousand change, of which traffic is sent to some; then one; then some come and others go; then all of that is taken back.
    let is_changed = |number: u32| number.is_multiple_of(subscribers / CHANGED) && number / (subscribers / CHANGED) < CHANGED;
    write(list(0..subscribers, is_changed));
    let of_policy = ["apply", policy.to_str().unwrap()];
    let thousand = applied(&socket, "1,000 of them change", &of_policy);
    // The class of what is no subscriber's has a hundredth of the plans, and may change with them.
    assert!(count(&thousand, "changed").into_iter().all(|changed| changed - CHANGED as usize <= 1), "{thousand}");
    write(list(0..subscribers, |number| is_changed(number) || number == 1));
    let one = applied(&socket, "one changes", &of_policy);
    assert!(count(&one, "changed").into_iter().all(|changed| (1..=2).contains(&changed)), "{one}");
    write(list(2..subscribers + 7, is_changed));
    let others = applied(&socket, "7 come and 2 go", &of_policy);
    assert_eq!((count(&others, "added"), count(&others, "removed")), ([7; 2], [2; 2]), "{others}");
    applied(&socket, "they go and come", &["rollback"]);

    stop.store(true, Ordering::Relaxed);
    let sent = sending.join().expect("the sender ends");
    let seen = receiving.join().expect("the receiver ends");
    let bursts = sent / BURST;
    for (place, numbers) in seen.iter().enumerate() {
        let expected = BURST * (bursts / DESTINATIONS + u32::from((place as u32) < bursts % DESTINATIONS));
        assert!(numbers.iter().copied().eq(0..expected), "{place}: {expected} were sent, {} came, {:?}", numbers.len(), first_gap(numbers));
    }
    live.signal(libc::SIGTERM);
    let ended = live.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for port in ended.report()["runs"][0]["ports"].as_array().unwrap() {
        assert_eq!((&port["offered"]["packets"], &port["kernel"]["dropped_frames"]), (&port["sent"]["packets"], &Value::from(0)), "{port}");
    }
}

/// Sends a burst to one destination after the other, each `step` subscribers further, until the stop, and [`BURSTS`] at least. Returns the number of
/// datagrams.
fn send(step: u32, stop: &AtomicBool) -> u32 {
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a port");
    let mut payload = [0; 1000];
    let mut burst = 0;
    while !stop.load(Ordering::Relaxed) || burst < BURSTS {
        let (place, round) = (burst % DESTINATIONS, burst / DESTINATIONS);
        for number in round * BURST..(round + 1) * BURST {
            payload[..4].copy_from_slice(&place.to_be_bytes());
            payload[4..8].copy_from_slice(&number.to_be_bytes());
            // Not the first two, which leave.
            socket.send_to(&payload, (address(3 + place * step), PORT)).expect("a datagram can be sent");
        }
        burst += 1;
        thread::sleep(Duration::from_millis(4));
    }
    burst * BURST
}
