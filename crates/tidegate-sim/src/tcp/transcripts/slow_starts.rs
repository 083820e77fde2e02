//! First slow starts that end before the buffer is full: RFC 9406.

use super::*;
use crate::tcp::Growth;
use crate::tcp::hystart::HyStart;

fn sender(initial_window: u32, growth: Growth) -> Sender {
    let mut sender = Sender::new(&Tcp { hystart: true, initial_window, growth, ..tcp(CongestionKind::Cubic, RecoveryKind::Rack) }, 0);
    sender.write(0, u64::MAX);
    sender
}

/// One round of a path on which each acknowledgement takes `milliseconds`; the segments that were in flight. They are acknowledged one by one
/// at the same instant, and what they release is sent then.
fn round(sender: &mut Sender, now: &mut u64, milliseconds: u64) -> u64 {
    sent(sender, *now);
    let (una, max) = (sender.flight.una, sender.flight.max);
    *now += milliseconds * MS;
    for next in una + 1..=max {
        sender.on_ack(*now, &Ack { next, ..Ack::default() });
        sent(sender, *now);
    }
    max - una
}

fn rounds(sender: &mut Sender, now: &mut u64, milliseconds: &[u64]) -> Vec<u64> {
    milliseconds.iter().map(|&each| round(sender, now, each)).collect()
}

/// By how many segments the window grows in rounds of this many acknowledgements of one segment each, whose round trips take so long; and whether
/// slow start is over.
fn growth(rounds: &[(u64, u64)]) -> (Vec<f64>, bool) {
    let (mut hystart, mut una, mut is_over) = (HyStart::new(), 1, false);
    let ends = rounds.iter().skip(1).chain([&(1, 0)]).map(|next| next.0);
    let grown = rounds.iter().zip(ends).map(|(&(count, milliseconds), next)| {
        let max = una + count + next;
        let bytes: u64 = (0..count)
            .map(|_| {
                let bytes = hystart.growth(1, u64::from(SEGMENT));
                una += 1;
                // The first round ends where the first window does.
                let max = if una <= count { count + 1 } else { max };
                is_over |= hystart.on_ack(una, max, Some(milliseconds * MS));
                bytes
            })
            .sum();
        segments(bytes)
    });
    (grown.collect(), is_over)
}

#[test]
fn rfc_9406_round_trips_that_grow_by_an_eighth_quarter_the_growth_for_five_rounds() {
    // 64 / 8 = 8 ms: 71 is no increase, but beside 71 the round of 80 is one. It shows with the eighth segment: 56 more count a quarter.
    let rounds = [(8, 64), (16, 64), (32, 71), (64, 80), (86, 80), (108, 80), (136, 80), (170, 80)];
    assert_eq!(growth(&rounds[..7]), (vec![8.0, 16.0, 32.0, 22.0, 21.5, 27.0, 34.0], false));
    // The round in which it began is the first of five.
    assert_eq!(growth(&rounds), (vec![8.0, 16.0, 32.0, 22.0, 21.5, 27.0, 34.0, 42.5], true));
}

#[test]
fn rfc_9406_an_increase_that_does_not_last_resumes_slow_start() {
    // It shows with the eighth segment of a round.
    assert_eq!(growth(&[(8, 64), (16, 80), (26, 79), (40, 79)]), (vec![8.0, 10.0, 8.0 / 4.0 + 18.0, 40.0], false));
    // The same least round trip is no fall.
    assert_eq!(growth(&[(8, 64), (16, 80), (24, 80)]).0, [8.0, 10.0, 6.0]);
}

#[test]
fn rfc_9406_fewer_than_eight_samples_and_small_increases_do_not_count() {
    // 7 in flight per round at most: the receiver's window.
    let tcp = Tcp { hystart: true, initial_window: 7, window: 7 * u64::from(SEGMENT), ..tcp(CongestionKind::Reno, RecoveryKind::Rack) };
    let mut few = Sender::new(&tcp, 0);
    few.write(0, u64::MAX);
    assert_eq!(rounds(&mut few, &mut 0, &[10, 100, 1000]), [7, 7, 7]);
    // At least 4 ms however short the round trip, at most 16 however long.
    for (before, after, ends) in [(8, 11, false), (8, 12, true), (400, 415, false), (400, 416, true)] {
        let mut sender = sender(8, Growth::Rfc5681);
        let found = rounds(&mut sender, &mut 0, &[before, after, after]);
        assert_eq!(found, [8, 16, if ends { 26 } else { 32 }], "{before} {after}");
    }
}

#[test]
fn rfc_9406_a_loss_ends_it_for_good_and_an_acknowledgement_counts_eight_segments_at_most() {
    let mut sender = sender(20, Growth::Linux);
    assert_eq!(sent(&mut sender, 0).len(), 20);
    sender.on_ack(50 * MS, &Ack { next: 13, ..Ack::default() });
    assert_eq!(segments(sender.cwnd()), 28.0);
    sent(&mut sender, 50 * MS);
    sender.on_ack(51 * MS, &Ack { next: 13, count: 1, blocks: [(14, 17), (0, 0), (0, 0)], ..Ack::default() });
    assert_eq!((sender.counts.recoveries, sender.flight.hystart.is_none()), (1, true));
}
