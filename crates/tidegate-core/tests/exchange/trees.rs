//! Trees whose inner nodes span workers.

use super::team::{LONGEST, Load, Member, Net, Node, member, run};
use super::{INTERVAL, megabits};
use Load::{Bursts, Rate, Standing};
use proptest::prelude::*;

const LINK: Node = Node { above: 0, weight: 1, cap: None, worker: None };

fn spanning(above: usize, weight: u32) -> Node {
    Node { above, weight, ..LINK }
}

/// A spanning node that is shaped to this part of the link's rate, in thousandths.
fn shaped(above: usize, weight: u32, rate: u64, part: u64) -> Node {
    Node { cap: Some(tidegate_core::units::Rate::new(rate * part * 1000).unwrap()), ..spanning(above, weight) }
}

fn below(node: usize, member: Member) -> Member {
    Member { node, ..member }
}

/// A member that is shaped to this part of the link's rate, in thousandths.
fn capped(rate: u64, part: u64, member: Member) -> Member {
    Member { cap: Some(tidegate_core::units::Rate::new(rate * part * 1000).unwrap()), ..member }
}

/// The trees by name on a link of this rate in Mbit/s, with two workers.
fn trees(rate: u64) -> Vec<(&'static str, Vec<Node>, Vec<Member>)> {
    let standing = |worker, weight| member(worker, weight, Standing);
    vec![
        ("a group on both workers beside a member of one", vec![LINK, spanning(0, 1)], {
            vec![standing(0, 1), below(1, standing(0, 1)), below(1, standing(1, 1))]
        }),
        ("one group at the top, 80/20", vec![LINK, spanning(0, 1)], {
            (0..10).map(|index| below(1, standing(usize::from(index >= 8), 1 + index as u32 % 3))).collect()
        }),
        ("two groups, each 80/20 the other way around", vec![LINK, spanning(0, 3), spanning(0, 1)], {
            let first = (0..10).map(|index| below(1, standing(usize::from(index >= 8), 1)));
            first.chain((0..10).map(|index| below(2, standing(usize::from(index < 8), 1)))).collect()
        }),
        ("three levels", vec![LINK, spanning(0, 2), spanning(0, 1), spanning(1, 1), spanning(1, 3), spanning(2, 1)], {
            let leaves = [(3, 0, 1), (3, 1, 2), (4, 0, 1), (4, 0, 1), (4, 1, 1), (5, 0, 4), (5, 1, 1), (2, 1, 2), (1, 0, 1), (0, 1, 1)];
            leaves.map(|(node, worker, weight)| below(node, standing(worker, weight))).to_vec()
        }),
        (
            "sites whose contracts bind, and one that has the rest",
            vec![LINK, shaped(0, 1, rate, 200), shaped(0, 2, rate, 300), spanning(0, 1)],
            {
                let of = |node: usize| (0..5).map(move |index| below(node, standing(usize::from(index == 3), 1)));
                of(1).chain(of(2)).chain(of(3)).collect()
            },
        ),
        ("sites whose contracts do not all bind", vec![LINK, shaped(0, 1, rate, 200), shaped(0, 1, rate, 700)], {
            let of = |node: usize| (0..5).map(move |index| below(node, standing(usize::from(index == 3), 1 + index as u32 % 2)));
            of(1).chain(of(2)).collect()
        }),
        ("contracts of sites leave half of the link", vec![LINK, shaped(0, 1, rate, 200), shaped(0, 1, rate, 300)], {
            let of = |node: usize| (0..4).map(move |index| below(node, standing(index % 2, 1)));
            of(1).chain(of(2)).collect()
        }),
        ("subscribers with contracts, 80/20", vec![LINK, shaped(0, 1, rate, 400), shaped(0, 1, rate, 800)], {
            let of = |node: usize| {
                (0..10).map(move |index| below(node, capped(rate, 20 + 20 * (index % 4), standing(usize::from(index >= 8), 1))))
            };
            of(1).chain(of(2)).collect()
        }),
        ("a subscriber whose contract binds beside others", vec![LINK, spanning(0, 1)], {
            let bound = (0..2).map(|worker| below(1, capped(rate, 50, standing(worker, 1))));
            bound.chain((0..3).map(|index| below(1, standing(index / 2, 1)))).collect()
        }),
        (
            "groups of one worker below a site",
            vec![LINK, shaped(0, 1, rate, 600), Node { worker: Some(0), ..spanning(1, 2) }, {
                Node { worker: Some(1), ..shaped(1, 1, rate, 100) }
            }],
            {
                vec![
                    below(2, standing(0, 1)),
                    below(2, capped(rate, 30, standing(0, 1))),
                    below(3, standing(1, 1)),
                    below(3, standing(1, 2)),
                    below(1, standing(1, 1)),
                    standing(0, 1),
                ]
            },
        ),
        ("light members below a group", vec![LINK, spanning(0, 2), spanning(0, 1)], {
            let light = (0..6).map(|index| below(1, member(index % 2, 1, Rate(20))));
            let heavy = (0..5).map(|index| below(1 + index % 2, standing(usize::from(index == 4), 1 + index as u32 % 3)));
            light.chain(heavy).collect()
        }),
        ("a group that needs less than its share", vec![LINK, spanning(0, 1), spanning(0, 1)], {
            let light = (0..4).map(|index| below(1, member(index % 2, 1, Rate(50))));
            light.chain((0..3).map(|index| below(2, standing(index / 2, 1)))).chain([standing(0, 1)]).collect()
        }),
        ("members that come and go", vec![LINK, spanning(0, 1), spanning(0, 1)], {
            let bursts = |part: u64, every| Bursts((rate * part / 10) as u32, every);
            let leaves = [(1, 0, Standing), (1, 1, bursts(3, 20_000)), (2, 1, Standing), (2, 0, bursts(1, 9_000)), (2, 0, Standing)];
            leaves.map(|(node, worker, load)| below(node, member(worker, 1, load))).to_vec()
        }),
        ("a site of which one worker is idle", vec![LINK, shaped(0, 1, rate, 500)], {
            vec![below(1, standing(0, 1)), below(1, standing(0, 2)), standing(1, 1)]
        }),
        ("short and long packets", vec![LINK, spanning(0, 1), spanning(0, 1)], {
            let leaves = [(1, 0, 100), (1, 1, LONGEST), (2, 1, 100), (2, 0, LONGEST), (0, 0, 700)];
            leaves.map(|(node, worker, length)| below(node, Member { length, ..standing(worker, 1) })).to_vec()
        }),
    ]
}

