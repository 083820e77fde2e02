//! One stream of random numbers per component.
//!
//! A stream is ChaCha with 8 rounds. Seed and replication make its key, the name of the component its stream number. Streams are independent of
//! each other and of their number: a new source disturbs no other, and replications share nothing. ChaCha is specified to the bit, so the
//! same names and seeds give the same numbers on every machine and in every version.

use chacha20::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1, StandardNormal};

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
pub struct Stream {
    seed: u64,
    replication: u32,
    number: u64,
    /// Made by the first draw: most components of a large network never draw, and its state has some 300 bytes.
    generator: Option<Box<ChaCha8Rng>>,
}

impl Stream {
    /// The stream of `component` in `replication` of the experiment with `seed`.
    pub fn new(seed: u64, replication: u32, component: &str) -> Stream {
        Stream { seed, replication, number: stream_number(component), generator: None }
    }

    #[inline]
    fn generator(&mut self) -> &mut ChaCha8Rng {
        let Stream { seed, replication, number, ref mut generator } = *self;
        generator.get_or_insert_with(|| {
            let mut key = [0; 32];
            key[..8].copy_from_slice(&seed.to_le_bytes());
            key[8..12].copy_from_slice(&replication.to_le_bytes());
            let mut generator = Box::new(ChaCha8Rng::from_seed(key));
            generator.set_stream(number);
            generator
        })
    }

    /// Uniform on [0, 1), a multiple of 2^-53.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        self.generator().random()
    }

    /// Exponential with mean 1.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        Exp1.sample(self.generator())
    }

    /// Normal with mean 0 and standard deviation 1.
    #[inline]
    pub fn normal(&mut self) -> f64 {
        StandardNormal.sample(self.generator())
    }

    /// Uniform on the whole numbers below `end`; 0 if `end` is 0.
    #[inline]
    pub fn below(&mut self, end: u64) -> u64 {
        if end == 0 { 0 } else { self.generator().random_range(0..end) }
    }
}

/// The stream number of the losses on a link: the `same`-th of the links with one loss and seed, in `replication` of the experiment with `seed`.
/// The first link in the first replication of an experiment with the default seed has stream 0, as a replay has.
pub(crate) fn loss_stream(same: usize, seed: u64, replication: u32) -> u64 {
    same as u64 ^ u64::from(replication) << 24 ^ seed.wrapping_sub(DEFAULT_SEED).rotate_left(40)
}

/// By what the packets of a flow choose among several paths: others in every replication of the experiment with `seed`.
pub(crate) fn spread_hash(seed: u64, replication: u32, flow: &str) -> u64 {
    stream_number(flow) ^ seed.rotate_left(32) ^ u64::from(replication).rotate_left(16)
}

/// The number of a component's stream: the 64-bit FNV-1a hash of its name.
pub(crate) fn stream_number(component: &str) -> u64 {
    component.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests;
