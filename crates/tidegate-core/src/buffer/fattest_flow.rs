//! Push-out of the fattest flow, in batches: when the buffer is full, the queue with the most bytes loses up to half of them.
//!
//! **Law.** A packet that fits is accepted. One that does not makes the fattest queue lose heads until half of its bytes or a batch of packets have
//! gone, and more until the packet fits. The packet counts as part of its own queue; equals give way in the order of their numbers. A packet is
//! refused if its own queue is the fattest and holds less than half of that.
//! **Source.** T. Høiland-Jørgensen et al., "The Flow Queue CoDel packet scheduler", RFC 8290, sections 4.1 and 5.2.
//! **State.** A tree of maxima, 4.3 bytes per flow, and 24 bytes.
//! **Cost.** As [`LongestQueuePushOut`](super::LongestQueuePushOut); the search for the fattest is shared by the packets of a batch.
//! **RTL twin.** None.
//! **Deviations.** Half of the bytes in place of half of the packets, and a batch of 64, as in Linux. The source queues the packet and looks for the
//! fattest queue afterwards; here it counts before. Linux accepts a packet beyond its limit of memory if a batch did not free enough.

use super::limits::Limits;
use super::longest::Longest;
use super::{Admission, Arrival, BufferError, BufferField, BufferManager, BufferParameters, Buffering, Change, FlowShare, Victim};
use crate::algorithm::Algorithm;
use crate::packet::{DropReason, Flow};
use crate::queue::{Backlog, Marked};

/// Makes room at the expense of the queue with the most bytes, for several packets at once.
#[derive(Clone, Debug)]
pub struct FattestFlow {
    limits: Limits,
    queues: Longest,
    batch: u32,
    /// What the fattest flow still has to give, while room is being made.
    due: Option<Due>,
}

/// What a flow still has to give.
#[derive(Clone, Copy, Debug)]
struct Due {
    flow: Flow,
    /// The packets that are left of the batch.
    packets: u32,
    /// The queue shrinks to this many bytes or below.
    bytes: u32,
}

/// The packets of a batch unless given.
const BATCH: u32 = 64;

impl FattestFlow {
    /// What the fattest flow has to give, if it has enough; the flow of this packet counts as if it had joined.
    fn fattest<O: Backlog>(&self, joining: &Arrival, backlog: &O) -> Option<Due> {
        let (fattest, bytes) = self.queues.first();
        let joined = backlog.flow_bytes(joining.flow).saturating_add(joining.length);
        let is_own = joined > bytes || joined == bytes && joining.flow.index() <= fattest;
        let (flow, total) = if is_own { (joining.flow, joined) } else { (Flow(fattest as u32), bytes) };
        let (queued, half) = (backlog.flow_bytes(flow), total / 2);
        (half <= queued && backlog.flow_packets(flow) > 0).then(|| Due { flow, packets: self.batch, bytes: queued - half })
    }

    /// Begins a batch.
    fn begin(&mut self, due: Option<Due>) -> Admission {
        self.due = due.map(|due| Due { packets: due.packets - 1, ..due });
        match due {
            Some(due) => Admission::PushOut(Victim::Head(due.flow)),
            None => Admission::Refuse(DropReason::SharedLimit),
        }
    }
}

impl BufferManager for FattestFlow {
    const DROP_REASONS: &'static [DropReason] = &[DropReason::PushedOut];

    #[inline]
    fn admit<O: Backlog>(&mut self, arrival: &Arrival, backlog: &O) -> Admission {
        let Some(due) = &mut self.due else {
            return match self.limits.exceeded(arrival, backlog) {
                None => Admission::Accept,
                Some(DropReason::SharedLimit) if u64::from(arrival.length) <= self.limits.bytes() => {
                    self.begin(self.fattest(arrival, backlog))
                }
                Some(reason) => Admission::Refuse(reason),
            };
        };
        // Room is being made.
        if due.packets > 0 && backlog.flow_bytes(due.flow) > due.bytes && !fault!(FattestFlowWithoutBatch) {
            due.packets -= 1;
            return Admission::PushOut(Victim::Head(due.flow));
        }
        if self.limits.buffer_has_room(arrival, backlog) {
            self.due = None;
            return Admission::Accept;
        }
        // The packet does not count any more: refusing it would waste what has been pushed out.
        self.begin(self.fattest(&Arrival { length: 0, ..*arrival }, backlog))
    }

    fn restore<O: Backlog>(&mut self, flow: Flow, _marked: Marked, backlog: &O) {
        self.queues.set(flow.index(), backlog.flow_bytes(flow));
    }

    fn forget(&mut self, flow: Flow) {
        self.limits.forget(flow);
    }

    fn change<O: Backlog>(&mut self, flow: Flow, share: &FlowShare, _backlog: &O) -> Result<(), BufferError> {
        self.limits.change(flow, share.limit)
    }

