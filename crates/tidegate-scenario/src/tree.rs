//! The scheduling tree of a policy: who hangs below whom, what each is given, and the scheduler that results.

use crate::bounds::Slots;
use crate::diagnostic::{Diagnostic, Span, alternatives, closest};
use crate::document::{ClassTable, GroupTable};
use crate::guarantee::{Guarantee, LeastRate};
use crate::service::{Asked, NodeOptions};
use crate::units::print_rate;
use crate::value::{At, Block, Name};
use std::collections::HashMap;
use tidegate_core::dwcs::Request;
use tidegate_core::packet::Flow;
use tidegate_core::registry::{AnyScheduler, SchedulerKind};
use tidegate_core::scheduler::{
    BuildError, DwcsOptions, FlowParameters, Hierarchy, HierarchyError, LeafSpec, Member as Built, NodeSpec, Parameter, Setup,
};
use tidegate_core::shaper::{Shaped, ShapingContract};
use tidegate_core::units::{Duration, Rate};

mod guarantees;
mod remarks;
mod reservations;
mod slots;

pub(crate) use guarantees::Ceiling;
use guarantees::{Service, Starvation};

/// What a member of the tree is given to share with its neighbours.
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
    /// What is asked of `dwcs`, in slots, if that is the scheduler above.
    pub request: Option<Request>,
    pub shape: Option<ShapingContract>,
    /// Where the rate of the shape is written.
    pub shape_at: Option<Span>,
    /// True for the class `default` that the file does not mention.
    pub is_added: bool,
}

const PARAMETERS: [Parameter; 5] = [Parameter::Priority, Parameter::Weight, Parameter::Rate, Parameter::Delay, Parameter::Service];

impl Given {
    pub fn of_class(table: &ClassTable) -> Given {
        Given {
            name: table.name.0.clone(),
            at: table.name.span.clone(),
            parent: None,
            priority: table.priority.as_ref().map(|at| At { value: at.value.0 as u32, span: at.span.clone() }),
            weight: table.weight.as_ref().map(|at| At { value: at.value.0 as u32, span: at.span.clone() }),
            rate: table.rate.clone(),
            delay: table.delay.clone(),
            asked: Asked {
                service: table.service.clone(),
                period: table.period.clone(),
                late: table.late.clone(),
                penalty: table.penalty.clone(),
            },
            request: None,
            shape: None,
            shape_at: table.shape.as_ref().map(|shape| shape.rate.span.clone()),
            is_added: false,
        }
    }

    pub fn of_group(table: &GroupTable) -> Given {
        Given {
            name: table.name.0.clone(),
            at: table.name.span.clone(),
            parent: None,
            priority: table.priority.as_ref().map(|at| At { value: at.value.0 as u32, span: at.span.clone() }),
            weight: table.weight.as_ref().map(|at| At { value: at.value.0 as u32, span: at.span.clone() }),
            rate: table.rate.clone(),
            delay: table.delay.clone(),
            asked: Asked {
                service: table.service.clone(),
                period: table.period.clone(),
                late: table.late.clone(),
                penalty: table.penalty.clone(),
            },
            request: None,
            shape: None,
            shape_at: table.shape.as_ref().map(|shape| shape.rate.span.clone()),
            is_added: false,
        }
    }

    fn span(&self, parameter: Parameter) -> Option<Span> {
        match parameter {
            Parameter::Priority => self.priority.as_ref().map(|at| at.span.clone()),
            Parameter::Weight => self.weight.as_ref().map(|at| at.span.clone()),
            Parameter::Rate => self.rate.as_ref().map(|at| at.span.clone()),
            Parameter::Delay => self.delay.as_ref().map(|at| at.span.clone()),
            Parameter::Service => self.asked.service.as_ref().map(|at| at.span.clone()),
        }
    }

    /// What `kind` makes use of.
    pub fn parameters(&self, kind: SchedulerKind) -> FlowParameters {
        FlowParameters {
            priority: self.priority.as_ref().map(|at| at.value).filter(|_| uses(kind, Parameter::Priority)),
            weight: self.weight.as_ref().map(|at| at.value).filter(|_| uses(kind, Parameter::Weight)),
            rate: self.rate.as_ref().map(|at| at.value).filter(|_| uses(kind, Parameter::Rate)),
            delay: self.delay.as_ref().map(|at| at.value).filter(|_| uses(kind, Parameter::Delay)),
            shape: None,
            service: self.request.filter(|_| uses(kind, Parameter::Service)),
        }
    }
}

