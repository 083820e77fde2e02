//! Every gate of the paper, and that a wrong winner is noticed.

use super::EXPERIMENT;
use super::workload::{Run, Workload, play, windows};
use tidegate_core::dwcs::{Early, Missed, Order, Rules, Scan};

#[test]
fn every_gate_holds() {
    for plan in EXPERIMENT.figures {
        let figure = (plan.run)(&|_| {});
        let failed: Vec<_> = figure.gates.iter().filter(|gate| !gate.passed()).collect();
        assert!(failed.is_empty(), "{}: {failed:#?}", figure.id);
        assert!(!figure.gates.is_empty() && !figure.paper.is_empty(), "{}", figure.id);
    }
}

#[test]
fn another_winner_is_noticed() {
    let workload = Workload::backlogged(windows([(7, 8), (14, 16), (6, 8), (4, 8)]), 1000);
    let mut run = Run::new(&workload, &|_| {});
    assert!(run.same_winners().passed());
    let others = Workload { streams: windows([(7, 8), (14, 16), (6, 8), (5, 8)]), ..workload };
    let rules = Rules { missed: Missed::Complete, early: Early::Clamp };
    let other = play(&mut Scan::new(rules, Order::default(), &others.streams).unwrap(), &others);
    run.differing[2] = other.iter().zip(&run.winners).filter(|(other, base)| other != base).count() as f64;
    assert!(!run.same_winners().passed());
    assert!(run.disordered(&[3, 2]) > 0.0);
}

#[test]
fn a_stream_that_has_sent_all_is_not_served() {
    let workload = Workload { packets: 5, ..Workload::backlogged(windows([(1, 2), (1, 2)]), 12) };
    let run = Run::new(&workload, &|_| {});
    assert_eq!(run.between(0, 12), [5.0, 5.0]);
    assert_eq!(run.winners[10..], [2, 2]);
}
