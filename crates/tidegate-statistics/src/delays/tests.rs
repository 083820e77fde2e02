//! Tests of [`super`].

use super::*;

#[test]
fn merging_equals_recording_together_but_for_the_seam() {
    let (mut a, mut b) = (Delays::default(), Delays::default());
    a.record(Duration::from_seconds(100));
    b.record(Duration::from_milliseconds(1));
    b.record(Duration::from_milliseconds(2));
    a.merge(&b);
    assert_eq!(a.count(), 3);
    assert_eq!(a.maximum_seconds(), Some(100.0));
    assert!((a.jitter().mean().unwrap() - 0.001).abs() < 1e-15);
    // The next delay is compared with none of the merged ones.
    a.record(Duration::from_seconds(1));
    assert!((a.jitter().mean().unwrap() - 0.001).abs() < 1e-15);
    assert_eq!(Delays::default().mean_seconds(), None);
    assert_eq!(Delays::default().jitter().mean(), None);
}
