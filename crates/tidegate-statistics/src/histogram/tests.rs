//! Tests of [`super`].

use super::*;
use proptest::prelude::*;

fn lies_within<const FINE: u32>(value: u64) -> Result<(), TestCaseError> {
    let bucket = bucket_of(FINE, value);
    prop_assert!(lower_end(FINE, bucket) <= value && value <= upper_end(FINE, bucket), "{} {}", value, bucket);
    let width = upper_end(FINE, bucket) - lower_end(FINE, bucket);
    prop_assert!(width < 1024 || width <= value >> FINE);
    Ok(())
}

fn err_upwards<const FINE: u32>(mut values: Vec<u64>, part: f64) -> Result<(), TestCaseError> {
    let mut histogram = Buckets::<FINE>::default();
    values.iter().for_each(|&value| histogram.record(value));
    values.sort_unstable();
    let rank = ((part * values.len() as f64).ceil() as usize).max(1);
    let (truth, read) = (values[rank - 1], (histogram.quantile(part).unwrap() * 1e12).round() as u64);
    prop_assert!(read >= truth && read <= truth + (truth >> FINE) + 1024, "{} {}", read, truth);
    let mean = values.iter().map(|&v| v as f64).sum::<f64>() / values.len() as f64;
    prop_assert!((histogram.mean().unwrap() * 1e12 - mean).abs() <= mean * 1e-12);
    let beyond = values.iter().filter(|&&v| v > truth).count() as f64 / values.len() as f64;
    prop_assert!(histogram.share_beyond(truth) >= beyond);
    Ok(())
}

proptest! {
    #[test]
    fn a_value_lies_within_its_narrow_bucket(value in any::<u64>(), shift in 0u32..64) {
        lies_within::<7>(value >> shift)?;
        lies_within::<5>(value >> shift)?;
    }

    #[test]
    fn quantiles_err_upwards_by_less_than_a_bucket(values in prop::collection::vec(0u64..1 << 45, 1..200), part in 0.0..=1.0f64) {
        err_upwards::<7>(values.clone(), part)?;
        err_upwards::<5>(values, part)?;
    }

    #[test]
    fn merging_is_recording_all(a in prop::collection::vec(any::<u64>(), 0..50), b in prop::collection::vec(0u64..1 << 30, 0..50)) {
        let of = |values: &[u64]| {
            let mut histogram = Histogram::default();
            values.iter().for_each(|&value| histogram.record(value));
            histogram
        };
        let mut merged = of(&a);
        merged.merge(&of(&b));
        let together = of(&[a, b].concat());
        prop_assert_eq!(merged.tail(), together.tail());
        prop_assert_eq!((merged.count(), merged.sum, merged.maximum), (together.count(), together.sum, together.maximum));
    }
}

#[test]
fn the_resolution_is_of_what_is_beyond_the_constant_part() {
    const CONSTANT: u64 = 1_000_000_000_000;
    let mut values: Vec<u64> = (0..2000u64).map(|index| CONSTANT + index * index % 1999 * 7_000_000).collect();
    let mut histogram = Histogram::above(CONSTANT);
    values.iter().for_each(|&value| histogram.record(value));
    values.sort_unstable();
    for part in [0.1, 0.5, 0.9, 0.99, 1.0] {
        let truth = values[(part * 2000.0) as usize - 1] as f64 / 1e12 - 1.0;
        let read = histogram.quantile(part).unwrap() - 1.0;
        assert!(read >= truth - 1e-15 && read <= truth * 1.008 + 1.1e-9, "{part}: {read} {truth}");
    }
    let mean = values.iter().map(|&value| value as f64).sum::<f64>() / 2000.0 / 1e12;
    assert!((histogram.mean().unwrap() - mean).abs() < 1e-12);
    assert_eq!(histogram.maximum(), Some(values[1999] as f64 / 1e12));
    assert_eq!((histogram.share_beyond(CONSTANT - 1), histogram.share_beyond(values[1999])), (1.0, 0.0));
    assert!(histogram.tail().0[0] >= 1.0 && histogram.tail().0[0] < 1.000_01);
    let mut merged = Histogram::default();
    merged.merge(&Histogram::above(5));
    merged.merge(&histogram);
    assert_eq!(merged, histogram);
}

#[test]
fn the_tail_runs_from_one_to_zero() {
    let mut histogram = Histogram::default();
    for value in [1_000_000, 2_000_000, 2_000_000, 4_000_000] {
        histogram.record(value);
    }
    let (durations, shares) = histogram.tail();
    assert_eq!(shares, [1.0, 0.75, 0.25, 0.0]);
    assert_eq!(durations[3], 4e-6);
    assert!(durations.windows(2).all(|pair| pair[0] < pair[1]));
    assert_eq!(Histogram::default().quantile(0.5), None);
    assert_eq!(Histogram::default().share_beyond(0), 0.0);
}
