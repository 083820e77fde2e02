//! The kernel's TCP through `tidegate live`: how long pings wait beside downloads under an AQM and under a FIFO, and marks in place of drops.
//!
//! `cargo test --release -p tidegate-cli --test live kernel_tcp -- --nocapture` prints what was measured.

use crate::command::{HOST2, Live, pings_pass};
use crate::raw::ping;
use crate::topology::{Place, Topology};
use serde_json::Value;
use std::fmt;
use std::thread;
use std::time::{Duration, Instant};

/// TCP connections from host 1 to host 2.
const DOWNLOADS: u32 = 4;
/// The length of a download.
const SECONDS: u64 = 10;
/// Pings begin after the slow starts.
const WARM_UP: Duration = Duration::from_secs(2);
/// A run is repeated this often before it counts as failed, because a busy machine takes the processor from a host or the bridge.
const RUNS: usize = 3;

/// A FIFO with the megabyte that many routers were sold with: 0.4 s at this rate.
const FIFO: &str = r#"buffer = { limit = "1 MB" }"#;

fn policy(rest: &str) -> String {
    format!("[policy.line]\nrate = \"20 Mbit/s\"\nlink = {{ delay = \"5 ms\" }}\n{rest}\n")
}

fn with_aqm(aqm: &str) -> String {
    policy(&format!("[[policy.line.class]]\nname = \"all\"\naqm = \"{aqm}\""))
}

/// What pings and downloads saw.
#[derive(Debug)]
struct Measured {
    /// The round trips of pings, sorted, in milliseconds.
    pings: Vec<f64>,
    unanswered: usize,
    /// Payload received, in Mbit/s.
    goodput: f64,
    retransmissions: u64,
    /// Packets from host 1 that the port dropped.
    drops: u64,
    /// Packets with the mark "congestion experienced" that host 2 received.
    marks: u64,
}

impl Measured {
    fn ping(&self, percentile: usize) -> f64 {
        self.pings[(self.pings.len() * percentile).div_ceil(100) - 1]
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Measured { pings, unanswered, goodput, retransmissions, drops, marks } = self;
        let (median, high) = (self.ping(50), self.ping(99));
        write!(f, "ping median {median:.1} ms, p99 {high:.1} ms ({} answered, {unanswered} not); ", pings.len())?;
        write!(f, "goodput {goodput:.2} Mbit/s, {retransmissions} retransmissions, {drops} drops, {marks} marks")
    }
}

/// What is carried, and how.
struct Case<'a> {
    name: &'a str,
    policy: String,
    /// An address of host 2.
    target: &'a str,
    ecn: bool,
    /// More options of `tidegate live`.
    options: &'a str,
}

/// Carries downloads and pings through a policy.
fn measure(Case { policy, target, ecn, options, .. }: &Case) -> Measured {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("line.toml");
    std::fs::write(&file, policy).expect("a file");
    let topology = Topology::new();
    for host in [Place::Host1, Place::Host2] {
        // 1 asks for ECN, 0 never uses it.
        topology.within(host, &format!("sysctl -qw net.ipv4.tcp_ecn={}", u8::from(*ecn)));
    }
    let live = Live::start_policy(&topology, &file, &format!("--in tgb --out tgc --json {options}"));
    pings_pass(&topology);
    let _server = topology.start(Place::Host2, "iperf3 --server --one-off");
    thread::sleep(Duration::from_millis(300));
    let line = format!("iperf3 --client {target} --time {SECONDS} --parallel {DOWNLOADS} --congestion cubic --json");
    let client = topology.start(Place::Host1, &line);
    thread::sleep(WARM_UP);
    let (answers, asked) = topology.call(Place::Host1, || {
        let (start, mut answers, mut asked) = (Instant::now(), Vec::new(), 0);
        while start.elapsed() < Duration::from_secs(SECONDS - 1) - WARM_UP {
            answers.extend(ping(HOST2, 1));
            asked += 1;
        }
        (answers, asked)
    });
    let written = client.output();
    let marks = topology.call(Place::Host2, received_marks);
    live.signal(libc::SIGTERM);
    let ended = live.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let (report, downloads): (Value, Value) = (ended.report(), serde_json::from_str(&written).expect("iperf3 writes JSON"));
    let port = &report["runs"][0]["ports"][0];
    let packets = |key: &str| port[key]["packets"].as_u64().unwrap_or_else(|| panic!("{key}: {port}"));
    let number = |key: &str, field: &str| downloads["end"][key][field].as_f64().unwrap_or_else(|| panic!("{key}: {written}"));
    let mut pings: Vec<f64> = answers.iter().map(|answer| answer.as_secs_f64() * 1e3).collect();
    pings.sort_by(f64::total_cmp);
    assert!(!pings.is_empty(), "pings are answered: {ended:?}");
    Measured {
        unanswered: asked - pings.len(),
        pings,
        goodput: number("sum_received", "bits_per_second") / 1e6,
        retransmissions: number("sum_sent", "retransmits") as u64,
        drops: packets("offered") - packets("sent"),
        marks,
    }
}

