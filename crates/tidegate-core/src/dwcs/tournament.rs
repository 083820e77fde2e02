//! A kinetic tournament: the first by window constraint among streams of one deadline and one period, while they miss deadlines together.
//!
//! Streams that share deadline and period miss their deadlines at the same instants. Between two services a stream's constraint is a known
//! function of how many it has missed: `x'/y'` with `y' - x'` constant while `x' > 0`, then `0/y'` with `y'` growing by the penalty. So a
//! comparison of two of them comes out the same until a count of misses that can be computed: a certificate. The tournament is a binary
//! tree whose nodes hold the winner below them and the count at which the first certificate below expires. A miss of all streams together
//! costs one comparison of numbers at the root, and work only where a certificate has expired.
//!
//! **Law**: the root is the first in the order of [`Rank::compare_tied`] after any number of common misses.
//!
//! **Source**: the certificates are those of kinetic data structures (Basch, Guibas and Hershberger, "Data structures for mobile data", SODA
//! 1997), with the number of missed deadlines for time.
//!
//! **State**: 32 bytes per stream, and 16 bytes per node of a tree with up to four leaves per stream.
//!
//! **Cost**: O(log n) per change of a stream, one division per level where constraints of different pace meet; O(1) per common miss, and
//! O(log n) per expired certificate.
//!
//! **RTL twin**: none: hardware compares all streams at once.
//!
//! **Deviations**: none.

#[cfg(doc)]
use super::Rank;
use super::Tolerance;
use alloc::vec::Vec;
use core::mem;

/// What the tournament knows of a stream. Counts of misses are those of its cohort.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Contender {
    /// While `x' > 0`: the count at which it will be 0. Then: `y'` at the count 0, on an axis that wraps.
    at: u64,
    /// The arrival of its head.
    pub arrival: u64,
    /// While `x' > 0`: `y' - x'`. Then: the growth of `y'` per miss.
    slope: u32,
    is_open: bool,
    /// Its leaf.
    leaf: u32,
}

impl Contender {
    /// Takes on `tolerance` at the count `misses`; `penalty` is what a violation costs the stream.
    #[inline]
    pub fn stand(&mut self, tolerance: Tolerance, penalty: u32, misses: u64) {
        self.is_open = tolerance.numerator > 0;
        if self.is_open {
            self.at = misses + u64::from(tolerance.numerator);
            self.slope = (tolerance.denominator - u64::from(tolerance.numerator)) as u32;
        } else {
            self.at = tolerance.denominator.wrapping_sub(u64::from(penalty).wrapping_mul(misses));
            self.slope = penalty;
        }
    }

    /// The count at which it stops being what it is, whoever else there is.
    #[inline]
    fn expires(&self) -> u64 {
        if self.is_open { self.at } else { u64::MAX }
    }

    /// Its window constraint at the count `misses`, which lies before [`Contender::expires`].
    #[inline]
    pub fn tolerance(&self, misses: u64) -> Tolerance {
        if self.is_open {
            let left = self.at - misses;
            Tolerance { numerator: left as u32, in_violation: false, denominator: left + u64::from(self.slope) }
        } else {
            let denominator = self.at.wrapping_add(u64::from(self.slope).wrapping_mul(misses));
            Tolerance { numerator: 0, in_violation: false, denominator }
        }
    }
}

/// True if `a` is first at the count `misses`, and the count from which on the other one is.
#[inline]
fn duel((a, first): (u32, &Contender), (b, second): (u32, &Contender), misses: u64) -> (bool, u64) {
    let is_older = || (first.arrival, a) < (second.arrival, b);
    match (first.is_open, second.is_open) {
        (true, true) => {
            let (x1, x2) = (first.at - misses, second.at - misses);
            let (g1, g2) = (u64::from(first.slope), u64::from(second.slope));
            // x1 / (x1 + g1) < x2 / (x2 + g2)
            let (left, right) = (x1 * g2, x2 * g1);
            let wins = left < right || (left == right && (x1 < x2 || (x1 == x2 && is_older())));
            let (behind, ahead, slower, faster) = if wins { (right, left, g2, g1) } else { (left, right, g1, g2) };
            let until = if slower < faster { misses + (behind - ahead).div_ceil(faster - slower) } else { u64::MAX };
            (wins, until)
        }
        (false, false) => {
            let value = |contender: &Contender| contender.at.wrapping_add(u64::from(contender.slope).wrapping_mul(misses));
            let (y1, y2, older) = (value(first), value(second), is_older());
            let wins = y1 > y2 || (y1 == y2 && older);
            let (lead, winner, loser) = if wins { (y1 - y2, first.slope, second.slope) } else { (y2 - y1, second.slope, first.slope) };
            if loser <= winner {
                return (wins, u64::MAX);
            }
            let gain = u64::from(loser - winner);
            // The loser passes at a tie if it is the older one.
            let until = if older == wins { lead / gain + 1 } else { lead.div_ceil(gain) };
            (wins, misses.saturating_add(until))
        }
        (first, _) => (!first, u64::MAX),
    }
}

const NOBODY: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Node {
    winner: u32,
    /// The count of misses at which the first certificate in or below this node expires.
    expires: u64,
}

const EMPTY: Node = Node { winner: NOBODY, expires: u64::MAX };

/// The tree: node 1 is the root, the children of node i are 2i and 2i + 1, the leaves are the last half.
#[derive(Clone, Debug)]
pub(super) struct Tournament {
    nodes: Vec<Node>,
    /// Leaves that are not in use.
    free: Vec<u32>,
    live: usize,
}

