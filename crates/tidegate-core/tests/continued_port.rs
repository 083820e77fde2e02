//! A port that goes on in another process. A new port of the same policy that gets its state and its packets sends and drops as the old one would have.

use tidegate_core::buffer::BufferParameters;
use tidegate_core::classifier::{ClassRules, Classifier, Rule};
use tidegate_core::observer::Observer;
use tidegate_core::packet::{Colour, DropReason, Flow, Packet};
use tidegate_core::policer::{Contract, Policer, Verdict};
use tidegate_core::port::{ContinueError, Port, PortSetup, PortState};
use tidegate_core::queue::Occupancy;
use tidegate_core::random::SplitMix64;
use tidegate_core::registry::{AnyPolicer, AnyScheduler, BufferKind, PolicerKind, SchedulerKind};
use tidegate_core::remark::Remarks;
use tidegate_core::scheduler::{FlowParameters, Hierarchy, LeafSpec, NodeSpec, Setup};
use tidegate_core::shaper::{Bucket, Shaped, ShapingContract};
use tidegate_core::units::{Duration, Overhead, Rate, Time};

const CLASSES: u32 = 6;
const LONGEST: u32 = 1500;

fn rate(kilobits: u64) -> Rate {
    Rate::new(kilobits * 1000).unwrap()
}

fn shape(flow: u32) -> ShapingContract {
    let tolerance = Duration::from_milliseconds(2);
    let peak = (flow % 2 == 1).then_some(rate(9_000));
    let bucket = if flow == 3 { Bucket::Dual } else { Bucket::Single };
    ShapingContract { peak, tolerance, bucket, ..ShapingContract::new(rate(1_000 + 700 * u64::from(flow)), 9_000, LONGEST) }
}

fn parameters(flow: u32) -> FlowParameters {
    FlowParameters { priority: Some(flow), weight: Some(1 + flow), rate: Some(rate(1_500)), ..FlowParameters::default() }
}

/// A policer of each kind in turn.
fn policer(class: u32) -> AnyPolicer {
    let kind = PolicerKind::ALL[class as usize % PolicerKind::ALL.len()];
    let (burst, more) = (Some(12_001), Some(rate(6_000)));
    let bare = Contract { burst, ..Contract::new(rate(2_000), LONGEST) };
    let contract = match kind {
        PolicerKind::Gcra => bare,
        PolicerKind::DualGcra | PolicerKind::Gfr | PolicerKind::GfrTm41 => Contract { peak_rate: more, ..bare },
        PolicerKind::SrTcm => Contract { excess_burst: burst, ..bare },
        PolicerKind::TrTcm2698 => Contract { peak_rate: more, peak_burst: burst, ..bare },
        PolicerKind::TrTcm4115 => Contract { excess_rate: more, excess_burst: burst, ..bare },
    };
    kind.build(&contract).unwrap()
}

/// What kind of scheduler shapes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shaping {
    /// A shaper before strict priority.
    Shaper,
    /// A tree of strict priority.
    Tree,
    /// A tree of deficit round robin, whose turns begin anew.
    DeficitTree,
    RateControlled,
    /// Whose rate is its shape.
    VirtualClock,
}

