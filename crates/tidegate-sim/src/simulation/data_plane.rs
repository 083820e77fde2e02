//! The data plane: moves packets from port to link to the next port, until they reach the end of their path.
//!
//! A port is asked for a transmission when its link becomes free, when its scheduler said it should be, and when a packet arrives while the
//! link is idle. A packet on its way to a sink needs no event: its delivery is entered when its last transmission starts.

use super::adapter::AdapterCell;
use super::admitting_ports::AdmittingPorts;
use super::agenda::Agenda;
use super::flights::{Flights, Flying};
use super::flows::{Flows, PortWatch};
use super::link::{DrivenPort, LinkPort, LinkState, PortKind, longest_transmission_of, pace_of};
use super::outbox::Outbox;
use super::packet::{InFlight, InTransit, PacketMeta};
use super::pauses::Pauses;
use super::workers::{EndedTransmission, WorkersPort};
use crate::cells::{Departure, Fate, Train};
use crate::failure::FailureStatistics;
use crate::network::Link;
use crate::route::slots::Paths;
use crate::route::{BACK, ENDPOINT, Hop, SINK};
use crate::time::NEVER;
use crate::trace::Step;
use tidegate_core::packet::{Colour, Ecn, Flow, Packet};
use tidegate_core::port::{Leaving, Next, Switched, Transition, Transmission};
use tidegate_core::prefetch::{prefetch, prefetch_second_line};
use tidegate_core::units::Time;
use tidegate_link::{Disturbed, LossStream};

pub(super) struct DataPlane<'a> {
    pub agenda: Agenda,
    pub links: Vec<LinkState>,
    /// The links whose ports have events, in the order of their slots.
    pub driven: Vec<u32>,
    pub flights: Flights<InFlight>,
    /// The late packets on links that reorder: the link and its list.
    pub late_links: Vec<(u32, Flying)>,
    pub flows: Flows<'a>,
    pub end: u64,
    /// Up to where events are being played.
    pub limit: u64,
    pub events: u64,
    pub packet_hops: u64,
    /// What admits flows; `None` if no link does.
    pub admission: Option<AdmittingPorts>,
    /// What each failure has taken.
    pub failures: Vec<FailureStatistics>,
    /// What nodes hold and pause; `None` if none pauses.
    pub pauses: Option<Box<Pauses>>,
    /// What is for other parts, if the network is divided.
    pub outbox: Option<Box<Outbox<'a>>>,
}

impl<'a> DataPlane<'a> {
    #[inline]
    pub(super) fn hop(&self, cursor: u32) -> Hop {
        self.flows.routes.hop(cursor)
    }

    /// The hop, and the queue that a packet of this code point and length joins there.
    #[inline]
    fn hop_and_queue(&self, meta: PacketMeta, length: u32) -> (Hop, Flow) {
        let hop = self.hop(meta.cursor);
        (hop, self.flows.routes.queue(hop, meta.ecn(), length))
    }

    /// The first packet of a list reaches the far end of its link. Returns it if that is an end of its connection.
    #[inline]
    pub(super) fn land(&mut self, now: u64, list: usize) -> Option<(Hop, InTransit)> {
        let (link, flying) = match list.checked_sub(self.links.len()) {
            None => (list, &mut self.links[list].flying),
            Some(late) => (self.late_links[late].0 as usize, &mut self.late_links[late].1),
        };
        let popped = self.flights.pop(flying);
        let next = *flying;
        self.agenda.set_link_end(list, self.next_landing(next));
        let in_flight = popped?;
        let packet = in_flight.packet();
        let hop = self.hop(packet.meta.cursor);
        if hop.comes_as_cells {
            self.arrive_as_cells(now, self.links[link].rest.pace, packet);
        } else if hop.link == ENDPOINT {
            if self.flows.tracing.is_some() {
                self.flows.trace_on_link(now, Step::Delivered, None, &packet);
            }
            return Some((hop, packet));
        } else if hop.link == SINK {
            // Over a link that reorders, deliveries are counted when they happen.
            self.deliver(now, hop.flow, &packet);
        } else {
            self.arrive(now, packet);
        }
        None
    }

