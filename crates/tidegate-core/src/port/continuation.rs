//! A port that goes on in another process: what it has counted, what its contracts have granted, and the packets in its queues.
//!
//! [`Port::state`] and [`Port::queued`] show it, and [`Port::continue_from`] brings a new port of the same policy there. Instants are on one clock.
//!
//! **Law.** Nothing is lost, nothing is granted twice: the counters go on, packets keep the order of their queues, and the policers, shapers and trees
//! continue as they would have. What begins anew: turns and stamps of schedulers that do not shape, which costs a flow at most a turn, and AQMs.
//! **State.** A few words per contract, in the order of the classes and the flows.
//! **Cost.** Per contract a copy of its words; per packet that of an arrival without a policer.

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

/// Notes the numbers.
struct Noted(Vec<u64>);

impl ContractState for Noted {
    fn instant(&mut self, time: &mut Time) {
        self.0.push(time.picoseconds());
    }

    fn number(&mut self, number: &mut u64, _most: u64) {
        self.0.push(*number);
    }
}

/// Puts noted numbers in the place of those that are visited.
struct Restored<'a> {
    left: core::slice::Iter<'a, u64>,
    now: Time,
    is_wrong: bool,
}

impl ContractState for Restored<'_> {
    fn instant(&mut self, time: &mut Time) {
        let found = self.left.next().copied().map(Time::from_picoseconds);
        // Instants of a port that runs are within two horizons, so that they compare.
        let limit = SERIAL_HORIZON + SERIAL_HORIZON;
        match found.filter(|found| found.since(self.now) <= limit && self.now.since(*found) <= limit) {
            Some(found) => *time = found,
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
    /// The state of its contracts, in an order that follows from the policy.
    pub contracts: Vec<u64>,
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
    /// What another port of the same policy needs to go on, beside the packets.
    pub fn state(&mut self) -> PortState {
        let mut noted = Noted(Vec::new());
        self.visit_contracts(&mut noted);
        PortState { counters: self.datapath.counters, clock: self.clock, busy_until: self.datapath.busy_until, contracts: noted.0 }
    }

    /// Goes on where a port of the same policy was. This port is new, and `now` is not before that. Packets come in the order in which they joined their queues, with the key
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
        let mut restored = Restored { left: state.contracts.iter(), now, is_wrong: false };
        self.visit_contracts(&mut restored);
        if restored.is_wrong || restored.left.len() > 0 {
            return Err(ContinueError::Contracts);
        }
        self.policers.iter_mut().flatten().for_each(|policer| policer.refresh(now));
        // What was due and could not be sent is still due.
        let clock = state.clock.later(now - SERIAL_HORIZON).earlier(now);
        self.scheduler.refresh(clock);
        self.clock = clock;
        self.next_refresh = clock + SERIAL_HORIZON;
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

    fn visit_contracts(&mut self, state: &mut dyn ContractState) {
        self.policers.iter_mut().flatten().for_each(|policer| policer.visit_state(state));
        self.scheduler.visit_contracts(state);
    }
}
