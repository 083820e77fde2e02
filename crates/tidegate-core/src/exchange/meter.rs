//! What one worker reports at an exchange, gathered by an observer of its port.

use super::units::FRACTION;
use super::workers::{Above, Workers};
use crate::observer::Observer;
use crate::packet::{DropReason, Flow, Packet};
use crate::queue::Occupancy;
use crate::units::{Overhead, Rate, Time};
use alloc::vec::Vec;

/// What a worker tells of one interval, for one spanning node: of the members that are directly below it.
///
/// A backlogged member is *bounded* if its contracts allow it less than its share by weight; the others compete for the node's rate. A competing member is
/// *standing* while it has been backlogged since a packet of it was sent. A member that waits for its first turn is not standing, because it is not
/// behind the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// The bytes on the wire of all packets that were started.
    pub sent: u64,
    /// The weights of the members that are backlogged now and compete.
    pub backlogged_weight: u64,
    /// The weights of the members that are standing now.
    pub standing_weight: u64,
    /// Bytes per weight that the standing members were sent, in 2^-24.
    pub service: u64,
    /// The weights of the competing members that sent and are not backlogged now.
    pub passing_weight: u64,
    /// The bytes on the wire of competing members that were not standing.
    pub passing_bytes: u64,
    /// The weights of the members that are backlogged now and bounded.
    pub bounded_weight: u64,
    /// The rates that their contracts allow these members, in bit/s.
    pub bounded_rate: u64,
    /// The bytes on the wire of bounded members.
    pub bounded_bytes: u64,
}

impl Report {
    /// Adds a report that the same worker has made later in the same interval.
    pub fn add(&mut self, later: &Report) {
        let sums = [self.sent, self.service, self.passing_bytes, self.bounded_bytes];
        // A member that sent in both counts once.
        let passing_weight = self.passing_weight.max(later.passing_weight);
        *self = Report { passing_weight, ..*later };
        self.sent += sums[0];
        self.service += sums[1];
        self.passing_bytes += sums[2];
        self.bounded_bytes += sums[3];
    }

    /// What is known of a worker that has not reported since the exchange.
    #[must_use]
    pub fn begun(&self) -> Report {
        let Report { backlogged_weight, standing_weight, bounded_weight, bounded_rate, .. } = *self;
        Report { backlogged_weight, standing_weight, bounded_weight, bounded_rate, ..Report::default() }
    }
}

/// Observes the port of one worker.
#[derive(Clone, Debug)]
pub struct WorkerMeter {
    overhead: Overhead,
    /// By flow: its part, and the number of its packets when they were counted last.
    flows: Vec<(u32, u32)>,
    parts: Vec<Measured>,
    nodes: Vec<Node>,
    /// The number of the present interval.
    interval: u32,
    /// The link's rate in bit/s, which nothing exceeds.
    link: u64,
}

/// A part of the tree.
#[derive(Clone, Copy, Debug)]
struct Measured {
    /// The part above; [`MEMBER`] for a member.
    above: u32,
    /// The member that it is in.
    member: u32,
    /// Of a member: the spanning node above.
    node: u32,
    weight: u32,
    packets: u32,
    /// The last interval in which it sent.
    sent_in: u32,
    /// The most that it may send, in bit/s.
    most: u64,
    /// What all that is backlogged below it may send, in bit/s.
    below: u64,
    is_standing: bool,
    is_bounded: bool,
}

impl Measured {
    /// The most that it may send now, in bit/s; 0 unless it is backlogged.
    fn potential(&self) -> u64 {
        self.most.min(self.below)
    }
}

/// In place of the part above a member.
const MEMBER: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct Node {
    report: Report,
    /// 2^44 / the standing weight, rounded down.
    reciprocal: u64,
    /// The rate per weight that competing members had at the last exchange, in 2^-24 bit/s.
    level: u64,
}

impl WorkerMeter {
    /// The meter of any of these workers, on a link of this rate. The port is empty.
    ///
    /// # Panics
    /// If a number is out of range ([`Workers::check`]).
    pub fn new(overhead: Overhead, rate: Rate, workers: &Workers) -> WorkerMeter {
        let link = rate.bits_per_second();
        let mut parts: Vec<Measured> = Vec::with_capacity(workers.parts.len());
        for (number, part) in (0..).zip(&workers.parts) {
            let (above, member, node) = match part.above {
                Above::Spanning(node) => (MEMBER, number, node as u32),
                Above::Part(above) => (above as u32, parts[above].member, parts[above].node),
            };
            let most = part.most.map_or(link, |most| most.bits_per_second().min(link));
            let state = Measured {
                above,
                member,
                node,
                weight: part.weight,
                packets: 0,
                sent_in: 0,
                most,
                below: 0,
                is_standing: false,
                is_bounded: false,
            };
            parts.push(state);
        }
        assert!(workers.part_of.iter().all(|&part| (part as usize) < parts.len()), "each flow has a part");
        assert!(parts.iter().all(|part| (part.node as usize) < workers.nodes.len()), "each part is below a spanning node");
        let node = |_| Node { report: Report::default(), reciprocal: 0, level: 0 };
        WorkerMeter {
            overhead,
            flows: workers.part_of.iter().map(|&part| (part, 0)).collect(),
            parts,
            nodes: (0..workers.nodes.len()).map(node).collect(),
            interval: 1,
            link,
        }
    }

