//! The suite that every registered AQM passes: the laws of the role, and of the port that asks it.
//!
//! A slow port over any AQM carries out the laws word by word. The port of the product must do the same, event by event; AQMs that break a law
//! must be caught.

mod aqm;

use aqm::slow_port::SlowPort;
use aqm::{Event, Events};
use tidegate_core::aqm::{Aqm, AqmField, AqmParameters, AqmSetup, AqmState, Gain, Judgement, Probability, RedCurve};
use tidegate_core::buffer::{Arrival, BufferParameters};
use tidegate_core::classifier::{ClassRules, Classifier, Rule};
use tidegate_core::packet::{Colour, DropReason, Ecn, Flow, Packet, Part};
use tidegate_core::port::{Port, PortSetup};
use tidegate_core::queue::Backlog;
use tidegate_core::random::SplitMix64;
use tidegate_core::registry::{AnyAqm, AnyBufferManager, AnyScheduler, AqmKind, BufferKind, SchedulerKind};
use tidegate_core::remark::Remarks;
use tidegate_core::scheduler::{FlowParameters, Kept, Setup};
use tidegate_core::units::{Duration, Overhead, Rate, SERIAL_HORIZON, Time};

/// The queues of a class.
const FLOWS: u32 = 2;
/// An instant shortly before the axis of time wraps.
const LATE: Time = Time::from_picoseconds(u64::MAX - 300_000_000_000);

fn rate() -> Rate {
    Rate::new(10_000_000).unwrap()
}

/// Parameters that let an AQM speak within tens of milliseconds, those among them that it knows.
fn quick(kind: AqmKind) -> AqmParameters {
    let uses = |field| kind.accepts().contains(&field) || kind.requires().contains(&field);
    let duration = |field, ms| uses(field).then(|| Duration::from_milliseconds(ms));
    AqmParameters {
        target: duration(AqmField::Target, 2).filter(|_| !uses(AqmField::Curve)),
        interval: duration(AqmField::Interval, 20),
        update_period: duration(AqmField::UpdatePeriod, 2),
        max_burst: duration(AqmField::MaxBurst, 10),
        alpha: Gain::from_millihertz(1250).filter(|_| uses(AqmField::Alpha)),
        beta: Gain::from_millihertz(12_500).filter(|_| uses(AqmField::Beta)),
        mark_above: uses(AqmField::MarkAbove).then_some(8_000),
        curve: steep_curve().filter(|_| uses(AqmField::Curve)),
        curves: [steep_curve().filter(|_| uses(AqmField::Curves)), None, None],
        averaging: uses(AqmField::Averaging).then_some(5),
        ce_threshold: duration(AqmField::CeThreshold, 40),
        ecn_limit: Probability::from_millionths(300_000).filter(|_| uses(AqmField::EcnLimit)),
        ..AqmParameters::default()
    }
}

/// A curve within a few packets.
fn steep_curve() -> Option<RedCurve> {
    Some(RedCurve { min: 3_000, max: 20_000, max_probability: Probability::from_millionths(300_000)? })
}

fn build(kind: AqmKind) -> AnyAqm {
    let setup = AqmSetup { flows: FLOWS as usize, rate: rate(), longest_frame: 1514 };
    kind.build(&setup, &quick(kind)).unwrap()
}

/// The same with ingress accounting, if it has that.
fn build_ingress(kind: AqmKind) -> AnyAqm {
    let setup = AqmSetup { flows: FLOWS as usize, rate: rate(), longest_frame: 1514 };
    let ingress = kind.accepts().contains(&AqmField::Ingress).then_some(true);
    kind.build(&setup, &AqmParameters { ingress, ..quick(kind) }).unwrap()
}

/// Something that happens at a port.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A packet arrives after a gap.
    Offer { gap: Duration, flow: Flow, length: u32, ecn: Ecn },
    /// The instants that the AQMs keep are refreshed.
    Refresh,
}

/// Times of overload, of light load, and of silence, by turns.
fn script(steps: usize, flows: u32, random: &mut SplitMix64) -> Vec<Step> {
    let mut script = Vec::new();
    for step in 0..steps {
        if random.below(97) == 0 {
            script.push(Step::Refresh);
        }
        let gap = match (step / 300 % 3, random.below(200)) {
            (_, 0) => 40_000 + random.below(200_000),
            (2, _) => 1_000 + random.below(2_000),
            _ => random.below(1_000),
        };
        let flow = Flow(random.below(flows + 1) % flows);
        let ecn = Ecn::from_bits(random.below(4) as u8);
        script.push(Step::Offer { gap: Duration::from_microseconds(gap.into()), flow, length: 64 + random.below(1_450), ecn });
    }
    script
}

