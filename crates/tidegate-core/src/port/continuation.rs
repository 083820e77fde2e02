//! A port that goes on in another process: what it has counted, what its contracts have granted, and the packets in its queues.
//!
//! [`Port::state`] and [`Port::queued`] show it, and [`Port::continue_from`] brings a new port of the same policy there. Instants are on one clock.
//!
//! **Law.** Nothing is lost, nothing is granted twice: the counters go on, packets keep the order of their queues, and the policers, shapers and trees
//! continue as they would have. What begins anew: turns and stamps of schedulers that do not shape, which costs a flow at most a turn, and AQMs.
//! **State.** A few words per contract that does not rest, in the order of the classes and the flows.
//! **Cost.** Per contract a look at it and, unless it rests, a copy of its words; per packet that of an arrival without a policer.

use super::accounting::Counters;
use super::{Port, Volume};
use crate::buffer::{BufferManager, Change};
use crate::classifier::FlowKey;
use crate::contract_state::ContractState;
use crate::packet::{Flow, Packet};
use crate::policer::Policer;
use crate::scheduler::Scheduler;
use crate::units::{SERIAL_HORIZON, Time};
use alloc::vec::Vec;
use core::fmt;

/// Notes the numbers of contracts that do not rest, behind the number of each.
struct Noted {
    words: Vec<u64>,
    contracts: u64,
    now: Time,
}

impl ContractState for Noted {
    fn contract(&mut self, rests: bool) -> bool {
        if !rests {
            self.words.push(self.contracts);
        }
        self.contracts += 1;
        !rests
    }

    fn resting_at(&self) -> Time {
        self.now
    }

    fn instant(&mut self, time: &mut Time) {
        self.words.push(time.picoseconds());
    }

    fn number(&mut self, number: &mut u64, _most: u64) {
        self.words.push(*number);
    }
}

/// Finds whether a policer is as good as new.
struct AsNew {
    now: Time,
    is_so: bool,
}

impl ContractState for AsNew {
    fn contract(&mut self, _rests: bool) -> bool {
        true
    }

    fn resting_at(&self) -> Time {
        self.now
    }

    fn instant(&mut self, time: &mut Time) {
        self.is_so &= !time.is_after(self.now);
    }

    fn number(&mut self, number: &mut u64, _most: u64) {
        self.is_so &= *number == 0;
    }
}

/// Puts noted numbers in the place of those that are visited.
struct Restored<'a> {
    left: core::slice::Iter<'a, u64>,
    contracts: u64,
    now: Time,
    /// The instant at which contracts rest.
    clock: Time,
    is_wrong: bool,
}

impl ContractState for Restored<'_> {
    fn contract(&mut self, _rests: bool) -> bool {
        let is_noted = self.left.as_slice().first() == Some(&self.contracts);
        if is_noted {
            self.left.next();
        }
        self.contracts += 1;
        is_noted
    }

    fn resting_at(&self) -> Time {
        self.clock
    }

    fn instant(&mut self, time: &mut Time) {
        let found = self.left.next().copied().map(Time::from_picoseconds);
        // Instants of a port that runs are within two horizons, so that they compare.
        let limit = SERIAL_HORIZON + SERIAL_HORIZON;
        match found.filter(|found| found.since(self.now) <= limit && self.now.since(*found) <= limit) {
            // Up to where it compares for as long as what a new port has.
            Some(found) => *time = found.later(self.clock - SERIAL_HORIZON),
            None => self.is_wrong = true,
        }
    }

    fn past(&mut self, time: &mut Time) {
        self.instant(time);
        self.is_wrong |= time.is_after(self.now);
    }

    fn number(&mut self, number: &mut u64, most: u64) {
        match self.left.next().filter(|found| **found <= most) {
            Some(found) => *number = *found,
            None => self.is_wrong = true,
        }
    }
}

/// What a port has counted and granted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PortState {
    /// The counters. What they say of queued packets is what the queues hold.
    pub counters: Counters,
    /// Up to when it has done all there was to do.
    pub clock: Time,
    /// When the transmission in progress ends.
    pub busy_until: Time,
    /// The state of its contracts that do not rest: the number of each, from 0 in an order that follows from the policy, and its words.
    pub contracts: Vec<u64>,
    /// The number of all contracts, those that rest included.
    pub contracts_in_all: u64,
}

