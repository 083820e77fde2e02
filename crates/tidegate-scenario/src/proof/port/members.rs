//! The members of a scheduling tree, one by one: their traffic, and what the schedulers above are given of them.

use super::traffic::{Traffic, kept_rate};
use crate::contract::Bursts;
use crate::slots::Slots;
use crate::tree::Parts;
use std::collections::HashSet;
use tidegate_bounds::aggregate::Aggregate;
use tidegate_bounds::curve::Arrival;
use tidegate_bounds::quantity::{NoBound, PICOBITS, times, up};
use tidegate_bounds::service::{Child, Node, Windows};
use tidegate_bounds::source;
use tidegate_core::dwcs::{Early, resolve};
use tidegate_core::packet::Flow;
use tidegate_core::registry::SchedulerKind;
use tidegate_core::scheduler::{FlowParameters, LeafSpec, Member as Built, NodeSpec, OutOfProfile, Setup, Shares, Stamping};
use tidegate_core::shaper::{Bucket, ShapingContract};
use tidegate_core::units::Rate;

/// A child of a node.
#[derive(Clone, Copy, Debug)]
pub(super) enum Below {
    Node(usize),
    Leaf(usize),
}

/// The members of a port's scheduling tree.
pub(crate) struct Members<'a> {
    pub(super) parts: &'a Parts,
    pub(super) traffic: &'a Traffic<'a>,
    /// The children of each node.
    pub(super) below: Vec<Vec<Below>>,
    /// The number of each leaf among the queues of its class.
    queue_of_leaf: Vec<u32>,
    /// The longest frame on this wire, in bits.
    pub(super) longest: u64,
}

