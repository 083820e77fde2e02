//! The PDUs that wait in host memory: one pool of entries, linked into a ring per connection.
//!
//! The host keeps the PDUs; the scheduler keeps their lengths. Entries are allocated when the scheduler is built. A connection has the
//! index of its newest PDU, which links to the oldest.

use crate::scheduler::LONGEST_PDU;
use crate::transfer::NONE;
use alloc::vec::Vec;

#[derive(Clone, Debug)]
pub(crate) struct PduPool {
    pdus: Vec<Pdu>,
    limit: u32,
    vacant: u32,
}

#[derive(Clone, Copy, Debug)]
#[repr(C, packed(2))]
struct Pdu {
    /// The next PDU, after the newest the oldest; for a vacant entry the next vacant one, `NONE` at the end.
    next: u32,
    cells: u16,
}

const _: () = assert!(size_of::<Pdu>() == 6 && LONGEST_PDU <= u16::MAX as u32, "a PDU takes 6 bytes");

impl PduPool {
    #[cfg(test)]
    pub(crate) const BYTES: usize = size_of::<Pdu>();

    pub(crate) fn new(limit: u32) -> PduPool {
        let limit = limit.min(NONE - 1);
        PduPool { pdus: Vec::with_capacity(limit as usize), limit, vacant: NONE }
    }

    /// Adds a PDU after the newest of a connection (`NONE` without a PDU), and returns it. `None` if all entries are in use.
    pub(crate) fn append(&mut self, newest: u32, cells: u16) -> Option<u32> {
        let entry = if self.vacant != NONE {
            let entry = self.vacant;
            self.vacant = self.pdus[entry as usize].next;
            entry
        } else if (self.pdus.len() as u32) < self.limit {
            self.pdus.push(Pdu { next: NONE, cells });
            self.pdus.len() as u32 - 1
        } else {
            return None;
        };
        let mut oldest = entry;
        if newest != NONE {
            oldest = self.pdus[newest as usize].next;
            self.pdus[newest as usize].next = entry;
        }
        self.pdus[entry as usize] = Pdu { next: oldest, cells };
        Some(entry)
    }

    /// The PDU after another one; `NONE` after `newest`, the newest of the connection.
    pub(crate) fn after(&self, entry: u32, newest: u32) -> u32 {
        if entry == newest { NONE } else { self.pdus[entry as usize].next }
    }

    /// The length of a PDU in cells; 0 for `NONE`.
    pub(crate) fn cells(&self, entry: u32) -> u16 {
        if entry == NONE { 0 } else { self.pdus[entry as usize].cells }
    }

    /// Removes the oldest PDU of a connection with this newest one, and returns the next oldest; `NONE` if there is none.
    pub(crate) fn drop_oldest(&mut self, newest: u32) -> u32 {
        let gone = self.pdus[newest as usize].next;
        let oldest = self.after(gone, newest);
        if oldest != NONE {
            self.pdus[newest as usize].next = oldest;
        }
        self.pdus[gone as usize].next = self.vacant;
        self.vacant = gone;
        oldest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;
    use proptest::prelude::*;

    proptest! {
        /// Several connections share the entries: each has its PDUs in order, and no entry is lost.
        #[test]
        fn every_connection_has_a_queue(steps in prop::collection::vec((0usize..3, prop::option::of(1u16..100)), 1..200)) {
            let mut pool = PduPool::new(8);
            let (mut newest, mut queues) = ([NONE; 3], [const { VecDeque::new() }; 3]);
            for (which, cells) in steps {
                if let Some(cells) = cells {
                    let posted = pool.append(newest[which], cells);
                    prop_assert_eq!(posted.is_some(), queues.iter().map(VecDeque::len).sum::<usize>() < 8);
                    if let Some(posted) = posted {
                        newest[which] = posted;
                        queues[which].push_back((posted, cells));
                    }
                } else if newest[which] != NONE {
                    queues[which].pop_front();
                    let oldest = pool.drop_oldest(newest[which]);
                    if oldest == NONE {
                        newest[which] = NONE;
                    }
                    prop_assert_eq!(oldest, queues[which].front().map_or(NONE, |first| first.0));
                }
                let queue = &queues[which];
                prop_assert_eq!(newest[which], queue.back().map_or(NONE, |last| last.0));
                for (at, &(entry, cells)) in queue.iter().enumerate() {
                    prop_assert_eq!(pool.cells(entry), cells);
                    prop_assert_eq!(pool.after(entry, newest[which]), queue.get(at + 1).map_or(NONE, |next| next.0));
                }
            }
        }
    }
}
