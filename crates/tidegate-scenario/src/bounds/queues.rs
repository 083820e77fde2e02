//! Prints what is proven of queues, and whether the buffers that hold them may overflow.

use super::proven::{Proven, whole};
use super::rows::write_rows;
use crate::partition::Buffer;
use crate::policy::Class;
use crate::proof::ProvenQueue;
use crate::units::{Limit, print_count, print_data, print_limit, print_time};
use serde_json::{Value, json};
use std::collections::HashMap;
use tidegate_core::registry::BufferKind;
use tidegate_sim::LinkId;
use tidegate_sim::source::{LengthDistribution, Poisson, Source};

/// What a queue or a buffer may hold at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Need {
    bytes: u64,
    packets: u64,
}

/// A buffer beside what its queues need.
struct Room {
    /// The index of its link.
    link: usize,
    /// Like "shared", "class `voice`" or "partition `voice`".
    name: String,
    buffer: Buffer,
    /// The most packets that it holds, besides its limit.
    packets: u64,
    /// The most that its queues hold, or the classes without a bound.
    need: Result<Need, String>,
}

impl Room {
    fn may_overflow(&self) -> bool {
        match (&self.need, self.buffer.limit) {
            (Err(_), _) => true,
            (Ok(need), Limit::Bytes(bytes)) => need.bytes > bytes || need.packets > self.packets,
            (Ok(need), Limit::Packets(packets)) => need.packets > packets.min(self.packets),
        }
    }

    fn in_words(&self) -> String {
        let early =
            if drops_early(self.buffer.kind) { format!("; {} may drop before it is full", self.buffer.kind.name()) } else { String::new() };
        let need = match (&self.need, self.buffer.limit) {
            (Err(reason), _) => return format!("may overflow: {reason}{early}"),
            (Ok(need), Limit::Bytes(bytes)) if need.bytes > bytes || need.packets <= self.packets => {
                print_data(need.bytes.saturating_mul(8))
            }
            (Ok(need), _) => print_count(need.packets),
        };
        let verdict = if self.may_overflow() { "may overflow" } else { "never overflows" };
        format!("{verdict}: holds at most {need}{early}")
    }
}

/// True for managers that refuse or push out packets while there is room for them.
fn drops_early(kind: BufferKind) -> bool {
    match kind {
        BufferKind::TailDrop | BufferKind::LongestQueuePushOut => false,
        BufferKind::SelectivePushout | BufferKind::SelectivePushoutPlus | BufferKind::PartialPacketDiscard => false,
        BufferKind::DynamicThreshold | BufferKind::EarlyPacketDiscard | BufferKind::TagSensitive => true,
        BufferKind::SelectiveDrop | BufferKind::FairBufferAllocation | BufferKind::WeightedBufferAllocation => true,
    }
}

/// Whether a packet of a queue may find no room.
pub(super) enum Overflow {
    /// Nothing is known of the buffer, as at ATM ports.
    Unknown,
    /// Neither the limit of the queue nor the buffer is ever exceeded.
    Never {
        /// The manager, if it may drop earlier.
        but: Option<&'static str>,
    },
    /// The limit of the queue may be exceeded.
    Limit,
    /// The buffer may be exceeded.
    Buffer,
}

impl Overflow {
    /// For each queue of the proof.
    pub fn of(proven: &Proven<'_>) -> Vec<Overflow> {
        let (rooms, index_of) = rooms(proven);
        let shortest = shortest_packets(proven);
        let judge = |queue: &ProvenQueue| {
            let class = proven.class(queue);
            let buffer = index_of.get(&(queue.link.0, class.partition)).map(|&index| &rooms[index]);
            match (buffer, limit_holds(queue, class, shortest[queue.link.0])) {
                (None, _) => Overflow::Unknown,
                (Some(_), Some(false)) => Overflow::Limit,
                (Some(room), _) if room.may_overflow() => Overflow::Buffer,
                (Some(room), _) => Overflow::Never { but: drops_early(room.buffer.kind).then(|| room.buffer.kind.name()) },
            }
        };
        proven.proof.queues.iter().map(judge).collect()
    }

    pub fn in_words(&self) -> String {
        match self {
            Overflow::Unknown => "-".to_owned(),
            Overflow::Never { but: None } => "never overflows".to_owned(),
            Overflow::Never { but: Some(manager) } => format!("never overflows; {manager} may drop before"),
            Overflow::Limit => "its limit may be exceeded".to_owned(),
            Overflow::Buffer => "may overflow".to_owned(),
        }
    }
}