pub(crate) fn uses(kind: SchedulerKind, parameter: Parameter) -> bool {
    kind.requires().contains(&parameter) || kind.accepts().contains(&parameter)
}

/// A scheduler and where it was chosen.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub kind: SchedulerKind,
    pub at: Option<Span>,
    pub options: NodeOptions,
}

/// A class's place among the leaves: what it is given, its queues and who serves among them.
#[derive(Clone, Debug)]
pub(crate) struct Leaf {
    pub given: Given,
    pub queues: u32,
    pub queue_scheduler: SchedulerKind,
    /// The most that its policer lets pass, if that discards.
    pub admits: Option<Ceiling>,
    /// True if it has a policer that lets everything pass.
    pub marks: bool,
}

/// The tree before it is built.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    /// The rate that the root shares, and where it was written.
    rate: At<Rate>,
    /// The longest frame with its overhead.
    longest: u32,
    pub root: Choice,
    pub groups: Vec<(Given, Choice)>,
    pub classes: Vec<Leaf>,
    /// The groups, every parent before its children.
    order: Vec<usize>,
    /// The children of the root and, one further on, of every group.
    children: Vec<Vec<Member>>,
    /// The rate that the root and, one further on, every group shares, and where that was written.
    shared: Vec<At<Rate>>,
    /// What `dwcs` makes of the requests of the root's children and, one further on, of every group's, if it can meet them.
    slots: Vec<Option<Slots>>,
    /// The most that groups and classes send, if anything limits them.
    group_ceilings: Vec<Option<Ceiling>>,
    class_ceilings: Vec<Option<Ceiling>>,
    /// True for every group that may have to wait while it is backlogged, for a shape of its own or below it.
    held_groups: Vec<bool>,
    /// What the root and, one further on, every group is sure to get.
    services: Vec<Option<Service>>,
    group_guarantees: Vec<Guarantee>,
    class_guarantees: Vec<Guarantee>,
    /// What each group is offered by the scheduler above.
    group_offers: Vec<Option<LeastRate>>,
    starvations: Vec<Starvation>,
    /// What the weights below the root and, one further on, below every group have in common.
    common_factors: Vec<u32>,
}

/// A child of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Member {
    Group(usize),
    Class(usize),
}

/// Where tables hold what belongs to a node.
fn slot(node: Option<usize>) -> usize {
    node.map_or(0, |group| group + 1)
}

impl Tree {
    /// Puts the members together. There is no circle among the groups.
    pub fn new(rate: At<Rate>, longest: u32, root: Choice, groups: Vec<(Given, Choice)>, classes: Vec<Leaf>) -> Tree {
        let mut children = vec![Vec::new(); groups.len() + 1];
        for (index, (given, _)) in groups.iter().enumerate() {
            children[slot(given.parent)].push(Member::Group(index));
        }
        for (index, class) in classes.iter().enumerate() {
            children[slot(class.given.parent)].push(Member::Class(index));
        }
        // Breadth first from the root: every parent comes before its children.
        let groups_below = |node: Option<usize>| {
            children[slot(node)].iter().filter_map(|child| if let Member::Group(group) = child { Some(*group) } else { None })
        };
        let mut order: Vec<usize> = groups_below(None).collect();
        let mut visited = 0;
        while let Some(&group) = order.get(visited) {
            order.extend(groups_below(Some(group)));
            visited += 1;
        }
        let nodes = groups.len() + 1;
        let (shared, slots) = (vec![rate.clone(); nodes], vec![None; nodes]);
        let mut services = vec![None; nodes];
        services[0] = Some(Service { rate: LeastRate::whole(rate.value.bits_per_second()), latency: 0.0 });
        let none = Guarantee::None(String::new());
        let (group_guarantees, class_guarantees) = (vec![none.clone(); groups.len()], vec![none; classes.len()]);
        let mut tree = Tree {
            rate,
            longest,
            root,
            groups,
            classes,
            order,
            children,
            shared,
            slots,
            group_ceilings: Vec::new(),
            class_ceilings: Vec::new(),
            held_groups: Vec::new(),
            services,
            group_guarantees,
            class_guarantees,
            group_offers: Vec::new(),
            starvations: Vec::new(),
            common_factors: Vec::new(),
        };
        tree.common_factors = std::iter::once(None).chain((0..nodes - 1).map(Some)).map(|node| tree.common_factor(node)).collect();
        tree.group_offers = vec![None; tree.groups.len()];
        tree.limit();
        tree.share(None);
        for position in 0..tree.order.len() {
            tree.share(Some(tree.order[position]));
        }
        tree
    }

