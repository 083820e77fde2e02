//! The report as one page that needs nothing but itself: styles, script and data are inside.
//!
//! Verdict and tables are plain HTML and can be read without the script; the charts are drawn by it from the data in
//! the page.

use std::fmt::Write;

use serde::Serialize;

use crate::chart::{Charts, charts};
use crate::grid::{self, Cell, Grid, Tone};
use crate::model::{PortResult, Report, Run, Volume};
use crate::quantity;
use crate::table::circumstances;
use crate::verdict::verdict;
use crate::workload_views;

const STYLE: &str = include_str!("../assets/report.css");
const SCRIPT: &str = include_str!("../assets/report.js");

/// Flows in one table of the page before it leaves the rest to the files.
const FLOW_LIMIT: usize = 300;

/// Nothing may be loaded: a page from a stranger's run can neither call home nor bring a script in a flow's name.
const HEAD: &str = include_str!("../assets/head.html");

const KEPT_MARK: &str = r#"<svg class="mark kept" viewBox="0 0 20 20" aria-hidden="true"><circle cx="10" cy="10" r="10"/><path d="M5.2 10.4l3.3 3.3 6.4-7"/></svg>"#;
const BROKEN_MARK: &str = r#"<svg class="mark broken" viewBox="0 0 20 20" aria-hidden="true"><circle cx="10" cy="10" r="10"/><path d="M6.2 6.2l7.6 7.6M13.8 6.2l-7.6 7.6"/></svg>"#;

/// The whole page as text.
pub fn report_html(report: &Report) -> String {
    let mut charts = charts(report);
    charts.lines.splice(0..0, workload_views::chart(report));
    let mut body = head_of_page(report, &escaped(&report.title));
    if let Some(promises) = grid::promises(report) {
        body.push_str(&promise_table(&promises, report));
    }
    body.push_str(&chart_sections(&charts));
    body.push_str(&tables(report));
    document(&report.title, &body, &report.tidegate_version, &charts)
}

/// A page around `body`, with the styles, the script and what it draws.
pub(crate) fn document(title: &str, body: &str, version: &str, charts: &impl Serialize) -> String {
    let mut page = String::from(HEAD);
    let title = escaped(title);
    page.push_str(&format!("<title>{title} · Tidegate</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n{body}"));
    page.push_str(&format!(
        "</main>\n<footer>Tidegate {} · the figures of this page are in summary.json and the Parquet tables beside it</footer>\n",
        escaped(version)
    ));
    page.push_str(&format!(
        "<script type=\"application/json\" id=\"report-data\">{}</script>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        embedded_json(charts)
    ));
    page
}

fn head_of_page(report: &Report, title: &str) -> String {
    let mut html =
        format!("<header>\n<h1>{title}</h1>\n<p class=\"circumstances\">{}</p>\n", escaped(&capitalised(&circumstances(report))));
    if report.runs.iter().any(|run| !run.promises.is_empty()) {
        html.push_str("<ul class=\"verdicts\">\n");
        for run in &report.runs {
            let words = verdict(run).unwrap_or_else(|| "nothing promised".to_owned());
            html.push_str(&verdict_item((!run.promises.is_empty()).then(|| run.promises_kept()), &run.name, &words));
        }
        html.push_str("</ul>\n");
    } else {
        html.push_str(&format!("<p class=\"verdict\">{}</p>\n", escaped(&without_promises(report))));
    }
    for note in &report.notes {
        html.push_str(&format!("<p class=\"note\">{}</p>\n", escaped(note)));
    }
    html.push_str("</header>\n");
    html
}

/// One verdict at the head of a page; `None` if there is nothing to judge.
pub(crate) fn verdict_item(good: Option<bool>, name: &str, words: &str) -> String {
    let (class, mark) = match good {
        None => ("none", ""),
        Some(true) => ("kept", KEPT_MARK),
        Some(false) => ("broken", BROKEN_MARK),
    };
    format!("<li class=\"{class}\">{mark}<span><strong>{}</strong> {}</span></li>\n", escaped(name), escaped(words))
}

