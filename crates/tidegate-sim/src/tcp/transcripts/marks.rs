//! Transcripts of congestion controls that reduce the window by the share of marks.

use super::*;

#[test]
fn rfc_8257_the_window_goes_down_by_half_of_alpha_once_per_window() {
    let dctcp = Tcp { ecn: EcnMode::Dctcp, ..tcp(CongestionKind::Dctcp, RecoveryKind::Sack) };
    // Alpha is 1 at first, and after the windows 0.9375, 0.91015625 and 0.91577.
    play(
        &mut nine_in_flight(&dctcp),
        "ack 4       -> 11 12       | cwnd 9.2222
         ack 6 echo  ->             | cwnd 4.8993 ssthresh 4.8993
         ack 8 echo  ->             | cwnd 4.8993
         ack 12      -> 13 14 15 16 | cwnd 5.7157
         ack 14 echo ->             | cwnd 3.0986",
    );
}

#[test]
fn rfc_8257_a_loss_halves_the_window() {
    let dctcp = Tcp { ecn: EcnMode::Dctcp, ..tcp(CongestionKind::Dctcp, RecoveryKind::Sack) };
    play(
        &mut nine_in_flight(&dctcp),
        "ack 2 sack 3-4 ->
         ack 2 sack 3-5 -> 2 | cwnd 4.5 ssthresh 4.5",
    );
}
