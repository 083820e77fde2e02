//! The laws of `tidegate_core::scheduler`, checked for every registered scheduler: alone, shaped, and in hierarchies of one and of three
//! levels. The same checks are shown to catch schedulers that break each law.

mod restless;
mod workload;

use proptest::prelude::*;
use restless::Restless;
use std::collections::BTreeMap;
use tidegate_core::buffer::{Admission, Arrival, BufferManager, Victim};
use tidegate_core::classifier::{ClassRules, Classifier};
use tidegate_core::observer::Observer;
use tidegate_core::packet::{Colour, DropReason, Flow, Head, Packet};
use tidegate_core::port::{Port, PortSetup};
use tidegate_core::queue::{Backlog, Occupancy};
use tidegate_core::registry::{AnyScheduler, SchedulerKind};
use tidegate_core::scheduler::{BuildError, Decision, FlowParameters, Hierarchy, LeafSpec, NodeSpec, Scheduler};
use tidegate_core::shaper::{Bucket, Shaped, ShapingContract};
use tidegate_core::units::{Duration, Overhead, Rate, Time};
use workload::{Breach, Case, LONGEST, Liberties, Link, Step, Wishes, assert_holds, breach, cases, link_rate, setup, wishes};

/// Something that can build a scheduler for any flows.
struct Subject<'a, S> {
    name: String,
    liberties: Liberties,
    build: &'a dyn Fn(&[Wishes]) -> S,
}

impl<S: Scheduler> Subject<'_, S> {
    fn link(&self, flows: &[Wishes], origin: Time) -> Link<'_, S> {
        Link::new((self.build)(flows), self.liberties, flows.len(), origin)
    }

    /// Laws 1 to 3, the order within each flow, and conservation; then that nothing but the calls counts: not the origin of time and
    /// nothing outside the scheduler.
    fn basic_laws(&self, (flows, steps, origin): &Case) -> Result<(), Breach> {
        let sent = self.link(flows, *origin).run(steps, true)?;
        let mut last = BTreeMap::new();
        for departure in &sent {
            if last.insert(departure.flow, departure.number).is_some_and(|last| last > departure.number) {
                return Err(breach(0, format!("flow {} out of order", departure.flow)));
            }
        }
        let elsewhere = self.link(flows, Time::ZERO).run(steps, true)?;
        if sent != elsewhere {
            let at = sent.iter().zip(&elsewhere).position(|(one, other)| one != other);
            return Err(breach(0, format!("another origin of time, another order: from departure {at:?} on")));
        }
        Ok(())
    }

    /// Law 4: a head that is lost at once might as well never have come.
    fn lost_heads_are_not_charged(&self, (flows, steps, origin): &Case) -> Result<(), Breach> {
        let with = self.link(flows, *origin).run(steps, true)?;
        let without = self.link(flows, *origin).run(steps, false)?;
        match with.iter().zip(&without).find(|(one, other)| one != other) {
            Some((one, other)) => Err(breach(4, format!("with lost heads {one:?}, without {other:?}"))),
            None if with.len() != without.len() => Err(breach(4, "as many heads lost, but not as many packets sent")),
            None => Ok(()),
        }
    }

    /// Law 5: flows that differ in nothing are served in the order in which they became backlogged, be it on an idle link or while a
    /// packet of another is being sent.
    fn ties_break_by_activation(&self, (wishes, order, length, busy): &(Wishes, Vec<usize>, u32, bool)) -> Result<(), Breach> {
        let flows = order.len();
        let mut steps = Vec::new();
        if *busy {
            let (flow, length) = (flows, LONGEST);
            steps.extend([Step::Arrive { flow, length, doomed: false }, Step::Send]);
        }
        steps.extend(order.iter().map(|&flow| Step::Arrive { flow, length: *length, doomed: false }));
        let sent = self.link(&vec![*wishes; flows + 1], Time::ZERO).run(&steps, true)?;
        let served: Vec<usize> = sent.iter().map(|departure| departure.flow).skip(usize::from(*busy)).collect();
        let (mut order, is_by_flow) = (order.clone(), served.is_sorted());
        if self.liberties.ties_by_flow && is_by_flow {
            order.sort_unstable();
        }
        if served == order { Ok(()) } else { Err(breach(5, format!("activated {order:?}, served {served:?}"))) }
    }

    /// All laws on many cases.
    fn check(&self) -> Result<(), Breach> {
        assert_holds(64, &cases(), |case| self.basic_laws(case))?;
        assert_holds(64, &cases(), |case| self.lost_heads_are_not_charged(case))?;
        let orders = (1usize..7).prop_flat_map(|flows| Just((0..flows).collect::<Vec<_>>()).prop_shuffle());
        assert_holds(32, &(wishes(), orders, 40..=LONGEST, any::<bool>()), |case| self.ties_break_by_activation(case))
    }
}

