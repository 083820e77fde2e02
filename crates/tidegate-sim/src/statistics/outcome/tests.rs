//! Tests of [`super`].

use super::*;

#[test]
fn series_are_averaged_point_by_point() {
    let runs = [vec![1.0, 2.0], vec![], vec![5.0, 4.0]];
    assert_eq!(average(runs.iter().map(|run| run.iter().copied())), [2.0, 2.0]);
}

#[test]
fn fairness_is_that_of_each_replication() {
    let flow = |delivered| {
        let tcp = TcpStatistics { delivered, ..TcpStatistics::default() };
        FlowStatistics { tcp: Some(Box::new(tcp)), ..FlowStatistics::default() }
    };
    let replication = |delivered: &[u64]| {
        let flows = delivered.iter().map(|&bytes| flow(bytes)).chain([FlowStatistics::default()]).collect();
        Replication {
            flows,
            ports: Vec::new(),
            calls: Vec::new(),
            failures: Vec::new(),
            workloads: Vec::new(),
            connection_slots: 0,
            events: 0,
            packet_hops: 0,
            changes: Vec::new(),
            deadlock: Vec::new(),
        }
    };
    let outcome = |replications| Outcome {
        calls: Vec::new(),
        workloads: Vec::new(),
        failures: Vec::new(),
        measured: Duration::from_seconds(1),
        sample_interval: None,
        flows: Vec::new(),
        ports: Vec::new(),
        replications,
    };
    // Each has all once: fair on average, and never at any time. (3 + 1)^2 / (2 (9 + 1)) is 0.8.
    let turns = outcome(vec![replication(&[4, 0]), replication(&[0, 4])]);
    assert_eq!(turns.tcp_fairness(), Some(Estimate { mean: 0.5, half_width: Some(0.0) }));
    let two = outcome(vec![replication(&[4, 0]), replication(&[3, 1])]).tcp_fairness().unwrap();
    // Half the difference, 0.15, times Student's 12.706 with one degree of freedom.
    assert!((two.mean - 0.65).abs() < 1e-12 && (two.half_width.unwrap() - 0.15 * 12.706).abs() < 1e-3);
    assert_eq!(outcome(vec![replication(&[4])]).tcp_fairness(), None);
    assert_eq!(outcome(vec![replication(&[0, 0])]).tcp_fairness(), None);
}

#[test]
fn quantiles_have_the_interval_of_the_replications() {
    let run = |milliseconds: u64| {
        let mut run = FlowStatistics { delivered: Volume { packets: 1, bytes: 1000 }, ..FlowStatistics::default() };
        run.delays.record(milliseconds * 1_000_000_000);
        run
    };
    let flow = FlowOutcome::of("flow".into(), Vec::new(), &[&run(2), &run(4)], 1.0, 1.0);
    let median = flow.delay.unwrap().quantiles_s[0];
    assert!((median.mean - 3e-3).abs() < 1e-9 && (median.half_width.unwrap() - 12.706e-3).abs() < 1e-6, "{median:?}");
}

#[test]
fn a_replication_without_deliveries_has_no_say_in_the_delay() {
    let mut busy = FlowStatistics { delivered: Volume { packets: 1, bytes: 1000 }, ..FlowStatistics::default() };
    busy.delays.record(3_000_000_000);
    let idle = FlowStatistics::default();
    let flow = FlowOutcome::of("flow".into(), Vec::new(), &[&busy, &idle], 2.0, 1.0);
    let delay = flow.delay.unwrap();
    assert_eq!(delay.mean_s, Estimate { mean: 3e-3, half_width: None });
    assert_eq!(delay.jitter_s, None);
    assert_eq!(flow.throughput_bps.mean, 2000.0);
    let flow = FlowOutcome::of("flow".into(), Vec::new(), &[&idle], 2.0, 1.0);
    assert_eq!((flow.delay, flow.loss), (None, Estimate::default()));
}

#[test]
fn the_largest_delay_is_that_of_the_first_replication_that_has_it() {
    let run = |delay| {
        let longest = (delay > 0).then_some(LongestDelay { number: delay, created: 7, delay });
        FlowStatistics { longest, ..FlowStatistics::default() }
    };
    let longest = |runs: &[u64]| {
        let runs: Vec<FlowStatistics> = runs.iter().map(|&delay| run(delay)).collect();
        FlowOutcome::of("flow".into(), Vec::new(), &runs.iter().collect::<Vec<_>>(), 1.0, 1.0).longest
    };
    assert_eq!(longest(&[0, 3, 9, 4, 9]), Some((3, LongestDelay { number: 9, created: 7, delay: 9 })));
    assert_eq!(longest(&[0, 0]), None);
}
