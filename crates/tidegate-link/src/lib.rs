//! What lies behind a port: the propagation delay of its link, and the packets that get lost on it.
//!
//! A [`Link`] says how long a packet is on its way and how likely it is to get lost; a [`Line`] carries packets accordingly. Neither reads a
//! clock: the world in which the port runs tells the time, so that a replay loses the packets that live interfaces lose.
//!
//! ```
//! use tidegate_core::units::{Duration, Time};
//! use tidegate_link::{Line, Link};
//! let link = Link { delay: Duration::from_milliseconds(15), loss: None };
//! let mut line = Line::new(&link, 0, 100);
//! let sent = Time::ZERO + Duration::from_microseconds(7);
//! line.enter(sent, "a packet").unwrap();
//! let underway = line.leave().unwrap();
//! assert_eq!((underway.packet, underway.due, underway.is_lost), ("a packet", sent + link.delay, false));
//! ```
#![warn(missing_docs)]

mod line;
mod loss;

pub use line::{Full, Line, Underway};
pub use loss::{Loss, LossStream};

use tidegate_core::units::{Duration, Overhead, PICOSECONDS_PER_SECOND, Rate};

/// The shortest frame on Ethernet without its check sequence, in bytes.
const SHORTEST_FRAME: u32 = 60;

/// A link in one direction, but for the rate and the overhead, which its port knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Link {
    /// The time a bit takes from one end to the other.
    pub delay: Duration,
    /// Packets that get lost on the way.
    pub loss: Option<Loss>,
}

/// How much a link holds at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Extent {
    /// Packets, if all of them are as short as Ethernet allows.
    pub packets: u64,
    /// Bytes on the wire: the product of rate and delay, and one packet of the longest.
    pub bytes: u64,
}

impl Link {
    /// The most that is on its way at once behind a port of this rate. Rounded up, with a packet to spare: a packet that starts at the very
    /// instant at which another arrives finds room.
    pub fn extent(&self, rate: Rate, overhead: Overhead, longest_frame: u32) -> Extent {
        if self.delay == Duration::ZERO {
            return Extent::default();
        }
        // Below 2^63 times 2^39, so there is room for the product.
        let scaled_bits = u128::from(self.delay.picoseconds()) * u128::from(rate.bits_per_second());
        let scaled_byte = 8 * u128::from(PICOSECONDS_PER_SECOND);
        let shortest = u128::from(overhead.wire_length(SHORTEST_FRAME));
        let ceil = |number: u128| u64::try_from(number).unwrap_or(u64::MAX);
        Extent {
            packets: ceil(scaled_bits.div_ceil(scaled_byte * shortest)).saturating_add(1),
            bytes: ceil(scaled_bits.div_ceil(scaled_byte)).saturating_add(u64::from(overhead.wire_length(longest_frame))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tidegate_core::units::Time;

    fn link(delay: Duration) -> Link {
        Link { delay, loss: None }
    }

    #[test]
    fn a_link_holds_rate_times_delay() {
        let rate = Rate::new(20_000_000).unwrap();
        // 300,000 bits: 37,500 bytes, 625 frames of 60.
        let extent = link(Duration::from_milliseconds(15)).extent(rate, Overhead::None, 1514);
        assert_eq!(extent, Extent { packets: 626, bytes: 37_500 + 1514 });
        let extent = link(Duration::from_milliseconds(15)).extent(rate, Overhead::ETHERNET, 1514);
        assert_eq!(extent, Extent { packets: 37_500_u64.div_ceil(84) + 1, bytes: 37_500 + 1538 });
        assert_eq!(Link::default().extent(Rate::MAX, Overhead::None, 1514), Extent::default());
        assert!(link(Duration::MAX).extent(Rate::MAX, Overhead::None, 1514).packets > 1 << 49);
    }

    proptest! {
        /// Packets of the shortest length, one right behind the other, never exceed it, and come close.
        #[test]
        fn no_more_packets_than_said_are_under_way(bits in 1_000u64..1_000_000_000, tenths in 1u64..10_000) {
            let rate = Rate::new(bits).unwrap();
            let each = rate.time_per_byte().floor(SHORTEST_FRAME);
            // Whole numbers of packets and parts of them.
            let delay = Duration::from_picoseconds(each.picoseconds() * tenths / 10);
            let said = link(delay).extent(rate, Overhead::None, 1514).packets;
            let mut line = Line::new(&link(delay), 0, said as usize);
            let (mut now, mut most) = (Time::ZERO, 0);
            for number in 0..3 * said {
                while line.first().is_some_and(|first| first.due.is_before(now)) {
                    line.leave();
                }
                prop_assert!(line.enter(now, number).is_ok());
                most = line.len() as u64;
                now += each;
            }
            prop_assert!(most <= said && most + 2 >= said, "{most} of {said}");
        }
    }
}
