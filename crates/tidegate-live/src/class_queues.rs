//! The queues of a class as they are.

use crate::watch::Frame;
use tidegate_core::aqm::AqmState;
use tidegate_core::packet::Flow;
use tidegate_core::port::Port;
use tidegate_core::queue::Backlog;
use tidegate_core::scheduler::Scheduler;
use tidegate_core::units::{Duration, Time};

/// What the queues of a class hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClassQueues {
    /// How many it has.
    pub queues: u32,
    /// How many hold packets.
    pub backlogged: u32,
    /// Packets in all.
    pub packets: u64,
    /// Bytes in all.
    pub bytes: u64,
    /// The packets in the one with the most bytes.
    pub longest_packets: u32,
    /// Its bytes.
    pub longest_bytes: u32,
    /// How long the oldest packet has waited.
    pub oldest: Option<Duration>,
    /// The backlogged queues in which an AQM signals because delays have stayed above its target, or which are beyond its threshold.
    pub signalling: u32,
    /// The highest probability of a signal of an AQM in a backlogged queue, in units of 2^-32.
    pub probability: Option<u64>,
}

impl ClassQueues {
    /// Adds at most `most` queues of a class of the present policy, the first after those that were added. True if none is left.
    pub(crate) fn add<S: Scheduler>(&mut self, port: &Port<Frame, S>, now: Time, class: usize, most: u32) -> bool {
        let Some(class) = port.classifier().classes().get(class) else { return true };
        let until = class.queues.min(self.queues + most);
        let occupancy = port.occupancy();
        for flow in (class.first_flow.0 + self.queues..class.first_flow.0 + until).map(Flow) {
            let Some(since) = occupancy.waiting_since(flow) else { continue };
            let (packets, bytes) = (occupancy.flow_packets(flow), occupancy.flow_bytes(flow));
            self.backlogged += 1;
            self.packets += u64::from(packets);
            self.bytes += u64::from(bytes);
            if bytes > self.longest_bytes {
                (self.longest_packets, self.longest_bytes) = (packets, bytes);
            }
            if let Some(AqmState { is_signalling, probability }) = port.aqm_state(now, flow) {
                self.signalling += u32::from(is_signalling);
                self.probability = self.probability.max(probability);
            }
            self.oldest = self.oldest.max(Some(now.since(since)));
        }
        self.queues = until;
        until == class.queues
    }
}
