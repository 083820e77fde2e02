//! Links that fail and recover, and flows whose packets take several paths: the laws, and figures that are known exactly.

mod failing;
mod networks;
mod traced;

use failing::{CLASSES, any_failures, any_graph, diamond, duplex, failure, micros, with_failures};
use networks::{fifo, flow, random_loss, rate};
use proptest::prelude::*;
use proptest::sample::select;
use tidegate_core::packet::DropReason;
use tidegate_core::port::Volume;
use tidegate_core::units::Duration;
use tidegate_sim::rerouting::reroutes;
use tidegate_sim::routing::{Choice, MOST_PATHS, flow_hash};
use tidegate_sim::source::{Cbr, Greedy, Poisson};
use tidegate_sim::tcp::Tcp;
use tidegate_sim::{
    Control, Experiment, Failure, LengthDistribution, LinkId, Network, NodeId, Origin, Outcome, Reroute, RoutedPath, Source, Step,
    TraceEvent, run,
};
use traced::{Steps, lives_of};

/// A packet of 1000 bytes per millisecond.
fn steady() -> Source {
    Source::Cbr(Cbr { rate: rate(8_000_000), length: 1000, random_phase: false })
}

/// Adds a flow from one node to another by a choice, and returns the paths that are found again.
fn add(network: &mut Network, name: &str, mut source: Source, (from, to): (usize, usize), choose: fn(u64) -> Choice) -> Vec<RoutedPath> {
    let graph = network.graph();
    let number = network.flows.len();
    let mut spec = flow(name, Source::Greedy(Greedy { length: 1, window: 1 }), (number % CLASSES) as u8, &[]);
    let choice = choose(flow_hash(name, &spec.header));
    let find = |from: usize, to: usize| graph.toward(NodeId(to), |_| true).choices(&graph, NodeId(from), choice);
    let mut routed = vec![RoutedPath { flow: number, is_back: false, choice, paths: find(from, to) }];
    if let Source::Tcp(tcp) = &mut source {
        let paths = find(to, from);
        tcp.reverse_path = paths[0].clone();
        routed.push(RoutedPath { flow: number, is_back: true, choice, paths });
    }
    (spec.path, spec.source) = (routed[0].paths[0].clone(), source);
    network.flows.push(spec);
    routed
}

fn seconds(milliseconds: u64) -> Experiment {
    Experiment { duration: Duration::from_milliseconds(milliseconds), ..Experiment::default() }
}

fn simulate(network: &Network, experiment: &Experiment) -> Outcome {
    run(network, experiment, &Control::default()).unwrap()
}

fn packets(packets: u64) -> Volume {
    Volume { packets, bytes: 1000 * packets }
}

#[test]
fn what_a_failure_takes_is_known_to_the_packet() {
    let mut network = diamond();
    let routed = add(&mut network, "flow", steady(), (0, 3), |_| Choice::First);
    network.failures = vec![failure(&[0, 1], 100_500, Some(300_500), 20_000)];
    network.reroutes = reroutes(&network, &routed);
    let over = |links: &[usize]| vec![links.iter().map(|&link| LinkId(link)).collect::<Vec<_>>()];
    let reroute = |at, links: &[usize]| Reroute { at: micros(at), flow: 0, is_back: false, paths: over(links) };
    assert_eq!(network.reroutes, [reroute(120_500, &[4, 6]), reroute(320_500, &[0, 2])]);

    let experiment = Experiment { sample_interval: Some(Duration::from_milliseconds(10)), ..seconds(500) };
    let outcome = simulate(&network, &experiment);
    // A packet is 2.08 ms on a link: those of 99 ms and 100 ms are on it. Those of 101 ms to 120 ms come while routes still lead there.
    let lost = outcome.failures[0].lost;
    assert_eq!((lost.on_link, lost.queued, lost.arrived), (packets(2), packets(0), packets(20)));
    let flow = &outcome.flows[0];
    assert_eq!(flow.drops, [(LinkId(0), DropReason::LinkDown, packets(22))]);
    assert_eq!((flow.offered, flow.unrouted, flow.lost_on_links.len()), (packets(500), packets(0), 0));
    // Those of 496 ms and later have not arrived.
    assert_eq!((flow.delivered, flow.in_network), (packets(500 - 22 - 4), packets(4)));
    // The port has sent those of 0 to 100 and of 321 to 499, and has dropped those that came meanwhile.
    let port = &outcome.ports[0];
    assert_eq!((port.sent, port.dropped[DropReason::LinkDown as usize]), (packets(101 + 179), packets(20)));
    assert_eq!(outcome.ports[4].sent, packets(200));
    // The outage is in the series: 10 ms without a packet, then the other path.
    let series: Vec<f64> = flow.throughput_over_time_bps[9..15].to_vec();
    let per_packet = 8000.0 / 0.01;
    assert_eq!(series, [10.0, 3.0, 0.0, 5.0, 10.0, 10.0].map(|packets| packets * per_packet), "{series:?}");
}

