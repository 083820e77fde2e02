//! What the data plane reports about flows: deliveries and losses to their meters, room in the first queue to greedy sources.

use super::packet::{InTransit, PacketMeta};
use super::pool::Pool;
use super::reverse_path::ReversePath;
use super::tracing::{Traced, Tracing};
use crate::id::LinkId;
use crate::route::slots::Paths;
use crate::route::{BACK, Hop};
use crate::source::greedy::GreedyWindow;
use crate::statistics::flow::{FlowMeter, LossKind};
use crate::statistics::port::PortMeter;
use crate::trace::Step;
use tidegate_core::observer::Observer;
use tidegate_core::packet::{Colour, DropReason, Flow, Packet};
use tidegate_core::port::Volume;
use tidegate_core::queue::Occupancy;
use tidegate_core::units::Time;

pub(super) struct Flows<'a> {
    pub routes: Paths<'a>,
    pub meters: Vec<FlowMeter>,
    /// The connections of workloads.
    pub pool: Pool,
    pub reverse_path: ReversePath,
    /// The greedy sources, by flow; empty if there is none.
    greedy: Vec<Option<GreedyWindow>>,
    /// Flows of greedy sources whose first queue has just changed.
    woken: Vec<u32>,
    /// Transmitted to a sink that it reaches after the end.
    pub towards_sinks: Volume,
    /// Lost where it set out, because no path was left.
    pub unrouted: Volume,
    /// Where the steps of packets are told, if anywhere.
    pub tracing: Option<Box<Tracing<'a>>>,
}

