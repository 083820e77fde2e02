//! The control socket: what a bridge shows, single edits, reservations and captures.

use crate::command::{HOST2, Live, pings_pass};
use crate::control::{ctl, refused, said, told};
use crate::topology::{Place, Topology, eventually};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::UdpSocket;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tempfile::TempDir;
use tidegate_replay::CaptureReader;

const POLICY: &str = r#"
[policy.access]
rate = "2 Mbit/s"
scheduler = "wf2q+"
class = [
    { name = "video", match = [{ destination_port = 6001 }, { destination_port = 6002 }], rate = "500 kbit/s", limit = "20 packets" },
    { name = "rest", rate = "500 kbit/s" },
]
"#;

struct Bridge {
    topology: Topology,
    live: Live,
    socket: PathBuf,
    _folder: TempDir,
}

impl Bridge {
    fn start() -> Bridge {
        let folder = tempfile::tempdir().unwrap();
        let [socket, policy] = ["control", "access.toml"].map(|name| folder.path().join(name));
        fs::write(&policy, POLICY).unwrap();
        let topology = Topology::new();
        let live = Live::start_policy(&topology, &policy, &format!("--in tgb --out tgc --json --quiet --control {}", socket.display()));
        pings_pass(&topology);
        Bridge { topology, live, socket, _folder: folder }
    }

    /// Sends this many datagrams of 1000 bytes to a port of host 2, one per millisecond.
    fn send(&self, port: u16, datagrams: u32) -> JoinHandle<()> {
        self.send_while(port, move |sent| sent < datagrams)
    }

    /// Sends such datagrams while the number of those sent agrees with the condition.
    fn send_while(&self, port: u16, goes_on: impl Fn(u32) -> bool + Send + 'static) -> JoinHandle<()> {
        self.topology.inside(Place::Host1, move || {
            let socket = UdpSocket::bind("0.0.0.0:0").expect("a port");
            for _ in (0..).take_while(|sent| goes_on(*sent)) {
                socket.send_to(&[7; 958], (HOST2, port)).expect("a datagram can be sent");
                thread::sleep(Duration::from_millis(1));
            }
        })
    }

    fn end(self) -> Value {
        self.live.signal(libc::SIGTERM);
        let ended = self.live.wait();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.report()
    }
}

/// The first element of a list below the way from host 1 to host 2 with this value of a key.
fn found<'a>(answer: &'a Value, kind: &str, list: &str, key: &str, value: &str) -> &'a Value {
    let elements = answer[kind]["directions"][0][list].as_array().unwrap_or_else(|| panic!("{answer}"));
    elements.iter().find(|element| element[key] == value).unwrap_or_else(|| panic!("{value}: {answer}"))
}

#[test]
fn queues_flows_rules_and_delays_are_those_of_the_traffic() {
    let bridge = Bridge::start();
    let socket = &bridge.socket;
    let is_over = Arc::new(AtomicBool::new(false));
    let until = is_over.clone();
    let sending = bridge.send_while(6001, move |_| !until.load(Ordering::Relaxed));
    eventually("a queue of 20 packets", Duration::from_secs(20), || {
        let queues = told(socket, &["show", "queues"]);
        let video = found(&queues, "queues", "classes", "class", "video");
        assert!(video["queues"] == 1 && video["limits"].as_str().is_some_and(|limits| limits.contains("20 packets")), "{queues}");
        // 20 packets of 8016 bits wait for more than 70 ms.
        video["packets"].as_u64() >= Some(19) && video["backlogged"] == 1 && video["oldest_s"].as_f64() > Some(0.07)
    });
    eventually("delays of the last second", Duration::from_secs(20), || {
        let classes = told(socket, &["show", "classes", "vid*"]);
        let video = found(&classes, "classes", "classes", "name", "video");
        let delay = |window: &str| video[window]["p50_s"].as_f64().unwrap_or(0.0);
        delay("delay_second") > 0.07 && delay("delay_minute") > 0.03 && delay("delay") > 0.03
    });
    let flows = told(socket, &["show", "flows"]);
    let flow = found(&flows, "flows", "flows", "class", "video");
    assert!(flow["destination"] == "10.77.0.2" && flow["destination_port"] == 6001 && flow["protocol"] == 17, "{flows}");
    assert!(flow["bytes"].as_u64() > Some(100_000) && flow["error_bytes"] == 0, "{flows}");
    let rules = told(socket, &["show", "rules"]);
    assert!(found(&rules, "rules", "rules", "rule", "{ destination_port = 6001 }")["hits"].as_u64() > Some(100), "{rules}");
    assert_eq!(found(&rules, "rules", "rules", "rule", "{ destination_port = 6002 }")["hits"], 0, "{rules}");
    assert!(rules["rules"]["directions"][0]["unmatched"].as_u64() >= Some(10), "the pings: {rules}");
    for what in ["classes", "queues", "flows", "rules"] {
        assert!(said(socket, &["show", what]).contains("video"), "{what}");
    }
    let before = found(&rules, "rules", "rules", "rule", "{ destination_port = 6001 }")["hits"].as_u64();
    told(socket, &["set", "policy.access.class.video.match=[{ destination_port = 6002 }, { destination_port = 6001 }]"]);
    let rules = told(socket, &["show", "rules"]);
    assert!(
        found(&rules, "rules", "rules", "rule", "{ destination_port = 6001 }")["hits"].as_u64() >= before,
        "a rule that stays: {rules}"
    );
    is_over.store(true, Ordering::Relaxed);
    sending.join().unwrap();
    bridge.end();
}

