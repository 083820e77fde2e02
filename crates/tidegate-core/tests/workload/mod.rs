//! Random workloads for schedulers, biased to states that random traffic rarely reaches, and the link that carries them out and watches
//! every law that can be seen from outside.

// Every test crate compiles its own copy and none uses all of it.
#![allow(dead_code)]

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};
use std::collections::VecDeque;
use std::fmt::Debug;
use tidegate_core::dwcs::{Request, Service, Window};
use tidegate_core::packet::{Colour, Flow, Head};
use tidegate_core::registry::SchedulerKind;
use tidegate_core::scheduler::{Decision, FlowParameters, Kept, Parameter, Scheduler, ServiceClass, Setup};
use tidegate_core::units::{Duration, Rate, SERIAL_HORIZON, Time, TimePerByte};

/// The longest packet of any workload, in bytes.
pub const LONGEST: u32 = 1500;

/// 100 Mbit/s: 80 ns per byte.
pub fn link_rate() -> Rate {
    Rate::new(100_000_000).unwrap()
}

/// What every scheduler under test shares.
pub fn setup() -> Setup {
    Setup::new(link_rate(), LONGEST)
}

/// What a scheduler may be told of one flow; each discipline takes what it knows.
#[derive(Clone, Copy, Debug)]
pub struct Wishes {
    pub priority: u32,
    pub weight: u32,
    pub kilobits: u64,
    pub microseconds: u64,
    pub prefers_rate: bool,
}

impl Wishes {
    pub const DEFAULT: Wishes = Wishes { priority: 1, weight: 1, kilobits: 1000, microseconds: 1000, prefers_rate: false };

    /// The parameters that `kind` requires, and the one it accepts that the wishes prefer.
    pub fn parameters(&self, kind: SchedulerKind) -> FlowParameters {
        let accepts = |parameter| kind.accepts().contains(&parameter);
        let takes = |parameter| {
            let preferred = match parameter {
                Parameter::Rate => self.prefers_rate || !accepts(Parameter::Weight),
                Parameter::Weight => !self.prefers_rate || !accepts(Parameter::Rate),
                Parameter::Priority
                | Parameter::Delay
                | Parameter::Service
                | Parameter::Class
                | Parameter::Tolerance
                | Parameter::Profile => true,
            };
            kind.requires().contains(&parameter) || (accepts(parameter) && preferred)
        };
        FlowParameters {
            priority: takes(Parameter::Priority).then_some(self.priority),
            weight: takes(Parameter::Weight).then_some(self.weight),
            rate: takes(Parameter::Rate).then(|| Rate::new(self.kilobits * 1000).unwrap()),
            delay: takes(Parameter::Delay).then(|| Duration::from_microseconds(self.microseconds)),
            service: takes(Parameter::Service).then(|| Request { period: 10 + self.microseconds / 1000, ..Request::of(self.service()) }),
            class: takes(Parameter::Class).then(|| ServiceClass::ALL[self.priority.min(2) as usize]),
            tolerance: takes(Parameter::Tolerance).then(|| Duration::from_microseconds(self.microseconds % 3 * 1000)),
            ..FlowParameters::default()
        }
    }

    fn service(&self) -> Service {
        match self.priority {
            0 => Service::FairShare(self.weight),
            1 => Service::Window(Window::new(self.weight - 1, self.weight)),
            2 => Service::EarliestDeadline,
            _ => Service::StaticPriority(self.weight),
        }
    }
}

pub fn wishes() -> impl Strategy<Value = Wishes> {
    (0u32..4, 1u32..6, 1u64..5000, 0u64..20_000, any::<bool>()).prop_map(|(priority, weight, kilobits, microseconds, prefers_rate)| {
        Wishes { priority, weight, kilobits, microseconds, prefers_rate }
    })
}

/// One step of a workload. Flows are taken modulo the number of flows.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A packet arrives. A doomed one is lost as soon as it becomes the head of its queue.
    Arrive { flow: usize, length: u32, doomed: bool },
    /// Whatever may start now does, if the link is free.
    Poll,
    /// The next packet is sent, however long that takes.
    Send,
    /// The head of a queue is pushed out.
    LoseHead(usize),
    /// The youngest packet of a queue is pushed out.
    LoseTail(usize),
    /// All packets of a queue but this many are pushed out, oldest first.
    Purge(usize, usize),
    /// Nothing happens for this long.
    Pause(Duration),
    /// Something that need not have happened, or that changes a flow.
    Change(Verb),
}

