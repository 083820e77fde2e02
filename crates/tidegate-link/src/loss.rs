//! Random loss: every packet is lost with the same probability, independently of the others.
//!
//! **Law.** Packet n of a stream is lost if and only if the n-th number of its generator is below 2^64 times the probability. The same seed
//! and stream lose the same packets, by number, on every machine.
//!
//! **Source.** SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014, figure 16: a counter with
//! steps of the golden ratio, and a mixing function. Independent losses form a Bernoulli channel.
//!
//! **State.** 8 bytes, and the threshold of 16.
//!
//! **Cost.** Two multiplications per packet.

/// The probability that a packet is lost, and the seed of the random numbers.
///
/// ```
/// use tidegate_link::{Loss, LossStream};
/// let one_in_a_hundred = Loss::new(10_000_000, 1).unwrap();
/// let mut losses = LossStream::new(one_in_a_hundred, 0);
/// let lost = (0..10_000).filter(|_| losses.loses_next()).count();
/// assert!((60..140).contains(&lost));
/// assert_eq!(Loss::new(1_000_000_001, 1), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Loss {
    billionths: u64,
    seed: u64,
}

impl Loss {
    /// Loses `billionths` of a billion packets on average; `None` above 10^9.
    pub fn new(billionths: u64, seed: u64) -> Option<Loss> {
        (billionths <= BILLION).then_some(Loss { billionths, seed })
    }

    /// The probability in billionths, 0 to 10^9.
    pub fn billionths(&self) -> u64 {
        self.billionths
    }

    /// The probability, 0 to 1.
    pub fn probability(&self) -> f64 {
        self.billionths as f64 / BILLION as f64
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }
}

/// Probabilities are counted in billionths.
const BILLION: u64 = 1_000_000_000;

/// Which packets of one direction are lost, one after the other.
#[derive(Clone, Debug)]
pub struct LossStream {
    generator: SplitMix64,
    /// 2^64 times the probability, rounded down: too low by less than 2^-64.
    threshold: u128,
}

impl LossStream {
    /// Stream `number` of a seed. Streams of different numbers are independent: the directions of a bridge are streams 0 and 1.
    pub fn new(loss: Loss, number: u64) -> LossStream {
        let mut seeds = SplitMix64(loss.seed ^ number.wrapping_mul(STREAM_SPREAD));
        LossStream { generator: SplitMix64(seeds.next()), threshold: (u128::from(loss.billionths) << 64) / u128::from(BILLION) }
    }

    /// True if the next packet is lost.
    #[inline]
    pub fn loses_next(&mut self) -> bool {
        u128::from(self.generator.next()) < self.threshold
    }
}

/// Spreads stream numbers over all bits. Odd: the fraction of the square root of 3.
const STREAM_SPREAD: u64 = 0xbb67_ae85_84ca_a73b;

#[derive(Clone, Debug)]
struct SplitMix64(u64);

impl SplitMix64 {
    #[inline]
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fates(billionths: u64, seed: u64, number: u64, packets: usize) -> Vec<bool> {
        let mut losses = LossStream::new(Loss::new(billionths, seed).unwrap(), number);
        (0..packets).map(|_| losses.loses_next()).collect()
    }

    #[test]
    fn the_generator_is_the_published_one() {
        // The first numbers of seed 1234567 in other implementations.
        let mut generator = SplitMix64(1_234_567);
        let numbers = std::array::from_fn(|_| generator.next());
        assert_eq!(
            numbers,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423,
                4_593_380_528_125_082_431,
                16_408_922_859_458_223_821_u64
            ]
        );
    }

    #[test]
    fn nothing_and_everything_are_exact() {
        assert!(fates(0, 1, 0, 10_000).iter().all(|lost| !lost));
        assert!(fates(BILLION, 1, 0, 10_000).iter().all(|lost| *lost));
    }

    /// Within 4.5 standard deviations of the mean; one seed in 150,000 would fail, but these are fixed.
    #[test]
    fn the_rate_is_within_its_confidence_interval() {
        const PACKETS: usize = 1_000_000;
        for (seed, billionths) in [(1, 100_000), (2, 1_000_000), (3, 10_000_000), (4, 300_000_000), (5, 999_000_000)] {
            let probability = billionths as f64 / 1e9;
            let lost = fates(billionths, seed, 0, PACKETS).iter().filter(|lost| **lost).count() as f64;
            let deviation = (PACKETS as f64 * probability * (1.0 - probability)).sqrt();
            let mean = PACKETS as f64 * probability;
            assert!((lost - mean).abs() < 4.5 * deviation, "{lost} of {mean} +- {deviation}");
        }
    }

    /// Losses are independent between packets, streams and seeds.
    #[test]
    fn losses_are_independent() {
        const PACKETS: usize = 1_000_000;
        let joint = |one: &[bool], other: &[bool]| one.iter().zip(other).filter(|(one, other)| **one && **other).count() as f64;
        let base = fates(100_000_000, 1, 0, PACKETS);
        let mean = PACKETS as f64 * 0.01;
        let deviation = (mean * 0.99).sqrt();
        for (what, both) in [
            ("the next", joint(&base, &base[1..])),
            ("the one after", joint(&base, &base[2..])),
            ("the other direction", joint(&base, &fates(100_000_000, 1, 1, PACKETS))),
            ("the next seed", joint(&base, &fates(100_000_000, 2, 0, PACKETS))),
        ] {
            assert!((both - mean).abs() < 4.5 * deviation, "{what}: {both} of {mean} +- {deviation}");
        }
    }

    proptest! {
        #[test]
        fn the_same_seed_loses_the_same_packets(billionths in 0..=BILLION, seed: u64, number: u64) {
            prop_assert_eq!(fates(billionths, seed, number, 200), fates(billionths, seed, number, 200));
        }

        /// A packet lost at one probability is lost at every higher one, so two runs differ by the probability alone.
        #[test]
        fn a_higher_probability_loses_more_of_the_same(low in 0..=BILLION, more in 0..=BILLION, seed: u64) {
            let high = (low + more).min(BILLION);
            for (low, high) in fates(low, seed, 0, 200).into_iter().zip(fates(high, seed, 0, 200)) {
                prop_assert!(high || !low);
            }
        }

        #[test]
        fn different_seeds_lose_different_packets(seed: u64, other: u64) {
            prop_assume!(seed != other);
            prop_assert_ne!(fates(500_000_000, seed, 0, 200), fates(500_000_000, other, 0, 200));
        }
    }
}
