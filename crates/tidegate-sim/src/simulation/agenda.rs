//! The pending events of a simulation, by what they happen to.
//!
//! Slots are numbered so that ties go the documented way: ports that take events, far ends of links, sources, hosts that take time to send,
//! signalling.

use crate::events::Events;

/// What an event happens to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Due {
    /// The port with this slot may transmit.
    Port(usize),
    /// The first packet of the list of this number reaches the far end of its link: the lists of all links, then those of late packets.
    LinkEnd(usize),
    /// The source of the flow of this number emits, or a timer of its connection fires.
    Source(usize),
    /// A segment leaves the sending host of the connection of this number.
    Host(usize),
    /// Calls are set up or released.
    Signalling,
}

pub(super) struct Agenda {
    events: Events,
    first_end: usize,
    first_source: usize,
    first_host: usize,
    signalling: usize,
}

impl Agenda {
    /// `signals` says whether there is signalling.
    pub(super) fn new(ports: usize, links: usize, sources: usize, hosts: usize, signals: bool) -> Agenda {
        let first_source = ports + links;
        let first_host = first_source + sources;
        let signalling = first_host + hosts;
        Agenda { events: Events::new(signalling + usize::from(signals)), first_end: ports, first_source, first_host, signalling }
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
        } else if slot < self.first_source {
            Due::LinkEnd(slot - self.first_end)
        } else if slot < self.first_host {
            Due::Source(slot - self.first_source)
        } else if slot < self.signalling {
            Due::Host(slot - self.first_host)
        } else {
            Due::Signalling
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

    #[inline]
    pub(super) fn set_source(&mut self, flow: usize, at: u64) {
        self.events.set(self.first_source + flow, at);
    }

    pub(super) fn set_signalling(&mut self, at: u64) {
        self.events.set(self.signalling, at);
    }

    #[inline]
    pub(super) fn set_host(&mut self, connection: usize, at: u64) {
        self.events.set(self.first_host + connection, at);
    }
}
