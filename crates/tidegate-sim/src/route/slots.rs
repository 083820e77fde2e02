//! The paths of connections that come and go: beside the table that all replications share, each replication has a second one of its own.
//!
//! A slot of connections owns regions of the second table. A connection that starts in it writes its paths there, and others when links fail: packets under way
//! stay on the paths that they set out on. When the slot is used again its regions are free for paths of the same number of hops. Cursors and queues of the second
//! table count on from those of the first.

use super::{BACK, CHOSEN, ENDPOINT, Hop, QueueChoice, Routes, Variant, choice, reversed};
use crate::id::LinkId;
use crate::network::{Link, Network};
use crate::pause::Holders;
use std::collections::HashMap;
use tidegate_core::classifier::{Classifier, FlowKey, Header};
use tidegate_core::packet::{Colour, Ecn, Flow};
use tidegate_core::prefetch::prefetch_in;

/// The shared paths, and those of slots.
#[derive(Clone)]
pub(crate) struct Paths<'a> {
    /// The paths of the network's flows.
    pub fixed: &'a Routes,
    /// The classifiers of all ports at present; empty without workloads.
    classifiers: Vec<&'a Classifier>,
    /// What is counted for pauses; `None` if no port is paused.
    holders: Option<&'a Holders>,
    hops: Vec<Hop>,
    /// As many for each hop as there are ranges of lengths; empty as long as every queue depends on the path alone.
    choices: Vec<QueueChoice>,
    /// By hop, the account of packets that wait there; empty if no port is paused.
    accounts: Vec<u32>,
    /// The regions that are free, by their number of hops.
    free: HashMap<u32, Vec<Region>>,
}

/// A part of the table that a slot owns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region {
    first: u32,
    hops: u32,
}

