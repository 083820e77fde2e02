//! What the simulation does for TCP connections: it carries what their ends send, and wakes them.

use super::{MARKABLE, MARKED, REDUCED, Simulation, TAGGED, Tag, word_of};
use crate::route::BACK;
use crate::tcp::connection::NUMBER_BITS;
use crate::tcp::segment::{Message, Segment};
use crate::time::NEVER;
use tidegate_core::packet::Colour;

impl Simulation<'_> {
    /// A packet reaches an end of a TCP connection, which answers.
    #[inline]
    pub(super) fn reach(&mut self, now: u64, number: usize, flow: u32, tag: Tag, length: u32) {
        let mut sooner = false;
        if flow & BACK == 0 {
            let is_measured = self.flows[flow as usize].deliver(now, tag.created, length, tag.word & TAGGED != 0);
            let connection = &mut self.connections[number];
            let (marked, reduced) = (tag.word & MARKED != 0, tag.word & REDUCED != 0);
            let data = length - connection.tcp().headers;
            if let Some(message) = connection.on_segment(now, tag.word & ((1 << NUMBER_BITS) - 1), data, marked, reduced) {
                self.send_back(now, number, message);
            }
            if !is_measured {
                self.connections[number].disregard();
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
        let slot = self.first_source + self.flow_of[number] as usize;
        self.events.set(slot, NEVER);
        self.reschedule(now, number, true);
    }

    #[inline]
    pub(super) fn reschedule(&mut self, now: u64, number: usize, sooner: bool) {
        if let Some(at) = self.connections[number].reschedule(now, sooner) {
            let slot = self.first_source + self.flow_of[number] as usize;
            self.events.set(slot, at);
        }
    }

    /// Takes all that a connection may send now. True if its timer was started.
    #[inline]
    pub(super) fn send(&mut self, now: u64, number: usize) -> bool {
        let was_waiting = self.connections[number].sender.is_waiting();
        while let Some(segment) = self.connections[number].next_segment(now) {
            self.post(now, number, segment);
        }
        !was_waiting
    }

    /// The sending end opens a connection, or agrees to one.
    #[cold]
    pub(super) fn open(&mut self, now: u64, number: usize) {
        let segment = self.connections[number].opening();
        self.post(now, number, segment);
    }

    /// A segment goes through the sending host.
    #[inline]
    pub(super) fn post(&mut self, now: u64, number: usize, segment: Segment) {
        if self.connections[number].tcp().is_instant() {
            self.depart(now, number, segment);
        } else if let Some(leaves) = self.connections[number].post(now, segment) {
            self.events.set(self.first_host + number, leaves);
        }
    }

    /// A segment leaves the sending host.
    pub(super) fn leave(&mut self, now: u64, number: usize) {
        let (segment, next) = self.connections[number].leave();
        self.events.set(self.first_host + number, next);
        if let Some(segment) = segment {
            self.depart(now, number, segment);
        }
    }

    #[inline]
    pub(super) fn depart(&mut self, now: u64, number: usize, segment: Segment) {
        let flow = self.flow_of[number] as usize;
        let tcp = self.connections[number].tcp();
        let variant = self.routes.variants[self.sources[flow].first_variant as usize];
        let mut word = segment.number as u32 & ((1 << NUMBER_BITS) - 1);
        if tcp.ecn {
            word |= MARKABLE | if segment.reduced { REDUCED } else { 0 };
        }
        let length = segment.length + tcp.headers;
        let colour = self.sources[flow].tags.colour(now, length, variant.colour);
        word |= word_of(colour);
        self.flows[flow].emit(length, colour != Colour::Green);
        self.arrive(now, Tag { created: now, cursor: variant.cursor, word }, length, colour);
    }

    /// An acknowledgement or a request sets out.
    #[inline]
    pub(super) fn send_back(&mut self, now: u64, number: usize, message: Message) {
        let flow = self.flow_of[number] as usize;
        let variant = self.routes.variants[self.sources[flow].first_variant as usize + 1];
        let length = self.connections[number].tcp().length_of(&message);
        self.backs.meters[number].emitted.add(length);
        let word = self.backs.put(message);
        self.arrive(now, Tag { created: now, cursor: variant.cursor, word }, length, variant.colour);
    }
}
