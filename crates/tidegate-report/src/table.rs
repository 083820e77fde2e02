//! The report as text for a terminal: promises side by side first, then each run's flows, ports, classes and drops.

use crate::grid::{self, Cell, Grid, NOTHING, Place, Tone};
use crate::layout::{TextCell, TextColumn, lay_out, narrowest};
use crate::model::{Report, Run};
use crate::quantity::{self, NO_BREAK_SPACE};
use crate::verdict::verdict;
use crate::workload_views::tables;

/// Flows a terminal table shows before it leaves the rest to the files.
const FLOW_LIMIT: usize = 40;

/// How the text is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalOptions {
    /// Columns of the terminal; tables wrap within them. Below 40 counts as 40.
    pub width: u16,
    /// Whether to colour marks and headings with ANSI escape sequences. The caller knows whether the output is a
    /// terminal and whether `NO_COLOR` is set.
    pub colour: bool,
}

impl Default for TerminalOptions {
    /// 100 columns without colour.
    fn default() -> Self {
        Self { width: 100, colour: false }
    }
}

/// The report as text that ends with a line feed. Without colour it holds no escape sequence.
pub fn terminal(report: &Report, options: TerminalOptions) -> String {
    let mut text = String::new();
    text.push_str(&heading(&report.title, options));
    text.push_str(&format!("{}\n", circumstances(report)));
    for note in &report.notes {
        text.push_str(&format!("note: {note}\n"));
    }
    if let Some(promises) = grid::promises(report) {
        text.push('\n');
        text.push_str(&render(&promises, options));
    }
    for run in &report.runs {
        text.push('\n');
        text.push_str(&heading(&run_heading(run), options));
        for (index, grid) in tables(run, FLOW_LIMIT).enumerate() {
            if index > 0 {
                text.push('\n');
            }
            text.push_str(&render(&grid, options));
            if let Some(fairness) = run.tcp_fairness.filter(|_| grid.title == "TCP connections") {
                let interval =
                    fairness.half_width.map_or(String::new(), |half_width| format!(" ± {half_width:.3}, mean of the replications"));
                text.push_str(&format!("Jain's index of their goodputs: {:.3}{interval}\n", fairness.mean));
            }
        }
    }
    text.replace(NO_BREAK_SPACE, " ")
}

fn run_heading(run: &Run) -> String {
    match verdict(run) {
        Some(verdict) => format!("{}: {verdict}", run.name),
        None => run.name.clone(),
    }
}

/// Such as "simulation of quickstart.toml, seed 1, 10 replications of 60 s, the first 5 s of each left out".
pub(crate) fn circumstances(report: &Report) -> String {
    let mut parts = vec![format!("{} of {}", report.world.name(), report.source)];
    if let Some(seed) = report.seed {
        parts.push(format!("seed {seed}"));
    }
    let duration = quantity::duration(report.duration_s);
    parts.push(match report.replications {
        1 => duration,
        replications => format!("{} replications of {duration}", quantity::count(replications.into())),
    });
    if report.warm_up_s > 0.0 {
        let warm_up = quantity::duration(report.warm_up_s);
        parts.push(match report.replications {
            1 => format!("the first {warm_up} left out"),
            _ => format!("the first {warm_up} of each left out"),
        });
    }
    parts.join(", ")
}

pub(crate) fn heading(text: &str, options: TerminalOptions) -> String {
    if options.colour { format!("\u{1b}[1m{text}\u{1b}[0m\n") } else { format!("{text}\n") }
}

pub(crate) fn render(grid: &Grid, options: TerminalOptions) -> String {
    let limit = usize::from(options.width.max(40));
    let mut shown: Vec<usize> = (0..grid.columns.len()).filter(|&index| grid.columns[index].place != Place::Page).collect();
    let mut columns = text_columns(grid, &shown, options.colour);
    while narrowest(&columns) > limit {
        let spare = shown.iter().position(|&index| grid.columns[index].place == Place::UnlessNarrow);
        let Some(spare) = spare else {
            break;
        };
        shown.remove(spare);
        columns.remove(spare);
    }
    let mut text = lay_out(&columns, limit);
    if grid.left_out > 0 {
        text.push_str(&format!("{NOTHING} {} more {}; --out writes them all\n", quantity::count(grid.left_out as u64), grid.title));
    }
    for remark in &grid.remarks {
        text.push_str(&format!("{remark}\n"));
    }
    text
}

fn text_columns(grid: &Grid, shown: &[usize], colour: bool) -> Vec<TextColumn> {
    shown
        .iter()
        .map(|&index| {
            let column = &grid.columns[index];
            let mut cells = vec![TextCell::plain(column.head.clone())];
            cells.extend(grid.rows.iter().map(|row| text_cell(&row[index], colour)));
            TextColumn { cells, right: column.numeric }
        })
        .collect()
}

