//! Changes of a running bridge under numbered datagrams and TCP: no packet is lost, every flow keeps its order, every contract is kept.
//!
//! What leaves the bridge is captured on host 2 and replayed through the policers of the core. `TIDEGATE_CHANGES_SECONDS=60` makes the 24 changes in a
//! minute instead of 12 s.

use crate::command::{HOST2, Live, pings_pass};
use crate::control::{said, told};
use crate::raw::{RawSocket, receive_buffer};
use crate::topology::{Place, Topology, eventually};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};
use tidegate_core::classifier::{Network, Transport};
use tidegate_core::packet::Colour;
use tidegate_core::policer::{Policer, Verdict, VirtualScheduling};
use tidegate_core::units::{Duration as PortDuration, Rate, Time};
use tidegate_wire::{LinkType, parse};

const CHANGES: u32 = 24;
const TCP_PORT: u16 = 5201;
const DATAGRAM: usize = 1200;
/// Bytes of a frame before the payload of a datagram.
const HEADERS: usize = 42;
const LONGEST_FRAME: u64 = 1518;
/// How late a packet may leave, or be stamped, on a machine that does other work too.
const TOLERANCE: PortDuration = PortDuration::from_milliseconds(50);

/// The flows of datagrams: port, and bit/s of frames. The first two have contracts; `voice` sends more than the lower one of its rates.
pub const FLOWS: [(u16, u64); 3] = [(6001, 2_300_000), (6002, 3_000_000), (6003, 1_000_000)];

/// The bursts of the contracts of `voice` and `video`, in bytes.
const BURSTS: [u64; 2] = [60_000, 30_000];

const POLICY: &str = r#"
[policy.access]
rate = "24 Mbit/s"
scheduler = "drr"
buffer = { limit = "8 MB" }
class = [
    { name = "voice", match = [{ destination_port = 6001 }], weight = 2, shape = { rate = "2 Mbit/s", burst = "60 kB" } },
    { name = "video", match = [{ destination_port = 6002 }], weight = 3, shape = { rate = "4 Mbit/s", burst = "30 kB" } },
    { name = "data", match = [{ destination_port = 5201 }], weight = 4 },
    { name = "rest", weight = 1 },
]
"#;

/// A packet as host 2 saw it.
pub struct Left {
    pub at: Time,
    /// The bytes of its frame.
    pub length: u32,
    pub port: u16,
    /// The number of a datagram, or the sequence number of a segment.
    pub number: u32,
    pub payload: u32,
}

#[test]
fn changes_under_load_lose_nothing_and_keep_order_and_contracts() {
    changes_under_load(POLICY.to_owned(), "wrr");
}

/// Flows whose class changes may change places where these classes belong to different workers.
#[test]
fn changes_of_two_workers_under_load_lose_nothing_and_keep_order_and_contracts() {
    changes_under_load(POLICY.replace("scheduler", "workers = 2\nscheduler"), "qfq");
}

