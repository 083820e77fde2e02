//! Congestion controls that reduce the window by the share of marks, over a link that marks above a threshold.

use super::networks::dumbbell::fifo_of_bytes;
use super::networks::{flow, link};
use super::{connection, goodput, pair, simulate};
use tidegate_core::aqm::{AqmParameters, AqmSetup};
use tidegate_core::registry::AqmKind;
use tidegate_core::units::Duration;
use tidegate_sim::statistics::jain;
use tidegate_sim::tcp::{CongestionKind, EcnMode, RecoveryKind, Tcp};
use tidegate_sim::{LinkId, Network, Outcome, Source};

/// A connection with its usual recovery and echo.
fn usual(congestion: CongestionKind, back: usize) -> Tcp {
    Tcp {
        congestion,
        recovery: RecoveryKind::USUAL,
        ecn: congestion.default_ecn(),
        window: 4 << 20,
        segment: 1024,
        headers: 42,
        ..Tcp::modern(vec![LinkId(back)])
    }
}

/// One connection over a link that marks above `threshold` bytes.
fn over_a_step(bits_per_second: u64, one_way: Duration, threshold: u64, tcp: Tcp) -> Network {
    let mut network = pair(bits_per_second, one_way, 4_000_000, tcp);
    network.links[0].impairment.mark_above = Some(threshold);
    network
}

fn utilisation(outcome: &Outcome, bits_per_second: f64) -> f64 {
    // Of a frame of 1066 bytes, 1024 are data.
    goodput(outcome) * 1066.0 / 1024.0 / bits_per_second
}

/// Connections by their one-way delays over one link that marks above a threshold.
fn shared(bits_per_second: u64, threshold: u64, delays: &[u64], congestion: CongestionKind) -> Network {
    let port = |rate| fifo_of_bytes(rate, 4_000_000);
    let mut network = Network { nodes: vec!["left".into(), "right".into()], ..Network::default() };
    network.links.push(link("bottleneck", 0, 1, Duration::ZERO, port(bits_per_second)));
    network.links[0].impairment.mark_above = Some(threshold);
    for (at, &delay) in delays.iter().enumerate() {
        let (node, there, back) = (network.nodes.len(), network.links.len(), network.links.len() + 1);
        network.nodes.push(format!("sender {at}"));
        network.links.push(link(&format!("there {at}"), node, 0, Duration::from_milliseconds(delay), port(10 * bits_per_second)));
        network.links.push(link(&format!("back {at}"), 1, node, Duration::from_milliseconds(delay), port(10 * bits_per_second)));
        let tcp = usual(congestion, back);
        network.flows.push(flow(&format!("tcp {at}"), Source::Tcp(Box::new(tcp)), 0, &[there, 0]));
    }
    network
}

fn rates(outcome: &Outcome) -> Vec<f64> {
    outcome.flows.iter().map(|flow| flow.tcp.as_ref().unwrap().goodput_bps.mean).collect()
}

#[test]
fn dctcp_keeps_the_link_busy_with_a_seventh_of_the_product_of_rate_and_round_trip() {
    // 100 Mbit/s and 8 ms: 100 kB; RFC 8257 wants more than a seventh.
    let network = |tcp| over_a_step(100_000_000, Duration::from_milliseconds(4), 20_000, tcp);
    let outcome = simulate(&network(usual(CongestionKind::Dctcp, 1)), 30, 10, 1);
    assert_eq!(connection(&outcome, 0).retransmissions, 0);
    assert!(utilisation(&outcome, 1e8) > 0.98, "{}", utilisation(&outcome, 1e8));
    assert!(outcome.ports[0].occupancy_mean_bytes.mean < 22_000.0, "{}", outcome.ports[0].occupancy_mean_bytes.mean);
    // Reno halves its window at each mark, which empties the queue.
    let reno = Tcp { ecn: EcnMode::Classic, ..usual(CongestionKind::Reno, 1) };
    assert!(utilisation(&simulate(&network(reno), 30, 10, 1), 1e8) < 0.93);
}

#[test]
fn prague_fills_the_link_with_a_queue_of_a_millisecond() {
    // 40 Mbit/s and 25 ms, as in the evaluations of DualPI2; 5 kB are a millisecond.
    let network = over_a_step(40_000_000, Duration::from_microseconds(12_500), 5_000, usual(CongestionKind::Prague, 1));
    let outcome = simulate(&network, 60, 20, 1);
    let used = utilisation(&outcome, 4e7);
    assert!(used > 0.95, "{used}");
    let delay = outcome.flows[0].delay.as_ref().unwrap().histogram.quantile(0.99).unwrap() - 0.0125;
    assert!(delay < 2.5e-3, "{delay}");
    assert_eq!(connection(&outcome, 0).retransmissions, 0);
}

#[test]
fn prague_shares_by_round_trips_of_25_ms_or_more_and_dctcp_by_round_trips() {
    let share = |congestion| {
        let outcome = simulate(&shared(40_000_000, 5_000, &[2, 12], congestion), 90, 50, 1);
        let rates = rates(&outcome);
        (rates[0] / rates[1], jain(&rates).unwrap())
    };
    let (prague, fair) = share(CongestionKind::Prague);
    assert!((0.6..1.7).contains(&prague) && fair > 0.93, "{prague} {fair}");
    let (dctcp, _) = share(CongestionKind::Dctcp);
    assert!(dctcp > 2.5, "{dctcp}");
}