/// For each link, the least bits of a packet on its wire.
fn shortest_packets(proven: &Proven<'_>) -> Vec<u64> {
    let network = &proven.simulation.network;
    let mut shortest: Vec<Option<u32>> = vec![None; network.links.len()];
    let mut has_tcp = false;
    for flow in &network.flows {
        has_tcp |= matches!(flow.source, Source::Tcp(_));
        let is_open = matches!(&flow.source, Source::Poisson(Poisson { length: LengthDistribution::Exponential { .. }, .. }));
        let least = flow.source.lengths().iter().map(|length| length.0).fold(f64::INFINITY, f64::min);
        // Exponential lengths, and those that the network decides, may be one byte.
        let least = if is_open || !least.is_finite() { 1 } else { (least as u32).max(1) };
        for link in &flow.path {
            let shortest = &mut shortest[link.0];
            *shortest = Some(shortest.map_or(least, |shortest| shortest.min(least)));
        }
    }
    let bits = |(link, shortest): (&tidegate_sim::Link, Option<u32>)| {
        // Acknowledgements take paths of their own.
        let frame = if has_tcp { 1 } else { shortest.unwrap_or(1) };
        u64::from(link.overhead().wire_length(frame)) * 8
    };
    network.links.iter().zip(shortest).map(bits).collect()
}

/// The most that a queue holds: what is proven, or its limit.
fn need(queue: &ProvenQueue, class: &Class, longest: u32, shortest: u64) -> Option<Need> {
    let proven = queue.backlog.as_ref().ok().map(|&bits| Need { bytes: bits.div_ceil(8), packets: bits.div_ceil(shortest.max(1)) });
    let limited = class.limit.map(|limit| match limit {
        Limit::Bytes(bytes) => Need { bytes, packets: bytes },
        Limit::Packets(packets) => Need { bytes: packets.saturating_mul(longest.into()), packets },
    });
    match (proven, limited) {
        (Some(proven), Some(limited)) => {
            Some(Need { bytes: proven.bytes.min(limited.bytes), packets: proven.packets.min(limited.packets) })
        }
        (proven, limited) => proven.or(limited),
    }
}

/// Whether what is proven of the queue fits its own limit; `None` without a limit.
fn limit_holds(queue: &ProvenQueue, class: &Class, shortest: u64) -> Option<bool> {
    let limit = class.limit?;
    Some(queue.backlog.as_ref().is_ok_and(|&bits| match limit {
        Limit::Bytes(bytes) => bits.div_ceil(8) <= bytes,
        Limit::Packets(packets) => bits.div_ceil(shortest.max(1)) <= packets,
    }))
}

/// The buffers that queues of the proof use, and the index of each by link and partition.
fn rooms(proven: &Proven<'_>) -> (Vec<Room>, HashMap<(usize, Option<usize>), usize>) {
    let shortest = shortest_packets(proven);
    let (mut rooms, mut index_of) = (Vec::new(), HashMap::new());
    for queue in &proven.proof.queues {
        let (link, class, policy) = (queue.link.0, proven.class(queue), proven.policy(queue.link));
        // At ATM ports, buffers count cells.
        let spec = &proven.simulation.network.links[link];
        if spec.cells || spec.adapter.is_some() {
            continue;
        }
        let at = *index_of.entry((link, class.partition)).or_insert_with(|| {
            let (name, buffer, packets) = match class.partition.map(|partition| &policy.partitions[partition]) {
                Some(partition) => (partition.name.clone(), partition.buffer, partition.packets),
                None => {
                    let taken: u32 = policy.partitions.iter().map(|partition| partition.packets).sum();
                    ("shared".to_owned(), policy.buffer, policy.packet_limit - taken)
                }
            };
            let need = Ok(Need { bytes: 0, packets: 0 });
            rooms.push(Room { link, name, buffer, packets: packets.into(), need });
            rooms.len() - 1
        });
        let room: &mut Room = &mut rooms[at];
        room.need = match (&room.need, need(queue, class, policy.longest_frame, shortest[link])) {
            (Ok(sum), Some(more)) => {
                Ok(Need { bytes: sum.bytes.saturating_add(more.bytes), packets: sum.packets.saturating_add(more.packets) })
            }
            (Ok(_), None) => Err(format!("nothing limits class `{}`", class.name)),
            (Err(reason), _) => Err(reason.clone()),
        };
    }
    (rooms, index_of)
}

