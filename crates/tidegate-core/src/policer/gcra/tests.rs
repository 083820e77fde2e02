//! GCRA by its source, and its two forms beside each other.

use super::*;
use crate::units::Rate;
use alloc::vec::Vec;
use proptest::prelude::*;

/// GCRA in the continuous-state leaky bucket form: a packet conforms if the bucket, drained up to its arrival, is not above the limit.
struct LeakyBucket {
    last_conformance: Time,
    /// The level X after the last conforming packet, in ticks.
    level: u64,
    increment: Increment,
    limit: u64,
}

impl LeakyBucket {
    /// The same contract as that of `scheduling`, which has just been started.
    fn of(scheduling: &VirtualScheduling) -> LeakyBucket {
        let VirtualScheduling { theoretical_arrival, increment, limit, .. } = *scheduling;
        LeakyBucket { last_conformance: theoretical_arrival, level: 0, increment, limit }
    }

    /// The level X after the last conforming packet, rounded up to a picosecond.
    fn level(&self) -> Duration {
        let shift = self.increment.shift();
        Duration::from_picoseconds((self.level + ((1 << shift) - 1)) >> shift)
    }

    fn level_at(&self, now: Time) -> u64 {
        let shift = self.increment.shift();
        let elapsed = now.since(self.last_conformance).picoseconds();
        // A level is below 2^63 ticks: a time that would be longer than that in ticks has drained it.
        self.level.saturating_sub(elapsed.min(i64::MAX as u64 >> shift) << shift)
    }

    fn conforms(&mut self, now: Time, length: u32) -> bool {
        let level = self.level_at(now);
        let conforms = level <= self.limit;
        if conforms {
            (self.level, self.last_conformance) = (level + self.increment.weight(length), now);
        }
        conforms
    }
}

/// One slot is a nanosecond, and at 8 Gbit/s a byte takes one: GCRA(I, L) in slots is packets of I bytes and a tolerance of L ns.
fn in_slots(limit: u64) -> (VirtualScheduling, LeakyBucket) {
    let rate = Rate::new(8_000_000_000).unwrap().time_per_byte();
    let limit = Duration::from_nanoseconds(limit);
    let scheduling = VirtualScheduling::new(Time::ZERO, rate, limit);
    (scheduling, LeakyBucket::of(&scheduling))
}

#[test]
fn transcript_of_gcra_10_15() {
    let (mut scheduling, mut bucket) = in_slots(15);
    let mut transcript = Vec::new();
    for slot in [0u64, 2, 5, 12, 18, 19, 30, 31, 60] {
        let now = Time::from_nanoseconds(slot);
        let conforms = scheduling.police(now, 10, Colour::Green) == Verdict::Conform;
        assert_eq!(conforms, bucket.conforms(now, 10));
        let arrival = scheduling.theoretical_arrival().picoseconds() / 1000;
        transcript.push((conforms, arrival, bucket.level().picoseconds() / 1000));
    }
    let expected = [
        (true, 10, 10),
        (true, 20, 18),
        (true, 30, 25),
        (false, 30, 25),
        (true, 40, 22),
        (false, 40, 22),
        (true, 50, 20),
        (false, 50, 20),
        (true, 70, 10),
    ];
    assert_eq!(transcript, expected);
}

#[test]
fn cells_in_adjacent_slots() {
    // GCRA(4.5, 7), (10, 15), (4, 9), (100, 380), in half slots of a nanosecond.
    for (increment, limit, cells) in [(9, 14, 3), (20, 30, 2), (8, 18, 4), (200, 760, 4)] {
        let (mut scheduling, _) = in_slots(limit);
        let passed = (0..).take_while(|i| scheduling.police(Time::from_nanoseconds(2 * i), increment, Colour::Green) == Verdict::Conform);
        assert_eq!(passed.count() as u64, cells);
        let ns = Duration::from_nanoseconds;
        assert_eq!(back_to_back_cells(ns(increment.into()), ns(limit), ns(2)), Some(cells));
    }
    assert_eq!(back_to_back_cells(Duration::from_nanoseconds(2), Duration::ZERO, Duration::from_nanoseconds(2)), None);
}

#[test]
fn the_boundary_conforms_and_one_picosecond_earlier_does_not() {
    let (start, _) = in_slots(15);
    let boundary = Time::from_nanoseconds(20 - 15);
    for (at, verdict) in [(boundary, Verdict::Conform), (boundary - Duration::from_picoseconds(1), Verdict::Discard)] {
        let mut gcra = start;
        assert_eq!(gcra.police(Time::ZERO, 20, Colour::Green), Verdict::Conform);
        assert_eq!(gcra.police(at, 20, Colour::Green), verdict);
    }
}

#[test]
fn marking_never_improves_a_packet() {
    let (mut gcra, _) = in_slots(0);
    gcra.violation = Violation::Mark(Colour::Yellow);
    let mut verdict = |colour| gcra.police(Time::ZERO, 10, colour);
    assert_eq!(verdict(Colour::Green), Verdict::Conform);
    assert_eq!(verdict(Colour::Green), Verdict::Mark(Colour::Yellow));
    assert_eq!(verdict(Colour::Yellow), Verdict::Conform);
    assert_eq!(verdict(Colour::Red), Verdict::Conform);
}

proptest! {
    /// The two forms, over gaps that favour the instants at which a packet just conforms or just fails to.
    #[test]
    fn the_two_forms_are_equal(
        bps in prop_oneof![1_000u64..100_000, 1_000_000u64..=400_000_000_000],
        limit in 0u32..200_000,
        origin: u64,
        packets in proptest::collection::vec((1u32..10_000, 0u8..6, -2i64..3, any::<u32>()), 1..300),
    ) {
        let rate = Rate::new(bps).unwrap().time_per_byte();
        let mut now = Time::from_picoseconds(origin);
        let mut scheduling = VirtualScheduling::new(now, rate, rate.ceil(limit));
        let mut bucket = LeakyBucket::of(&scheduling);
        for (length, kind, near, gap) in packets {
            now = match kind {
                0 => now,
                1 => now + rate.ceil(gap % 20_000),
                2 => now + Duration::from_picoseconds(u64::from(gap)),
                _ => {
                    let boundary = scheduling.theoretical_arrival() - rate.ceil(limit);
                    now.later(Time::from_picoseconds(boundary.picoseconds().wrapping_add_signed(near)))
                }
            };
            let verdict = scheduling.police(now, length, Colour::Green);
            prop_assert_eq!(verdict == Verdict::Conform, bucket.conforms(now, length));
            if verdict == Verdict::Conform {
                let ahead = scheduling.theoretical_arrival().since(bucket.last_conformance);
                // X = TAT - LCT, to the tick.
                prop_assert_eq!((ahead.picoseconds() << rate.shift()) - u64::from(scheduling.excess), bucket.level);
                prop_assert_eq!(ahead, bucket.level());
            }
        }
    }
}
