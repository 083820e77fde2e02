//! AF_PACKET sockets: a memory-mapped ring to receive, batches of messages to send.
//!
//! Both use virtio-net headers (`PACKET_VNET_HDR`), which say whether checksum or segmentation are still to be done. Both are bound to the
//! index of an interface. When it is deleted and created again under its name, they are opened again.

mod receive_ring;
mod send_socket;
mod socket;

pub(crate) use receive_ring::ReceiveRing;
pub(crate) use send_socket::SendSocket;

/// Opens a packet socket and closes it again.
///
/// # Errors
/// The kernel refuses, for lack of rights or of packet sockets.
pub(crate) fn try_open() -> std::io::Result<()> {
    socket::Socket::open().map(drop)
}
