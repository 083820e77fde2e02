//! What the aids of a connection are worth in a network: HyStart++, tail loss probes, proportional rate reduction, reports of duplicates.

mod networks;

use networks::dumbbell::fifo_of_bytes;
use networks::{flow, link, random_loss};
use tidegate_core::units::Duration;
use tidegate_link::Disturbance;
use tidegate_sim::tcp::{Application, RecoveryKind, Tcp, TransferSize, Transfers};
use tidegate_sim::{Control, Experiment, Holding, LinkId, Network, Outcome, Source, run};

/// 100 Mbit/s and 50 ms there and back.
fn path(buffer: u64, loss: f64, tcp: Tcp) -> Network {
    let delay = Duration::from_milliseconds(25);
    let port = |bytes| fifo_of_bytes(100_000_000, bytes);
    let mut network = Network {
        nodes: vec!["a".into(), "b".into()],
        links: vec![link("there", 0, 1, delay, port(buffer)), link("back", 1, 0, delay, port(1_000_000))],
        flows: vec![flow("tcp", Source::Tcp(Box::new(tcp)), 0, &[0])],
        ..Network::default()
    };
    if loss > 0.0 {
        network.links[0].impairment.loss = random_loss(loss);
    }
    network
}

fn simulate(network: &Network, seconds: u64) -> Outcome {
    let duration = Duration::from_seconds(seconds);
    let experiment = Experiment { duration, warm_up: Duration::ZERO, replications: 2, ..Experiment::default() };
    run(network, &experiment, &Control::default()).unwrap()
}

fn dropped(outcome: &Outcome) -> u64 {
    outcome.ports[0].dropped.iter().map(|volume| volume.packets).sum()
}

fn today() -> Tcp {
    Tcp { segment: 1400, window: 8_000_000, ..Tcp::modern(vec![LinkId(1)]) }
}

#[test]
fn hystart_spares_the_losses_of_a_first_slow_start() {
    // A product of bandwidth and round trip, and two of them.
    for (buffer, fewer) in [(625_000, 2), (1_250_000, 10)] {
        let [with, without] = [true, false].map(|hystart| simulate(&path(buffer, 0.0, Tcp { hystart, ..today() }), 10));
        assert!(dropped(&with) * fewer < dropped(&without), "{buffer}: {} {}", dropped(&with), dropped(&without));
        let [with, without] = [with, without].map(|outcome| outcome.flows[0].tcp.as_ref().unwrap().goodput_bps.mean);
        assert!(with > 0.99 * without, "{buffer}: {with} {without}");
    }
}

#[test]
fn a_probe_finds_the_losses_of_a_tail_before_the_timer() {
    let transfers = Transfers {
        size: TransferSize::Fixed(20_000),
        count: None,
        think: Some(Holding::Exponential { mean: Duration::from_milliseconds(100) }),
        request: None,
        reconnects: false,
    };
    let tcp = Tcp { application: Application::Transfers(transfers), ..today() };
    let timeouts = |tcp| {
        let outcome = simulate(&path(1_000_000, 0.01, tcp), 1000);
        let tcp = outcome.flows[0].tcp.as_ref().unwrap();
        (tcp.timeouts, tcp.recoveries)
    };
    let (today, without) = (timeouts(tcp.clone()), timeouts(Tcp { tail_loss_probe: false, ..tcp.clone() }));
    let earlier = timeouts(Tcp { recovery: RecoveryKind::Sack, ..tcp });
    assert!(today.0 * 4 < without.0 && without.0 * 2 < earlier.0, "{today:?} {without:?} {earlier:?}");
    assert!(today.1 > 500, "{today:?}");
}

#[test]
fn nothing_is_sent_again_that_has_not_been_lost() {
    for (recovery, prr) in [(RecoveryKind::Rack, true), (RecoveryKind::Rack, false), (RecoveryKind::Sack, true)] {
        let outcome = simulate(&path(300_000, 0.0, Tcp { recovery, prr, ..today() }), 60);
        let tcp = outcome.flows[0].tcp.as_ref().unwrap();
        let (sent, lost) = (tcp.retransmissions, dropped(&outcome));
        assert!(lost > 100 && sent >= lost && sent <= lost + lost / 50, "{} {prr}: {sent} for {lost}", recovery.name());
    }
}

#[test]
fn reports_of_duplicates_teach_a_sender_to_wait_for_late_segments() {
    // Of a hundred segments one is late by two others, and one by 20 ms: more than a quarter of the round trip, and less than two.
    let over = |dsack| {
        let mut network = path(1_000_000, 0.0, Tcp { dsack, ..today() });
        network.nodes.push("c".into());
        network.links.push(link("on", 1, 2, Duration::ZERO, fifo_of_bytes(100_000_000, 1_000_000)));
        network.links.push(link("from", 2, 1, Duration::ZERO, fifo_of_bytes(100_000_000, 1_000_000)));
        network.flows[0].path = vec![LinkId(0), LinkId(2)];
        let Source::Tcp(tcp) = &mut network.flows[0].source else { unreachable!() };
        tcp.reverse_path = vec![LinkId(3), LinkId(1)];
        network.links[0].impairment.disturbance = Disturbance::new(10_000_000, Duration::from_milliseconds(20), 0, 1);
        network.links[2].impairment.disturbance = Disturbance::new(10_000_000, Duration::from_microseconds(250), 0, 2);
        let outcome = simulate(&network, 30);
        let tcp = outcome.flows[0].tcp.as_ref().unwrap();
        (tcp.retransmissions, tcp.goodput_bps.mean)
    };
    let (with, without) = (over(true), over(false));
    assert!(with.0 * 2 < without.0 && with.1 > 10.0 * without.1, "{with:?} {without:?}");
}
