//! One flow, end to end, in one replication.

use super::{Bins, CoarseHistogram, Histogram, TcpStatistics};
use crate::id::LinkId;
use crate::network::Network;
use crate::time::NEVER;
use tidegate_core::packet::DropReason;
use tidegate_core::port::Volume;
use tidegate_core::units::Rate;

/// The measurements of a flow in one replication. Volumes and delays count from the end of the warm-up.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FlowStatistics {
    /// What the source emitted.
    pub offered: Volume,
    /// What reached the sink, all of it within the measured time: without the packet that was on the last link when the warm-up ended.
    pub delivered: Volume,
    /// The parts of both that the sender had tagged: sent in another colour than green. Colours given on the path do not count.
    pub tagged: Tagged,
    /// What was under path at the end, in queues and on links.
    pub in_network: Volume,
    /// The copies that links made of packets. Each is delivered, lost or in the network like any packet, beside what was offered.
    pub duplicated: Volume,
    /// Packets delivered after one that was emitted later.
    pub reordered: u64,
    /// What was lost at ports, by link and reason, in the order of the path; only what occurred. [`DropReason::LinkDown`] counts what was on the link too.
    pub dropped: Vec<(LinkId, DropReason, Volume)>,
    /// What was lost on links after it had been transmitted, in the order of the path; only what occurred.
    pub lost_on_links: Vec<(LinkId, Volume)>,
    /// What was lost where it set out, because no path was left.
    pub unrouted: Volume,
    /// What its two ends did, if it is a TCP connection.
    pub tcp: Option<Box<TcpStatistics>>,
    /// Delays from emission to the arrival of the last bit at the sink.
    pub delays: Histogram,
    /// Absolute differences between the delays of consecutive deliveries.
    pub jitter: CoarseHistogram,
    /// Bytes delivered in each sample interval from the start of the simulation.
    pub delivered_bytes: Vec<u64>,
    /// The packet with the largest delay, the first of several. Unlike `delays` it counts packets of the warm-up, and those that had left the last
    /// port when the simulation ended. `None` without packets.
    pub longest: Option<LongestDelay>,
}

/// The packet of a flow with the largest delay, in picoseconds from the start of its replication.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LongestDelay {
    /// Its number among the packets of its flow that arrive, from 1.
    pub number: u64,
    /// When its source emitted it.
    pub created: u64,
    /// Its delay: from there to the arrival of its last bit at the sink.
    pub delay: u64,
}

/// What the sender of a flow tagged, that is sent in another colour than green; or the rest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tagged {
    /// What the source emitted so.
    pub offered: Volume,
    /// What of that reached the sink, in any colour.
    pub delivered: Volume,
}

impl FlowStatistics {
    /// What the source emitted and did not tag.
    pub fn offered_untagged(&self) -> Volume {
        self.offered - self.tagged.offered
    }

    /// What reached the sink of that which the sender did not tag.
    pub fn delivered_untagged(&self) -> Volume {
        self.delivered - self.tagged.delivered
    }

    /// Everything lost.
    pub fn lost(&self) -> Volume {
        let dropped = self.dropped.iter().map(|&(_, _, dropped)| dropped);
        dropped.chain(self.lost_on_links.iter().map(|&(_, lost)| lost)).chain([self.unrouted]).sum()
    }

    /// Packets lost per packet emitted since the warm-up, at most 1; `None` if none was emitted.
    pub fn loss(&self) -> Option<f64> {
        let offered = self.offered.packets;
        // A packet emitted just before the end of the warm-up may be lost after it.
        (offered > 0).then(|| (self.lost().packets as f64 / offered as f64).min(1.0))
    }
}

/// How a packet of a flow is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LossKind {
    /// Its port drops it, or its link has failed.
    AtPort(DropReason),
    /// The link loses it, after it has been transmitted.
    OnLink,
    /// It has no path, and does not set out. The link tells nothing.
    Unrouted,
}

/// What a flow's meter needs to know of its paths.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathSummary {
    /// The least sum of their propagation delays in picoseconds: the part common to all delays.
    pub propagation: u64,
    /// The rate of the slowest last link, and the longest frame of last links in bytes.
    pub last: Rate,
    pub longest_frame: u32,
}

impl PathSummary {
    pub(crate) fn of(network: &Network, path: &[LinkId]) -> PathSummary {
        let links = || path.iter().map(|link| &network.links[link.0]);
        let (last, longest_frame) = links().next_back().map_or((Rate::MAX, 0), |link| (link.port.rate, link.port.longest_frame));
        PathSummary { propagation: links().map(|link| link.propagation.picoseconds()).sum(), last, longest_frame }
    }
}

impl PathSummary {
    /// That of a flow which takes these paths too.
    pub(crate) fn and(self, other: PathSummary) -> PathSummary {
        PathSummary {
            propagation: self.propagation.min(other.propagation),
            last: self.last.min(other.last),
            longest_frame: self.longest_frame.max(other.longest_frame),
        }
    }

