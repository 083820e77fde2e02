//! Every gate of the paper but those of Figure 5.

use super::{conflicts, cost, minimum, mixture, overload, transfers};

/// All figures but the one with 64,167 connections, which takes seconds.
#[test]
fn every_gate_holds() {
    for run in [mixture::run, overload::run, conflicts::run, minimum::run, cost::few, transfers::run] {
        let figure = run(&|_| {});
        let failed: Vec<_> = figure.gates.iter().filter(|gate| !gate.passed()).collect();
        assert!(failed.is_empty(), "{}: {failed:#?}", figure.id);
    }
}
