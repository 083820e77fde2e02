//! The sources of a trial: the simulator's, several to a flow, with jitter.

use crate::machine::RouterFlow;
use crate::packet::Packet;
use tidegate_sim::random::Stream;
use tidegate_sim::source::{Generator, Source};
use tidegate_sim::time::NEVER;

/// One copy of a flow's source.
pub(crate) struct Emitter {
    generator: Box<dyn Generator>,
    stream: Stream,
    /// Draws the packets' rows of costs: the same for every fidelity and kernel.
    draws: Stream,
    jitter: f64,
    flow: u32,
}

impl Emitter {
    /// All copies of all flows, in order. Flows have been checked: their sources run by themselves.
    pub(crate) fn all(flows: &[RouterFlow], seed: u64) -> Vec<Emitter> {
        let copies = |(index, flow): (usize, &RouterFlow)| {
            let emitter = |copy: u32| {
                let generator = flow.source.generator()?;
                let (stream, draws) = (Stream::new(seed, copy, &flow.name), Stream::new(seed, copy, &format!("costs of {}", flow.name)));
                Some(Emitter { generator, stream, draws, jitter: flow.jitter, flow: index as u32 })
            };
            (0..flow.copies).filter_map(emitter).collect::<Vec<_>>()
        };
        flows.iter().enumerate().flat_map(copies).collect()
    }

    /// When it emits first.
    pub(crate) fn first(&mut self) -> u64 {
        self.generator.first(0, &mut self.stream)
    }

    /// The packet due at `now`, and when the next is due.
    #[inline]
    pub(crate) fn emit(&mut self, now: u64) -> (Packet, u64) {
        let emission = self.generator.emit(now, &mut self.stream);
        let draw = self.draws.below(1 << 32) as u32;
        let packet = Packet { arrived: now, flow: self.flow, length: emission.length, draw, woken: false };
        if self.jitter == 0.0 || emission.next >= NEVER {
            return (packet, emission.next);
        }
        let factor = 1.0 + self.jitter * (2.0 * self.stream.uniform() - 1.0);
        (packet, now.saturating_add(((emission.next - now) as f64 * factor + 0.5) as u64))
    }
}

/// The mean length of a source's frames in bytes, over its packets; 0 if it emits none.
pub fn mean_length(source: &Source) -> f64 {
    source.lengths().iter().map(|&(length, part)| length * part).sum()
}
