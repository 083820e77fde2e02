//! Trees and shaped flows that change behind a link, with a policer for every contract.

// Every test crate compiles its own copy and none uses all of it.
#![allow(dead_code)]

use crate::workload::{LONGEST, Wishes, link_rate, wishes};
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use tidegate_core::packet::{Colour, Flow, Head};
use tidegate_core::policer::{Policer, Verdict};
use tidegate_core::registry::{AnyPolicer, AnyScheduler, PolicerKind, SchedulerKind};
use tidegate_core::scheduler::{
    Decision, DeficitTree, FlowParameters, Hierarchy, HierarchyError, Kept, LeafSpec, NodeSpec, Scheduler, Setup,
};
use tidegate_core::shaper::{Bucket, Shaped, ShapingContract};
use tidegate_core::units::{Duration, Rate, Time};

/// The most leaves of a tree under test.
const LEAVES: usize = 8;

/// The places for later below each node.
const CAPACITY: usize = 3;

pub fn contracts() -> impl Strategy<Value = ShapingContract> {
    let burst = prop_oneof![Just(LONGEST), LONGEST..4 * LONGEST, LONGEST..100_000];
    let tolerance = prop_oneof![Just(0u64), 0u64..20_000, 0u64..1_000_000].prop_map(Duration::from_nanoseconds);
    let bucket = prop::sample::select(vec![Bucket::Single, Bucket::Dual]);
    (50_000u64..20_000_000, burst, prop::option::of(1u64..50), tolerance, bucket).prop_map(|(rate, burst, peak, tolerance, bucket)| {
        ShapingContract {
            rate: Rate::new(rate).unwrap(),
            burst,
            longest_packet: LONGEST,
            peak: peak.map(|factor| Rate::new(rate + rate * factor / 10).unwrap()),
            tolerance,
            bucket,
        }
    })
}

pub fn policer(contract: &ShapingContract, now: Time) -> AnyPolicer {
    let kind = if contract.peak.is_some() { PolicerKind::DualGcra } else { PolicerKind::Gcra };
    let mut policer = kind.build(&contract.policed()).unwrap();
    policer.start(now);
    policer
}

/// What is under test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    Tree,
    /// A tree of deficit round robin in its own form.
    Deficits,
    /// One form of tree after the other.
    InTurn,
    /// Flows behind a shaper, or under a scheduler that shapes: the root alone, without a contract.
    Flat,
}

/// What a member of a tree is given.
#[derive(Clone, Copy, Debug)]
pub struct Given {
    wishes: Wishes,
    shape: Option<ShapingContract>,
}

pub fn given() -> impl Strategy<Value = Given> {
    (wishes(), prop::option::weighted(0.6, contracts())).prop_map(|(wishes, shape)| Given { wishes, shape })
}

/// A node, named by its place in [`Trees::nodes`].
#[derive(Clone, Debug)]
struct Branch {
    /// The name of the node above; of the root its own.
    parent: usize,
    kind: SchedulerKind,
    given: Given,
}

/// A leaf and its queue.
#[derive(Clone, Debug)]
struct Leaf {
    /// The name of the node above.
    parent: usize,
    given: Given,
    flow: Flow,
    queue: VecDeque<Head>,
}

/// What happens.
#[derive(Clone, Debug)]
pub enum Event {
    Arrive {
        leaf: usize,
        length: u32,
        packets: u8,
    },
    /// The head of a queue is pushed out.
    LoseHead(usize),
    LoseAll(usize),
    /// Time passes and the link sends what it may.
    Pass(Duration),
    ChangeLeaf(usize, Given),
    ChangeNode(usize, Given),
    /// A leaf comes below a node.
    Fill(usize, Given),
    /// A leaf goes if it is idle.
    Forget(usize),
    /// A tree of the same members takes over, with other numbers.
    Renumber(Vec<u32>),
    /// A tree takes over in which one leaf hangs below another node.
    Move {
        leaf: usize,
        parent: usize,
    },
    /// A tree takes over in which one node hangs below another, or continues no other.
    Replant {
        node: usize,
        parent: usize,
        is_new: bool,
    },
}

/// Which events there are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Events {
    /// Packets, and trees that take over from their like.
    Alike,
    All,
}