#[test]
fn an_aqm_of_the_port_marks_the_segments_of_a_connection_and_drops_others() {
    let network = |ecn| {
        let mut network = pair(10_000_000, Duration::from_milliseconds(20), 400_000, Tcp { ecn, ..usual(CongestionKind::Reno, 1) });
        let port = &mut network.links[0].port;
        let setup = AqmSetup { flows: 1, rate: port.rate, longest_frame: port.longest_frame };
        port.aqms = vec![Some(AqmKind::CoDel.build(&setup, &AqmParameters::default()).unwrap())];
        network
    };
    let (marked, dropped) = (simulate(&network(EcnMode::Classic), 60, 20, 1), simulate(&network(EcnMode::Off), 60, 20, 1));
    assert!(connection(&marked, 0).marks > 5);
    assert_eq!(connection(&marked, 0).retransmissions, 0);
    assert!(connection(&dropped, 0).retransmissions > 5);
    for outcome in [&marked, &dropped] {
        assert!(outcome.ports[0].occupancy_mean_bytes.mean < 25_000.0, "{}", outcome.ports[0].occupancy_mean_bytes.mean);
        assert!(utilisation(outcome, 1e7) > 0.75, "{}", utilisation(outcome, 1e7));
    }
}

#[test]
fn at_a_port_of_one_class_the_threshold_of_a_link_is_the_step_of_an_aqm() {
    let cases = [
        (CongestionKind::Dctcp, EcnMode::Dctcp, 20_000),
        (CongestionKind::Prague, EcnMode::L4s, 5_000),
        (CongestionKind::Reno, EcnMode::Classic, 30_000),
    ];
    for (congestion, ecn, threshold) in cases {
        let tcp = || Tcp { ecn, ..usual(congestion, 1) };
        let by_link = over_a_step(40_000_000, Duration::from_milliseconds(5), threshold, tcp());
        let mut by_aqm = over_a_step(40_000_000, Duration::from_milliseconds(5), threshold, tcp());
        by_aqm.links[0].impairment.mark_above = None;
        let port = &mut by_aqm.links[0].port;
        let setup = AqmSetup { flows: 1, rate: port.rate, longest_frame: port.longest_frame };
        let step = AqmParameters { mark_above: Some(threshold), ..AqmParameters::default() };
        port.aqms = vec![Some(AqmKind::Step.build(&setup, &step).unwrap())];
        let [by_link, by_aqm] = [by_link, by_aqm].map(|network| simulate(&network, 20, 5, 1));
        assert!(by_link.ports[0].classes[0].ce_marked.packets > 5, "{congestion:?}");
        assert_eq!((&by_link.flows, &by_link.ports), (&by_aqm.flows, &by_aqm.ports), "{congestion:?}");
    }
}

#[test]
fn where_a_classic_queue_marks_the_fallback_leaves_cubic_its_share() {
    // One queue of PIE, which marks both kinds alike.
    let over = |classic_fallback, first: CongestionKind| {
        let mut network = shared(40_000_000, 0, &[12, 12], CongestionKind::Cubic);
        let port = &mut network.links[0].port;
        let setup = AqmSetup { flows: 1, rate: port.rate, longest_frame: port.longest_frame };
        port.aqms = vec![Some(AqmKind::Pie.build(&setup, &AqmParameters::default()).unwrap())];
        network.links[0].impairment.mark_above = None;
        for flow in &mut network.flows {
            let Source::Tcp(tcp) = &mut flow.source else { unreachable!() };
            tcp.ecn = EcnMode::Classic;
        }
        let Source::Tcp(tcp) = &mut network.flows[0].source else { unreachable!() };
        (tcp.congestion, tcp.classic_fallback) = (first, classic_fallback);
        tcp.ecn = if first == CongestionKind::Prague { EcnMode::L4s } else { EcnMode::Classic };
        let rates = rates(&simulate(&network, 60, 20, 1));
        rates[0] / rates[1]
    };
    let (scales, falls_back, cubic) =
        (over(false, CongestionKind::Prague), over(true, CongestionKind::Prague), over(false, CongestionKind::Cubic));
    assert!(scales > 4.0, "{scales}");
    assert!((0.5..2.5).contains(&falls_back), "{falls_back}");
    assert!((0.6..1.7).contains(&cubic), "{cubic}");
}

#[test]
fn a_queue_for_low_latency_does_not_make_prague_fall_back() {
    let outcome = |classic_fallback| {
        let tcp = Tcp { classic_fallback, ..usual(CongestionKind::Prague, 1) };
        simulate(&over_a_step(40_000_000, Duration::from_microseconds(12_500), 5_000, tcp), 60, 0, 1)
    };
    let (plain, watched) = (outcome(false), outcome(true));
    assert!(connection(&plain, 0).marks > 100);
    assert_eq!((&plain.flows, &plain.ports), (&watched.flows, &watched.ports));
}
