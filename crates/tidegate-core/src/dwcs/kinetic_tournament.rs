//! A kinetic tournament: the first by window constraint among streams of one deadline and one period, while they miss deadlines together.
//!
//! The tournament is a binary tree. Each node holds the [key](super::kinetic_key) of the winner below it, and the count of misses at which the
//! first certificate below it expires. A miss of all streams together costs one comparison at the root, and work only where a certificate
//! has expired.
//!
//! Streams of one pace keep their order whatever they miss: their constraints have the same `y' - x'`, or tolerate nothing and grow alike.
//! They form runs in that order, and only the first of a run has a leaf. Equal shares take one or two leaves, however many they are, and
//! shares of a thousand weights a few thousand.
//!
//! **Law**: the root is the first in the order of [`Rank::compare_tied`] after any number of common misses.
//!
//! **Source**: the certificates are those of kinetic data structures (Basch, Guibas and Hershberger, "Data structures for mobile data", SODA
//! 1997), with the number of missed deadlines for time.
//!
//! **State**: 32 bytes per stream, and 32 bytes per node of a tree with up to eight leaves per run. A node holds all that decides about its
//! winner, and two siblings fill a cache line: a change of a stream reads one line per level.
//!
//! **Cost** with r runs: O(log r) per change of the first stream of a run, with one division per level where paces differ. O(1) per change of
//! another stream. O(1) per common miss, O(log r) per expired certificate, and O(1) per stream in an expired run.
//!
//! **RTL twin**: none: hardware compares all streams at once.
//!
//! **Deviations**: none.

use crate::dwcs::kinetic_key::{KineticKey, Member, NO_STREAM, certify};
#[cfg(doc)]
use crate::dwcs::rank::Rank;
use crate::prefetch::prefetch;
use alloc::vec::Vec;
use core::iter;
use core::mem;

/// The most misses that a group counts before its members are counted anew.
pub(super) const MOST_MISSES: u64 = 1 << 40;

/// Marks the slot of a stream that follows another one in a run; the rest of it is the stream before it.
const FOLLOWS: u32 = 1 << 31;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(align(32))]
struct Node {
    /// The key of the winner.
    key: KineticKey,
    /// The count of misses at which the first certificate in or below this node expires.
    expires: u64,
}

/// A node without streams: it loses every comparison.
const EMPTY: Node = Node { key: KineticKey::VACANT, expires: u64::MAX };

impl Node {
    #[inline]
    fn leaf(key: KineticKey) -> Node {
        Node { key, expires: key.expires() }
    }

    /// The parent of two nodes.
    #[inline]
    fn of(one: &Node, other: &Node, misses: u64) -> Node {
        let (wins, until) = certify(&one.key, &other.key, misses);
        Node { key: one.key.pick(&other.key, wins), expires: one.expires.min(other.expires).min(until) }
    }

    /// Equality in one branch.
    #[inline]
    fn equals(&self, node: &Node) -> bool {
        let (a, b) = (&self.key, &node.key);
        (a.order ^ b.order) | (a.arrival ^ b.arrival) | (a.pace ^ b.pace) | (self.expires ^ node.expires) == 0
    }

    /// Field by field: a copy of the whole would go through memory and stall the next read.
    #[inline]
    fn assign(&mut self, node: &Node) {
        self.key.order = node.key.order;
        self.key.arrival = node.key.arrival;
        self.key.pace = node.key.pace;
        self.expires = node.expires;
    }

    /// The stream that wins here, if there is one.
    #[inline]
    fn winner(&self) -> Option<u32> {
        (self.key.stream() != NO_STREAM).then_some(self.key.stream())
    }
}

/// The tree: node 1 is the root, the children of node i are 2i and 2i + 1, the leaves are the last half.
#[derive(Clone, Debug, Default)]
pub(super) struct KineticTournament {
    nodes: Vec<Node>,
    /// The last streams of the runs that were begun last, by a hash of their lane; empty in a small tree.
    tails: Vec<u32>,
    /// Leaves that are not in use.
    free: Vec<u32>,
    len: usize,
    /// Streams on their way from one tree to another; empty otherwise.
    moving: Vec<u32>,
}

/// The fewest leaves for which it is worthwhile to look for runs, and to queue streams that tolerate nothing.
const LEAST_LEAVES_FOR_RUNS: usize = 64;
const LEAST_LEAVES: usize = 2;
/// The most leaves of a tree that is prefetched as a whole.
const PREFETCHED_LEAVES: usize = 64;

