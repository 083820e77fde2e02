//! Packets that are dropped at a port, and those that get lost on a link after they have been transmitted.

use super::Simulation;
use crate::route::{BACK, Hop};
use tidegate_core::packet::DropReason;
use tidegate_link::LossStream;

impl Simulation<'_> {
    /// A packet is dropped at the port of its hop.
    #[cold]
    pub(super) fn lose(&mut self, hop: Hop, word: u32, length: u32, reason: DropReason) {
        if hop.flow & BACK != 0 {
            return self.backs.lose(hop.flow & !BACK, word, length);
        }
        self.flows[hop.flow as usize].lose(hop.place as usize, length, reason);
        if let (0, Some(Some(source))) = (hop.place, self.greedy.get_mut(hop.flow as usize)) {
            source.lost();
            self.woken.push(hop.flow);
        }
    }

    /// True if a packet gets lost on a link, on its way to this hop.
    #[inline]
    pub(super) fn loses(&mut self, link: usize, hop: Hop, word: u32, length: u32) -> bool {
        let rest = &mut *self.links[link].rest;
        let is_lost = rest.loss.as_mut().is_some_and(LossStream::loses_next);
        if is_lost {
            self.lose_on_link(link, hop, word, length);
        }
        is_lost
    }

    /// A packet gets lost on a link, on its way to this hop.
    #[cold]
    pub(super) fn lose_on_link(&mut self, link: usize, hop: Hop, word: u32, length: u32) {
        self.links[link].rest.lost.add(length);
        if hop.flow & BACK != 0 {
            self.backs.lose(hop.flow & !BACK, word, length);
        } else {
            self.flows[hop.flow as usize].lose_on_link(hop.place as usize - 1, length);
        }
    }
}
