//! Longest queue push-out.
use super::limits::Limits;
use super::{Admission, Arrival, BufferError, BufferManager, BufferParameters, BufferPolicy};
use crate::queue::Occupancy;

/// Thin for now.
#[derive(Clone, Debug)]
pub struct LongestQueuePushOut {
    limits: Limits,
}

impl BufferManager for LongestQueuePushOut {
    #[inline]
    fn admit(&mut self, arrival: &Arrival, occupancy: &Occupancy) -> Admission {
        match self.limits.exceeded(arrival, occupancy) {
            Some(reason) => Admission::Refuse(reason),
            None => Admission::Accept,
        }
    }
}

impl BufferPolicy for LongestQueuePushOut {
    const NAME: &'static str = "longest-queue-push-out";
    const SUMMARY: &'static str = "when the buffer is full the longest queue gives way";
    const USES_ALPHA: bool = false;

    fn build(parameters: &BufferParameters) -> Result<LongestQueuePushOut, BufferError> {
        Ok(LongestQueuePushOut { limits: Limits::new(parameters) })
    }
}
