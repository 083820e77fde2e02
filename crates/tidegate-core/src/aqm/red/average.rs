//! The moving average of a queue's length, which also falls while the queue is empty.

use super::curve::FRACTION;
use crate::units::{Duration, SERIAL_HORIZON, Time};
use alloc::vec::Vec;

/// How averages are made.
#[derive(Clone, Debug)]
pub(in crate::aqm) struct Averaging {
    /// The weight of a packet is two to the power of minus this.
    shift: u32,
    /// What 2^k packets leave of an average, in units of 2^-32, by k.
    decay: Vec<u64>,
    /// 2^64 divided by the time of a typical packet, rounded down.
    packets_per_time: u64,
}

/// The average length of one queue.
#[derive(Clone, Copy, Debug)]
pub(in crate::aqm) struct Average {
    /// In units of 2^-16 bytes.
    pub(in crate::aqm) length: u64,
    /// Since when the queue is empty, if it is: the last packet has left it, or has arrived and was not let in.
    idle_since: Option<Time>,
}

impl Average {
    pub(in crate::aqm) const NEW: Average = Average { length: 0, idle_since: None };

    /// The queue has become empty.
    #[inline]
    pub(in crate::aqm) fn emptied(&mut self, now: Time) {
        self.idle_since = Some(now);
    }

    pub(in crate::aqm) fn refresh(&mut self, now: Time) {
        self.idle_since = self.idle_since.map(|since| since.later(now - SERIAL_HORIZON));
    }
}

impl Averaging {
    /// A weight of 2^-`shift`, where a typical packet takes this time.
    pub(in crate::aqm) fn new(shift: u32, typical: Duration) -> Averaging {
        let one = 1u64 << 32;
        let decay = core::iter::successors(Some(one - (one >> shift)), |&left| Some(((u128::from(left) * u128::from(left)) >> 32) as u64));
        Averaging { shift, decay: decay.take(shift as usize + 6).collect(), packets_per_time: u64::MAX / typical.picoseconds().max(1) }
    }

    /// A packet arrives at a queue of this many bytes.
    #[inline]
    pub(in crate::aqm) fn update(&self, average: &mut Average, now: Time, queued: u32) {
        if queued == 0 {
            // If this packet is dropped, the queue stays idle: the next packet finds what time has left of the average.
            if let Some(since) = average.idle_since.replace(now) {
                let packets = (u128::from(now.since(since).picoseconds()) * u128::from(self.packets_per_time)) >> 64;
                average.length = self.decayed(average.length, packets as u64);
            }
        }
        let distance = (i64::from(queued) << FRACTION) - average.length as i64;
        average.length = average.length.wrapping_add_signed(distance >> self.shift);
    }

    /// What this number of packets leaves of an average when they find an empty queue.
    fn decayed(&self, mut length: u64, mut packets: u64) -> u64 {
        if packets >> self.decay.len() > 0 {
            return 0;
        }
        // From one set bit to the next: a test of each bit is a branch that is mispredicted half of the time.
        while packets > 0 && length > 0 {
            let left = self.decay[packets.trailing_zeros() as usize];
            length = ((u128::from(length) * u128::from(left)) >> 32) as u64;
            packets &= packets - 1;
        }
        length
    }
}
