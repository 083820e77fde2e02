//! Cost of a buffer's decisions, with the queues: packets of random flows, two per flow queued.
//!
//! | name | what a packet does |
//! |---|---|
//! | `pass/MANAGER` | it joins a queue that has room, and the head of that queue leaves |
//! | `pass/partitioned-MANAGER` | the same with three partitions, or one per flow if there are fewer, between which flows alternate |
//! | `push/MANAGER` | it finds the buffer full, and another packet gives way |

use crate::flows::Random;
use crate::{Benchmark, PACKET_BYTES};
use tidegate_core::buffer::{Admission, Arrival, BufferManager, BufferParameters, Change, Victim};
use tidegate_core::packet::{Colour, DropReason, Ecn, Flow, Packet, Part};
use tidegate_core::queue::Queues;
use tidegate_core::registry::{AnyBufferManager, BufferKind, PartitionSpec};
use tidegate_core::units::{Overhead, Time};

/// Packets in one round; few in the tests.
const ROUND_PACKETS: usize = if cfg!(any(test, debug_assertions)) { 1 << 14 } else { 1 << 20 };

/// Packets of each flow that stay queued.
const BACKLOG: u32 = 2;

/// Managers that push out without marks.
const PUSHING: [BufferKind; 2] = [BufferKind::LongestQueuePushOut, BufferKind::SelectivePushoutPlus];

/// Every registered manager with and without partitions, and those that push out.
pub fn names() -> impl Iterator<Item = String> {
    let pass = BufferKind::ALL.iter().flat_map(|kind| ["pass/", "pass/partitioned-"].map(|prefix| format!("{prefix}{}", kind.name())));
    pass.chain(PUSHING.map(|kind| format!("push/{}", kind.name())))
}

/// Builds the named buffer and fills it.
///
/// # Errors
/// An unknown name, or parameters that the manager refuses.
pub fn set_up(name: &str, flows: u32) -> Result<Benchmark, String> {
    let unknown = || format!("there is no buffer \"{name}\"; there are {}", names().collect::<Vec<_>>().join(", "));
    let (task, manager) = name.split_once('/').ok_or_else(unknown)?;
    let plain = manager.strip_prefix("partitioned-");
    let kind = BufferKind::from_name(plain.unwrap_or(manager)).ok_or_else(unknown)?;
    if task != "pass" && (task != "push" || plain.is_some() || !PUSHING.contains(&kind)) {
        return Err(unknown());
    }
    // What passes finds half of the buffer free, so that it reaches no threshold.
    let room = if task == "push" { 1 } else { 2 };
    let parameters = |flows: u32| BufferParameters {
        flows: flows as usize,
        packets: Some(room * BACKLOG * flows + 4 * u32::from(task == "pass")),
        ..BufferParameters::default()
    };
    let manager = if plain.is_some() {
        let partitions = flows.min(3);
        let spec = |partition| PartitionSpec { kind, parameters: parameters((flows + partitions - 1 - partition) / partitions) };
        let specs: Vec<_> = (0..partitions).map(spec).collect();
        let partition_of: Vec<_> = (0..flows).map(|flow| Some(flow % partitions)).collect();
        AnyBufferManager::partitioned(&specs, &partition_of).map_err(|(_, error)| error.to_string())?
    } else {
        kind.build(&parameters(flows)).map_err(|error| error.to_string())?
    };
    let mut queues = Queues::new(flows as usize, room * BACKLOG * flows + 12, Overhead::None);
    if manager.needs_marked_lists() {
        queues.keep_marked_lists();
    }
    let mut buffer = Buffer { manager, queues, pushed: 0 };
    let mut random = Random::new();
    for _ in 0..BACKLOG {
        for flow in random.shuffled(flows) {
            buffer.offer(Flow(flow)).map_err(|reason| reason.to_string())?;
        }
    }
    let order: Vec<u32> = (0..ROUND_PACKETS).map(|_| random.below(flows)).collect();
    let is_pass = task == "pass";
    let mut round = move || {
        for &flow in &order {
            let fate = buffer.offer(Flow(flow));
            if is_pass && fate.is_ok() {
                buffer.leave(Flow(flow));
            }
        }
        buffer.pushed
    };
    let pushed = round();
    Ok(Benchmark {
        operation: format!("buffer-{name}"),
        flows,
        facts: format!(",pushed={:.3}", pushed as f64 / ROUND_PACKETS as f64),
        round: Box::new(move || {
            round();
            ROUND_PACKETS as u64
        }),
    })
}

/// What a port has of a buffer.
struct Buffer {
    manager: AnyBufferManager,
    queues: Queues<u64>,
    /// Packets that gave way.
    pushed: u64,
}

impl Buffer {
    #[inline]
    fn offer(&mut self, flow: Flow) -> Result<(), DropReason> {
        let arrival = Arrival { ecn: Ecn::NotEct, flow, length: PACKET_BYTES, colour: Colour::Green, part: Part::Whole, now: Time::ZERO };
        loop {
            match self.manager.admit(&arrival, self.queues.occupancy()) {
                Admission::Accept | Admission::AcceptAs(_) => break,
                Admission::Refuse(reason) => return Err(reason),
                Admission::PushOut(victim) => self.push_out(victim),
            }
        }
        let Arrival { length, colour, part, now, .. } = arrival;
        let seen = Packet { flow, length, arrival: now, colour, part, ecn: Ecn::NotEct, payload: () };
        self.queues.push(Packet { flow, length, arrival: now, colour, part, ecn: Ecn::NotEct, payload: 0 });
        self.manager.changed(Change::joined(&seen), self.queues.occupancy());
        Ok(())
    }

    #[inline]
    fn leave(&mut self, flow: Flow) {
        if let Some((packet, _)) = self.queues.pop(flow) {
            self.manager.changed(Change::left(&packet), self.queues.occupancy());
        }
    }

    fn push_out(&mut self, victim: Victim) {
        let gone = match victim {
            Victim::Head(flow) => self.queues.pop(flow).map(|(packet, _)| packet),
            Victim::Tail(flow) => self.queues.pop_last(flow),
            Victim::Marked(flow) => self.queues.pop_marked(flow).map(|(packet, _)| packet),
        };
        if let Some(packet) = gone {
            self.pushed += 1;
            self.manager.changed(Change::left(&packet), self.queues.occupancy());
        }
    }
}
