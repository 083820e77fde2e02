//! Shaped flows and trees that change while packets are queued: leaves and nodes with other contracts and parameters, leaves that come and go, and
//! trees that take over from others. Unchanged contracts are kept, nothing is lost or reordered, and a tree that takes over from its like
//! continues as the other would have.

mod forest;
mod workload;

use forest::{Events, Forest, Form, Trees, contracts, events, forests, policer};
use proptest::prelude::*;
use tidegate_core::packet::{Colour, Flow, Head};
use tidegate_core::policer::{Policer, Verdict};
use tidegate_core::registry::{AnyScheduler, SchedulerKind};
use tidegate_core::scheduler::{Decision, FlowParameters, Hierarchy, HierarchyError, LeafSpec, Member, NodeSpec, Scheduler, Setup};
use tidegate_core::shaper::{Allowance, Shaped, ShapingContract};
use tidegate_core::units::{Duration, Rate, Time};
use workload::{LONGEST, link_rate, origin};

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

/// A tree, a shaper and a scheduler that shapes, with a vacant place beside flow 0 of this contract.
fn shaped_alone(contract: ShapingContract) -> [AnyScheduler; 3] {
    let given = FlowParameters { shape: Some(contract), ..FlowParameters::default() };
    let (kind, setup) = (SchedulerKind::RateControlled, Setup { capacity: 2, ..Setup::new(link_rate(), LONGEST) });
    let fifo = SchedulerKind::Fifo.build(&setup, &[FlowParameters::default()]).unwrap();
    let node = NodeSpec::new(None, SchedulerKind::Fifo, link_rate(), FlowParameters::default());
    let leaf = LeafSpec { parent: 0, parameters: FlowParameters::default(), shape: Some(contract) };
    [
        AnyScheduler::Hierarchy(Box::new(Hierarchy::build(LONGEST, &[NodeSpec { capacity: 1, ..node }], &[leaf]).unwrap())),
        AnyScheduler::Shaped(Box::new(Shaped::new(fifo, &[Some(contract), None]).unwrap())),
        kind.build(&setup, &[given]).unwrap(),
    ]
}

fn head(number: u32) -> Head {
    Head { length: LONGEST, number, arrival: Time::ZERO, colour: Colour::Green }
}

#[test]
fn a_head_that_waits_leaves_when_the_new_contract_allows() {
    let contract = |kilobits: u64| ShapingContract::new(Rate::new(1000 * kilobits).unwrap(), LONGEST, LONGEST);
    let now = Time::from_nanoseconds(300_000);
    for kilobits in [100, 1000, 5000, 20_000, 100_000] {
        let mut allowance = contract(1000).allowance().unwrap();
        allowance.charge(Time::ZERO, LONGEST);
        allowance.change(now, Some(&contract(kilobits))).unwrap();
        for mut scheduler in shaped_alone(contract(1000)) {
            scheduler.start(Time::ZERO);
            scheduler.activate(Time::ZERO, Flow(0), head(0));
            assert!(matches!(scheduler.select(Time::ZERO), Decision::Serve(_)));
            scheduler.served(Time::ZERO, Flow(0), Some(head(1)));
            assert!(matches!(scheduler.select(now), Decision::WaitUntil(_)));
            let parameters = FlowParameters { shape: Some(contract(kilobits)), ..FlowParameters::default() };
            scheduler.change(now, Flow(0), &parameters).unwrap();
            assert_eq!(scheduler.select(now), Decision::WaitUntil(allowance.release()), "{kilobits} kbit/s");
            assert_eq!(scheduler.select(allowance.release()), Decision::Serve(Flow(0)));
            // Without a contract it leaves at once.
            scheduler.change(now, Flow(0), &FlowParameters::default()).unwrap();
            assert_eq!(scheduler.select(allowance.release()), Decision::Serve(Flow(0)));
        }
    }
}

