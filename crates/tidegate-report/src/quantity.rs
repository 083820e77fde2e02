//! Numbers for people: the unit fits the size, four significant digits, groups of three.
//!
//! Inside this crate a no-break space separates a number from its unit, so that no line breaks between them. The terminal writer turns it into a
//! plain space at the end. The public functions give plain spaces.

use crate::model::Estimate;

/// The space between a number and its unit, and between groups of digits.
pub(crate) const NO_BREAK_SPACE: char = '\u{a0}';

/// Digits that count in a shown number.
const SIGNIFICANT_DIGITS: usize = 4;

const RATE_UNITS: &[(f64, &str)] = &[(1e12, "Tbit/s"), (1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")];
const PACKET_RATE_UNITS: &[(f64, &str)] = &[(1e9, "Gpps"), (1e6, "Mpps"), (1e3, "kpps"), (1.0, "pps")];
const TIME_UNITS: &[(f64, &str)] = &[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"), (1e-12, "ps")];
const BYTE_UNITS: &[(f64, &str)] = &[(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")];
const RATIO_UNITS: &[(f64, &str)] = &[(1e-2, "%")];

/// A rate in bits per second, such as "12.4 Mbit/s".
pub fn format_rate(bits_per_second: f64) -> String {
    plain(rate(bits_per_second))
}

/// A rate in packets per second, such as "9.4 Mpps".
pub fn format_packet_rate(packets_per_second: f64) -> String {
    plain(packet_rate(packets_per_second))
}

/// A time in seconds, such as "1.25 ms".
pub fn format_time(seconds: f64) -> String {
    plain(time(seconds))
}

/// A number of bytes in powers of ten, such as "64 kB".
pub fn format_bytes(number: f64) -> String {
    plain(bytes(number))
}

/// A ratio from 0 to 1 as a percentage, such as "0.25 %".
pub fn format_ratio(share: f64) -> String {
    plain(ratio(share))
}

/// A count in groups of three digits, such as "12 345".
pub fn format_count(number: u64) -> String {
    plain(count(number))
}

fn plain(text: String) -> String {
    text.replace(NO_BREAK_SPACE, " ")
}

pub(crate) fn rate(bits_per_second: f64) -> String {
    quantity(bits_per_second, RATE_UNITS)
}

pub(crate) fn packet_rate(packets_per_second: f64) -> String {
    quantity(packets_per_second, PACKET_RATE_UNITS)
}

pub(crate) fn time(seconds: f64) -> String {
    quantity(seconds, TIME_UNITS)
}

pub(crate) fn bytes(number: f64) -> String {
    quantity(number, BYTE_UNITS)
}

pub(crate) fn ratio(share: f64) -> String {
    quantity(share, RATIO_UNITS)
}

/// How long something ran, in seconds: as a time, but in hours from two hours on and in days from two days on.
pub(crate) fn duration(seconds: f64) -> String {
    const HOUR_S: f64 = 3600.0;
    const DAY_S: f64 = 24.0 * HOUR_S;
    if seconds >= 2.0 * DAY_S {
        quantity(seconds, &[(DAY_S, "days")])
    } else if seconds >= 2.0 * HOUR_S {
        quantity(seconds, &[(HOUR_S, "h")])
    } else {
        time(seconds)
    }
}

pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(NO_BREAK_SPACE);
        }
        grouped.push(digit);
    }
    grouped
}

/// A mean in its unit, and the half width of its interval in the same unit with as many decimals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) mean: String,
    pub(crate) half_width: Option<String>,
}

pub(crate) fn rate_estimate(estimate: Estimate) -> Shown {
    shown(estimate, RATE_UNITS)
}

pub(crate) fn time_estimate(estimate: Estimate) -> Shown {
    shown(estimate, TIME_UNITS)
}

pub(crate) fn ratio_estimate(estimate: Estimate) -> Shown {
    shown(estimate, RATIO_UNITS)
}

/// A time in picoseconds that is shown as no less than it is: a bound stays one.
pub(crate) fn time_at_most(picoseconds: u64) -> String {
    let digits = picoseconds.checked_ilog10().unwrap_or(0) as usize + 1;
    let step = 10_u64.pow(digits.saturating_sub(SIGNIFICANT_DIGITS) as u32);
    let up = u128::from(picoseconds.div_ceil(step)) * u128::from(step);
    time_estimate(Estimate::single(up as f64 / 1e12)).mean
}

/// A part of a whole with two decimals, such as "0.76"; "1.00" is neither a little less nor a little more.
pub(crate) fn part_of(part: u64, whole: u64) -> String {
    let (hundred_parts, divisor) = (u128::from(part) * 100, u128::from(whole.max(1)));
    let hundredths = if part > whole { hundred_parts.div_ceil(divisor) } else { hundred_parts / divisor };
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

/// For columns of figures: four significant digits, trailing zeros included.
fn shown(estimate: Estimate, units: &[(f64, &str)]) -> Shown {
    // Zero has no size of its own: with an interval the interval's size chooses the unit.
    let guide = if estimate.mean == 0.0 { estimate.half_width.unwrap_or(0.0) } else { estimate.mean };
    let (factor, unit) = unit_for(guide, units);
    let decimals = if estimate.mean == 0.0 { 0 } else { decimals_of(guide / factor) };
    Shown {
        mean: format!("{:.decimals$}{NO_BREAK_SPACE}{unit}", estimate.mean / factor),
        half_width: estimate.half_width.map(|half_width| {
            let half_width = half_width / factor;
            let decimals = if estimate.mean == 0.0 { decimals_of(half_width) } else { decimals };
            format!("±{NO_BREAK_SPACE}{half_width:.decimals$}")
        }),
    }
}

/// For single figures in running text: at most four significant digits, without trailing zeros.
fn quantity(value: f64, units: &[(f64, &str)]) -> String {
    let (factor, unit) = unit_for(value, units);
    format!("{}{NO_BREAK_SPACE}{unit}", trimmed(value / factor))
}

/// The largest unit that the value, as it will be shown, reaches; the smallest for what is smaller still, and the
/// unit itself for nothing.
fn unit_for<'a>(value: f64, units: &[(f64, &'a str)]) -> (f64, &'a str) {
    let value = rounded(value).abs();
    let fallback = units[units.len() - 1];
    let matching = if value == 0.0 {
        units.iter().find(|(factor, _)| *factor == 1.0)
    } else {
        units.iter().find(|(factor, _)| value >= factor * (1.0 - 1e-9))
    };
    matching.copied().unwrap_or(fallback)
}

