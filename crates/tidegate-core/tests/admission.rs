//! Admission control: the laws of the role as properties, the figures of the IntServ node, and blocking against teletraffic theory.

use proptest::prelude::*;
use signalling::{Events, Random, Signalling, blocking, erlang_b, kaufman_roberts};
use tidegate_core::admission::{
    AdmissionControl, Answer, Constraint, Demand, FlowSpec, Link, LinkSettings, Method, PathAdmission, RequestError, ReserveError, Service,
    Shortage, Target, Totals, TrafficSpec,
};
use tidegate_core::units::{Duration, Rate, Time};

mod signalling;

const MBPS: u64 = 1_000_000;

fn rate(bits_per_second: u64) -> Rate {
    Rate::new(bits_per_second).unwrap()
}

/// A link of the parking lot: 10 Mbit/s, packets of 1 kbit, 500 of them for guaranteed service.
fn link() -> LinkSettings {
    LinkSettings { guaranteed_flows: 64, controlled_load_flows: 64, ..LinkSettings::new(rate(10 * MBPS), 1_000, 500_000) }
}

fn constant(bits_per_second: u64) -> TrafficSpec {
    TrafficSpec::new(1_000, 15_000, rate(bits_per_second), rate(bits_per_second)).unwrap()
}

fn controlled(sustained: u64, peak: u64) -> Demand {
    Demand::ControlledLoad(TrafficSpec::new(1_000, 20_000, rate(sustained), rate(peak)).unwrap())
}

fn guaranteed(rate: u64) -> Demand {
    Demand::Guaranteed { rate, buffer: 15_000 }
}

/// A link with four guaranteed flows of 1.5 Mbit/s, numbers 100 to 103.
fn with_four_guaranteed() -> Link {
    let mut link = Link::new(link()).unwrap();
    (100..104).for_each(|id| link.reserve(id, guaranteed(1_500_000)).unwrap());
    link
}

fn after_ms(ms: u64) -> Time {
    Time::ZERO + Duration::from_milliseconds(ms)
}

#[test]
fn controlled_load_is_admitted_up_to_the_target_utilisation_and_not_beyond() {
    let admit = |present: u64| {
        let mut link = with_four_guaranteed();
        link.reserve(1, controlled(MBPS, present)).unwrap();
        assert_eq!(link.measured_load(), present);
        link.reserve(2, controlled(MBPS, 1_500_000))
    };
    // 6.0 + 1.5 + 1.5 of 9.0, and 6.0 + 1.6 + 1.5.
    assert_eq!(admit(1_500_000), Ok(()));
    let shortage = Shortage { constraint: Constraint::Rate, have: 1_400_000, need: 1_500_000 };
    assert_eq!(admit(1_600_000), Err(ReserveError::Short(shortage)));
}

/// Two flows of peak 1.5 that send 0.5 Mbit/s each leave room for a third once a window has passed; the sum of the peaks would not.
#[test]
fn what_is_not_sent_is_given_to_others() {
    let mut link = with_four_guaranteed();
    link.advance(Time::ZERO);
    (1..3).for_each(|id| link.reserve(id, controlled(MBPS, 1_500_000)).unwrap());
    assert!(link.test(&controlled(MBPS, 1_500_000)).is_err());
    for packet in 0..100 {
        (1..3).for_each(|id| link.measured(id, 1_000, after_ms(2 * packet)));
    }
    link.advance(after_ms(200));
    assert_eq!(link.measured_load(), MBPS);
    assert_eq!(link.reserve(3, controlled(MBPS, 1_500_000)), Ok(()));
    assert_eq!(link.measured_load(), 2_500_000);
}

/// A flow that declares 1.5 and sends 10 Mbit/s counts as 1.5, and two packets.
#[test]
fn a_flow_counts_no_more_than_its_peak() {
    let mut link = Link::new(link()).unwrap();
    link.advance(Time::ZERO);
    link.reserve(1, controlled(MBPS, 1_500_000)).unwrap();
    (0..5_000).for_each(|packet| link.measured(1, 1_000, Time::ZERO + Duration::from_microseconds(100 * packet)));
    assert!((1_500_000..=1_700_000).contains(&link.measured_load()), "{}", link.measured_load());
    link.measured(77, 1_000_000, after_ms(501));
    link.advance(after_ms(511));
    assert!(link.measured_load() <= 1_700_000, "no flow has this number");
}

