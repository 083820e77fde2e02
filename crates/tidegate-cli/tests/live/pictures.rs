//! Pictures of the page for the book, taken while the operator's walk goes on: `TIDEGATE_PICTURES=1` writes `docs/images/town-light.png` and `town-dark.png`.
//!
//! Chromium's clock stands still while an answer is awaited. A server between it and the bridge answers once a second, so that the page sees real time.

use crate::chromium;
use crate::command::HOST2;
use crate::topology::{Place, Topology};
use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The port of the slow server.
const SLOW: u16 = 9101;
/// How long the page is open.
const OPEN: Duration = Duration::from_secs(40);
/// Houses that send beside the first, from 10.128.0.2 on, and get answers.
const HOUSES: u8 = 24;

/// Two pictures that are being taken, and the traffic for them.
pub struct Pictures {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    taken: JoinHandle<()>,
}

impl Pictures {
    /// Opens the page of the bridge at this port, if `TIDEGATE_PICTURES` is set.
    pub fn start(topology: &Topology, port: u16) -> Option<Pictures> {
        std::env::var_os("TIDEGATE_PICTURES")?;
        let stop = Arc::new(AtomicBool::new(false));
        for house in 2..2 + HOUSES {
            topology.within(Place::Host1, &format!("ip addr add 10.128.0.{house}/32 dev tga"));
        }
        topology.within(Place::Host2, "ip route add 10.128.0.0/16 dev tgd");
        let house = |number| IpAddr::V4(Ipv4Addr::new(10, 128, 0, number));
        let from_houses = (2..2 + HOUSES).map(|number| (house(number), HOST2, Duration::from_micros(900 * u64::from(number))));
        let to_houses = (2..2 + HOUSES).map(|number| (HOST2, house(number), Duration::from_micros(300 * u64::from(number))));
        let [until_up, until_down, until] = [(); 3].map(|()| stop.clone());
        let (up, down): (Vec<_>, Vec<_>) = (from_houses.collect(), to_houses.collect());
        let threads = vec![
            topology.inside(Place::Host1, move || send(&up, &until_up)),
            topology.inside(Place::Host2, move || send(&down, &until_down)),
            topology.inside(Place::Middle, move || serve_slowly(port, &until)),
        ];
        // One after the other: two browsers at once may wait for each other.
        let taken = topology.inside(Place::Middle, || {
            for (name, scheme) in [("light", "1"), ("dark", "0")] {
                let file = format!("{}/../../docs/images/town-{name}.png", env!("CARGO_MANIFEST_DIR"));
                let budget = format!("--virtual-time-budget={}", OPEN.as_millis());
                let scheme = format!("--blink-settings=preferredColorScheme={scheme}");
                let screenshot = format!("--screenshot={file}");
                let shown = chromium::open(
                    &format!("http://127.0.0.1:{SLOW}/"),
                    &["--window-size=1280,1000", "--hide-scrollbars", &screenshot, &scheme, &budget],
                );
                // The page is answered late on purpose.
                let others: Vec<_> = shown.messages.iter().filter(|message| !message.contains("Slow network is detected")).collect();
                assert!(others.is_empty(), "{others:#?}");
                assert!(shown.dom.contains("data-drawn=\"true\""), "the page is not drawn: {}", shown.dom);
                println!("{file}: {} bytes", std::fs::metadata(&file).expect("a picture").len());
            }
        });
        thread::sleep(Duration::from_secs(10));
        Some(Pictures { stop, threads, taken })
    }

    /// Waits until they are taken.
    pub fn finish(self) {
        self.taken.join().expect("both pictures are taken");
        self.stop.store(true, Ordering::Relaxed);
        self.threads.into_iter().for_each(|thread| thread.join().expect("a thread ends"));
    }
}

/// Sends a datagram of 1,200 bytes for each flow as often as its gap says.
fn send(flows: &[(IpAddr, IpAddr, Duration)], stop: &AtomicBool) {
    let sockets: Vec<UdpSocket> = flows.iter().map(|(from, ..)| UdpSocket::bind((*from, 0)).expect("a port")).collect();
    let began = Instant::now();
    let mut sent = vec![0_u32; flows.len()];
    while !stop.load(Ordering::Relaxed) {
        for ((socket, sent), (_, to, gap)) in sockets.iter().zip(&mut sent).zip(flows) {
            while began.elapsed() >= *gap * *sent {
                // The neighbour may not have answered yet.
                let _unsent = socket.send_to(&[7; 1158], (*to, 7000));
                *sent += 1;
            }
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Hands requests on to the bridge, and those of the state after a second.
fn serve_slowly(port: u16, stop: &AtomicBool) {
    let listener = TcpListener::bind(("127.0.0.1", SLOW)).expect("a port");
    listener.set_nonblocking(true).expect("a socket");
    while !stop.load(Ordering::Relaxed) {
        match listener.accept() {
            // A browser may open a connection and use it later, or never.
            Ok((stream, _)) => drop(thread::spawn(move || hand_on(&stream, port))),
            Err(_) => thread::sleep(Duration::from_millis(5)),
        }
    }
}

fn hand_on(mut stream: &TcpStream, port: u16) -> Option<u64> {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    lines.take_while(|line| !line.is_empty()).for_each(drop);
    if path == "/status" {
        thread::sleep(Duration::from_secs(1));
    }
    let mut bridge = TcpStream::connect(("127.0.0.1", port)).ok()?;
    bridge.write_all(format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").as_bytes()).ok()?;
    std::io::copy(&mut bridge, &mut stream).ok()
}