impl KineticTournament {
    pub fn new() -> KineticTournament {
        let mut tournament = KineticTournament { nodes: Vec::new(), tails: Vec::new(), free: Vec::new(), len: 0, moving: Vec::new() };
        tournament.clear();
        tournament
    }

    /// Removes all streams, and keeps the memory.
    pub fn clear(&mut self) {
        self.tails.clear();
        self.resize(LEAST_LEAVES);
        self.len = 0;
    }

    fn resize(&mut self, leaves: usize) {
        self.nodes.clear();
        self.nodes.resize(2 * leaves, EMPTY);
        self.free.clear();
        self.free.extend((leaves as u32..2 * leaves as u32).rev());
        // Once there are runs, a small tree may hold many streams.
        let tails = if leaves < LEAST_LEAVES_FOR_RUNS && self.tails.is_empty() { 0 } else { leaves.max(LEAST_LEAVES_FOR_RUNS) };
        self.tails.clear();
        self.tails.resize(tails, NO_STREAM);
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// True if its tree has many leaves.
    #[inline]
    pub fn is_large(&self) -> bool {
        self.nodes.len() >= 2 * LEAST_LEAVES_FOR_RUNS
    }

    /// Prefetches a small tree as a whole, before it is replayed.
    pub fn prefetch(&self) {
        if self.nodes.len() <= 2 * PREFETCHED_LEAVES {
            self.nodes.chunks(2).for_each(|pair| prefetch(&pair[0]));
        }
    }

    /// The streams that have a leaf.
    fn heads(&self) -> impl Iterator<Item = u32> {
        self.nodes[self.nodes.len() / 2..].iter().filter_map(Node::winner)
    }

    /// All streams, in no particular order.
    pub fn streams(&self, members: &[Member]) -> impl Iterator<Item = u32> {
        self.heads().flat_map(|head| {
            let next = |&stream: &u32| Some(members[stream as usize].next).filter(|&next| next != NO_STREAM);
            iter::successors(Some(head), next)
        })
    }

    /// The entry of `tails` for its lane, if runs are looked for.
    #[inline]
    fn tail_of(&mut self, key: &KineticKey) -> Option<&mut u32> {
        let shift = 64 - self.tails.len().checked_ilog2()?;
        self.tails.get_mut((key.lane().wrapping_mul(0x9E37_79B9_7F4A_7C15) >> shift) as usize)
    }

    /// Appends a stream to a run of its lane whose last stream comes before it. False if there is none: the stream then becomes the last of
    /// a run of its own.
    #[inline]
    fn follow(&mut self, stream: u32, members: &mut [Member]) -> bool {
        let key = members[stream as usize].key;
        members[stream as usize].next = NO_STREAM;
        let Some(tail) = self.tail_of(&key) else { return false };
        let last = mem::replace(tail, stream);
        let Some(before) = members.get_mut(last as usize) else { return false };
        if !key.follows(&before.key) {
            return false;
        }
        before.next = stream;
        members[stream as usize].slot = FOLLOWS | last;
        self.len += 1;
        true
    }

    /// No stream is to follow this one, which is the last of a run, from now on; `last` may be followed in its place.
    #[inline]
    fn end_run(&mut self, stream: u32, key: &KineticKey, last: u32) {
        if let Some(tail) = self.tail_of(key)
            && *tail == stream
        {
            *tail = last;
        }
    }

    /// The winner is about to change. True if another stream follows in its run: that one has taken its leaf.
    #[inline]
    pub fn release(&mut self, stream: u32, misses: u64, members: &mut [Member]) -> bool {
        let Member { key, slot: leaf, next } = members[stream as usize];
        let Some(follower) = members.get_mut(next as usize) else {
            self.end_run(stream, &key, NO_STREAM);
            return false;
        };
        follower.slot = leaf;
        let node = Node::leaf(follower.key);
        self.len -= 1;
        self.replay_to_root(leaf, node, misses);
        true
    }

    /// The first stream. [`KineticTournament::replay_expired`] has been called with the present count.
    #[inline]
    pub fn winner(&self) -> Option<u32> {
        self.nodes[1].winner()
    }

    /// The key of the first stream, if there is one.
    #[inline]
    pub fn first(&self) -> Option<&KineticKey> {
        self.winner().map(|_| &self.nodes[1].key)
    }

    /// The winners of both halves: one is the winner of all, and the other perhaps the next; [`NO_STREAM`] for an empty half.
    #[inline]
    pub fn finalists(&self) -> [u32; 2] {
        [self.nodes[2].key.stream(), self.nodes[3].key.stream()]
    }

    /// Adds a stream whose key is as of the count `misses`.
    pub fn insert(&mut self, stream: u32, misses: u64, members: &mut [Member]) {
        if !self.follow(stream, members) {
            self.begin_run(stream, misses, members);
        }
    }

    #[inline]
    fn begin_run(&mut self, stream: u32, misses: u64, members: &mut [Member]) {
        let leaf = self.assign_leaf(stream, misses, members);
        self.replay(leaf, Node::leaf(members[stream as usize].key), misses);
    }

    /// Adds several.
    pub fn insert_all(&mut self, streams: &[u32], misses: u64, members: &mut [Member]) {
        let levels = self.nodes.len().ilog2() as usize;
        if streams.len() * levels < self.nodes.len() / 2 {
            return streams.iter().for_each(|&stream| self.insert(stream, misses, members));
        }
        for &stream in streams {
            if !self.follow(stream, members) {
                self.assign_leaf(stream, misses, members);
            }
        }
        self.play_all(misses);
    }

    #[inline]
    fn assign_leaf(&mut self, stream: u32, misses: u64, members: &mut [Member]) -> u32 {
        if self.free.is_empty() {
            self.rebuild(self.nodes.len(), misses, members);
        }
        let leaf = self.free.pop().unwrap_or_default();
        let member = &mut members[stream as usize];
        member.slot = leaf;
        self.len += 1;
        self.nodes[leaf as usize] = Node::leaf(member.key);
        leaf
    }

    /// Takes a stream out that has just been [released](Self::release).
    #[inline]
    pub fn remove_released(&mut self, stream: u32, misses: u64, members: &[Member]) {
        let leaf = members[stream as usize].slot;
        self.free.push(leaf);
        self.len -= 1;
        self.replay_to_root(leaf, EMPTY, misses);
    }

    /// Takes a stream out.
    pub fn remove(&mut self, stream: u32, misses: u64, members: &mut [Member]) {
        let Member { key, slot: leaf, next } = members[stream as usize];
        if leaf & FOLLOWS == 0 {
            if !self.release(stream, misses, members) {
                self.remove_released(stream, misses, members);
            }
            return;
        }
        let before = leaf & !FOLLOWS;
        members[before as usize].next = next;
        match members.get_mut(next as usize) {
            Some(follower) => follower.slot = leaf,
            None => self.end_run(stream, &key, before),
        }
        self.len -= 1;
    }

    /// Halves the tree if it has more than 8 leaves, and more than 8 for each run and for each of `more` streams.
    #[inline]
    pub fn shrink(&mut self, more: usize, misses: u64, members: &mut [Member]) {
        let leaves = self.nodes.len() / 2;
        if (leaves - self.free.len() + more) * 8 < leaves && leaves > 8 {
            self.rebuild(leaves / 2, misses, members);
        }
    }

    /// The key of a stream that has been [released](Self::release) and still has its leaf has changed.
    #[inline]
    pub fn update(&mut self, stream: u32, misses: u64, members: &mut [Member]) {
        let leaf = members[stream as usize].slot;
        let node = if self.follow(stream, members) {
            self.free.push(leaf);
            self.len -= 1;
            EMPTY
        } else {
            Node::leaf(members[stream as usize].key)
        };
        self.replay_to_root(leaf, node, misses);
    }

    /// True if a certificate or a key expires at the count `misses` or before.
    #[inline]
    pub fn has_expired(&self, misses: u64) -> bool {
        self.nodes[1].expires <= misses
    }

    /// Replays what has expired at the count `misses`. `renew` sets the key of a stream as of this count; it returns false if it has put the
    /// stream elsewhere.
    #[inline]
    pub fn replay_expired(&mut self, misses: u64, members: &mut [Member], renew: &mut impl FnMut(u32, &mut Member) -> bool) {
        while self.has_expired(misses) {
            // Usually one certificate or one leaf has expired: a path, which is replayed from its lower end.
            let mut node = 1;
            while node < self.nodes.len() / 2 {
                match [2 * node, 2 * node + 1].map(|child| self.nodes[child].expires <= misses) {
                    [true, false] => node *= 2,
                    [false, true] => node = 2 * node + 1,
                    _ => break,
                }
            }
            let replayed = self.replay_below(node, misses, members, renew);
            self.replay(node as u32, replayed, misses);
        }
        if !self.moving.is_empty() {
            let mut moving = mem::take(&mut self.moving);
            moving.drain(..).for_each(|stream| self.begin_run(stream, misses, members));
            self.moving = moving;
        }
    }

    fn replay_below(&mut self, node: usize, misses: u64, members: &mut [Member], renew: &mut impl FnMut(u32, &mut Member) -> bool) -> Node {
        if node >= self.nodes.len() / 2 {
            return self.renew_run(node, misses, members, renew);
        }
        for child in [2 * node, 2 * node + 1] {
            if self.nodes[child].expires <= misses {
                self.nodes[child] = self.replay_below(child, misses, members, renew);
            }
        }
        self.play(node, misses)
    }

    /// What a leaf becomes when the first stream of its run has expired. Streams that have not expired stay. If none is left, the leaf goes to
    /// the first of the others that does not follow a stream elsewhere.
    fn renew_run(&mut self, leaf: usize, misses: u64, members: &mut [Member], renew: &mut impl FnMut(u32, &mut Member) -> bool) -> Node {
        let moving = self.moving.len();
        let mut stream = self.nodes[leaf].key.stream();
        while let Some(&Member { key, next, .. }) = members.get(stream as usize)
            && key.expires() <= misses
        {
            match members.get(next as usize) {
                Some(member) => prefetch(member),
                None => self.end_run(stream, &key, NO_STREAM),
            }
            self.len -= 1;
            if renew(stream, &mut members[stream as usize]) && !self.follow(stream, members) {
                self.moving.push(stream);
            }
            stream = next;
        }
        if stream == NO_STREAM && self.moving.len() > moving {
            stream = self.moving.swap_remove(moving);
            self.len += 1;
        }
        let Some(member) = members.get_mut(stream as usize) else {
            self.free.push(leaf as u32);
            return EMPTY;
        };
        member.slot = leaf as u32;
        Node::leaf(member.key)
    }

    #[inline]
    fn play(&self, node: usize, misses: u64) -> Node {
        Node::of(&self.nodes[2 * node], &self.nodes[2 * node + 1], misses)
    }

    /// Puts a node in its place and replays the path above it up to the first node that stays the same.
    #[inline]
    fn replay(&mut self, from: u32, node: Node, misses: u64) {
        self.replay_until(from, node, misses, |before, after| before.equals(after));
    }

    /// The same up to the root without comparisons: on the path of the winner, every node changes.
    #[inline]
    fn replay_to_root(&mut self, from: u32, node: Node, misses: u64) {
        self.replay_until(from, node, misses, |_, _| false);
    }

    #[inline]
    fn replay_until(&mut self, from: u32, mut node: Node, misses: u64, is_done: impl Fn(&Node, &Node) -> bool) {
        let mut at = from as usize;
        // The length is a power of two, so masking the index tells the compiler that it is in range.
        let mask = self.nodes.len() - 1;
        let nodes = &mut *self.nodes;
        nodes[at & mask].assign(&node);
        while at > 1 {
            node = Node::of(&node, &nodes[(at ^ 1) & mask], misses);
            at /= 2;
            let place = &mut nodes[at & mask];
            if is_done(place, &node) {
                return;
            }
            place.assign(&node);
        }
    }

    fn play_all(&mut self, misses: u64) {
        for node in (1..self.nodes.len() / 2).rev() {
            self.nodes[node] = self.play(node, misses);
        }
    }

    /// Moves all runs into a tree of this many leaves.
    #[cold]
    fn rebuild(&mut self, leaves: usize, misses: u64, members: &mut [Member]) {
        let mut heads = mem::take(&mut self.moving);
        heads.extend(self.heads());
        self.resize(leaves.max(LEAST_LEAVES));
        for stream in heads.drain(..) {
            let leaf = self.free.pop().unwrap_or_default();
            let member = &mut members[stream as usize];
            member.slot = leaf;
            self.nodes[leaf as usize] = Node::leaf(member.key);
        }
        self.moving = heads;
        self.play_all(misses);
    }
}
