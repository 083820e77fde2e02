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
//! **State**: 32 bytes per stream, and 32 bytes per node of a tree with up to four leaves per stream: a node holds all that decides about its
//! winner, and two siblings fill a cache line, so that a change of a stream reads one line per level and nothing else.
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
use super::radix_heap::Entry;
use crate::prefetch::prefetch;
use alloc::vec::Vec;
use core::hint::select_unpredictable;
use core::mem;

/// The most misses that a cohort counts before its members are made to stand anew ([`Tournament::replay`]).
pub(super) const MOST_MISSES: u64 = 1 << 40;

/// What decides between streams. Counts of misses are those of their cohort.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Claim {
    /// Orders claims of one slope, the smaller first; the sort in the highest bits, below it what [`Claim::at`] makes of it.
    order: u64,
    /// The arrival of its head.
    pub arrival: u64,
    /// Whose it is, and above that the slope: while `x' > 0`, `y' - x'`; then the growth of `y'` per miss.
    pace: u64,
}

/// What is kept of a stream, whether it is in a tournament or not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contender {
    pub claim: Claim,
    /// Its leaf; whoever takes a stream out of the tree may keep a number of its own here.
    pub leaf: u32,
}

impl Contender {
    pub fn new(stream: u32) -> Contender {
        Contender { claim: Claim { order: 0, arrival: 0, pace: stream.into() }, leaf: 0 }
    }
}

/// The sorts of contenders, in their order of precedence: nothing tolerated, some of what is left, all that is left.
const CLOSED: u64 = 0;
const OPEN: u64 = 1;
const BOUNDLESS: u64 = 2;
/// No stream at all.
const VACANT: u64 = 3;
const SORT: u32 = 62;
/// The largest `y'` at the count 0 that can be told apart.
const HIGHEST: u64 = 1 << 61;

impl Claim {
    /// Takes on `tolerance` at the count `misses`; `penalty` is what a violation costs the stream.
    #[inline]
    pub fn stand(&mut self, tolerance: Tolerance, penalty: u32, misses: u64) {
        let stream = self.pace & u64::from(u32::MAX);
        if tolerance.numerator > 0 {
            let slope = tolerance.denominator - u64::from(tolerance.numerator);
            self.pace = slope << 32 | stream;
            let sort = if slope > 0 { OPEN } else { BOUNDLESS };
            self.order = sort << SORT | (misses + u64::from(tolerance.numerator));
        } else {
            self.pace = u64::from(penalty) << 32 | stream;
            self.order = HIGHEST + u64::from(penalty) * misses - tolerance.denominator;
        }
    }

    /// One that tolerates nothing, as it is queued.
    #[inline]
    pub fn queued(entry: &Entry, penalty: u32) -> Claim {
        Claim { order: entry.order, arrival: entry.arrival, pace: u64::from(penalty) << 32 | u64::from(entry.stream) }
    }

    /// The count of misses at which it tolerates nothing; `None` if it tolerates nothing now.
    #[inline]
    pub fn until(&self) -> Option<u64> {
        (self.sort() != CLOSED).then_some(self.at())
    }

    /// Orders those that tolerate nothing and whose violations cost the same, the smaller first, for as long as they wait.
    #[inline]
    pub fn order(&self) -> u64 {
        self.order
    }

    /// The first of two at the count `misses`.
    #[inline]
    pub fn first(self, other: Claim, misses: u64) -> Claim {
        let (wins, _) = duel(&self, &other, misses);
        if wins { self } else { other }
    }

    #[inline]
    pub fn stream(&self) -> u32 {
        self.pace as u32
    }

    #[inline]
    fn slope(&self) -> u64 {
        self.pace >> 32
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
        HIGHEST + self.slope() * misses - self.order
    }

    /// The count at which it stops being what it is, whoever else there is.
    #[inline]
    fn expires(&self) -> u64 {
        if self.sort() == CLOSED { u64::MAX } else { self.at() }
    }

    /// This one if it wins, otherwise the other: a coin toss that a branch would often lose.
    #[inline]
    fn pick(&self, other: &Claim, wins: bool) -> Claim {
        Claim {
            order: select_unpredictable(wins, self.order, other.order),
            arrival: select_unpredictable(wins, self.arrival, other.arrival),
            pace: select_unpredictable(wins, self.pace, other.pace),
        }
    }

