//! What is under way of the connections of workloads, and which of their slots are free.
//!
//! A slot is a place for one connection at a time: a flow and a connection behind those of the network. When its connection is closed the slot waits until
//! nothing of it is under way in either direction. Otherwise a late packet would reach the next connection.

use super::reverse_path::ReversePath;
use crate::statistics::tcp::AckMeter;
use tidegate_core::port::Volume;

pub(super) struct Pool {
    /// The number of the first slot's flow and connection.
    pub first_flow: u32,
    pub first_connection: u32,
    slots: Vec<Slot>,
    free: Vec<u32>,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    /// The data of all connections so far.
    data: AckMeter,
    used: Use,
}

/// What a slot is used for.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Use {
    /// It has a connection.
    #[default]
    Open,
    /// Its connection is closed, and some packets of it are under way.
    Closed,
    /// Nothing.
    Free,
}

impl Pool {
    pub(super) fn new(first_flow: u32, first_connection: u32) -> Pool {
        Pool { first_flow, first_connection, slots: Vec::new(), free: Vec::new() }
    }

    /// A free slot, which is a new one if there is no other.
    pub(super) fn take(&mut self, reverse_path: &mut ReversePath) -> usize {
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize].used = Use::Open;
                slot as usize
            }
            None => {
                self.slots.push(Slot::default());
                reverse_path.meters.push(AckMeter::default());
                self.slots.len() - 1
            }
        }
    }

    /// The number of slots so far.
    pub(super) fn slots(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn connection_of(&self, flow: u32) -> u32 {
        flow - self.first_flow + self.first_connection
    }

    /// The data of a slot, by its flow.
    #[inline]
    pub(super) fn data(&mut self, flow: u32) -> &mut AckMeter {
        &mut self.slots[(flow - self.first_flow) as usize].data
    }

    /// What all connections of a slot have emitted, by its flow.
    pub(super) fn emitted(&self, flow: u32) -> Volume {
        self.slots[(flow - self.first_flow) as usize].data.emitted
    }

    /// True if a slot has no connection, and nothing of its last one is under way.
    pub(super) fn is_free(&self, slot: usize) -> bool {
        self.slots[slot].used == Use::Free
    }

    /// The data of all slots.
    pub(super) fn all_data(&self) -> impl Iterator<Item = &AckMeter> {
        self.slots.iter().map(|slot| &slot.data)
    }

    /// The connection of a slot is closed.
    pub(super) fn close(&mut self, slot: usize, reverse_path: &ReversePath) {
        self.slots[slot].used = Use::Closed;
        self.settle(slot as u32 + self.first_connection, reverse_path);
    }

    /// A packet of a connection has arrived, or is lost: frees its slot if it was the last one of a closed connection.
    pub(super) fn settle(&mut self, connection: u32, reverse_path: &ReversePath) {
        let Some(number) = connection.checked_sub(self.first_connection) else { return };
        let slot = &mut self.slots[number as usize];
        if slot.used == Use::Closed && slot.data.is_settled() && reverse_path.meters[connection as usize].is_settled() {
            slot.used = Use::Free;
            self.free.push(number);
        }
    }
}
