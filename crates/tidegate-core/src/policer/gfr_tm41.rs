//! Guaranteed frame rate of Traffic Management 4.1 and I.371.1: three tests of conformance for every cell, and one of eligibility for frames.
//!
//! **Law.** A cell conforms if it is within GCRA(1/PCR, CDVT), has the cell loss priority of its frame's first cell, and its frame has not grown
//! beyond MFS. A conforming frame of CLP 0 is eligible for the minimum rate if its first cell passes F-GCRA(1/MCR, BT + CDVT). BT is
//! (MBS - 1 cell) * (1/MCR - 1/PCR); only eligible frames fill that bucket.
//! **Source.** ATM Forum Traffic Management 4.1 (af-tm-0121.000), sections 4.5.5 and 4.7.3, appendix VI; ITU-T I.371.1.
//! **State.** 80 bytes: two buckets, the length of the present frame and four flags.
//! **Cost.** Two multiplications, no division.
//! **RTL twin.** None yet.
//! **Deviations.** Packets of any length; frames are measured in bytes. Under GFR.1 conforming cells are not marked; under GFR.2 frames that
//! are not eligible are tagged as a whole, the last cell included. A cell that does not conform is treated as the contract says of violations,
//! and so is the rest of its frame, because half a frame is useless. The last cell of several passes to mark the frame's end, if any cell of
//! the frame has passed and the peak rate allows it. Cells that do not conform fill no bucket.

use super::contract::{Conformance, Contract, ContractError, ContractField, Violation};
use super::frame_bucket::{FrameBucket, maximum_frame};
use super::{Policer, Policing, Verdict};
use crate::algorithm::Algorithm;
use crate::contract_state::ContractState;
use crate::packet::{Colour, Part};
use crate::units::Time;

/// Polices the cells and tags the frames of one flow: parts of different frames must not come in between.
///
/// ```
/// use tidegate_core::packet::Colour;
/// use tidegate_core::policer::{Contract, Policer, Verdict};
/// use tidegate_core::registry::PolicerKind;
/// use tidegate_core::units::{Duration, Rate, Time};
///
/// // Packets of 1000 bytes at 800 kbit/s (one per 10 ms) guaranteed and 8 Mbit/s (one per ms) at peak, in bursts of two.
/// let mut contract = Contract::new(Rate::new(800_000).unwrap(), 1000);
/// contract.peak_rate = Rate::new(8_000_000).ok();
/// let mut policer = PolicerKind::GfrTm41.build(&contract).unwrap();
/// let mut at = |us: u64| policer.police(Time::ZERO + Duration::from_microseconds(us), 1000, Colour::Green);
/// assert_eq!([at(0), at(1000), at(1999)], [Verdict::Conform, Verdict::Conform, Verdict::Discard]);
/// assert_eq!(at(2000), Verdict::Mark(Colour::Yellow));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct GfrTm41 {
    peak: FrameBucket,
    minimum: FrameBucket,
    maximum_frame: u32,
    /// Bytes of the present frame.
    length: u32,
    fate: Violation,
    /// True under GFR.2.
    tags: bool,
    /// Of the present frame: the cell loss priority of its first cell ...
    is_tagged: bool,
    /// ... whether it may count on the minimum rate ...
    is_eligible: bool,
    /// ... whether a cell of it did not conform ...
    is_broken: bool,
    /// ... and whether a cell of it has passed.
    has_passed: bool,
}

impl Policer for GfrTm41 {
    fn start(&mut self, now: Time) {
        self.peak.start(now);
        self.minimum.start(now);
        (self.length, self.is_tagged, self.is_eligible, self.is_broken, self.has_passed) = (0, false, false, false, false);
    }

    #[inline]
    fn police(&mut self, now: Time, length: u32, colour: Colour) -> Verdict {
        self.police_part(now, length, colour, Part::Whole)
    }