fn flat(kind: SchedulerKind, flows: &[Wishes]) -> AnyScheduler {
    let parameters: Vec<FlowParameters> = flows.iter().map(|flow| flow.parameters(kind)).collect();
    kind.build(&setup(), &parameters).unwrap()
}

/// Contracts of every sort for the flows: none, tight, with bursts from either bucket, with a peak rate. There are more sorts than levels of
/// a tree, so that flows of one level differ.
fn contract(index: usize, flow: &Wishes) -> Option<ShapingContract> {
    let rate = Rate::new(flow.kilobits * 1000).unwrap();
    let peak = Rate::new(flow.kilobits * 4000).unwrap();
    match index % 5 {
        0 => Some(ShapingContract::new(rate, LONGEST, LONGEST)),
        1 => None,
        2 => Some(ShapingContract { bucket: Bucket::Dual, ..ShapingContract::new(rate, 4 * LONGEST, LONGEST) }),
        3 => Some(ShapingContract::new(rate, 4 * LONGEST, LONGEST)),
        _ => Some(ShapingContract {
            peak: Some(peak),
            tolerance: Duration::from_microseconds(200),
            ..ShapingContract::new(rate, 3 * LONGEST, LONGEST)
        }),
    }
}

fn shaped(kind: SchedulerKind, flows: &[Wishes]) -> AnyScheduler {
    let contracts: Vec<_> = flows.iter().enumerate().map(|(index, flow)| contract(index, flow)).collect();
    AnyScheduler::Shaped(Box::new(Shaped::new(flat(kind, flows), &contracts).unwrap()))
}

fn node(parent: Option<usize>, scheduler: SchedulerKind, wishes: &Wishes, parent_kind: SchedulerKind) -> NodeSpec {
    NodeSpec::new(parent, scheduler, link_rate(), wishes.parameters(parent_kind))
}

fn one_level(kind: SchedulerKind, flows: &[Wishes], shaping: bool) -> AnyScheduler {
    let leaves: Vec<LeafSpec> = (flows.iter().enumerate())
        .map(|(index, flow)| LeafSpec {
            parent: 0,
            parameters: flow.parameters(kind),
            shape: if shaping { contract(index, flow) } else { None },
        })
        .collect();
    AnyScheduler::Hierarchy(Box::new(Hierarchy::build(LONGEST, &[node(None, kind, &Wishes::DEFAULT, kind)], &leaves).unwrap()))
}

