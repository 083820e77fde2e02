//! A report with two flows and a broken promise, in every form.

use super::*;
use crate::columnar;
use parquet::file::reader::{FileReader, SerializedFileReader};
use unicode_width::UnicodeWidthStr;

fn sample() -> CapacityReport {
    let flow = |name: &str, mean: f64| FlowLoad {
        name: name.into(),
        offered: 1_000_000,
        forwarded: 999_999,
        drops: LossCount { ring: 1, ..LossCount::default() },
        delay_mean_s: Some(mean),
        delay_quantiles: vec![DelayQuantile { part: 0.5, seconds: Some(mean) }, DelayQuantile { part: 0.9999, seconds: None }],
        tail: (vec![mean, 2.0 * mean], vec![0.5, 0.0]),
    };
    let load = |name: &str, rate: f64| LoadResult {
        name: name.into(),
        packets_per_second: rate,
        bits_per_second: rate * 512.0,
        flows: vec![flow("voice", 1e-5), flow("</script>bulk", 2e-5)],
        batch_mean: Some(1.5),
        batch_p99: Some(8),
        busy_core: vec![0.5, 0.25],
        busy_bus: vec![0.1],
        busy_memory: None,
        survives: PauseResult { ring_s: Some(1e-4), with_fifo_s: Some(2e-4) },
    };
    let ceiling = |resource: &str, packets: Option<f64>| CeilingResult {
        resource: resource.into(),
        packets_per_second: packets,
        bits_per_second: packets.map(|packets| packets * 512.0),
        share: packets.map(|packets| 9.4e6 / packets),
    };
    let promise = PromiseResult { flow: "all".into(), promise: "loss at most 0.0001 %".into(), measured: "0.1 %".into(), kept: false };
    CapacityReport {
        tidegate_version: "0.1.0".into(),
        title: "A <small> machine".into(),
        source: "small.toml".into(),
        sentence: "forwards 9.4 Mpps of 64 B (4.813 Gbit/s); the CPU limits".into(),
        notes: vec!["The costs are chosen.".into()],
        seed: 1,
        mean_frame_bytes: 64.0,
        capacity: vec![ceiling("CPU", Some(10e6)), ceiling("memory", None)],
        bottleneck: "CPU".into(),
        mlffr: ForwardingResult {
            low: Some(9.4e6),
            high: Some(9.5e6),
            bits_per_second: Some(4.813e9),
            loss: 1e-6,
            packets: 1e6,
            trials: 12,
            drops: LossCount { ring: 2, ..LossCount::default() },
        },
        loads: vec![load("50 %", 4.7e6), load("80 %", 7.52e6)],
        promises: vec![promise],
    }
}

#[test]
fn the_sentence_comes_first_and_no_line_is_wider_than_the_terminal() {
    for width in [70, 100, 160] {
        let text = capacity_terminal(&sample(), TerminalOptions { width, colour: false });
        let place = |mark: &str| text.find(mark).unwrap_or_else(|| panic!("{mark} in\n{text}"));
        assert!(place("forwards 9.4 Mpps") < place("BROKEN") && place("BROKEN") < place("10 Mpps"), "{text}");
        assert!(text.lines().all(|line| line.width() <= usize::from(width)), "{text}");
        assert!(text.ends_with("note: The costs are chosen.\n"));
    }
}

#[test]
fn json_has_the_names_of_the_specification() {
    let json: serde_json::Value = serde_json::from_str(&capacity_json(&sample())).unwrap();
    assert_eq!((&json["schema"], &json["promises_kept"], &json["bottleneck"]), (&1.into(), &false.into(), &"CPU".into()));
    assert_eq!(json["mlffr"]["low"], 9.4e6);
    assert!(json["capacity"][1]["packets_per_second"].is_null());
    let flow = &json["loads"][0]["flows"][1];
    assert_eq!((&flow["drops"]["ring"], &flow["drops"]["if"]), (&1.into(), &0.into()));
    assert_eq!(flow["delay_quantiles"][0]["seconds"], 2e-5);
    assert!(flow["delay_quantiles"][1]["seconds"].is_null());
}

#[test]
fn the_page_asks_for_nothing_from_outside_and_names_cannot_break_out() {
    let page = capacity_html(&sample());
    for forbidden in ["http://", "https://", "src=", "@import", "url(", "fetch("] {
        assert!(!page.replace("http://www.w3.org/2000/svg", "").contains(forbidden), "{forbidden}");
    }
    assert_eq!(page.matches("</script>").count(), 2);
    assert!(!page.contains("A <small>") && page.contains("id=\"delay-tail\"") && page.contains("id=\"delay-load\""));
}

#[test]
fn every_point_of_the_tails_is_a_row() {
    let report = sample();
    let bytes = columnar::write(&capacity_delays(&report), Vec::new()).unwrap();
    let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
    assert_eq!(reader.get_row_iter(None).unwrap().count(), 8);
}

#[test]
fn a_machine_that_forwards_nothing_has_no_charts() {
    let mut report = sample();
    report.loads.clear();
    report.mlffr.low = None;
    let page = capacity_html(&report);
    assert!(!page.contains("class=\"chart\""));
    assert!(!capacity_terminal(&report, TerminalOptions { width: 80, colour: false }).contains("Delays"));
}
