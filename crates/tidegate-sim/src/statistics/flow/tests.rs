//! Tests of [`super`].

use super::*;

/// One link without propagation, on which 10 bytes take 200 ps.
fn path() -> PathSummary {
    PathSummary { propagation: 0, last: Rate::MAX, longest_frame: 10 }
}

#[test]
fn what_was_on_the_last_link_when_the_warm_up_ended_is_not_measured() {
    // 10 bytes take 80 ns at 1 Gbit/s.
    let path = PathSummary { propagation: 50_000, last: Rate::new(1_000_000_000).unwrap(), ..path() };
    let mut meter = FlowMeter::new(path, 1_000_000, 0);
    (0..4).for_each(|_| meter.emit(10, true));
    let measured = [999_999, 1_079_999, 1_080_000, 1_160_000].map(|at| meter.deliver(at, at - 50_000 - 1024 * 80, 10, true));
    assert_eq!(measured, [false, false, true, true]);
    let flow = meter.finish(2_000_000, &[LinkId(0)]).unwrap();
    assert_eq!((flow.delivered.packets, flow.tagged.delivered.packets, flow.delays.count()), (2, 2, 2));
    assert_eq!(flow.delays.maximum(), Some(131_920e-12));
}

#[test]
fn the_warm_up_is_left_out_of_everything_but_the_series() {
    let mut meter = FlowMeter::new(path(), 1000, 1000);
    for _ in 0..4 {
        meter.emit(10, false);
    }
    meter.lose(LinkId(7), 10, LossKind::AtPort(DropReason::FlowLimit));
    // Announced before the end of the warm-up, delivered before and after it.
    meter.deliver(990, 500, 10, false);
    meter.deliver(1200, 600, 10, false);
    meter.restart();
    meter.emit(10, false);
    meter.deliver(1500, 880, 10, false);
    meter.lose(LinkId(7), 10, LossKind::AtPort(DropReason::PushedOut));
    let flow = meter.finish(2000, &[LinkId(7)]).unwrap();
    assert_eq!((flow.offered.packets, flow.delivered.packets, flow.in_network.packets), (1, 2, 0));
    assert_eq!(flow.lost(), Volume { packets: 1, bytes: 10 });
    assert_eq!(flow.dropped, [(LinkId(7), DropReason::PushedOut, Volume { packets: 1, bytes: 10 })]);
    assert_eq!((flow.delays.count(), flow.jitter.count(), flow.jitter.maximum()), (2, 1, Some(20e-12)));
    assert_eq!(flow.delivered_bytes, [10, 20]);
}

#[test]
fn a_packet_out_of_nowhere_is_noticed() {
    let mut meter = FlowMeter::new(path(), 0, 0);
    meter.deliver(1, 0, 10, false);
    assert_eq!(meter.finish(10, &[LinkId(0)]), None);
}

#[test]
fn what_the_sender_tagged_is_counted_apart_and_conserved_apart() {
    let mut meter = FlowMeter::new(path(), 1000, 0);
    meter.emit(10, true);
    meter.emit(20, true);
    meter.emit(40, false);
    meter.deliver(990, 500, 10, true);
    meter.deliver(1400, 500, 20, true);
    meter.restart();
    meter.emit(80, true);
    meter.deliver(3000, 600, 40, false);
    let flow = meter.clone().finish(5000, &[LinkId(0)]).unwrap();
    assert_eq!((flow.tagged.offered.bytes, flow.tagged.delivered.bytes), (80, 20));
    assert_eq!(flow.delivered_untagged(), Volume { packets: 1, bytes: 40 });
    // A packet that changes sides on its path leaves the sums right, and is noticed all the same.
    meter.deliver(4000, 900, 80, false);
    assert_eq!(meter.finish(5000, &[LinkId(0)]), None);
}

#[test]
fn the_packet_with_the_largest_delay_is_kept_whenever_it_comes() {
    let mut meter = FlowMeter::new(path(), 1000, 0);
    (0..5).for_each(|_| meter.emit(10, false));
    meter.deliver(900, 800, 10, false);
    // The largest of all comes before the end of the warm-up; an equal one does not take its place.
    meter.deliver(990, 100, 10, false);
    meter.restart();
    meter.deliver(3000, 2990, 10, false);
    meter.deliver(3900, 3010, 10, false);
    let flow = meter.clone().finish(4000, &[LinkId(0)]).unwrap();
    assert_eq!(flow.longest, Some(LongestDelay { number: 2, created: 100, delay: 890 }));
    assert_eq!(flow.delays.count(), 2);
    // What reaches its sink after the end counts for it, and for nothing else.
    meter.deliver_late(5000, 3999);
    let flow = meter.finish(4000, &[LinkId(0)]).unwrap();
    assert_eq!((flow.longest, flow.delivered.packets), (Some(LongestDelay { number: 5, created: 3999, delay: 1001 }), 2));
    assert_eq!(FlowMeter::new(path(), 0, 0).finish(0, &[LinkId(0)]).unwrap().longest, None);
}

#[test]
fn losses_are_kept_by_link_and_kind_in_the_order_of_the_path() {
    let mut meter = FlowMeter::new(path(), 0, 0);
    (0..6).for_each(|_| meter.emit(10, false));
    let (full, late) = (LossKind::AtPort(DropReason::FlowLimit), LossKind::AtPort(DropReason::Late));
    // Link 2 is not on the path: the packet took another.
    [(2, full), (3, late), (9, full), (3, LossKind::OnLink), (9, full), (3, full)]
        .into_iter()
        .for_each(|(link, kind)| meter.lose(LinkId(link), 10, kind));
    let flow = meter.finish(100, &[LinkId(9), LinkId(3)]).unwrap();
    let of = |packets| Volume { packets, bytes: 10 * packets };
    let (full, late) = (DropReason::FlowLimit, DropReason::Late);
    assert_eq!(flow.dropped, [(LinkId(9), full, of(2)), (LinkId(3), full, of(1)), (LinkId(3), late, of(1)), (LinkId(2), full, of(1))]);
    assert_eq!(flow.lost_on_links, [(LinkId(3), of(1))]);
    assert_eq!((flow.lost(), flow.in_network), (of(6), of(0)));
}