impl<'a> Paths<'a> {
    pub(crate) fn new(network: &'a Network, fixed: &'a Routes, holders: Option<&'a Holders>) -> Paths<'a> {
        let links: &[Link] = if network.workloads.is_empty() { &[] } else { &network.links };
        let classifiers = links.iter().map(|link| &link.port.classifier).collect();
        Paths { fixed, classifiers, holders, hops: Vec::new(), choices: Vec::new(), accounts: Vec::new(), free: HashMap::new() }
    }

    #[inline]
    pub(crate) fn hop(&self, cursor: u32) -> Hop {
        match self.fixed.hops.get(cursor as usize) {
            Some(hop) => *hop,
            None => self.hops[cursor as usize - self.fixed.hops.len()],
        }
    }

    /// Prefetches a hop of the network's flows, and the one behind it.
    #[inline]
    pub(crate) fn prefetch(&self, cursor: u32) {
        prefetch_in(&self.fixed.hops, cursor as usize);
        prefetch_in(&self.fixed.hops, cursor as usize + 1);
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

    /// The account of packets that wait at a hop; `None` if none counts them.
    #[inline]
    pub(crate) fn account(&self, cursor: u32) -> Option<usize> {
        let holders = self.holders?;
        match (cursor as usize).checked_sub(self.fixed.hops.len()) {
            None => holders.account(cursor),
            Some(at) => Holders::number(self.accounts[at]),
        }
    }

    /// The connection of a slot is gone: its regions are free.
    pub(crate) fn release(&mut self, regions: &mut Vec<Region>) {
        regions.drain(..).for_each(|region| self.free.entry(region.hops).or_default().push(region));
    }

    /// Where the packets of a connection of this number start on these paths, which begin in a region of the slot that has them, or in another. The number of the
    /// flow, or that of the connection with [`BACK`], is that of the hops; `header` is that of the packets.
    pub(crate) fn starts(
        &mut self,
        regions: &mut Vec<Region>,
        (flow, connection): (u32, u32),
        header: &Header,
        paths: &[Vec<LinkId>],
    ) -> Vec<Variant> {
        if paths.is_empty() {
            return Vec::new();
        }
        let known = regions.iter().find(|region| self.has(**region, flow, paths)).copied();
        let region = known.unwrap_or_else(|| {
            let region = self.allocate(paths.iter().map(|path| path.len() as u32 + 1).sum());
            let mut first = region.first;
            for path in paths {
                self.write(first as usize, (flow, connection), path, header);
                first += path.len() as u32 + 1;
            }
            regions.push(region);
            region
        });
        let mut cursor = self.fixed.hops.len() as u32 + region.first;
        let start = |path: &Vec<LinkId>| {
            let variant = Variant { cursor, colour: Colour::of(header), ecn: header.network.ecn(), length: header.length };
            cursor += path.len() as u32 + 1;
            variant
        };
        paths.iter().map(start).collect()
    }

    /// The hops of a region.
    fn of(&self, region: Region) -> &[Hop] {
        &self.hops[region.first as usize..(region.first + region.hops) as usize]
    }

    /// True if a region has these paths.
    fn has(&self, region: Region, flow: u32, paths: &[Vec<LinkId>]) -> bool {
        let links = paths.iter().flat_map(|path| path.iter().map(|link| link.0 as u32).chain([ENDPOINT]));
        links.eq(self.of(region).iter().map(|hop| hop.link)) && self.of(region).iter().all(|hop| hop.flow == flow)
    }

    fn allocate(&mut self, hops: u32) -> Region {
        if let Some(region) = self.free.get_mut(&hops).and_then(Vec::pop) {
            return region;
        }
        let first = self.hops.len() as u32;
        let end = Hop { link: ENDPOINT, queue: Flow(0), place: 0, comes_as_cells: false, comes_one_by_one: false, flow: 0 };
        self.hops.resize((first + hops) as usize, end);
        if self.holders.is_some() {
            self.accounts.resize(self.hops.len(), Holders::UNCOUNTED);
        }
        Region { first, hops }
    }

    fn write(&mut self, first: usize, (flow, connection): (u32, u32), path: &[LinkId], header: &Header) {
        let mut before = None;
        for (place, link) in path.iter().copied().map(Some).chain([None]).enumerate() {
            let at = first + place;
            if let Some(holders) = self.holders {
                self.accounts[at] = before.map_or(Holders::UNCOUNTED, |(link, class)| holders.behind(link, class));
            }
            let (link, queue) = match link {
                None => (ENDPOINT, Flow(connection)),
                Some(LinkId(link)) => {
                    let rows = self.rows(link, header);
                    // Where ports are paused the class depends on the path alone.
                    before = Some((link, self.classifiers[link].class_of(rows[0].queues[0])));
                    (link as u32, self.queue_of(at, rows))
                }
            };
            self.hops[at] = Hop { link, queue, place: place as u16, comes_as_cells: false, comes_one_by_one: false, flow };
        }
    }

    fn rows(&self, link: usize, header: &Header) -> Vec<QueueChoice> {
        let plain = Header { length: 0, network: header.network.with_ecn(Ecn::NotEct), ..*header };
        choice(self.classifiers[link], &plain, &self.fixed.length_steps)
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

    /// Ports have changed: the paths of flows have other queues. Those of slots are [renewed](Paths::renew) one by one.
    pub(crate) fn change(&mut self, fixed: &'a Routes, links: &'a [(usize, Link)]) {
        self.fixed = fixed;
        self.choices.clear();
        for (index, link) in links {
            if let Some(classifier) = self.classifiers.get_mut(*index) {
                *classifier = &link.port.classifier;
            }
        }
    }

    /// Finds the queues on the paths of a slot again, whose connection has this header.
    pub(crate) fn renew(&mut self, regions: &[Region], header: &Header) {
        for at in regions.iter().flat_map(|region| region.first..region.first + region.hops) {
            let Hop { link, flow, .. } = self.hops[at as usize];
            if link != ENDPOINT {
                let rows = self.rows(link as usize, &if flow & BACK == 0 { *header } else { reversed(header) });
                self.hops[at as usize].queue = self.queue_of(at as usize, rows);
            }
        }
    }
}
