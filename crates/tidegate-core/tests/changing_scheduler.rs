//! Laws 7 and 8 of `tidegate_core::scheduler`, checked for every registered scheduler: flows change, leave and come while packets are queued,
//! and schedulers take over from each other. The same checks are shown to catch schedulers that break each law.

mod workload;

use proptest::prelude::*;
use std::collections::BTreeMap;
use tidegate_core::packet::{Colour, Flow, Head};
use tidegate_core::registry::{AnyScheduler, SchedulerKind};
use tidegate_core::scheduler::{BuildError, Decision, FlowParameters, Kept, Parameter, Scheduler, Setup, activate_in_order};
use tidegate_core::units::{Duration, Rate, Time};
use workload::{
    Breach, Case, Changing, LONGEST, Liberties, Link, Step, Verb, Wishes, assert_holds, breach, changing_steps, origin, setup, steps,
    wishes,
};

/// Something whose flows change, in as many places as there are wishes and one more.
struct Subject<'a, S> {
    kind: SchedulerKind,
    build: &'a dyn Fn(&[Wishes]) -> S,
}

fn cases() -> impl Strategy<Value = Case> {
    (prop::collection::vec(wishes(), 1..7), changing_steps(), origin())
}

impl<S: Scheduler> Subject<'_, S> {
    fn ties_by_flow(&self) -> bool {
        matches!(self.kind, SchedulerKind::ShapedVirtualClock | SchedulerKind::IntegratedServices)
    }

    fn liberties(&self) -> Liberties {
        Liberties { waits: if self.kind.is_work_conserving() { 0 } else { 250 }, ties_by_flow: self.ties_by_flow() }
    }

    fn link(&self, flows: &[Wishes], origin: Time, carries_out: fn(&Verb) -> bool) -> Link<'_, S> {
        let liberties = self.liberties();
        let changing = Changing { kind: self.kind, wishes: flows.to_vec(), build: self.build, carries_out };
        Link::new((self.build)(flows), liberties, flows.len(), origin).changing(changing)
    }

    /// Laws 1 to 3, the order within each flow and the independence of the origin of time, whatever changes.
    fn basic_laws(&self, (flows, steps, origin): &Case) -> Result<(), Breach> {
        let sent = self.link(flows, *origin, |_| true).run(steps, true)?;
        let mut last = BTreeMap::new();
        for departure in &sent {
            if last.insert(departure.flow, departure.number).is_some_and(|last| last > departure.number) {
                return Err(breach(0, format!("flow {} out of order", departure.flow)));
            }
        }
        let elsewhere = self.link(flows, Time::ZERO, |_| true).run(steps, true)?;
        if sent == elsewhere { Ok(()) } else { Err(breach(0, "another origin of time, another order")) }
    }

    /// That the other verbs, among all of them, change nothing.
    fn changes_nothing(&self, law: u32, case: &Case, others: fn(&Verb) -> bool) -> Result<(), Breach> {
        self.is_the_same(law, case, |_| true, others)
    }

    /// That it makes no difference which of these verbs are carried out.
    fn is_the_same(&self, law: u32, case: &Case, some: fn(&Verb) -> bool, others: fn(&Verb) -> bool) -> Result<(), Breach> {
        let (flows, steps, origin) = case;
        let with = self.link(flows, *origin, some).run(steps, true)?;
        let without = self.link(flows, *origin, others).run(steps, true)?;
        match with.iter().zip(&without).find(|(one, other)| one != other) {
            Some((one, other)) => Err(breach(law, format!("with it {one:?}, without {other:?}"))),
            None if with.len() != without.len() => Err(breach(law, "another number of packets")),
            None => Ok(()),
        }
    }

    /// Law 7: flows in places that were forgotten are served as on a new scheduler.
    fn forgets(&self, (flows, steps, origin): &Case, others: &[Wishes], later: &[Step]) -> Result<(), Breach> {
        let (mut used, now) = self.link(flows, *origin, |_| true).finish(steps)?;
        let now = now + Duration::from_milliseconds(1);
        (0..flows.len()).for_each(|flow| used.forget(now, Flow(flow as u32)));
        for (place, others) in others.iter().enumerate().take(flows.len()) {
            used.change(now, Flow(place as u32), &others.parameters(self.kind)).map_err(|error| breach(7, error.to_string()))?;
        }
        let flows = &others[..flows.len().min(others.len())];
        let liberties = self.liberties();
        let used = Link::of_started(used, liberties, flows.len(), now).run(later, true)?;
        let new = Link::new((self.build)(flows), liberties, flows.len(), now).run(later, true)?;
        if used == new { Ok(()) } else { Err(breach(7, "a flow that is gone is remembered")) }
    }

    /// All laws on many cases.
    fn check(&self, is_exact: bool) -> Result<(), Breach> {
        assert_holds(128, &cases(), |case| self.basic_laws(case))?;
        assert_holds(64, &cases(), |case| self.changes_nothing(7, case, |verb| !matches!(verb, Verb::Repeat(_))))?;
        assert_holds(64, &cases(), |case| self.changes_nothing(7, case, |verb| !matches!(verb, Verb::Refused(_))))?;
        assert_holds(64, &cases(), |case| self.changes_nothing(7, case, |verb| !matches!(verb, Verb::Visit(_))))?;
        // A shaped virtual clock that takes over files heads anew, with a tolerance that changed since they were filed.
        if self.ties_by_flow() {
            let unchanged = |verb: &Verb| !matches!(verb, Verb::Change(..));
            let law = |case: &Case| self.is_the_same(8, case, unchanged, |verb| !matches!(verb, Verb::Change(..) | Verb::Adopt(_)));
            assert_holds(128, &cases(), law)?;
        } else {
            assert_holds(128, &cases(), |case| self.changes_nothing(8, case, |verb| !matches!(verb, Verb::Adopt(_))))?;
        }
        if !is_exact {
            return Ok(());
        }
        let again = (cases(), prop::collection::vec(wishes(), 6), steps());
        assert_holds(64, &again, |(case, others, later)| self.forgets(case, others, later))
    }
}

