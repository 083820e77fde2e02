//! The gates in a short form.

use super::systems::{self, System};
use super::trials::Extent;
use super::{buses, costs, fidelity, livelock, oracles, queues, shares};
use crate::figure::Gate;

/// One seed of 20 ms.
const SHORT: Extent = Extent { seeds: 1, milliseconds: 20 };

fn assert_passed(gates: &[Gate]) {
    for gate in gates {
        assert!(gate.passed(), "{} {:?}, from {:?} to {:?}", gate.name, gate.measured, gate.low, gate.high);
    }
}

fn nowhere(_: f64) {}

#[test]
fn closed_forms_and_transcripts_hold() {
    assert_passed(&oracles::all(SHORT).0);
}

#[test]
fn only_the_guard_protects_both_systems() {
    let loads = [30e3, 60e3, 200e3];
    assert_passed(&systems::gates_of_one(&systems::sweep(System::One, &loads, SHORT, &nowhere)));
    // What flows keep of a full FIFO differs more between short trials.
    let longer = Extent { seeds: 2, milliseconds: 80 };
    assert_passed(&systems::gates_of_two(&systems::sweep(System::Two, &[80e3, 170e3], longer, &nowhere)));
    let points = systems::efficiency_points(&[0.5, 1.0], SHORT, &nowhere);
    assert_passed(&[systems::efficiency_gate(&points[0], &points[1])]);
}

#[test]
fn quotas_and_feedback_end_the_livelock() {
    let loads = [20e3, 30e3, 80e3, 200e3];
    assert_passed(&livelock::gates(&livelock::points(&loads, SHORT, &nowhere), &loads));
}

#[test]
fn longer_batches_forward_more_and_later() {
    assert_passed(&shares::batch_gates(&shares::batch_points(&[1, 4, 32], SHORT, &nowhere)));
}

#[test]
fn the_guard_divides_the_bus_as_a_fair_one() {
    let runs = buses::misbehaving(20, 1);
    assert_passed(&buses::misbehaving_gates(&runs, &buses::run_buses(&runs, &nowhere)));
    let periods = [50, 200, 800];
    let runs = buses::period_runs(&periods, 40, 1);
    assert_passed(&buses::period_gates(&periods, &buses::run_buses(&runs, &nowhere)));
}

#[test]
fn the_terms_of_a_stage_are_found_again() {
    assert_passed(&costs::fit_gates().0);
}

#[test]
fn a_single_queue_is_not_the_machine() {
    let loads = [10e3];
    assert_passed(&fidelity::gates(&loads, &fidelity::distances(&loads, 200, &nowhere)));
}

#[test]
fn the_guard_divides_a_link_among_receive_queues() {
    assert_passed(&queues::gates(&queues::points(SHORT, &nowhere)));
}
