//! The data of a scheduling tree: members, their parameters, and intermediate results.

use super::kept::Lack;
use crate::choice::SchedulerName;
use crate::diagnostic::{Diagnostic, Span};
use crate::document::{DwcsTable, IntServTable, MemberKeys};
use crate::guarantee::{Ceiling, Guarantee, LeastRate};
use crate::service::{Asked, NodeOptions};
use crate::slots::Slots;
use crate::value::{At, Block};
use tidegate_bounds::curve::Arrival;
use tidegate_core::dwcs::Request;
use tidegate_core::registry::SchedulerKind;
use tidegate_core::scheduler::{FlowParameters, Parameter, Profile, QueueOptions, ServiceClass};
use tidegate_core::shaper::ShapingContract;
use tidegate_core::units::{Duration, Overhead, Rate};

/// The keys of a member of the tree that the scheduler above reads.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    pub name: String,
    pub at: Span,
    /// The index of the group above; `None` is the link.
    pub parent: Option<usize>,
    pub priority: Option<At<u32>>,
    pub weight: Option<At<u32>>,
    pub rate: Option<At<Rate>>,
    pub delay: Option<At<Duration>>,
    pub asked: Asked,
    /// The service asked of `intserv`.
    pub class: Option<At<ServiceClass>>,
    pub tolerance: Option<At<Duration>>,
    pub profile: Option<At<Profile>>,
    /// The request in slots, if `dwcs` is the scheduler above.
    pub request: Option<Request>,
    pub shape: Option<ShapingContract>,
    /// The place of the shape's rate.
    pub shape_at: Option<Span>,
    /// True for the class `default` that the file does not mention.
    pub is_added: bool,
}

pub(super) const PARAMETERS: [Parameter; 8] = [
    Parameter::Priority,
    Parameter::Weight,
    Parameter::Rate,
    Parameter::Delay,
    Parameter::Service,
    Parameter::Class,
    Parameter::Tolerance,
    Parameter::Profile,
];

impl Given {
    /// Reads the table of a class or a group. The caller adds the parent and the shape's contract.
    pub fn of(keys: MemberKeys<'_>) -> Given {
        Given {
            name: keys.name.0.clone(),
            at: keys.name.span.clone(),
            parent: None,
            priority: keys.priority.as_ref().map(|at| At { value: at.value.0 as u32, span: at.span.clone() }),
            weight: keys.weight.as_ref().map(|at| At { value: at.value.0 as u32, span: at.span.clone() }),
            rate: keys.rate.clone(),
            delay: keys.delay.clone(),
            asked: Asked {
                service: keys.service.clone(),
                period: keys.period.clone(),
                late: keys.late.clone(),
                penalty: keys.penalty.clone(),
            },
            class: keys.service_class.as_ref().map(|at| At { value: at.value.0, span: at.span.clone() }),
            tolerance: keys.tolerance.clone(),
            profile: keys.profile.as_ref().map(|table| At {
                // What does not fit in 32 bits is too much for the scheduler, which says so.
                value: Profile { rate: table.rate.value, burst: u32::try_from(table.burst.value.0).unwrap_or(u32::MAX) },
                span: table.span.clone(),
            }),
            request: None,
            shape: None,
            shape_at: keys.shape.as_ref().map(|shape| shape.rate.span.clone()),
            is_added: false,
        }
    }

    pub(super) fn span(&self, parameter: Parameter) -> Option<Span> {
        match parameter {
            Parameter::Priority => self.priority.as_ref().map(|at| at.span.clone()),
            Parameter::Weight => self.weight.as_ref().map(|at| at.span.clone()),
            Parameter::Rate => self.rate.as_ref().map(|at| at.span.clone()),
            Parameter::Delay => self.delay.as_ref().map(|at| at.span.clone()),
            Parameter::Service => self.asked.service.as_ref().map(|at| at.span.clone()),
            Parameter::Class => self.class.as_ref().map(|at| at.span.clone()),
            Parameter::Tolerance => self.tolerance.as_ref().map(|at| at.span.clone()),
            Parameter::Profile => self.profile.as_ref().map(|at| at.span.clone()),
        }
    }

    /// The parameters that `kind` uses.
    pub fn parameters(&self, kind: SchedulerKind) -> FlowParameters {
        FlowParameters {
            priority: self.priority.as_ref().map(|at| at.value).filter(|_| uses(kind, Parameter::Priority)),
            weight: self.weight.as_ref().map(|at| at.value).filter(|_| uses(kind, Parameter::Weight)),
            rate: self.rate.as_ref().map(|at| at.value).filter(|_| uses(kind, Parameter::Rate)),
            delay: self.delay.as_ref().map(|at| at.value).filter(|_| uses(kind, Parameter::Delay)),
            shape: None,
            service: self.request.filter(|_| uses(kind, Parameter::Service)),
            class: self.class.as_ref().map(|at| at.value).filter(|_| uses(kind, Parameter::Class)),
            tolerance: self.tolerance.as_ref().map(|at| at.value).filter(|_| uses(kind, Parameter::Tolerance)),
            profile: self.profile.as_ref().map(|at| at.value).filter(|_| uses(kind, Parameter::Profile)),
        }
    }
}

pub(crate) fn uses(kind: SchedulerKind, parameter: Parameter) -> bool {
    kind.requires().contains(&parameter) || kind.accepts().contains(&parameter)
}

