//! Adaptive rate allocation (ARC): what guaranteed service leaves of a link is divided among the flows of controlled load, by water-filling.
//!
//! **Law**: `r_j = min(p_j, rho_j * level)` to within 1 bit/s. The sum of all `r_j` is exactly `min(left, sum p_j)`, and `r_j >= rho_j` while
//! `sum rho_j <= left`.
//!
//! **Source**: reconstructed from the abstract of the paper that the node of Wu, Hou, Zhang, Chao and Hamada cites for it (ICC 1999), which
//! is not to be had. Water-filling is max-min fairness with weights: Bertsekas and Gallager, *Data Networks*, section 6.5.
//!
//! **State**: 88 bytes per flow: a treap of the flows in the order of `p/rho`, with the sums of `rho` and `p` of every left subtree. 24 of them
//! limit what is measured of the flow.
//!
//! **Cost**: O(log n) expected per flow that comes or goes. The level then moves flow by flow, up to eight of them; if it moves farther, a search of
//! O(log n) finds it. O(log n) and two divisions per flow that asks for its rate.
//!
//! **RTL twin**: none.
//!
//! **Deviations**: a change stores the level and touches no other flow; a flow computes its rate when its next head is stamped. The bits per second
//! that rounding leaves over go one each to flows spread over the order; of equal flows the lowest number has the first.

use super::flow_table::mixed;
use super::measurement::PeakBucket;
use crate::prefetch::prefetch_in;
use alloc::vec::Vec;
use core::cmp::Ordering;

/// No node.
const NIL: u32 = u32::MAX;

/// The number of flows that the level passes one by one before it is searched in the tree.
const WALK_LIMIT: u32 = 8;

/// A flow of controlled load. It fills a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Node {
    id: u64,
    rho: u64,
    peak: u64,
    /// Sums over the left subtree: a search adds them up without a look at the child.
    below: Sums,
    left: u32,
    right: u32,
    parent: u32,
    /// The neighbours in the order of the flows.
    previous: u32,
    next: u32,
}

impl Node {
    const fn own(&self) -> Sums {
        Sums { rho: self.rho, peak: self.peak }
    }
}

/// The flows before and after another in the order; [`NIL`] where there is none.
struct Neighbours {
    previous: u32,
    next: u32,
}

/// Sums over a set of flows.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Sums {
    /// Of the sustained rates, in bit/s.
    pub(super) rho: u64,
    /// Of the peak rates, in bit/s.
    pub(super) peak: u64,
}

impl Sums {
    const fn plus(self, other: Sums) -> Sums {
        Sums { rho: self.rho + other.rho, peak: self.peak + other.peak }
    }

    const fn minus(self, other: Sums) -> Sums {
        Sums { rho: self.rho - other.rho, peak: self.peak - other.peak }
    }
}

/// The flows of controlled load at one link, and the level to which their rates are filled.
#[derive(Clone, Debug)]
pub(super) struct AdaptiveRates {
    nodes: Vec<Node>,
    /// What limits the measurement of each flow, in the order of `nodes`.
    buckets: Vec<PeakBucket>,
    vacant: Vec<u32>,
    root: u32,
    /// Sums over all flows.
    total: Sums,
    /// What the flows below their peak share, in bit/s.
    spare: u64,
    /// Sums over the flows at their peak: those first in the order.
    capped: Sums,
    /// The last flow at its peak; [`NIL`] if there is none.
    last_capped: u32,
    /// The first flow in the order.
    first: u32,
    /// Counts the changes of the level.
    epoch: u32,
}

impl AdaptiveRates {
    pub(super) fn new(capacity: usize) -> AdaptiveRates {
        AdaptiveRates {
            nodes: Vec::with_capacity(capacity),
            buckets: Vec::with_capacity(capacity),
            vacant: Vec::with_capacity(capacity),
            root: NIL,
            total: Sums::default(),
            spare: 0,
            capped: Sums::default(),
            last_capped: NIL,
            first: NIL,
            epoch: 0,
        }
    }