/// With one place more than flows.
fn flat(kind: SchedulerKind, flows: &[Wishes]) -> AnyScheduler {
    let parameters: Vec<FlowParameters> = flows.iter().map(|flow| flow.parameters(kind)).collect();
    kind.build(&Setup { capacity: flows.len() + 1, ..setup() }, &parameters).unwrap()
}

#[test]
fn every_scheduler_keeps_the_laws_of_change() {
    for &kind in SchedulerKind::ALL {
        let subject = Subject { kind, build: &|flows| flat(kind, flows) };
        // Slots, ticks and the turns of classes have a phase of their own, which a new scheduler does not share.
        let is_exact = !matches!(kind, SchedulerKind::QuickFair | SchedulerKind::Dwcs | SchedulerKind::IntegratedServices);
        assert_eq!(subject.check(is_exact), Ok(()), "{}", kind.name());
    }
}

/// DWCS has another engine for many flows, and takes over from either.
#[test]
fn many_streams_keep_the_laws_of_change() {
    let kind = SchedulerKind::Dwcs;
    let build = |flows: &[Wishes]| {
        let parameters: Vec<FlowParameters> = flows.iter().map(|flow| flow.parameters(kind)).collect();
        let many = flows.iter().map(|flow| flow.microseconds).sum::<u64>() % 3 > 0;
        kind.build(&Setup { capacity: if many { 13 } else { 7 }, ..setup() }, &parameters).unwrap()
    };
    assert_eq!(Subject { kind, build: &build }.check(false), Ok(()));
}

/// How a scheduler is broken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Flaw {
    None,
    RestampsOnChange,
    ActsOnWhatItRefuses,
    ChargesOthersForAVisit,
    RemembersTheOneBefore,
    LosesAFlowOnChange,
    AdoptsInOtherOrder,
    AdoptsWithoutStamps,
}

/// Serves the flow that has sent least per weight; of equals the one that became backlogged first. Slow, obvious, and broken as ordered.
struct Mutant {
    flaw: Flaw,
    weights: Vec<u64>,
    sent: Vec<u64>,
    /// Backlogged flows with the lengths of their heads, in order of activation.
    backlogged: Vec<(Flow, u64)>,
}

impl Scheduler for Mutant {
    const WORK_CONSERVING: bool = true;

    fn activate(&mut self, _now: Time, flow: Flow, head: Head) {
        self.backlogged.push((flow, head.length.into()));
    }

    fn select(&mut self, _now: Time) -> Decision {
        match self.backlogged.iter().min_by_key(|entry| self.sent[entry.0.index()]) {
            Some(&(flow, _)) => Decision::Serve(flow),
            None => Decision::Idle,
        }
    }

    fn served(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        let length = self.backlogged.iter().find(|entry| entry.0 == flow).map_or(0, |entry| entry.1);
        self.sent[flow.index()] += 1000 * length / self.weights[flow.index()];
        self.lost(now, flow, next);
    }

    fn lost(&mut self, _now: Time, flow: Flow, next: Option<Head>) {
        match next {
            Some(head) => self.backlogged.iter_mut().filter(|entry| entry.0 == flow).for_each(|entry| entry.1 = head.length.into()),
            None => self.backlogged.retain(|entry| entry.0 != flow),
        }
    }

