//! Frame discard, which all buffer managers for frames share: a frame is accepted or refused as a whole.
//!
//! **Law.** A rule is asked at a frame's first packet, and its answer holds to the frame's end. Only a full buffer divides a frame: what
//! follows a packet that found no room is dropped too (partial packet discard). The last packet of several is kept if there is room for it,
//! because it tells a receiver where the next frame begins.
//! **Source.** A. Romanow and S. Floyd, "Dynamics of TCP traffic over ATM networks", IEEE JSAC 13(4), 1995; the per-flow counts are those of
//! R. Goyal, R. Jain, S. Kalyanaraman, S. Fahmy and S. Kim, "UBR+: improving performance of TCP over ATM-UBR service", ICC 1997.
//! **State.** Eight bytes per flow (the verdict on its present frame, the untagged part of its queue), and the number of active flows.
//! **Cost.** O(1) per packet; the rule is evaluated for first packets only.
//! **RTL twin.** None yet.
//! **Deviations.** Packets instead of cells: a plain packet is a frame of one and is refused like any other frame. Occupancy is measured in
//! bytes if the buffer's size is in bytes, in packets (cells) otherwise. Of a frame that has lost its first packet upstream, all packets but
//! the last are dropped.

use super::limits::Limits;
use super::{Admission, Arrival, BufferError, BufferField, BufferManager, BufferParameters, Buffering, Change, FlowShare};
use crate::algorithm::{Algorithm, Role};
use crate::packet::{Colour, DropReason, Flow};
use crate::queue::{Backlog, Marked};
use crate::scheduler::Kept;
use alloc::vec::Vec;

/// What a rule knows when the first packet of a frame arrives. Amounts are in the buffer's unit and exclude the packet.
#[derive(Clone, Copy, Debug)]
pub struct FrameContext {
    /// The flow.
    pub flow: Flow,
    /// The occupancy of the buffer (X).
    pub total: u64,
    /// The occupancy of the flow's queue (Yi).
    pub queue: u64,
    /// The untagged part of that (Li).
    pub untagged: u64,
    /// The number of queues that are not empty (Na).
    pub active: u64,
    /// True if the packet is tagged: not green.
    pub is_tagged: bool,
}

/// The role of the rules by which frames are discarded: built from the buffer's parameters and its size (K) in its unit.
#[derive(Debug)]
pub enum FrameDiscarding {}

impl Role for FrameDiscarding {
    type Field = BufferField;
    type Parameters<'a> = (&'a BufferParameters, u64);
    type Error = BufferError;
}

/// Which frames are refused before the buffer is full.
pub trait FrameRule: Algorithm<FrameDiscarding> {
    /// As [`BufferManager::DROP_REASONS`].
    const DROP_REASONS: &'static [DropReason] = &[DropReason::EarlyDiscard, DropReason::PartialFrame];

    /// True if the frame that begins is to be refused.
    fn refuses(&self, context: &FrameContext) -> bool;

    /// As [`BufferManager::change`], before the flow's limit changes.
    ///
    /// # Errors
    /// As there.
    fn change(&mut self, flow: Flow, share: &FlowShare) -> Result<(), BufferError> {
        let _ = (flow, share);
        Ok(())
    }

    /// As [`BufferManager::forget`].
    fn forget(&mut self, flow: Flow) {
        let _ = flow;
    }
}

/// A buffer manager that accepts or refuses frames by a rule.
#[derive(Clone, Debug)]
pub struct FrameDiscard<R> {
    limits: Limits,
    /// True if queues are measured in bytes, false for packets.
    in_bytes: bool,
    rule: R,
    flows: Vec<FlowFrames>,
    /// Flows with something queued.
    active: u32,
}

/// One flow's present frame.
#[derive(Clone, Copy, Debug)]
struct FlowFrames {
    /// The untagged part of the queue.
    untagged: u32,
    verdict: FrameVerdict,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FrameVerdict {
    /// Its packets are accepted.
    Accepted,
    /// The rule has refused it.
    Refused,
    /// A packet of it has been dropped, or no frame has begun.
    Broken,
}

impl<R: FrameRule> FrameDiscard<R> {
    #[inline]
    fn context(&self, arrival: &Arrival, backlog: &impl Backlog) -> FrameContext {
        let Arrival { flow, colour, .. } = *arrival;
        let (total, queue) = if self.in_bytes {
            (backlog.bytes(), backlog.flow_bytes(flow))
        } else {
            (u64::from(backlog.packets()), backlog.flow_packets(flow))
        };
        let untagged = u64::from(self.flows[flow.index()].untagged);
        FrameContext { flow, total, queue: u64::from(queue), untagged, active: u64::from(self.active), is_tagged: colour != Colour::Green }
    }
}

impl<R: FrameRule> BufferManager for FrameDiscard<R> {
    const DROP_REASONS: &'static [DropReason] = R::DROP_REASONS;

