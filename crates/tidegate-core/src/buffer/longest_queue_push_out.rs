//! Push-out of the longest queue: when the buffer is full, the longest queue gives way.
//!
//! **Law.** A packet that fits is accepted. One that does not is refused if its own queue, the packet included, would be at least as long
//! as every other. Otherwise heads of the longest queue are dropped until it fits. Lengths are in bytes; equally long queues give way in
//! the order of their numbers. A flow below its fair share of the buffer never loses a packet to one above it.
//! **Source.** S. Suter, T. Lakshman, D. Stiliadis and A. Choudhury, "Design considerations for supporting TCP with per-flow queueing",
//! INFOCOM 1998 (longest queue drop, drop from front).
//! **State.** A tree of maxima, 4.3 bytes per flow, and one flag.
//! **Cost.** Per change of a queue one node of sixteen lengths, rarely more; per push-out one node per level.
//! **RTL twin.** None yet.
//! **Deviations.** The source's single longest-queue register is approximate; this is exact.
//!
//! **Head or tail.** The head is pushed out, so that end-to-end congestion control learns of the loss a queue's length earlier, and the
//! newer packets stay. The scheduler is told that the head was lost, so no flow is charged for it.
//!
//! **Not in vain.** Whether to push out is decided once per arrival. A large packet may need several push-outs, after which its own queue
//! may be the longest. That queue then gives way itself: refusing the packet would waste the earlier push-outs.

use super::limits::Limits;
use super::longest::Longest;
use super::{Admission, Arrival, BufferError, BufferField, BufferManager, BufferParameters, Buffering, Change, FlowShare, Victim};
use crate::algorithm::Algorithm;
use crate::packet::{DropReason, Flow};
use crate::queue::{Backlog, Marked};

/// Makes room at the expense of the longest queue.
///
/// ```
/// use tidegate_core::buffer::BufferParameters;
/// use tidegate_core::registry::BufferKind;
///
/// // Packets are limited besides bytes, as the port's packet memory is: only then can a full memory push out.
/// let parameters = BufferParameters { flows: 1024, packets: Some(10_000), bytes: Some(1_000_000), ..BufferParameters::default() };
/// assert!(BufferKind::LongestQueuePushOut.build(&parameters).is_ok());
/// ```
#[derive(Clone, Debug)]
pub struct LongestQueuePushOut {
    limits: Limits,
    queues: Longest,
    /// True between a push-out and the acceptance of the packet it was made for.
    is_making_room: bool,
}

impl BufferManager for LongestQueuePushOut {
    const DROP_REASONS: &'static [DropReason] = &[DropReason::PushedOut];

    #[inline]
    fn admit<O: Backlog>(&mut self, arrival: &Arrival, backlog: &O) -> Admission {
        // No packet beyond its own limit is pushed out for, so this cannot occur while room is being made.
        if !self.limits.flow_has_room(arrival, backlog) {
            return Admission::Refuse(DropReason::FlowLimit);
        }
        if self.limits.buffer_has_room(arrival, backlog) {
            self.is_making_room = false;
            return Admission::Accept;
        }
        let (longest, bytes) = self.queues.first();
        if !self.is_making_room {
            let joined = u64::from(backlog.flow_bytes(arrival.flow)) + u64::from(arrival.length);
            // This also refuses a packet larger than the whole buffer, since no queue is longer than that.
            if joined >= u64::from(bytes) {
                return Admission::Refuse(DropReason::SharedLimit);
            }
            self.is_making_room = true;
        }
        if fault!(PushOutOfTheWrongQueue) && backlog.flow_packets(arrival.flow) > 0 {
            return Admission::PushOut(Victim::Head(arrival.flow));
        }
        Admission::PushOut(Victim::Head(Flow(longest as u32)))
    }

    #[inline]
    fn changed<O: Backlog>(&mut self, change: Change, backlog: &O) {
        self.queues.set(change.flow.index(), backlog.flow_bytes(change.flow));
    }

    fn change<O: Backlog>(&mut self, flow: Flow, share: &FlowShare, _backlog: &O) -> Result<(), BufferError> {
        self.limits.change(flow, share.limit)
    }

    fn forget(&mut self, flow: Flow) {
        self.limits.forget(flow);
    }

    fn restore<O: Backlog>(&mut self, flow: Flow, _marked: Marked, backlog: &O) {
        self.queues.set(flow.index(), backlog.flow_bytes(flow));
    }
}

impl Algorithm<Buffering> for LongestQueuePushOut {
    const NAME: &'static str = "longest-queue-push-out";
    const SUMMARY: &'static str = "when the buffer is full, the longest queue gives way";

