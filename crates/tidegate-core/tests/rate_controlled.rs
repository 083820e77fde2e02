//! What rate-controlled service promises: contracts are kept whatever happens, an overloaded link is shared in proportion to them, and
//! priorities hold.

mod heap;
mod link;

use heap::Heap;
use link::{Arrival, Departure, in_order, run};
use proptest::prelude::*;
use tidegate_core::packet::Colour;
use tidegate_core::policer::{Policer, Verdict};
use tidegate_core::ready::{ReadyList, Wheel};
use tidegate_core::registry::PolicerKind;
use tidegate_core::scheduler::{FlowParameters, RateControlled, Setup};
use tidegate_core::shaper::{Bucket, ShapingContract};
use tidegate_core::units::{Duration, Rate, Time};

const LONGEST: u32 = 1500;
/// The number of longest packets by which sharing may be off for good: less lateness is not overload yet.
const CATCH_UP_PACKETS: u64 = 64;
const PICOSECONDS_PER_SECOND: u64 = 1_000_000_000_000;

fn mbps(rate: u64) -> Rate {
    Rate::new(rate * 1_000_000).unwrap()
}

fn built<R: ReadyList>(link: Rate, flows: &[FlowParameters]) -> RateControlled<R> {
    Setup::new(link, LONGEST).build(flows).unwrap()
}

fn shaped(priority: u32, shape: ShapingContract) -> FlowParameters {
    FlowParameters { priority: Some(priority), shape: Some(shape), ..FlowParameters::default() }
}

/// At a rate, without bursts, and with the tolerance that policies give when they say nothing: the longest packet's time.
fn at(rate: Rate) -> ShapingContract {
    ShapingContract { tolerance: rate.time_per_byte().ceil(LONGEST), ..ShapingContract::new(rate, LONGEST, LONGEST) }
}

/// `packets` packets of every flow from `time` on, all at once.
fn pile(flows: std::ops::Range<usize>, packets: usize, length: u32, time: u64) -> Vec<Arrival> {
    (0..packets).flat_map(|_| flows.clone().map(move |flow| Arrival { time, flow, length })).collect()
}

/// Bytes that a flow sent by `end`, in picoseconds.
fn sent_by(departures: &[Departure], flow: usize, end: u64) -> u64 {
    departures.iter().filter(|sent| sent.flow == flow && sent.finish <= end).map(|sent| u64::from(sent.length)).sum()
}

/// Every shaped stream, as it started to leave, must pass the policer of its contract.
fn judge(link: Rate, flows: &[FlowParameters], departures: &[Departure]) {
    for (flow, given) in flows.iter().enumerate() {
        let Some(contract) = given.shape else { continue };
        let kind = if contract.peak.is_some() { PolicerKind::DualGcra } else { PolicerKind::Gcra };
        let mut policer = kind.build(&contract.policed()).unwrap();
        let sent = |departure: &&Departure| departure.flow == flow;
        for (number, departure) in departures.iter().filter(sent).enumerate() {
            let start = Time::from_picoseconds(departure.finish - link.time_per_byte().ceil(departure.length).picoseconds());
            if number == 0 {
                policer.start(start);
            }
            let verdict = policer.police(start, departure.length, Colour::Green);
            assert_eq!(verdict, Verdict::Conform, "packet {number} of flow {flow} at {start:?}");
        }
    }
}

fn contracts() -> impl Strategy<Value = ShapingContract> {
    let burst = prop_oneof![Just(LONGEST), LONGEST..4 * LONGEST, LONGEST..100_000];
    let tolerance = prop_oneof![Just(0u64), 0u64..20_000, 0u64..50_000_000].prop_map(Duration::from_nanoseconds);
    let bucket = prop::sample::select(vec![Bucket::Single, Bucket::Dual]);
    (100_000u64..20_000_000, burst, prop::option::of(1u64..100), tolerance, bucket).prop_map(|(rate, burst, peak, tolerance, bucket)| {
        ShapingContract {
            rate: Rate::new(rate).unwrap(),
            burst,
            longest_packet: LONGEST,
            peak: peak.map(|factor| Rate::new(rate + rate * factor / 10).unwrap()),
            tolerance,
            bucket,
        }
    })
}

