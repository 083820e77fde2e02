//! Draws the pictures of `docs/aqm.md`, one per AQM: `cargo run --release -p tidegate-reproduce --example pictures -- docs/images`.
//!
//! The points are those of the charts of `tidegate reproduce aqm/loads`: throughput upwards, the 99 % quantile of delays to the right.

use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;
use tidegate_reproduce::figure::{Curve, Figure, Panel};

/// The size of a picture, and of its margins: left, right, top, bottom.
const SIZE: (f64, f64) = (720.0, 300.0);
const MARGINS: (f64, f64, f64, f64) = (60.0, 20.0, 56.0, 44.0);
/// Delays in milliseconds at both ends, which are powers of ten.
const DELAYS: (f64, f64) = (0.1, 1000.0);
/// Throughputs in Mbit/s at both ends.
const THROUGHPUTS: (f64, f64) = (17.0, 20.25);
/// Colours that the colour-blind can tell apart, too.
const COLOURS: [&str; 3] = ["#0072b2", "#d55e00", "#009e73"];

fn main() -> ExitCode {
    let Some(folder) = std::env::args().nth(1) else {
        eprintln!("error: no folder is given; `docs/images` is the one of the documents");
        return ExitCode::from(2);
    };
    let (_, plans) = tidegate_reproduce::find("aqm/loads").expect("the figure exists");
    let figure = &tidegate_reproduce::run(plans, &|_| {})[0];
    for panel in &panels(figure, "throughput")[1..] {
        let path = Path::new(&folder).join(format!("aqm-{}.svg", panel.name));
        if let Err(error) = std::fs::write(&path, picture(figure, panel)) {
            eprintln!("error: cannot write {}: {error}", path.display());
            return ExitCode::from(3);
        }
    }
    ExitCode::SUCCESS
}

fn panels<'a>(figure: &'a Figure, chart: &str) -> &'a [Panel] {
    figure.charts.iter().find(|known| known.id == chart).map_or(&[], |chart| &chart.panels)
}

/// The curve of an AQM in a chart.
fn curve<'a>(figure: &'a Figure, chart: &str, aqm: &str, name: &str) -> &'a Curve {
    let panel = panels(figure, chart).iter().find(|panel| panel.name == aqm).expect("every chart has every AQM");
    panel.curves.iter().find(|curve| curve.name == name).expect("every chart has every curve")
}

fn picture(figure: &Figure, panel: &Panel) -> String {
    let ((width, height), (left, right, top, bottom)) = (SIZE, MARGINS);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
         <text x=\"{left}\" y=\"20\" font-size=\"15\" font-weight=\"bold\">{}: throughput against delay</text>\n",
        panel.name
    );
    for throughput in 17..=20 {
        let at = y(f64::from(throughput));
        line(&mut svg, (left, at), (width - right, at), "#dddddd");
        text(&mut svg, (left - 6.0, at + 4.0), "end", "#222222", &throughput.to_string());
    }
    for delay in ["0.1", "1", "10", "100", "1000"] {
        let at = x(delay.parse().unwrap_or(1.0));
        line(&mut svg, (at, top), (at, height - bottom), "#dddddd");
        text(&mut svg, (at, height - bottom + 16.0), "middle", "#222222", delay);
    }
    text(&mut svg, ((left + width - right) / 2.0, height - 8.0), "middle", "#222222", "99 % of packets wait at most (ms)");
    text(&mut svg, (left, top - 6.0), "end", "#222222", "Mbit/s");
    let mut legend = left + 20.0;
    let none = points(figure, "delay", "none", "without ECN");
    draw(&mut svg, &none, ("#999999", true), &mut legend, "no AQM");
    // The numbers of connections are above and below the curves in turn.
    for ((shown, colour), above) in panel.curves.iter().zip(COLOURS).zip([6.0, -15.0, -27.0]) {
        let name = shown.name.as_str();
        let all = points(figure, "delay", &panel.name, name);
        draw(&mut svg, &all, (colour, true), &mut legend, name);
        for &(load, delay, throughput) in all.first().into_iter().chain(all.last()) {
            text(&mut svg, (x(delay), y(throughput) - above), "middle", colour, &load.to_string());
        }
        let short = if name.contains("Prague") { "its Prague" } else { "its call" };
        draw(&mut svg, &points(figure, "short-delay", &panel.name, name), (colour, false), &mut legend, short);
    }
    svg.push_str("</svg>\n");
    svg
}

/// Number of connections, delay and throughput at each load.
fn points(figure: &Figure, delays: &str, aqm: &str, name: &str) -> Vec<(f64, f64, f64)> {
    let (throughputs, delays) = (curve(figure, "throughput", aqm, name), curve(figure, delays, aqm, name));
    throughputs.x.iter().zip(&delays.y).zip(&throughputs.y).map(|((&load, &delay), &throughput)| (load, delay, throughput)).collect()
}

/// A line through the points, with dots that are full for all packets and hollow for those of one flow.
fn draw(svg: &mut String, points: &[(f64, f64, f64)], (colour, is_full): (&str, bool), legend: &mut f64, name: &str) {
    let path: Vec<String> = points.iter().map(|&(_, delay, throughput)| format!("{:.1},{:.1}", x(delay), y(throughput))).collect();
    let dash = if is_full { "" } else { " stroke-dasharray=\"3 3\"" };
    let _ = writeln!(svg, "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"{dash}/>", path.join(" "));
    let fill = if is_full { colour } else { "#ffffff" };
    let mut dot = |x: f64, y: f64| {
        let _ = writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{fill}\" stroke=\"{colour}\"/>");
    };
    points.iter().for_each(|&(_, delay, throughput)| dot(x(delay), y(throughput)));
    dot(*legend, 36.0);
    text(svg, (*legend + 8.0, 40.0), "start", colour, name);
    *legend += 24.0 + 6.4 * name.len() as f64;
}

fn x(delay: f64) -> f64 {
    let part = (delay.max(DELAYS.0) / DELAYS.0).log10() / (DELAYS.1 / DELAYS.0).log10();
    MARGINS.0 + part * (SIZE.0 - MARGINS.0 - MARGINS.1)
}

fn y(throughput: f64) -> f64 {
    let part = (throughput - THROUGHPUTS.0) / (THROUGHPUTS.1 - THROUGHPUTS.0);
    SIZE.1 - MARGINS.3 - part * (SIZE.1 - MARGINS.2 - MARGINS.3)
}

fn line(svg: &mut String, from: (f64, f64), to: (f64, f64), colour: &str) {
    let _ = writeln!(svg, "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"{colour}\"/>", from.0, from.1, to.0, to.1);
}

fn text(svg: &mut String, at: (f64, f64), anchor: &str, colour: &str, words: &str) {
    let _ = writeln!(svg, "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\" fill=\"{colour}\">{words}</text>", at.0, at.1);
}
