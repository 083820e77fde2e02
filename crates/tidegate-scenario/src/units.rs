//! Reads and prints quantities: `155.52 Mbit/s`, `2.5 ms`, `64 kB`, `1000 packets`, `0.1 %`.
//!
//! A quantity is a decimal number and a unit. A value that is not a whole number of the smallest unit (a bit per second, a picosecond, a
//! byte) is refused, never rounded. Every error says what would be right.
//!
//! ```
//! use tidegate_scenario::units;
//! assert_eq!(units::rate("155.52 Mbit/s").unwrap().bits_per_second(), 155_520_000);
//! assert_eq!(units::duration("2.5us").unwrap().picoseconds(), 2_500_000);
//! assert_eq!(units::size("64 KiB").unwrap(), 65_536);
//! assert!(units::rate("10").unwrap_err().contains("write a unit"));
//! ```

use tidegate_core::dwcs::LONGEST_PERIOD;
use tidegate_core::units::{Duration, Rate};

/// A unit: its name, and its size in the smallest unit.
type Unit = (&'static str, u128);

/// How one kind of quantity is written.
struct Quantity {
    what: &'static str,
    example: &'static str,
    /// The resolution.
    finest: &'static str,
    /// The units it is read and printed in, ascending.
    units: &'static [Unit],
    /// From this many of a unit on, fractions of it are printed.
    fractions_from: u128,
    /// Units that are read and never printed.
    also: &'static [Unit],
    /// What to write instead of a frequent mistake; `#` stands for the number.
    hint: fn(&str) -> Option<&'static str>,
}

const RATE: Quantity = Quantity {
    what: "a rate",
    example: "\"10 Mbit/s\"",
    finest: "1 bit/s",
    units: &[("bit/s", 1), ("kbit/s", 1_000), ("Mbit/s", 1_000_000), ("Gbit/s", 1_000_000_000)],
    fractions_from: 1,
    also: &[("B/s", 8), ("kB/s", 8_000), ("MB/s", 8_000_000), ("GB/s", 8_000_000_000)],
    hint: rate_hint,
};

const DURATION: Quantity = Quantity {
    what: "a duration",
    example: "\"5 ms\"",
    finest: "1 ps",
    units: &[("ps", 1), ("ns", 1_000), ("us", 1_000_000), ("ms", 1_000_000_000), ("s", 1_000_000_000_000)],
    fractions_from: 1,
    also: &[("\u{b5}s", 1_000_000), ("\u{3bc}s", 1_000_000), ("min", 60_000_000_000_000), ("h", 3_600_000_000_000_000)],
    hint: duration_hint,
};

const SIZE: Quantity = Quantity {
    what: "a size",
    example: "\"1500 B\"",
    finest: "1 B",
    units: &[("B", 1), ("kB", 1_000), ("MB", 1_000_000), ("GB", 1_000_000_000)],
    fractions_from: 10,
    also: &[("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)],
    hint: size_hint,
};

const COUNT: Quantity = Quantity {
    what: "a number of packets",
    example: "\"1000 packets\"",
    finest: "1 packet",
    units: &[("packets", 1)],
    fractions_from: 1,
    also: &[("packet", 1)],
    hint: |_| None,
};

const SLOTS: Quantity = Quantity {
    what: "a period",
    example: "\"4 slots\" or \"20 ms\"",
    finest: "1 slot",
    units: &[("slots", 1)],
    fractions_from: 1,
    also: &[("slot", 1)],
    hint: |_| None,
};

const RATIO: Quantity = Quantity {
    what: "a share",
    example: "\"0.1 %\"",
    finest: "0.0000001 %",
    units: &[("%", 10_000_000)],
    fractions_from: 1,
    also: &[],
    hint: |_| None,
};

const FREQUENCY: Quantity = Quantity {
    what: "a frequency",
    example: "\"3 GHz\"",
    finest: "1 Hz",
    units: &[("Hz", 1), ("kHz", 1_000), ("MHz", 1_000_000), ("GHz", 1_000_000_000)],
    fractions_from: 1,
    also: &[],
    hint: |_| None,
};

const GAIN: Quantity = Quantity {
    what: "a gain",
    example: "\"0.125 Hz\"",
    finest: "0.001 Hz",
    units: &[("mHz", 1), ("Hz", 1_000)],
    fractions_from: 1,
    also: &[],
    hint: |_| None,
};

const BANDWIDTH: Quantity = Quantity {
    what: "a bandwidth",
    example: "\"40 GB/s\"",
    finest: "1 B/s",
    units: &[("B/s", 1), ("kB/s", 1_000), ("MB/s", 1_000_000), ("GB/s", 1_000_000_000)],
    fractions_from: 1,
    also: &[("TB/s", 1_000_000_000_000)],
    hint: |_| None,
};

const PACKET_RATE: Quantity = Quantity {
    what: "a packet rate",
    example: "\"9 Mpps\"",
    finest: "1 pps",
    units: &[("pps", 1), ("kpps", 1_000), ("Mpps", 1_000_000), ("Gpps", 1_000_000_000)],
    fractions_from: 1,
    also: &[],
    hint: |_| None,
};

/// Regular expressions that the written forms match, for editors. They are looser than the parsers.
pub(crate) mod pattern {
    pub const RATE: &str = r"^ *[0-9]+(\.[0-9]+)? *(k|M|G)?(bit|B)/s *$";
    pub const DURATION: &str = r"^ *[0-9]+(\.[0-9]+)? *(ps|ns|us|µs|μs|ms|s|min|h) *$";
    pub const SIZE: &str = r"^ *[0-9]+(\.[0-9]+)? *(B|kB|MB|GB|KiB|MiB|GiB) *$";
    pub const LIMIT: &str = r"^ *[0-9]+(\.[0-9]+)? *(B|kB|MB|GB|KiB|MiB|GiB|packets?) *$";
    pub const COUNT: &str = r"^ *[0-9]+ *packets? *$";
    pub const WINDOW: &str = r"^ *window +[0-9]+ +of +[0-9]+ *$";
    pub const PERIOD: &str = r"^ *([0-9]+ *slots?|[0-9]+(\.[0-9]+)? *(ps|ns|us|µs|μs|ms|s|min|h)) *$";
    pub const RATIO: &str = r"^ *[0-9]+(\.[0-9]+)? *% *$";
    pub const FREQUENCY: &str = r"^ *[0-9]+(\.[0-9]+)? *(k|M|G)?Hz *$";
    pub const GAIN: &str = r"^ *[0-9]+(\.[0-9]+)? *m?Hz *$";
    pub const BANDWIDTH: &str = r"^ *[0-9]+(\.[0-9]+)? *(k|M|G|T)?B/s *$";
    pub const PACKET_RATE: &str = r"^ *[0-9]+(\.[0-9]+)? *(k|M|G)?pps *$";
}

/// A share of a whole, exact to a billionth: `0.1 %` is 1,000,000 billionths.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ratio(u64);

impl Ratio {
    const WHOLE: u64 = 1_000_000_000;

    /// This many billionths; `None` if that is more than the whole.
    pub const fn from_billionths(billionths: u64) -> Option<Ratio> {
        if billionths <= Ratio::WHOLE { Some(Ratio(billionths)) } else { None }
    }

    /// The ratio in billionths, 0 to 10^9.
    pub const fn billionths(self) -> u64 {
        self.0
    }

    /// The ratio as a number between 0 and 1.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / Ratio::WHOLE as f64
    }
}

/// The limit of a queue or buffer, in the unit of the file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Limit {
    /// Bytes of frames.
    Bytes(u64),
    /// Packets.
    Packets(u64),
}

/// The time between two deadlines, in the unit of the file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Period {
    /// Slots: times of the longest packet.
    Slots(u64),
    /// Time.
    Time(Duration),
}

