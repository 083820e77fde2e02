//! Random loss: independent from packet to packet, or in bursts by the two states of Gilbert and Elliott.
//!
//! **Law.** Independent: packet n of a stream is lost if and only if the n-th number of its generator is below 2^64 times the probability.
//! Gilbert-Elliott: the first number decides about the state before the first packet, at the chances that the chain has in the long run.
//! Each packet then takes two numbers. The first decides in the present state whether it is lost, the second whether the state changes behind it.
//! The same seed and stream lose the same packets, by number, on every machine.
//!
//! **Source.** Independent losses form a Bernoulli channel. E. N. Gilbert, "Capacity of a burst-noise channel", Bell System Technical Journal 39,
//! 1960; E. O. Elliott, "Estimates of error rates for codes on burst-noise channels", Bell System Technical Journal 42, 1963.
//!
//! **State.** The generator's 8 bytes and the thresholds: 32 bytes, or 80.
//!
//! **Cost.** Two multiplications per packet; four with two states.
//!
//! **Deviations.** Gilbert and Elliott lose bits; here packets are lost, as in RFC 6534 and in network emulators.

use tidegate_core::random::SplitMix64;

/// Which packets are lost, and the seed of the random numbers.
///
/// ```
/// use tidegate_link::{GilbertElliott, Loss, LossStream};
/// let lost = |loss: Loss| {
///     let mut losses = LossStream::new(loss, 0);
///     (0..10_000).filter(|_| losses.loses_next()).count()
/// };
/// assert!((60..140).contains(&lost(Loss::new(10_000_000, 1).unwrap())));
/// assert_eq!(Loss::new(1_000_000_001, 1), None);
///
/// // One burst in 400 packets, of four packets on average: one packet in 101.
/// let bursts = GilbertElliott { good_to_bad: 2_500_000, bad_to_good: 250_000_000, loss_in_good: 0, loss_in_bad: 1_000_000_000 };
/// assert!((30..200).contains(&lost(Loss::in_bursts(bursts, 1).unwrap())));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Loss {
    model: LossModel,
    seed: u64,
}

/// How the loss of a packet depends on the packets before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LossModel {
    /// Not at all. The probability in billionths, 0 to 10^9.
    Independent(u64),
    /// By a state that lasts for several packets.
    GilbertElliott(GilbertElliott),
}

/// The chances of the two states, in billionths: 0 to 10^9.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GilbertElliott {
    /// That the bad state follows behind a packet in the good one: p. Not 0.
    pub good_to_bad: u64,
    /// That the good state follows behind a packet in the bad one: r. Not 0.
    pub bad_to_good: u64,
    /// That a packet is lost in the good state: 1 - k.
    pub loss_in_good: u64,
    /// That a packet is lost in the bad state: 1 - h.
    pub loss_in_bad: u64,
}

impl Loss {
    /// Loses `billionths` of a billion packets on average, each independently of the others; `None` above 10^9.
    pub fn new(billionths: u64, seed: u64) -> Option<Loss> {
        (billionths <= BILLION).then_some(Loss { model: LossModel::Independent(billionths), seed })
    }

    /// Loses packets by the two states; `None` if a chance is above 10^9, or a state is never left.
    pub fn in_bursts(chances: GilbertElliott, seed: u64) -> Option<Loss> {
        let GilbertElliott { good_to_bad, bad_to_good, loss_in_good, loss_in_bad } = chances;
        let are_chances = [good_to_bad, bad_to_good, loss_in_good, loss_in_bad].into_iter().all(|chance| chance <= BILLION);
        (are_chances && good_to_bad > 0 && bad_to_good > 0).then_some(Loss { model: LossModel::GilbertElliott(chances), seed })
    }

    /// How losses depend on each other.
    pub fn model(&self) -> LossModel {
        self.model
    }

    /// The share of packets that are lost in the long run, 0 to 1.
    pub fn probability(&self) -> f64 {
        let share = |billionths: u64| billionths as f64 / BILLION as f64;
        match self.model {
            LossModel::Independent(billionths) => share(billionths),
            LossModel::GilbertElliott(chances) => {
                let (bad, good) = (chances.good_to_bad as f64, chances.bad_to_good as f64);
                (good * share(chances.loss_in_good) + bad * share(chances.loss_in_bad)) / (good + bad)
            }
        }
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }
}

/// Probabilities are counted in billionths.
pub(crate) const BILLION: u64 = 1_000_000_000;

/// 2^64 times a probability, rounded down: too low by less than 2^-64.
pub(crate) fn threshold(billionths: u64) -> u128 {
    (u128::from(billionths) << 64) / u128::from(BILLION)
}

/// Which packets of one direction are lost, one after the other.
#[derive(Clone, Debug)]
pub struct LossStream {
    generator: SplitMix64,
    /// 2^64 times the probability, in the present state if there are two.
    threshold: u128,
    states: Option<Box<States>>,
}

/// The thresholds of the two states, the good one first.
#[derive(Clone, Debug)]
struct States {
    loss: [u128; 2],
    change: [u128; 2],
    is_bad: bool,
}

