//! Ports that change while they carry packets: whatever the policies, the algorithms and the instants, nothing is lost, reordered or charged
//! twice.

mod workload;

use proptest::prelude::*;
use std::collections::BTreeMap;
use tidegate_core::buffer::{BufferField, BufferParameters, FlowLimit};
use tidegate_core::classifier::{ClassRules, Classifier, Header, Rule};
use tidegate_core::observer::Observer;
use tidegate_core::packet::{Colour, DropReason, Ecn, Flow, Packet, Part};
use tidegate_core::policer::{Contract, Policer, Verdict};
use tidegate_core::port::{Leaving, Port, PortSetup, Switched, Transition, Transmission};
use tidegate_core::queue::Occupancy;
use tidegate_core::registry::{AnyPolicer, BufferKind, PolicerKind, SchedulerKind};
use tidegate_core::remark::Remarks;
use tidegate_core::scheduler::Setup;
use tidegate_core::units::{Duration, Overhead, Rate, Time};
use workload::{LONGEST, Wishes, origin, wishes};

/// A packet of a transport flow: which one it is, and its number in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Sent {
    stream: u16,
    number: u32,
}

/// Transport flows; each has a VLAN of its own, and rules are about VLANs.
const STREAMS: u16 = 12;

fn header(stream: u16) -> Header {
    Header { vlan: Some(stream), ..Header::default() }
}

/// One class of a policy: its name, its queues and what it takes.
#[derive(Clone, Debug)]
struct ClassPlan {
    name: u8,
    queues: u32,
    streams: Vec<u16>,
    wishes: Wishes,
    contract: Option<(u32, u32)>,
}

#[derive(Clone, Debug)]
struct Plan {
    scheduler: SchedulerKind,
    buffer: BufferKind,
    packets: u32,
    flow_packets: Option<u32>,
    megabits: u64,
    overhead: u16,
    policer: PolicerKind,
    classes: Vec<ClassPlan>,
}

/// The contract of a policer of any kind, from a rate in kbit/s and a burst in packets.
fn contract(kind: PolicerKind, kilobits: u32, packets: u32) -> Contract {
    let rate = Rate::new(u64::from(kilobits) * 1000).unwrap();
    let burst = packets * 1600 + 1;
    let mut contract = Contract::new(rate, 1600);
    let peak = Some(Rate::new(u64::from(kilobits) * 3000).unwrap());
    match kind {
        PolicerKind::Gcra => contract.burst = Some(burst),
        PolicerKind::DualGcra | PolicerKind::Gfr | PolicerKind::GfrTm41 => (contract.burst, contract.peak_rate) = (Some(burst), peak),
        PolicerKind::SrTcm => (contract.burst, contract.excess_burst) = (Some(burst), Some(burst)),
        PolicerKind::TrTcm2698 => {
            (contract.burst, contract.peak_rate, contract.peak_burst) = (Some(burst), peak, Some(burst));
        }
        PolicerKind::TrTcm4115 => {
            (contract.burst, contract.excess_rate, contract.excess_burst) = (Some(burst), peak, Some(burst));
        }
    }
    contract
}

impl Plan {
    /// Classes before the last have rules for their streams; a stream that an earlier class takes is left out.
    fn classifier(&self) -> Classifier {
        let mut taken = [false; STREAMS as usize];
        let last = self.classes.len() - 1;
        let classes = self.classes.iter().enumerate().filter_map(|(index, class)| {
            let rules: Vec<Rule> = class
                .streams
                .iter()
                .filter(|&&stream| !std::mem::replace(&mut taken[usize::from(stream)], true))
                .map(|&stream| Rule { vlan: Some(stream), ..Rule::default() })
                .collect();
            let rules = if index == last { vec![] } else { rules };
            (index == last || !rules.is_empty()).then(|| ClassRules { name: format!("class {}", class.name), queues: class.queues, rules })
        });
        Classifier::new(classes.collect(), 7).unwrap()
    }

    fn class(&self, name: &str) -> &ClassPlan {
        self.classes.iter().find(|class| format!("class {}", class.name) == name).unwrap()
    }

    fn policer_of(&self, class: &ClassPlan) -> Option<AnyPolicer> {
        class.contract.map(|(rate, burst)| self.policer.build(&contract(self.policer, rate, burst)).unwrap())
    }

