//! A cell that has been given a slot, in two words.

use super::{Connection, Ticks};

/// Which cell leaves, and how late.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Departure {
    /// How long after its planned time, in ticks.
    late: u64,
    /// [`Connection::pack`], and above it what the cell is the last of.
    cell: u64,
}

/// What follows when a cell has been given a slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Booked {
    pub(super) departure: Departure,
    /// When the next cell of the connection may leave, on the clock of its class.
    pub(super) next: u64,
    /// True if it may be time for a transfer.
    pub(super) is_low: bool,
}

/// The last cell of a PDU, and of all that its connection had to send.
const ENDS_PDU: u64 = 1 << 62;
const ENDS_QUEUE: u64 = 1 << 63;

impl Departure {
    #[inline]
    pub(super) const fn new(connection: Connection, late: u64) -> Departure {
        Departure { late, cell: connection.pack() }
    }

    #[inline]
    pub(super) const fn connection(&self) -> Connection {
        Connection::unpack(self.cell)
    }

    #[inline]
    pub(super) const fn late(&self) -> Ticks {
        Ticks(self.late)
    }

    /// It is the last cell of a PDU.
    pub(super) const fn end_pdu(&mut self) {
        self.cell |= ENDS_PDU;
    }

    /// It is the last cell of a PDU, and nothing has been posted after it.
    pub(super) const fn end_queue(&mut self) {
        self.cell |= ENDS_PDU | ENDS_QUEUE;
    }

    /// Something was posted after this cell had been planned, and has been planned as well.
    pub(super) const fn find_followed(&mut self) {
        self.cell &= !ENDS_QUEUE;
    }

    /// True if it is the last cell of a PDU.
    #[inline]
    pub(super) const fn ends_pdu(&self) -> bool {
        self.cell & ENDS_PDU != 0
    }

    /// True if the connection must be put on the ready list again.
    #[inline]
    pub(super) const fn is_followed(&self) -> bool {
        self.cell & ENDS_QUEUE == 0
    }
}