    /// When the first packet of a list lands. What its landing and that of the second one read is prefetched.
    #[inline]
    fn next_landing(&self, flying: Flying) -> u64 {
        let Some((first, second)) = self.flights.next_two(flying) else { return NEVER };
        let routes = &self.flows.routes;
        if let Some(second) = second {
            routes.prefetch(second.cursor());
        }
        if let Some(link) = self.links.get(routes.hop(first.cursor()).link as usize) {
            prefetch(link);
            prefetch_second_line(link);
        }
        first.arrives()
    }

    /// A packet reaches the port of its hop.
    #[inline]
    pub(super) fn arrive(&mut self, now: u64, mut packet: InTransit) {
        let hop = self.hop(packet.meta.cursor);
        let link = hop.link as usize;
        let LinkState { port, rest, .. } = &mut self.links[link];
        let port = match port {
            LinkPort::Fifo(port) => {
                let may_mark = rest.mark_above < u64::MAX && packet.meta.is_ecn_capable();
                if may_mark && packet.meta.mark_if_congested(port.backlog(now, &mut rest.meter), rest.mark_above) {
                    rest.meter.ce_marked(self.flows.routes.queue(hop, Ecn::Ce, packet.length), packet.length);
                }
                let queue = self.flows.routes.queue(hop, packet.meta.ecn(), packet.length);
                return match port.enqueue(now, queue, packet.length, packet.colour, &mut rest.meter) {
                    Ok((start, finish)) => self.transmit(link, packet.meta.ecn(), packet, start, finish),
                    Err(reason) => self.flows.drop_at_port(packet.meta, packet.length, reason),
                };
            }
            LinkPort::Driven(port) => &mut **port,
        };
        if let Some(failing) = &port.failing
            && failing.down > 0
        {
            return self.arrive_at_failed(now, packet);
        }
        let mut watch = PortWatch { meter: &mut rest.meter, flows: &mut self.flows };
        match &mut port.kind {
            PortKind::Packets { port: packets, busy_until } => {
                if packet.meta.mark_if_congested(packets.occupancy().bytes(), rest.mark_above) {
                    watch.flows.trace_mark(now, &packet);
                    watch.meter.ce_marked(watch.flows.routes.queue(hop, Ecn::Ce, packet.length), packet.length);
                }
                let (queue, key) = watch.flows.routes.queue_and_key(hop, packet.meta.ecn(), packet.length);
                if let Some(admission) = &mut self.admission {
                    admission.renew(now, link, queue, packets);
                }
                packets.offer_keyed(packet.at_port(now, queue), key, &mut watch);
                if *busy_until <= now {
                    self.serve(now, link);
                } else if self.agenda.port(port.slot) == NEVER && packets.occupancy().packets() > 0 {
                    self.agenda.set_port(port.slot, *busy_until);
                }
            }
            PortKind::Workers(workers) => {
                if packet.meta.mark_if_congested(workers.backlog(), rest.mark_above) {
                    watch.flows.trace_mark(now, &packet);
                    watch.meter.ce_marked(watch.flows.routes.queue(hop, Ecn::Ce, packet.length), packet.length);
                }
                let (queue, key) = watch.flows.routes.queue_and_key(hop, packet.meta.ecn(), packet.length);
                workers.arrive(now, packet.at_port(now, queue), key, &mut watch);
                self.serve_workers(now, link);
            }
            PortKind::Pausable(_) => self.arrive_at_pausable(now, link, hop, packet),
            PortKind::Cells(_) => {
                let pace = rest.pace;
                self.arrive_as_cells(now, pace, packet);
            }
            PortKind::Adapter(adapter) => {
                let queue = watch.flows.routes.queue(hop, packet.meta.ecn(), packet.length);
                adapter.arrive(now, queue, packet, rest.mark_above, &mut watch);
                self.agenda.set_port(port.slot, adapter.next());
            }
            PortKind::Elsewhere => {}
        }
    }

