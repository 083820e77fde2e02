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

/// The most misses that a cohort counts before its members are made to stand anew ([`Tournament::replay`]).
pub(super) const MOST_MISSES: u64 = 1 << 40;

/// What the tournament knows of a stream. Counts of misses are those of its cohort.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Contender {
    /// Orders contenders of one slope, the smaller first; the sort in the highest bits, below it what [`Contender::at`] makes of it.
    order: u64,
    /// The arrival of its head.
    pub arrival: u64,
    /// While `x' > 0`: `y' - x'`. Then: the growth of `y'` per miss.
    slope: u32,
    /// Its leaf; whoever takes a stream out of the tree may keep a number of its own here.
    pub leaf: u32,
}

/// The sorts of contenders, in their order of precedence: nothing tolerated, some of what is left, all that is left.
const CLOSED: u64 = 0;
const OPEN: u64 = 1;
const BOUNDLESS: u64 = 2;
const SORT: u32 = 62;
/// The largest `y'` at the count 0 that can be told apart.
const HIGHEST: u64 = 1 << 61;

impl Contender {
    /// Takes on `tolerance` at the count `misses`; `penalty` is what a violation costs the stream.
    #[inline]
    pub fn stand(&mut self, tolerance: Tolerance, penalty: u32, misses: u64) {
        if tolerance.numerator > 0 {
            self.slope = (tolerance.denominator - u64::from(tolerance.numerator)) as u32;
            let sort = if self.slope > 0 { OPEN } else { BOUNDLESS };
            self.order = sort << SORT | (misses + u64::from(tolerance.numerator));
        } else {
            self.slope = penalty;
            self.order = HIGHEST + u64::from(penalty) * misses - tolerance.denominator;
        }
    }

    #[inline]
    fn sort(&self) -> u64 {
        self.order >> SORT
    }

    /// While `x' > 0`, the count at which it will be 0.
    #[inline]
    fn at(&self) -> u64 {
        self.order & ((1 << SORT) - 1)
    }

    /// `y'` of one that tolerates nothing.
    #[inline]
    fn denominator(&self, misses: u64) -> u64 {
        HIGHEST + u64::from(self.slope) * misses - self.order
    }

    /// The count at which it stops being what it is, whoever else there is.
    #[inline]
    fn expires(&self) -> u64 {
        if self.sort() == CLOSED { u64::MAX } else { self.at() }
    }

    /// Its window constraint at the count `misses`, which lies before [`Contender::expires`].
    #[inline]
    pub fn tolerance(&self, misses: u64) -> Tolerance {
        if self.sort() == CLOSED {
            return Tolerance { numerator: 0, in_violation: false, denominator: self.denominator(misses) };
        }
        let left = self.at() - misses;
        Tolerance { numerator: left as u32, in_violation: false, denominator: left + u64::from(self.slope) }
    }
}

/// True if `a` is first at the count `misses`, and the count from which on the other one is.
#[inline]
fn duel((a, first): (u32, &Contender), (b, second): (u32, &Contender), misses: u64) -> (bool, u64) {
    if first.slope == second.slope || first.sort() != second.sort() {
        // No branch on who wins: nothing predicts it.
        let key = |contender: &Contender| u128::from(contender.order) << 64 | u128::from(contender.arrival);
        let (one, other) = (key(first), key(second));
        return ((one < other) | ((one == other) & (a < b)), u64::MAX);
    }
    race((a, first), (b, second), misses)
}

