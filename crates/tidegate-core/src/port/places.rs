//! The places of a port's flows: which of them take packets, and which are leaving or vacant.

use crate::packet::Flow;
use alloc::vec::Vec;

/// What becomes of the packets of a flow that is removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leaving {
    /// They are served under the flow's parameters; then its place is vacant.
    Drain,
    /// They are dropped, and its place is vacant at once.
    Drop,
}

/// One bit per place. A place that is closed takes no packets: its flow is leaving while packets are queued, and the place is vacant otherwise.
#[derive(Clone, Debug)]
pub(super) struct Places {
    closed: Vec<u64>,
    /// The number of closed places.
    closed_places: u32,
    /// The number of flows that leave.
    leaving: u32,
}

impl Places {
    /// This number of places, all open.
    pub(super) fn new(flows: usize) -> Places {
        Places { closed: alloc::vec![0; flows.div_ceil(64)], closed_places: 0, leaving: 0 }
    }

    /// True if packets of the flow are refused.
    #[inline]
    pub(super) fn is_closed(&self, flow: Flow) -> bool {
        self.closed_places > 0 && self.closed[flow.index() / 64] >> (flow.index() % 64) & 1 > 0
    }

    /// True if the flow, whose queue has just become empty, has been waiting for that. Its place is vacant from now on.
    #[inline]
    pub(super) fn has_left(&mut self, flow: Flow) -> bool {
        if self.leaving == 0 || !self.is_closed(flow) {
            return false;
        }
        self.leaving -= 1;
        true
    }

    /// Closes an open place; its flow is leaving if packets of it are queued.
    pub(super) fn close(&mut self, flow: Flow, is_backlogged: bool) {
        self.closed[flow.index() / 64] |= 1 << (flow.index() % 64);
        self.closed_places += 1;
        self.leaving += u32::from(is_backlogged);
    }

    /// Opens a place, if it is closed.
    pub(super) fn open(&mut self, flow: Flow, is_backlogged: bool) {
        if self.is_closed(flow) {
            self.closed[flow.index() / 64] &= !(1 << (flow.index() % 64));
            self.closed_places -= 1;
            self.leaving -= u32::from(is_backlogged);
        }
    }
}
