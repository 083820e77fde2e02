//! Budgets of delay: what the classes of a port may be asked to carry, by proven delays.
//!
//! A class with a budget is for calls alone. They are admitted while no packet of any class with a budget can wait longer than that. This holds
//! whatever the calls send of what they declare, and however they come and go.
//!
//! Such a class has one queue, directly below the link, and a buffer that loses nothing before it is full. Its scheduler has a bound that holds
//! from any instant without backlog on.

use crate::contract::Policing;
use crate::diagnostic::Diagnostic;
use crate::document::PolicyTable;
use crate::policy::{Class, Policy};
use crate::proof::{Members, Traffic, kept_rate};
use crate::units::Limit;
use tidegate_bounds::admission::{ClassSettings, Discipline, PortSettings};
use tidegate_bounds::curve::Service;
use tidegate_bounds::quantity::Picoseconds;
use tidegate_bounds::service::row;
use tidegate_core::registry::{BufferKind, SchedulerKind};
use tidegate_core::scheduler::FlowParameters;
use tidegate_core::units::Duration;

/// The classes of a port that have budgets.
#[derive(Clone, Debug)]
pub(crate) struct Budgeted {
    /// By their index in the policy; the most urgent one first.
    pub classes: Vec<usize>,
    /// True if a call of one class may delay packets of the others.
    pub is_shared: bool,
    settings: PortSettings,
    limits: Vec<Limit>,
}