    /// The first cell of a packet reaches the port of its hop; the others follow at this pace.
    fn arrive_as_cells(&mut self, now: u64, pace: u64, mut packet: InTransit) {
        let cursor = packet.meta.cursor;
        let (hop, goes_on) = (self.hop(cursor), self.hop(cursor + 1).comes_one_by_one);
        let LinkState { port: LinkPort::Driven(port), rest, .. } = &mut self.links[hop.link as usize] else { return };
        let DrivenPort { kind: PortKind::Cells(cells), slot, .. } = &mut **port else { return };
        if packet.meta.mark_if_congested(cells.port().occupancy().bytes(), rest.mark_above) {
            rest.meter.ce_marked(self.flows.routes.queue(hop, Ecn::Ce, packet.length), packet.length);
        }
        let queue = self.flows.routes.queue(hop, packet.meta.ecn(), packet.length);
        let InTransit { meta: tag, length, colour } = packet;
        cells.push(queue, Train { tag, length, colour, first: now, pace, goes_on });
        self.agenda.update_port(*slot, cells.next());
    }

    /// The port of a link switches to another policy, and packets in it find their queues on other paths.
    pub(super) fn switch(&mut self, now: u64, index: usize, link: &Link, names: &[String], routes: &Paths) -> Switched {
        let LinkState { port: LinkPort::Driven(driven), rest, .. } = &mut self.links[index] else { return Switched::default() };
        (rest.pace, rest.longest_transmission) = (pace_of(link), longest_transmission_of(link));
        driven.rewrites = link.rewrites();
        let PortKind::Packets { port, busy_until } = &mut driven.kind else { return Switched::default() };
        let transition = Transition::prepare(port, link.port.clone());
        rest.meter.expect(transition.classifier(), names);
        let reclassify = |packet: &Packet<()>, meta: &PacketMeta| Some(routes.queue(routes.hop(meta.cursor), packet.ecn, packet.length));
        let mut watch = PortWatch { meter: &mut rest.meter, flows: &mut self.flows };
        let (switched, _) = port.switch(Time::from_picoseconds(now), transition, reclassify, &mut watch);
        let wake = if port.occupancy().packets() > 0 { now.max(*busy_until) } else { NEVER };
        rest.meter.switched();
        self.agenda.update_port(driven.slot, wake);
        switched
    }

    /// The event of a port is due.
    #[inline]
    pub(super) fn serve(&mut self, now: u64, link: usize) {
        let LinkState { port: LinkPort::Driven(driven), rest, .. } = &mut self.links[link] else { return };
        let mut watch = PortWatch { meter: &mut rest.meter, flows: &mut self.flows };
        let slot = driven.slot;
        let wake = match &mut driven.kind {
            PortKind::Packets { port, busy_until } => match port.poll(Time::from_picoseconds(now), &mut watch) {
                Next::Transmit(Transmission { packet, start, finish }) => {
                    let (start, finish) = (start.picoseconds(), finish.picoseconds());
                    *busy_until = finish;
                    let more = port.occupancy().packets() > 0;
                    let ecn = packet.payload.ecn();
                    let packet = InTransit::from_port(&packet);
                    if let Some(admission) = &mut self.admission {
                        let hop = self.flows.routes.hop(packet.meta.cursor);
                        let queue = self.flows.routes.queue(hop, ecn, packet.length);
                        if hop.flow & BACK == 0 {
                            admission.measure(start, link, u64::from(hop.flow), 8 * packet.length);
                            if port.occupancy().flow_packets(queue) > 0 {
                                admission.renew(now, link, queue, port);
                            }
                        }
                    }
                    self.transmit(link, ecn, packet, start, finish);
                    if more { finish } else { NEVER }
                }
                Next::WaitUntil(time) => time.picoseconds(),
                Next::Idle => NEVER,
            },
            PortKind::Cells(_) => return self.serve_cells(link, slot),
            PortKind::Workers(_) => return self.serve_workers(now, link),
            PortKind::Pausable(_) => return self.serve_pausable(now, link),
            PortKind::Elsewhere => return,
            PortKind::Adapter(adapter) => {
                let cell = adapter.send(&mut driven.loss, &mut watch);
                self.agenda.set_port(slot, adapter.next());
                return cell.into_iter().for_each(|cell| self.adapter_sent(link, cell));
            }
        };
        self.agenda.update_port(slot, wake);
    }

