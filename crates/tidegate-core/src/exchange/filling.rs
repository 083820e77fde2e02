//! Water filling: how a rate is shared by weight among those that may need less than their share.

use super::units::FRACTION;
use alloc::vec::Vec;

/// One that shares a rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Participant {
    pub weight: u64,
    /// The most that it can use, in bit/s.
    pub limit: u128,
}

/// In place of a limit: it can use any rate.
pub(super) const UNLIMITED: u128 = 1 << 80;

/// In place of a level: nothing is held back.
pub(super) const NO_LEVEL: u128 = 1 << 90;

impl Participant {
    /// True if it could use more than it gets at a level.
    pub(super) fn competes(&self, level: u128) -> bool {
        self.share(level) < self.limit
    }

    /// What it gets at a level.
    pub(super) fn share(&self, level: u128) -> u128 {
        self.limit.min((level * u128::from(self.weight)) >> FRACTION)
    }
}

/// The rate per weight, in 2^-24 bit/s, at which all together get `supply`; [`NO_LEVEL`] if they can use no more than that.
pub(super) fn level(supply: u128, participants: &[Participant]) -> u128 {
    let mut level = 0;
    // Each round settles those that need less than the level, which raises the level of the others.
    for _ in 0..=participants.len() {
        let (mut weights, mut rest) = (0, supply);
        for participant in participants {
            if participant.limit <= (level * u128::from(participant.weight)) >> FRACTION {
                rest = rest.saturating_sub(participant.limit);
            } else {
                weights += u128::from(participant.weight);
            }
        }
        if weights == 0 {
            return NO_LEVEL;
        }
        let next = (rest << FRACTION) / weights;
        if next <= level {
            break;
        }
        level = next;
    }
    level
}

/// The sum of what participants can use.
pub(super) fn demand(participants: &[Participant]) -> u128 {
    participants.iter().map(|participant| participant.limit).sum::<u128>().min(UNLIMITED)
}

/// Those of one node, without those that need nothing.
pub(super) fn collect(into: &mut Vec<Participant>, weight: u64, limit: u128) {
    if weight > 0 && limit > 0 {
        into.push(Participant { weight, limit });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn share(supply: u128, participants: &[(u64, u128)]) -> Vec<u128> {
        let participants: Vec<_> = participants.iter().map(|&(weight, limit)| Participant { weight, limit }).collect();
        let level = level(supply, &participants);
        participants.iter().map(|participant| participant.share(level)).collect()
    }

    #[test]
    fn what_one_cannot_use_goes_to_the_others_by_weight() {
        assert_eq!(share(100, &[(1, UNLIMITED), (3, UNLIMITED)]), [25, 75]);
        assert_eq!(share(100, &[(1, 10), (1, UNLIMITED), (2, UNLIMITED)]), [10, 30, 60]);
        assert_eq!(share(100, &[(1, 10), (4, 31), (1, UNLIMITED)]), [10, 31, 59]);
        assert_eq!(share(100, &[(1, 10), (1, 20)]), [10, 20]);
        assert_eq!(share(0, &[(1, 10)]), [0]);
    }

    proptest! {
        /// Max-min by weight: all of the supply that can be used is, and only those that are satisfied have less per weight than another.
        #[test]
        fn shares_are_max_min(supply in 0u128..1_000_000_000_000, all in prop::collection::vec((1u64..1000, 1u128..400_000_000_000), 1..20)) {
            let shares = share(supply, &all);
            let (sum, demand) = (shares.iter().sum::<u128>(), all.iter().map(|(_, limit)| limit).sum::<u128>());
            let rounding = all.len() as u128 * 2;
            prop_assert!(sum <= supply && sum + rounding >= supply.min(demand), "{sum} of {supply}, {demand} demanded");
            for (share, (weight, limit)) in shares.iter().zip(&all) {
                for (other, (others, _)) in shares.iter().zip(&all) {
                    prop_assert!(share == limit || (share + 2) * u128::from(*others) >= other.saturating_sub(2) * u128::from(*weight));
                }
            }
        }
    }
}
