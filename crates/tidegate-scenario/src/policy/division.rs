//! Divides a policy among workers, or says why it cannot be divided.

use super::{Group, Policy};
use crate::diagnostic::Diagnostic;
use crate::document::PolicyTable;
use crate::tree::Member;
use crate::units::{print_duration, print_rate};
use crate::value::Block;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use tidegate_core::exchange::{Above, ExchangeError, Part, SpanningNode, Workers, assign};
use tidegate_core::registry::SchedulerKind;
use tidegate_core::scheduler::FlowParameters;
use tidegate_core::shaper::{Bucket, ShapingContract};
use tidegate_core::units::Duration;

/// How often the rates of workers are set anew, unless the file says so.
const USUAL_EXCHANGE: Duration = Duration::from_microseconds(150);

/// A group spans workers if its part of the link is at least the part of one worker divided by this.
const LEAST_PART: f64 = 4.0;

/// What parts of the link are counted in when they are given to workers.
const WHOLE_LINK: f64 = (1u64 << 40) as f64;

impl Policy {
    /// The workers that its table asks for. `None` for one, or if it reports an error.
    pub(super) fn divided(&self, table: &Block<PolicyTable>, findings: &mut Vec<Diagnostic>) -> Option<Workers> {
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
        let exchange_every = table.exchange_every.as_ref().map_or(USUAL_EXCHANGE, |at| at.value);
        let workers = Division::of(self, count).run(exchange_every);
        let members = workers.parts.iter().filter(|part| matches!(part.above, Above::Spanning(_))).count();
        if members < count as usize {
            let problem = format!("{count} workers, and {members} classes and groups to divide among them");
            findings.push(at.error(problem).help("a class belongs to one worker: lower `workers`"));
            return None;
        }
        if let Err(error) = workers.check(self.rate, self.classifier().flows()) {
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
        Some(workers)
    }
}

/// What the division of a running port says, by name.
struct Kept<'a> {
    spanning: HashSet<&'a str>,
    /// The worker of each group that does not span workers.
    groups: HashMap<&'a str, u32>,
    classes: HashMap<&'a str, u32>,
}

impl<'a> Kept<'a> {
    fn of(policy: &'a Policy, workers: &'a Workers) -> Kept<'a> {
        let spanning: HashSet<&str> = policy.spanning_groups(workers).collect();
        let (mut groups, mut classes) = (HashMap::new(), HashMap::new());
        for (index, class) in policy.classes.iter().enumerate() {
            let worker = policy.worker_of_class(index).unwrap_or(0);
            classes.insert(class.name.as_str(), worker);
            let mut above = class.parent;
            while let Some(group) = above.map(|group| &policy.groups[group]).filter(|group| !spanning.contains(group.name.as_str())) {
                groups.insert(group.name.as_str(), worker);
                above = group.parent;
            }
        }
        Kept { spanning, groups, classes }
    }
}

impl Policy {
    /// Divides this policy as a port that runs `before` is divided. Classes and groups stay where they are; new ones come to the workers that have least.
    ///
    /// # Errors
    /// Why they cannot stay.
    pub(super) fn stay_divided(&mut self, before: &Policy) -> Result<(), String> {
        let [Some(new), Some(old)] = [&self.workers, &before.workers] else {
            let is_same = self.workers.is_none() && before.workers.is_none();
            return if is_same { Ok(()) } else { Err("the number of `workers` cannot change while the port runs".to_owned()) };
        };
        if (new.count, new.exchange_every) != (old.count, old.exchange_every) {
            return Err("`workers` and `exchange_every` cannot change while the port runs".to_owned());
        }
        let kept = Kept::of(before, old);
        for group in self.groups.iter().filter(|group| kept.spanning.contains(group.name.as_str())) {
            if !can_span(group, new.count) {
                let kinds = sharing_kinds();
                return Err(format!(
                    "group `{}` is on all workers, which needs a scheduler that divides bytes by weight ({kinds}), and a `shape`, if any, of one rate",
                    group.name
                ));
            }
        }
        let workers = Division { kept: Some(&kept), ..Division::of(self, new.count) }.run(new.exchange_every);
        if let Err(error) = workers.check(self.rate, self.classifier().flows()) {
            return Err(error.to_string());
        }
        let by_class: Vec<u32> = self.classifier().classes().iter().map(|class| workers.worker_of(class.first_flow.index())).collect();
        for (class, worker) in self.classes.iter().zip(by_class) {
            if let Some(&known) = kept.classes.get(class.name.as_str()).filter(|&&known| known != worker) {
                return Err(format!(
                    "class `{}` belongs to worker {}, and below its group it would belong to worker {}",
                    class.name,
                    known + 1,
                    worker + 1
                ));
            }
        }
        self.workers = Some(Arc::new(workers));
        Ok(())
    }
}

