//! The single rate three colour marker: one rate, a committed burst, and an excess burst that takes the tokens that overflow the committed
//! one.
//!
//! **Law.** In every interval of length t the green packets hold at most `CBS + CIR * t` bytes, green and yellow together at most
//! `CBS + EBS + CIR * t`.
//! **Source.** RFC 2697, section 3.
//! **State.** 64 bytes: an instant, two bucket levels and the contract.
//! **Cost.** Two multiplications, one look-up, no division and no branch.
//! **RTL twin.** None yet.
//! **Deviations.** Tokens are not whole bytes: they accrue continuously and exactly, from when a bucket is first drawn on. The RFC adds one
//! token CIR times per second; the two differ by less than the time of a byte.

use super::contract::{Contract, ContractError, ContractField, TOO_SMALL};
use super::marker::{self, COMMITTED, MarkerTerms, SECOND, decide_by_excess};
use super::twin_buckets::{Decisions, Row, TwinBuckets, decisions, positive_part};
use super::{Policer, Policing, Verdict};
use crate::algorithm::Algorithm;
use crate::contract_state::ContractState;
use crate::packet::Colour;
use crate::units::Time;

/// The marker of RFC 2697.
///
/// ```
/// use tidegate_core::packet::Colour::{self, Green, Yellow};
/// use tidegate_core::policer::{Contract, Policer, Verdict};
/// use tidegate_core::registry::PolicerKind;
/// use tidegate_core::units::{Rate, Time};
///
/// let mut contract = Contract::new(Rate::new(1_000_000).unwrap(), 1000);
/// contract.burst = Some(2000);
/// contract.excess_burst = Some(1000);
/// let mut meter = PolicerKind::SrTcm.build(&contract).unwrap();
/// let mut burst = || meter.police(Time::ZERO, 1000, Green);
/// assert_eq!([burst(), burst(), burst(), burst()], [Verdict::Conform, Verdict::Conform, Verdict::Mark(Yellow), Verdict::Discard]);
/// ```
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct SrTcm {
    buckets: TwinBuckets<Row>,
}

static DECISIONS: Decisions = decisions!(MarkerTerms::COMBINATIONS, decide_by_excess);

impl SrTcm {
    #[inline]
    fn drain(&mut self, now: Time) {
        let ticks = self.buckets.elapse(now);
        // Both buckets have the same rate: the ticks that the first does not need drain the second.
        let overflow = positive_part(ticks, self.buckets.levels[COMMITTED]);
        self.buckets.levels[COMMITTED] = positive_part(self.buckets.levels[COMMITTED], ticks);
        self.buckets.levels[SECOND] = positive_part(self.buckets.levels[SECOND], overflow);
    }
}

impl Policer for SrTcm {
    fn start(&mut self, now: Time) {
        self.buckets.start(now);
    }

    #[inline]
    fn police(&mut self, now: Time, length: u32, colour: Colour) -> Verdict {
        self.drain(now);
        let buckets = &mut self.buckets;
        let weights = buckets.weights_of(length);
        let failed = [buckets.lacks_room(COMMITTED, weights[COMMITTED]), buckets.lacks_room(SECOND, weights[SECOND])];
        buckets.decide(&DECISIONS, if fault!(SrTcmColourBlind) { Colour::Green } else { colour }, failed, weights)
    }

    fn adopt(&mut self, now: Time, old: &SrTcm, _longest: u32) {
        self.buckets.adopt(now, &old.buckets, 0);
    }

    fn visit_state(&mut self, state: &mut dyn ContractState) {
        self.buckets.visit_state(state);
    }

    fn refresh(&mut self, now: Time) {
        self.drain(now);
    }
}

impl Algorithm<Policing> for SrTcm {
    const NAME: &'static str = "sr-tcm";
    const SUMMARY: &'static str = "one rate and two bursts: green within the first, yellow within the second, red beyond (RFC 2697)";
    const REQUIRES: &'static [ContractField] = &[ContractField::Rate, ContractField::Burst, ContractField::ExcessBurst];
    const ACCEPTS: &'static [ContractField] = &[ContractField::ColourAware];