/// Every node has the same discipline; flows hang at all levels. With shaping, so do contracts.
fn three_levels(kind: SchedulerKind, flows: &[Wishes], shaping: bool) -> AnyScheduler {
    let first = Wishes { weight: 2, ..Wishes::DEFAULT };
    let mut nodes = [
        node(None, kind, &Wishes::DEFAULT, kind),
        node(Some(0), kind, &first, kind),
        node(Some(0), kind, &Wishes::DEFAULT, kind),
        node(Some(1), kind, &Wishes::DEFAULT, kind),
    ];
    if shaping {
        nodes[1].shape = Some(ShapingContract::new(Rate::new(3_000_000).unwrap(), 2 * LONGEST, LONGEST));
        nodes[3].shape = Some(ShapingContract::new(Rate::new(2_000_000).unwrap(), LONGEST, LONGEST));
    }
    // Every node needs something below it: flow 0 may be alone, so it is joined by flows that never send.
    let mut leaves: Vec<LeafSpec> = (flows.iter().enumerate())
        .map(|(index, flow)| LeafSpec {
            parent: [3, 2, 1, 0][index % 4],
            parameters: flow.parameters(kind),
            shape: if shaping { contract(index, flow) } else { None },
        })
        .collect();
    leaves.extend([3, 2].map(|parent| LeafSpec { parent, parameters: Wishes::DEFAULT.parameters(kind), shape: None }));
    AnyScheduler::Hierarchy(Box::new(Hierarchy::build(LONGEST, &nodes, &leaves).unwrap()))
}

/// How often in a row a scheduler of this kind may wait, if contracts make it wait `waits` times. Without contracts, one that shapes has
/// nothing to wait for either. Shaped virtual clocks break ties by flow.
fn liberties(kind: SchedulerKind, waits: usize) -> Liberties {
    let ties_by_flow = matches!(kind, SchedulerKind::ShapedVirtualClock | SchedulerKind::IntegratedServices);
    Liberties { waits: if kind.is_work_conserving() || kind.shapes() { waits } else { 250 }, ties_by_flow }
}

fn for_every_kind(composition: &str, waits: usize, build: impl Fn(SchedulerKind, &[Wishes]) -> AnyScheduler) {
    for &kind in SchedulerKind::ALL {
        let name = format!("{composition} {}", kind.name());
        let subject = Subject { name, liberties: liberties(kind, waits), build: &|flows| build(kind, flows) };
        assert_eq!(subject.check(), Ok(()), "{}", subject.name);
    }
}

#[test]
fn every_scheduler_keeps_the_laws() {
    for_every_kind("plain", 0, flat);
}

#[test]
fn every_shaped_scheduler_keeps_the_laws() {
    for_every_kind("shaped", 1, shaped);
}

/// Order of release is not that of activation, so the law of ties is not for these.
#[test]
fn every_scheduler_that_shapes_by_itself_keeps_the_other_laws() {
    for &kind in SchedulerKind::ALL.iter().filter(|kind| kind.shapes()) {
        let build = |flows: &[Wishes]| {
            let shaped = |(index, flow): (usize, &Wishes)| FlowParameters { shape: contract(index, flow), ..flow.parameters(kind) };
            let parameters: Vec<FlowParameters> = flows.iter().enumerate().map(shaped).collect();
            kind.build(&setup(), &parameters).unwrap()
        };
        let subject = Subject { name: format!("contracted {}", kind.name()), liberties: liberties(kind, 1), build: &build };
        assert_eq!(assert_holds(256, &cases(), |case| subject.basic_laws(case)), Ok(()), "{}", subject.name);
        assert_eq!(assert_holds(256, &cases(), |case| subject.lost_heads_are_not_charged(case)), Ok(()), "{}", subject.name);
    }
}

#[test]
fn every_one_level_hierarchy_keeps_the_laws() {
    for_every_kind("one level of", 0, |kind, flows| one_level(kind, flows, false));
}

#[test]
fn every_shaped_one_level_hierarchy_keeps_the_laws() {
    for_every_kind("one shaped level of", 1, |kind, flows| one_level(kind, flows, true));
}

#[test]
fn every_hierarchy_keeps_the_laws() {
    for &kind in SchedulerKind::ALL {
        let subject = Subject {
            name: format!("three levels of {}", kind.name()),
            liberties: liberties(kind, 0),
            build: &|flows: &[Wishes]| three_levels(kind, flows, false),
        };
        assert_eq!(assert_holds(96, &cases(), |case| subject.basic_laws(case)), Ok(()), "{}", subject.name);
        assert_eq!(assert_holds(96, &cases(), |case| subject.lost_heads_are_not_charged(case)), Ok(()), "{}", subject.name);
    }
}

