//! The single rate three colour marker: one rate, a committed burst, and an excess burst that fills with what the committed one cannot take.
//!
//! **Law.** In every interval of length t the green packets hold at most `CBS + CIR * t` bytes, green and yellow together at most
//! `CBS + EBS + CIR * t`.
//! **Source.** RFC 2697, section 3.
//! **State.** 64 bytes: an instant, two bucket levels and the contract.
//! **Cost.** One or two multiplications, no division.
//! **RTL twin.** None yet.
//! **Deviations.** Tokens are not whole bytes: they accrue continuously and exactly, starting when a bucket is first drawn on, where the
//! RFC adds one token CIR times per second. The two differ by less than the time of a byte.

use super::bucket::Bucket;
use super::contract::{Contract, ContractError, ContractField, TOO_SMALL, Violation};
use super::{Enforcement, Policer, Verdict};
use crate::packet::Colour;
use crate::units::{Duration, Time};

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
pub struct SrTcm {
    last: Time,
    committed: Bucket,
    excess: Bucket,
    colour_aware: bool,
    violation: Violation,
}

impl SrTcm {
    #[inline]
    fn drain(&mut self, now: Time) {
        let elapsed: Duration = now.since(self.last);
        self.last += elapsed;
        // Both buckets have the same rate and so the same tick: what the first does not need goes to the second.
        let rest = self.committed.drain_ticks(self.committed.ticks(elapsed));
        self.excess.drain_ticks(rest);
    }
}

impl Policer for SrTcm {
    fn start(&mut self, now: Time) {
        self.last = now;
        self.committed.clear();
        self.excess.clear();
    }

    #[inline]
    fn police(&mut self, now: Time, length: u32, colour: Colour) -> Verdict {
        self.drain(now);
        let assumed = if self.colour_aware { colour } else { Colour::Green };
        let weight = self.committed.weight(length);
        if assumed == Colour::Green && self.committed.fits(weight) {
            self.committed.pour(weight);
            Verdict::recolour(colour, Colour::Green)
        } else if assumed != Colour::Red && self.excess.fits(weight) {
            self.excess.pour(weight);
            Verdict::recolour(colour, Colour::Yellow)
        } else {
            self.violation.verdict(colour)
        }
    }

    fn refresh(&mut self, now: Time) {
        self.drain(now);
    }
}

impl Enforcement for SrTcm {
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
        Ok(SrTcm {
            last: Time::ZERO,
            committed: Bucket::of_bytes(contract.rate, burst),
            excess: Bucket::of_bytes(contract.rate, excess_burst),
            colour_aware: contract.colour_aware.unwrap_or(false),
            violation: contract.red()?,
        })
    }
}
