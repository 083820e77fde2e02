//! Converts the requests of nodes under `dwcs` to slots, judges whether they can be met, and collects the bounds of all nodes.

use super::members::{Leaf, Member, Tree, chosen, slot};
use crate::choice::Admission;
use crate::diagnostic::Diagnostic;
use crate::guarantee::{Guarantee, LeastRate};
use crate::slots::{MemberBounds, NodeBounds, Slots, print_part};
use tidegate_core::dwcs::{Request, Utilisation, Verdict, resolve};
use tidegate_core::registry::SchedulerKind;
use tidegate_core::scheduler::{DwcsOptions, Parameter, Setup};
use tidegate_core::units::{Duration, Rate};

impl Tree {
    /// Converts the requests of the children of a node under `dwcs` to slots and streams.
    pub(super) fn request_slots(&mut self, node: Option<usize>) {
        let dwcs = self.scheduler(node).options.dwcs;
        let slot_time = self.slot_time(node);
        let children = self.children[slot(node)].clone();
        // Invalid requests are reported when the node is judged.
        let requests: Vec<Request> = children.iter().map(|&child| self.request(child, slot_time).unwrap_or_default()).collect();
        for (&child, &request) in children.iter().zip(&requests) {
            match child {
                Member::Class(class) => self.classes[class].given.request = Some(request),
                Member::Group(group) => self.groups[group].0.request = Some(request),
            }
        }
        self.slots[slot(node)] = resolve(&requests).ok().map(|streams| Slots::new(slot_time, dwcs, streams));
    }

    /// The time of the longest packet at the rate that `node` shares.
    pub(super) fn slot_time(&self, node: Option<usize>) -> Duration {
        Setup::new(self.shared[slot(node)].value, self.longest).slot()
    }

    pub(super) fn request(&self, child: Member, slot_time: Duration) -> Result<Request, Diagnostic> {
        let given = self.given(child);
        let weight = given.weight.as_ref().map_or(1, |weight| weight.value);
        let priority = given.priority.as_ref().map_or(0, |priority| priority.value);
        given.asked.request(weight, priority, slot_time)
    }

    /// Reports options without effect, and sets of windows and deadlines that cannot be kept.
    pub(super) fn judge_slots(&self, node: Option<usize>, findings: &mut Vec<Diagnostic>) {
        let choice = self.scheduler(node);
        let options = &choice.options;
        if let (Some(at), false) = (&options.at, choice.kind == SchedulerKind::Dwcs) {
            let problem = format!("`dwcs` has no effect: {} shares by {}", self.name(node), choice.kind.name());
            findings.push(chosen(Diagnostic::error(at.clone(), problem), choice).help("remove it, or set scheduler = \"dwcs\""));
        }
        let Some(slots) = self.slots[slot(node)].as_ref().filter(|slots| slots.feasibility.verdict == Verdict::Overloaded) else { return };
        let mut sum = Utilisation::ZERO;
        let first = self.children[slot(node)].iter().zip(&slots.streams).find(|(_, stream)| {
            sum = sum.plus(stream.utilisation());
            !sum.fits()
        });
        let Some(given) = first.map(|(child, _)| self.given(*child)) else { return };
        let at = given.span(Parameter::Service).unwrap_or(given.at.clone());
        let needed = print_part(slots.feasibility.utilisation);
        let problem = format!("windows and deadlines below {} need {needed} of its slots, so that some will be missed", self.name(node));
        let finding = match options.admission {
            Admission::Warn => Diagnostic::warning(at, problem)
                .help("tolerate more, lengthen periods, or raise the rate; dwcs = { admission = \"refuse\" } makes this an error"),
            Admission::Refuse => {
                let finding = Diagnostic::error(at, problem).help("tolerate more, lengthen periods, or raise the rate");
                match &options.admission_at {
                    Some(at) => finding.context(at.clone(), "refused, as is asked for here"),
                    None => finding,
                }
            }
        };
        findings.push(finding.label("the first that does not fit"));
    }

    /// The bounds of the link, of every group, and of every class whose queues share slots.
    pub fn bounds(&self) -> Vec<NodeBounds> {
        let nodes = std::iter::once(None).chain((0..self.groups.len()).map(Some));
        let mut bounds: Vec<NodeBounds> = nodes.map(|node| self.node_bounds(node)).collect();
        let shares_slots = |class: &&Leaf| class.has_node() && class.queue_scheduler == SchedulerKind::Dwcs;
        bounds.extend(self.classes.iter().enumerate().filter(|(_, class)| shares_slots(class)).map(|(index, class)| {
            let rate = self.rate_of_queues(index);
            let request = Request::default();
            let mut slots = resolve(&vec![request; class.queues as usize])
                .ok()
                .map(|streams| Slots::new(Setup::new(rate, self.longest).slot(), DwcsOptions::default(), streams));
            // All queues are equal, so one is enough.
            slots.iter_mut().for_each(|slots| slots.streams.truncate(1));
            let name = format!("each of {} queues", class.queues);
            let guarantee = of_queue(self.class_guarantees[index].rate(), slots.as_ref());
            let members = vec![MemberBounds { name, request: Some(request), guarantee }];
            NodeBounds {
                name: format!("class `{}`", class.given.name),
                scheduler: SchedulerKind::Dwcs,
                rate,
                guaranteed: self.class_guarantees[index].rate(),
                is_link: false,
                slots,
                members,
            }
        }));
        bounds
    }

    fn node_bounds(&self, node: Option<usize>) -> NodeBounds {
        let members = self.children[slot(node)].iter().map(|&child| {
            let guarantee = match child {
                Member::Class(class) => self.class_guarantees[class].clone(),
                Member::Group(group) => self.group_guarantees[group].clone(),
            };
            let given = self.given(child);
            MemberBounds { name: given.name.clone(), request: given.request, guarantee }
        });
        let name = node.map_or("link".to_owned(), |group| format!("group `{}`", self.groups[group].0.name));
        let (scheduler, rate) = (self.scheduler(node).kind, self.shared[slot(node)].value);
        let guaranteed = match node {
            None => Some(LeastRate::whole(rate.bits_per_second())),
            Some(group) => self.group_guarantees[group].rate(),
        };
        let slots = self.slots[slot(node)].clone();
        NodeBounds { name, scheduler, rate, guaranteed, is_link: node.is_none(), slots, members: members.collect() }
    }

    /// The rate that the queues of a class share.
    pub(super) fn rate_of_queues(&self, class: usize) -> Rate {
        let shared = self.shared[slot(self.classes[class].given.parent)].value;
        self.class_shares[class].unwrap_or(shared)
    }
}

/// The guarantee of each queue of a class whose queues share `slots`.
fn of_queue(rate: Option<LeastRate>, slots: Option<&Slots>) -> Guarantee {
    let part = || {
        let rate = rate.ok_or("the class has none")?;
        let slots = slots.ok_or("its request cannot be met")?;
        slots.keeps_rates()?;
        let part = slots.streams[0].least_service().ok_or("its window tolerates every loss")?;
        rate.part(part.ticks, part.of).ok_or("its share is less than 1 bit/s")
    };
    part().map_or_else(|reason: &str| Guarantee::None(reason.to_owned()), Guarantee::Rate)
}