#[test]
fn every_shaped_hierarchy_keeps_the_laws() {
    for &kind in SchedulerKind::ALL {
        let subject = Subject {
            name: format!("three shaped levels of {}", kind.name()),
            // A flow whose contract lets it go may find that its group's does not: each of the ten members may wait once.
            liberties: liberties(kind, 10),
            build: &|flows: &[Wishes]| three_levels(kind, flows, true),
        };
        assert_eq!(assert_holds(96, &cases(), |case| subject.basic_laws(case)), Ok(()), "{}", subject.name);
        assert_eq!(assert_holds(96, &cases(), |case| subject.lost_heads_are_not_charged(case)), Ok(()), "{}", subject.name);
    }
}

/// Law 4 for suspended flows, such as a group that comes back for a packet that is lost at once.
#[test]
fn a_suspended_flow_that_comes_back_and_goes_again_changes_nothing() {
    for &kind in SchedulerKind::ALL {
        let law = |(flows, steps, origin): &Case| {
            let contracts: Vec<_> = flows.iter().enumerate().map(|(index, flow)| contract(index, flow)).collect();
            let with = Shaped::<_>::new(Restless::new(flat(kind, flows)), &contracts).unwrap();
            let without = Shaped::<_>::new(flat(kind, flows), &contracts).unwrap();
            let liberties = liberties(kind, 1);
            let with = Link::new(with, liberties, flows.len(), *origin).run(steps, true)?;
            if with == Link::new(without, liberties, flows.len(), *origin).run(steps, true)? {
                Ok(())
            } else {
                Err(breach(4, "a visit without a packet changes the order"))
            }
        };
        assert_eq!(assert_holds(128, &cases(), law), Ok(()), "{}", kind.name());
    }
}

/// An inner node of a random tree: its parent and its discipline (both modulo what there is), what it is given, and whether it is shaped.
type Branch = (usize, usize, Wishes, bool);

/// A tree of any form, any disciplines and any assignment of contracts; a node without a flow gets one that never sends.
fn mixed(branches: &[Branch], flows: &[Wishes]) -> AnyScheduler {
    let kind = |index: usize| SchedulerKind::ALL[branches[index].1 % SchedulerKind::ALL.len()];
    let any_contract = |given: &Wishes| contract(given.microseconds as usize, given);
    let mut nodes = vec![node(None, kind(0), &Wishes::DEFAULT, kind(0))];
    for (index, (parent, _, given, is_shaped)) in branches.iter().enumerate().skip(1) {
        let parent = parent % index;
        let mut branch = node(Some(parent), kind(index), given, kind(parent));
        branch.shape = any_contract(given).filter(|_| *is_shaped);
        nodes.push(branch);
    }
    let leaf = |parent: usize, given: &Wishes, shape| LeafSpec { parent, parameters: given.parameters(kind(parent)), shape };
    let mut leaves: Vec<_> = (flows.iter().enumerate())
        .map(|(index, flow)| leaf((index * 5 + 3) % nodes.len(), flow, any_contract(flow).filter(|_| branches[0].3)))
        .collect();
    leaves.extend((0..nodes.len()).map(|parent| leaf(parent, &Wishes::DEFAULT, None)));
    AnyScheduler::Hierarchy(Box::new(Hierarchy::build(LONGEST, &nodes, &leaves).unwrap()))
}

#[test]
fn trees_of_any_form_keep_the_laws() {
    let branches = prop::collection::vec((0usize..20, 0usize..20, wishes(), prop::bool::weighted(0.3)), 1..8);
    let law = |(branches, case): &(Vec<Branch>, Case)| {
        let liberties = Liberties { waits: 250, ties_by_flow: true };
        let subject = Subject { name: String::new(), liberties, build: &|flows: &[Wishes]| mixed(branches, flows) };
        subject.basic_laws(case)?;
        subject.lost_heads_are_not_charged(case)?;
        through_a_port(mixed(branches, &case.0), case.0.len() + branches.len(), &case.1, case.2).map(|_| ())
    };
    assert_eq!(assert_holds(512, &(branches, cases()), law), Ok(()));
}

