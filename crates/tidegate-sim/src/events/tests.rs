//! Tests of [`super`].

use super::*;
use proptest::prelude::*;

#[test]
fn ties_go_to_the_lower_slot() {
    let mut events = Events::new(5);
    assert_eq!(events.first().0, NEVER);
    for slot in [4, 1, 3] {
        events.set(slot, 10);
    }
    assert_eq!(events.first(), (10, 1));
    events.set(1, NEVER);
    assert_eq!(events.first(), (10, 3));
    events.set(4, 9);
    assert_eq!(events.first(), (9, 4));
    assert_eq!(events.at(3), 10);
}

proptest! {
    #[test]
    fn the_first_is_that_of_a_sorted_list(mut slots in 1usize..70, changes in prop::collection::vec((any::<u16>(), 0u64..20), 0..200)) {
        let mut events = Events::new(slots);
        let mut model = vec![NEVER; slots];
        for (slot, at) in changes {
            if slot % 16 == 0 {
                // Now and then the set grows.
                slots += usize::from(slot / 16 % 40);
                events.grow(slots);
                model.resize(slots, NEVER);
            }
            let slot = usize::from(slot) % slots;
            // A fifth of the changes take an event away.
            let at = if at < 4 { NEVER } else { at };
            events.set(slot, at);
            model[slot] = at;
            let expected = model.iter().enumerate().map(|(slot, at)| (*at, slot)).min().unwrap();
            if expected.0 == NEVER {
                prop_assert_eq!(events.first().0, NEVER);
            } else {
                prop_assert_eq!(events.first(), expected);
            }
            prop_assert_eq!(events.at(slot), at);
        }
    }
}
