//! Transcripts of the integrated services port, its laws under random traffic, and both engines beside a slow model.

use super::*;
use crate::scheduler::tests::node::{BYTE, Event, Model, Port, Queued, Sent, events, link, replay, run, send};
use crate::scheduler::{EligibleTree, Profile, Stamping};
use crate::units::{Duration, Rate};
use alloc::string::String;
use alloc::vec::Vec;
use proptest::prelude::*;

/// The longest packet, in bytes.
const LONGEST: u32 = 500;

/// Picoseconds per millisecond.
const MS: u64 = 1_000_000_000;

fn given(class: ServiceClass, rate: u64) -> FlowParameters {
    FlowParameters { class: Some(class), rate: Rate::new(rate).ok(), ..FlowParameters::default() }
}

fn best_effort() -> FlowParameters {
    FlowParameters::default()
}

fn early(rate: u64, tolerance: u64) -> FlowParameters {
    FlowParameters { tolerance: Some(Duration::from_picoseconds(tolerance)), ..given(ServiceClass::ControlledLoad, rate) }
}

fn port<E: EligibleList>(flows: &[FlowParameters], intserv: IntServOptions) -> Queued<IntegratedServices<E>> {
    Queued::new(Setup { intserv, ..Setup::new(link(), LONGEST) }.build(flows).unwrap(), flows)
}

fn weights(out_of_profile_weight: u32, best_effort_weight: u32) -> IntServOptions {
    IntServOptions { out_of_profile_weight, best_effort_weight, ..IntServOptions::default() }
}

fn charge() -> IntServOptions {
    IntServOptions { out_of_profile: OutOfProfile::Charge, ..IntServOptions::default() }
}

/// One letter per packet: unmarked, marked, or as it came.
fn letters(sent: &[Sent]) -> String {
    sent.iter().map(|sent| sent.3.map_or('-', |colour| if colour == Colour::Green { 'u' } else { 'm' })).collect()
}

/// The marks of a flow of 1 Mbit/s that sends 1000-bit packets at a rate of `numerator / denominator` Mbit/s on an idle link.
fn marks(numerator: u64, denominator: u64, tolerance: u64, options: IntServOptions) -> String {
    let arrivals: Vec<(u64, usize)> = (0..12).map(|k| (k * MS * denominator / numerator, 0)).collect();
    letters(&replay(&mut port::<Calendar>(&[early(1_000_000, tolerance)], options), &arrivals))
}

#[test]
fn at_an_idle_link_marks_follow_the_excess() {
    let plain = IntServOptions::default();
    for (numerator, denominator) in [(101, 100), (8, 5), (2, 1)] {
        assert_eq!(marks(numerator, denominator, 0, plain), "umumumumumum");
    }
    assert_eq!(marks(12, 5, 0, plain), "ummummummumm");
    for (numerator, denominator) in [(101, 100), (8, 5), (2, 1), (12, 5)] {
        assert_eq!(marks(numerator, denominator, 0, charge()), "ummmmmmmmmmm");
    }
    assert_eq!(marks(101, 100, MS / 2, plain), "uuuuuuuuuuuu");
    assert_eq!(marks(8, 5, MS / 2, plain), "uumuumumuumu");
    assert_eq!(marks(2, 1, MS / 2, plain), "uumumumumumu");
    assert_eq!(marks(12, 5, MS / 2, plain), "umumumummumu");
}

#[test]
fn a_profile_spares_what_was_declared() {
    let profile = Some(Profile { rate: Rate::new(1_000_000).unwrap(), burst: 4 * 125 });
    let flows = [FlowParameters { profile, ..early(1_000_000, 0) }];
    let options = IntServOptions { marks: Marks::Profile, ..IntServOptions::default() };
    // Twice the rate: the bucket of four packets lasts for seven, then every second packet finds no tokens.
    let arrivals: Vec<(u64, usize)> = (0..14).map(|k| (k * MS / 2, 0)).collect();
    let sent = letters(&replay(&mut port::<Calendar>(&flows, options), &arrivals));
    assert_eq!(sent, "uuuuuuumumumum");
    assert!(Setup { intserv: options, ..Setup::new(link(), LONGEST) }.build::<IntegratedServices>(&[early(1_000_000, 0)]).is_err());
}

