//! Reassembles the cells of one connection into frames, in bounded memory.
//!
//! **Law.** A delivered frame was sent, unless an error passes the CRC of 32 bits. Memory never exceeds the longest frame. A lost cell costs its
//! frame. A lost last cell merges two frames and costs both, unless it was the only cell of the first.
//! **Source.** ITU-T I.363.5, receiver of the common part.
//! **State.** A buffer that grows with the frame, up to the longest frame.
//! **Cost.** Per cell one copy and one CRC of 48 bytes.
//! **RTL twin.** None.
//! **Deviations.** The optional timer is the caller's: [`Reassembler::reset`] discards an unfinished frame. A frame that is too long is reported
//! when it ends, so that every report belongs to one last cell.

use crate::aal5::{CHECK, TRAILER, cells};
use crate::cell::{Header, PAYLOAD};
use thiserror::Error;

/// A complete frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame<'a> {
    /// Its bytes.
    pub payload: &'a [u8],
    /// The user-to-user byte of the sender.
    pub user_to_user: u8,
    /// True if any of its cells had cell loss priority 1.
    pub loss_priority: bool,
    /// True if its last cell passed a congested switch.
    pub is_congested: bool,
}

/// Why cells do not make a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum Damage {
    /// The CRC is wrong.
    #[error("the CRC is wrong: a cell was lost or damaged")]
    Checksum,
    /// The CRC is right, but the length does not fit the number of cells.
    #[error("a length of {bytes} bytes does not fit {cells} cells")]
    Length {
        /// The length in the trailer.
        bytes: u16,
        /// The cells received.
        cells: usize,
    },
    /// There are more cells than the longest frame has.
    #[error("longer than the longest frame: a last cell was lost")]
    TooLong,
    /// The sender aborted the frame: length 0.
    #[error("aborted by the sender")]
    Aborted,
}

/// Tells which frames of one virtual channel a receiver delivers, from the positions of lost cells alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Delivery {
    is_damaged: bool,
    /// True if the receiver holds cells of an unfinished frame.
    has_begun: bool,
}

impl Delivery {
    /// The next cell is sent. True if it completes a frame at the receiver.
    pub fn send(&mut self, is_first: bool, is_last: bool, is_lost: bool) -> bool {
        if is_first {
            // A frame without its last cell is merged with this one.
            self.is_damaged = self.has_begun;
        }
        self.is_damaged |= is_lost;
        self.has_begun = if is_lost { self.has_begun } else { !is_last };
        is_last && !self.is_damaged
    }
}

/// Reassembles the frames of one virtual channel.
#[derive(Clone, Debug)]
pub struct Reassembler {
    buffer: Vec<u8>,
    most_cells: usize,
    cells: usize,
    loss_priority: bool,
}

impl Reassembler {
    /// For frames of at most `longest` bytes.
    pub fn new(longest: u16) -> Reassembler {
        let most_cells = cells(usize::from(longest));
        Reassembler { buffer: Vec::new(), most_cells, cells: 0, loss_priority: false }
    }

    /// Takes in a cell, and returns the result if a frame ends with it. Cells other than user data are ignored.
    pub fn push(&mut self, header: &Header, payload: &[u8; PAYLOAD]) -> Option<Result<Frame<'_>, Damage>> {
        if !header.payload_type.is_user_data() {
            return None;
        }
        if self.cells < self.most_cells {
            self.buffer.truncate(self.cells * PAYLOAD);
            self.buffer.extend_from_slice(payload);
        }
        // One more than fits is as much as needs counting.
        self.cells = (self.cells + 1).min(self.most_cells + 1);
        self.loss_priority |= header.loss_priority;
        if !header.payload_type.ends_frame() {
            return None;
        }
        let (count, loss_priority) = (self.cells, self.loss_priority);
        self.reset();
        Some(self.finish(count).map(|(payload, user_to_user)| Frame {
            payload,
            user_to_user,
            loss_priority,
            is_congested: header.payload_type.is_congested(),
        }))
    }

    /// Forgets a frame that has begun, if any: its last cell did not come in time.
    pub fn reset(&mut self) {
        self.cells = 0;
        self.loss_priority = false;
    }

    /// The cells of the unfinished frame; one more than fit if it is too long.
    pub fn pending_cells(&self) -> usize {
        self.cells
    }

    fn finish(&self, count: usize) -> Result<(&[u8], u8), Damage> {
        if count > self.most_cells {
            return Err(Damage::TooLong);
        }
        let (content, crc) = self.buffer[..count * PAYLOAD].split_at(count * PAYLOAD - 4);
        if CHECK.checksum(content).to_be_bytes() != crc {
            return Err(Damage::Checksum);
        }
        let &[user_to_user, _, high, low] = content.last_chunk().expect("a cell is longer than its trailer");
        let bytes = u16::from_be_bytes([high, low]);
        if bytes == 0 && count == 1 {
            return Err(Damage::Aborted);
        }
        if cells(usize::from(bytes)) != count {
            return Err(Damage::Length { bytes, cells: count });
        }
        debug_assert!(usize::from(bytes) + TRAILER <= count * PAYLOAD);
        Ok((&content[..usize::from(bytes)], user_to_user))
    }
}