/// Reads a rate such as `155.52 Mbit/s`, between 1 kbit/s and 400 Gbit/s. `kB/s` and its like count bytes, times eight.
///
/// # Errors
/// What is wrong, and what would be right.
pub fn rate(text: &str) -> Result<Rate, String> {
    let bits = RATE.read(text)?;
    if bits == 0 {
        return Err("a rate of zero would never send anything; the lowest rate is 1 kbit/s".to_owned());
    }
    let out_of_range = || format!("the rate {} is outside 1 kbit/s to 400 Gbit/s", text.trim());
    u64::try_from(bits).ok().and_then(|bits| Rate::new(bits).ok()).ok_or_else(out_of_range)
}

/// Reads a duration such as `5 ms`, at most 106 days.
///
/// # Errors
/// What is wrong, and what would be right.
pub fn duration(text: &str) -> Result<Duration, String> {
    let picoseconds = DURATION.read(text)?;
    match u64::try_from(picoseconds) {
        Ok(ps) if ps <= Duration::MAX.picoseconds() => Ok(Duration::from_picoseconds(ps)),
        _ => Err(format!("the duration {} is longer than the 2562 h that the clock can tell apart", text.trim())),
    }
}

/// Reads a size such as `1500 B`, `64 kB` (64,000 bytes) or `64 KiB` (65,536 bytes), in bytes.
///
/// # Errors
/// What is wrong, and what would be right.
pub fn size(text: &str) -> Result<u64, String> {
    let bytes = SIZE.read(text)?;
    u64::try_from(bytes).map_err(|_| format!("the size {} is larger than any memory", text.trim()))
}