impl<'a> Flows<'a> {
    pub(super) fn new(
        routes: Paths<'a>,
        meters: Vec<FlowMeter>,
        connections: usize,
        greedy: Vec<Option<GreedyWindow>>,
        tracing: Option<Box<Tracing<'a>>>,
    ) -> Flows<'a> {
        let greedy = if greedy.iter().any(Option::is_some) { greedy } else { Vec::new() };
        let reverse_path = ReversePath::new(connections);
        let pool = Pool::new(meters.len() as u32, connections as u32);
        Flows {
            routes,
            meters,
            pool,
            reverse_path,
            greedy,
            woken: Vec::new(),
            towards_sinks: Volume::default(),
            unrouted: Volume::default(),
            tracing,
        }
    }

    /// True if a flow has a greedy source, which looks at its first queue at the instant of every change.
    pub(super) fn has_greedy(&self) -> bool {
        !self.greedy.is_empty()
    }

    #[inline]
    pub(super) fn greedy(&mut self, flow: usize) -> Option<&mut GreedyWindow> {
        self.greedy.get_mut(flow).and_then(Option::as_mut)
    }

    /// The next flow whose greedy source has to look at its first queue.
    #[inline]
    pub(super) fn next_woken(&mut self) -> Option<usize> {
        self.woken.pop().map(|flow| flow as usize)
    }

    /// A packet reaches the sink of its flow. True if the delivery is measured.
    #[inline]
    pub(super) fn deliver(&mut self, at: u64, flow: u32, packet: &InTransit) -> bool {
        match self.meters.get_mut(flow as usize) {
            Some(meter) => meter.deliver(at, packet.meta.created, packet.length, packet.meta.is_tagged()),
            None => {
                self.pool.data(flow).delivered.add(packet.length);
                true
            }
        }
    }

    /// A packet is on its way to the sink of its flow, which it reaches after the end.
    #[cold]
    pub(super) fn deliver_late(&mut self, at: u64, flow: u32, packet: &InTransit) {
        self.towards_sinks.add(packet.length);
        self.meters[flow as usize].deliver_late(at, packet.meta.created);
    }

    #[cold]
    fn trace_at_port(&mut self, now: Time, packet: &Packet<PacketMeta>, step: Step) {
        let InTransit { meta, length, colour } = InTransit::from_port(packet);
        let traced = Traced { hop: self.routes.hop(meta.cursor), meta, length, colour, queue: Some(packet.flow) };
        let Some(tracing) = &mut self.tracing else { return };
        match step {
            Step::Offered => tracing.offered(now.picoseconds(), &traced),
            step => tracing.at_port(now.picoseconds(), step, &traced),
        }
    }

    /// Tells a step of a packet on its way to this hop, which may lie ahead: on the link before, or at the end of the path.
    #[cold]
    pub(super) fn trace_on_link(&mut self, at: u64, step: Step, link: Option<usize>, packet: &InTransit) {
        let InTransit { meta, length, colour } = *packet;
        let traced = Traced { hop: self.routes.hop(meta.cursor), meta, length, colour, queue: None };
        if let Some(tracing) = &mut self.tracing {
            tracing.on_link(at, step, link.map(LinkId), &traced);
        }
    }

    /// Tells that a packet is marked just before it reaches the port of its hop.
    #[cold]
    pub(super) fn trace_mark(&mut self, now: u64, packet: &InTransit) {
        let InTransit { meta, length, colour } = *packet;
        let traced = Traced { hop: self.routes.hop(meta.cursor), meta, length, colour, queue: None };
        if let Some(tracing) = &mut self.tracing {
            tracing.marked_before_port(now, &traced);
        }
    }

    /// A packet is dropped at the port of its hop.
    #[cold]
    pub(super) fn drop_at_port(&mut self, meta: PacketMeta, length: u32, reason: DropReason) {
        let hop = self.routes.hop(meta.cursor);
        if hop.flow & BACK != 0 {
            return self.lose_answer(hop.flow & !BACK, meta.flags, length);
        }
        let Some(meter) = self.meters.get_mut(hop.flow as usize) else { return self.lose_of_pool(hop.flow, length) };
        meter.lose(LinkId(hop.link as usize), length, LossKind::AtPort(reason));
        if hop.place == 0
            && let Some(source) = self.greedy(hop.flow as usize)
        {
            source.lost();
            self.woken.push(hop.flow);
        }
    }

    /// A packet is lost on a link, on its way to this hop.
    #[cold]
    pub(super) fn lose_on_link(&mut self, link: usize, hop: Hop, meta: PacketMeta, length: u32) {
        if hop.flow & BACK != 0 {
            self.lose_answer(hop.flow & !BACK, meta.flags, length);
        } else if let Some(meter) = self.meters.get_mut(hop.flow as usize) {
            meter.lose(LinkId(link), length, LossKind::OnLink);
        } else {
            self.lose_of_pool(hop.flow, length);
        }
    }

    /// A packet of a connection's reverse path is lost.
    fn lose_answer(&mut self, connection: u32, place: u32, length: u32) {
        self.reverse_path.lose(connection, place, length);
        self.pool.settle(connection, &self.reverse_path);
    }

    /// A packet of a workload is lost.
    fn lose_of_pool(&mut self, flow: u32, length: u32) {
        self.pool.data(flow).lost.add(length);
        self.pool.settle(self.pool.connection_of(flow), &self.reverse_path);
    }

    /// The number of packets that the source of a flow, or all connections of a slot, have emitted.
    #[inline]
    pub(super) fn emitted(&self, flow: usize) -> u64 {
        self.meters.get(flow).map_or_else(|| self.pool.emitted(flow as u32), |meter| meter.emitted).packets
    }

    /// The source of a flow emits a packet.
    #[inline]
    pub(super) fn emit(&mut self, flow: usize, length: u32, is_tagged: bool) {
        match self.meters.get_mut(flow) {
            Some(meter) => meter.emit(length, is_tagged),
            None => self.pool.data(flow as u32).emitted.add(length),
        }
    }

    /// The link that a packet is on, on its way to this hop, fails.
    #[cold]
    pub(super) fn lose_on_failed_link(&mut self, link: usize, hop: Hop, meta: PacketMeta, length: u32) {
        if hop.flow & BACK != 0 {
            self.lose_answer(hop.flow & !BACK, meta.flags, length);
        } else if let Some(meter) = self.meters.get_mut(hop.flow as usize) {
            meter.lose(LinkId(link), length, LossKind::AtPort(DropReason::LinkDown));
        } else {
            self.lose_of_pool(hop.flow, length);
        }
    }

    /// A packet of a flow, which counts as emitted, has no path left.
    #[cold]
    pub(super) fn lose_unrouted(&mut self, flow: usize, length: u32) {
        self.unrouted.add(length);
        match self.meters.get_mut(flow) {
            Some(meter) => meter.lose(LinkId(0), length, LossKind::Unrouted),
            None => self.lose_of_pool(flow as u32, length),
        }
        if let Some(source) = self.greedy(flow) {
            source.lost();
        }
    }

    /// The same for what comes back to a connection.
    #[cold]
    pub(super) fn lose_answer_unrouted(&mut self, connection: usize, length: u32) {
        self.unrouted.add(length);
        self.reverse_path.meters[connection].lost.add(length);
        self.pool.settle(connection as u32, &self.reverse_path);
    }

    /// A link makes a copy of a packet on its way to this hop.
    #[cold]
    pub(super) fn duplicate(&mut self, hop: Hop, packet: InTransit) -> InTransit {
        let InTransit { mut meta, length, .. } = packet;
        if hop.flow & BACK == 0 {
            match self.meters.get_mut(hop.flow as usize) {
                Some(meter) => meter.duplicate(length, meta.is_tagged()),
                None => self.pool.data(hop.flow).duplicated.add(length),
            }
        } else {
            meta.flags = self.reverse_path.duplicate(hop.flow & !BACK, meta.flags, length);
        }
        InTransit { meta, ..packet }
    }

    /// A packet has left the port before this hop.
    #[inline]
    pub(super) fn transmitted(&mut self, hop: Hop) {
        if hop.place == 1
            && let Some(source) = self.greedy(hop.flow as usize)
        {
            source.transmitted();
            self.woken.push(hop.flow);
        }
    }
}

