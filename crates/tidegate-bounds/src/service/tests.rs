//! The rows against worked values; the searches with packets are in `tests/packets.rs`.

use super::*;
use crate::curve::{RateLatency, TokenBucket};
use SchedulerKind::*;
use tidegate_core::scheduler::ServiceClass;

/// Bits per second.
const MBPS: u64 = 1_000_000;
/// Picoseconds.
const US: Picoseconds = 1_000_000;

fn piece(rate: u64, latency: Picoseconds) -> RateLatency {
    RateLatency { rate, latency }
}

fn child(length: u64) -> Child {
    Child::new(length)
}

fn sends(child: Child, burst: u64, rate: u64) -> Child {
    Child { arrival: Ok(Arrival::token_bucket(burst, rate)), ..child }
}

fn link() -> Service {
    Service::link(10 * MBPS)
}

fn pieces(curve: Result<Service, NoBound>) -> Vec<RateLatency> {
    curve.unwrap().pieces().to_vec()
}

#[test]
fn first_in_first_out_beside_a_burst() {
    let own = sends(child(1_000), 1_000, MBPS);
    let row = row(&Node::new(Fifo, 10 * MBPS, vec![own, sends(child(1_000), 40_000, 4 * MBPS)]), &link(), 0);
    assert_eq!(pieces(row.guaranteed), [piece(6 * MBPS, 4_000 * US)]);
    assert_eq!(row.delay, Some(Ok(4_100 * US)));
    assert!(row.strict.is_err());
}

#[test]
fn strict_priority_leaves_the_rest_after_bursts_and_one_packet() {
    let high = sends(child(1_000), 15_000, 1_500_000);
    let mut children = vec![high; 4];
    children.push(Child { priority: 1, ..sends(child(1_000), 80_000, 4 * MBPS) });
    children.push(Child { priority: 2, ..child(1_000) });
    let node = Node::new(StrictPriority, 10 * MBPS, children);
    let low = row(&node, &link(), 4);
    assert_eq!(pieces(low.strict.clone()), [piece(4 * MBPS, 15_250 * US)]);
    assert_eq!(delay_by_curve(&low.strict, &node.children[4]), 35_250 * US);
    // A packet that has started is not interrupted: 7.2 ms by the curve, 6 ms with the last packet at full rate.
    let node = Node::new(
        StrictPriority,
        10 * MBPS,
        vec![
            sends(child(12_000), 12_000, 5 * MBPS),
            Child { priority: 1, ..sends(child(12_000), 12_000, MBPS) },
            Child { priority: 2, ..child(12_000) },
        ],
    );
    let middle = row(&node, &link(), 1);
    assert_eq!(delay_by_curve(&middle.strict, &node.children[1]), 7_200 * US);
    assert_eq!(middle.delay_of(node.children[1].arrival.as_ref().unwrap()), Ok(6_000 * US));
    // An unlimited class of higher priority leaves nothing, and says so.
    let node = Node::new(StrictPriority, 10 * MBPS, vec![child(1_000), Child { priority: 1, ..child(1_000) }]);
    assert_eq!(row(&node, &link(), 1).strict.unwrap_err().to_string(), "nothing limits it");
    assert_eq!(pieces(row(&node, &link(), 0).strict), [piece(10 * MBPS, 100 * US)]);
}

fn delay_by_curve(curve: &Result<Service, NoBound>, child: &Child) -> Picoseconds {
    crate::aggregate::delay(child.arrival.as_ref().unwrap(), curve.as_ref().unwrap()).unwrap()
}

#[test]
fn equal_priorities_take_turns() {
    // The other is unlimited: half of the link after one of its packets.
    let node = Node::new(StrictPriority, 10 * MBPS, vec![child(1_000), child(1_000)]);
    assert_eq!(pieces(row(&node, &link(), 0).strict), [piece(5 * MBPS, 100 * US)]);
}

#[test]
fn controlled_load_sees_one_packet_of_each_guaranteed_flow() {
    let guaranteed = Child { class: ServiceClass::Guaranteed, rate: 1_500_000, ..child(1_000) };
    let mut children = vec![guaranteed; 4];
    children.push(Child { class: ServiceClass::ControlledLoad, rate: 4 * MBPS, ..child(1_000) });
    children.push(child(1_000));
    let row_of = |index| row(&Node::new(IntegratedServices, 10 * MBPS, children.clone()), &link(), index);
    // 4 Mbit/s after (4 + 1) kbit / 4 Mbit/s = 1.25 ms, and one more packet of its own virtual clock.
    assert_eq!(pieces(row_of(4).guaranteed), [piece(4 * MBPS, 1_500 * US)]);
    assert_eq!(pieces(row_of(0).guaranteed), [piece(1_500_000, 100 * US)]);
    assert!(row_of(5).guaranteed.is_err() && row_of(0).strict.is_err());
    let charging = Node { charges_early: true, ..Node::new(IntegratedServices, 10 * MBPS, children.clone()) };
    assert!(row(&charging, &link(), 0).guaranteed.unwrap_err().to_string().contains("charged"));
    // 80 kbit of controlled load through the rest: 21.25 ms, where the buckets of guaranteed service would give 35.25 ms.
    let left = link().beside(&[TokenBucket::of_bits(4_000, 6 * MBPS)], bits(1_000)).unwrap();
    assert_eq!(left.pieces(), [piece(4 * MBPS, 1_250 * US)]);
    assert_eq!(crate::aggregate::delay(&Arrival::token_bucket(80_000, 4 * MBPS), &left), Ok(21_250 * US));
}

