//! Several pairs of interfaces in one process, VLANs of one interface on both sides, and settings of interfaces that change while packets are carried.

use crate::command::{Live, pings_pass};
use crate::control::{POLICY, refused, said, told};
use crate::raw::{RawSocket, ping};
use crate::topology::{Place, Topology, eventually};
use std::fs;
use std::time::Duration;

/// A second pair beside the first: a network of its own, on the same hosts.
pub fn second_pair(topology: &Topology) {
    for (host, ends, address) in [(Place::Host1, ["tge", "tgf"], "10.78.0.1/24"), (Place::Host2, ["tgh", "tgg"], "10.78.0.2/24")] {
        topology.link(ends[0], host, ends[1]);
        topology.within(host, &format!("ip addr add {address} dev {}", ends[0]));
    }
}

#[test]
fn two_pairs_have_policies_of_their_own_and_are_changed_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let [socket, policy] = ["control", "access.toml"].map(|name| folder.path().join(name));
    let office = POLICY.replace("policy.access", "policy.office").replace("5 Mbit/s", "7 Mbit/s");
    fs::write(&policy, format!("{POLICY}{office}")).unwrap();
    let topology = Topology::new();
    second_pair(&topology);
    let options = format!("--pair tgb,tgc=access --pair tgf,tgg=office,access --json --quiet --room 4000 --control {}", socket.display());
    let live = Live::start_policy(&topology, &policy, &options);
    pings_pass(&topology);
    let second = std::net::Ipv4Addr::new(10, 78, 0, 2).into();
    eventually("the second pair carries pings", Duration::from_secs(10), || {
        topology.call(Place::Host1, move || !ping(second, 2).is_empty())
    });

    let directions = || told(&socket, &["status"])["status"]["directions"].as_array().unwrap().clone();
    let named: Vec<String> =
        directions().iter().map(|of| format!("{} {} {}", of["from"], of["to"], of["rate_bps"]).replace('"', "")).collect();
    assert_eq!(named, ["tgb tgc 5000000", "tgc tgb 5000000", "tgf tgg 7000000", "tgg tgf 5000000"]);
    assert!(directions()[2]["delivered"]["packets"].as_u64() > Some(0), "{:?}", directions());

    let changed = told(&socket, &["set", "policy.access.rate=\"6 Mbit/s\""]);
    assert_eq!(changed["applied"]["directions"].as_array().unwrap().len(), 4, "{changed}");
    let rates: Vec<u64> = directions().iter().map(|of| of["rate_bps"].as_u64().unwrap()).collect();
    assert_eq!(rates, [6_000_000, 6_000_000, 7_000_000, 6_000_000]);
    // What the last direction cannot take, none takes.
    let message = refused(&socket, 3, &["set", "policy.office.longest_frame=\"9 kB\""]);
    assert!(message.contains("a longer longest_frame needs a new start"), "{message}");
    assert_eq!(told(&socket, &["status"])["status"]["changes"], 1);
    let why = told(&socket, &["why", "10.78.0.2", "--protocol", "17", "--port", "6001"]);
    assert!(why["why"]["packets"].as_array().unwrap().iter().any(|met| met["from"] == "tgf" && met["class"] == "video"), "{why}");

    live.signal(libc::SIGTERM);
    let ended = live.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = ended.report();
    let ports: Vec<&str> = report["runs"][0]["ports"].as_array().unwrap().iter().map(|port| port["name"].as_str().unwrap()).collect();
    assert_eq!(ports, ["tgb > tgc", "tgc > tgb", "tgf > tgg", "tgg > tgf"]);
    assert_eq!(report["runs"][0]["changes"].as_array().unwrap().len(), 4, "{report}");
}

