//! Guaranteed frame rate by a test of first cells: frames within the minimum rate pass as they are, all others are tagged as a whole.
//!
//! **Law.** A frame is untagged if the bucket holds at most BT/2 + CDVT when its first cell comes, with BT = (MBS - 1 cell) * (1/MCR - 1/PCR);
//! only untagged frames fill the bucket. So in any interval of length t untagged frames hold at most `(BT/2 + CDVT + t) * MCR` and the frame
//! that begins last.
//! **Source.** R. Goyal, R. Jain, S. Fahmy, B. Vandalore and S. Kalyanaraman, "Design issues for providing minimum rate guarantees to the ATM
//! unspecified bit rate service", 1998, section 3.1.
//! **State.** 40 bytes: level (X), last compliance time (LCT), TAGGING, and the contract.
//! **Cost.** One multiplication, no division.
//! **RTL twin.** None yet.
//! **Deviations.** Packets of any length. The last cell of several is never tagged, as in the source's implementation. A frame of one packet is
//! judged as a first cell and can be tagged; otherwise plain packets never would be. A frame whose first cell arrives tagged stays tagged and
//! does not fill the bucket. MBS is twice the longest frame unless given.

use super::contract::{Contract, ContractError, ContractField, Violation};
use super::frame_bucket::FrameBucket;
use super::{Policer, Policing, Verdict};
use crate::algorithm::Algorithm;
use crate::contract_state::ContractState;
use crate::packet::{Colour, Part};
use crate::units::Time;

/// Tags frames beyond a minimum rate. One policer is for one flow: parts of different frames must not come in between.
///
/// ```
/// use tidegate_core::packet::Colour;
/// use tidegate_core::policer::{Contract, Policer, Verdict};
/// use tidegate_core::registry::PolicerKind;
/// use tidegate_core::units::{Duration, Rate, Time};
///
/// // Packets of 1000 bytes at 800 kbit/s (one per 10 ms) guaranteed, over a line of 8 Mbit/s (one per ms), in bursts of four.
/// let mut contract = Contract::new(Rate::new(800_000).unwrap(), 1000);
/// contract.peak_rate = Rate::new(8_000_000).ok();
/// contract.burst = Some(4000);
/// let mut policer = PolicerKind::Gfr.build(&contract).unwrap();
/// let mut at = |ms: u64| policer.police(Time::ZERO + Duration::from_milliseconds(ms), 1000, Colour::Green);
/// // BT/2 is 3 * (10 - 1) / 2 = 13.5 ms.
/// assert_eq!([at(0), at(1), at(2), at(15)], [Verdict::Conform, Verdict::Conform, Verdict::Mark(Colour::Yellow), Verdict::Conform]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Gfr {
    bucket: FrameBucket,
    fate: Violation,
    /// True if the present frame is outside (TAGGING).
    is_outside: bool,
}

impl Policer for Gfr {
    fn start(&mut self, now: Time) {
        self.bucket.start(now);
        self.is_outside = false;
    }

    #[inline]
    fn police(&mut self, now: Time, length: u32, colour: Colour) -> Verdict {
        self.police_part(now, length, colour, Part::Whole)
    }

    #[inline]
    fn police_part(&mut self, now: Time, length: u32, colour: Colour, part: Part) -> Verdict {
        if part.is_first() {
            self.is_outside = (colour != Colour::Green || !self.bucket.has_room(now)) && !fault!(FgcraNeverTags);
        }
        let is_outside = self.is_outside;
        if part.is_last() {
            self.is_outside = false;
        }
        if !is_outside {
            self.bucket.charge(now, length);
            return Verdict::Conform;
        }
        match self.fate {
            Violation::Mark(_) if part == Part::Last && !fault!(FgcraTagsLastCells) => Verdict::Conform,
            fate => fate.verdict(colour),
        }
    }

    fn adopt(&mut self, now: Time, old: &Gfr, longest: u32) {
        self.bucket.adopt(now, &old.bucket, longest);
        self.is_outside = old.is_outside;
    }

    fn visit_state(&mut self, state: &mut dyn ContractState) {
        self.bucket.visit_state(state);
        let mut outside = self.is_outside.into();
        state.number(&mut outside, 1);
        self.is_outside = outside > 0;
    }

    fn refresh(&mut self, now: Time) {
        self.bucket.refresh(now);
    }
}

impl Algorithm<Policing> for Gfr {
    const NAME: &'static str = "gfr";
    const SUMMARY: &'static str = "a minimum rate for whole frames: those beyond it are marked yellow";
    const REQUIRES: &'static [ContractField] = &[ContractField::Rate, ContractField::PeakRate];
    const ACCEPTS: &'static [ContractField] = &[ContractField::Burst, ContractField::MaximumFrame, ContractField::DelayVariationTolerance];