/// The work of [`Policy::divided`].
struct Division<'a> {
    policy: &'a Policy,
    count: u32,
    /// What stays as it is.
    kept: Option<&'a Kept<'a>>,
    /// Below the link, and below each group in turn.
    children: Vec<Vec<Member>>,
    nodes: Vec<SpanningNode>,
    parts: Vec<Part>,
    /// By class.
    part_of: Vec<u32>,
    /// What each worker has so far of the link.
    loads: Vec<u64>,
}

impl Division<'_> {
    fn of(policy: &Policy, count: u32) -> Division<'_> {
        let mut children = vec![Vec::new(); policy.groups.len() + 1];
        let slot = |parent: Option<usize>| parent.map_or(0, |group| group + 1);
        policy.groups.iter().enumerate().for_each(|(index, group)| children[slot(group.parent)].push(Member::Group(index)));
        policy.classes.iter().enumerate().for_each(|(index, class)| children[slot(class.parent)].push(Member::Class(index)));
        let (part_of, loads) = (vec![0; policy.classes.len()], vec![0; count as usize]);
        Division { policy, count, kept: None, children, nodes: Vec::new(), parts: Vec::new(), part_of, loads }
    }

    fn run(mut self, exchange_every: Duration) -> Workers {
        // The spanning nodes in the order of the scheduler's tree, whose number, group and part of the link are known.
        let mut open = vec![(SpanningNode::LINK, None, 1.0)];
        let mut next = 0;
        while let Some(&(node, group, part)) = open.get(next) {
            self.nodes.push(node);
            let children = std::mem::take(&mut self.children[group.map_or(0, |group: usize| group + 1)]);
            let whole: u64 = children.iter().map(|&child| u64::from(self.weight(child))).sum();
            let part_of = |weight: u32| part * f64::from(weight) / whole.max(1) as f64;
            let mut members = Vec::with_capacity(children.len());
            for child in children {
                let weight = self.weight(child);
                match child {
                    Member::Group(group) if self.spans(group, part_of(weight)) => {
                        let shape = self.policy.groups[group].shape;
                        open.push((SpanningNode { above: next, node: self.number(group), weight, shape }, Some(group), part_of(weight)));
                    }
                    member => members.push((member, weight)),
                }
            }
            let load = |weight: u32| (part_of(weight) * WHOLE_LINK) as u64;
            let mut placed: Vec<Option<u32>> = members.iter().map(|&(member, _)| self.known(member)).collect();
            for (worker, (_, weight)) in placed.iter().zip(&members) {
                worker.iter().for_each(|&worker| self.loads[worker as usize] += load(*weight));
            }
            let new: Vec<usize> = (0..members.len()).filter(|&member| placed[member].is_none()).collect();
            let weights: Vec<u32> = new.iter().map(|&member| members[member].1).collect();
            for (&member, worker) in new.iter().zip(assign(&weights, &self.loads)) {
                self.loads[worker as usize] += load(members[member].1);
                placed[member] = Some(worker);
            }
            for (&(member, _), worker) in members.iter().zip(placed) {
                self.add(member, Above::Spanning(next), worker.unwrap_or(0));
            }
            next += 1;
        }
        let Division { count, nodes, parts, part_of, policy, .. } = self;
        let part_of = policy.classifier().classes_of_flows().iter().map(|&class| part_of[class as usize]).collect();
        Workers { count, exchange_every, nodes, parts, part_of }
    }

    /// The worker that has a member already.
    fn known(&self, member: Member) -> Option<u32> {
        let kept = self.kept?;
        match member {
            Member::Class(class) => kept.classes.get(self.policy.classes[class].name.as_str()).copied(),
            Member::Group(group) => kept.groups.get(self.policy.groups[group].name.as_str()).copied(),
        }
    }

    /// Gives a member and all that is below it to a worker.
    fn add(&mut self, member: Member, above: Above, worker: u32) {
        let number = self.parts.len();
        let most = self.shape(member).map(|shape| shape.rate);
        self.parts.push(Part { above, worker, weight: self.weight(member), most });
        match member {
            Member::Class(class) => self.part_of[class] = number as u32,
            Member::Group(group) => {
                for child in std::mem::take(&mut self.children[group + 1]) {
                    self.add(child, Above::Part(number), worker);
                }
            }
        }
    }

    fn parameters(&self, member: Member) -> &FlowParameters {
        match member {
            Member::Group(group) => &self.policy.groups[group].parameters,
            Member::Class(class) => &self.policy.classes[class].parameters,
        }
    }

    fn weight(&self, member: Member) -> u32 {
        self.parameters(member).weight.unwrap_or(1)
    }

    fn shape(&self, member: Member) -> Option<ShapingContract> {
        match member {
            Member::Group(group) => self.policy.groups[group].shape,
            Member::Class(class) => self.policy.classes[class].shape,
        }
    }

    /// True if a group that has this part of the link, below a node that spans workers, does so too.
    fn spans(&self, group: usize, part: f64) -> bool {
        let known = &self.policy.groups[group];
        if let Some(kept) = self.kept.filter(|kept| kept.spanning.contains(&*known.name) || kept.groups.contains_key(&*known.name)) {
            return kept.spanning.contains(&*known.name);
        }
        can_span(known, self.count) && part * f64::from(self.count) * LEAST_PART > 1.0 - 1e-9 && self.classes_below(group) > 1
    }

    /// The number of classes below a group.
    fn classes_below(&self, group: usize) -> usize {
        let below = |child: &Member| if let Member::Group(group) = child { self.classes_below(*group) } else { 1 };
        self.children[group + 1].iter().map(below).sum()
    }

    /// The number of a group's node in the tree of the scheduler.
    fn number(&self, group: usize) -> usize {
        let is_group = |member: &Option<Member>| matches!(member, Some(Member::Group(other)) if *other == group);
        self.policy.parts.members.iter().position(is_group).unwrap_or(0)
    }
}