    fn setup(&self) -> PortSetup {
        let classifier = self.classifier();
        let (mut flows, mut policers) = (Vec::new(), Vec::new());
        for class in classifier.classes() {
            let plan = self.class(&class.name);
            flows.extend((0..class.queues).map(|_| plan.wishes.parameters(self.scheduler)));
            policers.push(self.policer_of(plan));
        }
        let rate = Rate::new(self.megabits * 1_000_000).unwrap();
        let scheduler = self.scheduler.build(&Setup::new(rate, LONGEST + 100), &flows).unwrap();
        let parameters = BufferParameters {
            flows: classifier.flows(),
            packets: Some(self.packets),
            flow: FlowLimit { packets: self.flow_packets, bytes: None },
            capacity: Some(rate).filter(|_| self.buffer.accepts().contains(&BufferField::Guarantees)),
            ..BufferParameters::default()
        };
        PortSetup {
            rate,
            overhead: Overhead::per_packet(self.overhead),
            buffer: self.buffer.build(&parameters).unwrap(),
            classifier,
            policers,
            aqms: Vec::new(),
            seed: 0,
            scheduler,
            packet_limit: self.packets,
            longest_frame: LONGEST,
            remarks: Remarks::default(),
        }
    }
}

fn plan(scheduler: SchedulerKind, buffer: BufferKind) -> impl Strategy<Value = Plan> {
    let streams = prop::collection::vec(0..STREAMS, 1..4);
    let contract = prop::option::of((100u32..20_000, 1u32..6));
    let class = (0u8..6, 1u32..4, streams, wishes(), contract).prop_map(|(name, queues, streams, wishes, contract)| ClassPlan {
        name,
        queues,
        streams,
        wishes,
        contract,
    });
    let classes = prop::collection::vec(class, 1..6).prop_map(|mut classes| {
        let mut seen = [false; 6];
        classes.retain(|class| !std::mem::replace(&mut seen[usize::from(class.name)], true));
        classes
    });
    let limits = (prop_oneof![1u32..20, 20u32..200], prop::option::of(1u32..20));
    (classes, limits, 100u64..300, prop_oneof![Just(0u16), 0u16..100], 0..PolicerKind::ALL.len()).prop_map(
        move |(classes, (packets, flow_packets), megabits, overhead, policer)| Plan {
            scheduler,
            buffer,
            packets,
            flow_packets,
            megabits,
            overhead,
            policer: PolicerKind::ALL[policer],
            classes,
        },
    )
}

/// A plan like another in most things, as most changes are.
fn altered() -> impl Strategy<Value = fn(&mut Plan, u32)> {
    prop::sample::select(vec![
        (|_, _| {}) as fn(&mut Plan, u32),
        |plan, _| plan.classes.truncate(1.max(plan.classes.len() - 1)),
        |plan, _| plan.classes.rotate_left(1),
        |plan, seed| plan.classes[0].queues = 1 + seed % 3,
        |plan, _| plan.classes.reverse(),
        |plan, seed| plan.classes[0].streams.push(seed as u16 % STREAMS),
        |plan, seed| plan.classes[0].contract = Some((100 + seed % 5000, 1 + seed % 4)),
        |plan, seed| plan.packets = 1 + seed % 50,
        |plan, seed| plan.megabits = 100 + u64::from(seed % 100),
        |plan, seed| plan.overhead = (seed % 60) as u16,
    ])
}

#[derive(Clone, Debug)]
enum Step {
    Offer {
        stream: u16,
        length: u32,
        burst: u8,
    },
    Pass(Duration),
    Switch(usize),
    Alter(fn(&mut Plan, u32), u32),
    Remove(u32, Leaving),
    Change(u32, Wishes),
    /// The link goes down, packets of this stream come, and it is up again.
    Fail(u16, u32),
}

fn steps(verbs: bool) -> impl Strategy<Value = Vec<Step>> {
    let length = prop_oneof![Just(LONGEST), Just(40u32), 40..=LONGEST];
    let leaving = prop_oneof![Just(Leaving::Drain), Just(Leaving::Drop)];
    let verb = prop_oneof![
        (any::<u32>(), leaving).prop_map(|(flow, leaving)| Step::Remove(flow, leaving)),
        (any::<u32>(), wishes()).prop_map(|(flow, wishes)| Step::Change(flow, wishes)),
        (0..STREAMS, 0u32..4).prop_map(|(stream, packets)| Step::Fail(stream, packets)),
    ];
    let switch =
        prop_oneof![(0usize..8).prop_map(Step::Switch), (altered(), any::<u32>()).prop_map(|(alter, seed)| Step::Alter(alter, seed))];
    let step = prop_oneof![
        12 => (0..STREAMS, length, 1u8..6).prop_map(|(stream, length, burst)| Step::Offer { stream, length, burst }),
        8 => (0u64..2_000_000_000).prop_map(|ps| Step::Pass(Duration::from_picoseconds(ps))),
        1 => (0u64..1 << 60).prop_map(|ps| Step::Pass(Duration::from_picoseconds(ps))),
        3 => switch,
        if verbs { 3 } else { 0 } => verb,
    ];
    prop::collection::vec(step, 1..120)
}

