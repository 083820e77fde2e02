//! Segments that come twice: what receivers report, RFC 2883, and what senders make of it, RFC 8985.

use super::*;
use crate::tcp::probe::Probe;

/// What a receiver that reports duplicates says of each segment: the one expected next, and the blocks.
fn acknowledged(segments: &[u64]) -> Vec<(u64, Vec<(u64, u64)>)> {
    let mut receiver = Receiver::new(true, true, 0, EcnMode::Off);
    let said = |ack: Ack| (ack.next, ack.blocks[..ack.count as usize].to_vec());
    segments.iter().filter_map(|&number| receiver.on_segment(0, number, SEGMENT).map(said)).collect()
}

#[test]
fn rfc_2883_a_segment_below_the_acknowledged_is_the_first_block() {
    // Section 4.1.1, in segments: 1 and 2 come again, once each, while nothing is missing.
    assert_eq!(acknowledged(&[1, 2, 1, 2])[2..], [(3, vec![(1, 2)]), (3, vec![(2, 3)])]);
    // Section 4.1.2: what is missing follows, and later acknowledgements do not repeat the duplicate.
    assert_eq!(acknowledged(&[1, 2, 5, 1, 6])[2..], [(3, vec![(5, 6)]), (3, vec![(1, 2), (5, 6)]), (3, vec![(5, 7)])]);
}

#[test]
fn rfc_2883_a_segment_of_a_run_is_followed_by_the_run() {
    // Section 4.1.3: the second block holds the first, even if it is no longer.
    assert_eq!(acknowledged(&[3, 4, 5, 4]).last(), Some(&(1, vec![(4, 5), (3, 6)])));
    assert_eq!(acknowledged(&[3, 3]).last(), Some(&(1, vec![(3, 4), (3, 4)])));
    // No more than three blocks in all.
    assert_eq!(acknowledged(&[3, 5, 7, 9, 5]).last(), Some(&(1, vec![(5, 6), (5, 6), (9, 10)])));
}

#[test]
fn rfc_2883_a_sender_tells_a_duplicate_from_a_run_by_its_place() {
    let ack = |next, blocks: &[(u64, u64)]| {
        let mut ack = Ack { next, count: blocks.len() as u32, ..Ack::default() };
        ack.blocks[..blocks.len()].copy_from_slice(blocks);
        ack
    };
    for (next, blocks, duplicate) in [
        (3, &[][..], None),
        (3, &[(5, 6)], None),
        (3, &[(8, 9), (5, 6)], None),
        (3, &[(1, 2)], Some((1, 2))),
        (3, &[(2, 3), (5, 6)], Some((2, 3))),
        (3, &[(5, 6), (5, 6)], Some((5, 6))),
        (3, &[(6, 7), (5, 9), (11, 12)], Some((6, 7))),
    ] {
        let ack = ack(next, blocks);
        assert_eq!(ack.duplicate(), duplicate, "{blocks:?}");
        assert_eq!(ack.runs(), &blocks[usize::from(duplicate.is_some())..]);
    }
}

#[test]
fn what_comes_twice_in_a_run_counts_once() {
    // The report of 4 was lost: that of its duplicate is the first to report it.
    let mut sender = nine_in_flight(&Tcp { ecn: EcnMode::Accurate, ..tcp(CongestionKind::Reno, RecoveryKind::Rack) });
    play(&mut sender, "ack 2 sack 4,4-5 -> | pipe 7");
    assert_eq!(sender.flight.board.sacked(), 2);
    // Reports of duplicates alone are no duplicate acknowledgements.
    let mut sender = nine_in_flight(&tcp(CongestionKind::Reno, RecoveryKind::Rack));
    play(
        &mut sender,
        "ack 3       -> 11
         ack 3 sack 2 ->
         ack 3 sack 2 ->
         ack 3 sack 2 ->",
    );
    assert_eq!(sender.counts.recoveries, 0);
}

/// A sender with a round trip of 100 ms which has seen reordering: 2 came after 3. 13 and 14 are the last segments in flight, sent at `@200`.
fn reordered() -> Sender {
    let mut sender = Sender::new(&Tcp { initial_window: 20, ..tcp(CongestionKind::Reno, RecoveryKind::Rack) }, 0);
    sender.write(0, 12 * u64::from(SEGMENT));
    assert_eq!(sent(&mut sender, 0).len(), 12);
    play(
        &mut sender,
        "@100 ack 2 sack 3 ->
         @101 ack 13       ->",
    );
    sender
}