/// Differs from `flat` in nothing but the composition.
#[test]
fn a_tree_of_one_level_is_the_scheduler_itself() {
    for &kind in SchedulerKind::ALL {
        let same = |(flows, steps, origin): &Case, waits, one: AnyScheduler, other: AnyScheduler| {
            let run = |scheduler| Link::new(scheduler, liberties(kind, waits), flows.len(), *origin).run(steps, true);
            if run(one)? == run(other)? { Ok(()) } else { Err(breach(0, "another order")) }
        };
        let plain = assert_holds(96, &cases(), |case| same(case, 0, flat(kind, &case.0), one_level(kind, &case.0, false)));
        assert_eq!(plain, Ok(()), "{}", kind.name());
        // A link that has not been asked for months finds many flows due, whose order is then a matter of how they were kept.
        let prompt = |(flows, steps, origin): &Case| {
            let within_seconds = |step: &Step| match *step {
                Step::Pause(span) => Step::Pause(span.min(Duration::from_seconds(2))),
                other => other,
            };
            (flows.clone(), steps.iter().map(within_seconds).collect(), *origin)
        };
        let shaping = assert_holds(96, &cases(), |case| {
            let case = prompt(case);
            same(&case, 1, shaped(kind, &case.0), one_level(kind, &case.0, true))
        });
        assert_eq!(shaping, Ok(()), "shaped {}", kind.name());
    }
}

/// A buffer manager that, above its limit, pushes out heads and tails of any queue, by turns.
#[derive(Clone, Debug)]
struct Ruthless {
    limit: u32,
    victims: u32,
}

impl BufferManager for Ruthless {
    fn admit<O: Backlog>(&mut self, _arrival: &Arrival, backlog: &O) -> Admission {
        let occupancy = backlog.port();
        if occupancy.packets() < self.limit {
            return Admission::Accept;
        }
        self.victims = self.victims.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let start = (self.victims >> 8) as usize;
        let flow = (0..occupancy.flows()).map(|step| Flow(((start + step) % occupancy.flows()) as u32));
        let flow = flow.into_iter().find(|&flow| occupancy.flow_packets(flow) > 0);
        match flow {
            Some(flow) if self.victims >> 31 == 0 => Admission::PushOut(Victim::Head(flow)),
            Some(flow) => Admission::PushOut(Victim::Tail(flow)),
            None => Admission::Refuse(DropReason::SharedLimit),
        }
    }
}

/// Everything a port has told, in order.
#[derive(Default, PartialEq, Debug)]
struct Log {
    sent: Vec<(Time, u32, u32)>,
    dropped: Vec<(Time, u32, u32)>,
}

impl Observer<u32> for Log {
    fn sent(&mut self, now: Time, packet: &Packet<u32>, _finish: Time, _occupancy: &Occupancy) {
        self.sent.push((now, packet.flow.0, packet.payload));
    }

    fn dropped(&mut self, now: Time, packet: Packet<u32>, _reason: DropReason, _occupancy: &Occupancy) {
        self.dropped.push((now, packet.flow.0, packet.payload));
    }
}

