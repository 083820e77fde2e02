//! The part of a connection that is touched only when a PDU ends, a transfer starts or arrives, or a state changes.

use crate::connection::MOST_CONNECTIONS;
use crate::transfer::NONE;

/// One connection, in 18 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C, packed(2))]
pub(crate) struct Record {
    /// The newest PDU posted, which links to the oldest, and the one in transfer; `NONE` if all cells have been requested.
    pub(crate) newest_pdu: u32,
    pub(crate) transfer_pdu: u32,
    /// Cells of the PDU in transfer that have not been requested.
    pub(crate) unrequested: u16,
    pub(crate) outstanding: u16,
    /// Neighbours in the queue for a free buffer; the first is `ABSENT` if the connection is not in it.
    before: Number,
    after: Number,
}

const _: () = assert!(size_of::<Record>() == 18, "with a cache line, a PDU and 40 bytes of a ready list, a connection takes 128 bytes");

/// No place in the queue for a free buffer.
const ABSENT: u32 = NONE - 1;

/// The number of a connection, `NONE` or `ABSENT` in 24 bits.
#[derive(Clone, Copy, Debug)]
struct Number([u8; 3]);

const _: () = assert!(MOST_CONNECTIONS <= 1 << 23, "numbers are those below 2^23");

impl Number {
    const fn new(number: u32) -> Number {
        let [a, b, c, _] = number.to_le_bytes();
        Number([a, b, c])
    }

    const fn get(self) -> u32 {
        let [a, b, c] = self.0;
        // Only `NONE` and `ABSENT` have the highest bit.
        (i32::from_le_bytes([0, a, b, c]) >> 8) as u32
    }
}

impl Record {
    pub(crate) const fn new() -> Record {
        let (before, after) = (Number::new(ABSENT), Number::new(NONE));
        Record { newest_pdu: NONE, transfer_pdu: NONE, unrequested: 0, outstanding: 0, before, after }
    }

    pub(crate) const fn has_pdu(&self) -> bool {
        self.newest_pdu != NONE
    }

    /// The neighbours in the queue for a free buffer, `NONE` at the ends; `None` if the connection is not in it.
    pub(crate) const fn neighbours(&self) -> Option<(u32, u32)> {
        match self.before.get() {
            ABSENT => None,
            before => Some((before, self.after.get())),
        }
    }

    pub(crate) const fn join(&mut self, before: u32, after: u32) {
        (self.before, self.after) = (Number::new(before), Number::new(after));
    }

    pub(crate) const fn leave(&mut self) {
        self.before = Number::new(ABSENT);
    }

    pub(crate) const fn set_before(&mut self, before: u32) {
        self.before = Number::new(before);
    }

    pub(crate) const fn set_after(&mut self, after: u32) {
        self.after = Number::new(after);
    }

    /// The next free number after this one, which is free.
    pub(crate) const fn after(&self) -> u32 {
        self.after.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_told_from_none_and_absent() {
        let mut record = Record::new();
        assert_eq!((record.neighbours(), record.after()), (None, NONE));
        for number in [0, 255, 256, 65_535, 65_536, MOST_CONNECTIONS - 1, NONE] {
            record.join(number, NONE);
            assert_eq!(record.neighbours(), Some((number, NONE)));
            record.join(NONE, number);
            assert_eq!(record.neighbours(), Some((NONE, number)));
            record.leave();
            assert_eq!((record.neighbours(), record.after()), (None, number));
        }
    }
}