impl LossStream {
    /// Stream `number` of a seed. Streams of different numbers are independent: the directions of a bridge are streams 0 and 1.
    pub fn new(loss: Loss, number: u64) -> LossStream {
        let mut seeds = SplitMix64::new(loss.seed ^ number.wrapping_mul(STREAM_SPREAD));
        let mut generator = SplitMix64::new(seeds.next_word());
        match loss.model {
            LossModel::Independent(billionths) => LossStream { generator, threshold: threshold(billionths), states: None },
            LossModel::GilbertElliott(GilbertElliott { good_to_bad, bad_to_good, loss_in_good, loss_in_bad }) => {
                let in_bad = (u128::from(good_to_bad) << 64) / u128::from(good_to_bad + bad_to_good);
                let is_bad = u128::from(generator.next_word()) < in_bad;
                let loss = [loss_in_good, loss_in_bad].map(threshold);
                let states = States { loss, change: [good_to_bad, bad_to_good].map(threshold), is_bad };
                LossStream { generator, threshold: loss[usize::from(is_bad)], states: Some(Box::new(states)) }
            }
        }
    }

    /// True if the next packet is lost.
    #[inline]
    pub fn loses_next(&mut self) -> bool {
        let is_lost = u128::from(self.generator.next_word()) < self.threshold;
        if let Some(states) = &mut self.states {
            states.is_bad ^= u128::from(self.generator.next_word()) < states.change[usize::from(states.is_bad)];
            self.threshold = states.loss[usize::from(states.is_bad)];
        }
        is_lost
    }
}

/// Spreads stream numbers over all bits. Odd: the fraction of the square root of 3.
pub(crate) const STREAM_SPREAD: u64 = 0xbb67_ae85_84ca_a73b;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fates(billionths: u64, seed: u64, number: u64, packets: usize) -> Vec<bool> {
        let mut losses = LossStream::new(Loss::new(billionths, seed).unwrap(), number);
        (0..packets).map(|_| losses.loses_next()).collect()
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

    fn bursts(chances: [u64; 4], seed: u64, packets: usize) -> Vec<bool> {
        let [good_to_bad, bad_to_good, loss_in_good, loss_in_bad] = chances;
        let chances = GilbertElliott { good_to_bad, bad_to_good, loss_in_good, loss_in_bad };
        let mut losses = LossStream::new(Loss::in_bursts(chances, seed).unwrap(), 0);
        (0..packets).map(|_| losses.loses_next()).collect()
    }

    #[test]
    fn states_that_always_change_lose_every_other_packet() {
        let fates = bursts([BILLION, BILLION, 0, BILLION], 1, 1000);
        assert!(fates.windows(2).all(|pair| pair[0] != pair[1]));
        assert!(bursts([BILLION, BILLION, BILLION, BILLION], 1, 1000).into_iter().all(|lost| lost));
    }

    #[test]
    fn chances_above_one_and_states_without_end_are_refused() {
        let chances = GilbertElliott { good_to_bad: 1, bad_to_good: 1, loss_in_good: 0, loss_in_bad: BILLION };
        assert!(Loss::in_bursts(chances, 1).is_some());
        assert_eq!(Loss::in_bursts(GilbertElliott { good_to_bad: 0, ..chances }, 1), None);
        assert_eq!(Loss::in_bursts(GilbertElliott { bad_to_good: 0, ..chances }, 1), None);
        assert_eq!(Loss::in_bursts(GilbertElliott { loss_in_good: BILLION + 1, ..chances }, 1), None);
    }

    /// The share of lost packets, the mean length of a run of losses, and the start: what the chain has in closed form.
    #[test]
    fn bursts_have_the_share_and_the_length_of_the_chain() {
        const PACKETS: usize = 1_000_000;
        for (seed, p, r) in [(1, 10_000_000, 250_000_000), (2, 2_000_000, 100_000_000), (3, 100_000_000, 500_000_000)] {
            let fates = bursts([p, r, 0, BILLION], seed, PACKETS);
            let lost = fates.iter().filter(|lost| **lost).count() as f64;
            let runs = fates.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
            let share = p as f64 / (p + r) as f64;
            let chances = GilbertElliott { good_to_bad: p, bad_to_good: r, loss_in_good: 0, loss_in_bad: BILLION };
            assert!((Loss::in_bursts(chances, 1).unwrap().probability() - share).abs() < 1e-12);
            // A run has a geometric length of mean 1/r and a deviation of less than that; there are about 7,000 runs and more.
            let length = 1e9 / r as f64;
            assert!((lost / runs - length).abs() < 4.5 * length / runs.sqrt(), "{} of {length}", lost / runs);
            let deviation = share * (2.0 / (share * PACKETS as f64 / length)).sqrt();
            assert!((lost / PACKETS as f64 - share).abs() < 4.5 * deviation, "{lost} of {share}");
        }
        let first = (0..10_000).filter(|&seed| bursts([300_000_000, 700_000_000, 0, BILLION], seed, 1)[0]).count();
        assert!((2800..3200).contains(&first), "{first}");
    }

    /// In each state packets are lost at its own chance: half of those in bad states here, so half as many in all, in broken runs.
    #[test]
    fn states_lose_at_their_own_chances() {
        let all = bursts([10_000_000, 100_000_000, 0, BILLION], 5, 1_000_000);
        let half = bursts([10_000_000, 100_000_000, 0, BILLION / 2], 5, 1_000_000);
        assert!(all.iter().zip(&half).all(|(all, half)| *all || !half), "the states are the same");
        let count = |fates: &[bool]| fates.iter().filter(|lost| **lost).count() as f64;
        assert!((count(&half) / count(&all) - 0.5).abs() < 0.01);
        let good = bursts([10_000_000, 100_000_000, BILLION / 5, BILLION], 5, 1_000_000);
        let in_good = all.iter().zip(&good).filter(|(all, good)| !**all && **good).count() as f64;
        assert!((in_good / (1e6 - count(&all)) - 0.2).abs() < 0.01);
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
