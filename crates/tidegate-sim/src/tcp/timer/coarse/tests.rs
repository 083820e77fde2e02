//! Tests of [`super`].

use super::*;
use crate::tcp::TimerKind;

const G: u64 = 500_000_000_000;

#[test]
fn estimates_are_those_of_the_specification() {
    let expected = [
        (vec![1, 1, 1, 1], vec![(8, 2, 3), (7, 3, 3), (7, 3, 3), (7, 3, 3)]),
        (vec![2, 2, 2], vec![(16, 4, 6), (15, 4, 5), (15, 3, 4)]),
        (vec![3, 1, 1, 5, 2], vec![(24, 6, 9), (21, 8, 10), (19, 8, 10), (21, 8, 10), (20, 7, 9)]),
    ];
    for (measured, estimates) in expected {
        let mut timer = Coarse::new(&TimerSettings::default_for(TimerKind::Coarse), 0);
        assert_eq!(timer.wait(), 12);
        for (ticks, estimate) in measured.into_iter().zip(estimates) {
            timer.measure(ticks);
            assert_eq!((timer.srtt, timer.rttvar, timer.wait()), estimate);
        }
    }
}

#[test]
fn it_fires_at_ticks() {
    let mut timer = Coarse::new(&TimerSettings::default_for(TimerKind::Coarse), G / 5);
    // Ticks at 0.8 g, 1.8 g, ...; a round trip that crosses one counts two.
    timer.on_rtt_sample(0, G / 2);
    assert_eq!((timer.srtt, timer.wait()), (8, 3));
    assert_eq!(timer.deadline(G / 2), 2 * G + G * 4 / 5);
    assert_eq!(timer.deadline(G * 4 / 5), 3 * G + G * 4 / 5);
    timer.on_rtt_sample(G / 2, G);
    assert_eq!(timer.srtt, 8);
    for (timeouts, ticks) in [(1, 6), (2, 12), (3, 24), (4, 64)] {
        timer.on_rto();
        let mut expected = 3 << timeouts;
        if timeouts == 4 {
            // The smoothed time has moved into the deviation: 1 + 3 ticks, doubled four times.
            expected = ticks;
        }
        let base = timer.wait() << timeouts;
        assert_eq!(timer.deadline(0), u64::from(base) * G - G / 5, "{expected}");
    }
    (0..9).for_each(|_| timer.on_rto());
    assert_eq!(timer.deadline(0), 128 * G - G / 5);
}
