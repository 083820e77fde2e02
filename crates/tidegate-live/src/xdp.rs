//! AF_XDP: frames go from one interface through a port to the other without a copy, in memory that the kernel shares.
//!
//! Each interface has one socket per receive queue ([`XdpInterface`]). All sockets of a bridge register the same memory. Its chunks are the slots of
//! the frame pools of both directions: those of one direction are filled at its incoming interface, and sent and returned at the other. So each of
//! the four rings of a socket has one thread on this side.
//!
//! Native mode only: in generic mode a host with segmentation offload sends super-frames that never arrive.

mod features;
mod interface;
mod program;
mod receiver;
mod ring;
mod socket;
mod transmitter;

use crate::endpoint::Endpoint;
use crate::error::LiveError;
use crate::interface::{ControlSocket, InterfaceState};
use crate::memory::Piece;
use crate::pool::FramePool;
use interface::XdpInterface;
pub(crate) use receiver::XdpReceiver;
use socket::{Lengths, Memory};
use std::io;
use std::sync::Arc;
pub(crate) use transmitter::XdpTransmitter;

/// What the kernel leaves free before a received frame (`XDP_PACKET_HEADROOM`).
const HEADROOM: u32 = 256;
/// The bytes of a frame beyond its MTU: an Ethernet header and two VLAN tags.
const FRAME_HEADER: u32 = 22;
/// The frames in the rings between the port and the kernel.
const SEND_RING: u32 = 1024;
/// The most frames that a direction holds, 256 MB of locked memory: what comes on top is dropped for lack of memory.
const MOST_HELD: u32 = 131_072;

/// Both ends of a direction, and its frames.
pub(crate) struct XdpEnds {
    pub(crate) receiver: XdpReceiver,
    pub(crate) transmitter: XdpTransmitter,
    pub(crate) pool: FramePool,
    /// The outgoing interface completes checksums.
    pub(crate) checksums: bool,
}

/// The ends of both directions.
pub(crate) struct XdpPair {
    pub(crate) directions: [XdpEnds; 2],
    /// The mode of both interfaces, for users.
    pub(crate) mode: String,
}

/// The slots that a direction holds frames in, and the longest frame of its policy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) slots: u32,
    pub(crate) longest: u32,
}

/// Opens two interfaces, with receive rings of about `ring` frames. `held` is about the directions from the first interface and from the second.
///
/// # Errors
/// Why these interfaces need packet sockets, as the end of a sentence.
pub(crate) fn open(
    control: &ControlSocket,
    endpoints: [&Endpoint; 2],
    states: [&InterfaceState; 2],
    held: [Held; 2],
    ring: u32,
) -> Result<XdpPair, String> {
    let chunk = fits(&endpoints, states[0].mtu.max(states[1].mtu))?;
    let names = endpoints.map(|endpoint| endpoint.name.as_str());
    let queues = names.map(|name| control.receive_queues(name));
    let lengths = queues.map(|queues| Lengths { receive: (ring / queues).next_power_of_two().max(64), send: SEND_RING });
    let slots: [u32; 2] = std::array::from_fn(|from| {
        let [receive, send] = [lengths[from].receive.saturating_mul(queues[from]), SEND_RING];
        held[from].slots.min(MOST_HELD).saturating_add(receive).saturating_add(send)
    });
    let no_memory = |cause: io::Error| format!("there is no memory for frames ({cause})");
    let mut pieces = Piece::several(slots[0] as usize + slots[1] as usize, chunk as usize).map_err(no_memory)?;
    let mut pools: [FramePool; 2] = std::array::from_fn(|from| {
        let (first, own) = (if from == 0 { 0 } else { slots[0] }, slots[from] as usize);
        FramePool::of_chunks(pieces.by_ref().take(own).collect(), first, chunk, held[from].longest)
    });
    let length = (slots[0] as usize + slots[1] as usize) * chunk as usize;
    let memory = Memory { start: pools[0].memory(), length, chunk };
    let open = |side: usize| {
        let opened = XdpInterface::open(memory, lengths[side], states[side].index, queues[side]);
        opened.map(Arc::new).map_err(|(doing, cause)| refusal(doing, names[side], length, &cause))
    };
    let [a, b] = [open(0)?, open(1)?];
    let mode = mode([(names[0], &a), (names[1], &b)]);
    let [there, back] = &mut pools;
    let failed = |error: LiveError| error.to_string();
    let receivers = [XdpReceiver::new(names[0], a.clone(), there), XdpReceiver::new(names[1], b.clone(), back)];
    let transmitters = [XdpTransmitter::new(names[1], b.clone(), there), XdpTransmitter::new(names[0], a.clone(), back)];
    let ([from_a, from_b], [to_b, to_a], [there, back]) = (receivers, transmitters, pools);
    let directions = [
        XdpEnds { receiver: from_a.map_err(failed)?, transmitter: to_b.map_err(failed)?, pool: there, checksums: b.abilities().checksums },
        XdpEnds { receiver: from_b.map_err(failed)?, transmitter: to_a.map_err(failed)?, pool: back, checksums: a.abilities().checksums },
    ];
    Ok(XdpPair { directions, mode })
}