fn scheduler(kind: SchedulerKind, flows: u32) -> AnyScheduler {
    let flow = FlowParameters { priority: Some(0), ..FlowParameters::default() };
    let given = |kind: SchedulerKind| if kind == SchedulerKind::StrictPriority { flow } else { FlowParameters::default() };
    kind.build(&Setup::new(rate(), 1514), &vec![given(kind); flows as usize]).unwrap()
}

fn buffer(kind: BufferKind, flows: u32, bytes: u64) -> AnyBufferManager {
    kind.build(&BufferParameters { flows: flows as usize, bytes: Some(bytes), ..BufferParameters::default() }).unwrap()
}

/// A slow port of one class with this AQM.
fn slow<A: Aqm>(now: Time, aqm: A) -> SlowPort<A> {
    let scheduler = scheduler(SchedulerKind::DeficitRoundRobin, FLOWS);
    SlowPort::new(now, vec![Some(aqm)], FLOWS, scheduler, buffer(BufferKind::LongestQueuePushOut, FLOWS, 60_000), rate())
}

/// Carries out a script from `now` on, and returns when it ends.
fn play<A: Aqm>(port: &mut SlowPort<A>, mut now: Time, script: &[Step], first: u32) -> Time {
    for (payload, &step) in (first..).zip(script) {
        match step {
            Step::Offer { gap, flow, length, ecn } => {
                now += gap;
                port.advance(now);
                port.offer(Packet { flow, length, arrival: now, colour: Colour::Green, part: Part::Whole, ecn, payload });
            }
            Step::Refresh => port.aqms.iter_mut().flatten().for_each(|aqm| aqm.refresh(now)),
        }
    }
    now
}

/// The events from `first` on, at times since `start`.
fn since(events: &Events, first: usize, start: Time) -> Vec<Event> {
    let at = |at: Time| Time::from_picoseconds(at.since(start).picoseconds());
    let shifted = |event: &Event| match *event {
        Event::Queued(time, flow, ecn) => Event::Queued(at(time), flow, ecn),
        Event::Marked(time, number) => Event::Marked(at(time), number),
        Event::Dropped(time, number, reason) => Event::Dropped(at(time), number, reason),
        Event::Sent(time, number, ecn) => Event::Sent(at(time), number, ecn),
    };
    events.0[first..].iter().map(shifted).collect()
}

fn drain<A: Aqm>(port: &mut SlowPort<A>, now: Time) -> Time {
    let later = now + Duration::from_seconds(1);
    port.advance(later);
    assert!(port.is_empty(), "a second is enough for what the buffer holds");
    later
}

/// Checks the laws of AQMs that this builds.
fn check<A: Aqm>(build: impl Fn() -> A, seed: u64) -> Result<Events, String> {
    let mut random = SplitMix64::new(seed);
    let [before, after] = [script(900, FLOWS, &mut random), script(900, FLOWS, &mut random)];
    let start = Time::ZERO;

    // The first half, the second half at once after it.
    let mut port = slow(start, build());
    let middle = play(&mut port, start, &before, 0);
    let half = port.events.0.len();
    let end = play(&mut port, middle, &after, 10_000);
    drain(&mut port, end);
    if let Some(broken) = port.broken {
        return Err(broken);
    }

    // The same at another time, at which the axis wraps, and without refreshes.
    let without = |script: &[Step]| -> Vec<Step> { script.iter().copied().filter(|step| matches!(step, Step::Offer { .. })).collect() };
    let mut other = slow(LATE, build());
    let numbered = |port: &mut SlowPort<A>| {
        let middle = play(port, LATE, &without(&before), 0);
        let end = play(port, middle, &without(&after), 10_000);
        drain(port, end);
    };
    numbered(&mut other);
    if outcomes(&port.events) != outcomes(&other.events) {
        return Err("its answers depend on the time of day, or on refreshes".into());
    }

    // Another of the same parameters takes over in the middle.
    let mut moved = slow(start, build());
    let now = play(&mut moved, start, &before, 0);
    let kept = moved.kept(0);
    let old = moved.aqms[0].replace(build()).unwrap();
    let new = moved.aqms[0].as_mut().unwrap();
    new.start(now);
    new.adopt(now, &old, &kept);
    let end = play(&mut moved, now, &after, 10_000);
    drain(&mut moved, end);
    if moved.events != port.events {
        return Err("it does not continue as the one that it adopted".into());
    }

    // All queues are forgotten in the middle, or the AQM is new then.
    let mut used = slow(start, build());
    let now = play(&mut used, start, &before, 0);
    let now = drain(&mut used, now);
    let first = used.events.0.len();
    (0..FLOWS).for_each(|flow| used.aqms[0].as_mut().unwrap().forget(Flow(flow)));
    let mut new = slow(now, build());
    for port in [&mut used, &mut new] {
        port.draws = SplitMix64::new(seed);
        let end = play(port, now, &after, 10_000);
        drain(port, end);
    }
    if since(&used.events, first, now) != since(&new.events, 0, now) {
        return Err("it remembers queues that it was told to forget".into());
    }
    assert!(half > 1_000);
    Ok(port.events)
}