/// Writes ten segments, of which the first is reported missing after a round trip: how long the sender waits for it, in milliseconds.
fn patience(sender: &mut Sender, now: u64) -> f64 {
    sender.write(now * MS, 10 * u64::from(SEGMENT));
    let numbers = sent(sender, now * MS);
    assert_eq!(numbers.len(), 10);
    let una = numbers[0];
    let mut ack = Ack { next: una, count: 1, ..Ack::default() };
    ack.blocks[0] = (una + 1, una + 2);
    sender.on_ack((now + 100) * MS, &ack);
    let wait = (sender.deadline() - (now + 100) * MS) as f64 / MS as f64;
    // It was late only.
    sender.on_ack((now + 101) * MS, &Ack { next: una + 10, ..Ack::default() });
    assert_eq!((sender.counts.recoveries, sender.is_done()), (0, true));
    wait
}

/// An acknowledgement that reports the segment before the next as a duplicate.
fn duplicate(sender: &mut Sender, now: u64) {
    let next = sender.flight.una;
    sender.on_ack(now * MS, &Ack { next, count: 1, blocks: [(next - 1, next), (0, 0), (0, 0)], ..Ack::default() });
}

#[test]
fn rfc_8985_duplicates_widen_the_reordering_window_once_per_round_trip() {
    let mut sender = reordered();
    assert_eq!(patience(&mut sender, 200), 25.0);
    duplicate(&mut sender, 400);
    assert_eq!(patience(&mut sender, 400), 50.0);
    // Two duplicates of one flight are one step: 100 ms are in flight when the first comes.
    sender.write(600 * MS, 4 * u64::from(SEGMENT));
    assert_eq!(sent(&mut sender, 600 * MS).len(), 4);
    duplicate(&mut sender, 610);
    duplicate(&mut sender, 620);
    sender.on_ack(700 * MS, &Ack { next: sender.flight.una + 4, ..Ack::default() });
    assert_eq!(patience(&mut sender, 800), 75.0);
    // Never more than a smoothed round trip.
    for now in 1000..1020 {
        duplicate(&mut sender, now);
    }
    let wait = patience(&mut sender, 1100);
    assert!((99.0..=101.0).contains(&wait), "{wait}");
}

#[test]
fn rfc_8985_sixteen_recoveries_without_a_duplicate_narrow_the_window_again() {
    let mut sender = reordered();
    duplicate(&mut sender, 150);
    let lose = |sender: &mut Sender, now: u64| {
        // The first of ten segments is lost, and found a reordering window later.
        sender.write(now * MS, 10 * u64::from(SEGMENT));
        let una = sent(sender, now * MS)[0];
        let ack = Ack { next: una, count: 1, blocks: [(una + 1, una + 10), (0, 0), (0, 0)], ..Ack::default() };
        sender.on_ack((now + 100) * MS, &ack);
        let deadline = sender.deadline();
        assert!(sender.on_timer(deadline));
        assert_eq!(sent(sender, deadline), [una]);
        sender.on_ack(deadline + 100 * MS, &Ack { next: una + 10, ..Ack::default() });
        (deadline - (now + 100) * MS) as f64 / MS as f64
    };
    sender.flight.cwnd = 400 * u64::from(SEGMENT);
    let waits: Vec<f64> = (0..17)
        .map(|nth| {
            sender.flight.cwnd = 400 * u64::from(SEGMENT);
            lose(&mut sender, 1000 * (nth + 1))
        })
        .collect();
    assert_eq!(waits, [[50.0; 16].as_slice(), &[25.0]].concat());
}

#[test]
fn rfc_8985_a_duplicate_of_the_probe_shows_that_nothing_was_lost() {
    // The last of ten is sent as a probe. Its original was late: all is acknowledged, and then the probe is reported as a duplicate by what
    // acknowledges more as well.
    for (blocks, count, is_loss) in [([(11, 12), (0, 0), (0, 0)], 1, false), ([(0, 0); 3], 0, true)] {
        let mut sender = nine_in_flight(&tcp(CongestionKind::Reno, RecoveryKind::Rack));
        let mut probe = Probe::new();
        sender.flight.written = 11;
        probe.schedule(0, &sender.flight, 100 * MS, 1000 * MS);
        assert!(probe.on_timer(200 * MS));
        assert_eq!(probe.next(&sender.flight), Some(10));
        assert!(probe.on_sent(&sender.flight, false));
        let blocks = blocks.map(|(from, to): (u64, u64)| (from.saturating_sub(1), to.saturating_sub(1)));
        assert!(!probe.on_ack(&Ack { next: 11, ..Ack::default() }, 2));
        assert_eq!(probe.on_ack(&Ack { next: 12, count, blocks, ..Ack::default() }, 11), is_loss);
    }
}