    fn build(contract: &Contract) -> Result<Gfr, ContractError> {
        // What is beyond the minimum rate is within the service: it is marked unless something else is said.
        let fate = contract.violation.unwrap_or(Violation::Mark(Colour::Yellow));
        Ok(Gfr { bucket: FrameBucket::of_minimum_rate(contract, if fault!(FgcraFullTolerance) { 1 } else { 2 })?, fate, is_outside: false })
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame_bucket::slots::{CELL, contract, frame, frames};
    use super::*;
    use crate::units::Duration;

    #[test]
    fn transcript_of_frames_at_five_times_the_minimum_rate() {
        let mut gfr = Gfr::build(&contract()).unwrap();
        assert_eq!(gfr.bucket.limit(), Duration::from_nanoseconds(36));
        assert_eq!(frame(&mut gfr, 0), [Verdict::Conform; 5]);
        assert_eq!(gfr.bucket.level(), Duration::from_nanoseconds(42));
        let mut gfr = Gfr::build(&contract()).unwrap();
        assert_eq!(frames(&mut gfr, 10, 12, ['c', 'T']), "cTcTTTTcTTTT");
    }

    #[test]
    fn in_the_long_run_the_minimum_rate_passes() {
        let mut gfr = Gfr::build(&contract()).unwrap();
        let judged = frames(&mut gfr, 10, 10_000, ['c', 'T']);
        assert_eq!(judged.matches('c').count(), 2001);
        let mut gfr = Gfr::build(&contract()).unwrap();
        assert_eq!(frames(&mut gfr, 50, 1000, ['c', 'T']).matches('T').count(), 0, "who keeps to the minimum rate is never tagged");
    }

    #[test]
    fn a_frame_is_tagged_to_the_last_cell_but_one() {
        let mut gfr = Gfr::build(&contract()).unwrap();
        frame(&mut gfr, 0);
        let tag = Verdict::Mark(Colour::Yellow);
        assert_eq!(frame(&mut gfr, 1), [tag, tag, tag, tag, Verdict::Conform]);
        let mut gfr = Gfr::build(&Contract { violation: Some(Violation::Discard), ..contract() }).unwrap();
        frame(&mut gfr, 0);
        assert_eq!(frame(&mut gfr, 1), [Verdict::Discard; 5], "who discards leaves no end of a frame behind");
    }

    #[test]
    fn the_answer_to_the_first_cell_holds_whatever_the_others_bring() {
        let mut gfr = Gfr::build(&contract()).unwrap();
        let mut at = |slot, colour, part| gfr.police_part(Time::from_nanoseconds(slot), CELL, colour, part);
        // No limit within a frame, however long.
        assert_eq!(at(0, Colour::Green, Part::First), Verdict::Conform);
        for _ in 0..100 {
            assert_eq!(at(0, Colour::Green, Part::Middle), Verdict::Conform);
        }
        assert_eq!(at(0, Colour::Green, Part::Last), Verdict::Conform);
        assert_eq!(at(983, Colour::Green, Part::Whole), Verdict::Mark(Colour::Yellow), "1020 - 983 = 37");
        assert_eq!(at(984, Colour::Yellow, Part::First), Verdict::Conform, "tagged by the sender: it keeps its colour and fills nothing");
        assert_eq!(at(984, Colour::Green, Part::Middle), Verdict::Mark(Colour::Yellow));
        assert_eq!(at(984, Colour::Green, Part::Last), Verdict::Conform);
        assert_eq!(at(984, Colour::Green, Part::Whole), Verdict::Conform, "1020 - 984 = 36");
    }

    #[test]
    fn contradictions_are_refused() {
        let field = |contract: Contract| Gfr::build(&contract).err().map(|error| error.field);
        let sound = contract();
        assert_eq!(field(sound), None);
        assert_eq!(field(Contract { maximum_frame: Some(CELL - 1), ..sound }), Some(ContractField::MaximumFrame));
        assert_eq!(field(Contract { burst: Some(5 * CELL - 1), ..sound }), Some(ContractField::Burst));
        assert_eq!(field(Contract { peak_rate: Some(crate::units::Rate::MIN), ..sound }), Some(ContractField::PeakRate));
        // Without a burst it is twice the longest frame, without a longest frame that is the longest packet.
        let limit = |contract: Contract| Gfr::build(&contract).unwrap().bucket.limit();
        assert_eq!(limit(Contract { burst: None, ..sound }), limit(sound));
        assert_eq!(limit(Contract { burst: None, maximum_frame: None, ..sound }), Duration::from_nanoseconds(4));
    }
}
