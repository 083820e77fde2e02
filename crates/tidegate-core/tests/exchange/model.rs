//! The grants of an exchange beside an exact hierarchical fluid share, computed by bisection.

use super::{INTERVAL, megabits};
use proptest::prelude::*;
use tidegate_core::exchange::{Above, Exchange, Part, Report, SpanningNode, Workers};
use tidegate_core::shaper::ShapingContract;
use tidegate_core::units::{Rate, Time};

const LONGEST: u32 = 1500;
const LINK: f64 = 1e9;

/// A tree of spanning nodes, and members that are always backlogged: the node above, worker, weight, and the most that a member may send in bit/s.
#[derive(Clone, Debug)]
struct Tree {
    /// The node above, the weight, the cap in bit/s; the link first.
    nodes: Vec<(usize, u32, Option<f64>)>,
    members: Vec<(usize, usize, u32, Option<f64>)>,
}

impl Tree {
    /// What a node can use.
    fn demand(&self, node: usize) -> f64 {
        let cap = self.nodes[node].2.unwrap_or(LINK);
        self.below(node).iter().map(|&(_, limit)| limit).sum::<f64>().min(cap)
    }

    /// The weights and limits of all that is directly below a node: spanning nodes, then members.
    fn below(&self, node: usize) -> Vec<(f64, f64)> {
        let nodes = self.children(node).map(|child| (f64::from(self.nodes[child].1), self.demand(child)));
        let members = self.members.iter().filter(|member| member.0 == node);
        nodes.chain(members.map(|&(_, _, weight, most)| (f64::from(weight), most.unwrap_or(LINK)))).collect()
    }

    fn children(&self, node: usize) -> impl Iterator<Item = usize> {
        (1..self.nodes.len()).filter(move |&child| self.nodes[child].0 == node)
    }

    /// The rates of nodes and members when `supply` is shared below a node.
    fn share(&self, node: usize, supply: f64, nodes: &mut [f64], members: &mut [f64]) {
        nodes[node] = supply;
        let below = self.below(node);
        let at = |level: f64| below.iter().map(|&(weight, limit)| limit.min(level * weight)).sum::<f64>();
        let (mut low, mut high) = (0.0, 2.0 * LINK);
        for _ in 0..100 {
            let middle = (low + high) / 2.0;
            if at(middle) < supply { low = middle } else { high = middle }
        }
        for child in self.children(node) {
            self.share(child, self.demand(child).min(high * f64::from(self.nodes[child].1)), nodes, members);
        }
        for (index, &(_, _, weight, most)) in self.members.iter().enumerate().filter(|(_, member)| member.0 == node) {
            members[index] = most.unwrap_or(LINK).min(high * f64::from(weight));
        }
    }

    /// The rate that a worker needs at a node, and below it.
    fn of_worker(&self, node: usize, worker: usize, rates: &[f64]) -> f64 {
        let own = self.members.iter().zip(rates).filter(|(member, _)| member.0 == node && member.1 == worker);
        own.map(|(_, rate)| rate).sum::<f64>() + self.children(node).map(|child| self.of_worker(child, worker, rates)).sum::<f64>()
    }

    fn workers(&self, count: usize) -> Workers {
        let rate = |rate: f64| Rate::new(rate as u64).unwrap();
        let node = |(node, &(above, weight, cap)): (usize, &(usize, u32, Option<f64>))| SpanningNode {
            above,
            node,
            weight,
            shape: cap.map(|cap| ShapingContract::new(rate(cap), 20 * LONGEST, LONGEST)),
        };
        let part = |&(node, worker, weight, most): &(usize, usize, u32, Option<f64>)| Part {
            above: Above::Spanning(node),
            worker: worker as u32,
            weight,
            most: most.map(rate),
        };
        let parts: Vec<Part> = self.members.iter().map(part).collect();
        let part_of = (0..parts.len() as u32).collect();
        Workers { count: count as u32, exchange_every: INTERVAL, nodes: self.nodes.iter().enumerate().map(node).collect(), parts, part_of }
    }

