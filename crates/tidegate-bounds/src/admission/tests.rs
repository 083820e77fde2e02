//! Laws of admission: atomic requests, exact releases, offers that hold, and budgets that total flow analysis confirms.

use super::*;
use crate::curve::Service;
use crate::end_to_end::Method;
use crate::network::{Flow, Network, Rules, Server, Serving, total_flow};
use crate::quantity::Picoseconds;
use crate::service::{Child, Node};
use proptest::prelude::*;
use tidegate_core::admission::TrafficSpec;
use tidegate_core::registry::SchedulerKind;
use tidegate_core::units::{Duration, Rate};

/// Picoseconds.
const MS: Picoseconds = 1_000_000_000;

fn port(discipline: Discipline, budgets: &[i128]) -> PortSettings {
    PortSettings { rate: 10_000_000, longest: 1_000, discipline, budgets: budgets.iter().map(|ms| ms * MS).collect(), buffer: 300_000 }
}

fn flow(id: u64, path: &[u32], class: u16, burst: u64, rate: u64) -> Request<'_> {
    Request { id, path, class, burst, rate, longest: 1_000, shortest: 1_000, target: 1_000 * MS, propagation: MS }
}

#[test]
fn a_refusal_says_what_is_short_and_what_would_do() {
    let mut network = Budgets::new(vec![port(Discipline::StrictPriority, &[5, 20]); 2]);
    let admitted = network.request(&flow(1, &[0, 1], 0, 20_000, 1_000_000)).unwrap();
    assert_eq!(admitted.delay, 11 * MS);
    // At the second port the burst has grown by 1 Mbit/s for 5 ms less 0.1 ms.
    assert_eq!(admitted.hops[1], Hop { port: 1, budget: 5 * MS, buffer: 29_900 });
    let second = flow(2, &[0, 1], 0, 40_000, 1_000_000);
    let refused = network.request(&second).unwrap_err();
    assert_eq!(refused.to_string(), "port 0: class 0 has a budget of 5000000000 ps, and would need 6100000000 ps");
    let offers = network.offers(&second, &[&[1], &[0]]);
    // The second port has 50 kbit per 5 ms, of which 24.9 kbit and one packet are gone, and 4.9 kbit is what the burst grows.
    assert_eq!(offers, [Offer::Burst(19_200), Offer::Class(1)]);
    assert_eq!(offers[0].to_string(), "shaped to a burst of 19200 bit");
    let late = Request { target: 10 * MS, ..flow(3, &[0, 1], 0, 1_000, 1_000) };
    assert_eq!(network.request(&late).unwrap_err().constraint, Constraint::Target);
    assert_eq!(network.offers(&late, &[])[0], Offer::Target(11 * MS));
    let fast = flow(4, &[0], 0, 1_000, 9_500_000);
    assert_eq!(network.request(&fast).unwrap_err().constraint, Constraint::Rate(0));
    assert!(matches!(network.offers(&fast, &[])[0], Offer::Rate(9_000_000)));
    for wrong in [flow(1, &[0], 0, 1_000, 1), flow(5, &[], 0, 1_000, 1), flow(5, &[7], 0, 1_000, 1), flow(5, &[0, 0], 0, 1_000, 1)] {
        assert!(matches!(network.request(&wrong).unwrap_err().constraint, Constraint::Meaning(_)));
    }
    assert!(network.release(1) && !network.release(1) && network.request(&second).is_ok());
}

fn disciplines() -> impl Strategy<Value = Discipline> {
    prop_oneof![
        Just(Discipline::StrictPriority),
        Just(Discipline::Isolated(vec![Service::rate_latency(6_000_000, MS), Service::rate_latency(4_000_000, 2 * MS)])),
        Just(Discipline::Deadline(vec![4 * MS, 15 * MS])),
    ]
}

