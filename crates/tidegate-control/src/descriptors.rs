//! Descriptors that go from one process to another over a Unix socket (SCM_RIGHTS), and who is at its other end.

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, recvmsg, sendmsg, sockopt,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// The most descriptors of a message; the kernel takes up to 253.
const AT_A_TIME: usize = 128;

/// The most descriptors of a take-over.
const MOST: usize = 1 << 14;

/// A process at the other end of a socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Peer {
    /// Its number.
    pub process: u32,
    /// Its user.
    pub user: u32,
}

impl Peer {
    /// The process that has connected, as the kernel knows it.
    ///
    /// # Errors
    /// The kernel does not say.
    pub fn of(stream: &UnixStream) -> io::Result<Peer> {
        let credentials = sockopt::socket_peercred(stream)?;
        Ok(Peer { process: credentials.pid.as_raw_nonzero().get() as u32, user: credentials.uid.as_raw() })
    }
}

/// Sends descriptors. Each message has their number in all as its four bytes.
///
/// # Errors
/// The other side is gone, or does not read in time.
pub fn send_descriptors(stream: &UnixStream, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    let count = (descriptors.len() as u32).to_le_bytes();
    for part in descriptors.chunks(AT_A_TIME) {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(AT_A_TIME))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !ancillary.push(SendAncillaryMessage::ScmRights(part)) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        if sendmsg(stream, &[IoSlice::new(&count)], &mut ancillary, SendFlags::NOSIGNAL)? != count.len() {
            return Err(io::ErrorKind::WriteZero.into());
        }
    }
    Ok(())
}

/// Receives what [`send_descriptors`] has sent.
///
/// # Errors
/// The other side is gone, or has sent something else.
pub fn receive_descriptors(stream: &UnixStream) -> io::Result<Vec<OwnedFd>> {
    let mut descriptors = Vec::new();
    loop {
        let mut count = [0; 4];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(AT_A_TIME))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let received = loop {
            match recvmsg(stream, &mut [IoSliceMut::new(&mut count)], &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
                Err(Errno::INTR) => {}
                other => break other?,
            }
        };
        if received.bytes == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let before = descriptors.len();
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(rights) = message {
                descriptors.extend(rights);
            }
        }
        let expected = u32::from_le_bytes(count) as usize;
        if received.bytes != count.len() || descriptors.len() == before || descriptors.len() > expected || expected > MOST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        if descriptors.len() == expected {
            return Ok(descriptors);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{Read, Seek, SeekFrom, Write};
    use std::os::fd::AsFd;

    #[test]
    fn descriptors_arrive_in_order_however_many_they_are() {
        let files: Vec<File> = (0..300_u32)
            .map(|number| {
                let mut file = tempfile::tempfile().unwrap();
                file.write_all(&number.to_le_bytes()).unwrap();
                file
            })
            .collect();
        let (here, there) = UnixStream::pair().unwrap();
        let receiving = std::thread::spawn(move || receive_descriptors(&there).unwrap());
        send_descriptors(&here, &files.iter().map(AsFd::as_fd).collect::<Vec<_>>()).unwrap();
        let received = receiving.join().unwrap();
        assert_eq!(received.len(), 300);
        for (number, descriptor) in (0_u32..).zip(received) {
            let (mut file, mut found) = (File::from(descriptor), [0; 4]);
            file.seek(SeekFrom::Start(0)).unwrap();
            file.read_exact(&mut found).unwrap();
            assert_eq!(u32::from_le_bytes(found), number);
        }
    }

    #[test]
    fn what_brings_no_descriptors_is_an_error() {
        let (mut here, there) = UnixStream::pair().unwrap();
        here.write_all(&1_u32.to_le_bytes()).unwrap();
        assert!(receive_descriptors(&there).is_err());
        drop(here);
        assert!(receive_descriptors(&there).is_err());
    }

    #[test]
    fn the_peer_of_a_socket_of_this_process_is_this_process() {
        let (here, _there) = UnixStream::pair().unwrap();
        assert_eq!(Peer::of(&here).unwrap(), Peer { process: std::process::id(), user: rustix_user() });
    }

    fn rustix_user() -> u32 {
        std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap())
    }
}