    /// Something happens at one of the workers that share a link: transmissions end, then rates are set anew, then others start.
    fn serve_workers(&mut self, now: u64, link: usize) {
        let mut number = 0;
        while let Some((workers, _)) = self.workers(link).filter(|(workers, _)| number < workers.workers()) {
            if let Some(EndedTransmission { packet, came, start }) = workers.departed(now, number) {
                self.transmit(link, came, packet, start, now);
            }
            number += 1;
        }
        let Some((workers, mut watch)) = self.workers(link) else { return };
        workers.exchange(now);
        (0..workers.workers()).for_each(|number| workers.poll(now, number, &mut watch));
        let next = workers.next();
        if let LinkPort::Driven(port) = &self.links[link].port {
            self.agenda.update_port(port.slot, next);
        }
    }

    /// The first exchange of every link that several workers share is due after its interval.
    pub(super) fn start_exchanges(&mut self) {
        for link in &self.links {
            let LinkPort::Driven(port) = &link.port else { continue };
            if let PortKind::Workers(workers) = &port.kind {
                self.agenda.set_port(port.slot, workers.next());
            }
        }
    }

    /// The workers that share a link, and what observes them.
    fn workers(&mut self, link: usize) -> Option<(&mut WorkersPort, PortWatch<'_, 'a>)> {
        let LinkState { port: LinkPort::Driven(driven), rest, .. } = &mut self.links[link] else { return None };
        let PortKind::Workers(workers) = &mut driven.kind else { return None };
        Some((workers, PortWatch { meter: &mut rest.meter, flows: &mut self.flows }))
    }

    /// A change of a port may let a packet leave sooner.
    pub(super) fn wake(&mut self, now: u64, link: usize) {
        let LinkPort::Driven(port) = &self.links[link].port else { return };
        let PortKind::Packets { port: packets, busy_until } = &port.kind else { return };
        if packets.occupancy().packets() > 0 {
            self.agenda.set_port(port.slot, now.max(*busy_until));
        }
    }

    /// Removes a flow from a port of packets.
    pub(super) fn remove_flow(&mut self, now: u64, link: usize, flow: Flow, leaving: Leaving) {
        let LinkState { port, rest, .. } = &mut self.links[link];
        let LinkPort::Driven(driven) = port else { return };
        let PortKind::Packets { port, .. } = &mut driven.kind else { return };
        let mut watch = PortWatch { meter: &mut rest.meter, flows: &mut self.flows };
        port.remove_flow(Time::from_picoseconds(now), flow, leaving, &mut watch);
    }

    /// Plays a port of cells, and all that follows before anything else happens in the network: a cell costs no event of the network's.
    fn serve_cells(&mut self, link: usize, slot: usize) {
        self.agenda.set_port(slot, NEVER);
        loop {
            let horizon = self.agenda.first().0.min(self.limit);
            let Some((cells, meter)) = self.links[link].cells() else { return };
            loop {
                self.events += 1;
                cells.step(meter);
                // A greedy source looks at its first queue at the instant of every change.
                if cells.has_news() || cells.next() >= horizon || self.flows.has_greedy() {
                    break;
                }
            }
            if let Some(cell) = cells.departed() {
                self.cell_sent(link, cell);
            }
            while let Some(fate) = self.links[link].cells().and_then(|(cells, _)| cells.decided()) {
                self.packet_decided(link, fate);
            }
            let Some(next) = self.links[link].cells().map(|(cells, _)| cells.next()) else { return };
            if next >= self.agenda.first().0.min(self.limit) || self.flows.has_greedy() {
                return self.agenda.set_port(slot, next);
            }
        }
    }

    /// A packet has left a port of cells, or is lost there.
    fn packet_decided(&mut self, link: usize, fate: Fate<PacketMeta>) {
        match fate {
            Fate::Whole { tag: mut meta, length, colour, is_congested, finish } => {
                if is_congested {
                    // The queue is that of the code point with which it came.
                    let (_, queue) = self.hop_and_queue(meta, length);
                    if meta.mark() {
                        self.links[link].rest.meter.ce_marked(queue, length);
                    }
                }
                meta.cursor += 1;
                self.forward(link, InTransit { meta, length, colour }, finish);
            }
            Fate::Lost { tag: meta, length, reason } => {
                self.links[link].count_loss(length);
                self.flows.drop_at_port(meta, length, reason);
            }
        }
    }