    /// Counts the changes of the level: a rate that was computed in another epoch is out of date.
    #[inline]
    pub(super) fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Adds a flow and returns its node. The level is out of date until [`AdaptiveRates::fill`].
    pub(super) fn insert(&mut self, id: u64, rho: u64, peak: u64, bucket: PeakBucket) -> u32 {
        let fresh = Node { id, rho, peak, below: Sums::default(), left: NIL, right: NIL, parent: NIL, previous: NIL, next: NIL };
        let node = if let Some(node) = self.vacant.pop() {
            (self.nodes[node as usize], self.buckets[node as usize]) = (fresh, bucket);
            node
        } else {
            self.nodes.push(fresh);
            self.buckets.push(bucket);
            self.nodes.len() as u32 - 1
        };
        self.total = self.total.plus(fresh.own());
        let mut neighbours = Neighbours { previous: NIL, next: NIL };
        let (mut parent, mut root) = (None, self.root);
        while root != NIL && Self::priority(root) > Self::priority(node) {
            let Node { left, right, .. } = self.nodes[root as usize];
            // The processor need not wait for the comparison.
            prefetch_in(&self.nodes, left as usize);
            prefetch_in(&self.nodes, right as usize);
            let side = self.order(node, root);
            if side == Ordering::Less {
                let at = &mut self.nodes[root as usize];
                at.below = at.below.plus(fresh.own());
                neighbours.next = root;
            } else {
                neighbours.previous = root;
            }
            (parent, root) = (Some((root, side)), if side == Ordering::Less { left } else { right });
        }
        let (left, right, below) = self.split(root, node, &mut neighbours);
        self.adopt(node, left, right);
        let at = &mut self.nodes[node as usize];
        (at.below, at.previous, at.next) = (below, neighbours.previous, neighbours.next);
        self.set_child(parent, node);
        self.link(neighbours.previous, node);
        self.link(node, neighbours.next);
        if self.last_capped != NIL && self.order(node, self.last_capped) == Ordering::Less {
            self.capped = self.capped.plus(fresh.own());
        }
        node
    }

    /// Removes a flow. The level is out of date until [`AdaptiveRates::fill`].
    pub(super) fn remove(&mut self, node: u32) {
        let removed = self.nodes[node as usize];
        self.total = self.total.minus(removed.own());
        if self.last_capped != NIL && self.order(node, self.last_capped) != Ordering::Greater {
            self.capped = self.capped.minus(removed.own());
        }
        if self.last_capped == node {
            self.last_capped = removed.previous;
        }
        self.link(removed.previous, removed.next);
        let (mut child, mut above) = (node, removed.parent);
        let parent = self.nodes.get(above as usize).map(|at| (above, if at.left == node { Ordering::Less } else { Ordering::Greater }));
        while let Some(at) = self.nodes.get_mut(above as usize) {
            // No branch: the sides of ancestors cannot be predicted.
            let in_left = u64::from(at.left == child).wrapping_neg();
            at.below.rho -= removed.rho & in_left;
            at.below.peak -= removed.peak & in_left;
            (child, above) = (above, at.parent);
        }
        let merged = self.merged(removed.left, removed.right, removed.below);
        self.set_child(parent, merged);
        self.vacant.push(node);
    }

    /// Finds the level to which `available` bit/s fill the rates.
    pub(super) fn fill(&mut self, available: u64) {
        if !self.walk_level(available) {
            self.search_level(available);
        }
        self.spare = available - self.capped.peak;
        self.epoch = self.epoch.wrapping_add(1);
    }

