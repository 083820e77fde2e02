//! What is asked of the proof of a variant, and the names of what it is about.

use crate::detail::Detail;
use crate::policy::{Class, Policy};
use crate::proof::{Proof, ProvenFlow, ProvenQueue, sharing};
use crate::scenario::Variant;
use crate::simulation::{FlowGroup, Simulation};
use crate::units::print_duration;
use std::collections::HashSet;
use std::ops::Range;
use tidegate_bounds::end_to_end::Method;
use tidegate_bounds::quantity::Picoseconds;
use tidegate_core::registry::SchedulerKind;
use tidegate_core::units::Duration;
use tidegate_sim::LinkId;

/// What to print of the bounds of flows and queues.
#[derive(Clone, Debug)]
pub struct Question {
    /// One flow, or the flows of one table: the name. `None`: all.
    pub flow: Option<String>,
    /// The method whose bounds are printed. `None`: for each flow the one with the least bound.
    pub method: Option<Method>,
    /// The detail of long tables.
    pub detail: Detail,
}

impl Default for Question {
    /// The least bounds of all flows; long tables are cut.
    fn default() -> Question {
        Question { flow: None, method: None, detail: Detail::First }
    }
}

/// The name of a method as an option and a key.
pub(super) fn key(method: Method) -> &'static str {
    match method {
        Method::TotalFlow => "tfa",
        Method::SeparatedFlow => "sfa",
        Method::PayMultiplexingOnce => "pmoo",
        Method::Program => "plp",
    }
}

/// The flows that a name asks for: those of a table, or one by itself. `None` asks for all.
pub(super) fn asked(simulation: &Simulation, name: Option<&str>) -> HashSet<usize> {
    groups(simulation, name).into_iter().flat_map(|group| group.1).collect()
}

/// The same, by table.
fn groups<'s>(simulation: &'s Simulation, name: Option<&str>) -> Vec<(&'s FlowGroup, Range<usize>)> {
    let of_group = |group: &'s FlowGroup| {
        let all = group.first..group.first + group.count;
        let named = |name: &str, flow: usize| simulation.network.flows[flow].name == name;
        match name {
            Some(name) if name != group.name => all.clone().find(|&flow| named(name, flow)).map(|flow| (group, flow..flow + 1)),
            _ => Some((group, all)),
        }
    };
    simulation.groups.iter().filter_map(of_group).collect()
}

/// Where full buffers bound the delay of a flow.
pub(super) fn buffers(proven: &ProvenFlow) -> Buffers {
    match proven.limited.len() {
        0 => Buffers::Nowhere,
        all if all == proven.queues.len() => Buffers::Everywhere,
        _ => Buffers::Somewhere,
    }
}

/// What bounds a flow: the method, a full buffer, or both.
///
/// A bound by a buffer holds for packets that leave; others may be dropped.
pub fn bounded_by(proven: &ProvenFlow) -> String {
    by(proven.bound.method, buffers(proven))
}

/// The method, and whether buffers are part of the bound.
pub(super) fn by(method: Method, buffers: Buffers) -> String {
    match buffers {
        Buffers::Nowhere => method.name().to_owned(),
        Buffers::Somewhere => format!("{}, buffer", method.name()),
        Buffers::Everywhere => "buffer".to_owned(),
    }
}

/// A time of a proof, which is below 2^64 ps and not negative.
pub(super) fn whole(time: Picoseconds) -> u64 {
    u64::try_from(time.max(0)).unwrap_or(u64::MAX)
}

/// Whether full buffers bound the delay, for packets that leave: others may be dropped.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Buffers {
    /// At no hop.
    Nowhere,
    /// At some hops.
    Somewhere,
    /// At every hop.
    Everywhere,
}

/// What is printed of a flow.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Outcome {
    /// Its bound.
    Bound {
        /// On its delay.
        delay: Picoseconds,
        /// By this method.
        method: Method,
        /// The most by which delays differ.
        jitter: Picoseconds,
        /// The burst with which it leaves, in bits.
        burst: u64,
        /// What bounds it besides.
        buffers: Buffers,
    },
    /// Why there is none.
    None(String),
}

/// A variant with flows, what is proven of it, and what is asked.
pub(super) struct Proven<'s> {
    pub variant: &'s Variant,
    pub simulation: &'s Simulation,
    pub proof: &'s Proof,
    pub question: &'s Question,
}

