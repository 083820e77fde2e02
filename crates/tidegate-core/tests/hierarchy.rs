//! The laws of a hierarchy on every level. It serves in the order of a slow model that asks the whole tree each time. It keeps shares,
//! strict priority between groups, and contracts of flows, groups and the whole.

mod workload;

use proptest::prelude::*;
use std::collections::VecDeque;
use tidegate_core::packet::{Colour, Flow};
use tidegate_core::policer::Policer;
use tidegate_core::registry::{AnyScheduler, PolicerKind, SchedulerKind};
use tidegate_core::scheduler::{Decision, FlowParameters, Hierarchy, HierarchyError, LeafSpec, Member, NodeSpec, Parameter, Scheduler};
use tidegate_core::shaper::{Bucket, ShapingContract};
use tidegate_core::units::{Duration, Rate, Time};
use workload::{Departure, LONGEST, Liberties, Link, Step, link_rate, origin, steps};

const NONE: FlowParameters = FlowParameters {
    priority: None,
    weight: None,
    rate: None,
    delay: None,
    shape: None,
    service: None,
    class: None,
    tolerance: None,
    profile: None,
};

fn weight(weight: u32) -> FlowParameters {
    FlowParameters { weight: Some(weight), ..NONE }
}

fn priority(priority: u32) -> FlowParameters {
    FlowParameters { priority: Some(priority), ..NONE }
}

fn node(parent: usize, scheduler: SchedulerKind, parameters: FlowParameters) -> NodeSpec {
    NodeSpec::new(Some(parent), scheduler, link_rate(), parameters)
}

fn root(scheduler: SchedulerKind) -> NodeSpec {
    NodeSpec { parent: None, ..node(0, scheduler, NONE) }
}

fn leaf(parent: usize, parameters: FlowParameters) -> LeafSpec {
    LeafSpec { parent, parameters, shape: None }
}

fn megabits(rate: u64) -> Rate {
    Rate::new(rate * 1_000_000).unwrap()
}

fn build(nodes: &[NodeSpec], leaves: &[LeafSpec]) -> Hierarchy<AnyScheduler> {
    Hierarchy::build(LONGEST, nodes, leaves).unwrap()
}

fn run(tree: Hierarchy<AnyScheduler>, flows: usize, steps: &[Step], waits: usize, origin: Time) -> Vec<Departure> {
    Link::new(tree, Liberties { waits, ties_by_flow: false }, flows, origin).run(steps, true).unwrap()
}

/// Keeps all the given flows backlogged with packets of the given lengths in turn while `packets` packets are sent.
fn saturate(flows: &[usize], lengths: &[u32], packets: usize) -> Vec<Step> {
    let mut lengths = lengths.iter().copied().cycle();
    let mut arrive = move |flow| Step::Arrive { flow, length: lengths.next().unwrap(), doomed: false };
    // The queues are long enough from the start for whatever the tree decides.
    let mut steps: Vec<Step> = (0..packets).flat_map(|_| flows.to_vec()).map(&mut arrive).collect();
    steps.extend((0..packets).map(|_| Step::Send));
    steps
}

/// The bytes that each flow has sent among the first `packets` departures.
fn bytes(departures: &[Departure], packets: usize, flows: usize) -> Vec<u64> {
    let mut bytes = vec![0; flows];
    for departure in &departures[..packets] {
        bytes[departure.flow] += u64::from(departure.length);
    }
    bytes
}

/// Voice and control above all; below, a business and a private group 3:1; in the business group web and backup 2:1; in web, two queues
/// 1:3 by packets. Leaves hang at every depth from 1 to 4.
///
/// | flow | 0 | 1 | 2 | 3 | 4 | 5 |
/// |---|---|---|---|---|---|---|
/// | is | voice | web a | web b | backup | private a | private b |
fn office() -> ([NodeSpec; 5], [LeafSpec; 6]) {
    let nodes = [
        root(SchedulerKind::StrictPriority),
        node(0, SchedulerKind::Wf2qPlus, priority(1)),
        node(1, SchedulerKind::DeficitRoundRobin, weight(3)),
        node(1, SchedulerKind::Fifo, weight(1)),
        node(2, SchedulerKind::WeightedRoundRobin, weight(2)),
    ];
    let leaves = [leaf(0, priority(0)), leaf(4, weight(1)), leaf(4, weight(3)), leaf(2, weight(1)), leaf(3, NONE), leaf(3, NONE)];
    (nodes, leaves)
}