/// What happens to flows, to the scheduler as a whole, and to contracts around it.
#[derive(Clone, Copy, Debug)]
pub enum Verb {
    /// A flow gets these parameters.
    Change(usize, Wishes),
    /// A flow gets the parameters that it has.
    Repeat(usize),
    /// A flow gets parameters that no scheduler accepts.
    Refused(usize),
    /// A flow comes, sends nothing, and leaves.
    Visit(Wishes),
    /// If the queue of a flow is empty, the flow leaves, and another one comes in its place.
    Replace(usize, Wishes),
    /// Another scheduler takes over, with flows in places that this number shuffles, unless ties break by place.
    Adopt(u64),
    /// A contract suspends a backlogged flow.
    Suspend(usize),
    /// A contract suspends the flow that sends next, when it has sent.
    SuspendNext,
    /// A contract lets a suspended flow send again.
    Resume(usize),
}

/// Steps that keep queues short, so that they often run dry, and lengths few, so that ties are common. Nearly half of the steps happen
/// at the instant of the one before.
pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 0..250)
}

/// The same with changes of flows among them.
pub fn changing_steps() -> impl Strategy<Value = Vec<Step>> {
    let verb = prop_oneof![
        4 => (0usize..8, wishes()).prop_map(|(flow, wishes)| Verb::Change(flow, wishes)),
        2 => (0usize..8).prop_map(Verb::Repeat),
        1 => (0usize..8).prop_map(Verb::Refused),
        2 => wishes().prop_map(Verb::Visit),
        2 => (0usize..8, wishes()).prop_map(|(flow, wishes)| Verb::Replace(flow, wishes)),
        3 => any::<u64>().prop_map(Verb::Adopt),
        2 => (0usize..8).prop_map(Verb::Suspend),
        2 => Just(Verb::SuspendNext),
        4 => (0usize..8).prop_map(Verb::Resume),
    ];
    prop::collection::vec(prop_oneof![3 => step(), 1 => verb.prop_map(Step::Change)], 0..250)
}

fn step() -> impl Strategy<Value = Step> {
    let length = prop_oneof![2 => Just(1000u32), 1 => Just(40u32), 1 => Just(LONGEST), 2 => 40..=LONGEST];
    prop_oneof![
        12 => (0usize..8, length, prop::bool::weighted(0.15)).prop_map(|(flow, length, doomed)| Step::Arrive { flow, length, doomed }),
        8 => Just(Step::Send),
        3 => Just(Step::Poll),
        2 => (0usize..8).prop_map(Step::LoseHead),
        1 => (0usize..8).prop_map(Step::LoseTail),
        1 => (0usize..8, 0usize..2).prop_map(|(flow, left)| Step::Purge(flow, left)),
        2 => (0u64..300_000_000).prop_map(|ps| Step::Pause(Duration::from_picoseconds(ps))),
        1 => (0u64..2_000).prop_map(|ms| Step::Pause(Duration::from_milliseconds(ms))),
        1 => (0u64..3 << 61).prop_map(|ps| Step::Pause(Duration::from_picoseconds(ps))),
    ]
}

/// Origins of time: the usual one, and some from which the workload crosses the wrap of the axis or its middle.
pub fn origin() -> impl Strategy<Value = Time> {
    let near = |middle: u64| (0u64..1 << 42).prop_map(move |before| middle.wrapping_sub(before));
    prop_oneof![Just(0u64), near(0), near(1 << 63), any::<u64>()].prop_map(Time::from_picoseconds)
}

/// One random case: the flows, what happens, and when time begins.
pub type Case = (Vec<Wishes>, Vec<Step>, Time);

pub fn cases() -> impl Strategy<Value = Case> {
    (prop::collection::vec(wishes(), 1..7), steps(), origin())
}

/// Runs `law` on `count` cases, always the same ones; the variable PROPTEST_CASES (256 unless set) makes them proportionally more. Of the
/// cases that fail it prints the least and returns its breach.
pub fn assert_holds<C: Debug>(count: u32, cases: &impl Strategy<Value = C>, law: impl Fn(&C) -> Result<(), Breach>) -> Result<(), Breach> {
    let config = Config::default();
    let cases_run = (u64::from(count) * u64::from(config.cases) / 256).max(1) as u32;
    let config = Config { cases: cases_run, failure_persistence: None, ..config };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let outcome = runner.run(cases, |case| law(&case).map_err(|breach| TestCaseError::fail(format!("{breach:?}"))));
    match outcome {
        Ok(()) => Ok(()),
        Err(TestError::Fail(_, case)) => {
            println!("{case:#?}");
            Err(law(&case).err().unwrap_or_else(|| breach(0, "a failure that does not repeat")))
        }
        Err(TestError::Abort(reason)) => panic!("{reason}"),
    }
}