/// What became of packets, without instants and numbers, which count refreshes.
fn outcomes(events: &Events) -> Vec<(u8, Option<DropReason>)> {
    let outcome = |event: &Event| match *event {
        Event::Queued(..) => (0, None),
        Event::Marked(..) => (1, None),
        Event::Dropped(_, _, reason) => (2, Some(reason)),
        Event::Sent(_, _, ecn) => (3 + ecn.bits(), None),
    };
    events.0.iter().map(outcome).collect()
}

/// The numbers of marks and of drops for congestion.
fn signals(events: &Events) -> [usize; 2] {
    let count = |is: fn(&&Event) -> bool| events.0.iter().filter(is).count();
    [count(|event| matches!(event, Event::Marked(..))), count(|event| matches!(event, Event::Dropped(_, _, DropReason::Congestion)))]
}

#[test]
fn every_aqm_keeps_the_laws() {
    for &kind in AqmKind::ALL {
        let mut seen = [0; 2];
        for seed in 0..6 {
            let build = if seed % 2 == 0 { build } else { build_ingress };
            let events = check(|| build(kind), seed).unwrap_or_else(|broken| panic!("{}, seed {seed}: {broken}", kind.name()));
            let these = signals(&events);
            (seen[0], seen[1]) = (seen[0] + these[0], seen[1] + these[1]);
        }
        assert!(seen[0] > 20, "{} has marked {} packets: the suite does not reach it", kind.name(), seen[0]);
        assert_eq!(seen[1] > 20, kind != AqmKind::Step, "{} has dropped {} packets", kind.name(), seen[1]);
    }
}

#[test]
fn a_port_asks_as_the_laws_say() {
    let schedulers = [SchedulerKind::Fifo, SchedulerKind::DeficitRoundRobin, SchedulerKind::StrictPriority];
    let buffers = [BufferKind::TailDrop, BufferKind::LongestQueuePushOut];
    for &kind in AqmKind::ALL {
        let (mut dropped, mut pushed_out) = (0, 0);
        for (seed, order) in (0..).zip(schedulers) {
            for manager in buffers {
                let mut random = SplitMix64::new(seed);
                let aqms = vec![Some(build_ingress(kind)), None, Some(build(AqmKind::CoDel))];
                let flows = aqms.len() as u32 * FLOWS;
                let script = script(1_500, flows, &mut random);
                let rules = |vlan: Option<u16>| vlan.map(|vlan| Rule { vlan: Some(vlan), ..Rule::default() }).into_iter().collect();
                let class = |(name, vlan): (&str, _)| ClassRules { name: name.into(), queues: FLOWS, rules: rules(vlan) };
                let mut port = Port::new(
                    LATE,
                    PortSetup {
                        rate: rate(),
                        overhead: Overhead::None,
                        classifier: Classifier::new([("a", Some(1)), ("b", Some(2)), ("c", None)].map(class).into(), 0).unwrap(),
                        policers: vec![None; 3],
                        aqms: aqms.clone(),
                        seed: 1,
                        buffer: buffer(manager, flows, 30_000),
                        scheduler: scheduler(order, flows),
                        packet_limit: 10_000,
                        longest_frame: 1514,
                        remarks: Remarks::default(),
                    },
                );
                let mut slow = SlowPort::new(LATE, aqms, FLOWS, scheduler(order, flows), buffer(manager, flows, 30_000), rate());
                let mut events = Events::default();
                let mut now = LATE;
                for (payload, step) in (0..).zip(script) {
                    let Step::Offer { gap, flow, length, ecn } = step else { continue };
                    now += gap;
                    let packet = Packet { flow, length, arrival: now, colour: Colour::Green, part: Part::Whole, ecn, payload };
                    port.advance(now, &mut events, |_| {});
                    port.offer_packet(packet, &mut events);
                    port.check().unwrap();
                    slow.advance(now);
                    slow.offer(packet);
                }
                let differ = events.0.iter().zip(&slow.events.0).position(|(one, other)| one != other);
                assert_eq!(differ.map(|at| (events.0[at], slow.events.0[at])), None, "{} under {order:?} and {manager:?}", kind.name());
                assert_eq!(events.0.len(), slow.events.0.len());
                let [marks, drops] = signals(&events);
                let counters = port.counters();
                assert_eq!(counters.marked.packets, marks as u64);
                assert_eq!(counters.dropped[DropReason::Congestion as usize].packets, drops as u64);
                dropped += drops;
                pushed_out += counters.dropped[DropReason::PushedOut as usize].packets;
            }
        }
        assert!(dropped > 0 && pushed_out > 0, "{}: {dropped} dropped and {pushed_out} pushed out are no test", kind.name());
    }
}