pub fn events(which: Events) -> impl Strategy<Value = Vec<Event>> {
    let length = prop_oneof![Just(LONGEST), Just(1000u32), 40..=LONGEST];
    let pause = prop_oneof![0u64..500_000, 0u64..100_000_000, 0u64..20_000_000_000].prop_map(Duration::from_picoseconds);
    let packets = prop_oneof![
        8 => (0..LEAVES, length, 1u8..5).prop_map(|(leaf, length, packets)| Event::Arrive { leaf, length, packets }),
        1 => (0..LEAVES).prop_map(Event::LoseHead),
        1 => (0..LEAVES).prop_map(Event::LoseAll),
        8 => pause.prop_map(Event::Pass),
    ];
    let renumber = prop::collection::vec(any::<u32>(), 24).prop_map(Event::Renumber);
    let changes = prop_oneof![
        3 => (0..LEAVES, given()).prop_map(|(leaf, given)| Event::ChangeLeaf(leaf, given)),
        2 => (0usize..8, given()).prop_map(|(node, given)| Event::ChangeNode(node, given)),
        2 => (0usize..8, given()).prop_map(|(node, given)| Event::Fill(node, given)),
        2 => (0..LEAVES).prop_map(Event::Forget),
        1 => (0..LEAVES, 0usize..8).prop_map(|(leaf, parent)| Event::Move { leaf, parent }),
        1 => (0usize..8, 0usize..8, any::<bool>()).prop_map(|(node, parent, is_new)| Event::Replant { node, parent, is_new }),
    ];
    let changes = if which == Events::All { changes.boxed() } else { Just(Event::Pass(Duration::ZERO)).boxed() };
    prop::collection::vec(prop_oneof![12 => packets, 2 => renumber, 4 => changes], 1..120)
}

/// A packet that has left: when, of which leaf, and its number.
pub type Departure = (Time, usize, u32);

/// One tree after another behind one link, with a policer for every contract.
pub struct Trees {
    tree: AnyScheduler,
    form: Form,
    nodes: Vec<Branch>,
    /// The names of the nodes of the present tree in their order.
    order: Vec<usize>,
    leaves: Vec<Option<Leaf>>,
    flows: usize,
    node_policers: Vec<Option<AnyPolicer>>,
    leaf_policers: Vec<Option<AnyPolicer>>,
    now: Time,
    free: Time,
    number: u32,
    pub sent: Vec<Departure>,
    pub lost: usize,
    /// The number of packets that have come.
    pub came: usize,
    /// Trees with other numbers take over, too.
    takes_over: bool,
}

impl Trees {
    pub fn new(form: Form, (branches, leaves): &Forest, start: Time, takes_over: bool) -> Trees {
        let branches = if form == Form::Flat { &branches[..1] } else { branches };
        let branch =
            |(name, &(parent, kind, given)): (usize, &(usize, SchedulerKind, Given))| Branch { parent: parent % name.max(1), kind, given };
        let mut nodes: Vec<Branch> = branches.iter().enumerate().map(branch).collect();
        if form == Form::Flat {
            nodes[0].given.shape = None;
        }
        let leaf = |(index, &(parent, given)): (usize, &(usize, Given))| {
            Some(Leaf { parent: parent % nodes.len(), given, flow: Flow(index as u32), queue: VecDeque::new() })
        };
        let leaves: Vec<Option<Leaf>> = leaves.iter().enumerate().map(leaf).collect();
        let order: Vec<usize> = (0..nodes.len()).collect();
        let police = |given: &Given| given.shape.map(|shape| policer(&shape, start));
        let mut trees = Trees {
            tree: built(form, &nodes, &order, &leaves, &BTreeMap::new()).0,
            form,
            node_policers: nodes.iter().map(|node| police(&node.given)).collect(),
            leaf_policers: leaves.iter().flatten().map(|leaf| police(&leaf.given)).collect(),
            flows: leaves.len() + CAPACITY * nodes.len(),
            nodes,
            order,
            leaves,
            now: start,
            free: start,
            number: 0,
            sent: Vec::new(),
            lost: 0,
            came: 0,
            takes_over,
        };
        trees.tree.start(start);
        trees
    }

    fn place_of(&self, name: usize) -> usize {
        self.order.iter().position(|&other| other == name).unwrap()
    }