    fn build(parameters: &BufferParameters) -> Result<LongestQueuePushOut, BufferError> {
        if parameters.bytes.is_none() && parameters.packets.is_none() {
            return Err(BufferField::Limit.wrong("this buffer manager needs it, in bytes or in packets"));
        }
        if parameters.flows == 0 {
            return Err(BufferField::Flows.wrong("must be the number of the port's flows"));
        }
        Ok(LongestQueuePushOut { limits: Limits::new(parameters), queues: Longest::new(parameters.flows), is_making_room: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Colour, Ecn, Packet, Part};
    use crate::queue::Queues;
    use crate::units::{Overhead, Time};
    use Admission::{Accept, PushOut, Refuse};
    use alloc::vec::Vec;

    struct Buffer {
        manager: LongestQueuePushOut,
        queues: Queues<()>,
    }

    impl Buffer {
        fn new(flows: usize, bytes: u64) -> Buffer {
            let parameters = BufferParameters { flows, bytes: Some(bytes), packets: Some(1000), ..BufferParameters::default() };
            Buffer { manager: LongestQueuePushOut::build(&parameters).unwrap(), queues: Queues::new(flows, 1000, Overhead::None) }
        }

        /// Offers a packet, obeys the manager, and returns every answer until the packet is accepted or refused.
        fn offer(&mut self, flow: u32, length: u32) -> Vec<Admission> {
            let arrival = Arrival { ecn: Ecn::NotEct, flow: Flow(flow), length, colour: Colour::Green, part: Part::Whole, now: Time::ZERO };
            let mut answers = Vec::new();
            loop {
                let answer = self.manager.admit(&arrival, self.queues.occupancy());
                answers.push(answer);
                match answer {
                    PushOut(Victim::Head(victim)) => {
                        let (packet, _) = self.queues.pop(victim).unwrap();
                        self.manager.changed(Change::left(&packet), self.queues.occupancy());
                    }
                    PushOut(_) | Admission::AcceptAs(_) => panic!("heads are pushed out"),
                    Accept => {
                        let colour = Colour::Green;
                        let packet = Packet {
                            flow: Flow(flow),
                            length,
                            arrival: Time::ZERO,
                            colour,
                            part: Part::Whole,
                            ecn: Ecn::NotEct,
                            payload: (),
                        };
                        self.queues.push(packet);
                        self.manager.changed(Change::joined(&packet), self.queues.occupancy());
                        return answers;
                    }
                    Refuse(_) => return answers,
                }
            }
        }
    }

    fn head(flow: u32) -> Admission {
        PushOut(Victim::Head(Flow(flow)))
    }

    const FULL: Admission = Refuse(DropReason::SharedLimit);

    #[test]
    fn the_longest_queue_gives_way_until_the_packet_fits() {
        let mut buffer = Buffer::new(3, 1000);
        for length in [300, 100, 200] {
            assert_eq!(buffer.offer(0, length), [Accept]);
        }
        assert_eq!(buffer.offer(1, 400), [Accept]);
        assert_eq!(buffer.offer(2, 350), [head(0), head(1), Accept], "300 of flow 0, and then flow 1 with 400 is the longest");
        assert_eq!(buffer.offer(0, 350), [Accept], "350 and 300 are queued");
    }

    #[test]
    fn the_longest_queue_itself_is_refused() {
        let mut buffer = Buffer::new(2, 1000);
        assert_eq!(buffer.offer(0, 500), [Accept]);
        assert_eq!(buffer.offer(1, 500), [Accept]);
        assert_eq!(buffer.offer(0, 1), [FULL], "it would be the longest");
        assert_eq!(buffer.offer(1, 0), [Accept], "nothing always fits");
        assert_eq!(buffer.offer(1, 1001), [FULL], "it would not even fit alone");
    }

    #[test]
    fn equally_long_queues_give_way_in_the_order_of_their_numbers() {
        let mut buffer = Buffer::new(4, 900);
        for flow in [3, 1, 2] {
            assert_eq!(buffer.offer(flow, 300), [Accept]);
        }
        assert_eq!(buffer.offer(0, 250), [head(1), Accept]);
        assert_eq!(buffer.offer(1, 299), [head(2), Accept]);
    }

    #[test]
    fn a_packet_for_which_others_gave_way_is_accepted_at_the_expense_of_its_own_queue() {
        let mut buffer = Buffer::new(2, 1000);
        assert_eq!(buffer.offer(0, 300), [Accept]);
        assert_eq!(buffer.offer(1, 700), [Accept]);
        // 300 + 390 is less than 700, so flow 1 gives way; without its one packet there is room at once.
        assert_eq!(buffer.offer(0, 390), [head(1), Accept]);
        let mut buffer = Buffer::new(2, 1000);
        for _ in 0..4 {
            assert_eq!(buffer.offer(0, 100), [Accept]);
        }
        assert_eq!(buffer.offer(1, 50), [Accept]);
        assert_eq!(buffer.offer(1, 550), [Accept]);
        // 400 + 190 is less than 600. The 50 that flow 1 loses do not suffice; then it is still the longest, and the 550 go too.
        assert_eq!(buffer.offer(0, 190), [head(1), head(1), Accept]);
    }
}
