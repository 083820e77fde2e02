//! What decides on the queue of a packet within its class.

/// How the packets of a class are spread over its queues.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Spread {
    /// A hash of addresses, protocol and ports.
    #[default]
    Flow,
    /// The code point of congestion notification: ECT(1) and CE to the second of two queues, the rest to the first (RFC 9331, section 5.1).
    CodePoint,
}
