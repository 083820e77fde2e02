//! Tells a [`Tracer`] what happens to packets: gives them numbers, and holds what is known ahead until its time has come.
//!
//! Packets carry no number, so that none is paid for where nothing is traced. A packet is known by its flow, the instant at which it was sent and its
//! length; one of a workload's connection by its slot and its path, too. Those that have all in common are told apart by how far they have come.

use super::packet::PacketMeta;
use crate::id::LinkId;
use crate::network::Network;
use crate::route::{BACK, Hop};
use crate::source::Source;
use crate::trace::{Origin, Step, TraceEvent, TracedConnection, Tracer};
use std::collections::{BTreeMap, HashMap};
use tidegate_core::packet::{Colour, DropReason, Ecn, Flow};
use tidegate_core::units::Time;

/// What is known of a packet without a number: its flow, when it was sent, its length, and its path.
type Likeness = (u32, u64, u32, u32);

/// How far a packet has come: three times the number of its link within the path, and how far it has come there.
type Stage = u32;

/// It has been offered to the port, is queued there, has left it.
const OFFERED: Stage = 0;
const QUEUED: Stage = 1;
const LEFT: Stage = 2;
const STAGES: Stage = 3;

/// The stage of a packet on the way to this hop, or at it.
fn stage(hop: Hop, stage: Stage) -> Stage {
    STAGES * u32::from(hop.place) + stage
}

/// That of a packet on the link before its hop; `None` before the first.
fn before(hop: Hop) -> Option<Stage> {
    stage(hop, LEFT).checked_sub(STAGES)
}

pub(super) struct Tracing<'a> {
    tracer: &'a dyn Tracer,
    /// By connection, its flow.
    flows: Vec<usize>,
    /// The number of the first slot's flow.
    first_slot: usize,
    /// By slot, the connection that has or had it.
    connections: Vec<TracedConnection>,
    /// The packets under way, with their numbers.
    under_way: HashMap<Likeness, Vec<(Stage, u64)>>,
    next: u64,
    /// Steps that happen later, by instant and in order.
    ahead: BTreeMap<(u64, u64), TraceEvent>,
    entered: u64,
    /// The packet that a port is looking at, and its likeness.
    last: Option<(Likeness, TraceEvent)>,
    /// The packet that comes next has its number and stage already.
    is_known: bool,
}

/// What a packet is at the moment of a step.
pub(super) struct Traced {
    pub hop: Hop,
    pub meta: PacketMeta,
    pub length: u32,
    pub colour: Colour,
    pub queue: Option<Flow>,
}

