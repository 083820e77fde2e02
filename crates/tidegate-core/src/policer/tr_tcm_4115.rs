//! The two rate three colour marker with efficient handling of in-profile traffic: a committed and an excess rate, each with its own bucket.
//! Yellow packets leave the committed bucket alone.
//!
//! **Law.** In every interval of length t the green packets hold less than `CBS + CIR * t` bytes and the yellow ones less than
//! `EBS + EIR * t`.
//! **Source.** RFC 4115, section 3.
//! **State.** 64 bytes: an instant, two bucket levels and the contract.
//! **Cost.** Two multiplications, one look-up, no division and no branch.
//! **RTL twin.** None yet.
//! **Deviations.** Tokens accrue continuously instead of byte by byte, as in [`super::SrTcm`]. The RFC's test `Tc(t) - B > 0` is kept to
//! the letter: a packet must leave something in the bucket. So a burst must exceed the longest packet, which is checked.

use super::contract::{Contract, ContractError, ContractField};
use super::marker::{self, COMMITTED, MarkerTerms, SECOND, decide_by_excess};
use super::twin_buckets::{Decisions, Row, TwinBuckets, decisions};
use super::{Policer, Policing, Verdict};
use crate::algorithm::Algorithm;
use crate::contract_state::ContractState;
use crate::packet::Colour;
use crate::units::Time;

/// The marker of RFC 4115.
///
/// ```
/// use tidegate_core::packet::Colour::{Green, Yellow};
/// use tidegate_core::policer::{Contract, Policer, Verdict};
/// use tidegate_core::registry::PolicerKind;
/// use tidegate_core::units::{Rate, Time};
///
/// let mut contract = Contract::new(Rate::new(1_000_000).unwrap(), 1000);
/// contract.burst = Some(1001);
/// contract.excess_rate = Some(Rate::new(2_000_000).unwrap());
/// contract.excess_burst = Some(1001);
/// contract.colour_aware = Some(true);
/// let mut meter = PolicerKind::TrTcm4115.build(&contract).unwrap();
/// assert_eq!(meter.police(Time::ZERO, 1000, Yellow), Verdict::Conform);
/// assert_eq!(meter.police(Time::ZERO, 1000, Green), Verdict::Conform);
/// assert_eq!(meter.police(Time::ZERO, 1000, Green), Verdict::Discard);
/// ```
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct TrTcm4115 {
    buckets: TwinBuckets<Row>,
}

static DECISIONS: Decisions = decisions!(MarkerTerms::COMBINATIONS, decide_by_excess);

impl Policer for TrTcm4115 {
    fn start(&mut self, now: Time) {
        self.buckets.start(now);
    }

    #[inline]
    fn police(&mut self, now: Time, length: u32, colour: Colour) -> Verdict {
        let buckets = &mut self.buckets;
        buckets.drain(now);
        let weights = buckets.weights_of(length);
        // One tick more than the packet, which has to leave something in the bucket.
        let failed = [buckets.lacks_room(COMMITTED, weights[COMMITTED] + 1), buckets.lacks_room(SECOND, weights[SECOND] + 1)];
        buckets.decide(&DECISIONS, colour, failed, weights)
    }

    fn adopt(&mut self, now: Time, old: &TrTcm4115, _longest: u32) {
        self.buckets.adopt(now, &old.buckets, 0);
    }

    fn visit_state(&mut self, state: &mut dyn ContractState) {
        self.buckets.visit_state(state);
    }

    fn refresh(&mut self, now: Time) {
        self.buckets.drain(now);
    }
}

impl Algorithm<Policing> for TrTcm4115 {
    const NAME: &'static str = "tr-tcm-4115";
    const SUMMARY: &'static str = "a committed and an excess rate: green within the first, yellow within the second, red beyond (RFC 4115)";
    const REQUIRES: &'static [ContractField] =
        &[ContractField::Rate, ContractField::Burst, ContractField::ExcessRate, ContractField::ExcessBurst];
    const ACCEPTS: &'static [ContractField] = &[ContractField::ColourAware];

    fn build(contract: &Contract) -> Result<TrTcm4115, ContractError> {
        let (burst, excess_burst) = (contract.burst.unwrap_or(0), contract.excess_burst.unwrap_or(0));
        for (field, bytes) in [(ContractField::Burst, burst), (ContractField::ExcessBurst, excess_burst)] {
            if bytes <= contract.longest_packet {
                return Err(
                    field.wrong("must exceed the longest packet, which could otherwise never conform: RFC 4115 wants a byte left over")
                );
            }
        }
        let excess_rate = contract.excess_rate.unwrap_or(contract.rate);
        Ok(TrTcm4115 { buckets: marker::buckets(contract, [burst, excess_burst], excess_rate, ContractField::ExcessRate)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Duration, Rate};
    use Colour::{Green, Red, Yellow};
    use Verdict::{Conform, Discard, Mark};

    /// A byte every microsecond committed, and another in excess.
    fn meter(colour_aware: bool) -> TrTcm4115 {
        let rate = Rate::new(8_000_000).unwrap();
        let mut contract = Contract::new(rate, 100);
        (contract.burst, contract.excess_rate, contract.excess_burst) = (Some(201), Some(rate), Some(101));
        contract.colour_aware = Some(colour_aware);
        TrTcm4115::build(&contract).unwrap()
    }

    fn us(n: u64) -> Time {
        Time::ZERO + Duration::from_microseconds(n)
    }

    #[test]
    fn a_packet_leaves_something_in_the_bucket() {
        let mut meter = meter(false);
        assert_eq!([100, 100, 100, 1].map(|length| meter.police(us(0), length, Green)), [Conform, Conform, Mark(Yellow), Discard]);
        // After 99 us C holds exactly 100 bytes, which is not enough for 100 by the letter of the RFC.
        assert_eq!(meter.police(us(99), 100, Green), Discard);
        assert_eq!(meter.police(us(99) + Duration::from_picoseconds(1), 100, Green), Conform);
    }

    #[test]
    fn yellow_packets_leave_the_committed_bucket_alone() {
        let mut meter = meter(true);
        let transcript = [Yellow, Yellow, Green, Green, Green, Red].map(|colour| meter.police(us(0), 100, colour));
        assert_eq!(transcript, [Conform, Discard, Conform, Conform, Discard, Discard]);
    }

    #[test]
    fn bursts_exceed_the_longest_packet() {
        let mut contract = Contract::new(Rate::new(8_000_000).unwrap(), 100);
        contract.excess_rate = Some(contract.rate);
        for (burst, excess, field) in [(100, 101, ContractField::Burst), (101, 100, ContractField::ExcessBurst)] {
            (contract.burst, contract.excess_burst) = (Some(burst), Some(excess));
            assert_eq!(TrTcm4115::build(&contract).unwrap_err().field, field);
        }
    }
}
