//! Opens the page in a real Chromium from a file: no console error, and every chart holds data.

use chromium::{Scratch, Shown};
use std::collections::HashMap;
use std::fs;
use std::path::Path;

use tidegate_report::figure::{Axis, Chart, Curve, Figure, Panel};
use tidegate_report::{
    BoundResult, Estimate, ExperimentResult, METRICS, OutputFolder, Parameter, Report, Reproduction, SweepResult, SweepRow, SweptFigure,
    World, write_all, write_reproduction, write_sweep,
};

#[path = "browser/chromium.rs"]
mod chromium;
mod sample;

/// Runs before anything else in the page: notes every error and every load.
const WATCH: &str = include_str!("browser/watch.js");

/// Runs after the page's own script: uses the charts as a reader would and writes what it finds into attributes.
const PROBE: &str = include_str!("browser/probe.js");

#[test]
fn the_page_opens_from_a_file_and_the_charts_hold_data() {
    let scratch = Scratch::new("page");
    write_all(&sample::sample_report(), OutputFolder::create(&scratch.0).unwrap()).unwrap();
    let shown = open(&scratch.0.join("report.html"), &[]);
    shown.expect_no_message();
    assert!(shown.dom.contains("data-drawn=\"true\""), "the script did not reach its end");
    // The same page with the probe, on light and dark, wide and narrow screens.
    for (size, scheme) in [("1280,1000", "1"), ("1280,1000", "0"), ("480,900", "1")] {
        let found = probe(&scratch.0, &[&format!("--window-size={size}"), &format!("--blink-settings=preferredColorScheme={scheme}")]);
        let number = |key: &str| found.number(key);
        assert_eq!(found.text("drawn"), "true");
        assert_eq!(found.text("seen"), "", "{size}");
        for (chart, curves) in [("throughput", 6.0), ("delay", 6.0), ("jitter", 6.0), ("occupancy", 8.0)] {
            assert_eq!(number(&format!("curves-{chart}")), curves, "{chart}");
            assert!(number(&format!("points-{chart}")) >= 100.0 * curves, "{chart}");
            assert_eq!(number(&format!("flat-{chart}")), 0.0, "{chart}");
            assert_eq!(number(&format!("titles-{chart}")), 4.0, "{chart}: two axes in two panels");
        }
        for chart in ["bounds", "throughput", "delay", "jitter", "occupancy", "drops"] {
            assert_eq!(number(&format!("bad-{chart}")), 0.0, "{chart}");
        }
        assert_eq!(number("points-bounds"), 4.0, "voice and video in both runs");
        assert_eq!(number("points-drops"), 4.0, "bulk in one run, all three flows in the other");
        assert_eq!(found.text("tips").matches("voice").count(), 2, "{}", found.text("tips"));
        assert!(found.text("tips").contains("bit/s"), "{}", found.text("tips"));
        assert_eq!(number("hidden"), 2.0, "a press on the legend hides the curve in both panels");
        assert_eq!(number("none"), 0.0, "all curves can be hidden");
        assert!(number("overflow") <= 0.0, "the page is wider than its window of {size}");
        assert_eq!(number("unnamed"), 0.0);
    }
}

