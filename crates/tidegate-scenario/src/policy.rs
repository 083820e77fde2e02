//! Checks a policy, the configuration of one output port, and builds the parts of its port.

use crate::aqm::{QueueManagement, aqms};
use crate::cells::{adapter, judge as judge_cells};
use crate::choice::NodeReading;
use crate::contract::{Policing, Wire, police, shape};
use crate::diagnostic::{Diagnostic, Severity};
use crate::document::{ClassTable, PolicyTable};
use crate::guarantee::{Guarantee, UNPROVEN_WITH_WORKERS};
use crate::link::{WrittenDisturbance, WrittenLoss, behind};
use crate::overhead::MOST_OVERHEAD;
use crate::partition::{Buffer, BufferSpec, Buffers, Partition};
use crate::promise::{FrameRate, Promise, judge_promised_rate};
use crate::proof::of_policer;
use crate::rates::{judged, unproven};
use crate::remark::{ClassRemarks, remarks};
use crate::rules::{classifier, judge_presence};
use crate::service::Asked;
use crate::slots::NodeBounds;
use crate::tree::{Choice, Given, Leaf, Parts, Tree, find_parents, uses};
use crate::units::{Limit, Ratio, print_size};
use crate::value::{At, Block, Name};
use std::collections::HashMap;
use std::sync::Arc;
use tidegate_atm::adapter::AdapterSetup;
use tidegate_core::classifier::{Classifier, Spread};
use tidegate_core::exchange::Workers;
use tidegate_core::port::PortSetup;
use tidegate_core::registry::{AnyAqm, SchedulerKind};
use tidegate_core::remark::{Remark, Remarks};
use tidegate_core::scheduler::{FlowParameters, Parameter, QueueOptions};
use tidegate_core::shaper::ShapingContract;
use tidegate_core::units::{Duration, Overhead, Rate};
use tidegate_link::{Extent, Link};
use tidegate_sim::time::LONGEST_DURATION;

mod amendment;
mod division;
mod following;
mod notes;
pub(crate) mod workers;

/// The largest `longest_frame`: beyond jumbo frames and the frames of segmentation offload.
const MOST_BYTES_PER_FRAME: u64 = 256 * 1024;
/// The most packets and bytes on a link at once, for which memory is allocated.
const MOST_ON_LINK: Extent = Extent { packets: 4_194_304, bytes: 1_000_000_000 };
/// The smallest `longest_frame`: an ATM cell.
const SHORTEST_LONGEST_FRAME: u64 = 53;
/// The `longest_frame` of Ethernet.
pub(crate) const USUAL_LONGEST_FRAME: u64 = 1518;

/// A checked policy.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Its name in the file.
    pub name: String,
    /// The rate of the link.
    pub rate: Rate,
    /// The bytes that the link adds to every frame.
    pub overhead: Overhead,
    /// The longest frame accepted, in bytes.
    pub longest_frame: u32,
    /// Delay and loss behind the port.
    pub link: Link,
    /// The most packets the port can hold.
    pub packet_limit: u32,
    /// The buffer that the classes without a partition share: its manager and its limits.
    pub buffer: Buffer,
    /// The buffers of groups and classes of their own.
    pub partitions: Vec<Partition>,
    /// The order of service directly below the link.
    pub scheduler: SchedulerKind,
    /// The classes, in the order of their rules; the last takes what no rule matched. Clones share them.
    pub classes: Arc<Vec<Class>>,
    /// The groups of the scheduling tree.
    pub groups: Vec<Group>,
    /// The bounds of each node of the tree: the link, the groups, and the classes of several queues under `dwcs`.
    pub bounds: Arc<Vec<NodeBounds>>,
    /// The cell scheduler of an ATM adapter. It takes the place of the port's own scheduler.
    pub adapter: Option<AdapterSetup>,
    /// The workers of its port between two interfaces; `None` for one.
    pub workers: Option<Arc<Workers>>,
    /// For the preset `intserv`: its reading, and the part of the rate that may be reserved.
    pub(crate) preset: Option<(NodeReading, Ratio)>,
    /// The warning of members that may starve below an unlimited priority.
    pub(crate) starvation: Option<Diagnostic>,
    /// The members of the scheduling tree, as its schedulers are given them.
    pub(crate) parts: Arc<Parts>,
    /// What a port is made of. Scheduler, AQMs and buffer manager take most of the memory, and are built for each port.
    setup: Arc<PortSetup<(), BufferSpec>>,
    /// The node of the port before that each node continues; empty for a port that is the first.
    continued: Vec<Option<usize>>,
}