    /// Those of all flows of a network.
    pub(crate) fn of_all(network: &Network) -> Vec<PathSummary> {
        let mut all: Vec<PathSummary> = network.flows.iter().map(|flow| PathSummary::of(network, &flow.path)).collect();
        for reroute in network.reroutes.iter().filter(|reroute| !reroute.is_back) {
            for path in &reroute.paths {
                all[reroute.flow] = all[reroute.flow].and(PathSummary::of(network, path));
            }
        }
        all
    }
}

/// Measures a flow.
#[derive(Clone, Debug)]
pub(crate) struct FlowMeter {
    /// Everything from the start of the simulation; the conservation law is checked with them.
    pub(crate) emitted: Volume,
    delivered: Volume,
    lost: Volume,
    /// Copies that links made, and those of them that the sender had tagged.
    duplicated: [Volume; 2],
    /// What of them the sender had tagged.
    tagged: Tagged,
    /// The part of them before the end of the warm-up.
    emitted_before: Volume,
    duplicated_before: Volume,
    delivered_before: Volume,
    tagged_before: Tagged,
    warm_up: u64,
    /// From here on every delivery is measured, however long it takes on the last link.
    settled: u64,
    path: PathSummary,
    delays: Histogram,
    /// [`NEVER`] before the first delivery.
    last_delay: u64,
    /// When the latest packet delivered was emitted.
    last_created: u64,
    reordered: u64,
    jitter: CoarseHistogram,
    /// What was lost where and why, in the order of first occurrence: few links of few flows lose packets.
    losses: Vec<(LinkId, LossKind, Volume)>,
    delivered_bytes: Bins,
    /// Of the warm-up too; its number is 0 before the first delivery.
    longest: LongestDelay,
    /// Packets that reach the sink after the end of the simulation.
    late: u64,
}

impl FlowMeter {
    pub(crate) fn new(path: PathSummary, warm_up: u64, sample_interval: u64) -> FlowMeter {
        FlowMeter {
            emitted: Volume::default(),
            delivered: Volume::default(),
            lost: Volume::default(),
            duplicated: [Volume::default(); 2],
            tagged: Tagged::default(),
            emitted_before: Volume::default(),
            duplicated_before: Volume::default(),
            delivered_before: Volume::default(),
            tagged_before: Tagged::default(),
            warm_up,
            settled: if warm_up == 0 { 0 } else { warm_up + path.last.time_per_byte().ceil(path.longest_frame).picoseconds() },
            path,
            delays: Histogram::above(path.propagation),
            last_delay: NEVER,
            last_created: 0,
            reordered: 0,
            jitter: CoarseHistogram::default(),
            losses: Vec::new(),
            delivered_bytes: Bins::new(sample_interval),
            longest: LongestDelay { number: 0, created: 0, delay: 0 },
            late: 0,
        }
    }

    #[inline]
    pub(crate) fn emit(&mut self, length: u32, is_tagged: bool) {
        self.emitted.add(length);
        if is_tagged {
            self.tagged.offered.add(length);
        }
    }

    /// A link makes a copy of a packet.
    #[cold]
    pub(crate) fn duplicate(&mut self, length: u32, is_tagged: bool) {
        self.duplicated[0].add(length);
        if is_tagged {
            self.duplicated[1].add(length);
        }
    }

    /// A packet emitted at `created` reaches the sink at `at`. Deliveries are reported in their order, at the start of the last transmission.
    /// True if the delivery is measured: no part of the packet came before the warm-up ended.
    #[inline]
    pub(crate) fn deliver(&mut self, at: u64, created: u64, length: u32, is_tagged: bool) -> bool {
        self.delivered.add(length);
        self.delivered_bytes.add(at, u64::from(length));
        let delay = at - created;
        if delay > self.longest.delay {
            self.lengthen(created, delay);
        }
        let is_before = at < self.settled && self.begins_before(at, length);
        if is_tagged {
            self.deliver_tagged(is_before, length);
        }
        if is_before {
            self.delivered_before.add(length);
            return false;
        }
        if self.last_delay != NEVER {
            self.jitter.record(delay.abs_diff(self.last_delay));
        }
        self.last_delay = delay;
        self.reordered += u64::from(created < self.last_created);
        self.last_created = self.last_created.max(created);
        self.delays.record(delay);
        true
    }

    /// A packet that has left the last port reaches the sink after the end of the simulation.
    pub(crate) fn deliver_late(&mut self, at: u64, created: u64) {
        self.late += 1;
        if at - created > self.longest.delay {
            self.lengthen(created, at - created);
        }
    }