#[test]
fn what_is_queued_at_the_failure_is_lost_and_the_next_packets_after_the_recovery_pass() {
    let mut network = duplex(2, &[(0, 1)]);
    network.links[0].port = fifo(4_000_000, 20);
    network.flows.push(flow("flow", steady(), 0, &[0]));
    network.failures = vec![failure(&[0], 30_100, Some(40_100), 0)];
    let outcome = simulate(&network, &seconds(80));
    // 2 ms for each: at 30.1 ms, 15 have left and the 16th is in transmission; of those that have, the one of 28 ms is on the link, too.
    let lost = outcome.failures[0].lost;
    assert_eq!((lost.on_link, lost.queued, lost.arrived), (packets(2), packets(31 - 16), packets(10)));
    // No path was computed, so the flow stays; from 41 ms on one starts every 2 ms; that of 75 ms is the last to arrive.
    assert_eq!(outcome.flows[0].delivered, packets(14 + 18));
    assert_eq!(outcome.flows[0].drops[0], (LinkId(0), DropReason::LinkDown, packets(27)));
}

#[test]
fn what_would_arrive_after_the_end_is_lost_if_its_link_fails_before() {
    let mut network = duplex(2, &[(0, 1)]);
    network.flows.push(flow("flow", steady(), 0, &[0]));
    let under_way = simulate(&network, &seconds(101)).flows[0].in_network;
    network.failures = vec![failure(&[0], 100_500, None, 0)];
    let outcome = simulate(&network, &seconds(101));
    // Those of 99 ms and 100 ms.
    assert_eq!((under_way, outcome.failures[0].lost.on_link, outcome.flows[0].in_network), (packets(2), packets(2), packets(0)));
}

#[test]
fn an_outage_that_ends_before_it_is_detected_moves_no_route() {
    let mut network = diamond();
    let routed = add(&mut network, "flow", steady(), (0, 3), |_| Choice::First);
    network.failures = vec![failure(&[0], 100_500, Some(110_500), 10_000)];
    assert_eq!(reroutes(&network, &routed), []);
    let outcome = simulate(&network, &seconds(300));
    assert_eq!((outcome.flows[0].drops[0].2, outcome.ports[4].offered), (packets(2 + 10), packets(0)));
}

