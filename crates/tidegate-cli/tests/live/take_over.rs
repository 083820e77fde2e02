//! A new process takes over from the one that carries packets: nothing is lost, nothing comes twice, and no contract grants anything again.

use crate::command::{Ended, Live, notes, pings_pass};
use crate::control::{page, refused, said, told};
use crate::interfaces::second_pair;
use crate::raw::ping;
use crate::stream::{Stream, lost_and_twice};
use crate::subscribers::{self, PLANS};
use crate::topology::{Place, Topology, eventually};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};
use tidegate_live::SNAPSHOT_VERSION;

/// Two queues that fill: "shaped" has 1 Mbit/s and a burst of 30 kB.
const POLICY: &str = r#"
[policy.access]
rate = "20 Mbit/s"
scheduler = "drr"
buffer = { manager = "tail-drop", limit = "4 MB" }
class = [
    { name = "shaped", match = [{ destination_port = 6201 }], weight = 1, shape = { rate = "1 Mbit/s", burst = "30 kB" } },
    { name = "policed", match = [{ destination_port = 6202 }], weight = 1, police = { policer = "gcra", rate = "400 kbit/s", burst = "20 kB" } },
    { name = "steady", match = [{ destination_port = 6200 }], weight = 4 },
    { name = "rest", weight = 2 },
]
"#;

const LIMIT: Duration = Duration::from_secs(15);

/// All numbers came once and in order. Returns how many were sent.
fn whole((sent, received): (u32, Vec<(u32, Instant)>)) -> u32 {
    let (lost, twice) = lost_and_twice(sent, &received);
    assert!(lost.is_empty() && twice.is_empty(), "lost {lost:?}, twice {twice:?} of {sent}");
    assert!(received.is_sorted_by_key(|(number, _)| *number), "the order has changed");
    sent
}

struct Bridge {
    topology: Topology,
    folder: tempfile::TempDir,
    socket: PathBuf,
    policy: PathBuf,
}

impl Bridge {
    fn new() -> Bridge {
        let folder = tempfile::tempdir().unwrap();
        let [socket, policy] = ["control", "access.toml"].map(|name| folder.path().join(name));
        fs::write(&policy, POLICY).unwrap();
        Bridge { topology: Topology::new(), folder, socket, policy }
    }

    fn process(&self, policy: &Path, options: &str) -> Live {
        let line = format!("--in tgb --out tgc --json --control {} {options}", self.socket.display());
        Live::start_policy(&self.topology, policy, &line)
    }

    /// The first process, which carries.
    fn first(&self, options: &str) -> Live {
        let mut live = self.process(&self.policy, options);
        live.log_until("carrying packets through");
        pings_pass(&self.topology);
        live
    }

    /// Another one, which has taken over.
    fn next(&self, policy: &Path, options: &str) -> Live {
        let mut live = self.process(policy, &format!("--take-over {options}"));
        live.log_until("packets are carried on from process");
        live
    }

    fn status(&self) -> Value {
        told(&self.socket, &["status"])["status"].clone()
    }
}

/// The report of a process that another one has followed, which says so in its log.
fn followed(live: Live) -> Ended {
    let ended = live.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let line = ended.log.lines().find(|line| line.contains("carries packets from here on")).unwrap_or_else(|| panic!("{ended:?}"));
    println!("{line}");
    ended
}

fn packets(port: &Value, key: &str) -> u64 {
    port[key]["packets"].as_u64().unwrap_or_else(|| panic!("{key}: {port}"))
}

/// Both directions of a status add up.
fn check_balance(status: &Value) {
    for direction in status["directions"].as_array().unwrap() {
        let dropped: u64 = direction["dropped"].as_object().unwrap().values().map(|amount| amount["packets"].as_u64().unwrap()).sum();
        let accounted = ["delivered", "queued", "in_flight"].into_iter().map(|key| packets(direction, key)).sum::<u64>() + dropped;
        assert_eq!(packets(direction, "received"), accounted, "{direction}");
    }
}

