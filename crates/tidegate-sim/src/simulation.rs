//! One replication: the clock, and what happens at each event.
//!
//! There are four kinds of slots (see [`crate::events`]), numbered so that ties go the documented way: each port that needs one (the instant at
//! which it may transmit next, if anything is queued), each link's far end (the next packet to arrive there), each flow's source, and each host
//! that takes time to send. A packet on its way to a sink needs no event: its delivery is entered when its last transmission starts.
//!
//! A port is asked for a transmission when its link becomes free, when its scheduler said it should be, and when a packet arrives while the
//! link is idle. Where packets leave in the order in which they come, when one leaves is known when it comes (see [`crate::lane`]), and no port
//! has to be asked. Nothing is allocated per packet: packets lie in the port's pool or in that of all links, which grow to what they must hold
//! and stay.

use crate::cells::CellPort;
use crate::error::SimulationError;
use crate::events::Events;
use crate::experiment::Experiment;
use crate::lane::Lane;
use crate::network::Network;
use crate::random::{Stream, loss_stream};
use crate::route::{BACK, ENDPOINT, Hop, Routes, SINK};
use crate::source::greedy::{Greedy, GreedyWindow};
use crate::source::{AnyGenerator, Source};
use crate::statistics::Replication;
use crate::statistics::flow::FlowMeter;
use crate::statistics::port::PortMeter;
use crate::statistics::tcp::BackMeter;
use crate::tagging::Tags;
use crate::tcp::connection::Connection;
use crate::tcp::segment::Message;
use crate::time::NEVER;
use tidegate_core::observer::Observer;
use tidegate_core::packet::{Colour, DropReason, Packet};
use tidegate_core::port::{Next, Port, Transmission, Volume};
use tidegate_core::queue::Occupancy;
use tidegate_core::units::Time;
use tidegate_link::LossStream;

mod adapters;
mod books;
mod cell_links;
mod connections;
mod flights;
mod losses;

use adapters::AdapterLink;
use cell_links::pace_of;
use flights::{Flights, Flying};

/// Events between two looks at progress and cancellation.
const EVENTS_PER_TICK: u32 = 1 << 15;

/// What a packet carries through the ports.
#[derive(Clone, Copy, Debug)]
struct Tag {
    /// When its source emitted it.
    created: u64,
    /// Its hop, as an index into [`Routes::hops`], where its flow stands.
    cursor: u32,
    /// For a TCP segment the low bits of its number and the bits below, for what comes back an index into [`Messages`]; otherwise [`TAGGED`] or 0.
    word: u32,
}

/// The bits of a TCP segment's word: it may be marked; it has been marked; the sender has reduced its window.
const MARKABLE: u32 = 1 << 31;
const MARKED: u32 = 1 << 30;
const REDUCED: u32 = 1 << 29;
/// The bit of the word of any packet of a flow that says that its sender tagged it.
const TAGGED: u32 = 1 << 28;

/// What a packet's word says of the colour in which it sets out.
#[inline]
fn word_of(colour: Colour) -> u32 {
    if colour == Colour::Green { 0 } else { TAGGED }
}

/// What the packets on the ways back hold, and their books.
#[derive(Default)]
struct Backs {
    messages: Vec<Message>,
    free: Vec<u32>,
    /// By connection.
    meters: Vec<BackMeter>,
}

impl Backs {
    #[inline]
    fn put(&mut self, message: Message) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self.messages[slot as usize] = message;
                slot
            }
            None => {
                self.messages.push(message);
                self.messages.len() as u32 - 1
            }
        }
    }

    #[inline]
    fn take(&mut self, slot: u32) -> Message {
        self.free.push(slot);
        self.messages[slot as usize]
    }

    fn lose(&mut self, connection: u32, word: u32, length: u32) {
        self.take(word);
        self.meters[connection as usize].lost.add(length);
    }
}

/// A packet on a link.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    arrives: u64,
    tag: Tag,
    length: u32,
    colour: Colour,
}