    /// Its window constraint at the count `misses`, which lies before [`Claim::expires`].
    #[inline]
    pub fn tolerance(&self, misses: u64) -> Tolerance {
        if self.sort() == CLOSED {
            return Tolerance { numerator: 0, in_violation: false, denominator: self.denominator(misses) };
        }
        let left = self.at() - misses;
        Tolerance { numerator: left as u32, in_violation: false, denominator: left + self.slope() }
    }
}

/// True if the first of two claims of different streams is first at the count `misses`, and the count from which on the other one is.
#[inline]
fn duel(first: &Claim, second: &Claim, misses: u64) -> (bool, u64) {
    if first.slope() != second.slope() && first.sort() == second.sort() {
        return race(first, second, misses);
    }
    // A branch for what is rare, and none on who wins: nothing predicts that.
    let key = |claim: &Claim| u128::from(claim.order) << 64 | u128::from(claim.arrival);
    let (one, other) = (key(first), key(second));
    (if one == other { first.pace < second.pace } else { one < other }, u64::MAX)
}

/// A duel of claims of one sort that change at different paces.
fn race(first: &Claim, second: &Claim, misses: u64) -> (bool, u64) {
    let (g1, g2) = (first.slope(), second.slope());
    if first.sort() == OPEN {
        // x1 / (x1 + g1) < x2 / (x2 + g2); at equality the smaller x, which has the smaller g.
        let (left, right) = ((first.at() - misses) * g2, (second.at() - misses) * g1);
        let wins = left < right || (left == right && g1 < g2);
        let (ahead, behind, fast, slow) = if wins { (left, right, g1, g2) } else { (right, left, g2, g1) };
        let until = if slow < fast { misses + (behind - ahead).div_ceil(fast - slow) } else { u64::MAX };
        return (wins, until);
    }
    let (y1, y2) = (first.denominator(misses), second.denominator(misses));
    let is_older = (first.arrival, first.stream()) < (second.arrival, second.stream());
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

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(align(32))]
struct Node {
    /// The winner's.
    claim: Claim,
    /// The count of misses at which the first certificate in or below this node expires.
    expires: u64,
}

/// Loses every duel.
const EMPTY: Node = Node { claim: Claim { order: VACANT << SORT, arrival: u64::MAX, pace: NOBODY as u64 }, expires: u64::MAX };

impl Node {
    #[inline]
    fn leaf(claim: Claim) -> Node {
        Node { claim, expires: claim.expires() }
    }

    /// What two subtrees make together.
    #[inline]
    fn of(one: &Node, other: &Node, misses: u64) -> Node {
        let (wins, until) = duel(&one.claim, &other.claim, misses);
        Node { claim: one.claim.pick(&other.claim, wins), expires: one.expires.min(other.expires).min(until) }
    }

    /// Equality in one branch.
    #[inline]
    fn is(&self, node: &Node) -> bool {
        let (a, b) = (&self.claim, &node.claim);
        (a.order ^ b.order) | (a.arrival ^ b.arrival) | (a.pace ^ b.pace) | (self.expires ^ node.expires) == 0
    }

    /// Field by field: whole, it would go through memory, where the next read of it waits.
    #[inline]
    fn set(&mut self, node: &Node) {
        self.claim.order = node.claim.order;
        self.claim.arrival = node.claim.arrival;
        self.claim.pace = node.claim.pace;
        self.expires = node.expires;
    }

    /// Who wins here, if anybody is here.
    #[inline]
    fn winner(&self) -> Option<u32> {
        (self.claim.stream() != NOBODY).then_some(self.claim.stream())
    }
}

/// The tree: node 1 is the root, the children of node i are 2i and 2i + 1, the leaves are the last half.
#[derive(Clone, Debug, Default)]
pub(super) struct Tournament {
    nodes: Vec<Node>,
    /// Leaves that are not in use.
    free: Vec<u32>,
    live: usize,
    /// Whoever moves from a tree to another; empty otherwise.
    moving: Vec<u32>,
}