#[test]
fn no_datagram_is_lost_or_comes_twice_when_processes_follow_each_other() {
    let bridge = Bridge::new();
    let mut live = bridge.first("");
    // 2 Mbit/s of short datagrams, and 8 Mbit/s in bursts that queue.
    let steady = Stream::start(&bridge.topology, 6200, 200, (1, Duration::from_millis(1)));
    let bursts = Stream::start(&bridge.topology, 6203, 1200, (60, Duration::from_millis(70)));
    thread::sleep(Duration::from_millis(300));
    for _ in 0..3 {
        let next = bridge.next(&bridge.policy, "");
        followed(std::mem::replace(&mut live, next));
        thread::sleep(Duration::from_millis(300));
        check_balance(&bridge.status());
    }
    let (sent, of_bursts) = (whole(steady.end()), whole(bursts.end()));

    let status = bridge.status();
    assert_eq!((status["take_overs"].as_u64(), status["changes"].as_u64()), (Some(3), Some(0)), "{status}");
    assert!(status["carries_s"].as_f64() < status["uptime_s"].as_f64(), "{status}");
    assert!(said(&bridge.socket, &["status"]).contains("after 3 take-overs"));
    assert!(packets(&status["directions"][0], "received") >= u64::from(sent + of_bursts), "counters begin anew: {status}");
    let classes = told(&bridge.socket, &["show", "classes"]);
    let steady = &classes["classes"]["directions"][0]["classes"][2];
    assert!(packets(steady, "sent") >= u64::from(sent), "records begin anew: {classes}");
    live.signal(libc::SIGTERM);
    let ended = live.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!bridge.socket.exists(), "the last process removes the socket");
    let port = &ended.report()["runs"][0]["ports"][0];
    assert_eq!(packets(port, "offered"), packets(port, "sent"), "{port}");
}

/// What a shaped class sends over the take-over stays within its contract, and so does what a policer lets through: neither gets its burst again.
#[test]
fn contracts_grant_nothing_again() {
    let bridge = Bridge::new();
    let mut live = bridge.first("");
    let shaped = Stream::start(&bridge.topology, 6201, 958, (10, Duration::from_millis(40)));
    let policed = Stream::start(&bridge.topology, 6202, 958, (2, Duration::from_millis(10)));
    let began = Instant::now();
    thread::sleep(Duration::from_millis(1200));
    for _ in 0..4 {
        let next = bridge.next(&bridge.policy, "");
        followed(std::mem::replace(&mut live, next));
        thread::sleep(Duration::from_millis(300));
    }
    for (name, stream, rate, burst) in [("shaped", shaped, 125_000.0, 30_000.0), ("policed", policed, 50_000.0, 20_000.0)] {
        let (sent, received) = stream.end();
        // Frames of 1000 bytes. Arrivals are late by what the machine takes to wake: a packet may seem to come 5 ms early, and two frames are in hand.
        let at = |index: usize| received[index].1.duration_since(began).as_secs_f64();
        let mut level: f64 = 0.0;
        for index in 0..received.len() {
            level = (level - if index > 0 { (at(index) - at(index - 1)) * rate } else { 0.0 }).max(0.0) + 1000.0;
            assert!(level <= burst + 2000.0 + 0.02 * rate, "{name}: {level} bytes ahead at datagram {index} of {}", received.len());
        }
        let expected = burst + rate * at(received.len() - 1);
        println!("{name}: {sent} sent, {} received, {expected:.0} bytes allowed", received.len());
        assert!(1000.0 * received.len() as f64 > 0.7 * (expected - burst), "{name}: {} of {expected}", received.len());
    }
}

#[test]
fn the_file_of_the_new_process_is_applied_to_what_runs() {
    let bridge = Bridge::new();
    let live = bridge.first("");
    said(&bridge.socket, &["set", "policy.access.rate=\"10 Mbit/s\""]);
    let bursts = Stream::start(&bridge.topology, 6203, 1200, (60, Duration::from_millis(100)));
    thread::sleep(Duration::from_millis(300));
    let other = bridge.folder.path().join("other.toml");
    fs::write(&other, POLICY.replace("20 Mbit/s", "15 Mbit/s").replace("\"rest\"", "\"others\"")).unwrap();
    let mut next = bridge.next(&other, "");
    next.log_until("take-over: tgb -> tgc: 1 classes added, 1 removed");
    followed(live);
    thread::sleep(Duration::from_millis(300));
    whole(bursts.end());
    let status = bridge.status();
    assert_eq!(status["directions"][0]["rate_bps"], 15_000_000, "{status}");
    check_balance(&status);
    let message = refused(&bridge.socket, 2, &["set", "policy.access.rate=\"8 Mbut/s\""]);
    assert!(message.contains("Mbut"), "{message}");
}

