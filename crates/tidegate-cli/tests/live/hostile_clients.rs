//! A running bridge under hostile clients: connections that say nothing, requests that never end, garbage, and a scrape after the other.
//!
//! The gate looks at what is refused, counted and kept in memory. `TIDEGATE_HOSTILE_SECONDS=20` also prints the delays of packets without and with 1,000 idle
//! connections, half-open ones, a gigabyte of garbage and a scrape per millisecond, and how many scrapes were served. Packets are then carried on core 0, and
//! clients run and are served on core 1.

use crate::command::{HOST2, Live, pings_pass};
use crate::control::{POLICY, page, told};
use crate::raw::{RawSocket, run_first, stay_on};
use crate::topology::{Place, Topology, eventually};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

const PORT: u16 = 9100;
const HOST: &str = "Host: 127.0.0.1\r\n";
/// Clients that scrape in turns, one per millisecond in all. With the half-open ones they are as many as the pages let in.
const SCRAPERS: usize = 7;
/// The bytes that a bridge with a small policy may have used at most, when clients have filled what they may.
const MOST_MEMORY: u64 = 600 << 20;

#[test]
fn hostile_clients_are_refused_and_counted_and_packets_pass() {
    let seconds: Option<u64> =
        std::env::var("TIDEGATE_HOSTILE_SECONDS").ok().map(|text| text.parse().expect("TIDEGATE_HOSTILE_SECONDS is a number"));
    let folder = tempfile::tempdir().unwrap();
    let [socket, policy] = ["control", "access.toml"].map(|name| folder.path().join(name));
    fs::write(&policy, POLICY.replace("5 Mbit/s", "100 Mbit/s")).unwrap();
    let topology = Topology::new();
    topology.within(Place::Middle, "ip link set lo up");
    let options = format!("--in tgb --out tgc --json --quiet --control {} --metrics 127.0.0.1:{PORT}", socket.display());
    let live = Live::start_policy(&topology, &policy, &options);
    pings_pass(&topology);

    let alone = seconds.map(|seconds| {
        separate_cores(live.id());
        delays(&topology, Duration::from_secs(seconds))
    });
    let garbage = seconds.map_or(96 << 20, |_| 1 << 30);
    let clients = Clients::start(&topology, &socket, garbage, seconds.is_some());
    if let (Some(seconds), Some(alone)) = (seconds, alone) {
        let served = || state(&topology).map(|status| status["pages"]["served"].as_u64().unwrap_or(0));
        let (began, before) = (Instant::now(), served());
        let beside = delays(&topology, Duration::from_secs(seconds));
        println!("delays in us: {alone} alone, {beside} beside hostile clients");
        match before.zip(served()) {
            Some((before, after)) => println!("{:.0} pages served per second", (after - before) as f64 / began.elapsed().as_secs_f64()),
            None => println!("the page of the state was not served in time, so that pages were not counted"),
        }
    }
    pings_pass(&topology);
    clients.garbage_is_sent();
    let status = counted(&topology, |counts, pages| {
        let above = |count: &Value, limit| count.as_u64() > Some(limit);
        let refused = above(&counts["too_many"], 900) && above(&counts["over_limit"], 0);
        refused && above(&pages["over_limit"], 0) && above(&pages["too_many"], 0) && above(&pages["served"], 20)
    });
    println!("{} and {}", status["clients"], status["pages"]);
    assert!(status["clients"]["connected"].as_u64() <= Some(64), "{status}");
    assert_eq!(status["clients"]["defects"], 0, "{status}");
    let memory = peak_memory(live.id());
    println!("{} MB at most", memory >> 20);
    assert!(memory < MOST_MEMORY, "{memory} bytes");

    clients.stop();
    eventually("clients are answered again", Duration::from_secs(20), || UnixStream::connect(&socket).is_ok_and(is_answered));
    assert!(page(&topology, PORT, "/metrics", HOST).0.starts_with("HTTP/1.1 200"));
    assert_eq!(told(&socket, &["status"])["status"]["directions"][0]["lost_in_kernel"], 0);
    live.signal(libc::SIGTERM);
    let ended = live.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

/// Waits until the page of the state, which has connections to spare, counts what it should.
fn counted(topology: &Topology, holds: impl Fn(&Value, &Value) -> bool) -> Value {
    let mut status = Value::Null;
    eventually("every limit is counted", Duration::from_secs(30), || {
        let Some(present) = state(topology) else { return false };
        status = present;
        holds(&status["clients"], &status["pages"])
    });
    status
}

/// The state, unless the page has too many clients at the moment.
fn state(topology: &Topology) -> Option<Value> {
    let text = topology.call(Place::Middle, || get("/status").ok())?;
    let (_, content) = text.split_once("\r\n\r\n")?;
    serde_json::from_str::<Value>(content).ok().map(|answer| answer["status"].clone())
}

fn get(path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", PORT))?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\n{HOST}\r\n").as_bytes())?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

fn is_answered(mut stream: UnixStream) -> bool {
    let mut answer = [0; 64];
    stream.write_all(b"{\"version\":1,\"request\":\"status\"}\n").is_ok()
        && stream.read(&mut answer).is_ok_and(|read| answer[..read].starts_with(b"{\"version\":1,\"answer\""))
}

/// The most memory that a process has had.
fn peak_memory(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("the process runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a line of the peak");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
}

/// Carries packets on core 0, and everything else of the process on core 1.
fn separate_cores(process: u32) {
    for thread in fs::read_dir(format!("/proc/{process}/task")).expect("the process runs").flatten() {
        let name = fs::read_to_string(thread.path().join("comm")).unwrap_or_default();
        let core = if name.starts_with("tidegate-0") || name.starts_with("tidegate-1") { "0" } else { "1" };
        let number = thread.file_name();
        let done = Command::new("taskset").args(["-pc", core]).arg(&number).output().expect("taskset runs");
        assert!(done.status.success(), "{number:?}: {}", String::from_utf8_lossy(&done.stderr));
    }
}

