//! The service that a class or a group asks of the scheduler `dwcs`: read, judged, and turned into slots.

use crate::choice::{Admission, LateName};
use crate::diagnostic::{Diagnostic, Span, alternatives};
use crate::document::DwcsTable;
use crate::units::{Period, pattern, print_duration};
use crate::value::{At, Block, Leaf, Scalar, Whole, expect_text, one_of};
use serde_json::{Value, json};
use tidegate_core::dwcs::{Request, Rules, Service, Window};
use tidegate_core::scheduler::DwcsOptions;
use tidegate_core::units::Duration;

/// A service by its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ServiceName {
    /// Earliest deadline first.
    EarliestDeadline,
    /// Static priority.
    StaticPriority,
    /// A share by weight.
    FairShare,
    /// A window constraint.
    Window(Window),
}

const NAMES: [(&str, ServiceName); 3] =
    [("edf", ServiceName::EarliestDeadline), ("static-priority", ServiceName::StaticPriority), ("fair-share", ServiceName::FairShare)];

impl ServiceName {
    /// The name in files, without the figures of a window.
    pub fn name(self) -> &'static str {
        match self {
            ServiceName::Window(_) => "window",
            named => NAMES.iter().find(|entry| entry.1 == named).map_or("fair-share", |entry| entry.0),
        }
    }

    /// The keys that say more about it.
    fn keys(self) -> &'static [&'static str] {
        match self {
            ServiceName::EarliestDeadline | ServiceName::Window(_) => &["period", "late", "penalty"],
            ServiceName::StaticPriority => &["priority"],
            ServiceName::FairShare => &["weight", "penalty"],
        }
    }
}

impl Leaf for ServiceName {
    const NAME: &'static str = "service";
    fn schema() -> Value {
        let meanings = json!({
            "edf": "earliest deadline first: one slot per `period`, and no missed deadline is tolerated",
            "static-priority": "before all other services, by `priority`",
            "fair-share": "a share, by `weight`, of what windows and deadlines leave over",
            "window 1 of 4": "one slot per `period`; of every 4 deadlines, counted window by window, at most 1 is missed",
        });
        let names = NAMES.map(|entry| entry.0);
        json!({ "anyOf": [{ "enum": names }, { "type": "string", "pattern": pattern::WINDOW }], crate::choice::MEANINGS: meanings })
    }
    fn read(scalar: &Scalar<'_>) -> Result<ServiceName, String> {
        let text = expect_text(scalar, "\"edf\", \"static-priority\", \"fair-share\" or a window like \"window 1 of 4\"")?;
        match text.trim().strip_prefix("window") {
            Some(figures) => window(figures).map(ServiceName::Window),
            None => one_of(scalar, "a service", &NAMES).map_err(|problem| problem + ", or a window like `window 1 of 4`"),
        }
    }
}

/// Reads the "1 of 4" of a window.
fn window(figures: &str) -> Result<Window, String> {
    let figure = |text: &str| text.trim().parse::<u32>().ok();
    let read = figures.split_once(" of ").and_then(|(tolerated, deadlines)| figure(tolerated).zip(figure(deadlines)));
    match read {
        None => Err("a window is written like \"window 1 of 4\": of every 4 deadlines at most 1 is missed".to_owned()),
        Some((_, 0)) => Err("a window has at least 1 deadline, like \"window 0 of 1\"; for deadlines alone write \"edf\"".to_owned()),
        Some((tolerated, deadlines)) if tolerated > deadlines => {
            Err(format!("of {deadlines} deadlines {tolerated} cannot be missed; write \"window x of y\" with x at most y"))
        }
        Some((tolerated, deadlines)) => Ok(Window::new(tolerated, deadlines)),
    }
}

/// What a class or a group says about its service, other than `weight` and `priority`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    pub service: Option<At<ServiceName>>,
    pub period: Option<At<Period>>,
    pub late: Option<At<LateName>>,
    pub penalty: Option<At<Whole<0, 4_294_967_295>>>,
}

impl Asked {
    /// What it asks for; a fair share if it does not say.
    pub fn service(&self) -> ServiceName {
        self.service.as_ref().map_or(ServiceName::FairShare, |at| at.value)
    }