/// Reads a number of packets such as `1000 packets`.
///
/// # Errors
/// What is wrong, and what would be right.
pub fn count(text: &str) -> Result<u64, String> {
    let packets = COUNT.read(text)?;
    u64::try_from(packets).map_err(|_| format!("{} is more packets than any memory holds", text.trim()))
}

/// Reads a limit in bytes or in packets: `250 kB` or `1000 packets`.
///
/// # Errors
/// What is wrong, and what would be right.
pub fn limit(text: &str) -> Result<Limit, String> {
    if text.contains("packet") {
        return count(text).map(Limit::Packets);
    }
    let limit = Quantity { what: "a limit", example: "\"250 kB\" or \"1000 packets\"", ..SIZE };
    let bytes = limit.read(text)?;
    u64::try_from(bytes).map(Limit::Bytes).map_err(|_| format!("the limit {} is larger than any memory", text.trim()))
}

/// Reads a period in slots or in time: `4 slots` or `20 ms`.
///
/// # Errors
/// What is wrong, and what would be right.
pub fn period(text: &str) -> Result<Period, String> {
    if !text.contains("slot") {
        let time = Quantity { what: "a period", example: "\"4 slots\" or \"20 ms\"", ..DURATION };
        let picoseconds = u64::try_from(time.read(text)?).ok().filter(|&picoseconds| picoseconds <= Duration::MAX.picoseconds());
        let too_long = || format!("the period {} is longer than the 2562 h that the clock can tell apart", text.trim());
        return picoseconds.map(|picoseconds| Period::Time(Duration::from_picoseconds(picoseconds))).ok_or_else(too_long);
    }
    match u64::try_from(SLOTS.read(text)?) {
        Ok(0) => Err("a period of 0 slots would put all deadlines at one instant; the shortest is \"1 slot\"".to_owned()),
        Ok(slots) if slots <= LONGEST_PERIOD => Ok(Period::Slots(slots)),
        _ => Err(format!("the period {} is longer than 2^48 slots", text.trim())),
    }
}

/// Reads a share such as `0.1 %`, at most 100 %.
///
/// # Errors
/// What is wrong, and what would be right.
pub fn ratio(text: &str) -> Result<Ratio, String> {
    let billionths = RATIO.read(text)?;
    match u64::try_from(billionths) {
        Ok(billionths) if billionths <= Ratio::WHOLE => Ok(Ratio(billionths)),
        _ => Err(format!("the share {} is more than 100 %", text.trim())),
    }
}

/// Reads a frequency such as `3 GHz`, between 1 kHz and 1000 GHz.
///
/// # Errors
/// What is wrong, and what would be right.
pub fn frequency(text: &str) -> Result<u64, String> {
    within(FREQUENCY.read(text)?, 1_000, 1_000_000_000_000, || format!("the frequency {} is outside 1 kHz to 1000 GHz", text.trim()))
}

/// Reads the gain of a controller such as `0.125 Hz`, up to 1000 Hz, in thousandths of a hertz.
///
/// # Errors
/// What is wrong, and what would be right.
pub fn gain(text: &str) -> Result<u64, String> {
    within(GAIN.read(text)?, 0, 1_000_000, || format!("the gain {} is above 1000 Hz", text.trim()))
}

/// Reads a bandwidth such as `40 GB/s`, in bytes per second, up to 1000 TB/s.
///
/// # Errors
/// What is wrong, and what would be right.
pub fn bandwidth(text: &str) -> Result<u64, String> {
    within(BANDWIDTH.read(text)?, 1, 1_000_000_000_000_000, || format!("the bandwidth {} is outside 1 B/s to 1000 TB/s", text.trim()))
}

/// Reads a packet rate such as `9 Mpps`, up to 1000 Gpps.
///
/// # Errors
/// What is wrong, and what would be right.
pub fn packet_rate(text: &str) -> Result<u64, String> {
    within(PACKET_RATE.read(text)?, 1, 1_000_000_000_000, || format!("the packet rate {} is outside 1 pps to 1000 Gpps", text.trim()))
}

fn within(value: u128, least: u128, most: u128, problem: impl FnOnce() -> String) -> Result<u64, String> {
    u64::try_from(value).ok().filter(|_| (least..=most).contains(&value)).ok_or_else(problem)
}