/// A link, and the port that feeds it: what every packet needs, in one cache line.
#[repr(align(64))]
struct LinkState {
    /// The port, if packets leave it in the order in which they come.
    lane: Option<Lane>,
    flying: Flying,
    propagation: u64,
    rest: Box<LinkRest>,
}

/// What of a link only some packets need.
struct LinkRest {
    /// The port, if it is any other.
    port: Option<Box<Port<Tag>>>,
    /// The port, if packets contend at it as cells.
    cells: Option<Box<CellPort<Tag>>>,
    /// The port, if it is that of an ATM adapter.
    adapter: Option<Box<AdapterLink>>,
    meter: PortMeter,
    /// Until when the link transmits; not for lanes.
    busy_until: u64,
    loss: Option<LossStream>,
    /// What was lost on the link.
    lost: Volume,
    /// From how many queued bytes on packets are marked.
    mark_above: u64,
    /// True if packets may come to its end with another code point or colour than they left the port with; not for lanes.
    rewrites: bool,
    /// The time from one cell to the next of a packet on this link; 0 if it carries no cells.
    pace: u64,
    /// The slot of the port's events; lanes have none.
    slot: usize,
}

impl LinkState {
    /// Brings up to date what is worked out ahead: all that happens before `limit`.
    fn bring_up(&mut self, limit: u64) {
        if let Some(lane) = &mut self.lane {
            lane.bring_up(limit.saturating_sub(1), &mut self.rest.meter);
        }
    }
}

struct SourceState {
    generator: AnyGenerator,
    stream: Stream,
    stop: u64,
    first_variant: u32,
    tags: Tags,
}

/// One replication.
pub(crate) struct Simulation<'a> {
    network: &'a Network,
    routes: &'a Routes,
    replication: u32,
    warm_up: u64,
    end: u64,
    /// Up to where events are being played.
    limit: u64,
    events: Events,
    links: Vec<LinkState>,
    /// The links whose ports have events, in order; the first slots are theirs. Behind them come the ends of the links, the sources and the hosts.
    ports: Vec<u32>,
    first_source: usize,
    first_host: usize,
    /// The packets on all links.
    flights: Flights<InFlight>,
    sources: Vec<SourceState>,
    flows: Vec<FlowMeter>,
    /// The greedy sources, by flow; empty if there is none.
    greedy: Vec<Option<GreedyWindow>>,
    /// Flows of greedy sources whose first queue has just changed.
    woken: Vec<u32>,
    /// The TCP connections, in the order of their flows; the flow of each; and the connection of each flow that is one.
    connections: Vec<Connection<'a>>,
    flow_of: Vec<u32>,
    connection_of: Vec<u32>,
    backs: Backs,
    /// Sent off to a sink that they reach after the end.
    towards_sinks: Volume,
    event_count: u64,
    packet_hops: u64,
}

/// Watches one port on behalf of the statistics.
struct Watch<'a> {
    meter: &'a mut PortMeter,
    flows: &'a mut [FlowMeter],
    routes: &'a Routes,
    greedy: &'a mut [Option<GreedyWindow>],
    woken: &'a mut Vec<u32>,
    backs: &'a mut Backs,
}