fn scheduler(shaping: Shaping) -> AnyScheduler {
    let setup = Setup::new(rate(20_000), LONGEST);
    let flows: Vec<FlowParameters> = (0..CLASSES).map(parameters).collect();
    match shaping {
        Shaping::Shaper => {
            let inner = SchedulerKind::StrictPriority.build(&setup, &flows).unwrap();
            AnyScheduler::Shaped(Box::new(Shaped::new(inner, &(0..CLASSES).map(|flow| Some(shape(flow))).collect::<Vec<_>>()).unwrap()))
        }
        Shaping::Tree | Shaping::DeficitTree => {
            let kind = if shaping == Shaping::Tree { SchedulerKind::StrictPriority } else { SchedulerKind::DeficitRoundRobin };
            let node = |number: u32| {
                let given = FlowParameters { shape: None, ..parameters(number) };
                NodeSpec {
                    shape: Some(ShapingContract::new(rate(3_000), 9_000, LONGEST)),
                    ..NodeSpec::new(Some(0), kind, rate(3_000), given)
                }
            };
            let nodes: Vec<NodeSpec> =
                [NodeSpec::new(None, kind, rate(20_000), FlowParameters::default())].into_iter().chain((0..2).map(node)).collect();
            let leaf =
                |flow: usize| LeafSpec { parent: 1 + flow % 2, parameters: parameters(flow as u32), shape: Some(shape(flow as u32)) };
            if shaping == Shaping::Tree {
                AnyScheduler::Hierarchy(Box::new(
                    Hierarchy::build_with(LONGEST, (nodes.len(), |node| nodes[node]), (CLASSES as usize, leaf)).unwrap(),
                ))
            } else {
                AnyScheduler::tree(LONGEST, (nodes.len(), |node| nodes[node]), (CLASSES as usize, leaf)).unwrap()
            }
        }
        Shaping::RateControlled => {
            let flows: Vec<FlowParameters> =
                flows.iter().zip(0..).map(|(given, flow)| FlowParameters { shape: Some(shape(flow)), ..*given }).collect();
            SchedulerKind::RateControlled.build(&setup, &flows).unwrap()
        }
        Shaping::VirtualClock => SchedulerKind::ShapedVirtualClock.build(&setup, &flows).unwrap(),
    }
}

fn setup(shaping: Shaping, first_policer: u32) -> PortSetup {
    let class =
        |name: u32| ClassRules { name: format!("{name}"), queues: 1, rules: vec![Rule { vlan: Some(name as u16), ..Rule::default() }] };
    let classifier = Classifier::new((0..CLASSES).map(class).collect(), 1).unwrap();
    let buffer = BufferParameters { flows: classifier.flows(), packets: Some(60), ..BufferParameters::default() };
    PortSetup {
        rate: rate(20_000),
        overhead: Overhead::None,
        policers: (0..CLASSES).map(|class| (class % 2 == 0).then(|| policer(first_policer + class / 2))).collect(),
        aqms: Vec::new(),
        seed: 1,
        buffer: BufferKind::TailDrop.build(&buffer).unwrap(),
        scheduler: scheduler(shaping),
        classifier,
        packet_limit: 60,
        longest_frame: LONGEST,
        remarks: Remarks::default(),
    }
}

/// What happens at a port.
#[derive(Default)]
struct Events(Vec<(Time, u32, Option<DropReason>, Colour)>);

impl Observer<u32> for Events {
    fn dropped(&mut self, now: Time, packet: Packet<u32>, reason: DropReason, _: &Occupancy) {
        self.0.push((now, packet.payload, Some(reason), packet.colour));
    }
}

/// A new port that goes on where this one is.
fn continued(old: &mut Port<u32>, now: Time, (shaping, first_policer): (Shaping, u32)) -> Result<Port<u32>, ContinueError> {
    let (state, mut packets) = (old.state(now), Vec::new());
    for flow in (0..CLASSES).map(Flow) {
        packets.extend(old.queued(flow).map(|(packet, &payload)| {
            let Packet { flow, length, arrival, colour, part, ecn, .. } = packet;
            Packet { flow, length, arrival, colour, part, ecn, payload }
        }));
    }
    packets.sort_by_key(|packet| packet.payload);
    let mut port = Port::new(now, setup(shaping, first_policer));
    port.continue_from(now, &state, packets.into_iter().map(|packet| (packet, None)))?;
    Ok(port)
}

