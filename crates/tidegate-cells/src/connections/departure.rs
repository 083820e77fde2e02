//! A cell that has been given a slot, in two words.

use crate::connection::Connection;
use crate::time::Ticks;

/// Which cell leaves, and how late.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Departure {
    /// How long after its planned time, in ticks.
    late: u64,
    /// [`Connection::pack`], and above it what the cell is the last of.
    cell: u64,
}

/// What follows when a cell has been given a slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Booked {
    /// How long after its planned time the cell leaves, in ticks.
    pub(crate) late: u64,
    /// When the next cell of the connection may leave, on the clock of its class.
    pub(crate) next: u64,
    /// True if it may be time for a transfer.
    pub(crate) is_low: bool,
    /// True if it is the last cell of a PDU.
    pub(crate) is_last: bool,
}

/// The last cell of a PDU, and of all that its connection had to send.
const ENDS_PDU: u64 = 1 << 63;
const ENDS_QUEUE: u64 = 1 << 62;

/// What a cell is the last of.
#[derive(Clone, Copy, Debug)]
#[repr(u64)]
pub(crate) enum Last {
    Pdu = ENDS_PDU,
    /// Of a PDU after which nothing has been posted.
    Queue = ENDS_PDU | ENDS_QUEUE,
}

impl Departure {
    /// A cell of the connection that [`Connection::pack`] names, which is not a last one.
    #[inline]
    pub(crate) const fn new(connection: u64, late: u64) -> Departure {
        Departure { late, cell: connection }
    }

    /// It is a last cell; true if it is the last of all.
    pub(crate) const fn end(&mut self, last: Last) -> bool {
        self.cell |= last as u64;
        !self.is_followed()
    }

    #[inline]
    pub(crate) const fn connection(&self) -> Connection {
        Connection::unpack(self.cell)
    }

    #[inline]
    pub(crate) const fn late(&self) -> Ticks {
        Ticks(self.late)
    }

    /// Something was posted after this cell had been planned, and has been planned as well.
    pub(crate) const fn find_followed(&mut self) {
        self.cell &= !ENDS_QUEUE;
    }

    /// True if it is the last cell of a PDU.
    #[inline]
    pub(crate) const fn ends_pdu(&self) -> bool {
        self.cell & ENDS_PDU != 0
    }

    /// True if the connection must be put on the ready list again.
    #[inline]
    pub(crate) const fn is_followed(&self) -> bool {
        self.cell & ENDS_QUEUE == 0
    }
}