    #[inline]
    fn admit<O: Backlog>(&mut self, arrival: &Arrival, backlog: &O) -> Admission {
        let (part, lack) = (arrival.part, self.limits.exceeded(arrival, backlog));
        let mut verdict = self.flows[arrival.flow.index()].verdict;
        if part.is_first() {
            verdict = if self.rule.refuses(&self.context(arrival, backlog)) { FrameVerdict::Refused } else { FrameVerdict::Accepted };
        }
        let delimits = part.is_last() && !part.is_first() && !fault!(FramesLoseTheirEnds);
        let admission = match (lack, verdict) {
            (Some(reason), _) => Admission::Refuse(reason),
            (None, FrameVerdict::Accepted) => Admission::Accept,
            (None, _) if delimits => Admission::Accept,
            (None, FrameVerdict::Refused) => Admission::Refuse(DropReason::EarlyDiscard),
            (None, FrameVerdict::Broken) => Admission::Refuse(DropReason::PartialFrame),
        };
        if part.is_last() || lack.is_some() && verdict == FrameVerdict::Accepted {
            verdict = FrameVerdict::Broken;
        }
        self.flows[arrival.flow.index()].verdict = verdict;
        admission
    }

    #[inline]
    fn changed<O: Backlog>(&mut self, change: Change, backlog: &O) {
        let flow = &mut self.flows[change.flow.index()];
        let amount = if self.in_bytes { change.length } else { 1 };
        let untagged = if change.colour == Colour::Green { amount } else { 0 };
        let queued = backlog.flow_packets(change.flow);
        if change.has_joined {
            flow.untagged += untagged;
            self.active += u32::from(queued == 1);
        } else {
            flow.untagged -= untagged;
            self.active -= u32::from(queued == 0);
        }
    }

    fn change<O: Backlog>(&mut self, flow: Flow, share: &FlowShare, _backlog: &O) -> Result<(), BufferError> {
        share.limit.check(BufferField::FlowLimit)?;
        self.rule.change(flow, share)?;
        self.limits.change(flow, share.limit)
    }

    fn forget(&mut self, flow: Flow) {
        self.rule.forget(flow);
        self.limits.forget(flow);
        self.flows[flow.index()].verdict = FrameVerdict::Broken;
    }

    fn restore<O: Backlog>(&mut self, flow: Flow, marked: Marked, backlog: &O) {
        let (packets, bytes) = (backlog.flow_packets(flow), backlog.flow_bytes(flow));
        self.flows[flow.index()].untagged = if self.in_bytes { bytes - marked.bytes } else { packets - marked.packets };
        self.active += u32::from(packets > 0);
    }

    fn adopt(&mut self, old: &FrameDiscard<R>, kept: &[Kept]) {
        for kept in kept {
            self.flows[kept.to.index()].verdict = old.flows[kept.from.index()].verdict;
        }
    }
}

impl<R: FrameRule> Algorithm<Buffering> for FrameDiscard<R> {
    const NAME: &'static str = R::NAME;
    const SUMMARY: &'static str = R::SUMMARY;
    const ACCEPTS: &'static [BufferField] = R::ACCEPTS;