/// True if several ports can carry what is below a group, and keep its contract.
fn can_span(Group { scheduler, shape, .. }: &Group, count: u32) -> bool {
    // A contract of two buckets cannot be kept by several ports.
    let is_simple = |shape: &ShapingContract| shape.peak.is_none() && shape.bucket == Bucket::Single;
    shares_bytes(*scheduler) && shape.as_ref().is_none_or(|shape| is_simple(shape) && Workers::can_share(shape.rate, count))
}

/// The schedulers that divide bytes by weight.
fn sharing_kinds() -> String {
    let kinds = SchedulerKind::ALL.iter().filter(|kind| shares_bytes(**kind)).map(|kind| kind.name());
    kinds.collect::<Vec<_>>().join(", ")
}

/// True if it divides bytes by weight, as the exchange does.
fn shares_bytes(kind: SchedulerKind) -> bool {
    use SchedulerKind::{DeficitRoundRobin, QuickFair, SelfClocked, Wf2qPlus};
    matches!(kind, DeficitRoundRobin | QuickFair | SelfClocked | Wf2qPlus)
}

/// Why a policy has one worker, and what would be right.
fn obstacle(policy: &Policy) -> Option<(String, String)> {
    if policy.adapter.is_some() {
        Some(("workers send frames, and this policy sends cells".to_owned(), "remove `workers`, or `cells`".to_owned()))
    } else if !shares_bytes(policy.scheduler) {
        Some((
            format!("several workers share the link by weight, and {} does not", policy.scheduler.name()),
            format!("remove `workers`, or choose a scheduler that divides bytes by weight directly below the link: {}", sharing_kinds()),
        ))
    } else if policy.link.rates.is_some() {
        Some(("several workers share one rate, and that of the link varies".to_owned(), "remove `workers`, or `rates`".to_owned()))
    } else {
        let places = policy.classes.iter().find(|class| class.places)?;
        Some((format!("the places of class `{}` are members of the link each", places.name), "remove `workers`, or `calls`".to_owned()))
    }
}