/// All sends and drops of a port under random traffic, which is replaced by its continuation at some instants, or never.
fn play(shaping: Shaping, first_policer: u32, seed: u64, replaces: bool) -> Vec<(Time, u32, Option<DropReason>, Colour)> {
    let mut draws = SplitMix64::new(seed);
    // Shortly before the clock wraps.
    let mut now = Time::from_picoseconds(u64::MAX - 1_000_000_000_000);
    let mut port = Port::<u32>::new(now, setup(shaping, first_policer));
    let mut events = Events::default();
    let mut contracts: Vec<AnyPolicer> = (0..CLASSES)
        .map(|flow| {
            let policed = shape(flow).policed();
            let kind = if policed.peak_rate.is_some() { PolicerKind::DualGcra } else { PolicerKind::Gcra };
            let mut policer = kind.build(&policed).unwrap();
            policer.start(now);
            policer
        })
        .collect();
    for number in 0..3000 {
        let pause = if draws.below(400) == 0 { 60_000 } else { draws.below(900) };
        now += Duration::from_microseconds(u64::from(pause));
        let mut sent = Vec::new();
        port.advance(now, &mut events, |sending| sent.push((sending.start, sending.packet)));
        for (start, packet) in sent {
            if shaping != Shaping::VirtualClock {
                let verdict = contracts[packet.flow.index()].police(start, packet.length, Colour::Green);
                assert_eq!(verdict, Verdict::Conform, "{shaping:?}: {} sent more than its contract", packet.flow.0);
            }
            events.0.push((start, packet.payload, None, packet.colour));
        }
        if draws.below(40) == 0 && replaces {
            port = continued(&mut port, now, (shaping, first_policer)).unwrap();
        }
        let (flow, length) = (Flow(draws.below(CLASSES)), 60 + draws.below(LONGEST - 60));
        port.offer(now, flow, length, Colour::Green, number, &mut events);
        port.check().unwrap();
    }
    events.0
}

#[test]
fn policers_and_shapers_go_on_as_if_nothing_had_happened() {
    for shaping in [Shaping::Shaper, Shaping::Tree] {
        for seed in 0..12 {
            let first = seed as u32 * 3;
            let (expected, found) = (play(shaping, first, seed, false), play(shaping, first, seed, true));
            let differs = expected.iter().zip(&found).position(|(expected, found)| expected != found);
            assert_eq!(
                differs,
                None,
                "{shaping:?}, seed {seed}: {:?} in place of {:?}",
                found[differs.unwrap()],
                expected[differs.unwrap()]
            );
            assert_eq!(expected.len(), found.len());
        }
    }
}

/// Random arrivals from `now` on, and what is sent and dropped until all has left.
fn burst(port: &mut Port<u32>, mut now: Time, draws: &mut SplitMix64) -> Vec<(Time, u32, Option<DropReason>, Colour)> {
    let mut events = Events::default();
    for number in 0..40 {
        let mut sent = Vec::new();
        port.advance(now, &mut events, |sending| sent.push((sending.start, sending.packet.payload, None, sending.packet.colour)));
        events.0.append(&mut sent);
        port.offer(now, Flow(draws.below(CLASSES)), 60 + draws.below(LONGEST - 60), Colour::Green, number, &mut events);
        now += Duration::from_microseconds(draws.below(500).into());
    }
    let mut sent = Vec::new();
    port.advance(now + Duration::from_milliseconds(200), &mut events, |sending| {
        sent.push((sending.start, sending.packet.payload, None, sending.packet.colour));
    });
    events.0.append(&mut sent);
    events.0
}