#[test]
fn four_levels_share_as_configured() {
    let (nodes, leaves) = office();
    let packets = 4000;
    let departures = run(build(&nodes, &leaves), 6, &saturate(&[1, 2, 3, 4, 5], &[1000], packets), 0, Time::ZERO);
    let sent = bytes(&departures, packets, 6);
    let all: u64 = sent.iter().sum();
    let near = |share: u64, numerator: u64, denominator: u64| (share * denominator).abs_diff(all * numerator) <= 8 * 1500 * denominator;
    let (web, business, private) = (sent[1] + sent[2], sent[1] + sent[2] + sent[3], sent[4] + sent[5]);
    assert!(near(business, 3, 4) && near(private, 1, 4), "{sent:?}");
    assert!(near(web, 1, 2) && near(sent[3], 1, 4), "{sent:?}");
    assert!(near(sent[1], 1, 8) && near(sent[2], 3, 8), "{sent:?}");
    assert!(near(sent[4], 1, 8) && near(sent[5], 1, 8), "{sent:?}");
}

#[test]
fn what_a_sibling_leaves_goes_to_its_siblings_first() {
    let (nodes, leaves) = office();
    let packets = 4000;
    // Web has nothing to send: backup gets all of the business group's share, and private no more than before.
    let departures = run(build(&nodes, &leaves), 6, &saturate(&[3, 4], &[1000], packets), 0, Time::ZERO);
    let sent = bytes(&departures, packets, 6);
    assert!(sent[3].abs_diff(3 * sent[4]) <= 8 * 1500, "{sent:?}");
}

#[test]
fn five_levels_share_as_configured() {
    // A chain in which every node has a leaf and the next node, 1:1 at every level but the last, and another discipline at each.
    let kinds = [
        SchedulerKind::WeightedRoundRobin,
        SchedulerKind::DeficitRoundRobin,
        SchedulerKind::Wf2qPlus,
        SchedulerKind::DeficitRoundRobin,
        SchedulerKind::WeightedRoundRobin,
    ];
    let mut nodes = vec![root(kinds[0])];
    nodes.extend((1..5).map(|index| node(index - 1, kinds[index], weight(1))));
    let mut leaves: Vec<_> = (0..5).map(|parent| leaf(parent, weight(1))).collect();
    leaves.push(leaf(4, weight(1)));
    let packets = 6400;
    let departures = run(build(&nodes, &leaves), 6, &saturate(&[0, 1, 2, 3, 4, 5], &[1200], packets), 0, Time::ZERO);
    let sent = bytes(&departures, packets, 6);
    let all = packets as u64 * 1200;
    for (flow, share) in [2, 4, 8, 16, 32, 32].into_iter().enumerate() {
        assert!(sent[flow].abs_diff(all / share) <= 6 * 1500, "{sent:?}");
    }
}

#[test]
fn a_group_that_a_packet_joins_in_time_is_served_in_time() {
    // While the only packet of the bulk group is being sent, voice comes: it is next although bulk has got another packet before.
    let nodes = [root(SchedulerKind::StrictPriority), node(0, SchedulerKind::StrictPriority, priority(0))];
    let leaves = [leaf(1, priority(0)), leaf(1, priority(1)), leaf(0, priority(1))];
    let arrive = |flow| Step::Arrive { flow, length: 1000, doomed: false };
    let steps = [arrive(1), arrive(2), Step::Send, arrive(1), arrive(0), Step::Send, Step::Send, Step::Send];
    let order: Vec<_> = run(build(&nodes, &leaves), 3, &steps, 0, Time::ZERO).iter().map(|departure| departure.flow).collect();
    assert_eq!(order, [1, 0, 1, 2]);
}

