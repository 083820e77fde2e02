//! What all cores share: network interfaces, bus, flows, meters and the agenda.
//!
//! A kernel takes frames from rings, outputs packets and reclaims descriptors through it. It starts nothing by itself: the engine starts the bus
//! and the cores when an event has been dealt with.

use crate::agenda::{Agenda, Due};
use crate::bus::{Agent, Bus};
use crate::cost::Costs;
use crate::measure::Measures;
use crate::nic::{Nic, Sent};
use crate::outcome::Loss;
use crate::packet::Packet;
use crate::ready_set::ReadySet;
use tidegate_core::fault;
use tidegate_sim::time::NEVER;

/// The way of a flow through the machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub input: usize,
    pub channel: usize,
    pub core: usize,
    pub output: Option<usize>,
}

/// The agents of one interface, and which rings hold frames.
#[derive(Clone, Debug)]
pub(crate) struct Port {
    /// The agent of each channel.
    receive: Vec<usize>,
    /// The agent of each core's transmitter.
    transmit: Vec<usize>,
    /// Per core, the channels with frames in their rings, and the one served last.
    rings: Vec<(ReadySet, usize)>,
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub nics: Vec<Nic>,
    pub bus: Bus,
    pub ways: Vec<Way>,
    pub costs: Costs,
    pub measures: Measures,
    pub agenda: Agenda,
    ports: Vec<Port>,
    /// Interrupts raised in this event: core and interface.
    pub raised: Vec<(usize, usize)>,
    /// True while the guard sets the vacancies.
    pub is_guarded: bool,
}

impl Port {
    /// The agents of an interface, numbered from `first`: channels, then transmitters.
    pub(crate) fn new(first: usize, channels: usize, cores: usize) -> Port {
        Port {
            receive: (first..first + channels).collect(),
            transmit: (first + channels..first + channels + cores).collect(),
            rings: vec![(ReadySet::new(channels), channels - 1); cores],
        }
    }
}

impl Node {
    /// A node in which nothing has happened.
    pub(crate) fn new(
        nics: Vec<Nic>,
        ports: Vec<Port>,
        bus: Bus,
        ways: Vec<Way>,
        costs: Costs,
        measures: Measures,
        agenda: Agenda,
    ) -> Node {
        Node { nics, bus, ways, costs, measures, agenda, ports, raised: Vec::new(), is_guarded: false }
    }

    /// The last bit of a frame arrives.
    #[inline]
    pub(crate) fn arrive(&mut self, packet: Packet) {
        self.measures.arrive(&packet);
        let way = self.ways[packet.flow as usize];
        let bytes = self.bus.timing().bytes(packet.length);
        let channel = &mut self.nics[way.input].channels[way.channel];
        if channel.accept(packet) {
            channel.accepted += bytes;
            self.bus.refresh(self.ports[way.input].receive[way.channel], &self.nics);
        } else {
            let loss = if channel.free() == 0 { Loss::Ring } else { Loss::Fifo };
            self.measures.lose(&packet, loss);
        }
    }

    /// The transfer of a frame has ended.
    #[inline]
    pub(crate) fn transferred(&mut self, agent: Agent, packet: Packet, now: u64) {
        match agent {
            Agent::Receive { nic, channel } => self.received(nic as usize, channel as usize, packet, now),
            Agent::Transmit { nic, core } => self.sent(nic as usize, core as usize, packet, now),
        }
    }

    fn received(&mut self, nic: usize, index: usize, packet: Packet, now: u64) {
        let bytes = self.bus.timing().bytes(packet.length);
        let channel = &mut self.nics[nic].channels[index];
        channel.end(&packet, bytes);
        let way = self.ways[packet.flow as usize];
        if way.output.is_none() {
            channel.vacancy += u32::from(!self.is_guarded || fault!(RouterReturnsDescriptors));
            self.bus.refresh(self.ports[nic].receive[index], &self.nics);
            return self.measures.leave(&packet, now);
        }
        channel.ring.push_back(packet);
        self.ports[nic].rings[way.core].0.set(index, true);
        self.raised.push((way.core, nic));
    }

