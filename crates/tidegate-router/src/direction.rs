//! A model of one direction of a live bridge: a thread that polls a ring in gated batches, sends through a port, and sleeps when it finds nothing.
//!
//! Arrivals are given, so the model answers what this very traffic would have met. The port is the core's own; only the time of the processor is
//! modelled. Each packet draws a row of measured costs, all of them together. A packet in a batch draws among those of batches. One that wakes the
//! thread draws among those that did so after about as long a sleep: short sleeps have not begun yet, and long ones are deep.
//!
//! ```text
//! asleep -- arrival + wake-up --> poll: send what is due; take in what has arrived, at most 128; send; hand over, at most 32 per call
//!    ^                                                                                              |
//!    `------------------------------------ nothing was there <-------------------------------------'
//! ```
//!
//! **Source.** The loop of `tidegate-live`, step by step. Gated batches with vacations: Takagi, *Queueing Analysis*, volume 1, 1991.

use tidegate_core::packet::{Colour, Flow};
use tidegate_core::port::Port;
use tidegate_core::units::{Duration, Time};
use tidegate_sim::random::Stream;

/// The most packets that a poll takes in.
pub const INTAKE_LIMIT: usize = 128;

/// The most frames that a system call hands over.
pub const SEND_LIMIT: usize = 32;

/// The link time that a port may make up for after its thread woke late.
const CATCH_UP: Duration = Duration::from_milliseconds(2);

/// The model's clock begins here, so that instants before the first arrival are in range, in nanoseconds.
const ORIGIN: u64 = 1_000_000_000;

/// What one packet cost, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CostRow {
    /// How long the thread had had nothing to do when the packet arrived; 0 in a batch.
    pub idle: u64,
    /// Until it was read: since its arrival for the first after a wake-up, since the thread's step before for any other.
    pub lead: u64,
    /// To classify it and to offer it to the port.
    pub intake: u64,
    /// To choose it and to start its transmission.
    pub start: u64,
    /// To hand it to the kernel; its part of a call that took several.
    pub hand: u64,
}

impl CostRow {
    /// The work on the packet.
    pub fn service(&self) -> u64 {
        self.intake + self.start + self.hand
    }
}

/// Measured costs, by the state in which the thread found the packet.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct CostRows {
    /// First after a wake-up, in the order of the sleep before.
    woken: Vec<CostRow>,
    /// All others.
    batched: Vec<CostRow>,
}

/// How a packet finds the thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// With nothing to do for this long, in nanoseconds.
    Asleep(u64),
    /// At work.
    Busy,
}

/// The rows among which a wake-up draws are those with the nearest sleeps: one in this many of all, and at least [`LEAST_NEAR`].
const NEAR: usize = 64;

/// The least number of them.
const LEAST_NEAR: usize = 16;

impl CostRows {
    /// The rows of packets that were first after a wake-up, and of all others.
    pub fn new(mut woken: Vec<CostRow>, batched: Vec<CostRow>) -> CostRows {
        woken.sort_by_key(|row| row.idle);
        CostRows { woken, batched }
    }

    /// First after a wake-up, in the order of the sleep before.
    pub fn woken(&self) -> &[CostRow] {
        &self.woken
    }

    /// All others.
    pub fn batched(&self) -> &[CostRow] {
        &self.batched
    }

    /// Those of several recordings or blocks.
    pub fn together(all: impl IntoIterator<Item = CostRows>) -> CostRows {
        let (mut woken, mut batched) = (Vec::new(), Vec::new());
        for rows in all {
            woken.extend(rows.woken);
            batched.extend(rows.batched);
        }
        CostRows::new(woken, batched)
    }

    /// The rows that stand for a packet in this state; where there are none of a state, those of the other.
    fn of(&self, state: State) -> &[CostRow] {
        match state {
            State::Asleep(idle) if !self.woken.is_empty() => {
                let near = (self.woken.len() / NEAR).max(LEAST_NEAR).min(self.woken.len());
                let at = self.woken.partition_point(|row| row.idle < idle);
                let first = at.saturating_sub(near / 2).min(self.woken.len() - near);
                &self.woken[first..first + near]
            }
            _ if self.batched.is_empty() => &self.woken,
            _ => &self.batched,
        }
    }

    fn draw(&self, state: State, stream: &mut Stream) -> CostRow {
        let rows = self.of(state);
        rows.get(stream.below(rows.len() as u64) as usize).copied().unwrap_or_default()
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.woken.len() + self.batched.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A packet that arrives. Arrivals are in the order of their instants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// When the kernel receives it, in nanoseconds.
    pub at: u64,
    /// Its flow, which the port has.
    pub flow: u32,
    /// Its length in bytes.
    pub length: u32,
}

/// When a packet passed the stages of the model, in nanoseconds on the clock of the arrivals; 0 is none.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Passage {
    /// The thread woke for it.
    pub wake: u64,
    /// It was found.
    pub read: u64,
    /// It had been offered.
    pub offered: u64,
    /// Its transmission started; 0 if the port dropped it.
    pub started: u64,
    /// The kernel had taken it.
    pub handed: u64,
}

