//! A delay line: packets come out in the order in which they went in, each of them the link's delay later, and some of them lost.
//!
//! **Law.** What has entered is on its way or has left, and what leaves first has entered first. A packet that entered at t is due at t plus
//! the delay, to the picosecond. A lost packet keeps its place until then, as on a real link, where it ends at the far end.
//!
//! **State.** A ring of the capacity given at the start; nothing is allocated afterwards.
//!
//! **Cost.** A constant per packet.

use crate::{Link, LossStream};
use std::collections::VecDeque;
use tidegate_core::units::{Duration, Time};

/// A packet on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Underway<T> {
    /// When it arrives at the far end.
    pub due: Time,
    /// The packet.
    pub packet: T,
    /// True if it gets lost.
    pub is_lost: bool,
}

/// A line that had no room, with the packet that did not enter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full<T>(pub T);

/// The packets on their way along one link, in one direction.
#[derive(Clone, Debug)]
pub struct Line<T> {
    delay: Duration,
    losses: Option<LossStream>,
    packets: VecDeque<Underway<T>>,
    capacity: usize,
}

impl<T> Line<T> {
    /// An empty line for at most `capacity` packets. `stream` tells the lines of one link apart, whose losses are independent: its two
    /// directions.
    pub fn new(link: &Link, stream: u64, capacity: usize) -> Line<T> {
        let losses = link.loss.map(|loss| LossStream::new(loss, stream));
        Line { delay: link.delay, losses, packets: VecDeque::with_capacity(capacity), capacity }
    }

    /// A packet is sent into the line at `at`, which is no earlier than for the packets before it.
    ///
    /// # Errors
    /// [`Full`] if there is no room. Nothing has happened then: the next packet that enters has the fate that this one would have had.
    #[inline]
    pub fn enter(&mut self, at: Time, packet: T) -> Result<(), Full<T>> {
        if self.packets.len() == self.capacity {
            return Err(Full(packet));
        }
        let due = at + self.delay;
        debug_assert!(self.packets.back().is_none_or(|last| !due.is_before(last.due)), "packets overtake each other");
        let is_lost = self.losses.as_mut().is_some_and(LossStream::loses_next);
        self.packets.push_back(Underway { due, packet, is_lost });
        Ok(())
    }

    /// The packet that arrives first.
    #[inline]
    pub fn first(&self) -> Option<&Underway<T>> {
        self.packets.front()
    }

    /// What has arrived at the far end by `now` and has not been taken yet, in order.
    #[inline]
    pub fn arrived(&self, now: Time) -> impl Iterator<Item = &Underway<T>> {
        self.packets.iter().take_while(move |packet| !packet.due.is_after(now))
    }

    /// Takes the first packet, whether it has arrived or not.
    #[inline]
    pub fn leave(&mut self) -> Option<Underway<T>> {
        self.packets.pop_front()
    }

    /// Everything on its way, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Underway<T>> {
        self.packets.iter()
    }

    /// The number of packets on their way.
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// True if nothing is on its way.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Loss;
    use proptest::prelude::*;

    fn at(microseconds: u64) -> Time {
        // Close to where the clock wraps.
        Time::from_picoseconds(u64::MAX - 1_000_000_000) + Duration::from_microseconds(microseconds)
    }

    #[test]
    fn packets_are_due_a_delay_after_they_entered() {
        let mut line = Line::new(&Link { delay: Duration::from_microseconds(700), loss: None }, 0, 3);
        for (entered, name) in [(0, 'a'), (0, 'b'), (500, 'c')] {
            line.enter(at(entered), name).unwrap();
        }
        let arrived = |line: &Line<char>, now| line.arrived(at(now)).map(|underway| underway.packet).collect::<String>();
        assert_eq!(arrived(&line, 699), "");
        assert_eq!(arrived(&line, 700), "ab");
        assert_eq!(line.leave().map(|first| (first.packet, first.due)), Some(('a', at(700))));
        assert_eq!(arrived(&line, 1199), "b");
        assert_eq!(arrived(&line, 1200), "bc");
    }

    #[test]
    fn a_full_line_gives_the_packet_back_and_its_fate_to_the_next() {
        let link = Link { delay: Duration::from_microseconds(10), loss: Loss::new(500_000_000, 3) };
        let fates = |refused: bool| {
            let mut line = Line::new(&link, 0, 2);
            let mut fates = Vec::new();
            for number in 0..100 {
                line.enter(at(number), number).unwrap();
                if number > 0 {
                    if refused {
                        assert_eq!(line.enter(at(number), 1000), Err(Full(1000)));
                    }
                    fates.extend(line.leave().map(|first| (first.packet, first.is_lost)));
                }
            }
            fates
        };
        assert_eq!(fates(true), fates(false));
        assert!(fates(true).iter().any(|fate| fate.1) && fates(true).iter().any(|fate| !fate.1));
        assert!(Line::new(&link, 0, 0).enter(at(0), ()).is_err());
    }

    proptest! {
        /// Whatever enters and leaves when: entered = left + under way, in order, each due at its instant, and lost as its number says.
        #[test]
        fn nothing_is_lost_uncounted_nor_out_of_order(
            delay in 0u64..500,
            billionths in prop::sample::select(vec![0, 100_000_000, 1_000_000_000]),
            capacity in 0usize..20,
            steps in prop::collection::vec((0u64..200, 0usize..8, any::<bool>()), 1..60),
        ) {
            let link = Link { delay: Duration::from_microseconds(delay), loss: Loss::new(billionths, 9) };
            let mut line = Line::new(&link, 1, capacity);
            let mut losses = LossStream::new(link.loss.unwrap(), 1);
            let (mut now, mut entered, mut refused, mut left) = (0, Vec::new(), 0, Vec::new());
            let mut offered = 0;
            for (pause, packets, take) in steps {
                now += pause;
                for _ in 0..packets {
                    let held = line.len();
                    offered += 1;
                    match line.enter(at(now), (now, offered)) {
                        Ok(()) => entered.push((now, offered, losses.loses_next())),
                        Err(Full(packet)) => {
                            prop_assert_eq!((packet, held), ((now, offered), capacity));
                            refused += 1;
                        }
                    }
                }
                prop_assert!(line.len() <= capacity);
                if take {
                    for _ in 0..line.arrived(at(now)).count() {
                        let Underway { due, packet: (entry, number), is_lost } = line.leave().unwrap();
                        prop_assert_eq!(due, at(entry + delay));
                        prop_assert!(!due.is_after(at(now)));
                        left.push((entry, number, is_lost));
                    }
                    prop_assert!(line.first().is_none_or(|first| first.due.is_after(at(now))));
                }
                prop_assert_eq!(offered, refused + left.len() + line.len());
            }
            left.extend(line.iter().map(|underway| (underway.packet.0, underway.packet.1, underway.is_lost)));
            prop_assert_eq!(left, entered);
        }
    }
}
