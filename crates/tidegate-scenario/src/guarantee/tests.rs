//! Guaranteed rates are counted and printed, never above the truth.

use super::*;

#[test]
fn rates_are_printed_exactly_or_rounded_down() {
    let gigabit = LeastRate::whole(1_000_000_000);
    assert_eq!(gigabit.part(4_294_967_295, 1 << 32).unwrap().to_string(), "999.9 Mbit/s");
    assert_eq!(gigabit.part(2, 3).unwrap().to_string(), "666.6 Mbit/s");
    assert_eq!(gigabit.part(1, 1 << 30), None);
    assert_eq!(LeastRate::whole(7_200_000).to_string(), "7.2 Mbit/s");
    assert_eq!(LeastRate::whole(12_345_000).to_string(), "12.345 Mbit/s");
    assert_eq!(LeastRate::whole(1234).to_string(), "1.234 kbit/s");
    assert_eq!(LeastRate::whole(999).to_string(), "999 bit/s");
    assert_eq!(LeastRate::whole(250_000).json(), serde_json::json!(250_000));
}
