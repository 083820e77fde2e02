//! A delay line: packets leave in the order in which they entered, each after the link's delay, and some are lost.
//!
//! **Law.** Entered = in flight + left, in order. A packet that entered at t is due at t plus the delay, to the picosecond. A lost packet
//! keeps its place until then.
//!
//! **State.** A ring whose capacity is set at the start; nothing is allocated afterwards.
//!
//! **Cost.** A constant per packet.

use crate::link::Link;
use crate::loss::LossStream;
use std::collections::VecDeque;
use tidegate_core::units::{Duration, Time};

/// A packet in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InFlight<T> {
    /// When it arrives at the far end.
    pub due: Time,
    /// The packet.
    pub packet: T,
    /// True if it is lost.
    pub is_lost: bool,
}

/// The line had no room; the packet comes back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full<T>(pub T);

/// The packets in flight along one link, in one direction.
#[derive(Clone, Debug)]
pub struct DelayLine<T> {
    delay: Duration,
    losses: Option<LossStream>,
    packets: VecDeque<InFlight<T>>,
    capacity: usize,
}

impl<T> DelayLine<T> {
    /// An empty line for at most `capacity` packets. The two directions of a link are different streams, so their losses are independent.
    pub fn new(link: &Link, stream: u64, capacity: usize) -> DelayLine<T> {
        let losses = link.loss.map(|loss| LossStream::new(loss, stream));
        DelayLine { delay: link.delay, losses, packets: VecDeque::with_capacity(capacity), capacity }
    }

    /// Sends a packet into the line at `at`, which is no earlier than that of the packet before.
    ///
    /// # Errors
    /// [`Full`] if there is no room. The line is unchanged, and the next packet takes the random number of this one.
    #[inline]
    pub fn enter(&mut self, at: Time, packet: T) -> Result<(), Full<T>> {
        if self.packets.len() == self.capacity {
            return Err(Full(packet));
        }
        let due = at + self.delay;
        debug_assert!(self.packets.back().is_none_or(|last| !due.is_before(last.due)), "packets overtake each other");
        let is_lost = self.losses.as_mut().is_some_and(LossStream::loses_next);
        self.packets.push_back(InFlight { due, packet, is_lost });
        Ok(())
    }

    /// The packet that arrives next.
    #[inline]
    pub fn first(&self) -> Option<&InFlight<T>> {
        self.packets.front()
    }

    /// The packets that have arrived at the far end by `now` and have not been taken yet, in order.
    #[inline]
    pub fn arrived(&self, now: Time) -> impl Iterator<Item = &InFlight<T>> {
        self.packets.iter().take_while(move |packet| !packet.due.is_after(now))
    }

    /// Takes the next packet, even before it has arrived.
    #[inline]
    pub fn leave(&mut self) -> Option<InFlight<T>> {
        self.packets.pop_front()
    }

    /// All packets in flight, in order.
    pub fn iter(&self) -> impl Iterator<Item = &InFlight<T>> {
        self.packets.iter()
    }

    /// The number of packets in flight.
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// True if no packet is in flight.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::SHORTEST_FRAME;
    use crate::loss::Loss;
    use proptest::prelude::*;
    use tidegate_core::units::{Overhead, Rate};

    fn at(microseconds: u64) -> Time {
        // Shortly before the clock wraps.
        Time::from_picoseconds(u64::MAX - 1_000_000_000) + Duration::from_microseconds(microseconds)
    }

    #[test]
    fn packets_are_due_a_delay_after_they_entered() {
        let mut line = DelayLine::new(&Link { delay: Duration::from_microseconds(700), ..Link::default() }, 0, 3);
        for (entered, name) in [(0, 'a'), (0, 'b'), (500, 'c')] {
            line.enter(at(entered), name).unwrap();
        }
        let arrived = |line: &DelayLine<char>, now| line.arrived(at(now)).map(|packet| packet.packet).collect::<String>();
        assert_eq!(arrived(&line, 699), "");
        assert_eq!(arrived(&line, 700), "ab");
        assert_eq!(line.leave().map(|first| (first.packet, first.due)), Some(('a', at(700))));
        assert_eq!(arrived(&line, 1199), "b");
        assert_eq!(arrived(&line, 1200), "bc");
    }

    #[test]
    fn a_full_line_returns_the_packet_and_keeps_its_random_number_for_the_next() {
        let link = Link { delay: Duration::from_microseconds(10), loss: Loss::new(500_000_000, 3), ..Link::default() };
        let fates = |refused: bool| {
            let mut line = DelayLine::new(&link, 0, 2);
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
        assert!(DelayLine::new(&link, 0, 0).enter(at(0), ()).is_err());
    }

    proptest! {
        /// Offered = refused + left + in flight at every step; packets keep their order, are due at their instants, and are lost by number.
        #[test]
        fn every_packet_is_counted_and_in_order(
            delay in 0u64..500,
            billionths in prop::sample::select(vec![0, 100_000_000, 1_000_000_000]),
            capacity in 0usize..20,
            steps in prop::collection::vec((0u64..200, 0usize..8, any::<bool>()), 1..60),
        ) {
            let link = Link { delay: Duration::from_microseconds(delay), loss: Loss::new(billionths, 9), ..Link::default() };
            let mut line = DelayLine::new(&link, 1, capacity);
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
                        let InFlight { due, packet: (entry, number), is_lost } = line.leave().unwrap();
                        prop_assert_eq!(due, at(entry + delay));
                        prop_assert!(!due.is_after(at(now)));
                        left.push((entry, number, is_lost));
                    }
                    prop_assert!(line.first().is_none_or(|first| first.due.is_after(at(now))));
                }
                prop_assert_eq!(offered, refused + left.len() + line.len());
            }
            left.extend(line.iter().map(|packet| (packet.packet.0, packet.packet.1, packet.is_lost)));
            prop_assert_eq!(left, entered);
        }
    }

    proptest! {
        /// Back-to-back packets of the shortest length never exceed the link's extent, and come within two packets of it.
        #[test]
        fn packets_in_flight_stay_within_the_extent(bits in 1_000u64..1_000_000_000, tenths in 1u64..10_000) {
            let rate = Rate::new(bits).unwrap();
            let each = rate.time_per_byte().floor(SHORTEST_FRAME);
            // Whole numbers of packets and parts of them.
            let delay = Duration::from_picoseconds(each.picoseconds() * tenths / 10);
            let link = Link { delay, ..Link::default() };
            let extent = link.extent(rate, Overhead::None, 1514).packets;
            let mut line = DelayLine::new(&link, 0, extent as usize);
            let (mut now, mut peak) = (Time::ZERO, 0);
            for number in 0..3 * extent {
                while line.first().is_some_and(|first| first.due.is_before(now)) {
                    line.leave();
                }
                prop_assert!(line.enter(now, number).is_ok());
                peak = line.len() as u64;
                now += each;
            }
            prop_assert!(peak <= extent && peak + 2 >= extent, "{peak} of {extent}");
        }
    }
}
