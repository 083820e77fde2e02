//! Trees of schedulers: what each queue is guaranteed, from the link down.
//!
//! A node's children divide its strict curve; each child that is a group has a strict curve of its own, and so on. Schedulers compose in the
//! domain of work: their decisions depend on its order and not on time, so that a slow or uneven node above only stretches time.
//!
//! * A group below a virtual clock or `edf` has no strict curve. It has bounds only as one queue, first in first out, if everything in it conforms.
//! * From the link down by `wf2q+` alone, a packet is late by at most the sum of `L / R` over the nodes above. The better of the two bounds is
//!   kept. Source: Bennett and Zhang, IEEE/ACM ToN 5(5), 1997.
//! * A shape of rate `rho` passes the curve `(R, T)` on as `(min(R, rho), T + L / rho)`. Its bucket has to outlast the wait:
//!   `burst + rho * tolerance >= L + min(R, rho) * T`. A smaller one loses tokens while a packet waits for its turn, and guarantees nothing. The
//!   burst that would be enough is told.

use crate::aggregate::Aggregate;
use crate::curve::{Arrival, RateLatency, Service};
use crate::quantity::{NoBound, PICOBITS, Picoseconds, bits, plus, times, up};
use crate::service::{KnownRows, Node, Row, row};
use tidegate_core::registry::SchedulerKind;
use tidegate_core::units::Duration;

/// A shape of a group or class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// In bit/s, above 0.
    pub rate: u64,
    /// The depth of its bucket in bits, the packet that begins a burst included.
    pub burst: u64,
    /// How early a packet may leave besides (CDVT).
    pub tolerance: Duration,
}

impl Shape {
    /// What the shape passes on of a strict curve, for packets of up to `longest` bits.
    ///
    /// While a packet is released, the member is served by the curve; a pause begins only when the bucket is empty. Let `r = min(R, rho)`, and
    /// let tokens be lost last at `z`, in a period that begins at `s`. Until `z` at least `r (z - s - T)` is sent. From then on the whole bucket
    /// `B = burst - L + rho * tolerance` and all tokens that come are sent before the next pause ends. So each period but the one at the beginning
    /// of an interval makes up for its own latency if `B >= r T`; the first costs `T`, or a pause of `L / rho` before it besides.
    ///
    /// # Errors
    /// [`NoBound::ShortBurst`] with the burst that would be enough.
    pub fn through(&self, curve: &Service, longest: u64) -> Result<Service, NoBound> {
        let (rate, packet) = (i128::from(self.rate), up(bits(longest), self.rate.into()));
        let depth = plus(bits(self.burst), times(rate, self.tolerance.picoseconds().into())?)?;
        let (mut passed, mut enough) = (Vec::new(), i128::MAX);
        for piece in curve.pieces() {
            let needed = plus(bits(longest), times(piece.rate.min(self.rate).into(), piece.latency)?)?;
            enough = enough.min(needed);
            if depth >= needed {
                passed.push(RateLatency { rate: piece.rate.min(self.rate), latency: piece.latency + packet });
            }
        }
        let short = || {
            let enough = up(bits(self.burst) + enough - depth, PICOBITS);
            NoBound::ShortBurst { burst: self.burst, enough: u64::try_from(enough).unwrap_or(u64::MAX) }
        };
        if passed.is_empty() { Err(short()) } else { Service::new(passed) }
    }
}

/// One child in the tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Branch {
    /// The node below it, for a group; `None` for a queue.
    pub node: Option<usize>,
    /// Its shape.
    pub shape: Option<Shape>,
}

/// A node and the branches of its children, in the same order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TreeNode {
    /// Scheduler and children. Of a group, the child has the longest packet of all below, and the sum of their arrivals.
    pub node: Node,
    /// What is below each child.
    pub branches: Vec<Branch>,
}

/// A tree of schedulers. Node 0 divides the link; a node comes after the one above it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tree {
    /// The nodes.
    pub nodes: Vec<TreeNode>,
}

/// What is known of a node's own service.
#[derive(Clone)]
struct Above {
    /// The strict curve, or why there is none.
    strict: Result<Service, NoBound>,
    /// The guaranteed rate of a group without one, and the scheduler above it.
    guaranteed: Option<(Service, SchedulerKind)>,
    /// The latency by Bennett and Zhang, while all nodes above are `wf2q+`.
    fair: Option<Picoseconds>,
}

