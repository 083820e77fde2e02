//! The two rate three colour marker: red above the peak rate, yellow above the committed one.
//!
//! **Law.** In every interval of length t the green packets hold at most `CBS + CIR * t` bytes, green and yellow together at most
//! `PBS + PIR * t`.
//! **Source.** RFC 2698, section 3.
//! **State.** 64 bytes: an instant, two bucket levels and the contract.
//! **Cost.** Two multiplications, one look-up, no division and no branch.
//! **RTL twin.** None yet.
//! **Deviations.** Tokens accrue continuously instead of byte by byte, as in [`super::SrTcm`].

use super::contract::{Contract, ContractError, ContractField, TOO_SMALL};
use super::marker::{self, COMMITTED, MarkerTerms, SECOND};
use super::twin_buckets::{Decision, Decisions, Row, TwinBuckets, decisions};
use super::{Policer, Policing, Verdict};
use crate::algorithm::Algorithm;
use crate::contract_state::ContractState;
use crate::packet::Colour;
use crate::units::Time;

/// The marker of RFC 2698.
///
/// ```
/// use tidegate_core::packet::Colour::{Green, Yellow};
/// use tidegate_core::policer::{Contract, Policer, Verdict};
/// use tidegate_core::registry::PolicerKind;
/// use tidegate_core::units::{Rate, Time};
///
/// let mut contract = Contract::new(Rate::new(1_000_000).unwrap(), 1000);
/// contract.burst = Some(1000);
/// contract.peak_rate = Some(Rate::new(2_000_000).unwrap());
/// contract.peak_burst = Some(2000);
/// let mut meter = PolicerKind::TrTcm2698.build(&contract).unwrap();
/// let mut burst = || meter.police(Time::ZERO, 1000, Green);
/// assert_eq!([burst(), burst(), burst()], [Verdict::Conform, Verdict::Mark(Yellow), Verdict::Discard]);
/// ```
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct TrTcm2698 {
    buckets: TwinBuckets<Row>,
}

static DECISIONS: Decisions = decisions!(MarkerTerms::COMBINATIONS, decide);

/// The two modes of the RFC in one: a colour-blind marker assumes green.
const fn decide(row: usize, colour: Colour, [fits_committed, fits_peak]: [bool; 2]) -> Decision {
    let terms = MarkerTerms::of_row(row);
    match terms.assumed(colour) {
        Colour::Green if fits_peak && fits_committed => Decision::pass(colour, Colour::Green, [true, true]),
        Colour::Green | Colour::Yellow if fits_peak => Decision::pass(colour, Colour::Yellow, [false, true]),
        _ => Decision::violate(terms.fate(), colour),
    }
}

impl Policer for TrTcm2698 {
    fn start(&mut self, now: Time) {
        self.buckets.start(now);
    }

    #[inline]
    fn police(&mut self, now: Time, length: u32, colour: Colour) -> Verdict {
        let buckets = &mut self.buckets;
        buckets.drain(now);
        let weights = buckets.weights_of(length);
        let failed = [buckets.lacks_room(COMMITTED, weights[COMMITTED]), buckets.lacks_room(SECOND, weights[SECOND])];
        buckets.decide(&DECISIONS, colour, failed, weights)
    }

    fn adopt(&mut self, now: Time, old: &TrTcm2698, _longest: u32) {
        self.buckets.adopt(now, &old.buckets, 0);
    }

    fn visit_state(&mut self, state: &mut dyn ContractState) {
        self.buckets.visit_state(state);
    }

    fn refresh(&mut self, now: Time) {
        self.buckets.drain(now);
    }
}

impl Algorithm<Policing> for TrTcm2698 {
    const NAME: &'static str = "tr-tcm-2698";
    const SUMMARY: &'static str = "two rates: green within the committed, yellow within the peak, red beyond (RFC 2698)";
    const REQUIRES: &'static [ContractField] =
        &[ContractField::Rate, ContractField::Burst, ContractField::PeakRate, ContractField::PeakBurst];
    const ACCEPTS: &'static [ContractField] = &[ContractField::ColourAware];

    fn build(contract: &Contract) -> Result<TrTcm2698, ContractError> {
        let (burst, peak_burst) = (contract.burst.unwrap_or(0), contract.peak_burst.unwrap_or(0));
        for (field, bytes) in [(ContractField::Burst, burst), (ContractField::PeakBurst, peak_burst)] {
            if bytes < contract.longest_packet {
                return Err(field.wrong(TOO_SMALL));
            }
        }
        let peak_rate = contract.peak_rate.unwrap_or(contract.rate);
        if peak_rate < contract.rate {
            return Err(ContractField::PeakRate.wrong("must be at least the committed rate"));
        }
        Ok(TrTcm2698 { buckets: marker::buckets(contract, [burst, peak_burst], peak_rate, ContractField::PeakRate)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Duration, Rate};
    use Colour::{Green, Red, Yellow};
    use Verdict::{Conform, Discard, Mark};

    /// Committed 8 Mbit/s, a byte every microsecond; peak twice that.
    fn meter(colour_aware: bool) -> TrTcm2698 {
        let mut contract = Contract::new(Rate::new(8_000_000).unwrap(), 100);
        contract.peak_rate = Some(Rate::new(16_000_000).unwrap());
        (contract.burst, contract.peak_burst, contract.colour_aware) = (Some(200), Some(300), Some(colour_aware));
        TrTcm2698::build(&contract).unwrap()
    }

    fn us(n: u64) -> Time {
        Time::ZERO + Duration::from_microseconds(n)
    }

    #[test]
    fn green_takes_from_both_buckets_and_yellow_from_one() {
        let mut meter = meter(false);
        let transcript = [0, 0, 0, 0, 50, 50, 100].map(|at| meter.police(us(at), 100, Green));
        // At 50 us P holds 100 and C 50; at 100 us both hold 100.
        assert_eq!(transcript, [Conform, Conform, Mark(Yellow), Discard, Mark(Yellow), Discard, Conform]);
    }

    #[test]
    fn a_precoloured_packet_is_never_improved() {
        let mut meter = meter(true);
        let transcript = [Red, Yellow, Green, Green, Green].map(|colour| meter.police(us(0), 100, colour));
        assert_eq!(transcript, [Discard, Conform, Conform, Conform, Discard]);
    }

    #[test]
    fn the_peak_rate_is_not_below_the_committed_one() {
        let mut contract = Contract::new(Rate::new(8_000_000).unwrap(), 100);
        (contract.burst, contract.peak_burst, contract.peak_rate) = (Some(100), Some(100), Some(Rate::new(7_999_999).unwrap()));
        assert_eq!(TrTcm2698::build(&contract).unwrap_err().field, ContractField::PeakRate);
        contract.peak_rate = Some(contract.rate);
        assert!(TrTcm2698::build(&contract).is_ok());
        contract.peak_burst = Some(99);
        assert_eq!(TrTcm2698::build(&contract).unwrap_err().field, ContractField::PeakBurst);
    }
}