#[test]
fn a_flow_without_a_path_loses_its_packets_where_they_set_out() {
    let mut network = diamond();
    let routed = add(&mut network, "flow", steady(), (0, 3), |_| Choice::First);
    // Both ways are cut, one by two failures that overlap.
    network.failures = vec![failure(&[2], 100_500, Some(200_500), 1_000), failure(&[2, 6], 150_500, Some(250_500), 1_000)];
    network.reroutes = reroutes(&network, &routed);
    let paths: Vec<(Duration, usize)> = network.reroutes.iter().map(|reroute| (reroute.at, reroute.paths.len())).collect();
    assert_eq!(paths, [(micros(101_500), 1), (micros(151_500), 0), (micros(251_500), 1)]);
    let outcome = simulate(&network, &seconds(400));
    // Those of 152 ms to 251 ms find no path.
    assert_eq!(outcome.flows[0].unrouted, packets(100));
    let places: Vec<(LinkId, Volume)> = outcome.flows[0].drops.iter().map(|drop| (drop.0, drop.2)).collect();
    // Of each link what is on it, and the one packet that comes before routes avoid it: of link 2 those of 96 ms and later.
    assert!(places.iter().all(|(link, lost)| [LinkId(2), LinkId(6)].contains(link) && (3..=6).contains(&lost.packets)), "{places:?}");
    let flow = &outcome.flows[0];
    let dropped: Volume = flow.drops.iter().map(|drop| drop.2).sum();
    assert_eq!(flow.offered, flow.delivered + flow.in_network + flow.unrouted + dropped);
    assert_eq!(outcome.ports.iter().map(|port| port.dropped[DropReason::LinkDown as usize]).sum::<Volume>().packets, 1 + 2 + 1 + 2);
}

#[test]
fn a_failure_that_no_flow_crosses_changes_nothing() {
    let mut network = diamond();
    let mut routed = add(&mut network, "steady", steady(), (0, 3), |_| Choice::First);
    routed.extend(add(&mut network, "tcp", tcp(), (0, 1), Choice::Hash));
    let experiment = Experiment { warm_up: micros(50_000), sample_interval: Some(micros(7_000)), ..seconds(300) };
    let before = simulate(&network, &experiment);
    network.failures = vec![failure(&[4, 5, 6, 7], 20_000, Some(120_000), 5_000), failure(&[3], 10_000, None, 5_000)];
    network.reroutes = reroutes(&network, &routed);
    assert_eq!(network.reroutes, []);
    let mut after = simulate(&network, &experiment);
    after.failures.clear();
    after.replications.iter_mut().for_each(|run| run.failures.clear());
    assert_eq!(format!("{before:?}"), format!("{after:?}"));
}

fn tcp() -> Source {
    Source::Tcp(Box::new(Tcp { segment: 1000, ..Tcp::modern(Vec::new()) }))
}

#[test]
fn a_connection_goes_on_over_another_path() {
    let mut network = diamond();
    let routed = add(&mut network, "tcp", tcp(), (0, 3), |_| Choice::First);
    network.failures = vec![failure(&[0, 1, 2, 3], 500_000, Some(1_500_000), 50_000)];
    network.reroutes = reroutes(&network, &routed);
    // Data and acknowledgements move there and back.
    assert_eq!(network.reroutes.len(), 4);
    let experiment = Experiment { sample_interval: Some(micros(100_000)), ..seconds(2_500) };
    let outcome = simulate(&network, &experiment);
    let flow = &outcome.flows[0];
    let series = &flow.throughput_over_time_bps;
    assert_eq!(series[6], 0.0, "{series:?}");
    assert!(series[14] > 80e6 && series[24] > 80e6, "{series:?}");
    assert!(flow.tcp.as_ref().unwrap().timeouts >= 1);
    let (_, lost) = outcome.replications[0].flows[0].tcp.as_ref().unwrap().acknowledgements;
    assert!(lost.packets > 0, "acknowledgements were on the way");
    // Without a path acknowledgements are lost where they set out, too.
    network.failures.push(failure(&[4, 5, 6, 7], 500_000, Some(1_500_000), 50_000));
    network.reroutes = reroutes(&network, &routed);
    let cut = simulate(&network, &experiment);
    assert!(cut.flows[0].unrouted.packets > 0 && cut.flows[0].throughput_over_time_bps[7..15].iter().all(|&rate| rate == 0.0));
    assert!(cut.flows[0].throughput_over_time_bps[24] > 0.0);
}

