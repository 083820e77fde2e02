//! Tests of [`super`].

use crate::random::Stream;
use crate::source::{LengthDistribution, Poisson, Source, transcripts};

#[test]
fn intervals_have_the_mean_and_the_variance_of_an_exponential() {
    let source = Source::Poisson(Poisson { packets_per_second: 1000.0, length: LengthDistribution::Fixed(100) });
    let packets = transcripts::packets(&source, 0, 100_001, &mut Stream::new(3, 0, "poisson"));
    let gaps: Vec<f64> = packets.windows(2).map(|pair| (pair[1].0 - pair[0].0) as f64 / 1e9).collect();
    let n = gaps.len() as f64;
    let mean = gaps.iter().sum::<f64>() / n;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / n;
    // Five standard errors: 1 and sqrt(8) over the square root of n. Even spacing has variance 0, uniform intervals 1/3.
    assert!((mean - 1.0).abs() < 0.016, "{mean}");
    assert!((variance - 1.0).abs() < 0.045, "{variance}");
}
