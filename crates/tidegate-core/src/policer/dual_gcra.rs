//! Two GCRAs with coordinated update: a peak rate and a sustained rate over one stream, by ATM's conformance definitions.
//!
//! **Law.** Conforming packets keep both contracts: in any interval of length t they hold at most `longest packet + peak rate * (t + CDVT)`
//! bytes, and those tested against the sustained rate at most `burst + sustained rate * (t + CDVT)`.
//! **Source.** ATM Forum Traffic Management 4.0, conformance definitions CBR.1, VBR.1 to VBR.3, UBR.1 and UBR.2.
//! **State.** 64 bytes, one cache line: an instant, two bucket levels and the whole contract.
//! **Cost.** Two multiplications and no branch: which test fails is not predictable in mixed traffic, so both are made, a table of the
//! definitions says what to commit, and selects commit it.
//! **RTL twin.** None yet.
//! **Deviations.** Packets of any length, as in [`super::VirtualScheduling`]. Green is CLP = 0; yellow and red are both CLP = 1. The leaky
//! bucket form, because both buckets then share one instant.

use super::contract::{Conformance, Contract, ContractError, ContractField, Violation};
use super::twin_buckets::{Demand, TwinBuckets};
use super::{Enforcement, Policer, Verdict};
use crate::packet::Colour;
use crate::units::{Duration, Time, TimePerByte};

/// Peak and sustained rate with coordinated update: a packet is charged to both or to none, except where the definition says one.
///
/// ```
/// use tidegate_core::packet::Colour;
/// use tidegate_core::policer::{Conformance, Contract, Verdict, Policer};
/// use tidegate_core::registry::PolicerKind;
/// use tidegate_core::units::{Duration, Rate, Time};
///
/// // Cells at 424 kbit/s (one per ms) at peak, a tenth of that sustained, bursts of three cells.
/// let mut contract = Contract::new(Rate::new(42_400).unwrap(), 53);
/// contract.peak_rate = Some(Rate::new(424_000).unwrap());
/// contract.burst = Some(3 * 53);
/// contract.conformance = Some(Conformance::Vbr3);
/// let mut policer = PolicerKind::DualGcra.build(&contract).unwrap();
/// let mut at = |ms: u64| policer.police(Time::ZERO + Duration::from_milliseconds(ms), 53, Colour::Green);
/// assert_eq!([at(0), at(1), at(2)], [Verdict::Conform; 3]);
/// assert_eq!(at(3), Verdict::Mark(Colour::Yellow));
/// ```
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct DualGcra {
    buckets: TwinBuckets<Row>,
}

/// The conformance definition and the fate of violating packets, as a row of [`DECISIONS`].
#[derive(Clone, Copy, Debug)]
struct Row(u8);

const _: () = assert!(size_of::<DualGcra>() == 64, "one cache line per flow");

const PEAK: usize = 0;
const SUSTAINED: usize = 1;

/// What to do with a packet, given the two tests.
#[derive(Clone, Copy)]
struct Decision {
    verdict: Verdict,
    /// -1 if the packet is charged to the bucket, else 0: a mask.
    charge_peak: i8,
    charge_sustained: i8,
}

/// A decision for every row, colour and outcome of the two tests; a set bit of the outcome is a failed test.
static DECISIONS: [Decision; ROWS_LIMIT * 16] = decisions();
const ROWS: usize = Conformance::ALL.len() * FATES.len();
/// A power of two, so that a mask replaces the bounds check; the rows beyond [`ROWS`] are never asked for.
const ROWS_LIMIT: usize = ROWS.next_power_of_two();
const FATES: [Violation; 3] = [Violation::Discard, Violation::Mark(Colour::Yellow), Violation::Mark(Colour::Red)];

const fn decisions() -> [Decision; ROWS_LIMIT * 16] {
    let mut table = [VIOLATING; ROWS_LIMIT * 16];
    let mut i = 0;
    while i < ROWS * 16 {
        let colour = match i >> 2 & 3 {
            0 => Colour::Green,
            1 => Colour::Yellow,
            _ => Colour::Red,
        };
        let (row, peak, sustained) = (i >> 4, i & 2 == 0, i & 1 == 0);
        table[i] = decide(Conformance::ALL[row / FATES.len()], FATES[row % FATES.len()], colour, peak, sustained);
        i += 1;
    }
    table
}

