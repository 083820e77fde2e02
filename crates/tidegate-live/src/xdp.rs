//! AF_XDP: frames go from one interface through a port to the other without a copy, in memory that the kernel shares.
//!
//! Each interface has one socket per receive queue ([`XdpInterface`]). All sockets of a bridge register the same memory. Its chunks are the slots of
//! the frame pools of both directions: those of one direction are filled at its incoming interface, and sent and returned at the other. A worker has
//! some of the queues of the incoming interface, one of the other's, and a pool. So each of the four rings of a socket has one thread on this side.
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
use crate::interface_queues::QueueShortage;
use crate::memory::Piece;
use crate::pool::FramePool;
use crate::workers::ring as worker_ring;
use interface::{Share, XdpInterface};
pub(crate) use receiver::XdpReceiver;
use socket::{Lengths, Memory};
use std::io;
use std::ptr::NonNull;
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

/// Both ends of a worker of a direction, and its frames.
pub(crate) struct XdpEnds {
    pub(crate) receiver: XdpReceiver,
    pub(crate) transmitter: XdpTransmitter,
    pub(crate) pool: FramePool,
    /// The outgoing interface completes checksums.
    pub(crate) checksums: bool,
}

/// The ends of both directions, for each worker.
pub(crate) struct XdpPair {
    pub(crate) directions: [Vec<XdpEnds>; 2],
    /// The mode of both interfaces, for users.
    pub(crate) mode: String,
}

/// The slots that each worker of a direction holds frames in, the longest frame of its policy, and the number of its workers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) slots: u32,
    pub(crate) longest: u32,
    pub(crate) workers: u32,
}

impl Held {
    /// The slots of a worker, whose incoming interface has `queues` with rings of `receive` frames.
    fn slots_of(&self, worker: u32, queues: u32, receive: u32) -> u32 {
        let own = queues.saturating_sub(worker).div_ceil(self.workers);
        let in_rings = worker_ring::CAPACITY as u32 * (self.workers - 1);
        self.slots.min(MOST_HELD / self.workers).saturating_add(receive.saturating_mul(own)).saturating_add(SEND_RING + in_rings)
    }
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
    let queues = names.map(|name| control.queues(name));
    let most = held[0].workers.max(held[1].workers);
    if let Some(QueueShortage { why, cure }) = names.into_iter().zip(queues).find_map(|(name, queues)| queues.shortage(name, most)) {
        return Err(format!("{why} ({cure})"));
    }
    let queues = queues.map(|queues| queues.receive);
    let lengths = queues.map(|queues| Lengths { receive: (ring / queues).next_power_of_two().max(64), send: SEND_RING });
    let slots: [Vec<u32>; 2] =
        [0, 1].map(|from| (0..held[from].workers).map(|worker| held[from].slots_of(worker, queues[from], lengths[from].receive)).collect());
    let chunks: usize = slots.iter().flatten().map(|&slots| slots as usize).sum();
    let no_memory = |cause: io::Error| format!("there is no memory for frames ({cause})");
    let pieces: Vec<Piece> = Piece::several(chunks, chunk as usize).map_err(no_memory)?.collect();
    let start = pieces.first().map_or(NonNull::dangling(), Piece::start);
    let mut pieces = pieces.into_iter();
    let memory = Memory { start, length: chunks * chunk as usize, chunk };
    let open = |side: usize| {
        let opened = XdpInterface::open(memory, lengths[side], states[side].index, queues[side]);
        opened.map(Arc::new).map_err(|(doing, cause)| refusal(doing, names[side], memory.length, &cause))
    };
    let interfaces = [open(0)?, open(1)?];
    let mode = mode(names, &interfaces, held.map(|held| held.workers));
    let mut ends = |from: usize, worker: usize| {
        let [incoming, outgoing] = [from, 1 - from].map(|side| (names[side], interfaces[side].clone()));
        let share = Share { worker, workers: held[from].workers as usize };
        let own = pieces.by_ref().take(slots[from][worker] as usize).collect();
        let mut pool = FramePool::of_chunks(own, (start, chunks), held[from].longest);
        let checksums = outgoing.1.abilities().checksums;
        let receiver = XdpReceiver::new(incoming.0, incoming.1, share, &mut pool)?;
        let transmitter = XdpTransmitter::new(outgoing.0, outgoing.1, share, &mut pool)?;
        Ok(XdpEnds { receiver, transmitter, pool, checksums })
    };
    let mut of = |from: usize| (0..held[from].workers as usize).map(|worker| ends(from, worker)).collect::<Result<Vec<_>, LiveError>>();
    let failed = |error: LiveError| error.to_string();
    Ok(XdpPair { directions: [of(0).map_err(failed)?, of(1).map_err(failed)?], mode })
}

/// The sockets that an interface would get for `Io::Xdp` with this number of workers, as far as it is known without trying, as the end of a sentence.
///
/// # Errors
/// Why it would get packet sockets, and what mends a lack of queues.
pub(crate) fn expected(
    control: &ControlSocket,
    endpoint: &Endpoint,
    state: &InterfaceState,
    workers: u32,
) -> Result<String, (String, Option<String>)> {
    let otherwise = |why: String| (why, None);
    fits(&[endpoint], state.mtu).map_err(otherwise)?;
    let queues = control.queues(&endpoint.name);
    if let Some(QueueShortage { why, cure }) = queues.shortage(&endpoint.name, workers) {
        return Err((why, Some(cure)));
    }
    let features = match features::of(state.index) {
        Ok(features) => features,
        Err(_) => {
            let why = "this kernel does not tell whether its driver has native XDP (Linux 6.3), so it is to be tried";
            return Err(otherwise(why.to_owned()));
        }
    };
    if !features.are_native() {
        return Err(otherwise("its driver has no native XDP".to_owned()));
    }
    let enough = if workers > 1 { format!(", enough for {workers} workers") } else { String::new() };
    Ok(format!("AF_XDP: {}{enough}", sockets(features.copy_nothing(), queues.receive)))
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

/// The mode of both interfaces, and the queues of each of several workers there and back.
fn mode(names: [&str; 2], interfaces: &[Arc<XdpInterface>; 2], workers: [u32; 2]) -> String {
    let each = [0, 1].map(|side| format!("{} {}", names[side], sockets(interfaces[side].abilities().zero_copy, interfaces[side].queues())));
    let of_worker = |share: Share, queues: u32| {
        let receives: Vec<String> = share.queues(queues).map(|queue| queue.to_string()).collect();
        format!("worker {} receives by {} and sends by {}", share.worker + 1, receives.join(", "), share.sends_by())
    };
    let of_direction = |from: usize| {
        let count = workers[from] as usize;
        let all: Vec<String> = (0..count).map(|worker| of_worker(Share { worker, workers: count }, interfaces[from].queues())).collect();
        (count > 1).then(|| format!("queues from {} to {}: {}", names[from], names[1 - from], all.join(", ")))
    };
    let all: Vec<String> = each.into_iter().chain([0, 1].into_iter().filter_map(of_direction)).collect();
    format!("AF_XDP: {}", all.join("; "))
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