#[test]
fn the_next_flow_in_a_place_finds_a_full_bucket() {
    // One packet, then two and a byte, because times are rounded against the stream.
    let contract = |packets: u32| ShapingContract::new(Rate::new(1_000_000).unwrap(), packets * LONGEST + packets - 1, LONGEST);
    for mut scheduler in shaped_alone(contract(1)) {
        scheduler.start(Time::ZERO);
        let mut number = 0;
        scheduler.forget(Time::ZERO, Flow(0));
        for (flow, packets) in [(0, 1), (0, 2), (1, 2), (1, 1), (0, 2)].map(|(flow, packets)| (Flow(flow), packets)) {
            scheduler
                .fill(Time::ZERO, flow, &LeafSpec { parent: 0, parameters: FlowParameters::default(), shape: Some(contract(packets)) })
                .unwrap();
            scheduler.activate(Time::ZERO, flow, head(number));
            for left in (0..packets).rev() {
                assert_eq!(scheduler.select(Time::ZERO), Decision::Serve(flow));
                number += 1;
                scheduler.served(Time::ZERO, flow, (left > 0).then(|| head(number)));
            }
            scheduler.forget(Time::ZERO, flow);
        }
    }
}

#[test]
fn a_place_is_taken_once() {
    let contract = ShapingContract::new(Rate::new(1_000_000).unwrap(), LONGEST, LONGEST);
    let [tree, ..] = shaped_alone(contract);
    let AnyScheduler::Hierarchy(mut tree) = tree else { unreachable!("the first is a tree") };
    let leaf = LeafSpec { parent: 0, parameters: FlowParameters::default(), shape: None };
    let mut fill = |flow| tree.fill(Time::ZERO, Flow(flow), &leaf);
    assert_eq!(fill(0), Err(HierarchyError::NotVacant(Flow(0))));
    assert_eq!(fill(1), Ok(()));
    assert_eq!(fill(1), Err(HierarchyError::NotVacant(Flow(1))));
    assert_eq!(fill(2), Err(HierarchyError::NotVacant(Flow(2))));
    assert_eq!(tree.fill(Time::ZERO, Flow(1), &LeafSpec { parent: 1, ..leaf }), Err(HierarchyError::NotVacant(Flow(1))));
    tree.forget(Time::ZERO, Flow(0));
    let error = Err(HierarchyError::Parent(Member::Leaf(Flow(0))));
    assert_eq!(tree.fill(Time::ZERO, Flow(0), &LeafSpec { parent: 1, ..leaf }), error);
    assert_eq!(tree.change_node(Time::ZERO, 1, &FlowParameters::default(), None), Err(HierarchyError::Parent(Member::Node(1))));
    assert_eq!(tree.fill(Time::ZERO, Flow(0), &leaf), Ok(()));
}

/// Every policer accepts everything of a contract while that stays as it is, and of a new one from the change on. Nothing is lost or reordered.
fn contracts_hold(form: Form, forest: &Forest, events: &[forest::Event], start: Time) -> Result<(), TestCaseError> {
    let mut trees = Trees::new(form, forest, start, true);
    for event in events {
        trees.play(event)?;
    }
    trees.finish()?;
    prop_assert_eq!(trees.sent.len() + trees.lost, trees.came);
    Ok(())
}

/// Two alike, one of which is replaced now and then, send the same packets at the same instants.
fn continues_alike(form: Form, forest: &Forest, events: &[forest::Event], start: Time) -> Result<(), TestCaseError> {
    let [mut one, mut other] = [false, true].map(|takes_over| Trees::new(form, forest, start, takes_over));
    for event in events {
        one.play(event)?;
        other.play(event)?;
        prop_assert_eq!(&one.sent, &other.sent);
    }
    one.finish()?;
    other.finish()?;
    prop_assert_eq!((&one.sent, one.lost), (&other.sent, other.lost));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2 * ProptestConfig::default().cases, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn contracts_in_trees_hold_across_changes(forest in forests(), events in events(Events::All), start in origin()) {
        contracts_hold(Form::Tree, &forest, &events, start)?;
    }

    #[test]
    fn contracts_of_flows_hold_across_changes(forest in forests(), events in events(Events::All), start in origin()) {
        contracts_hold(Form::Flat, &forest, &events, start)?;
    }

    #[test]
    fn a_tree_that_takes_over_from_its_like_continues_alike(forest in forests(), events in events(Events::Alike), start in origin()) {
        continues_alike(Form::Tree, &forest, &events, start)?;
    }

    #[test]
    fn a_shaper_that_takes_over_from_its_like_continues_alike(forest in forests(), events in events(Events::Alike), start in origin()) {
        continues_alike(Form::Flat, &forest, &events, start)?;
    }
}
