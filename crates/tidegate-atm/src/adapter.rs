//! The sending side of an ATM adapter: frames wait in host memory, AAL5 makes cells of them, and the cell scheduler of the core decides which leaves.
//!
//! **Law.** Every cell stream conforms to the contract of its connection. The frames of a connection leave in the order in which they came, and
//! the cells of one frame are never mixed with those of another on one connection.
//! **Source.** Schiller and Gunningberg, "Feasibility of a Software-based ATM cell-level scheduler with advanced shaping", sections 3 and 4; ITU-T
//! I.363.5 for the cells of a frame; RFC 2684 for the LLC/SNAP header.
//! **State.** The scheduler, the frames that wait, a record and a policer per connection.
//! **Cost.** That of [`HeapScheduler`], and a policer's test per cell.
//! **RTL twin.** None.
//! **Deviations.** Transfers take the worst access latency every time, one after the other.

use crate::conformance::UsageParameterControl;
use std::collections::VecDeque;
use std::fmt;
use tidegate_cells::{
    CLASSES, CellContract, CellRate, CellScheduler, CellSetup, Conflict, Connection, HeapScheduler, MOST_CONNECTIONS, RateScaling, SLOT,
    Ticks, TransferSetup, aal5_cells,
};
use tidegate_core::units::{Duration, Rate};

mod port;

pub use port::{AdapterPort, CellSent};

/// Bytes of a cell on the link.
pub const CELL: u32 = 53;

/// The longest frame of AAL5 in bytes, any LLC/SNAP header included: its trailer has 16 bits for the length.
pub const LONGEST_FRAME: u32 = 65_535;

/// How long a cell takes on a link: the slot, rounded up to a picosecond.
pub fn slot_time(rate: Rate) -> Duration {
    rate.time_per_byte().ceil(CELL)
}

/// How frames of several protocols share a connection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Encapsulation {
    /// VC multiplexing: one protocol per connection, nothing is added.
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
            Encapsulation::LlcSnap => 8,
        }
    }

    /// The cells of a frame of `length` bytes.
    pub const fn cells_of(self, length: u32) -> u32 {
        aal5_cells(length + self.header())
    }
}

/// What an adapter is built from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AdapterSetup {
    /// The contract of each queue's connection.
    pub contracts: Vec<CellContract>,
    /// Which connection goes first when several are due.
    pub conflict: Conflict,
    /// The minimum shares of the priorities in an overload.
    pub minimum_shares: [CellRate; CLASSES],
    /// How cells come from host memory; `None`: they are on the adapter at once.
    pub transfer: Option<TransferSetup>,
    /// What is put before every frame.
    pub encapsulation: Encapsulation,
}

/// Why an adapter cannot be built.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AdapterError(String);

impl fmt::Display for AdapterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for AdapterError {}

impl AdapterSetup {
    /// Checks everything that an adapter relies on.
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

    /// The scheduler's size, for this many frames at one time.
    fn cell_setup(&self, pdus: u32) -> CellSetup {
        CellSetup { connections: self.contracts.len() as u32, pdus, transfer: self.transfer }
    }
}

/// What has happened to the cells of one connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CellRecord {
    /// Cells sent.
    pub sent: u64,
    /// Cells sent later than their planned time and the CDVT: within the contract, but rate that is lost.
    pub cdvt_exceeded: u64,
    /// Cells that the contract's policer refuses. A shaper lets none through.
    pub nonconforming: u64,
    /// Times the connection was due and no cell of it was on the adapter.
    pub underruns: u64,
    /// Transfers from host memory.
    pub transfers: u64,
}

impl CellRecord {
    /// The counts of both.
    #[must_use]
    pub const fn plus(self, other: CellRecord) -> CellRecord {
        CellRecord {
            sent: self.sent + other.sent,
            cdvt_exceeded: self.cdvt_exceeded + other.cdvt_exceeded,
            nonconforming: self.nonconforming + other.nonconforming,
            underruns: self.underruns + other.underruns,
            transfers: self.transfers + other.transfers,
        }
    }

    /// What was counted since `before`.
    #[must_use]
    pub const fn since(self, before: CellRecord) -> CellRecord {
        CellRecord {
            sent: self.sent - before.sent,
            cdvt_exceeded: self.cdvt_exceeded - before.cdvt_exceeded,
            nonconforming: self.nonconforming - before.nonconforming,
            underruns: self.underruns - before.underruns,
            transfers: self.transfers - before.transfers,
        }
    }
}

/// The scheduler with the host behind it, slot by slot.
#[derive(Clone, Debug)]
struct Engine {
    scheduler: HeapScheduler<RateScaling>,
    /// By queue.
    connections: Vec<Connection>,
    host: Host,
    /// The first slot that has not been played.
    next: u64,
    /// Up to where instants of the scheduler have been refreshed.
    refreshed: u64,
}

/// The scheduler's instants are refreshed this often, in slots.
const REFRESH: u64 = 1 << 44;

/// What the scheduler tells: transfers to be made, and what to count.
#[derive(Clone, Debug)]
struct Host {
    transfer: Option<TransferSetup>,
    engine_free: u64,
    /// Transfers under way: when they are done, whose and how many cells.
    under_way: VecDeque<(u64, Connection, u32)>,
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
        self.under_way.push_back((self.engine_free, connection, cells));
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
            under_way: VecDeque::new(),
            records: vec![CellRecord::default(); connections.len()],
            policers: setup.contracts.iter().copied().map(UsageParameterControl::new).collect(),
            tolerances: setup.contracts.iter().map(|contract| contract.delay_variation_tolerance).collect(),
            is_last: false,
        };
        Engine { scheduler, connections, host, next: 0, refreshed: 0 }
    }

    /// Brings instants of the scheduler up to `slot`, however far that is.
    fn refresh(&mut self, slot: u64) {
        while slot - self.refreshed > REFRESH {
            self.refreshed += REFRESH;
            self.scheduler.refresh(self.refreshed);
        }
    }

    /// A frame of this many cells comes to a queue and may leave from `slot` on.
    fn post(&mut self, queue: usize, cells: u32, slot: u64) {
        let slot = slot.max(self.next);
        self.refresh(slot);
        self.scheduler
            .post(self.connections[queue], cells, slot, &mut self.host)
            .expect("there is room for the frame, and it is not too long");
    }

    /// The next slot in which something happens.
    fn next_slot(&self) -> Option<u64> {
        let arrival = self.host.under_way.front().map(|&(done, ..)| done.max(self.next));
        let departure = self.scheduler.next_slot(self.next);
        arrival.into_iter().chain(departure).min()
    }

    /// Plays a slot, which [`Engine::next_slot`] has named: the queue whose cell leaves, and whether the cell ends its frame.
    fn play(&mut self, slot: u64) -> Option<(usize, bool)> {
        self.refresh(slot);
        self.next = slot + 1;
        while let Some(&(done, connection, cells)) = self.host.under_way.front()
            && done <= slot
        {
            self.host.under_way.pop_front();
            self.scheduler.arrived(connection, cells, slot, &mut self.host);
        }
        let sent = self.scheduler.send(slot, &mut self.host)?;
        Some((sent.index(), self.host.is_last))
    }
}
