//! PLACEHOLDER to be replaced by the buffer author: shared limits only.

use super::{Admission, Arrival, BufferManager};
use crate::packet::DropReason;
use crate::queue::Occupancy;

/// Tail drop.
#[derive(Clone, Debug)]
pub struct TailDrop {
    /// Shared limit in bytes.
    pub bytes: u64,
}

impl BufferManager for TailDrop {
    #[inline]
    fn admit(&mut self, arrival: &Arrival, occupancy: &Occupancy) -> Admission {
        if occupancy.bytes() + u64::from(arrival.length) > self.bytes {
            Admission::Refuse(DropReason::SharedLimit)
        } else {
            Admission::Accept
        }
    }
}
