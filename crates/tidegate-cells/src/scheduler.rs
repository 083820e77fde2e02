//! The cell scheduler's role: which connection's cell leaves in this slot of an ATM link, and which cells must be fetched from the host?
//!
//! A [`CellScheduler`] runs one cycle per cell slot. It takes the first connection that is due, sends one of its cells, shapes the
//! connection, and puts it back in order. It starts a transfer from host memory if one is due. Cells never leave early, and late ones are within
//! the contract. The environment (a simulator, an adapter) reports PDUs posted and cells arrived; the scheduler reports to an [`Adapter`].
//!
//! **Time** is counted in ticks of 2^-16 cell slot ([`crate::SLOT`]) on an axis that wraps and is compared serially; slots are numbered with
//! 64 bits. In one slot `post` and `arrived` come first, then `send`. Slots given to `send` increase strictly.
//!
//! **Laws**, tested with both schedulers, every conflict policy and both sharing rules:
//! 1. a policer of its contract accepts every cell of a connection;
//! 2. shaping state changes only when the connection sends a cell or is given one, never as time passes;
//! 3. at most one cell leaves in a slot. A slot stays empty only if no connection with a cell on the adapter is due, or if it was meant for
//!    a removed connection. (Under [`crate::Conflict::NextFree`]: if none has booked it.)
//! 4. cells on the adapter, cells in transfer and free cell buffers always sum up to the budget;
//! 5. ties break by the order of insertion;
//! 6. adding, changing and removing a connection disturbs no other.
//!
//! **Source**: Schiller and Gunningberg, "Feasibility of a Software-based ATM cell-level scheduler with advanced shaping",
//! sections 3 and 4.

use crate::connection::{Connection, MOST_CONNECTIONS};
use crate::contract::{CellContract, CellContractError};
use crate::time::Ticks;
use crate::transfer::TransferSetup;
use core::fmt;
use tidegate_core::algorithm::FieldError;

/// The longest PDU in cells. AAL5 needs 1,366 at most.
pub const LONGEST_PDU: u32 = u16::MAX as u32;

/// The cells of an AAL5 PDU of `bytes` bytes: the trailer takes 8, a cell holds 48.
pub const fn aal5_cells(bytes: u32) -> u32 {
    (bytes + 8).div_ceil(48)
}

/// The size of a scheduler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CellSetup {
    /// The most connections at one time, at most 2^22.
    pub connections: u32,
    /// The most PDUs posted and not yet sent, of all connections together.
    pub pdus: u32,
    /// The transfers from host memory; with `None` cells are on the adapter as soon as they are posted.
    pub transfer: Option<TransferSetup>,
}

impl CellSetup {
    /// Whether all fields are within their ranges. Schedulers clamp values outside.
    ///
    /// # Errors
    /// [`SetupError`] names the first field that is out of range.
    pub const fn check(&self) -> Result<(), SetupError> {
        if self.connections == 0 || self.connections > MOST_CONNECTIONS {
            return Err(FieldError { field: "connections", problem: "must be 1 to 4,194,304" });
        }
        match &self.transfer {
            Some(transfer) => match transfer.problem() {
                Some((field, problem)) => Err(FieldError { field, problem }),
                None => Ok(()),
            },
            None => Ok(()),
        }
    }
}

/// Why a scheduler cannot be built: the offending field of [`CellSetup`] or [`TransferSetup`], and what would be right.
pub type SetupError = FieldError<&'static str>;

/// Decides cell by cell what leaves.
pub trait CellScheduler {
    /// Adds a connection, which may send from now on. O(1).
    ///
    /// # Errors
    /// [`CellError::Contract`] and [`CellError::TableFull`].
    fn add(&mut self, contract: &CellContract) -> Result<Connection, CellError>;

    /// Gives a connection another contract. It begins with the first cell that is not planned yet, its bucket full; a cell that is
    /// planned keeps its time. O(1).
    ///
    /// # Errors
    /// [`CellError::Contract`] and [`CellError::NoSuchConnection`]; the old contract then stays.
    fn change(&mut self, connection: Connection, contract: &CellContract, now: u64) -> Result<(), CellError>;

    /// Removes a connection and its PDUs. Buffers of transfers under way stay in use until they `arrived`.
    ///
    /// # Errors
    /// [`CellError::NoSuchConnection`].
    fn remove(&mut self, connection: Connection, now: u64, adapter: &mut impl Adapter) -> Result<(), CellError>;

