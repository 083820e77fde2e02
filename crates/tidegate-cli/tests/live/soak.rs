//! A guarded bridge for hours: load, changes, flaps of its interfaces, kills, pauses, reloads and scrapes in turns that one seed draws.
//!
//! After each: the law of conservation, and the memory and descriptors of the bridge. `cargo xtask soak-live HOURS` runs it in release; the gate runs seconds of it.

use crate::command::Live;
use crate::control::ctl;
use crate::fail_open::bridge_of;
use crate::raw::ping;
use crate::topology::{Place, Topology, eventually};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const PORT: u16 = 9100;
const SINK: u16 = 5300;
const HOST2: IpAddr = crate::command::HOST2;

/// What the memory of a bridge may grow by after its first minute, in bytes: histograms of new classes, and what the allocator keeps.
const GROWTH: u64 = 64 << 20;
/// The most descriptors beyond those after the start.
const MORE_DESCRIPTORS: usize = 16;
/// The longest wait for what comes soon.
const LIMIT: Duration = Duration::from_secs(60);

const POLICY: &str = r#"
[policy.access]
rate = "30 Mbit/s"
scheduler = "drr"
buffer = { limit = "4 MB" }
class = [
    { name = "voice", match = [{ destination_port = 6001 }], weight = 2, shape = { rate = "3 Mbit/s", burst = "60 kB" } },
    { name = "bulk", match = [{ protocol = "tcp" }], weight = 4, queues = 64, aqm = "fq-codel" },
    { name = "rest", weight = 1 },
]
"#;

/// What happens in turn. Each is drawn with the same chance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Turn {
    Set,
    Apply,
    Wrong,
    Rollback,
    Reload,
    Flap,
    Scrape,
    Garbage,
    Pause,
    Kill,
}

const TURNS: [Turn; 10] =
    [Turn::Set, Turn::Apply, Turn::Wrong, Turn::Rollback, Turn::Reload, Turn::Flap, Turn::Scrape, Turn::Garbage, Turn::Pause, Turn::Kill];

#[test]
fn a_guarded_bridge_survives_what_happens_to_it() {
    let seconds: u64 = std::env::var("TIDEGATE_SOAK_SECONDS").map_or(12, |text| text.parse().expect("TIDEGATE_SOAK_SECONDS is a number"));
    let seed: u64 = std::env::var("TIDEGATE_SOAK_SEED").map_or(1, |text| text.parse().expect("TIDEGATE_SOAK_SEED is a number"));
    println!("seed {seed}, {seconds} s");
    let folder = tempfile::tempdir().unwrap();
    let [socket, policy, other] = ["control", "access.toml", "other.toml"].map(|name| folder.path().join(name));
    fs::write(&policy, POLICY).unwrap();
    let games = "class = [\n    { name = \"games\", match = [{ destination_port = 6003 }], weight = 2 },";
    fs::write(&other, POLICY.replace("class = [", games).replace("drr", "wf2q+")).unwrap();
    let topology = Topology::new();
    topology.within(Place::Middle, "ip link set lo up");
    let options = format!("--in tgb --out tgc --quiet --fail-open --room 200000 --control {} --metrics 127.0.0.1:{PORT}", socket.display());
    let live = Live::start_policy(&topology, &policy, &options);
    let mut soak = Soak {
        topology,
        live,
        socket,
        files: [policy, other].map(|path| path.display().to_string()),
        random: seed,
        bridges: 0,
        known: None,
    };
    soak.carries();
    let load = Load::start(&soak.topology);
    let (began, mut turns) = (Instant::now(), [0_u64; TURNS.len()]);
    let mut told = 0;
    while began.elapsed() < Duration::from_secs(seconds) {
        // The gate's seconds see each kind once.
        let kind = if seconds < 60 { turns.iter().sum::<u64>() as usize % TURNS.len() } else { soak.draw(TURNS.len() as u64) as usize };
        soak.take(TURNS[kind]);
        turns[kind] += 1;
        soak.carries();
        soak.is_conserved();
        soak.keeps_its_memory();
        if began.elapsed().as_secs() / 60 > told {
            told = began.elapsed().as_secs() / 60;
            println!("{told} min: {}, {}", counts(&turns), soak.state());
        }
        thread::sleep(Duration::from_millis(soak.draw(400)));
    }
    println!("{}; {}; {} datagrams and {} bytes of TCP arrived", counts(&turns), soak.state(), load.datagrams(), load.bytes());
    let bridges = soak.bridges;
    load.stop();
    assert!(turns[TURNS.len() - 1] == 0 || bridges > 1, "a killed bridge is started again");
    soak.live.signal(libc::SIGTERM);
    let ended = soak.live.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!ended.log.contains("panicked") && !ended.log.contains("defect"), "{ended:?}");
}