    /// Works out what the children of `node` are guaranteed, and what those that are groups share.
    fn share(&mut self, node: Option<usize>) {
        if self.scheduler(node).kind == SchedulerKind::Dwcs {
            self.request_slots(node);
        }
        let above = self.shared[slot(node)].clone();
        let guaranteed = self.guaranteed(node);
        for (position, (service, nominal)) in guaranteed.into_iter().enumerate() {
            let guarantee = match &service {
                Ok((service, None)) => Guarantee::Rate(service.rate),
                Ok((service, Some(reason))) => Guarantee::Less(service.rate, reason.clone()),
                Err(reason) => Guarantee::None(reason.clone()),
            };
            match self.children[slot(node)][position] {
                Member::Class(class) => self.class_guarantees[class] = guarantee,
                Member::Group(group) => {
                    let given = &self.groups[group].0;
                    let span = given.weight.as_ref().map_or(above.span.clone(), |weight| weight.span.clone());
                    // What a scheduler shares is at least 1 kbit/s, whatever is guaranteed.
                    let most = given.shape.map_or(above.value, |shape| shape.rate.min(above.value));
                    let inherited = nominal.map_or(most, |rate| Rate::new(rate.floor()).unwrap_or(Rate::MIN));
                    self.shared[slot(Some(group))] = given.rate.clone().unwrap_or(At { value: inherited, span });
                    self.group_guarantees[group] = guarantee;
                    self.group_offers[group] = nominal.filter(|_| self.services[slot(node)].is_some());
                    self.services[slot(Some(group))] = service.ok().map(|(service, _)| service);
                }
            }
        }
    }

    /// Reports whatever is wrong with parents, parameters and guarantees.
    pub fn judge(&self, findings: &mut Vec<Diagnostic>) {
        for node in std::iter::once(None).chain((0..self.groups.len()).map(Some)) {
            let children = &self.children[slot(node)];
            if let (Some(group), true) = (node, children.is_empty()) {
                let given = &self.groups[group].0;
                let finding =
                    Diagnostic::error(given.at.clone(), format!("group `{}` has no children, so it would never be served", given.name));
                findings.push(finding.help(format!("give a class or another group `parent = \"{}\"`, or remove the group", given.name)));
            }
            for &child in children {
                self.judge_parameters(node, child, findings);
            }
            self.judge_reservations(node, findings);
            self.remark_on_rounds(node, findings);
            self.remark_on_delays(node, findings);
            self.judge_slots(node, findings);
        }
        for (group, (given, _)) in self.groups.iter().enumerate() {
            if let (Some(rate), Some(share)) = (&given.rate, self.group_offers[group])
                && LeastRate::whole(rate.value.bits_per_second()) > share
                && !findings.iter().any(|finding| finding.span.as_ref() == Some(&rate.span))
            {
                let wanted = print_rate(rate.value);
                let problem = format!("group `{}` shares {wanted}, but is guaranteed {share}", given.name);
                findings.push(Diagnostic::warning(rate.span.clone(), problem).help("raise its weight, or lower its rate"));
            }
        }
    }

    fn given(&self, member: Member) -> &Given {
        match member {
            Member::Group(group) => &self.groups[group].0,
            Member::Class(class) => &self.classes[class].given,
        }
    }

    fn scheduler(&self, node: Option<usize>) -> &Choice {
        node.map_or(&self.root, |group| &self.groups[group].1)
    }