    /// A PDU of `cells` cells is in host memory, to be sent after those posted before it. `now` is a slot.
    ///
    /// # Errors
    /// [`CellError::NoSuchConnection`], [`CellError::PduLength`] and [`CellError::TooManyPdus`]; the PDU is not posted then.
    fn post(&mut self, connection: Connection, cells: u32, now: u64, adapter: &mut impl Adapter) -> Result<(), CellError>;

    /// A transfer, or part of one, is complete: `cells` cells of the connection are on the adapter and may leave in slot `now`. Cells of
    /// a connection that was removed meanwhile give their buffers back.
    fn arrived(&mut self, connection: Connection, cells: u32, now: u64, adapter: &mut impl Adapter);

    /// The cycle of slot `now`: names the connection one of whose cells leaves, `None` for an empty slot.
    fn send(&mut self, now: u64, adapter: &mut impl Adapter) -> Option<Connection>;

    /// A slot, at or after `now`, before which `send` does nothing unless a PDU is posted or cells arrive; `None` if no cell waits for its
    /// time. Slots before it may be skipped.
    fn next_slot(&self, now: u64) -> Option<u64>;

    /// The counters.
    fn counts(&self) -> Counts;

    /// Moves old instants up so that they still compare correctly; called at least every 2^45 slots.
    fn refresh(&mut self, now: u64);
}

/// The counters of a scheduler.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Cells sent.
    pub sent: u64,
    /// Cells sent later than their planned time plus the CDVT: within the contract, but their rate is lost.
    pub beyond_tolerance: u64,
    /// How often a connection was due without a cell on the adapter.
    pub underruns: u64,
    /// Transfers requested.
    pub transfers: u64,
    /// How often a transfer had to wait for a free cell buffer.
    pub deferred: u64,
}

/// The adapter and the host behind it, to which the scheduler reports its decisions. `now` is the slot. Every method has an empty default.
pub trait Adapter {
    /// A cell of `connection` leaves in this slot, `late` after the time its shaper had planned.
    #[inline]
    fn cell_sent(&mut self, now: u64, connection: Connection, late: Ticks) {
        let _ = (now, connection, late);
    }

    /// The next `cells` cells of the connection must be transferred from host memory. They belong to one PDU: requests go through a
    /// connection's PDUs in the order in which they were posted, and none crosses the end of one. [`CellScheduler::arrived`] answers.
    #[inline]
    fn transfer_requested(&mut self, now: u64, connection: Connection, cells: u32) {
        let _ = (now, connection, cells);
    }

    /// The last cell of the connection's oldest PDU leaves in this slot.
    #[inline]
    fn pdu_done(&mut self, now: u64, connection: Connection) {
        let _ = (now, connection);
    }

    /// All PDUs of the connection have been sent: it is inactive.
    #[inline]
    fn queue_empty(&mut self, now: u64, connection: Connection) {
        let _ = (now, connection);
    }

    /// The connection was due without a cell on the adapter: it waits for the transfer.
    #[inline]
    fn underrun(&mut self, now: u64, connection: Connection) {
        let _ = (now, connection);
    }
}

/// Ignores all reports.
impl Adapter for () {}

/// Why a call to a scheduler was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CellError {
    /// The contract cannot be kept.
    Contract(CellContractError),
    /// As many connections as the scheduler was built for.
    TableFull,
    /// The connection was removed, or belongs to another scheduler.
    NoSuchConnection,
    /// A PDU of no cell, or of more than [`LONGEST_PDU`].
    PduLength(u32),
    /// As many PDUs as the scheduler was built for.
    TooManyPdus,
}

impl fmt::Display for CellError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CellError::Contract(error) => write!(f, "contract: {error}"),
            CellError::TableFull => write!(f, "the scheduler has as many connections as it was built for: remove one or build it larger"),
            CellError::NoSuchConnection => write!(f, "there is no such connection: it was removed, or belongs to another scheduler"),
            CellError::PduLength(cells) => write!(f, "a PDU of {cells} cells: 1 to {LONGEST_PDU} are right"),
            CellError::TooManyPdus => write!(f, "as many PDUs are waiting as the scheduler was built for: post it when one is done"),
        }
    }
}

impl core::error::Error for CellError {}

impl From<CellContractError> for CellError {
    fn from(error: CellContractError) -> CellError {
        CellError::Contract(error)
    }
}
