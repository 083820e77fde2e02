//! A kinetic tournament: the first by window constraint among streams of one deadline and one period, while they miss deadlines together.
//!
//! Streams that share deadline and period miss their deadlines at the same instants. Between two services a stream's constraint is a known
//! function of how many it has missed: `x'/y'` with `y' - x'` constant while `x' > 0`, then `0/y'` with `y'` growing by the penalty. So a
//! comparison of two of them comes out the same until a count of misses that can be computed: a certificate. The tournament is a binary
//! tree whose nodes hold the winner below them and the count at which the first certificate below expires. A miss of all streams together
//! costs one comparison of numbers at the root, and work only where a certificate has expired.
//!
//! Between streams of one pace, whose constraints have the same `y' - x'` or tolerate nothing and grow alike, the order never changes,
//! whatever they miss. They form runs in that order, and only the first of a run has a leaf: equal shares take a leaf or two, however many
//! they are, and shares of a thousand weights a few thousand.
//!
//! **Law**: the root is the first in the order of [`Rank::compare_tied`] after any number of common misses.
//!
//! **Source**: the certificates are those of kinetic data structures (Basch, Guibas and Hershberger, "Data structures for mobile data", SODA
//! 1997), with the number of missed deadlines for time.
//!
//! **State**: 32 bytes per stream, and 32 bytes per node of a tree with up to eight leaves per run: a node holds all that decides about its
//! winner, and two siblings fill a cache line, so that a change of a stream reads one line per level and nothing else.
//!
//! **Cost** with r runs: O(log r) per change of a stream that is the first of one, one division per level where constraints of different pace
//! meet, and O(1) of one that is not; O(1) per common miss, and O(log r) per expired certificate and O(1) per stream in an expired run.
//!
//! **RTL twin**: none: hardware compares all streams at once.
//!
//! **Deviations**: none.

#[cfg(doc)]
use super::Rank;
use crate::prefetch::prefetch;
use alloc::vec::Vec;
use core::iter;
use core::mem;

mod claim;

use claim::duel;
pub(super) use claim::{Claim, NOBODY};

/// The most misses that a cohort counts before its members are made to stand anew.
pub(super) const MOST_MISSES: u64 = 1 << 40;

/// What is kept of a stream, whether it is in a tournament or not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contender {
    pub claim: Claim,
    /// Its leaf, or [`FOLLOWS`] and the stream before it in a run; whoever takes a stream out of the tree may keep a number of its own here.
    pub leaf: u32,
    /// The stream after it in its run, if that is a stream.
    pub next: u32,
}

/// Marks the place of a stream that follows another one in a run.
const FOLLOWS: u32 = 1 << 31;

impl Contender {
    pub fn new(stream: u32) -> Contender {
        Contender { claim: Claim::new(stream), leaf: 0, next: NOBODY }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(align(32))]
struct Node {
    /// The winner's.
    claim: Claim,
    /// The count of misses at which the first certificate in or below this node expires.
    expires: u64,
}

/// Loses every duel.
const EMPTY: Node = Node { claim: Claim::VACANT, expires: u64::MAX };

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
    /// By a hash of their lane, the last streams of the runs that were begun last; none in a small tree.
    tails: Vec<u32>,
    /// Leaves that are not in use.
    free: Vec<u32>,
    live: usize,
    /// Whoever moves from a tree to another; empty otherwise.
    moving: Vec<u32>,
}

/// The fewest leaves for which it pays to look for runs, and to queue those that tolerate nothing.
const WORTH_RUNS: usize = 64;
const LEAST_LEAVES: usize = 2;
/// The most leaves that are fetched all together.
const FEW: usize = 64;

impl Tournament {
    pub fn new() -> Tournament {
        let mut tournament = Tournament { nodes: Vec::new(), tails: Vec::new(), free: Vec::new(), live: 0, moving: Vec::new() };
        tournament.clear();
        tournament
    }

    /// Forgets everybody, and keeps the memory.
    pub fn clear(&mut self) {
        self.tails.clear();
        self.resize(LEAST_LEAVES);
        self.live = 0;
    }