impl Observer<Tag> for Watch<'_> {
    #[inline]
    fn offered(&mut self, _now: Time, packet: &Packet<Tag>) {
        self.meter.offered(packet.flow, packet.length);
    }

    #[inline]
    fn marked(&mut self, _now: Time, packet: &Packet<Tag>, _from: Colour) {
        self.meter.marked(packet.flow, packet.length);
    }

    #[inline]
    fn queued(&mut self, now: Time, packet: &Packet<()>, _occupancy: &Occupancy) {
        self.meter.queued(now.picoseconds(), packet.flow, packet.length);
    }

    fn dropped(&mut self, now: Time, packet: Packet<Tag>, reason: DropReason, occupancy: &Occupancy) {
        self.meter.dropped(now.picoseconds(), packet.flow, packet.length, packet.colour, reason, occupancy.bytes());
        let hop = self.routes.hops[packet.payload.cursor as usize];
        let (flow, place) = (hop.flow, hop.place);
        if flow & BACK != 0 {
            return self.backs.lose(flow & !BACK, packet.payload.word, packet.length);
        }
        self.flows[flow as usize].lose(place as usize, packet.length, reason);
        if let (0, Some(Some(source))) = (place, self.greedy.get_mut(flow as usize)) {
            source.lost();
            self.woken.push(flow);
        }
    }

    #[inline]
    fn sent(&mut self, now: Time, packet: &Packet<Tag>, finish: Time, _occupancy: &Occupancy) {
        self.meter.sent(now.picoseconds(), packet.flow, packet.length, packet.arrival.picoseconds(), finish.picoseconds());
    }
}

