//! Frames by AF_PACKET sockets: a memory-mapped ring to receive, batches of messages to send.
//!
//! Both sockets speak virtio-net headers (`PACKET_VNET_HDR`), so a frame is never mistaken for complete while its checksum or its
//! segmentation is still to be done, and both are bound to an interface's index: when the interface is deleted and made anew under its
//! old name, they are opened again.

mod receive_ring;
mod send_socket;
mod socket;

pub(crate) use receive_ring::ReceiveRing;
pub(crate) use send_socket::SendSocket;
