//! Numbered datagrams through a bridge, and which of them came.

use crate::command::HOST2;
use crate::topology::{Place, Topology};
use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Numbered datagrams of this length from host 1 to a port of host 2, some at a time and a pause between, and when each came.
pub struct Stream {
    is_over: Arc<AtomicBool>,
    sender: JoinHandle<u32>,
    receiver: JoinHandle<Vec<(u32, Instant)>>,
}

impl Stream {
    pub fn start(topology: &Topology, port: u16, length: usize, (burst, pause): (u32, Duration)) -> Stream {
        let is_over = Arc::new(AtomicBool::new(false));
        let over = is_over.clone();
        let (ready, is_ready) = std::sync::mpsc::channel();
        let receiver = topology.inside(Place::Host2, move || {
            let socket = UdpSocket::bind(("10.77.0.2", port)).unwrap();
            // What comes while this thread has no processor waits here.
            rustix::net::sockopt::set_socket_recv_buffer_size_force(&socket, 8 << 20).unwrap();
            ready.send(()).unwrap();
            socket.set_read_timeout(Some(Duration::from_millis(1500))).unwrap();
            let (mut received, mut bytes) = (Vec::new(), [0; 2000]);
            loop {
                match socket.recv(&mut bytes) {
                    Ok(_) => received.push((u32::from_be_bytes(*bytes.first_chunk().unwrap()), Instant::now())),
                    Err(_) if over.load(Ordering::Relaxed) => return received,
                    Err(_) => {}
                }
            }
        });
        is_ready.recv().unwrap();
        let over = is_over.clone();
        let sender = topology.inside(Place::Host1, move || {
            let socket = UdpSocket::bind(("10.77.0.1", 0)).unwrap();
            let (mut number, mut bytes) = (0_u32, vec![0; length]);
            while !over.load(Ordering::Relaxed) {
                for _ in 0..burst {
                    bytes[..4].copy_from_slice(&number.to_be_bytes());
                    socket.send_to(&bytes, (HOST2, port)).unwrap();
                    number += 1;
                }
                thread::sleep(pause);
            }
            number
        });
        Stream { is_over, sender, receiver }
    }

    /// How many were sent, and the arrivals; the longest time without one is printed.
    pub fn end(self) -> (u32, Vec<(u32, Instant)>) {
        self.is_over.store(true, Ordering::Relaxed);
        let (sent, received) = (self.sender.join().unwrap(), self.receiver.join().unwrap());
        let longest = received.windows(2).map(|pair| pair[1].1 - pair[0].1).max().unwrap_or_default();
        println!("{sent} datagrams sent, {} received, at most {longest:?} without one", received.len());
        (sent, received)
    }
}

/// The numbers that never came, and those that came more than once.
pub fn lost_and_twice(sent: u32, received: &[(u32, Instant)]) -> (Vec<u32>, Vec<u32>) {
    let mut times: BTreeMap<u32, u32> = BTreeMap::new();
    received.iter().for_each(|(number, _)| *times.entry(*number).or_default() += 1);
    let lost = (0..sent).filter(|number| !times.contains_key(number)).collect();
    let twice = times.iter().filter(|(_, times)| **times > 1).map(|(number, _)| *number).collect();
    (lost, twice)
}
