//! Packets and their bytes.

use serde::Serialize;

/// A number of packets and their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Volume {
    /// Packets.
    pub packets: u64,
    /// Bytes of those packets, without the port's per-packet overhead.
    pub bytes: u64,
}

impl Volume {
    /// `packets` packets with `bytes` bytes in all.
    pub const fn new(packets: u64, bytes: u64) -> Self {
        Self { packets, bytes }
    }

    /// Whether there is neither a packet nor a byte in it.
    pub const fn is_empty(self) -> bool {
        self.packets == 0 && self.bytes == 0
    }

    /// The sum, at most `u64::MAX` packets and bytes; for what is only shown.
    pub const fn saturating_add(self, other: Self) -> Self {
        Self { packets: self.packets.saturating_add(other.packets), bytes: self.bytes.saturating_add(other.bytes) }
    }

    /// The sum, or `None` if packets or bytes leave the range of `u64`.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        Some(Self { packets: self.packets.checked_add(other.packets)?, bytes: self.bytes.checked_add(other.bytes)? })
    }
}
