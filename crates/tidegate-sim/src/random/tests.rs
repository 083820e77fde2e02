//! Tests of [`super`].

use super::*;

fn first(seed: u64, replication: u32, component: &str) -> Vec<u64> {
    let mut stream = Stream::new(seed, replication, component);
    (0..8).map(|_| stream.below(u64::MAX)).collect()
}

#[test]
fn seed_replication_and_name_each_make_another_stream() {
    let here = first(1, 0, "voice");
    assert_eq!(here, first(1, 0, "voice"));
    for other in [first(2, 0, "voice"), first(1, 1, "voice"), first(1, 0, "video")] {
        assert!(here.iter().zip(&other).all(|(a, b)| a != b));
    }
}

#[test]
fn numbers_stay_the_same_for_ever() {
    // Results that were published with a seed must come out again. The values below are from another implementation of ChaCha8, run
    // with this key and nonce.
    assert_eq!(stream_number(""), 0xcbf2_9ce4_8422_2325);
    assert_eq!(stream_number("a"), 0xaf63_dc4c_8601_ec8c);
    let mut stream = Stream::new(7, 3, "a");
    let drawn: Vec<u64> = (0..3).map(|_| (stream.uniform() * 1e6) as u64).collect();
    assert_eq!(drawn, [196_916, 446_884, 942_841]);
}

#[test]
fn draws_have_the_right_mean() {
    let mut stream = Stream::new(1, 0, "mean");
    let n = 100_000;
    let mean = |sum: f64| sum / f64::from(n);
    let uniform = mean((0..n).map(|_| stream.uniform()).sum());
    let exponential = mean((0..n).map(|_| stream.exponential()).sum());
    let below = mean((0..n).map(|_| stream.below(11) as f64).sum());
    let (normal, square) = (0..n).fold((0.0, 0.0), |(sum, squares), _| {
        let drawn = stream.normal();
        (sum + drawn, squares + drawn * drawn)
    });
    // Five standard errors: 1 and the square root of 2 over the square root of 100,000.
    assert!(mean(normal).abs() < 0.016 && (mean(square) - 1.0).abs() < 0.023, "{normal} {square}");
    // Five standard errors: 0.29, 1 and 3.2 over the square root of 100,000.
    assert!((uniform - 0.5).abs() < 0.005, "{uniform}");
    assert!((exponential - 1.0).abs() < 0.016, "{exponential}");
    assert!((below - 5.0).abs() < 0.05, "{below}");
    assert_eq!(stream.below(0), 0);
    assert_eq!(stream.below(1), 0);
}