impl Tree {
    /// The rows of all children of all nodes, on a link of `rate` bit/s.
    ///
    /// # Panics
    /// If a node is named before the one above it, or numbers of children and branches differ.
    pub fn rows(&self, rate: u64) -> Vec<Vec<Row>> {
        let mut above: Vec<Option<Above>> = vec![None; self.nodes.len()];
        if let Some(first) = above.first_mut() {
            *first = Some(Above { strict: Ok(Service::link(rate)), guaranteed: None, fair: Some(0) });
        }
        let mut rows = Vec::with_capacity(self.nodes.len());
        for (number, TreeNode { node, branches }) in self.nodes.iter().enumerate() {
            assert_eq!(node.children.len(), branches.len(), "each child has a branch");
            let own = above[number].take().expect("a node comes after the one above it");
            // Of this node: a packet waits for one of the longest at its own rate.
            let fair = own.fair.filter(|_| node.kind == SchedulerKind::Wf2qPlus && node.rate > 0);
            let fair = fair.map(|sum| sum + up(bits(node.longest), node.rate.into()));
            let mut of_node = Vec::with_capacity(branches.len());
            let mut known = KnownRows::default();
            for (index, branch) in branches.iter().enumerate() {
                let child = &node.children[index];
                let mut row = known.row(node, index, || own.row(node, index));
                if let Some(latency) = fair
                    && let Ok(curve) = &row.guaranteed
                    && child.rate > 0
                {
                    let other = Service::rate_latency(child.rate, latency);
                    if sooner(&child.arrival, &other, curve) {
                        row.guaranteed = Ok(other);
                    }
                }
                if let Some(shape) = &branch.shape {
                    row = shaped(&row, shape, child.longest);
                }
                if let Some(below) = branch.node {
                    assert!(below > number, "a node comes after the one above it");
                    let guaranteed = row.guaranteed.clone().ok().map(|curve| (curve, node.kind));
                    let fair = fair.filter(|_| branch.shape.is_none());
                    above[below] = Some(Above { strict: row.strict.clone(), guaranteed, fair });
                }
                of_node.push(row);
            }
            rows.push(of_node);
        }
        rows
    }
}

impl Above {
    fn row(&self, node: &Node, index: usize) -> Row {
        match (&self.strict, &self.guaranteed) {
            (Ok(strict), _) => row(node, strict, index),
            (Err(_), Some((curve, _))) if node.kind == SchedulerKind::Fifo => row(node, curve, index),
            (Err(_), Some((_, kind))) => {
                let reason = NoBound::Punished(kind.name());
                Row { guaranteed: Err(reason.clone()), strict: Err(reason), delay: None }
            }
            (Err(reason), None) => Row { guaranteed: Err(reason.clone()), strict: Err(reason.clone()), delay: None },
        }
    }
}

/// A row below a shape.
fn shaped(row: &Row, shape: &Shape, longest: u64) -> Row {
    let curve = match &row.strict {
        Ok(strict) => shape.through(strict, longest),
        Err(reason) => Err(reason.clone()),
    };
    Row { guaranteed: curve.clone(), strict: curve, delay: None }
}