/// A breach of a scheduler's law.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Breach {
    /// The law's number in the scheduler's module, or 0 for FIFO order and conservation.
    pub law: u32,
    pub what: String,
}

pub fn breach(law: u32, what: impl Into<String>) -> Breach {
    Breach { law, what: what.into() }
}

/// What a scheduler may do besides serving.
#[derive(Clone, Copy, Debug)]
pub struct Liberties {
    /// How often in a row it may ask to be asked later: 0 for a work-conserving one.
    pub waits: usize,
    /// It may serve flows of equal rank in the order of flows, not of activation.
    pub ties_by_flow: bool,
}

/// A packet that has left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Departure {
    /// Since the origin, modulo the wrap.
    pub at: Duration,
    pub flow: usize,
    /// Its position among all that arrive in the workload.
    pub number: u32,
    pub length: u32,
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    head: Head,
    doomed: bool,
}

/// A link with queues that asks one scheduler.
pub struct Link<'a, S> {
    scheduler: S,
    liberties: Liberties,
    rate: TimePerByte,
    queues: Vec<VecDeque<Packet>>,
    origin: Time,
    now: Time,
    free_at: Time,
    next_refresh: Time,
    number: u32,
    departures: Vec<Departure>,
    changing: Option<Changing<'a, S>>,
    /// The place of every flow.
    places: Vec<usize>,
    suspended: Vec<bool>,
    suspends_next: bool,
}

/// How flows change under a link.
pub struct Changing<'a, S> {
    pub kind: SchedulerKind,
    /// What is given to each flow now.
    pub wishes: Vec<Wishes>,
    /// Builds a scheduler with these flows in places and one place more.
    pub build: &'a dyn Fn(&[Wishes]) -> S,
    /// Which verbs are carried out; the others are left out.
    pub carries_out: fn(&Verb) -> bool,
}