    pub fn play(&mut self, event: &Event) -> Result<(), TestCaseError> {
        let (nodes, now) = (self.nodes.len(), self.now);
        match *event {
            Event::Arrive { leaf, length, packets } => {
                for _ in 0..packets {
                    self.arrive(leaf, length);
                }
            }
            Event::LoseHead(leaf) => self.lose(leaf),
            Event::LoseAll(leaf) => (0..self.queue_length(leaf)).for_each(|_| self.lose(leaf)),
            Event::Pass(span) => self.pass(now + span)?,
            Event::ChangeLeaf(name, mut given) => {
                let Some(Some(leaf)) = self.leaves.get_mut(name) else { return Ok(()) };
                // Half of the changes leave the contract as it is.
                if given.wishes.prefers_rate {
                    given.shape = leaf.given.shape;
                }
                let kind = self.nodes[leaf.parent].kind;
                let parameters = FlowParameters { shape: given.shape, ..given.wishes.parameters(kind) };
                if self.tree.change(now, leaf.flow, &parameters).is_ok() {
                    if given.shape != leaf.given.shape {
                        self.leaf_policers[name] = given.shape.map(|shape| policer(&shape, now));
                    }
                    leaf.given = given;
                }
            }
            Event::ChangeNode(name, mut given) => {
                let name = name % nodes;
                if given.wishes.prefers_rate {
                    given.shape = self.nodes[name].given.shape;
                }
                let parameters = given.wishes.parameters(self.nodes[self.nodes[name].parent].kind);
                let place = self.place_of(name);
                let changed = match &mut self.tree {
                    AnyScheduler::Hierarchy(tree) => tree.change_node(now, place, &parameters, given.shape.as_ref()),
                    AnyScheduler::DeficitTree(tree) => tree.change_node(now, place, &parameters, given.shape.as_ref()),
                    _ => return Ok(()),
                };
                if changed.is_ok() {
                    if given.shape != self.nodes[name].given.shape {
                        self.node_policers[name] = given.shape.map(|shape| policer(&shape, now));
                    }
                    self.nodes[name].given = given;
                }
            }
            Event::Fill(parent, given) => self.fill(parent % nodes, given),
            Event::Forget(name) => {
                if self.queue_length(name) == 0
                    && let Some(Some(leaf)) = self.leaves.get_mut(name).map(Option::take)
                {
                    self.tree.forget(now, leaf.flow);
                }
            }
            Event::Renumber(ref random) if self.takes_over => self.take_over(&|_| true, random),
            Event::Renumber(_) => {}
            Event::Move { leaf, parent } => {
                if let Some(Some(leaf)) = self.leaves.get_mut(leaf) {
                    leaf.parent = parent % nodes;
                    self.take_over(&|_| true, &[]);
                }
            }
            Event::Replant { node, parent, is_new } => {
                let node = node % nodes;
                let is_below =
                    std::iter::successors(Some(parent % nodes), |&at| (at > 0).then(|| self.nodes[at].parent)).any(|at| at == node);
                if node > 0 && !is_below {
                    self.nodes[node].parent = parent % nodes;
                }
                if is_new {
                    self.node_policers[node] = self.nodes[node].given.shape.map(|shape| policer(&shape, now));
                }
                self.take_over(&|name| name != node || !is_new, &[]);
            }
        }
        Ok(())
    }

    fn queue_length(&self, leaf: usize) -> usize {
        self.leaves.get(leaf).and_then(Option::as_ref).map_or(0, |leaf| leaf.queue.len())
    }

    fn arrive(&mut self, name: usize, length: u32) {
        // Alike in all trees, whichever leaves there are.
        self.number += 1;
        let Some(Some(leaf)) = self.leaves.get_mut(name) else { return };
        let head = Head { length, number: self.number, arrival: self.now, colour: Colour::Green };
        leaf.queue.push_back(head);
        self.came += 1;
        if leaf.queue.len() == 1 {
            self.tree.activate(self.now, leaf.flow, head);
        }
    }

    fn lose(&mut self, name: usize) {
        let Some(Some(leaf)) = self.leaves.get_mut(name) else { return };
        if leaf.queue.pop_front().is_some() {
            self.lost += 1;
            self.tree.lost(self.now, leaf.flow, leaf.queue.front().copied());
        }
    }

