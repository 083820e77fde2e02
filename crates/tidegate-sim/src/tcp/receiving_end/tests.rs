//! Tests of [`super`].

use super::*;

#[test]
fn numbers_are_complete_near_where_they_belong() {
    let wrap = 1u64 << NUMBER_BITS;
    for near in [1, 5, wrap - 1, wrap, wrap + 1, 3 * wrap + 17] {
        for number in near.saturating_sub(1000)..near + 1000 {
            assert_eq!(widen((number & (wrap - 1)) as u32, near), number);
        }
    }
}
