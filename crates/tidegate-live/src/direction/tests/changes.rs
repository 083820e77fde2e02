//! Changes of a file, which another thread builds.

use super::*;
use std::thread;

/// A policy that keeps this many packets, from this many microseconds on.
fn change(microseconds: u64, packets: u32) -> PortChange {
    PortChange { after: Duration::from_microseconds(microseconds), setup: setup(packets) }
}

/// Lets the direction take what has been built: the builder hands it over when it is asked.
fn wait_for_next(direction: &mut Tested, now: Time) {
    while direction.changes.next().is_none() {
        direction.maintain(now);
        thread::yield_now();
    }
}

#[test]
fn packets_do_not_wait_for_a_change_that_is_not_built_and_it_comes_late() {
    let mut direction = direction(100);
    let builder = direction.follow(at(0), vec![change(1500, 50), change(2500, 60)]).unwrap();
    arrive(&mut direction, 0..5);
    assert_eq!((direction.poll(at(0), true), direction.poll(at(0), true)), (Next::Again, Next::At(at(1000))));
    direction.maintain(at(0));
    // The first change is due, and it is not built.
    assert_eq!(direction.poll(at(2000), true), Next::At(at(3000)));
    assert_eq!((direction.port.switches(), direction.transmitter.sent.as_slice()), (0, &[0, 1, 2][..]));
    let builder = thread::spawn(|| builder.run());
    wait_for_next(&mut direction, at(2200));
    // What comes next depends on how far the builder is with the second.
    direction.poll(at(2200), true);
    assert_eq!(direction.port.switches(), 1);
    wait_for_next(&mut direction, at(2300));
    assert_eq!(direction.poll(at(2300), true), Next::At(at(2500)), "the second is built in time");
    direction.poll(at(2500), true);
    direction.poll(at(5000), true);
    assert_eq!(direction.transmitter.sent, [0, 1, 2, 3, 4], "in order, and none is lost");
    let report = direction.finish(at(5000));
    let late: Vec<u64> = report.changes.iter().map(|change| change.late.picoseconds() / 1_000_000).collect();
    assert_eq!(late, [700, 0]);
    builder.join().unwrap();
}

#[test]
fn a_change_that_is_asked_for_cancels_those_of_the_file_and_ends_their_builder() {
    let mut direction = direction(100);
    let builder = direction.follow(at(0), vec![change(1000, 50), change(2000, 60)]).unwrap();
    let builder = thread::spawn(|| builder.run());
    wait_for_next(&mut direction, at(0));
    let (reply, answer) = std::sync::mpsc::channel();
    let asked = PreparedChange::new(direction.classifier(), direction.switches(), setup(70));
    DirectionLoop::change(&mut direction, asked, reply);
    assert_eq!(direction.poll(at(500), true), Next::Idle, "no change is to come");
    assert!(answer.recv().unwrap().outcome.is_ok());
    builder.join().unwrap();
    direction.maintain(at(3000));
    direction.poll(at(3000), true);
    assert_eq!((direction.port.switches(), direction.finish(at(3000)).changes.len()), (1, 0));
}
