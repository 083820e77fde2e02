//! Sources against their definitions, window by window.

use super::*;
use crate::quantity::bits;
use proptest::prelude::*;
use tidegate_core::units::Rate;

#[test]
fn a_cycle_of_frames_has_its_mean_and_the_burst_of_its_worst_window() {
    // 9, 1, 1, 1 kbit every 10 ms: mean 300 kbit/s; one frame of 9 kbit is the worst window.
    let curve = frames(&[9_000, 1_000, 1_000, 1_000], Duration::from_milliseconds(10)).unwrap();
    assert_eq!(curve.buckets(), [TokenBucket::of_bits(9_000, 300_000)]);
    // Two long ones in a row: 9 + 9 - 3 kbit; at once only one.
    let two = frames(&[9_000, 9_000, 1_000, 1_000], Duration::from_milliseconds(10)).unwrap();
    assert_eq!(two.buckets(), [TokenBucket::of_bits(9_000, 900_000), TokenBucket::of_bits(13_000, 500_000)]);
    assert!(frames(&[], Duration::from_milliseconds(10)).is_err());
}

#[test]
fn constant_pauses_have_a_mean_and_random_ones_only_a_peak() {
    let ms = Duration::from_milliseconds;
    let curve = on_off(1_000, 10_000_000, Pauses::Constant { on: ms(10), off: ms(30) }).unwrap();
    // r = 2.5 Mbit/s, b = 1000 + 10 ms * 7.5 Mbit/s.
    assert_eq!(curve.buckets(), [TokenBucket::of_bits(1_000, 10_000_000), TokenBucket::of_bits(76_000, 2_500_000)]);
    assert_eq!(on_off(1_000, 10_000_000, Pauses::Random).unwrap().buckets(), [TokenBucket::of_bits(1_000, 10_000_000)]);
}

#[test]
fn contracts_add_their_tolerance() {
    let ms = Duration::from_milliseconds;
    assert_eq!(contract(1_000_000, 12_000, ms(2)).unwrap(), Arrival::token_bucket(14_000, 1_000_000));
    let dual = dual_contract(1_000_000, 12_000, 10_000_000, 1_000, ms(0)).unwrap();
    assert_eq!(dual.buckets(), [TokenBucket::of_bits(1_000, 10_000_000), TokenBucket::of_bits(12_000, 1_000_000)]);
    let rate = |mbps: u64| Rate::new(mbps * 1_000_000).unwrap();
    assert_eq!(traffic_spec(&TrafficSpec::new(1_000, 12_000, rate(1), rate(10)).unwrap()), dual);
}

#[test]
fn what_is_not_limited_says_so() {
    assert_eq!(Unlimited::Poisson.reason().to_string(), "source `poisson` is not limited");
}

proptest! {
    /// The curve of a capture holds in every closed window.
    #[test]
    fn a_capture_keeps_its_own_curve(gaps in proptest::collection::vec((0u64..2_000_000_000, 1u64..12_000), 1..40)) {
        let mut now = 0;
        let packets: Vec<(u64, u64)> = gaps.iter().map(|&(gap, length)| { now += gap; (now, length) }).collect();
        let curve = capture(&packets).unwrap();
        for first in 0..packets.len() {
            let mut sum = 0;
            for &(time, length) in &packets[first..] {
                sum += bits(length);
                prop_assert!(sum <= curve.at((time - packets[first].0).into()).unwrap());
            }
        }
    }

    #[test]
    fn frames_keep_their_curve_in_every_window(lengths in proptest::collection::vec(1u64..20_000, 1..12), interval in 1u64..50) {
        let interval = Duration::from_milliseconds(interval);
        let curve = frames(&lengths, interval).unwrap();
        for first in 0..lengths.len() {
            let mut sum = 0;
            for (position, &length) in lengths.iter().cycle().skip(first).take(3 * lengths.len()).enumerate() {
                sum += bits(length);
                prop_assert!(sum <= curve.at(i128::from(interval.picoseconds()) * position as i128).unwrap());
            }
        }
    }

    #[test]
    fn no_length_grows_more_than_the_ratio(shortest in 1u32..400, more in 0u32..400, bytes in 0u16..60, minimum in 0u16..120, which in 0usize..9) {
        let all = [Overhead::None, Overhead::PerPacket { bytes, minimum }, Overhead::Aal5];
        check_ratio((shortest, shortest + more), all[which / 3], all[which % 3]);
    }
}

/// The largest ratio of two overheads over all lengths of the range, against the slow search.
fn check_ratio((shortest, longest): (u32, u32), there: Overhead, here: Overhead) {
    let (new, old) = largest_ratio(shortest, longest, there, here).unwrap();
    for length in shortest..=longest {
        let (one, two) = (i128::from(here.wire_length(length)), i128::from(there.wire_length(length)));
        assert!(one * old <= new * two, "{shortest} to {longest}, {there:?} to {here:?}: {length}: {one}/{two} exceeds {new}/{old}");
    }
}

/// The longest frame fills its last cell, so the last one that begins a cell is a cell shorter.
#[test]
fn the_last_cell_of_a_range_may_be_full() {
    for bytes in [0, 18, 38, 56] {
        for longest in [232, 280, 520] {
            check_ratio((186, longest), Overhead::PerPacket { bytes, minimum: 0 }, Overhead::Aal5);
            check_ratio((186, longest), Overhead::Aal5, Overhead::PerPacket { bytes, minimum: 84 });
        }
    }
}