/// What is seen from outside.
#[derive(Clone, Default)]
struct Watch {
    last: BTreeMap<u16, u32>,
    sent: u64,
    dropped: u64,
    moved: u64,
    /// What the policer said of the latest packet.
    marked: Option<Colour>,
    policed: bool,
    reordered: Option<Sent>,
    drops: Vec<(Sent, DropReason)>,
}

impl Observer<Sent> for Watch {
    fn offered(&mut self, _now: Time, _packet: &Packet<Sent>) {
        (self.marked, self.policed) = (None, false);
    }

    fn marked(&mut self, _now: Time, packet: &Packet<Sent>, _from: Colour) {
        self.marked.get_or_insert(packet.colour);
    }

    fn moved(&mut self, _now: Time, _packet: &Packet<Sent>, _to: Flow) {
        self.moved += 1;
    }

    fn dropped(&mut self, _now: Time, packet: Packet<Sent>, reason: DropReason, _occupancy: &Occupancy) {
        self.dropped += 1;
        self.policed |= reason == DropReason::Policed;
        self.drops.push((packet.payload, reason));
    }

    fn sent(&mut self, _now: Time, packet: &Packet<Sent>, _finish: Time, _occupancy: &Occupancy) {
        self.sent += 1;
        let Sent { stream, number } = packet.payload;
        if self.last.insert(stream, number).is_some_and(|last| last >= number) {
            self.reordered = Some(packet.payload);
        }
    }
}

/// A port, its policy and what has been seen of it.
struct World {
    port: Port<Sent>,
    plan: Plan,
    now: Time,
    number: u32,
    watch: Watch,
    transmissions: Vec<Transmission<Sent>>,
    /// For classes that have had the same contract ever since they came: a policer that has never been switched.
    references: BTreeMap<String, Option<AnyPolicer>>,
}

impl World {
    fn new(now: Time, plan: &Plan) -> World {
        let mut world = World {
            port: Port::new(now, plan.setup()),
            plan: plan.clone(),
            now,
            number: 0,
            watch: Watch::default(),
            transmissions: Vec::new(),
            references: BTreeMap::new(),
        };
        world.refer(None);
        world
    }

    fn refer(&mut self, before: Option<&Plan>) {
        let mut references = BTreeMap::new();
        for class in self.port.classifier().classes() {
            let plan = self.plan.class(&class.name);
            let earlier = self.references.remove(&*class.name);
            let unchanged = before.is_none_or(|before| {
                let earlier = before.classes.iter().find(|class| class.name == plan.name);
                earlier.is_some_and(|earlier| earlier.contract == plan.contract && before.policer == self.plan.policer)
            });
            let reference = match earlier {
                Some(earlier) if unchanged => earlier,
                Some(_) => None,
                None => self.plan.policer_of(plan).map(|mut policer| {
                    policer.start(self.now);
                    policer
                }),
            };
            references.insert(class.name.to_string(), reference);
        }
        self.references = references;
    }

    fn offer(&mut self, stream: u16, length: u32) {
        self.advance();
        let flow = self.port.classifier().classify(&header(stream));
        let name = self.port.classifier().classes()[self.port.classifier().class_of(flow)].name.to_string();
        self.number += 1;
        let payload = Sent { stream, number: self.number };
        let is_removed = self.port.is_vacant(flow);
        self.port.offer(self.now, flow, length, Colour::Green, payload, &mut self.watch);
        let is_removed = is_removed || self.watch.drops.last() == Some(&(payload, DropReason::Removed));
        let wire = self.port.overhead().wire_length(length);
        if let Some(Some(policer)) = self.references.get_mut(&name)
            && !is_removed
        {
            let expected = policer.police(self.now, wire, Colour::Green);
            let said = match (self.watch.policed, self.watch.marked) {
                (true, _) => Verdict::Discard,
                (false, Some(colour)) => Verdict::Mark(colour),
                (false, None) => Verdict::Conform,
            };
            assert_eq!(said, expected, "a switch changes what a policer says of {name}");
        }
    }

    fn advance(&mut self) {
        let transmissions = &mut self.transmissions;
        self.port.advance(self.now, &mut self.watch, |transmission| transmissions.push(transmission));
    }

