//! A set of small numbers that is asked for the next member after a given one, in turn.

/// A set of numbers below a limit.
#[derive(Clone, Debug)]
pub(crate) struct ReadySet {
    words: Vec<u64>,
}

impl ReadySet {
    /// An empty set for numbers below `limit`.
    pub(crate) fn new(limit: usize) -> ReadySet {
        ReadySet { words: vec![0; limit.div_ceil(64).max(1)] }
    }

    /// Puts a number in or takes it out.
    #[inline]
    pub(crate) fn set(&mut self, number: usize, is_in: bool) {
        let (word, bit) = (number / 64, 1u64 << (number % 64));
        if is_in {
            self.words[word] |= bit;
        } else {
            self.words[word] &= !bit;
        }
    }

    /// True if a number is in.
    #[inline]
    pub(crate) fn contains(&self, number: usize) -> bool {
        self.words[number / 64] >> (number % 64) & 1 != 0
    }

    /// The least member above `last`, or else the least of all.
    #[inline]
    pub(crate) fn after(&self, last: usize) -> Option<usize> {
        let word = last / 64;
        let above = self.words[word] & (u64::MAX << (last % 64)) & !(1 << (last % 64));
        if above != 0 {
            return Some(word * 64 + above.trailing_zeros() as usize);
        }
        let count = self.words.len();
        let words = (1..=count).map(|step| (word + step) % count);
        words
            .map(|word| (word, self.words[word]))
            .find(|&(_, bits)| bits != 0)
            .map(|(word, bits)| word * 64 + bits.trailing_zeros() as usize)
    }

    /// True if it has no member.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// The members in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(word, &bits)| {
            let mut left = bits;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(word * 64 + bit)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_member_wraps_around() {
        let mut set = ReadySet::new(130);
        assert_eq!((set.after(0), set.is_empty()), (None, true));
        for number in [0, 63, 64, 129] {
            set.set(number, true);
        }
        assert_eq!([0, 62, 63, 64, 100, 129].map(|last| set.after(last).unwrap()), [63, 63, 64, 129, 129, 0]);
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 63, 64, 129]);
        set.set(0, false);
        assert_eq!((set.after(129), set.after(0)), (Some(63), Some(63)));
        (1..130).filter(|&number| number != 64).for_each(|number| set.set(number, false));
        assert_eq!((set.after(64), set.after(3)), (Some(64), Some(64)));
    }
}