    /// The packet that is delivered has a larger delay than those before.
    #[cold]
    fn lengthen(&mut self, created: u64, delay: u64) {
        self.longest = LongestDelay { number: self.delivered.packets + self.late, created, delay };
    }

    /// True if the first bit of a packet that is complete at `at` reached the sink before the warm-up ended.
    #[cold]
    fn begins_before(&self, at: u64, length: u32) -> bool {
        self.warm_up > 0 && at < self.warm_up + self.path.last.time_per_byte().floor(length).picoseconds()
    }

    fn deliver_tagged(&mut self, is_before: bool, length: u32) {
        self.tagged.delivered.add(length);
        if is_before {
            self.tagged_before.delivered.add(length);
        }
    }

    /// A packet is lost at a link.
    pub(crate) fn lose(&mut self, link: LinkId, length: u32, kind: LossKind) {
        self.lost.add(length);
        match self.losses.iter_mut().find(|known| (known.0, known.1) == (link, kind)) {
            Some((_, _, lost)) => lost.add(length),
            None => self.losses.push((link, kind, Volume { packets: 1, bytes: u64::from(length) })),
        }
    }

    pub(crate) fn restart(&mut self) {
        self.emitted_before = self.emitted;
        self.duplicated_before = self.duplicated[0];
        self.tagged_before.offered = self.tagged.offered;
        self.losses.clear();
    }

    /// Adds what was measured in another part of the network. At most one of the two has deliveries.
    pub(crate) fn absorb(&mut self, mut other: FlowMeter) {
        if other.delivered.packets > 0 || other.late > 0 {
            debug_assert!(self.delivered.packets == 0 && self.late == 0, "one part delivers");
            std::mem::swap(self, &mut other);
        }
        self.emitted += other.emitted;
        self.emitted_before += other.emitted_before;
        self.lost += other.lost;
        self.duplicated_before += other.duplicated_before;
        (0..2).for_each(|copies| self.duplicated[copies] += other.duplicated[copies]);
        self.tagged.offered += other.tagged.offered;
        self.tagged_before.offered += other.tagged_before.offered;
        // Losses at a link occur in one part.
        self.losses.extend(other.losses);
    }

    /// The statistics of a flow with this path; `None` if more came out than went in, which only a defect can cause.
    pub(crate) fn finish(mut self, end: u64, path: &[LinkId]) -> Option<FlowStatistics> {
        let gone = self.delivered + self.lost;
        let (all, all_tagged) = (self.emitted + self.duplicated[0], self.tagged.offered + self.duplicated[1]);
        let in_network = left(all, gone)?;
        // Neither more of what was tagged nor more of what was not.
        left(left(all, all_tagged)?, left(self.delivered, self.tagged.delivered)?)?;
        left(all_tagged, self.tagged.delivered)?;
        let tagged = Tagged {
            offered: self.tagged.offered - self.tagged_before.offered,
            delivered: self.tagged.delivered - self.tagged_before.delivered,
        };
        let place = |link: LinkId| (path.iter().position(|&other| other == link).unwrap_or(usize::MAX), link);
        let reason = |kind: LossKind| if let LossKind::AtPort(reason) = kind { reason as usize } else { usize::MAX };
        self.losses.sort_by_key(|&(link, kind, _)| (place(link), reason(kind)));
        let (mut dropped, mut lost_on_links, mut unrouted) = (Vec::new(), Vec::new(), Volume::default());
        for (link, kind, lost) in self.losses {
            match kind {
                LossKind::AtPort(reason) => dropped.push((link, reason, lost)),
                LossKind::OnLink => lost_on_links.push((link, lost)),
                LossKind::Unrouted => unrouted += lost,
            }
        }
        Some(FlowStatistics {
            offered: self.emitted - self.emitted_before,
            delivered: self.delivered - self.delivered_before,
            tagged,
            in_network,
            duplicated: self.duplicated[0] - self.duplicated_before,
            reordered: self.reordered,
            dropped,
            lost_on_links,
            unrouted,
            tcp: None,
            delays: self.delays,
            jitter: self.jitter,
            delivered_bytes: self.delivered_bytes.finish(end),
            longest: (self.longest.number > 0).then_some(self.longest),
        })
    }

    pub(crate) fn delivered(&self) -> Volume {
        self.delivered
    }

    /// The copies that links made since the start of the simulation.
    pub(crate) fn duplicated(&self) -> Volume {
        self.duplicated[0]
    }

    /// Everything delivered or lost since the start of the simulation.
    pub(crate) fn gone(&self) -> Volume {
        self.delivered + self.lost
    }
}

/// `whole - part`; `None` if that is more than the whole.
fn left(whole: Volume, part: Volume) -> Option<Volume> {
    Some(Volume { packets: whole.packets.checked_sub(part.packets)?, bytes: whole.bytes.checked_sub(part.bytes)? })
}

#[cfg(test)]
mod tests;
