//! Random loss on a link.

use crate::random::Stream;

/// Loses each packet with the same probability, independently: draws how many pass until the next loss.
#[derive(Debug)]
pub(crate) struct Loss {
    stream: Stream,
    /// The logarithm of the probability that a packet passes.
    log_pass: f64,
    left: u64,
}

impl Loss {
    /// Loss with this probability, above 0 and below 1.
    pub(crate) fn new(probability: f64, mut stream: Stream) -> Loss {
        let log_pass = libm::log1p(-probability);
        let left = until_next(log_pass, &mut stream);
        Loss { stream, log_pass, left }
    }

    /// True if the next packet is lost.
    #[inline]
    pub(crate) fn strikes(&mut self) -> bool {
        if self.left > 0 {
            self.left -= 1;
            return false;
        }
        self.left = until_next(self.log_pass, &mut self.stream);
        true
    }
}

/// Geometric: the number of packets that pass before one is lost.
fn until_next(log_pass: f64, stream: &mut Stream) -> u64 {
    // An exponential draw with mean 1 over the rate, rounded down; the conversion saturates.
    (stream.exponential() / -log_pass) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_as_frequent_as_they_should_be_and_come_one_after_another_by_chance() {
        for probability in [0.5, 0.03, 1e-3] {
            let mut loss = Loss::new(probability, Stream::new(1, 0, "loss"));
            let packets = 1_000_000;
            let struck: Vec<bool> = (0..packets).map(|_| loss.strikes()).collect();
            let count = struck.iter().filter(|&&lost| lost).count() as f64;
            let expected = probability * f64::from(packets);
            // Five standard deviations.
            assert!((count - expected).abs() < 5.0 * (expected * (1.0 - probability)).sqrt(), "{count} {expected}");
            let pairs = struck.windows(2).filter(|pair| pair[0] && pair[1]).count() as f64;
            let expected = probability * expected;
            assert!((pairs - expected).abs() < 8.0 * expected.sqrt() + 8.0, "{pairs} {expected}");
        }
    }
}