/// What there is to say first when nothing was promised: what came in and what became of it.
fn without_promises(report: &Report) -> String {
    let balance = |run: &Run| {
        let sum = |volume: fn(&PortResult) -> Volume| {
            let volumes = run.ports.iter().map(volume);
            quantity::count(volumes.fold(Volume::default(), Volume::saturating_add).packets)
        };
        format!(
            "{} packets offered, {} sent, {} dropped",
            sum(|port| port.offered),
            sum(|port| port.sent),
            sum(|port| grid::total(&port.drops)),
        )
    };
    match &report.runs[..] {
        [only] => format!("{}; nothing was promised.", balance(only)),
        runs => {
            let balances: Vec<String> = runs.iter().map(|run| format!("{}: {}", run.name, balance(run))).collect();
            format!("Nothing was promised. {}", balances.join("; "))
        }
    }
}

/// The variants side by side: one column each, a mark in every cell.
fn promise_table(promises: &Grid, report: &Report) -> String {
    let mut html =
        String::from("<section>\n<h2 class=\"unseen\">Promises</h2>\n<div class=\"scroll\"><table class=\"promises\">\n<thead><tr>");
    let fixed = promises.columns.len() - report.runs.len();
    for (index, column) in promises.columns.iter().enumerate() {
        let _ = if index < fixed {
            write!(html, "<th scope=\"col\">{}</th>", capitalised(&column.head))
        } else {
            write!(html, "<th scope=\"col\" class=\"run\">{}</th>", escaped(&column.head))
        };
    }
    html.push_str("</tr></thead>\n");
    let mut rows = promises.rows.iter().peekable();
    while let Some(first) = rows.next() {
        let mut group = vec![first];
        while let Some(row) = rows.next_if(|row| row[0] == first[0]) {
            group.push(row);
        }
        html.push_str("<tbody>\n");
        for (index, row) in group.iter().enumerate() {
            html.push_str("<tr>");
            if index == 0 {
                let _ = write!(html, "<th scope=\"rowgroup\" rowspan=\"{}\">{}</th>", group.len(), escaped(&row[0].text));
            }
            let _ = write!(html, "<th scope=\"row\">{}</th>", escaped(&row[1].text));
            for cell in &row[fixed..] {
                let _ = write!(html, "<td class=\"run\">{}</td>", cell_html(cell));
            }
            html.push_str("</tr>\n");
        }
        html.push_str("</tbody>\n");
    }
    html.push_str("</table></div>\n</section>\n");
    html
}

/// Places for the charts; the script fills them.
fn chart_sections(charts: &Charts) -> String {
    let mut html = String::new();
    if let Some(chart) = &charts.bounds {
        let explanation = "The largest delay of any packet, those of the warm-up too, as a part of the bound that is proven before anything runs. The line \
                           at the right is the bound.";
        html.push_str(&section("bounds", "Largest delays and proven bounds", &format!("{explanation}{}", more(chart.left_out))));
    }
    for chart in &charts.lines {
        let explanation = match chart.id {
            "slowdown" => {
                "Completion times in parts of the time that a connection takes alone, by size: the mean, and what 99 % do not exceed."
            }
            "throughput" => "Delivered bits per second of each flow.",
            "delay" => "Share of the packets that took longer than the time on the horizontal axis.",
            "jitter" => {
                "Share of the packets whose delay differed from that of the one before by more than the time on the horizontal axis."
            }
            _ => "Bytes waiting in the queues that held most.",
        };
        let shaded = if chart.panels.iter().any(|panel| !panel.bands.is_empty()) { " Shaded: links were down." } else { "" };
        let has_bars = chart.panels.iter().flat_map(|panel| &panel.curves).any(|curve| !curve.half_widths.is_empty());
        let bars = if has_bars { " Bars: 95 % intervals." } else { "" };
        html.push_str(&section(chart.id, chart.title, &format!("{explanation}{bars}{shaded}{}", more(chart.left_out))));
    }
    if let Some(chart) = &charts.bars {
        let explanation = format!("Dropped packets, and whose they were.{}", more(chart.left_out));
        html.push_str(&section("drops", "Drops by reason", &explanation));
    }
    html
}

