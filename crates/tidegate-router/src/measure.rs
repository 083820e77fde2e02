//! Counts packets and their delays, and keeps the account of every flow.

use crate::outcome::{Account, FlowOutcome, Loss, Losses};
use crate::packet::Packet;
use std::ops::Range;
use tidegate_statistics::Histogram;

#[derive(Clone, Debug, Default)]
struct FlowMeter {
    offered: u64,
    forwarded: u64,
    forwarded_bytes: u64,
    lost: Losses,
    delays: Histogram,
    arrived: u64,
    left: u64,
    gone: u64,
}

/// The meters of all flows.
#[derive(Clone, Debug)]
pub(crate) struct Measures {
    flows: Vec<FlowMeter>,
    window: Range<u64>,
    /// Packets in the machine, of all flows.
    held: u64,
    /// Packets lost that arrived in the measured time.
    lost: u64,
}

impl Measures {
    /// Meters that measure in a window of instants.
    pub(crate) fn new(flows: usize, window: Range<u64>) -> Measures {
        Measures { flows: vec![FlowMeter::default(); flows], window, held: 0, lost: 0 }
    }

    /// The last bit of a packet arrives.
    #[inline]
    pub(crate) fn arrive(&mut self, packet: &Packet) {
        let meter = &mut self.flows[packet.flow as usize];
        meter.arrived += 1;
        meter.offered += u64::from(self.window.contains(&packet.arrived));
        self.held += 1;
    }

    /// A packet is lost.
    pub(crate) fn lose(&mut self, packet: &Packet, loss: Loss) {
        let meter = &mut self.flows[packet.flow as usize];
        meter.gone += 1;
        self.held -= 1;
        if self.window.contains(&packet.arrived) {
            meter.lost.count(loss);
            self.lost += 1;
        }
    }

    /// The last bit of a packet leaves at `now`.
    #[inline]
    pub(crate) fn leave(&mut self, packet: &Packet, now: u64) {
        let meter = &mut self.flows[packet.flow as usize];
        meter.left += 1;
        self.held -= 1;
        if self.window.contains(&now) {
            meter.forwarded += 1;
            meter.forwarded_bytes += u64::from(packet.length);
        }
        if self.window.contains(&packet.arrived) {
            meter.delays.record(now - packet.arrived);
        }
    }

    /// Packets in the machine.
    pub(crate) fn held(&self) -> u64 {
        self.held
    }

    /// Packets lost that arrived in the measured time.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// The outcome of each flow. `held` has the packets of each that were found in the machine at the end.
    pub(crate) fn finish(self, held: &[u64]) -> Vec<FlowOutcome> {
        let outcome = |(meter, &held): (FlowMeter, &u64)| FlowOutcome {
            offered: meter.offered,
            forwarded: meter.forwarded,
            lost: meter.lost,
            forwarded_bytes: meter.forwarded_bytes,
            delays: meter.delays,
            account: Account { arrived: meter.arrived, left: meter.left, lost: meter.gone, held },
        };
        self.flows.into_iter().zip(held).map(outcome).collect()
    }
}
