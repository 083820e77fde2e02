//! The record of a member of the tree: one cache line.

use crate::contract_state::ContractState;
use crate::scheduler::active_list::Links;
use crate::scheduler::deficit_turns::in_turns;
use crate::shaper::Allowance;
use crate::units::{Duration, Time, TimePerByte};

/// How the contract of a member is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Contract {
    /// There is none.
    None,
    /// One bucket, in the member's own line.
    Single,
    /// A peak rate or a dual bucket, in the table of contracts.
    Full,
}

/// A node or a leaf, as a child of the node above.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Member {
    /// The instant at which the bucket is full again, plus the tolerance.
    full: Time,
    /// What a byte costs of the bucket.
    rate: TimePerByte,
    /// How far before `full` a packet may start: the burst plus the tolerance.
    lead: Duration,
    /// The rest of its turn in the ring of the node above.
    pub(super) deficit: u64,
    pub(super) links: Links,
    pub(super) weight: u32,
    /// The wire length of what it has to send, or last had.
    pub(super) length: u32,
    /// The round of its turn.
    pub(super) round: u32,
    /// The node above.
    pub(super) parent: u32,
    /// It is in the ring of the node above.
    pub(super) presented: bool,
    /// It is on the waiting list; never while presented.
    pub(super) waits: bool,
    /// It, or what is below it, has more to send but may not yet: the node above keeps what its turn has left.
    pub(super) suspended: bool,
    pub(super) contract: Contract,
}

in_turns!(Member);

impl Member {
    /// A member without a contract that has nothing to send.
    pub(super) const NEW: Member = Member {
        full: Time::ZERO,
        rate: TimePerByte::ZERO,
        lead: Duration::ZERO,
        deficit: 0,
        links: Links::NONE,
        weight: 1,
        length: 0,
        round: 0,
        parent: 0,
        presented: false,
        waits: false,
        suspended: false,
        contract: Contract::None,
    };

    /// The earliest instant at which its next packet may start, by a single bucket.
    #[inline]
    pub(super) fn release(&self) -> Time {
        self.full - self.lead
    }

    /// A packet of `length` bytes starts, which a single bucket allows.
    #[inline]
    pub(super) fn charge(&mut self, now: Time, length: u32) {
        self.full = self.full.later(now) + self.rate.ceil(length);
    }

    /// Keeps a contract from now on: in its own line, unless that is too short for it.
    pub(super) fn keep(&mut self, allowance: &Allowance) {
        self.contract = Contract::Full;
        if let Some((full, rate, lead)) = allowance.single() {
            (self.contract, self.full, self.rate, self.lead) = (Contract::Single, full, rate, lead);
        }
    }

    /// The state of its bucket as that of the whole contract.
    pub(super) fn allowance(&self, contract: &Allowance) -> Allowance {
        if self.contract == Contract::Single { contract.with_single(self.full) } else { *contract }
    }

    /// Shows what a single bucket has granted.
    #[inline]
    pub(super) fn visit_state(&mut self, state: &mut dyn ContractState) {
        // A plan that has passed is given up by the next packet, whatever it is.
        if state.contract(!self.full.is_after(state.resting_at())) {
            state.instant(&mut self.full);
        } else if self.full.is_after(state.resting_at()) {
            self.full = state.resting_at();
        }
    }

    /// Moves the state of a single bucket to where it still compares correctly.
    pub(super) fn refresh(&mut self, oldest: Time) {
        self.full = self.full.later(oldest);
    }
}
