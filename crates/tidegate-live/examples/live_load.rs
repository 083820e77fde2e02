//! Load for `cargo xtask bench-live`: a sender, a meter of delays, and a forwarder that does nothing else.
//!
//! | command | does |
//! |---|---|
//! | `send INTERFACE LENGTH RATE SECONDS` | sends UDP frames of LENGTH bytes, RATE a second or as many as it can with 0; prints the frames that the kernel took and the nanoseconds of processor time |
//! | `feed INTERFACE LENGTH PORTS RATE SECONDS` | sends frames from and to these UDP ports (FROM:TO), RATE a second, and sleeps between bursts: it shares its core with what carries them; prints the frames that the kernel took |
//! | `measure INTERFACE SECONDS` | prints the delays of frames that the sender has stamped: 50 %, 99 % and the number, in nanoseconds |
//! | `forward A B` | carries frames from A to B with recvmmsg and sendmmsg, until it is ended |
//!
//! The sender has sockets without a queueing discipline (`PACKET_QDISC_BYPASS`). One frame in 64 is stamped with the clock of the day, and the meter
//! reads the kernel's stamp of its arrival.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use std::{io, mem, ptr};

/// The most frames per system call.
const BATCH: usize = 64;
/// Frames that `feed` sends between two sleeps.
const FEED_BURST: usize = 32;
/// The longest time between calls of the sender at a given rate, which makes batches short where it is low.
const PACE: f64 = 20e-6;
/// Where a stamp begins: behind the headers of Ethernet, IPv4 and UDP. A mark comes before the time.
const STAMP: usize = 42;
const MARK: [u8; 4] = *b"stmp";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words[..] {
        ["send", interface, length, rate, seconds] => match (length.parse(), rate.parse(), seconds.parse()) {
            (Ok(length), Ok(rate), Ok(seconds)) if (60..=1514).contains(&length) => send(interface, length, rate, seconds),
            _ => return usage(),
        },
        ["feed", interface, length, ports, rate, seconds] => match (length.parse(), read_ports(ports), rate.parse(), seconds.parse()) {
            (Ok(length), Some(ports), Ok(rate), Ok(seconds)) if (60..=1514).contains(&length) && rate > 0.0 => {
                feed(interface, length, ports, rate, seconds)
            }
            _ => return usage(),
        },
        ["measure", interface, seconds] => match seconds.parse() {
            Ok(seconds) => measure(interface, seconds),
            _ => return usage(),
        },
        ["forward", a, b] => forward(a, b),
        _ => return usage(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(cause) => {
            eprintln!("error: {cause}");
            ExitCode::from(3)
        }
    }
}

fn usage() -> ExitCode {
    eprintln!(
        "usage: live_load send INTERFACE LENGTH(60 to 1514) RATE SECONDS | feed INTERFACE LENGTH FROM:TO RATE SECONDS | measure INTERFACE SECONDS | forward A B"
    );
    ExitCode::from(2)
}

/// A packet socket on an interface, which receives if asked.
fn socket(interface: &str, receiving: bool) -> io::Result<OwnedFd> {
    let name = CString::new(interface)?;
    // SAFETY: plain calls with arguments that live for them; the descriptor is owned once it is known to be one.
    unsafe {
        let descriptor = libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0);
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        let socket = OwnedFd::from_raw_fd(descriptor);
        set(&socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 1)?;
        set(&socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1)?;
        set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, 16 << 20)?;
        set(&socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, 4 << 20)?;
        let mut address: libc::sockaddr_ll = mem::zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = if receiving { (libc::ETH_P_ALL as u16).to_be() } else { 0 };
        address.sll_ifindex = libc::if_nametoindex(name.as_ptr()) as i32;
        check(libc::bind(descriptor, ptr::from_ref(&address).cast(), size_of_val(&address) as libc::socklen_t) as isize)?;
        if receiving {
            let request = libc::packet_mreq {
                mr_ifindex: address.sll_ifindex,
                mr_type: libc::PACKET_MR_PROMISC as u16,
                mr_alen: 0,
                mr_address: [0; 8],
            };
            set(&socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, request)?;
        }
        Ok(socket)
    }
}

fn set<T>(socket: &OwnedFd, level: libc::c_int, option: libc::c_int, value: T) -> io::Result<()> {
    // SAFETY: the value lives for the call and is as long as said.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, ptr::from_ref(&value).cast(), size_of::<T>() as libc::socklen_t) }
        as isize)
    .map(drop)
}

fn check(answer: isize) -> io::Result<usize> {
    usize::try_from(answer).map_err(|_| io::Error::last_os_error())
}