impl<'a> Members<'a> {
    pub(crate) fn of(parts: &'a Parts, traffic: &'a Traffic<'a>) -> Members<'a> {
        let mut below = vec![Vec::new(); parts.nodes()];
        for index in 0..parts.nodes() {
            parts.node(index).parent.into_iter().for_each(|parent| below[parent].push(Below::Node(index)));
        }
        (0..parts.leaves()).for_each(|index| below[parts.leaf(index).parent].push(Below::Leaf(index)));
        let mut count = vec![0; parts.places.len()];
        let number = |&class: &u32| {
            count[class as usize] += 1;
            count[class as usize] - 1
        };
        let queue_of_leaf = parts.class_of_leaf.iter().map(number).collect();
        let longest = 8 * u64::from(parts.longest);
        Members { parts, traffic, below, queue_of_leaf, longest }
    }

    /// The children of a node.
    pub(crate) fn children(&self, node: usize) -> Vec<Built> {
        let child = |below: &Below| match *below {
            Below::Node(node) => Built::Node(node),
            Below::Leaf(leaf) => Built::Leaf(Flow(leaf as u32)),
        };
        self.below[node].iter().map(child).collect()
    }

    /// The longest frame on this wire, in bits.
    pub(crate) fn longest(&self) -> u64 {
        self.longest
    }

    /// The place among the children of the link of a class with one queue.
    pub(crate) fn position_of(&self, class: usize) -> Option<usize> {
        self.below[0].iter().position(|member| matches!(*member, Below::Leaf(leaf) if self.parts.class(leaf) == class))
    }

    pub(super) fn node(&self, node: usize) -> NodeSpec {
        self.parts.node(node)
    }

    pub(super) fn leaf(&self, leaf: usize) -> LeafSpec {
        self.parts.leaf(leaf)
    }

    /// The leaves below a member, or the leaf itself.
    pub(super) fn leaves_below(&self, member: Below) -> Vec<usize> {
        match member {
            Below::Leaf(leaf) => vec![leaf],
            Below::Node(node) => self.below[node].iter().flat_map(|&child| self.leaves_below(child)).collect(),
        }
    }

    pub(super) fn shape(&self, member: Below) -> Option<ShapingContract> {
        match member {
            Below::Node(node) => self.node(node).shape,
            Below::Leaf(leaf) => self.leaf(leaf).shape,
        }
    }

    pub(super) fn parameters(&self, member: Below) -> &FlowParameters {
        match member {
            Below::Node(node) => self.parts.parameters_of_node(node),
            Below::Leaf(leaf) => self.parts.parameters_of_leaf(leaf),
        }
    }

    fn class_and_queue(&self, leaf: usize) -> (usize, u32) {
        (self.parts.class(leaf), self.queue_of_leaf[leaf])
    }

    /// The queue of a leaf, if it is in use.
    pub(super) fn number(&self, leaf: usize) -> Option<usize> {
        let (class, queue) = self.class_and_queue(leaf);
        (self.traffic.number)(class, queue)
    }

    /// The queues in use below a member, each once.
    pub(super) fn numbers(&self, member: Below) -> Vec<usize> {
        let mut seen = HashSet::new();
        let numbers = self.leaves_below(member).into_iter().filter_map(|leaf| self.number(leaf));
        numbers.filter(|&number| seen.insert(number)).collect()
    }

    /// What comes to a queue.
    pub(super) fn arrival(&self, leaf: usize) -> Result<Arrival, NoBound> {
        let (class, queue) = self.class_and_queue(leaf);
        (self.traffic.arrival)(class, queue)
    }

    /// True if a node serves its queues in one order of arrival: those of classes that nothing holds back one by one.
    pub(super) fn is_one_queue(&self, node: usize) -> bool {
        let is_plain = |child: &Below| match *child {
            Below::Node(_) => false,
            Below::Leaf(leaf) => self.leaf(leaf).shape.is_none() && !self.is_place(leaf),
        };
        self.node(node).scheduler == SchedulerKind::Fifo && self.below[node].iter().all(is_plain)
    }

    fn is_place(&self, leaf: usize) -> bool {
        self.parts.places[self.parts.class(leaf)]
    }

    /// True if the scheduler of a node keeps the contracts of its children itself: a port of one node, without a shaper around it.
    pub(super) fn keeps_contracts(&self, node: usize) -> bool {
        self.parts.nodes() == 1 && self.node(node).scheduler.shapes()
    }

    /// True if the scheduler of a node holds packets back on its own.
    pub(super) fn waits(&self, node: usize) -> bool {
        let NodeSpec { scheduler, dwcs, intserv, .. } = self.node(node);
        match scheduler {
            SchedulerKind::Dwcs => dwcs.rules.early == Early::Hold,
            SchedulerKind::IntegratedServices => intserv.out_of_profile_weight == 0,
            kind => kind == SchedulerKind::ShapedVirtualClock,
        }
    }

    /// True if a member may have packets and not be ready to send.
    pub(super) fn is_held(&self, member: Below) -> bool {
        self.shape(member).is_some()
            || matches!(member, Below::Node(node) if self.waits(node) || self.below[node].iter().any(|&child| self.is_held(child)))
    }

    /// What a member sends in any interval in which it need not wait for the scheduler above.
    pub(super) fn sends(&self, member: Below) -> Result<Arrival, NoBound> {
        let mut sum = Aggregate::default();
        self.add_to(&mut sum, &mut HashSet::new(), member)?;
        if sum.is_empty() { Ok(Arrival::token_bucket(0, 0)) } else { sum.as_arrival() }
    }

    fn add_to(&self, sum: &mut Aggregate, seen: &mut HashSet<usize>, member: Below) -> Result<(), NoBound> {
        if let Some(contract) = self.shape(member) {
            return sum.add(&passes(&contract)?);
        }
        match member {
            Below::Node(node) if self.waits(node) => Err(NoBound::Because("its scheduler holds packets, which then leave together")),
            Below::Node(node) => self.below[node].iter().try_for_each(|&child| self.add_to(sum, seen, child)),
            Below::Leaf(leaf) => {
                let (class, queue) = self.class_and_queue(leaf);
                match (self.traffic.number)(class, queue) {
                    Some(number) if seen.insert(number) => sum.add(&self.arrival(leaf)?),
                    _ => Ok(()),
                }
            }
        }
    }

    /// The shortest frame below a member on this wire, in bytes.
    pub(super) fn shortest(&self, member: Below) -> u32 {
        let lengths = |leaf: usize| {
            let (class, queue) = self.class_and_queue(leaf);
            (self.traffic.lengths)(class, queue).map(|lengths| lengths.0)
        };
        self.parts.overhead.wire_length(self.leaves_below(member).into_iter().filter_map(lengths).min().unwrap_or(1))
    }

    /// The longest frame of a leaf on this wire, in bits.
    pub(super) fn longest_of_leaf(&self, leaf: usize) -> u64 {
        let (class, queue) = self.class_and_queue(leaf);
        let lengths = (self.traffic.lengths)(class, queue);
        lengths.map_or(self.longest, |lengths| 8 * u64::from(self.parts.overhead.wire_length(lengths.1)))
    }

    /// A shape's rate as its arithmetic keeps it.
    pub(super) fn kept(&self, rate: Rate, member: Below) -> u64 {
        kept_rate(rate, self.shortest(member))
    }

    /// What the scheduler of a node is given of itself and of its children.
    pub(crate) fn node_of(&self, number: usize) -> Node {
        let spec = self.node(number);
        let children = self.below[number].iter().map(|&member| self.child(member)).collect();
        let mut node = Node::new(spec.scheduler, spec.rate.bits_per_second(), children);
        node.longest = self.longest;
        node.is_literal = spec.intserv.stamp == Stamping::Literal;
        node.charges_early = spec.intserv.out_of_profile == OutOfProfile::Charge;
        let below = &self.below[number];
        match spec.scheduler {
            SchedulerKind::Wf2qPlus | SchedulerKind::QuickFair | SchedulerKind::SelfClocked => self.share_rates(&spec, below, &mut node),
            SchedulerKind::DeficitRoundRobin => self.set_quanta(below, &mut node),
            SchedulerKind::Dwcs => self.set_windows(&spec, below, &mut node),
            SchedulerKind::RateControlled => {
                for (&member, child) in below.iter().zip(&mut node.children) {
                    child.contract = child.arrival.clone().ok();
                    if let Below::Leaf(leaf) = member {
                        child.arrival = self.arrival(leaf);
                    }
                }
            }
            SchedulerKind::Fifo => {
                // Its order is not theirs: they count as of one priority, of which any may go first.
                node.kind = SchedulerKind::StrictPriority;
                node.children.iter_mut().for_each(|child| child.shortest = 0);
            }
            _ => {}
        }
        node
    }

    pub(super) fn child(&self, member: Below) -> Child {
        let given = self.parameters(member);
        let rate = given.rate.map_or(0, Rate::bits_per_second);
        let tolerance = given.tolerance.map_or(0, |tolerance| tolerance.picoseconds());
        let early = times(rate.into(), tolerance.into()).map_or(u64::MAX, |early| u64::try_from(up(early, PICOBITS)).unwrap_or(u64::MAX));
        Child {
            shortest: 8 * u64::from(self.shortest(member)),
            arrival: self.sends(member),
            rate,
            weight: given.weight.unwrap_or(1).into(),
            priority: given.priority.unwrap_or(0),
            delay: given.delay.map(|delay| delay.picoseconds().into()),
            class: given.class.unwrap_or_default(),
            early,
            resumes: self.is_held(member),
            ..Child::new(self.longest)
        }
    }

    /// Reserved rates, and the rest by weight, as the schedulers divide it.
    fn share_rates(&self, spec: &NodeSpec, below: &[Below], node: &mut Node) {
        let given: Vec<&FlowParameters> = below.iter().map(|&member| self.parameters(member)).collect();
        let reserved = given.iter().filter_map(|given| given.rate).fold(0u64, |sum, rate| sum.saturating_add(rate.bits_per_second()));
        let left = u128::from(spec.rate.bits_per_second().saturating_sub(reserved));
        let weight = |given: &FlowParameters| u128::from(given.weight.unwrap_or(1));
        let weights: u128 = given.iter().filter(|given| given.rate.is_none()).map(|given| weight(given)).sum();
        for (given, child) in given.iter().zip(&mut node.children) {
            if given.rate.is_none() {
                child.rate = (left * weight(given) / weights.max(1)) as u64;
            }
        }
    }

    /// The flow of the least weight has the longest packet, the others in proportion.
    fn set_quanta(&self, below: &[Below], node: &mut Node) {
        let weight = |member: Below| u64::from(self.parameters(member).weight.unwrap_or(1));
        let least = below.iter().map(|&member| weight(member)).min().unwrap_or(1).max(1);
        for (&member, child) in below.iter().zip(&mut node.children) {
            let quantum = u128::from(self.longest) * u128::from(weight(member));
            child.quantum = u64::try_from(quantum / u128::from(least)).unwrap_or(u64::MAX);
            child.has_fraction = quantum % u128::from(least) > 0;
        }
    }

    /// The windows that all requests together become.
    fn set_windows(&self, spec: &NodeSpec, below: &[Below], node: &mut Node) {
        let Some(slots) = self.slots(spec, below) else { return };
        for (stream, child) in slots.streams.iter().zip(&mut node.children) {
            child.window = stream.least_service().and_then(|part| {
                let of = u64::try_from(part.of).ok()?;
                Some((of - part.ticks, of))
            });
        }
        let overdraws = spec.dwcs.shares == Shares::Bytes;
        node.windows = Windows { is_kept: slots.keeps_rates().is_ok(), slot: self.longest, overdraws };
    }

    fn slots(&self, spec: &NodeSpec, below: &[Below]) -> Option<Slots> {
        let requests: Vec<_> = below.iter().map(|&member| self.parameters(member).service.unwrap_or_default()).collect();
        let slot = Setup::new(spec.rate, (self.longest / 8) as u32).slot();
        resolve(&requests).ok().map(|streams| Slots::new(slot, spec.dwcs, streams))
    }

    /// Why nothing below a node has a bound, if so.
    pub(super) fn unproven(&self, number: usize) -> Option<NoBound> {
        let (spec, below) = (self.node(number), &self.below[number]);
        let because = |reason| Some(NoBound::Because(reason));
        if below.iter().any(|&member| matches!(member, Below::Leaf(leaf) if self.is_place(leaf))) {
            return because("its neighbours are calls, whose rates change with them");
        }
        match spec.scheduler {
            SchedulerKind::Dwcs => match self.slots(&spec, below).map(|slots| slots.keeps_rates()) {
                Some(Ok(())) => None,
                Some(Err(reason)) => because(reason),
                None => because("its request cannot be met"),
            },
            SchedulerKind::RateControlled if !self.keeps_contracts(number) => because("rate-controlled service in a tree has no contracts"),
            SchedulerKind::EarliestDeadlineFirst if below.iter().any(|&member| self.is_held(member)) => {
                because("what a shape holds back is due before it is released")
            }
            _ => None,
        }
    }
}

/// What a shape lets pass.
pub(super) fn passes(contract: &ShapingContract) -> Result<Arrival, NoBound> {
    let (rate, burst) = (contract.rate.bits_per_second(), 8 * u64::from(Bursts::of_shape(contract).depth));
    match contract.peak {
        Some(peak) => {
            let longest = 8 * u64::from(contract.longest_packet);
            source::dual_contract(rate, burst, peak.bits_per_second(), longest, contract.tolerance)
        }
        None => source::contract(rate, burst, contract.tolerance),
    }
}

/// True if a shape pauses after a burst until its bucket is full.
pub(super) fn pauses(contract: &ShapingContract) -> bool {
    contract.bucket == Bucket::Dual && contract.burst > contract.longest_packet
}