const LEAST_LEAVES: usize = 2;

impl Tournament {
    pub fn new() -> Tournament {
        let mut tournament = Tournament { nodes: Vec::new(), free: Vec::new(), live: 0 };
        tournament.clear();
        tournament
    }

    /// Forgets everybody, and keeps the memory.
    pub fn clear(&mut self) {
        self.resize(LEAST_LEAVES);
        self.live = 0;
    }

    fn resize(&mut self, leaves: usize) {
        self.nodes.clear();
        self.nodes.resize(2 * leaves, EMPTY);
        self.free.clear();
        self.free.extend((leaves as u32..2 * leaves as u32).rev());
    }

    pub fn len(&self) -> usize {
        self.live
    }

    /// Everybody, in no particular order.
    pub fn members(&self) -> impl Iterator<Item = u32> {
        self.nodes[self.nodes.len() / 2..].iter().map(|leaf| leaf.winner).filter(|&winner| winner != NOBODY)
    }

    /// The first of all. [`Tournament::settle`] has been called with the present count.
    #[inline]
    pub fn winner(&self) -> Option<u32> {
        let winner = self.nodes[1].winner;
        (winner != NOBODY).then_some(winner)
    }

    /// Adds a stream whose contender stands as of the count `misses`.
    pub fn insert(&mut self, stream: u32, misses: u64, contenders: &mut [Contender]) {
        if self.free.is_empty() {
            self.rebuild(self.nodes.len(), misses, contenders);
        }
        let leaf = self.free.pop().unwrap_or_default();
        contenders[stream as usize].leaf = leaf;
        self.live += 1;
        self.nodes[leaf as usize] = Node { winner: stream, expires: contenders[stream as usize].expires() };
        self.climb(leaf, stream, misses, contenders);
    }

    /// Takes a stream out.
    pub fn remove(&mut self, stream: u32, misses: u64, contenders: &mut [Contender]) {
        let leaf = contenders[stream as usize].leaf;
        self.nodes[leaf as usize] = EMPTY;
        self.free.push(leaf);
        self.live -= 1;
        if self.live * 8 < self.nodes.len() / 2 && self.nodes.len() > 16 {
            self.rebuild(self.nodes.len() / 4, misses, contenders);
        } else {
            self.climb(leaf, stream, misses, contenders);
        }
    }

    /// A stream's contender has changed.
    #[inline]
    pub fn update(&mut self, stream: u32, misses: u64, contenders: &[Contender]) {
        let contender = &contenders[stream as usize];
        self.nodes[contender.leaf as usize].expires = contender.expires();
        self.climb(contender.leaf, stream, misses, contenders);
    }

    /// Plays again what has expired at the count `misses`. `stand` makes a stream's contender stand as of this count.
    #[inline]
    pub fn settle(&mut self, misses: u64, contenders: &mut [Contender], stand: &mut impl FnMut(u32, &mut Contender)) {
        if self.nodes[1].expires <= misses {
            self.settle_below(1, misses, contenders, stand);
        }
    }

    fn settle_below(&mut self, node: usize, misses: u64, contenders: &mut [Contender], stand: &mut impl FnMut(u32, &mut Contender)) {
        if node >= self.nodes.len() / 2 {
            let stream = self.nodes[node].winner;
            let contender = &mut contenders[stream as usize];
            stand(stream, contender);
            self.nodes[node].expires = contender.expires();
            return;
        }
        for child in [2 * node, 2 * node + 1] {
            if self.nodes[child].expires <= misses {
                self.settle_below(child, misses, contenders, stand);
            }
        }
        self.nodes[node] = self.play(node, misses, contenders);
    }

    #[inline]
    fn play(&self, node: usize, misses: u64, contenders: &[Contender]) -> Node {
        let [left, right] = [self.nodes[2 * node], self.nodes[2 * node + 1]];
        if right.winner == NOBODY {
            return left;
        }
        if left.winner == NOBODY {
            return right;
        }
        let of = |node: Node| (node.winner, &contenders[node.winner as usize]);
        let (wins, until) = duel(of(left), of(right), misses);
        Node { winner: if wins { left.winner } else { right.winner }, expires: until.min(left.expires).min(right.expires) }
    }

    /// Plays again from a leaf up, as far as anything changes. `stream` is the one that has.
    #[inline]
    fn climb(&mut self, leaf: u32, stream: u32, misses: u64, contenders: &[Contender]) {
        let mut node = leaf as usize / 2;
        while node > 0 {
            let next = self.play(node, misses, contenders);
            let before = mem::replace(&mut self.nodes[node], next);
            if next.winner == before.winner && next.winner != stream && next.expires == before.expires {
                return;
            }
            node /= 2;
        }
    }

    /// Moves everybody into a tree of this many leaves.
    #[cold]
    fn rebuild(&mut self, leaves: usize, misses: u64, contenders: &mut [Contender]) {
        let members: Vec<u32> = self.members().collect();
        self.resize(leaves.max(LEAST_LEAVES));
        for &stream in &members {
            let leaf = self.free.pop().unwrap_or_default();
            contenders[stream as usize].leaf = leaf;
            self.nodes[leaf as usize] = Node { winner: stream, expires: contenders[stream as usize].expires() };
        }
        for node in (1..self.nodes.len() / 2).rev() {
            self.nodes[node] = self.play(node, misses, contenders);
        }
    }
}