#[test]
fn packets_are_spread_evenly_and_lost_where_they_are_lost() {
    // Four paths from 0 to 5, over 1, 2, 3 and 4.
    let mut network = duplex(6, &[(0, 1), (1, 5), (0, 2), (2, 5), (0, 3), (3, 5), (0, 4), (4, 5)]);
    let source = Source::Poisson(Poisson { packets_per_second: 8000.0, length: LengthDistribution::Fixed(1000) });
    let routed = add(&mut network, "spread", source, (0, 5), Choice::Spread);
    assert_eq!(routed[0].paths.len(), 4);
    network.reroutes = reroutes(&network, &routed);
    // The path over 3 loses a tenth.
    network.links[8].impairment.loss = random_loss(0.1);
    // Two last links with other delays: deliveries are counted in the order of time.
    network.links[2].propagation = micros(9_000);
    let experiment = Experiment { replications: 3, sample_interval: Some(micros(100_000)), ..seconds(10_000) };
    let outcome = simulate(&network, &experiment);
    let flow = &outcome.flows[0];
    let shares: Vec<f64> = [0, 4, 8, 12].iter().map(|&link| outcome.ports[link].sent.packets as f64).collect();
    let expected = flow.offered.packets as f64 / 4.0;
    let chi_squared: f64 = shares.iter().map(|share| (share - expected).powi(2) / expected).sum();
    // 0.999 of the distribution with three degrees of freedom.
    assert!(chi_squared < 16.27, "{chi_squared}: {shares:?}");
    assert_eq!(flow.lost_on_links.iter().map(|lost| lost.0).collect::<Vec<_>>(), [LinkId(8)]);
    let lost = flow.lost_on_links[0].1.packets as f64 / shares[2];
    assert!((lost - 0.1).abs() < 0.01, "{lost}");
    assert!(flow.drops.is_empty() && outcome.replications[0].flows[0].reordered > 0);
    // Replications draw others.
    let of_first_link = |run: usize| outcome.replications[run].ports[0].sent.packets;
    assert!(of_first_link(0) != of_first_link(1) || of_first_link(1) != of_first_link(2));
    // A path less: the others have its packets.
    network.failures = vec![failure(&[12], 1, None, 0)];
    network.reroutes = reroutes(&network, &routed);
    assert_eq!(network.reroutes.iter().map(|reroute| reroute.paths.len()).collect::<Vec<_>>(), [4, 3]);
    let outcome = simulate(&network, &experiment);
    assert!((outcome.ports[0].sent.packets as f64 / shares[0] - 4.0 / 3.0).abs() < 0.03);
    assert_eq!(outcome.ports[12].sent.packets, 0);
}

#[test]
fn of_many_paths_some_are_drawn_over_all_first_links() {
    // Three stages of five: 125 paths.
    let mut pairs = Vec::new();
    for middle in 1..=5 {
        pairs.push((0, middle));
        (6..=10).for_each(|next| pairs.push((middle, next)));
        (11..=15).for_each(|last| pairs.push((middle + 5, last)));
        pairs.push((middle + 10, 16));
    }
    let mut network = duplex(17, &pairs);
    let routed = add(&mut network, "spread", steady(), (0, 16), Choice::Spread);
    let paths = &routed[0].paths;
    assert_eq!(paths.len(), MOST_PATHS);
    assert!(paths.iter().all(|path| path.len() == 4) && (1..paths.len()).all(|at| !paths[..at].contains(&paths[at])));
    let mut firsts: Vec<LinkId> = paths.iter().map(|path| path[0]).collect();
    firsts.sort_unstable();
    firsts.dedup();
    assert!(firsts.len() >= 4, "{firsts:?}");
}

