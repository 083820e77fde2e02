//! Quantities are read and printed without loss.

use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn what_is_printed_reads_back(bps in 1_000u64..=400_000_000_000, ps in 0u64..=i64::MAX as u64, bytes: u64, share in 0u64..=1_000_000_000) {
        let written = Rate::new(bps).unwrap();
        prop_assert_eq!(rate(&print_rate(written)), Ok(written));
        let span = Duration::from_picoseconds(ps);
        prop_assert_eq!(duration(&print_duration(span)), Ok(span));
        prop_assert_eq!(size(&print_size(bytes)), Ok(bytes));
        prop_assert_eq!(count(&print_count(bytes)), Ok(bytes));
        for written in [Limit::Bytes(bytes), Limit::Packets(bytes)] {
            prop_assert_eq!(limit(&print_limit(written)), Ok(written));
        }
        prop_assert_eq!(ratio(&print_ratio(Ratio(share))), Ok(Ratio(share)));
        let slots = 1 + bytes % LONGEST_PERIOD;
        prop_assert_eq!(period(&print_slots(slots.into())), Ok(Period::Slots(slots)));
        prop_assert_eq!(period(&print_duration(span)), Ok(Period::Time(span)));
    }

    #[test]
    fn decimals_are_exact(whole in 0u64..1_000_000, micro in 0u64..1_000_000) {
        let text = format!("{whole}.{micro:06} s");
        prop_assert_eq!(duration(&text).unwrap().picoseconds(), (whole * 1_000_000 + micro) * 1_000_000);
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,24}") {
        let _ = (rate(&text), duration(&text), size(&text), count(&text), limit(&text), period(&text), ratio(&text));
    }

    #[test]
    fn no_number_with_a_unit_panics(text in "[-+0-9.,_e]{0,30} ?(k|M|G|u|m|n|p|B|i|s|/|t|%|h|µ){0,4}") {
        let _ = (rate(&text), duration(&text), size(&text), count(&text), limit(&text), period(&text), ratio(&text));
    }
}

#[test]
fn the_usual_forms_are_read() {
    assert_eq!(rate("155.52 Mbit/s").unwrap().bits_per_second(), 155_520_000);
    assert_eq!(rate("10Mbit/s").unwrap().bits_per_second(), 10_000_000);
    assert_eq!(rate(" 1.5  Gbit/s ").unwrap().bits_per_second(), 1_500_000_000);
    assert_eq!(rate("125 kB/s").unwrap().bits_per_second(), 1_000_000);
    assert_eq!(duration("2.5 us").unwrap(), duration("2.5 µs").unwrap());
    assert_eq!(duration("2.5 us").unwrap(), duration("2.5 μs").unwrap());
    assert_eq!(duration("1 min").unwrap(), Duration::from_seconds(60));
    assert_eq!(duration("250ps").unwrap(), Duration::from_picoseconds(250));
    assert_eq!(size("64 kB"), Ok(64_000));
    assert_eq!(size("64 KiB"), Ok(65_536));
    assert_eq!(size("0.5 KiB"), Ok(512));
    assert_eq!(count("1 packet"), Ok(1));
    assert_eq!(limit("1000 packets"), Ok(Limit::Packets(1000)));
    assert_eq!(limit("250 kB"), Ok(Limit::Bytes(250_000)));
    assert_eq!(ratio("0.1 %").map(Ratio::billionths), Ok(1_000_000));
    assert_eq!(ratio("100%").map(Ratio::billionths), Ok(1_000_000_000));
}

#[test]
fn sizes_are_printed_as_people_write_them() {
    let printed: Vec<String> = [0, 1, 1500, 2000, 64_000, 64_512, 1_500_000, 15_500_000].map(print_size).into();
    assert_eq!(printed, ["0 B", "1 B", "1500 B", "2 kB", "64 kB", "64.512 kB", "1500 kB", "15.5 MB"]);
    assert_eq!(print_duration(Duration::ZERO), "0 s");
    assert_eq!(print_duration(Duration::from_nanoseconds(1_500)), "1.5 us");
}

#[test]
fn errors_say_what_would_be_right() {
    let cases: &[(Result<(), String>, &str)] = &[
        (rate("10").map(drop), "write a unit: \"10 Mbit/s\""),
        (rate("10Mbps").map(drop), "unknown unit `Mbps`; write \"10 Mbit/s\" (or \"10 MB/s\" if bytes are meant)"),
        (rate("fast").map(drop), "expected a rate; write a number and a unit, like \"10 Mbit/s\""),
        (rate("0 Mbit/s").map(drop), "a rate of zero would never send anything; the lowest rate is 1 kbit/s"),
        (rate("999 bit/s").map(drop), "the rate 999 bit/s is outside 1 kbit/s to 400 Gbit/s"),
        (rate("500 Gbit/s").map(drop), "the rate 500 Gbit/s is outside 1 kbit/s to 400 Gbit/s"),
        (rate("10 m/s").map(drop), "unknown unit `m/s`; a rate is written in bit/s, kbit/s, Mbit/s, Gbit/s, B/s, kB/s, MB/s, GB/s"),
        (rate("1.00001 kbit/s").map(drop), "1.00001 kbit/s is not a whole multiple of 1 bit/s; write fewer decimals"),
        (rate("1e6 bit/s").map(drop), "write the number without an exponent and with a unit, like \"10 Mbit/s\""),
        (duration("5").map(drop), "write a unit: \"5 ms\""),
        (duration("-5 ms").map(drop), "`-5` is negative; write a number of zero or more"),
        (duration("1,5 ms").map(drop), "`1,5`: write decimals with a point and thousands without a separator"),
        (duration("5 m").map(drop), "unknown unit `m`; write \"5 ms\" for milliseconds or \"5 min\" for minutes"),
        (duration("3000 h").map(drop), "the duration 3000 h is longer than the 2562 h that the clock can tell apart"),
        (size("64 KB").map(drop), "unknown unit `KB`; write \"64 kB\" (1000 bytes each) or \"64 KiB\" (1024 bytes each)"),
        (limit("100").map(drop), "write a unit: \"250 kB\" or \"1000 packets\""),
        (limit("100 pkts").map(drop), "unknown unit `pkts`; write \"100 packets\""),
        (ratio("120 %").map(drop), "the share 120 % is more than 100 %"),
        (ratio("0.00000001 %").map(drop), "0.00000001 % is not a whole multiple of 0.0000001 %; write fewer decimals"),
    ];
    for (got, expected) in cases {
        assert_eq!(got.clone().unwrap_err(), *expected);
    }
}
