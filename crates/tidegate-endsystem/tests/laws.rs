//! The laws of an end system whose parts are polled in every order, with every registered discipline; and its agreement with a port.

use proptest::prelude::*;
use std::collections::VecDeque;
use tidegate_core::buffer::BufferParameters;
use tidegate_core::classifier::{ClassRules, Classifier};
use tidegate_core::dwcs::{Request, Service, Window};
use tidegate_core::packet::{Colour, Flow};
use tidegate_core::port::{Port, PortSetup};
use tidegate_core::registry::{AnyScheduler, BufferKind, SchedulerKind};
use tidegate_core::scheduler::{FlowParameters, Parameter};
use tidegate_core::shaper::{Shaped, ShapingContract};
use tidegate_core::units::{Duration, Overhead, Rate, Time};
use tidegate_endsystem::{Departure, Descriptor, Disposition, EndSystem, Grain, QueueManager, Refusal, Setup};

const LONGEST: u32 = 1500;
const OVERHEAD: Overhead = Overhead::ETHERNET;

fn rate() -> Rate {
    Rate::new(100_000_000).unwrap()
}

fn parameters(kind: SchedulerKind, stream: usize) -> FlowParameters {
    let takes = |parameter| {
        let accepted = kind.accepts().contains(&parameter) && parameter != Parameter::Weight;
        kind.requires().contains(&parameter) || accepted
    };
    FlowParameters {
        priority: takes(Parameter::Priority).then_some(stream as u32),
        weight: takes(Parameter::Weight).then_some(1 + stream as u32),
        rate: takes(Parameter::Rate).then(|| Rate::new(1_000_000 * (1 + stream as u64)).unwrap()),
        delay: takes(Parameter::Delay).then(|| Duration::from_microseconds(300 * (1 + stream as u64))),
        service: takes(Parameter::Service).then(|| Request::of(Service::Window(Window::new(stream as u32, 1 + stream as u32)))),
        ..FlowParameters::default()
    }
}

/// The discipline for these streams; with `shaping`, some of them are shaped in front of it.
fn scheduler(kind: SchedulerKind, streams: usize, shaping: bool) -> AnyScheduler {
    let wire = OVERHEAD.wire_length(LONGEST);
    let setup = tidegate_core::scheduler::Setup::new(rate(), wire);
    let contract = |stream: usize| {
        let tight = ShapingContract::new(Rate::new(8_000_000 * (1 + stream as u64)).unwrap(), 2 * wire, wire);
        (stream.is_multiple_of(2)).then_some(tight)
    };
    if shaping && kind.shapes() {
        let flows: Vec<_> = (0..streams).map(|s| FlowParameters { shape: contract(s), ..parameters(kind, s) }).collect();
        return kind.build(&setup, &flows).unwrap();
    }
    let flows: Vec<_> = (0..streams).map(|stream| parameters(kind, stream)).collect();
    let inner = kind.build(&setup, &flows).unwrap();
    if shaping {
        AnyScheduler::Shaped(Box::new(Shaped::new(inner, &(0..streams).map(contract).collect::<Vec<_>>()).unwrap()))
    } else {
        inner
    }
}

/// The properties of a stream: its ring's capacity, whether it is urgent, whether it drops.
type Properties = (u32, bool, bool);

fn open(setup: &Setup, properties: &[Properties], producers: usize, scheduler: AnyScheduler) -> EndSystem<u64, AnyScheduler> {
    let mut queues = QueueManager::default();
    for (index, &(frames, urgent, dropping)) in properties.iter().enumerate() {
        if index > 0 && index % properties.len().div_ceil(producers) == 0 {
            queues.next_producer();
        }
        let mut descriptor = Descriptor::new(()).frames(frames);
        descriptor = if urgent { descriptor.urgent() } else { descriptor };
        descriptor = if dropping { descriptor.dropping() } else { descriptor };
        assert_eq!(queues.admit(descriptor).unwrap(), Flow(index as u32));
    }
    queues.open(setup, |_| Ok::<_, ()>(scheduler)).unwrap()
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Offer { stream: usize, length: u32 },
    Engine,
    Transmission,
    Pass(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0usize..6, 40u32..LONGEST).prop_map(|(stream, length)| Step::Offer { stream, length }),
        2 => Just(Step::Engine),
        2 => Just(Step::Transmission),
        1 => (0u64..400).prop_map(Step::Pass),
    ];
    prop::collection::vec(step, 1..300)
}