/// The rates of controlled load while flows of both services come and go.
#[test]
fn rates_follow_guaranteed_service_and_controlled_load() {
    let mut link = with_four_guaranteed();
    (1..3).for_each(|id| link.provision(id, controlled(MBPS, 3 * MBPS)).unwrap());
    let rates = |link: &Link| [1, 2].map(|id| link.rate_of(id).unwrap());
    assert_eq!(rates(&link), [2 * MBPS; 2]);
    let epoch = link.epoch();
    assert!(link.release(100) && link.release(101) && !link.release(101));
    assert_ne!(link.epoch(), epoch);
    assert_eq!(rates(&link), [3 * MBPS; 2]);
    link.provision(3, controlled(MBPS, 3 * MBPS)).unwrap();
    assert_eq!((rates(&link), link.rate_of(3)), ([2_333_334, 2_333_333], Some(2_333_333)));
    (100..102).for_each(|id| link.provision(id, guaranteed(1_500_000)).unwrap());
    assert_eq!((rates(&link), link.rate_of(3)), ([1_333_334, 1_333_333], Some(1_333_333)));
    assert_eq!((link.rate_of(100), link.rate_of(9)), (Some(1_500_000), None));
}

#[test]
fn no_flow_of_controlled_load_falls_below_its_sustained_rate() {
    let mut link = Link::new(LinkSettings::new(rate(10 * MBPS), 1_000, 1_000_000)).unwrap();
    link.advance(Time::ZERO);
    (1..5).for_each(|id| link.reserve(id, controlled(2 * MBPS, 2 * MBPS)).unwrap());
    // Silent for a window: the measured load is 0, and the sustained rates still hold.
    link.advance(after_ms(1_000));
    assert_eq!((link.measured_load(), link.free_rate()), (0, 9 * MBPS));
    let short = |have, need| Err(Shortage { constraint: Constraint::RateGuarantee, have, need });
    assert_eq!(link.test(&guaranteed(3 * MBPS)), short(2 * MBPS, 3 * MBPS));
    assert_eq!(link.test(&controlled(2_500_000, 2_500_000)), short(2 * MBPS, 2_500_000));
    link.reserve(9, guaranteed(2 * MBPS)).unwrap();
    assert!((1..5).all(|id| link.rate_of(id) == Some(2 * MBPS)));
    // Provisioned flows may take more than there is.
    link.provision(10, guaranteed(9 * MBPS)).unwrap();
    assert!((1..5).all(|id| link.rate_of(id) == Some(0)));
    assert_eq!(link.totals(), link.recomputed_totals());
}

/// Path G1 of the parking lot: access 0.1 ms, five ports, 5 us of propagation on each of six links, 4 us of processing in five switches.
#[test]
fn the_bound_of_the_longest_path() {
    let settings = LinkSettings { latency: Duration::from_microseconds(9), ..link() };
    let mut network = PathAdmission::new(&[settings; 5], 10, 5).unwrap();
    let target = Some(Target::Rate(1_500_000));
    let spec =
        FlowSpec { id: 1, path: &[0, 1, 2, 3, 4], alternatives: &[], traffic: constant(1_500_000), target, kind: Service::Guaranteed };
    let Answer::Admitted(admitted) = network.request(&spec).unwrap() else { panic!("it is the first flow") };
    let access = Duration::from_microseconds(105);
    assert_eq!(admitted.delay.map(|delay| delay + access), Some(Duration::from_microseconds(4_650)));
    assert_eq!((admitted.method, admitted.slack), (Method::GuaranteedService, Duration::ZERO));
    // M/R + Lmax/C = 0.7667 ms per hop upstream; b + (Csum/R + Dsum) R = 15,000 + 1,150 bit per hop.
    for (hop, upstream) in admitted.hops.iter().zip(0..) {
        assert_eq!((hop.port, hop.rate, hop.budget), (upstream, 1_500_000, None));
        assert_eq!(hop.tolerance, Duration::from_picoseconds(766_666_667 * u64::from(upstream)));
        assert_eq!(hop.buffer, 15_000 + 1_150 * (u64::from(upstream) + 1));
    }
    let target = Some(Target::Delay(Duration::from_milliseconds(10)));
    let Answer::Admitted(admitted) = network.request(&FlowSpec { id: 2, target, ..spec }).unwrap() else { panic!("it has room") };
    assert_eq!(admitted.slack, Duration::from_microseconds(10_000 - 4_545));
}

