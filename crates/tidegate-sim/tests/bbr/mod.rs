//! BBR version 3 over links.

use super::networks::random_loss;
use super::{connection, goodput, over_a_bloated_link, pair, plain, simulate};
use tidegate_core::units::Duration;
use tidegate_sim::Outcome;
use tidegate_sim::statistics::jain;
use tidegate_sim::tcp::{CongestionKind, RecoveryKind, Tcp};

fn bbr(congestion: CongestionKind, window: u64) -> Tcp {
    Tcp { congestion, recovery: RecoveryKind::USUAL, window, ..plain() }
}

fn lost_share(outcome: &Outcome) -> f64 {
    let dropped: u64 = outcome.flows[0].drops.iter().map(|drop| drop.2.packets).sum();
    dropped as f64 / outcome.flows[0].offered.packets as f64
}

#[test]
fn version_3_keeps_a_link_busy_and_its_queue_short() {
    let (one, queue) = over_a_bloated_link(CongestionKind::Bbr3, 1);
    assert!(goodput(&one) > 0.9 * 20e6, "{}", goodput(&one));
    assert!(queue < 0.010, "{queue}");
    let (several, queue) = over_a_bloated_link(CongestionKind::Bbr3, 5);
    assert!(goodput(&several) > 0.9 * 20e6, "{}", goodput(&several));
    assert!(queue < 0.045, "{queue}");
    let rates: Vec<f64> = several.flows.iter().map(|flow| flow.tcp.as_ref().unwrap().goodput_bps.mean).collect();
    assert!(jain(&rates).unwrap() > 0.9, "{rates:?}");
}

#[test]
fn version_3_loses_little_at_a_short_buffer_where_version_1_loses_much() {
    // 20 Mbit/s and 50 ms: a quarter of the product of 125 kB.
    let over = |congestion| simulate(&pair(20_000_000, Duration::from_milliseconds(25), 31_250, bbr(congestion, 4_000_000)), 90, 30, 1);
    let (first, third) = (over(CongestionKind::Bbr), over(CongestionKind::Bbr3));
    assert!(lost_share(&third) < 0.003 && lost_share(&first) > 2.0 * lost_share(&third), "{} {}", lost_share(&first), lost_share(&third));
    assert!(goodput(&third) > 0.85 * 20e6 * 1024.0 / 1066.0, "{}", goodput(&third));
    assert_eq!(connection(&third, 0).timeouts, 0);
}

#[test]
fn version_3_bears_random_losses_well_below_its_threshold_of_2_percent_and_yields_above() {
    let rate = |loss| {
        let mut network = pair(100_000_000, Duration::from_milliseconds(50), 2_500_000, bbr(CongestionKind::Bbr3, 20_000_000));
        network.links[0].impairment.loss = random_loss(loss);
        goodput(&simulate(&network, 60, 20, 1)) / (1e8 * 1024.0 / 1066.0)
    };
    let rates = [rate(0.001), rate(0.01), rate(0.03)];
    assert!(rates[0] > 0.8 && rates[1] > 0.7 && rates[2] < 0.2, "{rates:?}");
}
