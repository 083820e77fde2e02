//! Recent delays beside a list of all packets.

use super::*;
use proptest::prelude::*;

#[test]
fn every_bucket_ends_where_the_next_begins() {
    for bucket in 0..=bucket_of(FINE, u64::MAX) {
        let end = upper_end(FINE, bucket);
        assert_eq!(bucket_of(FINE, end), bucket);
        if end < u64::MAX {
            assert_eq!(bucket_of(FINE, end + 1), bucket + 1);
        }
    }
    assert_eq!(bucket_of(FINE, u64::MAX), bucket_of(FINE, u64::MAX >> 4) + 4 * 16);
    assert_eq!(upper_end(FINE, bucket_of(FINE, u64::MAX)), u64::MAX);
}

/// Every delay with its second, kept one by one.
struct Listed(Vec<(u64, u64)>);

impl Listed {
    fn of(&self, now: u64, window: Window) -> Vec<u64> {
        let is_in = |second: u64| match window {
            Window::Second => second + 1 == now,
            Window::Minute => second <= now && second / 10 + 6 >= now / 10,
        };
        let mut delays: Vec<u64> = self.0.iter().filter(|(second, _)| is_in(*second)).map(|(_, delay)| *delay).collect();
        delays.sort_unstable();
        delays
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn windows_are_those_of_a_list(steps in prop::collection::vec((prop_oneof![6 => Just(0u64), 4 => 1u64..3, 2 => 5u64..25, 1 => 50u64..200],
        prop_oneof![0u64..40_000_000, 1_000_000_000u64..9_000_000_000, any::<u64>().prop_map(|bits| bits >> (bits % 64))]), 1..150), is_coarse in any::<bool>()) {
        let (recent, error) = if is_coarse { (RecentDelays::coarse(), 1.0 / 4.0) } else { (RecentDelays::default(), 1.0 / 16.0) };
        let (mut recent, mut listed, mut now) = (recent, Listed(Vec::new()), 0);
        for (step, delay) in steps {
            now += step;
            recent.record(now, Duration::from_picoseconds(delay));
            listed.0.push((now, delay));
            for window in [Window::Second, Window::Minute] {
                let delays = listed.of(now, window);
                prop_assert_eq!(recent.count(window), delays.len() as u64);
                prop_assert_eq!(recent.maximum_seconds(window), delays.last().map(|&delay| seconds(delay)));
                for quantile in [0.0, 0.5, 0.99, 1.0] {
                    let Some(found) = recent.quantile_seconds(window, quantile) else {
                        prop_assert!(delays.is_empty());
                        continue;
                    };
                    let rank = ((quantile * delays.len() as f64).ceil() as usize).clamp(1, delays.len());
                    let exact = seconds(delays[rank - 1]);
                    prop_assert!(found >= exact && found <= exact * (1.0 + error) + 1.05e-6, "{} {}", found, exact);
                }
            }
        }
    }
}

#[test]
fn memory_is_what_the_header_says() {
    assert_eq!(size_of::<RecentDelays>(), 120);
    for (mut recent, most) in [(RecentDelays::default(), 3_900), (RecentDelays::coarse(), 1_300)] {
        for delay in (1_000..64_000).step_by(7) {
            recent.record(delay / 1000, Duration::from_microseconds(delay));
        }
        let bytes = recent.counts.capacity() * size_of::<[u32; COUNTS]>() + size_of::<RecentDelays>();
        assert!(bytes <= most, "{bytes}");
    }
}
