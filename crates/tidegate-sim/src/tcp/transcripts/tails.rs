//! Losses that time shows: late segments and tails, RFC 8985.

use super::*;

fn probing() -> Tcp {
    Tcp { initial_window: 20, tail_loss_probe: true, ..tcp(CongestionKind::Reno, RecoveryKind::Rack) }
}

/// A sender whose round trip is 100 ms: segment 1 was acknowledged at 100 ms, when `count` more were sent, the last of the transfer.
fn last_of_transfer(tcp: &Tcp, count: u64) -> Sender {
    let mut sender = Sender::new(tcp, 0);
    sender.write(0, u64::from(SEGMENT));
    assert_eq!(sent(&mut sender, 0), [1]);
    sender.write(100 * MS, count * u64::from(SEGMENT));
    sender.on_ack(100 * MS, &Ack { next: 2, ..Ack::default() });
    assert_eq!(sent(&mut sender, 100 * MS).len() as u64, count);
    sender
}

#[test]
fn rfc_8985_a_probe_after_two_round_trips_finds_the_losses_of_a_tail() {
    // 9 to 11 are lost. The probe shows it, and 9 and 10 are sent again after four round trips; the timer would fire 200 ms after that of 8.
    let mut sender = last_of_transfer(&probing(), 10);
    play(
        &mut sender,
        "@200 ack 9 ->
         timer -> 11
         @500 ack 9 sack 11 -> 9 10
         @600 ack 12 ->",
    );
    assert_eq!((sender.counts.timeouts, sender.counts.recoveries, sender.counts.retransmissions), (0, 1, 3));
    // 400 ms: two round trips after the last acknowledgement.
    let mut sender = last_of_transfer(&probing(), 10);
    sender.on_ack(200 * MS, &Ack { next: 9, ..Ack::default() });
    assert_eq!(sender.deadline(), 400 * MS);
}

#[test]
fn rfc_8985_the_probe_is_new_data_if_there_is_some_whatever_the_window() {
    let mut sender = nine_in_flight(&probing());
    sender.on_ack(100 * MS, &Ack { next: 3, ..Ack::default() });
    assert_eq!(sent(&mut sender, 100 * MS), [11]);
    assert_eq!(sender.deadline(), 300 * MS);
    play(
        &mut sender,
        // The probe is lost, too: the timer, which the probe has restarted, fires. A second probe is not sent.
        "timer -> 12 | cwnd 9.11
         timer -> 3 | cwnd 1",
    );
    assert_eq!((sender.counts.timeouts, sender.counts.retransmissions), (1, 1));
    assert!(sender.deadline() > 600 * MS);
}

#[test]
fn rfc_8985_one_probe_at_a_time() {
    let mut sender = last_of_transfer(&probing(), 10);
    play(
        &mut sender,
        "@200 ack 9  ->
         timer       -> 11
         @450 ack 10 ->",
    );
    // 10 and 11 are in flight, and the probe: the timer, which waits for 131.25 ms and 362.5; another probe would be due after 262.5.
    assert_eq!(sender.deadline(), 943_750 * (MS / 1000));
}

#[test]
fn rfc_8985_a_single_segment_waits_for_a_delayed_acknowledgement_and_for_the_timer_at_most() {
    // Twice 100 ms and 200 ms; the timer waits for 100 ms and four times a deviation of 50 ms.
    let sender = last_of_transfer(&probing(), 1);
    assert_eq!(sender.deadline(), 400 * MS);
    let patient = TimerSettings { minimum: Duration::from_seconds(1), ..TimerSettings::default_for(TimerKind::Fine) };
    let sender = last_of_transfer(&Tcp { timer: patient, ..probing() }, 1);
    assert_eq!(sender.deadline(), 500 * MS);
    // Nothing is measured yet: a second.
    let mut sender = Sender::new(&Tcp { timer: TimerSettings { initial: Duration::from_seconds(3), ..patient }, ..probing() }, 0);
    sender.write(0, 5_000);
    sent(&mut sender, 0);
    assert_eq!(sender.deadline(), 1_000 * MS);
}

#[test]
fn rfc_8985_a_loss_that_the_probe_repairs_counts_when_only_one_of_the_two_has_come() {
    // The last of ten is lost, and the probe repairs it: what is acknowledged beyond shows it.
    let lost = |sender: &mut Sender| {
        play(
            sender,
            "@200 ack 11 ->
             timer      -> 11
             @500 ack 12 -> ",
        );
        let window = sender.cwnd();
        sender.write(500 * MS, u64::from(SEGMENT));
        assert_eq!(sent(sender, 500 * MS), [12]);
        window
    };
    let mut sender = last_of_transfer(&probing(), 10);
    let window = lost(&mut sender);
    sender.on_ack(600 * MS, &Ack { next: 13, ..Ack::default() });
    assert!(sender.cwnd() < window && sender.flight.ssthresh == 2 * u64::from(SEGMENT));
    // It was late only: both come, and the second acknowledgement says nothing new.
    let mut sender = last_of_transfer(&probing(), 10);
    let window = lost(&mut sender);
    sender.on_ack(510 * MS, &Ack { next: 12, ..Ack::default() });
    sender.on_ack(600 * MS, &Ack { next: 13, ..Ack::default() });
    assert!(sender.cwnd() >= window);
    assert_eq!(sender.counts.recoveries, 0);
}

#[test]
fn rfc_8985_no_probe_is_scheduled_where_reports_show_losses() {
    let mut sender = last_of_transfer(&probing(), 10);
    // 3 is reported, 2 is not: what is due first is that 2 counts as lost, a quarter of a round trip later.
    sender.on_ack(200 * MS, &Ack { next: 2, count: 1, blocks: [(3, 4), (0, 0), (0, 0)], ..Ack::default() });
    assert_eq!((sent(&mut sender, 200 * MS), sender.deadline()), (vec![], 225 * MS));
    play(
        &mut sender,
        "timer -> 2
         @325 ack 12 -> ",
    );
    assert_eq!(sender.counts.recoveries, 1);
}

#[test]
fn rfc_8985_a_segment_that_is_late_by_less_than_a_quarter_of_a_round_trip_is_not_lost() {
    let mut sender = last_of_transfer(&probing(), 10);
    play(
        &mut sender,
        "@200 ack 2 sack 3   ->
         @201 ack 2 sack 3-4 ->
         @224 ack 5          ->",
    );
    assert_eq!((sender.counts.recoveries, sender.counts.retransmissions), (0, 0));
    // Three reports make the window zero, as long as no reordering has been seen; now it has.
    play(
        &mut sender,
        "@230 ack 5 sack 6-9 ->
         timer               -> 5
         @355 ack 12         -> ",
    );
    // 230 ms for what was sent at 100 ms, and 25.
    assert_eq!((sender.counts.recoveries, sender.counts.retransmissions), (1, 1));
    let mut fresh = last_of_transfer(&probing(), 10);
    play(&mut fresh, "@230 ack 2 sack 3-5 -> 2");
}

#[test]
fn rfc_8985_an_arrival_before_any_round_trip_can_be_over_is_that_of_an_earlier_transmission() {
    let mut sender = last_of_transfer(&probing(), 10);
    play(
        &mut sender,
        // 2 was late only: its retransmission of 200 ms cannot have come at 210, and does not make 6 to 11 lost.
        "@200 ack 2 sack 3-5 -> 2
         @210 ack 6          ->",
    );
    assert_eq!(sender.counts.retransmissions, 1);
}