    fn change(&mut self, _now: Time, flow: Flow, parameters: &FlowParameters) -> Result<(), BuildError> {
        let weight = parameters.weight.unwrap_or(1);
        if weight > 0 || self.flaw == Flaw::ActsOnWhatItRefuses {
            self.weights[flow.index()] = weight.max(1).into();
        }
        if weight == 0 {
            return Err(BuildError { flow: Some(flow), parameter: Parameter::Weight, problem: "at least 1 is right" });
        }
        match self.flaw {
            Flaw::RestampsOnChange => self.sent[flow.index()] += 1,
            Flaw::LosesAFlowOnChange if self.backlogged.len() == 3 => self.backlogged.retain(|entry| entry.0 != flow),
            _ => {}
        }
        Ok(())
    }

    fn forget(&mut self, _now: Time, flow: Flow) {
        if self.flaw != Flaw::RemembersTheOneBefore {
            self.sent[flow.index()] = 0;
        }
        if self.flaw == Flaw::ChargesOthersForAVisit {
            self.sent[0] += 1;
        }
    }

    fn adopt(&mut self, now: Time, old: &mut Mutant, kept: &[Kept]) {
        if self.flaw == Flaw::AdoptsWithoutStamps {
            return activate_in_order(self, now, kept);
        }
        kept.iter().for_each(|kept| self.sent[kept.to.index()] = old.sent[kept.from.index()]);
        for (flow, length) in old.backlogged.drain(..) {
            if let Some(kept) = kept.iter().find(|kept| kept.from == flow && kept.head.is_some()) {
                self.backlogged.push((kept.to, length));
            }
        }
        if self.flaw == Flaw::AdoptsInOtherOrder {
            self.backlogged.sort_unstable_by_key(|entry| entry.0);
        }
    }
}

#[test]
fn every_broken_scheduler_is_caught_by_the_law_of_change_that_it_breaks() {
    let law_broken = |flaw| {
        let build = |flows: &[Wishes]| {
            let mut weights: Vec<u64> = flows.iter().map(|flow| flow.weight.into()).collect();
            weights.push(1);
            Mutant { flaw, sent: vec![0; weights.len()], weights, backlogged: Vec::new() }
        };
        Subject { kind: SchedulerKind::WeightedRoundRobin, build: &build }.check(true).map_err(|breach| breach.law)
    };
    assert_eq!(law_broken(Flaw::None), Ok(()));
    assert_eq!(law_broken(Flaw::RestampsOnChange), Err(7));
    assert_eq!(law_broken(Flaw::ActsOnWhatItRefuses), Err(7));
    assert_eq!(law_broken(Flaw::ChargesOthersForAVisit), Err(7));
    assert_eq!(law_broken(Flaw::RemembersTheOneBefore), Err(7));
    assert_eq!(law_broken(Flaw::LosesAFlowOnChange), Err(3));
    assert_eq!(law_broken(Flaw::AdoptsInOtherOrder), Err(8));
    assert_eq!(law_broken(Flaw::AdoptsWithoutStamps), Err(8));
}

/// The rate of the flow whose bound is watched, and what it may send at once.
const RATE: u64 = 20_000_000;
const BURST: u64 = 4 * LONGEST as u64;
/// What each of the others may reserve at most. Together with `RATE` that is the link.
const MOST: u64 = 20_000_000;
const OTHERS: usize = 4;

/// A step of the others: which one, and the length of a packet or a rate in place of its own.
#[derive(Clone, Copy, Debug)]
enum Push {
    Packet(usize, u32),
    Change(usize, u64),
}