/// Why a class cannot have its budget: the class, the problem, and the way out.
type Refusal = (usize, String, &'static str);

impl Budgeted {
    /// The port for admission, with packets of at least `shortest` bits, and `latency` behind it.
    pub fn port(&self, shortest: u64, latency: Duration) -> PortSettings {
        let bits = |limit: &Limit| match *limit {
            // Frames take at least their own bits on the wire.
            Limit::Bytes(bytes) => bytes.saturating_mul(8),
            Limit::Packets(packets) => packets.saturating_mul(shortest),
        };
        PortSettings { buffers: self.limits.iter().map(bits).collect(), latency: latency.picoseconds().into(), ..self.settings.clone() }
    }

    /// The classes with a budget of a policy; `None` if it has none.
    ///
    /// # Errors
    /// The first budget that cannot hold.
    pub fn of(policy: &Policy) -> Result<Option<Budgeted>, Refusal> {
        let mut classes: Vec<usize> = (0..policy.classes.len()).filter(|&class| policy.classes[class].budget.is_some()).collect();
        let Some(&last) = classes.last() else { return Ok(None) };
        classes.sort_by_key(|&class| rank(&policy.classes[class].parameters));
        if policy.adapter.is_some() {
            return Err((last, "cells contend at this port, and budgets are for packets".into(), "remove the budget"));
        }
        let (mut limits, mut settings) = (Vec::new(), Vec::new());
        let mut buffers: Vec<Option<Option<usize>>> = Vec::new();
        for &class in &classes {
            let own = &policy.classes[class];
            judge_class(class, own)?;
            let limit = judge_buffer(policy, class)?;
            // A limit of its own makes a buffer of its own: its buffer is not shared then.
            let key = own.limit.is_none().then_some(own.partition);
            let buffer = buffers.iter().position(|other| key.is_some() && *other == key).unwrap_or_else(|| {
                buffers.push(key);
                limits.push(limit);
                buffers.len() - 1
            });
            let budget = own.budget.map_or(0, |budget| budget.picoseconds().into());
            settings.push(ClassSettings { budget, buffer });
        }
        let discipline = discipline(policy, &classes)?;
        let longest = 8 * u64::from(policy.overhead.wire_length(policy.longest_frame));
        let is_shared = !matches!(discipline, Discipline::Isolated(_));
        let rate = least_rate(policy);
        Ok(Some(Budgeted {
            classes,
            is_shared,
            settings: PortSettings { rate, longest, discipline, classes: settings, buffers: Vec::new(), latency: 0 },
            limits,
        }))
    }
}

/// Reports the first budget of a policy that cannot hold.
pub(crate) fn judge(table: &PolicyTable, policy: &Policy, findings: &mut Vec<Diagnostic>) {
    if let Err((class, problem, help)) = Budgeted::of(policy)
        && let Some(at) = table.class.get(class).and_then(|class| class.budget.as_ref())
    {
        findings.push(at.error(format!("class `{}` cannot have a budget: {problem}", policy.classes[class].name)).help(help));
    }
}

/// That packets of the class wait in one queue, and for nothing but the scheduler.
fn judge_class(index: usize, class: &Class) -> Result<(), Refusal> {
    let refuse = |problem: &str, help| Err((index, problem.to_owned(), help));
    if class.budget == Some(Duration::ZERO) {
        return refuse("no packet leaves at once", "write a time above 0, like budget = \"5 ms\"");
    }
    if class.places {
        return refuse("its calls have places, with rates of their own", "keep one of `places` and `budget`");
    }
    if class.parent.is_some() {
        return refuse("it is below a group", "hang it directly below the link: remove `parent`");
    }
    if class.queues > 1 {
        return refuse("its queues take turns", "remove `queues`: a budget is for one queue, first in first out");
    }
    if class.shape.is_some() {
        return refuse("its shape delays packets besides", "remove `shape`");
    }
    if class.police.as_deref().is_some_and(Policing::marks) {
        return refuse("its policer marks packets", "discard what is outside, or remove `police`");
    }
    Ok(())
}

/// The size of the buffer of a class, in which only calls by budgets may be.
fn judge_buffer(policy: &Policy, index: usize) -> Result<Limit, Refusal> {
    let class = &policy.classes[index];
    let buffer = class.partition.map_or(&policy.buffer, |partition| &policy.partitions[partition].buffer);
    if buffer.kind != BufferKind::TailDrop {
        let problem = format!("its buffer is managed by {}, which may drop packets before it is full", buffer.kind.name());
        return Err((index, problem, "give it a buffer of its own with tail-drop, like buffer = { limit = \"100 kB\" }"));
    }
    let mut others = (0..policy.classes.len()).filter(|&other| other != index && policy.classes[other].partition == class.partition);
    let is_alone = others.clone().next().is_none();
    if let Some(other) = others.find(|&other| policy.classes[other].budget.is_none()) {
        let problem = format!("`{}`, which has none, may fill the buffer that both use", policy.classes[other].name);
        return Err((index, problem, "give it a buffer of its own, like buffer = { limit = \"100 kB\" }"));
    }
    match class.limit {
        None => Ok(buffer.limit),
        Some(_) if !is_alone => {
            Err((index, "it has a `limit` in a buffer that others use".into(), "remove `limit`, or give it a buffer of its own"))
        }
        Some(limit) => match (limit, buffer.limit) {
            (Limit::Bytes(one), Limit::Bytes(two)) => Ok(Limit::Bytes(one.min(two))),
            (Limit::Packets(one), Limit::Packets(two)) => Ok(Limit::Packets(one.min(two))),
            _ => Err((index, "its `limit` and its buffer count in different units".into(), "write both in bytes")),
        },
    }
}

/// The rate of the link as its arithmetic keeps it, whatever the lengths of packets.
fn least_rate(policy: &Policy) -> u64 {
    kept_rate(policy.rate, policy.overhead.wire_length(1))
}

/// A member's rank under strict priority.
fn rank(parameters: &FlowParameters) -> u32 {
    parameters.priority.unwrap_or(0)
}

/// How the port serves these classes, the most urgent one first.
fn discipline(policy: &Policy, classes: &[usize]) -> Result<Discipline, Refusal> {
    let last = classes[classes.len() - 1];
    // The members directly below the link: name, parameters, and the class.
    let groups = policy.groups.iter().filter(|group| group.parent.is_none()).map(|group| (&group.name, &group.parameters, None));
    let own = policy.classes.iter().enumerate().filter(|(_, class)| class.parent.is_none());
    let members: Vec<_> = own.map(|(index, class)| (&class.name, &*class.parameters, Some(index))).chain(groups).collect();
    let has_none = |class: &Option<usize>| class.is_none_or(|class| policy.classes[class].budget.is_none());
    match policy.scheduler {
        SchedulerKind::Fifo if policy.classes.len() > 1 => {
            let problem = "fifo serves all classes of the policy as one queue";
            Err((last, problem.into(), "set scheduler = \"strict-priority\", or keep one class without `match`"))
        }
        SchedulerKind::Fifo => Ok(Discipline::StrictPriority),
        SchedulerKind::StrictPriority => {
            for &index in classes {
                let own = rank(&policy.classes[index].parameters);
                let before = members.iter().find(|(_, parameters, class)| rank(parameters) < own && has_none(class));
                if let Some((name, ..)) = before {
                    return Err((index, format!("`{name}` goes before it and has none"), "give that a budget, or a lower priority"));
                }
                let beside = members.iter().find(|(_, parameters, class)| rank(parameters) == own && *class != Some(index));
                if let Some((name, ..)) = beside {
                    return Err((index, format!("`{name}` has the same priority"), "give every class a priority of its own"));
                }
            }
            Ok(Discipline::StrictPriority)
        }
        SchedulerKind::EarliestDeadlineFirst => {
            if let Some((name, ..)) = members.iter().find(|(_, _, class)| has_none(class)) {
                let problem = format!("`{name}` has none, and under edf every class delays the others");
                return Err((last, problem, "give every class a budget"));
            }
            let delay = |&class: &usize| policy.classes[class].parameters.delay.map_or(0, |delay| Picoseconds::from(delay.picoseconds()));
            Ok(Discipline::Deadline(classes.iter().map(delay).collect()))
        }
        _ => {
            let traffic = Traffic::unknown(least_rate(policy));
            let described = Members::of(&policy.parts, &traffic);
            let (node, link) = (described.node_of(0), Service::link(traffic.rate));
            let curve = |&class: &usize| {
                let strict = row(&node, &link, described.position_of(class).unwrap_or(0)).strict;
                strict.map_err(|reason| {
                    (class, format!("{}: {reason}", policy.scheduler.name()), "choose strict-priority, edf, wf2q+, scfq, drr or wrr")
                })
            };
            Ok(Discipline::Isolated(classes.iter().map(curve).collect::<Result<_, _>>()?))
        }
    }
}
