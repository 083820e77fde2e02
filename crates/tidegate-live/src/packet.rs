//! AF_PACKET sockets: a memory-mapped ring to receive, batches of messages to send.
//!
//! Both use virtio-net headers (`PACKET_VNET_HDR`), which say whether checksum or segmentation are still to be done. Both are bound to the
//! index of an interface. When it is deleted and created again under its name, they are opened again.

mod batch;
mod receive_ring;
mod send_socket;
mod socket;

pub(crate) use receive_ring::ReceiveRing;
pub(crate) use send_socket::SendSocket;
pub(crate) use socket::FanoutGroup;

/// Keeps an interface in promiscuous mode for as long as it lives.
#[derive(Debug)]
pub(crate) struct Promiscuous {
    _socket: socket::Socket,
}

impl Promiscuous {
    /// Lets the interface of this index receive frames for other addresses.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(crate) fn hold(index: i32) -> std::io::Result<Promiscuous> {
        let socket = socket::Socket::open()?;
        socket.bind(index, false)?;
        socket.make_promiscuous(index)?;
        Ok(Promiscuous { _socket: socket })
    }
}

/// Opens a packet socket and closes it again.
///
/// # Errors
/// The kernel refuses, for lack of rights or of packet sockets.
pub(crate) fn try_open() -> std::io::Result<()> {
    socket::Socket::open().map(drop)
}
