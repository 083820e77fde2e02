//! Some of the queues of a port, under numbers of their own: what a partition of a buffer and the AQM of a class see.

use super::{Backlog, Occupancy};
use crate::packet::Flow;
use crate::units::Time;

/// The port's number of a flow of a subset.
pub(crate) trait Numbering {
    fn of(&self, flow: Flow) -> Flow;
}

/// Queues of a port, and what they hold together.
pub(crate) struct Subset<'a, N> {
    pub(crate) packets: u32,
    pub(crate) bytes: u64,
    pub(crate) numbering: N,
    pub(crate) port: &'a Occupancy,
}

impl<N: Numbering> Backlog for Subset<'_, N> {
    #[inline]
    fn packets(&self) -> u32 {
        self.packets
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.bytes
    }

    #[inline]
    fn flow_packets(&self, flow: Flow) -> u32 {
        self.port.flow_packets(self.numbering.of(flow))
    }

    #[inline]
    fn flow_bytes(&self, flow: Flow) -> u32 {
        self.port.flow_bytes(self.numbering.of(flow))
    }

    #[inline]
    fn waiting_since(&self, flow: Flow) -> Option<Time> {
        self.port.waiting_since(self.numbering.of(flow))
    }

    #[inline]
    fn port(&self) -> &Occupancy {
        self.port
    }
}