#[test]
fn classes_come_and_go_one_by_one() {
    let bridge = Bridge::start();
    let socket = &bridge.socket;
    let guests = "{ name = \"guests\", match = [{ destination_port = 6001 }], rate = \"100 kbit/s\" }";
    let message = refused(socket, 2, &["add", "class", guests]);
    assert!(message.contains("can never match") || message.contains("never be served"), "{message}");
    let guests = "{ name = \"guests\", match = [{ source = \"10.77.0.1\", destination_port = 6001 }], rate = \"100 kbit/s\" }";
    let added = told(socket, &["add", "class", guests, "--before", "video"]);
    assert_eq!(added["applied"]["directions"][0]["added"][0], "guests", "{added}");
    let why = told(socket, &["why", "10.77.0.1", "--protocol", "17", "--port", "6001"]);
    assert!(why.to_string().contains("\"class\":\"guests\""), "{why}");
    let edits = |socket: &Path| told(socket, &["status"])["status"]["edits"].as_array().unwrap().len();
    assert_eq!(edits(socket), 1);
    assert!(refused(socket, 2, &["remove", "gests"]).contains("did you mean `guests`?"));
    let removed = told(socket, &["remove", "guests"]);
    assert_eq!(removed["applied"]["directions"][0]["removed"][0], "guests", "{removed}");
    assert_eq!(edits(socket), 0, "nothing differs from the file any more");
    told(socket, &["remove", "video"]);
    assert!(said(socket, &["status"]).contains("differs from the file: policy.access.class-=video"));
    let report = bridge.end();
    assert_eq!(report["runs"][0]["changes"].as_array().unwrap().len(), 6, "three in each direction: {report}");
}

#[test]
fn a_reservation_is_admitted_policed_refused_with_offers_and_released() {
    let bridge = Bridge::start();
    let socket = &bridge.socket;
    let call = ["--match", "{ destination_port = 5004 }", "--burst", "6 kB"];
    let reserve = |name: &'static str, more: &[&'static str]| [&["reserve", name], &call[..], more].concat();
    let asked = told(socket, &reserve("call", &["--rate", "200 kbit/s", "--delay", "120 ms", "--dry-run"]));
    let rate = asked["reserved"]["promise"]["rate_bps"].as_u64().unwrap();
    assert!((200_000..800_000).contains(&rate), "{asked}");
    assert_eq!(told(socket, &["status"])["status"]["changes"], 0);
    let admitted = told(socket, &reserve("call", &["--rate", "200 kbit/s", "--delay", "120 ms"]));
    assert_eq!(admitted["reserved"]["promise"]["rate_bps"], rate);
    let delay = admitted["reserved"]["promise"]["delay_s"].as_f64().unwrap();
    assert!(delay <= 0.120, "{admitted}");
    assert_eq!(told(socket, &["status"])["status"]["reservations"][0]["name"], "call");

    // A datagram per millisecond is 8 Mbit/s: what the contract does not hold is dropped, and the rest keeps its bound beside traffic that fills the link.
    let (call, rest) = (bridge.send(5004, 500), bridge.send(6001, 500));
    call.join().unwrap();
    rest.join().unwrap();
    thread::sleep(Duration::from_millis(300));
    let classes = told(socket, &["show", "classes"]);
    let class = found(&classes, "classes", "classes", "name", "call");
    let policed = class["dropped"]["policed"]["packets"].as_u64().unwrap_or(0);
    let sent = class["sent"]["packets"].as_u64().unwrap();
    assert!(policed > 300 && sent >= 6 && policed + sent == 500, "{class}");
    // The bound is of the port's time; a thread that wakes late is allowed for.
    assert!(class["delay"]["max_s"].as_f64().unwrap() <= delay + 0.02, "{class}");

    let output = ctl(socket, &reserve("more", &["--rate", "1.5 Mbit/s"]));
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("refused: the rate that can be reserved is short"), "{text}");
    let offer = text.split("--rate \"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_else(|| panic!("{text}"));
    let taken = ["reserve", "more", "--match", "{ destination_port = 5005 }", "--burst", "6 kB", "--rate", offer];
    assert!(said(socket, &taken).starts_with("admitted"), "an offer holds");
    let message = refused(socket, 2, &["reserve", "x", "--match", "{ destination_port = 5006 }", "--burst", "10 B", "--rate", "1 kbit/s"]);
    assert!(message.contains("holds no frame"), "{message}");

    // A reservation survives another file, and ends by name.
    told(socket, &["release", "more"]);
    assert!(refused(socket, 3, &["release", "more"]).contains("no reservation `more`"));
    let other = socket.with_file_name("other.toml");
    fs::write(&other, POLICY.replace("2 Mbit/s", "3 Mbit/s")).unwrap();
    told(socket, &["apply", other.to_str().unwrap()]);
    assert_eq!(told(socket, &["status"])["status"]["reservations"][0]["name"], "call");
    told(socket, &["release", "call"]);
    assert_eq!(told(socket, &["status"])["status"]["edits"].as_array().unwrap().len(), 0);

    // A lease that is not renewed ends.
    let mut stream = UnixStream::connect(socket).unwrap();
    let line = r#"{"version":1,"request":{"reserve":{"name":"lease","rule":"{ destination_port = 5004 }","rate_bps":200000,"burst_bytes":6000,"lease_s":1}}}"#;
    stream.write_all(format!("{line}\n").as_bytes()).unwrap();
    let mut answer = String::new();
    BufReader::new(&stream).read_line(&mut answer).unwrap();
    assert!(answer.contains("promise"), "{answer}");
    eventually("the lease is over", Duration::from_secs(20), || {
        told(socket, &["status"])["status"]["reservations"].as_array().is_some_and(Vec::is_empty)
    });
    bridge.end();
}

