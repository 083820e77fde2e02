//! Transcripts of the shaped virtual clock, its laws under random traffic, and its two engines beside a slow model.

use super::*;
use crate::packet::Colour;
use crate::scheduler::tests::node::{BYTE, Event, Model, Port, Queued, Sent, events, link, replay, run};
use crate::scheduler::{EligibleTree, IntServOptions};
use crate::units::{Duration, Rate};
use alloc::vec::Vec;
use proptest::prelude::*;

/// The longest packet, in bytes.
const LONGEST: u32 = 1000;

fn given(rate: u64, tolerance: u64) -> FlowParameters {
    FlowParameters { rate: Rate::new(rate).ok(), tolerance: Some(Duration::from_picoseconds(tolerance)), ..FlowParameters::default() }
}

fn svc<E: EligibleList>(flows: &[FlowParameters], stamp: Stamping) -> Queued<ShapedVirtualClock<E>> {
    let intserv = IntServOptions { stamp, ..IntServOptions::default() };
    Queued::new(Setup { intserv, ..Setup::new(link(), LONGEST) }.build(flows).unwrap(), flows)
}

/// The instants in microseconds at which flows start to leave.
fn starts(sent: &[Sent]) -> Vec<(u64, usize)> {
    sent.iter().map(|&(now, flow, ..)| (now / 1_000_000, flow)).collect()
}

#[test]
fn alone_it_waits_for_the_earliest_virtual_start() {
    let mut port = svc::<Calendar>(&[given(1_000_000, 0), given(2_000_000, 0)], Stamping::Keep);
    let sent = replay(&mut port, &[(0, 0), (0, 0), (0, 0), (0, 1), (0, 1)]);
    assert_eq!(starts(&sent), [(0, 1), (100, 0), (500, 1), (1000, 0), (2000, 0)]);
}

/// Six packets of a flow of 8 Mbit/s and three of one of 1 Mbit/s: when those of the first start, in microseconds. The next head comes when its
/// predecessor is selected, or when it has been sent.
fn starts_of_a_fast_flow(stamp: Stamping, after_transmission: bool) -> Vec<u64> {
    let flows = [given(8_000_000, 0), given(1_000_000, 0)];
    let intserv = IntServOptions { stamp, ..IntServOptions::default() };
    let mut clock: ShapedVirtualClock = Setup { intserv, ..Setup::new(link(), LONGEST) }.build(&flows).unwrap();
    let head = Head { length: 125, number: 0, arrival: Time::ZERO, colour: Colour::Green };
    let (mut left, mut starts, mut now) = ([6, 3], [Vec::new(), Vec::new()], Time::ZERO);
    (0..2).for_each(|flow| clock.activate(now, Flow(flow), head));
    loop {
        match clock.select(now) {
            Decision::Serve(flow) => {
                starts[flow.index()].push(now.picoseconds() / 1_000_000);
                left[flow.index()] -= 1;
                let end = now + Duration::from_picoseconds(125 * BYTE);
                clock.served(if after_transmission { end } else { now }, flow, (left[flow.index()] > 0).then_some(head));
                now = end;
            }
            Decision::WaitUntil(later) => now = later,
            _ => break,
        }
    }
    let [fast, slow] = starts;
    assert_eq!(slow, [100, 1000, 2000]);
    fast
}

#[test]
fn a_late_flow_catches_up_unless_stamps_are_literal() {
    assert_eq!(starts_of_a_fast_flow(Stamping::Keep, false), [0, 200, 300, 400, 500, 625]);
    assert_eq!(starts_of_a_fast_flow(Stamping::Keep, true), [0, 200, 300, 400, 500, 625]);
    // Stamped at selection, this flow is never stamped after its finish.
    assert_eq!(starts_of_a_fast_flow(Stamping::Literal, false), [0, 200, 300, 400, 500, 625]);
    assert_eq!(starts_of_a_fast_flow(Stamping::Literal, true), [0, 200, 300, 425, 550, 675]);
}

#[test]
fn a_flow_at_exactly_its_rate_is_never_early() {
    // 1000 bits at 7 Mbit/s take 142,857,142 6/7 ps.
    let flows = [given(7_000_000, 0)];
    let exact = |k: u64| k * 1_000_000_000 / 7;
    let mut port = svc::<Calendar>(&flows, Stamping::Keep);
    let arrivals: Vec<(u64, usize)> = (0..10_000).map(|k| (exact(k), 0)).collect();
    assert!(replay(&mut port, &arrivals).iter().zip(&arrivals).all(|(sent, arrival)| sent.0 == arrival.0));
}

