//! The XDP program that hands the frames of an interface to the sockets of their receive queues, loaded by raw system calls.
//!
//! The program has six instructions. It redirects a frame to the socket in its map at the index of the receive queue. Where there is none it passes
//! the frame to the host. It is attached in native mode by a BPF link, so it ends with the process, however that ends.
//!
//! **Source.** `struct bpf_insn`, `union bpf_attr` and `struct xdp_md` of `linux/bpf.h`.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

const MAP_CREATE: libc::c_long = 0;
const MAP_UPDATE_ELEMENT: libc::c_long = 2;
const PROGRAM_LOAD: libc::c_long = 5;
const LINK_CREATE: libc::c_long = 28;
const LINK_DETACH: libc::c_long = 34;

/// `BPF_MAP_TYPE_XSKMAP`.
const SOCKET_MAP: u32 = 17;
/// `BPF_PROG_TYPE_XDP`.
const XDP_PROGRAM: u32 = 6;
/// `BPF_XDP`, the type of attachment.
const XDP_ATTACHMENT: u32 = 37;
/// `XDP_FLAGS_DRV_MODE`: in the driver, not in the generic path behind it.
const NATIVE: u32 = 4;

/// The program on one interface, until it is dropped.
#[derive(Debug)]
pub(super) struct Redirect {
    link: OwnedFd,
    _program: OwnedFd,
    map: OwnedFd,
}

impl Redirect {
    /// Loads the program with a map for this many queues, and attaches it to the interface of this index.
    ///
    /// # Errors
    /// What was refused: with EPERM for lack of CAP_BPF or CAP_NET_ADMIN, with EOPNOTSUPP by a driver without native XDP, with EBUSY beside another
    /// program.
    pub(super) fn attach(index: i32, queues: u32) -> Result<Redirect, (&'static str, io::Error)> {
        // Type, bytes of a key, bytes of a value, entries.
        let map = descriptor(MAP_CREATE, &mut [SOCKET_MAP, 4, 4, queues]).map_err(|cause| ("making a map of AF_XDP sockets", cause))?;
        let program = load(&map).map_err(|cause| ("loading an XDP program", cause))?;
        let link = descriptor(LINK_CREATE, &mut [program.as_raw_fd() as u32, index as u32, XDP_ATTACHMENT, NATIVE])
            .map_err(|cause| ("attaching an XDP program in native mode", cause))?;
        Ok(Redirect { link, _program: program, map })
    }

    /// Hands the frames of a queue to a socket.
    pub(super) fn give(&self, queue: u32, socket: BorrowedFd) -> io::Result<()> {
        #[repr(C)]
        struct Update {
            map: u32,
            padding: u32,
            key: u64,
            value: u64,
            flags: u64,
        }
        let value = socket.as_raw_fd() as u32;
        let address = |number: &u32| std::ptr::from_ref(number) as u64;
        let mut update = Update { map: self.map.as_raw_fd() as u32, padding: 0, key: address(&queue), value: address(&value), flags: 0 };
        // SAFETY: the key and the value live for the call, and have the lengths that the map was made with.
        unsafe { call(MAP_UPDATE_ELEMENT, &mut update) }.map(drop)
    }
}

impl Drop for Redirect {
    fn drop(&mut self) {
        // A child process may still hold the descriptor, so closing it does not detach for certain.
        // SAFETY: the attributes are one number, and no memory is named.
        let _ = unsafe { call(LINK_DETACH, &mut [self.link.as_raw_fd() as u32]) };
    }
}

fn load(map: &OwnedFd) -> io::Result<OwnedFd> {
    /// Code, registers (source in the upper half), offset and constant of an instruction.
    #[repr(C)]
    struct Instruction(u8, u8, i16, i32);
    /// `xdp_md.rx_queue_index`.
    const RECEIVE_QUEUE: i16 = 16;
    const XDP_PASS: i32 = 2;
    const REDIRECT_MAP: i32 = 51;
    let program = [
        // r2 = *(u32 *)(r1 + RECEIVE_QUEUE)
        Instruction(0x61, 0x12, RECEIVE_QUEUE, 0),
        // r1 = map, in two halves; the source register 1 says that it is a descriptor
        Instruction(0x18, 0x11, 0, map.as_raw_fd()),
        Instruction(0, 0, 0, 0),
        // r3 = XDP_PASS, where the map has no socket
        Instruction(0xb7, 0x03, 0, XDP_PASS),
        Instruction(0x85, 0, 0, REDIRECT_MAP),
        // exit
        Instruction(0x95, 0, 0, 0),
    ];
    #[repr(C)]
    struct Load {
        kind: u32,
        instructions: u32,
        program: u64,
        licence: u64,
        log_level: u32,
        log_length: u32,
        log: u64,
        kernel_version: u32,
        flags: u32,
        name: [u8; 16],
        interface: u32,
        attachment: u32,
    }
    let mut load = Load {
        kind: XDP_PROGRAM,
        instructions: program.len() as u32,
        program: program.as_ptr() as u64,
        licence: c"MIT".as_ptr() as u64,
        log_level: 0,
        log_length: 0,
        log: 0,
        kernel_version: 0,
        flags: 0,
        name: *b"tidegate\0\0\0\0\0\0\0\0",
        interface: 0,
        attachment: XDP_ATTACHMENT,
    };
    // SAFETY: the instructions and the licence live for the call, which returns a descriptor.
    unsafe { call(PROGRAM_LOAD, &mut load).map(|number| OwnedFd::from_raw_fd(number)) }
}

/// A call with attributes that are numbers, which returns a descriptor.
fn descriptor<const N: usize>(command: libc::c_long, attributes: &mut [u32; N]) -> io::Result<OwnedFd> {
    // SAFETY: no memory is named by these attributes, and the number returned is a descriptor that nothing else owns.
    unsafe { call(command, attributes).map(|number| OwnedFd::from_raw_fd(number)) }
}

/// `bpf(2)`.
///
/// # Safety
/// Addresses in the attributes are those of memory that lives for the call.
unsafe fn call<T>(command: libc::c_long, attributes: &mut T) -> io::Result<libc::c_int> {
    // SAFETY: the attributes live for the call and are as long as said; the caller answers for addresses in them.
    let answer = unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_mut(attributes), size_of::<T>()) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer as libc::c_int) }
}
