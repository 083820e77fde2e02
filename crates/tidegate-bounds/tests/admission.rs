//! The laws of the role of admission control, for every admission control that there is.
//!
//! A refusal and an error change nothing, a release restores everything, an offer holds, and a promise is never taken back.

use proptest::prelude::*;
use std::fmt::Debug;
use tidegate_bounds::admission::{Budgets, ClassSettings, Discipline, Exact, PortSettings};
use tidegate_bounds::curve::Service as Curve;
use tidegate_bounds::network::{Network, Server, Serving};
use tidegate_core::admission::{
    AdmissionControl, Answer, Constraint, FlowSpec, LinkSettings, Method, Offer, PathAdmission, RequestError, Service, Target, TrafficSpec,
};
use tidegate_core::units::{Duration, Rate};

const MBPS: u64 = 1_000_000;
/// Picoseconds.
const MS: i128 = 1_000_000_000;
/// Bits.
const PACKET: u64 = 1_000;

/// Queues 0, 2, 4 are the more urgent ones of three ports, 1, 3, 5 the others. Where ports have no classes, they are six ports.
const PATHS: [&[u32]; 6] = [&[0, 2, 4], &[1, 3, 5], &[3, 5, 1], &[4, 0], &[5, 2], &[3]];

/// What happens next.
#[derive(Clone, Debug)]
enum Step {
    Request { path: usize, burst: u64, rate: u64, target: Result<u64, u64> },
    Release(usize),
}

fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    let target = prop_oneof![(10u64..200).prop_map(Ok), (0u64..MBPS).prop_map(Err)];
    let request = (0..PATHS.len(), 0u64..30_000, 1_000u64..3 * MBPS, target);
    let request = request.prop_map(|(path, burst, rate, target)| Step::Request { path, burst: PACKET + burst, rate, target });
    proptest::collection::vec(prop_oneof![2 => request, 1 => any::<usize>().prop_map(Step::Release)], 1..most)
}

