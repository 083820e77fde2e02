//! No packet of a slow model waits longer than its bound: every scheduler alone, and pairs of parent and child, under adversarial sources.

use proptest::prelude::*;
use tidegate_bounds::curve::{Arrival, TokenBucket};
use tidegate_bounds::hierarchy::{Branch, Tree, TreeNode};
use tidegate_bounds::quantity::NoBound;
use tidegate_bounds::service::{Child, Node};
use tidegate_core::registry::SchedulerKind;

mod packets {
    pub mod model;
}
use packets::model::{Arriving, BIT, Kind, Scheduler, run};

/// The link of the model, in bit/s.
const LINK: u64 = 1_000_000_000;

/// How much integer stamps of the model may be off, in ps.
const SLACK: i128 = 2_000;

/// A small generator: the seed makes a failing case repeatable, and its many draws would shrink to nothing useful.
struct Lots(u64);

impl Lots {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// A queue: its packets, what it declares, and whether it keeps to that.
#[derive(Clone)]
struct Queue {
    shortest: u64,
    longest: u64,
    burst: u64,
    rate: u64,
}

/// Packets that conform to a bucket: as early as allowed after a random start, with pauses.
fn packets(lots: &mut Lots, burst: u64, rate: u64, (shortest, longest): (u64, u64), until: u64) -> Vec<(i128, i128)> {
    let mut time = if lots.one_in(3) { i128::from(lots.below(40_000)) * BIT } else { 0 };
    let is_greedy = !lots.one_in(5);
    // Tokens in picobits.
    let full = i128::from(burst) * 1_000_000_000_000;
    let (mut tokens, mut last, mut all) = (full, time, Vec::new());
    while time < i128::from(until) * BIT {
        let length = if is_greedy && !lots.one_in(5) { longest } else { lots.between(shortest, longest) };
        let needed = i128::from(length) * 1_000_000_000_000;
        tokens = full.min(tokens + i128::from(rate) * (time - last));
        if tokens < needed {
            let wait = (needed - tokens + i128::from(rate) - 1) / i128::from(rate);
            time += wait;
            tokens = full.min(tokens + i128::from(rate) * wait);
        }
        (tokens, last) = (tokens - needed, time);
        all.push((time, length.into()));
        if lots.one_in(if is_greedy { 33 } else { 3 }) {
            time += i128::from(lots.below(3 * burst * 1_000_000 / (rate / 1_000).max(1) + 1)) * 1_000;
        }
    }
    all
}

fn registered(kind: Kind) -> SchedulerKind {
    match kind {
        Kind::Fifo => SchedulerKind::Fifo,
        Kind::Priority => SchedulerKind::StrictPriority,
        Kind::WeightedRoundRobin => SchedulerKind::WeightedRoundRobin,
        Kind::DeficitRoundRobin => SchedulerKind::DeficitRoundRobin,
        Kind::Wf2qPlus | Kind::EarlyWf2qPlus => SchedulerKind::Wf2qPlus,
        Kind::SelfClocked => SchedulerKind::SelfClocked,
        Kind::QuickFair => SchedulerKind::QuickFair,
        Kind::VirtualClock => SchedulerKind::VirtualClock,
        Kind::Deadline => SchedulerKind::EarliestDeadlineFirst,
    }
}

/// The scheduler of the model and the node of the calculus, of the same children.
fn both(lots: &mut Lots, kind: Kind, rate: u64, children: &[(Queue, u64)], link_longest: u64) -> (Scheduler, Node) {
    let weights: u64 = children.iter().map(|child| child.1).sum();
    let least = children.iter().map(|child| child.1).min().unwrap();
    let longest = children.iter().map(|child| child.0.longest).max().unwrap();
    let rates: Vec<u64> = children.iter().map(|child| rate * child.1 / weights).collect();
    let quantum = |weight: u64| (weight * longest).div_ceil(least);
    let delays: Vec<u64> = children.iter().map(|_| lots.between(5_000, 150_000) * 1_000).collect();
    let port = if kind == Kind::QuickFair { link_longest } else { longest };
    let slots = rates.iter().map(|&rate| ((u128::from(port) * 1_000_000_000_000).div_ceil(rate.into()) as u64).next_power_of_two());
    let turns = children.iter().map(|child| if kind == Kind::DeficitRoundRobin { quantum(child.1) } else { child.1 });
    let wide = |list: Vec<u64>| list.into_iter().map(i128::from).collect::<Vec<_>>();
    let scheduler =
        Scheduler::new(kind, rate.into(), wide(rates.clone()), wide(turns.collect()), wide(delays.clone()), wide(slots.collect()));
    let of_node = children.iter().enumerate().map(|(at, (queue, weight))| Child {
        shortest: queue.shortest,
        arrival: Ok(Arrival::new([TokenBucket::of_bits(queue.burst, queue.rate)])),
        rate: rates[at],
        weight: *weight,
        quantum: quantum(*weight),
        priority: at as u32,
        delay: Some(delays[at].into()),
        ..Child::new(queue.longest)
    });
    (scheduler, Node { longest: port.max(longest), ..Node::new(registered(kind), rate, of_node.collect()) })
}

/// One search. Returns the measured maximum and the bound of the examined queue.
fn trial(seed: u64, top: Kind, below: Kind) -> (i128, i128) {
    let lots = &mut Lots(seed);
    let groups = lots.between(2, 4) as usize;
    // Of a group under strict priority only the first has a curve of its own here.
    let examined = if top == Kind::Priority { 0 } else { lots.below(groups as u64) as usize };
    let weights: Vec<u64> = (0..groups).map(|_| lots.between(1, 4)).collect();
    let all: u64 = weights.iter().sum();
    let load = [99, 90, 60][lots.below(3) as usize];
    // Turns in packets share bits evenly only if all have one length.
    let one_length = [top, below].contains(&Kind::WeightedRoundRobin) && !lots.one_in(3);
    let mut inner: Vec<Vec<(Queue, u64)>> = Vec::new();
    for &weight in &weights {
        let is_alone = below == Kind::Fifo && (matches!(top, Kind::EarlyWf2qPlus | Kind::Deadline | Kind::Fifo) || lots.one_in(2));
        let count = if is_alone { 1 } else { lots.between(1, 3) };
        let shares: Vec<u64> = (0..count).map(|_| lots.between(1, 4)).collect();
        let sum: u64 = shares.iter().sum();
        inner.push(
            shares
                .iter()
                .map(|&share| {
                    let longest = if one_length { 8_000 } else { lots.between(4, 12) * 1_000 };
                    let shortest = if one_length || lots.one_in(2) { longest } else { 1_000 };
                    let rate = LINK * weight / all * share / sum * load / 100;
                    (Queue { shortest, longest, burst: longest * lots.between(1, 4), rate: rate - 1 }, share)
                })
                .collect(),
        );
    }
    let longest = inner.iter().flatten().map(|child| child.0.longest).max().unwrap();
    let (mut models, mut nodes): (Vec<Scheduler>, Vec<Node>) = (Vec::new(), Vec::new());
    for (group, &weight) in inner.iter().zip(&weights) {
        let rate = LINK * weight / all;
        let (model, node) = both(lots, below, rate, group, longest);
        models.push(model);
        nodes.push(node);
    }
    let sums: Vec<(Queue, u64)> = inner
        .iter()
        .zip(&weights)
        .map(|(group, &weight)| {
            let of = |value: fn(&Queue) -> u64| group.iter().map(move |child| value(&child.0));
            (
                Queue {
                    shortest: of(|queue| queue.shortest).min().unwrap(),
                    longest: of(|queue| queue.longest).max().unwrap(),
                    burst: of(|queue| queue.burst).sum(),
                    rate: of(|queue| queue.rate).sum(),
                },
                weight,
            )
        })
        .collect();
    let (mut model, node) = both(lots, top, LINK, &sums, longest);
    let queue = lots.below(inner[examined].len() as u64) as usize;
    // Others flood where the schedulers isolate them.
    let isolates = |kind: Kind| !matches!(kind, Kind::Fifo | Kind::Deadline);
    let mut arrivals = Vec::new();
    for (group, queues) in inner.iter().enumerate() {
        for (at, (one, _)) in queues.iter().enumerate() {
            let same = group == examined;
            let safe = if same {
                isolates(below) && at != queue && (below != Kind::Priority || at > queue)
            } else {
                isolates(top) && (top != Kind::Priority || group > examined)
            };
            let floods = safe && !lots.one_in(3);
            let (burst, rate, until) =
                if floods { (20 * one.burst, 3 * one.rate + LINK / 5, 200_000) } else { (one.burst, one.rate, 500_000) };
            let lengths = (one.shortest, one.longest);
            arrivals.extend(packets(lots, burst, rate, lengths, until).into_iter().map(|(time, length)| Arriving {
                time,
                group,
                queue: at,
                length,
            }));
        }
    }
    arrivals.sort();
    let measured = run(&mut model, &mut models, &arrivals)[examined][queue];
    let mut tree = vec![TreeNode { branches: (0..groups).map(|group| Branch { node: Some(group + 1), shape: None }).collect(), node }];
    tree.extend(nodes.into_iter().map(|node| TreeNode { branches: vec![Branch::default(); node.children.len()], node }));
    let rows = Tree { nodes: tree.clone() }.rows(LINK);
    let arrival = tree[examined + 1].node.children[queue].arrival.clone().unwrap();
    let row = if below == Kind::Fifo && inner[examined].len() == 1 { &rows[0][examined] } else { &rows[examined + 1][queue] };
    match row.delay_of(&arrival) {
        Ok(bound) => (measured, bound),
        // Turns in packets of mixed lengths may give less than the source sends.
        Err(NoBound::Overloaded { .. }) if !one_length && [top, below].contains(&Kind::WeightedRoundRobin) => (0, 1),
        // The same for rates that virtual clocks count on, whatever the turns; rounded rates come short by a bit.
        Err(NoBound::Because(reason)) if below == Kind::VirtualClock && reason.contains("sure to serve") => (0, 1),
        Err(reason) => panic!("{top:?} > {below:?}: {reason}"),
    }
}

const PARENTS: [Kind; 9] = [
    Kind::Fifo,
    Kind::Priority,
    Kind::WeightedRoundRobin,
    Kind::DeficitRoundRobin,
    Kind::Wf2qPlus,
    Kind::SelfClocked,
    Kind::QuickFair,
    Kind::VirtualClock,
    Kind::Deadline,
];

const CHILDREN: [Kind; 9] = [
    Kind::Fifo,
    Kind::Priority,
    Kind::WeightedRoundRobin,
    Kind::DeficitRoundRobin,
    Kind::Wf2qPlus,
    Kind::SelfClocked,
    Kind::QuickFair,
    Kind::VirtualClock,
    Kind::Deadline,
];

/// True if the parent has a strict curve for its children, or the child is one queue.
fn composes(top: Kind, below: Kind) -> bool {
    !matches!(top, Kind::Fifo | Kind::VirtualClock | Kind::Deadline) || below == Kind::Fifo
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_packet_waits_longer_than_its_bound(seed: u64, top in 0usize..9, below in 0usize..9) {
        let (top, below) = (PARENTS[top], CHILDREN[below]);
        prop_assume!(composes(top, below));
        let (measured, bound) = trial(seed, top, below);
        prop_assert!(measured <= bound + SLACK, "{top:?} > {below:?}: measured {measured}, bound {bound}");
    }
}

/// For each pair the largest ratio of many searches; the table of the documentation.
#[test]
fn the_largest_ratios() {
    let searches = std::env::var("TIDEGATE_SEARCHES").map_or(4, |count| count.parse().unwrap());
    for top in PARENTS {
        for below in CHILDREN.into_iter().filter(|&below| composes(top, below)) {
            let worst = (0..searches).map(|seed| {
                let (measured, bound) = trial(seed * 7_919 + 1, top, below);
                assert!(measured <= bound + SLACK, "{top:?} > {below:?}, seed {seed}: measured {measured}, bound {bound}");
                measured as f64 / bound as f64
            });
            println!("{top:?} > {below:?}: {:.3}", worst.fold(0.0, f64::max));
        }
    }
}

/// A search that never comes near a bound proves little. The models of the method's description reached these ratios in 4,000 searches of one
/// node; here 1,000 searches of a node above queues have to come within 4 % of each.
#[test]
fn the_search_is_sharp() {
    let reached = [
        (Kind::Fifo, 1.0),
        (Kind::Priority, 0.999_9),
        (Kind::WeightedRoundRobin, 0.952),
        (Kind::DeficitRoundRobin, 0.858),
        (Kind::Wf2qPlus, 0.973),
        (Kind::VirtualClock, 0.955),
        (Kind::SelfClocked, 1.0),
        (Kind::QuickFair, 0.52),
        (Kind::Deadline, 0.999_7),
    ];
    for (kind, model) in reached {
        let ratio = |seed: u64| {
            let (measured, bound) = trial(seed * 7_919 + 1, kind, Kind::Fifo);
            measured as f64 / bound as f64
        };
        let worst = (0..1_000).map(ratio).fold(0.0, f64::max);
        println!("{kind:?}: {worst:.4}, model {model}");
        assert!(worst >= 0.96 * model, "{kind:?}: {worst:.3} in place of {model}");
    }
}

/// Virtual time that runs ahead of the work breaks the bound of `wf2q+`: the search has to find that.
#[test]
fn virtual_time_added_at_the_start_of_service_breaks_the_bound() {
    let exceeds = (0..2_000).any(|seed| {
        let (measured, bound) = trial(seed, Kind::EarlyWf2qPlus, Kind::Fifo);
        measured > bound + SLACK
    });
    assert!(exceeds, "the search is too weak to notice");
}
