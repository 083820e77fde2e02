//! What happens at the ends of TCP connections: packets arrive and are answered, timers fire, segments set out.
//!
//! A connection has two slots: that of its source, for whatever is due at either end, and one for the next segment that leaves the sending host,
//! if that takes time. Acknowledgements lie in one table, and packets carry an index into it.

use super::{Simulation, Tag};
use crate::error::SimulationError;
use crate::route::BACK;
use crate::source::NEVER;
use crate::statistics::sum;
use crate::statistics::tcp::BackMeter;
use crate::tcp::connection::{Connection, Message, NUMBER_BITS};
use crate::tcp::segment::Segment;
use tidegate_core::port::Volume;

/// The bits of a TCP segment's word: it may be marked; it has been marked; the sender has reduced its window.
pub(super) const MARKABLE: u32 = 1 << 31;
pub(super) const MARKED: u32 = 1 << 30;
const REDUCED: u32 = 1 << 29;

/// What the packets on the ways back hold, and their books.
pub(super) struct Backs {
    messages: Vec<Message>,
    free: Vec<u32>,
    /// By connection.
    pub(super) meters: Vec<BackMeter>,
}

impl Backs {
    pub(super) fn new(connections: usize) -> Backs {
        Backs { messages: Vec::new(), free: Vec::new(), meters: vec![BackMeter::default(); connections] }
    }

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

    pub(super) fn lose(&mut self, connection: u32, word: u32, length: u32) {
        self.take(word);
        self.meters[connection as usize].lost.add(length);
    }
}

impl Simulation<'_> {
    /// A packet reaches an end of a TCP connection, which answers.
    #[inline]
    pub(super) fn reach(&mut self, now: u64, number: usize, flow: u32, tag: Tag, length: u32) {
        let mut sooner = false;
        if flow & BACK == 0 {
            self.flows[flow as usize].deliver(now, tag.created, length);
            let connection = &mut self.connections[number];
            let (marked, reduced) = (tag.word & MARKED != 0, tag.word & REDUCED != 0);
            let data = length - connection.tcp().headers;
            if let Some(message) = connection.on_segment(now, tag.word & ((1 << NUMBER_BITS) - 1), data, marked, reduced) {
                self.send_back(now, number, message);
            }
        } else {
            self.backs.meters[number].delivered.add(length);
            match self.backs.take(tag.word) {
                Message::Ack(ack) => sooner = self.connections[number].on_ack(now, &ack),
                Message::Request(request) => self.connections[number].on_request(now, request),
                Message::Open => self.open(now, number),
            }
            sooner |= self.send(now, number);
        }
        self.reschedule(now, number, sooner);
    }

    /// The pending event of a connection.
    #[cold]
    pub(super) fn wake(&mut self, now: u64, number: usize) {
        let (ack, message, opens) = self.connections[number].on_timer(now);
        if let Some(ack) = ack {
            self.send_back(now, number, Message::Ack(ack));
        }
        if let Some(message) = message {
            self.send_back(now, number, message);
        }
        if opens {
            self.open(now, number);
        }
        self.send(now, number);
        let slot = 2 * self.links.len() + self.flow_of[number] as usize;
        self.events.set(slot, NEVER);
        self.reschedule(now, number, true);
    }

    #[inline]
    fn reschedule(&mut self, now: u64, number: usize, sooner: bool) {
        if let Some(at) = self.connections[number].reschedule(now, sooner) {
            let slot = 2 * self.links.len() + self.flow_of[number] as usize;
            self.events.set(slot, at);
        }
    }

    /// Takes all that a connection may send now. True if its timer was started.
    #[inline]
    fn send(&mut self, now: u64, number: usize) -> bool {
        let was_waiting = self.connections[number].sender.is_waiting();
        while let Some(segment) = self.connections[number].next_segment(now) {
            self.post(now, number, segment);
        }
        !was_waiting
    }

    /// The sending end opens a connection, or agrees to one.
    #[cold]
    fn open(&mut self, now: u64, number: usize) {
        let segment = self.connections[number].opening();
        self.post(now, number, segment);
    }

    /// A segment goes through the sending host.
    #[inline]
    fn post(&mut self, now: u64, number: usize, segment: Segment) {
        if self.connections[number].tcp().is_instant() {
            self.depart(now, number, segment);
        } else if let Some(leaves) = self.connections[number].post(now, segment) {
            self.events.set(2 * self.links.len() + self.sources.len() + number, leaves);
        }
    }

    /// A segment leaves the sending host.
    pub(super) fn leave(&mut self, now: u64, number: usize) {
        let (segment, next) = self.connections[number].leave();
        self.events.set(2 * self.links.len() + self.sources.len() + number, next);
        if let Some(segment) = segment {
            self.depart(now, number, segment);
        }
    }

    #[inline]
    fn depart(&mut self, now: u64, number: usize, segment: Segment) {
        let flow = self.flow_of[number] as usize;
        let tcp = self.connections[number].tcp();
        let variant = self.routes.variants[self.sources[flow].first_variant as usize];
        let mut word = segment.number as u32 & ((1 << NUMBER_BITS) - 1);
        if tcp.ecn {
            word |= MARKABLE | if segment.reduced { REDUCED } else { 0 };
        }
        let length = segment.length + tcp.headers;
        self.flows[flow].emitted.add(length);
        self.arrive(now, Tag { created: now, cursor: variant.cursor, word }, length, variant.colour);
    }

    /// An acknowledgement or a request sets out.
    #[inline]
    fn send_back(&mut self, now: u64, number: usize, message: Message) {
        let flow = self.flow_of[number] as usize;
        let variant = self.routes.variants[self.sources[flow].first_variant as usize + 1];
        let length = self.connections[number].tcp().length_of(&message);
        self.backs.meters[number].emitted.add(length);
        let word = self.backs.put(message);
        self.arrive(now, Tag { created: now, cursor: variant.cursor, word }, length, variant.colour);
    }

    /// The ends of every connection agree with the network's books.
    pub(super) fn check_connections(&self) -> Result<(), SimulationError> {
        for ((connection, back), &flow) in self.connections.iter().zip(&self.backs.meters).zip(&self.flow_of) {
            if let Err((emitted, accounted)) = check_connection(connection, self.flows[flow as usize].emitted, back) {
                let place = format!("connection {}", self.network.flows[flow as usize].name);
                return Err(SimulationError::NotConserved { replication: self.replication, place, emitted, accounted });
            }
        }
        Ok(())
    }
}

/// The ends of every connection agree with each other and with the network's books.
fn check_connection(connection: &Connection, emitted: Volume, back: &BackMeter) -> Result<(), (Volume, Volume)> {
    let sent = connection.sent();
    if sent != emitted {
        return Err((sent, emitted));
    }
    back.under_way().map(|_| ()).ok_or((back.emitted, sum(back.delivered, back.lost)))
}
