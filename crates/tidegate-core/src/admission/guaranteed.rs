//! Guaranteed service: the rate that a delay needs, the delay that a rate gives, and the buffer at each hop.
//!
//! **Law**: `delay(rate_needed(d)) <= d` whenever a rate is enough for the delay `d`, and no smaller rate of whole bit/s is enough.
//!
//! **Source**: S. Shenker, C. Partridge, R. Guérin, *Specification of Guaranteed Quality of Service*, RFC 2212, for delay and buffer; its
//! inverse is derived from the delay.
//!
//! **State**: none.
//!
//! **Cost**: a few divisions of 128 bits per request and hop.
//!
//! **RTL twin**: none.
//!
//! **Deviations**: bits and picoseconds in place of bytes and microseconds. Rates needed, delays and buffers are rounded up, each once, so no
//! promise is below its exact value. A buffer that exceeds 64 bits saturates, and no port admits it.

use super::flow_spec::TrafficSpec;
use crate::units::{Duration, PICOSECONDS_PER_SECOND, Rate};

/// Picoseconds in one second.
const SECOND: u128 = PICOSECONDS_PER_SECOND as u128;

/// The error terms of RFC 2212, of one hop or summed over several: a hop serves a flow at rate `R` at most `C/R + D` later than a fluid server.
///
/// ```
/// use tidegate_core::admission::{ErrorTerms, TrafficSpec};
/// use tidegate_core::units::{Duration, Rate};
///
/// // Four hops of 10 Mbit/s, packets of 1000 bits, a flow of 1.5 Mbit/s.
/// let rate = Rate::new(1_500_000).unwrap();
/// let traffic = TrafficSpec::new(1_000, 15_000, rate, rate).unwrap();
/// let hop = ErrorTerms { rate_dependent: 1_000, rate_independent: Duration::from_microseconds(100) };
/// let path = (0..4).fold(ErrorTerms::default(), |sum, _| sum.plus(hop));
/// assert_eq!(path.delay(&traffic, 1_500_000), Some(Duration::from_picoseconds(3_733_333_334)));
/// assert_eq!(path.rate_needed(&traffic, Duration::from_milliseconds(10)), Some(1_500_000));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ErrorTerms {
    /// `C`, in bits.
    pub rate_dependent: u64,
    /// `D`.
    pub rate_independent: Duration,
}

impl ErrorTerms {
    /// The terms of one more hop added to a sum. A sum that exceeds its range saturates: a delay of 106 days is beyond every target.
    #[must_use]
    pub const fn plus(self, hop: ErrorTerms) -> ErrorTerms {
        let sum = self.rate_independent.picoseconds().saturating_add(hop.rate_independent.picoseconds());
        ErrorTerms {
            rate_dependent: self.rate_dependent.saturating_add(hop.rate_dependent),
            rate_independent: Duration::from_picoseconds(sum),
        }
    }

    /// The least rate in bit/s whose delay is at most `target`; `None` if no rate is enough.
    pub fn rate_needed(self, traffic: &TrafficSpec, target: Duration) -> Option<u64> {
        let free = u128::from(target.saturating_sub(self.rate_independent).picoseconds());
        if free == 0 {
            return None;
        }
        let Terms { beyond_packet, rate, peak, packets } = self.terms(traffic);
        let at_peak = (packets * SECOND).div_ceil(free).max(peak);
        let needed = if peak > rate {
            // (b - M)(p - R)/(R (p - r)) + (M + C)/R = free, solved for R < p.
            let work = (beyond_packet * peak + packets * (peak - rate)) * SECOND;
            let below_peak = work.div_ceil(free * (peak - rate) + beyond_packet * SECOND);
            if below_peak < peak { below_peak.max(rate) } else { at_peak }
        } else {
            at_peak
        };
        u64::try_from(needed).ok()
    }