/// Makes changes, one of them to another scheduler.
fn changes_under_load(policy_text: String, scheduler: &str) {
    let has_workers = policy_text.contains("workers");
    let seconds = std::env::var("TIDEGATE_CHANGES_SECONDS").map_or(12, |text| text.parse().expect("TIDEGATE_CHANGES_SECONDS is a number"));
    let folder = tempfile::tempdir().unwrap();
    let [socket, policy, more, other] = ["control", "access.toml", "more.toml", "other.toml"].map(|name| folder.path().join(name));
    fs::write(&policy, &policy_text).unwrap();
    // A class comes and takes packets that wait in another.
    let games = "class = [\n    { name = \"games\", match = [{ destination_port = 6003 }], weight = 2 },";
    fs::write(&more, policy_text.replace("class = [", games)).unwrap();
    // Another scheduler, and classes in another order.
    let voice = policy_text.lines().find(|line| line.contains("voice")).unwrap();
    let moved =
        policy_text.replace(&format!("{voice}\n"), "").replace("    { name = \"data\"", &format!("{voice}\n    {{ name = \"data\""));
    fs::write(&other, moved.replace("drr", scheduler).replace("weight = 4", "weight = 7")).unwrap();

    let topology = Topology::new();
    topology.within(Place::Host2, "ethtool -K tgd gro off");
    let options = format!("--in tgb --out tgc --json --quiet --room 100000 --control {}", socket.display());
    let live = Live::start_policy(&topology, &policy, &options);
    pings_pass(&topology);

    let capture = Capture::start(&topology);
    let load = Load::start(&topology);
    let mut contracts = [vec![Agreed::from_start(2_000_000)], vec![Agreed::from_start(4_000_000)]];
    let began = Instant::now();
    for change in 0..CHANGES {
        let at = Duration::from_secs(seconds) * change / CHANGES;
        thread::sleep(at.saturating_sub(began.elapsed()));
        // The rates of `voice` and `video` that hold afterwards, in Mbit/s.
        let (line, rates): (Vec<&str>, [u64; 2]) = match change % 8 {
            0 => (vec!["set", "policy.access.rate=\"30 Mbit/s\""], [2, 4]),
            1 => (vec!["set", "policy.access.class.voice.shape.rate=\"3 Mbit/s\""], [3, 4]),
            2 => (vec!["apply", path(&more)], [2, 4]),
            3 => (vec!["set", "policy.access.class.video.shape.rate=\"5 Mbit/s\"", "policy.access.class.games.weight=5"], [2, 5]),
            4 => (vec!["apply", path(&other)], [2, 4]),
            5 => (vec!["set", "policy.access.class.voice.shape.rate=\"3500 kbit/s\"", "policy.access.scheduler=wf2q+"], [3, 4]),
            6 => (vec!["rollback"], [2, 4]),
            _ => (vec!["apply", path(&policy)], [2, 4]),
        };
        let rates = if change % 8 == 5 { [3_500_000, 4_000_000] } else { rates.map(|rate| rate * 1_000_000) };
        let before = now();
        let applied = told(&socket, &line);
        let after = now();
        for direction in applied["applied"]["directions"].as_array().unwrap() {
            assert_eq!(direction["queues"]["dropped"]["packets"], 0, "{line:?}: {applied}");
        }
        for (agreed, rate) in contracts.iter_mut().zip(rates) {
            let last = agreed.last().unwrap().rate;
            // A rate that grows may hold at once, one that shrinks does at last when the answer is here.
            agreed.extend((rate != last).then_some(Agreed { from: if rate > last { before } else { after }, rate }));
        }
    }
    thread::sleep(Duration::from_secs(seconds).saturating_sub(began.elapsed()));
    let (datagrams, bytes) = load.stop();
    eventually("the queues are empty", Duration::from_secs(20), || {
        let status = told(&socket, &["status"]);
        let directions = status["status"]["directions"].as_array().unwrap().clone();
        directions.iter().all(|direction| direction["queued"]["packets"] == 0 && direction["in_flight"]["packets"] == 0)
    });
    assert!(said(&socket, &["status"]).contains("24 changes"));
    let left = capture.stop();
    live.signal(libc::SIGTERM);
    let ended = live.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    nothing_was_dropped(&ended.report());

    for ((port, _), sent) in FLOWS.into_iter().zip(datagrams) {
        let mut numbers: Vec<u32> = left.iter().filter(|packet| packet.port == port).map(|packet| packet.number).collect();
        if has_workers && port == 6003 {
            numbers.sort_unstable();
        }
        assert!(numbers.iter().copied().eq(0..sent), "port {port}: {sent} were sent, {} left, {:?}", numbers.len(), first_gap(&numbers));
    }
    tcp_is_whole(&left, bytes);
    for ((number, agreed), burst) in contracts.iter().enumerate().zip(BURSTS) {
        conforms(&left, FLOWS[number].0, agreed, burst);
    }
}

fn path(path: &Path) -> &str {
    path.to_str().expect("a name in UTF-8")
}