fn counts(turns: &[u64]) -> String {
    TURNS.iter().zip(turns).map(|(turn, count)| format!("{turn:?} {count}").to_lowercase()).collect::<Vec<_>>().join(", ")
}

struct Soak {
    topology: Topology,
    live: Live,
    socket: std::path::PathBuf,
    files: [String; 2],
    random: u64,
    /// How many processes the bridge has had.
    bridges: u32,
    /// The process that was looked at last: its number, when that was the first time, and its memory a minute later.
    known: Option<Known>,
}

struct Known {
    process: u32,
    since: Instant,
    memory: Option<u64>,
    descriptors: usize,
}

impl Soak {
    /// A number below this one (SplitMix64).
    fn draw(&mut self, below: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % below
    }

    fn take(&mut self, turn: Turn) {
        match turn {
            Turn::Set => {
                let rate = format!("policy.access.rate=\"{} Mbit/s\"", 10 + self.draw(40));
                self.done(&["set", &rate]);
            }
            Turn::Apply => {
                let file = self.files[self.draw(2) as usize].clone();
                self.done(&["apply", &file]);
            }
            Turn::Wrong => assert_eq!(ctl(&self.socket, &["set", "policy.access.rate=\"30 Mbut/s\""]).status.code(), Some(2)),
            Turn::Rollback => {
                // There may be nothing to go back to.
                let code = ctl(&self.socket, &["rollback"]).status.code();
                assert!(matches!(code, Some(0 | 2 | 3)), "{code:?}");
            }
            Turn::Reload => self.signal("-HUP"),
            Turn::Flap => {
                let (place, name) =
                    [(Place::Host1, "tga"), (Place::Host2, "tgd"), (Place::Middle, "tgb"), (Place::Middle, "tgc")][self.draw(4) as usize];
                self.topology.within(place, &format!("ip link set {name} down"));
                thread::sleep(Duration::from_millis(50));
                self.topology.within(place, &format!("ip link set {name} up"));
                if place == Place::Host1 {
                    self.topology.within(place, "ip -6 addr replace fd77::1/64 dev tga nodad");
                }
            }
            Turn::Scrape => {
                let got = self.topology.call(Place::Middle, || {
                    let mut stream = TcpStream::connect(("127.0.0.1", PORT))?;
                    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")?;
                    let mut text = String::new();
                    stream.read_to_string(&mut text)?;
                    Ok::<_, std::io::Error>(text)
                });
                assert!(got.as_ref().is_ok_and(|text| text.contains("# EOF")), "{got:?}");
            }
            Turn::Garbage => {
                if let Ok(mut stream) = std::os::unix::net::UnixStream::connect(&self.socket) {
                    // It is closed in the middle.
                    let _closed = stream.write_all(&vec![0xa5; 1 << 20]);
                }
            }
            Turn::Pause => {
                self.signal("-STOP");
                thread::sleep(Duration::from_millis(200));
                self.signal("-CONT");
            }
            Turn::Kill => {
                let before = bridge_of(&self.live);
                self.signal("-9");
                eventually("another bridge is there", LIMIT, || bridge_of(&self.live).is_some_and(|bridge| Some(bridge) != before));
                eventually("it answers", LIMIT, || ctl(&self.socket, &["status"]).status.success());
            }
        }
    }