const LEAST_LEAVES: usize = 2;
/// The most leaves that are fetched all together.
const FEW: usize = 64;

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

    /// Asks the processor for a small tree as a whole, which will be played through soon.
    pub fn fetch(&self) {
        if self.nodes.len() <= 2 * FEW {
            self.nodes.chunks(2).for_each(|pair| prefetch(&pair[0]));
        }
    }

    /// Everybody, in no particular order.
    pub fn members(&self) -> impl Iterator<Item = u32> {
        self.nodes[self.nodes.len() / 2..].iter().filter_map(Node::winner)
    }

    /// The first of all. [`Tournament::settle`] has been called with the present count.
    #[inline]
    pub fn winner(&self) -> Option<u32> {
        self.nodes[1].winner()
    }

    /// The claim of the first of all, if there is one.
    #[inline]
    pub fn first(&self) -> Option<&Claim> {
        self.winner().map(|_| &self.nodes[1].claim)
    }

    /// The winner is one of them, and the next winner perhaps another; some may be nobody.
    #[inline]
    pub fn finalists(&self) -> [u32; 2] {
        [self.nodes[2].claim.stream(), self.nodes[3].claim.stream()]
    }

    /// Adds a stream whose contender stands as of the count `misses`.
    pub fn insert(&mut self, stream: u32, misses: u64, contenders: &mut [Contender]) {
        let leaf = self.seat(stream, misses, contenders);
        self.climb(leaf, Node::leaf(contenders[stream as usize].claim), misses);
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
        self.play_all(misses);
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
        self.nodes[leaf as usize] = Node::leaf(contender.claim);
        leaf
    }

    /// Takes a stream out.
    #[inline]
    pub fn remove(&mut self, stream: u32, misses: u64, contenders: &[Contender]) {
        let leaf = contenders[stream as usize].leaf;
        self.free.push(leaf);
        self.live -= 1;
        self.climb(leaf, EMPTY, misses);
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
        self.climb(contender.leaf, Node::leaf(contender.claim), misses);
    }

    /// True if something expires at the count `misses` or before.
    #[inline]
    pub fn has_expired(&self, misses: u64) -> bool {
        self.nodes[1].expires <= misses
    }

    /// Plays again what has expired at the count `misses`. `stand` makes a stream's contender stand as of this count, or takes it out of
    /// the tree and returns false.
    #[inline]
    pub fn settle(&mut self, misses: u64, contenders: &mut [Contender], stand: &mut impl FnMut(u32, &mut Contender) -> bool) {
        while self.has_expired(misses) {
            // Usually one certificate has expired, or one leaf: a path, which is climbed faster than searched.
            let mut node = 1;
            while node < self.nodes.len() / 2 {
                match [2 * node, 2 * node + 1].map(|child| self.nodes[child].expires <= misses) {
                    [true, false] => node *= 2,
                    [false, true] => node = 2 * node + 1,
                    _ => break,
                }
            }
            let settled = self.settle_below(node, misses, contenders, stand);
            self.climb(node as u32, settled, misses);
        }
    }

    /// What a node becomes, all below it being settled.
    fn settle_below(
        &mut self,
        node: usize,
        misses: u64,
        contenders: &mut [Contender],
        stand: &mut impl FnMut(u32, &mut Contender) -> bool,
    ) -> Node {
        if node >= self.nodes.len() / 2 {
            let stream = self.nodes[node].claim.stream();
            let contender = &mut contenders[stream as usize];
            if stand(stream, contender) {
                return Node::leaf(contender.claim);
            }
            self.free.push(node as u32);
            self.live -= 1;
            return EMPTY;
        }
        for child in [2 * node, 2 * node + 1] {
            if self.nodes[child].expires <= misses {
                self.nodes[child] = self.settle_below(child, misses, contenders, stand);
            }
        }
        self.play(node, misses)
    }

    #[inline]
    fn play(&self, node: usize, misses: u64) -> Node {
        Node::of(&self.nodes[2 * node], &self.nodes[2 * node + 1], misses)
    }

    /// Puts a node in its place and plays again from there up, as far as anything changes.
    #[inline]
    fn climb(&mut self, from: u32, mut node: Node, misses: u64) {
        let mut at = from as usize;
        // The length is a power of two, so masking the index tells the compiler that it is in range.
        let mask = self.nodes.len() - 1;
        let nodes = &mut *self.nodes;
        nodes[at & mask].set(&node);
        while at > 1 {
            node = Node::of(&node, &nodes[(at ^ 1) & mask], misses);
            at /= 2;
            let place = &mut nodes[at & mask];
            if place.is(&node) {
                return;
            }
            place.set(&node);
        }
    }

    fn play_all(&mut self, misses: u64) {
        for node in (1..self.nodes.len() / 2).rev() {
            self.nodes[node] = self.play(node, misses);
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
            let contender = &mut contenders[stream as usize];
            contender.leaf = leaf;
            self.nodes[leaf as usize] = Node::leaf(contender.claim);
        }
        self.moving = members;
        self.play_all(misses);
    }
}