    fn switch(&mut self, plan: &Plan) -> Switched {
        self.advance();
        let transition = Transition::prepare(&self.port, plan.setup());
        let classifier = transition.classifier().clone();
        let queued = self.port.occupancy().packets();
        let moved = self.watch.moved;
        let reclassify = |_: &Packet<()>, packet: &Sent| Some(classifier.classify(&header(packet.stream)));
        let (switched, _) = self.port.switch(self.now, transition, reclassify, &mut self.watch);
        let accounted = switched.kept.packets + switched.moved.packets + switched.dropped.packets;
        assert_eq!(accounted, u64::from(queued));
        assert!(self.watch.moved - moved >= switched.moved.packets);
        let before = std::mem::replace(&mut self.plan, plan.clone());
        self.refer(Some(&before));
        switched
    }

    fn step(&mut self, step: &Step, plans: &[Plan]) {
        let flows = self.port.classifier().flows() as u32;
        match step {
            Step::Offer { stream, length, burst } => (0..*burst).for_each(|_| self.offer(*stream, *length)),
            Step::Pass(time) => self.now += *time,
            Step::Switch(index) => drop(self.switch(&plans[index % plans.len()])),
            Step::Alter(alter, seed) => {
                let mut plan = self.plan.clone();
                alter(&mut plan, *seed);
                self.switch(&plan);
            }
            Step::Remove(flow, leaving) => {
                self.advance();
                self.port.remove_flow(self.now, Flow(flow % flows), *leaving, &mut self.watch);
            }
            Step::Change(flow, wishes) => {
                self.advance();
                self.port.change_flow(self.now, Flow(flow % flows), &wishes.parameters(self.plan.scheduler)).unwrap();
            }
            Step::Fail(stream, packets) => self.fail(*stream, *packets),
        }
        self.check();
    }

    fn fail(&mut self, stream: u16, packets: u32) {
        self.advance();
        let before = self.watch.drops.len();
        let queued = self.port.occupancy().packets() + packets;
        self.port.drop_queued(self.now, DropReason::LinkDown, &mut self.watch);
        assert_eq!((self.port.occupancy().packets(), self.port.occupancy().bytes()), (0, 0));
        let flow = self.port.classifier().classify(&header(stream));
        for _ in 0..packets {
            self.number += 1;
            let payload = Sent { stream, number: self.number };
            let packet =
                Packet { flow, length: 100, arrival: self.now, colour: Colour::Green, part: Part::Whole, ecn: Ecn::NotEct, payload };
            self.port.refuse(packet, DropReason::LinkDown, &mut self.watch);
        }
        let dropped = &self.watch.drops[before..];
        assert!(dropped.len() == queued as usize && dropped.iter().all(|(_, reason)| *reason == DropReason::LinkDown));
    }

    fn check(&self) {
        self.port.check().unwrap();
        let queued = u64::from(self.port.occupancy().packets());
        assert_eq!(u64::from(self.number), self.watch.sent + self.watch.dropped + queued);
        assert_eq!(self.watch.reordered, None, "packets of a transport flow left in another order");
    }

    /// Lets everything leave that is queued.
    fn drain(&mut self) {
        let mut wakes = 0;
        while self.port.occupancy().packets() > 0 {
            let transmissions = &mut self.transmissions;
            let wake = self.port.advance(self.now, &mut self.watch, |transmission| transmissions.push(transmission));
            self.now = wake.unwrap_or(self.now);
            wakes += 1;
            assert!(wakes < 10_000, "packets are queued and never leave");
        }
        self.check();
    }
}

fn kinds() -> impl Strategy<Value = (SchedulerKind, BufferKind)> {
    (prop::sample::select(SchedulerKind::ALL), prop::sample::select(BufferKind::ALL))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn whatever_changes_nothing_is_lost_or_reordered_and_policers_say_the_same(
        (plans, steps, now) in kinds().prop_flat_map(|(scheduler, buffer)| {
            (prop::collection::vec(plan(scheduler, buffer), 2..4), steps(true), origin())
        }),
        others in prop::collection::vec(kinds(), 2),
        mixed: bool,
    ) {
        let mut plans = plans;
        // Sometimes the algorithms change, too.
        if mixed {
            for (plan, (scheduler, buffer)) in plans.iter_mut().zip(others) {
                (plan.scheduler, plan.buffer) = (scheduler, buffer);
            }
        }
        let mut world = World::new(now, &plans[0]);
        for step in &steps {
            world.step(step, &plans);
        }
        world.drain();
    }

    #[test]
    fn a_switch_to_the_same_policy_changes_nothing(
        (plan, steps, now) in kinds()
            .prop_flat_map(|(scheduler, buffer)| (plan(scheduler, buffer), steps(false), origin())),
        switches in prop::collection::vec(any::<bool>(), 120),
    ) {
        let mut changing = World::new(now, &plan);
        let mut steady = World::new(now, &plan);
        for (step, switches) in steps.iter().zip(switches) {
            if matches!(step, Step::Offer { .. } | Step::Pass(_)) {
                changing.step(step, &[]);
                steady.step(step, &[]);
            }
            if switches {
                let switched = changing.switch(&plan);
                prop_assert_eq!((switched.moved.packets, switched.dropped.packets), (0, 0));
            }
        }
        changing.drain();
        steady.drain();
        prop_assert_eq!(changing.transmissions, steady.transmissions);
        prop_assert_eq!(changing.watch.drops, steady.watch.drops);
    }
}