    /// Moves the level flow by flow from where it was, as one flow that came or went moves it. False if it moves by more than a few.
    fn walk_level(&mut self, available: u64) -> bool {
        let mut steps = 0;
        loop {
            let next = self.nodes.get(self.last_capped as usize).map_or(self.first, |last| last.next);
            if next == NIL || !self.is_capped(next, self.capped, available) {
                break;
            }
            (self.capped, self.last_capped) = (self.capped.plus(self.nodes[next as usize].own()), next);
            steps += 1;
            if steps == WALK_LIMIT {
                return false;
            }
        }
        if steps > 0 {
            return true;
        }
        while let Some(&last) = self.nodes.get(self.last_capped as usize) {
            let below = self.capped.minus(last.own());
            if self.is_capped(self.last_capped, below, available) {
                return true;
            }
            (self.capped, self.last_capped) = (below, last.previous);
            steps += 1;
            if steps == WALK_LIMIT {
                return false;
            }
        }
        true
    }

    /// Finds the level in the tree.
    fn search_level(&mut self, available: u64) {
        (self.capped, self.last_capped) = (Sums::default(), NIL);
        let mut node = self.root;
        while node != NIL {
            let Node { below, left, right, .. } = self.nodes[node as usize];
            let below = self.capped.plus(below);
            if self.is_capped(node, below, available) {
                self.capped = below.plus(self.nodes[node as usize].own());
                self.last_capped = node;
                node = right;
            } else {
                node = left;
            }
        }
    }

    /// True if a flow is at its peak, where `below` are the sums over all flows before it:
    /// p <= rho * (what those before it leave) / (rho of this flow and those after it).
    #[inline]
    fn is_capped(&self, node: u32, below: Sums, available: u64) -> bool {
        let Node { rho, peak, .. } = self.nodes[node as usize];
        available >= below.peak
            && u128::from(peak) * u128::from(self.total.rho - below.rho) <= u128::from(rho) * u128::from(available - below.peak)
    }

    /// The rate of a flow, in bit/s, as of the last [`AdaptiveRates::fill`].
    pub(super) fn rate(&self, node: u32) -> u64 {
        let Node { rho, peak, .. } = self.nodes[node as usize];
        let weight = self.total.rho.saturating_sub(self.capped.rho);
        if u128::from(peak) * u128::from(weight) <= u128::from(rho) * u128::from(self.spare) {
            return peak;
        }
        // The difference of two rounded partial sums, so that the rates add up to `spare` exactly.
        let before = self.rho_before(node).saturating_sub(self.capped.rho);
        let filled = |rho: u64| (u128::from(rho) * u128::from(self.spare)).div_ceil(u128::from(weight));
        (filled(before + rho) - filled(before)) as u64
    }

    /// The bucket that limits what is measured of a flow.
    #[inline]
    pub(super) fn bucket(&mut self, node: u32) -> &mut PeakBucket {
        &mut self.buckets[node as usize]
    }

    /// A flow's sustained rate and peak rate, in bit/s.
    pub(super) fn rates_of(&self, node: u32) -> Sums {
        self.nodes[node as usize].own()
    }

    /// The order of the flows: by `p/rho`, then by number.
    fn order(&self, a: u32, b: u32) -> Ordering {
        let (a, b) = (&self.nodes[a as usize], &self.nodes[b as usize]);
        let ratio = |p: &Node, q: &Node| u128::from(p.peak) * u128::from(q.rho);
        ratio(a, b).cmp(&ratio(b, a)).then(a.id.cmp(&b.id))
    }

    /// The sustained rates of all flows before this one in the order.
    fn rho_before(&self, node: u32) -> u64 {
        let Node { below, mut parent, .. } = self.nodes[node as usize];
        let (mut before, mut child) = (below.rho, node);
        while let Some(at) = self.nodes.get(parent as usize) {
            if at.right == child {
                before += at.below.rho + at.rho;
            }
            (child, parent) = (parent, at.parent);
        }
        before
    }

    /// The heap key of the treap: pseudo-random by place, so that no order of requests builds a deep tree.
    fn priority(node: u32) -> u64 {
        mixed(u64::from(node) + 1)
    }

