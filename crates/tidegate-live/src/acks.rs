//! Drops queued acknowledgements that say nothing new.

use crate::watch::{Frame, Watch};
use tidegate_core::observer::Observer;
use tidegate_core::packet::{DropReason, Flow};
use tidegate_core::port::Port;
use tidegate_core::units::Time;
use tidegate_wire::{AckFilter, LinkType, PureAck};

/// A frame of `length` bytes has joined the queue of `flow`: drops the acknowledgement there that it makes redundant.
pub(crate) fn filter<O: Observer<Frame>>(
    filter: AckFilter,
    now: Time,
    port: &mut Port<Frame>,
    flow: Flow,
    (slot, length): (u32, u32),
    watch: &mut Watch<'_, O>,
) {
    let read = |slot, length| AckFilter::may_filter(length).then(|| PureAck::read(LinkType::Ethernet, watch.bytes(slot, length)?))?;
    let Some(newest) = read(slot, length) else { return };
    let queued = port.queued(flow).map(|(packet, frame)| read(frame.slot(), packet.length));
    if let Some(before) = filter.redundant(&newest, queued) {
        port.withdraw(now, flow, before as u32, DropReason::AckFiltered, watch);
    }
}