    #[inline]
    fn police_part(&mut self, now: Time, length: u32, colour: Colour, part: Part) -> Verdict {
        let is_tagged = colour != Colour::Green;
        if part.is_first() {
            (self.length, self.is_tagged, self.is_broken, self.has_passed) = (0, is_tagged, false, false);
        }
        self.length = self.length.saturating_add(length);
        let within_peak = self.peak.has_room(now);
        // A cell that is not the last announces at least one more.
        let within_size = if part.is_last() { self.length <= self.maximum_frame } else { self.length < self.maximum_frame };
        let conforms = within_peak && is_tagged == self.is_tagged && within_size && !self.is_broken;
        if part.is_first() {
            self.is_eligible = conforms && !is_tagged && self.minimum.has_room(now);
        }
        if !conforms {
            (self.is_broken, self.is_eligible) = (true, false);
            let marks_the_end = part == Part::Last && within_peak && self.has_passed;
            if !marks_the_end {
                return self.fate.verdict(colour);
            }
        }
        self.has_passed = true;
        self.peak.charge(now, length);
        if self.is_eligible {
            self.minimum.charge(now, length);
        }
        let tags = self.tags && conforms && !self.is_eligible && !is_tagged;
        if tags { Verdict::Mark(Colour::Yellow) } else { Verdict::Conform }
    }

    fn adopt(&mut self, now: Time, old: &GfrTm41, longest: u32) {
        self.peak.adopt(now, &old.peak, longest);
        self.minimum.adopt(now, &old.minimum, longest);
        (self.length, self.is_tagged, self.is_eligible) = (old.length, old.is_tagged, old.is_eligible);
        (self.is_broken, self.has_passed) = (old.is_broken, old.has_passed);
    }

    fn visit_state(&mut self, state: &mut dyn ContractState) {
        self.peak.visit_state(state);
        self.minimum.visit_state(state);
        let mut length = self.length.into();
        state.number(&mut length, u32::MAX.into());
        self.length = length as u32;
        for flag in [&mut self.is_tagged, &mut self.is_eligible, &mut self.is_broken, &mut self.has_passed] {
            let mut number = (*flag).into();
            state.number(&mut number, 1);
            *flag = number > 0;
        }
    }

    fn refresh(&mut self, now: Time) {
        self.peak.refresh(now);
        self.minimum.refresh(now);
    }
}

impl Algorithm<Policing> for GfrTm41 {
    const NAME: &'static str = "gfr-tm41";
    const SUMMARY: &'static str = "guaranteed frame rate by Traffic Management 4.1: cells that conform, frames that are eligible";
    const REQUIRES: &'static [ContractField] = &[ContractField::Rate, ContractField::PeakRate];
    const ACCEPTS: &'static [ContractField] =
        &[ContractField::Burst, ContractField::MaximumFrame, ContractField::DelayVariationTolerance, ContractField::Conformance];