/// The packets of IPv4 and IPv6 with the mark "congestion experienced" that the calling thread's namespace has received.
fn received_marks() -> u64 {
    let read = |name: &str| std::fs::read_to_string(format!("/proc/thread-self/net/{name}")).expect("counters of IP");
    let (v4, v6) = (read("netstat"), read("snmp6"));
    // A line of names before each line of values.
    let lines: Vec<Vec<&str>> = v4.lines().map(|line| line.split(' ').collect()).collect();
    let of = |pair: &[Vec<&str>]| pair[1][pair[0].iter().position(|known| *known == "InCEPkts")?].parse::<u64>().ok();
    let v4 = lines.chunks_exact(2).find_map(of).expect("a counter of IPv4");
    let v6 = v6.lines().find_map(|line| line.strip_prefix("Ip6InCEPkts")?.trim().parse::<u64>().ok()).expect("a counter of IPv6");
    v4 + v6
}

/// The first of several runs that `holds` accepts.
fn measured(case: &Case, holds: impl Fn(&Measured) -> bool) -> Measured {
    let name = case.name;
    let mut runs = (0..RUNS).map(|_| {
        let measured = measure(case);
        println!("{name:<28} {measured}");
        measured
    });
    runs.find(holds).unwrap_or_else(|| panic!("{name}: {RUNS} runs do not hold what they should"))
}

/// The greatest goodput: 1448 bytes of payload in every frame of 1514.
const MOST: f64 = 20.0 * 1448.0 / 1514.0;

#[test]
fn pings_beside_the_kernel_tcp_take_less_than_25_ms_under_fq_codel_and_wait_for_the_buffer_of_a_fifo() {
    let case = |name, policy| Case { name, policy, target: "10.77.0.2", ecn: false, options: "" };
    let waits = |measured: &Measured| measured.ping(50) > 100.0 && measured.goodput > 0.9 * MOST;
    let fifo = measured(&case("FIFO of 1 MB", policy(FIFO)), waits);
    let held = |measured: &Measured| measured.ping(99) < 25.0 && measured.goodput > 0.9 * MOST && measured.drops > 0;
    let fq_codel = measured(&case("fq-codel", with_aqm("fq-codel")), held);
    // Under native XDP veth receives in a thread of the kernel of ordinary priority, for which pings wait on a busy machine.
    let held = |measured: &Measured| measured.ping(99) < 100.0 && measured.goodput > 0.8 * MOST && measured.drops > 0;
    measured(&Case { options: "--io xdp", ..case("fq-codel, AF_XDP", with_aqm("fq-codel")) }, held);
    assert_eq!(fifo.marks + fq_codel.marks, 0, "without ECN nothing is marked");
    assert!(fq_codel.unanswered == 0 && fq_codel.pings.len() > 100, "{fq_codel}");
}

#[test]
fn the_kernel_tcp_with_ecn_is_marked_and_loses_nothing() {
    // From a queue that all share pings are dropped now and then, because they cannot be marked.
    let held =
        |measured: &Measured| measured.marks > 50 && measured.drops < 10 && measured.retransmissions == 0 && measured.goodput > 0.9 * MOST;
    let cases = [
        ("fq-codel, ECN", "fq-codel", "10.77.0.2", ""),
        ("pie, ECN, IPv6", "pie", "fd77::2", ""),
        ("codel, ECN, end system", "codel", "10.77.0.2", "--end-system"),
    ];
    for (name, aqm, target, options) in cases {
        let measured = measured(&Case { name, policy: with_aqm(aqm), target, ecn: true, options }, held);
        assert!(measured.drops == 0 || aqm != "fq-codel", "a queue of its own loses no ping: {measured}");
    }
    let (policy, options) = (with_aqm("fq-codel"), "--io xdp");
    let case = Case { name: "fq-codel, ECN, AF_XDP", policy, target: "10.77.0.2", ecn: true, options };
    measured(&case, |measured| {
        measured.marks > 50 && measured.drops == 0 && measured.retransmissions == 0 && measured.goodput > 0.8 * MOST
    });
}

/// The acknowledgements of 20 Mbit/s need more than four times the rate of this way back, one for every two segments.
#[test]
fn a_slow_way_back_slows_the_kernel_tcp_less_where_acknowledgements_are_filtered() {
    let both = policy("") + "[policy.back]\nrate = \"100 kbit/s\"\nbuffer = { limit = \"20 kB\" }\n";
    let goodput = |name, options| {
        let case = Case { name, policy: both.clone(), target: "10.77.0.2", ecn: false, options };
        measured(&case, |_| true).goodput
    };
    let plain = goodput("slow way back", "--policy line --reverse-policy back");
    let filtered = goodput("slow way back, ACK filter", "--policy line --reverse-policy back --ack-filter");
    assert!(filtered > 1.3 * plain, "{filtered:.2} and {plain:.2} Mbit/s");
}