/// The contracts of [`contracts_are_kept_on_every_level`]: voice, business, web, web b, everything.
fn contracts() -> [ShapingContract; 5] {
    let tolerance = Duration::from_microseconds(500);
    let with = |rate, burst, peak| ShapingContract { tolerance, peak, ..ShapingContract::new(rate, burst, LONGEST) };
    [
        with(megabits(5), LONGEST, None),
        with(megabits(40), 8 * LONGEST, None),
        ShapingContract { bucket: Bucket::Dual, ..with(megabits(20), 4 * LONGEST, Some(megabits(60))) },
        with(megabits(3), 2 * LONGEST, None),
        with(megabits(70), LONGEST, None),
    ]
}

fn shaped_office() -> Hierarchy<AnyScheduler> {
    let (mut nodes, mut leaves) = office();
    let [voice, business, web, web_b, everything] = contracts();
    leaves[0].shape = Some(voice);
    nodes[2].shape = Some(business);
    nodes[4].shape = Some(web);
    leaves[2].shape = Some(web_b);
    nodes[0].shape = Some(everything);
    build(&nodes, &leaves)
}

/// The flows of each contract.
const FLOWS_OF_CONTRACT: [&[usize]; 5] = [&[0], &[1, 2, 3], &[1, 2], &[2], &[0, 1, 2, 3, 4, 5]];

/// The first packet among those of `flows` that a policer of the same contract would not let pass.
fn first_violation(departures: &[Departure], flows: &[usize], contract: &ShapingContract, origin: Time) -> Option<Departure> {
    let kind = if contract.peak.is_some() { PolicerKind::DualGcra } else { PolicerKind::Gcra };
    let mut policer = kind.build(&contract.policed()).unwrap();
    policer.start(origin);
    departures.iter().filter(|departure| flows.contains(&departure.flow)).copied().find(|departure| {
        policer.police(origin + departure.at, departure.length, Colour::Green).passes(Colour::Green) != Some(Colour::Green)
    })
}

#[test]
fn shaped_groups_get_what_their_contracts_allow() {
    let packets = 6000;
    let departures = run(shaped_office(), 6, &saturate(&[0, 1, 2, 3, 4, 5], &[1000], packets), 11, Time::ZERO);
    let last = departures[packets - 1].at.picoseconds();
    let sent = bytes(&departures, packets, 6);
    for (flows, contract) in FLOWS_OF_CONTRACT.iter().zip(contracts()) {
        assert_eq!(first_violation(&departures[..packets], flows, &contract, Time::ZERO), None);
    }
    // bit/s = bytes * 8 / (ps / 10^12)
    let rate = |flows: &[usize]| flows.iter().map(|&flow| sent[flow]).sum::<u64>() as f64 * 8e12 / last as f64;
    // The bursts at the beginning count for something in a run this short; more than that the policers have excluded.
    let close = |flows, expected: f64| (rate(flows) / expected - 1.0).abs() < 0.01;
    assert!(close(FLOWS_OF_CONTRACT[0], 5e6), "voice {}", rate(FLOWS_OF_CONTRACT[0]));
    assert!(close(FLOWS_OF_CONTRACT[1], 40e6), "business {}", rate(FLOWS_OF_CONTRACT[1]));
    assert!(close(FLOWS_OF_CONTRACT[2], 20e6), "web {}", rate(FLOWS_OF_CONTRACT[2]));
    assert!(close(FLOWS_OF_CONTRACT[3], 3e6), "web b {}", rate(FLOWS_OF_CONTRACT[3]));
    assert!(close(FLOWS_OF_CONTRACT[4], 70e6), "everything {}", rate(FLOWS_OF_CONTRACT[4]));
    assert!(close(&[4, 5], 25e6), "private gets the rest: {}", rate(&[4, 5]));
}