    /// What the scheduler above a member is told of it.
    fn parameters(&self, given: &Given) -> FlowParameters {
        let kind = self.scheduler(given.parent).kind;
        let mut parameters = given.parameters(kind);
        if kind == SchedulerKind::WeightedRoundRobin {
            let factor = self.common_factors[slot(given.parent)];
            parameters.weight = parameters.weight.map(|weight| weight / factor);
        }
        parameters
    }

    fn name(&self, node: Option<usize>) -> String {
        node.map_or("the link".to_owned(), |group| format!("group `{}`", self.groups[group].0.name))
    }

    fn judge_parameters(&self, node: Option<usize>, child: Member, findings: &mut Vec<Diagnostic>) {
        let (choice, given) = (self.scheduler(node), self.given(child));
        let kind = choice.kind;
        let role = if matches!(child, Member::Group(_)) { "group" } else { "class" };
        let is_dwcs = kind == SchedulerKind::Dwcs;
        if is_dwcs {
            let generic = [Parameter::Priority, Parameter::Weight].into_iter();
            let details: Vec<(&str, Span)> = generic
                .filter_map(|parameter| given.span(parameter).map(|span| (parameter.name(), span)))
                .chain(given.asked.details())
                .collect();
            given.asked.judge(&format!("{role} `{}`", given.name), &given.at, &details, findings);
            findings.extend(self.request(child, self.slot_time(node)).err());
        } else {
            for (key, span) in given.asked.details() {
                let problem = format!("`{key}` has no effect: {} shares by {}, which does not use it", self.name(node), kind.name());
                findings.push(chosen(Diagnostic::error(span, problem), choice).help("remove it, or choose scheduler = \"dwcs\""));
            }
        }
        for parameter in PARAMETERS {
            if is_dwcs && matches!(parameter, Parameter::Priority | Parameter::Weight) {
                continue;
            }
            let key = parameter.name();
            // A group's rate is also what its own children share.
            let is_yardstick = matches!(child, Member::Group(_)) && parameter == Parameter::Rate;
            match given.span(parameter) {
                Some(span) if !uses(kind, parameter) && !is_yardstick => {
                    let problem = format!("`{key}` has no effect: {} shares by {}, which does not use it", self.name(node), kind.name());
                    let others = SchedulerKind::ALL.iter().filter(|other| uses(**other, parameter)).map(|other| other.name());
                    let help = format!("remove it, or choose a scheduler that uses it: {}", alternatives(others));
                    findings.push(chosen(Diagnostic::error(span, problem), choice).help(help));
                }
                None if kind.requires().contains(&parameter) => {
                    let problem = format!("{role} `{}` lacks `{key}`, which {} needs of everything it serves", given.name, kind.name());
                    let help = format!("add `{key}` to it, or choose another scheduler for {}", self.name(node));
                    findings.push(chosen(Diagnostic::error(given.at.clone(), problem), choice).help(help));
                }
                _ => {}
            }
        }
    }

    /// What a class is guaranteed while it is backlogged.
    pub fn class_guarantee(&self, class: usize) -> &Guarantee {
        &self.class_guarantees[class]
    }

    /// The shapes that a class is under, its own first, and what each is called.
    pub fn limits_of_class(&self, class: usize) -> Vec<(At<Rate>, String)> {
        let class = &self.classes[class].given;
        let above = std::iter::successors(class.parent, |&group| self.groups[group].0.parent).map(|group| &self.groups[group].0);
        let limit = |given: &Given| {
            let at = At { value: given.shape?.rate, span: given.shape_at.clone()? };
            Some((at, format!("the rate that `{}` is shaped to", given.name)))
        };
        std::iter::once(class).chain(above).filter_map(limit).collect()
    }

    /// What a group is guaranteed while anything below it may be sent.
    pub fn group_guarantee(&self, group: usize) -> &Guarantee {
        &self.group_guarantees[group]
    }

    /// True if all classes hang below the link, with one queue each: the scheduler has no levels.
    fn is_flat(&self) -> bool {
        self.groups.is_empty() && self.classes.iter().all(|class| class.queues == 1)
    }

    /// The scheduler of a tree without levels. Behind shapers, first in, first out means in the order of release.
    fn flat_kind(&self) -> SchedulerKind {
        let is_shaped = self.classes.iter().any(|class| class.given.shape.is_some());
        if is_shaped && self.root.kind == SchedulerKind::Fifo { SchedulerKind::RateControlled } else { self.root.kind }
    }