/// What a chart leaves out, as a sentence.
fn more(left_out: usize) -> String {
    match left_out {
        0 => String::new(),
        1 => " 1 more is in the Parquet tables.".to_owned(),
        count => format!(" {} more are in the Parquet tables.", quantity::count(count as u64)),
    }
}

/// The place of a chart; the texts are HTML.
pub(crate) fn section(id: &str, title: &str, explanation: &str) -> String {
    format!(
        "<section class=\"chart\" id=\"{id}\">\n<h2>{title}</h2>\n<p class=\"explanation\">{explanation}</p>\n<noscript>The chart needs JavaScript; the tables below do not.</noscript>\n</section>\n"
    )
}

fn tables(report: &Report) -> String {
    let mut html = String::from("<section class=\"tables\">\n<h2>Tables</h2>\n");
    for run in &report.runs {
        html.push_str(&format!("<h3>{}</h3>\n", escaped(&run.name)));
        workload_views::tables(run, FLOW_LIMIT).for_each(|grid| html.push_str(&table(&grid, grid.title, &run.name)));
    }
    html.push_str("</section>\n");
    html
}

/// A table under `title`; `run` is what it belongs to, for readers who cannot see the heading above.
pub(crate) fn table(grid: &Grid, title: &str, run: &str) -> String {
    let mut html = format!(
        "<div class=\"scroll\"><table>\n<caption>{}<span class=\"unseen\"> {}</span></caption>\n<thead><tr>",
        escaped(&capitalised(title)),
        escaped(run)
    );
    let class = |index: usize| {
        if grid.columns[index].numeric { " class=\"number\"" } else { "" }
    };
    for (index, column) in grid.columns.iter().enumerate() {
        let _ = write!(html, "<th scope=\"col\"{}>{}</th>", class(index), escaped(&capitalised(&column.head)));
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for row in &grid.rows {
        html.push_str("<tr>");
        for (index, cell) in row.iter().enumerate() {
            if index == 0 {
                let _ = write!(html, "<th scope=\"row\">{}</th>", cell_html(cell));
            } else {
                let _ = write!(html, "<td{}>{}</td>", class(index), cell_html(cell));
            }
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody>\n</table></div>\n");
    if grid.left_out > 0 {
        html.push_str(&format!(
            "<p class=\"explanation\">{} more {} are in the files beside this page.</p>\n",
            quantity::count(grid.left_out as u64),
            grid.title
        ));
    }
    for remark in &grid.remarks {
        html.push_str(&format!("<p class=\"explanation\">{}</p>\n", escaped(remark)));
    }
    html
}

fn cell_html(cell: &Cell) -> String {
    let text = escaped(&cell.text);
    match cell.tone {
        Tone::Plain => match &cell.half_width {
            Some(half_width) => format!("{text} <small>{}</small>", escaped(half_width)),
            None => text,
        },
        Tone::Kept => format!("<span class=\"outcome kept\">{KEPT_MARK}<span>{text} <small>kept</small></span></span>"),
        Tone::Broken => {
            format!("<span class=\"outcome broken\">{BROKEN_MARK}<span>{text} <small>broken</small></span></span>")
        }
        Tone::Passed => format!("<span class=\"outcome kept\">{KEPT_MARK}<span>{text} <small>passed</small></span></span>"),
        Tone::NotReproduced => format!("<span class=\"outcome\"><span>{text} <small>not reproduced</small></span></span>"),
        Tone::Failed => format!("<span class=\"outcome broken\">{BROKEN_MARK}<span>{text} <small>failed</small></span></span>"),
    }
}

/// JSON that can stand inside a `<script>` element: no `<` can end the element or open a comment in it.
fn embedded_json(charts: &impl Serialize) -> String {
    serde_json::to_string(charts).expect("the charts have only string keys, and writing to a string does not fail").replace('<', "\\u003c")
}

pub(crate) fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            other => html.push(other),
        }
    }
    html
}

