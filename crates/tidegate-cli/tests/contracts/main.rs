//! Ten thousand contracts kept on real interfaces: `tidegate live` shapes as many UDP flows between namespaces, what arrives is captured
//! with the kernel's timestamps, and `tidegate replay` polices every stream of the capture by its own contract.
//!
//! Needs root, as the tests of `tidegate-live` do.
#![allow(unsafe_code)]

#[path = "../../../tidegate-live/tests/namespaces/topology.rs"]
#[allow(dead_code)]
mod topology;

use std::fmt::Write;
use std::fs::File;
use std::io::{self, BufWriter};
use std::net::UdpSocket;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tidegate_replay::{CaptureWriter, Interface};
use tidegate_wire::LinkType;
use topology::{Place, Topology, eventually};

const FLOWS: u16 = 10_000;
const FIRST_PORT: u16 = 20_000;
/// Datagrams of one flow, more than its contract lets pass while the capture lasts.
const DATAGRAMS: usize = 12;
const PAYLOAD: usize = 480;
/// For how long is captured, from the first datagram on.
const CAPTURED: Duration = Duration::from_secs(5);

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
        "police = {{ policer = \"gcra\", rate = \"{bits_per_second} bit/s\", burst = \"1600 B\", delay_variation_tolerance = \"60 ms\", \
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
    let reached = || {
        topology.call(Place::Host1, || {
            let probe = Command::new("ping").args(["-c", "1", "-W", "1", "10.77.0.2"]).output();
            probe.is_ok_and(|output| output.status.success())
        })
    };
    eventually("the bridge carries packets", Duration::from_secs(60), reached);

    let stop = Arc::new(AtomicBool::new(false));
    let capture = folder.join("arrivals.pcapng");
    let capturing = {
        let (stop, capture) = (Arc::clone(&stop), capture.clone());
        topology.inside(Place::Host2, move || record("tgd", &capture, &stop))
    };
    topology.call(Place::Host1, || {
        let socket = UdpSocket::bind("10.77.0.1:0").unwrap();
        let started = Instant::now();
        for number in 0..DATAGRAMS {
            for flow in 0..FLOWS {
                // Scattered, so that neighbours in time are no neighbours in the tables.
                let flow = (u32::from(flow) * 7_919 % u32::from(FLOWS)) as u16;
                socket.send_to(&[number as u8; PAYLOAD], ("10.77.0.2", FIRST_PORT + flow)).unwrap();
            }
            let due = started + Duration::from_millis(200) * (number as u32 + 1);
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
        }
        std::thread::sleep((started + CAPTURED).saturating_duration_since(Instant::now()));
    });
    stop.store(true, Ordering::Relaxed);
    let captured = capturing.join().unwrap();
    // 10,000 flows of 8 kbit/s at 4368 bits a packet, for five seconds, less what does not fit at the end of an interval.
    assert!(captured > 70_000, "{captured} packets were captured");

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
    assert_eq!(flows.len(), usize::from(FLOWS) + 1);
    let drops = flows.iter().flat_map(|flow| flow["drops"].as_array().expect("a list of drops"));
    drops.filter(|drop| drop["reason"] == "policed").map(|drop| drop["volume"]["packets"].as_u64().expect("a number")).sum()
}

/// Captures the test's datagrams on an interface of this thread's namespace until told to stop; returns their number.
fn record(interface: &str, path: &Path, stop: &AtomicBool) -> usize {
    let socket = open(interface);
    let interfaces = [Interface { name: None, link_type: 1, link: LinkType::Ethernet }];
    let mut file = CaptureWriter::new(BufWriter::new(File::create(path).unwrap()), "arrivals").unwrap();
    let mut bytes = vec![0; 2048];
    let mut captured = 0;
    while !stop.load(Ordering::Relaxed) {
        let Some((length, nanoseconds)) = receive(&socket, &mut bytes) else { continue };
        let frame = &bytes[..length];
        // Ethernet, IPv4 without options, UDP, and a port of ours.
        let port = frame.get(36..38).map_or(0, |port| u16::from_be_bytes([port[0], port[1]]));
        if frame.get(12..14) == Some(&[8, 0]) && frame[23] == 17 && (FIRST_PORT..FIRST_PORT + FLOWS).contains(&port) {
            file.write(&interfaces, 0, nanoseconds, length as u32, frame, None).unwrap();
            captured += 1;
        }
    }
    file.finish().unwrap();
    captured
}

fn open(interface: &str) -> std::os::fd::OwnedFd {
    use std::os::fd::{FromRawFd, OwnedFd};
    let name = std::ffi::CString::new(interface).unwrap();
    // SAFETY: plain system calls with arguments that live for the calls; the descriptor is owned once it is known to be one.
    unsafe {
        let descriptor = libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0);
        assert!(descriptor >= 0, "{}", io::Error::last_os_error());
        let socket = OwnedFd::from_raw_fd(descriptor);
        let set = |level, option, value: i32| {
            let refused = libc::setsockopt(descriptor, level, option, std::ptr::from_ref(&value).cast(), size_of::<i32>() as u32);
            assert_eq!(refused, 0, "{}", io::Error::last_os_error());
        };
        set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1);
        set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, 64 << 20);
        let mut address: libc::sockaddr_ll = std::mem::zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = libc::if_nametoindex(name.as_ptr()) as i32;
        let bound = libc::bind(descriptor, std::ptr::from_ref(&address).cast(), size_of_val(&address) as u32);
        assert_eq!(bound, 0, "binding to {interface}: {}", io::Error::last_os_error());
        socket
    }
}

/// The length of the next frame and when the kernel saw it, in nanoseconds since 1970; `None` if there was none for some milliseconds.
fn receive(socket: &std::os::fd::OwnedFd, bytes: &mut [u8]) -> Option<(usize, u64)> {
    use std::os::fd::AsRawFd;
    #[repr(align(8))]
    struct Control([u8; 64]);
    let mut control = Control([0; 64]);
    let mut entry = libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one entry to poll; then a message of one buffer and one control buffer, which live for the call, and a walk over the control
    // messages that the kernel wrote.
    unsafe {
        if libc::poll(&mut entry, 1, 20) != 1 {
            return None;
        }
        let mut piece = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &mut piece;
        message.msg_iovlen = 1;
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = control.0.len() as _;
        let length = usize::try_from(libc::recvmsg(socket.as_raw_fd(), &mut message, libc::MSG_DONTWAIT)).ok()?;
        let mut header = libc::CMSG_FIRSTHDR(&message);
        while !header.is_null() {
            if (*header).cmsg_level == libc::SOL_SOCKET && (*header).cmsg_type == libc::SCM_TIMESTAMPNS {
                let time = libc::CMSG_DATA(header).cast::<libc::timespec>().read_unaligned();
                return Some((length, time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64));
            }
            header = libc::CMSG_NXTHDR(&message, header);
        }
        None
    }
}