/// Before all of ordinary priority, so that other work on the core is no part of the measurement.
fn run_first() {
    let parameters = libc::sched_param { sched_priority: 20 };
    // SAFETY: the parameters live for the call, which is about the calling thread. A refusal only means more noise.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) };
}

fn nanoseconds(clock: libc::clockid_t) -> u64 {
    let mut at = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure lives for the call.
    unsafe { libc::clock_gettime(clock, &mut at) };
    at.tv_sec as u64 * 1_000_000_000 + at.tv_nsec as u64
}

/// An Ethernet frame of `length` bytes, its check sequence not counted, with a UDP datagram that no host takes.
fn frame(length: usize) -> Vec<u8> {
    let mut frame = vec![0x02, 0, 0, 0, 0, 9, 0x02, 0, 0, 0, 0, 8, 0x08, 0x00, 0x45, 0];
    frame.extend(((length - 14) as u16).to_be_bytes());
    frame.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 10, 77, 0, 1, 10, 77, 0, 2]);
    // Bridges with netfilter drop frames without it.
    let checksum = !tidegate_wire::checksum::sum(&frame[14..34]);
    frame[24..26].copy_from_slice(&checksum.to_be_bytes());
    frame.extend([0x0f, 0xa0, 0x13, 0x88]);
    frame.extend(((length - 34) as u16).to_be_bytes());
    frame.resize(length, 0);
    frame
}

fn send(interface: &str, length: usize, rate: f64, seconds: f64) -> io::Result<()> {
    let socket = socket(interface, false)?;
    run_first();
    let mut frames: Vec<Vec<u8>> = (0..BATCH).map(|_| frame(length)).collect();
    frames[0][STAMP..STAMP + 4].copy_from_slice(&MARK);
    let mut pieces: Vec<libc::iovec> =
        frames.iter_mut().map(|frame| libc::iovec { iov_base: frame.as_mut_ptr().cast(), iov_len: frame.len() }).collect();
    // SAFETY: zero is a valid value of every member.
    let mut headers: Vec<libc::mmsghdr> = (0..BATCH).map(|_| unsafe { mem::zeroed() }).collect();
    for (header, piece) in headers.iter_mut().zip(&mut pieces) {
        (header.msg_hdr.msg_iov, header.msg_hdr.msg_iovlen) = (piece, 1);
    }
    let at_once = if rate > 0.0 { (rate * PACE).clamp(1.0, BATCH as f64) as usize } else { BATCH };
    let (start, before, mut sent, mut next) = (Instant::now(), nanoseconds(libc::CLOCK_THREAD_CPUTIME_ID), 0_u64, 0);
    while start.elapsed().as_secs_f64() < seconds {
        if rate > 0.0 {
            let due = Duration::from_secs_f64(sent as f64 / rate);
            while start.elapsed() < due {
                std::hint::spin_loop();
            }
        }
        let count = at_once.min(BATCH - next);
        if next == 0 {
            frames[0][STAMP + 4..STAMP + 12].copy_from_slice(&nanoseconds(libc::CLOCK_REALTIME).to_be_bytes());
        }
        // SAFETY: the headers describe frames that live for the call.
        let answer = unsafe { libc::sendmmsg(socket.as_raw_fd(), headers.as_mut_ptr().add(next), count as u32, libc::MSG_DONTWAIT) };
        match check(answer as isize) {
            Ok(taken) => {
                sent += taken as u64;
                next = (next + taken) % BATCH;
            }
            Err(cause) if matches!(cause.raw_os_error(), Some(libc::EAGAIN | libc::ENOBUFS)) => {}
            Err(cause) => return Err(cause),
        }
    }
    println!("{sent} {}", nanoseconds(libc::CLOCK_THREAD_CPUTIME_ID) - before);
    Ok(())
}

fn read_ports(text: &str) -> Option<[u16; 2]> {
    let (from, to) = text.split_once(':')?;
    Some([from.parse().ok()?, to.parse().ok()?])
}

fn feed(interface: &str, length: usize, [from, to]: [u16; 2], rate: f64, seconds: f64) -> io::Result<()> {
    let socket = socket(interface, false)?;
    let mut frame = frame(length);
    frame[34..36].copy_from_slice(&from.to_be_bytes());
    frame[36..38].copy_from_slice(&to.to_be_bytes());
    // A burst is not interrupted by what carries it, as one that a card takes from a wire.
    run_first();
    let (start, mut sent) = (Instant::now(), 0_u64);
    let all = (rate * seconds) as u64;
    for burst in (0..all).step_by(FEED_BURST) {
        std::thread::sleep(Duration::from_secs_f64(burst as f64 / rate).saturating_sub(start.elapsed()));
        for _ in burst..all.min(burst + FEED_BURST as u64) {
            // SAFETY: the frame lives for the call.
            let answer = unsafe { libc::send(socket.as_raw_fd(), frame.as_ptr().cast(), frame.len(), libc::MSG_DONTWAIT) };
            sent += u64::from(answer > 0);
        }
        // It cannot keep up: what is left would only make the trial longer.
        if start.elapsed().as_secs_f64() > 1.1 * seconds {
            break;
        }
    }
    println!("{sent}");
    Ok(())
}