/// A duel of contenders of one sort that change at different paces.
fn race((a, first): (u32, &Contender), (b, second): (u32, &Contender), misses: u64) -> (bool, u64) {
    let (g1, g2) = (u64::from(first.slope), u64::from(second.slope));
    if first.sort() == OPEN {
        // x1 / (x1 + g1) < x2 / (x2 + g2); at equality the smaller x, which has the smaller g.
        let (left, right) = ((first.at() - misses) * g2, (second.at() - misses) * g1);
        let wins = left < right || (left == right && g1 < g2);
        let (ahead, behind, fast, slow) = if wins { (left, right, g1, g2) } else { (right, left, g2, g1) };
        let until = if slow < fast { misses + (behind - ahead).div_ceil(fast - slow) } else { u64::MAX };
        return (wins, until);
    }
    let (y1, y2, is_older) = (first.denominator(misses), second.denominator(misses), (first.arrival, a) < (second.arrival, b));
    let wins = y1 > y2 || (y1 == y2 && is_older);
    let (lead, slow, fast) = if wins { (y1 - y2, g1, g2) } else { (y2 - y1, g2, g1) };
    let until = match fast.checked_sub(slow) {
        // At a tie the older one is first.
        Some(gain) if is_older == wins => misses + lead / gain + 1,
        Some(gain) => misses + lead.div_ceil(gain),
        None => u64::MAX,
    };
    (wins, until)
}

const NOBODY: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Node {
    winner: u32,
    /// The count of misses at which the first certificate in or below this node expires.
    expires: u64,
}

const EMPTY: Node = Node { winner: NOBODY, expires: u64::MAX };

/// What two subtrees make together.
#[inline]
fn meet(one: Node, other: Node, misses: u64, contenders: &[Contender]) -> Node {
    let expires = one.expires.min(other.expires);
    if other.winner == NOBODY {
        return one;
    }
    if one.winner == NOBODY {
        return other;
    }
    let of = |node: Node| (node.winner, &contenders[node.winner as usize]);
    let (wins, until) = duel(of(one), of(other), misses);
    Node { winner: if wins { one.winner } else { other.winner }, expires: expires.min(until) }
}

/// The tree: node 1 is the root, the children of node i are 2i and 2i + 1, the leaves are the last half.
#[derive(Clone, Debug)]
pub(super) struct Tournament {
    nodes: Vec<Node>,
    /// Leaves that are not in use.
    free: Vec<u32>,
    live: usize,
    /// Whoever moves from a tree to another; empty otherwise.
    moving: Vec<u32>,
}

const LEAST_LEAVES: usize = 2;

