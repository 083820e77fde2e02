//! No packet of a slow model of whole networks is later than its flow's bound: store-and-forward ports with priorities, paths with and without
//! cycles, and adversarial phases.

use proptest::prelude::*;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use tidegate_bounds::curve::Service;
use tidegate_bounds::end_to_end::EndToEnd;
use tidegate_bounds::network::{Flow, Network, Rules, Server, Serving, total_flow};

/// Picoseconds per bit of each link, of 10^9 bit/s.
const BIT: i128 = 1_000;

/// Bits per second of each link.
const LINK: u64 = 1_000_000_000;

/// A flow: its packets have one length in bits, and keep to `burst` and `rate`.
#[derive(Clone, Debug)]
struct Source {
    length: i128,
    burst: i128,
    rate: i128,
    class: usize,
    path: Vec<usize>,
    begin: i128,
}

impl Source {
    /// Its packets, each as early as its bucket allows.
    fn packets(&self, until: i128) -> Vec<i128> {
        let (needed, full) = (self.length * 1_000_000_000_000, self.burst * 1_000_000_000_000);
        let (mut time, mut tokens, mut all) = (self.begin, full, Vec::new());
        while time < until {
            if tokens < needed {
                let wait = (needed - tokens + self.rate - 1) / self.rate;
                (time, tokens) = (time + wait, full.min(tokens + self.rate * wait));
                continue;
            }
            tokens -= needed;
            all.push(time);
        }
        all
    }
}

/// Runs the packets through ports of strict priority with first in first out queues. Returns the largest delay of each flow.
fn run(ports: usize, classes: usize, sources: &[Source], until: i128) -> Vec<i128> {
    // Events in order of time: a packet arrives at a hop, or a port has sent one. Departures come first.
    let mut events = BinaryHeap::new();
    let mut count = 0;
    for (flow, source) in sources.iter().enumerate() {
        for time in source.packets(until) {
            events.push(Reverse((time, 1, count, flow, 0, time)));
            count += 1;
        }
    }
    let mut queues: Vec<Vec<VecDeque<(usize, usize, i128)>>> = vec![vec![VecDeque::new(); classes]; ports];
    let mut is_sending = vec![false; ports];
    let mut worst = vec![0; sources.len()];
    while let Some(Reverse((time, kind, _, flow, hop, born))) = events.pop() {
        let port = sources[flow].path[hop];
        if kind == 1 {
            queues[port][sources[flow].class].push_back((flow, hop, born));
        } else {
            is_sending[port] = false;
            if hop + 1 < sources[flow].path.len() {
                events.push(Reverse((time, 1, count, flow, hop + 1, born)));
                count += 1;
            } else {
                worst[flow] = worst[flow].max(time - born);
            }
        }
        // Ports that are free look at their queues when all that comes at this instant has come.
        if events.peek().is_some_and(|Reverse(next)| next.0 == time) {
            continue;
        }
        for (is_sending, queues) in is_sending.iter_mut().zip(&mut queues).filter(|(is_sending, _)| !**is_sending) {
            if let Some((flow, hop, born)) = queues.iter_mut().find_map(VecDeque::pop_front) {
                *is_sending = true;
                events.push(Reverse((time + sources[flow].length * BIT, 0, count, flow, hop, born)));
                count += 1;
            }
        }
    }
    worst
}

/// The network of the calculus: a server per port and class.
fn network(ports: usize, classes: usize, sources: &[Source]) -> Network {
    let servers = (0..ports * classes).map(|server| {
        let (port, class) = (server / classes, server % classes);
        let longest = |other: &dyn Fn(usize) -> bool| {
            let here = sources.iter().filter(|source| source.path.contains(&port) && other(source.class));
            here.map(|source| source.length as u64).max().unwrap_or(0)
        };
        let service = Service::link(LINK);
        let queue = Server::packets(service.clone(), true, LINK, longest(&|other| other == class));
        let higher = (0..class).map(|other| port * classes + other).collect();
        Server { serving: Serving::Below { port: service, higher, lower: longest(&|other| other > class) }, ..queue }
    });
    let flows = sources.iter().map(|source| Flow {
        shortest: source.length as u64,
        ..Flow::fluid(source.burst as u64, source.rate as u64, source.path.iter().map(|port| port * classes + source.class).collect())
    });
    Network { servers: servers.collect(), flows: flows.collect() }
}

