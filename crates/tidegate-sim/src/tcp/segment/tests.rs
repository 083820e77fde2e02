//! Tests of [`super`].

use super::*;

#[test]
fn options_fill_whole_words() {
    let bytes = |count| Ack { count, ..Ack::default() }.option_bytes();
    assert_eq!([bytes(0), bytes(1), bytes(3)], [0, 12, 28]);
}