impl<'a> Simulation<'a> {
    /// A replication of an experiment; both it and the network have been checked.
    pub(crate) fn new(network: &'a Network, experiment: &Experiment, routes: &'a Routes, replication: u32) -> Simulation<'a> {
        let (warm_up, end) = (experiment.warm_up.picoseconds(), experiment.duration.picoseconds());
        let sample_interval = experiment.sample_interval.map_or(0, |interval| interval.picoseconds());
        let tcp_flows = network.flows.iter().filter(|flow| matches!(flow.source, Source::Tcp(_))).count();
        let mut is_watched = vec![false; network.links.len()];
        for flow in network.flows.iter().filter(|flow| matches!(flow.source, Source::Greedy(_))) {
            is_watched[flow.path[0].0] = true;
        }
        let mut ports = Vec::new();
        let mut links = Vec::with_capacity(network.links.len());
        for (index, link) in network.links.iter().enumerate() {
            // A greedy source looks at its first queue at the instant of every change.
            let may_be_lane = !link.cells && link.adapter.is_none() && link.impairment.loss.is_none() && !is_watched[index];
            let lane = may_be_lane.then(|| Lane::of(&link.port)).flatten();
            let rest = LinkRest {
                port: (lane.is_none() && !link.cells && link.adapter.is_none()).then(|| Box::new(Port::new(Time::ZERO, link.port.clone()))),
                cells: link.cells.then(|| Box::new(CellPort::new(link.port.clone(), link.impairment.mark_above.unwrap_or(u64::MAX)))),
                adapter: AdapterLink::of(link).map(Box::new),
                meter: PortMeter::new(&link.port.classifier, sample_interval),
                busy_until: 0,
                loss: link
                    .impairment
                    .loss
                    .map(|loss| LossStream::new(loss, loss_stream(network.same_loss_before(index), experiment.seed, replication))),
                lost: Volume::default(),
                mark_above: link.impairment.mark_above.unwrap_or(u64::MAX),
                rewrites: link.rewrites(),
                pace: pace_of(link),
                slot: ports.len(),
            };
            if lane.is_none() {
                ports.push(index as u32);
            }
            let propagation = link.propagation.picoseconds();
            links.push(LinkState { lane, flying: Flying::default(), propagation, rest: Box::new(rest) });
        }
        let first_source = ports.len() + links.len();
        let first_host = first_source + network.flows.len();
        let slow_hosts = network.flows.iter().any(|flow| matches!(&flow.source, Source::Tcp(tcp) if !tcp.is_instant()));
        let mut events = Events::new(first_host + if slow_hosts { tcp_flows } else { 0 });
        let (mut connections, mut flow_of) = (Vec::with_capacity(tcp_flows), Vec::with_capacity(tcp_flows));
        let mut connection_of = vec![u32::MAX; if tcp_flows > 0 { network.flows.len() } else { 0 }];
        let mut sources = Vec::with_capacity(network.flows.len());
        for (index, flow) in network.flows.iter().enumerate() {
            let mut source = SourceState {
                generator: AnyGenerator::new(&flow.source, &routes.packet_variants[index]),
                stream: Stream::new(experiment.seed, replication, &flow.name),
                stop: flow.stop.map_or(NEVER, |stop| stop.picoseconds()),
                first_variant: routes.first_variant[index],
                tags: Tags::of(flow.tagging.as_ref(), network.links[flow.path[0].0].overhead()),
            };
            let first = match &flow.source {
                Source::Tcp(tcp) => {
                    let stream = Stream::new(experiment.seed, replication, &flow.name);
                    let connection = Connection::new(tcp, stream, flow.start.picoseconds(), source.stop, warm_up, sample_interval);
                    let first = connection.wake();
                    connection_of[index] = connections.len() as u32;
                    connections.push(connection);
                    flow_of.push(index as u32);
                    first
                }
                _ => source.generator.first(flow.start.picoseconds(), &mut source.stream),
            };
            events.set(first_source + index, if first < source.stop { first } else { NEVER });
            sources.push(source);
        }
        let greedy: Vec<Option<GreedyWindow>> = network
            .flows
            .iter()
            .map(|flow| match flow.source {
                Source::Greedy(Greedy { length, window }) => {
                    let port = &network.links[flow.path[0].0].port;
                    let patience = port.rate.time_per_byte().ceil(port.overhead.wire_length(length));
                    Some(GreedyWindow::new(length, window, patience.picoseconds()))
                }
                _ => None,
            })
            .collect();
        Simulation {
            network,
            routes,
            replication,
            warm_up,
            end,
            limit: 0,
            events,
            links,
            ports,
            first_source,
            first_host,
            flights: Flights::default(),
            sources,
            flows: network.flows.iter().map(|flow| FlowMeter::new(network.way(flow), warm_up, sample_interval)).collect(),
            greedy: if greedy.iter().any(Option::is_some) { greedy } else { Vec::new() },
            woken: Vec::new(),
            backs: Backs { meters: vec![BackMeter::default(); connections.len()], ..Backs::default() },
            connections,
            flow_of,
            connection_of,
            towards_sinks: Volume::default(),
            event_count: 0,
            packet_hops: 0,
        }
    }

    /// Runs to the end. `tick` is told now and then which part is done and says whether to go on.
    pub(crate) fn run(mut self, tick: &mut dyn FnMut(f64) -> bool) -> Result<Replication, SimulationError> {
        self.run_until(self.warm_up, tick)?;
        for link in &mut self.links {
            link.bring_up(self.warm_up);
            let (counters, queued) = link.books();
            link.rest.meter.restart(self.warm_up, &counters, queued);
            if let Some(adapter) = &mut link.rest.adapter {
                adapter.restart();
            }
        }
        self.flows.iter_mut().for_each(FlowMeter::restart);
        self.connections.iter_mut().for_each(Connection::restart);
        self.run_until(self.end, tick)?;
        tick(1.0);
        self.finish()
    }

    /// Plays every event before `limit`.
    fn run_until(&mut self, limit: u64, tick: &mut dyn FnMut(f64) -> bool) -> Result<(), SimulationError> {
        self.limit = limit;
        let first_end = self.ports.len();
        loop {
            for _ in 0..EVENTS_PER_TICK {
                let (now, slot) = self.events.first();
                if now >= limit {
                    return Ok(());
                }
                self.event_count += 1;
                if slot < first_end {
                    self.serve(now, self.ports[slot] as usize);
                } else if slot < self.first_source {
                    self.land(now, slot - first_end);
                } else if slot < self.first_host {
                    self.emit(now, slot - self.first_source);
                } else {
                    self.leave(now, slot - self.first_host);
                }
                while let Some(flow) = self.woken.pop() {
                    self.fill(now, flow as usize);
                }
            }
            if !tick(self.events.first().0.min(self.end) as f64 / self.end as f64) {
                return Err(SimulationError::Cancelled);
            }
        }
    }

    /// A source's packet is due.
    #[inline]
    fn emit(&mut self, now: u64, flow: usize) {
        let slot = self.first_source + flow;
        let source = &mut self.sources[flow];
        let Some(emission) = source.generator.emit(now, &mut source.stream) else {
            if let Some(Some(source)) = self.greedy.get_mut(flow) {
                source.retry();
                return self.fill(now, flow);
            }
            return self.wake(now, self.connection_of[flow] as usize);
        };
        self.events.set(slot, if emission.next < source.stop { emission.next } else { NEVER });
        let variant = self.routes.variants[(source.first_variant + emission.variant) as usize];
        let colour = source.tags.colour(now, emission.length, variant.colour);
        let word = word_of(colour);
        self.flows[flow].emit(emission.length, word != 0);
        let tag = Tag { created: now, cursor: variant.cursor, word };
        self.arrive(now, tag, emission.length, colour);
    }

    /// Lets a greedy source fill its window.
    #[cold]
    fn fill(&mut self, now: u64, flow: usize) {
        let slot = self.first_source + flow;
        let source = &self.sources[flow];
        let variant = self.routes.variants[source.first_variant as usize];
        if now >= source.stop {
            return self.events.set(slot, NEVER);
        }
        while let Some(Some(source)) = self.greedy.get_mut(flow) {
            if !source.offers() {
                let retry = source.retry_after().map_or(NEVER, |patience| now + patience);
                return self.events.set(slot, retry);
            }
            let length = source.length;
            let colour = self.sources[flow].tags.colour(now, length, variant.colour);
            let word = word_of(colour);
            self.flows[flow].emit(length, word != 0);
            self.arrive(now, Tag { created: now, cursor: variant.cursor, word }, length, colour);
        }
    }

    /// The first packet on a link reaches the far end.
    #[inline]
    fn land(&mut self, now: u64, link: usize) {
        let state = &mut self.links[link];
        let Some((packet, next)) = self.flights.pop(&mut state.flying) else { unreachable!("nothing is on the link") };
        self.events.set(self.ports.len() + link, next.map_or(NEVER, |next| next.arrives));
        if self.routes.hops[packet.tag.cursor as usize].comes_as_cells {
            return self.arrive_as_cells(now, self.links[link].rest.pace, packet.tag, packet.length, packet.colour);
        }
        self.arrive(now, packet.tag, packet.length, packet.colour);
    }

    /// A packet reaches the port of its hop, or an end of its connection.
    #[inline]
    fn arrive(&mut self, now: u64, mut tag: Tag, length: u32, colour: Colour) {
        let hop = self.routes.hops[tag.cursor as usize];
        if hop.link == ENDPOINT {
            return self.reach(now, hop.queue.index(), hop.flow, tag, length);
        }
        let link = hop.link as usize;
        let LinkState { lane, rest, .. } = &mut self.links[link];
        if let Some(lane) = lane {
            if tag.word >= MARKABLE && lane.backlog(now, &mut rest.meter) >= rest.mark_above {
                tag.word |= MARKED;
            }
            return match lane.book(now, hop.queue, length, colour, &mut rest.meter) {
                Ok((start, finish)) => self.transmit(link, tag, length, colour, start, finish),
                Err(reason) => self.lose(hop, tag.word, length, reason),
            };
        }
        let Some(port) = &mut rest.port else {
            if rest.adapter.is_some() {
                return self.arrive_at_adapter(now, tag, length, colour);
            }
            let pace = rest.pace;
            return self.arrive_as_cells(now, pace, tag, length, colour);
        };
        if tag.word >= MARKABLE && port.occupancy().bytes() >= rest.mark_above {
            tag.word |= MARKED;
        }
        let mut watch = Watch {
            meter: &mut rest.meter,
            flows: &mut self.flows,
            routes: self.routes,
            greedy: &mut self.greedy,
            woken: &mut self.woken,
            backs: &mut self.backs,
        };
        port.offer(Time::from_picoseconds(now), hop.queue, length, colour, tag, &mut watch);
        if rest.busy_until <= now {
            self.serve(now, link);
        } else if self.events.at(rest.slot) == NEVER && port.occupancy().packets() > 0 {
            self.events.set(rest.slot, rest.busy_until);
        }
    }

    /// A link that is idle asks its port for a packet.
    #[inline]
    fn serve(&mut self, now: u64, link: usize) {
        let rest = &mut *self.links[link].rest;
        let Some(port) = &mut rest.port else {
            return if rest.adapter.is_some() { self.serve_adapter(link) } else { self.serve_cells(link) };
        };
        let mut watch = Watch {
            meter: &mut rest.meter,
            flows: &mut self.flows,
            routes: self.routes,
            greedy: &mut self.greedy,
            woken: &mut self.woken,
            backs: &mut self.backs,
        };
        let slot = rest.slot;
        let wake = match port.poll(Time::from_picoseconds(now), &mut watch) {
            Next::Transmit(Transmission { packet, start, finish }) => {
                let (start, finish) = (start.picoseconds(), finish.picoseconds());
                rest.busy_until = finish;
                let more = port.occupancy().packets() > 0;
                self.transmit(link, packet.payload, packet.length, packet.colour, start, finish);
                if more { finish } else { NEVER }
            }
            Next::WaitUntil(time) => time.picoseconds(),
            Next::Idle => NEVER,
        };
        if wake != self.events.at(slot) {
            self.events.set(slot, wake);
        }
    }

    /// Sends a packet along a link, to the next port or to its sink.
    #[inline]
    fn transmit(&mut self, link: usize, tag: Tag, length: u32, colour: Colour, start: u64, finish: u64) {
        let (cursor, colour) = self.crossing(link, tag.cursor, colour);
        // Where cells contend, it is the first of them whose arrival counts.
        let as_cells = self.routes.hops[cursor as usize].comes_as_cells;
        let leaves = if as_cells { start + self.links[link].rest.pace } else { finish };
        self.forward(link, Tag { cursor, ..tag }, length, colour, leaves);
    }

    /// The hop that comes next for a packet that leaves a port in this colour, and the colour with which it comes there.
    #[inline]
    fn crossing(&self, link: usize, cursor: u32, colour: Colour) -> (u32, Colour) {
        let state = &self.links[link];
        let is_straight = state.lane.is_some() || !state.rest.rewrites;
        if is_straight { (cursor + 1, colour) } else { self.routes.crossing(cursor, colour) }
    }

    /// A packet that leaves a port at this instant is on its way to its hop, the next port or its sink.
    #[inline]
    fn forward(&mut self, link: usize, tag: Tag, length: u32, colour: Colour, leaves: u64) {
        let hop = self.routes.hops[tag.cursor as usize];
        if self.links[link].lane.is_none() && self.loses(link, hop, tag.word, length) {
            self.packet_hops += 1;
            return self.transmitted(hop);
        }
        self.carry(link, tag, length, colour, leaves);
    }

    /// The same for a packet that the link does not lose.
    #[inline]
    fn carry(&mut self, link: usize, tag: Tag, length: u32, colour: Colour, leaves: u64) {
        self.packet_hops += 1;
        let arrives = leaves + self.links[link].propagation;
        let hop = self.routes.hops[tag.cursor as usize];
        if hop.link != SINK {
            if self.links[link].flying.is_empty() {
                self.events.set(self.ports.len() + link, arrives);
            }
            self.flights.push(&mut self.links[link].flying, InFlight { arrives, tag, length, colour });
        } else if arrives < self.end {
            self.flows[hop.flow as usize].deliver(arrives, tag.created, length, tag.word & TAGGED != 0);
        } else {
            self.towards_sinks.add(length);
        }
        self.transmitted(hop);
    }

    /// A packet that goes to this hop has left the port before it.
    #[inline]
    fn transmitted(&mut self, hop: Hop) {
        if let Some(Some(source)) = self.greedy.get_mut(hop.flow as usize)
            && hop.place == 1
        {
            source.transmitted();
            self.woken.push(hop.flow);
        }
    }
}