/// Writes a frequency so that [`frequency`] reads the same value: `3 GHz`.
pub fn print_frequency(hertz: u64) -> String {
    FREQUENCY.print(u128::from(hertz))
}

/// Writes a packet rate so that [`packet_rate`] reads the same value: `9.4 Mpps`.
pub fn print_packet_rate(packets_per_second: u64) -> String {
    PACKET_RATE.print(u128::from(packets_per_second))
}

/// Writes a rate so that [`rate`] reads the same value: `155.52 Mbit/s`.
pub fn print_rate(rate: Rate) -> String {
    RATE.print(u128::from(rate.bits_per_second()))
}

/// Writes a duration so that [`duration`] reads the same value: `2.5 ms`.
pub fn print_duration(duration: Duration) -> String {
    DURATION.print(u128::from(duration.picoseconds()))
}

/// Writes a size so that [`size`] reads the same value: `64 kB`.
pub fn print_size(bytes: u64) -> String {
    SIZE.print(u128::from(bytes))
}

/// A number of things, with the noun in its singular or plural.
pub(crate) fn plural(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Writes a number of packets so that [`count`] reads the same value.
pub fn print_count(packets: u64) -> String {
    if packets == 1 { "1 packet".to_owned() } else { format!("{packets} packets") }
}

/// Writes a limit so that [`limit`] reads the same value.
pub fn print_limit(limit: Limit) -> String {
    match limit {
        Limit::Bytes(bytes) => print_size(bytes),
        Limit::Packets(packets) => print_count(packets),
    }
}

/// Writes a number of slots so that [`period`] reads the same value.
pub fn print_slots(slots: u128) -> String {
    if slots == 1 { "1 slot".to_owned() } else { format!("{slots} slots") }
}

/// Writes a share so that [`ratio`] reads the same value: `0.1 %`.
pub fn print_ratio(ratio: Ratio) -> String {
    RATIO.print(u128::from(ratio.0))
}

impl Quantity {
    /// The exact value in the largest unit not above it; fractions of a size only from ten of the unit on.
    fn print(&self, value: u128) -> String {
        let fills = |factor: u128| value >= factor && (value >= factor * self.fractions_from || value.is_multiple_of(factor));
        let fits = |unit: &&Unit| if value == 0 { unit.0 == "s" } else { fills(unit.1) };
        let &(name, factor) = self.units.iter().rev().find(fits).unwrap_or(&self.units[0]);
        let decimals = factor.ilog10() as usize;
        let fraction = format!("{:0decimals$}", value % factor);
        let fraction = if decimals == 0 { "" } else { fraction.trim_end_matches('0') };
        let point = if fraction.is_empty() { "" } else { "." };
        format!("{}{point}{fraction} {name}", value / factor)
    }

    /// Splits `text` into number and unit and computes the exact value.
    fn read(&self, text: &str) -> Result<u128, String> {
        let Quantity { what, example, .. } = self;
        let text = text.trim();
        let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',' | '_' | '+' | '-'))).unwrap_or(text.len());
        let (number, unit) = (&text[..end], text[end..].trim_start());
        if number.is_empty() {
            return Err(format!("expected {what}; write a number and a unit, like {example}"));
        }
        let (digits, decimals) = decimal(number)?;
        if unit.is_empty() {
            return Err(format!("write a unit: {example}"));
        }
        let mut known = self.units.iter().chain(self.also);
        let Some(&(_, factor)) = known.find(|known| known.0 == unit) else { return Err(self.unknown_unit(number, unit)) };
        let product = digits * factor;
        let divisor = 10u128.pow(decimals);
        if product % divisor != 0 {
            return Err(format!("{text} is not a whole multiple of {}; write fewer decimals", self.finest));
        }
        Ok(product / divisor)
    }

    fn unknown_unit(&self, number: &str, unit: &str) -> String {
        let mut characters = unit.chars();
        let is_exponent = matches!(characters.next(), Some('e' | 'E')) && matches!(characters.next(), Some('0'..='9' | '+' | '-'));
        if is_exponent {
            return format!("write the number without an exponent and with a unit, like {}", self.example);
        }
        match (self.hint)(unit) {
            Some(right) => format!("unknown unit `{unit}`; {}", right.replace('#', number)),
            None => {
                let names = self.units.iter().chain(self.also).map(|unit| unit.0).filter(|name| name.is_ascii());
                format!("unknown unit `{unit}`; {} is written in {}", self.what, names.collect::<Vec<_>>().join(", "))
            }
        }
    }
}

