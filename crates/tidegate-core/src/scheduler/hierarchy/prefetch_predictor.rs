//! Predicts which leaves of a large tree have their turns soon, so that their state is fetched. Wrong guesses cost time and nothing else.
//!
//! Rounds resemble each other: one node above flows is served for some turns, a run, then another node is. For each such node the predictor
//! keeps the length of its last run and the node that followed. For each leaf it keeps the sibling that had its turn
//! [`PREDICTION_DISTANCE`] of the node's turns later. A cursor walks ahead through these records.
//!
//! Where runs are short, the schedulers' own hints, for the root's next children and for theirs, come early enough. The predictor is enabled
//! while long runs exceed short ones by [`LONG_RUN_EXCESS`]; the counter saturates at twice that.

use super::node::{Child, Node};
use crate::prefetch::{prefetch_in, prefetch_second_line};
use alloc::vec::Vec;

/// The number of turns by which the cursor is ahead, a power of two.
const PREDICTION_DISTANCE: usize = 8;

/// The number of turns between naming a member and fetching what it leads to.
const MEMBER_FETCH_LAG: usize = 3;

/// The number of nodes and leaves up to which a tree stays in the cache without being fetched.
const CACHED_MEMBERS: usize = 4096;

/// The number of turns from which a run is long.
const LONG_RUN_TURNS: u32 = 4;

/// The number of long runs in excess of short ones from which the predictor is enabled.
const LONG_RUN_EXCESS: u32 = 32;

/// The record of one node above flows.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Runs {
    /// Turns of its flows so far.
    turns: u32,
    /// Turns before its latest run.
    began: u32,
    /// Turns that the cursor has passed.
    named: u32,
    /// Turns of its last whole run.
    length: u32,
    /// The node whose run came next.
    follower: u32,
    /// The leaves of its latest turns.
    past: [u32; PREDICTION_DISTANCE],
    /// The leaves expected [`PREDICTION_DISTANCE`] turns after these.
    coming: [u32; PREDICTION_DISTANCE],
}

/// The records of all nodes, and the cursor.
#[derive(Clone, Debug)]
pub(super) struct PrefetchPredictor {
    runs: Vec<Runs>,
    /// The node of the present run.
    node: u32,
    /// Turns of the present run so far.
    length: u32,
    /// Long runs so far less short ones, from 0 to `2 * LONG_RUN_EXCESS`.
    long: u32,
    /// The node in whose run the cursor is.
    cursor: u32,
    /// The turn of that node at which the run ends.
    end: u32,
    /// The number of turns by which the cursor is ahead.
    turns_ahead: i32,
    /// The number of runs by which the cursor is ahead.
    runs_ahead: u32,
    /// The leaves that the cursor named last, each with the leaf of [`PREDICTION_DISTANCE`] turns before.
    named: [[u32; 2]; PREDICTION_DISTANCE],
    latest: usize,
}

impl PrefetchPredictor {
    /// A predictor for a tree with this number of nodes among this number of members; `None` if the tree stays in the cache.
    pub(super) fn new(nodes: usize, members: usize) -> Option<PrefetchPredictor> {
        let none = [0; PREDICTION_DISTANCE];
        let nothing = Runs { turns: 0, began: 0, named: 0, length: 0, follower: 0, past: none, coming: none };
        (members > CACHED_MEMBERS).then(|| PrefetchPredictor {
            runs: alloc::vec![nothing; nodes],
            node: 0,
            length: 0,
            long: 0,
            cursor: 0,
            end: u32::MAX,
            turns_ahead: 0,
            runs_ahead: 0,
            named: [[0; 2]; PREDICTION_DISTANCE],
            latest: 0,
        })
    }

