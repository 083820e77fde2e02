//! Real frames from one network namespace to another through an end system: two producers, four streams, a DWCS engine, a transmitter.
//!
//! It repeats the experiment of ShareStreams, section 5.2, with a socket at its end. Windows 7/8, 14/16, 6/8 and 4/8 demand frames in the
//! ratio 1:1:2:4. The receiver counts while all four streams have frames.
//!
//! As root: `cargo run --release -p tidegate-live --example end_system -- 8000` (frames per stream; 4000 if not given).

#[path = "../tests/namespaces/raw.rs"]
#[allow(dead_code)]
mod raw;
#[path = "../tests/namespaces/topology.rs"]
#[allow(dead_code)]
mod topology;

use raw::RawSocket;
use std::process::ExitCode;
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use tidegate_core::dwcs::{Order, Rules, Scan, Stream, Window};
use tidegate_core::packet::{Colour, Flow};
use tidegate_core::port::Volume;
use tidegate_core::units::{Overhead, Rate, Time};
use tidegate_endsystem::{Descriptor, EndSystem, Pace, Producer, ProducerCounters, QueueManager, Refusal, Setup, Slots};
use topology::{Place, Topology};

const WINDOWS: [(u32, u32); 4] = [(7, 8), (14, 16), (6, 8), (4, 8)];
const ASKED: [u32; 4] = [1, 1, 2, 4];
/// The rate of the transmitter in bit/s.
const RATE: u64 = 100_000_000;

/// Locally administered addresses, and the protocol number for experiments.
const HEADER: [u8; 14] = [0x02, 0, 0, 0, 0, 2, 0x02, 0, 0, 0, 0, 1, 0x88, 0xb5];