#[test]
fn a_refusal_names_the_port_and_what_would_be_admitted() {
    let mut network = PathAdmission::new(&[link(), LinkSettings { buffer: 40_000, ..link() }, link()], 10, 3).unwrap();
    let ms = |ms| Some(Target::Delay(Duration::from_milliseconds(ms)));
    let traffic = TrafficSpec::new(1_000, 15_000, rate(1_500_000), rate(10 * MBPS)).unwrap();
    let spec = FlowSpec { id: 1, path: &[0, 1, 2], alternatives: &[], traffic, target: ms(10), kind: Service::Guaranteed };
    let mut refusal = |spec: &FlowSpec<'_>| match network.request(spec).unwrap() {
        Answer::Refused(refused) => Some(refused.to_string()),
        Answer::Admitted(_) => None,
    };
    assert_eq!(
        refusal(&FlowSpec { target: Some(Target::Delay(Duration::from_microseconds(300))), ..spec }).unwrap(),
        "port 2: delay target: needs 300000000 ps, has 300000000 ps; would admit a delay target of 927450981 ps"
    );
    assert_eq!(refusal(&spec), None);
    assert_eq!(refusal(&FlowSpec { id: 2, ..spec }), None);
    let third = refusal(&FlowSpec { id: 3, ..spec }).unwrap();
    // At the sustained rate the second hop needs b + 2300 bit, and 6278 are left.
    assert_eq!(third, "port 1: buffer: needs 16861 bit, has 6278 bit; would admit a burst of 3978 bit");
    let large = refusal(&FlowSpec { id: 3, path: &[0], target: ms(1), ..spec }).unwrap();
    assert!(large.starts_with("port 0: rate: needs "), "{large}");
    assert!(large.contains("; would admit a delay target of ") && large.contains(" or a burst of "), "{large}");
}

#[test]
fn requests_without_a_meaning_are_errors() {
    let settings = LinkSettings { guaranteed_flows: 1, ..link() };
    let mut network = PathAdmission::new(&[link(), settings], 2, 2).unwrap();
    let spec = FlowSpec {
        id: 1,
        path: &[0],
        alternatives: &[],
        traffic: constant(MBPS),
        target: Some(Target::Rate(MBPS)),
        kind: Service::Guaranteed,
    };
    let mut error = |spec: FlowSpec<'_>| network.request(&spec).err();
    assert_eq!(error(FlowSpec { path: &[], ..spec }), Some(RequestError::EmptyPath));
    assert_eq!(error(FlowSpec { path: &[0, 1, 0], ..spec }), Some(RequestError::PathTooLong { limit: 2 }));
    assert_eq!(error(FlowSpec { path: &[0, 2], ..spec }), Some(RequestError::UnknownPort(2)));
    assert_eq!(error(FlowSpec { path: &[1, 1], ..spec }), Some(RequestError::RepeatedPort(1)));
    assert_eq!(error(FlowSpec { target: None, ..spec }), Some(RequestError::TargetMissing));
    assert_eq!(error(FlowSpec { kind: Service::ControlledLoad, ..spec }), Some(RequestError::TargetWithoutGuarantee));
    assert_eq!(error(FlowSpec { target: Some(Target::Rate(MBPS - 1)), ..spec }), Some(RequestError::RateBelowSustained));
    assert_eq!(error(spec), None);
    assert_eq!(error(spec), Some(RequestError::FlowExists(1)));
    assert_eq!(error(FlowSpec { id: 2, path: &[1], ..spec }), None);
    assert_eq!(error(FlowSpec { id: 3, path: &[0], ..spec }), Some(RequestError::TooManyFlows { port: None }));
    assert!(network.release(1) && !network.release(1));
    let mut error = |spec: FlowSpec<'_>| network.request(&spec).err();
    assert_eq!(error(FlowSpec { id: 3, path: &[0, 1], ..spec }), Some(RequestError::TooManyFlows { port: Some(1) }));
    assert_eq!(network.link(0).unwrap().totals(), Totals::default());
}

