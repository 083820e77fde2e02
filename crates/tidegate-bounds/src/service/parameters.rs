//! What a scheduler is given of its children, and what a child is guaranteed: the types of [`super::row`].

use crate::aggregate::Aggregate;
use crate::curve::{Arrival, Service};
use crate::quantity::{NoBound, Picoseconds};
use tidegate_core::registry::SchedulerKind;
use tidegate_core::scheduler::ServiceClass;

/// One child of a scheduler: a queue, a class or a group. Fields that its scheduler does not use are ignored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Child {
    /// Its longest packet on this wire, in bits.
    pub longest: u64,
    /// Its shortest packet on this wire, in bits.
    pub shortest: u64,
    /// What all its traffic sends, or why that is unknown.
    pub arrival: Result<Arrival, NoBound>,
    /// Its guaranteed rate in bit/s, for fair queueing and virtual clocks: with weights, the rate that the scheduler computes of them.
    pub rate: u64,
    /// Packets per turn, for weighted round robin.
    pub weight: u64,
    /// Bits per turn, for deficit round robin.
    pub quantum: u64,
    /// True if a fraction of a bit was cut off its quantum.
    pub has_fraction: bool,
    /// Its rank, for strict priority and rate control; 0 goes first.
    pub priority: u32,
    /// The largest delay to the start of transmission, for earliest deadline first.
    pub delay: Option<Picoseconds>,
    /// Losses tolerated, and deadlines, of its window; for DWCS.
    pub window: Option<(u64, u64)>,
    /// The contract that rate control shapes it to.
    pub contract: Option<Arrival>,
    /// Its service at an integrated services node.
    pub class: ServiceClass,
    /// How much more than one packet may become eligible at once, in bits, for integrated services: rate times tolerance.
    pub early: u64,
    /// True if a shape inside suspends it, so that it may have saved up one turn of a round robin.
    pub resumes: bool,
}

impl Child {
    /// A child with packets of one length in bits, of which nothing else is known.
    pub const fn new(length: u64) -> Child {
        Child {
            longest: length,
            shortest: length,
            arrival: Err(NoBound::Because("nothing limits it")),
            rate: 0,
            weight: 1,
            quantum: 0,
            has_fraction: false,
            priority: 0,
            delay: None,
            window: None,
            contract: None,
            class: ServiceClass::BestEffort,
            early: 0,
            resumes: false,
        }
    }
}

/// What the children of a node share.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    /// The scheduler.
    pub kind: SchedulerKind,
    /// The rate that its children's rates are parts of, in bit/s: that of the link or of the group.
    pub rate: u64,
    /// The longest packet of the port on this wire, in bits. A packet of any other child may be in transmission.
    pub longest: u64,
    /// For DWCS.
    pub windows: Windows,
    /// True for shaped virtual clocks with stamps as printed, under which a late flow loses its lateness.
    pub is_literal: bool,
    /// True for integrated services that charge a packet which leaves early: a flow that used idle capacity starves afterwards.
    pub charges_early: bool,
    /// The children.
    pub children: Vec<Child>,
}

/// What [`Node`] knows of its windows.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Windows {
    /// True if all windows are kept, whenever packets come.
    pub is_kept: bool,
    /// The bits of one slot.
    pub slot: u64,
    /// True if a slot's last packet may overdraw it: shares in bytes.
    pub overdraws: bool,
}

impl Node {
    /// A node whose children share a link or group of `rate` bit/s; its longest packet is the longest of the children.
    pub fn new(kind: SchedulerKind, rate: u64, children: Vec<Child>) -> Node {
        let longest = children.iter().map(|child| child.longest).max().unwrap_or(0);
        Node { kind, rate, longest, windows: Windows::default(), is_literal: false, charges_early: false, children }
    }

    /// True if two children surely have the same row: their terms are equal, and no row of the scheduler depends on arrivals.
    pub fn has_same_row(&self, one: usize, other: usize) -> bool {
        // Of any other scheduler each row is computed by itself.
        let isolates = matches!(
            self.kind,
            SchedulerKind::WeightedRoundRobin
                | SchedulerKind::DeficitRoundRobin
                | SchedulerKind::Wf2qPlus
                | SchedulerKind::QuickFair
                | SchedulerKind::SelfClocked
                | SchedulerKind::VirtualClock
                | SchedulerKind::ShapedVirtualClock
                | SchedulerKind::IntegratedServices
                | SchedulerKind::Dwcs
        );
        // Only turns of packets depend on the shortest one.
        let counts_packets = self.kind == SchedulerKind::WeightedRoundRobin;
        let terms = |child: &Child| {
            let shortest = if counts_packets { child.shortest } else { 0 };
            let Child { longest, rate, weight, quantum, has_fraction, window, class, early, resumes, .. } = *child;
            (longest, shortest, (rate, weight, quantum, has_fraction), window, class, early, resumes)
        };
        isolates && terms(&self.children[one]) == terms(&self.children[other])
    }
}

/// Rows of the children of one node that have been computed. A row costs a look at all children: thousands of children of a few kinds take a few.
#[derive(Clone, Debug, Default)]
pub struct KnownRows(Vec<(usize, Row)>);

impl KnownRows {
    /// The most rows that are kept: the latest.
    const MOST: usize = 64;

    /// The row of a child: that of one before that surely has the same, or what `compute` says.
    pub fn row(&mut self, node: &Node, child: usize, compute: impl FnOnce() -> Row) -> Row {
        if let Some((_, row)) = self.0.iter().find(|(other, _)| node.has_same_row(child, *other)) {
            return row.clone();
        }
        let row = compute();
        if self.0.len() == KnownRows::MOST {
            self.0.remove(0);
        }
        self.0.push((child, row.clone()));
        row
    }
}

/// What a child is guaranteed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// The curve for the delay of whole packets: `h(alpha, curve)`; it holds for the first-in first-out traffic of this child.
    pub guaranteed: Result<Service, NoBound>,
    /// The curve that holds in every interval of a backlogged period.
    pub strict: Result<Service, NoBound>,
    /// A bound on the delay that comes from no curve.
    pub delay: Option<Result<Picoseconds, NoBound>>,
}

impl Row {
    /// A row of one reason.
    pub(super) fn none(reason: NoBound) -> Row {
        Row { guaranteed: Err(reason.clone()), strict: Err(reason), delay: None }
    }

    /// A row in which one curve is both.
    pub(super) fn both(curve: Result<Service, NoBound>) -> Row {
        Row { guaranteed: curve.clone(), strict: curve, delay: None }
    }

    /// The least bound on the delay of traffic of this curve, which is all that the child sends.
    ///
    /// # Errors
    /// Why no bound holds: the reason of the guaranteed rate.
    pub fn delay_of(&self, arrival: &Arrival) -> Result<Picoseconds, NoBound> {
        let sum = Aggregate::of([arrival])?;
        let of_curve = |curve: &Result<Service, NoBound>| curve.clone().and_then(|curve| sum.delay(&curve));
        let all = [self.delay.clone().unwrap_or(Err(NoBound::OutOfRange)), of_curve(&self.guaranteed), of_curve(&self.strict)];
        match all.iter().flatten().min() {
            Some(&least) => Ok(least),
            None if self.delay.is_some() => all.into_iter().next().unwrap_or(Err(NoBound::OutOfRange)),
            None => of_curve(&self.guaranteed),
        }
    }

    /// The curve with more of a rate, or else with less latency: what nodes below and end-to-end methods build on.
    pub fn best(&self) -> Result<&Service, &NoBound> {
        self.guaranteed.as_ref().or(self.strict.as_ref())
    }
}