impl<'a> Tracing<'a> {
    pub(super) fn new(tracer: &'a dyn Tracer, network: &Network) -> Tracing<'a> {
        let is_tcp = |flow: &usize| matches!(network.flows[*flow].source, Source::Tcp(_));
        let first_slot = network.flows.len();
        Tracing {
            tracer,
            flows: (0..first_slot).filter(is_tcp).collect(),
            first_slot,
            connections: Vec::new(),
            under_way: HashMap::new(),
            next: 0,
            ahead: BTreeMap::new(),
            entered: 0,
            last: None,
            is_known: false,
        }
    }

    /// A connection of a workload arrives in a slot: in a new one behind all others, or in one of which no packet is under way.
    pub(super) fn begin(&mut self, slot: usize, connection: TracedConnection) {
        match self.connections.get_mut(slot) {
            Some(before) => *before = connection,
            None => self.connections.push(connection),
        }
    }

    /// A packet reaches the port of its hop.
    pub(super) fn offered(&mut self, now: u64, packet: &Traced) {
        let number = self.arrive(packet);
        let event = self.event(now, Step::Offered, packet, number);
        self.last = Some((self.likeness(packet), event));
        self.tell(event);
    }

    /// The link marks a packet just before it reaches the port of its hop.
    pub(super) fn marked_before_port(&mut self, now: u64, packet: &Traced) {
        let number = self.arrive(packet);
        self.is_known = true;
        self.tell(self.event(now, Step::Marked, packet, number));
    }

    /// The packet that was offered last has joined its queue.
    pub(super) fn queued(&mut self, now: u64, backlog: u64, queue: Flow, colour: Colour) {
        let Some((likeness, offered)) = self.last.take() else { return };
        let alike = self.under_way.entry(likeness).or_default();
        // A copy has the same number, and may have come further.
        if let Some((stage, _)) = alike.iter_mut().find(|(stage, number)| stage % STAGES == OFFERED && *number == offered.packet) {
            *stage += QUEUED - OFFERED;
        }
        self.tell(TraceEvent { at: Time::from_picoseconds(now), step: Step::Queued { backlog }, queue: Some(queue), colour, ..offered });
    }

    /// A step at a port, which a packet leaves by [`Step::Started`] and [`Step::Dropped`].
    pub(super) fn at_port(&mut self, now: u64, step: Step, packet: &Traced) {
        let is_arriving = self.last.is_some() && step != Step::Dropped(DropReason::PushedOut);
        let at = stage(packet.hop, if is_arriving { OFFERED } else { QUEUED });
        let number = match step {
            Step::Dropped(_) => self.end(packet, at),
            Step::Started { .. } => self.advance(packet, Some(at), stage(packet.hop, LEFT)),
            _ => self.advance(packet, Some(at), at),
        };
        let event = self.event(now, step, packet, number);
        match (step, &mut self.last) {
            (Step::Dropped(reason), _) if reason != DropReason::PushedOut => self.last = None,
            (Step::Marked | Step::Coloured, Some((_, last))) => (last.ecn, last.colour) = (event.ecn, event.colour),
            _ => {}
        }
        self.tell(event);
    }

    /// A step at or after an instant that may lie ahead, on the way to a hop: on the link before, or at the end of the path.
    pub(super) fn on_link(&mut self, at: u64, step: Step, link: Option<LinkId>, packet: &Traced) {
        let on_the_way = before(packet.hop).unwrap_or_default();
        let likeness = self.likeness(packet);
        let number = match step {
            Step::Lost | Step::Delivered => self.end(packet, on_the_way),
            _ => {
                let number = self.advance(packet, Some(on_the_way), on_the_way);
                self.under_way.entry(likeness).or_default().push((on_the_way, number));
                number
            }
        };
        let event = TraceEvent { link, ..self.event(at, step, packet, number) };
        self.entered += 1;
        self.ahead.insert((at, self.entered), event);
    }

    /// Tells what happens before an instant.
    pub(super) fn tell_until(&mut self, limit: u64) {
        while let Some(entry) = self.ahead.first_entry().filter(|entry| entry.key().0 < limit) {
            self.tracer.step(&entry.remove());
        }
    }

    fn tell(&mut self, event: TraceEvent) {
        // What was known ahead of its instant comes before what happens then.
        self.tell_until(event.at.picoseconds() + 1);
        self.tracer.step(&event);
    }

    fn event(&self, at: u64, step: Step, packet: &Traced, number: u64) -> TraceEvent {
        let Traced { hop, meta, length, colour, queue } = *packet;
        let is_answer = hop.flow & BACK != 0;
        let link = LinkId(hop.link as usize);
        TraceEvent {
            at: Time::from_picoseconds(at),
            step,
            packet: number,
            origin: self.origin(hop),
            is_answer,
            link: Some(link),
            created: Time::from_picoseconds(meta.created),
            length,
            queue,
            colour,
            ecn: if is_answer { Ecn::NotEct } else { meta.ecn() },
        }
    }

    /// The slot of the packets at a hop; `None` if they are not of a workload.
    fn slot(&self, hop: Hop) -> Option<usize> {
        let first = if hop.flow & BACK == 0 { self.first_slot } else { self.flows.len() };
        ((hop.flow & !BACK) as usize).checked_sub(first)
    }

    /// What the packets at a hop belong to.
    fn origin(&self, hop: Hop) -> Origin {
        match self.slot(hop) {
            Some(slot) => Origin::Connection(self.connections[slot]),
            None if hop.flow & BACK == 0 => Origin::Flow(hop.flow as usize),
            None => Origin::Flow(self.flows[(hop.flow & !BACK) as usize]),
        }
    }

    /// Paths of workloads do not part, so the first cursor of a packet's path tells the path. Paths of flows are not told apart.
    fn likeness(&self, packet: &Traced) -> Likeness {
        let Traced { hop, meta, length, .. } = *packet;
        let path = self.slot(hop).map_or(0, |_| meta.cursor - u32::from(hop.place));
        (hop.flow, meta.created, length, path)
    }

    fn arrive(&mut self, packet: &Traced) -> u64 {
        let at = stage(packet.hop, OFFERED);
        let from = if std::mem::take(&mut self.is_known) { Some(at) } else { before(packet.hop) };
        self.advance(packet, from, at)
    }

    /// The number of a packet that has come so far, and goes on to another stage. One that has not been seen gets a number.
    fn advance(&mut self, packet: &Traced, from: Option<Stage>, to: Stage) -> u64 {
        let likeness = self.likeness(packet);
        let alike = self.under_way.entry(likeness).or_default();
        if let Some((stage, number)) = alike.iter_mut().find(|(stage, _)| Some(*stage) == from) {
            *stage = to;
            return *number;
        }
        let number = self.next;
        self.next += 1;
        alike.push((to, number));
        number
    }

    /// The number of a packet that has come so far, and goes no further.
    fn end(&mut self, packet: &Traced, stage: Stage) -> u64 {
        let number = self.advance(packet, Some(stage), stage);
        let likeness = self.likeness(packet);
        if let Some(alike) = self.under_way.get_mut(&likeness) {
            if let Some(place) = alike.iter().position(|&other| other == (stage, number)) {
                alike.remove(place);
            }
            if alike.is_empty() {
                self.under_way.remove(&likeness);
            }
        }
        number
    }
}
