//! Tests of the tables.

use super::*;
use crate::sample::sample_report;

#[test]
fn every_row_has_a_cell_for_every_column() {
    let report = sample_report();
    let mut grids = vec![promises(&report).unwrap()];
    for run in &report.runs {
        grids.extend([flows(run, 50), ports(run, 50), classes(run, 50), drops(run, 50)].into_iter().flatten());
    }
    assert!(grids.len() >= 8);
    for grid in grids {
        assert!(!grid.rows.is_empty(), "{}", grid.title);
        for row in &grid.rows {
            assert_eq!(row.len(), grid.columns.len(), "{}", grid.title);
        }
    }
}

#[test]
fn connections_have_a_table_of_their_own() {
    let mut run = sample_report().runs.remove(0);
    assert!(connections(&run, 9).is_none());
    let tcp = TcpResult {
        goodput_bps: Estimate::single(1e6),
        segments: 1000,
        retransmissions: 10,
        timeouts: 1,
        recoveries: 3,
        marks: 0,
        round_trip_s: Some(Estimate::single(0.03)),
        cwnd_bytes: None,
        transfers: None,
    };
    run.flows[0].tcp = Some(tcp);
    let grid = connections(&run, 9).unwrap();
    assert_eq!((grid.rows.len(), grid.left_out), (1, 0));
    assert_eq!(grid.rows[0].len(), grid.columns.len());
    assert_eq!(grid.rows[0][3].text, "10");
    let transfers = TransferSummary { count: 5, mean_s: 0.1, p50_s: 0.1, p99_s: 0.2, max_s: 0.2 };
    run.flows[1].tcp = Some(TcpResult { transfers: Some(transfers), marks: 2, ..tcp });
    let grid = connections(&run, 9).unwrap();
    assert!(grid.rows.iter().all(|row| row.len() == grid.columns.len()));
}

#[test]
fn senders_that_tag_have_a_table_of_their_own() {
    let mut run = sample_report().runs.remove(0);
    assert!(colours(&run, 9).is_none());
    let volume = |packets| Volume::new(packets, 0);
    let (untagged_offered, untagged_sent, tagged_offered, tagged_sent) = (volume(10), volume(9), volume(8), volume(3));
    let untagged_bps = Estimate::single(2e6);
    run.flows[1].tagging = Some(TaggingResult { untagged_offered, untagged_sent, tagged_offered, tagged_sent, untagged_bps });
    let grid = colours(&run, 9).unwrap();
    let texts: Vec<&str> = grid.rows[0].iter().map(|cell| cell.text.as_str()).collect();
    assert_eq!((texts.len(), &texts[2..], grid.left_out), (grid.columns.len(), &["10", "9", "8", "3"][..], 0));
}

#[test]
fn a_promise_that_only_one_variant_makes_leaves_the_other_blank() {
    let mut report = sample_report();
    report.runs[1].promises.remove(0);
    report.runs[1].promises.push(PromiseResult {
        flow: "voice".into(),
        promise: "delay max at most 1 s".into(),
        measured: "0.3 s".into(),
        kept: true,
    });
    let grid = promises(&report).unwrap();
    assert_eq!(grid.rows[0][3], Cell::nothing());
    let added = grid.rows.iter().position(|row| row[1].text == "delay max at most 1 s").unwrap();
    assert_eq!(grid.rows[added][2], Cell::nothing());
    assert_eq!(grid.rows[added - 1][0].text, "voice");
    assert_eq!(grid.rows[added + 1][0].text, "video");
}

#[test]
fn a_long_table_keeps_broken_promises_then_promises_then_size() {
    let mut run = Run::new("run");
    let template = sample_report().runs[0].flows[0].clone();
    for (index, bytes) in [10, 40, 30, 20].into_iter().enumerate() {
        let mut flow = template.clone();
        flow.name = format!("flow {index}");
        flow.offered.bytes = bytes;
        run.flows.push(flow);
    }
    for (flow, kept) in [("flow 0", false), ("flow 3", true)] {
        run.promises.push(PromiseResult { flow: flow.into(), promise: String::new(), measured: String::new(), kept });
    }
    assert_eq!(prominent_flows(&run, 1), [0]);
    assert_eq!(prominent_flows(&run, 2), [0, 3]);
    assert_eq!(prominent_flows(&run, 3), [0, 1, 3]);
    assert_eq!(prominent_flows(&run, 4), [0, 1, 2, 3]);
    assert_eq!(flows(&run, 3).unwrap().left_out, 1);
}