    fn build(contract: &Contract) -> Result<SrTcm, ContractError> {
        let (burst, excess_burst) = (contract.burst.unwrap_or(0), contract.excess_burst.unwrap_or(0));
        if burst == 0 && excess_burst == 0 {
            return Err(ContractField::Burst.wrong("must be larger than 0 unless `excess_burst` is"));
        }
        // A burst of 0 closes a bucket for good, which the RFC allows for one of the two.
        for (field, bytes) in [(ContractField::Burst, burst), (ContractField::ExcessBurst, excess_burst)] {
            if bytes != 0 && bytes < contract.longest_packet {
                return Err(field.wrong(TOO_SMALL));
            }
        }
        Ok(SrTcm { buckets: marker::buckets(contract, [burst, excess_burst], contract.rate, ContractField::Rate)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Duration, Rate};
    use Colour::{Green, Red, Yellow};
    use Verdict::{Conform, Discard, Mark};

    /// 8 Mbit/s: a byte every microsecond.
    fn meter(burst: u32, excess_burst: u32, colour_aware: bool) -> SrTcm {
        let mut contract = Contract::new(Rate::new(8_000_000).unwrap(), 100);
        (contract.burst, contract.excess_burst, contract.colour_aware) = (Some(burst), Some(excess_burst), Some(colour_aware));
        SrTcm::build(&contract).unwrap()
    }

    fn us(n: u64) -> Time {
        Time::ZERO + Duration::from_microseconds(n)
    }

    #[test]
    fn the_excess_bucket_fills_only_when_the_committed_one_is_full() {
        let mut meter = meter(200, 100, false);
        for expected in [Conform, Conform, Mark(Yellow), Discard] {
            assert_eq!(meter.police(us(0), 100, Green), expected);
        }
        // 100 tokens go to C, none to E.
        assert_eq!(meter.police(us(100), 100, Green), Conform);
        assert_eq!(meter.police(us(100), 100, Green), Discard);
        // 250 tokens: C takes 200 and E the rest, which is not enough for a packet; 50 more are.
        assert_eq!([100, 100, 100].map(|length| meter.police(us(350), length, Green)), [Conform, Conform, Discard]);
        assert_eq!(meter.police(us(350), 50, Green), Mark(Yellow));
        assert_eq!(meter.police(us(350), 1, Green), Discard);
    }

    #[test]
    fn a_precoloured_packet_is_never_improved() {
        let mut aware = meter(200, 100, true);
        assert_eq!(aware.police(us(0), 100, Red), Discard);
        assert_eq!([Yellow, Yellow].map(|colour| aware.police(us(0), 100, colour)), [Conform, Discard]);
        assert_eq!([Green, Green, Green].map(|colour| aware.police(us(0), 100, colour)), [Conform, Conform, Discard]);
        let mut blind = meter(200, 100, false);
        assert_eq!([Red, Yellow, Red].map(|colour| blind.police(us(0), 100, colour)), [Mark(Green), Mark(Green), Mark(Yellow)]);
    }

    #[test]
    fn one_of_the_bursts_may_be_nothing() {
        assert_eq!(meter(0, 100, false).police(us(0), 1, Green), Mark(Yellow));
        let mut single = meter(100, 0, false);
        assert_eq!([100, 1].map(|length| single.police(us(0), length, Green)), [Conform, Discard]);
        let mut contract = Contract::new(Rate::new(8_000_000).unwrap(), 100);
        for (burst, excess, field) in [(0, 0, ContractField::Burst), (99, 0, ContractField::Burst), (100, 99, ContractField::ExcessBurst)] {
            (contract.burst, contract.excess_burst) = (Some(burst), Some(excess));
            assert_eq!(SrTcm::build(&contract).unwrap_err().field, field);
        }
    }
}
