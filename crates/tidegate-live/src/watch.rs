//! The payload of a packet of a live port, and the observer of that port.

use crate::pool::FramePool;
use tidegate_core::observer::Observer;
use tidegate_core::packet::{Colour, DropReason, Flow, Packet};
use tidegate_core::port::Port;
use tidegate_core::queue::Occupancy;
use tidegate_core::remark::Remark;
use tidegate_core::scheduler::Scheduler;
use tidegate_core::units::Time;
use tidegate_statistics::PortRecorder;
use tidegate_wire::{LinkType, rewrite};

/// The payload of a packet of a live port: the slot of its bytes, and its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame {
    slot: u32,
    number: u64,
}

impl Frame {
    /// The slot of a packet whose bytes were not kept.
    const NO_SLOT: u32 = u32::MAX;

    pub(crate) fn new(slot: Option<u32>, number: u64) -> Frame {
        Frame { slot: slot.unwrap_or(Frame::NO_SLOT), number }
    }

    pub(crate) fn slot(&self) -> u32 {
        self.slot
    }

    /// How many packets were offered to the port before this one.
    pub fn number(&self) -> u64 {
        self.number
    }
}

/// Observes a port: records, frees the slots of dropped frames, and calls the user's observer.
pub(crate) struct Watch<'a, O> {
    recorder: &'a mut PortRecorder,
    pool: &'a mut FramePool,
    observer: &'a mut O,
    /// The colour of the latest packet that was queued.
    queued: Option<Colour>,
}

impl<'a, O> Watch<'a, O> {
    pub(crate) fn new(recorder: &'a mut PortRecorder, pool: &'a mut FramePool, observer: &'a mut O) -> Watch<'a, O> {
        Watch { recorder, pool, observer, queued: None }
    }

    /// The colour of the latest packet that was queued, if one was.
    pub(crate) fn queued(&self) -> Option<Colour> {
        self.queued
    }
}

/// Writes the code points with which a packet leaves, as soon as it is queued: its bytes are in the cache, and its flow and colour are final.
/// False if the frame has no field for any of them.
#[inline]
pub(crate) fn remark<S: Scheduler>(port: &Port<Frame, S>, flow: Flow, colour: Colour, frame: &mut [u8]) -> bool {
    let remark = port.remark(flow, colour);
    remark == Remark::KEEP || rewrite(LinkType::Ethernet, frame, remark)
}

impl<O: Observer<Frame>> Observer<Frame> for Watch<'_, O> {
    #[inline]
    fn offered(&mut self, now: Time, packet: &Packet<Frame>) {
        self.recorder.offered(now, packet);
        self.observer.offered(now, packet);
    }

    #[inline]
    fn marked(&mut self, now: Time, packet: &Packet<Frame>, from: Colour) {
        self.recorder.marked(now, packet, from);
        self.observer.marked(now, packet, from);
    }

    #[inline]
    fn queued(&mut self, now: Time, packet: &Packet<()>, occupancy: &Occupancy) {
        self.queued = Some(packet.colour);
        Observer::<Frame>::queued(self.recorder, now, packet, occupancy);
        self.observer.queued(now, packet, occupancy);
    }

    #[inline]
    fn dropped(&mut self, now: Time, packet: Packet<Frame>, reason: DropReason, occupancy: &Occupancy) {
        if packet.payload.slot != Frame::NO_SLOT {
            self.pool.release(packet.payload.slot);
        }
        self.recorder.dropped(now, packet, reason, occupancy);
        self.observer.dropped(now, packet, reason, occupancy);
    }

    #[inline]
    fn sent(&mut self, now: Time, packet: &Packet<Frame>, finish: Time, occupancy: &Occupancy) {
        self.recorder.sent(now, packet, finish, occupancy);
        self.observer.sent(now, packet, finish, occupancy);
    }
}