#[test]
fn a_tolerance_lets_heads_leave_early() {
    let mut port = svc::<Calendar>(&[given(1_000_000, 300_000_000)], Stamping::Keep);
    assert_eq!(starts(&replay(&mut port, &[(0, 0); 4])), [(0, 0), (700, 0), (1700, 0), (2700, 0)]);
}

#[test]
fn a_head_that_is_pushed_out_gives_its_start_to_the_next() {
    let mut port = svc::<Calendar>(&[given(1_000_000, 0)], Stamping::Keep);
    (0..4).for_each(|_| port.arrive(0, 0, 125));
    port.lose_head(0, 0);
    let sent = run(&mut port, &[]);
    assert_eq!(starts(&sent), [(0, 0), (1000, 0), (2000, 0)]);
}

#[test]
fn another_rate_holds_from_the_next_head_on() {
    let mut port = svc::<Calendar>(&[given(1_000_000, 0)], Stamping::Keep);
    (0..4).for_each(|_| port.arrive(0, 0, 125));
    // The head has its stamp; the second packet starts at 1 ms and is the first of 500 us.
    port.rerate(0, 0, 2_000_000);
    assert_eq!(starts(&run(&mut port, &[])), [(0, 0), (1000, 0), (1500, 0), (2000, 0)]);
}

#[test]
fn a_vacant_place_is_filled_and_forgotten() {
    let setup = Setup { capacity: 2, ..Setup::new(link(), LONGEST) };
    let scheduler: ShapedVirtualClock = setup.build(&[given(1_000_000, 0)]).unwrap();
    let mut port = Queued::new(scheduler, &[given(1_000_000, 0), given(1_000_000, 0)]);
    port.rerate(0, 1, 1_000_000);
    assert_eq!(starts(&replay(&mut port, &[(0, 1), (0, 1)])), [(0, 1), (1000, 1)]);
    // The flow that left sent its last packet at 1 ms. The next in its place starts at once.
    let now = Time::from_picoseconds(1_500_000_000);
    port.scheduler.forget(now, Flow(1));
    port.rerate(1_500_000_000, 1, 1_000_000);
    port.arrive(1_500_000_000, 1, 125);
    assert_eq!(port.scheduler.select(now), Decision::Serve(Flow(1)));
}

#[test]
fn a_successor_goes_on() {
    let flows = [given(1_000_000, 0), given(2_000_000, 0)];
    let arrivals = [(0, 0), (0, 0), (0, 1), (0, 1), (0, 1)];
    let alone = replay(&mut svc::<Calendar>(&flows, Stamping::Keep), &arrivals);
    let mut old = svc::<Calendar>(&flows, Stamping::Keep);
    arrivals.iter().for_each(|&(time, flow)| old.arrive(time, flow, 125));
    assert_eq!(old.send(0), Ok((1, 125, None)));
    let mut new = svc::<Calendar>(&flows, Stamping::Keep).scheduler;
    let now = Time::from_picoseconds(100_000_000);
    let kept: Vec<Kept> = (0..2).map(|flow| Kept { from: Flow(flow), to: Flow(flow), head: old.head(flow as usize) }).collect();
    new.start(now);
    new.adopt(now, &mut old.scheduler, &kept);
    old.scheduler = new;
    let mut sent = alloc::vec![alone[0]];
    let mut now = now.picoseconds();
    while crate::scheduler::tests::node::send(&mut old, &mut now, &mut sent) {}
    assert_eq!(sent, alone);
}

#[test]
fn what_cannot_be_served_is_refused() {
    let setup = Setup::new(link(), LONGEST);
    let error = |flows: &[FlowParameters]| setup.build::<ShapedVirtualClock>(flows).map(|_| ()).unwrap_err();
    assert_eq!(error(&[given(6_000_000, 0), given(4_000_001, 0)]).flow, None);
    assert_eq!(error(&[FlowParameters::default()]).parameter, Parameter::Rate);
    assert_eq!(error(&[given(1_000_000, 1 << 60)]).parameter, Parameter::Tolerance);
    let setup = Setup::new(link(), 1 << 27);
    assert_eq!(setup.build::<ShapedVirtualClock>(&[given(1000, 0)]).map(|_| ()).unwrap_err().parameter, Parameter::Rate);
}

