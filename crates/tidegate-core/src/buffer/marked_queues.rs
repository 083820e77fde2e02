//! The queues of a buffer that hold marked packets: how many, how many bytes in all, and one of them by lot.
//!
//! **Law.** M, the marked bytes of the buffer, is the sum over all queues. A lot falls on each queue with marked packets with the same
//! probability, whatever it holds.
//! **Source.** J. Wu et al., the per-flow IntServ node, Figure 4 (lists of marked packets); the dense array is a textbook set with deletion by
//! exchange with the last.
//! **State.** 12 bytes per flow.
//! **Cost.** O(1) per packet; green packets cost one comparison.
//! **RTL twin.** None yet.
//! **Deviations.** The lists are kept by the port's queues; here they are counted.

use super::Change;
use crate::packet::{Colour, Flow};
use crate::queue::Marked;
use crate::random::SplitMix64;
use crate::scheduler::Kept;
use alloc::vec::Vec;

/// The queues with marked packets.
#[derive(Clone, Debug)]
pub(super) struct MarkedQueues {
    packets: u32,
    bytes: u64,
    /// By flow.
    flows: Vec<MarkedQueue>,
    /// The flows with marked packets, in no particular order.
    members: Vec<Flow>,
    random: SplitMix64,
}

/// What a queue holds of marked packets, and where it is among the members if it does.
#[derive(Clone, Copy, Debug)]
struct MarkedQueue {
    packets: u32,
    member: u32,
}

impl MarkedQueues {
    /// `flows` queues without marked packets.
    pub(super) fn new(flows: usize, seed: u64) -> MarkedQueues {
        let none = MarkedQueue { packets: 0, member: 0 };
        let members = Vec::with_capacity(flows);
        MarkedQueues { packets: 0, bytes: 0, flows: alloc::vec![none; flows], members, random: SplitMix64::new(seed) }
    }

    /// Marked packets in the buffer.
    #[inline]
    pub(super) fn packets(&self) -> u32 {
        self.packets
    }

    /// Their bytes (M).
    #[inline]
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// True if the queue of `flow` holds a marked packet.
    #[inline]
    pub(super) fn holds(&self, flow: Flow) -> bool {
        self.flows[flow.index()].packets > 0
    }

    /// One of the flows with marked packets, by lot.
    #[inline]
    pub(super) fn draw(&mut self) -> Option<Flow> {
        if fault!(SelectivePushoutLowestFlow) {
            return self.members.iter().min().copied();
        }
        if fault!(SelectivePushoutInTurn) {
            // What was drawn last comes last.
            let first = self.members.first().copied();
            self.members.rotate_left(first.is_some().into());
            (0..).zip(&self.members).for_each(|(at, flow)| self.flows[flow.index()].member = at);
            return first;
        }
        if fault!(SelectivePushoutLongest) {
            return self.members.iter().max_by_key(|flow| self.flows[flow.index()].packets).copied();
        }
        let lot = self.random.below(self.members.len() as u32);
        self.members.get(lot as usize).copied()
    }

    /// A number below `limit`, by lot.
    pub(super) fn lot(&mut self, limit: u32) -> u32 {
        self.random.below(limit)
    }

    /// The number of queues.
    pub(super) fn flows(&self) -> usize {
        self.flows.len()
    }

    /// Any of the flows with marked packets.
    #[inline]
    pub(super) fn any(&self) -> Option<Flow> {
        self.members.last().copied()
    }

    #[inline]
    pub(super) fn changed(&mut self, change: Change) {
        let Change { flow, length, colour, has_joined } = change;
        if colour == Colour::Green {
            return;
        }
        let queue = &mut self.flows[flow.index()];
        if has_joined {
            (self.packets, self.bytes) = (self.packets + 1, self.bytes + u64::from(length));
            queue.packets += 1;
            if queue.packets == 1 {
                queue.member = self.members.len() as u32;
                self.members.push(flow);
            }
        } else {
            (self.packets, self.bytes) = (self.packets - 1, self.bytes - u64::from(length));
            queue.packets -= 1;
            if queue.packets == 0 {
                let at = queue.member;
                self.members.swap_remove(at as usize);
                if let Some(moved) = self.members.get(at as usize) {
                    self.flows[moved.index()].member = at;
                }
            }
        }
    }

    /// The queue of `flow`, which was empty, holds these.
    pub(super) fn restore(&mut self, flow: Flow, marked: Marked) {
        if marked.packets == 0 {
            return;
        }
        self.flows[flow.index()] = MarkedQueue { packets: marked.packets, member: self.members.len() as u32 };
        self.members.push(flow);
        self.packets += marked.packets;
        self.bytes += u64::from(marked.bytes);
    }

    /// Continues the lots of `old`: the flows that are kept come in the order in which they were there.
    pub(super) fn adopt(&mut self, old: &MarkedQueues, kept: &[Kept]) {
        self.random = old.random.clone();
        let mut places = alloc::vec![None; old.flows.len()];
        kept.iter().for_each(|kept| places[kept.from.index()] = Some(kept.to));
        let mut at = 0;
        for flow in &old.members {
            let Some(flow) = places[flow.index()].filter(|&flow| self.holds(flow)) else { continue };
            let from = core::mem::replace(&mut self.flows[flow.index()].member, at);
            let displaced = core::mem::replace(&mut self.members[at as usize], flow);
            if displaced != flow {
                self.members[from as usize] = displaced;
                self.flows[displaced.index()].member = from;
            }
            at += 1;
        }
    }
}