const VIOLATING: Decision = Decision { verdict: Verdict::Discard, charge_peak: 0, charge_sustained: 0 };
const WITHIN_PEAK: Decision = Decision { verdict: Verdict::Conform, charge_peak: -1, charge_sustained: 0 };
const WITHIN_BOTH: Decision = Decision { verdict: Verdict::Conform, charge_peak: -1, charge_sustained: -1 };

/// The conformance definitions, word for word.
const fn decide(definition: Conformance, fate: Violation, colour: Colour, peak: bool, sustained: bool) -> Decision {
    let green = matches!(colour, Colour::Green);
    let violating = Decision { verdict: fate.verdict(colour), ..VIOLATING };
    let tagged = if green { Decision { verdict: Verdict::Mark(Colour::Yellow), ..WITHIN_PEAK } } else { WITHIN_PEAK };
    match definition {
        _ if !peak => violating,
        Conformance::Cbr1 | Conformance::Ubr1 => WITHIN_PEAK,
        Conformance::Ubr2 => tagged,
        Conformance::Vbr2 | Conformance::Vbr3 if !green => WITHIN_PEAK,
        _ if sustained => WITHIN_BOTH,
        Conformance::Vbr1 | Conformance::Vbr2 => violating,
        Conformance::Vbr3 => tagged,
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
        let outcome = buckets.is_exceeded(PEAK) << 1 | buckets.is_exceeded(SUSTAINED);
        let decision = &DECISIONS[(usize::from(buckets.terms.0) << 4 | (colour as usize) << 2 | outcome as usize) % DECISIONS.len()];
        buckets.levels[PEAK] += buckets.weight(PEAK, length & decision.charge_peak as u32);
        buckets.levels[SUSTAINED] += buckets.weight(SUSTAINED, length & decision.charge_sustained as u32);
        decision.verdict
    }

    fn refresh(&mut self, now: Time) {
        self.buckets.drain(now);
    }
}

impl Enforcement for DualGcra {
    const NAME: &'static str = "dual-gcra";
    const SUMMARY: &'static str = "a peak and a sustained rate together, by an ATM conformance definition";
    const REQUIRES: &'static [ContractField] = &[ContractField::Rate];
    const ACCEPTS: &'static [ContractField] =
        &[ContractField::PeakRate, ContractField::Burst, ContractField::DelayVariationTolerance, ContractField::Conformance];

    fn build(contract: &Contract) -> Result<DualGcra, ContractError> {
        let definition = contract.conformance.unwrap_or(Conformance::Vbr1);
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
        let fate = FATES.iter().position(|&fate| fate == violation);
        let fate = fate.ok_or(ContractField::Violation.wrong("must be to discard, or to mark yellow or red"))?;
        let row = (Conformance::ALL.iter().position(|&known| known == definition).unwrap_or(0) * FATES.len() + fate) as u8;
        let buckets = TwinBuckets::new(contract.longest_packet, [peak, sustained], Row(row))?;
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
/// intervals are equal, for then a burst never ends.
pub fn maximum_burst_size(tolerance: Duration, peak: Duration, sustained: Duration) -> Option<u64> {
    super::back_to_back_cells(sustained, tolerance, peak)
}

/// The burst tolerance that lets `burst` bytes pass at the peak rate in packets of at most `longest` bytes, rounded down to a picosecond:
/// `(burst - longest) * (sustained - peak)`, where the rates are times per byte. With `longest` the length of a cell it is
/// [`burst_tolerance`]. The sustained rate is at most the peak rate.
pub fn packet_burst_tolerance(burst: u32, longest: u32, peak: TimePerByte, sustained: TimePerByte) -> Duration {
    let bytes = u128::from(burst.saturating_sub(longest));
    // Both times in ticks of the peak rate, whose shift is the larger one; the difference is rounded down.
    let at = |rate: TimePerByte| bytes * u128::from(rate.mantissa()) << (peak.shift() - rate.shift());
    Duration::from_picoseconds((at(sustained).saturating_sub(at(peak)) >> peak.shift()) as u64)
}
