//! Tests of [`super`].

use super::*;
use crate::tcp::TimerKind;
use crate::tcp::timer::fine::Fine;

/// A millisecond in picoseconds.
const MS: u64 = 1_000_000_000;

#[test]
fn the_minimum_is_added_to_the_round_trip() {
    let mut timer = Linux::new(&TimerSettings::default_for(TimerKind::Linux), 0);
    assert_eq!(timer.deadline(0), 1_000 * MS);
    // A round trip of 600 ms: four times the deviation is 1200, then 900, 675, and so on. The greatest of a round trip counts, 1200 for the second;
    // then 1200 - (1200 - 675) / 4, down to the minimum and not below.
    let mut waits = Vec::new();
    for round in 1..60 {
        timer.on_rtt_sample((round - 1) * 600 * MS, round * 600 * MS);
        waits.push(timer.deadline(0));
    }
    assert_eq!(waits[..3], [1_800 * MS, 1_800 * MS, 1_668_750_000_000]);
    assert!(waits.windows(2).all(|pair| pair[1] <= pair[0]));
    assert!((800 * MS..801 * MS).contains(&waits[58]), "{}", waits[58]);
    timer.on_rto();
    assert_eq!(timer.deadline(0), 2 * waits[58]);
    timer.on_rtt_sample(59 * 600 * MS, 60 * 600 * MS);
    assert!(timer.deadline(0) <= waits[58]);
    // RFC 6298 with the same minimum waits hardly longer than the round trip.
    let mut plain = Fine::new(&TimerSettings::default_for(TimerKind::Fine), 0);
    (0..60).for_each(|_| plain.on_rtt_sample(0, 600 * MS));
    assert!(plain.deadline(0) <= 602 * MS);
}

#[test]
fn a_rise_counts_at_once_and_a_fall_by_an_eighth() {
    let steady = |timer: &mut Linux| (1..200).for_each(|round| timer.on_rtt_sample((round - 1) * 100 * MS, round * 100 * MS));
    let mut timer = Linux::new(&TimerSettings::default_for(TimerKind::Linux), 0);
    steady(&mut timer);
    assert!(timer.deadline(0).abs_diff(300 * MS) < MS);
    // 500 ms: SRTT 150; the deviation's part 400.
    timer.on_rtt_sample(20_000 * MS, 20_500 * MS);
    assert!(timer.deadline(0).abs_diff(550 * MS) < MS, "{}", timer.deadline(0));
    let mut timer = Linux::new(&TimerSettings::default_for(TimerKind::Linux), 0);
    steady(&mut timer);
    // 20 ms: SRTT 90; a fall of 80 makes the deviation's part 10, which is below the minimum.
    timer.on_rtt_sample(20_000 * MS, 20_020 * MS);
    assert!(timer.deadline(0).abs_diff(290 * MS) < MS, "{}", timer.deadline(0));
}