#[test]
fn pairs_that_cannot_be_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("access.toml");
    fs::write(&policy, POLICY).unwrap();
    let topology = Topology::new();
    for (options, code, text) in [
        ("--pair tgb,tgc --pair tgc,tgx", 2, "tgc is in two pairs"),
        ("--pair tgb,tgb", 2, "tgb is in two pairs"),
        ("--pair tgb", 2, "such as eth1,eth2"),
        ("--pair tgb,tgc=none", 2, "none"),
        ("--pair tgb,tgc --in tgb --out tgc", 2, "cannot be used with"),
        ("--pair tgb,tgc --pair tgx,tgy", 2, "tgx"),
    ] {
        let ended = Live::start_policy(&topology, &policy, options).wait();
        assert!(ended.code == Some(code) && ended.log.contains(text), "{options}: {ended:?}");
    }
}

/// A frame of 60 bytes and its tag, if it has one: kind and control.
fn frame(tag: Option<[u16; 2]>, number: u8) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8];
    tag.into_iter().flatten().for_each(|half| frame.extend(half.to_be_bytes()));
    frame.extend([0x88, 0xb5]);
    frame.extend([number; 46]);
    frame
}

/// Sends frames from host 1, and returns what comes to an interface of a place within a second, by its tag.
fn crossed(topology: &Topology, place: Place, interface: &'static str, sent: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let seen = topology
        .inside(place, move || RawSocket::open(interface, false).see(100, Duration::from_secs(1), |seen| seen.bytes.ends_with(&[7; 46])));
    std::thread::sleep(Duration::from_millis(200));
    topology.call(Place::Host1, move || {
        let socket = RawSocket::open("tga", false);
        sent.iter().for_each(|frame| socket.send(frame));
    });
    seen.join().unwrap().into_iter().map(|seen| seen.bytes).collect()
}

#[test]
fn two_vlans_of_one_interface_are_joined_and_others_stay_out() {
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("access.toml");
    fs::write(&policy, POLICY).unwrap();
    let topology = Topology::new();
    let mut live = Live::start_policy(&topology, &policy, "--in tgb:100 --out tgb:200 --json");
    live.log_until("carrying packets");
    let [of_100, of_200, of_300] = [100, 200, 300].map(|vlan| frame(Some([0x8100, 0xb000 + vlan]), 7));
    let sent = vec![of_300, frame(None, 7), of_100.clone(), of_200.clone()];
    let mut seen = crossed(&topology, Place::Host1, "tga", sent);
    seen.sort();
    assert_eq!(seen, [of_100, of_200], "each in the other VLAN with its priority, and nothing else");
    live.signal(libc::SIGTERM);
    let ended = live.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let ports = &ended.report()["runs"][0]["ports"];
    assert_eq!((&ports[0]["name"], &ports[0]["sent"]["packets"]), (&"tgb:100 > tgb:200".into(), &1.into()), "{ports}");
}

#[test]
fn a_vlan_is_joined_with_an_interface_without_tags() {
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("access.toml");
    fs::write(&policy, POLICY).unwrap();
    let topology = Topology::new();
    let mut live = Live::start_policy(&topology, &policy, "--in tgb:100 --out tgc --json");
    live.log_until("carrying packets");
    let sent = vec![frame(Some([0x8100, 300]), 7), frame(None, 7), frame(Some([0x8100, 100]), 7)];
    assert_eq!(crossed(&topology, Place::Host2, "tgd", sent), [frame(None, 7)]);
    // The other way: untagged frames get the tag.
    let seen = topology
        .inside(Place::Host1, || RawSocket::open("tga", false).see(1, Duration::from_secs(2), |seen| seen.bytes.ends_with(&[7; 46])));
    std::thread::sleep(Duration::from_millis(200));
    topology.call(Place::Host2, || {
        let socket = RawSocket::open("tgd", false);
        socket.send(&frame(Some([0x8100, 5]), 7));
        socket.send(&frame(None, 7));
    });
    let seen: Vec<Vec<u8>> = seen.join().unwrap().into_iter().map(|seen| seen.bytes).collect();
    assert_eq!(seen, [frame(Some([0x8100, 100]), 7)]);
    live.signal(libc::SIGTERM);
    assert_eq!(live.wait().code, Some(0));
    for (options, text) in [
        ("--in tgb:0 --out tgc", "from 1 to 4094"),
        ("--in tgb:7 --out tgb:7", "both sides"),
        ("--in none:7 --out tgc", "there is no interface"),
    ] {
        let ended = Live::start_policy(&topology, &policy, options).wait();
        assert!(ended.code == Some(2) && ended.log.contains(text), "{ended:?}");
    }
}