proptest! {
    /// Random contracts and priorities, loads from a fifth of the link to fifty times what it takes, pauses, and joins at any time.
    #[test]
    fn every_stream_is_accepted_by_the_policer_of_its_contract(
        flows in prop::collection::vec((contracts(), 0u32..3, prop::option::of(1u64..300)), 1..12),
        link in prop_oneof![Just(1u64), Just(5), Just(20), Just(200)],
        arrivals in prop::collection::vec((0u64..3 * PICOSECONDS_PER_SECOND, 0usize..12, 1..=LONGEST, 1usize..30), 1..60),
    ) {
        let parameters: Vec<FlowParameters> = flows
            .iter()
            .map(|(contract, priority, rate)| FlowParameters { rate: rate.map(|kbps| Rate::new(kbps * 1000).unwrap()), ..shaped(*priority, *contract) })
            .collect();
        prop_assume!(parameters.iter().filter_map(|given| given.rate).map(Rate::bits_per_second).sum::<u64>() <= link * 1_000_000);
        let arrivals: Vec<Arrival> = arrivals
            .into_iter()
            .flat_map(|(time, flow, length, packets)| (0..packets).map(move |_| (time, flow, length)))
            .map(|(time, flow, length)| Arrival { time, flow: flow % parameters.len(), length })
            .collect();
        let arrivals = in_order(arrivals);
        let departures = run(&mut built::<Wheel>(mbps(link), &parameters), mbps(link), parameters.len(), &arrivals);
        judge(mbps(link), &parameters, &departures);
        // The ready list makes no difference.
        prop_assert_eq!(&departures, &run(&mut built::<Heap>(mbps(link), &parameters), mbps(link), parameters.len(), &arrivals));
    }

    /// Flows of one priority that together ask for more than the link: what each gets is in proportion to its rate, however much too
    /// much they ask for.
    #[test]
    fn overload_is_shared_in_proportion_to_the_rates(
        rates in prop::collection::vec(2u64..40, 2..10),
        overload in prop_oneof![Just(11u64), Just(15), Just(30), Just(100)],
        length in 200..=LONGEST,
    ) {
        let asked: u64 = rates.iter().sum();
        let link = Rate::new(asked * 1_000_000 * 10 / overload).unwrap();
        let parameters: Vec<FlowParameters> = rates.iter().map(|&rate| shaped(0, at(mbps(rate)))).collect();
        let end = 4 * PICOSECONDS_PER_SECOND;
        // As much as every flow could send if it were alone.
        let arrivals: Vec<Arrival> = rates
            .iter()
            .enumerate()
            .flat_map(|(flow, rate)| pile(flow..flow + 1, (rate * 1_000_000 / 8 * 4 / u64::from(length)) as usize, length, 0))
            .collect();
        let departures = run(&mut built::<Wheel>(link, &parameters), link, parameters.len(), &arrivals);
        judge(link, &parameters, &departures);
        let total: u64 = (0..rates.len()).map(|flow| sent_by(&departures, flow, end)).sum();
        for (flow, rate) in rates.iter().enumerate() {
            let ideal = total * rate / asked;
            // What it would send at its rate during the slack, where in their intervals it and the others happen to be, and what fast flows
            // lose because they wait for longer than they tolerate.
            let off = sent_by(&departures, flow, end).abs_diff(ideal);
            let allowed = CATCH_UP_PACKETS * u64::from(LONGEST) * rate * 1_000_000 / link.bits_per_second() + 6 * u64::from(length) + ideal / 50;
            prop_assert!(off <= allowed, "flow {} at {} Mbit/s is off by {} bytes of {}", flow, rate, off, ideal);
        }
        // And the link is used, but for instants at which the contracts of all of few flows forbid it: at a tenth more than the link, with a
        // fast flow among three slow ones, that has been 3 % of them.
        prop_assert!(total * 100 >= link.bits_per_second() / 8 * 4 * 95, "{}", total);
    }
}