#[test]
fn odd_reports_are_drawn_without_an_error() {
    let mut one_point = sample::sample_report();
    one_point.runs.truncate(1);
    for series in &mut one_point.runs[0].series {
        series.times_s = series.times_s[..1].into();
        series.values.truncate(1);
        series.values.fill(0.0);
    }
    for distribution in &mut one_point.runs[0].distributions {
        distribution.values_s = vec![0.0];
        distribution.ccdf = vec![0.0];
    }
    let mut years = sample::sample_report();
    years.duration_s = 4e8;
    for series in years.runs.iter_mut().flat_map(|run| &mut run.series) {
        series.times_s = series.times_s.iter().map(|time| time * 1e7).collect();
    }
    let mut evil = sample::sample_report();
    let name = "</script><script>window.hacked = 1</script><img src=x onerror=seen.push(1)>";
    evil.title = name.into();
    for run in &mut evil.runs {
        run.flows[0].name = name.into();
        run.series[0].name = name.into();
        run.distributions[0].flow = name.into();
        run.promises[0].flow = name.into();
        // A delay beyond its bound makes the scale longer.
        let bound = run.flows[0].bound.clone().unwrap();
        run.flows[0].bound = Some(BoundResult::new(Ok((1_000_000, name)), bound.longest));
    }
    for (name, report, charts) in [
        ("empty", Report::new("empty", World::Replay, "policy.toml"), 0),
        ("one-point", one_point, 6),
        ("years", years, 6),
        ("evil", evil, 6),
    ] {
        let scratch = Scratch::new(name);
        write_all(&report, OutputFolder::create(&scratch.0).unwrap()).unwrap();
        open(&scratch.0.join("report.html"), &[]).expect_no_message();
        let found = probe(&scratch.0, &[]);
        assert_eq!(found.text("drawn"), "true", "{name}");
        assert_eq!(found.text("seen"), "", "{name}");
        let bad: Vec<f64> = ["bounds", "throughput", "delay", "jitter", "occupancy", "drops"]
            .iter()
            .filter_map(|chart| found.0.get(&format!("bad-{chart}"))?.parse().ok())
            .collect();
        assert_eq!(bad, vec![0.0; charts], "{name}");
    }
}

#[test]
fn the_page_of_published_experiments_is_drawn() {
    let curve = |name: &str, scale: f64| Curve {
        x: (0..=300).map(f64::from).collect(),
        y: (0..=300).map(|x| f64::from(x) * scale).collect(),
        ..Curve::new(name)
    };
    let axis = |title, logarithmic| if logarithmic { Axis::logarithmic(title) } else { Axis::linear(title) };
    let chart = |id, steps, logarithmic| Chart {
        id,
        title: "Cells sent against slot".into(),
        x: axis("cell slot", logarithmic),
        y: axis("cells sent", logarithmic),
        steps,
        panels: ["strict", "shared"].map(|name| Panel { name: name.into(), curves: vec![curve("VC 1", 0.5), curve("VC 2", 1e4)] }).into(),
    };
    let mut zero = chart("zero", false, true);
    zero.panels[0].curves[0].y.fill(0.0);
    zero.panels.truncate(1);
    zero.panels[0].curves.truncate(1);
    let figure = Figure {
        id: "figure-4",
        title: "A transient overload".into(),
        source: "Figure 4",
        paper: vec![],
        notes: vec![],
        gates: vec![],
        tables: vec![],
        bounds: vec![],
        charts: vec![chart("steps", true, false), chart("lines", false, false), chart("logarithmic", false, true), zero],
    };
    let experiment = ExperimentResult { id: "paper".into(), title: "A paper".into(), source: "1998".into(), figures: vec![figure] };
    let reproduction = Reproduction { experiments: vec![experiment], ..Reproduction::new() };
    let scratch = Scratch::new("experiments");
    write_reproduction(&reproduction, OutputFolder::create(&scratch.0).unwrap()).unwrap();
    open(&scratch.0.join("report.html"), &[]).expect_no_message();
    let found = probe(&scratch.0, &[]);
    assert_eq!((found.text("drawn"), found.text("seen")), ("true", ""));
    for (chart, curves) in [("steps", 4.0), ("lines", 4.0), ("logarithmic", 4.0), ("zero", 1.0)] {
        assert_eq!(found.number(&format!("curves-paper-figure-4-{chart}")), curves, "{chart}");
        assert_eq!(found.number(&format!("bad-paper-figure-4-{chart}")), 0.0, "{chart}");
        assert_eq!(found.number(&format!("points-paper-figure-4-{chart}")), curves * 301.0, "{chart}");
    }
    assert!(found.number("overflow") <= 0.0);
}