/// The time since 1970, as stamps of the kernel have it.
fn now() -> Time {
    time(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970"))
}

/// Modulo a million seconds, because a [`Time`] counts picoseconds.
fn time(since_1970: Duration) -> Time {
    let nanoseconds = since_1970.as_nanos() % 1_000_000_000_000_000;
    Time::from_nanoseconds(nanoseconds as u64)
}

pub fn first_gap(numbers: &[u32]) -> Option<[u32; 2]> {
    numbers.windows(2).find(|pair| pair[1] != pair[0] + 1).map(|pair| [pair[0], pair[1]])
}

/// The report of a bridge in which every packet that came has left.
fn nothing_was_dropped(report: &Value) {
    for port in report["runs"][0]["ports"].as_array().unwrap() {
        assert_eq!(port["offered"]["packets"], port["sent"]["packets"], "{port}");
        assert_eq!(port["kernel"]["dropped_frames"], 0, "{port}");
    }
    assert_eq!(report["runs"][0]["changes"].as_array().unwrap().len(), 2 * CHANGES as usize);
    let notes = crate::command::notes(report);
    assert!(!notes.contains("dropped outside the port"), "{notes}");
}

/// TCP's bytes left in order and without a gap; a segment that is sent twice counts once.
fn tcp_is_whole(left: &[Left], sent: u64) {
    let mut segments = left.iter().filter(|packet| packet.port == TCP_PORT && packet.payload > 0);
    let first = segments.next().expect("TCP sent something");
    let (mut end, mut bytes) = (first.number.wrapping_add(first.payload), u64::from(first.payload));
    for segment in segments {
        let ahead = segment.number.wrapping_sub(end) as i32;
        assert!(ahead <= 0, "{ahead} bytes are missing after {bytes}");
        let fresh = segment.payload as i32 + ahead;
        if fresh > 0 {
            (end, bytes) = (end.wrapping_add(fresh as u32), bytes + fresh as u64);
        }
    }
    assert_eq!(bytes, sent, "as many bytes left as were written");
}

/// A rate that holds from an instant on.
struct Agreed {
    from: Time,
    /// In bit/s.
    rate: u64,
}

impl Agreed {
    fn from_start(rate: u64) -> Agreed {
        Agreed { from: now(), rate }
    }

    /// The policer of this rate. A packet conforms while the bucket has room for it, and may come late by the tolerance.
    fn policer(&self, burst: u64) -> VirtualScheduling {
        let increment = Rate::new(self.rate).expect("a rate").time_per_byte();
        // One packet whose instant was fixed under the rate before may be early.
        VirtualScheduling::new(self.from, increment, increment.ceil((burst + LONGEST_FRAME) as u32) + TOLERANCE)
    }
}

/// Replays what left through the policer of its contract, which adopts each new rate as the port does.
fn conforms(left: &[Left], port: u16, agreed: &[Agreed], burst: u64) {
    let mut policer = agreed[0].policer(burst);
    let mut next = agreed[1..].iter().peekable();
    let mut judged = 0;
    for packet in left.iter().filter(|packet| packet.port == port) {
        while let Some(agreed) = next.next_if(|agreed| !agreed.from.is_after(packet.at)) {
            let mut successor = agreed.policer(burst);
            successor.adopt(agreed.from, &policer, LONGEST_FRAME as u32);
            policer = successor;
        }
        let verdict = policer.police(packet.at, packet.length, Colour::Green);
        assert_eq!(verdict, Verdict::Conform, "port {port}: packet {} after {judged} that conform", packet.number);
        judged += 1;
    }
    assert!(judged > 0 && next.peek().is_none(), "every contract was tried");
}

/// Captures what arrives at host 2.
pub struct Capture {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Left>>,
}

impl Capture {
    pub fn start(topology: &Topology) -> Capture {
        let stop = Arc::new(AtomicBool::new(false));
        let until = stop.clone();
        let thread = topology.inside(Place::Host2, move || {
            let socket = RawSocket::open("tgd", false);
            let mut left = Vec::new();
            socket.each(&until, |seen| left.extend(of_frame(&seen.bytes, seen.at)));
            left
        });
        // Until its socket is open.
        thread::sleep(Duration::from_millis(200));
        Capture { stop, thread }
    }

    pub fn stop(self) -> Vec<Left> {
        thread::sleep(Duration::from_millis(200));
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("the capture ends")
    }
}

/// What the test looks at of a frame, if it is a datagram or a segment of the test.
fn of_frame(frame: &[u8], at: Duration) -> Option<Left> {
    let Network::V4 { transport: Transport { ports: Some((_, port)), .. }, .. } = parse(LinkType::Ethernet, frame).network else {
        return None;
    };
    let word = |start: usize| Some(u32::from_be_bytes(frame.get(start..start + 4)?.try_into().ok()?));
    let total = u32::from(u16::from_be_bytes([frame[16], frame[17]]));
    let (number, payload) = match port {
        TCP_PORT => (word(38)?, total - 20 - u32::from(frame[46] >> 4) * 4),
        6001..=6003 => (word(HEADERS)?, total - 28),
        _ => return None,
    };
    Some(Left { at: time(at), length: frame.len() as u32, port, number, payload })
}

/// Datagrams and a TCP connection from host 1 to host 2.
struct Load {
    stop: Arc<AtomicBool>,
    datagrams: Vec<JoinHandle<u32>>,
    written: JoinHandle<u64>,
    read: JoinHandle<u64>,
}

impl Load {
    fn start(topology: &Topology) -> Load {
        let stop = Arc::new(AtomicBool::new(false));
        let listener = topology.call(Place::Host2, || TcpListener::bind(("0.0.0.0", TCP_PORT)).expect("a port"));
        // A window that fits into the queues, so that TCP has no reason to lose a packet.
        receive_buffer(&listener, 200_000);
        let read = topology.inside(Place::Host2, move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            let (mut buffer, mut bytes) = (vec![0; 1 << 16], 0);
            loop {
                match stream.read(&mut buffer).expect("the connection stands") {
                    0 => return bytes,
                    read => bytes += read as u64,
                }
            }
        });
        let until = stop.clone();
        let written = topology.inside(Place::Host1, move || {
            let mut stream = TcpStream::connect((HOST2, TCP_PORT)).expect("a connection");
            let (block, mut bytes) = (vec![7; 1 << 14], 0);
            while !until.load(Ordering::Relaxed) {
                bytes += stream.write(&block).expect("the connection stands") as u64;
            }
            bytes
        });
        let datagrams = FLOWS.map(|(port, rate)| {
            let until = stop.clone();
            topology.inside(Place::Host1, move || send_numbered(port, rate, &until))
        });
        Load { stop, datagrams: datagrams.into(), written, read }
    }

    /// The numbers of datagrams sent, and the bytes that TCP carried.
    fn stop(self) -> (Vec<u32>, u64) {
        self.stop.store(true, Ordering::Relaxed);
        let datagrams = self.datagrams.into_iter().map(|thread| thread.join().expect("a sender ends")).collect();
        let written = self.written.join().expect("TCP ends");
        assert_eq!(self.read.join().expect("TCP ends"), written, "every byte was read");
        (datagrams, written)
    }
}

/// Sends bursts at a rate until the stop, and returns the number of datagrams.
pub fn send_numbered(port: u16, rate: u64, stop: &AtomicBool) -> u32 {
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a port");
    let mut payload = [0; DATAGRAM];
    let (began, mut sent) = (Instant::now(), 0_u32);
    while !stop.load(Ordering::Relaxed) {
        let due = began.elapsed().as_micros() as u64 * rate / 8_000_000 / (DATAGRAM + HEADERS) as u64;
        while u64::from(sent) < due {
            payload[..4].copy_from_slice(&sent.to_be_bytes());
            socket.send_to(&payload, (HOST2, port)).expect("a datagram can be sent");
            sent += 1;
        }
        thread::sleep(Duration::from_millis(40));
    }
    sent
}