/// Ordinary multiplexing is not overload: at a load of 98 % every flow gets its whole rate.
#[test]
fn near_full_load_every_flow_gets_its_rate() {
    let rates: Vec<u64> = (1..=28).collect(); // 406 Mbit/s
    let link = Rate::new(406_000_000 * 100 / 98).unwrap();
    let contract = |rate| ShapingContract { tolerance: Duration::from_milliseconds(2), ..at(mbps(rate)) };
    let parameters: Vec<FlowParameters> = rates.iter().map(|&rate| shaped(0, contract(rate))).collect();
    let arrivals: Vec<Arrival> = rates
        .iter()
        .enumerate()
        .flat_map(|(flow, rate)| pile(flow..flow + 1, (rate * 1_000_000 / 8 / u64::from(LONGEST)) as usize, LONGEST, 0))
        .collect();
    let departures = run(&mut built::<Wheel>(link, &parameters), link, parameters.len(), &arrivals);
    judge(link, &parameters, &departures);
    for (flow, rate) in rates.iter().enumerate() {
        let sent = sent_by(&departures, flow, PICOSECONDS_PER_SECOND);
        let ideal = rate * 1_000_000 / 8;
        assert!(sent + 2 * u64::from(LONGEST) >= ideal, "flow {flow} sent {sent} of {ideal} bytes");
    }
}

/// The transient overload of figure 4 in Schiller and Gunningberg, with packets: the highest priority is undisturbed, flows of the
/// middle one have equal slopes as others join, the lowest starves, or gets its guarantee.
#[test]
fn a_transient_overload_disturbs_no_higher_priority_and_starves_lower_ones_but_for_guarantees() {
    let link = mbps(100);
    let rate = |percent: u64| at(mbps(percent));
    let parameters =
        [shaped(0, rate(10)), shaped(1, rate(25)), shaped(2, rate(20)), shaped(1, rate(100)), shaped(1, rate(100)), shaped(1, rate(100))];
    let packets = |share: u64, seconds: u64| (share * 1_000_000 / 8 * seconds / u64::from(LONGEST)) as usize;
    let mut arrivals =
        [pile(0..1, packets(10, 6), LONGEST, 0), pile(1..2, packets(25, 6), LONGEST, 0), pile(2..3, packets(20, 6), LONGEST, 0)].concat();
    for (flow, start) in [(3, 2), (4, 3), (5, 4)] {
        arrivals.extend(pile(flow..flow + 1, packets(100, 5), LONGEST, start * PICOSECONDS_PER_SECOND));
    }
    let arrivals = in_order(arrivals);
    let in_second = |departures: &[Departure], flow, second: u64| {
        (sent_by(departures, flow, (second + 1) * PICOSECONDS_PER_SECOND) - sent_by(departures, flow, second * PICOSECONDS_PER_SECOND)) * 8
    };
    // Off by the slack at most, in the second in which a flow joins.
    let near = |actual: u64, mbit: f64| (actual as f64 - mbit * 1e6).abs() < (CATCH_UP_PACKETS * u64::from(LONGEST) * 8) as f64;

    let departures = run(&mut built::<Wheel>(link, &parameters), link, parameters.len(), &arrivals);
    judge(link, &parameters, &departures);
    // What class 1 has is 90 of 100, shared by demands of 125, 225 and 325.
    for (second, factor) in [(2, 90.0 / 125.0), (3, 90.0 / 225.0), (4, 90.0 / 325.0)] {
        let sent = |flow| in_second(&departures, flow, second);
        assert!(near(sent(0), 10.0), "class 0 in second {second}: {}", sent(0));
        assert!(near(sent(1), 25.0 * factor) && near(sent(3), 100.0 * factor), "second {second}: {} {}", sent(1), sent(3));
        // But for the instants at which the contracts of class 1 leave the link idle.
        assert!(sent(2) <= 4 * u64::from(LONGEST) * 8, "class 2 in second {second}: {}", sent(2));
        for flow in 4..(second + 2) as usize {
            assert!(near(sent(flow), 100.0 * factor), "equal slopes in second {second}: {}", sent(flow));
        }
    }

    let guaranteed = parameters.map(|given| FlowParameters { rate: (given.priority == Some(2)).then(|| mbps(5)), ..given });
    let departures = run(&mut built::<Wheel>(link, &guaranteed), link, guaranteed.len(), &arrivals);
    judge(link, &guaranteed, &departures);
    for (second, factor) in [(2, 85.0 / 125.0), (3, 85.0 / 225.0), (4, 85.0 / 325.0)] {
        let sent = |flow| in_second(&departures, flow, second);
        assert!(near(sent(0), 10.0) && near(sent(2), 5.0), "second {second}: {} {}", sent(0), sent(2));
        assert!(near(sent(1), 25.0 * factor) && near(sent(3), 100.0 * factor), "second {second}: {} {}", sent(1), sent(3));
    }
}

