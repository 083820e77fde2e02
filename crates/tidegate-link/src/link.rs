//! A link in one direction, and how much it holds.

use crate::disturbance::Disturbance;
use crate::loss::Loss;
use tidegate_core::port::VaryingRate;
use tidegate_core::units::{Duration, Overhead, PICOSECONDS_PER_SECOND, Rate};

/// The shortest frame on Ethernet without its check sequence, in bytes.
pub(crate) const SHORTEST_FRAME: u32 = 60;

/// A link in one direction. Its port knows the overhead, and the rate unless it varies.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Link {
    /// The time a bit takes from one end to the other.
    pub delay: Duration,
    /// Random losses, if there are any.
    pub loss: Option<Loss>,
    /// The rates, if they vary: from the start of the port.
    pub rates: Option<VaryingRate>,
    /// What comes late or twice, if anything does.
    pub disturbance: Option<Disturbance>,
}

/// How much a link holds at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Extent {
    /// The packets, if all are as short as Ethernet allows.
    pub packets: u64,
    /// The bytes on the wire: rate times delay, plus one packet of the greatest length.
    pub bytes: u64,
}

impl Link {
    /// The most that a port of this rate has in flight at once. Rounded up, plus one packet: a packet may start at the instant at which
    /// another arrives. Where the rate varies, that of its greatest rate. Every packet may be late, and a packet that comes twice counts once.
    pub fn extent(&self, rate: Rate, overhead: Overhead, longest_frame: u32) -> Extent {
        let late = self.disturbance.filter(Disturbance::reorders).map_or(Duration::ZERO, |disturbance| disturbance.extra());
        let longest_delay = self.delay + late;
        if longest_delay == Duration::ZERO {
            return Extent::default();
        }
        let rate = self.rates.as_ref().map_or(rate, VaryingRate::greatest);
        // The product is below 2^63 times 2^39, so it fits.
        let scaled_bits = u128::from(longest_delay.picoseconds()) * u128::from(rate.bits_per_second());
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

    fn link(delay: Duration) -> Link {
        Link { delay, ..Link::default() }
    }

    #[test]
    fn a_link_holds_rate_times_delay() {
        let rate = Rate::new(20_000_000).unwrap();
        // 300,000 bits: 37,500 bytes, 625 frames of 60.
        let extent = link(Duration::from_milliseconds(15)).extent(rate, Overhead::None, 1514);
        assert_eq!(extent, Extent { packets: 626, bytes: 37_500 + 1514 });
        let extent = link(Duration::from_milliseconds(15)).extent(rate, Overhead::ETHERNET, 1514);
        assert_eq!(extent, Extent { packets: 37_500_u64.div_ceil(84) + 1, bytes: 37_500 + 1538 });
        let disturbance = Disturbance::new(1, Duration::from_milliseconds(5), 0, 1);
        let late = Link { disturbance, ..link(Duration::from_milliseconds(10)) };
        assert_eq!(late.extent(rate, Overhead::None, 1514), Extent { packets: 626, bytes: 37_500 + 1514 });
        assert_eq!(Link::default().extent(Rate::MAX, Overhead::None, 1514), Extent::default());
        assert!(link(Duration::MAX).extent(Rate::MAX, Overhead::None, 1514).packets > 1 << 49);
    }
}