/// A request by delay in ms or by a rate above the sustained one.
fn spec(id: u64, path: &'static [u32], burst: u64, rate: u64, target: Result<u64, u64>) -> FlowSpec<'static> {
    let target = match target {
        Ok(ms) => Target::Delay(Duration::from_milliseconds(ms)),
        Err(above) => Target::Rate(rate + above),
    };
    let rates = |rate| Rate::new(rate).unwrap();
    let traffic = TrafficSpec::new(PACKET, burst, rates(rate), rates(rate)).unwrap().with_shortest_packet(PACKET).unwrap();
    FlowSpec { id, path, alternatives: &PATHS, traffic, target: Some(target), kind: Service::Guaranteed }
}

/// What is promised, and to which request.
type Held = (FlowSpec<'static>, Duration);

/// Checks the laws over the steps; `keeps` checks what the control itself says of the flows that are held.
fn laws<C: AdmissionControl + Clone + Debug>(
    mut control: C,
    steps: Vec<Step>,
    keeps: impl Fn(&C, &[Held]) -> Result<(), TestCaseError>,
    picture: impl Fn(&C) -> String,
) -> Result<(), TestCaseError> {
    let empty = picture(&control);
    let mut held: Vec<Held> = Vec::new();
    for (id, step) in (0u64..).zip(steps) {
        match step {
            Step::Request { path, burst, rate, target } => {
                let spec = spec(id, PATHS[path], burst, rate, target);
                let before = picture(&control);
                let refused = match control.request(&spec).unwrap() {
                    Answer::Admitted(admitted) => {
                        let delay = admitted.delay.unwrap();
                        prop_assert!(matches!(admitted.method, Method::GuaranteedService | Method::Budgets | Method::Network));
                        prop_assert_eq!(admitted.hops.iter().map(|hop| hop.port).collect::<Vec<_>>(), spec.path);
                        if let Some(Target::Delay(target)) = spec.target {
                            prop_assert_eq!(delay + admitted.slack, target);
                        }
                        held.push((spec, delay));
                        None
                    }
                    Answer::Refused(refused) => Some(refused),
                };
                match refused {
                    None => prop_assert_eq!(control.request(&spec).err(), Some(RequestError::FlowExists(id))),
                    Some(refused) => {
                        prop_assert!(refused.need > refused.have || refused.constraint == Constraint::Target, "{}", refused);
                        prop_assert_eq!(&picture(&control), &before);
                        for offer in refused.offers.iter() {
                            let offered = offer.applied_to(&spec).unwrap();
                            let answer = control.clone().request(&offered).map(|answer| matches!(answer, Answer::Admitted(_)));
                            prop_assert_eq!(answer, Ok(true), "{}: {} of {:?}", refused, offer, spec);
                        }
                    }
                }
            }
            Step::Release(_) if held.is_empty() => prop_assert!(!control.release(id)),
            Step::Release(which) => {
                let (spec, _) = held.swap_remove(which % held.len());
                prop_assert!(control.release(spec.id) && !control.release(spec.id));
            }
        }
        keeps(&control, &held)?;
    }
    held.iter().for_each(|(spec, _)| assert!(control.release(spec.id)));
    prop_assert_eq!(picture(&control), empty);
    Ok(())
}

fn port(discipline: Discipline) -> PortSettings {
    PortSettings {
        rate: 10 * MBPS,
        longest: PACKET,
        discipline,
        classes: [(5, 0), (20, 1)].map(|(ms, buffer)| ClassSettings { budget: ms * MS, buffer }).to_vec(),
        buffers: vec![120_000, 250_000],
        latency: MS,
    }
}

fn disciplines() -> impl Strategy<Value = Discipline> {
    prop_oneof![
        Just(Discipline::StrictPriority),
        Just(Discipline::Isolated(vec![Curve::rate_latency(6 * MBPS, MS), Curve::rate_latency(4 * MBPS, 2 * MS)])),
        Just(Discipline::Deadline(vec![4 * MS, 15 * MS])),
    ]
}

/// The two queues of three ports under strict priority.
fn exact() -> Exact {
    let serving = |queue: usize| Serving::Below {
        port: Curve::link(10 * MBPS),
        higher: if queue % 2 == 1 { vec![queue - 1] } else { Vec::new() },
        lower: PACKET,
    };
    let servers = (0..6).map(|queue| Server { serving: serving(queue), ..Server::packets(Curve::link(1), true, 10 * MBPS, PACKET) });
    Exact::new(Network { servers: servers.collect(), flows: Vec::new() }, vec![MS; 6])
}

proptest! {
    #[test]
    fn reserved_rates_keep_the_laws(steps in steps(60)) {
        let link = LinkSettings { latency: Duration::from_milliseconds(1), ..LinkSettings::new(Rate::new(10 * MBPS).unwrap(), PACKET, 120_000) };
        let network = PathAdmission::new(&[link; 6], 64, 3).unwrap();
        let totals = |network: &PathAdmission| (0..6).map(|port| format!("{:?}", network.link(port).unwrap().totals())).collect();
        laws(network, steps, |_, _| Ok(()), totals)?;
    }

    #[test]
    fn budgets_keep_the_laws(discipline in disciplines(), steps in steps(60)) {
        let is_by_priority = discipline == Discipline::StrictPriority;
        let keeps = |network: &Budgets, held: &[Held]| {
            for queue in 0..6 {
                let used = held.iter().any(|(spec, _)| spec.path.contains(&queue));
                prop_assert!(!used || network.delay(queue).unwrap() <= [5, 20][queue as usize % 2] * MS);
            }
            // The bounds of all flows together, in a network with cycles, are within the promises.
            if is_by_priority && held.len() % 4 == 3 {
                let mut all = exact();
                for (spec, delay) in held {
                    let promised = FlowSpec { target: Some(Target::Delay(*delay)), ..*spec };
                    prop_assert!(matches!(all.request(&promised).unwrap(), Answer::Admitted(_)));
                }
            }
            Ok(())
        };
        laws(Budgets::new(vec![port(discipline); 3]), steps, keeps, |network| format!("{:?}", network.sums().collect::<Vec<_>>()))?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.div_ceil(16), ..ProptestConfig::default() })]

    #[test]
    fn bounds_of_all_flows_keep_the_laws(steps in steps(12)) {
        laws(exact(), steps, |_, _| Ok(()), |exact| format!("{:?}", exact.network()))?;
    }
}

fn refusal(control: &mut impl AdmissionControl, spec: &FlowSpec<'_>) -> String {
    match control.request(spec).unwrap() {
        Answer::Refused(refused) => refused.to_string(),
        Answer::Admitted(admitted) => panic!("{admitted:?}"),
    }
}