/// Notes when the packets that leave were eligible: flow, length, instant.
struct Watched {
    port: Queued<ShapedVirtualClock>,
    sent: Vec<(usize, u32, Time)>,
}

impl Port for Watched {
    fn arrive(&mut self, now: u64, flow: usize, length: u32) {
        self.port.arrive(now, flow, length);
    }

    fn send(&mut self, now: u64) -> Result<(usize, u32, Option<Colour>), Option<u64>> {
        let eligible: Vec<Time> = self.port.scheduler.clocks.iter().map(ShapedClock::eligible).collect();
        let sent = self.port.send(now)?;
        assert!(!eligible[sent.0].is_after(Time::from_picoseconds(now)), "before its virtual start");
        self.sent.push((sent.0, sent.1, eligible[sent.0]));
        Ok(sent)
    }

    fn lose_head(&mut self, now: u64, flow: usize) {
        self.port.lose_head(now, flow);
    }

    fn rerate(&mut self, now: u64, flow: usize, rate: u64) {
        self.port.rerate(now, flow, rate);
    }
}

/// Flows whose rates sum up to at most the link's 10 Mbit/s.
fn flows() -> impl Strategy<Value = Vec<FlowParameters>> {
    proptest::collection::vec((1_000u64..2_000_000, prop_oneof![Just(0), 0u64..2_000_000_000]), 1..6)
        .prop_map(|flows| flows.into_iter().map(|(rate, tolerance)| given(rate, tolerance)).collect())
}

fn cases() -> impl Strategy<Value = (Vec<FlowParameters>, Vec<Event>)> {
    flows().prop_flat_map(|given| {
        let events = events(given.len(), LONGEST, 2_000_000);
        (Just(given), events)
    })
}

proptest! {
    #[test]
    fn both_engines_do_as_the_model((given, events) in cases(), literal: bool) {
        let stamp = if literal { Stamping::Literal } else { Stamping::Keep };
        let options = IntServOptions { stamp, ..IntServOptions::default() };
        let expected = run(&mut Model::new(&given, options, LONGEST, true), &events);
        prop_assert_eq!(&run(&mut svc::<Calendar>(&given, stamp), &events), &expected);
        prop_assert_eq!(&run(&mut svc::<EligibleTree>(&given, stamp), &events), &expected);
    }

    #[test]
    fn virtual_starts_keep_to_the_rate_and_nothing_leaves_before((given, events) in cases()) {
        let constant: Vec<Event> = events.into_iter().filter(|event| !matches!(event, Event::Rerate { .. })).collect();
        let mut port = Watched { port: svc::<Calendar>(&given, Stamping::Keep), sent: Vec::new() };
        run(&mut port, &constant);
        for (flow, given) in given.iter().enumerate() {
            let rate = u128::from(given.rate.unwrap().bits_per_second());
            let own: Vec<_> = port.sent.iter().filter(|sent| sent.0 == flow).collect();
            for from in 0..own.len() {
                let mut bits = 0u128;
                for &&(_, length, eligible) in &own[from..] {
                    // One picosecond is the resolution of time.
                    let window = u128::from(eligible.since(own[from].2).picoseconds() + 1);
                    prop_assert!(bits * 1_000_000_000_000 <= rate * window, "flow {}", flow);
                    bits += u128::from(length) * 8;
                }
            }
        }
    }

    #[test]
    fn a_backlogged_flow_gets_its_rate((given, events) in cases()) {
        // Flow 0 always has packets; it sees the others do what they like.
        let mut port = svc::<Calendar>(&given, Stamping::Keep);
        let kept: Vec<Event> = events.into_iter().filter(|event| matches!(event, Event::Arrive { flow: 1.., .. } | Event::Send)).collect();
        (0..400).for_each(|_| port.arrive(0, 0, LONGEST));
        let sent = run(&mut port, &kept);
        let rate = u128::from(given[0].rate.unwrap().bits_per_second());
        let ends = sent.iter().filter(|sent| sent.1 == 0).map(|sent| u128::from(sent.0 + u64::from(sent.2) * BYTE));
        for (index, end) in ends.enumerate() {
            // A packet has left by its virtual finish and one longest packet of the link.
            let finish = (index as u128 + 1) * u128::from(LONGEST) * 8_000_000_000_000 / rate;
            prop_assert!(end <= finish + 1 + u128::from(u64::from(LONGEST) * BYTE), "packet {}", index);
        }
    }
}