#[test]
fn settings_of_interfaces_are_watched_while_packets_are_carried() {
    let folder = tempfile::tempdir().unwrap();
    let [socket, policy] = ["control", "access.toml"].map(|name| folder.path().join(name));
    fs::write(&policy, POLICY).unwrap();
    let topology = Topology::new();
    let mut live = Live::start_policy(&topology, &policy, &format!("--in tgb --out tgc --json --quiet --control {}", socket.display()));
    pings_pass(&topology);
    let warnings = || told(&socket, &["status"])["status"]["warnings"].to_string();
    assert_eq!(warnings(), "[]");
    for (line, undone, text) in [
        ("ip addr add 10.77.0.9/24 dev tgb", "ip addr flush dev tgb", "tgb has an address of this host"),
        ("ip link set tgc mtu 1400", "ip link set tgc mtu 1500", "tgb has an MTU of 1500 bytes and tgc one of 1400"),
    ] {
        topology.within(Place::Middle, line);
        assert!(live.log_until(text).starts_with("warning: "));
        eventually(text, Duration::from_secs(20), || warnings().contains(text));
        assert!(said(&socket, &["status"]).contains(text));
        topology.within(Place::Middle, undone);
        eventually("the warning ends", Duration::from_secs(20), || warnings() == "[]");
    }
    topology.within(Place::Middle, "ip link add tgbr type bridge");
    topology.within(Place::Middle, "ip link set tgb master tgbr");
    live.log_until("tgb is a port of tgbr");
    topology.within(Place::Middle, "ip link set tgb nomaster");
    topology.within(Place::Middle, "ip link set tgc down");
    live.log_until("tgc is down");
    eventually("the outage is in the state", Duration::from_secs(20), || warnings().contains("warning: tgc is down"));
    topology.within(Place::Middle, "ip link set tgc up");
    pings_pass(&topology);
    eventually("the outage ends", Duration::from_secs(20), || warnings() == "[]");
    live.signal(libc::SIGTERM);
    assert_eq!(live.wait().code, Some(0));
}

#[test]
fn the_sockets_of_a_bridge_are_told_and_shown() {
    let folder = tempfile::tempdir().unwrap();
    let [socket, policy] = ["control", "access.toml"].map(|name| folder.path().join(name));
    fs::write(&policy, POLICY).unwrap();
    let topology = Topology::new();
    for (io, told_at_start, shown) in [
        ("xdp", "tgb and tgc: AF_XDP: tgb native, copied by the kernel, 1 queue", "AF_XDP"),
        ("auto", "tgb and tgc: packet sockets, because tgb is no network card", "because tgb is no network card"),
        ("packet", "", "tgb and tgc: packet sockets"),
    ] {
        let options = format!("--in tgb --out tgc --json --quiet --io {io} --control {}", socket.display());
        let mut live = Live::start_policy(&topology, &policy, &options);
        pings_pass(&topology);
        if !told_at_start.is_empty() {
            live.log_until(told_at_start);
        }
        let sockets = told(&socket, &["status"])["status"]["sockets"].to_string();
        assert!(sockets.contains(shown) && said(&socket, &["status"]).contains(shown), "{sockets}");
        live.signal(libc::SIGTERM);
        assert_eq!(live.wait().code, Some(0));
    }
    let ended = Live::start_policy(&topology, &policy, "--in tgb --out tgc --io dpdk").wait();
    assert!(ended.code == Some(2) && ended.log.contains("[possible values: packet, xdp, auto]"), "{ended:?}");
}
