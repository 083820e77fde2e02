//! Decisions per second of an engine, and frames per second through an end system, on one thread and with a thread per part.
//!
//! Example: `cargo run --release -p tidegate-endsystem --example rates`

use std::error::Error;
use std::thread;
use std::time::Instant;
use tidegate_core::dwcs::{Engine, Request, Rules, resolve};
use tidegate_core::packet::{Colour, Flow};
use tidegate_core::registry::SchedulerKind;
use tidegate_core::scheduler::{FlowParameters, Scheduler};
use tidegate_core::units::{Rate, Time};
use tidegate_endsystem::{Descriptor, EndSystem, Next, QueueManager, Setup, Slots};

/// Frames per round.
const FRAMES: u64 = 500_000;
/// Rounds, of which the best counts: other work on the machine only makes a round slower.
const ROUNDS: usize = 7;

fn main() -> Result<(), Box<dyn Error>> {
    println!("discipline  streams   decisions   frames, one thread   frames, three threads   (million per second)");
    for kind in [SchedulerKind::Fifo, SchedulerKind::DeficitRoundRobin, SchedulerKind::Wf2qPlus] {
        for streams in [4, 1000] {
            let flows = vec![FlowParameters { weight: kind.requires().first().map(|_| 1), ..FlowParameters::default() }; streams];
            let setup = tidegate_core::scheduler::Setup::new(Rate::new(1_000_000_000)?, 1524);
            measure(kind.name(), streams, || kind.build(&setup, &flows))?;
        }
    }
    for streams in [4, 1000] {
        let shares = resolve(&vec![Request::default(); streams])?;
        measure("dwcs", streams, || Engine::new(Rules::default(), &shares).map(Slots::new))?;
    }
    Ok(())
}

fn open<S: Scheduler, E: Error + 'static>(
    streams: usize,
    build: impl FnOnce() -> Result<S, E>,
) -> Result<EndSystem<u64, S>, Box<dyn Error>> {
    let mut queues = QueueManager::default();
    for _ in 0..streams {
        queues.admit(Descriptor::new(()).frames((8192 / streams as u32).max(64)))?;
    }
    Ok(queues.open(&Setup { winners: 1024, ..Setup::decisions() }, |_| build())?)
}

fn measure<S: Scheduler + Send, E: Error + 'static>(
    name: &str,
    streams: usize,
    build: impl Fn() -> Result<S, E>,
) -> Result<(), Box<dyn Error>> {
    let (mut decisions, mut in_turn, mut threads) = (0.0f64, 0.0f64, 0.0f64);
    for _ in 0..ROUNDS {
        let (deciding, all) = take_turns(open(streams, &build)?, streams);
        (decisions, in_turn) = (decisions.max(deciding), in_turn.max(all));
        threads = threads.max(in_threads(open(streams, &build)?, streams));
    }
    println!("{name:<10}  {streams:>7}   {decisions:>9.1}   {in_turn:>18.1}   {threads:>21.1}");
    Ok(())
}

/// Fills rings, decides and empties them in a loop. Returns millions of decisions per second of deciding, and of frames per second.
fn take_turns<S: Scheduler>(mut system: EndSystem<u64, S>, streams: usize) -> (f64, f64) {
    let begun = Instant::now();
    let (mut sent, mut offered, mut deciding) = (0, 0, 0.0);
    while sent < FRAMES {
        for _ in 0..1024 {
            let stream = Flow((offered % streams as u64) as u32);
            if system.producers[0].offer(stream, Time::from_picoseconds(sent), 64, Colour::Green, offered).is_err() {
                break;
            }
            offered += 1;
        }
        let decided = Instant::now();
        system.engine.poll(Time::ZERO);
        deciding += decided.elapsed().as_secs_f64();
        system.transmission.poll(Time::ZERO, |_| sent += 1);
    }
    (sent as f64 / deciding / 1e6, sent as f64 / begun.elapsed().as_secs_f64() / 1e6)
}

/// One producer, the engine and the transmitter in threads of their own.
fn in_threads<S: Scheduler + Send>(system: EndSystem<u64, S>, streams: usize) -> f64 {
    let EndSystem { mut producers, mut engine, mut transmission } = system;
    let begun = Instant::now();
    let mut sent = 0u64;
    thread::scope(|scope| {
        let Some(mut producer) = producers.pop() else { return };
        scope.spawn(move || {
            for number in 0..FRAMES {
                let stream = Flow((number % streams as u64) as u32);
                if producer.offer_and_wait(stream, Time::ZERO, 64, Colour::Green, number).is_err() {
                    return;
                }
                if number % 64 == 63 {
                    producer.flush();
                }
            }
        });
        scope.spawn(move || engine.run(|| Time::ZERO, |_| true));
        transmission.run(|| Time::ZERO, |_| true, |_| sent += 1);
    });
    assert_eq!((sent, transmission.poll(Time::ZERO, |_| ())), (FRAMES, Next::Ended));
    sent as f64 / begun.elapsed().as_secs_f64() / 1e6
}
