//! Reordering and duplication: some packets come later than the delay of the link, so that others overtake them, and some come twice.
//!
//! **Law.** Packet n of a stream takes two numbers of its generator. It is late if the first is below 2^64 times the share of late packets, and comes
//! twice if the second is below that of duplicates. The same seed and stream disturb the same packets, by number, on every machine.
//!
//! **Source.** What they are: RFC 4737 (reordering) and RFC 5560 (duplication).
//!
//! **State.** The generator's 8 bytes, and two thresholds of 16.
//!
//! **Cost.** Four multiplications per packet.
//!
//! **Deviations.** None.

use crate::loss::{BILLION, STREAM_SPREAD, threshold};
use tidegate_core::random::SplitMix64;
use tidegate_core::units::Duration;

/// How often packets are late or come twice, and the seed of the random numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Disturbance {
    late: u64,
    extra: Duration,
    twice: u64,
    seed: u64,
}

impl Disturbance {
    /// `late` of a billion packets come `extra` later than the others, and `twice` of a billion come twice; `None` above 10^9.
    pub fn new(late: u64, extra: Duration, twice: u64, seed: u64) -> Option<Disturbance> {
        (late <= BILLION && twice <= BILLION).then_some(Disturbance { late, extra, twice, seed })
    }

    /// The packets that come late, of a billion.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// The packets that come twice, of a billion.
    pub fn twice(&self) -> u64 {
        self.twice
    }

    /// The seed of the random numbers.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// How much later the late packets come.
    pub fn extra(&self) -> Duration {
        self.extra
    }

    /// True if packets may be late, and so overtaken.
    pub fn reorders(&self) -> bool {
        self.late > 0 && self.extra > Duration::ZERO
    }
}

/// What happens to a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Disturbed {
    /// It comes later than the others.
    pub is_late: bool,
    /// It comes twice, the copy right behind it.
    pub is_twice: bool,
}

/// Which packets of one direction are disturbed, one after the other.
#[derive(Clone, Debug)]
pub struct DisturbanceStream {
    generator: SplitMix64,
    late: u128,
    twice: u128,
}

/// Keeps the numbers apart from those of losses with the same seed: the fraction of the square root of 5.
const DISTURBANCE: u64 = 0x3c6e_f372_fe94_f82b;

impl DisturbanceStream {
    /// Stream `number` of a seed.
    pub fn new(disturbance: Disturbance, number: u64) -> DisturbanceStream {
        let mut seeds = SplitMix64::new(disturbance.seed ^ DISTURBANCE ^ number.wrapping_mul(STREAM_SPREAD));
        let late = if disturbance.reorders() { threshold(disturbance.late) } else { 0 };
        DisturbanceStream { generator: SplitMix64::new(seeds.next_word()), late, twice: threshold(disturbance.twice) }
    }

    /// What happens to the next packet.
    #[inline]
    pub fn disturbs_next(&mut self) -> Disturbed {
        let is_late = u128::from(self.generator.next_word()) < self.late;
        let is_twice = u128::from(self.generator.next_word()) < self.twice;
        Disturbed { is_late, is_twice }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_those_that_were_asked_for_and_independent() {
        const PACKETS: usize = 1_000_000;
        let disturbance = Disturbance::new(100_000_000, Duration::from_milliseconds(1), 10_000_000, 3).unwrap();
        let mut stream = DisturbanceStream::new(disturbance, 0);
        let fates: Vec<Disturbed> = (0..PACKETS).map(|_| stream.disturbs_next()).collect();
        let count = |what: fn(&&Disturbed) -> bool| fates.iter().filter(what).count() as f64;
        let near = |found: f64, share: f64| {
            let mean = PACKETS as f64 * share;
            assert!((found - mean).abs() < 4.5 * mean.sqrt(), "{found} of {mean}");
        };
        near(count(|fate| fate.is_late), 0.1);
        near(count(|fate| fate.is_twice), 0.01);
        near(count(|fate| fate.is_late && fate.is_twice), 0.001);
        let mut other = DisturbanceStream::new(disturbance, 1);
        near(fates.iter().filter(|fate| fate.is_late && other.disturbs_next().is_late).count() as f64, 0.01);
    }

    #[test]
    fn nothing_is_late_by_nothing() {
        assert_eq!(Disturbance::new(BILLION + 1, Duration::ZERO, 0, 1), None);
        let mut stream = DisturbanceStream::new(Disturbance::new(BILLION, Duration::ZERO, BILLION, 1).unwrap(), 0);
        assert!((0..1000).all(|_| stream.disturbs_next() == Disturbed { is_late: false, is_twice: true }));
    }
}
