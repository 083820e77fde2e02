//! Senders after timeouts and silences: what is kept of reports and windows.

use super::*;
use crate::tcp::congestion::AnyCongestion;
use crate::tcp::{AfterIdle, Growth};

#[test]
fn rfc_8985_a_timeout_keeps_what_was_reported() {
    let mut sender = nine_in_flight(&tcp(CongestionKind::Reno, RecoveryKind::Rack));
    // 2 and 3 are lost and all acknowledgements from that of 6 on. What was reported is not sent again, before the holes nor after them.
    play(
        &mut sender,
        "ack 2 sack 4-5 ->
         timer    -> 2      | cwnd 4.5 ssthresh 4.5
         timer    -> 2      | cwnd 1 ssthresh 2.25
         @901 ack 3    -> 3 6    | cwnd 2
         @902 ack 6    -> 7 8    | cwnd 3
         @903 ack 8    -> 9 10   | cwnd 3.666
         @904 ack 11   -> 11 12 13 14 | cwnd 4.4835",
    );
    assert_eq!((sender.counts.retransmissions, sender.counts.timeouts), (8, 1));
    // Without that: 4 and 5 again, as far as the next reports do not tell in time.
    play(
        &mut nine_in_flight(&tcp(CongestionKind::Reno, RecoveryKind::Sack)),
        "ack 2 sack 4-5 ->
         timeout  -> 2      | cwnd 1 ssthresh 4.5
         ack 3    -> 3 4    | cwnd 2",
    );
}

#[test]
fn rfc_8985_a_timeout_takes_for_lost_what_is_older_than_a_round_trip_and_the_first() {
    let mut sender = Sender::new(&Tcp { initial_window: 20, ..tcp(CongestionKind::Reno, RecoveryKind::Rack) }, 0);
    sender.write(0, 9 * u64::from(SEGMENT));
    assert_eq!(sent(&mut sender, 0).len(), 9);
    sender.on_ack(100 * MS, &Ack { next: 2, ..Ack::default() });
    // A round trip of 100 ms and four times a deviation of 50 ms.
    assert_eq!(sender.deadline(), 400 * MS);
    sender.write(350 * MS, 2 * u64::from(SEGMENT));
    assert_eq!(sent(&mut sender, 350 * MS), [10, 11]);
    // 10 and 11 were sent less than 100 ms ago: two in flight, and one more than that is the window.
    assert!(sender.on_timer(400 * MS));
    assert_eq!(segments(sender.cwnd()), 3.0);
    assert_eq!(sent(&mut sender, 400 * MS), [2]);
}

#[test]
fn a_retransmission_of_the_first_segment_restarts_the_timer_of_rack_only() {
    for (recovery, restarts) in [(RecoveryKind::Rack, true), (RecoveryKind::Sack, false)] {
        let mut sender = nine_in_flight(&tcp(CongestionKind::Reno, recovery));
        let report = |end| Ack { next: 2, blocks: [(3, end), (0, 0), (0, 0)], count: 1, ..Ack::default() };
        sender.on_ack(100 * MS, &report(6));
        assert_eq!(sent(&mut sender, 100 * MS), [2]);
        let before = sender.deadline();
        // 11 is sent after 2, and arrives: 2 is lost again.
        for end in 7..=11 {
            sender.on_ack(150 * MS, &report(end));
        }
        assert_eq!(sent(&mut sender, 150 * MS).first(), Some(&11));
        sender.on_ack(250 * MS, &report(12));
        let again = sent(&mut sender, 250 * MS);
        assert_eq!((again.contains(&2), sender.deadline() > before + 100 * MS), (restarts, restarts), "{}", recovery.name());
    }
}

#[test]
fn a_silence_leaves_of_the_window_what_its_rule_says() {
    let window = |rule: AfterIdle, milliseconds: u64| {
        let mut sender = Sender::new(&Tcp { initial_window: 10, ..tcp(CongestionKind::Reno, RecoveryKind::Sack) }, 0);
        let flight = &mut sender.flight;
        flight.cwnd = 80 * u64::from(SEGMENT);
        flight.ssthresh = 20 * u64::from(SEGMENT);
        rule.restart(flight, milliseconds * MS, 300 * MS, 10 * u64::from(SEGMENT));
        (segments(flight.cwnd), segments(flight.ssthresh))
    };
    for rule in AfterIdle::ALL {
        assert_eq!(window(*rule, 300), (80.0, 20.0), "{}", rule.name());
    }
    // One timeout and a bit, two, three, and many.
    let linux = [301, 601, 901, 60_000].map(|silence| window(AfterIdle::Linux, silence));
    assert_eq!(linux, [(40.0, 60.0), (20.0, 60.0), (10.0, 60.0), (10.0, 60.0)]);
    assert_eq!(window(AfterIdle::Rfc5681, 301), (10.0, 20.0));
    let validated = [301, 300_000, 300_001, 1_000_000].map(|silence| window(AfterIdle::Rfc7661, silence));
    assert_eq!(validated, [(80.0, 20.0), (80.0, 20.0), (40.0, 60.0), (10.0, 60.0)]);
    assert_eq!(window(AfterIdle::Keep, 1_000_000), (80.0, 20.0));
}

#[test]
fn bbr_keeps_its_window_over_a_silence() {
    for (congestion, kept) in [(CongestionKind::Bbr, 80.0), (CongestionKind::Reno, 10.0)] {
        let mut sender = Sender::new(&Tcp { initial_window: 10, ..tcp(congestion, RecoveryKind::Rack) }, 0);
        sender.write(0, u64::from(SEGMENT));
        assert_eq!(sent(&mut sender, MS), [1]);
        sender.on_ack(2 * MS, &Ack { next: 2, ..Ack::default() });
        sender.flight.cwnd = 80 * u64::from(SEGMENT);
        sender.write(60_000 * MS, u64::from(SEGMENT));
        assert_eq!(segments(sender.cwnd()), kept, "{}", congestion.name());
    }
}

#[test]
fn what_an_acknowledgement_of_two_segments_counts_can_be_chosen() {
    let grown = |congestion: CongestionKind, growth, ssthresh| {
        let mut sender = Sender::new(&Tcp { growth, ..tcp(congestion, RecoveryKind::Sack) }, 0);
        let flight = &mut sender.flight;
        (flight.cwnd, flight.ssthresh) = (10 * u64::from(SEGMENT), ssthresh * u64::from(SEGMENT));
        let mut congestion: AnyCongestion = congestion.build();
        congestion.on_ack(MS, flight, 2);
        segments(flight.cwnd) - 10.0
    };
    for (growth, slow_start, avoidance) in [(Growth::PerAck, 1.0, 0.1), (Growth::Rfc5681, 1.0, 0.2), (Growth::Linux, 2.0, 0.2)] {
        for congestion in [CongestionKind::Reno, CongestionKind::Cubic] {
            assert_eq!(grown(congestion, growth, 100), slow_start, "{}", growth.name());
        }
        assert!((grown(CongestionKind::Reno, growth, 10) - avoidance).abs() < 0.001, "{}", growth.name());
    }
    // One segment is left until the threshold.
    assert_eq!(grown(CongestionKind::Reno, Growth::Linux, 11), 1.0);
}