/// A plain decimal number as (digits, number of decimals).
fn decimal(number: &str) -> Result<(u128, u32), String> {
    if number.starts_with('-') {
        return Err(format!("`{number}` is negative; write a number of zero or more"));
    }
    if number.contains(',') {
        return Err(format!("`{number}`: write decimals with a point and thousands without a separator"));
    }
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !all_digits(whole) || !all_digits(fraction) {
        return Err(format!("`{number}` is not a plain decimal number like 10 or 2.5"));
    }
    let fraction = fraction.trim_end_matches('0');
    let whole = whole.trim_start_matches('0');
    // Twenty digits times the largest factor (an hour in picoseconds, 3.6 * 10^15) stay below 2^128.
    if whole.len() + fraction.len() > 20 {
        return Err(format!("`{number}` has more than 20 digits"));
    }
    let digits = format!("0{whole}{fraction}").parse().map_err(|_| format!("`{number}` is not a number"))?;
    Ok((digits, fraction.len() as u32))
}

fn rate_hint(unit: &str) -> Option<&'static str> {
    Some(match unit {
        "bps" | "b/s" | "Bit/s" | "bits/s" => "write \"# bit/s\"",
        "kbps" | "kb/s" | "Kbit/s" | "Kbps" | "Kb/s" | "kbit" | "kbits/s" => "write \"# kbit/s\" (or \"# kB/s\" if bytes are meant)",
        "Mbps" | "Mb/s" | "mbit/s" | "mbps" | "Mbit" | "mbit" | "Mbits/s" | "M" | "MBit/s" => {
            "write \"# Mbit/s\" (or \"# MB/s\" if bytes are meant)"
        }
        "Gbps" | "Gb/s" | "gbit/s" | "gbps" | "Gbit" | "gbit" | "Gbits/s" | "G" | "GBit/s" => {
            "write \"# Gbit/s\" (or \"# GB/s\" if bytes are meant)"
        }
        "Bps" => "write \"# B/s\"",
        "kBps" | "KB/s" | "KBps" => "write \"# kB/s\"",
        "MBps" => "write \"# MB/s\"",
        "GBps" => "write \"# GB/s\"",
        _ => return None,
    })
}

fn duration_hint(unit: &str) -> Option<&'static str> {
    Some(match unit {
        "sec" | "secs" | "second" | "seconds" | "S" => "write \"# s\"",
        "msec" | "millisecond" | "milliseconds" | "mS" | "Ms" => "write \"# ms\"",
        "usec" | "microsecond" | "microseconds" | "uS" => "write \"# us\"",
        "nsec" | "nanosecond" | "nanoseconds" | "nS" => "write \"# ns\"",
        "m" => "write \"# ms\" for milliseconds or \"# min\" for minutes",
        "minute" | "minutes" | "mins" => "write \"# min\"",
        "hour" | "hours" => "write \"# h\"",
        _ => return None,
    })
}

fn size_hint(unit: &str) -> Option<&'static str> {
    Some(match unit {
        "b" | "byte" | "bytes" | "Byte" | "Bytes" => "write \"# B\"",
        "k" | "K" | "KB" | "kb" | "Kb" | "kByte" => "write \"# kB\" (1000 bytes each) or \"# KiB\" (1024 bytes each)",
        "m" | "M" | "mb" | "Mb" | "mB" => "write \"# MB\" (10^6 bytes each) or \"# MiB\" (2^20 bytes each)",
        "g" | "G" | "gb" | "Gb" | "gB" => "write \"# GB\" (10^9 bytes each) or \"# GiB\" (2^30 bytes each)",
        "kiB" => "write \"# KiB\"",
        "p" | "pkt" | "pkts" | "pk" | "frames" => "write \"# packets\"",
        _ => return None,
    })
}

/// A value rounded up to four digits.
fn four_digits_up(value: u128) -> u128 {
    let mut unit = 1;
    while value.div_ceil(unit) >= 10_000 {
        unit *= 10;
    }
    value.div_ceil(unit) * unit
}

/// A time in picoseconds, rounded up to four digits, as a bound.
pub(crate) fn print_time(picoseconds: u128) -> String {
    match u64::try_from(four_digits_up(picoseconds)).ok().filter(|&picoseconds| picoseconds <= Duration::MAX.picoseconds()) {
        Some(picoseconds) => print_duration(Duration::from_picoseconds(picoseconds)),
        None => "more than 106 days".to_owned(),
    }
}

/// An amount of data in bits, rounded up to whole bytes and to four digits, as a bound.
pub(crate) fn print_data(bits: u64) -> String {
    print_size(u64::try_from(four_digits_up(bits.div_ceil(8).into())).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;
