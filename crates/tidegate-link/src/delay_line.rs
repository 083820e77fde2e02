//! A delay line: packets leave in the order in which they are due, each after the link's delay. Some are lost, some come later, and some come twice.
//!
//! **Law.** Entered = in flight + left. A packet that entered at t is due at t plus the delay, to the picosecond, and a late one the extra delay after
//! that. Packets that are on time keep their order, and so do late ones; at one instant those on time come first. A lost packet keeps its place, and comes
//! neither late nor twice.
//!
//! **State.** Two rings whose capacity is set at the start; nothing is allocated afterwards, unless the line has no limit.
//!
//! **Cost.** A constant per packet.

use crate::disturbance::{Disturbance, DisturbanceStream, Disturbed};
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
    /// How many times it arrives: once or twice, less the copies that have left.
    pub copies: u8,
}

/// The line had no room; the packet comes back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full<T>(pub T);

/// The packets in flight along one link, in one direction.
#[derive(Clone, Debug)]
pub struct DelayLine<T> {
    delay: Duration,
    extra: Duration,
    losses: Option<LossStream>,
    disturbance: Option<DisturbanceStream>,
    on_time: VecDeque<InFlight<T>>,
    late: VecDeque<InFlight<T>>,
    capacity: usize,
}

impl<T> DelayLine<T> {
    /// An empty line for at most `capacity` packets. The two directions of a link are different streams, so their losses are independent.
    pub fn new(link: &Link, stream: u64, capacity: usize) -> DelayLine<T> {
        let mut line = DelayLine::without_limit(link, stream);
        line.on_time.reserve_exact(capacity);
        if link.disturbance.as_ref().is_some_and(Disturbance::reorders) {
            line.late.reserve_exact(capacity);
        }
        DelayLine { capacity, ..line }
    }

    /// An empty line for any number of packets, with memory for none.
    pub fn without_limit(link: &Link, stream: u64) -> DelayLine<T> {
        DelayLine {
            delay: link.delay,
            extra: link.disturbance.map_or(Duration::ZERO, |disturbance| disturbance.extra()),
            losses: link.loss.map(|loss| LossStream::new(loss, stream)),
            disturbance: link.disturbance.map(|disturbance| DisturbanceStream::new(disturbance, stream)),
            on_time: VecDeque::new(),
            late: VecDeque::new(),
            capacity: usize::MAX,
        }
    }

    /// Sends a packet into the line at `at`, which is no earlier than that of the packet before. Returns what happens to it.
    ///
    /// # Errors
    /// [`Full`] if there is no room. The line is unchanged, and the next packet takes the random numbers of this one.
    #[inline]
    pub fn enter(&mut self, at: Time, packet: T) -> Result<Disturbed, Full<T>> {
        if self.len() == self.capacity {
            return Err(Full(packet));
        }
        let is_lost = self.losses.as_mut().is_some_and(LossStream::loses_next);
        let disturbed = self.disturbance.as_mut().map(DisturbanceStream::disturbs_next).filter(|_| !is_lost).unwrap_or_default();
        let Disturbed { is_late, is_twice } = disturbed;
        let (list, due) = if is_late { (&mut self.late, at + self.delay + self.extra) } else { (&mut self.on_time, at + self.delay) };
        debug_assert!(list.back().is_none_or(|last| !due.is_before(last.due)), "packets of one list overtake each other");
        list.push_back(InFlight { due, packet, is_lost, copies: 1 + u8::from(is_twice) });
        Ok(disturbed)
    }

    /// The list with the packet that arrives next.
    #[inline]
    fn next_list(&mut self) -> &mut VecDeque<InFlight<T>> {
        if comes_late(self.on_time.front(), self.late.front()) { &mut self.late } else { &mut self.on_time }
    }

    /// The packet that arrives next.
    #[inline]
    pub fn first(&self) -> Option<&InFlight<T>> {
        let (on_time, late) = (self.on_time.front(), self.late.front());
        if comes_late(on_time, late) { late } else { on_time }
    }

    /// The packets that have arrived at the far end by `now` and have not been taken yet, in order.
    #[inline]
    pub fn arrived(&self, now: Time) -> impl Iterator<Item = &InFlight<T>> {
        self.iter().take_while(move |packet| !packet.due.is_after(now))
    }

    /// Takes the next packet with all its copies, even before it has arrived.
    #[inline]
    pub fn leave(&mut self) -> Option<InFlight<T>> {
        self.next_list().pop_front()
    }

    /// Takes the next packet if none that enters at `at` or later arrives before it.
    #[inline]
    pub fn leave_settled(&mut self, at: Time) -> Option<InFlight<T>> {
        let bound = at + self.delay;
        let is_late = comes_late(self.on_time.front(), self.late.front());
        let settled = |first: &InFlight<T>| first.due.is_before(bound) || first.due == bound && !is_late;
        self.first().is_some_and(settled).then(|| self.leave())?
    }