/// A class of a policy.
#[derive(Clone, Debug)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// The number of its rules; 0 for the class that takes what no rule matched.
    pub rules: usize,
    /// True for the class `default`, which is added if no class of the file takes all other packets.
    pub is_added: bool,
    /// The index of the group above; `None` is the link.
    pub parent: Option<usize>,
    /// The number of its queues.
    pub queues: u32,
    /// The scheduler among them.
    pub queue_scheduler: SchedulerKind,
    /// What decides on the queue of a packet.
    pub spread: Spread,
    /// True if each queue is a place for a call: a member of the scheduler above by itself.
    pub places: bool,
    /// Its parameters for the scheduler above. Classes of one plan share them.
    pub parameters: Arc<FlowParameters>,
    /// Its guarantee while it is backlogged.
    pub guarantee: Guarantee,
    /// The limit of each of its queues.
    pub limit: Option<Limit>,
    /// The partition that its packets are in; `None` for the shared buffer.
    pub partition: Option<usize>,
    /// The bytes of the buffer that each of its queues has to itself.
    pub reserve: Option<u64>,
    /// The contract of arriving packets.
    pub police: Option<Box<Policing>>,
    /// What keeps its queues short.
    pub aqm: Option<Arc<QueueManagement>>,
    /// The code points with which packets leave, by colour.
    pub remarks: [Remark; Remarks::COLOURS],
    /// The contract of leaving packets.
    pub shape: Option<ShapingContract>,
    /// Its promise at this port.
    pub promise: Option<Box<Promise>>,
    /// The delay at this port that calls may use up.
    pub budget: Option<Duration>,
}

/// A group of a policy.
#[derive(Clone, Debug)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// The index of the group above; `None` is the link.
    pub parent: Option<usize>,
    /// The order of service among its children.
    pub scheduler: SchedulerKind,
    /// Its parameters for the scheduler above.
    pub parameters: FlowParameters,
    /// Its guarantee while anything below it may be sent.
    pub guarantee: Guarantee,
    /// The contract of all packets below it together.
    pub shape: Option<ShapingContract>,
}

impl Policy {
    /// The parts of a port of this policy, in their initial state.
    pub fn setup(&self) -> PortSetup {
        let Ok(mut scheduler) = self.parts.scheduler() else { unreachable!("it has been built when the policy was checked") };
        if !self.continued.is_empty() {
            scheduler.continue_nodes(|node| self.continued[node]);
        }
        let Ok(buffer) = self.setup.buffer.build() else { unreachable!("it has been built when the policy was checked") };
        let PortSetup { rate, overhead, seed, packet_limit, longest_frame, .. } = *self.setup;
        PortSetup {
            rate,
            overhead,
            classifier: self.setup.classifier.clone(),
            policers: self.setup.policers.clone(),
            aqms: self.aqms(),
            seed,
            buffer,
            scheduler,
            packet_limit,
            longest_frame,
            remarks: self.setup.remarks.clone(),
        }
    }