    /// The reports of the interval that ends now, one per spanning node; the next one begins.
    pub fn take_reports(&mut self) -> impl Iterator<Item = Report> {
        self.interval = self.interval.wrapping_add(1);
        self.nodes.iter_mut().map(|node| {
            let begun = node.report.begun();
            core::mem::replace(&mut node.report, begun)
        })
    }

    /// From now on members of a spanning node that may send less than this rate per weight, in 2^-24 bit/s, are bounded.
    pub fn set_level(&mut self, node: usize, level: u64) {
        self.nodes[node].level = level;
    }

    /// Takes over the number of packets in the queue of `flow`.
    #[inline]
    fn count(&mut self, flow: Flow, occupancy: &Occupancy) {
        let (index, counted) = &mut self.flows[flow.index()];
        let (index, packets) = (*index as usize, occupancy.flow_packets(flow));
        let part = &mut self.parts[index];
        let was_backlogged = part.packets > 0;
        part.packets = part.packets - *counted + packets;
        *counted = packets;
        if was_backlogged != (part.packets > 0) {
            let before = part.potential();
            part.below = if was_backlogged { part.below - self.link } else { part.below + self.link };
            self.potential_changed(index, before);
        }
    }

    /// The potential of a part is another than `before`.
    fn potential_changed(&mut self, mut index: usize, mut before: u64) {
        loop {
            let part = self.parts[index];
            let potential = part.potential();
            if potential == before {
                return;
            }
            if part.above == MEMBER {
                return self.member_changed(index, before);
            }
            index = part.above as usize;
            let above = &mut self.parts[index];
            let of_above = above.potential();
            above.below = above.below - before + potential;
            before = of_above;
        }
    }

    /// The potential of a member was `before`: it counts anew.
    fn member_changed(&mut self, index: usize, before: u64) {
        let Measured { node, weight, sent_in, is_bounded: was_bounded, .. } = self.parts[index];
        let potential = self.parts[index].potential();
        let is_bounded = potential > 0 && self.is_bounded(index);
        let (weight, has_sent) = (u64::from(weight), sent_in == self.interval);
        let report = &mut self.nodes[node as usize].report;
        match (before > 0, was_bounded) {
            (true, true) => {
                report.bounded_weight -= weight;
                report.bounded_rate -= before;
            }
            (true, false) => report.backlogged_weight -= weight,
            (false, _) => report.passing_weight = report.passing_weight.saturating_sub(if has_sent && !was_bounded { weight } else { 0 }),
        }
        match (potential > 0, is_bounded) {
            (true, true) => {
                report.bounded_weight += weight;
                report.bounded_rate += potential;
            }
            (true, false) => report.backlogged_weight += weight,
            (false, _) => report.passing_weight += if has_sent && !was_bounded { weight } else { 0 },
        }
        if potential == 0 || is_bounded {
            self.set_standing(index, false);
        }
        if potential > 0 {
            self.parts[index].is_bounded = is_bounded;
        }
    }

    /// True if a member's contracts allow it less than its share.
    fn is_bounded(&self, index: usize) -> bool {
        let member = &self.parts[index];
        let share = (u128::from(self.nodes[member.node as usize].level) * u128::from(member.weight)) >> FRACTION;
        u128::from(member.potential()) < share.min(u128::from(self.link))
    }

    fn set_standing(&mut self, index: usize, is_standing: bool) {
        let member = &mut self.parts[index];
        if member.is_standing == is_standing {
            return;
        }
        member.is_standing = is_standing;
        let node = &mut self.nodes[member.node as usize];
        let (weight, sum) = (u64::from(member.weight), &mut node.report.standing_weight);
        *sum = if is_standing { *sum + weight } else { *sum - weight };
        node.reciprocal = (1 << RECIPROCAL) / (*sum).max(1);
    }
}

/// Fraction bits of the reciprocal of a weight.
const RECIPROCAL: u32 = 44;

impl<P> Observer<P> for WorkerMeter {
    #[inline]
    fn queued(&mut self, _now: Time, packet: &Packet<()>, occupancy: &Occupancy) {
        self.count(packet.flow, occupancy);
    }

    #[inline]
    fn dropped(&mut self, _now: Time, packet: Packet<P>, _reason: DropReason, occupancy: &Occupancy) {
        self.count(packet.flow, occupancy);
    }

    #[inline]
    fn sent(&mut self, _now: Time, packet: &Packet<P>, _finish: Time, occupancy: &Occupancy) {
        let wire = u64::from(self.overhead.wire_length(packet.length));
        let index = self.parts[self.flows[packet.flow.index()].0 as usize].member as usize;
        // The member is backlogged until this packet is counted out.
        if self.is_bounded(index) != self.parts[index].is_bounded {
            let potential = self.parts[index].potential();
            self.member_changed(index, potential);
        }
        let member = &mut self.parts[index];
        member.sent_in = self.interval;
        let (is_standing, is_bounded) = (member.is_standing, member.is_bounded);
        let node = &mut self.nodes[member.node as usize];
        node.report.sent += wire;
        if is_bounded {
            node.report.bounded_bytes += wire;
        } else if is_standing {
            let service = (u128::from(wire) * u128::from(node.reciprocal)) >> (RECIPROCAL - FRACTION);
            node.report.service += service as u64;
        } else {
            node.report.passing_bytes += wire;
            self.set_standing(index, true);
        }
        self.count(packet.flow, occupancy);
    }
}