#[test]
fn nothing_is_held_longer_than_the_contract_demands() {
    // One packet of 1000 bytes per millisecond; the second waits exactly that long.
    let mut nodes = vec![root(SchedulerKind::Fifo), node(0, SchedulerKind::Fifo, NONE)];
    nodes[1].shape = Some(ShapingContract::new(megabits(8), LONGEST, LONGEST));
    let mut tree = build(&nodes, &[leaf(1, NONE), leaf(0, NONE)]);
    tree.start(Time::ZERO);
    let head = |number| tidegate_core::packet::Head { length: LONGEST, number, arrival: Time::ZERO, colour: Colour::Green };
    tree.activate(Time::ZERO, Flow(0), head(0));
    assert_eq!(tree.select(Time::ZERO), Decision::Serve(Flow(0)));
    tree.served(Time::ZERO, Flow(0), Some(head(1)));
    let sent = Time::from_nanoseconds(120_000);
    let release = Time::from_nanoseconds(1_500_000);
    assert_eq!(tree.select(sent), Decision::WaitUntil(release));
    // Flows that are not held back continue.
    tree.activate(sent, Flow(1), head(2));
    assert_eq!(tree.select(sent), Decision::Serve(Flow(1)));
    tree.served(sent, Flow(1), None);
    assert_eq!(tree.select(release), Decision::Serve(Flow(0)));
}