    /// Builds the scheduler. To be called when nothing was wrong with the tree so far.
    ///
    /// # Errors
    /// What the schedulers themselves find wrong.
    pub fn build(&self) -> Result<AnyScheduler, Diagnostic> {
        if self.is_flat() { self.build_flat() } else { self.build_hierarchy() }
    }

    fn build_flat(&self) -> Result<AnyScheduler, Diagnostic> {
        let setup = Setup { dwcs: self.root.options.dwcs, ..Setup::new(self.rate.value, self.longest) };
        let contracts: Vec<Option<ShapingContract>> = self.classes.iter().map(|class| class.given.shape).collect();
        let kind = self.flat_kind();
        let parameters: Vec<FlowParameters> =
            self.classes.iter().map(|class| FlowParameters { shape: class.given.shape, ..self.parameters(&class.given) }).collect();
        let scheduler = kind.build(&setup, &parameters).map_err(|BuildError { flow, parameter, problem }| {
            self.refused(None, flow.map(|flow| Member::Class(flow.index())), parameter, problem)
        })?;
        if kind.shapes() || contracts.iter().all(Option::is_none) {
            return Ok(scheduler);
        }
        let shaped = Shaped::new(scheduler, &contracts);
        shaped
            .map(|shaped| AnyScheduler::Shaped(Box::new(shaped)))
            .map_err(|(flow, error)| Diagnostic::error(self.classes[flow.index()].given.at.clone(), format!("`shape`: {error}")))
    }

    fn build_hierarchy(&self) -> Result<AnyScheduler, Diagnostic> {
        let place: HashMap<usize, usize> = self.order.iter().enumerate().map(|(position, &group)| (group, position + 1)).collect();
        let index_of = |node: Option<usize>| node.map_or(0, |group| place[&group]);
        let mut nodes = vec![NodeSpec {
            parent: None,
            scheduler: self.root.kind,
            rate: self.rate.value,
            dwcs: self.root.options.dwcs,
            parameters: FlowParameters::default(),
            shape: None,
        }];
        let mut members = vec![None];
        for &group in &self.order {
            let (given, choice) = &self.groups[group];
            nodes.push(NodeSpec {
                parent: Some(index_of(given.parent)),
                scheduler: choice.kind,
                rate: self.shared[slot(Some(group))].value,
                dwcs: choice.options.dwcs,
                parameters: self.parameters(given),
                shape: given.shape,
            });
            members.push(Some(Member::Group(group)));
        }
        let mut leaves = Vec::new();
        let mut class_of_flow = Vec::new();
        for (index, class) in self.classes.iter().enumerate() {
            let parent = index_of(class.given.parent);
            let parameters = self.parameters(&class.given);
            let mut leaf = LeafSpec { parent, parameters, shape: class.given.shape };
            if class.queues > 1 {
                let rate = self.rate_of_queues(index);
                let (scheduler, dwcs) = (class.queue_scheduler, DwcsOptions::default());
                nodes.push(NodeSpec { parent: Some(parent), scheduler, rate, dwcs, parameters, shape: class.given.shape });
                members.push(Some(Member::Class(index)));
                leaf = LeafSpec { parent: nodes.len() - 1, parameters: FlowParameters::default(), shape: None };
            }
            leaves.resize(leaves.len() + class.queues as usize, leaf);
            class_of_flow.resize(leaves.len(), index);
        }
        let member_of = |built: Built| match built {
            Built::Node(node) => members[node],
            Built::Leaf(Flow(flow)) => Some(Member::Class(class_of_flow[flow as usize])),
        };
        let hierarchy = Hierarchy::build(self.longest, &nodes, &leaves).map_err(|error| match error {
            HierarchyError::Parameters { node, child, parameter, problem } => match members[node] {
                Some(Member::Class(class)) => {
                    let given = &self.classes[class].given;
                    Diagnostic::error(given.at.clone(), format!("the queues of class `{}`: `{}`: {problem}", given.name, parameter.name()))
                }
                Some(Member::Group(group)) => self.refused(Some(group), child.and_then(member_of), parameter, problem),
                None => self.refused(None, child.and_then(member_of), parameter, problem),
            },
            HierarchyError::Shape(built, error) => {
                let at = member_of(built).map_or(self.rate.span.clone(), |member| self.given(member).at.clone());
                Diagnostic::error(at, format!("`shape`: {error}"))
            }
            other => Diagnostic::error(self.rate.span.clone(), format!("the scheduling tree: {other}")),
        })?;
        Ok(AnyScheduler::Hierarchy(Box::new(hierarchy)))
    }

