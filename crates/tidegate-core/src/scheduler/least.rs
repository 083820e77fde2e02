//! The least of a table of numbers, one per place, any of which may change.
//!
//! The table is the lowest tier of a tree. Each number of a tier is the least of [`CHILDREN`] of the tier below, one or two cache lines.
//! A change costs a step per tier: 5 for a million places.

use alloc::vec::Vec;

/// A table of numbers that knows the least of them.
#[derive(Clone, Debug)]
pub(super) struct Least<T> {
    /// From the table itself up to a tier of one number.
    tiers: Vec<Vec<T>>,
}

/// Numbers below each number of the tree.
const CHILDREN: usize = 16;

impl<T: Copy + Ord> Least<T> {
    /// The table of these numbers, at least one.
    pub(super) fn new(numbers: Vec<T>) -> Least<T> {
        let mut tiers = alloc::vec![numbers];
        while let Some(last) = tiers.last().filter(|last| last.len() > 1) {
            let tier = last.chunks(CHILDREN).filter_map(|children| children.iter().min().copied()).collect();
            tiers.push(tier);
        }
        Least { tiers }
    }

    /// The number in this place.
    #[inline]
    pub(super) fn get(&self, place: usize) -> T {
        self.tiers[0][place]
    }

    /// Changes the number in this place.
    pub(super) fn set(&mut self, place: usize, number: T) {
        self.tiers[0][place] = number;
        let mut at = place;
        for tier in 1..self.tiers.len() {
            at /= CHILDREN;
            let below = &self.tiers[tier - 1];
            let children = &below[at * CHILDREN..below.len().min((at + 1) * CHILDREN)];
            let least = children.iter().fold(number.max(children[0]), |least, &child| least.min(child));
            self.tiers[tier][at] = least;
        }
    }

    /// The least number, and the first place that has it; `None` in an empty table.
    pub(super) fn least(&self) -> Option<(usize, T)> {
        let &least = self.tiers.last()?.first()?;
        let mut at = 0;
        for tier in self.tiers.iter().rev().skip(1) {
            at = (at * CHILDREN..tier.len()).find(|&child| tier[child] == least).unwrap_or_default();
        }
        Some((at, least))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_least_is_that_of_a_scan(places in 1usize..600, changes in prop::collection::vec((0usize..600, 0u32..50), 0..100)) {
            let mut numbers = alloc::vec![40; places];
            let mut table = Least::new(numbers.clone());
            for (place, number) in changes {
                let place = place % places;
                numbers[place] = number;
                table.set(place, number);
                let least = numbers.iter().copied().min().unwrap();
                let first = numbers.iter().position(|&number| number == least).unwrap();
                prop_assert_eq!((table.least(), table.get(place)), (Some((first, least)), number));
            }
        }
    }
}
