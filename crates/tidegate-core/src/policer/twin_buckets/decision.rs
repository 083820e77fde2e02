//! Decision tables: what a policer with two tests does with a packet, looked up instead of branched to.
//!
//! In mixed traffic the failing test is not predictable, and a mispredicted branch costs more than a whole verdict. So a policer always makes
//! both tests and asks its table, which is computed at compile time from the rules of its source.

use super::TwinBuckets;
use crate::packet::Colour;
use crate::policer::{Verdict, Violation};

/// What to do with a packet.
#[derive(Clone, Copy)]
#[repr(align(32))]
pub(crate) struct Decision {
    /// For either bucket all ones if the packet is charged to it, else 0: a mask.
    charges: [u64; 2],
    verdict: Verdict,
}

impl Decision {
    /// The packet came in colour `from`, is found to be of colour `to`, and is charged to the buckets that are true.
    pub(crate) const fn pass(from: Colour, to: Colour, charges: [bool; 2]) -> Decision {
        let verdict = if from as u8 == to as u8 { Verdict::Conform } else { Verdict::Mark(to) };
        Decision { verdict, charges: [(charges[0] as u64).wrapping_neg(), (charges[1] as u64).wrapping_neg()] }
    }

    /// The packet is outside the contract and charged to neither bucket.
    pub(crate) const fn violate(fate: Violation, from: Colour) -> Decision {
        Decision { verdict: fate.verdict(from), charges: [0; 2] }
    }
}

/// A decision for every row, colour and outcome of the two tests. A policer's row stands for its own choices, such as the fate of violating
/// packets. As long as a byte can count, so that no index needs a check.
pub(crate) type Decisions = [Decision; 256];

/// The first entry of a policer's row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Row(u8);

impl Row {
    /// The row of this number, from 0 to 15.
    pub(crate) const fn new(number: usize) -> Row {
        assert!(number < 16);
        Row(number as u8 * 16)
    }
}

/// The rows of a table from a constant function of row, colour and which of the two tests the packet passes.
macro_rules! decisions {
    ($rows:expr, $decide:path) => {{
        use crate::policer::Violation;
        use crate::policer::twin_buckets::{COLOURS, Decision, Decisions};
        let mut table: Decisions = [Decision::violate(Violation::Discard, COLOURS[0]); 256];
        let mut i = 0;
        while i < $rows * 16 {
            // A byte of the index: four bits of row, two of colour, and a bit for either test that is set if it failed.
            if (i >> 2 & 3) < COLOURS.len() {
                table[i] = $decide(i >> 4, COLOURS[i >> 2 & 3], [i & 2 == 0, i & 1 == 0]);
            }
            i += 1;
        }
        table
    }};
}
pub(crate) use decisions;

/// The colours by the number they have in a table.
pub(crate) const COLOURS: [Colour; 3] = [Colour::Green, Colour::Yellow, Colour::Red];

impl TwinBuckets<Row> {
    /// Looks the packet up and charges it. `failed` holds 1 for a failed test, else 0, of either bucket.
    #[inline]
    pub(crate) fn decide(&mut self, table: &Decisions, colour: Colour, failed: [u64; 2], weights: [u64; 2]) -> Verdict {
        let outcome = (failed[0] << 1 | failed[1]) as u8;
        let decision = &table[usize::from(self.terms.0 | (colour as u8) << 2 | outcome)];
        for ((level, weight), charge) in self.levels.iter_mut().zip(weights).zip(decision.charges) {
            *level += weight & charge;
        }
        decision.verdict
    }
}
