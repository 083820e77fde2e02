//! Sends frames out of an interface in batches of messages ([`Batch`]).
#![allow(unsafe_code)]

use super::batch::Batch;
use super::socket::Socket;
use crate::error::LiveError;
use crate::interface::ControlSocket;
use crate::io::{SendError, Transmit};
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// The most bytes in the interface's own queue, as the kernel counts them: a little more than the catch-up of 2 ms at 1 Gbit/s.
const SEND_BUFFER: i32 = 1 << 20;

/// Sends out of one interface, by name.
#[derive(Debug)]
pub(crate) struct SendSocket {
    name: String,
    control: ControlSocket,
    bound: Option<(Socket, i32)>,
    batch: Batch,
    /// The longest packet of the interface, as it was last looked at.
    mtu: usize,
}

impl SendSocket {
    /// A socket bound to the interface of this name and index.
    pub(crate) fn open(name: &str, index: i32) -> Result<SendSocket, LiveError> {
        let control = ControlSocket::new().map_err(|cause| LiveError::system("opening a socket to ask for the state of", name, cause))?;
        let socket = open_bound(index).map_err(|(doing, cause)| LiveError::system(doing, name, cause))?;
        let mtu = control.state(name).map_or(0, |facts| facts.mtu as usize);
        Ok(SendSocket { name: name.to_owned(), control, bound: Some((socket, index)), batch: Batch::new(), mtu })
    }
}

fn open_bound(index: i32) -> Result<Socket, (&'static str, io::Error)> {
    let socket = Socket::open().map_err(|cause| ("opening a packet socket", cause))?;
    socket.set_buffer(libc::SO_SNDBUFFORCE, libc::SO_SNDBUF, SEND_BUFFER).map_err(|cause| ("setting the size of a send buffer", cause))?;
    socket.bind(index, false).map_err(|cause| ("binding a packet socket", cause))?;
    Ok(socket)
}

impl Transmit for SendSocket {
    fn send<'a>(&mut self, messages: impl Iterator<Item = &'a [u8]>) -> Result<usize, SendError> {
        let Some((socket, _)) = &self.bound else { return Err(SendError::Down) };
        self.batch.fill(messages, self.mtu);
        let headers = self.batch.messages();
        // SAFETY: the pieces of each message point to bytes that are borrowed for longer than the call, or belong to the batch. The kernel reads
        // and copies them.
        let sent = unsafe { libc::sendmmsg(socket.as_fd().as_raw_fd(), headers.as_mut_ptr(), headers.len() as u32, libc::MSG_DONTWAIT) };
        if sent > 0 {
            return Ok(self.batch.frames(sent as usize));
        }
        Err(match io::Error::last_os_error().raw_os_error() {
            Some(libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM | libc::EINTR) => SendError::Busy,
            Some(libc::ENETDOWN | libc::ENXIO | libc::ENODEV) => SendError::Down,
            Some(libc::EMSGSIZE) => SendError::TooLong,
            _ => SendError::Rejected,
        })
    }

    fn maintain(&mut self) -> bool {
        if let Some((socket, _)) = &self.bound {
            socket.clear_error();
        }
        let Ok(facts) = self.control.state(&self.name) else { return false };
        self.mtu = facts.mtu as usize;
        if self.bound.as_ref().is_none_or(|(_, index)| *index != facts.index) {
            // If it is gone again by now, the next call opens it.
            self.bound = open_bound(facts.index).ok().map(|socket| (socket, facts.index));
        }
        facts.up && facts.carrier && self.bound.is_some()
    }
}
