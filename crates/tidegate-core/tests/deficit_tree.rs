//! The tree of deficit, weighted and sparse round robin beside the general tree of the same nodes: the same packets at the same instants, whatever happens to
//! them.

mod forest;
mod workload;

use forest::{Events, Forest, Form, Trees, deficit_forests, events};
use proptest::prelude::*;
use tidegate_core::units::Time;
use workload::origin;

/// Plays the same events on trees of both forms, which send the same packets at the same instants.
fn alike(forest: &Forest, events: &[forest::Event], start: Time) -> Result<(), TestCaseError> {
    let [mut one, mut other] = [Form::Tree, Form::Deficits].map(|form| Trees::new(form, forest, start, true));
    for event in events {
        one.play(event)?;
        other.play(event)?;
        prop_assert_eq!(&one.sent, &other.sent, "after {:?}", event);
    }
    one.finish()?;
    other.finish()?;
    prop_assert_eq!((&one.sent, one.lost), (&other.sent, other.lost));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4 * ProptestConfig::default().cases, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_answers_as_the_general_tree(forest in deficit_forests(), events in events(Events::Alike), start in origin()) {
        alike(&forest, &events, start)?;
    }

    #[test]
    fn it_changes_as_the_general_tree(forest in deficit_forests(), events in events(Events::All), start in origin()) {
        alike(&forest, &events, start)?;
    }

    /// One form takes over from the other and back: nothing is lost, and every policer accepts everything across the changes.
    #[test]
    fn contracts_hold_where_one_form_takes_over_from_the_other(forest in deficit_forests(), events in events(Events::All), start in origin()) {
        let mut trees = Trees::new(Form::InTurn, &forest, start, true);
        for event in &events {
            trees.play(event)?;
        }
        trees.finish()?;
        prop_assert_eq!(trees.sent.len() + trees.lost, trees.came);
    }
}