    /// The AQMs of a port, by class; an empty list if no class has one.
    fn aqms(&self) -> Vec<Option<AnyAqm>> {
        if self.classes.iter().all(|class| class.aqm.is_none()) {
            return Vec::new();
        }
        // Classes of one plan share the parameters of theirs.
        let mut last: Option<(&Class, AnyAqm)> = None;
        let mut aqms = Vec::with_capacity(self.classes.len());
        for class in self.classes.iter() {
            let is_same = |known: &Class| known.queues == class.queues && same_aqm(known, class);
            let aqm = match last.take() {
                Some((known, aqm)) if is_same(known) => Some(aqm),
                _ => self.aqm(class),
            };
            last = aqm.clone().map(|aqm| (class, aqm));
            aqms.push(aqm);
        }
        aqms
    }

    /// The AQM of a class, in its initial state.
    fn aqm(&self, class: &Class) -> Option<AnyAqm> {
        let Ok(aqm) = class.aqm.as_ref()?.build(class.queues, self.longest_frame) else {
            unreachable!("it has been built when the policy was checked")
        };
        Some(aqm)
    }

    pub(crate) fn classifier(&self) -> &Classifier {
        &self.setup.classifier
    }

    pub(crate) fn remarks(&self) -> &Remarks {
        &self.setup.remarks
    }

    /// Checks the table and builds the policy. A `rate` of a link overrides the policy's own. `None` if it reports an error.
    pub(crate) fn resolve(
        name: &At<Name>,
        table: &Block<PolicyTable>,
        rate: Option<&At<Rate>>,
        findings: &mut Vec<Diagnostic>,
    ) -> Option<Policy> {
        let mut own = Vec::new();
        let policy = Resolution::new(name, table, rate, &mut own).run();
        let failed = own.iter().any(|finding| finding.severity == Severity::Error);
        findings.append(&mut own);
        policy.filter(|_| !failed)
    }
}

/// The work of [`Policy::resolve`].
pub(crate) struct Resolution<'a> {
    name: &'a At<Name>,
    pub table: &'a Block<PolicyTable>,
    pub rate: &'a At<Rate>,
    pub longest_frame: u64,
    overhead: Overhead,
    wire: Wire,
    pub findings: &'a mut Vec<Diagnostic>,
}

impl<'a> Resolution<'a> {
    fn new(name: &'a At<Name>, table: &'a Block<PolicyTable>, rate: Option<&'a At<Rate>>, findings: &'a mut Vec<Diagnostic>) -> Self {
        let rate = rate.unwrap_or(&table.rate);
        let mut longest_frame = table.longest_frame.as_ref().map_or(USUAL_LONGEST_FRAME, |at| at.value.0);
        if !(SHORTEST_LONGEST_FRAME..=MOST_BYTES_PER_FRAME).contains(&longest_frame) {
            let span = table.longest_frame.as_ref().map_or(table.span.clone(), |at| at.span.clone());
            let range = format!("{} to {}", print_size(SHORTEST_LONGEST_FRAME), print_size(MOST_BYTES_PER_FRAME));
            findings.push(
                Diagnostic::error(span, format!("the longest frame is outside {range}")).help("Ethernet has 1518 B, jumbo frames 9018 B"),
            );
            longest_frame = USUAL_LONGEST_FRAME;
        }
        let overhead = overhead(table, findings);
        let wire = Wire { rate: rate.value, longest: overhead.wire_length(longest_frame as u32) };
        Resolution { name, table, rate, longest_frame, overhead, wire, findings }
    }

