//! Values are read, and judged by the range that a file allows.

use super::*;

#[test]
fn percentiles_are_exact() {
    let read = |text: &'static str| Percentile::read(&Scalar::Decimal(text.into()));
    assert_eq!(read("99.9").unwrap().to_string(), "99.9");
    assert_eq!(read("99.0"), Ok(Percentile::NINETY_NINE));
    assert_eq!(Percentile::read(&Scalar::Integer(50)).unwrap().quantile(), 0.5);
    for wrong in ["0.0", "100.0", "nan", "-1.0", "99.99999999"] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_bare_number_is_told_to_carry_a_unit() {
    let error = Rate::read(&Scalar::Integer(10)).unwrap_err();
    assert_eq!(error, "write a unit, in quotes: \"10 Mbit/s\"");
}

#[test]
fn names_fit_into_dotted_keys() {
    let read = |text: &'static str| Name::read(&Scalar::Text(text.into()));
    assert!(read("with the policy").is_ok());
    for wrong in ["", " a", "a.b", "a\nb", "a\"b"] {
        assert!(read(wrong).is_err(), "{wrong:?}");
    }
}
