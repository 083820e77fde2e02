//! Table 1: the rules that order two streams, read literally, compared with the decision block and with the order of the software engine.

use crate::figure::{Figure, Gate, Table, numbers};
use crate::prose;
use tidegate_core::dwcs::{Order, Rank, Tolerance};
use tidegate_rtl_model::Attributes;

/// The rules of the paper's Table 1.
const RULES: [&str; 5] = [
    "earliest deadline first",
    "equal deadlines: lowest window constraint first",
    "equal deadlines and zero constraints: highest denominator first",
    "equal deadlines and equal non-zero constraints: lowest numerator first",
    "all other cases: first come, first served",
];

/// The attributes of one stream in Table 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Head {
    deadline: u16,
    numerator: u8,
    denominator: u8,
    arrival: u16,
}

impl Head {
    /// All heads with two deadlines, two arrivals and windows of up to six deadlines.
    fn all() -> Vec<Head> {
        let mut heads = Vec::new();
        for deadline in [5, 6] {
            for arrival in [1, 2] {
                for denominator in 1..=6 {
                    heads.extend((0..=denominator).map(|numerator| Head { deadline, numerator, denominator, arrival }));
                }
            }
        }
        heads
    }

    /// For small numbers, rounded quotients are equal exactly if the fractions are.
    fn constraint(self) -> f64 {
        f64::from(self.numerator) / f64::from(self.denominator)
    }

    /// The rule, from 0, that decides between two heads, and true if it puts `self` first. `None` if the table leaves it open.
    fn literally(self, other: Head) -> Option<(usize, bool)> {
        let (ours, theirs) = (self.constraint(), other.constraint());
        if self.deadline != other.deadline {
            Some((0, self.deadline < other.deadline))
        } else if ours != theirs {
            Some((1, ours < theirs))
        } else if ours == 0.0 && self.denominator != other.denominator {
            Some((2, self.denominator > other.denominator))
        } else if ours != 0.0 && self.numerator != other.numerator {
            Some((3, self.numerator < other.numerator))
        } else if self.arrival != other.arrival {
            Some((4, self.arrival < other.arrival))
        } else {
            None
        }
    }

    fn attributes(self, id: u8) -> Attributes {
        let Head { deadline, numerator, denominator, arrival } = self;
        Attributes { valid: true, deadline, numerator, denominator, arrival, id, ..Attributes::NONE }
    }

    fn rank(self, stream: u32) -> Rank {
        let tolerance = Tolerance { numerator: self.numerator.into(), in_violation: false, denominator: self.denominator.into() };
        Rank { deadline: self.deadline.into(), tolerance, arrival: self.arrival.into(), stream }
    }
}

/// For each rule the number of pairs that it decides, and of those that the decision block and the software engine decide otherwise.
fn census(block: impl Fn(Head, Head) -> bool, software: impl Fn(Head, Head) -> bool) -> [[u32; 3]; 5] {
    let heads = Head::all();
    let mut census = [[0; 3]; 5];
    for &first in &heads {
        for &second in &heads {
            if let Some((rule, is_first)) = first.literally(second) {
                census[rule][0] += 1;
                census[rule][1] += u32::from(block(first, second) != is_first);
                census[rule][2] += u32::from(software(first, second) != is_first);
            }
        }
    }
    census
}

fn decision_block(first: Head, second: Head) -> bool {
    first.attributes(0).wins(&second.attributes(1))
}

fn software(first: Head, second: Head) -> bool {
    first.rank(0).compare(&second.rank(1), Order::DeadlineFirst).is_lt()
}

pub(super) fn run(_progress: &dyn Fn(f64)) -> Figure {
    let census = census(decision_block, software);
    let mut figure = prose::figure(prose::SHARESTREAMS, "table-1");
    figure.paper = RULES.map(|rule| format!("Pairwise ordering: {rule}.")).into();
    let column = |column: usize| census.iter().map(|rule| f64::from(rule[column])).collect::<Vec<f64>>();
    figure.gates = vec![
        Gate::exactly("pairs that rules 1 to 5 decide", "pairs", column(0), &numbers(PAIRS)),
        Gate::exactly("the decision block decides otherwise, rules 1 to 5", "pairs", column(1), &[0.0; 5]),
        Gate::exactly("the software engine decides otherwise, rules 1 to 5", "pairs", column(2), &[0.0; 5]),
    ];
    let row = |(number, (rule, [pairs, block, software])): (usize, (&str, [u32; 3]))| {
        vec![(number + 1).to_string(), rule.to_owned(), pairs.to_string(), block.to_string(), software.to_string()]
    };
    let head = ["rule", "puts first", "pairs", "decision block differs", "software differs"];
    let rows = RULES.into_iter().zip(census).enumerate().map(row).collect();
    figure.tables.push(Table::new("Pairs by the rule that decides them", &head, rows));
    figure
}

/// The number of the 108^2 ordered pairs that each rule decides. Of the 27 windows 6 are zero. 40 ordered pairs of different non-zero windows are
/// equal fractions.
const PAIRS: [u32; 5] = [2 * 54 * 54, 8 * (27 * 27 - 6 * 6 - 21 - 40), 8 * 6 * 5, 8 * 40, 4 * 27];

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(block: impl Fn(Head, Head) -> bool) -> bool {
        census(block, software).iter().all(|rule| rule[1] == 0)
    }

    #[test]
    fn a_decision_block_without_one_of_the_rules_is_noticed() {
        assert!(passed(decision_block));
        for left_out in 0..5 {
            let faulty = |first: Head, second: Head| match first.literally(second) {
                Some((rule, is_first)) => is_first != (rule == left_out),
                None => true,
            };
            assert!(!passed(faulty), "rule {}", left_out + 1);
        }
    }
}