    fn run(mut self) -> Option<Policy> {
        self.judge_names();
        judge_cells(self.table, self.findings);
        judge_presence(&self.table.class, self.findings);
        let mut policers = self.policers();
        let tree = self.tree(&policers)?;
        policers.resize_with(tree.classes.len(), || None);
        tree.judge(self.findings);
        let mut marks: Vec<ClassRemarks> = (self.table.class.iter().zip(&policers).enumerate())
            .map(|(index, (class, police))| {
                let has_colours = police.as_deref().is_some_and(Policing::marks) || tree.is_marked(index);
                remarks(class, has_colours, self.findings)
            })
            .collect();
        marks.resize_with(tree.classes.len(), Default::default);
        let promises: Vec<Option<Promise>> =
            (self.table.class.iter().enumerate()).map(|(index, class)| self.promise(class, index, &tree)).collect();
        let limits: Vec<Option<Limit>> = self.table.class.iter().map(|class| self.class_limit(class)).collect();
        let mut buffers = self.buffers(&tree, &limits);
        let aqms = aqms(self.table, &tree, self.longest_frame as u32, self.findings);
        self.judge_link();
        let queues: Vec<u32> = tree.classes.iter().map(|class| class.queues).collect();
        if self.findings.iter().any(|finding| finding.severity == Severity::Error) {
            return None;
        }
        let parts = tree.parts();
        let refused = parts.judge(&tree.parts_of_classes()).err().map(|(parts, refused)| tree.refused_parts(parts, refused));
        let classifier = classifier(&self.table.class, &tree.classes, self.findings);
        if refused.is_some() {
            self.findings.extend(refused);
            return None;
        }
        let adapter = match &self.table.cells {
            None => None,
            Some(cells) => Some(adapter(cells, &self.table.class, &queues, self.rate, self.longest_frame as u32, self.findings)?),
        };
        let has_policer = policers.iter().any(Option::is_some);
        let built = policers.iter().filter(|_| has_policer).map(|policing| policing.as_ref().map(|policing| policing.policer.clone()));
        let setup = PortSetup {
            rate: self.rate.value,
            overhead: self.overhead,
            classifier: classifier?,
            policers: built.collect(),
            aqms: Vec::new(),
            seed: 0,
            buffer: buffers.manager.take()?,
            scheduler: (),
            packet_limit: buffers.packet_limit,
            longest_frame: self.longest_frame as u32,
            remarks: Remarks::new(marks),
        };
        let table = self.table;
        let (mut policy, findings) = self.policy(&tree, buffers, (setup, parts), policers.into_iter().zip(aqms), limits, promises);
        policy.adapter = adapter;
        policy.workers = policy.divided(table, findings).map(Arc::new);
        let by_cells =
            policy.adapter.is_some().then(|| "the cell scheduler serves by contracts, of which no rate is worked out".to_owned());
        let by_workers = policy.workers.is_some().then(|| UNPROVEN_WITH_WORKERS.to_owned());
        if let Some(reason) = by_cells.or(by_workers).or_else(|| policy.link.rates.as_ref().map(unproven)) {
            // These bounds are those of the packet scheduler at one rate.
            policy.bounds = Arc::default();
            let none = Guarantee::None(reason);
            Arc::make_mut(&mut policy.classes).iter_mut().for_each(|class| class.guarantee = none.clone());
            if policy.workers.is_some() {
                policy.groups.iter_mut().for_each(|group| group.guarantee = none.clone());
            }
        }
        Some(policy)
    }

    fn link(&self) -> Link {
        self.table.link.as_ref().map_or_else(Link::default, |table| behind(table, self.rate.value))
    }

    /// Reports a link that holds more than [`MOST_ON_LINK`].
    fn judge_link(&mut self) {
        let Some(table) = &self.table.link else { return };
        let loss = WrittenLoss::of_policy(table);
        loss.judge(self.findings);
        if let Some(rates) = &table.rates {
            let longest = self.overhead.wire_length(self.longest_frame as u32);
            judged(rates, self.rate.value, longest, self.table.cells.is_some(), self.findings);
        }
        let disturbance = WrittenDisturbance::of_policy(table);
        disturbance.judge(self.table.cells.is_some(), self.findings);
        if let (true, Some(seed)) = (loss.is_absent() && disturbance.is_absent(), &table.seed) {
            let finding = seed.error("`seed` has no effect: the link loses nothing");
            self.findings.push(finding.help("remove it, or add the share of packets that are lost, like loss = \"0.1 %\""));
        }
        let Some(at) = table.delay.as_ref().or(disturbance.late_by()) else { return };
        let extent = self.link().extent(self.rate.value, self.overhead, self.longest_frame as u32);
        if at.value > LONGEST_DURATION {
            self.findings.push(at.error("a link with a delay of more than 26 days cannot be followed"));
        } else if extent.packets > MOST_ON_LINK.packets || extent.bytes > MOST_ON_LINK.bytes {
            let problem = format!(
                "up to {} packets, {} in all, would be on their way along this link at once",
                extent.packets,
                print_size(extent.bytes)
            );
            let help = format!(
                "shorten the delay, or lower the rate: memory is set aside for at most {} packets and {}",
                MOST_ON_LINK.packets,
                print_size(MOST_ON_LINK.bytes)
            );
            self.findings.push(at.error(problem).context(self.rate.span.clone(), "the rate of the link").help(help));
        }
    }