fn main() -> ExitCode {
    let Ok(frames) = std::env::args().nth(1).map_or(Ok(4000), |text| text.parse::<u32>()) else {
        eprintln!("usage: end_system [FRAMES PER STREAM]");
        return ExitCode::from(2);
    };
    let mut queues = QueueManager::default();
    for (index, (x, y)) in WINDOWS.into_iter().enumerate() {
        let stream = Stream { first_deadline: Some(1), ..Stream::windowed(Window::new(x, y), 1) };
        if index == 2 {
            queues.next_producer();
        }
        if let Err(error) = queues.admit(Descriptor::new(stream).frames(1024)) {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    }
    let rate = Rate::new(RATE).ok();
    let setup = Setup { pace: Pace::Decisions { rate }, overhead: Overhead::ETHERNET, ..Setup::decisions() };
    let build = |streams: Vec<Stream>| Scan::new(Rules::default(), Order::default(), &streams).map(Slots::new);
    let system = match queues.open(&setup, build) {
        Ok(system) => system,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    println!("4 streams of {frames} frames of 64 to 1500 bytes at {} Mbit/s, from one network namespace to another", RATE / 1_000_000);
    let topology = Topology::new();
    let (listening, listens) = mpsc::channel();
    let receiver = topology.inside(Place::Middle, move || receive(frames, &listening));
    if listens.recv().is_err() {
        eprintln!("error: the receiver has no socket");
        return ExitCode::from(3);
    }
    let begun = Instant::now();
    carry(&topology, system, frames);
    let elapsed = begun.elapsed();
    match receiver.join() {
        Ok(received) => print(&received, frames, elapsed),
        Err(_) => ExitCode::FAILURE,
    }
}

/// Runs the parts of the end system in threads of their own until every frame has left.
fn carry(topology: &Topology, system: EndSystem<Vec<u8>, Slots<Scan>>, frames: u32) {
    let EndSystem { producers, mut engine, mut transmission } = system;
    let begun = Instant::now();
    let now = move || Time::from_nanoseconds(1_000_000_000 + begun.elapsed().as_nanos() as u64);
    // As in the paper, decisions start when all streams are backlogged.
    let full = Arc::new(Barrier::new(producers.len() + 1));
    let start = |producer| {
        let full = full.clone();
        thread::spawn(move || produce(producer, frames, &full))
    };
    let producers: Vec<_> = producers.into_iter().map(start).collect();
    full.wait();
    let engine = thread::spawn(move || {
        engine.run(now, |_| true);
        engine.counters()
    });
    let mut transmission = topology.call(Place::Host1, move || {
        let socket = RawSocket::open("tga", false);
        transmission.run(now, |_| true, |departure| socket.send(&departure.frame));
        transmission
    });
    let counters: Vec<ProducerCounters> = producers.into_iter().filter_map(|thread| thread.join().ok()).collect();
    let account = transmission.account(&counters);
    if let (Ok(engine), Ok(())) = (engine.join(), account.check()) {
        println!(
            "the engine decided {} times, from arrivals pulled {:.0} at a time; producers were turned back {} times by full rings",
            engine.won,
            engine.pulled.records as f64 / engine.pulled.transfers.max(1) as f64,
            counters.iter().map(|counters| counters.turned_back).sum::<u64>()
        );
        let Volume { packets, bytes } = account.offered;
        println!(
            "offered {packets} frames of {bytes} bytes = sent {} + dropped 0 + queued {}",
            account.sent.packets, account.queued.packets
        );
    }
}

/// Offers numbered frames of each stream until its ring is full, and tries again after 500 us.
fn produce(mut producer: Producer<Vec<u8>>, frames: u32, full: &Barrier) -> ProducerCounters {
    let mut streams: Vec<(Flow, u32)> = producer.streams().map(|stream| (stream, 0)).collect();
    let mut first = true;
    while streams.iter().any(|(_, number)| *number < frames) {
        for (stream, number) in &mut streams {
            while *number < frames {
                let frame = frame(*stream, *number);
                // The engine's time is the number of its decisions, and the frames' numbers serve as arrivals.
                let arrival = Time::from_picoseconds(u64::from(*number));
                match producer.offer(*stream, arrival, frame.len() as u32, Colour::Green, frame) {
                    Ok(()) => *number += 1,
                    Err(Refusal::ComeAgain(_)) => break,
                    Err(_) => return *producer.counters(),
                }
            }
        }
        producer.flush();
        if std::mem::take(&mut first) {
            full.wait();
        }
        thread::sleep(Duration::from_micros(500));
    }
    *producer.counters()
}

/// A frame of any length from 64 to 1500 bytes, with its stream and number.
fn frame(stream: Flow, number: u32) -> Vec<u8> {
    let length = 64 + (number.wrapping_mul(2_654_435_761).wrapping_add(stream.0 * 97) >> 8) % 1437;
    let mut frame = HEADER.to_vec();
    frame.extend(stream.0.to_be_bytes());
    frame.extend(number.to_be_bytes());
    frame.resize(length as usize, 0);
    frame
}

/// Per stream: the volume while all streams had frames, and all frames; and the frames out of order.
struct Received {
    shares: [Volume; 4],
    total: [u32; 4],
    out_of_order: u32,
}

fn receive(frames: u32, listening: &mpsc::Sender<()>) -> Received {
    let socket = RawSocket::open("tgb", false);
    let _ = listening.send(());
    let mut received = Received { shares: [Volume::default(); 4], total: [0; 4], out_of_order: 0 };
    let mut patience = Instant::now();
    while received.total.iter().sum::<u32>() < 4 * frames && patience.elapsed() < Duration::from_secs(3) {
        for seen in socket.see(64, Duration::from_millis(100), |frame| frame.bytes.starts_with(&HEADER)) {
            patience = Instant::now();
            let word = |at: usize| u32::from_be_bytes([seen.bytes[at], seen.bytes[at + 1], seen.bytes[at + 2], seen.bytes[at + 3]]);
            let (stream, number) = (word(14) as usize % 4, word(18));
            received.out_of_order += u32::from(number != received.total[stream]);
            received.total[stream] += 1;
            if received.total[3] <= frames && received.total.iter().all(|total| *total < frames) {
                received.shares[stream].add(seen.bytes.len() as u32);
            }
        }
    }
    received
}

fn print(received: &Received, frames: u32, elapsed: Duration) -> ExitCode {
    println!("while all four had frames, the receiver counted");
    println!("stream  window  asked   frames   ratio       bytes   ratio");
    let least = received.shares[0];
    for (index, share) in received.shares.iter().enumerate() {
        let (x, y) = WINDOWS[index];
        println!(
            "{:>6}  {:>6}  {:>5}  {:>7}  {:>6.3}  {:>10}  {:>6.3}",
            index + 1,
            format!("{x}/{y}"),
            ASKED[index],
            share.packets,
            share.packets as f64 / least.packets.max(1) as f64,
            share.bytes,
            share.bytes as f64 / least.bytes.max(1) as f64,
        );
    }
    let all = received.total.iter().all(|total| *total == frames) && received.out_of_order == 0;
    let verdict = if all { "every frame arrived, once and in the order of its stream" } else { "frames were lost or out of order" };
    println!("{verdict}: {:?} in {:.2} s", received.total, elapsed.as_secs_f64());
    if all { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