    /// The bound on the delay at a rate of `reserved` bit/s; `None` if it exceeds 106 days.
    ///
    /// # Panics
    /// If the rate is below the sustained rate, for which there is no bound.
    pub fn delay(self, traffic: &TrafficSpec, reserved: u64) -> Option<Duration> {
        let Terms { beyond_packet, rate, peak, packets } = self.terms(traffic);
        let reserved = u128::from(reserved);
        assert!(reserved >= rate, "the reserved rate is below the sustained rate");
        let queued = if peak > reserved {
            ((beyond_packet * (peak - reserved) + packets * (peak - rate)) * SECOND).div_ceil(reserved * (peak - rate))
        } else {
            (packets * SECOND).div_ceil(reserved)
        };
        let delay = u64::try_from(queued).ok()?.checked_add(self.rate_independent.picoseconds())?;
        (delay <= Duration::MAX.picoseconds()).then(|| Duration::from_picoseconds(delay))
    }

    /// The buffer, in bits, at the last of the hops that these terms are summed over, for a flow of `reserved` bit/s.
    pub fn buffer(self, traffic: &TrafficSpec, reserved: u64) -> u64 {
        let Terms { beyond_packet, rate, peak, .. } = self.terms(traffic);
        let slope = self.buffer_slope(traffic, reserved);
        let burst = if peak > rate { (beyond_packet * (peak - slope)).div_ceil(peak - rate) } else { beyond_packet };
        let buffer = u128::from(traffic.longest_packet()) + burst + self.backlog(reserved, slope);
        u64::try_from(buffer).unwrap_or(u64::MAX)
    }

    /// The largest burst whose buffer is at most `room` bits at the same rate. It is `None` if not even one packet fits.
    pub fn burst_within(self, traffic: &TrafficSpec, reserved: u64, room: u64) -> Option<u64> {
        let Terms { rate, peak, .. } = self.terms(traffic);
        // While the burst outlasts the latency its slope is X = min(R, p); a shorter one drains at the sustained rate: b + latency * r.
        let longest_packet = u128::from(traffic.longest_packet());
        let left_over = |slope: u128| u128::from(room).checked_sub(self.backlog(reserved, slope));
        let short = left_over(rate);
        let long = || {
            let slope = peak.min(u128::from(reserved));
            let above_packet = left_over(slope)?.checked_sub(longest_packet)?;
            Some(longest_packet + (above_packet * (peak - rate)).checked_div(peak - slope)?)
        };
        let fits = |burst: u128| {
            let burst = u64::try_from(burst).ok()?;
            let smaller = TrafficSpec::new(traffic.longest_packet(), burst, traffic.rate(), traffic.peak()).ok()?;
            (self.buffer(&smaller, reserved) <= room).then_some(burst)
        };
        long().and_then(fits).into_iter().chain(short.and_then(fits)).max()
    }

    /// The largest burst whose delay at this rate is at most `target`, to within the rounding of one bit per `p - r` in `p - R`. It is `None` if no burst
    /// has that delay, or if the delay does not depend on the burst.
    pub fn burst_for_delay(self, traffic: &TrafficSpec, reserved: u64, target: Duration) -> Option<u64> {
        let Terms { rate, peak, packets, .. } = self.terms(traffic);
        let reserved = u128::from(reserved);
        if peak <= reserved || reserved < rate {
            return None;
        }
        // (b - M)(p - R) + (M + C)(p - r) = free R (p - r), solved for b.
        let served = u128::from(target.saturating_sub(self.rate_independent).picoseconds()) * reserved / SECOND;
        let beyond_packet = served.checked_sub(packets)? * (peak - rate) / (peak - reserved);
        u64::try_from(u128::from(traffic.longest_packet()) + beyond_packet).ok()
    }