    fn judge_names(&mut self) {
        let groups = self.table.group.iter().map(|group| (&group.name, "group"));
        let classes = self.table.class.iter().map(|class| (&class.name, "class"));
        let mut seen: HashMap<&str, (&At<Name>, &str)> = HashMap::new();
        for (name, role) in groups.chain(classes) {
            if let Some((first, other)) = seen.insert(&name.0, (name, role)) {
                let finding = name.error(format!("`{}` is already the name of a {other}", name.0));
                self.findings
                    .push(finding.context(first.span.clone(), "first used here").help("give every class and group a name of its own"));
            }
        }
        let is_complete = self.table.class.last().is_some_and(|last| last.rules.is_none());
        if let (false, Some((taken, _))) = (is_complete, seen.get(DEFAULT)) {
            let finding = taken.error("`default` is the name of the class that is added for packets that no rule matches");
            self.findings.push(finding.help("rename it, or make it that class: move it to the end and remove its `match`"));
        }
    }

    fn tree(&mut self, policers: &[Option<Box<Policing>>]) -> Option<Tree> {
        let parents = find_parents(&self.table.group, &self.table.class, self.findings)?;
        let root = Choice::of(&self.table.scheduler, &self.table.dwcs, &self.table.intserv);
        let mut groups = Vec::new();
        for (table, parent) in self.table.group.iter().zip(parents.of_groups) {
            let shape = table.shape.as_ref().and_then(|table| shape(table, &self.wire, self.findings));
            groups.push((Given { parent, shape, ..Given::of(table.keys()) }, Choice::of(&table.scheduler, &table.dwcs, &table.intserv)));
        }
        let mut classes = Vec::with_capacity(self.table.class.len() + 1);
        for ((table, parent), police) in self.table.class.iter().zip(parents.of_classes).zip(policers) {
            let shape = table.shape.as_ref().and_then(|table| shape(table, &self.wire, self.findings));
            let given = Given { parent, shape, ..Given::of(table.keys()) };
            let admits = police.as_deref().and_then(of_policer).and_then(Result::ok);
            let marks = police.is_some() && admits.is_none();
            classes.push(Leaf { admits, marks, ..self.leaf(table, given) });
        }
        if self.table.class.last().is_none_or(|last| last.rules.is_some()) {
            classes.push(self.added_class(&root, &groups, &classes));
        }
        Some(Tree::new(self.rate.clone(), self.overhead, self.wire.longest, root, groups, classes))
    }