fn through_a_port(scheduler: AnyScheduler, flows: usize, steps: &[Step], origin: Time) -> Result<Log, Breach> {
    let queues = ClassRules { name: "all".into(), queues: flows as u32, rules: Vec::new() };
    let setup = PortSetup {
        rate: link_rate(),
        overhead: Overhead::None,
        classifier: Classifier::new(vec![queues], 0).unwrap(),
        policers: vec![None],
        aqms: Vec::new(),
        seed: 0,
        buffer: Ruthless { limit: 5, victims: 1 },
        scheduler,
        packet_limit: 8,
        longest_frame: LONGEST,
        remarks: Default::default(),
    };
    let mut port: Port<u32, AnyScheduler, Ruthless> = Port::new(origin, setup);
    let (mut now, mut number, mut log) = (origin, 0, Log::default());
    let advance = |port: &mut Port<_, _, _>, log: &mut Log, now| port.advance(now, log, |_| {});
    for &step in steps {
        match step {
            Step::Arrive { flow, length, .. } => {
                advance(&mut port, &mut log, now);
                number += 1;
                port.offer(now, Flow((flow % flows) as u32), length, Colour::Green, number, &mut log);
            }
            Step::Pause(span) => now += Duration::from_picoseconds(span.picoseconds().min(1 << 61)),
            _ => now += Duration::from_microseconds(70),
        }
        port.check().map_err(|unbalanced| breach(0, unbalanced.to_string()))?;
    }
    while let Some(wake) = advance(&mut port, &mut log, now) {
        now = wake;
    }
    let mut last = vec![0; flows];
    for &(_, flow, number) in &log.sent {
        if std::mem::replace(&mut last[flow as usize], number) >= number {
            return Err(breach(0, format!("flow {flow} out of order")));
        }
    }
    let accounted = log.sent.len() + log.dropped.len();
    if accounted == number as usize { Ok(log) } else { Err(breach(0, format!("{accounted} of {number} packets left or were dropped"))) }
}

#[test]
fn a_port_keeps_order_and_loses_nothing_with_any_scheduler() {
    type Build = fn(SchedulerKind, &[Wishes]) -> AnyScheduler;
    let compositions: [(&str, Build); 4] = [
        ("plain", flat),
        ("shaped", shaped),
        ("three levels of", |kind, flows| three_levels(kind, flows, false)),
        ("three shaped levels of", |kind, flows| three_levels(kind, flows, true)),
    ];
    for &kind in SchedulerKind::ALL {
        for (composition, build) in compositions {
            let law = |(flows, steps, origin): &Case| {
                let first = through_a_port(build(kind, flows), leaves(flows.len(), composition), steps, *origin)?;
                let second = through_a_port(build(kind, flows), leaves(flows.len(), composition), steps, *origin)?;
                if first == second { Ok(()) } else { Err(breach(0, "the same again gives something else")) }
            };
            assert_eq!(assert_holds(32, &cases(), law), Ok(()), "{composition} {}", kind.name());
        }
    }
}

/// The flows of a composition: trees have two more.
fn leaves(flows: usize, composition: &str) -> usize {
    if composition.contains("levels") { flows + 2 } else { flows }
}

/// How a scheduler is broken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Flaw {
    None,
    NamesAnIdleFlow,
    AsksTwiceAnswersTwice,
    WaitsWhileBacklogged,
    WaitsForThePast,
    ForgetsAFlow,
    ChargesALostHead,
    ChargesALostHeadWithoutSuccessor,
    BreaksTiesBackwards,
    CountsFromTheOriginOfTime,
}

/// Serves the flow that has sent least, in bytes; of equals the one that became backlogged first. Slow, obvious, and broken as ordered.
struct Mutant {
    flaw: Flaw,
    sent: Vec<u64>,
    /// Backlogged flows with the lengths of their heads, in order of activation.
    backlogged: Vec<(Flow, u32)>,
    asked: u32,
}

impl Mutant {
    fn new(flaw: Flaw, flows: usize) -> Mutant {
        Mutant { flaw, sent: vec![0; flows], backlogged: Vec::new(), asked: 0 }
    }

    fn choose(&self) -> Option<Flow> {
        let least = |&(flow, _): &(Flow, u32)| self.sent[flow.index()];
        let chosen = match self.flaw {
            Flaw::BreaksTiesBackwards => self.backlogged.iter().rev().min_by_key(|&entry| least(entry)),
            _ => self.backlogged.iter().min_by_key(|&entry| least(entry)),
        };
        chosen.map(|&(flow, _)| flow)
    }