#[test]
fn a_long_silence_with_refreshes_leaves_a_sound_state() {
    // Adaptive RED keeps the probability that it has learnt.
    for &kind in AqmKind::ALL.iter().filter(|&&kind| kind != AqmKind::AdaptiveRed) {
        let script = script(600, FLOWS, &mut SplitMix64::new(5));
        let mut port = slow(Time::ZERO, build(kind));
        let mut now = play(&mut port, Time::ZERO, &script, 0);
        now = drain(&mut port, now);
        // Ten horizons: more than the axis of time.
        for _ in 0..10 {
            now += SERIAL_HORIZON;
            port.advance(now);
            port.aqms[0].as_mut().unwrap().refresh(now);
        }
        let first = port.events.0.len();
        let mut other = slow(now, build(kind));
        for port in [&mut port, &mut other] {
            port.draws = SplitMix64::new(1);
            play(port, now, &script, 0);
        }
        let ([marks, drops], [new_marks, new_drops]) = (signals(&Events(port.events.0[first..].to_vec())), signals(&other.events));
        let near = |one: usize, other: usize| one.abs_diff(other) <= 5 + other / 5;
        assert!(near(marks, new_marks) && near(drops, new_drops), "{}: {marks} and {drops}, new {new_marks} and {new_drops}", kind.name());
    }
}

#[test]
fn parameters_are_checked_field_by_field() {
    let setup = AqmSetup { flows: FLOWS as usize, rate: rate(), longest_frame: 1514 };
    for &kind in AqmKind::ALL {
        assert_eq!(AqmKind::from_name(kind.name()), Some(kind));
        let sound = quick(kind);
        assert!(kind.build(&setup, &sound).is_ok());
        let second = Some(Duration::from_seconds(1));
        let uses = |field| kind.accepts().contains(&field) || kind.requires().contains(&field);
        for (field, given) in [
            (AqmField::Target, AqmParameters { target: second, ..sound.clone() }),
            (AqmField::Interval, AqmParameters { interval: second, ..sound.clone() }),
            (AqmField::Ecn, AqmParameters { ecn: Some(true), ..sound.clone() }),
            (AqmField::MarkLimit, AqmParameters { mark_limit: second, ..sound.clone() }),
            (AqmField::MarkAbove, AqmParameters { mark_above: Some(1), ..sound.clone() }),
            (AqmField::CeThreshold, AqmParameters { ce_threshold: second, ..sound.clone() }),
            (AqmField::UpdatePeriod, AqmParameters { update_period: second, ..sound.clone() }),
            (AqmField::Alpha, AqmParameters { alpha: Gain::from_millihertz(1), ..sound.clone() }),
            (AqmField::Beta, AqmParameters { beta: Gain::from_millihertz(1), ..sound.clone() }),
            (AqmField::MaxBurst, AqmParameters { max_burst: second, ..sound.clone() }),
            (AqmField::Derandomise, AqmParameters { derandomise: Some(true), ..sound.clone() }),
            (AqmField::Steep, AqmParameters { steep: Some(true), ..sound.clone() }),
        ] {
            assert!(given.has(field));
            if !uses(field) {
                assert_eq!(kind.build(&setup, &given).err().map(|error| error.field), Some(field), "{}", kind.name());
            }
        }
    }
    assert_eq!(AqmKind::from_name("drr"), None);
}

