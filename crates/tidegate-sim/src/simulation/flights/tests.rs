//! Tests of [`super`].

use super::*;
use proptest::prelude::*;
use std::collections::VecDeque;

proptest! {
    #[test]
    fn every_link_keeps_its_order(turns in prop::collection::vec((0usize..4, any::<bool>()), 0..300)) {
        let mut flights = Flights::default();
        let mut flying = [Flying::default(); 4];
        let mut model = [const { VecDeque::new() }; 4];
        let mut most = 0;
        for (number, (link, sets_out)) in turns.into_iter().enumerate() {
            if sets_out {
                flights.push(&mut flying[link], number);
                model[link].push_back(number);
            } else {
                prop_assert_eq!(flights.pop(&mut flying[link]), model[link].pop_front());
            }
            most = most.max(model.iter().map(VecDeque::len).sum());
            for (flying, model) in flying.iter().zip(&model) {
                prop_assert_eq!(flying.is_empty(), model.is_empty());
                prop_assert!(flights.on(*flying).eq(model));
                prop_assert_eq!(flights.next_two(*flying), model.front().map(|first| (first, model.get(1))));
            }
        }
        prop_assert_eq!(flights.slots.len(), most);
    }
}
