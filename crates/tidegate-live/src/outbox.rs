//! Frames whose transmission has started and that the kernel has not taken yet.

use crate::counters::Unsent;
use crate::io::{SendError, Transmit};
use std::collections::VecDeque;
use tidegate_core::port::Volume;
use tidegate_core::units::{Duration, Time};

/// For how long a frame is tried again while the kernel has no room for it.
const PATIENCE: Duration = Duration::from_milliseconds(20);

/// Who knows where the bytes of frames are, and what is to be done with frames that are gone.
pub(crate) trait Owner<F> {
    /// The frame behind its virtio-net header; `None` if it only keeps its place in the order.
    fn message<'a>(&'a self, frame: &'a F) -> Option<&'a [u8]>;

    /// The kernel has taken the frame, or it was given up.
    fn gone(&mut self, frame: F, outcome: Result<(), SendError>);
}

/// The frames, in the order in which they leave.
#[derive(Debug)]
pub(crate) struct Outbox<F> {
    frames: VecDeque<F>,
    blocked_since: Option<Time>,
}

impl<F> Outbox<F> {
    /// An outbox that never holds more than `capacity` frames.
    pub(crate) fn new(capacity: usize) -> Outbox<F> {
        Outbox { frames: VecDeque::with_capacity(capacity), blocked_since: None }
    }

    pub(crate) fn push(&mut self, frame: F) {
        self.frames.push_back(frame);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &F> {
        self.frames.iter()
    }

    /// True if the kernel had no room when it was last asked.
    pub(crate) fn is_blocked(&self) -> bool {
        self.blocked_since.is_some()
    }

    /// Gives the kernel what it has room for; false if something is left.
    pub(crate) fn flush(&mut self, now: Time, transmitter: &mut impl Transmit, owner: &mut impl Owner<F>) -> bool {
        while let Some(first) = self.frames.front() {
            if owner.message(first).is_none() {
                self.give_up(1, Ok(()), owner);
                continue;
            }
            match transmitter.send(self.frames.iter().map_while(|frame| owner.message(frame))) {
                Ok(sent) => {
                    self.blocked_since = None;
                    self.give_up(sent, Ok(()), owner);
                }
                Err(SendError::Busy) => {
                    let since = *self.blocked_since.get_or_insert(now);
                    if now.since(since) < PATIENCE {
                        return false;
                    }
                    self.blocked_since = None;
                    self.give_up(self.frames.len(), Err(SendError::Busy), owner);
                }
                Err(SendError::Down) => self.give_up(self.frames.len(), Err(SendError::Down), owner),
                Err(reason) => self.give_up(1, Err(reason), owner),
            }
        }
        true
    }

    fn give_up(&mut self, frames: usize, outcome: Result<(), SendError>, owner: &mut impl Owner<F>) {
        self.frames.drain(..frames).for_each(|frame| owner.gone(frame, outcome));
    }
}

/// Counts a frame that the kernel took, or did not.
pub(crate) fn count(outcome: Result<(), SendError>, length: u32, delivered: &mut Volume, unsent: &mut Unsent) {
    let volume = match outcome {
        Ok(()) => delivered,
        Err(SendError::Busy) => &mut unsent.no_room,
        Err(SendError::Down) => &mut unsent.interface_down,
        Err(SendError::TooLong) => &mut unsent.too_long,
        Err(SendError::Rejected) => &mut unsent.rejected,
    };
    volume.add(length);
}
