//! A list of subscribers: it travels with the policy file through the control socket, and a hang-up reads it again. Thousands are carried and reported.
//!
//! `TIDEGATE_SUBSCRIBERS=100000 TIDEGATE_ACTIVE=4000 cargo test --release -p tidegate-cli --test live thousands -- --nocapture` prints three
//! figures: the time until packets are carried, the peak of memory, and the time of the report.

use crate::command::{Live, notes, pings_pass};
use crate::control::{refused, said, told};
use crate::topology::{Place, Topology, eventually};
use std::fmt::Write;
use std::fs;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::Path;
use std::time::{Duration, Instant};

pub const POLICY: &str = r#"
include = ["plans.toml"]
[policy.isp]
kind = "subscribers"
down = "1 Gbit/s"
up = "1 Gbit/s"
subscribers = "list.csv"
"#;
pub const PLANS: &str = "[[policy.isp.plan]]\nname = \"plan\"\ndown = \"50 Mbit/s\"\nup = \"10 Mbit/s\"\n";

pub fn list(subscribers: u32) -> String {
    let mut list = "id,addresses,plan\n".to_owned();
    for number in 0..subscribers {
        let address = Ipv4Addr::from(0x0a4d_0000 + number / 250 * 256 + number % 250);
        let _infallible = writeln!(list, "house {number},{address},plan");
    }
    list
}

#[test]
fn a_list_is_sent_with_the_file_and_read_again_at_a_hang_up() {
    let [folder, elsewhere] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let [socket, policy, subscribers] = ["control", "isp.toml", "list.csv"].map(|name| folder.path().join(name));
    fs::write(&policy, POLICY).unwrap();
    fs::write(&subscribers, list(300)).unwrap();
    fs::write(folder.path().join("plans.toml"), PLANS).unwrap();
    let topology = Topology::new();
    let mut live = Live::start_policy(&topology, &policy, &format!("--in tgb --out tgc --control {}", socket.display()));
    pings_pass(&topology);
    let classes = |changed: &serde_json::Value, key: &str| changed["applied"]["directions"][0][key].as_array().unwrap().len();
    assert_eq!(told(&socket, &["status"])["status"]["directions"][0]["classes"], 301);

    // The bridge knows nothing of this folder.
    let other = elsewhere.path().join("isp.toml");
    fs::write(&other, POLICY).unwrap();
    fs::write(elsewhere.path().join("list.csv"), list(310)).unwrap();
    let message = refused(&socket, 2, &["apply", other.to_str().unwrap()]);
    assert!(message.contains("plans.toml cannot be opened") && message.contains("isp.toml:2:12"), "{message}");
    fs::write(elsewhere.path().join("plans.toml"), PLANS.replace("10 Mbit/s", "12 Mbit/s")).unwrap();
    let applied = told(&socket, &["apply", other.to_str().unwrap()]);
    // The class of what is no subscriber's has a hundredth of the plans, and changes with them.
    assert_eq!((classes(&applied, "added"), classes(&applied, "changed")), (10, 301), "{applied}");
    // Values are set in what was sent.
    let set = told(&socket, &["set", "policy.isp.plan.plan.up=\"20 Mbit/s\""]);
    assert_eq!(classes(&set, "changed"), 311, "{set}");
    pings_pass(&topology);

    // Single rows are changed, removed and added beside the list, which stays as it is.
    let classes_of = || told(&socket, &["status"])["status"]["directions"][0]["classes"].as_u64();
    let changed = told(
        &socket,
        &[
            "set",
            "policy.isp.subscriber.house 7.plan=\"\"",
            "policy.isp.subscriber.house 7.down=30 Mbit/s",
            "policy.isp.subscriber.house 7.up=3 Mbit/s",
        ],
    );
    assert_eq!(classes(&changed, "removed"), 0, "{changed}");
    let why = |address: &str| said(&socket, &["why", address]);
    assert!(why("10.77.0.7").contains("3 Mbit/s") && !why("10.77.0.8").contains(" 3 Mbit/s"), "{}", why("10.77.0.7"));
    assert!(refused(&socket, 2, &["remove", "hause 9"]).contains("did you mean `house 9`?"));
    let message = refused(&socket, 2, &["set", "policy.isp.subscriber.hause 9.up=3 Mbit/s"]);
    assert!(
        message.contains("no subscriber `hause 9` in the file or in list.csv") && message.contains("did you mean `house 9`?"),
        "{message}"
    );
    let before = classes_of();
    let removed = told(&socket, &["remove", "house 9"]);
    assert_eq!(removed["applied"]["directions"][0]["removed"], serde_json::json!(["house 9"]), "{removed}");
    assert!(why("10.77.0.9").contains("class `others`"));
    told(&socket, &["add", "subscriber", "{ name = \"house 9\", addresses = [\"10.77.0.9\", \"10.99.0.0/16\"], plan = \"plan\" }"]);
    assert!(why("10.99.1.2").contains("class `house 9`"));
    assert_eq!(classes_of(), before);
    let status = said(&socket, &["status"]);
    for edit in ["subscriber.house 7.up=3 Mbit/s", "subscriber-=house 9", "subscriber+={ name = \"house 9\""] {
        assert!(status.contains(&format!("differs from the file: policy.isp.{edit}")), "{edit}: {status}");
    }
    assert_eq!(fs::read_to_string(&subscribers).unwrap(), list(300), "no file is written");
    pings_pass(&topology);

    fs::write(&subscribers, list(299)).unwrap();
    live.signal(libc::SIGHUP);
    live.log_until("SIGHUP: tgb -> tgc: 0 classes added, 11 removed, 300 changed");
    fs::write(&subscribers, list(299) + "house 0,10.1.0.1,plan\n").unwrap();
    live.signal(libc::SIGHUP);
    live.log_until("another subscriber is named `house 0` already");
    pings_pass(&topology);
    assert_eq!(told(&socket, &["status"])["status"]["directions"][0]["classes"], 300);
    live.signal(libc::SIGTERM);
    assert_eq!(live.wait().code, Some(0));
}