/// One step of the property: a request of a random flow, the release of one, or departures.
#[derive(Clone, Debug)]
enum Step {
    Request { ports: u8, reversed: bool, guaranteed: bool, packet: u64, burst: u64, sustained: u64, above: u64, target: u64, by_rate: bool },
    Release(usize),
    Depart { which: usize, packets: u64, gap_us: u64 },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let request = (
        (1u8..16, any::<bool>(), any::<bool>(), any::<bool>()),
        (1u64..12_000, 0u64..60_000, 1_000u64..3 * MBPS, prop_oneof![Just(0), 0u64..4 * MBPS], 1u64..60_000),
    )
        .prop_map(|((ports, reversed, guaranteed, by_rate), (packet, burst, sustained, above, target))| Step::Request {
            ports,
            reversed,
            guaranteed,
            packet,
            burst: packet + burst,
            sustained,
            above,
            target,
            by_rate,
        });
    let depart = (any::<usize>(), 1u64..200, 1u64..2_000).prop_map(|(which, packets, gap_us)| Step::Depart { which, packets, gap_us });
    proptest::collection::vec(prop_oneof![4 => request, 2 => any::<usize>().prop_map(Step::Release), 1 => depart], 1..80)
}

/// All that a caller can see of the links, to the last bit.
fn picture(network: &PathAdmission) -> String {
    format!("{:?}", [0, 1, 2, 3].map(|port| network.link(port)))
}

proptest! {
    #[test]
    fn the_laws_hold_over_random_requests_and_releases(steps in steps()) {
        let mut network = PathAdmission::new(&[link(); 4], 24, 4).unwrap();
        let mut admitted: Vec<(u64, Vec<(u32, Demand)>)> = Vec::new();
        let mut now = Time::ZERO;
        for (id, step) in (0..).zip(steps) {
            match step {
                Step::Request { ports, reversed, guaranteed, packet, burst, sustained, above, target, by_rate } => {
                    let mut path: Vec<u32> = (0..4).filter(|port| ports >> port & 1 == 1).collect();
                    if reversed {
                        path.reverse();
                    }
                    let traffic = TrafficSpec::new(packet, burst, rate(sustained), rate(sustained + above)).unwrap();
                    let target = if by_rate { Target::Rate(sustained + target * 50) } else { Target::Delay(Duration::from_microseconds(target)) };
                    let kind = if guaranteed { Service::Guaranteed } else { Service::ControlledLoad };
                    let spec = FlowSpec { id, path: &path, alternatives: &[], traffic, target: guaranteed.then_some(target), kind };
                    request(&mut network, &spec, &mut admitted)?;
                }
                Step::Release(which) if !admitted.is_empty() => {
                    let (id, _) = admitted.swap_remove(which % admitted.len());
                    prop_assert!(network.release(id) && !network.release(id));
                }
                Step::Depart { which, packets, gap_us } if !admitted.is_empty() => {
                    let (id, demands) = &admitted[which % admitted.len()];
                    for _ in 0..packets {
                        now += Duration::from_microseconds(gap_us);
                        demands.iter().for_each(|&(port, _)| network.measured(port, *id, 1_000, now));
                    }
                }
                _ => {}
            }
            for port in 0..4 {
                check_link(&network, port, &admitted)?;
            }
        }
        admitted.iter().for_each(|&(id, _)| assert!(network.release(id)));
        for port in 0..4 {
            prop_assert_eq!(network.link(port).unwrap().totals(), Totals::default());
        }
    }
}

