//! Mutations of kept inputs from a seeded generator: the stable stand-in for a coverage-guided fuzzer.
//!
//! It does what a fuzzer does first: flips, overwrites with numbers at the edge of their range, cuts, repeats and splices. What it
//! lacks is feedback; the kept corpus makes up for that by reaching into every branch that is known.

/// Makes inputs of existing ones.
pub struct Mutator {
    state: u64,
    longest: usize,
}

/// Numbers at which length fields and counters tend to break.
const EDGES: [u64; 10] = [0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff, u64::MAX];

impl Mutator {
    /// A mutator whose inputs depend on `seed` alone and are at most `longest` bytes long.
    pub fn new(seed: u64, longest: usize) -> Mutator {
        // The generator must not start at zero, and close seeds must not start close.
        Mutator { state: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1, longest }
    }

    /// A new input: one of `corpus` with one to eight changes. An empty corpus gives random bytes.
    pub fn mutate(&mut self, corpus: &[Vec<u8>]) -> Vec<u8> {
        let mut input = self.pick(corpus);
        for _ in 0..=self.below(8) {
            self.change(&mut input, corpus);
        }
        input.truncate(self.longest);
        input
    }

    fn pick(&mut self, corpus: &[Vec<u8>]) -> Vec<u8> {
        if corpus.is_empty() {
            let length = self.below(64);
            return (0..length).map(|_| self.below(256) as u8).collect();
        }
        corpus[self.below(corpus.len())].clone()
    }

    fn change(&mut self, input: &mut Vec<u8>, corpus: &[Vec<u8>]) {
        if input.is_empty() {
            input.push(self.below(256) as u8);
            return;
        }
        let at = self.below(input.len());
        match self.below(8) {
            0 => input[at] ^= 1 << self.below(8),
            1 => input[at] = self.below(256) as u8,
            2 => self.write_edge(input, at),
            3 => input.truncate(at),
            4 => {
                let end = (at + 1 + self.below(16)).min(input.len());
                input.drain(at..end);
            }
            5 => {
                let end = (at + 1 + self.below(64)).min(input.len());
                let piece = input[at..end].to_vec();
                input.splice(at..at, piece);
            }
            6 => {
                let byte = self.below(256) as u8;
                let count = 1 + self.below(16);
                input.splice(at..at, std::iter::repeat_n(byte, count));
            }
            _ => {
                let other = self.pick(corpus);
                let from = self.below(other.len() + 1);
                input.truncate(at);
                input.extend_from_slice(&other[from..]);
            }
        }
    }

    /// Overwrites 1, 2, 4 or 8 bytes with an edge value, in either byte order.
    fn write_edge(&mut self, input: &mut [u8], at: usize) {
        let width = 1 << self.below(4);
        let value = EDGES[self.below(EDGES.len())];
        let bytes = if self.below(2) == 0 { value.to_le_bytes() } else { (value << (64 - 8 * width)).to_be_bytes() };
        for (target, byte) in input[at..].iter_mut().zip(&bytes[..width]) {
            *target = *byte;
        }
    }

    /// A number below `bound`, which is at least 1 and far below 2^32.
    fn below(&mut self, bound: usize) -> usize {
        // xorshift64*: short, and the same everywhere.
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        let drawn = self.state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32;
        ((drawn * bound as u64) >> 32) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(seed: u64) -> Vec<Vec<u8>> {
        let corpus = [b"hello, world".to_vec(), vec![0; 40]];
        let mut mutator = Mutator::new(seed, 50);
        (0..500).map(|_| mutator.mutate(&corpus)).collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_inputs_and_another_seed_others() {
        assert_eq!(inputs(1), inputs(1));
        assert_ne!(inputs(1), inputs(2));
    }

    #[test]
    fn inputs_vary_and_keep_to_the_limit() {
        let all = inputs(3);
        let distinct: std::collections::BTreeSet<_> = all.iter().collect();
        assert!(distinct.len() > 400, "{} distinct", distinct.len());
        assert!(all.iter().all(|input| input.len() <= 50));
    }

    #[test]
    fn nothing_can_be_mutated_too() {
        assert!(!Mutator::new(1, 50).mutate(&[vec![]]).is_empty());
        let _ = Mutator::new(1, 50).mutate(&[]);
    }
}