/// Why a port cannot go on from a state: that is of another policy, or broken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ContinueError {
    /// The contracts are not those of this policy.
    Contracts,
    /// There is no such queue, it holds no such packet, or the port has no room for it.
    Packet(Flow),
    /// The counters do not add up with the packets.
    Counters,
}

impl fmt::Display for ContinueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ContinueError::Contracts => f.write_str("the contracts are not those of this policy"),
            ContinueError::Packet(flow) => write!(f, "a packet of queue {} has no place at this port", flow.0),
            ContinueError::Counters => f.write_str("the counters do not add up with the packets"),
        }
    }
}

impl core::error::Error for ContinueError {}

impl<P, S: Scheduler, B: BufferManager> Port<P, S, B> {
    /// What another port of the same policy needs to go on at `now` or later, beside the packets.
    pub fn state(&mut self, now: Time) -> PortState {
        self.policers.iter_mut().flatten().for_each(|policer| policer.refresh(now));
        let mut noted = Noted { words: Vec::new(), contracts: 0, now: self.clock };
        self.visit_contracts(now, &mut noted);
        let (counters, busy_until) = (self.datapath.counters, self.datapath.busy_until);
        PortState { counters, clock: self.clock, busy_until, contracts: noted.words, contracts_in_all: noted.contracts }
    }

    /// Goes on where a port of the same policy was. This port is new, and `now` is not before that, and not much later. Packets come in the order in which they joined their queues, with the key
    /// of [`Classifier::key`](crate::classifier::Classifier::key).
    ///
    /// # Errors
    /// [`ContinueError`]; the port is then of no use.
    pub fn continue_from(
        &mut self,
        now: Time,
        state: &PortState,
        packets: impl IntoIterator<Item = (Packet<P>, Option<FlowKey>)>,
    ) -> Result<(), ContinueError> {
        // What was due and could not be sent is still due.
        let clock = state.clock.later(now - SERIAL_HORIZON).earlier(now);
        let mut restored = Restored { left: state.contracts.iter(), contracts: 0, now, clock, is_wrong: false };
        self.visit_contracts(now, &mut restored);
        if restored.is_wrong || restored.left.len() > 0 || restored.contracts != state.contracts_in_all {
            return Err(ContinueError::Contracts);
        }
        self.policers.iter_mut().flatten().for_each(|policer| policer.refresh(now));
        self.clock = clock;
        for (mut packet, key) in packets {
            if let Some(key) = key.filter(|_| packet.flow.index() < self.classifier.flows()) {
                packet.flow = self.scheduler.assign(packet.flow, key);
            }
            let seen = packet.seen();
            if seen.flow.index() >= self.classifier.flows() || seen.length > self.longest_frame || self.datapath.queues.is_full() {
                return Err(ContinueError::Packet(seen.flow));
            }
            let became_head = self.datapath.queues.push(packet);
            self.datapath.buffer.changed(Change::joined(&seen), self.datapath.queues.occupancy());
            self.datapath.aqms.joined(clock, seen.flow, seen.length, self.datapath.queues.occupancy());
            if let Some(head) = became_head {
                self.scheduler.activate(clock, seen.flow, head);
            }
        }
        let occupancy = self.datapath.queues.occupancy();
        let queued = Volume { packets: occupancy.packets().into(), bytes: occupancy.bytes() };
        state.counters.check(queued).map_err(|_| ContinueError::Counters)?;
        (self.datapath.counters, self.datapath.busy_until) = (state.counters, state.busy_until.earlier(now + SERIAL_HORIZON));
        Ok(())
    }

    fn visit_contracts(&mut self, now: Time, state: &mut dyn ContractState) {
        for policer in self.policers.iter_mut().flatten() {
            let mut as_new = AsNew { now, is_so: true };
            policer.visit_state(&mut as_new);
            if state.contract(as_new.is_so) {
                policer.visit_state(state);
            }
        }
        self.scheduler.visit_contracts(state);
    }
}
