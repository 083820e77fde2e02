//! Shaped flows and trees that change while packets are queued: leaves and nodes with other contracts and parameters, leaves that come and go, and
//! trees that take over from others. Unchanged contracts are kept, nothing is lost or reordered, and a tree that takes over from its like
//! continues as the other would have.

mod workload;

use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use tidegate_core::packet::{Colour, Flow, Head};
use tidegate_core::policer::{Policer, Verdict};
use tidegate_core::registry::{AnyPolicer, AnyScheduler, PolicerKind, SchedulerKind};
use tidegate_core::scheduler::{Decision, FlowParameters, Hierarchy, HierarchyError, Kept, LeafSpec, NodeSpec, Scheduler};
use tidegate_core::shaper::{Allowance, Bucket, ShapingContract};
use tidegate_core::units::{Duration, Rate, Time};
use workload::{LONGEST, Wishes, link_rate, origin, wishes};

/// The most leaves of a tree under test.
const LEAVES: usize = 8;

/// The places for later below each node.
const CAPACITY: usize = 3;

fn contracts() -> impl Strategy<Value = ShapingContract> {
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

fn policer(contract: &ShapingContract, now: Time) -> AnyPolicer {
    let kind = if contract.peak.is_some() { PolicerKind::DualGcra } else { PolicerKind::Gcra };
    let mut policer = kind.build(&contract.policed()).unwrap();
    policer.start(now);
    policer
}

/// Buckets of tokens, in bytes, whose rates and depths are those of the contract in force.
struct Buckets {
    contract: Option<ShapingContract>,
    now: Time,
    /// Of the sustained and the peak rate.
    levels: [f64; 2],
}

impl Buckets {
    fn rates(&self) -> [f64; 2] {
        let of = |rate: Rate| rate.bits_per_second() as f64 / 8e12;
        self.contract.map_or([f64::INFINITY; 2], |contract| [of(contract.rate), contract.peak.map_or(f64::INFINITY, of)])
    }

    /// A packet may start while the level is not negative, so the depth counts beyond one packet.
    fn depths(&self) -> [f64; 2] {
        let Some(contract) = self.contract else { return [f64::INFINITY; 2] };
        let ([sustained, peak], tolerance) = (self.rates(), contract.tolerance.picoseconds() as f64);
        let burst = f64::from(contract.burst - contract.longest_packet) * (1.0 - sustained / peak);
        [burst + tolerance * sustained, if peak.is_finite() { tolerance * peak } else { f64::INFINITY }]
    }

    fn advance(&mut self, now: Time) {
        let passed = now.since(self.now).picoseconds() as f64;
        self.now = now;
        let (rates, depths) = (self.rates(), self.depths());
        for which in 0..2 {
            let filled = if passed > 0.0 { self.levels[which] + passed * rates[which] } else { self.levels[which] };
            self.levels[which] = filled.min(depths[which]);
        }
    }

    fn change(&mut self, now: Time, contract: Option<ShapingContract>) {
        self.advance(now);
        self.contract = contract;
        // Without a rate before, or after, the bucket is full.
        for (which, depth) in self.depths().into_iter().enumerate() {
            self.levels[which] = if depth.is_finite() { self.levels[which].min(depth) } else { f64::INFINITY };
        }
    }

    fn accepts(&mut self, now: Time, length: u32) -> bool {
        self.advance(now);
        let accepted = self.levels.iter().all(|&level| level > -0.01);
        self.levels.iter_mut().for_each(|level| *level -= f64::from(length));
        accepted
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// The law of a change, on one stream: before each packet time passes, and the contract may change.
    #[test]
    fn tokens_are_carried_over_and_never_granted_twice(
        given in prop::collection::vec(prop::option::weighted(0.9, contracts()), 1..4),
        packets in prop::collection::vec((1..=LONGEST, prop_oneof![3 => Just(0u64), 2 => 0u64..20_000_000_000], prop::option::weighted(0.3, 0usize..4)), 1..80),
        start in any::<u64>(),
    ) {
        let mut now = Time::from_picoseconds(start);
        let mut contract = given[0];
        let mut allowance = Allowance::at(now, contract.as_ref()).unwrap();
        let mut buckets = Buckets { contract: None, now, levels: [f64::INFINITY; 2] };
        buckets.change(now, contract);
        let mut own = contract.map(|contract| policer(&contract, now));
        for (length, pause, change) in packets {
            now += Duration::from_picoseconds(pause);
            if let Some(next) = change.map(|index| given[index % given.len()]) {
                let before = allowance;
                allowance.change(now, next.as_ref()).unwrap();
                if next == contract {
                    prop_assert_eq!(format!("{before:?}"), format!("{allowance:?}"), "the same contract keeps its state");
                } else {
                    prop_assert!(before.release().is_after(now) || !allowance.release().is_after(now));
                    own = next.map(|contract| policer(&contract, now));
                    buckets.change(now, next);
                    contract = next;
                }
            }
            now = now.later(allowance.release());
            allowance.charge(now, length);
            prop_assert!(buckets.accepts(now, length), "{:?}", buckets.levels);
            if let Some(policer) = &mut own {
                prop_assert_eq!(policer.police(now, length, Colour::Green), Verdict::Conform);
            }
        }
    }
}

/// What a member of a tree is given.
#[derive(Clone, Copy, Debug)]
struct Given {
    wishes: Wishes,
    shape: Option<ShapingContract>,
}

fn given() -> impl Strategy<Value = Given> {
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
enum Event {
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
enum Events {
    /// Packets, and trees that take over from their like.
    Alike,
    All,
}

fn events(which: Events) -> impl Strategy<Value = Vec<Event>> {
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
type Departure = (Time, usize, u32);

/// One tree after another behind one link, with a policer for every contract.
struct Trees {
    tree: Hierarchy<AnyScheduler>,
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
    sent: Vec<Departure>,
    lost: usize,
    /// Trees with other numbers take over, too.
    takes_over: bool,
}

impl Trees {
    fn new(branches: &[(usize, SchedulerKind, Given)], leaves: &[(usize, Given)], start: Time, takes_over: bool) -> Trees {
        let branch =
            |(name, &(parent, kind, given)): (usize, &(usize, SchedulerKind, Given))| Branch { parent: parent % name.max(1), kind, given };
        let nodes: Vec<Branch> = branches.iter().enumerate().map(branch).collect();
        let leaf = |(index, &(parent, given)): (usize, &(usize, Given))| {
            Some(Leaf { parent: parent % nodes.len(), given, flow: Flow(index as u32), queue: VecDeque::new() })
        };
        let leaves: Vec<Option<Leaf>> = leaves.iter().enumerate().map(leaf).collect();
        let order: Vec<usize> = (0..nodes.len()).collect();
        let police = |given: &Given| given.shape.map(|shape| policer(&shape, start));
        let mut trees = Trees {
            tree: built(&nodes, &order, &leaves, &BTreeMap::new()).0,
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
            takes_over,
        };
        trees.tree.start(start);
        trees
    }

    fn place_of(&self, name: usize) -> usize {
        self.order.iter().position(|&other| other == name).unwrap()
    }

    fn play(&mut self, event: &Event) -> Result<(), TestCaseError> {
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
                if self.tree.change_node(now, place, &parameters, given.shape.as_ref()).is_ok() {
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
                Decision::Serve(flow) => {
                    waits = 0;
                    let name = self.leaves.iter().position(|leaf| leaf.as_ref().is_some_and(|leaf| leaf.flow == flow)).unwrap();
                    let leaf = self.leaves[name].as_mut().unwrap();
                    let Some(head) = leaf.queue.pop_front() else { panic!("{flow:?} is not backlogged") };
                    self.tree.served(at, flow, leaf.queue.front().copied());
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
                other => panic!("{other:?}"),
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
        let (mut tree, flows) = built(&self.nodes, &self.order, &self.leaves, &was);
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
    fn finish(&mut self) -> Result<(), TestCaseError> {
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
fn built(nodes: &[Branch], order: &[usize], leaves: &[Option<Leaf>], was: &BTreeMap<usize, usize>) -> (Hierarchy<AnyScheduler>, usize) {
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
    (Hierarchy::build(LONGEST, &specs, &leaves).unwrap(), flows)
}

/// The disciplines of nodes.
const KINDS: &[SchedulerKind] = &[SchedulerKind::RateControlled];

type Forest = (Vec<(usize, SchedulerKind, Given)>, Vec<(usize, Given)>);

fn forests() -> impl Strategy<Value = Forest> {
    let branches = prop::collection::vec((0usize..8, prop::sample::select(KINDS), given()), 1..6);
    (branches, prop::collection::vec((0usize..8, given()), 1..=LEAVES))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2 * ProptestConfig::default().cases, failure_persistence: None, ..ProptestConfig::default() })]

    /// Every policer accepts everything of a contract while that stays as it is, and of a new one from the change on. Nothing is lost or reordered.
    #[test]
    fn contracts_hold_across_changes((branches, leaves) in forests(), events in events(Events::All), start in origin()) {
        let mut trees = Trees::new(&branches, &leaves, start, true);
        for event in &events {
            trees.play(event)?;
            let queued: usize = trees.leaves.iter().flatten().map(|leaf| leaf.queue.len()).sum();
            prop_assert!(trees.sent.len() + trees.lost + queued <= trees.number as usize);
        }
        trees.finish()?;
    }

    #[test]
    fn a_tree_that_takes_over_from_its_like_continues_alike((branches, leaves) in forests(), events in events(Events::Alike), start in origin()) {
        let mut one = Trees::new(&branches, &leaves, start, false);
        let mut other = Trees::new(&branches, &leaves, start, true);
        for event in &events {
            one.play(event)?;
            other.play(event)?;
            prop_assert_eq!(&one.sent, &other.sent);
        }
        one.finish()?;
        other.finish()?;
        prop_assert_eq!(&one.sent, &other.sent);
        prop_assert_eq!(one.lost, other.lost);
    }
}
