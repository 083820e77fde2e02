//! Dynamic threshold: a queue may grow while it is shorter than alpha times the space that is free.
//!
//! **Law.** Let B be the buffer's size and Q its backlog. A packet within the limits of the buffer and of its flow is accepted if and only if
//! its queue's length is below `alpha * (B - Q)`. S saturated queues settle at `alpha * B / (1 + alpha * S)` each and leave
//! `B / (1 + alpha * S)` free.
//! **Source.** A. Choudhury and E. Hahne, "Dynamic queue length thresholds for shared-memory packet switches", IEEE/ACM Transactions on
//! Networking 6(2), 1998.
//! **State.** None.
//! **Cost.** One shift and five comparisons: alpha is a power of two, as in the source's hardware.
//! **RTL twin.** None yet.
//! **Deviations.** For variable lengths the test is on the queue before the packet, so a queue overshoots its threshold by less than one
//! packet.

use super::limits::Limits;
use super::{Admission, Arrival, BufferError, BufferField, BufferManager, BufferParameters, Buffering, FlowShare};
use crate::algorithm::Algorithm;
use crate::packet::{DropReason, Flow};
use crate::queue::Backlog;

/// Refuses a packet whose queue is long in comparison with the free space.
///
/// ```
/// use tidegate_core::buffer::{Alpha, BufferParameters};
/// use tidegate_core::registry::BufferKind;
///
/// let alpha = Alpha::from_exponent(-1); // one half
/// let parameters = BufferParameters { flows: 8, bytes: Some(1_000_000), alpha, ..BufferParameters::default() };
/// assert!(BufferKind::DynamicThreshold.build(&parameters).is_ok());
/// ```
#[derive(Clone, Debug)]
pub struct DynamicThreshold {
    limits: Limits,
    /// True if queues are measured in bytes, false for packets.
    in_bytes: bool,
    /// The queue's length is shifted left by the first and the free space by the second; at least one of them is 0.
    shift_queue: u32,
    shift_free: u32,
}

impl BufferManager for DynamicThreshold {
    const DROP_REASONS: &'static [DropReason] = &[DropReason::Threshold];

    #[inline]
    fn admit<O: Backlog>(&mut self, arrival: &Arrival, backlog: &O) -> Admission {
        if let Some(reason) = self.limits.exceeded(arrival, backlog) {
            return Admission::Refuse(reason);
        }
        let (queue, free) = if self.in_bytes {
            (u64::from(backlog.flow_bytes(arrival.flow)), self.limits.bytes() - backlog.bytes())
        } else {
            (u64::from(backlog.flow_packets(arrival.flow)), u64::from(self.limits.packets() - backlog.packets()))
        };
        // Whole numbers on both sides: a fraction of alpha would be lost if the free space were shifted right.
        let free = if fault!(DynamicThresholdDoubled) { 2 * free } else { free };
        let queue = if fault!(DynamicThresholdHalved) { 2 * queue } else { queue };
        let queue = if fault!(DynamicThresholdTailDrops) { 0 } else { queue };
        if queue << self.shift_queue < free << self.shift_free { Admission::Accept } else { Admission::Refuse(DropReason::Threshold) }
    }

    fn change<O: Backlog>(&mut self, flow: Flow, share: &FlowShare, _backlog: &O) -> Result<(), BufferError> {
        self.limits.change(flow, share.limit)
    }

    fn forget(&mut self, flow: Flow) {
        self.limits.forget(flow);
    }
}

impl Algorithm<Buffering> for DynamicThreshold {
    const NAME: &'static str = "dynamic-threshold";
    const SUMMARY: &'static str = "a queue may grow while it is shorter than alpha times the free space (Choudhury and Hahne)";
    const ACCEPTS: &'static [BufferField] = &[BufferField::Alpha];

    fn build(parameters: &BufferParameters) -> Result<DynamicThreshold, BufferError> {
        if parameters.bytes.is_none() && parameters.packets.is_none() {
            return Err(BufferField::Limit.wrong("this buffer manager needs it, in bytes or in packets"));
        }
        if parameters.bytes.is_some_and(|bytes| bytes >= 1 << 47) {
            return Err(BufferField::Limit.wrong("must be less than 2^47 bytes"));
        }
        let exponent = parameters.alpha.unwrap_or_default().exponent();
        Ok(DynamicThreshold {
            limits: Limits::new(parameters),
            in_bytes: parameters.bytes.is_some(),
            shift_queue: (-exponent).max(0) as u32,
            shift_free: exponent.max(0) as u32,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::Alpha;
    use crate::packet::{Colour, Ecn, Packet, Part};
    use crate::queue::Queues;
    use crate::units::{Overhead, Time};
    use alloc::vec::Vec;

    const SIZE: u32 = 1000;

    /// Offers packets to `saturated` flows in turn until none is accepted; the lengths of their queues, and what is left.
    fn settle(saturated: u32, exponent: i32, in_bytes: bool) -> (Vec<u32>, u32) {
        let alpha = Alpha::from_exponent(exponent);
        let (packets, bytes) = if in_bytes { (None, Some(u64::from(SIZE))) } else { (Some(SIZE), None) };
        let parameters = BufferParameters { flows: saturated as usize, packets, bytes, alpha, ..BufferParameters::default() };
        let mut manager = DynamicThreshold::build(&parameters).unwrap();
        let mut queues = Queues::new(saturated as usize, SIZE, Overhead::None);
        loop {
            let before = queues.occupancy().packets();
            for flow in (0..saturated).map(Flow) {
                // One byte long, so that both units count the same.
                let arrival = Arrival { ecn: Ecn::NotEct, flow, length: 1, colour: Colour::Green, part: Part::Whole, now: Time::ZERO };
                match manager.admit(&arrival, queues.occupancy()) {
                    Admission::Accept => {
                        let (colour, part) = (Colour::Green, Part::Whole);
                        queues.push(Packet { flow, length: 1, arrival: Time::ZERO, colour, part, ecn: Ecn::NotEct, payload: () });
                    }
                    refused => assert_eq!(refused, Admission::Refuse(DropReason::Threshold)),
                }
            }
            if queues.occupancy().packets() == before {
                let lengths = (0..saturated).map(|flow| queues.occupancy().flow_packets(Flow(flow))).collect();
                return (lengths, SIZE - before);
            }
        }
    }

    #[test]
    fn saturated_queues_settle_where_the_source_says() {
        for (saturated, exponent, tenths, spare) in
            [(1, 0, 5000, 5000), (4, 0, 2000, 2000), (8, 0, 1111, 1111), (4, 1, 2222, 1111), (2, -1, 2500, 5000)]
        {
            for in_bytes in [false, true] {
                let (lengths, left) = settle(saturated, exponent, in_bytes);
                for length in lengths {
                    assert!(length * 10 >= tenths - 9 && length * 10 <= tenths + 10, "{saturated} at 2^{exponent}: {length}");
                }
                assert!(left * 10 <= spare + 10 && left * 10 + 10 * saturated >= spare, "{saturated} at 2^{exponent}: {left} left");
            }
        }
        assert_eq!(settle(1, 0, true).0, [500]);
        assert_eq!(settle(4, 0, true), (alloc::vec![200; 4], 200));
    }

    #[test]
    fn a_buffer_without_a_size_has_no_threshold() {
        let error = DynamicThreshold::build(&BufferParameters::default()).unwrap_err();
        assert_eq!(error.field, BufferField::Limit);
        assert!(Alpha::from_exponent(17).is_none() && Alpha::from_exponent(-17).is_none());
    }
}
