//! Packets that the link passes late or twice.

use super::allocation::allocates_nothing;
use super::*;
use tidegate_link::{Disturbance, DisturbanceStream, Disturbed};

/// A direction whose link has this delay, loses a fifth of all packets, and passes a third late by `extra` and a third twice.
fn disturbed(delay: u64, extra: u64, packets: u32) -> (Tested, Disturbance) {
    let disturbance = Disturbance::new(333_333_333, Duration::from_microseconds(extra), 333_333_333, 4).unwrap();
    let (delay, loss) = (Duration::from_microseconds(delay), Loss::new(200_000_000, 4));
    let link = Link { delay, loss, disturbance: Some(disturbance), ..Link::default() };
    (direction_on(packets, DirectionOptions { link, ..direction_options(packets + 40) }, ()), disturbance)
}

#[test]
fn packets_are_late_and_come_twice_by_number() {
    let (mut direction, disturbance) = disturbed(2500, 3200, 100);
    arrive(&mut direction, 0..100);
    for now in 0..120 {
        direction.poll(at(now * 1000), true);
        assert_eq!(direction.counters().check(), Ok(()));
    }
    let (mut losses, mut stream) = (LossStream::new(Loss::new(200_000_000, 4).unwrap(), 0), DisturbanceStream::new(disturbance, 0));
    let mut expected = Vec::new();
    let (mut late, mut twice, mut lost) = (0, 0, 0);
    for name in 0..100u8 {
        let (is_lost, Disturbed { is_late, is_twice }) = (losses.loses_next(), stream.disturbs_next());
        if is_lost {
            lost += 1;
            continue;
        }
        let copies = 1 + usize::from(is_twice);
        late += copies * usize::from(is_late);
        twice += usize::from(is_twice);
        expected.extend([(u64::from(name) * 1000 + if is_late { 3200 } else { 0 }, name)].repeat(copies));
    }
    expected.sort();
    assert_eq!(direction.transmitter.sent, expected.iter().map(|&(_, name)| name).collect::<Vec<_>>());
    let counters = balanced(&direction);
    let counted = [counters.late, counters.duplicated, counters.unsent.lost].map(|volume| volume.packets as usize);
    assert_eq!(counted, [late, twice, lost]);
    assert!(late > 20 && twice > 15 && lost > 10);
    assert_eq!(counters.delivered.packets as usize, 100 - lost + twice);
}

proptest! {
    #[test]
    fn copies_are_counted_whatever_the_kernel_does(
        steps in proptest::collection::vec((0u64..3000, 0usize..6, 0usize..4, 0u32..3), 1..100),
        delay in proptest::sample::select(vec![0, 100, 5_000]),
        extra in proptest::sample::select(vec![0, 70, 6_000]),
    ) {
        let (mut direction, _) = disturbed(delay, extra, 8);
        let mut now = 0;
        for (pause, frames, reason, times) in steps {
            now += pause;
            direction.receiver.frames.extend((0..frames).map(|n| millisecond(n as u8)));
            let reason = [SendError::Busy, SendError::Down, SendError::TooLong, SendError::Rejected][reason];
            if times > 0 {
                direction.transmitter.refusals.push_back((reason, times));
            }
            direction.transmitter.most = 1 + frames;
            direction.poll(at(now), true);
            let counters = direction.counters();
            prop_assert_eq!(counters.check(), Ok(()));
            // Both copies of a packet use one slot.
            let (held, slots) = (counters.queued.packets + counters.in_flight.packets, u64::from(direction.pool.in_use()));
            prop_assert!(slots <= held && held <= 2 * slots, "{} slots, {:?}", slots, counters);
        }
        direction.transmitter.refusals.clear();
        for _ in 0..40 {
            now += 1000;
            direction.poll(at(now), false);
        }
        prop_assert_eq!(balanced(&direction).in_flight.packets, 0);
    }
}

#[test]
fn disturbed_packets_need_no_allocation() {
    allocates_nothing(disturbed(5_000, 7_000, 1000).0);
}