#[test]
fn drops_of_one_port_and_reason_are_added_up() {
    let mut run = sample_report().runs.remove(0);
    run.ports.clear();
    for flow in &mut run.flows {
        flow.drops = vec![DropCount::new("uplink", "queue full", Volume::new(2, 100))];
    }
    let flows = run.flows.len() as u64;
    let expected = DropCount::new("uplink", "queue full", Volume::new(2 * flows, 100 * flows));
    assert_eq!(drops_by_reason(&run), [expected]);
}

#[test]
fn classes_show_marks_where_there_can_be_some_and_idle_aqms_below() {
    let mut run = sample_report().runs.remove(0);
    let heads = |run: &Run| classes(run, 50).unwrap().columns.iter().map(|column| column.head.clone()).collect::<Vec<_>>();
    let has = |run: &Run, head: &str| heads(run).iter().any(|known| known == head);
    assert!(has(&run, "CE marks") && !has(&run, "colour changed") && has(&run, "sojourn p99"), "{:?}", heads(&run));
    assert!(classes(&run, 50).unwrap().remarks.is_empty());
    for class in &mut run.ports[0].classes {
        class.aqm.iter_mut().for_each(|aqm| aqm.saw_no_queue = true);
    }
    let remarks = classes(&run, 50).unwrap().remarks;
    assert!(remarks.len() == 1 && remarks[0].contains("never saw a queue"), "{remarks:?}");
    run.ports[0].classes[1].marked = Volume::new(3, 300);
    run.ports[0].classes.iter_mut().for_each(|class| class.aqm = None);
    assert!(!has(&run, "CE marks") && has(&run, "colour changed"));
    run.ports[0].classes[0].ce_marked = Volume::new(1, 100);
    assert!(has(&run, "CE marks"));
}

#[test]
fn drops_name_the_class_where_a_port_has_several() {
    let mut run = sample_report().runs.remove(1);
    let port = &mut run.ports[0];
    for (class, packets) in port.classes.iter_mut().zip([0, 5, 7]) {
        class.offered.packets = 100;
        class.drops = vec![DropCount::new(&port.name, "congestion", Volume::new(packets, 100 * packets))];
    }
    let texts = |run: &Run| -> Vec<Vec<String>> {
        drops(run, 50).unwrap().rows.iter().map(|row| row.iter().map(|cell| cell.text.replace(NO_BREAK_SPACE, " ")).collect()).collect()
    };
    let rows = [["uplink", "streaming", "congestion", "5", "500 B", "5 %"], ["uplink", "best effort", "congestion", "7", "700 B", "7 %"]];
    assert_eq!(texts(&run), rows);
    run.ports[0].classes.truncate(1);
    assert_eq!(drops(&run, 50).unwrap().columns.len(), 5, "a port of one class is named by itself");
}

#[test]
fn pauses_have_a_table_of_their_own_and_a_deadlock_a_sentence() {
    let mut run = sample_report().runs.remove(0);
    assert!(pauses(&run, 9).is_none());
    let pause = ClassPause { count: 7, share: 0.25, longest_s: 1e-3, held_max_bytes: 66_000, ..ClassPause::default() };
    run.ports[0].classes[0].pause = Some(pause);
    let grid = pauses(&run, 9).unwrap();
    let texts: Vec<String> = grid.rows[0].iter().map(|cell| cell.text.replace(NO_BREAK_SPACE, " ")).collect();
    assert_eq!(
        (texts.len(), &texts[2..]),
        (grid.columns.len(), &["7", "25.00 %", "1.000 ms", "66 kB", "not paused"].map(String::from)[..])
    );
    assert!(grid.remarks.is_empty());
    run.ports[0].classes[0].pause = Some(ClassPause { paused_at_end: 2, ..pause });
    run.ports[0].classes[1].pause = Some(ClassPause { paused_at_end: 2, deadlocked: 1, ..pause });
    let grid = pauses(&run, 9).unwrap();
    assert_eq!([0, 1].map(|row: usize| grid.rows[row][6].text.as_str()), ["paused", "deadlock"]);
    assert!(grid.remarks[0].starts_with("Deadlock: ") && grid.remarks[0].ends_with(&run.ports[0].name));
}