    /// Makes `child` a child of its parent, on the given side; without a parent the root.
    fn set_child(&mut self, parent: Option<(u32, Ordering)>, child: u32) {
        match parent {
            None => self.root = child,
            Some((parent, Ordering::Less)) => self.nodes[parent as usize].left = child,
            Some((parent, _)) => self.nodes[parent as usize].right = child,
        }
        self.set_parent(child, parent.map_or(NIL, |(parent, _)| parent));
    }

    /// Makes `left` and `right` the children of a flow.
    fn adopt(&mut self, node: u32, left: u32, right: u32) {
        let at = &mut self.nodes[node as usize];
        (at.left, at.right) = (left, right);
        self.set_parent(left, node);
        self.set_parent(right, node);
    }

    fn set_parent(&mut self, child: u32, parent: u32) {
        if let Some(child) = self.nodes.get_mut(child as usize) {
            child.parent = parent;
        }
    }

    /// Makes two flows neighbours in the order; [`NIL`] is before the first and after the last.
    fn link(&mut self, previous: u32, next: u32) {
        match self.nodes.get_mut(previous as usize) {
            Some(at) => at.next = next,
            None => self.first = next,
        }
        if let Some(at) = self.nodes.get_mut(next as usize) {
            at.previous = previous;
        }
    }

    /// The flows of `root` before `pivot`, those after it, and the sums over the former; notes the neighbours of `pivot`. Expected depth: 2.
    fn split(&mut self, root: u32, pivot: u32, neighbours: &mut Neighbours) -> (u32, u32, Sums) {
        if root == NIL {
            return (NIL, NIL, Sums::default());
        }
        let node = self.nodes[root as usize];
        if self.order(root, pivot) == Ordering::Less {
            neighbours.previous = root;
            let (before, after, sums) = self.split(node.right, pivot, neighbours);
            self.nodes[root as usize].right = before;
            self.set_parent(before, root);
            (root, after, sums.plus(node.below).plus(node.own()))
        } else {
            neighbours.next = root;
            let (before, after, sums) = self.split(node.left, pivot, neighbours);
            let at = &mut self.nodes[root as usize];
            (at.left, at.below) = (after, at.below.minus(sums));
            self.set_parent(after, root);
            (before, root, sums)
        }
    }