/// Over one of the last links a packet takes three times as long as over the other: deliveries are counted in the order of time.
#[test]
fn deliveries_over_several_last_links_are_counted_in_the_order_of_time() {
    let mut network = diamond();
    let routed = add(&mut network, "spread", steady(), (0, 3), Choice::Spread);
    network.reroutes = reroutes(&network, &routed);
    network.links[6].propagation = micros(6_200);
    let steps = Steps::default();
    run(&network, &seconds(500), &Control { tracer: Some(&steps), ..Control::default() }).unwrap();
    let mut delivered: Vec<(u64, u64)> = Vec::new();
    for event in steps.0.lock().unwrap().iter().filter(|event| event.step == Step::Delivered) {
        delivered.push((event.at.picoseconds(), event.created.picoseconds()));
    }
    delivered.sort_unstable();
    let mut latest = 0;
    let mut overtaken = 0;
    for (_, created) in delivered {
        overtaken += u64::from(created < latest);
        latest = latest.max(created);
    }
    assert!(overtaken > 100, "{overtaken}");
    assert_eq!(simulate(&network, &seconds(500)).replications[0].flows[0].reordered, overtaken);
}

fn any_choice() -> impl Strategy<Value = fn(u64) -> Choice> {
    let first: fn(u64) -> Choice = |_| Choice::First;
    select(vec![first, Choice::Hash, Choice::Spread])
}

/// The least weight from a node to another over the links that are usable: Bellman and Ford's algorithm. `None` if there is no path.
fn distance(network: &Network, from: NodeId, to: NodeId, is_usable: impl Fn(usize) -> bool) -> Option<u64> {
    let mut distances = vec![u64::MAX; network.nodes.len()];
    distances[from.0] = 0;
    for _ in 0..network.nodes.len() {
        for (index, link) in network.links.iter().enumerate().filter(|(index, _)| is_usable(*index)) {
            let longer = distances[link.from.0].saturating_add(u64::from(network.weights[index]));
            distances[link.to.0] = distances[link.to.0].min(longer);
        }
    }
    Some(distances[to.0]).filter(|&distance| distance != u64::MAX)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// At every instant each flow has all first paths that are left, or shortest paths over the links that are not avoided, or none if there is none.
    #[test]
    fn routes_are_the_shortest_over_what_is_left(
        network in any_graph(), ends in prop::collection::vec((0usize..4, 0usize..4), 1..6), choose in any_choice(), failures in any_failures(),
    ) {
        let mut network = network;
        let mut routed = Vec::new();
        for (index, (from, to)) in ends.into_iter().filter(|(from, to)| from != to).enumerate() {
            routed.extend(add(&mut network, &format!("flow {index}"), tcp(), (from, to), choose));
        }
        with_failures(&mut network, failures);
        let all = reroutes(&network, &routed);
        let mut instants: Vec<Duration> = network.failures.iter().filter_map(Failure::avoided)
            .flat_map(|(from, until)| [Some(from), until]).flatten().collect();
        instants.push(Duration::ZERO);
        for now in instants {
            let avoids = |link: usize| network.failures.iter().any(|failure| {
                let avoided = failure.avoided().filter(|_| failure.links.contains(&LinkId(link)));
                avoided.is_some_and(|(from, until)| from <= now && until.is_none_or(|until| now < until))
            });
            for path in &routed {
                let latest = all.iter().rfind(|reroute| (reroute.flow, reroute.is_back) == (path.flow, path.is_back) && reroute.at <= now);
                let paths = latest.map_or(&path.paths, |reroute| &reroute.paths);
                let (from, to) = (network.links[path.paths[0][0].0].from, network.links[path.paths[0].last().unwrap().0].to);
                let least = distance(&network, from, to, |link| !avoids(link));
                let weight = |links: &Vec<LinkId>| links.iter().map(|link| u64::from(network.weights[link.0])).sum::<u64>();
                prop_assert_eq!(paths.is_empty(), least.is_none());
                prop_assert!(paths.iter().all(|links| links.iter().all(|link| !avoids(link.0)) && Some(weight(links)) == least));
                let left = path.paths.iter().filter(|links| links.iter().all(|link| !avoids(link.0)));
                prop_assert!(left.clone().count() == 0 || left.eq(paths), "the flow keeps what is left");
            }
        }
        network.reroutes = all;
        prop_assert_eq!(network.check(), Ok(()));
    }

    /// The books balance, the same failure gives the same outcome, and no packet crosses a link while it is down.
    #[test]
    fn failures_lose_packets_and_nothing_else(
        network in any_graph(), choose in any_choice(), failures in any_failures(), seed: u64, warm_up in 0u64..400,
        flows in prop::collection::vec((0usize..4, 0usize..4, 0usize..4, 100u32..1400), 1..8),
    ) {
        let mut network = network;
        let mut routed = Vec::new();
        for (index, (kind, from, to, length)) in flows.into_iter().filter(|(_, from, to, _)| from != to).enumerate() {
            let source = match kind {
                0 => Source::Cbr(Cbr { rate: rate(1_000_000), length, random_phase: true }),
                1 => Source::Poisson(Poisson { packets_per_second: 200.0, length: LengthDistribution::Fixed(length) }),
                2 => Source::Greedy(Greedy { length, window: 3 }),
                _ => tcp(),
            };
            let found = add(&mut network, &format!("flow {index}"), source, (from, to), choose);
            // Some flows have a path of their own, which they keep.
            if index % 4 != 3 || found[0].paths.len() > 1 {
                routed.extend(found);
            }
        }
        with_failures(&mut network, failures);
        network.reroutes = reroutes(&network, &routed);
        let experiment = Experiment { warm_up: Duration::from_milliseconds(warm_up), seed, replications: 2, ..seconds(500) };
        // A port or a flow whose books do not balance is an error already.
        let outcome = run(&network, &experiment, &Control::default()).unwrap();
        for (port, link) in outcome.ports.iter().zip(&network.links) {
            let dropped: u64 = port.dropped.iter().map(|volume| volume.packets).sum();
            prop_assert_eq!(port.offered.packets, port.sent.packets + dropped + port.queued.packets, "{}", link.name);
        }
        let steps = Steps::default();
        let first = Experiment { replications: 1, ..experiment };
        let mut traced = run(&network, &first, &Control { tracer: Some(&steps), ..Control::default() }).unwrap();
        let mut plain = run(&network, &first, &Control::default()).unwrap();
        // A port that is computed ahead knows of packets that leave it after the end.
        traced.flows.iter_mut().chain(&mut plain.flows).for_each(|flow| flow.longest = None);
        prop_assert_eq!(format!("{:?}", (&traced.flows, &traced.ports, &traced.failures)), format!("{:?}", (&plain.flows, &plain.ports, &plain.failures)));
        crosses_nothing(&network, &steps.0.into_inner().unwrap())?;
    }
}

