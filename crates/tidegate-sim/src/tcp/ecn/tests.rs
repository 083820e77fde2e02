//! Tests of [`super`], with the receiver that uses it.

use super::*;
use crate::tcp::receiver::Receiver;
use proptest::prelude::*;

/// Segments in order, `x` for marked and `.` for not: the acknowledgements as the next segment and the echo, in order.
fn play(mode: EcnMode, segments: &str, echo: fn(&Ack) -> u8) -> Vec<(u64, u8)> {
    let mut receiver = Receiver::new(true, false, 40, mode);
    let mut acks = Vec::new();
    for (at, mark) in segments.bytes().enumerate() {
        let ecn = if mark == b'x' { Ecn::Ce } else { mode.code_point(false) };
        acks.extend(receiver.on_code_point(ecn, false));
        acks.extend(receiver.on_segment(at as u64, at as u64 + 1, 1000));
    }
    acks.iter().map(|ack| (ack.next, echo(ack))).collect()
}

#[test]
fn rfc_8257_an_acknowledgement_never_covers_marked_and_unmarked_segments() {
    let acks = play(EcnMode::Dctcp, "...xxx..x.....", |ack| u8::from(ack.echo));
    // By pairs, and whenever the mark changes: 3; 4 and 5, 6; 7 and 8; 9; the rest by pairs.
    assert_eq!(acks, [(3, 0), (4, 0), (6, 1), (7, 1), (9, 0), (10, 1), (12, 0), (14, 0)]);
}

#[test]
fn rfc_9768_a_mark_after_none_is_acknowledged_at_once_and_counted_modulo_eight() {
    // The count begins at 5 (section 3.2.2).
    assert_eq!(play(EcnMode::Accurate, "..x.x...", |ack| ack.ace), [(3, 5), (4, 6), (6, 7), (8, 7)]);
    // A train of marks: the first at once, the others by pairs.
    assert_eq!(play(EcnMode::L4s, ".xxxxx", |ack| ack.ace), [(3, 6), (5, 0), (7, 2)]);
}

#[test]
fn rfc_3168_the_echo_lasts_until_the_window_is_reduced() {
    let mut receiver = Receiver::new(true, false, 0, EcnMode::Classic);
    let mut answer = |number, ecn, reduced| {
        assert!(receiver.on_code_point(ecn, reduced).is_none());
        receiver.on_segment(0, number, 1000).unwrap().echo
    };
    assert!(!answer(1, Ecn::Ect0, false));
    assert!(answer(2, Ecn::Ce, false));
    assert!(answer(3, Ecn::Ect0, false));
    assert!(!answer(4, Ecn::Ect0, true));
    // A segment that says so and is marked begins another echo.
    assert!(answer(5, Ecn::Ce, true));
}

#[test]
fn rfc_3168_and_rfc_9331_code_points() {
    let code_points = |mode: EcnMode| [mode.code_point(false), mode.code_point(true)];
    for (mode, expected) in [
        (EcnMode::Off, [Ecn::NotEct, Ecn::NotEct]),
        (EcnMode::Classic, [Ecn::Ect0, Ecn::NotEct]),
        (EcnMode::Dctcp, [Ecn::Ect0, Ecn::NotEct]),
        (EcnMode::Accurate, [Ecn::Ect0, Ecn::NotEct]),
        (EcnMode::L4s, [Ecn::Ect1, Ecn::Ect1]),
    ] {
        assert_eq!(code_points(mode), expected, "{mode}");
    }
}

#[test]
fn rfc_9768_appendix_a_1_assumes_the_most_marks_that_three_bits_allow() {
    let mut marks = MarkCount::new();
    assert_eq!(marks.read(5, 2), 0);
    assert_eq!(marks.read(7, 2), 2);
    // Across zero.
    assert_eq!(marks.read(1, 3), 2);
    // Ten segments: two marks or ten.
    assert_eq!(marks.read(3, 10), 10);
    // Nine segments: seven marks; seventeen: none, eight or sixteen.
    assert_eq!(marks.read(2, 9), 7);
    assert_eq!(marks.read(2, 17), 16);
}

proptest! {
    /// The law, without and with losses of acknowledgements.
    #[test]
    fn no_mark_is_missed(marked in prop::collection::vec(any::<bool>(), 1..200), lost in prop::collection::vec(any::<bool>(), 200), loses: bool) {
        let mut receiver = Receiver::new(true, false, 40, EcnMode::Accurate);
        let (mut marks, mut told, mut known) = (MarkCount::new(), 0, 1);
        let mut come = 0;
        for (at, &is_marked) in marked.iter().enumerate() {
            let ecn = if is_marked { Ecn::Ce } else { Ecn::Ect0 };
            come += u64::from(is_marked);
            prop_assert!(receiver.on_code_point(ecn, false).is_none());
            let Some(ack) = receiver.on_segment(at as u64, at as u64 + 1, 1000) else { continue };
            if loses && lost[at] {
                continue;
            }
            told += marks.read(ack.ace, ack.next - known);
            known = ack.next;
            prop_assert!(if loses { told >= come } else { told == come }, "{} of {}", told, come);
        }
    }
}
