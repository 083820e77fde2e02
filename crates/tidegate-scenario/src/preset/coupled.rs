//! What the AQM `dualpi2` and the key `spread = "code-point"` of a class write: two queues, the scheduler that couples them, and a buffer.

use super::size::{longest_frame, size};
use crate::choice::{SchedulerName, SpreadName};
use crate::document::{BufferTable, PolicyTable};
use crate::units::Limit;
use crate::value::{At, Block, Whole};
use tidegate_core::classifier::Spread;
use tidegate_core::registry::SchedulerKind;

/// The default size of the buffer of coupled queues: milliseconds at the rate of the link (RFC 9332, appendix A.1), and a number of longest frames.
const BUFFER: (u64, u64) = (250, 64);

/// Gives classes that code points sort what they lack of it. Those with `dualpi2` get a buffer where the file has none.
pub fn queues(policy: &mut PolicyTable) {
    let (rate, longest_frame) = (policy.rate.value, longest_frame(policy));
    let has_buffer = policy.buffer.is_some() || policy.group.iter().any(|group| group.buffer.is_some());
    for class in &mut policy.class {
        let coupled = class.aqm.as_ref().filter(|_| class.is_coupled()).map(|key| key.span.clone());
        if let Some(at) = &coupled {
            class.value.spread.get_or_insert(At { value: SpreadName(Spread::CodePoint), span: at.clone() });
        }
        let Some(spread) = class.spread.as_ref().filter(|at| at.value.0 == Spread::CodePoint) else { continue };
        let at = coupled.clone().unwrap_or(spread.span.clone());
        if class.places.is_none() {
            class.value.queues.get_or_insert(At { value: Whole(2), span: at.clone() });
        }
        class.value.queue_scheduler.get_or_insert(At { value: SchedulerName(SchedulerKind::DualQueue), span: at.clone() });
        if coupled.is_some() && class.partition.is_none() && !has_buffer {
            let rate = class.shape.as_ref().map_or(rate, |shape| shape.rate.value.min(rate));
            let own = class.value.buffer.get_or_insert_with(|| Box::new(Block { value: BufferTable::default(), span: at.clone() }));
            own.value.limit.get_or_insert(At { value: Limit::Bytes(size(rate, longest_frame, BUFFER)), span: at });
        }
    }
}