proptest! {
    /// What is guaranteed to the lowest priority is kept, with a contract and without one, whatever those above do: send now and then, so that
    /// they ask for nothing in between, all the time, or without a contract.
    #[test]
    fn a_guarantee_is_kept_whatever_higher_priorities_do(
        guaranteed in 1u64..8,
        has_contract in any::<bool>(),
        calls in prop_oneof![Just(None), (1u64..60).prop_map(Some)],
        (length, web) in (200..=LONGEST, 200..=LONGEST),
        hog in prop_oneof![Just(None), Just(Some(at(mbps(12)))), Just(Some(at(mbps(40))))],
    ) {
        let link = mbps(20);
        let unshaped = |priority| FlowParameters { priority: Some(priority), ..FlowParameters::default() };
        let lowest = FlowParameters { shape: has_contract.then(|| at(mbps(15))), rate: Some(mbps(guaranteed)), ..unshaped(2) };
        let middle = hog.map_or(unshaped(1), |contract| shaped(1, contract));
        let parameters = [shaped(0, ShapingContract { burst: 4 * LONGEST, ..at(mbps(4)) }), middle, middle, lowest];
        let end = 3 * PICOSECONDS_PER_SECOND;
        let many = |rate: u64, length: u32| (rate * 1_000_000 / 8 * 4 / u64::from(length)) as usize;
        let mut arrivals = [pile(1..3, many(20, length), length, 0), pile(3..4, many(20, web), web, 0)].concat();
        if let Some(tenths) = calls {
            // At a rate below the contract's, so that the queue is empty most of the time.
            let interval = u64::from(length) * 8 * PICOSECONDS_PER_SECOND / (tenths * 66_000);
            arrivals.extend((0..4 * PICOSECONDS_PER_SECOND / interval).map(|number| Arrival { time: number * interval, flow: 0, length }));
        }
        let departures = run(&mut built::<Wheel>(link, &parameters), link, parameters.len(), &in_order(arrivals));
        judge(link, &parameters, &departures);
        let promised = guaranteed * 1_000_000 / 8 * 3;
        let sent = sent_by(&departures, 3, end);
        prop_assert!(sent + 4 * u64::from(LONGEST) >= promised, "{} of {} bytes", sent, promised);
    }
}

/// A higher priority that sends now and then, so that its queue is empty in between, in step with the others, out of step, or in bursts,
/// with a contract and without one, takes from all of a lower priority the same part.
#[test]
fn what_a_higher_priority_leaves_is_shared_in_proportion_although_it_sends_now_and_then() {
    let link = mbps(20);
    let tolerant = |rate| ShapingContract { tolerance: Duration::from_milliseconds(2), ..at(mbps(rate)) };
    let calls = [
        shaped(0, ShapingContract { burst: 2 * LONGEST, tolerance: Duration::from_milliseconds(1), ..at(mbps(2)) }),
        shaped(0, ShapingContract { burst: 20 * LONGEST, ..at(mbps(8)) }),
        FlowParameters { priority: Some(0), ..FlowParameters::default() },
    ];
    for (calls, length, at_once, kbps) in [
        (calls[0], 214, 1, 1_900),
        (calls[0], 1400, 1, 1_900),
        (calls[0], 1400, 1, 700),
        (calls[1], 1400, 1, 7_000),
        (calls[1], 1000, 3, 4_000),
        (calls[2], 214, 1, 1_900),
        (calls[2], 1000, 2, 6_000),
    ] {
        for guaranteed in [None, Some(mbps(1))] {
            let web = FlowParameters { priority: Some(2), rate: guaranteed, ..FlowParameters::default() };
            let parameters = [calls, shaped(1, tolerant(12)), shaped(1, tolerant(6)), shaped(1, tolerant(6)), web];
            let interval = length as u64 * 8 * at_once * PICOSECONDS_PER_SECOND / (kbps * 1000);
            let mut arrivals = [pile(1..4, 16_000, 1400, 0), pile(4..5, 3_000, 1200, 0)].concat();
            let number_of = 10 * PICOSECONDS_PER_SECOND / interval * at_once;
            arrivals.extend((0..number_of).map(|number| Arrival { time: number / at_once * interval, flow: 0, length }));
            let departures = run(&mut built::<Wheel>(link, &parameters), link, parameters.len(), &in_order(arrivals));
            judge(link, &parameters, &departures);
            let sent = |flow| {
                (sent_by(&departures, flow, 10 * PICOSECONDS_PER_SECOND) - sent_by(&departures, flow, PICOSECONDS_PER_SECOND)) as f64 * 8.0
                    / 9e6
            };
            let left = 20.0 - sent(0) - guaranteed.map_or(0.0, |_| 1.0);
            for (flow, part) in [(1, 12.0), (2, 6.0), (3, 6.0)] {
                let ideal = left * part / 24.0;
                let is_near = (sent(flow) / ideal - 1.0).abs() < 0.005;
                assert!(is_near, "{kbps} kbit/s in {length} bytes, {guaranteed:?}: flow {flow} got {} of {ideal}", sent(flow));
            }
        }
    }
}

