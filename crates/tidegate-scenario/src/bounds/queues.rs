//! Prints what is proven of queues, and whether the buffers that hold them may overflow.

use super::proven::{Proven, is_one_of_several, whole};
use super::rows::write_rows;
use crate::partition::Buffer;
use crate::proof::ProvenQueue;
use crate::units::{Limit, print_count, print_data, print_limit, print_time};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fmt::Write;
use tidegate_core::registry::BufferKind;
use tidegate_sim::LinkId;
use tidegate_sim::source::{LengthDistribution, Poisson, Source};

/// What a queue or a buffer may hold at most.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Need {
    bytes: u64,
    packets: u64,
}

impl Need {
    fn and(self, other: Need) -> Need {
        Need { bytes: self.bytes.saturating_add(other.bytes), packets: self.packets.saturating_add(other.packets) }
    }
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
    use BufferKind::{LongestQueuePushOut, PartialPacketDiscard, SelectivePushout, SelectivePushoutPlus, TailDrop};
    !matches!(kind, TailDrop | LongestQueuePushOut | SelectivePushout | SelectivePushoutPlus | PartialPacketDiscard)
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
            let places = partitions(proven, queue).into_iter();
            let buffers: Option<Vec<&Room>> =
                places.map(|partition| index_of.get(&(queue.link.0, partition)).map(|&index| &rooms[index])).collect();
            let Some(buffers) = buffers else { return Overflow::Unknown };
            if limit_holds(proven, queue, shortest[queue.link.0]) == Some(false) {
                Overflow::Limit
            } else if buffers.iter().any(|room| room.may_overflow()) {
                Overflow::Buffer
            } else {
                let early = buffers.iter().map(|room| room.buffer.kind).find(|&kind| drops_early(kind));
                let aqm = proven.policy(queue.link).classes[queue.class].aqm.as_ref().map(|aqm| aqm.kind.name());
                Overflow::Never { but: aqm.or(early.map(BufferKind::name)) }
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

/// The most that a queue holds: what is proven, or the limits of its classes. `None` if nothing but its buffer limits it.
fn need(proven: &Proven<'_>, queue: &ProvenQueue, shortest: u64) -> Option<Need> {
    let longest = u64::from(proven.policy(queue.link).longest_frame);
    let bits = queue.backlog.as_ref().ok().filter(|_| !queue.is_limited);
    let known = bits.map(|&bits| Need { bytes: bits.div_ceil(8), packets: bits.div_ceil(shortest.max(1)) });
    let limited = proven.classes(queue).into_iter().try_fold(Need::default(), |sum, class| {
        let queues = if is_one_of_several(class) { 1 } else { u64::from(class.queues) };
        let each = match class.limit? {
            Limit::Bytes(bytes) => Need { bytes, packets: bytes },
            Limit::Packets(packets) => Need { bytes: packets.saturating_mul(longest), packets },
        };
        Some(sum.and(Need { bytes: each.bytes.saturating_mul(queues), packets: each.packets.saturating_mul(queues) }))
    });
    match (known, limited) {
        (Some(known), Some(limited)) => Some(Need { bytes: known.bytes.min(limited.bytes), packets: known.packets.min(limited.packets) }),
        (known, limited) => known.or(limited),
    }
}

/// Whether what is proven of the queue fits the limits of its classes; `None` if they have none.
fn limit_holds(proven: &Proven<'_>, queue: &ProvenQueue, shortest: u64) -> Option<bool> {
    let limits: Vec<Limit> = proven.classes(queue).into_iter().filter_map(|class| class.limit).collect();
    let fits = |bits: u64| {
        limits.iter().all(|limit| match *limit {
            Limit::Bytes(bytes) => bits.div_ceil(8) <= bytes,
            Limit::Packets(packets) => bits.div_ceil(shortest.max(1)) <= packets,
        })
    };
    (!limits.is_empty()).then(|| !queue.is_limited && queue.backlog.as_ref().is_ok_and(|&bits| fits(bits)))
}

/// The buffers that hold packets of a queue, by partition.
fn partitions(proven: &Proven<'_>, queue: &ProvenQueue) -> Vec<Option<usize>> {
    let mut partitions: Vec<Option<usize>> = proven.classes(queue).into_iter().map(|class| class.partition).collect();
    partitions.sort_unstable();
    partitions.dedup();
    partitions
}

/// The index of each buffer by link and partition.
type Places = HashMap<(usize, Option<usize>), usize>;

/// The buffers that queues of the proof use, and the index of each by link and partition.
fn rooms(proven: &Proven<'_>) -> (Vec<Room>, Places) {
    let shortest = shortest_packets(proven);
    let (mut rooms, mut index_of) = (Vec::new(), Places::new());
    for queue in &proven.proof.queues {
        let (link, policy) = (queue.link.0, proven.policy(queue.link));
        // At ATM ports, buffers count cells.
        let spec = &proven.simulation.network.links[link];
        if spec.cells || spec.adapter.is_some() {
            continue;
        }
        for place in partitions(proven, queue) {
            let at = *index_of.entry((link, place)).or_insert_with(|| {
                let (name, buffer, packets) = match place.map(|partition| &policy.partitions[partition]) {
                    Some(partition) => (partition.name.clone(), partition.buffer, partition.packets),
                    None => {
                        let taken: u32 = policy.partitions.iter().map(|partition| partition.packets).sum();
                        ("shared".to_owned(), policy.buffer, policy.packet_limit - taken)
                    }
                };
                rooms.push(Room { link, name, buffer, packets: packets.into(), need: Ok(Need::default()) });
                rooms.len() - 1
            });
            let room: &mut Room = &mut rooms[at];
            room.need = match (&room.need, need(proven, queue, shortest[link])) {
                (Ok(sum), Some(more)) => Ok(sum.and(more)),
                (Ok(_), None) if queue.is_limited => Err(format!("nothing else limits class `{}`", proven.class(queue).name)),
                (Ok(_), None) => Err(format!("no bound is known for class `{}`", proven.class(queue).name)),
                (Err(reason), _) => Err(reason.clone()),
            };
        }
    }
    (rooms, index_of)
}

/// Queues of a class of which the same is printed.
struct Row<'p> {
    /// The first of them.
    queue: &'p ProvenQueue,
    count: u32,
    figures: Vec<String>,
    /// The flow because of which nothing is proven.
    flow: Option<&'p str>,
}

/// The tables of queues and buffers.
pub(super) fn write_queues(text: &mut String, proven: &Proven<'_>) {
    let queues = &proven.proof.queues;
    if queues.is_empty() {
        return;
    }
    let shortest = shortest_packets(proven);
    let mut rows: Vec<Row<'_>> = Vec::new();
    for queue in queues {
        let limit = match (proven.class(queue).limit, limit_holds(proven, queue, shortest[queue.link.0])) {
            (Some(limit), Some(true)) => format!("{}: never exceeded", print_limit(limit)),
            (Some(limit), _) => format!("{}: may be exceeded", print_limit(limit)),
            (None, _) => String::new(),
        };
        let (figures, flow) = match (&queue.delay, &queue.backlog) {
            (Err(reason), Err(_)) => {
                let (cause, flow) = proven.cause(queue, reason);
                (vec![format!("no bound: {cause}")], flow)
            }
            (delay, backlog) => {
                let by_buffer = if queue.is_limited { " (buffer)" } else { "" };
                let delay = delay.as_ref().map_or_else(|_| "no bound".to_owned(), |&delay| print_time(whole(delay).into()) + by_buffer);
                let backlog = backlog.as_ref().map_or_else(|_| "no bound".to_owned(), |&bits| print_data(bits));
                (vec![delay, backlog, limit], None)
            }
        };
        // Queues of a class that are alike share a row.
        match rows.last_mut() {
            Some(last) if last.queue.link == queue.link && last.queue.class == queue.class && last.figures == figures => last.count += 1,
            _ => rows.push(Row { queue, count: 1, figures, flow }),
        }
    }
    let heads = ["link", "class", "delay at most", "holds at most", "limit"].map(str::to_owned).to_vec();
    let detail = proven.question.detail;
    let shown = rows.iter().take(detail.of(rows.len())).map(|Row { queue, count, figures, flow }| {
        let (one, name) = (*count == 1, &proven.class(queue).name);
        let class = if one { proven.place(queue) } else { format!("{name}, {count} queues") };
        let mut cells = vec![proven.link(queue.link).to_owned(), class];
        cells.extend(figures.iter().cloned());
        if let (Some(flow), Some(last)) = (flow, cells.last_mut()) {
            let _infallible = write!(last, " (`{flow}`{})", if one { "" } else { " and others" });
        }
        cells
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
            "classes": proven.classes(queue).into_iter().map(|class| class.name.as_str()).collect::<Vec<_>>(),
            "queue": queue.queue + 1,
            "delay_ps": queue.delay.as_ref().ok().map(|&delay| whole(delay)),
            "no_delay_because": queue.delay.as_ref().err(),
            "backlog_bits": queue.backlog.as_ref().ok(),
            "no_backlog_because": queue.backlog.as_ref().err(),
            "limit": class.limit.map(limit_json),
            "limit_may_be_exceeded": limit_holds(proven, queue, shortest[queue.link.0]).map(|holds| !holds),
            "is_by_buffer": queue.is_limited,
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
