//! The turns that are expected, in their order, and how far the walk that finds them has come.

use crate::scheduler::PREFETCH_DISTANCE;

/// The places for turns that are expected, a power of two above [`PREFETCH_DISTANCE`].
const PLACES: usize = 32;

/// The turns that are expected, and how far the walk has come. Counts are taken modulo 2^32.
#[derive(Clone, Debug)]
pub(super) struct ExpectedTurns {
    /// The members expected, in a ring: those from `next` to `end` are still to come.
    expected: [u32; PLACES],
    pub(super) next: u32,
    pub(super) end: u32,
    /// The first of them whose leaf has not been named.
    pub(super) unnamed: u32,
    /// The node above the last one.
    pub(super) node: u32,
    /// The turns that this node is expected to have behind it.
    pub(super) left: u32,
    /// The node and the member of the turn under way, and how many turns this node has had in a row.
    pub(super) turn: (u32, u32),
    pub(super) turns: u32,
    /// The turns since the last that was expected.
    pub(super) surprises: u32,
}

impl ExpectedTurns {
    /// Expects nothing.
    pub(super) const NEW: ExpectedTurns = ExpectedTurns {
        expected: [0; PLACES],
        next: 1,
        end: 1,
        unnamed: 1,
        node: 0,
        left: 0,
        turn: (u32::MAX, u32::MAX),
        turns: 0,
        surprises: 0,
    };

    /// Another turn is expected, of `member`.
    #[inline]
    pub(super) fn expect(&mut self, member: u32) {
        self.expected[self.end as usize % PLACES] = member;
        self.end = self.end.wrapping_add(1);
    }

    /// The number of turns that are expected.
    #[inline]
    pub(super) fn len(&self) -> u32 {
        self.end.wrapping_sub(self.next)
    }

    /// `member` has its turn; true if that was expected.
    #[inline]
    pub(super) fn has_come(&mut self, member: u32) -> bool {
        let found = (0..self.len()).find(|&ahead| self.expected[self.next.wrapping_add(ahead) as usize % PLACES] == member);
        let Some(ahead) = found else { return false };
        let to_be_named = self.end.wrapping_sub(self.unnamed);
        self.next = self.next.wrapping_add(ahead + 1);
        if to_be_named > self.len() {
            self.unnamed = self.next;
        }
        true
    }

    /// The member whose turn has this number.
    #[inline]
    pub(super) fn member(&self, number: u32) -> u32 {
        self.expected[number as usize % PLACES]
    }
}

const _: () = assert!(PREFETCH_DISTANCE < PLACES && PLACES.is_power_of_two());