/// Makes a request, compares it with the tests written out, and tries its offers.
fn request(network: &mut PathAdmission, spec: &FlowSpec<'_>, admitted: &mut Vec<(u64, Vec<(u32, Demand)>)>) -> Result<(), TestCaseError> {
    let before = picture(network);
    let demands = match network.allocate(spec).unwrap() {
        Answer::Admitted(allocation) => Some(allocation.hops.iter().map(|hop| (hop.port, Demand::at(spec, hop))).collect::<Vec<_>>()),
        Answer::Refused(_) => None,
    };
    let fits = |demands: &Vec<(u32, Demand)>| demands.iter().all(|&(port, demand)| fits(network.link(port).unwrap(), demand));
    let expected = demands.as_ref().is_some_and(fits);
    match network.request(spec) {
        Ok(Answer::Admitted(answer)) => {
            prop_assert!(expected);
            if let Some(Target::Delay(target)) = spec.target {
                prop_assert!(answer.delay.unwrap() + answer.slack == target);
            }
            prop_assert_eq!(answer.delay.is_some(), answer.method == Method::GuaranteedService);
            admitted.push((spec.id, demands.unwrap()));
        }
        Ok(Answer::Refused(refused)) => {
            prop_assert!(!expected, "{}", refused);
            prop_assert!(refused.need > refused.have || refused.constraint == Constraint::Target);
            prop_assert_eq!(&picture(network), &before);
            for offer in refused.offers.iter() {
                let mut other = network.clone();
                let offered = offer.applied_to(spec).unwrap();
                prop_assert!(matches!(other.request(&offered), Ok(Answer::Admitted(_))), "{refused}: {offer} of {spec:?}");
            }
        }
        Err(error) => {
            prop_assert!(error == RequestError::TooManyFlows { port: None } || error == RequestError::RateBelowSustained, "{error}");
            prop_assert_eq!(&picture(network), &before);
        }
    }
    Ok(())
}

/// The law of a link, written out.
fn fits(link: &Link, demand: Demand) -> bool {
    let Totals { rate, buffer, sustained, .. } = link.recomputed_totals();
    let capacity = 10 * MBPS;
    let load = link.measured_load();
    match demand {
        Demand::Guaranteed { rate: r, buffer: b } => {
            10 * (rate + r + load) <= 9 * capacity && buffer + b <= 500_000 && rate + sustained + r <= capacity
        }
        Demand::ControlledLoad(traffic) => {
            let (rho, peak) = (traffic.rate().bits_per_second(), traffic.peak().bits_per_second());
            10 * (rate + load + peak) <= 9 * capacity && rate + sustained + rho <= capacity
        }
        _ => unreachable!("there are two services"),
    }
}

/// The sums of a link are those of the admitted flows, and its rates add up.
fn check_link(network: &PathAdmission, port: u32, admitted: &[(u64, Vec<(u32, Demand)>)]) -> Result<(), TestCaseError> {
    let link = network.link(port).unwrap();
    let mut totals = Totals::default();
    let mut given = 0;
    let here = |(id, demands): &(u64, Vec<(u32, Demand)>)| demands.iter().find(|&&(at, _)| at == port).map(|&(_, demand)| (*id, demand));
    for (id, demand) in admitted.iter().filter_map(here) {
        let now = link.rate_of(id).unwrap();
        match demand {
            Demand::Guaranteed { rate, buffer } => {
                totals.guaranteed_flows += 1;
                totals.rate += rate;
                totals.buffer += buffer;
                prop_assert_eq!(now, rate);
            }
            Demand::ControlledLoad(traffic) => {
                totals.controlled_load_flows += 1;
                totals.sustained += traffic.rate().bits_per_second();
                totals.peak += traffic.peak().bits_per_second();
                prop_assert!(now >= traffic.rate().bits_per_second() && now <= traffic.peak().bits_per_second());
                given += now;
            }
            _ => unreachable!("there are two services"),
        }
    }
    prop_assert_eq!(link.totals(), totals);
    prop_assert_eq!(link.recomputed_totals(), totals);
    prop_assert_eq!(given, totals.peak.min(10 * MBPS - totals.rate));
    Ok(())
}

/// The requests of one run: 2 million seconds at four paths and 50 s between requests.
const REQUESTS: u64 = 160_000;

fn assert_blocking(blocking: [f64; 4], exact: [f64; 4]) {
    for (found, exact) in blocking.into_iter().zip(exact) {
        assert!((found - exact).abs() <= 0.012, "{found} is not {exact}");
    }
    let mean = |values: [f64; 4]| values.iter().sum::<f64>() / 4.0;
    assert!((mean(blocking) - mean(exact)).abs() <= 0.004, "{blocking:?} {exact:?}");
}

#[test]
fn blocking_formulae() {
    let exact = [(6, 6.4, 0.292415), (6, 8.0, 0.389752), (6, 9.6, 0.467663), (9, 8.0, 0.173141), (10, 8.0, 0.121661)];
    for (circuits, load, blocking) in exact {
        assert!((erlang_b(circuits, load) - blocking).abs() < 1e-6);
    }
    let two = kaufman_roberts(9, &[(1, 4.0), (2, 4.0)]);
    assert!((two[0] - 0.261992).abs() < 1e-6 && (two[1] - 0.488029).abs() < 1e-6);
}