    /// `X` of RFC 2212: the rate at which the buffer still fills when the latency has passed.
    fn buffer_slope(self, traffic: &TrafficSpec, reserved: u64) -> u128 {
        let Terms { beyond_packet, rate, peak, .. } = self.terms(traffic);
        let reserved = u128::from(reserved);
        // (b - M)/(p - r) < Csum/R + Dsum, both sides times R (p - r). A right side beyond 128 bits is the larger one.
        let latency = u128::from(self.rate_dependent) * SECOND + u128::from(self.rate_independent.picoseconds()) * reserved;
        let burst_time = beyond_packet * reserved * SECOND;
        let burst_ends_first = latency.checked_mul(peak - rate).is_none_or(|latency| burst_time < latency);
        if peak == rate || burst_ends_first { rate } else { peak.min(reserved) }
    }

    /// `(Csum/R + Dsum) * slope`.
    fn backlog(self, reserved: u64, slope: u128) -> u128 {
        let dependent = (u128::from(self.rate_dependent) * slope).div_ceil(u128::from(reserved));
        dependent + (u128::from(self.rate_independent.picoseconds()) * slope).div_ceil(SECOND)
    }

    fn terms(self, traffic: &TrafficSpec) -> Terms {
        let bits_per_second = |rate: Rate| u128::from(rate.bits_per_second());
        Terms {
            beyond_packet: u128::from(traffic.burst() - traffic.longest_packet()),
            rate: bits_per_second(traffic.rate()),
            peak: bits_per_second(traffic.peak()),
            packets: u128::from(traffic.longest_packet()) + u128::from(self.rate_dependent),
        }
    }
}

/// What the formulae share, widened.
struct Terms {
    /// `b - M`.
    beyond_packet: u128,
    /// `r`.
    rate: u128,
    /// `p`.
    peak: u128,
    /// `M + C`.
    packets: u128,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn traffic(longest_packet: u64, burst: u64, rate: u64, peak: u64) -> TrafficSpec {
        TrafficSpec::new(longest_packet, burst, Rate::new(rate).unwrap(), Rate::new(peak).unwrap()).unwrap()
    }

    fn terms(bits: u64, ps: u64) -> ErrorTerms {
        ErrorTerms { rate_dependent: bits, rate_independent: Duration::from_picoseconds(ps) }
    }

    /// In units of 1000 bits: M 1, b 10, r 100 and p 1000 per second, R 200, C 3, D 5 ms.
    #[test]
    fn delay_rate_and_buffer_of_the_worked_example() {
        let flow = traffic(1_000, 10_000, 100_000, 1_000_000);
        let path = terms(3_000, 5_000_000_000);
        let delay = Duration::from_milliseconds(65);
        assert_eq!(path.delay(&flow, 200_000), Some(delay));
        assert_eq!(path.rate_needed(&flow, delay), Some(200_000));
        assert_eq!(path.buffer(&flow, 200_000), 12_000);
        assert_eq!(terms(500, 1_000_000_000).buffer(&flow, 200_000), 9_700);
        assert_eq!(path.rate_needed(&flow, Duration::from_milliseconds(5)), None);
    }

    #[test]
    fn paths_of_the_parking_lot() {
        let path = |hops: u64| terms(1_000 * hops, 100_000_000 * hops);
        let constant = traffic(1_000, 15_000, 1_500_000, 1_500_000);
        assert_eq!([4, 5].map(|hops| path(hops).delay(&constant, 1_500_000).unwrap().picoseconds()), [3_733_333_334, 4_500_000_000]);
        let ten = Duration::from_milliseconds(10);
        assert_eq!([4, 5].map(|hops| path(hops).rate_needed(&constant, ten)), [Some(1_500_000); 2]);
        let fast = traffic(1_000, 15_000, 1_500_000, 10_000_000);
        assert_eq!(path(4).delay(&fast, 1_500_000).unwrap().picoseconds(), 13_066_666_667);
        let rates = [4, 5].map(|hops| path(hops).rate_needed(&fast, ten).unwrap());
        assert_eq!(rates, [1_908_996, 2_015_832]);
        let delays = [path(4).delay(&fast, rates[0]), path(5).delay(&fast, rates[1])].map(|delay| delay.unwrap().picoseconds());
        assert_eq!(delays, [9_999_998_916, 9_999_995_215]);
    }

