//! A cell that is booked for a slot, in two words.

use crate::connection::Connection;
use crate::time::Ticks;

/// The connection whose cell leaves, and how late.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Departure {
    /// How long after its planned time, in ticks.
    late: u64,
    /// [`Connection::pack`], and above it what the cell ends.
    cell: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Booked {
    /// How long after its planned time the cell leaves, in ticks.
    pub(crate) late: u64,
    /// When the next cell of the connection may leave, on the clock of its class.
    pub(crate) next: u64,
    /// True if a transfer may be due.
    pub(crate) is_low: bool,
    pub(crate) is_last: bool,
}

/// The cell is the last of a PDU, or of all PDUs of its connection.
const ENDS_PDU: u64 = 1 << 63;
const ENDS_QUEUE: u64 = 1 << 62;

#[derive(Clone, Copy, Debug)]
#[repr(u64)]
pub(crate) enum Last {
    Pdu = ENDS_PDU,
    /// A PDU after which none is posted.
    Queue = ENDS_PDU | ENDS_QUEUE,
}

impl Departure {
    /// A cell of the connection with this [`Connection::pack`], which ends nothing.
    #[inline]
    pub(crate) const fn new(connection: u64, late: u64) -> Departure {
        Departure { late, cell: connection }
    }

    /// Marks the cell as a last one; true if it ends the queue.
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

    /// A later cell has been posted and planned since this one was planned.
    pub(crate) const fn set_followed(&mut self) {
        self.cell &= !ENDS_QUEUE;
    }

    #[inline]
    pub(crate) const fn ends_pdu(&self) -> bool {
        self.cell & ENDS_PDU != 0
    }

    #[inline]
    pub(crate) const fn is_followed(&self) -> bool {
        self.cell & ENDS_QUEUE == 0
    }
}