#[test]
fn a_refusal_says_what_is_short_and_what_would_do() {
    let large = PortSettings { buffers: vec![300_000; 2], ..port(Discipline::StrictPriority) };
    let mut network = Budgets::new(vec![large; 2]);
    let flow = |id, path: &'static [u32], burst, rate| FlowSpec { alternatives: &[&[1, 3]], ..spec(id, path, burst, rate, Ok(1_000)) };
    let Ok(Answer::Admitted(admitted)) = network.request(&flow(1, &[0, 2], 20_000, MBPS)) else { panic!() };
    assert_eq!(admitted.delay, Some(Duration::from_milliseconds(12)));
    // At the second port the burst has grown by 1 Mbit/s for 5 ms less 0.1 ms.
    let last = admitted.hops[1];
    assert_eq!((last.port, last.buffer, last.rate), (2, 29_900, MBPS));
    assert_eq!((last.budget, last.tolerance), (Some(Duration::from_milliseconds(5)), Duration::from_microseconds(4_900)));
    // The second port has 50 kbit per 5 ms, of which 24.9 kbit and one packet are gone, and 4.9 kbit is what the burst grows.
    assert_eq!(
        refusal(&mut network, &flow(2, &[0, 2], 40_000, MBPS)),
        "port 0: delay budget: needs 6100000000 ps, has 5000000000 ps; would admit a burst of 19200 bit or its alternative path 0"
    );
    let late = FlowSpec { target: Some(Target::Delay(Duration::from_milliseconds(11))), ..flow(3, &[0, 2], 1_000, 1_000) };
    let told = refusal(&mut network, &late);
    assert_eq!(told, "port 2: delay target: needs 12000000000 ps, has 11000000000 ps; would admit a delay target of 12000000000 ps");
    let told = refusal(&mut network, &flow(4, &[0], 1_000, 9_500_000));
    assert!(
        told.starts_with("port 0: rate: needs 9500000 bit/s, has 9000000 bit/s; would admit a sustained rate of 9000000 bit/s"),
        "{told}"
    );
    // The less urgent queue holds 10 kbit more than its share of the port lasts.
    let told = refusal(&mut network, &flow(5, &[1], 260_000, 2 * MBPS));
    assert!(told.starts_with("port 1: delay budget: needs "), "{told}");
    for (wrong, error) in [
        (flow(1, &[0], 1_000, 1_000), RequestError::FlowExists(1)),
        (flow(5, &[], 1_000, 1_000), RequestError::EmptyPath),
        (flow(5, &[7], 1_000, 1_000), RequestError::UnknownPort(7)),
        (flow(5, &[0, 1], 1_000, 1_000), RequestError::RepeatedPort(1)),
        (FlowSpec { kind: Service::ControlledLoad, target: None, ..flow(5, &[0], 1_000, 1_000) }, RequestError::OnlyGuaranteed),
    ] {
        assert_eq!(network.request(&wrong).err(), Some(error));
    }
}

#[test]
fn classes_share_a_buffer_or_have_their_own() {
    let shared = |buffers: Vec<u64>, buffer: usize| {
        let mut settings = port(Discipline::StrictPriority);
        (settings.buffers, settings.classes[1].buffer) = (buffers, buffer);
        let mut network = Budgets::new(vec![settings]);
        assert!(matches!(network.request(&spec(1, &[0], 20_000, MBPS, Ok(50))), Ok(Answer::Admitted(_))));
        let spec = spec(2, &[1], 20_000, MBPS, Ok(50));
        match network.request(&spec).unwrap() {
            Answer::Admitted(_) => None,
            Answer::Refused(refused) => Some((refused.port, refused.constraint, refused.have, refused.need)),
        }
    };
    // 25 kbit and 40 kbit.
    assert_eq!(shared(vec![25_000, 40_000], 1), None);
    assert_eq!(shared(vec![65_000], 0), None);
    assert_eq!(shared(vec![64_999], 0), Some((1, Constraint::Buffer, 39_999, 40_000)));
    assert_eq!(shared(vec![65_000, 39_999], 1), Some((1, Constraint::Buffer, 39_999, 40_000)));
}

#[test]
fn the_exact_network_names_the_promise_that_would_break() {
    let server = Server::fluid(Curve::rate_latency(10_000, 10_000 * MS));
    let mut exact = Exact::new(Network { servers: vec![server; 2], flows: Vec::new() }, Vec::new());
    let flow = |id, path: &'static [u32], s| FlowSpec {
        alternatives: &[],
        target: Some(Target::Delay(Duration::from_seconds(s))),
        traffic: TrafficSpec::new(1, 25_000, Rate::new(5_000).unwrap(), Rate::MAX).unwrap(),
        ..spec(id, path, 1_000, 1_000, Ok(1))
    };
    assert!(matches!(exact.request(&flow(7, &[0, 1], 24)), Ok(Answer::Admitted(_))));
    // By a linear program of both servers; what the others leave at each would give 36.25 s.
    let told = refusal(&mut exact, &flow(8, &[0, 1], 60));
    assert!(
        told.starts_with("port 1: flow 7: promised delay: needs 25000000000000 ps, has 24000000000000 ps; would admit a burst of "),
        "{told}"
    );
    assert_eq!(exact.network().flows.len(), 1);
    assert!(exact.release(7) && !exact.release(7));
    assert!(matches!(exact.request(&flow(8, &[0, 1], 60)), Ok(Answer::Admitted(_))));
    let Ok(Answer::Admitted(admitted)) = exact.request(&flow(9, &[0, 1], 26)) else { panic!() };
    assert_eq!((admitted.delay, admitted.method), (Some(Duration::from_seconds(25)), Method::Network));
    let Ok(Answer::Refused(refused)) = exact.request(&flow(10, &[1], 60)) else { panic!() };
    assert_eq!((refused.port, refused.constraint, refused.have, refused.need), (1, Constraint::Rate, 0, 5_000));
    let alone = exact.request(&FlowSpec { target: Some(Target::Delay(Duration::from_seconds(1))), ..flow(11, &[0], 1) }).unwrap();
    assert!(matches!(alone, Answer::Refused(refused) if refused.offers.iter().all(|offer| !matches!(offer, Offer::Delay(_)))));
}