/// Contracts that rest do not go along. They go on as those of the port that they come from, whether they have rested for long or for a moment.
#[test]
fn what_is_left_out_is_as_good_as_new() {
    for shaping in [Shaping::Shaper, Shaping::Tree, Shaping::DeficitTree, Shaping::VirtualClock] {
        let [mut some, mut all] = [0; 2];
        for seed in 0..300_u32 {
            let mut draws = SplitMix64::new(seed.into());
            let mut now = Time::from_picoseconds(u64::MAX - 100_000_000_000);
            let mut old = Port::<u32>::new(now, setup(shaping, seed));
            burst(&mut old, now, &mut draws);
            assert_eq!(old.occupancy().packets(), 0);
            now += Duration::from_milliseconds(220);
            // One more packet for some of the contracts, and a pause in which they fill, or do not.
            for flow in 0..CLASSES {
                if draws.below(3) == 0 {
                    continue;
                }
                old.offer(now, Flow(flow), 60 + draws.below(LONGEST - 60), Colour::Green, 99, &mut ());
            }
            now += Duration::from_microseconds(2_000 + u64::from(draws.below(8_000)));
            old.advance(now, &mut (), |_| {});
            let state = old.state(now);
            match state.contracts.len() {
                0 => all += 1,
                _ => some += 1,
            }
            if old.occupancy().packets() > 0 {
                continue;
            }
            // Built a moment before, so that its own contracts have not rested.
            let mut new = Port::new(now - Duration::from_microseconds(draws.below(3_000).into()), setup(shaping, seed));
            new.continue_from(now, &state, []).unwrap();
            let mut again = draws.clone();
            let (expected, found) = (burst(&mut old, now, &mut draws), burst(&mut new, now, &mut again));
            assert_eq!(expected, found, "{shaping:?}, seed {seed}");
        }
        assert!(all > 10 && some > 10, "{shaping:?}: {all} times all rest, {some} times some do not");
    }
}

/// Where turns begin anew, too, no contract grants anything twice: `play` checks every packet. As much is sent as otherwise, but for what a turn holds.
#[test]
fn trees_of_turns_keep_their_contracts_and_send_as_much() {
    for shaping in [Shaping::DeficitTree, Shaping::RateControlled, Shaping::VirtualClock] {
        for seed in 0..12 {
            let sent = |events: Vec<(Time, u32, Option<DropReason>, Colour)>| events.iter().filter(|event| event.2.is_none()).count();
            let (expected, found) = (sent(play(shaping, 1, seed, false)), sent(play(shaping, 1, seed, true)));
            assert!(30 * expected.abs_diff(found) <= expected, "{shaping:?}, seed {seed}: {found} packets sent in place of {expected}");
        }
    }
}

/// A state of another policy, or a broken one, is an error, never a panic.
#[test]
fn what_does_not_suit_is_an_error() {
    let now = Time::from_nanoseconds(5_000);
    let mut old = Port::<u32>::new(now, setup(Shaping::Shaper, 0));
    (0..40).for_each(|number| old.offer(now, Flow(number % CLASSES), 1000, Colour::Green, number, &mut ()));
    let other = (Shaping::DeficitTree, 0);
    assert_eq!(continued(&mut old, now, other).unwrap_err(), ContinueError::Contracts);
    let state = old.state(now);
    let go_on = |state: &PortState, packet: Option<(u32, u32)>| {
        let mut port = Port::<u32>::new(now, setup(Shaping::Shaper, 0));
        let packet = packet.map(|(flow, length)| {
            let mut packet = None;
            let mut source = Port::<u32>::new(now, setup(Shaping::Shaper, 0));
            source.offer(now, Flow(1), 100, Colour::Green, 7, &mut ());
            source.queued(Flow(1)).for_each(|(found, &payload)| {
                let Packet { arrival, colour, part, ecn, .. } = found;
                packet = Some(Packet { flow: Flow(flow), length, arrival, colour, part, ecn, payload });
            });
            (packet.unwrap(), None)
        });
        port.continue_from(now, state, packet)
    };
    assert_eq!(go_on(&state, None), Err(ContinueError::Counters), "packets are missing");
    assert_eq!(go_on(&state, Some((CLASSES, 100))), Err(ContinueError::Packet(Flow(CLASSES))));
    assert_eq!(go_on(&state, Some((1, LONGEST + 1))), Err(ContinueError::Packet(Flow(1))));
    let mut draws = SplitMix64::new(4);
    for _ in 0..2000 {
        let mut broken = state.clone();
        let at = draws.below(broken.contracts.len() as u32) as usize;
        match draws.below(3) {
            0 => broken.contracts[at] ^= 1 << draws.below(64),
            1 => broken.contracts.truncate(at),
            _ => broken.contracts.insert(at, draws.next_word()),
        }
        assert!(go_on(&broken, None).is_err());
    }
}