    /// Takes one of several copies of the next packet.
    pub fn leave_copy(&mut self) {
        if let Some(first) = self.next_list().front_mut().filter(|first| first.copies > 1) {
            first.copies -= 1;
        }
    }

    /// All packets in flight, in order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = &InFlight<T>> {
        let (mut on_time, mut late) = (self.on_time.iter().peekable(), self.late.iter().peekable());
        std::iter::from_fn(move || if comes_late(on_time.peek().copied(), late.peek().copied()) { late.next() } else { on_time.next() })
    }

    /// All packets in flight, those on time and then the late ones: each list in its order.
    pub fn lists(&self) -> [impl Iterator<Item = &InFlight<T>>; 2] {
        [self.on_time.iter(), self.late.iter()]
    }

    /// Puts a packet behind the others of its list, as it was in flight on a line before this one. Lists are put back before anything enters.
    ///
    /// # Errors
    /// [`Full`] if there is no room.
    pub fn put_back(&mut self, packet: InFlight<T>, is_late: bool) -> Result<(), Full<T>> {
        if self.len() == self.capacity {
            return Err(Full(packet.packet));
        }
        if is_late { &mut self.late } else { &mut self.on_time }.push_back(packet);
        Ok(())
    }

    /// The number of packets in flight.
    pub fn len(&self) -> usize {
        self.on_time.len() + self.late.len()
    }

    /// True if no packet is in flight.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// True if the next packet is a late one.
#[inline]
fn comes_late<T>(on_time: Option<&InFlight<T>>, late: Option<&InFlight<T>>) -> bool {
    late.is_some_and(|late| on_time.is_none_or(|on_time| late.due.is_before(on_time.due)))
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
                        Ok(_) => entered.push((now, offered, losses.loses_next())),
                        Err(Full(packet)) => {
                            prop_assert_eq!((packet, held), ((now, offered), capacity));
                            refused += 1;
                        }
                    }
                }
                prop_assert!(line.len() <= capacity);
                if take {
                    for _ in 0..line.arrived(at(now)).count() {
                        let InFlight { due, packet: (entry, number), is_lost, .. } = line.leave().unwrap();
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
        /// Beside a list that is sorted by the instants of arrival: the same packets come, late, twice or lost by number, in the same order.
        #[test]
        fn late_packets_are_overtaken_and_copies_follow_their_packet(
            [late, twice, lost] in [0u64..=1_000_000_000, 0u64..=1_000_000_000, 0u64..=1_000_000_000],
            [delay, extra, step] in [0u64..500, 0u64..5, 1u64..100],
            pauses in prop::collection::vec(0u64..3, 1..60),
        ) {
            let disturbance = Disturbance::new(late, Duration::from_microseconds(extra * step), twice, 5);
            let link = Link { delay: Duration::from_microseconds(delay), loss: Loss::new(lost, 9), disturbance, rates: None };
            let (mut line, mut settled) = (DelayLine::new(&link, 1, pauses.len()), DelayLine::without_limit(&link, 1));
            let (mut losses, mut stream) = (LossStream::new(link.loss.unwrap(), 1), DisturbanceStream::new(disturbance.unwrap(), 1));
            let (mut expected, mut left, mut now) = (Vec::new(), Vec::new(), 0);
            for (number, pause) in pauses.into_iter().enumerate() {
                now += pause * step;
                let (is_lost, disturbed) = (losses.loses_next(), stream.disturbs_next());
                let Disturbed { is_late, is_twice } = if is_lost { Disturbed::default() } else { disturbed };
                prop_assert_eq!(line.enter(at(now), number), Ok(Disturbed { is_late, is_twice }));
                let due = now + delay + if is_late { extra * step } else { 0 };
                expected.push((due, is_late, number, is_lost, 1 + u8::from(is_twice)));
                settled.enter(at(now), number).unwrap();
                left.extend(std::iter::from_fn(|| settled.leave_settled(at(now))));
                prop_assert_eq!(line.first(), line.iter().next());
            }
            expected.sort();
            let expected: Vec<_> = expected.into_iter().map(|(due, _, packet, is_lost, copies)| InFlight { due: at(due), packet, is_lost, copies }).collect();
            left.extend(std::iter::from_fn(|| settled.leave()));
            prop_assert_eq!(&left, &expected);
            prop_assert_eq!(line.iter().copied().collect::<Vec<_>>(), expected.clone());
            let mut copies = 0;
            while let Some(first) = line.first().copied() {
                line.leave_copy();
                copies += usize::from(first.copies);
                prop_assert_eq!(line.leave(), Some(InFlight { copies: 1, ..first }));
            }
            prop_assert_eq!(copies, expected.iter().map(|packet| usize::from(packet.copies)).sum::<usize>());
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
