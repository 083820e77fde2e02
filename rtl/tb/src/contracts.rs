//! Random contracts, biased to rare states.

use crate::random::Random;
use tidegate_core::dwcs::{CLAMP, Stream, Window};

/// The contracts of all streams, and how packets come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Traffic {
    Random,
    /// All ask for every slot and drop late packets, so that all miss and drop at once.
    AllDrop,
    /// All ask for every slot and drop nothing.
    AllMiss,
    /// All alike, so that arrivals and numbers decide.
    Alike,
    /// Packets come for few streams, which are served again and again.
    Hot,
    /// One packet at a time: streams come and go.
    Churn,
}

impl Traffic {
    /// Whether all streams ask for every slot.
    pub fn is_overload(self) -> bool {
        matches!(self, Traffic::AllDrop | Traffic::AllMiss)
    }
}

/// The contracts of `total` streams, none with a period below `least` but those that ask for every slot.
pub fn contracts(traffic: Traffic, total: usize, (least, start): (u64, u64), penalties: &[u32], random: &mut Random) -> Vec<Stream> {
    (0..total)
        .map(|_| {
            let penalty = random.pick(penalties);
            let most = random.pick(&[4, 4, 100]);
            let x = random.below(most) as u32;
            let window = Window::new(x, x + random.below(most) as u32);
            let span = random.pick(&[4, 2000]);
            let first_deadline = Some(start + random.below(span));
            let all = |droppable| Stream { droppable, penalty, first_deadline: Some(start), ..Stream::windowed(window, 1) };
            match traffic {
                Traffic::AllDrop => all(true),
                Traffic::AllMiss => all(false),
                Traffic::Alike => Stream { first_deadline: Some(start), penalty: 0, ..Stream::windowed(Window::new(1, 2), 3.max(least)) },
                _ => {
                    let period = match random.below(8) {
                        0 => CLAMP - random.below(2),
                        1 => least,
                        2 | 3 => least + random.below(6),
                        4 => return Stream::without_deadline(window),
                        _ => least + random.below(2 * total as u64),
                    };
                    let stream = Stream { first_deadline, penalty, droppable: random.once_in(2), ..Stream::windowed(window, period) };
                    let fixed = random.once_in(8);
                    if fixed { Stream { is_fixed: true, window: Window::new(0, window.deadlines), ..stream } } else { stream }
                }
            }
        })
        .collect()
}
