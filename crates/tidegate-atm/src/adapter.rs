//! The sending side of an ATM adapter: frames wait in host memory, AAL5 cuts them into cells, and the cell scheduler selects the next one.
//!
//! **Law.** Every cell stream conforms to the contract of its connection. The frames of a connection leave in the order of their arrival, and
//! their cells are not interleaved.
//! **Source.** Schiller and Gunningberg, "Feasibility of a Software-based ATM cell-level scheduler with advanced shaping", sections 3 and 4.
//! ITU-T I.363.5 defines the cells of a frame, and RFC 2684 the LLC/SNAP header.
//! **State.** The scheduler, the waiting frames, and a record and a policer per connection.
//! **Cost.** That of [`HeapScheduler`], and a policer's test per cell.
//! **RTL twin.** None.
//! **Deviations.** Transfers take the worst access latency every time, one after the other.

use crate::conformance::UsageParameterControl;
use crate::{aal5, cell, llc_snap};
use std::collections::VecDeque;
use thiserror::Error;
use tidegate_cells::{
    CLASSES, CellContract, CellRate, CellScheduler, CellSetup, Conflict, Connection, HeapScheduler, MOST_CONNECTIONS, RateScaling, SLOT,
    Ticks, TransferSetup, aal5_cells,
};
use tidegate_core::units::{Duration, Rate};

mod port;

pub use port::{AdapterPort, CellSent};

/// Bytes of a cell on the link.
pub const CELL: u32 = cell::CELL as u32;

/// The longest frame of AAL5 in bytes, including the LLC/SNAP header.
pub const LONGEST_FRAME: u32 = aal5::LONGEST_FRAME as u32;

/// The slot of a link: the transmission time of a cell, rounded up to a picosecond.
pub fn slot_time(rate: Rate) -> Duration {
    rate.time_per_byte().ceil(CELL)
}

/// How frames of several protocols share a connection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Encapsulation {
    /// VC multiplexing: one protocol per connection, without a header.
    #[default]
    VcMultiplexed,
    /// LLC/SNAP: 8 bytes before every frame name its protocol.
    LlcSnap,
}

impl Encapsulation {
    /// Bytes before every frame.
    pub const fn header(self) -> u32 {
        match self {
            Encapsulation::VcMultiplexed => 0,
            Encapsulation::LlcSnap => llc_snap::ROUTED as u32,
        }
    }

    /// The number of cells of a frame of `length` bytes.
    pub const fn cells_of(self, length: u32) -> u32 {
        aal5_cells(length + self.header())
    }
}

/// The parameters of an adapter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AdapterSetup {
    /// The contract of each queue's connection.
    pub contracts: Vec<CellContract>,
    /// Which connection sends first when several are due.
    pub conflict: Conflict,
    /// The minimum share of each priority in an overload.
    pub minimum_shares: [CellRate; CLASSES],
    /// The transfer of cells from host memory; with `None`, cells are on the adapter at once.
    pub transfer: Option<TransferSetup>,
    /// The header before every frame.
    pub encapsulation: Encapsulation,
}

/// Why an adapter cannot be built.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{0}")]
pub struct AdapterError(String);

impl AdapterSetup {
    /// Checks all fields.
    ///
    /// # Errors
    /// [`AdapterError`] names the first field that is out of range.
    pub fn check(&self) -> Result<(), AdapterError> {
        self.contracts.iter().try_for_each(CellContract::check).map_err(|error| AdapterError(error.to_string()))?;
        let connections = u32::try_from(self.contracts.len()).unwrap_or(u32::MAX);
        if connections > MOST_CONNECTIONS {
            return Err(AdapterError(format!("{connections} connections: at most {MOST_CONNECTIONS} are possible")));
        }
        self.cell_setup(1).check().map_err(|error| AdapterError(error.to_string()))?;
        RateScaling::new(self.minimum_shares).map(|_| ()).map_err(|error| AdapterError(error.to_string()))
    }

    /// The size of the scheduler, for `pdus` frames at a time.
    fn cell_setup(&self, pdus: u32) -> CellSetup {
        CellSetup { connections: self.contracts.len() as u32, pdus, transfer: self.transfer }
    }
}

/// The cell counters of one connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CellRecord {
    /// Cells sent.
    pub sent: u64,
    /// Cells sent more than the CDVT after their planned time. They conform, but the rate is lost.
    pub cdvt_exceeded: u64,
    /// Cells that the contract's policer refuses: 0 behind a shaper.
    pub nonconforming: u64,
    /// Times the connection was due and no cell of it was on the adapter.
    pub underruns: u64,
    /// Transfers from host memory.
    pub transfers: u64,
}

impl CellRecord {
    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: CellRecord) -> CellRecord {
        self.combined(other, |own, other| own + other)
    }

    /// The counts since `before`.
    #[must_use]
    pub fn since(self, before: CellRecord) -> CellRecord {
        self.combined(before, |own, before| own - before)
    }

    fn combined(self, other: CellRecord, count: impl Fn(u64, u64) -> u64) -> CellRecord {
        CellRecord {
            sent: count(self.sent, other.sent),
            cdvt_exceeded: count(self.cdvt_exceeded, other.cdvt_exceeded),
            nonconforming: count(self.nonconforming, other.nonconforming),
            underruns: count(self.underruns, other.underruns),
            transfers: count(self.transfers, other.transfers),
        }
    }
}

