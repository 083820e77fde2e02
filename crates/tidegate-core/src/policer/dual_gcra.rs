//! Two GCRAs with coordinated update: a peak rate and a sustained rate over one stream, by ATM's conformance definitions.
//!
//! **Law.** Conforming packets keep both contracts. In any interval of length t they hold at most `longest packet + peak rate * (t + CDVT)`
//! bytes. Those tested against the sustained rate hold at most `burst + sustained rate * (t + CDVT)`.
//! **Source.** ATM Forum Traffic Management 4.0, conformance definitions CBR.1, VBR.1 to VBR.3, UBR.1 and UBR.2.
//! **State.** 64 bytes, one cache line: an instant, two bucket levels and the whole contract.
//! **Cost.** Two multiplications, one look-up and no branch: both tests are always made, and a table of the definitions says what to charge.
//! **RTL twin.** None yet.
//! **Deviations.** Packets of any length, as in [`super::VirtualScheduling`]. Green is CLP = 0; yellow and red are both CLP = 1. The leaky
//! bucket form, because both buckets then share one instant.

use super::contract::{Conformance, Contract, ContractError, ContractField, Violation};
use super::twin_buckets::{Decision, Decisions, Demand, Row, TwinBuckets, decisions};
use super::{Policer, Policing, Verdict};
use crate::algorithm::Algorithm;
use crate::contract_state::ContractState;
use crate::packet::Colour;
use crate::units::{Duration, Time, TimePerByte};

/// Peak and sustained rate with coordinated update: a packet is charged to both buckets or to neither, unless the definition says one.
///
/// ```
/// use tidegate_core::packet::Colour;
/// use tidegate_core::policer::{Conformance, Contract, Verdict, Policer};
/// use tidegate_core::registry::PolicerKind;
/// use tidegate_core::units::{Duration, Rate, Time};
///
/// // Packets of 100 bytes at 800 kbit/s (one per ms) at peak, a tenth of that sustained, bursts of three packets.
/// let mut contract = Contract::new(Rate::new(80_000).unwrap(), 100);
/// contract.peak_rate = Some(Rate::new(800_000).unwrap());
/// contract.burst = Some(3 * 100);
/// contract.conformance = Some(Conformance::Vbr3);
/// let mut policer = PolicerKind::DualGcra.build(&contract).unwrap();
/// let mut at = |ms: u64| policer.police(Time::ZERO + Duration::from_milliseconds(ms), 100, Colour::Green);
/// assert_eq!([at(0), at(1), at(2)], [Verdict::Conform; 3]);
/// assert_eq!(at(3), Verdict::Mark(Colour::Yellow));
/// ```
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct DualGcra {
    buckets: TwinBuckets<Row>,
}

const _: () = assert!(size_of::<DualGcra>() == 64, "one cache line per flow");

/// The index of the bucket of the peak rate.
const PEAK: usize = 0;
/// The index of the bucket of the sustained rate.
const SUSTAINED: usize = 1;

/// Every definition that differs from the others; UBR.1 is CBR.1.
const DEFINITIONS: [Conformance; 5] = [Conformance::Cbr1, Conformance::Vbr1, Conformance::Vbr2, Conformance::Vbr3, Conformance::Ubr2];
const VIOLATIONS: [Violation; 3] = [Violation::Discard, Violation::Mark(Colour::Yellow), Violation::Mark(Colour::Red)];

static DECISIONS: Decisions = decisions!(DEFINITIONS.len() * VIOLATIONS.len(), decide);

/// The conformance definitions, word for word.
const fn decide(row: usize, colour: Colour, [peak, sustained]: [bool; 2]) -> Decision {
    let green = matches!(colour, Colour::Green);
    let tag = if green { Colour::Yellow } else { colour };
    match DEFINITIONS[row / VIOLATIONS.len()] {
        _ if !peak => Decision::violate(VIOLATIONS[row % VIOLATIONS.len()], colour),
        Conformance::Cbr1 | Conformance::Ubr1 | Conformance::Gfr1 | Conformance::Gfr2 => Decision::pass(colour, colour, [true, false]),
        Conformance::Ubr2 => Decision::pass(colour, tag, [true, false]),
        Conformance::Vbr2 | Conformance::Vbr3 if !green => Decision::pass(colour, colour, [true, false]),
        _ if sustained => Decision::pass(colour, colour, [true, true]),
        Conformance::Vbr1 | Conformance::Vbr2 => Decision::violate(VIOLATIONS[row % VIOLATIONS.len()], colour),
        Conformance::Vbr3 => Decision::pass(colour, tag, [true, false]),
    }
}