/// The worst delay of a conforming flow, to the end of transmission, less its bound. The others send without measure, and their rates change.
fn excess<S: Scheduler>(scheduler: &mut S, pushes: &[(u64, Push)]) -> i64 {
    let link = setup().rate.time_per_byte();
    let rate = |bits| FlowParameters { rate: Some(Rate::new(bits).unwrap()), ..FlowParameters::default() };
    let bound = Rate::new(RATE).unwrap().time_per_byte().ceil(BURST as u32).picoseconds() + link.ceil(LONGEST).picoseconds();
    let mut queues = vec![std::collections::VecDeque::<Head>::new(); OTHERS + 1];
    let (mut now, mut free_at, mut number, mut worst) = (0u64, 0u64, 0u32, i64::MIN);
    // In bytes times 2^20, so that nothing is lost.
    let mut tokens = BURST << 20;
    scheduler.start(Time::ZERO);
    for &(pause, push) in pushes {
        let until = now + pause;
        while free_at <= until {
            now = now.max(free_at);
            let Decision::Serve(flow) = scheduler.select(Time::from_picoseconds(now)) else { break };
            let sent = queues[flow.index()].pop_front().unwrap();
            scheduler.served(Time::from_picoseconds(now), flow, queues[flow.index()].front().copied());
            free_at = now + link.ceil(sent.length).picoseconds();
            if flow == Flow(0) {
                worst = worst.max((free_at - sent.arrival.picoseconds()) as i64 - bound as i64);
            }
        }
        now = until;
        tokens = (BURST << 20).min(tokens + (((u128::from(pause) * u128::from(RATE)) << 20) / 8_000_000_000_000) as u64);
        let mut arrive = |queues: &mut Vec<std::collections::VecDeque<Head>>, scheduler: &mut S, flow: usize, length: u32| {
            number += 1;
            let head = Head { length, number, arrival: Time::from_picoseconds(now), colour: Colour::Green };
            queues[flow].push_back(head);
            if queues[flow].len() == 1 {
                scheduler.activate(Time::from_picoseconds(now), Flow(flow as u32), head);
            }
        };
        while tokens >= u64::from(LONGEST) << 20 {
            tokens -= u64::from(LONGEST) << 20;
            arrive(&mut queues, scheduler, 0, LONGEST);
        }
        match push {
            Push::Packet(flow, length) => (0..6).for_each(|_| arrive(&mut queues, scheduler, 1 + flow, length)),
            Push::Change(flow, bits) => scheduler.change(Time::from_picoseconds(now), Flow(1 + flow as u32), &rate(bits)).unwrap(),
        }
    }
    worst
}

fn pushes() -> impl Strategy<Value = Vec<(u64, Push)>> {
    let push = prop_oneof![
        1 => (0..OTHERS, prop_oneof![Just(LONGEST), 40..=LONGEST]).prop_map(|(flow, length)| Push::Packet(flow, length)),
        3 => (0..OTHERS, 100_000..=MOST).prop_map(|(flow, rate)| Push::Change(flow, rate)),
    ];
    prop::collection::vec((0u64..200_000_000, push), 1..250)
}

fn bound_holds<S: Scheduler>(build: impl Fn(&[FlowParameters]) -> S) -> Result<(), Breach> {
    assert_holds(128, &pushes(), |pushes| {
        let rate = |bits| FlowParameters { rate: Some(Rate::new(bits).unwrap()), ..FlowParameters::default() };
        let flows: Vec<_> = core::iter::once(RATE).chain([MOST; OTHERS]).map(rate).collect();
        match excess(&mut build(&flows), pushes) {
            // Each stamp is rounded up by less than a picosecond.
            excess if excess <= 1000 => Ok(()),
            excess => Err(breach(7, format!("{excess} ps later than its bound"))),
        }
    })
}

/// `burst / rate + longest packet / link rate`.
#[test]
fn the_bound_of_an_unchanged_flow_holds_whatever_changes() {
    for kind in [SchedulerKind::VirtualClock, SchedulerKind::Wf2qPlus] {
        assert_eq!(bound_holds(|flows| kind.build(&setup(), flows).unwrap()), Ok(()), "{}", kind.name());
    }
}

/// A virtual clock that sets back the clock of a flow when its rate changes.
struct Forgiving {
    scheduler: AnyScheduler,
    heads: BTreeMap<Flow, Head>,
}

impl Scheduler for Forgiving {
    fn activate(&mut self, now: Time, flow: Flow, head: Head) {
        self.heads.insert(flow, head);
        self.scheduler.activate(now, flow, head);
    }

    fn select(&mut self, now: Time) -> Decision {
        self.scheduler.select(now)
    }

    fn served(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        self.heads.remove(&flow);
        self.heads.extend(next.map(|head| (flow, head)));
        self.scheduler.served(now, flow, next);
    }

    fn lost(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        self.scheduler.lost(now, flow, next);
    }

    fn change(&mut self, now: Time, flow: Flow, parameters: &FlowParameters) -> Result<(), BuildError> {
        let head = self.heads.get(&flow).copied();
        if head.is_some() {
            self.scheduler.lost(now, flow, None);
        }
        let before = now - Duration::from_milliseconds(5);
        self.scheduler.forget(before, flow);
        self.scheduler.change(now, flow, parameters)?;
        if let Some(head) = head {
            self.scheduler.activate(now, flow, Head { arrival: before, ..head });
        }
        Ok(())
    }

    fn forget(&mut self, now: Time, flow: Flow) {
        self.scheduler.forget(now, flow);
    }
}

#[test]
fn a_change_that_forgives_breaks_the_bound() {
    let kind = SchedulerKind::VirtualClock;
    let build = |flows: &[FlowParameters]| Forgiving { scheduler: kind.build(&setup(), flows).unwrap(), heads: BTreeMap::new() };
    assert_eq!(bound_holds(build).map_err(|breach| breach.law), Err(7));
}