impl Tournament {
    pub fn new() -> Tournament {
        let mut tournament = Tournament { nodes: Vec::new(), free: Vec::new(), live: 0, moving: Vec::new() };
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

    /// The winner is one of them, and the next winner perhaps another; some may be nobody.
    #[inline]
    pub fn finalists(&self) -> [u32; 2] {
        [self.nodes[2].winner, self.nodes[3].winner]
    }

    /// Adds a stream whose contender stands as of the count `misses`.
    pub fn insert(&mut self, stream: u32, misses: u64, contenders: &mut [Contender]) {
        let leaf = self.seat(stream, misses, contenders);
        self.climb(leaf, stream, misses, contenders);
    }

    /// Adds several.
    pub fn insert_all(&mut self, streams: &[u32], misses: u64, contenders: &mut [Contender]) {
        let levels = self.nodes.len().ilog2() as usize;
        if streams.len() * levels < self.nodes.len() / 2 {
            return streams.iter().for_each(|&stream| self.insert(stream, misses, contenders));
        }
        for &stream in streams {
            self.seat(stream, misses, contenders);
        }
        self.replay(misses, contenders);
    }

    /// Gives a stream a leaf.
    #[inline]
    fn seat(&mut self, stream: u32, misses: u64, contenders: &mut [Contender]) -> u32 {
        if self.free.is_empty() {
            self.rebuild(self.nodes.len(), misses, contenders);
        }
        let leaf = self.free.pop().unwrap_or_default();
        let contender = &mut contenders[stream as usize];
        contender.leaf = leaf;
        self.live += 1;
        self.nodes[leaf as usize] = Node { winner: stream, expires: contender.expires() };
        leaf
    }

    /// Takes a stream out.
    #[inline]
    pub fn remove(&mut self, stream: u32, misses: u64, contenders: &[Contender]) {
        let leaf = contenders[stream as usize].leaf;
        self.nodes[leaf as usize] = EMPTY;
        self.free.push(leaf);
        self.live -= 1;
        self.climb(leaf, stream, misses, contenders);
    }

    /// Gives up room if there is far more than for `members`.
    pub fn shrink(&mut self, members: usize, misses: u64, contenders: &mut [Contender]) {
        if members * 8 < self.nodes.len() / 2 && self.nodes.len() > 16 {
            self.rebuild(self.nodes.len() / 4, misses, contenders);
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
        while self.nodes[1].expires <= misses {
            // Usually one certificate has expired, or one leaf: a path, which is climbed faster than searched.
            let mut node = 1;
            while node < self.nodes.len() / 2 {
                match [2 * node, 2 * node + 1].map(|child| self.nodes[child].expires <= misses) {
                    [true, false] => node *= 2,
                    [false, true] => node = 2 * node + 1,
                    _ => break,
                }
            }
            let before = self.nodes[node].winner;
            self.settle_below(node, misses, contenders, stand);
            let changed = if node < self.nodes.len() / 2 { NOBODY } else { before };
            self.climb(node as u32, changed, misses, contenders);
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
        meet(self.nodes[2 * node], self.nodes[2 * node + 1], misses, contenders)
    }

    /// Plays again from a node up, as far as anything changes. `changed` is the stream whose contender has, if one has.
    #[inline]
    fn climb(&mut self, from: u32, changed: u32, misses: u64, contenders: &[Contender]) {
        let mut at = from as usize;
        let mut node = self.nodes[at];
        // What the winner is goes up with it: a load per level would have to wait for the comparison below.
        let mut climber = if node.winner == NOBODY { Contender::default() } else { contenders[node.winner as usize] };
        while at > 1 {
            let sibling = self.nodes[at ^ 1];
            if sibling.winner != NOBODY {
                let rival = contenders[sibling.winner as usize];
                if node.winner == NOBODY {
                    (node, climber) = (sibling, rival);
                } else {
                    let (wins, until) = duel((node.winner, &climber), (sibling.winner, &rival), misses);
                    let pick = |one: u64, other: u64| other ^ ((one ^ other) & u64::from(wins).wrapping_neg());
                    climber.order = pick(climber.order, rival.order);
                    climber.arrival = pick(climber.arrival, rival.arrival);
                    climber.slope = pick(u64::from(climber.slope), u64::from(rival.slope)) as u32;
                    let winner = pick(u64::from(node.winner), u64::from(sibling.winner)) as u32;
                    node = Node { winner, expires: node.expires.min(sibling.expires).min(until) };
                }
            }
            at /= 2;
            let before = mem::replace(&mut self.nodes[at], node);
            if node.winner == before.winner && node.winner != changed && node.expires == before.expires {
                return;
            }
        }
    }

    /// Plays everything again: every contender stands anew.
    #[cold]
    pub fn replay(&mut self, misses: u64, contenders: &[Contender]) {
        let leaves = self.nodes.len() / 2;
        for leaf in &mut self.nodes[leaves..] {
            if leaf.winner != NOBODY {
                leaf.expires = contenders[leaf.winner as usize].expires();
            }
        }
        for node in (1..leaves).rev() {
            self.nodes[node] = self.play(node, misses, contenders);
        }
    }

    /// Moves everybody into a tree of this many leaves.
    #[cold]
    fn rebuild(&mut self, leaves: usize, misses: u64, contenders: &mut [Contender]) {
        let mut members = mem::take(&mut self.moving);
        members.extend(self.members());
        self.resize(leaves.max(LEAST_LEAVES));
        for stream in members.drain(..) {
            let leaf = self.free.pop().unwrap_or_default();
            contenders[stream as usize].leaf = leaf;
            self.nodes[leaf as usize].winner = stream;
        }
        self.moving = members;
        self.replay(misses, contenders);
    }
}
