//! The pending events of a simulation, by what they happen to.
//!
//! Slots are numbered so that ties go the documented way: ports that take events, far ends of links, pauses, sources, hosts that take time to
//! send, signalling. Arrivals of workloads and their connections come last.

use crate::events::Events;

/// What an event happens to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Due {
    /// The port with this slot may transmit.
    Port(usize),
    /// The first packet of the list of this number reaches the far end of its link: the lists of all links, then those of late packets.
    LinkEnd(usize),
    /// The first pause frame for the link with the pause of this number arrives.
    PauseFrame(usize),
    /// The source of the flow of this number emits, or a timer of its connection fires.
    Source(usize),
    /// A segment leaves the sending host of the connection of this number.
    Host(usize),
    /// Calls are set up or released.
    Signalling,
    /// Connections of the workload of this number arrive.
    Workload(usize),
    /// A timer of a workload's connection fires, by the number of its flow.
    Connection(usize),
}

pub(super) struct Agenda {
    events: Events,
    first_end: usize,
    first_pause: usize,
    first_source: usize,
    first_host: usize,
    signalling: usize,
    first_workload: usize,
    /// The slots of workloads' connections: two each, the second for its sending host.
    first_pooled: usize,
    /// The flows and the connections of the network.
    flows: usize,
    connections: usize,
}

/// The slots of a workload's connection.
const POOLED: usize = 2;

impl Agenda {
    /// `signals` says whether there is signalling; of the connections, `hosts` are at sending hosts that take time.
    pub(super) fn new(
        (ports, links, pauses): (usize, usize, usize),
        (flows, connections, hosts): (usize, usize, usize),
        signals: bool,
        workloads: usize,
    ) -> Agenda {
        let first_pause = ports + links;
        let first_source = first_pause + pauses;
        let first_host = first_source + flows;
        let signalling = first_host + hosts;
        let first_workload = signalling + usize::from(signals);
        let first_pooled = first_workload + workloads;
        let events = Events::new(first_pooled);
        Agenda {
            events,
            first_end: ports,
            first_pause,
            first_source,
            first_host,
            signalling,
            first_workload,
            first_pooled,
            flows,
            connections,
        }
    }

    /// Makes room for this many connections of workloads.
    pub(super) fn grow(&mut self, slots: usize) {
        self.events.grow(self.first_pooled + POOLED * slots);
    }

    /// The instant of the next event, and its slot.
    #[inline]
    pub(super) fn first(&self) -> (u64, usize) {
        self.events.first()
    }

    #[inline]
    pub(super) fn due(&self, slot: usize) -> Due {
        if slot < self.first_end {
            Due::Port(slot)
        } else if slot < self.first_pause {
            Due::LinkEnd(slot - self.first_end)
        } else if slot < self.first_source {
            Due::PauseFrame(slot - self.first_pause)
        } else if slot < self.first_host {
            Due::Source(slot - self.first_source)
        } else if slot < self.signalling {
            Due::Host(slot - self.first_host)
        } else if slot < self.first_workload {
            Due::Signalling
        } else if slot < self.first_pooled {
            Due::Workload(slot - self.first_workload)
        } else if (slot - self.first_pooled).is_multiple_of(POOLED) {
            Due::Connection((slot - self.first_pooled) / POOLED + self.flows)
        } else {
            Due::Host((slot - self.first_pooled) / POOLED + self.connections)
        }
    }

    #[inline]
    pub(super) fn port(&self, slot: usize) -> u64 {
        self.events.at(slot)
    }

    #[inline]
    pub(super) fn set_port(&mut self, slot: usize, at: u64) {
        self.events.set(slot, at);
    }

    /// The same, without a walk through the tree if nothing changes.
    #[inline]
    pub(super) fn update_port(&mut self, slot: usize, at: u64) {
        if at != self.events.at(slot) {
            self.events.set(slot, at);
        }
    }

    #[inline]
    pub(super) fn set_link_end(&mut self, link: usize, at: u64) {
        self.events.set(self.first_end + link, at);
    }

    pub(super) fn set_pause_frame(&mut self, pause: usize, at: u64) {
        self.events.set(self.first_pause + pause, at);
    }

    #[inline]
    pub(super) fn set_source(&mut self, flow: usize, at: u64) {
        self.events.set(self.source(flow), at);
    }

    #[inline]
    fn source(&self, flow: usize) -> usize {
        if flow < self.flows { self.first_source + flow } else { self.first_pooled + POOLED * (flow - self.flows) }
    }

    /// The event of a flow's connection is due at this instant, unless another end of the connection has one before.
    #[inline]
    pub(super) fn set_source_by(&mut self, flow: usize, at: u64) {
        let slot = self.source(flow);
        if at < self.events.at(slot) {
            self.events.set(slot, at);
        }
    }

    pub(super) fn set_signalling(&mut self, at: u64) {
        self.events.set(self.signalling, at);
    }

    #[inline]
    pub(super) fn set_host(&mut self, connection: usize, at: u64) {
        let pooled = connection.checked_sub(self.connections);
        self.events.set(pooled.map_or(self.first_host + connection, |slot| self.first_pooled + POOLED * slot + 1), at);
    }

    pub(super) fn set_workload(&mut self, workload: usize, at: u64) {
        self.events.set(self.first_workload + workload, at);
    }
}