/// Observes one port: counts at the port, and for the flows.
pub(super) struct PortWatch<'a, 'n> {
    pub meter: &'a mut PortMeter,
    pub flows: &'a mut Flows<'n>,
}

impl PortWatch<'_, '_> {
    /// Tells a step of a packet at this port.
    #[inline]
    fn trace(&mut self, now: Time, packet: &Packet<PacketMeta>, step: Step) {
        if self.flows.tracing.is_some() {
            self.flows.trace_at_port(now, packet, step);
        }
    }
}

impl Observer<PacketMeta> for PortWatch<'_, '_> {
    #[inline]
    fn offered(&mut self, now: Time, packet: &Packet<PacketMeta>) {
        self.trace(now, packet, Step::Offered);
        Observer::offered(self.meter, now, packet);
    }

    #[inline]
    fn marked(&mut self, now: Time, packet: &Packet<PacketMeta>, from: Colour) {
        self.trace(now, packet, Step::Coloured);
        Observer::marked(self.meter, now, packet, from);
    }

    #[inline]
    fn remarked(&mut self, now: Time, packet: &Packet<PacketMeta>, from: Colour) {
        self.trace(now, packet, Step::Coloured);
        Observer::remarked(self.meter, now, packet, from);
    }

    fn congestion_marked(&mut self, now: Time, packet: &Packet<PacketMeta>) {
        self.trace(now, packet, Step::Marked);
        Observer::congestion_marked(self.meter, now, packet);
    }

    #[inline]
    fn queued(&mut self, now: Time, packet: &Packet<()>, occupancy: &Occupancy) {
        if let Some(tracing) = &mut self.flows.tracing {
            tracing.queued(now.picoseconds(), occupancy.bytes(), packet.flow, packet.colour);
        }
        Observer::<PacketMeta>::queued(self.meter, now, packet, occupancy);
    }

    fn moved(&mut self, now: Time, packet: &Packet<PacketMeta>, to: Flow) {
        Observer::moved(self.meter, now, packet, to);
    }

    fn dropped(&mut self, now: Time, packet: Packet<PacketMeta>, reason: DropReason, occupancy: &Occupancy) {
        self.trace(now, &packet, Step::Dropped(reason));
        self.flows.drop_at_port(packet.payload, packet.length, reason);
        Observer::dropped(self.meter, now, packet, reason, occupancy);
    }

    #[inline]
    fn sent(&mut self, now: Time, packet: &Packet<PacketMeta>, finish: Time, occupancy: &Occupancy) {
        self.trace(now, packet, Step::Started { finish, backlog: occupancy.bytes() });
        Observer::sent(self.meter, now, packet, finish, occupancy);
    }
}