#[test]
fn weighted_round_robin_shares_packets_so_its_share_in_bits_depends_on_lengths() {
    let mixed = |weight| Child { weight, shortest: 1_000, ..child(12_000) };
    let node = Node::new(WeightedRoundRobin, 10 * MBPS, vec![mixed(3), mixed(1)]);
    assert_eq!(pieces(row(&node, &link(), 0).strict), [piece(2 * MBPS, 2_400 * US)]);
    let cell = |weight| Child { weight, ..child(424) };
    let node = Node::new(WeightedRoundRobin, 10 * MBPS, vec![cell(3), cell(1)]);
    assert_eq!(pieces(row(&node, &link(), 0).strict), [piece(7_500_000, 84_800_000)]);
}

#[test]
fn deficit_round_robin_has_two_pieces() {
    let turn = |longest: u64, quantum| Child { quantum, ..child(longest) };
    let node = Node::new(DeficitRoundRobin, 10 * MBPS, vec![turn(1_000, 1_000); 8]);
    assert_eq!(pieces(row(&node, &link(), 0).strict), [piece(1_250_000, 2_100 * US)]);
    let wide = Service::link(50 * MBPS);
    let pair = |first, second| Node::new(DeficitRoundRobin, 50 * MBPS, vec![turn(12_000, first), turn(12_000, second)]);
    assert_eq!(pieces(row(&pair(12_000, 1_200_000), &wide, 0).strict), [piece(495_049, 48_240 * US)]);
    // 49.50495 Mbit/s after 0.4824 ms, and 49.5 Mbit/s after 0.48 ms.
    let heavy = pieces(row(&pair(12_000, 1_200_000), &wide, 1).strict);
    assert_eq!(heavy, [piece(49_500_000, 480 * US), piece(49_504_950, 482_400_000)]);
    let heavy = pieces(row(&pair(12_000, 36_000), &wide, 1).strict);
    assert_eq!(heavy, [piece(33_333_333, 480 * US), piece(37_500_000, 560 * US)]);
    assert_eq!(pieces(row(&pair(12_000, 36_000), &wide, 0).strict), [piece(12_500_000, 1_680 * US)]);
    // A sibling that its shape suspends may have saved up a turn.
    let mut node = pair(12_000, 36_000);
    node.children[1].resumes = true;
    assert_eq!(pieces(row(&node, &wide, 0).strict), [piece(12_500_000, 2_400 * US)]);
}

#[test]
fn fair_queueing_and_virtual_clocks() {
    let mut children = vec![Child { rate: 8_500_000 / 7, ..child(1_000) }; 8];
    children[0].rate = 1_500_000;
    let row_of = |kind| row(&Node::new(kind, 10 * MBPS, children.clone()), &link(), 0);
    let latency = |curve: Result<Service, NoBound>| {
        let pieces = pieces(curve);
        assert_eq!(pieces[0].rate, 1_500_000);
        pieces[0].latency
    };
    let both = |kind| (latency(row_of(kind).guaranteed), latency(row_of(kind).strict));
    assert_eq!(both(Wf2qPlus), (100 * US, 1_233_333_334));
    assert_eq!(both(SelfClocked), (700 * US, 1_833_333_334));
    // A slot of 2^30 ps: three of them, and two packets.
    assert_eq!(both(QuickFair), (3_421_225_472, 4_087_892_139));
    assert_eq!(latency(row_of(VirtualClock).guaranteed), 100 * US);
    assert!(row_of(VirtualClock).strict.unwrap_err().to_string().contains("starved"));
    // A clock that waits is ahead by a packet at most, so that two at the rate come on top.
    assert_eq!(both(ShapedVirtualClock), (100 * US, 1_433_333_334));
    let literal = Node { is_literal: true, ..Node::new(ShapedVirtualClock, 10 * MBPS, children.clone()) };
    assert!(row(&literal, &link(), 0).guaranteed.unwrap_err().to_string().contains("literal"));
    let mut greedy = Node::new(Wf2qPlus, 10 * MBPS, children.clone());
    greedy.children[1].rate = 9 * MBPS;
    assert!(row(&greedy, &link(), 0).guaranteed.unwrap_err().to_string().contains("exceed"));
}