    fn head_length(&self, flow: Flow) -> u64 {
        self.backlogged.iter().find(|entry| entry.0 == flow).map_or(0, |entry| u64::from(entry.1))
    }

    fn change(&mut self, flow: Flow, next: Option<Head>) {
        match next {
            Some(head) => self.backlogged.iter_mut().filter(|entry| entry.0 == flow).for_each(|entry| entry.1 = head.length),
            None => self.backlogged.retain(|entry| entry.0 != flow),
        }
    }
}

impl Scheduler for Mutant {
    fn activate(&mut self, _now: Time, flow: Flow, head: Head) {
        self.backlogged.push((flow, head.length));
    }

    fn select(&mut self, now: Time) -> Decision {
        self.asked += 1;
        // The link asks twice each time, so that two calls in a row must agree.
        let every_fourth = self.asked.div_ceil(2).is_multiple_of(4);
        let Some(flow) = self.choose() else {
            return if self.flaw == Flaw::NamesAnIdleFlow && self.asked > 20 { Decision::Serve(Flow(0)) } else { Decision::Idle };
        };
        match self.flaw {
            Flaw::AsksTwiceAnswersTwice if self.backlogged.len() > 1 => {
                self.backlogged.rotate_left(1);
                Decision::Serve(self.backlogged[0].0)
            }
            Flaw::WaitsWhileBacklogged if every_fourth => Decision::WaitUntil(now + Duration::from_nanoseconds(1)),
            Flaw::WaitsForThePast if every_fourth => Decision::WaitUntil(now),
            Flaw::CountsFromTheOriginOfTime if now.picoseconds() >> 63 == 1 => Decision::Serve(self.backlogged[0].0),
            _ => Decision::Serve(flow),
        }
    }

    fn served(&mut self, _now: Time, flow: Flow, next: Option<Head>) {
        self.sent[flow.index()] += self.head_length(flow);
        let next = if self.flaw == Flaw::ForgetsAFlow && self.backlogged.len() == 3 { None } else { next };
        self.change(flow, next);
    }

    fn lost(&mut self, _now: Time, flow: Flow, next: Option<Head>) {
        let charged = match self.flaw {
            Flaw::ChargesALostHead => next.is_some(),
            Flaw::ChargesALostHeadWithoutSuccessor => next.is_none(),
            _ => false,
        };
        if charged {
            self.sent[flow.index()] += self.head_length(flow);
        }
        self.change(flow, next);
    }

    fn change(&mut self, _now: Time, _flow: Flow, _parameters: &FlowParameters) -> Result<(), BuildError> {
        Ok(())
    }

    fn forget(&mut self, _now: Time, _flow: Flow) {}
}

#[test]
fn every_broken_scheduler_is_caught_by_the_law_it_breaks() {
    let law_broken = |flaw, waits| {
        let liberties = Liberties { waits, ties_by_flow: false };
        let subject = Subject { name: format!("{flaw:?}"), liberties, build: &|flows: &[Wishes]| Mutant::new(flaw, flows.len()) };
        subject.check().map_err(|breach| breach.law)
    };
    assert_eq!(law_broken(Flaw::None, 0), Ok(()));
    assert_eq!(law_broken(Flaw::NamesAnIdleFlow, 0), Err(1));
    assert_eq!(law_broken(Flaw::AsksTwiceAnswersTwice, 0), Err(2));
    assert_eq!(law_broken(Flaw::WaitsWhileBacklogged, 0), Err(3));
    assert_eq!(law_broken(Flaw::WaitsForThePast, 1), Err(3));
    assert_eq!(law_broken(Flaw::ForgetsAFlow, 0), Err(3));
    assert_eq!(law_broken(Flaw::ChargesALostHead, 0), Err(4));
    assert_eq!(law_broken(Flaw::ChargesALostHeadWithoutSuccessor, 0), Err(4));
    assert_eq!(law_broken(Flaw::BreaksTiesBackwards, 0), Err(5));
    assert_eq!(law_broken(Flaw::CountsFromTheOriginOfTime, 0), Err(0));
}