/// The thread, between two steps.
struct Thread<'a> {
    port: Port<usize>,
    /// When the origin of the port's clock is.
    origin: u64,
    now: u64,
    rows: &'a mut dyn FnMut(State) -> CostRow,
    costs: Vec<CostRow>,
    passages: Vec<Passage>,
    outbox: Vec<usize>,
}

impl Thread<'_> {
    fn instant(&self, at: u64) -> Time {
        Time::from_nanoseconds(at - self.origin + ORIGIN)
    }

    /// Starts transmissions due at the instant of the poll.
    fn start(&mut self, poll: Time) -> Option<Time> {
        let Thread { port, costs, passages, outbox, now, .. } = self;
        port.advance(poll, &mut (), |transmission| {
            let packet = transmission.packet.payload;
            *now += costs[packet].start;
            passages[packet].started = *now;
            outbox.push(packet);
        })
    }

    /// Hands over what has started.
    fn flush(&mut self) {
        for call in self.outbox.chunks(SEND_LIMIT) {
            self.now += call.iter().map(|&packet| self.costs[packet].hand).sum::<u64>();
            call.iter().for_each(|&packet| self.passages[packet].handed = self.now);
        }
        self.outbox.clear();
    }

    /// Takes a packet in.
    fn take_in(&mut self, poll: Time, packet: usize, arrival: &Arrival, cost: CostRow) {
        self.costs[packet] = cost;
        self.passages[packet].read = self.now;
        self.now += cost.intake;
        self.passages[packet].offered = self.now;
        self.port.offer(poll, Flow(arrival.flow), arrival.length, Colour::Green, packet, &mut ());
        if self.port.busy_until(poll).is_none() {
            self.start(poll);
        }
    }
}

/// Runs these arrivals through a fresh port, with the costs that `rows` gives for a packet in a state.
pub fn run(port: Port<usize>, arrivals: &[Arrival], rows: &mut dyn FnMut(State) -> CostRow) -> Vec<Passage> {
    // Asleep before the first.
    let origin = arrivals.first().map_or(0, |first| first.at.saturating_sub(1));
    let (costs, passages) = (vec![CostRow::default(); arrivals.len()], vec![Passage::default(); arrivals.len()]);
    let mut thread = Thread { port, origin, now: origin, rows, costs, passages, outbox: Vec::with_capacity(INTAKE_LIMIT) };
    let mut next = 0;
    // The row of the packet that woke the thread.
    let mut woken = None;
    loop {
        let poll = thread.instant(thread.now);
        thread.port.skip_to(poll - CATCH_UP);
        let due = thread.start(poll);
        thread.flush();
        let first = next;
        while let Some(arrival) = arrivals.get(next).filter(|arrival| arrival.at <= thread.now && next - first < INTAKE_LIMIT) {
            let cost = match woken.take() {
                Some(cost) => {
                    thread.passages[next].wake = thread.now;
                    cost
                }
                None => {
                    let cost = (thread.rows)(State::Busy);
                    thread.now += cost.lead;
                    cost
                }
            };
            thread.take_in(poll, next, arrival, cost);
            next += 1;
        }
        if next > first {
            thread.start(poll);
            thread.flush();
            continue;
        }
        let due = due.map(|due| thread.now + due.since(poll).picoseconds().div_ceil(1000));
        match (arrivals.get(next), due) {
            (None, None) => return thread.passages,
            (Some(arrival), due) if due.is_none_or(|due| arrival.at <= due) => {
                let cost = (thread.rows)(State::Asleep(arrival.at.saturating_sub(thread.now)));
                thread.now = arrival.at + cost.lead;
                woken = Some(cost);
            }
            // A timer wakes as late as an arrival.
            (_, Some(due)) => thread.now = due + (thread.rows)(State::Asleep(due - thread.now)).lead,
            (Some(_), None) => unreachable!("an arrival without anything due wakes the thread"),
        }
    }
}

/// The same with rows that are drawn at random.
pub fn run_drawn(port: Port<usize>, arrivals: &[Arrival], rows: &CostRows, stream: &mut Stream) -> Vec<Passage> {
    run(port, arrivals, &mut |state| rows.draw(state, stream))
}