/// Up to eight flows over two to five ports; the load of each port is at most `load` percent.
fn sources(rises: bool) -> impl Strategy<Value = (usize, Vec<Source>)> {
    let flow = (1i128..13, 1i128..4, 0usize..2, proptest::sample::subsequence(vec![0usize, 1, 2, 3, 4], 1..=5).prop_shuffle(), 0i128..60);
    (2usize..6, proptest::collection::vec(flow, 1..9), 30i128..95).prop_map(move |(ports, flows, load)| {
        let mut sources: Vec<Source> = flows
            .into_iter()
            .map(|(length, packets, class, mut path, begin)| {
                path.retain(|&port| port < ports);
                if rises {
                    path.sort_unstable();
                }
                if path.is_empty() {
                    path.push(0);
                }
                let length = length * 1_000;
                Source { length, burst: length * packets, rate: 0, class, path, begin: begin * 1_000 * BIT }
            })
            .collect();
        let uses = |port: usize| sources.iter().filter(|source| source.path.contains(&port)).count() as i128;
        let most = (0..ports).map(uses).max().unwrap_or(1);
        sources.iter_mut().for_each(|source| source.rate = i128::from(LINK) * load / 100 / most);
        (ports, sources)
    })
}

fn check(ports: usize, sources: &[Source]) -> Result<f64, TestCaseError> {
    let network = network(ports, 2, sources);
    let Ok(bounds) = EndToEnd::new(&network) else { return Ok(0.0) };
    let quick: Vec<i128> = (0..sources.len()).map(|flow| bounds.quick(flow).unwrap().0).collect();
    let bounds = bounds.descend().unwrap();
    let worst = run(ports, 2, sources, 200_000 * BIT);
    let mut ratio = 0f64;
    for (flow, &measured) in worst.iter().enumerate() {
        let bound = bounds.flow(flow).map_err(|reason| TestCaseError::fail(reason.to_string()))?;
        for (method, delay) in bound.all.iter().enumerate() {
            if let Ok(delay) = delay {
                prop_assert!(measured <= *delay, "flow {flow}, method {method}: measured {measured}, bound {delay}");
            }
        }
        prop_assert!(bound.delay <= quick[flow]);
        ratio = ratio.max(measured as f64 / bound.delay as f64);
    }
    Ok(ratio)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: ProptestConfig::default().cases / 2, ..ProptestConfig::default() })]

    #[test]
    fn no_packet_is_later_than_any_bound((ports, sources) in sources(true)) {
        check(ports, &sources)?;
    }

    #[test]
    fn no_packet_of_a_cycle_is_later_than_any_bound((ports, sources) in sources(false)) {
        check(ports, &sources)?;
    }

    /// More burst, rate or traffic never lowers a bound; more of the link never raises one.
    #[test]
    fn bounds_are_monotone((ports, sources) in sources(false), which in 0usize..8, change in 0usize..3) {
        let mut more = sources.clone();
        let at = which % more.len();
        match change {
            0 => more[at].burst += 2_000,
            1 => more[at].rate += more[at].rate / 50,
            _ => {
                let other = more[at].clone();
                more.push(Source { rate: other.rate / 50, ..other });
            }
        }
        let (less, more) = (network(ports, 2, &sources), network(ports, 2, &more));
        let of = |network: &Network| total_flow(network, Rules { group: false, line: true });
        if let (Ok(less), Ok(more)) = (of(&less), of(&more)) {
            prop_assert!(less.delays.iter().zip(&more.delays).all(|(less, more)| less <= more));
        }
        let mut faster = less.clone();
        for server in &mut faster.servers {
            if let Serving::Below { port, .. } = &mut server.serving {
                *port = Service::link(2 * LINK);
            }
        }
        let slow = of(&less);
        if let (Ok(slow), Ok(fast)) = (slow, of(&faster)) {
            prop_assert!(fast.delays.iter().zip(&slow.delays).all(|(fast, slow)| fast <= slow));
        }
    }
}

/// On one port the worst case is reached; over three the bound of a lone flow is not far off.
#[test]
fn the_search_is_sharp_where_the_bound_is() {
    let source = |length: i128, class: usize, path: &[usize]| Source {
        length: length * 1_000,
        burst: length * 2_000,
        rate: i128::from(LINK) / 5,
        class,
        path: path.to_vec(),
        begin: i128::from(class == 0),
    };
    let sources = [source(4, 0, &[0]), source(12, 0, &[0]), source(8, 1, &[0])];
    // A packet of the lower class has just begun.
    assert!(check(1, &sources).unwrap() > 0.999);
    let alone = [source(4, 0, &[0, 1, 2])];
    assert!(check(3, &alone).unwrap() > 0.6);
}