/// Two classes under DRR at 100 Mbit/s, 80 ns per byte: streams 0 and 1, a queue each, and the rest.
fn two_classes() -> Plan {
    let class =
        |name: u8, streams: &[u16]| ClassPlan { name, queues: 1, streams: streams.to_vec(), wishes: Wishes::DEFAULT, contract: None };
    Plan {
        scheduler: SchedulerKind::DeficitRoundRobin,
        buffer: BufferKind::TailDrop,
        packets: 100,
        flow_packets: None,
        megabits: 100,
        overhead: 0,
        policer: PolicerKind::Gcra,
        classes: vec![class(0, &[0]), class(1, &[1]), class(2, &[])],
    }
}

#[test]
fn a_flow_that_drains_takes_no_packets_and_its_place_is_vacant_at_the_end() {
    let mut world = World::new(Time::ZERO, &two_classes());
    (0..3).for_each(|_| world.offer(0, 1000));
    world.port.remove_flow(world.now, Flow(0), Leaving::Drain, &mut world.watch);
    world.offer(0, 1000);
    assert_eq!(world.watch.drops, [(Sent { stream: 0, number: 4 }, DropReason::Removed)]);
    assert!(!world.port.is_vacant(Flow(0)), "packets are queued");
    world.drain();
    assert_eq!((world.watch.sent, world.port.is_vacant(Flow(0))), (3, true));
    world.offer(0, 1000);
    assert_eq!(world.watch.dropped, 2, "a vacant place takes nothing");
    world.port.change_flow(world.now, Flow(0), &Wishes::DEFAULT.parameters(SchedulerKind::DeficitRoundRobin)).unwrap();
    world.offer(0, 1000);
    world.drain();
    assert_eq!((world.watch.sent, world.watch.dropped), (4, 2));
}

#[test]
fn a_flow_that_is_dropped_leaves_at_once_and_its_packets_are_counted() {
    let mut world = World::new(Time::ZERO, &two_classes());
    world.offer(1, 1000);
    (0..3).for_each(|_| world.offer(0, 1000));
    world.port.remove_flow(world.now, Flow(0), Leaving::Drop, &mut world.watch);
    world.check();
    assert!(world.port.is_vacant(Flow(0)));
    assert_eq!(world.port.counters().dropped[DropReason::Removed as usize].packets, 3);
    world.drain();
    assert_eq!(world.watch.sent, 1);
}

#[test]
fn a_transmission_goes_on_at_its_rate_and_the_next_has_the_new_one() {
    let mut world = World::new(Time::ZERO, &two_classes());
    (0..2).for_each(|_| world.offer(0, 1000));
    world.advance();
    world.now += Duration::from_microseconds(10);
    world.switch(&Plan { megabits: 200, ..two_classes() });
    world.drain();
    let times: Vec<u64> = world.transmissions.iter().map(|sent| sent.finish.picoseconds() / 1_000_000).collect();
    assert_eq!(times, [80, 120], "80 us at 100 Mbit/s, then 40 us at 200 Mbit/s");
}

#[test]
fn what_a_smaller_buffer_cannot_hold_stays_and_nothing_more_is_accepted_until_it_has_left() {
    let mut world = World::new(Time::ZERO, &two_classes());
    (0..20).for_each(|_| world.offer(0, 1000));
    let switched = world.switch(&Plan { packets: 5, ..two_classes() });
    assert_eq!((switched.kept.packets, world.watch.dropped), (19, 0), "one is being transmitted");
    world.offer(1, 1000);
    assert_eq!(world.watch.dropped, 1);
    world.now += Duration::from_microseconds(80 * 16);
    world.offer(1, 1000);
    assert_eq!(world.watch.dropped, 1, "four are left");
    world.drain();
    assert_eq!(world.watch.sent, 21);
}
