//! Ten thousand contracts kept on real interfaces.
//!
//! `tidegate live` shapes as many UDP flows between namespaces, and what arrives is captured with the kernel's timestamps. `tidegate replay` then
//! polices every stream of the capture by its own contract.
//!
//! Needs root, as the tests of `tidegate-live` do.

#[path = "../../../tidegate-live/tests/namespaces/topology.rs"]
#[allow(dead_code)]
mod topology;

#[path = "../../../tidegate-live/tests/namespaces/raw.rs"]
#[allow(dead_code)]
mod raw;

use raw::{RawSocket, ping};
use std::fmt::Write;
use std::fs::File;
use std::io::BufWriter;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use tidegate_replay::{CaptureWriter, Interface};
use tidegate_wire::LinkType;
use topology::{Place, Topology, eventually};

const HOST2: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 77, 0, 2));
const FLOWS: u16 = 10_000;
const FIRST_PORT: u16 = 20_000;
const PAYLOAD: usize = 480;
/// For how long is captured at least, from the first datagram on, and how much: 10,000 flows of 8 kbit/s at 4368 bits a packet send that
/// in less time, but a machine may have others to attend to.
const CAPTURED: Duration = Duration::from_secs(5);
const ENOUGH: usize = 60_000;
const PATIENCE: Duration = Duration::from_secs(60);

/// The rate of a flow in bit/s: from 4 to 12 kbit/s, all different from their neighbours'.
fn rate(flow: u16) -> u64 {
    4_000 + u64::from(flow.wrapping_mul(40_503)) % 8_001
}

/// A policy with one class per flow; `treat` says what is done with a flow of this rate.
fn policy(link: &str, scheduler: &str, treat: impl Fn(u64) -> String) -> String {
    let mut text = format!(
        "[policy.many]\nrate = \"{link}\"\noverhead = \"ethernet\"\nscheduler = \"{scheduler}\"\n\
         buffer = {{ manager = \"tail-drop\", limit = \"200000 packets\" }}\n\n"
    );
    for flow in 0..FLOWS {
        let (port, treatment) = (FIRST_PORT + flow, treat(rate(flow)));
        let _ = writeln!(text, "[[policy.many.class]]\nname = \"{flow}\"\nmatch = [{{ destination_port = {port} }}]\n{treatment}\n");
    }
    text + "[[policy.many.class]]\nname = \"default\"\n"
}

/// The contract of a flow for a policer, with the tolerance that waking up late and the kernel's timestamps need.
fn policed(bits_per_second: u64) -> String {
    format!(
        "police = {{ policer = \"gcra\", rate = \"{bits_per_second} bit/s\", burst = \"1600 B\", delay_variation_tolerance = \"150 ms\", \
         violation = \"discard\" }}"
    )
}

#[test]
fn ten_thousand_live_flows_keep_their_contracts() {
    let folder = std::env::temp_dir().join(format!("tidegate-contracts-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let shaping = folder.join("shaping.toml");
    let shaped = |rate| format!("shape = {{ rate = \"{rate} bit/s\", burst = \"1600 B\", delay_variation_tolerance = \"1 ms\" }}");
    std::fs::write(&shaping, policy("1 Gbit/s", "rate-controlled", shaped)).unwrap();

    let topology = Topology::new();
    let program = env!("CARGO_BIN_EXE_tidegate");
    let _bridge = topology.start(Place::Middle, &format!("{program} live {} --in tgb --out tgc --quiet", shaping.display()));
    let reached = || !topology.call(Place::Host1, || ping(HOST2, 1)).is_empty();
    eventually("the bridge carries packets", Duration::from_secs(60), reached);

    let capture = folder.join("arrivals.pcapng");
    let capturing = {
        let capture = capture.clone();
        topology.inside(Place::Host2, move || record("tgd", &capture))
    };
    let captured = topology.call(Place::Host1, move || {
        let socket = UdpSocket::bind("10.77.0.1:0").unwrap();
        let started = Instant::now();
        // More than the contracts let pass, until enough has arrived.
        let mut round = 0;
        while !capturing.is_finished() {
            round += 1;
            for place in 0..u64::from(FLOWS) {
                // Scattered, so that neighbours in time are no neighbours in the tables. Each round begins at another flow: where a busy machine loses the
                // end of every round, no flow is lost in all of them.
                let flow = ((place + 3_331 * u64::from(round)) * 7_919 % u64::from(FLOWS)) as u16;
                socket.send_to(&[round as u8; PAYLOAD], ("10.77.0.2", FIRST_PORT + flow)).unwrap();
            }
            let due = started + Duration::from_millis(400) * round;
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
        }
        capturing.join().unwrap()
    });
    assert!(captured >= ENOUGH, "{captured} packets were captured");

    let judge = |treat: &dyn Fn(u64) -> String| {
        let file = folder.join("policing.toml");
        std::fs::write(&file, policy("10 Gbit/s", "fifo", treat)).unwrap();
        let output = Command::new(program)
            .arg("replay")
            .args([&file, &capture])
            .arg("--json")
            .arg("--out")
            .arg(folder.join("out"))
            .output()
            .unwrap();
        assert!(output.status.code() == Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        dropped(&summary)
    };
    assert_eq!(judge(&policed), 0, "of {captured} packets were outside their contracts");
    // The flows do use their contracts: one of four fifths of the rate would not do.
    let refused = judge(&|rate| policed(rate * 4 / 5));
    assert!(refused > captured as u64 / 20, "{refused} of {captured}");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// All packets that a summary counts as policed.
fn dropped(summary: &serde_json::Value) -> u64 {
    let flows = summary["runs"][0]["flows"].as_array().expect("a list of flows");
    // A report of more than 1,000 classes leaves out those for which no packet came, such as the last one's.
    assert!((usize::from(FLOWS) * 9 / 10..=usize::from(FLOWS) + 1).contains(&flows.len()), "{} of {FLOWS} flows", flows.len());
    let drops = flows.iter().flat_map(|flow| flow["drops"].as_array().expect("a list of drops"));
    drops.filter(|drop| drop["reason"] == "policed").map(|drop| drop["volume"]["packets"].as_u64().expect("a number")).sum()
}

/// Captures the test's datagrams on an interface of this thread's namespace until there are enough; returns their number.
fn record(interface: &str, path: &Path) -> usize {
    // Ethernet, IPv4 without options, UDP, and a port of ours.
    let is_ours = |frame: &[u8]| {
        let port = frame.get(36..38).map_or(0, |port| u16::from_be_bytes([port[0], port[1]]));
        frame.get(12..14) == Some(&[8, 0]) && frame[23] == 17 && (FIRST_PORT..FIRST_PORT + FLOWS).contains(&port)
    };
    let socket = RawSocket::open(interface, false);
    let mut frames = socket.see(usize::MAX, CAPTURED, |seen| is_ours(&seen.bytes));
    frames.extend(socket.see(ENOUGH.saturating_sub(frames.len()), PATIENCE, |seen| is_ours(&seen.bytes)));
    let interfaces = [Interface { name: None, link_type: 1, link: LinkType::Ethernet }];
    let mut file = CaptureWriter::new(BufWriter::new(File::create(path).unwrap()), "arrivals").unwrap();
    for seen in &frames {
        file.write(&interfaces, 0, seen.at.as_nanos() as i64, seen.bytes.len() as u32, &seen.bytes, None).unwrap();
    }
    file.finish().unwrap();
    frames.len()
}
