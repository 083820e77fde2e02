//! Tests of [`super`].

use super::*;
use tidegate_core::units::{Duration, Rate};

/// One packet of 1219 bytes on the wire in 10 ms, two at once.
fn tagging(policer: PolicerKind) -> Tagging {
    let contract = Contract { burst: Some(2 * 1219), ..Contract::new(Rate::new(975_200).unwrap(), 1219) };
    Tagging { policer, contract }
}

#[test]
fn a_sender_counts_what_its_packets_take_on_the_wire_and_marks_yellow() {
    let mut tagger = Tagger(Some(Box::new((tagging(PolicerKind::Gcra).build().unwrap(), Overhead::Aal5))));
    let mut at = |milliseconds: u64, length| {
        let now = Duration::from_milliseconds(milliseconds).picoseconds();
        tagger.colour(now, length, Colour::Green)
    };
    let (green, yellow) = (Colour::Green, Colour::Yellow);
    // 1072 bytes are 23 cells; two of them may come at once.
    assert_eq!([at(0, 1072), at(0, 1072), at(0, 1072), at(9, 1072), at(11, 1072)], [green, green, yellow, yellow, green]);
    // What has a worse colour already keeps it.
    assert_eq!(tagger.colour(Duration::from_seconds(1).picoseconds(), 1072, Colour::Red), Colour::Red);
}

#[test]
fn what_is_no_contract_of_a_sender_is_refused() {
    let refused = |change: &dyn Fn(&mut Tagging)| {
        let mut tagging = tagging(PolicerKind::Gcra);
        assert_eq!(tagging.check(), Ok(()));
        change(&mut tagging);
        tagging.check().unwrap_err().key
    };
    assert_eq!(refused(&|tagging| tagging.contract.violation = Some(Violation::Discard)), "violation");
    assert_eq!(refused(&|tagging| tagging.contract.burst = Some(1000)), "burst");
    assert_eq!(refused(&|tagging| tagging.contract.peak_burst = Some(5000)), "peak_burst");
    assert_eq!(refused(&|tagging| tagging.policer = PolicerKind::Gfr), "peak_rate");
}
