//! Observers of a port: one method per change of state. An observer cannot influence the port.

use crate::packet::{Colour, DropReason, Flow, Packet};
use crate::queue::Occupancy;
use crate::units::Time;

/// Watches the packets of one port. Every method has an empty default.
///
/// Every packet that a port is given is announced by `offered` once and afterwards by exactly one of `sent` or `dropped`, or it is
/// still queued.
pub trait Observer<P> {
    /// A packet has been offered, with the colour it came with.
    #[inline]
    fn offered(&mut self, now: Time, packet: &Packet<P>) {
        let _ = (now, packet);
    }

    /// The policer or the buffer manager has changed the packet's colour from `from` to what it is now.
    #[inline]
    fn marked(&mut self, now: Time, packet: &Packet<P>, from: Colour) {
        let _ = (now, packet, from);
    }

    /// The scheduler has changed the packet's colour from `from` to what it leaves in; `sent` follows.
    #[inline]
    fn remarked(&mut self, now: Time, packet: &Packet<P>, from: Colour) {
        let _ = (now, packet, from);
    }

    /// An AQM has changed the packet's ECN code point to CE: on arrival, and `queued` follows, or when its turn came, and `sent` follows.
    #[inline]
    fn congestion_marked(&mut self, now: Time, packet: &Packet<P>) {
        let _ = (now, packet);
    }

    /// The packet has joined its queue, payload and all; `occupancy` includes it.
    #[inline]
    fn queued(&mut self, now: Time, packet: &Packet<()>, occupancy: &Occupancy) {
        let _ = (now, packet, occupancy);
    }

    /// The packet, which is queued, moves to the queue of flow `to` of a new policy ([`crate::port::Port::switch`]); its own flow is that of the
    /// old policy.
    #[inline]
    fn moved(&mut self, now: Time, packet: &Packet<P>, to: Flow) {
        let _ = (now, packet, to);
    }

    /// The packet has been dropped, on arrival or from its queue; the port is done with it and hands it over.
    #[inline]
    fn dropped(&mut self, now: Time, packet: Packet<P>, reason: DropReason, occupancy: &Occupancy) {
        let _ = (now, packet, reason, occupancy);
    }

    /// The packet's transmission starts at `now` and its last bit leaves at `finish`; `occupancy` no longer includes it.
    #[inline]
    fn sent(&mut self, now: Time, packet: &Packet<P>, finish: Time, occupancy: &Occupancy) {
        let _ = (now, packet, finish, occupancy);
    }
}

/// Observes nothing.
impl<P> Observer<P> for () {}
