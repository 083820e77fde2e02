//! The control socket: a bridge is asked and changed under traffic, and loses nothing.

use crate::command::{HOST2, Live, notes, pings_pass};
use crate::topology::{Place, Topology};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Command, Output};
use std::thread;
use std::time::Duration;

pub const POLICY: &str = r#"
[policy.access]
rate = "5 Mbit/s"
scheduler = "drr"
class = [
    { name = "video", match = [{ destination_port = 6001 }], weight = 3 },
    { name = "rest", weight = 1 },
]
"#;

/// Runs `tidegate ctl` in the folder of the socket.
pub fn ctl(socket: &Path, line: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    command.current_dir(socket.parent().expect("a folder"));
    command.args(["ctl", "--control"]).arg(socket).args(line).output().expect("the command runs")
}

/// The answer, as text.
pub fn said(socket: &Path, line: &[&str]) -> String {
    let output = ctl(socket, line);
    assert!(output.status.success(), "{line:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The answer, as JSON.
pub fn told(socket: &Path, line: &[&str]) -> Value {
    serde_json::from_str(&said(socket, &[line, &["--json"]].concat())).unwrap()
}

/// The message of a request that is refused with this exit code.
pub fn refused(socket: &Path, code: i32, line: &[&str]) -> String {
    let output = ctl(socket, line);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{message}");
    message
}

#[test]
fn a_bridge_is_changed_under_traffic_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let [socket, policy, other] = ["control", "access.toml", "other.toml"].map(|name| folder.path().join(name));
    fs::write(&policy, POLICY).unwrap();
    fs::write(&other, POLICY.replace("rest", "others").replace("weight = 3", "weight = 5")).unwrap();
    let topology = Topology::new();
    let live = Live::start_policy(&topology, &policy, &format!("--in tgb --out tgc --json --quiet --control {}", socket.display()));
    pings_pass(&topology);

    // Five datagrams every 15 ms are 4 Mbit/s: most of the time some of them are queued.
    let sending = topology.inside(Place::Host1, || {
        let socket = UdpSocket::bind("0.0.0.0:0").expect("a port");
        for burst in 0..200 {
            for number in 0..5 {
                socket.send_to(&[burst; 1458], (HOST2, 6000 + number % 2)).expect("a datagram can be sent");
            }
            thread::sleep(Duration::from_millis(15));
        }
    });

    let text = said(&socket, &["set", "policy.access.rate=\"8 Mbit/s\"", "--dry-run"]);
    assert!(text.starts_with("nothing was changed"), "{text}");
    assert_eq!(told(&socket, &["status"])["status"]["directions"][0]["rate_bps"], 5_000_000);

    let changed = told(&socket, &["set", "policy.access.rate=\"8 Mbit/s\""]);
    assert_eq!(changed["applied"]["directions"][0]["queues"]["dropped"]["packets"], 0, "{changed}");
    assert_eq!(told(&socket, &["status"])["status"]["directions"][0]["rate_bps"], 8_000_000);

    let message = refused(&socket, 2, &["set", "policy.access.rate=\"8 Mbut/s\""]);
    assert!(message.contains("unknown unit `Mbut/s`") && message.contains("--set"), "{message}");
    assert_eq!(told(&socket, &["status"])["status"]["changes"], 1, "what is wrong changes nothing");

    let file = other.to_str().unwrap();
    let applied = told(&socket, &["apply", file, "--confirm", "1 s"]);
    let there = &applied["applied"]["directions"][0];
    assert_eq!(
        (&there["added"][0], &there["removed"][0], &there["changed"][0]),
        (&"others".into(), &"rest".into(), &"video".into()),
        "{applied}"
    );
    assert_eq!(there["queues"]["dropped"]["packets"], 0, "{applied}");
    thread::sleep(Duration::from_millis(1300));
    assert_eq!(told(&socket, &["status"])["status"]["changes"], 3, "it came back by itself");
    assert!(refused(&socket, 2, &["confirm"]).contains("no change waits"));

    let why = told(&socket, &["why", "10.77.0.2", "--protocol", "17", "--port", "6001", "--length", "200"]);
    let packets = why["why"]["packets"].as_array().unwrap();
    let video = packets.iter().find(|packet| packet["from"] == "tgb" && packet["class"] == "video").unwrap();
    assert_eq!(video["rule"], "{ destination_port = 6001 }", "{why}");
    let frame = ["02".repeat(12), "88b5".into(), "00".repeat(46)].concat();
    assert_eq!(told(&socket, &["why", "--frame", &frame])["why"]["packets"][0]["class"], "rest");

    told(&socket, &["apply", file, "--confirm", "60 s"]);
    assert!(said(&socket, &["confirm"]).contains("stays"));
    told(&socket, &["rollback"]);
    sending.join().unwrap();
    thread::sleep(Duration::from_millis(500));

    let classes = told(&socket, &["show", "classes", "--all"]);
    let there = classes["classes"]["directions"][0]["classes"].as_array().unwrap();
    let names: Vec<&str> = there.iter().map(|class| class["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["video", "rest", "others"]);
    let of = |class: &Value, key: &str| class[key]["packets"].as_u64().unwrap();
    assert!(there.iter().all(|class| of(class, "offered") == of(class, "sent") && class["dropped"] == serde_json::json!({})), "{classes}");
    assert!(there.iter().map(|class| of(class, "sent")).sum::<u64>() >= 1000, "{classes}");
    assert_eq!(there[2]["present"], false);

    live.signal(libc::SIGTERM);
    let ended = live.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = ended.report();
    let port = &report["runs"][0]["ports"][0];
    assert_eq!(of(port, "offered"), of(port, "sent"), "{port}");
    assert_eq!(report["runs"][0]["changes"].as_array().unwrap().len(), 10, "five in each direction");
    assert!(notes(&report).contains("rollback, not confirmed in time"), "{report}");
    assert!(!socket.exists());
    assert!(refused(&socket, 2, &["status"]).contains("there is no such socket"));
}

#[test]
fn a_socket_that_is_taken_stops_the_second_bridge_and_not_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("control");
    let topology = Topology::new();
    let options = format!("--in tgb --out tgc --quiet --control {}", socket.display());
    let mut first = Live::start(&topology, &options);
    pings_pass(&topology);
    let second = Live::start(&topology, &options).wait();
    assert_eq!(second.code, Some(2), "{second:?}");
    assert!(second.log.contains("another process listens there"), "{second:?}");
    assert!(first.is_running() && said(&socket, &["status"]).contains("tgb -> tgc"));
}

/// A policy of two directions comes in place of one for both, and each direction gets its own.
#[test]
fn a_home_gateway_is_applied_and_changed_in_one_direction() {
    let folder = tempfile::tempdir().unwrap();
    let [socket, policy, home] = ["control", "access.toml", "home.toml"].map(|name| folder.path().join(name));
    fs::write(&policy, POLICY).unwrap();
    fs::write(&home, "[policy.home]\nkind = \"home\"\ndown = \"20 Mbit/s\"\nup = \"4 Mbit/s\"\n").unwrap();
    let topology = Topology::new();
    let live = Live::start_policy(&topology, &policy, &format!("--in tgb --out tgc --json --quiet --control {}", socket.display()));
    pings_pass(&topology);
    let rates = || {
        let status = told(&socket, &["status"]);
        [0, 1].map(|index| status["status"]["directions"][index]["rate_bps"].as_u64().unwrap())
    };
    told(&socket, &["apply", home.to_str().unwrap()]);
    assert_eq!(rates(), [4_000_000, 20_000_000], "up from --in to --out, down on the way back");
    told(&socket, &["set", "policy.home.up=\"3 Mbit/s\""]);
    assert_eq!(rates(), [3_000_000, 20_000_000]);
    told(&socket, &["set", "policy.home.tins=diffserv3"]);
    pings_pass(&topology);
    live.signal(libc::SIGTERM);
    let ended = live.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = ended.report();
    let classes = report["runs"][0]["ports"][1]["classes"].as_array().unwrap();
    assert!(classes.iter().any(|class| class["name"] == "voice"), "{report}");
}

/// A request in the middle's namespace, where the bridge listens on the loopback; head and content of the answer.
pub fn page(topology: &Topology, port: u16, path: &str, headers: &str) -> (String, String) {
    let request = format!("GET {path} HTTP/1.1\r\n{headers}\r\n");
    topology.call(Place::Middle, move || {
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).expect("the bridge listens");
        stream.write_all(request.as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, content) = text.split_once("\r\n\r\n").expect("a head");
        (head.to_owned(), content.to_owned())
    })
}

#[test]
fn metrics_are_those_of_the_bridge_and_for_its_own_machine() {
    const PORT: u16 = 9100;
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("access.toml");
    fs::write(&policy, POLICY.replace("rest", "the rest \\\\ of it")).unwrap();
    let topology = Topology::new();
    topology.within(Place::Middle, "ip link set lo up");
    let live = Live::start_policy(
        &topology,
        &policy,
        &format!("--in tgb --out tgc --quiet --json --metrics 127.0.0.1:{PORT} --metrics-classes 1"),
    );
    pings_pass(&topology);
    let host = "Host: 127.0.0.1\r\n";
    let (head, text) = page(&topology, PORT, "/metrics", host);
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("application/openmetrics-text"), "{head}");
    let value = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}: {text}"));
        line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()
    };
    assert!(value("tidegate_packets_total{direction=\"tgb > tgc\",stage=\"received\"}") >= 11.0);
    assert_eq!(value("tidegate_classes_left_out{direction=\"tgb > tgc\"}"), 1.0);
    assert!(text.contains("class=\"the rest \\\\ of it\"") && text.ends_with("# EOF\n"), "{text}");
    let (_, classes) = page(&topology, PORT, "/classes", host);
    let classes: Value = serde_json::from_str(&classes).unwrap();
    assert_eq!(classes["classes"]["directions"][0]["left_out"], 1);
    let (_, watch) = page(&topology, PORT, "/", host);
    let outside = ["http:", "https:", "src=", "@import"]
        .into_iter()
        .find(|reference| watch.replace("http://www.w3.org/2000/svg", "").contains(reference));
    assert_eq!(outside, None, "the page needs no other file");
    assert!(page(&topology, PORT, "/", "Host: evil.example\r\n").0.starts_with("HTTP/1.1 403"));
    live.signal(libc::SIGTERM);
    assert_eq!(live.wait().code, Some(0));
    let refused = Live::start_policy(&topology, &policy, "--in tgb --out tgc --metrics 0.0.0.0:9100").wait();
    assert!(refused.code == Some(2) && refused.log.contains("--metrics-token"), "{refused:?}");
}
