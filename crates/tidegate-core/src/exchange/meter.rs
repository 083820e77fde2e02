//! What one worker reports at an exchange, gathered by an observer of its port.

use crate::observer::Observer;
use crate::packet::{DropReason, Flow, Packet};
use crate::queue::Occupancy;
use crate::units::{Overhead, Time};
use alloc::vec::Vec;

/// What a worker tells of one interval. A member is *standing* while it has been backlogged since a packet of it was sent. A member that waits for its
/// first turn is not standing, because it is not behind the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// The bytes on the wire of all packets that were started.
    pub sent: u64,
    /// The weights of the members that are backlogged now.
    pub backlogged_weight: u64,
    /// The weights of the members that are standing now.
    pub standing_weight: u64,
    /// Bytes per weight that the standing members were sent, in 2^-24.
    pub service: u64,
    /// The weights of the members that sent and are not backlogged now.
    pub passing_weight: u64,
    /// The bytes on the wire of members that were not standing.
    pub passing_bytes: u64,
}

/// Observes the port of one worker.
#[derive(Clone, Debug)]
pub struct WorkerMeter {
    overhead: Overhead,
    /// By flow: its member, and the number of its packets when they were counted last.
    flows: Vec<(u32, u32)>,
    members: Vec<Member>,
    /// The number of the present interval.
    interval: u64,
    /// 2^44 / the standing weight, rounded down.
    reciprocal: u64,
    report: Report,
}

#[derive(Clone, Copy, Debug)]
struct Member {
    weight: u32,
    packets: u32,
    is_standing: bool,
    /// The last interval in which it sent.
    sent_in: u64,
}

impl WorkerMeter {
    /// `members` holds the member of each flow, and `weights` the weight of each member, at least 1. The port is empty.
    ///
    /// # Panics
    /// If a flow names a member that has no weight.
    pub fn new(overhead: Overhead, members: &[u32], weights: &[u32]) -> WorkerMeter {
        assert!(members.iter().all(|&member| (member as usize) < weights.len()), "each member has a weight");
        let member = |&weight| Member { weight, packets: 0, is_standing: false, sent_in: 0 };
        WorkerMeter {
            overhead,
            flows: members.iter().map(|&member| (member, 0)).collect(),
            members: weights.iter().map(member).collect(),
            interval: 1,
            reciprocal: 0,
            report: Report::default(),
        }
    }

    /// The report of the interval that ends now; the next one begins.
    pub fn take_report(&mut self) -> Report {
        self.interval += 1;
        let Report { backlogged_weight, standing_weight, .. } = self.report;
        core::mem::replace(&mut self.report, Report { backlogged_weight, standing_weight, ..Report::default() })
    }

    /// Takes over the number of packets in the queue of `flow`.
    #[inline]
    fn count(&mut self, flow: Flow, occupancy: &Occupancy) {
        let (index, counted) = &mut self.flows[flow.index()];
        let (index, packets) = (*index as usize, occupancy.flow_packets(flow));
        let member = &mut self.members[index];
        let was_backlogged = member.packets > 0;
        member.packets = member.packets - *counted + packets;
        *counted = packets;
        let (is_backlogged, weight, has_sent) = (member.packets > 0, u64::from(member.weight), member.sent_in == self.interval);
        if was_backlogged == is_backlogged {
            return;
        }
        let report = &mut self.report;
        if is_backlogged {
            report.backlogged_weight += weight;
            report.passing_weight -= if has_sent { weight } else { 0 };
        } else {
            report.backlogged_weight -= weight;
            report.passing_weight += if has_sent { weight } else { 0 };
            self.set_standing(index, false);
        }
    }

    fn set_standing(&mut self, member: usize, is_standing: bool) {
        let member = &mut self.members[member];
        if member.is_standing == is_standing {
            return;
        }
        member.is_standing = is_standing;
        let (weight, sum) = (u64::from(member.weight), &mut self.report.standing_weight);
        *sum = if is_standing { *sum + weight } else { *sum - weight };
        self.reciprocal = (1 << RECIPROCAL) / (*sum).max(1);
    }
}

/// Fraction bits of service per weight.
pub(super) const FRACTION: u32 = 24;

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
        let index = self.flows[packet.flow.index()].0 as usize;
        // The member is backlogged until this packet is counted out.
        let member = &mut self.members[index];
        member.sent_in = self.interval;
        self.report.sent += wire;
        if member.is_standing {
            let service = (u128::from(wire) * u128::from(self.reciprocal)) >> (RECIPROCAL - FRACTION);
            self.report.service += service as u64;
        } else {
            self.report.passing_bytes += wire;
            self.set_standing(index, true);
        }
        self.count(packet.flow, occupancy);
    }
}
