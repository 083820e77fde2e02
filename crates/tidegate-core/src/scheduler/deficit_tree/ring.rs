//! How the members of a node take turns.

use super::member::Member;
use crate::packet::Flow;
use crate::scheduler::deficit_turns::DeficitTurns;
use crate::scheduler::sparse_turns::{InLists, SparseTurns};

/// The turns of one node.
// The two share their memory, and one cache line holds what a packet needs of either.
#[derive(Clone, Debug)]
pub(super) enum Ring {
    Deficits(DeficitTurns),
    Sparse(SparseTurns),
}

impl InLists for Member {
    #[inline]
    fn credit(&self) -> i64 {
        self.deficit as i64
    }

    #[inline]
    fn set_credit(&mut self, credit: i64) {
        self.deficit = credit as u64;
    }

    #[inline]
    fn length_mut(&mut self) -> &mut u32 {
        &mut self.length
    }

    #[inline]
    fn has_head(&self) -> bool {
        self.presented
    }

    #[inline]
    fn set_head(&mut self, has_head: bool) {
        self.presented = has_head;
    }

    // In the place of the round, which these flows do not have.
    #[inline]
    fn is_new(&self) -> bool {
        self.round == 1
    }

    #[inline]
    fn set_new(&mut self, is_new: bool) {
        self.round = u32::from(is_new);
    }
}

impl Ring {
    /// The member whose turn it was when the ring was settled last; before, any of the ring.
    #[inline]
    pub(super) fn front(&self) -> Option<u32> {
        match self {
            Ring::Deficits(turns) => turns.front(),
            Ring::Sparse(turns) => turns.front(),
        }
    }

    /// True if the front may be another since `member` has come.
    #[inline]
    pub(super) fn is_changed_by(&self, member: u32) -> bool {
        match self {
            Ring::Deficits(turns) => turns.front() == Some(member),
            Ring::Sparse(_) => true,
        }
    }

    /// The member whose turn it is.
    #[inline]
    pub(super) fn settle(&mut self, members: &mut [Member]) -> Option<u32> {
        match self {
            Ring::Deficits(turns) => turns.settle(members),
            Ring::Sparse(turns) => turns.settle(members),
        }
    }

    /// A member has got a head of `length` bytes.
    #[inline]
    pub(super) fn activate(&mut self, members: &mut [Member], member: u32, length: u32) {
        match self {
            Ring::Deficits(turns) => turns.activate(members, member, length),
            Ring::Sparse(turns) => turns.activate(members, member, length),
        }
    }

    /// A suspended member has come back.
    #[inline]
    pub(super) fn resume(&mut self, members: &mut [Member], member: u32, length: u32) {
        match self {
            Ring::Deficits(turns) => turns.resume(members, member, length),
            Ring::Sparse(turns) => turns.activate(members, member, length),
        }
    }

    /// The head of the front has been sent.
    #[inline]
    pub(super) fn served(&mut self, members: &mut [Member], member: u32, next: Option<u32>) {
        match self {
            Ring::Deficits(turns) => turns.served(members, member, next),
            Ring::Sparse(turns) => turns.served(members, member, next),
        }
    }

    /// A member has nothing to send for a while.
    #[inline]
    pub(super) fn suspend(&mut self, members: &mut [Member], member: u32) {
        match self {
            Ring::Deficits(turns) => turns.suspend(members, member),
            Ring::Sparse(turns) => turns.lost_all(members, member),
        }
    }

    /// A member has nothing to send any more.
    #[inline]
    pub(super) fn leave(&mut self, members: &mut [Member], member: u32) {
        match self {
            Ring::Deficits(turns) => turns.leave(members, member),
            Ring::Sparse(turns) => turns.lost_all(members, member),
        }
    }

    /// A member, which has nothing to send, goes for good.
    pub(super) fn forget(&mut self, members: &mut [Member], member: u32) {
        if let Ring::Sparse(turns) = self {
            turns.forget(members, member);
        }
        let record = &mut members[member as usize];
        (record.deficit, record.round) = (0, 0);
    }

    /// A member whose turn comes soon.
    #[inline]
    pub(super) fn prefetch_hint(&self) -> Flow {
        match self {
            Ring::Deficits(turns) => turns.prefetch_hint(),
            Ring::Sparse(turns) => turns.prefetch_hint(),
        }
    }
}