#[test]
fn mistakes_are_named() {
    let fifo = SchedulerKind::Fifo;
    let refused = |nodes: &[NodeSpec], leaves: &[LeafSpec]| Hierarchy::build(LONGEST, nodes, leaves).unwrap_err();
    assert_eq!(refused(&[], &[]), HierarchyError::NoRoot);
    assert_eq!(refused(&[node(0, fifo, NONE)], &[leaf(0, NONE)]), HierarchyError::NoRoot);
    assert_eq!(refused(&[root(fifo), root(fifo)], &[leaf(0, NONE)]), HierarchyError::Parent(Member::Node(1)));
    assert_eq!(refused(&[root(fifo), node(1, fifo, NONE)], &[leaf(1, NONE)]), HierarchyError::Parent(Member::Node(1)));
    assert_eq!(refused(&[root(fifo)], &[leaf(0, NONE), leaf(1, NONE)]), HierarchyError::Parent(Member::Leaf(Flow(1))));
    assert_eq!(refused(&[root(fifo), node(0, fifo, NONE)], &[leaf(0, NONE)]), HierarchyError::Childless(1));
    let strict = root(SchedulerKind::StrictPriority);
    let error = refused(&[strict, node(0, fifo, priority(0))], &[leaf(1, NONE), leaf(0, NONE)]);
    let HierarchyError::Parameters { node: 0, child: Some(Member::Leaf(Flow(1))), parameter: Parameter::Priority, .. } = error else {
        panic!("{error}")
    };
    let mut greedy = leaf(0, NONE);
    greedy.shape = Some(ShapingContract::new(megabits(1), 10, LONGEST));
    let error = refused(&[root(fifo)], &[greedy]);
    assert!(matches!(error, HierarchyError::Shape(Member::Leaf(Flow(0)), _)), "{error}");
    assert_eq!(HierarchyError::Childless(1).to_string(), "node 1: nothing hangs below it; remove it or give it a child");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 2, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn strict_priority_holds_between_groups(steps in steps()) {
        // Whenever a packet of the lower group starts, the upper one has nothing left: all that arrived before has departed before.
        let nodes = [
            root(SchedulerKind::StrictPriority),
            node(0, SchedulerKind::DeficitRoundRobin, priority(0)),
            node(0, SchedulerKind::Wf2qPlus, priority(1)),
        ];
        let leaves: Vec<_> = (0..6).map(|flow| leaf(1 + flow % 2, weight(1 + flow as u32))).collect();
        let steps: Vec<Step> = steps.into_iter().filter(|step| matches!(step, Step::Arrive { doomed: false, .. } | Step::Send)).collect();
        let departures = run(build(&nodes, &leaves), 6, &steps, 0, Time::ZERO);
        // Departures happen one per `Send`, so the backlog of each group can be counted along.
        let (mut backlog, mut next) = ([0, 0], departures.iter());
        for step in steps.iter().chain(std::iter::repeat_n(&Step::Send, departures.len())) {
            match step {
                Step::Arrive { flow, .. } => backlog[flow % 6 % 2] += 1,
                _ => {
                    let Some(departure) = (backlog != [0, 0]).then(|| next.next()).flatten() else { continue };
                    let group = departure.flow % 2;
                    prop_assert!(group == 0 || backlog[0] == 0);
                    backlog[group] -= 1;
                }
            }
        }
    }

    #[test]
    fn contracts_are_kept_on_every_level(steps in steps(), origin in origin()) {
        // All within minutes, so that the policers need no refreshing.
        let steps: Vec<Step> = steps.into_iter().map(within_seconds).collect();
        let departures = run(shaped_office(), 6, &steps, 11, origin);
        for (flows, contract) in FLOWS_OF_CONTRACT.iter().zip(contracts()) {
            prop_assert_eq!(first_violation(&departures, flows, &contract, origin), None, "flows {:?}", flows);
        }
    }

    #[test]
    fn siblings_stay_together_on_every_level(
        tree in prop::collection::vec((0usize..20, 1u32..6), 1..7),
        flows in prop::collection::vec((0usize..20, 1u32..6), 2..9),
        lengths in prop::collection::vec(40..=LONGEST, 7),
    ) {
        // DRR everywhere and everything backlogged: any two siblings, flows or groups, keep the fairness bound of DRR.
        let mut nodes = vec![root(SchedulerKind::DeficitRoundRobin)];
        for (index, &(parent, share)) in tree.iter().enumerate() {
            nodes.push(node(parent % (index + 1), SchedulerKind::DeficitRoundRobin, weight(share)));
        }
        let mut leaves: Vec<_> = flows.iter().map(|&(parent, share)| leaf(parent % nodes.len(), weight(share))).collect();
        leaves.extend((0..nodes.len()).map(|parent| leaf(parent, weight(1))));
        let all: Vec<usize> = (0..leaves.len()).collect();
        let packets = 400;
        let departures = run(build(&nodes, &leaves), leaves.len(), &saturate(&all, &lengths, packets), 0, Time::ZERO);
        // Members are the nodes and then the leaves; a packet counts for its leaf and everything above.
        let parent = |member: usize| if member < nodes.len() { nodes[member].parent } else { Some(leaves[member - nodes.len()].parent) };
        let share = |member: usize| {
            let parameters = if member < nodes.len() { nodes[member].parameters } else { leaves[member - nodes.len()].parameters };
            i64::from(parameters.weight.unwrap_or(1))
        };
        let members = nodes.len() + leaves.len();
        let pairs: Vec<_> = (1..members).flat_map(|i| (1..i).map(move |j| (i, j))).filter(|&(i, j)| parent(i) == parent(j)).collect();
        let mut sent = vec![0i64; members];
        let mut extremes = vec![(0i64, 0i64); pairs.len()];
        for departure in &departures[..packets] {
            let mut member = Some(nodes.len() + departure.flow);
            while let Some(at) = member {
                sent[at] += i64::from(departure.length);
                member = parent(at);
            }
            for (&(i, j), (low, high)) in pairs.iter().zip(&mut extremes) {
                let least = (1..members).filter(|&other| parent(other) == parent(i)).map(share).min().unwrap();
                let difference = least * (sent[i] * share(j) - sent[j] * share(i));
                (*low, *high) = (difference.min(*low), difference.max(*high));
                prop_assert!(*high - *low <= 3 * i64::from(LONGEST) * share(i) * share(j), "members {} and {}", i, j);
            }
        }
    }

    #[test]
    fn the_order_is_that_of_a_model_that_asks_the_whole_tree(
        tree in prop::collection::vec((0usize..20, 0usize..3, 1u32..5), 0..6),
        flows in prop::collection::vec((0usize..20, 1u32..5), 1..7),
        steps in steps(),
    ) {
        let kinds = [SchedulerKind::DeficitRoundRobin, SchedulerKind::WeightedRoundRobin, SchedulerKind::StrictPriority];
        let parameters = |value| FlowParameters { priority: Some(value), weight: Some(value), ..NONE };
        let mut nodes = vec![root(kinds[tree.len() % 3])];
        for (index, &(parent, kind, value)) in tree.iter().enumerate() {
            nodes.push(node(parent % (index + 1), kinds[kind], parameters(value)));
        }
        let mut leaves: Vec<_> = flows.iter().map(|&(parent, value)| leaf(parent % nodes.len(), parameters(value))).collect();
        leaves.extend((0..nodes.len()).map(|parent| leaf(parent, parameters(2))));
        let steps: Vec<Step> = steps.into_iter().map(without_doom).collect();
        let departures = run(build(&nodes, &leaves), leaves.len(), &steps, 0, Time::ZERO);
        let mut model = model::Tree::new(&nodes, &leaves);
        let modelled = model.run(&steps, &departures);
        let order: Vec<_> = departures.iter().map(|departure| (departure.flow, departure.length)).collect();
        prop_assert_eq!(order, modelled);
    }
}