/// The median and the 99th percentile of the time from sending to the stamp on host 2, of 1,000 datagrams per second.
fn delays(topology: &Topology, time: Duration) -> String {
    let stop = Arc::new(AtomicBool::new(false));
    let until = stop.clone();
    let captured = topology.inside(Place::Host2, move || {
        stay_on(0);
        let socket = RawSocket::open("tgd", false);
        let mut delays = Vec::new();
        socket.each(&until, |seen| {
            if let Some(bytes) = seen.bytes.get(42..50).filter(|_| seen.bytes[23] == 17) {
                let sent = Duration::from_nanos(u64::from_be_bytes(bytes.try_into().expect("eight bytes")));
                delays.extend(seen.at.checked_sub(sent));
            }
        });
        delays
    });
    topology.call(Place::Host1, move || {
        stay_on(0);
        run_first();
        let socket = UdpSocket::bind("0.0.0.0:0").expect("a port");
        let began = Instant::now();
        while began.elapsed() < time {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
            let mut payload = [0; 200];
            payload[..8].copy_from_slice(&(now.as_nanos() as u64).to_be_bytes());
            socket.send_to(&payload, (HOST2, 6001)).expect("a datagram can be sent");
            thread::sleep(Duration::from_millis(1));
        }
    });
    thread::sleep(Duration::from_millis(200));
    stop.store(true, Ordering::Relaxed);
    let mut delays = captured.join().expect("the capture ends");
    delays.sort();
    let quantile = |part: usize| delays[(delays.len() - 1) * part / 100].as_micros();
    format!("{} and {} (p50 and p99 of {})", quantile(50), quantile(99), delays.len())
}

/// Clients of every kind, until they are stopped.
struct Clients {
    stop: Arc<AtomicBool>,
    garbage: JoinHandle<()>,
    others: Vec<JoinHandle<()>>,
}

impl Clients {
    fn start(topology: &Topology, socket: &Path, garbage: usize, separate: bool) -> Clients {
        let stop = Arc::new(AtomicBool::new(false));
        let client = |work: Box<dyn FnOnce(&AtomicBool) + Send>| {
            let until = stop.clone();
            topology.inside(Place::Middle, move || {
                if separate {
                    stay_on(1);
                }
                work(&until);
            })
        };
        let path = |_| socket.to_owned();
        let [idle, of_garbage] = [0, 1].map(path);
        // Garbage first: the idle ones take all other places.
        let garbage = client(Box::new(move |until| send_garbage(&of_garbage, garbage, until)));
        thread::sleep(Duration::from_millis(100));
        let mut others = vec![client(Box::new(move |until| stay_idle(&idle, until))), client(Box::new(stay_half_open))];
        let (began, taken) = (Instant::now(), Arc::new(AtomicU32::new(0)));
        others.extend((0..SCRAPERS).map(|_| {
            let taken = taken.clone();
            client(Box::new(move |until| scrape(began, &taken, until)))
        }));
        Clients { stop, garbage, others }
    }

    fn garbage_is_sent(&self) {
        eventually("all garbage is sent", Duration::from_secs(60), || self.garbage.is_finished());
    }

    fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        self.garbage.join().expect("a client ends");
        self.others.into_iter().for_each(|client| client.join().expect("a client ends"));
    }
}

/// Scrapes at every instant that no other of these clients has taken: they are a millisecond apart.
fn scrape(began: Instant, taken: &AtomicU32, until: &AtomicBool) {
    while !until.load(Ordering::Relaxed) {
        let instant = Duration::from_millis(taken.fetch_add(1, Ordering::Relaxed).into());
        thread::sleep(instant.saturating_sub(began.elapsed()));
        let _refused = get("/metrics");
    }
}

/// 1,000 connections which ask nothing.
fn stay_idle(socket: &PathBuf, until: &AtomicBool) {
    let connections: Vec<_> = (0..1000).map(|_| UnixStream::connect(socket)).collect();
    while !until.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_millis(20));
    }
    drop(connections);
}

/// Requests for pages of which one byte more comes now and then: more at first than are let in, then 24 at a time.
fn stay_half_open(until: &AtomicBool) {
    let crowd: Vec<_> = (0..64).map(|_| TcpStream::connect(("127.0.0.1", PORT))).collect();
    thread::sleep(Duration::from_millis(500));
    drop(crowd);
    let mut connections = Vec::new();
    while !until.load(Ordering::Relaxed) {
        while connections.len() < 24 {
            let Ok(mut stream) = TcpStream::connect(("127.0.0.1", PORT)) else { break };
            let _closed = stream.write_all(b"GET / HTTP/1.1\r\nX: ");
            connections.push(stream);
        }
        thread::sleep(Duration::from_millis(100));
        connections.retain_mut(|stream| stream.write_all(b"a").is_ok());
    }
}

/// Bytes without a line, on one connection after the other.
fn send_garbage(socket: &PathBuf, bytes: usize, until: &AtomicBool) {
    let block: Vec<u8> = (0..1 << 16).map(|number: u32| (number.wrapping_mul(2_654_435_761) >> 24) as u8 | 0x80).collect();
    let mut left = bytes / block.len();
    while left > 0 && !until.load(Ordering::Relaxed) {
        let Ok(mut stream) = UnixStream::connect(socket) else { continue };
        while left > 0 && stream.write_all(&block).is_ok() {
            left -= 1;
        }
    }
}
