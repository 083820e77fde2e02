//! The paths of connections that come and go: beside the table that all replications share, each replication has a second one of its own.
//!
//! A slot of connections owns a region of the second table, and a connection that starts in it writes its two paths there. Cursors and queues of the second
//! table count on from those of the first. A region that is too short for the paths of its next connection is replaced; the old one stays unused.

use super::{BACK, CHOSEN, ENDPOINT, Hop, QueueChoice, Routes, Variant, choice, reversed};
use crate::id::LinkId;
use crate::network::Network;
use tidegate_core::classifier::{FlowKey, Header};
use tidegate_core::packet::{Colour, Ecn, Flow};

/// The shared paths, and those of slots.
pub(crate) struct Paths<'a> {
    /// The paths of the network's flows.
    pub fixed: &'a Routes,
    hops: Vec<Hop>,
    /// As many for each hop as there are ranges of lengths; empty as long as every queue depends on the path alone.
    choices: Vec<QueueChoice>,
}

/// The part of the table that a slot owns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Region {
    first: u32,
    hops: u32,
}

impl<'a> Paths<'a> {
    pub(crate) fn new(fixed: &'a Routes) -> Paths<'a> {
        Paths { fixed, hops: Vec::new(), choices: Vec::new() }
    }

    #[inline]
    pub(crate) fn hop(&self, cursor: u32) -> Hop {
        match self.fixed.hops.get(cursor as usize) {
            Some(hop) => *hop,
            None => self.hops[cursor as usize - self.fixed.hops.len()],
        }
    }

    /// As [`Routes::queue`].
    #[inline]
    pub(crate) fn queue(&self, hop: Hop, ecn: Ecn, length: u32) -> Flow {
        self.queue_and_key(hop, ecn, length).0
    }

    /// As [`Routes::queue_and_key`].
    #[inline]
    pub(crate) fn queue_and_key(&self, hop: Hop, ecn: Ecn, length: u32) -> (Flow, Option<FlowKey>) {
        let row = (hop.queue.0 & !CHOSEN) as usize;
        match row.checked_sub(self.fixed.choices.len()) {
            Some(row) if hop.queue.0 & CHOSEN != 0 => self.choices[row + self.fixed.range_of(length)].of(ecn),
            _ => self.fixed.queue_and_key(hop, ecn, length),
        }
    }

    /// Writes the paths of a connection of this number, whose data has this header: the one of its data, of the flow of this number, then the one of its
    /// acknowledgements. Returns where they start.
    pub(crate) fn write(
        &mut self,
        network: &Network,
        region: &mut Region,
        (flow, connection): (u32, u32),
        header: &Header,
        (path, back): (&[LinkId], &[LinkId]),
    ) -> [Variant; 2] {
        let needed = (path.len() + back.len() + 2) as u32;
        if region.hops < needed {
            *region = Region { first: self.hops.len() as u32, hops: needed };
            let end = Hop { link: ENDPOINT, queue: Flow(0), place: 0, comes_as_cells: false, comes_one_by_one: false, flow: 0 };
            self.hops.resize(self.hops.len() + needed as usize, end);
        }
        let back_first = region.first + path.len() as u32 + 1;
        let data = self.write_one(network, (region.first, flow, connection), path, header);
        let acknowledgements = self.write_one(network, (back_first, connection | BACK, connection), back, &reversed(header));
        [data, acknowledgements]
    }

    fn write_one(&mut self, network: &Network, (first, flow, connection): (u32, u32, u32), path: &[LinkId], header: &Header) -> Variant {
        let ecn = header.network.ecn();
        let plain = Header { length: 0, network: header.network.with_ecn(Ecn::NotEct), ..*header };
        let end = (ENDPOINT, Flow(connection));
        for (place, link) in path.iter().copied().map(Some).chain([None]).enumerate() {
            let at = first as usize + place;
            let (link, queue) = link.map_or(end, |LinkId(link)| {
                let rows = choice(&network.links[link].port.classifier, &plain, &self.fixed.length_steps);
                (link as u32, self.queue_of(at, rows))
            });
            self.hops[at] = Hop { link, queue, place: place as u16, comes_as_cells: false, comes_one_by_one: false, flow };
        }
        let cursor = self.fixed.hops.len() as u32 + first;
        Variant { cursor, colour: Colour::of(header), ecn, length: header.length }
    }

    /// The queue of the hop at this place of the second table, from its rows.
    fn queue_of(&mut self, at: usize, rows: Vec<QueueChoice>) -> Flow {
        let first = rows[0].queues[0];
        let is_one = rows.iter().all(|row| row.keys.iter().all(Option::is_none) && row.queues.iter().all(|&queue| queue == first));
        if is_one {
            return first;
        }
        let begin = at * rows.len();
        let unused = QueueChoice { queues: [Flow(0); 4], keys: [None; 4] };
        self.choices.resize(self.choices.len().max(begin + rows.len()), unused);
        self.choices[begin..begin + rows.len()].copy_from_slice(&rows);
        Flow(CHOSEN | (self.fixed.choices.len() + begin) as u32)
    }
}
