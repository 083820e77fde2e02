//! The PDUs that wait in host memory: one pool of entries, linked into a list per connection.
//!
//! The host keeps the PDUs themselves; here only their lengths matter. Entries are reserved when the scheduler is built.

use super::transfer::NONE;
use alloc::vec::Vec;

/// Entries of 8 bytes.
#[derive(Clone, Debug)]
pub(super) struct PduPool {
    pdus: Vec<Pdu>,
    limit: u32,
    /// The first of the entries to be used again.
    vacant: u32,
}

#[derive(Clone, Copy, Debug)]
struct Pdu {
    cells: u32,
    /// The PDU after it, or the next vacant entry; `NONE` at the end.
    next: u32,
}

impl PduPool {
    /// Room for so many PDUs at one time.
    pub(super) fn new(limit: u32) -> PduPool {
        let limit = limit.min(NONE - 1);
        PduPool { pdus: Vec::with_capacity(limit as usize), limit, vacant: NONE }
    }

    /// An entry at the end of its list; `None` if all are taken.
    pub(super) fn take(&mut self, cells: u32) -> Option<u32> {
        let pdu = Pdu { cells, next: NONE };
        let entry = self.vacant;
        if entry != NONE {
            self.vacant = self.pdus[entry as usize].next;
            self.pdus[entry as usize] = pdu;
            return Some(entry);
        }
        if self.pdus.len() as u32 == self.limit {
            return None;
        }
        self.pdus.push(pdu);
        Some(self.pdus.len() as u32 - 1)
    }

    /// Lets an entry follow another.
    pub(super) fn link(&mut self, entry: u32, next: u32) {
        self.pdus[entry as usize].next = next;
    }

    /// The PDU after this one; `NONE` if it is the last.
    pub(super) fn next(&self, entry: u32) -> u32 {
        self.pdus[entry as usize].next
    }

    /// Its length in cells; 0 for no PDU.
    pub(super) fn cells(&self, entry: u32) -> u32 {
        if entry == NONE { 0 } else { self.pdus[entry as usize].cells }
    }

    /// The entry may be used again; names the one after it.
    pub(super) fn give_back(&mut self, entry: u32) -> u32 {
        let next = self.next(entry);
        self.link(entry, self.vacant);
        self.vacant = entry;
        next
    }
}
