//! Builds the scheduling tree of a policy: members, parameters and guarantees.

use crate::diagnostic::{Diagnostic, Span, alternatives};
use crate::guarantee::{Guarantee, LeastRate};
use crate::units::print_rate;
use crate::value::At;
use tidegate_core::registry::SchedulerKind;
use tidegate_core::scheduler::{BuildError, HierarchyError, Member as Built, Parameter};
use tidegate_core::units::{Overhead, Rate};

mod ceilings;
mod kept;
mod members;
mod parents;
mod parts;
mod rates;
mod remarks;
mod reservations;
mod services;
mod shares;
mod slots;

pub(crate) use members::{Choice, Given, Leaf, Member, Tree, uses};
use members::{PARAMETERS, chosen, slot};
pub(crate) use parents::find_parents;
pub(crate) use parts::{Parts, Refused};

impl Tree {
    /// Builds the tree of members whose parents form no circle.
    pub fn new(rate: At<Rate>, overhead: Overhead, longest: u32, root: Choice, groups: Vec<(Given, Choice)>, classes: Vec<Leaf>) -> Tree {
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
        let none = Guarantee::None(String::new());
        let (group_guarantees, class_guarantees, class_shares) =
            (vec![none.clone(); groups.len()], vec![none; classes.len()], vec![None; classes.len()]);
        let mut tree = Tree {
            rate,
            overhead,
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
            class_shares,
            group_guarantees,
            class_guarantees,
            group_offers: Vec::new(),
            lacks: Vec::new(),
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
        tree.guarantee();
        tree
    }

    /// Reports errors in parents, parameters and guarantees.
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
            self.judge_services(node, findings);
            self.judge_places(node, findings);
        }
        self.remark_on_bursts(findings);
        for (group, (given, _)) in self.groups.iter().enumerate() {
            if let (Some(rate), Some(share)) = (&given.rate, self.group_offers[group])
                && LeastRate::whole(rate.value.bits_per_second()) > share
                && !findings.iter().any(|finding| finding.span.as_ref() == Some(&rate.span))
            {
                let wanted = print_rate(rate.value);
                let problem = format!("group `{}` shares {wanted}, but is guaranteed {share}", given.name);
                findings.push(rate.warning(problem).help("raise its weight, or lower its rate"));
            }
        }
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
            // A group's rate is also the rate that its children share.
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

    /// The guarantee of a class while it is backlogged.
    pub fn class_guarantee(&self, class: usize) -> &Guarantee {
        &self.class_guarantees[class]
    }

    /// The rates of the shapes above a class, its own first, with descriptions.
    pub fn limits_of_class(&self, class: usize) -> Vec<(At<Rate>, String)> {
        let class = &self.classes[class].given;
        let above = std::iter::successors(class.parent, |&group| self.groups[group].0.parent).map(|group| &self.groups[group].0);
        let limit = |given: &Given| {
            let at = At { value: given.shape?.rate, span: given.shape_at.clone()? };
            Some((at, format!("the rate that `{}` is shaped to", given.name)))
        };
        std::iter::once(class).chain(above).filter_map(limit).collect()
    }

    /// The rate at which a class can be served: that of the innermost shape above its queues, or the link's.
    pub fn rate_of_class(&self, class: usize) -> Rate {
        let class = &self.classes[class].given;
        class.shape.map_or_else(|| self.rate_of_node(class.parent), |shape| shape.rate)
    }

    /// The same for what is below a group; `None` is the link.
    pub fn rate_of_node(&self, node: Option<usize>) -> Rate {
        let nodes = std::iter::successors(node, |&group| self.groups[group].0.parent);
        nodes.filter_map(|group| self.groups[group].0.shape).next().map_or(self.rate.value, |shape| shape.rate)
    }

    /// The guarantee of a group while anything below it may be sent.
    pub fn group_guarantee(&self, group: usize) -> &Guarantee {
        &self.group_guarantees[group]
    }

    /// What a scheduler refuses of the parts of a tree without errors.
    pub fn refused_parts(&self, parts: &Parts, refused: Refused) -> Diagnostic {
        let member_of = |built: Built| match built {
            Built::Node(node) => parts.members[node],
            Built::Leaf(leaf) => Some(Member::Class(parts.class(leaf.index()))),
        };
        match refused {
            Refused::Flat(BuildError { flow, parameter, problem }) => {
                self.refused(None, flow.and_then(|flow| member_of(Built::Leaf(flow))), parameter, problem)
            }
            Refused::Shape(flow, error) => {
                let given = &self.classes[parts.class(flow.index())].given;
                Diagnostic::error(given.at.clone(), format!("`shape`: {error}"))
            }
            Refused::Tree(HierarchyError::Parameters { node, child, parameter, problem }) => match parts.members[node] {
                Some(Member::Class(class)) => {
                    let given = &self.classes[class].given;
                    Diagnostic::error(given.at.clone(), format!("the queues of class `{}`: `{}`: {problem}", given.name, parameter.name()))
                }
                Some(Member::Group(group)) => self.refused(Some(group), child.and_then(member_of), parameter, problem),
                None => self.refused(None, child.and_then(member_of), parameter, problem),
            },
            Refused::Tree(HierarchyError::Shape(built, error)) => {
                let at = member_of(built).map_or(self.rate.span.clone(), |member| self.given(member).at.clone());
                Diagnostic::error(at, format!("`shape`: {error}"))
            }
            Refused::Tree(other) => self.rate.error(format!("the scheduling tree: {other}")),
        }
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