    fn resize(&mut self, leaves: usize) {
        self.nodes.clear();
        self.nodes.resize(2 * leaves, EMPTY);
        self.free.clear();
        self.free.extend((leaves as u32..2 * leaves as u32).rev());
        // Once there are runs a small tree may hold many streams.
        let tails = if leaves < WORTH_RUNS && self.tails.is_empty() { 0 } else { leaves.max(WORTH_RUNS) };
        self.tails.clear();
        self.tails.resize(tails, NOBODY);
    }

    pub fn len(&self) -> usize {
        self.live
    }

    /// True if its tree has many leaves.
    #[inline]
    pub fn is_large(&self) -> bool {
        self.nodes.len() >= 2 * WORTH_RUNS
    }

    /// Asks the processor for a small tree as a whole, which will be played through soon.
    pub fn fetch(&self) {
        if self.nodes.len() <= 2 * FEW {
            self.nodes.chunks(2).for_each(|pair| prefetch(&pair[0]));
        }
    }

    /// Who has a leaf.
    fn heads(&self) -> impl Iterator<Item = u32> {
        self.nodes[self.nodes.len() / 2..].iter().filter_map(Node::winner)
    }

    /// Everybody, in no particular order.
    pub fn members(&self, contenders: &[Contender]) -> impl Iterator<Item = u32> {
        self.heads().flat_map(|head| {
            let next = |&stream: &u32| Some(contenders[stream as usize].next).filter(|&next| next != NOBODY);
            iter::successors(Some(head), next)
        })
    }

    /// Where the last stream of a run in its lane may be found, if runs are looked for.
    #[inline]
    fn run_of(&mut self, claim: &Claim) -> Option<&mut u32> {
        let shift = 64 - self.tails.len().checked_ilog2()?;
        self.tails.get_mut((claim.lane().wrapping_mul(0x9E37_79B9_7F4A_7C15) >> shift) as usize)
    }

    /// Lets a stream follow the last one of a run, if there is one in its lane before it; otherwise it will be the last of a run of its own.
    #[inline]
    fn follow(&mut self, stream: u32, contenders: &mut [Contender]) -> bool {
        let claim = contenders[stream as usize].claim;
        contenders[stream as usize].next = NOBODY;
        let Some(tail) = self.run_of(&claim) else { return false };
        let last = mem::replace(tail, stream);
        let Some(before) = contenders.get_mut(last as usize) else { return false };
        if !claim.follows(&before.claim) {
            return false;
        }
        before.next = stream;
        contenders[stream as usize].leaf = FOLLOWS | last;
        self.live += 1;
        true
    }

    /// Nobody is to follow this stream, which is the last of a run.
    #[inline]
    fn end_run(&mut self, stream: u32, claim: &Claim, last: u32) {
        if let Some(tail) = self.run_of(claim)
            && *tail == stream
        {
            *tail = last;
        }
    }

    /// The winner is about to change. If others follow it in its run they take its leaf, and true is returned: it has none any more.
    #[inline]
    pub fn release(&mut self, stream: u32, misses: u64, contenders: &mut [Contender]) -> bool {
        let Contender { claim, leaf, next } = contenders[stream as usize];
        let Some(follower) = contenders.get_mut(next as usize) else {
            self.end_run(stream, &claim, NOBODY);
            return false;
        };
        follower.leaf = leaf;
        let node = Node::leaf(follower.claim);
        self.live -= 1;
        self.climb_all(leaf, node, misses);
        true
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
        if !self.follow(stream, contenders) {
            self.begin_run(stream, misses, contenders);
        }
    }