/// A client of the control socket that speaks the steps of a take-over itself.
struct Stranger {
    stream: BufReader<UnixStream>,
}

impl Stranger {
    fn ask(socket: &Path, snapshot: u32) -> (Stranger, Value) {
        let stream = UnixStream::connect(socket).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        let mut stranger = Stranger { stream: BufReader::new(stream) };
        stranger.say(&format!(r#"{{"version":1,"request":{{"take-over":{{"snapshot":{snapshot},"process":1}}}}}}"#));
        let answer = stranger.heard();
        (stranger, answer)
    }

    fn say(&mut self, line: &str) {
        self.stream.get_mut().write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn heard(&mut self) -> Value {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or(Value::Null)
    }
}

#[test]
fn the_old_process_goes_on_when_the_new_one_dies_or_is_silent() {
    let bridge = Bridge::new();
    let mut live = bridge.first("");
    let stream = Stream::start(&bridge.topology, 6200, 200, (1, Duration::from_millis(1)));
    // Gone before it has built anything, gone while the directions stand still, and silent then.
    drop(Stranger::ask(&bridge.socket, SNAPSHOT_VERSION));
    live.log_until("packets are carried on here");
    let (mut stranger, answer) = Stranger::ask(&bridge.socket, SNAPSHOT_VERSION);
    assert_eq!(answer["answer"]["take-over"]["pairs"][0][0], "tgb", "{answer}");
    stranger.say("\"now\"");
    thread::sleep(Duration::from_millis(100));
    drop(stranger);
    live.log_until("packets are carried on here");
    let (mut stranger, _) = Stranger::ask(&bridge.socket, SNAPSHOT_VERSION);
    stranger.say("\"now\"");
    live.log_until("packets are carried on here");
    // Too late. The message of the snapshot comes first, whose descriptors a plain read closes.
    let _closed = stranger.stream.get_mut().write_all(b"\"carry\"\n");
    let mut bytes = Vec::new();
    let _closed = stranger.stream.read_to_end(&mut bytes);
    let late = String::from_utf8_lossy(&bytes);
    assert!(!late.contains("yours"), "{late}");
    thread::sleep(Duration::from_millis(200));
    whole(stream.end());
    assert!(live.is_running());
    check_balance(&bridge.status());
    // And it can still be followed.
    let next = bridge.next(&bridge.policy, "");
    followed(live);
    drop(next);
}

#[test]
fn a_process_of_another_version_makes_the_old_one_empty_its_queues_first() {
    let bridge = Bridge::new();
    let mut live = bridge.first("");
    let (mut stranger, answer) = Stranger::ask(&bridge.socket, 999);
    assert_eq!(answer["answer"]["take-over"]["snapshot"], SNAPSHOT_VERSION, "{answer}");
    stranger.say("\"drain\"");
    live.log_until("the queues are emptied, and this process ends: process ");
    let ended = live.wait();
    assert!(
        ended.code == Some(0) && ended.log.contains(&format!("which reads snapshots of version 999 and not {SNAPSHOT_VERSION}")),
        "{ended:?}"
    );

    // The other way round: a process that writes another version is waited for.
    let listener = UnixListener::bind(&bridge.socket).unwrap();
    let mut next = bridge.process(&bridge.policy, "--take-over");
    let (stream, _) = listener.accept().unwrap();
    let mut stranger = Stranger { stream: BufReader::new(stream) };
    assert!(stranger.heard()["request"]["take-over"]["process"].is_u64());
    let mut offer = answer;
    offer["answer"]["take-over"]["snapshot"] = (SNAPSHOT_VERSION + 1).into();
    stranger.say(&offer.to_string());
    next.log_until(&format!("empties its queues first and ends, because it writes snapshots of version {}", SNAPSHOT_VERSION + 1));
    assert_eq!(stranger.heard(), "drain");
    next.signal(libc::SIGKILL);
}

#[test]
fn a_process_that_finds_none_to_follow_starts_as_usual_and_one_with_other_interfaces_is_refused() {
    let bridge = Bridge::new();
    let mut live = bridge.process(&bridge.policy, "--take-over");
    live.log_until("this one starts as usual");
    live.log_until("carrying packets through");
    pings_pass(&bridge.topology);
    let line = format!("--in tgc --out tgb --json --control {} --take-over", bridge.socket.display());
    let ended = Live::start_policy(&bridge.topology, &bridge.policy, &line).wait();
    assert!(ended.code == Some(2) && ended.log.contains("joins other interfaces: tgb and tgc"), "{ended:?}");
    live.log_until("packets are carried on here");
    pings_pass(&bridge.topology);
}

/// With guardians: neither of them carries anything, and the second one guards afterwards.
#[test]
fn a_guarded_bridge_is_followed_by_a_guarded_bridge_and_metrics_go_on() {
    let bridge = Bridge::new();
    bridge.topology.within(Place::Middle, "ip link set lo up");
    let metrics = "--fail-open --metrics 127.0.0.1:9177";
    let live = bridge.first(metrics);
    let stream = Stream::start(&bridge.topology, 6200, 200, (1, Duration::from_millis(1)));
    thread::sleep(Duration::from_millis(300));
    let mut next = bridge.next(&bridge.policy, metrics);
    let ended = followed(live);
    assert!(!ended.log.contains("unshaped"), "{ended:?}");
    let (head, page) = page(&bridge.topology, 9177, "/metrics", "Host: 127.0.0.1\r\n");
    assert!(head.starts_with("HTTP/1.1 200") && page.contains("tidegate_"), "{head}{page}");
    thread::sleep(Duration::from_millis(300));
    whole(stream.end());
    // The bridge of the second guardian fails, and comes back as usual.
    let process = crate::fail_open::bridge_of(&next).expect("a bridge");
    assert!(std::process::Command::new("kill").args(["-9", &process.to_string()]).status().unwrap().success());
    next.log_until("error: the bridge ended by signal 9");
    next.log_until("the bridge carries packets again");
    eventually("pings pass again", LIMIT, || told(&bridge.socket, &["status"])["status"]["take_overs"] == 0);
    pings_pass(&bridge.topology);
    next.signal(libc::SIGTERM);
    let ended = next.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!notes(&ended.report()).is_empty());
}

/// A link of 150 ms: what is on it when the processes change leaves at its instant.
#[test]
fn frames_on_an_emulated_link_go_along() {
    let bridge = Bridge::new();
    fs::write(&bridge.policy, POLICY.replace("scheduler =", "link = { delay = \"150 ms\" }\nscheduler =")).unwrap();
    let live = bridge.first("");
    let steady = Stream::start(&bridge.topology, 6200, 200, (1, Duration::from_millis(2)));
    thread::sleep(Duration::from_millis(400));
    let next = bridge.next(&bridge.policy, "");
    let ended = followed(live);
    assert!(notes(&ended.report()).contains("packets went with the link to the process that took over"), "{ended:?}");
    thread::sleep(Duration::from_millis(400));
    whole(steady.end());
    check_balance(&bridge.status());
    drop(next);
}

#[test]
fn all_pairs_of_a_process_are_taken_over_at_once_and_stay_locked() {
    let bridge = Bridge::new();
    let office = POLICY.replace("policy.access", "policy.office").replace("20 Mbit/s", "7 Mbit/s");
    fs::write(&bridge.policy, format!("{POLICY}{office}")).unwrap();
    second_pair(&bridge.topology);
    let options = format!("--pair tgb,tgc=access --pair tgf,tgg=office,access --json --control {}", bridge.socket.display());
    let start = |more: &str| Live::start_policy(&bridge.topology, &bridge.policy, &format!("{options} {more}"));
    let mut live = start("");
    live.log_until("carrying packets");
    pings_pass(&bridge.topology);
    let second = std::net::Ipv4Addr::new(10, 78, 0, 2).into();
    let pings = || bridge.topology.call(Place::Host1, move || ping(second, 3).len());
    eventually("the second pair carries pings", LIMIT, || pings() > 0);
    let delivered = |status: &Value| -> Vec<u64> { (0..4).map(|way| packets(&status["directions"][way], "delivered")).collect() };
    let before = delivered(&bridge.status());
    let mut next = start("--take-over");
    next.log_until("packets are carried on from process");
    followed(live);
    let status = bridge.status();
    assert!(delivered(&status).iter().zip(&before).all(|(now, before)| now >= before && *before > 0), "{before:?}: {status}");
    check_balance(&status);
    pings_pass(&bridge.topology);
    assert!(pings() > 0);
    let rates: Vec<_> = (0..4).map(|way| status["directions"][way]["rate_bps"].as_u64().unwrap() / 1_000_000).collect();
    assert_eq!(rates, [20, 20, 7, 20]);
    let other = Live::start_policy(&bridge.topology, &bridge.policy, "--pair tgx,tgg=office").wait();
    assert_ne!(other.code, Some(0), "{other:?}");
    let ended = Live::start_policy(&bridge.topology, &bridge.policy, "--in tgf --out tgg --policy office").wait();
    assert!(ended.code == Some(3) && ended.log.contains(&next.id().to_string()), "{ended:?}");
}

/// AF_XDP sockets are not handed over: the old process empties its queues, and the new one starts.
#[test]
fn a_process_with_af_xdp_sockets_empties_its_queues_first() {
    let bridge = Bridge::new();
    let live = bridge.first("--io xdp");
    let mut next = bridge.process(&bridge.policy, "--take-over --io xdp");
    next.log_until("empties its queues first and ends, because sockets of this kind are not handed over");
    next.log_until("carrying packets through");
    let ended = live.wait();
    assert!(ended.code == Some(0) && ended.log.contains("the queues are emptied, and this process ends"), "{ended:?}");
    pings_pass(&bridge.topology);
    assert_eq!(bridge.status()["take_overs"], 0);
}

/// Thousands of contracts go along, some of which have sent; how long they stand still is printed, and the longest time without a datagram.
/// `TIDEGATE_SUBSCRIBERS`, `TIDEGATE_ACTIVE` and `TIDEGATE_TAKE_OVERS` say how many there are, how many of them send, and how often they are taken over.
#[test]
fn thousands_of_subscribers_are_taken_over() {
    let bridge = Bridge::new();
    let [count, active] = subscribers::numbers();
    fs::write(&bridge.policy, subscribers::POLICY.replace("1 Gbit/s", "100 Gbit/s")).unwrap();
    fs::write(bridge.folder.path().join("list.csv"), subscribers::wide_list(count)).unwrap();
    fs::write(bridge.folder.path().join("plans.toml"), PLANS).unwrap();
    subscribers::lend_addresses(&bridge.topology);
    let mut live = bridge.process(&bridge.policy, "");
    live.log_within(Duration::from_secs(120), "carrying packets through");
    pings_pass(&bridge.topology);
    said(
        &bridge.socket,
        &[
            "set",
            "policy.isp.subscriber.house 7.plan=\"\"",
            "policy.isp.subscriber.house 7.down=30 Mbit/s",
            "policy.isp.subscriber.house 7.up=3 Mbit/s",
        ],
    );
    subscribers::send(&bridge.topology, &bridge.socket, active);
    let sent = || {
        let classes = told(&bridge.socket, &["show", "classes", "--all"]);
        let classes = classes["classes"]["directions"][0]["classes"].as_array().unwrap();
        let of_houses = classes.iter().filter(|class| class["name"].as_str().is_some_and(|name| name.starts_with("house")));
        of_houses.filter(|class| packets(class, "sent") == 3).count()
    };
    assert_eq!(sent(), active as usize);
    for _ in 0..subscribers::number("TIDEGATE_TAKE_OVERS", 1) {
        let stream = Stream::start(&bridge.topology, 6200, 200, (1, Duration::from_millis(1)));
        let mut next = bridge.process(&bridge.policy, "--take-over");
        next.log_within(Duration::from_secs(120), "packets are carried on from process");
        followed(std::mem::replace(&mut live, next));
        thread::sleep(Duration::from_millis(200));
        whole(stream.end());
    }
    assert_eq!(sent(), active as usize);
    // The edits are in no file, and stay because the file is the same.
    let status = said(&bridge.socket, &["status"]);
    assert!(status.contains("differs from the file: policy.isp.subscriber.house 7.up=3 Mbit/s"), "{status}");
    assert!(said(&bridge.socket, &["why", "10.128.0.7"]).contains("3 Mbit/s"));
    check_balance(&bridge.status());
}
