//! A scheduler under test with a host behind it: one transfer engine that serves requests one after the other, and a log of events.

use crate::connection::Connection;
use crate::contract::{CellContract, Mode, Sustained};
use crate::scheduler::{Adapter, CellScheduler};
use crate::time::Ticks;
use crate::transfer::{Prefetch, TransferSetup};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use tidegate_core::sharing::SLOT;

/// The state of a scheduler that tests inspect.
pub(crate) trait Inspect: CellScheduler {
    /// Cells on the adapter, under way, and free buffers.
    fn buffers(&self) -> (u64, u64, u64);

    /// True if a cell that is on the adapter may leave at `now`.
    fn is_any_due(&self, now: u64) -> bool;

    /// The number of cells of a connection that are booked and have not left.
    fn planned(&self, connection: Connection) -> usize;
}

/// An event with its slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    Sent(u64, Connection),
    Requested { now: u64, connection: Connection, cells: u32, done: u64 },
    PduDone(u64, Connection),
    QueueEmpty(u64, Connection),
    Underrun(u64, Connection),
}

/// The adapter's side: keeps the log and serves transfers serially.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    pub(crate) events: Vec<Event>,
    setup: TransferSetup,
    is_pipelined: bool,
    engine_free: u64,
    under_way: VecDeque<(u64, Connection, u32)>,
}

impl Adapter for Host {
    fn cell_sent(&mut self, now: u64, connection: Connection, _late: Ticks) {
        self.events.push(Event::Sent(now, connection));
    }

    fn transfer_requested(&mut self, now: u64, connection: Connection, cells: u32) {
        let span = u64::from(self.setup.access_latency) + (u64::from(cells) * self.setup.cell_time.0).div_ceil(SLOT);
        let done = if self.is_pipelined { (now + span).max(self.engine_free) } else { now.max(self.engine_free) + span };
        self.engine_free = done;
        self.under_way.push_back((done, connection, cells));
        self.events.push(Event::Requested { now, connection, cells, done });
    }

    fn pdu_done(&mut self, now: u64, connection: Connection) {
        self.events.push(Event::PduDone(now, connection));
    }

    fn queue_empty(&mut self, now: u64, connection: Connection) {
        self.events.push(Event::QueueEmpty(now, connection));
    }

    fn underrun(&mut self, now: u64, connection: Connection) {
        self.events.push(Event::Underrun(now, connection));
    }
}

/// The engine of tests without transfers.
pub(crate) const NO_ENGINE: TransferSetup =
    TransferSetup { prefetch: Prefetch::JustInTime, access_latency: 0, cell_time: Ticks(0), burst: 1, buffer: 0 };

impl Host {
    pub(crate) fn new(setup: TransferSetup) -> Host {
        Host { events: Vec::new(), setup, is_pipelined: false, engine_free: 0, under_way: VecDeque::new() }
    }

    /// With an engine whose transfers overlap and complete in order.
    pub(crate) fn pipelined(setup: TransferSetup) -> Host {
        Host { is_pipelined: true, ..Host::new(setup) }
    }

    /// One slot: completed transfers arrive, then a cell leaves.
    pub(crate) fn run(&mut self, scheduler: &mut impl CellScheduler, now: u64) -> Option<Connection> {
        while let Some(&(done, connection, cells)) = self.under_way.front()
            && done <= now
        {
            self.under_way.pop_front();
            scheduler.arrived(connection, cells, now, self);
        }
        scheduler.send(now, self)
    }

    /// The slots in which cells of a connection left.
    pub(crate) fn slots_of(&self, connection: Connection) -> Vec<u64> {
        let slot = |event: &Event| match *event {
            Event::Sent(now, sent) if sent == connection => Some(now),
            _ => None,
        };
        self.events.iter().filter_map(slot).collect()
    }
}

/// A contract in whole slots, with the CDVT in slots.
pub(crate) fn constant(interval: u64, tolerance: u64, class: u8) -> CellContract {
    let (peak_interval, delay_variation_tolerance) = (Ticks::slots(interval), Ticks::slots(tolerance));
    CellContract { peak_interval, delay_variation_tolerance, mode: Mode::Constant, class }
}

/// The sustained part of a contract in whole slots.
pub(crate) fn sustained(interval: u64, maximum_burst_size: u32) -> Sustained {
    Sustained { interval: Ticks::slots(interval), maximum_burst_size }
}

/// The ATM Forum's VBR.1 (CBR.1 without a sustained rate) in ticks, written from the standard, not from the shaper.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Upc {
    peak: (u64, u64),
    sustained: Option<(u64, u64)>,
    arrival_times: Option<(i128, i128)>,
}

impl Upc {
    /// Polices the sustained rate without a CDVT on top of the burst tolerance: the strictest test.
    pub(crate) fn new(contract: &CellContract) -> Upc {
        let sustained = contract.mode.sustained().map(|sustained| {
            let gap = sustained.interval.0 - contract.peak_interval.0;
            (sustained.interval.0, u64::from(sustained.maximum_burst_size - 1) * gap)
        });
        Upc { peak: (contract.peak_interval.0, contract.delay_variation_tolerance.0), sustained, arrival_times: None }
    }

    /// True if a cell in this slot conforms.
    pub(crate) fn accepts(&mut self, slot: u64) -> bool {
        let now = i128::from(slot) << 16;
        let (peak, sustained) = self.arrival_times.unwrap_or((now, now));
        let conforms =
            now >= peak - i128::from(self.peak.1) && self.sustained.is_none_or(|(_, limit)| now >= sustained - i128::from(limit));
        if conforms {
            let sustained_interval = self.sustained.map_or(0, |(interval, _)| interval);
            self.arrival_times = Some((peak.max(now) + i128::from(self.peak.0), sustained.max(now) + i128::from(sustained_interval)));
        }
        conforms
    }
}

#[test]
fn the_test_polices() {
    // GCRA(10, 15) in slots, worked out by hand.
    let mut upc = Upc::new(&constant(10, 15, 0));
    let verdicts = [0, 2, 5, 12, 18, 19, 30, 31, 60].map(|slot| upc.accepts(slot));
    assert_eq!(verdicts, [true, true, true, false, true, false, true, false, true]);
    // T = 4, Ts = 20, MBS = 10 with no tolerance: ten cells of twelve, and the refused ones leave no trace.
    let mut contract = constant(4, 0, 0);
    contract.mode = Mode::DualBucket(sustained(20, 10));
    let mut upc = Upc::new(&contract);
    assert_eq!((0..12).filter(|k| upc.accepts(4 * k)).count(), 10);
    assert_eq!(upc.arrival_times, Some((40 << 16, 200 << 16)));
}
