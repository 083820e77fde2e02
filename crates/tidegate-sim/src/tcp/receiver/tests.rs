//! Tests of [`super`].

use super::*;

/// The acknowledgement of each segment: next, and the blocks.
fn play(receiver: &mut Receiver, segments: &[u64]) -> Vec<(u64, Vec<(u64, u64)>)> {
    let blocks = |ack: Ack| (ack.next, ack.blocks[..ack.count as usize].to_vec());
    segments.iter().filter_map(|&number| receiver.on_segment(0, number, 10).map(blocks)).collect()
}

#[test]
fn the_first_block_holds_the_segment_that_has_just_come() {
    // RFC 2018, section 4, in segments: every other one is lost.
    let mut receiver = Receiver::new(true, false, 0, EcnMode::Off);
    let acks = play(&mut receiver, &[1, 3, 5, 7, 9, 2]);
    assert_eq!(acks[0], (2, vec![]));
    assert_eq!(acks[1], (2, vec![(3, 4)]));
    assert_eq!(acks[3], (2, vec![(7, 8), (5, 6), (3, 4)]));
    // No more than three; the oldest gives way.
    assert_eq!(acks[4], (2, vec![(9, 10), (7, 8), (5, 6)]));
    assert_eq!(acks[5], (4, vec![(9, 10), (7, 8), (5, 6)]));
    assert_eq!(receiver.arrived(), 60);
    // Two runs become one, and the freshest.
    assert_eq!(play(&mut receiver, &[6]), [(4, vec![(5, 8), (9, 10)])]);
    assert_eq!(play(&mut receiver, &[4, 8]), [(8, vec![(9, 10)]), (10, vec![])]);
    assert_eq!(receiver.arrived(), 90);
}

#[test]
fn what_has_come_before_is_acknowledged_and_not_delivered_again() {
    let mut receiver = Receiver::new(true, false, 0, EcnMode::Off);
    let acks = play(&mut receiver, &[1, 1, 3, 3, 2, 3]);
    assert_eq!(acks.iter().map(|ack| ack.0).collect::<Vec<_>>(), [2, 2, 2, 2, 4, 4]);
    assert_eq!(receiver.arrived(), 30);
}

#[test]
fn a_second_segment_or_the_timer_ends_the_delay() {
    // RFC 5681, section 4.2: at least every second segment, within the delay; at once for a gap and for what closes it.
    let mut receiver = Receiver::new(false, false, 40, EcnMode::Off);
    assert!(receiver.on_segment(0, 1, 10).is_none());
    assert_eq!(receiver.deadline(), 40);
    assert_eq!(receiver.on_segment(5, 2, 10).map(|ack| ack.next), Some(3));
    assert_eq!(receiver.deadline(), NEVER);
    assert!(receiver.on_segment(10, 3, 10).is_none());
    assert!(receiver.on_timer(49).is_none());
    assert_eq!(receiver.on_timer(50).map(|ack| (ack.next, ack.count)), Some((4, 0)));
    assert_eq!(receiver.on_segment(60, 5, 10).map(|ack| (ack.next, ack.count)), Some((4, 0)));
    assert_eq!(receiver.on_segment(70, 4, 10).map(|ack| ack.next), Some(6));
}

#[test]
fn data_counts_when_it_arrives_and_once() {
    let mut receiver = Receiver::new(true, false, 0, EcnMode::Off);
    let arrived = [(3, 4), (2, 10), (3, 4), (1, 7), (2, 10)].map(|(number, length)| {
        receiver.on_segment(0, number, length);
        receiver.arrived()
    });
    assert_eq!((arrived, receiver.next()), ([4, 14, 14, 21, 21], 4));
}
