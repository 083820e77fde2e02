//! Tests of [`super`].

use super::*;

/// A millisecond in picoseconds.
const MS: u64 = 1_000_000_000;

#[test]
fn the_rate_is_that_of_the_bottleneck_however_acknowledgements_come() {
    // A segment per millisecond leaves, passes the bottleneck, and is acknowledged 10 ms after it left; the last four acknowledgements together.
    let mut meter = Deliveries::new(64);
    for segment in 1..=20 {
        meter.send(segment * MS, segment, segment == 1, false, 1);
    }
    let mut sample = Sample::default();
    for segment in 1..=16 {
        meter.deliver((segment + 10) * MS, segment);
        sample = meter.sample((segment + 10) * MS);
    }
    // Segment 16 left when none had been delivered: 15 segments' time to send, 25 ms until they were.
    assert_eq!((sample.news, sample.total, sample.prior, sample.delivered), (1, 16, 0, 16));
    assert_eq!((sample.interval, sample.round_trip), (25 * MS, Some(10 * MS)));
    for segment in 17..=20 {
        meter.deliver(30 * MS, segment);
    }
    let burst = meter.sample(30 * MS);
    assert_eq!((burst.news, burst.delivered, burst.interval), (4, 20, 29 * MS));
}

#[test]
fn in_the_steady_state_as_many_are_delivered_in_a_round_trip_as_were_sent() {
    let mut meter = Deliveries::new(64);
    let mut last = Sample::default();
    for now in 1..200u64 {
        if now > 10 {
            meter.deliver(now * MS, now - 10);
            last = meter.sample(now * MS);
        }
        meter.send(now * MS, now, now == 1, false, 1);
    }
    assert_eq!((last.delivered, last.interval), (10, 10 * MS));
    assert!(!last.is_limited);
}

#[test]
fn what_is_sent_again_measures_no_round_trip_and_want_of_data_is_remembered() {
    let mut meter = Deliveries::new(8);
    meter.send(MS, 1, true, false, 1);
    meter.limit(1);
    meter.send(5 * MS, 1, false, true, 1);
    meter.deliver(9 * MS, 1);
    let sample = meter.sample(9 * MS);
    assert_eq!((sample.news, sample.round_trip, sample.is_limited), (1, None, true));
    // Reported before: nothing new.
    meter.deliver(10 * MS, 1);
    assert_eq!(meter.sample(10 * MS).news, 0);
    // Whatever is delivered beyond what was in flight when data ran out ends the want; what was sent until then remembers it.
    meter.send(11 * MS, 2, true, false, 1);
    meter.deliver(12 * MS, 2);
    let sample = meter.sample(12 * MS);
    assert_eq!((sample.delivered, sample.interval, sample.is_limited), (1, MS, true));
    meter.send(13 * MS, 3, true, false, 1);
    meter.deliver(14 * MS, 3);
    assert!(!meter.sample(14 * MS).is_limited);
}

#[test]
fn a_sample_knows_what_was_in_flight_and_what_got_lost_since() {
    let mut meter = Deliveries::new(64);
    for segment in 1..=10 {
        meter.send(segment * MS, segment, segment == 1, false, segment);
    }
    meter.lose(2);
    meter.send(11 * MS, 11, false, false, 9);
    meter.lose(3);
    meter.deliver(20 * MS, 10);
    let sample = meter.sample(20 * MS);
    assert_eq!((sample.sent_in_flight, sample.lost, sample.newly_lost), (10, 3, 3));
    meter.deliver(21 * MS, 11);
    let sample = meter.sample(21 * MS);
    assert_eq!((sample.sent_in_flight, sample.lost, sample.newly_lost), (9, 1, 0));
}