    fn flows() -> impl Strategy<Value = TrafficSpec> {
        (1u64..100_000, 0u64..1_000_000, 1_000u64..100_000_000, prop_oneof![Just(0), 1u64..1_000_000_000])
            .prop_map(|(packet, burst, rate, above)| traffic(packet, packet + burst, rate, rate + above))
    }

    proptest! {
        #[test]
        fn the_rate_needed_is_enough_and_one_less_is_not(
            flow in flows(), bits in 0u64..1_000_000, ps in 0u64..1_000_000_000_000, room in 1u64..10_000_000_000_000,
        ) {
            let path = terms(bits, ps);
            let target = Duration::from_picoseconds(ps + room);
            let rate = path.rate_needed(&flow, target).unwrap();
            prop_assert!(path.delay(&flow, rate).unwrap() <= target);
            if rate > flow.rate().bits_per_second() && rate != flow.peak().bits_per_second() {
                prop_assert!(path.delay(&flow, rate - 1).unwrap() > target);
            }
        }

        /// Against the curves themselves: what has come by `t` less what is served by `t`, at the instants where either curve bends.
        #[test]
        fn the_buffer_is_the_vertical_distance_of_the_curves(
            flow in flows(), bits in 1u64..1_000_000, ps in 1u64..1_000_000_000_000, above in 0u64..1_000_000,
        ) {
            let reserved = flow.rate().bits_per_second() + above;
            let path = terms(bits, ps);
            let (rate, peak) = (flow.rate().bits_per_second() as f64, flow.peak().bits_per_second() as f64);
            let (packet, burst) = (flow.longest_packet() as f64, flow.burst() as f64);
            let latency = bits as f64 / reserved as f64 + ps as f64 / 1e12;
            let bend = if peak > rate { (burst - packet) / (peak - rate) } else { 0.0 };
            let come = |t: f64| if peak > rate { (packet + peak * t).min(burst + rate * t) } else { burst + rate * t };
            let backlog = |t: f64| come(t) - (reserved as f64 * (t - latency)).max(0.0);
            let exact = backlog(latency).max(backlog(bend)).max(backlog(0.0));
            let buffer = path.buffer(&flow, reserved) as f64;
            prop_assert!(buffer >= exact * (1.0 - 1e-9) && buffer <= exact * (1.0 + 1e-9) + 4.0, "{buffer} {exact}");
        }

        #[test]
        fn the_largest_burst_fits_and_a_larger_one_does_not(
            flow in flows(), bits in 0u64..100_000, ps in 0u64..1_000_000_000, above in 0u64..1_000_000, room in 1u64..2_000_000,
        ) {
            let path = terms(bits, ps);
            let reserved = flow.rate().bits_per_second() + above;
            let buffer = |burst: u64| {
                let (rate, peak) = (flow.rate().bits_per_second(), flow.peak().bits_per_second());
                path.buffer(&traffic(flow.longest_packet(), burst, rate, peak), reserved)
            };
            if let Some(burst) = path.burst_within(&flow, reserved, room) {
                prop_assert!(buffer(burst) <= room);
                // The closed form may lose the three roundings of the buffer.
                prop_assert!(peak_is_passed(&flow, reserved) || buffer(burst + 4 + burst / 1000) > room, "{burst}");
            } else {
                prop_assert!(buffer(flow.longest_packet()) + 3 > room);
            }
        }
    }

    /// Then the buffer does not grow with the burst.
    fn peak_is_passed(flow: &TrafficSpec, reserved: u64) -> bool {
        reserved >= flow.peak().bits_per_second()
    }
}