/// True if the first curve bounds the delay of these arrivals better; of unknown ones, if its latency is smaller.
fn sooner(arrival: &Result<Arrival, NoBound>, one: &Service, two: &Service) -> bool {
    let delay = |curve: &Service| Aggregate::of(arrival.as_ref().ok())?.delay(curve);
    match arrival {
        Ok(_) => delay(one).is_ok_and(|first| delay(two).map_or(true, |second| first < second)),
        Err(_) => one.latency() < two.latency() && one.rate() >= two.rate(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::Child;

    /// Bits per second.
    const MBPS: u64 = 1_000_000;
    /// Picoseconds.
    const US: Picoseconds = 1_000_000;

    fn leaf(rate: u64, longest: u64) -> Child {
        Child { rate: rate * MBPS, ..Child::new(longest) }
    }

    fn tree(nodes: Vec<(Node, Vec<Option<usize>>)>) -> Tree {
        let nodes = nodes
            .into_iter()
            .map(|(node, below)| TreeNode { branches: below.into_iter().map(|node| Branch { node, shape: None }).collect(), node });
        Tree { nodes: nodes.collect() }
    }

    /// The internet provider of `scenarios/hierarchical-isp.toml`: link, `north`, `mill`, and `voice` of strict priority in it.
    #[test]
    fn three_levels_of_an_internet_provider() {
        const FRAME: u64 = 12_336;
        let fair = |rate: u64, rates: &[u64]| {
            Node::new(SchedulerKind::Wf2qPlus, rate * MBPS, rates.iter().map(|&rate| leaf(rate, FRAME)).collect())
        };
        let voice = Child { arrival: Ok(Arrival::token_bucket(20 * 1_904, 20 * 1_904 * 50)), ..Child::new(FRAME) };
        let data = Child { priority: 1, ..Child::new(FRAME) };
        let isp = tree(vec![
            (fair(100, &[60, 39, 1]), vec![Some(1), None, None]),
            (fair(60, &[20, 20]), vec![Some(2), None]),
            (Node::new(SchedulerKind::StrictPriority, 20 * MBPS, vec![voice.clone(), data]), vec![None, None]),
        ]);
        let rows = isp.rows(100 * MBPS);
        let strict = |node: usize, index: usize| rows[node][index].strict.as_ref().unwrap().pieces().to_vec();
        assert_eq!(strict(0, 0), [RateLatency { rate: 60 * MBPS, latency: 287_840_000 }]);
        assert_eq!(strict(1, 0), [RateLatency { rate: 20 * MBPS, latency: 1_315_840_000 }]);
        let by_curve = crate::aggregate::delay(voice.arrival.as_ref().unwrap(), rows[2][0].strict.as_ref().unwrap());
        assert_eq!(by_curve, Ok(3_836_640_000));
        assert!(rows[2][0].delay_of(voice.arrival.as_ref().unwrap()).unwrap() <= 3_836_640_000);
    }

    #[test]
    fn fair_queueing_all_the_way_down_adds_one_packet_per_node() {
        let fair =
            |rate: u64, rates: [u64; 2]| Node::new(SchedulerKind::Wf2qPlus, rate * MBPS, rates.map(|rate| leaf(rate, 1_000)).to_vec());
        let rows = tree(vec![(fair(10, [5, 5]), vec![Some(1), None]), (fair(5, [1, 4]), vec![None, None])]).rows(10 * MBPS);
        // 1000 bit at 10 and at 5 Mbit/s.
        assert_eq!(rows[1][0].guaranteed, Ok(Service::rate_latency(MBPS, 300 * US)));
        assert!(rows[1][0].strict.as_ref().unwrap().latency() > 300 * US);
    }

    #[test]
    fn below_a_virtual_clock_only_one_queue_of_conforming_traffic_has_a_bound() {
        let clock = Node::new(SchedulerKind::VirtualClock, 10 * MBPS, vec![leaf(5, 1_000), leaf(5, 1_000)]);
        let conforming = Child { arrival: Ok(Arrival::token_bucket(2_000, MBPS)), ..leaf(1, 1_000) };
        let below = |kind| {
            let node = Node::new(kind, 5 * MBPS, vec![conforming.clone(), conforming.clone()]);
            tree(vec![(clock.clone(), vec![Some(1), None]), (node, vec![None, None])]).rows(10 * MBPS).remove(1).remove(0)
        };
        assert_eq!(below(SchedulerKind::Fifo).delay, Some(Ok(900 * US)));
        let refused = below(SchedulerKind::Wf2qPlus).guaranteed.unwrap_err();
        assert_eq!(refused.to_string(), "`virtual-clock` above may punish the group for idle capacity that it used");
    }

    #[test]
    fn a_shape_needs_a_burst_that_outlasts_the_wait() {
        let curve = Service::rate_latency(5 * MBPS, 2_000 * US);
        let shape = |burst, ms| Shape { rate: 2 * MBPS, burst, tolerance: Duration::from_milliseconds(ms) };
        // One packet of 1000 bit, and 2 Mbit/s for 2 ms.
        let short = shape(4_999, 0).through(&curve, 1_000).unwrap_err();
        assert_eq!(short, NoBound::ShortBurst { burst: 4_999, enough: 5_000 });
        assert_eq!(short.to_string(), "its burst of 4999 bit is too small to wait for its turn; 5000 bit would do");
        let passed = Service::rate_latency(2 * MBPS, 2_500 * US);
        assert_eq!(shape(5_000, 0).through(&curve, 1_000), Ok(passed.clone()));
        assert_eq!(shape(1_000, 2).through(&curve, 1_000), Ok(passed));
    }

    /// The tree takes one row for equal neighbours: the same as row by row.
    #[test]
    fn equal_neighbours_have_the_rows_that_they_have_alone() {
        let terms = [(1, 1_000), (1, 1_000), (1, 2_000), (2, 2_000), (2, 2_000), (1, 1_000)];
        for &kind in SchedulerKind::ALL {
            let child = |&(weight, shortest): &(u64, u64)| {
                let arrival = Ok(Arrival::token_bucket(2_000 * weight, MBPS));
                Child { weight, quantum: 4_000 * weight, rate: weight * MBPS, shortest, arrival, ..Child::new(4_000) }
            };
            let node = Node::new(kind, 10 * MBPS, terms.iter().map(child).collect());
            let alone: Vec<Row> = (0..terms.len()).map(|index| row(&node, &Service::link(10 * MBPS), index)).collect();
            let rows = tree(vec![(node, vec![None; terms.len()])]).rows(10 * MBPS).remove(0);
            let strict = |rows: &[Row]| rows.iter().map(|row| (row.strict.clone(), row.delay.clone())).collect::<Vec<_>>();
            assert_eq!(strict(&rows), strict(&alone), "{}", kind.name());
        }
    }
}