fn properties() -> impl Strategy<Value = Vec<Properties>> {
    prop::collection::vec((1u32..12, any::<bool>(), any::<bool>()), 1..6)
}

/// Takes the steps, then drains, and checks the laws after each step.
fn keeps_the_laws(setup: &Setup, kind: SchedulerKind, shaping: bool, properties: &[Properties], producers: usize, steps: &[Step]) {
    let mut system = open(setup, properties, producers, scheduler(kind, properties.len(), shaping));
    let mut queued: Vec<VecDeque<u64>> = vec![VecDeque::new(); properties.len()];
    let (mut announced, mut won) = (vec![0u64; properties.len()], vec![0u64; properties.len()]);
    let (mut number, mut now) = (0, Time::from_nanoseconds(5_000_000));
    let leave = |queued: &mut Vec<VecDeque<u64>>, won: &mut Vec<u64>, departure: Departure<u64>| {
        let index = departure.stream.index();
        assert_eq!(queued[index].pop_front(), Some(departure.frame), "in order, once, and only if it was queued");
        won[index] += 1;
        assert!(departure.disposition == Disposition::Sent || kind.name().contains("edf"));
    };
    for &step in steps {
        match step {
            Step::Offer { stream, length } => {
                let index = stream % properties.len();
                let stream = Flow(index as u32);
                let producer = system.producers.iter_mut().find(|producer| producer.streams().any(|own| own == stream)).unwrap();
                let (_, _, dropping) = properties[index];
                let is_full = queued[index].len() == properties[index].0 as usize;
                match producer.offer(stream, now, length, Colour::Green, number) {
                    Ok(()) => {
                        assert!(!is_full);
                        queued[index].push_back(number);
                        announced[index] += 1;
                    }
                    Err(Refusal::ComeAgain(frame)) => assert_eq!((frame, is_full, dropping), (number, true, false)),
                    Err(Refusal::Dropped(frame)) => assert_eq!((frame, is_full, dropping), (number, true, true)),
                    Err(Refusal::Closed(_)) => panic!("no part has gone"),
                }
                number += 1;
            }
            Step::Engine => drop(system.engine.poll(now)),
            Step::Transmission => drop(system.transmission.poll(now, |departure| leave(&mut queued, &mut won, departure))),
            Step::Pass(microseconds) => now += Duration::from_microseconds(microseconds),
        }
        let account = system.account();
        account.check().unwrap();
        assert_eq!(account.queued.packets, queued.iter().map(|queue| queue.len() as u64).sum::<u64>());
        let counters = system.engine.counters();
        assert!(counters.won + counters.discarded <= announced.iter().sum());
        assert!(won.iter().zip(&announced).all(|(won, announced)| won <= announced));
    }
    let EndSystem { producers, mut engine, mut transmission } = system;
    let producers: Vec<_> = producers.into_iter().map(|producer| *producer.counters()).collect();
    // The slowest contract drains within a few seconds.
    for _ in 0..20_000 {
        let deciding = engine.poll(now);
        transmission.poll(now, |departure| leave(&mut queued, &mut won, departure));
        if deciding == tidegate_endsystem::Next::Ended && queued.iter().all(VecDeque::is_empty) {
            break;
        }
        now += Duration::from_microseconds(500);
    }
    let account = transmission.account(&producers);
    account.check().unwrap();
    assert_eq!(account.queued.packets, 0, "{}: {account:?}", kind.name());
    assert_eq!(won, announced);
    drop(engine);
    assert_eq!(transmission.poll(now, |_| ()), tidegate_endsystem::Next::Ended);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 5, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_frame_is_lost_in_any_order_of_polls(
        properties in properties(), producers in 1usize..4, steps in steps(), shaping: bool,
        (low_mark, batch, winners) in (2u32..7, 1u32..6, 1u32..6),
    ) {
        for &kind in SchedulerKind::ALL {
            let real = Setup { low_mark, batch, winners, ..Setup::real_time(rate(), OVERHEAD) };
            keeps_the_laws(&real, kind, shaping, &properties, producers, &steps);
            let counted = Setup { low_mark, batch, winners, ..Setup::decisions() };
            keeps_the_laws(&counted, kind, false, &properties, producers, &steps);
        }
    }

    /// As long as parts are late by less than the catch-up limit, the decisions are a port's, to the picosecond.
    #[test]
    fn in_real_time_decisions_are_those_of_a_port(
        arrivals in prop::collection::vec((2u64..300, 0usize..4, 40u32..LONGEST, 0u64..1150), 1..150),
        streams in 1usize..5, shaping: bool, urgent in 0usize..6, low_mark in 2u32..6, producers in 1usize..4,
    ) {
        for &kind in SchedulerKind::ALL {
            let grain = Grain::MICROSECOND;
            let start = grain.floor(Time::from_nanoseconds(3_000_000));
            let buffer = BufferParameters { flows: streams, packets: Some(10_000), ..BufferParameters::default() };
            let rules = vec![ClassRules { name: "all".into(), queues: streams as u32, rules: Vec::new() }];
            let mut port = Port::<u64>::new(start, PortSetup {
                rate: rate(),
                overhead: OVERHEAD,
                classifier: Classifier::new(rules, 0).unwrap(),
                policers: vec![None],
    aqms: Vec::new(),
    seed: 0,
                buffer: BufferKind::TailDrop.build(&buffer).unwrap(),
                scheduler: scheduler(kind, streams, shaping),
                packet_limit: 10_000,
                longest_frame: LONGEST,
                remarks: Default::default(),
            });
            // Two rings, pushed and pulled, would change the order of arrivals, so all streams use the same.
            let properties = vec![(200, urgent == 0, false); streams];
            let setup = Setup { low_mark, ..Setup::real_time(rate(), OVERHEAD) };
            let mut system = open(&setup, &properties, producers, scheduler(kind, streams, shaping));
            system.engine.poll(start);

            let (mut expected, mut seen) = (Vec::new(), Vec::new());
            let (mut now, mut polled) = (start, start);
            for (number, &(pause, stream, length, delay)) in arrivals.iter().enumerate() {
                now = grain.floor(now + Duration::from_microseconds(pause));
                let (number, stream) = (number as u64, Flow((stream % streams) as u32));
                // Parts are late now and then, by up to the catch-up limit.
                if now.since(polled) > Duration::from_microseconds(delay) {
                    polled = now;
                    system.engine.poll(now);
                    system.transmission.poll(now, |departure| seen.push((departure.at, departure.frame)));
                }
                port.advance(now, &mut (), |sent| expected.push((sent.start, sent.packet.payload)));
                port.offer(now, stream, length, Colour::Green, number, &mut ());
                let producer = system.producers.iter_mut().find(|producer| producer.streams().any(|own| own == stream)).unwrap();
                producer.offer(stream, now, length, Colour::Green, number).unwrap();
            }
            for _ in 0..4000 {
                now += Duration::from_microseconds(500);
                port.advance(now, &mut (), |sent| expected.push((sent.start, sent.packet.payload)));
                system.engine.poll(now);
                system.transmission.poll(now, |departure| if departure.disposition == Disposition::Sent { seen.push((departure.at, departure.frame)) });
            }
            prop_assert_eq!(port.occupancy().packets(), 0);
            prop_assert_eq!(seen, expected, "{}", kind.name());
        }
    }
}