/// The last link carries every path, so it is a group of six circuits, whatever the load.
#[test]
fn blocking_is_that_of_erlang_b() {
    for (load, signalling) in [(0.8, Signalling::AtOnce), (1.0, Signalling::HopByHop), (1.2, Signalling::AtOnce)] {
        assert_blocking(blocking([1_500_000; 4], 50.0 / load, REQUESTS, 1, signalling), [erlang_b(6, 8.0 * load); 4]);
    }
}

/// Nine circuits of 1.0 Mbit/s at a target utilisation of 0.9; ten without.
#[test]
fn blocking_sees_the_target_utilisation() {
    assert_blocking(blocking([MBPS; 4], 50.0, REQUESTS, 2, Signalling::HopByHop), [erlang_b(9, 8.0); 4]);
}

#[test]
fn blocking_of_two_rates_is_that_of_kaufman_and_roberts() {
    let exact = kaufman_roberts(9, &[(1, 4.0), (2, 4.0)]);
    let found = blocking([MBPS, 2 * MBPS, MBPS, 2 * MBPS], 50.0, REQUESTS, 3, Signalling::AtOnce);
    assert_blocking(found, [exact[0], exact[1], exact[0], exact[1]]);
}

/// An event of the run with controlled load.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Request,
    Teardown(u64),
    /// The flow turns on; what its next packet still needs of time on is `rest` seconds, as bits.
    On {
        flow: u64,
        rest: u64,
    },
    /// The next packet is due `at` this time unless the flow turns `off` before, as bits.
    Packet {
        flow: u64,
        at: u64,
        off: u64,
    },
}

/// Flows of controlled load on one link beside two guaranteed ones: on and off for 2 ms each in the mean, 1.5 Mbit/s while on. The link takes
/// more than by their peaks (4), and fewer than by their means (8).
#[test]
fn measurement_admits_between_peak_and_mean_allocation() {
    let mut link = Link::new(link()).unwrap();
    link.advance(Time::ZERO);
    (0..2).for_each(|id| link.reserve(id, guaranteed(1_500_000)).unwrap());
    let at = |seconds: f64| Time::from_picoseconds((seconds * 1e12) as u64);
    let gap: f64 = 1_000.0 / 1_500_000.0;
    let (mut random, mut events) = (Random(1), Events::new());
    (0..4).for_each(|_| events.insert(random.exponential(5.0), Event::Request));
    let (mut flows, mut next, mut last, mut integral) = (0u32, 2u64, 0.0, 0.0);
    while let Some((now, event)) = events.pop().filter(|&(now, _)| now < 400.0) {
        integral += f64::from(flows) * (now - last);
        last = now;
        match event {
            Event::Request => {
                link.advance(at(now));
                if link.reserve(next, controlled(MBPS, 1_500_000)).is_ok() {
                    flows += 1;
                    events.insert(now + random.exponential(40.0), Event::Teardown(next));
                    events.insert(now, Event::On { flow: next, rest: gap.to_bits() });
                    next += 1;
                }
                events.insert(now + random.exponential(5.0), Event::Request);
            }
            Event::Teardown(flow) => {
                flows -= 1;
                assert!(link.release(flow));
            }
            Event::On { flow, rest } => {
                let (rest, off) = (f64::from_bits(rest), now + random.exponential(0.002));
                let (first, off) = (now + rest, off.to_bits());
                events.insert(first.min(f64::from_bits(off)), Event::Packet { flow, at: first.to_bits(), off });
            }
            Event::Packet { flow, at: due, off } if link.rate_of(flow).is_some() => {
                let (due, end) = (f64::from_bits(due), f64::from_bits(off));
                if due <= end {
                    link.measured(flow, 1_000, at(now));
                    events.insert((due + gap).min(end), Event::Packet { flow, at: (due + gap).to_bits(), off });
                } else {
                    events.insert(end + random.exponential(0.002), Event::On { flow, rest: (due - end).to_bits() });
                }
            }
            Event::Packet { .. } => {}
        }
    }
    let mean = integral / last;
    assert!((4.6..=5.8).contains(&mean), "{mean} flows in the mean");
}