#[test]
fn windows_that_are_kept_are_strict() {
    let window = |window, is_kept| Node {
        windows: Windows { is_kept, slot: 1_000, overdraws: false },
        ..Node::new(Dwcs, 10 * MBPS, vec![Child { window: Some(window), ..child(1_000) }])
    };
    assert_eq!(pieces(row(&window((3, 4), true), &link(), 0).strict), [piece(2_500_000, 700 * US)]);
    assert_eq!(pieces(row(&window((1, 2), true), &link(), 0).strict), [piece(5 * MBPS, 300 * US)]);
    assert!(row(&window((1, 2), false), &link(), 0).strict.is_err() && row(&window((2, 2), true), &link(), 0).strict.is_err());
}

#[test]
fn earliest_deadline_first_also_where_deadlines_cannot_be_met() {
    let class = |burst, rate, ms: i128, longest| Child { delay: Some(ms * 1_000 * US), ..sends(child(longest), burst, rate * MBPS) };
    let feasible = [class(4_000, 2, 3, 2_000), class(8_000, 3, 8, 4_000), class(16_000, 4, 18, 8_000)];
    let bounds = |classes: &[Child]| {
        let node = Node::new(EarliestDeadlineFirst, 10 * MBPS, classes.to_vec());
        (0..3).map(|index| row(&node, &link(), index).delay.unwrap().unwrap() / US).collect::<Vec<_>>()
    };
    assert_eq!(bounds(&feasible), [1_200, 3_000, 8_800]);
    let same = feasible.clone().map(|class| Child { delay: Some(1_000 * US), ..class });
    assert_eq!(bounds(&same), [2_800; 3]);
}

#[test]
fn rate_control_shapes_and_then_serves_in_order() {
    let class =
        |priority| Child { priority, contract: Some(Arrival::token_bucket(10_000, 4 * MBPS)), ..sends(child(1_000), 20_000, 4 * MBPS) };
    let node = Node::new(RateControlled, 10 * MBPS, vec![class(0), class(0), class(1)]);
    // 10 kbit above the contract at 4 Mbit/s, then 20 kbit and one lower packet at 10 Mbit/s.
    assert_eq!(row(&node, &link(), 0).delay, Some(Ok(2_500 * US + 2_100 * US)));
    assert!(row(&node, &link(), 2).delay.unwrap().unwrap_err().to_string().starts_with("overloaded"));
}

#[test]
fn cells_buffers_and_windows() {
    let contracts = vec![Arrival::new([TokenBucket { burst: bits(424), rate: 10_000_000 }]); 3];
    // At most the number of connections and one slots.
    assert_eq!(cell_scheduler(&contracts, 42_400_000, 424), Ok(4 * 10_000_000));
    let strict = Ok(Service::rate_latency(10 * MBPS, 500 * US));
    assert_eq!(behind_limit(&strict, 100_000), Ok(10_500 * US));
    assert!(behind_limit(&Err(NoBound::Because("none")), 1).is_err());
    // 12 kbit and two windows of 4 kbit and one packet of 4 kbit through what a flow of 2 Mbit/s leaves of 10 Mbit/s.
    let flow = Arrival::token_bucket(12_000, 2 * MBPS);
    assert_eq!(beside_windows(&flow, 8_000, 4_000, &link()), Ok(3_000 * US));
    assert!(beside_windows(&flow, 8_000, 4_000, &Service::link(2 * MBPS)).is_err());
}

#[test]
fn every_scheduler_has_a_row() {
    for &kind in SchedulerKind::ALL {
        let children = vec![Child { rate: MBPS, quantum: 1_000, ..sends(child(1_000), 2_000, MBPS) }; 2];
        let node = Node::new(kind, 10 * MBPS, children);
        let row = row(&node, &link(), 0);
        let known = row.guaranteed.is_ok() || row.strict.is_ok() || matches!(row.delay, Some(Ok(_)));
        let reason = row.guaranteed.err().map(|reason| reason.to_string()).unwrap_or_default();
        assert!(known || reason.len() > 10, "{}: {reason}", kind.name());
    }
}

#[test]
fn among_equal_priorities_only_turns_are_strict() {
    // An equal of 1 kbit and 1 Mbit/s leaves 9 Mbit/s from the start of a backlog on; in every interval only half of the link is sure.
    let equal = Child { arrival: Ok(Arrival::token_bucket(1_000, MBPS)), ..child(1_000) };
    let node = Node::new(StrictPriority, 10 * MBPS, vec![child(1_000), equal]);
    let found = row(&node, &link(), 0);
    assert_eq!(found.guaranteed.as_ref().unwrap().rate(), 9 * MBPS);
    assert_eq!(found.strict.unwrap().rate(), 5 * MBPS);
}
