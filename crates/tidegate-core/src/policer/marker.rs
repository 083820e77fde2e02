//! What the three-colour markers share: a committed bucket and a second one, the choices of their contract, and how their buckets are built.

use super::contract::{Contract, ContractError, ContractField, Violation};
use super::twin_buckets::{Decision, Demand, Row, TwinBuckets};
use crate::packet::Colour;
use crate::units::{Duration, Rate};

/// The index of the bucket of the committed rate, which green packets fill.
pub(super) const COMMITTED: usize = 0;

/// The index of the other bucket, of the excess or of the peak rate.
pub(super) const SECOND: usize = 1;

/// The choices that a contract leaves to a marker. Their four combinations are the rows of the marker's decision table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct MarkerTerms {
    colour_aware: bool,
    /// True if red packets are dropped, false if they are passed on in red.
    discards: bool,
}

impl MarkerTerms {
    pub(super) fn of(contract: &Contract) -> Result<MarkerTerms, ContractError> {
        let violation = contract.violation.unwrap_or_default();
        if violation == Violation::Mark(Colour::Yellow) {
            return Err(ContractField::Violation.wrong("must be to discard or to mark red: yellow lies within the contract"));
        }
        Ok(MarkerTerms { colour_aware: contract.colour_aware.unwrap_or(false), discards: violation == Violation::Discard })
    }

    /// The number of combinations.
    pub(super) const COMBINATIONS: usize = 4;

    pub(super) const fn row(self) -> usize {
        (self.colour_aware as usize) << 1 | self.discards as usize
    }

    pub(super) const fn of_row(row: usize) -> MarkerTerms {
        MarkerTerms { colour_aware: row & 2 != 0, discards: row & 1 != 0 }
    }

    /// What becomes of red packets.
    pub(super) const fn fate(&self) -> Violation {
        if self.discards { Violation::Discard } else { Violation::Mark(Colour::Red) }
    }

    /// The colour that the marker takes a packet for.
    pub(super) const fn assumed(&self, colour: Colour) -> Colour {
        if self.colour_aware { colour } else { Colour::Green }
    }
}

/// The two modes of RFC 2697 and RFC 4115 in one: green fits the committed bucket, yellow the excess bucket. A colour-blind marker assumes
/// green.
pub(super) const fn decide_by_excess(row: usize, colour: Colour, [fits_committed, fits_excess]: [bool; 2]) -> Decision {
    let terms = MarkerTerms::of_row(row);
    match terms.assumed(colour) {
        Colour::Green if fits_committed => Decision::pass(colour, Colour::Green, [true, false]),
        Colour::Green | Colour::Yellow if fits_excess => Decision::pass(colour, Colour::Yellow, [false, true]),
        _ => Decision::violate(terms.fate(), colour),
    }
}

/// The two buckets of a marker with these bursts in bytes, the second one of this rate; a rate that cannot be represented is blamed on `field`.
pub(super) fn buckets(
    contract: &Contract,
    bursts: [u32; 2],
    second: Rate,
    field: ContractField,
) -> Result<TwinBuckets<Row>, ContractError> {
    let bucket = |rate, field, bytes| Demand { rate, field, bytes, less_bytes_of_other: 0, time: Duration::ZERO };
    let demands = [bucket(contract.rate, ContractField::Rate, bursts[COMMITTED]), bucket(second, field, bursts[SECOND])];
    TwinBuckets::new(contract.longest_packet, demands, Row::new(MarkerTerms::of(contract)?.row()))
}