    /// A cell has left for the next port of cells, and with it its packet if it was the last of a whole one.
    fn cell_sent(&mut self, link: usize, mut cell: Departure<PacketMeta>) {
        if cell.is_whole {
            let hop = self.hop(cell.tag.cursor + 1);
            // What is lost on the link are the contents of the packet: its cells come, with errors.
            cell.is_whole = !self.loses(link, hop, cell.tag, cell.length);
            self.packet_hops += 1;
            self.flows.transmitted(hop);
        }
        self.pass_cell(link, cell);
    }

    /// A cell is on its way to the next port of cells, as one of a whole packet or not.
    fn pass_cell(&mut self, link: usize, mut cell: Departure<PacketMeta>) {
        cell.tag.cursor += 1;
        let ((hop, queue), next) = (self.hop_and_queue(cell.tag, cell.length), self.hop(cell.tag.cursor + 1));
        let at = cell.finish + self.links[link].propagation;
        let LinkPort::Driven(port) = &mut self.links[hop.link as usize].port else { return };
        let DrivenPort { kind: PortKind::Cells(cells), slot, .. } = &mut **port else { return };
        cells.push_cell(queue, at, cell, next.comes_one_by_one);
        self.agenda.update_port(*slot, cells.next());
    }

    fn adapter_sent(&mut self, link: usize, cell: AdapterCell) {
        let AdapterCell { frame, number, cells, finish, is_last, is_whole } = cell;
        let (cursor, colour) = self.crossing(link, (frame.meta.ecn(), frame.length), frame.meta.cursor, frame.colour);
        let InTransit { meta, length, .. } = frame;
        let hop = self.hop(cursor);
        if is_last && !is_whole {
            self.lose_on_link(link, hop, meta, length);
        }
        if is_last && (!is_whole || hop.comes_one_by_one) {
            self.packet_hops += 1;
            self.flows.transmitted(hop);
        }
        if hop.comes_one_by_one {
            // The cells of a damaged frame come, with errors.
            self.pass_cell(link, Departure { tag: meta, length, packet: number, cells, colour, finish, is_last, is_whole });
        } else if is_whole {
            self.carry(link, InTransit { colour, ..frame.at(cursor) }, finish);
        }
    }

    /// Sends a packet that came with this code point along a link, to the next port or to its sink.
    #[inline]
    pub(super) fn transmit(&mut self, link: usize, came: Ecn, packet: InTransit, start: u64, finish: u64) {
        let (cursor, colour) = self.crossing(link, (came, packet.length), packet.meta.cursor, packet.colour);
        // Where cells contend, the arrival of the first cell counts.
        let leaves = if self.hop(cursor).comes_as_cells { start + self.links[link].rest.pace } else { finish };
        self.forward(link, InTransit { colour, ..packet.at(cursor) }, leaves);
    }

    /// The next hop of a packet that came with this code point and length and leaves in this colour, and its colour there.
    #[inline]
    fn crossing(&self, link: usize, (came, length): (Ecn, u32), cursor: u32, colour: Colour) -> (u32, Colour) {
        match &self.links[link].port {
            LinkPort::Driven(port) if port.rewrites => self.flows.routes.fixed.crossing(cursor, came, length, colour),
            _ => (cursor + 1, colour),
        }
    }

    /// A packet leaves a port at this instant, for its hop: the next port, or its sink.
    #[inline]
    fn forward(&mut self, link: usize, packet: InTransit, leaves: u64) {
        let hop = self.hop(packet.meta.cursor);
        let is_lost = self.loses(link, hop, packet.meta, packet.length);
        if is_lost && self.flows.tracing.is_some() {
            self.flows.trace_on_link(leaves, Step::Lost, Some(link), &packet);
        }
        if let LinkPort::Driven(port) = &self.links[link].port
            && port.delivers_by_events
        {
            return self.forward_by_events(link, packet, leaves, is_lost);
        }
        if is_lost {
            self.packet_hops += 1;
            return self.flows.transmitted(hop);
        }
        self.carry(link, packet, leaves);
    }

