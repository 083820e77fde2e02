//! Promises are judged value by value.

use super::*;
use crate::units;

#[test]
fn every_value_is_judged_by_itself() {
    let promise = Promise {
        delay: units::duration("20 ms").ok(),
        percentile: Percentile::NINETY_NINE,
        loss: units::ratio("0.1 %").ok(),
        rate: units::rate("1 Mbit/s").ok(),
    };
    let judged = promise.judge(&Measured { delay_quantile_s: &|q| Some(q * 0.0125), loss: Some(0.0011), rate_bps: 1e6 });
    let row = |promise: &str, measured: &str, kept| Judgement { promise: promise.into(), measured: measured.into(), kept };
    assert_eq!(
        judged,
        [
            row("delay p99 at most 20 ms", "12.38 ms", true),
            row("loss at most 0.1 %", "0.11 %", false),
            row("rate at least 1 Mbit/s", "1 Mbit/s", true)
        ]
    );
    let silent = promise.judge(&Measured { delay_quantile_s: &|_| None, loss: None, rate_bps: 0.0 });
    assert!(silent.iter().all(|row| !row.kept), "{silent:?}");
}

#[test]
fn measured_values_keep_their_meaning() {
    assert_eq!(scaled(0.00001, &[(1.0, "%")]), "1.00e-5 %");
    assert_eq!(scaled(0.0, &[(1.0, "%")]), "0 %");
    assert_eq!(scaled(12_345_678.0, &[(1e6, "Mbit/s"), (1.0, "bit/s")]), "12.35 Mbit/s");
    assert_eq!(scaled(0.9995, &[(1.0, "s"), (1e-3, "ms")]), "999.5 ms");
}