    /// A change that must take place.
    fn done(&self, line: &[&str]) {
        let output = ctl(&self.socket, line);
        assert!(output.status.success(), "{line:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn signal(&self, signal: &str) {
        let bridge = bridge_of(&self.live).expect("a bridge");
        assert!(Command::new("kill").args([signal, &bridge.to_string()]).status().unwrap().success());
    }

    /// A ping is answered.
    fn carries(&self) {
        eventually("a ping is answered", LIMIT, || self.topology.call(Place::Host1, || !ping(HOST2, 2).is_empty()));
    }

    fn status(&self) -> Value {
        let mut status = Value::Null;
        eventually("the bridge answers", LIMIT, || {
            let output = ctl(&self.socket, &["status", "--json"]);
            status = serde_json::from_slice(&output.stdout).unwrap_or_default();
            output.status.success()
        });
        status["status"].clone()
    }

    /// Received = delivered + dropped + queued + in flight, in packets and in bytes.
    fn is_conserved(&self) {
        let status = self.status();
        for direction in status["directions"].as_array().expect("directions") {
            for unit in ["packets", "bytes"] {
                let count = |amount: &Value| amount[unit].as_u64().unwrap_or_else(|| panic!("{unit} in {direction}"));
                let dropped: u64 = direction["dropped"].as_object().expect("drops").values().map(count).sum();
                let accounted = dropped + ["delivered", "queued", "in_flight"].map(|key| count(&direction[key])).iter().sum::<u64>();
                assert_eq!(count(&direction["received"]), accounted, "{unit}: {direction}");
            }
        }
        assert_eq!(status["clients"]["defects"], 0, "{status}");
    }

    /// After a minute a bridge has all the memory and descriptors that it needs.
    fn keeps_its_memory(&mut self) {
        let process = bridge_of(&self.live).expect("a bridge");
        let descriptors = fs::read_dir(format!("/proc/{process}/fd")).map_or(0, Iterator::count);
        let Some(known) = self.known.as_mut().filter(|known| known.process == process) else {
            self.bridges += 1;
            self.known = Some(Known { process, since: Instant::now(), memory: None, descriptors });
            return;
        };
        assert!(descriptors <= known.descriptors + MORE_DESCRIPTORS, "{descriptors} descriptors, {} at the start", known.descriptors);
        if known.since.elapsed() > Duration::from_secs(60) {
            let memory = resident(process);
            let first = *known.memory.get_or_insert(memory);
            assert!(memory < first + GROWTH, "{} MB, and {} MB after a minute", memory >> 20, first >> 20);
        }
    }

    fn state(&self) -> String {
        let process = bridge_of(&self.live).unwrap_or_default();
        let received = self.status()["directions"][0]["received"]["packets"].as_u64().unwrap_or_default();
        format!("{} bridges, the last with {} MB and {received} packets", self.bridges, resident(process) >> 20)
    }
}

/// The memory of a process, in bytes.
fn resident(process: u32) -> u64 {
    let status = fs::read_to_string(Path::new("/proc").join(process.to_string()).join("status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or_default() << 10
}

/// Datagrams and TCP from host 1 to host 2, until it is stopped.
struct Load {
    is_over: Arc<AtomicBool>,
    arrived: Arc<[AtomicU64; 2]>,
    threads: Vec<thread::JoinHandle<()>>,
}

impl Load {
    fn start(topology: &Topology) -> Load {
        let (is_over, arrived) = (Arc::new(AtomicBool::new(false)), Arc::new([AtomicU64::new(0), AtomicU64::new(0)]));
        let mut threads = Vec::new();
        let (over, count) = (is_over.clone(), arrived.clone());
        threads.push(topology.inside(Place::Host2, move || {
            let socket = UdpSocket::bind(("0.0.0.0", 6001)).unwrap();
            socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
            while !over.load(Ordering::Relaxed) {
                count[0].fetch_add(u64::from(socket.recv(&mut [0; 2048]).is_ok()), Ordering::Relaxed);
            }
        }));
        let over = is_over.clone();
        threads.push(topology.inside(Place::Host1, move || {
            let socket = UdpSocket::bind(("0.0.0.0", 0)).unwrap();
            while !over.load(Ordering::Relaxed) {
                // While an interface is down there is no way.
                let _no_route = socket.send_to(&[7; 1200], (HOST2, 6001));
                thread::sleep(Duration::from_millis(3));
            }
        }));
        let (over, count) = (is_over.clone(), arrived.clone());
        threads.push(topology.inside(Place::Host2, move || {
            let listener = TcpListener::bind(("0.0.0.0", SINK)).unwrap();
            listener.set_nonblocking(true).unwrap();
            let (mut connections, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
            while !over.load(Ordering::Relaxed) {
                if let Ok((connection, _)) = listener.accept() {
                    connection.set_nonblocking(true).unwrap();
                    connections.push(connection);
                }
                connections.retain_mut(|connection| match connection.read(&mut buffer) {
                    Ok(0) => false,
                    Ok(read) => {
                        count[1].fetch_add(read as u64, Ordering::Relaxed);
                        true
                    }
                    Err(error) => error.kind() == std::io::ErrorKind::WouldBlock,
                });
                thread::sleep(Duration::from_millis(1));
            }
        }));
        let over = is_over.clone();
        threads.push(topology.inside(Place::Host1, move || {
            while !over.load(Ordering::Relaxed) {
                let Ok(mut stream) = TcpStream::connect((HOST2, SINK)) else {
                    thread::sleep(Duration::from_millis(100));
                    continue;
                };
                stream.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
                // A connection lasts a few seconds, so that there are new ones.
                let began = Instant::now();
                while !over.load(Ordering::Relaxed) && began.elapsed() < Duration::from_secs(5) {
                    let _waits = stream.write(&[9; 16_384]);
                    thread::sleep(Duration::from_millis(2));
                }
            }
        }));
        Load { is_over, arrived, threads }
    }

    fn datagrams(&self) -> u64 {
        self.arrived[0].load(Ordering::Relaxed)
    }

    fn bytes(&self) -> u64 {
        self.arrived[1].load(Ordering::Relaxed)
    }

    fn stop(self) {
        assert!(self.datagrams() > 0 && self.bytes() > 0, "the load has arrived");
        self.is_over.store(true, Ordering::Relaxed);
        self.threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}