fn text_cell(cell: &Cell, colour: bool) -> TextCell {
    let (mark, escape) = match cell.tone {
        Tone::Plain => {
            return TextCell::plain(match &cell.half_width {
                Some(half_width) => format!("{} {half_width}", cell.text),
                None => cell.text.clone(),
            });
        }
        Tone::Kept => ("✔\u{a0}kept", "\u{1b}[1;32m"),
        Tone::Broken => ("✘\u{a0}BROKEN", "\u{1b}[1;31m"),
        Tone::Passed => ("✔\u{a0}passed", "\u{1b}[1;32m"),
        Tone::NotReproduced => ("–\u{a0}not\u{a0}reproduced", "\u{1b}[1;33m"),
        Tone::Failed => ("✘\u{a0}FAILED", "\u{1b}[1;31m"),
    };
    TextCell { text: format!("{mark} {}", cell.text).trim_end().to_owned(), escape: if colour { escape } else { "" } }
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr;

    use super::*;
    use crate::sample::sample_report;

    fn sample_text(width: u16, colour: bool) -> String {
        terminal(&sample_report(), TerminalOptions { width, colour })
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for width in [80, 100, 120] {
            for line in sample_text(width, false).lines() {
                assert!(line.width() <= usize::from(width), "{width}: {line}");
            }
        }
    }

    #[test]
    fn long_names_and_intervals_fit_80_columns_at_the_price_of_spare_columns() {
        let mut report = sample_report();
        for flow in &mut report.runs[0].flows {
            flow.name = format!("192.168.100.100:50000 > 10.0.0.1:443 tcp {}", flow.name);
        }
        report.runs[0].promises.clear();
        let narrow = terminal(&report, TerminalOptions { width: 80, colour: false });
        let wide = terminal(&report, TerminalOptions { width: 160, colour: false });
        assert!(narrow.lines().all(|line| line.width() <= 80), "{narrow}");
        let head = |text: &str| text.lines().find(|line| line.starts_with("flow ") && line.contains("p99")).unwrap().to_owned();
        assert!(head(&wide).contains("class") && head(&wide).contains("max"));
        assert!(!head(&narrow).contains("class"));
    }

    #[test]
    fn the_variants_stand_side_by_side_first() {
        let text = sample_text(120, false);
        let line = text.lines().find(|line| line.contains("delay p99 at most 20 ms")).unwrap();
        let kept = line.find("✔ kept").unwrap();
        let broken = line.find("✘ BROKEN").unwrap();
        assert!(kept < broken, "{line}");
        assert!(text.find(line).unwrap() < text.find("with the policy: all").unwrap());
    }

    #[test]
    fn colour_is_there_only_when_asked_for() {
        assert!(!sample_text(100, false).contains('\u{1b}'));
        let coloured = sample_text(100, true);
        assert!(coloured.contains("\u{1b}[1m"));
        let broken = coloured.lines().find(|line| line.contains("BROKEN")).unwrap();
        assert!(broken.contains("\u{1b}[1;31m✘"), "{broken:?}");
    }

    #[test]
    fn numbers_and_units_stay_on_one_line_with_plain_spaces() {
        let text = sample_text(80, false);
        assert!(!text.contains(NO_BREAK_SPACE));
        assert!(text.contains("10 Mbit/s"));
    }

    #[test]
    fn a_long_list_of_flows_says_how_many_it_leaves_out() {
        let mut report = sample_report();
        let template = report.runs[0].flows[0].clone();
        for index in 0..1000 {
            let mut flow = template.clone();
            flow.name = format!("flow {index}");
            report.runs[0].flows.push(flow);
        }
        let text = terminal(&report, TerminalOptions::default());
        assert!(text.contains("– 963 more flows"), "{text}");
    }

    #[test]
    fn the_ports_with_the_most_load_of_many_are_shown_in_their_order() {
        let mut report = sample_report();
        let template = report.runs[0].ports[0].clone();
        report.runs[0].ports = (0..1000)
            .map(|index| {
                let mut port = template.clone();
                port.name = format!("link {index}");
                port.utilisation.mean = if index % 100 == 7 { 0.9 } else { f64::from(index) / 10_000.0 };
                port.classes.clear();
                port
            })
            .collect();
        let text = terminal(&report, TerminalOptions::default());
        assert!(text.contains("– 960 more ports"), "{text}");
        let places = [7, 107, 907, 999].map(|index| text.find(&format!("link {index} ")).expect("it is shown"));
        assert!(places.is_sorted() && !text.contains("link 500 "), "{text}");
    }

    #[test]
    fn the_busiest_of_many_classes_are_shown_in_their_order() {
        let mut report = sample_report();
        let port = &mut report.runs[0].ports[0];
        let template = port.classes[0].clone();
        port.classes = (0..1000u64)
            .map(|index| {
                let mut class = template.clone();
                class.name = format!("house {index}");
                class.offered.bytes = if index % 100 == 7 { 1_000_000_000 } else { index };
                class
            })
            .collect();
        report.runs[0].ports.truncate(1);
        let text = terminal(&report, TerminalOptions::default());
        assert!(text.contains("– 960 more classes"), "{text}");
        let places = [7, 107, 907, 999].map(|index| text.find(&format!("house {index} ")).expect("it is shown"));
        assert!(places.is_sorted() && !text.contains("house 500 "), "{text}");
    }

    #[test]
    fn the_circumstances_are_told_in_one_line() {
        let mut report = sample_report();
        report.seed = Some(7);
        report.replications = 10;
        report.duration_s = 60.0;
        report.warm_up_s = 5.0;
        assert_eq!(
            circumstances(&report).replace(NO_BREAK_SPACE, " "),
            "simulation of quickstart.toml, seed 7, 10 replications of 60 s, the first 5 s of each left out"
        );
        report.replications = 1;
        report.seed = None;
        assert_eq!(circumstances(&report).replace(NO_BREAK_SPACE, " "), "simulation of quickstart.toml, 60 s, the first 5 s left out");
    }
}