    fn build(parameters: &BufferParameters) -> Result<FrameDiscard<R>, BufferError> {
        let Some(size) = parameters.bytes.or(parameters.packets.map(u64::from)) else {
            return Err(BufferField::Limit.wrong("this buffer manager needs it, in bytes or in packets"));
        };
        // No product of the rules exceeds 127 bits.
        if size >= 1 << 40 {
            return Err(BufferField::Limit.wrong("must be less than 2^40 bytes"));
        }
        let rule = R::build((parameters, size))?;
        let flows = alloc::vec![FlowFrames { untagged: 0, verdict: FrameVerdict::Broken }; parameters.flows];
        Ok(FrameDiscard { limits: Limits::new(parameters), in_bytes: parameters.bytes.is_some(), rule, flows, active: 0 })
    }
}

/// The threshold R of a buffer of `size`: the one given, or `usual` tenths of the buffer.
pub(super) fn threshold(given: Option<u64>, size: u64, usual: u64, field: BufferField) -> Result<u64, BufferError> {
    match given {
        None => Ok(size * usual / 10),
        Some(threshold) if threshold > size => Err(field.wrong("must not be larger than the buffer, which would be full before")),
        Some(threshold) => Ok(threshold),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::PartialPacketDiscard;
    use crate::packet::{Ecn, Packet, Part};
    use crate::queue::Queues;
    use crate::units::{Overhead, Time};
    use Part::{First, Last, Middle, Whole};

    /// A buffer with a manager, counted in cells.
    struct Cells<M> {
        manager: M,
        queues: Queues<()>,
    }

    struct RefusesTagged;

    impl Algorithm<FrameDiscarding> for RefusesTagged {
        const NAME: &'static str = "";
        const SUMMARY: &'static str = "";

        fn build((_, _): (&BufferParameters, u64)) -> Result<RefusesTagged, BufferError> {
            Ok(RefusesTagged)
        }
    }

    impl FrameRule for RefusesTagged {
        fn refuses(&self, context: &FrameContext) -> bool {
            context.is_tagged
        }
    }

    impl<M: BufferManager + Algorithm<Buffering>> Cells<M> {
        fn new(packets: u32) -> Cells<M> {
            let parameters = BufferParameters { flows: 2, packets: Some(packets), ..BufferParameters::default() };
            Cells { manager: M::build(&parameters).unwrap(), queues: Queues::new(2, 100, Overhead::None) }
        }

        fn offer(&mut self, flow: u32, part: Part, colour: Colour) -> Result<(), DropReason> {
            let (flow, now) = (Flow(flow), Time::ZERO);
            match self.manager.admit(&Arrival { ecn: Ecn::NotEct, flow, length: 53, colour, part, now }, self.queues.occupancy()) {
                Admission::Accept => {
                    let packet = Packet { flow, length: 53, arrival: now, colour, part, ecn: Ecn::NotEct, payload: () };
                    self.queues.push(packet);
                    self.manager.changed(Change::joined(&packet), self.queues.occupancy());
                    Ok(())
                }
                Admission::Refuse(reason) => Err(reason),
                other => panic!("{other:?}: frames are accepted or refused"),
            }
        }

        fn leave(&mut self, flow: u32) {
            let (packet, _) = self.queues.pop(Flow(flow)).unwrap();
            self.manager.changed(Change::left(&packet), self.queues.occupancy());
        }
    }

    #[test]
    fn a_refused_frame_loses_all_but_its_end() {
        let mut cells: Cells<FrameDiscard<RefusesTagged>> = Cells::new(10);
        let early = Err(DropReason::EarlyDiscard);
        assert_eq!([First, Middle, Last].map(|part| cells.offer(0, part, Colour::Yellow)), [early, early, Ok(())]);
        // The answer to the first packet holds, whatever the colour of those that follow.
        assert_eq!([First, Middle, Last].map(|part| cells.offer(0, part, Colour::Green)), [Ok(()); 3]);
        assert_eq!(cells.offer(0, First, Colour::Green), Ok(()));
        assert_eq!(cells.offer(1, Whole, Colour::Yellow), early, "another flow's frame, of one packet");
        assert_eq!([Middle, Last].map(|part| cells.offer(0, part, Colour::Red)), [Ok(()); 2]);
        assert_eq!(cells.offer(1, Whole, Colour::Green), Ok(()));
    }

    #[test]
    fn after_a_full_buffer_the_rest_of_the_frame_goes_and_its_end_stays_if_it_can() {
        let mut cells: Cells<PartialPacketDiscard> = Cells::new(2);
        let full = Err(DropReason::SharedLimit);
        assert_eq!([First, Middle, Middle].map(|part| cells.offer(0, part, Colour::Green)), [Ok(()), Ok(()), full]);
        cells.leave(0);
        assert_eq!(cells.offer(0, Middle, Colour::Green), Err(DropReason::PartialFrame), "there is room, and it would be in vain");
        assert_eq!(cells.offer(1, Whole, Colour::Green), Ok(()));
        assert_eq!(cells.offer(0, Last, Colour::Green), full);
        cells.leave(0);
        // The next frame is judged anew; one whose beginning was lost upstream is not.
        assert_eq!(cells.offer(0, Middle, Colour::Green), Err(DropReason::PartialFrame));
        assert_eq!(cells.offer(0, Last, Colour::Green), Ok(()));
        cells.leave(0);
        assert_eq!(cells.offer(0, First, Colour::Green), Ok(()));
    }

    #[test]
    fn counts_follow_the_queues() {
        let mut cells: Cells<PartialPacketDiscard> = Cells::new(10);
        for (flow, colour) in [(0, Colour::Green), (0, Colour::Yellow), (0, Colour::Green), (1, Colour::Red)] {
            assert_eq!(cells.offer(flow, Whole, colour), Ok(()));
        }
        let counts =
            |cells: &Cells<PartialPacketDiscard>| (cells.manager.active, cells.manager.flows[0].untagged, cells.manager.flows[1].untagged);
        assert_eq!(counts(&cells), (2, 2, 0));
        cells.leave(1);
        assert_eq!(counts(&cells), (1, 2, 0));
        (0..3).for_each(|_| cells.leave(0));
        assert_eq!(counts(&cells), (0, 0, 0));
    }
}
