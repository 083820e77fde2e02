//! Whether the queue that marks is a classic one: a score, from how much round trips vary and how far they exceed the least one.
//!
//! **Law.** The score is between -8, surely a queue for low latency, and 9, surely a classic one. In each round a deviation of 750 us leaves it as it
//! is, and twice as much adds a half. An excess of up to 2 ms leaves it as it is, and twice as much adds a half.
//!
//! **Source.** B. Briscoe and A. S. Ahmed, "TCP Prague Fall-back on Detection of a Classic ECN AQM", arXiv 1911.00710, with weights, gains and
//! limits as in Linux (L4S branch, TCP Prague 0.6, parameter `prague_ecn_fallback`).
//!
//! **State.** Five numbers.
//!
//! **Cost.** Four additions per acknowledgement, two logarithms per round.
//!
//! **Deviations.** Logarithms are exact; Linux carries the rests of whole ones. The least round trip is that of the whole connection. As in Linux, a
//! sender that its application limits is judged like any other.

/// The limits of the score.
const SCORES: (f64, f64) = (-8.0, 9.0);
/// What a doubling of the deviation or the excess adds.
const WEIGHT: f64 = 0.5;
/// The deviation and the excess that leave the score as it is, in microseconds.
const NEUTRAL_DEVIATION: f64 = 750.0;
const NEUTRAL_EXCESS: f64 = 2000.0;
/// The share by which half of a window goes down at a mark of a queue that is surely classic: 31 % of the window, as CUBIC's 30 %.
const CLASSIC_SHARE: f64 = 0.625;
/// Microseconds per picosecond.
const MICROSECOND: f64 = 1e-6;
/// The gain of the smoothed round trip is at least 2 to the power of minus this.
const LONGEST_GAIN: u32 = 18;

#[derive(Clone, Debug)]
pub(super) struct ClassicQueue {
    score: f64,
    /// The smoothed round trip, its mean deviation, and the least round trip, in microseconds; 0 before the first.
    smoothed: f64,
    deviation: f64,
    least: f64,
    /// The binary logarithm of the number of acknowledgements over which the round trip is smoothed.
    gain: u32,
}

impl ClassicQueue {
    pub(super) fn new() -> ClassicQueue {
        ClassicQueue { score: SCORES.0, smoothed: 0.0, deviation: 1.0, least: 0.0, gain: LONGEST_GAIN }
    }

    /// An acknowledgement has measured a round trip, in picoseconds.
    pub(super) fn on_round_trip(&mut self, picoseconds: u64) {
        let measured = picoseconds as f64 * MICROSECOND;
        if self.smoothed == 0.0 {
            (self.smoothed, self.least) = (measured, measured);
            return;
        }
        let error = measured - self.smoothed;
        let part = 1.0 / f64::from(1u32 << self.gain);
        self.smoothed += error * part;
        self.deviation += (error.abs() - self.deviation) * part / 2.0;
        self.least = self.least.min(measured);
    }

    /// The window is about to go down. The slow start threshold in segments decides how many acknowledgements count: some 2 w^1.5.
    pub(super) fn on_reduction(&mut self, threshold: u64) {
        let doublings = threshold.max(1).ilog2();
        self.gain = (doublings + doublings / 2 + 1).min(LONGEST_GAIN);
    }

    /// A round is over, in a connection that has seen marks.
    pub(super) fn on_round(&mut self) {
        let doublings = |value: f64, neutral: f64| libm::log2(value.max(1.0) / neutral);
        self.score += WEIGHT * doublings(self.deviation, NEUTRAL_DEVIATION);
        self.score += WEIGHT * doublings(self.smoothed - self.least, NEUTRAL_EXCESS).max(0.0);
        self.score = self.score.clamp(SCORES.0, SCORES.1);
    }

    /// The least share of marks to react to: from none, up to a score of zero, to [`CLASSIC_SHARE`], from one on.
    pub(super) fn least_share(&self) -> f64 {
        CLASSIC_SHARE * self.score.clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A queue after rounds with this deviation and excess, in microseconds.
    fn after(rounds: u32, deviation: f64, excess: f64) -> ClassicQueue {
        let mut queue = ClassicQueue { deviation, smoothed: 20_000.0 + excess, least: 20_000.0, ..ClassicQueue::new() };
        (0..rounds).for_each(|_| queue.on_round());
        queue
    }

    #[test]
    fn doublings_of_deviation_and_excess_move_the_score_by_a_half() {
        for (deviation, excess, step) in [
            (750.0, 0.0, 0.0),
            (1500.0, 0.0, 0.5),
            (3000.0, 0.0, 1.0),
            (750.0, 2000.0, 0.0),
            (750.0, 8000.0, 1.0),
            (3000.0, 16_000.0, 2.5),
            // An excess below 2 ms takes nothing away; a deviation below 750 us does.
            (750.0, 500.0, 0.0),
            (375.0, 4000.0, 0.0),
        ] {
            let found = after(3, deviation, excess).score - SCORES.0;
            assert!((found - 3.0 * step).abs() < 1e-9, "{deviation} {excess}: {found}");
        }
        // Four doublings less are two a round, from what three rounds have made: 4.
        let mut queue = after(8, 3000.0, 8000.0);
        assert_eq!(queue.score, 8.0);
        queue.deviation = 750.0 / 16.0;
        queue.smoothed = queue.least;
        queue.on_round();
        assert_eq!(queue.score, 6.0);
    }

    #[test]
    fn the_score_has_limits_and_the_share_goes_from_none_to_all_between_zero_and_one() {
        assert_eq!((after(100, 10.0, 0.0).score, after(100, 9000.0, 9000.0).score), SCORES);
        // A deviation of no microsecond counts as one.
        assert_eq!(after(1, 0.0, 0.0).score, SCORES.0);
        let share = |score| ClassicQueue { score, ..ClassicQueue::new() }.least_share();
        assert_eq!([-8.0, 0.0, 0.5, 1.0, 9.0].map(share), [0.0, 0.0, 0.3125, 0.625, 0.625]);
    }

    #[test]
    fn the_smoothing_takes_a_thousand_acknowledgements_at_a_hundred_segments() {
        let gain = |threshold| {
            let mut queue = ClassicQueue::new();
            queue.on_reduction(threshold);
            queue.gain
        };
        // 6 + 3 + 1, 3 + 1 + 1, and no more than 18.
        assert_eq!([100, 8, 1, 1 << 20].map(gain), [10, 5, 1, 18]);
        let mut queue = ClassicQueue::new();
        queue.on_reduction(100);
        queue.on_round_trip(20_000_000_000);
        assert_eq!((queue.smoothed, queue.deviation, queue.least), (20_000.0, 1.0, 20_000.0));
        // A step of 4 ms: 1 - 1/e of it after 1024 acknowledgements. The deviation is the mean of what was left over twice as many.
        (0..1024).for_each(|_| queue.on_round_trip(24_000_000_000));
        assert!((queue.smoothed - 22_528.5).abs() < 2.0, "{}", queue.smoothed);
        // The integral of e^-t e^-((1-t)/2) / 2 over 0 to 1 is e^-1/2 - e^-1 = 0.2387.
        assert!((queue.deviation - 0.6065 - 4000.0 * 0.2387).abs() < 2.0, "{}", queue.deviation);
        assert_eq!(queue.least, 20_000.0);
    }
}