impl Policer for DualGcra {
    fn start(&mut self, now: Time) {
        self.buckets.start(now);
    }

    #[inline]
    fn police(&mut self, now: Time, length: u32, colour: Colour) -> Verdict {
        let buckets = &mut self.buckets;
        buckets.drain(now);
        let failed = [buckets.is_exceeded(PEAK), buckets.is_exceeded(SUSTAINED)];
        buckets.decide(&DECISIONS, colour, failed, buckets.weights_of(length))
    }

    fn adopt(&mut self, now: Time, old: &DualGcra, longest: u32) {
        self.buckets.adopt(now, &old.buckets, longest);
    }

    fn visit_state(&mut self, state: &mut dyn ContractState) {
        self.buckets.visit_state(state);
    }

    fn refresh(&mut self, now: Time) {
        self.buckets.drain(now);
    }
}

impl Algorithm<Policing> for DualGcra {
    const NAME: &'static str = "dual-gcra";
    const SUMMARY: &'static str = "a peak and a sustained rate together, by an ATM conformance definition";
    const REQUIRES: &'static [ContractField] = &[ContractField::Rate];
    const ACCEPTS: &'static [ContractField] =
        &[ContractField::PeakRate, ContractField::Burst, ContractField::DelayVariationTolerance, ContractField::Conformance];

    fn build(contract: &Contract) -> Result<DualGcra, ContractError> {
        let definition = contract.conformance.unwrap_or(Conformance::Vbr1);
        if definition.is_of_frames() {
            return Err(ContractField::Conformance.wrong("is about frames: choose the policer gfr-tm41 for it"));
        }
        let (mut peak_rate, mut beyond_first) = (contract.rate, 0);
        if definition.has_sustained_rate() {
            peak_rate = contract.peak_rate.ok_or(ContractField::PeakRate.wrong("this conformance definition needs it"))?;
            beyond_first = contract.burst_beyond_first_packet()?;
            if peak_rate < contract.rate {
                return Err(ContractField::PeakRate.wrong("must be at least the sustained rate"));
            }
        } else if let Some(field) = [ContractField::PeakRate, ContractField::Burst].into_iter().find(|&field| contract.has(field)) {
            return Err(field.wrong("this conformance definition has one rate, the peak rate, given as `rate`"));
        }
        // The burst tolerance is (burst - first packet) * (sustained - peak), in times per byte: exact, because the tick is common.
        let time = contract.tolerance();
        let peak = Demand { rate: peak_rate, field: ContractField::PeakRate, bytes: 0, less_bytes_of_other: 0, time };
        let sustained =
            Demand { rate: contract.rate, field: ContractField::Rate, bytes: beyond_first, less_bytes_of_other: beyond_first, time };
        let violation = contract.violation.unwrap_or_default();
        let choice = VIOLATIONS.iter().position(|&known| known == violation);
        let choice = choice.ok_or(ContractField::Violation.wrong("must be to discard, or to mark yellow or red"))?;
        let known = if definition == Conformance::Ubr1 { Conformance::Cbr1 } else { definition };
        let row = DEFINITIONS.iter().position(|&distinct| distinct == known).unwrap_or(0) * VIOLATIONS.len() + choice;
        let buckets = TwinBuckets::new(contract.longest_packet, [peak, sustained], Row::new(row))?;
        Ok(DualGcra { buckets })
    }
}

/// The burst tolerance of `cells` cells at peak spacing: `(cells - 1) * (sustained - peak)`, where `peak` and `sustained` are the cell
/// intervals T and Ts of the two rates. It is the least of the tolerances that let the whole burst pass.
pub fn burst_tolerance(cells: u32, peak: Duration, sustained: Duration) -> Duration {
    let gap = sustained.saturating_sub(peak).picoseconds();
    Duration::from_picoseconds(u64::from(cells.saturating_sub(1)).saturating_mul(gap))
}