/// The tables of queues and buffers.
pub(super) fn write_queues(text: &mut String, proven: &Proven<'_>) {
    let queues = &proven.proof.queues;
    if queues.is_empty() {
        return;
    }
    let shortest = shortest_packets(proven);
    let mut rows: Vec<(Vec<String>, u32)> = Vec::new();
    for queue in queues {
        let class = proven.class(queue);
        let limit = match (class.limit, limit_holds(queue, class, shortest[queue.link.0])) {
            (Some(limit), Some(true)) => format!("{}: never exceeded", print_limit(limit)),
            (Some(limit), _) => format!("{}: may be exceeded", print_limit(limit)),
            (None, _) => String::new(),
        };
        let figures = match (&queue.delay, &queue.backlog) {
            (Err(reason), Err(_)) => vec![format!("no bound: {reason}")],
            (delay, backlog) => {
                let delay = delay.as_ref().map_or_else(|_| "no bound".to_owned(), |&delay| print_time(whole(delay).into()));
                let backlog = backlog.as_ref().map_or_else(|_| "no bound".to_owned(), |&bits| print_data(bits));
                vec![delay, backlog, limit]
            }
        };
        let place = [proven.link(queue.link).to_owned(), class.name.clone()];
        let cells: Vec<String> = place.into_iter().chain([proven.place(queue)]).chain(figures).collect();
        // Queues of a class that are alike share a row.
        match rows.last_mut() {
            Some((last, count)) if last[..2] == cells[..2] && last[3..] == cells[3..] => *count += 1,
            _ => rows.push((cells, 1)),
        }
    }
    let heads = ["link", "class", "delay at most", "holds at most", "limit"].map(str::to_owned).to_vec();
    let detail = proven.question.detail;
    let shown = rows.iter().take(detail.of(rows.len())).map(|(cells, count)| {
        let class = if *count == 1 { cells[2].clone() } else { format!("{}, {count} queues", cells[1]) };
        [cells[0].clone(), class].into_iter().chain(cells[3..].iter().cloned()).collect()
    });
    text.push_str("\nqueues\n");
    write_rows(text, &std::iter::once(heads).chain(shown).collect::<Vec<_>>());
    *text += &detail.rest(rows.len(), "rows");

    let (rooms, _) = rooms(proven);
    let heads = ["link", "buffer", "size", ""].map(str::to_owned).to_vec();
    let shown = rooms[..detail.of(rooms.len())].iter().map(|room| {
        let link = proven.simulation.network.links[room.link].name.clone();
        vec![link, room.name.clone(), print_limit(room.buffer.limit), room.in_words()]
    });
    if !rooms.is_empty() {
        text.push_str("\nbuffers\n");
        write_rows(text, &std::iter::once(heads).chain(shown).collect::<Vec<_>>());
        *text += &detail.rest(rooms.len(), "buffers");
    }
}

/// The queues that are asked for as JSON.
pub(super) fn queues_json(proven: &Proven<'_>) -> Vec<Value> {
    let shortest = shortest_packets(proven);
    let json = |queue: &ProvenQueue| {
        let class = proven.class(queue);
        json!({
            "link": proven.link(queue.link),
            "class": class.name,
            "queue": queue.queue + 1,
            "delay_ps": queue.delay.as_ref().ok().map(|&delay| whole(delay)),
            "no_delay_because": queue.delay.as_ref().err(),
            "backlog_bits": queue.backlog.as_ref().ok(),
            "no_backlog_because": queue.backlog.as_ref().err(),
            "limit": class.limit.map(limit_json),
            "limit_may_be_exceeded": limit_holds(queue, class, shortest[queue.link.0]).map(|holds| !holds),
        })
    };
    let queues = &proven.proof.queues;
    match proven.asked_queues() {
        Some(asked) => asked.into_iter().map(|queue| json(&queues[queue])).collect(),
        None => queues.iter().map(json).collect(),
    }
}

fn limit_json(limit: Limit) -> Value {
    match limit {
        Limit::Bytes(bytes) => json!({ "bytes": bytes }),
        Limit::Packets(packets) => json!({ "packets": packets }),
    }
}

/// The buffers as JSON.
pub(super) fn buffers_json(proven: &Proven<'_>) -> Vec<Value> {
    let json = |room: Room| {
        let need = room.need.as_ref().ok();
        json!({
            "link": proven.simulation.network.links[room.link].name,
            "buffer": room.name,
            "manager": room.buffer.kind.name(),
            "limit": limit_json(room.buffer.limit),
            "packet_limit": room.packets,
            "holds_at_most_bytes": need.map(|need| need.bytes),
            "holds_at_most_packets": need.map(|need| need.packets),
            "may_overflow": room.may_overflow(),
            "because": room.need.as_ref().err(),
            "may_drop_before": drops_early(room.buffer.kind),
        })
    };
    let links = proven.asked_links();
    let is_asked = |room: &Room| links.as_ref().is_none_or(|links| links.contains(proven.link(LinkId(room.link))));
    rooms(proven).0.into_iter().filter(is_asked).map(json).collect()
}