fn within_seconds(step: Step) -> Step {
    match step {
        Step::Pause(span) => Step::Pause(span.min(Duration::from_seconds(1))),
        other => other,
    }
}

fn without_doom(step: Step) -> Step {
    match step {
        Step::Arrive { flow, length, .. } => Step::Arrive { flow, length, doomed: false },
        // The model has no clock: it polls exactly when the link is free, which it is after a pause.
        Step::Poll => Step::Send,
        other => other,
    }
}

/// A tree in which every node asks its children each time, without remembering what they said.
mod model {
    use super::*;

    pub struct Tree {
        nodes: Vec<Node>,
        queues: Vec<VecDeque<u32>>,
        /// The parent of each member: nodes first, then leaves.
        parents: Vec<Option<usize>>,
    }

    struct Node {
        kind: SchedulerKind,
        /// Weight or priority of each member of the tree; only those of its children count.
        values: Vec<u32>,
        /// The least weight of its children.
        least: u32,
        /// The backlogged children in line.
        line: Vec<usize>,
        /// What each child may still send in its turn: bytes times `least`, or packets, or 1 if it has not had its turn.
        left: Vec<i64>,
        begun: bool,
        in_service: bool,
    }

    impl Tree {
        pub fn new(nodes: &[NodeSpec], leaves: &[LeafSpec]) -> Tree {
            let parents: Vec<_> = nodes.iter().map(|node| node.parent).chain(leaves.iter().map(|leaf| Some(leaf.parent))).collect();
            let parameters = nodes.iter().map(|node| node.parameters).chain(leaves.iter().map(|leaf| leaf.parameters));
            let values: Vec<u32> = parameters.map(|parameters| parameters.weight.unwrap_or(1)).collect();
            let node = |(index, node): (usize, &NodeSpec)| Node {
                kind: node.scheduler,
                values: values.clone(),
                least: (0..parents.len()).filter(|&child| parents[child] == Some(index)).map(|child| values[child]).min().unwrap(),
                line: Vec::new(),
                left: vec![0; parents.len()],
                begun: false,
                in_service: false,
            };
            let nodes = nodes.iter().enumerate().map(node).collect();
            Tree { nodes, queues: vec![VecDeque::new(); leaves.len()], parents }
        }

        /// Carries out the steps as the link has done; its departures tell how often it found something to send.
        pub fn run(&mut self, steps: &[Step], departures: &[Departure]) -> Vec<(usize, u32)> {
            let flows = self.queues.len();
            let mut sent = Vec::new();
            for &step in steps {
                match step {
                    Step::Arrive { flow, length, .. } => {
                        self.queues[flow % flows].push_back(length);
                        self.join(self.nodes.len() + flow % flows);
                    }
                    Step::LoseHead(flow) => self.lose(flow % flows, VecDeque::pop_front),
                    Step::LoseTail(flow) => self.lose(flow % flows, VecDeque::pop_back),
                    Step::Purge(flow, left) => {
                        while self.queues[flow % flows].len() > left {
                            self.lose(flow % flows, VecDeque::pop_front);
                        }
                    }
                    Step::Poll | Step::Send => sent.extend(self.send()),
                    Step::Pause(_) | Step::Change(_) => {}
                }
            }
            while sent.len() < departures.len() {
                sent.extend(self.send());
            }
            sent
        }

