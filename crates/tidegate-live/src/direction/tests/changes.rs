//! Changes of a file, which another thread builds.

use super::*;
use crate::port_change::{Amending, PreparedChange};
use std::sync::mpsc::channel;
use std::thread;
use tidegate_core::buffer::{FlowLimit, FlowShare};
use tidegate_core::port::Amendment;

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
    let (reply, answer) = channel();
    let asked = PreparedChange::new(direction.classifier(), direction.switches(), setup(70));
    DirectionLoop::change(&mut direction, Asked::Switch(Box::new(asked)), reply);
    assert_eq!(direction.poll(at(500), true), Next::Idle, "no change is to come");
    assert!(answer.recv().unwrap().outcome.is_ok());
    builder.join().unwrap();
    direction.maintain(at(3000));
    direction.poll(at(3000), true);
    assert_eq!((direction.port.switches(), direction.finish(at(3000)).changes.len()), (1, 0));
}

#[test]
fn packets_pass_between_the_parts_of_an_amendment() {
    let mut direction = direction(100);
    let shares = vec![(Flow(0), FlowShare::default()); 300];
    let (reply, answer) = channel();
    let amending = Amending::new(Amendment { shares, ..Amendment::default() });
    DirectionLoop::change(&mut direction, Asked::Amend(Box::new(amending)), reply);
    let mut taken_in = Vec::new();
    while direction.changes.next().is_some() {
        arrive(&mut direction, 0..1);
        direction.poll(at(0), true);
        taken_in.push(direction.counters().port.offered.packets);
    }
    assert_eq!(taken_in, [1, 2, 3], "one packet after each part");
    let changed = answer.recv().unwrap().outcome.unwrap();
    assert_eq!((changed.switched.classes_kept, direction.port.switches()), (1, 0));
    // An error in a part ends it, and the outcome says so.
    let (reply, answer) = channel();
    let refused = FlowShare { limit: FlowLimit { packets: Some(0), bytes: None }, ..FlowShare::default() };
    let amending = Amending::new(Amendment { shares: vec![(Flow(0), refused); 300], ..Amendment::default() });
    DirectionLoop::change(&mut direction, Asked::Amend(Box::new(amending)), reply);
    direction.poll(at(0), true);
    assert!(matches!(answer.recv().unwrap().outcome, Err(ControlError::Amendment(_))) && direction.changes.next().is_none());
}