/// A scheduler and the place where it was chosen.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub kind: SchedulerKind,
    pub at: Option<Span>,
    pub options: NodeOptions,
}

impl Choice {
    /// The scheduler of a node with these keys; first in, first out without any.
    pub fn of(scheduler: &Option<At<SchedulerName>>, dwcs: &Option<Block<DwcsTable>>, intserv: &Option<Block<IntServTable>>) -> Choice {
        let options = NodeOptions::of(dwcs, intserv);
        match scheduler {
            Some(at) => Choice { kind: at.value.0, at: Some(at.span.clone()), options },
            None => Choice { kind: SchedulerKind::Fifo, at: None, options },
        }
    }
}

/// A class: its keys, its queues, and the scheduler among them.
#[derive(Clone, Debug)]
pub(crate) struct Leaf {
    pub given: Given,
    pub queues: u32,
    pub queue_scheduler: SchedulerKind,
    /// What that scheduler is told beside.
    pub options: QueueOptions,
    /// True if each queue is a place for a call: a member of the scheduler above by itself.
    pub places: bool,
    /// The most that its policer lets pass, if that discards.
    pub admits: Option<Arrival>,
    /// True if it has a policer that lets everything pass.
    pub marks: bool,
}

impl Leaf {
    /// True if its queues are children of a node of their own.
    pub fn has_node(&self) -> bool {
        self.queues > 1 && !self.places
    }
}

/// The tree before it is built.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    /// The rate of the link, with its place.
    pub(super) rate: At<Rate>,
    /// What the link adds to a frame.
    pub(super) overhead: Overhead,
    /// The longest frame with its overhead.
    pub(super) longest: u32,
    pub root: Choice,
    pub groups: Vec<(Given, Choice)>,
    pub classes: Vec<Leaf>,
    /// The groups, every parent before its children.
    pub(super) order: Vec<usize>,
    /// The children of each node; see [`slot`].
    pub(super) children: Vec<Vec<Member>>,
    /// The rate that each node shares, with its place.
    pub(super) shared: Vec<At<Rate>>,
    /// The streams of each node under `dwcs`, if its requests can be met.
    pub(super) slots: Vec<Option<Slots>>,
    /// The most that groups and classes send; `None` if unlimited.
    pub(super) group_ceilings: Vec<Option<Ceiling>>,
    pub(super) class_ceilings: Vec<Option<Ceiling>>,
    /// The part of the rate of the node above that each class has, guaranteed or not.
    pub(super) class_shares: Vec<Option<Rate>>,
    pub(super) group_guarantees: Vec<Guarantee>,
    pub(super) class_guarantees: Vec<Guarantee>,
    /// The rate that the scheduler above offers each group.
    pub(super) group_offers: Vec<Option<LeastRate>>,
    /// The shapes that do not pass on all that they might, and what they lack.
    pub(super) lacks: Vec<(Member, Lack)>,
    pub(super) starvations: Vec<Starvation>,
    /// The greatest common factor of the weights below each node.
    pub(super) common_factors: Vec<u32>,
}

/// A child of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Member {
    Group(usize),
    Class(usize),
}

/// The index of a node in tables of nodes: 0 for the link, then the groups.
pub(super) fn slot(node: Option<usize>) -> usize {
    node.map_or(0, |group| group + 1)
}

/// An unlimited member, and one of lower priority that may starve because of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Starvation {
    pub first: Member,
    pub starved: Member,
}

impl Tree {
    pub(super) fn given(&self, member: Member) -> &Given {
        match member {
            Member::Group(group) => &self.groups[group].0,
            Member::Class(class) => &self.classes[class].given,
        }
    }

    pub(super) fn scheduler(&self, node: Option<usize>) -> &Choice {
        node.map_or(&self.root, |group| &self.groups[group].1)
    }

    /// The parameters of a member for the scheduler above it.
    pub(super) fn parameters(&self, given: &Given) -> FlowParameters {
        let kind = self.scheduler(given.parent).kind;
        let mut parameters = given.parameters(kind);
        if kind == SchedulerKind::WeightedRoundRobin {
            let factor = self.common_factors[slot(given.parent)];
            parameters.weight = parameters.weight.map(|weight| weight / factor);
        }
        parameters
    }

    pub(super) fn name(&self, node: Option<usize>) -> String {
        node.map_or("the link".to_owned(), |group| format!("group `{}`", self.groups[group].0.name))
    }

    /// True if all classes are children of the link, without nodes of their own.
    pub(super) fn is_flat(&self) -> bool {
        self.groups.is_empty() && !self.classes.iter().any(Leaf::has_node)
    }

    /// The scheduler of a flat tree. Behind shapers, first in, first out is in the order of release.
    pub(super) fn flat_kind(&self) -> SchedulerKind {
        let is_shaped = self.classes.iter().any(|class| class.given.shape.is_some());
        if is_shaped && self.root.kind == SchedulerKind::Fifo { SchedulerKind::RateControlled } else { self.root.kind }
    }
}

pub(super) fn chosen(finding: Diagnostic, choice: &Choice) -> Diagnostic {
    match &choice.at {
        Some(at) if finding.span.as_ref() != Some(at) => finding.context(at.clone(), "chosen here"),
        _ => finding,
    }
}
