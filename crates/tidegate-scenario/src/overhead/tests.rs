//! Overheads are names or sizes.

use super::*;

#[test]
fn overheads_are_names_or_sizes() {
    let read = |text: &'static str| Overhead::read(&Scalar::Text(text.into()));
    assert_eq!(read("24 B"), Ok(Overhead(Core::per_packet(24))));
    assert_eq!(read("ethernet"), Ok(Overhead(Core::ETHERNET)));
    assert!(read("24").unwrap_err().contains("write a unit"));
    assert!(read("5 kB").is_err());
    assert!(read("ethernot").unwrap_err().contains("did you mean `ethernet`?"));
}
