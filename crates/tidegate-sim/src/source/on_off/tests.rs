//! Tests of [`super`].

use super::*;
use crate::source::{Source, transcripts};
use tidegate_core::units::Duration;

/// Two milliseconds.
const TWO: Duration = Duration::from_milliseconds(2);

fn source(on: Holding, off: Holding, remainder: Remainder) -> Source {
    Source::OnOff(OnOff { peak: Rate::new(1_500_000).unwrap(), length: 125, on, off, remainder })
}

#[test]
fn constant_periods_carry_the_remainder() {
    // A packet per 2/3 ms of on time: three of them use up exactly one on period of 2 ms.
    let constant = Holding::Constant { time: TWO };
    let source = source(constant, constant, Remainder::Carried);
    let packets = transcripts::packets(&source, 0, 3001, &mut Stream::new(1, 0, "on-off"));
    let span = packets[3000].0 - packets[0].0;
    // 1000 cycles of 4 ms, give or take the picosecond by which a packet may fall into the neighbouring period.
    assert!(span.abs_diff(4_000_000_000_000) <= 2_000_000_001, "{span}");
    // Within a cycle the gaps are 2/3, 2/3 and 2/3 + 2 ms.
    let silences = packets.windows(2).filter(|pair| pair[1].0 - pair[0].0 > 2_000_000_000).count();
    assert!((999..=1001).contains(&silences), "{silences}");
}

#[test]
fn mean_rates_of_exponential_periods() {
    let exponential = Holding::Exponential { mean: TWO };
    for (remainder, expected) in [(Remainder::Carried, 750.0), (Remainder::Completed, 810.6)] {
        let source = source(exponential, exponential, remainder);
        assert!((source.mean_bits_per_second().unwrap() / 1000.0 - expected).abs() < 0.05);
        let measured = transcripts::mean_rate(&source, 400_000, &mut Stream::new(1, 0, "on-off"));
        // A cycle's packets have a coefficient of variation near 1; over 120,000 cycles the standard error is about 0.4 %. The two
        // readings lie 8 % apart, and those without any care for the remainder at 632 and 882.
        assert!((measured / expected - 1.0).abs() < 0.012, "{measured} {expected}");
    }
}

#[test]
fn pareto_periods_have_the_same_mean_rate() {
    let source = source(Holding::Pareto { mean: TWO, shape: 2.5 }, Holding::Pareto { mean: TWO, shape: 2.5 }, Remainder::Carried);
    let measured = transcripts::mean_rate(&source, 400_000, &mut Stream::new(1, 0, "on-off"));
    assert!((measured / 750.0 - 1.0).abs() < 0.02, "{measured}");
}

#[test]
fn a_source_is_stationary_from_its_start() {
    // The expected number of packets in the first millisecond, over many sources, is the long-run rate: 0.75.
    let pareto = Holding::Pareto { mean: TWO, shape: 1.9 };
    let source = source(pareto, pareto, Remainder::Carried);
    let (sources, mut count) = (20_000, 0);
    for index in 0..sources {
        let packets = transcripts::packets(&source, 0, 10, &mut Stream::new(1, index, "on-off"));
        count += packets.iter().filter(|packet| packet.0 < 1_000_000_000).count();
    }
    let mean = count as f64 / f64::from(sources);
    // The standard error is below 0.006; a start at the beginning of an on period would give 1.4, of an off period below 0.3.
    assert!((mean - 0.75).abs() < 0.025, "{mean}");
}
