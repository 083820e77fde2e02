//! What a replay keeps of its packets: the captured frame of each, and everything that happens to them at the port.

use crate::capture::Record;
use tidegate_atm::cell::Cell;
use tidegate_core::observer::Observer;
use tidegate_core::packet::{Colour, DropReason, Ecn, Flow, Packet};
use tidegate_core::port::{Transmission, Volume};
use tidegate_core::queue::Occupancy;
use tidegate_core::remark::Remark;
use tidegate_core::units::Time;
use tidegate_link::DelayLine;
use tidegate_statistics::PortRecorder;

/// What a replayed packet carries through the port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// Its number in the capture, from 0.
    pub number: u64,
    /// The captured packet.
    pub record: Record,
    /// The colour it came with.
    pub colour: Colour,
}

/// The reason of packets that the link lost, beside those of [`DropReason`].
pub(super) const LOST: &str = "lost-on-link";

/// A packet on the link, and the code points with which it leaves.
pub(super) struct Underway {
    pub(super) transmission: Transmission<Box<Frame>>,
    pub(super) remark: Remark,
}

/// Records everything and keeps the drops until they can be written.
pub(super) struct Watcher {
    pub(super) recorder: PortRecorder,
    /// When, what and why.
    pub(super) drops: Vec<(Time, Packet<Box<Frame>>, &'static str)>,
    pub(super) line: DelayLine<Underway>,
    pub(super) lost: Volume,
    pub(super) late: Volume,
    pub(super) duplicated: Volume,
    pub(super) without_fields: u64,
    /// The queue that the latest packet has joined, if it has.
    pub(super) joined: Option<Flow>,
    /// When its last bit comes to the end of the link, the interface of its frame, and the cell.
    pub(super) cells: Vec<(Time, usize, Cell)>,
}

impl Observer<Box<Frame>> for Watcher {
    fn offered(&mut self, now: Time, packet: &Packet<Box<Frame>>) {
        self.recorder.offered(now, packet);
    }

    fn marked(&mut self, now: Time, packet: &Packet<Box<Frame>>, from: Colour) {
        self.recorder.marked(now, packet, from);
    }

    fn congestion_marked(&mut self, now: Time, packet: &Packet<Box<Frame>>) {
        self.recorder.congestion_marked(now, packet);
    }

    fn queued(&mut self, now: Time, packet: &Packet<()>, occupancy: &Occupancy) {
        self.joined = Some(packet.flow);
        Observer::<()>::queued(&mut self.recorder, now, packet, occupancy);
    }

    fn moved(&mut self, now: Time, packet: &Packet<Box<Frame>>, to: Flow) {
        self.recorder.moved(now, packet, to);
    }

    fn dropped(&mut self, now: Time, packet: Packet<Box<Frame>>, reason: DropReason, occupancy: &Occupancy) {
        let Packet { flow, length, arrival, colour, part, .. } = packet;
        let seen = Packet { flow, length, arrival, colour, part, ecn: Ecn::NotEct, payload: () };
        self.recorder.dropped(now, seen, reason, occupancy);
        self.drops.push((now, packet, reason.name()));
    }

    fn sent(&mut self, now: Time, packet: &Packet<Box<Frame>>, finish: Time, occupancy: &Occupancy) {
        self.recorder.sent(now, packet, finish, occupancy);
    }
}