/// The scheduler and its host, slot by slot.
#[derive(Clone, Debug)]
struct Engine {
    scheduler: HeapScheduler<RateScaling>,
    /// By queue.
    connections: Vec<Connection>,
    host: Host,
    /// The first slot that has not been used.
    next: u64,
    /// The slot of the last refresh of the scheduler's instants.
    refreshed: u64,
}

/// How often the scheduler's instants are refreshed, in slots.
const REFRESH_INTERVAL: u64 = 1 << 44;

/// The host: it makes the transfers that the scheduler requests, and counts.
#[derive(Clone, Debug)]
struct Host {
    transfer: Option<TransferSetup>,
    engine_free: u64,
    /// Transfers in progress: the slot of the end, the connection, the cells.
    transfers: VecDeque<(u64, Connection, u32)>,
    records: Vec<CellRecord>,
    policers: Vec<UsageParameterControl>,
    tolerances: Vec<Ticks>,
    /// True if the cell that has just been sent ends its frame.
    is_last: bool,
}

impl tidegate_cells::Adapter for Host {
    fn cell_sent(&mut self, now: u64, connection: Connection, late: Ticks) {
        let index = connection.index();
        let record = &mut self.records[index];
        record.sent += 1;
        record.cdvt_exceeded += u64::from(late > self.tolerances[index]);
        record.nonconforming += u64::from(!self.policers[index].accepts(now));
        self.is_last = false;
    }

    fn transfer_requested(&mut self, now: u64, connection: Connection, cells: u32) {
        let Some(setup) = &self.transfer else { return };
        let time = u64::from(setup.access_latency) + (u64::from(cells) * setup.cell_time.0).div_ceil(SLOT);
        self.engine_free = self.engine_free.max(now) + time;
        self.transfers.push_back((self.engine_free, connection, cells));
        self.records[connection.index()].transfers += 1;
    }

    fn pdu_done(&mut self, _now: u64, _connection: Connection) {
        self.is_last = true;
    }

    fn underrun(&mut self, _now: u64, connection: Connection) {
        self.records[connection.index()].underruns += 1;
    }
}

impl Engine {
    /// # Panics
    /// If the setup was not checked.
    fn new(setup: &AdapterSetup, frames: u32) -> Engine {
        let sharing = RateScaling::new(setup.minimum_shares).expect("minimum shares have been checked");
        let mut scheduler = HeapScheduler::new(&setup.cell_setup(frames), setup.conflict, sharing);
        let connections: Vec<Connection> =
            setup.contracts.iter().map(|contract| scheduler.add(contract).expect("contracts have been checked")).collect();
        debug_assert!(connections.iter().enumerate().all(|(queue, connection)| connection.index() == queue));
        let host = Host {
            transfer: setup.transfer,
            engine_free: 0,
            transfers: VecDeque::new(),
            records: vec![CellRecord::default(); connections.len()],
            policers: setup.contracts.iter().copied().map(UsageParameterControl::new).collect(),
            tolerances: setup.contracts.iter().map(|contract| contract.delay_variation_tolerance).collect(),
            is_last: false,
        };
        Engine { scheduler, connections, host, next: 0, refreshed: 0 }
    }

    /// Refreshes the scheduler's instants up to `slot`.
    fn refresh(&mut self, slot: u64) {
        while slot - self.refreshed > REFRESH_INTERVAL {
            self.refreshed += REFRESH_INTERVAL;
            self.scheduler.refresh(self.refreshed);
        }
    }

    /// A frame of `cells` cells joins a queue and may leave from `slot` on.
    fn post(&mut self, queue: usize, cells: u32, slot: u64) {
        let slot = slot.max(self.next);
        self.refresh(slot);
        self.scheduler
            .post(self.connections[queue], cells, slot, &mut self.host)
            .expect("there is room for the frame, and it is not too long");
    }

    /// The next slot with an arrival on the adapter or a departure.
    fn next_slot(&self) -> Option<u64> {
        let arrival = self.host.transfers.front().map(|&(done, ..)| done.max(self.next));
        let departure = self.scheduler.next_slot(self.next);
        arrival.into_iter().chain(departure).min()
    }

    /// Advances to a slot that [`Engine::next_slot`] has returned. The result is the queue whose cell leaves, and whether that ends a frame.
    fn advance(&mut self, slot: u64) -> Option<(usize, bool)> {
        self.refresh(slot);
        self.next = slot + 1;
        while let Some(&(done, connection, cells)) = self.host.transfers.front()
            && done <= slot
        {
            self.host.transfers.pop_front();
            self.scheduler.arrived(connection, cells, slot, &mut self.host);
        }
        let sent = self.scheduler.send(slot, &mut self.host)?;
        Some((sent.index(), self.host.is_last))
    }
}
