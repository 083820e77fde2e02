//! Guaranteed rates are counted and printed, never above the truth.

use super::*;

#[test]
fn rates_are_printed_exactly_or_rounded_down() {
    let gigabit = LeastRate::whole(1_000_000_000);
    let least = gigabit.part(1, 1 << 32).unwrap();
    assert_eq!((least.to_string(), least.bits_per_second()), ("0.2328 bit/s".to_owned(), 1e9 / 4_294_967_296.0));
    assert_eq!(gigabit.part(4_294_967_295, 1 << 32).unwrap().to_string(), "999.9 Mbit/s");
    assert_eq!(gigabit.part(2, 3).unwrap().to_string(), "666.6 Mbit/s");
    assert_eq!(LeastRate::whole(7_200_000).to_string(), "7.2 Mbit/s");
    assert_eq!(LeastRate::whole(12_345_000).to_string(), "12.345 Mbit/s");
    assert_eq!(LeastRate::whole(1234).to_string(), "1.234 kbit/s");
    assert_eq!(LeastRate::whole(1).part(1, 3000).unwrap().to_string(), "0.0003333 bit/s");
    assert_eq!(LeastRate::whole(1).part(1, 1 << 49), None);
}

#[test]
fn numbers_for_programs_are_not_above_the_truth() {
    let third = LeastRate::whole(400_000_000_000).part(1, 3).unwrap();
    assert!(third.bits_per_second() <= 400e9 / 3.0 && third.bits_per_second() > 133_333_333_333.33);
    assert_eq!(LeastRate::whole(250_000).json(), serde_json::json!(250_000));
    assert_eq!(LeastRate::whole(9).part(1, 2).unwrap().json(), serde_json::json!(4.5));
}

#[test]
fn operations_round_down() {
    let (a, b) = (LeastRate::whole(60_000_000), LeastRate::whole(30_000_000));
    let both = a.in_turn_with(b).bits_per_second();
    assert!(both <= 20e6 && both > 20e6 - 1.0, "{both}");
    let scaled = a.scaled_by(LeastRate::whole(1), LeastRate::whole(3)).bits_per_second();
    assert!(scaled <= 20e6 && scaled > 20e6 - 1.0, "{scaled}");
    assert_eq!(b.beside(20_000_000), Some(LeastRate::whole(10_000_000)));
    assert_eq!(b.beside(30_000_000), None);
}
