//! A packet inside the machine.

/// A packet. It names its flow; everything constant is with the flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Packet {
    /// When its last bit arrived, in picoseconds.
    pub arrived: u64,
    /// Its flow.
    pub flow: u32,
    /// Bytes of its frame.
    pub length: u32,
    /// A uniform draw, which chooses its row of costs.
    pub draw: u32,
    /// True if it was the first that a core took after a wake-up.
    pub woken: bool,
}