        fn lose(&mut self, flow: usize, take: impl Fn(&mut VecDeque<u32>) -> Option<u32>) {
            if take(&mut self.queues[flow]).is_some() && self.queues[flow].is_empty() {
                self.leave(self.nodes.len() + flow);
            }
        }

        /// Puts a member in its parent's line, and the parent in its own, if they are not there yet.
        fn join(&mut self, member: usize) {
            let Some(parent) = self.parents[member] else { return };
            if !self.nodes[parent].line.contains(&member) {
                self.nodes[parent].line.push(member);
                self.nodes[parent].left[member] = match self.nodes[parent].kind {
                    SchedulerKind::DeficitRoundRobin => 0,
                    SchedulerKind::WeightedRoundRobin => i64::from(self.nodes[parent].values[member]),
                    _ => 1,
                };
                self.join(parent);
            }
        }

        /// Takes a member out of its parent's line, and the parent out of its own if it has nothing left and is not being served.
        fn leave(&mut self, member: usize) {
            let Some(parent) = self.parents[member] else { return };
            let node = &mut self.nodes[parent];
            node.begun &= node.line.first() != Some(&member);
            node.line.retain(|&other| other != member);
            if node.line.is_empty() && !node.in_service {
                self.leave(parent);
            }
        }

        fn send(&mut self) -> Option<(usize, u32)> {
            for node in (0..self.nodes.len()).rev() {
                if std::mem::take(&mut self.nodes[node].in_service) && self.nodes[node].line.is_empty() {
                    self.leave(node);
                }
            }
            // Everybody makes up their mind, from the bottom up; the last to do so is the root.
            for node in (0..self.nodes.len()).rev() {
                self.choose(node);
            }
            let mut path = vec![0];
            while let Some(&node) = path.last().filter(|&&last| last < self.nodes.len()) {
                path.push(self.choose(node)?);
            }
            let flow = path.last()? - self.nodes.len();
            let length = self.queues[flow].pop_front()?;
            for pair in path.windows(2) {
                let (node, child) = (&mut self.nodes[pair[0]], pair[1]);
                node.in_service = true;
                node.left[child] -=
                    if node.kind == SchedulerKind::DeficitRoundRobin { i64::from(length) * i64::from(node.least) } else { 1 };
            }
            if self.queues[flow].is_empty() {
                self.leave(flow + self.nodes.len());
            }
            Some((flow, length))
        }

        /// The child that the node would serve next.
        fn choose(&mut self, node: usize) -> Option<usize> {
            loop {
                let (kind, begun) = (self.nodes[node].kind, self.nodes[node].begun);
                let values = &self.nodes[node].values;
                let front = match kind {
                    SchedulerKind::StrictPriority => *self.nodes[node].line.iter().min_by_key(|&&child| values[child])?,
                    _ => *self.nodes[node].line.first()?,
                };
                let value = i64::from(values[front]);
                let price = i64::from(self.head(front)?) * i64::from(self.nodes[node].least);
                let node = &mut self.nodes[node];
                match kind {
                    SchedulerKind::DeficitRoundRobin if !begun => {
                        node.left[front] += value * i64::from(LONGEST);
                        node.begun = true;
                        continue;
                    }
                    SchedulerKind::DeficitRoundRobin if node.left[front] >= price => return Some(front),
                    SchedulerKind::WeightedRoundRobin | SchedulerKind::StrictPriority if node.left[front] > 0 => return Some(front),
                    SchedulerKind::WeightedRoundRobin => node.left[front] = value,
                    SchedulerKind::StrictPriority => node.left[front] = 1,
                    _ => {}
                }
                // The turn passes on.
                node.begun = false;
                node.line.retain(|&child| child != front);
                node.line.push(front);
            }
        }

        /// The length of the packet that a member would send next.
        fn head(&mut self, member: usize) -> Option<u32> {
            match member.checked_sub(self.nodes.len()) {
                Some(flow) => self.queues[flow].front().copied(),
                None => self.choose(member).and_then(|child| self.head(child)),
            }
        }
    }
}
