//! One stream of random numbers per component.
//!
//! A stream is ChaCha with 8 rounds. Seed and replication make its key, the name of the component its stream number, so streams do
//! not depend on each other or on how many there are: adding a source disturbs no other, and replications share nothing.
//! ChaCha is specified to the bit, so the same names and seeds give the same numbers on every machine and in every version.

use chacha20::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1};

/// The seed of an experiment unless it says otherwise.
pub const DEFAULT_SEED: u64 = 1;

/// The random numbers of one component in one replication.
///
/// ```
/// use tidegate_sim::random::Stream;
/// let (mut here, mut again, mut elsewhere) = (Stream::new(1, 0, "voice"), Stream::new(1, 0, "voice"), Stream::new(1, 0, "video"));
/// let drawn = here.uniform();
/// assert_eq!(drawn, again.uniform());
/// assert_ne!(drawn, elsewhere.uniform());
/// ```
#[derive(Debug)]
pub struct Stream(ChaCha8Rng);

impl Stream {
    /// The stream of `component` in `replication` of the experiment with `seed`.
    pub fn new(seed: u64, replication: u32, component: &str) -> Stream {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..12].copy_from_slice(&replication.to_le_bytes());
        let mut generator = ChaCha8Rng::from_seed(key);
        generator.set_stream(stream_number(component));
        Stream(generator)
    }

    /// Uniform on [0, 1), a multiple of 2^-53.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        self.0.random()
    }

    /// Exponential with mean 1.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        Exp1.sample(&mut self.0)
    }

    /// Uniform on the whole numbers below `end`; 0 if `end` is 0.
    #[inline]
    pub fn below(&mut self, end: u64) -> u64 {
        if end == 0 { 0 } else { self.0.random_range(0..end) }
    }
}

/// The number of the stream of losses of a link, the `same`-th of those with one loss and seed, in `replication` of the experiment with `seed`. The first
/// link of the first replication has the stream that a replay takes, 0, unless the experiment has been given another seed than the usual one.
pub(crate) fn loss_stream(same: usize, seed: u64, replication: u32) -> u64 {
    same as u64 ^ u64::from(replication) << 24 ^ seed.wrapping_sub(DEFAULT_SEED).rotate_left(40)
}

/// The number of a component's stream: the 64-bit FNV-1a hash of its name.
pub(crate) fn stream_number(component: &str) -> u64 {
    component.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
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
        // Five standard errors: 0.29, 1 and 3.2 over the square root of 100,000.
        assert!((uniform - 0.5).abs() < 0.005, "{uniform}");
        assert!((exponential - 1.0).abs() < 0.016, "{exponential}");
        assert!((below - 5.0).abs() < 0.05, "{below}");
        assert_eq!(stream.below(0), 0);
        assert_eq!(stream.below(1), 0);
    }
}