impl<'s> Proven<'s> {
    /// `None` for a policy file.
    pub fn of(variant: &'s Variant, proof: Option<&'s Proof>, question: &'s Question) -> Option<Proven<'s>> {
        Some(Proven { variant, simulation: variant.simulation.as_ref()?, proof: proof?, question })
    }

    /// The tables of flows that are asked for, each with its flows that are.
    pub fn groups(&self) -> Vec<(&'s FlowGroup, Range<usize>)> {
        groups(self.simulation, self.question.flow.as_deref())
    }

    /// What is printed of a flow.
    pub fn outcome(&self, flow: usize) -> Outcome {
        let proven = match &self.proof.flows[flow] {
            Ok(proven) => proven,
            Err(reason) => return Outcome::None(reason.clone()),
        };
        let bound = &proven.bound;
        let (delay, method) = match self.question.method {
            None => (bound.delay, bound.method),
            Some(method) => match &bound.all[method as usize] {
                Ok(delay) => (*delay, method),
                Err(reason) => return Outcome::None(format!("{}: {reason}", method.name())),
            },
        };
        Outcome::Bound { delay, method, jitter: bound.jitter, burst: bound.output.burst_bits(), buffers: buffers(proven) }
    }

    /// The queues on the paths of the flows that are asked for; `None` if all queues are.
    pub fn asked_queues(&self) -> Option<Vec<usize>> {
        self.question.flow.as_ref()?;
        let flows = self.groups().into_iter().flat_map(|group| group.1);
        let mut queues: Vec<usize> =
            flows.filter_map(|flow| self.proof.flows[flow].as_ref().ok()).flat_map(|flow| flow.queues.clone()).collect();
        queues.sort_unstable();
        queues.dedup();
        Some(queues)
    }

    /// The links on the paths of the flows that are asked for; `None` if all links are.
    pub fn asked_links(&self) -> Option<HashSet<&'s str>> {
        self.question.flow.as_ref()?;
        let paths = self.groups().into_iter().flat_map(|group| group.1).flat_map(|flow| &self.simulation.network.flows[flow].path);
        Some(paths.map(|&link| self.link(link)).collect())
    }

    pub fn link(&self, link: LinkId) -> &'s str {
        &self.simulation.network.links[link.0].name
    }

    pub fn policy(&self, link: LinkId) -> &'s Policy {
        self.simulation.policy(link, &self.variant.policies)
    }

    /// The classes whose packets are in a queue; the first is that of the queue.
    pub fn classes(&self, queue: &ProvenQueue) -> Vec<&'s Class> {
        let policy = self.policy(queue.link);
        sharing(policy, queue.class, queue.queue).into_iter().map(|class| &policy.classes[class]).collect()
    }

    pub fn class(&self, queue: &ProvenQueue) -> &'s Class {
        &self.policy(queue.link).classes[queue.class]
    }

    /// The classes, and the queue if one has several: the first is 1.
    pub fn place(&self, queue: &ProvenQueue) -> String {
        let class = self.class(queue);
        if is_one_of_several(class) {
            return format!("{} queue {}", class.name, queue.queue + 1);
        }
        match &self.classes(queue)[..] {
            classes if classes.len() <= 3 => classes.iter().map(|class| class.name.as_str()).collect::<Vec<_>>().join(", "),
            classes => format!("{} and {} more classes", class.name, classes.len() - 1),
        }
    }

    /// Why nothing is proven of a queue, without its own name, and the flow that causes it.
    pub fn cause<'r>(&self, queue: &ProvenQueue, reason: &'r str) -> (&'r str, Option<&'r str>) {
        let own = format!("class `{}` at link `{}`", self.class(queue).name, self.link(queue.link));
        let Some(rest) = reason.strip_prefix(&own) else { return (reason, None) };
        let of_flow = rest.strip_prefix(", which `").and_then(|rest| rest.split_once("` passes: "));
        match (of_flow, rest.strip_prefix(": ")) {
            (Some((flow, cause)), _) => (cause, Some(flow)),
            (None, Some(cause)) => (cause, None),
            (None, None) => (reason, None),
        }
    }

    /// The links of a flow, of a long path the first and the last.
    pub fn path(&self, flow: usize) -> String {
        let path: Vec<&str> = self.simulation.network.flows[flow].path.iter().map(|&link| self.link(link)).collect();
        match path[..] {
            [first, .., last] if path.len() > 3 => format!("{first} .. {last} ({} links)", path.len()),
            _ => path.join(", "),
        }
    }
}

/// True if each queue of the class is one by itself for the proof.
pub(super) fn is_one_of_several(class: &Class) -> bool {
    class.queues > 1 && (class.places || class.queue_scheduler != SchedulerKind::Fifo)
}

/// The promised delay of a group, if it has one.
pub(super) fn promised(group: &FlowGroup) -> Option<Duration> {
    group.promise.and_then(|promise| promise.delay)
}

/// A promised delay beside a bound: a bound holds for every packet, and so for any percentile.
pub(super) fn is_proven(promised: Duration, delay: Picoseconds) -> bool {
    delay <= Picoseconds::from(promised.picoseconds())
}

/// The same in words.
pub(super) fn judged(promised: Duration, delay: Picoseconds) -> String {
    format!("{}: {}", print_duration(promised), if is_proven(promised, delay) { "proven" } else { "not proven" })
}