    fn build(contract: &Contract) -> Result<GfrTm41, ContractError> {
        let tags = match contract.conformance {
            Some(Conformance::Gfr1) => false,
            None | Some(Conformance::Gfr2) => true,
            Some(_) => return Err(ContractField::Conformance.wrong("must be gfr.1 or gfr.2; the others are those of dual-gcra")),
        };
        Ok(GfrTm41 {
            peak: FrameBucket::of_peak_rate(contract)?,
            minimum: FrameBucket::of_minimum_rate(contract, 1)?,
            maximum_frame: maximum_frame(contract),
            length: 0,
            fate: contract.violation.unwrap_or_default(),
            tags,
            is_tagged: false,
            is_eligible: false,
            is_broken: false,
            has_passed: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame_bucket::slots::{CELL, contract, frame, frames};
    use super::*;
    use crate::units::Duration;
    use Verdict::{Conform, Discard};

    const TAG: Verdict = Verdict::Mark(Colour::Yellow);

    fn built(contract: Contract) -> GfrTm41 {
        GfrTm41::build(&contract).unwrap()
    }

    #[test]
    fn transcript_of_frames_at_five_times_the_minimum_rate() {
        let mut gfr = built(contract());
        assert_eq!(gfr.minimum.limit(), Duration::from_nanoseconds(72));
        assert_eq!(frame(&mut gfr, 0), [Conform; 5]);
        assert_eq!(gfr.minimum.level(), Duration::from_nanoseconds(42));
        assert_eq!(frames(&mut built(contract()), 10, 12, ['E', 'n']), "EEnEnnnnEnnn");
        assert_eq!(frames(&mut built(contract()), 10, 10_000, ['E', 'n']).matches('E').count(), 2002);
        assert_eq!(frames(&mut built(contract()), 50, 1000, ['E', 'n']).matches('n').count(), 0);
    }

    #[test]
    fn gfr_1_never_tags_and_gfr_2_tags_whole_frames() {
        let mut first = built(Contract { conformance: Some(Conformance::Gfr1), ..contract() });
        let mut second = built(Contract { conformance: Some(Conformance::Gfr2), ..contract() });
        for number in 0..100 {
            assert_eq!(frame(&mut first, 10 * number), [Conform; 5]);
            let judged = frame(&mut second, 10 * number);
            assert!(judged == [Conform; 5] || judged == [TAG; 5], "{judged:?}");
        }
        assert!(GfrTm41::build(&Contract { conformance: Some(Conformance::Vbr1), ..contract() }).is_err());
    }

    /// Cells in slots; `T` for one with CLP 1, lower case for those that do not end the frame.
    fn cells(policer: &mut GfrTm41, cells: &[(u64, Colour, Part)]) -> alloc::vec::Vec<Verdict> {
        cells.iter().map(|&(slot, colour, part)| policer.police_part(Time::from_nanoseconds(slot), CELL, colour, part)).collect()
    }

    #[test]
    fn a_cell_beyond_the_peak_rate_breaks_its_frame_but_not_the_end_of_it() {
        use Colour::Green;
        let stream = [(0, Green, Part::First), (1, Green, Part::Middle), (2, Green, Part::Middle), (4, Green, Part::Last)];
        assert_eq!(cells(&mut built(contract()), &stream), [Conform, Discard, Discard, Conform]);
        // An end that comes too early itself goes, and so does one of which nothing has passed.
        let stream = [(0, Green, Part::First), (1, Green, Part::Last), (1, Green, Part::First), (2, Green, Part::Last)];
        assert_eq!(cells(&mut built(contract()), &stream), [Conform, Discard, Discard, Discard]);
        // What was refused has filled no bucket: the next frame may come at once.
        let stream = [(0, Green, Part::Whole), (1, Green, Part::Whole), (2, Green, Part::Whole)];
        assert_eq!(cells(&mut built(contract()), &stream), [Conform, Discard, Conform]);
    }

    #[test]
    fn a_frame_keeps_the_priority_of_its_first_cell() {
        use Colour::{Green, Yellow};
        let stream = [(0, Green, Part::First), (2, Yellow, Part::Middle), (4, Green, Part::Last)];
        assert_eq!(cells(&mut built(contract()), &stream), [Conform, Discard, Conform]);
        let stream = [(0, Yellow, Part::First), (2, Yellow, Part::Middle), (4, Yellow, Part::Last)];
        let mut gfr = built(contract());
        assert_eq!(cells(&mut gfr, &stream), [Conform; 3]);
        assert_eq!(gfr.minimum.level(), Duration::ZERO, "tagged frames have no claim to the minimum rate");
    }

    #[test]
    fn a_frame_has_at_most_the_maximum_of_cells() {
        let long = |cells: u64| (0..cells).map(move |cell| (2 * cell, Colour::Green, Part::of(cell == 0, cell + 1 == cells)));
        let five: alloc::vec::Vec<_> = long(5).collect();
        assert_eq!(cells(&mut built(contract()), &five), [Conform; 5]);
        let seven: alloc::vec::Vec<_> = long(7).collect();
        assert_eq!(cells(&mut built(contract()), &seven), [Conform, Conform, Conform, Conform, Discard, Discard, Conform]);
        let marking = Contract { violation: Some(Violation::Mark(Colour::Red)), ..contract() };
        let red = Verdict::Mark(Colour::Red);
        assert_eq!(cells(&mut built(marking), &seven), [Conform, Conform, Conform, Conform, red, red, Conform]);
        assert_eq!(built(contract()).police(Time::ZERO, 5 * CELL, Colour::Green), Conform);
        assert_eq!(built(contract()).police(Time::ZERO, 5 * CELL + 1, Colour::Green), Discard);
    }
}