/// No packet is on a link at any instant of an outage, and none starts. Packets of sources that send several at once are not told apart, and are left out.
fn crosses_nothing(network: &Network, steps: &[TraceEvent]) -> Result<(), TestCaseError> {
    for life in lives_of(steps).values() {
        let is_told_apart =
            matches!(life[0].origin, Origin::Flow(flow) if matches!(network.flows[flow].source, Source::Cbr(_) | Source::Poisson(_)));
        if !is_told_apart || life.iter().any(|event| event.step == Step::Copied) {
            continue;
        }
        for pair in life.windows(2) {
            let (Step::Started { .. }, Some(link)) = (pair[0].step, pair[0].link) else { continue };
            let [start, arrival] = [pair[0].at, pair[1].at].map(|at| at.picoseconds());
            for failure in network.failures.iter().filter(|failure| failure.links.contains(&link)) {
                let (fails, recovers) = (failure.at.picoseconds(), failure.until.map_or(u64::MAX, |until| until.picoseconds()));
                let is_down_meanwhile = start < recovers && fails <= arrival;
                let is_lost = pair[1].step == Step::Lost && arrival == fails;
                prop_assert!(!is_down_meanwhile || is_lost || (pair[1].step == Step::Lost && start < fails), "{:?} {:?}", pair, failure);
                prop_assert!(start < fails || start >= recovers, "{:?} starts on a link that is down", pair);
            }
        }
    }
    Ok(())
}
