//! The end of a transmission, against the integral of the rate in exact fractions.

use super::*;
use alloc::vec;
use proptest::prelude::*;

/// Bits per second.
const MEGABIT: u64 = 1_000_000;

fn at(microseconds: u64) -> Time {
    // Shortly before the clock wraps.
    Time::from_picoseconds(u64::MAX - 1_000_000_000) + Duration::from_microseconds(microseconds)
}

/// Steps of microseconds and bits per second; 0 is an outage.
fn rates(steps: &[(u64, u64)], period: Option<u64>) -> VaryingRate {
    let steps = steps.iter().map(|&(at, rate)| RateStep { at: Duration::from_microseconds(at), rate: Rate::new(rate).ok() });
    VaryingRate::new(steps.collect(), period.map(Duration::from_microseconds)).unwrap()
}

#[test]
fn a_transmission_goes_on_at_the_next_rate() {
    // 1000 bytes take 1 ms at 8 Mbit/s, 4 ms at 2 Mbit/s.
    let mut cursor = RateCursor::new(at(0), &rates(&[(0, 8 * MEGABIT), (10_000, 2 * MEGABIT), (20_000, 0), (30_000, 8 * MEGABIT)], None));
    assert_eq!(cursor.finish(at(0), 1000), at(1_000));
    // A quarter by 10 ms, and three quarters at a quarter of the rate.
    assert_eq!(cursor.finish(at(9_750), 1000), at(13_000));
    // An eighth of it before the outage, the rest behind.
    assert_eq!(cursor.finish(at(19_500), 1000), at(30_875));
    // The last rate stays.
    assert_eq!(cursor.finish(at(10_000_000), 1000), at(10_001_000));
}

#[test]
fn steps_repeat_after_their_period() {
    let mut cursor = RateCursor::new(at(0), &rates(&[(0, 8 * MEGABIT), (1_000, 0)], Some(2_000)));
    // A millisecond of every two: 3000 bytes from the middle of the first.
    assert_eq!(cursor.finish(at(500), 3000), at(6_500));
    // After a long silence the phase is kept.
    assert_eq!(cursor.finish(at(2_000_000_000), 1000), at(2_000_001_000));
    assert_eq!(cursor.finish(at(3_000_001_500), 1000), at(3_000_003_000));
}

/// Three packets fill a step whose third part is no whole number of picoseconds.
#[test]
fn packets_fill_a_step_to_its_end() {
    let mut cursor = RateCursor::new(at(0), &rates(&[(0, 12 * MEGABIT), (1_000, 0)], Some(100_000)));
    let mut now = at(0);
    for _ in 0..3 {
        now = cursor.finish(now, 500);
    }
    assert_eq!(now, at(1_000));
    assert_eq!(cursor.finish(now, 1500), at(101_000));
}

#[test]
fn steps_that_make_no_link_are_refused() {
    let step = |at, rate| RateStep { at: Duration::from_microseconds(at), rate: Rate::new(rate).ok() };
    let period = |microseconds| Some(Duration::from_microseconds(microseconds));
    for (steps, period, error) in [
        (vec![], None, RateStepError::Start),
        (vec![step(1, MEGABIT)], None, RateStepError::Start),
        (vec![step(0, MEGABIT), step(9, 0), step(20, MEGABIT)], None, RateStepError::TooShort(1)),
        (vec![step(0, MEGABIT), step(20, MEGABIT), step(20, MEGABIT)], None, RateStepError::TooShort(2)),
        (vec![step(0, MEGABIT), step(20, MEGABIT)], period(25), RateStepError::TooShort(2)),
        (vec![step(0, MEGABIT), step(3_000_000_000_000, MEGABIT)], None, RateStepError::TooLong(1)),
        (vec![step(0, MEGABIT), step(20, 0)], None, RateStepError::Down),
        (vec![step(0, 0), step(20, 0)], period(40), RateStepError::Down),
    ] {
        assert_eq!(VaryingRate::new(steps, period), Err(error));
    }
    let up_and_down = rates(&[(0, 0), (20, 3 * MEGABIT), (40, 2 * MEGABIT)], None);
    assert_eq!((up_and_down.least(), up_and_down.greatest().bits_per_second()), (None, 3 * MEGABIT));
    assert_eq!(rates(&[(0, 3 * MEGABIT), (40, 2 * MEGABIT)], None).least(), Rate::new(2 * MEGABIT).ok());
}