    /// One tree of two, all flows of the first, over which `sums` are, before all of the second. Expected depth: 2.
    fn merged(&mut self, first: u32, second: u32, sums: Sums) -> u32 {
        if first == NIL {
            return second;
        }
        if second == NIL {
            return first;
        }
        if Self::priority(first) > Self::priority(second) {
            let node = self.nodes[first as usize];
            let rest = sums.minus(node.below).minus(node.own());
            let right = self.merged(node.right, second, rest);
            self.nodes[first as usize].right = right;
            self.set_parent(right, first);
            first
        } else {
            let left = self.merged(first, self.nodes[second as usize].left, sums);
            let at = &mut self.nodes[second as usize];
            (at.left, at.below) = (left, at.below.plus(sums));
            self.set_parent(left, second);
            second
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Rate;
    use alloc::vec;
    use proptest::prelude::*;

    fn bucket() -> PeakBucket {
        PeakBucket::new(Rate::MIN, 1_000)
    }

    fn rates_of(left: u64, flows: &[(u64, u64)]) -> Vec<u64> {
        let mut rates = AdaptiveRates::new(flows.len());
        let nodes: Vec<u32> = (0..).zip(flows).map(|(id, &(rho, peak))| rates.insert(id, rho, peak, bucket())).collect();
        rates.fill(left);
        nodes.into_iter().map(|node| rates.rate(node)).collect()
    }

    const MBPS: u64 = 1_000_000;

    #[test]
    fn four_two_and_eight_flows_beside_four_of_guaranteed_service() {
        let flow = (MBPS, 1_500_000);
        assert_eq!(rates_of(4 * MBPS, &[flow; 4]), [MBPS; 4]);
        assert_eq!(rates_of(4 * MBPS, &[flow; 2]), [1_500_000; 2]);
        assert_eq!(rates_of(4 * MBPS, &[flow; 8]), [MBPS / 2; 8]);
        assert_eq!(rates_of(0, &[flow; 2]), [0, 0]);
    }

    #[test]
    fn a_capped_flow_leaves_its_excess_to_the_others() {
        assert_eq!(rates_of(10 * MBPS, &[(1, MBPS), (1, 9 * MBPS), (2, 9 * MBPS)]), [MBPS, 3 * MBPS, 6 * MBPS]);
    }

    #[test]
    fn of_equal_flows_the_lowest_number_gets_what_rounding_leaves_over() {
        assert_eq!(rates_of(10, &[(1, 9), (1, 9), (1, 9)]), [4, 3, 3]);
    }

    /// Water-filling over all flows: those at their peak are taken out until no other reaches it.
    fn slow(left: u64, flows: &[(u64, u64)]) -> Vec<(u128, u128)> {
        let mut rates = vec![(0, 1); flows.len()];
        let (mut left, mut below): (u128, Vec<usize>) = (left.into(), (0..flows.len()).collect());
        loop {
            let weight: u128 = below.iter().map(|&flow| u128::from(flows[flow].0)).sum();
            let is_capped = |&&flow: &&usize| u128::from(flows[flow].1) * weight <= u128::from(flows[flow].0) * left;
            let Some(at) = below.iter().find(is_capped).copied() else {
                below.iter().for_each(|&flow| rates[flow] = (u128::from(flows[flow].0) * left, weight));
                return rates;
            };
            rates[at] = (flows[at].1.into(), 1);
            left -= u128::from(flows[at].1);
            below.retain(|&flow| flow != at);
        }
    }

    proptest! {
        #[test]
        fn the_level_is_that_of_water_filling(
            steps in proptest::collection::vec((any::<bool>(), 1u64..40, prop_oneof![0u64..40, 0u64..4], any::<u16>(), 0u64..800), 1..120),
            scale in prop_oneof![Just(1u64), Just(1_000_007), Just(9_999_999_967)],
        ) {
            let mut rates = AdaptiveRates::new(8);
            let mut flows: Vec<(u64, u64, u64, u32)> = Vec::new();
            for (id, (come, rho, above, which, left)) in (0u64..).zip(steps) {
                if come || flows.is_empty() {
                    let (rho, peak) = (rho * scale, (rho + above) * scale);
                    // Numbers that do not come in order.
                    let id = id ^ 5;
                    flows.push((id, rho, peak, rates.insert(id, rho, peak, bucket())));
                } else {
                    rates.remove(flows.swap_remove(usize::from(which) % flows.len()).3);
                }
                let left = left * scale + u64::from(which % 7);
                rates.fill(left);
                let walked = (rates.capped, rates.last_capped);
                rates.search_level(left);
                prop_assert_eq!(walked, (rates.capped, rates.last_capped));
                let expected = slow(left, &flows.iter().map(|&(_, rho, peak, _)| (rho, peak)).collect::<Vec<_>>());
                let (mut sum, mut peaks, mut rhos) = (0, 0, 0);
                for (&(_, rho, peak, node), (numerator, denominator)) in flows.iter().zip(expected) {
                    let rate = rates.rate(node);
                    let exact = numerator / denominator;
                    prop_assert!(u128::from(rate) == exact || u128::from(rate) == exact + 1 && numerator % denominator > 0 && rate <= peak);
                    (sum, peaks, rhos) = (sum + rate, peaks + peak, rhos + rho);
                }
                prop_assert_eq!(sum, if flows.is_empty() { 0 } else { peaks.min(left) });
                prop_assert_eq!(rates.total, Sums { rho: rhos, peak: peaks });
                prop_assert!(rhos > left || flows.iter().all(|&(_, rho, _, node)| rates.rate(node) >= rho));
            }
        }
    }
}