/// The sockets that an interface would get for `Io::Xdp`, as far as it is known without trying, as the end of a sentence.
///
/// # Errors
/// Why it would get packet sockets.
pub(crate) fn expected(control: &ControlSocket, endpoint: &Endpoint, state: &InterfaceState) -> Result<String, String> {
    fits(&[endpoint], state.mtu)?;
    let features = match features::of(state.index) {
        Ok(features) => features,
        Err(_) => return Err("this kernel does not tell whether its driver has native XDP (Linux 6.3), so it is to be tried".to_owned()),
    };
    if !features.are_native() {
        return Err("its driver has no native XDP".to_owned());
    }
    Ok(format!("AF_XDP: {}", sockets(features.copy_nothing(), control.receive_queues(&endpoint.name))))
}

/// The bytes that hold a frame of interfaces with at most this MTU.
fn fits(endpoints: &[&Endpoint], mtu: u32) -> Result<u32, String> {
    if let Some(endpoint) = endpoints.iter().find(|endpoint| endpoint.vlan.is_some()) {
        return Err(format!("{} is a VLAN of an interface, whose tags AF_XDP does not see", endpoint.shown));
    }
    let longest = mtu.saturating_add(FRAME_HEADER + HEADROOM);
    [2048, 4096].into_iter().find(|chunk| longest <= *chunk).ok_or_else(|| too_long(mtu))
}

fn too_long(mtu: u32) -> String {
    format!("frames of an MTU of {mtu} bytes do not fit into a page")
}

/// Why `auto` leaves AF_XDP alone before it is tried: it is no slower for certain only where a network card has it in its driver.
pub(crate) fn not_worth_it(control: &ControlSocket, endpoints: &[&Endpoint]) -> Option<String> {
    let found = endpoints.iter().find(|endpoint| !control.is_card(&endpoint.name))?;
    Some(format!("{} is no network card, and AF_XDP copies its frames twice", found.name))
}

fn mode(interfaces: [(&str, &Arc<XdpInterface>); 2]) -> String {
    let each = interfaces.map(|(name, interface)| format!("{name} {}", sockets(interface.abilities().zero_copy, interface.queues())));
    format!("AF_XDP: {}", each.join("; "))
}

fn sockets(zero_copy: bool, queues: u32) -> String {
    let copies = if zero_copy { "zero-copy" } else { "copied by the kernel" };
    format!("native, {copies}, {queues} {}", if queues == 1 { "queue" } else { "queues" })
}

fn refusal(doing: &str, name: &str, length: usize, cause: &io::Error) -> String {
    let why = match cause.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => ": it needs CAP_BPF, CAP_NET_ADMIN and CAP_NET_RAW".to_owned(),
        Some(libc::EOPNOTSUPP) => ": its driver has no native XDP".to_owned(),
        Some(libc::ERANGE) => ": its MTU is too long for its driver's XDP".to_owned(),
        Some(libc::EBUSY) => ": another program holds it (`ip link show` names one)".to_owned(),
        Some(libc::ENOBUFS | libc::ENOMEM) => format!(": {} MB of memory have to be locked, grant CAP_IPC_LOCK", length >> 20),
        Some(libc::EAFNOSUPPORT) => ": this kernel has no AF_XDP (CONFIG_XDP_SOCKETS)".to_owned(),
        _ => String::new(),
    };
    format!("{doing} on {name} failed ({cause}){why}")
}