    /// The same on a link whose deliveries take events: it fails, or some packets pass it late or twice.
    #[cold]
    fn forward_by_events(&mut self, link: usize, packet: InTransit, leaves: u64, is_lost: bool) {
        let hop = self.hop(packet.meta.cursor);
        self.packet_hops += 1;
        self.flows.transmitted(hop);
        let (links, propagation) = (self.links.len(), self.links[link].propagation);
        let LinkPort::Driven(port) = &mut self.links[link].port else { return };
        let Some(disturbed) = &mut port.disturbance else {
            if !is_lost {
                self.fly(link, packet, leaves + propagation);
            }
            return;
        };
        let Disturbed { is_late, is_twice } = disturbed.stream.disturbs_next();
        if is_lost {
            return;
        }
        let copies = 1 + u32::from(is_twice);
        let (list, arrives) = if is_late {
            (0..copies).for_each(|_| disturbed.late.add(packet.length));
            (links + disturbed.late_list, leaves + propagation + disturbed.extra)
        } else {
            (link, leaves + propagation)
        };
        if is_twice {
            disturbed.duplicated.add(packet.length);
            if self.flows.tracing.is_some() {
                self.flows.trace_on_link(leaves, Step::Copied, Some(link), &packet);
            }
            let copy = self.flows.duplicate(hop, packet);
            self.fly(list, copy, arrives);
        }
        self.fly(list, packet, arrives);
    }

    /// Puts a packet behind those of a list, the last of which arrives no later. It is delivered when it arrives, even to a sink.
    fn fly(&mut self, list: usize, packet: InTransit, arrives: u64) {
        let hop = self.hop(packet.meta.cursor);
        if hop.link == SINK && arrives >= self.end && !self.fails_later(list) {
            return self.flows.deliver_late(arrives, hop.flow, &packet);
        }
        let links = self.links.len();
        let flying = if list < links { &mut self.links[list].flying } else { &mut self.late_links[list - links].1 };
        if flying.is_empty() {
            self.agenda.set_link_end(list, arrives);
        }
        self.flights.push(flying, InFlight::new(arrives, packet));
    }

    /// The same for a packet that the link does not lose.
    #[inline]
    fn carry(&mut self, link: usize, packet: InTransit, leaves: u64) {
        self.packet_hops += 1;
        let arrives = leaves + self.links[link].propagation;
        let hop = self.hop(packet.meta.cursor);
        if hop.link != SINK {
            self.enter(link, hop, packet, arrives);
        } else if arrives < self.end {
            self.deliver(arrives, hop.flow, &packet);
        } else {
            self.flows.deliver_late(arrives, hop.flow, &packet);
        }
        self.flows.transmitted(hop);
    }

    /// Puts a packet behind those on a link, the last of which arrives no later.
    #[inline]
    pub(super) fn enter(&mut self, link: usize, hop: Hop, packet: InTransit, arrives: u64) {
        let flying = &mut self.links[link].flying;
        if flying.has_none() {
            if let Some(part) = flying.part() {
                return self.post(part, link, hop, arrives, packet);
            }
            self.agenda.set_link_end(link, arrives);
        }
        self.flights.push(flying, InFlight::new(arrives, packet));
    }

    /// A packet reaches the sink of its flow at this instant.
    #[inline]
    fn deliver(&mut self, at: u64, flow: u32, packet: &InTransit) {
        if self.flows.tracing.is_some() {
            self.flows.trace_on_link(at, Step::Delivered, None, packet);
        }
        self.flows.deliver(at, flow, packet);
    }

    /// True if a packet gets lost on a link, on its way to this hop.
    #[inline]
    fn loses(&mut self, link: usize, hop: Hop, meta: PacketMeta, length: u32) -> bool {
        let LinkPort::Driven(port) = &mut self.links[link].port else { return false };
        let is_lost = port.loss.as_mut().is_some_and(LossStream::loses_next);
        if is_lost {
            self.lose_on_link(link, hop, meta, length);
        }
        is_lost
    }

    #[cold]
    fn lose_on_link(&mut self, link: usize, hop: Hop, meta: PacketMeta, length: u32) {
        self.links[link].count_loss(length);
        self.flows.lose_on_link(link, hop, meta, length);
    }
}
