//! The name of a connection.

/// The most connections of one scheduler: their rates must sum up in 64 bits.
pub const MOST_CONNECTIONS: u32 = 1 << 22;

/// One connection (VC) of one scheduler. A number that is used again has another generation, so the scheduler recognises the name of a
/// removed connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Connection {
    pub(crate) index: u32,
    pub(crate) generation: u16,
}

impl Connection {
    /// Its number, below the number of connections the scheduler was built for: an index for tables of the environment.
    #[inline]
    pub const fn index(self) -> usize {
        self.index as usize
    }

    /// Generation and index in the lowest 38 bits of a word.
    #[inline]
    pub(crate) const fn pack(self) -> u64 {
        (self.generation as u64) << INDEX_BITS | self.index as u64
    }

    /// The connection of such a word; higher bits are ignored.
    #[inline]
    pub(crate) const fn unpack(word: u64) -> Connection {
        Connection { index: word as u32 & ((1 << INDEX_BITS) - 1), generation: (word >> INDEX_BITS) as u16 }
    }
}

const INDEX_BITS: u32 = MOST_CONNECTIONS.trailing_zeros();