/// Contracts that fit on the link by themselves, but for what a higher priority takes, in step or in bursts: they are shared in proportion
/// if it is too much for the link together, and kept if it is not, wherever the tolerance covers a burst.
#[test]
fn contracts_that_fit_but_for_a_higher_priority_are_shared_in_proportion_or_kept() {
    let link = mbps(20);
    let calls = FlowParameters { priority: Some(0), ..FlowParameters::default() };
    let calls_of = [(214, 1, 4), (1000, 2, 4), (1400, 1, 4), (1400, 15, 10)];
    let cases = [[10, 5, 5], [10, 5, 2], [9, 3, 3], [5, 5, 4], [4, 2, 1]]
        .into_iter()
        .flat_map(|contracts| calls_of.map(|calls| (contracts, calls)));
    for (contracts, (length, at_once, tolerance)) in cases {
        let contract = |rate| ShapingContract { tolerance: Duration::from_milliseconds(tolerance), ..at(mbps(rate)) };
        let [first, second, third] = contracts.map(|rate| shaped(1, contract(rate)));
        let interval = u64::from(length) * 8 * at_once * PICOSECONDS_PER_SECOND / 6_000_000;
        let mut arrivals = pile(1..4, 14_000, 1400, 0);
        arrivals.extend((0..10 * PICOSECONDS_PER_SECOND / interval * at_once).map(|number| Arrival {
            time: number / at_once * interval,
            flow: 0,
            length,
        }));
        let departures = run(&mut built::<Wheel>(link, &[calls, first, second, third]), link, 4, &in_order(arrivals));
        judge(link, &[calls, first, second, third], &departures);
        let sent = |flow| {
            (sent_by(&departures, flow, 10 * PICOSECONDS_PER_SECOND) - sent_by(&departures, flow, PICOSECONDS_PER_SECOND)) as f64 * 8.0
                / 9e6
        };
        let part = (14.0 / contracts.iter().sum::<u64>() as f64).min(1.0);
        for (flow, rate) in (1..).zip(contracts) {
            let ideal = part * rate as f64;
            let is_near = (sent(flow) / ideal - 1.0).abs() < 0.005;
            assert!(is_near, "{contracts:?}, {at_once} of {length} bytes: flow {flow} got {} of {ideal}", sent(flow));
        }
    }
}

