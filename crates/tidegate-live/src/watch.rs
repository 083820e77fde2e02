//! What a packet of a live port carries, and who watches it.

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

/// What a packet of a live port carries: the place of its bytes, and its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame {
    slot: u32,
    number: u64,
}

impl Frame {
    /// Stands for a packet whose bytes were not kept.
    const NOWHERE: u32 = u32::MAX;

    pub(crate) fn new(slot: Option<u32>, number: u64) -> Frame {
        Frame { slot: slot.unwrap_or(Frame::NOWHERE), number }
    }

    /// Where its bytes are.
    pub(crate) fn slot(&self) -> u32 {
        self.slot
    }

    /// How many packets were offered to the port before this one.
    pub fn number(&self) -> u64 {
        self.number
    }
}

/// Watches the port: records, frees the frames that it drops, and lets the user's observer watch too.
pub(crate) struct Watch<'a, O> {
    recorder: &'a mut PortRecorder,
    pool: &'a mut FramePool,
    observer: &'a mut O,
    /// The colour with which the latest packet joined its queue.
    queued: Option<Colour>,
}

impl<'a, O> Watch<'a, O> {
    pub(crate) fn new(recorder: &'a mut PortRecorder, pool: &'a mut FramePool, observer: &'a mut O) -> Watch<'a, O> {
        Watch { recorder, pool, observer, queued: None }
    }

    /// The colour with which the latest packet joined its queue, if one has.
    pub(crate) fn queued(&self) -> Option<Colour> {
        self.queued
    }
}

/// Gives a packet that has joined its queue the code points with which it leaves. Its bytes are in the cache, and what the port decides from now
/// on changes neither flow nor colour. False if the frame has no field for any of them.
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
        if packet.payload.slot != Frame::NOWHERE {
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