    /// The class for packets that no rule matches. It comes last under strict priority. In rounds it has the least weight beside it, elsewhere 1.
    fn added_class(&mut self, root: &Choice, groups: &[(Given, Choice)], classes: &[Leaf]) -> Leaf {
        let at = self.name.span.clone();
        let neighbours = groups.iter().map(|group| &group.0).chain(classes.iter().map(|class| &class.given));
        let lowest = neighbours
            .filter(|given| given.parent.is_none())
            .filter_map(|given| given.priority.as_ref())
            .map(|priority| priority.value)
            .max();
        let priority = uses(root.kind, Parameter::Priority)
            .then(|| At { value: lowest.map_or(0, |lowest| lowest.saturating_add(1)), span: at.clone() });
        if let Some(parameter) = root.kind.requires().iter().find(|&&parameter| parameter != Parameter::Priority) {
            let problem = format!(
                "policy `{}` has no class for packets that no rule matches, and {} cannot serve one without `{}`",
                self.name.0,
                root.kind.name(),
                parameter.name()
            );
            let help = format!("add a last class without `match`, with a `{}` of its own", parameter.name());
            let span = root.at.clone().unwrap_or(at.clone());
            self.findings.push(Diagnostic::error(span, problem).help(help));
        }
        let (rate, delay) = (None, None);
        // A weight below the least of its neighbours would lengthen the round.
        let has_rounds = matches!(root.kind, SchedulerKind::DeficitRoundRobin | SchedulerKind::WeightedRoundRobin);
        let neighbours = groups.iter().map(|group| &group.0).chain(classes.iter().map(|class| &class.given));
        let weights = neighbours.filter(|given| given.parent.is_none()).map(|given| given.weight.as_ref().map_or(1, |weight| weight.value));
        let weight = weights.min().filter(|&least| has_rounds && least > 1).map(|value| At { value, span: at.clone() });
        // Missing parameters have been reported; placeholders keep them from being reported twice.
        let rate = if root.kind.requires().contains(&Parameter::Rate) { Some(At { value: Rate::MIN, span: at.clone() }) } else { rate };
        let delay =
            if root.kind.requires().contains(&Parameter::Delay) { Some(At { value: Default::default(), span: at.clone() }) } else { delay };
        let asked = Asked::default();
        let given = Given {
            class: None,
            tolerance: None,
            profile: None,
            name: DEFAULT.to_owned(),
            at,
            parent: None,
            priority,
            weight,
            rate,
            delay,
            asked,
            request: None,
            shape: None,
            shape_at: None,
            is_added: true,
        };
        Leaf {
            given,
            queues: 1,
            queue_scheduler: SchedulerKind::DeficitRoundRobin,
            places: false,
            options: QueueOptions::default(),
            admits: None,
            marks: false,
        }
    }

    fn policers(&mut self) -> Vec<Option<Box<Policing>>> {
        let tables = self.table.class.iter().map(|class| class.police.as_ref());
        tables.map(|table| table.and_then(|table| police(table, &self.wire, self.findings).map(Box::new))).collect()
    }

    fn promise(&mut self, class: &ClassTable, index: usize, tree: &Tree) -> Option<Promise> {
        let table = class.promise.as_ref()?;
        let promise = Promise::resolve(table, self.findings);
        if let (Some(promised), Some(at)) = (promise.rate, &table.rate) {
            let frames = FrameRate { overhead: self.overhead, longest_frame: self.longest_frame as u32 };
            if !judge_promised_rate(promised, at, self.rate, "the rate of the link", frames, self.findings) {
                return Some(promise);
            }
            for (limit, what) in tree.limits_of_class(index) {
                if !judge_promised_rate(promised, at, &limit, &what, frames, self.findings) {
                    break;
                }
            }
        }
        Some(promise)
    }