proptest! {
    /// The same for any contracts of any lengths of packets.
    #[test]
    fn any_contracts_below_a_higher_priority_are_shared_in_proportion_or_kept(
        rates in prop::collection::vec(1u64..12, 1..6),
        length in 300..=LONGEST,
        (calls_length, at_once, calls_kbps) in (100..=LONGEST, 1u64..4, 100u64..12_000),
        calls_contract in any::<bool>(),
    ) {
        let link = mbps(20);
        let unshaped = FlowParameters { priority: Some(0), ..FlowParameters::default() };
        let generous = ShapingContract { burst: 8 * LONGEST, ..at(mbps(13)) };
        let calls = if calls_contract { shaped(0, generous) } else { unshaped };
        let contract = |&rate: &u64| shaped(1, ShapingContract { tolerance: Duration::from_milliseconds(10), ..at(mbps(rate)) });
        let mut parameters = vec![calls];
        parameters.extend(rates.iter().map(contract));
        let interval = u64::from(calls_length) * 8 * at_once * PICOSECONDS_PER_SECOND / (calls_kbps * 1000);
        let packets = |rate: u64| (rate * 1_000_000 / 8 * 5 / u64::from(length)) as usize;
        let mut arrivals: Vec<Arrival> = (1..).zip(&rates).flat_map(|(flow, &rate)| pile(flow..flow + 1, packets(rate), length, 0)).collect();
        arrivals.extend((0..4 * PICOSECONDS_PER_SECOND / interval * at_once).map(|number| Arrival { time: number / at_once * interval, flow: 0, length: calls_length }));
        let departures = run(&mut built::<Wheel>(link, &parameters), link, parameters.len(), &in_order(arrivals));
        judge(link, &parameters, &departures);
        let sent = |flow| (sent_by(&departures, flow, 4 * PICOSECONDS_PER_SECOND) - sent_by(&departures, flow, PICOSECONDS_PER_SECOND)) as f64 * 8.0 / 3e6;
        let asked = rates.iter().sum::<u64>() as f64;
        let part = ((20.0 - sent(0)) / asked).min(1.0);
        for (flow, &rate) in (1..).zip(&rates) {
            let ideal = part * rate as f64;
            prop_assert!((sent(flow) - ideal).abs() < 0.02 * ideal + 0.02, "flow {} got {} of {}", flow, sent(flow), ideal);
        }
    }
}

/// Contracts of many times the link, here 240 times, are shared in proportion as any others.
#[test]
fn contracts_far_beyond_the_link_are_shared_too() {
    let link = Rate::new(1_000_000).unwrap();
    let parameters = [shaped(0, at(mbps(60))), shaped(0, at(mbps(180)))];
    let departures = run(&mut built::<Wheel>(link, &parameters), link, 2, &pile(0..2, 2000, LONGEST, 0));
    judge(link, &parameters, &departures);
    let [one, three] = [0, 1].map(|flow| sent_by(&departures, flow, 20 * PICOSECONDS_PER_SECOND));
    assert!((one * 3).abs_diff(three) <= three / 10, "{one} and {three}");
}

/// Released packets leave in the order of release, whatever the order of arrival.
#[test]
fn packets_leave_when_they_are_released_and_in_that_order() {
    let slow = ShapingContract::new(mbps(1), 1000, 1000); // a packet of 1000 bytes every 8 ms
    let fast = ShapingContract::new(mbps(2), 1000, 1000);
    let parameters = [shaped(0, slow), shaped(0, fast), FlowParameters::default()];
    let arrivals = [pile(0..2, 4, 1000, 0), pile(2..3, 1, 1000, 5_000_000_000)].concat();
    let link = mbps(8_000);
    let departures = run(&mut built::<Wheel>(link, &parameters), link, 3, &in_order(arrivals));
    let starts: Vec<(usize, u64)> = departures.iter().map(|sent| (sent.flow, (sent.finish - 1_000_000) / 1_000_000_000)).collect();
    assert_eq!(starts, [(0, 0), (1, 0), (1, 4), (2, 5), (0, 8), (1, 8), (1, 12), (0, 16), (0, 24)]);
}

#[test]
fn what_cannot_be_promised_is_refused() {
    let setup = Setup::new(mbps(10), LONGEST);
    let refused = |flows: &[FlowParameters]| {
        setup.build::<RateControlled<Wheel>>(flows).err().map(|error| (error.flow.map(|flow| flow.0), error.parameter.name()))
    };
    let guarantee = |rate| FlowParameters { rate: Some(mbps(rate)), ..FlowParameters::default() };
    assert_eq!(refused(&[guarantee(4), guarantee(6)]), None);
    assert_eq!(refused(&[guarantee(4), guarantee(7)]), Some((None, "rate")));
    // All of the link, by parts that are no binary fractions of it.
    let thirds =
        [1, 2].map(|part| FlowParameters { priority: Some(part), rate: Some(Rate::new(part as u64 * 3_333_333).unwrap()), ..guarantee(1) });
    assert_eq!(refused(&thirds), None);
    let priorities: Vec<FlowParameters> = (0..9).map(|p| FlowParameters { priority: Some(p), ..FlowParameters::default() }).collect();
    assert_eq!(refused(&priorities), Some((Some(8), "priority")));
    assert_eq!(refused(&priorities[..8]), None);
}