#[test]
fn a_capture_has_what_left_and_what_was_dropped() {
    let bridge = Bridge::start();
    let socket = &bridge.socket;
    assert!(refused(socket, 2, &["capture", "vidoe", "-w", "/dev/null"]).contains("no class `vidoe`"));
    let file = socket.with_file_name("video.pcapng");
    let capturing = {
        let (socket, file) = (socket.clone(), file.clone());
        thread::spawn(move || ctl(&socket, &["capture", "video", "-w", file.to_str().unwrap(), "--for", "2 s", "--longest", "60"]))
    };
    eventually("the capture runs", Duration::from_secs(20), || file.exists());
    bridge.send(6001, 300).join().unwrap();
    let output = capturing.join().unwrap();
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && log.contains("300 packets written"), "{log}");
    let bytes = fs::read(&file).unwrap();
    let mut reader = CaptureReader::new(&bytes[..]).unwrap();
    let records: Vec<_> = std::iter::from_fn(|| reader.next_record().unwrap()).collect();
    assert_eq!(records.len(), 300);
    assert!(records.iter().all(|record| record.length == 1000 && record.data.len() == 60 && record.data[36..38] == 6001u16.to_be_bytes()));
    let classes = told(socket, &["show", "classes", "video"]);
    let dropped: u64 = found(&classes, "classes", "classes", "name", "video")["dropped"]
        .as_object()
        .unwrap()
        .values()
        .map(|amount| amount["packets"].as_u64().unwrap())
        .sum();
    let comments = bytes.windows(9).filter(|window| window == b"dropped: ").count() as u64;
    assert!(dropped > 50 && comments == dropped, "{comments} comments, {dropped} dropped");

    // As lines, which end with the number that was asked for.
    assert!(refused(socket, 2, &["capture", "video"]).contains("a capture needs a file"));
    let printing = {
        let socket = socket.clone();
        thread::spawn(move || ctl(&socket, &["capture", "video", "--json", "--count", "40", "--for", "10 s", "--longest", "60"]))
    };
    while !printing.is_finished() {
        bridge.send(6001, 50).join().unwrap();
    }
    let output = printing.join().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let lines: Vec<Value> = String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (end, packets) = lines.split_last().unwrap();
    assert_eq!((packets.len(), &end["captured"]["packets"], &end["captured"]["lost"]), (40, &40.into(), &0.into()), "{end}");
    for packet in packets.iter().map(|line| &line["packet"]) {
        assert_eq!((&packet["from"], &packet["to"], &packet["length"]), (&"tgb".into(), &"tgc".into(), &1000.into()), "{packet}");
        assert_eq!(packet["bytes"].as_str().map(|bytes| (bytes.len(), &bytes[72..76])), Some((120, "1771")), "{packet}");
        assert!(packet["unix_ns"].as_u64() > Some(1_700_000_000_000_000_000), "{packet}");
    }
    bridge.end();
}
