//! A direction whose stages are recorded.

use super::allocation::allocates_nothing;
use super::*;
use crate::probe::Probe;

#[test]
fn every_packet_is_stamped_at_every_stage() {
    let mut probed = direction_on(100, direction_options(104), Probe::new(3));
    probed.receiver.frames.extend((0..4).map(millisecond));
    probed.woken();
    // One starts at once, the others as the link lets them.
    for milliseconds in 0..5 {
        probed.poll(at(1000 * milliseconds), true);
    }
    let trace = probed.finish(at(5000)).observer.finish().unwrap();
    assert_eq!((trace.records.len(), trace.lost), (3, 1));
    for (number, record) in trace.records.iter().enumerate() {
        assert_eq!((record.number, record.wake != 0, record.arrived), (number as u64, number == 0, 0), "{record:?}");
        let stages = [record.read, record.offered, record.started, record.handed];
        assert!(record.wake <= stages[0] && stages[0] > 0 && stages.is_sorted(), "{record:?}");
    }
    let [first, second, _] = trace.records[..] else { panic!("three packets") };
    assert!(second.read <= first.handed && first.handed < second.started, "a batch, and a link that was busy");
}

#[test]
fn a_probe_does_not_allocate_while_packets_pass() {
    allocates_nothing(direction_with(1000, Probe::new(100_000)));
}