    fn refused(&self, node: Option<usize>, child: Option<Member>, parameter: Parameter, problem: &str) -> Diagnostic {
        let choice = self.scheduler(node);
        let (name, key) = (choice.kind.name(), parameter.name());
        let finding = match child.map(|child| self.given(child)) {
            Some(given) if given.is_added => {
                let problem =
                    format!("nothing of the link is left for the class `{}`, which is added for packets that no rule matches", given.name);
                Diagnostic::error(given.at.clone(), problem)
                    .help("lower the guarantees, or give the last class no `match`, so that it takes those packets")
            }
            Some(given) => {
                let at = given.span(parameter).unwrap_or(given.at.clone());
                let finding = Diagnostic::error(at, format!("`{}`: `{key}` under {name}: {problem}", given.name));
                if parameter == Parameter::Service {
                    finding.help("let the windows beside it tolerate more, or lengthen periods")
                } else {
                    finding
                }
            }
            None => {
                let at = choice.at.clone().unwrap_or(self.rate.span.clone());
                Diagnostic::error(at, format!("`{key}` of what {} serves by {name}: {problem}", self.name(node)))
            }
        };
        chosen(finding, choice)
    }
}

fn chosen(finding: Diagnostic, choice: &Choice) -> Diagnostic {
    match &choice.at {
        Some(at) if finding.span.as_ref() != Some(at) => finding.context(at.clone(), "chosen here"),
        _ => finding,
    }
}

/// The parents of groups and classes, by index.
pub(crate) struct Parents {
    pub of_groups: Vec<Option<usize>>,
    pub of_classes: Vec<Option<usize>>,
}

/// Finds every parent by name. Reports unknown names and circles; after a circle there is no tree to go on with.
pub(crate) fn find_parents(groups: &[Block<GroupTable>], classes: &[Block<ClassTable>], findings: &mut Vec<Diagnostic>) -> Option<Parents> {
    // Of two groups of one name, which is reported elsewhere, the first.
    let by_name: HashMap<&str, usize> = groups.iter().enumerate().rev().map(|(index, group)| (group.name.0.as_str(), index)).collect();
    let mut find = |parent: &Option<At<Name>>| {
        let parent = parent.as_ref()?;
        let found = by_name.get(parent.0.as_str()).copied();
        if found.is_none() {
            let finding = Diagnostic::error(parent.span.clone(), format!("there is no group `{}`", parent.0));
            let names = groups.iter().map(|group| group.name.0.as_str());
            findings.push(match closest(&parent.0, names.clone()) {
                Some(name) => finding.help(format!("did you mean `{name}`?")),
                None if groups.is_empty() => {
                    finding.help("declare it with [[policy.NAME.group]], or remove `parent` to hang it below the link")
                }
                None => finding.help(format!("groups of this policy: {}", alternatives(names))),
            });
        }
        found
    };
    let of_groups: Vec<Option<usize>> = groups.iter().map(|group| find(&group.parent)).collect();
    let of_classes = classes.iter().map(|class| find(&class.parent)).collect();
    // Every group is followed upwards until a group that is known to end at the link.
    let mut ends = vec![false; groups.len()];
    for start in 0..groups.len() {
        let mut path = Vec::new();
        let mut at = Some(start);
        while let Some(group) = at.filter(|&group| !ends[group]) {
            if path.contains(&group) {
                let place = groups[group].parent.as_ref().map_or(groups[group].span.clone(), |parent| parent.span.clone());
                let finding = Diagnostic::error(place, format!("group `{}` hangs below itself", groups[group].name.0));
                findings.push(finding.help("one of the groups in this circle has to hang below the link, without `parent`"));
                return None;
            }
            path.push(group);
            at = of_groups[group];
        }
        for group in path {
            ends[group] = true;
        }
    }
    Some(Parents { of_groups, of_classes })
}
