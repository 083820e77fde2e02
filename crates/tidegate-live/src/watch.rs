//! The payload of a packet of a live port, and the observer of that port.

use crate::pool::FramePool;
use crate::record::DirectionRecord;
use std::num::NonZeroU32;
use tidegate_core::classifier::Header;
use tidegate_core::observer::Observer;
use tidegate_core::packet::{Colour, DropReason, Ecn, Flow, Packet};
use tidegate_core::port::Port;
use tidegate_core::queue::Occupancy;
use tidegate_core::remark::Remark;
use tidegate_core::scheduler::Scheduler;
use tidegate_core::units::Time;
use tidegate_wire::{LinkType, mark, markable, rewrite};

/// The payload of a packet of a live port: the slot of its bytes, and its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame {
    /// One more than the slot.
    slot: NonZeroU32,
    number: u32,
}

impl Frame {
    /// The slot of a packet whose bytes were not kept.
    const NO_SLOT: u32 = u32::MAX - 1;

    pub(crate) fn new(slot: Option<u32>, number: u64) -> Frame {
        let slot = slot.unwrap_or(Frame::NO_SLOT);
        Frame { slot: NonZeroU32::MIN.saturating_add(slot), number: number.try_into().unwrap_or(u32::MAX) }
    }

    #[inline]
    pub(crate) fn slot(&self) -> u32 {
        self.slot.get() - 1
    }

    /// How many packets were offered to the port before this one; 2^32 - 1 if they were more.
    pub fn number(&self) -> u64 {
        self.number.into()
    }
}

// A queue keeps one for its first packet.
const _: () = assert!(size_of::<Option<Frame>>() == 8);

/// A packet that was taken in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TakenIn {
    /// The slot of its bytes, if they were kept.
    pub slot: Option<u32>,
    /// Its number at the port ([`Frame::number`]).
    pub number: u64,
    /// Its flow.
    pub flow: Flow,
    /// Its length in bytes.
    pub length: u32,
    /// When the kernel received it, in nanoseconds of CLOCK_REALTIME; 0 if that is not known.
    pub arrived: u64,
    /// The observer's [`StageObserver::stamp`] when it was found.
    pub read: u64,
}

/// An observer that also sees what happens before and after the port of a direction in one thread. Every method has an empty default. All are
/// called on the packets' thread.
pub trait StageObserver: Observer<Frame> {
    /// The present instant, in a unit of the observer's choice.
    #[inline]
    fn stamp() -> u64 {
        0
    }

    /// The direction has this many slots for frames.
    fn begin(&mut self, slots: u32) {
        let _ = slots;
    }

    /// The thread has waited, and has woken.
    #[inline]
    fn woken(&mut self) {}

    /// A packet has been offered to the port.
    #[inline]
    fn taken_in(&mut self, packet: TakenIn) {
        let _ = packet;
    }

    /// The kernel has taken the frame in this slot; `at` is the stamp after the system call.
    #[inline]
    fn handed(&mut self, slot: u32, at: u64) {
        let _ = (slot, at);
    }

    /// The direction has checked its interfaces, as it does 20 times a second.
    fn maintained(&mut self) {}

    /// An observer for another worker of the direction; `None` if this one watches a direction of one worker only.
    fn for_another_worker(&self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }
}

/// Observes nothing.
impl StageObserver for () {
    fn for_another_worker(&self) -> Option<()> {
        Some(())
    }
}

/// Observes a port: records, frees the slots of dropped frames, and calls the user's observer.
pub(crate) struct Watch<'a, O> {
    record: &'a mut DirectionRecord,
    pool: &'a mut FramePool,
    observer: &'a mut O,
    /// The colour and the code point of the latest packet that was queued.
    queued: Option<(Colour, Ecn)>,
    /// True if another thread has the bytes of packets whose turn comes, and marks them.
    is_marked_elsewhere: bool,
}

