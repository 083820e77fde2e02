//! The service that a class or a group requests from `dwcs`: judged, and converted to slots.

use crate::choice::{Admission, LateName};
use crate::diagnostic::{Diagnostic, Span, alternatives};
use crate::document::{DwcsTable, IntServTable};
use crate::units::{Period, print_duration};
use crate::value::{At, Block, Whole};
use tidegate_core::dwcs::{Request, Rules, Service, Window};
use tidegate_core::scheduler::{DwcsOptions, IntServOptions};
use tidegate_core::units::Duration;

pub mod name;

use name::{NAMES, ServiceName};

/// The keys of a requested service, without `weight` and `priority`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    pub service: Option<At<ServiceName>>,
    pub period: Option<At<Period>>,
    pub late: Option<At<LateName>>,
    pub penalty: Option<At<Whole<0, 4_294_967_295>>>,
}

impl Asked {
    /// The requested service; a fair share by default.
    pub fn service(&self) -> ServiceName {
        self.service.as_ref().map_or(ServiceName::FairShare, |at| at.value)
    }

    /// The other given keys, with their places.
    pub fn details(&self) -> impl Iterator<Item = (&'static str, Span)> {
        let period = self.period.as_ref().map(|at| ("period", at.span.clone()));
        let late = self.late.as_ref().map(|at| ("late", at.span.clone()));
        let penalty = self.penalty.as_ref().map(|at| ("penalty", at.span.clone()));
        [period, late, penalty].into_iter().flatten()
    }

    /// Reports `given` keys that the service does not use, and required keys that are missing. `member` names the class or group, at `at`.
    pub fn judge(&self, member: &str, at: &Span, given: &[(&'static str, Span)], findings: &mut Vec<Diagnostic>) {
        let service = self.service();
        let chosen = |finding: Diagnostic| match &self.service {
            Some(service) => finding.context(service.span.clone(), "chosen here"),
            None => finding,
        };
        for (key, span) in given.iter().filter(|(key, _)| !service.keys().contains(key)) {
            let others = NAMES.map(|entry| entry.1).into_iter().chain([ServiceName::Window(Window::NONE)]);
            let fitting = alternatives(others.filter(|other| other.keys().contains(key)).map(ServiceName::name));
            let (problem, help) = match self.service {
                Some(_) => (
                    format!("`{key}` has no effect: service `{}` does not use it", service.name()),
                    format!("remove it, or choose a service that uses it: {fitting}"),
                ),
                None => (
                    format!("`{key}` has no effect: {member} asks for no `service` and gets a fair share, which does not use it"),
                    format!("remove it, or add a `service` that uses it: {fitting}"),
                ),
            };
            findings.push(chosen(Diagnostic::error(span.clone(), problem).help(help)));
        }
        if let (ServiceName::EarliestDeadline, Some(service), None) = (service, &self.service, &self.period) {
            let finding = service.error(format!("{member} lacks `period`, the time between two of its deadlines"));
            findings.push(finding.help("add one, in slots or as a duration: period = \"4 slots\"").context(at.clone(), "here"));
        }
    }

    /// The request, in slots of this length.
    ///
    /// # Errors
    /// The period is too short or too long.
    pub fn request(&self, weight: u32, priority: u32, slot: Duration) -> Result<Request, Diagnostic> {
        let service = match self.service() {
            ServiceName::EarliestDeadline => Service::EarliestDeadline,
            ServiceName::StaticPriority => Service::StaticPriority(priority),
            ServiceName::FairShare => Service::FairShare(weight),
            ServiceName::Window(window) => Service::Window(window),
        };
        let period = match &self.period {
            None => 1,
            Some(At { value: Period::Slots(slots), .. }) => *slots,
            // Rounded down, so that no deadline comes later than given.
            Some(At { value: Period::Time(time), span }) => match time.picoseconds() / slot.picoseconds().max(1) {
                0 => {
                    let (time, slot) = (print_duration(*time), print_duration(slot));
                    let problem =
                        format!("a period of {time} is shorter than a slot of {slot}, the time of the longest frame on what is shared");
                    return Err(
                        Diagnostic::error(span.clone(), problem).help("write \"1 slot\" or more, raise the rate or lower `longest_frame`")
                    );
                }
                slots => slots,
            },
        };
        let penalty = self.penalty.as_ref().map(|at| at.value.0 as u32);
        Ok(Request { service, period, penalty, droppable: self.late.as_ref().is_some_and(|at| at.value.0) })
    }
}

/// The options of a node whose scheduler is `dwcs`, `intserv` or `svc`.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeOptions {
    pub dwcs: DwcsOptions,
    pub admission: Admission,
    /// The place of the table.
    pub at: Option<Span>,
    /// The place of `admission`.
    pub admission_at: Option<Span>,
    pub intserv: IntServOptions,
    /// The place of the table `intserv`.
    pub intserv_at: Option<Span>,
    /// The first of its keys that `svc` does not use.
    pub intserv_only: Option<(&'static str, Span)>,
}

impl NodeOptions {
    pub fn of(dwcs: &Option<Block<DwcsTable>>, intserv: &Option<Block<IntServTable>>) -> NodeOptions {
        let mut options = NodeOptions::of_dwcs(dwcs);
        let Some(table) = intserv else { return options };
        let usual = IntServOptions::default();
        options.intserv = IntServOptions {
            stamp: table.stamp.as_ref().map_or(usual.stamp, |at| at.value.0),
            out_of_profile: table.out_of_profile.as_ref().map_or(usual.out_of_profile, |at| at.value.0),
            marks: table.marks.as_ref().map_or(usual.marks, |at| at.value.0),
            out_of_profile_weight: table.out_of_profile_weight.as_ref().map_or(usual.out_of_profile_weight, |at| at.value.0 as u32),
            best_effort_weight: table.best_effort_weight.as_ref().map_or(usual.best_effort_weight, |at| at.value.0 as u32),
        };
        options.intserv_at = Some(table.span.clone());
        let only = [
            table.out_of_profile.as_ref().map(|at| ("out_of_profile", at.span.clone())),
            table.marks.as_ref().map(|at| ("marks", at.span.clone())),
            table.out_of_profile_weight.as_ref().map(|at| ("out_of_profile_weight", at.span.clone())),
            table.best_effort_weight.as_ref().map(|at| ("best_effort_weight", at.span.clone())),
        ];
        options.intserv_only = only.into_iter().flatten().next();
        options
    }

    fn of_dwcs(table: &Option<Block<DwcsTable>>) -> NodeOptions {
        let Some(table) = table else { return NodeOptions::default() };
        let usual = DwcsOptions::default();
        let missed = table.deadline.as_ref().map_or(usual.rules.missed, |at| at.value.0);
        let early = table.early.as_ref().map_or(usual.rules.early, |at| at.value.0);
        NodeOptions {
            dwcs: DwcsOptions { rules: Rules { missed, early }, shares: table.shares.as_ref().map_or(usual.shares, |at| at.value.0) },
            admission: table.admission.as_ref().map_or(Admission::default(), |at| at.value),
            at: Some(table.span.clone()),
            admission_at: table.admission.as_ref().map(|at| at.span.clone()),
            ..NodeOptions::default()
        }
    }
}

#[cfg(test)]
mod tests;
