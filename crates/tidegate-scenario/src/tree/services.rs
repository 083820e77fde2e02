//! What the members of a node ask of shaped virtual clocks, alone and in the port of integrated services.

use super::members::{Given, Member, Tree, chosen, slot};
use crate::diagnostic::{Diagnostic, Span};
use tidegate_core::registry::SchedulerKind;
use tidegate_core::scheduler::{Marks, Parameter, ServiceClass};

impl Tree {
    /// Reports options and keys without effect, and services without a rate or a profile that they need.
    pub(super) fn judge_services(&self, node: Option<usize>, findings: &mut Vec<Diagnostic>) {
        let choice = self.scheduler(node);
        let (kind, options) = (choice.kind, &choice.options);
        let mut refuse = |at: &Span, problem: String, help: &str| {
            findings.push(chosen(Diagnostic::error(at.clone(), problem), choice).help(help.to_owned()));
        };
        let name = self.name(node);
        match (&options.intserv_at, &options.intserv_only, kind) {
            (None, ..) | (Some(_), _, SchedulerKind::IntegratedServices) | (Some(_), None, SchedulerKind::ShapedVirtualClock) => {}
            (Some(_), Some((key, at)), SchedulerKind::ShapedVirtualClock) => {
                refuse(
                    at,
                    format!("`{key}` has no effect: {name} shares by svc, which uses `stamp` only"),
                    "remove it, or set scheduler = \"intserv\"",
                );
            }
            (Some(at), ..) => {
                let help = "remove it, or set scheduler = \"intserv\"";
                refuse(at, format!("`intserv` has no effect: {name} shares by {}", kind.name()), help);
            }
        }
        if kind != SchedulerKind::IntegratedServices {
            return;
        }
        for &child in &self.children[slot(node)] {
            let given = self.given(child);
            let class = given.class.as_ref().map_or(ServiceClass::default(), |at| at.value);
            if class == ServiceClass::BestEffort {
                // The rate of a group is also what its children share.
                let is_group = matches!(child, Member::Group(_));
                for parameter in [Parameter::Rate, Parameter::Tolerance, Parameter::Profile] {
                    if let (Some(at), false) = (given.span(parameter), is_group && parameter == Parameter::Rate) {
                        let problem = format!("`{}` has no effect: `{}` gets best effort", parameter.name(), given.name);
                        refuse(&at, problem, "remove it, or add service_class = \"controlled-load\" or \"guaranteed\"");
                    }
                }
            } else if given.rate.is_none() {
                let problem = format!("`{}` lacks `rate`, which {} service needs", given.name, class.name());
                refuse(&given.at, problem, "add the rate that it reserves");
            } else {
                match (options.intserv.marks, &given.profile) {
                    (Marks::Early, Some(profile)) => {
                        let problem = format!("`profile` of `{}` has no effect: packets are marked if they leave early", given.name);
                        refuse(&profile.span, problem, "remove it, or set intserv = { marks = \"profile\" }");
                    }
                    (Marks::Profile, None) => {
                        let problem = format!("`{}` lacks `profile`, by which packets are marked", given.name);
                        refuse(&given.at, problem, "add the token bucket that it has declared");
                    }
                    _ => {}
                }
            }
        }
    }

    /// Reports places that the scheduler above cannot serve, and keys beside them that contradict admission.
    pub(super) fn judge_places(&self, node: Option<usize>, findings: &mut Vec<Diagnostic>) {
        let choice = self.scheduler(node);
        let children = &self.children[slot(node)];
        let places = children.iter().find(|&&child| self.has_places(child)).map(|&child| self.given(child));
        let Some(places) = places else { return };
        if choice.kind != SchedulerKind::IntegratedServices {
            let problem = format!("`{}` has places for calls, and {} shares by {}", places.name, self.name(node), choice.kind.name());
            let finding = Diagnostic::error(places.at.clone(), problem);
            findings.push(chosen(finding, choice).help("set scheduler = \"intserv\", or write `queues` in place of `places`"));
            return;
        }
        for given in children.iter().map(|&child| self.given(child)) {
            let at = given.span(Parameter::Class).or(given.span(Parameter::Rate)).or(given.shape_at.clone());
            if let Some(at) = at.filter(|_| given.class.as_ref().is_none_or(|class| class.value != ServiceClass::BestEffort)) {
                let problem = format!(
                    "`{}` has a rate of its own, of which the admission to the places of `{}` does not know",
                    given.name, places.name
                );
                let finding = Diagnostic::error(at, problem).context(places.at.clone(), "the places");
                findings.push(finding.help("remove it; a flow that is always there can be a call with arrivals = \"permanent\""));
            }
        }
    }

    /// True if the scheduler marks packets of this class that leave out of profile.
    pub fn is_marked(&self, class: usize) -> bool {
        let serves = |given: &Given| self.scheduler(given.parent).kind == SchedulerKind::IntegratedServices;
        let asks = |given: &Given| given.class.as_ref().is_some_and(|class| class.value != ServiceClass::BestEffort);
        let class = &self.classes[class];
        let above = std::iter::successors(class.given.parent, |&group| self.groups[group].0.parent).map(|group| &self.groups[group].0);
        class.places || std::iter::once(&class.given).chain(above).any(|given| serves(given) && asks(given))
    }

    fn has_places(&self, child: Member) -> bool {
        matches!(child, Member::Class(class) if self.classes[class].places)
    }
}