impl<'a, S: Scheduler> Link<'a, S> {
    pub fn new(mut scheduler: S, liberties: Liberties, flows: usize, origin: Time) -> Link<'a, S> {
        scheduler.start(origin);
        Link::of_started(scheduler, liberties, flows, origin)
    }

    /// With a scheduler that has been in use.
    pub fn of_started(scheduler: S, liberties: Liberties, flows: usize, origin: Time) -> Link<'a, S> {
        Link {
            scheduler,
            liberties,
            rate: link_rate().time_per_byte(),
            queues: vec![VecDeque::new(); flows],
            origin,
            now: origin,
            free_at: origin,
            next_refresh: origin + SERIAL_HORIZON,
            number: 0,
            departures: Vec::new(),
            changing: None,
            places: (0..flows).collect(),
            suspended: vec![false; flows],
            suspends_next: false,
        }
    }

    /// The same where flows change.
    pub fn changing(mut self, changing: Changing<'a, S>) -> Link<'a, S> {
        self.changing = Some(changing);
        self
    }

    fn place(&self, flow: usize) -> Flow {
        Flow(self.places[flow] as u32)
    }

    /// Carries out a verb.
    fn verb(&mut self, verb: Verb) {
        let Some(changing) = self.changing.as_mut().filter(|changing| (changing.carries_out)(&verb)) else { return };
        let flows = self.queues.len();
        let (kind, spare) = (changing.kind, Flow(flows as u32));
        match verb {
            Verb::Change(flow, _) | Verb::Repeat(flow) => {
                let flow = flow % flows;
                let wishes = if let Verb::Change(_, wishes) = verb { wishes } else { changing.wishes[flow] };
                if self.scheduler.change(self.now, Flow(self.places[flow] as u32), &wishes.parameters(kind)).is_ok() {
                    changing.wishes[flow] = wishes;
                }
            }
            // It accepts anything: without a priority a flow has the side of its place.
            Verb::Refused(_) if kind == SchedulerKind::DualQueue => {}
            Verb::Refused(flow) => {
                // More than the link, where a rate may be left out, and none where a guaranteed service needs one.
                let rate = (kind.requires().is_empty() && kind != SchedulerKind::IntegratedServices).then_some(Rate::MAX);
                let nothing = FlowParameters {
                    rate,
                    service: Some(Request::of(Service::FairShare(0))),
                    class: Some(ServiceClass::Guaranteed),
                    ..FlowParameters::default()
                };
                let wrong =
                    if kind.accepts().contains(&Parameter::Weight) { FlowParameters { weight: Some(0), ..nothing } } else { nothing };
                let place = Flow(self.places[flow % flows] as u32);
                let refused = self.scheduler.change(self.now, place, &wrong).is_err();
                let accepts_anything =
                    [SchedulerKind::Fifo, SchedulerKind::SparseRoundRobin, SchedulerKind::HostRoundRobin].contains(&kind);
                assert!(refused || accepts_anything, "{} accepts anything", kind.name());
            }
            Verb::Visit(wishes) => {
                if self.scheduler.change(self.now, spare, &wishes.parameters(kind)).is_ok() {
                    self.scheduler.forget(self.now, spare);
                }
            }
            Verb::Replace(flow, wishes) => {
                let flow = flow % flows;
                if self.queues[flow].is_empty() {
                    let place = Flow(self.places[flow] as u32);
                    self.scheduler.forget(self.now, place);
                    let before = changing.wishes[flow].parameters(kind);
                    match self.scheduler.change(self.now, place, &wishes.parameters(kind)) {
                        Ok(()) => changing.wishes[flow] = wishes,
                        Err(_) => self.scheduler.change(self.now, place, &before).expect("it was accepted before"),
                    }
                }
            }
            Verb::Adopt(seed) => {
                let before = self.places.clone();
                let mut random = seed;
                for last in (1..flows).rev().filter(|_| !self.liberties.ties_by_flow) {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    self.places.swap(last, (random >> 33) as usize % (last + 1));
                }
                let mut by_place = changing.wishes.clone();
                (0..flows).for_each(|flow| by_place[self.places[flow]] = changing.wishes[flow]);
                let mut next = (changing.build)(&by_place);
                next.start(self.now);
                let kept: Vec<Kept> = (0..flows)
                    .map(|flow| {
                        let head = if self.suspended[flow] { None } else { self.head(flow) };
                        Kept { from: Flow(before[flow] as u32), to: self.place(flow), head }
                    })
                    .collect();
                next.adopt(self.now, &mut self.scheduler, &kept);
                self.scheduler = next;
            }
            Verb::Suspend(flow) => {
                let flow = flow % flows;
                if !self.queues[flow].is_empty() && !self.suspended[flow] {
                    self.suspended[flow] = true;
                    self.scheduler.suspend(self.now, self.place(flow));
                }
            }
            Verb::SuspendNext => self.suspends_next = true,
            Verb::Resume(flow) => self.resume(flow % flows),
        }
    }

    fn resume(&mut self, flow: usize) {
        if let Some(head) = self.head(flow).filter(|_| self.suspended[flow]) {
            self.suspended[flow] = false;
            self.scheduler.resume(self.now, self.place(flow), head);
            self.bury(flow);
        }
    }

    /// The scheduler, and the time, when all queues have been emptied.
    pub fn finish(mut self, steps: &[Step]) -> Result<(S, Time), Breach> {
        for &step in steps {
            self.step(step, true)?;
        }
        self.drain()?;
        let now = self.now.later(self.free_at);
        Ok((self.scheduler, now))
    }

    fn drain(&mut self) -> Result<(), Breach> {
        (0..self.queues.len()).for_each(|flow| self.resume(flow));
        self.suspends_next = false;
        while self.send(true)? {}
        Ok(())
    }

    /// Carries out the steps, empties the queues and returns all departures.
    pub fn run(mut self, steps: &[Step], with_doomed: bool) -> Result<Vec<Departure>, Breach> {
        for &step in steps {
            self.step(step, with_doomed)?;
        }
        self.drain()?;
        Ok(self.departures)
    }

    fn step(&mut self, step: Step, with_doomed: bool) -> Result<(), Breach> {
        let flows = self.queues.len();
        match step {
            Step::Arrive { flow, length, doomed } => {
                // Numbers are given to packets that are left out, too, so that the others have the same with and without them.
                self.number += 1;
                if with_doomed || !doomed {
                    self.arrive(flow % flows, length, doomed);
                }
            }
            Step::Poll => {
                self.send(false)?;
            }
            Step::Send => {
                self.send(true)?;
            }
            Step::LoseHead(flow) => self.lose_head(flow % flows),
            Step::LoseTail(flow) => {
                let flow = flow % flows;
                match self.queues[flow].iter().rposition(|packet| !packet.doomed) {
                    Some(0) => self.lose_head(flow),
                    Some(last) => drop(self.queues[flow].remove(last)),
                    None => {}
                }
            }
            Step::Purge(flow, left) => {
                while self.queues[flow % flows].iter().filter(|packet| !packet.doomed).count() > left {
                    self.lose_head(flow % flows);
                }
            }
            Step::Change(verb) => self.verb(verb),
            Step::Pause(span) => {
                let mut left = span;
                while left > SERIAL_HORIZON {
                    self.advance(self.now + SERIAL_HORIZON);
                    left = left.saturating_sub(SERIAL_HORIZON);
                }
                self.advance(self.now + left);
            }
        }
        Ok(())
    }

    fn advance(&mut self, to: Time) {
        self.now = self.now.later(to);
        if !self.now.is_before(self.next_refresh) {
            self.scheduler.refresh(self.now);
            self.free_at = self.free_at.later(self.now - SERIAL_HORIZON);
            for packet in self.queues.iter_mut().flatten() {
                packet.head.arrival = packet.head.arrival.later(self.now - SERIAL_HORIZON);
            }
            self.next_refresh = self.now + SERIAL_HORIZON;
        }
    }

    fn arrive(&mut self, flow: usize, length: u32, doomed: bool) {
        let head = Head { length, number: self.number, arrival: self.now, colour: Colour::Green };
        self.queues[flow].push_back(Packet { head, doomed });
        if self.queues[flow].len() == 1 {
            self.suspended[flow] = false;
            self.scheduler.activate(self.now, self.place(flow), head);
            self.bury(flow);
        }
    }

    fn lose_head(&mut self, flow: usize) {
        if self.queues[flow].pop_front().is_some() && !self.suspended[flow] {
            self.scheduler.lost(self.now, self.place(flow), self.head(flow));
            self.bury(flow);
        }
    }

    /// Loses doomed heads.
    fn bury(&mut self, flow: usize) {
        while !self.suspended[flow] && self.queues[flow].front().is_some_and(|packet| packet.doomed) {
            self.queues[flow].pop_front();
            self.scheduler.lost(self.now, self.place(flow), self.head(flow));
        }
    }

    fn head(&self, flow: usize) -> Option<Head> {
        self.queues[flow].front().map(|packet| packet.head)
    }

    /// Sends the next packet; false if there is none. A patient link waits until it may.
    fn send(&mut self, patient: bool) -> Result<bool, Breach> {
        if self.free_at.is_after(self.now) {
            if !patient {
                return Ok(false);
            }
            self.advance(self.free_at);
        }
        let mut waits = 0;
        loop {
            let answer = self.scheduler.select(self.now);
            let again = self.scheduler.select(self.now);
            if answer != again {
                return Err(breach(2, format!("{answer:?}, and asked again {again:?}")));
            }
            let backlogged = self.queues.iter().zip(&self.suspended).any(|(queue, suspended)| !queue.is_empty() && !suspended);
            match answer {
                Decision::Serve(flow) | Decision::ServeAs(flow, _) | Decision::Discard(flow) => {
                    let at = self.places.iter().position(|&place| place == flow.index()).unwrap_or(usize::MAX);
                    let suspended = self.suspended.get(at) == Some(&true);
                    let Some(packet) = self.queues.get_mut(at).filter(|_| !suspended).and_then(VecDeque::pop_front) else {
                        return Err(breach(1, format!("{answer:?}, but flow {at} is not backlogged")));
                    };
                    let next = self.head(at);
                    if let Decision::Discard(_) = answer {
                        self.scheduler.lost(self.now, flow, next);
                        self.bury(at);
                        continue;
                    }
                    match next.filter(|_| std::mem::take(&mut self.suspends_next)) {
                        Some(next) => {
                            self.suspended[at] = true;
                            self.scheduler.served_and_suspended(self.now, flow, next);
                        }
                        None => self.scheduler.served(self.now, flow, next),
                    }
                    self.bury(at);
                    self.free_at = self.now + self.rate.ceil(packet.head.length);
                    let when = Duration::from_picoseconds(self.now.picoseconds().wrapping_sub(self.origin.picoseconds()));
                    let Head { number, length, .. } = packet.head;
                    self.departures.push(Departure { at: when, flow: at, number, length });
                    return Ok(true);
                }
                Decision::Idle if backlogged => return Err(breach(3, "idle while a flow is backlogged")),
                Decision::Idle => return Ok(false),
                Decision::WaitUntil(_) if !backlogged => return Err(breach(3, "waits while no flow is backlogged")),
                Decision::WaitUntil(time) => {
                    if !time.is_after(self.now) {
                        return Err(breach(3, format!("waits until {time:?}, which does not lie after {:?}", self.now)));
                    }
                    if waits == self.liberties.waits {
                        return Err(breach(3, format!("waits for the {}th time in a row", waits + 1)));
                    }
                    waits += 1;
                    if !patient {
                        return Ok(false);
                    }
                    self.advance(time);
                }
            }
        }
    }
}