proptest! {
    #[test]
    fn admission_keeps_its_laws(
        discipline in disciplines(),
        steps in proptest::collection::vec((any::<bool>(), 0u8..12, 0u16..2, 1_000u64..30_000, 1_000u64..2_000_000), 1..60),
    ) {
        let paths: [&[u32]; 4] = [&[0, 1, 2], &[1, 2, 0], &[2, 0], &[1]];
        let mut network = Budgets::new(vec![port(discipline.clone(), &[5, 20]); 3]);
        let empty = network.clone();
        let mut held: Vec<(Request<'_>, Admitted)> = Vec::new();
        for (id, (comes, which, class, burst, rate)) in (0u64..).zip(steps) {
            if comes || held.is_empty() {
                let request = flow(id, paths[usize::from(which) % 4], class, burst, rate);
                let before = format!("{:?}", network.ports());
                match network.request(&request) {
                    Ok(admitted) => held.push((request, admitted)),
                    Err(_) => {
                        prop_assert_eq!(before, format!("{:?}", network.ports()));
                        for offer in network.offers(&request, &paths) {
                            let changed = match offer {
                                Offer::Target(target) => Request { target, ..request },
                                Offer::Burst(burst) => Request { burst, ..request },
                                Offer::Rate(rate) => Request { rate, ..request },
                                Offer::Class(class) => Request { class, ..request },
                                Offer::Path(path) => Request { path: paths[path], ..request },
                            };
                            prop_assert!(network.clone().request(&changed).is_ok(), "{offer:?}");
                        }
                    }
                }
            } else {
                let (request, _) = held.swap_remove(usize::from(which) % held.len());
                prop_assert!(network.release(request.id));
            }
            for (port, class) in [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)] {
                let used = held.iter().any(|(request, _)| request.class == class && request.path.contains(&port));
                prop_assert!(!used || network.delay(port, class).unwrap() <= [5, 20][usize::from(class)] * MS);
            }
        }
        // Total flow analysis of what is admitted, in a network with cycles, is within the budgets.
        if discipline == Discipline::StrictPriority {
            let serving = |server: usize| Serving::Below {
                port: Service::link(10_000_000),
                higher: if server % 2 == 1 { vec![server - 1] } else { Vec::new() },
                lower: 1_000,
            };
            let servers = (0..6).map(|server| Server { serving: serving(server), ..Server::packets(Service::link(1), true, 10_000_000, 1_000) });
            let flows = held.iter().map(|(request, _)| Flow {
                shortest: 1_000,
                ..Flow::fluid(request.burst, request.rate, request.path.iter().map(|&port| 2 * port as usize + usize::from(request.class)).collect())
            });
            let whole = Network { servers: servers.collect(), flows: flows.collect() };
            let total = total_flow(&whole, Rules::ALL).unwrap();
            for (number, (_, admitted)) in held.iter().enumerate() {
                prop_assert!(total.delay(&whole, number).unwrap() + MS <= admitted.delay);
            }
        }
        for (request, _) in held.drain(..) {
            prop_assert!(network.release(request.id));
        }
        prop_assert_eq!(format!("{:?}", network.ports()), format!("{:?}", empty.ports()));
    }
}

#[test]
fn the_exact_network_names_the_promise_that_would_break() {
    let server = Server::fluid(Service::rate_latency(10, 10_000 * MS));
    let mut exact = Exact::new(Network { servers: vec![server; 2], flows: Vec::new() });
    let flow = |path: Vec<usize>| Flow::fluid(25, 5, path);
    let promise = |id, s: i128| Promise { id, delay: s * 1_000 * MS };
    exact.request(flow(vec![0, 1]), promise(7, 24)).unwrap();
    let refused = exact.request(flow(vec![0, 1]), promise(8, 60)).unwrap_err();
    assert_eq!((refused.constraint, refused.have), (Constraint::Promise(7), 24_000 * MS));
    // By a linear program of both servers; what the others leave at each would give 36.25 s.
    assert_eq!(refused.to_string(), "flow 7 was promised 24000000000000 ps, and would need 25000000000000 ps");
    assert_eq!(exact.network().flows.len(), 1);
    assert!(exact.release(7) && !exact.release(7));
    exact.request(flow(vec![0, 1]), promise(8, 60)).unwrap();
    assert_eq!(exact.request(flow(vec![0, 1]), promise(9, 26)).unwrap(), (25_000 * MS, Method::Program));
    assert!(exact.request(flow(vec![1]), promise(10, 60)).is_err());
}

#[test]
fn terms_of_guaranteed_service_per_scheduler() {
    let children = vec![Child { rate: 1_500_000, quantum: 1_000, ..Child::new(1_000) }; 6];
    let terms = |kind| error_terms(&Node::new(kind, 10_000_000, children.clone()), &Service::link(10_000_000), 0, 1_000);
    let expect = |bits: u64, us: u64| tidegate_core::admission::ErrorTerms {
        rate_dependent: bits,
        rate_independent: Duration::from_microseconds(us),
    };
    assert_eq!(terms(SchedulerKind::Wf2qPlus), Ok(expect(1_000, 100)));
    assert_eq!(terms(SchedulerKind::SelfClocked), Ok(expect(1_000, 500)));
    assert_eq!(terms(SchedulerKind::WeightedRoundRobin), Ok(expect(0, 500)));
    assert!(terms(SchedulerKind::EarliestDeadlineFirst).is_err());
    // Four hops of fair queueing: 10 ms need 1,908,996 bit/s of a flow that may send its 15 kbit at the link's rate.
    let rate = |rate: u64| Rate::new(rate).unwrap();
    let traffic = TrafficSpec::new(1_000, 15_000, rate(1_500_000), rate(10_000_000)).unwrap();
    let hop = terms(SchedulerKind::Wf2qPlus).unwrap();
    let path = (0..4).fold(tidegate_core::admission::ErrorTerms::default(), |sum, _| sum.plus(hop));
    assert_eq!(path.rate_needed(&traffic, Duration::from_milliseconds(10)), Some(1_908_996));
}