    #[inline]
    fn begin_run(&mut self, stream: u32, misses: u64, contenders: &mut [Contender]) {
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
            if !self.follow(stream, contenders) {
                self.seat(stream, misses, contenders);
            }
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

    /// Takes a stream out that has just been [released](Self::release).
    #[inline]
    pub fn remove_released(&mut self, stream: u32, misses: u64, contenders: &[Contender]) {
        let leaf = contenders[stream as usize].leaf;
        self.free.push(leaf);
        self.live -= 1;
        self.climb_all(leaf, EMPTY, misses);
    }

    /// Takes a stream out.
    pub fn remove(&mut self, stream: u32, misses: u64, contenders: &mut [Contender]) {
        let Contender { claim, leaf, next } = contenders[stream as usize];
        if leaf & FOLLOWS == 0 {
            if !self.release(stream, misses, contenders) {
                self.remove_released(stream, misses, contenders);
            }
            return;
        }
        let before = leaf & !FOLLOWS;
        contenders[before as usize].next = next;
        match contenders.get_mut(next as usize) {
            Some(follower) => follower.leaf = leaf,
            None => self.end_run(stream, &claim, before),
        }
        self.live -= 1;
    }

    /// Gives up room if there is far more than for everybody who has a leaf and `more`.
    #[inline]
    pub fn shrink(&mut self, more: usize, misses: u64, contenders: &mut [Contender]) {
        let leaves = self.nodes.len() / 2;
        if (leaves - self.free.len() + more) * 8 < leaves && leaves > 8 {
            self.rebuild(leaves / 2, misses, contenders);
        }
    }

    /// The contender of a stream that has been [released](Self::release) and still has its leaf has changed.
    #[inline]
    pub fn update(&mut self, stream: u32, misses: u64, contenders: &mut [Contender]) {
        let leaf = contenders[stream as usize].leaf;
        let node = if self.follow(stream, contenders) {
            self.free.push(leaf);
            self.live -= 1;
            EMPTY
        } else {
            Node::leaf(contenders[stream as usize].claim)
        };
        self.climb_all(leaf, node, misses);
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
        if !self.moving.is_empty() {
            let mut moving = mem::take(&mut self.moving);
            moving.drain(..).for_each(|stream| self.begin_run(stream, misses, contenders));
            self.moving = moving;
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
            return self.settle_run(node, misses, contenders, stand);
        }
        for child in [2 * node, 2 * node + 1] {
            if self.nodes[child].expires <= misses {
                self.nodes[child] = self.settle_below(child, misses, contenders, stand);
            }
        }
        self.play(node, misses)
    }

    /// What a leaf becomes when the run there has expired: those who have not, expire later and stay. If nobody is left, the first of the
    /// others gets it, unless it follows somebody else.
    fn settle_run(
        &mut self,
        leaf: usize,
        misses: u64,
        contenders: &mut [Contender],
        stand: &mut impl FnMut(u32, &mut Contender) -> bool,
    ) -> Node {
        let moving = self.moving.len();
        let mut stream = self.nodes[leaf].claim.stream();
        while let Some(&Contender { claim, next, .. }) = contenders.get(stream as usize)
            && claim.expires() <= misses
        {
            match contenders.get(next as usize) {
                Some(contender) => prefetch(contender),
                None => self.end_run(stream, &claim, NOBODY),
            }
            self.live -= 1;
            if stand(stream, &mut contenders[stream as usize]) && !self.follow(stream, contenders) {
                self.moving.push(stream);
            }
            stream = next;
        }
        if stream == NOBODY && self.moving.len() > moving {
            stream = self.moving.swap_remove(moving);
            self.live += 1;
        }
        let Some(contender) = contenders.get_mut(stream as usize) else {
            self.free.push(leaf as u32);
            return EMPTY;
        };
        contender.leaf = leaf as u32;
        Node::leaf(contender.claim)
    }

    #[inline]
    fn play(&self, node: usize, misses: u64) -> Node {
        Node::of(&self.nodes[2 * node], &self.nodes[2 * node + 1], misses)
    }

    /// Puts a node in its place and plays again from there up, as far as anything changes.
    #[inline]
    fn climb(&mut self, from: u32, node: Node, misses: u64) {
        self.climb_until(from, node, misses, |before, after| before.is(after));
    }

    /// The same as far as the root, without asking: where the winner of all has been, everything changes.
    #[inline]
    fn climb_all(&mut self, from: u32, node: Node, misses: u64) {
        self.climb_until(from, node, misses, |_, _| false);
    }

    #[inline]
    fn climb_until(&mut self, from: u32, mut node: Node, misses: u64, is_enough: impl Fn(&Node, &Node) -> bool) {
        let mut at = from as usize;
        // The length is a power of two, so masking the index tells the compiler that it is in range.
        let mask = self.nodes.len() - 1;
        let nodes = &mut *self.nodes;
        nodes[at & mask].set(&node);
        while at > 1 {
            node = Node::of(&node, &nodes[(at ^ 1) & mask], misses);
            at /= 2;
            let place = &mut nodes[at & mask];
            if is_enough(place, &node) {
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
        members.extend(self.heads());
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
