//! The flows that send most in a direction, over stretches of five seconds.
//!
//! A flow is what agrees in addresses, protocol and ports; frames without an IP header are one flow per Ethernet type. Each stretch has a table of
//! [`COUNTERS`] counters; a table that is complete is handed to those who ask and never changes again.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use tidegate_core::classifier::{Header, Network};
use tidegate_core::units::{Duration, Time};
use tidegate_statistics::SpaceSaving;

/// The counters of a table, 56 kB of memory: no flow is over-counted by more than 1/512 of the bytes of its stretch.
const COUNTERS: usize = 512;
/// The length of a stretch.
const STRETCH: Duration = Duration::from_seconds(5);

/// A flow as its headers tell it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FlowId {
    source: u128,
    destination: u128,
    ports: Option<(u16, u16)>,
    ethernet_type: u16,
    protocol: u8,
    version: u8,
}

impl FlowId {
    /// The flow of a packet with this header.
    #[inline]
    pub fn of(header: &Header) -> FlowId {
        let (source, destination, version) = match header.network {
            Network::V4 { source, destination, .. } => (u128::from(source), u128::from(destination), 4),
            Network::V6 { source, destination, .. } => (source, destination, 6),
            Network::Other => (0, 0, 0),
        };
        let (protocol, ports) = header.transport().map_or((0, None), |transport| (transport.protocol, transport.ports));
        FlowId { source, destination, ports, ethernet_type: if version == 0 { header.ethernet_type } else { 0 }, protocol, version }
    }

    /// Source and destination; `None` without an IP header.
    pub fn addresses(&self) -> Option<[IpAddr; 2]> {
        let address = |bits: u128| match self.version {
            4 => Some(IpAddr::V4(Ipv4Addr::from(bits as u32))),
            6 => Some(IpAddr::V6(Ipv6Addr::from(bits))),
            _ => None,
        };
        Some([address(self.source)?, address(self.destination)?])
    }

    /// The number of the transport protocol, with an IP header.
    pub fn protocol(&self) -> u8 {
        self.protocol
    }

    /// Source and destination port.
    pub fn ports(&self) -> Option<(u16, u16)> {
        self.ports
    }

    /// The Ethernet type, without an IP header.
    pub fn ethernet_type(&self) -> u16 {
        self.ethernet_type
    }

    /// One multiplication per word.
    #[inline]
    fn hash(&self, seed: u64) -> u64 {
        let (source, destination) = self.ports.unwrap_or_default();
        let ports = u64::from(source) << 16 | u64::from(destination);
        let rest = ports << 32 | u64::from(self.ethernet_type) << 16 | u64::from(self.protocol) << 8 | u64::from(self.version);
        let mut hash = seed;
        for word in [self.source as u64, (self.source >> 64) as u64, self.destination as u64, (self.destination >> 64) as u64, rest] {
            hash = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            hash ^= hash >> 32;
        }
        hash
    }
}

/// The flows of one stretch of time, each with the index of its class among those of [`Control::classes`](crate::Control::classes).
#[derive(Clone, Debug)]
pub struct Talkers {
    /// The length of the stretch.
    pub over: Duration,
    /// The flows, with the bytes that were offered of each.
    pub flows: SpaceSaving<FlowId, u32>,
}

impl Talkers {
    /// Those of all workers of a direction.
    pub(crate) fn of_workers(workers: &[Arc<Talkers>]) -> Talkers {
        let tables: Vec<_> = workers.iter().map(|talkers| &talkers.flows).collect();
        let over = workers.iter().map(|talkers| talkers.over).max().unwrap_or_default();
        Talkers { over, flows: SpaceSaving::merged(&tables, |flow| flow.hash(0)) }
    }
}

/// Finds the flows that send most.
#[derive(Debug)]
pub(crate) struct TalkerTable {
    seed: u64,
    began: Time,
    current: SpaceSaving<FlowId, u32>,
    complete: Option<Arc<Talkers>>,
}

impl TalkerTable {
    /// A table whose first stretch begins at `now`.
    pub(crate) fn new(now: Time) -> TalkerTable {
        // The seed is secret, so that no sender can choose flows that share a slot.
        TalkerTable { seed: RandomState::new().build_hasher().finish(), began: now, current: SpaceSaving::new(COUNTERS), complete: None }
    }

    /// Counts a packet of a class.
    #[inline]
    pub(crate) fn add(&mut self, header: &Header, class: u32, length: u32) {
        let flow = FlowId::of(header);
        self.current.add(flow, flow.hash(self.seed), class, u64::from(length));
    }

    /// Ends a stretch that is over.
    pub(crate) fn advance(&mut self, now: Time) {
        let over = now.since(self.began);
        if over >= STRETCH {
            let flows = std::mem::replace(&mut self.current, SpaceSaving::new(COUNTERS));
            self.complete = Some(Arc::new(Talkers { over, flows }));
            self.began = now;
        }
    }

    /// The latest complete stretch; what there is of the first one while it lasts.
    pub(crate) fn latest(&self, now: Time) -> Arc<Talkers> {
        self.complete.clone().unwrap_or_else(|| Arc::new(Talkers { over: now.since(self.began), flows: self.current.clone() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_core::classifier::Transport;

    fn udp(source: u32, port: u16) -> Header {
        let transport = Transport { protocol: 17, ports: Some((port, 53)), ..Transport::default() };
        Header { ethernet_type: 0x0800, network: Network::V4 { source, destination: 2, transport }, ..Header::default() }
    }

    #[test]
    fn a_stretch_is_complete_after_five_seconds() {
        let at = |seconds| Time::ZERO + Duration::from_seconds(seconds);
        let mut table = TalkerTable::new(at(1));
        for _ in 0..3 {
            table.add(&udp(0x0a00_0001, 9), 4, 1000);
        }
        table.add(&udp(0x0a00_0001, 10), 4, 100);
        table.add(&Header { ethernet_type: 0x0806, ..Header::default() }, 1, 60);
        table.advance(at(5));
        assert_eq!(table.latest(at(5)).flows.total(), 3160, "the first stretch is shown while it lasts");
        table.advance(at(6));
        table.add(&udp(7, 7), 0, 5000);
        let latest = table.latest(at(8));
        assert_eq!((latest.over, latest.flows.error()), (Duration::from_seconds(5), 0));
        let found = latest.flows.heaviest();
        let shown: Vec<_> = found.iter().map(|heavy| (heavy.key.addresses(), heavy.key.ports(), heavy.value, heavy.count)).collect();
        let addresses = ["10.0.0.1", "0.0.0.2"].map(|address| address.parse().unwrap());
        assert_eq!(shown, [(Some(addresses), Some((9, 53)), 4, 3000), (Some(addresses), Some((10, 53)), 4, 100), (None, None, 1, 60)]);
        assert_eq!((found[0].key.protocol(), found[2].key.ethernet_type()), (17, 0x0806));
    }
}