    #[inline]
    fn changed<O: Backlog>(&mut self, change: Change, backlog: &O) {
        self.queues.set(change.flow.index(), backlog.flow_bytes(change.flow));
    }
}

impl Algorithm<Buffering> for FattestFlow {
    const NAME: &'static str = "fattest-flow";
    const SUMMARY: &'static str = "when the buffer is full, the flow with the most bytes loses up to half of them";
    const ACCEPTS: &'static [BufferField] = &[BufferField::Batch];

    fn build(parameters: &BufferParameters) -> Result<FattestFlow, BufferError> {
        if parameters.bytes.is_none() && parameters.packets.is_none() {
            return Err(BufferField::Limit.wrong("this buffer manager needs it, in bytes or in packets"));
        }
        if parameters.flows == 0 {
            return Err(BufferField::Flows.wrong("must be the number of the port's flows"));
        }
        let batch = parameters.batch.unwrap_or(BATCH);
        if batch == 0 {
            return Err(BufferField::Batch.wrong("must be at least 1: room for a packet is made by dropping another"));
        }
        Ok(FattestFlow { limits: Limits::new(parameters), queues: Longest::new(parameters.flows), batch, due: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Colour, Ecn, Packet, Part};
    use crate::queue::Queues;
    use crate::units::{Overhead, Time};
    use alloc::vec::Vec;

    /// Offers packets of these flows and lengths, and returns the flows of the heads that are pushed out for each; `None` ends the list of one that is
    /// refused.
    fn pushed_out(limit: u32, memory: u64, batch: u32, arrivals: &[(u32, u32)]) -> Vec<Vec<Option<u32>>> {
        let parameters =
            BufferParameters { flows: 4, packets: Some(limit), bytes: Some(memory), batch: Some(batch), ..BufferParameters::default() };
        let (mut manager, mut queues) = (FattestFlow::build(&parameters).unwrap(), Queues::<()>::new(4, 100, Overhead::None));
        let offer = |&(flow, length): &(u32, u32)| {
            let (flow, colour, part, ecn, now) = (Flow(flow), Colour::Green, Part::Whole, Ecn::NotEct, Time::ZERO);
            let arrival = Arrival { flow, length, colour, part, ecn, now };
            let mut gone = Vec::new();
            loop {
                match manager.admit(&arrival, queues.occupancy()) {
                    Admission::PushOut(Victim::Head(victim)) => {
                        gone.push(Some(victim.0));
                        let (packet, _) = queues.pop(victim).unwrap();
                        manager.changed(Change::left(&packet), queues.occupancy());
                    }
                    Admission::Accept => {
                        let packet = Packet { flow, length, arrival: now, colour, part, ecn, payload: () };
                        queues.push(packet);
                        manager.changed(Change::joined(&packet), queues.occupancy());
                        return gone;
                    }
                    Admission::Refuse(_) => {
                        gone.push(None);
                        return gone;
                    }
                    other => panic!("{other:?}"),
                }
            }
        };
        arrivals.iter().map(offer).filter(|gone| !gone.is_empty()).collect()
    }

    #[test]
    fn half_of_the_fattest_flow_goes_at_once() {
        let mut arrivals = [(0, 1000); 11];
        arrivals[8..10].fill((1, 1000));
        arrivals[10] = (2, 1000);
        assert_eq!(pushed_out(10, 1 << 25, 64, &arrivals), [[Some(0); 4]]);
        assert_eq!(pushed_out(10, 1 << 25, 3, &arrivals), [[Some(0); 3]]);
    }

    #[test]
    fn a_batch_may_be_one_packet() {
        assert_eq!(pushed_out(4, 1 << 25, 1, &[(0, 1000); 6]), [[Some(0)], [Some(0)]]);
    }

    #[test]
    fn more_goes_while_the_packet_does_not_fit() {
        // 1000 bytes of flow 0 do not suffice for 3000: then flow 1 gives half, too, and flow 0 is the fattest again.
        let arrivals = [(0, 1000), (0, 1000), (1, 900), (1, 900), (2, 3000)];
        assert_eq!(pushed_out(100, 4000, 64, &arrivals), [[None]], "alone it would be the fattest");
        let arrivals = [(0, 1000), (0, 1000), (1, 900), (1, 900), (2, 1900)];
        assert_eq!(pushed_out(100, 3900, 64, &arrivals), [[Some(0), Some(1)]]);
    }

    #[test]
    fn nothing_gives_way_to_a_packet_that_cannot_stay() {
        assert_eq!(pushed_out(100, 1000, 64, &[(0, 600), (1, 1001)]), [[None]], "it is longer than the buffer");
        assert_eq!(pushed_out(100, 1000, 64, &[(0, 100), (0, 950)]), [[None]], "its own flow is the fattest and has not enough");
    }
}
