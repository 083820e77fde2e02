//! A node of integrated services by its preset, between namespaces: a class comes, gets another rate, and goes, and no packet is lost.

use crate::command::{HOST2, Live, notes, pings_pass};
use crate::topology::{Place, Topology};
use std::fs;
use std::net::UdpSocket;
use std::thread;
use std::time::Duration;

/// Five datagrams every 15 ms are 4 Mbit/s: most of the time some of them are queued.
const BURSTS: u8 = 200;

#[test]
fn a_class_that_comes_is_given_more_and_goes_under_the_preset_costs_no_packet() {
    let policy = std::env::temp_dir().join(format!("tidegate-live-preset-{}.toml", std::process::id()));
    fs::write(
        &policy,
        r#"
[policy.node]
kind = "intserv"
rate = "5 Mbit/s"
class = [
    { name = "voice", match = [{ destination_port = 6000 }], service_class = "guaranteed", rate = "2 Mbit/s" },
    { name = "rest" },
]

[[change]]
at = "2 s"
add = { policy = { node = { class = [
    { name = "video", match = [{ destination_port = 6001 }], service_class = "controlled-load", rate = "1 Mbit/s" },
] } } }

[[change]]
at = "2500 ms"
set = { "policy.node.class.video.rate" = "2 Mbit/s" }

[[change]]
at = "3 s"
remove = ["policy.node.class.video"]
"#,
    )
    .unwrap();
    let topology = Topology::new();
    let live = Live::start_policy(&topology, &policy, "--in tgb --out tgc --json");
    pings_pass(&topology);
    topology.call(Place::Host1, || {
        let socket = UdpSocket::bind("0.0.0.0:0").expect("a port");
        for burst in 0..BURSTS {
            for number in 0..5 {
                socket.send_to(&[burst; 1458], (HOST2, 6000 + number % 2)).expect("a datagram can be sent");
            }
            thread::sleep(Duration::from_millis(15));
        }
    });
    thread::sleep(Duration::from_millis(500));
    live.signal(libc::SIGTERM);
    let ended = live.wait();
    fs::remove_file(policy).unwrap();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = ended.report();
    let notes = notes(&report);
    assert_eq!(notes.matches("Change at").count(), 6, "three in each direction: {notes}");
    assert_eq!(notes.matches(", 0 were dropped").count(), 6, "{notes}");
    let listed = report["runs"][0]["changes"].as_array().unwrap();
    assert!(listed.len() == 6 && listed.iter().all(|change| change["done"]["gap_s"].as_f64().is_some()), "{listed:?}");
    let port = &report["runs"][0]["ports"][0];
    let packets = |value: &serde_json::Value| value["packets"].as_u64().unwrap();
    assert_eq!(packets(&port["offered"]), packets(&port["sent"]), "{port}");
    assert!(packets(&port["sent"]) >= u64::from(BURSTS) * 5, "{port}");
    let video = port["classes"].as_array().unwrap().iter().find(|class| class["name"] == "video").unwrap();
    assert!(packets(&video["sent"]) > 30, "{port}");
}

/// The home is at `--in`: what it sends to a port goes up in the class of that port, and the answers come down in the same class.
#[test]
fn the_home_preset_sorts_both_directions_by_rules_written_once() {
    const CALLS: u8 = 50;
    let policy = std::env::temp_dir().join(format!("tidegate-live-home-{}.toml", std::process::id()));
    fs::write(
        &policy,
        r#"
[policy.home]
kind = "home"
down = "20 Mbit/s"
up = "5 Mbit/s"
overhead = "ethernet"

[[policy.home.class]]
name = "game"
match = [{ protocol = "udp", destination_port = 6000 }]
"#,
    )
    .unwrap();
    let topology = Topology::new();
    let mut live = Live::start_policy(&topology, &policy, "--in tgb --out tgc --json");
    live.log_until("carrying packets through home.up and home.down");
    pings_pass(&topology);
    thread::scope(|scope| {
        let server = scope.spawn(|| {
            topology.call(Place::Host2, || {
                let socket = UdpSocket::bind("0.0.0.0:6000").expect("a port");
                socket.set_read_timeout(Some(Duration::from_secs(2))).expect("a limit");
                let mut buffer = [0; 100];
                let mut answered = 0;
                while let Ok((length, from)) = socket.recv_from(&mut buffer) {
                    socket.send_to(&buffer[..length], from).expect("an answer can be sent");
                    answered += 1;
                }
                answered
            })
        });
        topology.call(Place::Host1, || {
            let socket = UdpSocket::bind("0.0.0.0:0").expect("a port");
            for call in 0..CALLS {
                socket.send_to(&[call; 80], (HOST2, 6000)).expect("a datagram can be sent");
                thread::sleep(Duration::from_millis(5));
            }
        });
        assert!(server.join().expect("an echo") >= i32::from(CALLS) - 2);
    });
    live.signal(libc::SIGTERM);
    let ended = live.wait();
    fs::remove_file(policy).unwrap();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = ended.report();
    for port in report["runs"][0]["ports"].as_array().unwrap() {
        let game = port["classes"].as_array().unwrap().iter().find(|class| class["name"] == "game").unwrap();
        let sent = game["sent"]["packets"].as_u64().unwrap();
        assert!((u64::from(CALLS) - 2..=u64::from(CALLS)).contains(&sent), "{port}");
    }
}