    /// The reports of workers whose members are sent at these rates, when the nodes have these levels.
    fn reports(&self, workers: usize, rates: &[f64], levels: &[u64]) -> Vec<Report> {
        let mut reports = vec![Report::default(); workers * self.nodes.len()];
        for (&(node, worker, weight, most), rate) in self.members.iter().zip(rates) {
            let report = &mut reports[worker * self.nodes.len() + node];
            report.sent += (rate * 150e-6 / 8.0).ceil() as u64;
            match most {
                Some(most) if most < (levels[node] as f64 * f64::from(weight) / 16_777_216.0).min(LINK) => {
                    report.bounded_weight += u64::from(weight);
                    report.bounded_rate += most as u64;
                }
                _ => report.backlogged_weight += u64::from(weight),
            }
        }
        reports
    }
}

fn any_tree() -> impl Strategy<Value = Tree> {
    let node = (0usize..9, 1u32..10, prop::option::weighted(0.5, 0.05..0.9f64));
    let member = (0usize..9, 0usize..4, 1u32..10, prop::option::weighted(0.4, 0.01..0.5f64));
    (prop::collection::vec(node, 0..7), prop::collection::vec(member, 1..20)).prop_map(|(own, leaves)| {
        let mut nodes = vec![(0, 1, None)];
        for (above, weight, cap) in own {
            nodes.push((above % nodes.len(), weight, cap.map(|cap| cap * LINK)));
        }
        let alone = (1..nodes.len()).map(|node| (node, node, 1, None));
        let leaves = leaves.iter().map(|&(node, worker, weight, most)| (node % nodes.len(), worker, weight, most.map(|most| most * LINK)));
        let members = alone.chain(leaves).collect();
        Tree { nodes, members }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Where loads are steady, grants are the exact shares within 0.5 %, beside the floor that each worker has. Laws 1 and 2.
    #[test]
    fn grants_are_the_hierarchical_fluid_share(tree in any_tree(), workers in 2usize..=4) {
        let tree = Tree { members: tree.members.iter().map(|&(node, worker, weight, most)| (node, worker % workers, weight, most)).collect(), ..tree };
        let plan = tree.workers(workers);
        let mut exchange = Exchange::new(Time::ZERO, &plan, megabits(1000), LONGEST).unwrap();
        let nodes = tree.nodes.len();
        let (mut shares, mut rates) = (vec![0.0; nodes], vec![0.0; tree.members.len()]);
        tree.share(0, tree.demand(0).min(0.99 * LINK), &mut shares, &mut rates);
        let is_busy = tree.demand(0) > LINK;
        for round in 1..30 {
            let levels: Vec<u64> = exchange.levels().collect();
            let mut reports = tree.reports(workers, &rates, &levels);
            // What the floors carry, so that no credit is left over.
            reports[0].sent += (0.01 * LINK * 150e-6 / 8.0) as u64 + 8;
            exchange.exchange(Time::ZERO + tidegate_core::units::Duration::from_microseconds(150 * round), &reports);
        }
        let granted = |worker: usize, node: usize| exchange.granted(worker)[node].bits_per_second() as f64;
        let floor = 0.01 * LINK / workers as f64;
        for (node, share) in shares.iter().copied().enumerate().take(nodes) {
            for worker in 0..workers {
                let (exact, granted) = (tree.of_worker(node, worker, &rates), granted(worker, node));
                let error = exact * 0.005 + 0.0005 * LINK;
                prop_assert!(granted >= exact - error, "node {node}, worker {worker}: {granted} granted, {exact} needed");
                prop_assert!(!is_busy || granted <= exact + floor + error, "node {node}, worker {worker}: {granted} granted, {exact} needed");
                prop_assert!(granted <= exchange.granted(worker)[tree.nodes[node].0].bits_per_second() as f64, "the node above has less");
            }
            // What a rate leaves unused is spread over the next interval, and at least one packet.
            let cap = tree.nodes[node].2.unwrap_or(LINK);
            let packet = if node == 0 { 0.0 } else { 8.0 * f64::from(LONGEST) / 150e-6 };
            let credit = if share > 0.995 * cap { packet + 0.01 * cap } else { packet.max(cap) };
            let sum: f64 = (0..workers).map(|worker| granted(worker, node)).sum();
            prop_assert!(sum <= cap + credit + 1000.0 * workers as f64, "node {node}: {sum} granted, {cap} allowed");
        }
    }
}
