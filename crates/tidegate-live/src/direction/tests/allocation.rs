//! The way of a packet allocates nothing.

use super::*;

#[test]
fn the_packet_path_does_not_allocate() {
    allocates_nothing(direction(1000));
    allocates_nothing(direction_along(5_000, 100_000_000, 1000));
}

pub(super) fn allocates_nothing<O: StageObserver>(mut direction: Tested<O>) {
    let mut frame = vec![2; 12];
    frame.extend([0x08, 0x00, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 1, 0, 2, 0, 26, 0, 0]);
    frame.resize(60, 0);
    assert_ne!(checksum::sum(&frame[14..34]), 0xffff, "a frame is carried as it is, right or wrong");
    direction.receiver.repeated = Some((frame, 0));
    let rounds = |direction: &mut Tested<O>, from: u64| {
        for round in from..from + 1000 {
            if let Some((_, left)) = &mut direction.receiver.repeated {
                *left = 100;
            }
            direction.poll(at(round * 100), true);
        }
        balanced(direction).received.packets
    };
    // A first run fills the queues and grows the record's bins and the histogram.
    assert_eq!(rounds(&mut direction, 0), 100_000);
    let before = ALLOCATIONS.with(Cell::get);
    assert_eq!(rounds(&mut direction, 1000), 200_000);
    let allocations = ALLOCATIONS.with(Cell::get) - before;
    // The record's time lines grow with time, by doubling, and not with packets.
    assert!(allocations <= 16, "{allocations} allocations for 100000 packets");
    assert!(balanced(&direction).delivered.packets > 1000);
}
