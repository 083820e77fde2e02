//! What travels against the data of TCP connections: the contents of the packets under way, and the volumes of each connection.

use crate::statistics::tcp::AckMeter;
use crate::tcp::segment::Message;

#[derive(Default)]
pub(super) struct ReversePath {
    messages: Vec<Message>,
    /// Places in `messages` whose packets have arrived or were lost.
    free: Vec<u32>,
    /// By connection.
    pub meters: Vec<AckMeter>,
}

impl ReversePath {
    pub(super) fn new(connections: usize) -> ReversePath {
        ReversePath { meters: vec![AckMeter::default(); connections], ..ReversePath::default() }
    }

    /// Keeps a message while its packet is under way; the packet carries the place.
    #[inline]
    pub(super) fn put(&mut self, message: Message) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.messages[place as usize] = message;
                place
            }
            None => {
                self.messages.push(message);
                self.messages.len() as u32 - 1
            }
        }
    }

    #[inline]
    pub(super) fn take(&mut self, place: u32) -> Message {
        self.free.push(place);
        self.messages[place as usize]
    }

    /// A link makes a copy of a packet. Returns the place of the copy's message.
    pub(super) fn duplicate(&mut self, connection: u32, place: u32, length: u32) -> u32 {
        self.meters[connection as usize].duplicated.add(length);
        self.put(self.messages[place as usize])
    }

    pub(super) fn lose(&mut self, connection: u32, place: u32, length: u32) {
        self.take(place);
        self.meters[connection as usize].lost.add(length);
    }
}