impl<'a, O> Watch<'a, O> {
    pub(crate) fn new(record: &'a mut DirectionRecord, pool: &'a mut FramePool, observer: &'a mut O) -> Watch<'a, O> {
        Watch { record, pool, observer, queued: None, is_marked_elsewhere: false }
    }

    /// The observer of decisions that another thread has carried out, which has the frames.
    pub(crate) fn replaying(record: &'a mut DirectionRecord, pool: &'a mut FramePool, observer: &'a mut O) -> Watch<'a, O> {
        Watch { is_marked_elsewhere: true, ..Watch::new(record, pool, observer) }
    }

    /// The bytes of a frame, if they were kept.
    #[inline]
    pub(crate) fn bytes(&self, slot: u32, length: u32) -> Option<&[u8]> {
        (slot != Frame::NO_SLOT).then(|| self.pool.packet(slot, length))
    }

    /// A packet is sent or dropped, and its bytes are still there. In an end system another thread may have them, and no capture runs.
    #[inline]
    fn tapped(&mut self, now: Time, packet: &Packet<Frame>, dropped: Option<DropReason>) {
        if self.record.tap.is_some() {
            let slot = packet.payload.slot();
            let bytes = if slot == Frame::NO_SLOT { &[] } else { self.pool.packet(slot, packet.length) };
            self.record.tapped(now, packet.flow, packet.length, dropped, bytes);
        }
    }

    /// The colour and the code point of the latest packet that was queued, if one was.
    pub(crate) fn queued(&self) -> Option<(Colour, Ecn)> {
        self.queued
    }
}

/// The code point of a frame, if the port has an AQM that may mark it.
#[inline]
pub(crate) fn ecn_of<S: Scheduler>(port: &Port<Frame, S>, header: &Header) -> Ecn {
    if port.has_aqm() { markable(header) } else { Ecn::NotEct }
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
        self.record.port.offered(now, packet);
        self.observer.offered(now, packet);
    }

    #[inline]
    fn marked(&mut self, now: Time, packet: &Packet<Frame>, from: Colour) {
        self.record.port.marked(now, packet, from);
        self.observer.marked(now, packet, from);
    }

    fn congestion_marked(&mut self, now: Time, packet: &Packet<Frame>) {
        if packet.payload.slot() != Frame::NO_SLOT && !self.is_marked_elsewhere {
            mark(LinkType::Ethernet, self.pool.packet_mut(packet.payload.slot(), packet.length));
        }
        self.record.port.congestion_marked(now, packet);
        self.observer.congestion_marked(now, packet);
    }

    #[inline]
    fn queued(&mut self, now: Time, packet: &Packet<()>, occupancy: &Occupancy) {
        self.queued = Some((packet.colour, packet.ecn));
        if let Some(meter) = &mut self.record.meter {
            Observer::<Frame>::queued(&mut **meter, now, packet, occupancy);
        }
        Observer::<Frame>::queued(&mut self.record.port, now, packet, occupancy);
        self.observer.queued(now, packet, occupancy);
    }

    #[inline]
    fn dropped(&mut self, now: Time, packet: Packet<Frame>, reason: DropReason, occupancy: &Occupancy) {
        self.tapped(now, &packet, Some(reason));
        if packet.payload.slot() != Frame::NO_SLOT {
            self.pool.release(packet.payload.slot());
        }
        if let Some(meter) = &mut self.record.meter {
            meter.dropped(now, packet, reason, occupancy);
        }
        self.record.port.dropped(now, packet, reason, occupancy);
        self.observer.dropped(now, packet, reason, occupancy);
    }

    #[inline]
    fn sent(&mut self, now: Time, packet: &Packet<Frame>, finish: Time, occupancy: &Occupancy) {
        self.tapped(now, packet, None);
        if let Some(meter) = &mut self.record.meter {
            meter.sent(now, packet, finish, occupancy);
        }
        self.record.port.sent(now, packet, finish, occupancy);
        self.observer.sent(now, packet, finish, occupancy);
    }
}