    /// The keys that are given besides `service`, and where.
    pub fn details(&self) -> impl Iterator<Item = (&'static str, Span)> {
        let period = self.period.as_ref().map(|at| ("period", at.span.clone()));
        let late = self.late.as_ref().map(|at| ("late", at.span.clone()));
        let penalty = self.penalty.as_ref().map(|at| ("penalty", at.span.clone()));
        [period, late, penalty].into_iter().flatten()
    }

    /// Reports which of the `given` keys do not go with the service, and what it lacks. `who` is the class or the group, at `at`.
    pub fn judge(&self, who: &str, at: &Span, given: &[(&'static str, Span)], findings: &mut Vec<Diagnostic>) {
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
                    format!("`{key}` has no effect: {who} asks for no `service` and gets a fair share, which does not use it"),
                    format!("remove it, or add a `service` that uses it: {fitting}"),
                ),
            };
            findings.push(chosen(Diagnostic::error(span.clone(), problem).help(help)));
        }
        if let (ServiceName::EarliestDeadline, Some(service), None) = (service, &self.service, &self.period) {
            let finding = Diagnostic::error(service.span.clone(), format!("{who} lacks `period`, the time between two of its deadlines"));
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
            // Rounded down: a deadline promised in time comes no later.
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

/// How a node goes about it, if its scheduler is `dwcs`.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeOptions {
    pub dwcs: DwcsOptions,
    pub admission: Admission,
    /// Where the table stands.
    pub at: Option<Span>,
    /// Where `admission` stands.
    pub admission_at: Option<Span>,
}

impl NodeOptions {
    pub fn of(table: &Option<Block<DwcsTable>>) -> NodeOptions {
        let Some(table) = table else { return NodeOptions::default() };
        let usual = DwcsOptions::default();
        let missed = table.deadline.as_ref().map_or(usual.rules.missed, |at| at.value.0);
        let early = table.early.as_ref().map_or(usual.rules.early, |at| at.value.0);
        NodeOptions {
            dwcs: DwcsOptions { rules: Rules { missed, early }, shares: table.shares.as_ref().map_or(usual.shares, |at| at.value.0) },
            admission: table.admission.as_ref().map_or(Admission::default(), |at| at.value),
            at: Some(table.span.clone()),
            admission_at: table.admission.as_ref().map(|at| at.span.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &'static str) -> Result<ServiceName, String> {
        ServiceName::read(&Scalar::Text(text.into()))
    }

    #[test]
    fn services_are_names_or_windows() {
        assert_eq!(read("edf"), Ok(ServiceName::EarliestDeadline));
        assert_eq!(read("window 2 of 8"), Ok(ServiceName::Window(Window::new(2, 8))));
        assert_eq!(read(" window  0 of  255 "), Ok(ServiceName::Window(Window::new(0, 255))));
        assert!(read("fair_share").unwrap_err().contains("did you mean `fair-share`?"));
        for wrong in ["window", "window 2", "window 2/8", "window 2 of", "window -1 of 2", "window 1 of 4294967296", "window 1of2"] {
            assert!(read(wrong).unwrap_err().contains("is written like"), "{wrong}");
        }
        assert!(read("window 3 of 2").unwrap_err().contains("cannot be missed"));
        assert!(read("window 0 of 0").unwrap_err().contains("at least 1 deadline"));
        assert!(read("wfq").unwrap_err().ends_with("or a window like `window 1 of 4`"));
    }

    #[test]
    fn periods_in_time_are_rounded_down_to_slots() {
        let asked = |period| Asked { period: Some(At { value: period, span: 0..1 }), ..Asked::default() };
        let slot = Duration::from_microseconds(1214);
        let slots = |period| asked(period).request(1, 0, slot).map(|request| request.period);
        assert_eq!(slots(Period::Time(Duration::from_milliseconds(20))), Ok(16));
        assert_eq!(slots(Period::Time(slot)), Ok(1));
        assert_eq!(slots(Period::Slots(7)), Ok(7));
        let refused = slots(Period::Time(Duration::from_milliseconds(1))).unwrap_err();
        assert!(refused.problem.contains("1 ms is shorter than a slot of 1.214 ms"), "{}", refused.problem);
    }
}
