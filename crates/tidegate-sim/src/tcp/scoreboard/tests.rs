//! Tests of [`super`].

use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// RFC 6675 to the letter, from the set of sacked segments, with segments of 10 bytes.
struct Slow {
    sacked: BTreeSet<u64>,
    una: u64,
    max: u64,
    /// HighRxt plus one.
    resent_to: u64,
}

impl Slow {
    fn is_lost(&self, segment: u64) -> bool {
        let above: Vec<u64> = self.sacked.range(segment + 1..).copied().collect();
        let runs = above.iter().enumerate().filter(|&(index, &this)| index == 0 || above[index - 1] + 1 != this).count();
        runs >= 3 || above.len() * 10 > 2 * 10
    }

    fn pipe(&self) -> u64 {
        let unsacked = (self.una..self.max).filter(|segment| !self.sacked.contains(segment));
        unsacked.map(|segment| u64::from(!self.is_lost(segment)) + u64::from(segment < self.resent_to)).sum()
    }
}

#[derive(Clone, Debug)]
enum Step {
    Sack(u64, u64),
    Advance(u64),
    Send(u64),
    Resend,
    Recover,
    Timeout,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0u64..150, 1u64..9).prop_map(|(from, length)| Step::Sack(from, length)),
        3 => (1u64..9).prop_map(Step::Advance),
        3 => (1u64..20).prop_map(Step::Send),
        4 => Just(Step::Resend),
        1 => Just(Step::Recover),
        1 => Just(Step::Timeout),
    ];
    prop::collection::vec(step, 1..200)
}

proptest! {
    #[test]
    fn it_counts_as_the_rfc_does(start in 0u64..200, steps in steps()) {
        const WINDOW: u64 = 150;
        let mut board = Scoreboard::new(WINDOW);
        let mut slow = Slow { sacked: BTreeSet::new(), una: start, max: start, resent_to: start };
        board.restart(start);
        for step in steps {
            match step {
                Step::Sack(from, length) => {
                    let (from, to) = ((slow.una + 1 + from).min(slow.max), (slow.una + 1 + from + length).min(slow.max));
                    let news = (from..to).filter(|&segment| slow.sacked.insert(segment)).count() as u64;
                    prop_assert_eq!(board.mark(slow.una, from, to), news);
                }
                Step::Advance(by) => {
                    let to = (slow.una + by).min(slow.max);
                    board.advance(slow.una, to);
                    slow.una = to;
                    slow.sacked.retain(|&segment| segment >= to);
                    slow.resent_to = slow.resent_to.max(to);
                }
                Step::Send(count) => slow.max = (slow.max + count).min(slow.una + WINDOW),
                Step::Resend => {
                    let lost = (slow.resent_to.max(slow.una)..slow.max).find(|s| !slow.sacked.contains(s) && slow.is_lost(*s));
                    let next = board.first_unsacked(board.resent_to(), board.border());
                    prop_assert_eq!(next, lost);
                    if let Some(segment) = next {
                        board.resend(slow.una, segment + 1);
                        slow.resent_to = segment + 1;
                    }
                }
                Step::Recover => {
                    board.restart(slow.una);
                    slow.resent_to = slow.una;
                }
                Step::Timeout => {
                    board.clear();
                    board.restart(slow.una);
                    slow.sacked.clear();
                    slow.resent_to = slow.una;
                }
            }
            prop_assert_eq!(board.pipe(slow.una, slow.max), slow.pipe());
            prop_assert_eq!(board.sacked, slow.sacked.len() as u64);
            if let Some(last) = slow.sacked.last() {
                prop_assert_eq!(board.end(), last + 1);
            }
            for segment in slow.una..slow.max {
                prop_assert_eq!(board.is_sacked(segment), slow.sacked.contains(&segment));
            }
            let middle = (slow.una + slow.max) / 2;
            prop_assert_eq!(board.sacked_between(slow.una, middle), slow.sacked.range(slow.una..middle).count() as u64);
        }
    }
}