/// Which side each packet is of, while packets out of profile and best effort both wait: O and B.
fn sides(out_of_profile: u32, best_effort_weight: u32, alone: usize, packets: usize) -> String {
    let mut port = port::<Calendar>(&[early(1000, 0), best_effort()], weights(out_of_profile, best_effort_weight));
    let (mut now, mut sent) = (0, Vec::new());
    (0..alone + packets).for_each(|_| port.arrive(now, 1, 125));
    (0..alone).for_each(|_| assert!(send(&mut port, &mut now, &mut sent)));
    (0..=packets).for_each(|_| port.arrive(now, 0, 125));
    // The first is in profile.
    assert!(send(&mut port, &mut now, &mut sent));
    sent.clear();
    (0..packets).for_each(|_| assert!(send(&mut port, &mut now, &mut sent)));
    sent.iter().map(|sent| if sent.1 == 0 { 'O' } else { 'B' }).collect()
}

#[test]
fn the_round_robin_is_smooth_and_saves_nothing_up() {
    assert_eq!(sides(1, 1, 0, 8), "BOBOBOBO");
    assert_eq!(sides(3, 1, 0, 8), "BOOOBOOO");
    assert_eq!(sides(1, 3, 0, 8), "BBBOBBBO");
    assert_eq!(sides(2, 3, 0, 10), "BBOBOBBOBO");
    assert_eq!(sides(3, 1, 1000, 8), "BOOOBOOO");
}

#[test]
fn best_effort_takes_turns_by_deficits() {
    let queues: [&[u32]; 4] = [&[20, 750, 200], &[500, 500], &[200, 600, 100], &[50, 700, 180]];
    let mut port = port::<Calendar>(&[best_effort(); 4], IntServOptions::default());
    for (flow, queue) in queues.iter().enumerate() {
        queue.iter().for_each(|&length| port.arrive(0, flow, length));
    }
    let order: Vec<(usize, u32)> = run(&mut port, &[]).iter().map(|sent| (sent.1, sent.2)).collect();
    let first_round = [(0, 20), (1, 500), (2, 200), (3, 50)];
    let second_round = [(0, 750), (0, 200), (1, 500), (2, 600), (2, 100), (3, 700), (3, 180)];
    assert_eq!(order, [&first_round[..], &second_round[..]].concat());
}

#[test]
fn guaranteed_service_goes_before_controlled_load_and_both_before_the_rest() {
    let flows = [best_effort(), given(ServiceClass::ControlledLoad, 5_000_000), given(ServiceClass::Guaranteed, 1_000_000)];
    let sent = replay(&mut port::<Calendar>(&flows, IntServOptions::default()), &[(0, 0), (0, 1), (0, 2)]);
    assert_eq!(sent.iter().map(|sent| sent.1).collect::<Vec<_>>(), [2, 1, 0]);
    assert_eq!(letters(&sent), "uu-");
}

#[test]
fn without_a_weight_packets_out_of_profile_wait() {
    let mut port = port::<Calendar>(&[early(1_000_000, 0), best_effort()], weights(0, 1));
    let sent = replay(&mut port, &[(0, 0), (0, 0), (0, 1), (0, 1)]);
    assert_eq!(sent.iter().map(|sent| (sent.0 / 1_000_000, sent.1)).collect::<Vec<_>>(), [(0, 0), (100, 1), (200, 1), (1000, 0)]);
}

#[test]
fn a_head_that_is_pushed_out_is_restamped() {
    // Every second packet is pushed out while it is the head; what is left leaves at the flow's rate.
    let mut port = port::<Calendar>(&[early(1_000_000, 0)], weights(0, 1));
    let (mut now, mut sent) = (0, Vec::new());
    (0..8).for_each(|_| port.arrive(0, 0, 125));
    for _ in 0..4 {
        port.lose_head(now, 0);
        assert!(send(&mut port, &mut now, &mut sent));
    }
    assert_eq!(sent.iter().map(|sent| sent.0 / 1_000_000).collect::<Vec<_>>(), [0, 1000, 2000, 3000]);
}

#[test]
fn a_class_changes_with_the_next_head() {
    let flows = [early(1_000_000, 0)];
    let mut port = port::<Calendar>(&flows, IntServOptions::default());
    (0..4).for_each(|_| port.arrive(0, 0, 125));
    port.scheduler.change(Time::ZERO, Flow(0), &best_effort()).unwrap();
    assert_eq!(letters(&run(&mut port, &[])), "u---");
}

#[test]
fn what_cannot_be_served_is_refused() {
    let build = |flows: &[FlowParameters], intserv| {
        let built = Setup { intserv, ..Setup::new(link(), LONGEST) }.build::<IntegratedServices>(flows);
        built.map(|_| ()).map_err(|error| (error.flow, error.parameter))
    };
    let all = IntServOptions::default();
    let (guaranteed, loaded) = (given(ServiceClass::Guaranteed, 6_000_000), given(ServiceClass::ControlledLoad, 4_000_001));
    assert_eq!(build(&[guaranteed, loaded], all), Err((None, Parameter::Rate)));
    assert_eq!(build(&[FlowParameters { rate: None, ..guaranteed }], all), Err((Some(Flow(0)), Parameter::Rate)));
    assert_eq!(build(&[guaranteed], weights(1, 0)), Err((None, Parameter::Weight)));
    assert_eq!(build(&[guaranteed], weights(u32::MAX, 1)), Err((None, Parameter::Weight)));
    assert_eq!(build(&[guaranteed, best_effort()], all), Ok(()));
}

