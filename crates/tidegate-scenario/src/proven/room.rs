//! Whether the packets of a class always find room at its port: the bounds on backlogs beside the limits of buffers.

use super::{Judge, Place, Shortfall};
use crate::guarantee::UNPROVEN_WITH_WORKERS;
use crate::policy::Class;
use crate::proof::{ProvenQueue, SEVERAL_PATHS, of_policer};
use crate::rates::unproven;
use crate::units::{Limit, print_count, print_limit, print_size};
use tidegate_core::registry::BufferKind;
use tidegate_sim::source::Poisson;
use tidegate_sim::{LengthDistribution, Source};

/// The least a packet has whose source does not say: an IP header and one of TCP.
const SHORTEST_UNKNOWN: u32 = 40;

impl Judge<'_> {
    /// Succeeds if no packet of the class is dropped at the port.
    pub(super) fn room(&self, place: Place) -> Result<String, Shortfall> {
        if let Some(known) = self.rooms.borrow().get(&place) {
            return known.clone();
        }
        let found = self.finds_room(place);
        self.rooms.borrow_mut().insert(place, found.clone());
        found
    }

    fn finds_room(&self, place: Place) -> Result<String, Shortfall> {
        let link = &self.simulation.network.links[place.link.0];
        let policy = &self.variant.policies[self.simulation.policy_of_link[place.link.0]];
        let class = &policy.classes[place.class];
        let because = |reason: String| Shortfall::because(Some(link.name.clone()), reason);
        if !self.variant.changes.is_empty() {
            return Err(because("the file changes policies while it runs, and room is proven for one policy only".to_owned()));
        }
        if !self.simulation.network.failures.is_empty() || !self.simulation.network.reroutes.is_empty() {
            return Err(because(SEVERAL_PATHS.to_owned()));
        }
        if link.cells || link.adapter.is_some() {
            return Err(because("the buffers of a port that sends cells count cells, and no room is proven in them".to_owned()));
        }
        if policy.workers.is_some() {
            return Err(because(UNPROVEN_WITH_WORKERS.to_owned()));
        }
        let network = &self.simulation.network;
        if !network.pauses.is_empty() && network.pausable()[place.link.0] {
            return Err(because("pauses stop it, or ports before it: `tidegate check` tells of the room that they need".to_owned()));
        }
        if let Some(rates) = &link.impairment.rates {
            return Err(because(unproven(rates)));
        }
        if class.police.as_ref().is_some_and(|police| of_policer(police).is_some()) {
            return Err(because(format!("the policer of class `{}` may discard", class.name)));
        }
        if let Some(aqm) = &class.aqm {
            return Err(because(format!(
                "the AQM of class `{}`, {}, may drop packets to tell their senders of congestion",
                class.name,
                aqm.kind.name()
            )));
        }
        if class.parameters.service.is_some_and(|request| request.droppable) {
            return Err(because(format!("class `{}` drops late packets", class.name)));
        }
        let shares = |other: &Class| other.partition == class.partition;
        let members: Vec<usize> = (0..policy.classes.len()).filter(|&other| shares(&policy.classes[other])).collect();
        let buffer = class.partition.map_or(&policy.buffer, |part| &policy.partitions[part].buffer);
        if !keeps_what_fits(buffer.kind) {
            return Err(because(format!("`{}` may refuse packets before the buffer is full", buffer.kind.name())));
        }
        let parts: u32 = policy.partitions.iter().map(|part| part.packets).sum();
        let most = class.partition.map_or(policy.packet_limit.saturating_sub(parts), |part| policy.partitions[part].packets);
        let shortest = self.shortest(place);
        let mut total = 0;
        let mut missing = None;
        let counts = |queue: &&ProvenQueue| queue.link == place.link && (members.contains(&queue.class) || self.merges(place.link));
        for queue in self.proof.queues.iter().filter(counts) {
            match self.bytes(queue) {
                Ok(bytes) => total += bytes,
                Err(reason) => missing = missing.or(Some((queue.class, reason))),
            }
        }
        let own = self.queues(place);
        if own.is_empty() && self.is_used(place) {
            return Err(because("no bound is computed for its queues".to_owned()));
        }
        let own = own.into_iter().map(|queue| self.bytes(queue)).collect::<Result<Vec<u64>, String>>().map_err(because)?;
        let fits = missing.is_none() && holds(buffer.limit, total, shortest) && total / u64::from(shortest) <= u64::from(most);
        let queues: u64 = members.iter().map(|&member| u64::from(policy.classes[member].queues)).sum();
        let longest = u64::from(policy.longest_frame);
        // With push-out of the longest queue, a queue within an equal part of the buffer never gives way to others.
        let is_protected = match (buffer.kind, buffer.limit) {
            (BufferKind::LongestQueuePushOut, Limit::Bytes(size)) => {
                own.iter().all(|&bytes| bytes + longest <= size / queues.max(1)) && size / u64::from(shortest) <= u64::from(most)
            }
            _ => false,
        };
        if !fits && !is_protected {
            if let Some((class, reason)) = missing {
                let name = &policy.classes[class].name;
                return Err(because(format!("class `{name}` may fill the buffer: {reason}")));
            }
            let (packets, count) = (total / u64::from(shortest), matches!(buffer.limit, Limit::Packets(_)));
            let is_count = count || holds(buffer.limit, total, shortest);
            let has = if is_count && !count { print_count(most.into()) } else { print_limit(buffer.limit) };
            let needs = if is_count { print_count(packets) } else { print_size(total) };
            return Err(short(link.name.clone(), has, needs, buffer.limit, total, shortest));
        }
        if let Some(limit) = class.limit
            && let Some(&needed) = own.iter().find(|&&bytes| !holds(limit, bytes, shortest))
        {
            let needs = if matches!(limit, Limit::Packets(_)) { print_count(needed / u64::from(shortest)) } else { print_size(needed) };
            return Err(short(link.name.clone(), print_limit(limit), needs, limit, needed, shortest));
        }
        Ok("no packet is lost".to_owned())
    }

    /// The bytes that a queue may hold, on the wire: not less than those of its frames.
    fn bytes(&self, queue: &ProvenQueue) -> Result<u64, String> {
        if queue.is_limited {
            return Err(self.full(Place { link: queue.link, class: queue.class }));
        }
        queue.backlog.as_ref().map(|bits| bits.div_ceil(8)).map_err(String::clone)
    }

    /// The fewest bytes that a packet of any flow takes on the link.
    fn shortest(&self, place: Place) -> u32 {
        let overhead = self.simulation.network.links[place.link.0].overhead();
        let flows = self.simulation.network.flows.iter().filter(|flow| flow.path.contains(&place.link));
        let shortest = |source: &Source| match source {
            Source::Poisson(Poisson { length: LengthDistribution::Exponential { .. }, .. }) => 1,
            source => source.lengths().iter().map(|(length, _)| length.floor() as u32).min().unwrap_or(SHORTEST_UNKNOWN),
        };
        let least = flows.map(|flow| shortest(&flow.source)).min().unwrap_or(SHORTEST_UNKNOWN);
        overhead.wire_length(least.max(1)).max(1)
    }
}

/// True if this many bytes, in packets of at least `shortest`, are within the limit.
fn holds(limit: Limit, bytes: u64, shortest: u32) -> bool {
    match limit {
        Limit::Bytes(size) => bytes <= size,
        Limit::Packets(packets) => bytes / u64::from(shortest) <= packets,
    }
}

fn short(port: String, has: String, needs: String, limit: Limit, bytes: u64, shortest: u32) -> Shortfall {
    let excess = match limit {
        Limit::Bytes(size) => bytes as f64 / size.max(1) as f64 - 1.0,
        Limit::Packets(packets) => (bytes / u64::from(shortest)) as f64 / packets.max(1) as f64 - 1.0,
    };
    Shortfall { port: Some(port), constraint: "buffer", has: Some(has), needs: Some(needs), reason: None, excess: excess.max(1e-9) }
}

/// True if a packet that fits into the buffer is accepted.
const fn keeps_what_fits(kind: BufferKind) -> bool {
    use BufferKind::{LongestQueuePushOut, SelectivePushout, SelectivePushoutPlus, TailDrop};
    matches!(kind, TailDrop | LongestQueuePushOut | SelectivePushout | SelectivePushoutPlus)
}
