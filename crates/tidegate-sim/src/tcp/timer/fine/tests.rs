//! Tests of [`super`].

use super::*;
use crate::tcp::TimerKind;
use tidegate_core::units::Duration;

/// A millisecond in picoseconds.
const MS: u64 = 1_000_000_000;

#[test]
fn waits_are_those_of_the_rfc() {
    let milliseconds = Duration::from_milliseconds;
    let settings =
        TimerSettings { granularity: milliseconds(100), minimum: milliseconds(200), ..TimerSettings::default_for(TimerKind::Fine) };
    let mut timer = Fine::new(&settings, 0);
    assert_eq!(timer.deadline(7), 7 + 1_000 * MS);
    let mut waits = Vec::new();
    for measured in [100, 100, 300, 100] {
        timer.on_rtt_sample(5, 5 + measured * MS);
        waits.push(timer.wait());
    }
    assert_eq!(waits, [300_000_000_000, 250_000_000_000, 437_500_000_000, 381_250_000_000]);
    // Section 5.5: every timeout doubles it, up to the greatest; section 5.7: a measurement ends that.
    timer.on_rto();
    timer.on_rto();
    assert_eq!(timer.deadline(0), 4 * 381_250_000_000);
    (0..30).for_each(|_| timer.on_rto());
    assert_eq!(timer.deadline(0), 60_000 * MS);
    timer.on_rtt_sample(0, 100 * MS);
    assert!(timer.deadline(0) < 400 * MS);
}