/// The single-queue model beside it: first in, first out, with the work on a packet drawn from all rows. Answers when each packet leaves.
pub fn run_single_queue(arrivals: &[Arrival], rows: &CostRows, stream: &mut Stream) -> Vec<u64> {
    let all: Vec<u64> = rows.woken.iter().chain(&rows.batched).map(CostRow::service).collect();
    let mut free = 0;
    let leave = |arrival: &Arrival| {
        free = arrival.at.max(free) + all.get(stream.below(all.len() as u64) as usize).copied().unwrap_or(0);
        free
    };
    arrivals.iter().map(leave).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use tidegate_core::buffer::BufferParameters;
    use tidegate_core::classifier::{ClassRules, Classifier};
    use tidegate_core::port::PortSetup;
    use tidegate_core::registry::{BufferKind, SchedulerKind};
    use tidegate_core::scheduler::{FlowParameters, Setup};
    use tidegate_core::units::{Overhead, Rate};

    /// First in, first out, with room for 1,000 packets.
    pub(crate) fn port(bits_per_second: u64) -> Port<usize> {
        let rate = Rate::new(bits_per_second).unwrap();
        let rules = ClassRules { name: "all".into(), queues: 1, rules: Vec::new() };
        let buffer = BufferParameters { flows: 1, packets: Some(1000), ..BufferParameters::default() };
        let setup = PortSetup {
            rate,
            overhead: Overhead::default(),
            classifier: Classifier::new(vec![rules], 0).unwrap(),
            policers: vec![None],
            aqms: Vec::new(),
            seed: 0,
            buffer: BufferKind::TailDrop.build(&buffer).unwrap(),
            scheduler: SchedulerKind::Fifo.build(&Setup::new(rate, 1518), &[FlowParameters::default()]).unwrap(),
            packet_limit: 1000,
            longest_frame: 1518,
            remarks: Default::default(),
        };
        Port::new(Time::ZERO, setup)
    }

    const COST: CostRow = CostRow { idle: 0, lead: 10, intake: 5, start: 2, hand: 20 };

    fn rows() -> CostRows {
        CostRows::new(vec![COST], vec![CostRow { lead: 1, ..COST }])
    }

    fn handed(bits_per_second: u64, arrivals: &[u64]) -> Vec<u64> {
        let arrivals: Vec<Arrival> = arrivals.iter().map(|&at| Arrival { at, flow: 0, length: 100 }).collect();
        let passages = run_drawn(port(bits_per_second), &arrivals, &rows(), &mut Stream::new(1, 0, "test"));
        passages.iter().map(|passage| passage.handed).collect()
    }

    #[test]
    fn a_packet_wakes_the_thread_and_those_behind_it_share_its_batch() {
        // Lead 10, intake 5, start 2, hand 20.
        assert_eq!(handed(100_000_000_000, &[1000]), [1037]);
        // The second is there when the first has been taken in; the link is busy for 8 ns at the instant of the poll, so it starts at the next one.
        assert_eq!(handed(100_000_000_000, &[1000, 1012]), [1043, 1065]);
        // It arrives after the intake and is found by the next poll.
        assert_eq!(handed(100_000_000_000, &[1000, 1020]), [1037, 1065]);
        // Asleep again.
        assert_eq!(handed(100_000_000_000, &[1000, 2000]), [1037, 2037]);
    }

    #[test]
    fn a_slow_link_holds_packets_back_and_a_timer_wakes_the_thread() {
        // 100 bytes take 1,000 ns from the poll at 1010.
        assert_eq!(handed(800_000_000, &[1000, 1012])[1], 2010 + 10 + 2 + 20);
    }

    #[test]
    fn a_wake_up_draws_among_the_nearest_sleeps() {
        let woken = (0..2000).rev().map(|idle| CostRow { idle, lead: idle / 1000, ..COST }).collect();
        let (rows, mut stream) = (CostRows::new(woken, Vec::new()), Stream::new(1, 0, "test"));
        for (idle, lead) in [(0, 0), (500, 0), (1500, 1), (9000, 1)] {
            assert!((0..100).all(|_| rows.draw(State::Asleep(idle), &mut stream).lead == lead));
        }
        let leads: Vec<u64> = (0..100).map(|_| rows.draw(State::Busy, &mut stream).lead).collect();
        assert!(leads.contains(&0) && leads.contains(&1), "without rows of batches the others stand in");
    }

    #[test]
    fn the_single_queue_knows_no_wake_up() {
        let arrivals = [1000, 1012, 2000].map(|at| Arrival { at, flow: 0, length: 100 });
        assert_eq!(run_single_queue(&arrivals, &rows(), &mut Stream::new(1, 0, "test")), [1027, 1054, 2027]);
    }

    #[test]
    fn what_a_full_port_drops_never_leaves() {
        let passages: Vec<u64> = handed(8_000_000, &[1000; 1200]);
        assert_eq!(passages.iter().filter(|&&at| at == 0).count(), 1200 - 1001);
    }
}