#[test]
fn every_member_of_a_tree_gets_what_it_gets_from_one_worker_within_half_a_percent() {
    let mut wrong = Vec::new();
    for rate in [20, 100, 1000] {
        for (name, nodes, members) in trees(rate) {
            let net = Net { nodes, ..Net::flat(megabits(rate), &members) };
            let outcome = run(&net, 2, INTERVAL, if rate == 1000 { 15_000 } else { 150_000 });
            let sum: u64 = outcome.alone.iter().sum();
            let loss = 1.0 - outcome.sum() as f64 / sum as f64;
            println!("{rate:>5} Mbit/s, {name}: error {:.3} %, lost {:.3} %", outcome.error() * 100.0, loss * 100.0);
            if outcome.error() > 0.005 || loss.abs() > 0.005 {
                println!("{outcome:?}");
                wrong.push(format!("{rate} Mbit/s, {name}"));
            }
            outcome.judge_bursts();
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn any_load() -> impl Strategy<Value = Load> {
    prop_oneof![
        3 => Just(Standing),
        2 => (1u64..400).prop_map(Rate),
        2 => (1u32..60, 100u64..10_000).prop_map(|(count, every)| Bursts(count, every)),
    ]
}

/// The node, the worker, the weight, and the contract in thousandths of the link.
type Leaf = (usize, usize, u32, Option<u64>);

/// Trees of up to three levels, all of whose nodes have a member. Some are shaped.
fn any_tree() -> impl Strategy<Value = (u64, Vec<Node>, Vec<Leaf>)> {
    let node = (0usize..9, 1u32..5, prop::option::weighted(0.4, 150u64..900));
    let leaf = (0usize..9, 0usize..4, 1u32..5, prop::option::weighted(0.3, 20u64..300));
    (20u64..1000, prop::collection::vec(node, 1..5), prop::collection::vec(leaf, 2..9)).prop_map(|(rate, nodes, leaves)| {
        let mut tree = vec![LINK];
        for (above, weight, cap) in nodes {
            let above = above % tree.len();
            tree.push(cap.map_or(spanning(above, weight), |part| shaped(above, weight, rate, part)));
        }
        let own = (1..tree.len()).map(|node| (node, node, 1, None));
        let others = leaves.iter().map(|&(node, worker, weight, cap)| (node % tree.len(), worker, weight, cap));
        let leaves = own.chain(others).collect();
        (rate, tree, leaves)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Law 3 and conservation, whatever the tree and the loads.
    #[test]
    fn no_node_sends_more_than_its_rate_and_burst(
        (rate, nodes, leaves) in any_tree(),
        loads in prop::collection::vec((64u32..=LONGEST, any_load()), 14),
        workers in 2usize..=4,
        microseconds in 50u64..500,
    ) {
        let members: Vec<Member> = leaves.iter().zip(&loads).map(|(&(node, worker, weight, cap), &(length, load))| {
            let member = Member { node, length, ..member(worker % workers, weight, load) };
            cap.map_or(member, |part| capped(rate, part, member))
        }).collect();
        let net = Net { nodes, ..Net::flat(megabits(rate), &members) };
        run(&net, workers, tidegate_core::units::Duration::from_microseconds(microseconds), 300).judge_bursts();
    }

    /// Law 4: standing members of any tree, on any workers.
    #[test]
    fn standing_members_of_a_tree_have_the_shares_of_one_worker((rate, nodes, leaves) in any_tree(), workers in 2usize..=4) {
        let nodes: Vec<Node> = nodes.into_iter().map(|node| Node { cap: None, ..node }).collect();
        let leaves: Vec<Leaf> = leaves.into_iter().map(|(node, worker, weight, _)| (node, worker, weight, None)).collect();
        judge_shares((rate, &nodes, &leaves), workers, 100)?;
    }

    /// A contract that allows somewhat less than the share beside it is met late, and a member on the same worker has what is left meanwhile.
    #[test]
    fn contracts_move_the_shares_of_standing_members_little((rate, nodes, leaves) in any_tree(), workers in 2usize..=4) {
        judge_shares((rate, &nodes, &leaves), workers, 8)?;
    }
}

/// Each member differs by at most one part in `parts`, and by 20 packets that fall on either side of an end.
fn judge_shares((rate, nodes, leaves): (u64, &[Node], &[Leaf]), workers: usize, parts: u64) -> Result<(), TestCaseError> {
    let member = |&(node, worker, weight, cap): &Leaf| {
        let member = below(node, member(worker % workers, weight, Standing));
        cap.map_or(member, |part| capped(rate, part, member))
    };
    let members: Vec<Member> = leaves.iter().map(member).collect();
    let net = Net { nodes: nodes.to_vec(), ..Net::flat(megabits(rate), &members) };
    let outcome = run(&net, workers, INTERVAL, 20_000);
    for ((member, &alone), &shared) in members.iter().zip(&outcome.alone).zip(&outcome.shared) {
        let most = alone / parts + 20 * u64::from(LONGEST);
        prop_assert!(alone.abs_diff(shared) <= most, "{member:?}: {alone} alone, {shared} shared; {nodes:?} {outcome:?}");
    }
    Ok(())
}
