//! Those members of a cohort that have to compete: in a [`Lineup`] where a good part of them is served in every period, otherwise in a
//! [`Tournament`].

use super::lineup::Lineup;
use super::tournament::{Claim, Contender, NOBODY, Tournament};
use alloc::vec::Vec;

/// A lineup stays while there is one service per miss for so many members, and begins with one for so many.
const STAYS: usize = 12;
const BEGINS: usize = 8;

#[derive(Clone, Default, Debug)]
pub(super) struct Contest {
    lineup: Lineup,
    tournament: Tournament,
    /// Which of the two is in use.
    is_tournament: bool,
    /// Whoever moves from one to the other; empty otherwise.
    moving: Vec<u32>,
}

impl Contest {
    /// Forgets everybody, and keeps the memory.
    pub fn clear(&mut self) {
        self.lineup.clear();
        self.is_tournament = false;
    }

    pub fn len(&self) -> usize {
        if self.is_tournament { self.tournament.len() } else { self.lineup.len() }
    }

    /// True if those who tolerate nothing had better not compete.
    #[inline]
    pub fn is_large(&self) -> bool {
        self.is_tournament && self.tournament.is_large()
    }

    /// Everybody, in no particular order.
    pub fn members(&self, contenders: &[Contender]) -> impl Iterator<Item = u32> {
        let (one, other) = if self.is_tournament { (None, Some(&self.tournament)) } else { (Some(&self.lineup), None) };
        one.into_iter().flat_map(Lineup::members).chain(other.into_iter().flat_map(|tournament| tournament.members(contenders)))
    }

    /// Asks the processor for what is needed when the cohort's turn comes.
    pub fn fetch(&self) {
        if self.is_tournament { self.tournament.fetch() } else { self.lineup.fetch() }
    }

    /// False if [`Contest::suit`] would do nothing.
    #[inline]
    pub const fn may_suit_better(&self, services: usize) -> bool {
        services > self.is_tournament as usize
    }

    /// Takes the one that suits a cohort of so many members who have had so many services since the last miss.
    #[inline]
    pub fn suit(&mut self, services: usize, members: usize, misses: u64, contenders: &mut [Contender]) {
        if self.is_tournament {
            if services * BEGINS >= members {
                self.line_up(contenders);
            }
        } else if services * STAYS < members {
            self.compete(misses, contenders);
        }
    }

    #[inline(never)]
    fn line_up(&mut self, contenders: &mut [Contender]) {
        self.moving.extend(self.tournament.members(contenders));
        self.clear();
        for stream in self.moving.drain(..) {
            self.lineup.insert(stream, contenders);
        }
    }

    #[inline(never)]
    fn compete(&mut self, misses: u64, contenders: &mut [Contender]) {
        self.moving.extend(self.lineup.members());
        self.is_tournament = true;
        self.tournament.clear();
        // Runs are as long as they can be if everybody comes in order.
        self.moving.sort_unstable_by_key(|&stream| contenders[stream as usize].claim.place());
        self.tournament.insert_all(&self.moving, misses, contenders);
        self.moving.clear();
    }

    /// Settles who is first at the count `misses`.
    #[inline]
    pub fn put_in_order(&mut self, misses: u64) {
        if !self.is_tournament {
            self.lineup.put_in_order(misses);
        }
    }

    /// The claim of the first of all, if there is one.
    #[inline]
    pub fn first(&self) -> Option<&Claim> {
        if self.is_tournament { self.tournament.first() } else { self.lineup.first() }
    }

    /// Who may come after `first`; some may be nobody.
    #[inline]
    pub fn next(&self, first: u32, contenders: &[Contender]) -> [u32; 3] {
        match (self.is_tournament, self.tournament.len()) {
            (false, _) => self.lineup.next(),
            (true, 0) => [NOBODY; 3],
            _ => {
                let [one, other] = self.tournament.finalists();
                [one, other, contenders[first as usize].next]
            }
        }
    }

    /// Adds a stream whose contender stands as of the count `misses`.
    pub fn insert(&mut self, stream: u32, misses: u64, contenders: &mut [Contender]) {
        if self.is_tournament { self.tournament.insert(stream, misses, contenders) } else { self.lineup.insert(stream, contenders) }
    }

    /// Adds several.
    pub fn insert_all(&mut self, streams: &[u32], misses: u64, contenders: &mut [Contender]) {
        if self.is_tournament {
            self.tournament.insert_all(streams, misses, contenders);
        } else {
            streams.iter().for_each(|&stream| self.lineup.insert(stream, contenders));
        }
    }

    /// Gives up room if there is far more than for everybody who is here and `more`.
    #[inline]
    pub fn shrink(&mut self, more: usize, misses: u64, contenders: &mut [Contender]) {
        if self.is_tournament {
            self.tournament.shrink(more, misses, contenders);
        }
    }

    /// The first is about to change. True if it has lost its place to one that follows it.
    #[inline]
    pub fn release(&mut self, stream: u32, misses: u64, contenders: &mut [Contender]) -> bool {
        self.is_tournament && self.tournament.release(stream, misses, contenders)
    }

    /// Takes a stream out that has just been [released](Self::release).
    #[inline]
    pub fn remove_released(&mut self, stream: u32, misses: u64, contenders: &[Contender]) {
        if self.is_tournament {
            self.tournament.remove_released(stream, misses, contenders);
        } else {
            self.lineup.remove(stream, contenders);
        }
    }

    /// Takes a stream out.
    pub fn remove(&mut self, stream: u32, misses: u64, contenders: &mut [Contender]) {
        if self.is_tournament { self.tournament.remove(stream, misses, contenders) } else { self.lineup.remove(stream, contenders) }
    }

    /// The contender of a stream that has been [released](Self::release) and still has its place has changed.
    #[inline]
    pub fn update(&mut self, stream: u32, misses: u64, contenders: &mut [Contender]) {
        if self.is_tournament { self.tournament.update(stream, misses, contenders) } else { self.lineup.update(stream, contenders) }
    }

    /// True if something expires at the count `misses` or before.
    #[inline]
    pub fn has_expired(&self, misses: u64) -> bool {
        if self.is_tournament { self.tournament.has_expired(misses) } else { self.lineup.has_expired(misses) }
    }

    /// Makes stand anew who has expired at the count `misses`. `stand` makes a stream's contender stand as of this count, or takes it out and
    /// returns false.
    #[inline]
    pub fn settle(&mut self, misses: u64, contenders: &mut [Contender], stand: &mut impl FnMut(u32, &mut Contender) -> bool) {
        if self.is_tournament {
            self.tournament.settle(misses, contenders, stand);
        } else {
            self.lineup.settle(misses, contenders, stand);
        }
    }
}