/// How many there are, and how many of them send, without the variables of the environment.
const USUAL: [u32; 2] = [1500, 100];

/// The longest wait for a bridge of this many subscribers, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

pub fn number(variable: &str, usual: u32) -> u32 {
    std::env::var(variable).map_or(usual, |text| text.parse().unwrap_or_else(|_| panic!("{variable} is a number")))
}

/// The address of a subscriber.
fn address(number: u32) -> Ipv4Addr {
    Ipv4Addr::from(0x0a80_0000 + number)
}

/// The memory of a process in MB: at present, and the most that it has had.
fn memory(process: u32) -> [u64; 2] {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("the process runs");
    let of = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key)).expect("a line of memory");
        line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") / 1000
    };
    [of("VmRSS:"), of("VmHWM:")]
}

/// A list of this many subscribers with two addresses each.
pub fn wide_list(subscribers: u32) -> String {
    let rows = (0..subscribers)
        .map(|number| format!("house {number},{} 2001:db8:{:x}:{:x}::/64,plan\n", address(number), number >> 16, number & 0xffff));
    "id,addresses,plan\n".to_owned() + &rows.collect::<String>()
}

/// Three packets of each of the first `active` subscribers of [`wide_list`] pass through the bridge whose control socket this is.
pub fn send(topology: &Topology, socket: &Path, active: u32) {
    let received = || told(socket, &["status"])["status"]["directions"][0]["received"]["packets"].as_u64().expect("a number");
    let before = received();
    topology.call(Place::Host1, move || {
        for number in 0..active {
            let socket = UdpSocket::bind((address(number), 0)).expect("every address of the route is this host's");
            for _ in 0..3 {
                socket.send_to(&[0; 100], "10.77.0.2:9").expect("a packet is sent");
            }
            // The rings of the bridge hold some thousand.
            std::thread::sleep(Duration::from_micros(if number % 64 == 63 { 2000 } else { 0 }));
        }
    });
    eventually("the packets of all that send have come", Duration::from_secs(30), || received() >= before + 3 * u64::from(active));
}

/// The number of subscribers, and how many of them send: those of the environment, or the usual ones.
pub fn numbers() -> [u32; 2] {
    [number("TIDEGATE_SUBSCRIBERS", USUAL[0]), number("TIDEGATE_ACTIVE", USUAL[1])]
}

/// Host 1 has all addresses of subscribers.
pub fn lend_addresses(topology: &Topology) {
    topology.within(Place::Host1, "ip route add local 10.128.0.0/9 dev lo");
}

#[test]
fn thousands_are_carried_and_those_that_sent_are_reported() {
    let [subscribers, active] = numbers();
    let folder = tempfile::tempdir().unwrap();
    let [socket, policy, list] = ["control", "isp.toml", "list.csv"].map(|name| folder.path().join(name));
    fs::write(&policy, POLICY.replace("include = [\"plans.toml\"]", "").replace("1 Gbit/s", "100 Gbit/s") + PLANS).unwrap();
    fs::write(&list, wide_list(subscribers)).unwrap();
    let topology = Topology::new();
    lend_addresses(&topology);

    let started = Instant::now();
    let mut live = Live::start_policy(&topology, &policy, &format!("--in tgb --out tgc --json --control {}", socket.display()));
    live.log_within(PATIENCE, "carrying packets");
    let [now, peak] = memory(live.id());
    println!("{subscribers} subscribers: packets are carried after {:.2} s; {now} MB, at most {peak} MB", started.elapsed().as_secs_f64());
    pings_pass(&topology);
    send(&topology, &socket, active);
    let [now, peak] = memory(live.id());
    println!("{active} of them have sent: {now} MB, at most {peak} MB");

    live.signal(libc::SIGINT);
    let ended = live.wait();
    println!("the report is there after {:.2} s", ended.elapsed.as_secs_f64());
    assert_eq!(ended.code, Some(0), "{}", ended.log);
    let report = ended.report();
    let ports = report["runs"][0]["ports"].as_array().expect("ports");
    let up = ports.iter().find(|port| port["name"] == "tgb > tgc").expect("the way up");
    // Those that sent, and what is no subscriber's: the pings.
    assert_eq!(up["classes"].as_array().expect("classes").len(), active as usize + 1);
    let left_out = format!("tgb > tgc: no packet came for {} of {} classes, which are left out.", subscribers - active, subscribers + 1);
    assert!(notes(&report).contains(&left_out), "{}", notes(&report));
}