    fn sent(&mut self, nic: usize, core: usize, packet: Packet, now: u64) {
        let interface = &mut self.nics[nic];
        interface.leaving.push_back((packet, core));
        if interface.transmitters[core].end() {
            self.raised.push((core, nic));
        }
        if interface.leaving.len() == 1 {
            self.agenda.set(Due::Wire(nic), now + interface.wire.time(packet.length));
        }
    }

    /// The last bit of the frame on an outgoing wire leaves.
    #[inline]
    pub(crate) fn left(&mut self, nic: usize, now: u64) {
        let interface = &mut self.nics[nic];
        let Some((packet, core)) = interface.leaving.pop_front() else { return };
        interface.transmitters[core].bytes -= u64::from(packet.length);
        let next = interface.leaving.front().map_or(NEVER, |(next, _)| now + interface.wire.time(next.length));
        self.agenda.set(Due::Wire(nic), next);
        self.bus.refresh(self.ports[nic].transmit[core], &self.nics);
        self.measures.leave(&packet, now);
    }

    /// Takes a frame from a ring of an interface, the core's rings in turn, and gives its descriptor back.
    #[inline]
    pub(crate) fn take(&mut self, nic: usize, core: usize) -> Option<Packet> {
        let (ready, last) = &self.ports[nic].rings[core];
        let channel = ready.after(*last)?;
        self.ports[nic].rings[core].1 = channel;
        self.take_from(nic, channel, core)
    }

    /// The same for one channel.
    #[inline]
    pub(crate) fn take_from(&mut self, nic: usize, index: usize, core: usize) -> Option<Packet> {
        let channel = &mut self.nics[nic].channels[index];
        let packet = channel.ring.pop_front()?;
        if channel.ring.is_empty() {
            self.ports[nic].rings[core].0.set(index, false);
        }
        if !self.is_guarded {
            channel.vacancy += 1;
            self.bus.refresh(self.ports[nic].receive[index], &self.nics);
        }
        Some(packet)
    }

    /// True if a ring of an interface holds a frame for the core.
    #[inline]
    pub(crate) fn has_frames(&self, nic: usize, core: usize) -> bool {
        !self.ports[nic].rings[core].0.is_empty()
    }

    /// Frames that the rings of an interface hold for the core.
    pub(crate) fn frames(&self, nic: usize, core: usize) -> usize {
        self.ports[nic].rings[core].0.iter().map(|channel| self.nics[nic].channels[channel].ring.len()).sum()
    }

    /// Completed transmissions of a core on an interface.
    #[inline]
    pub(crate) fn completed(&self, nic: usize, core: usize) -> u32 {
        self.nics[nic].transmitters[core].completed
    }

    /// Reclaims one of them.
    #[inline]
    pub(crate) fn reclaim(&mut self, nic: usize, core: usize) {
        self.nics[nic].transmitters[core].reclaim();
        self.bus.refresh(self.ports[nic].transmit[core], &self.nics);
    }

    /// A packet has passed the path.
    #[inline]
    pub(crate) fn output(&mut self, packet: Packet) {
        let way = self.ways[packet.flow as usize];
        let Some(nic) = way.output else { return };
        match self.nics[nic].transmitters[way.core].send(packet) {
            Sent::Ring => self.bus.refresh(self.ports[nic].transmit[way.core], &self.nics),
            Sent::Queue => {}
            Sent::Dropped => self.measures.lose(&packet, Loss::InterfaceQueue),
        }
    }

    /// Sets the vacancy of a flow's channel.
    pub(crate) fn set_vacancy(&mut self, flow: usize, vacancy: u32) {
        let way = self.ways[flow];
        self.nics[way.input].channels[way.channel].vacancy = vacancy;
        self.bus.refresh(self.ports[way.input].receive[way.channel], &self.nics);
    }

    /// Packets in interfaces and on the bus. A frame that has begun to arrive does not count.
    pub(crate) fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.nics
            .iter()
            .flat_map(|nic| {
                let received = nic.channels.iter().flat_map(crate::nic::Channel::packets);
                let sent = nic.transmitters.iter().flat_map(crate::nic::Transmitter::packets);
                received.chain(sent).chain(nic.leaving.iter().map(|(packet, _)| packet))
            })
            .chain(self.bus.packets())
    }
}