#[test]
fn the_longest_transmission_waits_for_an_outage() {
    // The bound counts all of the packet before the outage and all of it behind.
    let varying = rates(&[(0, 8 * MEGABIT), (10_000, 0), (30_000, 8 * MEGABIT)], None);
    assert_eq!(varying.longest_transmission(1000), Duration::from_microseconds(22_000));
    let hardly = rates(&[(0, 1_000), (10, 0)], Some(1_000_000));
    assert_eq!(hardly.longest_transmission(9000), Duration::MAX);
}

prop_compose! {
    fn any_steps()(
        pauses in prop::collection::vec(10u64..5_000, 1..8),
        rates in prop::collection::vec(prop::sample::select(vec![0, 1_000, 64_000, 10 * MEGABIT, 33_333_333, 1_000 * MEGABIT]), 8),
        repeats: bool,
    ) -> (Vec<(u64, u64)>, Option<u64>) {
        let mut steps = vec![(0, rates[0])];
        let mut at = 0;
        for (pause, rate) in pauses.iter().zip(&rates[1..]) {
            at += pause;
            steps.push((at, *rate));
        }
        // The link comes up somewhere.
        let last = steps.len() - 1;
        steps[last].1 = steps[last].1.max(64_000);
        (steps, repeats.then_some(at + pauses[0]))
    }
}

/// The bits that are carried in a time from the start of the steps, times 10^12.
fn carried(steps: &[(u64, u64)], period: Option<u64>, until: u64) -> u128 {
    let whole = |from: u64, to: u64| {
        let ends = steps.iter().skip(1).map(|step| step.0 * 1_000_000).chain([u64::MAX]);
        let parts = steps.iter().zip(ends).map(|(&(begin, rate), end)| {
            let (begin, end) = ((begin * 1_000_000).max(from), end.min(to));
            u128::from(rate) * u128::from(end.saturating_sub(begin))
        });
        parts.sum::<u128>()
    };
    match period.map(|period| period * 1_000_000) {
        None => whole(0, until),
        Some(period) => u128::from(until / period) * whole(0, period) + whole(0, until % period),
    }
}

proptest! {
    /// Not a picosecond early or late.
    #[test]
    fn transmissions_end_with_the_integral_of_the_rate(
        (steps, period) in any_steps(),
        packets in prop::collection::vec((prop_oneof![Just(0), 1u64..3_000_000_000], 1u32..2_000), 1..40),
    ) {
        let start = at(0);
        let varying = rates(&steps, period);
        let mut cursor = RateCursor::new(start, &varying);
        let mut now = 0;
        for (pause, bytes) in packets {
            now += pause;
            let finish = cursor.finish(start + Duration::from_picoseconds(now), bytes).since(start).picoseconds();
            prop_assert!(Duration::from_picoseconds(finish - now) <= varying.longest_transmission(bytes) + Duration::from_picoseconds(2_000));
            let work = u128::from(bytes) * 8 * 1_000_000_000_000;
            // The picosecond before it was too early. The credit of the one before is less than a picosecond.
            let done = |until: u64| carried(&steps, period, until) - carried(&steps, period, now);
            let credit = if pause == 0 { 1_000_000_000 } else { 0 };
            prop_assert!(done(finish) + credit >= work, "{} of {work}", done(finish));
            prop_assert!(done(finish - 1) < work, "{} of {work}", done(finish - 1));
            now = finish;
        }
    }

    /// Where nothing changes, a varying rate is a constant one: back-to-back packets end with their sum.
    #[test]
    fn equal_steps_are_a_constant_rate(rate in 1_000u64..10_000_000_000, bytes in prop::collection::vec(1u32..10_000, 1..20)) {
        let mut cursor = RateCursor::new(at(0), &rates(&[(0, rate), (1_000, rate), (2_500, rate)], None));
        let (mut now, mut sum) = (at(0), 0);
        for bytes in bytes {
            now = cursor.finish(now, bytes);
            sum += u128::from(bytes) * 8 * 1_000_000_000_000;
            prop_assert_eq!(u128::from(now.since(at(0)).picoseconds()), sum.div_ceil(rate.into()));
        }
    }
}
