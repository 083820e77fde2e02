//! Recoveries that reduce the window in proportion to what is delivered: RFC 9937.

use super::*;

fn proportional(recovery: RecoveryKind) -> Tcp {
    Tcp { prr: true, ..tcp(CongestionKind::Reno, recovery) }
}

/// A sender for which segments 1 to `count` are in flight, which fill its window.
fn in_flight(tcp: &Tcp, count: u64) -> Sender {
    let mut sender = Sender::new(tcp, 0);
    sender.write(0, u64::MAX);
    sender.flight.cwnd = count * u64::from(SEGMENT);
    assert_eq!(sent(&mut sender, 0).len() as u64, count);
    sender
}

#[test]
fn rfc_9937_the_window_goes_down_in_proportion_to_what_is_delivered() {
    for recovery in [RecoveryKind::Sack, RecoveryKind::Rack] {
        play(
            &mut nine_in_flight(&proportional(recovery)),
            // Of 9 - 3 + 1 = 7 segments expected, one is delivered: 4.5 / 7 of a segment may leave; the fast retransmit leaves all the same.
            // Then 2 x 4.5 / 7 - 1 = 0.2857. At 4.5 and below each delivery releases one, but no more than the threshold.
            "ack 2 sack 3    ->
             ack 2 sack 3-4  ->
             ack 2 sack 3-5  -> 2  | cwnd 6 ssthresh 4.5
             ack 2 sack 3-6  ->    | cwnd 5.2857
             ack 2 sack 3-7  ->    | cwnd 4.5
             ack 2 sack 3-8  -> 11 | cwnd 4.5
             ack 2 sack 3-9  -> 12 | cwnd 4.5
             ack 2 sack 3-10 -> 13 | cwnd 4.5
             ack 11          -> 14 | cwnd 4.5",
        );
    }
}

#[test]
fn rfc_9937_half_the_window_sends_with_every_other_acknowledgement() {
    // One of 20 is lost; the sender sends two by limited transmit, the lost one, and then one per two acknowledgements, until 10 are in flight.
    for recovery in [RecoveryKind::Sack, RecoveryKind::Rack] {
        let mut sender = in_flight(&Tcp { limited_transmit: true, ..proportional(recovery) }, 20);
        let mut sends = Vec::new();
        for last in 2..=22 {
            let ack = Ack { next: 1, count: 1, blocks: [(2, last + 1), (0, 0), (0, 0)], ..Ack::default() };
            sender.on_ack(MS, &ack);
            sends.push(sent(&mut sender, MS).len());
        }
        assert_eq!(sends, [1, 1, 1, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1, 1], "{}", recovery.name());
        assert_eq!(segments(sender.cwnd()), 10.0);
        sender.on_ack(MS, &Ack { next: 23, ..Ack::default() });
        assert_eq!((segments(sender.cwnd()), sent(&mut sender, MS).len()), (10.0, 1));
        // Without proportional reduction: silence until ten have left, and then one with each.
        let mut sender = in_flight(&Tcp { limited_transmit: true, ..tcp(CongestionKind::Reno, recovery) }, 20);
        let mut sends = Vec::new();
        for last in 2..=22 {
            let ack = Ack { next: 1, count: 1, blocks: [(2, last + 1), (0, 0), (0, 0)], ..Ack::default() };
            sender.on_ack(MS, &ack);
            sends.push(sent(&mut sender, MS).len());
        }
        assert_eq!(sends, [1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1], "{}", recovery.name());
    }
}

#[test]
fn rfc_9937_after_heavy_losses_each_delivery_releases_one_and_progress_one_more() {
    // 1 to 15 of 20 are lost. RFC 6675 alone would send ten at once.
    for recovery in [RecoveryKind::Sack, RecoveryKind::Rack] {
        play(
            &mut in_flight(&proportional(recovery), 20),
            // The third of five reports: two in flight, and the retransmission.
            "ack 1 sack 16    ->
             ack 1 sack 16-17 ->
             ack 1 sack 16-18 -> 1     | cwnd 3 ssthresh 10
             ack 1 sack 16-19 -> 2     | cwnd 3
             ack 1 sack 16-20 -> 3     | cwnd 3
             ack 2 sack 16-20 -> 4 5   | cwnd 4
             ack 3 sack 16-20 -> 6 7   | cwnd 5
             ack 4 sack 16-20 -> 8 9   | cwnd 6
             ack 5 sack 16-20 -> 10 11 | cwnd 7
             ack 6 sack 16-20 -> 12 13 | cwnd 8",
        );
    }
}

#[test]
fn rfc_9937_an_acknowledgement_that_shows_a_further_loss_releases_no_more_than_it_delivers() {
    play(
        &mut in_flight(&proportional(RecoveryKind::Sack), 20),
        // 14 to 17 are lost as well. Of 6 in flight at most, 2 are left; otherwise it would be 7.
        "ack 1 sack 11-13       -> 1 2 3   | cwnd 10 ssthresh 10
         ack 2 sack 18-20,11-13 -> 4 5 6 7 | cwnd 6",
    );
}

#[test]
fn a_timeout_ends_the_reduction() {
    play(
        &mut nine_in_flight(&proportional(RecoveryKind::Sack)),
        "ack 2 sack 3-4,6-7 -> 2 | ssthresh 4.5
         timeout            -> 2 | cwnd 1 ssthresh 2.5
         ack 5 sack 6-7     -> 5 8 | cwnd 2",
    );
}

#[test]
fn controls_that_measure_keep_their_window() {
    let mut sender = Sender::new(&Tcp { initial_window: 10, prr: true, ..tcp(CongestionKind::Bbr, RecoveryKind::Rack) }, 0);
    sender.write(0, u64::MAX);
    let mut plain = Sender::new(&Tcp { initial_window: 10, ..tcp(CongestionKind::Bbr, RecoveryKind::Rack) }, 0);
    plain.write(0, u64::MAX);
    for sender in [&mut sender, &mut plain] {
        let mut now = 0;
        for _ in 0..6 {
            sent(sender, now);
            now = sender.pacing_release();
        }
        sender.on_ack(now, &Ack { next: 1, count: 1, blocks: [(2, 6), (0, 0), (0, 0)], ..Ack::default() });
    }
    assert_eq!((sender.counts.recoveries, sender.cwnd()), (1, plain.cwnd()));
}
