//! Retransmissions that are lost: a second signal of congestion, RFC 5681, section 4.3.

use super::*;

#[test]
fn rfc_5681_the_loss_of_a_retransmission_lowers_the_window_a_second_time() {
    let mut sender = nine_in_flight(&tcp(CongestionKind::Reno, RecoveryKind::Rack));
    play(
        &mut sender,
        // 2 and 3 are lost. So are both when they are sent again, before 11: that is one signal. 3 is lost once more, before 13.
        "ack 2 sack 4    ->
         ack 2 sack 4-5  ->
         ack 2 sack 4-6  -> 2    | cwnd 4.5 ssthresh 4.5
         ack 2 sack 4-7  ->
         ack 2 sack 4-8  -> 3
         ack 2 sack 4-9  -> 11
         ack 2 sack 4-10 -> 12   | cwnd 4.5 ssthresh 4.5
         ack 2 sack 4-11 -> 2    | cwnd 2.25 ssthresh 2.25
         ack 2 sack 4-12 -> 3    | cwnd 2.25
         ack 3 sack 4-12 -> 13
         ack 3 sack 4-13 -> 3 14 | cwnd 2 ssthresh 2
         ack 15          -> 15 16 | cwnd 2",
    );
    assert_eq!((sender.counts.recoveries, sender.counts.timeouts), (3, 0));
}

#[test]
fn rfc_9438_cubic_lowers_it_to_seven_tenths_twice() {
    play(
        &mut nine_in_flight(&tcp(CongestionKind::Cubic, RecoveryKind::Rack)),
        // 2 and 3 are lost twice, 9 and 10 once.
        "ack 2 sack 4       ->
         ack 2 sack 4-5     ->
         ack 2 sack 4-6     -> 2 3   | cwnd 6.3 ssthresh 6.3
         ack 2 sack 4-7     -> 11
         ack 2 sack 4-8     -> 12
         ack 2 sack 11,4-8  -> 2 3 9 | cwnd 4.41 ssthresh 4.41",
    );
}

#[test]
fn rfc_9937_the_second_reduction_is_in_proportion_too() {
    play(
        &mut nine_in_flight(&Tcp { prr: true, ..tcp(CongestionKind::Reno, RecoveryKind::Rack) }),
        // Of 2 to 11, eight are reported, the last by this acknowledgement: one may leave at once.
        "ack 2 sack 3    ->
         ack 2 sack 3-4  ->
         ack 2 sack 3-5  -> 2  | cwnd 6 ssthresh 4.5
         ack 2 sack 3-6  ->
         ack 2 sack 3-7  ->
         ack 2 sack 3-8  -> 11 | cwnd 4.5
         ack 2 sack 3-9  -> 12 | cwnd 4.5
         ack 2 sack 11,3-9 -> 2 | ssthresh 2.25
         ack 13          -> 13 14 | cwnd 2.25",
    );
}

#[test]
fn after_a_timeout_too_a_lost_retransmission_is_another_signal() {
    let mut sender = nine_in_flight(&tcp(CongestionKind::Reno, RecoveryKind::Rack));
    play(
        &mut sender,
        // All is lost. 3 is lost again, before 4.
        "timer             -> 2   | cwnd 1 ssthresh 4.5
         @1100 ack 3       -> 3 4 | cwnd 2 ssthresh 4.5
         @1200 ack 3 sack 4 -> 3 5 | cwnd 2 ssthresh 2",
    );
    assert_eq!((sender.counts.recoveries, sender.counts.timeouts), (1, 1));
}

#[test]
fn controls_that_judge_losses_by_samples_do_without_the_signal() {
    let flight = nine_in_flight(&tcp(CongestionKind::Reno, RecoveryKind::Rack)).flight;
    let window = 10 * u64::from(SEGMENT);
    let lowered = |congestion: CongestionKind| congestion.build().on_lost_retransmission(&flight, window).map(segments);
    for &congestion in CongestionKind::ALL {
        let expected = match congestion {
            CongestionKind::Bbr | CongestionKind::Bbr3 => None,
            CongestionKind::Cubic => Some(7.0),
            CongestionKind::Reno | CongestionKind::Dctcp | CongestionKind::Prague => Some(5.0),
        };
        assert_eq!(lowered(congestion), expected, "{}", congestion.name());
    }
}
