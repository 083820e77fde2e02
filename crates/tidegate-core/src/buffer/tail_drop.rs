//! Tail drop: a packet is accepted if its flow's queue and the whole buffer have room for it, and refused otherwise.
//!
//! **Law.** No queue exceeds its flow's limit, and all together do not exceed the shared one, in packets or in bytes.
//! **Source.** Common practice.
//! **State.** None; the limits are 8 bytes per flow if some flows have their own.
//! **Cost.** Four comparisons.
//! **RTL twin.** None yet.
//! **Deviations.** None.

use super::limits::Limits;
use super::{Admission, Arrival, BufferError, BufferManager, BufferParameters, Buffering, FlowShare};
use crate::algorithm::Algorithm;
use crate::packet::Flow;
use crate::queue::Backlog;

/// Refuses a packet that would exceed a limit.
///
/// ```
/// use tidegate_core::buffer::{BufferParameters, FlowLimit};
/// use tidegate_core::registry::BufferKind;
///
/// let flow = FlowLimit { packets: Some(100), bytes: None };
/// let parameters = BufferParameters { flows: 4, bytes: Some(250_000), flow, ..BufferParameters::default() };
/// assert!(BufferKind::TailDrop.build(&parameters).is_ok());
/// assert!(BufferKind::TailDrop.build(&BufferParameters { bytes: Some(0), ..parameters }).is_err());
/// ```
#[derive(Clone, Debug)]
pub struct TailDrop {
    limits: Limits,
}

impl BufferManager for TailDrop {
    #[inline]
    fn admit<O: Backlog>(&mut self, arrival: &Arrival, backlog: &O) -> Admission {
        match self.limits.exceeded(arrival, backlog) {
            Some(reason) => Admission::Refuse(reason),
            None => Admission::Accept,
        }
    }

    fn change<O: Backlog>(&mut self, flow: Flow, share: &FlowShare, _backlog: &O) -> Result<(), BufferError> {
        self.limits.change(flow, share.limit)
    }

    fn forget(&mut self, flow: Flow) {
        self.limits.forget(flow);
    }
}

impl Algorithm<Buffering> for TailDrop {
    const NAME: &'static str = "tail-drop";
    const SUMMARY: &'static str = "a packet that would exceed a limit is refused";

    fn build(parameters: &BufferParameters) -> Result<TailDrop, BufferError> {
        Ok(TailDrop { limits: Limits::new(parameters) })
    }
}
