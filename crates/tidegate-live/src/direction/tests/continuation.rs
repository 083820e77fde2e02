//! A direction that goes on in another process.

use super::*;
use crate::io::RingForm;
use crate::snapshot::tests::section;
use crate::take_over::{Inherited, Shown};

/// A ring in memory has no descriptor; its frames go along by hand.
pub(super) const NO_RING: RingForm = RingForm { index: 0, slot_length: 0, slots_per_block: 0, slots: 0, next: 0 };

/// A new direction like `old`, as another process builds it.
fn built(delay: u64, packets: u32) -> Tested {
    direction_along(delay, 0, packets)
}

fn shown(direction: &mut Tested, now: Time) -> Vec<u8> {
    let Shown { bytes, ring } = direction.stand_still(now).expect("it can be handed over");
    assert!(ring.is_none());
    bytes
}

fn inherited(bytes: &[u8]) -> Inherited {
    Inherited { bytes: section(bytes), ring: None }
}

proptest! {
    /// What leaves, and when, is the same whether or not processes follow each other.
    #[test]
    fn frames_leave_as_if_nothing_had_happened(
        steps in proptest::collection::vec((0u64..4000, 0usize..5, any::<bool>()), 1..60),
        delay in proptest::sample::select(vec![0, 100, 5_000]),
    ) {
        let (mut one, mut many) = (built(delay, 12), built(delay, 12));
        let (mut now, mut name) = (0, 0_u8);
        for (pause, frames, follows) in steps {
            now += pause;
            for direction in [&mut one, &mut many] {
                direction.receiver.frames.extend((0..frames).map(|n| millisecond(name.wrapping_add(n as u8))));
                direction.poll(at(now), true);
            }
            name = name.wrapping_add(frames as u8);
            if follows {
                // Both hand over what is due, as one does that stands still.
                one.flush(at(now));
                let bytes = shown(&mut many, at(now));
                let mut next = built(delay, 12);
                next.transmitter = std::mem::take(&mut many.transmitter);
                next.receiver = std::mem::take(&mut many.receiver);
                next.take_over(at(now), inherited(&bytes)).unwrap();
                many = next;
            }
            let counters = balanced(&many);
            prop_assert_eq!(counters, one.counters());
            prop_assert_eq!(&many.transmitter.sent, &one.transmitter.sent);
        }
        let volumes = |direction: &Tested| direction.record.port.classes()[0].offered;
        prop_assert_eq!(volumes(&many), volumes(&one));
        prop_assert_eq!(&many.record.hits, &one.record.hits);
        prop_assert_eq!(many.finish(at(now)).busy, one.finish(at(now)).busy);
    }
}

proptest! {
    /// Bytes that pass the checksum and are wrong all the same: an error or another state, never a panic.
    #[test]
    fn broken_bytes_are_an_error_and_no_panic(changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 0..4), cut in any::<proptest::sample::Index>(), cuts in any::<bool>()) {
        let mut old = built(5_000, 12);
        arrive(&mut old, 0..9);
        (0..5).for_each(|millisecond| _ = old.poll(at(millisecond * 900), true));
        let bytes = shown(&mut old, at(4000));
        let mut broken = bytes.clone();
        for (at, byte) in &changes {
            let at = at.index(broken.len());
            broken[at] = *byte;
        }
        if cuts {
            broken.truncate(cut.index(bytes.len()));
        }
        let outcome = built(5_000, 12).take_over(at(4000), inherited(&broken));
        prop_assert!(broken != bytes || outcome.is_ok(), "{:?}", outcome);
        prop_assert!(broken.len() == bytes.len() || outcome.is_err());
    }
}

/// What waits for room in the kernel goes along, and is tried for as long as any other.
#[test]
fn frames_that_the_kernel_had_no_room_for_leave_afterwards() {
    let mut old = built(0, 12);
    arrive(&mut old, 0..3);
    old.transmitter.refusals.push_back((SendError::Busy, 9));
    assert_eq!(old.poll(at(0), true), Next::Blocked);
    assert_eq!(old.poll(at(2500), true), Next::Blocked);
    let bytes = shown(&mut old, at(2600));
    let mut next = built(0, 12);
    next.take_over(at(2700), inherited(&bytes)).unwrap();
    // The link was busy for all of the time, and the catch-up is 2 ms.
    next.poll(at(2700), true);
    assert_eq!((next.transmitter.sent.as_slice(), balanced(&next).forgone), (&[0, 1, 2][..], Duration::ZERO));
}

#[test]
fn what_does_not_suit_is_named() {
    let mut old = built(0, 12);
    arrive(&mut old, 0..9);
    old.poll(at(0), true);
    old.ends = ["a".to_owned(), "b".to_owned()];
    let bytes = shown(&mut old, at(10));
    let refused = |mut direction: Tested, ends: [&str; 2]| {
        direction.ends = ends.map(str::to_owned);
        direction.take_over(at(10), inherited(&bytes)).unwrap_err().to_string()
    };
    assert!(refused(built(0, 12), ["a", "c"]).contains("the interface b in place of c"));
    assert!(refused(built(0, 3), ["a", "b"]).contains("has no place at this port"), "{}", refused(built(0, 3), ["a", "b"]));
    // The old one carries on.
    old.poll(at(1000), true);
    assert_eq!(balanced(&old).delivered.packets, 2);
}