    /// It is the turn of a leaf of this node.
    #[inline]
    pub(super) fn turn_of(&mut self, members: &mut [Child], node: u32, leaf: u32) {
        if node != self.node {
            let is_long = core::mem::take(&mut self.length) >= LONG_RUN_TURNS;
            let longer = self.long.max(self.long.saturating_add(1).min(2 * LONG_RUN_EXCESS));
            self.long = if is_long { longer } else { self.long.saturating_sub(1) };
            self.begin_run(node);
        }
        self.length = self.length.saturating_add(1);
        if !self.is_enabled() {
            return;
        }
        let runs = &mut self.runs[node as usize];
        let place = runs.turns as usize % PREDICTION_DISTANCE;
        runs.turns = runs.turns.wrapping_add(1);
        let earlier = core::mem::replace(&mut runs.past[place], leaf);
        members[earlier as usize].later = leaf;
        runs.coming[place] = members[leaf as usize].later;
        // The caller need not ask after every turn.
        self.turns_ahead = self.turns_ahead.saturating_sub(1);
    }

    /// True while most runs are long.
    #[inline]
    pub(super) const fn is_enabled(&self) -> bool {
        self.long >= LONG_RUN_EXCESS
    }

    #[inline]
    fn begin_run(&mut self, node: u32) {
        if !self.is_enabled() {
            self.node = node;
            return;
        }
        let before = &mut self.runs[self.node as usize];
        let length = before.turns.wrapping_sub(before.began);
        // The cursor assumed that this run is as long as the node's run before.
        self.turns_ahead = self.turns_ahead.saturating_add(length.wrapping_sub(before.length) as i32);
        let is_as_predicted = self.runs_ahead > 0 && before.follower == node;
        (before.length, before.follower, before.named) = (length, node, before.turns);
        self.node = node;
        let runs = &mut self.runs[node as usize];
        runs.began = runs.turns;
        if is_as_predicted {
            self.runs_ahead -= 1;
        } else {
            runs.named = runs.turns;
            (self.cursor, self.turns_ahead, self.runs_ahead) = (node, 0, 0);
            // The length of a node's first run is unknown.
            self.end = runs.turns.wrapping_add(runs.length).wrapping_sub(u32::from(runs.length == 0));
        }
    }

    /// The members that the cursor named `turns` turns ago.
    #[inline]
    fn named(&self, turns: usize) -> [u32; 2] {
        self.named[self.latest.wrapping_sub(turns) % PREDICTION_DISTANCE]
    }

    /// Moves the cursor on to [`PREDICTION_DISTANCE`] turns from now; `None` if it is there already.
    ///
    /// The first member is the leaf whose turn that will be, or the root if nothing is known. The second and third were named
    /// [`MEMBER_FETCH_LAG`] turns ago; what they lead to is to be fetched now.
    #[inline]
    pub(super) fn advance<S>(&mut self, nodes: &[Node<S>], members: &[Child]) -> Option<[usize; 3]> {
        if self.turns_ahead >= PREDICTION_DISTANCE as i32 {
            return None;
        }
        // Two turns where the cursor has to catch up.
        for _ in 0..1 + u32::from(self.turns_ahead < PREDICTION_DISTANCE as i32 - 1) {
            let mut runs = &mut self.runs[self.cursor as usize];
            if runs.named == self.end {
                let node = runs.follower;
                self.cursor = node;
                self.runs_ahead += 1;
                runs = &mut self.runs[node as usize];
                self.end = runs.named.wrapping_add(runs.length.max(1));
                prefetch_in(nodes, node as usize);
                prefetch_second_line(&nodes[node as usize]);
                prefetch_in(members, node as usize);
            }
            let place = runs.named as usize % PREDICTION_DISTANCE;
            let is_known = (runs.named.wrapping_sub(runs.turns) as usize) < PREDICTION_DISTANCE;
            let named = [if is_known { runs.coming[place] } else { 0 }, runs.past[place]];
            runs.named = runs.named.wrapping_add(1);
            let follower = runs.follower as usize;
            prefetch_in(&self.runs, follower);
            named.iter().for_each(|&member| prefetch_in(members, member as usize));
            self.turns_ahead += 1;
            self.latest = self.latest.wrapping_add(1);
            self.named[self.latest % PREDICTION_DISTANCE] = named;
        }
        let ([leaf, _], [sooner, earlier]) = (self.named(0), self.named(MEMBER_FETCH_LAG));
        Some([leaf as usize, sooner as usize, earlier as usize])
    }
}

#[cfg(test)]
mod tests;
