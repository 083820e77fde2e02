//! What tests of sources share: their first packets, and their mean rate.

use super::Source;
use crate::random::Stream;
use crate::time::NEVER;

/// The instants and lengths of a source's first packets.
pub(crate) fn packets(source: &Source, start: u64, count: usize, stream: &mut Stream) -> Vec<(u64, u32)> {
    source.check().unwrap();
    let mut generator = source.generator().unwrap();
    let mut now = generator.first(start, stream);
    let mut packets = Vec::new();
    while now != NEVER && packets.len() < count {
        let emission = generator.emit(now, stream);
        packets.push((now, emission.length));
        assert!(emission.next >= now);
        now = emission.next;
    }
    packets
}

/// Packets per second over the first `count` packets.
pub(crate) fn mean_rate(source: &Source, count: usize, stream: &mut Stream) -> f64 {
    let packets = packets(source, 0, count, stream);
    packets.len() as f64 / (packets.last().unwrap().0 as f64 / 1e12)
}