/// Flows of all classes, whose rates sum up to at most the link's 10 Mbit/s.
fn flows() -> impl Strategy<Value = Vec<FlowParameters>> {
    let flow = (0usize..3, 1_000u64..2_000_000, prop_oneof![Just(0), 0u64..2 * MS]).prop_map(|(class, rate, tolerance)| {
        let class = ServiceClass::ALL[class];
        if class == ServiceClass::BestEffort { best_effort() } else { FlowParameters { class: Some(class), ..early(rate, tolerance) } }
    });
    proptest::collection::vec(flow, 1..6)
}

fn options() -> impl Strategy<Value = IntServOptions> {
    (any::<bool>(), any::<bool>(), 0u32..4, 1u32..4).prop_map(|(literal, charge, one, other)| IntServOptions {
        stamp: if literal { Stamping::Literal } else { Stamping::Keep },
        out_of_profile: if charge { OutOfProfile::Charge } else { OutOfProfile::Refund },
        ..weights(one, other)
    })
}

fn cases() -> impl Strategy<Value = (Vec<FlowParameters>, Vec<Event>)> {
    flows().prop_flat_map(|given| {
        let events = events(given.len(), LONGEST, 2_000_000);
        (Just(given), events)
    })
}

proptest! {
    #[test]
    fn both_engines_do_as_the_model((given, events) in cases(), options in options()) {
        let expected = run(&mut Model::new(&given, options, LONGEST, false), &events);
        prop_assert_eq!(&run(&mut port::<Calendar>(&given, options), &events), &expected);
        prop_assert_eq!(&run(&mut port::<EligibleTree>(&given, options), &events), &expected);
    }

    #[test]
    fn a_successor_goes_on((given, before) in cases(), options in options()) {
        let mut one = port::<Calendar>(&given, options);
        let mut other = port::<Calendar>(&given, options);
        let (mut now, mut sent, mut expected) = (0, Vec::new(), Vec::new());
        for (index, event) in before.iter().enumerate() {
            if let Event::Arrive { flow, length } = *event {
                one.arrive(now, flow, length);
                other.arrive(now, flow, length);
            }
            if index % 3 == 1 {
                let mut later = now;
                send(&mut one, &mut now, &mut sent);
                send(&mut other, &mut later, &mut expected);
            }
            if index % 7 == 2 {
                let mut new = port::<Calendar>(&given, options).scheduler;
                let time = Time::from_picoseconds(now);
                let flows = 0..given.len() as u32;
                let kept: Vec<Kept> = flows.map(|flow| Kept { from: Flow(flow), to: Flow(flow), head: one.head(flow as usize) }).collect();
                new.start(time);
                new.adopt(time, &mut one.scheduler, &kept);
                one.scheduler = new;
            }
        }
        let mut later = now;
        while send(&mut one, &mut now, &mut sent) {}
        while send(&mut other, &mut later, &mut expected) {}
        prop_assert_eq!(&sent, &expected);
    }

    #[test]
    fn guaranteed_service_is_late_by_one_packet_at_most((mut given, events) in cases()) {
        given.push(self::given(ServiceClass::Guaranteed, 2_000_000 - 1));
        let flow = given.len() - 1;
        if given.iter().filter_map(|given| given.rate).map(|rate| rate.bits_per_second()).sum::<u64>() > 10_000_000 {
            return Ok(());
        }
        let events: Vec<Event> = events.into_iter().filter(|event| !matches!(event, Event::Rerate { .. } | Event::Pause(_))).collect();
        let mut port = port::<Calendar>(&given, IntServOptions::default());
        (0..400).for_each(|_| port.arrive(0, flow, LONGEST));
        // Packets that leave marked are not charged, so those that leave unmarked have these virtual finishes at the earliest.
        let sent = run(&mut port, &events);
        let unmarked = sent.iter().filter(|sent| sent.1 == flow && sent.3 == Some(Colour::Green));
        for (index, sent) in unmarked.enumerate() {
            let finish = (index as u128 + 1) * u128::from(LONGEST) * 8_000_000_000_000 / 1_999_999;
            let end = sent.0 + u64::from(sent.2) * BYTE;
            prop_assert!(u128::from(end) <= finish + 1 + u128::from(u64::from(LONGEST) * BYTE), "packet {}", index);
        }
    }
}
