//! Whether a class that floods a buffer can keep the packets of other classes out of it.

use crate::partition::Buffer;
use crate::policy::{Class, Policy};
use crate::units::Limit;
use tidegate_core::buffer::BufferField;
use tidegate_core::registry::BufferKind;

impl Policy {
    /// The buffer of a partition, or the shared one, and the most packets that it holds.
    pub(crate) fn buffer_of(&self, partition: Option<usize>) -> (&Buffer, u32) {
        match partition {
            Some(index) => (&self.partitions[index].buffer, self.partitions[index].packets),
            None => (&self.buffer, self.packet_limit - self.partitions.iter().map(|partition| partition.packets).sum::<u32>()),
        }
    }

    /// The condition on guaranteed rates, if one class may fill a buffer and keep the packets of others out of it.
    ///
    /// Only push-out always has room for a short queue. Byte limits leave it to the length of the frames whether packets run out first.
    pub(crate) fn buffer_condition(&self) -> Option<String> {
        if self.adapter.is_some() {
            return None;
        }
        let mut unsafe_buffers = Vec::new();
        for part in std::iter::once(None).chain((0..self.partitions.len()).map(Some)) {
            let classes: Vec<&Class> = self.classes.iter().filter(|class| class.partition == part).collect();
            let (buffer, packets) = self.buffer_of(part);
            let guarantees_rates = classes.iter().any(|class| class.guarantee.rate().is_some());
            if classes.len() > 1 && guarantees_rates && !prevents_floods(buffer, packets, self.longest_frame, &classes) {
                let (place, others) = match part {
                    Some(part) => (format!("the buffer of {}", self.partitions[part].name), "the others in it"),
                    None if self.partitions.is_empty() => ("this buffer".to_owned(), "the others"),
                    None => ("the shared buffer".to_owned(), "the others in it"),
                };
                let kind = buffer.kind.name();
                let remedy = if buffer.kind.accepts().contains(&BufferField::Reserve) {
                    "a `reserve` for each of its classes does, if they fit"
                } else {
                    "longest-queue-push-out does, or tail-drop with packet limits of classes that fit"
                };
                unsafe_buffers.push(format!("a class that floods {place} may keep {others} out ({kind} does not prevent it; {remedy})"));
            }
        }
        (!unsafe_buffers.is_empty()).then(|| format!("guarantees hold for queued packets: {}", unsafe_buffers.join(", and ")))
    }
}

/// True if no class can keep the packets of another out of the buffer that these share.
fn prevents_floods(buffer: &Buffer, packets: u32, longest_frame: u32, classes: &[&Class]) -> bool {
    let most = |class: &Class| match class.limit? {
        Limit::Packets(limit) => Some(limit.saturating_mul(class.queues.into())),
        Limit::Bytes(_) => None,
    };
    let taken = classes.iter().try_fold(0u64, |sum, class| Some(sum.saturating_add(most(class)?)));
    let fits = taken.is_some_and(|taken| {
        let lacks_bytes = matches!(buffer.limit, Limit::Bytes(size) if taken.saturating_mul(longest_frame.into()) > size);
        taken <= packets.into() && !lacks_bytes
    });
    // What is beyond a reserve counts as marked, and gives way to what is within.
    let reserved = classes.iter().try_fold(0u64, |sum, class| Some(sum.saturating_add(class.reserve?.saturating_mul(class.queues.into()))));
    let is_divided = matches!((buffer.limit, reserved), (Limit::Bytes(size), Some(reserved)) if reserved <= size);
    let pushes_out = matches!(buffer.kind, BufferKind::LongestQueuePushOut | BufferKind::FattestFlow);
    pushes_out || buffer.kind == BufferKind::TailDrop && fits || is_divided
}
