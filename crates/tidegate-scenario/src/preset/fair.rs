//! The AQMs `fq-codel` and `fq-pie` of a class: they write its queues, their scheduler and its buffer.

use super::size::{FAIR_BUFFER, longest_frame, size};
use crate::choice::{AqmChoice, BufferName, SchedulerName};
use crate::document::{BufferTable, PolicyTable};
use crate::units::Limit;
use crate::value::{At, Block, Whole};
use tidegate_core::registry::{BufferKind, SchedulerKind};

/// The number of queues of a class with fair queueing (RFC 8290, section 5.2.1).
const FAIR_QUEUES: u64 = 1024;

/// Gives classes with fair queueing what they lack of it.
pub fn fair_queueing(policy: &mut PolicyTable) {
    let (rate, longest_frame) = (policy.rate.value, longest_frame(policy));
    let shared = policy.buffer.as_ref().and_then(|buffer| buffer.manager.as_ref());
    let is_shared = shared.is_some_and(|manager| manager.value.0 == BufferKind::FattestFlow);
    for class in &mut policy.class {
        let Some(key) = class.aqm.as_ref().filter(|key| matches!(key.value.choice(), AqmChoice::FairQueueing(_))) else { continue };
        let at = key.span.clone();
        class.value.queues.get_or_insert(At { value: Whole(FAIR_QUEUES), span: at.clone() });
        let turns = if class.host_fairness.is_some() { SchedulerKind::HostRoundRobin } else { SchedulerKind::SparseRoundRobin };
        class.value.queue_scheduler.get_or_insert(At { value: SchedulerName(turns), span: at.clone() });
        // The buffer of the policy may do for all.
        if class.partition.is_none() && (class.buffer.is_some() || !is_shared) {
            let rate = class.shape.as_ref().map_or(rate, |shape| shape.rate.value.min(rate));
            let own = Box::new(Block { value: BufferTable::default(), span: at.clone() });
            let buffer = class.value.buffer.get_or_insert(own);
            buffer.value.manager.get_or_insert(At { value: BufferName(BufferKind::FattestFlow), span: at.clone() });
            buffer.value.limit.get_or_insert(At { value: Limit::Bytes(size(rate, longest_frame, FAIR_BUFFER)), span: at });
        }
    }
}