/// The maximum burst size in cells that a burst tolerance stands for: `1 + floor(tolerance / (sustained - peak))`; `None` if the two
/// intervals are equal, because then a burst never ends.
pub fn maximum_burst_size(tolerance: Duration, peak: Duration, sustained: Duration) -> Option<u64> {
    super::back_to_back_cells(sustained, tolerance, peak)
}

/// The burst tolerance that lets `burst` bytes pass at the peak rate in packets of at most `longest` bytes, rounded down to a picosecond:
/// `(burst - longest) * (sustained - peak)`, where the rates are times per byte. With `longest` the length of a cell it is
/// [`burst_tolerance`]. The sustained rate is at most the peak rate.
pub fn packet_burst_tolerance(burst: u32, longest: u32, peak: TimePerByte, sustained: TimePerByte) -> Duration {
    let bytes = u128::from(burst.saturating_sub(longest));
    // Both times in ticks of the peak rate, whose shift is the larger one; the difference is rounded down.
    let at = |rate: TimePerByte| (bytes * u128::from(rate.mantissa())) << (peak.shift() - rate.shift());
    Duration::from_picoseconds((at(sustained).saturating_sub(at(peak)) >> peak.shift()) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Rate;
    use alloc::vec::Vec;

    /// Four bytes, so that a cell every four nanoseconds is 8 Gbit/s and every interval of slots a whole number of picoseconds per byte.
    const CELL: u32 = 4;

    /// Cells at one per `peak` and one per `sustained` slots, where a slot is a nanosecond.
    fn in_slots(peak: u64, sustained: u64, cells: u32, definition: Conformance) -> DualGcra {
        let rate = |slots: u64| Rate::new(u64::from(CELL) * 8_000_000_000 / slots).unwrap();
        let mut contract = Contract::new(rate(sustained), CELL);
        contract.peak_rate = Some(rate(peak));
        contract.burst = Some(cells * CELL);
        contract.conformance = Some(definition);
        DualGcra::build(&contract).unwrap()
    }

    fn slot(n: u64) -> Time {
        Time::from_nanoseconds(n)
    }

    /// When a bucket is empty again, in slots: its theoretical arrival time.
    fn theoretical_arrival(policer: &DualGcra, bucket: usize, now: u64) -> u64 {
        now + (policer.buckets.levels[bucket] >> policer.buckets.scale()) / 1000
    }

    #[test]
    fn burst_tolerance_and_its_inverse() {
        let slots = Duration::from_microseconds;
        assert_eq!(burst_tolerance(10, slots(4), slots(20)), slots(144));
        assert_eq!(maximum_burst_size(slots(144), slots(4), slots(20)), Some(10));
        assert_eq!(maximum_burst_size(slots(159), slots(4), slots(20)), Some(10));
        assert_eq!(maximum_burst_size(slots(160), slots(4), slots(20)), Some(11));
        assert_eq!(burst_tolerance(1, slots(4), slots(20)), Duration::ZERO);
        assert_eq!(burst_tolerance(100, slots(4), slots(4)), Duration::ZERO);
        assert_eq!(maximum_burst_size(Duration::ZERO, slots(4), slots(4)), None);
    }

    #[test]
    fn burst_tolerance_of_an_mpeg_stream() {
        // 15 and 4 Mbit/s on a payload of 149.76 Mbit/s: T = 9.984 and Ts = 37.44 slots, and 100 cells of burst take 2718.144 slots.
        let milli_slots = Duration::from_nanoseconds;
        assert_eq!(burst_tolerance(100, milli_slots(9_984), milli_slots(37_440)), milli_slots(2_718_144));
        let slot = |n: u128| (n * 424 * 1_000_000_000_000 / 149_760_000) as u64;
        let rate = |bps| Rate::new(bps).unwrap().time_per_byte();
        let tolerance = packet_burst_tolerance(5300, 53, rate(15_000_000), rate(4_000_000)).picoseconds();
        assert!(tolerance.abs_diff(slot(2_718_144) / 1000) < 2, "{tolerance}");
    }

    #[test]
    fn updates_are_coordinated() {
        let mut policer = in_slots(4, 20, 10, Conformance::Vbr1);
        let verdicts: Vec<_> = (0..12).map(|k| policer.police(slot(4 * k), CELL, Colour::Green) == Verdict::Conform).collect();
        assert_eq!(verdicts, [[true; 10].as_slice(), &[false; 2]].concat());
        // The refused cells have left the peak bucket alone: it is empty at 40 and stays so. An update regardless would have given 48.
        assert_eq!(theoretical_arrival(&policer, PEAK, 44), 44);
        assert_eq!(theoretical_arrival(&policer, SUSTAINED, 44), 200);
        let mut policer = in_slots(4, 20, 10, Conformance::Vbr1);
        for k in 0..10 {
            assert_eq!(policer.police(slot(4 * k), CELL, Colour::Green), Verdict::Conform);
        }
        assert_eq!((theoretical_arrival(&policer, PEAK, 36), theoretical_arrival(&policer, SUSTAINED, 36)), (40, 200));
        for refused in [39, 40] {
            assert_eq!(policer.police(slot(refused), CELL, Colour::Green), Verdict::Discard);
            assert_eq!((theoretical_arrival(&policer, PEAK, refused), theoretical_arrival(&policer, SUSTAINED, refused)), (40, 200));
        }
    }

    #[test]
    fn definitions_differ_as_they_should() {
        use Conformance::*;
        use Verdict::*;
        // A green burst of three at peak spacing where two are sustained, then a yellow cell, then a green one that comes too early.
        let stream = [(0, Colour::Green), (4, Colour::Green), (8, Colour::Green), (12, Colour::Yellow), (13, Colour::Green)];
        let expected = [
            (Vbr1, [Conform, Conform, Discard, Discard, Discard]),
            (Vbr2, [Conform, Conform, Discard, Conform, Discard]),
            (Vbr3, [Conform, Conform, Mark(Colour::Yellow), Conform, Discard]),
        ];
        for (definition, verdicts) in expected {
            let mut policer = in_slots(4, 20, 2, definition);
            assert_eq!(stream.map(|(at, colour)| policer.police(slot(at), CELL, colour)), verdicts, "{definition:?}");
        }
        for (definition, passed) in [(Cbr1, Conform), (Ubr1, Conform), (Ubr2, Mark(Colour::Yellow))] {
            let mut contract = Contract::new(Rate::new(8_000_000_000).unwrap(), CELL);
            contract.conformance = Some(definition);
            let mut policer = DualGcra::build(&contract).unwrap();
            let verdicts = stream.map(|(at, colour)| policer.police(slot(at), CELL, colour));
            assert_eq!(verdicts, [passed, passed, passed, Conform, Discard], "{definition:?}");
        }
    }

    #[test]
    fn a_whole_burst_passes_at_the_peak_rate_and_no_cell_more() {
        // Rates whose times per byte are not whole numbers of anything.
        for (peak, sustained, cells) in [(15_000_000, 4_000_000, 100), (155_520_000, 1_234_567, 2_000)] {
            let mut contract = Contract::new(Rate::new(sustained).unwrap(), 53);
            contract.peak_rate = Some(Rate::new(peak).unwrap());
            contract.burst = Some(cells * 53);
            let mut policer = DualGcra::build(&contract).unwrap();
            let mut now = Time::ZERO;
            let mut passed = 0;
            while policer.police(now, 53, Colour::Green) == Verdict::Conform {
                passed += 1;
                // The first picosecond at which the peak bucket lets another cell pass.
                now += Duration::from_picoseconds(policer.buckets.levels[PEAK].div_ceil(1 << policer.buckets.scale()));
            }
            assert_eq!(passed, cells);
        }
    }

    #[test]
    fn contradictions_are_refused() {
        let mut contract = Contract::new(Rate::new(1_000_000).unwrap(), 1500);
        let field = |contract: &Contract| DualGcra::build(contract).unwrap_err().field;
        assert_eq!(field(&contract), ContractField::PeakRate);
        contract.peak_rate = Some(Rate::new(999_999).unwrap());
        assert_eq!(field(&contract), ContractField::PeakRate);
        contract.peak_rate = Some(Rate::new(2_000_000).unwrap());
        contract.burst = Some(1499);
        assert_eq!(field(&contract), ContractField::Burst);
        contract.burst = Some(1500);
        assert!(DualGcra::build(&contract).is_ok());
        contract.conformance = Some(Conformance::Cbr1);
        assert_eq!(field(&contract), ContractField::PeakRate);
    }
}