    fn policy(
        self,
        tree: &Tree,
        buffers: Buffers,
        (setup, mut parts): (PortSetup<(), BufferSpec>, Parts),
        rules: impl Iterator<Item = (Option<Box<Policing>>, Option<Arc<QueueManagement>>)>,
        limits: Vec<Option<Limit>>,
        promises: Vec<Option<Promise>>,
    ) -> (Policy, &'a mut Vec<Diagnostic>) {
        let scheduler_of = |parent: Option<usize>| parent.map_or(tree.root.kind, |group| tree.groups[group].1.kind);
        let groups = tree.groups.iter().enumerate().map(|(index, (given, choice))| Group {
            name: given.name.clone(),
            parent: given.parent,
            scheduler: choice.kind,
            parameters: given.parameters(scheduler_of(given.parent)),
            guarantee: tree.group_guarantee(index).clone(),
            shape: given.shape,
        });
        // The same table, for as many queues as packets.
        parts.class_of_leaf = setup.classifier.classes_of_flows();
        let mut last = Arc::new(FlowParameters::default());
        let classes = tree.classes.iter().zip(rules).enumerate().map(|(index, (class, (police, aqm)))| {
            let table = self.table.class.get(index);
            let parameters = class.given.parameters(scheduler_of(class.given.parent));
            if *last != parameters {
                last = Arc::new(parameters);
            }
            Class {
                name: class.given.name.clone(),
                rules: table.and_then(|table| table.rules.as_ref()).map_or(0, |rules| rules.value.len()),
                is_added: table.is_none(),
                parent: class.given.parent,
                queues: class.queues,
                queue_scheduler: class.queue_scheduler,
                spread: setup.classifier.classes()[index].spread,
                places: class.places,
                parameters: last.clone(),
                guarantee: tree.class_guarantee(index).clone(),
                limit: limits.get(index).copied().flatten(),
                partition: buffers.partition_of[index],
                reserve: table.and_then(|table| table.reserve.as_ref()).map(|at| at.value.0),
                police,
                aqm,
                remarks: setup.remarks.of_class(index),
                shape: class.given.shape,
                promise: promises.get(index).copied().flatten().map(Box::new),
                budget: table.and_then(|table| table.budget.as_ref()).map(|at| at.value),
            }
        });
        let policy = Policy {
            name: self.name.0.clone(),
            rate: self.rate.value,
            overhead: setup.overhead,
            longest_frame: setup.longest_frame,
            link: self.link(),
            preset: self.table.node(),
            packet_limit: setup.packet_limit,
            buffer: buffers.shared,
            scheduler: tree.root.kind,
            classes: Arc::new(classes.collect()),
            partitions: buffers.partitions,
            groups: groups.collect(),
            bounds: Arc::new(tree.bounds()),
            adapter: None,
            workers: None,
            starvation: tree.remark_on_starvation(),
            parts: Arc::new(parts),
            setup: Arc::new(setup),
            continued: Vec::new(),
        };
        (policy, self.findings)
    }
}

/// True if the AQMs of two classes are made of the same.
fn same_aqm(one: &Class, other: &Class) -> bool {
    matches!((&one.aqm, &other.aqm), (Some(one), Some(other)) if Arc::ptr_eq(one, other))
}

/// The name of the added class.
const DEFAULT: &str = "default";

/// The overhead per frame and the minimum packet unit of the link.
pub(crate) fn overhead(table: &PolicyTable, findings: &mut Vec<Diagnostic>) -> Overhead {
    let usual = if table.cells.is_some() { Overhead::Aal5 } else { Overhead::None };
    let overhead = table.overhead.as_ref().map_or(usual, |at| at.value.0);
    let Some(at) = &table.minimum_packet_unit else { return overhead };
    let Some(minimum) = u16::try_from(at.value.0).ok().filter(|&minimum| minimum <= MOST_OVERHEAD) else {
        let problem = format!("no link pads frames to {}: the minimum packet unit is at most {MOST_OVERHEAD} B", print_size(at.value.0));
        findings.push(at.error(problem).help("Ethernet has 84 B with its overhead"));
        return overhead;
    };
    match overhead {
        Overhead::None => Overhead::PerPacket { bytes: 0, minimum },
        Overhead::PerPacket { bytes, .. } => Overhead::PerPacket { bytes, minimum },
        Overhead::Aal5 => {
            let problem = "`minimum_packet_unit` has no effect: AAL5 pads every frame to whole cells";
            findings.push(at.error(problem).help("remove it, or choose another `overhead`"));
            overhead
        }
    }
}