/// The first letter as a capital, except where a capital changes the meaning: in "p99".
pub(crate) fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    match characters.next() {
        Some('p') if characters.clone().next().is_some_and(|next| next.is_ascii_digit()) => text.to_owned(),
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::World;
    use crate::sample::sample_report;

    #[test]
    fn the_page_asks_for_nothing_from_outside() {
        let page = report_html(&sample_report());
        for forbidden in ["http://", "https://", "src=", "@import", "url(", "fetch("] {
            let outside = page.replace("http://www.w3.org/2000/svg", "");
            assert!(!outside.contains(forbidden), "{forbidden}");
        }
    }

    #[test]
    fn the_page_of_a_normal_run_stays_small() {
        let length = report_html(&sample_report()).len();
        assert!(length < 500_000, "{length}");
    }

    #[test]
    fn verdict_charts_and_tables_come_in_this_order() {
        let page = report_html(&sample_report());
        let places: Vec<usize> = [
            "<h1>",
            "class=\"verdicts\"",
            "class=\"promises\"",
            "id=\"bounds\"",
            "id=\"throughput\"",
            "id=\"delay\"",
            "id=\"jitter\"",
            "id=\"occupancy\"",
            "id=\"drops\"",
            "class=\"tables\"",
            "id=\"report-data\"",
        ]
        .iter()
        .map(|mark| page.find(mark).unwrap_or_else(|| panic!("{mark}")))
        .collect();
        assert!(places.is_sorted(), "{places:?}");
    }

    #[test]
    fn names_cannot_break_out_of_the_page() {
        let evil = "</script><script>alert(1)</script><!--";
        let mut report = sample_report();
        report.title = evil.into();
        report.source = evil.into();
        report.tidegate_version = evil.into();
        report.notes = vec![evil.into()];
        for run in &mut report.runs {
            run.name = format!("{evil} {}", run.name);
            run.flows[0].name = evil.into();
            run.flows[0].class = Some(evil.into());
            run.series[0].name = evil.into();
            run.distributions[0].flow = evil.into();
            run.promises[0].flow = evil.into();
            run.promises[0].promise = evil.into();
            run.promises[0].measured = evil.into();
            run.ports[0].name = evil.into();
            run.ports[0].classes[0].name = evil.into();
            for drop in &mut run.ports[0].drops {
                drop.reason = evil.into();
            }
        }
        let page = report_html(&report);
        assert!(!page.contains("alert(1)</script>"));
        assert!(!page.contains("<!--"));
        assert_eq!(page.matches("<script").count(), 2);
        assert_eq!(page.matches("</script>").count(), 2);
    }

    #[test]
    fn every_table_head_says_what_it_heads() {
        let page = report_html(&sample_report());
        assert!(page.matches("<th ").count() > 50);
        assert_eq!(page.matches("<th ").count(), page.matches("<th scope=").count());
        assert!(!page.contains("<th>"));
    }

    #[test]
    fn a_run_without_promises_tells_what_became_of_the_packets() {
        let mut report = sample_report();
        report.world = World::Replay;
        report.runs.truncate(1);
        report.runs[0].promises.clear();
        let page = report_html(&report);
        let offered = quantity::count(report.runs[0].ports[0].offered.packets);
        assert!(page.contains(&format!("<p class=\"verdict\">{offered} packets offered, ")));
        assert!(page.contains("; nothing was promised."));
        assert!(!page.contains("class=\"promises\""));
    }

    #[test]
    fn a_percentile_keeps_its_small_letter() {
        assert_eq!(capitalised("p99"), "p99");
        assert_eq!(capitalised("packets"), "Packets");
        assert_eq!(capitalised(""), "");
    }
}
