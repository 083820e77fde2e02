//! What decides on the queue of a packet within its class, and the key by which a scheduler assigns queues itself.

/// How the packets of a class are spread over its queues.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Spread {
    /// A hash of addresses, protocol and ports.
    #[default]
    Flow,
    /// The code point of congestion notification: ECT(1) and CE to the second of two queues, the rest to the first (RFC 9331, section 5.1).
    CodePoint,
    /// The scheduler of the queues, by the key of the packet; a hash says where it looks first.
    Key,
}

/// Hashes of what a scheduler may assign queues by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct FlowKey {
    /// Of addresses, protocol and ports.
    pub flow: u32,
    /// Of the source address.
    pub source: u32,
    /// Of the destination address.
    pub destination: u32,
}
