//! How the tree of a port is divided among workers.

use super::error::{ExchangeError, Inconsistency};
use crate::shaper::ShapingContract;
use crate::units::{Duration, Rate};
use alloc::vec::Vec;

/// One hundredth of the link's rate is granted to the workers alike, so that an idle worker starts its next packet at once.
pub(super) const FLOOR_PARTS: u64 = 100;

/// The workers of a link, and which of them has what.
///
/// ```
/// use tidegate_core::exchange::Workers;
/// use tidegate_core::units::{Duration, Rate};
/// // Three flows are members of the link. The first worker has the first of them.
/// let workers = Workers::of_link(2, Duration::from_microseconds(150), &[3, 1, 2], &[0, 1, 1]);
/// assert_eq!(workers.check(Rate::new(10_000_000).unwrap(), 3), Ok(()));
/// assert_eq!(workers.worker_of(1), 1);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Workers {
    /// The number of workers, 2 to 256.
    pub count: u32,
    /// How often their rates are set anew, from 10 us to 100 ms.
    pub exchange_every: Duration,
    /// The nodes that span workers: the link first, then every node after the one above it.
    pub nodes: Vec<SpanningNode>,
    /// What belongs to one worker: every part after the one above it.
    pub parts: Vec<Part>,
    /// By flow of the port: its part.
    pub part_of: Vec<u32>,
}

/// A node of the tree whose children are on several workers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpanningNode {
    /// The spanning node above, by its number in [`Workers::nodes`]. Unused for the link.
    pub above: usize,
    /// Its number in the tree of the port's scheduler ([`NodeSpec`](crate::scheduler::NodeSpec)).
    pub node: usize,
    /// Its weight below the node above, at least 1.
    pub weight: u32,
    /// The contract of all packets below it, of one rate and a single bucket. Unused for the link.
    pub shape: Option<ShapingContract>,
}

impl SpanningNode {
    /// The link.
    pub const LINK: SpanningNode = SpanningNode { above: 0, node: 0, weight: 1, shape: None };
}

/// What is above a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Above {
    /// A node that spans workers, by its number: the part is a *member* of it.
    Spanning(usize),
    /// A group on the same worker, by its number among the parts.
    Part(usize),
}

/// A class or a group that belongs to one worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// What is above it.
    pub above: Above,
    /// Its worker, from 0.
    pub worker: u32,
    /// Its weight among the members of a spanning node, at least 1. Unused below another part.
    pub weight: u32,
    /// The most that it may send in the long run; `None` for all that the link carries.
    pub most: Option<Rate>,
}

impl Workers {
    /// Workers among which only the link spans. Each flow is a member of it, with a weight and a worker.
    pub fn of_link(count: u32, exchange_every: Duration, weights: &[u32], worker_of: &[u32]) -> Workers {
        let part = |(&weight, &worker): (&u32, &u32)| Part { above: Above::Spanning(0), worker, weight, most: None };
        let parts: Vec<Part> = weights.iter().zip(worker_of).map(part).collect();
        let part_of = (0..parts.len() as u32).collect();
        Workers { count, exchange_every, nodes: [SpanningNode::LINK].to_vec(), parts, part_of }
    }

    /// The worker of a flow of the port.
    pub fn worker_of(&self, flow: usize) -> u32 {
        self.parts[self.part_of[flow] as usize].worker
    }

    /// Checks that they can share a link of this rate whose port has this number of flows.
    ///
    /// # Errors
    /// [`ExchangeError`] names what is wrong.
    pub fn check(&self, rate: Rate, flows: usize) -> Result<(), ExchangeError> {
        let inconsistent = |what| Err(ExchangeError::Inconsistent(what));
        if !(2..=256).contains(&self.count) {
            return Err(ExchangeError::Workers(self.count));
        }
        if !(Duration::from_microseconds(10)..=Duration::from_milliseconds(100)).contains(&self.exchange_every) {
            return Err(ExchangeError::Interval(self.exchange_every));
        }
        let caps = self.nodes.iter().skip(1).filter_map(|node| node.shape.map(|shape| shape.rate));
        if let Some(rate) = caps.chain([rate]).find(|&rate| !Workers::can_share(rate, self.count)) {
            return Err(ExchangeError::Rate(rate));
        }
        let follows = |(number, node): (usize, &SpanningNode)| node.above < number;
        if self.nodes.is_empty() || !(1..).zip(self.nodes.iter().skip(1)).all(follows) {
            return inconsistent(Inconsistency::Nodes);
        }
        let is_in_order = |(number, part): (usize, &Part)| match part.above {
            Above::Spanning(node) => node < self.nodes.len(),
            Above::Part(above) => above < number && self.parts[above].worker == part.worker,
        };
        if !(0..).zip(&self.parts).all(is_in_order) {
            return inconsistent(Inconsistency::Parts);
        }
        let mut weights = self.nodes.iter().map(|node| node.weight).chain(self.parts.iter().map(|part| part.weight));
        if weights.any(|weight| weight == 0) || self.parts.iter().any(|part| part.worker >= self.count) {
            return inconsistent(Inconsistency::Range);
        }
        if self.part_of.len() != flows || self.part_of.iter().any(|&part| part as usize >= self.parts.len()) {
            return inconsistent(Inconsistency::Flows);
        }
        let is_simple = |shape: ShapingContract| shape == ShapingContract { tolerance: shape.tolerance, ..simple(&shape) };
        if self.nodes.iter().skip(1).filter_map(|node| node.shape).any(|shape| !is_simple(shape)) {
            return inconsistent(Inconsistency::Contract);
        }
        Ok(())
    }

    /// True if this number of workers can share a rate: each needs a part of at least 100 kbit/s.
    pub fn can_share(rate: Rate, count: u32) -> bool {
        rate.bits_per_second() / u64::from(count) >= FLOOR_PARTS * Rate::MIN.bits_per_second()
    }
}

/// The rate and burst of a contract, and nothing else.
fn simple(shape: &ShapingContract) -> ShapingContract {
    ShapingContract::new(shape.rate, shape.burst, shape.longest_packet)
}