#[test]
fn bounds_of_parameters_are_checked() {
    let setup = AqmSetup { flows: 1, rate: rate(), longest_frame: 1514 };
    let refused = |kind: AqmKind, given| kind.build(&setup, &given).err().map(|error| error.field);
    let none = AqmParameters::default();
    let (zero, day) = (Some(Duration::ZERO), Some(Duration::from_seconds(86_400)));
    for (kind, given, field) in [
        (AqmKind::CoDel, AqmParameters { target: zero, ..none.clone() }, AqmField::Target),
        (AqmKind::CoDel, AqmParameters { target: day, ..none.clone() }, AqmField::Target),
        (AqmKind::CoDel, AqmParameters { interval: Some(Duration::from_milliseconds(4)), ..none.clone() }, AqmField::Interval),
        (AqmKind::CoDel, AqmParameters { interval: day, ..none.clone() }, AqmField::Interval),
        (AqmKind::CoDel, AqmParameters { mark_limit: Some(Duration::from_milliseconds(4)), ..none.clone() }, AqmField::MarkLimit),
        (AqmKind::Cobalt, AqmParameters { ce_threshold: day, ..none.clone() }, AqmField::CeThreshold),
        (AqmKind::Pie, AqmParameters { target: zero, ..none.clone() }, AqmField::Target),
        (AqmKind::Pie, AqmParameters { target: Some(Duration::from_seconds(5)), ..none.clone() }, AqmField::Target),
        (AqmKind::Pie, AqmParameters { update_period: zero, ..none.clone() }, AqmField::UpdatePeriod),
        (AqmKind::Pie, AqmParameters { update_period: day, ..none.clone() }, AqmField::UpdatePeriod),
        (AqmKind::Pie, AqmParameters { max_burst: day, ..none.clone() }, AqmField::MaxBurst),
        (AqmKind::Pie, AqmParameters { alpha: Gain::from_millihertz(0), ..none.clone() }, AqmField::Alpha),
    ] {
        assert_eq!(refused(kind, given), Some(field), "{}", kind.name());
    }
}

/// What is wrong with a [`Defective`] AQM.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Defect {
    /// None: it drops or marks every tenth packet of a queue.
    None,
    /// It marks packets whose transport does not understand it.
    MarksAll,
    /// It compares instants as numbers.
    ComparesNumbers,
    /// It keeps what it counted of a queue that it was told to forget.
    Remembers,
    /// It starts afresh in place of adopting.
    StartsAfresh,
}

/// Signals every tenth packet of a queue.
struct Defective {
    defect: Defect,
    counts: [u32; FLOWS as usize],
    last: Time,
}

impl Aqm for Defective {
    fn start(&mut self, now: Time) {
        self.last = now;
    }

    fn depart<B: Backlog>(&mut self, now: Time, head: &Packet<()>, _: &B, _: &mut SplitMix64) -> Judgement {
        let is_later =
            if self.defect == Defect::ComparesNumbers { now.picoseconds() >= self.last.picoseconds() } else { !now.is_before(self.last) };
        if is_later {
            self.last = now;
        }
        let count = &mut self.counts[head.flow.index()];
        *count += 1;
        if !count.is_multiple_of(10) || !is_later {
            return Judgement::Pass;
        }
        if head.ecn.is_capable() || self.defect == Defect::MarksAll { Judgement::Mark } else { Judgement::Drop }
    }

    fn admit<B: Backlog>(&mut self, arrival: &Arrival, backlog: &B, _: &mut SplitMix64) -> Judgement {
        assert_eq!(backlog.waiting_since(arrival.flow).is_some(), backlog.flow_packets(arrival.flow) > 0);
        Judgement::Pass
    }

    fn state<B: Backlog>(&self, _: Time, _: Flow, _: &B) -> AqmState {
        AqmState::default()
    }

    fn forget(&mut self, flow: Flow) {
        if self.defect != Defect::Remembers {
            self.counts[flow.index()] = 0;
        }
    }

    fn adopt(&mut self, _: Time, old: &Defective, _: &[Kept]) {
        if self.defect != Defect::StartsAfresh {
            self.counts = old.counts;
        }
    }
}

#[test]
fn defective_aqms_are_caught() {
    for (defect, law) in [
        (Defect::None, None),
        (Defect::MarksAll, Some("does not understand")),
        (Defect::ComparesNumbers, Some("time of day")),
        (Defect::Remembers, Some("remembers")),
        (Defect::StartsAfresh, Some("does not continue")),
    ] {
        let build = || Defective { defect, counts: [0; FLOWS as usize], last: Time::ZERO };
        let broken: Vec<String> = (0..6).filter_map(|seed| check(build, seed).err()).collect();
        match law {
            None => assert_eq!(broken, [""; 0], "the skeleton itself has to pass, or catching its variants means nothing"),
            Some(law) => assert!(broken.iter().any(|broken| broken.contains(law)), "{defect:?} was not caught by '{law}': {broken:?}"),
        }
    }
}
