//! Divides a policy among workers, or says why it cannot be divided.

use super::Policy;
use super::workers::WorkerPlan;
use crate::diagnostic::Diagnostic;
use crate::document::PolicyTable;
use crate::units::{print_duration, print_rate};
use crate::value::Block;
use tidegate_core::exchange::{Exchange, ExchangeError, assign};
use tidegate_core::registry::SchedulerKind;
use tidegate_core::units::{Duration, Time};

/// How often the rates of workers are set anew, unless the file says so.
const USUAL_EXCHANGE: Duration = Duration::from_microseconds(150);

impl Policy {
    /// The member of each flow of the port's classifier, under a plan of this policy.
    pub fn members_of_flows(&self, plan: &WorkerPlan) -> Vec<u32> {
        self.classifier().classes_of_flows().iter().map(|&class| plan.member_of[class as usize]).collect()
    }

    /// The workers that its table asks for. `None` for one, or if it reports an error.
    pub(super) fn divided(&self, table: &Block<PolicyTable>, findings: &mut Vec<Diagnostic>) -> Option<WorkerPlan> {
        let at = match &table.workers {
            Some(at) if at.value.0 > 1 => at,
            _ => {
                findings.extend(table.exchange_every.as_ref().map(|at| {
                    at.error("`exchange_every` has no effect: one worker has the whole link").help("remove it, or add `workers`")
                }));
                return None;
            }
        };
        let count = at.value.0 as u32;
        if let Some((problem, help)) = obstacle(self) {
            let scheduler = table.scheduler.as_ref().filter(|_| !shares_bytes(self.scheduler));
            let finding = match scheduler {
                Some(named) => named.error(problem).context(at.span.clone(), "several workers are asked for here"),
                None => at.error(problem),
            };
            findings.push(finding.help(help));
            return None;
        }
        let groups = self.groups.iter().filter(|group| group.parent.is_none()).map(|group| &group.parameters);
        let classes = self.classes.iter().filter(|class| class.parent.is_none()).map(|class| &*class.parameters);
        let weights: Vec<u32> = groups.chain(classes).map(|parameters| parameters.weight.unwrap_or(1)).collect();
        if weights.len() < count as usize {
            let problem = format!("{count} workers, and {} classes and groups directly below the link", weights.len());
            findings.push(at.error(problem).help("a class or group belongs to one worker: lower `workers`"));
            return None;
        }
        let exchange_every = table.exchange_every.as_ref().map_or(USUAL_EXCHANGE, |at| at.value);
        let longest = self.overhead.wire_length(self.longest_frame);
        if let Err(error) = Exchange::new(Time::ZERO, self.rate, count as usize, exchange_every, longest) {
            findings.push(match (error, &table.exchange_every) {
                (ExchangeError::Interval(_), Some(every)) => every
                    .error(format!("workers cannot exchange their rates every {}", print_duration(exchange_every)))
                    .help("10 us to 100 ms is right; 100 us to 200 us keeps shares within 0.5 %"),
                _ => at
                    .error(format!("{count} workers cannot share a link of {}", print_rate(self.rate)))
                    .help("each needs a part of at least 100 kbit/s: lower `workers`"),
            });
            return None;
        }
        let worker_of = assign(&weights, count);
        Some(WorkerPlan { count, exchange_every, member_of: members(self), worker_of, weights })
    }
}

/// The member of each class: itself, or the group directly below the link.
fn members(policy: &Policy) -> Vec<u32> {
    let mut next = 0;
    let mut number = || {
        next += 1;
        next - 1
    };
    let of_groups: Vec<Option<u32>> = policy.groups.iter().map(|group| group.parent.is_none().then(&mut number)).collect();
    let top = |mut group: usize| {
        while let Some(above) = policy.groups[group].parent {
            group = above;
        }
        of_groups[group].unwrap_or(0)
    };
    policy.classes.iter().map(|class| class.parent.map_or_else(&mut number, top)).collect()
}

/// True if it divides bytes by weight, as the exchange does.
fn shares_bytes(kind: SchedulerKind) -> bool {
    use SchedulerKind::{DeficitRoundRobin, QuickFair, SelfClocked, Wf2qPlus};
    matches!(kind, DeficitRoundRobin | QuickFair | SelfClocked | Wf2qPlus)
}

/// Why a policy has one worker, and what would be right.
fn obstacle(policy: &Policy) -> Option<(String, String)> {
    let shaped = policy.groups.iter().filter(|group| group.shape.is_some()).map(|group| &group.name);
    let mut shaped = shaped.chain(policy.classes.iter().filter(|class| class.shape.is_some()).map(|class| &class.name));
    if policy.adapter.is_some() {
        Some(("workers send frames, and this policy sends cells".to_owned(), "remove `workers`, or `cells`".to_owned()))
    } else if !shares_bytes(policy.scheduler) {
        let kinds = SchedulerKind::ALL.iter().filter(|kind| shares_bytes(**kind)).map(|kind| kind.name());
        Some((
            format!("several workers share the link by weight, and {} does not", policy.scheduler.name()),
            format!(
                "remove `workers`, or choose a scheduler that divides bytes by weight directly below the link: {}",
                kinds.collect::<Vec<_>>().join(", ")
            ),
        ))
    } else if policy.link.rates.is_some() {
        Some(("several workers share one rate, and that of the link varies".to_owned(), "remove `workers`, or `rates`".to_owned()))
    } else if let Some(name) = shaped.next() {
        Some((
            format!("`{name}` is shaped: a worker that waits for it would be granted a rate that it does not use"),
            "remove `workers`, or `shape`".to_owned(),
        ))
    } else {
        let places = policy.classes.iter().find(|class| class.places)?;
        Some((format!("the places of class `{}` are members of the link each", places.name), "remove `workers`, or `calls`".to_owned()))
    }
}