fn measure(interface: &str, seconds: f64) -> io::Result<()> {
    let socket = socket(interface, true)?;
    set(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
    // The kernel drops what is not stamped.
    let step = |code: u32, k| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let equal = libc::sock_filter { code: (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16, jt: 0, jf: 1, k: u32::from_be_bytes(MARK) };
    let mut filter = [
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, STAMP as u32),
        equal,
        step(libc::BPF_RET | libc::BPF_K, u32::MAX),
        step(libc::BPF_RET | libc::BPF_K, 0),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    set(&socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, program)?;
    let wait = libc::timeval { tv_sec: 0, tv_usec: 20_000 };
    set(&socket, libc::SOL_SOCKET, libc::SO_RCVTIMEO, wait)?;
    let (start, mut delays) = (Instant::now(), Vec::new());
    while start.elapsed().as_secs_f64() < seconds {
        let (mut bytes, mut control) = ([0_u8; 2048], [0_u64; 8]);
        let mut piece = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        // SAFETY: one buffer and one control buffer, which live for the call; then a walk over the messages that the kernel wrote.
        unsafe {
            let mut message: libc::msghdr = mem::zeroed();
            (message.msg_iov, message.msg_iovlen) = (&mut piece, 1);
            (message.msg_control, message.msg_controllen) = (control.as_mut_ptr().cast(), size_of_val(&control) as _);
            if libc::recvmsg(socket.as_raw_fd(), &mut message, 0) < (STAMP + 12) as isize {
                continue;
            }
            let header = libc::CMSG_FIRSTHDR(&message);
            if !header.is_null() && (*header).cmsg_type == libc::SCM_TIMESTAMPNS {
                let at = libc::CMSG_DATA(header).cast::<libc::timespec>().read_unaligned();
                let arrived = at.tv_sec as u64 * 1_000_000_000 + at.tv_nsec as u64;
                let left = u64::from_be_bytes(bytes[STAMP + 4..STAMP + 12].try_into().unwrap_or_default());
                delays.push(arrived.saturating_sub(left));
            }
        }
    }
    delays.sort_unstable();
    let quantile = |part: f64| delays.get((delays.len() as f64 * part) as usize).copied().unwrap_or(0);
    println!("{} {} {}", quantile(0.5), quantile(0.99), delays.len());
    Ok(())
}

/// Waits for frames, and carries them in batches of [`BATCH`].
fn forward(a: &str, b: &str) -> io::Result<()> {
    let (from, to) = (socket(a, true)?, socket(b, false)?);
    run_first();
    let mut buffers = vec![[0_u8; 2048]; BATCH];
    let mut pieces: Vec<libc::iovec> =
        buffers.iter_mut().map(|buffer| libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() }).collect();
    // SAFETY: zero is a valid value of every member.
    let mut headers: Vec<libc::mmsghdr> = (0..BATCH).map(|_| unsafe { mem::zeroed() }).collect();
    for (header, piece) in headers.iter_mut().zip(&mut pieces) {
        (header.msg_hdr.msg_iov, header.msg_hdr.msg_iovlen) = (piece, 1);
    }
    loop {
        let (batch, flags) = (BATCH as u32, libc::MSG_WAITFORONE);
        // SAFETY: the headers describe buffers that live for the call, which writes at most their lengths.
        let answer = unsafe { libc::recvmmsg(from.as_raw_fd(), headers.as_mut_ptr(), batch, flags, ptr::null_mut()) };
        let received = check(answer as isize)?;
        for (piece, header) in pieces.iter_mut().zip(&headers[..received]) {
            piece.iov_len = header.msg_len as usize;
        }
        let mut done = 0;
        while done < received {
            // SAFETY: as above, for frames that were received.
            let answer = unsafe { libc::sendmmsg(to.as_raw_fd(), headers.as_mut_ptr().add(done), (received - done) as u32, 0) };
            match check(answer as isize) {
                Ok(sent) => done += sent,
                Err(cause) if matches!(cause.raw_os_error(), Some(libc::EAGAIN | libc::ENOBUFS)) => {}
                Err(_) => done += 1,
            }
        }
        pieces.iter_mut().for_each(|piece| piece.iov_len = 2048);
    }
}