fn rounded(value: f64) -> f64 {
    format!("{value:.*e}", SIGNIFICANT_DIGITS - 1).parse().unwrap_or(value)
}

fn decimals_of(value: f64) -> usize {
    if value == 0.0 {
        return 0;
    }
    // Below 10^-6 of the unit nothing is gained by further digits.
    let magnitude = rounded(value).abs().log10().floor() as i32;
    (SIGNIFICANT_DIGITS as i32 - 1 - magnitude).clamp(0, 9) as usize
}

/// Four significant digits without trailing zeros after the point.
fn trimmed(value: f64) -> String {
    let text = format!("{value:.*}", decimals_of(value));
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_fits_the_size() {
        assert_eq!(format_rate(0.0), "0 bit/s");
        assert_eq!(format_rate(64_000.0), "64 kbit/s");
        assert_eq!(format_rate(155_520_000.0), "155.5 Mbit/s");
        assert_eq!(format_rate(400e9), "400 Gbit/s");
        assert_eq!(format_time(0.0), "0 s");
        assert_eq!(format_time(0.02), "20 ms");
        assert_eq!(format_time(1.2345e-5), "12.35 µs");
        assert_eq!(format_time(1e-12), "1 ps");
        assert_eq!(format_time(86_400.0), "86400 s");
        assert_eq!(format_bytes(1500.0), "1.5 kB");
        assert_eq!(format_ratio(0.0), "0 %");
        assert_eq!(format_ratio(1.0), "100 %");
        assert_eq!(format_ratio(0.000012346), "0.001235 %");
    }

    #[test]
    fn rounding_up_moves_to_the_next_unit() {
        assert_eq!(format_rate(999_999.0), "1 Mbit/s");
        assert_eq!(format_time(0.000_999_999), "1 ms");
        assert_eq!(format_bytes(999.4), "999.4 B");
    }

    #[test]
    fn the_half_width_shares_the_unit_and_the_decimals() {
        let text = |shown: Shown| plain(format!("{} {}", shown.mean, shown.half_width.unwrap_or_default()));
        let estimate = Estimate::with_half_width;
        assert_eq!(text(rate_estimate(estimate(12.4e6, 31_000.0))), "12.40 Mbit/s ± 0.03");
        assert_eq!(text(ratio_estimate(estimate(0.0, 0.0))), "0 % ± 0");
        assert_eq!(text(time_estimate(estimate(0.0, 0.002))), "0 ms ± 2.000");
        assert_eq!(text(time_estimate(Estimate::single(0.217))), "217.0 ms ");
    }

    #[test]
    fn long_durations_are_told_in_hours_and_days() {
        assert_eq!(plain(duration(30.0)), "30 s");
        assert_eq!(plain(duration(7199.0)), "7199 s");
        assert_eq!(plain(duration(5400.0 * 4.0)), "6 h");
        assert_eq!(plain(duration(86_400.0 * 1234.5)), "1234 days");
    }

    #[test]
    fn a_bound_is_shown_as_no_less_than_it_is() {
        let shown = |picoseconds| plain(time_at_most(picoseconds));
        assert_eq!(shown(11_741_000_000), "11.75 ms");
        assert_eq!(shown(11_740_000_000), "11.74 ms");
        assert_eq!(shown(9_999_000_001), "10.00 ms");
        assert_eq!([0, 7, 1234].map(shown), ["0 s", "7.000 ps", "1.234 ns"]);
        assert_eq!(shown(1 << 63), "9224000 s");
    }

    #[test]
    fn a_part_is_the_whole_only_if_it_is() {
        assert_eq!(
            [(76, 100), (999_999, 1_000_000), (5, 5), (1_000_001, 1_000_000), (3, 1)].map(|(part, whole)| part_of(part, whole)),
            ["0.76", "0.99", "1.00", "1.01", "3.00"]
        );
    }

    #[test]
    fn counts_are_grouped_from_the_right() {
        assert_eq!(format_count(0), "0");
        assert_eq!(format_count(999), "999");
        assert_eq!(format_count(1_000), "1 000");
        assert_eq!(format_count(u64::MAX), "18 446 744 073 709 551 615");
    }
}