/// Two curves over three points: one point of one curve has a single replication, and so no interval.
#[test]
fn the_page_of_a_sweep_draws_the_intervals_that_there_are() {
    let figure = |half_width| Some(SweptFigure { mean: Estimate { mean: 5e5, half_width }, difference: None });
    let row = |point, name: &str, half_width| {
        let mut figures = [None; METRICS.len()];
        (figures[0], figures[1]) = (figure(half_width), figure(None));
        SweepRow { point, run: "run".into(), scope: "flow".into(), name: name.into(), replications: 4, figures }
    };
    // The interval of the first point is wider than its mean, and goes up to 2 Mbit/s.
    let rows = vec![
        row(1, "a", Some(1.5e6)),
        row(1, "b", Some(1e3)),
        row(2, "a", None),
        row(2, "b", Some(2e3)),
        row(3, "a", Some(0.0)),
        row(3, "b", Some(9.0)),
    ];
    let values = ["1", "2", "3"].map(String::from).to_vec();
    let sweep = SweepResult {
        parameters: vec![Parameter::new("policy.line.weight".into(), values, Some(("", vec![1.0, 2.0, 3.0])))],
        curves: vec![String::new(); 3],
        shown: vec![("a".into(), 0)],
        rows,
        ..SweepResult::default()
    };
    let scratch = Scratch::new("sweep");
    write_sweep(&sweep, &scratch.0).unwrap();
    open(&scratch.0.join("report.html"), &[]).expect_no_message();
    let found = probe(&scratch.0, &[]);
    assert_eq!((found.text("drawn"), found.text("seen")), ("true", ""));
    assert_eq!([found.number("curves-throughput_bps"), found.number("intervals-throughput_bps")], [2.0, 5.0]);
    assert_eq!([found.number("curves-loss"), found.number("intervals-loss")], [2.0, 0.0], "no point has an interval");
    assert_eq!(found.number("bad-throughput_bps") + found.number("bad-loss"), 0.0);
    assert_eq!(found.number("outside-throughput_bps"), 0.0, "all of an interval is within the axes");
}

/// The two ways in which the tests above look for errors do find one.
#[test]
fn an_error_in_the_page_would_be_noticed() {
    let scratch = Scratch::new("broken");
    write_all(&sample::sample_report(), OutputFolder::create(&scratch.0).unwrap()).unwrap();
    let path = scratch.0.join("report.html");
    let page = fs::read_to_string(&path).unwrap();
    fs::write(&path, page.replace("\"lines\":[", "\"lines\":[null,")).unwrap();
    let shown = open(&path, &[]);
    assert!(!shown.messages.is_empty());
    assert!(!shown.dom.contains("data-drawn=\"true\""));
    let found = probe(&scratch.0, &[]);
    assert!(found.text("seen").contains("TypeError"), "{}", found.text("seen"));
    assert_eq!(found.text("drawn"), "undefined");
}

/// What the probe found, by key.
struct Found(HashMap<String, String>);

impl Found {
    fn text(&self, key: &str) -> &str {
        self.0.get(key).unwrap_or_else(|| panic!("the probe did not report `{key}`: {:?}", self.0))
    }

    fn number(&self, key: &str) -> f64 {
        self.text(key).parse().unwrap_or_else(|_| panic!("`{key}` is {}", self.text(key)))
    }
}

/// Opens the page of a directory with watch and probe inside.
fn probe(directory: &Path, arguments: &[&str]) -> Found {
    let page = fs::read_to_string(directory.join("report.html")).unwrap();
    let page = page.replacen("<head>", &format!("<head><script>{WATCH}</script>"), 1);
    let end = page.rfind("</body>").unwrap();
    let path = directory.join("probed.html");
    fs::write(&path, format!("{}<script>{PROBE}</script>{}", &page[..end], &page[end..])).unwrap();
    let dom = open(&path, arguments).dom;
    let mut found = HashMap::new();
    for part in dom.split(" probe-").skip(1) {
        let (key, rest) = part.split_once("=\"").unwrap();
        let value = rest.split('"').next().unwrap_or_default();
        found.insert(key.to_owned(), value.to_owned());
    }
    Found(found)
}

fn open(page: &Path, arguments: &[&str]) -> Shown {
    chromium::open(&format!("file://{}", page.display()), arguments)
}