    fn fill(&mut self, parent: usize, given: Given) {
        let taken: Vec<u32> = self.leaves.iter().flatten().map(|leaf| leaf.flow.0).collect();
        let Some(flow) = (0..self.flows as u32).find(|flow| !taken.contains(flow)).map(Flow) else { return };
        let (place, parameters) = (self.place_of(parent), given.wishes.parameters(self.nodes[parent].kind));
        match self.tree.fill(self.now, flow, &LeafSpec { parent: place, parameters, shape: given.shape }) {
            Ok(()) => {
                let leaf = Some(Leaf { parent, given, flow, queue: VecDeque::new() });
                let policer = given.shape.map(|shape| policer(&shape, self.now));
                match self.leaves.iter().position(Option::is_none) {
                    Some(name) => (self.leaves[name], self.leaf_policers[name]) = (leaf, policer),
                    None => {
                        self.leaves.push(leaf);
                        self.leaf_policers.push(policer);
                    }
                }
            }
            Err(HierarchyError::Full(_) | HierarchyError::Parameters { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }

    /// Sends all that may start up to `until`, and stops there.
    fn pass(&mut self, until: Time) -> Result<(), TestCaseError> {
        let mut at = self.now.later(self.free);
        let mut waits = 0;
        while !at.is_after(until) {
            match self.tree.select(at) {
                Decision::Serve(flow) | Decision::ServeAs(flow, _) => {
                    waits = 0;
                    let name = self.leaves.iter().position(|leaf| leaf.as_ref().is_some_and(|leaf| leaf.flow == flow)).unwrap();
                    let leaf = self.leaves[name].as_mut().unwrap();
                    let Some(head) = leaf.queue.pop_front() else { panic!("{flow:?} is not backlogged") };
                    self.tree.served(at, flow, leaf.queue.front().copied());
                    // A hint changes nothing.
                    self.tree.prefetch_hint();
                    let above = std::iter::successors(Some(leaf.parent), |&node| (node > 0).then(|| self.nodes[node].parent));
                    let above: Vec<usize> = above.collect();
                    let conform = |policer: &mut Option<AnyPolicer>| {
                        policer.as_mut().is_none_or(|policer| policer.police(at, head.length, Colour::Green) == Verdict::Conform)
                    };
                    prop_assert!(conform(&mut self.leaf_policers[name]), "leaf {} at {:?}", name, at);
                    for node in above {
                        prop_assert!(conform(&mut self.node_policers[node]), "node {} at {:?}", node, at);
                    }
                    self.free = at + link_rate().time_per_byte().ceil(head.length);
                    self.sent.push((at, name, head.number));
                    at = self.free;
                }
                Decision::Discard(flow) => {
                    let leaf = self.leaves.iter_mut().flatten().find(|leaf| leaf.flow == flow).unwrap();
                    leaf.queue.pop_front();
                    self.lost += 1;
                    self.tree.lost(at, flow, leaf.queue.front().copied());
                }
                Decision::WaitUntil(time) => {
                    prop_assert!(time.is_after(at));
                    waits += 1;
                    prop_assert!(waits <= 40, "waits too often");
                    at = time;
                }
                Decision::Idle => {
                    prop_assert!(self.leaves.iter().flatten().all(|leaf| leaf.queue.is_empty()), "idle while a leaf is backlogged");
                    break;
                }
            }
        }
        self.now = self.now.later(until);
        Ok(())
    }

    /// Another tree takes over: its nodes that are kept continue those of the present one. The members change places by the random numbers.
    fn take_over(&mut self, is_kept: &dyn Fn(usize) -> bool, random: &[u32]) {
        let was = self.order.iter().enumerate().map(|(place, &name)| (name, place)).filter(|&(name, _)| is_kept(name)).collect();
        // Nodes with smaller numbers come first, if the node above has come. Siblings keep their order: it breaks ties.
        let rank = |name: usize| random.get(name).copied().unwrap_or(name as u32);
        let mut order = vec![0];
        while order.len() < self.nodes.len() {
            let has_come = |name: usize| order.contains(&name);
            let is_first = |name: usize| !(1..name).any(|other| self.nodes[other].parent == self.nodes[name].parent && !has_come(other));
            let is_next = |&name: &usize| !has_come(name) && has_come(self.nodes[name].parent) && is_first(name);
            order.extend((0..self.nodes.len()).filter(is_next).min_by_key(|&name| rank(name)));
        }
        self.order = order;
        let mut names: Vec<usize> = (0..self.leaves.len()).filter(|&name| self.leaves[name].is_some()).collect();
        names.sort_by_key(|&name| rank(name + 8));
        let from: Vec<Flow> = names.iter().map(|&name| self.leaves[name].as_ref().unwrap().flow).collect();
        for (index, &name) in names.iter().enumerate() {
            self.leaves[name].as_mut().unwrap().flow = Flow(index as u32);
        }
        let form = match (self.form, &self.tree) {
            (Form::InTurn, AnyScheduler::Hierarchy(_)) => Form::Deficits,
            (Form::InTurn, _) => Form::Tree,
            (form, _) => form,
        };
        let (mut tree, flows) = built(form, &self.nodes, &self.order, &self.leaves, &was);
        tree.start(self.now);
        let kept: Vec<Kept> = (names.iter().zip(from))
            .map(|(&name, from)| {
                let leaf = self.leaves[name].as_ref().unwrap();
                Kept { from, to: leaf.flow, head: leaf.queue.front().copied() }
            })
            .collect();
        tree.adopt(self.now, &mut self.tree, &kept);
        (self.tree, self.flows) = (tree, flows);
    }

    /// Everything leaves in the end.
    pub fn finish(&mut self) -> Result<(), TestCaseError> {
        self.pass(self.now + Duration::from_seconds(100_000))?;
        let queued: usize = self.leaves.iter().flatten().map(|leaf| leaf.queue.len()).sum();
        prop_assert_eq!(queued, 0);
        let mut last = BTreeMap::new();
        for &(_, name, number) in &self.sent {
            prop_assert!(last.insert(name, number).is_none_or(|last| last < number), "leaf {} out of order", name);
        }
        Ok(())
    }
}

/// A tree of these nodes in this order and of the leaves in the order of their flows, and its number of places for flows.
fn built(form: Form, nodes: &[Branch], order: &[usize], leaves: &[Option<Leaf>], was: &BTreeMap<usize, usize>) -> (AnyScheduler, usize) {
    let place_of = |name: usize| order.iter().position(|&other| other == name).unwrap();
    let node = |(place, &name): (usize, &usize)| {
        let node = &nodes[name];
        let parameters = node.given.wishes.parameters(nodes[node.parent].kind);
        let spec = NodeSpec::new((place > 0).then(|| place_of(node.parent)), node.kind, link_rate(), parameters);
        NodeSpec { shape: node.given.shape, capacity: CAPACITY, was: was.get(&name).copied(), ..spec }
    };
    let specs: Vec<NodeSpec> = order.iter().enumerate().map(node).collect();
    let mut present: Vec<&Leaf> = leaves.iter().flatten().collect();
    present.sort_by_key(|leaf| leaf.flow.0);
    let leaf = |leaf: &&Leaf| LeafSpec {
        parent: place_of(leaf.parent),
        parameters: leaf.given.wishes.parameters(nodes[leaf.parent].kind),
        shape: leaf.given.shape,
    };
    let leaves: Vec<LeafSpec> = present.iter().map(leaf).collect();
    let flows = leaves.len() + CAPACITY * nodes.len();
    let scheduler = match form {
        Form::Deficits => AnyScheduler::DeficitTree(Box::new(DeficitTree::build(LONGEST, &specs, &leaves).unwrap())),
        Form::Tree | Form::InTurn => AnyScheduler::Hierarchy(Box::new(Hierarchy::build(LONGEST, &specs, &leaves).unwrap())),
        Form::Flat => flat(nodes[0].kind, &leaves, flows),
    };
    (scheduler, flows)
}

/// A scheduler without a tree, whose flows keep their contracts.
fn flat(kind: SchedulerKind, leaves: &[LeafSpec], flows: usize) -> AnyScheduler {
    let setup = Setup { capacity: flows, ..Setup::new(link_rate(), LONGEST) };
    let contract = |leaf: &LeafSpec| if kind.shapes() { leaf.shape } else { None };
    let parameters: Vec<FlowParameters> = leaves.iter().map(|leaf| FlowParameters { shape: contract(leaf), ..leaf.parameters }).collect();
    let scheduler = kind.build(&setup, &parameters).unwrap();
    if kind.shapes() {
        return scheduler;
    }
    let mut contracts: Vec<Option<ShapingContract>> = leaves.iter().map(|leaf| leaf.shape).collect();
    contracts.resize(flows, None);
    AnyScheduler::Shaped(Box::new(Shaped::new(scheduler, &contracts).unwrap()))
}

pub type Forest = (Vec<(usize, SchedulerKind, Given)>, Vec<(usize, Given)>);

pub fn forests() -> impl Strategy<Value = Forest> {
    let branches = prop::collection::vec((0usize..8, prop::sample::select(SchedulerKind::ALL), given()), 1..6);
    (branches, prop::collection::vec((0usize..8, given()), 1..=LEAVES))
}

/// The same in which nodes share by deficit round robin, or some by sparse round robin.
pub fn deficit_forests() -> impl Strategy<Value = Forest> {
    let kinds = [SchedulerKind::DeficitRoundRobin, SchedulerKind::WeightedRoundRobin, SchedulerKind::SparseRoundRobin];
    (forests(), prop::collection::vec(prop::sample::select(kinds.to_vec()), 8)).prop_map(|((mut branches, leaves), kinds)| {
        for ((_, kind, _), &other) in branches.iter_mut().zip(&kinds) {
            *kind = other;
        }
        (branches, leaves)
    })
}
